/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AUTO. Up to eight operands get their best order. For more, the best order without outer products is found where that
 * is easy; else there is a search, on a network that is simplified further. Unless the caller gives a budget, searches
 * grow until they took as long as the order that they found makes worthwhile. Under a memory limit, most of the budget
 * is left for slicing.
 */
#include "plan.h"
#include "plan/search.h"
#include "plan/simplify.h"
#include "plan/slice.h"
#include "plan/workers.h"
#include <string.h>

enum {
    WHOLE_LIMIT = 8,       /* so few operands are planned at once, outer products included */
    OUTER_LIMIT = 10,      /* so few leaves of a core, too */
    LEAST_STATES = 256,    /* of the exact method */
    EASY_STATES = 20000,   /* more than a chain of 100 has: it may take the whole budget */
    MOST_STATES = 1000000, /* it may take a quarter */
    STATE_MOVES = 40,      /* what a state costs, in moves */
    STEP_MOVES = 4000,     /* half a millisecond: compiling a step takes longer */
    MOST_STEPS = 2000      /* that count so */
};

static const double easy_seconds = 0.06; /* what EASY_STATES take */
static const double searching = 0.3;     /* share of the budget, until it is known whether slices are needed */
/* The share of the time of contracting that planning may take; its bound, in seconds; moves of annealing in a second.
 */
static const double worth = 0.5, most_seconds = 60, moves_per_second = 8e6;

typedef struct finding {
    einsum_arena *arena;
    const einsum_problem *problem;
    const einsum_planner *planner;
    einsum_score score, time;
    weft_dtype dtype;
    double begin;         /* of einsum_stop_clock */
    einsum_search search; /* with the budget of the whole */
    double share;         /* of it, for searching */
    bool exact;           /* the order found is the best */
    einsum_simple simple;
    einsum_pair **core_pairs;
    einsum_pair *out_pairs;
    einsum_labels *out_sliced;
    einsum_watch watch;
} finding;

static weft_status *simplify(finding *f, einsum_depth depth)
{
    WEFT_TRY(einsum_simplify_run(f->arena, f->problem, depth, &f->simple));
    f->core_pairs = einsum_arena_allocate(f->arena, f->simple.core_count, sizeof(einsum_pair *));
    if (f->core_pairs == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < f->simple.core_count; i++) {
        f->core_pairs[i] = einsum_arena_allocate(f->arena, f->simple.cores[i].leaf_count, sizeof **f->core_pairs);
        if (f->core_pairs[i] == NULL) return weft_status_out_of_memory();
    }
    f->search.score = f->score;
    f->search.score.log2_slowness += f->simple.log2_common;
    f->search.score.log2_bytes += f->simple.log2_common;
    return NULL;
}

static weft_status *join(finding *f)
{
    const einsum_pair *const *core_pairs = (const einsum_pair *const *)f->core_pairs;
    return einsum_simplify_join(f->arena, f->problem, &f->simple, core_pairs, f->out_pairs);
}

/* ---- the budget ---- */

/* The cost of the orders of all cores together. */
static weft_status *add_up(const finding *f, einsum_score score, double *out_cost)
{
    score.log2_slowness += f->simple.log2_common;
    score.log2_bytes += f->simple.log2_common;
    *out_cost = -INFINITY;
    for (size_t i = 0; i < f->simple.core_count; i++) {
        einsum_cost cost;
        WEFT_TRY(einsum_core_cost(f->arena, &f->simple.cores[i], &score, f->core_pairs[i], &cost));
        if (score.objective == WEFT_EINSUM_SIZE) *out_cost = fmax(*out_cost, cost.major);
        else *out_cost = einsum_log2_add(*out_cost, cost.major);
    }
    return NULL;
}

static weft_status *run_greedy(finding *f)
{
    for (size_t i = 0; i < f->simple.core_count; i++)
        WEFT_TRY(einsum_greedy_run(f->arena->allocator, &f->simple.cores[i], &(einsum_greedy){.log2_factor = 0},
                                   f->core_pairs[i]));
    return NULL;
}

static bool is_told_how_long(const finding *f)
{
    return f->planner->budget > 0 || f->planner->moves > 0;
}

/* The moves that are always worthwhile. */
static double least_moves(const finding *f)
{
    return fmin((double)f->problem->operand_count, MOST_STEPS) * STEP_MOVES;
}

/* The moves that are worthwhile if contracting takes so long. */
static double worth_moves(const finding *f, double log2_seconds)
{
    return fmax(fmin(exp2(log2_seconds) * worth, most_seconds) * moves_per_second, least_moves(f));
}

