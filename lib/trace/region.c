/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/region.h>
#include <stdio.h>
#include <string.h>
#include "lib/trace/capture.h"
#include "lib/trace/trace.h"

/* One region op on its way. */
typedef struct region_trace {
    weft_graph *graph;    /* around it */
    weft_graph *previous; /* what was traced before */
    const char *op;
    weft_arena arena;
    weft_captures captures;
    size_t region_count, own_count; /* parameters before what is captured */
    size_t first_guard;             /* that a body may have made */
    weft_graph *bodies[2];
    weft_tensor *parameters[2]; /* those before what is captured */
    weft_tensors results[2];
} region_trace;

/* ---- bodies ---- */

static void *allocate(region_trace *trace, size_t count, size_t size)
{
    void *items = weft_arena_allocate(&trace->arena, (count + 1) * size);
    if (items == NULL) weft_graph_fail(trace->graph, weft_status_out_of_memory());
    else memset(items, 0, (count + 1) * size);
    return items;
}

static void trace_init(region_trace *trace, weft_graph *graph, const char *op)
{
    *trace = (region_trace){.graph = graph, .op = op};
    trace->previous = weft_graph_root(graph)->current;
    trace->first_guard = weft_graph_root(graph)->guard_count;
    weft_arena_init(&trace->arena, graph->allocator);
    trace->captures = (weft_captures){.arena = &trace->arena, .last = &trace->captures.first};
}

/* Makes `status`, of a function that knows no op, stick as an error of this op; takes it. */
static void fail_with(region_trace *trace, weft_status *status)
{
    weft_trace_fail(trace->graph, weft_status_code(status), trace->op, "%s", weft_status_message(status));
    weft_status_destroy(status);
}

/* Begins the next region, with parameters like `carried`, in a fold of `trips` (NULL elsewhere) after an index; false
 * with an error. */
static bool begin_body(region_trace *trace, const weft_extent *trips, weft_tensors carried)
{
    size_t part = trace->region_count, next = 0;
    weft_status *status = weft_graph_create_region(trace->graph, &trace->bodies[part]);
    if (status != NULL) {
        fail_with(trace, status);
        return false;
    }
    weft_graph *body = trace->bodies[part];
    if (trips != NULL) weft_graph_set_trips(body, *trips);
    weft_tensor *parameters = allocate(trace, 1 + carried.count, sizeof *parameters);
    if (parameters == NULL) return false;
    trace->region_count++;
    if (trips != NULL) parameters[next++] = weft_region_add_parameter(body, "index", WEFT_I64, (weft_shape){0, NULL});
    for (size_t i = 0; i < carried.count; i++)
        parameters[next++] = weft_region_add_numbered(body, "carried", i, carried.items[i]);
    for (size_t i = 0; i < next; i++)
        if (!weft_tensor_is_valid(parameters[i])) return false;
    trace->own_count = next;
    trace->parameters[part] = parameters;
    body->captures = &trace->captures;
    body->part = (uint32_t)part;
    weft_graph_root(body)->current = body;
    return true;
}

/* Takes the results of the body: tensors of its region, or of an enclosing graph. */
static bool end_body(region_trace *trace, size_t count, weft_tensor *results)
{
    size_t part = trace->region_count - 1;
    weft_graph *body = trace->bodies[part];
    bool well = true;
    for (size_t i = 0; i < count && well; i++) {
        const char *fault = weft_tensor_enter(body, &results[i]);
        if (fault != NULL) weft_trace_fail(body, WEFT_INVALID_ARGUMENT, trace->op, "result %zu of a body %s", i, fault);
        well = fault == NULL && weft_tensor_is_valid(results[i]);
    }
    trace->results[part] = (weft_tensors){count, results};
    body->captures = NULL;
    body->sealed = true;
    weft_graph_root(body)->current = trace->previous;
    return well;
}

/* ---- the node ---- */

/* All regions get a parameter for each capture. */
static bool fill_region(region_trace *trace, size_t part, weft_region *out_region)
{
    weft_tensor *parameters = allocate(trace, trace->own_count + trace->captures.count, sizeof *parameters);
    if (parameters == NULL) return false;
    size_t count = trace->own_count;
    memcpy(parameters, trace->parameters[part], count * sizeof *parameters);
    for (weft_capture *at = trace->captures.first; at != NULL; at = at->next) {
        weft_tensor *inner = &at->inner[part];
        if (inner->graph == NULL)
            *inner = weft_region_add_numbered(trace->bodies[part], "captured", count - trace->own_count, at->outer);
        if (!weft_tensor_is_valid(*inner)) return false;
        parameters[count++] = *inner;
    }
    *out_region = (weft_region){trace->bodies[part], {count, parameters}, trace->results[part]};
    return true;
}

