/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorting of signed keys with vectors, for one width of keys and one set of instructions. Included once for each, after
 * the macros below; it ends by undefining them.
 *
 *     KEY, KEY_MAX, NAME(x)    the type of a key, its greatest value, the name of a function for it
 *     VECTOR, MASK, LANES      a register of LANES keys; a set of lanes
 *     BLOCKS                   networks whose results are merged, at most
 *     SPLAT, LOAD, STORE       of unaligned memory
 *     LOAD_SOME, STORE_SOME    the first `n` lanes, 1 to LANES; others are loaded as KEY_MAX
 *     SWAP(v, d)               lane i has what lane i ^ d had
 *     CHOOSE(v, w, d)          of w in lanes i with i & d, of v in others
 *     HALVE(a, b, d)           in each of both registers, lanes i and i ^ d: min in the lower one, max in the other one
 *     FINISH(a, b, span)       HALVE at all distances below `span`, for less than one by one takes, or false
 *     MIN, BELOW               by lane; the lanes where a < b
 *     GREATER(a, b, min)       the greater ones, by lane, if the lesser ones are `min`
 *     ZIP_LOW, ZIP_HIGH        a0 b0 a1 b1 ...: the first half, the second
 *     TURN_LOW, TURN_HIGH      (a, b, first): the same, or what takes less and makes the same transpose of LANES
 *                              registers; `first` is true in its first step
 *     COMPRESS(v, m), COUNT(m) the lanes of m moved to the front; their number
 *     STORE_OTHERS(p, v, m)    the lanes that are not of m, before p
 *     PREFETCH(p)              what is stored to next, if that pays
 *     WHOLE_ROWS               1 for long rows as columns, and for functions from elements to elements, which take
 *                              FIRST(n), the first `n` lanes, and EQUAL(v, w), the lanes where they are equal
 *
 * A network sorts a matrix of `rows` registers: first its columns, without a shuffle (Batcher's odd-even merge sort),
 * then neighbouring columns are merged (his bitonic merge: one of both is reversed, and halves are exchanged at ever
 * smaller distances), until the matrix is sorted column by column; its transpose is the result. Results of several are
 * merged in the same way. In a bitonic merge keys i and i ^ c may change places, for any c: the comparisons are the
 * same.
 */
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")
#define ROWS WEFT_KEY_SHORT /* registers of the largest network: twice as many spill too much with AVX2 */
#define BLOCK (ROWS * LANES)

/* ---- networks ---- */

INLINE void NAME(exchange)(VECTOR *a, VECTOR *b)
{
    VECTOR low = MIN(*a, *b);
    *b = GREATER(*a, *b, low);
    *a = low;
}

/* Of the merge of sorted groups of `half` rows, the step that exchanges at `distance`. */
INLINE void NAME(merge_rows)(VECTOR *v, uint32_t rows, uint32_t half, uint32_t distance)
{
    uint32_t skipped = distance % half;
    UNROLL for (uint32_t r = 0; r + distance < rows; r++)
    {
        bool is_first = r >= skipped && (r - skipped) / distance % 2 == 0;
        if (is_first && r / (2 * half) == (r + distance) / (2 * half)) NAME(exchange)(&v[r], &v[r + distance]);
    }
}

/* Sorted groups of `half` rows, by twos. */
INLINE void NAME(merge_groups)(VECTOR *v, uint32_t rows, uint32_t half)
{
    if (rows <= half) return;
    if (half >= 8) NAME(merge_rows)(v, rows, half, 8);
    if (half >= 4) NAME(merge_rows)(v, rows, half, 4);
    if (half >= 2) NAME(merge_rows)(v, rows, half, 2);
    NAME(merge_rows)(v, rows, half, 1);
}

INLINE void NAME(sort_columns)(VECTOR *v, uint32_t rows)
{
    NAME(merge_groups)(v, rows, 1);
    NAME(merge_groups)(v, rows, 2);
    NAME(merge_groups)(v, rows, 4);
    NAME(merge_groups)(v, rows, 8);
}

INLINE void NAME(halve_rows)(VECTOR *v, uint32_t rows, uint32_t distance)
{
    UNROLL for (uint32_t r = 0; r < rows; r++) if ((r & distance) == 0) NAME(exchange)(&v[r], &v[r + distance]);
}

/* Bitonic columns: sorted. */
INLINE void NAME(finish_rows)(VECTOR *v, uint32_t rows)
{
    if (rows > 8) NAME(halve_rows)(v, rows, 8);
    if (rows > 4) NAME(halve_rows)(v, rows, 4);
    if (rows > 2) NAME(halve_rows)(v, rows, 2);
    if (rows > 1) NAME(halve_rows)(v, rows, 1);
}

INLINE void NAME(halve_lanes)(VECTOR *v, uint32_t rows, uint32_t distance)
{
    UNROLL for (uint32_t r = 0; r < rows; r += 2) HALVE(&v[r], &v[r + 1], distance);
}

/* Bitonic groups of `span` lanes: sorted, if the columns are. */
INLINE void NAME(finish_lanes)(VECTOR *v, uint32_t rows, uint32_t span)
{
    bool finished = true;
    UNROLL for (uint32_t r = 0; r < rows; r += 2) finished &= FINISH(&v[r], &v[r + 1], span);
    if (finished) return;
    if (span > 8) NAME(halve_lanes)(v, rows, 8);
    if (span > 4) NAME(halve_lanes)(v, rows, 4);
    if (span > 2) NAME(halve_lanes)(v, rows, 2);
    if (span > 1) NAME(halve_lanes)(v, rows, 1);
}

/* Columns sorted in groups of span / 2 lanes: sorted in groups of `span`. */
INLINE void NAME(merge_lanes)(VECTOR *v, uint32_t rows, uint32_t span)
{
    UNROLL for (uint32_t r = 0; r < rows / 2; r++)
    {
        VECTOR low = v[r], high = SWAP(v[rows - 1 - r], span - 1);
        NAME(exchange)(&low, &high);
        v[r] = CHOOSE(low, high, span / 2);
        v[rows - 1 - r] = SWAP(CHOOSE(high, low, span / 2), span / 2);
    }
    NAME(finish_lanes)(v, rows, span / 2);
    NAME(finish_rows)(v, rows);
}

/* Of `rows` rows, at most LANES: element (r, lane) becomes number lane * rows + r. */
INLINE void NAME(transpose)(VECTOR *v, uint32_t rows)
{
    UNROLL for (uint32_t done = 1; done < rows; done *= 2)
    {
        VECTOR zipped[LANES];
        UNROLL for (uint32_t r = 0; r < rows / 2; r++)
        {
            VECTOR a = v[r], b = v[r + rows / 2];
            zipped[2 * r] = rows == LANES ? TURN_LOW(a, b, done == 1) : ZIP_LOW(a, b);
            zipped[2 * r + 1] = rows == LANES ? TURN_HIGH(a, b, done == 1) : ZIP_HIGH(a, b);
        }
        UNROLL for (uint32_t r = 0; r < rows; r++) v[r] = zipped[r];
    }
}

#if WHOLE_ROWS
/* A square of registers, turned in memory. */
static void NAME(turn)(const char *from, int64_t next, char *to, int64_t to_next)
{
    VECTOR v[LANES];
    UNROLL for (int64_t r = 0; r < LANES; r++) v[r] = LOAD(from + r * next);
    NAME(transpose)(v, LANES);
    UNROLL for (int64_t r = 0; r < LANES; r++) STORE(to + r * to_next, v[r]);
}
#endif

/* Sorts `count` keys, at most what `rows` registers hold. All of these are stored, with KEY_MAX after the keys. */
INLINE void NAME(run_network)(const KEY *keys, KEY *to, int64_t count, uint32_t rows)
{
    const uint32_t parts = rows < LANES ? 1 : rows / LANES;
    VECTOR v[ROWS];
    UNROLL for (uint32_t r = 0; r < rows; r++)
    {
        int64_t rest = count - (int64_t)r * LANES;
        v[r] = rest >= LANES ? LOAD(keys + r * LANES) : rest > 0 ? LOAD_SOME(keys + r * LANES, rest) : SPLAT(KEY_MAX);
    }
    NAME(sort_columns)(v, rows);
    NAME(merge_lanes)(v, rows, 2);
    NAME(merge_lanes)(v, rows, 4);
    if (LANES > 4) NAME(merge_lanes)(v, rows, 8);
    if (LANES > 8) NAME(merge_lanes)(v, rows, 16);
    UNROLL for (uint32_t p = 0; p < parts; p++) NAME(transpose)(v + p * (rows / parts), rows / parts);
    UNROLL for (uint32_t r = 0; r < rows; r++) STORE(to + r * LANES, v[r % parts * (rows / parts) + r / parts]);
}

/* Sorts as many keys as a network takes, at most, into a whole block, with KEY_MAX after the keys. */
static void NAME(sort_block)(const KEY *keys, KEY *to, int64_t count)
{
    int64_t rows = ROWS;
    if (count <= 2 * LANES) rows = 2, NAME(run_network)(keys, to, count, 2);
    else if (count <= 4 * LANES) rows = 4, NAME(run_network)(keys, to, count, 4);
    else if (count <= 8 * LANES) rows = 8, NAME(run_network)(keys, to, count, 8);
    else NAME(run_network)(keys, to, count, ROWS);
    for (; rows < ROWS; rows++) STORE(to + rows * LANES, SPLAT(KEY_MAX));
}

/* A block that is bitonic: sorted. */
static void NAME(finish_block)(KEY *keys)
{
    VECTOR v[ROWS];
    UNROLL for (uint32_t r = 0; r < ROWS; r++) v[r] = LOAD(keys + r * LANES);
    NAME(finish_rows)(v, ROWS);
    NAME(finish_lanes)(v, ROWS, LANES);
    UNROLL for (uint32_t r = 0; r < ROWS; r++) STORE(keys + r * LANES, v[r]);
}

/* Exchanges `rows` registers from `low` on with as many from `high` on, if `reversed` with those before `high`, lanes
 * reversed if `turned`. */
INLINE void NAME(exchange_rows)(KEY *low, KEY *high, int64_t rows, bool reversed, bool turned)
{
    for (int64_t r = 0; r < rows; r++) {
        KEY *at = reversed ? high - (r + 1) * LANES : high + r * LANES;
        VECTOR a = LOAD(low + r * LANES), b = LOAD(at);
        if (turned) b = SWAP(b, LANES - 1);
        NAME(exchange)(&a, &b);
        STORE(low + r * LANES, a);
        STORE(at, b);
    }
}

/* Of `blocks` blocks, the first `half` are sorted, and so are the others, which are no more: merges them, or each of
 * their columns with `turned` false, as far as blocks that are bitonic. Where they are fewer it is as if blocks of
 * KEY_MAX followed, which would stay where they are. */
INLINE void NAME(join_blocks)(KEY *keys, int64_t half, int64_t blocks, bool turned)
{
    KEY *end = keys + blocks * BLOCK;
    NAME(exchange_rows)(keys + (2 * half - blocks) * BLOCK, end, (blocks - half) * ROWS, true, turned);
    for (int64_t distance = half / 2; distance > 0; distance /= 2)
        for (int64_t first = 0; first + distance < blocks; first += 2 * distance) {
            int64_t rest = blocks - first - distance;
            KEY *low = keys + first * BLOCK;
            NAME(exchange_rows)(low, low + distance * BLOCK, (rest < distance ? rest : distance) * ROWS, false, false);
        }
}

static void NAME(merge_blocks)(KEY *keys, int64_t half, int64_t blocks)
{
    NAME(join_blocks)(keys, half, blocks, true);
    for (KEY *block = keys; block < keys + blocks * BLOCK; block += BLOCK) NAME(finish_block)(block);
}

/* Sorted keys of a row: put where its elements follow. */
INLINE void NAME(put_keys)(weft_key_row *row, const KEY *keys, int64_t count)
{
    row->put(row->map, keys, count, row->out);
    row->out += (size_t)count * row->map->size;
}

/* The same, or moved home. */
INLINE void NAME(deliver)(weft_key_row *row, const KEY *keys, KEY *home, int64_t count)
{
    if (row->put != NULL) NAME(put_keys)(row, keys, count);
    else if (keys != home) memcpy(home, keys, (size_t)count * sizeof *home);
}

/* As many keys as BLOCKS networks take, at most, of which the first `wanted` are delivered. Not inlined: what calls it
 * calls itself, with no need for so large a frame. */
static __attribute__((noinline)) void NAME(sort_few)(weft_key_row *row, const KEY *keys, KEY *home, int64_t count,
                                                     int64_t wanted)
{
    KEY sorted[BLOCKS * BLOCK];
    int64_t blocks = 0;
    do {
        int64_t first = blocks++ * BLOCK, rest = count - first;
        for (int64_t r = 0; r < ROWS && row->put != NULL; r++)
            PREFETCH(row->out + (first + r * LANES) * (int64_t)row->map->size);
        NAME(sort_block)(keys + first, sorted + first, rest < BLOCK ? rest : BLOCK);
    } while (blocks * BLOCK < count);
    for (int64_t half = 1; half < blocks; half *= 2)
        for (int64_t first = 0; first + half < blocks; first += 2 * half) {
            int64_t rest = blocks - first;
            NAME(merge_blocks)(sorted + first * BLOCK, half, rest < 2 * half ? rest : 2 * half);
        }
    NAME(deliver)(row, sorted, home, count < wanted ? count : wanted);
}

/* Of LANES rows, or fewer, `parts` registers of each as columns, and back; `left` keys are left in a row. */
INLINE void NAME(load_columns)(const KEY *keys, int64_t rows, int64_t length, int64_t left, uint32_t parts, VECTOR *v)
{
    UNROLL for (uint32_t i = 0; i < parts * LANES; i++)
    {
        const KEY *at = keys + i % LANES * length + i / LANES * LANES;
        int64_t rest = i % LANES < rows ? left - i / LANES * LANES : 0;
        v[i] = rest >= LANES ? LOAD(at) : rest > 0 ? LOAD_SOME(at, rest) : SPLAT(KEY_MAX);
    }
    UNROLL for (uint32_t p = 0; p < parts; p++) NAME(transpose)(v + p * LANES, LANES);
}

INLINE void NAME(store_columns)(KEY *keys, int64_t rows, int64_t length, int64_t left, uint32_t parts, VECTOR *v)
{
    UNROLL for (uint32_t p = 0; p < parts; p++) NAME(transpose)(v + p * LANES, LANES);
    UNROLL for (uint32_t i = 0; i < parts * LANES; i++)
    {
        KEY *at = keys + i % LANES * length + i / LANES * LANES;
        int64_t rest = i % LANES < rows ? left - i / LANES * LANES : 0;
        if (rest >= LANES) STORE(at, v[i]);
        else if (rest > 0) STORE_SOME(at, v[i], rest);
    }
}

INLINE void NAME(sort_some_rows)(KEY *keys, int64_t rows, int64_t length, uint32_t parts)
{
    VECTOR v[ROWS];
    NAME(load_columns)(keys, rows, length, length, parts, v);
    NAME(sort_columns)(v, parts * LANES);
    NAME(store_columns)(keys, rows, length, length, parts, v);
}

#if WHOLE_ROWS
/* The same for rows of up to WEFT_KEY_COLUMNS keys: blocks of their columns are sorted in registers, and merged. */
static void NAME(sort_long_rows)(KEY *keys, int64_t rows, int64_t length)
{
    KEY columns[WEFT_KEY_COLUMNS * LANES];
    int64_t blocks = (length + ROWS - 1) / ROWS;
    VECTOR v[ROWS];
    for (int64_t b = 0; b < blocks; b++) {
        NAME(load_columns)(keys + b * ROWS, rows, length, length - b * ROWS, ROWS / LANES, v);
        NAME(sort_columns)(v, ROWS);
        UNROLL for (uint32_t r = 0; r < ROWS; r++) STORE(columns + b * BLOCK + r * LANES, v[r]);
    }
    for (int64_t half = 1; half < blocks; half *= 2)
        for (int64_t first = 0; first + half < blocks; first += 2 * half) {
            int64_t rest = blocks - first, count = rest < 2 * half ? rest : 2 * half;
            KEY *at = columns + first * BLOCK;
            NAME(join_blocks)(at, half, count, false);
            for (int64_t b = 0; b < count; b++) {
                UNROLL for (uint32_t r = 0; r < ROWS; r++) v[r] = LOAD(at + b * BLOCK + r * LANES);
                NAME(finish_rows)(v, ROWS);
                UNROLL for (uint32_t r = 0; r < ROWS; r++) STORE(at + b * BLOCK + r * LANES, v[r]);
            }
        }
    for (int64_t b = 0; b < blocks; b++) {
        UNROLL for (uint32_t r = 0; r < ROWS; r++) v[r] = LOAD(columns + b * BLOCK + r * LANES);
        NAME(store_columns)(keys + b * ROWS, rows, length, length - b * ROWS, ROWS / LANES, v);
    }
}
#endif

/* Of up to WEFT_KEY_SHORT keys, or where there is `sort_long_rows` up to WEFT_KEY_COLUMNS. */
static void NAME(sort_rows)(KEY *keys, int64_t rows, int64_t length)
{
    for (int64_t first = 0; first < rows; first += LANES) {
        KEY *at = keys + first * length;
        int64_t count = rows - first < LANES ? rows - first : LANES;
#if WHOLE_ROWS
        if (length > WEFT_KEY_SHORT) NAME(sort_long_rows)(at, count, length);
        else
#endif
        if (length <= LANES) NAME(sort_some_rows)(at, count, length, 1);
        else if (length <= 2 * LANES) NAME(sort_some_rows)(at, count, length, LANES == ROWS ? 1 : 2);
        else NAME(sort_some_rows)(at, count, length, ROWS / LANES);
    }
}

/* ---- quicksort ---- */

/* The keys of `count` registers: those below the bound to *low, the others before what is `rest` keys, those that are
 * still to be moved, after it. */
INLINE void NAME(move)(const KEY *keys, int64_t count, VECTOR bound, KEY **low, int64_t rest)
{
    VECTOR v[4];
    MASK below[4];
    UNROLL for (int64_t r = 0; r < count; r++)
    {
        v[r] = LOAD(keys + r * LANES);
        below[r] = BELOW(v[r], bound);
    }
    UNROLL for (int64_t r = 0; r < count; r++)
    {
        STORE(*low, COMPRESS(v[r], below[r]));
        STORE_OTHERS(*low + rest - r * LANES, v[r], below[r]);
        *low += COUNT(below[r]);
    }
}

/* Room for keys: those below a pivot go to its front, the others to its end. */
typedef struct NAME(room) {
    KEY *low, *high;
} NAME(room);

/* Whole registers are stored, over what is free, as long as there is room for two. */
INLINE void NAME(part)(NAME(room) * room, const KEY *keys, int64_t count, KEY pivot)
{
    enum { STEP = 4, AHEAD = 8 }; /* registers */
    VECTOR bound = SPLAT(pivot);
    KEY *low = room->low;
    int64_t free = room->high - low, i = 0;
    for (; i + STEP * LANES <= count && i + (STEP + 1) * LANES <= free; i += STEP * LANES) {
        UNROLL for (int64_t r = AHEAD; r < AHEAD + STEP / 2; r++)
        {
            PREFETCH(low + r * LANES);
            PREFETCH(low + free - i - (r + 1) * LANES);
        }
        NAME(move)(keys + i, STEP, bound, &low, free - i);
    }
    for (; i + LANES <= count && i + 2 * LANES <= free; i += LANES) NAME(move)(keys + i, 1, bound, &low, free - i);
    for (; i < count; i++) {
        KEY key = keys[i];
        *low = low[free - i - 1] = key;
        low += key < pivot;
    }
    *room = (NAME(room)){low, low + free - count};
}

/* Keys to as much room; returns how many are below. */
static int64_t NAME(partition)(const KEY *keys, KEY *to, int64_t count, KEY pivot)
{
    NAME(room) room = {to, to + count};
    NAME(part)(&room, keys, count, pivot);
    return room.low - to;
}

/* The median of a sample, or its first eighth where few keys are wanted, so that the first pass leaves few. Where that
 * is the least key of the sample too, the next one above, so that what equals it is parted from all others. */
static KEY NAME(pivot)(const KEY *keys, int64_t count, bool few)
{
    enum { SAMPLE = 4 * LANES, SHORT = 64 * LANES };
    KEY sample[BLOCK];
    int64_t size = count < SHORT ? SAMPLE / 2 : SAMPLE, step = count / size;
    for (int64_t i = 0; i < size; i++) sample[i] = keys[i * step + step / 2];
    NAME(sort_block)(sample, sample, size);
    KEY chosen = sample[few ? size / 8 : size / 2];
    return chosen == sample[0] && chosen != KEY_MAX ? chosen + 1 : chosen;
}

/* Half the way from the least key to the greatest, which differ; *least where they do not. */
static KEY NAME(middle)(const KEY *keys, int64_t count)
{
    KEY least = keys[0], greatest = keys[0];
    for (int64_t i = 1; i < count; i++) {
        least = keys[i] < least ? keys[i] : least;
        greatest = keys[i] > greatest ? keys[i] : greatest;
    }
    return (KEY)(greatest - ((uint64_t)greatest - (uint64_t)least) / 2);
}

/* Whether keys ascend, or descend. Of those in any order few are looked at. */
INLINE bool NAME(is_ordered)(const KEY *keys, int64_t count, bool ascending)
{
    enum { FEW = 16, SOME = 64 };
    int64_t i = 1;
    for (; i < FEW && i < count; i++)
        if (ascending ? keys[i] < keys[i - 1] : keys[i] > keys[i - 1]) return false;
    for (; i < count; i += SOME) {
        int64_t end = count - i < SOME ? count : i + SOME;
        KEY disordered = 0;
        for (int64_t k = i; k < end; k++) disordered |= ascending ? keys[k] < keys[k - 1] : keys[k] > keys[k - 1];
        if (disordered) return false;
    }
    return true;
}

static void NAME(reverse)(KEY *keys, int64_t count)
{
    for (int64_t i = 0; i < count / 2; i++) {
        KEY key = keys[i];
        keys[i] = keys[count - 1 - i];
        keys[count - 1 - i] = key;
    }
}

/*
 * The keys of `at`, whose home is `at` or, if `moved`, `other`; each pass moves them from one to the other. Where a
 * sample's median is the least key, what equals it is split off. Where a sample misled, the next pivot halves the range
 * of keys, which it can only as often as a key has bits.
 */
static bool NAME(quicksort)(weft_key_row *row, KEY *at, KEY *other, bool moved, int64_t count, int64_t wanted,
                            bool misled)
{
    while (true) {
        bool few = wanted < count / 16;
        if (wanted <= 0) return true;
        if (weft_is_cancelled(row->cancelled)) return false;
        if (count > BLOCK && NAME(is_ordered)(at, count, true)) {
            NAME(deliver)(row, at, moved ? other : at, count < wanted ? count : wanted);
            return true;
        }
        if (count <= (few ? BLOCK : BLOCKS * BLOCK)) break;
        KEY pivot = misled ? NAME(middle)(at, count) : NAME(pivot)(at, count, few);
        int64_t low = NAME(partition)(at, other, count, pivot), least = count / 16;
        if (low == 0) {
            low = pivot == KEY_MAX ? count : NAME(partition)(at, other, count, pivot + 1);
            NAME(deliver)(row, other, moved ? other : at, low < wanted ? low : wanted);
            misled = false;
        } else {
            misled = !misled && (low < (few ? least / 4 : least) || low > count - least);
            if (!NAME(quicksort)(row, other, at, !moved, low, wanted, misled)) return false;
        }
        KEY *rest = at + low;
        at = other + low;
        other = rest;
        moved = !moved;
        count -= low;
        wanted -= low;
    }
    NAME(sort_few)(row, at, moved ? other : at, count, wanted);
    return true;
}

static bool NAME(sort_keys)(weft_key_row *row, KEY *keys, KEY *other, int64_t count, int64_t wanted)
{
    if (NAME(is_ordered)(keys, count, false)) NAME(reverse)(keys, count);
    return NAME(quicksort)(row, keys, other, false, count, wanted, false);
}

static bool NAME(sort)(KEY *keys, KEY *other, int64_t count, int64_t wanted, const volatile bool *cancelled)
{
    weft_key_row row = {.cancelled = cancelled};
    return NAME(is_ordered)(keys, count, true) || NAME(sort_keys)(&row, keys, other, count, wanted);
}

/* ---- rows, from elements to elements ---- */

#if WHOLE_ROWS
/* The key of NaNs, the greatest there is. */
INLINE KEY NAME(nan)(const weft_key_row *row)
{
    return (KEY)(row->map->mask ^ ((uint64_t)KEY_MAX + 1));
}

/* Moves what is no NaN from `keys` to `to`; returns how many these are. */
INLINE int64_t NAME(leave_nans)(weft_key_row *row, const KEY *keys, KEY *to, int64_t count)
{
    int64_t numbers = NAME(partition)(keys, to, count, NAME(nan)(row));
    row->nans += count - numbers;
    return numbers;
}

/* BLOCK keys of a row, sorted. */
INLINE void NAME(take_sample)(const weft_key_row *row, KEY *sample)
{
    int64_t step = row->count / BLOCK;
    for (int64_t i = 0; i < BLOCK; i++)
        (void)row->take(row->map, row->elements + (size_t)(i * step + step / 2) * row->map->size, 1, &sample[i]);
    NAME(sort_block)(sample, sample, BLOCK);
}

/* Three keys that part a row into quarters without its NaNs. */
INLINE void NAME(quarters)(const weft_key_row *row, const KEY *sample, KEY *pivots)
{
    int64_t numbers = BLOCK;
    while (row->map->infinity != 0 && numbers > 1 && sample[numbers - 1] == NAME(nan)(row)) numbers--;
    for (int64_t q = 0; q < 3; q++) pivots[q] = sample[(q + 1) * numbers / 4];
}

enum { NAME(SOME) = 64 * LANES, NAME(KINDS) = 16 };

/* The different keys of a sample, or 0 where these are many. */
static int64_t NAME(find_kinds)(const KEY *sample, KEY *kinds)
{
    int64_t count = 0;
    for (int64_t i = 0; i < BLOCK; i++) {
        if (i > 0 && sample[i] == sample[i - 1]) continue;
        if (count == NAME(KINDS)) return 0;
        kinds[count++] = sample[i];
    }
    return count;
}

/* Adds how many keys are equal to each of four. */
static void NAME(count_four)(const KEY *keys, int64_t count, const KEY *kinds, int64_t *counts)
{
    int64_t found[4] = {0}, i = 0;
    VECTOR wanted[4];
    UNROLL for (int64_t k = 0; k < 4; k++) wanted[k] = SPLAT(kinds[k]);
    for (; i + LANES <= count; i += LANES) {
        VECTOR v = LOAD(keys + i);
        UNROLL for (int64_t k = 0; k < 4; k++) found[k] += COUNT(EQUAL(v, wanted[k]));
    }
    for (; i < count; i++)
        for (int64_t k = 0; k < 4; k++) found[k] += keys[i] == kinds[k];
    for (int64_t k = 0; k < 4; k++) counts[k] += found[k];
}

/* How many elements of a row are of each kind; false where there are other ones. */
static bool NAME(count_kinds)(weft_key_row *row, const KEY *kinds, int64_t kind_count, int64_t *counts)
{
    KEY keys[NAME(SOME)];
    for (int64_t i = 0, some; i < row->count; i += some) {
        some = row->count - i < NAME(SOME) ? row->count - i : NAME(SOME);
        if (weft_is_cancelled(row->cancelled)) return false;
        row->lost |= row->take(row->map, row->elements + (size_t)i * row->map->size, some, keys);
        int64_t known = 0;
        for (int64_t k = 0; k < kind_count; k += 4) NAME(count_four)(keys, some, kinds + k, counts + k);
        for (int64_t k = 0; k < kind_count; k++) known += counts[k];
        if (known < i + some) return false;
    }
    return true;
}

/* A row of few different keys is not sorted but counted; false where it is none. */
static bool NAME(sort_kinds)(weft_key_row *row, const KEY *sample, int64_t wanted)
{
    KEY kinds[NAME(KINDS)] = {0}, equal[NAME(SOME)];
    int64_t counts[NAME(KINDS)] = {0}, kind_count = NAME(find_kinds)(sample, kinds);
    if (kind_count == 0 || !NAME(count_kinds)(row, kinds, kind_count, counts)) return false;
    for (int64_t k = 0; k < kind_count; k++) {
        if (row->map->infinity != 0 && kinds[k] == NAME(nan)(row)) {
            row->nans = counts[k];
            break;
        }
        int64_t rest = counts[k] < wanted ? counts[k] : wanted;
        wanted -= rest;
        for (int64_t i = 0; i < NAME(SOME) && i < rest; i++) equal[i] = kinds[k];
        for (int64_t some; rest > 0; rest -= some) {
            some = rest < NAME(SOME) ? rest : NAME(SOME);
            NAME(put_keys)(row, equal, some);
        }
    }
    return true;
}

/*
 * Keys are made of the elements a chunk at a time, and dealt by quarters to the ends of two rooms, so that memory is
 * gone through once for both. What is left of one room has space for any part of the other.
 */
static bool NAME(sort_quarters)(weft_key_row *row, const KEY *sample, KEY *keys, KEY *other, int64_t wanted)
{
    enum { SOME = NAME(SOME) };
    KEY taken[SOME], halves[SOME], numbers[SOME], pivots[3];
    int64_t count = row->count, size = (int64_t)row->map->size;
    NAME(room) lower = {keys, keys + count}, upper = {other, other + count};
    NAME(quarters)(row, sample, pivots);
    for (int64_t i = 0; i < count; i += SOME) {
        int64_t some = count - i < SOME ? count - i : SOME;
        if (weft_is_cancelled(row->cancelled)) return false;
        const char *next = row->elements + (i + some) * size;
        const KEY *chunk = taken;
        bool lost = row->take(row->map, next - some * size, some, taken);
        for (int64_t byte = 0; byte < SOME * size; byte += 64) PREFETCH(next + byte);
        if (lost) chunk = numbers, some = NAME(leave_nans)(row, taken, numbers, some);
        row->lost |= lost;
        int64_t low = NAME(partition)(chunk, halves, some, pivots[1]);
        NAME(part)(&lower, halves, low, pivots[0]);
        NAME(part)(&upper, halves + low, some - low, pivots[2]);
    }
    int64_t low = lower.low - keys, half = low + keys + count - lower.high, high = half + upper.low - other;
    count -= row->nans;
    return NAME(quicksort)(row, keys, upper.low, false, low, wanted, false) &&
           NAME(quicksort)(row, lower.high, upper.low, false, half - low, wanted - low, false) &&
           NAME(quicksort)(row, other, keys, false, high - half, wanted - half, false) &&
           NAME(quicksort)(row, upper.high, keys, false, count - high, wanted - high, false);
}

static bool NAME(sort_row)(weft_key_row *row, KEY *keys, KEY *other, int64_t wanted)
{
    int64_t count = row->count, some = count < WEFT_KEY_LONG ? count : BLOCK;
    row->lost = row->take(row->map, row->elements, some, keys);
    if (count >= WEFT_KEY_LONG) {
        if (!NAME(is_ordered)(keys, some, true) && !NAME(is_ordered)(keys, some, false)) {
            KEY sample[BLOCK];
            NAME(take_sample)(row, sample);
            return NAME(sort_kinds)(row, sample, wanted) || NAME(sort_quarters)(row, sample, keys, other, wanted);
        }
        row->lost |= row->take(row->map, row->elements + (size_t)some * row->map->size, count - some, keys + some);
    }
    if (!row->lost) return NAME(sort_keys)(row, keys, other, count, wanted);
    return NAME(sort_keys)(row, other, keys, NAME(leave_nans)(row, keys, other, count), wanted);
}

/* Which lanes of a row's floats are zeros, NaNs, and less than zero. */
typedef struct NAME(lost) {
    MASK zeros, nans, negative;
} NAME(lost);

INLINE NAME(lost) NAME(find_lost)(const weft_key_map *map, VECTOR v, int64_t lanes)
{
    VECTOR size = v & ~SPLAT((KEY)map->sign), zero = SPLAT(0);
    NAME(lost) lost = {EQUAL(size, zero) & FIRST(lanes), BELOW(SPLAT((KEY)map->infinity), size) & FIRST(lanes), 0};
    lost.negative = BELOW(v, zero) & FIRST(lanes) & (MASK)~(lost.zeros | lost.nans);
    return lost;
}

INLINE KEY *NAME(put_some)(KEY *to, VECTOR v, MASK lanes)
{
    if (lanes != 0) STORE_SOME(to, COMPRESS(v, lanes), COUNT(lanes));
    return to + COUNT(lanes);
}

/* Of floats as wide as keys. */
static weft_key_lost NAME(count_lost)(const weft_key_map *map, const void *elements, int64_t count)
{
    const KEY *from = elements;
    int64_t zeros = 0, nans = 0, negative = 0;
    for (int64_t i = 0; i < count; i += LANES) {
        int64_t lanes = count - i < LANES ? count - i : LANES;
        NAME(lost) lost = NAME(find_lost)(map, LOAD_SOME(from + i, lanes), lanes);
        zeros += COUNT(lost.zeros);
        nans += COUNT(lost.nans);
        negative += COUNT(lost.negative);
    }
    return (weft_key_lost){map->flip == 0 ? negative : count - nans - zeros - negative, zeros, nans};
}

static void NAME(put_lost)(const weft_key_map *map, const void *elements, int64_t count, weft_key_lost lost,
                           void *sorted)
{
    const KEY *from = elements;
    KEY *zero = (KEY *)sorted + lost.first_zero, *nan = (KEY *)sorted + count - lost.nans;
    const KEY *last_zero = zero + lost.zeros, *last_nan = nan + lost.nans;
    for (int64_t i = 0; zero < last_zero || nan < last_nan; i += LANES) {
        int64_t lanes = count - i < LANES ? count - i : LANES;
        VECTOR v = LOAD_SOME(from + i, lanes);
        NAME(lost) found = NAME(find_lost)(map, v, lanes);
        zero = NAME(put_some)(zero, v, found.zeros);
        nan = NAME(put_some)(nan, v, found.nans);
    }
}
#endif

#undef INLINE
#undef UNROLL
#undef KEY
#undef KEY_MAX
#undef NAME
#undef VECTOR
#undef MASK
#undef LANES
#undef ROWS
#undef BLOCK
#undef BLOCKS
#undef SPLAT
#undef LOAD
#undef STORE
#undef LOAD_SOME
#undef STORE_SOME
#undef SWAP
#undef CHOOSE
#undef HALVE
#undef FINISH
#undef MIN
#undef GREATER
#undef BELOW
#undef EQUAL
#undef WHOLE_ROWS
#undef ZIP_LOW
#undef ZIP_HIGH
#undef TURN_LOW
#undef TURN_HIGH
#undef COMPRESS
#undef STORE_OTHERS
#undef COUNT
#undef PREFETCH
