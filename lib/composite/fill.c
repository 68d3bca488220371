/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors from nothing, and matrices known by their diagonals. */
#include <weft/shape.h>
#include <inttypes.h>
#include <math.h>
#include "lib/composite/composite.h"
#include "runtime/base/float_mode.h"

weft_tensor weft_full(weft_graph *graph, weft_dtype dtype, double value, weft_shape shape)
{
    return weft_broadcast(weft_scalar(graph, dtype, value), shape);
}

weft_tensor weft_zeros(weft_graph *graph, weft_dtype dtype, weft_shape shape)
{
    return weft_full(graph, dtype, 0, shape);
}

weft_tensor weft_ones(weft_graph *graph, weft_dtype dtype, weft_shape shape)
{
    return weft_full(graph, dtype, 1, shape);
}

weft_tensor weft_full_like(weft_tensor x, double value)
{
    if (!weft_tensor_is_valid(x)) return weft_tensor_failed(x.graph);
    return weft_full(x.graph, weft_tensor_dtype(x), value, weft_tensor_shape(x));
}

weft_tensor weft_broadcast_like(weft_tensor x, weft_tensor like)
{
    if (!weft_composite_begin("broadcast_like", 2, 2, (weft_tensor[]){x, like}))
        return weft_trace_failed(WEFT_TENSORS(x, like));
    return weft_broadcast(x, weft_tensor_shape(like));
}

/* ---- sequences ---- */

static bool is_float(weft_dtype dtype)
{
    const weft_dtype_info *info = weft_dtype_info_of(dtype);
    return info != NULL && info->kind == WEFT_KIND_FLOAT;
}

/* An integer that i64 holds. */
static bool is_whole(double value)
{
    return floor(value) == value && value >= -0x1p63 && value < 0x1p63;
}

WEFT_PLAIN_FUNCTION(weft_tensor, weft_arange,
                    (weft_graph * graph, weft_dtype dtype, double start, double step, weft_extent count),
                    (graph, dtype, start, step, count))
{
    const weft_dtype_info *info = weft_dtype_info_of(dtype);
    if (graph == NULL) return weft_tensor_failed(NULL);
    if (info == NULL || info->kind == WEFT_KIND_BOOL || info->kind == WEFT_KIND_COMPLEX) {
        return weft_trace_fail(graph, WEFT_DTYPE_MISMATCH, "arange", "dtype %s is not a dtype of real numbers",
                               weft_dtype_name(dtype));
    }
    if (!is_float(dtype) && !(is_whole(start) && is_whole(step))) {
        return weft_trace_fail(graph, WEFT_INVALID_ARGUMENT, "arange",
                               "start %.17g and step %.17g must be integers of 64 bits for dtype %s", start, step,
                               info->name);
    }
    weft_dtype wide = is_float(dtype) ? WEFT_F64 : WEFT_I64;
    weft_tensor index = weft_iota(graph, wide, (weft_shape){1, &count}, 0);
    weft_tensor way = weft_mul(index, weft_scalar(graph, wide, step));
    return weft_composite_cast(weft_add(weft_scalar(graph, wide, start), way), dtype);
}

WEFT_PLAIN_FUNCTION(weft_tensor, weft_linspace,
                    (weft_graph * graph, weft_dtype dtype, double start, double stop, weft_extent count),
                    (graph, dtype, start, stop, count))
{
    if (graph == NULL) return weft_tensor_failed(NULL);
    if (!is_float(dtype)) {
        return weft_trace_fail(graph, WEFT_DTYPE_MISMATCH, "linspace", "dtype %s is not a float",
                               weft_dtype_name(dtype));
    }
    weft_tensor index = weft_iota(graph, WEFT_F64, (weft_shape){1, &count}, 0);
    weft_tensor last = weft_extent_like(index, weft_extent_plus(count, -1));
    weft_tensor gaps = weft_extent_like(index, weft_extent_max(weft_extent_plus(count, -1), weft_extent_of(1)));
    /* In halves if the distance between finite ends would be infinite. */
    double unit = isfinite(start) && isfinite(stop) && !isfinite(stop - start) ? 2 : 1;
    weft_tensor step = weft_div(weft_scalar(graph, WEFT_F64, stop / unit - start / unit), gaps);
    weft_tensor value = weft_add(weft_mul(index, step), weft_scalar(graph, WEFT_F64, start / unit));
    if (unit > 1) value = weft_mul(value, weft_scalar(graph, WEFT_F64, unit));
    weft_tensor is_last = weft_and(weft_eq(index, last), weft_gt(last, weft_scalar(graph, WEFT_F64, 0)));
    return weft_composite_cast(weft_select(is_last, weft_scalar(graph, WEFT_F64, stop), value), dtype);
}

weft_tensor weft_one_hot(weft_tensor indices, weft_extent count, weft_dtype dtype)
{
    if (!weft_composite_begin("one_hot", 1, 1, &indices) ||
        !weft_composite_wants_integer("one_hot", "the operand", indices) ||
        !weft_composite_wants_count(indices.graph, "one_hot", "the count", count)) {
        return weft_tensor_failed(indices.graph);
    }
    weft_tensor wide = weft_composite_cast(indices, WEFT_I64);
    weft_tensor places = weft_iota(indices.graph, WEFT_I64, (weft_shape){1, &count}, 0);
    return weft_composite_cast(weft_eq(weft_unsqueeze(wide, -1), places), dtype);
}

