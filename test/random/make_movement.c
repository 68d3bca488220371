/* SPDX-License-Identifier: Apache-2.0 */
/* Movement, joining, splitting and repeating. */
#include "test/random/make.h"

#define UNUSED (void)g, (void)call, (void)x

/* A power of two, or another small divisor. */
static int64_t divisor(int64_t value)
{
    static const int64_t candidates[] = {8, 4, 3, 2, 5, 7};
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++)
        if (value > candidates[i] && value % candidates[i] == 0) return candidates[i];
    return 1;
}

/* Two neighbours become one, one becomes two, ones come and go; at times an extent is left open. */
MAKE(reshape)
{
    UNUSED;
    drawn_shape from = draw_shape_of(x), to = {.rank = 0};
    size_t at = draw_below(g, from.rank + 1), kind = draw_below(g, 5);
    for (size_t i = 0; i < from.rank; i++) {
        int64_t value = 0, part;
        bool split = kind == 1 && i == at && weft_extent_is_static(from.extents[i], &value);
        part = split ? divisor(value) : 1;
        if (kind == 0 && i == at && i + 1 < from.rank) {
            to.extents[to.rank++] = weft_extent_mul(from.extents[i], from.extents[i + 1]);
            i++;
        } else if (part > 1) {
            to.extents[to.rank++] = weft_extent_of(part);
            to.extents[to.rank++] = weft_extent_of(value / part);
        } else to.extents[to.rank++] = from.extents[i];
        if (kind == 2 && i == at) to.extents[to.rank++] = weft_extent_of(1);
    }
    if (kind == 3) to = (drawn_shape){1, {WEFT_INFER}};
    if (to.rank > 0 && draw_chance(g, 8)) to.extents[draw_below(g, to.rank)] = WEFT_INFER;
    if (draw_mistake(g)) to.extents[to.rank++] = weft_extent_of(3);
    return weft_reshape(x, SHAPE(to));
}

MAKE(permute)
{
    UNUSED;
    drawn_ints order = draw_order(g, weft_tensor_rank(x));
    return weft_permute(x, INTS(order));
}

/* Axes in front, and ones stretched. */
static drawn_shape wider(generator *g, weft_tensor x)
{
    drawn_shape from = draw_shape_of(x), to = {.rank = 0};
    for (size_t i = draw_below(g, 3); i > 0 && to.rank + from.rank < g->most_axes; i--)
        to.extents[to.rank++] = draw_extent(g);
    for (size_t i = 0; i < from.rank; i++) {
        int64_t value;
        bool one = weft_extent_is_static(from.extents[i], &value) && value == 1;
        to.extents[to.rank++] = (one && draw_chance(g, 2)) || draw_mistake(g) ? draw_extent(g) : from.extents[i];
    }
    return to;
}

MAKE(broadcast)
{
    UNUSED;
    drawn_shape to = wider(g, x);
    return weft_broadcast(x, SHAPE(to));
}

MAKE(broadcast_like)
{
    UNUSED;
    drawn_shape to = wider(g, x);
    return weft_broadcast_like(x, draw_like(g, draw_dtype(g, DRAW_ALL), SHAPE(to), false));
}

MAKE(broadcast_in_dim)
{
    UNUSED;
    drawn_shape from = draw_shape_of(x), to = {.rank = 0};
    drawn_ints axes = {.count = 0};
    size_t added = 1 + draw_below(g, 2);
    for (size_t i = 0; i <= from.rank; i++) {
        for (; added > 0 && (i == from.rank || draw_chance(g, 3)); added--) to.extents[to.rank++] = draw_extent(g);
        if (i == from.rank) break;
        axes.items[axes.count++] = (int64_t)to.rank;
        to.extents[to.rank++] = from.extents[i];
    }
    if (axes.count > 0 && draw_mistake(g)) axes.items[0] = (int64_t)to.rank;
    return to.rank > DRAW_AXES ? WEFT_NO_TENSOR : weft_broadcast_in_dim(x, SHAPE(to), INTS(axes));
}

