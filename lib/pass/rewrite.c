/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/pass/rewrite.h"
#include "lib/trace/trace.h"
#include <string.h>

/* How often a rule is tried again on what it made of one node; rules that go on longer are left for the next sweep. */
enum { MOST_REPEATS = 16 };

/* One sweep over a graph. */
typedef struct sweep {
    weft_graph *graph;
    weft_rewrite_rule rule; /* or NULL */
    void *context;
    weft_rewrite_finder find;  /* or NULL */
    uint32_t *instead, *stack; /* by old node; of those that wait for others */
    size_t node_count;         /* before the sweep */
    uint8_t *live;             /* by old node */
    weft_tensor **made;        /* by old node: one new value for each output; in `arena` */
    weft_arena arena;
} sweep;

static weft_status *take_error(weft_graph *graph)
{
    const weft_status *error = weft_graph_error(graph);
    if (error == NULL) return NULL;
    weft_status *status = weft_status_clone(graph->allocator, error);
    weft_graph_clear_error(graph);
    return status;
}

/* An error of the graph is what failed first, and the cause of what a rule says of its results. */
static weft_status *run_rule(sweep *s, const weft_rewrite_site *site, weft_tensor *out_values, bool *out_replaced)
{
    weft_status *status = s->rule(site, out_values, out_replaced);
    weft_status *error = take_error(s->graph);
    if (error == NULL) return status;
    weft_status_destroy(status);
    return error;
}

static weft_status *wrong_type(weft_graph *graph, const weft_node *node, weft_tensor value)
{
    if (weft_tensor_is_valid(value) && value.graph != graph)
        return weft_status_create(graph->allocator, WEFT_INTERNAL, node->op->name,
                                  "a rewrite of '%s' gave a tensor of another graph", node->op->name);
    return weft_status_create(graph->allocator, WEFT_INTERNAL, node->op->name,
                              "a rewrite of '%s' gave %s of rank %zu for %s of rank %zu", node->op->name,
                              weft_dtype_name(weft_tensor_dtype(value)), weft_tensor_rank(value),
                              weft_dtype_name(node->types[0].dtype), node->types[0].shape.rank);
}

/*
 * Whether `values` can stand for the node. An extent may differ where a guard, not a proof, makes it equal; then the
 * node stays, so that the types of its users do not change.
 */
static weft_status *check_values(weft_graph *graph, const weft_node *node, const weft_tensor *values, bool *out_fit)
{
    *out_fit = true;
    for (uint32_t i = 0; i < node->output_count; i++) {
        const weft_type *type = &node->types[i];
        if (!weft_tensor_is_valid(values[i]) || values[i].graph != graph ||
            weft_tensor_dtype(values[i]) != type->dtype || weft_tensor_rank(values[i]) != type->shape.rank)
            return wrong_type(graph, node, values[i]);
        weft_shape shape = weft_tensor_shape(values[i]);
        for (size_t axis = 0; axis < shape.rank && *out_fit; axis++)
            *out_fit = weft_extent_equal(shape.extents[axis], type->shape.extents[axis]);
    }
    return NULL;
}

/* Applies the rule once to `node` over `inputs`. A rule that leaves the node alone leaves no guard either. */
static weft_status *apply(sweep *s, const weft_node *node, weft_tensors inputs, weft_tensor *out_values,
                          bool *out_replaced)
{
    *out_replaced = false;
    if (s->rule == NULL) return NULL;
    weft_trial trial = weft_trial_begin(s->graph);
    weft_rewrite_site site = {s->graph, node, inputs, s->context};
    WEFT_TRY(run_rule(s, &site, out_values, out_replaced));
    if (*out_replaced) WEFT_TRY(check_values(s->graph, node, out_values, out_replaced));
    if (!*out_replaced) return weft_trial_reject(&trial);
    weft_trial_accept(&trial);
    return NULL;
}

/* Applies the rule again to a node it made, with that node's operands. */
static weft_status *apply_again(sweep *s, weft_tensor *value)
{
    bool replaced = true;
    for (int i = 0; i < MOST_REPEATS && replaced; i++) {
        weft_node node = *weft_graph_node(s->graph, value->node);
        if (node.output_count != 1) return NULL;
        weft_tensor inputs[8], next = {0};
        if (node.input_count > sizeof inputs / sizeof *inputs) return NULL;
        for (uint32_t k = 0; k < node.input_count; k++)
            inputs[k] = (weft_tensor){s->graph, node.inputs[k].node, node.inputs[k].output};
        WEFT_TRY(apply(s, &node, (weft_tensors){node.input_count, inputs}, &next, &replaced));
        replaced = replaced && next.node != value->node;
        if (replaced) *value = next;
    }
    return NULL;
}

/* ---- regions ---- */

static weft_status *run(weft_graph *graph, size_t count, weft_value *outputs, const sweep *like);

