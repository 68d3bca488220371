/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Greedy contraction: of all pairs of values with a common label, the one whose result is smallest against what it
 * replaces is joined next, by the score size(result) / factor - (size(a) + size(b)) * factor; values that share no
 * label come last, the smallest two first. Candidates wait in a heap and keep the score they came in with. The result
 * depends on the input only.
 */
#include "plan.h"
#include <math.h>

/* Of the values that share one label, so many are paired with a new one: a label of thousands must not make millions of
 * pairs. */
enum { MOST_PARTNERS = 32 };

typedef struct candidate {
    double score;
    uint32_t a, b; /* a < b */
} candidate;

typedef struct member {
    struct member *next;
    uint32_t value;
} member;

typedef struct greedy {
    einsum_arena arena;
    einsum_walk walk;
    double log2_factor;
    double *sizes;    /* by value: log2 of its elements */
    bool *gone;       /* by value: joined already */
    uint32_t *paired; /* by value: the value + 1 it was last proposed to */
    member **members; /* by label: values that have it, the latest first */
    candidate *heap;
    size_t heap_size, heap_capacity;
    einsum_pair *pairs;
    size_t pair_count;
} greedy;

/* ---- heap ---- */

static bool comes_before(const candidate *x, const candidate *y)
{
    if (x->score != y->score) return x->score < y->score;
    return x->a != y->a ? x->a < y->a : x->b < y->b;
}

static bool heap_reserve(greedy *g)
{
    if (g->heap_size < g->heap_capacity) return true;
    size_t capacity = 2 * g->heap_capacity + 64;
    candidate *heap = einsum_arena_allocate(&g->arena, capacity, sizeof *heap);
    if (heap == NULL) return false;
    for (size_t i = 0; i < g->heap_size; i++) heap[i] = g->heap[i];
    g->heap = heap;
    g->heap_capacity = capacity;
    return true;
}

static bool heap_push(greedy *g, candidate added)
{
    if (!heap_reserve(g)) return false;
    size_t at = g->heap_size++;
    for (; at > 0 && comes_before(&added, &g->heap[(at - 1) / 2]); at = (at - 1) / 2)
        g->heap[at] = g->heap[(at - 1) / 2];
    g->heap[at] = added;
    return true;
}

static candidate heap_pop(greedy *g)
{
    candidate top = g->heap[0], last = g->heap[--g->heap_size];
    size_t at = 0;
    for (size_t child = 1; child < g->heap_size; child = 2 * at + 1) {
        if (child + 1 < g->heap_size && comes_before(&g->heap[child + 1], &g->heap[child])) child++;
        if (!comes_before(&g->heap[child], &last)) break;
        g->heap[at] = g->heap[child];
        at = child;
    }
    g->heap[at] = last;
    return top;
}

/* ---- candidates ---- */

/* A number that orders like 2^x - 2^y, which itself may be too large to hold. */
static double difference(double x, double y)
{
    static const double largest = 1 << 20, ln2 = 0.69314718055994530942;
    double high = x > y ? x : y, gap = fabs(x - y);
    if (gap == 0) return 0;
    double magnitude = largest + high + log2(-expm1(-gap * ln2));
    return x > y ? magnitude : -magnitude;
}

static bool propose(greedy *g, uint32_t a, uint32_t b)
{
    double result = einsum_walk_result_size(&g->walk, a, b), replaced = einsum_log2_add(g->sizes[a], g->sizes[b]);
    double score = difference(result - g->log2_factor, replaced + g->log2_factor);
    return heap_push(g, a < b ? (candidate){score, a, b} : (candidate){score, b, a});
}

/* Proposes `value` to those that share `label`; members that are gone are dropped on the way. */
static bool propose_label(greedy *g, uint32_t value, uint32_t label)
{
    size_t partners = 0;
    for (member **at = &g->members[label]; *at != NULL && partners < MOST_PARTNERS;) {
        uint32_t other = (*at)->value;
        if (g->gone[other]) {
            *at = (*at)->next;
            continue;
        }
        at = &(*at)->next;
        partners++;
        if (g->paired[other] == value + 1) continue;
        g->paired[other] = value + 1;
        if (!propose(g, value, other)) return false;
    }
    return true;
}

/* Makes a value known to the others; it must be new. */
static bool enter(greedy *g, uint32_t value)
{
    einsum_labels labels = g->walk.values[value];
    for (size_t i = 0; i < labels.count; i++) {
        uint32_t label = labels.items[i];
        g->sizes[value] += g->walk.problem->log2_extents[label];
    }
    for (size_t i = 0; i < labels.count; i++) {
        member *added = einsum_arena_allocate(&g->arena, 1, sizeof *added);
        if (added == NULL || !propose_label(g, value, labels.items[i])) return false;
        *added = (member){g->members[labels.items[i]], value};
        g->members[labels.items[i]] = added;
    }
    return true;
}

static bool join(greedy *g, uint32_t a, uint32_t b)
{
    einsum_pair pair = {a, b};
    g->pairs[g->pair_count++] = pair;
    g->gone[a] = g->gone[b] = true;
    return einsum_walk_join(&g->walk, pair) && enter(g, (uint32_t)g->walk.value_count - 1);
}

static bool join_neighbours(greedy *g)
{
    while (g->heap_size > 0) {
        candidate next = heap_pop(g);
        if (!g->gone[next.a] && !g->gone[next.b] && !join(g, next.a, next.b)) return false;
    }
    return true;
}

/* ---- what shares no label ---- */

static uint32_t smallest(const greedy *g, uint32_t except)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t v = 0; v < g->walk.value_count; v++)
        if (!g->gone[v] && v != except && (best == UINT32_MAX || g->sizes[v] < g->sizes[best])) best = v;
    return best;
}

static bool join_rest(greedy *g)
{
    while (g->pair_count + 1 < g->walk.problem->operand_count) {
        uint32_t a = smallest(g, UINT32_MAX), b = smallest(g, a);
        if (!join(g, a, b) || !join_neighbours(g)) return false;
    }
    return true;
}

/* ---- all ---- */

static weft_status *greedy_init(greedy *g, const einsum_problem *problem)
{
    size_t values = 2 * problem->operand_count;
    WEFT_TRY(einsum_walk_init(&g->walk, &g->arena, problem));
    g->sizes = einsum_arena_allocate(&g->arena, values, sizeof *g->sizes);
    g->gone = einsum_arena_allocate(&g->arena, values, sizeof *g->gone);
    g->paired = einsum_arena_allocate(&g->arena, values, sizeof *g->paired);
    g->members = einsum_arena_allocate(&g->arena, problem->label_count, sizeof(member *));
    bool well = g->sizes != NULL && g->gone != NULL && g->paired != NULL && g->members != NULL;
    return well ? NULL : weft_status_out_of_memory();
}

static weft_status *run(greedy *g, const einsum_problem *problem)
{
    WEFT_TRY(greedy_init(g, problem));
    bool well = true;
    for (uint32_t v = 0; v < problem->operand_count && well; v++) well = enter(g, v);
    return well && join_neighbours(g) && join_rest(g) ? NULL : weft_status_out_of_memory();
}

weft_status *einsum_plan_greedy(einsum_arena *arena, const einsum_problem *problem, double cost_factor,
                                einsum_pair *out_pairs, einsum_totals *out_cost)
{
    greedy g = {.log2_factor = log2(cost_factor), .pairs = out_pairs};
    einsum_arena_init(&g.arena, arena->allocator);
    weft_status *status = run(&g, problem);
    *out_cost = g.walk.cost;
    einsum_arena_finish(&g.arena);
    return status;
}
