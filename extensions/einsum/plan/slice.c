/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices are annealed together with the tree, in chains that begin hot. In each round the tree gets some sweeps, in
 * which results near a limit make a step dearer, so that it comes to need fewer slices; labels are sliced until the
 * limits are kept; then a few labels are put back at random and others sliced for them, which is undone where it makes
 * the whole dearer than chance allows. A label is chosen by how many of the results that are too large have it, and by
 * how much dearer it makes the whole. The best of all rounds is taken. How well a chain ends is decided while it is
 * hot: many short ones do better than few long ones.
 */
#include "slice.h"
#include "metropolis.h"
#include "loop.h"
#include "workers.h"
#include <string.h>

enum {
    MOST_HASTY = 1000,   /* leaves, for slices that keep the limit although the search is cancelled */
    SWEEPS = 20,         /* of a round */
    CHAIN_MOVES = 20000, /* for each leaf, before another chain pays */
    LEAST_CHAINS = 2,
    MOST_CHAINS = 256,
    FRESH_ROUNDS = 16, /* after which sums are computed anew */
    PARTS = 8
};

/* The variants of a chain, used alternately: networks that need many slices and those that need few differ in which one
 * works. */
typedef struct manner {
    double first_beta;
    uint32_t most_back; /* labels in a round */
} manner;

static const manner manners[] = {{0.5, 8}, {1, 3}};
enum { MANNERS = sizeof manners / sizeof *manners };

static const double last_beta = 8;
static const double label_beta = 4;              /* of labels, against that of the tree */
static const double margin = 1, live_margin = 4; /* bits below a limit that results are near it */
static const double importance = 3;              /* of bits over a limit, against bits of growth */
static const double least_score = 1e-3;          /* of labels between which only chance decides */
static const double moves_per_second = 5e6;      /* about; says how many chains a span of time allows */
static const double tolerance = 1e-9;

/* A tree, its slices. */
typedef struct state {
    einsum_node *nodes;
    uint64_t *sliced;
    double log2_total; /* INFINITY: nothing that fits was found */
} state;

typedef struct slicing {
    const einsum_slicing *options;
    const manner *manner;
    einsum_arena arena;
    einsum_loop loop;
    einsum_metropolis metropolis;
    einsum_random random;
    double beta;
    uint32_t *labels; /* by position: the label of the core */
    double *gains;    /* by position: prices of the steps that have the label */
    double *excess;   /* by position: bits over a limit of the results that have the label */
    double seconds;   /* that it may take; INFINITY: moves count */
    uint64_t moves;
    uint64_t *former; /* what was sliced before labels were exchanged */
    state start, best;
} slicing;

static bool has_label(const uint64_t *set, uint32_t label)
{
    return set[label / 64] >> label % 64 & 1;
}

/* ---- choosing labels ---- */

static void put_one_back(slicing *s)
{
    const einsum_core *core = s->loop.tree.core;
    uint32_t count = 0;
    for (uint32_t w = 0; w < core->words; w++) count += (uint32_t)__builtin_popcountll(s->loop.sliced[w]);
    if (count == 0) return;
    uint32_t left = einsum_random_below(&s->random, count);
    for (uint32_t label = 0; label < core->label_count; label++)
        if (einsum_loop_slices(&s->loop, label) && left-- == 0) {
            einsum_loop_slice(&s->loop, label, false);
            return;
        }
}

/* Of the labels of `set`. Returns the sum of prices. */
static double fill_gains(slicing *s, const uint64_t *set)
{
    const einsum_tree *tree = &s->loop.tree;
    double sum = 0;
    memset(s->gains, 0, (size_t)tree->words * 64 * sizeof *s->gains);
    for (uint32_t node = tree->leaf_count; node < tree->node_count; node++) {
        const uint32_t *children = tree->nodes[node].children;
        const uint64_t *a = einsum_tree_legs(tree, children[0]), *b = einsum_tree_legs(tree, children[1]);
        double cost = tree->measures[node].price;
        sum += cost;
        for (uint32_t w = 0; w < tree->words; w++)
            for (uint64_t bits = (a[w] | b[w]) & set[w]; bits != 0; bits &= bits - 1)
                s->gains[64 * w + (uint32_t)__builtin_ctzll(bits)] += cost;
    }
    return sum;
}

