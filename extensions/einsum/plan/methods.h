/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_PLAN_METHODS_H
#define EINSUM_PLAN_METHODS_H
/*
 * The methods: each takes a core and gives an order, `out_pairs` with room for leaf_count - 1. The same arguments give
 * the same order. Memory a method needs comes from an arena of its own. Any of them may be run by several threads at
 * once.
 */
#include "core.h"
#include "random.h"
#include "stop.h"

/*
 * Exact: the best order there is, by dynamic programming over connected sets of leaves, pruned by the cost of an order
 * that is nearly as good; outer products are tried where `outer` asks for it, else there are some only if that order
 * has them and is better than the best without. Gives up (out_found false) beyond `most_states` table entries or
 * 64 times as many pairs of them, at once where a chain of as many leaves would need more, and when `stop` (NULL:
 * never) asks for it. Of orders with the same largest result, SIZE gets one with few multiplications.
 */
weft_status *einsum_exact_run(const weft_allocator *allocator, const einsum_core *core, const einsum_score *score,
                              bool outer, size_t most_states, const einsum_stop *stop, einsum_pair *out_pairs,
                              bool *out_found) WEFT_MUST_USE;

/*
 * Greedy: joins the neighbours whose score size(result) / factor - (size(a) + size(b)) * factor is least, each score
 * with Gumbel noise of size `temperature` (0: none).
 */
typedef struct einsum_greedy {
    double log2_factor, temperature;
    einsum_random random;
} einsum_greedy;

weft_status *einsum_greedy_run(const weft_allocator *allocator, const einsum_core *core, const einsum_greedy *options,
                               einsum_pair *out_pairs) WEFT_MUST_USE;

/* Elimination of labels one after the other, the next by a rule; ties are broken at random. `out_ended` says whether
 * `stop` (NULL: never) ended it: then the order is still valid, but not worth using. */
typedef enum einsum_elimination { EINSUM_MIN_DEGREE, EINSUM_MIN_FILL } einsum_elimination;

weft_status *einsum_eliminate_run(const weft_allocator *allocator, const einsum_core *core, einsum_elimination rule,
                                  einsum_random random, const einsum_stop *stop, einsum_pair *out_pairs,
                                  bool *out_ended) WEFT_MUST_USE;

/* A sweep from a random leaf, in one of some manners: one value takes in all others. It ends as an elimination does. */
enum { EINSUM_SWEEP_MANNERS = 4 };
weft_status *einsum_sweep_run(const weft_allocator *allocator, const einsum_core *core, uint32_t manner,
                              einsum_random random, const einsum_stop *stop, einsum_pair *out_pairs,
                              bool *out_ended) WEFT_MUST_USE;

/*
 * Recursive bisection of the hypergraph of leaves and labels. A leaf weighs 1, and 2 for each bit of what it shares
 * with leaves outside of the part that is cut; the halves may weigh (1 + imbalance) / 2 of it.
 */
weft_status *einsum_bisect_run(const weft_allocator *allocator, const einsum_core *core, double imbalance,
                               einsum_random random, einsum_pair *out_pairs) WEFT_MUST_USE;

/*
 * Annealing over trees: rotations of three neighbouring subtrees, accepted by the change of the logarithm of their cost
 * at a temperature that falls. `pairs` is where it starts, and becomes the best order seen, never a worse one.
 */
typedef struct einsum_anneal {
    uint64_t moves;               /* how many are tried */
    double first_beta, last_beta; /* inverse temperatures, passed in a geometric sequence */
    einsum_random random;
    einsum_stop stop;
    double seconds; /* above 0: after so many it is as cold as after all moves, however few were tried */
} einsum_anneal;

weft_status *einsum_anneal_run(const weft_allocator *allocator, const einsum_core *core, const einsum_score *score,
                               const einsum_anneal *options, einsum_pair *pairs, einsum_cost *out_cost) WEFT_MUST_USE;

/* Replaces subtrees of up to `leaves` (at most 16) parts by their best order until none gets better. */
weft_status *einsum_reconfigure_run(const weft_allocator *allocator, const einsum_core *core, const einsum_score *score,
                                    uint32_t leaves, const einsum_stop *stop, einsum_pair *pairs) WEFT_MUST_USE;
#endif
