/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/ref/ref.h"
#include <stdio.h>
#include <string.h>

static const weft_reference_function functions[] = {
#define WEFT_OP(name, inputs, attributes, dtypes, op_class, infer) [WEFT_OP_##name] = weft_reference_##name,
#include "lib/graph/op.def"
#undef WEFT_OP
    [WEFT_OP_EXTENSION] = weft_reference_extension,
};

/* One walk over a graph or a region. Values are numbered through: output k of node n is number first[n] + k. */
struct scope {
    const weft_reference_run *run;
    const weft_compiled *body;
    size_t argument_count;
    const weft_view *arguments;
    weft_arena arena;
    uint8_t *live;
    size_t *first, value_count;
    size_t *uses; /* of each value, still to come */
    weft_tensor_block **blocks;
};

weft_status *weft_reference_error(const weft_reference_call *call, weft_code code, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (code != WEFT_DATA_ERROR || call->location.file == NULL)
        return weft_status_create(call->allocator, code, "weft_executor_run", "%s: %s", call->op->name, text);
    return weft_status_create(call->allocator, code, "weft_executor_run", "%s: %s (%s:%d)", call->op->name, text,
                              call->location.file, call->location.line);
}

/* ---- preparation ---- */

static void *allocate_zeroed(weft_arena *arena, size_t count, size_t size)
{
    void *items = weft_arena_allocate(arena, count * size);
    if (items != NULL) memset(items, 0, count * size);
    return items;
}

static size_t value_number(const struct scope *scope, weft_value value)
{
    return scope->first[value.node] + value.output;
}

static bool allocate_nodes(struct scope *scope)
{
    const weft_graph *graph = scope->body->graph;
    scope->live = allocate_zeroed(&scope->arena, graph->node_count, sizeof *scope->live);
    scope->first = allocate_zeroed(&scope->arena, graph->node_count, sizeof *scope->first);
    if (scope->live == NULL || scope->first == NULL) return false;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        scope->first[n] = scope->value_count;
        scope->value_count += weft_graph_node(graph, n)->output_count;
    }
    scope->blocks = allocate_zeroed(&scope->arena, scope->value_count, sizeof(weft_tensor_block *));
    scope->uses = allocate_zeroed(&scope->arena, scope->value_count, sizeof *scope->uses);
    return scope->blocks != NULL && scope->uses != NULL;
}

static weft_status *prepare(struct scope *scope)
{
    const weft_compiled *body = scope->body;
    if (!allocate_nodes(scope)) return weft_status_out_of_memory();
    weft_graph_mark(body->graph, body->output_count, body->outputs, scope->live);
    for (uint32_t n = 0; n < body->graph->node_count; n++) {
        const weft_node *node = weft_graph_node(body->graph, n);
        for (uint32_t i = 0; scope->live[n] && i < node->input_count; i++)
            scope->uses[value_number(scope, node->inputs[i])]++;
    }
    for (size_t i = 0; i < body->output_count; i++) scope->uses[value_number(scope, body->outputs[i])]++;
    return NULL;
}

static void finish(struct scope *scope)
{
    for (size_t i = 0; scope->uses != NULL && i < scope->value_count; i++)
        weft_tensor_block_destroy(scope->run->context->allocator, scope->blocks[i]);
    weft_arena_finish(&scope->arena);
}

/* ---- extents ---- */

static weft_status *extent_value(const weft_reference_run *run, weft_extent extent, int64_t *out_value)
{
    *out_value = extent.value;
    if (extent.graph == NULL) return NULL;
    weft_expr expr = (weft_expr)extent.value;
    *out_value = run->values[(uintptr_t)weft_map_find(&run->reference->slots, &expr, sizeof expr) - 1];
    if (*out_value != WEFT_FORMULA_NONE) return NULL;
    return weft_status_create(run->context->allocator, WEFT_OUT_OF_RANGE, "weft_executor_run",
                              "an extent overflows 64 bits");
}

/* Numbers in place of expressions. */
static weft_status *evaluate_extents(struct scope *scope, weft_shape *shape)
{
    weft_extent *extents = allocate_zeroed(&scope->arena, shape->rank, sizeof *extents);
    if (extents == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < shape->rank; i++) WEFT_TRY(extent_value(scope->run, shape->extents[i], &extents[i].value));
    shape->extents = extents;
    return NULL;
}

static weft_status *evaluate_attrs(struct scope *scope, const weft_node *node, const weft_attr **out_attrs)
{
    size_t count = node->op->attr_count;
    weft_attr *attrs = allocate_zeroed(&scope->arena, count, sizeof *attrs);
    if (attrs == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < count; i++) {
        weft_attr_kind kind = node->op->attrs[i].kind;
        attrs[i] = node->attrs[i];
        if (kind == WEFT_ATTR_EXTENT || kind == WEFT_ATTR_EXTENTS) WEFT_TRY(evaluate_extents(scope, &attrs[i].extents));
    }
    *out_attrs = attrs;
    return NULL;
}

/* ---- nodes ---- */

