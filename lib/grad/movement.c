/* SPDX-License-Identifier: Apache-2.0 */
/* Derivatives of movement: linear, so that a tangent takes the same way and a cotangent the way back. */
#include <weft/shape.h>
#include "lib/composite/composite.h"
#include "lib/grad/grad.h"

/* Zeros stand for operands that have no tangent. */
static weft_status *jvp_filled(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor *operands = weft_arena_allocate(&c->graph->arena, c->inputs.count * sizeof *operands);
    if (operands == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < c->inputs.count; i++)
        operands[i] = weft_gradient_given(c, i) ? c->given.items[i] : weft_gradient_zeros(c->inputs.items[i]);
    out_values[0] = weft_gradient_again(c, (weft_tensors){c->inputs.count, operands});
    return NULL;
}

static weft_status *vjp_reshape(const weft_gradient_context *c, weft_tensor *out_values)
{
    out_values[0] = weft_reshape(c->given.items[0], weft_tensor_shape(c->inputs.items[0]));
    return NULL;
}

static weft_status *vjp_permute(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_ints axes = c->attrs[0].ints;
    int64_t back[WEFT_MAX_RANK];
    for (size_t i = 0; i < axes.count; i++) back[axes.items[i]] = (int64_t)i;
    out_values[0] = weft_permute(c->given.items[0], (weft_ints){axes.count, back});
    return NULL;
}

static weft_status *vjp_flip(const weft_gradient_context *c, weft_tensor *out_values)
{
    out_values[0] = weft_flip(c->given.items[0], c->attrs[0].ints);
    return NULL;
}

/* Sums over the axes that were added, and over those that were stretched, which stay as extents of one. */
static weft_status *vjp_broadcast(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_ints kept = c->attrs[1].ints;
    weft_shape from = weft_tensor_shape(c->inputs.items[0]), to = c->attrs[0].extents;
    weft_axis_list summed = {.count = 0};
    size_t next = 0;
    for (size_t i = 0; i < to.rank; i++) {
        bool is_kept = next < kept.count && kept.items[next] == (int64_t)i;
        bool stretched =
            is_kept && weft_extent_is_value(from.extents[next], 1) && !weft_extent_is_value(to.extents[i], 1);
        if (is_kept) next++;
        if (!is_kept || stretched) summed.items[summed.count++] = (int64_t)i;
    }
    weft_tensor g = c->given.items[0];
    if (summed.count > 0) g = weft_reduce_sum(g, weft_axis_list_ints(&summed), false);
    out_values[0] = weft_tensor_rank(g) == from.rank ? g : weft_reshape(g, from);
    return NULL;
}

/* ---- slice, pad, window ---- */

/* `x` with `step` - 1 zeros after each element of an axis: along one more, or where there may be none, of rows of what
 * lies after it. */
static weft_tensor spread_out(weft_tensor x, size_t axis, int64_t step)
{
    weft_shape shape = weft_tensor_shape(x);
    bool is_full = shape.rank == WEFT_MAX_RANK;
    weft_extent low[WEFT_MAX_RANK], high[WEFT_MAX_RANK], extents[WEFT_MAX_RANK];
    weft_shape rows = WEFT_SHAPE(weft_extent_product(shape, 0, axis + 1), weft_extent_of(1),
                                 weft_extent_product(shape, axis + 1, shape.rank));
    weft_tensor apart = is_full ? weft_reshape(x, rows) : weft_unsqueeze(x, (int64_t)axis + 1);
    size_t rank = weft_tensor_rank(apart);
    for (size_t i = 0; i < rank; i++) low[i] = high[i] = weft_extent_of(0);
    high[is_full ? 1 : axis + 1] = weft_extent_of(step - 1);
    apart = weft_pad(apart, weft_scalar_like(x, 0), (weft_shape){rank, low}, (weft_shape){rank, high});
    for (size_t i = 0; i < shape.rank; i++) extents[i] = shape.extents[i];
    extents[axis] = weft_extent_times(extents[axis], step);
    return weft_reshape(apart, (weft_shape){shape.rank, extents});
}

/* Of one element the step makes no difference, however long it is. */
static int64_t step_of(const weft_gradient_context *c, size_t axis)
{
    int64_t step = c->attrs[2].ints.items[axis];
    return !weft_extent_is_value(c->attrs[1].extents.extents[axis], 1) ? step : step < 0 ? -1 : 1;
}

static bool is_empty(weft_shape shape)
{
    bool empty = false;
    for (size_t i = 0; i < shape.rank; i++) empty = empty || weft_extent_is_value(shape.extents[i], 0);
    return empty;
}

/* Element i of an axis came from start + i * step: zeros are put between and around, and taken from the end again. The
 * extents are such that what the slice requires is all that is required. */
