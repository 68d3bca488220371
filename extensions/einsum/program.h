/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_PROGRAM_H
#define EINSUM_PROGRAM_H
/*
 * Compiled contractions of known extents, kept by what was asked for: expression, order, planner, extents and dtype.
 * So are orders that the planner found.
 */
#include "expression.h"
#include "state.h"

/* What is contracted. The same key means the same contraction, the other way need not hold. */
typedef struct einsum_call {
    const char *text, *order,
        *planner; /* `text` may be as a caller wrote it, the others mean something to `read` only */
    weft_ints path, sliced;
    weft_dtype dtype;
    size_t operand_count;
    const weft_ints *shapes;
    /* Where no program is kept: fills an expression over operands of `shapes`, up to einsum_expression_reduce. */
    weft_status *(*read)(const struct einsum_call *call, einsum_expression *expression, const weft_shape *shapes,
                         einsum_policy *out_policy);
    const void *source; /* for `read` */
} einsum_call;

typedef struct einsum_program {
    einsum_shared shared;
    const weft_allocator *allocator;
    weft_program *program;
    size_t input_count;
    size_t inputs[]; /* by input of `program`: the operand it is */
} einsum_program;

/* The program, with a reference for the caller, which einsum_shared_release ends. */
weft_status *einsum_program_find(einsum_state *state, const einsum_call *call,
                                 einsum_program **out_program) WEFT_MUST_USE;
#endif
