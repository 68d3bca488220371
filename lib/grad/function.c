/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the caller with derivatives of their own. */
#include <weft/gradient.h>
#include <weft/inspect.h>
#include <string.h>
#include "lib/grad/grad.h"
#include "lib/trace/trace.h"

/* ---- what the caller's rule is given ---- */

/* In the graph's arena; `op` comes first, so that a context leads to it. */
typedef struct custom_op {
    weft_op_def op;
    weft_gradient_rule rule;
} custom_op;

static const weft_gradient_rule *rule_of(const weft_gradient_context *c)
{
    return &((const custom_op *)c->op)->rule;
}

/* The given ones with zeros where there is none, in memory of the graph; NULL when out of memory. */
static weft_tensor *fill_zeros(const weft_gradient_context *c, weft_tensors like)
{
    weft_tensor *filled = weft_arena_allocate(&c->graph->arena, (like.count + 1) * sizeof *filled);
    for (size_t i = 0; filled != NULL && i < like.count; i++) {
        bool given = weft_gradient_given(c, i) || !weft_gradient_has(weft_tensor_dtype(like.items[i]));
        filled[i] = given ? c->given.items[i] : weft_gradient_zeros(like.items[i]);
    }
    return filled;
}

static weft_status *call_vjp(const weft_gradient_context *c, weft_tensor *out_values)
{
    const weft_gradient_rule *rule = rule_of(c);
    weft_tensor *cotangents = fill_zeros(c, c->outputs);
    if (cotangents == NULL) return weft_status_out_of_memory();
    rule->vjp(rule->context, c->inputs, c->outputs, (weft_tensors){c->outputs.count, cotangents}, out_values);
    return NULL;
}

static weft_status *call_jvp(const weft_gradient_context *c, weft_tensor *out_values)
{
    const weft_gradient_rule *rule = rule_of(c);
    weft_tensor *tangents = fill_zeros(c, c->inputs);
    if (tangents == NULL) return weft_status_out_of_memory();
    rule->jvp(rule->context, c->inputs, c->outputs, (weft_tensors){c->inputs.count, tangents}, out_values);
    return NULL;
}

/* ---- the function ---- */

typedef struct function_call {
    const char *name;
    weft_graph *graph; /* where it is traced */
    weft_tensors inputs;
    size_t result_count;
    weft_tensor *results;
} function_call;

static bool check_results(const function_call *call)
{
    for (size_t i = 0; i < call->result_count; i++) {
        const char *fault = weft_tensor_enter(call->graph, &call->results[i]);
        if (fault != NULL)
            weft_trace_fail(call->graph, WEFT_INVALID_ARGUMENT, call->name, "result %zu of the function %s", i, fault);
        if (fault != NULL || !weft_tensor_is_valid(call->results[i])) return false;
    }
    return true;
}

/* False with an error. */
static bool wants_results(const function_call *call)
{
    if (call->result_count > 0) return true;
    weft_trace_fail(call->graph, WEFT_INVALID_ARGUMENT, call->name, "there are no results, but at least one is needed");
    return false;
}

/* False with an error. */
static bool trace_function(function_call *call, weft_function function, void *context)
{
    function(context, call->inputs.items, call->results);
    return check_results(call);
}

/* Makes values of their own of tensors: equal ones that others compute are not those. */
static bool separate(size_t count, weft_tensor *tensors)
{
    bool well = true;
    for (size_t i = 0; i < count && well; i++) {
        tensors[i] = weft_trace_barrier(WEFT_TENSORS(tensors[i]), false);
        well = weft_tensor_is_valid(tensors[i]);
    }
    return well;
}

