/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the caller with derivatives of their own. */
#include <weft/gradient.h>
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

/* Calls the function; its results become values of their own. False with an error. */
static bool trace_function(function_call *call, weft_function function, void *context)
{
    for (size_t i = 0; i < call->result_count; i++) call->results[i] = WEFT_NO_TENSOR;
    function(context, call->inputs.items, call->results);
    bool well = check_results(call);
    for (size_t i = 0; i < call->result_count && well; i++) {
        call->results[i] = weft_trace_barrier(call->results[i]);
        well = weft_tensor_is_valid(call->results[i]);
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
    call->results = weft_arena_allocate(arena, (call->result_count + 1) * sizeof *call->results);
    if (inputs == NULL || call->results == NULL) {
        weft_graph_fail(call->graph, weft_status_out_of_memory());
        return false;
    }
    call->inputs.items = inputs;
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
    bool well = begin(&call, &arena, function) && trace_function(&call, function, context) && declare(&call, rule);
    weft_tensor first = finish(&call, well, out_results);
    weft_arena_finish(&arena);
    return first;
}
