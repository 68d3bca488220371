/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/program/kept_code.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include "runtime/base/entry.h"
#include "runtime/base/fork.h"
#include "runtime/base/status.h"

/* In one block: the key, then the object. */
typedef struct kept_item {
    char *key;
    size_t key_size, object_size;
} kept_item;

struct weft_kept_code {
    const weft_allocator *allocator;
    atomic_bool grows;
    pthread_mutex_t mutex;
    weft_fork_guard guard;
    kept_item *items; /* under the lock, in the order of keys */
    size_t count, capacity;
};

weft_status *weft_kept_code_create(const weft_allocator *allocator, weft_kept_code **out_kept)
{
    weft_kept_code *kept = weft_allocate_zeroed(allocator, sizeof *kept);
    if (kept == NULL) return weft_status_out_of_memory();
    kept->allocator = allocator;
    atomic_init(&kept->grows, false);
    pthread_mutex_init(&kept->mutex, NULL);
    weft_status *status = weft_fork_guard_init(&kept->guard, &kept->mutex, NULL);
    if (status == NULL) *out_kept = kept;
    else weft_kept_code_destroy(kept);
    return status;
}

static void free_item(const weft_kept_code *kept, const kept_item *item)
{
    weft_free(kept->allocator, item->key, item->key_size + item->object_size);
}

void weft_kept_code_destroy(weft_kept_code *kept)
{
    if (kept == NULL) return;
    weft_fork_guard_finish(&kept->guard);
    pthread_mutex_destroy(&kept->mutex);
    for (size_t i = 0; i < kept->count; i++) free_item(kept, &kept->items[i]);
    weft_free(kept->allocator, kept->items, kept->capacity * sizeof *kept->items);
    weft_free(kept->allocator, kept, sizeof *kept);
}

void weft_kept_code_set_growing(weft_kept_code *kept)
{
    atomic_store(&kept->grows, true);
}

bool weft_kept_code_grows(const weft_kept_code *kept)
{
    return kept != NULL && atomic_load(&kept->grows);
}

/* ---- under the lock ---- */

static int compare(const kept_item *item, const void *key, size_t key_size)
{
    size_t least = item->key_size < key_size ? item->key_size : key_size;
    int order = memcmp(item->key, key, least);
    return order != 0 ? order : (item->key_size > key_size) - (item->key_size < key_size);
}

/* The place of the key, or where it would be. */
static size_t find(const weft_kept_code *kept, const void *key, size_t key_size, bool *out_found)
{
    size_t begin = 0, end = kept->count;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (compare(&kept->items[middle], key, key_size) < 0) begin = middle + 1;
        else end = middle;
    }
    *out_found = begin < kept->count && compare(&kept->items[begin], key, key_size) == 0;
    return begin;
}

/* Takes `item`, unless there is one of that key, or no memory. */
static bool insert(weft_kept_code *kept, kept_item item)
{
    bool found;
    size_t at = find(kept, item.key, item.key_size, &found);
    bool room = found || weft_reserve(kept->allocator, &kept->items, &kept->capacity, kept->count + 1, sizeof item);
    if (found || !room) {
        free_item(kept, &item);
        return room;
    }
    memmove(kept->items + at + 1, kept->items + at, (kept->count - at) * sizeof item);
    kept->items[at] = item;
    kept->count++;
    return true;
}

static void drop(weft_kept_code *kept, const void *key, size_t key_size)
{
    bool found;
    size_t at = find(kept, key, key_size, &found);
    if (!found) return;
    free_item(kept, &kept->items[at]);
    kept->count--;
    memmove(kept->items + at, kept->items + at + 1, (kept->count - at) * sizeof *kept->items);
}

static bool copy_object(const weft_kept_code *kept, const void *key, size_t key_size, weft_bytes *out_object)
{
    bool found;
    size_t at = find(kept, key, key_size, &found);
    if (!found) return false;
    const kept_item *item = &kept->items[at];
    weft_bytes_clear(out_object);
    weft_bytes_append(out_object, item->key + item->key_size, item->object_size);
    return !out_object->failed;
}

/* ---- */

size_t weft_kept_code_count(weft_kept_code *kept)
{
    if (kept == NULL) return 0;
    pthread_mutex_lock(&kept->mutex);
    size_t count = kept->count;
    pthread_mutex_unlock(&kept->mutex);
    return count;
}

bool weft_kept_code_has(weft_kept_code *kept, const void *key, size_t key_size)
{
    bool found;
    if (kept == NULL) return false;
    pthread_mutex_lock(&kept->mutex);
    (void)find(kept, key, key_size, &found);
    pthread_mutex_unlock(&kept->mutex);
    return found;
}

bool weft_kept_code_read(weft_kept_code *kept, const void *key, size_t key_size, weft_bytes *out_object)
{
    if (kept == NULL) return false;
    pthread_mutex_lock(&kept->mutex);
    bool copied = copy_object(kept, key, key_size, out_object);
    pthread_mutex_unlock(&kept->mutex);
    return copied;
}

weft_status *weft_kept_code_add(weft_kept_code *kept, const void *key, size_t key_size, const void *object,
                                size_t object_size)
{
    kept_item item = {weft_allocate(kept->allocator, key_size + object_size), key_size, object_size};
    if (item.key == NULL) return weft_status_out_of_memory();
    memcpy(item.key, key, key_size);
    memcpy(item.key + key_size, object, object_size);
    pthread_mutex_lock(&kept->mutex);
    bool added = insert(kept, item);
    pthread_mutex_unlock(&kept->mutex);
    return added ? NULL : weft_status_out_of_memory();
}

void weft_kept_code_drop(weft_kept_code *kept, const void *key, size_t key_size)
{
    if (kept == NULL) return;
    pthread_mutex_lock(&kept->mutex);
    drop(kept, key, key_size);
    pthread_mutex_unlock(&kept->mutex);
}

/* ---- files ---- */

void weft_kept_code_append(weft_kept_code *kept, weft_bytes *out_entries)
{
    if (kept == NULL) return;
    pthread_mutex_lock(&kept->mutex);
    for (size_t i = 0; i < kept->count; i++) {
        const kept_item *item = &kept->items[i];
        weft_entry_append(out_entries, item->key, item->key_size, item->key + item->key_size, item->object_size);
    }
    pthread_mutex_unlock(&kept->mutex);
}

weft_status *weft_kept_code_add_entries(weft_kept_code *kept, const char *entries, size_t size)
{
    weft_entry entry;
    for (; weft_entry_find(entries, size, &entry); entries += entry.size, size -= entry.size)
        if (entry.sound) WEFT_TRY(weft_kept_code_add(kept, entry.key, entry.key_size, entry.value, entry.value_size));
    return NULL;
}
