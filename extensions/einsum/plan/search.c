/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A portfolio. It starts from greedy orders, sweeps, eliminations and bisections. Half of the moves go into chains of
 * annealing that begin hot, each from one of the best starts; the others into rounds in which the better half of the
 * chains, until they are few, restarts from its own orders, less hot and with more moves each. Subtrees of starts, and
 * of chains that improve on the best so far, get their best order: that is quick, and does for networks of many small
 * operands what annealing does not. Chains depend on their number and the seed only, never on the thread that runs
 * them.
 */
#include "search.h"
#include "workers.h"
#include <string.h>

enum {
    FEW_MOVES = 160,        /* for each leaf: less is for the first greedy order alone */
    START_MOVES = 1000,     /* for each leaf, before another start or chain pays; a start takes a third of them */
    PAIR_MOVES = 2,         /* for each pair of leaves, before another chain pays: deep trees take long to cool */
    MOST_ELIMINATED = 1000, /* leaves, for elimination and bisection */
    MOST_HASTY = 1000,      /* leaves, for the first start to be polished whatever happens */
    MOST_SWEEPS = 16,       /* of which a start is the best */
    MOST_CHAINS = 16,
    FEW_CHAINS = 2, /* go on to the end */
    WARM_ROUNDS = 8,
    TRIAL_MOVES = 20000, /* that tell how fast this machine is */
    FEW_PARTS = 6,       /* of a subtree that gets its best order, of a start */
    MORE_PARTS = 8
};

/* For labels of extent 2. */
static const double first_beta = 0.5, last_beta = 20, least_warm = 1.5, most_warm = 4.5;

typedef struct candidate {
    einsum_pair *pairs;
    einsum_cost cost;
    const char *found_by;
} candidate;

typedef struct searching {
    const weft_allocator *allocator;
    const einsum_core *core;
    einsum_core alike; /* with the same extent for all labels */
    const einsum_search *options;
    einsum_arena arena;
    einsum_stop stop;
    einsum_pair *result;
    candidate best;
    einsum_cost noted; /* the best that the watcher knows of */
    candidate *starts, *chains;
    size_t sweep_count, start_count, chain_count;
    double coolness;      /* by which inverse temperatures are multiplied */
    uint64_t chain_moves; /* of this round */
    double chain_seconds; /* the same where time counts, else 0 */
    size_t round;         /* 0: hot */
} searching;

static size_t clamp(uint64_t x, size_t least, size_t most)
{
    return x < least ? least : x > most ? most : (size_t)x;
}

static size_t order_size(const searching *s)
{
    return (s->core->leaf_count - 1) * sizeof(einsum_pair);
}

static bool candidate_init(searching *s, candidate *c)
{
    c->pairs = einsum_arena_allocate(&s->arena, s->core->leaf_count, sizeof *c->pairs);
    c->cost = EINSUM_WORST_COST;
    return c->pairs != NULL;
}

static void copy(const searching *s, const candidate *from, candidate *to)
{
    to->cost = from->cost;
    to->found_by = from->found_by;
    memcpy(to->pairs, from->pairs, order_size(s));
}

static bool is_watched(const searching *s)
{
    return s->options->watch != NULL && s->options->watch->told != NULL;
}

/* Tells the watcher, on its thread; out of memory, it does not. */
static void note(searching *s, const candidate *c)
{
    einsum_cost cost;
    einsum_arena arena;
    einsum_watch *watch = s->options->watch;
    if (c->found_by == NULL || !is_watched(s) || !pthread_equal(watch->thread, pthread_self())) return;
    if (!einsum_cost_less(c->cost, s->noted)) return;
    einsum_arena_init(&arena, s->allocator);
    weft_status *status = einsum_core_cost(&arena, s->core, &watch->flops, c->pairs, &cost);
    if (status == NULL) {
        s->noted = c->cost;
        watch->log2_flops = einsum_log2_add(watch->log2_rest, cost.major + watch->log2_common);
        watch->found_by = c->found_by;
    }
    weft_status_destroy(status);
    einsum_arena_finish(&arena);
}

/* Of equal candidates the first stays. */
static void keep(searching *s, const candidate *c)
{
    if (!einsum_cost_less(c->cost, s->best.cost)) return;
    copy(s, c, &s->best);
    note(s, c);
}

static weft_status *price(const searching *s, candidate *c)
{
    einsum_arena arena;
    einsum_arena_init(&arena, s->allocator);
    weft_status *status = einsum_core_cost(&arena, s->core, &s->options->score, c->pairs, &c->cost);
    einsum_arena_finish(&arena);
    return status;
}

