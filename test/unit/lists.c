/* SPDX-License-Identifier: Apache-2.0 */
/* Every list that a public function takes, NULL with a length over 0 while all else is right: refused, never read. */
#include "test/support.h"
#include <weft/einsum.h>
#include <weft/weft.h>
#include <stdlib.h>
#include <string.h>

static weft_graph *graph;
static weft_executor *executor;
static weft_array *array;
static weft_tensor x, place, image, kernel, batch;
static size_t failures, calls;

static const weft_ints ints = {2, NULL};
static const weft_shape shape = {2, NULL};
static const weft_tensors tensors = {2, NULL};

static void judge(const char *call, const weft_status *status)
{
    calls++;
    if (weft_status_code(status) == WEFT_INVALID_ARGUMENT && strstr(weft_status_message(status), "NULL") != NULL)
        return;
    print_error("%s: %s: %s\n", call, weft_code_name(weft_status_code(status)), weft_status_message(status));
    failures++;
}

static void judge_tensor(const char *call, weft_tensor result)
{
    assert_false(weft_tensor_is_valid(result));
    judge(call, weft_graph_error(graph));
    weft_graph_clear_error(graph);
}

static void judge_status(const char *call, weft_status *status)
{
    judge(call, status);
    weft_status_destroy(status);
}

#define TRACE(...) judge_tensor(#__VA_ARGS__, __VA_ARGS__)
#define CALL(...) judge_status(#__VA_ARGS__, __VA_ARGS__)
/* No graph is given that an error could stick to. */
#define LOST(...) assert_false(weft_tensor_is_valid(__VA_ARGS__))

static void of_primitives(void **state)
{
    (void)state;
    const weft_shape two = WEFT_SHAPE(3, 3);
    TRACE(weft_input(graph, "y", WEFT_F32, shape));
    TRACE(weft_constant(graph, WEFT_F32, ints, "01234567012345670123456701234567"));
    TRACE(weft_full(graph, WEFT_F32, 1, shape));
    TRACE(weft_iota(graph, WEFT_F32, shape, 0));
    TRACE(weft_zeros(graph, WEFT_F32, shape));
    TRACE(weft_ones(graph, WEFT_F32, shape));
    TRACE(weft_reshape(x, shape));
    TRACE(weft_permute(x, ints));
    TRACE(weft_broadcast(x, shape));
    TRACE(weft_broadcast_in_dim(x, shape, WEFT_INTS(0, 1)));
    TRACE(weft_broadcast_in_dim(x, two, ints));
    TRACE(weft_slice(x, shape, two, WEFT_INTS(1, 1)));
    TRACE(weft_slice(x, WEFT_SHAPE(0, 0), shape, WEFT_INTS(1, 1)));
    TRACE(weft_slice(x, WEFT_SHAPE(0, 0), two, ints));
    TRACE(weft_pad(x, 0, shape, two));
    TRACE(weft_pad(x, 0, two, shape));
    TRACE(weft_flip(x, ints));
    LOST(weft_concat(tensors, 0));
    TRACE(weft_trace(graph, "add", tensors, NULL));
    TRACE(weft_dot(x, x, (weft_dot_axes){.batch_a = {1, NULL}, .batch_b = WEFT_INTS(0)}));
    TRACE(weft_dot(x, x, (weft_dot_axes){.batch_a = WEFT_INTS(0), .batch_b = {1, NULL}}));
    TRACE(weft_dot(x, x, (weft_dot_axes){.contract_a = {1, NULL}, .contract_b = WEFT_INTS(0)}));
    TRACE(weft_dot(x, x, (weft_dot_axes){.contract_a = WEFT_INTS(0), .contract_b = {1, NULL}}));
    LOST(weft_while(tensors, NULL, NULL, NULL, NULL));
    LOST(weft_fold(weft_extent_of(2), tensors, NULL, NULL, NULL));
}

static void of_indexing(void **state)
{
    (void)state;
    const weft_tensors both = WEFT_TENSORS(place, place);
    const weft_index_items items = {2, NULL};
    TRACE(weft_gather_axes(x, tensors, WEFT_INTS(0, 1)));
    TRACE(weft_gather_axes(x, both, ints));
    TRACE(weft_scatter(x, tensors, WEFT_INTS(0, 1), place, WEFT_SCATTER_SET));
    TRACE(weft_scatter(x, both, ints, x, WEFT_SCATTER_SET));
    TRACE(weft_dynamic_slice(x, tensors, WEFT_INTS(0, 1), WEFT_SHAPE(1, 1)));
    TRACE(weft_dynamic_slice(x, both, ints, WEFT_SHAPE(1, 1)));
    TRACE(weft_dynamic_slice(x, both, WEFT_INTS(0, 1), shape));
    TRACE(weft_dynamic_update_slice(x, x, tensors, WEFT_INTS(0, 1)));
    TRACE(weft_dynamic_update_slice(x, x, both, ints));
    TRACE(weft_index(x, items));
    TRACE(weft_index_update(x, x, WEFT_SCATTER_SET, items));
}