/* A value, and by how many bits it is over the limit, or what is in memory in a step whose largest value it is. */
typedef struct excess {
    double bits;
    uint32_t node;
} excess;

static excess excess_of(const slicing *s, uint32_t node)
{
    const einsum_loop *loop = &s->loop;
    const uint32_t *children = loop->tree.nodes[node].children;
    excess e = {einsum_loop_size(loop, node) - s->options->log2_size, node};
    if (s->options->log2_peak == INFINITY) return e;
    double live = einsum_loop_stored(loop, node), largest = live;
    for (int i = 0; i < 2; i++) {
        double volume = einsum_loop_stored(loop, children[i]);
        if (volume > largest) largest = volume, e.node = children[i];
        live += volume;
    }
    e.bits = fmax(e.bits, log2(live) + loop->tree.shift - s->options->log2_peak);
    return e;
}

/* Of the labels of `set`. Returns the bits of all results. */
static double fill_excess(slicing *s, const uint64_t *set)
{
    const einsum_tree *tree = &s->loop.tree;
    double sum = 0;
    memset(s->excess, 0, (size_t)tree->words * 64 * sizeof *s->excess);
    for (uint32_t node = tree->leaf_count; node < tree->node_count; node++) {
        excess e = excess_of(s, node);
        if (e.bits <= 0) continue;
        sum += e.bits;
        const uint64_t *legs = einsum_tree_legs(tree, e.node);
        for (uint32_t w = 0; w < tree->words; w++)
            for (uint64_t bits = legs[w] & set[w]; bits != 0; bits &= bits - 1)
                s->excess[64 * w + (uint32_t)__builtin_ctzll(bits)] += e.bits;
    }
    return sum;
}

/* By more or less chance; UINT32_MAX: there is none. */
static uint32_t choose_label(slicing *s, uint32_t node)
{
    const einsum_tree *tree = &s->loop.tree;
    const uint64_t *legs = einsum_tree_legs(tree, node);
    double sum = fill_gains(s, legs), over = fill_excess(s, legs), best_score = INFINITY;
    uint32_t best = UINT32_MAX;
    for (uint32_t w = 0; w < tree->words; w++)
        for (uint64_t bits = legs[w]; bits != 0; bits &= bits - 1) {
            uint32_t at = 64 * w + (uint32_t)__builtin_ctzll(bits);
            double extent = exp2(tree->weights[at]);
            double growth = log2(fmax(extent - (extent - 1) * s->gains[at] / sum, 1)) / tree->weights[at];
            double missed = over > 0 ? 1 - s->excess[at] / over : 0;
            double score = (growth + importance * missed + least_score) * (1 + einsum_random_unit(&s->random));
            if (score < best_score) best = s->labels[at], best_score = score;
        }
    return best;
}

/* Whether what an iteration adds to the output takes half of the limit or more. */
static bool output_is_large(const slicing *s)
{
    const einsum_tree *tree = &s->loop.tree;
    double size = log2(einsum_loop_part(&s->loop)) + tree->shift;
    return s->loop.last == tree->node_count - 1 && size > tolerance && size >= s->options->log2_peak - 1;
}

/* The value that is most over a limit, or nearest to one, and has a label; UINT32_MAX: none. */
static uint32_t find_worst(const slicing *s)
{
    const einsum_tree *tree = &s->loop.tree;
    uint32_t root = tree->node_count - 1;
    excess worst = {-INFINITY, UINT32_MAX};
    for (uint32_t node = tree->leaf_count; node < tree->node_count; node++) {
        excess e = excess_of(s, node);
        bool stored = e.node != root || tree->core->widened;
        if (e.bits > worst.bits && stored && tree->measures[e.node].size > tolerance) worst = e;
    }
    return worst.bits <= 0 && output_is_large(s) ? root : worst.node;
}

static bool keeps_limits(slicing *s)
{
    const einsum_slicing *limits = s->options;
    if (einsum_loop_measure(&s->loop).log2_size > limits->log2_size + tolerance) return false;
    return limits->log2_peak == INFINITY || einsum_loop_peak(&s->loop) <= limits->log2_peak + tolerance;
}

