/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slicing goes down to the limit in small steps, between which the order is annealed for the slices there are: in each
 * round one label is put back at random, labels are sliced until the target of the round is kept, and the order gets
 * some sweeps. A label is chosen by how much dearer it makes the whole, among those of a result that is too large.
 */
#include "slice.h"
#include "heat.h"
#include <string.h>

enum { SWEEPS = 50, STEPS = 6, MOST_BACK = 2, PARTS = 8 };

static const double least_beta = 1, most_beta = 3, last_beta = 20, /* where a round begins to cool, and ends */
    descent = 0.6,     /* share of the rounds until the limit is the target */
    temperature = 0.3; /* of the first round: what the logarithm of the total may get worse by */
static const double tolerance = 1e-9;

/* What a loop over the sliced labels comes to. Costs are plain numbers times 2^-shift of the tree. */
typedef struct loop {
    double slice, total; /* the sum that is minimised; of SIZE the works */
    double largest;      /* volume */
    double log2_size, log2_peak;
} loop;

typedef struct state {
    einsum_node *nodes;
    uint64_t *sliced;
    double log2_total;
} state;

typedef struct slicing {
    einsum_arena arena;
    einsum_tree tree;
    einsum_heat heat;
    einsum_random random;
    const einsum_slicing *options;
    uint64_t *sliced; /* as the core has labels */
    double log2_slices;
    double *gains;       /* by position: prices of the steps that have the label */
    double *excess;      /* by position: bits over the target of the results that have the label */
    uint32_t *counts;    /* by node: leaves below it that have a sliced label */
    state present, best; /* what the next round starts from; INFINITY: nothing that fits was found */
} slicing;

static bool has_label(const uint64_t *set, uint32_t label)
{
    return set[label / 64] >> label % 64 & 1;
}

/* ---- the loop ---- */

static bool is_sliced(const slicing *s, uint32_t leaf)
{
    const uint64_t *legs = einsum_core_legs(s->tree.core, leaf);
    for (uint32_t w = 0; w < s->tree.core->words; w++)
        if ((legs[w] & s->sliced[w]) != 0) return true;
    return false;
}

/* Needs the order of the tree. */
static void count_sliced(slicing *s)
{
    const einsum_tree *tree = &s->tree;
    for (uint32_t leaf = 0; leaf < tree->leaf_count; leaf++) s->counts[leaf] = is_sliced(s, leaf);
    for (uint32_t i = tree->leaf_count - 1; i-- > 0;) {
        const uint32_t *children = tree->nodes[tree->order[i]].children;
        s->counts[tree->order[i]] = s->counts[children[0]] + s->counts[children[1]];
    }
}

static double step_cost(const einsum_tree *tree, uint32_t node)
{
    const einsum_measure *m = &tree->measures[node];
    switch (tree->tariff.objective) {
    case WEFT_EINSUM_SIZE: return m->work;
    case WEFT_EINSUM_WRITE: return m->volume;
    case WEFT_EINSUM_TIME: return m->price + exp2(tree->score->machine.log2_overhead - tree->shift);
    default: return m->price;
    }
}

/* A step is inside of the loop if a sliced label is below it, and not all of them below one of its children. */
static loop look(slicing *s)
{
    einsum_tree *tree = &s->tree;
    loop l = {.log2_peak = einsum_tree_arrange(tree), .log2_size = -INFINITY};
    count_sliced(s);
    uint32_t all = s->counts[tree->node_count - 1];
    double kept = 0, outside = 0;
    for (uint32_t node = tree->leaf_count; node < tree->node_count; node++) {
        const uint32_t *children = tree->nodes[node].children, of_a = s->counts[children[0]],
                       of_b = s->counts[children[1]];
        bool inside = of_a + of_b > 0 && of_a < all && of_b < all;
        *(inside ? &l.slice : &outside) += step_cost(tree, node);
        l.largest = fmax(l.largest, tree->measures[node].volume);
        l.log2_size = fmax(l.log2_size, tree->measures[node].size);
        if (!inside) continue;
        for (int i = 0; i < 2; i++)
            if (s->counts[children[i]] == 0 && children[i] >= tree->leaf_count)
                kept += tree->measures[children[i]].volume;
        if (of_a + of_b == all) kept += tree->measures[node].volume;
    }
    if (all == 0) l.slice = outside, outside = 0;
    l.total = l.slice * exp2(s->log2_slices) + outside;
    l.log2_peak = einsum_log2_add(l.log2_peak, log2(kept) + tree->shift);
    return l;
}

