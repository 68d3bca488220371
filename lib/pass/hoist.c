/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What no iteration of a fold changes is computed once, before it, where that is worth memory: products, reductions,
 * scans and sorts that are not much larger than what the fold reads, and functions of which the results are no larger
 * than what they are computed from.
 *
 * requires: merge_folds, which compares bodies, has run
 * maintains: the bits of the outputs
 * breaks: nothing; a fold without iterations computes what it does not need, but requires no more than before
 */
#include <stdlib.h>
#include <string.h>
#include "lib/graph/attr.h"
#include "lib/math/function.h"
#include "lib/pass/pass.h"
#include "lib/trace/capture.h"
#include "lib/trace/trace.h"

/* One fold. What is known of each node of its body has its number; all have one output. */
typedef struct hoister {
    const weft_rewrite_site *site;
    const weft_region *body;
    size_t own; /* parameters before those of captured values */
    weft_arena arena;
    uint8_t *invariant; /* the same in every iteration, and computed without errors */
    uint8_t *costly;    /* of these: it, or what it is computed from, is worth a kernel */
    uint8_t *visited;
    weft_tensor *chosen; /* values to be computed before the fold */
    size_t count;
} hoister;

/* ---- which ---- */

static bool may_move(const weft_node *node)
{
    weft_op_id id = weft_op_id_of(node->op);
    switch (node->op->op_class) {
    case WEFT_CLASS_INDEX: return id == WEFT_OP_concat;
    case WEFT_CLASS_REGION:
    case WEFT_CLASS_OPAQUE: return false;
    default:
        return node->output_count == 1 && id != WEFT_OP_input && id != WEFT_OP_barrier && !weft_node_may_fail(node);
    }
}

static bool is_step(const weft_node *node)
{
    switch (node->op->op_class) {
    case WEFT_CLASS_REDUCE:
    case WEFT_CLASS_PRODUCT:
    case WEFT_CLASS_SCAN:
    case WEFT_CLASS_SORT: return true;
    default: return false;
    }
}

static void classify(hoister *h)
{
    const weft_graph *graph = h->body->graph;
    for (size_t i = h->own; i < h->body->parameters.count; i++) h->invariant[h->body->parameters.items[i].node] = 1;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const weft_node *node = weft_graph_node(graph, n);
        bool all = may_move(node);
        for (uint32_t i = 0; i < node->input_count; i++) {
            all = all && h->invariant[node->inputs[i].node];
            h->costly[n] |= h->costly[node->inputs[i].node];
        }
        h->invariant[n] |= all;
        h->costly[n] |= is_step(node) || weft_op_is_function(node->op);
    }
}

/* Whether a captured value that the node is computed from is known to have as many elements. */
static bool is_covered(hoister *h, uint32_t number)
{
    weft_graph *graph = h->body->graph;
    weft_expr count = weft_shape_elements(graph, weft_graph_node(graph, number)->types[0].shape);
    weft_value value = {number, 0};
    weft_graph_mark(graph, 1, &value, h->visited);
    bool found = false;
    for (size_t i = h->own; i < h->body->parameters.count && !found; i++) {
        weft_tensor parameter = h->body->parameters.items[i];
        if (!h->visited[parameter.node]) continue;
        weft_expr captured = weft_shape_elements(graph, weft_graph_node(graph, parameter.node)->types[0].shape);
        found = weft_expr_always_nonnegative(graph->exprs, weft_expr_sub(graph->exprs, captured, count));
    }
    return found;
}

/* Whether the node is known to have at most a few times the elements of all that the fold reads. */
static bool is_moderate(hoister *h, uint32_t number)
{
    enum { FEW_TIMES = 4 };
    weft_graph *graph = h->body->graph;
    weft_expr count = weft_shape_elements(graph, weft_graph_node(graph, number)->types[0].shape);
    weft_expr all = weft_expr_constant(graph->exprs, 0);
    for (size_t i = 1; i < h->body->parameters.count; i++) {
        const weft_node *parameter = weft_graph_node(graph, h->body->parameters.items[i].node);
        all = weft_expr_add(graph->exprs, all, weft_shape_elements(graph, parameter->types[0].shape));
    }
    weft_expr most = weft_expr_mul(graph->exprs, all, weft_expr_constant(graph->exprs, FEW_TIMES));
    return weft_expr_always_nonnegative(graph->exprs, weft_expr_sub(graph->exprs, most, count));
}

static bool is_worth_memory(hoister *h, uint32_t number)
{
    const weft_node *node = weft_graph_node(h->body->graph, number);
    if (is_step(node)) return is_moderate(h, number);
    return node->op->op_class == WEFT_CLASS_ELEMENTWISE && is_covered(h, number);
}

