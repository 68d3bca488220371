/* SPDX-License-Identifier: Apache-2.0 */
/* Annealing and the trees it works on, against brute force on small networks. */
#include "test/einsum/order.h"
#include "test/support.h"
#include <math.h>
#include <string.h>
#include "extensions/einsum/plan/methods.h"
#include "extensions/einsum/plan/search.h"
#include "extensions/einsum/plan/tree.h"

enum { MOST_LEAVES = 40, MOST_LABELS = 400, MOST_WORDS = MOST_LABELS / 64 + 1 };

typedef struct network {
    einsum_core core;
    uint64_t legs[MOST_LEAVES * MOST_WORDS], output[MOST_WORDS];
    double extents[MOST_LABELS];
} network;

static const einsum_stop never = {.deadline = INFINITY};

static einsum_score score_of(weft_einsum_minimize objective)
{
    return (einsum_score){.objective = objective,
                          .log2_combo = 3,
                          .machine = {.log2_rates = {30, 31, 33, 35}, .log2_bandwidth = 34, .log2_overhead = -20},
                          .log2_slowness = 1,
                          .log2_bytes = 3};
}

/* ---- random networks ---- */

static void add_label(network *net, uint32_t leaf, uint32_t label)
{
    net->legs[leaf * net->core.words + label / 64] |= UINT64_C(1) << label % 64;
}

/*
 * Labels of two to four leaves, the first of them so that all is connected; one in six is in the output as well, and so
 * is what only one leaf came to have. Extents are 2 where `extents` is 0, else from 2 to extents + 1.
 */
static void generate(network *net, einsum_random *random, uint32_t leaves, uint32_t labels, uint32_t extents)
{
    if (labels + 1 < leaves) labels = leaves - 1;
    *net = (network){.core = {.leaf_count = leaves, .label_count = labels, .words = labels / 64 + 1}};
    net->core.legs = net->legs;
    net->core.output = net->output;
    net->core.extents = net->extents;
    for (uint32_t l = 0; l < labels; l++) {
        bool joins = l + 1 < leaves, alone = true;
        uint32_t first = joins ? l + 1 : einsum_random_below(random, leaves);
        uint32_t others = joins ? 1 : 1 + einsum_random_below(random, 3);
        add_label(net, first, l);
        for (uint32_t k = 0; k < others; k++) {
            uint32_t other = einsum_random_below(random, joins ? first : leaves);
            add_label(net, other, l);
            alone = alone && other == first;
        }
        if (alone || einsum_random_below(random, 6) == 0) net->output[l / 64] |= UINT64_C(1) << l % 64;
        net->extents[l] = extents == 0 ? 1 : log2(2 + einsum_random_below(random, extents));
    }
}

/* ---- brute force ---- */

/* Of the result of some leaves, or of all that their result and that of `others` have. */
static double size_of_leaves(const network *net, uint64_t leaves, uint64_t others)
{
    double size = 0;
    for (uint32_t l = 0; l < net->core.label_count; l++) {
        uint64_t in = 0, output = net->output[l / 64] >> l % 64 & 1;
        for (uint32_t leaf = 0; leaf < net->core.leaf_count; leaf++)
            in |= (einsum_core_legs(&net->core, leaf)[l / 64] >> l % 64 & 1) << leaf;
        bool of_first = (in & leaves) != 0 && ((in & ~leaves) | output) != 0;
        bool of_second = (in & others) != 0 && ((in & ~others) | output) != 0;
        if (of_first || of_second) size += net->extents[l];
    }
    return size;
}

/* The least major cost of all trees over all leaves. */
static double best_of_all(const network *net, const einsum_score *score)
{
    static double costs[1 << 8], sizes[1 << 8];
    uint32_t all = (1u << net->core.leaf_count) - 1;
    for (uint32_t set = 1; set <= all; set++) {
        sizes[set] = size_of_leaves(net, set, 0);
        costs[set] = (set & (set - 1)) == 0 ? -INFINITY : INFINITY;
        for (uint32_t a = (set - 1) & set; a > (set & ~a); a = (a - 1) & set) {
            uint32_t b = set & ~a;
            einsum_step step = {sizes[a], sizes[b], sizes[set], size_of_leaves(net, a, b)};
            einsum_cost parts = einsum_score_add(score, (einsum_cost){costs[a], 0}, (einsum_cost){costs[b], 0});
            costs[set] = fmin(costs[set], einsum_score_add(score, parts, einsum_score_step(score, step)).major);
        }
    }
    return costs[all];
}