/* False if no label is left that would help, or the search of a large network is cancelled. */
static bool slice_down(slicing *s)
{
    for (einsum_loop_update(&s->loop); !keeps_limits(s); einsum_loop_update(&s->loop)) {
        if (s->loop.tree.leaf_count > MOST_HASTY && einsum_stop_cancelled(s->options->stop.cancel)) return false;
        uint32_t node = find_worst(s), label = node == UINT32_MAX ? node : choose_label(s, node);
        if (label == UINT32_MAX) return false;
        einsum_loop_slice(&s->loop, label, true);
    }
    return true;
}

/* ---- states ---- */

static bool state_init(slicing *s, state *out_state)
{
    out_state->log2_total = INFINITY;
    out_state->nodes = einsum_arena_allocate(&s->arena, s->loop.tree.node_count, sizeof *out_state->nodes);
    out_state->sliced = einsum_arena_allocate(&s->arena, s->loop.tree.core->words, sizeof *out_state->sliced);
    return out_state->nodes != NULL && out_state->sliced != NULL;
}

static void keep(const slicing *s, state *out_state)
{
    out_state->log2_total = einsum_loop_measure(&s->loop).log2_total;
    memcpy(out_state->nodes, s->loop.tree.nodes, s->loop.tree.node_count * sizeof *out_state->nodes);
    memcpy(out_state->sliced, s->loop.sliced, s->loop.tree.core->words * sizeof *out_state->sliced);
}

static void keep_best(slicing *s)
{
    if (einsum_loop_measure(&s->loop).log2_total < s->best.log2_total) keep(s, &s->best);
}

static void slice_these(slicing *s, const uint64_t *labels)
{
    for (uint32_t label = 0; label < s->loop.tree.core->label_count; label++)
        einsum_loop_slice(&s->loop, label, has_label(labels, label));
}

static void restore(slicing *s, const state *kept)
{
    memcpy(s->loop.tree.nodes, kept->nodes, s->loop.tree.node_count * sizeof *kept->nodes);
    slice_these(s, kept->sliced);
    einsum_tree_refresh(&s->loop.tree);
    einsum_loop_update(&s->loop);
}

/* ---- a chain ---- */

static void cool(slicing *s, double progress)
{
    const double shift = s->loop.tree.shift - tolerance;
    s->beta = s->manner->first_beta * pow(last_beta / s->manner->first_beta, progress);
    einsum_tree_refresh(&s->loop.tree);
    s->metropolis.most_volume = exp2(s->options->log2_size - margin - shift);
    s->metropolis.most_live = exp2(s->options->log2_peak - live_margin - shift);
    einsum_metropolis_set(&s->metropolis, &s->loop.tree, s->beta);
}

/* `before` is log2 of what the whole costs; INFINITY: it does not keep the limits, and nothing is undone. */
static void exchange_labels(slicing *s, double before)
{
    uint32_t count = 1 + einsum_random_below(&s->random, s->manner->most_back);
    memcpy(s->former, s->loop.sliced, s->loop.tree.core->words * sizeof *s->former);
    for (uint32_t i = 0; i < count; i++) put_one_back(s);
    double most = before - log(einsum_random_unit(&s->random)) / (label_beta * s->beta);
    bool fits = slice_down(s), taken = fits && einsum_loop_measure(&s->loop).log2_total <= most;
    if (fits) keep_best(s);
    if (taken || before == INFINITY) return;
    slice_these(s, s->former);
    einsum_loop_update(&s->loop);
}

static void run_round(slicing *s)
{
    double total = INFINITY;
    if (s->loop.tree.leaf_count > 2)
        einsum_metropolis_sweep(&s->metropolis, &s->loop.tree, &s->random, (uint64_t)SWEEPS * s->loop.tree.leaf_count);
    if (slice_down(s)) {
        keep_best(s);
        total = einsum_loop_measure(&s->loop).log2_total;
    }
    exchange_labels(s, total);
}

