/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_PROGRAM_KEPT_CODE_H
#define WEFT_RUNTIME_PROGRAM_KEPT_CODE_H
/*
 * Objects of kernels that a program has with it, under the keys that they have on disk: which build of weft made them,
 * for which instructions, and the whole kernel. Any thread may use it at any time; a fork waits until nobody is inside.
 */
#include <weft/base.h>
#include "runtime/base/memory.h"

typedef struct weft_kept_code weft_kept_code;

/* The allocator outlives it. */
weft_status *weft_kept_code_create(const weft_allocator *allocator, weft_kept_code **out_kept) WEFT_MUST_USE;
/* NULL is fine, here and below: nothing is kept. */
void weft_kept_code_destroy(weft_kept_code *kept);
/* From now on it is to get the code of all that its program runs. */
void weft_kept_code_set_growing(weft_kept_code *kept);
bool weft_kept_code_grows(const weft_kept_code *kept);

size_t weft_kept_code_count(weft_kept_code *kept);
bool weft_kept_code_has(weft_kept_code *kept, const void *key, size_t key_size);
/* Puts the object in place of what `out_object` has; false: there is none, or no memory for it. */
bool weft_kept_code_read(weft_kept_code *kept, const void *key, size_t key_size, weft_bytes *out_object);
/* Adds an object, unless there is one of that key. */
weft_status *weft_kept_code_add(weft_kept_code *kept, const void *key, size_t key_size, const void *object,
                                size_t object_size) WEFT_MUST_USE;
/* Drops the object of the key, if there is one. */
void weft_kept_code_drop(weft_kept_code *kept, const void *key, size_t key_size);

/* All of it as entries of a file, in the order of keys; and those of such bytes that are sound. */
void weft_kept_code_append(weft_kept_code *kept, weft_bytes *out_entries);
weft_status *weft_kept_code_add_entries(weft_kept_code *kept, const char *entries, size_t size) WEFT_MUST_USE;
#endif
