/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_BASE_MAP_H
#define WEFT_RUNTIME_BASE_MAP_H
/*
 * A map from byte keys to pointers: hash to find, bytes to decide. The only file that knows uthash is map.c. Not
 * thread-safe; see cache.h for the shared, bounded form.
 */
#include <weft/base.h>

typedef struct weft_map {
    const weft_allocator *allocator;
    struct weft_map_entry *entries;
} weft_map;

/* 64-bit hash of bytes (xxHash, XXH3). */
uint64_t weft_hash(const void *data, size_t size);

void weft_map_init(weft_map *map, const weft_allocator *allocator);
/* Frees the entries; calls `destroy` (may be NULL) on each value. */
void weft_map_finish(weft_map *map, void (*destroy)(void *value));
/* The value under `key`, or NULL. */
void *weft_map_find(const weft_map *map, const void *key, size_t key_size);
/* Inserts a copy of `key`, which must not be present; false when out of memory. */
bool weft_map_insert(weft_map *map, const void *key, size_t key_size, void *value);
/* Removes `key` if present and returns its value. */
void *weft_map_remove(weft_map *map, const void *key, size_t key_size);
size_t weft_map_count(const weft_map *map);
/* Calls `visit` for each entry, in the order of insertion. The map must not change meanwhile. */
void weft_map_visit(const weft_map *map, void (*visit)(void *context, const void *key, size_t key_size, void *value),
                    void *context);
#endif
