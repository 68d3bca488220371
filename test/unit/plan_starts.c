/* SPDX-License-Identifier: Apache-2.0 */
/* Simplification and the methods that start from nothing, against all orders of small networks. */
#include "test/support.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "extensions/einsum/plan/search.h"
#include "extensions/einsum/plan/simplify.h"

enum { MOST_OPERANDS = 8, MOST_LABELS = 12, MOST_VALUES = 2 * MOST_OPERANDS };

static const weft_einsum_minimize objectives[] = {WEFT_EINSUM_FLOPS, WEFT_EINSUM_SIZE, WEFT_EINSUM_WRITE,
                                                  WEFT_EINSUM_COMBO, WEFT_EINSUM_TIME};
enum { OBJECTIVES = sizeof objectives / sizeof *objectives, MONOTONE = OBJECTIVES - 1 };

static einsum_score score_of(weft_einsum_minimize objective)
{
    return (einsum_score){.objective = objective,
                          .log2_combo = 3,
                          .machine = {.log2_rates = {30, 31, 33, 35}, .log2_bandwidth = 34, .log2_overhead = -20},
                          .log2_slowness = 1,
                          .log2_bytes = 3};
}

/* ---- small networks, sets of labels in one word ---- */

typedef struct network {
    uint32_t operand_count, label_count, output;
    uint32_t sets[MOST_OPERANDS];
    double extents[MOST_LABELS];
    einsum_problem problem;
    einsum_labels operands[MOST_OPERANDS];
    uint32_t items[MOST_OPERANDS + 1][MOST_LABELS];
} network;

static einsum_labels list(uint32_t set, uint32_t *items)
{
    einsum_labels labels = {0, items};
    for (uint32_t l = 0; l < MOST_LABELS; l++)
        if (set >> l & 1) items[labels.count++] = l;
    return labels;
}

static void fill_problem(network *net)
{
    for (uint32_t i = 0; i < net->operand_count; i++) net->operands[i] = list(net->sets[i], net->items[i]);
    net->problem = (einsum_problem){.operand_count = net->operand_count,
                                    .operands = net->operands,
                                    .output = list(net->output, net->items[MOST_OPERANDS]),
                                    .label_count = net->label_count,
                                    .log2_extents = net->extents};
}

/* What one operand alone has, and the output has not, is summed before. */
static void drop_private(network *net)
{
    for (uint32_t l = 0; l < net->label_count; l++) {
        uint32_t uses = net->output >> l & 1;
        for (uint32_t i = 0; i < net->operand_count; i++) uses += net->sets[i] >> l & 1;
        for (uint32_t i = 0; i < net->operand_count && uses == 1; i++) net->sets[i] &= ~(1u << l);
    }
}

/* Operands of up to five labels; scalars, repeated operands and such in parts of another one, labels of many. */
static void generate(network *net, einsum_random *random, uint32_t most_operands)
{
    static const double extents[] = {0, 1, 1, 1.584962500721156, 2, 3, 3.3, 5, 40};
    *net = (network){.operand_count = 1 + einsum_random_below(random, most_operands),
                     .label_count = 1 + einsum_random_below(random, MOST_LABELS)};
    uint32_t held = 0;
    for (uint32_t l = 0; l < net->label_count; l++) net->extents[l] = extents[einsum_random_below(random, 9)];
    for (uint32_t i = 0; i < net->operand_count; i++) {
        uint32_t rank = einsum_random_below(random, 6), kind = einsum_random_below(random, 8);
        for (uint32_t k = 0; k < rank; k++) net->sets[i] |= 1u << einsum_random_below(random, net->label_count);
        if (i > 0 && kind == 0) net->sets[i] = net->sets[i - 1];
        if (i > 0 && kind == 1) net->sets[i] &= net->sets[einsum_random_below(random, i)];
        held |= net->sets[i];
    }
    net->output = held & (uint32_t)einsum_random_next(random) & (uint32_t)einsum_random_next(random);
    drop_private(net);
    fill_problem(net);
}

