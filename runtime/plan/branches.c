/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/plan/branches.h"
#include <math.h>
#include <string.h>
#include "runtime/plan/depend.h"
#include "runtime/base/items.h"
#include "runtime/base/memory.h"
#include "runtime/step/step.h"

/*
 * A phase is found by growing components over the steps that are left, in order. A step that depends on steps of one
 * component joins it; one that depends on several merges them as long as the result stays under a cap, otherwise it
 * waits for a later phase, and so does everything that depends on it. In a tree this leaves subtrees of about equal
 * time. The components are dealt to branches, the longest first. Several caps are tried; the phase that saves most is
 * taken, if it saves enough. Where none does, the steps up to the next one that several need, or that uses all threads
 * well by itself, are left to run in sequence, and the search goes on after it. The steps that waited are searched
 * again.
 *
 * Only time depends on all this: any order that respects what steps need computes the same.
 */

#define WAITS UINT32_MAX /* instead of a component */

enum {
    CAPS = 5,       /* that are tried */
    CAP_FACTOR = 4, /* between one and the next */
    VISITS = 24     /* of each step, on average, before the search ends */
};

/* In the time that a job of the pool takes beside its work: least work for a branch; what a phase saves at least, also
 * as a part of what its steps take in sequence. */
static const double LEAST_BRANCH = 10, LEAST_SAVED = 5, LEAST_SHARE = 0.15;
/* Of a step that uses all threads so well, compared with the best there could be, nothing is gained in a branch. */
static const double WELL = 1.2;

typedef struct component {
    double time;
    uint32_t root, branch, size, next;
} component;

typedef struct finder {
    weft_bound_variant *bound;
    weft_branches_limits limits;
    weft_arena scratch;
    const uint32_t *memories;
    bool found;
} finder;

typedef struct node {
    weft_step_cost cost;
    double time;     /* of the component of which it is the root */
    uint32_t parent; /* in the component, or WAITS */
    uint32_t seen;   /* of a root: the place that saw it last */
    uint32_t index;  /* of a root: of the component */
    uint32_t uses;   /* by later places */
    bool narrow;     /* may gain in a branch */
    bool done;       /* has run before what is looked at */
} node;

/* The search in one sequence. */
typedef struct search {
    weft_branches_limits limits;
    size_t threads;
    double fork_join_ns;
    weft_depend depend;
    node *nodes;
    uint32_t *left; /* places that are in no phase yet, in order */
    size_t left_count;
    size_t visits; /* still allowed */
    component *components;
    size_t component_count;
    double *loads; /* of branches; of threads */
    uint32_t *order;
    weft_branch *branches;
    weft_phase *phases;
    size_t order_count, branch_count, phase_count;
} search;

/* ---- components ---- */

static uint32_t root_of(const search *s, uint32_t number)
{
    node *nodes = s->nodes;
    while (nodes[number].parent != number) number = nodes[number].parent = nodes[nodes[number].parent].parent;
    return number;
}

/* Whether the place has to wait: for one that waits, or because it would make too large a component. */
static bool has_to_wait(const search *s, uint32_t place, double cap)
{
    double time = s->nodes[place].cost.alone;
    size_t joined = 0;
    if (!s->nodes[place].narrow) return true;
    for (uint32_t i = s->depend.first[place]; i < s->depend.first[place + 1]; i++) {
        uint32_t needed = s->depend.before[i];
        if (s->nodes[needed].done) continue;
        if (s->nodes[needed].parent == WAITS) return true;
        uint32_t root = root_of(s, needed);
        if (s->nodes[root].seen == place) continue;
        s->nodes[root].seen = place;
        time += s->nodes[root].time;
        joined++;
    }
    return joined > 1 && time > cap;
}

static void join(search *s, uint32_t place, double cap)
{
    if (has_to_wait(s, place, cap)) {
        s->nodes[place].parent = WAITS;
        return;
    }
    s->nodes[place].parent = s->nodes[place].seen = place;
    s->nodes[place].time = s->nodes[place].cost.alone;
    for (uint32_t i = s->depend.first[place]; i < s->depend.first[place + 1]; i++) {
        uint32_t needed = s->depend.before[i];
        uint32_t root = s->nodes[needed].done ? place : root_of(s, needed);
        if (root == place) continue;
        s->nodes[root].parent = place;
        s->nodes[place].time += s->nodes[root].time;
    }
}

