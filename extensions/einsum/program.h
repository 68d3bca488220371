/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_PROGRAM_H
#define EINSUM_PROGRAM_H
/*
 * Compiled contractions of known extents, kept by what was asked for: expression, order, planner, extents and dtype.
 * So are orders that the planner found.
 */
#include "expression.h"
#include "state.h"

/* What is contracted, or differentiated. The same key means the same contraction, the other way need not hold. */
typedef struct einsum_call {
    const char *text, *order,
        *planner; /* `text` may be as a caller wrote it, the others mean something to `read` only */
    weft_ints path, sliced;
    weft_ints passes; /* of a derivative, see passes.h; none: the contraction itself */
    weft_dtype dtype;
    size_t operand_count, input_count; /* inputs: the operands, then those of the passes */
    const weft_ints *shapes;           /* of all inputs */
    uint64_t limit;                    /* of the planner; 0: none */
    uint64_t room;                     /* that the planner is told in place of it; einsum_program_run sets both */
    bool copies;                       /* whether it counts copies of operands */
    const volatile bool *cancelled;    /* NULL: never */
    /* Where no program is kept: fills an expression over operands of `shapes`, up to einsum_expression_reduce. */
    weft_status *(*read)(const struct einsum_call *call, einsum_expression *expression, const weft_shape *shapes,
                         einsum_policy *out_policy);
    const void *source; /* for `read` */
    weft_product_policy products;
} einsum_call;

/*
 * Contracts `operands`, of the shapes of `call`, on `executor`. `run` says where the output goes, on which runtime, who
 * cancels, and, where there is a limit at least, where the report goes; `inputs` has room for a pointer to each
 * operand. OVER_LIMIT where no program was found that keeps the limit; nothing is written then.
 *
 * Of a derivative all of its inputs are given as operands, and the limit is that of the contraction, doubled by every
 * pass.
 */
weft_status *einsum_program_run(einsum_state *state, einsum_call *call, weft_executor *executor,
                                weft_array *const *operands, weft_array **inputs, weft_run *run) WEFT_MUST_USE;
#endif
