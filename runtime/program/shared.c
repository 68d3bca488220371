/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/program/shared.h"
#include <pthread.h>
#include <stdatomic.h>
#include "runtime/base/fork.h"
#include "runtime/base/status.h"
#include "runtime/program/program.h"

enum { ALIGNMENT = 64 };

struct weft_shared {
    const weft_allocator *allocator;
    pthread_mutex_t mutex;
    weft_fork_guard guard;
    weft_map items;
    atomic_size_t bytes;
};

typedef struct shared_item {
    const weft_allocator *allocator;
    size_t size; /* of the block */
    void *block, *memory;
} shared_item;

static void destroy_item(void *value)
{
    shared_item *item = value;
    weft_free(item->allocator, item->block, item->size);
    weft_free(item->allocator, item, sizeof *item);
}

static shared_item *create_item(const weft_allocator *allocator, size_t size)
{
    shared_item *item = weft_allocate(allocator, sizeof *item);
    if (item == NULL) return NULL;
    *item = (shared_item){.allocator = allocator, .size = size + ALIGNMENT};
    item->block = weft_allocate_zeroed(allocator, item->size);
    if (item->block == NULL) {
        destroy_item(item);
        return NULL;
    }
    char *block = item->block;
    item->memory = block + (ALIGNMENT - (uintptr_t)block % ALIGNMENT) % ALIGNMENT;
    return item;
}

weft_status *weft_shared_create(const weft_allocator *allocator, weft_shared **out_shared)
{
    weft_shared *shared = weft_allocate_zeroed(allocator, sizeof *shared);
    if (shared == NULL) return weft_status_out_of_memory();
    shared->allocator = allocator;
    weft_map_init(&shared->items, allocator);
    pthread_mutex_init(&shared->mutex, NULL);
    weft_status *status = weft_fork_guard_init(&shared->guard, &shared->mutex, NULL);
    if (status == NULL) *out_shared = shared;
    else weft_shared_destroy(shared);
    return status;
}

void weft_shared_destroy(weft_shared *shared)
{
    if (shared == NULL) return;
    weft_fork_guard_finish(&shared->guard);
    pthread_mutex_destroy(&shared->mutex);
    weft_map_finish(&shared->items, destroy_item);
    weft_free(shared->allocator, shared, sizeof *shared);
}

size_t weft_shared_bytes(const weft_shared *shared)
{
    return atomic_load(&shared->bytes);
}

/* NULL without memory. */
static shared_item *find_or_add(weft_shared *shared, const weft_bytes *key, size_t size,
                                void (*fill)(void *context, void *memory), void *context)
{
    shared_item *item = weft_map_find(&shared->items, key->data, key->size);
    if (item != NULL) return item;
    item = create_item(shared->allocator, size);
    if (item == NULL) return NULL;
    if (!weft_map_insert(&shared->items, key->data, key->size, item)) {
        destroy_item(item);
        return NULL;
    }
    fill(context, item->memory);
    atomic_fetch_add(&shared->bytes, item->size);
    return item;
}

weft_status *weft_program_share(const weft_program *program, const weft_bytes *key, size_t size,
                                void (*fill)(void *context, void *memory), void *context, const void **out_memory)
{
    WEFT_TRY(weft_bytes_status(key));
    pthread_mutex_lock(&program->shared->mutex);
    const shared_item *item = find_or_add(program->shared, key, size, fill, context);
    pthread_mutex_unlock(&program->shared->mutex);
    if (item == NULL) return weft_status_out_of_memory();
    *out_memory = item->memory;
    return NULL;
}
