/* SPDX-License-Identifier: Apache-2.0 */
#include "heat.h"

void einsum_heat_init(einsum_heat *heat)
{
    heat->most_volume = INFINITY;
    for (int i = 0; i < EINSUM_QUANTILES; i++) heat->logs[i] = -log((i + 0.5) / EINSUM_QUANTILES);
}

void einsum_heat_set(einsum_heat *heat, einsum_tree *tree, double beta)
{
    for (int i = 0; i < EINSUM_QUANTILES; i++) heat->factors[i] = exp2(heat->logs[i] / beta);
    einsum_tree_lead(tree, pow(2 * beta, -4));
}

void einsum_heat_sweep(const einsum_heat *heat, einsum_tree *tree, einsum_random *random, uint64_t moves)
{
    uint32_t choices = tree->leaf_count - 2;
    for (uint64_t i = 0; i < moves; i++) {
        uint64_t bits = einsum_random_next(random);
        uint32_t child = tree->leaf_count + (uint32_t)((bits >> 32) * choices >> 32);
        einsum_rotation rotation = einsum_tree_rotation(tree, child, bits & 1);
        einsum_change change = einsum_tree_try(tree, &rotation);
        const einsum_measure *old = &tree->measures[child];
        double before = old->price + tree->measures[rotation.parent].price;
        if (change.child.price + change.parent_price > before * heat->factors[bits >> 1 & (EINSUM_QUANTILES - 1)])
            continue;
        if (change.child.volume > heat->most_volume && change.child.volume > old->volume) continue;
        einsum_tree_rotate(tree, &rotation, &change);
    }
}
