/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transposed convolution. Along an axis with a stride, elements q * stride + r of the result are a convolution of their
 * own for each phase r: at q, of the operand with elements r, r + stride, ... of the kernel, from its other end. So
 * nothing is multiplied with zeros between elements; the phases are interleaved at last. One product computes them all,
 * as more channels, where kernels of all phases are as long as the longest at little expense. A single element times
 * the kernel is a product as it is.
 */
#include "lib/composite/conv.h"
#include <inttypes.h>
#include <stdio.h>
#include <weft/linear.h>
#include <weft/shape.h>

/* ---- phases ---- */

enum way { JOINED, APART, SPREAD };

/* Products that are made apart. */
enum { MOST_APART = 32 };

typedef struct transposed {
    weft_tensor x, w; /* x with so many zeros around it that each element of the result has its window */
    weft_spatial spatial;
    int64_t groups, sizes[WEFT_MAX_RANK];
    int64_t phases[WEFT_MAX_RANK];     /* that have elements of the kernel */
    int64_t parts[WEFT_MAX_RANK];      /* of the kernel in the longest phase */
    weft_extent blocks[WEFT_MAX_RANK]; /* elements of a phase */
} transposed;

static int64_t divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

/*
 * What takes least: multiplications for each element of a phase and channel of x, with windows that are copied, which
 * takes as long as some rows (`packing`). Depthwise ones are loops over the places, of which more channels would make
 * small products.
 */
static enum way choose(const transposed *t)
{
    const double packing = 16, most_joined = 65536;
    double apart = 1, joined = 1, spread = 1, phases = 1;
    int64_t least, rows, channels;
    for (size_t i = 0; i < t->spatial.count; i++) {
        int64_t stride = t->spatial.dilation[i] == 1 ? t->spatial.stride[i] : 1;
        int64_t own = stride < t->sizes[i] ? stride : t->sizes[i];
        phases *= (double)own;
        apart *= (double)t->sizes[i];
        joined *= (double)divide_up(t->sizes[i], stride);
        spread *= (double)stride;
    }
    weft_extent_range(weft_tensor_extent(t->w, 1), &least, &rows);
    weft_extent_range(weft_tensor_extent(t->w, 0), &least, &channels);
    bool depthwise = rows == 1 && channels == t->groups;
    spread *= apart * ((double)rows + packing);
    apart *= (double)rows + packing;
    joined *= (double)rows * phases + packing;
    bool may_join = phases <= most_joined && (phases == 1 || !depthwise), may_part = phases <= MOST_APART;
    if (may_join && joined <= (may_part ? apart : spread)) return JOINED;
    return may_part ? APART : SPREAD;
}

static void fill_axis(transposed *t, size_t i, enum way way, weft_extent extent)
{
    size_t axis = 2 + i;
    int64_t *stride = &t->spatial.stride[i], *dilation = &t->spatial.dilation[i], low = t->spatial.low[i];
    if (*stride > 1 && (way == SPREAD || *dilation > 1)) {
        t->x = weft_spatial_spread(t->x, axis, *stride);
        *stride = 1;
    }
    int64_t first = low / *stride;
    t->phases[i] = *stride < t->sizes[i] ? *stride : t->sizes[i];
    t->parts[i] = divide_up(t->sizes[i], *stride);
    t->blocks[i] = extent;
    if (*stride > 1)
        t->blocks[i] = weft_extent_plus(weft_extent_ceil_div(weft_extent_plus(extent, low), *stride), -first);
    weft_extent after = weft_extent_sub(weft_extent_plus(t->blocks[i], first), weft_tensor_extent(t->x, (int64_t)axis));
    t->x = weft_spatial_resize(t->x, axis, *dilation * (t->parts[i] - 1) - first, after);
}

/* ---- products ---- */