static weft_status *vjp_slice(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_shape shape = weft_tensor_shape(c->inputs.items[0]);
    weft_shape starts = c->attrs[0].extents, sizes = c->attrs[1].extents;
    weft_extent low[WEFT_MAX_RANK], high[WEFT_MAX_RANK];
    weft_tensor g = c->given.items[0];
    if (is_empty(sizes)) return NULL;
    for (size_t i = 0; i < shape.rank; i++) {
        int64_t step = step_of(c, i), way = step < 0 ? -step : step;
        weft_extent last = weft_extent_times(weft_extent_plus(sizes.extents[i], -1), step);
        last = weft_extent_add(starts.extents[i], last);
        low[i] = step < 0 ? last : starts.extents[i];
        high[i] = weft_extent_plus(weft_extent_sub(shape.extents[i], step < 0 ? starts.extents[i] : last), -1);
        if (step < 0) g = weft_flip(g, WEFT_INTS((int64_t)i));
        if (way > 1) g = spread_out(g, i, way);
    }
    g = weft_pad(g, weft_scalar_like(g, 0), (weft_shape){shape.rank, low}, (weft_shape){shape.rank, high});
    for (size_t i = 0; i < shape.rank; i++)
        if (!weft_extent_equal(weft_tensor_extent(g, (int64_t)i), shape.extents[i]))
            g = weft_narrow(g, (int64_t)i, weft_extent_of(0), shape.extents[i]);
    out_values[0] = g;
    return NULL;
}

/* Of the value the cotangents of the padding alone are added up. */
static weft_tensor sum_padding(const weft_gradient_context *c)
{
    weft_tensor x = c->inputs.items[0], g = c->given.items[0];
    weft_tensor inside = weft_broadcast_like(weft_scalar(x.graph, WEFT_BOOL, 0), x);
    weft_tensor outside =
        weft_pad(inside, weft_scalar(x.graph, WEFT_BOOL, 1), c->attrs[0].extents, c->attrs[1].extents);
    weft_axis_list all = weft_axis_range(0, weft_tensor_rank(g));
    return weft_reduce_sum(weft_select(outside, g, weft_scalar_like(g, 0)), weft_axis_list_ints(&all), false);
}

static weft_status *vjp_pad(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_shape shape = weft_tensor_shape(c->inputs.items[0]);
    int64_t steps[WEFT_MAX_RANK];
    for (size_t i = 0; i < shape.rank; i++) steps[i] = 1;
    if (c->needs[0])
        out_values[0] = weft_slice(c->given.items[0], c->attrs[0].extents, shape, (weft_ints){shape.rank, steps});
    if (c->needs[1]) out_values[1] = sum_padding(c);
    return NULL;
}

static weft_status *vjp_window(const weft_gradient_context *c, weft_tensor *out_values)
{
    int64_t axis = c->attrs[0].integer;
    weft_extent extent = weft_tensor_extent(c->inputs.items[0], axis);
    out_values[0] = weft_window_add(c->given.items[0], axis, extent, c->attrs[2].integer, c->attrs[3].integer);
    return NULL;
}

/* Slanted back. */
static weft_status *vjp_shear(const weft_gradient_context *c, weft_tensor *out_values)
{
    int64_t axis = c->attrs[0].integer;
    weft_extent extent = weft_tensor_extent(c->inputs.items[0], axis);
    out_values[0] = weft_shear(c->given.items[0], axis, c->attrs[1].integer, -c->attrs[2].integer, extent);
    return NULL;
}

/* ---- concat ---- */

static weft_status *vjp_concat(const weft_gradient_context *c, weft_tensor *out_values)
{
    int64_t axis = c->attrs[0].integer;
    weft_extent start = weft_extent_of(0);
    for (size_t i = 0; i < c->inputs.count; i++) {
        weft_extent size = weft_tensor_extent(c->inputs.items[i], axis);
        if (c->needs[i]) out_values[i] = weft_narrow(c->given.items[0], axis, start, size);
        start = weft_extent_add(start, size);
    }
    return NULL;
}

/* ---- diagonals ---- */

static weft_status *vjp_extract(const weft_gradient_context *c, weft_tensor *out_values)
{
    out_values[0] = weft_embed_diagonal(c->given.items[0], c->attrs[0].integer, c->attrs[1].integer);
    return NULL;
}

/* The diagonal comes out at the lower of the two axes. */
static weft_status *vjp_embed(const weft_gradient_context *c, weft_tensor *out_values)
{
    int64_t axis = c->attrs[0].integer, added = c->attrs[1].integer;
    int64_t kept = axis >= added ? axis + 1 : axis;
    weft_tensor diagonal = weft_extract_diagonal(c->given.items[0], kept, added);
    out_values[0] = added < axis ? weft_moveaxis(diagonal, WEFT_INTS(added), WEFT_INTS(axis)) : diagonal;
    return NULL;
}

static const weft_gradient_row rows[] = {
    {WEFT_OP_reshape, vjp_reshape, weft_gradient_jvp_linear, NULL},
    {WEFT_OP_permute, vjp_permute, weft_gradient_jvp_linear, NULL},
    {WEFT_OP_broadcast, vjp_broadcast, weft_gradient_jvp_linear, NULL},
    {WEFT_OP_slice, vjp_slice, weft_gradient_jvp_linear, NULL},
    {WEFT_OP_pad, vjp_pad, jvp_filled, NULL},
    {WEFT_OP_flip, vjp_flip, weft_gradient_jvp_linear, NULL},
    {WEFT_OP_window, vjp_window, weft_gradient_jvp_linear, NULL},
    {WEFT_OP_shear, vjp_shear, weft_gradient_jvp_linear, NULL},
    {WEFT_OP_concat, vjp_concat, jvp_filled, NULL},
    {WEFT_OP_extract_diagonal, vjp_extract, weft_gradient_jvp_linear, NULL},
    {WEFT_OP_embed_diagonal, vjp_embed, weft_gradient_jvp_linear, NULL},
};

const weft_gradient_family weft_gradient_movement = {sizeof rows / sizeof *rows, rows};
