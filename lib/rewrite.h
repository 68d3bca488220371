/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_REWRITE_H
#define WEFT_LIB_REWRITE_H
/*
 * The way every graph pass works: nodes that the outputs need are visited in order; a rule may replace a node by other values of the same types,
 * traced into the same graph; whatever it leaves alone is made again over the new operands. Old nodes stay behind, unreachable.
 */
#include "lib/graph.h"
#include <weft/program.h>

/* What a rule sees: the node with operands already rewritten. */
typedef struct weft_rewrite_site {
    weft_graph *graph;
    const weft_node *node;     /* the old node, for op and attributes */
    weft_tensors inputs;       /* new operands */
    void *context;
} weft_rewrite_site;

/* Fills out_values (one for each output of the node) and sets *out_replaced, or leaves it false. */
typedef weft_status *(*weft_rewrite_rule)(const weft_rewrite_site *site, weft_tensor *out_values, bool *out_replaced);

weft_status *weft_rewrite_run(weft_graph *graph, size_t count, weft_value *outputs, weft_rewrite_rule rule,
                              void *context) WEFT_MUST_USE;

/* A pass: rewrites `outputs` in place. */
typedef struct weft_pass {
    const char *name;
    weft_status *(*run)(weft_graph *graph, const weft_policy *policy, size_t count, weft_value *outputs);
} weft_pass;

/* The passes, expanded from pass/pass.def in the order of the standard pipeline; *out_count of them. */
const weft_pass *weft_pass_table(size_t *out_count);
/* Runs the passes `policy` names; verifies after each in debug builds. */
weft_status *weft_passes_run(weft_graph *graph, const weft_policy *policy, size_t count, weft_value *outputs) WEFT_MUST_USE;
#endif
