/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_PASS_REWRITE_H
#define WEFT_LIB_PASS_REWRITE_H
/*
 * The way every graph pass works: nodes that the outputs need are visited in order; a rule may replace a node by other
 * values of the same types, traced into the same graph; nodes it leaves alone are rebuilt over the new operands. Old
 * nodes stay behind, unreachable.
 */
#include "lib/graph/graph.h"
#include <weft/program.h>

/* What a rule sees: the node with operands already rewritten. */
typedef struct weft_rewrite_site {
    weft_graph *graph;
    const weft_node *node; /* the old node, for op and attributes */
    weft_tensors inputs;   /* new operands */
    void *context;
} weft_rewrite_site;

/* Fills out_values (one for each output of the node) and sets *out_replaced, or leaves it false. */
typedef weft_status *(*weft_rewrite_rule)(const weft_rewrite_site *site, weft_tensor *out_values, bool *out_replaced);

/*
 * One sweep. A rule is tried again on what it made. Regions are swept too, each as a graph of its own. A replacement
 * whose extents equal the node's only through a guard is dropped; one of another dtype or rank is WEFT_INTERNAL. The
 * guards of what is not taken are dropped too.
 */
weft_status *weft_rewrite_run(weft_graph *graph, size_t count, weft_value *outputs, weft_rewrite_rule rule,
                              void *context) WEFT_MUST_USE;
/* One sweep that puts nodes in the place of others with fewer outputs of the same types: `find` is called for each
 * graph, and may set out_instead[n], which is n before, for a live node n. What stands for a node must not depend on
 * it. */
typedef weft_status *(*weft_rewrite_finder)(weft_graph *graph, const uint8_t *live, uint32_t *out_instead);
weft_status *weft_rewrite_merge(weft_graph *graph, size_t count, weft_value *outputs,
                                weft_rewrite_finder find) WEFT_MUST_USE;
/* Sweeps until nothing changes, `most_sweeps` times at most; *out_settled says whether that was reached. */
weft_status *weft_rewrite_settle(weft_graph *graph, size_t count, weft_value *outputs, weft_rewrite_rule rule,
                                 void *context, size_t most_sweeps, bool *out_settled) WEFT_MUST_USE;

/* Rules as data: a row gives the value that replaces the node, or one without a graph to leave it alone. For ops with
 * one output. */
typedef struct weft_rewrite_row {
    weft_op_id op;
    weft_tensor (*rewrite)(const weft_rewrite_site *site);
} weft_rewrite_row;

typedef struct weft_rewrite_table {
    size_t count;
    const weft_rewrite_row *rows;
} weft_rewrite_table;

/* The rule that tries the rows for the node's op in order; its context is a weft_rewrite_table. */
weft_status *weft_rewrite_by_table(const weft_rewrite_site *site, weft_tensor *out_values,
                                   bool *out_replaced) WEFT_MUST_USE;

/* Runs the passes `policy` names; verifies after each in debug builds. */
weft_status *weft_passes_run(weft_graph *graph, const weft_policy *policy, size_t count,
                             weft_value *outputs) WEFT_MUST_USE;
#endif