static double size_of(const network *net, uint32_t set)
{
    double size = 0;
    for (uint32_t l = 0; l < net->label_count; l++) size += set >> l & 1 ? net->extents[l] : 0;
    return size;
}

/* ---- all orders ---- */

typedef struct values {
    uint32_t count;
    uint32_t sets[MOST_VALUES];
} values;

/* Joins values i < j: the result takes the place of i, the last one that of j. */
static values joined(const network *net, const values *v, uint32_t i, uint32_t j, einsum_step *out_step)
{
    uint32_t needed = net->output, both = v->sets[i] | v->sets[j];
    for (uint32_t k = 0; k < v->count; k++) needed |= k == i || k == j ? 0 : v->sets[k];
    values result = *v;
    result.sets[i] = both & needed;
    result.sets[j] = v->sets[--result.count];
    *out_step = (einsum_step){size_of(net, v->sets[i]), size_of(net, v->sets[j]), size_of(net, both & needed),
                              size_of(net, both)};
    return result;
}

static void try_all(const network *net, const einsum_score *score, bool outer, const values *v, einsum_cost cost,
                    einsum_cost *best)
{
    if (v->count == 1 && einsum_cost_less(cost, *best)) *best = cost;
    for (uint32_t i = 0; i < v->count; i++) {
        for (uint32_t j = i + 1; j < v->count; j++) {
            einsum_step step;
            values next = joined(net, v, i, j, &step);
            if (!outer && (v->sets[i] & v->sets[j]) == 0) continue;
            einsum_cost sum = einsum_score_add(score, cost, einsum_score_step(score, step));
            if (sum.major <= best->major) try_all(net, score, outer, &next, sum, best);
        }
    }
}

static einsum_cost best_of_all(const network *net, const einsum_score *score, bool outer)
{
    values v = {.count = net->operand_count};
    memcpy(v.sets, net->sets, sizeof net->sets);
    einsum_cost best = EINSUM_WORST_COST;
    try_all(net, score, outer, &v, EINSUM_NO_COST, &best);
    return best;
}

/* ---- orders ---- */

/* Each value is used once, after it was made. */
static void check_order(size_t leaves, const einsum_pair *pairs)
{
    bool *used = calloc(2 * leaves, sizeof *used);
    assert_non_null(used);
    for (size_t k = 0; k + 1 < leaves; k++) {
        assert_true(pairs[k].a < leaves + k && pairs[k].b < leaves + k && pairs[k].a != pairs[k].b);
        assert_false(used[pairs[k].a] || used[pairs[k].b]);
        used[pairs[k].a] = used[pairs[k].b] = true;
    }
    free(used);
}

static einsum_cost cost_of(const network *net, const einsum_score *score, const einsum_pair *pairs)
{
    uint32_t sets[MOST_VALUES];
    bool gone[MOST_VALUES] = {false};
    einsum_cost cost = EINSUM_NO_COST;
    check_order(net->operand_count, pairs);
    memcpy(sets, net->sets, sizeof net->sets);
    for (uint32_t k = net->operand_count; k < 2 * net->operand_count - 1; k++) {
        size_t a = pairs[k - net->operand_count].a, b = pairs[k - net->operand_count].b;
        uint32_t needed = net->output;
        gone[a] = gone[b] = true;
        for (uint32_t v = 0; v < k; v++) needed |= gone[v] ? 0 : sets[v];
        sets[k] = (sets[a] | sets[b]) & needed;
        einsum_step step = {size_of(net, sets[a]), size_of(net, sets[b]), size_of(net, sets[k]),
                            size_of(net, sets[a] | sets[b])};
        cost = einsum_score_add(score, cost, einsum_score_step(score, step));
    }
    return cost;
}

static void check_best(einsum_cost found, einsum_cost best)
{
    if (best.major == -INFINITY) assert_true(found.major == -INFINITY);
    else if (fabs(found.major - best.major) > 1e-6) fail_msg("cost %.9g, best is %.9g", found.major, best.major);
}

/* ---- methods on cores ---- */

typedef weft_status *method(const weft_allocator *allocator, const einsum_core *core, einsum_pair *out_pairs);

