/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_LOWER_NUMERICS_H
#define WEFT_LIB_LOWER_NUMERICS_H
/*
 * The choices that affect bits: the order in which a reduction combines, and whether a product goes to the library,
 * which combines in its own order. Both depend only on the graph's own extents and the constants here and in order.h,
 * never on the machine, layouts, threads or specialised extents, so that every variant of a program computes the same
 * bits. The constants are costs of a processor of the year 2020; changing one changes bits.
 */
#include "lib/graph/graph.h"

/* How many elements a shape has at most; INT64_MAX for more. */
int64_t weft_count_bound(const weft_graph *graph, weft_shape shape);

/* A reduction (or a dot done by loops) as loops see it: groups of adjacent reduced axes, each one range. */
typedef struct weft_reduction {
    uint32_t axis_count; /* reduced axes, in the order of weft_space_operand's `reduced` */
    uint32_t group_count;
    uint32_t group_first[WEFT_MAX_RANK]; /* first axis of each group, as a position in that order */
    int64_t axes[WEFT_MAX_RANK];         /* of operand 0 */
    uint32_t lanes;                      /* virtual lanes of the innermost range */
    uint32_t blocks;                     /* of all ranges: weft_range */
    int64_t chunk;                       /* 0, or the reduction is done in partial results of so many elements */
} weft_reduction;

/* Describes reduction node `node`; from the graph's own extents, so that it holds for all variants. */
void weft_reduction_fill(const weft_graph *graph, uint32_t node, weft_reduction *out_reduction);

/* Sums of so few terms are not worth calling the library. */
#define WEFT_PRODUCT_FEW_TERMS 4

/* The sizes of a product at most. */
typedef struct weft_product_size {
    int64_t batch, free, terms;
    int64_t results; /* batch * free */
    bool is_large;   /* has results enough to be worth a kernel */
    bool along;      /* lanes run along what is innermost in B: real numbers one by one */
} weft_product_size;

weft_product_size weft_product_size_of(const weft_graph *graph, const weft_node *dot);
/* Whether the product goes to the library: it has one of the library's dtypes, and is large enough in both
 * directions. */
bool weft_product_is_library(const weft_graph *graph, const weft_node *dot);
#endif
