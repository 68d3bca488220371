/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling: a reduction over windows. */
#include <weft/conv.h>
#include <inttypes.h>
#include <math.h>
#include "lib/composite/spatial.h"

typedef struct pooling {
    weft_spatial spatial;
    int64_t known[WEFT_MAX_RANK];                          /* the sizes */
    weft_extent sizes[WEFT_MAX_RANK], more[WEFT_MAX_RANK]; /* what the last window needs beyond the padding */
} pooling;

/* How far the last window, of `length`, that begins before the high padding reaches beyond it. */
static weft_extent reach_beyond(const pooling *p, size_t i, weft_extent extent, int64_t length)
{
    const weft_spatial *s = &p->spatial;
    weft_extent before = weft_extent_plus(extent, s->low[i]), all = weft_extent_plus(before, s->high[i]);
    weft_extent fitting = weft_extent_plus(weft_extent_ceil_div(weft_extent_plus(all, -length), s->stride[i]), 1);
    weft_extent count = weft_extent_min(fitting, weft_extent_ceil_div(before, s->stride[i]));
    weft_extent end = weft_extent_plus(weft_extent_times(weft_extent_plus(count, -1), s->stride[i]), length);
    return weft_extent_max(weft_extent_sub(end, all), weft_extent_of(0));
}

static bool begin(const char *function, weft_tensor x, const weft_pool_options *options, pooling *out_p)
{
    int64_t *sizes = out_p->known, reach;
    if (!weft_composite_begin(function, 1, 1, &x)) return false;
    if (options == NULL || options->size.count == 0) {
        weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, function, "%s", "the windows have no size");
        return false;
    }
    size_t count = options->size.count, rank = weft_tensor_rank(x);
    if (!weft_composite_wants_rank(function, "the operand", x, count)) return false;
    if (rank + count > WEFT_MAX_RANK) {
        weft_trace_fail(x.graph, WEFT_UNSUPPORTED, function, "rank %zu with %zu spatial axes is over %d", rank, count,
                        WEFT_MAX_RANK);
        return false;
    }
    weft_ints stride = options->stride.count == 0 ? options->size : options->stride;
    if (!weft_spatial_read(x.graph, function, "size", options->size, count, 1, 1, sizes) ||
        !weft_spatial_fill(x.graph, function, rank - count, count, stride, options->dilation, options->low,
                           options->high, &out_p->spatial) ||
        !weft_spatial_wants_room(function, x, &out_p->spatial)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        weft_extent extent = weft_tensor_extent(x, (int64_t)(rank - count + i));
        out_p->sizes[i] = weft_extent_of(sizes[i]);
        if (!weft_spatial_reach(x.graph, function, &out_p->spatial, i, sizes[i], &reach)) return false;
        out_p->more[i] = options->ceil_mode ? reach_beyond(out_p, i, extent, reach + 1) : weft_extent_of(0);
        if (weft_extent_is_valid(out_p->more[i])) continue;
        weft_trace_fail(x.graph, WEFT_OUT_OF_RANGE, function,
                        "where the last window along spatial axis %zu ends does not fit an int64", i);
        return false;
    }
    return true;
}

typedef weft_tensor (*reduction)(weft_tensor x, weft_ints axes, bool keep);

static weft_tensor pool(weft_tensor x, const pooling *p, weft_tensor padding, reduction reduce)
{
    size_t first = p->spatial.first;
    weft_axis_list axes = weft_axis_range(first, first + p->spatial.count);
    weft_tensor padded = weft_spatial_pad(x, padding, &p->spatial, p->more);
    return reduce(weft_spatial_windows_first(padded, p->sizes, &p->spatial), weft_axis_list_ints(&axes), false);
}

weft_tensor weft_spatial_sum(weft_tensor x, const int64_t *sizes, const weft_spatial *spatial, const weft_extent *more)
{
    pooling p = {.spatial = *spatial};
    size_t count = spatial->count;
    for (size_t i = 0; i < count; i++) {
        p.sizes[i] = weft_extent_of(sizes[i]);
        p.more[i] = more[i];
    }
    const weft_attr attrs[] = {
        {.ints = {count, sizes}},        {.ints = {count, spatial->stride}}, {.ints = {count, spatial->dilation}},
        {.ints = {count, spatial->low}}, {.ints = {count, spatial->high}},   {.extents = {count, more}}};
    weft_tensor sum = pool(x, &p, weft_scalar_like(x, 0), weft_reduce_sum);
    return weft_composite_as(WEFT_COMPOSED_window_sum, WEFT_TENSORS(x), attrs, sum);
}

/* What no element is less than; casts of -inf saturate. */
static weft_tensor least_like(weft_tensor x)
{
    return weft_scalar_like(x, weft_tensor_dtype(x) == WEFT_BOOL ? 0 : -INFINITY);
}

weft_tensor weft_max_pool(weft_tensor x, const weft_pool_options *options)
{
    pooling p;
    if (!begin("max_pool", x, options, &p)) return weft_tensor_failed(x.graph);
    return pool(x, &p, least_like(x), weft_reduce_max);
}

