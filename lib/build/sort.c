/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/build/builder.h"

weft_status *weft_builder_plan_sort(variant_builder *builder, planned_step *step)
{
    const weft_node *node = weft_graph_node(builder->graph, step->node);
    weft_value result = {step->node, 0};
    bool found =
        weft_view_find(&builder->space, builder->fusion, builder->memories, builder->first_memory, node->inputs[0],
                       &step->a) &&
        weft_view_find(&builder->space, builder->fusion, builder->memories, builder->first_memory, result, &step->c);
    WEFT_TRY(weft_expr_context_take_error(builder->exprs));
    if (found) return NULL;
    /* What has memory is a view of it: only room for the search was missing. */
    uint32_t operand = node->inputs[0].node;
    if (weft_role_has_memory(builder->fusion->roles[operand])) return weft_status_out_of_memory();
    weft_fusion_materialize(builder->fusion, operand);
    return NULL;
}

/* Slots of one expression for each axis but `without`. */
static weft_status *row_slots(variant_builder *builder, size_t rank, const weft_expr *exprs, size_t without,
                              const uint32_t **out_slots)
{
    uint32_t *slots = weft_arena_allocate(&builder->variant->arena, rank * sizeof *slots);
    if (slots == NULL) return weft_status_out_of_memory();
    for (size_t i = 0, n = 0; i < rank; i++) {
        if (i != without) WEFT_TRY(weft_builder_slot(builder, exprs[i], &slots[n++]));
    }
    *out_slots = slots;
    return NULL;
}

/* ---- how much of a row is read ---- */

enum { UNREAD = UINT32_MAX, READ_BY_SEVERAL = UINT32_MAX - 1 };

static void add_reader(uint32_t *readers, weft_value value, uint32_t reader)
{
    uint32_t *known = &readers[value.node];
    *known = *known == UNREAD || *known == reader ? reader : READ_BY_SEVERAL;
}

/* For each node the only one that reads it. */
static weft_status *find_readers(variant_builder *builder)
{
    const weft_compiled *compiled = builder->compiled;
    size_t count = builder->graph->node_count;
    if (builder->readers != NULL) return NULL;
    builder->readers = weft_arena_allocate(builder->arena, (count + 1) * sizeof *builder->readers);
    if (builder->readers == NULL) return weft_status_out_of_memory();
    for (size_t n = 0; n < count; n++) builder->readers[n] = UNREAD;
    for (uint32_t n = 0; n < count; n++) {
        const weft_node *node = weft_graph_node(builder->graph, n);
        if (builder->fusion->roles[n] == WEFT_ROLE_DEAD) continue;
        for (size_t i = 0; i < node->input_count; i++) add_reader(builder->readers, node->inputs[i], n);
    }
    for (size_t i = 0; i < compiled->output_count; i++)
        add_reader(builder->readers, compiled->outputs[i], READ_BY_SEVERAL);
    return NULL;
}

/* Where a slice alone reads the sorted rows, what comes after it need not be in order. */
static weft_status *wanted_slot(variant_builder *builder, uint32_t n, size_t axis, weft_expr extent, uint32_t *out_slot)
{
    WEFT_TRY(find_readers(builder));
    uint32_t reader = builder->readers[n];
    const weft_node *slice = reader < READ_BY_SEVERAL ? weft_graph_node(builder->graph, reader) : NULL;
    if (slice != NULL && weft_op_id_of(slice->op) == WEFT_OP_slice && slice->attrs[2].ints.items[axis] == 1) {
        weft_expr start = weft_space_extent(&builder->space, slice->attrs[0].extents.extents[axis]);
        weft_expr size = weft_space_extent(&builder->space, slice->attrs[1].extents.extents[axis]);
        if (start == WEFT_EXPR_NONE || size == WEFT_EXPR_NONE) return weft_status_out_of_memory();
        extent = weft_expr_add(builder->exprs, start, size);
    }
    return weft_builder_slot(builder, extent, out_slot);
}

weft_status *weft_builder_fill_sort(variant_builder *builder, const planned_step *planned, weft_step *out_step)
{
    const weft_node *node = weft_graph_node(builder->graph, planned->node);
    const weft_type *type = weft_value_type(builder->graph, node->inputs[0]);
    size_t axis = (size_t)node->attrs[0].integer, rank = type->shape.rank;
    weft_expr extents[WEFT_MAX_RANK];
    for (size_t i = 0; i < rank; i++) {
        extents[i] = weft_space_extent(&builder->space, type->shape.extents[i]);
        if (extents[i] == WEFT_EXPR_NONE) return weft_status_out_of_memory();
    }
    weft_sort_step *sort = &out_step->sort;
    sort->dtype = type->dtype;
    sort->positions = weft_op_id_of(node->op) == WEFT_OP_argsort;
    sort->descending = node->attrs[1].integer != 0;
    sort->rank = (uint32_t)rank - 1;
    WEFT_TRY(row_slots(builder, rank, extents, axis, &sort->rows));
    WEFT_TRY(row_slots(builder, rank, planned->a.strides, axis, &sort->in_strides));
    WEFT_TRY(row_slots(builder, rank, planned->c.strides, axis, &sort->out_strides));
    WEFT_TRY(weft_builder_slot(builder, extents[axis], &sort->length));
    WEFT_TRY(wanted_slot(builder, planned->node, axis, extents[axis], &sort->wanted));
    WEFT_TRY(weft_builder_slot(builder, planned->a.strides[axis], &sort->in_step));
    WEFT_TRY(weft_builder_slot(builder, planned->c.strides[axis], &sort->out_step));
    WEFT_TRY(weft_builder_slot(builder, planned->a.offset, &sort->in_offset));
    WEFT_TRY(weft_builder_slot(builder, planned->c.offset, &sort->out_offset));
    const uint32_t buffers[] = {builder->buffers[planned->a.memory], builder->buffers[planned->target]};
    out_step->buffers = weft_arena_copy(&builder->variant->arena, buffers, sizeof buffers);
    out_step->buffer_count = 2;
    out_step->written = 1;
    return out_step->buffers == NULL ? weft_status_out_of_memory() : NULL;
}
