/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_PLAN_SIMPLIFY_H
#define EINSUM_PLAN_SIMPLIFY_H
/*
 * A problem as connected cores, and their orders as one of the problem:
 * - labels that always travel together become one, those that all operands and the output have are left out;
 * - operands are absorbed in one another, which makes steps of their own;
 * - what shares no label is a core by itself; cores are joined at the end, the smallest first.
 */
#include "../plan.h"
#include "core.h"

typedef enum einsum_depth {
    EINSUM_DEPTH_WHOLE, /* as SAFE, but one core, which need not be connected: for few operands */
    EINSUM_DEPTH_SAFE,  /* absorbs operands with the same labels: some order with the fewest multiplications does so */
    /* Also absorbs neighbours whose result is no larger than the larger of them, at up to 4 multiplications for each of
     * its elements: an order of a large network hardly loses by it. */
    EINSUM_DEPTH_FULL
} einsum_depth;

typedef struct einsum_simple {
    size_t core_count;
    einsum_core *cores;
    size_t **values;   /* by core, by leaf: the value of the problem it is */
    size_t step_count; /* absorptions, which come first */
    einsum_pair *steps;
    /* Elements over the labels left out: to be added to the sizes and costs of cores. For TIME: to log2_slowness and
     * log2_bytes. */
    double log2_common;
    const uint32_t *labels; /* by label of the core: that of the problem; of einsum_simplify_plain only */
} einsum_simple;

weft_status *einsum_simplify_run(einsum_arena *arena, const einsum_problem *problem, einsum_depth depth,
                                 einsum_simple *out_simple) WEFT_MUST_USE;

/*
 * One core with labels as they are, none left out, for an order of the whole. Of its first `absorbed` steps those are
 * absorptions whose results, and the intermediates they are made of, have 2^log2_most elements or fewer; in `pairs`
 * they come first then. `made` of the core says which leaves are intermediates.
 */
weft_status *einsum_simplify_plain(einsum_arena *arena, const einsum_problem *problem, size_t absorbed,
                                   double log2_most, einsum_pair *pairs, einsum_simple *out_simple) WEFT_MUST_USE;
/* The order of the only core of `simple` that `pairs`, an order of the whole which begins with its absorptions, has. */
void einsum_simplify_part(const einsum_problem *problem, const einsum_simple *simple, const einsum_pair *pairs,
                          einsum_pair *out_core_pairs);

/* The order of the whole: absorptions, those of each core (core_pairs[i] has leaf_count - 1), joins of the results. */
weft_status *einsum_simplify_join(einsum_arena *arena, const einsum_problem *problem, const einsum_simple *simple,
                                  const einsum_pair *const *core_pairs, einsum_pair *out_pairs) WEFT_MUST_USE;
#endif