static weft_status *run_exact(const weft_allocator *allocator, const einsum_core *core, einsum_pair *out_pairs)
{
    const einsum_score score = score_of(WEFT_EINSUM_SIZE);
    bool found;
    WEFT_TRY(einsum_exact_run(allocator, core, &score, false, 2000, NULL, out_pairs, &found));
    if (!found) einsum_order_left(core->leaf_count, out_pairs);
    return NULL;
}

static weft_status *run_greedy(const weft_allocator *allocator, const einsum_core *core, einsum_pair *out_pairs)
{
    return einsum_greedy_run(allocator, core, &(einsum_greedy){.log2_factor = 0.5}, out_pairs);
}

static weft_status *run_random_greedy(const weft_allocator *allocator, const einsum_core *core, einsum_pair *out_pairs)
{
    const einsum_greedy options = {.temperature = 0.7, .random = einsum_random_start(3, 4)};
    return einsum_greedy_run(allocator, core, &options, out_pairs);
}

static weft_status *run_degree(const weft_allocator *allocator, const einsum_core *core, einsum_pair *out_pairs)
{
    bool ended;
    return einsum_eliminate_run(allocator, core, EINSUM_MIN_DEGREE, einsum_random_start(5, 6), NULL, out_pairs, &ended);
}

static weft_status *run_fill(const weft_allocator *allocator, const einsum_core *core, einsum_pair *out_pairs)
{
    bool ended;
    return einsum_eliminate_run(allocator, core, EINSUM_MIN_FILL, einsum_random_start(5, 6), NULL, out_pairs, &ended);
}

static weft_status *run_bisect(const weft_allocator *allocator, const einsum_core *core, einsum_pair *out_pairs)
{
    return einsum_bisect_run(allocator, core, 0.1, einsum_random_start(7, 8), out_pairs);
}

static weft_status *run_uneven(const weft_allocator *allocator, const einsum_core *core, einsum_pair *out_pairs)
{
    return einsum_bisect_run(allocator, core, 0.9, einsum_random_start(9, 1), out_pairs);
}

static weft_status *run_sweep(const weft_allocator *allocator, const einsum_core *core, einsum_pair *out_pairs)
{
    bool ended;
    return einsum_sweep_run(allocator, core, 3, einsum_random_start(2, 3), NULL, out_pairs, &ended);
}

static method *const methods[] = {run_exact, run_greedy, run_random_greedy, run_degree,
                                  run_fill,  run_bisect, run_uneven,        run_sweep};
enum { METHODS = sizeof methods / sizeof *methods };

/* ---- problems through simplification ---- */

typedef struct simplified {
    einsum_depth depth;
    const network *net;
    const einsum_score *score;
    method *run; /* NULL: exact, with outer products */
    einsum_pair pairs[MOST_OPERANDS];
} simplified;

static weft_status *order_core(einsum_arena *arena, const simplified *s, const einsum_core *core, einsum_pair *pairs)
{
    if (s->run != NULL) return s->run(arena->allocator, core, pairs);
    bool found;
    WEFT_TRY(einsum_exact_run(arena->allocator, core, s->score, true, 300, NULL, pairs, &found));
    assert_true(found);
    return NULL;
}

static weft_status *order_cores(einsum_arena *arena, simplified *s)
{
    einsum_simple simple;
    einsum_pair *pairs[MOST_OPERANDS];
    WEFT_TRY(einsum_simplify_run(arena, &s->net->problem, s->depth, &simple));
    if (s->depth == EINSUM_DEPTH_WHOLE) assert_int_equal(simple.core_count, 1);
    for (size_t i = 0; i < simple.core_count; i++) {
        pairs[i] = einsum_arena_allocate(arena, simple.cores[i].leaf_count, sizeof **pairs);
        if (pairs[i] == NULL) return weft_status_out_of_memory();
        WEFT_TRY(order_core(arena, s, &simple.cores[i], pairs[i]));
    }
    return einsum_simplify_join(arena, &s->net->problem, &simple, (const einsum_pair *const *)pairs, s->pairs);
}

