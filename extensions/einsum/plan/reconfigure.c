/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reconfiguration: a subtree is cut into parts and reassembled optimally, by dynamic programming over sets of parts. A
 * label matters only by which parts have it and whether something outside has it too, so labels are added up by that
 * once; after sums over subsets each way to split a set costs a few operations:
 *   all(S)     log2 of the extents of labels that a part of S has,
 *   inside(S)  of those that nothing else has,
 * the result of S has all(S) - inside(S), and joining X and Y works on all(X|Y) - inside(X) - inside(Y).
 */
#include "methods.h"
#include "tree.h"
#include <string.h>

enum { MOST_PARTS = 16 };

static const double most_bits = 1000; /* of a subtree, whose costs a double is to hold */

typedef struct subtree {
    uint32_t root, part_count, node_count;
    uint32_t parts[MOST_PARTS];
    uint32_t nodes[MOST_PARTS]; /* the inner ones, the root first */
} subtree;

/* By set of parts. Numbers are as the tree has them. */
typedef struct entry {
    double major, minor; /* of the best way; minor is for SIZE only */
    double saved;        /* 2^-inside */
    double volume;
    uint32_t split; /* one half of the best way */
} entry;

typedef struct reconfiguration {
    einsum_arena arena;
    einsum_tree tree;
    uint32_t most_parts;
    const einsum_stop *stop;
    bool *settled;        /* by node: nothing near it changed since it was looked at */
    uint32_t *patterns;   /* by position of a label: the parts that have it; zero between uses */
    double *all, *inside; /* by set of parts; `all` of the complement, until it is used */
    entry *entries;
    double largest; /* SIZE: of all volumes */
    double least;   /* SIZE: of volumes outside of the subtree; up to this, those inside are all the same */
    subtree cut;
    bool changed;
} reconfiguration;

/* ---- cutting a subtree off ---- */

/* Opens the part whose step costs most, until there are enough. */
static void cut_off(reconfiguration *r, uint32_t root)
{
    const einsum_tree *tree = &r->tree;
    subtree *cut = &r->cut;
    *cut = (subtree){.root = root, .part_count = 1, .parts = {root}};
    while (cut->part_count < r->most_parts) {
        uint32_t best = UINT32_MAX;
        for (uint32_t i = 0; i < cut->part_count; i++) {
            if (cut->parts[i] < tree->leaf_count) continue;
            if (best == UINT32_MAX || tree->measures[cut->parts[i]].price > tree->measures[cut->parts[best]].price)
                best = i;
        }
        if (best == UINT32_MAX) return;
        uint32_t node = cut->parts[best];
        cut->nodes[cut->node_count++] = node;
        cut->parts[best] = tree->nodes[node].children[0];
        cut->parts[cut->part_count++] = tree->nodes[node].children[1];
    }
}

/* ---- labels by the parts that have them ---- */

static void add_over_subsets(double *values, uint32_t bits)
{
    for (uint32_t bit = 0; bit < bits; bit++)
        for (uint32_t set = 0; set < UINT32_C(1) << bits; set++)
            if (set >> bit & 1) values[set] += values[set ^ UINT32_C(1) << bit];
}

static void mark_part(reconfiguration *r, uint32_t part)
{
    const uint64_t *legs = einsum_tree_legs(&r->tree, r->cut.parts[part]);
    for (uint32_t w = 0; w < r->tree.words; w++)
        for (uint64_t bits = legs[w]; bits != 0; bits &= bits - 1)
            r->patterns[64 * w + (uint32_t)__builtin_ctzll(bits)] |= UINT32_C(1) << part;
}

/* Puts the labels of a part into the sums and takes their marks away. */
static void collect_part(reconfiguration *r, uint32_t part)
{
    const uint64_t *legs = einsum_tree_legs(&r->tree, r->cut.parts[part]);
    const uint64_t *outside = einsum_tree_legs(&r->tree, r->cut.root);
    for (uint32_t w = 0; w < r->tree.words; w++)
        for (uint64_t bits = legs[w]; bits != 0; bits &= bits - 1) {
            uint32_t at = 64 * w + (uint32_t)__builtin_ctzll(bits), pattern = r->patterns[at];
            if (pattern == 0) continue;
            r->patterns[at] = 0;
            r->all[pattern] += r->tree.weights[at];
            if ((outside[w] & bits & -bits) == 0) r->inside[pattern] += r->tree.weights[at];
        }
}

static void fill_sums(reconfiguration *r)
{
    uint32_t count = r->cut.part_count;
    size_t sets = (size_t)1 << count;
    memset(r->all, 0, sets * sizeof *r->all);
    memset(r->inside, 0, sets * sizeof *r->inside);
    for (uint32_t i = 0; i < count; i++) mark_part(r, i);
    for (uint32_t i = 0; i < count; i++) collect_part(r, i);
    add_over_subsets(r->all, count);
    add_over_subsets(r->inside, count);
}

/* ---- the best way for each set ---- */

