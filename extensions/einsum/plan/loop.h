/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_PLAN_LOOP_H
#define EINSUM_PLAN_LOOP_H
/*
 * A tree with sliced labels. The loop covers the subtree of the lowest node above all leaves with a sliced label (the
 * root if the output has one). An iteration runs the nodes in it that have such a leaf below them; other subtrees there
 * are computed before the first iteration and kept. Each iteration adds its part to the result of the top node, which
 * has all its labels.
 */
#include "tree.h"

typedef struct einsum_loop {
    einsum_tree tree;
    uint64_t *sliced; /* as the core has labels */
    double log2_iterations;
    /* Since einsum_loop_update: */
    uint32_t *counts;  /* by node: leaves under it that have a sliced label */
    uint32_t last;     /* the node that the loop makes; 0: there is no loop */
    double log2_whole; /* by how much its result is larger than the tree has it */
    bool placed;       /* each iteration has a place of its own in the output: nothing is added up */
} einsum_loop;

/* Plain numbers are 2^-shift of what they stand for. */
typedef struct einsum_loop_cost {
    double slice;      /* the sum that is minimised, of one iteration; of all if there is no loop; of SIZE the work */
    double log2_total; /* of the whole */
    double log2_size;  /* of the largest result */
} einsum_loop_cost;

weft_status *einsum_loop_init(einsum_loop *loop, einsum_arena *arena, const einsum_core *core,
                              const einsum_score *score) WEFT_MUST_USE;

static inline bool einsum_loop_slices(const einsum_loop *loop, uint32_t label)
{
    return loop->sliced[label / 64] >> label % 64 & 1;
}

/* Slices a label, or no longer. */
void einsum_loop_slice(einsum_loop *loop, uint32_t label, bool sliced);
/* Fills what depends on the shape of the tree. */
void einsum_loop_update(einsum_loop *loop);

/* What follows needs einsum_loop_update. */

/* The node is made after the loop. */
static inline bool einsum_loop_follows(const einsum_loop *loop, uint32_t node)
{
    return loop->last > 0 && loop->last + 1 < loop->tree.node_count && node != loop->last &&
           loop->counts[node] == loop->counts[loop->last];
}

/* The node is made in each iteration. */
static inline bool einsum_loop_holds(const einsum_loop *loop, uint32_t node)
{
    return loop->counts[node] > 0 && !einsum_loop_follows(loop, node);
}

/* log2 of the elements of a result. */
static inline double einsum_loop_size(const einsum_loop *loop, uint32_t node)
{
    return loop->tree.measures[node].size + (node == loop->last ? loop->log2_whole : 0);
}

/* Elements that a value takes in memory: as einsum_tree_stored has it, except for the products of an elementwise chain,
 * and for what adds up a widened result. */
double einsum_loop_stored(const einsum_loop *loop, uint32_t node);
/* Elements that an iteration's share of what the loop adds up takes in memory. */
double einsum_loop_part(const einsum_loop *loop);
einsum_loop_cost einsum_loop_measure(const einsum_loop *loop);
/* Log2 of the most elements of results live at once: those of an iteration, the one of the loop, those kept for it or
 * for after it; that of all is left out. Children are put in the order that makes it low. */
double einsum_loop_peak(einsum_loop *loop);
/* To an order, as einsum_loop_peak leaves it. */
void einsum_loop_save(einsum_loop *loop, einsum_pair *out_pairs);
#endif