/* `x` with zeros after the elements of an axis, so that there are `size` of them where there were `own`. */
static weft_tensor lengthen(weft_tensor x, size_t axis, int64_t own, int64_t size)
{
    return own == size ? x : weft_spatial_resize(x, axis, 0, weft_extent_of(size - own));
}

/* The kernel [c, o / groups, k...] as that of a convolution, [o * phases, c / groups, parts...], from its other end. */
static weft_tensor turn(weft_tensor w, const transposed *t, const int64_t *phases, const int64_t *parts)
{
    size_t count = t->spatial.count, at = 2, inner = t->groups == 1 ? 0 : 1;
    weft_axis_list order = {.count = 0}, flipped = {.count = 0}, last;
    for (size_t i = 0; i < count; i++, at++) {
        weft_extent split[] = {weft_extent_of(parts[i]), weft_extent_of(phases[i])};
        last.items[i] = (int64_t)at;
        if (parts[i] > 1) flipped.items[flipped.count++] = (int64_t)at;
        if (phases[i] == 1) continue;
        w = weft_composite_unravel(lengthen(w, at, t->sizes[i], parts[i] * phases[i]), at, 2, split);
        order.items[order.count++] = (int64_t)++at + (int64_t)inner;
    }
    if (flipped.count > 0) w = weft_flip(w, weft_axis_list_ints(&flipped));
    if (inner > 0) {
        weft_extent groups = weft_extent_of(t->groups);
        weft_extent split[] = {groups, weft_extent_div(weft_tensor_extent(w, 0), groups)};
        w = weft_composite_unravel(w, 0, 2, split);
    }
    size_t outer = inner + 1 + order.count;
    weft_axis_list all = {.count = outer + 1 + count};
    all.items[0] = 0;
    all.items[inner] = (int64_t)inner + 1;
    for (size_t i = 0; i < order.count; i++) all.items[inner + 1 + i] = order.items[i];
    all.items[outer] = (int64_t)inner;
    for (size_t i = 0; i < count; i++) all.items[outer + 1 + i] = last.items[i] + (int64_t)inner;
    w = weft_permute(w, weft_axis_list_ints(&all));
    return outer == 1 ? w : weft_composite_ravel(w, 0, outer);
}

static weft_tensor multiply(const transposed *t, weft_tensor x, weft_tensor turned)
{
    weft_convolution c = {.x = x, .w = turned, .spatial = t->spatial, .groups = weft_extent_of(t->groups)};
    if (!weft_tensor_is_valid(x) || !weft_tensor_is_valid(turned)) return weft_tensor_failed(t->x.graph);
    c.in = weft_tensor_extent(turned, 1);
    c.out = weft_extent_div(weft_tensor_extent(turned, 0), c.groups);
    for (size_t i = 0; i < t->spatial.count; i++) {
        c.sizes[i] = weft_tensor_extent(turned, (int64_t)(2 + i));
        c.spatial.stride[i] = 1;
    }
    return weft_conv_product(&c, x);
}

/* All phases, [n, o * phases, blocks...]. */
static weft_tensor multiply_joined(const transposed *t)
{
    return multiply(t, t->x, turn(t->w, t, t->phases, t->parts));
}

/* One phase, [n, o, blocks...]: elements `first` and following of the kernel along each axis. */
static weft_tensor multiply_phase(const transposed *t, const int64_t *first)
{
    int64_t ones[WEFT_MAX_RANK], parts[WEFT_MAX_RANK], steps[WEFT_MAX_RANK];
    weft_extent starts[WEFT_MAX_RANK], sizes[WEFT_MAX_RANK];
    weft_tensor x = t->x;
    size_t count = t->spatial.count;
    for (size_t i = 0; i < 2; i++) {
        starts[i] = weft_extent_of(0);
        sizes[i] = weft_tensor_extent(t->w, (int64_t)i);
        steps[i] = 1;
    }
    for (size_t i = 0; i < count; i++) {
        ones[i] = 1;
        parts[i] = divide_up(t->sizes[i] - first[i], t->spatial.stride[i]);
        starts[2 + i] = weft_extent_of(first[i]);
        sizes[2 + i] = weft_extent_of(parts[i]);
        steps[2 + i] = t->spatial.stride[i];
        if (t->phases[i] == 1) continue;
        x = weft_narrow(x, (int64_t)(2 + i), weft_extent_of(t->parts[i] - parts[i]),
                        weft_extent_plus(t->blocks[i], parts[i] - 1));
    }
    weft_shape from = {2 + count, starts}, size = {2 + count, sizes};
    weft_tensor own = weft_slice(t->w, from, size, (weft_ints){2 + count, steps});
    return multiply(t, x, turn(own, t, ones, parts));
}

