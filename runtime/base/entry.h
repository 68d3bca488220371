/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_BASE_ENTRY_H
#define WEFT_RUNTIME_BASE_ENTRY_H
/* A value and its key as files have them, with a checksum of both. */
#include "runtime/base/memory.h"

typedef struct weft_entry {
    size_t size; /* of all of it */
    bool sound;  /* the checksum is right; otherwise nothing of the rest needs to be */
    const char *key, *value;
    size_t key_size, value_size;
} weft_entry;

/* `out_bytes` fails without memory. */
void weft_entry_append(weft_bytes *out_bytes, const void *key, size_t key_size, const void *value, size_t value_size);
/* That at the beginning of `data`, in place; false: there is none, or it goes on beyond the end. */
bool weft_entry_find(const char *data, size_t size, weft_entry *out_entry);
#endif
