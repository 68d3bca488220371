/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_DATA_BLOCK_H
#define WEFT_RUNTIME_DATA_BLOCK_H
/*
 * Blocks of device memory for arenas and new outputs, kept for reuse when released, within a bound; the oldest go
 * first. A new block has its room in the bound before it is made, and what is idle goes before an allocation fails. Any
 * thread may use it. Blocks may outlive the executor: the store ends with the last of them.
 */
#include <weft/runtime.h>

typedef struct weft_block_store weft_block_store;

typedef struct weft_block {
    void *memory;
    size_t bytes;              /* at least what was asked */
    const weft_runtime *owner; /* whose driver allocated it; NULL: CPU memory from the store's allocator */
    weft_block_store *store;
} weft_block;

weft_status *weft_block_store_create(const weft_allocator *allocator, size_t capacity,
                                     weft_block_store **out_store) WEFT_MUST_USE;
/* A store of `count` blocks of CPU memory, of so many bytes each, and no others: which are acquired without a lock and
 * without allocation, and give OUT_OF_MEMORY if none is free or long enough. It has no end: `allocator` is that of an
 * arena. */
weft_status *weft_block_store_create_fixed(const weft_allocator *allocator, size_t count, size_t bytes,
                                           weft_block_store **out_store) WEFT_MUST_USE;
/* Frees what is idle, keeps nothing from now on, and ends once every block has been released. */
void weft_block_store_release(weft_block_store *store);
/* Frees what is idle. */
void weft_block_store_clear(weft_block_store *store);
/* Bytes kept for reuse. */
size_t weft_block_store_idle(weft_block_store *store);

/* Memory of the runtime's device; of the CPU for NULL. */
weft_status *weft_block_acquire(weft_block_store *store, const weft_runtime *runtime, size_t bytes,
                                weft_block **out_block) WEFT_MUST_USE;
/* Takes a weft_block, as weft_array_wrap hands it over. NULL is fine. */
void weft_block_release(void *block);
#endif
