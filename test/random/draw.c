/* SPDX-License-Identifier: Apache-2.0 */
#include "test/random/draw.h"
#include <math.h>
#include <stdio.h>

size_t draw_below(generator *g, size_t count)
{
    return (size_t)weft_test_below(&g->state, count);
}

bool draw_chance(generator *g, size_t of)
{
    return draw_below(g, of) == 0;
}

bool draw_mistake(generator *g)
{
    return g->mistakes > 0 && draw_chance(g, g->mistakes);
}

/* ---- numbers and dtypes ---- */

double draw_number(generator *g)
{
    static const double numbers[] = {0, 1, -1, 0.5, 2, 0.1, 3, 1e-5, -2.5, 4, 0.75, 100};
    if (draw_chance(g, 40)) return draw_chance(g, 2) ? INFINITY : NAN;
    return numbers[draw_below(g, sizeof numbers / sizeof *numbers)];
}

int64_t draw_small(generator *g, int64_t most)
{
    if (draw_mistake(g)) return draw_chance(g, 2) ? -1 - (int64_t)draw_below(g, 3) : INT64_MAX - 8;
    return (int64_t)draw_below(g, (size_t)most + 1);
}

weft_dtype draw_dtype(generator *g, weft_dtype_set dtypes)
{
    static const weft_dtype all[] = {WEFT_F32, WEFT_F32, WEFT_F32, WEFT_F32,  WEFT_F64, WEFT_I64,  WEFT_BOOL, WEFT_U8,
                                     WEFT_I32, WEFT_U32, WEFT_F16, WEFT_BF16, WEFT_C64, WEFT_C128, WEFT_I64};
    if (draw_mistake(g)) dtypes = DRAW_ALL;
    for (;;) {
        weft_dtype dtype = all[draw_below(g, sizeof all / sizeof *all)];
        if (dtypes >> dtype & 1) return dtype;
    }
}

/* ---- extents ---- */

weft_extent draw_extent(generator *g)
{
    weft_extent one = g->extents[draw_below(g, g->extent_count)], other = g->extents[draw_below(g, g->extent_count)];
    weft_extent number = weft_extent_of(1 + (int64_t)draw_below(g, 4));
    if (draw_mistake(g)) return draw_chance(g, 2) ? weft_extent_of(-5) : weft_extent_add(one, number);
    switch (draw_below(g, 24)) {
    case 0: return weft_extent_add(one, number);
    case 1: return weft_extent_div(weft_extent_add(one, number), weft_extent_of(2));
    case 2: return weft_extent_min(one, other);
    case 3: return weft_extent_max(one, number);
    case 4: return weft_extent_mod(one, weft_extent_of(5));
    default: return one;
    }
}

drawn_shape draw_shape(generator *g, size_t most_rank)
{
    drawn_shape shape = {.rank = draw_below(g, (most_rank < DRAW_AXES ? most_rank : DRAW_AXES) + 1)};
    for (size_t i = 0; i < shape.rank; i++) shape.extents[i] = draw_chance(g, 8) ? weft_extent_of(1) : draw_extent(g);
    return shape;
}

drawn_shape draw_shape_of(weft_tensor x)
{
    drawn_shape shape = {.rank = weft_tensor_rank(x)};
    if (shape.rank > DRAW_AXES) shape.rank = DRAW_AXES;
    for (size_t i = 0; i < shape.rank; i++) shape.extents[i] = draw_extent_of(x, i);
    return shape;
}

weft_extent draw_extent_of(weft_tensor x, size_t axis)
{
    return weft_tensor_shape(x).extents[axis];
}

int64_t draw_least(weft_extent extent)
{
    int64_t low, high;
    weft_extent_range(extent, &low, &high);
    return low < 0 ? 0 : low;
}

int64_t draw_most(weft_extent extent)
{
    int64_t low, high;
    weft_extent_range(extent, &low, &high);
    return high;
}

/* ---- axes ---- */

int64_t draw_axis(generator *g, weft_tensor x)
{
    size_t rank = weft_tensor_rank(x);
    if (draw_mistake(g)) return (int64_t)(rank + draw_below(g, 2)) * (draw_chance(g, 2) ? 1 : -2);
    if (rank == 0) return 0;
    int64_t axis = draw_chance(g, 3) ? (int64_t)rank - 1 : (int64_t)draw_below(g, rank);
    return draw_chance(g, 4) ? axis - (int64_t)rank : axis;
}

drawn_ints draw_order(generator *g, size_t rank)
{
    drawn_ints order = {.count = rank < DRAW_AXES ? rank : DRAW_AXES};
    for (size_t i = 0; i < order.count; i++) order.items[i] = (int64_t)i;
    for (size_t i = order.count; i > 1; i--) {
        size_t other = draw_below(g, i);
        int64_t moved = order.items[i - 1];
        order.items[i - 1] = order.items[other];
        order.items[other] = moved;
    }
    if (order.count > 0 && draw_mistake(g)) order.items[0] = order.items[order.count - 1];
    return order;
}

