/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of a row: taken out of the array, sorted and put back. */
#include "runtime/base/cancel.h"
#include "runtime/engine/sort_items.h"
#include "runtime/engine/sorter.h"

bool weft_sorter_take(const weft_sorter *s, const char *in, int64_t first, int64_t count, void *keys)
{
    const weft_key_form form = {s->method, s->call->positions};
    const weft_key_map map = s->map;
    int64_t step = s->take_step * (int64_t)map.size;
    uint64_t lost = 0;
    in += first * step;
    if (s->take != NULL) {
        bool loses = s->take(&s->map, in, count, keys);
        for (int64_t i = 0; i < count && form.positions && first != 0; i++) ((uint64_t *)keys)[i] += (uint64_t)first;
        return loses;
    }
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = weft_sort_load(in + i * step, map.size);
        lost |= weft_key_loses64(&map, bits);
        weft_sorter_set_key(form, keys, i, weft_key_of64(&map, bits), first + i);
    }
    return lost != 0;
}

static void put_positions(const weft_sorter *s, const void *keys, char *out)
{
    int64_t step = s->put_step * (int64_t)sizeof(int64_t);
    for (int64_t i = 0; i < s->wanted; i++)
        weft_sort_store(out + i * step, sizeof(int64_t), (uint64_t)weft_sorter_position(s, keys, i));
}

/* Of the first `last` elements, in order, the first one whose key is not less. */
static int64_t find_key(const weft_sorter *s, const char *out, int64_t last, uint64_t key)
{
    const int64_t step = s->call->out_step * (int64_t)s->map.size;
    int64_t first = 0;
    while (first < last) {
        int64_t middle = first + (last - first) / 2;
        if (weft_key_of64(&s->map, weft_sort_load(out + middle * step, s->map.size)) < key) first = middle + 1;
        else last = middle;
    }
    return first;
}

int64_t weft_sorter_nans(const weft_sorter *s, const void *keys)
{
    int64_t first = s->wanted;
    while (first > 0 && weft_sorter_key(s, keys, first - 1) == s->map.mask) first--;
    return s->wanted - first;
}

/* The elements of that key, from place `first` to `last` of the sorted row, as they follow each other in the row. */
static void put_equal(const weft_sorter *s, uint64_t key, int64_t first, int64_t last, const char *in, char *out)
{
    const weft_key_map map = s->map;
    const int64_t step = s->call->in_step * (int64_t)map.size, out_step = s->call->out_step * (int64_t)map.size;
    for (; first < last; in += step) {
        uint64_t bits = weft_sort_load(in, map.size);
        weft_sort_store(out + first * out_step, map.size, bits);
        first += weft_key_of64(&map, bits) == key;
    }
}

void weft_sorter_put_lost(const weft_sorter *s, int64_t nans, const char *in, char *out)
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

void weft_sorter_put_counted(const weft_sorter *s, const char *in, char *out)
{
    weft_key_lost lost = s->vectors->count_lost(&s->map, in, s->call->length);
    s->vectors->put_lost(&s->map, in, s->call->length, lost, out);
}

static void put_elements(const weft_sorter *s, const void *keys, char *out)
{
    size_t size = s->map.size;
    int64_t step = s->put_step * (int64_t)size;
    for (int64_t i = 0; i < s->wanted; i++)
        weft_sort_store(out + i * step, size, weft_key_bits64(&s->map, weft_sorter_key(s, keys, i)));
}

size_t weft_sorter_put_size(const weft_sorter *s)
{
    return s->call->positions ? sizeof(int64_t) : s->map.size;
}

void weft_sorter_put_keys(const weft_sorter *s, const void *keys, char *out)
{
    if (s->put != NULL) s->put(&s->map, keys, s->wanted, out);
    else if (s->call->positions) put_positions(s, keys, out);
    else put_elements(s, keys, out);
}

