/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/sort.h"
#include <string.h>
#include "runtime/base/cancel.h"

/*
 * A row is taken out of the array as unsigned keys in the order of its elements, sorted, and put back. A key has the
 * width of its element; where positions are asked for, each key carries its own. So there are two forms of items, one
 * word or two, and no dtype in any algorithm: short rows are sorted by insertion and merging, long ones digit by digit
 * from the low end (radix).
 *
 * Keys of integers give their elements back, those of bools 0 or 1. Those of floats do, except for two: all NaNs share
 * one key, and both zeros. Such elements come out of the row itself, in its order.
 */

enum {
    WORD_BITS = 64,
    INSERTION_RUN = 16,   /* elements that are sorted by insertion before merging */
    RADIX_LEAST = 96,     /* times the bytes of a key: from so many elements on, digits are faster than merging */
    WIDE_LEAST = 1 << 15, /* from so many elements on, wide digits pay for their larger table */
    NARROW_DIGIT = 8,     /* bits */
    WIDE_DIGIT = 11,
    CANCEL_ELEMENTS = 1 << 18, /* moved from one look at the flag to the next */
    SERIAL_ELEMENTS = 8192,    /* the pool is not woken for fewer */
    SCRATCH_ALIGNMENT = 64
};

/* ---- keys ---- */

/* How elements of a dtype, in one direction, are mapped to keys. */
typedef struct key_map {
    size_t size;       /* bytes of an element */
    uint64_t mask;     /* of its bits */
    uint64_t sign;     /* its sign bit; 0: unsigned */
    uint64_t infinity; /* of a float, what is greater (except for the sign) is NaN; 0: an integer */
    uint64_t flip;     /* turns the direction round */
    bool truth;        /* of a bool, any byte but 0 is 1 */
} key_map;

static key_map key_map_of(weft_dtype dtype, bool descending)
{
    static const uint64_t infinities[WEFT_DTYPE_COUNT] = {
        [WEFT_BF16] = 0x7f80, [WEFT_F16] = 0x7c00, [WEFT_F32] = 0x7f800000, [WEFT_F64] = UINT64_C(0x7ff0000000000000)};
    size_t size = weft_dtype_size(dtype);
    weft_dtype_kind kind = weft_dtype_info_of(dtype)->kind;
    uint64_t mask = UINT64_MAX >> (WORD_BITS - 8 * size);
    bool is_signed = kind == WEFT_KIND_SIGNED || kind == WEFT_KIND_FLOAT;
    return (key_map){
        size, mask, is_signed ? mask ^ mask >> 1 : 0, infinities[dtype], descending ? mask : 0, kind == WEFT_KIND_BOOL};
}

static inline uint64_t key_of(const key_map *map, uint64_t bits)
{
    if (map->truth) bits = bits != 0;
    if (map->infinity == 0) return bits ^ map->sign ^ map->flip;
    uint64_t magnitude = bits & ~map->sign;
    if (magnitude > map->infinity) return map->mask;
    if (magnitude == 0) bits = 0;
    return ((bits & map->sign) != 0 ? bits ^ map->mask : bits ^ map->sign) ^ map->flip;
}

/* The inverse, except for keys that are shared. */
static inline uint64_t bits_of(const key_map *map, uint64_t key)
{
    key ^= map->flip;
    if (map->infinity == 0 || (key & map->sign) != 0) return key ^ map->sign;
    return key ^ map->mask;
}

static inline bool is_shared(const key_map *map, uint64_t key)
{
    return map->infinity != 0 && (key == map->mask || key == (map->sign ^ map->flip));
}

#define LOAD(type)                                                                                                     \
    do {                                                                                                               \
        type element_;                                                                                                 \
        memcpy(&element_, at, sizeof element_);                                                                        \
        return element_;                                                                                               \
    } while (0)

static inline uint64_t load(const char *at, size_t size)
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

static inline void store(char *at, size_t size, uint64_t bits)
{
    switch (size) {
    case 1: STORE(uint8_t);
    case 2: STORE(uint16_t);
    case 4: STORE(uint32_t);
    default: STORE(uint64_t);
    }
}
#undef STORE

/* ---- items: a key, and a position after it where `words` is 2 ---- */

static inline void move(uint64_t *to, const uint64_t *from, size_t words)
{
    to[0] = from[0];
    if (words == 2) to[1] = from[1];
}

static inline void insertion_sort(uint64_t *items, int64_t count, size_t words)
{
    for (int64_t i = 1; i < count; i++) {
        uint64_t item[2] = {0, 0};
        int64_t at = i;
        move(item, items + i * words, words);
        for (; at > 0 && items[(at - 1) * words] > item[0]; at--)
            move(items + at * words, items + (at - 1) * words, words);
        move(items + at * words, item, words);
    }
}

