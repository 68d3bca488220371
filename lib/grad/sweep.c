/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/grad/sweep.h"
#include <string.h>
#include "lib/grad/region.h"
#include "lib/trace/trace.h"

void *weft_sweep_allocate(weft_sweep *sweep, size_t count, size_t size)
{
    void *items = weft_arena_allocate(&sweep->arena, (count + 1) * size);
    return items == NULL ? NULL : memset(items, 0, (count + 1) * size);
}

/* ---- which graphs ---- */

static weft_status *number_values(weft_sweep *sweep, weft_sweep_level *level)
{
    size_t value = 0;
    level->node_count = (uint32_t)level->graph->node_count;
    level->first = weft_sweep_allocate(sweep, (size_t)level->node_count + 1, sizeof *level->first);
    if (level->first == NULL) return weft_status_out_of_memory();
    for (uint32_t n = 0; n < level->node_count; n++) {
        level->first[n] = value;
        value += weft_graph_node(level->graph, n)->output_count;
    }
    level->first[level->node_count] = value;
    level->active = weft_sweep_allocate(sweep, value, sizeof *level->active);
    level->held = weft_sweep_allocate(sweep, value, sizeof *level->held);
    level->walked = weft_sweep_allocate(sweep, level->node_count, sizeof *level->walked);
    level->values = weft_sweep_allocate(sweep, value, sizeof *level->values);
    level->uses = weft_sweep_allocate(sweep, value, sizeof *level->uses);
    bool made = level->active != NULL && level->held != NULL && level->walked != NULL && level->values != NULL &&
                level->uses != NULL;
    return made ? NULL : weft_status_out_of_memory();
}

/* `graph` and those around it as far as `wrt` lies, from the inside out. */
static weft_status *add_levels(weft_sweep *sweep, weft_graph *graph)
{
    weft_sweep_level **next = &sweep->inner;
    uint32_t depth = graph->depth;
    for (size_t i = 0; i < sweep->wrt.count; i++)
        if (sweep->wrt.items[i].graph->depth < depth) depth = sweep->wrt.items[i].graph->depth;
    for (; graph != NULL && graph->depth >= depth; graph = graph->parent) {
        *next = weft_sweep_allocate(sweep, 1, sizeof **next);
        if (*next == NULL) return weft_status_out_of_memory();
        (*next)->graph = graph;
        WEFT_TRY(number_values(sweep, *next));
        next = &(*next)->outer;
    }
    return NULL;
}

weft_sweep_level *weft_sweep_level_of(const weft_sweep *sweep, weft_tensor tensor)
{
    weft_sweep_level *level = sweep->inner;
    while (level != NULL && level->graph != tensor.graph) level = level->outer;
    return level;
}

weft_tensor *weft_sweep_slot(const weft_sweep *sweep, weft_tensor tensor)
{
    const weft_sweep_level *level = weft_sweep_level_of(sweep, tensor);
    return level == NULL ? NULL : &level->values[weft_sweep_value(level, (weft_value){tensor.node, tensor.output})];
}

const weft_contribution *weft_sweep_uses(const weft_sweep *sweep, weft_tensor tensor)
{
    const weft_sweep_level *level = weft_sweep_level_of(sweep, tensor);
    return level->uses[weft_sweep_value(level, (weft_value){tensor.node, tensor.output})];
}

/* ---- what is active ---- */

static bool any_active(const weft_sweep_level *level, const weft_node *node)
{
    bool any = false;
    for (uint32_t i = 0; i < node->input_count && !any; i++)
        any = level->active[weft_sweep_value(level, node->inputs[i])];
    return any;
}

/* A function with a rule may depend on more than its ops do. */
static bool any_operand_active(const weft_sweep_level *level, const weft_composed *composed)
{
    bool any = false;
    for (size_t i = 0; composed != NULL && i < composed->inputs.count && !any; i++) {
        weft_tensor input = composed->inputs.items[i];
        any = input.graph != NULL && level->active[weft_sweep_value(level, (weft_value){input.node, input.output})];
    }
    return any;
}