void weft_sorter_put(const weft_sorter *s, const void *keys, const char *in, char *out, bool lost)
{
    weft_sorter_put_keys(s, keys, out);
    if (lost && !s->call->positions) weft_sorter_put_lost(s, weft_sorter_nans(s, keys), in, out);
}

int64_t weft_sorter_count_truths(const weft_sorter *s, const char *in)
{
    const int64_t length = s->call->length, in_step = s->call->in_step;
    int64_t set = 0;
    for (int64_t first = 0, end; first < length; first = end) {
        if (weft_is_cancelled(s->cancelled)) return -1;
        end = length - first < WEFT_SORT_CANCEL_ELEMENTS ? length : first + WEFT_SORT_CANCEL_ELEMENTS;
        for (int64_t i = first; i < end; i++) set += in[i * in_step] != 0;
    }
    return set;
}

/* The least ones, and the others. */
static bool put_truths(const weft_sorter *s, const char *in, char *out)
{
    const int64_t length = s->call->length, step = s->call->out_step, set = weft_sorter_count_truths(s, in);
    const bool set_first = s->map.flip != 0;
    const int64_t change = set_first ? set : length - set;
    for (int64_t first = 0, end; first < length; first = end) {
        if (set < 0 || weft_is_cancelled(s->cancelled)) return false;
        end = length - first < WEFT_SORT_CANCEL_ELEMENTS ? length : first + WEFT_SORT_CANCEL_ELEMENTS;
        for (int64_t i = first; i < end && step != 1; i++) out[i * step] = (i < change) == set_first;
        if (step != 1) continue;
        const int64_t middle = change < first ? first : change < end ? change : end;
        memset(out + first, set_first, (size_t)(middle - first));
        memset(out + middle, !set_first, (size_t)(end - middle));
    }
    return true;
}

/* Keys of bytes give their elements back. */
bool weft_sorter_count(const weft_sorter *s, const char *in, char *out)
{
    enum { TABLES = 4 }; /* so that an equal neighbour's count need not be there yet */
    const int64_t length = s->call->length, in_step = s->call->in_step, step = s->call->out_step;
    const uint8_t flip = (uint8_t)s->map.flip;
    int64_t counts[TABLES][256] = {{0}};
    if (s->map.truth) return put_truths(s, in, out);
    for (int64_t first = 0, end; first < length; first = end) {
        if (weft_is_cancelled(s->cancelled)) return false;
        end = length - first < WEFT_SORT_CANCEL_ELEMENTS ? length : first + WEFT_SORT_CANCEL_ELEMENTS;
        for (int64_t i = first; i < end; i++) counts[i % TABLES][(uint8_t)in[i * in_step] ^ flip]++;
    }
    for (int key = 0; key < 256; key++) {
        int64_t count = 0;
        for (int table = 0; table < TABLES; table++) count += counts[table][key];
        if (step == 1) memset(out, key ^ flip, (size_t)count);
        for (int64_t i = 0; i < count && step != 1; i++) out[i * step] = (char)(key ^ flip);
        out += count * step;
    }
    return true;
}

const size_t weft_sorter_key_bytes[] = {
    [WEFT_SORT_VECTORS_32] = 4, [WEFT_SORT_VECTORS_64] = 8, [WEFT_SORT_ITEMS] = 8, [WEFT_SORT_ITEM_PAIRS] = 16};

void *weft_sorter_sort(const weft_sorter *s, void *keys, void *other, int64_t length)
{
    switch (s->method) {
    case WEFT_SORT_VECTORS_32: return s->vectors->sort32(keys, other, length, s->wanted, s->cancelled) ? keys : NULL;
    case WEFT_SORT_VECTORS_64: return s->vectors->sort64(keys, other, length, s->wanted, s->cancelled) ? keys : NULL;
    case WEFT_SORT_ITEM_PAIRS: return weft_sort_items(keys, other, length, 2, s->map.size, s->cancelled);
    default: return weft_sort_items(keys, other, length, 1, s->map.size, s->cancelled);
    }
}
