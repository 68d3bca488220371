/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_PASS_USES_H
#define WEFT_LIB_PASS_USES_H
/* How often the nodes of a graph, and of those of its regions, are operands or outputs, before a pass changes them. */
#include "lib/pass/rewrite.h"

/* Of one graph. */
typedef struct weft_usage {
    const weft_graph *graph;
    size_t node_count;
    uint32_t *uses;
    uint8_t *ordered; /* whether the node is permuted for an op of which weft_op_adds_as_it_lies says so */
    struct weft_usage *next;
} weft_usage;

typedef struct weft_usages {
    weft_arena arena;
    weft_usage *first;
} weft_usages;

/* To be finished even where it fails. */
weft_status *weft_usages_fill(weft_usages *usages, const weft_graph *graph, size_t count,
                              const weft_value *outputs) WEFT_MUST_USE;
void weft_usages_finish(weft_usages *usages);
/* Whether the node was there, and is an operand once, or an output. */
bool weft_usages_is_read_once(const weft_usages *usages, const weft_graph *graph, uint32_t node);

/* Whether something adds up in an order that depends on how the node is permuted for it. */
bool weft_usages_is_ordered(const weft_usages *usages, const weft_graph *graph, uint32_t node);
/* A dot of which an operand has few rows: by extents (lib/loop/order.h). */
typedef struct weft_few_rows {
    size_t matrix; /* the other operand */
    bool in_lanes; /* terms are added up in lanes where both operands lie along them */
    bool may_copy; /* or only the matrix, beside which a copy of the few rows is little */
} weft_few_rows;
weft_few_rows weft_dot_few_rows(const weft_graph *graph, const weft_node *dot);
/* Whether the node's order of additions, or products, is by a permute of its operands: scans, and products with few
 * rows or columns (lib/lower/numerics.c). */
bool weft_op_adds_as_it_lies(const weft_graph *graph, const weft_node *node);

/* Whether the graph has a node of this op, also in regions. */
bool weft_graph_has(const weft_graph *graph, weft_op_id op);
#endif