static int compare_times(const void *a, const void *b)
{
    const component *x = a, *y = b;
    if (x->time != y->time) return x->time > y->time ? -1 : 1;
    return x->root < y->root ? -1 : x->root > y->root;
}

/* Components of the places left[from .. to-1], the longest first; what their steps take in sequence. */
static double grow(search *s, size_t from, size_t to, double cap)
{
    double together = 0;
    s->component_count = 0;
    s->visits -= to - from < s->visits ? to - from : s->visits;
    for (size_t i = from; i < to; i++) join(s, s->left[i], cap);
    for (size_t i = from; i < to; i++) {
        uint32_t place = s->left[i];
        if (s->nodes[place].parent == WAITS) continue;
        together += s->nodes[place].cost.together;
        if (s->nodes[place].parent == place)
            s->components[s->component_count++] = (component){.time = s->nodes[place].time, .root = place};
    }
    weft_items_sort(s->components, s->component_count, sizeof *s->components, compare_times);
    return together;
}

/* ---- branches ---- */

static size_t least_of(const double *loads, size_t count)
{
    size_t least = 0;
    for (size_t i = 1; i < count; i++)
        if (loads[i] < loads[least]) least = i;
    return least;
}

/* Gives each component a branch; how long all branches take on the threads there are, INFINITY where there are no two.
 */
static double deal(search *s)
{
    double total = 0, longest = 0;
    double *loads = s->loads, *threads = s->loads + s->limits.branches;
    for (size_t i = 0; i < s->component_count; i++) total += s->components[i].time;
    size_t branches = s->component_count < s->limits.branches ? s->component_count : s->limits.branches;
    while (branches > 1 && total < LEAST_BRANCH * s->fork_join_ns * (double)branches) branches--;
    if (branches < 2) return HUGE_VAL;
    memset(s->loads, 0, (s->limits.branches + s->threads) * sizeof *s->loads);
    for (size_t i = 0; i < s->component_count; i++) {
        s->components[i].branch = (uint32_t)least_of(loads, branches);
        loads[s->components[i].branch] += s->components[i].time;
    }
    for (size_t branch = 0; branch < branches; branch++) {
        double *thread = &threads[least_of(threads, s->threads)];
        *thread += loads[branch];
        if (*thread > longest) longest = *thread;
    }
    return longest + s->fork_join_ns;
}

/* The cap that saves most in a phase from left[from] on; false where none saves enough. */
static bool find_cap(search *s, size_t from, size_t to, double *out_cap)
{
    double most = 0, cap = 0;
    for (size_t i = from; i < to; i++) cap += s->nodes[s->left[i]].cost.alone;
    cap /= (double)s->threads;
    for (int i = 0; i < CAPS; i++, cap /= CAP_FACTOR) {
        if (i == CAPS - 1 || cap < LEAST_BRANCH * s->fork_join_ns) cap = 0;
        double together = grow(s, from, to, cap), saved = together - deal(s);
        if (saved >= LEAST_SAVED * s->fork_join_ns && saved >= LEAST_SHARE * together && saved > most) {
            most = saved;
            *out_cap = cap;
        }
        if (cap == 0) break;
    }
    return most > 0;
}

/* ---- phases ---- */

static int compare_branches(const void *a, const void *b)
{
    const component *x = a, *y = b;
    if (x->branch != y->branch) return x->branch < y->branch ? -1 : 1;
    return x->root < y->root ? -1 : x->root > y->root;
}

static void end_branch(search *s, weft_phase *phase, size_t first)
{
    s->branches[s->branch_count++] = (weft_branch){s->order_count - first, s->order + first};
    phase->branch_count++;
}

static void take(search *s, uint32_t place)
{
    s->order[s->order_count++] = s->depend.steps[place];
    s->nodes[place].done = true;
}

static void drop_done(search *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->left_count; i++)
        if (!s->nodes[s->left[i]].done) s->left[count++] = s->left[i];
    s->left_count = count;
}

static void add_sequence(search *s, size_t count)
{
    weft_phase *phase = &s->phases[s->phase_count];
    size_t first = s->order_count;
    if (count == 0) return;
    *phase = (weft_phase){.branches = s->branches + s->branch_count};
    for (size_t i = 0; i < count; i++) take(s, s->left[i]);
    end_branch(s, phase, first);
    s->phase_count++;
}

