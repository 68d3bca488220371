/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/composite/spatial.h"
#include <inttypes.h>

bool weft_spatial_read(weft_graph *graph, const char *function, const char *name, weft_ints given, size_t count,
                       int64_t least, int64_t value, int64_t *out_items)
{
    if (!weft_trace_wants_list(function, name, graph, given.count, given.items)) return false;
    if (given.count != 0 && given.count != count) {
        weft_trace_fail(graph, WEFT_INVALID_ARGUMENT, function, "%s has length %zu but the spatial rank is %zu", name,
                        given.count, count);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        out_items[i] = given.count == 0 ? value : given.items[i];
        if (out_items[i] >= least) continue;
        weft_trace_fail(graph, WEFT_INVALID_ARGUMENT, function, "%s[%zu] is %" PRId64 ", below %" PRId64, name, i,
                        out_items[i], least);
        return false;
    }
    return true;
}

bool weft_spatial_fill(weft_graph *graph, const char *function, size_t first, size_t count, weft_ints stride,
                       weft_ints dilation, weft_ints low, weft_ints high, weft_spatial *out_spatial)
{
    out_spatial->first = first;
    out_spatial->count = count;
    return weft_spatial_read(graph, function, "stride", stride, count, 1, 1, out_spatial->stride) &&
           weft_spatial_read(graph, function, "dilation", dilation, count, 1, 1, out_spatial->dilation) &&
           weft_spatial_read(graph, function, "low", low, count, 0, 0, out_spatial->low) &&
           weft_spatial_read(graph, function, "high", high, count, 0, 0, out_spatial->high);
}

bool weft_spatial_wants_room(const char *function, weft_tensor x, const weft_spatial *spatial)
{
    for (size_t i = 0; i < spatial->count; i++) {
        weft_extent extent = weft_tensor_extent(x, (int64_t)(spatial->first + i));
        weft_extent padded = weft_extent_plus(weft_extent_plus(extent, spatial->low[i]), spatial->high[i]);
        if (weft_extent_is_valid(padded)) continue;
        weft_trace_fail(x.graph, WEFT_OUT_OF_RANGE, function,
                        "low[%zu] is %" PRId64 " and high[%zu] %" PRId64
                        ", whose sum with extent %s of axis %zu does not fit an int64",
                        i, spatial->low[i], i, spatial->high[i], weft_extent_describe(extent).text, spatial->first + i);
        return false;
    }
    return true;
}

bool weft_spatial_reach(weft_graph *graph, const char *function, const weft_spatial *spatial, size_t i, int64_t size,
                        int64_t *out_reach)
{
    bool overflows = __builtin_mul_overflow(spatial->dilation[i], size - 1, out_reach);
    if (!overflows && *out_reach < INT64_MAX) return true;
    weft_trace_fail(graph, WEFT_OUT_OF_RANGE, function,
                    "windows of size %" PRId64 " with dilation %" PRId64
                    " are longer than 2^63 - 1 along spatial axis %zu",
                    size, spatial->dilation[i], i);
    return false;
}

weft_tensor weft_spatial_pad(weft_tensor x, weft_tensor value, const weft_spatial *spatial, const weft_extent *more)
{
    weft_extent low[WEFT_MAX_RANK], high[WEFT_MAX_RANK];
    size_t rank = weft_tensor_rank(x);
    bool pads = false;
    for (size_t i = 0; i < rank; i++) low[i] = high[i] = weft_extent_of(0);
    for (size_t i = 0; i < spatial->count; i++) {
        weft_extent *end = &high[spatial->first + i];
        low[spatial->first + i] = weft_extent_of(spatial->low[i]);
        *end = weft_extent_of(spatial->high[i]);
        if (more != NULL) *end = weft_extent_add(*end, more[i]);
        pads = pads || spatial->low[i] > 0 || !weft_extent_is_value(*end, 0);
    }
    return pads ? weft_pad(x, value, (weft_shape){rank, low}, (weft_shape){rank, high}) : x;
}

weft_tensor weft_spatial_windows(weft_tensor x, const weft_extent *sizes, const weft_spatial *spatial)
{
    for (size_t i = 0; i < spatial->count; i++) {
        x = weft_window(x, (int64_t)(spatial->first + i), sizes[i], spatial->stride[i], spatial->dilation[i]);
    }
    return x;
}

weft_tensor weft_spatial_windows_first(weft_tensor x, const weft_extent *sizes, const weft_spatial *spatial)
{
    weft_axis_list axes = {.count = 0};
    size_t first = spatial->first, count = spatial->count;
    x = weft_spatial_windows(x, sizes, spatial);
    for (size_t i = 0; i < first; i++) axes.items[axes.count++] = (int64_t)i;
    for (size_t i = 0; i < count; i++) axes.items[axes.count++] = (int64_t)(first + count + i);
    for (size_t i = 0; i < count; i++) axes.items[axes.count++] = (int64_t)(first + i);
    return weft_permute(x, weft_axis_list_ints(&axes));
}

weft_extent weft_spatial_spread_extent(weft_extent extent, int64_t stride)
{
    weft_extent last = weft_extent_plus(weft_extent_times(extent, stride), 1 - stride);
    return weft_extent_max(last, weft_extent_of(0));
}

weft_tensor weft_spatial_pad_after(weft_tensor x, size_t axis, weft_extent count)
{
    weft_extent low[WEFT_MAX_RANK], high[WEFT_MAX_RANK];
    size_t rank = weft_tensor_rank(x);
    for (size_t i = 0; i < rank; i++) {
        low[i] = weft_extent_of(0);
        high[i] = i == axis ? count : weft_extent_of(0);
    }
    return weft_pad(x, weft_scalar_like(x, 0), (weft_shape){rank, low}, (weft_shape){rank, high});
}

weft_tensor weft_spatial_spread(weft_tensor x, size_t axis, int64_t stride)
{
    weft_extent extent = weft_tensor_extent(x, (int64_t)axis);
    if (stride == 1 || !weft_tensor_is_valid(x)) return x;
    weft_extent apart[] = {extent, weft_extent_of(1)};
    weft_tensor column = weft_composite_unravel(x, axis, 2, apart);
    weft_tensor padded = weft_spatial_pad_after(column, axis + 1, weft_extent_of(stride - 1));
    return weft_narrow(weft_composite_ravel(padded, axis, axis + 2), (int64_t)axis, weft_extent_of(0),
                       weft_spatial_spread_extent(extent, stride));
}

weft_tensor weft_spatial_resize(weft_tensor x, size_t axis, int64_t low, weft_extent high)
{
    weft_extent lows[WEFT_MAX_RANK], highs[WEFT_MAX_RANK], none = weft_extent_of(0);
    size_t rank = weft_tensor_rank(x);
    if (!weft_tensor_is_valid(x) || (low == 0 && weft_extent_is_value(high, 0))) return x;
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
