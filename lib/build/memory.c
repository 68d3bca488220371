/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/build/builder.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

weft_status *weft_builder_slot(variant_builder *builder, weft_expr expr, uint32_t *out_slot)
{
    WEFT_TRY(weft_expr_context_take_error(builder->exprs));
    return weft_expr_compile(builder->exprs, expr, &builder->variant->formulas, out_slot);
}

/* ---- what the request has values of ---- */

/* A weft_fixed that is being made. */
typedef struct named_values {
    weft_arena *arena;
    const char **names;
    int64_t *values;
    size_t count;
    bool failed;
} named_values;

static void add_strides(named_values *known, const char *prefix, size_t number, uint32_t rank, const int64_t *strides)
{
    for (uint32_t axis = 0; axis < rank; axis++) {
        char name[48];
        int length = snprintf(name, sizeof name, "%s%zu.s%" PRIu32, prefix, number, axis);
        known->names[known->count] = weft_arena_string(known->arena, name, (size_t)length);
        known->failed |= known->names[known->count] == NULL;
        known->values[known->count++] = strides[axis];
    }
}

/* Those of the arrays that are not row-major. */
static void add_all_strides(named_values *known, const weft_build_request *request)
{
    const weft_program *program = request->program;
    const int64_t *strides = request->strides;
    for (size_t i = 0; i < program->input_count; strides += program->inputs[i++].rank)
        if (request->input_layouts[i] != WEFT_LAYOUT_CONTIGUOUS)
            add_strides(known, "in", i, program->inputs[i].rank, strides);
    for (size_t i = 0; i < program->output_count; strides += program->outputs[i++].rank)
        if (request->output_layouts[i] != WEFT_LAYOUT_CONTIGUOUS)
            add_strides(known, "out", i, program->outputs[i].rank, strides);
}

weft_status *weft_builder_fixed(const weft_build_request *request, weft_arena *arena, weft_fixed *out_fixed)
{
    const weft_program *program = request->program;
    size_t most = request->specialized_count + 1;
    for (size_t i = 0; i < program->input_count; i++) most += program->inputs[i].rank;
    for (size_t i = 0; i < program->output_count; i++) most += program->outputs[i].rank;
    named_values known = {.arena = arena,
                          .names = weft_arena_allocate(arena, most * sizeof *known.names),
                          .values = weft_arena_allocate(arena, most * sizeof *known.values)};
    if (known.names == NULL || known.values == NULL) return weft_status_out_of_memory();
    for (; known.count < request->specialized_count; known.count++) {
        known.names[known.count] = program->formulas.symbols[known.count].name;
        known.values[known.count] = request->specialized[known.count];
    }
    if (request->strides != NULL) add_all_strides(&known, request);
    if (known.failed) return weft_status_out_of_memory();
    *out_fixed = (weft_fixed){.count = known.count, .names = known.names, .values = known.values};
    return NULL;
}

/* ---- buffers ---- */

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
    *out_count = weft_expr_constant(builder->exprs, weft_space_is_empty(&builder->space, shape) ? 0 : 1);
    for (size_t i = 0; i < shape.rank; i++) {
        weft_expr extent = weft_space_extent(&builder->space, shape.extents[i]);
        WEFT_TRY(weft_builder_slot(builder, extent, &slots[i]));
        *out_count = weft_expr_mul(builder->exprs, *out_count, extent);
    }
    *out_slots = slots;
    return NULL;
}

weft_status *weft_builder_push_buffer(variant_builder *builder, const weft_buffer *buffer, uint32_t *out_number)
{
    weft_variant *variant = builder->variant;
    size_t *capacity = &builder->root->buffer_capacity;
    if (variant->buffer_count == *capacity) {
        size_t wanted = 2 * *capacity + 16;
        weft_buffer *grown = weft_arena_allocate(&variant->arena, wanted * sizeof *grown);
        if (grown == NULL) return weft_status_out_of_memory();
        if (*capacity > 0) memcpy(grown, variant->buffers, *capacity * sizeof *grown);
        variant->buffers = grown;
        *capacity = wanted;
    }
    *out_number = (uint32_t)variant->buffer_count;
    variant->buffers[variant->buffer_count++] = *buffer;
    return NULL;
}

static void push_memory(variant_builder *builder, const weft_memory *memory, uint32_t buffer)
{
    builder->buffers[builder->memory_count] = buffer;
    builder->memories[builder->memory_count++] = *memory;
}

