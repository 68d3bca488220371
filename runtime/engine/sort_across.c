/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that lie side by side: their elements are taken a line of the cache at a time. */
#include "runtime/engine/sorter.h"

/* Bytes from the keys of a row to those of the next where rows lie side by side: no multiple of the cache's ways for
 * rows of a power of two. */
static int64_t key_pitch(const weft_sorter *s)
{
    const size_t bytes = s->is_packed ? sizeof(uint64_t) : weft_sorter_key_bytes[s->method];
    return s->call->length * (int64_t)bytes + WEFT_SORT_LINE;
}

/* Elements that lie side by side in the array, to or from a place in each of `count` rows. */
static inline __attribute__((always_inline)) void read_line(const char *line, int64_t count, char *rows, int64_t next,
                                                            size_t size)
{
    for (int64_t r = 0; r < count; r++) memcpy(rows + r * next, line + r * (int64_t)size, size);
}

static inline __attribute__((always_inline)) void write_line(char *line, int64_t count, const char *rows, int64_t next,
                                                             size_t size)
{
    for (int64_t r = 0; r < count; r++) memcpy(line + r * (int64_t)size, rows + r * next, size);
}

/* Lines of the cache that vectors transpose: whole ones of elements of this size, all but a few of `count`. */
static int64_t transpose_lines(const weft_sorter *s, size_t size, int64_t rows, int64_t count, const char *from,
                               int64_t next, int64_t advance, char *to, int64_t to_next, int64_t to_advance)
{
    const int64_t lines = WEFT_SORT_LINE / (int64_t)size;
    int64_t done = 0;
    if (s->vectors == NULL || s->vectors->transpose == NULL || size != s->map.size || rows != lines) return 0;
    for (; done + lines <= count; done += lines, from += lines * advance, to += lines * to_advance)
        s->vectors->transpose(from, next, to, to_next);
    return done;
}

/* Rows of adjacent elements in `keys` from element `i` on, out of the array and into it: mostly a whole line of the
 * cache of them. */
static inline __attribute__((always_inline)) void gather(const weft_sorter *s, const char *in, int64_t i, int64_t count,
                                                         char *keys, size_t size)
{
    const int64_t whole = WEFT_SORT_LINE / (int64_t)size, next = key_pitch(s), step = s->call->in_step * (int64_t)size;
    for (in += i * step, keys += i * (int64_t)size; i < s->call->length; i++, in += step, keys += size) {
        if (count == whole) read_line(in, whole, keys, next, size);
        else read_line(in, count, keys, next, size);
    }
}

static inline __attribute__((always_inline)) void spread(const weft_sorter *s, const char *keys, int64_t i,
                                                         int64_t count, char *out, size_t size)
{
    const int64_t whole = WEFT_SORT_LINE / (int64_t)size, next = key_pitch(s), step = s->call->out_step * (int64_t)size;
    for (out += i * step, keys += i * (int64_t)size; i < s->wanted; i++, out += step, keys += size) {
        if (count == whole) write_line(out, whole, keys, next, size);
        else write_line(out, count, keys, next, size);
    }
}

static void gather_across(const weft_sorter *s, const char *in, int64_t count, char *keys)
{
    const int64_t size = (int64_t)s->map.size, step = s->call->in_step * size;
    int64_t i = transpose_lines(s, s->map.size, count, s->call->length, in, step, step, keys, key_pitch(s), size);
    switch (size) {
    case 1: gather(s, in, i, count, keys, 1); return;
    case 2: gather(s, in, i, count, keys, 2); return;
    case 4: gather(s, in, i, count, keys, 4); return;
    default: gather(s, in, i, count, keys, 8);
    }
}

static void spread_across(const weft_sorter *s, const char *keys, int64_t count, char *out)
{
    const int64_t size = (int64_t)weft_sorter_put_size(s), step = s->call->out_step * size;
    int64_t i =
        transpose_lines(s, weft_sorter_put_size(s), count, s->wanted, keys, key_pitch(s), size, out, step, step);
    switch (size) {
    case 1: spread(s, keys, i, count, out, 1); return;
    case 2: spread(s, keys, i, count, out, 2); return;
    case 4: spread(s, keys, i, count, out, 4); return;
    default: spread(s, keys, i, count, out, 8);
    }
}

/* Sorts adjacent elements where they are, with room for as many keys in `other`. How many of them are NaNs, or -1 when
 * cancelled. */
static int64_t sort_in_place(const weft_sorter *s, char *row, char *other, bool *lost)
{
    memcpy(other, row, (size_t)s->call->length * s->map.size);
    *lost |= weft_sorter_take(s, other, 0, s->call->length, row);
    const char *sorted = weft_sorter_sort(s, row, other, s->call->length);
    if (sorted == NULL) return -1;
    int64_t nans = s->call->positions ? 0 : weft_sorter_nans(s, sorted);
    char *elements = sorted == row ? other : row;
    weft_sorter_put_keys(s, sorted, elements);
    if (elements == other) memcpy(row, other, (size_t)s->wanted * weft_sorter_put_size(s));
    return nans;
}

/* Positions, of rows of elements in `keys`. */
static bool sort_packed_across(const weft_sorter *s, int64_t count, char *keys, char *out)
{
    const int64_t next = key_pitch(s), size = (int64_t)s->map.size;
    weft_packed_rows rows;
    weft_sorter_lay_out_packed(s, keys, next / size, count, &rows);
    for (int64_t r = 0; r < count; r++) weft_sorter_pack(s, &rows, r, keys + r * next, size);
    if (!weft_sorter_sort_packed(s, &rows)) return false;
    for (int64_t r = 0; r < count; r++) weft_sorter_put_packed(s, &rows, r, keys + r * next, size);
    spread_across(s, keys, count, out);
    return true;
}

bool weft_sorter_sort_across(const weft_sorter *s, const char *in, int64_t count, char *keys, char *out)
{
    const int64_t next = key_pitch(s), size = (int64_t)s->map.size;
    int64_t nans[WEFT_SORT_LINE];
    bool lost = false;
    if (s->is_few) return weft_sorter_select_columns(s, in, count, keys, out);
    if (s->is_columns) {
        weft_sorter_sort_columns(s, in, count, keys, out);
        return true;
    }
    gather_across(s, in, count, keys);
    if (s->is_packed) return sort_packed_across(s, count, keys, out);
    for (int64_t r = 0; r < count; r++) {
        nans[r] = sort_in_place(s, keys + r * next, keys + s->together * next, &lost);
        if (nans[r] < 0) return false;
    }
    spread_across(s, keys, count, out);
    for (int64_t r = 0; lost && !s->call->positions && r < count; r++)
        weft_sorter_put_lost(s, nans[r], in + r * size, out + r * size);
    return true;
}
