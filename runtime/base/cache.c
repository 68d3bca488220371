/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/cache.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include "runtime/base/cancel.h"
#include "runtime/base/fork.h"
#include "runtime/base/map.h"
#include "runtime/base/memory.h"

enum { POLL_NS = 2000000 }; /* how often a call that waits reads its flag */

/*
 * One entry per key, from the first call that misses until it is dropped or its making fails. The map finds entries in
 * either state; only ready ones are in the list by recency and count as kept. References: one for being found or kept,
 * one per handle, one per call that makes or waits. Once an entry is ready only the count, and what is said of it with
 * weft_cache_mark and weft_cache_keeps, is touched without the lock.
 * What other threads were making when the process forked is made again in the child by the first call that wants it.
 */
typedef enum entry_state { ENTRY_MAKING, ENTRY_READY, ENTRY_FAILED } entry_state;

struct weft_cache_handle {
    atomic_size_t references;
    atomic_bool kept, marked;
    weft_allocator allocator;
    void (*destroy)(void *value);
    void *value;
    entry_state state;
    pthread_t maker;    /* while MAKING */
    unsigned process;   /* that it is a thread of, by weft_fork_generation */
    size_t waiters;     /* calls that wait for the maker */
    weft_status *error; /* of FAILED, for the waiters to clone */
    weft_cache_handle *newer, *older;
    size_t bytes;
    size_t key_size;
    unsigned char key[];
};

struct weft_cache {
    weft_allocator allocator;
    void (*destroy)(void *value);
    size_t max_entries, max_bytes;
    pthread_mutex_t mutex;
    pthread_cond_t made; /* some entry left MAKING */
    weft_fork_guard guard;
    weft_map map;
    weft_cache_handle *newest, *oldest;
    weft_cache_counters counters;
};

/* ---- entries ---- */

static weft_cache_handle *entry_create(weft_cache *cache, const void *key, size_t key_size)
{
    weft_cache_handle *entry = weft_allocate_zeroed(&cache->allocator, sizeof *entry + key_size);
    if (entry == NULL) return NULL;
    atomic_init(&entry->references, 1);
    entry->allocator = cache->allocator;
    entry->destroy = cache->destroy;
    entry->state = ENTRY_MAKING;
    entry->maker = pthread_self();
    entry->process = weft_fork_generation();
    entry->key_size = key_size;
    if (key_size != 0) memcpy(entry->key, key, key_size);
    return entry;
}

weft_cache_handle *weft_cache_retain(weft_cache_handle *handle)
{
    if (handle != NULL) atomic_fetch_add_explicit(&handle->references, 1, memory_order_relaxed);
    return handle;
}

void weft_cache_release(weft_cache_handle *handle)
{
    if (handle == NULL || atomic_fetch_sub_explicit(&handle->references, 1, memory_order_acq_rel) != 1) return;
    if (handle->state == ENTRY_READY && handle->destroy != NULL) handle->destroy(handle->value);
    weft_status_destroy(handle->error);
    weft_allocator allocator = handle->allocator;
    weft_free(&allocator, handle, sizeof *handle + handle->key_size);
}

void *weft_cache_value(const weft_cache_handle *handle)
{
    return handle->value;
}

size_t weft_cache_bytes(const weft_cache_handle *handle)
{
    return handle->bytes;
}

bool weft_cache_keeps(const weft_cache_handle *handle)
{
    return atomic_load(&handle->kept);
}

void weft_cache_mark(weft_cache_handle *handle)
{
    if (!atomic_load_explicit(&handle->marked, memory_order_relaxed))
        atomic_store_explicit(&handle->marked, true, memory_order_relaxed);
}

/* ---- recency; under the lock ---- */

static void list_remove(weft_cache *cache, weft_cache_handle *entry)
{
    *(entry->newer == NULL ? &cache->newest : &entry->newer->older) = entry->older;
    *(entry->older == NULL ? &cache->oldest : &entry->older->newer) = entry->newer;
}