/* `node` may be NULL. */
static weft_status *strides_overflow(const variant_builder *builder, const weft_node *node, const weft_type *type)
{
    const weft_allocator *allocator = builder->request->allocator;
    weft_status *status =
        weft_status_create(allocator, WEFT_OUT_OF_RANGE, NULL, "the strides of an array of type %s overflow 64 bits",
                           weft_type_describe(type).text);
    return node == NULL ? status : weft_node_error(node, allocator, status);
}

static weft_status *check_strides(variant_builder *builder, const weft_node *node, weft_shape shape, weft_dtype dtype)
{
    int64_t extent, stride = (int64_t)weft_dtype_size(dtype);
    weft_type type = {dtype, shape};
    bool overflows = false;
    if (weft_space_is_empty(&builder->space, shape)) return NULL;
    for (size_t i = 0; i < shape.rank; i++)
        if (weft_extent_is_static(shape.extents[i], &extent) && extent > 1)
            overflows = overflows || __builtin_mul_overflow(stride, extent, &stride);
    return overflows ? strides_overflow(builder, node, &type) : NULL;
}

/* Row-major, of so many times the elements of `shape`. */
static weft_status *fill_buffer(variant_builder *builder, weft_shape shape, weft_dtype dtype, weft_expr factor,
                                weft_buffer *out_buffer)
{
    weft_expr_context *x = builder->exprs;
    weft_expr count = WEFT_EXPR_NONE, size = weft_expr_constant(x, (int64_t)weft_dtype_size(dtype));
    *out_buffer = (weft_buffer){.dtype = dtype, .rank = (uint32_t)shape.rank};
    WEFT_TRY(extent_slots(builder, shape, &out_buffer->extents, &count));
    count = weft_expr_mul(x, weft_expr_mul(x, count, factor), size);
    return weft_builder_slot(builder, count, &out_buffer->bytes);
}

weft_status *weft_builder_buffer(variant_builder *builder, const weft_type *type, weft_buffer_kind kind,
                                 uint32_t *out_buffer)
{
    weft_buffer buffer;
    weft_expr one = weft_expr_constant(builder->exprs, 1);
    WEFT_TRY(check_strides(builder, NULL, type->shape, type->dtype));
    WEFT_TRY(fill_buffer(builder, type->shape, type->dtype, one, &buffer));
    buffer.kind = kind;
    return weft_builder_push_buffer(builder, &buffer, out_buffer);
}

/* A temporary for `value`; with `factor`, for that many times its elements, of `dtype`. */
static weft_status *place_temporary(variant_builder *builder, weft_value value, weft_shape shape, weft_dtype dtype,
                                    weft_expr factor)
{
    weft_memory memory = {
        .value = value, .dtype = dtype, .unit_axis = -1, .order = weft_fusion_order(builder->fusion, value.node)};
    weft_buffer buffer;
    uint32_t number;
    WEFT_TRY(check_strides(builder, weft_graph_node(builder->graph, value.node), shape, dtype));
    WEFT_TRY(fill_buffer(builder, shape, dtype, factor, &buffer));
    buffer.kind = WEFT_BUFFER_TEMPORARY;
    WEFT_TRY(weft_builder_push_buffer(builder, &buffer, &number));
    push_memory(builder, &memory, number);
    return NULL;
}

weft_status *weft_builder_spare(variant_builder *builder, weft_value value, uint32_t *out_memory)
{
    *out_memory = builder->memory_count;
    weft_expr one = weft_expr_constant(builder->exprs, 1);
    const weft_type *type = weft_value_type(builder->graph, value);
    return place_temporary(builder, value, type->shape, type->dtype, one);
}

