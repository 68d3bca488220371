/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_EXPRESSION_H
#define EINSUM_EXPRESSION_H
/* An expression with everything that is known about it, built up in steps; what tracing, lowering, running and planning
 * share. */
#include "plan.h"
#include <weft/extension.h>

/* How to contract, as the node's attributes keep it. */
typedef struct einsum_policy {
    enum { EINSUM_POLICY_AUTO, EINSUM_POLICY_LEFT, EINSUM_POLICY_PATH } kind;
    weft_ints path;         /* PATH only */
    weft_ints sliced;       /* names of labels; not AUTO */
    einsum_planner planner; /* AUTO only */
} einsum_policy;

/* "auto", "left", "path". */
const char *einsum_policy_name(const einsum_policy *policy);
/* `planner` is a text that planner.h reads; lists stay the caller's. */
weft_status *einsum_policy_parse(const einsum_arena *arena, const char *name, weft_ints path, weft_ints sliced,
                                 const char *planner, einsum_policy *out_policy) WEFT_MUST_USE;
/* Whether the order depends on the extents of `operand_count` operands. */
bool einsum_policy_needs_extents(const einsum_policy *policy, size_t operand_count);

/* Whether there is a memory limit, which only a run can keep. */
bool einsum_policy_has_limit(const einsum_policy *policy);

typedef struct einsum_expression {
    einsum_arena arena;
    einsum_syntax syntax;
    einsum_network network;
    const weft_shape *shapes; /* of the operands; the caller's */
    weft_extent *extents;     /* by label */
    einsum_problem problem;   /* extents of one, repeats and private labels taken out */
    einsum_pair *pairs;
    einsum_labels sliced; /* labels that steps are done for one by one: see slices.h */
    double most_elements; /* of intermediates that may live at once; 0: any number */
    bool in_one_loop;     /* what is sliced: that going back through several would be one after the other */
} einsum_expression;

/* `allocator` may be NULL. Finish works however far the steps below, to be taken in this order, got. */
void einsum_expression_init(einsum_expression *expression, const weft_allocator *allocator);
void einsum_expression_finish(einsum_expression *expression);

weft_status *einsum_expression_parse(einsum_expression *expression, const char *text, bool nested) WEFT_MUST_USE;
/* Fills `network` and `extents` for operands of `shapes`; `graph` as for einsum_network_extents. */
weft_status *einsum_expression_bind(einsum_expression *expression, size_t operand_count, const weft_shape *shapes,
                                    weft_graph *graph) WEFT_MUST_USE;
/* Whether an extent is zero, so that nothing is multiplied: the result is zeros, or has no elements. */
bool einsum_expression_is_empty(const einsum_expression *expression);
/* Fills `problem`. Symbolic extents count as one element in its sizes; where one is zero, all do. */
weft_status *einsum_expression_reduce(einsum_expression *expression) WEFT_MUST_USE;
/* Fills `pairs` and `sliced` for elements of `dtype`; extents must be static where the policy needs them. AUTO of what
 * is empty is a left fold. */
weft_status *einsum_expression_order(einsum_expression *expression, const einsum_policy *policy,
                                     weft_dtype dtype) WEFT_MUST_USE;

/* Whether all extents are numbers. */
bool einsum_expression_is_static(const einsum_expression *expression);
#endif
