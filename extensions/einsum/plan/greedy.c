/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Candidates wait in a heap and keep the score they came in with. Their scores and noise are those of the greedy method
 * of Gray and Kourtis, "Hyper-optimized tensor network contraction" (2021).
 */
#include "heap.h"
#include "live.h"
#include "methods.h"
#include <math.h>

/* Of the values that share one label, this many are paired with a new one: a label of thousands must not make millions
 * of pairs. */
enum { MOST_PARTNERS = 32 };

typedef struct greedy {
    einsum_live live;
    einsum_heap heap;
    einsum_greedy options;
} greedy;

/*
 * A number that orders like 2^x - 2^y, which itself may be too large to hold: its logarithm with its sign, and the
 * difference itself where that is below 1.
 */
static double difference(double x, double y)
{
    static const double ln2 = 0.69314718055994530942;
    double high = x > y ? x : y, gap = fabs(x - y);
    if (gap == 0) return 0;
    double magnitude = gap > 60 ? high : high + log2(-expm1(-gap * ln2));
    magnitude = magnitude > 0 ? magnitude + 1 : exp2(magnitude);
    return x > y ? magnitude : -magnitude;
}

static double noise(greedy *g)
{
    if (!(g->options.temperature > 0)) return 0;
    double u = einsum_random_unit(&g->options.random) + 0x1p-54;
    return -log(-log(u)) * g->options.temperature;
}

static bool propose(greedy *g, uint32_t value, einsum_near near)
{
    double a = g->live.values[value].size, b = g->live.values[near.value].size;
    double result = a + b - near.shared - near.summed;
    double replaced = fabs(a - b) > 60 ? fmax(a, b) : einsum_log2_add(a, b);
    double score = difference(result - g->options.log2_factor, replaced + g->options.log2_factor) - noise(g);
    uint32_t low = value < near.value ? value : near.value, high = value < near.value ? near.value : value;
    return einsum_heap_push(&g->heap, (einsum_candidate){score, low, high});
}

/* Proposes `value` to those entered before, and enters it. */
static bool enter(greedy *g, uint32_t value)
{
    einsum_live_look(&g->live, value, MOST_PARTNERS);
    for (size_t k = 0; k < g->live.near_count; k++)
        if (!propose(g, value, g->live.near[k])) return false;
    einsum_live_enter(&g->live, value);
    return true;
}

static bool join_candidates(greedy *g)
{
    while (g->heap.size > 0) {
        einsum_candidate next = einsum_heap_pop(&g->heap);
        if (g->live.values[next.a].gone || g->live.values[next.b].gone) continue;
        if (!einsum_live_join(&g->live, next.a, next.b) || !enter(g, einsum_live_latest(&g->live))) return false;
    }
    return true;
}

/* Neighbours that were not among the latest partners when they met. */
static bool propose_again(greedy *g)
{
    for (uint32_t v = 0; v < g->live.value_count; v++) {
        if (g->live.values[v].gone) continue;
        einsum_live_look(&g->live, v, MOST_PARTNERS);
        for (size_t k = 0; k < g->live.near_count; k++)
            if (g->live.near[k].value > v && !propose(g, v, g->live.near[k])) return false;
    }
    return true;
}

static bool run(greedy *g, einsum_arena *arena, const einsum_core *core, einsum_pair *out_pairs)
{
    if (!einsum_live_init_core(&g->live, arena, core, out_pairs)) return false;
    for (uint32_t leaf = 0; leaf < core->leaf_count; leaf++)
        if (!enter(g, leaf)) return false;
    do {
        if (!join_candidates(g) || !propose_again(g)) return false;
    } while (g->heap.size > 0);
    return einsum_live_join_rest(&g->live);
}

weft_status *einsum_greedy_run(const weft_allocator *allocator, const einsum_core *core, const einsum_greedy *options,
                               einsum_pair *out_pairs)
{
    einsum_arena arena;
    einsum_arena_init(&arena, allocator);
    greedy g = {.heap = {.arena = &arena}, .options = *options};
    bool well = run(&g, &arena, core, out_pairs);
    einsum_arena_finish(&arena);
    return well ? NULL : weft_status_out_of_memory();
}