/* Gives subtrees of up to `parts` their best order, and fills the cost. */
static weft_status *polish(const searching *s, uint32_t parts, const einsum_stop *stop, candidate *c)
{
    WEFT_TRY(einsum_reconfigure_run(s->allocator, s->core, &s->options->score, parts, stop, c->pairs));
    return price(s, c);
}

static uint64_t chains_worth(const searching *s, uint64_t moves)
{
    uint64_t leaves = s->core->leaf_count, pairs = PAIR_MOVES * leaves;
    return moves / (leaves * (pairs > START_MOVES ? pairs : START_MOVES));
}

/* ---- starts ---- */

typedef struct start {
    enum { GREEDY, NOISY, SWEEPS, MIN_DEGREE, MIN_FILL, BISECTION } method;
    double parameter; /* of SWEEPS: whether all extents count as alike, which networks of several layers need */
} start;

/* The first ones differ most: where time is short there are no others. */
static const start starts[] = {
    {GREEDY, 0},     {SWEEPS, 0}, {MIN_FILL, 0}, {BISECTION, .05}, {SWEEPS, 1}, {SWEEPS, 0},
    {MIN_DEGREE, 0}, {NOISY, .1}, {SWEEPS, 1},   {BISECTION, .2},  {GREEDY, 1}, {MIN_FILL, 0},
    {SWEEPS, 0},     {NOISY, .3}, {NOISY, .01},  {GREEDY, -1},
};
enum { STARTS = sizeof starts / sizeof *starts, LEAST_STARTS = 4 };

/* The best of several, if any of them finishes. */
static weft_status *run_sweeps(const searching *s, const einsum_core *core, einsum_random random, einsum_pair *pairs,
                               bool *out_ended)
{
    einsum_arena arena;
    einsum_arena_init(&arena, s->allocator);
    einsum_cost least = EINSUM_WORST_COST, cost;
    einsum_pair *found = einsum_arena_allocate(&arena, s->core->leaf_count, sizeof *found);
    weft_status *status = found == NULL ? weft_status_out_of_memory() : NULL;
    bool ended = false;
    *out_ended = true;
    for (uint32_t i = 0; i < s->sweep_count && status == NULL; i++) {
        status = einsum_sweep_run(s->allocator, core, i % EINSUM_SWEEP_MANNERS,
                                  einsum_random_start(einsum_random_next(&random), i), &s->stop, found, &ended);
        if (ended) break;
        if (status == NULL) status = einsum_core_cost(&arena, s->core, &s->options->score, found, &cost);
        if (status != NULL || (i > 0 && !einsum_cost_less(cost, least))) continue;
        least = cost;
        memcpy(pairs, found, order_size(s));
        *out_ended = false;
    }
    einsum_arena_finish(&arena);
    return status;
}

/* Methods that end early report it: then there is no order. GREEDY and BISECTION never do. */
static weft_status *make_start(const searching *s, size_t index, einsum_pair *pairs, bool *out_ended)
{
    const einsum_core *core = s->core;
    const start *which = &starts[index];
    einsum_random random = einsum_random_start(s->options->seed, index);
    einsum_greedy greedy = {.log2_factor = which->parameter, .random = random};
    *out_ended = false;
    switch (which->method) {
    case MIN_DEGREE:
        return einsum_eliminate_run(s->allocator, core, EINSUM_MIN_DEGREE, random, &s->stop, pairs, out_ended);
    case MIN_FILL: return einsum_eliminate_run(s->allocator, core, EINSUM_MIN_FILL, random, &s->stop, pairs, out_ended);
    case BISECTION: return einsum_bisect_run(s->allocator, core, which->parameter, random, pairs);
    case SWEEPS: return run_sweeps(s, which->parameter > 0 ? &s->alike : core, random, pairs, out_ended);
    case NOISY:
        greedy.log2_factor = 4 * einsum_random_unit(&greedy.random) - 2;
        greedy.temperature = which->parameter;
        break;
    case GREEDY: break;
    }
    return einsum_greedy_run(s->allocator, core, &greedy, pairs);
}

static weft_status *run_start(void *context, size_t index)
{
    static const char *const names[] = {
        [GREEDY] = "greedy",          [NOISY] = "greedy",         [SWEEPS] = "sweeps",
        [MIN_DEGREE] = "elimination", [MIN_FILL] = "elimination", [BISECTION] = "bisection"};
    searching *s = context;
    candidate *c = &s->starts[index];
    bool ended, too_large = starts[index].method >= MIN_DEGREE && s->core->leaf_count > MOST_ELIMINATED;
    if (too_large || (index > 0 && einsum_stop_asked(&s->stop))) return NULL;
    WEFT_TRY(make_start(s, index, c->pairs, &ended));
    if (ended) return NULL;
    c->found_by = names[starts[index].method];
    const einsum_stop *stop = index == 0 && s->core->leaf_count <= MOST_HASTY ? NULL : &s->stop;
    WEFT_TRY(s->start_count > 1 ? polish(s, FEW_PARTS, stop, c) : price(s, c));
    note(s, c);
    return NULL;
}

