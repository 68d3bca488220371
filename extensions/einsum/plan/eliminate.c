/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels are eliminated from the graph that has an edge between any two labels of one value: a step contracts all
 * values with the label, whose neighbours so become those of one value. Labels of the output stay. The rules are those
 * for sparse matrices and graphical models (Tinney and Walker 1967; Rose 1972), with the logarithms of extents as
 * weights.
 */
#include "heap.h"
#include "live.h"
#include "methods.h"
#include <math.h>
#include <string.h>

typedef struct elimination {
    const einsum_core *core;
    einsum_elimination rule;
    einsum_random random;
    const einsum_stop *stop;
    bool ended; /* by it */
    einsum_live live;
    einsum_heap labels, values; /* the latter: of one label, by size */
    uint64_t *near;             /* by label: those it has an edge to */
    uint64_t *around, *touched; /* by the label eliminated: its neighbours, labels whose fill has changed */
    uint64_t *none;             /* no label */
    double *weights;            /* by label: log2 of its extent, in few bits, so that sums and products are exact */
    double *scores;             /* by label: the latest; entries of the heap with another one are stale */
} elimination;

static uint64_t *near_of(const elimination *e, uint32_t label)
{
    return e->near + (size_t)label * e->core->words;
}

static bool set_has(const uint64_t *set, uint32_t label)
{
    return set[label / 64] >> label % 64 & 1;
}

static void set_add(uint64_t *set, uint32_t label)
{
    set[label / 64] |= UINT64_C(1) << label % 64;
}

/* ---- rules ---- */

/* The weights of `set` that `without` lacks. */
static double weight_without(const elimination *e, const uint64_t *set, const uint64_t *without)
{
    double weight = 0;
    for (uint32_t w = 0; w < e->core->words; w++)
        for (uint64_t bits = set[w] & ~without[w]; bits != 0; bits &= bits - 1)
            weight += e->weights[64 * w + (uint32_t)__builtin_ctzll(bits)];
    return weight;
}

/* What `label` adds to the fill of `other`, its neighbour: the edges that it lacks to the other's neighbours. */
static double fill_between(const elimination *e, uint32_t label, uint32_t other)
{
    double missing = weight_without(e, near_of(e, other), near_of(e, label)) - e->weights[label];
    return e->weights[label] * missing;
}

/* The weights of the edges that eliminating `label` would add: each is that of its labels, multiplied. */
static double fill_of(const elimination *e, uint32_t label)
{
    const uint64_t *near = near_of(e, label);
    double fill = 0;
    for (uint32_t w = 0; w < e->core->words; w++)
        for (uint64_t bits = near[w]; bits != 0; bits &= bits - 1)
            fill += fill_between(e, 64 * w + (uint32_t)__builtin_ctzll(bits), label);
    return fill / 2;
}

static double score_of(const elimination *e, uint32_t label)
{
    if (e->rule == EINSUM_MIN_FILL) return fill_of(e, label);
    return weight_without(e, near_of(e, label), e->none) + e->weights[label];
}

/* Queues a label by its score; what was queued for it before is stale. */
static bool queue(elimination *e, uint32_t label)
{
    uint32_t tie = (uint32_t)einsum_random_next(&e->random);
    return einsum_heap_push(&e->labels, (einsum_candidate){e->scores[label], tie, label});
}

/* ---- the graph ---- */

static void fill_graph(elimination *e)
{
    for (uint32_t leaf = 0; leaf < e->core->leaf_count; leaf++) {
        const einsum_live_value *value = &e->live.values[leaf];
        const uint64_t *legs = einsum_core_legs(e->core, leaf);
        for (uint32_t i = 0; i < value->count; i++) {
            uint64_t *near = near_of(e, value->held[i].label);
            for (uint32_t w = 0; w < e->core->words; w++) near[w] |= legs[w];
        }
    }
    for (uint32_t label = 0; label < e->core->label_count; label++)
        near_of(e, label)[label / 64] &= ~(UINT64_C(1) << label % 64);
}

/* What a new edge between x and y does to the fill of both and of those that have edges to both. */
static void change_fill(elimination *e, uint32_t x, uint32_t y)
{
    double weight = e->weights[x] * e->weights[y];
    const uint64_t *a = near_of(e, x), *b = near_of(e, y);
    e->scores[x] += e->weights[y] * weight_without(e, a, b);
    e->scores[y] += e->weights[x] * weight_without(e, b, a);
    for (uint32_t w = 0; w < e->core->words; w++) {
        uint64_t both = a[w] & b[w];
        e->touched[w] |= both;
        for (; both != 0; both &= both - 1) e->scores[64 * w + (uint32_t)__builtin_ctzll(both)] -= weight;
    }
}

/* Adds the edges from x to all of `set`. */
static void connect(elimination *e, uint32_t x, const uint64_t *set)
{
    uint64_t *near = near_of(e, x);
    for (uint32_t w = 0; w < e->core->words; w++) {
        for (uint64_t bits = set[w] & ~near[w]; bits != 0; bits &= bits - 1) {
            uint32_t y = 64 * w + (uint32_t)__builtin_ctzll(bits);
            if (y == x) continue;
            if (e->rule == EINSUM_MIN_FILL) change_fill(e, x, y);
            set_add(near, y);
            set_add(near_of(e, y), x);
        }
    }
}

