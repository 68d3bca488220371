/* SPDX-License-Identifier: Apache-2.0 */
/* Indexing by data and by items. */
#include "test/random/make.h"

#define UNUSED (void)g, (void)call, (void)x

static weft_scatter_mode any_mode(generator *g, weft_tensor x)
{
    static const weft_scatter_mode modes[] = {WEFT_SCATTER_SET, WEFT_SCATTER_ADD, WEFT_SCATTER_MUL, WEFT_SCATTER_MAX,
                                              WEFT_SCATTER_MIN};
    weft_dtype_set dtype = 1u << weft_tensor_dtype(x);
    if (draw_mistake(g)) return modes[draw_below(g, 5)];
    if (dtype & DRAW_COMPLEX) return modes[draw_below(g, 3)];
    if (dtype & DRAW_BOOL) return draw_chance(g, 2) ? WEFT_SCATTER_SET : modes[3 + draw_below(g, 2)];
    return modes[draw_below(g, 5)];
}

/* Indices of few axes into axis `axis` of x. */
static weft_tensor indices_of(generator *g, weft_tensor x, size_t axis)
{
    weft_tensor from = draw_tensor(g);
    if (weft_tensor_rank(from) > 2) from = draw_like(g, WEFT_I64, WEFT_SHAPE(draw_extent(g)), false);
    return draw_indices(g, from, draw_extent_of(x, axis));
}

MAKE(gather)
{
    weft_tensor (*function)(weft_tensor, weft_tensor, int64_t) =
        (weft_tensor(*)(weft_tensor, weft_tensor, int64_t))call->function;
    if (weft_tensor_rank(x) == 0) return WEFT_NO_TENSOR;
    size_t axis = draw_below(g, weft_tensor_rank(x));
    weft_tensor indices = indices_of(g, x, axis);
    return function(x, indices, draw_mistake(g) ? 7 : (int64_t)axis);
}

static weft_tensor two_indices(generator *g, weft_tensor x, const drawn_ints *axes, weft_tensor *out_second)
{
    weft_tensor first = indices_of(g, x, (size_t)axes->items[0]);
    *out_second = draw_indices(g, first, draw_extent_of(x, (size_t)axes->items[1]));
    return first;
}

MAKE(gather_axes)
{
    UNUSED;
    drawn_ints axes = draw_order(g, weft_tensor_rank(x));
    weft_tensor second;
    if (axes.count < 2) return WEFT_NO_TENSOR;
    weft_tensor first = two_indices(g, x, &axes, &second);
    return weft_gather_axes(x, WEFT_TENSORS(first, second), WEFT_INTS(axes.items[0], axes.items[1]));
}

MAKE(scatter)
{
    UNUSED;
    drawn_ints axes = draw_order(g, weft_tensor_rank(x));
    if (axes.count == 0) return WEFT_NO_TENSOR;
    weft_tensor list[2];
    size_t count = axes.count > 1 && draw_chance(g, 3) ? 2 : 1;
    if (count == 2) list[0] = two_indices(g, x, &axes, &list[1]);
    else list[0] = indices_of(g, x, (size_t)axes.items[0]);
    axes.count = count;
    weft_tensor updates = weft_gather_axes(x, (weft_tensors){count, list}, INTS(axes));
    if (!weft_tensor_is_valid(updates)) return updates;
    updates = draw_like(g, weft_tensor_dtype(x), weft_tensor_shape(updates), false);
    return weft_scatter(x, (weft_tensors){count, list}, INTS(axes), updates, any_mode(g, x));
}

/* Indices of x's rank, of another extent along `axis`. */
static weft_tensor along(generator *g, weft_tensor x, size_t axis)
{
    drawn_shape shape = draw_shape_of(x);
    shape.extents[axis] = draw_extent(g);
    return draw_indices(g, draw_like(g, WEFT_I64, SHAPE(shape), false), draw_extent_of(x, axis));
}

MAKE(take_along_axis)
{
    UNUSED;
    if (weft_tensor_rank(x) == 0) return WEFT_NO_TENSOR;
    size_t axis = draw_below(g, weft_tensor_rank(x));
    return weft_take_along_axis(x, along(g, x, axis), (int64_t)axis);
}

MAKE(scatter_along_axis)
{
    UNUSED;
    if (weft_tensor_rank(x) == 0) return WEFT_NO_TENSOR;
    size_t axis = draw_below(g, weft_tensor_rank(x));
    weft_tensor indices = along(g, x, axis);
    if (!weft_tensor_is_valid(indices)) return indices;
    weft_tensor updates = draw_like(g, weft_tensor_dtype(x), weft_tensor_shape(indices), true);
    return weft_scatter_along_axis(x, indices, updates, (int64_t)axis, any_mode(g, x));
}

MAKE(index_add)
{
    UNUSED;
    if (weft_tensor_rank(x) == 0) return WEFT_NO_TENSOR;
    size_t axis = draw_below(g, weft_tensor_rank(x));
    weft_tensor indices = indices_of(g, x, axis), like = weft_gather(x, indices, (int64_t)axis);
    if (!weft_tensor_is_valid(like)) return like;
    return weft_index_add(x, indices, draw_like(g, weft_tensor_dtype(x), weft_tensor_shape(like), false),
                          (int64_t)axis);
}

