/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The leaves are cut in two where few labels cross, both parts again, and so on; few leaves are ordered exactly. That
 * is the recursive bisection of Gray and Kourtis (2021).
 */
#include "methods.h"
#include "hypergraph.h"
#include <string.h>

enum { FEW_LEAVES = 8, FEW_STATES = 512 };

typedef struct bisection {
    const weft_allocator *allocator;
    const einsum_core *core;
    double imbalance;
    einsum_random random;
    uint32_t *leaves;  /* in the order of the tree's leaves, once all is cut */
    uint32_t *holders; /* by label: how many leaves have it, and 1 if the output does */
    uint32_t *counts;  /* by label: of the part looked at; zero between calls */
    uint32_t *places;  /* by label: its number in the part */
    einsum_pair *pairs;
    size_t step_count;
} bisection;

/* Leaves first to first + count - 1 of the list. */
typedef struct part {
    einsum_arena arena;
    uint32_t first, count;
    uint32_t label_count;
    uint32_t *labels; /* what its leaves have, in the core */
    einsum_hypergraph graph;
    einsum_core core;
    uint64_t *legs;
} part;

/* ---- parts ---- */

/* Calls `visit` for each label of each leaf of a part, leaf by leaf. */
static void visit_labels(bisection *b, part *p, void (*visit)(bisection *b, part *p, uint32_t i, uint32_t label))
{
    for (uint32_t i = 0; i < p->count; i++) {
        const uint64_t *legs = einsum_core_legs(b->core, b->leaves[p->first + i]);
        for (uint32_t w = 0; w < b->core->words; w++)
            for (uint64_t bits = legs[w]; bits != 0; bits &= bits - 1)
                visit(b, p, i, 64 * w + (uint32_t)__builtin_ctzll(bits));
    }
}

static void count_label(bisection *b, part *p, uint32_t i, uint32_t label)
{
    (void)i;
    if (b->counts[label]++ > 0) return;
    b->places[label] = p->label_count;
    p->labels[p->label_count++] = label;
}

static bool part_init(part *p, bisection *b)
{
    einsum_arena_init(&p->arena, b->allocator);
    p->labels = einsum_arena_allocate(&p->arena, b->core->label_count, sizeof *p->labels);
    if (p->labels != NULL) visit_labels(b, p, count_label);
    return p->labels != NULL;
}

static void part_finish(part *p, bisection *b)
{
    for (uint32_t k = 0; k < p->label_count; k++) b->counts[p->labels[k]] = 0;
    einsum_arena_finish(&p->arena);
}

/* ---- cutting ---- */

static void add_pin(bisection *b, part *p, uint32_t i, uint32_t label)
{
    if (b->counts[label] > 1) p->graph.pins[p->graph.pin_starts[b->places[label] + 1]++] = i;
    if (b->counts[label] < b->holders[label])
        p->graph.weights[i] += (uint32_t)(2 * b->core->extents[label] / b->counts[label] + 0.5);
}

/* Labels that two leaves have are nets; nets are numbered anew, in `places`. */
static bool fill_graph(part *p, bisection *b)
{
    einsum_hypergraph *g = &p->graph;
    uint32_t pins = 0;
    g->vertex_count = p->count;
    g->weights = einsum_arena_allocate(&p->arena, p->count, sizeof *g->weights);
    g->net_weights = einsum_arena_allocate(&p->arena, p->label_count, sizeof *g->net_weights);
    g->pin_starts = einsum_arena_allocate(&p->arena, (size_t)p->label_count + 2, sizeof *g->pin_starts);
    if (g->weights == NULL || g->net_weights == NULL || g->pin_starts == NULL) return false;
    for (uint32_t i = 0; i < p->count; i++) g->weights[i] = 1;
    for (uint32_t k = 0; k < p->label_count; k++) {
        uint32_t label = p->labels[k], net = g->net_count;
        if (b->counts[label] < 2) continue;
        b->places[label] = g->net_count++;
        g->net_weights[net] = b->core->extents[label];
        g->pin_starts[net + 1] = pins;
        pins += b->counts[label];
    }
    g->pins = einsum_arena_allocate(&p->arena, pins, sizeof *g->pins);
    if (g->pins != NULL) visit_labels(b, p, add_pin);
    return g->pins != NULL;
}

/* Sorts the leaves of a part by their sides; `out_count` is how many are on side 0. */
static bool cut(part *p, bisection *b, uint32_t *out_count)
{
    uint8_t *sides = einsum_arena_allocate(&p->arena, p->count, sizeof *sides);
    uint32_t *sorted = einsum_arena_allocate(&p->arena, p->count, sizeof *sorted), at = 0;
    if (sides == NULL || sorted == NULL || !fill_graph(p, b) ||
        !einsum_hypergraph_cut(&p->arena, &p->graph, b->imbalance, &b->random, sides))
        return false;
    for (uint8_t side = 0; side < 2; side++) {
        for (uint32_t i = 0; i < p->count; i++)
            if (sides[i] == side) sorted[at++] = b->leaves[p->first + i];
        if (side == 0) *out_count = at;
    }
    memcpy(b->leaves + p->first, sorted, p->count * sizeof *sorted);
    return true;
}

/* ---- few leaves ---- */