static weft_status *rewrite_region(sweep *s, const weft_region *old, weft_region *out_region)
{
    size_t count = old->results.count;
    weft_value *values = weft_arena_allocate(&s->arena, count * sizeof *values);
    weft_tensor *results = weft_arena_allocate(&s->arena, count * sizeof *results);
    if (values == NULL || results == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < count; i++)
        values[i] = (weft_value){old->results.items[i].node, old->results.items[i].output};
    old->graph->sealed = false; /* a lowering may have traced it */
    WEFT_TRY(run(old->graph, count, values, s));
    for (size_t i = 0; i < count; i++) results[i] = (weft_tensor){old->graph, values[i].node, values[i].output};
    *out_region = (weft_region){old->graph, old->parameters, {count, results}};
    return NULL;
}

/* The attributes of `node`, with its regions rewritten. */
static weft_status *rewrite_attrs(sweep *s, const weft_node *node, const weft_attr **out_attrs)
{
    *out_attrs = node->attrs;
    if (node->op->op_class != WEFT_CLASS_REGION) return NULL;
    size_t size = node->op->attr_count * sizeof(weft_attr);
    weft_attr *attrs = weft_arena_copy(&s->arena, node->attrs, size);
    if (attrs == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < node->op->attr_count; i++)
        if (node->op->attrs[i].kind == WEFT_ATTR_REGION)
            WEFT_TRY(rewrite_region(s, &node->attrs[i].region, &attrs[i].region));
    *out_attrs = attrs;
    return NULL;
}

/* ---- nodes ---- */

/* The node again over new operands; itself when nothing changed. */
static weft_status *make_again(sweep *s, uint32_t number, const weft_node *node, weft_tensors inputs,
                               weft_tensor *out_values)
{
    bool changed = false;
    for (uint32_t i = 0; i < node->input_count; i++)
        changed |= inputs.items[i].node != node->inputs[i].node || inputs.items[i].output != node->inputs[i].output;
    weft_tensor first = {s->graph, number, 0};
    if (changed || node->op->op_class == WEFT_CLASS_REGION)
        first = weft_graph_trace(s->graph, node->op, inputs, node->attrs);
    WEFT_TRY(take_error(s->graph));
    for (uint32_t i = 0; i < node->output_count; i++) out_values[i] = (weft_tensor){s->graph, first.node, i};
    return NULL;
}

static weft_status *keep_name(sweep *s, const weft_node *node, weft_tensor value)
{
    if (node->name != NULL && weft_graph_node(s->graph, value.node)->name == NULL)
        weft_tensor_set_name(value, node->name);
    return take_error(s->graph);
}

static weft_status *make(sweep *s, uint32_t number, const weft_node *node, weft_tensors inputs, weft_tensor *out_values)
{
    bool replaced;
    WEFT_TRY(apply(s, node, inputs, out_values, &replaced));
    if (!replaced) return make_again(s, number, node, inputs, out_values);
    return node->output_count == 1 ? apply_again(s, &out_values[0]) : NULL;
}

/* `status` with the location of the node; takes it. */
static weft_status *add_location(sweep *s, const weft_node *node, weft_status *status)
{
    weft_code code = weft_status_code(status);
    if (status == NULL || code == WEFT_OUT_OF_MEMORY || node->location.file == NULL) return status;
    const char *location;
    weft_status *result = weft_location_print(node->location, &s->arena, &location);
    if (result == NULL)
        result = weft_status_create(s->graph->allocator, code, weft_status_where(status), "%s (%s)",
                                    weft_status_message(status), location);
    weft_status_destroy(status);
    return result;
}

static weft_status *visit(sweep *s, uint32_t number)
{
    weft_node node = *weft_graph_node(s->graph, number); /* a copy: tracing moves the array */
    weft_tensor *inputs = weft_arena_allocate(&s->arena, node.input_count * sizeof *inputs);
    weft_tensor *values = weft_arena_allocate(&s->arena, node.output_count * sizeof *values);
    if (inputs == NULL || values == NULL) return weft_status_out_of_memory();
    memset(values, 0, node.output_count * sizeof *values);
    for (uint32_t i = 0; i < node.input_count; i++) inputs[i] = s->made[node.inputs[i].node][node.inputs[i].output];
    WEFT_TRY(rewrite_attrs(s, &node, &node.attrs));
    weft_tensors list = {node.input_count, inputs};
    weft_graph *root = weft_graph_root(s->graph);
    weft_location before = root->location;
    root->location = node.location;
    weft_status *status = make(s, number, &node, list, values);
    root->location = before;
    WEFT_TRY(add_location(s, &node, status));
    s->made[number] = values;
    return keep_name(s, &node, values[0]);
}

/* ---- nodes in the place of others ---- */