static void list_push(weft_cache *cache, weft_cache_handle *entry)
{
    entry->newer = NULL;
    entry->older = cache->newest;
    *(cache->newest == NULL ? &cache->oldest : &cache->newest->newer) = entry;
    cache->newest = entry;
}

static void touch(weft_cache *cache, weft_cache_handle *entry)
{
    if (cache->newest == entry) return;
    list_remove(cache, entry);
    list_push(cache, entry);
}

/* Before another entry comes first: those that would go next, but were used meanwhile, move up. */
static void touch_marked(weft_cache *cache)
{
    for (size_t i = 0; i < cache->counters.entries && atomic_exchange(&cache->oldest->marked, false); i++)
        touch(cache, cache->oldest);
}

/* Drops the cache's reference on `entry` and puts it on the list `dropped`, to be released without the lock. */
static void drop(weft_cache *cache, weft_cache_handle *entry, weft_cache_handle **dropped)
{
    weft_map_remove(&cache->map, entry->key, entry->key_size);
    list_remove(cache, entry);
    atomic_store(&entry->kept, false);
    cache->counters.entries--;
    cache->counters.bytes -= entry->bytes;
    entry->older = *dropped;
    *dropped = entry;
}

static void evict(weft_cache *cache, weft_cache_handle **dropped)
{
    while (cache->counters.entries > cache->max_entries || cache->counters.bytes > cache->max_bytes) {
        drop(cache, cache->oldest, dropped);
        cache->counters.evictions++;
    }
}

static void release_all(weft_cache_handle *dropped)
{
    while (dropped != NULL) {
        weft_cache_handle *next = dropped->older;
        weft_cache_release(dropped);
        dropped = next;
    }
}

/* ---- making ---- */

/* A value too large for the cache would only push out all others before it goes itself. */
static void keep(weft_cache *cache, weft_cache_handle *entry, weft_cache_handle **dropped)
{
    touch_marked(cache);
    list_push(cache, entry);
    atomic_store(&entry->kept, true);
    cache->counters.entries++;
    cache->counters.bytes += entry->bytes;
    if (entry->bytes > cache->max_bytes) {
        drop(cache, entry, dropped);
        cache->counters.evictions++;
    }
    evict(cache, dropped);
}

/* The call's own reference on `entry` becomes the caller's handle, or ends with the error. */
static weft_status *finish_make(weft_cache *cache, weft_cache_handle *entry, weft_status *status,
                                weft_cache_handle **out_handle)
{
    weft_cache_handle *dropped = NULL;
    pthread_mutex_lock(&cache->mutex);
    entry->state = status == NULL ? ENTRY_READY : ENTRY_FAILED;
    if (status == NULL) {
        keep(cache, entry, &dropped);
    } else {
        weft_map_remove(&cache->map, entry->key, entry->key_size);
        if (entry->waiters > 0) entry->error = weft_status_clone(&cache->allocator, status);
        entry->older = NULL;
        dropped = entry;
    }
    pthread_cond_broadcast(&cache->made);
    pthread_mutex_unlock(&cache->mutex);
    release_all(dropped);
    if (status == NULL) *out_handle = entry;
    else weft_cache_release(entry);
    return status;
}

/* Called with the lock held and a reference on the entry for the call; returns without the lock. */
static weft_status *make_entry(weft_cache *cache, weft_cache_handle *entry, weft_cache_make make, void *context,
                               weft_cache_handle **out_handle)
{
    cache->counters.misses++;
    pthread_mutex_unlock(&cache->mutex);
    weft_status *status = make(context, &entry->value, &entry->bytes);
    return finish_make(cache, entry, status, out_handle);
}

/* With a reference for the call; NULL: there is no memory. */
static weft_cache_handle *insert(weft_cache *cache, const void *key, size_t key_size)
{
    weft_cache_handle *entry = entry_create(cache, key, key_size);
    if (entry != NULL && weft_map_insert(&cache->map, key, key_size, entry)) return weft_cache_retain(entry);
    weft_cache_release(entry);
    return NULL;
}

