/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/map.h"
#include <limits.h>
#include <string.h>
#include <xxhash.h>
#include "runtime/base/memory.h"

/* uthash allocates inside its macros: each function that inserts or removes has the map in a variable `map`. */
#define HASH_NONFATAL_OOM 1
#define HASH_FUNCTION(key, size, hash) (hash) = (unsigned)weft_hash(key, size)
#define HASH_KEYCMP(a, b, size) ((size) == 0 ? 0 : memcmp(a, b, size))
#define uthash_malloc(size) weft_allocate(map->allocator, size)
#define uthash_free(block, size) weft_free(map->allocator, block, size)
#include <uthash.h>

struct weft_map_entry {
    UT_hash_handle hh;
    void *value;
    size_t key_size;
    unsigned char key[];
};

uint64_t weft_hash(const void *data, size_t size)
{
    return XXH3_64bits(data, size);
}

void weft_map_init(weft_map *map, const weft_allocator *allocator)
{
    *map = (weft_map){.allocator = weft_allocator_or_default(allocator)};
}

static void entry_destroy(weft_map *map, struct weft_map_entry *entry)
{
    weft_free(map->allocator, entry, sizeof *entry + entry->key_size);
}

void weft_map_finish(weft_map *map, void (*destroy)(void *value))
{
    struct weft_map_entry *entry = map->entries;
    HASH_CLEAR(hh, map->entries);
    while (entry != NULL) {
        struct weft_map_entry *next = entry->hh.next;
        if (destroy != NULL) destroy(entry->value);
        entry_destroy(map, entry);
        entry = next;
    }
}

static struct weft_map_entry *entry_find(const weft_map *map, const void *key, size_t key_size)
{
    struct weft_map_entry *entry = NULL;
    if (key_size <= UINT_MAX) HASH_FIND(hh, map->entries, key, (unsigned)key_size, entry);
    return entry;
}

void *weft_map_find(const weft_map *map, const void *key, size_t key_size)
{
    struct weft_map_entry *entry = entry_find(map, key, key_size);
    return entry == NULL ? NULL : entry->value;
}

bool weft_map_insert(weft_map *map, const void *key, size_t key_size, void *value)
{
    if (key_size > UINT_MAX) return false;
    struct weft_map_entry *entry = weft_allocate(map->allocator, sizeof *entry + key_size);
    if (entry == NULL) return false;
    entry->value = value;
    entry->key_size = key_size;
    if (key_size != 0) memcpy(entry->key, key, key_size);
    HASH_ADD_KEYPTR(hh, map->entries, entry->key, (unsigned)key_size, entry);
    if (entry->hh.tbl != NULL) return true;
    entry_destroy(map, entry);
    return false;
}

void *weft_map_remove(weft_map *map, const void *key, size_t key_size)
{
    struct weft_map_entry *entry = entry_find(map, key, key_size);
    if (entry == NULL) return NULL;
    void *value = entry->value;
    HASH_DEL(map->entries, entry);
    entry_destroy(map, entry);
    return value;
}

size_t weft_map_count(const weft_map *map)
{
    return HASH_COUNT(map->entries);
}

void weft_map_visit(const weft_map *map, void (*visit)(void *context, const void *key, size_t key_size, void *value),
                    void *context)
{
    for (const struct weft_map_entry *entry = map->entries; entry != NULL; entry = entry->hh.next)
        visit(context, entry->key, entry->key_size, entry->value);
}
