/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_BASE_CACHE_H
#define WEFT_RUNTIME_BASE_CACHE_H
/*
 * A shared, bounded cache from byte keys to values: variants, kernels, plans, inner programs. Keys compare in full. Any
 * thread may use it at any time.
 *
 * A value lives as long as there is a handle on it or the cache keeps it. The cache keeps the most recently used ones
 * within its capacity, in use or not; what it drops dies with its last handle, which may be after the cache itself.
 *
 * Single flight: while one thread makes the value of a key, others that ask for it wait; all share the value or the
 * error. An error is not kept: the next call tries again.
 */
#include <weft/executor.h>

typedef struct weft_cache weft_cache;
typedef struct weft_cache_handle weft_cache_handle;

/*
 * Makes a value and says how many bytes it accounts for. Runs without a lock, on the thread that missed. It may use
 * other caches, and this one with other keys, as long as no key needs itself that way: WEFT_INTERNAL where one thread
 * forms such a cycle.
 */
typedef weft_status *(*weft_cache_make)(void *context, void **out_value, size_t *out_bytes);

/* Keeps at most `max_entries` values and `max_bytes` bytes; SIZE_MAX is no bound, 0 keeps nothing. `destroy` ends a
 * value. */
weft_status *weft_cache_create(const weft_allocator *allocator, size_t max_entries, size_t max_bytes,
                               void (*destroy)(void *value), weft_cache **out_cache) WEFT_MUST_USE;
/* No call on the cache may be under way; handles may live on. */
void weft_cache_destroy(weft_cache *cache);

/* A handle on the value of `key`, made now when the cache has none. WEFT_CANCELLED where this call waits for another
 * one's making and `*cancelled` becomes true; NULL never is. */
weft_status *weft_cache_acquire(weft_cache *cache, const void *key, size_t key_size, weft_cache_make make,
                                void *context, const volatile bool *cancelled,
                                weft_cache_handle **out_handle) WEFT_MUST_USE;
/*
 * For values that are made together: a claim on `key`, which this thread then makes the value of, and others wait for;
 * NULL where there is one, or where another thread makes it, or for want of memory. Whoever has a claim waits for no
 * other key of this cache before it is kept.
 */
weft_cache_handle *weft_cache_claim(weft_cache *cache, const void *key, size_t key_size);
/* Ends a claim with the value that was made, or with the error, which it takes and returns. */
weft_status *weft_cache_settle(weft_cache *cache, weft_cache_handle *claim, weft_status *error, void *value,
                               size_t bytes, weft_cache_handle **out_handle) WEFT_MUST_USE;
/* A handle on the value of `key` where it is ready, which counts as a use; else NULL. */
weft_cache_handle *weft_cache_find(weft_cache *cache, const void *key, size_t key_size);
/* One more reference on the same value. */
weft_cache_handle *weft_cache_retain(weft_cache_handle *handle);
void weft_cache_release(weft_cache_handle *handle);
/* The same, and drops the value if this was the last handle; NULL does nothing. */
void weft_cache_release_and_drop(weft_cache *cache, weft_cache_handle *handle);
void *weft_cache_value(const weft_cache_handle *handle);
/* What its maker said. */
size_t weft_cache_bytes(const weft_cache_handle *handle);

/*
 * For values that are kept at hand with a handle, and used again without asking for them; the first two take no lock.
 * A mark counts as a use by the time that room is made, a hit whenever it is added. Once the cache does not keep a
 * value it never does again: a new one is made.
 */
bool weft_cache_keeps(const weft_cache_handle *handle);
void weft_cache_mark(weft_cache_handle *handle);
void weft_cache_add_hits(weft_cache *cache, uint64_t hits);

/* Drops all values. What is being made meanwhile is kept when it is ready. */
void weft_cache_clear(weft_cache *cache);
weft_cache_counters weft_cache_counters_of(weft_cache *cache);
#endif
