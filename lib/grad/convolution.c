/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Derivatives of convolution. With the sum over all of
 *
 *     x[n, c, i * stride + k * dilation - low] * w[o, c, k] * g[n, o, i]
 *
 * three functions are linear in each of two of the operands: the convolution of x by w, the transposed convolution of g
 * by w, and what here is the kernel of x and g. Derivatives of each are the other two, so that no array of windows is
 * summed up, however often one differentiates.
 */
#include <weft/shape.h>
#include "lib/composite/conv.h"
#include "lib/grad/grad.h"

/* Which attributes each of the three has; `high` is that of the convolution. */
typedef struct convolution {
    const weft_attr *attrs;
    int64_t groups;
    weft_spatial spatial;
} convolution;

static convolution convolution_of(const weft_attr *attrs)
{
    convolution c = {attrs, attrs[4].integer, {.first = 2, .count = attrs[0].ints.count}};
    for (size_t i = 0; i < c.spatial.count; i++) {
        c.spatial.stride[i] = attrs[0].ints.items[i];
        c.spatial.dilation[i] = attrs[1].ints.items[i];
        c.spatial.low[i] = attrs[2].ints.items[i];
        c.spatial.high[i] = attrs[3].ints.items[i];
    }
    return c;
}

/* As many places of `x`, from axis `first` on, as `like` has after its channels: of x beyond its last window, or added
 * by output_padding, there may be so much that there is room for more. */
static weft_tensor keep_places(const convolution *c, weft_tensor x, size_t first, weft_tensor like)
{
    for (size_t i = 0; i < c->spatial.count && weft_tensor_is_valid(x); i++) {
        weft_extent size = weft_tensor_extent(like, (int64_t)(2 + i));
        int64_t axis = (int64_t)(first + i);
        if (!weft_extent_equal(weft_tensor_extent(x, axis), size)) x = weft_narrow(x, axis, weft_extent_of(0), size);
    }
    return x;
}

/* ---- each of the operands from the other two, of which one may stand for the shape of the result ---- */

static weft_tensor convolve(const convolution *c, weft_tensor x, weft_tensor w, weft_tensor like)
{
    weft_conv_options options = {.stride = c->attrs[0].ints,
                                 .dilation = c->attrs[1].ints,
                                 .low = c->attrs[2].ints,
                                 .high = c->attrs[3].ints,
                                 .groups = c->groups};
    return keep_places(c, weft_conv(x, w, &options), 2, like);
}

static weft_tensor scatter(const convolution *c, weft_tensor g, weft_tensor w, weft_tensor like)
{
    weft_shape shape = weft_tensor_shape(like);
    if (!weft_tensor_is_valid(like)) return like;
    return weft_conv_scatter(g, w, &c->spatial, c->groups, shape.extents + 2);
}

static weft_tensor windows_of(const convolution *c, weft_tensor x, weft_tensor g, weft_tensor like, bool first)
{
    weft_extent sizes[WEFT_MAX_RANK];
    const weft_spatial *s = &c->spatial;
    for (size_t i = 0; i < s->count; i++) sizes[i] = weft_tensor_extent(like, (int64_t)(2 + i));
    weft_tensor padded = weft_spatial_pad(x, weft_scalar_like(x, 0), s, NULL);
    weft_tensor windows = first ? weft_spatial_windows_first(padded, sizes, s) : weft_spatial_windows(padded, sizes, s);
    return keep_places(c, windows, first ? 2 + s->count : 2, g);
}

/* [n, c, k..., places...] times g, summed over images and places. */
static weft_tensor multiply_depthwise(const convolution *c, weft_tensor windows, weft_tensor g)
{
    weft_extent extents[WEFT_MAX_RANK];
    weft_tensor wide = weft_composite_widen(windows), factor = weft_composite_widen(g);
    weft_shape shape = weft_tensor_shape(factor);
    size_t count = c->spatial.count, rank = shape.rank + count;
    if (!weft_tensor_is_valid(wide) || !weft_tensor_is_valid(factor)) return weft_tensor_failed(g.graph);
    weft_axis_list axes = weft_axis_range(2 + count - 1, rank);
    axes.items[0] = 0;
    for (size_t i = 0; i < rank; i++) {
        bool of_window = i >= 2 && i < 2 + count;
        extents[i] = of_window ? weft_extent_of(1) : shape.extents[i < 2 ? i : i - count];
    }
    weft_tensor products = weft_mul(wide, weft_reshape(factor, (weft_shape){rank, extents}));
    weft_tensor sum = weft_reduce_sum(products, weft_axis_list_ints(&axes), false);
    return weft_composite_cast(sum, weft_tensor_dtype(g));
}

/* The product over images and places of g, [n, groups, out, places...], with windows, [n, groups, in, places..., k...].
 */
