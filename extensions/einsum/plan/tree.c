/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"
#include <stdlib.h>
#include <string.h>

/* ---- measuring a rotation ---- */

/*
 * With A, B, C, P the labels of kept, lifted, sibling and parent, the new child has (A|C) & (B|P), which needs no
 * counting of uses even where a label is in many leaves: a label that a child of the parent has and none of these needs
 * is not needed at all.
 */
typedef struct quartet {
    const uint64_t *a, *b, *c, *p;
} quartet;

static inline quartet sets_of(const einsum_tree *tree, const einsum_rotation *r)
{
    return (quartet){einsum_tree_legs(tree, r->kept), einsum_tree_legs(tree, r->lifted),
                     einsum_tree_legs(tree, r->sibling), einsum_tree_legs(tree, r->parent)};
}

static inline __attribute__((always_inline)) void count_bits(const einsum_tree *tree, const einsum_rotation *rotation,
                                                             double out_logs[3])
{
    quartet s = sets_of(tree, rotation);
    double size = 0, child = 0, parent = 0;
    for (size_t k = 0; k < tree->class_count; k++) {
        einsum_class class = tree->classes[k];
        int64_t kept = 0, joined = 0, above = 0;
        for (uint32_t w = class.first; w < class.end; w++) {
            uint64_t all = s.a[w] | s.c[w], result = all & (s.b[w] | s.p[w]);
            joined += __builtin_popcountll(all);
            kept += __builtin_popcountll(result);
            above += __builtin_popcountll(result | s.b[w]);
        }
        size += class.weight * (double)kept;
        child += class.weight * (double)joined;
        parent += class.weight * (double)above;
    }
    out_logs[0] = size;
    out_logs[1] = child;
    out_logs[2] = parent;
}

static void measure_counts(const einsum_tree *tree, const einsum_rotation *rotation, double out_logs[3])
{
    count_bits(tree, rotation, out_logs);
}

#if defined(__x86_64__)
__attribute__((target("popcnt"))) static void measure_popcnt(const einsum_tree *tree, const einsum_rotation *rotation,
                                                             double out_logs[3])
{
    count_bits(tree, rotation, out_logs);
}

static einsum_tree_scale counting(void)
{
    return __builtin_cpu_supports("popcnt") ? measure_popcnt : measure_counts;
}
#else
static einsum_tree_scale counting(void)
{
    return measure_counts;
}
#endif

static inline double weigh(const double *weights, uint64_t bits)
{
    double sum = 0;
    for (; bits != 0; bits &= bits - 1) sum += weights[__builtin_ctzll(bits)];
    return sum;
}

/* What sets share is small: sizes of unions come from those that are known. */
static void measure_sums(const einsum_tree *tree, const einsum_rotation *rotation, double out_logs[3])
{
    quartet s = sets_of(tree, rotation);
    double shared = 0, gone = 0, common = 0;
    for (uint32_t w = 0; w < tree->words; w++) {
        const double *weights = tree->weights + 64 * (size_t)w;
        uint64_t all = s.a[w] | s.c[w], needed = s.b[w] | s.p[w];
        shared += weigh(weights, s.a[w] & s.c[w]);
        gone += weigh(weights, all & ~needed);
        common += weigh(weights, all & needed & s.b[w]);
    }
    const einsum_measure *m = tree->measures;
    out_logs[1] = m[rotation->kept].size + m[rotation->sibling].size - shared;
    out_logs[0] = out_logs[1] - gone;
    out_logs[2] = out_logs[0] + m[rotation->lifted].size - common;
}

einsum_change einsum_tree_try(const einsum_tree *tree, const einsum_rotation *rotation)
{
    double logs[3];
    tree->scale(tree, rotation, logs);
    const einsum_measure *m = tree->measures;
    einsum_change change;
    change.child.size = logs[0];
    change.child.volume = einsum_tree_power(tree, logs[0] - tree->shift);
    change.child.work = einsum_tree_power(tree, logs[1] - tree->shift);
    change.parent_work = einsum_tree_power(tree, logs[2] - tree->shift);
    change.child.price = einsum_tariff_price(&tree->tariff, m[rotation->kept].volume, m[rotation->sibling].volume,
                                             change.child.volume, change.child.work);
    change.parent_price = einsum_tariff_price(&tree->tariff, change.child.volume, m[rotation->lifted].volume,
                                              m[rotation->parent].volume, change.parent_work);
    return change;
}

