/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One long row on several threads. Its keys are dealt to ranges a chunk at a time, by passes of quicksort in the cache;
 * then each range is gathered from all chunks, and then it is sorted as a row of its own and put in its place. Chunks
 * and ranges depend on the row alone.
 */
#include "runtime/base/cancel.h"
#include "runtime/engine/sorter.h"

enum {
    CHUNK = 1 << 15,      /* keys */
    RANGES = 32,          /* two to an odd power: after as many passes the keys of a chunk are in the other room */
    SAMPLE = 16 * RANGES, /* keys that splitters are chosen from */
    SPREAD = 40503
};

typedef struct cut {
    const weft_sorter *s;
    weft_packed_rows *packed; /* the row; NULL: its keys are not packed */
    const char *in;
    char *out, *keys, *other;
    int64_t unit;    /* a splitter does not part keys that differ in less */
    int32_t *bounds; /* of each chunk: where its ranges begin, and where the last one ends */
    bool lost;       /* a key does not give its element back */
    bool stopped;    /* a range was left as it was */
    int64_t splitters[RANGES], firsts[RANGES + 1];
} cut;

static bool is_narrow(const cut *c)
{
    return c->s->method == WEFT_SORT_VECTORS_32;
}

/* The address of key number `i`. */
static char *key_at(const cut *c, char *keys, int64_t i)
{
    return keys + i * (int64_t)(is_narrow(c) ? sizeof(int32_t) : sizeof(int64_t));
}

static int64_t chunk_count(int64_t length)
{
    return (length + CHUNK - 1) / CHUNK;
}

int64_t weft_sorter_cut_bytes(int64_t length)
{
    return chunk_count(length) * (RANGES + 1) * (int64_t)sizeof(int32_t);
}

int64_t weft_sorter_cut_pieces(void)
{
    return RANGES;
}

/* ---- splitters ---- */

/* Key number `i` of the sample, which is held where the other room will be. */
static int64_t sample_at(const cut *c, int64_t i)
{
    const void *key = key_at(c, c->other, i);
    return is_narrow(c) ? *(const int32_t *)key : *(const int64_t *)key;
}

/* Keys from all over the row, at distances that vary, so that none is seen twice in a row that is its own mirror image.
 */
static void take_sample(const cut *c)
{
    const int64_t step = c->s->call->length / SAMPLE;
    for (int64_t i = 0; i < SAMPLE; i++) {
        const int64_t at = i * step + i * SPREAD % step;
        if (c->packed != NULL) memcpy(key_at(c, c->other, i), c->packed->packed + at, sizeof(uint64_t));
        else (void)weft_sorter_take(c->s, c->in, at, 1, key_at(c, c->other, i));
    }
}

static void sort_sample(const cut *c)
{
    void *keys = c->other, *room = key_at(c, c->other, SAMPLE);
    if (is_narrow(c)) (void)c->s->vectors->sort32(keys, room, SAMPLE, SAMPLE, NULL);
    else (void)c->s->vectors->sort64(keys, room, SAMPLE, SAMPLE, NULL);
}

static bool is_in_order(const cut *c)
{
    bool ascends = true, descends = true;
    for (int64_t i = 1; i < SAMPLE; i++) {
        ascends = ascends && sample_at(c, i) >= sample_at(c, i - 1);
        descends = descends && sample_at(c, i) <= sample_at(c, i - 1);
    }
    return ascends || descends;
}

/* Whether one thread is as fast, or has to do it: rows from elements to elements are counted where so many keys are
 * equal, and packed keys need not have room to be sorted again where half a range may be equal. */
static bool has_few_kinds(const cut *c)
{
    int64_t kinds = 1, same = 1, most = 1;
    for (int64_t i = 1; i < SAMPLE; i++) {
        bool is_other = (sample_at(c, i) & -c->unit) != (sample_at(c, i - 1) & -c->unit);
        kinds += is_other;
        same = is_other ? 1 : same + 1;
        most = same > most ? same : most;
    }
    return c->packed != NULL ? c->unit > 1 && most >= SAMPLE / RANGES / 2 : c->s->is_direct && 8 * kinds < 5 * SAMPLE;
}

/* False: the row is better sorted by one thread. Equal splitters become successive ones, so that a range has nothing
 * but what is so frequent. */
static bool choose_splitters(cut *c)
{
    const int64_t last = (is_narrow(c) ? INT32_MAX : INT64_MAX) - c->unit;
    take_sample(c);
    if (is_in_order(c)) return false;
    sort_sample(c);
    if (has_few_kinds(c)) return false;
    for (int64_t r = 1; r < RANGES; r++) {
        int64_t splitter = sample_at(c, r * (SAMPLE / RANGES)) & -c->unit, before = c->splitters[r - 1];
        if (r > 1 && splitter <= before) splitter = before > last ? before : before + c->unit;
        c->splitters[r] = splitter;
    }
    return true;
}

/* ---- chunks and ranges ---- */

/* Keys from number `first` to `end` to the other room; returns the number of the first one that is not below. */
static int64_t part(const cut *c, char *from, char *to, int64_t first, int64_t end, int64_t splitter)
{
    const void *keys = key_at(c, from, first);
    void *parted = key_at(c, to, first);
    return first + (is_narrow(c) ? c->s->vectors->part32(keys, parted, end - first, (int32_t)splitter)
                                 : c->s->vectors->part64(keys, parted, end - first, splitter));
}

