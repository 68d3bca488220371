/* SPDX-License-Identifier: Apache-2.0 */
/* Contracting arrays at once: what calls share, whose memory results are in, errors, threads, memory running out. */
#include "test/einsum/einsum.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

#define CHAIN "ij,jk,kl->il"

static weft_array *filled(int64_t rows, int64_t columns, float value)
{
    const int64_t shape[] = {rows, columns};
    weft_array *array;
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 2, shape, &array));
    for (int64_t i = 0; i < rows * columns; i++) ((float *)weft_array_data(array))[i] = value;
    return array;
}

static float first(const weft_array *array)
{
    return *(const float *)weft_array_data(array);
}

static weft_cache_counters programs(const weft_executor *executor)
{
    weft_cache_counters counters;
    weft_test_ok(weft_einsum_cache_read(executor, WEFT_EINSUM_PROGRAMS, &counters));
    return counters;
}

/* ---- results ---- */

static void write_where_told(void **state)
{
    weft_executor *executor = weft_test_einsum_executor(false);
    weft_array *a = filled(2, 3, 1), *b = filled(3, 4, 2), *made = NULL, *own = filled(2, 4, 0),
               *wrong = filled(4, 2, 7);
    weft_array *operands[] = {a, b}, *kept = own;
    (void)state;
    weft_test_ok(weft_einsum_arrays(executor, "ij,jk->ik", 2, operands, NULL, &made));
    assert_true(first(made) == 6);
    weft_test_ok(weft_einsum_arrays(executor, "ij,jk->ik", 2, operands, NULL, &kept));
    assert_ptr_equal(kept, own);
    assert_true(first(own) == 6);
    kept = wrong;
    weft_test_fails(weft_einsum_arrays(executor, "ij,jk->ik", 2, operands, NULL, &kept), WEFT_SHAPE_MISMATCH, "4");
    assert_true(first(wrong) == 7);
    weft_array *all[] = {a, b, made, own, wrong};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) weft_array_release(all[i]);
    weft_executor_destroy(executor);
}

/* More operands than have room on the stack. */
static void take_many_operands(void **state)
{
    enum { COUNT = 20 };
    weft_executor *executor = weft_test_einsum_executor(false);
    weft_array *operands[COUNT], *result = NULL;
    char text[16 * COUNT] = "";
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        operands[i] = filled(2, 2, 0.5f);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s[%d %d]", i > 0 ? "," : "", i, i + 1);
    }
    snprintf(text + strlen(text), sizeof text - strlen(text), "->[0 %d]", COUNT);
    weft_test_ok(weft_einsum_arrays(executor, text, COUNT, operands, NULL, &result));
    assert_true(first(result) == 0.5f);
    weft_array_release(result);
    for (int i = 0; i < COUNT; i++) weft_array_release(operands[i]);
    weft_executor_destroy(executor);
}

/* ---- what calls share ---- */

static void keep_programs_apart(void **state)
{
    weft_einsum_plan *tree;
    const int64_t shape[] = {2, 2};
    weft_executor *executor = weft_test_einsum_executor(false);
    weft_array *a = filled(2, 2, 1), *operands[] = {a, a, a};
    weft_ints shapes[] = {{2, shape}, {2, shape}, {2, shape}};
    (void)state;
    weft_test_ok(weft_einsum_plan_create(NULL, CHAIN, 3, shapes, NULL, &tree));
    const weft_einsum_options options[] = {
        {.order = WEFT_EINSUM_AUTO},
        {.order = WEFT_EINSUM_AUTO, .minimize = WEFT_EINSUM_SIZE},
        {.order = WEFT_EINSUM_AUTO, .seed = 3},
        {.order = WEFT_EINSUM_LEFT},
        {.order = WEFT_EINSUM_PATH, .path = WEFT_INTS(1, 2, 0, 1)},
        {.order = WEFT_EINSUM_PATH, .path = WEFT_INTS(0, 2, 0, 1)},
        {.order = WEFT_EINSUM_NESTED, .nested = "0,(1,2)"},
        {.order = WEFT_EINSUM_NESTED, .nested = "(0,1),2"},
        {.order = WEFT_EINSUM_TREE, .tree = tree},
    };
    size_t count = sizeof options / sizeof *options;
    for (size_t i = 0; i < 2 * count; i++) {
        weft_array *result = NULL;
        weft_test_ok(weft_einsum_arrays(executor, CHAIN, 3, operands, &options[i % count], &result));
        assert_true(first(result) == 4);
        weft_array_release(result);
    }
    assert_int_equal(programs(executor).entries, count);
    assert_int_equal(programs(executor).misses, count);
    assert_int_equal(programs(executor).hits, count);
    weft_einsum_plan_destroy(tree);
    weft_array_release(a);
    weft_executor_destroy(executor);
}

