/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Derivatives of sums over windows. An element of x gets the cotangents of all windows that have it. Along an axis
 * these are as many for all elements that lie alike in a stride, or one less: sums over a few windows that follow each
 * other, each of which is repeated.
 */
#include <weft/shape.h>
#include "lib/composite/spatial.h"
#include "lib/grad/grad.h"

/* Along axis `axis`, of that extent, of what is summed. */
typedef struct axis_sum {
    int64_t axis, size, stride, dilation, low;
    weft_extent extent;
} axis_sum;

/* `x` with axis `axis` of extent `extent`, for one of 1. */
static weft_tensor repeat(weft_tensor x, int64_t axis, weft_extent extent)
{
    weft_extent extents[WEFT_MAX_RANK];
    weft_shape shape = weft_tensor_shape(x);
    if (!weft_tensor_is_valid(x)) return x;
    for (size_t i = 0; i < shape.rank; i++) extents[i] = (int64_t)i == axis ? extent : shape.extents[i];
    return weft_broadcast(x, (weft_shape){shape.rank, extents});
}

/* Sums of `count` neighbours along an axis, `step` apart. */
static weft_tensor sum_neighbours(weft_tensor x, int64_t axis, int64_t count, int64_t step)
{
    if (count == 1) return x;
    weft_tensor windows = weft_window(x, axis, weft_extent_of(count), 1, step);
    weft_tensor first = weft_moveaxis(windows, WEFT_INTS((int64_t)weft_tensor_rank(x)), WEFT_INTS(axis));
    return weft_reduce_sum(first, WEFT_INTS(axis), false);
}

/* With one window that is all of the axis. */
static bool is_whole(const axis_sum *a, weft_tensor g)
{
    return weft_extent_is_value(weft_tensor_extent(g, a->axis), 1) && weft_extent_is_value(a->extent, a->size) &&
           a->low == 0 && a->dilation == 1;
}

/* As `blocks` of a stride each, of whose elements the first have `parts` windows each and the others one less. */
static weft_tensor add_blocks(const axis_sum *a, weft_tensor g)
{
    const int64_t parts = (a->size - 1) / a->stride + 1, first = a->low / a->stride;
    const int64_t more = a->size - (parts - 1) * a->stride, fewer = a->stride - more;
    weft_extent blocks = weft_extent_ceil_div(weft_extent_plus(a->extent, a->low), a->stride);
    weft_extent after = weft_extent_sub(blocks, weft_tensor_extent(g, a->axis));
    weft_tensor x = weft_spatial_resize(g, (size_t)a->axis, parts - 1 - first, after);
    weft_tensor all = weft_unsqueeze(sum_neighbours(x, a->axis, parts, 1), a->axis + 1);
    all = repeat(all, a->axis + 1, weft_extent_of(more));
    if (fewer > 0 && parts == 1) {
        all = weft_spatial_resize(all, (size_t)a->axis + 1, 0, weft_extent_of(fewer));
    } else if (fewer > 0) {
        weft_extent length = weft_extent_plus(weft_tensor_extent(x, a->axis), -1);
        weft_tensor rest = sum_neighbours(weft_narrow(x, a->axis, weft_extent_of(1), length), a->axis, parts - 1, 1);
        rest = repeat(weft_unsqueeze(rest, a->axis + 1), a->axis + 1, weft_extent_of(fewer));
        all = weft_concat(WEFT_TENSORS(all, rest), a->axis + 1);
    }
    weft_tensor joined = weft_composite_ravel(all, (size_t)a->axis, (size_t)a->axis + 2);
    return weft_narrow(joined, a->axis, weft_extent_of(a->low % a->stride), a->extent);
}

/* Every element is where one window begins. */
static weft_tensor add_all(const axis_sum *a, weft_tensor g)
{
    weft_extent after = weft_extent_sub(weft_extent_plus(a->extent, a->low), weft_tensor_extent(g, a->axis));
    weft_tensor x = weft_spatial_resize(g, (size_t)a->axis, a->dilation * (a->size - 1) - a->low, after);
    return sum_neighbours(x, a->axis, a->size, a->dilation);
}

static weft_tensor add_windows(const axis_sum *a, weft_tensor g)
{
    axis_sum spread = *a;
    if (!weft_tensor_is_valid(g)) return g;
    if (is_whole(a, g)) return repeat(g, a->axis, a->extent);
    if (a->stride > 1 && a->dilation == 1) return add_blocks(a, g);
    spread.stride = 1;
    return add_all(&spread, weft_spatial_spread(g, (size_t)a->axis, a->stride));
}

static weft_status *vjp_window_sum(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor x = c->inputs.items[0], g = c->given.items[0];
    size_t count = c->attrs[0].ints.count, first = weft_tensor_rank(x) - count;
    for (size_t i = 0; i < count; i++) {
        axis_sum a = {(int64_t)(first + i),      c->attrs[0].ints.items[i],
                      c->attrs[1].ints.items[i], c->attrs[2].ints.items[i],
                      c->attrs[3].ints.items[i], weft_tensor_extent(x, (int64_t)(first + i))};
        if (a.size == 1) a.dilation = 1;
        g = add_windows(&a, g);
    }
    out_values[0] = g;
    return NULL;
}

static weft_status *jvp_window_sum(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor t = c->given.items[0];
    size_t count = c->attrs[0].ints.count;
    weft_spatial spatial = {.first = weft_tensor_rank(t) - count, .count = count};
    for (size_t i = 0; i < count; i++) {
        spatial.stride[i] = c->attrs[1].ints.items[i];
        spatial.dilation[i] = c->attrs[2].ints.items[i];
        spatial.low[i] = c->attrs[3].ints.items[i];
        spatial.high[i] = c->attrs[4].ints.items[i];
    }
    out_values[0] = weft_spatial_sum(t, c->attrs[0].ints.items, &spatial, c->attrs[5].extents.extents);
    return NULL;
}

static const weft_gradient_row rows[] = {
    {WEFT_COMPOSED_window_sum, vjp_window_sum, jvp_window_sum, NULL},
};

const weft_gradient_family weft_gradient_pool = {sizeof rows / sizeof *rows, rows};