/* ---- choosing labels ---- */

static void mark_slice(slicing *s, uint32_t label, bool sliced)
{
    uint32_t at = s->tree.positions[label];
    if (sliced == has_label(s->sliced, label)) return;
    s->sliced[label / 64] ^= UINT64_C(1) << label % 64;
    s->tree.sliced[at / 64] ^= UINT64_C(1) << at % 64;
    s->log2_slices += sliced ? s->tree.core->extents[label] : -s->tree.core->extents[label];
}

static void set_slice(slicing *s, uint32_t label, bool sliced)
{
    mark_slice(s, label, sliced);
    einsum_tree_refresh(&s->tree);
}

static void put_one_back(slicing *s)
{
    const einsum_core *core = s->tree.core;
    uint32_t count = 0;
    for (uint32_t w = 0; w < core->words; w++) count += (uint32_t)__builtin_popcountll(s->sliced[w]);
    if (count == 0) return;
    uint32_t left = einsum_random_below(&s->random, count);
    for (uint32_t label = 0; label < core->label_count; label++)
        if (has_label(s->sliced, label) && left-- == 0) {
            set_slice(s, label, false);
            return;
        }
}

/* Returns the sum of prices. */
static double fill_gains(slicing *s)
{
    const einsum_tree *tree = &s->tree;
    double sum = 0;
    memset(s->gains, 0, (size_t)tree->words * 64 * sizeof *s->gains);
    for (uint32_t node = tree->leaf_count; node < tree->node_count; node++) {
        const uint32_t *children = tree->nodes[node].children;
        const uint64_t *a = einsum_tree_legs(tree, children[0]), *b = einsum_tree_legs(tree, children[1]);
        double cost = step_cost(tree, node);
        sum += cost;
        for (uint32_t w = 0; w < tree->words; w++)
            for (uint64_t bits = a[w] | b[w]; bits != 0; bits &= bits - 1)
                s->gains[64 * w + (uint32_t)__builtin_ctzll(bits)] += cost;
    }
    return sum;
}

/* Returns the bits over the target of all results. */
static double fill_excess(slicing *s, double log2_size)
{
    const einsum_tree *tree = &s->tree;
    double sum = 0;
    memset(s->excess, 0, (size_t)tree->words * 64 * sizeof *s->excess);
    for (uint32_t node = tree->leaf_count; node < tree->node_count; node++) {
        double over = tree->measures[node].size - log2_size;
        if (over <= 0) continue;
        sum += over;
        const uint64_t *legs = einsum_tree_legs(tree, node);
        for (uint32_t w = 0; w < tree->words; w++)
            for (uint64_t bits = legs[w]; bits != 0; bits &= bits - 1)
                s->excess[64 * w + (uint32_t)__builtin_ctzll(bits)] += over;
    }
    return sum;
}

/*
 * A label of a node that makes the whole dearer by little for each bit, and that many results over the target have, by
 * more or less chance; UINT32_MAX: none.
 */
static uint32_t choose_label(slicing *s, uint32_t node, double log2_size)
{
    const einsum_core *core = s->tree.core;
    double sum = fill_gains(s), best_score = INFINITY;
    uint32_t best = UINT32_MAX;
    double over = fill_excess(s, log2_size);
    for (uint32_t label = 0; label < core->label_count; label++) {
        uint32_t at = s->tree.positions[label];
        if (!has_label(einsum_tree_legs(&s->tree, node), at) || has_label(core->output, label)) continue;
        double extent = exp2(core->extents[label]);
        double growth = log2(fmax(extent - (extent - 1) * s->gains[at] / sum, 1)) / core->extents[label];
        double missed = over > 0 ? 1 - s->excess[at] / over : 0;
        double score = (growth + missed + 1e-3) * (1 + einsum_random_unit(&s->random));
        if (score < best_score) best = label, best_score = score;
    }
    return best;
}

/* The largest result that has a label which is not in the output; 0: none. */
static uint32_t find_largest(const slicing *s)
{
    const einsum_tree *tree = &s->tree;
    const uint64_t *output = einsum_tree_legs(tree, tree->node_count - 1);
    uint32_t best = 0;
    for (uint32_t node = tree->leaf_count; node < tree->node_count; node++) {
        const uint64_t *legs = einsum_tree_legs(tree, node);
        bool more = false;
        for (uint32_t w = 0; w < tree->words; w++) more = more || (legs[w] & ~output[w]) != 0;
        if (more && (best == 0 || tree->measures[node].size > tree->measures[best].size)) best = node;
    }
    return best;
}