static weft_status *insert_and_make(weft_cache *cache, const void *key, size_t key_size, weft_cache_make make,
                                    void *context, weft_cache_handle **out_handle)
{
    weft_cache_handle *entry = insert(cache, key, key_size);
    if (entry != NULL) return make_entry(cache, entry, make, context, out_handle);
    cache->counters.misses++;
    pthread_mutex_unlock(&cache->mutex);
    return weft_status_out_of_memory();
}

static bool is_orphan(const weft_cache_handle *entry)
{
    return entry->state == ENTRY_MAKING && entry->process != weft_fork_generation();
}

/* In place of a maker, and of calls that waited for it, in the process that this one was forked from. */
static weft_cache_handle *adopt(weft_cache_handle *entry)
{
    atomic_store(&entry->references, 2);
    entry->waiters = 0;
    entry->maker = pthread_self();
    entry->process = weft_fork_generation();
    return entry;
}

/* ---- finding ---- */

static void wait_a_moment(weft_cache *cache)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += POLL_NS;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&cache->made, &cache->mutex, &end);
}

/* Waits until `entry` is made, or the call is cancelled; with the lock held before and after. The caller has a
 * reference on it. */
static void wait_until_made(weft_cache *cache, weft_cache_handle *entry, const volatile bool *cancelled)
{
    entry->waiters++;
    while (entry->state == ENTRY_MAKING && !weft_is_cancelled(cancelled)) {
        if (cancelled == NULL) pthread_cond_wait(&cache->made, &cache->mutex);
        else wait_a_moment(cache);
    }
    entry->waiters--;
}

/* Of an entry that is not ready. */
static weft_status *error_of(const weft_cache *cache, const weft_cache_handle *entry, entry_state state)
{
    if (state == ENTRY_FAILED) return weft_status_clone(&cache->allocator, entry->error);
    return weft_status_create(&cache->allocator, WEFT_CANCELLED, "weft_executor_run",
                              "the run was cancelled while another one compiled what it needs");
}

/* Called with the lock held, returns without it. */
static weft_status *join(weft_cache *cache, weft_cache_handle *entry, const volatile bool *cancelled,
                         weft_cache_handle **out_handle)
{
    if (entry->state == ENTRY_MAKING && pthread_equal(entry->maker, pthread_self())) {
        cache->counters.misses++;
        pthread_mutex_unlock(&cache->mutex);
        return weft_status_create(&cache->allocator, WEFT_INTERNAL, "weft_cache_acquire",
                                  "making the value of a key of %zu bytes depends on itself", entry->key_size);
    }
    weft_cache_retain(entry);
    if (entry->state == ENTRY_READY) touch(cache, entry);
    else wait_until_made(cache, entry, cancelled);
    entry_state state = entry->state;
    (*(state == ENTRY_READY ? &cache->counters.hits : &cache->counters.misses))++;
    pthread_mutex_unlock(&cache->mutex);
    if (state == ENTRY_READY) {
        *out_handle = entry;
        return NULL;
    }
    weft_status *status = error_of(cache, entry, state);
    weft_cache_release(entry);
    return status;
}

weft_status *weft_cache_acquire(weft_cache *cache, const void *key, size_t key_size, weft_cache_make make,
                                void *context, const volatile bool *cancelled, weft_cache_handle **out_handle)
{
    pthread_mutex_lock(&cache->mutex);
    weft_cache_handle *entry = weft_map_find(&cache->map, key, key_size);
    if (entry != NULL && is_orphan(entry)) return make_entry(cache, adopt(entry), make, context, out_handle);
    if (entry != NULL) return join(cache, entry, cancelled, out_handle);
    return insert_and_make(cache, key, key_size, make, context, out_handle);
}

weft_cache_handle *weft_cache_claim(weft_cache *cache, const void *key, size_t key_size)
{
    pthread_mutex_lock(&cache->mutex);
    weft_cache_handle *entry = weft_map_find(&cache->map, key, key_size), *claim = NULL;
    if (entry == NULL) claim = insert(cache, key, key_size);
    else if (is_orphan(entry)) claim = adopt(entry);
    if (claim != NULL) cache->counters.misses++;
    pthread_mutex_unlock(&cache->mutex);
    return claim;
}

