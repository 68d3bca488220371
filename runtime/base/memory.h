/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_BASE_MEMORY_H
#define WEFT_RUNTIME_BASE_MEMORY_H
/* Allocation in three lifetimes: counted objects, one arena per compilation, embedded init/finish. */
#include <weft/base.h>

/* `size` bytes aligned for any scalar, uninitialised / zeroed; NULL when out of memory. `size` 0 gives a valid block
 * of 1. */
void *weft_allocate(const weft_allocator *allocator, size_t size);
void *weft_allocate_zeroed(const weft_allocator *allocator, size_t size);
/* Frees a block from the functions above; `size` as it was asked. NULL is fine. */
void weft_free(const weft_allocator *allocator, void *block, size_t size);
/* `allocator`, or the default one for NULL. */
const weft_allocator *weft_allocator_or_default(const weft_allocator *allocator);

/* Bump allocator: everything is freed at once. Blocks are aligned to 16. Not thread-safe. */
typedef struct weft_arena {
    const weft_allocator *allocator;
    struct weft_arena_chunk *chunks;
    size_t used; /* bytes handed out */
} weft_arena;

void weft_arena_init(weft_arena *arena, const weft_allocator *allocator);
void weft_arena_finish(weft_arena *arena);
void *weft_arena_allocate(weft_arena *arena, size_t size);
void *weft_arena_copy(weft_arena *arena, const void *data, size_t size);
/* A NUL-terminated copy of `length` bytes. */
char *weft_arena_string(weft_arena *arena, const char *text, size_t length);

/* A growing byte string; used for printing, keys and encodings. After a failed append `failed` stays set and appends do
 * nothing. */
typedef struct weft_bytes {
    const weft_allocator *allocator;
    char *data; /* NUL-terminated whenever not NULL */
    size_t size;
    size_t capacity;
    bool failed;
} weft_bytes;

void weft_bytes_init(weft_bytes *bytes, const weft_allocator *allocator);
void weft_bytes_finish(weft_bytes *bytes);
/* Empties it, keeps the capacity and clears a failure. */
void weft_bytes_clear(weft_bytes *bytes);
void weft_bytes_append(weft_bytes *bytes, const void *data, size_t size);
/* Appends zeros up to a multiple of `alignment`. */
void weft_bytes_pad(weft_bytes *bytes, size_t alignment);
void weft_bytes_print(weft_bytes *bytes, const char *format, ...) WEFT_FORMAT(2, 3);
/* NULL, or out of memory if an append failed. */
weft_status *weft_bytes_status(const weft_bytes *bytes) WEFT_MUST_USE;

/* Grows the array `*items` of `element_size` to hold at least `needed`; false when out of memory (nothing changed). */
bool weft_reserve(const weft_allocator *allocator, void *items, size_t *capacity, size_t needed, size_t element_size);
#endif
