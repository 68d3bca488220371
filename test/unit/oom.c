/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation fails in turn while a network is traced, compiled, built into code and run. */
#include <stdio.h>
#include <weft/weft.h>
#include "test/support.h"

/* What outlives a walk. */
typedef struct world {
    weft_array *x, *w, *b;
    size_t runs;  /* that failed and then did not */
    size_t steps; /* of each run that does not fail; 0: not known yet */
} world;

static weft_array *fill(size_t rank, const int64_t *shape, float first)
{
    weft_array *array;
    weft_test_ok(weft_array_create(NULL, WEFT_F32, rank, shape, &array));
    float *data = weft_array_data(array);
    for (int64_t i = 0; i < weft_array_count(array); i++) data[i] = first + 0.25f * (float)i;
    return array;
}

/* A dense layer, a scan, a softmax and a sort, for any batch. */
static weft_status *compile_network(const weft_allocator *allocator, weft_program **out_program)
{
    weft_graph *graph;
    WEFT_TRY(weft_graph_create(&(weft_graph_options){.allocator = allocator}, &graph));
    weft_extent n = weft_symbol(graph, "n", 1, 64);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(n, 4));
    weft_tensor w = weft_input(graph, "w", WEFT_F32, WEFT_SHAPE(4, 3));
    weft_tensor b = weft_input(graph, "b", WEFT_F32, WEFT_SHAPE(3));
    weft_tensor h = weft_cummax(weft_relu(weft_add(weft_matmul(x, w), b)), 1, false, false);
    weft_tensor y = weft_sort(weft_softmax(h, 1), 1, true);
    weft_status *status = weft_compile(graph, WEFT_TENSORS(y), NULL, out_program);
    weft_graph_destroy(graph);
    return status;
}

static weft_status *run_once(weft_executor *executor, weft_program *program, world *w)
{
    weft_array *y = NULL, *const inputs[] = {w->x, w->w, w->b};
    weft_report report;
    WEFT_TRY(weft_executor_run(
        executor, program,
        &(weft_run){.input_count = 3, .inputs = inputs, .output_count = 1, .outputs = &y, .report = &report}));
    if (w->steps == 0) w->steps = report.steps;
    assert_int_equal(report.steps, w->steps);
    const float *row = weft_array_data(y);
    assert_true(row[0] + row[1] + row[2] > 0.999f && row[0] + row[1] + row[2] < 1.001f);
    weft_array_release(y);
    return NULL;
}

/* A run that found no memory leaves the executor able to run. */
static weft_status *run_network(const weft_allocator *allocator, weft_program *program, world *w)
{
    weft_executor *executor;
    const weft_executor_options options = {.allocator = allocator, .threads = 1};
    WEFT_TRY(weft_executor_create_standard(&options, &executor));
    weft_status *status = run_once(executor, program, w);
    if (status != NULL) {
        weft_test_ok(run_once(executor, program, w));
        w->runs++;
    }
    weft_executor_destroy(executor);
    return status;
}

static weft_status *whole_way(const weft_allocator *allocator, void *context)
{
    weft_program *program;
    WEFT_TRY(compile_network(allocator, &program));
    weft_status *status = run_network(allocator, program, context);
    weft_program_release(program);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    world w = {.x = fill(2, (const int64_t[]){5, 4}, -1),
               .w = fill(2, (const int64_t[]){4, 3}, -2),
               .b = fill(1, (const int64_t[]){3}, 0)};
    weft_test_ok(whole_way(NULL, &w));
    size_t requests = weft_test_fail_each(whole_way, &w);
    print_message("%zu allocations, %zu of them in a run\n", requests, w.runs);
    assert_true(w.runs > 100);
    weft_array_release(w.x);
    weft_array_release(w.w);
    weft_array_release(w.b);
}

/* A chain of sorts and concats, whose extents are as many as it has links. */
static weft_status *view_chain(const weft_allocator *allocator, void *links)
{
    weft_graph *graph;
    weft_program *program;
    const weft_program_view *view = NULL;
    WEFT_TRY(weft_graph_create(&(weft_graph_options){.allocator = allocator}, &graph));
    weft_tensor y = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(weft_symbol(graph, "n", 1, 100), 3));
    for (size_t i = 0; i < *(const size_t *)links; i++) y = weft_concat(WEFT_TENSORS(weft_sort(y, 0, false), y), 0);
    weft_status *status = weft_compile(graph, WEFT_TENSORS(y), NULL, &program);
    weft_graph_destroy(graph);
    WEFT_TRY(status);
    status = weft_program_view_create(program, &view);
    if (status == NULL) assert_string_equal(view->nodes[0].types[0], "f32[n, 3]");
    weft_program_view_destroy(view);
    weft_program_release(program);
    return status;
}

/* The table of extents grows once more while the view is made. */
static void views_of_programs_of_many_extents(void **state)
{
    (void)state;
    size_t links = 10;
    weft_test_fail_each(view_chain, &links);
}

/* Products of 16-bit floats, some of which a pass widens; windows, whose extents are quotients. */
static weft_status *compile_products_and_windows(const weft_allocator *allocator, void *context)
{
    (void)context;
    weft_graph *graph;
    weft_program *program = NULL;
    WEFT_TRY(weft_graph_create(&(weft_graph_options){.allocator = allocator}, &graph));
    weft_extent n = weft_symbol(graph, "n", 0, 512);
    weft_tensor x = weft_input(graph, "x", WEFT_F16, WEFT_SHAPE(n, 3)),
                y = weft_input(graph, "y", WEFT_F32, WEFT_SHAPE(n));
    weft_tensor padded = weft_pad(y, 0, WEFT_SHAPE(1), WEFT_SHAPE(1));
    weft_tensor sums = weft_reduce_sum(weft_window(padded, 0, weft_extent_of(3), 2, 1), WEFT_INTS(1), false);
    weft_tensor product = weft_matmul(x, weft_transpose(x, 0, 1));
    weft_status *status = weft_compile(graph, WEFT_TENSORS(product, sums), NULL, &program);
    weft_graph_destroy(graph);
    weft_program_release(program);
    return status;
}

static void passes_may_have_no_memory(void **state)
{
    (void)state;
    weft_test_fail_each(compile_products_and_windows, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail),
                                       cmocka_unit_test(views_of_programs_of_many_extents),
                                       cmocka_unit_test(passes_may_have_no_memory)};
    return cmocka_run_group_tests_name("oom", tests, NULL, NULL);
}
