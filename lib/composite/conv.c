/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution is the product of the kernel with windows of x, summed over channels and kernel elements. Each image is a
 * product of matrices of its own, so that results lie as the caller wants them; the windows are a view, which the
 * compiler copies ("im2col") where the matrix library needs that, and does not for kernels of one element.
 */
#include "lib/composite/conv.h"
#include <weft/conv.h>
#include <inttypes.h>

/* ---- arguments ---- */

/* Whether there are spatial axes, and room for those of windows as well. */
static bool check_rank(const char *function, weft_tensor x)
{
    size_t rank = weft_tensor_rank(x);
    if (!weft_composite_wants_rank(function, "the operand", x, 3)) return false;
    if (rank * 2 <= WEFT_MAX_RANK) return true;
    weft_trace_fail(x.graph, WEFT_UNSUPPORTED, function, "the operand has rank %zu, over %d", rank, WEFT_MAX_RANK / 2);
    return false;
}

static bool check_ranks(const char *function, weft_tensor x, weft_tensor w)
{
    size_t rank = weft_tensor_rank(x);
    if (!check_rank(function, x)) return false;
    if (weft_tensor_rank(w) == rank) return true;
    weft_trace_fail(x.graph, WEFT_SHAPE_MISMATCH, function, "the operand has rank %zu but the kernel has %zu", rank,
                    weft_tensor_rank(w));
    return false;
}

bool weft_conv_wants_bias(const char *function, weft_tensor bias, weft_tensor x, weft_extent channels)
{
    if (weft_composite_is_absent(bias)) return true;
    if (weft_tensor_rank(bias) != 1) {
        weft_trace_fail(x.graph, WEFT_SHAPE_MISMATCH, function, "the bias has rank %zu, not 1", weft_tensor_rank(bias));
        return false;
    }
    weft_extent own = weft_tensor_extent(bias, 0);
    return weft_composite_wants_dtype(function, (weft_named){"the bias", bias}, (weft_named){"the operand", x}) &&
           weft_require_equal(x.graph, own, channels, "%s: the bias has extent %s but the result has %s channels",
                              function, weft_extent_describe(own).text, weft_extent_describe(channels).text);
}

bool weft_conv_divide(const char *function, const char *what, weft_graph *graph, weft_extent channels, int64_t groups,
                      weft_extent *out_each)
{
    *out_each = weft_extent_div(channels, weft_extent_of(groups));
    return weft_require_equal(graph, weft_extent_mod(channels, weft_extent_of(groups)), weft_extent_of(0),
                              "%s: %s channels %s are not a multiple of %" PRId64 " groups", function,
                              weft_extent_describe(channels).text, what, groups);
}

/* Whether no axis of the kernel is known to be empty, or to reach too far. */
static bool check_sizes(const char *function, const weft_convolution *c)
{
    int64_t size, reach;
    for (size_t i = 2; i < weft_tensor_rank(c->w); i++) {
        if (!weft_extent_is_static(c->sizes[i - 2], &size)) continue;
        if (size > 0 && weft_spatial_reach(c->x.graph, function, &c->spatial, i - 2, size, &reach)) continue;
        if (size > 0) return false;
        weft_trace_fail(c->x.graph, WEFT_OUT_OF_RANGE, function, "axis %zu of the kernel has extent 0, below 1", i);
        return false;
    }
    return true;
}

