/* SPDX-License-Identifier: Apache-2.0 */
/* Positions of 8-byte elements: packed keys, with the position in the lower half. */
#include "runtime/engine/sort_items.h"
#include "runtime/engine/sorter.h"

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
static bool sort_equal(const weft_sorter *s, const packed_row *row, uint64_t *packed, int64_t count)
{
    if (count > row->count / 2) return false;
    for (int64_t i = 0; i < count; i++)
        memcpy(row->other + 2 * i, (uint64_t[]){row->keys[packed_place(packed[i])], packed[i]}, 2 * sizeof *packed);
    const uint64_t *sorted = weft_sort_items(row->other, row->other + 2 * count, count, 2, s->map.size, s->cancelled);
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

bool weft_sorter_sort_packed(const weft_sorter *s, const char *in, char *out, char *scratch)
{
    int64_t count = s->call->length, step = s->call->in_step * (int64_t)s->map.size;
    const weft_key_map map = s->map;
    uint64_t *keys = (uint64_t *)(void *)scratch;
    packed_row row = {keys, keys + count, keys + 2 * count, count};
    for (int64_t i = 0; i < count; i++) keys[i] = weft_key_of64(&map, weft_sort_load(in + i * step, sizeof *keys));
    bool is_whole = pack_keys(&row) == 0;
    int64_t wanted = is_whole ? s->wanted : count, next = s->put_step * (int64_t)sizeof(int64_t);
    if (!s->vectors->sort64((int64_t *)row.packed, (int64_t *)row.other, count, wanted, s->cancelled)) return false;
    for (int64_t first = 0, end; first < count && !is_whole; first = end) {
        for (end = first + 1; end < count && row.packed[end] >> 32 == row.packed[first] >> 32;) end++;
        if (end > first + 1 && !sort_equal(s, &row, row.packed + first, end - first)) return false;
    }
    for (int64_t i = 0; i < s->wanted; i++)
        weft_sort_store(out + i * next, sizeof(int64_t), (uint64_t)packed_place(row.packed[i]));
    return true;
}
