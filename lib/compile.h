/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_COMPILE_H
#define WEFT_LIB_COMPILE_H
/* What program->graph points to: the optimised graph, which only compilers read. */
#include "lib/graph.h"

typedef struct weft_compiled {
    weft_graph *graph;
    size_t output_count;
    weft_value *outputs; /* in the program's order */
    uint32_t *inputs;    /* input i of the program is node inputs[i], an `input` node; as many as the program has */
} weft_compiled;
#endif