static void sort(size_t count, candidate *c)
{
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0 && einsum_cost_less(c[k].cost, c[k - 1].cost); k--) {
            candidate swapped = c[k];
            c[k] = c[k - 1];
            c[k - 1] = swapped;
        }
}

/* The first is made even if the time is over. */
static weft_status *run_starts(searching *s, size_t count)
{
    s->start_count = count;
    for (size_t i = 0; i < count; i++)
        if (!candidate_init(s, &s->starts[i])) return weft_status_out_of_memory();
    WEFT_TRY(einsum_workers_run(s->options->threads, &(einsum_tasks){count, run_start, s}));
    sort(count, s->starts);
    keep(s, &s->starts[0]);
    return NULL;
}

/* ---- annealing ---- */

static weft_status *run_chain(void *context, size_t index)
{
    searching *s = context;
    candidate *c = &s->chains[index];
    einsum_random random = einsum_random_start(s->options->seed, STARTS + s->round * MOST_CHAINS + index);
    double beta = s->round == 0 ? first_beta : least_warm + (most_warm - least_warm) * einsum_random_unit(&random);
    const einsum_anneal options = {.moves = s->chain_moves,
                                   .first_beta = beta * s->coolness,
                                   .last_beta = last_beta * s->coolness,
                                   .random = random,
                                   .stop = s->stop,
                                   .seconds = s->chain_seconds};
    if (s->round == 0) {
        const candidate *from = &s->starts[index % s->start_count];
        copy(s, from->cost.major == INFINITY ? &s->best : from, c);
    }
    if (einsum_stop_asked(&s->stop)) return NULL;
    WEFT_TRY(einsum_anneal_run(s->allocator, s->core, &s->options->score, &options, c->pairs, &c->cost));
    c->found_by = "annealing";
    if (einsum_cost_less(c->cost, s->best.cost)) WEFT_TRY(polish(s, MORE_PARTS, &s->stop, c));
    note(s, c);
    return NULL;
}

/* With a deadline, each of up to MOST_CHAINS threads gets one. */
static size_t fewest_chains(const searching *s)
{
    bool timed = s->stop.deadline < INFINITY;
    return timed ? clamp(s->options->threads, FEW_CHAINS, MOST_CHAINS) : FEW_CHAINS;
}

/* Runs all chains once, with `moves` together, and drops the worse half. A best order that no chain has found is for
 * the last chain to go on with. */
static weft_status *run_round(searching *s, uint64_t moves)
{
    s->chain_moves = moves / s->chain_count;
    WEFT_TRY(einsum_workers_run(s->options->threads, &(einsum_tasks){s->chain_count, run_chain, s}));
    for (size_t i = 0; i < s->chain_count; i++) keep(s, &s->chains[i]);
    sort(s->chain_count, s->chains);
    s->chain_count = clamp((s->chain_count + 1) / 2, fewest_chains(s), MOST_CHAINS);
    if (einsum_cost_less(s->best.cost, s->chains[0].cost)) copy(s, &s->best, &s->chains[s->chain_count - 1]);
    s->round++;
    return NULL;
}

static weft_status *init_chains(searching *s, uint64_t moves)
{
    s->chain_count = clamp(chains_worth(s, moves), fewest_chains(s), MOST_CHAINS);
    for (size_t i = 0; i < s->chain_count; i++)
        if (!candidate_init(s, &s->chains[i])) return weft_status_out_of_memory();
    return NULL;
}

static weft_status *anneal_moves(searching *s, uint64_t moves)
{
    WEFT_TRY(init_chains(s, moves));
    WEFT_TRY(run_round(s, moves / 2));
    for (size_t i = 0; i < WARM_ROUNDS && !einsum_stop_asked(&s->stop); i++)
        WEFT_TRY(run_round(s, moves / 2 / WARM_ROUNDS));
    return NULL;
}

static double seconds_since(double begin)
{
    return fmax(einsum_stop_clock() - begin, 1e-9);
}

/* The moves that a thread tries in a second, measured by a short run. */
static weft_status *measure(searching *s, double *out_rate)
{
    double begin = einsum_stop_clock();
    const einsum_anneal options = {.moves = TRIAL_MOVES, .first_beta = 1, .last_beta = 1, .stop = s->stop};
    copy(s, &s->best, &s->chains[0]);
    WEFT_TRY(
        einsum_anneal_run(s->allocator, s->core, &s->options->score, &options, s->chains[0].pairs, &s->chains[0].cost));
    keep(s, &s->chains[0]);
    *out_rate = TRIAL_MOVES / seconds_since(begin);
    return NULL;
}

