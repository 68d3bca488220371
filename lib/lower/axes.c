/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/lower/lowerer.h"

/* The axes of a kernel's root as ranges: each is one, or two. */

/* ---- groups ---- */

/* The number of elements of each group of an axis, if these are known and lie where the point has the index i /
 * elements along `axis` of its own; 0 otherwise. */
static int64_t group_size(lowerer *low, const weft_point *point, uint32_t axis, weft_expr variable)
{
    weft_expr_context *x = low->exprs;
    weft_extent own = weft_value_type(low->graph, point->value)->shape.extents[axis];
    int64_t groups, extent;
    if (!weft_expr_uses(x, point->index[axis], variable)) return 0;
    if (!weft_expr_is_constant(x, weft_space_extent(&low->space, own), &groups) || groups < 2) return 0;
    if (!weft_expr_is_constant(x, weft_expr_bound(x, variable), &extent) || extent % groups != 0) return 0;
    weft_expr size = weft_expr_constant(x, extent / groups);
    return extent > groups && weft_expr_div(x, variable, size) == point->index[axis] ? extent / groups : 0;
}

/* Whether a kernel that takes groups one by one may save reading from memory what L2 does not hold, as far as bounds
 * tell: 64 images of 320 channels of 8 x 8, normalised in 32 groups, take 0.6 of the time in one kernel. Not so short
 * groups, for which a kernel begins anew too often: 32 images of 64 channels of 7 x 7 in 16 take 1.16 (Sapphire
 * Rapids). */
static bool pays(lowerer *low, uint32_t axis, int64_t size)
{
    enum { ENOUGH = 512, MUCH = 1 << 18 };
    weft_shape shape = weft_value_type(low->graph, low->value)->shape;
    int64_t count = size, least, most;
    for (uint32_t i = axis + 1; i < shape.rank && count < ENOUGH; i++) {
        weft_space_range(&low->space, shape.extents[i], &least, &most);
        count *= most < ENOUGH ? most : ENOUGH;
    }
    return count >= ENOUGH && weft_count_bound(&low->space, shape) >= MUCH;
}

void weft_lowerer_find_cut(lowerer *low, const weft_point *point)
{
    size_t rank = weft_value_type(low->graph, point->value)->shape.rank;
    for (uint32_t i = 0; i < rank; i++) {
        for (uint32_t axis = 0; axis < low->axis_count; axis++) {
            int64_t size = group_size(low, point, i, low->variables[axis]);
            if (size != 0 && pays(low, axis, size)) low->wanted_cut = (axis_cut){axis, weft_extent_of(size)};
        }
    }
}

/* ---- joined axes ---- */

static bool is_known(lowerer *low, weft_extent extent, int64_t *out_value)
{
    return weft_expr_is_constant(low->exprs, weft_space_extent(&low->space, extent), out_value);
}

/* Whether the value is short rows of a concat: their elements are computed in different ways, and stored side by side
 * (lib/schedule/interleave.c). */
static bool is_stacked(const lowerer *low, weft_value value)
{
    const weft_node *node = weft_graph_node(low->graph, value.node);
    return weft_op_id_of(node->op) == WEFT_OP_concat && weft_node_makes_rows(node);
}

axis_cut weft_lowerer_joined_axis(lowerer *low, weft_value value)
{
    const weft_node *node = weft_graph_node(low->graph, value.node);
    const axis_cut none = {0};
    int64_t known, least, most;
    if (weft_op_id_of(node->op) != WEFT_OP_reshape) return none;
    weft_shape in = weft_value_type(low->graph, node->inputs[0])->shape, out = node->types[value.output].shape;
    size_t i = in.rank;
    while (i > 0 && is_known(low, in.extents[i - 1], &known) && known == 1) i--;
    if (i == 0 || out.rank == 0 || out.rank >= WEFT_MAX_RANK) return none;
    if (is_known(low, in.extents[i - 1], &known) && !is_stacked(low, node->inputs[0])) return none;
    const axis_cut cut = {(uint32_t)out.rank - 1, in.extents[i - 1]};
    weft_expr joined = weft_space_extent(&low->space, cut.inner);
    weft_expr last = weft_space_extent(&low->space, out.extents[cut.axis]);
    weft_space_range(&low->space, cut.inner, &least, &most);
    if (least < 1 || joined == last) return none;
    for (i--; i > 0 && joined != last; i--)
        joined = weft_expr_mul(low->exprs, joined, weft_space_extent(&low->space, in.extents[i - 1]));
    return joined == last ? cut : none;
}

/* ---- all ---- */

/* The next axis that may be a range, as a variable; zero where the extent is one. */
static weft_expr add_axis(lowerer *low, weft_expr extent)
{
    int64_t constant;
    bool one = weft_expr_is_constant(low->exprs, extent, &constant) && constant == 1;
    weft_expr variable = one ? weft_expr_constant(low->exprs, 0) : weft_lowerer_variable(low, extent);
    low->variables[low->axis_count++] = variable;
    return variable;
}

/* The index along an axis that is two ranges. */
static weft_expr add_cut_axis(lowerer *low, weft_expr extent)
{
    weft_expr_context *x = low->exprs;
    weft_expr size = weft_space_extent(&low->space, low->cut.inner);
    weft_expr group = add_axis(low, weft_expr_div(x, extent, size)), rest = add_axis(low, size);
    return weft_expr_add(x, weft_expr_mul(x, group, size), rest);
}

weft_point weft_lowerer_whole_point(lowerer *low, weft_value value)
{
    weft_point point = weft_space_point(&low->space, value);
    if (point.index == NULL) {
        low->failed = true;
        return point;
    }
    weft_shape shape = weft_value_type(low->graph, value)->shape;
    for (uint32_t i = 0; i < shape.rank; i++) {
        weft_expr extent = weft_space_extent(&low->space, shape.extents[i]);
        bool is_cut = weft_axis_is_cut(low->cut) && low->cut.axis == i;
        point.index[i] = is_cut ? add_cut_axis(low, extent) : add_axis(low, extent);
    }
    return point;
}
