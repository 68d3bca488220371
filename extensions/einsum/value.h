/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_VALUE_H
#define EINSUM_VALUE_H
/* Tensors whose axes have labels, all distinct, and what contraction does with them. Errors stick to the graph. */
#include "network.h"

typedef struct einsum_value {
    weft_tensor tensor;
    einsum_labels labels; /* one for each axis */
} einsum_value;

typedef struct einsum_axes {
    size_t count;
    int64_t items[WEFT_MAX_RANK];
} einsum_axes;

void einsum_axes_add(einsum_axes *axes, size_t axis);
weft_ints einsum_axes_list(const einsum_axes *axes);

/* The shape of a value with `labels`, in `extents`, which has room for all; label_extents are by label. */
weft_shape einsum_labels_shape(einsum_labels labels, const weft_extent *label_extents, weft_extent *extents);

/* What sums over elements of `dtype` are added up in: f32 for 16-bit floats. */
weft_dtype einsum_value_sum_dtype(weft_dtype dtype);
/* The sum ("any" of bools) over labels that `keep` does not have. */
weft_tensor einsum_value_sum(einsum_value value, einsum_labels keep);
/* The sum of two tensors of one shape; "or" of bools. */
weft_tensor einsum_value_add(weft_tensor a, weft_tensor b);
/* The value with the axes of `to`, which has all its labels; it repeats along the others. */
weft_tensor einsum_value_spread(einsum_value value, einsum_labels to, const weft_extent *label_extents);
/* The product ("and" of bools) over `result`: a dot if a label that both have is not in it, with these labels in the
 * order that b (or a) has them, a sum of products where neither has labels of its own; else elementwise. Dots are made
 * as batch, a's own, b's own labels. */
weft_tensor einsum_value_multiply(einsum_value a, einsum_value b, einsum_labels result, bool b_leads,
                                  const weft_extent *label_extents);
#endif
