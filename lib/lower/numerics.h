/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_LOWER_NUMERICS_H
#define WEFT_LIB_LOWER_NUMERICS_H
/*
 * The choices that affect bits: the order in which a reduction combines. It depends only on the graph, its own extents
 * and the constants here and in order.h, never on the machine, layouts, threads or specialised extents, so that every
 * variant of a program computes the same bits.
 */
#include "lib/lower/space.h"

/* How many elements a shape has at most; INT64_MAX for more. */
int64_t weft_count_bound(weft_space *space, weft_shape shape);

/* A reduction (or a dot done by loops) as loops see it: groups of adjacent reduced axes, each one range. */
typedef struct weft_reduction {
    uint32_t axis_count; /* reduced axes, in the order of weft_space_operand's `reduced` */
    uint32_t group_count;
    uint32_t group_first[WEFT_MAX_RANK]; /* first axis of each group, as a position in that order */
    int64_t axes[WEFT_MAX_RANK];         /* of operand 0 */
    uint32_t lanes;                      /* virtual lanes of the innermost range */
    bool scans;                          /* they are those of a scan */
    uint32_t blocks;                     /* of all ranges: weft_range */
    int64_t chunk;                       /* 0, or the reduction is done in partial results of so many elements */
} weft_reduction;

/* Describes reduction node `node`; from the graph's own extents, so that it holds for all variants. */
void weft_reduction_fill(const weft_graph *graph, uint32_t node, weft_reduction *out_reduction);

/* The same of a scan, whose axis is its only group. */
void weft_scan_fill(const weft_graph *graph, const weft_node *scan, weft_reduction *out_order);

/* An upper bound of a product, saturating. */
int64_t weft_multiply_bound(int64_t a, int64_t b);
bool weft_dot_is_free(const weft_node *dot, size_t operand, size_t axis);
bool weft_dot_is_contracted(const weft_node *dot, size_t operand, size_t axis);
/* Whether the free axes of an operand of a dot are all known to have one element. */
bool weft_dot_has_one_row(weft_space *space, const weft_node *dot, size_t operand);
/* The axis of a value along which it lies innermost in memory, if it is read from there or permuted from there;
 * SIZE_MAX: it has one element. */
size_t weft_innermost_axis(weft_space *space, weft_value value);
#endif