static inline __attribute__((always_inline)) void split_by(const einsum_tariff *tariff, entry *entries, uint32_t set,
                                                           double work)
{
    uint32_t lowest = set & -set, rest = set ^ lowest;
    entry best = entries[set];
    for (uint32_t y = rest; y != 0; y = (y - 1) & rest) {
        const entry *a = &entries[set ^ y], *b = &entries[y];
        double price = einsum_tariff_price(tariff, a->volume, b->volume, best.volume, work * a->saved * b->saved);
        double major = a->major + b->major + price;
        if (!(major < best.major)) continue;
        best.major = major;
        best.split = y;
    }
    entries[set] = best;
}

/* By the largest volume, then by all work; volumes up to `least` are the same. */
static void split_by_size(entry *entries, uint32_t set, double work, double least)
{
    uint32_t lowest = set & -set, rest = set ^ lowest;
    entry best = entries[set];
    double own = best.volume > least ? best.volume : least;
    for (uint32_t y = rest; y != 0; y = (y - 1) & rest) {
        const entry *a = &entries[set ^ y], *b = &entries[y];
        double major = fmax(own, fmax(a->major, b->major));
        double minor = a->minor + b->minor + work * a->saved * b->saved;
        if (major > best.major || (major == best.major && !(minor < best.minor))) continue;
        best.major = major;
        best.minor = minor;
        best.split = y;
    }
    entries[set] = best;
}

static void split_set(reconfiguration *r, uint32_t set, double work)
{
    const einsum_tariff *tariff = &r->tree.tariff;
    switch (tariff->objective) {
    case WEFT_EINSUM_FLOPS: split_by(&(einsum_tariff){.objective = WEFT_EINSUM_FLOPS}, r->entries, set, work); break;
    case WEFT_EINSUM_SIZE: split_by_size(r->entries, set, work, r->least); break;
    default: split_by(tariff, r->entries, set, work); break;
    }
}

static void fill_entries(reconfiguration *r)
{
    const einsum_tree *tree = &r->tree;
    uint32_t full = (UINT32_C(1) << r->cut.part_count) - 1;
    double total = r->all[full];
    for (uint32_t set = 1; set <= full; set++) {
        double all = total - r->all[full ^ set];
        bool part = (set & (set - 1)) == 0;
        r->entries[set] = (entry){.major = part ? 0 : INFINITY,
                                  .minor = part ? 0 : INFINITY,
                                  .saved = einsum_tree_power(tree, -r->inside[set]),
                                  .volume = einsum_tree_power(tree, all - r->inside[set] - tree->shift)};
        if (!part) split_set(r, set, einsum_tree_power(tree, all - tree->shift));
    }
}

static bool in_cut(const subtree *cut, uint32_t node)
{
    uint32_t i = 0;
    while (i < cut->node_count && cut->nodes[i] != node) i++;
    return i < cut->node_count;
}

static double largest_outside(const reconfiguration *r)
{
    const einsum_tree *tree = &r->tree;
    double largest = 0;
    for (uint32_t node = tree->leaf_count; node < tree->node_count; node++)
        if (tree->measures[node].volume > largest && !in_cut(&r->cut, node)) largest = tree->measures[node].volume;
    return largest;
}

/* What the steps of the subtree cost as they are. */
static einsum_cost present_cost(reconfiguration *r)
{
    double price = 0, work = 0, largest = 0;
    for (uint32_t i = 0; i < r->cut.node_count; i++) {
        const einsum_measure *m = &r->tree.measures[r->cut.nodes[i]];
        price += m->price;
        work += m->work;
        largest = fmax(largest, m->volume);
    }
    if (r->tree.tariff.objective != WEFT_EINSUM_SIZE) return (einsum_cost){price, 0};
    r->least = largest < r->largest ? r->largest : largest_outside(r);
    return (einsum_cost){fmax(largest, r->least), work};
}

/* By more than what rounding could make of equal costs; what is nothing beside the whole may be below all that a double
 * tells apart. */
static bool is_better(einsum_cost x, einsum_cost y)
{
    const double clearly = 1 - 1e-9, nothing = 0x1p-900;
    if (y.major < nothing) return false;
    return x.major < y.major * clearly || (x.major <= y.major && x.minor < y.minor * clearly);
}

/* ---- putting it together ---- */

/* Labels of `set` that another part or something outside needs. */
static void fill_legs(reconfiguration *r, uint32_t set, uint32_t node)
{
    const einsum_tree *tree = &r->tree;
    uint64_t *legs = einsum_tree_legs(tree, node);
    const uint64_t *outside = einsum_tree_legs(tree, r->cut.root);
    for (uint32_t w = 0; w < tree->words; w++) {
        uint64_t in = 0, out = outside[w];
        for (uint32_t i = 0; i < r->cut.part_count; i++) {
            uint64_t word = einsum_tree_legs(tree, r->cut.parts[i])[w];
            if (set >> i & 1) in |= word;
            else out |= word;
        }
        legs[w] = in & out;
    }
}

