/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_LAYOUT_H
#define EINSUM_LAYOUT_H
/*
 * In which order results have their labels, so that products find the labels of each group (free and summed) next to
 * each other and few operands have to be copied for them.
 */
#include "plan.h"

/* A step as a product: the result has the batch labels, those of `first`, those of `second`. */
typedef struct einsum_form {
    size_t first, second; /* values */
    bool second_leads;    /* the summed labels come in the order that `second` has them, else in that of `first` */
} einsum_form;

/* Reorders the labels of results, values operand_count and up, in place; out_forms has room for all steps. */
weft_status *einsum_layout_run(einsum_arena *arena, const einsum_problem *problem, const einsum_pair *pairs,
                               einsum_labels *values, einsum_form *out_forms) WEFT_MUST_USE;
#endif
