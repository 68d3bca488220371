/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/sort.h"
#include "runtime/base/cancel.h"
#include "runtime/engine/sorter.h"

/*
 * A row is taken out of the array as keys in the order of its elements, sorted, and put back.
 *
 *     bytes   of long rows are counted, and so are their positions
 *     vectors keys of 4 or 8 bytes, sorted by vectors (key_sort.h); where positions are asked for, each key of up to 4
 *             bytes has its own in its lower half, which keeps equal ones in order; short rows are sorted together
 *     packed  positions of 8-byte elements: the upper bits of the keys, above the least one of the row, over positions
 *             in the lower ones; those that these bits do not tell apart are sorted again; short rows together
 *     columns short rows that lie side by side, without being transposed, with AVX-512
 *     items   what is left: of one word, or two, a key and its position; short rows are sorted by insertion and
 *             merging, long ones digit by digit from the low end (radix)
 *
 * Where few elements of a sorted row are wanted, a row is gone through with room for only a few times as many keys.
 * Rows that are long, and fewer than threads, are sorted one after another, each by all threads (sort_cut.c).
 * Where a row has -0 or NaNs, whose keys do not give them back (key_map.h), zeros and NaNs come out of the row itself,
 * in its order.
 */

enum {
    WORD_BITS = 64,
    SERIAL_ELEMENTS = 8192, /* the pool is not woken for fewer */
    SHORT_ROWS = 64,        /* rows of up to WEFT_KEY_SHORT that are sorted together */
    LONGER_ROWS = 16,       /* the same of longer ones */
    LEAST_ROWS = 8,         /* of longer ones: as many columns are sorted for fewer */
    COUNTED_LEAST = 2048,   /* bytes from so many on are counted */
    PLACED_LEAST = 512,     /* the same where positions are asked for */
    FEW_PART = 16,          /* of a row is few: a part of it */
    PACKED_LEAST = 17,      /* elements, from so many on */
    LIST_MOST = 16,         /* wanted elements of a column that are held in a list */
    LIST_PART = 8,          /* and of a column at most */
    SELECTED_PART = 512,    /* of a row is selected at most */
    PICKED_PART = 128,      /* the same where vectors pick what may be wanted */
    SELECTED_TIMES = 4,     /* room for this many times the wanted keys */
    SELECTED_LEAST = 256,   /* and at least for this many */
    PICKED_LEAST = 64,      /* the same where vectors pick */
    CUT_LEAST = 1 << 17,    /* elements of a row that several threads sort */
    SCRATCH_ALIGNMENT = 64
};

/* ---- parts ---- */

/* Elements from the first one of the array to the first one of row `row`. */
static int64_t row_offset(const weft_sort_call *call, const int64_t *strides, int64_t row)
{
    int64_t offset = 0;
    for (size_t axis = call->rank; axis-- > 0; row /= call->rows[axis])
        offset += row % call->rows[axis] * strides[axis];
    return offset;
}

static const char *in_row(const weft_sorter *s, int64_t row)
{
    return s->in + row_offset(s->call, s->call->in_strides, row) * (int64_t)s->map.size;
}

static char *out_row(const weft_sorter *s, int64_t row)
{
    return s->out + row_offset(s->call, s->call->out_strides, row) * (int64_t)weft_sorter_put_size(s);
}

/* Rows whose keys do not give their elements back, a bit for each. Where the first few are all such rows, and rows may
 * be sorted from elements to elements, the others count as such too, and are not taken. */
static uint64_t take_rows(const weft_sorter *s, int64_t first, int64_t count, char *keys)
{
    enum { FEW = 4 };
    const int64_t length = s->call->length, row_bytes = length * (int64_t)weft_sorter_key_bytes[s->method];
    uint64_t lost = 0;
    if (s->takes_whole && s->puts_lost)
        return s->take(&s->map, in_row(s, first), count * length, keys) ? UINT64_MAX : 0;
    for (int64_t r = 0; r < count; r++) {
        if (r == FEW && s->is_direct && !s->puts_lost && lost == (1 << FEW) - 1) return UINT64_MAX;
        bool all = r == FEW && s->takes_whole;
        if (all && !s->take(&s->map, in_row(s, first + r), (count - r) * length, keys + r * row_bytes)) return lost;
        lost |= (uint64_t)weft_sorter_take(s, in_row(s, first + r), 0, length, keys + r * row_bytes) << r;
    }
    return lost;
}