static void of_reductions(void **state)
{
    (void)state;
    weft_tensor truth = weft_gt(x, 0);
    TRACE(weft_reduce_sum(x, ints, false));
    TRACE(weft_reduce_prod(x, ints, false));
    TRACE(weft_reduce_max(x, ints, false));
    TRACE(weft_reduce_min(x, ints, false));
    TRACE(weft_reduce_any(truth, ints, false));
    TRACE(weft_reduce_all(truth, ints, false));
    TRACE(weft_mean(x, ints, false));
    TRACE(weft_variance(x, ints, 0, false));
    TRACE(weft_standard_deviation(x, ints, 0, false));
    TRACE(weft_logsumexp(x, ints, false));
    TRACE(weft_norm(x, ints, 2, false));
    TRACE(weft_count_nonzero(x, ints, false));
}

static void of_shapes(void **state)
{
    (void)state;
    weft_tensor parts[2];
    TRACE(weft_moveaxis(x, ints, WEFT_INTS(1, 0)));
    TRACE(weft_moveaxis(x, WEFT_INTS(1, 0), ints));
    LOST(weft_stack(tensors, 0));
    TRACE(weft_split_at(x, 0, shape, parts));
    TRACE(weft_tile(x, shape));
    TRACE(weft_roll(x, ints, WEFT_INTS(0, 1)));
    TRACE(weft_roll(x, WEFT_INTS(1, 1), ints));
    LOST(weft_meshgrid(tensors, false, parts));
    TRACE(weft_tensordot(x, x, ints, WEFT_INTS(0, 1)));
    TRACE(weft_tensordot(x, x, WEFT_INTS(0, 1), ints));
}

static void of_windows(void **state)
{
    (void)state;
    const weft_ints size = WEFT_INTS(2, 2);
    const weft_conv_options options[] = {
        {.stride = ints}, {.dilation = ints}, {.low = ints}, {.high = ints}, {.output_padding = ints}};
    const weft_pool_options pools[] = {{.size = ints},
                                       {.size = size, .stride = ints},
                                       {.size = size, .dilation = ints},
                                       {.size = size, .low = ints},
                                       {.size = size, .high = ints}};
    for (size_t i = 0; i < 5; i++) {
        if (i < 4) TRACE(weft_conv(image, kernel, &options[i]));
        if (i < 4) TRACE(weft_unfold(image, size, &options[i]));
        TRACE(weft_conv_transpose(image, kernel, &options[i]));
        TRACE(weft_max_pool(image, &pools[i]));
        TRACE(weft_average_pool(image, &pools[i]));
    }
    TRACE(weft_unfold(image, ints, NULL));
    TRACE(weft_adaptive_max_pool(image, ints));
    TRACE(weft_adaptive_average_pool(image, ints));
    TRACE(weft_resize(image, shape, NULL));
}

