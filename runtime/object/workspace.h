/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_OBJECT_WORKSPACE_H
#define WEFT_RUNTIME_OBJECT_WORKSPACE_H
/* An allocator on the caller's memory: what is freed comes back only all at once. Any thread may use it. */
#include <stdatomic.h>
#include <weft/base.h>

typedef struct weft_workspace {
    weft_allocator allocator; /* its own; the struct must not move */
    char *memory; /* aligned to WEFT_WORKSPACE_ALIGNMENT; NULL: the C library's, to learn how much it takes */
    size_t size;
    atomic_size_t used;
    _Atomic(struct weft_workspace_block *) blocks; /* of the C library */
} weft_workspace;

#define WEFT_WORKSPACE_ALIGNMENT 64

void weft_workspace_init(weft_workspace *workspace, void *memory, size_t size);
/* Gives memory of the C library back. */
void weft_workspace_finish(weft_workspace *workspace);
/* As if `size` bytes had been allocated; NULL where they do not fit, and where the memory is the C library's. */
void *weft_workspace_reserve(weft_workspace *workspace, size_t size);
#endif
