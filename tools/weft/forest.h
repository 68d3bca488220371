/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_FOREST_H
#define WEFT_TOOLS_FOREST_H
/* The contraction trees of all einsum nodes that the outputs of a graph need, those of its regions too. */
#include "layout.h"
#include "tree.h"

typedef struct weft_forest_item {
    char title[384]; /* name, expression and cost, or why there is no tree */
    weft_einsum_plan *plan;
    weft_tree tree; /* of the plan, if there is one */
} weft_forest_item;

typedef struct weft_forest {
    size_t count, capacity;
    weft_forest_item *items; /* in order of the graph: operands first */
} weft_forest;

/* The graph must outlive the forest. To be finished also on failure. */
weft_status *weft_forest_init(weft_forest *forest, weft_tensors outputs) WEFT_MUST_USE;
void weft_forest_finish(weft_forest *forest);

weft_status *weft_forest_print_text(const weft_forest *forest, FILE *file) WEFT_MUST_USE;
/* Prints tree number `item`, a cluster of a digraph. */
void weft_forest_print_dot(const weft_forest *forest, size_t item, FILE *file);
/* Adds a drawing of each tree. */
weft_status *weft_forest_draw(const weft_forest *forest, weft_dot_layout *layout) WEFT_MUST_USE;
#endif
