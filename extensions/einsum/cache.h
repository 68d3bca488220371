/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_CACHE_H
#define EINSUM_CACHE_H
/*
 * A bounded map from byte strings to counted values; the least recently used entry goes first. Keys are hashed to find
 * and compared in full to decide. Any thread may use it at any time; a forked child has a copy of its own.
 */
#include <weft/executor.h>
#include <pthread.h>
#include <stdatomic.h>

/* What a cache keeps; embedded at the start of what it counts. */
typedef struct einsum_shared {
    atomic_size_t references;
    void (*destroy)(struct einsum_shared *self);
} einsum_shared;

void einsum_shared_release(einsum_shared *shared);

typedef struct einsum_key {
    const void *data;
    size_t size;
} einsum_key;

enum { EINSUM_BUCKETS = 256, EINSUM_CAPACITY = 256 };

typedef struct einsum_cache {
    const weft_allocator *allocator;
    pthread_mutex_t mutex;
    size_t capacity;
    weft_cache_counters counters;
    struct einsum_entry *first, *last; /* by last use, the latest first */
    struct einsum_entry *buckets[EINSUM_BUCKETS];
    struct einsum_cache *previous, *next; /* of all caches of the process */
} einsum_cache;

weft_status *einsum_cache_init(einsum_cache *cache, const weft_allocator *allocator) WEFT_MUST_USE;
void einsum_cache_finish(einsum_cache *cache);
/* The value of `key`, with a reference for the caller; NULL when there is none, which counts as a miss. */
einsum_shared *einsum_cache_find(einsum_cache *cache, einsum_key key);
/* The same without counting, and what counts instead. */
einsum_shared *einsum_cache_peek(einsum_cache *cache, einsum_key key);
void einsum_cache_count(einsum_cache *cache, bool hit);
/*
 * Keeps `value`, of about `bytes`, under `key`, unless another thread was faster. Keeping it is optional: without
 * memory or room the value is simply not kept.
 */
void einsum_cache_insert(einsum_cache *cache, einsum_key key, einsum_shared *value, size_t bytes);
/* The same, in place of what is there. */
void einsum_cache_replace(einsum_cache *cache, einsum_key key, einsum_shared *value, size_t bytes);
void einsum_cache_set_capacity(einsum_cache *cache, size_t capacity);
void einsum_cache_clear(einsum_cache *cache);
weft_cache_counters einsum_cache_read(einsum_cache *cache);
#endif
