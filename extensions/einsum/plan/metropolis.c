/* SPDX-License-Identifier: Apache-2.0 */
#include "metropolis.h"

void einsum_metropolis_init(einsum_metropolis *metropolis)
{
    metropolis->most_volume = metropolis->most_live = INFINITY;
    for (int i = 0; i < EINSUM_QUANTILES; i++) metropolis->logs[i] = -log((i + 0.5) / EINSUM_QUANTILES);
}

void einsum_metropolis_set(einsum_metropolis *metropolis, einsum_tree *tree, double beta)
{
    for (int i = 0; i < EINSUM_QUANTILES; i++) metropolis->factors[i] = exp2(metropolis->logs[i] / beta);
    einsum_tree_lead(tree, pow(2 * beta, -4));
}

/* What their price is multiplied by before and after a rotation. */
static void weigh_excess(const einsum_metropolis *metropolis, const einsum_tree *tree, const einsum_rotation *r,
                         double volume, double *before, double *after)
{
    double old = tree->measures[r->child].volume;
    if (old > metropolis->most_volume) *before *= old / metropolis->most_volume;
    if (volume > metropolis->most_volume) *after *= volume / metropolis->most_volume;
    if (metropolis->most_live == INFINITY) return;
    double kept = einsum_tree_stored(tree, r->kept), lifted = einsum_tree_stored(tree, r->lifted);
    double sibling = einsum_tree_stored(tree, r->sibling), parent = einsum_tree_stored(tree, r->parent);
    double live = old + fmax(kept + lifted, sibling + parent), next = volume + fmax(kept + sibling, lifted + parent);
    if (live > metropolis->most_live) *before *= sqrt(live / metropolis->most_live);
    if (next > metropolis->most_live) *after *= sqrt(next / metropolis->most_live);
}

void einsum_metropolis_sweep(const einsum_metropolis *metropolis, einsum_tree *tree, einsum_random *random,
                             uint64_t moves)
{
    uint32_t choices = tree->leaf_count - 2;
    bool limited = metropolis->most_volume < INFINITY || metropolis->most_live < INFINITY;
    for (uint64_t i = 0; i < moves; i++) {
        uint64_t bits = einsum_random_next(random);
        uint32_t child = tree->leaf_count + (uint32_t)((bits >> 32) * choices >> 32);
        einsum_rotation rotation = einsum_tree_rotation(tree, child, bits & 1);
        einsum_change change = einsum_tree_try(tree, &rotation);
        double before = tree->measures[child].price + tree->measures[rotation.parent].price;
        double after = change.child.price + change.parent_price;
        if (limited) weigh_excess(metropolis, tree, &rotation, change.child.volume, &before, &after);
        if (after > before * metropolis->factors[bits >> 1 & (EINSUM_QUANTILES - 1)]) continue;
        einsum_tree_rotate(tree, &rotation, &change);
    }
}
