/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/sort.h"
#include <string.h>
#include "runtime/base/cancel.h"
#include "runtime/engine/key_sort.h"
#include "runtime/engine/level.h"

/*
 * A row is taken out of the array as keys in the order of its elements, sorted, and put back.
 *
 *     bytes   of long rows are counted
 *     vectors keys of 4 or 8 bytes, sorted by vectors (key_sort.h); where positions are asked for, each key of up to 4
 *             bytes has its own in its lower half, which keeps equal ones in order; short rows are sorted together
 *     packed  positions of 8-byte elements: the upper bits of the keys, above the least one of the row, with positions
 *             in the lower half; those that these bits do not tell apart are sorted again
 *     items   what is left: of one word, or two, a key and its position; short rows are sorted by insertion and
 *             merging, long ones digit by digit from the low end (radix)
 *
 * Where few elements of a sorted row are wanted, a row is gone through with room for only a few times as many keys.
 * Where a row has -0 or NaNs, whose keys do not give them back (key_map.h), zeros and NaNs come out of the row itself,
 * in its order.
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
    SHORT_ROWS = 64,           /* rows of up to WEFT_KEY_SHORT that are sorted together */
    LONGER_ROWS = 16,          /* the same of longer ones */
    LEAST_ROWS = 8,            /* of longer ones: as many columns are sorted for fewer */
    LINE = 64,                 /* bytes of a cache line */
    COUNTED_LEAST = 2048,      /* bytes from so many on are counted */
    PACKED_LEAST = 17,         /* elements, from so many on */
    SELECTED_PART = 512,       /* of a row is selected at most */
    PICKED_PART = 128,         /* the same where vectors pick what may be wanted */
    SELECTED_TIMES = 4,        /* room for this many times the wanted keys */
    SELECTED_LEAST = 256,      /* and at least for this many */
    PICKED_LEAST = 64,         /* the same where vectors pick */
    PICKED = 128,              /* places that are picked at a time */
    SCRATCH_ALIGNMENT = 64
};

/* ---- keys ---- */

static weft_key_map key_map_of(weft_dtype dtype, bool descending)
{
    static const uint64_t infinities[WEFT_DTYPE_COUNT] = {
        [WEFT_BF16] = 0x7f80, [WEFT_F16] = 0x7c00, [WEFT_F32] = 0x7f800000, [WEFT_F64] = UINT64_C(0x7ff0000000000000)};
    size_t size = weft_dtype_size(dtype);
    weft_dtype_kind kind = weft_dtype_info_of(dtype)->kind;
    uint64_t mask = UINT64_MAX >> (WORD_BITS - 8 * size);
    bool is_signed = kind == WEFT_KIND_SIGNED || kind == WEFT_KIND_FLOAT;
    return (weft_key_map){
        size, mask, is_signed ? mask ^ mask >> 1 : 0, infinities[dtype], descending ? mask : 0, kind == WEFT_KIND_BOOL};
}

#define INLINE static inline __attribute__((always_inline))

#define LOAD(type)                                                                                                     \
    do {                                                                                                               \
        type element_;                                                                                                 \
        memcpy(&element_, at, sizeof element_);                                                                        \
        return element_;                                                                                               \
    } while (0)

INLINE uint64_t load(const char *at, size_t size)
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

INLINE void store(char *at, size_t size, uint64_t bits)
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

/* How rows are sorted: see above. */
typedef enum sort_method { COUNTED, VECTORS_32, VECTORS_64, ITEMS, ITEM_PAIRS } sort_method;

typedef struct sorter {
    const weft_sort_call *call;
    weft_key_map map;
    sort_method method;
    const weft_key_sort *vectors;
    weft_key_take *take; /* of adjacent elements; NULL: one by one */
    weft_key_put *put;
    int64_t take_step, put_step; /* from one element of a row to the next where it is taken and put: call's, or 1 where
                                  * rows side by side are transposed */
    weft_key_skip *skip;         /* NULL: nothing is passed over */
    weft_key_pick *pick;         /* NULL: elements are looked at one by one */
    int64_t row_count, part_count, part_bytes;
    int64_t together; /* rows that are sorted at a time */
    bool is_packed;   /* positions, in keys of 8 bytes first */
    bool is_direct;   /* from elements to elements, without a row of keys between */
    bool is_across;   /* they lie side by side: their elements are taken a line of the cache at a time */
    bool takes_whole,
        puts_whole; /* rows follow each other: those that are sorted together are taken, and put, as one */
    bool puts_lost; /* vectors put zeros and NaNs of whole rows of adjacent elements */
    int64_t wanted; /* elements of a sorted row that are put back */
    int64_t room;   /* keys of a row that are held at once: all, or a few of which those wanted are kept */
    const char *in;
    char *out, *scratch;
    const volatile bool *cancelled;
    bool *stopped; /* a row was left as it was */
} sorter;

