/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products and their relatives, all of them one dot or one multiplication. */
#include <weft/linear.h>
#include <inttypes.h>
#include <weft/shape.h>
#include "lib/composite/composite.h"

/* ---- matmul ---- */

/* The leading axes of both operands except for the last two, broadcast together; false with an error when they never
 * fit.
 */
static bool meet_batches(weft_tensor a, weft_tensor b, size_t batch_rank, weft_extent *out_extents)
{
    for (size_t i = 0; i < batch_rank; i++) {
        int64_t axis = (int64_t)i - (int64_t)batch_rank - 2;
        weft_extent x = weft_tensor_extent(a, axis), y = weft_tensor_extent(b, axis);
        bool stretches = !weft_extent_is_valid(x) || weft_extent_is_value(x, 1);
        out_extents[i] = stretches ? y : x;
        bool other_stretches = !weft_extent_is_valid(y) || weft_extent_is_value(y, 1);
        if (stretches && other_stretches) out_extents[i] = weft_extent_of(1);
        if (stretches || other_stretches) continue;
        if (!weft_composite_wants_extent("matmul", (weft_named){"b", b}, axis, (weft_named){"a", a}, axis))
            return false;
    }
    return true;
}

/* `x` with the batch axes in front of its last two; axes that do not stretch keep their extents. */
static weft_tensor stretch_batches(weft_tensor x, size_t batch_rank, const weft_extent *batch)
{
    weft_extent extents[WEFT_MAX_RANK];
    weft_shape shape = weft_tensor_shape(x);
    size_t rank = batch_rank + 2, missing = rank - shape.rank;
    bool same = missing == 0;
    for (size_t i = 0; i < rank; i++) {
        int64_t value = 1;
        bool stretches = i < batch_rank &&
                         (i < missing || (weft_extent_is_static(shape.extents[i - missing], &value) && value == 1));
        extents[i] = stretches ? batch[i] : shape.extents[i - missing];
        same = same && weft_extent_equal(extents[i], shape.extents[i]);
    }
    return same ? x : weft_broadcast(x, (weft_shape){rank, extents});
}

static weft_tensor batched_matmul(weft_tensor a, weft_tensor b)
{
    weft_extent batch[WEFT_MAX_RANK];
    int64_t axes[WEFT_MAX_RANK];
    size_t rank = weft_tensor_rank(a) > weft_tensor_rank(b) ? weft_tensor_rank(a) : weft_tensor_rank(b);
    if (!meet_batches(a, b, rank - 2, batch)) return weft_tensor_failed(a.graph);
    for (size_t i = 0; i < rank - 2; i++) axes[i] = (int64_t)i;
    weft_ints paired = {rank - 2, axes};
    return weft_dot(stretch_batches(a, rank - 2, batch), stretch_batches(b, rank - 2, batch),
                    (weft_dot_axes){paired, paired, WEFT_INTS(-1), WEFT_INTS(-2)});
}

weft_tensor weft_matmul(weft_tensor left, weft_tensor right)
{
    weft_tensor operands[] = {left, right};
    weft_graph *graph = weft_trace_graph((weft_tensors){2, operands});
    if (graph == NULL || !weft_trace_enter(graph, "matmul", 2, operands)) return weft_tensor_failed(graph);
    weft_tensor a = operands[0], b = operands[1];
    weft_dot_axes plain = {{0, NULL}, {0, NULL}, WEFT_INTS(-1), WEFT_INTS(weft_tensor_rank(b) < 2 ? -1 : -2)};
    size_t a_rank = weft_tensor_rank(a), b_rank = weft_tensor_rank(b);
    if (a_rank == 0 || b_rank == 0) {
        return weft_trace_fail(a.graph, WEFT_SHAPE_MISMATCH, "matmul", "%s has rank 0 but needs at least 1",
                               a_rank == 0 ? "a" : "b");
    }
    weft_named left_name = {"a", a}, right_name = {"b", b};
    if (!weft_composite_wants_dtype("matmul", right_name, left_name) ||
        !weft_composite_wants_extent("matmul", left_name, -1, right_name, b_rank < 2 ? -1 : -2)) {
        return weft_tensor_failed(graph);
    }
    return a_rank == 1 || b_rank <= 2 ? weft_dot(a, b, plain) : batched_matmul(a, b);
}

/* ---- other products ---- */

weft_tensor weft_tensordot(weft_tensor a, weft_tensor b, weft_ints axes_a, weft_ints axes_b)
{
    return weft_dot(a, b, (weft_dot_axes){{0, NULL}, {0, NULL}, axes_a, axes_b});
}

weft_tensor weft_outer(weft_tensor a, weft_tensor b)
{
    if (!weft_composite_begin("outer", 2, 2, (weft_tensor[]){a, b})) return weft_trace_failed(WEFT_TENSORS(a, b));
    size_t rank = weft_tensor_rank(a) + weft_tensor_rank(b);
    if (rank > WEFT_MAX_RANK) {
        return weft_trace_fail(a.graph, WEFT_INVALID_ARGUMENT, "outer", "the result would have rank %zu, over %d", rank,
                               WEFT_MAX_RANK);
    }
    return weft_mul(weft_composite_align(a, 0, rank), b);
}

/* [m, 1, n, 1, ...] or, for `second`, [1, p, 1, q, ...], of twice as many axes as `rank`. */
static weft_tensor interleave(weft_tensor x, size_t rank, size_t second)
{
    weft_extent extents[WEFT_MAX_RANK];
    weft_shape shape = weft_tensor_shape(x);
    for (size_t i = 0; i < 2 * rank; i++) extents[i] = weft_extent_of(1);
    for (size_t i = 0; i < shape.rank; i++) extents[2 * (rank - shape.rank + i) + second] = shape.extents[i];
    return weft_reshape(x, (weft_shape){2 * rank, extents});
}

weft_tensor weft_kron(weft_tensor a, weft_tensor b)
{
    if (!weft_composite_begin("kron", 2, 2, (weft_tensor[]){a, b})) return weft_trace_failed(WEFT_TENSORS(a, b));
    size_t a_rank = weft_tensor_rank(a), b_rank = weft_tensor_rank(b), rank = a_rank > b_rank ? a_rank : b_rank;
    if (2 * rank > WEFT_MAX_RANK) {
        return weft_trace_fail(a.graph, WEFT_UNSUPPORTED, "kron", "rank %zu is over %d", rank, WEFT_MAX_RANK / 2);
    }
    weft_tensor product = weft_mul(interleave(a, rank, 0), interleave(b, rank, 1));
    for (size_t i = 0; i < rank; i++) product = weft_composite_ravel(product, i, i + 2);
    return product;
}

weft_tensor weft_trace_matrix(weft_tensor x, int64_t diagonal, int64_t axis_a, int64_t axis_b)
{
    weft_tensor elements = weft_diagonal(x, diagonal, axis_a, axis_b);
    return weft_reduce_sum(elements, WEFT_INTS(-1), false);
}