/* A number in [0, extent of the axis - size] that data make. */
static weft_tensor start_of(generator *g, weft_tensor x, size_t axis, int64_t size)
{
    weft_tensor y = draw_fit(g, draw_tensor(g), DRAW_ORDERED);
    drawn_ints axes = draw_order(g, weft_tensor_rank(y));
    y = weft_cast(weft_reduce_max(y, INTS(axes), false), WEFT_I64);
    if (draw_mistake(g)) return y;
    weft_extent starts = weft_extent_sub(draw_extent_of(x, axis), weft_extent_of(size - 1));
    return weft_remainder(y, weft_max(weft_extent_tensor(g->graph, starts), weft_scalar(g->graph, WEFT_I64, 1)));
}

MAKE(dynamic_slice)
{
    UNUSED;
    if (weft_tensor_rank(x) == 0) return WEFT_NO_TENSOR;
    size_t axis = draw_below(g, weft_tensor_rank(x));
    int64_t size = (int64_t)draw_below(g, (size_t)draw_least(draw_extent_of(x, axis)) + 1);
    return weft_dynamic_slice(x, WEFT_TENSORS(start_of(g, x, axis, size)), WEFT_INTS((int64_t)axis), WEFT_SHAPE(size));
}

MAKE(dynamic_update_slice)
{
    UNUSED;
    if (weft_tensor_rank(x) == 0) return WEFT_NO_TENSOR;
    size_t axis = draw_below(g, weft_tensor_rank(x));
    int64_t size = (int64_t)draw_below(g, (size_t)draw_least(draw_extent_of(x, axis)) + 1);
    drawn_shape shape = draw_shape_of(x);
    shape.extents[axis] = weft_extent_of(size);
    weft_tensor update = draw_chance(g, 2) ? weft_narrow(x, (int64_t)axis, weft_extent_of(0), weft_extent_of(size))
                                           : draw_like(g, weft_tensor_dtype(x), SHAPE(shape), false);
    if (draw_chance(g, 3)) update = weft_flip(update, WEFT_INTS((int64_t)axis));
    return weft_dynamic_update_slice(x, update, WEFT_TENSORS(start_of(g, x, axis, size)), WEFT_INTS((int64_t)axis));
}

/* ---- items ---- */

static weft_extent bound_of(generator *g, weft_extent extent)
{
    if (draw_chance(g, 3)) return WEFT_OPEN;
    if (draw_chance(g, 8)) return draw_extent(g);
    int64_t most = draw_least(extent) % 50;
    return weft_extent_of((int64_t)draw_below(g, (size_t)(2 * most + 3)) - most - 1);
}

static weft_index_item item_of(generator *g, weft_tensor x, size_t axis)
{
    weft_extent extent = draw_extent_of(x, axis);
    int64_t steps[] = {1, 1, 1, 2, -1, -2, 3};
    switch (draw_below(g, 6)) {
    case 0:
        return WEFT_INDEX(draw_least(extent) > 0 ? (int64_t)draw_below(g, (size_t)draw_least(extent)) -
                                                       (draw_chance(g, 2) ? draw_least(extent) : 0)
                                                 : 0);
    case 1: {
        weft_tensor from =
            draw_chance(g, 2) ? draw_tensor(g) : draw_like(g, WEFT_I64, WEFT_SHAPE(draw_extent(g)), false);
        weft_tensor indices = weft_tensor_rank(from) > 2 ? WEFT_NO_TENSOR : draw_indices(g, from, extent);
        return weft_tensor_is_valid(indices) ? WEFT_PICK(indices) : WEFT_ALL;
    }
    case 2: return WEFT_ALL;
    default:
        return WEFT_RANGE(bound_of(g, extent), bound_of(g, extent),
                          draw_mistake(g) ? 0 : steps[draw_below(g, sizeof steps / sizeof *steps)]);
    }
}

static size_t items_of(generator *g, weft_tensor x, weft_index_item *out_items)
{
    size_t count = 0, axes = weft_tensor_rank(x), taken = draw_below(g, axes + 1);
    if (draw_chance(g, 3)) taken = axes;
    bool ellipsis = false;
    for (size_t i = 0; i < taken; i++) {
        if (draw_chance(g, 6)) out_items[count++] = WEFT_NEWAXIS;
        if (!ellipsis && draw_chance(g, 8)) {
            ellipsis = true;
            out_items[count++] = WEFT_ELLIPSIS;
        }
        out_items[count++] = item_of(g, x, ellipsis ? axes - taken + i : i);
    }
    if (draw_mistake(g)) out_items[count++] = WEFT_ALL;
    return count;
}

MAKE(index)
{
    UNUSED;
    weft_index_item items[3 * DRAW_AXES];
    size_t count = items_of(g, x, items);
    return weft_index(x, (weft_index_items){count, items});
}

MAKE(index_update)
{
    UNUSED;
    weft_index_item items[3 * DRAW_AXES];
    weft_index_items list = {items_of(g, x, items), items};
    weft_tensor there = weft_index(x, list);
    if (!weft_tensor_is_valid(there)) return there;
    return weft_index_update(x, draw_partner(g, there), any_mode(g, x), list);
}