/* Makes the node: operands are `first`, then what was captured; the regions are attributes `region_attr` and on. */
static weft_tensor trace_node(region_trace *trace, weft_op_id op, weft_tensors first, weft_attr *attrs,
                              size_t region_attr)
{
    size_t count = first.count;
    weft_tensor *operands = allocate(trace, first.count + trace->captures.count, sizeof *operands);
    if (operands == NULL) return weft_tensor_failed(trace->graph);
    for (size_t part = 0; part < trace->region_count; part++)
        if (!fill_region(trace, part, &attrs[region_attr + part].region)) return weft_tensor_failed(trace->graph);
    memcpy(operands, first.items, first.count * sizeof *operands);
    for (const weft_capture *at = trace->captures.first; at != NULL; at = at->next) operands[count++] = at->outer;
    return weft_trace_op(trace->graph, op, (weft_tensors){count, operands}, attrs);
}

/* Guards of compositions in the bodies have to hold where the node is needed; false when out of memory. */
static bool lift_guards(region_trace *trace, weft_tensor node)
{
    bool well = true;
    for (size_t part = 0; part < trace->region_count; part++) {
        const weft_graph *body = trace->bodies[part];
        size_t count = weft_tensor_is_valid(node) ? trace->results[part].count : 0;
        uint8_t *live = allocate(trace, body->node_count, sizeof *live);
        weft_value *results = allocate(trace, count, sizeof *results);
        well = well && live != NULL && results != NULL;
        if (!well) node = weft_tensor_failed(trace->graph);
        for (size_t i = 0; i < count && well; i++) {
            weft_tensor result = trace->results[part].items[i];
            results[i] = (weft_value){result.node, result.output};
        }
        if (well) weft_graph_mark(body, count, results, live);
        weft_guards_lift(body, trace->first_guard, live, node);
    }
    return well;
}

/* Ends the tracing; fills the results with the tensors of the node, or with failed ones. */
static weft_tensor finish(region_trace *trace, weft_tensor node, size_t count, weft_tensor *out_results)
{
    bool valid = lift_guards(trace, node) && weft_tensor_is_valid(node);
    for (uint32_t i = 0; out_results != NULL && i < count; i++)
        out_results[i] = valid ? (weft_tensor){node.graph, node.node, i} : weft_tensor_failed(trace->graph);
    weft_arena_finish(&trace->arena);
    return valid ? node : weft_tensor_failed(trace->graph);
}

/* ---- loops and branches ---- */

/* What a region op is traced from, as the graph that is being traced knows it; NULL when it failed. */
static weft_tensor *enter_operands(region_trace *trace, weft_tensors given)
{
    weft_tensor *entered = allocate(trace, given.count, sizeof *entered);
    if (entered == NULL) return NULL;
    if (given.count > 0) memcpy(entered, given.items, given.count * sizeof *entered);
    return weft_trace_enter(trace->graph, trace->op, given.count, entered) ? entered : NULL;
}

static weft_tensor fail_all(weft_graph *graph, size_t count, weft_tensor *out_results)
{
    for (size_t i = 0; out_results != NULL && i < count; i++) out_results[i] = weft_tensor_failed(graph);
    return weft_tensor_failed(graph);
}

static weft_tensor trace_fold(region_trace *trace, weft_extent trips, weft_tensors initial, weft_fold_body body,
                              void *context)
{
    weft_tensor *next = allocate(trace, initial.count, sizeof *next);
    weft_tensor *carried = enter_operands(trace, initial);
    weft_tensor failed = weft_tensor_failed(trace->graph);
    if (body == NULL) return weft_trace_fail(trace->graph, WEFT_INVALID_ARGUMENT, "fold", "%s", "the body is NULL");
    if (next == NULL || carried == NULL) return failed;
    weft_tensors entered = {initial.count, carried};
    if (!begin_body(trace, &trips, entered)) return failed;
    body(context, trace->parameters[0][0], trace->parameters[0] + 1, next);
    if (!end_body(trace, initial.count, next)) return failed;
    weft_attr attrs[3] = {{.extents = {1, &trips}}, {.integer = 0}, {.integer = (int64_t)initial.count}};
    return trace_node(trace, WEFT_OP_fold, entered, attrs, 1);
}

