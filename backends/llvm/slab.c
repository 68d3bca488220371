/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "backends/llvm/slab.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "runtime/memory.h"

enum { GRAIN = 64, PAGE = 4096 };

struct weft_slab_block {
    weft_slab_block *previous, *next;
    size_t offset, size;
    bool used;
};

static weft_status *system_error(const char *what)
{
    return weft_status_create(NULL, WEFT_UNSUPPORTED, "llvm", "no memory for code: %s failed: %s", what,
                              strerror(errno));
}

static weft_status *map_views(int file, size_t size, weft_slab *out_slab)
{
    if (ftruncate(file, (off_t)size) != 0) return system_error("ftruncate");
    void *writable = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (writable == MAP_FAILED) return system_error("mmap");
    void *executable = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (executable == MAP_FAILED) {
        weft_status *status = system_error("mmap of executable memory");
        munmap(writable, size);
        return status;
    }
    *out_slab = (weft_slab){.writable = writable, .executable = executable, .size = size};
    return NULL;
}

weft_status *weft_slab_create(size_t size, weft_slab *out_slab)
{
    weft_slab_block *all = weft_allocate_zeroed(NULL, sizeof *all);
    if (all == NULL) return weft_status_out_of_memory();
    int file = memfd_create("weft-code", MFD_CLOEXEC);
    weft_status *status = file < 0 ? system_error("memfd_create") : map_views(file, size, out_slab);
    if (file >= 0) close(file);
    if (status != NULL) {
        weft_free(NULL, all, sizeof *all);
        return status;
    }
    all->size = size;
    out_slab->blocks = all;
    return NULL;
}

/* Cuts `block` after `size` bytes; false when out of memory. */
static bool split(weft_slab_block *block, size_t size)
{
    if (block->size == size) return true;
    weft_slab_block *rest = weft_allocate(NULL, sizeof *rest);
    if (rest == NULL) return false;
    *rest = (weft_slab_block){block, block->next, block->offset + size, block->size - size, false};
    if (block->next != NULL) block->next->previous = rest;
    block->next = rest;
    block->size = size;
    return true;
}

void *weft_slab_allocate(weft_slab *slab, size_t size, size_t alignment)
{
    if (size > slab->size || alignment > PAGE) return NULL;
    size = (size + GRAIN - 1) / GRAIN * GRAIN;
    if (size == 0) size = GRAIN;
    for (weft_slab_block *block = slab->blocks; block != NULL; block = block->next) {
        size_t skip = alignment <= GRAIN ? 0 : (alignment - block->offset % alignment) % alignment;
        if (block->used || block->size < skip + size) continue;
        if (skip != 0 && !split(block, skip)) return NULL;
        if (skip != 0) block = block->next;
        if (!split(block, size)) return NULL;
        block->used = true;
        return slab->writable + block->offset;
    }
    return NULL;
}

/* Joins a free block with a free one behind it. */
static void join(weft_slab_block *block)
{
    weft_slab_block *next = block->next;
    if (next == NULL || next->used || block->used) return;
    block->size += next->size;
    block->next = next->next;
    if (next->next != NULL) next->next->previous = block;
    weft_free(NULL, next, sizeof *next);
}

/* Pages that lie in the free block and partly in what was just freed go back to the system. */
static void drop_pages(weft_slab *slab, const weft_slab_block *block, size_t offset, size_t size)
{
    size_t first = offset / PAGE * PAGE, last = (offset + size + PAGE - 1) / PAGE * PAGE;
    if (first < block->offset) first += PAGE;
    if (last > block->offset + block->size) last -= PAGE;
    if (first < last) madvise(slab->writable + first, last - first, MADV_REMOVE);
}

void weft_slab_free(weft_slab *slab, void *memory)
{
    weft_slab_block *block = slab->blocks;
    size_t offset = (size_t)((char *)memory - slab->writable);
    while (block != NULL && block->offset != offset) block = block->next;
    if (block == NULL) return;
    size_t size = block->size;
    block->used = false;
    join(block);
    if (block->previous != NULL && !block->previous->used) {
        block = block->previous;
        join(block);
    }
    drop_pages(slab, block, offset, size);
}

void *weft_slab_executable(const weft_slab *slab, const void *writable)
{
    uintptr_t offset = (uintptr_t)writable - (uintptr_t)slab->writable;
    return offset < slab->size ? slab->executable + offset : NULL;
}
