/* SPDX-License-Identifier: Apache-2.0 */
#include "simplify.h"
#include "heap.h"
#include "live.h"
#include "random.h"
#include <math.h>
#include <string.h>

static const uint32_t none = UINT32_MAX;

/* ---- hash tables ---- */

/* Numbers by hash, with open addressing; the caller compares. */
typedef struct table {
    size_t mask;
    uint32_t *items; /* number + 1 */
} table;

static bool table_init(table *t, einsum_arena *arena, size_t count)
{
    size_t capacity = 16;
    while (capacity < 2 * count) capacity *= 2;
    t->mask = capacity - 1;
    t->items = einsum_arena_allocate(arena, capacity, sizeof *t->items);
    return t->items != NULL;
}

/* ---- absorbing ---- */

typedef struct absorption {
    einsum_live live;
    table seen;
    uint64_t *hashes; /* by value: the hash of its set of labels */
} absorption;

/* The live value with the labels of `value`, which is added where there is none. */
static uint32_t find_equal(absorption *a, uint32_t value)
{
    const einsum_live_value *added = &a->live.values[value];
    uint64_t hash = 0;
    for (uint32_t i = 0; i < added->count; i++) hash += einsum_random_mix(added->held[i].label + UINT64_C(1));
    hash = a->hashes[value] = einsum_random_mix(hash);
    size_t at = (size_t)hash & a->seen.mask;
    for (; a->seen.items[at] != 0; at = (at + 1) & a->seen.mask) {
        uint32_t other = a->seen.items[at] - 1;
        if (!a->live.values[other].gone && a->hashes[other] == hash && einsum_live_equal(&a->live, value, other))
            return other;
    }
    a->seen.items[at] = value + 1;
    return none;
}

/* The neighbour of `value` that is cheapest to merge with, of those whose result does not grow. */
static uint32_t find_cheap(absorption *a, uint32_t value)
{
    enum { MOST_PARTNERS = 16 };
    uint32_t best = none;
    double best_work = INFINITY, size = a->live.values[value].size;
    einsum_live_look(&a->live, value, MOST_PARTNERS);
    for (size_t k = 0; k < a->live.near_count; k++) {
        einsum_near near = a->live.near[k];
        double other = a->live.values[near.value].size, larger = fmax(size, other);
        double work = size + other - near.shared, slack = 1e-9 * (1 + larger);
        if (work - near.summed > larger + slack || work > larger + 2 + slack || work >= best_work) continue;
        best = near.value;
        best_work = work;
    }
    return best;
}

static bool absorb(absorption *a, einsum_arena *arena, bool cheap)
{
    size_t values = 2 * a->live.leaf_count;
    a->hashes = einsum_arena_allocate(arena, values, sizeof *a->hashes);
    if (a->hashes == NULL || !table_init(&a->seen, arena, values)) return false;
    einsum_live_enter_leaves(&a->live);
    for (uint32_t v = 0; v < a->live.value_count; v++) {
        if (a->live.values[v].gone) continue;
        uint32_t other = find_equal(a, v);
        if (other == none && cheap) other = find_cheap(a, v);
        if (other == none) continue;
        if (!einsum_live_join(&a->live, other, v)) return false;
        einsum_live_enter(&a->live, einsum_live_latest(&a->live));
    }
    return true;
}

/* ---- absorbing small operands ---- */

/* A complete order whose steps are being moved. */
typedef struct reordering {
    einsum_walk walk;
    size_t operand_count;
    einsum_pair *pairs;
    size_t *numbers; /* by value: its new number; 0 of results that have none yet */
} reordering;

static bool is_made(const einsum_problem *problem, size_t value)
{
    bool operand = value < problem->operand_count;
    return !operand || problem->copied || (problem->summed != NULL && problem->summed[value]);
}

