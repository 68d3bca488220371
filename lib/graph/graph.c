/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/graph/graph.h"
#include <stdio.h>
#include <string.h>
#include "runtime/base/status.h"

/* ---- lifetime ---- */

static weft_graph *graph_allocate(const weft_allocator *allocator)
{
    weft_graph *graph = weft_allocate_zeroed(allocator, sizeof *graph);
    if (graph == NULL) return NULL;
    graph->own_allocator = *allocator;
    graph->allocator = &graph->own_allocator;
    weft_arena_init(&graph->arena, graph->allocator);
    graph->composition = SIZE_MAX;
    weft_map_init(&graph->interned, graph->allocator);
    weft_map_init(&graph->guards_between, graph->allocator);
    weft_map_init(&graph->inputs, graph->allocator);
    weft_blobs_init(&graph->blobs, graph->allocator);
    return graph;
}

weft_status *weft_graph_create(const weft_graph_options *options, weft_graph **out_graph)
{
    WEFT_REQUIRE(out_graph);
    const weft_allocator *allocator = weft_allocator_or_default(options == NULL ? NULL : options->allocator);
    weft_graph *graph = graph_allocate(allocator);
    if (graph == NULL) return weft_status_out_of_memory();
    weft_status *status = weft_expr_context_create(graph->allocator, &graph->exprs);
    if (status == NULL) *out_graph = graph;
    else weft_graph_destroy(graph);
    return status;
}

weft_status *weft_graph_create_region(weft_graph *parent, weft_graph **out_region)
{
    if (parent->depth == WEFT_MOST_NESTED)
        return weft_status_create(parent->allocator, WEFT_UNSUPPORTED, NULL, "regions nest more than %d deep",
                                  WEFT_MOST_NESTED);
    weft_graph *region = graph_allocate(parent->allocator);
    if (region == NULL) return weft_status_out_of_memory();
    region->depth = parent->depth + 1;
    region->exprs = parent->exprs;
    region->parent = parent;
    region->when = parent->when;
    region->sibling = parent->regions;
    parent->regions = region;
    *out_region = region;
    return NULL;
}

void weft_graph_destroy(weft_graph *graph)
{
    if (graph == NULL) return;
    for (weft_graph *region = graph->regions, *next; region != NULL; region = next) {
        next = region->sibling;
        weft_graph_destroy(region);
    }
    if (graph->parent == NULL) weft_expr_context_destroy(graph->exprs);
    weft_map_finish(&graph->interned, NULL);
    weft_map_finish(&graph->guards_between, NULL);
    weft_map_finish(&graph->inputs, NULL);
    weft_blobs_finish(&graph->blobs);
    weft_free(graph->allocator, graph->nodes, graph->node_capacity * sizeof *graph->nodes);
    weft_free(graph->allocator, graph->guards, graph->guard_capacity * sizeof *graph->guards);
    weft_free(graph->allocator, graph->extensions, graph->extension_capacity * sizeof *graph->extensions);
    weft_status_destroy(graph->error);
    weft_arena_finish(&graph->arena);
    weft_allocator allocator = graph->own_allocator;
    weft_free(&allocator, graph, sizeof *graph);
}

weft_graph *weft_graph_root(const weft_graph *graph)
{
    while (graph->parent != NULL) graph = graph->parent;
    return (weft_graph *)graph;
}

weft_graph *weft_graph_current(weft_graph *graph)
{
    weft_graph *current = weft_graph_root(graph)->current;
    for (weft_graph *around = current; around != NULL; around = around->parent)
        if (around == graph) return current;
    return graph;
}

const weft_allocator *weft_graph_allocator(const weft_graph *graph)
{
    return graph == NULL ? weft_allocator_default() : graph->allocator;
}

/* ---- locations ---- */

weft_location weft_graph_location(weft_graph *graph, const char *file, int line)
{
    weft_graph *root = weft_graph_root(graph);
    if (file != NULL && (root->file == NULL || strcmp(root->file, file) != 0))
        root->file = weft_arena_string(&root->arena, file, strlen(file));
    return (weft_location){file == NULL ? NULL : root->file, line};
}

weft_status *weft_location_print(weft_location location, weft_arena *arena, const char **out_text)
{
    *out_text = NULL;
    if (location.file == NULL) return NULL;
    size_t size = strlen(location.file) + 16;
    char *text = weft_arena_allocate(arena, size);
    if (text == NULL) return weft_status_out_of_memory();
    snprintf(text, size, "%s:%d", location.file, location.line);
    *out_text = text;
    return NULL;
}

weft_status *weft_node_error(const weft_node *node, const weft_allocator *allocator, weft_status *status)
{
    if (status == NULL || weft_status_code(status) == WEFT_OUT_OF_MEMORY) return status;
    const char *name = node->name != NULL ? node->name : node->op->name;
    weft_code code = weft_status_code(status);
    const char *sentence = weft_status_message(status), *file = node->location.file;
    weft_status *named = file == NULL ? weft_status_create(allocator, code, NULL, "%s: %s", name, sentence)
                                      : weft_status_create(allocator, code, NULL, "%s: %s (%s:%d)", name, sentence,
                                                           file, node->location.line);
    weft_status_destroy(status);
    return named;
}

void weft_graph_locate(weft_graph *graph, weft_location location)
{
    weft_graph *root = weft_graph_root(graph);
    for (; graph->located_nodes < graph->node_count; graph->located_nodes++) {
        weft_node *node = &graph->nodes[graph->located_nodes];
        if (node->location.file == NULL) node->location = location;
    }
    for (; root->located_guards < root->guard_count; root->located_guards++) {
        weft_guard *guard = &root->guards[root->located_guards];
        if (guard->location.file == NULL) guard->location = location;
    }
}

/* ---- the sticky error ---- */

void weft_graph_fail(weft_graph *graph, weft_status *status)
{
    if (status == NULL) return;
    weft_graph *root = weft_graph_root(graph);
    root->failures++;
    if (root->error != NULL) {
        weft_status_destroy(status);
        return;
    }
    root->error = status;
    root->error_located = false;
}

const weft_status *weft_graph_error(const weft_graph *graph)
{
    return graph == NULL ? NULL : weft_graph_root(graph)->error;
}

void weft_graph_clear_error(weft_graph *graph)
{
    if (graph == NULL) return;
    weft_graph *root = weft_graph_root(graph);
    weft_status_destroy(root->error);
    root->error = NULL;
}

/* ---- liveness ---- */

void weft_graph_mark(const weft_graph *graph, size_t count, const weft_value *outputs, uint8_t *out_live)
{
    if (graph->node_count > 0) memset(out_live, 0, graph->node_count);
    for (size_t i = 0; i < count; i++) out_live[outputs[i].node] = 1;
    for (size_t n = graph->node_count; n-- > 0;) {
        if (!out_live[n]) continue;
        const weft_node *node = &graph->nodes[n];
        for (size_t i = 0; i < node->input_count; i++) out_live[node->inputs[i].node] = 1;
    }
}