static bool is_zero(const weft_op_def *op)
{
    weft_gradient_row own;
    const weft_gradient_row *row = weft_gradient_row_of(op, &own);
    return row != NULL && row->vjp == NULL && row->jvp == NULL && row->no_vjp == NULL;
}

static void mark_captures(const weft_sweep_level *level)
{
    const weft_captures *captures = level->graph->captures;
    for (const weft_capture *at = captures == NULL ? NULL : captures->first; at != NULL; at = at->next) {
        weft_tensor inner = at->inner[level->graph->part], outer = at->outer;
        if (inner.graph == NULL || inner.node >= level->node_count || outer.node >= level->outer->node_count) continue;
        const weft_value value = {outer.node, outer.output};
        level->active[level->first[inner.node]] |= level->outer->active[weft_sweep_value(level->outer, value)];
    }
}

/* Of a loop that has no derivative in reverse mode, only what depends on what is active: the rest may be used. */
static weft_status *find_dependent(weft_sweep *sweep, const weft_sweep_level *level, const weft_node *node,
                                   bool **out_dependent)
{
    const weft_gradient_context context = {.op = node->op,
                                           .attrs = node->attrs,
                                           .inputs = {node->input_count, NULL},
                                           .outputs = {node->output_count, NULL}};
    const weft_gradient_loop loop = weft_gradient_loop_of(&context, &sweep->arena);
    bool *active = weft_sweep_allocate(sweep, node->input_count, sizeof *active);
    *out_dependent = weft_sweep_allocate(sweep, node->output_count, sizeof **out_dependent);
    if (active == NULL || *out_dependent == NULL) return weft_status_out_of_memory();
    for (uint32_t i = 0; i < node->input_count; i++)
        active[i] = level->active[weft_sweep_value(level, node->inputs[i])];
    return weft_gradient_loop_active(&loop, active, *out_dependent);
}

static weft_status *mark_node(weft_sweep *sweep, weft_sweep_level *level, uint32_t n)
{
    const weft_node *node = weft_graph_node(level->graph, n);
    bool active = (any_active(level, node) && !is_zero(node->op)) || any_operand_active(level, node->composed);
    if (!active) return NULL;
    bool *dependent = NULL;
    if (weft_op_id_of(node->op) == WEFT_OP_while) WEFT_TRY(find_dependent(sweep, level, node, &dependent));
    for (uint32_t k = 0; k < node->output_count; k++)
        level->active[level->first[n] + k] |=
            (dependent == NULL || dependent[k]) && weft_gradient_has(node->types[k].dtype);
    return NULL;
}

static weft_status *mark_nodes(weft_sweep *sweep, weft_sweep_level *level)
{
    for (uint32_t n = 0; n < level->node_count; n++) WEFT_TRY(mark_node(sweep, level, n));
    return NULL;
}

static weft_status *mark_active(weft_sweep *sweep, weft_sweep_level *level)
{
    if (level == NULL) return NULL;
    WEFT_TRY(mark_active(sweep, level->outer));
    if (level->outer != NULL) mark_captures(level);
    return mark_nodes(sweep, level);
}

weft_status *weft_sweep_reach(const weft_region *region, const bool *from, bool *out_reached)
{
    weft_sweep sweep = {.root = NULL};
    weft_sweep_level level = {.graph = region->graph};
    weft_arena_init(&sweep.arena, region->graph->allocator);
    weft_status *status = number_values(&sweep, &level);
    for (size_t i = 0; i < region->parameters.count && status == NULL; i++)
        level.active[level.first[region->parameters.items[i].node]] = from[i];
    if (status == NULL) status = mark_nodes(&sweep, &level);
    for (size_t i = 0; i < region->results.count && status == NULL; i++) {
        weft_tensor result = region->results.items[i];
        out_reached[i] = level.active[level.first[result.node] + result.output];
    }
    weft_arena_finish(&sweep.arena);
    return status;
}

/* ---- the sweep ---- */

