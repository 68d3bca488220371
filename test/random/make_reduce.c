/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, scans, order and statistics. */
#include <math.h>
#include "test/random/make.h"

#define UNUSED (void)g, (void)call, (void)x

MAKE(reduce)
{
    drawn_ints axes = draw_axes(g, x, !draw_chance(g, 8));
    return ((weft_tensor(*)(weft_tensor, weft_ints, bool))call->function)(x, INTS(axes), draw_chance(g, 3));
}

MAKE(arg)
{
    return ((weft_tensor(*)(weft_tensor, int64_t, bool))call->function)(x, draw_axis(g, x), draw_chance(g, 3));
}

MAKE(along)
{
    return ((weft_tensor(*)(weft_tensor, int64_t))call->function)(x, draw_axis(g, x));
}

MAKE(scan)
{
    return ((weft_tensor(*)(weft_tensor, int64_t, bool, bool))call->function)(x, draw_axis(g, x), draw_chance(g, 2),
                                                                              draw_chance(g, 3));
}

/* With a factor for all, for each place along the last axis, or for each element. */
MAKE(scan_linear)
{
    UNUSED;
    static const double factors[] = {1, 0, 2, 0.5, -1};
    int64_t axis = draw_axis(g, x);
    bool reverse = draw_chance(g, 2);
    drawn_shape shape = draw_shape_of(x);
    switch (draw_below(g, 4)) {
    case 0: return weft_scan_linear(draw_filled(x, factors[draw_below(g, 5)]), x, axis, reverse);
    case 1: return weft_scan_linear(x, draw_filled(x, 1), axis, reverse);
    case 2: return weft_scan_linear(x, x, axis, reverse);
    default: return weft_scan_linear(draw_like(g, weft_tensor_dtype(x), SHAPE(shape), false), x, axis, reverse);
    }
}

MAKE(sort)
{
    return ((weft_tensor(*)(weft_tensor, int64_t, bool))call->function)(x, draw_axis(g, x), draw_chance(g, 2));
}

MAKE(variance)
{
    drawn_ints axes = draw_axes(g, x, true);
    return ((weft_tensor(*)(weft_tensor, weft_ints, int64_t, bool))call->function)(x, INTS(axes), draw_small(g, 2),
                                                                                   draw_chance(g, 3));
}

MAKE(norm)
{
    UNUSED;
    static const double orders[] = {2, 1, 0, INFINITY, -INFINITY, 3, 0.5};
    drawn_ints axes = draw_axes(g, x, true);
    double order = draw_mistake(g) ? NAN : orders[draw_below(g, sizeof orders / sizeof *orders)];
    return weft_norm(x, INTS(axes), order, draw_chance(g, 2));
}

MAKE(quantile)
{
    UNUSED;
    static const double shares[] = {0, 0.25, 0.5, 0.9, 1};
    return weft_quantile(x, draw_mistake(g) ? 1.5 : shares[draw_below(g, 5)], draw_axis(g, x), draw_chance(g, 3));
}

MAKE(top_k)
{
    UNUSED;
    weft_tensor indices = WEFT_NO_TENSOR;
    int64_t axis = draw_axis(g, x), least = draw_least(weft_tensor_extent(x, axis));
    weft_extent k =
        draw_mistake(g) ? draw_extent(g) : weft_extent_of((int64_t)draw_below(g, (size_t)(least > 0 ? least : 0) + 1));
    weft_tensor made = weft_top_k(x, axis, k, draw_chance(g, 2), draw_chance(g, 3) ? NULL : &indices);
    draw_keep(g, indices);
    return made;
}

MAKE(searchsorted)
{
    UNUSED;
    drawn_shape shape = draw_shape_of(x);
    if (shape.rank == 0) return WEFT_NO_TENSOR;
    weft_tensor sorted = weft_sort(x, -1, false);
    shape.extents[shape.rank - 1] = draw_extent(g);
    if (shape.rank == 1) shape = draw_shape(g, 2);
    return weft_searchsorted(sorted, draw_like(g, weft_tensor_dtype(x), SHAPE(shape), false), draw_chance(g, 2));
}

MAKE(bincount)
{
    UNUSED;
    weft_tensor weights = WEFT_NO_TENSOR;
    if (draw_chance(g, 2)) weights = draw_like(g, draw_dtype(g, DRAW_NUMERIC), weft_tensor_shape(x), true);
    return weft_bincount(x, draw_extent(g), weights);
}

MAKE(unique)
{
    UNUSED;
    weft_tensor counts = WEFT_NO_TENSOR;
    weft_tensor made = weft_unique(x, draw_extent(g), draw_chance(g, 3) ? NULL : &counts);
    draw_keep(g, counts);
    return made;
}

MAKE(histogram)
{
    UNUSED;
    return weft_histogram(x, draw_small(g, 7) + !draw_mistake(g), -4, draw_mistake(g) ? -5 : 4);
}
