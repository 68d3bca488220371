/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs whose axes interleave have the elements of row-major ones, and what lies between them is left alone:
 * elementwise kernels, reductions, products, sorts, updates and contractions, on one thread and on several. The
 * argument is the runtime. */
#include <string.h>
#include <weft/einsum.h>
#include <weft/weft.h>
#include "test/support.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

/* Rows and columns of all results; sizes that make work for several threads. */
enum { M = 301, N = 203, K = 64, COUNT = M * N, INPUTS = 4, RESULTS = 9, POISON = 0xa5 };

static const char *runtime;
static weft_executor *executors[2]; /* of 1 and 3 threads */

static int set_up(void **state)
{
    (void)state;
    const weft_runtime *kind = strcmp(runtime, "ref") == 0 ? weft_runtime_reference() : weft_runtime_llvm();
    for (size_t i = 0; i < 2; i++) {
        weft_test_ok(weft_executor_create(&(weft_executor_options){.threads = 1 + 2 * i}, &executors[i]));
        weft_test_ok(weft_executor_register_runtime(executors[i], kind));
        weft_test_ok(weft_executor_register_extension(executors[i], weft_einsum_extension()));
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) weft_executor_destroy(executors[i]);
    return 0;
}

/* ---- arrays ---- */

/* Rows M + 1 and columns M apart, so that no axis steps over the other. */
static const int64_t steps[] = {M + 1, M};
enum { SPAN = (M - 1) * (M + 1) + (N - 1) * M + 1 };

static void *keep(weft_array *array)
{
    memset(weft_array_data(array), POISON, (size_t)weft_array_count(array) * weft_dtype_size(weft_array_dtype(array)));
    return weft_array_data(array);
}

static weft_array *interleaved(weft_dtype dtype)
{
    weft_array *memory, *view;
    weft_test_ok(weft_array_create(NULL, dtype, 1, DIMS(SPAN), &memory));
    keep(memory);
    weft_test_ok(weft_array_view(memory, 2, DIMS(M, N), steps, 0, &view));
    weft_array_release(memory);
    return view;
}

/* The elements of `expected`, and poison between them. */
static void check_elements(const weft_array *array, const weft_array *expected)
{
    size_t size = weft_dtype_size(weft_array_dtype(array));
    weft_array *whole;
    weft_test_ok(weft_array_create(NULL, weft_array_dtype(array), 1, DIMS(SPAN), &whole));
    char *data = keep(whole);
    for (size_t i = 0; i < COUNT; i++)
        memcpy(data + (i / N * (M + 1) + i % N * M) * size, (char *)weft_array_data(expected) + i * size, size);
    assert_memory_equal(weft_array_data(array), data, SPAN * size);
    weft_array_release(whole);
}

static void fill(weft_array *array)
{
    float *data = weft_array_data(array);
    for (int64_t i = 0; i < weft_array_count(array); i++) data[i] = (float)(i * 7919 % 1013) / 64 - 8;
}

/* ---- runs ---- */

/* Of x: f32[M, N], z: f32[M, N, 5], a: f32[M, K] and b: f32[K, N]. */
static weft_program *compile(void)
{
    weft_graph *graph;
    weft_program *program;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(M, N)),
                z = weft_input(graph, "z", WEFT_F32, WEFT_SHAPE(M, N, 5)),
                a = weft_input(graph, "a", WEFT_F32, WEFT_SHAPE(M, K)),
                b = weft_input(graph, "b", WEFT_F32, WEFT_SHAPE(K, N));
    const weft_tensor results[RESULTS] = {weft_exp(x),
                                          weft_lt(x, 0.5f),
                                          weft_reduce_sum(z, WEFT_INTS(2), false),
                                          weft_div(x, weft_reduce_max(x, WEFT_INTS(1), true)),
                                          weft_matmul(a, b),
                                          weft_matmul(weft_cast(a, WEFT_C64), weft_cast(b, WEFT_C64)),
                                          weft_sort(x, 0, false),
                                          weft_sort(x, 1, true),
                                          weft_cumsum(x, 1, false, false)};
    weft_test_ok(weft_compile(graph, (weft_tensors){RESULTS, results}, NULL, &program));
    weft_graph_destroy(graph);
    return program;
}

