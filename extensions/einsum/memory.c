/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"
#include <stdio.h>
#include <string.h>

enum { ALIGNMENT = 16, SMALLEST_BLOCK = 4096 };

typedef struct einsum_block {
    struct einsum_block *next;
    size_t size, used; /* bytes, this header included */
} einsum_block;

#define HEADER ((sizeof(einsum_block) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT)

weft_status *einsum_status_at(const weft_allocator *allocator, const char *function, weft_status *status)
{
    if (status == NULL || strcmp(weft_status_where(status), "weft_einsum") != 0) return status;
    weft_status *moved =
        weft_status_create(allocator, weft_status_code(status), function, "%s", weft_status_message(status));
    weft_status_destroy(status);
    return moved;
}

const char *einsum_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

void einsum_arena_init(einsum_arena *arena, const weft_allocator *allocator)
{
    *arena = (einsum_arena){.allocator = allocator == NULL ? weft_allocator_default() : allocator};
}

void einsum_arena_finish(einsum_arena *arena)
{
    const weft_allocator *allocator = arena->allocator;
    for (einsum_block *block = arena->blocks, *next; block != NULL; block = next) {
        next = block->next;
        allocator->resize(allocator->self, block, block->size, 0, ALIGNMENT);
    }
    arena->blocks = NULL;
}

/* Blocks double, so that their number stays small. */
static bool add_block(einsum_arena *arena, size_t bytes)
{
    size_t size = arena->blocks == NULL ? SMALLEST_BLOCK : 2 * arena->blocks->size;
    if (size < bytes + HEADER) size = bytes + HEADER;
    einsum_block *block = arena->allocator->resize(arena->allocator->self, NULL, 0, size, ALIGNMENT);
    if (block == NULL) return false;
    *block = (einsum_block){.next = arena->blocks, .size = size, .used = HEADER};
    arena->blocks = block;
    return true;
}

void *einsum_arena_allocate(einsum_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 4) return NULL;
    bytes = (bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    einsum_block *block = arena->blocks;
    if ((block == NULL || block->size - block->used < bytes) && !add_block(arena, bytes)) return NULL;
    block = arena->blocks;
    void *memory = (char *)block + block->used;
    block->used += bytes;
    return memset(memory, 0, bytes);
}

void einsum_text_init(einsum_text *text, einsum_arena *arena)
{
    *text = (einsum_text){.arena = arena, .data = einsum_arena_allocate(arena, 1, 1), .capacity = 1};
    text->failed = text->data == NULL;
}

static bool reserve(einsum_text *text, size_t size)
{
    if (text->failed || text->capacity - text->size > size) return !text->failed;
    size_t capacity = 2 * text->capacity + size;
    char *data = einsum_arena_allocate(text->arena, capacity, 1);
    text->failed = data == NULL;
    if (text->failed) return false;
    memcpy(data, text->data, text->size);
    text->data = data;
    text->capacity = capacity;
    return true;
}

void einsum_text_append(einsum_text *text, const char *data, size_t size)
{
    if (!reserve(text, size)) return;
    memcpy(text->data + text->size, data, size);
    text->size += size;
    text->data[text->size] = '\0';
}

void einsum_text_number(einsum_text *text, int64_t number)
{
    char digits[20], *end = digits + sizeof digits, *at = end;
    do *--at = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    einsum_text_append(text, at, (size_t)(end - at));
}

void einsum_text_print(einsum_text *text, const char *format, ...)
{
    char buffer[128];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    einsum_text_append(text, buffer, size < (int)sizeof buffer ? (size_t)size : sizeof buffer - 1);
}