/* ---- diagonals ---- */

/* column - row of each element of matrices of that shape, as [rows, columns]. */
static weft_tensor offsets(weft_graph *graph, weft_extent rows, weft_extent columns)
{
    weft_extent shape[] = {rows, columns};
    weft_tensor row = weft_iota(graph, WEFT_I64, (weft_shape){2, shape}, 0);
    return weft_sub(weft_iota(graph, WEFT_I64, (weft_shape){2, shape}, 1), row);
}

weft_tensor weft_eye(weft_graph *graph, weft_dtype dtype, weft_extent rows, weft_extent columns, int64_t diagonal)
{
    weft_tensor on = weft_constant(graph, WEFT_I64, (weft_ints){0, NULL}, &diagonal);
    return weft_composite_cast(weft_eq(offsets(graph, rows, columns), on), dtype);
}

/* Zeros instead of the elements for which `compare` of offset and diagonal is false. */
static weft_tensor keep_triangle(const char *function, weft_tensor x, int64_t diagonal,
                                 weft_tensor (*compare)(weft_tensor a, weft_tensor b))
{
    if (!weft_composite_begin(function, 1, 1, &x) || !weft_composite_wants_rank(function, "the operand", x, 2)) {
        return weft_tensor_failed(x.graph);
    }
    weft_tensor limit = weft_constant(x.graph, WEFT_I64, (weft_ints){0, NULL}, &diagonal);
    weft_tensor offset = offsets(x.graph, weft_tensor_extent(x, -2), weft_tensor_extent(x, -1));
    return weft_select(compare(offset, limit), x, weft_scalar_like(x, 0));
}

weft_tensor weft_tril(weft_tensor x, int64_t diagonal)
{
    return keep_triangle("tril", x, diagonal, weft_le);
}

weft_tensor weft_triu(weft_tensor x, int64_t diagonal)
{
    return keep_triangle("triu", x, diagonal, weft_ge);
}

/* Where diagonal `k` begins along an axis, which is no later than its end. */
static weft_extent begin_of(weft_extent extent, int64_t k)
{
    return k <= 0 ? weft_extent_of(0) : weft_extent_min(weft_extent_of(k), extent);
}

weft_tensor weft_diagonal(weft_tensor x, int64_t diagonal, int64_t axis_a, int64_t axis_b)
{
    int64_t a, b;
    size_t rank = weft_tensor_rank(x);
    if (!weft_composite_begin("diagonal", 1, 1, &x) || !weft_axis_normalize(x.graph, "diagonal", axis_a, rank, &a) ||
        !weft_axis_normalize(x.graph, "diagonal", axis_b, rank, &b)) {
        return weft_tensor_failed(x.graph);
    }
    if (a == b) {
        return weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, "diagonal", "rows and columns are both axis %" PRId64,
                               a);
    }
    weft_extent rows = weft_tensor_extent(x, a), columns = weft_tensor_extent(x, b);
    weft_extent row = begin_of(rows, diagonal == INT64_MIN ? INT64_MAX : -diagonal);
    weft_extent column = begin_of(columns, diagonal);
    weft_extent count = weft_extent_min(weft_extent_sub(rows, row), weft_extent_sub(columns, column));
    weft_tensor square = weft_narrow(weft_narrow(x, a, row, count), b, column, count);
    return weft_moveaxis(weft_extract_diagonal(square, a, b), WEFT_INTS(a < b ? a : b), WEFT_INTS(-1));
}

weft_tensor weft_diag(weft_tensor x, int64_t diagonal)
{
    size_t rank = weft_tensor_rank(x);
    if (!weft_composite_begin("diag", 1, 1, &x)) return weft_tensor_failed(x.graph);
    if (rank == 2) return weft_diagonal(x, diagonal, 0, 1);
    if (rank != 1) {
        return weft_trace_fail(x.graph, WEFT_SHAPE_MISMATCH, "diag", "the operand has rank %zu, not 1 or 2", rank);
    }
    if (diagonal == INT64_MIN) {
        return weft_trace_fail(x.graph, WEFT_OUT_OF_RANGE, "diag", "the diagonal is %" PRId64 ", below -(2^63 - 1)",
                               diagonal);
    }
    weft_extent own = weft_tensor_extent(x, 0);
    if (!weft_extent_is_valid(weft_extent_plus(own, diagonal < 0 ? -diagonal : diagonal))) {
        return weft_trace_fail(x.graph, WEFT_OUT_OF_RANGE, "diag",
                               "the diagonal is %" PRId64 ", whose sum with extent %s does not fit an int64", diagonal,
                               weft_extent_describe(own).text);
    }
    weft_extent low = weft_extent_of(diagonal > 0 ? diagonal : 0), high = weft_extent_of(diagonal < 0 ? -diagonal : 0);
    weft_extent below[] = {high, low}, above[] = {low, high};
    weft_tensor square = weft_embed_diagonal(x, 0, 1);
    return weft_pad(square, weft_scalar_like(x, 0), (weft_shape){2, below}, (weft_shape){2, above});
}
