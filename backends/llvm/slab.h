/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_BACKENDS_LLVM_SLAB_H
#define WEFT_BACKENDS_LLVM_SLAB_H
/*
 * Memory for loaded code: one region, mapped twice, once writable and once executable, so that nothing is ever both,
 * and loading and unloading change no mapping. Code refers to its data relative to itself, which is the same in both
 * views.
 */
#include <weft/base.h>

typedef struct weft_slab_block weft_slab_block;

typedef struct weft_slab {
    char *writable, *executable;
    size_t size;
    weft_slab_block *blocks; /* in order of address, neighbours never both free */
} weft_slab;

weft_status *weft_slab_create(size_t size, weft_slab *out_slab) WEFT_MUST_USE;
/* In the writable view; NULL when full. */
void *weft_slab_allocate(weft_slab *slab, size_t size, size_t alignment);
/* Frees what weft_slab_allocate returned; whole pages go back to the system. */
void weft_slab_free(weft_slab *slab, void *memory);
/* The executable view of an address in the writable one; NULL when it is none. */
void *weft_slab_executable(const weft_slab *slab, const void *writable);
#endif