/* Passes go to and fro between `room`, for the keys of a chunk, and the chunk's place in the other room. */
static void deal_chunk(cut *c, int64_t chunk, char *room)
{
    const int64_t first = chunk * CHUNK, rest = c->s->call->length - first;
    char *from = c->packed != NULL ? key_at(c, c->keys, first) : room, *to = key_at(c, c->other, first);
    int32_t *bounds = c->bounds + chunk * (RANGES + 1);
    bounds[0] = 0;
    bounds[RANGES] = (int32_t)(rest < CHUNK ? rest : CHUNK);
    if (c->packed == NULL && weft_sorter_take(c->s, c->in, first, bounds[RANGES], from))
        __atomic_store_n(&c->lost, true, __ATOMIC_RELAXED);
    for (int64_t half = RANGES / 2; half > 0; half /= 2) {
        for (int64_t r = half; r < RANGES; r += 2 * half)
            bounds[r] = (int32_t)part(c, from, to, bounds[r - half], bounds[r + half], c->splitters[r]);
        from = to;
        to = to == room ? key_at(c, c->other, first) : room;
    }
}

/* The first place of each range in the sorted row. */
static void count_ranges(cut *c)
{
    memset(c->firsts, 0, sizeof c->firsts);
    for (int64_t chunk = 0; chunk < chunk_count(c->s->call->length); chunk++) {
        const int32_t *bounds = c->bounds + chunk * (RANGES + 1);
        for (int64_t r = 1; r <= RANGES; r++) c->firsts[r] += bounds[r];
    }
}

static void gather_range(const cut *c, int64_t range)
{
    char *to = key_at(c, c->keys, c->firsts[range]);
    for (int64_t chunk = 0; chunk < chunk_count(c->s->call->length); chunk++) {
        const int32_t *bounds = c->bounds + chunk * (RANGES + 1) + range;
        const char *from = key_at(c, c->other, chunk * CHUNK + bounds[0]),
                   *end = key_at(c, c->other, chunk * CHUNK + bounds[1]);
        memcpy(to, from, (size_t)(end - from));
        to += end - from;
    }
}

/* False: cancelled, or packed keys that are equal have no room to be sorted again. */
static bool sort_packed(const weft_sorter *s, const weft_packed_rows *rows, char *out, int64_t step)
{
    if (!weft_sorter_sort_packed(s, rows)) return false;
    weft_sorter_put_packed(s, rows, 0, out, step);
    return true;
}

/* False as above. */
static bool sort_range(const cut *c, int64_t range)
{
    const int64_t first = c->firsts[range];
    weft_sort_call call = *c->s->call;
    weft_sorter s = *c->s;
    call.length = c->firsts[range + 1] - first;
    s.call = &call;
    s.wanted = s.wanted - first < call.length ? s.wanted - first : call.length;
    int64_t step = s.put_step * (int64_t)weft_sorter_put_size(&s);
    if (c->packed == NULL) {
        void *keys = key_at(c, c->keys, first);
        if (weft_sorter_sort(&s, keys, key_at(c, c->other, first), call.length) == NULL) return false;
        weft_sorter_put_keys(&s, keys, c->out + first * step);
        return true;
    }
    weft_packed_rows rows = *c->packed;
    rows.packed += first;
    rows.other += 2 * first;
    rows.room = 2 * call.length;
    return sort_packed(&s, &rows, c->out + first * step, step);
}

/* ---- on all threads ---- */

static bool is_stopped(const cut *c)
{
    return __atomic_load_n(&c->stopped, __ATOMIC_RELAXED) || weft_is_cancelled(c->s->cancelled);
}

static void deal_chunks(void *context, int64_t begin, int64_t end)
{
    cut *c = context;
    char *room = key_at(c, c->keys, begin * CHUNK);
    for (; begin < end && !is_stopped(c); begin++) deal_chunk(c, begin, room);
}

static void gather_ranges(void *context, int64_t begin, int64_t end)
{
    for (cut *c = context; begin < end && !is_stopped(c); begin++)
        if (c->firsts[begin] < c->s->wanted) gather_range(c, begin);
}

static void sort_ranges(void *context, int64_t begin, int64_t end)
{
    for (cut *c = context; begin < end && !is_stopped(c); begin++)
        if (c->firsts[begin] < c->s->wanted && !sort_range(c, begin))
            __atomic_store_n(&c->stopped, true, __ATOMIC_RELAXED);
}

bool weft_sorter_sort_cut(const weft_sorter *s, const char *in, char *out, char *scratch)
{
    const int64_t length = s->call->length, bytes = length * (int64_t)weft_sorter_key_bytes[s->method];
    weft_packed_rows rows;
    cut c = {.s = s, .in = in, .out = out, .keys = scratch, .other = scratch + bytes, .unit = 1};
    c.bounds = (int32_t *)(void *)(scratch + 2 * bytes);
    if (s->is_packed) {
        weft_sorter_lay_out_packed(s, scratch, length, 1, &rows);
        weft_sorter_pack(s, &rows, 0, in, s->take_step * (int64_t)s->map.size);
        c.packed = &rows;
        c.keys = (char *)rows.packed;
        c.other = (char *)rows.other;
        if (rows.lost[0] != 0) c.unit = (int64_t)1 << rows.place_bits;
    }
    if (weft_pool_width(s->pool) == 1 || !choose_splitters(&c))
        return s->is_packed && sort_packed(s, &rows, out, s->put_step * (int64_t)sizeof(int64_t));
    weft_pool_run(s->pool, chunk_count(length), 1, deal_chunks, &c);
    if (is_stopped(&c)) return false;
    count_ranges(&c);
    weft_pool_run(s->pool, RANGES, 1, gather_ranges, &c);
    weft_pool_run(s->pool, RANGES, 1, sort_ranges, &c);
    if (is_stopped(&c)) return false;
    if (c.lost && !s->call->positions) weft_sorter_put_lost(s, weft_sorter_nans(s, c.keys), in, out);
    return true;
}
