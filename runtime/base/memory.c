/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/memory.h"
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the default allocator ---- */

static void *resize_aligned(void *block, size_t old_size, size_t new_size, size_t alignment)
{
    void *moved;
    if (posix_memalign(&moved, alignment, new_size) != 0) return NULL;
    if (block != NULL) memcpy(moved, block, old_size < new_size ? old_size : new_size);
    free(block);
    return moved;
}

static void *default_resize(void *self, void *block, size_t old_size, size_t new_size, size_t alignment)
{
    (void)self;
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    if (alignment <= alignof(max_align_t)) return realloc(block, new_size);
    return resize_aligned(block, old_size, new_size, alignment);
}

const weft_allocator *weft_allocator_default(void)
{
    static const weft_allocator allocator = {NULL, default_resize};
    return &allocator;
}

const weft_allocator *weft_allocator_or_default(const weft_allocator *allocator)
{
    return allocator == NULL ? weft_allocator_default() : allocator;
}

/* ---- blocks ---- */

static void *resize(const weft_allocator *allocator, void *block, size_t old_size, size_t new_size)
{
    allocator = weft_allocator_or_default(allocator);
    return allocator->resize(allocator->self, block, old_size, new_size, alignof(max_align_t));
}

void *weft_allocate(const weft_allocator *allocator, size_t size)
{
    return resize(allocator, NULL, 0, size == 0 ? 1 : size);
}

void *weft_allocate_zeroed(const weft_allocator *allocator, size_t size)
{
    void *block = weft_allocate(allocator, size);
    return block == NULL ? NULL : memset(block, 0, size);
}

void weft_free(const weft_allocator *allocator, void *block, size_t size)
{
    if (block != NULL) resize(allocator, block, size == 0 ? 1 : size, 0);
}

bool weft_reserve(const weft_allocator *allocator, void *items, size_t *capacity, size_t needed, size_t element_size)
{
    if (needed <= *capacity) return true;
    size_t grown = *capacity < 8 ? 8 : *capacity + *capacity / 2;
    if (grown < needed) grown = needed;
    size_t size;
    if (__builtin_mul_overflow(grown, element_size, &size)) return false;
    /* `items` points to a pointer of the caller's own type: only its bytes may be read. */
    void *old;
    memcpy(&old, items, sizeof old);
    void *block = resize(allocator, old, *capacity * element_size, size);
    if (block == NULL) return false;
    memcpy(items, &block, sizeof block);
    *capacity = grown;
    return true;
}

/* ---- arena ---- */

enum { ARENA_ALIGNMENT = 16, ARENA_FIRST_CHUNK = 4096, ARENA_LARGEST_CHUNK = 1 << 20 };

struct weft_arena_chunk {
    alignas(ARENA_ALIGNMENT) struct weft_arena_chunk *next;
    size_t size; /* of the block, this header included */
    size_t used;
};

void weft_arena_init(weft_arena *arena, const weft_allocator *allocator)
{
    *arena = (weft_arena){.allocator = weft_allocator_or_default(allocator)};
}

void weft_arena_finish(weft_arena *arena)
{
    struct weft_arena_chunk *chunk = arena->chunks;
    while (chunk != NULL) {
        struct weft_arena_chunk *next = chunk->next;
        weft_free(arena->allocator, chunk, chunk->size);
        chunk = next;
    }
    weft_arena_init(arena, arena->allocator);
}

static struct weft_arena_chunk *arena_grow(weft_arena *arena, size_t needed)
{
    size_t size = ARENA_FIRST_CHUNK;
    if (arena->chunks != NULL && arena->chunks->size < ARENA_LARGEST_CHUNK) size = 2 * arena->chunks->size;
    else if (arena->chunks != NULL) size = ARENA_LARGEST_CHUNK;
    if (size < needed) size = needed;
    struct weft_arena_chunk *chunk = weft_allocate(arena->allocator, size);
    if (chunk == NULL) return NULL;
    *chunk = (struct weft_arena_chunk){.next = arena->chunks, .size = size, .used = sizeof *chunk};
    arena->chunks = chunk;
    return chunk;
}

void *weft_arena_allocate(weft_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2) return NULL;
    size_t rounded = size == 0 ? ARENA_ALIGNMENT : (size + ARENA_ALIGNMENT - 1) & ~(size_t)(ARENA_ALIGNMENT - 1);
    struct weft_arena_chunk *chunk = arena->chunks;
    if (chunk == NULL || chunk->size - chunk->used < rounded) chunk = arena_grow(arena, sizeof *chunk + rounded);
    if (chunk == NULL) return NULL;
    void *block = (char *)chunk + chunk->used;
    chunk->used += rounded;
    arena->used += rounded;
    return block;
}

void *weft_arena_copy(weft_arena *arena, const void *data, size_t size)
{
    void *block = weft_arena_allocate(arena, size);
    if (block != NULL && size != 0) memcpy(block, data, size);
    return block;
}

char *weft_arena_string(weft_arena *arena, const char *text, size_t length)
{
    if (length == SIZE_MAX) return NULL;
    char *block = weft_arena_allocate(arena, length + 1);
    if (block == NULL) return NULL;
    if (length != 0) memcpy(block, text, length);
    block[length] = '\0';
    return block;
}

/* ---- bytes ---- */

void weft_bytes_init(weft_bytes *bytes, const weft_allocator *allocator)
{
    *bytes = (weft_bytes){.allocator = weft_allocator_or_default(allocator)};
}

void weft_bytes_finish(weft_bytes *bytes)
{
    weft_free(bytes->allocator, bytes->data, bytes->capacity);
    weft_bytes_init(bytes, bytes->allocator);
}

void weft_bytes_clear(weft_bytes *bytes)
{
    bytes->size = 0;
    bytes->failed = false;
    if (bytes->data != NULL) bytes->data[0] = '\0';
}

/* Room for `size` more bytes and the NUL. */
static bool bytes_grow(weft_bytes *bytes, size_t size)
{
    if (bytes->failed) return false;
    size_t needed;
    bytes->failed = __builtin_add_overflow(bytes->size + 1, size, &needed) ||
                    !weft_reserve(bytes->allocator, &bytes->data, &bytes->capacity, needed, 1);
    return !bytes->failed;
}

void weft_bytes_append(weft_bytes *bytes, const void *data, size_t size)
{
    if (!bytes_grow(bytes, size)) return;
    if (size != 0) memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
    bytes->data[bytes->size] = '\0';
}

void weft_bytes_pad(weft_bytes *bytes, size_t alignment)
{
    static const char zeros[64];
    for (size_t left = -bytes->size % alignment, part; left > 0 && !bytes->failed; left -= part) {
        part = left < sizeof zeros ? left : sizeof zeros;
        weft_bytes_append(bytes, zeros, part);
    }
}

/* Into the room that there is; usually it is enough. */
void weft_bytes_print(weft_bytes *bytes, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    size_t room = bytes->data == NULL ? 0 : bytes->capacity - bytes->size;
    int length = bytes->failed ? -1 : vsnprintf(room == 0 ? NULL : bytes->data + bytes->size, room, format, arguments);
    if (length >= 0 && (size_t)length >= room && bytes_grow(bytes, (size_t)length))
        vsnprintf(bytes->data + bytes->size, (size_t)length + 1, format, again);
    if (length >= 0 && !bytes->failed) bytes->size += (size_t)length;
    if (bytes->data != NULL) bytes->data[bytes->size] = '\0';
    va_end(again);
    va_end(arguments);
}

weft_status *weft_bytes_status(const weft_bytes *bytes)
{
    return bytes->failed ? weft_status_out_of_memory() : NULL;
}
