/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_PROGRAM_SHARED_H
#define WEFT_RUNTIME_PROGRAM_SHARED_H
/* Where a program has what weft_program_share makes. */
#include <weft/base.h>

typedef struct weft_shared weft_shared;

weft_status *weft_shared_create(const weft_allocator *allocator, weft_shared **out_shared) WEFT_MUST_USE;
/* Bytes of all of it. */
size_t weft_shared_bytes(const weft_shared *shared);
/* NULL is fine. */
void weft_shared_destroy(weft_shared *shared);
#endif