/* Whether a value is an operand or the result of a step that is done, and takes little memory. */
static bool is_small(const reordering *r, size_t value, double log2_most)
{
    const einsum_problem *problem = r->walk.problem;
    if (value >= problem->operand_count) return r->numbers[value] > 0;
    return !is_made(problem, value) || r->walk.sizes[value] <= log2_most;
}

/* Does those of the first `count` steps whose operands and results are small. */
static bool join_small(reordering *r, size_t count, double log2_most, einsum_live *live)
{
    for (size_t k = 0; k < count; k++) {
        einsum_pair pair = r->pairs[k];
        size_t result = r->operand_count + k;
        if (!einsum_walk_join(&r->walk, pair)) return false;
        if (!is_small(r, pair.a, log2_most) || !is_small(r, pair.b, log2_most)) continue;
        if (r->walk.sizes[result] > log2_most) continue;
        if (!einsum_live_join(live, (uint32_t)r->numbers[pair.a], (uint32_t)r->numbers[pair.b])) return false;
        r->numbers[result] = einsum_live_latest(live);
    }
    return true;
}

/* Moves the steps that are done to the front; the others keep their order. */
static bool move_steps(reordering *r, einsum_arena *arena, const einsum_live *live)
{
    size_t steps = r->operand_count - 1, next = live->value_count;
    einsum_pair *moved = einsum_arena_allocate(arena, steps, sizeof *moved);
    if (moved == NULL) return false;
    for (size_t k = 0; k < steps; k++) {
        size_t *number = &r->numbers[r->operand_count + k];
        if (*number == 0) *number = next++;
        moved[*number - r->operand_count] = (einsum_pair){r->numbers[r->pairs[k].a], r->numbers[r->pairs[k].b]};
    }
    if (steps > 0) memcpy(r->pairs, moved, steps * sizeof *moved);
    return true;
}

static weft_status *absorb_small(einsum_arena *arena, const einsum_problem *problem, size_t count, double log2_most,
                                 einsum_pair *pairs, einsum_live *live)
{
    reordering r = {.operand_count = problem->operand_count, .pairs = pairs};
    r.numbers = einsum_arena_allocate(arena, 2 * r.operand_count, sizeof *r.numbers);
    if (r.numbers == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < r.operand_count; i++) r.numbers[i] = i;
    WEFT_TRY(einsum_walk_init(&r.walk, arena, problem));
    bool well = join_small(&r, count, log2_most, live) && move_steps(&r, arena, live);
    return well ? NULL : weft_status_out_of_memory();
}

/* ---- the remaining problem, as cores ---- */

/* Leaves are the live values, numbered from 0. */
typedef struct rest {
    einsum_arena *arena;
    const einsum_live *live;
    const einsum_problem *problem;
    uint32_t leaf_count;
    uint32_t *leaves;  /* by leaf: its value */
    bool *in_output;   /* by label */
    uint32_t *starts;  /* by label: where its leaves begin in `holders`; one more at the end */
    uint32_t *holders; /* ascending for each label */
    uint32_t *fused;   /* by label: the one it is fused into; `none` if it is left out */
    double *extents;   /* by label, fused ones included */
    uint32_t *parts;   /* by leaf: one of its component (union-find), then the number of its core */
    uint32_t dropped;  /* a leaf that another one has absorbed, or `none` */
    double *sizes;     /* by leaf that is a root: log2 of the result of its component */
    uint32_t *places;  /* by leaf: number in its core */
    uint32_t *label_places;
} rest;