static void runs_write_interleaved_outputs(void **state)
{
    (void)state;
    weft_program *program = compile();
    weft_array *inputs[INPUTS], *expected[RESULTS] = {NULL}, *outputs[RESULTS];
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 2, DIMS(M, N), &inputs[0]));
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 3, DIMS(M, N, 5), &inputs[1]));
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 2, DIMS(M, K), &inputs[2]));
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 2, DIMS(K, N), &inputs[3]));
    for (size_t i = 0; i < INPUTS; i++) fill(inputs[i]);
    weft_run run = {
        .input_count = INPUTS, .inputs = inputs, .output_count = RESULTS, .outputs = expected, .runtime = runtime};
    weft_test_ok(weft_executor_run(executors[0], program, &run));
    run.outputs = outputs;
    for (size_t threads = 0; threads < 2; threads++) {
        for (size_t i = 0; i < RESULTS; i++) outputs[i] = interleaved(weft_program_output_dtype(program, i));
        weft_test_ok(weft_executor_run(executors[threads], program, &run));
        for (size_t i = 0; i < RESULTS; i++) {
            check_elements(outputs[i], expected[i]);
            weft_array_release(outputs[i]);
        }
    }
    for (size_t i = 0; i < RESULTS; i++) weft_array_release(expected[i]);
    for (size_t i = 0; i < INPUTS; i++) weft_array_release(inputs[i]);
    weft_program_release(program);
}

/* In place, where the output is the donated input. */
static void donated_inputs_may_interleave(void **state)
{
    (void)state;
    weft_graph *graph;
    weft_program *program;
    weft_array *inputs[2], *expected = NULL, *over;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(M, N)),
                row = weft_input(graph, "row", WEFT_F32, WEFT_SHAPE(1, N));
    weft_tensor changed =
        weft_dynamic_update_slice(x, row, WEFT_TENSORS(weft_scalar(graph, WEFT_I64, 7)), WEFT_INTS(0));
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(changed), NULL, &program));
    weft_graph_destroy(graph);
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 2, DIMS(M, N), &inputs[0]));
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 2, DIMS(1, N), &inputs[1]));
    fill(inputs[0]);
    memset(weft_array_data(inputs[1]), 0, N * sizeof(float));
    weft_run run = {.input_count = 2, .inputs = inputs, .output_count = 1, .outputs = &expected, .runtime = runtime};
    weft_test_ok(weft_executor_run(executors[0], program, &run));
    over = interleaved(WEFT_F32);
    weft_test_ok(weft_array_copy(over, inputs[0]));
    run.inputs = (weft_array *[]){over, inputs[1]};
    run.outputs = &over;
    run.donated = (const bool[]){true, false};
    weft_test_ok(weft_executor_run(executors[1], program, &run));
    check_elements(over, expected);
    weft_array *all[] = {inputs[0], inputs[1], expected, over};
    for (size_t i = 0; i < 4; i++) weft_array_release(all[i]);
    weft_program_release(program);
}

static void contractions_write_interleaved_results(void **state)
{
    (void)state;
    weft_array *operands[2], *expected = NULL, *result = interleaved(WEFT_F32);
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 2, DIMS(M, K), &operands[0]));
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 2, DIMS(K, N), &operands[1]));
    for (size_t i = 0; i < 2; i++) fill(operands[i]);
    weft_test_ok(weft_einsum_arrays(executors[1], "ij,jk->ik", 2, operands, NULL, &expected));
    weft_test_ok(weft_einsum_arrays(executors[1], "ij,jk->ik", 2, operands, NULL, &result));
    check_elements(result, expected);
    weft_array *all[] = {operands[0], operands[1], expected, result};
    for (size_t i = 0; i < 4; i++) weft_array_release(all[i]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_write_interleaved_outputs),
        cmocka_unit_test(donated_inputs_may_interleave),
        cmocka_unit_test(contractions_write_interleaved_results),
    };
    if (argc < 2) return 1;
    runtime = argv[1];
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
