/* SPDX-License-Identifier: Apache-2.0 */
/* Derivatives of convolution: convolutions again, so that no array of windows is summed up. */
#include <weft/conv.h>
#include <weft/shape.h>
#include "lib/composite/spatial.h"
#include "lib/grad/grad.h"

static weft_spatial spatial_of(const weft_gradient_context *c)
{
    weft_spatial s = {.first = 2, .count = c->attrs[0].ints.count};
    for (size_t i = 0; i < s.count; i++) {
        s.stride[i] = c->attrs[0].ints.items[i];
        s.dilation[i] = c->attrs[1].ints.items[i];
        s.low[i] = c->attrs[2].ints.items[i];
        s.high[i] = c->attrs[3].ints.items[i];
    }
    return s;
}

static bool is_depthwise(const weft_gradient_context *c)
{
    weft_tensor w = c->inputs.items[1];
    return weft_extent_is_value(weft_tensor_extent(w, 0), c->attrs[4].integer) &&
           weft_extent_is_value(weft_tensor_extent(w, 1), 1);
}

/* ---- of the operand ---- */

/* `x` with axis `axis` so much longer at its ends, or shorter. */
static weft_tensor resize_ends(weft_tensor x, size_t axis, int64_t low, weft_extent high)
{
    weft_extent lows[WEFT_MAX_RANK], highs[WEFT_MAX_RANK], none = weft_extent_of(0);
    size_t rank = weft_tensor_rank(x);
    if (!weft_tensor_is_valid(x)) return x;
    weft_extent size = weft_extent_add(weft_extent_plus(weft_tensor_extent(x, (int64_t)axis), low), high);
    int64_t least, most;
    weft_extent_range(high, &least, &most);
    for (size_t i = 0; i < rank; i++) lows[i] = highs[i] = none;
    lows[axis] = weft_extent_of(low < 0 ? 0 : low);
    highs[axis] = least < 0 ? weft_extent_max(high, none) : high;
    weft_tensor padded = weft_pad(x, weft_scalar_like(x, 0), (weft_shape){rank, lows}, (weft_shape){rank, highs});
    if (low >= 0 && least >= 0) return padded;
    return weft_narrow(padded, (int64_t)axis, weft_extent_of(low < 0 ? -low : 0), size);
}

/*
 * The convolution of g, with stride - 1 zeros between its elements, with the kernel from its other end. The zeros around
 * it are so many that each element of x has its window, also those at the end that no window of the forward one reached.
 */
static weft_tensor pull_operand(const weft_gradient_context *c, const weft_spatial *s)
{
    weft_tensor x = c->inputs.items[0], w = c->inputs.items[1], g = c->given.items[0];
    for (size_t i = 0; i < s->count; i++) {
        int64_t size;
        size_t axis = s->first + i;
        if (!weft_extent_is_static(weft_tensor_extent(w, (int64_t)axis), &size)) return weft_tensor_failed(x.graph);
        int64_t reach = s->dilation[i] * (size - 1);
        g = weft_spatial_spread(g, axis, s->stride[i]);
        weft_extent whole = weft_extent_plus(weft_tensor_extent(x, (int64_t)axis), s->low[i]);
        g = resize_ends(g, axis, reach - s->low[i], weft_extent_sub(whole, weft_tensor_extent(g, (int64_t)axis)));
    }
    int64_t groups = c->attrs[4].integer;
    weft_conv_options options = {.dilation = c->attrs[1].ints, .groups = groups};
    return weft_conv(g, weft_gradient_conj(weft_conv_turn(w, groups)), &options);
}

/* ---- of the kernel ---- */

static weft_tensor windows_of(const weft_gradient_context *c, const weft_spatial *s, bool first)
{
    weft_tensor x = c->inputs.items[0], w = c->inputs.items[1];
    weft_extent sizes[WEFT_MAX_RANK];
    for (size_t i = 0; i < s->count; i++) sizes[i] = weft_tensor_extent(w, (int64_t)(2 + i));
    weft_tensor padded = weft_spatial_pad(x, weft_scalar_like(x, 0), s, NULL);
    return weft_gradient_conj(first ? weft_spatial_windows_first(padded, sizes, s)
                                    : weft_spatial_windows(padded, sizes, s));
}

