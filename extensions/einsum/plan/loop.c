/* SPDX-License-Identifier: Apache-2.0 */
#include "loop.h"
#include <string.h>

weft_status *einsum_loop_init(einsum_loop *loop, einsum_arena *arena, const einsum_core *core,
                              const einsum_score *score)
{
    WEFT_TRY(einsum_tree_init(&loop->tree, arena, core, score));
    loop->log2_iterations = 0;
    loop->sliced = einsum_arena_allocate(arena, core->words, sizeof *loop->sliced);
    loop->counts = einsum_arena_allocate(arena, loop->tree.node_count, sizeof *loop->counts);
    return loop->sliced != NULL && loop->counts != NULL ? NULL : weft_status_out_of_memory();
}

void einsum_loop_slice(einsum_loop *loop, uint32_t label, bool sliced)
{
    if (sliced == einsum_loop_slices(loop, label)) return;
    loop->sliced[label / 64] ^= UINT64_C(1) << label % 64;
    loop->log2_iterations += sliced ? loop->tree.core->extents[label] : -loop->tree.core->extents[label];
    einsum_tree_slice(&loop->tree, label, sliced);
}

/* ---- the shape ---- */

static bool has_sliced(const einsum_loop *loop, uint32_t leaf)
{
    const uint64_t *legs = einsum_core_legs(loop->tree.core, leaf);
    for (uint32_t w = 0; w < loop->tree.core->words; w++)
        if ((legs[w] & loop->sliced[w]) != 0) return true;
    return false;
}

/* The lowest node with all of them. */
static uint32_t find_last(const einsum_loop *loop)
{
    const einsum_tree *tree = &loop->tree;
    uint32_t node = tree->node_count - 1, all = loop->counts[node];
    if (all == 0 || tree->leaf_count < 2) return 0;
    while (loop->log2_whole == 0) {
        const uint32_t *children = tree->nodes[node].children;
        uint32_t below = children[loop->counts[children[0]] < all];
        if (below < tree->leaf_count || loop->counts[below] < all) return node;
        node = below;
    }
    return node;
}

void einsum_loop_update(einsum_loop *loop)
{
    einsum_tree *tree = &loop->tree;
    einsum_tree_list(tree);
    for (uint32_t leaf = 0; leaf < tree->leaf_count; leaf++) loop->counts[leaf] = has_sliced(loop, leaf);
    for (uint32_t i = tree->leaf_count - 1; i-- > 0;) {
        const uint32_t *children = tree->nodes[tree->order[i]].children;
        loop->counts[tree->order[i]] = loop->counts[children[0]] + loop->counts[children[1]];
    }
    loop->log2_whole = 0;
    loop->placed = true;
    for (uint32_t w = 0; w < tree->core->words; w++) {
        loop->placed = loop->placed && (loop->sliced[w] & ~tree->core->output[w]) == 0;
        for (uint64_t bits = loop->sliced[w] & tree->core->output[w]; bits != 0; bits &= bits - 1)
            loop->log2_whole += tree->core->extents[64 * w + (uint32_t)__builtin_ctzll(bits)];
    }
    loop->last = find_last(loop);
}

/* ---- costs ---- */

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

einsum_loop_cost einsum_loop_measure(const einsum_loop *loop)
{
    const einsum_tree *tree = &loop->tree;
    einsum_loop_cost cost = {.log2_size = -INFINITY};
    double outside = 0;
    for (uint32_t node = tree->leaf_count; node < tree->node_count; node++) {
        *(einsum_loop_holds(loop, node) ? &cost.slice : &outside) += step_cost(tree, node);
        cost.log2_size = fmax(cost.log2_size, einsum_loop_size(loop, node));
    }
    if (loop->last == 0) cost.slice = outside, outside = 0;
    cost.log2_total = einsum_log2_add(log2(cost.slice) + loop->log2_iterations, log2(outside)) + tree->shift;
    return cost;
}

/* ---- what is live ---- */

static bool same_labels(const einsum_tree *tree, uint32_t x, uint32_t y)
{
    return memcmp(einsum_tree_legs(tree, x), einsum_tree_legs(tree, y), tree->words * sizeof *tree->legs) == 0;
}

/* A product of two values with the same labels that meets a third: it is computed where it is read. */
static bool is_fused(const einsum_loop *loop, uint32_t node)
{
    const einsum_tree *tree = &loop->tree;
    if (node < tree->leaf_count || node + 1 == tree->node_count || node == loop->last) return false;
    uint32_t parent = tree->nodes[node].parent;
    const uint32_t *children = tree->nodes[node].children, *pair = tree->nodes[parent].children;
    bool kept = einsum_loop_holds(loop, parent) && loop->counts[node] == 0;
    return !kept && same_labels(tree, pair[0], pair[1]) && same_labels(tree, node, children[0]) &&
           same_labels(tree, node, children[1]);
}

