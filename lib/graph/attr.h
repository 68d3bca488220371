/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_GRAPH_ATTR_H
#define WEFT_LIB_GRAPH_ATTR_H
/* Attributes and regions as parts of nodes: checked, encoded into keys, copied into the graph. */
#include "lib/graph/graph.h"

/* Checks `attrs` against the schema of `op`, and that extents and regions belong to `graph`. */
weft_status *weft_attrs_check(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs) WEFT_MUST_USE;
/* Refuses bytes other than 0 and 1 in data that are bools: those after a dtype attribute that says so. Reads all such
 * data, and so is for those that enter from outside. Other faults of `attrs` are left to weft_attrs_check. */
weft_status *weft_attrs_check_bools(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs) WEFT_MUST_USE;
/* Replaces checked attributes by ones whose large data are blobs of the graph, if they are not that already. */
weft_status *weft_attrs_intern_data(weft_graph *graph, const weft_op_def *op, const weft_attr **attrs) WEFT_MUST_USE;
/*
 * Appends an encoding of what the node would compute; equal encodings mean equal nodes. `inputs` are encoded as they
 * are. Large data must be blobs of the graph. Regions are encoded by content, so that neither the names of their
 * parameters nor their graphs matter.
 */
weft_status *weft_node_encode(weft_graph *graph, const weft_op_def *op, size_t input_count, const weft_value *inputs,
                              const weft_attr *attrs, weft_bytes *out_key) WEFT_MUST_USE;
/* A copy of checked attributes, with their data in place, in the graph's arena; NULL when out of memory. */
const weft_attr *weft_attrs_copy(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs);
#endif
