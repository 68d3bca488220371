/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_BASE_STORE_H
#define WEFT_RUNTIME_BASE_STORE_H
/*
 * A cache in a directory, which processes share: bytes under byte keys. An entry may be gone at any time, so whoever
 * reads can also make what it holds; no error of a file is an error of a call. Any thread may use it at any time. A
 * fork waits until nobody is inside, and so do other threads.
 *
 * An entry is a file of its own, named by the hash of its key. It has the whole key, which decides, and a checksum. It
 * appears at once, complete: written under another name, and renamed. What a killed process leaves behind is removed by
 * a later one, when it counts them. What is in the directory under other names stays as it is.
 */
#include <weft/executor.h>
#include "runtime/base/memory.h"

typedef struct weft_store weft_store;

/*
 * Makes the directory, for nobody but its owner, unless there is one. BAD_FILE says why it cannot be used: it cannot be
 * made or opened, belongs to somebody else, others may write to it, or it has no entries and nobody may. The entries of
 * all processes take `max_bytes`, in blocks of 4096, or a few hundredths more: one of those that write counts them each
 * time about a 64th of that was written, and those that were not used for the longest time go first.
 */
weft_status *weft_store_open(const weft_allocator *allocator, const char *directory, uint64_t max_bytes,
                             weft_store **out_store) WEFT_MUST_USE;
/* NULL is fine. */
void weft_store_close(weft_store *store);

/* Whether there seems to be a value of `key`. */
bool weft_store_has(const weft_store *store, const void *key, size_t key_size);
/* Puts the value of `key` in place of what `out_value`, initialised, has; false: there is none, it is damaged, or there
 * is no memory for it, and `out_value` has anything. */
bool weft_store_read(weft_store *store, const void *key, size_t key_size, weft_bytes *out_value);
/* Counts a value that was read as refused: the caller cannot use it. */
void weft_store_refuse(weft_store *store);
/* Keeps the value, in place of one that is there, if that is possible. */
void weft_store_write(weft_store *store, const void *key, size_t key_size, const void *value, size_t value_size);

/* Zeros for NULL. */
weft_disk_counters weft_store_counters(weft_store *store);
#endif