/* Merges items [0, middle) and [middle, count) into `to`. */
static inline void merge(const uint64_t *items, int64_t middle, int64_t count, uint64_t *to, size_t words)
{
    const uint64_t *left = items, *left_end = items + middle * words;
    const uint64_t *right = left_end, *end = items + count * words;
    while (left < left_end && right < end) {
        bool take_right = right[0] < left[0];
        move(to, take_right ? right : left, words);
        right += take_right ? words : 0;
        left += take_right ? 0 : words;
        to += words;
    }
    if (left < left_end) memcpy(to, left, (size_t)(left_end - left) * sizeof *left);
    if (right < end) memcpy(to, right, (size_t)(end - right) * sizeof *right);
}

static inline uint64_t *merge_sort(uint64_t *items, uint64_t *other, int64_t count, size_t words)
{
    for (int64_t first = 0; first < count; first += INSERTION_RUN) {
        int64_t run = count - first < INSERTION_RUN ? count - first : INSERTION_RUN;
        insertion_sort(items + first * words, run, words);
    }
    for (int64_t run = INSERTION_RUN; run < count; run *= 2) {
        for (int64_t first = 0; first < count; first += 2 * run) {
            int64_t rest = count - first, middle = rest < run ? rest : run;
            merge(items + first * words, middle, rest < 2 * run ? rest : 2 * run, other + first * words, words);
        }
        uint64_t *sorted = other;
        other = items;
        items = sorted;
    }
    return items;
}

/* NULL when cancelled. */
static inline uint64_t *radix_sort(uint64_t *items, uint64_t *other, int64_t count, size_t words, int bits,
                                   const volatile bool *cancelled)
{
    int64_t counts[1 << WIDE_DIGIT];
    int digit = count < WIDE_LEAST ? NARROW_DIGIT : WIDE_DIGIT, values = 1 << digit;
    for (int shift = 0; shift < bits; shift += digit) {
        uint64_t mask = (uint64_t)values - 1;
        int64_t next = 0;
        memset(counts, 0, (size_t)values * sizeof *counts);
        for (int64_t i = 0; i < count; i++) counts[items[i * words] >> shift & mask]++;
        if (counts[items[0] >> shift & mask] == count) continue;
        for (int value = 0; value < values; value++) {
            int64_t first = next;
            next += counts[value];
            counts[value] = first;
        }
        for (int64_t first = 0, end; first < count; first = end) {
            if (weft_is_cancelled(cancelled)) return NULL;
            end = count - first < CANCEL_ELEMENTS ? count : first + CANCEL_ELEMENTS;
            for (int64_t i = first; i < end; i++)
                move(other + counts[items[i * words] >> shift & mask]++ * words, items + i * words, words);
        }
        uint64_t *sorted = other;
        other = items;
        items = sorted;
    }
    return items;
}

/* Sorts `count` items with the help of room for as many; returns which of the two has them in the end, or NULL when
 * cancelled. */
static inline uint64_t *sort_items(uint64_t *items, uint64_t *other, int64_t count, size_t words, size_t key_size,
                                   const volatile bool *cancelled)
{
    if (count < (int64_t)(RADIX_LEAST * key_size)) return merge_sort(items, other, count, words);
    return radix_sort(items, other, count, words, (int)(8 * key_size), cancelled);
}

/* ---- rows ---- */

typedef struct sorter {
    const weft_sort_call *call;
    key_map map;
    size_t words;
    int64_t row_count, part_count, part_bytes;
    const char *in;
    char *out, *scratch;
    const volatile bool *cancelled;
    bool *stopped; /* a row was left as it was */
} sorter;

static void take_row(const sorter *s, const char *in, uint64_t *items)
{
    int64_t length = s->call->length, step = s->call->in_step * (int64_t)s->map.size;
    for (int64_t i = 0; i < length; i++) items[i * s->words] = key_of(&s->map, load(in + i * step, s->map.size));
    for (int64_t i = 0; s->words == 2 && i < length; i++) items[2 * i + 1] = (uint64_t)i;
}

static void put_positions(const sorter *s, const uint64_t *items, char *out)
{
    for (int64_t i = 0; i < s->call->length; i++)
        store(out + i * s->call->out_step * (int64_t)sizeof(int64_t), sizeof(int64_t), items[2 * i + 1]);
}

