/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_PLAN_HEAP_H
#define EINSUM_PLAN_HEAP_H
/* Candidates, the one with the least score first, ties by their values. */
#include "../memory.h"

typedef struct einsum_candidate {
    double score;
    uint32_t a, b;
} einsum_candidate;

/* Zero-initialise except for the arena. */
typedef struct einsum_heap {
    einsum_arena *arena;
    einsum_candidate *items;
    size_t size, capacity;
} einsum_heap;

/* False when out of memory. */
bool einsum_heap_push(einsum_heap *heap, einsum_candidate added);
/* The heap must not be empty. */
einsum_candidate einsum_heap_pop(einsum_heap *heap);
#endif