/* An array of the caller's, in the layout that the variant is for. */
static weft_status *place_array(variant_builder *builder, weft_value value, weft_buffer_kind kind, uint32_t number)
{
    const weft_build_request *request = builder->request;
    const weft_type *type = weft_value_type(builder->graph, value);
    bool is_input = kind == WEFT_BUFFER_INPUT;
    uint8_t layout = (is_input ? request->input_layouts : request->output_layouts)[number];
    weft_memory memory = {.value = value, .dtype = type->dtype, .unit_axis = -1};
    weft_buffer buffer;
    uint32_t pushed;
    WEFT_TRY(check_strides(builder, weft_graph_node(builder->graph, value.node), type->shape, type->dtype));
    WEFT_TRY(fill_buffer(builder, type->shape, type->dtype, weft_expr_constant(builder->exprs, 1), &buffer));
    buffer.kind = kind;
    buffer.number = number;
    if (layout != WEFT_LAYOUT_CONTIGUOUS) {
        char prefix[24];
        int length = snprintf(prefix, sizeof prefix, "%s%" PRIu32, is_input ? "in" : "out", number);
        memory.stride_prefix = weft_arena_string(builder->arena, prefix, (size_t)length);
        if (memory.stride_prefix == NULL) return weft_status_out_of_memory();
        if (layout != WEFT_LAYOUT_STRIDED) memory.unit_axis = layout - WEFT_LAYOUT_UNIT;
        WEFT_TRY(stride_slots(builder, memory.stride_prefix, buffer.rank, &buffer.strides));
    }
    WEFT_TRY(weft_builder_push_buffer(builder, &buffer, &pushed));
    push_memory(builder, &memory, pushed);
    return NULL;
}

static weft_status *place_constant(variant_builder *builder, weft_value value)
{
    const weft_type *type = weft_value_type(builder->graph, value);
    weft_memory memory = {.value = value, .dtype = type->dtype, .unit_axis = -1};
    uint32_t number;
    WEFT_TRY(weft_builder_buffer(builder, type, WEFT_BUFFER_CONSTANT, &number));
    builder->variant->buffers[number].data = weft_graph_node(builder->graph, value.node)->attrs[2].data;
    push_memory(builder, &memory, number);
    return NULL;
}

static weft_status *place_leaf(variant_builder *builder, uint32_t n)
{
    weft_value value = {n, 0};
    uint32_t input = 0;
    if (weft_op_id_of(weft_graph_node(builder->graph, n)->op) == WEFT_OP_constant)
        return place_constant(builder, value);
    while (builder->compiled->inputs[input] != n) input++;
    if (builder->interface == NULL) return place_array(builder, value, WEFT_BUFFER_INPUT, input);
    weft_memory memory = builder->interface->parameters[input];
    memory.value = value;
    push_memory(builder, &memory, builder->interface->parameter_buffers[input]);
    return NULL;
}

/* Where output number `output`, which is `value`, is wanted. */
static weft_status *place_output(variant_builder *builder, weft_value value, uint32_t output)
{
    if (builder->interface == NULL) return place_array(builder, value, WEFT_BUFFER_OUTPUT, output);
    weft_memory memory = {.value = value, .dtype = weft_value_type(builder->graph, value)->dtype, .unit_axis = -1};
    push_memory(builder, &memory, builder->interface->result_buffers[output]);
    return NULL;
}

/* The first output of the program or region that is computed in the place where it is wanted: output_count for none.
 * What a region op puts out is row-major. */
static size_t output_of(const variant_builder *builder, weft_value value)
{
    const weft_compiled *compiled = builder->compiled;
    size_t i = 0;
    while (i < compiled->output_count &&
           (compiled->outputs[i].node != value.node || compiled->outputs[i].output != value.output))
        i++;
    if (i == compiled->output_count || builder->fusion->roles[value.node] <= WEFT_ROLE_LEAF)
        return compiled->output_count;
    if (builder->interface != NULL) return builder->interface->result_buffers != NULL ? i : compiled->output_count;
    bool any_layout = builder->fusion->roles[value.node] != WEFT_ROLE_REGION;
    bool fits = any_layout || builder->request->output_layouts[i] == WEFT_LAYOUT_CONTIGUOUS;
    return fits ? i : compiled->output_count;
}

static weft_status *place_partial(variant_builder *builder, uint32_t n)
{
    const weft_node *node = weft_graph_node(builder->graph, n);
    weft_reduction reduction;
    weft_reduction_fill(builder->graph, n, &reduction);
    if (reduction.chunk == 0) return NULL;
    weft_dtype dtypes[WEFT_MAX_COMPONENTS];
    uint32_t width = weft_reduction_components(builder->graph, n, dtypes);
    weft_expr chunks = weft_reduction_chunks(&builder->space, n, &reduction);
    WEFT_TRY(weft_node_error(node, builder->request->allocator, weft_expr_context_take_error(builder->exprs)));
    for (uint32_t i = 0; i < width; i++)
        WEFT_TRY(place_temporary(builder, (weft_value){n, 0}, node->types[0].shape, dtypes[i], chunks));
    return NULL;
}