static weft_status *order_simplified(const weft_allocator *allocator, void *context)
{
    einsum_arena arena;
    einsum_arena_init(&arena, allocator);
    weft_status *status = order_cores(&arena, context);
    einsum_arena_finish(&arena);
    return status;
}

static void test_simplified_is_optimal(void **state)
{
    (void)state;
    einsum_random random = einsum_random_start(1, 0);
    for (int trial = 0; trial < 200; trial++) {
        network net;
        generate(&net, &random, trial < 195 ? 6 : 7);
        for (int k = 0; k < MONOTONE; k++) {
            const einsum_score score = score_of(objectives[k]);
            simplified s = {.depth = EINSUM_DEPTH_WHOLE, .net = &net, .score = &score};
            weft_test_ok(order_simplified(NULL, &s));
            check_best(cost_of(&net, &score, s.pairs), best_of_all(&net, &score, true));
        }
    }
}

/* The order that AUTO finds for few operands, whatever it does inside. */
static void test_auto_is_optimal(void **state)
{
    (void)state;
    einsum_random random = einsum_random_start(2, 0);
    for (int trial = 0; trial < 100; trial++) {
        network net;
        einsum_pair pairs[MOST_OPERANDS];
        const einsum_planner planner = {.minimize = WEFT_EINSUM_FLOPS};
        const einsum_score score = score_of(WEFT_EINSUM_FLOPS);
        generate(&net, &random, 6);
        einsum_arena arena;
        einsum_arena_init(&arena, NULL);
        einsum_labels sliced;
        weft_test_ok(einsum_plan_find(&arena, &net.problem, &planner, WEFT_F32, pairs, &sliced));
        assert_int_equal(sliced.count, 0);
        einsum_arena_finish(&arena);
        check_best(cost_of(&net, &score, pairs), best_of_all(&net, &score, true));
    }
}

/* Every depth with every method is an order, and none is better than the best. */
static void test_simplified_is_valid(void **state)
{
    (void)state;
    einsum_random random = einsum_random_start(3, 0);
    const einsum_score score = score_of(WEFT_EINSUM_FLOPS);
    for (int trial = 0; trial < 300; trial++) {
        network net;
        generate(&net, &random, 5);
        einsum_cost best = best_of_all(&net, &score, true);
        for (einsum_depth depth = EINSUM_DEPTH_WHOLE; depth <= EINSUM_DEPTH_FULL; depth++) {
            for (int k = 0; k < METHODS; k++) {
                simplified s = {.depth = depth, .net = &net, .score = &score, .run = methods[k]};
                weft_test_ok(order_simplified(NULL, &s));
                double cost = cost_of(&net, &score, s.pairs).major;
                assert_true(cost == best.major || cost > best.major - 1e-6);
            }
        }
    }
}

/* ---- cores ---- */

typedef struct big {
    einsum_core core;
    uint64_t *legs, *output;
    double *extents;
} big;

static void big_create(big *b, uint32_t leaves, uint32_t labels)
{
    uint32_t words = (labels + 63) / 64;
    b->legs = calloc((size_t)leaves * words + 1, sizeof *b->legs);
    b->output = calloc(words + 1, sizeof *b->output);
    b->extents = calloc(labels + 1, sizeof *b->extents);
    assert_true(b->legs != NULL && b->output != NULL && b->extents != NULL);
    b->core = (einsum_core){leaves, labels, words, b->legs, b->output, b->extents};
}

static void big_destroy(big *b)
{
    free(b->legs);
    free(b->output);
    free(b->extents);
}

static void big_add(big *b, uint32_t leaf, uint32_t label)
{
    b->legs[(size_t)leaf * b->core.words + label / 64] |= UINT64_C(1) << label % 64;
}