/* A part of each axis, from any element on, forwards or backwards. */
MAKE(slice)
{
    UNUSED;
    drawn_shape starts = draw_shape_of(x), sizes = starts;
    drawn_ints steps = {.count = starts.rank};
    for (size_t i = 0; i < starts.rank; i++) {
        weft_extent extent = starts.extents[i];
        int64_t least = draw_least(extent), skipped = least > 1 ? (int64_t)draw_below(g, 2) : 0;
        int64_t step = draw_chance(g, 3) ? 2 + (int64_t)draw_below(g, 2) : 1;
        weft_extent rest = weft_extent_sub(extent, weft_extent_of(skipped));
        bool backwards = least > 0 && draw_chance(g, 3);
        starts.extents[i] = backwards ? weft_extent_sub(rest, weft_extent_of(1)) : weft_extent_of(skipped);
        sizes.extents[i] = weft_extent_div(weft_extent_add(rest, weft_extent_of(step - 1)), weft_extent_of(step));
        if (draw_mistake(g)) sizes.extents[i] = weft_extent_add(extent, weft_extent_of(1));
        steps.items[i] = backwards ? -step : draw_mistake(g) ? 0 : step;
    }
    return weft_slice(x, SHAPE(starts), SHAPE(sizes), INTS(steps));
}

MAKE(narrow)
{
    UNUSED;
    if (weft_tensor_rank(x) == 0) return WEFT_NO_TENSOR;
    size_t axis = draw_below(g, weft_tensor_rank(x));
    weft_extent extent = draw_extent_of(x, axis);
    int64_t least = draw_least(extent), start = least > 0 ? (int64_t)draw_below(g, (size_t)least) : 0;
    weft_extent size = draw_chance(g, 2) ? weft_extent_of(least > start ? 1 + (least - start) / 2 : least - start)
                                         : weft_extent_sub(extent, weft_extent_of(start));
    if (draw_mistake(g)) size = weft_extent_add(extent, weft_extent_of(1));
    return weft_narrow(x, draw_mistake(g) ? 9 : (int64_t)axis, weft_extent_of(start), size);
}

MAKE(pad)
{
    UNUSED;
    drawn_shape low = draw_shape_of(x), high = low;
    for (size_t i = 0; i < low.rank; i++) {
        low.extents[i] = weft_extent_of(draw_small(g, 2));
        high.extents[i] = draw_chance(g, 5) ? g->extents[0] : weft_extent_of((int64_t)draw_below(g, 3));
    }
    return weft_pad(x, draw_filled(x, (double)draw_below(g, 3)), SHAPE(low), SHAPE(high));
}

/* Names of inputs and outputs, and one of many, are names like any other. */
MAKE(name)
{
    static const char *const names[] = {"x0", "out0", "many", "_.9"};
    (void)call;
    return weft_tensor_set_name(x, names[draw_below(g, sizeof names / sizeof *names)]);
}

MAKE(flip)
{
    UNUSED;
    drawn_ints axes = draw_axes(g, x, false);
    return weft_flip(x, INTS(axes));
}

MAKE(window)
{
    UNUSED;
    if (weft_tensor_rank(x) >= g->most_axes) return WEFT_NO_TENSOR;
    return weft_window(x, draw_axis(g, x), weft_extent_of(1 + draw_small(g, 4)), 1 + draw_small(g, 2),
                       1 + draw_small(g, 1));
}

/* Windows of x, which are as many as the extent of x has. */
MAKE(window_add)
{
    UNUSED;
    if (weft_tensor_rank(x) == 0 || weft_tensor_rank(x) >= g->most_axes) return WEFT_NO_TENSOR;
    int64_t axis = (int64_t)draw_below(g, weft_tensor_rank(x));
    int64_t stride = 1 + draw_small(g, 2), dilation = 1 + draw_small(g, 1);
    weft_extent extent = draw_extent_of(x, (size_t)axis);
    weft_tensor windows = weft_window(x, axis, weft_extent_of(1 + draw_small(g, 4)), stride, dilation);
    if (draw_chance(g, 2)) windows = weft_mul(windows, windows);
    return weft_window_add(windows, draw_mistake(g) ? 64 : axis, extent, stride, dilation);
}

