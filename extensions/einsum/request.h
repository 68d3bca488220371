/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_REQUEST_H
#define EINSUM_REQUEST_H
/* A caller's request, checked: an expression over operands of given shapes, and how to contract it. */
#include "expression.h"
#include "slices.h"
#include <weft/einsum.h>

/* A plan keeps the expression it was made for, to be told from others. */
struct weft_einsum_plan {
    einsum_expression expression;
    const char *equation; /* flat, explicit, without white space */
    weft_ints path, ssa, sliced, shape;
    const char *order, *nested;
    const einsum_labels *values; /* operands as the problem has them, then results */
    einsum_slices slices;        /* which labels are sliced, and the steps that a loop over them does */
    double log2_seconds, log10_flops, log2_size, log2_peak, log10_overhead;
};

typedef struct einsum_request {
    const char *equation;
    einsum_policy policy;
    weft_dtype dtype;    /* of elements, for plans without tensors */
    const char *planner; /* the text of policy.planner; "" where it does not matter or is the default */
} einsum_request;

/* `options` (may be NULL) as this version knows them, checked as far as they are without an expression. */
weft_status *einsum_request_check(const einsum_arena *arena, const weft_einsum_options *options,
                                  weft_einsum_options *out_known) WEFT_MUST_USE;
/* The text of the planner that checked options name, "" for the default one and all orders but AUTO. */
weft_status *einsum_request_print_planner(einsum_arena *arena, const weft_einsum_options *known,
                                          const char **out_text) WEFT_MUST_USE;

/*
 * Parses `text`, binds it to `shapes` and reads `options` (may be NULL). Nothing is required of a graph yet. Strings
 * and lists live in the expression, which the caller has initialised.
 */
weft_status *einsum_request_fill(einsum_expression *expression, const char *text, size_t operand_count,
                                 const weft_shape *shapes, const weft_einsum_options *options,
                                 einsum_request *out_request) WEFT_MUST_USE;
#endif
