/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting of rows from elements to elements, for key_sort_vector.h, whose macros and functions it takes. */
#include "runtime/engine/key_kinds_vector.h"

/* Moves what is no NaN from `keys` to `to`; returns how many these are. */
INLINE int64_t NAME(leave_nans)(weft_key_row *row, const KEY *keys, KEY *to, int64_t count)
{
    int64_t numbers = NAME(partition)(keys, to, count, NAME(nan)(row));
    row->nans += count - numbers;
    return numbers;
}

/* BLOCK keys of a row, from all over it. */
INLINE void NAME(take_sample)(const weft_key_row *row, KEY *sample)
{
    int64_t step = row->count / BLOCK;
    for (int64_t i = 0; i < BLOCK; i++)
        (void)row->take(row->map, row->elements + (size_t)(i * step + step / 2) * row->map->size, 1, &sample[i]);
}

/* A key that is a large part of a row: it is not sorted but counted. */
typedef struct NAME(frequent) {
    KEY key;
    int64_t first, sampled; /* its place among the sorted sample, and how often it is there; 0: none is so frequent */
    int64_t count;
    int64_t part; /* what it comes before */
} NAME(frequent);

/* Of a sorted sample without NaNs. */
static NAME(frequent) NAME(find_frequent)(const KEY *sample, int64_t numbers)
{
    enum { PART = BLOCK / 4 };
    int64_t i = 0, end;
    while (i + PART < numbers && sample[i] != sample[i + PART]) i++;
    if (i + PART >= numbers) return (NAME(frequent)){0};
    for (end = i + PART; end < numbers && sample[end] == sample[i];) end++;
    int64_t others = numbers - (end - i), part = others == 0 ? 1 : (4 * i + others / 2) / others;
    return (NAME(frequent)){sample[i], i, end - i, 0, part < 1 ? 1 : part > 3 ? 3 : part};
}

/* Three keys that part a row into quarters without its NaNs and what is frequent, which is one of them. Of what is more
 * than a quarter equal keys are parted from all others. */
static NAME(frequent) NAME(quarters)(const weft_key_row *row, const KEY *sample, KEY *pivots)
{
    int64_t numbers = BLOCK;
    while (row->map->infinity != 0 && numbers > 1 && sample[numbers - 1] == NAME(nan)(row)) numbers--;
    NAME(frequent) f = NAME(find_frequent)(sample, numbers);
    for (int64_t q = 1; q <= 3; q++) {
        int64_t after = f.first + f.sampled, place = q * numbers / 4;
        if (f.sampled != 0)
            place = q <= f.part ? q * f.first / f.part : after + (q - f.part) * (numbers - after) / (4 - f.part);
        KEY pivot = sample[place < BLOCK ? place : BLOCK - 1];
        pivots[q - 1] = q > 1 && pivot <= pivots[q - 2] && pivots[q - 2] != KEY_MAX ? pivots[q - 2] + 1 : pivot;
    }
    return f;
}

/* Keys other than that of `f`, which are counted, to the front; returns how many these are. */
INLINE int64_t NAME(leave_frequent)(NAME(frequent) * f, KEY *keys, int64_t count)
{
    const VECTOR key = SPLAT(f->key);
    int64_t others = 0, i = 0;
    for (; i + LANES <= count; i += LANES) {
        VECTOR v = LOAD(keys + i);
        MASK other = (MASK)~EQUAL(v, key);
        STORE(keys + others, COMPRESS(v, other));
        others += COUNT(other);
    }
    for (; i < count; i++) {
        keys[others] = keys[i];
        others += keys[i] != f->key;
    }
    f->count += count - others;
    return others;
}

/* Keys are made of the elements a chunk at a time, and dealt by quarters to the ends of two rooms, so that memory is
 * gone through once for both. Not inlined: what sorts the quarters needs no such frame. False when cancelled. */
static __attribute__((noinline)) bool NAME(deal_quarters)(weft_key_row *row, const KEY *pivots,
                                                          NAME(frequent) * frequent, NAME(room) * lower,
                                                          NAME(room) * upper)
{
    enum { SOME = NAME(SOME) };
    KEY taken[SOME], halves[SOME], numbers[SOME];
    int64_t count = row->count, size = (int64_t)row->map->size;
    for (int64_t i = 0; i < count; i += SOME) {
        int64_t some = count - i < SOME ? count - i : SOME;
        if (weft_is_cancelled(row->cancelled)) return false;
        const char *next = row->elements + (i + some) * size;
        KEY *chunk = taken;
        bool lost = row->take(row->map, next - some * size, some, taken);
        for (int64_t byte = 0; byte < SOME * size; byte += 64) PREFETCH(next + byte);
        if (lost) chunk = numbers, some = NAME(leave_nans)(row, taken, numbers, some);
        row->lost |= lost;
        if (frequent->sampled != 0) some = NAME(leave_frequent)(frequent, chunk, some);
        int64_t low = NAME(partition)(chunk, halves, some, pivots[1]);
        NAME(part)(lower, halves, low, pivots[0]);
        NAME(part)(upper, halves + low, some - low, pivots[2]);
    }
    return true;
}

