/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/pass/uses.h"
#include <string.h>

static weft_status *count_uses(weft_usages *all, const weft_graph *graph, size_t count, const weft_value *outputs);

static weft_status *count_in_regions(weft_usages *all, const weft_node *node)
{
    if (node->op->op_class != WEFT_CLASS_REGION) return NULL;
    for (size_t i = 0; i < node->op->attr_count; i++) {
        if (node->op->attrs[i].kind != WEFT_ATTR_REGION) continue;
        const weft_region *region = &node->attrs[i].region;
        weft_value *results = weft_arena_allocate(&all->arena, region->results.count * sizeof *results);
        if (results == NULL) return weft_status_out_of_memory();
        for (size_t k = 0; k < region->results.count; k++)
            results[k] = (weft_value){region->results.items[k].node, region->results.items[k].output};
        WEFT_TRY(count_uses(all, region->graph, region->results.count, results));
    }
    return NULL;
}

static weft_status *count_uses(weft_usages *all, const weft_graph *graph, size_t count, const weft_value *outputs)
{
    size_t nodes = graph->node_count;
    weft_usage *u = weft_arena_allocate(&all->arena, sizeof *u);
    uint32_t *uses = weft_arena_allocate(&all->arena, nodes * (sizeof *uses + 1));
    if (u == NULL || uses == NULL) return weft_status_out_of_memory();
    uint8_t *live = memset(uses, 0, nodes * (sizeof *uses + 1));
    live += nodes * sizeof *uses;
    weft_graph_mark(graph, count, outputs, live);
    for (size_t i = 0; i < count; i++) uses[outputs[i].node]++;
    for (size_t n = 0; n < nodes; n++) {
        const weft_node *node = weft_graph_node(graph, (uint32_t)n);
        for (uint32_t i = 0; live[n] && i < node->input_count; i++) uses[node->inputs[i].node]++;
        if (live[n]) WEFT_TRY(count_in_regions(all, node));
    }
    *u = (weft_usage){graph, nodes, uses, all->first};
    all->first = u;
    return NULL;
}

weft_status *weft_usages_fill(weft_usages *usages, const weft_graph *graph, size_t count, const weft_value *outputs)
{
    usages->first = NULL;
    weft_arena_init(&usages->arena, graph->allocator);
    return count_uses(usages, graph, count, outputs);
}

void weft_usages_finish(weft_usages *usages)
{
    weft_arena_finish(&usages->arena);
}

bool weft_usages_is_read_once(const weft_usages *usages, const weft_graph *graph, uint32_t node)
{
    const weft_usage *u = usages->first;
    while (u != NULL && u->graph != graph) u = u->next;
    return u != NULL && node < u->node_count && u->uses[node] == 1;
}

bool weft_graph_has(const weft_graph *graph, weft_op_id op)
{
    bool found = false;
    for (uint32_t n = 0; n < graph->node_count && !found; n++) {
        const weft_node *node = weft_graph_node(graph, n);
        found = weft_op_id_of(node->op) == op;
        for (size_t i = 0; i < node->op->attr_count && !found; i++)
            found = node->op->attrs[i].kind == WEFT_ATTR_REGION && weft_graph_has(node->attrs[i].region.graph, op);
    }
    return found;
}
