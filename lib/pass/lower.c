/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expands ops by their lowerings.
 *
 * requires: nothing
 * maintains: the outputs as the ops' definitions give them, guards
 * breaks: flip, stop_gradient and barriers not to be kept are gone, and so are extension nodes with a lowering, except
 * for those that decline and those over symbolic extents that the policy keeps
 */
#include "lib/pass/pass.h"
#include <inttypes.h>
#include <stdio.h>
#include "runtime/program/extension.h"

/* A lowering may use ops that are themselves lowered; endless recursion is an error. */
enum { MOST_SWEEPS = 32 };

static weft_tensor lower_flip(const weft_rewrite_site *site)
{
    weft_tensor x = site->inputs.items[0];
    weft_shape shape = weft_tensor_shape(x);
    weft_ints axes = site->node->attrs[0].ints;
    weft_extent starts[WEFT_MAX_RANK];
    int64_t steps[WEFT_MAX_RANK];
    for (size_t i = 0; i < shape.rank; i++) {
        starts[i] = weft_extent_of(0);
        steps[i] = 1;
    }
    for (size_t i = 0; i < axes.count; i++) {
        starts[axes.items[i]] = weft_extent_sub(shape.extents[axes.items[i]], weft_extent_of(1));
        steps[axes.items[i]] = -1;
    }
    return weft_slice(x, (weft_shape){shape.rank, starts}, shape, (weft_ints){shape.rank, steps});
}

static bool is_symbolic(weft_tensors inputs)
{
    for (size_t i = 0; i < inputs.count; i++) {
        weft_shape shape = weft_tensor_shape(inputs.items[i]);
        for (size_t axis = 0; axis < shape.rank; axis++)
            if (!weft_extent_is_static(shape.extents[axis], NULL)) return true;
    }
    return false;
}

/* A graph before a lowering. */
typedef struct graph_state {
    const weft_graph *graph;
    size_t node_count, input_calls;
} graph_state;

static graph_state state_of(const weft_graph *graph)
{
    return (graph_state){graph, graph->node_count, graph->input_calls};
}

/* A lowering must not make inputs of its own, nor name those of the program, which has the inputs of its graph. */
static weft_status *check_made(const graph_state *before, const weft_op_def *op)
{
    const weft_graph *graph = before->graph;
    const char *name = NULL;
    if (graph->input_calls == before->input_calls) return NULL;
    for (size_t n = before->node_count; n < graph->node_count && name == NULL; n++) {
        const weft_node *node = weft_graph_node(graph, (uint32_t)n);
        if (weft_op_id_of(node->op) == WEFT_OP_input) name = node->name;
    }
    return weft_status_create(graph->allocator, WEFT_INVALID_ARGUMENT, op->name,
                              "%s: its lowering makes an input%s%s%s, but may only use the op's operands", op->name,
                              name == NULL ? "" : ", \"", name == NULL ? "" : name, name == NULL ? "" : "\"");
}

/* " as result 1"; nothing where there is one alone. */
typedef struct result_text {
    char text[32];
} result_text;

static result_text describe_result(const weft_node *node, uint32_t number)
{
    result_text text = {""};
    if (node->output_count > 1) snprintf(text.text, sizeof text.text, " as result %" PRIu32, number);
    return text;
}

static weft_status *wrong_value(const weft_rewrite_site *site, uint32_t number, const char *what)
{
    const weft_node *node = site->node;
    return weft_status_create(site->graph->allocator, WEFT_INVALID_ARGUMENT, node->op->name,
                              "the lowering of '%s' gave %s%s where its type rule says %s", node->op->name, what,
                              describe_result(node, number).text, weft_type_describe(&node->types[number]).text);
}

/* Whether result `number` can be of the type that the rule promised, of another by a guard at most; then with that
 * type. A graph's error says why not, or the status. */