/* [n, c, k..., places...] times g, summed over images and places. */
static weft_tensor pull_depthwise(const weft_gradient_context *c, const weft_spatial *s)
{
    weft_tensor windows = weft_composite_widen(windows_of(c, s, true)), g = weft_composite_widen(c->given.items[0]);
    weft_extent extents[WEFT_MAX_RANK];
    weft_shape shape = weft_tensor_shape(g);
    size_t rank = shape.rank + s->count;
    if (!weft_tensor_is_valid(windows)) return windows;
    weft_axis_list axes = weft_axis_range(2 + s->count - 1, rank);
    axes.items[0] = 0;
    for (size_t i = 0; i < rank; i++) {
        bool of_window = i >= 2 && i < 2 + s->count;
        extents[i] = of_window ? weft_extent_of(1) : shape.extents[i < 2 ? i : i - s->count];
    }
    weft_tensor products = weft_mul(windows, weft_reshape(g, (weft_shape){rank, extents}));
    weft_tensor sum = weft_reduce_sum(products, weft_axis_list_ints(&axes), false);
    weft_tensor like = c->inputs.items[1];
    return weft_composite_cast(weft_reshape(sum, weft_tensor_shape(like)), weft_tensor_dtype(like));
}

/* The product of g, [n, groups, out, places...], with windows, [n, groups, in, places..., k...], over images and places. */
static weft_tensor pull_kernel(const weft_gradient_context *c, const weft_spatial *s)
{
    weft_tensor w = c->inputs.items[1], g = c->given.items[0], windows = windows_of(c, s, false);
    weft_extent groups = weft_extent_of(c->attrs[4].integer);
    if (!weft_tensor_is_valid(windows)) return windows;
    bool grouped = !weft_extent_is_value(groups, 1);
    if (grouped) {
        weft_extent out[] = {groups, weft_extent_div(weft_tensor_extent(g, 1), groups)};
        weft_extent in[] = {groups, weft_tensor_extent(w, 1)};
        g = weft_composite_unravel(g, 1, 2, out);
        windows = weft_composite_unravel(windows, 1, 2, in);
    }
    weft_axis_list summed = weft_axis_range(1, 2 + s->count);
    summed.items[0] = 0;
    for (size_t i = 1; i <= s->count; i++) summed.items[i] = (int64_t)(1 + i + (grouped ? 1 : 0));
    weft_ints along = weft_axis_list_ints(&summed), batch = {grouped ? 1 : 0, (int64_t[]){1}};
    return weft_reshape(weft_dot(g, windows, (weft_dot_axes){batch, batch, along, along}), weft_tensor_shape(w));
}

/* ---- the rule ---- */

static weft_status *vjp_conv(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_spatial s = spatial_of(c);
    if (c->needs[0]) out_values[0] = pull_operand(c, &s);
    if (c->needs[1]) out_values[1] = is_depthwise(c) ? pull_depthwise(c, &s) : pull_kernel(c, &s);
    return NULL;
}

static weft_status *jvp_conv(const weft_gradient_context *c, weft_tensor *out_values)
{
    const weft_attr *attrs = c->attrs;
    weft_conv_options options = {.stride = attrs[0].ints,
                                 .dilation = attrs[1].ints,
                                 .low = attrs[2].ints,
                                 .high = attrs[3].ints,
                                 .groups = attrs[4].integer};
    for (size_t i = 0; i < 2; i++) {
        weft_tensor operands[] = {c->inputs.items[0], c->inputs.items[1]};
        operands[i] = c->given.items[i];
        if (!weft_gradient_given(c, i)) continue;
        out_values[0] = weft_gradient_add(out_values[0], weft_conv(operands[0], operands[1], &options));
    }
    return NULL;
}

static const weft_gradient_row rows[] = {
    {WEFT_COMPOSED_conv, vjp_conv, jvp_conv, NULL},
};

const weft_gradient_family weft_gradient_convolution = {sizeof rows / sizeof *rows, rows};
