/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows added up where they came from, without a scatter: position k of window w lies at w * stride + k * dilation,
 * so with positions as rows, of which row k is shifted by k * dilation, an element of the result is the sum of a
 * column.
 */
#include <inttypes.h>
#include <weft/shape.h>
#include "lib/composite/spatial.h"

/* x [.., windows, .., size] with its last axis in front of `axis`. */
static weft_tensor put_last_first(weft_tensor x, size_t axis)
{
    size_t rank = weft_tensor_rank(x);
    weft_axis_list order = weft_axis_range(0, rank);
    for (size_t i = rank; i-- > axis + 1;) order.items[i] = (int64_t)i - 1;
    order.items[axis] = (int64_t)rank - 1;
    return weft_permute(x, weft_axis_list_ints(&order));
}

/* The sum of the rows along axis `along`, each shifted by `step` more along `axis`. */
static weft_tensor add_rows(weft_tensor rows, size_t along, size_t axis, int64_t step, weft_extent extent)
{
    weft_tensor sheared = weft_shear(rows, (int64_t)axis, (int64_t)along, step, extent);
    return weft_reduce_sum(sheared, WEFT_INTS((int64_t)along), false);
}

/*
 * Rows [.., size, windows, ..] from `axis` on, in blocks of `stride` elements, of which windows begin at the first:
 * position m * stride + r of window w is element r of block w + m. So blocks have rows of their own for each r; or, of
 * [.., windows, size], blocks are rows, which fill vectors as they lie where they are long. Where no window is longer
 * than a block nothing is added.
 */
static weft_tensor add_blocks(weft_tensor rows, size_t axis, bool is_long, weft_extent extent, int64_t stride)
{
    int64_t at = (int64_t)axis, window = at + !is_long, position = at + is_long;
    weft_extent size = weft_tensor_extent(rows, position), length = weft_extent_of(stride);
    weft_extent parts = weft_extent_ceil_div(size, stride), blocks = weft_extent_ceil_div(extent, stride);
    weft_extent split[] = {parts, length}, more = weft_extent_sub(weft_extent_times(parts, stride), size);
    weft_tensor sums, whole = weft_spatial_pad_after(rows, (size_t)position, more);
    if (weft_extent_is_value(parts, 1)) {
        sums = weft_shear(whole, window, position, 0, blocks);
    } else {
        weft_tensor apart = weft_composite_unravel(whole, (size_t)position, 2, split);
        if (is_long) apart = weft_transpose(apart, at, at + 1);
        sums = add_rows(apart, axis, axis + (is_long ? 1 : 2), 1, blocks);
    }
    if (!is_long) sums = weft_transpose(sums, at, at + 1);
    return weft_narrow(weft_composite_ravel(sums, axis, axis + 2), at, weft_extent_of(0), extent);
}

static bool check_steps(weft_tensor x, int64_t stride, int64_t dilation)
{
    if (stride >= 1 && dilation >= 1) return true;
    weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, "window_add", "the %s is %" PRId64 ", below 1",
                    stride < 1 ? "stride" : "dilation", stride < 1 ? stride : dilation);
    return false;
}

/* Whether `x` may be windows of an axis of that extent. */
static bool check_windows(weft_tensor x, int64_t axis, weft_extent extent, int64_t stride, int64_t dilation)
{
    weft_extent size = weft_tensor_extent(x, -1), windows = weft_tensor_extent(x, axis);
    if (!weft_composite_wants_count(x.graph, "window_add", "the extent", extent) ||
        !weft_require_at_most(x.graph, weft_extent_of(1), size, "window_add: the size is %s, below 1",
                              weft_extent_describe(size).text)) {
        return false;
    }
    weft_extent count = weft_extent_windows(extent, size, stride, dilation);
    return weft_require_equal(
        x.graph, windows, count, "window_add: axis %" PRId64 " has %s windows but there are %s in an extent of %s",
        axis, weft_extent_describe(windows).text, weft_extent_describe(count).text, weft_extent_describe(extent).text);
}

/* A step that leaves the extent at once is as good as one that leaves it just so, and needs less room. */
static int64_t within(int64_t step, weft_extent extent)
{
    int64_t least, most;
    weft_extent_range(extent, &least, &most);
    if (step > most) step = most;
    return step < 1 ? 1 : step;
}

/* The sum along axis `row` of windows `x`, whose arguments are right. */
static weft_tensor add_windows(weft_tensor x, size_t row, weft_extent extent, int64_t stride, int64_t dilation)
{
    enum { LONG = 8 }; /* strides */
    bool is_one = weft_extent_is_value(weft_tensor_extent(x, -1), 1);
    stride = within(stride, extent);
    dilation = is_one ? 1 : within(dilation, extent);
    if (dilation == 1 && stride >= LONG && row + 2 == weft_tensor_rank(x))
        return add_blocks(x, row, true, extent, stride);
    weft_tensor rows = put_last_first(x, row);
    if (stride == 1 && !is_one) return add_rows(rows, row, row + 1, dilation, extent);
    if (dilation == 1) return add_blocks(rows, row, false, extent, stride);
    return add_rows(weft_spatial_spread(rows, row + 1, stride), row, row + 1, dilation, extent);
}

/* Whether the axes after `axis`, except for the last one, are known to have few elements, like windows along axes
 * before. */
static bool is_before_short_axes(weft_tensor x, size_t axis)
{
    enum { MOST = 32 };
    size_t last = weft_tensor_rank(x) - 1;
    weft_shape shape = weft_tensor_shape(x);
    int64_t count;
    return axis + 1 < last && weft_extent_is_static(weft_extent_product(shape, axis + 1, last), &count) &&
           count <= MOST;
}

static weft_tensor window_add(weft_tensor x, int64_t axis, weft_extent extent, int64_t stride, int64_t dilation)
{
    int64_t at;
    if (!weft_composite_begin("window_add", 1, 1, &x) || !weft_composite_wants_number("window_add", "the operand", x) ||
        !weft_composite_wants_rank("window_add", "the operand", x, 2) ||
        !weft_axis_normalize(x.graph, "window_add", axis, weft_tensor_rank(x) - 1, &at) ||
        !check_steps(x, stride, dilation) || !check_windows(x, at, extent, stride, dilation)) {
        return weft_tensor_failed(x.graph);
    }
    /* What is added up has long rows in memory. */
    if (!is_before_short_axes(x, (size_t)at)) return add_windows(x, (size_t)at, extent, stride, dilation);
    int64_t last = (int64_t)weft_tensor_rank(x) - 2;
    weft_tensor moved = weft_moveaxis(x, WEFT_INTS(at), WEFT_INTS(last));
    weft_tensor sums = add_windows(moved, (size_t)last, extent, stride, dilation);
    return weft_moveaxis(sums, WEFT_INTS(last), WEFT_INTS(at));
}

weft_tensor weft_window_add(weft_tensor x, int64_t axis, weft_extent extent, int64_t stride, int64_t dilation)
{
    weft_guard_scope scope = weft_guards_open(x.graph);
    weft_tensor result = window_add(x, axis, extent, stride, dilation);
    weft_guards_close(scope, 1, &result);
    return result;
}