static weft_status *check_value(const weft_rewrite_site *site, uint32_t number, weft_tensor *value)
{
    const weft_type *promised = &site->node->types[number];
    if (!weft_tensor_is_valid(*value)) return wrong_value(site, number, "no tensor");
    if (value->graph != site->graph) return wrong_value(site, number, "a tensor of another graph");
    weft_type made = *weft_value_type(value->graph, (weft_value){value->node, value->output});
    weft_type_text text = weft_type_describe(&made);
    if (made.dtype != promised->dtype || made.shape.rank != promised->shape.rank)
        return wrong_value(site, number, text.text);
    bool is_same = true, may_be = true;
    int64_t axes[WEFT_MAX_RANK];
    for (size_t i = 0; i < made.shape.rank && may_be; i++) {
        weft_extent a = made.shape.extents[i], b = promised->shape.extents[i];
        axes[i] = (int64_t)i;
        is_same = is_same && weft_extent_equal(a, b);
        may_be = weft_require_equal(
            site->graph, a, b,
            "the lowering of '%s' gave %s%s where its type rule says %s: axis %zu has extent %s, not %s",
            site->node->op->name, text.text, describe_result(site->node, number).text,
            weft_type_describe(promised).text, i, weft_extent_describe(a).text, weft_extent_describe(b).text);
    }
    if (may_be && !is_same) *value = weft_broadcast_in_dim(*value, promised->shape, (weft_ints){made.shape.rank, axes});
    return NULL;
}

/* For shapes that are expected, unless that is NULL. */
static weft_status *lower_extension(const weft_rewrite_site *site, const weft_shape *expected, weft_tensor *out_values)
{
    const weft_op_def *op = site->node->op;
    const weft_attr *attrs = site->node->attrs;
    const graph_state own = state_of(site->graph), root = state_of(weft_graph_root(site->graph));
    WEFT_TRY(expected == NULL ? op->lower(site->graph, op, attrs, site->inputs, out_values)
                              : op->lower_for(site->graph, op, attrs, site->inputs, expected, out_values));
    WEFT_TRY(check_made(&own, op));
    WEFT_TRY(check_made(&root, op));
    if (!weft_tensor_is_valid(out_values[0])) return NULL;
    for (uint32_t i = 0; i < site->node->output_count; i++) WEFT_TRY(check_value(site, i, &out_values[i]));
    return NULL;
}

/* Whether the node is its operand for all who come after derivatives have been traced. */
static bool is_transparent(const weft_node *node)
{
    weft_op_id id = weft_op_id_of(node->op);
    return id == WEFT_OP_stop_gradient || (id == WEFT_OP_barrier && node->attrs[1].integer == 0);
}

static weft_status *lower_node(const weft_rewrite_site *site, weft_tensor *out_values, bool *out_replaced)
{
    const weft_policy *policy = site->context;
    const weft_op_def *op = site->node->op;
    if (weft_op_id_of(op) == WEFT_OP_flip) {
        out_values[0] = lower_flip(site);
        *out_replaced = true;
        return NULL;
    }
    if (is_transparent(site->node)) {
        out_values[0] = site->inputs.items[0];
        *out_replaced = true;
        return NULL;
    }
    if (op->lower == NULL || (policy->keep_symbolic_extensions && is_symbolic(site->inputs))) return NULL;
    WEFT_TRY(lower_extension(site, NULL, out_values));
    *out_replaced = weft_tensor_is_valid(out_values[0]);
    return NULL;
}

weft_status *weft_pass_lower(weft_graph *graph, const weft_policy *policy, size_t count, weft_value *outputs)
{
    bool settled;
    WEFT_TRY(weft_rewrite_settle(graph, count, outputs, lower_node, (void *)policy, MOST_SWEEPS, &settled));
    if (settled) return NULL;
    const char *op = "some extension's op";
    for (size_t n = 0; n < graph->node_count; n++)
        if (weft_graph_node(graph, (uint32_t)n)->op->lower != NULL) op = weft_graph_node(graph, (uint32_t)n)->op->name;
    return weft_status_create(graph->allocator, WEFT_INTERNAL, "lower",
                              "lowering does not end after %d sweeps: lowering %s makes that op again", MOST_SWEEPS,
                              op);
}

/* ---- for extents that are expected ---- */

