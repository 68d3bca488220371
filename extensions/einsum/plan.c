/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"
#include <math.h>
#include <string.h>

/* How much a result counts against what it replaces, tried in this order; large networks get fewer tries. */
static const double cost_factors[] = {1.0, 0.5, 2.0, 0.25, 4.0, 0.7, 1.4, 0.1};

static size_t trial_count(const einsum_problem *problem)
{
    size_t all = sizeof cost_factors / sizeof *cost_factors;
    return problem->operand_count <= 500 ? all : problem->operand_count <= 5000 ? 3 : 1;
}

static weft_status *find_greedy(einsum_arena *arena, const einsum_problem *problem, weft_einsum_minimize minimize,
                                einsum_pair *out_pairs)
{
    size_t count = problem->operand_count - 1;
    einsum_pair *pairs = einsum_arena_allocate(arena, count, sizeof *pairs);
    if (pairs == NULL) return weft_status_out_of_memory();
    einsum_totals best = {INFINITY, INFINITY};
    for (size_t i = 0; i < trial_count(problem); i++) {
        einsum_totals cost;
        WEFT_TRY(einsum_plan_greedy(arena, problem, cost_factors[i], pairs, &cost));
        if (!einsum_totals_less(cost, best, minimize)) continue;
        best = cost;
        memcpy(out_pairs, pairs, count * sizeof *pairs);
    }
    return NULL;
}

weft_status *einsum_plan_find(einsum_arena *arena, const einsum_problem *problem, const einsum_planner *planner,
                              weft_dtype dtype, einsum_pair *out_pairs)
{
    weft_einsum_minimize minimize = planner->minimize;
    (void)dtype;
    if (problem->operand_count <= 2) {
        einsum_order_left(problem->operand_count, out_pairs);
        return NULL;
    }
    if (problem->operand_count <= EINSUM_EXACT_LIMIT) return einsum_plan_exact(arena, problem, minimize, out_pairs);
    return find_greedy(arena, problem, minimize, out_pairs);
}
