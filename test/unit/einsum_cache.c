/* SPDX-License-Identifier: Apache-2.0 */
/* The caches of the symbolic node: what is an entry, bounds, counters, many threads, memory running out. */
#include "test/einsum/einsum.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

#define CHAIN "ij,jk,kl->il"

/* ---- one program, run for square matrices of any extent ---- */

static weft_program *compile(const char *text, const weft_einsum_options *options, weft_dtype dtype)
{
    weft_graph *graph;
    weft_program *program;
    weft_tensor inputs[3];
    weft_policy policy = {.size = sizeof policy, .keep_symbolic_extensions = true};
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_extent n = weft_symbol(graph, "n", 0, 100);
    for (size_t i = 0; i < 3; i++) {
        char name[8];
        snprintf(name, sizeof name, "x%zu", i);
        inputs[i] = weft_input(graph, name, dtype, WEFT_SHAPE(n, n));
    }
    weft_tensor result = weft_einsum(text, (weft_tensors){3, inputs}, options);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(result), &policy, &program));
    weft_graph_destroy(graph);
    return program;
}

static weft_status *run_square(weft_executor *executor, weft_program *program, int64_t n)
{
    const int64_t shape[] = {n, n};
    weft_array *ones, *result = NULL;
    WEFT_TRY(weft_array_create(NULL, weft_program_input_dtype(program, 0), 2, shape, &ones));
    bool wide = weft_array_dtype(ones) == WEFT_F64;
    for (int64_t i = 0; i < n * n; i++) {
        if (wide) ((double *)weft_array_data(ones))[i] = 1;
        else ((float *)weft_array_data(ones))[i] = 1;
    }
    weft_array *inputs[] = {ones, ones, ones};
    weft_run run = {.input_count = 3, .inputs = inputs, .output_count = 1, .outputs = &result};
    weft_status *status = weft_executor_run(executor, program, &run);
    for (int64_t i = 0; status == NULL && wide && i < n * n; i++)
        if (((double *)weft_array_data(result))[i] != (double)(n * n))
            status = weft_status_create(NULL, WEFT_INTERNAL, NULL, "n %d gives %g", (int)n,
                                        ((double *)weft_array_data(result))[i]);
    weft_array_release(result);
    weft_array_release(ones);
    return status;
}

static weft_cache_counters read_cache(const weft_executor *executor, weft_einsum_cache cache)
{
    weft_cache_counters counters;
    weft_test_ok(weft_einsum_cache_read(executor, cache, &counters));
    return counters;
}

static void expect(const weft_executor *executor, weft_einsum_cache cache, size_t entries, uint64_t hits,
                   uint64_t misses, uint64_t evictions)
{
    weft_cache_counters counters = read_cache(executor, cache);
    assert_int_equal(counters.entries, entries);
    assert_int_equal(counters.hits, hits);
    assert_int_equal(counters.misses, misses);
    assert_int_equal(counters.evictions, evictions);
}

/* ---- entries ---- */

static void add_an_entry_for_each_shape(void **state)
{
    weft_executor *executor = weft_test_einsum_executor(false);
    weft_program *program = compile(CHAIN, NULL, WEFT_F64);
    (void)state;
    weft_test_ok(run_square(executor, program, 2));
    weft_test_ok(run_square(executor, program, 2));
    expect(executor, WEFT_EINSUM_PROGRAMS, 1, 1, 1, 0);
    expect(executor, WEFT_EINSUM_PLANS, 1, 0, 1, 0);
    weft_test_ok(run_square(executor, program, 3));
    expect(executor, WEFT_EINSUM_PROGRAMS, 2, 1, 2, 0);
    weft_program *same = compile(CHAIN, NULL, WEFT_F64);
    weft_test_ok(run_square(executor, same, 3));
    expect(executor, WEFT_EINSUM_PROGRAMS, 2, 2, 2, 0);
    assert_true(read_cache(executor, WEFT_EINSUM_PROGRAMS).bytes > 0);
    weft_test_ok(weft_einsum_cache_clear(executor));
    expect(executor, WEFT_EINSUM_PROGRAMS, 0, 2, 2, 0);
    expect(executor, WEFT_EINSUM_PLANS, 0, 0, 2, 0);
    assert_int_equal(read_cache(executor, WEFT_EINSUM_PROGRAMS).bytes, 0);
    weft_test_ok(run_square(executor, program, 3));
    expect(executor, WEFT_EINSUM_PROGRAMS, 1, 2, 3, 0);
    weft_program_release(same);
    weft_program_release(program);
    weft_executor_destroy(executor);
}

