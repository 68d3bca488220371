/* SPDX-License-Identifier: Apache-2.0 */
/* The stores of a scatter or dynamic update slice over its operand 0. */
#include "lib/graph/indexing.h"
#include "lib/lower/lowerer.h"
#include "runtime/program/variant.h"

static bool is_scatter(const weft_node *node)
{
    return weft_op_id_of(node->op) == WEFT_OP_scatter;
}

uint64_t weft_lowerer_meeting_axes(lowerer *low)
{
    const weft_node *node = weft_graph_node(low->graph, low->owner);
    weft_indexed_axis axes[2 * WEFT_MAX_RANK];
    uint64_t meeting = 0;
    if (!is_scatter(node)) return 0;
    size_t count =
        weft_indexing_fill(weft_value_type(low->graph, node->inputs[0])->shape.rank, node->attrs[0].ints,
                           node->attrs[1].ints, weft_value_type(low->graph, node->inputs[2])->shape.rank, axes);
    for (size_t i = 0; i < count; i++) {
        if (axes[i].data < 0) meeting |= UINT64_C(1) << i;
    }
    return meeting;
}

bool weft_lowerer_update_operand(lowerer *low, const weft_point *point, uint32_t operand, weft_point *out_point)
{
    const weft_node *node = weft_graph_node(low->graph, low->owner);
    if (is_scatter(node)) return weft_space_indices(&low->space, node, operand, point->index, out_point);
    *out_point = weft_space_point(&low->space, node->inputs[operand]);
    return out_point->index != NULL;
}

static weft_expr writes(lowerer *low)
{
    return weft_expr_sub(low->exprs, weft_expr_symbol(low->exprs, WEFT_WRITES_SYMBOL, 0, 1),
                         weft_expr_constant(low->exprs, 1));
}

/* The update itself: not read where nothing is written, unless it is computed here, with checks of its own, or is a
 * single element for each place, where asking costs more than reading. */
static weft_inst_id update_value(lowerer *low, const weft_point *point)
{
    uint32_t count = point->predicate_count;
    if (low->outer == 0 || !weft_role_has_memory(low->fusion->roles[point->value.node]))
        return weft_lowerer_value(low, point);
    weft_point read = *point;
    weft_expr *predicates = weft_arena_allocate(&low->arena, (count + 1) * sizeof *predicates);
    if (predicates == NULL) low->failed = true;
    if (low->failed) return 0;
    for (uint32_t i = 0; i < count; i++) predicates[i] = point->predicates[i];
    predicates[count] = writes(low);
    read.predicates = predicates;
    read.predicate_count = count + 1;
    return weft_lowerer_value(low, &read);
}

void weft_lowerer_store_update(lowerer *low, const weft_point *point, uint32_t target)
{
    indexed_read p = {.node = weft_graph_node(low->graph, low->owner), .point = point};
    weft_op_id combine = WEFT_OP_COUNT;
    weft_inst_id value = update_value(low, point);
    low->checks_values = low->site_count > 0;
    if (!weft_lowerer_index_read(low, &p)) return;
    if (is_scatter(p.node)) weft_scatter_mode_find(p.node->attrs[2].data, &combine);
    if (low->outer != 0) weft_indexed_require(low, &p, writes(low));
    if (combine != WEFT_OP_COUNT) {
        weft_inst_id old = weft_lowerer_load(low, target, &p.read);
        weft_dtype dtype = weft_value_type(low->graph, point->value)->dtype;
        value = weft_lowerer_binary(low, weft_lowerer_scalar(combine), dtype, old, value);
    }
    if (low->outer == 0) weft_indexed_require(low, &p, writes(low));
    weft_store store = {.buffer = weft_lowerer_buffer(low, target, true),
                        .index = weft_lowerer_address(low, target, p.read.index),
                        .value = value,
                        .predicate_count = p.read.predicate_count,
                        .predicates = p.read.predicates};
    store.is_indirect = weft_lowerer_displace(low, &store.index, &store.offset);
    /* Data move nothing along axes of one element, but updates meet there all the same. */
    if (!store.is_indirect && weft_lowerer_meeting_axes(low) != 0) {
        store.is_indirect = true;
        store.offset = weft_lowerer_constant(low, WEFT_I64, 0);
    }
    weft_kernel_builder_store(low->builder, &store);
}
