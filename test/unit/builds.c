/* SPDX-License-Identifier: Apache-2.0 */
/* Building variants: threads that build those of one program at the same time, and print it, while nothing of a program
 * changes; what kernels share; and what needs none. */
#include "test/support.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

enum { GATHERS = 4, THREADS = 3, ROUNDS = 3 };

static weft_executor *executor;
static weft_program *program;
static weft_array *inputs[2 * GATHERS];
static pthread_barrier_t barrier;

/* Large enough that sizes are compared and recomputing is weighed. */
static void open_program(void)
{
    weft_graph *graph;
    weft_tensor outputs[GATHERS];
    weft_test_ok(weft_graph_create(NULL, &graph));
    for (int i = 0; i < GATHERS; i++) {
        char names[5][8];
        for (int k = 0; k < 5; k++) snprintf(names[k], sizeof names[k], "%c%d", "nmkxi"[k], i);
        weft_extent n = weft_symbol(graph, names[0], 1, 100), m = weft_symbol(graph, names[1], 1, 100);
        weft_tensor x = weft_input(graph, names[3], WEFT_F32, WEFT_SHAPE(n, m));
        weft_tensor at = weft_input(graph, names[4], WEFT_I64, WEFT_SHAPE(weft_symbol(graph, names[2], 1, 100)));
        outputs[i] = weft_reduce_sum(weft_gather(weft_mul(weft_exp(x), weft_add(x, x)), at, 0), WEFT_INTS(1), false);
    }
    weft_test_ok(weft_compile(graph, (weft_tensors){GATHERS, outputs}, NULL, &program));
    weft_graph_destroy(graph);
}

static void open_inputs(void)
{
    for (int64_t i = 0; i < GATHERS; i++) {
        const int64_t shape[] = {5 + i, 3}, count = 4;
        weft_test_ok(weft_array_create(NULL, WEFT_F32, 2, shape, &inputs[2 * i]));
        weft_test_ok(weft_array_create(NULL, WEFT_I64, 1, &count, &inputs[2 * i + 1]));
        float *x = weft_array_data(inputs[2 * i]);
        for (int64_t e = 0; e < shape[0] * shape[1]; e++) x[e] = (float)(e % 7) / 4;
        memcpy(weft_array_data(inputs[2 * i + 1]), (const int64_t[]){4, 0, 3, 3}, 4 * sizeof(int64_t));
    }
}

/* Thread 0 prints, 1 runs the general variant and 2 one for these extents. */
static void *use(void *context)
{
    size_t number = (size_t)context;
    weft_array *outputs[GATHERS] = {NULL};
    weft_status *status = NULL;
    pthread_barrier_wait(&barrier);
    if (number == 0) return weft_program_text(program) != NULL ? &executor : NULL;
    status = weft_executor_run(executor, program,
                               &(weft_run){.input_count = 2 * GATHERS,
                                           .inputs = inputs,
                                           .output_count = GATHERS,
                                           .outputs = outputs,
                                           .specialize = number == 2});
    bool fine = status == NULL;
    weft_status_destroy(status);
    for (int i = 0; i < GATHERS; i++) weft_array_release(outputs[i]);
    return fine ? &executor : NULL;
}

static void threads_build_variants_of_one_program(void **state)
{
    (void)state;
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 1}, &executor));
    assert_int_equal(pthread_barrier_init(&barrier, NULL, THREADS), 0);
    open_inputs();
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS];
        open_program();
        for (size_t t = 0; t < THREADS; t++) assert_int_equal(pthread_create(&threads[t], NULL, use, (void *)t), 0);
        for (size_t t = 0; t < THREADS; t++) {
            void *result;
            assert_int_equal(pthread_join(threads[t], &result), 0);
            assert_non_null(result);
        }
        weft_program_release(program);
    }
    for (int i = 0; i < 2 * GATHERS; i++) weft_array_release(inputs[i]);
    pthread_barrier_destroy(&barrier);
    weft_executor_destroy(executor);
}

/* Two results over extents of other names, in the other order. */
static void kernels_that_differ_in_names_are_one(void **state)
{
    (void)state;
    weft_graph *graph;
    weft_program *two;
    weft_executor_counters counters = {.size = sizeof counters};
    weft_array *arrays[2], *results[2] = {NULL};
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_extent n = weft_symbol(graph, "n", 1, 100), m = weft_symbol(graph, "m", 1, 100);
    weft_extent rows = weft_symbol(graph, "a", 1, 100), columns = weft_symbol(graph, "z", 1, 100);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(n, m));
    weft_tensor y = weft_input(graph, "y", WEFT_F32, WEFT_SHAPE(rows, columns));
    weft_tensor sums[] = {weft_reduce_sum(x, WEFT_INTS(1), false), weft_reduce_sum(y, WEFT_INTS(1), false)};
    weft_test_ok(weft_compile(graph, (weft_tensors){2, sums}, NULL, &two));
    weft_graph_destroy(graph);
    weft_test_ok(weft_executor_create_standard(NULL, &executor));
    for (int64_t i = 0; i < 2; i++) {
        const int64_t shape[] = {3 + i, 5 - i};
        weft_test_ok(weft_array_create(NULL, WEFT_F32, 2, shape, &arrays[i]));
        float *data = weft_array_data(arrays[i]);
        for (int64_t e = 0; e < shape[0] * shape[1]; e++) data[e] = (float)e;
    }
    const weft_run run = {.input_count = 2, .inputs = arrays, .output_count = 2, .outputs = results};
    weft_test_ok(weft_executor_run(executor, two, &run));
    weft_executor_counters_read(executor, &counters);
    assert_int_equal(counters.kernels_compiled, 1);
    assert_true(((float *)weft_array_data(results[0]))[2] == 60);
    assert_true(((float *)weft_array_data(results[1]))[3] == 54);
    for (int i = 0; i < 2; i++) {
        weft_array_release(arrays[i]);
        weft_array_release(results[i]);
    }
    weft_executor_destroy(executor);
    weft_program_release(two);
}

/* A process that has compiled nothing yet: a product of the library, and its columns sorted. */
static void what_has_no_kernel_needs_no_llvm(void **state)
{
    (void)state;
    enum { SIDE = 48 };
    static float data[SIDE * SIDE];
    weft_graph *graph;
    weft_program *made;
    weft_executor *runner;
    weft_array *x, *y = NULL;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor input = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(SIDE, SIDE));
    const weft_policy policy = {.size = sizeof policy, .products = WEFT_PRODUCTS_LIBRARY};
    weft_tensor sorted = weft_sort(weft_matmul(input, input), 0, false);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(sorted), &policy, &made));
    weft_graph_destroy(graph);
    for (int i = 0; i < SIDE * SIDE; i++) data[i] = (float)(i * 7919 % 1009) - 500;
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 2, (int64_t[]){SIDE, SIDE}, NULL, data, NULL, NULL, &x));
    weft_test_ok(weft_executor_create_standard(NULL, &runner));
    const weft_run run = {.input_count = 1, .inputs = &x, .output_count = 1, .outputs = &y};
    weft_test_ok(weft_executor_run(runner, made, &run));
    assert_false(weft_test_has_llvm());
    const float *result = weft_array_data(y);
    for (int i = SIDE; i < SIDE * SIDE; i++) assert_true(result[i - SIDE] <= result[i]);
    weft_array_release(x);
    weft_array_release(y);
    weft_executor_destroy(runner);
    weft_program_release(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_has_no_kernel_needs_no_llvm),
                                       cmocka_unit_test(threads_build_variants_of_one_program),
                                       cmocka_unit_test(kernels_that_differ_in_names_are_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
