/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/data/block.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include "runtime/data/host_memory.h"
#include "runtime/base/fork.h"
#include "runtime/base/memory.h"

enum { MOST_IDLE = 256 };

/* Of a fixed store. */
typedef struct slot {
    weft_block block;
    atomic_bool taken;
} slot;

struct weft_block_store {
    slot *slots; /* NULL: not a fixed one, which has nothing of the rest */
    size_t slot_count;
    weft_allocator allocator;
    pthread_mutex_t mutex;
    weft_fork_guard guard;
    size_t capacity;   /* bytes */
    size_t references; /* the executor's and one per block in use */
    size_t idle_bytes, idle_count;
    weft_block *idle[MOST_IDLE]; /* oldest first */
};

weft_status *weft_block_store_create(const weft_allocator *allocator, size_t capacity, weft_block_store **out_store)
{
    allocator = weft_allocator_or_default(allocator);
    weft_block_store *store = weft_allocate_zeroed(allocator, sizeof *store);
    if (store == NULL) return weft_status_out_of_memory();
    store->allocator = *allocator;
    store->capacity = capacity;
    store->references = 1;
    pthread_mutex_init(&store->mutex, NULL);
    weft_status *status = weft_fork_guard_init(&store->guard, &store->mutex, NULL);
    if (status == NULL) *out_store = store;
    else weft_block_store_release(store);
    return status;
}

/* ---- fixed stores ---- */

weft_status *weft_block_store_create_fixed(const weft_allocator *allocator, size_t count, size_t bytes,
                                           weft_block_store **out_store)
{
    enum { ALIGNMENT = 64 };
    weft_block_store *store = weft_allocate_zeroed(allocator, sizeof *store);
    slot *slots = weft_allocate_zeroed(allocator, count * sizeof *slots);
    if (store == NULL || slots == NULL) return weft_status_out_of_memory();
    store->slots = slots;
    store->slot_count = count;
    for (size_t i = 0; i < count; i++) {
        void *memory = allocator->resize(allocator->self, NULL, 0, bytes + 1, ALIGNMENT);
        if (memory == NULL) return weft_status_out_of_memory();
        slots[i].block = (weft_block){.memory = memory, .bytes = bytes, .store = store};
    }
    *out_store = store;
    return NULL;
}

static weft_status *acquire_slot(const weft_block_store *store, size_t bytes, weft_block **out_block)
{
    for (size_t i = 0; i < store->slot_count; i++) {
        slot *s = &store->slots[i];
        if (s->block.bytes < bytes || atomic_exchange(&s->taken, true)) continue;
        *out_block = &s->block;
        return NULL;
    }
    return weft_status_out_of_memory();
}

static void release_slot(weft_block *block)
{
    atomic_store(&((slot *)block)->taken, false);
}

/* ---- blocks ---- */

static const weft_runtime *owner_of(const weft_runtime *runtime)
{
    return runtime == NULL || runtime->driver->allocate == NULL ? NULL : runtime;
}

static weft_status *block_create(weft_block_store *store, const weft_runtime *owner, size_t bytes,
                                 weft_block **out_block)
{
    weft_block *block = weft_allocate(&store->allocator, sizeof *block);
    if (block == NULL) return weft_status_out_of_memory();
    *block = (weft_block){.bytes = bytes, .owner = owner, .store = store};
    weft_status *status = owner == NULL ? weft_host_allocate(&store->allocator, bytes, &block->memory)
                                        : owner->driver->allocate(owner->self, bytes, &block->memory);
    if (status == NULL) *out_block = block;
    else weft_free(&store->allocator, block, sizeof *block);
    return status;
}

static void block_destroy(weft_block *block)
{
    weft_block_store *store = block->store;
    if (block->owner == NULL) weft_host_release(&store->allocator, block->memory, block->bytes);
    else block->owner->driver->release(block->owner->self, block->memory, block->bytes);
    weft_free(&store->allocator, block, sizeof *block);
}

/* ---- the idle ones; under the lock ---- */

static weft_block *take(weft_block_store *store, size_t index)
{
    weft_block *block = store->idle[index];
    store->idle_count--;
    store->idle_bytes -= block->bytes;
    memmove(store->idle + index, store->idle + index + 1, (store->idle_count - index) * sizeof block);
    return block;
}