/* A random tree of leaves, half as many labels more between any two or three, some of all kept for the output. */
static void big_generate(big *b, einsum_random *random, uint32_t leaves)
{
    uint32_t labels = leaves - 1 + leaves / 2;
    big_create(b, leaves, labels);
    for (uint32_t l = 0; l < labels; l++) {
        uint32_t first = l + 1 < leaves ? l + 1 : einsum_random_below(random, leaves);
        b->extents[l] = log2(2 + einsum_random_below(random, 7));
        uint32_t second = l + 1 < leaves ? einsum_random_below(random, first) : einsum_random_below(random, leaves);
        big_add(b, first, l);
        big_add(b, second, l);
        if (einsum_random_below(random, 8) == 0) big_add(b, einsum_random_below(random, leaves), l);
        if (first == second || einsum_random_below(random, 20) == 0) b->output[l / 64] |= UINT64_C(1) << l % 64;
    }
}

static void test_methods_give_orders(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 3, 50, 2000};
    einsum_random random = einsum_random_start(4, 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        big b;
        big_generate(&b, &random, sizes[i]);
        einsum_pair *pairs = calloc(sizes[i], sizeof *pairs), *again = calloc(sizes[i], sizeof *again);
        assert_true(pairs != NULL && again != NULL);
        for (int k = 0; k < METHODS; k++) {
            weft_test_ok(methods[k](NULL, &b.core, pairs));
            check_order(sizes[i], pairs);
            weft_test_ok(methods[k](NULL, &b.core, again));
            assert_memory_equal(pairs, again, (sizes[i] - 1) * sizeof *pairs);
        }
        free(pairs);
        free(again);
        big_destroy(&b);
    }
}

static bool is_connected(const network *net)
{
    uint32_t part = net->sets[0];
    for (uint32_t i = 0; i < net->operand_count; i++)
        for (uint32_t k = 0; k < net->operand_count; k++) part |= (net->sets[k] & part) != 0 ? net->sets[k] : 0;
    for (uint32_t i = 0; i < net->operand_count; i++)
        if ((net->sets[i] & part) == 0) return false;
    return true;
}

/* The network as it is, without any simplification. */
static void fill_core(const network *net, big *b)
{
    big_create(b, net->operand_count, net->label_count);
    for (uint32_t l = 0; l < net->label_count; l++) b->extents[l] = net->extents[l];
    for (uint32_t i = 0; i < net->operand_count; i++) b->legs[i] = net->sets[i];
    b->output[0] = net->output;
}

/* Without outer products an order with some of them may still come out, where it is better. */
static void check_exact(const network *net, weft_einsum_minimize objective, bool outer)
{
    big b;
    einsum_pair pairs[MOST_OPERANDS];
    const einsum_score score = score_of(objective);
    bool found;
    fill_core(net, &b);
    weft_test_ok(einsum_exact_run(NULL, &b.core, &score, outer, 300, NULL, pairs, &found));
    assert_true(found);
    einsum_cost cost = cost_of(net, &score, pairs), best = best_of_all(net, &score, outer);
    if (!outer && cost.major < best.major - 1e-6) {
        assert_true(cost.major > best_of_all(net, &score, true).major - 1e-6);
    } else {
        check_best(cost, best);
        if (objective == WEFT_EINSUM_SIZE && best.minor > 0)
            assert_true(outer ? fabs(cost.minor - best.minor) < 1e-6 : cost.minor < best.minor + 1e-6);
    }
    big_destroy(&b);
}

static void test_exact_is_optimal(void **state)
{
    (void)state;
    einsum_random random = einsum_random_start(5, 0);
    for (int trial = 0; trial < 150; trial++) {
        network net;
        generate(&net, &random, trial < 146 ? 6 : 7);
        for (int k = 0; k < OBJECTIVES; k++) {
            check_exact(&net, objectives[k], true);
            if (net.operand_count > 2 && is_connected(&net)) check_exact(&net, objectives[k], false);
        }
    }
}

/* ---- chains ---- */