static void add_leg(bisection *b, part *p, uint32_t i, uint32_t label)
{
    uint32_t place = b->places[label];
    p->legs[(size_t)i * p->core.words + place / 64] |= UINT64_C(1) << place % 64;
}

static bool fill_core(part *p, bisection *b)
{
    uint32_t words = (p->label_count + 63) / 64;
    uint64_t *output = einsum_arena_allocate(&p->arena, words, sizeof *output);
    double *extents = einsum_arena_allocate(&p->arena, p->label_count, sizeof *extents);
    p->legs = einsum_arena_allocate(&p->arena, (size_t)p->count * words, sizeof *p->legs);
    if (output == NULL || extents == NULL || p->legs == NULL) return false;
    p->core = (einsum_core){.leaf_count = p->count,
                            .label_count = p->label_count,
                            .words = words,
                            .legs = p->legs,
                            .output = output,
                            .extents = extents};
    for (uint32_t k = 0; k < p->label_count; k++) {
        uint32_t label = p->labels[k];
        extents[k] = b->core->extents[label];
        if (b->counts[label] < b->holders[label]) output[k / 64] |= UINT64_C(1) << k % 64;
    }
    visit_labels(b, p, add_leg);
    return true;
}

static size_t value_of(const bisection *b, const part *p, size_t value, size_t first_step)
{
    if (value < p->count) return b->leaves[p->first + value];
    return b->core->leaf_count + first_step + value - p->count;
}

/* What is too much for the exact method is left to the greedy one. */
static weft_status *order_few(part *p, bisection *b)
{
    const einsum_score flops = {.objective = WEFT_EINSUM_FLOPS};
    einsum_pair *pairs = einsum_arena_allocate(&p->arena, p->count, sizeof *pairs);
    if (pairs == NULL || !fill_core(p, b)) return weft_status_out_of_memory();
    bool found;
    WEFT_TRY(einsum_exact_run(b->allocator, &p->core, &flops, false, FEW_STATES, NULL, pairs, &found));
    if (!found) WEFT_TRY(einsum_greedy_run(b->allocator, &p->core, &(einsum_greedy){.temperature = 0}, pairs));
    size_t first = b->step_count;
    for (uint32_t k = 0; k + 1 < p->count; k++)
        b->pairs[b->step_count++] = (einsum_pair){value_of(b, p, pairs[k].a, first), value_of(b, p, pairs[k].b, first)};
    return NULL;
}

/* ---- all ---- */

/* Orders few leaves; cuts more of them, so that `out_count` of them are the first part. */
static weft_status *look_at(bisection *b, uint32_t first, uint32_t count, uint32_t *out_count)
{
    part p = {.first = first, .count = count};
    weft_status *status = NULL;
    if (!part_init(&p, b)) status = weft_status_out_of_memory();
    else if (count <= FEW_LEAVES) status = order_few(&p, b);
    else if (!cut(&p, b, out_count)) status = weft_status_out_of_memory();
    part_finish(&p, b);
    return status;
}

/* The value that `count` leaves become is the last step's; a leaf's is itself. */
static weft_status *divide(bisection *b, uint32_t first, uint32_t count, size_t *out_value)
{
    uint32_t half = count;
    *out_value = b->leaves[first];
    if (count == 1) return NULL;
    WEFT_TRY(look_at(b, first, count, &half));
    if (half < count) {
        einsum_pair pair;
        WEFT_TRY(divide(b, first, half, &pair.a));
        WEFT_TRY(divide(b, first + half, count - half, &pair.b));
        b->pairs[b->step_count++] = pair;
    }
    *out_value = b->core->leaf_count + b->step_count - 1;
    return NULL;
}

static weft_status *run(bisection *b, einsum_arena *arena)
{
    const einsum_core *core = b->core;
    b->leaves = einsum_arena_allocate(arena, core->leaf_count, sizeof *b->leaves);
    b->holders = einsum_arena_allocate(arena, core->label_count, sizeof *b->holders);
    b->counts = einsum_arena_allocate(arena, core->label_count, sizeof *b->counts);
    b->places = einsum_arena_allocate(arena, core->label_count, sizeof *b->places);
    if (b->leaves == NULL || b->holders == NULL || b->counts == NULL || b->places == NULL)
        return weft_status_out_of_memory();
    for (uint32_t i = 0; i < core->leaf_count; i++) b->leaves[i] = i;
    part all = {.count = core->leaf_count};
    if (!part_init(&all, b)) return weft_status_out_of_memory();
    for (uint32_t label = 0; label < core->label_count; label++)
        b->holders[label] = b->counts[label] + (core->output[label / 64] >> label % 64 & 1);
    part_finish(&all, b);
    size_t value;
    return divide(b, 0, core->leaf_count, &value);
}

weft_status *einsum_bisect_run(const weft_allocator *allocator, const einsum_core *core, double imbalance,
                               einsum_random random, einsum_pair *out_pairs)
{
    einsum_arena arena;
    einsum_arena_init(&arena, allocator);
    bisection b = {.allocator = allocator, .core = core, .imbalance = imbalance, .random = random, .pairs = out_pairs};
    weft_status *status = run(&b, &arena);
    einsum_arena_finish(&arena);
    return status;
}