static einsum_cost cost_of(const network *net, const einsum_score *score, const einsum_pair *pairs)
{
    einsum_arena arena;
    einsum_arena_init(&arena, NULL);
    einsum_cost cost;
    weft_test_ok(einsum_core_cost(&arena, &net->core, score, pairs, &cost));
    einsum_arena_finish(&arena);
    return cost;
}

/* Each value is used once, after it was made. */
static void check_order(const network *net, const einsum_pair *pairs)
{
    bool used[2 * MOST_LEAVES] = {false};
    for (uint32_t k = 0; k + 1 < net->core.leaf_count; k++) {
        const size_t values[2] = {pairs[k].a, pairs[k].b};
        for (int i = 0; i < 2; i++) {
            assert_true(values[i] < net->core.leaf_count + k);
            assert_false(used[values[i]]);
            used[values[i]] = true;
        }
    }
}

/* ---- trees ---- */

static void assert_near(double x, double y)
{
    if (x == y) return;
    if (!(fabs(x - y) <= 1e-8 * fmax(1, fmax(fabs(x), fabs(y))))) fail_msg("%.17g is not near %.17g", x, y);
}

static void check_tree(einsum_tree *tree, const network *net, const einsum_score *score)
{
    einsum_pair pairs[MOST_LEAVES];
    einsum_cost cost = einsum_tree_cost(tree);
    einsum_tree_save(tree, pairs);
    check_order(net, pairs);
    einsum_cost exact = cost_of(net, score, pairs);
    assert_near(log2(cost.major) + tree->shift, exact.major);
    assert_near(log2(cost.minor) + tree->shift, exact.minor);
}

static void wander(const network *net, const einsum_score *score, einsum_random *random)
{
    einsum_arena arena;
    einsum_arena_init(&arena, NULL);
    einsum_tree tree;
    einsum_pair pairs[MOST_LEAVES];
    weft_test_draw_order(net->core.leaf_count, random, pairs);
    weft_test_ok(einsum_tree_init(&tree, &arena, &net->core, score));
    einsum_tree_load(&tree, pairs);
    check_tree(&tree, net, score);
    for (int i = 0; i < 3000; i++) {
        uint32_t child = net->core.leaf_count + einsum_random_below(random, net->core.leaf_count - 2);
        einsum_rotation rotation = einsum_tree_rotation(&tree, child, einsum_random_below(random, 2));
        einsum_change change = einsum_tree_try(&tree, &rotation);
        einsum_tree_rotate(&tree, &rotation, &change);
    }
    if (tree.shift != 0) einsum_tree_refresh(&tree);
    check_tree(&tree, net, score);
    einsum_arena_finish(&arena);
}

static void test_tree(void **state)
{
    (void)state;
    static network net;
    einsum_random random = einsum_random_start(1, 0);
    for (uint32_t i = 0; i < 60; i++) {
        einsum_score score = score_of((weft_einsum_minimize)(i % 5));
        const uint32_t extents[] = {0, 3, 60};
        generate(&net, &random, 3 + einsum_random_below(&random, 37), 10 + 3 * i / 2, extents[i / 5 % 3]);
        wander(&net, &score, &random);
    }
}

/* Sizes whose plain numbers no double can hold. */
static void test_huge(void **state)
{
    (void)state;
    static network net;
    einsum_random random = einsum_random_start(2, 0);
    generate(&net, &random, 20, 100, 0);
    for (uint32_t l = 0; l < net.core.label_count; l++) net.extents[l] = 39.5;
    einsum_score score = score_of(WEFT_EINSUM_FLOPS);
    wander(&net, &score, &random);
}

/* ---- annealing ---- */

static einsum_anneal options_of(uint64_t moves, uint64_t seed)
{
    return (einsum_anneal){moves, 0.5, 20, einsum_random_start(seed, 1), never, 0};
}

