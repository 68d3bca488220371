/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of a few lines, which are sorted as they lie, and the first few elements of any. */
#include "runtime/base/cancel.h"
#include "runtime/engine/sorter.h"

/* The first of the sorted keys of a column that is not less. */
static int64_t find_key(const weft_sorter *s, const void *keys, int64_t lanes, int64_t column, uint64_t key)
{
    int64_t first = 0, last = s->call->length;
    while (first < last) {
        int64_t middle = first + (last - first) / 2;
        if (weft_sorter_key(s, keys, middle * lanes + column) < key) first = middle + 1;
        else last = middle;
    }
    return first;
}

/* Zeros and NaNs of the columns, as they follow each other in them. */
static inline __attribute__((always_inline)) void put_lost(const weft_sorter *s, const weft_key_columns *c,
                                                           const int64_t *zeros, const int64_t *nans, size_t size)
{
    const weft_key_map map = s->map;
    int64_t next[2][WEFT_KEY_LANES];
    memcpy(next[0], zeros, (size_t)c->count * sizeof *zeros);
    memcpy(next[1], nans, (size_t)c->count * sizeof *nans);
    for (int64_t r = 0; r < c->length; r++)
        for (int64_t i = 0; i < c->count; i++) {
            uint64_t bits = weft_sort_load(c->in + r * c->in_step + i * (int64_t)size, size);
            uint64_t magnitude = bits & ~map.sign;
            if (magnitude != 0 && magnitude <= map.infinity) continue;
            int64_t place = next[magnitude != 0][i]++;
            if (place < c->wanted) weft_sort_store(c->out + place * c->out_step + i * (int64_t)size, size, bits);
        }
}

static void put_lost_columns(const weft_sorter *s, const weft_key_columns *c, int64_t lanes)
{
    int64_t zeros[WEFT_KEY_LANES], nans[WEFT_KEY_LANES];
    for (int64_t i = 0; i < c->count; i++) {
        zeros[i] = find_key(s, c->keys, lanes, i, s->map.sign ^ s->map.flip);
        nans[i] = find_key(s, c->keys, lanes, i, s->map.mask);
    }
    switch (s->map.size) {
    case 2: put_lost(s, c, zeros, nans, 2); return;
    case 4: put_lost(s, c, zeros, nans, 4); return;
    default: put_lost(s, c, zeros, nans, 8);
    }
}

void weft_sorter_sort_columns(const weft_sorter *s, const char *in, int64_t count, void *keys, char *out)
{
    const int64_t lanes = WEFT_SORT_LINE / (int64_t)weft_sorter_key_bytes[s->method];
    const int64_t size = (int64_t)s->map.size, put_size = (int64_t)weft_sorter_put_size(s);
    weft_key_columns c = {.in_step = s->call->in_step * size,
                          .out_step = s->call->out_step * put_size,
                          .length = s->call->length,
                          .wanted = s->wanted,
                          .keys = keys};
    for (int64_t first = 0; first < count; first += lanes) {
        c.in = in + first * size;
        c.out = out + first * put_size;
        c.count = count - first < lanes ? count - first : lanes;
        if (s->vectors->across(&s->map, &c)) put_lost_columns(s, &c, lanes);
    }
}

static void put_few(const weft_sorter *s, const char *in, char *out, int64_t line)
{
    if (s->call->positions) weft_sort_store(out, sizeof line, (uint64_t)line);
    else
        weft_sort_store(out, s->map.size,
                        weft_sort_load(in + line * s->call->in_step * (int64_t)s->map.size, s->map.size));
}

bool weft_sorter_select_columns(const weft_sorter *s, const char *in, int64_t count, void *keys, char *out)
{
    enum { LANES = WEFT_SORT_LINE / sizeof(int64_t) };
    const int64_t size = (int64_t)s->map.size, put_size = (int64_t)weft_sorter_put_size(s);
    weft_key_columns c = {
        .in = in, .in_step = s->call->in_step * size, .wanted = s->wanted, .count = count, .keys = keys};
    for (; c.length < s->call->length; c.first = c.length) {
        const int64_t rest = s->call->length - c.first, most = WEFT_SORT_CANCEL_ELEMENTS / count;
        if (weft_is_cancelled(s->cancelled)) return false;
        c.length = c.first + (rest < most ? rest : most);
        s->vectors->few(&s->map, &c);
    }
    const int64_t *lists = keys, beside = s->call->out_strides[s->call->rank - 1];
    for (int64_t i = 0; i < count; i++)
        for (int64_t r = 0; r < s->wanted; r++) {
            int64_t line = lists[((2 * (i / LANES) + 1) * s->wanted + r) * LANES + i % LANES];
            put_few(s, in + i * size, out + (r * s->call->out_step + i * beside) * put_size, line);
        }
    return true;
}