/* Elements of one shared key follow each other: the row is searched for them once. */
static void put_elements(const sorter *s, const uint64_t *keys, const char *in, char *out)
{
    int64_t size = (int64_t)s->map.size, cursor = 0;
    for (int64_t i = 0; i < s->call->length; i++) {
        uint64_t bits = bits_of(&s->map, keys[i]);
        if (is_shared(&s->map, keys[i])) {
            if (i == 0 || keys[i] != keys[i - 1]) cursor = 0;
            do bits = load(in + cursor++ * s->call->in_step * size, s->map.size);
            while (key_of(&s->map, bits) != keys[i]);
        }
        store(out + i * s->call->out_step * size, s->map.size, bits);
    }
}

/* False when cancelled. */
static bool sort_row(const sorter *s, const char *in, char *out, uint64_t *items)
{
    int64_t length = s->call->length;
    uint64_t *other = items + (size_t)length * s->words;
    if (weft_is_cancelled(s->cancelled)) return false;
    take_row(s, in, items);
    uint64_t *sorted = s->words == 2 ? sort_items(items, other, length, 2, s->map.size, s->cancelled)
                                     : sort_items(items, other, length, 1, s->map.size, s->cancelled);
    if (sorted == NULL) return false;
    if (s->words == 2) put_positions(s, sorted, out);
    else put_elements(s, sorted, in, out);
    return true;
}

/* Elements from the first one of the array to the first one of row `row`. */
static int64_t row_offset(const weft_sort_call *call, const int64_t *strides, int64_t row)
{
    int64_t offset = 0;
    for (size_t axis = call->rank; axis-- > 0; row /= call->rows[axis])
        offset += row % call->rows[axis] * strides[axis];
    return offset;
}

/* Rows are dealt in parts, each with scratch of its own. */
static void run_parts(void *context, int64_t begin, int64_t end)
{
    const sorter *s = context;
    const weft_sort_call *call = s->call;
    int64_t out_size = (int64_t)(call->positions ? sizeof(int64_t) : s->map.size);
    for (int64_t part = begin; part < end; part++) {
        int64_t rest = s->row_count % s->part_count, share = s->row_count / s->part_count;
        int64_t first = part * share + (part < rest ? part : rest), count = share + (part < rest);
        for (int64_t row = first; row < first + count; row++) {
            const char *in = s->in + row_offset(call, call->in_strides, row) * (int64_t)s->map.size;
            char *out = s->out + row_offset(call, call->out_strides, row) * out_size;
            if (sort_row(s, in, out, (uint64_t *)(s->scratch + part * s->part_bytes))) continue;
            __atomic_store_n(s->stopped, true, __ATOMIC_RELAXED);
            return;
        }
    }
}

/* ---- calls ---- */

bool weft_sort_supports(weft_dtype dtype)
{
    return weft_dtype_info_of(dtype) != NULL && weft_dtype_info_of(dtype)->kind != WEFT_KIND_COMPLEX;
}

static int64_t saturating_product(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static sorter prepare(const weft_pool *pool, const weft_sort_call *call)
{
    sorter s = {.call = call, .map = key_map_of(call->dtype, call->descending), .words = call->positions ? 2 : 1};
    s.row_count = call->length == 0 ? 0 : 1;
    for (size_t axis = 0; axis < call->rank; axis++) s.row_count = saturating_product(s.row_count, call->rows[axis]);
    int64_t threads = (int64_t)weft_pool_size(pool);
    if (saturating_product(s.row_count, call->length) < SERIAL_ELEMENTS) threads = 1;
    s.part_count = s.row_count < threads ? s.row_count : threads;
    int64_t bytes = saturating_product(call->length, (int64_t)(2 * s.words * sizeof(uint64_t)));
    if (bytes > INT64_MAX - SCRATCH_ALIGNMENT) bytes = INT64_MAX - SCRATCH_ALIGNMENT;
    s.part_bytes = (bytes + SCRATCH_ALIGNMENT - 1) / SCRATCH_ALIGNMENT * SCRATCH_ALIGNMENT;
    return s;
}

int64_t weft_sort_scratch(const weft_pool *pool, const weft_sort_call *call)
{
    sorter s = prepare(pool, call);
    return saturating_product(s.part_bytes, s.part_count);
}

bool weft_sort_run(weft_pool *pool, const weft_sort_call *call, const void *in, void *out, void *scratch,
                   const volatile bool *cancelled)
{
    bool stopped = false;
    sorter s = prepare(pool, call);
    if (s.part_count == 0) return true;
    s.in = (const char *)in + call->in_offset * (int64_t)s.map.size;
    s.out = (char *)out + call->out_offset * (int64_t)(call->positions ? sizeof(int64_t) : s.map.size);
    s.scratch = scratch;
    s.cancelled = cancelled;
    s.stopped = &stopped;
    if (s.part_count == 1) run_parts(&s, 0, 1);
    else weft_pool_run(pool, s.part_count, 1, run_parts, &s);
    return !stopped;
}
