/* SPDX-License-Identifier: Apache-2.0 */
/* Positions of 8-byte elements: packed keys, with the position in the lower bits, as many as it takes. */
#include "runtime/engine/sort_items.h"
#include "runtime/engine/sorter.h"

/* The place in the row of a packed key. */
static int64_t packed_place(const weft_packed_rows *rows, uint64_t packed)
{
    return (int64_t)(packed & ((UINT64_C(1) << rows->place_bits) - 1));
}

void weft_sorter_lay_out_packed(const weft_sorter *s, char *scratch, int64_t next, int64_t count,
                                weft_packed_rows *out_rows)
{
    const int64_t length = s->call->length;
    out_rows->keys = (uint64_t *)(void *)scratch;
    out_rows->next = next;
    out_rows->packed = out_rows->keys + count * next;
    out_rows->other = out_rows->packed + count * length;
    out_rows->room = (s->together > 1 ? 4 : 2) * length;
    out_rows->count = count;
    out_rows->place_bits = weft_key_place_bits(length);
}

void weft_sorter_pack(const weft_sorter *s, weft_packed_rows *rows, int64_t row, const char *in, int64_t step)
{
    const int64_t length = s->call->length;
    uint64_t *packed = rows->packed + row * length;
    const void *elements = in;
    if (step != (int64_t)s->map.size) {
        for (int64_t i = 0; i < length; i++) packed[i] = weft_sort_load(in + i * step, sizeof *packed);
        elements = packed;
    }
    rows->lost[row] = s->vectors->pack(&s->map, elements, length, rows->keys + row * rows->next, packed);
}

/* Sorts `count` packed keys of a row that are equal except for their places, which ascend, by the keys. False: no room,
 * or cancelled. */
static bool sort_equal(const weft_sorter *s, const weft_packed_rows *rows, const uint64_t *keys, uint64_t *packed,
                       int64_t count)
{
    const uint64_t first = keys[packed_place(rows, packed[0])];
    int64_t same = 1;
    while (same < count && keys[packed_place(rows, packed[same])] == first) same++;
    if (same == count) return true;
    if (4 * count > rows->room) return false;
    for (int64_t i = 0; i < count; i++)
        memcpy(rows->other + 2 * i, (uint64_t[]){keys[packed_place(rows, packed[i])], packed[i]}, 2 * sizeof *packed);
    const uint64_t *sorted = weft_sort_items(rows->other, rows->other + 2 * count, count, 2, s->map.size, s->cancelled);
    for (int64_t i = 0; sorted != NULL && i < count; i++) packed[i] = sorted[2 * i + 1];
    return sorted != NULL;
}

/* Of a sorted row, sorts again what its packed keys do not tell apart. False as above. */
static bool part_equal(const weft_sorter *s, const weft_packed_rows *rows, int64_t row)
{
    const int64_t count = s->call->length;
    uint64_t *packed = rows->packed + row * count;
    if (rows->lost[row] == 0) return true;
    for (int64_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && (packed[end] ^ packed[first]) >> rows->place_bits == 0;) end++;
        if (end > first + 1 && !sort_equal(s, rows, rows->keys + row * rows->next, packed + first, end - first))
            return false;
    }
    return true;
}

bool weft_sorter_sort_packed(const weft_sorter *s, const weft_packed_rows *rows)
{
    const int64_t length = s->call->length;
    bool together = rows->count > 1 && length <= s->vectors->most_together, done = true;
    int64_t *packed = (int64_t *)rows->packed;
    if (together) s->vectors->sort_rows64(packed, rows->count, length);
    for (int64_t r = 0; done && r < rows->count; r++, packed += length) {
        int64_t wanted = rows->lost[r] == 0 ? s->wanted : length;
        if (!together) done = s->vectors->sort64(packed, (int64_t *)rows->other, length, wanted, s->cancelled);
        done = done && part_equal(s, rows, r);
    }
    return done;
}

void weft_sorter_put_packed(const weft_sorter *s, const weft_packed_rows *rows, int64_t row, char *out, int64_t step)
{
    const uint64_t *packed = rows->packed + row * s->call->length;
    for (int64_t i = 0; i < s->wanted; i++)
        weft_sort_store(out + i * step, sizeof(int64_t), (uint64_t)packed_place(rows, packed[i]));
}
