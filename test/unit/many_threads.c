/* SPDX-License-Identifier: Apache-2.0 */
/* Up to 64 threads, more than there are processors: what the model expects of them, and that they change no bit. */
#include <string.h>
#include <weft/weft.h>
#include "runtime/base/isa.h"
#include "runtime/base/machine.h"
#include "runtime/engine/gemm.h"
#include "test/support.h"

enum { MOST_THREADS = 64 };

/* ---- the model ---- */

/* The reference with 64 threads, each as fast as one of its own. */
static weft_machine large_machine(void)
{
    weft_machine machine = *weft_machine_reference();
    for (size_t i = 0; i < WEFT_MACHINE_RATES; i++) machine.product_rates[i] *= MOST_THREADS / machine.threads;
    machine.bandwidth *= MOST_THREADS / machine.threads;
    machine.threads = MOST_THREADS;
    return machine;
}

static double estimate(const weft_machine *machine, int64_t batch, int64_t m, int64_t n, int64_t k, size_t threads)
{
    const weft_gemm_call call = {.dtype = WEFT_F32,
                                 .batch_rank = 1,
                                 .batch = &batch,
                                 .a_batch = (int64_t[]){m * k},
                                 .b_batch = (int64_t[]){k * n},
                                 .c_batch = (int64_t[]){m * n},
                                 .m = m,
                                 .n = n,
                                 .k = k,
                                 .a_row = k,
                                 .a_column = 1,
                                 .b_row = n,
                                 .b_column = 1,
                                 .c_row = n,
                                 .c_column = 1};
    return weft_gemm_estimate(weft_gemm_engine_find(weft_isa_level(), WEFT_F32), machine, &call, threads);
}

/* More threads never take longer, and at best share all of the work. */
static void products_of_the_model(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {{1, 1024, 1024, 1024}, {1, 64, 64, 64}, {1, 16, 784, 512},  {48, 128, 128, 128},
                                        {1, 4096, 8, 512},     {1000, 8, 8, 8}, {64, 512, 64, 512}, {1, 8, 8, 8}};
    const weft_machine machine = large_machine();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int64_t *s = shapes[i];
        double alone = estimate(&machine, s[0], s[1], s[2], s[3], 1), before = alone;
        for (size_t threads = 2; threads <= MOST_THREADS; threads++) {
            double now = estimate(&machine, s[0], s[1], s[2], s[3], threads);
            if (now > before * 1.001 || now < alone / (double)threads * 0.999)
                fail_msg("shape %zu: %g ns with %zu threads, %g with one less, %g with one", i, now, threads, before,
                         alone);
            before = now;
        }
    }
    double large = estimate(&machine, 1, 1024, 1024, 1024, 1);
    assert_true(estimate(&machine, 1, 1024, 1024, 1024, MOST_THREADS) < large / 60);
    double small = estimate(&machine, 1, 8, 8, 8, 1); /* is not cut */
    assert_true(estimate(&machine, 1, 8, 8, 8, MOST_THREADS) == small);
}

/* Each thread has a piece where there is work for it. */
static void grains_of_the_model(void **state)
{
    (void)state;
    const weft_machine machine = large_machine();
    const double least = 2 * machine.fork_join_seconds * machine.operations;
    for (int64_t iterations = 1; iterations <= 1 << 22; iterations *= 4)
        for (int64_t work = 1; work <= 1 << 20; work *= 16) {
            int64_t grain = weft_machine_grain(&machine, iterations, work), pieces = (iterations - 1) / grain + 1;
            double all = (double)iterations * (double)work;
            if (all < least) assert_int_equal(pieces, 1);
            if (all > MOST_THREADS * least && iterations >= MOST_THREADS) assert_true(pieces >= MOST_THREADS);
        }
}

/* ---- bits ---- */

/* Cut for threads in every way: elements, rows, columns, one long axis, products with one block and many. */
static weft_program *compile(void)
{
    weft_graph *graph;
    weft_program *program;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(301, 517));
    weft_tensor flat = weft_reshape(x, WEFT_SHAPE(301 * 517));
    const weft_tensor outputs[] = {weft_tanh(x),
                                   weft_softmax(x, 1),
                                   weft_reduce_sum(x, WEFT_INTS(0), false),
                                   weft_reduce_sum(flat, WEFT_INTS(0), false),
                                   weft_argmax(flat, 0, false),
                                   weft_matmul(x, weft_transpose(x, 0, 1)),
                                   weft_matmul(weft_transpose(x, 0, 1), x),
                                   weft_sort(x, 0, false),
                                   weft_sort(flat, 0, true),
                                   weft_cumsum(x, 1, false, false),
                                   weft_cumsum(flat, 0, false, false),
                                   weft_transpose(x, 0, 1)};
    weft_test_ok(weft_compile(graph, (weft_tensors){sizeof outputs / sizeof *outputs, outputs}, NULL, &program));
    weft_graph_destroy(graph);
    return program;
}

static void run_with(weft_program *program, weft_array *x, unsigned threads, weft_array **outputs)
{
    weft_machine machine = *weft_machine_reference();
    machine.fork_join_seconds = 1e-8; /* all that can be is cut */
    weft_executor *executor;
    const weft_executor_options options = {.threads = threads, .machine = &machine};
    weft_test_ok(weft_executor_create_standard(&options, &executor));
    const weft_run run = {
        .input_count = 1, .inputs = &x, .output_count = weft_program_output_count(program), .outputs = outputs};
    weft_test_ok(weft_executor_run(executor, program, &run));
    weft_executor_destroy(executor);
}

static void bits_do_not_change(void **state)
{
    (void)state;
    enum { OUTPUTS = 12 };
    static const unsigned threads[] = {1, 2, 3, 7, MOST_THREADS};
    weft_program *program = compile();
    weft_array *x, *expected[OUTPUTS] = {NULL};
    assert_int_equal(weft_program_output_count(program), OUTPUTS);
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 2, (int64_t[]){301, 517}, &x));
    float *data = weft_array_data(x);
    for (int64_t i = 0; i < weft_array_count(x); i++) data[i] = (float)(i * 7919 % 10007) / 5003 - 1;
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        weft_array *found[OUTPUTS] = {NULL};
        run_with(program, x, threads[t], t == 0 ? expected : found);
        for (size_t i = 0; t > 0 && i < OUTPUTS; i++) {
            size_t bytes = (size_t)weft_array_count(found[i]) * weft_dtype_size(weft_array_dtype(found[i]));
            if (memcmp(weft_array_data(found[i]), weft_array_data(expected[i]), bytes) != 0)
                fail_msg("output %zu has other bits with %u threads", i, threads[t]);
            weft_array_release(found[i]);
        }
    }
    for (size_t i = 0; i < OUTPUTS; i++) weft_array_release(expected[i]);
    weft_array_release(x);
    weft_program_release(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_the_model),
        cmocka_unit_test(grains_of_the_model),
        cmocka_unit_test(bits_do_not_change),
    };
    return cmocka_run_group_tests_name("many_threads", tests, NULL, NULL);
}