static void of_einsum(void **state)
{
    (void)state;
    const weft_ints labels[] = {WEFT_INTS(0, 1), WEFT_INTS(1, 2)}, lost[] = {WEFT_INTS(0, 1), {2, NULL}};
    const weft_tensors both = WEFT_TENSORS(x, x);
    const weft_einsum_options path = {.order = WEFT_EINSUM_PATH, .path = ints},
                              sliced = {.order = WEFT_EINSUM_PATH, .path = WEFT_INTS(0, 1), .sliced = ints};
    weft_einsum_plan *plan = NULL;
    weft_array *result = NULL;
    LOST(weft_einsum("ij,jk->ik", tensors, NULL));
    TRACE(weft_einsum("ij,jk->ik", both, &path));
    TRACE(weft_einsum("ij,jk->ik", both, &sliced));
    LOST(weft_einsum_labels(tensors, labels, WEFT_INTS(0, 2), NULL));
    TRACE(weft_einsum_labels(both, NULL, WEFT_INTS(0, 2), NULL));
    TRACE(weft_einsum_labels(both, lost, WEFT_INTS(0, 2), NULL));
    TRACE(weft_einsum_labels(both, labels, ints, NULL));
    TRACE(weft_einsum_tensordot(x, x, ints, WEFT_INTS(0, 1)));
    TRACE(weft_einsum_tensordot(x, x, WEFT_INTS(0, 1), ints));
    CALL(weft_einsum_arrays(executor, "ij,jk->ik", 2, NULL, NULL, &result));
    CALL(weft_einsum_plan_create(NULL, "ij,jk->ik", 2, NULL, NULL, &plan));
    CALL(weft_einsum_plan_create(NULL, "ij,jk->ik", 2, lost, NULL, &plan));
    CALL(weft_einsum_plan_create(NULL, "ij,jk->ik", 2, labels, &path, &plan));
    CALL(weft_einsum_plan_create(NULL, "ij,jk->ik", 2, labels, &sliced, &plan));
    CALL(weft_einsum_plan_create_labels(NULL, 2, NULL, WEFT_INTS(0, 2), labels, NULL, &plan));
    CALL(weft_einsum_plan_create_labels(NULL, 2, lost, WEFT_INTS(0, 2), labels, NULL, &plan));
    CALL(weft_einsum_plan_create_labels(NULL, 2, labels, ints, labels, NULL, &plan));
    CALL(weft_einsum_plan_create_labels(NULL, 2, labels, WEFT_INTS(0, 2), NULL, NULL, &plan));
    CALL(weft_einsum_plan_create_labels(NULL, 2, labels, WEFT_INTS(0, 2), lost, NULL, &plan));
}

static void of_programs(void **state)
{
    (void)state;
    weft_program *program = NULL;
    weft_module *module = NULL;
    char *text = NULL;
    weft_array *none = NULL;
    int64_t extents[2];
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(batch), NULL, &program));
    weft_program_release(program);
    CALL(weft_compile(graph, tensors, NULL, &program));
    CALL(weft_compile_named(graph, tensors, NULL, NULL, &program));
    CALL(weft_graph_print(tensors, &text));
    CALL(weft_graph_parse("t", "weft", 4, NULL, 2, NULL, &module));
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(batch), NULL, &program));
    CALL(weft_program_output_shape(program, 0, 2, NULL, extents));
    const weft_run runs[] = {
        {.input_count = 1, .output_count = 1, .outputs = &none},
        {.input_count = 1, .inputs = &array, .output_count = 1},
        {.input_count = 1, .inputs = &array, .output_count = 1, .outputs = &none, .extent_count = 1},
        {.named_inputs = {1, NULL}, .output_count = 1, .outputs = &none},
        {.input_count = 1, .inputs = &array, .named_outputs = {1, NULL}},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) CALL(weft_executor_run(executor, program, &runs[i]));
    weft_program_release(program);
}

static void of_arrays(void **state)
{
    (void)state;
    weft_array *made = NULL;
    const int64_t two[] = {2, 2};
    float data[4];
    CALL(weft_array_create(NULL, WEFT_F32, 2, NULL, &made));
    CALL(weft_array_wrap(NULL, WEFT_F32, 2, NULL, NULL, data, NULL, NULL, &made));
    CALL(weft_array_view(array, 2, NULL, two, 0, &made));
}

/* Of all groups above. */
static void none_is_read(void **state)
{
    (void)state;
    assert_true(calls > 100);
    assert_int_equal(failures, 0);
}

static int open_objects(void **state)
{
    (void)state;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_extent n = weft_symbol(graph, "n", 0, 9);
    x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(3, 3));
    place = weft_input(graph, "index", WEFT_I64, WEFT_SHAPE());
    image = weft_input(graph, "image", WEFT_F32, WEFT_SHAPE(1, 2, 4, 4));
    kernel = weft_input(graph, "kernel", WEFT_F32, WEFT_SHAPE(2, 2, 2, 2));
    batch = weft_neg(weft_input(graph, "batch", WEFT_F32, WEFT_SHAPE(n)));
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 1}, &executor));
    weft_test_ok(weft_executor_register_extension(executor, weft_einsum_extension()));
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 1, (const int64_t[]){4}, &array));
    return 0;
}

static int close_objects(void **state)
{
    (void)state;
    weft_array_release(array);
    weft_executor_destroy(executor);
    weft_graph_destroy(graph);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_primitives), cmocka_unit_test(of_indexing), cmocka_unit_test(of_reductions),
        cmocka_unit_test(of_shapes),     cmocka_unit_test(of_windows),  cmocka_unit_test(of_einsum),
        cmocka_unit_test(of_programs),   cmocka_unit_test(of_arrays),   cmocka_unit_test(none_is_read),
    };
    return cmocka_run_group_tests(tests, open_objects, close_objects);
}