MAKE(shear)
{
    UNUSED;
    static const int64_t steps[] = {1, 1, 1, 2, -1, -2, 0, 1000};
    int64_t axis = draw_axis(g, x), along = draw_axis(g, x), step = steps[draw_below(g, 8)];
    if (weft_tensor_rank(x) < 2 && !draw_mistake(g)) return WEFT_NO_TENSOR;
    return weft_shear(x, axis, along, step, draw_extent(g));
}

/* Operands that agree with x but along `axis`: x itself, its parts, others. */
static weft_tensor companion(generator *g, weft_tensor x, int64_t axis, bool exactly)
{
    drawn_shape shape = draw_shape_of(x);
    if (draw_chance(g, 3) || shape.rank == 0) return x;
    if (!exactly && draw_chance(g, 2)) shape.extents[axis] = draw_extent(g);
    if (draw_chance(g, 4)) return weft_flip(x, WEFT_INTS(axis));
    return draw_like(g, weft_tensor_dtype(x), SHAPE(shape), false);
}

static size_t operands_for(generator *g, weft_tensor x, int64_t axis, bool exactly, weft_tensor *out_operands)
{
    size_t count = 1 + draw_below(g, 4), own = draw_below(g, count);
    for (size_t i = 0; i < count; i++) out_operands[i] = i == own ? x : companion(g, x, axis, exactly);
    return count;
}

MAKE(concat)
{
    UNUSED;
    weft_tensor operands[4];
    int64_t axis = weft_tensor_rank(x) == 0 ? 0 : (int64_t)draw_below(g, weft_tensor_rank(x));
    size_t count = operands_for(g, x, axis, false, operands);
    return weft_concat((weft_tensors){draw_mistake(g) ? 0 : count, operands}, axis);
}

MAKE(stack)
{
    UNUSED;
    weft_tensor operands[4];
    int64_t rank = (int64_t)weft_tensor_rank(x);
    size_t count = operands_for(g, x, 0, true, operands);
    return weft_stack((weft_tensors){count, operands},
                      (int64_t)draw_below(g, (size_t)rank + 1) - (rank + 1) * draw_chance(g, 4));
}

MAKE(extract_diagonal)
{
    UNUSED;
    size_t rank = weft_tensor_rank(x);
    for (size_t i = 0; i + 1 < rank; i++)
        for (size_t j = i + 1; j < rank; j++)
            if (weft_extent_equal(draw_extent_of(x, i), draw_extent_of(x, j)))
                return weft_extract_diagonal(x, (int64_t)i, (int64_t)j);
    return weft_extract_diagonal(x, draw_axis(g, x), draw_axis(g, x));
}

MAKE(embed_diagonal)
{
    UNUSED;
    if (weft_tensor_rank(x) >= g->most_axes) return WEFT_NO_TENSOR;
    return weft_embed_diagonal(x, draw_axis(g, x), (int64_t)draw_below(g, weft_tensor_rank(x) + 1));
}

MAKE(diagonal)
{
    weft_tensor (*function)(weft_tensor, int64_t, int64_t, int64_t) =
        (weft_tensor(*)(weft_tensor, int64_t, int64_t, int64_t))call->function;
    drawn_ints order = draw_order(g, weft_tensor_rank(x));
    if (order.count < 2) return WEFT_NO_TENSOR;
    return function(x, draw_small(g, 4) - 2, order.items[0], order.items[1]);
}

MAKE(triangle)
{
    return ((weft_tensor(*)(weft_tensor, int64_t))call->function)(x, draw_small(g, 6) - 3);
}

MAKE(transpose)
{
    UNUSED;
    return weft_transpose(x, draw_axis(g, x), draw_axis(g, x));
}

MAKE(moveaxis)
{
    UNUSED;
    drawn_ints from = draw_axes(g, x, true), to = draw_order(g, weft_tensor_rank(x));
    if (!draw_mistake(g)) to.count = from.count;
    return weft_moveaxis(x, INTS(from), INTS(to));
}