static weft_status *find_argument(const struct scope *scope, uint32_t number, weft_reference_call *call)
{
    for (size_t i = 0; i < scope->argument_count; i++) {
        if (scope->body->inputs[i] != number) continue;
        call->inputs = &scope->arguments[i];
        call->input_count = 1;
        return NULL;
    }
    return weft_reference_error(call, WEFT_INTERNAL, "node %u is not an input of the program or region",
                                (unsigned)number);
}

static weft_status *fill_inputs(struct scope *scope, const weft_node *node, weft_reference_call *call)
{
    weft_view *inputs = allocate_zeroed(&scope->arena, node->input_count, sizeof *inputs);
    if (inputs == NULL) return weft_status_out_of_memory();
    for (uint32_t i = 0; i < node->input_count; i++)
        inputs[i] = scope->blocks[value_number(scope, node->inputs[i])]->view;
    call->inputs = inputs;
    return NULL;
}

static weft_status *create_output(struct scope *scope, const weft_node *node, uint32_t output,
                                  weft_tensor_block **out_block)
{
    const weft_type *type = &node->types[output];
    int64_t shape[WEFT_MAX_RANK];
    for (size_t i = 0; i < type->shape.rank; i++) WEFT_TRY(extent_value(scope->run, type->shape.extents[i], &shape[i]));
    return weft_tensor_block_create(scope->run->context->allocator, node->op->name, type->dtype, type->shape.rank,
                                    shape, out_block);
}

static weft_status *create_outputs(struct scope *scope, uint32_t number, weft_reference_call *call)
{
    const weft_node *node = weft_graph_node(scope->body->graph, number);
    call->outputs = allocate_zeroed(&scope->arena, node->output_count, sizeof *call->outputs);
    if (call->outputs == NULL) return weft_status_out_of_memory();
    for (uint32_t i = 0; i < node->output_count; i++) {
        weft_tensor_block **block = &scope->blocks[scope->first[number] + i];
        WEFT_TRY(create_output(scope, node, i, block));
        call->outputs[i] = (*block)->view;
    }
    return NULL;
}

static void drop_inputs(struct scope *scope, const weft_node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        size_t value = value_number(scope, node->inputs[i]);
        if (--scope->uses[value] > 0) continue;
        weft_tensor_block_destroy(scope->run->context->allocator, scope->blocks[value]);
        scope->blocks[value] = NULL;
    }
}

bool weft_reference_is_cancelled(const weft_kernel_context *context)
{
    return context->is_cancelled != NULL && context->is_cancelled(context);
}

weft_status *weft_reference_cancelled(const weft_reference_call *call, const char *when, const char *op)
{
    return weft_status_create(call->allocator, WEFT_CANCELLED, "weft_executor_run", "the run was cancelled %s %s", when,
                              op);
}

static weft_status *evaluate_node(struct scope *scope, uint32_t number)
{
    const weft_node *node = weft_graph_node(scope->body->graph, number);
    const weft_kernel_context *context = scope->run->context;
    weft_op_id id = weft_op_id_of(node->op);
    weft_reference_call call = {.run = scope->run,
                                .graph = scope->body->graph,
                                .node = number,
                                .op = node->op,
                                .location = node->location,
                                .allocator = context->allocator,
                                .input_count = node->input_count,
                                .output_count = node->output_count};
    /* A region begins with its inputs, which are not work that a user would recognise. */
    if (weft_reference_is_cancelled(context))
        return weft_reference_cancelled(&call, "before", id == WEFT_OP_input ? "the next op" : call.op->name);
    WEFT_TRY(evaluate_attrs(scope, node, &call.attrs));
    WEFT_TRY(id == WEFT_OP_input ? find_argument(scope, number, &call) : fill_inputs(scope, node, &call));
    WEFT_TRY(create_outputs(scope, number, &call));
    WEFT_TRY(functions[id](&call));
    drop_inputs(scope, node);
    return NULL;
}

static weft_status *evaluate(struct scope *scope, const weft_view *outputs)
{
    const weft_compiled *body = scope->body;
    WEFT_TRY(prepare(scope));
    for (uint32_t n = 0; n < body->graph->node_count; n++)
        if (scope->live[n]) WEFT_TRY(evaluate_node(scope, n));
    for (size_t i = 0; i < body->output_count; i++) {
        const weft_view *result = &scope->blocks[value_number(scope, body->outputs[i])]->view;
        if (result->dtype != outputs[i].dtype || !weft_view_same_shape(result, &outputs[i]))
            return weft_status_create(scope->run->context->allocator, WEFT_INTERNAL, NULL,
                                      "output %zu does not have the type of its result", i);
        weft_view_copy(&outputs[i], result);
    }
    return NULL;
}

weft_status *weft_reference_evaluate(const weft_reference_run *run, const weft_compiled *body, size_t argument_count,
                                     const weft_view *arguments, const weft_view *outputs)
{
    struct scope scope = {.run = run, .body = body, .argument_count = argument_count, .arguments = arguments};
    weft_arena_init(&scope.arena, run->context->allocator);
    weft_status *status = evaluate(&scope, outputs);
    finish(&scope);
    return status;
}
