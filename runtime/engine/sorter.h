/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_SORTER_H
#define WEFT_RUNTIME_ENGINE_SORTER_H
/* What sorts the rows of a call, and the ways in which it does. */
#include <string.h>
#include <weft/runtime.h>
#include "runtime/base/pool.h"
#include "runtime/engine/key_sort.h"

enum {
    WEFT_SORT_CANCEL_ELEMENTS = 1 << 18, /* moved from one look at the flag to the next */
    WEFT_SORT_LINE = 64                  /* bytes of a cache line */
};

/* ---- elements ---- */

#define LOAD(type)                                                                                                     \
    do {                                                                                                               \
        type element_;                                                                                                 \
        memcpy(&element_, at, sizeof element_);                                                                        \
        return element_;                                                                                               \
    } while (0)

static inline __attribute__((always_inline)) uint64_t weft_sort_load(const char *at, size_t size)
{
    switch (size) {
    case 1: LOAD(uint8_t);
    case 2: LOAD(uint16_t);
    case 4: LOAD(uint32_t);
    default: LOAD(uint64_t);
    }
}
#undef LOAD

#define STORE(type)                                                                                                    \
    do {                                                                                                               \
        type element_ = (type)bits;                                                                                    \
        memcpy(at, &element_, sizeof element_);                                                                        \
        return;                                                                                                        \
    } while (0)

static inline __attribute__((always_inline)) void weft_sort_store(char *at, size_t size, uint64_t bits)
{
    switch (size) {
    case 1: STORE(uint8_t);
    case 2: STORE(uint16_t);
    case 4: STORE(uint32_t);
    default: STORE(uint64_t);
    }
}
#undef STORE

/* ---- rows ---- */

/* How rows are sorted: see sort.c. */
typedef enum weft_sort_method {
    WEFT_SORT_COUNTED,
    WEFT_SORT_VECTORS_32,
    WEFT_SORT_VECTORS_64,
    WEFT_SORT_ITEMS,
    WEFT_SORT_ITEM_PAIRS
} weft_sort_method;

typedef struct weft_sorter {
    const weft_sort_call *call;
    weft_key_map map;
    weft_sort_method method;
    const weft_key_sort *vectors;
    weft_key_take *take; /* of adjacent elements; NULL: one by one */
    weft_key_put *put;
    int64_t take_step, put_step; /* from one element of a row to the next where it is taken and put: call's, or 1 where
                                  * rows side by side are transposed */
    weft_key_skip *skip;         /* NULL: nothing is passed over */
    weft_key_pick *pick;         /* NULL: elements are looked at one by one */
    int64_t row_count, part_count, part_bytes;
    int64_t together;  /* rows that are sorted at a time */
    bool is_packed;    /* positions, in keys of 8 bytes first */
    bool is_columns;   /* rows side by side are sorted as they lie */
    bool is_few;       /* the first ones of rows side by side */
    bool is_cut;       /* rows are fewer than threads, and long */
    bool is_looked_at; /* positions: a row may be in order */
    bool is_direct;    /* from elements to elements, without a row of keys between */
    bool is_across;    /* they lie side by side: their elements are taken a line of the cache at a time */
    bool takes_whole,
        puts_whole; /* rows follow each other: those that are sorted together are taken, and put, as one */
    bool puts_lost; /* vectors put zeros and NaNs of whole rows of adjacent elements */
    int64_t wanted; /* elements of a sorted row that are put back */
    int64_t room;   /* keys of a row that are held at once: all, or a few of which those wanted are kept */
    const char *in;
    char *out, *scratch;
    weft_pool *pool;
    const volatile bool *cancelled;
    bool *stopped; /* a row was left as it was */
} weft_sorter;

/* How keys are held. */
typedef struct weft_key_form {
    weft_sort_method method;
    bool positions;
} weft_key_form;

/* Key number `i`, of the element at `position`. */
static inline __attribute__((always_inline)) void weft_sorter_set_key(weft_key_form form, void *keys, int64_t i,
                                                                      uint64_t key, int64_t position)
{
    uint64_t at = (uint64_t)position;
    switch (form.method) {
    case WEFT_SORT_VECTORS_32: ((uint32_t *)keys)[i] = (uint32_t)key ^ WEFT_KEY_SIGN_32; return;
    case WEFT_SORT_VECTORS_64:
        ((uint64_t *)keys)[i] = (form.positions ? key << 32 | at : key) ^ WEFT_KEY_SIGN_64;
        return;
    case WEFT_SORT_ITEM_PAIRS: memcpy((uint64_t *)keys + 2 * i, (uint64_t[]){key, at}, 2 * sizeof key); return;
    default: ((uint64_t *)keys)[i] = key;
    }
}

static inline __attribute__((always_inline)) uint64_t weft_sorter_key(const weft_sorter *s, const void *keys, int64_t i)
{
    if (s->method == WEFT_SORT_VECTORS_32) return ((const uint32_t *)keys)[i] ^ WEFT_KEY_SIGN_32;
    return s->method == WEFT_SORT_VECTORS_64 ? ((const uint64_t *)keys)[i] ^ WEFT_KEY_SIGN_64
                                             : ((const uint64_t *)keys)[i];
}

