/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/trace/capture.h"
#include <stdio.h>
#include <string.h>
#include "lib/trace/trace.h"

weft_tensor weft_region_add_parameter(weft_graph *body, const char *name, weft_dtype dtype, weft_shape shape)
{
    weft_attr attrs[] = {{.data = name, .size = strlen(name)}, {.integer = dtype}, {.extents = shape}};
    return (weft_tensor){body, weft_graph_add(body, &weft_op_table()[WEFT_OP_input], 0, NULL, attrs), 0};
}

weft_tensor weft_region_add_numbered(weft_graph *body, const char *prefix, size_t number, weft_tensor like)
{
    char name[48];
    snprintf(name, sizeof name, "%s%zu", prefix, number);
    return weft_region_add_parameter(body, name, weft_tensor_dtype(like), weft_tensor_shape(like));
}

/* The entry of a tensor of an enclosing graph; NULL when out of memory. */
static weft_capture *find_capture(weft_captures *captures, weft_tensor outer)
{
    for (weft_capture *known = captures->first; known != NULL; known = known->next)
        if (known->outer.node == outer.node && known->outer.output == outer.output) return known;
    weft_capture *made = weft_arena_allocate(captures->arena, sizeof *made);
    if (made == NULL) return NULL;
    *made = (weft_capture){.outer = outer};
    *captures->last = made;
    captures->last = &made->next;
    captures->count++;
    return made;
}

static size_t number_of(const weft_captures *captures, const weft_capture *wanted)
{
    size_t number = 0;
    for (const weft_capture *at = captures->first; at != wanted; at = at->next) number++;
    return number;
}

static weft_tensor capture(weft_graph *body, weft_tensor outer)
{
    weft_capture *found = find_capture(body->captures, outer);
    if (found == NULL) return weft_trace_error(body, weft_status_out_of_memory());
    weft_tensor *inner = &found->inner[body->part];
    if (inner->graph == NULL)
        *inner = weft_region_add_numbered(body, "captured", number_of(body->captures, found), outer);
    return *inner;
}

const char *weft_tensor_enter(weft_graph *graph, weft_tensor *tensor)
{
    static const char gone[] = "was made in the body of a region and is known only there";
    if (tensor->graph == NULL) return "is not a tensor of a graph";
    if (tensor->graph == graph) return graph->sealed ? gone : NULL;
    if (graph->captures == NULL)
        return weft_graph_root(tensor->graph) == weft_graph_root(graph) ? gone : "belongs to another graph";
    weft_tensor outer = *tensor;
    const char *fault = weft_tensor_enter(graph->parent, &outer);
    if (fault == NULL) *tensor = weft_tensor_is_valid(outer) ? capture(graph, outer) : weft_tensor_failed(graph);
    return fault;
}