weft_expr weft_expected_expr(const weft_expected *expected, weft_graph *graph, weft_extent extent)
{
    weft_expr_context *exprs = graph->exprs;
    weft_expr e = weft_extent_expr(graph, extent);
    for (size_t i = 0; i < expected->formulas->symbol_count && e != WEFT_EXPR_NONE; i++) {
        weft_expr symbol = weft_expr_find(exprs, expected->formulas->symbols[i].name);
        weft_expr value = weft_expr_constant(exprs, expected->values[i]);
        if (value == WEFT_EXPR_NONE) e = WEFT_EXPR_NONE;
        else if (symbol != WEFT_EXPR_NONE) e = weft_expr_substitute(exprs, e, 1, &symbol, &value);
    }
    return e;
}

/* Values that break guards may make it negative: then it is as good as 1. */
static weft_status *expect(const weft_expected *expected, weft_graph *graph, weft_extent extent,
                           weft_extent *out_extent)
{
    int64_t min, max;
    weft_expr e = weft_expected_expr(expected, graph, extent);
    if (weft_graph_error(graph) != NULL) return weft_status_clone(graph->allocator, weft_graph_error(graph));
    if (e == WEFT_EXPR_NONE) return weft_expr_context_take_error(graph->exprs);
    weft_expr_range(graph->exprs, e, &min, &max);
    *out_extent = weft_extent_of(min < 0 ? 1 : min);
    return NULL;
}

static weft_status *expect_shapes(const weft_rewrite_site *site, weft_arena *arena, weft_shape **out_shapes)
{
    weft_shape *shapes = weft_arena_allocate(arena, site->inputs.count * sizeof *shapes);
    if (shapes == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < site->inputs.count; i++) {
        weft_shape shape = weft_tensor_shape(site->inputs.items[i]);
        weft_extent *extents = weft_arena_allocate(arena, shape.rank * sizeof *extents);
        if (extents == NULL) return weft_status_out_of_memory();
        for (size_t axis = 0; axis < shape.rank; axis++)
            WEFT_TRY(expect(site->context, site->graph, shape.extents[axis], &extents[axis]));
        shapes[i] = (weft_shape){shape.rank, extents};
    }
    *out_shapes = shapes;
    return NULL;
}

bool weft_op_expects(const weft_op_def *op)
{
    return weft_op_id_of(op) == WEFT_OP_EXTENSION && weft_op_knows_objects(op) && op->lower_for != NULL;
}

/* As at a run with these extents: over operands that have them. */
static weft_status *lower_exactly(const weft_rewrite_site *site, weft_arena *arena, const weft_shape *shapes,
                                  weft_tensor *out_values)
{
    weft_rewrite_site exact = *site;
    weft_tensor *inputs = weft_arena_allocate(arena, site->inputs.count * sizeof *inputs);
    if (inputs == NULL) return weft_status_out_of_memory();
    int64_t axes[WEFT_MAX_RANK];
    for (size_t i = 0; i < WEFT_MAX_RANK; i++) axes[i] = (int64_t)i;
    for (size_t i = 0; i < site->inputs.count; i++)
        inputs[i] = weft_broadcast_in_dim(site->inputs.items[i], shapes[i], (weft_ints){shapes[i].rank, axes});
    exact.inputs.items = inputs;
    return site->node->op->lower == NULL ? NULL : lower_extension(&exact, NULL, out_values);
}

static weft_status *lower_in(const weft_rewrite_site *site, weft_arena *arena, weft_tensor *out_values)
{
    const weft_expected *expected = site->context;
    weft_shape *shapes = NULL;
    WEFT_TRY(expect_shapes(site, arena, &shapes));
    return expected->exact ? lower_exactly(site, arena, shapes, out_values) : lower_extension(site, shapes, out_values);
}

static weft_status *lower_for(const weft_rewrite_site *site, weft_tensor *out_values, bool *out_replaced)
{
    if (!weft_op_expects(site->node->op)) return NULL;
    weft_arena arena;
    weft_arena_init(&arena, site->graph->allocator);
    weft_status *status = lower_in(site, &arena, out_values);
    weft_arena_finish(&arena);
    *out_replaced = status == NULL && weft_tensor_is_valid(out_values[0]);
    return status;
}

weft_status *weft_lower_for(weft_graph *graph, const weft_expected *expected, size_t count, weft_value *outputs)
{
    return weft_rewrite_run(graph, count, outputs, lower_for, (void *)(uintptr_t)expected);
}