/* One after the other, [n, o, phases, blocks...]. */
static weft_tensor multiply_apart(const transposed *t)
{
    int64_t first[WEFT_MAX_RANK] = {0};
    size_t count = t->spatial.count, all = 1, made = 0;
    weft_tensor phases[MOST_APART];
    for (size_t i = 0; i < count; i++) all *= (size_t)t->phases[i];
    while (made < all) {
        phases[made++] = multiply_phase(t, first);
        for (size_t i = count; i-- > 0;) {
            if (++first[i] < t->phases[i]) break;
            first[i] = 0;
        }
    }
    return weft_stack((weft_tensors){all, phases}, 2);
}

/* ---- one element ---- */

/* Whether x has one along each axis: then no two elements of the kernel meet, and only channels are added up. */
static bool is_single(const transposed *t)
{
    if (t->groups != 1) return false;
    for (size_t i = 0; i < t->spatial.count; i++)
        if (t->spatial.dilation[i] != 1 || !weft_extent_is_value(weft_tensor_extent(t->x, (int64_t)(2 + i)), 1))
            return false;
    return true;
}

static weft_tensor multiply_single(const transposed *t, const weft_extent *extents)
{
    weft_tensor w = t->w;
    for (size_t i = 0; i < t->spatial.count; i++) {
        int64_t low = t->spatial.low[i];
        w = weft_spatial_resize(w, 2 + i, -low, weft_extent_plus(extents[i], low - t->sizes[i]));
    }
    if (!weft_tensor_is_valid(w)) return w;
    weft_tensor x = weft_composite_ravel(t->x, 1, 2 + t->spatial.count);
    return weft_tensordot(x, w, WEFT_INTS(1), WEFT_INTS(0));
}

/* ---- the result ---- */

/* [n, o, phases..., blocks...] as [n, o, blocks, phases, ...], of axes that have phases. */
static weft_tensor put_beside(const transposed *t, weft_tensor x)
{
    weft_axis_list order = {.count = 2, .items = {0, 1}};
    size_t phase = 2, block = 2;
    for (size_t i = 0; i < t->spatial.count; i++) block += t->spatial.stride[i] > 1;
    for (size_t i = 0; i < t->spatial.count; i++) {
        order.items[order.count++] = (int64_t)block++;
        if (t->spatial.stride[i] > 1) order.items[order.count++] = (int64_t)phase++;
    }
    return weft_permute(x, weft_axis_list_ints(&order));
}

/* Phases without elements of the kernel are zeros. */
static weft_tensor interleave(const transposed *t, weft_tensor x, const weft_extent *extents)
{
    x = put_beside(t, x);
    for (size_t i = 0; i < t->spatial.count && weft_tensor_is_valid(x); i++) {
        size_t axis = 2 + i;
        int64_t stride = t->spatial.stride[i];
        if (stride == 1) continue;
        x = weft_composite_ravel(lengthen(x, axis + 1, t->phases[i], stride), axis, axis + 2);
        x = weft_narrow(x, (int64_t)axis, weft_extent_of(t->spatial.low[i] % stride), extents[i]);
    }
    return x;
}