static void test_optimum(void **state)
{
    (void)state;
    static network net;
    einsum_random random = einsum_random_start(3, 0);
    for (uint32_t i = 0; i < 200; i++) {
        einsum_score score = score_of((weft_einsum_minimize)(i % 5));
        generate(&net, &random, 1 + einsum_random_below(&random, 8), 4 + einsum_random_below(&random, 12), i % 3 * 5);
        einsum_pair pairs[MOST_LEAVES];
        weft_test_draw_order(net.core.leaf_count, &random, pairs);
        einsum_anneal options = options_of(30000, i);
        einsum_cost cost;
        weft_test_ok(einsum_anneal_run(NULL, &net.core, &score, &options, pairs, &cost));
        check_order(&net, pairs);
        assert_near(cost.major, best_of_all(&net, &score));
        assert_near(cost.major, cost_of(&net, &score, pairs).major);
    }
}

static void test_deterministic(void **state)
{
    (void)state;
    static network net;
    einsum_random random = einsum_random_start(4, 0);
    generate(&net, &random, 30, 60, 4);
    einsum_score score = score_of(WEFT_EINSUM_FLOPS);
    einsum_pair first[MOST_LEAVES] = {{0}}, second[MOST_LEAVES] = {{0}};
    weft_test_draw_order(net.core.leaf_count, &random, first);
    memcpy(second, first, sizeof first);
    einsum_anneal options = options_of(20000, 7);
    einsum_cost cost;
    weft_test_ok(einsum_anneal_run(NULL, &net.core, &score, &options, first, &cost));
    weft_test_ok(einsum_anneal_run(NULL, &net.core, &score, &options, second, &cost));
    assert_memory_equal(first, second, sizeof first);
}

static void test_stopped(void **state)
{
    (void)state;
    static network net;
    einsum_random random = einsum_random_start(5, 0);
    generate(&net, &random, 40, 80, 0);
    einsum_score score = score_of(WEFT_EINSUM_FLOPS);
    einsum_pair pairs[MOST_LEAVES];
    weft_test_draw_order(net.core.leaf_count, &random, pairs);
    double before = cost_of(&net, &score, pairs).major;
    bool cancelled = true;
    einsum_anneal options = options_of(UINT64_C(1) << 60, 1);
    options.stop.cancel.flag = &cancelled;
    einsum_cost cost;
    weft_test_ok(einsum_anneal_run(NULL, &net.core, &score, &options, pairs, &cost));
    check_order(&net, pairs);
    assert_true(cost.major <= before);
    options.stop = (einsum_stop){.deadline = 0};
    weft_test_ok(einsum_anneal_run(NULL, &net.core, &score, &options, pairs, &cost));
    check_order(&net, pairs);
}

static void test_lead(void **state)
{
    (void)state;
    static network net;
    einsum_random random = einsum_random_start(8, 0);
    for (uint32_t i = 0; i < 5; i++) {
        einsum_arena arena;
        einsum_arena_init(&arena, NULL);
        generate(&net, &random, 20, 50, 3);
        einsum_score score = score_of((weft_einsum_minimize)i);
        einsum_pair pairs[MOST_LEAVES];
        weft_test_draw_order(net.core.leaf_count, &random, pairs);
        einsum_tree tree;
        weft_test_ok(einsum_tree_init(&tree, &arena, &net.core, &score));
        einsum_tree_load(&tree, pairs);
        einsum_tree_lead(&tree, 0.25);
        check_tree(&tree, &net, &score);
        einsum_arena_finish(&arena);
    }
}

/* ---- reconfiguration ---- */

static void test_reconfigure(void **state)
{
    (void)state;
    static network net;
    einsum_random random = einsum_random_start(9, 0);
    for (uint32_t i = 0; i < 200; i++) {
        einsum_score score = score_of((weft_einsum_minimize)(i % 5));
        generate(&net, &random, 1 + einsum_random_below(&random, 8), 4 + einsum_random_below(&random, 12), i % 3 * 5);
        einsum_pair pairs[MOST_LEAVES];
        weft_test_draw_order(net.core.leaf_count, &random, pairs);
        weft_test_ok(einsum_reconfigure_run(NULL, &net.core, &score, 8, &never, pairs));
        check_order(&net, pairs);
        assert_near(cost_of(&net, &score, pairs).major, best_of_all(&net, &score));
    }
}

