/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a part of a graph into another one, by making its nodes again there. */
#include "lib/graph/graph.h"
#include <string.h>

/* One copy under way; `scratch` holds what is needed until it is done. */
typedef struct graph_copier {
    const weft_graph *source;
    weft_graph *target;
    size_t node_count; /* of the source before */
    weft_arena scratch;
    uint8_t *live;
    uint32_t *numbers;             /* node of the source -> node of the target */
    weft_tensors replaced, values; /* these values of the source have those of the target in their place */
} graph_copier;

static weft_value copy_of(const graph_copier *copier, weft_value value)
{
    for (size_t i = 0; i < copier->replaced.count; i++) {
        weft_tensor replaced = copier->replaced.items[i], made = copier->values.items[i];
        if (replaced.node == value.node && replaced.output == value.output) return (weft_value){made.node, made.output};
    }
    return (weft_value){copier->numbers[value.node], value.output};
}

static weft_status *copy_into(const weft_graph *source, weft_graph *target, size_t count, const weft_value *outputs,
                              weft_value *out_copies);

/* What stuck to the target while copying. */
static weft_status *target_error(const weft_graph *target)
{
    const weft_status *error = weft_graph_error(target);
    return error == NULL ? weft_status_out_of_memory() : weft_status_clone(target->allocator, error);
}

/* ---- attributes ---- */

static weft_status *copy_extent(const weft_graph *source, weft_graph *target, weft_extent extent, weft_extent *out_copy)
{
    *out_copy = extent;
    if (extent.graph == NULL || source->exprs == target->exprs) return NULL;
    weft_expr expr = weft_expr_import(target->exprs, source->exprs, (weft_expr)extent.value);
    *out_copy = weft_extent_from(target, expr);
    return weft_extent_is_valid(*out_copy) ? NULL : target_error(target);
}

static weft_status *copy_shape(graph_copier *copier, weft_shape *shape)
{
    weft_extent *extents = weft_arena_allocate(&copier->scratch, shape->rank * sizeof *extents);
    if (extents == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < shape->rank; i++) {
        WEFT_TRY(copy_extent(copier->source, copier->target, shape->extents[i], &extents[i]));
    }
    shape->extents = extents;
    return NULL;
}

/* Parameters are copied along with the results, so that unused ones are there too. */
static weft_status *copy_region(graph_copier *copier, const weft_extent *trips, weft_region *region)
{
    size_t parameters = region->parameters.count, count = parameters + region->results.count;
    weft_value *values = weft_arena_allocate(&copier->scratch, count * sizeof *values);
    weft_tensor *tensors = weft_arena_allocate(&copier->scratch, count * sizeof *tensors);
    weft_graph *copy;
    if (values == NULL || tensors == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < count; i++) {
        weft_tensor tensor = i < parameters ? region->parameters.items[i] : region->results.items[i - parameters];
        values[i] = (weft_value){tensor.node, tensor.output};
    }
    WEFT_TRY(weft_graph_create_region(copier->target, &copy));
    if (trips != NULL) weft_graph_set_trips(copy, *trips);
    WEFT_TRY(copy_into(region->graph, copy, count, values, values));
    for (size_t i = 0; i < count; i++) tensors[i] = (weft_tensor){copy, values[i].node, values[i].output};
    region->parameters.items = tensors;
    region->results.items = tensors + parameters;
    region->graph = copy;
    return NULL;
}

/* Large data are shared. */
static weft_status *copy_data(graph_copier *copier, weft_attr *attr)
{
    weft_graph *source = weft_graph_root(copier->source), *target = weft_graph_root(copier->target);
    if (attr->size < WEFT_BLOB_LEAST || source == target) return NULL;
    return weft_blobs_share(&target->blobs, &source->blobs, attr->data, &attr->data);
}

