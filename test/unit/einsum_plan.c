/* SPDX-License-Identifier: Apache-2.0 */
/* Orders that AUTO finds: valid whatever the network, the same whatever the threads, no worse than others. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/einsum.h>
#include "test/rng.h"
#include "test/support.h"

enum { MOST_OPERANDS = 5000, MOST_RANK = 8 };
/* Searches go the same ways again and again: a quarter of them shows the address sanitizer all there is. */
enum { MANY = WEFT_TEST_ADDRESS ? 50000 : 200000, SEEDS = WEFT_TEST_ADDRESS ? 1 : 2, NEXT = WEFT_TEST_ADDRESS ? 4 : 1 };

typedef struct network {
    size_t count;
    weft_ints labels[MOST_OPERANDS], shapes[MOST_OPERANDS], output;
    int64_t label_items[MOST_OPERANDS][MOST_RANK], shape_items[MOST_OPERANDS][MOST_RANK], output_items[MOST_RANK];
} network;

static uint64_t random_state;

static unsigned draw(unsigned count)
{
    return (unsigned)weft_test_below(&random_state, count);
}

static int64_t extent_of(int64_t label)
{
    return 2 + label * 7 % 3;
}

static void clear(network *n, size_t count)
{
    n->count = count;
    n->output = (weft_ints){0, n->output_items};
    for (size_t i = 0; i < count; i++) {
        n->labels[i] = (weft_ints){0, n->label_items[i]};
        n->shapes[i] = (weft_ints){0, n->shape_items[i]};
    }
}

static void add_label(network *n, size_t operand, int64_t label, int64_t extent)
{
    size_t at = n->labels[operand].count++;
    n->label_items[operand][at] = label;
    n->shape_items[operand][at] = extent;
    n->shapes[operand].count++;
}

/* Labels between two operands at random, some of them of three, some in the output; parts may hang alone. */
static void make_random(network *n, size_t count, size_t label_count)
{
    clear(n, count);
    for (size_t label = 0; label < label_count; label++) {
        for (size_t i = 2 + (draw(5) == 0); i > 0; i--) {
            size_t operand = draw((unsigned)count);
            if (n->labels[operand].count < MOST_RANK) add_label(n, operand, (int64_t)label, extent_of((int64_t)label));
        }
    }
    if (n->labels[0].count > 0 && draw(2)) n->output_items[n->output.count++] = n->label_items[0][0];
}

static weft_einsum_plan *plan(const network *n, const weft_einsum_options *options)
{
    weft_einsum_plan *made;
    weft_test_ok(weft_einsum_plan_create_labels(NULL, n->count, n->labels, n->output, n->shapes, options, &made));
    return made;
}

/* Every operand once, every result once but the last. */
static void check_order(const network *n, const weft_einsum_plan *made)
{
    weft_ints ssa = weft_einsum_plan_ssa(made);
    bool *used = calloc(2 * n->count, sizeof *used);
    assert_non_null(used);
    assert_int_equal(ssa.count, 2 * (n->count - 1));
    for (size_t i = 0; i < ssa.count; i++) {
        assert_true(ssa.items[i] >= 0 && (size_t)ssa.items[i] < n->count + i / 2);
        assert_false(used[ssa.items[i]]);
        used[ssa.items[i]] = true;
    }
    free(used);
}

static network *network_create(void)
{
    network *n = malloc(sizeof *n);
    assert_non_null(n);
    random_state = 1;
    return n;
}

/* ---- what is found ---- */

static double flops_of(const network *n, const weft_einsum_options *options)
{
    weft_einsum_plan *made = plan(n, options);
    double flops = weft_einsum_plan_log10_flops(made);
    check_order(n, made);
    weft_einsum_plan_destroy(made);
    return flops;
}

/* The classic dynamic program over parentheses. */
static double best_chain(size_t count, const int64_t *extents)
{
    static double cost[101][101];
    for (size_t length = 1; length <= count; length++)
        for (size_t first = 0; first + length <= count; first++) {
            size_t end = first + length;
            cost[first][end] = length == 1 ? 0 : INFINITY;
            for (size_t middle = first + 1; middle < end; middle++)
                cost[first][end] =
                    fmin(cost[first][end], cost[first][middle] + cost[middle][end] +
                                               (double)extents[first] * (double)extents[middle] * (double)extents[end]);
        }
    return log10(cost[0][count]);
}

