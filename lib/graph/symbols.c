/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/graph/graph.h"
#include <string.h>

typedef struct census {
    const weft_graph *graph;
    uint8_t *used;
} census;

static void count_expr(const census *c, weft_expr e)
{
    const weft_expr_context *exprs = c->graph->exprs;
    size_t symbols = weft_expr_context_symbol_count(exprs);
    for (size_t i = 0; i < symbols; i++)
        if (!c->used[i]) c->used[i] = weft_expr_uses(exprs, e, weft_expr_context_symbol(exprs, i));
}

static void count_shape(const census *c, weft_shape shape)
{
    for (size_t i = 0; i < shape.rank; i++)
        if (shape.extents[i].graph != NULL) count_expr(c, (weft_expr)shape.extents[i].value);
}

static void count_types(const census *c, const weft_node *node)
{
    for (uint32_t i = 0; i < node->output_count; i++) count_shape(c, node->types[i].shape);
}

static weft_status *count_region(const census *outer, const weft_region *region)
{
    const weft_graph *graph = region->graph;
    for (size_t i = 0; i < region->parameters.count; i++)
        count_types(outer, weft_graph_node(graph, region->parameters.items[i].node));
    weft_value *results = weft_allocate(graph->allocator, region->results.count * sizeof *results);
    if (results == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < region->results.count; i++)
        results[i] = (weft_value){region->results.items[i].node, region->results.items[i].output};
    weft_status *status = weft_graph_mark_symbols(graph, region->results.count, results, outer->used);
    weft_free(graph->allocator, results, region->results.count * sizeof *results);
    return status;
}

static weft_status *count_node(const census *c, const weft_node *node)
{
    count_types(c, node);
    for (size_t i = 0; i < node->op->attr_count; i++) {
        weft_attr_kind kind = node->op->attrs[i].kind;
        if (kind == WEFT_ATTR_EXTENT || kind == WEFT_ATTR_EXTENTS) count_shape(c, node->attrs[i].extents);
        if (kind == WEFT_ATTR_REGION) WEFT_TRY(count_region(c, &node->attrs[i].region));
    }
    return NULL;
}

weft_status *weft_graph_mark_symbols(const weft_graph *graph, size_t count, const weft_value *outputs,
                                     uint8_t *out_used)
{
    size_t nodes = graph->node_count;
    uint8_t *live = weft_allocate_zeroed(graph->allocator, nodes);
    if (live == NULL) return weft_status_out_of_memory();
    weft_graph_mark(graph, count, outputs, live);
    census c = {graph, out_used};
    weft_status *status = NULL;
    for (uint32_t n = 0; n < nodes && status == NULL; n++)
        if (live[n]) status = count_node(&c, weft_graph_node(graph, n));
    for (size_t i = 0; i < graph->guard_count; i++) {
        if (!weft_guard_is_needed(graph, i, live)) continue;
        count_expr(&c, graph->guards[i].a);
        count_expr(&c, graph->guards[i].b);
        if (graph->guards[i].when != WEFT_EXPR_NONE) count_expr(&c, graph->guards[i].when);
    }
    weft_free(graph->allocator, live, nodes);
    return status;
}
