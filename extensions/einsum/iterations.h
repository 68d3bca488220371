/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_ITERATIONS_H
#define EINSUM_ITERATIONS_H
/* The loop over slices, traced. */
#include "layout.h"
#include "slices.h"
#include "value.h"

/* `operands` are as they were given, forms are by step; `values` has what is computed outside of the loop. */
weft_status *einsum_iterations_trace(const einsum_slices *slices, const weft_tensor *operands, const einsum_form *forms,
                                     const einsum_value *values, weft_tensor *out_tensor) WEFT_MUST_USE;
#endif