static bool sort_directly(const weft_sorter *s, const char *in, char *out, char *keys)
{
    const int64_t length = s->call->length;
    char *other = keys + length * (int64_t)weft_sorter_key_bytes[s->method];
    weft_key_row row = {&s->map, s->take, s->put, in, out, length, s->cancelled, false, 0};
    bool done = s->method == WEFT_SORT_VECTORS_32
                    ? s->vectors->sort_row32(&row, (int32_t *)keys, (int32_t *)other, s->wanted)
                    : s->vectors->sort_row64(&row, (int64_t *)keys, (int64_t *)other, s->wanted);
    int64_t numbers = length - row.nans;
    if (done && row.lost) weft_sorter_put_lost(s, numbers < s->wanted ? s->wanted - numbers : 0, in, out);
    return done;
}

/* Rows that are sorted together, except those that lost keys where others are sorted from elements to elements and
 * vectors do not put what was lost: these are faster by themselves. False when cancelled. */
static bool sort_short_rows(const weft_sorter *s, int64_t first, int64_t count, char *keys)
{
    const int64_t length = s->call->length, row_bytes = length * (int64_t)weft_sorter_key_bytes[s->method];
    uint64_t lost = take_rows(s, first, count, keys), apart = s->is_direct && !s->puts_lost ? lost : 0;
    if (2 * __builtin_popcountll(apart) > count) apart = UINT64_MAX;
    else if (s->method == WEFT_SORT_VECTORS_32) s->vectors->sort_rows32((int32_t *)keys, count, length);
    else s->vectors->sort_rows64((int64_t *)keys, count, length);
    bool done = s->puts_whole && (lost == 0 || s->puts_lost);
    if (done) s->put(&s->map, keys, count * length, out_row(s, first));
    for (int64_t r = 0; r < count && done && lost != 0; r++)
        weft_sorter_put_counted(s, in_row(s, first + r), out_row(s, first + r));
    for (int64_t r = 0; r < count && !done; r++)
        if ((apart >> r & 1) == 0)
            weft_sorter_put(s, keys + r * row_bytes, in_row(s, first + r), out_row(s, first + r), (lost >> r & 1) != 0);
    for (int64_t r = 0; r < count && apart != 0; r++)
        if ((apart >> r & 1) != 0 && !sort_directly(s, in_row(s, first + r), out_row(s, first + r), keys)) return false;
    return true;
}

/* Positions of one row or of several. False: cancelled, or a single row has to be sorted in another way. */
static bool sort_packed(const weft_sorter *s, int64_t first, int64_t count, char *keys)
{
    weft_packed_rows rows;
    weft_sorter_lay_out_packed(s, keys, s->call->length, count, &rows);
    for (int64_t r = 0; r < count; r++)
        weft_sorter_pack(s, &rows, r, in_row(s, first + r), s->take_step * (int64_t)s->map.size);
    if (!weft_sorter_sort_packed(s, &rows)) return false;
    for (int64_t r = 0; r < count; r++)
        weft_sorter_put_packed(s, &rows, r, out_row(s, first + r), s->put_step * (int64_t)sizeof(int64_t));
    return true;
}

static bool sort_row(const weft_sorter *s, int64_t row, char *keys)
{
    const char *in = in_row(s, row);
    char *out = out_row(s, row);
    if (s->is_direct) return sort_directly(s, in, out, keys);
    if (s->is_packed && !s->is_cut && sort_packed(s, row, 1, keys)) return true;
    bool selects = s->room < s->call->length, lost = s->map.infinity != 0;
    const void *sorted = keys;
    if (selects) sorted = weft_sorter_select(s, in, keys) ? keys : NULL;
    else {
        lost = weft_sorter_take(s, in, 0, s->call->length, keys);
        sorted = weft_sorter_sort(s, keys, keys + s->room * (int64_t)weft_sorter_key_bytes[s->method], s->call->length);
    }
    if (sorted != NULL) weft_sorter_put(s, sorted, in, out, lost);
    return sorted != NULL;
}

