/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_PLAN_HYPERGRAPH_H
#define EINSUM_PLAN_HYPERGRAPH_H
/* Hypergraphs, and cutting them in two. */
#include "../memory.h"
#include "random.h"

typedef struct einsum_hypergraph {
    uint32_t vertex_count, net_count;
    uint32_t *weights;    /* by vertex */
    double *net_weights;  /* above 0 */
    uint32_t *pin_starts; /* by net: where its vertices begin in `pins`; one more at the end */
    uint32_t *pins;
} einsum_hypergraph;

/*
 * Puts each vertex on side 0 or 1, so that nets with vertices on both have little weight. The weight of a side is at
 * most (1 + imbalance) / 2 of all where vertices are light enough; neither is empty where there are two vertices. False
 * when out of memory, which is the arena's.
 */
bool einsum_hypergraph_cut(einsum_arena *arena, const einsum_hypergraph *graph, double imbalance, einsum_random *random,
                           uint8_t *out_sides);
#endif
