/* SPDX-License-Identifier: Apache-2.0 */
/* Which reductions are stages of a kernel: those that are needed at its outer axes. */
#include <string.h>
#include "lib/graph/indexing.h"
#include "lib/lower/lowerer.h"

/* Whether all indices of the root's axis are inside the extent: a concat or pad reads its operands on a part of its own
 * axis only. */
static bool stays_inside(lowerer *low, weft_expr variable, weft_extent extent)
{
    weft_expr_context *x = low->exprs;
    weft_expr rest = weft_expr_sub(x, weft_space_extent(&low->space, extent), weft_expr_bound(x, variable));
    return weft_expr_always_nonnegative(x, rest);
}

/* Whether the extent is known to be at least one: the only index of an empty axis is 0, too. */
static bool has_elements(lowerer *low, weft_extent extent)
{
    weft_expr_context *x = low->exprs;
    weft_expr rest = weft_expr_sub(x, weft_space_extent(&low->space, extent), weft_expr_constant(x, 1));
    return weft_expr_always_nonnegative(x, rest);
}

/* The axes of the root that the point uses, if its index consists of distinct axes and zeros. */
static bool used_axes(lowerer *low, const weft_point *point, uint64_t *out_axes)
{
    weft_shape shape = weft_value_type(low->graph, point->value)->shape;
    size_t rank = low->axis_count;
    uint64_t axes = 0;
    for (size_t i = 0; i < shape.rank; i++) {
        int64_t constant;
        if (weft_expr_is_constant(low->exprs, point->index[i], &constant) && constant == 0) {
            if (!has_elements(low, shape.extents[i])) return false;
            continue;
        }
        size_t axis = 0;
        while (axis < rank && low->variables[axis] != point->index[i]) axis++;
        if (axis == rank || (axes >> axis & 1) != 0) return false;
        if (!stays_inside(low, point->index[i], shape.extents[i])) return false;
        axes |= UINT64_C(1) << axis;
    }
    *out_axes = axes;
    return true;
}

static bool same_index(const lowerer *low, const weft_point *a, const weft_point *b)
{
    size_t rank = weft_value_type(low->graph, a->value)->shape.rank;
    return rank == 0 || memcmp(a->index, b->index, rank * sizeof *a->index) == 0;
}

void weft_lowerer_add_stage(lowerer *low, stage_plan *plan)
{
    plan->next = NULL;
    *low->last_stage = plan;
    low->last_stage = &plan->next;
}

/* Whether a reduction read at this point can be a stage: it has to use exactly the outer axes, and there must be some
 * to run in parallel. */
static bool fits(lowerer *low, const weft_point *point)
{
    uint64_t axes;
    if (!used_axes(low, point, &axes)) {
        if (low->may_cut) weft_lowerer_find_cut(low, point);
        return false;
    }
    if (low->outer_fixed) return axes == low->outer;
    if (axes == 0 && weft_lowerer_axes(low) != 0) return false;
    low->outer = axes;
    low->outer_fixed = true;
    return true;
}

bool weft_lowerer_find_stages_of_operands(lowerer *low, const weft_point *point, const weft_expr *reduced)
{
    const weft_node *node = weft_graph_node(low->graph, point->value.node);
    for (uint32_t i = weft_indexing_first(weft_op_id_of(node->op)); i < node->input_count; i++) {
        weft_point read;
        if (!weft_space_operand(&low->space, point, i, reduced, &read)) low->failed = true;
        if (low->failed || !weft_lowerer_find_stages(low, &read)) return false;
    }
    return true;
}

static bool find_stage(lowerer *low, const weft_point *point)
{
    stage_plan *known = weft_lowerer_find_stage(low, point->value.node);
    if (known != NULL && same_index(low, &known->point, point)) return true;
    weft_shape shape = weft_value_type(low->graph, point->value)->shape;
    /* In ranges without a point indices say nothing of where a value is needed. */
    if (known != NULL || weft_space_is_empty(&low->space, shape) || !fits(low, point)) {
        if (!weft_axis_is_cut(low->wanted_cut)) weft_fusion_materialize_stage(low->lowering->fusion, point->value.node);
        return false;
    }
    stage_plan *plan = weft_lowerer_plan(low, point);
    if (plan == NULL) low->failed = true;
    if (low->failed || !weft_lowerer_find_stages_of_operands(low, point, plan->reduced)) return false;
    weft_lowerer_add_stage(low, plan);
    return true;
}

bool weft_lowerer_find_stages(lowerer *low, const weft_point *point)
{
    weft_role role = low->fusion->roles[point->value.node];
    if (weft_role_has_memory((uint8_t)role) && !weft_lowerer_stores(low, point->value.node)) return true;
    size_t key_size = 0;
    const uint32_t *key = weft_lowerer_key(low, point, &key_size);
    if (low->failed) return false;
    if (weft_map_find(&low->visited, key, key_size) != NULL) return true;
    if (!weft_map_insert(&low->visited, key, key_size, low)) low->failed = true;
    if (low->failed) return false;
    return role == WEFT_ROLE_STAGE ? find_stage(low, point) : weft_lowerer_find_stages_of_operands(low, point, NULL);
}