/* False when cancelled. */
static bool sort_rows(const weft_sorter *s, int64_t first, int64_t count, void *scratch)
{
    if (weft_is_cancelled(s->cancelled)) return false;
    if (s->is_across) return weft_sorter_sort_across(s, in_row(s, first), count, scratch, out_row(s, first));
    if (s->is_looked_at) {
        int64_t ordered = 0;
        while (ordered < count && weft_sorter_put_ordered(s, in_row(s, first + ordered), out_row(s, first + ordered)))
            ordered++;
        if (ordered == count) return true;
    }
    if (s->method == WEFT_SORT_COUNTED)
        return (s->call->positions ? weft_sorter_count_positions : weft_sorter_count)(s, in_row(s, first),
                                                                                      out_row(s, first));
    if (s->is_cut && weft_sorter_sort_cut(s, in_row(s, first), out_row(s, first), scratch)) return true;
    if (s->is_cut && weft_is_cancelled(s->cancelled)) return false;
    if (s->together == 1) return sort_row(s, first, scratch);
    return s->is_packed ? sort_packed(s, first, count, scratch) : sort_short_rows(s, first, count, scratch);
}

/* Rows that are sorted with row `row` at a time, before row `last`. */
static int64_t group(const weft_sorter *s, int64_t row, int64_t last)
{
    int64_t count = last - row < s->together ? last - row : s->together;
    if (!s->is_across) return count;
    int64_t inner = s->call->rows[s->call->rank - 1], rest = inner - row % inner;
    return count < rest ? count : rest;
}