/* Steps lie by branch, in it by component, in that in order. */
static void sort_places(search *s, size_t from, size_t to)
{
    uint32_t next = 0;
    weft_items_sort(s->components, s->component_count, sizeof *s->components, compare_branches);
    for (size_t i = 0; i < s->component_count; i++) s->nodes[s->components[i].root].index = (uint32_t)i;
    for (size_t i = from; i < to; i++)
        if (s->nodes[s->left[i]].parent != WAITS) s->components[s->nodes[root_of(s, s->left[i])].index].size++;
    for (size_t i = 0; i < s->component_count; i++) {
        s->components[i].next = next;
        next += s->components[i].size;
    }
    uint32_t *order = s->order + s->order_count;
    for (size_t i = from; i < to; i++)
        if (s->nodes[s->left[i]].parent != WAITS)
            order[s->components[s->nodes[root_of(s, s->left[i])].index].next++] = s->left[i];
}

static void add_branches(search *s, size_t from, size_t to)
{
    weft_phase *phase = &s->phases[s->phase_count++];
    *phase = (weft_phase){.branches = s->branches + s->branch_count};
    sort_places(s, from, to);
    for (size_t i = 0; i < s->component_count;) {
        uint32_t branch = s->components[i].branch;
        size_t first = s->order_count, end = first;
        for (; i < s->component_count && s->components[i].branch == branch; i++) end += s->components[i].size;
        while (s->order_count < end) take(s, s->order[s->order_count]);
        end_branch(s, phase, first);
    }
}

static size_t window_end(const search *s, size_t from)
{
    return s->left_count - from < s->limits.window ? s->left_count : from + s->limits.window;
}

/* Leaves out the steps up to the first one that several need, or that is not for branches: they run before the others.
 */
static size_t next_start(search *s, size_t from)
{
    bool last = false;
    for (; from < s->left_count && !last; from++) {
        node *first = &s->nodes[s->left[from]];
        last = !first->narrow || first->uses > 1;
        first->done = true;
    }
    return from;
}

static void cut(search *s)
{
    while (s->left_count > 0) {
        size_t from = 0;
        double cap = 0;
        bool found = false;
        while (from < s->left_count && s->visits > 0) {
            found = find_cap(s, from, window_end(s, from), &cap);
            if (found) break;
            from = next_start(s, from);
        }
        size_t end = window_end(s, from);
        add_sequence(s, found ? from : s->left_count);
        if (found) {
            grow(s, from, end, cap);
            deal(s);
            add_branches(s, from, end);
        }
        drop_done(s);
    }
}

/* ---- sequences ---- */

static void *take_array(finder *f, size_t count, size_t size)
{
    void *array = weft_arena_allocate(&f->scratch, (count + 1) * size);
    return array == NULL ? NULL : memset(array, 0, (count + 1) * size);
}

static weft_status *search_init(finder *f, search *s, size_t first, size_t count)
{
    if (f->memories == NULL) f->memories = weft_depend_memories(f->bound, &f->scratch);
    if (f->memories == NULL) return weft_status_out_of_memory();
    WEFT_TRY(weft_depend_fill(f->bound, f->memories, first, count, &f->scratch, &s->depend));
    size_t places = s->depend.count;
    s->limits = f->limits;
    s->threads = weft_pool_size(f->bound->pool);
    s->fork_join_ns = 1e9 * weft_pool_machine(f->bound->pool)->fork_join_seconds;
    s->visits = VISITS * places;
    s->left_count = places;
    s->nodes = take_array(f, places, sizeof *s->nodes);
    s->left = take_array(f, places, sizeof *s->left);
    s->components = take_array(f, places, sizeof *s->components);
    s->loads = take_array(f, s->limits.branches + s->threads, sizeof *s->loads);
    s->order = take_array(f, places, sizeof *s->order);
    s->branches = take_array(f, places, sizeof *s->branches);
    s->phases = take_array(f, places, sizeof *s->phases);
    bool fine = s->nodes != NULL && s->left != NULL && s->components != NULL && s->loads != NULL;
    return fine && s->order != NULL && s->branches != NULL && s->phases != NULL ? NULL : weft_status_out_of_memory();
}