static weft_tensor scatter_phases(const transposed *t, enum way way, const weft_extent *extents)
{
    weft_extent split[WEFT_MAX_RANK] = {weft_extent_mul(weft_tensor_extent(t->w, 1), weft_extent_of(t->groups))};
    size_t count = 1;
    for (size_t i = 0; i < t->spatial.count; i++)
        if (t->spatial.stride[i] > 1) split[count++] = weft_extent_of(t->phases[i]);
    weft_tensor all = way == APART ? multiply_apart(t) : multiply_joined(t);
    if (count == 1) return all;
    all = way == APART ? weft_composite_unravel(all, 2, count - 1, split + 1)
                       : weft_composite_unravel(all, 1, count, split);
    return interleave(t, all, extents);
}

weft_tensor weft_conv_scatter(weft_tensor x, weft_tensor w, const weft_spatial *spatial, int64_t groups,
                              const weft_extent *extents)
{
    transposed t = {.x = x, .w = w, .spatial = *spatial, .groups = groups};
    if (!weft_tensor_is_valid(x) || !weft_tensor_is_valid(w)) return weft_tensor_failed(x.graph);
    for (size_t i = 0; i < spatial->count; i++) {
        if (!weft_extent_is_static(weft_tensor_extent(w, (int64_t)(2 + i)), &t.sizes[i]))
            return weft_tensor_failed(x.graph);
        if (t.sizes[i] == 1) t.spatial.dilation[i] = 1;
    }
    const weft_attr attrs[] = {{.ints = {spatial->count, spatial->stride}},
                               {.ints = {spatial->count, spatial->dilation}},
                               {.ints = {spatial->count, spatial->low}},
                               {.ints = {spatial->count, spatial->high}},
                               {.integer = groups}};
    if (is_single(&t))
        return weft_composite_as(WEFT_COMPOSED_conv_transpose, WEFT_TENSORS(x, w), attrs, multiply_single(&t, extents));
    enum way way = choose(&t);
    for (size_t i = 0; i < spatial->count; i++) fill_axis(&t, i, way, extents[i]);
    if (!weft_tensor_is_valid(t.x)) return t.x;
    return weft_composite_as(WEFT_COMPOSED_conv_transpose, WEFT_TENSORS(x, w), attrs, scatter_phases(&t, way, extents));
}

/* ---- the function ---- */

/* Along a spatial axis: how far the kernel reaches, what output_padding adds, and the padding of the convolution of
 * the spread operand. Where that is negative, elements are cut off. */
typedef struct turned_axis {
    int64_t reach, more, low, high;
} turned_axis;

/* Whether the end of an axis of the spread operand, of that extent, that has such a padding has as many elements.
 * `given` says what the caller cuts off. */
static bool check_end(weft_graph *graph, size_t axis, weft_extent extent, const turned_axis *turned, int64_t padding,
                      const char *given)
{
    if (padding >= 0) return true;
    return weft_require_at_most(graph, weft_extent_of(-padding), extent,
                                "conv_transpose: %s, but without padding axis %zu of the result has extent %s", given,
                                axis, weft_extent_describe(weft_extent_plus(extent, turned->reach)).text);
}

static bool check_ends(const weft_convolution *c, size_t i, weft_extent extent, const turned_axis *turned)
{
    char low[64], high[128];
    int64_t given = c->spatial.high[i];
    snprintf(low, sizeof low, "low[%zu] is %" PRId64, i, c->spatial.low[i]);
    if (turned->more == 0) snprintf(high, sizeof high, "high[%zu] is %" PRId64, i, given);
    else snprintf(high, sizeof high, "high[%zu] less output_padding[%zu] is %" PRId64, i, i, given - turned->more);
    return check_end(c->x.graph, i + 2, extent, turned, turned->low, low) &&
           check_end(c->x.graph, i + 2, extent, turned, turned->high, high);
}

