/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/build_internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

weft_status *weft_builder_slot(variant_builder *builder, weft_expr expr, uint32_t *out_slot)
{
    WEFT_TRY(weft_extents_take_error(builder->extents));
    return weft_expr_compile(builder->extents, expr, &builder->variant->formulas, out_slot);
}

/* Slots of the strides of a strided array, which are symbols. */
static weft_status *stride_slots(variant_builder *builder, const char *prefix, uint32_t rank,
                                 const uint32_t **out_slots)
{
    uint32_t *slots = weft_arena_allocate(&builder->variant->arena, (rank + 1) * sizeof *slots);
    if (slots == NULL) return weft_status_out_of_memory();
    for (uint32_t i = 0; i < rank; i++) {
        char name[48];
        snprintf(name, sizeof name, "%s.s%" PRIu32, prefix, i);
        weft_formulas *formulas = &builder->variant->formulas;
        WEFT_TRY(weft_formulas_add_symbol(formulas, name, INT64_MIN, INT64_MAX, &slots[i]));
    }
    *out_slots = slots;
    return NULL;
}

static weft_status *extent_slots(variant_builder *builder, weft_shape shape, const uint32_t **out_slots,
                                 weft_expr *out_count)
{
    uint32_t *slots = weft_arena_allocate(&builder->variant->arena, (shape.rank + 1) * sizeof *slots);
    if (slots == NULL) return weft_status_out_of_memory();
    *out_count = weft_expr_constant(builder->extents, 1);
    for (size_t i = 0; i < shape.rank; i++) {
        weft_expr extent = weft_space_extent(&builder->space, shape.extents[i]);
        WEFT_TRY(weft_builder_slot(builder, extent, &slots[i]));
        *out_count = weft_expr_mul(builder->extents, *out_count, extent);
    }
    *out_slots = slots;
    return NULL;
}

/* Adds memory for `value`; with `factor`, for so many times its elements, of `dtype`. */
static weft_status *add_memory(variant_builder *builder, weft_value value, weft_dtype dtype, weft_expr factor,
                               weft_place place, uint32_t number)
{
    static const char *const prefixes[] = {[WEFT_PLACE_INPUT] = "in", [WEFT_PLACE_OUTPUT] = "out"};
    weft_shape shape = weft_value_type(builder->graph, value)->shape;
    weft_buffer buffer = {.place = place, .number = number, .dtype = dtype, .rank = (uint32_t)shape.rank};
    weft_memory memory = {.value = value, .dtype = dtype, .unit_axis = -1};
    weft_expr count = WEFT_EXPR_NONE;
    WEFT_TRY(extent_slots(builder, shape, &buffer.extents, &count));
    const uint8_t *layouts = place == WEFT_PLACE_INPUT    ? builder->request->input_layouts
                             : place == WEFT_PLACE_OUTPUT ? builder->request->output_layouts
                                                          : NULL;
    if (layouts != NULL && layouts[number] != WEFT_LAYOUT_CONTIGUOUS) {
        char prefix[24];
        int length = snprintf(prefix, sizeof prefix, "%s%" PRIu32, prefixes[place], number);
        memory.stride_prefix = weft_arena_string(&builder->arena, prefix, (size_t)length);
        if (memory.stride_prefix == NULL) return weft_status_out_of_memory();
        if (layouts[number] != WEFT_LAYOUT_STRIDED) memory.unit_axis = layouts[number] - WEFT_LAYOUT_UNIT;
        WEFT_TRY(stride_slots(builder, memory.stride_prefix, buffer.rank, &buffer.strides));
    }
    count = weft_expr_mul(builder->extents, count, factor);
    count =
        weft_expr_mul(builder->extents, count, weft_expr_constant(builder->extents, (int64_t)weft_dtype_size(dtype)));
    WEFT_TRY(weft_builder_slot(builder, count, &buffer.bytes));
    if (place == WEFT_PLACE_CONSTANT) buffer.data = weft_graph_node(builder->graph, value.node)->attrs[2].data;
    builder->memories[builder->memory_count] = memory;
    builder->variant->buffers[builder->memory_count++] = buffer;
    builder->variant->buffer_count = builder->memory_count;
    return NULL;
}

/* The first output of the program that is this value, or output_count. */
static size_t output_of(const weft_compiled *compiled, weft_value value)
{
    size_t i = 0;
    while (i < compiled->output_count &&
           (compiled->outputs[i].node != value.node || compiled->outputs[i].output != value.output)) {
        i++;
    }
    return i;
}

