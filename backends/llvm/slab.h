/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_BACKENDS_LLVM_SLAB_H
#define WEFT_BACKENDS_LLVM_SLAB_H
/*
 * Memory for loaded code, in whole pages: first writable, then, once it is sealed, executable; never both. All of it is
 * private to the process, so a forked child has its own copy of the code, and what either loads or frees afterwards
 * does not touch the other.
 */
#include <weft/base.h>

typedef struct weft_slab_chunk weft_slab_chunk;

/* Zero-initialise. */
typedef struct weft_slab {
    weft_slab_chunk *chunks;
} weft_slab;

/* Writable zeros. OUT_OF_MEMORY says how much could not be had. */
weft_status *weft_slab_allocate(weft_slab *slab, size_t size, void **out_memory) WEFT_MUST_USE;
/* Makes what weft_slab_allocate returned executable, and frees its pages beyond the first `used` bytes. UNSUPPORTED
 * where the system allows no executable memory. */
weft_status *weft_slab_seal(weft_slab *slab, void *memory, size_t used) WEFT_MUST_USE;
/* Frees what weft_slab_allocate returned, sealed or not; the pages go back to the system. NULL is fine. */
void weft_slab_free(weft_slab *slab, void *memory);
#endif
