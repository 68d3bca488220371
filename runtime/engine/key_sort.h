/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_KEY_SORT_H
#define WEFT_RUNTIME_ENGINE_KEY_SORT_H
/*
 * Sorting of integer keys with vectors: quicksort whose partition compresses lanes, down to blocks that a sorting
 * network of whole registers sorts (key_sort_vector.h).
 */
#include <weft/base.h>
#include "runtime/engine/key_map.h"

/* Keys of `count` adjacent elements of up to 8 bytes, no bools: of 8 bytes for those of 8, else of 4. Whether one does
 * not give its element back. */
typedef bool weft_key_take(const weft_key_map *map, const void *elements, int64_t count, void *keys);
/* How many of the adjacent elements have keys (of weft_key_of64) from `bound` on, blocks of WEFT_KEY_SKIPPED that have
 * no other ones. */
typedef int64_t weft_key_skip(const weft_key_map *map, const void *elements, int64_t count, uint64_t bound);
/* The places of the first adjacent elements with keys (of weft_key_of64) below `bound`, as many as have room, which is
 * WEFT_KEY_LANES at least; how many of them there are, and of the elements that were seen for that. `places` has room
 * for WEFT_KEY_LANES more. */
typedef int64_t weft_key_pick(const weft_key_map *map, const void *elements, int64_t count, uint64_t bound,
                              int32_t *places, int64_t room, int64_t *out_seen);
/* A square of 64 bytes a side, transposed; bytes from a line of it to the next in what is read and in what is written.
 */
typedef void weft_key_transpose(const char *from, int64_t next, char *to, int64_t to_next);
/* The elements of keys, adjacent. */
typedef void weft_key_put(const weft_key_map *map, const void *keys, int64_t count, void *elements);

/* Keys of adjacent elements of 8 bytes, and packed ones: their upper bits, above the least one, over the positions,
 * which take weft_key_place_bits(count); signed. How many bits of keys are lost. */
typedef int weft_key_pack(const weft_key_map *map, const void *elements, int64_t count, uint64_t *keys,
                          uint64_t *packed);

static inline int weft_key_place_bits(int64_t count)
{
    return count < 2 ? 1 : 64 - __builtin_clzll((unsigned long long)count - 1);
}

/* Columns that lie side by side, at most as many as keys are in a register where nothing else is said; from a line to
 * the next it is so many bytes. */
typedef struct weft_key_columns {
    const char *in;
    char *out;
    int64_t in_step, out_step, count;
    int64_t first, length; /* lines: the first few elements are taken from some lines after the other */
    int64_t wanted;        /* lines that are put */
    void *keys;            /* room for whole blocks of WEFT_KEY_SHORT registers */
} weft_key_columns;

/* Sorts up to WEFT_KEY_TALL lines, and leaves their keys, a register for each. Whether one does not give its element
 * back. */
typedef bool weft_key_across(const weft_key_map *map, const weft_key_columns *columns);

/* The first few of up to WEFT_KEY_WIDE columns: for each 8 of them `keys` has room for twice 8 words for each that is
 * wanted; the lines are in the second half. */
typedef void weft_key_few(const weft_key_map *map, const weft_key_columns *columns);

/* A row of adjacent elements, and what it is sorted into. */
typedef struct weft_key_row {
    const weft_key_map *map;
    weft_key_take *take;
    weft_key_put *put; /* NULL: keys stay keys */
    const char *elements;
    char *out;     /* moves on as elements are put */
    int64_t count; /* of elements */
    const volatile bool *cancelled;
    bool lost;    /* whether a key did not give its element back */
    int64_t nans; /* which are left out, as if the row ended before them */
} weft_key_row;

/* Zeros, with their first place in the sorted row, and NaNs, which are last. */
typedef struct weft_key_lost {
    int64_t first_zero, zeros, nans;
} weft_key_lost;

/* For elements of one size on one ISA level. What there is none of is NULL. */
typedef struct weft_key_sort {
    /* Sorts `count` keys, ascending, so that the first `wanted` are in their places. `other` has room for as many.
     * False when cancelled: the keys are then in any order. */
    bool (*sort32)(int32_t *keys, int32_t *other, int64_t count, int64_t wanted, const volatile bool *cancelled);
    bool (*sort64)(int64_t *keys, int64_t *other, int64_t count, int64_t wanted, const volatile bool *cancelled);
    /* Sorts each of `rows` rows of `most_together` keys at most that follow each other. */
    void (*sort_rows32)(int32_t *keys, int64_t rows, int64_t length);
    void (*sort_rows64)(int64_t *keys, int64_t rows, int64_t length);
    weft_key_take *take;
    weft_key_put *put;
    weft_key_skip *skip;
    /* Sorts a row; of the first `wanted` elements those that are no NaNs are put. `keys` and `other` have room for as
     * many. False when cancelled: some may have been put. */
    bool (*sort_row32)(weft_key_row *row, int32_t *keys, int32_t *other, int64_t wanted);
    bool (*sort_row64)(weft_key_row *row, int64_t *keys, int64_t *other, int64_t wanted);
    /* The floats of a row whose keys do not give them back; and puts them, in their order, into the sorted row. */
    weft_key_lost (*count_lost)(const weft_key_map *map, const void *elements, int64_t count);
    void (*put_lost)(const weft_key_map *map, const void *elements, int64_t count, weft_key_lost lost, void *sorted);
    int64_t most_together;
    weft_key_pick *pick;
    weft_key_transpose *transpose; /* of elements of this size */
    weft_key_across *across;
    weft_key_few *few;
    weft_key_pack *pack;
    /* Moves keys, those below the pivot first; returns how many these are. */
    int64_t (*part32)(const int32_t *keys, int32_t *to, int64_t count, int32_t pivot);
    int64_t (*part64)(const int64_t *keys, int64_t *to, int64_t count, int64_t pivot);
} weft_key_sort;

enum {
    WEFT_KEY_SKIPPED = 64,
    WEFT_KEY_LANES = 16,
    WEFT_KEY_SHORT = 16,
    WEFT_KEY_COLUMNS = 256, /* rows that become columns */
    WEFT_KEY_TALL = 384,    /* columns as they lie: twice as many keys are parted faster */
    WEFT_KEY_WIDE = 64,
    WEFT_KEY_LONG = 1 << 15
};

/* Of elements of so many bits. */
extern const weft_key_sort weft_key_sort_v3_8, weft_key_sort_v3_16, weft_key_sort_v3_32, weft_key_sort_v3_64;
extern const weft_key_sort weft_key_sort_v4_8, weft_key_sort_v4_16, weft_key_sort_v4_32, weft_key_sort_v4_64;
/* Of their positions: keys of 8 bytes with positions in the lower half, which `put` puts as i64. For elements of 8
 * bytes it has the keys that `pack` makes. */
extern const weft_key_sort weft_key_sort_v3_positions8, weft_key_sort_v3_positions16, weft_key_sort_v3_positions32,
    weft_key_sort_v3_positions64;
extern const weft_key_sort weft_key_sort_v4_positions8, weft_key_sort_v4_positions16, weft_key_sort_v4_positions32,
    weft_key_sort_v4_positions64;
#endif