static void set_budget(finding *f, double log2_seconds)
{
    const einsum_planner *planner = f->planner;
    size_t threads = einsum_workers_size(planner->threads);
    double moves = worth_moves(f, log2_seconds);
    double seconds = (double)planner->budget * 1e-9;
    if (planner->budget > 0) moves = seconds * (double)threads * moves_per_second;
    if (planner->moves > 0) moves = (double)planner->moves;
    f->search.seed = planner->seed;
    f->search.threads = threads;
    f->search.cancel = planner->cancel;
    f->search.watch = &f->watch;
    f->search.deadline = planner->budget > 0 ? f->begin + seconds : INFINITY;
    f->search.moves = einsum_moves_of(moves);
}

/* When the search for orders ends; slicing is next, if it is needed. */
static double search_end(const finding *f)
{
    return f->begin + (f->search.deadline - f->begin) * f->share;
}

/* ---- cores ---- */

static weft_status *try_exact(finding *f, bool *out_found)
{
    uint64_t all = f->search.moves / STATE_MOVES, quarter = all / 4;
    uint64_t states = all < LEAST_STATES ? LEAST_STATES : all > EASY_STATES ? EASY_STATES : all;
    if (quarter > states && is_told_how_long(f)) states = quarter > MOST_STATES ? MOST_STATES : quarter;
    double seconds = search_end(f) - f->begin;
    einsum_stop stop = {f->search.cancel, f->begin + fmin(seconds / 2, fmax(seconds / 8, easy_seconds)), &f->watch};
    *out_found = true;
    for (size_t i = 0; i < f->simple.core_count && *out_found; i++) {
        const einsum_core *core = &f->simple.cores[i];
        WEFT_TRY(einsum_exact_run(f->arena->allocator, core, &f->search.score, core->leaf_count <= OUTER_LIMIT,
                                  (size_t)states, &stop, f->core_pairs[i], out_found));
    }
    return NULL;
}

static bool is_watched(const finding *f)
{
    return f->watch.told != NULL;
}

/* Tells the watcher of the orders of all cores. */
static weft_status *announce(finding *f, const char *found_by)
{
    double log2_flops = -INFINITY;
    if (!is_watched(f)) return NULL;
    for (size_t i = 0; i < f->simple.core_count; i++) {
        einsum_cost cost;
        WEFT_TRY(einsum_core_cost(f->arena, &f->simple.cores[i], &f->watch.flops, f->core_pairs[i], &cost));
        log2_flops = einsum_log2_add(log2_flops, cost.major + f->simple.log2_common);
    }
    f->watch.log2_flops = log2_flops;
    f->watch.found_by = found_by;
    return NULL;
}

/* The search begins with the same orders and takes no worse ones: they may be told before it. */
static weft_status *announce_greedy(finding *f)
{
    finding first = *f;
    if (!is_watched(f)) return NULL;
    WEFT_TRY(simplify(&first, EINSUM_DEPTH_FULL));
    WEFT_TRY(run_greedy(&first));
    WEFT_TRY(announce(&first, "greedy"));
    f->watch = first.watch;
    return NULL;
}

/* Fills what the watcher has to know besides the core that is searched next: the cost of all others. */
static weft_status *look_around(finding *f, size_t searched)
{
    einsum_watch *watch = &f->watch;
    if (!is_watched(f)) return NULL;
    watch->log2_common = f->simple.log2_common;
    watch->log2_rest = -INFINITY;
    for (size_t i = 0; i < f->simple.core_count; i++) {
        einsum_cost cost;
        if (i == searched) continue;
        WEFT_TRY(einsum_core_cost(f->arena, &f->simple.cores[i], &watch->flops, f->core_pairs[i], &cost));
        watch->log2_rest = einsum_log2_add(watch->log2_rest, cost.major + watch->log2_common);
    }
    return NULL;
}

/* Each core gets a share of the moves, or of the time that is left, in proportion to its leaves. */
static weft_status *search(finding *f)
{
    size_t leaves = 0;
    for (size_t i = 0; i < f->simple.core_count; i++) leaves += f->simple.cores[i].leaf_count;
    uint64_t moves = einsum_moves_of((double)f->search.moves * f->share);
    double end = search_end(f);
    if (is_watched(f) && !f->search.improve) WEFT_TRY(run_greedy(f));
    for (size_t i = 0; i < f->simple.core_count; i++) {
        const einsum_core *core = &f->simple.cores[i];
        double share = (double)core->leaf_count / (double)leaves, now = einsum_stop_clock();
        einsum_search options = f->search;
        options.moves = einsum_moves_of((double)moves * share);
        options.deadline = end < INFINITY ? now + (end - now) * share : INFINITY;
        WEFT_TRY(look_around(f, i));
        WEFT_TRY(einsum_search_run(f->arena->allocator, core, &options, f->core_pairs[i]));
        moves -= options.moves < moves ? options.moves : moves;
        leaves -= core->leaf_count;
    }
    return NULL;
}

