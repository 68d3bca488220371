/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/graph/attr.h"
#include <inttypes.h>

typedef struct verifier {
    weft_infer_context base; /* what type rules see; first, so that it leads back here */
    weft_arena arena;
    weft_graph *graph;
    uint32_t number;
} verifier;

static weft_status *verify_graph(weft_graph *graph, size_t count, const weft_value *outputs);

static const weft_node *node_of(const verifier *v)
{
    return weft_graph_node(v->graph, v->number);
}

static weft_status *broken(const verifier *v, const char *format, ...) WEFT_FORMAT(2, 3);

/* INTERNAL, with the node before the sentence. */
static weft_status *broken(const verifier *v, const char *format, ...)
{
    const weft_allocator *allocator = v->graph->allocator;
    va_list arguments;
    va_start(arguments, format);
    weft_status *sentence = weft_status_create_v(allocator, WEFT_INTERNAL, NULL, format, arguments);
    va_end(arguments);
    weft_status *status =
        weft_status_create(allocator, weft_status_code(sentence), "weft_graph_verify", "node %" PRIu32 " (%s): %s",
                           v->number, node_of(v)->op->name, weft_status_message(sentence));
    weft_status_destroy(sentence);
    return status;
}

/* An error found by what also checks new nodes, as a broken invariant; takes `status`. */
static weft_status *recast(const verifier *v, weft_status *status)
{
    if (status == NULL || weft_status_code(status) == WEFT_OUT_OF_MEMORY) return status;
    weft_status *result = broken(v, "%s", weft_status_message(status));
    weft_status_destroy(status);
    return result;
}

static weft_status *verify_inputs(const verifier *v)
{
    const weft_node *node = node_of(v);
    int32_t wanted = node->op->input_count;
    if (wanted < 0 ? node->input_count == 0 : node->input_count != (uint32_t)wanted)
        return broken(v, "it has %" PRIu32 " operands, its op takes %" PRId32, node->input_count, wanted);
    for (uint32_t i = 0; i < node->input_count; i++) {
        weft_value input = node->inputs[i];
        if (input.node >= v->number)
            return broken(v, "operand %" PRIu32 " is node %" PRIu32 ", but operands have lower numbers", i, input.node);
        if (input.output >= weft_graph_node(v->graph, input.node)->output_count)
            return broken(v, "operand %" PRIu32 " is output %" PRIu32 " of node %" PRIu32 ", which has no such output",
                          i, input.output, input.node);
        weft_dtype dtype = weft_value_type(v->graph, input)->dtype;
        if (node->op->dtypes != 0 && (node->op->dtypes >> dtype & 1) == 0)
            return broken(v, "operand %" PRIu32 " has dtype %s, which the op does not take", i, weft_dtype_name(dtype));
    }
    return NULL;
}

/* ---- types ---- */

static void *rule_allocate(const weft_infer_context *context, size_t size)
{
    return weft_arena_allocate(&((verifier *)context)->arena, size);
}

static weft_status *run_rule(verifier *v, weft_type *types)
{
    const weft_node *node = node_of(v);
    weft_type *inputs = weft_arena_allocate(&v->arena, node->input_count * sizeof *inputs);
    if (inputs == NULL) return weft_status_out_of_memory();
    for (uint32_t i = 0; i < node->input_count; i++) inputs[i] = *weft_value_type(v->graph, node->inputs[i]);
    for (uint32_t i = 0; i < node->output_count; i++) types[i] = (weft_type){.dtype = WEFT_DTYPE_COUNT};
    v->base = (weft_infer_context){.size = sizeof v->base,
                                   .graph = v->graph,
                                   .op = node->op,
                                   .input_count = node->input_count,
                                   .inputs = inputs,
                                   .attrs = node->attrs,
                                   .allocate = rule_allocate};
    weft_rule_site site = {node->input_count, node->inputs};
    v->graph->rule = &site;
    weft_status *status = node->op->infer(&v->base, types);
    v->graph->rule = NULL;
    return status;
}

static bool types_equal(const weft_type *a, const weft_type *b)
{
    bool equal = a->dtype == b->dtype && a->shape.rank == b->shape.rank;
    for (size_t i = 0; i < a->shape.rank && equal; i++)
        equal = weft_extent_equal(a->shape.extents[i], b->shape.extents[i]);
    return equal;
}