/* What is left of one room has space for any part of the other. */
static bool NAME(sort_quarters)(weft_key_row *row, const KEY *sample, KEY *keys, KEY *other, int64_t wanted)
{
    KEY pivots[3];
    int64_t count = row->count;
    NAME(room) lower = {keys, keys + count}, upper = {other, other + count};
    NAME(frequent) frequent = NAME(quarters)(row, sample, pivots);
    if (!NAME(deal_quarters)(row, pivots, &frequent, &lower, &upper)) return false;
    int64_t low = lower.low - keys, half = low + keys + count - lower.high, high = half + upper.low - other;
    const int64_t bounds[] = {0, low, half, high, count - row->nans - frequent.count};
    KEY *const parts[] = {keys, lower.high, other, upper.high}, *const rooms[] = {upper.low, upper.low, keys, keys};
    for (int64_t q = 0; q < 4; q++) {
        if (q == frequent.part) wanted -= NAME(put_run)(row, frequent.key, frequent.count, wanted - bounds[q]);
        if (!NAME(quicksort)(row, parts[q], rooms[q], false, bounds[q + 1] - bounds[q], wanted - bounds[q], false))
            return false;
    }
    return true;
}

/* A row without NaNs: what is frequent in a sample is counted, and put between what is less and what is greater. */
static bool NAME(sort_others)(weft_key_row *row, KEY *keys, KEY *other, int64_t count, int64_t wanted)
{
    enum { SAMPLE = 16, FREQUENT = 6, LEAST = 2 * BLOCK };
    KEY sample[BLOCK];
    NAME(frequent) f = {0};
    for (int64_t i = 0; i < SAMPLE && count >= LEAST; i++) sample[i] = keys[(2 * i + 1) * count / (2 * SAMPLE)];
    if (count >= LEAST) NAME(sort_block)(sample, sample, SAMPLE);
    for (int64_t i = 0; i + FREQUENT <= SAMPLE && count >= LEAST && f.sampled == 0; i++)
        if (sample[i] == sample[i + FREQUENT - 1]) f = (NAME(frequent)){.key = sample[i], .sampled = FREQUENT};
    if (f.sampled == 0) return NAME(sort_keys)(row, keys, other, count, wanted);
    int64_t rest = NAME(leave_frequent)(&f, keys, count), low = NAME(partition)(keys, other, rest, f.key);
    if (!NAME(quicksort)(row, other, keys, false, low, wanted, false)) return false;
    wanted -= NAME(put_run)(row, f.key, f.count, wanted - low);
    return NAME(quicksort)(row, other + low, keys, false, rest - low, wanted - low, false);
}

/* Whether keys ascend, or descend. */
static bool NAME(is_in_order)(const KEY *keys, int64_t count)
{
    return NAME(is_ordered)(keys, count, true) || NAME(is_ordered)(keys, count, false);
}

static bool NAME(sort_row)(weft_key_row *row, KEY *keys, KEY *other, int64_t wanted)
{
    int64_t count = row->count, some = count < WEFT_KEY_LONG ? count : BLOCK;
    row->lost = row->take(row->map, row->elements, some, keys);
    if (count >= WEFT_KEY_LONG) {
        KEY sample[BLOCK];
        NAME(take_sample)(row, sample);
        if (!NAME(is_in_order)(keys, some) || !NAME(is_in_order)(sample, BLOCK)) {
            NAME(sort_block)(sample, sample, BLOCK);
            return NAME(sort_kinds)(row, sample, keys, wanted) || NAME(sort_quarters)(row, sample, keys, other, wanted);
        }
        row->lost |= row->take(row->map, row->elements + (size_t)some * row->map->size, count - some, keys + some);
    }
    if (!row->lost) return NAME(sort_others)(row, keys, other, count, wanted);
    return NAME(sort_others)(row, other, keys, NAME(leave_nans)(row, keys, other, count), wanted);
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