void einsum_tree_rotate(einsum_tree *tree, const einsum_rotation *r, const einsum_change *change)
{
    quartet s = sets_of(tree, r);
    uint64_t *legs = einsum_tree_legs(tree, r->child);
    for (uint32_t w = 0; w < tree->words; w++) legs[w] = (s.a[w] | s.c[w]) & (s.b[w] | s.p[w]);
    einsum_node *child = &tree->nodes[r->child], *parent = &tree->nodes[r->parent];
    child->children[child->children[1] == r->lifted] = r->sibling;
    parent->children[parent->children[1] == r->sibling] = r->lifted;
    tree->nodes[r->sibling].parent = r->child;
    tree->nodes[r->lifted].parent = r->parent;
    tree->measures[r->child] = change->child;
    tree->measures[r->parent].work = change->parent_work;
    tree->measures[r->parent].price = change->parent_price;
}

/* ---- labels by extent ---- */

typedef struct extent_of {
    double weight;
    uint32_t label;
} extent_of;

static int compare_extents(const void *x, const void *y)
{
    const extent_of *a = x, *b = y;
    if (a->weight != b->weight) return a->weight < b->weight ? -1 : 1;
    return a->label < b->label ? -1 : 1;
}

/* Splits sorted labels where the extent changes; returns the words that takes. */
static uint32_t classify(const extent_of *sorted, uint32_t count, einsum_class *classes, size_t *out_count)
{
    uint32_t words = 0;
    *out_count = 0;
    for (uint32_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && sorted[next].weight == sorted[i].weight;) next++;
        uint32_t end = words + (next - i + 63) / 64;
        classes[(*out_count)++] = (einsum_class){words, end, sorted[i].weight};
        words = end;
    }
    return words;
}

static void place_labels(einsum_tree *tree, const extent_of *sorted)
{
    for (uint32_t i = 0, class = 0, first = 0; i < tree->label_count; i++) {
        if (i > 0 && sorted[i].weight != sorted[i - 1].weight) class ++, first = i;
        bool single = tree->class_count == 0;
        uint32_t at = single ? sorted[i].label : 64 * tree->classes[class].first + i - first;
        tree->positions[sorted[i].label] = at;
        tree->weights[at] = sorted[i].weight;
    }
}

static weft_status *number_labels(einsum_tree *tree, einsum_arena *arena)
{
    enum { MOST_EMPTY_WORDS = 6 };
    const einsum_core *core = tree->core;
    extent_of *sorted = einsum_arena_allocate(arena, core->label_count, sizeof *sorted);
    tree->positions = einsum_arena_allocate(arena, core->label_count, sizeof *tree->positions);
    tree->classes = einsum_arena_allocate(arena, core->label_count, sizeof *tree->classes);
    if (sorted == NULL || tree->positions == NULL || tree->classes == NULL) return weft_status_out_of_memory();
    for (uint32_t l = 0; l < core->label_count; l++) sorted[l] = (extent_of){core->extents[l], l};
    qsort(sorted, core->label_count, sizeof *sorted, compare_extents);
    uint32_t words = classify(sorted, core->label_count, tree->classes, &tree->class_count);
    bool single = words > core->words + MOST_EMPTY_WORDS;
    if (single) tree->class_count = 0;
    tree->words = single ? core->words : words;
    tree->scale = single ? measure_sums : counting();
    tree->weights = einsum_arena_allocate(arena, (size_t)tree->words * 64, sizeof *tree->weights);
    if (tree->weights == NULL) return weft_status_out_of_memory();
    place_labels(tree, sorted);
    return NULL;
}

/* ---- making a tree ---- */

