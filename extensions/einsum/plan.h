/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_PLAN_H
#define EINSUM_PLAN_H
/*
 * Planning: a network of labels and the logarithms of their extents in, an order of pairwise contractions out. Knows
 * nothing of tensors, text or broadcasting. Sizes and costs are logarithms to base 2, so that nothing overflows.
 */
#include "network.h"
#include "order.h"
#include "planner.h"

/*
 * Operands and output have distinct labels, each label of an operand is in another operand or in the output.
 */
typedef struct einsum_problem {
    size_t operand_count;
    const einsum_labels *operands;
    einsum_labels output;
    size_t label_count;
    const double *log2_extents; /* at least 0 */
    const bool *summed;         /* by operand: it had labels of its own, and is an intermediate; NULL: none had */
    bool copied;                /* steps copy operands, which are intermediates under a limit then */
} einsum_problem;

/*
 * Finds a good order for elements of `dtype`: the best there is for few operands or where that is easy to find, the
 * best of a search for others. Deterministic unless the planner has a budget of time. Where that would keep more bytes
 * of intermediates at once than the planner's limit, `out_sliced` are labels to be done one element at a time (see
 * slices.h) so that it does not; OVER_LIMIT where nothing is found that does not.
 */
weft_status *einsum_plan_find(einsum_arena *arena, const einsum_problem *problem, const einsum_planner *planner,
                              weft_dtype dtype, einsum_pair *out_pairs, einsum_labels *out_sliced) WEFT_MUST_USE;

/* ---- going through an order ---- */

/* The values made so far, operands first, and how often each label is still needed. */
typedef struct einsum_walk {
    const einsum_problem *problem;
    einsum_arena *arena;
    size_t value_count;
    einsum_labels *values;
    double *sizes;    /* by value: log2 of its elements */
    uint32_t *uses;   /* by label: live values that have it, and 1 if the output does */
    uint8_t *marks;   /* by label: zero between calls */
    einsum_step step; /* the last one */
} einsum_walk;

weft_status *einsum_walk_init(einsum_walk *walk, einsum_arena *arena, const einsum_problem *problem) WEFT_MUST_USE;
/*
 * Contracts two live values, which then are not live any more; the result becomes value value_count - 1. Its labels are
 * those of both that are still needed, then the others of a, then those of b, each in their order. False when out of
 * memory.
 */
bool einsum_walk_join(einsum_walk *walk, einsum_pair pair);
#endif