static void test_reconfigure_parts(void **state)
{
    (void)state;
    static network net;
    einsum_random random = einsum_random_start(10, 0);
    bool cancelled = true;
    for (uint32_t i = 0; i < 50; i++) {
        einsum_score score = score_of((weft_einsum_minimize)(i % 5));
        generate(&net, &random, 40, 90, i % 3 * 30);
        einsum_pair pairs[MOST_LEAVES];
        weft_test_draw_order(net.core.leaf_count, &random, pairs);
        einsum_cost before = cost_of(&net, &score, pairs);
        const einsum_stop stopped = {.cancel = {.flag = &cancelled}, .deadline = INFINITY};
        weft_test_ok(einsum_reconfigure_run(NULL, &net.core, &score, 4, i % 2 == 0 ? &stopped : &never, pairs));
        check_order(&net, pairs);
        einsum_cost after = cost_of(&net, &score, pairs);
        if (i % 2 == 0) assert_near(after.major, before.major);
        else assert_true(einsum_cost_less(after, before));
    }
}

static weft_status *reconfigure_once(const weft_allocator *allocator, void *context)
{
    const network *net = context;
    einsum_score score = score_of(WEFT_EINSUM_SIZE);
    einsum_pair pairs[MOST_LEAVES];
    for (uint32_t k = 0; k + 1 < net->core.leaf_count; k++)
        pairs[k] = (einsum_pair){k == 0 ? 0 : net->core.leaf_count + k - 1, k + 1};
    return einsum_reconfigure_run(allocator, &net->core, &score, 6, &never, pairs);
}

/* ---- memory ---- */

static weft_status *anneal_once(const weft_allocator *allocator, void *context)
{
    const network *net = context;
    einsum_score score = score_of(WEFT_EINSUM_TIME);
    einsum_pair pairs[MOST_LEAVES];
    for (uint32_t k = 0; k + 1 < net->core.leaf_count; k++)
        pairs[k] = (einsum_pair){k == 0 ? 0 : net->core.leaf_count + k - 1, k + 1};
    einsum_anneal options = options_of(1000, 1);
    einsum_cost cost;
    return einsum_anneal_run(allocator, &net->core, &score, &options, pairs, &cost);
}

static void test_memory(void **state)
{
    (void)state;
    static network net;
    einsum_random random = einsum_random_start(6, 0);
    generate(&net, &random, 40, 120, 0);
    assert_true(weft_test_fail_each(anneal_once, &net) > 2);
    assert_true(weft_test_fail_each(reconfigure_once, &net) > 2);
}

/* ---- searching ---- */

static double search_for(const network *net, uint64_t moves, bool improve, einsum_pair *pairs)
{
    const einsum_search options = {
        .score = score_of(WEFT_EINSUM_FLOPS), .moves = moves, .deadline = INFINITY, .threads = 1, .improve = improve};
    weft_test_ok(einsum_search_run(NULL, &net->core, &options, pairs));
    check_order(net, pairs);
    return cost_of(net, &options.score, pairs).major;
}

/* A search that begins with an order makes it no worse, however short it is. */
static void test_search_improves(void **state)
{
    (void)state;
    static network net;
    einsum_pair pairs[MOST_LEAVES];
    einsum_random random = einsum_random_start(11, 0);
    double longs = 0, shorts = 0;
    for (int round = 0; round < 5; round++) {
        generate(&net, &random, MOST_LEAVES, 70, 3);
        double found = search_for(&net, 200000, false, pairs);
        assert_true(search_for(&net, 1, true, pairs) <= found);
        assert_true(search_for(&net, 20000, true, pairs) <= found);
        longs += found;
        shorts += search_for(&net, 1, false, pairs);
    }
    assert_true(longs < shorts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_huge),
        cmocka_unit_test(test_optimum),
        cmocka_unit_test(test_deterministic),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_lead),
        cmocka_unit_test(test_reconfigure),
        cmocka_unit_test(test_reconfigure_parts),
        cmocka_unit_test(test_search_improves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
