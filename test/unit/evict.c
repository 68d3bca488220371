/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiling and evicting leaves nothing behind: with room for one variant and one kernel, a thousand programs are
 * compiled, run and dropped; after the first 250, resident memory and the number of mappings stay where they are.
 * An argument gives another number.
 */
#include <stdio.h>
#include <stdlib.h>
#include <weft/weft.h>
#include "test/support.h"

enum { WARM = 250, SLACK_KILOBYTES = 256, SLACK_MAPPINGS = 16 };

static size_t cycles = 1000;

static void compile_and_run(weft_executor *executor, size_t number)
{
    weft_graph *graph;
    weft_program *program;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_extent n = weft_symbol(graph, "n", 0, 1000000);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(n));
    weft_tensor y = weft_mul(x, weft_scalar(graph, WEFT_F32, (double)number));
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(y), NULL, &program));
    weft_graph_destroy(graph);
    float input[3] = {1, 2, 3}, output[3] = {0};
    const int64_t shape[1] = {3};
    weft_array *in, *out;
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 1, shape, NULL, input, NULL, NULL, &in));
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 1, shape, NULL, output, NULL, NULL, &out));
    weft_run run = {.input_count = 1, .inputs = &in, .output_count = 1, .outputs = &out};
    weft_test_ok(weft_executor_run(executor, program, &run));
    assert_true(output[2] == 3.0f * (float)number);
    weft_array_release(in);
    weft_array_release(out);
    weft_program_release(program);
}

static void test_flat(void **state)
{
    weft_executor *executor;
    long memory = 0;
    size_t maps = 0;
    (void)state;
    weft_executor_options options = {.threads = 1, .variant_capacity = 1, .kernel_capacity = 1};
    weft_test_ok(weft_executor_create_standard(&options, &executor));
    for (size_t i = 0; i < cycles; i++) {
        if (i == WARM) {
            memory = weft_test_resident();
            maps = weft_test_mappings();
        }
        compile_and_run(executor, i + 1);
    }
    weft_executor_counters counters = {.size = sizeof counters};
    weft_executor_counters_read(executor, &counters);
    assert_int_equal(counters.kernels_compiled, cycles);
    assert_int_equal(counters.kernels.entries, 1);
    printf("%zu cycles: %ld kB more, %zu mappings, then %zu\n", cycles, weft_test_resident() - memory, maps,
           weft_test_mappings());
    if (cycles > WARM) {
        assert_true(weft_test_resident() - memory < SLACK_KILOBYTES);
        assert_true(weft_test_mappings() < maps + SLACK_MAPPINGS);
    }
    weft_executor_destroy(executor);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_flat)};
    if (argc > 1) cycles = strtoull(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
