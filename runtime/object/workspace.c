/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/object/workspace.h"
#include <stdlib.h>
#include <string.h>

/* Memory of the C library: the list, then what was asked for. */
typedef struct weft_workspace_block {
    struct weft_workspace_block *next;
} weft_workspace_block;

/* The place of `size` bytes; SIZE_MAX if they do not fit. The same for the same requests, wherever the memory is. */
static size_t take(weft_workspace *workspace, size_t size, size_t alignment)
{
    size_t used = atomic_load(&workspace->used), begin, end;
    do {
        begin = (used + alignment - 1) / alignment * alignment;
        if (__builtin_add_overflow(begin, size, &end) || end > workspace->size) return SIZE_MAX;
    } while (!atomic_compare_exchange_weak(&workspace->used, &used, end));
    return begin;
}

static void *allocate_block(weft_workspace *workspace, size_t size)
{
    size_t whole = (size + 2 * WEFT_WORKSPACE_ALIGNMENT - 1) / WEFT_WORKSPACE_ALIGNMENT * WEFT_WORKSPACE_ALIGNMENT;
    if (whole < size) return NULL;
    weft_workspace_block *block = aligned_alloc(WEFT_WORKSPACE_ALIGNMENT, whole);
    if (block == NULL) return NULL;
    block->next = atomic_load(&workspace->blocks);
    while (!atomic_compare_exchange_weak(&workspace->blocks, &block->next, block)) continue;
    return (char *)block + WEFT_WORKSPACE_ALIGNMENT;
}

static void *resize(void *self, void *block, size_t old_size, size_t new_size, size_t alignment)
{
    weft_workspace *workspace = self;
    if (new_size == 0) return NULL;
    size_t place = take(workspace, new_size, alignment);
    if (place == SIZE_MAX) return NULL;
    void *made = workspace->memory != NULL ? workspace->memory + place : allocate_block(workspace, new_size);
    if (made != NULL && block != NULL) memcpy(made, block, old_size < new_size ? old_size : new_size);
    return made;
}

void weft_workspace_init(weft_workspace *workspace, void *memory, size_t size)
{
    workspace->allocator = (weft_allocator){workspace, resize};
    workspace->memory = memory;
    workspace->size = size;
    atomic_init(&workspace->used, 0);
    atomic_init(&workspace->blocks, NULL);
}

void weft_workspace_finish(weft_workspace *workspace)
{
    weft_workspace_block *block = atomic_load(&workspace->blocks);
    while (block != NULL) {
        weft_workspace_block *next = block->next;
        free(block);
        block = next;
    }
}

void *weft_workspace_reserve(weft_workspace *workspace, size_t size)
{
    size_t place = take(workspace, size, WEFT_WORKSPACE_ALIGNMENT);
    return place == SIZE_MAX || workspace->memory == NULL ? NULL : workspace->memory + place;
}
