/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/eager/kept.h"
#include <string.h>
#include "runtime/base/memory.h"

void weft_eager_kept_init(weft_eager_kept *kept, const weft_allocator *allocator, size_t capacity,
                          void (*drop)(void *context, weft_eager_kept_item *item), void *context)
{
    *kept = (weft_eager_kept){.capacity = capacity, .drop = drop, .context = context};
    weft_map_init(&kept->map, allocator);
}

static void unlink_item(weft_eager_kept *kept, weft_eager_kept_item *item)
{
    if (item->newer != NULL) item->newer->older = item->older;
    else kept->newest = item->older;
    if (item->older != NULL) item->older->newer = item->newer;
    else kept->oldest = item->newer;
}

static void link_newest(weft_eager_kept *kept, weft_eager_kept_item *item)
{
    item->newer = NULL;
    item->older = kept->newest;
    if (kept->newest != NULL) kept->newest->newer = item;
    else kept->oldest = item;
    kept->newest = item;
}

static void drop_oldest(weft_eager_kept *kept)
{
    weft_eager_kept_item *item = kept->oldest;
    unlink_item(kept, item);
    weft_map_remove(&kept->map, item->key, item->key_size);
    weft_free(kept->map.allocator, item->key, item->key_size);
    kept->drop(kept->context, item);
}

void weft_eager_kept_clear(weft_eager_kept *kept)
{
    while (kept->oldest != NULL) drop_oldest(kept);
}

weft_eager_kept_item *weft_eager_kept_find(weft_eager_kept *kept, const void *key, size_t key_size)
{
    weft_eager_kept_item *item = weft_map_find(&kept->map, key, key_size);
    if (item == NULL || item == kept->newest) return item;
    unlink_item(kept, item);
    link_newest(kept, item);
    return item;
}

bool weft_eager_kept_add(weft_eager_kept *kept, const void *key, size_t key_size, weft_eager_kept_item *item)
{
    item->key = weft_allocate(kept->map.allocator, key_size);
    item->key_size = key_size;
    if (item->key == NULL) return false;
    memcpy(item->key, key, key_size);
    if (!weft_map_insert(&kept->map, key, key_size, item)) {
        weft_free(kept->map.allocator, item->key, key_size);
        return false;
    }
    link_newest(kept, item);
    while (weft_map_count(&kept->map) > kept->capacity) drop_oldest(kept);
    return true;
}