static weft_graph *deepest(weft_tensors tensors, weft_graph *graph)
{
    for (size_t i = 0; i < tensors.count; i++)
        if (graph == NULL || tensors.items[i].graph->depth > graph->depth) graph = tensors.items[i].graph;
    return graph;
}

static weft_status *refuse(const weft_sweep *sweep, const char *kind, size_t i, const char *fault)
{
    return weft_status_create(sweep->root->allocator, WEFT_INVALID_ARGUMENT, NULL, "%s %zu %s", kind, i, fault);
}

static weft_status *enter_outputs(weft_sweep *sweep, weft_graph *graph, weft_tensors outputs)
{
    weft_tensor *entered = weft_sweep_allocate(sweep, outputs.count, sizeof *entered);
    if (entered == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < outputs.count; i++) {
        entered[i] = outputs.items[i];
        const char *fault = weft_tensor_enter(graph, &entered[i]);
        if (fault != NULL) return refuse(sweep, "output", i, fault);
        if (!weft_tensor_is_valid(entered[i])) return weft_status_out_of_memory();
    }
    sweep->outputs = (weft_tensors){outputs.count, entered};
    return NULL;
}

static weft_status *hold(weft_sweep *sweep)
{
    for (size_t i = 0; i < sweep->wrt.count; i++) {
        weft_tensor wrt = sweep->wrt.items[i];
        weft_sweep_level *level = weft_sweep_level_of(sweep, wrt);
        if (level == NULL) return refuse(sweep, "wrt", i, "is no tensor of the graph that is differentiated");
        size_t value = weft_sweep_value(level, (weft_value){wrt.node, wrt.output});
        level->active[value] = level->held[value] = true;
        sweep->holds_results = sweep->holds_results || weft_graph_node(wrt.graph, wrt.node)->input_count > 0;
    }
    return NULL;
}

weft_status *weft_sweep_begin(weft_sweep *sweep, weft_tensors outputs, weft_tensors wrt)
{
    weft_graph *graph = deepest(wrt, deepest(outputs, NULL));
    *sweep = (weft_sweep){.root = weft_graph_root(graph), .wrt = wrt};
    weft_arena_init(&sweep->arena, graph->allocator);
    WEFT_TRY(enter_outputs(sweep, graph, outputs));
    WEFT_TRY(add_levels(sweep, graph));
    WEFT_TRY(hold(sweep));
    return mark_active(sweep, sweep->inner);
}

void weft_sweep_finish(weft_sweep *sweep)
{
    weft_arena_finish(&sweep->arena);
}

/* ---- one rule ---- */

/* Copies: tracing moves the nodes. */
static weft_status *fill_context(weft_sweep *sweep, const weft_sweep_level *level, uint32_t number,
                                 weft_gradient_context *out_context)
{
    const weft_node *node = weft_graph_node(level->graph, number);
    weft_tensor *inputs = weft_sweep_allocate(sweep, node->input_count, sizeof *inputs);
    weft_tensor *outputs = weft_sweep_allocate(sweep, node->output_count, sizeof *outputs);
    if (inputs == NULL || outputs == NULL) return weft_status_out_of_memory();
    for (uint32_t i = 0; i < node->input_count; i++)
        inputs[i] = (weft_tensor){level->graph, node->inputs[i].node, node->inputs[i].output};
    for (uint32_t i = 0; i < node->output_count; i++) outputs[i] = (weft_tensor){level->graph, number, i};
    *out_context = (weft_gradient_context){.size = sizeof *out_context,
                                           .graph = weft_graph_current(level->graph),
                                           .op = node->op,
                                           .attrs = node->attrs,
                                           .inputs = {node->input_count, inputs},
                                           .outputs = {node->output_count, outputs}};
    return NULL;
}

static bool is_checkpoint(const weft_node *node)
{
    return node->composed != NULL && weft_composed_id_of(node->composed->op) == WEFT_COMPOSED_checkpoint;
}

static bool find_composed(const weft_node *node, bool reverse, weft_gradient_function *out_rule)
{
    weft_gradient_row own;
    const weft_gradient_row *row = node->composed == NULL ? NULL : weft_gradient_row_of(node->composed->op, &own);
    *out_rule = row == NULL ? NULL : reverse ? row->vjp : row->jvp;
    return *out_rule != NULL;
}