static bool rest_init(rest *r)
{
    size_t labels = r->live->label_count, leaves = r->live->leaf_count;
    r->leaves = einsum_arena_allocate(r->arena, leaves, sizeof *r->leaves);
    r->in_output = einsum_arena_allocate(r->arena, labels, sizeof *r->in_output);
    r->starts = einsum_arena_allocate(r->arena, labels + 1, sizeof *r->starts);
    r->fused = einsum_arena_allocate(r->arena, labels, sizeof *r->fused);
    r->extents = einsum_arena_allocate(r->arena, labels, sizeof *r->extents);
    r->parts = einsum_arena_allocate(r->arena, leaves, sizeof *r->parts);
    r->sizes = einsum_arena_allocate(r->arena, leaves, sizeof *r->sizes);
    r->places = einsum_arena_allocate(r->arena, leaves, sizeof *r->places);
    r->label_places = einsum_arena_allocate(r->arena, labels, sizeof *r->label_places);
    return r->leaves != NULL && r->in_output != NULL && r->starts != NULL && r->fused != NULL && r->extents != NULL &&
           r->parts != NULL && r->sizes != NULL && r->places != NULL && r->label_places != NULL;
}

static bool fill_holders(rest *r)
{
    size_t labels = r->live->label_count;
    for (uint32_t v = 0; v < r->live->value_count; v++) {
        const einsum_live_value *value = &r->live->values[v];
        if (value->gone) continue;
        r->leaves[r->leaf_count++] = v;
        for (uint32_t i = 0; i < value->count; i++) r->starts[value->held[i].label + 1]++;
    }
    for (size_t l = 0; l < labels; l++) r->starts[l + 1] += r->starts[l];
    uint32_t *next = einsum_arena_allocate(r->arena, labels, sizeof *next);
    r->holders = einsum_arena_allocate(r->arena, r->starts[labels], sizeof *r->holders);
    if (next == NULL || r->holders == NULL) return false;
    for (uint32_t leaf = 0; leaf < r->leaf_count; leaf++) {
        const einsum_live_value *value = &r->live->values[r->leaves[leaf]];
        for (uint32_t i = 0; i < value->count; i++) {
            uint32_t label = value->held[i].label;
            r->holders[r->starts[label] + next[label]++] = leaf;
        }
    }
    return true;
}

static uint32_t holder_count(const rest *r, uint32_t label)
{
    return r->starts[label + 1] - r->starts[label];
}

/* The first label that has the same holders as `label`, which may be itself. */
static uint32_t find_companion(const rest *r, table *seen, uint32_t label)
{
    uint64_t hash = r->in_output[label];
    for (uint32_t i = r->starts[label]; i < r->starts[label + 1]; i++)
        hash = einsum_random_mix(hash + r->holders[i] + 1);
    size_t at = (size_t)hash & seen->mask;
    const uint32_t *holders = r->holders + r->starts[label], count = holder_count(r, label);
    for (; seen->items[at] != 0; at = (at + 1) & seen->mask) {
        uint32_t other = seen->items[at] - 1;
        if (r->in_output[other] == r->in_output[label] && holder_count(r, other) == count &&
            memcmp(r->holders + r->starts[other], holders, count * sizeof *holders) == 0)
            return other;
    }
    seen->items[at] = label + 1;
    return label;
}

/* Fuses labels; `out_common` gets log2 of the size of those that all leaves and the output have. */
static bool fuse(rest *r, double *out_common)
{
    table seen;
    if (!table_init(&seen, r->arena, r->live->label_count)) return false;
    for (size_t k = 0; k < r->problem->output.count; k++) r->in_output[r->problem->output.items[k]] = true;
    *out_common = 0;
    for (uint32_t label = 0; label < r->live->label_count; label++) {
        bool common = r->in_output[label] && holder_count(r, label) == r->leaf_count;
        r->fused[label] = none;
        if (common) *out_common += r->live->extents[label];
        if (common || holder_count(r, label) == 0) continue;
        r->fused[label] = find_companion(r, &seen, label);
        r->extents[r->fused[label]] += r->live->extents[label];
    }
    return true;
}

static void leave_labels(rest *r)
{
    for (size_t k = 0; k < r->problem->output.count; k++) r->in_output[r->problem->output.items[k]] = true;
    for (uint32_t label = 0; label < r->live->label_count; label++) {
        r->fused[label] = holder_count(r, label) == 0 ? none : label;
        r->extents[label] = r->live->extents[label];
    }
}