/* Matrices in any order, label l between those at places l - 1 and l; both ends are open. */
static void chain_create(big *b, uint32_t count, einsum_random *random, uint32_t *out_places)
{
    big_create(b, count, count + 1);
    for (uint32_t l = 0; l <= count; l++) b->extents[l] = log2(2 + einsum_random_below(random, 400));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t other = einsum_random_below(random, i + 1);
        out_places[i] = out_places[other];
        out_places[other] = i;
    }
    for (uint32_t i = 0; i < count; i++) {
        big_add(b, out_places[i], i);
        big_add(b, out_places[i], i + 1);
    }
    b->output[0] |= 1;
    b->output[count / 64] |= UINT64_C(1) << count % 64;
}

/* The dynamic program of textbooks. */
static double best_chain(const big *b, uint32_t count)
{
    double(*best)[101] = calloc(101, sizeof *best);
    assert_non_null(best);
    for (uint32_t length = 2; length <= count; length++) {
        for (uint32_t i = 0; i + length <= count; i++) {
            uint32_t end = i + length;
            best[i][end] = INFINITY;
            for (uint32_t k = i + 1; k < end; k++) {
                double step = exp2(b->extents[i] + b->extents[k] + b->extents[end]);
                best[i][end] = fmin(best[i][end], best[i][k] + best[k][end] + step);
            }
        }
    }
    double cost = log2(best[0][count]);
    free(best);
    return cost;
}

static void test_chain_of_100(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    einsum_random random = einsum_random_start(6, 0);
    const einsum_score score = score_of(WEFT_EINSUM_FLOPS);
    for (int trial = 0; trial < 3; trial++) {
        big b;
        uint32_t places[COUNT];
        einsum_pair pairs[COUNT];
        bool found;
        einsum_cost cost;
        chain_create(&b, COUNT, &random, places);
        weft_test_ok(einsum_exact_run(NULL, &b.core, &score, false, 6000, NULL, pairs, &found));
        assert_true(found);
        einsum_arena arena;
        einsum_arena_init(&arena, NULL);
        weft_test_ok(einsum_core_cost(&arena, &b.core, &score, pairs, &cost));
        einsum_arena_finish(&arena);
        assert_true(fabs(cost.major - best_chain(&b, COUNT)) < 1e-9);
        weft_test_ok(einsum_exact_run(NULL, &b.core, &score, false, 5000, NULL, pairs, &found));
        assert_false(found);
        big_destroy(&b);
    }
}

/* ---- simplification alone ---- */

typedef struct left {
    size_t cores, leaves, labels; /* the latter two of all cores */
    double log2_common;
} left;

typedef struct expected {
    const char *text; /* operands, then the output, one letter a label */
    left safe, full;
} expected;

/* All extents are 8. */
static void parse(const char *text, network *net)
{
    *net = (network){.label_count = MOST_LABELS};
    uint32_t set = 0;
    for (; *text != '\0'; text++) {
        if (*text != ',' && *text != '>') set |= 1u << (*text - 'a');
        else net->sets[net->operand_count++] = set;
        if (*text == ',' || *text == '>') set = 0;
    }
    net->output = set;
    for (uint32_t l = 0; l < MOST_LABELS; l++) net->extents[l] = 3;
    fill_problem(net);
}

static void check_left(const network *net, einsum_depth depth, const left *rest)
{
    einsum_arena arena;
    einsum_simple simple;
    size_t leaves = 0, labels = 0;
    einsum_arena_init(&arena, NULL);
    weft_test_ok(einsum_simplify_run(&arena, &net->problem, depth, &simple));
    for (size_t i = 0; i < simple.core_count; i++) {
        leaves += simple.cores[i].leaf_count;
        labels += simple.cores[i].label_count;
    }
    assert_int_equal(simple.core_count, rest->cores);
    assert_int_equal(leaves, rest->leaves);
    assert_int_equal(labels, rest->labels);
    assert_true(simple.log2_common == rest->log2_common);
    einsum_arena_finish(&arena);
}