/* How many elements the windows along spatial axis `i` count, as a vector aligned with that axis of `x`. */
static weft_tensor count_along(weft_tensor x, const pooling *p, size_t i, bool include_pad, weft_tensor like)
{
    const weft_spatial *s = &p->spatial;
    weft_extent extent = weft_tensor_extent(x, (int64_t)(s->first + i));
    pooling line = {.spatial = {.first = 0,
                                .count = 1,
                                .stride = {s->stride[i]},
                                .dilation = {s->dilation[i]},
                                .low = {include_pad ? 0 : s->low[i]},
                                .high = {include_pad ? 0 : s->high[i]}},
                    .sizes = {p->sizes[i]},
                    .more = {p->more[i]}};
    if (include_pad) extent = weft_extent_plus(weft_extent_plus(extent, s->low[i]), s->high[i]);
    weft_tensor ones = weft_broadcast(weft_scalar_like(like, 1), WEFT_SHAPE(extent));
    weft_tensor counts = pool(ones, &line, weft_scalar_like(like, 0), weft_reduce_sum);
    return weft_composite_align(counts, s->first + i, weft_tensor_rank(x));
}

weft_tensor weft_average_pool(weft_tensor x, const weft_pool_options *options)
{
    pooling p;
    if (!begin("average_pool", x, options, &p) || !weft_composite_wants_float("average_pool", "the operand", x)) {
        return weft_tensor_failed(x.graph);
    }
    weft_tensor wide = weft_composite_widen(x), counts = weft_scalar_like(wide, 1);
    weft_tensor sum = weft_spatial_sum(wide, p.known, &p.spatial, p.more);
    for (size_t i = 0; i < p.spatial.count; i++) {
        bool pads = !options->count_include_pad && (p.spatial.low[i] > 0 || p.spatial.high[i] > 0);
        bool varies = pads || !weft_extent_is_value(p.more[i], 0);
        weft_tensor along =
            varies ? count_along(x, &p, i, options->count_include_pad, wide) : weft_extent_like(wide, p.sizes[i]);
        counts = weft_mul(counts, along);
    }
    return weft_composite_cast(weft_div(sum, counts), weft_tensor_dtype(x));
}

/* ---- adaptive ---- */

/* The elements of each output along `axis` as a new axis after it: gathered, with `padding` after the last. */
static weft_tensor gather_bins(weft_tensor x, size_t axis, int64_t size, weft_tensor padding, weft_tensor *out_counts)
{
    weft_extent extent = weft_tensor_extent(x, (int64_t)axis);
    weft_extent most = weft_extent_plus(weft_extent_ceil_div(extent, size), 1);
    weft_extent bins[] = {weft_extent_of(size), weft_extent_of(1)}, all[] = {bins[0], most};
    weft_tensor i = weft_iota(x.graph, WEFT_I64, (weft_shape){2, bins}, 0);
    weft_tensor k = weft_iota(x.graph, WEFT_I64, (weft_shape){2, all}, 1);
    weft_tensor n = weft_extent_like(i, extent), outputs = weft_extent_like(i, bins[0]), one = weft_scalar_like(i, 1);
    weft_tensor start = weft_div(weft_mul(i, n), outputs);
    weft_tensor above = weft_add(weft_mul(weft_add(i, one), n), weft_sub(outputs, one));
    weft_tensor count = weft_sub(weft_div(above, outputs), start);
    weft_tensor places = weft_min(weft_add(start, k), weft_sub(n, one));
    weft_tensor elements = weft_gather(x, places, (int64_t)axis);
    if (!weft_tensor_is_valid(elements)) return elements;
    *out_counts = weft_composite_align(weft_reshape(count, (weft_shape){1, bins}), axis, weft_tensor_rank(x));
    weft_tensor inside = weft_composite_align(weft_lt(k, count), axis, weft_tensor_rank(elements));
    return weft_select(inside, elements, padding);
}

static bool begin_adaptive(const char *function, weft_tensor x, weft_ints sizes)
{
    int64_t known[WEFT_MAX_RANK];
    return weft_composite_begin(function, 1, 1, &x) &&
           weft_composite_wants_rank(function, "the operand", x, sizes.count) &&
           weft_spatial_read(x.graph, function, "sizes", sizes, sizes.count, 1, 1, known);
}

/* One axis after the other, also the means: all windows along one axis have as many elements as the others. */
static weft_tensor pool_adaptive(weft_tensor x, weft_ints sizes, weft_tensor padding, reduction reduce, bool averages)
{
    for (size_t i = 0; i < sizes.count && weft_tensor_is_valid(x); i++) {
        size_t axis = weft_tensor_rank(x) - sizes.count + i;
        weft_tensor counts = padding;
        weft_tensor bins = gather_bins(x, axis, sizes.items[i], padding, &counts);
        x = reduce(bins, WEFT_INTS((int64_t)axis + 1), false);
        if (averages) x = weft_div(x, weft_composite_cast(counts, weft_tensor_dtype(x)));
    }
    return x;
}

weft_tensor weft_adaptive_max_pool(weft_tensor x, weft_ints sizes)
{
    if (!begin_adaptive("adaptive_max_pool", x, sizes)) return weft_tensor_failed(x.graph);
    return pool_adaptive(x, sizes, least_like(x), weft_reduce_max, false);
}

weft_tensor weft_adaptive_average_pool(weft_tensor x, weft_ints sizes)
{
    if (!begin_adaptive("adaptive_average_pool", x, sizes) ||
        !weft_composite_wants_float("adaptive_average_pool", "the operand", x)) {
        return weft_tensor_failed(x.graph);
    }
    weft_tensor wide = weft_composite_widen(x);
    weft_tensor result = pool_adaptive(wide, sizes, weft_scalar_like(wide, 0), weft_reduce_sum, true);
    return weft_composite_cast(result, weft_tensor_dtype(x));
}