static bool is_kept(const rest *r, uint32_t label)
{
    return r->fused[label] == label;
}

/* ---- components ---- */

static uint32_t root_of(rest *r, uint32_t leaf)
{
    while (r->parts[leaf] != leaf) leaf = r->parts[leaf] = r->parts[r->parts[leaf]];
    return leaf;
}

/* The root of a component is its first leaf. */
static void unite(rest *r)
{
    for (uint32_t label = 0; label < r->live->label_count; label++) {
        for (uint32_t i = r->starts[label] + 1; is_kept(r, label) && i < r->starts[label + 1]; i++) {
            uint32_t a = root_of(r, r->holders[i - 1]), b = root_of(r, r->holders[i]);
            r->parts[a > b ? a : b] = a > b ? b : a;
        }
    }
}

static double smallest_result(rest *r, uint32_t except)
{
    for (uint32_t label = 0; label < r->live->label_count; label++)
        if (is_kept(r, label) && r->in_output[label])
            r->sizes[root_of(r, r->holders[r->starts[label]])] += r->extents[label];
    double least = INFINITY;
    for (uint32_t leaf = 0; leaf < r->leaf_count; leaf++)
        if (r->parts[leaf] == leaf && leaf != except) least = fmin(least, r->sizes[leaf]);
    return least;
}

/* A scalar goes to the smallest leaf, unless the result of a component is no larger. */
static void absorb_scalar(rest *r, einsum_simple *simple)
{
    uint32_t scalar = none, smallest = none;
    double most = simple->log2_common * (1 + 1e-9);
    for (uint32_t leaf = 0; leaf < r->leaf_count && scalar == none; leaf++)
        if (!(r->live->values[r->leaves[leaf]].size > most)) scalar = leaf;
    if (scalar == none) return;
    double least = smallest_result(r, scalar) + most;
    for (uint32_t leaf = 0; leaf < r->leaf_count; leaf++) {
        double size = r->live->values[r->leaves[leaf]].size;
        if (leaf == scalar || size >= least) continue;
        smallest = leaf;
        least = size;
    }
    if (smallest == none) return;
    r->dropped = scalar;
    simple->steps[simple->step_count] = (einsum_pair){r->leaves[scalar], r->leaves[smallest]};
    r->leaves[smallest] = (uint32_t)(r->live->leaf_count + simple->step_count++);
}

/* Makes a core of each component, or one of all leaves. */
static void split(rest *r, bool whole, einsum_simple *simple)
{
    for (uint32_t leaf = 0; leaf < r->leaf_count; leaf++) r->parts[leaf] = whole ? 0 : leaf;
    r->dropped = none;
    if (!whole) {
        unite(r);
        absorb_scalar(r, simple);
    }
    for (uint32_t leaf = 0; leaf < r->leaf_count; leaf++) r->parts[leaf] = root_of(r, leaf);
    for (uint32_t leaf = 0; leaf < r->leaf_count; leaf++) {
        if (leaf == r->dropped) continue;
        r->parts[leaf] = r->parts[leaf] == leaf ? (uint32_t)simple->core_count++ : r->parts[r->parts[leaf]];
    }
}

/* ---- filling cores ---- */

/* The arrays of a core, to be written. */
typedef struct draft {
    uint64_t *legs, *output;
    double *extents;
} draft;