static inline __attribute__((always_inline)) int64_t weft_sorter_position(const weft_sorter *s, const void *keys,
                                                                          int64_t i)
{
    if (s->method == WEFT_SORT_ITEM_PAIRS) return (int64_t)((const uint64_t *)keys)[2 * i + 1];
    return (int64_t)(((const uint64_t *)keys)[i] & UINT32_MAX);
}

/* ---- one row (sort_row.c) ---- */

/* Bytes of a key, by method. */
extern const size_t weft_sorter_key_bytes[];
/* Bytes of what is put for a key. */
size_t weft_sorter_put_size(const weft_sorter *s);
/* The keys of `count` elements of a row from number `first` on. Whether one does not give its element back. */
bool weft_sorter_take(const weft_sorter *s, const char *in, int64_t first, int64_t count, void *keys);
/* Sorts the keys of a row; returns where they are then, there or in `other`, or NULL when cancelled. */
void *weft_sorter_sort(const weft_sorter *s, void *keys, void *other, int64_t length);
/* How many of the wanted keys are those of NaNs. */
int64_t weft_sorter_nans(const weft_sorter *s, const void *keys);
/* Elements, or positions, of the wanted keys. */
void weft_sorter_put_keys(const weft_sorter *s, const void *keys, char *out);
/* Of floats: zeros, and NaNs, whose keys need not give NaNs. */
void weft_sorter_put_lost(const weft_sorter *s, int64_t nans, const char *in, char *out);
/* The same for short rows, where they are counted faster than found. */
void weft_sorter_put_counted(const weft_sorter *s, const char *in, char *out);
/* All of this; `lost`: a key does not give its element back. */
void weft_sorter_put(const weft_sorter *s, const void *keys, const char *in, char *out, bool lost);
/* How many bools are set; -1: cancelled. */
int64_t weft_sorter_count_truths(const weft_sorter *s, const char *in);
/* Sorts bytes by counting them. False when cancelled. */
bool weft_sorter_count(const weft_sorter *s, const char *in, char *out);

/* ---- other ways ---- */

/* Positions of a row whose elements ascend, or descend with no two equal. False: it does neither, or it was cancelled
 * (sort_positions.c). */
bool weft_sorter_put_ordered(const weft_sorter *s, const char *in, char *out);
/* Positions of bytes. False when cancelled. */
bool weft_sorter_count_positions(const weft_sorter *s, const char *in, char *out);

/* Rows of 8-byte elements whose positions are sorted (sort_packed.c). */
typedef struct weft_packed_rows {
    uint64_t *keys;   /* in the order of their elements */
    int64_t next;     /* words from those of a row to those of the next one */
    uint64_t *packed; /* rows follow each other */
    uint64_t *other;
    int64_t room; /* words of `other`, for two rows, or for four where rows are sorted together */
    int64_t count;
    int place_bits;
    int lost[WEFT_SORT_LINE]; /* bits of the keys of a row */
} weft_packed_rows;

/* `next` words from the keys of a row to those of the next one. */
void weft_sorter_lay_out_packed(const weft_sorter *s, char *scratch, int64_t next, int64_t count,
                                weft_packed_rows *out_rows);
/* Elements may lie where the keys will, if they are adjacent. */
void weft_sorter_pack(const weft_sorter *s, weft_packed_rows *rows, int64_t row, const char *in, int64_t step);
/* False: cancelled, or a single row has to be sorted in another way. */
bool weft_sorter_sort_packed(const weft_sorter *s, const weft_packed_rows *rows);
void weft_sorter_put_packed(const weft_sorter *s, const weft_packed_rows *rows, int64_t row, char *out, int64_t step);
/* A long row on all threads of the pool (sort_cut.c). False: cancelled, or one thread has to sort it, and not with
 * packed keys. */
bool weft_sorter_sort_cut(const weft_sorter *s, const char *in, char *out, char *scratch);
/* Bytes of scratch that takes beside the keys and room for as many, and how many pieces threads share. */
int64_t weft_sorter_cut_bytes(int64_t length);
int64_t weft_sorter_cut_pieces(void);
/* Sorts columns side by side of up to WEFT_KEY_TALL lines (sort_columns.c). */
void weft_sorter_sort_columns(const weft_sorter *s, const char *in, int64_t count, void *keys, char *out);
/* The first few elements of up to WEFT_KEY_WIDE of them. False when cancelled. */
bool weft_sorter_select_columns(const weft_sorter *s, const char *in, int64_t count, void *keys, char *out);
/* The wanted keys of a row, in order, with room for a few times as many (sort_select.c). False when cancelled. */
bool weft_sorter_select(const weft_sorter *s, const char *in, void *keys);
/* Sorts `count` rows that lie side by side (sort_across.c). False when cancelled. */
bool weft_sorter_sort_across(const weft_sorter *s, const char *in, int64_t count, char *keys, char *out);
#endif