weft_status *weft_cache_settle(weft_cache *cache, weft_cache_handle *claim, weft_status *error, void *value,
                               size_t bytes, weft_cache_handle **out_handle)
{
    claim->value = value;
    claim->bytes = bytes;
    return finish_make(cache, claim, error, out_handle);
}

weft_cache_handle *weft_cache_find(weft_cache *cache, const void *key, size_t key_size)
{
    pthread_mutex_lock(&cache->mutex);
    weft_cache_handle *entry = weft_map_find(&cache->map, key, key_size);
    if (entry != NULL && entry->state != ENTRY_READY) entry = NULL;
    if (entry != NULL) {
        touch(cache, weft_cache_retain(entry));
        cache->counters.hits++;
    }
    pthread_mutex_unlock(&cache->mutex);
    return entry;
}

/* ---- the cache ---- */

/* With the clock that wait_a_moment reads. */
static void init_made(weft_cache *cache)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&cache->made, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* Calls that waited for `made` in the process that this one was forked from do not wait here. */
static void renew(weft_fork_guard *guard)
{
    init_made((weft_cache *)((char *)guard - offsetof(weft_cache, guard)));
}

weft_status *weft_cache_create(const weft_allocator *allocator, size_t max_entries, size_t max_bytes,
                               void (*destroy)(void *value), weft_cache **out_cache)
{
    allocator = weft_allocator_or_default(allocator);
    weft_cache *cache = weft_allocate_zeroed(allocator, sizeof *cache);
    if (cache == NULL) return weft_status_out_of_memory();
    cache->allocator = *allocator;
    cache->destroy = destroy;
    cache->max_entries = max_entries;
    cache->max_bytes = max_bytes;
    pthread_mutex_init(&cache->mutex, NULL);
    init_made(cache);
    weft_map_init(&cache->map, &cache->allocator);
    weft_status *status = weft_fork_guard_init(&cache->guard, &cache->mutex, renew);
    if (status == NULL) *out_cache = cache;
    else weft_cache_destroy(cache);
    return status;
}

void weft_cache_destroy(weft_cache *cache)
{
    if (cache == NULL) return;
    weft_fork_guard_finish(&cache->guard);
    weft_cache_clear(cache);
    weft_map_finish(&cache->map, NULL);
    pthread_cond_destroy(&cache->made);
    pthread_mutex_destroy(&cache->mutex);
    weft_allocator allocator = cache->allocator;
    weft_free(&allocator, cache, sizeof *cache);
}

void weft_cache_clear(weft_cache *cache)
{
    weft_cache_handle *dropped = NULL;
    pthread_mutex_lock(&cache->mutex);
    while (cache->oldest != NULL) drop(cache, cache->oldest, &dropped);
    pthread_mutex_unlock(&cache->mutex);
    release_all(dropped);
}

void weft_cache_release_and_drop(weft_cache *cache, weft_cache_handle *handle)
{
    weft_cache_handle *dropped = NULL;
    if (handle == NULL) return;
    pthread_mutex_lock(&cache->mutex);
    /* The cache's reference and the caller's: others come from handles, or under the lock. */
    if (atomic_load(&handle->kept) && atomic_load(&handle->references) == 2) drop(cache, handle, &dropped);
    pthread_mutex_unlock(&cache->mutex);
    release_all(dropped);
    weft_cache_release(handle);
}

void weft_cache_add_hits(weft_cache *cache, uint64_t hits)
{
    pthread_mutex_lock(&cache->mutex);
    cache->counters.hits += hits;
    pthread_mutex_unlock(&cache->mutex);
}

weft_cache_counters weft_cache_counters_of(weft_cache *cache)
{
    pthread_mutex_lock(&cache->mutex);
    weft_cache_counters counters = cache->counters;
    pthread_mutex_unlock(&cache->mutex);
    return counters;
}