/* How keys are held. */
typedef struct key_form {
    sort_method method;
    bool positions;
} key_form;

/* Key number `i`, of the element at `position`. */
INLINE void set_key(key_form form, void *keys, int64_t i, uint64_t key, int64_t position)
{
    uint64_t at = (uint64_t)position;
    switch (form.method) {
    case VECTORS_32: ((uint32_t *)keys)[i] = (uint32_t)key ^ WEFT_KEY_SIGN_32; return;
    case VECTORS_64: ((uint64_t *)keys)[i] = (form.positions ? key << 32 | at : key) ^ WEFT_KEY_SIGN_64; return;
    case ITEM_PAIRS: memcpy((uint64_t *)keys + 2 * i, (uint64_t[]){key, at}, 2 * sizeof key); return;
    default: ((uint64_t *)keys)[i] = key;
    }
}

INLINE uint64_t get_key(const sorter *s, const void *keys, int64_t i)
{
    if (s->method == VECTORS_32) return ((const uint32_t *)keys)[i] ^ WEFT_KEY_SIGN_32;
    return s->method == VECTORS_64 ? ((const uint64_t *)keys)[i] ^ WEFT_KEY_SIGN_64 : ((const uint64_t *)keys)[i];
}

INLINE int64_t get_position(const sorter *s, const void *keys, int64_t i)
{
    if (s->method == ITEM_PAIRS) return (int64_t)((const uint64_t *)keys)[2 * i + 1];
    return (int64_t)(((const uint64_t *)keys)[i] & UINT32_MAX);
}

/* Whether a key does not give its element back. */
static bool take_row(const sorter *s, const char *in, void *keys)
{
    const key_form form = {s->method, s->call->positions};
    const weft_key_map map = s->map;
    int64_t step = s->take_step * (int64_t)map.size;
    uint64_t lost = 0;
    if (s->take != NULL) return s->take(&s->map, in, s->call->length, keys);
    for (int64_t i = 0; i < s->call->length; i++) {
        uint64_t bits = load(in + i * step, map.size);
        lost |= weft_key_loses64(&map, bits);
        set_key(form, keys, i, weft_key_of64(&map, bits), i);
    }
    return lost != 0;
}

static void put_positions(const sorter *s, const void *keys, char *out)
{
    int64_t step = s->put_step * (int64_t)sizeof(int64_t);
    for (int64_t i = 0; i < s->wanted; i++) store(out + i * step, sizeof(int64_t), (uint64_t)get_position(s, keys, i));
}

/* Of the first `last` elements, in order, the first one whose key is not less. */
static int64_t find_key(const sorter *s, const char *out, int64_t last, uint64_t key)
{
    const int64_t step = s->call->out_step * (int64_t)s->map.size;
    int64_t first = 0;
    while (first < last) {
        int64_t middle = first + (last - first) / 2;
        if (weft_key_of64(&s->map, load(out + middle * step, s->map.size)) < key) first = middle + 1;
        else last = middle;
    }
    return first;
}

/* How many of the wanted keys are those of NaNs. */
static int64_t count_nans(const sorter *s, const void *keys)
{
    int64_t first = s->wanted;
    while (first > 0 && get_key(s, keys, first - 1) == s->map.mask) first--;
    return s->wanted - first;
}

/* The elements of that key, from place `first` to `last` of the sorted row, as they follow each other in the row. */
static void put_equal(const sorter *s, uint64_t key, int64_t first, int64_t last, const char *in, char *out)
{
    const weft_key_map map = s->map;
    const int64_t step = s->call->in_step * (int64_t)map.size, out_step = s->call->out_step * (int64_t)map.size;
    for (; first < last; in += step) {
        uint64_t bits = load(in, map.size);
        store(out + first * out_step, map.size, bits);
        first += weft_key_of64(&map, bits) == key;
    }
}

/* Of floats: zeros, and NaNs, whose keys need not give NaNs. */
static void put_lost(const sorter *s, int64_t nans, const char *in, char *out)
{
    const uint64_t zero = s->map.sign ^ s->map.flip;
    const int64_t end = s->wanted - nans, first = find_key(s, out, end, zero), last = find_key(s, out, end, zero + 1);
    if (s->puts_lost) {
        s->vectors->put_lost(&s->map, in, s->call->length, (weft_key_lost){first, last - first, nans}, out);
        return;
    }
    put_equal(s, zero, first, last, in, out);
    put_equal(s, s->map.mask, end, s->wanted, in, out);
}

/* The same for short rows, where they are counted faster than found. */
static void put_counted(const sorter *s, const char *in, char *out)
{
    weft_key_lost lost = s->vectors->count_lost(&s->map, in, s->call->length);
    s->vectors->put_lost(&s->map, in, s->call->length, lost, out);
}