/* One that fits is kept; one of the same path, planned for other extents, still does not fit. */
static void tell_trees_apart(void **state)
{
    const int64_t two[] = {2, 2}, three[] = {2, 3};
    weft_ints fitting[] = {{2, two}, {2, two}, {2, two}}, wrong[] = {{2, two}, {2, two}, {2, three}};
    weft_executor *executor = weft_test_einsum_executor(false);
    weft_array *a = filled(2, 2, 1), *operands[] = {a, a, a}, *result = NULL;
    weft_einsum_plan *trees[2];
    (void)state;
    weft_test_ok(
        weft_einsum_plan_create(NULL, CHAIN, 3, fitting, &(weft_einsum_options){.order = WEFT_EINSUM_LEFT}, &trees[0]));
    weft_test_ok(
        weft_einsum_plan_create(NULL, CHAIN, 3, wrong, &(weft_einsum_options){.order = WEFT_EINSUM_LEFT}, &trees[1]));
    for (size_t i = 0; i < 2; i++) {
        const weft_einsum_options options = {.order = WEFT_EINSUM_TREE, .tree = trees[i]};
        weft_status *status = weft_einsum_arrays(executor, CHAIN, 3, operands, &options, &result);
        if (i == 0) weft_test_ok(status);
        else weft_test_fails(status, WEFT_SHAPE_MISMATCH, "planned for extent 3");
    }
    weft_array_release(result);
    for (size_t i = 0; i < 2; i++) weft_einsum_plan_destroy(trees[i]);
    weft_array_release(a);
    weft_executor_destroy(executor);
}

/* ---- errors ---- */

