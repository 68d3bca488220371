/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting of rows from elements to elements, for key_sort_vector.h, whose macros and functions it takes. */
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

/* Three keys that part a row into quarters without its NaNs. Of what is more than a quarter equal keys are parted from
 * all others. */
INLINE void NAME(quarters)(const weft_key_row *row, const KEY *sample, KEY *pivots)
{
    int64_t numbers = BLOCK;
    while (row->map->infinity != 0 && numbers > 1 && sample[numbers - 1] == NAME(nan)(row)) numbers--;
    for (int64_t q = 0; q < 3; q++) {
        pivots[q] = sample[(q + 1) * numbers / 4];
        if (q > 0 && pivots[q] <= pivots[q - 1] && pivots[q - 1] != KEY_MAX) pivots[q] = pivots[q - 1] + 1;
    }
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
    lost.negative = BELOW(v, zero) & FIRST(lanes) & (MASK) ~(lost.zeros | lost.nans);
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