/* Takes the value that something in the loop reads, or what it is computed from. `pending` has room for every node. */
static void choose(hoister *h, uint32_t number, uint8_t *seen, uint32_t *pending)
{
    size_t count = 0;
    pending[count++] = number;
    while (count > 0) {
        uint32_t n = pending[--count];
        const weft_node *node = weft_graph_node(h->body->graph, n);
        if (seen[n] || !h->costly[n] || !h->invariant[n]) continue;
        seen[n] = 1;
        if (is_worth_memory(h, n)) {
            h->chosen[h->count++] = (weft_tensor){h->body->graph, n, 0};
            continue;
        }
        for (uint32_t i = 0; i < node->input_count; i++)
            if (!seen[node->inputs[i].node]) pending[count++] = node->inputs[i].node;
    }
}

static weft_status *choose_all(hoister *h)
{
    const weft_graph *graph = h->body->graph;
    size_t nodes = graph->node_count, results = h->body->results.count, operands = 1;
    uint8_t *live = weft_arena_allocate(&h->arena, nodes), *seen = weft_arena_allocate(&h->arena, nodes);
    weft_value *values = weft_arena_allocate(&h->arena, results * sizeof *values);
    for (uint32_t n = 0; n < nodes; n++) operands += weft_graph_node(graph, n)->input_count;
    uint32_t *pending = weft_arena_allocate(&h->arena, operands * sizeof *pending);
    if (live == NULL || seen == NULL || values == NULL || pending == NULL) return weft_status_out_of_memory();
    memset(seen, 0, nodes);
    for (size_t i = 0; i < results; i++)
        values[i] = (weft_value){h->body->results.items[i].node, h->body->results.items[i].output};
    weft_graph_mark(graph, results, values, live);
    for (size_t i = 0; i < results; i++) choose(h, values[i].node, seen, pending);
    for (uint32_t n = 0; n < nodes; n++) {
        const weft_node *node = weft_graph_node(graph, n);
        for (uint32_t i = 0; live[n] && !h->invariant[n] && i < node->input_count; i++)
            choose(h, node->inputs[i].node, seen, pending);
    }
    return NULL;
}

/* ---- moving them ---- */

/* The chosen values, traced before the fold; false where that takes a guard, which a fold that does not run lacks. */
static weft_status *trace_before(hoister *h, weft_tensor *out_values, bool *out_well)
{
    const weft_graph *root = weft_graph_root(h->site->graph);
    size_t guards = root->guard_count, carried = h->own - 1;
    weft_region part = {h->body->graph, h->body->parameters, {h->count, h->chosen}};
    weft_tensor *arguments = weft_arena_allocate(&h->arena, h->body->parameters.count * sizeof *arguments);
    if (arguments == NULL) return weft_status_out_of_memory();
    memset(arguments, 0, h->own * sizeof *arguments);
    memcpy(arguments + h->own, h->site->inputs.items + carried,
           (h->body->parameters.count - h->own) * sizeof *arguments);
    WEFT_TRY(
        weft_graph_inline(&part, h->site->graph, (weft_tensors){h->body->parameters.count, arguments}, out_values));
    *out_well = root->guard_count == guards;
    return NULL;
}

/* No parameter is called "captured" and this number, or a larger one. */
static size_t next_number(const hoister *h)
{
    static const char prefix[] = "captured";
    size_t next = 0;
    for (size_t i = 0; i < h->body->parameters.count; i++) {
        const char *name = weft_graph_node(h->body->graph, h->body->parameters.items[i].node)->name;
        if (name == NULL || strncmp(name, prefix, sizeof prefix - 1) != 0) continue;
        size_t number = strtoul(name + sizeof prefix - 1, NULL, 10);
        if (number >= next && number < SIZE_MAX) next = number + 1;
    }
    return next;
}

/* The body with parameters for `values` in place of what was chosen. */
static weft_status *replace_chosen(hoister *h, const weft_tensor *values, weft_region *out_body)
{
    weft_graph *graph = h->body->graph;
    size_t before = h->body->parameters.count, all = before + h->count;
    weft_tensor *replaced = weft_arena_allocate(&h->arena, all * sizeof *replaced);
    weft_tensor *parameters = weft_arena_allocate(&h->arena, all * sizeof *parameters);
    weft_tensor *results = weft_arena_allocate(&h->arena, h->body->results.count * sizeof *results);
    if (replaced == NULL || parameters == NULL || results == NULL) return weft_status_out_of_memory();
    memcpy(replaced, h->body->parameters.items, before * sizeof *replaced);
    memcpy(replaced + before, h->chosen, h->count * sizeof *replaced);
    memcpy(parameters, replaced, before * sizeof *parameters);
    size_t number = next_number(h);
    for (size_t i = 0; i < h->count; i++) {
        parameters[before + i] = weft_region_add_numbered(graph, "captured", number++, values[i]);
        if (!weft_tensor_is_valid(parameters[before + i])) return weft_status_out_of_memory();
    }
    WEFT_TRY(weft_graph_repeat(graph, 0, (weft_tensors){all, replaced}, (weft_tensors){all, parameters},
                               h->body->results, results));
    *out_body = (weft_region){graph, {all, parameters}, {h->body->results.count, results}};
    return NULL;
}

