/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "backends/llvm/slab.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "runtime/base/memory.h"

/*
 * Chunks are mapped as they are needed and go back when nothing is left in them. Blocks of one chunk lie next to each
 * other, so that sealed ones share a mapping.
 */

enum { PAGE = 4096, CHUNK = 4 << 20 };

typedef struct weft_slab_block weft_slab_block;

struct weft_slab_block {
    weft_slab_block *previous, *next; /* by address, neighbours never both free */
    char *memory;
    size_t size;
    bool used;
};

struct weft_slab_chunk {
    weft_slab_chunk *next;
    char *memory;
    size_t size;
    weft_slab_block *blocks;
};

/* ---- blocks ---- */

/* Cuts `block` after `size` bytes; false when out of memory. */
static bool split(weft_slab_block *block, size_t size)
{
    if (block->size == size) return true;
    weft_slab_block *rest = weft_allocate(NULL, sizeof *rest);
    if (rest == NULL) return false;
    *rest = (weft_slab_block){block, block->next, block->memory + size, block->size - size, false};
    if (block->next != NULL) block->next->previous = rest;
    block->next = rest;
    block->size = size;
    return true;
}

/* Joins a free block with a free one after it. */
static void join(weft_slab_block *block)
{
    weft_slab_block *next = block->next;
    if (next == NULL || next->used || block->used) return;
    block->size += next->size;
    block->next = next->next;
    if (next->next != NULL) next->next->previous = block;
    weft_free(NULL, next, sizeof *next);
}

/* Fresh writable pages in place of those of the block; without them it stays in use for good. */
static void release(weft_slab_block *block)
{
    void *fresh =
        mmap(block->memory, block->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (fresh == MAP_FAILED) return;
    block->used = false;
    join(block);
    if (block->previous != NULL) join(block->previous);
}

/* ---- chunks ---- */

static weft_status *map_chunk(weft_slab_chunk *chunk, size_t size)
{
    chunk->size = size < CHUNK ? CHUNK : size;
    chunk->memory = mmap(NULL, chunk->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (chunk->memory == MAP_FAILED && size < CHUNK) {
        chunk->size = size;
        chunk->memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (chunk->memory != MAP_FAILED) return NULL;
    return weft_status_create(NULL, WEFT_OUT_OF_MEMORY, "llvm", "there is no memory for %zu bytes of code: %s", size,
                              strerror(errno));
}

static weft_status *chunk_create(weft_slab *slab, size_t size)
{
    weft_slab_chunk *chunk = weft_allocate_zeroed(NULL, sizeof *chunk);
    weft_slab_block *all = weft_allocate_zeroed(NULL, sizeof *all);
    weft_status *status = chunk == NULL || all == NULL ? weft_status_out_of_memory() : map_chunk(chunk, size);
    if (status != NULL) {
        weft_free(NULL, chunk, sizeof *chunk);
        weft_free(NULL, all, sizeof *all);
        return status;
    }
    all->memory = chunk->memory;
    all->size = chunk->size;
    chunk->blocks = all;
    chunk->next = slab->chunks;
    slab->chunks = chunk;
    return NULL;
}

static weft_slab_chunk **find_chunk(weft_slab *slab, const void *memory)
{
    weft_slab_chunk **link = &slab->chunks;
    while ((uintptr_t)memory - (uintptr_t)(*link)->memory >= (*link)->size) link = &(*link)->next;
    return link;
}

static weft_slab_block *find_block(const weft_slab_chunk *chunk, const void *memory)
{
    weft_slab_block *block = chunk->blocks;
    while (block->memory != memory) block = block->next;
    return block;
}

/* Unless it is the only one, which is kept for the next code. */
static void drop_if_empty(weft_slab *slab, weft_slab_chunk **link)
{
    weft_slab_chunk *chunk = *link;
    bool empty = !chunk->blocks->used && chunk->blocks->next == NULL;
    if (!empty || (slab->chunks == chunk && chunk->next == NULL)) return;
    *link = chunk->next;
    munmap(chunk->memory, chunk->size);
    weft_free(NULL, chunk->blocks, sizeof *chunk->blocks);
    weft_free(NULL, chunk, sizeof *chunk);
}

/* ---- the slab ---- */

static size_t whole_pages(size_t size)
{
    return size == 0 ? PAGE : (size + PAGE - 1) / PAGE * PAGE;
}

/* The first free block of `size` bytes or more; NULL when there is none. */
static weft_slab_block *find_free(const weft_slab *slab, size_t size)
{
    for (const weft_slab_chunk *chunk = slab->chunks; chunk != NULL; chunk = chunk->next)
        for (weft_slab_block *block = chunk->blocks; block != NULL; block = block->next)
            if (!block->used && block->size >= size) return block;
    return NULL;
}

weft_status *weft_slab_allocate(weft_slab *slab, size_t size, void **out_memory)
{
    if (size > SIZE_MAX / 2) return weft_status_out_of_memory();
    size = whole_pages(size);
    weft_slab_block *block = find_free(slab, size);
    if (block == NULL) {
        WEFT_TRY(chunk_create(slab, size));
        block = slab->chunks->blocks;
    }
    if (!split(block, size)) return weft_status_out_of_memory();
    block->used = true;
    *out_memory = block->memory;
    return NULL;
}

/* Where pages that were writable may not become executable: a file in memory has the code, and is mapped over it. */
static weft_status *map_copy(void *memory, size_t size, int refused)
{
    int file = memfd_create("weft-code", MFD_CLOEXEC);
    bool mapped = file >= 0 && write(file, memory, size) == (ssize_t)size &&
                  mmap(memory, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file, 0) != MAP_FAILED;
    int error = errno;
    if (file >= 0) close(file);
    if (mapped) return NULL;
    return weft_status_create(NULL, WEFT_UNSUPPORTED, "llvm",
                              "the system allows no executable memory: mprotect: %s; a file in memory: %s",
                              strerror(refused), strerror(error));
}

weft_status *weft_slab_seal(weft_slab *slab, void *memory, size_t used)
{
    weft_slab_block *block = find_block(*find_chunk(slab, memory), memory);
    if (split(block, whole_pages(used)) && block->next != NULL) join(block->next);
    if (mprotect(memory, block->size, PROT_READ | PROT_EXEC) == 0) return NULL;
    return map_copy(memory, block->size, errno);
}

void weft_slab_free(weft_slab *slab, void *memory)
{
    if (memory == NULL) return;
    weft_slab_chunk **link = find_chunk(slab, memory);
    release(find_block(*link, memory));
    drop_if_empty(slab, link);
}