/* Subtrees are put together anew, as if sliced labels were not there. */
static weft_status *polish(slicing *s, einsum_pair *pairs)
{
    einsum_core core = *s->loop.tree.core;
    size_t words = (size_t)core.leaf_count * core.words;
    uint64_t *legs = einsum_arena_allocate(&s->arena, words + core.words, sizeof *legs);
    if (legs == NULL) return weft_status_out_of_memory();
    restore(s, &s->best);
    for (size_t i = 0; i < words; i++) legs[i] = core.legs[i] & ~s->loop.sliced[i % core.words];
    for (size_t w = 0; w < core.words; w++) legs[words + w] = core.output[w] & ~s->loop.sliced[w];
    core.legs = legs;
    core.output = legs + words;
    einsum_tree_save(&s->loop.tree, pairs);
    WEFT_TRY(einsum_reconfigure_run(s->arena.allocator, &core, s->loop.tree.score, PARTS, &s->options->stop, pairs));
    einsum_tree_link(&s->loop.tree, pairs);
    if (slice_down(s)) keep_best(s);
    return NULL;
}

/* The first round has the tree as it was given. */
static void anneal(slicing *s)
{
    double begin = einsum_stop_clock(), progress = 0;
    uint64_t rounds = s->moves / ((uint64_t)SWEEPS * s->loop.tree.leaf_count);
    if (slice_down(s)) keep_best(s);
    if (rounds == 0 && s->seconds == INFINITY) return;
    for (uint64_t i = 0; progress < 1 && !einsum_stop_asked(&s->options->stop); i++) {
        progress = s->seconds < INFINITY ? (einsum_stop_clock() - begin) / s->seconds : (double)i / (double)rounds;
        if (i % FRESH_ROUNDS == 0) cool(s, progress);
        run_round(s);
    }
}

static weft_status *slicing_init(slicing *s, const einsum_core *core, const einsum_score *score)
{
    WEFT_TRY(einsum_loop_init(&s->loop, &s->arena, core, score));
    einsum_metropolis_init(&s->metropolis);
    einsum_tree *tree = &s->loop.tree;
    bool well = state_init(s, &s->start) && state_init(s, &s->best);
    s->labels = einsum_arena_allocate(&s->arena, (size_t)tree->words * 64, sizeof *s->labels);
    s->excess = einsum_arena_allocate(&s->arena, (size_t)tree->words * 64, sizeof *s->gains);
    s->gains = einsum_arena_allocate(&s->arena, (size_t)tree->words * 64, sizeof *s->gains);
    s->former = einsum_arena_allocate(&s->arena, core->words, sizeof *s->former);
    if (!well || s->labels == NULL || s->excess == NULL || s->gains == NULL || s->former == NULL)
        return weft_status_out_of_memory();
    for (uint32_t label = 0; label < core->label_count; label++) s->labels[tree->positions[label]] = label;
    return NULL;
}

static void report(slicing *s, bool fits, einsum_sliced *out)
{
    einsum_loop_cost cost = einsum_loop_measure(&s->loop);
    double slice = log2(cost.slice) + s->loop.tree.shift, size = cost.log2_size;
    bool of_size = s->loop.tree.tariff.objective == WEFT_EINSUM_SIZE;
    memcpy(out->labels, s->loop.sliced, s->loop.tree.core->words * sizeof *out->labels);
    out->log2_slices = s->loop.log2_iterations;
    out->slice = of_size ? (einsum_cost){size, slice} : (einsum_cost){slice, size};
    out->total = of_size ? (einsum_cost){size, cost.log2_total} : (einsum_cost){cost.log2_total, size};
    out->log2_size = size;
    out->log2_peak = einsum_loop_peak(&s->loop);
    out->fits = fits;
}

static weft_status *run(slicing *s, const einsum_core *core, const einsum_score *score, einsum_pair *pairs,
                        einsum_sliced *out_sliced)
{
    WEFT_TRY(slicing_init(s, core, score));
    einsum_tree_load(&s->loop.tree, pairs);
    einsum_loop_update(&s->loop);
    if (keeps_limits(s)) {
        keep_best(s);
    } else {
        keep(s, &s->start);
        anneal(s);
        if (s->best.log2_total < INFINITY) WEFT_TRY(polish(s, pairs));
    }
    bool fits = s->best.log2_total < INFINITY;
    restore(s, fits ? &s->best : &s->start);
    einsum_loop_save(&s->loop, pairs);
    report(s, fits, out_sliced);
    return NULL;
}

static weft_status *run_chain(const weft_allocator *allocator, slicing *s, const einsum_core *core,
                              const einsum_score *score, einsum_pair *pairs, einsum_sliced *out_sliced)
{
    einsum_arena_init(&s->arena, allocator);
    weft_status *status = run(s, core, score, pairs, out_sliced);
    einsum_arena_finish(&s->arena);
    return status;
}