/* Gives `set` a node, below which the rest follows. Nodes of the old subtree are used again. */
static uint32_t build(reconfiguration *r, uint32_t set, uint32_t *next)
{
    if ((set & (set - 1)) == 0) return r->cut.parts[__builtin_ctz(set)];
    uint32_t node = r->cut.nodes[(*next)++], half = r->entries[set].split;
    if (node != r->cut.root) fill_legs(r, set, node);
    uint32_t a = build(r, half, next), b = build(r, set ^ half, next);
    r->tree.nodes[node].children[0] = a;
    r->tree.nodes[node].children[1] = b;
    r->tree.nodes[a].parent = r->tree.nodes[b].parent = node;
    einsum_tree_measure(&r->tree, node);
    r->settled[node] = false;
    return node;
}

static void unsettle_above(reconfiguration *r)
{
    const einsum_node *nodes = r->tree.nodes;
    uint32_t node = r->cut.root;
    for (uint32_t i = 0; i < r->most_parts; i++, node = nodes[node].parent) r->settled[node] = false;
}

static bool improve(reconfiguration *r, uint32_t root)
{
    r->settled[root] = true;
    cut_off(r, root);
    if (r->cut.part_count < 3) return false;
    fill_sums(r);
    uint32_t full = (UINT32_C(1) << r->cut.part_count) - 1, next = 0;
    if (r->all[full] > r->tree.shift + most_bits || r->inside[full] > most_bits) return false;
    einsum_cost present = present_cost(r);
    fill_entries(r);
    if (!is_better((einsum_cost){r->entries[full].major, r->entries[full].minor}, present)) return false;
    build(r, full, &next);
    r->changed = true;
    if (r->tree.tariff.objective == WEFT_EINSUM_SIZE && r->entries[full].major < r->largest) {
        r->largest = r->entries[full].major;
        memset(r->settled, 0, r->tree.node_count * sizeof *r->settled);
    }
    unsettle_above(r);
    return true;
}

/* ---- all of the tree ---- */

static bool pass(reconfiguration *r)
{
    const einsum_tree *tree = &r->tree;
    bool changed = false;
    for (uint32_t node = tree->leaf_count; node < tree->node_count; node++) {
        if (r->settled[node]) continue;
        if (einsum_stop_asked(r->stop)) return false;
        changed |= improve(r, node);
    }
    return changed;
}

static weft_status *reconfiguration_init(reconfiguration *r, const einsum_core *core, const einsum_score *score)
{
    size_t sets = (size_t)1 << r->most_parts;
    WEFT_TRY(einsum_tree_init(&r->tree, &r->arena, core, score));
    r->settled = einsum_arena_allocate(&r->arena, r->tree.node_count, sizeof *r->settled);
    r->patterns = einsum_arena_allocate(&r->arena, (size_t)r->tree.words * 64, sizeof *r->patterns);
    r->all = einsum_arena_allocate(&r->arena, sets, sizeof *r->all);
    r->inside = einsum_arena_allocate(&r->arena, sets, sizeof *r->inside);
    r->entries = einsum_arena_allocate(&r->arena, sets, sizeof *r->entries);
    bool well = r->settled != NULL && r->patterns != NULL && r->all != NULL && r->inside != NULL && r->entries != NULL;
    return well ? NULL : weft_status_out_of_memory();
}

static weft_status *run(reconfiguration *r, const einsum_core *core, const einsum_score *score, einsum_pair *pairs)
{
    einsum_cost before, after;
    einsum_pair *found = einsum_arena_allocate(&r->arena, core->leaf_count, sizeof *found);
    if (found == NULL) return weft_status_out_of_memory();
    WEFT_TRY(reconfiguration_init(r, core, score));
    einsum_tree_load(&r->tree, pairs);
    if (score->objective == WEFT_EINSUM_SIZE) r->largest = einsum_tree_cost(&r->tree).major;
    while (pass(r)) {
    }
    if (!r->changed && einsum_stop_asked(r->stop)) return NULL;
    einsum_tree_save(&r->tree, found);
    WEFT_TRY(einsum_core_cost(&r->arena, core, score, pairs, &before));
    WEFT_TRY(einsum_core_cost(&r->arena, core, score, found, &after));
    if (einsum_cost_less(after, before)) memcpy(pairs, found, (core->leaf_count - 1) * sizeof *pairs);
    return NULL;
}

weft_status *einsum_reconfigure_run(const weft_allocator *allocator, const einsum_core *core, const einsum_score *score,
                                    uint32_t leaves, const einsum_stop *stop, einsum_pair *pairs)
{
    if (core->leaf_count < 3 || einsum_stop_asked(stop)) return NULL;
    reconfiguration r = {.stop = stop, .most_parts = leaves < MOST_PARTS ? leaves : MOST_PARTS};
    einsum_arena_init(&r.arena, allocator);
    weft_status *status = run(&r, core, score, pairs);
    einsum_arena_finish(&r.arena);
    return status;
}
