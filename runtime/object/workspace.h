/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_OBJECT_WORKSPACE_H
#define WEFT_RUNTIME_OBJECT_WORKSPACE_H
/* An allocator on the caller's memory: what is freed comes back only all at once. Any thread may use it. */
#include <stdatomic.h>
#include <weft/base.h>

typedef struct weft_workspace {
    weft_allocator allocator; /* its own; the struct must not move */
    char *memory;             /* aligned to WEFT_WORKSPACE_ALIGNMENT; NULL: that of a trial */
    size_t size;
    atomic_size_t used;
    _Atomic(struct weft_workspace_block *) blocks; /* of a trial, in memory of the C library */
} weft_workspace;

#define WEFT_WORKSPACE_ALIGNMENT 64

char *weft_workspace_align(char *memory);
void weft_workspace_init(weft_workspace *workspace, void *memory, size_t size);
/* The place of `size` bytes up to `limit`; SIZE_MAX if they do not fit. The same for the same requests, wherever the
 * memory is. */
size_t weft_workspace_take(weft_workspace *workspace, size_t size, size_t alignment, size_t limit);
/* As if `size` bytes had been allocated, and counted also where they do not fit; NULL there, and in a trial. */
void *weft_workspace_reserve(weft_workspace *workspace, size_t size);
#endif
