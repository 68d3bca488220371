/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_OPERAND_H
#define EINSUM_OPERAND_H
/* Operands in the form that steps take. */
#include "expression.h"
#include "value.h"

/*
 * Operand i, or a slice of it, with the labels of the problem that it has: without axes of extent one and those of
 * `sliced` labels, whose extent is one in `tensor`; on the diagonal of repeated labels; summed over labels that nothing
 * else has.
 */
weft_status *einsum_operand_prepare(einsum_expression *x, size_t i, weft_tensor tensor, einsum_labels sliced,
                                    einsum_value *out_value) WEFT_MUST_USE;
#endif
