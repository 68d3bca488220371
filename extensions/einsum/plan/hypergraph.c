/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Multilevel: vertices that share heavy nets are merged in pairs, again and again, until few are left; those are cut by
 * growing one side from a vertex at random, and the cut is refined on each level on the way back by moving vertices
 * (Fiduccia and Mattheyses 1982; Karypis and Kumar 1998).
 */
#include "hypergraph.h"
#include "heap.h"
#include <math.h>
#include <string.h>

enum {
    COARSE_ENOUGH = 24, /* vertices that are not merged further */
    WIDEST_NET = 50,    /* wider ones do not say who belongs together */
    GROWTHS = 6,        /* tries on the coarsest level */
    MOST_PASSES = 6     /* of refinement on one level */
};

typedef struct level level;

struct level {
    level *finer;
    einsum_hypergraph graph;
    uint32_t *net_starts, *nets; /* by vertex: where its nets begin in the latter */
    uint32_t *merged;            /* by vertex of the finer level: the one it is part of */
    uint32_t total, heaviest;    /* weights of vertices */
    uint8_t *sides;
};

/* What the refinement of one level works on. */
typedef struct cut {
    const level *l;
    einsum_random *random;
    uint32_t limit;      /* most weight of a side */
    uint32_t weights[2]; /* of the sides */
    double weight;       /* of the nets that are cut */
    uint32_t *counts;    /* by net, by side: its vertices there */
    double *gains;       /* by vertex: what a move takes from the weight */
    bool *moved;
    uint32_t *moves; /* vertices, as they were moved */
    uint32_t move_count;
    einsum_heap queues[2]; /* by side: its vertices by gain; stale entries among them */
} cut;

/* ---- levels ---- */

static bool fill_nets(level *l, einsum_arena *arena)
{
    const einsum_hypergraph *g = &l->graph;
    uint32_t pin_count = g->pin_starts[g->net_count];
    l->net_starts = einsum_arena_allocate(arena, (size_t)g->vertex_count + 2, sizeof *l->net_starts);
    l->nets = einsum_arena_allocate(arena, pin_count, sizeof *l->nets);
    l->sides = einsum_arena_allocate(arena, g->vertex_count, sizeof *l->sides);
    if (l->net_starts == NULL || l->nets == NULL || l->sides == NULL) return false;
    for (uint32_t i = 0; i < pin_count; i++) l->net_starts[g->pins[i] + 2]++;
    for (uint32_t v = 0; v < g->vertex_count; v++) l->net_starts[v + 2] += l->net_starts[v + 1];
    for (uint32_t net = 0; net < g->net_count; net++)
        for (uint32_t i = g->pin_starts[net]; i < g->pin_starts[net + 1]; i++)
            l->nets[l->net_starts[g->pins[i] + 1]++] = net;
    for (uint32_t v = 0; v < g->vertex_count; v++) {
        l->total += g->weights[v];
        if (g->weights[v] > l->heaviest) l->heaviest = g->weights[v];
    }
    return true;
}

typedef struct matching {
    const level *l;
    uint32_t *order, *near,
        *partners; /* partners: the vertex itself + 1 where it stays alone, 0 where it is not seen */
    double *ratings;
    uint32_t count; /* of pairs and of those alone */
} matching;

/* The unmatched vertex that shares the heaviest nets with `v`; `v` where there is none. */
static uint32_t find_partner(matching *m, uint32_t v, uint32_t heaviest)
{
    const einsum_hypergraph *g = &m->l->graph;
    uint32_t near_count = 0, best = v;
    for (uint32_t k = m->l->net_starts[v]; k < m->l->net_starts[v + 1]; k++) {
        uint32_t net = m->l->nets[k], first = g->pin_starts[net], end = g->pin_starts[net + 1];
        for (uint32_t i = first; i < end && end - first <= WIDEST_NET; i++) {
            uint32_t other = g->pins[i];
            if (other == v || m->partners[other] != 0 || g->weights[v] + g->weights[other] > heaviest) continue;
            if (m->ratings[other] == 0) m->near[near_count++] = other;
            m->ratings[other] += g->net_weights[net] / (end - first - 1);
        }
    }
    double most = 0;
    for (uint32_t i = 0; i < near_count; i++) {
        double rating = m->ratings[m->near[i]] / g->weights[m->near[i]];
        m->ratings[m->near[i]] = 0;
        if (rating <= most) continue;
        most = rating;
        best = m->near[i];
    }
    return best;
}

