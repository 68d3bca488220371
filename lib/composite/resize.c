/* SPDX-License-Identifier: Apache-2.0 */
/* Resizing, one axis after the other: which elements each output takes does not depend on the other axes. */
#include <weft/conv.h>
#include <weft/shape.h>
#include "lib/composite/composite.h"
#include "runtime/base/float_mode.h"

typedef struct target {
    weft_extent from, to;
    const double *scale; /* or NULL */
    const weft_resize_options *options;
} target;

static weft_tensor real(weft_graph *graph, double value)
{
    return weft_scalar(graph, WEFT_F64, value);
}

/* i * a / b in f64: the product is exact, so that where the quotient is whole or a half it is so to the bit. */
static weft_tensor share_of(weft_tensor i, weft_extent a, weft_extent b)
{
    return weft_div(weft_mul(i, weft_extent_like(i, a)), weft_extent_like(i, b));
}

/* Where each output lies, as f64[to]; may be outside. */
static weft_tensor coordinates(weft_graph *graph, const target *t)
{
    weft_tensor i = weft_iota(graph, WEFT_F64, (weft_shape){1, &t->to}, 0), half = real(graph, 0.5);
    if (t->options->coordinates == WEFT_RESIZE_ALIGN_CORNERS) {
        weft_extent gaps = weft_extent_max(weft_extent_plus(t->to, -1), weft_extent_of(1));
        return share_of(i, weft_extent_plus(t->from, -1), gaps);
    }
    bool centers = t->options->coordinates == WEFT_RESIZE_HALF_PIXEL;
    if (centers) i = weft_add(i, half);
    weft_tensor place = t->scale != NULL ? weft_div(i, real(graph, *t->scale)) : share_of(i, t->from, t->to);
    return centers ? weft_sub(place, half) : place;
}

/* Between 0 and the last element. */
static weft_tensor keep_inside(weft_tensor place, const target *t)
{
    weft_tensor last = weft_extent_like(place, weft_extent_plus(t->from, -1));
    return weft_max(weft_min(place, last), weft_scalar_like(place, 0));
}

/*
 * How many outputs take each element where it is the same number for all, in order; 0: that is not known. Of k outputs
 * an element, coordinate i / k is rounded down, and (i + 1/2) / k is never whole, which would be a half.
 */
static int64_t repetitions(const target *t)
{
    int64_t least, most, count;
    weft_extent_range(t->from, &least, &most);
    if (t->options->coordinates == WEFT_RESIZE_ALIGN_CORNERS || least < 1) return 0;
    if (!weft_extent_is_static(weft_extent_div(t->to, t->from), &count) || count < 1) return 0;
    bool is_whole = weft_extent_equal(t->to, weft_extent_times(t->from, count));
    return is_whole && (t->scale == NULL || *t->scale == (double)count) ? count : 0;
}

/* Coordinates are above -1/2, so that casting rounds down. */
static weft_tensor nearest(weft_tensor x, size_t axis, const target *t)
{
    int64_t count = weft_tensor_rank(x) < WEFT_MAX_RANK ? repetitions(t) : 0;
    if (count > 0) return weft_repeat(x, (int64_t)axis, weft_extent_of(count));
    weft_tensor at = coordinates(x.graph, t), half = real(x.graph, 0.5);
    bool down = t->options->coordinates == WEFT_RESIZE_ASYMMETRIC;
    weft_tensor place = weft_cast(down ? at : weft_add(at, half), WEFT_I64);
    if (!down && t->options->prefer_floor) {
        weft_tensor is_half = weft_eq(weft_sub(weft_cast(place, WEFT_F64), at), half);
        place = weft_sub(place, weft_cast(is_half, WEFT_I64));
    }
    return weft_gather(x, keep_inside(place, t), (int64_t)axis);
}

static weft_tensor linear(weft_tensor x, size_t axis, const target *t)
{
    weft_tensor at = keep_inside(coordinates(x.graph, t), t);
    weft_tensor place = weft_cast(at, WEFT_I64), next = weft_add(place, weft_scalar_like(place, 1));
    weft_tensor share = weft_composite_cast(weft_sub(at, weft_cast(place, WEFT_F64)), weft_tensor_dtype(x));
    weft_tensor a = weft_gather(x, place, (int64_t)axis), b = weft_gather(x, keep_inside(next, t), (int64_t)axis);
    weft_tensor aligned = weft_composite_align(share, axis, weft_tensor_rank(x));
    return weft_add(a, weft_mul(weft_sub(b, a), aligned));
}

/* Where the axis is to have some. */
static bool has_elements(weft_graph *graph, size_t axis, const target *t)
{
    int64_t least, most;
    weft_extent_range(t->to, &least, &most);
    return least < 1 ||
           weft_require_at_most(graph, weft_extent_of(1), t->from,
                                "resize: axis %zu of the operand has extent %s, which cannot become %s", axis,
                                weft_extent_describe(t->from).text, weft_extent_describe(t->to).text);
}

WEFT_PLAIN_FUNCTION(weft_tensor, weft_resize, (weft_tensor x, weft_shape sizes, const weft_resize_options *options),
                    (x, sizes, options))
{
    weft_resize_options o = options == NULL ? (weft_resize_options){.scales = NULL} : *options;
    bool blends = o.mode == WEFT_RESIZE_LINEAR;
    if (!weft_composite_begin("resize", 1, 1, &x) ||
        !weft_composite_wants_rank("resize", "the operand", x, sizes.rank) ||
        !weft_composite_wants_counts(x.graph, "resize", "sizes", sizes) ||
        (blends && !weft_composite_wants_float("resize", "the operand", x))) {
        return weft_tensor_failed(x.graph);
    }
    if ((unsigned)o.mode > WEFT_RESIZE_LINEAR)
        return weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, "resize", "mode is %d, not a weft_resize_mode",
                               (int)o.mode);
    if ((unsigned)o.coordinates > WEFT_RESIZE_ASYMMETRIC)
        return weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, "resize",
                               "coordinates is %d, not a weft_resize_coordinates", (int)o.coordinates);
    weft_tensor result = blends ? weft_composite_widen(x) : x;
    for (size_t i = 0; i < sizes.rank && weft_tensor_is_valid(result); i++) {
        size_t axis = weft_tensor_rank(x) - sizes.rank + i;
        target t = {weft_tensor_extent(x, (int64_t)axis), sizes.extents[i], o.scales == NULL ? NULL : &o.scales[i], &o};
        if (t.scale != NULL && !(*t.scale > 0)) {
            return weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, "resize", "scales[%zu] is %g, not positive", i,
                                   *t.scale);
        }
        if (weft_extent_equal(t.from, t.to) && t.scale == NULL) continue;
        if (!has_elements(x.graph, axis, &t)) return weft_tensor_failed(x.graph);
        result = blends ? linear(result, axis, &t) : nearest(result, axis, &t);
    }
    return weft_composite_cast(result, weft_tensor_dtype(x));
}
