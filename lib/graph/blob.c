/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/graph/blob.h"
#include <stdalign.h>
#include <stdatomic.h>
#include <string.h>
#include "runtime/base/memory.h"

typedef struct blob {
    weft_allocator allocator; /* a copy: the graph that made it may go first */
    atomic_size_t references;
    uint64_t hash;
    size_t size;
    alignas(16) char bytes[];
} blob;

/* A blob among those of one graph. */
typedef struct entry {
    blob *blob;
    struct entry *next; /* with the same hash and size */
} entry;

typedef struct content_key {
    uint64_t hash, size;
} content_key;

/* ---- blobs ---- */

static blob *blob_create(const weft_allocator *allocator, const void *data, size_t size, uint64_t hash)
{
    if (size > SIZE_MAX - sizeof(blob)) return NULL;
    blob *made = weft_allocate(allocator, sizeof *made + size);
    if (made == NULL) return NULL;
    made->allocator = *allocator;
    atomic_init(&made->references, 1);
    made->hash = hash;
    made->size = size;
    memcpy(made->bytes, data, size);
    return made;
}

static void blob_release(blob *released)
{
    if (atomic_fetch_sub_explicit(&released->references, 1, memory_order_acq_rel) != 1) return;
    weft_allocator allocator = released->allocator;
    weft_free(&allocator, released, sizeof *released + released->size);
}

/* ---- those of a graph ---- */

void weft_blobs_init(weft_blobs *blobs, const weft_allocator *allocator)
{
    *blobs = (weft_blobs){.allocator = allocator};
    weft_map_init(&blobs->by_address, allocator);
    weft_map_init(&blobs->by_content, allocator);
}

static void entry_destroy(void *value)
{
    entry *ended = value;
    weft_allocator allocator = ended->blob->allocator;
    blob_release(ended->blob);
    weft_free(&allocator, ended, sizeof *ended);
}

void weft_blobs_finish(weft_blobs *blobs)
{
    weft_map_finish(&blobs->by_content, NULL);
    weft_map_finish(&blobs->by_address, entry_destroy);
}

static const entry *find_address(const weft_blobs *blobs, const void *data)
{
    return weft_map_find(&blobs->by_address, &data, sizeof data);
}

static entry *find_key(const weft_blobs *blobs, uint64_t hash, size_t size)
{
    content_key key = {hash, size};
    return weft_map_find(&blobs->by_content, &key, sizeof key);
}

static const entry *find_content(const weft_blobs *blobs, const void *data, size_t size, uint64_t hash)
{
    const entry *found = find_key(blobs, hash, size);
    while (found != NULL && memcmp(found->blob->bytes, data, size) != 0) found = found->next;
    return found;
}

static bool insert_content(weft_blobs *blobs, entry *made)
{
    content_key key = {made->blob->hash, made->blob->size};
    entry *first = find_key(blobs, key.hash, made->blob->size);
    if (first == NULL) return weft_map_insert(&blobs->by_content, &key, sizeof key, made);
    made->next = first->next;
    first->next = made;
    return true;
}

/* Takes a reference of the blob, which it releases when it fails. */
static bool insert(weft_blobs *blobs, blob *taken)
{
    const char *address = taken->bytes;
    entry *made = weft_allocate_zeroed(&taken->allocator, sizeof *made);
    if (made == NULL) {
        blob_release(taken);
        return false;
    }
    made->blob = taken;
    bool inserted = weft_map_insert(&blobs->by_address, &address, sizeof address, made);
    if (inserted && insert_content(blobs, made)) {
        blobs->bytes += taken->size;
        return true;
    }
    if (inserted) weft_map_remove(&blobs->by_address, &address, sizeof address);
    entry_destroy(made);
    return false;
}

weft_status *weft_blobs_add(weft_blobs *blobs, const void *data, size_t size, const void **out_data)
{
    *out_data = data;
    const entry *known = find_address(blobs, data);
    if (known != NULL && known->blob->size == size) return NULL;
    uint64_t hash = weft_hash(data, size);
    known = find_content(blobs, data, size, hash);
    if (known != NULL) {
        *out_data = known->blob->bytes;
        return NULL;
    }
    blob *made = blob_create(blobs->allocator, data, size, hash);
    if (made == NULL || !insert(blobs, made)) return weft_status_out_of_memory();
    *out_data = made->bytes;
    return NULL;
}

weft_status *weft_blobs_share(weft_blobs *blobs, const weft_blobs *source, const void *data, const void **out_data)
{
    *out_data = data;
    const entry *shared = find_address(source, data);
    if (shared == NULL) return NULL;
    const entry *known = find_address(blobs, data);
    if (known != NULL) return NULL;
    known = find_content(blobs, data, shared->blob->size, shared->blob->hash);
    if (known != NULL) {
        *out_data = known->blob->bytes;
        return NULL;
    }
    atomic_fetch_add_explicit(&shared->blob->references, 1, memory_order_relaxed);
    return insert(blobs, shared->blob) ? NULL : weft_status_out_of_memory();
}