static bool match(matching *m, einsum_arena *arena, einsum_random *random)
{
    uint32_t count = m->l->graph.vertex_count;
    m->order = einsum_arena_allocate(arena, count, sizeof *m->order);
    m->near = einsum_arena_allocate(arena, count, sizeof *m->near);
    m->partners = einsum_arena_allocate(arena, count, sizeof *m->partners);
    m->ratings = einsum_arena_allocate(arena, count, sizeof *m->ratings);
    if (m->order == NULL || m->near == NULL || m->partners == NULL || m->ratings == NULL) return false;
    for (uint32_t v = 0; v < count; v++) {
        uint32_t other = einsum_random_below(random, v + 1);
        m->order[v] = m->order[other];
        m->order[other] = v;
    }
    uint32_t heaviest = m->l->total / (COARSE_ENOUGH / 2) + 1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t v = m->order[i];
        if (m->partners[v] != 0) continue;
        uint32_t other = find_partner(m, v, heaviest);
        m->partners[v] = other + 1;
        m->partners[other] = v + 1;
        m->count++;
    }
    return true;
}

/* Numbers the pairs by their first vertices and adds up weights. */
static bool merge_vertices(level *coarse, const matching *m, einsum_arena *arena)
{
    const einsum_hypergraph *g = &m->l->graph;
    coarse->merged = einsum_arena_allocate(arena, g->vertex_count, sizeof *coarse->merged);
    coarse->graph.weights = einsum_arena_allocate(arena, m->count, sizeof *coarse->graph.weights);
    if (coarse->merged == NULL || coarse->graph.weights == NULL) return false;
    for (uint32_t v = 0; v < g->vertex_count; v++) {
        uint32_t other = m->partners[v] - 1;
        coarse->merged[v] = other < v ? coarse->merged[other] : coarse->graph.vertex_count++;
        coarse->graph.weights[coarse->merged[v]] += g->weights[v];
    }
    return true;
}

/* Nets with what their vertices are part of, each once; those within one vertex are left out. */
static bool merge_nets(level *coarse, const einsum_hypergraph *g, einsum_arena *arena)
{
    einsum_hypergraph *c = &coarse->graph;
    uint32_t *marks = einsum_arena_allocate(arena, c->vertex_count, sizeof *marks);
    c->net_weights = einsum_arena_allocate(arena, g->net_count, sizeof *c->net_weights);
    c->pin_starts = einsum_arena_allocate(arena, (size_t)g->net_count + 1, sizeof *c->pin_starts);
    c->pins = einsum_arena_allocate(arena, g->pin_starts[g->net_count], sizeof *c->pins);
    if (marks == NULL || c->net_weights == NULL || c->pin_starts == NULL || c->pins == NULL) return false;
    for (uint32_t net = 0; net < g->net_count; net++) {
        uint32_t end = c->pin_starts[c->net_count];
        for (uint32_t i = g->pin_starts[net]; i < g->pin_starts[net + 1]; i++) {
            uint32_t v = coarse->merged[g->pins[i]];
            if (marks[v] == net + 1) continue;
            marks[v] = net + 1;
            c->pins[end++] = v;
        }
        if (end - c->pin_starts[c->net_count] < 2) continue;
        c->net_weights[c->net_count++] = g->net_weights[net];
        c->pin_starts[c->net_count] = end;
    }
    return true;
}

/* The next coarser level; `out_coarse` is NULL where merging no longer helps. */
static bool coarsen(level *l, einsum_arena *arena, einsum_random *random, level **out_coarse)
{
    *out_coarse = NULL;
    if (l->graph.vertex_count <= COARSE_ENOUGH) return true;
    matching m = {.l = l};
    if (!match(&m, arena, random)) return false;
    if (m.count > l->graph.vertex_count - l->graph.vertex_count / 10) return true;
    level *coarse = einsum_arena_allocate(arena, 1, sizeof *coarse);
    if (coarse == NULL || !merge_vertices(coarse, &m, arena) || !merge_nets(coarse, &l->graph, arena) ||
        !fill_nets(coarse, arena))
        return false;
    coarse->finer = l;
    *out_coarse = coarse;
    return true;
}

/* ---- moving ---- */

static bool queue(cut *c, uint32_t v)
{
    uint32_t tie = (uint32_t)einsum_random_next(c->random);
    return einsum_heap_push(&c->queues[c->l->sides[v]], (einsum_candidate){-c->gains[v], tie, v});
}