/* ---- all chains ---- */

typedef struct chain {
    einsum_pair *pairs;
    einsum_sliced sliced;
} chain;

typedef struct slicings {
    const weft_allocator *allocator;
    const einsum_core *core;
    const einsum_score *score;
    const einsum_slicing *options;
    uint64_t seed, moves;
    double seconds;
    size_t count;
    chain *chains;
} slicings;

/* The first is run whatever happens. */
static weft_status *run_one(void *context, size_t index)
{
    slicings *all = context;
    chain *c = &all->chains[index];
    c->sliced.total = EINSUM_WORST_COST;
    if (index > 0 && einsum_stop_asked(&all->options->stop)) return NULL;
    slicing s = {.options = all->options,
                 .manner = &manners[index % MANNERS],
                 .random = einsum_random_start(all->seed, index),
                 .moves = all->moves / all->count,
                 .seconds = all->seconds};
    return run_chain(all->allocator, &s, all->core, all->score, c->pairs, &c->sliced);
}

static bool is_better(const einsum_sliced *x, const einsum_sliced *y)
{
    if (x->fits != y->fits) return x->fits;
    return einsum_cost_less(x->total, y->total);
}

/* With a deadline each thread has its share of the chains, and each of those the same time. */
static weft_status *plan_chains(slicings *all, einsum_arena *arena, const einsum_pair *pairs)
{
    const einsum_slicing *options = all->options;
    size_t threads = einsum_workers_size(options->threads < 1 ? 1 : options->threads);
    double whole = fmax(options->stop.deadline - einsum_stop_clock(), 0), moves = (double)options->moves;
    if (whole < INFINITY) moves = whole * moves_per_second * (double)threads;
    double chains = moves / ((double)CHAIN_MOVES * all->core->leaf_count);
    all->count = chains < LEAST_CHAINS ? LEAST_CHAINS : chains > MOST_CHAINS ? MOST_CHAINS : (size_t)chains;
    if (einsum_stop_asked(&options->stop)) all->count = 1;
    else if (whole < INFINITY) all->count += (threads - all->count % threads) % threads;
    all->seconds = whole * (double)threads / (double)all->count;
    all->moves = options->moves;
    all->chains = einsum_arena_allocate(arena, all->count, sizeof *all->chains);
    if (all->chains == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < all->count; i++) {
        chain *c = &all->chains[i];
        c->pairs = einsum_arena_allocate(arena, all->core->leaf_count, sizeof *c->pairs);
        c->sliced.labels = einsum_arena_allocate(arena, all->core->words, sizeof *c->sliced.labels);
        if (c->pairs == NULL || c->sliced.labels == NULL) return weft_status_out_of_memory();
        memcpy(c->pairs, pairs, (all->core->leaf_count - 1) * sizeof *pairs);
    }
    return NULL;
}

static weft_status *run_all(slicings *all, einsum_arena *arena, einsum_pair *pairs, einsum_sliced *out_sliced)
{
    einsum_random random = all->options->random;
    all->seed = einsum_random_next(&random);
    WEFT_TRY(plan_chains(all, arena, pairs));
    WEFT_TRY(einsum_workers_run(all->options->threads, &(einsum_tasks){all->count, run_one, all}));
    const chain *best = &all->chains[0];
    for (size_t i = 1; i < all->count; i++)
        if (is_better(&all->chains[i].sliced, &best->sliced)) best = &all->chains[i];
    uint64_t *labels = out_sliced->labels;
    memcpy(labels, best->sliced.labels, all->core->words * sizeof *labels);
    *out_sliced = best->sliced;
    out_sliced->labels = labels;
    memcpy(pairs, best->pairs, (all->core->leaf_count - 1) * sizeof *pairs);
    return NULL;
}

weft_status *einsum_slice_run(const weft_allocator *allocator, const einsum_core *core, const einsum_score *score,
                              const einsum_slicing *options, einsum_pair *pairs, einsum_sliced *out_sliced)
{
    slicings all = {.allocator = allocator, .core = core, .score = score, .options = options};
    einsum_arena arena;
    einsum_arena_init(&arena, allocator);
    weft_status *status = run_all(&all, &arena, pairs, out_sliced);
    einsum_arena_finish(&arena);
    return status;
}
