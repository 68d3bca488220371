/* SPDX-License-Identifier: Apache-2.0 */
/* A host without an operating system: no memory but the caller's, no environment, no clock. */
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <weft/machine.h>
#include "runtime/base/isa.h"
#include "runtime/data/host_memory.h"

/* ---- memory ---- */

void *realloc(void *block, size_t size)
{
    return NULL;
}

int posix_memalign(void **out_block, size_t alignment, size_t size)
{
    *out_block = NULL;
    return 12; /* ENOMEM */
}

void free(void *block) {}

weft_status *weft_host_allocate(const weft_allocator *allocator, size_t bytes, void **out_memory)
{
    return weft_status_out_of_memory();
}

void weft_host_release(const weft_allocator *allocator, void *memory, size_t bytes) {}

/* ---- the processor ---- */

/* Asked once, for an answer takes long in a virtual machine; threads that ask at the same time find the same. */
weft_isa weft_isa_level(void)
{
    static atomic_int known; /* plus one */
    int level = atomic_load_explicit(&known, memory_order_relaxed);
    if (level > 0) return (weft_isa)(level - 1);
    weft_isa found = weft_isa_of_processor();
    atomic_store_explicit(&known, (int)found + 1, memory_order_relaxed);
    return found;
}

const weft_machine *weft_machine_host(void)
{
    return weft_machine_reference();
}

/* ---- time ---- */

int clock_gettime(clockid_t clock, struct timespec *out_time)
{
    *out_time = (struct timespec){0};
    return 0;
}