/* Counts, weights and gains of the sides as they are; all vertices may move. */
static void count_all(cut *c)
{
    const einsum_hypergraph *g = &c->l->graph;
    const uint8_t *sides = c->l->sides;
    c->weight = c->weights[0] = c->weights[1] = c->move_count = 0;
    c->queues[0].size = c->queues[1].size = 0;
    memset(c->counts, 0, 2 * (size_t)g->net_count * sizeof *c->counts);
    memset(c->gains, 0, g->vertex_count * sizeof *c->gains);
    memset(c->moved, 0, g->vertex_count * sizeof *c->moved);
    for (uint32_t v = 0; v < g->vertex_count; v++) c->weights[sides[v]] += g->weights[v];
    for (uint32_t net = 0; net < g->net_count; net++) {
        uint32_t *counts = c->counts + 2 * (size_t)net, end = g->pin_starts[net + 1];
        for (uint32_t i = g->pin_starts[net]; i < end; i++) counts[sides[g->pins[i]]]++;
        bool whole = counts[0] == 0 || counts[1] == 0;
        if (!whole) c->weight += g->net_weights[net];
        for (uint32_t i = g->pin_starts[net]; i < end; i++) {
            if (whole) c->gains[g->pins[i]] -= g->net_weights[net];
            else if (counts[sides[g->pins[i]]] == 1) c->gains[g->pins[i]] += g->net_weights[net];
        }
    }
}

/* Adds to the gains of the vertices of a net that are on `side`, or on any (2), and may move. */
static bool add_gain(cut *c, uint32_t net, uint8_t side, double gain)
{
    const einsum_hypergraph *g = &c->l->graph;
    for (uint32_t i = g->pin_starts[net]; i < g->pin_starts[net + 1]; i++) {
        uint32_t v = g->pins[i];
        if (c->moved[v] || (side != 2 && c->l->sides[v] != side)) continue;
        c->gains[v] += gain;
        if (!queue(c, v)) return false;
    }
    return true;
}

static bool move(cut *c, uint32_t v)
{
    const einsum_hypergraph *g = &c->l->graph;
    uint8_t from = c->l->sides[v], to = 1 - from;
    c->moved[v] = true;
    c->moves[c->move_count++] = v;
    c->weight -= c->gains[v];
    c->weights[from] -= g->weights[v];
    c->weights[to] += g->weights[v];
    c->l->sides[v] = to;
    for (uint32_t k = c->l->net_starts[v]; k < c->l->net_starts[v + 1]; k++) {
        uint32_t net = c->l->nets[k], *counts = c->counts + 2 * (size_t)net;
        double weight = g->net_weights[net];
        bool well = counts[to] == 0   ? add_gain(c, net, 2, weight)
                    : counts[to] == 1 ? add_gain(c, net, to, -weight)
                                      : true;
        counts[from]--;
        counts[to]++;
        well = well && (counts[from] == 0   ? add_gain(c, net, 2, -weight)
                        : counts[from] == 1 ? add_gain(c, net, from, weight)
                                            : true);
        if (!well) return false;
    }
    return true;
}

/* The best vertex to move away from `side`; UINT32_MAX for none. It stays queued. */
static uint32_t find_best(cut *c, uint8_t side)
{
    einsum_heap *queue = &c->queues[side];
    for (; queue->size > 0; einsum_heap_pop(queue)) {
        uint32_t v = queue->items[0].b;
        if (c->moved[v] || c->l->sides[v] != side || queue->items[0].score != -c->gains[v]) continue;
        if (c->weights[1 - side] + c->l->graph.weights[v] <= c->limit) return v;
    }
    return UINT32_MAX;
}

static uint32_t find_move(cut *c)
{
    uint32_t a = find_best(c, 0), b = find_best(c, 1);
    if (a == UINT32_MAX || b == UINT32_MAX) return a == UINT32_MAX ? b : a;
    if (c->gains[a] != c->gains[b]) return c->gains[a] > c->gains[b] ? a : b;
    return c->weights[0] > c->weights[1] ? a : b;
}

static bool queue_all(cut *c)
{
    count_all(c);
    for (uint32_t v = 0; v < c->l->graph.vertex_count; v++)
        if (!queue(c, v)) return false;
    return true;
}

/* ---- refining ---- */

static uint32_t heavier_side(const cut *c)
{
    return c->weights[0] > c->weights[1] ? c->weights[0] : c->weights[1];
}

