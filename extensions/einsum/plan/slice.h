/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_PLAN_SLICE_H
#define EINSUM_PLAN_SLICE_H
/*
 * Slicing: an order and labels that the steps are done for one element of at a time, so that what is live stays under a
 * limit. A step that depends on no sliced label is done once, before; a step after all that do is done once, after, on
 * results that have all their labels. The core need not be connected.
 */
#include "methods.h"

typedef struct einsum_slicing {
    double log2_size; /* of the largest result, leaves left out; INFINITY: any */
    double log2_peak; /* elements of results live at once: see einsum_loop_peak; INFINITY: any */
    uint64_t moves;   /* of annealing, in all; with a deadline a guess: rounds go on until then */
    size_t threads;   /* 0 as 1; the result does not depend on it, except for a deadline */
    einsum_random random;
    einsum_stop stop;
} einsum_slicing;

typedef struct einsum_sliced {
    uint64_t *labels;   /* the set, as the core has them; room for its words */
    double log2_slices; /* how many times the loop is run */
    einsum_cost slice;  /* of one run */
    einsum_cost total;  /* of the whole; `minor` is of one run */
    double log2_size, log2_peak;
    bool fits; /* false: even slicing all that can be sliced does not keep the limit */
} einsum_sliced;

/* `pairs` is where it starts, and becomes the order; it stays the same tree, without slices, if that keeps the limits
 * or nothing does. */
weft_status *einsum_slice_run(const weft_allocator *allocator, const einsum_core *core, const einsum_score *score,
                              const einsum_slicing *options, einsum_pair *pairs,
                              einsum_sliced *out_sliced) WEFT_MUST_USE;
#endif