/* Places leaves and labels in their cores, and allocates the cores. */
static bool reserve_cores(rest *r, einsum_simple *simple, draft *drafts)
{
    for (uint32_t leaf = 0; leaf < r->leaf_count; leaf++)
        if (leaf != r->dropped) r->places[leaf] = simple->cores[r->parts[leaf]].leaf_count++;
    for (uint32_t label = 0; label < r->live->label_count; label++)
        if (is_kept(r, label))
            r->label_places[label] = simple->cores[r->parts[r->holders[r->starts[label]]]].label_count++;
    for (size_t c = 0; c < simple->core_count; c++) {
        einsum_core *core = &simple->cores[c];
        draft *d = &drafts[c];
        core->words = (core->label_count + 63) / 64;
        core->legs = d->legs = einsum_arena_allocate(r->arena, (size_t)core->leaf_count * core->words, sizeof *d->legs);
        core->output = d->output = einsum_arena_allocate(r->arena, core->words, sizeof *d->output);
        core->extents = d->extents = einsum_arena_allocate(r->arena, core->label_count, sizeof *d->extents);
        simple->values[c] = einsum_arena_allocate(r->arena, core->leaf_count, sizeof **simple->values);
        if (d->legs == NULL || d->output == NULL || d->extents == NULL || simple->values[c] == NULL) return false;
    }
    return true;
}

static bool fill_cores(rest *r, einsum_simple *simple)
{
    simple->cores = einsum_arena_allocate(r->arena, simple->core_count, sizeof *simple->cores);
    simple->values = einsum_arena_allocate(r->arena, simple->core_count, sizeof(size_t *));
    draft *drafts = einsum_arena_allocate(r->arena, simple->core_count, sizeof *drafts);
    if (simple->cores == NULL || simple->values == NULL || drafts == NULL) return false;
    if (!reserve_cores(r, simple, drafts)) return false;
    for (uint32_t leaf = 0; leaf < r->leaf_count; leaf++)
        if (leaf != r->dropped) simple->values[r->parts[leaf]][r->places[leaf]] = r->leaves[leaf];
    for (uint32_t label = 0; label < r->live->label_count; label++) {
        if (!is_kept(r, label)) continue;
        uint32_t place = r->label_places[label], c = r->parts[r->holders[r->starts[label]]];
        uint64_t bit = UINT64_C(1) << place % 64;
        drafts[c].extents[place] = r->extents[label];
        if (r->in_output[label]) drafts[c].output[place / 64] |= bit;
        for (uint32_t i = r->starts[label]; i < r->starts[label + 1]; i++)
            drafts[c].legs[(size_t)r->places[r->holders[i]] * simple->cores[c].words + place / 64] |= bit;
    }
    return true;
}

/* ---- entry points ---- */

static bool begin(const rest *r, einsum_live *live, einsum_simple *out_simple)
{
    *out_simple =
        (einsum_simple){.steps = einsum_arena_allocate(r->arena, r->problem->operand_count, sizeof *out_simple->steps)};
    return out_simple->steps != NULL && einsum_live_init_problem(live, r->arena, r->problem, out_simple->steps);
}

/* Takes the values that are left in `live`, whose steps so far are the absorptions. */
static bool leave(rest *r, const einsum_live *live, einsum_simple *simple)
{
    r->live = live;
    simple->step_count = live->value_count - live->leaf_count;
    return rest_init(r) && fill_holders(r);
}

weft_status *einsum_simplify_run(einsum_arena *arena, const einsum_problem *problem, einsum_depth depth,
                                 einsum_simple *out_simple)
{
    absorption a;
    rest r = {.arena = arena, .problem = problem};
    bool well = begin(&r, &a.live, out_simple) && absorb(&a, arena, depth == EINSUM_DEPTH_FULL) &&
                leave(&r, &a.live, out_simple) && fuse(&r, &out_simple->log2_common);
    if (!well) return weft_status_out_of_memory();
    split(&r, depth == EINSUM_DEPTH_WHOLE, out_simple);
    return fill_cores(&r, out_simple) ? NULL : weft_status_out_of_memory();
}

