/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_MEMORY_H
#define EINSUM_MEMORY_H
/* Memory that is freed at once, and text in it. */
#include <weft/base.h>

/* `status`, which it takes, as one of `function`, which callers of the extension called: most of what goes wrong is
 * found where several of them come by, and is marked "weft_einsum" there. NULL stays NULL. */
weft_status *einsum_status_at(const weft_allocator *allocator, const char *function, weft_status *status) WEFT_MUST_USE;

/* What follows a noun of `count`, in messages: "s" or nothing. */
const char *einsum_plural(uint64_t count);

typedef struct einsum_arena {
    const weft_allocator *allocator;
    struct einsum_block *blocks;
} einsum_arena;

/* `allocator` NULL is the default one. */
void einsum_arena_init(einsum_arena *arena, const weft_allocator *allocator);
void einsum_arena_finish(einsum_arena *arena);
/* Zeroed memory for `count` items of `size` bytes, at least one byte; NULL when out of memory. */
void *einsum_arena_allocate(einsum_arena *arena, size_t count, size_t size);

/* Growing text. After a failure `failed` stays set and nothing more is added. */
typedef struct einsum_text {
    einsum_arena *arena;
    char *data; /* NUL-terminated */
    size_t size, capacity;
    bool failed;
} einsum_text;

void einsum_text_init(einsum_text *text, einsum_arena *arena);
void einsum_text_append(einsum_text *text, const char *data, size_t size);
/* At least 0. */
void einsum_text_number(einsum_text *text, int64_t number);
/* At most 127 bytes at a time. */
void einsum_text_print(einsum_text *text, const char *format, ...) WEFT_FORMAT(2, 3);
#endif