/* The fold again with this body, over what of its operands is needed. */
static weft_status *trace_fold(hoister *h, weft_region body, const weft_tensor *values, weft_tensor *out_results)
{
    const weft_node *fold = h->site->node;
    size_t count = h->own, before = h->body->parameters.count;
    bool *needed = weft_arena_allocate(&h->arena, body.parameters.count * sizeof *needed);
    weft_tensor *inputs = weft_arena_allocate(&h->arena, body.parameters.count * sizeof *inputs);
    weft_tensor *parameters =
        weft_arena_copy(&h->arena, body.parameters.items, body.parameters.count * sizeof *parameters);
    weft_attr *attrs = weft_arena_copy(&h->arena, fold->attrs, fold->op->attr_count * sizeof *attrs);
    if (needed == NULL || inputs == NULL || parameters == NULL || attrs == NULL) return weft_status_out_of_memory();
    WEFT_TRY(weft_graph_inline_needs(&body, needed));
    memcpy(inputs, h->site->inputs.items, (h->own - 1) * sizeof *inputs);
    for (size_t i = h->own; i < body.parameters.count; i++) {
        if (!needed[i]) continue;
        inputs[count - 1] = i < before ? h->site->inputs.items[i - 1] : values[i - before];
        parameters[count++] = body.parameters.items[i];
    }
    body.parameters = (weft_tensors){count, parameters};
    attrs[1].region = body;
    weft_tensor first = weft_graph_trace(h->site->graph, fold->op, (weft_tensors){count - 1, inputs}, attrs);
    for (uint32_t i = 0; i < fold->output_count; i++) out_results[i] = (weft_tensor){h->site->graph, first.node, i};
    return NULL;
}

static weft_status *hoist(hoister *h, weft_tensor *out_values, bool *out_replaced)
{
    size_t nodes = h->body->graph->node_count;
    h->invariant = weft_arena_allocate(&h->arena, nodes);
    h->costly = weft_arena_allocate(&h->arena, nodes);
    h->visited = weft_arena_allocate(&h->arena, nodes);
    h->chosen = weft_arena_allocate(&h->arena, nodes * sizeof *h->chosen);
    if (h->invariant == NULL || h->costly == NULL || h->visited == NULL || h->chosen == NULL)
        return weft_status_out_of_memory();
    memset(h->invariant, 0, nodes);
    memset(h->costly, 0, nodes);
    classify(h);
    WEFT_TRY(choose_all(h));
    /* A size that overflows is merely not covered, but out of memory nothing is known. */
    weft_status *status = weft_expr_context_take_error(h->body->graph->exprs);
    if (weft_status_code(status) == WEFT_OUT_OF_MEMORY) return status;
    weft_status_destroy(status);
    weft_tensor *values = weft_arena_allocate(&h->arena, (h->count + 1) * sizeof *values);
    if (values == NULL) return weft_status_out_of_memory();
    weft_region body;
    if (h->count > 0) WEFT_TRY(trace_before(h, values, out_replaced));
    if (!*out_replaced) return NULL;
    WEFT_TRY(replace_chosen(h, values, &body));
    return trace_fold(h, body, values, out_values);
}

/* Without iterations nothing that the body requires has to hold. */
static bool may_run(const weft_rewrite_site *site)
{
    int64_t least, most;
    weft_expr trips = weft_extent_expr(site->graph, site->node->attrs[0].extents.extents[0]);
    weft_expr_range(site->graph->exprs, trips, &least, &most);
    return most > 0;
}

static weft_status *hoist_from_fold(const weft_rewrite_site *site, weft_tensor *out_values, bool *out_replaced)
{
    if (weft_op_id_of(site->node->op) != WEFT_OP_fold || !may_run(site)) return NULL;
    hoister h = {.site = site, .body = &site->node->attrs[1].region, .own = 1 + site->node->output_count};
    weft_arena_init(&h.arena, site->graph->allocator);
    weft_status *status = hoist(&h, out_values, out_replaced);
    weft_arena_finish(&h.arena);
    return status;
}

weft_status *weft_pass_hoist(weft_graph *graph, const weft_policy *policy, size_t count, weft_value *outputs)
{
    (void)policy;
    return weft_rewrite_run(graph, count, outputs, hoist_from_fold, NULL);
}