weft_status *einsum_simplify_plain(einsum_arena *arena, const einsum_problem *problem, size_t absorbed,
                                   double log2_most, einsum_pair *pairs, einsum_simple *out_simple)
{
    einsum_live live;
    rest r = {.arena = arena, .problem = problem};
    if (!begin(&r, &live, out_simple)) return weft_status_out_of_memory();
    WEFT_TRY(absorb_small(arena, problem, absorbed, log2_most, pairs, &live));
    if (!leave(&r, &live, out_simple)) return weft_status_out_of_memory();
    leave_labels(&r);
    split(&r, true, out_simple);
    if (!fill_cores(&r, out_simple)) return weft_status_out_of_memory();
    uint32_t *labels = einsum_arena_allocate(arena, out_simple->cores[0].label_count, sizeof *labels);
    bool *made = einsum_arena_allocate(arena, r.leaf_count, sizeof *made);
    if (labels == NULL || made == NULL) return weft_status_out_of_memory();
    for (uint32_t label = 0; label < live.label_count; label++)
        if (is_kept(&r, label)) labels[r.label_places[label]] = label;
    for (uint32_t leaf = 0; leaf < r.leaf_count; leaf++) made[leaf] = is_made(problem, r.leaves[leaf]);
    out_simple->labels = labels;
    out_simple->cores[0].made = made;
    return NULL;
}

/* ---- the way back ---- */

void einsum_simplify_part(const einsum_problem *problem, const einsum_simple *simple, const einsum_pair *pairs,
                          einsum_pair *out_core_pairs)
{
    size_t leaves = simple->cores[0].leaf_count, first = problem->operand_count + simple->step_count;
    const einsum_pair *steps = pairs + simple->step_count;
    for (size_t k = 0; k + 1 < leaves; k++) {
        const size_t parts[] = {steps[k].a, steps[k].b};
        size_t *places[] = {&out_core_pairs[k].a, &out_core_pairs[k].b};
        for (size_t i = 0; i < 2; i++) {
            size_t at = 0;
            while (parts[i] < first && simple->values[0][at] != parts[i]) at++;
            *places[i] = parts[i] < first ? at : leaves + parts[i] - first;
        }
    }
}

typedef struct joining {
    const einsum_simple *simple;
    size_t operand_count, step_count;
    einsum_pair *pairs;
} joining;

static size_t add_step(joining *j, size_t a, size_t b)
{
    j->pairs[j->step_count] = (einsum_pair){a, b};
    return j->operand_count + j->step_count++;
}

/* Adds the steps of core `c`; returns the value it becomes. */
static size_t add_core(joining *j, size_t c, const einsum_pair *pairs)
{
    size_t leaves = j->simple->cores[c].leaf_count, first = j->operand_count + j->step_count;
    const size_t *values = j->simple->values[c];
    for (size_t k = 0; k + 1 < leaves; k++) {
        size_t a = pairs[k].a, b = pairs[k].b;
        add_step(j, a < leaves ? values[a] : first + a - leaves, b < leaves ? values[b] : first + b - leaves);
    }
    return leaves == 1 ? values[0] : first + leaves - 2;
}

weft_status *einsum_simplify_join(einsum_arena *arena, const einsum_problem *problem, const einsum_simple *simple,
                                  const einsum_pair *const *core_pairs, einsum_pair *out_pairs)
{
    joining j = {simple, problem->operand_count, simple->step_count, out_pairs};
    memcpy(out_pairs, simple->steps, simple->step_count * sizeof *out_pairs);
    einsum_heap heap = {.arena = arena};
    for (size_t c = 0; c < simple->core_count; c++) {
        uint32_t value = (uint32_t)add_core(&j, c, core_pairs[c]);
        double size = einsum_core_size(&simple->cores[c], simple->cores[c].output);
        if (!einsum_heap_push(&heap, (einsum_candidate){size, value, 0})) return weft_status_out_of_memory();
    }
    while (heap.size > 1) {
        einsum_candidate x = einsum_heap_pop(&heap), y = einsum_heap_pop(&heap);
        einsum_candidate both = {x.score + y.score, (uint32_t)add_step(&j, x.a, y.a), 0};
        if (!einsum_heap_push(&heap, both)) return weft_status_out_of_memory();
    }
    return NULL;
}
