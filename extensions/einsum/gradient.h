/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_GRADIENT_H
#define EINSUM_GRADIENT_H
/*
 * Derivatives of "einsum.einsum". Where a node is lowered, its lowering is differentiated; where it stays, the op
 * "einsum.gradient" does that at run time.
 *
 * einsum.gradient(operands.., cotangent) has the attributes of the contraction and `wrt`, rising numbers of operands:
 * for each of them it has an output, J* g with respect to that operand. It goes backwards through the steps of the
 * contraction, whose order it has: twice as many products as these at most, and the contraction once more.
 */
#include "op.h"

#define EINSUM_GRADIENT_NAME "einsum.gradient"

/* After the attributes of the contraction. */
enum { EINSUM_ATTR_WRT = EINSUM_ATTR_COUNT, EINSUM_GRADIENT_ATTR_COUNT };

extern const weft_op_def einsum_gradient_op;

/* The rules of the contraction, in reverse and forward mode. */
weft_status *einsum_gradient_pull(const weft_gradient_context *context, weft_tensor *out_values);
weft_status *einsum_gradient_push(const weft_gradient_context *context, weft_tensor *out_values);

/* The node at run time. */
weft_status *einsum_gradient_run(const weft_kernel_context *context);
#endif
