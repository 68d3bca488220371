/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_BUILD_CODE_H
#define WEFT_LIB_BUILD_CODE_H
/* Code of kernels, one by one or a few together: from the executor's cache, or made and loaded. */
#include "lib/build/builder.h"

/* Kernels that are compiled together at most: what LLVM sets up for each object takes as long as a short kernel. 153
 * kernels take 0.92 of the time two by two, 0.86 four by four, 0.85 eight by eight (Sapphire Rapids). */
#define WEFT_CODE_GROUP 8

/* Where code comes from: the program, the disk, or the generator. */
typedef struct weft_code_source {
    const weft_allocator *allocator;
    const weft_runtime *runtime;
    const weft_code_generator *generator;
    weft_kept_code *kept; /* the program's; NULL: none */
    weft_store *store;    /* NULL: none */
} weft_code_source;

typedef struct weft_code_request {
    const weft_build_request *request;
    weft_code_source source;
    const weft_kernel *kernel;
    const weft_bytes *key; /* on disk */
} weft_code_request;

weft_code_source weft_code_source_of(const weft_build_request *request, const weft_code_generator *generator);
/* What identifies the object of a kernel, for all processes. */
weft_status *weft_code_append_key(const weft_code_source *source, const weft_kernel *kernel,
                                  weft_bytes *key) WEFT_MUST_USE;
/* Whether it is made in haste. */
bool weft_code_is_quick(const weft_build_request *request, const weft_code_generator *generator);
/* A handle on the code of a kernel. */
weft_status *weft_code_find(const weft_code_request *wanted, weft_cache_handle **out_handle) WEFT_MUST_USE;
/* The same for up to WEFT_CODE_GROUP kernels, of one source that keeps no objects: those that are not in the cache
 * become one. Of each kernel there is a handle or a status. */
void weft_codes_find(const weft_code_request *wanted, size_t count, weft_cache_handle **out_handles,
                     weft_status **out_statuses);
/*
 * Gives the program the optimised object of a kernel, if it is to have all. That the code may be in the cache does not
 * help, as objects are not kept there. The code is then loaded from the program.
 */
weft_status *weft_code_keep(const weft_code_request *wanted) WEFT_MUST_USE;
/* Has the background make code again that was made in haste, once. Where there is no memory for it, it stays as it is.
 */
void weft_code_optimize_later(const weft_build_request *request, const weft_code_generator *generator,
                              const weft_kernel *kernel, weft_cache_handle *handle);
#endif
