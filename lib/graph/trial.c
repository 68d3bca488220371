/* SPDX-License-Identifier: Apache-2.0 */
/* Speculative tracing, and how it is rolled back. */
#include "lib/graph/attr.h"
#include "lib/graph/graph.h"

weft_trial weft_trial_begin(weft_graph *graph)
{
    weft_trial trial = {.graph = graph, .guard_count = weft_graph_root(graph)->guard_count};
    for (const weft_graph *at = graph; at != NULL; at = at->parent) trial.node_counts[at->depth] = at->node_count;
    return trial;
}

void weft_trial_accept(const weft_trial *trial)
{
    weft_guards_keep(weft_graph_root(trial->graph), trial->guard_count);
}

static weft_status *forget_node(weft_graph *graph, const weft_node *node, weft_bytes *key)
{
    WEFT_TRY(weft_node_encode(graph, node->op, node->input_count, node->inputs, node->attrs, key));
    weft_map_remove(&graph->interned, key->data, key->size);
    return NULL;
}

/* A node that is found again would not require its guards again. */
static weft_status *forget_nodes(weft_graph *graph, size_t first)
{
    weft_status *status = NULL;
    for (size_t n = first; n < graph->node_count && status == NULL; n++) {
        weft_bytes key;
        weft_bytes_init(&key, graph->allocator);
        status = forget_node(graph, weft_graph_node(graph, (uint32_t)n), &key);
        weft_bytes_finish(&key);
    }
    return status;
}

weft_status *weft_trial_reject(const weft_trial *trial)
{
    weft_graph *root = weft_graph_root(trial->graph);
    if (root->guard_count == trial->guard_count) return NULL;
    for (weft_graph *at = trial->graph; at != NULL; at = at->parent)
        WEFT_TRY(forget_nodes(at, trial->node_counts[at->depth]));
    weft_guards_drop(root, trial->guard_count);
    return NULL;
}
