/* SPDX-License-Identifier: Apache-2.0 */
/* Tracing functions that are compositions of others: defined once, so that every backend computes the same. */
#include "lib/trace.h"
#include <inttypes.h>
#include "lib/scalar.h"

/* ---- filled tensors ---- */

weft_tensor weft_scalar(weft_graph *graph, weft_dtype dtype, double value)
{
    unsigned char element[16] = {0};
    weft_scalar_store(dtype, value, element);
    return weft_constant(graph, dtype, (weft_ints){0, NULL}, element);
}

weft_tensor weft_full(weft_graph *graph, weft_dtype dtype, double value, weft_shape shape)
{
    return weft_broadcast(weft_scalar(graph, dtype, value), shape);
}

/* ---- axes ---- */

weft_tensor weft_transpose(weft_tensor x, int64_t axis_a, int64_t axis_b)
{
    int64_t axes[WEFT_MAX_RANK], a, b;
    size_t rank = weft_tensor_rank(x);
    if (!weft_tensor_is_valid(x) || !weft_axis_normalize(x.graph, "transpose", axis_a, rank, &a) ||
        !weft_axis_normalize(x.graph, "transpose", axis_b, rank, &b)) {
        return weft_tensor_failed(x.graph);
    }
    for (size_t i = 0; i < rank; i++) axes[i] = (int64_t)i;
    axes[a] = b;
    axes[b] = a;
    return weft_permute(x, (weft_ints){rank, axes});
}

weft_tensor weft_unsqueeze(weft_tensor x, int64_t axis)
{
    weft_extent extents[WEFT_MAX_RANK + 1];
    weft_shape shape = weft_tensor_shape(x);
    int64_t at;
    if (!weft_tensor_is_valid(x) || !weft_axis_normalize(x.graph, "unsqueeze", axis, shape.rank + 1, &at)) {
        return weft_tensor_failed(x.graph);
    }
    for (size_t i = 0, n = 0; i <= shape.rank; i++) {
        extents[i] = i == (size_t)at ? weft_extent_of(1) : shape.extents[n++];
    }
    return weft_reshape(x, (weft_shape){shape.rank + 1, extents});
}

weft_tensor weft_squeeze(weft_tensor x, int64_t axis)
{
    weft_extent extents[WEFT_MAX_RANK];
    weft_shape shape = weft_tensor_shape(x);
    int64_t at;
    if (!weft_tensor_is_valid(x) || !weft_axis_normalize(x.graph, "squeeze", axis, shape.rank, &at)) {
        return weft_tensor_failed(x.graph);
    }
    if (weft_extent_never_equal(x.graph, shape.extents[at], weft_extent_of(1))) {
        return weft_trace_fail(x.graph, WEFT_SHAPE_MISMATCH, "squeeze", "axis %" PRId64 " has extent %s, not 1", at,
                               weft_extent_describe(shape.extents[at]).text);
    }
    for (size_t i = 0, n = 0; i < shape.rank; i++) {
        if (i != (size_t)at) extents[n++] = shape.extents[i];
    }
    return weft_reshape(x, (weft_shape){shape.rank - 1, extents});
}

/* ---- products ---- */

/* The leading axes of both operands but for the last two, broadcast together; false with an error when they never fit.
 */
static bool meet_batches(weft_tensor a, weft_tensor b, size_t batch_rank, weft_extent *out_extents)
{
    for (size_t i = 0; i < batch_rank; i++) {
        int64_t axis = (int64_t)i - (int64_t)batch_rank - 2, value;
        weft_extent x = weft_tensor_extent(a, axis), y = weft_tensor_extent(b, axis);
        bool stretches = !weft_extent_is_valid(x) || (weft_extent_is_static(x, &value) && value == 1);
        out_extents[i] = stretches ? y : x;
        bool other_stretches = !weft_extent_is_valid(y) || (weft_extent_is_static(y, &value) && value == 1);
        if (stretches && other_stretches) out_extents[i] = weft_extent_of(1);
        if (stretches || other_stretches || !weft_extent_never_equal(a.graph, x, y)) continue;
        weft_trace_fail(a.graph, WEFT_SHAPE_MISMATCH, "matmul",
                        "axis %" PRId64 " of operand 0 has extent %s but axis %" PRId64 " of operand 1 has %s", axis,
                        weft_extent_describe(x).text, axis, weft_extent_describe(y).text);
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

weft_tensor weft_matmul(weft_tensor a, weft_tensor b)
{
    weft_dot_axes plain = {{0, NULL}, {0, NULL}, WEFT_INTS(-1), WEFT_INTS(weft_tensor_rank(b) < 2 ? -1 : -2)};
    if (!weft_tensor_is_valid(a) || !weft_tensor_is_valid(b) || a.graph != b.graph) return weft_dot(a, b, plain);
    size_t a_rank = weft_tensor_rank(a), b_rank = weft_tensor_rank(b);
    if (a_rank == 0 || b_rank == 0) {
        return weft_trace_fail(a.graph, WEFT_SHAPE_MISMATCH, "matmul", "operand %d has rank 0 but needs at least 1",
                               a_rank == 0 ? 0 : 1);
    }
    return a_rank == 1 || b_rank <= 2 ? weft_dot(a, b, plain) : batched_matmul(a, b);
}

/* ---- normalisations ---- */

weft_tensor weft_relu(weft_tensor x)
{
    if (!weft_tensor_is_valid(x)) return weft_tensor_failed(x.graph);
    return weft_max(x, weft_scalar(x.graph, weft_tensor_dtype(x), 0));
}

weft_tensor weft_softmax(weft_tensor x, int64_t axis)
{
    int64_t at;
    if (!weft_tensor_is_valid(x) || !weft_axis_normalize(x.graph, "softmax", axis, weft_tensor_rank(x), &at)) {
        return weft_tensor_failed(x.graph);
    }
    weft_tensor powers = weft_exp(weft_sub(x, weft_reduce_max(x, WEFT_INTS(at), true)));
    return weft_div(powers, weft_reduce_sum(powers, WEFT_INTS(at), true));
}

/* How many elements a reduction over `axes` takes together. */
static weft_extent count_along(weft_tensor x, weft_ints axes)
{
    weft_extent count = weft_extent_of(1);
    for (size_t i = 0; i < axes.count; i++) count = weft_extent_mul(count, weft_tensor_extent(x, axes.items[i]));
    return count;
}

weft_tensor weft_mean(weft_tensor x, weft_ints axes, bool keep)
{
    if (!weft_tensor_is_valid(x)) return weft_tensor_failed(x.graph);
    weft_dtype dtype = weft_tensor_dtype(x);
    if (weft_dtype_info_of(dtype)->kind != WEFT_KIND_FLOAT) {
        return weft_trace_fail(x.graph, WEFT_DTYPE_MISMATCH, "mean", "the operand has dtype %s, not a float",
                               weft_dtype_name(dtype));
    }
    weft_tensor sum = weft_reduce_sum(x, axes, keep);
    if (!weft_tensor_is_valid(sum)) return sum;
    weft_extent count = count_along(x, axes);
    int64_t value;
    if (weft_extent_is_static(count, &value)) return weft_div(sum, weft_scalar(x.graph, dtype, (double)value));
    return weft_div(sum, weft_cast(weft_extent_tensor(x.graph, count), dtype));
}
