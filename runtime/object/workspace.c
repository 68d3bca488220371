/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/object/workspace.h"
#include <string.h>

char *weft_workspace_align(char *memory)
{
    return memory + (-(uintptr_t)memory & (WEFT_WORKSPACE_ALIGNMENT - 1));
}

size_t weft_workspace_take(weft_workspace *workspace, size_t size, size_t alignment, size_t limit)
{
    size_t used = atomic_load(&workspace->used), begin, end;
    do {
        begin = (used + alignment - 1) / alignment * alignment;
        if (__builtin_add_overflow(begin, size, &end) || end > limit) return SIZE_MAX;
    } while (!atomic_compare_exchange_weak(&workspace->used, &used, end));
    return begin;
}

static void *resize(void *self, void *block, size_t old_size, size_t new_size, size_t alignment)
{
    weft_workspace *workspace = self;
    if (new_size == 0) return NULL;
    size_t place = weft_workspace_take(workspace, new_size, alignment, workspace->size);
    if (place == SIZE_MAX) return NULL;
    char *made = workspace->memory + place;
    if (block != NULL) memcpy(made, block, old_size < new_size ? old_size : new_size);
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

void *weft_workspace_reserve(weft_workspace *workspace, size_t size)
{
    size_t place = weft_workspace_take(workspace, size, WEFT_WORKSPACE_ALIGNMENT, PTRDIFF_MAX);
    bool fits = workspace->memory != NULL && place <= workspace->size && size <= workspace->size - place;
    return fits ? workspace->memory + place : NULL;
}