weft_tensor weft_fold(weft_extent trips, weft_tensors initial, weft_fold_body body, void *context,
                      weft_tensor *out_results)
{
    weft_graph *graph = weft_trace_graph(initial);
    region_trace trace;
    if (graph == NULL && trips.graph != NULL)
        weft_trace_fail(trips.graph, WEFT_INVALID_ARGUMENT, "fold", "no initial value is a tensor of a graph");
    if (graph == NULL) return fail_all(trips.graph, initial.count, out_results);
    trace_init(&trace, graph, "fold");
    return finish(&trace, trace_fold(&trace, trips, initial, body, context), initial.count, out_results);
}

static weft_tensor trace_while(region_trace *trace, weft_tensors initial, weft_while_condition condition,
                               weft_while_body body, void *context)
{
    weft_tensor *next = allocate(trace, initial.count, sizeof *next), *again = allocate(trace, 1, sizeof *again);
    weft_tensor *carried = enter_operands(trace, initial);
    weft_tensor failed = weft_tensor_failed(trace->graph);
    if (condition == NULL || body == NULL) {
        return weft_trace_fail(trace->graph, WEFT_INVALID_ARGUMENT, "while", "the %s is NULL",
                               condition == NULL ? "condition" : "body");
    }
    if (next == NULL || again == NULL || carried == NULL) return failed;
    weft_tensors entered = {initial.count, carried};
    if (!begin_body(trace, NULL, entered)) return failed;
    *again = condition(context, trace->parameters[0]);
    if (!end_body(trace, 1, again) || !begin_body(trace, NULL, entered)) return failed;
    body(context, trace->parameters[1], next);
    if (!end_body(trace, initial.count, next)) return failed;
    weft_attr attrs[3] = {{.integer = (int64_t)initial.count}, {.integer = 0}, {.integer = 0}};
    return trace_node(trace, WEFT_OP_while, entered, attrs, 1);
}

weft_tensor weft_while(weft_tensors initial, weft_while_condition condition, weft_while_body body, void *context,
                       weft_tensor *out_results)
{
    weft_graph *graph = weft_trace_graph(initial);
    region_trace trace;
    if (graph == NULL) return fail_all(NULL, initial.count, out_results);
    trace_init(&trace, graph, "while");
    return finish(&trace, trace_while(&trace, initial, condition, body, context), initial.count, out_results);
}

static weft_tensor trace_cond(region_trace *trace, weft_tensor predicate, size_t count, const weft_branch *branches,
                              void *context)
{
    weft_tensor *entered = enter_operands(trace, (weft_tensors){1, &predicate});
    weft_tensor failed = weft_tensor_failed(trace->graph);
    if (branches[0] == NULL || branches[1] == NULL) {
        return weft_trace_fail(trace->graph, WEFT_INVALID_ARGUMENT, "cond", "the branch %s is NULL",
                               branches[0] == NULL ? "then" : "otherwise");
    }
    if (entered == NULL) return failed;
    for (size_t part = 0; part < 2; part++) {
        weft_tensor *results = allocate(trace, count, sizeof *results);
        if (results == NULL || !begin_body(trace, NULL, (weft_tensors){0, NULL})) return failed;
        branches[part](context, results);
        if (!end_body(trace, count, results)) return failed;
    }
    weft_attr attrs[2] = {{.integer = 0}, {.integer = 0}};
    return trace_node(trace, WEFT_OP_cond, (weft_tensors){1, entered}, attrs, 0);
}

weft_tensor weft_cond(weft_tensor predicate, size_t result_count, weft_branch then, weft_branch otherwise,
                      void *context, weft_tensor *out_results)
{
    const weft_branch branches[2] = {then, otherwise};
    weft_graph *graph = weft_trace_graph((weft_tensors){1, &predicate});
    region_trace trace;
    if (graph == NULL) return fail_all(NULL, result_count, out_results);
    trace_init(&trace, graph, "cond");
    return finish(&trace, trace_cond(&trace, predicate, result_count, branches, context), result_count, out_results);
}
