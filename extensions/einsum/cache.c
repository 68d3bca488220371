/* SPDX-License-Identifier: Apache-2.0 */
#include "cache.h"
#include <string.h>

typedef struct einsum_entry {
    struct einsum_entry *earlier, *later; /* in use */
    struct einsum_entry *next;            /* in the bucket */
    uint64_t hash;
    einsum_shared *value;
    size_t bytes;
    size_t key_size;
    char key[];
} einsum_entry;

void einsum_shared_release(einsum_shared *shared)
{
    if (shared != NULL && atomic_fetch_sub(&shared->references, 1) == 1) shared->destroy(shared);
}

/* FNV-1a over eight bytes at a time, with a final mix. */
static uint64_t hash_of(einsum_key key)
{
    const unsigned char *at = key.data;
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ key.size;
    for (size_t left = key.size; left > 0;) {
        uint64_t word = 0;
        size_t step = left < sizeof word ? left : sizeof word;
        memcpy(&word, at, step);
        hash = (hash ^ word) * UINT64_C(0x100000001b3);
        hash ^= hash >> 29;
        at += step;
        left -= step;
    }
    return hash ^ hash >> 32;
}

/* ---- forks ---- */

/* A fork waits until no cache is in use: no lock is held in the child, and what it protects is consistent. */
static struct {
    pthread_once_t once;
    bool watched;
    pthread_mutex_t mutex; /* of the list; held before that of any cache */
    einsum_cache *first;
} all = {.once = PTHREAD_ONCE_INIT, .mutex = PTHREAD_MUTEX_INITIALIZER};

static void before_fork(void)
{
    pthread_mutex_lock(&all.mutex);
    for (einsum_cache *cache = all.first; cache != NULL; cache = cache->next) pthread_mutex_lock(&cache->mutex);
}

static void after_fork(void)
{
    for (einsum_cache *cache = all.first; cache != NULL; cache = cache->next) pthread_mutex_unlock(&cache->mutex);
    pthread_mutex_unlock(&all.mutex);
}

static void watch_forks(void)
{
    all.watched = pthread_atfork(before_fork, after_fork, after_fork) == 0;
}

static void link_cache(einsum_cache *cache)
{
    pthread_mutex_lock(&all.mutex);
    cache->next = all.first;
    if (all.first != NULL) all.first->previous = cache;
    all.first = cache;
    pthread_mutex_unlock(&all.mutex);
}

static void unlink_cache(einsum_cache *cache)
{
    pthread_mutex_lock(&all.mutex);
    *(cache->previous == NULL ? &all.first : &cache->previous->next) = cache->next;
    if (cache->next != NULL) cache->next->previous = cache->previous;
    pthread_mutex_unlock(&all.mutex);
}

weft_status *einsum_cache_init(einsum_cache *cache, const weft_allocator *allocator)
{
    pthread_once(&all.once, watch_forks);
    *cache = (einsum_cache){.allocator = allocator, .capacity = EINSUM_CAPACITY};
    if (!all.watched || pthread_mutex_init(&cache->mutex, NULL) != 0) return weft_status_out_of_memory();
    link_cache(cache);
    return NULL;
}

/* ---- under the lock ---- */

static einsum_entry **bucket_of(einsum_cache *cache, uint64_t hash)
{
    return &cache->buckets[hash % EINSUM_BUCKETS];
}

static einsum_entry *find(einsum_cache *cache, einsum_key key, uint64_t hash)
{
    einsum_entry *entry = *bucket_of(cache, hash);
    while (entry != NULL &&
           (entry->hash != hash || entry->key_size != key.size || memcmp(entry->key, key.data, key.size) != 0))
        entry = entry->next;
    return entry;
}

static void unlink_use(einsum_cache *cache, einsum_entry *entry)
{
    *(entry->later == NULL ? &cache->first : &entry->later->earlier) = entry->earlier;
    *(entry->earlier == NULL ? &cache->last : &entry->earlier->later) = entry->later;
}

static void link_first(einsum_cache *cache, einsum_entry *entry)
{
    entry->later = NULL;
    entry->earlier = cache->first;
    *(cache->first == NULL ? &cache->last : &cache->first->later) = entry;
    cache->first = entry;
}

static void entry_destroy(einsum_cache *cache, einsum_entry *entry)
{
    einsum_shared_release(entry->value);
    cache->allocator->resize(cache->allocator->self, entry, sizeof *entry + entry->key_size, 0, _Alignof(einsum_entry));
}