static void name_what_is_wrong(void **state)
{
    weft_executor *executor = weft_test_einsum_executor(false), *bare;
    weft_array *a = filled(2, 3, 1), *wide, *result = NULL, *pair[] = {a, a}, *gap[] = {a, NULL}, *mixed[] = {a, NULL};
    const int64_t shape[] = {3, 2};
    (void)state;
    weft_test_ok(weft_array_create(NULL, WEFT_F64, 2, shape, &wide));
    mixed[1] = wide;
    weft_test_fails(weft_einsum_arrays(NULL, "ij,jk->ik", 2, pair, NULL, &result), WEFT_INVALID_ARGUMENT,
                    "the executor is NULL");
    weft_test_fails(weft_einsum_arrays(executor, NULL, 2, pair, NULL, &result), WEFT_INVALID_ARGUMENT,
                    "the expression is NULL");
    weft_test_fails(weft_einsum_arrays(executor, "->", 0, NULL, NULL, &result), WEFT_INVALID_ARGUMENT, "no operands");
    weft_test_fails(weft_einsum_arrays(executor, "ij,jk->ik", 2, gap, NULL, &result), WEFT_INVALID_ARGUMENT,
                    "operand 1 is NULL");
    weft_test_fails(weft_einsum_arrays(executor, "ij,jk->ik", 2, pair, NULL, NULL), WEFT_INVALID_ARGUMENT,
                    "the pointer for the result is NULL");
    weft_test_fails(weft_einsum_arrays(executor, "ij,jk->ik", 2, mixed, NULL, &result), WEFT_DTYPE_MISMATCH,
                    "operand 1 has dtype f64 but operand 0 has f32");
    weft_test_fails(weft_einsum_arrays(executor, "ij,jk->ik", 2, pair, NULL, &result), WEFT_SHAPE_MISMATCH, "'j'");
    weft_test_fails(weft_einsum_arrays(executor, "ij,ij->ij", 2, pair, NULL, &a), WEFT_INVALID_ARGUMENT,
                    "output \"result\" overlaps input \"operand0\"");
    weft_test_fails(weft_einsum_arrays(executor, "ij,jk->iz", 2, pair, NULL, &result), WEFT_INVALID_ARGUMENT, "'z'");
    weft_status *status = weft_einsum_arrays(executor, "ij,jk->iz", 2, pair, NULL, &result);
    assert_string_equal(weft_status_where(status), "weft_einsum_arrays");
    weft_status_destroy(status);
    weft_test_fails(
        weft_einsum_arrays(executor, "ij,ij->", 2, pair, &(weft_einsum_options){.time_budget = -1}, &result),
        WEFT_INVALID_ARGUMENT, "time_budget");
    weft_test_fails(
        weft_einsum_arrays(executor, "ij,ij->", 2, pair, &(weft_einsum_options){.time_budget = 1, .moves = 1}, &result),
        WEFT_INVALID_ARGUMENT, "exclude");
    weft_machine machine = *weft_machine_reference();
    machine.product_rates[2] = 0.5;
    weft_test_fails(
        weft_einsum_arrays(executor, "ij,ij->", 2, pair, &(weft_einsum_options){.machine = &machine}, &result),
        WEFT_INVALID_ARGUMENT, "product_rates[2] of the machine is 0.5, not");
    weft_test_ok(weft_executor_create(&(weft_executor_options){.threads = 1}, &bare));
    weft_test_fails(weft_einsum_arrays(bare, "ij,ij->", 2, pair, NULL, &result), WEFT_NOT_REGISTERED,
                    "weft_executor_register_extension");
    assert_null(result);
    weft_executor_destroy(bare);
    weft_array_release(wide);
    weft_array_release(a);
    weft_executor_destroy(executor);
}

/* ---- threads and memory ---- */

static void *contract_often(void *context)
{
    weft_status *status = NULL;
    weft_array *a = filled(3, 3, 1), *operands[] = {a, a, a};
    for (int i = 0; i < 100 && status == NULL; i++) {
        weft_array *result = NULL;
        status = weft_einsum_arrays(context, i % 2 ? CHAIN : "ij,jk,kl->li", 3, operands, NULL, &result);
        if (status == NULL && first(result) != 9) status = weft_status_create(NULL, WEFT_INTERNAL, NULL, "not 9");
        weft_array_release(result);
    }
    weft_array_release(a);
    return status;
}

static void serve_many_threads(void **state)
{
    pthread_t threads[4];
    void *status;
    weft_executor *executor = weft_test_einsum_executor(false);
    (void)state;
    for (size_t i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, contract_often, executor), 0);
    for (size_t i = 0; i < 4; i++) {
        pthread_join(threads[i], &status);
        weft_test_ok(status);
    }
    assert_int_equal(programs(executor).entries, 2);
    weft_executor_destroy(executor);
}

static weft_status *contract_once(weft_executor *executor, void *context)
{
    weft_array *a = filled(3, 3, 1), *operands[] = {a, a, a}, *result = NULL;
    const weft_einsum_options options = {.minimize = WEFT_EINSUM_COMBO, .seed = 7};
    (void)context;
    weft_status *status = weft_einsum_arrays(executor, CHAIN, 3, operands, &options, &result);
    weft_array_release(result);
    weft_array_release(a);
    return status;
}

static void survive_failed_allocations(void **state)
{
    (void)state;
    assert_true(weft_test_einsum_fail_each(contract_once, NULL) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(write_where_told),           cmocka_unit_test(take_many_operands),
        cmocka_unit_test(keep_programs_apart),        cmocka_unit_test(tell_trees_apart),
        cmocka_unit_test(name_what_is_wrong),         cmocka_unit_test(serve_many_threads),
        cmocka_unit_test(survive_failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