static void put_elements(const sorter *s, const void *keys, char *out)
{
    size_t size = s->map.size;
    int64_t step = s->put_step * (int64_t)size;
    for (int64_t i = 0; i < s->wanted; i++) store(out + i * step, size, weft_key_bits64(&s->map, get_key(s, keys, i)));
}

/* Bytes of what is put for a key. */
static size_t put_size(const sorter *s)
{
    return s->call->positions ? sizeof(int64_t) : s->map.size;
}

static void put_keys(const sorter *s, const void *keys, char *out)
{
    if (s->put != NULL) s->put(&s->map, keys, s->wanted, out);
    else if (s->call->positions) put_positions(s, keys, out);
    else put_elements(s, keys, out);
}

static void put_row(const sorter *s, const void *keys, const char *in, char *out, bool lost)
{
    put_keys(s, keys, out);
    if (lost && !s->call->positions) put_lost(s, count_nans(s, keys), in, out);
}

/* Elements from the first one of the array to the first one of row `row`. */
static int64_t row_offset(const weft_sort_call *call, const int64_t *strides, int64_t row)
{
    int64_t offset = 0;
    for (size_t axis = call->rank; axis-- > 0; row /= call->rows[axis])
        offset += row % call->rows[axis] * strides[axis];
    return offset;
}

/* Keys of bytes give their elements back. */
static bool count_row(const sorter *s, const char *in, char *out)
{
    enum { TABLES = 4 }; /* so that an equal neighbour's count need not be there yet */
    int64_t counts[TABLES][256] = {{0}}, length = s->call->length, step = s->call->out_step;
    for (int64_t first = 0, end; first < length; first = end) {
        if (weft_is_cancelled(s->cancelled)) return false;
        end = length - first < CANCEL_ELEMENTS ? length : first + CANCEL_ELEMENTS;
        for (int64_t i = first; i < end; i++)
            counts[i % TABLES][weft_key_of64(&s->map, load(in + i * s->call->in_step, 1))]++;
    }
    for (uint64_t key = 0; key < 256; key++) {
        int64_t count = 0;
        for (int table = 0; table < TABLES; table++) count += counts[table][key];
        for (int64_t i = 0; i < count; i++) store(out + i * step, 1, weft_key_bits64(&s->map, key));
        out += count * step;
    }
    return true;
}

/* Bytes of a key. */
static const size_t key_bytes[] = {[VECTORS_32] = 4, [VECTORS_64] = 8, [ITEMS] = 8, [ITEM_PAIRS] = 16};

/* Sorts the keys of a row; returns where they are then, there or in `other`, or NULL when cancelled. */
static void *sort_keys(const sorter *s, void *keys, void *other, int64_t length)
{
    switch (s->method) {
    case VECTORS_32: return s->vectors->sort32(keys, other, length, s->wanted, s->cancelled) ? keys : NULL;
    case VECTORS_64: return s->vectors->sort64(keys, other, length, s->wanted, s->cancelled) ? keys : NULL;
    case ITEM_PAIRS: return sort_items(keys, other, length, 2, s->map.size, s->cancelled);
    default: return sort_items(keys, other, length, 1, s->map.size, s->cancelled);
    }
}

/* ---- packed ---- */

/* Keys of 8 bytes in the order of their elements, and packed ones beside them. */
typedef struct packed_row {
    const uint64_t *keys;
    uint64_t *packed, *other; /* room for as many, for twice as many */
    int64_t count;
} packed_row;

/* The place in the row of a packed key. */
static int64_t packed_place(uint64_t packed)
{
    return (int64_t)(packed & UINT32_MAX);
}

/* Sorts `count` packed keys with equal upper halves, whose places ascend, by the keys. False: no room, or cancelled. */
static bool sort_equal(const sorter *s, const packed_row *row, uint64_t *packed, int64_t count)
{
    if (count > row->count / 2) return false;
    for (int64_t i = 0; i < count; i++)
        memcpy(row->other + 2 * i, (uint64_t[]){row->keys[packed_place(packed[i])], packed[i]}, 2 * sizeof *packed);
    const uint64_t *sorted = sort_items(row->other, row->other + 2 * count, count, 2, s->map.size, s->cancelled);
    for (int64_t i = 0; sorted != NULL && i < count; i++) packed[i] = sorted[2 * i + 1];
    return sorted != NULL;
}

/* Packs the keys; how many of their bits are lost. */
static int pack_keys(const packed_row *row)
{
    uint64_t least = UINT64_MAX, greatest = 0;
    for (int64_t i = 0; i < row->count; i++) {
        least = row->keys[i] < least ? row->keys[i] : least;
        greatest = row->keys[i] > greatest ? row->keys[i] : greatest;
    }
    int lost = 0;
    while ((greatest - least) >> lost > UINT32_MAX) lost++;
    for (int64_t i = 0; i < row->count; i++)
        row->packed[i] = ((row->keys[i] - least) >> lost << 32 | (uint64_t)i) ^ WEFT_KEY_SIGN_64;
    return lost;
}