static void order_chains_best(void **state)
{
    network *n = network_create();
    int64_t extents[101];
    (void)state;
    for (int round = 0; round < 5; round++) {
        clear(n, 100);
        for (size_t i = 0; i <= 100; i++) extents[i] = 1 + draw(300);
        for (size_t i = 0; i < 200; i++) add_label(n, i / 2, (int64_t)(i / 2 + i % 2), extents[i / 2 + i % 2]);
        n->output_items[0] = 0;
        n->output_items[1] = 100;
        n->output.count = 2;
        const weft_einsum_options options = {.minimize = WEFT_EINSUM_FLOPS, .moves = 10000000};
        assert_true(fabs(flops_of(n, &options) - best_chain(100, extents)) < 1e-6);
    }
    free(n);
}

/* Two layers of a lattice, joined by small labels; site by site, rows after each other, is what they are known for. */
static void take_layers_together(void **state)
{
    enum { SIDE = 8, SITES = SIDE * SIDE, BOND = 8 };
    network *n = network_create();
    (void)state;
    clear(n, 2 * SITES);
    for (size_t site = 0; site < SITES; site++) {
        for (size_t layer = 0; layer < 2; layer++) {
            size_t here = 2 * site + layer;
            int64_t label = (int64_t)(4 * site + 2 * layer);
            add_label(n, here, (int64_t)(4 * SITES + site), 2);
            if (site % SIDE + 1 < SIDE) add_label(n, here, label, BOND), add_label(n, here + 2, label, BOND);
            if (site + SIDE < SITES)
                add_label(n, here, label + 1, BOND), add_label(n, here + 2 * SIDE, label + 1, BOND);
        }
    }
    const double known = flops_of(n, &(weft_einsum_options){.order = WEFT_EINSUM_LEFT});
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        assert_true(flops_of(n, &(weft_einsum_options){
                                    .minimize = WEFT_EINSUM_FLOPS, .moves = 1500000, .seed = seed}) <= known + 1e-6);
    free(n);
}

/* With more moves an order gets no worse, and each objective is best at what it minimises. */
static void spend_what_they_may(void **state)
{
    network *n = network_create();
    double few = 0, many = 0, flops = 0, seconds = 0, size = 0, of_size = 0, of_time = 0;
    (void)state;
    for (int round = 0; round < 2; round++) {
        make_random(n, 40, 70);
        few += flops_of(n, &(weft_einsum_options){.minimize = WEFT_EINSUM_FLOPS, .moves = 1});
        many += flops_of(n, &(weft_einsum_options){.minimize = WEFT_EINSUM_FLOPS, .moves = MANY});
        weft_einsum_plan *plans[3];
        for (unsigned minimize = WEFT_EINSUM_TIME; minimize <= WEFT_EINSUM_SIZE; minimize++)
            plans[minimize] = plan(n, &(weft_einsum_options){.minimize = minimize, .moves = MANY});
        flops += weft_einsum_plan_log10_flops(plans[WEFT_EINSUM_FLOPS]);
        seconds += log10(weft_einsum_plan_seconds(plans[WEFT_EINSUM_FLOPS]));
        of_time += log10(weft_einsum_plan_seconds(plans[WEFT_EINSUM_TIME]));
        size += weft_einsum_plan_log2_size(plans[WEFT_EINSUM_FLOPS]);
        of_size += weft_einsum_plan_log2_size(plans[WEFT_EINSUM_SIZE]);
        for (size_t i = 0; i < 3; i++) weft_einsum_plan_destroy(plans[i]);
    }
    assert_true(many < few);
    assert_true(of_time < seconds + 1e-9);
    assert_true(of_size < size + 1e-9);
    assert_true(isfinite(flops));
    free(n);
}

/* ---- what it depends on ---- */

static void depend_on_the_seed_only(void **state)
{
    network *n = network_create();
    (void)state;
    make_random(n, 60, 110);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        char *first = NULL;
        for (size_t threads = 1; threads <= 3; threads++) {
            weft_einsum_plan *made = plan(n, &(weft_einsum_options){.seed = seed, .moves = MANY, .threads = threads});
            if (first == NULL) first = strdup(weft_einsum_plan_order(made));
            assert_string_equal(first, weft_einsum_plan_order(made));
            weft_einsum_plan_destroy(made);
        }
        free(first);
    }
    free(n);
}

static void end_when_told(void **state)
{
    network *n = network_create();
    const volatile bool yes = true;
    (void)state;
    make_random(n, 300, 500);
    flops_of(n, &(weft_einsum_options){.moves = UINT64_MAX, .threads = SIZE_MAX, .cancelled = &yes});
    flops_of(n, &(weft_einsum_options){.time_budget = 0.01});
    free(n);
}

