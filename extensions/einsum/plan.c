/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"
#include "plan/methods.h"
#include "plan/simplify.h"
#include <string.h>

enum {
    WHOLE_LIMIT = 8,       /* so few operands are planned at once, outer products included */
    OUTER_LIMIT = 10,      /* so few leaves of a core, too */
    MOST_STATES = 20000,   /* of the exact method: more than a chain of 100 has */
    MOST_ELIMINATED = 1000 /* leaves of a core whose labels are eliminated */
};

/* ---- one core ---- */

typedef struct trials {
    const weft_allocator *allocator;
    einsum_arena arena;
    const einsum_core *core;
    const einsum_score *score;
    einsum_pair *pairs, *best;
    einsum_cost cost;
} trials;

/* Keeps what stands in `pairs`, if it is better. */
static weft_status *judge(trials *t)
{
    einsum_cost cost;
    WEFT_TRY(einsum_core_cost(&t->arena, t->core, t->score, t->pairs, &cost));
    if (!einsum_cost_less(cost, t->cost)) return NULL;
    t->cost = cost;
    memcpy(t->best, t->pairs, (t->core->leaf_count - 1) * sizeof *t->best);
    return NULL;
}

/* How much a result counts against what it replaces, tried in this order; large networks get fewer tries. */
static weft_status *try_greedy(trials *t)
{
    static const double log2_factors[] = {0, -1, 1, -2, 2, -0.5, 0.5, -3};
    size_t all = sizeof log2_factors / sizeof *log2_factors;
    size_t count = t->core->leaf_count <= 500 ? all : t->core->leaf_count <= 5000 ? 3 : 1;
    for (size_t i = 0; i < count; i++) {
        const einsum_greedy options = {.log2_factor = log2_factors[i]};
        WEFT_TRY(einsum_greedy_run(t->allocator, t->core, &options, t->pairs));
        WEFT_TRY(judge(t));
    }
    return NULL;
}

static weft_status *try_elimination(trials *t)
{
    enum { TIES = 4 };
    for (uint64_t i = 0; i < TIES && t->core->leaf_count <= MOST_ELIMINATED; i++) {
        for (einsum_elimination rule = EINSUM_MIN_DEGREE; rule <= EINSUM_MIN_FILL; rule++) {
            WEFT_TRY(einsum_eliminate_run(t->allocator, t->core, rule, einsum_random_start(0, i), t->pairs));
            WEFT_TRY(judge(t));
        }
    }
    return NULL;
}

static weft_status *find_core(trials *t)
{
    t->pairs = einsum_arena_allocate(&t->arena, t->core->leaf_count, sizeof *t->pairs);
    if (t->pairs == NULL) return weft_status_out_of_memory();
    WEFT_TRY(try_greedy(t));
    return try_elimination(t);
}

static weft_status *run_trials(const weft_allocator *allocator, const einsum_core *core, const einsum_score *score,
                               einsum_pair *out_pairs)
{
    trials t = {.allocator = allocator, .core = core, .score = score, .best = out_pairs, .cost = EINSUM_WORST_COST};
    einsum_arena_init(&t.arena, allocator);
    weft_status *status = find_core(&t);
    einsum_arena_finish(&t.arena);
    return status;
}

/* ---- all cores ---- */

/* `must`: cores that are beyond the exact method get the best of the others. Else `out_found` is false for one. */
static weft_status *find_cores(einsum_arena *arena, const einsum_simple *simple, const einsum_score *score, bool must,
                               einsum_pair **core_pairs, bool *out_found)
{
    *out_found = true;
    for (size_t i = 0; i < simple->core_count && *out_found; i++) {
        const einsum_core *core = &simple->cores[i];
        core_pairs[i] = einsum_arena_allocate(arena, core->leaf_count, sizeof **core_pairs);
        if (core_pairs[i] == NULL) return weft_status_out_of_memory();
        WEFT_TRY(einsum_exact_run(arena->allocator, core, score, core->leaf_count <= OUTER_LIMIT, MOST_STATES,
                                  core_pairs[i], out_found));
        if (*out_found || !must) continue;
        *out_found = true;
        WEFT_TRY(run_trials(arena->allocator, core, score, core_pairs[i]));
    }
    return NULL;
}

static weft_status *find_at(einsum_arena *arena, const einsum_problem *problem, einsum_score score, einsum_depth depth,
                            einsum_pair *out_pairs, bool *out_found)
{
    einsum_simple simple;
    WEFT_TRY(einsum_simplify_run(arena, problem, depth, &simple));
    score.log2_slowness += simple.log2_common;
    score.log2_bytes += simple.log2_common;
    einsum_pair **core_pairs = einsum_arena_allocate(arena, simple.core_count, sizeof(einsum_pair *));
    if (core_pairs == NULL) return weft_status_out_of_memory();
    WEFT_TRY(find_cores(arena, &simple, &score, depth == EINSUM_DEPTH_FULL, core_pairs, out_found));
    if (!*out_found) return NULL;
    return einsum_simplify_join(arena, problem, &simple, (const einsum_pair *const *)core_pairs, out_pairs);
}

weft_status *einsum_plan_find(einsum_arena *arena, const einsum_problem *problem, const einsum_planner *planner,
                              weft_dtype dtype, einsum_pair *out_pairs)
{
    if (problem->operand_count <= 2) {
        einsum_order_left(problem->operand_count, out_pairs);
        return NULL;
    }
    einsum_score score = einsum_planner_score(planner, planner->minimize, dtype);
    einsum_depth depth = problem->operand_count <= WHOLE_LIMIT ? EINSUM_DEPTH_WHOLE : EINSUM_DEPTH_SAFE;
    bool found;
    WEFT_TRY(find_at(arena, problem, score, depth, out_pairs, &found));
    return found ? NULL : find_at(arena, problem, score, EINSUM_DEPTH_FULL, out_pairs, &found);
}