static bool is_operand(const weft_composed *composed, uint32_t node)
{
    bool found = false;
    for (size_t i = 0; i < composed->inputs.count && !found; i++)
        found = composed->inputs.items[i].graph != NULL && composed->inputs.items[i].node == node;
    return found;
}

/* Whether a value that is held is one of those that node `number` is composed of: then its rule would pass it by. The
 * rule of a caller is taken whatever its function uses. */
static bool holds_part(weft_sweep *sweep, const weft_sweep_level *level, uint32_t number)
{
    const weft_composed *composed = weft_graph_node(level->graph, number)->composed;
    if (!sweep->holds_results || composed == NULL || weft_composed_id_of(composed->op) == WEFT_COMPOSED_COUNT)
        return false;
    uint32_t walk = ++sweep->walks;
    size_t ahead = 1;
    bool held = false;
    level->walked[number] = walk;
    for (uint32_t n = number + 1; ahead > 0 && !held;) {
        if (level->walked[--n] != walk) continue;
        ahead--;
        if (is_operand(composed, n)) continue;
        for (size_t value = level->first[n]; n != number && value < level->first[n + 1]; value++)
            held = held || level->held[value];
        const weft_node *node = weft_graph_node(level->graph, n);
        for (uint32_t i = 0; i < node->input_count; i++) {
            uint32_t *walked = &level->walked[node->inputs[i].node];
            ahead += *walked != walk;
            *walked = walk;
        }
    }
    return held;
}

weft_status *weft_sweep_site_of(weft_sweep *sweep, const weft_sweep_level *level, uint32_t number, bool reverse,
                                weft_sweep_site *out_site)
{
    const weft_node *node = weft_graph_node(level->graph, number);
    weft_gradient_row own;
    *out_site = (weft_sweep_site){.node = number, .location = node->location};
    bool held = holds_part(sweep, level, number);
    out_site->is_checkpoint = reverse && is_checkpoint(node);
    if (!held && (out_site->is_checkpoint || find_composed(node, reverse, &out_site->rule))) {
        const weft_composed *composed = node->composed;
        out_site->context = (weft_gradient_context){.size = sizeof out_site->context,
                                                    .graph = weft_graph_current(level->graph),
                                                    .op = composed->op,
                                                    .attrs = composed->attrs,
                                                    .inputs = composed->inputs,
                                                    .outputs = composed->outputs};
        return NULL;
    }
    out_site->is_checkpoint = false;
    const weft_gradient_row *row = weft_gradient_row_of(node->op, &own);
    if (row != NULL) out_site->rule = reverse ? row->vjp : row->jvp;
    if (row != NULL) out_site->reason = row->no_vjp;
    out_site->is_zero = is_zero(node->op);
    return fill_context(sweep, level, number, &out_site->context);
}

/* ---- checks of what it gave ---- */

static weft_status *wrong_value(const weft_sweep_site *site, bool reverse, size_t i, const char *made, weft_code code,
                                const char *promised)
{
    return weft_status_create(site->context.graph->allocator, code, site->context.op->name,
                              "%s: its %s gave %s for %s %zu, which is %s", site->context.op->name,
                              reverse ? "vjp" : "jvp", made, reverse ? "input" : "output", i, promised);
}