static bool turn_axis(const weft_convolution *c, size_t i, int64_t size, int64_t more, turned_axis *out_turned)
{
    const weft_spatial *s = &c->spatial;
    turned_axis t = {.more = more};
    if (!weft_spatial_reach(c->x.graph, "conv_transpose", s, i, size, &t.reach)) return false;
    bool fits = !__builtin_sub_overflow(t.reach, s->low[i], &t.low) &&
                !__builtin_sub_overflow(t.reach, s->high[i], &t.high) &&
                !__builtin_add_overflow(t.high, more, &t.high) && t.low != INT64_MIN && t.high != INT64_MIN;
    *out_turned = t;
    if (fits) return true;
    weft_trace_fail(c->x.graph, WEFT_OUT_OF_RANGE, "conv_transpose",
                    "along spatial axis %zu the kernel reaches over %" PRId64 " elements, low is %" PRId64
                    ", high %" PRId64 " and output_padding %" PRId64 ": their sum does not fit an int64",
                    i, t.reach, s->low[i], s->high[i], more);
    return false;
}

/* The extents of the result; `high` becomes the padding of the convolution that has x for its result. */
static bool find_extents(weft_convolution *c, const int64_t *more, weft_extent *out_extents)
{
    weft_spatial *s = &c->spatial;
    for (size_t i = 0; i < s->count; i++) {
        int64_t size;
        turned_axis turned;
        if (!weft_extent_is_static(c->sizes[i], &size)) {
            weft_trace_fail(c->x.graph, WEFT_UNSUPPORTED, "conv_transpose",
                            "axis %zu of the kernel has extent %s but needs a static one", i + 2,
                            weft_extent_describe(c->sizes[i]).text);
            return false;
        }
        weft_extent extent = weft_spatial_spread_extent(weft_tensor_extent(c->x, (int64_t)(i + 2)), s->stride[i]);
        if (!turn_axis(c, i, size, more[i], &turned) || !check_ends(c, i, extent, &turned)) return false;
        weft_extent ends = weft_extent_plus(weft_extent_plus(extent, turned.low), turned.high);
        out_extents[i] = weft_extent_max(weft_extent_plus(ends, -turned.reach), weft_extent_of(0));
        s->high[i] = s->high[i] < more[i] ? 0 : s->high[i] - more[i];
    }
    return true;
}

static weft_tensor conv_transpose(weft_tensor x, weft_tensor w, const weft_conv_options *options)
{
    weft_conv_options o = options == NULL ? (weft_conv_options){.groups = 1} : *options;
    weft_convolution c;
    int64_t more[WEFT_MAX_RANK];
    weft_extent channels = weft_tensor_extent(x, 1), extents[WEFT_MAX_RANK];
    if (!weft_conv_begin("conv_transpose", x, w, &o, &c) ||
        !weft_conv_divide("conv_transpose", "of the operand", x.graph, channels, o.groups, &c.in) ||
        !weft_spatial_read(x.graph, "conv_transpose", "output_padding", o.output_padding, c.spatial.count, 0, 0,
                           more)) {
        return weft_trace_failed(WEFT_TENSORS(x, w));
    }
    weft_extent own = weft_tensor_extent(w, 0), out = weft_extent_mul(weft_tensor_extent(w, 1), c.groups);
    if (!weft_conv_wants_bias("conv_transpose", o.bias, x, out) ||
        !weft_require_equal(x.graph, own, channels, "conv_transpose: the kernel has %s channels but the operand %s",
                            weft_extent_describe(own).text, weft_extent_describe(channels).text) ||
        !find_extents(&c, more, extents)) {
        return weft_tensor_failed(x.graph);
    }
    return weft_conv_add_bias(weft_conv_scatter(x, w, &c.spatial, o.groups, extents), o.bias);
}

weft_tensor weft_conv_transpose(weft_tensor x, weft_tensor w, const weft_conv_options *options)
{
    weft_guard_scope scope = weft_guards_open(x.graph);
    weft_tensor result = conv_transpose(x, w, options);
    weft_guards_close(scope, 1, &result);
    return result;
}