static weft_status *allocate_nodes(einsum_tree *tree, einsum_arena *arena)
{
    size_t nodes = tree->node_count;
    tree->nodes = einsum_arena_allocate(arena, nodes, sizeof *tree->nodes);
    tree->measures = einsum_arena_allocate(arena, nodes, sizeof *tree->measures);
    tree->legs = einsum_arena_allocate(arena, nodes * tree->words, sizeof *tree->legs);
    tree->sliced = einsum_arena_allocate(arena, tree->words, sizeof *tree->sliced);
    tree->order = einsum_arena_allocate(arena, nodes, sizeof *tree->order);
    tree->stack = einsum_arena_allocate(arena, nodes, sizeof *tree->stack);
    tree->peaks = einsum_arena_allocate(arena, nodes, sizeof *tree->peaks);
    bool well = tree->nodes != NULL && tree->measures != NULL && tree->legs != NULL && tree->sliced != NULL &&
                tree->order != NULL && tree->stack != NULL && tree->peaks != NULL;
    return well ? NULL : weft_status_out_of_memory();
}

weft_status *einsum_tree_init(einsum_tree *tree, einsum_arena *arena, const einsum_core *core,
                              const einsum_score *score)
{
    *tree = (einsum_tree){.core = core,
                          .score = score,
                          .leaf_count = core->leaf_count,
                          .node_count = 2 * core->leaf_count - 1,
                          .label_count = core->label_count};
    for (int i = 0; i < EINSUM_POWERS; i++) tree->powers[i] = exp2((double)i / EINSUM_POWERS);
    WEFT_TRY(number_labels(tree, arena));
    return allocate_nodes(tree, arena);
}

void einsum_tree_link(einsum_tree *tree, const einsum_pair *pairs)
{
    uint32_t root = tree->node_count - 1;
    tree->nodes[root].parent = root;
    for (uint32_t k = 0; k + 1 < tree->leaf_count; k++) {
        uint32_t node = tree->leaf_count + k, a = (uint32_t)pairs[k].a, b = (uint32_t)pairs[k].b;
        tree->nodes[node].children[0] = a;
        tree->nodes[node].children[1] = b;
        tree->nodes[a].parent = tree->nodes[b].parent = node;
    }
    einsum_tree_refresh(tree);
}

void einsum_tree_load(einsum_tree *tree, const einsum_pair *pairs)
{
    memset(tree->sliced, 0, tree->words * sizeof *tree->sliced);
    einsum_tree_link(tree, pairs);
}

void einsum_tree_list(einsum_tree *tree)
{
    size_t count = 0, depth = 0;
    if (tree->leaf_count > 1) tree->stack[depth++] = tree->node_count - 1;
    while (depth > 0) {
        uint32_t node = tree->stack[--depth];
        tree->order[count++] = node;
        for (int side = 0; side < 2; side++) {
            uint32_t child = tree->nodes[node].children[side];
            if (child >= tree->leaf_count) tree->stack[depth++] = child;
        }
    }
}

static void renumber(const einsum_tree *tree, const uint64_t *set, uint64_t *out_set)
{
    memset(out_set, 0, tree->words * sizeof *out_set);
    for (uint32_t w = 0; w < tree->core->words; w++)
        for (uint64_t bits = set[w]; bits != 0; bits &= bits - 1) {
            uint32_t at = tree->positions[64 * w + (uint32_t)__builtin_ctzll(bits)];
            out_set[at / 64] |= UINT64_C(1) << at % 64;
        }
    for (uint32_t w = 0; w < tree->words; w++) out_set[w] &= ~tree->sliced[w];
}

/* Labels of all leaves under each node, then, from the root down, those of them that are needed outside. */
static void fill_legs(einsum_tree *tree)
{
    for (uint32_t leaf = 0; leaf < tree->leaf_count; leaf++)
        renumber(tree, einsum_core_legs(tree->core, leaf), einsum_tree_legs(tree, leaf));
    for (uint32_t i = tree->leaf_count - 1; i-- > 0;) {
        const einsum_node *node = &tree->nodes[tree->order[i]];
        uint64_t *legs = einsum_tree_legs(tree, tree->order[i]);
        const uint64_t *a = einsum_tree_legs(tree, node->children[0]), *b = einsum_tree_legs(tree, node->children[1]);
        for (uint32_t w = 0; w < tree->words; w++) legs[w] = a[w] | b[w];
    }
    renumber(tree, tree->core->output, einsum_tree_legs(tree, tree->node_count - 1));
    for (uint32_t i = 0; i + 1 < tree->leaf_count; i++) {
        const einsum_node *node = &tree->nodes[tree->order[i]];
        const uint64_t *legs = einsum_tree_legs(tree, tree->order[i]);
        uint64_t *a = einsum_tree_legs(tree, node->children[0]), *b = einsum_tree_legs(tree, node->children[1]);
        for (uint32_t w = 0; w < tree->words; w++) {
            uint64_t of_a = a[w] & (b[w] | legs[w]);
            b[w] &= a[w] | legs[w];
            a[w] = of_a;
        }
    }
}