static weft_status *copy_attrs(graph_copier *copier, const weft_node *node, weft_attr **out_attrs)
{
    const weft_op_def *op = node->op;
    weft_attr *attrs = weft_arena_copy(&copier->scratch, node->attrs, op->attr_count * sizeof *attrs);
    if (attrs == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < op->attr_count; i++) {
        weft_attr_kind kind = op->attrs[i].kind;
        if (kind == WEFT_ATTR_EXTENT || kind == WEFT_ATTR_EXTENTS) WEFT_TRY(copy_shape(copier, &attrs[i].extents));
        const weft_extent *trips = weft_op_id_of(op) == WEFT_OP_fold ? attrs[0].extents.extents : NULL;
        if (kind == WEFT_ATTR_DATA) WEFT_TRY(copy_data(copier, &attrs[i]));
        if (kind == WEFT_ATTR_REGION) WEFT_TRY(copy_region(copier, trips, &attrs[i].region));
    }
    *out_attrs = attrs;
    return NULL;
}

/* ---- nodes ---- */

static weft_status *copy_node(graph_copier *copier, uint32_t number)
{
    const weft_node copied = *weft_graph_node(copier->source, number), *node = &copied; /* tracing moves it */
    weft_value *inputs = weft_arena_allocate(&copier->scratch, node->input_count * sizeof *inputs);
    weft_attr *attrs = NULL;
    if (inputs == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < node->input_count; i++) {
        inputs[i] = copy_of(copier, node->inputs[i]);
    }
    WEFT_TRY(copy_attrs(copier, node, &attrs));
    weft_graph *root = weft_graph_root(copier->target);
    weft_location before = root->location;
    root->location = weft_graph_location(root, node->location.file, node->location.line);
    uint32_t copy = weft_graph_add(copier->target, node->op, node->input_count, inputs, attrs);
    root->location = before;
    if (copy == WEFT_NODE_INVALID) return target_error(copier->target);
    copier->numbers[number] = copy;
    if (node->name != NULL && weft_op_id_of(node->op) != WEFT_OP_input)
        weft_tensor_set_name((weft_tensor){copier->target, copy, 0}, node->name);
    return NULL;
}

/* ---- what values are composed as ---- */

/* Functions that live nodes are composed as keep their operands. */
static void mark_composed(graph_copier *copier)
{
    for (size_t n = copier->node_count; n-- > 0;) {
        const weft_node *node = weft_graph_node(copier->source, (uint32_t)n);
        if (!copier->live[n]) continue;
        for (size_t i = 0; i < node->input_count; i++) copier->live[node->inputs[i].node] = 1;
        weft_tensors operands = node->composed == NULL ? (weft_tensors){0, NULL} : node->composed->inputs;
        for (size_t i = 0; i < operands.count; i++)
            if (operands.items[i].graph != NULL) copier->live[operands.items[i].node] = 1;
    }
}

static weft_status *copy_tensors(graph_copier *copier, weft_tensors *tensors)
{
    weft_tensor *copies = weft_arena_copy(&copier->scratch, tensors->items, tensors->count * sizeof *copies);
    if (copies == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < tensors->count; i++) {
        if (copies[i].graph == NULL) continue;
        weft_value copy = copy_of(copier, (weft_value){copies[i].node, copies[i].output});
        copies[i] = (weft_tensor){copier->target, copy.node, copy.output};
    }
    tensors->items = copies;
    return NULL;
}

static weft_status *copy_composed(graph_copier *copier, uint32_t number)
{
    const weft_composed *composed = weft_graph_node(copier->source, number)->composed;
    bool is_last = composed != NULL;
    for (size_t i = 0; is_last && i < composed->outputs.count; i++) {
        uint32_t output = composed->outputs.items[i].node;
        is_last = output <= number && copier->live[output];
    }
    if (!is_last) return NULL;
    weft_tensors inputs = composed->inputs, outputs = composed->outputs;
    WEFT_TRY(copy_tensors(copier, &inputs));
    WEFT_TRY(copy_tensors(copier, &outputs));
    bool well = weft_graph_compose(copier->target, composed->op, composed->attrs, inputs, outputs);
    return well ? NULL : target_error(copier->target);
}

/* ---- the whole ---- */

