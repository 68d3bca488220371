/* SPDX-License-Identifier: Apache-2.0 */
/* Positions of rows that need no sorting: those in order, and those of bytes, which are counted. */
#include "runtime/base/cancel.h"
#include "runtime/engine/sorter.h"

/* Whether elements from number `first` on, before `end`, each follow the one before. */
static inline __attribute__((always_inline)) bool follow(weft_key_map map, const char *in, int64_t step, int64_t first,
                                                         int64_t end, bool descends, size_t size)
{
    uint64_t last = weft_key_of64(&map, weft_sort_load(in + (first - 1) * step, size));
    for (int64_t i = first; i < end; i++) {
        uint64_t key = weft_key_of64(&map, weft_sort_load(in + i * step, size));
        if (descends ? key >= last : key < last) return false;
        last = key;
    }
    return true;
}

static bool follow_of_size(const weft_sorter *s, const char *in, int64_t first, int64_t end, bool descends)
{
    const int64_t size = (int64_t)s->map.size, step = s->call->in_step * size;
    weft_key_map integers = s->map;
    integers.infinity = 0;
    if (size == 1) return follow(integers, in, step, first, end, descends, 1);
    integers.truth = false;
    if (size != 8) return follow(s->map, in, step, first, end, descends, s->map.size);
    return s->map.infinity != 0 ? follow(s->map, in, step, first, end, descends, 8)
                                : follow(integers, in, step, first, end, descends, 8);
}

bool weft_sorter_put_ordered(const weft_sorter *s, const char *in, char *out)
{
    const int64_t length = s->call->length, step = s->call->out_step * (int64_t)sizeof(int64_t);
    bool descends = length > 1 && !follow_of_size(s, in, 1, 2, false);
    for (int64_t first = 1, end; first < length; first = end) {
        end = length - first < WEFT_SORT_CANCEL_ELEMENTS ? length : first + WEFT_SORT_CANCEL_ELEMENTS;
        if (weft_is_cancelled(s->cancelled) || !follow_of_size(s, in, first, end, descends)) return false;
    }
    for (int64_t first = 0, end; first < s->wanted; first = end) {
        if (weft_is_cancelled(s->cancelled)) return false;
        end = s->wanted - first < WEFT_SORT_CANCEL_ELEMENTS ? s->wanted : first + WEFT_SORT_CANCEL_ELEMENTS;
        for (int64_t i = first; i < end; i++)
            weft_sort_store(out + i * step, sizeof(int64_t), (uint64_t)(descends ? length - 1 - i : i));
    }
    return true;
}

/* Bools: those of the first key from the first place on, the others after them. */
static bool put_truths(const weft_sorter *s, const char *in, char *out)
{
    const int64_t length = s->call->length, in_step = s->call->in_step, step = s->call->out_step;
    const int64_t set = weft_sorter_count_truths(s, in);
    const bool set_first = s->map.flip != 0;
    int64_t *places = (int64_t *)(void *)out, next[2] = {set_first ? set : 0, set_first ? 0 : length - set};
    for (int64_t first = 0, end; first < length; first = end) {
        if (set < 0 || weft_is_cancelled(s->cancelled)) return false;
        end = length - first < WEFT_SORT_CANCEL_ELEMENTS ? length : first + WEFT_SORT_CANCEL_ELEMENTS;
        for (int64_t i = first; i < end; i++) places[next[in[i * in_step] != 0]++ * step] = i;
    }
    return true;
}

/* Each half of a row has counts of its own, so that an equal neighbour's need not be there yet. */
static bool put_bytes(const weft_sorter *s, const char *in, char *out)
{
    const int64_t length = s->call->length, in_step = s->call->in_step, step = s->call->out_step, half = length / 2;
    const uint8_t flip = (uint8_t)s->map.flip, *low = (const uint8_t *)in, *high = low + half * in_step;
    int64_t next[2][256] = {{0}}, *places = (int64_t *)(void *)out, place = 0;
    for (int64_t first = 0, end; first < half; first = end) {
        if (weft_is_cancelled(s->cancelled)) return false;
        end = half - first < WEFT_SORT_CANCEL_ELEMENTS ? half : first + WEFT_SORT_CANCEL_ELEMENTS;
        for (int64_t i = first; i < end; i++) {
            next[0][low[i * in_step] ^ flip]++;
            next[1][high[i * in_step] ^ flip]++;
        }
    }
    if (length % 2 != 0) next[1][high[half * in_step] ^ flip]++;
    for (int key = 0; key < 256; key++)
        for (int h = 0; h < 2; h++) {
            int64_t first = place;
            place += next[h][key];
            next[h][key] = first;
        }
    for (int64_t first = 0, end; first < half; first = end) {
        if (weft_is_cancelled(s->cancelled)) return false;
        end = half - first < WEFT_SORT_CANCEL_ELEMENTS ? half : first + WEFT_SORT_CANCEL_ELEMENTS;
        for (int64_t i = first; i < end; i++) {
            places[next[0][low[i * in_step] ^ flip]++ * step] = i;
            places[next[1][high[i * in_step] ^ flip]++ * step] = half + i;
        }
    }
    if (length % 2 != 0) places[next[1][high[half * in_step] ^ flip]++ * step] = length - 1;
    return true;
}

bool weft_sorter_count_positions(const weft_sorter *s, const char *in, char *out)
{
    return s->map.truth ? put_truths(s, in, out) : put_bytes(s, in, out);
}