/* An extent that only a guard makes equal is replaced by that of `like`. */
static weft_status *check_value(const weft_sweep_site *site, bool reverse, size_t i, weft_tensor like,
                                weft_tensor *value)
{
    weft_type promised = {weft_tensor_dtype(like), weft_tensor_shape(like)};
    weft_type made = {weft_tensor_dtype(*value), weft_tensor_shape(*value)};
    weft_type_text text = weft_type_describe(&promised);
    if (!weft_tensor_is_valid(*value))
        return wrong_value(site, reverse, i, "no tensor", WEFT_INVALID_ARGUMENT, text.text);
    if (made.dtype != promised.dtype || made.shape.rank != promised.shape.rank) {
        return wrong_value(site, reverse, i, weft_type_describe(&made).text, WEFT_INVALID_ARGUMENT, text.text);
    }
    bool same = true;
    int64_t axes[WEFT_MAX_RANK];
    for (size_t axis = 0; axis < made.shape.rank; axis++) {
        axes[axis] = (int64_t)axis;
        same = same && weft_extent_equal(made.shape.extents[axis], promised.shape.extents[axis]);
        if (weft_extent_never_equal(site->context.graph, made.shape.extents[axis], promised.shape.extents[axis]))
            return wrong_value(site, reverse, i, weft_type_describe(&made).text, WEFT_SHAPE_MISMATCH, text.text);
    }
    if (!same) *value = weft_broadcast_in_dim(*value, promised.shape, (weft_ints){made.shape.rank, axes});
    return NULL;
}

/* ---- calling it ---- */

static weft_status *no_rule(const weft_sweep_site *site, bool reverse)
{
    const char *reason = site->reason == NULL ? "" : site->reason, *colon = site->reason == NULL ? "" : ": ";
    return weft_gradient_refuse(&site->context, site->context.op->name, "the op has no derivative in %s mode%s%s",
                                reverse ? "reverse" : "forward", colon, reason);
}

void weft_gradient_drop_repeated(weft_tensors inputs, weft_tensor *out_values)
{
    for (size_t i = 0; i < inputs.count; i++)
        for (size_t k = 0; k < i; k++)
            if (inputs.items[i].node == inputs.items[k].node && inputs.items[i].output == inputs.items[k].output)
                out_values[i] = WEFT_NO_TENSOR;
}

/* Through the ops that the lowering of an extension's op traces. */
static weft_status *differentiate_lowering(weft_sweep *sweep, const weft_sweep_site *site, bool reverse,
                                           weft_tensor *out_values)
{
    const weft_gradient_context *c = &site->context;
    weft_tensor *lowered = weft_sweep_allocate(sweep, c->outputs.count, sizeof *lowered);
    if (lowered == NULL) return weft_status_out_of_memory();
    WEFT_TRY(c->op->lower(c->graph, c->op, c->attrs, c->inputs, lowered));
    if (weft_graph_error(c->graph) != NULL) return NULL;
    if (!weft_tensor_is_valid(lowered[0])) return no_rule(site, reverse);
    weft_tensors outputs = {c->outputs.count, lowered};
    if (!reverse) return weft_gradient_push(outputs, c->inputs, c->given, out_values);
    WEFT_TRY(weft_gradient_pull(outputs, c->given, c->inputs, NULL, out_values));
    weft_gradient_drop_repeated(c->inputs, out_values);
    return NULL;
}

static weft_status *call(weft_sweep *sweep, const weft_sweep_site *site, bool reverse, weft_tensor *out_values)
{
    if (site->rule != NULL) return site->rule(&site->context, out_values);
    if (site->context.op->lower != NULL) return differentiate_lowering(sweep, site, reverse, out_values);
    return no_rule(site, reverse);
}

weft_status *weft_sweep_apply(weft_sweep *sweep, weft_sweep_site *site, bool reverse, weft_tensors like,
                              weft_tensor *out_values)
{
    weft_location before = sweep->root->location;
    memset(out_values, 0, like.count * sizeof *out_values);
    if (site->is_zero) return NULL;
    /* What is traced is there because of that op, whatever call differentiates it. */
    sweep->root->location = site->location;
    weft_status *status = call(sweep, site, reverse, out_values);
    for (size_t i = 0; i < like.count && status == NULL && sweep->root->error == NULL; i++) {
        if (reverse && !site->context.needs[i]) out_values[i] = WEFT_NO_TENSOR;
        if (!reverse && !weft_gradient_has(weft_tensor_dtype(like.items[i]))) out_values[i] = WEFT_NO_TENSOR;
        if (out_values[i].graph != NULL) status = check_value(site, reverse, i, like.items[i], &out_values[i]);
    }
    sweep->root->location = before;
    return status;
}