bool weft_conv_begin(const char *function, weft_tensor x, weft_tensor w, weft_conv_options *options,
                     weft_convolution *out_c)
{
    weft_tensor operands[] = {x, w, options->bias};
    static const char *const names[] = {"the operand", "the kernel", "the bias"};
    if (!weft_composite_begin_named(function, 2, 3, operands, names) || !check_ranks(function, x, w) ||
        !weft_composite_wants_number(function, "the operand", x) ||
        !weft_composite_wants_dtype(function, (weft_named){"the kernel", w}, (weft_named){"the operand", x})) {
        return false;
    }
    if (options->groups == 0) options->groups = 1;
    if (options->groups < 1) {
        weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, function, "there are %" PRId64 " groups", options->groups);
        return false;
    }
    out_c->x = x;
    out_c->w = w;
    out_c->groups = weft_extent_of(options->groups);
    for (size_t i = 2; i < weft_tensor_rank(w); i++) out_c->sizes[i - 2] = weft_tensor_extent(w, (int64_t)i);
    return weft_spatial_fill(x.graph, function, 2, weft_tensor_rank(x) - 2, options->stride, options->dilation,
                             options->low, options->high, &out_c->spatial) &&
           check_sizes(function, out_c);
}

/* ---- the product ---- */

/* One multiplication for each kernel element and no sum over channels: loops with the places innermost. */
static weft_tensor multiply_depthwise(const weft_convolution *c, weft_tensor padded)
{
    weft_axis_list axes = weft_axis_range(2, 2 + c->spatial.count);
    weft_tensor windows = weft_composite_widen(weft_spatial_windows_first(padded, c->sizes, &c->spatial));
    weft_tensor kernel = weft_composite_widen(weft_composite_ravel(c->w, 0, 2));
    weft_tensor products = weft_mul(windows, weft_composite_align(kernel, 1, weft_tensor_rank(windows)));
    weft_tensor sum = weft_reduce_sum(products, weft_axis_list_ints(&axes), false);
    return weft_composite_cast(sum, weft_tensor_dtype(c->x));
}

/*
 * The kernel is [n, groups, out, in, kernel...], the same for every image, the windows [n, groups, in, places...,
 * kernel...]: a batch of products, in which a single group is no axis, so that the result needs no reshaping.
 */
static weft_tensor multiply_groups(const weft_convolution *c, weft_tensor padded)
{
    size_t count = c->spatial.count, batch = weft_extent_is_value(c->groups, 1) ? 1 : 2;
    weft_extent extents[WEFT_MAX_RANK] = {weft_tensor_extent(c->x, 0), c->groups};
    weft_spatial spatial = c->spatial;
    weft_axis_list batches = weft_axis_range(0, batch), kernel = {.count = count + 1}, window = {.count = count + 1};
    extents[batch] = c->out;
    extents[batch + 1] = c->in;
    for (size_t i = 0; i < count; i++) extents[batch + 2 + i] = c->sizes[i];
    for (size_t i = 0; i <= count; i++) {
        kernel.items[i] = (int64_t)(batch + 1 + i);
        window.items[i] = (int64_t)(i == 0 ? batch : batch + count + i);
    }
    weft_extent split[] = {c->groups, c->in};
    spatial.first = batch + 1;
    weft_tensor grouped = batch == 1 ? padded : weft_composite_unravel(padded, 1, 2, split);
    weft_tensor kernels = batch == 1 ? c->w : weft_composite_unravel(c->w, 0, 2, &extents[1]);
    weft_tensor repeated = weft_broadcast(kernels, (weft_shape){batch + 2 + count, extents});
    weft_ints paired = weft_axis_list_ints(&batches);
    weft_tensor result =
        weft_dot(repeated, weft_spatial_windows(grouped, c->sizes, &spatial),
                 (weft_dot_axes){paired, paired, weft_axis_list_ints(&kernel), weft_axis_list_ints(&window)});
    return batch == 1 ? result : weft_composite_ravel(result, 1, 3);
}

/* `result`, with a rule of its own where the kernel has known sizes. */
static weft_tensor convolution_as(const weft_convolution *c, weft_tensor result)
{
    int64_t size, groups;
    const weft_spatial *s = &c->spatial;
    bool known = weft_extent_is_static(c->groups, &groups);
    for (size_t i = 0; i < s->count; i++) known = known && weft_extent_is_static(c->sizes[i], &size);
    if (!known) return result;
    const weft_attr attrs[] = {{.ints = {s->count, s->stride}},
                               {.ints = {s->count, s->dilation}},
                               {.ints = {s->count, s->low}},
                               {.ints = {s->count, s->high}},
                               {.integer = groups}};
    return weft_composite_as(WEFT_COMPOSED_conv, WEFT_TENSORS(c->x, c->w), attrs, result);
}