/* Of what adds up the result of all; what an iteration has of it counts as a result. */
static double stored_sum(const einsum_loop *loop, uint32_t root)
{
    bool in_place = loop->last == root && loop->placed;
    if (!loop->tree.core->widened || in_place) return 0;
    return loop->tree.measures[root].volume * (loop->last == root ? exp2(loop->log2_whole) : 1);
}

double einsum_loop_stored(const einsum_loop *loop, uint32_t node)
{
    if (node + 1 == loop->tree.node_count) return stored_sum(loop, node);
    return is_fused(loop, node) ? 0 : einsum_tree_stored(&loop->tree, node);
}

/* A product of one row or column, or one that adds nothing up, is computed by loops, where its result is added up. */
static bool is_looped(const einsum_loop *loop, uint32_t node)
{
    const einsum_tree *tree = &loop->tree;
    const uint32_t *children = tree->nodes[node].children;
    const uint64_t *a = einsum_tree_legs(tree, children[0]), *b = einsum_tree_legs(tree, children[1]),
                   *result = einsum_tree_legs(tree, node);
    uint64_t rows = 0, columns = 0, terms = 0;
    for (uint32_t w = 0; w < tree->words; w++) {
        rows |= a[w] & ~b[w] & result[w];
        columns |= b[w] & ~a[w] & result[w];
        terms |= a[w] & b[w] & ~result[w];
    }
    return rows == 0 || columns == 0 || terms == 0;
}

double einsum_loop_part(const einsum_loop *loop)
{
    const einsum_tree *tree = &loop->tree;
    if (loop->last == 0 || (!tree->core->widened && is_looped(loop, loop->last))) return 0;
    return tree->measures[loop->last].volume;
}

/* What stays of a child while its sibling is made; in an iteration what is kept for all iterations counts for the loop.
 */
static double stays(const einsum_loop *loop, uint32_t node, uint32_t child)
{
    return einsum_loop_holds(loop, node) && loop->counts[child] == 0 ? 0 : einsum_loop_stored(loop, child);
}

/* `peaks` of a node made in an iteration are those of the iteration. */
static void arrange_node(einsum_loop *loop, uint32_t node, double result)
{
    einsum_tree *tree = &loop->tree;
    const uint32_t *children = tree->nodes[node].children;
    double peaks[2], left[2] = {stays(loop, node, children[0]), stays(loop, node, children[1])};
    for (int i = 0; i < 2; i++) {
        peaks[i] = tree->peaks[children[i]];
        if (einsum_loop_holds(loop, node) && loop->counts[children[i]] == 0) peaks[i] = 0;
    }
    tree->peaks[node] = fmax(einsum_tree_arrange(tree, node, peaks, left), left[0] + left[1] + result);
}

/* Makes the peak of the last iteration's node that of the whole loop. */
static void add_kept(einsum_loop *loop)
{
    einsum_tree *tree = &loop->tree;
    double kept = 0, before = 0;
    for (uint32_t leaf = 0; leaf < tree->leaf_count; leaf++)
        if (loop->counts[leaf] == 0 && einsum_loop_holds(loop, tree->nodes[leaf].parent))
            kept += einsum_loop_stored(loop, leaf);
    einsum_tree_list(tree);
    for (uint32_t i = tree->leaf_count - 1; i-- > 0;) {
        uint32_t node = tree->order[i];
        if (loop->counts[node] > 0 || !einsum_loop_holds(loop, tree->nodes[node].parent)) continue;
        before = fmax(before, kept + tree->peaks[node]);
        kept += einsum_loop_stored(loop, node);
    }
    tree->peaks[loop->last] = fmax(before, kept + einsum_loop_stored(loop, loop->last) + tree->peaks[loop->last]);
}

double einsum_loop_peak(einsum_loop *loop)
{
    einsum_tree *tree = &loop->tree;
    uint32_t root = tree->node_count - 1;
    for (uint32_t leaf = 0; leaf < tree->leaf_count; leaf++) tree->peaks[leaf] = einsum_loop_stored(loop, leaf);
    einsum_tree_list(tree);
    for (uint32_t i = tree->leaf_count - 1; i-- > 0;) {
        uint32_t node = tree->order[i];
        if (!einsum_loop_follows(loop, node))
            arrange_node(loop, node, node == loop->last ? einsum_loop_part(loop) : einsum_loop_stored(loop, node));
    }
    if (loop->last > 0) {
        add_kept(loop);
        for (uint32_t node = loop->last; node != root; node = tree->nodes[node].parent)
            arrange_node(loop, tree->nodes[node].parent, einsum_loop_stored(loop, tree->nodes[node].parent));
    }
    einsum_tree_list(tree);
    return log2(tree->peaks[root]) + tree->shift;
}

void einsum_loop_save(einsum_loop *loop, einsum_pair *out_pairs)
{
    einsum_loop_peak(loop);
    einsum_tree_write(&loop->tree, out_pairs);
}