/* The newest of those that fit best, if that wastes no more than a quarter, or a page. */
static weft_block *find(weft_block_store *store, const weft_runtime *owner, size_t bytes)
{
    size_t most = bytes + (bytes / 4 > 4096 ? bytes / 4 : 4096), best = store->idle_count;
    for (size_t i = store->idle_count; i-- > 0 && most >= bytes;) {
        const weft_block *block = store->idle[i];
        if (block->owner != owner || block->bytes < bytes || block->bytes > most) continue;
        most = block->bytes - 1;
        best = i;
    }
    return best < store->idle_count ? take(store, best) : NULL;
}

/* Whether the block was kept; false when it must be destroyed, as `*out_dropped` must if it is not NULL. */
static bool keep(weft_block_store *store, weft_block *block, weft_block **out_dropped)
{
    if (block->bytes > store->capacity) return false;
    if (store->idle_count == MOST_IDLE) *out_dropped = take(store, 0);
    store->idle[store->idle_count++] = block;
    store->idle_bytes += block->bytes;
    return true;
}

/* Frees the oldest until `limit` bytes are left. The lock is not held while memory goes back to the system. */
static void trim(weft_block_store *store, size_t limit)
{
    pthread_mutex_lock(&store->mutex);
    while (store->idle_bytes > limit) {
        weft_block *block = take(store, 0);
        pthread_mutex_unlock(&store->mutex);
        block_destroy(block);
        pthread_mutex_lock(&store->mutex);
    }
    pthread_mutex_unlock(&store->mutex);
}

/* Idle blocks that would have to go when the new one comes back go before it is made; all do if memory is out. */
static weft_status *make(weft_block_store *store, const weft_runtime *owner, size_t bytes, size_t room,
                         weft_block **out_block)
{
    trim(store, room);
    weft_status *status = block_create(store, owner, bytes, out_block);
    if (weft_status_code(status) != WEFT_OUT_OF_MEMORY || weft_block_store_idle(store) == 0) return status;
    weft_status_destroy(status);
    trim(store, 0);
    return block_create(store, owner, bytes, out_block);
}

/* ---- store ---- */

static void end_reference(weft_block_store *store)
{
    pthread_mutex_lock(&store->mutex);
    bool last = --store->references == 0;
    pthread_mutex_unlock(&store->mutex);
    if (!last) return;
    weft_fork_guard_finish(&store->guard);
    pthread_mutex_destroy(&store->mutex);
    weft_allocator allocator = store->allocator;
    weft_free(&allocator, store, sizeof *store);
}

void weft_block_store_release(weft_block_store *store)
{
    if (store == NULL) return;
    pthread_mutex_lock(&store->mutex);
    store->capacity = 0;
    pthread_mutex_unlock(&store->mutex);
    trim(store, 0);
    end_reference(store);
}

void weft_block_store_clear(weft_block_store *store)
{
    trim(store, 0);
}

size_t weft_block_store_idle(weft_block_store *store)
{
    pthread_mutex_lock(&store->mutex);
    size_t bytes = store->idle_bytes;
    pthread_mutex_unlock(&store->mutex);
    return bytes;
}

weft_status *weft_block_acquire(weft_block_store *store, const weft_runtime *runtime, size_t bytes,
                                weft_block **out_block)
{
    const weft_runtime *owner = owner_of(runtime);
    if (store->slots != NULL) return acquire_slot(store, bytes, out_block);
    if (bytes == 0) bytes = 1;
    pthread_mutex_lock(&store->mutex);
    weft_block *block = find(store, owner, bytes);
    size_t room = store->capacity - (bytes > store->capacity ? 0 : bytes);
    store->references++;
    pthread_mutex_unlock(&store->mutex);
    weft_status *status = block == NULL ? make(store, owner, bytes, room, &block) : NULL;
    if (status == NULL) *out_block = block;
    else end_reference(store);
    return status;
}

void weft_block_release(void *argument)
{
    weft_block *block = argument, *dropped = NULL;
    if (block == NULL) return;
    weft_block_store *store = block->store;
    if (store->slots != NULL) {
        release_slot(block);
        return;
    }
    pthread_mutex_lock(&store->mutex);
    bool kept = keep(store, block, &dropped);
    bool over = store->idle_bytes > store->capacity;
    size_t capacity = store->capacity;
    pthread_mutex_unlock(&store->mutex);
    if (!kept) block_destroy(block);
    if (dropped != NULL) block_destroy(dropped);
    if (over) trim(store, capacity);
    end_reference(store);
}
