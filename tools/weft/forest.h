/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_FOREST_H
#define WEFT_TOOLS_FOREST_H
/* The contraction trees of all einsum nodes that the outputs of a graph need, those of its regions too. */
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
/* Clusters of a digraph. */
void weft_forest_print_dot(const weft_forest *forest, FILE *file);
/* Groups, one below the other from `top` on; text in them has class "title". */
void weft_forest_print_svg(const weft_forest *forest, double top, FILE *file);
double weft_forest_width(const weft_forest *forest);
double weft_forest_height(const weft_forest *forest);
#endif