/* Sorts the positions of a row. False: they have to be sorted in another way, or it was cancelled. */
static bool sort_packed(const sorter *s, const char *in, char *out, char *scratch)
{
    int64_t count = s->call->length, step = s->call->in_step * (int64_t)s->map.size;
    const weft_key_map map = s->map;
    uint64_t *keys = (uint64_t *)(void *)scratch;
    packed_row row = {keys, keys + count, keys + 2 * count, count};
    for (int64_t i = 0; i < count; i++) keys[i] = weft_key_of64(&map, load(in + i * step, sizeof *keys));
    bool is_whole = pack_keys(&row) == 0;
    int64_t wanted = is_whole ? s->wanted : count, next = s->put_step * (int64_t)sizeof(int64_t);
    if (!s->vectors->sort64((int64_t *)row.packed, (int64_t *)row.other, count, wanted, s->cancelled)) return false;
    for (int64_t first = 0, end; first < count && !is_whole; first = end) {
        for (end = first + 1; end < count && row.packed[end] >> 32 == row.packed[first] >> 32;) end++;
        if (end > first + 1 && !sort_equal(s, &row, row.packed + first, end - first)) return false;
    }
    for (int64_t i = 0; i < s->wanted; i++)
        store(out + i * next, sizeof(int64_t), (uint64_t)packed_place(row.packed[i]));
    return true;
}

/* ---- a few of many ---- */

/* What the element of a key is compared by. */
static uint64_t element_key(const sorter *s, const void *keys, int64_t i)
{
    if (s->method == ITEM_PAIRS) return ((const uint64_t *)keys)[2 * i];
    return get_key(s, keys, i) >> (s->method == VECTORS_64 && s->call->positions ? 32 : 0);
}

/* Sorts `count` keys and keeps those that are wanted. False when cancelled. */
static bool keep_wanted(const sorter *s, void *keys, int64_t count)
{
    size_t bytes = key_bytes[s->method];
    const void *sorted = sort_keys(s, keys, (char *)keys + (size_t)s->room * bytes, count);
    if (sorted != NULL && sorted != keys) memcpy(keys, sorted, (size_t)s->wanted * bytes);
    return sorted != NULL;
}

/* Goes through a row with room for a few times what is wanted: when that is full it is sorted, and from then on only
 * what is less than the last one wanted can replace it. Of equal elements the first ones stay. */
INLINE bool select_elements(const sorter *s, const char *in, void *keys, size_t size, int64_t step, key_form form)
{
    const weft_key_map map = s->map;
    const int64_t length = s->call->length, room = s->room;
    weft_key_skip *skip = s->skip;
    int64_t count = 0;
    for (; count < room; count++) set_key(form, keys, count, weft_key_of64(&map, load(in + count * step, size)), count);
    uint64_t bound = 0;
    for (int64_t i = room; i < length;) {
        if (count == room) {
            if (!keep_wanted(s, keys, count)) return false;
            bound = element_key(s, keys, s->wanted - 1);
            count = s->wanted;
        }
        if (weft_is_cancelled(s->cancelled)) return false;
        int64_t end = length - i < CANCEL_ELEMENTS ? length : i + CANCEL_ELEMENTS;
        if (skip != NULL) {
            i += skip(&map, in + i * step, end - i, bound);
            if (end - i > WEFT_KEY_SKIPPED) end = i + WEFT_KEY_SKIPPED;
        }
        for (; i < end && count < room; i++) {
            uint64_t key = weft_key_of64(&map, load(in + i * step, size));
            if (__builtin_expect(key < bound, 0)) set_key(form, keys, count++, key, i);
        }
    }
    return keep_wanted(s, keys, count);
}

/* Key number `number`, of the adjacent element at `at`. Not inlined: this is seldom done, and is long. */
static __attribute__((noinline)) void hold_key(const sorter *s, const char *in, void *keys, int64_t number, int64_t at)
{
    const key_form form = {s->method, s->call->positions};
    set_key(form, keys, number, weft_key_of64(&s->map, load(in + at * (int64_t)s->map.size, s->map.size)), at);
}

