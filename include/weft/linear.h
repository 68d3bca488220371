/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LINEAR_H
#define WEFT_LINEAR_H
/* Products of matrices and tensors, composed of weft_dot and the elementwise ops of ops.h, whose rules hold here too.
 */
#include <weft/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* numpy's matmul: the last two axes are matrices, those before broadcast; an operand of rank 1 counts as a row (a) or a
 * column (b) and its axis is dropped from the result. Rank 0 is WEFT_SHAPE_MISMATCH. */
weft_tensor weft_matmul(weft_tensor a, weft_tensor b);
/* The sum over axes_a[i] of a and axes_b[i] of b, which pair up; result: the other axes of a, then those of b. */
weft_tensor weft_tensordot(weft_tensor a, weft_tensor b, weft_ints axes_a, weft_ints axes_b);
/* a[i...] * b[j...]: the axes of a, then those of b. Of the dtypes of weft_mul, so not of bools. */
weft_tensor weft_outer(weft_tensor a, weft_tensor b);
/* numpy's kron: axis i has the product of both extents, the one of lower rank counts as having leading axes of one. Up
 * to rank 32: it takes an axis of each operand for one of the result. */
weft_tensor weft_kron(weft_tensor a, weft_tensor b);
/* The sum over diagonal k (weft_diagonal) of the matrices over axes a and b, which are dropped from the result. */
weft_tensor weft_trace_matrix(weft_tensor x, int64_t diagonal, int64_t axis_a, int64_t axis_b);

/* The same calls with the caller's source location attached to errors. */
#ifndef WEFT_NO_LOCATIONS
#define weft_matmul(...) WEFT_LOCATED_(matmul, __VA_ARGS__)
#define weft_tensordot(...) WEFT_LOCATED_(tensordot, __VA_ARGS__)
#define weft_outer(...) WEFT_LOCATED_(outer, __VA_ARGS__)
#define weft_kron(...) WEFT_LOCATED_(kron, __VA_ARGS__)
#define weft_trace_matrix(...) WEFT_LOCATED_(trace_matrix, __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
