/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_PLAN_METROPOLIS_H
#define EINSUM_PLAN_METROPOLIS_H
/* Annealing moves on a tree at one temperature. */
#include "random.h"
#include "tree.h"

enum { EINSUM_QUANTILES = 1024 };

typedef struct einsum_metropolis {
    double logs[EINSUM_QUANTILES];    /* -ln u, of quantiles of a uniform u */
    double factors[EINSUM_QUANTILES]; /* by which two steps may get dearer then: 2^(-ln u / beta) */
    /* Beyond these the two steps of a rotation count as dearer: volume of the result between them, in proportion; of
     * results in memory in one of them, which are its operands that are no leaves and itself if not the last, by its
     * square root. */
    double most_volume, most_live;
} einsum_metropolis;

void einsum_metropolis_init(einsum_metropolis *metropolis);
/* Also lets SIZE and WRITE of the tree count less of the work, the colder it is. */
void einsum_metropolis_set(einsum_metropolis *metropolis, einsum_tree *tree, double beta);
/* Tries rotations of a tree with at least 3 leaves. */
void einsum_metropolis_sweep(const einsum_metropolis *metropolis, einsum_tree *tree, einsum_random *random,
                             uint64_t moves);
#endif
