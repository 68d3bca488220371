/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_TRACE_CAPTURE_H
#define WEFT_LIB_TRACE_CAPTURE_H
/*
 * A body is traced into a graph of its own, which is root->current during that time. An outer tensor that it uses is
 * captured: it becomes one more operand of the node, and a parameter of the region. All regions of one op have the same
 * parameters, so they share the list; what only one of them uses is an unused parameter of the other.
 */
#include "lib/graph/graph.h"

typedef struct weft_capture {
    weft_tensor outer;    /* of the graph around */
    weft_tensor inner[2]; /* of each region; without a graph where it does not use it */
    struct weft_capture *next;
} weft_capture;

typedef struct weft_captures {
    weft_arena *arena;
    weft_capture *first, **last;
    size_t count;
} weft_captures;

/* An input of `body`; the second is called `prefix` and `number`, and has the type of `like`. */
weft_tensor weft_region_add_parameter(weft_graph *body, const char *name, weft_dtype dtype, weft_shape shape);
weft_tensor weft_region_add_numbered(weft_graph *body, const char *prefix, size_t number, weft_tensor like);
#endif