static weft_tensor multiply_groups(const convolution *c, weft_tensor windows, weft_tensor g, weft_tensor like)
{
    weft_extent groups = weft_extent_of(c->groups);
    size_t batch = c->groups == 1 ? 0 : 1;
    if (!weft_tensor_is_valid(windows) || !weft_tensor_is_valid(g)) return weft_tensor_failed(g.graph);
    if (batch > 0) {
        weft_extent out[] = {groups, weft_extent_div(weft_tensor_extent(g, 1), groups)};
        weft_extent in[] = {groups, weft_tensor_extent(like, 1)};
        g = weft_composite_unravel(g, 1, 2, out);
        windows = weft_composite_unravel(windows, 1, 2, in);
    }
    weft_axis_list summed = weft_axis_range(1 + batch, 2 + batch + c->spatial.count);
    summed.items[0] = 0;
    weft_ints along = weft_axis_list_ints(&summed), batches = {batch, (int64_t[]){1}};
    return weft_dot(g, windows, (weft_dot_axes){batches, batches, along, along});
}

static weft_tensor kernel_of(const convolution *c, weft_tensor x, weft_tensor g, weft_tensor like)
{
    weft_shape shape = weft_tensor_shape(like);
    if (!weft_tensor_is_valid(x) || !weft_tensor_is_valid(g) || !weft_tensor_is_valid(like))
        return weft_tensor_failed(x.graph);
    bool depthwise = weft_extent_is_value(shape.extents[0], c->groups) && weft_extent_is_value(shape.extents[1], 1);
    weft_tensor windows = windows_of(c, x, g, like, depthwise);
    weft_tensor kernel = depthwise ? multiply_depthwise(c, windows, g) : multiply_groups(c, windows, g, like);
    if (!weft_tensor_is_valid(kernel)) return kernel;
    return weft_composite_as(WEFT_COMPOSED_conv_kernel, WEFT_TENSORS(x, g), c->attrs, weft_reshape(kernel, shape));
}

/* ---- the rules ---- */

typedef weft_tensor (*bilinear)(const convolution *c, weft_tensor a, weft_tensor b, weft_tensor like);

static weft_status *vjp_conv(const weft_gradient_context *c, weft_tensor *out_values)
{
    const convolution of = convolution_of(c->attrs);
    weft_tensor x = c->inputs.items[0], w = c->inputs.items[1], g = c->given.items[0];
    if (c->needs[0]) out_values[0] = scatter(&of, g, weft_gradient_conj(w), x);
    if (c->needs[1]) out_values[1] = kernel_of(&of, weft_gradient_conj(x), g, w);
    return NULL;
}

static weft_status *vjp_transpose(const weft_gradient_context *c, weft_tensor *out_values)
{
    const convolution of = convolution_of(c->attrs);
    weft_tensor g = c->inputs.items[0], w = c->inputs.items[1], x = c->given.items[0];
    if (c->needs[0]) out_values[0] = convolve(&of, x, weft_gradient_conj(w), g);
    if (c->needs[1]) out_values[1] = kernel_of(&of, x, weft_gradient_conj(g), w);
    return NULL;
}

static weft_status *vjp_kernel(const weft_gradient_context *c, weft_tensor *out_values)
{
    const convolution of = convolution_of(c->attrs);
    weft_tensor x = c->inputs.items[0], g = c->inputs.items[1], w = c->given.items[0];
    if (c->needs[0]) out_values[0] = scatter(&of, weft_gradient_conj(g), w, x);
    if (c->needs[1]) out_values[1] = convolve(&of, weft_gradient_conj(x), w, g);
    return NULL;
}

/* Each is linear in both of its operands. */
static void push(const weft_gradient_context *c, bilinear function, weft_tensor *out_values)
{
    const convolution of = convolution_of(c->attrs);
    for (size_t i = 0; i < 2; i++) {
        weft_tensor operands[] = {c->inputs.items[0], c->inputs.items[1]};
        if (!weft_gradient_given(c, i)) continue;
        operands[i] = c->given.items[i];
        out_values[0] = weft_gradient_add(out_values[0], function(&of, operands[0], operands[1], c->outputs.items[0]));
    }
}

static weft_status *jvp_conv(const weft_gradient_context *c, weft_tensor *out_values)
{
    push(c, convolve, out_values);
    return NULL;
}

static weft_status *jvp_transpose(const weft_gradient_context *c, weft_tensor *out_values)
{
    push(c, scatter, out_values);
    return NULL;
}

static weft_status *jvp_kernel(const weft_gradient_context *c, weft_tensor *out_values)
{
    push(c, kernel_of, out_values);
    return NULL;
}

static const weft_gradient_row rows[] = {
    {WEFT_COMPOSED_conv, vjp_conv, jvp_conv, NULL},
    {WEFT_COMPOSED_conv_transpose, vjp_transpose, jvp_transpose, NULL},
    {WEFT_COMPOSED_conv_kernel, vjp_kernel, jvp_kernel, NULL},
};

const weft_gradient_family weft_gradient_convolution = {sizeof rows / sizeof *rows, rows};
