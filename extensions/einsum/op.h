/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_OP_H
#define EINSUM_OP_H
/* The op "einsum.einsum". */
#include "expression.h"

#define EINSUM_OP_NAME "einsum.einsum"

/* Its attributes, in the order of the schema. */
enum {
    EINSUM_ATTR_EQUATION,
    EINSUM_ATTR_ORDER,
    EINSUM_ATTR_PATH,
    EINSUM_ATTR_SLICED,
    EINSUM_ATTR_PLANNER,
    EINSUM_ATTR_COUNT
};

extern const weft_op_def einsum_op;

/* Parses the attributes of a node over operands of `shapes`, as far as einsum_expression_reduce. */
weft_status *einsum_op_read(einsum_expression *expression, const weft_attr *attrs, size_t operand_count,
                            const weft_shape *shapes, weft_graph *graph, einsum_policy *out_policy) WEFT_MUST_USE;

/* The type of the result over the first `operand_count` inputs of the context, all of which must have one dtype. */
weft_status *einsum_op_infer(const weft_infer_context *context, size_t operand_count,
                             weft_type *out_type) WEFT_MUST_USE;

/* Traces the contraction as other ops; out_result is not valid where the node stays. `expected` NULL: the node as it
 * is, else as weft_op_def.lower_for has it. `in_one_loop` as in expression.h. */
weft_status *einsum_op_lower(weft_graph *graph, const weft_attr *attrs, weft_tensors inputs, const weft_shape *expected,
                             bool in_one_loop, weft_tensor *out_result) WEFT_MUST_USE;

/* The node at run time, planned and compiled for the extents it meets. */
weft_status *einsum_op_run(const weft_kernel_context *context);
#endif