static void disconnect(elimination *e, uint32_t label)
{
    uint64_t *near = near_of(e, label);
    for (uint32_t w = 0; w < e->core->words; w++) {
        for (uint64_t bits = near[w]; bits != 0; bits &= bits - 1) {
            uint32_t other = 64 * w + (uint32_t)__builtin_ctzll(bits);
            if (e->rule == EINSUM_MIN_FILL) e->scores[other] -= fill_between(e, label, other);
            near_of(e, other)[label / 64] &= ~(UINT64_C(1) << label % 64);
        }
    }
    memset(near, 0, e->core->words * sizeof *near);
}

/* ---- eliminating ---- */

/* Contracts all values with `label`, the two smallest first. */
static bool contract(elimination *e, uint32_t label)
{
    e->values.size = 0;
    for (const einsum_held *held = e->live.members[label]; held != NULL; held = held->next) {
        const einsum_live_value *value = &e->live.values[held->value];
        if (!value->gone && !einsum_heap_push(&e->values, (einsum_candidate){value->size, held->value, 0}))
            return false;
    }
    return einsum_live_join_heap(&e->live, &e->values);
}

/* Takes `label` and what was summed along with it out of the graph. Their neighbours are left in `around`. */
static void remove_summed(elimination *e, uint32_t label)
{
    memcpy(e->around, near_of(e, label), e->core->words * sizeof *e->around);
    disconnect(e, label);
    for (uint32_t w = 0; w < e->core->words; w++) {
        for (uint64_t bits = e->around[w]; bits != 0; bits &= bits - 1) {
            uint32_t other = 64 * w + (uint32_t)__builtin_ctzll(bits);
            if (e->live.uses[other] > 0) continue;
            disconnect(e, other);
            e->around[w] &= ~(bits & -bits);
        }
    }
}

/* Queues the labels of `around` and those whose fill has changed. */
static bool queue_around(elimination *e)
{
    for (uint32_t w = 0; w < e->core->words; w++) {
        for (uint64_t bits = (e->around[w] | e->touched[w]) & ~e->core->output[w]; bits != 0; bits &= bits - 1) {
            uint32_t label = 64 * w + (uint32_t)__builtin_ctzll(bits);
            if (e->rule == EINSUM_MIN_DEGREE) e->scores[label] = score_of(e, label);
            if (!queue(e, label)) return false;
        }
    }
    return true;
}

static bool eliminate(elimination *e, uint32_t label)
{
    if (!contract(e, label)) return false;
    remove_summed(e, label);
    memset(e->touched, 0, e->core->words * sizeof *e->touched);
    for (uint32_t w = 0; w < e->core->words; w++)
        for (uint64_t bits = e->around[w]; bits != 0; bits &= bits - 1)
            connect(e, 64 * w + (uint32_t)__builtin_ctzll(bits), e->around);
    return queue_around(e);
}

static bool is_ended(elimination *e)
{
    e->ended = e->ended || einsum_stop_asked(e->stop);
    return e->ended;
}

static bool eliminate_all(elimination *e)
{
    for (uint32_t label = 0; label < e->core->label_count && !is_ended(e); label++) {
        if (set_has(e->core->output, label)) continue;
        e->scores[label] = score_of(e, label);
        if (!queue(e, label)) return false;
    }
    while (e->labels.size > 0 && !is_ended(e)) {
        einsum_candidate next = einsum_heap_pop(&e->labels);
        bool stale = next.score != e->scores[next.b] || e->live.uses[next.b] == 0;
        if (!stale && !eliminate(e, next.b)) return false;
    }
    return einsum_live_join_rest(&e->live);
}

/* ---- all ---- */

static bool run(elimination *e, einsum_arena *arena, einsum_pair *out_pairs)
{
    size_t labels = e->core->label_count, words = e->core->words;
    e->near = einsum_arena_allocate(arena, labels * words, sizeof *e->near);
    e->scores = einsum_arena_allocate(arena, labels, sizeof *e->scores);
    e->none = einsum_arena_allocate(arena, words, sizeof *e->none);
    e->weights = einsum_arena_allocate(arena, labels, sizeof *e->weights);
    e->around = einsum_arena_allocate(arena, words, sizeof *e->around);
    e->touched = einsum_arena_allocate(arena, words, sizeof *e->touched);
    if (e->near == NULL || e->none == NULL || e->weights == NULL || e->scores == NULL || e->around == NULL ||
        e->touched == NULL || !einsum_live_init_core(&e->live, arena, e->core, out_pairs))
        return false;
    for (size_t label = 0; label < labels; label++) e->weights[label] = rint(e->core->extents[label] * 256) / 256;
    einsum_live_enter_leaves(&e->live);
    fill_graph(e);
    return eliminate_all(e);
}

weft_status *einsum_eliminate_run(const weft_allocator *allocator, const einsum_core *core, einsum_elimination rule,
                                  einsum_random random, const einsum_stop *stop, einsum_pair *out_pairs,
                                  bool *out_ended)
{
    einsum_arena arena;
    einsum_arena_init(&arena, allocator);
    elimination e = {.core = core,
                     .rule = rule,
                     .random = random,
                     .stop = stop,
                     .labels = {.arena = &arena},
                     .values = {.arena = &arena}};
    bool well = run(&e, &arena, out_pairs);
    *out_ended = e.ended;
    einsum_arena_finish(&arena);
    return well ? NULL : weft_status_out_of_memory();
}