/* Rows are dealt in parts, each with scratch of its own. */
static void run_parts(void *context, int64_t begin, int64_t end)
{
    const weft_sorter *s = context;
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
 * them; otherwise 1. */
static int64_t rows_across(const weft_sorter *s)
{
    const weft_sort_call *call = s->call;
    if (call->rank == 0 || call->in_step == 1 || call->out_step == 1) return 1;
    size_t inner = call->rank - 1;
    if (call->in_strides[inner] != 1 || call->out_strides[inner] != 1) return 1;
    int64_t line = WEFT_SORT_LINE / (int64_t)s->map.size;
    return call->rows[inner] < line ? call->rows[inner] : line;
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

/* Whether bytes are counted, or their positions: bools need no table, but short rows of them are sorted together. Of
 * positions that are few it takes less to sort those. */
static bool is_counted(const weft_sorter *s)
{
    const weft_sort_call *call = s->call;
    if (s->map.size != 1) return false;
    if (s->vectors == NULL) return !call->positions;
    if (call->in_step != 1 || call->out_step != 1) return s->map.truth && !call->positions;
    if (!call->positions) return s->map.truth || call->length >= COUNTED_LEAST;
    return call->length >= (s->map.truth ? WEFT_KEY_SHORT + 1 : PLACED_LEAST) && s->wanted >= call->length / FEW_PART;
}

static weft_sort_method method_of(const weft_sorter *s)
{
    const weft_sort_call *call = s->call;
    bool packed = call->positions && s->map.size <= sizeof(uint32_t) && call->length <= UINT32_MAX;
    bool wide = call->positions || s->map.size > sizeof(uint32_t);
    if (is_counted(s)) return WEFT_SORT_COUNTED;
    if (s->vectors == NULL || (call->positions && !packed))
        return call->positions ? WEFT_SORT_ITEM_PAIRS : WEFT_SORT_ITEMS;
    return wide ? WEFT_SORT_VECTORS_64 : WEFT_SORT_VECTORS_32;
}

/* The first few elements of rows that lie side by side: of many more, and few enough to be held in a list. */
static bool choose_few(weft_sorter *s)
{
    const weft_sort_call *call = s->call;
    if (s->vectors == NULL || s->vectors->few == NULL || s->map.truth || call->rank == 0 || call->in_step == 1)
        return false;
    int64_t inner = call->rows[call->rank - 1];
    if (call->in_strides[call->rank - 1] != 1 || inner < LEAST_ROWS) return false;
    s->is_few = s->wanted <= LIST_MOST && s->wanted < call->length / LIST_PART;
    if (!s->is_few) return false;
    s->is_across = true;
    s->together = inner < WEFT_KEY_WIDE ? inner : WEFT_KEY_WIDE;
    return true;
}

/* A few elements of many. */
static void choose_selection(weft_sorter *s)
{
    int64_t some = s->wanted * SELECTED_TIMES, least = s->pick != NULL ? PICKED_LEAST : SELECTED_LEAST;
    if (some < least) some = least;
    if (some < s->call->length) s->room = some;
    s->together = 1;
}

/* Rows that lie side by side. */
static void choose_across(weft_sorter *s)
{
    bool has_vectors = s->method == WEFT_SORT_VECTORS_32 || s->method == WEFT_SORT_VECTORS_64;
    int64_t across = rows_across(s);
    s->is_across = across > 1;
    if (!s->is_across) return;
    s->together = across;
    s->take_step = s->put_step = 1;
    s->take = has_vectors ? s->vectors->take : NULL;
    s->put = has_vectors ? s->vectors->put : NULL;
    s->is_columns = has_vectors && s->vectors->across != NULL && s->call->length <= WEFT_KEY_TALL;
}

/* `across`: long rows that lie side by side are taken together. */
static void choose_method(weft_sorter *s, bool across)
{
    const weft_sort_call *call = s->call;
    s->method = method_of(s);
    s->room = call->length;
    if (choose_few(s)) return;
    bool has_vectors = s->method == WEFT_SORT_VECTORS_32 || s->method == WEFT_SORT_VECTORS_64;
    bool is_short = call->length <= WEFT_KEY_SHORT;
    bool is_longer = !is_short && s->row_count >= LEAST_ROWS && call->in_step == 1 && call->out_step == 1;
    bool can_pack = s->method == WEFT_SORT_ITEM_PAIRS && s->vectors != NULL && call->length <= UINT32_MAX;
    bool is_together =
        (has_vectors || can_pack) && call->length <= s->vectors->most_together && (is_short || is_longer);
    s->together = !is_together ? 1 : is_short ? SHORT_ROWS : LONGER_ROWS;
    s->take_step = call->in_step;
    s->put_step = call->out_step;
    s->take = has_vectors && call->in_step == 1 ? s->vectors->take : NULL;
    s->put = has_vectors && call->out_step == 1 ? s->vectors->put : NULL;
    s->skip = s->vectors != NULL && call->in_step == 1 ? s->vectors->skip : NULL;
    s->pick = picks(s->vectors, call) ? s->vectors->pick : NULL;
    s->is_looked_at = call->positions && !has_vectors;
    if (s->method == WEFT_SORT_COUNTED) return;
    if (weft_sort_selects(s->vectors, call)) choose_selection(s);
    s->takes_whole = s->together > 1 && s->take != NULL && !call->positions && is_adjacent(call, call->in_strides);
    s->puts_whole = s->together > 1 && s->put != NULL && !call->positions && s->wanted == call->length &&
                    is_adjacent(call, call->out_strides);
    s->puts_lost = has_vectors && s->vectors->put_lost != NULL && call->in_step == 1 && call->out_step == 1 &&
                   s->wanted == call->length && !call->positions;
    s->is_direct = s->room == call->length && !is_short && s->take != NULL && s->put != NULL && !call->positions &&
                   (s->vectors->sort_row32 != NULL || s->vectors->sort_row64 != NULL);
    s->is_packed = can_pack && s->room == call->length && (s->together > 1 || call->length >= PACKED_LEAST);
    if (s->room < call->length) return;
    if (s->together == 1 ? across : s->vectors->across != NULL) choose_across(s);
}

/* Of one part. */
static int64_t scratch_bytes(const weft_sorter *s)
{
    if (s->method == WEFT_SORT_COUNTED && !s->is_few) return 0;
    /* The keys, and where they are not those of short rows room for as many of one. */
    int64_t rows = s->is_across ? s->together + 1 : s->together > 1 ? s->together : 2;
    if (s->is_packed && s->together > 1) rows = s->together + 2;
    int64_t keys = saturating_product(s->room, (int64_t)weft_sorter_key_bytes[s->method] * rows);
    if (s->is_across) keys += rows * WEFT_SORT_LINE;
    if (s->is_few) keys = 2 * s->wanted * WEFT_SORT_LINE * ((s->together + 7) / 8);
    if (s->is_columns) keys = (s->call->length + WEFT_KEY_SHORT - 1) / WEFT_KEY_SHORT * WEFT_KEY_SHORT * WEFT_SORT_LINE;
    if (s->is_cut && keys < INT64_MAX / 2) keys += weft_sorter_cut_bytes(s->call->length);
    if (keys > INT64_MAX - SCRATCH_ALIGNMENT) keys = INT64_MAX - SCRATCH_ALIGNMENT;
    return (keys + SCRATCH_ALIGNMENT - 1) / SCRATCH_ALIGNMENT * SCRATCH_ALIGNMENT;
}

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

/* Long rows whose keys are sorted whole, by vectors, and are too few for the threads, or have to be one after another.
 */
static bool is_cut(const weft_sorter *s, const weft_pool *pool, bool tight)
{
    const int64_t threads = (int64_t)weft_pool_size(pool);
    bool has_vectors = s->method == WEFT_SORT_VECTORS_32 || s->method == WEFT_SORT_VECTORS_64 || s->is_packed;
    return threads > 1 && (tight || s->row_count < threads) && s->row_count > 0 && s->call->length >= CUT_LEAST &&
           has_vectors && !s->is_across && s->room == s->call->length;
}

/* Not where there is little memory, or each of a few rows is cut for all threads. */
static bool takes_across(const weft_sorter *s, const weft_pool *pool, bool tight)
{
    return !tight && (s->row_count >= (int64_t)weft_pool_size(pool) || s->call->length < CUT_LEAST);
}

static weft_sorter prepare(const weft_key_sort *keys, const weft_pool *pool, const weft_sort_call *call, bool tight)
{
    weft_sorter s = {.call = call, .vectors = keys, .map = key_map_of(call->dtype, call->descending)};
    s.row_count = call->length == 0 ? 0 : 1;
    for (size_t axis = 0; axis < call->rank; axis++) s.row_count = saturating_product(s.row_count, call->rows[axis]);
    int64_t threads = tight ? 1 : (int64_t)weft_pool_size(pool);
    if (saturating_product(s.row_count, call->length) < SERIAL_ELEMENTS) threads = 1;
    s.part_count = s.row_count < threads ? s.row_count : threads;
    s.wanted = call->wanted > 0 && call->wanted < call->length ? call->wanted : call->length;
    choose_method(&s, takes_across(&s, pool, tight));
    s.is_cut = is_cut(&s, pool, tight);
    if (s.is_cut) s.part_count = 1;
    s.part_bytes = scratch_bytes(&s);
    return s;
}

int64_t weft_sort_scratch(const weft_key_sort *keys, const weft_pool *pool, const weft_sort_call *call, bool tight)
{
    weft_sorter s = prepare(keys, pool, call, tight);
    return saturating_product(s.part_bytes, s.part_count);
}

int64_t weft_sort_pieces(const weft_key_sort *keys, const weft_pool *pool, const weft_sort_call *call, bool tight)
{
    weft_sorter s = prepare(keys, pool, call, tight);
    return s.is_cut ? weft_sorter_cut_pieces() : s.part_count;
}

bool weft_sort_run(const weft_key_sort *keys, weft_pool *pool, const weft_sort_call *call, bool tight, const void *in,
                   void *out, void *scratch, const volatile bool *cancelled)
{
    bool stopped = false;
    weft_sorter s = prepare(keys, pool, call, tight);
    if (s.part_count == 0) return true;
    s.in = (const char *)in + call->in_offset * (int64_t)s.map.size;
    s.out = (char *)out + call->out_offset * (int64_t)(call->positions ? sizeof(int64_t) : s.map.size);
    s.scratch = scratch;
    s.pool = pool;
    s.cancelled = cancelled;
    s.stopped = &stopped;
    if (s.part_count == 1) run_parts(&s, 0, 1);
    else weft_pool_run(pool, s.part_count, 1, run_parts, &s);
    return !stopped;
}