/* Totals of the chunks of a scan that is cut, and what there is after each. */
static weft_status *place_totals(variant_builder *builder, uint32_t n)
{
    const weft_node *node = weft_graph_node(builder->graph, n);
    weft_dtype dtypes[WEFT_MAX_COMPONENTS];
    int64_t size = weft_scan_chunk(builder->fusion, node);
    if (size == 0) return NULL;
    uint32_t width = weft_reduction_components(builder->graph, n, dtypes);
    weft_expr totals = weft_scan_totals(&builder->space, node, size);
    for (uint32_t i = 0; i < 2 * width; i++)
        WEFT_TRY(place_temporary(builder, (weft_value){n, 0}, (weft_shape){0, NULL}, dtypes[i % width], totals));
    return NULL;
}

/* Memory of what is computed: where an output is wanted, or a temporary; partial results of a long reduction follow. */
static weft_status *place_computed(variant_builder *builder, uint32_t n)
{
    const weft_node *node = weft_graph_node(builder->graph, n);
    weft_expr one = weft_expr_constant(builder->exprs, 1);
    for (uint32_t i = 0; i < node->output_count; i++) {
        weft_value value = {n, i};
        size_t output = output_of(builder, value);
        WEFT_TRY(output < builder->compiled->output_count
                     ? place_output(builder, value, (uint32_t)output)
                     : place_temporary(builder, value, node->types[i].shape, node->types[i].dtype, one));
    }
    uint8_t role = builder->fusion->roles[n];
    if (role == WEFT_ROLE_KERNEL && node->op->op_class == WEFT_CLASS_SCAN) return place_totals(builder, n);
    bool is_reduced = node->op->op_class == WEFT_CLASS_REDUCE && (role == WEFT_ROLE_KERNEL || role == WEFT_ROLE_STORED);
    return is_reduced ? place_partial(builder, n) : NULL;
}

/* Outputs whose value lies elsewhere already: an input, a constant, an earlier output. */
static weft_status *place_copies(variant_builder *builder)
{
    const weft_compiled *compiled = builder->compiled;
    if (builder->interface != NULL && builder->interface->result_buffers == NULL) return NULL;
    for (uint32_t i = 0; i < compiled->output_count; i++) {
        weft_value value = compiled->outputs[i];
        if (output_of(builder, value) == i) continue;
        builder->copies[builder->copy_count].source = weft_builder_memory(builder, value);
        builder->copies[builder->copy_count++].target = builder->memory_count;
        WEFT_TRY(place_output(builder, value, i));
    }
    return NULL;
}

uint32_t weft_builder_memory(const variant_builder *builder, weft_value value)
{
    return builder->first_memory[value.node] + value.output;
}

/* Most memories there can be: every output of every node, partial results, each output of the program once more, and
 * what loops copy to begin with. */
static size_t memory_bound(const variant_builder *builder)
{
    size_t bound = builder->compiled->output_count + 1;
    for (size_t n = 0; n < builder->graph->node_count; n++) {
        const weft_node *node = &builder->graph->nodes[n];
        weft_role role = builder->fusion->roles[n];
        if (weft_role_has_memory((uint8_t)role)) bound += node->output_count + WEFT_MAX_COMPONENTS;
        if (role == WEFT_ROLE_REGION) bound += node->input_count;
    }
    return bound;
}

weft_status *weft_builder_place(variant_builder *builder)
{
    size_t bound = memory_bound(builder), nodes = builder->graph->node_count, outputs = builder->compiled->output_count;
    builder->memories = weft_arena_allocate(builder->arena, bound * sizeof *builder->memories);
    builder->buffers = weft_arena_allocate(builder->arena, bound * sizeof *builder->buffers);
    builder->first_memory = weft_arena_allocate(builder->arena, (nodes + 1) * sizeof *builder->first_memory);
    builder->copies = weft_arena_allocate(builder->arena, (outputs + 1) * sizeof *builder->copies);
    bool fine = builder->memories != NULL && builder->buffers != NULL && builder->first_memory != NULL;
    if (!fine || builder->copies == NULL) return weft_status_out_of_memory();
    for (uint32_t n = 0; n < nodes; n++) {
        weft_role role = builder->fusion->roles[n];
        builder->first_memory[n] = weft_role_has_memory((uint8_t)role) ? builder->memory_count : WEFT_MEMORY_NONE;
        if (role == WEFT_ROLE_LEAF) WEFT_TRY(place_leaf(builder, n));
        if (role > WEFT_ROLE_LEAF) WEFT_TRY(place_computed(builder, n));
    }
    return place_copies(builder);
}