/* Dtypes, orders, expressions and what the planner is told make entries of their own. */
static void tell_requests_apart(void **state)
{
    (void)state;
    const weft_einsum_options size = {.minimize = WEFT_EINSUM_SIZE}, left = {.order = WEFT_EINSUM_LEFT};
    const weft_einsum_options path = {.order = WEFT_EINSUM_PATH, .path = WEFT_INTS(1, 2, 0, 1)};
    const weft_einsum_options other = {.order = WEFT_EINSUM_PATH, .path = WEFT_INTS(0, 2, 0, 1)};
    weft_executor *executor = weft_test_einsum_executor(false);
    weft_program *programs[] = {
        compile(CHAIN, NULL, WEFT_F64),          compile(CHAIN, NULL, WEFT_F32),  compile(CHAIN, &size, WEFT_F64),
        compile(CHAIN, &left, WEFT_F64),         compile(CHAIN, &path, WEFT_F64), compile(CHAIN, &other, WEFT_F64),
        compile("ij,jk,kl->li", NULL, WEFT_F64),
    };
    size_t count = sizeof programs / sizeof *programs;
    for (size_t i = 0; i < count; i++) weft_test_ok(run_square(executor, programs[i], 2));
    expect(executor, WEFT_EINSUM_PROGRAMS, count, 0, count, 0);
    expect(executor, WEFT_EINSUM_PLANS, 4, 0, 4, 0);
    for (size_t i = 0; i < count; i++) weft_program_release(programs[i]);
    weft_executor_destroy(executor);
}

/* ---- orders for other extents ---- */

/* Contracts three arrays of three axes or two, each extent that of its letter. */
static weft_status *try_contract(weft_executor *executor, const char *text, const int64_t *extents,
                                 const weft_einsum_options *options)
{
    weft_array *operands[3], *result = NULL;
    const char *term = text;
    for (size_t i = 0; i < 3; i++) {
        int64_t shape[3];
        size_t rank = strcspn(term, ",-");
        for (size_t axis = 0; axis < rank; axis++) shape[axis] = extents[(unsigned char)term[axis]];
        weft_test_ok(weft_array_create(NULL, WEFT_F32, rank, shape, &operands[i]));
        memset(weft_array_data(operands[i]), 0, (size_t)weft_array_count(operands[i]) * sizeof(float));
        term += rank + 1;
    }
    weft_status *status = weft_einsum_arrays(executor, text, 3, operands, options, &result);
    for (size_t i = 0; i < 3; i++) weft_array_release(operands[i]);
    weft_array_release(result);
    return status;
}

static void contract(weft_executor *executor, const char *text, const int64_t *extents,
                     const weft_einsum_options *options)
{
    weft_test_ok(try_contract(executor, text, extents, options));
}

static void plan_once_for_a_batch_that_grows(void **state)
{
    (void)state;
    weft_executor *executor = weft_test_einsum_executor(false);
    int64_t extents[128] = {['i'] = 7, ['j'] = 5, ['k'] = 6, ['l'] = 2};
    for (int64_t batch = 2; batch < 200; batch *= 2) {
        extents['b'] = batch;
        contract(executor, "bij,bjk,bkl->bil", extents, NULL);
    }
    expect(executor, WEFT_EINSUM_PLANS, 7, 0, 7, 0);
    expect(executor, WEFT_EINSUM_ORDERS, 1, 6, 1, 0);
    extents['k'] = 9;
    contract(executor, "bij,bjk,bkl->bil", extents, NULL);
    expect(executor, WEFT_EINSUM_ORDERS, 2, 6, 2, 0);
    contract(executor, "bij,bjk,bkl->bil", extents, &(weft_einsum_options){.seed = 7});
    expect(executor, WEFT_EINSUM_ORDERS, 3, 6, 3, 0);
    weft_executor_destroy(executor);
}

/* Few rows are multiplied from the left, few columns from the right. The last order is the one that is tried. */
static void plan_again_where_another_order_is_better(void **state)
{
    (void)state;
    const weft_einsum_options flops = {.minimize = WEFT_EINSUM_FLOPS};
    weft_executor *executor = weft_test_einsum_executor(false);
    int64_t extents[128] = {['i'] = 2, ['j'] = 20, ['k'] = 20, ['l'] = 40};
    contract(executor, CHAIN, extents, &flops);
    extents['i'] = 3;
    contract(executor, CHAIN, extents, &flops);
    expect(executor, WEFT_EINSUM_ORDERS, 1, 1, 1, 0);
    extents['i'] = 40;
    extents['l'] = 2;
    contract(executor, CHAIN, extents, &flops);
    expect(executor, WEFT_EINSUM_ORDERS, 1, 1, 2, 0);
    extents['l'] = 3;
    contract(executor, CHAIN, extents, &flops);
    expect(executor, WEFT_EINSUM_ORDERS, 1, 2, 2, 0);
    extents['l'] = 1;
    contract(executor, CHAIN, extents, &flops);
    expect(executor, WEFT_EINSUM_ORDERS, 2, 2, 3, 0);
    weft_executor_destroy(executor);
}