MAKE(unsqueeze)
{
    UNUSED;
    int64_t rank = (int64_t)weft_tensor_rank(x);
    return weft_unsqueeze(
        x, draw_mistake(g) ? rank + 2 : (int64_t)draw_below(g, (size_t)rank + 1) - (rank + 1) * draw_chance(g, 3));
}

MAKE(squeeze)
{
    UNUSED;
    for (size_t i = 0; i < weft_tensor_rank(x); i++) {
        int64_t value;
        if (weft_extent_is_static(draw_extent_of(x, i), &value) && value == 1) return weft_squeeze(x, (int64_t)i);
    }
    int64_t axis = draw_axis(g, x);
    return weft_squeeze(weft_unsqueeze(x, axis), axis);
}

MAKE(flatten)
{
    UNUSED;
    int64_t first = draw_axis(g, x), last = draw_axis(g, x);
    int64_t rank = (int64_t)weft_tensor_rank(x);
    bool swap = (first < 0 ? first + rank : first) > (last < 0 ? last + rank : last);
    return swap && !draw_mistake(g) ? weft_flatten(x, last, first) : weft_flatten(x, first, last);
}

static void keep_all(generator *g, size_t count, const weft_tensor *parts)
{
    for (size_t i = 1; i < count; i++) draw_keep(g, parts[i]);
}

MAKE(split)
{
    UNUSED;
    weft_tensor parts[DRAW_PARTS];
    size_t count = 1 + draw_below(g, DRAW_PARTS);
    int64_t axis = draw_axis(g, x), value;
    if (weft_extent_is_static(weft_tensor_extent(x, axis), &value) && value % (int64_t)count != 0 && !draw_mistake(g))
        count = value % 2 == 0 ? 2 : value % 3 == 0 ? 3 : 1;
    weft_tensor made = weft_split(x, axis, count, parts);
    keep_all(g, count, parts);
    return made;
}

MAKE(split_at)
{
    UNUSED;
    weft_tensor parts[3];
    int64_t axis = draw_axis(g, x);
    weft_extent extent = weft_tensor_extent(x, axis);
    if (!weft_extent_is_valid(extent)) return weft_split_at(x, axis, WEFT_SHAPE(1, 2), parts);
    int64_t first = (int64_t)draw_below(g, (size_t)draw_least(extent) % 100 + 1);
    weft_extent second = weft_extent_sub(extent, weft_extent_of(draw_mistake(g) ? first + 1 : first));
    weft_tensor made = draw_chance(g, 2) ? weft_split_at(x, axis, WEFT_SHAPE(first, second), parts)
                                         : weft_split_at(x, axis, WEFT_SHAPE(second, first), parts);
    keep_all(g, 2, parts);
    return made;
}

MAKE(chunk)
{
    UNUSED;
    weft_tensor parts[DRAW_PARTS];
    size_t count = 0;
    weft_tensor made =
        weft_chunk(x, draw_axis(g, x), draw_mistake(g) ? 0 : 1 + draw_below(g, DRAW_PARTS), parts, &count);
    keep_all(g, count, parts);
    return made;
}

MAKE(repeat)
{
    UNUSED;
    weft_extent count = draw_chance(g, 6) ? draw_extent(g) : weft_extent_of(draw_small(g, 4));
    return weft_repeat(x, draw_axis(g, x), count);
}

MAKE(tile)
{
    UNUSED;
    drawn_shape counts = {.rank = draw_below(g, weft_tensor_rank(x) + 2)};
    for (size_t i = 0; i < counts.rank; i++)
        counts.extents[i] = draw_chance(g, 8) ? draw_extent(g) : weft_extent_of(draw_small(g, 3));
    return weft_tile(x, SHAPE(counts));
}

MAKE(roll)
{
    UNUSED;
    drawn_ints axes = draw_axes(g, x, true), shifts = draw_ints(g, axes.count, -3, 5);
    return weft_roll(x, INTS(shifts), INTS(axes));
}