/* The same of adjacent elements, of which vectors pick those that can replace one. */
static bool select_picked(const sorter *s, const char *in, void *keys)
{
    const int64_t length = s->call->length, room = s->room;
    int32_t places[PICKED + WEFT_KEY_LANES];
    int64_t count = room;
    if (s->take != NULL) s->take(&s->map, in, room, keys);
    for (int64_t i = 0; i < room && s->take == NULL; i++) hold_key(s, in, keys, i, i);
    uint64_t bound = 0;
    for (int64_t i = room, seen; i < length; i += seen) {
        if (room - count < WEFT_KEY_LANES) {
            if (!keep_wanted(s, keys, count)) return false;
            bound = element_key(s, keys, s->wanted - 1);
            count = s->wanted;
        }
        if (weft_is_cancelled(s->cancelled)) return false;
        int64_t next = length - i < CANCEL_ELEMENTS ? length - i : CANCEL_ELEMENTS;
        int64_t free = room - count < PICKED ? room - count : PICKED;
        int64_t picked = s->pick(&s->map, in + i * (int64_t)s->map.size, next, bound, places, free, &seen);
        for (int64_t k = 0; k < picked; k++) hold_key(s, in, keys, count++, i + places[k]);
    }
    return keep_wanted(s, keys, count);
}

static bool select_row(const sorter *s, const char *in, void *keys)
{
    const key_form form = {s->method, s->call->positions};
    size_t size = s->map.size;
    if (s->pick != NULL) return select_picked(s, in, keys);
    int64_t step = s->call->in_step * (int64_t)size;
    if (size == 4 && step == 4) return select_elements(s, in, keys, 4, 4, form);
    return select_elements(s, in, keys, size, step, form);
}

/* ---- rows side by side ---- */

/* Bytes from the keys of a row to those of the next: no multiple of the cache's ways for rows of a power of two. */
static int64_t pitch(const sorter *s)
{
    return s->call->length * (int64_t)key_bytes[s->method] + LINE;
}

/* Elements that lie side by side in the array, to or from a place in each of `count` rows. */
INLINE void read_line(const char *line, int64_t count, char *rows, int64_t next, size_t size)
{
    for (int64_t r = 0; r < count; r++) memcpy(rows + r * next, line + r * (int64_t)size, size);
}

INLINE void write_line(char *line, int64_t count, const char *rows, int64_t next, size_t size)
{
    for (int64_t r = 0; r < count; r++) memcpy(line + r * (int64_t)size, rows + r * next, size);
}

/* Lines of the cache that vectors turn: whole ones of elements of this size, all but a few of `count`. */
static int64_t turn_lines(const sorter *s, size_t size, int64_t rows, int64_t count, const char *from, int64_t next,
                          int64_t advance, char *to, int64_t to_next, int64_t to_advance)
{
    const int64_t lines = LINE / (int64_t)size;
    int64_t done = 0;
    if (s->vectors == NULL || s->vectors->turn == NULL || size != s->map.size || rows != lines) return 0;
    for (; done + lines <= count; done += lines, from += lines * advance, to += lines * to_advance)
        s->vectors->turn(from, next, to, to_next);
    return done;
}

/* Rows of adjacent elements in `keys` from element `i` on, out of the array and into it: mostly a whole line of the
 * cache of them. */
INLINE void gather(const sorter *s, const char *in, int64_t i, int64_t count, char *keys, size_t size)
{
    const int64_t whole = LINE / (int64_t)size, next = pitch(s), step = s->call->in_step * (int64_t)size;
    for (in += i * step, keys += i * (int64_t)size; i < s->call->length; i++, in += step, keys += size) {
        if (count == whole) read_line(in, whole, keys, next, size);
        else read_line(in, count, keys, next, size);
    }
}

INLINE void spread(const sorter *s, const char *keys, int64_t i, int64_t count, char *out, size_t size)
{
    const int64_t whole = LINE / (int64_t)size, next = pitch(s), step = s->call->out_step * (int64_t)size;
    for (out += i * step, keys += i * (int64_t)size; i < s->wanted; i++, out += step, keys += size) {
        if (count == whole) write_line(out, whole, keys, next, size);
        else write_line(out, count, keys, next, size);
    }
}

static void gather_across(const sorter *s, const char *in, int64_t count, char *keys)
{
    const int64_t size = (int64_t)s->map.size, step = s->call->in_step * size;
    int64_t i = turn_lines(s, s->map.size, count, s->call->length, in, step, step, keys, pitch(s), size);
    switch (size) {
    case 1: gather(s, in, i, count, keys, 1); return;
    case 2: gather(s, in, i, count, keys, 2); return;
    case 4: gather(s, in, i, count, keys, 4); return;
    default: gather(s, in, i, count, keys, 8);
    }
}

static void spread_across(const sorter *s, const char *keys, int64_t count, char *out)
{
    const int64_t size = (int64_t)put_size(s), step = s->call->out_step * size;
    int64_t i = turn_lines(s, put_size(s), count, s->wanted, keys, pitch(s), size, out, step, step);
    switch (size) {
    case 1: spread(s, keys, i, count, out, 1); return;
    case 2: spread(s, keys, i, count, out, 2); return;
    case 4: spread(s, keys, i, count, out, 4); return;
    default: spread(s, keys, i, count, out, 8);
    }
}