static void hold_as_many_as_allowed(void **state)
{
    weft_executor *executor = weft_test_einsum_executor(false);
    weft_program *program = compile(CHAIN, NULL, WEFT_F64);
    (void)state;
    weft_test_ok(weft_einsum_cache_set_capacity(executor, WEFT_EINSUM_PROGRAMS, 3));
    for (int64_t n = 1; n <= 5; n++) weft_test_ok(run_square(executor, program, n));
    expect(executor, WEFT_EINSUM_PROGRAMS, 3, 0, 5, 2);
    weft_test_ok(run_square(executor, program, 3));
    weft_test_ok(run_square(executor, program, 6));
    weft_test_ok(run_square(executor, program, 3));
    expect(executor, WEFT_EINSUM_PROGRAMS, 3, 2, 6, 3);
    weft_test_ok(run_square(executor, program, 4));
    expect(executor, WEFT_EINSUM_PROGRAMS, 3, 2, 7, 4);
    expect(executor, WEFT_EINSUM_PLANS, 6, 1, 6, 0);
    weft_test_ok(weft_einsum_cache_set_capacity(executor, WEFT_EINSUM_PROGRAMS, 1));
    expect(executor, WEFT_EINSUM_PROGRAMS, 1, 2, 7, 6);
    weft_test_ok(weft_einsum_cache_set_capacity(executor, WEFT_EINSUM_PROGRAMS, 0));
    weft_test_ok(run_square(executor, program, 4));
    expect(executor, WEFT_EINSUM_PROGRAMS, 0, 2, 8, 7);
    weft_program_release(program);
    weft_executor_destroy(executor);
}

static void need_the_extension(void **state)
{
    weft_executor *executor;
    weft_cache_counters counters;
    (void)state;
    weft_test_ok(weft_executor_create(&(weft_executor_options){.threads = 1}, &executor));
    weft_test_ok(weft_executor_register_runtime(executor, weft_runtime_reference()));
    weft_test_fails(weft_einsum_cache_read(executor, WEFT_EINSUM_PLANS, &counters), WEFT_NOT_REGISTERED,
                    "not registered");
    weft_test_fails(weft_einsum_cache_clear(executor), WEFT_NOT_REGISTERED, "not registered");
    weft_program *program = compile(CHAIN, NULL, WEFT_F64);
    weft_test_fails(run_square(executor, program, 2), WEFT_NOT_REGISTERED, "einsum");
    weft_test_ok(weft_executor_register_extension(executor, weft_einsum_extension()));
    weft_test_ok(run_square(executor, program, 2));
    weft_test_fails(weft_einsum_cache_read(executor, (weft_einsum_cache)7, &counters), WEFT_INVALID_ARGUMENT,
                    "cache 7 is none of weft_einsum_cache, which has 3");
    weft_program_release(program);
    weft_executor_destroy(executor);
}

/* ---- threads ---- */

typedef struct crowd {
    weft_executor *executor;
    weft_program *program;
} crowd;

static void *run_many(void *context)
{
    const crowd *c = context;
    weft_status *status = NULL;
    for (int64_t i = 0; i < 40 && status == NULL; i++) status = run_square(c->executor, c->program, 1 + i % 5);
    return status;
}

static void serve_many_threads(void **state)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    crowd c = {weft_test_einsum_executor(false), compile(CHAIN, NULL, WEFT_F64)};
    (void)state;
    weft_test_ok(weft_einsum_cache_set_capacity(c.executor, WEFT_EINSUM_PROGRAMS, 3));
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, run_many, &c), 0);
    for (int i = 0; i < THREADS; i++) {
        void *status;
        pthread_join(threads[i], &status);
        weft_test_ok(status);
    }
    weft_cache_counters counters = read_cache(c.executor, WEFT_EINSUM_PROGRAMS);
    assert_int_equal(counters.entries, 3);
    assert_int_equal(counters.hits + counters.misses, THREADS * 40);
    weft_program_release(c.program);
    weft_executor_destroy(c.executor);
}

/* ---- memory running out ---- */

static weft_status *run_twice(weft_executor *executor, void *context)
{
    int64_t extents[128] = {['b'] = 2, ['i'] = 3, ['j'] = 2, ['k'] = 2, ['l'] = 3};
    WEFT_TRY(run_square(executor, context, 2));
    WEFT_TRY(run_square(executor, context, 2));
    WEFT_TRY(try_contract(executor, "bij,bjk,bkl->bil", extents, NULL));
    extents['b'] = 3;
    return try_contract(executor, "bij,bjk,bkl->bil", extents, NULL);
}

static void survive_without_memory(void **state)
{
    weft_program *program = compile(CHAIN, NULL, WEFT_F64);
    (void)state;
    assert_true(weft_test_einsum_fail_each(run_twice, program) > 50);
    weft_program_release(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(add_an_entry_for_each_shape),
        cmocka_unit_test(tell_requests_apart),
        cmocka_unit_test(plan_once_for_a_batch_that_grows),
        cmocka_unit_test(plan_again_where_another_order_is_better),
        cmocka_unit_test(hold_as_many_as_allowed),
        cmocka_unit_test(need_the_extension),
        cmocka_unit_test(serve_many_threads),
        cmocka_unit_test(survive_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
