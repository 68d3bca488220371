/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/lower/view.h"
#include <stdio.h>

/* Where the point lies in memory, or NONE; every op on the way must only move elements, or, after `first`, cast them.
 */
static weft_expr address_of(weft_space *space, const weft_fusion *fusion, const weft_memory *memories,
                            const uint32_t *first_memory, weft_point point, weft_value first, uint32_t *out_memory)
{
    while (point.value.node > first.node || !weft_role_has_memory(fusion->roles[point.value.node])) {
        const weft_node *node = weft_graph_node(space->graph, point.value.node);
        weft_point read;
        if (point.value.node > first.node && weft_op_id_of(node->op) == WEFT_OP_cast) {
            point.value = node->inputs[0];
            continue;
        }
        bool moves = node->op->op_class == WEFT_CLASS_MOVEMENT && weft_op_id_of(node->op) != WEFT_OP_pad;
        if (!moves) return WEFT_EXPR_NONE;
        if (!weft_space_operand(space, &point, 0, NULL, &read) || read.predicate_count > 0) return WEFT_EXPR_NONE;
        point = read;
    }
    *out_memory = first_memory[point.value.node] + point.value.output;
    return weft_space_address(space, &memories[*out_memory], point.index);
}

weft_expr weft_view_variable(weft_space *space, weft_expr extent)
{
    char name[24];
    size_t number = weft_expr_context_symbol_count(space->exprs);
    do snprintf(name, sizeof name, "v%zu", number++);
    while (weft_expr_find(space->exprs, name) != WEFT_EXPR_NONE ||
           weft_expr_find(space->graph->exprs, name) != WEFT_EXPR_NONE);
    return weft_expr_variable(space->exprs, name, extent);
}

bool weft_view_find(weft_space *space, const weft_fusion *fusion, const weft_memory *memories,
                    const uint32_t *first_memory, weft_value value, weft_strides *out_view)
{
    return weft_view_find_from(space, fusion, memories, first_memory, value, value, out_view);
}

bool weft_view_find_from(weft_space *space, const weft_fusion *fusion, const weft_memory *memories,
                         const uint32_t *first_memory, weft_value value, weft_value first, weft_strides *out_view)
{
    weft_expr_context *x = space->exprs;
    weft_shape shape = weft_value_type(space->graph, value)->shape;
    weft_point point = weft_space_point(space, value);
    if (point.index == NULL) return false;
    for (size_t i = 0; i < shape.rank; i++)
        point.index[i] = weft_view_variable(space, weft_space_extent(space, shape.extents[i]));
    weft_expr address = address_of(space, fusion, memories, first_memory, point, first, &out_view->memory);
    for (size_t i = 0; i < shape.rank; i++) {
        weft_expr rest;
        if (!weft_expr_affine(x, address, point.index[i], &out_view->strides[i], &rest)) return false;
        address = rest;
    }
    /* A stride that still depends on another axis is not a stride. */
    for (size_t i = 0; i < shape.rank; i++) {
        for (size_t j = 0; j < shape.rank; j++) {
            if (weft_expr_uses(x, out_view->strides[i], point.index[j])) return false;
        }
    }
    out_view->offset = address;
    return address != WEFT_EXPR_NONE;
}