/* Sorts adjacent elements where they are, with room for as many keys in `other`. How many of them are NaNs, or -1 when
 * cancelled. */
static int64_t sort_in_place(const sorter *s, char *row, char *other, bool *lost)
{
    memcpy(other, row, (size_t)s->call->length * s->map.size);
    *lost |= take_row(s, other, row);
    const char *sorted = sort_keys(s, row, other, s->call->length);
    if (sorted == NULL) return -1;
    int64_t nans = s->call->positions ? 0 : count_nans(s, sorted);
    char *elements = sorted == row ? other : row;
    put_keys(s, sorted, elements);
    if (elements == other) memcpy(row, other, (size_t)s->wanted * put_size(s));
    return nans;
}

/* False when cancelled. */
static bool sort_across(const sorter *s, const char *in, int64_t count, char *keys, char *out)
{
    const int64_t next = pitch(s), size = (int64_t)s->map.size;
    int64_t nans[LINE];
    bool lost = false;
    gather_across(s, in, count, keys);
    for (int64_t r = 0; r < count; r++) {
        nans[r] = sort_in_place(s, keys + r * next, keys + s->together * next, &lost);
        if (nans[r] < 0) return false;
    }
    spread_across(s, keys, count, out);
    for (int64_t r = 0; lost && !s->call->positions && r < count; r++)
        put_lost(s, nans[r], in + r * size, out + r * size);
    return true;
}

/* ---- parts ---- */

static const char *in_row(const sorter *s, int64_t row)
{
    return s->in + row_offset(s->call, s->call->in_strides, row) * (int64_t)s->map.size;
}

static char *out_row(const sorter *s, int64_t row)
{
    return s->out + row_offset(s->call, s->call->out_strides, row) * (int64_t)put_size(s);
}

/* Rows whose keys do not give their elements back, a bit for each. Where the first few are all such rows, and rows may
 * be sorted from elements to elements, the others count as such too, and are not taken. */
static uint64_t take_rows(const sorter *s, int64_t first, int64_t count, char *keys)
{
    enum { FEW = 4 };
    const int64_t length = s->call->length, row_bytes = length * (int64_t)key_bytes[s->method];
    uint64_t lost = 0;
    if (s->takes_whole && s->puts_lost)
        return s->take(&s->map, in_row(s, first), count * length, keys) ? UINT64_MAX : 0;
    for (int64_t r = 0; r < count; r++) {
        if (r == FEW && s->is_direct && !s->puts_lost && lost == (1 << FEW) - 1) return UINT64_MAX;
        bool all = r == FEW && s->takes_whole;
        if (all && !s->take(&s->map, in_row(s, first + r), (count - r) * length, keys + r * row_bytes)) return lost;
        lost |= (uint64_t)take_row(s, in_row(s, first + r), keys + r * row_bytes) << r;
    }
    return lost;
}

static bool sort_directly(const sorter *s, const char *in, char *out, char *keys)
{
    const int64_t length = s->call->length;
    char *other = keys + length * (int64_t)key_bytes[s->method];
    weft_key_row row = {&s->map, s->take, s->put, in, out, length, s->cancelled, false, 0};
    bool done = s->method == VECTORS_32 ? s->vectors->sort_row32(&row, (int32_t *)keys, (int32_t *)other, s->wanted)
                                        : s->vectors->sort_row64(&row, (int64_t *)keys, (int64_t *)other, s->wanted);
    int64_t numbers = length - row.nans;
    if (done && row.lost) put_lost(s, numbers < s->wanted ? s->wanted - numbers : 0, in, out);
    return done;
}

/* Rows that are sorted together, but for those that lost keys where others are sorted from elements to elements and
 * vectors do not put what was lost: these are faster by themselves. False when cancelled. */
static bool sort_short_rows(const sorter *s, int64_t first, int64_t count, char *keys)
{
    const int64_t length = s->call->length, row_bytes = length * (int64_t)key_bytes[s->method];
    uint64_t lost = take_rows(s, first, count, keys), apart = s->is_direct && !s->puts_lost ? lost : 0;
    if (2 * __builtin_popcountll(apart) > count) apart = UINT64_MAX;
    else if (s->method == VECTORS_32) s->vectors->sort_rows32((int32_t *)keys, count, length);
    else s->vectors->sort_rows64((int64_t *)keys, count, length);
    bool done = s->puts_whole && (lost == 0 || s->puts_lost);
    if (done) s->put(&s->map, keys, count * length, out_row(s, first));
    for (int64_t r = 0; r < count && done && lost != 0; r++)
        put_counted(s, in_row(s, first + r), out_row(s, first + r));
    for (int64_t r = 0; r < count && !done; r++)
        if ((apart >> r & 1) == 0)
            put_row(s, keys + r * row_bytes, in_row(s, first + r), out_row(s, first + r), (lost >> r & 1) != 0);
    for (int64_t r = 0; r < count && apart != 0; r++)
        if ((apart >> r & 1) != 0 && !sort_directly(s, in_row(s, first + r), out_row(s, first + r), keys)) return false;
    return true;
}

