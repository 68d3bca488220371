/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_GRADIENT_H
#define EINSUM_GRADIENT_H
/*
 * Derivatives of "einsum.einsum". Where a node is lowered, its lowering is differentiated; where it stays, the op
 * "einsum.derivative" does that at run time.
 *
 * einsum.derivative(operands.., further inputs..) has the attributes of the contraction and `passes`, see passes.h. A
 * derivative of such a node is the same with one pass more. So derivatives of any order share what they compute, and
 * have the order of the contraction.
 */
#include "op.h"
#include "passes.h"

#define EINSUM_DERIVATIVE_NAME "einsum.derivative"

/* After the attributes of the contraction. */
enum { EINSUM_ATTR_PASSES = EINSUM_ATTR_COUNT, EINSUM_DERIVATIVE_ATTR_COUNT };

extern const weft_op_def einsum_derivative_op;

/* The rules of the contraction, in reverse and forward mode. */
weft_status *einsum_gradient_pull(const weft_gradient_context *context, weft_tensor *out_values);
weft_status *einsum_gradient_push(const weft_gradient_context *context, weft_tensor *out_values);

/* The node at run time. */
weft_status *einsum_derivative_run(const weft_kernel_context *context);
#endif
