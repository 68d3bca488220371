/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_LOWER_INNER_H
#define WEFT_LIB_LOWER_INNER_H
/* Inner axes: those of a value that a kernel reads along the range of one of its own reductions. What is computed for
 * such an axis is needed anew at each step of that reduction, so it is no stage before it. */
#include "lib/graph/graph.h"

/* The inner axes of operand `operand` of `node`, a bit for each, given those of the node. Ops whose axes are not their
 * operands' hand none on: an axis without a bit may be an inner one too. */
uint64_t weft_inner_axes(const weft_graph *graph, const weft_node *node, uint32_t operand, uint64_t inner);
#endif