static weft_status *place_leaf(variant_builder *builder, uint32_t n)
{
    weft_value value = {n, 0};
    weft_dtype dtype = weft_value_type(builder->graph, value)->dtype;
    weft_expr one = weft_expr_constant(builder->extents, 1);
    uint32_t input = 0;
    if (weft_op_id_of(weft_graph_node(builder->graph, n)->op) == WEFT_OP_constant) {
        return add_memory(builder, value, dtype, one, WEFT_PLACE_CONSTANT, 0);
    }
    while (builder->compiled->inputs[input] != n) input++;
    return add_memory(builder, value, dtype, one, WEFT_PLACE_INPUT, input);
}

/* Memory of what is computed: an output of the program, or a temporary; partial results of a long reduction follow. */
static weft_status *place_computed(variant_builder *builder, uint32_t n)
{
    const weft_node *node = weft_graph_node(builder->graph, n);
    weft_expr one = weft_expr_constant(builder->extents, 1);
    for (uint32_t i = 0; i < node->output_count; i++) {
        weft_value value = {n, i};
        size_t output = output_of(builder->compiled, value);
        bool is_output = output < builder->compiled->output_count;
        weft_place place = is_output ? WEFT_PLACE_OUTPUT : WEFT_PLACE_TEMPORARY;
        WEFT_TRY(add_memory(builder, value, node->types[i].dtype, one, place, is_output ? (uint32_t)output : 0));
    }
    if (builder->partition->roles[n] != WEFT_ROLE_KERNEL || node->op->op_class != WEFT_CLASS_REDUCE) return NULL;
    weft_reduction reduction;
    weft_reduction_fill(builder->graph, n, &reduction);
    if (reduction.chunk == 0) return NULL;
    weft_dtype dtypes[WEFT_MAX_COMPONENTS];
    uint32_t width = weft_reduction_components(builder->graph, n, dtypes);
    weft_expr chunks = weft_reduction_chunks(&builder->space, n, &reduction);
    for (uint32_t i = 0; i < width; i++) {
        WEFT_TRY(add_memory(builder, (weft_value){n, 0}, dtypes[i], chunks, WEFT_PLACE_TEMPORARY, 0));
    }
    return NULL;
}

/* Outputs of the program whose value lies elsewhere already: an input, a constant, an earlier output. */
static weft_status *place_copies(variant_builder *builder)
{
    const weft_compiled *compiled = builder->compiled;
    for (size_t i = 0; i < compiled->output_count; i++) {
        weft_value value = compiled->outputs[i];
        uint32_t source = builder->first_memory[value.node] + value.output;
        const weft_buffer *buffer = &builder->variant->buffers[source];
        if (buffer->place == WEFT_PLACE_OUTPUT && buffer->number == i) continue;
        builder->copies[builder->copy_count].source = source;
        builder->copies[builder->copy_count++].target = builder->memory_count;
        weft_dtype dtype = weft_value_type(builder->graph, value)->dtype;
        weft_expr one = weft_expr_constant(builder->extents, 1);
        WEFT_TRY(add_memory(builder, value, dtype, one, WEFT_PLACE_OUTPUT, (uint32_t)i));
    }
    return NULL;
}

/* Most memories there can be: every output of every node, partial results, and each output of the program once more. */
static size_t memory_bound(const variant_builder *builder)
{
    size_t bound = builder->compiled->output_count + 1;
    for (size_t n = 0; n < builder->graph->node_count; n++) {
        bool has_memory = weft_role_has_memory(builder->partition->roles[n]);
        if (has_memory) bound += builder->graph->nodes[n].output_count + WEFT_MAX_COMPONENTS;
    }
    return bound;
}

weft_status *weft_builder_place(variant_builder *builder)
{
    size_t bound = memory_bound(builder), nodes = builder->graph->node_count, outputs = builder->compiled->output_count;
    builder->memories = weft_arena_allocate(&builder->arena, bound * sizeof *builder->memories);
    builder->first_memory = weft_arena_allocate(&builder->arena, (nodes + 1) * sizeof *builder->first_memory);
    builder->copies = weft_arena_allocate(&builder->arena, (outputs + 1) * sizeof *builder->copies);
    builder->variant->buffers = weft_arena_allocate(&builder->variant->arena, bound * sizeof(weft_buffer));
    bool fine = builder->memories != NULL && builder->first_memory != NULL && builder->copies != NULL;
    if (!fine || builder->variant->buffers == NULL) return weft_status_out_of_memory();
    for (uint32_t n = 0; n < nodes; n++) {
        weft_role role = builder->partition->roles[n];
        builder->first_memory[n] = weft_role_has_memory((uint8_t)role) ? builder->memory_count : WEFT_MEMORY_NONE;
        if (role == WEFT_ROLE_LEAF) WEFT_TRY(place_leaf(builder, n));
        if (role > WEFT_ROLE_LEAF) WEFT_TRY(place_computed(builder, n));
    }
    return place_copies(builder);
}