/* Each search has up to four times the moves of the one before, and begins with its orders. */
static weft_status *search_growing(finding *f)
{
    enum { GROWTH = 4 };
    double spent = 0, moves = least_moves(f), seconds = 0;
    for (double enough = moves; spent < enough; moves = fmin(enough - spent, GROWTH * moves)) {
        f->search.moves = einsum_moves_of(moves);
        WEFT_TRY(search(f));
        f->search.improve = true;
        WEFT_TRY(add_up(f, f->time, &seconds));
        spent += moves;
        enough = worth_moves(f, seconds);
        if (einsum_stop_cancelled(f->search.cancel)) break;
    }
    return NULL;
}

/* ---- slices ---- */

static weft_status *over_limit(const finding *f, const einsum_sliced *sliced)
{
    const weft_allocator *allocator = f->arena->allocator;
    double log2_bytes = sliced->log2_peak + log2((double)weft_dtype_size(f->dtype));
    if (sliced->fits)
        return einsum_planner_over_limit(allocator, f->planner->limit,
                                         "a loop over slices that keep it has 2^%.1f "
                                         "iterations, more than an int64 counts",
                                         sliced->log2_slices);
    return einsum_planner_over_limit(allocator, f->planner->limit,
                                     "no order and slices were found that keep it; "
                                     "without slices the intermediates that live at once take %s bytes",
                                     einsum_planner_print_bytes(log2_bytes).text);
}

/* The order found, as one core, and its slices, with which it may become another order. */
typedef struct cutting {
    einsum_simple plain;
    einsum_pair *pairs;
    einsum_sliced sliced;
} cutting;

/* Sums of 16-bit floats are f32, and copies of small operands. */
static bool is_widened(const finding *f)
{
    return f->problem->copied && (f->dtype == WEFT_F16 || f->dtype == WEFT_BF16);
}

/* log2 of the elements that live at once. */
static double most_elements(const finding *f)
{
    return log2((double)f->planner->limit) - log2((double)weft_dtype_size(is_widened(f) ? WEFT_F32 : f->dtype));
}

/* Absorbed values are not sliced: so small that all together take little of the limit. */
static double most_absorbed(const finding *f)
{
    static const double log2_share = -4;
    return fmax(most_elements(f) + log2_share - log2((double)f->problem->operand_count), 0);
}

/* A core of one leaf fits. */
static weft_status *slice(finding *f, uint64_t moves, cutting *out_cutting)
{
    cutting *c = out_cutting;
    *c = (cutting){.sliced = {.fits = true}};
    WEFT_TRY(
        einsum_simplify_plain(f->arena, f->problem, f->simple.step_count, most_absorbed(f), f->out_pairs, &c->plain));
    einsum_core *core = &c->plain.cores[0];
    core->widened = is_widened(f);
    c->pairs = einsum_arena_allocate(f->arena, core->leaf_count, sizeof *c->pairs);
    c->sliced.labels = einsum_arena_allocate(f->arena, core->words, sizeof *c->sliced.labels);
    if (c->pairs == NULL || c->sliced.labels == NULL) return weft_status_out_of_memory();
    if (core->leaf_count < 2) return NULL;
    einsum_slicing options = {.log2_size = INFINITY,
                              .log2_peak = most_elements(f),
                              .moves = moves,
                              .threads = f->search.threads,
                              .random = einsum_random_start(f->search.seed, 0),
                              .stop = {f->search.cancel, f->search.deadline, &f->watch}};
    einsum_simplify_part(f->problem, &c->plain, f->out_pairs, c->pairs);
    WEFT_TRY(einsum_slice_run(f->arena->allocator, core, &f->score, &options, c->pairs, &c->sliced));
    return NULL;
}

/* Whether it keeps the limit and its iterations fit an int64 (more would never finish anyway). */
static bool is_usable(const cutting *c)
{
    return c->sliced.fits && einsum_core_size(&c->plain.cores[0], c->sliced.labels) < 62;
}

