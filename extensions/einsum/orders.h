/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_ORDERS_H
#define EINSUM_ORDERS_H
/*
 * Orders that the planner found, to be tried where nothing changed but extents of labels in the output, as those of a
 * batch do: the last one of each expression, planner, dtype and extents of the other labels. It is taken if a short
 * search finds none that costs 5 % less by the planner's objective.
 */
#include "program.h"

/* Fills the order of `x`, of an AUTO `policy`, from one that is kept, or else finds it in full and keeps it. */
weft_status *einsum_orders_find(einsum_state *state, const einsum_call *call, einsum_expression *x,
                                const einsum_policy *policy) WEFT_MUST_USE;
#endif