static void drop(einsum_cache *cache, einsum_entry *entry)
{
    einsum_entry **at = bucket_of(cache, entry->hash);
    while (*at != entry) at = &(*at)->next;
    *at = entry->next;
    unlink_use(cache, entry);
    cache->counters.entries--;
    cache->counters.bytes -= entry->bytes;
    entry_destroy(cache, entry);
}

static void shrink(einsum_cache *cache, size_t capacity)
{
    for (; cache->counters.entries > capacity; cache->counters.evictions++) drop(cache, cache->last);
}

static einsum_entry *entry_create(einsum_cache *cache, einsum_key key, einsum_shared *value)
{
    einsum_entry *entry =
        cache->allocator->resize(cache->allocator->self, NULL, 0, sizeof *entry + key.size, _Alignof(einsum_entry));
    if (entry == NULL) return NULL;
    *entry = (einsum_entry){.hash = hash_of(key), .value = value, .key_size = key.size};
    memcpy(entry->key, key.data, key.size);
    atomic_fetch_add(&value->references, 1);
    return entry;
}

/* The value with a reference for the caller, or NULL. */
static einsum_shared *take(einsum_cache *cache, einsum_key key, uint64_t hash)
{
    einsum_entry *entry = find(cache, key, hash);
    if (entry == NULL) return NULL;
    unlink_use(cache, entry);
    link_first(cache, entry);
    atomic_fetch_add(&entry->value->references, 1);
    return entry->value;
}

static void add(einsum_cache *cache, einsum_key key, einsum_shared *value, size_t bytes)
{
    einsum_entry *entry = cache->capacity > 0 ? entry_create(cache, key, value) : NULL;
    if (entry == NULL) return;
    shrink(cache, cache->capacity - 1);
    entry->bytes = bytes;
    entry->next = *bucket_of(cache, entry->hash);
    *bucket_of(cache, entry->hash) = entry;
    link_first(cache, entry);
    cache->counters.entries++;
    cache->counters.bytes += bytes;
}

/* ---- in turn ---- */

einsum_shared *einsum_cache_peek(einsum_cache *cache, einsum_key key)
{
    uint64_t hash = hash_of(key);
    pthread_mutex_lock(&cache->mutex);
    einsum_shared *value = take(cache, key, hash);
    pthread_mutex_unlock(&cache->mutex);
    return value;
}

void einsum_cache_count(einsum_cache *cache, bool hit)
{
    pthread_mutex_lock(&cache->mutex);
    (*(hit ? &cache->counters.hits : &cache->counters.misses))++;
    pthread_mutex_unlock(&cache->mutex);
}

einsum_shared *einsum_cache_find(einsum_cache *cache, einsum_key key)
{
    uint64_t hash = hash_of(key);
    pthread_mutex_lock(&cache->mutex);
    einsum_shared *value = take(cache, key, hash);
    (*(value == NULL ? &cache->counters.misses : &cache->counters.hits))++;
    pthread_mutex_unlock(&cache->mutex);
    return value;
}

void einsum_cache_insert(einsum_cache *cache, einsum_key key, einsum_shared *value, size_t bytes)
{
    pthread_mutex_lock(&cache->mutex);
    if (find(cache, key, hash_of(key)) == NULL) add(cache, key, value, bytes);
    pthread_mutex_unlock(&cache->mutex);
}

void einsum_cache_replace(einsum_cache *cache, einsum_key key, einsum_shared *value, size_t bytes)
{
    pthread_mutex_lock(&cache->mutex);
    einsum_entry *entry = find(cache, key, hash_of(key));
    if (entry != NULL) drop(cache, entry);
    add(cache, key, value, bytes);
    pthread_mutex_unlock(&cache->mutex);
}

void einsum_cache_set_capacity(einsum_cache *cache, size_t capacity)
{
    pthread_mutex_lock(&cache->mutex);
    cache->capacity = capacity;
    shrink(cache, capacity);
    pthread_mutex_unlock(&cache->mutex);
}

void einsum_cache_clear(einsum_cache *cache)
{
    pthread_mutex_lock(&cache->mutex);
    while (cache->last != NULL) drop(cache, cache->last);
    pthread_mutex_unlock(&cache->mutex);
}

weft_cache_counters einsum_cache_read(einsum_cache *cache)
{
    pthread_mutex_lock(&cache->mutex);
    weft_cache_counters counters = cache->counters;
    pthread_mutex_unlock(&cache->mutex);
    return counters;
}

void einsum_cache_finish(einsum_cache *cache)
{
    unlink_cache(cache);
    einsum_cache_clear(cache);
    pthread_mutex_destroy(&cache->mutex);
}
