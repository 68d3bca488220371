/* SPDX-License-Identifier: Apache-2.0 */
/* Derivatives of convolution: convolutions again, so that no array of windows is summed up. */
#include <weft/conv.h>
#include <weft/shape.h>
#include "lib/composite/spatial.h"
#include "lib/grad/grad.h"

/* A convolution of x by w without a bias, whose result has the cotangent g. */
typedef struct convolution {
    weft_tensor x, w, g;
    const weft_attr *attrs;
    int64_t groups;
    weft_spatial spatial;
} convolution;

static convolution convolution_of(const weft_attr *attrs, weft_tensor x, weft_tensor w, weft_tensor g)
{
    convolution c = {x, w, g, attrs, attrs[4].integer, {.first = 2, .count = attrs[0].ints.count}};
    for (size_t i = 0; i < c.spatial.count; i++) {
        c.spatial.stride[i] = attrs[0].ints.items[i];
        c.spatial.dilation[i] = attrs[1].ints.items[i];
        c.spatial.low[i] = attrs[2].ints.items[i];
        c.spatial.high[i] = attrs[3].ints.items[i];
    }
    return c;
}

static weft_tensor convolve(const weft_attr *attrs, weft_tensor x, weft_tensor w)
{
    weft_conv_options options = {.stride = attrs[0].ints,
                                 .dilation = attrs[1].ints,
                                 .low = attrs[2].ints,
                                 .high = attrs[3].ints,
                                 .groups = attrs[4].integer};
    return weft_conv(x, w, &options);
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
 * The convolution of g, with stride - 1 zeros between its elements, with the kernel from its other end. The zeros
 * around it are so many that each element of x has its window, also those at the end that no window of the forward one
 * reached.
 */
static weft_tensor pull_operand(const convolution *c)
{
    weft_tensor g = c->g;
    const weft_spatial *s = &c->spatial;
    for (size_t i = 0; i < s->count; i++) {
        int64_t size;
        size_t axis = s->first + i;
        if (!weft_extent_is_static(weft_tensor_extent(c->w, (int64_t)axis), &size)) return weft_tensor_failed(g.graph);
        int64_t reach = s->dilation[i] * (size - 1);
        g = weft_spatial_spread(g, axis, s->stride[i]);
        weft_extent whole = weft_extent_plus(weft_tensor_extent(c->x, (int64_t)axis), s->low[i]);
        g = resize_ends(g, axis, reach - s->low[i], weft_extent_sub(whole, weft_tensor_extent(g, (int64_t)axis)));
    }
    weft_conv_options options = {.dilation = c->attrs[1].ints, .groups = c->groups};
    return weft_conv(g, weft_gradient_conj(weft_conv_turn(c->w, c->groups)), &options);
}

/* ---- of the kernel ---- */

/* The kernel is known by its shape alone. */
static weft_tensor windows_of(const convolution *c, bool first)
{
    weft_extent sizes[WEFT_MAX_RANK];
    const weft_spatial *s = &c->spatial;
    for (size_t i = 0; i < s->count; i++) sizes[i] = weft_tensor_extent(c->w, (int64_t)(2 + i));
    weft_tensor padded = weft_spatial_pad(c->x, weft_scalar_like(c->x, 0), s, NULL);
    return weft_gradient_conj(first ? weft_spatial_windows_first(padded, sizes, s)
                                    : weft_spatial_windows(padded, sizes, s));
}

/* [n, c, k..., places...] times g, summed over images and places. */
static weft_tensor multiply_depthwise(const convolution *c)
{
    weft_tensor windows = weft_composite_widen(windows_of(c, true)), g = weft_composite_widen(c->g);
    weft_extent extents[WEFT_MAX_RANK];
    weft_shape shape = weft_tensor_shape(g);
    size_t count = c->spatial.count, rank = shape.rank + count;
    if (!weft_tensor_is_valid(windows)) return windows;
    weft_axis_list axes = weft_axis_range(2 + count - 1, rank);
    axes.items[0] = 0;
    for (size_t i = 0; i < rank; i++) {
        bool of_window = i >= 2 && i < 2 + count;
        extents[i] = of_window ? weft_extent_of(1) : shape.extents[i < 2 ? i : i - count];
    }
    weft_tensor products = weft_mul(windows, weft_reshape(g, (weft_shape){rank, extents}));
    weft_tensor sum = weft_reduce_sum(products, weft_axis_list_ints(&axes), false);
    return weft_composite_cast(sum, weft_tensor_dtype(c->w));
}

/* The product over images and places of g, [n, groups, out, places...], with windows, [n, groups, in, places..., k...].
 */
static weft_tensor multiply_groups(const convolution *c)
{
    weft_tensor g = c->g, windows = windows_of(c, false);
    weft_extent groups = weft_extent_of(c->groups);
    size_t batch = c->groups == 1 ? 0 : 1;
    if (!weft_tensor_is_valid(windows)) return windows;
    if (batch > 0) {
        weft_extent out[] = {groups, weft_extent_div(weft_tensor_extent(g, 1), groups)};
        weft_extent in[] = {groups, weft_tensor_extent(c->w, 1)};
        g = weft_composite_unravel(g, 1, 2, out);
        windows = weft_composite_unravel(windows, 1, 2, in);
    }
    weft_axis_list summed = weft_axis_range(1 + batch, 2 + batch + c->spatial.count);
    summed.items[0] = 0;
    weft_ints along = weft_axis_list_ints(&summed), batches = {batch, (int64_t[]){1}};
    return weft_dot(g, windows, (weft_dot_axes){batches, batches, along, along});
}

static weft_tensor pull_kernel(const convolution *c)
{
    weft_shape shape = weft_tensor_shape(c->w);
    bool depthwise = weft_extent_is_value(shape.extents[0], c->groups) && weft_extent_is_value(shape.extents[1], 1);
    weft_tensor kernel = depthwise ? multiply_depthwise(c) : multiply_groups(c);
    if (!weft_tensor_is_valid(kernel)) return kernel;
    return weft_composite_as(WEFT_COMPOSED_conv_kernel, WEFT_TENSORS(c->x, c->g), c->attrs,
                             weft_reshape(kernel, shape));
}

/* ---- the rules: both are linear in each of their operands ---- */

static weft_status *vjp_conv(const weft_gradient_context *c, weft_tensor *out_values)
{
    convolution of = convolution_of(c->attrs, c->inputs.items[0], c->inputs.items[1], c->given.items[0]);
    if (c->needs[0]) out_values[0] = pull_operand(&of);
    if (c->needs[1]) out_values[1] = pull_kernel(&of);
    return NULL;
}

static weft_status *jvp_conv(const weft_gradient_context *c, weft_tensor *out_values)
{
    for (size_t i = 0; i < 2; i++) {
        weft_tensor operands[] = {c->inputs.items[0], c->inputs.items[1]};
        if (!weft_gradient_given(c, i)) continue;
        operands[i] = c->given.items[i];
        out_values[0] = weft_gradient_add(out_values[0], convolve(c->attrs, operands[0], operands[1]));
    }
    return NULL;
}

/* Of the cotangent of the kernel, as a function of x and g. */
static weft_status *vjp_kernel(const weft_gradient_context *c, weft_tensor *out_values)
{
    convolution of = convolution_of(c->attrs, c->inputs.items[0], c->given.items[0], c->inputs.items[1]);
    if (c->needs[0]) out_values[0] = pull_operand(&of);
    if (c->needs[1]) out_values[1] = convolve(c->attrs, of.x, of.w);
    return NULL;
}

static weft_status *jvp_kernel(const weft_gradient_context *c, weft_tensor *out_values)
{
    for (size_t i = 0; i < 2; i++) {
        weft_tensor operands[] = {c->inputs.items[0], c->inputs.items[1]};
        if (!weft_gradient_given(c, i)) continue;
        operands[i] = c->given.items[i];
        convolution of = convolution_of(c->attrs, operands[0], c->outputs.items[0], operands[1]);
        out_values[0] = weft_gradient_add(out_values[0], pull_kernel(&of));
    }
    return NULL;
}

static const weft_gradient_row rows[] = {
    {WEFT_COMPOSED_conv, vjp_conv, jvp_conv, NULL},
    {WEFT_COMPOSED_conv_kernel, vjp_kernel, jvp_kernel, NULL},
};

const weft_gradient_family weft_gradient_convolution = {sizeof rows / sizeof *rows, rows};
