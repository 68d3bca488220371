/* SPDX-License-Identifier: Apache-2.0 */
/* A few of many: the wanted elements of a row that is gone through once. */
#include "runtime/base/cancel.h"
#include "runtime/engine/sorter.h"

enum { PICKED = 128 }; /* places that are picked at a time */

/* What the element of a key is compared by. */
static uint64_t element_key(const weft_sorter *s, const void *keys, int64_t i)
{
    if (s->method == WEFT_SORT_ITEM_PAIRS) return ((const uint64_t *)keys)[2 * i];
    return weft_sorter_key(s, keys, i) >> (s->method == WEFT_SORT_VECTORS_64 && s->call->positions ? 32 : 0);
}

/* Sorts `count` keys and keeps those that are wanted. False when cancelled. */
static bool keep_wanted(const weft_sorter *s, void *keys, int64_t count)
{
    size_t bytes = weft_sorter_key_bytes[s->method];
    const void *sorted = weft_sorter_sort(s, keys, (char *)keys + (size_t)s->room * bytes, count);
    if (sorted != NULL && sorted != keys) memcpy(keys, sorted, (size_t)s->wanted * bytes);
    return sorted != NULL;
}

/* Goes through a row with room for a few times what is wanted: when that is full it is sorted, and from then on only
 * what is less than the last one wanted can replace it. Of equal elements the first ones stay; nothing is less than the
 * least key there is. */
static inline __attribute__((always_inline)) bool select_elements(const weft_sorter *s, const char *in, void *keys,
                                                                  size_t size, int64_t step, weft_key_form form)
{
    const weft_key_map map = s->map;
    const int64_t length = s->call->length, room = s->room;
    weft_key_skip *skip = s->skip;
    int64_t count = 0;
    for (; count < room; count++)
        weft_sorter_set_key(form, keys, count, weft_key_of64(&map, weft_sort_load(in + count * step, size)), count);
    uint64_t bound = 0;
    for (int64_t i = room; i < length;) {
        if (count == room) {
            if (!keep_wanted(s, keys, count)) return false;
            bound = element_key(s, keys, s->wanted - 1);
            count = s->wanted;
        }
        if (bound == 0) break;
        if (weft_is_cancelled(s->cancelled)) return false;
        int64_t end = length - i < WEFT_SORT_CANCEL_ELEMENTS ? length : i + WEFT_SORT_CANCEL_ELEMENTS;
        if (skip != NULL) {
            i += skip(&map, in + i * step, end - i, bound);
            if (end - i > WEFT_KEY_SKIPPED) end = i + WEFT_KEY_SKIPPED;
        }
        for (; i < end && count < room; i++) {
            uint64_t key = weft_key_of64(&map, weft_sort_load(in + i * step, size));
            if (__builtin_expect(key < bound, 0)) weft_sorter_set_key(form, keys, count++, key, i);
        }
    }
    return keep_wanted(s, keys, count);
}

/* Key number `number`, of the adjacent element at `at`. Not inlined: this is seldom done, and is long. */
static __attribute__((noinline)) void hold_key(const weft_sorter *s, const char *in, void *keys, int64_t number,
                                               int64_t at)
{
    const weft_key_form form = {s->method, s->call->positions};
    weft_sorter_set_key(form, keys, number,
                        weft_key_of64(&s->map, weft_sort_load(in + at * (int64_t)s->map.size, s->map.size)), at);
}

/* The same of adjacent elements, of which vectors pick those that can replace one. */
static bool select_picked(const weft_sorter *s, const char *in, void *keys)
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
        if (bound == 0) break;
        if (weft_is_cancelled(s->cancelled)) return false;
        int64_t next = length - i < WEFT_SORT_CANCEL_ELEMENTS ? length - i : WEFT_SORT_CANCEL_ELEMENTS;
        int64_t free = room - count < PICKED ? room - count : PICKED;
        int64_t picked = s->pick(&s->map, in + i * (int64_t)s->map.size, next, bound, places, free, &seen);
        for (int64_t k = 0; k < picked; k++) hold_key(s, in, keys, count++, i + places[k]);
    }
    return keep_wanted(s, keys, count);
}

bool weft_sorter_select(const weft_sorter *s, const char *in, void *keys)
{
    const weft_key_form form = {s->method, s->call->positions};
    size_t size = s->map.size;
    if (s->pick != NULL) return select_picked(s, in, keys);
    int64_t step = s->call->in_step * (int64_t)size;
    if (size == 4 && step == 4) return select_elements(s, in, keys, 4, 4, form);
    return select_elements(s, in, keys, size, step, form);
}