static void test_what_is_left(void **state)
{
    (void)state;
    static const expected cases[] = {
        {"ab,bc,cd>ad", {1, 3, 4, 0}, {1, 3, 4, 0}},
        {"abc,bcd,de>ae", {1, 3, 4, 0}, {1, 3, 4, 0}},      /* b and c travel together */
        {"kab,kbc,kcd>kad", {1, 3, 4, 3}, {1, 3, 4, 3}},    /* k is everywhere */
        {"ab,ab,ba,bc>ac", {1, 2, 3, 0}, {1, 2, 3, 0}},     /* equal operands */
        {"ab,bc,ef,fg>aceg", {2, 4, 6, 0}, {2, 4, 6, 0}},   /* two components */
        {",a,abc>bc", {1, 2, 2, 0}, {2, 2, 1, 0}},          /* a scalar goes to what is smaller than the result */
        {",ab,bc,ca>", {2, 4, 3, 0}, {2, 4, 3, 0}},         /* here the result is smallest */
        {",ab,bc>", {1, 1, 0, 0}, {1, 1, 0, 0}},            /* private labels go first, then all are equal */
        {"ab,a,bc,c,cd>d", {1, 5, 4, 0}, {1, 1, 0, 3}},     /* vectors are parts of matrices */
        {"abc,cde,efg,abdfg>", {1, 4, 5, 0}, {1, 4, 5, 0}}, /* what would grow, or */
        {"abcd,de,ef>abcf", {1, 3, 4, 0}, {1, 3, 4, 0}},    /* cost more than it is worth */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        network net;
        parse(cases[i].text, &net);
        check_left(&net, EINSUM_DEPTH_SAFE, &cases[i].safe);
        check_left(&net, EINSUM_DEPTH_FULL, &cases[i].full);
    }
}

/* ---- sweeps ---- */

static void add_bond(big *b, uint32_t x, uint32_t y, uint32_t *label)
{
    big_add(b, x, *label);
    big_add(b, y, (*label)++);
}

/* One of a few sweeps over a lattice goes along its short rows, which no step leaves more than one label beyond. */
static void test_sweeps_follow_rows(void **state)
{
    (void)state;
    enum { ROWS = 12, COLUMNS = 5, LEAVES = ROWS * COLUMNS };
    big b;
    einsum_pair pairs[LEAVES];
    double least = INFINITY;
    uint32_t label = 0;
    big_create(&b, LEAVES, 2 * LEAVES - ROWS - COLUMNS);
    for (uint32_t i = 0; i < LEAVES; i++) {
        if (i % COLUMNS > 0) add_bond(&b, i - 1, i, &label);
        if (i >= COLUMNS) add_bond(&b, i - COLUMNS, i, &label);
    }
    for (uint32_t l = 0; l < label; l++) b.extents[l] = 1;
    const einsum_score size = score_of(WEFT_EINSUM_SIZE);
    for (uint64_t seed = 0; seed < 16; seed++) {
        einsum_arena arena;
        einsum_cost cost;
        bool ended;
        weft_test_ok(einsum_sweep_run(NULL, &b.core, seed % EINSUM_SWEEP_MANNERS, einsum_random_start(seed, 0), NULL,
                                      pairs, &ended));
        assert_false(ended);
        check_order(LEAVES, pairs);
        einsum_arena_init(&arena, NULL);
        weft_test_ok(einsum_core_cost(&arena, &b.core, &size, pairs, &cost));
        einsum_arena_finish(&arena);
        least = fmin(least, cost.major);
    }
    assert_true(least <= COLUMNS + 1);
    big_destroy(&b);
}

/* ---- flags that are taken back ---- */

/* Asks for an end from the `first` to before the `last` time that memory is asked for or given back. */
typedef struct blip {
    weft_allocator allocator;
    volatile bool flag;
    size_t count, first, last;
} blip;

static void *resize_and_ask(void *self, void *block, size_t old_size, size_t new_size, size_t alignment)
{
    blip *b = self;
    const weft_allocator *plain = weft_allocator_default();
    b->flag = b->count >= b->first && b->count < b->last;
    b->count++;
    return plain->resize(plain->self, block, old_size, new_size, alignment);
}