/* Moves each vertex at most once, and takes back what came after the best cut. */
static bool run_pass(cut *c, bool *out_better)
{
    if (!queue_all(c)) return false;
    const double slack = 1e-9;
    double best = heavier_side(c) <= c->limit ? c->weight : INFINITY, first = best;
    uint32_t best_moves = 0, balance = heavier_side(c), patience = 48 + c->l->graph.vertex_count / 8;
    for (uint32_t v; c->move_count - best_moves < patience && (v = find_move(c)) != UINT32_MAX;) {
        if (!move(c, v)) return false;
        if (heavier_side(c) > c->limit || c->weight > best + slack) continue;
        if (c->weight > best - slack && heavier_side(c) >= balance) continue;
        best = c->weight;
        balance = heavier_side(c);
        best_moves = c->move_count;
    }
    while (c->move_count > best_moves) c->l->sides[c->moves[--c->move_count]] ^= 1;
    c->weight = best;
    *out_better = best < first - slack;
    return true;
}

static bool refine(cut *c)
{
    bool better = true;
    for (int i = 0; i < MOST_PASSES && better; i++)
        if (!run_pass(c, &better)) return false;
    return true;
}

/* Grows side 1 from one vertex until it has half of the weight. */
static bool grow(cut *c)
{
    memset(c->l->sides, 0, c->l->graph.vertex_count * sizeof *c->l->sides);
    if (!queue_all(c) || !move(c, einsum_random_below(c->random, c->l->graph.vertex_count))) return false;
    while (2 * c->weights[1] + c->l->heaviest < c->l->total) {
        uint32_t v = find_best(c, 0);
        if (v == UINT32_MAX) break;
        if (!move(c, v)) return false;
    }
    return true;
}

static bool cut_coarsest(cut *c, einsum_arena *arena)
{
    uint32_t count = c->l->graph.vertex_count;
    uint8_t *best = einsum_arena_allocate(arena, count, sizeof *best);
    if (best == NULL) return false;
    double weight = INFINITY;
    for (int i = 0; i < GROWTHS; i++) {
        if (!grow(c) || !refine(c)) return false;
        if (i > 0 && c->weight >= weight) continue;
        weight = c->weight;
        memcpy(best, c->l->sides, count);
    }
    memcpy(c->l->sides, best, count);
    return true;
}

/* ---- all ---- */

static bool cut_init(cut *c, einsum_arena *arena, const level *finest)
{
    size_t vertices = finest->graph.vertex_count, nets = finest->graph.net_count;
    c->queues[0].arena = c->queues[1].arena = arena;
    c->counts = einsum_arena_allocate(arena, 2 * nets, sizeof *c->counts);
    c->gains = einsum_arena_allocate(arena, vertices, sizeof *c->gains);
    c->moved = einsum_arena_allocate(arena, vertices, sizeof *c->moved);
    c->moves = einsum_arena_allocate(arena, vertices, sizeof *c->moves);
    return c->counts != NULL && c->gains != NULL && c->moved != NULL && c->moves != NULL;
}

static void enter(cut *c, const level *l, double imbalance)
{
    uint32_t limit = (uint32_t)ceil((1 + imbalance) / 2 * l->total), least = (l->total + l->heaviest + 1) / 2;
    c->l = l;
    c->limit = limit > least ? limit : least;
    if (c->limit >= l->total) c->limit = l->total - 1;
}

bool einsum_hypergraph_cut(einsum_arena *arena, const einsum_hypergraph *graph, double imbalance, einsum_random *random,
                           uint8_t *out_sides)
{
    level finest = {.graph = *graph}, *coarse, *l = &finest;
    cut c = {.random = random};
    if (!fill_nets(&finest, arena) || !cut_init(&c, arena, &finest)) return false;
    do {
        if (!coarsen(l, arena, random, &coarse)) return false;
        if (coarse != NULL) l = coarse;
    } while (coarse != NULL);
    enter(&c, l, imbalance);
    if (!cut_coarsest(&c, arena)) return false;
    for (; l->finer != NULL; l = l->finer) {
        for (uint32_t v = 0; v < l->finer->graph.vertex_count; v++) l->finer->sides[v] = l->sides[l->merged[v]];
        enter(&c, l->finer, imbalance);
        if (!refine(&c)) return false;
    }
    memcpy(out_sides, finest.sides, graph->vertex_count);
    return true;
}