/* The first node that has to be visited before `number`; `number` itself if there is none. */
static uint32_t awaited(const sweep *s, uint32_t number)
{
    const weft_node *node = weft_graph_node(s->graph, number);
    for (uint32_t i = 0; i < node->input_count; i++)
        if (s->made[node->inputs[i].node] == NULL) return node->inputs[i].node;
    return number;
}

/* Visits what stands for node `number`, after all that it needs, which may come later in the graph. */
static weft_status *visit_instead(sweep *s, uint32_t number)
{
    size_t depth = 0;
    s->stack[depth++] = number;
    while (depth > 0) {
        uint32_t top = s->stack[depth - 1], stands = s->instead[top];
        uint32_t next = stands == top ? awaited(s, top) : stands;
        if (s->made[top] != NULL) depth--;
        else if (stands != top && s->made[stands] != NULL) s->made[top] = s->made[stands];
        else if (next == top) WEFT_TRY(visit(s, top));
        else if (depth == s->node_count)
            return weft_status_create(s->graph->allocator, WEFT_INTERNAL, "rewrite", "nodes stand for each other");
        else s->stack[depth++] = next;
    }
    return NULL;
}

static weft_status *find_instead(sweep *s)
{
    s->instead = weft_arena_allocate(&s->arena, s->node_count * sizeof *s->instead);
    s->stack = weft_arena_allocate(&s->arena, s->node_count * sizeof *s->stack);
    if (s->instead == NULL || s->stack == NULL) return weft_status_out_of_memory();
    memset(s->made, 0, s->node_count * sizeof *s->made);
    for (uint32_t n = 0; n < s->node_count; n++) s->instead[n] = n;
    return s->find(s->graph, s->live, s->instead);
}

/* ---- the whole ---- */

static weft_status *sweep_run(sweep *s, size_t count, weft_value *outputs)
{
    if (s->live == NULL || s->made == NULL) return weft_status_out_of_memory();
    weft_graph_mark(s->graph, count, outputs, s->live);
    if (s->find != NULL) WEFT_TRY(find_instead(s));
    for (uint32_t n = 0; n < s->node_count; n++)
        if (s->live[n]) WEFT_TRY(s->find == NULL ? visit(s, n) : visit_instead(s, n));
    for (size_t i = 0; i < count; i++) {
        weft_tensor made = s->made[outputs[i].node][outputs[i].output];
        outputs[i] = (weft_value){made.node, made.output};
    }
    return NULL;
}

static weft_status *run(weft_graph *graph, size_t count, weft_value *outputs, const sweep *like)
{
    sweep s = {.graph = graph, .rule = like->rule, .context = like->context, .find = like->find};
    s.node_count = graph->node_count;
    weft_arena_init(&s.arena, graph->allocator);
    s.live = weft_arena_allocate(&s.arena, s.node_count);
    s.made = weft_arena_allocate(&s.arena, s.node_count * sizeof *s.made);
    weft_status *status = sweep_run(&s, count, outputs);
    weft_arena_finish(&s.arena);
    return status;
}

weft_status *weft_rewrite_run(weft_graph *graph, size_t count, weft_value *outputs, weft_rewrite_rule rule,
                              void *context)
{
    return run(graph, count, outputs, &(sweep){.rule = rule, .context = context});
}

weft_status *weft_rewrite_merge(weft_graph *graph, size_t count, weft_value *outputs, weft_rewrite_finder find)
{
    return run(graph, count, outputs, &(sweep){.find = find});
}

weft_status *weft_rewrite_settle(weft_graph *graph, size_t count, weft_value *outputs, weft_rewrite_rule rule,
                                 void *context, size_t most_sweeps, bool *out_settled)
{
    size_t size = count * sizeof *outputs;
    weft_value *before = weft_allocate(graph->allocator, size);
    if (before == NULL) return weft_status_out_of_memory();
    weft_status *status = NULL;
    *out_settled = false;
    for (size_t i = 0; i < most_sweeps && status == NULL && !*out_settled; i++) {
        memcpy(before, outputs, size);
        status = weft_rewrite_run(graph, count, outputs, rule, context);
        *out_settled = memcmp(before, outputs, size) == 0;
    }
    weft_free(graph->allocator, before, size);
    return status;
}

weft_status *weft_rewrite_by_table(const weft_rewrite_site *site, weft_tensor *out_values, bool *out_replaced)
{
    const weft_rewrite_table *table = site->context;
    weft_op_id op = weft_op_id_of(site->node->op);
    for (size_t i = 0; i < table->count && op != WEFT_OP_EXTENSION; i++) {
        if (table->rows[i].op != op) continue;
        weft_tensor value = table->rows[i].rewrite(site);
        if (value.graph == NULL) continue;
        out_values[0] = value;
        *out_replaced = true;
        return NULL;
    }
    return NULL;
}
