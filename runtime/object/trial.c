/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/object/trial.h"
#include <stdlib.h>
#include <string.h>

/* The list, then what was asked for. */
typedef struct weft_workspace_block {
    struct weft_workspace_block *next;
} weft_workspace_block;

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
    weft_workspace *trial = self;
    if (new_size == 0 || weft_workspace_take(trial, new_size, alignment, trial->size) == SIZE_MAX) return NULL;
    void *made = allocate_block(trial, new_size);
    if (made != NULL && block != NULL) memcpy(made, block, old_size < new_size ? old_size : new_size);
    return made;
}

void weft_trial_begin(weft_workspace *trial, weft_rt_workspace *given)
{
    (void)given;
    weft_workspace_init(trial, NULL, PTRDIFF_MAX);
    trial->allocator.resize = resize;
}

void weft_trial_end(weft_workspace *trial)
{
    weft_workspace_block *block = atomic_load(&trial->blocks);
    while (block != NULL) {
        weft_workspace_block *next = block->next;
        free(block);
        block = next;
    }
}

/* What does not suffice is taken away, so that nobody takes the size for that of the memory. */
void weft_trial_tell(weft_rt_workspace *given, size_t needed)
{
    if (given->memory != NULL && given->size >= needed) return;
    given->memory = given->binding = NULL;
    given->size = needed;
}

size_t weft_trial_ask(weft_rt_workspace *given)
{
    (void)given;
    return 0;
}