static double log2_union(const einsum_tree *tree, const uint64_t *a, const uint64_t *b)
{
    double size = 0;
    for (uint32_t w = 0; w < tree->words; w++) size += weigh(tree->weights + 64 * (size_t)w, a[w] | b[w]);
    return size;
}

static double log2_work(const einsum_tree *tree, uint32_t node)
{
    const uint32_t *children = tree->nodes[node].children;
    return log2_union(tree, einsum_tree_legs(tree, children[0]), einsum_tree_legs(tree, children[1]));
}

/* Plain numbers are 2^-shift of what they stand for: 1 unless some are too large for a double. */
static void fill_tariff(einsum_tree *tree, double largest)
{
    enum { LARGEST = 900 };
    const einsum_score *score = tree->score;
    tree->shift = largest > LARGEST ? largest - LARGEST : 0;
    tree->room = LARGEST + tree->shift - largest;
    tree->tariff = (einsum_tariff){.objective = score->objective,
                                   .combo = exp2(score->log2_combo),
                                   .transfer = exp2(score->log2_bytes - score->machine.log2_bandwidth)};
    for (int i = 0; i < WEFT_MACHINE_RATES; i++)
        tree->tariff.seconds[i] = exp2(score->log2_slowness - score->machine.log2_rates[i]);
}

static void fill_price(einsum_tree *tree, uint32_t node)
{
    const uint32_t *children = tree->nodes[node].children;
    einsum_measure *m = tree->measures, *own = &m[node];
    own->price =
        einsum_tariff_price(&tree->tariff, m[children[0]].volume, m[children[1]].volume, own->volume, own->work);
}

void einsum_tree_measure(einsum_tree *tree, uint32_t node)
{
    const uint64_t *legs = einsum_tree_legs(tree, node);
    einsum_measure *own = &tree->measures[node];
    own->size = log2_union(tree, legs, legs);
    own->volume = einsum_tree_power(tree, own->size - tree->shift);
    if (node < tree->leaf_count) return;
    own->work = einsum_tree_power(tree, log2_work(tree, node) - tree->shift);
    fill_price(tree, node);
}

void einsum_tree_lead(einsum_tree *tree, double share)
{
    weft_einsum_minimize objective = tree->tariff.objective;
    if (objective != WEFT_EINSUM_SIZE && objective != WEFT_EINSUM_WRITE) return;
    tree->tariff.share = share;
    for (uint32_t node = tree->leaf_count; node < tree->node_count; node++) fill_price(tree, node);
}

void einsum_tree_refresh(einsum_tree *tree)
{
    einsum_tree_list(tree);
    fill_legs(tree);
    double largest = 0;
    for (uint32_t node = tree->leaf_count; node < tree->node_count; node++)
        largest = fmax(largest, log2_work(tree, node));
    fill_tariff(tree, largest);
    for (uint32_t leaf = 0; leaf < tree->leaf_count; leaf++) einsum_tree_measure(tree, leaf);
    for (uint32_t i = tree->leaf_count - 1; i-- > 0;) einsum_tree_measure(tree, tree->order[i]);
}

/* ---- slicing ---- */

/* Marks the nodes that have the label: all of them that a leaf with it is under and another, or the output, is not. */
static void mark_nodes(einsum_tree *tree, uint32_t label, uint32_t *marks)
{
    const uint64_t bit = UINT64_C(1) << label % 64;
    einsum_tree_list(tree);
    uint32_t all = (tree->core->output[label / 64] & bit) != 0;
    for (uint32_t leaf = 0; leaf < tree->leaf_count; leaf++)
        all += marks[leaf] = (einsum_core_legs(tree->core, leaf)[label / 64] & bit) != 0;
    for (uint32_t i = tree->leaf_count - 1; i-- > 0;) {
        const uint32_t *children = tree->nodes[tree->order[i]].children;
        marks[tree->order[i]] = marks[children[0]] + marks[children[1]];
    }
    for (uint32_t node = 0; node < tree->node_count; node++) marks[node] = marks[node] > 0 && marks[node] < all;
}

