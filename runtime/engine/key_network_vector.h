/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks that sort signed keys with vectors, for key_sort_vector.h, whose macros it takes.
 *
 * A network sorts a matrix of `rows` registers: first its columns, without a shuffle (Batcher's odd-even merge sort),
 * then neighbouring columns are merged (his bitonic merge: one of both is reversed, and halves are exchanged at ever
 * smaller distances), until the matrix is sorted column by column; its transpose is the result. Results of several are
 * merged in the same way. In a bitonic merge keys i and i ^ c may change places, for any c: the comparisons are the
 * same.
 */
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
/* A square of registers, transposed in memory. */
static void NAME(transpose_square)(const char *from, int64_t next, char *to, int64_t to_next)
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
 * reversed if `reversed_lanes`. */
INLINE void NAME(exchange_rows)(KEY *low, KEY *high, int64_t rows, bool reversed, bool reversed_lanes)
{
    for (int64_t r = 0; r < rows; r++) {
        KEY *at = reversed ? high - (r + 1) * LANES : high + r * LANES;
        VECTOR a = LOAD(low + r * LANES), b = LOAD(at);
        if (reversed_lanes) b = SWAP(b, LANES - 1);
        NAME(exchange)(&a, &b);
        STORE(low + r * LANES, a);
        STORE(at, b);
    }
}

/* Of `blocks` blocks, the first `half` are sorted, and so are the others, which are no more: merges them, or each of
 * their columns with `reversed_lanes` false, as far as blocks that are bitonic. Where they are fewer it is as if blocks
 * of KEY_MAX followed, which would stay where they are. */
INLINE void NAME(join_blocks)(KEY *keys, int64_t half, int64_t blocks, bool reversed_lanes)
{
    KEY *end = keys + blocks * BLOCK;
    NAME(exchange_rows)(keys + (2 * half - blocks) * BLOCK, end, (blocks - half) * ROWS, true, reversed_lanes);
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
/* Blocks of LANES sorted columns each: merged. */
static void NAME(merge_tall)(KEY *columns, int64_t blocks)
{
    for (int64_t half = 1; half < blocks; half *= 2)
        for (int64_t first = 0; first + half < blocks; first += 2 * half) {
            int64_t rest = blocks - first, count = rest < 2 * half ? rest : 2 * half;
            KEY *at = columns + first * BLOCK;
            VECTOR v[ROWS];
            NAME(join_blocks)(at, half, count, false);
            for (int64_t b = 0; b < count; b++) {
                UNROLL for (uint32_t r = 0; r < ROWS; r++) v[r] = LOAD(at + b * BLOCK + r * LANES);
                NAME(finish_rows)(v, ROWS);
                UNROLL for (uint32_t r = 0; r < ROWS; r++) STORE(at + b * BLOCK + r * LANES, v[r]);
            }
        }
}

/* Sorts LANES columns of `length` keys, a register after the other, with room for whole blocks:
 * these are sorted in registers, and merged. */
static void NAME(sort_tall)(KEY *columns, int64_t length)
{
    const int64_t blocks = (length + ROWS - 1) / ROWS;
    VECTOR v[ROWS];
    for (int64_t r = length; r < blocks * ROWS; r++) STORE(columns + r * LANES, SPLAT(KEY_MAX));
    for (int64_t b = 0; b < blocks; b++) {
        UNROLL for (uint32_t r = 0; r < ROWS; r++) v[r] = LOAD(columns + b * BLOCK + r * LANES);
        NAME(sort_columns)(v, ROWS);
        UNROLL for (uint32_t r = 0; r < ROWS; r++) STORE(columns + b * BLOCK + r * LANES, v[r]);
    }
    NAME(merge_tall)(columns, blocks);
}

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
    NAME(merge_tall)(columns, blocks);
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
            if (length <= LANES)
            NAME(sort_some_rows)(at, count, length, 1);
        else if (length <= 2 * LANES) NAME(sort_some_rows)(at, count, length, LANES == ROWS ? 1 : 2);
        else NAME(sort_some_rows)(at, count, length, ROWS / LANES);
    }
}
