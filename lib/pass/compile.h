/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_PASS_COMPILE_H
#define WEFT_LIB_PASS_COMPILE_H
/* What program->graph points to: the optimised graph, which only compilers read. */
#include "lib/graph/graph.h"

typedef struct weft_compiled {
    weft_graph *graph;
    size_t output_count;
    weft_value *outputs; /* in the program's order */
    uint32_t *inputs;    /* input i of the program is node inputs[i], an `input` node; as many as the program has */
} weft_compiled;

/* A region in the form of a compiled graph, in memory of `arena`. */
weft_status *weft_compiled_open(const weft_region *region, weft_arena *arena, weft_compiled *out_body) WEFT_MUST_USE;
#endif