static void test_flags_are_remembered(void **state)
{
    (void)state;
    bool flag = true, seen = false;
    const einsum_stop stop = {.cancel = {&flag, &seen}, .deadline = INFINITY};
    const einsum_stop other = {.cancel = {&flag, &seen}, .deadline = INFINITY};
    assert_true(einsum_stop_asked(&stop));
    flag = false;
    assert_true(einsum_stop_asked(&stop));
    assert_true(einsum_stop_asked(&other));
    assert_true(einsum_stop_cancelled(stop.cancel));
    seen = false;
    assert_false(einsum_stop_asked(&stop));
}

/* Wherever it comes and however soon it goes, what is found is an order, and no worse than a greedy one. */
static void test_searches_outlive_flags(void **state)
{
    (void)state;
    enum { LEAVES = 12, LONGEST = 12 };
    big net;
    size_t count = SIZE_MAX, ended = 0;
    einsum_cost greedy, cost;
    einsum_arena arena;
    einsum_pair pairs[LEAVES];
    einsum_random random = einsum_random_start(11, 0);
    big_generate(&net, &random, LEAVES);
    einsum_search options = {.score = score_of(WEFT_EINSUM_FLOPS), .deadline = INFINITY, .threads = 1};
    einsum_arena_init(&arena, NULL);
    weft_test_ok(einsum_search_run(NULL, &net.core, &options, pairs));
    weft_test_ok(einsum_core_cost(&arena, &net.core, &options.score, pairs, &greedy));
    options.moves = 200 * LEAVES;
    for (size_t length = 1; length <= LONGEST; length++)
        for (size_t first = 0; first < count; first++) {
            bool seen = false;
            blip b = {.first = first, .last = first + length};
            b.allocator = (weft_allocator){&b, resize_and_ask};
            options.cancel = (einsum_cancel){&b.flag, &seen};
            weft_test_ok(einsum_search_run(&b.allocator, &net.core, &options, pairs));
            check_order(LEAVES, pairs);
            weft_test_ok(einsum_core_cost(&arena, &net.core, &options.score, pairs, &cost));
            assert_false(einsum_cost_less(greedy, cost));
            if (b.count <= first) count = first;
            ended += seen;
        }
    assert_true(ended > 0);
    einsum_arena_finish(&arena);
    big_destroy(&net);
}

/* ---- out of memory ---- */

typedef struct attempt {
    const einsum_core *core;
    method *run;
    einsum_pair *pairs;
} attempt;

static weft_status *run_attempt(const weft_allocator *allocator, void *context)
{
    attempt *a = context;
    return a->run(allocator, a->core, a->pairs);
}

static void test_methods_without_memory(void **state)
{
    (void)state;
    enum { LEAVES = 60 };
    big b;
    einsum_pair pairs[LEAVES];
    einsum_random random = einsum_random_start(7, 0);
    big_generate(&b, &random, LEAVES);
    for (int k = 0; k < METHODS; k++) {
        attempt a = {&b.core, methods[k], pairs};
        assert_true(weft_test_fail_each(run_attempt, &a) > 0);
    }
    big_destroy(&b);
}

static void test_simplification_without_memory(void **state)
{
    (void)state;
    einsum_random random = einsum_random_start(8, 0);
    const einsum_score score = score_of(WEFT_EINSUM_FLOPS);
    for (int trial = 0; trial < 20; trial++) {
        network net;
        generate(&net, &random, MOST_OPERANDS);
        simplified s = {.depth = trial % 2 == 0 ? EINSUM_DEPTH_FULL : EINSUM_DEPTH_WHOLE, .net = &net, .score = &score};
        assert_true(weft_test_fail_each(order_simplified, &s) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_is_optimal),       cmocka_unit_test(test_simplified_is_optimal),
        cmocka_unit_test(test_simplified_is_valid),    cmocka_unit_test(test_auto_is_optimal),
        cmocka_unit_test(test_what_is_left),           cmocka_unit_test(test_methods_give_orders),
        cmocka_unit_test(test_chain_of_100),           cmocka_unit_test(test_sweeps_follow_rows),
        cmocka_unit_test(test_methods_without_memory), cmocka_unit_test(test_simplification_without_memory),
        cmocka_unit_test(test_flags_are_remembered),   cmocka_unit_test(test_searches_outlive_flags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