/* Makes the order and the slices of the cutting the result. */
static weft_status *take(finding *f, const cutting *c)
{
    const einsum_core *core = &c->plain.cores[0];
    const uint64_t *labels = c->sliced.labels;
    uint32_t *items = einsum_arena_allocate(f->arena, core->label_count, sizeof *items);
    if (items == NULL) return weft_status_out_of_memory();
    *f->out_sliced = (einsum_labels){0, items};
    for (uint32_t label = 0; label < core->label_count; label++)
        if (labels[label / 64] >> label % 64 & 1) items[f->out_sliced->count++] = c->plain.labels[label];
    return einsum_simplify_join(f->arena, f->problem, &c->plain, (const einsum_pair *const[]){c->pairs}, f->out_pairs);
}

/* If no slices are needed, the rest of the budget is for searching; what is found then may need some. */
static weft_status *search_on(finding *f, cutting *best)
{
    cutting next;
    f->share = 1;
    f->search.improve = true;
    f->search.moves = einsum_moves_of((double)f->search.moves * (1 - searching));
    WEFT_TRY(search(f));
    WEFT_TRY(join(f));
    WEFT_TRY(slice(f, 1, &next));
    if (is_usable(&next) && einsum_cost_less(next.sliced.total, best->sliced.total)) *best = next;
    return NULL;
}

static weft_status *keep_limit(finding *f)
{
    cutting best;
    WEFT_TRY(slice(f, einsum_moves_of((double)f->search.moves * (1 - searching)), &best));
    if (!is_usable(&best)) WEFT_TRY(einsum_planner_check(f->arena->allocator, f->planner));
    if (!is_usable(&best)) return over_limit(f, &best.sliced);
    if (!f->exact && best.sliced.log2_slices == 0) WEFT_TRY(search_on(f, &best));
    return take(f, &best);
}

/* ---- by the number of operands ---- */

static weft_status *find_few(finding *f)
{
    WEFT_TRY(simplify(f, EINSUM_DEPTH_WHOLE));
    f->search.moves = EASY_STATES * STATE_MOVES;
    f->search.deadline = INFINITY;
    WEFT_TRY(try_exact(f, &f->exact));
    f->exact = true; /* or as good as it gets */
    set_budget(f, -INFINITY);
    WEFT_TRY(announce(f, "exact"));
    return join(f);
}

static weft_status *find_many(finding *f)
{
    double log2_seconds = -INFINITY;
    WEFT_TRY(simplify(f, EINSUM_DEPTH_SAFE));
    if (!is_told_how_long(f)) {
        WEFT_TRY(run_greedy(f));
        WEFT_TRY(add_up(f, f->time, &log2_seconds));
    }
    set_budget(f, log2_seconds);
    WEFT_TRY(announce_greedy(f));
    WEFT_TRY(try_exact(f, &f->exact));
    if (f->exact) {
        WEFT_TRY(announce(f, "exact"));
        return join(f);
    }
    WEFT_TRY(simplify(f, EINSUM_DEPTH_FULL));
    WEFT_TRY(is_told_how_long(f) ? search(f) : search_growing(f));
    return join(f);
}

static weft_status *find(finding *f)
{
    size_t count = f->problem->operand_count;
    if (count > WHOLE_LIMIT) WEFT_TRY(find_many(f));
    else if (count > 2) WEFT_TRY(find_few(f));
    else {
        einsum_order_left(count, f->out_pairs); /* the only order */
        f->exact = true;
        set_budget(f, -INFINITY);
    }
    return f->planner->limit > 0 && count > 1 ? keep_limit(f) : NULL;
}

weft_status *einsum_plan_find(einsum_arena *arena, const einsum_problem *problem, const einsum_planner *planner,
                              weft_dtype dtype, einsum_pair *out_pairs, einsum_labels *out_sliced)
{
    *out_sliced = (einsum_labels){0, NULL};
    finding f = {.arena = arena,
                 .problem = problem,
                 .planner = planner,
                 .dtype = dtype,
                 .begin = einsum_stop_clock(),
                 .share = planner->limit > 0 ? searching : 1,
                 .score = einsum_planner_score(planner, planner->minimize, dtype),
                 .time = einsum_planner_score(planner, WEFT_EINSUM_TIME, dtype),
                 .out_pairs = out_pairs,
                 .out_sliced = out_sliced};
    f.watch = (einsum_watch){.told = planner->watch,
                             .thread = pthread_self(),
                             .begin = f.begin,
                             .budget = (double)planner->budget * 1e-9,
                             .flops = einsum_planner_score(planner, WEFT_EINSUM_FLOPS, dtype),
                             .log2_flops = INFINITY,
                             .found_by = ""};
    return find(&f);
}
