/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_EAGER_KEPT_H
#define WEFT_LIB_EAGER_KEPT_H
/*
 * The most recently used values of a context, by byte keys: what runtime/base/cache.h is for many threads, without its
 * locks.
 */
#include "runtime/base/map.h"

/* The first member of a value. */
typedef struct weft_eager_kept_item {
    struct weft_eager_kept_item *newer, *older;
    void *key;
    size_t key_size;
} weft_eager_kept_item;

typedef struct weft_eager_kept {
    weft_map map;
    weft_eager_kept_item *newest, *oldest;
    size_t capacity; /* at least 1 */
    void (*drop)(void *context, weft_eager_kept_item *item);
    void *context;
} weft_eager_kept;

/* `drop` ends a value that is not kept any more. */
void weft_eager_kept_init(weft_eager_kept *kept, const weft_allocator *allocator, size_t capacity,
                          void (*drop)(void *context, weft_eager_kept_item *item), void *context);
/* Drops all values; it can be used again. */
void weft_eager_kept_clear(weft_eager_kept *kept);
/* The value, which is the newest now, or NULL. */
weft_eager_kept_item *weft_eager_kept_find(weft_eager_kept *kept, const void *key, size_t key_size);
/* Keeps a value under a key that is not there, as the newest; drops the oldest beyond the capacity. False when out of
 * memory: the value is still the caller's. */
bool weft_eager_kept_add(weft_eager_kept *kept, const void *key, size_t key_size, weft_eager_kept_item *item);
#endif