/* False if no label is left that would help. */
static bool slice_down(slicing *s, double log2_size, double log2_peak, loop *out_loop)
{
    for (;;) {
        *out_loop = look(s);
        if (out_loop->log2_size <= log2_size + tolerance && out_loop->log2_peak <= log2_peak + tolerance) return true;
        uint32_t node = find_largest(s), label = node == 0 ? UINT32_MAX : choose_label(s, node, log2_size);
        if (label == UINT32_MAX) return false;
        set_slice(s, label, true);
    }
}

/* ---- rounds ---- */

static void copy(const slicing *s, const state *from, state *to)
{
    to->log2_total = from->log2_total;
    memcpy(to->nodes, from->nodes, s->tree.node_count * sizeof *to->nodes);
    memcpy(to->sliced, from->sliced, s->tree.core->words * sizeof *to->sliced);
}

static void keep(const slicing *s, const loop *l, state *out_state)
{
    out_state->log2_total = log2(l->total) + s->tree.shift;
    memcpy(out_state->nodes, s->tree.nodes, s->tree.node_count * sizeof *s->tree.nodes);
    memcpy(out_state->sliced, s->sliced, s->tree.core->words * sizeof *s->sliced);
}

static void keep_best(slicing *s, const loop *l)
{
    if (log2(l->total) + s->tree.shift < s->best.log2_total) keep(s, l, &s->best);
}

static void restore(slicing *s, const state *kept)
{
    const einsum_core *core = s->tree.core;
    memcpy(s->tree.nodes, kept->nodes, s->tree.node_count * sizeof *s->tree.nodes);
    for (uint32_t label = 0; label < core->label_count; label++) mark_slice(s, label, has_label(kept->sliced, label));
    einsum_tree_refresh(&s->tree);
}

static void anneal(slicing *s, double beta, double log2_size, uint64_t moves)
{
    const double step = pow(last_beta / beta, 1.0 / (STEPS - 1));
    s->heat.most_volume = einsum_tree_power(&s->tree, log2_size + tolerance - s->tree.shift);
    for (int i = 0; i < STEPS; i++, beta *= step) {
        einsum_heat_set(&s->heat, &s->tree, beta);
        einsum_heat_sweep(&s->heat, &s->tree, &s->random, moves / STEPS);
    }
    einsum_tree_lead(&s->tree, 0);
}

/* A try to do better at a target; what is dearer by more than chance allows is undone. */
static bool run_round(slicing *s, double log2_size, double log2_peak, double warmth)
{
    loop l;
    uint32_t count = 1 + einsum_random_below(&s->random, MOST_BACK);
    for (uint32_t i = 0; i < count; i++) put_one_back(s);
    if (!slice_down(s, log2_size, log2_peak, &l)) return false;
    if (s->tree.leaf_count > 2)
        anneal(s, least_beta + (most_beta - least_beta) * einsum_random_unit(&s->random), log2_size,
               (uint64_t)SWEEPS * s->tree.leaf_count);
    if (!slice_down(s, log2_size, log2_peak, &l)) return false;
    double allowed = -log(1 - einsum_random_unit(&s->random)) * warmth;
    if (log2(l.total) + s->tree.shift <= s->present.log2_total + allowed) keep(s, &l, &s->present);
    else restore(s, &s->present);
    return true;
}

/* `start` is the largest size at first. False if the limit cannot be kept. */
static bool search(slicing *s, double start)
{
    const einsum_slicing *options = s->options;
    uint64_t rounds = options->moves / ((uint64_t)SWEEPS * s->tree.leaf_count);
    double before = INFINITY;
    loop l;
    for (uint64_t i = 0; i < rounds && !einsum_stop_asked(&options->stop); i++) {
        double progress = (double)(i + 1) / (double)rounds, down = fmin(progress / descent, 1);
        bool arrived = down >= 1 || start <= options->log2_size;
        double target = arrived ? options->log2_size : floor(start + (options->log2_size - start) * down) + 1;
        double peak = arrived ? options->log2_peak : INFINITY;
        if (target != before) {
            if (!slice_down(s, target, peak, &l)) return false;
            keep(s, &l, &s->present);
        }
        before = target;
        if (!run_round(s, target, peak, temperature * (1 - progress))) return false;
        if (arrived && s->present.log2_total < s->best.log2_total) copy(s, &s->present, &s->best);
    }
    if (!slice_down(s, options->log2_size, options->log2_peak, &l)) return false;
    keep_best(s, &l);
    return true;
}