static bool sort_row(const sorter *s, const char *in, char *out, char *keys)
{
    if (s->is_direct) return sort_directly(s, in, out, keys);
    if (s->is_packed && sort_packed(s, in, out, keys)) return true;
    bool selects = s->room < s->call->length, lost = s->map.infinity != 0;
    const void *sorted = keys;
    if (selects) sorted = select_row(s, in, keys) ? keys : NULL;
    else {
        lost = take_row(s, in, keys);
        sorted = sort_keys(s, keys, keys + s->room * (int64_t)key_bytes[s->method], s->call->length);
    }
    if (sorted != NULL) put_row(s, sorted, in, out, lost);
    return sorted != NULL;
}

/* False when cancelled. */
static bool sort_rows(const sorter *s, int64_t first, int64_t count, void *scratch)
{
    if (weft_is_cancelled(s->cancelled)) return false;
    if (s->method == COUNTED) return count_row(s, in_row(s, first), out_row(s, first));
    if (s->is_across) return sort_across(s, in_row(s, first), count, scratch, out_row(s, first));
    if (s->together == 1) return sort_row(s, in_row(s, first), out_row(s, first), scratch);
    return sort_short_rows(s, first, count, scratch);
}

/* Rows that are sorted with row `row` at a time, before row `last`. */
static int64_t group(const sorter *s, int64_t row, int64_t last)
{
    int64_t count = last - row < s->together ? last - row : s->together;
    if (!s->is_across) return count;
    int64_t inner = s->call->rows[s->call->rank - 1], rest = inner - row % inner;
    return count < rest ? count : rest;
}

