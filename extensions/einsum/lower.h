/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_LOWER_H
#define EINSUM_LOWER_H
/* Contraction as products, sums and movement. */
#include "expression.h"

/* Traces an expression that has its order; errors of tracing stick to the graph of the operands. */
weft_status *einsum_lower(einsum_expression *expression, const weft_tensor *operands,
                          weft_tensor *out_tensor) WEFT_MUST_USE;
#endif