/* ---- any network ---- */

static void take_any_network(void **state)
{
    network *n = network_create();
    (void)state;
    for (unsigned round = 0; round < 60; round += NEXT) {
        make_random(n, 1 + round, 2 * round);
        for (unsigned minimize = WEFT_EINSUM_TIME; minimize <= WEFT_EINSUM_COMBO; minimize++)
            flops_of(n, &(weft_einsum_options){.minimize = minimize, .moves = 3000, .seed = round});
    }
    make_random(n, MOST_OPERANDS, MOST_OPERANDS);
    flops_of(n, &(weft_einsum_options){.moves = 100000});
    clear(n, MOST_OPERANDS);
    flops_of(n, NULL);
    free(n);
}

/* A ring of extents whose products a double of elements could not count in an int64. */
static void count_in_logarithms(void **state)
{
    network *n = network_create();
    (void)state;
    clear(n, 12);
    for (size_t i = 0; i < 12; i++) {
        add_label(n, i, (int64_t)i, INT64_C(1) << 40);
        add_label(n, i, (int64_t)((i + 1) % 12), INT64_C(1) << 40);
    }
    weft_einsum_plan *made = plan(n, &(weft_einsum_options){.minimize = WEFT_EINSUM_FLOPS});
    assert_true(fabs(weft_einsum_plan_log2_size(made) - 80) < 1e-9);
    assert_true(fabs(weft_einsum_plan_log10_flops(made) - log10(10) - 120 * log10(2)) < 0.05);
    weft_einsum_plan_destroy(made);
    free(n);
}

/* What a fold from the left keeps of labels that come again in the second half, 2^1200 elements, no double counts. */
static void report_in_logarithms(void **state)
{
    enum { PAIRS = 30, BITS = 40 };
    network *n = network_create();
    (void)state;
    clear(n, 2 * PAIRS);
    for (size_t i = 0; i < n->count; i++) add_label(n, i, (int64_t)(i % PAIRS), INT64_C(1) << BITS);
    weft_einsum_plan *made = plan(n, &(weft_einsum_options){.order = WEFT_EINSUM_LEFT});
    assert_true(fabs(weft_einsum_plan_log2_size(made) - PAIRS * BITS) < 1e-9);
    assert_true(fabs(weft_einsum_plan_log2_peak(made) - PAIRS * BITS) < 1e-9);
    double steps = weft_einsum_plan_log10_flops(made), seconds = weft_einsum_plan_log10_seconds(made);
    assert_true(seconds > steps - 13 && seconds < steps - 5);
    assert_true(weft_einsum_plan_seconds(made) == INFINITY);
    weft_einsum_plan_destroy(made);
    free(n);
}

/* Every two of the operands have a label. */
static void refuse_in_logarithms(void **state)
{
    enum { COUNT = 9 };
    network *n = network_create();
    weft_einsum_plan *made = NULL;
    (void)state;
    clear(n, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        for (size_t k = 0; k < COUNT; k++)
            if (k != i) add_label(n, i, (int64_t)(i < k ? COUNT * i + k : COUNT * k + i), INT64_MAX);
    const weft_einsum_options options = {.memory_limit = 1, .moves = 1000};
    weft_test_fails(weft_einsum_plan_create_labels(NULL, COUNT, n->labels, n->output, n->shapes, &options, &made),
                    WEFT_OVER_LIMIT, "without slices the intermediates that live at once take 2^12");
    assert_null(made);
    free(n);
}

/* ---- memory ---- */

static weft_status *plan_with(const weft_allocator *allocator, void *context)
{
    const network *n = context;
    weft_einsum_plan *made;
    WEFT_TRY(weft_einsum_plan_create_labels(allocator, n->count, n->labels, n->output, n->shapes,
                                            &(weft_einsum_options){.moves = 8000, .threads = 1}, &made));
    weft_einsum_plan_destroy(made);
    return NULL;
}

static void survive_failed_allocations(void **state)
{
    network *n = network_create();
    (void)state;
    make_random(n, 40, 80);
    assert_true(weft_test_fail_each(plan_with, n) > 100);
    free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_chains_best),    cmocka_unit_test(take_layers_together),
        cmocka_unit_test(spend_what_they_may),  cmocka_unit_test(depend_on_the_seed_only),
        cmocka_unit_test(end_when_told),        cmocka_unit_test(take_any_network),
        cmocka_unit_test(count_in_logarithms),  cmocka_unit_test(report_in_logarithms),
        cmocka_unit_test(refuse_in_logarithms), cmocka_unit_test(survive_failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