/* Rows are dealt in parts, each with scratch of its own. */
static void run_parts(void *context, int64_t begin, int64_t end)
{
    const sorter *s = context;
    for (int64_t part = begin; part < end; part++) {
        int64_t rest = s->row_count % s->part_count, share = s->row_count / s->part_count;
        int64_t row = part * share + (part < rest ? part : rest), last = row + share + (part < rest), count;
        for (; row < last; row += count) {
            count = group(s, row, last);
            if (sort_rows(s, row, count, s->scratch == NULL ? NULL : s->scratch + part * s->part_bytes)) continue;
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

/* How many rows are taken at a time if they lie side by side, in what is read and in what is written: a line's worth of
 * them, if that has room in a cache of so many bytes; otherwise 1. */
static int64_t rows_across(const sorter *s, size_t cache_bytes)
{
    const weft_sort_call *call = s->call;
    if (call->rank == 0 || call->in_step == 1 || call->out_step == 1) return 1;
    size_t inner = call->rank - 1;
    if (call->in_strides[inner] != 1 || call->out_strides[inner] != 1) return 1;
    int64_t line = LINE / (int64_t)s->map.size, count = call->rows[inner] < line ? call->rows[inner] : line;
    return (size_t)call->length < cache_bytes / ((size_t)(count + 1) * key_bytes[s->method]) ? count : 1;
}

/* Whether rows follow each other in memory. */
static bool is_adjacent(const weft_sort_call *call, const int64_t *strides)
{
    int64_t next = call->length;
    for (size_t axis = call->rank; axis-- > 0; next *= call->rows[axis])
        if (strides[axis] != next) return false;
    return true;
}

/* Whether vectors find what may be wanted of a row: not bools, any byte but 0 of which is 1. */
static bool picks(const weft_key_sort *keys, const weft_sort_call *call)
{
    bool is_truth = weft_dtype_info_of(call->dtype)->kind == WEFT_KIND_BOOL;
    return keys != NULL && keys->pick != NULL && call->in_step == 1 && !is_truth;
}

bool weft_sort_selects(const weft_key_sort *keys, const weft_sort_call *call)
{
    return call->wanted > 0 && call->wanted < call->length / (picks(keys, call) ? PICKED_PART : SELECTED_PART);
}

/* `cache_bytes`: for rows side by side. */
static void choose_method(sorter *s, size_t cache_bytes)
{
    const weft_sort_call *call = s->call;
    bool packed = call->positions && s->map.size <= sizeof(uint32_t) && call->length <= UINT32_MAX;
    bool wide = call->positions || s->map.size > sizeof(uint32_t);
    bool is_counted = s->map.size == 1 && !call->positions;
    if (is_counted && (s->vectors == NULL || s->map.truth || call->length >= COUNTED_LEAST)) s->method = COUNTED;
    else if (s->vectors == NULL || (call->positions && !packed)) s->method = call->positions ? ITEM_PAIRS : ITEMS;
    else s->method = wide ? VECTORS_64 : VECTORS_32;
    bool has_vectors = s->method == VECTORS_32 || s->method == VECTORS_64;
    bool is_short = call->length <= WEFT_KEY_SHORT;
    bool is_longer = !is_short && s->row_count >= LEAST_ROWS && call->in_step == 1 && call->out_step == 1;
    bool is_together = has_vectors && call->length <= s->vectors->most_together && (is_short || is_longer);
    s->together = !is_together ? 1 : is_short ? SHORT_ROWS : LONGER_ROWS;
    s->room = call->length;
    s->take_step = call->in_step;
    s->put_step = call->out_step;
    s->take = has_vectors && call->in_step == 1 ? s->vectors->take : NULL;
    s->put = has_vectors && call->out_step == 1 ? s->vectors->put : NULL;
    s->skip = s->vectors != NULL && call->in_step == 1 ? s->vectors->skip : NULL;
    s->pick = picks(s->vectors, call) ? s->vectors->pick : NULL;
    if (s->method == COUNTED) return;
    if (weft_sort_selects(s->vectors, call)) {
        int64_t some = s->wanted * SELECTED_TIMES, least = s->pick != NULL ? PICKED_LEAST : SELECTED_LEAST;
        if (some < least) some = least;
        if (some < call->length) s->room = some;
        s->together = 1;
    }
    s->takes_whole = s->together > 1 && s->take != NULL && !call->positions && is_adjacent(call, call->in_strides);
    s->puts_whole = s->together > 1 && s->put != NULL && !call->positions && s->wanted == call->length &&
                    is_adjacent(call, call->out_strides);
    s->puts_lost = has_vectors && s->vectors->put_lost != NULL && call->in_step == 1 && call->out_step == 1 &&
                   s->wanted == call->length && !call->positions;
    s->is_direct = s->room == call->length && !is_short && s->take != NULL && s->put != NULL && !call->positions &&
                   (s->vectors->sort_row32 != NULL || s->vectors->sort_row64 != NULL);
    if (s->together > 1 || s->room < call->length) return;
    s->is_packed =
        s->method == ITEM_PAIRS && s->vectors != NULL && call->length >= PACKED_LEAST && call->length <= UINT32_MAX;
    s->together = rows_across(s, cache_bytes);
    s->is_across = s->together > 1;
    if (!s->is_across) return;
    s->take_step = s->put_step = 1;
    s->take = has_vectors ? s->vectors->take : NULL;
    s->put = has_vectors ? s->vectors->put : NULL;
}

/* Of one part. */
static int64_t scratch_bytes(const sorter *s)
{
    if (s->method == COUNTED) return 0;
    /* The keys, and where they are not those of short rows room for as many of one. */
    int64_t rows = s->is_across ? s->together + 1 : s->together > 1 ? s->together : 2;
    int64_t keys = saturating_product(s->room, (int64_t)key_bytes[s->method] * rows);
    if (s->is_across) keys += rows * LINE;
    if (keys > INT64_MAX - SCRATCH_ALIGNMENT) keys = INT64_MAX - SCRATCH_ALIGNMENT;
    return (keys + SCRATCH_ALIGNMENT - 1) / SCRATCH_ALIGNMENT * SCRATCH_ALIGNMENT;
}

static sorter prepare(const weft_key_sort *keys, const weft_pool *pool, const weft_sort_call *call, bool tight)
{
    sorter s = {.call = call, .vectors = keys, .map = key_map_of(call->dtype, call->descending)};
    s.row_count = call->length == 0 ? 0 : 1;
    for (size_t axis = 0; axis < call->rank; axis++) s.row_count = saturating_product(s.row_count, call->rows[axis]);
    int64_t threads = tight ? 1 : (int64_t)weft_pool_size(pool);
    if (saturating_product(s.row_count, call->length) < SERIAL_ELEMENTS) threads = 1;
    s.part_count = s.row_count < threads ? s.row_count : threads;
    s.wanted = call->wanted > 0 && call->wanted < call->length ? call->wanted : call->length;
    choose_method(&s, tight ? 0 : weft_pool_machine(pool)->cache_bytes[1]);
    s.part_bytes = scratch_bytes(&s);
    return s;
}

int64_t weft_sort_scratch(const weft_key_sort *keys, const weft_pool *pool, const weft_sort_call *call, bool tight)
{
    sorter s = prepare(keys, pool, call, tight);
    return saturating_product(s.part_bytes, s.part_count);
}

bool weft_sort_run(const weft_key_sort *keys, weft_pool *pool, const weft_sort_call *call, bool tight, const void *in,
                   void *out, void *scratch, const volatile bool *cancelled)
{
    bool stopped = false;
    sorter s = prepare(keys, pool, call, tight);
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
