/* SPDX-License-Identifier: Apache-2.0 */
/* Memory runs out at every request in turn, from tracing to generated code that runs: a status each time, and nothing
 * is left. */
#include <weft/weft.h>
#include "test/support.h"

static weft_status *run(weft_executor *executor, weft_program *program, const weft_allocator *allocator)
{
    static float x_data[6] = {1, -2, 3, -4, 5, -6};
    static int64_t index_data[2] = {1, 0};
    const int64_t x_shape[2] = {3, 2}, index_shape[1] = {2};
    weft_array *inputs[2] = {NULL, NULL}, *output = NULL;
    weft_status *status = weft_array_wrap(allocator, WEFT_F32, 2, x_shape, NULL, x_data, NULL, NULL, &inputs[0]);
    if (status == NULL) {
        status = weft_array_wrap(allocator, WEFT_I64, 1, index_shape, NULL, index_data, NULL, NULL, &inputs[1]);
    }
    weft_run call = {.input_count = 2, .inputs = inputs, .output_count = 1, .outputs = &output};
    if (status == NULL) status = weft_executor_run(executor, program, &call);
    if (status == NULL) assert_true(((const float *)weft_array_data(output))[0] == 8);
    weft_array_release(inputs[0]);
    weft_array_release(inputs[1]);
    weft_array_release(output);
    return status;
}

/* Rows of a gather, doubled, summed: one kernel with a stage, a check and a symbolic extent. */
static weft_tensor trace(weft_graph *graph)
{
    weft_extent n = weft_symbol(graph, "n", 1, 100);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(n, weft_extent_of(2)));
    weft_tensor index = weft_input(graph, "index", WEFT_I64, WEFT_SHAPE(weft_extent_of(2)));
    weft_tensor rows = weft_gather(x, index, 0);
    return weft_reduce_sum(weft_add(rows, rows), WEFT_INTS(0), false);
}

static weft_status *compile(const weft_allocator *allocator, weft_program **out_program)
{
    weft_graph *graph;
    WEFT_TRY(weft_graph_create(&(weft_graph_options){.allocator = allocator}, &graph));
    weft_status *status = weft_compile(graph, WEFT_TENSORS(trace(graph)), NULL, out_program);
    weft_graph_destroy(graph);
    return status;
}

static weft_status *body(const weft_allocator *allocator, void *context)
{
    weft_program *program;
    weft_executor *executor;
    (void)context;
    WEFT_TRY(compile(allocator, &program));
    weft_executor_options options = {.allocator = allocator, .threads = 1};
    weft_status *status = weft_executor_create_standard(&options, &executor);
    if (status == NULL) {
        status = run(executor, program, allocator);
        weft_executor_destroy(executor);
    }
    weft_program_release(program);
    return status;
}

static void test_every_request(void **state)
{
    (void)state;
    size_t requests = weft_test_fail_each(body, NULL);
    assert_true(requests > 100);
    print_message("%zu requests\n", requests);
}

/* The executor that could not build a variant builds it when there is memory again. */
static void test_usable_afterwards(void **state)
{
    weft_program *program;
    weft_executor *executor;
    weft_test_allocator memory;
    (void)state;
    weft_test_ok(compile(NULL, &program));
    weft_test_allocator_init(&memory, WEFT_TEST_NEVER);
    weft_executor_options options = {.allocator = &memory.allocator, .threads = 1};
    weft_test_ok(weft_executor_create_standard(&options, &executor));
    for (size_t late = 1; late < 65; late *= 4) {
        memory.fail_at = memory.requests + late;
        weft_test_fails(run(executor, program, NULL), WEFT_OUT_OF_MEMORY, "");
    }
    memory.fail_at = WEFT_TEST_NEVER;
    weft_test_ok(run(executor, program, NULL));
    weft_executor_destroy(executor);
    weft_program_release(program);
    weft_test_allocator_check(&memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_request), cmocka_unit_test(test_usable_afterwards)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