drawn_ints draw_axes(generator *g, weft_tensor x, bool some)
{
    size_t rank = weft_tensor_rank(x);
    drawn_ints axes = draw_order(g, rank);
    if (!draw_chance(g, 4)) axes.count = draw_below(g, axes.count + 1);
    if (some && axes.count == 0 && rank > 0) axes.count = 1;
    for (size_t i = 0; i < axes.count; i++)
        if (draw_chance(g, 4)) axes.items[i] -= (int64_t)rank;
    return axes;
}

drawn_ints draw_ints(generator *g, size_t count, int64_t low, int64_t high)
{
    drawn_ints ints = {.count = count < DRAW_AXES ? count : DRAW_AXES};
    for (size_t i = 0; i < ints.count; i++) ints.items[i] = low + (int64_t)draw_below(g, (size_t)(high - low + 1));
    if (ints.count > 0 && draw_mistake(g)) ints.items[draw_below(g, ints.count)] = low - 1 - draw_small(g, 3);
    if (ints.count > 0 && draw_mistake(g)) ints.count--;
    return ints;
}

/* ---- tensors ---- */

weft_tensor draw_input(generator *g, weft_dtype dtype, weft_shape shape)
{
    char name[16];
    if (g->inputs == DRAW_INPUTS) return WEFT_NO_TENSOR;
    snprintf(name, sizeof name, "x%zu", g->inputs);
    weft_tensor x = weft_input(g->graph, name, dtype, shape);
    g->inputs += weft_tensor_is_valid(x);
    return x;
}

weft_tensor draw_tensor(generator *g)
{
    size_t recent = g->count < 3 ? g->count : 3;
    return draw_chance(g, 3) ? g->tensors[draw_below(g, g->count)] : g->tensors[g->count - 1 - draw_below(g, recent)];
}

weft_tensor draw_fit(generator *g, weft_tensor x, weft_dtype_set dtypes)
{
    if (dtypes >> weft_tensor_dtype(x) & 1 || draw_mistake(g)) return x;
    return weft_cast(x, draw_dtype(g, dtypes));
}

static bool same_shape(weft_shape a, weft_shape b)
{
    for (size_t i = 0; i < a.rank && a.rank == b.rank; i++)
        if (!weft_extent_equal(a.extents[i], b.extents[i])) return false;
    return a.rank == b.rank;
}

weft_tensor draw_like(generator *g, weft_dtype dtype, weft_shape shape, bool may_broadcast)
{
    for (size_t tries = 0; tries < 6; tries++) {
        weft_tensor y = draw_tensor(g);
        if (same_shape(weft_tensor_shape(y), shape)) return weft_tensor_dtype(y) == dtype ? y : weft_cast(y, dtype);
    }
    if (draw_mistake(g)) return draw_tensor(g);
    if (may_broadcast && draw_chance(g, 6)) return weft_scalar(g->graph, dtype, (double)draw_below(g, 4) + 1);
    drawn_shape made = {.rank = 0};
    size_t skipped = may_broadcast && draw_chance(g, 2) ? draw_below(g, shape.rank + 1) : 0;
    for (size_t i = skipped; i < shape.rank && made.rank < 2 * DRAW_AXES; i++)
        made.extents[made.rank++] = may_broadcast && draw_chance(g, 5) ? weft_extent_of(1) : shape.extents[i];
    weft_tensor x = draw_input(g, dtype, SHAPE(made));
    return weft_tensor_is_valid(x) ? x : weft_full(g->graph, dtype, (double)draw_below(g, 5), SHAPE(made));
}

weft_tensor draw_partner(generator *g, weft_tensor x)
{
    return draw_like(g, weft_tensor_dtype(x), weft_tensor_shape(x), true);
}

weft_tensor draw_indices(generator *g, weft_tensor from, weft_extent extent)
{
    weft_tensor y = draw_fit(g, from, DRAW_INDEX);
    /* Any data, at times: those out of range are run-time errors. */
    if (draw_mistake(g)) return y;
    if (draw_least(extent) == 0) return WEFT_NO_TENSOR;
    weft_tensor count = weft_cast(weft_extent_tensor(g->graph, extent), weft_tensor_dtype(y));
    weft_tensor inside = weft_remainder(y, count);
    return draw_chance(g, 3) ? weft_sub(inside, count) : inside;
}

weft_tensor draw_filled(weft_tensor x, double value)
{
    return weft_scalar(x.graph, weft_tensor_dtype(x), value);
}

void draw_keep(generator *g, weft_tensor x)
{
    if (weft_tensor_is_valid(x) && g->count < DRAW_TENSORS) g->tensors[g->count++] = x;
}