/* Parameters, which have one output. */
static bool is_replaced(const graph_copier *copier, uint32_t number)
{
    const weft_node *node = weft_graph_node(copier->source, number);
    bool found = false;
    for (size_t i = 0; i < copier->replaced.count && node->output_count == 1 && !found; i++)
        found = copier->replaced.items[i].node == number;
    return found;
}

static weft_status *copy_nodes(graph_copier *copier, size_t count, const weft_value *outputs, weft_value *out_copies)
{
    /* The rules that a caller made live as long as their root. */
    bool composes = weft_graph_root(copier->source) == weft_graph_root(copier->target);
    weft_graph_mark(copier->source, count, outputs, copier->live);
    if (composes) mark_composed(copier);
    for (uint32_t n = 0; n < copier->node_count; n++) {
        if (!copier->live[n]) continue;
        if (copier->numbers[n] == WEFT_NODE_INVALID && !is_replaced(copier, n)) WEFT_TRY(copy_node(copier, n));
        if (composes) WEFT_TRY(copy_composed(copier, n));
    }
    for (size_t i = 0; i < count; i++) out_copies[i] = copy_of(copier, outputs[i]);
    return NULL;
}

static weft_status *copier_begin(graph_copier *copier, const weft_graph *source, weft_graph *target)
{
    *copier = (graph_copier){.source = source, .target = target, .node_count = source->node_count};
    weft_arena_init(&copier->scratch, target->allocator);
    copier->live = weft_arena_allocate(&copier->scratch, source->node_count);
    copier->numbers = weft_arena_allocate(&copier->scratch, source->node_count * sizeof *copier->numbers);
    if (copier->live == NULL || copier->numbers == NULL) return weft_status_out_of_memory();
    for (size_t n = 0; n < source->node_count; n++) copier->numbers[n] = WEFT_NODE_INVALID;
    return NULL;
}

static weft_status *copy_into(const weft_graph *source, weft_graph *target, size_t count, const weft_value *outputs,
                              weft_value *out_copies)
{
    graph_copier copier;
    weft_status *status = copier_begin(&copier, source, target);
    if (status == NULL) status = copy_nodes(&copier, count, outputs, out_copies);
    weft_arena_finish(&copier.scratch);
    return status;
}

static weft_status *mark_results(graph_copier *copier, weft_tensors results)
{
    weft_value *values = weft_arena_allocate(&copier->scratch, results.count * sizeof *values);
    if (values == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < results.count; i++) values[i] = (weft_value){results.items[i].node, results.items[i].output};
    weft_graph_mark(copier->source, results.count, values, copier->live);
    mark_composed(copier);
    return NULL;
}

/* What `wanted` are in the target. */
static weft_status *copy_values(graph_copier *copier, weft_tensors wanted, weft_tensor *out_values)
{
    weft_value *values = weft_arena_allocate(&copier->scratch, wanted.count * sizeof *values);
    if (values == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < wanted.count; i++) values[i] = (weft_value){wanted.items[i].node, wanted.items[i].output};
    WEFT_TRY(copy_nodes(copier, wanted.count, values, values));
    for (size_t i = 0; i < wanted.count; i++)
        out_values[i] = (weft_tensor){copier->target, values[i].node, values[i].output};
    return NULL;
}

weft_status *weft_graph_inline_needs(const weft_region *region, bool *out_needed)
{
    graph_copier copier;
    weft_tensors parameters = region->parameters;
    weft_status *status = copier_begin(&copier, region->graph, region->graph);
    if (status == NULL) status = mark_results(&copier, region->results);
    for (size_t i = 0; i < parameters.count && status == NULL; i++)
        out_needed[i] = copier.live[parameters.items[i].node] != 0;
    weft_arena_finish(&copier.scratch);
    return status;
}

weft_status *weft_graph_inline(const weft_region *region, weft_graph *target, weft_tensors arguments,
                               weft_tensor *out_results)
{
    graph_copier copier;
    weft_status *status = copier_begin(&copier, region->graph, target);
    copier.replaced = region->parameters;
    copier.values = arguments;
    if (status == NULL) status = copy_values(&copier, region->results, out_results);
    weft_arena_finish(&copier.scratch);
    return status;
}

