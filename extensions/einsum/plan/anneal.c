/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Annealing: inner nodes but the root are visited at random, one of the two rotations of each is tried and taken if the
 * two steps it changes together get cheaper, or dearer by a factor that chance allows: 2^(-ln u / beta), u uniform.
 * What is compared is local, so that subtrees of any cost improve at once. Now and then the whole is added up, and the
 * best kept.
 *
 * Two results that must differ by one label leave SIZE and WRITE little to go by: their price has a share of the work
 * too, which fades as it cools.
 */
#include "metropolis.h"
#include "methods.h"
#include <string.h>

enum { MOST_ROUNDS = 256, LEAST_ROUND = 1 << 13, LEAST_SWEEP = 64 };

typedef struct annealing {
    einsum_arena arena;
    einsum_tree tree;
    const einsum_anneal *options;
    einsum_random random;
    einsum_metropolis metropolis;
    einsum_node *best;
    einsum_cost first_cost, best_cost;
    bool stopped;
} annealing;

static void keep_best(annealing *s)
{
    einsum_cost cost = einsum_tree_cost(&s->tree);
    if (!einsum_cost_less(cost, s->best_cost)) return;
    s->best_cost = cost;
    memcpy(s->best, s->tree.nodes, s->tree.node_count * sizeof *s->best);
}

/* At one temperature. */
static void run_round(annealing *s, uint64_t moves, double beta)
{
    einsum_metropolis_set(&s->metropolis, &s->tree, beta);
    uint64_t every = s->tree.leaf_count > LEAST_SWEEP ? s->tree.leaf_count : LEAST_SWEEP;
    for (uint64_t done = 0, chunk; done < moves && !s->stopped; done += chunk) {
        chunk = moves - done < every ? moves - done : every;
        einsum_metropolis_sweep(&s->metropolis, &s->tree, &s->random, chunk);
        keep_best(s);
        s->stopped = einsum_stop_asked(&s->options->stop);
    }
}

/* The round to go on with: `next`, or one later where the time is that far. On a busy machine a thread gets fewer moves
 * than it should, and would end hot. */
static uint64_t skip_rounds(const annealing *s, double begin, uint64_t next, uint64_t rounds)
{
    if (s->options->seconds <= 0) return next;
    double due = (einsum_stop_clock() - begin) / s->options->seconds * (double)rounds;
    return due >= (double)rounds ? rounds - 1 : due > (double)next ? (uint64_t)due : next;
}

static void cool(annealing *s)
{
    const einsum_anneal *options = s->options;
    uint64_t rounds = options->moves / LEAST_ROUND;
    rounds = rounds < 1 ? 1 : rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds;
    double begin = einsum_stop_clock(), ratio = options->last_beta / options->first_beta;
    for (uint64_t i = 0; i < rounds && !s->stopped; i++) {
        i = skip_rounds(s, begin, i, rounds);
        double beta = options->first_beta * (rounds < 2 ? 1 : pow(ratio, (double)i / (double)(rounds - 1)));
        run_round(s, options->moves / rounds + (i < options->moves % rounds), beta);
    }
}

static weft_status *annealing_init(annealing *s, const einsum_core *core, const einsum_score *score)
{
    WEFT_TRY(einsum_tree_init(&s->tree, &s->arena, core, score));
    s->best = einsum_arena_allocate(&s->arena, s->tree.node_count, sizeof *s->best);
    if (s->best == NULL) return weft_status_out_of_memory();
    s->random = s->options->random;
    einsum_metropolis_init(&s->metropolis);
    return NULL;
}

static weft_status *run(annealing *s, const einsum_core *core, const einsum_score *score, einsum_pair *pairs,
                        einsum_cost *out_cost)
{
    WEFT_TRY(einsum_core_cost(&s->arena, core, score, pairs, out_cost));
    if (core->leaf_count < 3) return NULL;
    einsum_pair *found = einsum_arena_allocate(&s->arena, core->leaf_count, sizeof *found);
    if (found == NULL) return weft_status_out_of_memory();
    WEFT_TRY(annealing_init(s, core, score));
    einsum_tree_load(&s->tree, pairs);
    s->best_cost = EINSUM_WORST_COST;
    keep_best(s);
    s->first_cost = s->best_cost;
    cool(s);
    if (s->stopped && !einsum_cost_less(s->best_cost, s->first_cost)) return NULL;
    memcpy(s->tree.nodes, s->best, s->tree.node_count * sizeof *s->best);
    einsum_tree_refresh(&s->tree);
    einsum_tree_save(&s->tree, found);
    einsum_cost cost;
    WEFT_TRY(einsum_core_cost(&s->arena, core, score, found, &cost));
    if (!einsum_cost_less(cost, *out_cost)) return NULL;
    *out_cost = cost;
    memcpy(pairs, found, (core->leaf_count - 1) * sizeof *pairs);
    return NULL;
}

weft_status *einsum_anneal_run(const weft_allocator *allocator, const einsum_core *core, const einsum_score *score,
                               const einsum_anneal *options, einsum_pair *pairs, einsum_cost *out_cost)
{
    annealing s = {.options = options};
    einsum_arena_init(&s.arena, allocator);
    weft_status *status = run(&s, core, score, pairs, out_cost);
    einsum_arena_finish(&s.arena);
    return status;
}