/* Runs until the time is over; the first half of it is for the hot round. Every round measures the rate for the next.
 */
static weft_status *anneal_seconds(searching *s)
{
    double rate, whole = s->stop.deadline - einsum_stop_clock();
    if (einsum_stop_asked(&s->stop)) return NULL;
    if (!candidate_init(s, &s->chains[0])) return weft_status_out_of_memory();
    WEFT_TRY(measure(s, &rate));
    WEFT_TRY(init_chains(s, einsum_moves_of(whole * rate * (double)s->options->threads)));
    for (double seconds = whole / 2; !einsum_stop_asked(&s->stop); seconds = whole / 2 / WARM_ROUNDS) {
        double begin = einsum_stop_clock(), left = fmin(s->stop.deadline - begin, seconds);
        double waves = ceil((double)s->chain_count / (double)s->options->threads), moves = rate * left / waves;
        s->chain_seconds = left / waves;
        WEFT_TRY(run_round(s, einsum_moves_of(moves * (double)s->chain_count)));
        rate = fmax(moves, 1) * waves / seconds_since(begin);
    }
    return NULL;
}

/* ---- the search ---- */

/* The watcher already knows the order that the result holds. */
static weft_status *price_noted(searching *s)
{
    candidate given = {s->result, EINSUM_WORST_COST, NULL};
    if (!is_watched(s)) return NULL;
    WEFT_TRY(price(s, &given));
    s->noted = given.cost;
    return NULL;
}

/* A few moves are for the first greedy order alone. */
static bool has_few_moves(const searching *s)
{
    return s->options->moves < (uint64_t)FEW_MOVES * s->core->leaf_count;
}

/* A temperature that suits labels of extent 2 suits larger ones times their bits. */
static bool searching_init(searching *s)
{
    const einsum_core *core = s->core;
    double bits = 0, *extents = einsum_arena_allocate(&s->arena, core->label_count, sizeof *extents);
    s->starts = einsum_arena_allocate(&s->arena, STARTS, sizeof *s->starts);
    s->chains = einsum_arena_allocate(&s->arena, MOST_CHAINS, sizeof *s->chains);
    if (extents == NULL || s->starts == NULL || s->chains == NULL || !candidate_init(s, &s->best)) return false;
    for (uint32_t label = 0; label < core->label_count; label++) {
        bits += core->extents[label];
        extents[label] = 1;
    }
    s->coolness = core->label_count / bits;
    s->alike = *core;
    s->alike.extents = extents;
    return true;
}

static weft_status *search(searching *s)
{
    uint64_t moves = s->options->moves, starts_worth = moves / ((uint64_t)START_MOVES * s->core->leaf_count);
    bool few = has_few_moves(s);
    if (!searching_init(s)) return weft_status_out_of_memory();
    s->sweep_count = clamp(EINSUM_SWEEP_MANNERS * chains_worth(s, moves), EINSUM_SWEEP_MANNERS, MOST_SWEEPS);
    WEFT_TRY(run_starts(s, few ? 1 : clamp(starts_worth, LEAST_STARTS, STARTS)));
    if (s->options->improve) {
        candidate given = {s->result, EINSUM_WORST_COST, NULL};
        WEFT_TRY(price(s, &given));
        keep(s, &given);
    }
    if (few) return NULL;
    WEFT_TRY(s->stop.deadline < INFINITY ? anneal_seconds(s) : anneal_moves(s, moves));
    return einsum_stop_asked(&s->stop) ? NULL : polish(s, MORE_PARTS, &s->stop, &s->best);
}

weft_status *einsum_search_run(const weft_allocator *allocator, const einsum_core *core, const einsum_search *options,
                               einsum_pair *out_pairs)
{
    if (core->leaf_count < 3) {
        einsum_order_left(core->leaf_count, out_pairs);
        return NULL;
    }
    searching s = {.allocator = allocator,
                   .core = core,
                   .options = options,
                   .stop = {options->cancel, options->deadline, options->watch},
                   .noted = EINSUM_WORST_COST,
                   .result = out_pairs};
    bool ended;
    if (!options->improve && has_few_moves(&s)) return make_start(&s, 0, out_pairs, &ended);
    einsum_arena_init(&s.arena, allocator);
    weft_status *status = price_noted(&s);
    if (status == NULL) status = search(&s);
    if (status == NULL) memcpy(out_pairs, s.best.pairs, order_size(&s));
    einsum_arena_finish(&s.arena);
    return status;
}
