/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_LOWER_CHAINS_H
#define WEFT_LIB_LOWER_CHAINS_H
/* Chains of ops whose work in one kernel would grow with their product: concats of concats, reshapes of reshapes, sums
 * of sheared rows. */
#include "lib/graph/graph.h"

/* Whether a reshape only adds and removes extents of one. */
bool weft_reshape_keeps_axes(const weft_graph *graph, const weft_node *node);
/* Sets `materialized`, which has a byte for each node, for values that must have memory so that no chain is too long.
 * `live` has a byte for each node too, and so has `room`, all of them 0. */
void weft_chains_cut(const weft_graph *graph, const uint8_t *live, uint8_t *materialized, uint8_t *room);
#endif