/* The rule finds the types again. It also finds its guards again, which are there already. */
static weft_status *verify_types(verifier *v)
{
    uint32_t count = node_of(v)->output_count;
    weft_type *types = weft_arena_allocate(&v->arena, count * sizeof *types);
    if (types == NULL) return weft_status_out_of_memory();
    WEFT_TRY(recast(v, run_rule(v, types)));
    for (uint32_t i = 0; i < count; i++) {
        const weft_type *type = &node_of(v)->types[i];
        if (!types_equal(type, &types[i]))
            return broken(v, "output %" PRIu32 " has type %s, the type rule says %s", i, weft_type_describe(type).text,
                          weft_type_describe(&types[i]).text);
    }
    return NULL;
}

/* ---- identity and regions ---- */

static weft_status *verify_interned(const verifier *v)
{
    const weft_node *node = node_of(v);
    weft_bytes key;
    weft_bytes_init(&key, v->graph->allocator);
    weft_status *status = weft_node_encode(v->graph, node->op, node->input_count, node->inputs, node->attrs, &key);
    size_t known = status != NULL ? 0 : (size_t)(uintptr_t)weft_map_find(&v->graph->interned, key.data, key.size);
    weft_bytes_finish(&key);
    if (status != NULL) return recast(v, status);
    return known == (size_t)v->number + 1 ? NULL : broken(v, "an equal node would not be found to be this one");
}

static weft_status *verify_region(verifier *v, const weft_region *region)
{
    size_t count = region->results.count;
    weft_value *results = weft_arena_allocate(&v->arena, count * sizeof *results);
    if (results == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < count; i++)
        results[i] = (weft_value){region->results.items[i].node, region->results.items[i].output};
    return recast(v, verify_graph(region->graph, count, results));
}

static weft_status *verify_node(verifier *v)
{
    WEFT_TRY(verify_inputs(v));
    WEFT_TRY(recast(v, weft_attrs_check(v->graph, node_of(v)->op, node_of(v)->attrs)));
    WEFT_TRY(verify_types(v));
    WEFT_TRY(verify_interned(v));
    const weft_op_def *op = node_of(v)->op;
    for (size_t i = 0; i < op->attr_count; i++)
        if (op->attrs[i].kind == WEFT_ATTR_REGION) WEFT_TRY(verify_region(v, &node_of(v)->attrs[i].region));
    return NULL;
}

static weft_status *verify_live(verifier *v, size_t count, const weft_value *outputs)
{
    size_t nodes = v->graph->node_count;
    uint8_t *live = weft_arena_allocate(&v->arena, nodes);
    if (live == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < count; i++)
        if (outputs[i].node >= nodes || outputs[i].output >= weft_graph_node(v->graph, outputs[i].node)->output_count)
            return weft_status_create(v->graph->allocator, WEFT_INTERNAL, "weft_graph_verify",
                                      "output %zu is not a value of the graph", i);
    weft_graph_mark(v->graph, count, outputs, live);
    for (uint32_t n = 0; n < nodes; n++) {
        v->number = n;
        if (live[n]) WEFT_TRY(verify_node(v));
    }
    return NULL;
}

static weft_status *verify_graph(weft_graph *graph, size_t count, const weft_value *outputs)
{
    verifier v = {.graph = graph};
    weft_arena_init(&v.arena, graph->allocator);
    weft_status *status = verify_live(&v, count, outputs);
    weft_arena_finish(&v.arena);
    return status;
}

weft_status *weft_graph_verify(weft_graph *graph, size_t count, const weft_value *outputs)
{
    weft_status *status = verify_graph(graph, count, outputs);
    const weft_status *error = weft_graph_error(graph);
    if (status != NULL || error == NULL) return status;
    if (weft_status_code(error) == WEFT_OUT_OF_MEMORY) return weft_status_out_of_memory();
    /* A rule may also have raised its error through weft_require_equal and its like. */
    return weft_status_create(graph->allocator, WEFT_INTERNAL, "weft_graph_verify", "%s", weft_status_message(error));
}