static bool declare(const function_call *call, const weft_gradient_rule *rule)
{
    custom_op *custom = weft_arena_allocate(&call->graph->arena, sizeof *custom);
    if (custom == NULL) {
        weft_graph_fail(call->graph, weft_status_out_of_memory());
        return false;
    }
    *custom = (custom_op){.op = {.size = sizeof custom->op,
                                 .name = call->name,
                                 .vjp = rule->vjp == NULL ? NULL : call_vjp,
                                 .jvp = rule->jvp == NULL ? NULL : call_jvp},
                          .rule = *rule};
    return weft_graph_compose(call->graph, &custom->op, NULL, call->inputs,
                              (weft_tensors){call->result_count, call->results});
}

/* Takes the inputs as tensors of the graph that is traced, into memory of `arena`; false with an error. */
static bool begin(function_call *call, weft_arena *arena, weft_function function)
{
    weft_tensor *inputs = weft_arena_copy(arena, call->inputs.items, call->inputs.count * sizeof *inputs);
    call->results = weft_arena_allocate(arena, call->result_count * sizeof *call->results);
    if (inputs == NULL || call->results == NULL) {
        weft_graph_fail(call->graph, weft_status_out_of_memory());
        return false;
    }
    call->inputs.items = inputs;
    for (size_t i = 0; i < call->result_count; i++) call->results[i] = WEFT_NO_TENSOR;
    if (function != NULL) return weft_trace_enter(call->graph, call->name, call->inputs.count, inputs);
    weft_trace_fail(call->graph, WEFT_INVALID_ARGUMENT, call->name, "the function is NULL");
    return false;
}

static weft_tensor finish(const function_call *call, bool well, weft_tensor *out_results)
{
    weft_tensor failed = weft_tensor_failed(call->graph);
    for (size_t i = 0; out_results != NULL && i < call->result_count; i++)
        out_results[i] = well ? call->results[i] : failed;
    return well && call->result_count > 0 ? call->results[0] : failed;
}

weft_tensor weft_custom_gradient(weft_tensors inputs, size_t result_count, weft_function function, void *context,
                                 const weft_gradient_rule *rule, weft_tensor *out_results)
{
    function_call call = {"custom_gradient", weft_trace_graph(inputs), inputs, result_count, NULL};
    if (call.graph == NULL) return weft_tensor_failed(NULL);
    if (rule == NULL) return weft_trace_fail(call.graph, WEFT_INVALID_ARGUMENT, call.name, "the rule is NULL");
    weft_arena arena;
    weft_arena_init(&arena, call.graph->allocator);
    bool well = wants_results(&call) && begin(&call, &arena, function) && trace_function(&call, function, context) &&
                separate(result_count, call.results) && declare(&call, rule);
    weft_tensor first = finish(&call, well, out_results);
    weft_arena_finish(&arena);
    return first;
}

/* ---- checkpoints ---- */

/* Which values outside of the function its nodes use: those before node `first`, from which on are the inputs, and
 * then, from `body` on, what it computes. Those with derivatives are added to `out_values`, which has room for all. */
static size_t find_outside(const weft_graph *graph, uint32_t first, uint32_t body, const uint8_t *live,
                           weft_tensor *out_values)
{
    size_t count = 0;
    for (uint32_t n = body; n < graph->node_count; n++) {
        const weft_node *node = weft_graph_node(graph, n);
        for (uint32_t i = 0; live[n] && i < node->input_count; i++) {
            weft_value value = node->inputs[i];
            bool known = value.node >= first || !weft_gradient_has(weft_value_type(graph, value)->dtype);
            for (size_t k = 0; k < count && !known; k++)
                known = out_values[k].node == value.node && out_values[k].output == value.output;
            if (!known) out_values[count++] = (weft_tensor){(weft_graph *)graph, value.node, value.output};
        }
    }
    return count;
}