static void fill_places(const finder *f, search *s)
{
    const weft_depend *depend = &s->depend;
    for (uint32_t i = 0; i < depend->count; i++) {
        weft_step_cost cost = weft_steps_cost(f->bound, depend->steps[i]);
        bool narrow = cost.is_timed && cost.together * (double)s->threads >= WELL * cost.alone;
        s->nodes[i] = (node){.cost = cost, .narrow = narrow};
        s->left[i] = i;
        for (uint32_t j = depend->first[i]; j < depend->first[i + 1]; j++) s->nodes[depend->before[j]].uses++;
    }
}

/* The phases found, in the memory of the binding. */
static weft_status *keep(finder *f, search *s, size_t first)
{
    weft_arena *arena = &f->bound->arena;
    uint32_t *order = weft_arena_copy(arena, s->order, s->order_count * sizeof *order);
    weft_branch *branches = weft_arena_copy(arena, s->branches, s->branch_count * sizeof *branches);
    weft_phase *phases = weft_arena_copy(arena, s->phases, s->phase_count * sizeof *phases);
    weft_phases *kept = weft_arena_allocate(arena, sizeof *kept);
    if (order == NULL || branches == NULL || phases == NULL || kept == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < s->branch_count; i++) branches[i].steps = order + (s->branches[i].steps - s->order);
    for (size_t i = 0; i < s->phase_count; i++) phases[i].branches = branches + (s->phases[i].branches - s->branches);
    *kept = (weft_phases){s->phase_count, phases};
    f->bound->steps[first].phases = kept;
    f->found = true;
    return NULL;
}

static weft_status *fill_sequence(finder *f, size_t first, size_t count);

static weft_status *fill_parts(finder *f, size_t number)
{
    const weft_step *step = f->bound->steps[number].step;
    if (step->kind != WEFT_STEP_REGION) return NULL;
    WEFT_TRY(fill_sequence(f, number + 1, step->region.parts[0]));
    return fill_sequence(f, number + 1 + step->region.parts[0], step->region.parts[1]);
}

/* Less than two branches of work, or than two steps. */
static bool is_small(const weft_bound_variant *bound, size_t first, size_t count)
{
    double time = 0, fork_join_ns = 1e9 * weft_pool_machine(bound->pool)->fork_join_seconds;
    size_t steps = 0;
    for (size_t i = first; i < first + count; i += 1 + weft_step_nested(bound->steps[i].step)) {
        weft_step_cost cost = weft_steps_cost(bound, i);
        if (cost.is_timed) time += cost.alone;
        steps++;
    }
    return steps < 2 || time < 2 * LEAST_BRANCH * fork_join_ns;
}

/* Branches are not nested. */
static weft_status *fill_sequence(finder *f, size_t first, size_t count)
{
    search s = {.left_count = 0};
    if (!is_small(f->bound, first, count)) {
        WEFT_TRY(search_init(f, &s, first, count));
        fill_places(f, &s);
        cut(&s);
    }
    if (s.phase_count > 1 || (s.phase_count == 1 && s.phases[0].branch_count > 1)) WEFT_TRY(keep(f, &s, first));
    else s.phase_count = 0;
    for (size_t i = first; s.phase_count == 0 && i < first + count; i += 1 + weft_step_nested(f->bound->steps[i].step))
        WEFT_TRY(fill_parts(f, i));
    for (size_t i = 0; i < s.phase_count; i++)
        for (size_t j = 0; s.phases[i].branch_count == 1 && j < s.phases[i].branches->count; j++)
            WEFT_TRY(fill_parts(f, s.phases[i].branches->steps[j]));
    return NULL;
}

static weft_status *fill_branches(weft_bound_variant *bound, weft_branches_limits limits, bool *out_found)
{
    finder f = {.bound = bound, .limits = limits};
    size_t count = bound->variant->step_count;
    weft_arena_init(&f.scratch, bound->allocator);
    for (size_t i = 0; i < count; i++) bound->steps[i].phases = NULL;
    weft_status *status = weft_pool_size(bound->pool) > 1 ? fill_sequence(&f, 0, count) : NULL;
    weft_arena_finish(&f.scratch);
    *out_found = f.found;
    return status;
}

const weft_branch_methods weft_plan_branches = {fill_branches};
