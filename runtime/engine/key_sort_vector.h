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
 */
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")
#define ROWS WEFT_KEY_SHORT /* registers of the largest network: twice as many spill too much with AVX2 */
#define BLOCK (ROWS * LANES)

#include "runtime/engine/key_network_vector.h"

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
static bool NAME(is_ordered)(const KEY *keys, int64_t count, bool ascending)
{
    enum { FEW = 16, STEP = 4 }; /* keys, registers */
    int64_t i = 1, last = count - 1, middle = count / 2;
    if (count > FEW && (ascending ? keys[0] > keys[middle] || keys[middle] > keys[last]
                                  : keys[0] < keys[middle] || keys[middle] < keys[last]))
        return false;
    for (; i < FEW && i < count; i++)
        if (ascending ? keys[i] < keys[i - 1] : keys[i] > keys[i - 1]) return false;
    for (; i + STEP * LANES <= count; i += STEP * LANES) {
        MASK disordered = 0;
        UNROLL for (int64_t r = 0; r < STEP; r++)
        {
            VECTOR before = LOAD(keys + i + r * LANES - 1), v = LOAD(keys + i + r * LANES);
            disordered |= ascending ? BELOW(v, before) : BELOW(before, v);
        }
        if (disordered != 0) return false;
    }
    for (; i < count; i++)
        if (ascending ? keys[i] < keys[i - 1] : keys[i] > keys[i - 1]) return false;
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
    if (count > 1 && keys[0] > keys[count - 1] && NAME(is_ordered)(keys, count, false)) NAME(reverse)(keys, count);
    return NAME(quicksort)(row, keys, other, false, count, wanted, false);
}

static bool NAME(sort)(KEY *keys, KEY *other, int64_t count, int64_t wanted, const volatile bool *cancelled)
{
    weft_key_row row = {.cancelled = cancelled};
    return NAME(is_ordered)(keys, count, true) || NAME(sort_keys)(&row, keys, other, count, wanted);
}

#if WHOLE_ROWS
#include "runtime/engine/key_row_vector.h"
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
