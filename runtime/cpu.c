/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cpu.h"
#include <sys/mman.h>
#include "runtime/memory.h"

enum { SMALL_ALIGNMENT = 64, HUGE_PAGE = 2 << 20 };

static size_t alignment_of(size_t bytes)
{
    return bytes < HUGE_PAGE ? SMALL_ALIGNMENT : HUGE_PAGE;
}

weft_status *weft_cpu_allocate(const weft_allocator *allocator, size_t bytes, void **out_memory)
{
    allocator = weft_allocator_or_default(allocator);
    if (bytes == 0) bytes = 1;
    void *memory = allocator->resize(allocator->self, NULL, 0, bytes, alignment_of(bytes));
    if (memory == NULL) return weft_status_out_of_memory();
#if defined(MADV_HUGEPAGE)
    /* Only advice: without huge pages the memory is as good, a little slower at first touch. */
    if (bytes >= HUGE_PAGE) (void)madvise(memory, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
#endif
    *out_memory = memory;
    return NULL;
}

void weft_cpu_release(const weft_allocator *allocator, void *memory, size_t bytes)
{
    if (memory == NULL) return;
    allocator = weft_allocator_or_default(allocator);
    if (bytes == 0) bytes = 1;
    allocator->resize(allocator->self, memory, bytes, 0, alignment_of(bytes));
}