/* The inputs, and what the function uses besides, in memory of `arena`. */
static weft_status *find_operands(const function_call *call, weft_arena *arena, uint32_t first,
                                  weft_tensors *out_operands)
{
    weft_graph *graph = call->graph;
    size_t most = call->inputs.count;
    for (uint32_t n = first; n < graph->node_count; n++) most += weft_graph_node(graph, n)->input_count;
    uint8_t *live = weft_arena_allocate(arena, graph->node_count);
    weft_value *results = weft_arena_allocate(arena, call->result_count * sizeof *results);
    weft_tensor *operands = weft_arena_allocate(arena, (most + 1) * sizeof *operands);
    if (live == NULL || results == NULL || operands == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < call->result_count; i++)
        results[i] = (weft_value){call->results[i].node, call->results[i].output};
    weft_graph_mark(graph, call->result_count, results, live);
    memcpy(operands, call->inputs.items, call->inputs.count * sizeof *operands);
    uint32_t body = first + (uint32_t)call->inputs.count;
    size_t outside = find_outside(graph, first, body, live, operands + call->inputs.count);
    *out_operands = (weft_tensors){call->inputs.count + outside, operands};
    return NULL;
}

/* The operands, of which nothing has been computed yet, once a cotangent is there. */
static void hide_operands(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor after = WEFT_NO_TENSOR;
    for (size_t i = 0; i < c->given.count && after.graph == NULL; i++) after = c->given.items[i];
    for (size_t i = 0; i < c->inputs.count; i++) {
        weft_tensor input = c->inputs.items[i];
        if (weft_gradient_has(weft_tensor_dtype(input)))
            out_values[i] = weft_trace_barrier(WEFT_TENSORS(input, after), true);
        else out_values[i] = input;
    }
}

weft_status *weft_gradient_open_checkpoint(const weft_gradient_context *c, weft_arena *arena, weft_tensors *out_results,
                                           weft_tensors *out_inputs)
{
    weft_tensor *inner = weft_arena_allocate(arena, (c->outputs.count + 1) * sizeof *inner);
    weft_tensor *values = weft_arena_copy(arena, c->inputs.items, c->inputs.count * sizeof *values);
    if (inner == NULL || values == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < c->outputs.count; i++) inner[i] = weft_tensor_input(c->outputs.items[i], 0);
    *out_results = (weft_tensors){c->outputs.count, inner};
    *out_inputs = (weft_tensors){c->inputs.count, values};
    /* In a body the function is not computed again at each iteration. */
    if (c->outputs.items[0].graph != c->graph) return NULL;
    hide_operands(c, values);
    if (weft_graph_error(weft_graph_root(c->graph)) != NULL) return NULL;
    return weft_graph_repeat(c->graph, c->inputs.items[0].node, c->inputs, *out_inputs, *out_results, inner);
}

/* The inputs are values of their own, so that what the function computes from them is shared with nothing. */
static bool trace_checkpoint(function_call *call, weft_arena *arena, weft_function function, void *context)
{
    weft_tensor *inputs = weft_arena_copy(arena, call->inputs.items, call->inputs.count * sizeof *inputs);
    weft_tensors operands;
    if (inputs == NULL) weft_graph_fail(call->graph, weft_status_out_of_memory());
    call->inputs.items = inputs;
    if (inputs == NULL || !separate(call->inputs.count, inputs) || !trace_function(call, function, context))
        return false;
    weft_status *status = find_operands(call, arena, inputs[0].node, &operands);
    weft_graph_fail(call->graph, status);
    return status == NULL && separate(call->result_count, call->results) &&
           weft_graph_compose(call->graph, &weft_composed_table()[WEFT_COMPOSED_checkpoint], NULL, operands,
                              (weft_tensors){call->result_count, call->results});
}

weft_tensor weft_checkpoint(weft_tensors inputs, size_t result_count, weft_function function, void *context,
                            weft_tensor *out_results)
{
    function_call call = {"checkpoint", weft_trace_graph(inputs), inputs, result_count, NULL};
    if (call.graph == NULL) return weft_tensor_failed(NULL);
    weft_arena arena;
    weft_arena_init(&arena, call.graph->allocator);
    bool well =
        wants_results(&call) && begin(&call, &arena, function) && trace_checkpoint(&call, &arena, function, context);
    weft_tensor first = finish(&call, well, out_results);
    weft_arena_finish(&arena);
    return first;
}
