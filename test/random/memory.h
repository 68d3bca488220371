/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_MEMORY_H
#define WEFT_TEST_MEMORY_H
/* Memory that runs out: one request fails, whichever it is, and what asked for it loses nothing. */
#include <stdatomic.h>
#include <weft/base.h>

/* Give `&memory.allocator` to what is tested. Any thread may use it. */
typedef struct weft_test_memory {
    weft_allocator allocator;
    const weft_allocator *source; /* of what does not fail */
    atomic_size_t left;           /* requests until one fails; SIZE_MAX: none does */
    atomic_size_t requests, blocks;
} weft_test_memory;

void weft_test_memory_init(weft_test_memory *memory, const weft_allocator *source);

/*
 * Reads, prints and compiles `text` a few times, each time with another request that fails, drawn from `state`. False,
 * with a sentence in `out_problem`, unless that is out of memory, or the same program, and all is freed.
 */
bool weft_test_compile_short(uint64_t *state, const char *text, char *out_problem, size_t size);
#endif