void einsum_tree_slice(einsum_tree *tree, uint32_t label, bool sliced)
{
    uint32_t at = tree->positions[label], w = at / 64, *marks = tree->stack;
    const uint64_t bit = UINT64_C(1) << at % 64;
    const double growth = sliced ? -tree->weights[at] : tree->weights[at], factor = exp2(growth);
    tree->sliced[w] ^= bit;
    tree->room -= growth;
    if (tree->room < 0) {
        einsum_tree_refresh(tree);
        return;
    }
    if (!sliced) mark_nodes(tree, label, marks);
    for (uint32_t node = 0; node < tree->node_count; node++) {
        uint64_t *legs = einsum_tree_legs(tree, node);
        if (sliced) marks[node] = (legs[w] & bit) != 0;
        if (!marks[node]) continue;
        legs[w] ^= bit;
        tree->measures[node].size += growth;
        tree->measures[node].volume *= factor;
    }
    for (uint32_t node = tree->leaf_count; node < tree->node_count; node++) {
        const uint32_t *children = tree->nodes[node].children;
        if (!marks[children[0]] && !marks[children[1]]) continue;
        tree->measures[node].work *= factor;
        fill_price(tree, node);
    }
}

/* ---- costs and orders ---- */

einsum_cost einsum_tree_cost(const einsum_tree *tree)
{
    double price = 0, work = 0, written = 0, largest = 0;
    for (uint32_t node = tree->leaf_count; node < tree->node_count; node++) {
        const einsum_measure *m = &tree->measures[node];
        price += m->price;
        work += m->work;
        written += m->volume;
        if (m->volume > largest) largest = m->volume;
    }
    switch (tree->tariff.objective) {
    case WEFT_EINSUM_SIZE: return (einsum_cost){largest, work};
    case WEFT_EINSUM_WRITE: return (einsum_cost){written, largest};
    case WEFT_EINSUM_TIME:
        price += (tree->leaf_count - 1) * exp2(tree->score->machine.log2_overhead - tree->shift);
        break;
    default: break;
    }
    return (einsum_cost){price, largest};
}

double einsum_tree_arrange(einsum_tree *tree, uint32_t node, const double peaks[2], const double left[2])
{
    uint32_t *children = tree->nodes[node].children, x = children[0];
    double in_order = fmax(peaks[0], left[0] + peaks[1]), swapped = fmax(peaks[1], left[1] + peaks[0]);
    if (swapped < in_order) children[0] = children[1], children[1] = x;
    return fmin(in_order, swapped);
}

void einsum_tree_write(einsum_tree *tree, einsum_pair *out_pairs)
{
    uint32_t *values = tree->stack;
    for (uint32_t leaf = 0; leaf < tree->leaf_count; leaf++) values[leaf] = leaf;
    for (uint32_t i = tree->leaf_count - 1, k = 0; i-- > 0; k++) {
        const uint32_t *children = tree->nodes[tree->order[i]].children;
        out_pairs[k] = (einsum_pair){values[children[0]], values[children[1]]};
        values[tree->order[i]] = tree->leaf_count + k;
    }
}

void einsum_tree_save(einsum_tree *tree, einsum_pair *out_pairs)
{
    einsum_tree_list(tree);
    for (uint32_t i = tree->leaf_count - 1; i-- > 0;) {
        uint32_t node = tree->order[i], *children = tree->nodes[node].children;
        double left[2], peaks[2] = {tree->peaks[children[0]], tree->peaks[children[1]]};
        for (int k = 0; k < 2; k++) left[k] = einsum_tree_stored(tree, children[k]);
        tree->peaks[node] =
            fmax(einsum_tree_arrange(tree, node, peaks, left), left[0] + left[1] + tree->measures[node].volume);
    }
    einsum_tree_list(tree);
    einsum_tree_write(tree, out_pairs);
}