weft_status *weft_graph_repeat(weft_graph *graph, uint32_t first, weft_tensors replaced, weft_tensors values,
                               weft_tensors wanted, weft_tensor *out_values)
{
    graph_copier copier;
    weft_status *status = copier_begin(&copier, graph, graph);
    for (uint32_t n = 0; n < first && status == NULL; n++) copier.numbers[n] = n;
    copier.replaced = replaced;
    copier.values = values;
    if (status == NULL) status = copy_values(&copier, wanted, out_values);
    weft_arena_finish(&copier.scratch);
    return status;
}

/* ---- symbols and guards ---- */

/* Makes the symbols in the order of the source, so that programs bind and print them alike. */
static weft_status *copy_symbols(const weft_graph *source, weft_graph *target, size_t count, const weft_value *outputs)
{
    size_t symbols = weft_expr_context_symbol_count(source->exprs);
    uint8_t *used = weft_allocate_zeroed(target->allocator, symbols);
    if (used == NULL) return weft_status_out_of_memory();
    weft_status *status = weft_graph_mark_symbols(source, count, outputs, used);
    for (size_t i = 0; i < symbols && status == NULL; i++) {
        weft_extent symbol = {(weft_graph *)source, weft_expr_context_symbol(source->exprs, i)}, copy;
        if (used[i]) status = copy_extent(source, target, symbol, &copy);
    }
    weft_free(target->allocator, used, symbols);
    return status;
}

static weft_status *copy_guard(const weft_graph *source, weft_graph *target, const weft_guard *guard)
{
    weft_extent a, b, when = weft_extent_of(0);
    weft_graph *root = weft_graph_root(source);
    WEFT_TRY(copy_extent(source, target, weft_extent_from(root, guard->a), &a));
    WEFT_TRY(copy_extent(source, target, weft_extent_from(root, guard->b), &b));
    if (guard->when != WEFT_EXPR_NONE)
        WEFT_TRY(copy_extent(source, target, weft_extent_from(root, guard->when), &when));
    if (weft_guard_is_proven(target, guard->kind, a, b)) return NULL;
    weft_location before = target->location;
    target->location = weft_graph_location(target, guard->location.file, guard->location.line);
    weft_status *status = weft_guard_settle_when(
        target, guard->kind, a, b, guard->when == WEFT_EXPR_NONE ? WEFT_EXPR_NONE : weft_extent_expr(target, when),
        weft_status_create(target->allocator, WEFT_SHAPE_MISMATCH, NULL, "%s", guard->message));
    target->location = before;
    if (status == NULL || weft_graph_error(target) == NULL) return status;
    weft_status_destroy(status);
    return target_error(target);
}

static weft_status *copy_guards(const weft_graph *source, weft_graph *target, size_t count, const weft_value *outputs)
{
    const weft_graph *root = weft_graph_root(source);
    uint8_t *live = source == root ? weft_allocate_zeroed(target->allocator, root->node_count) : NULL;
    if (source == root && live == NULL) return weft_status_out_of_memory();
    if (live != NULL) weft_graph_mark(source, count, outputs, live);
    weft_status *status = NULL;
    for (size_t i = 0; i < root->guard_count && status == NULL; i++)
        if (weft_guard_is_needed(root, i, live)) status = copy_guard(source, target, &root->guards[i]);
    weft_free(target->allocator, live, root->node_count);
    return status;
}

weft_status *weft_graph_copy(const weft_graph *source, weft_graph *target, size_t count, const weft_value *outputs,
                             weft_value *out_copies)
{
    const weft_graph *root = weft_graph_root(source);
    for (size_t i = 0; i < root->extension_count; i++) WEFT_TRY(weft_graph_register(target, root->extensions[i]));
    if (source->exprs != target->exprs) {
        WEFT_TRY(copy_symbols(source, target, count, outputs));
        WEFT_TRY(copy_guards(source, target, count, outputs));
    }
    return copy_into(source, target, count, outputs, out_copies);
}