/* ---- all ---- */

/* Subtrees are put together anew, as if sliced labels were not there. */
static weft_status *polish(slicing *s, einsum_pair *pairs)
{
    einsum_core core = *s->tree.core;
    size_t words = (size_t)core.leaf_count * core.words;
    uint64_t *legs = einsum_arena_allocate(&s->arena, words, sizeof *legs);
    if (legs == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < words; i++) legs[i] = core.legs[i] & ~s->sliced[i % core.words];
    core.legs = legs;
    einsum_tree_save(&s->tree, pairs);
    WEFT_TRY(einsum_reconfigure_run(s->arena.allocator, &core, s->tree.score, PARTS, &s->options->stop, pairs));
    einsum_tree_link(&s->tree, pairs);
    loop l = look(s);
    if (l.log2_size <= s->options->log2_size + tolerance && l.log2_peak <= s->options->log2_peak + tolerance)
        keep_best(s, &l);
    restore(s, &s->best);
    return NULL;
}

static bool state_init(slicing *s, state *out_state)
{
    out_state->log2_total = INFINITY;
    out_state->nodes = einsum_arena_allocate(&s->arena, s->tree.node_count, sizeof *out_state->nodes);
    out_state->sliced = einsum_arena_allocate(&s->arena, s->tree.core->words, sizeof *out_state->sliced);
    return out_state->nodes != NULL && out_state->sliced != NULL;
}

static weft_status *slicing_init(slicing *s, const einsum_core *core, const einsum_score *score)
{
    WEFT_TRY(einsum_tree_init(&s->tree, &s->arena, core, score));
    einsum_heat_init(&s->heat);
    s->random = s->options->random;
    s->best.log2_total = INFINITY;
    s->sliced = einsum_arena_allocate(&s->arena, core->words, sizeof *s->sliced);
    bool well = s->sliced != NULL && state_init(s, &s->present) && state_init(s, &s->best);
    s->counts = einsum_arena_allocate(&s->arena, s->tree.node_count, sizeof *s->counts);
    s->excess = einsum_arena_allocate(&s->arena, (size_t)s->tree.words * 64, sizeof *s->gains);
    s->gains = einsum_arena_allocate(&s->arena, (size_t)s->tree.words * 64, sizeof *s->gains);
    return well && s->counts != NULL && s->excess != NULL && s->gains != NULL ? NULL : weft_status_out_of_memory();
}

static void report(slicing *s, bool fits, einsum_sliced *out)
{
    loop l = look(s);
    double shift = s->tree.shift, largest = log2(l.largest) + shift;
    double slice = log2(l.slice) + shift, total = log2(l.total) + shift;
    bool size = s->tree.tariff.objective == WEFT_EINSUM_SIZE;
    memcpy(out->labels, s->sliced, s->tree.core->words * sizeof *out->labels);
    out->log2_slices = s->log2_slices;
    out->slice = size ? (einsum_cost){largest, slice} : (einsum_cost){slice, largest};
    out->total = size ? (einsum_cost){largest, total} : (einsum_cost){total, largest};
    out->log2_size = l.log2_size;
    out->log2_peak = l.log2_peak;
    out->fits = fits;
}

static weft_status *run(slicing *s, const einsum_core *core, const einsum_score *score, einsum_pair *pairs,
                        einsum_sliced *out_sliced)
{
    WEFT_TRY(slicing_init(s, core, score));
    einsum_tree_load(&s->tree, pairs);
    loop l = look(s);
    bool fits = l.log2_size <= s->options->log2_size + tolerance && l.log2_peak <= s->options->log2_peak + tolerance;
    if (!fits && search(s, l.log2_size)) {
        restore(s, &s->best);
        WEFT_TRY(polish(s, pairs));
        einsum_tree_save(&s->tree, pairs);
        fits = true;
    }
    if (!fits) {
        memset(s->sliced, 0, core->words * sizeof *s->sliced);
        s->log2_slices = 0;
        einsum_tree_load(&s->tree, pairs);
    }
    report(s, fits, out_sliced);
    return NULL;
}

weft_status *einsum_slice_run(const weft_allocator *allocator, const einsum_core *core, const einsum_score *score,
                              const einsum_slicing *options, einsum_pair *pairs, einsum_sliced *out_sliced)
{
    slicing s = {.options = options};
    einsum_arena_init(&s.arena, allocator);
    weft_status *status = run(&s, core, score, pairs, out_sliced);
    einsum_arena_finish(&s.arena);
    return status;
}