weft_tensor weft_conv_product(const weft_convolution *c, weft_tensor padded)
{
    bool depthwise = weft_extent_is_value(c->in, 1) && weft_extent_is_value(c->out, 1);
    return depthwise ? multiply_depthwise(c, padded) : multiply_groups(c, padded);
}

weft_tensor weft_conv_add_bias(weft_tensor result, weft_tensor bias)
{
    if (weft_composite_is_absent(bias)) return result;
    return weft_add(result, weft_composite_align(bias, 1, weft_tensor_rank(result)));
}

static weft_tensor conv(weft_tensor x, weft_tensor w, const weft_conv_options *options)
{
    weft_conv_options o = options == NULL ? (weft_conv_options){.groups = 1} : *options;
    weft_convolution c;
    if (!weft_conv_begin("conv", x, w, &o, &c) || !weft_spatial_wants_room("conv", x, &c.spatial) ||
        !weft_conv_divide("conv", "of the operand", x.graph, weft_tensor_extent(x, 1), o.groups, &c.in) ||
        !weft_conv_divide("conv", "of the result", x.graph, weft_tensor_extent(w, 0), o.groups, &c.out) ||
        !weft_conv_wants_bias("conv", o.bias, x, weft_tensor_extent(w, 0))) {
        return weft_trace_failed(WEFT_TENSORS(x, w));
    }
    weft_extent own = weft_tensor_extent(w, 1);
    if (!weft_require_equal(x.graph, own, c.in, "conv: the kernel has %s channels but each group of the operand %s",
                            weft_extent_describe(own).text, weft_extent_describe(c.in).text)) {
        return weft_tensor_failed(x.graph);
    }
    weft_tensor padded = weft_spatial_pad(x, weft_scalar_like(x, 0), &c.spatial, NULL);
    return weft_conv_add_bias(convolution_as(&c, weft_conv_product(&c, padded)), o.bias);
}

weft_tensor weft_conv(weft_tensor x, weft_tensor w, const weft_conv_options *options)
{
    weft_guard_scope scope = weft_guards_open(x.graph);
    weft_tensor result = conv(x, w, options);
    weft_guards_close(scope, 1, &result);
    return result;
}

/* ---- windows alone ---- */

weft_tensor weft_unfold(weft_tensor x, weft_ints size, const weft_conv_options *options)
{
    weft_conv_options o = options == NULL ? (weft_conv_options){.groups = 1} : *options;
    size_t rank = weft_tensor_rank(x), count = rank - 2;
    int64_t known[WEFT_MAX_RANK];
    weft_extent sizes[WEFT_MAX_RANK];
    weft_spatial spatial;
    if (!weft_composite_begin("unfold", 1, 1, &x) || !check_rank("unfold", x) ||
        !weft_spatial_read(x.graph, "unfold", "size", size, count, 1, 1, known) ||
        !weft_spatial_fill(x.graph, "unfold", 2, count, o.stride, o.dilation, o.low, o.high, &spatial) ||
        !weft_spatial_wants_room("unfold", x, &spatial)) {
        return weft_tensor_failed(x.graph);
    }
    int64_t reach;
    for (size_t i = 0; i < count; i++) {
        sizes[i] = weft_extent_of(known[i]);
        if (!weft_spatial_reach(x.graph, "unfold", &spatial, i, known[i], &reach)) return weft_tensor_failed(x.graph);
    }
    weft_tensor padded = weft_spatial_pad(x, weft_scalar_like(x, 0), &spatial, NULL);
    weft_tensor windows = weft_spatial_windows_first(padded, sizes, &spatial);
    return weft_composite_ravel(weft_composite_ravel(windows, 2 + count, 2 + 2 * count), 1, 2 + count);
}
