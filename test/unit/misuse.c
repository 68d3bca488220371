/* SPDX-License-Identifier: Apache-2.0 */
/* What a caller can get wrong, and names and lifetimes that must not matter. */
#include "test/support.h"
#include <weft/weft.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#define INVALID WEFT_INVALID_ARGUMENT

static weft_graph *graph_create(void)
{
    weft_graph *graph = NULL;
    weft_test_ok(weft_graph_create(NULL, &graph));
    return graph;
}

static weft_program *compile(weft_graph *graph, weft_tensor output)
{
    weft_program *program = NULL;
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(output), NULL, &program));
    return program;
}

static weft_executor *executor_create(void)
{
    weft_executor *executor = NULL;
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 1}, &executor));
    return executor;
}

static weft_array *array_create(size_t rank, const int64_t *shape)
{
    weft_array *array = NULL;
    weft_test_ok(weft_array_create(NULL, WEFT_F32, rank, shape, &array));
    memset(weft_array_data(array), 0, (size_t)weft_array_count(array) * sizeof(float));
    return array;
}

/* The error that sticks to `graph`, forgotten there. */
static weft_status *graph_error(weft_graph *graph)
{
    weft_status *status = weft_status_clone(NULL, weft_graph_error(graph));
    weft_graph_clear_error(graph);
    return status;
}

static weft_status *run_one(weft_executor *executor, const char *runtime, weft_program *program, weft_array *input,
                            weft_array **output)
{
    const weft_run run = {.runtime = runtime, .input_count = 1, .inputs = &input, .output_count = 1, .outputs = output};
    return weft_executor_run(executor, program, &run);
}

/* ---- NULL ---- */

static void arrays_refuse_null(void **state)
{
    (void)state;
    weft_array *array = NULL, *other = NULL;
    struct DLManagedTensor *tensor = NULL;
    const int64_t shape[] = {2};
    float data[2];
    weft_test_fails(weft_array_create(NULL, WEFT_F32, 2, NULL, &array), INVALID, "shape of rank 2 is NULL");
    weft_test_fails(weft_array_create(NULL, WEFT_F32, 1, shape, NULL), INVALID, "out_array is NULL");
    weft_test_fails(weft_array_wrap(NULL, WEFT_F32, 1, NULL, NULL, data, NULL, NULL, &array), INVALID, "shape");
    weft_test_fails(weft_array_wrap(NULL, WEFT_F32, 1, shape, NULL, data, NULL, NULL, NULL), INVALID, "out_array");
    weft_test_fails(weft_array_view(NULL, 0, NULL, NULL, 0, &array), INVALID, "base");
    weft_test_fails(weft_array_import_dlpack(NULL, NULL, &array), INVALID, "tensor");
    weft_test_fails(weft_array_export_dlpack(NULL, &tensor), INVALID, "array");
    other = array_create(1, shape);
    weft_test_fails(weft_array_view(other, 1, NULL, NULL, 0, &array), INVALID, "shape of rank 1 is NULL");
    weft_test_fails(weft_array_export_dlpack(other, NULL), INVALID, "out_tensor");
    weft_test_fails(weft_array_copy(NULL, other), INVALID, "destination");
    weft_test_fails(weft_array_copy(other, NULL), INVALID, "source");
    weft_array_release(other);
    assert_false(weft_dtype_find(NULL, &(weft_dtype){0}));
}

static void texts_and_programs_refuse_null(void **state)
{
    (void)state;
    weft_graph *graph = graph_create();
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE());
    const weft_tensors lost = {1, NULL};
    weft_program *program = NULL;
    weft_module *module = NULL;
    char *text = NULL;
    weft_test_fails(weft_graph_create(NULL, NULL), INVALID, "out_graph");
    weft_test_fails(weft_compile(NULL, WEFT_TENSORS(x), NULL, &program), INVALID, "graph");
    weft_test_fails(weft_compile(graph, WEFT_TENSORS(x), NULL, NULL), INVALID, "out_program");
    weft_test_fails(weft_compile(graph, lost, NULL, &program), INVALID, "outputs is NULL, but its length is 1");
    weft_test_fails(weft_compile(graph, WEFT_TENSORS(weft_concat(lost, 0)), NULL, &program), INVALID,
                    "output 0 is not a tensor of a graph");
    weft_test_fails(weft_graph_print(lost, &text), INVALID, "outputs is NULL, but its length is 1");
    weft_test_fails(weft_graph_print(WEFT_TENSORS(x), NULL), INVALID, "out_text");
    weft_test_fails(weft_graph_parse("t", NULL, 4, NULL, 0, NULL, &module), INVALID, "text");
    weft_test_fails(weft_graph_parse("t", "weft", 4, NULL, 1, NULL, &module), INVALID, "extensions");
    weft_test_fails(weft_graph_parse("t", "weft", 4, NULL, 0, NULL, NULL), INVALID, "out_module");
    weft_test_fails(weft_extent_parse(graph, "1", NULL), INVALID, "out_extent");
    weft_test_fails(weft_program_view_create(NULL, &(const weft_program_view *){NULL}), INVALID, "program");
    weft_graph_destroy(graph);
}

static void executors_refuse_null(void **state)
{
    (void)state;
    weft_executor *executor = executor_create();
    weft_test_fails(weft_executor_create(NULL, NULL), INVALID, "out_executor");
    weft_test_fails(weft_executor_register_runtime(NULL, weft_runtime_reference()), INVALID, "executor");
    weft_test_fails(weft_executor_register_runtime(executor, NULL), INVALID, "runtime");
    weft_test_fails(weft_executor_register_extension(NULL, NULL), INVALID, "executor");
    weft_test_fails(weft_executor_register_extension(executor, NULL), INVALID, "NULL");
    weft_executor_destroy(executor);
}

static void runtimes_must_be_whole(void **state)
{
    (void)state;
    static const weft_driver driver = {.size = sizeof driver, .device = {WEFT_DEVICE_CPU, 0}};
    static const weft_compiler compiler = {.size = sizeof compiler};
    const weft_driver half = {.size = sizeof half, .release = (void (*)(void *, void *, size_t))(void (*)(void))abort};
    const weft_runtime bad[] = {{.name = "x", .driver = &driver},
                                {.size = sizeof(weft_runtime), .driver = &driver},
                                {.size = sizeof(weft_runtime), .name = "x"},
                                {.size = sizeof(weft_runtime), .name = "x", .driver = &(weft_driver){.size = 8}},
                                {.size = sizeof(weft_runtime), .name = "x", .driver = &half},
                                {.size = sizeof(weft_runtime), .name = "x", .driver = &driver, .compiler = &compiler}};
    static const char *const parts[] = {"size", "a name", "a driver", "shorter", "allocate and release", "build"};
    weft_executor *executor = executor_create();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        weft_test_fails(weft_executor_register_runtime(executor, &bad[i]), INVALID, parts[i]);
    weft_executor_destroy(executor);
}

/* Wherever the operand with a graph stands: in a list, an option, an index, an extent. test/nulls has the others. */
static void errors_stick_to_any_graph_given(void **state)
{
    (void)state;
    weft_graph *graph = graph_create();
    weft_extent n = weft_symbol(graph, "n", 0, 3);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(3, 4)), none = WEFT_NO_TENSOR, parts[2];
    weft_tensor index = weft_input(graph, "index", WEFT_I64, WEFT_SHAPE(2));
    enum { CALLS = 7 };
    for (int i = 0; i < CALLS; i++) {
        weft_tensor failed;
        switch (i) {
        case 0: failed = weft_stack(WEFT_TENSORS(none, x), 0); break;
        case 1: failed = weft_meshgrid(WEFT_TENSORS(none, x), false, parts); break;
        case 2: failed = weft_layer_norm(none, 0, &(weft_norm_options){.scale = x}); break;
        case 3: failed = weft_group_norm(none, 1, &(weft_norm_options){.bias = x}); break;
        case 4: failed = weft_at(none, index); break;
        case 5: failed = weft_fold(n, WEFT_TENSORS(none), NULL, NULL, NULL); break;
        default: failed = weft_fold(n, (weft_tensors){1, NULL}, NULL, NULL, NULL); break;
        }
        assert_false(weft_tensor_is_valid(failed));
        assert_non_null(weft_graph_error(graph));
        assert_non_null(strstr(weft_status_where(weft_graph_error(graph)), "misuse.c:"));
        weft_test_fails(graph_error(graph), INVALID, "");
    }
    weft_graph_destroy(graph);
}

static weft_tensor made_inside;

static void keep_inside(void *context, weft_tensor number, const weft_tensor *carried, weft_tensor *next)
{
    (void)context, (void)number;
    made_inside = next[0] = weft_neg(carried[0]);
}

static void what_is_known_in_a_body_is_no_output(void **state)
{
    (void)state;
    weft_graph *graph = graph_create(), *other = graph_create();
    weft_program *program = NULL;
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(3)), y = weft_input(other, "x", WEFT_F32, WEFT_SHAPE());
    weft_fold(weft_extent_of(2), WEFT_TENSORS(x), keep_inside, NULL, NULL);
    weft_test_fails(weft_compile(graph, WEFT_TENSORS(x, made_inside), NULL, &program), INVALID,
                    "output 1 was made in the body of a region and is known only there");
    weft_test_fails(weft_compile(graph, WEFT_TENSORS(y), NULL, &program), INVALID, "output 0 belongs to another graph");
    weft_symbol(graph, NULL, 0, 3);
    weft_test_fails(graph_error(graph), INVALID, "name is NULL");
    weft_graph_destroy(graph);
    weft_graph_destroy(other);
}

static void expect_place(weft_status *status, const char *where)
{
    assert_string_equal(weft_status_where(status), where);
    weft_status_destroy(status);
}

/* Not the one inside that found it. */
static void errors_name_the_public_function(void **state)
{
    (void)state;
    weft_graph *graph = graph_create();
    weft_program *program = NULL;
    weft_executor *executor = NULL;
    weft_array *array = NULL;
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(2));
    expect_place(weft_compile(NULL, WEFT_TENSORS(x), NULL, &program), "weft_compile");
    expect_place(weft_compile(graph, WEFT_TENSORS(x), NULL, NULL), "weft_compile");
    expect_place(weft_compile_named(NULL, WEFT_TENSORS(x), NULL, NULL, &program), "weft_compile_named");
    expect_place(weft_executor_create(&(weft_executor_options){.threads = WEFT_MAX_THREADS + 1}, &executor),
                 "weft_executor_create");
    expect_place(weft_npy_load(NULL, "/dev/null", &array), "weft_npy_load");
    int64_t shape[1];
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(x), NULL, &program));
    weft_test_fails(weft_program_output_shape(program, 0, 1, &(weft_binding){NULL, 3}, shape), INVALID,
                    "the name of a symbol is NULL");
    weft_program_release(program);
    weft_tensor_set_name(x, NULL);
    weft_test_fails(graph_error(graph), INVALID, "name is NULL");
    weft_module *module = NULL;
    weft_extent extent;
    char *text = NULL;
    executor = executor_create();
    expect_place(weft_graph_print(WEFT_TENSORS(x, WEFT_NO_TENSOR), &text), "weft_graph_print");
    expect_place(weft_extension_check(NULL), "weft_extension_check");
    expect_place(weft_executor_register_extension(executor, NULL), "weft_executor_register_extension");
    expect_place(weft_graph_register(graph, NULL), "weft_graph_register");
    expect_place(weft_graph_parse("t", "", 0, NULL, 1, &(const weft_extension *){NULL}, &module), "weft_graph_parse");
    expect_place(weft_extent_parse(graph, "(1", &extent), "weft_extent_parse");
    expect_place(weft_extent_parse(graph, "99999999999999999999", &extent), "weft_extent_parse");
    expect_place(weft_extent_parse(graph, "n", &extent), "weft_extent_parse");
    weft_executor_destroy(executor);
    weft_graph_destroy(graph);
}

/* Errors of a run name the function, or what the step computes. */
static void errors_of_runs_say_where(void **state)
{
    (void)state;
    weft_graph *graph = graph_create();
    weft_extent n = weft_symbol(graph, "n", 0, 9);
    weft_tensor index = weft_input(graph, "index", WEFT_I64, WEFT_SHAPE()),
                x = weft_constant(graph, WEFT_F32, WEFT_INTS(2), (float[]){1, 2});
    weft_program *program = compile(graph, weft_gather(x, index, 0));
    weft_program *shaped =
        compile(graph, weft_zeros(graph, WEFT_F32, WEFT_SHAPE(weft_extent_div(weft_extent_of(3), n))));
    weft_executor *executor = executor_create();
    weft_array *input, *output = NULL;
    weft_test_ok(weft_array_create(NULL, WEFT_I64, 0, NULL, &input));
    *(int64_t *)weft_array_data(input) = 7;
    weft_status *status = run_one(executor, "ref", program, input, &output);
    assert_string_equal(weft_status_where(status), "weft_executor_run");
    weft_test_fails(status, WEFT_DATA_ERROR, "gather: index 7");
    int64_t shape[1];
    status = weft_program_output_shape(shaped, 0, 1, &(weft_binding){"n", 0}, shape);
    assert_string_equal(weft_status_where(status), "weft_program_output_shape");
    weft_test_fails(status, WEFT_OUT_OF_RANGE, "3 / 0 divides by zero");
    weft_array_release(input);
    weft_executor_destroy(executor);
    weft_program_release(program);
    weft_program_release(shaped);
    weft_graph_destroy(graph);
}

static void errors_of_generated_code_name_the_op(void **state)
{
    (void)state;
    char place[32];
    weft_graph *graph = graph_create();
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE());
    weft_tensor y = weft_reduce_sum(weft_broadcast(x, WEFT_SHAPE(INT64_MAX)), WEFT_INTS(0), false);
    snprintf(place, sizeof place, "misuse.c:%d)", __LINE__ - 1);
    weft_program *program = compile(graph, y);
    weft_executor *executor = executor_create();
    weft_array *input, *result = NULL;
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 0, NULL, &input));
    weft_status *status = run_one(executor, "llvm", program, input, &result);
    assert_non_null(strstr(weft_status_message(status), place));
    assert_string_equal(weft_status_where(status), "weft_executor_run");
    weft_test_fails(status, WEFT_OUT_OF_RANGE, "reduce_sum: a size, a stride or an offset");
    weft_array_release(input);
    weft_executor_destroy(executor);
    weft_program_release(program);
    weft_graph_destroy(graph);
}

static void windows_of_nothing_may_have_any_size(void **state)
{
    (void)state;
    weft_graph *graph = graph_create();
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(1, 1, 9));
    weft_program *program = compile(graph, weft_max_pool(x, &(weft_pool_options){.size = WEFT_INTS(INT64_MAX)}));
    weft_executor *executor = executor_create();
    weft_array *input, *result = NULL;
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 3, (const int64_t[]){1, 1, 9}, &input));
    weft_test_ok(run_one(executor, "llvm", program, input, &result));
    assert_int_equal(weft_array_shape(result)[2], 0);
    weft_test_ok(run_one(executor, "ref", program, input, &result));
    weft_array_release(result);
    weft_array_release(input);
    weft_executor_destroy(executor);
    weft_program_release(program);
    weft_graph_destroy(graph);
}

/* ---- ranks and extents ---- */

static void no_rank_is_too_high_to_be_refused(void **state)
{
    (void)state;
    enum { RANK = 200 };
    weft_graph *graph = graph_create();
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE());
    weft_extent extents[RANK];
    int64_t axes[RANK];
    for (int i = 0; i < RANK; i++) {
        extents[i] = weft_extent_of(1);
        axes[i] = i;
    }
    const weft_shape shape = {RANK, extents};
    weft_broadcast_in_dim(x, shape, (weft_ints){RANK - 1, axes});
    weft_test_fails(graph_error(graph), INVALID, "axes has length 199 but the rank is 200");
    weft_broadcast(x, shape);
    weft_test_fails(graph_error(graph), INVALID, "rank 200, over 64");
    weft_iota(graph, WEFT_F32, shape, 100);
    weft_test_fails(graph_error(graph), INVALID, "rank 200, over 64");
    weft_graph_destroy(graph);
}

/* No axis follows another one in memory: with the contracted ones there are more than an array may have. */
static void products_may_have_more_axes_than_arrays(void **state)
{
    (void)state;
    enum { RANK = 62 };
    weft_graph *graph = graph_create();
    weft_extent n = weft_symbol(graph, "n", 1, 2), extents[RANK];
    int64_t axes[RANK / 2], shape[RANK];
    for (int i = 0; i < RANK; i++) {
        extents[i] = n;
        shape[i] = 1;
        axes[i / 2] = i;
    }
    weft_tensor a = weft_input(graph, "a", WEFT_F32, (weft_shape){RANK, extents});
    weft_tensor b = weft_input(graph, "b", WEFT_F32, (weft_shape){RANK, extents});
    const weft_ints contracted = {RANK / 2, axes};
    weft_program *program = compile(graph, weft_tensordot(a, b, contracted, contracted));
    weft_executor *executor = executor_create();
    float x = 3, y = 5;
    weft_array *inputs[2], *output = NULL;
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, RANK, shape, NULL, &x, NULL, NULL, &inputs[0]));
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, RANK, shape, NULL, &y, NULL, NULL, &inputs[1]));
    weft_test_ok(weft_executor_run(
        executor, program, &(weft_run){.input_count = 2, .inputs = inputs, .output_count = 1, .outputs = &output}));
    assert_true(*(const float *)weft_array_data(output) == 15);
    weft_array_release(output);
    for (size_t i = 0; i < 2; i++) weft_array_release(inputs[i]);
    weft_executor_destroy(executor);
    weft_program_release(program);
    weft_graph_destroy(graph);
}

static void an_extent_that_cannot_be_computed_is_explained(void **state)
{
    (void)state;
    weft_graph *graph = graph_create();
    weft_extent n = weft_symbol(graph, "n", 0, 10), m = weft_symbol(graph, "m", 0, 10);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(n, m));
    weft_tensor sum = weft_reduce_sum(x, WEFT_INTS(0, 1), false);
    weft_program *program = compile(graph, weft_broadcast(sum, WEFT_SHAPE(weft_extent_div(n, m))));
    weft_executor *executor = executor_create();
    weft_array *input = array_create(2, (const int64_t[]){6, 0}), *output = NULL;
    weft_test_fails(run_one(executor, "ref", program, input, &output), WEFT_OUT_OF_RANGE,
                    "n / m divides by zero (m = 0 bound by input \"x\" axis 1; n = 6 bound by input \"x\" axis 0)");
    weft_array_release(input);
    weft_executor_destroy(executor);
    weft_program_release(program);
    weft_graph_destroy(graph);
}

/* A number made of extents has 64 bits like them, in each part. */
static void check_number(weft_extent (*number)(weft_extent n, weft_extent m), int64_t n, int64_t m,
                         const char *sentence)
{
    weft_graph *graph = graph_create();
    weft_extent of_n = weft_symbol(graph, "n", 0, INT64_MAX), of_m = weft_symbol(graph, "m", 0, 10);
    weft_program *program = compile(graph, weft_add(weft_extent_tensor(graph, number(of_n, of_m)), 1));
    weft_executor *executor = executor_create();
    const weft_binding few[] = {{"n", 6}, {"m", 3}}, values[] = {{"n", n}, {"m", m}};
    weft_array *output = NULL;
    weft_run run = {.extents = few, .extent_count = 2, .output_count = 1, .outputs = &output};
    weft_test_ok(weft_executor_run(executor, program, &run));
    assert_int_equal(*(const int64_t *)weft_array_data(output), number(weft_extent_of(6), weft_extent_of(3)).value + 1);
    weft_array_release(output);
    output = NULL;
    run.extents = values;
    weft_test_fails(weft_executor_run(executor, program, &run), WEFT_OUT_OF_RANGE, sentence);
    weft_executor_destroy(executor);
    weft_program_release(program);
    weft_graph_destroy(graph);
}

static weft_extent square_times(weft_extent n, weft_extent m)
{
    return weft_extent_mul(weft_extent_mul(n, n), m);
}

static weft_extent square_modulo(weft_extent n, weft_extent m)
{
    return weft_extent_mod(weft_extent_mul(n, n), weft_extent_add(m, weft_extent_of(4)));
}

static void a_number_of_extents_is_right_or_refused(void **state)
{
    (void)state;
    check_number(square_times, INT64_C(1) << 31, 3,
                 "n*n*m overflows 64 bits (m = 3 given in extents; n = 2147483648 given in extents)");
    check_number(square_modulo, INT64_C(1) << 40, 1, "n*n overflows 64 bits (n = 1099511627776 given in extents)");
    check_number(weft_extent_div, 5, 0, "n / m divides by zero (m = 0 given in extents; n = 5 given in extents)");
}

/* Elements of a mask as other libraries have them, in the order of their truth: on both runtimes. */
static void bytes_other_than_0_are_equally_true(void **state)
{
    static const int64_t shape[] = {5}, order[] = {1, 2, 4, 0, 3};
    uint8_t mask[] = {0, 1, 255, 0, 7};
    (void)state;
    weft_graph *graph = graph_create();
    weft_executor *executor = executor_create();
    weft_program *program;
    weft_array *input;
    weft_test_ok(weft_array_wrap(NULL, WEFT_BOOL, 1, shape, NULL, mask, NULL, NULL, &input));
    weft_tensor x = weft_input(graph, "x", WEFT_BOOL, WEFT_SHAPE(5)), best;
    weft_top_k(x, 0, weft_extent_of(5), false, &best);
    weft_tensors outputs = WEFT_TENSORS(weft_argsort(x, 0, true), best, weft_sort(x, 0, true));
    weft_test_ok(weft_compile(graph, outputs, NULL, &program));
    for (int i = 0; i < 2; i++) {
        weft_array *results[3] = {NULL};
        weft_test_ok(weft_executor_run(executor, program,
                                       &(weft_run){.runtime = i == 0 ? "llvm" : "ref",
                                                   .input_count = 1,
                                                   .inputs = &input,
                                                   .output_count = 3,
                                                   .outputs = results}));
        assert_memory_equal(weft_array_data(results[0]), order, sizeof order);
        assert_memory_equal(weft_array_data(results[1]), order, sizeof order);
        for (int k = 0; k < 5; k++) assert_int_equal(((uint8_t *)weft_array_data(results[2]))[k] != 0, k < 3);
        for (int k = 0; k < 3; k++) weft_array_release(results[k]);
    }
    weft_array_release(input);
    weft_program_release(program);
    weft_executor_destroy(executor);
    weft_graph_destroy(graph);
}

/* What no memory holds is named: elements of a broadcast are many at no cost, but those computed from them lie in a
 * temporary. */
static void a_temporary_too_large_is_named(void **state)
{
    static const struct example {
        int64_t n;
        const char *sentence;
    } examples[] = {{INT64_MAX / 4, "add: temporary 1, i64[2305843009213693951], has more bytes than 64 bits count"},
                    {INT64_MAX / 8, "intermediate 1 has 9223372036854775800 bytes"}};
    (void)state;
    weft_graph *graph = graph_create();
    weft_extent n = weft_symbol(graph, "n", 0, INT64_MAX / 4);
    weft_tensor x = weft_broadcast(weft_input(graph, "x", WEFT_F32, WEFT_SHAPE()), WEFT_SHAPE(n));
    weft_tensor sum = weft_add(weft_cast(x, WEFT_I64), weft_iota(graph, WEFT_I64, WEFT_SHAPE(n), 0));
    weft_program *program =
        compile(graph, weft_gather(sum, weft_constant(graph, WEFT_I64, WEFT_INTS(2), (const int64_t[]){5, -1}), 0));
    weft_executor *executor = executor_create();
    weft_array *input = array_create(0, NULL), *output = NULL;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        weft_run run = {.input_count = 1,
                        .inputs = &input,
                        .output_count = 1,
                        .outputs = &output,
                        .extent_count = 1,
                        .extents = &(weft_binding){"n", examples[i].n}};
        weft_test_fails(weft_executor_run(executor, program, &run), WEFT_OUT_OF_RANGE, examples[i].sentence);
    }
    weft_array_release(input);
    weft_executor_destroy(executor);
    weft_program_release(program);
    weft_graph_destroy(graph);
}

/* Also where the product of 64 bits is 0, or fits if it has no sign. */
static void an_output_too_large_is_named(void **state)
{
    static const struct example {
        int64_t n;
        const char *sentence;
    } examples[] = {
        {INT64_C(1) << 31, "output \"out0\", f32[2147483648, 2147483648], has more bytes than 64 bits count"},
        {INT64_C(1) << 30, "output \"out0\", f32[1073741824, 2147483648], has more bytes than 64 bits count"},
        {INT64_MAX, "output \"out0\", f32[9223372036854775807, 2147483648], has more bytes than 64 bits count"}};
    (void)state;
    weft_graph *graph = graph_create();
    weft_extent n = weft_symbol(graph, "n", 0, INT64_MAX);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE());
    weft_program *program = compile(graph, weft_broadcast(x, WEFT_SHAPE(n, INT64_C(1) << 31)));
    weft_executor *executor = executor_create();
    weft_array *input = array_create(0, NULL), *output = NULL;
    for (size_t i = 0; i < 2 * sizeof examples / sizeof *examples; i++) {
        weft_run run = {.runtime = i % 2 == 0 ? "llvm" : "ref",
                        .input_count = 1,
                        .inputs = &input,
                        .output_count = 1,
                        .outputs = &output,
                        .extent_count = 1,
                        .extents = &(weft_binding){"n", examples[i / 2].n}};
        weft_test_fails(weft_executor_run(executor, program, &run), WEFT_OUT_OF_RANGE, examples[i / 2].sentence);
    }
    weft_array_release(input);
    weft_executor_destroy(executor);
    weft_program_release(program);
    weft_graph_destroy(graph);
}

/* After a run with one of two outputs of rank 0 given, one with the other is checked for itself. */
static void the_one_given_number_is_looked_at(void **state)
{
    (void)state;
    float data[] = {1, 2, 3, 4}, other;
    const int64_t count = 4;
    weft_graph *graph = graph_create();
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(4)), results[2];
    results[0] = weft_reduce_sum(x, WEFT_INTS(0), false);
    results[1] = weft_reduce_prod(x, WEFT_INTS(0), false);
    weft_program *program;
    weft_executor *executor = executor_create();
    weft_array *input, *inside, *beside, *outputs[2] = {NULL};
    weft_test_ok(weft_compile(graph, (weft_tensors){2, results}, NULL, &program));
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 1, &count, NULL, data, NULL, NULL, &input));
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 0, NULL, NULL, data, NULL, NULL, &inside));
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 0, NULL, NULL, &other, NULL, NULL, &beside));
    weft_run run = {.input_count = 1, .inputs = &input, .output_count = 2, .outputs = outputs};
    outputs[1] = beside;
    weft_test_ok(weft_executor_run(executor, program, &run));
    assert_true(other == 24 && *(float *)weft_array_data(outputs[0]) == 10);
    weft_array_release(outputs[0]);
    outputs[0] = inside;
    outputs[1] = NULL;
    weft_test_fails(weft_executor_run(executor, program, &run), INVALID, "output \"out0\" overlaps input \"x\"");
    assert_true(data[0] == 1 && outputs[1] == NULL);
    weft_array_release(input);
    weft_array_release(inside);
    weft_array_release(beside);
    weft_executor_destroy(executor);
    weft_program_release(program);
    weft_graph_destroy(graph);
}

static void an_axis_of_one_may_have_any_stride(void **state)
{
    (void)state;
    static const int64_t odd[] = {INT64_MIN, INT64_MAX, INT64_MIN / 4};
    weft_graph *graph = graph_create();
    weft_extent n = weft_symbol(graph, "n", 0, 9);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(n, 2)), y = weft_matmul(x, weft_transpose(x, 0, 1));
    weft_program *sums = compile(graph, weft_reduce_sum(x, WEFT_INTS(1), false)), *products = compile(graph, y);
    weft_executor *executor = executor_create();
    float data[] = {1, 0, 3}, result[2];
    for (size_t i = 0; i < 2 * sizeof odd / sizeof *odd; i++) {
        const int64_t shape[] = {1, 2}, strides[] = {odd[i / 2], 2}, turned[] = {2, 1}, other[] = {2, odd[i / 2]};
        const char *runtime = i % 2 == 0 ? "llvm" : "ref";
        weft_array *input, *outputs[2] = {NULL}, *from, *to;
        weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 2, shape, strides, data, NULL, NULL, &input));
        weft_test_ok(run_one(executor, runtime, sums, input, &outputs[0]));
        weft_test_ok(run_one(executor, runtime, products, input, &outputs[1]));
        assert_true(*(const float *)weft_array_data(outputs[0]) == 4);
        assert_true(*(const float *)weft_array_data(outputs[1]) == 10);
        weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 2, turned, other, data, NULL, NULL, &from));
        weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 2, turned, NULL, result, NULL, NULL, &to));
        weft_test_ok(weft_array_copy(to, from));
        assert_true(result[0] == 1 && result[1] == 3);
        for (int k = 0; k < 2; k++) weft_array_release(outputs[k]);
        weft_array_release(input);
        weft_array_release(from);
        weft_array_release(to);
    }
    weft_program_release(sums);
    weft_program_release(products);
    weft_executor_destroy(executor);
    weft_graph_destroy(graph);
}

/* Of an axis only the first element, or nothing, is as far from the next as such steps are. */
static void steps_may_be_longer_than_any_axis(void **state)
{
    (void)state;
    weft_graph *graph = graph_create();
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(3, 2));
    weft_tensor sliced = weft_slice(x, WEFT_SHAPE(1, 0), WEFT_SHAPE(1, 1), WEFT_INTS(INT64_MAX, INT64_MAX));
    weft_tensor windows = weft_window(x, 0, weft_extent_of(1), INT64_MAX, INT64_MAX);
    weft_tensor none = weft_window(x, 1, weft_extent_of(3), INT64_MAX - 7, 2);
    weft_program *program;
    weft_executor *executor = executor_create();
    weft_array *input = array_create(2, (const int64_t[]){3, 2}), *outputs[3] = {NULL};
    for (int i = 0; i < 6; i++) ((float *)weft_array_data(input))[i] = (float)i;
    weft_test_ok(
        weft_compile(graph, WEFT_TENSORS(weft_neg(sliced), weft_neg(windows), weft_neg(none)), NULL, &program));
    weft_run run = {.input_count = 1, .inputs = &input, .output_count = 3, .outputs = outputs};
    weft_test_ok(weft_executor_run(executor, program, &run));
    assert_int_equal(weft_array_count(outputs[0]), 1);
    assert_true(*(const float *)weft_array_data(outputs[0]) == -2);
    assert_int_equal(weft_array_count(outputs[1]), 2);
    assert_memory_equal(weft_array_data(outputs[1]), ((const float[]){-0.0f, -1}), 2 * sizeof(float));
    assert_int_equal(weft_array_count(outputs[2]), 0);
    for (int i = 0; i < 3; i++) weft_array_release(outputs[i]);
    weft_array_release(input);
    weft_executor_destroy(executor);
    weft_program_release(program);
    weft_graph_destroy(graph);
}

/* The same where an extent is known to a run alone, from 0 on. */
static void steps_may_be_longer_than_a_symbol(void **state)
{
    (void)state;
    weft_executor *executor = executor_create();
    for (int i = 0; i < 16; i++) {
        weft_graph *graph = graph_create();
        weft_extent k = weft_symbol(graph, "k", 0, i & 1 ? INT64_MAX : 100);
        weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(k));
        const weft_index_item back = WEFT_RANGE(WEFT_OPEN, WEFT_OPEN, -INT64_MAX);
        weft_tensor y = i & 2 ? weft_window(x, 0, weft_extent_of(1), INT64_MAX, INT64_MAX) : weft_at(x, back);
        weft_program *program = compile(graph, weft_neg(y));
        int64_t extent = i & 4 ? 5 : 0;
        weft_array *input = array_create(1, &extent), *output = NULL;
        for (int64_t n = 0; n < extent; n++) ((float *)weft_array_data(input))[n] = (float)(n + 1);
        weft_test_ok(run_one(executor, i & 8 ? "ref" : "llvm", program, input, &output));
        assert_int_equal(weft_array_count(output), extent > 0);
        if (extent > 0) assert_true(*(const float *)weft_array_data(output) == (i & 2 ? -1 : -5));
        weft_array_release(input);
        weft_array_release(output);
        weft_program_release(program);
        weft_graph_destroy(graph);
    }
    weft_executor_destroy(executor);
}

/* Of no elements the last, a step before the first, may lie at no int64. */
static void empty_ranges_may_have_any_step(void **state)
{
    (void)state;
    static const int64_t steps[] = {-INT64_MAX, INT64_MIN, 2 - INT64_MAX, -(INT64_C(1) << 62) - 1, INT64_MAX};
    weft_executor *executor = executor_create();
    weft_array *input = array_create(1, (const int64_t[]){5});
    for (size_t i = 0; i < 2 * sizeof steps / sizeof *steps; i++) {
        int64_t step = steps[i / 2], first = step > 0 ? 4 : -1, stop = step > 0 ? 2 : 5;
        weft_graph *graph = graph_create();
        weft_extent n = i % 2 == 0 ? weft_extent_of(5) : weft_symbol(graph, "n", 0, INT64_MAX);
        weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(n));
        weft_tensor none = weft_at(x, WEFT_RANGE(first, stop, step)), one = weft_at(x, WEFT_RANGE(first, -3, step));
        if (step > 0) one = weft_at(x, WEFT_RANGE(first, 5, step));
        weft_program *program;
        weft_array *outputs[2] = {NULL};
        weft_test_ok(weft_compile(graph, WEFT_TENSORS(weft_neg(none), weft_neg(one)), NULL, &program));
        const weft_run run = {
            .runtime = "ref", .input_count = 1, .inputs = &input, .output_count = 2, .outputs = outputs};
        weft_test_ok(weft_executor_run(executor, program, &run));
        assert_int_equal(weft_array_count(outputs[0]), 0);
        assert_int_equal(weft_array_count(outputs[1]), 1);
        for (int k = 0; k < 2; k++) weft_array_release(outputs[k]);
        weft_program_release(program);
        weft_graph_destroy(graph);
    }
    weft_array_release(input);
    weft_executor_destroy(executor);
}

/* A place beyond 64 bits that no element has is out of range at the worst, and nothing else. */
static void executor_refuses_what_overflows(weft_executor *executor)
{
    weft_graph *graph = graph_create();
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(weft_symbol(graph, "n", 0, INT64_MAX)));
    weft_tensor none = weft_at(x, WEFT_RANGE(INT64_MIN + 2, INT64_MIN + 3, INT64_MAX));
    weft_program *program = compile(graph, none);
    weft_array *input = array_create(1, (const int64_t[]){5}), *output = NULL;
    weft_test_fails(run_one(executor, "llvm", program, input, &output), WEFT_OUT_OF_RANGE, "does not fit in 64 bits");
    weft_array_release(input);
    weft_program_release(program);
    weft_graph_destroy(graph);
}

/* And where other axes multiply what is left of the step. */
static void steps_over_rows_may_be_longer(void **state)
{
    (void)state;
    const int64_t steps[] = {-INT64_MAX / 4, -(INT64_C(1) << 62), INT64_C(1) << 62};
    weft_executor *executor = executor_create();
    for (int i = 0; i < 6; i++) {
        weft_graph *graph = graph_create();
        weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(weft_symbol(graph, "n", 0, 64), weft_extent_of(3)));
        weft_tensor y = weft_at(x, WEFT_RANGE(WEFT_OPEN, WEFT_OPEN, steps[i % 3]));
        weft_program *program = compile(graph, weft_neg(y));
        weft_array *input = array_create(2, (const int64_t[]){5, 3}), *output = NULL;
        for (int n = 0; n < 15; n++) ((float *)weft_array_data(input))[n] = (float)n;
        weft_test_ok(run_one(executor, i < 3 ? "llvm" : "ref", program, input, &output));
        assert_int_equal(weft_array_count(output), 3);
        assert_true(((const float *)weft_array_data(output))[2] == (steps[i % 3] < 0 ? -14 : -2));
        weft_array_release(input);
        weft_array_release(output);
        weft_program_release(program);
        weft_graph_destroy(graph);
    }
    executor_refuses_what_overflows(executor);
    weft_executor_destroy(executor);
}

/* Two outputs of one run in one array, and more bytes than there are. */
static void outputs_have_their_own_memory(void **state)
{
    (void)state;
    weft_graph *graph = graph_create();
    weft_extent n = weft_symbol(graph, "n", 0, INT64_MAX / 8);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(2));
    weft_tensor large = weft_cast(weft_full(graph, WEFT_F32, 1, WEFT_SHAPE(n, 2)), WEFT_C128);
    weft_program *program = NULL, *huge = NULL;
    weft_executor *executor = executor_create();
    weft_array *input = array_create(1, (const int64_t[]){2}), *output = array_create(1, (const int64_t[]){2});
    weft_array *outputs[] = {output, output}, *none = NULL;
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(weft_neg(x), weft_exp(x)), NULL, &program));
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(large), NULL, &huge));
    const weft_run run = {.runtime = "ref", .input_count = 1, .inputs = &input, .output_count = 2, .outputs = outputs};
    weft_test_fails(weft_executor_run(executor, program, &run), INVALID, "outputs \"out0\" and \"out1\" overlap");
    const weft_binding binding = {"n", INT64_MAX / 8};
    const weft_run endless = {
        .runtime = "ref", .extent_count = 1, .extents = &binding, .output_count = 1, .outputs = &none};
    weft_test_fails(weft_executor_run(executor, huge, &endless), WEFT_OUT_OF_RANGE, "output \"out0\"");
    assert_int_equal(weft_executor_threads(executor), 1);
    weft_array_release(input);
    weft_array_release(output);
    weft_program_release(program);
    weft_program_release(huge);
    weft_executor_destroy(executor);
    weft_graph_destroy(graph);
}

/* ---- names ---- */

static weft_program *transposed_product(const char *symbol)
{
    weft_graph *graph = graph_create();
    weft_extent n = weft_symbol(graph, symbol, 0, 100), m = weft_symbol(graph, "another", 0, 100);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(n, m));
    weft_tensor flat = weft_reshape(weft_transpose(x, 0, 1), WEFT_SHAPE(weft_extent_mul(n, m)));
    weft_tensor y = weft_softmax(weft_reshape(flat, WEFT_SHAPE(m, n)), 0);
    weft_program *program = compile(graph, weft_matmul(y, weft_exp(x)));
    weft_graph_destroy(graph);
    return program;
}

/* Kernels name their variables i0, t1, v2 and their strides in0.s1. */
static void symbols_may_have_any_name(void **state)
{
    (void)state;
    static const char *const names[] = {"i0", "i1", "i2", "t0", "t4", "v0", "v2", "v3", "x", "inf", "symbol"};
    weft_executor *executor = executor_create();
    weft_array *whole = array_create(2, (const int64_t[]){6, 10}), *part = NULL;
    weft_test_ok(weft_array_view(whole, 2, (const int64_t[]){3, 5}, (const int64_t[]){20, 2}, 0, &part));
    for (size_t i = 0; i < 2 * sizeof names / sizeof *names; i++) {
        weft_program *program = transposed_product(names[i / 2]);
        weft_array *output = NULL;
        weft_status *status = run_one(executor, NULL, program, i % 2 == 0 ? whole : part, &output);
        if (weft_status_code(status) == WEFT_NO_COMPILER) weft_status_destroy(status);
        else weft_test_ok(status);
        weft_array_release(output);
        weft_program_release(program);
    }
    weft_array_release(part);
    weft_array_release(whole);
    weft_executor_destroy(executor);
}

static void dotted_names_are_those_of_strides(void **state)
{
    (void)state;
    weft_graph *graph = graph_create();
    assert_false(weft_extent_is_valid(weft_symbol(graph, "in0.s1", 0, 1)));
    weft_test_fails(graph_error(graph), INVALID, "name \"in0.s1\"");
    weft_graph_destroy(graph);
}

/* ---- lifetimes ---- */

static void the_struct_of_an_allocator_is_copied(void **state)
{
    (void)state;
    weft_test_allocator test;
    weft_test_allocator_init(&test, WEFT_TEST_NEVER);
    weft_allocator *passing = malloc(sizeof *passing);
    assert_non_null(passing);
    *passing = test.allocator;
    static const char text[] = "weft 0.1\ngraph {\n  %x = input() {name = \"x\", dtype = f32, shape = [2]}\n"
                               "  %0 = exp(%x)\n  return %0\n}\n";
    weft_module *module = NULL;
    weft_program *program = NULL;
    const weft_program_view *view = NULL;
    const weft_graph_options options = {.allocator = passing};
    weft_test_ok(weft_graph_parse("t", text, sizeof text - 1, &options, 0, NULL, &module));
    memset(passing, 0, sizeof *passing);
    free(passing);
    weft_tensor y = weft_neg(module->outputs.items[0]);
    weft_test_ok(weft_compile(module->graph, WEFT_TENSORS(y), NULL, &program));
    weft_module_destroy(module);
    weft_test_ok(weft_program_view_create(program, &view));
    weft_program_release(program);
    weft_program_view_destroy(view);
    weft_test_allocator_check(&test);
}

/* ---- runtimes side by side ---- */

static void a_driver_may_load_no_code(void **state)
{
    (void)state;
    static const weft_driver driver = {.size = sizeof driver, .device = {WEFT_DEVICE_CPU, 0}};
    const weft_runtime runtime = {
        .size = sizeof runtime, .name = "bare", .driver = &driver, .compiler = weft_runtime_llvm()->compiler};
    weft_program *program = transposed_product("n");
    weft_array *input = array_create(2, (const int64_t[]){2, 3}), *output = NULL;
    weft_executor *executor = executor_create();
    weft_test_ok(weft_executor_register_runtime(executor, &runtime));
    weft_status *status = run_one(executor, "bare", program, input, &output);
    if (weft_status_code(status) == WEFT_NO_COMPILER) weft_status_destroy(status);
    else weft_test_fails(status, WEFT_UNSUPPORTED, "the driver of runtime \"bare\" loads no code");
    assert_null(output);
    weft_array_release(input);
    weft_executor_destroy(executor);
    weft_program_release(program);
}

static int loads[2];

static weft_status *count_load(void *self, const void *object, size_t size, const char *symbol, weft_image **out_image,
                               weft_kernel_function *out_function)
{
    const weft_runtime *llvm = weft_runtime_llvm();
    ++*(int *)self;
    return llvm->driver->load(llvm->self, object, size, symbol, out_image, out_function);
}

static void count_unload(void *self, weft_image *image)
{
    const weft_runtime *llvm = weft_runtime_llvm();
    --*(int *)self;
    llvm->driver->unload(llvm->self, image);
}

static void runtimes_do_not_share_code(void **state)
{
    (void)state;
    static const weft_driver driver = {
        .size = sizeof driver, .device = {WEFT_DEVICE_CPU, 0}, .load = count_load, .unload = count_unload};
    const weft_runtime runtimes[] = {
        {.size = sizeof(weft_runtime), .name = "one", .self = &loads[0], .driver = &driver},
        {.size = sizeof(weft_runtime), .name = "two", .self = &loads[1], .driver = &driver}};
    weft_runtime whole[2];
    weft_program *program = transposed_product("n");
    weft_array *input = array_create(2, (const int64_t[]){2, 3});
    weft_executor *executor = executor_create();
    bool compiled = true;
    for (int i = 0; i < 2; i++) {
        weft_array *output = NULL;
        whole[i] = runtimes[i];
        whole[i].compiler = weft_runtime_llvm()->compiler;
        weft_test_ok(weft_executor_register_runtime(executor, &whole[i]));
        weft_status *status = run_one(executor, whole[i].name, program, input, &output);
        compiled = compiled && weft_status_code(status) != WEFT_NO_COMPILER;
        if (compiled) weft_test_ok(status);
        else weft_status_destroy(status);
        weft_array_release(output);
    }
    if (compiled) {
        assert_true(loads[0] > 0);
        assert_int_equal(loads[0], loads[1]);
    }
    weft_executor_destroy(executor);
    assert_int_equal(loads[0], 0);
    assert_int_equal(loads[1], 0);
    weft_array_release(input);
    weft_program_release(program);
}

/* ---- tables of ops ---- */

static weft_status *infer_same(const weft_infer_context *context, weft_type *out_types)
{
    out_types[0] = context->inputs[0];
    return NULL;
}

static weft_graph *elsewhere;

static weft_status *lower_elsewhere(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs,
                                    weft_tensors inputs, weft_tensor *out_tensors)
{
    (void)graph, (void)op, (void)attrs, (void)inputs;
    out_tensors[0] = weft_full(elsewhere, WEFT_F32, 1, WEFT_SHAPE(2));
    return NULL;
}

static weft_op_def stray_op(void)
{
    return (weft_op_def){.size = sizeof(weft_op_def),
                         .name = "stray.op",
                         .version = 1,
                         .input_count = 1,
                         .output_count = 1,
                         .op_class = WEFT_CLASS_OPAQUE,
                         .infer = infer_same,
                         .lower = lower_elsewhere};
}

static weft_extension stray(const weft_op_def *const *ops)
{
    return (weft_extension){.size = sizeof(weft_extension),
                            .abi_major = WEFT_ABI_MAJOR,
                            .abi_minor = WEFT_ABI_MINOR,
                            .family = "stray",
                            .version = "1",
                            .op_count = 1,
                            .ops = ops};
}

static void tables_of_ops_must_make_sense(void **state)
{
    (void)state;
    weft_op_def op = stray_op();
    const weft_op_def *ops[] = {&op};
    const weft_extension extension = stray(ops);
    weft_test_ok(weft_extension_check(&extension));
    op.op_class = WEFT_CLASS_REDUCE;
    weft_test_fails(weft_extension_check(&extension), INVALID, "stray.op has class 3");
    op = stray_op();
    op.attr_count = 2;
    op.attrs = (const weft_attr_def[]){{"axis", WEFT_ATTR_INT}, {"axis", WEFT_ATTR_BOOL}};
    weft_test_fails(weft_extension_check(&extension), INVALID, "stray.op has two attributes called axis");
}

static void a_lowering_stays_in_its_graph(void **state)
{
    (void)state;
    const weft_op_def op = stray_op();
    const weft_op_def *const ops[] = {&op};
    const weft_extension extension = stray(ops);
    weft_graph *graph = graph_create();
    weft_program *program = NULL;
    elsewhere = graph_create();
    weft_test_ok(weft_graph_register(graph, &extension));
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(2));
    weft_tensor y = weft_trace(graph, "stray.op", WEFT_TENSORS(x), NULL);
    weft_test_fails(weft_compile(graph, WEFT_TENSORS(y), NULL, &program), INVALID,
                    "the lowering of 'stray.op' gave a tensor of another graph where its type rule says f32[2]");
    weft_graph_destroy(elsewhere);
    weft_graph_destroy(graph);
}

static weft_status *say_no(const weft_kernel_context *context)
{
    return weft_status_create(context->allocator, WEFT_DATA_ERROR, NULL, "the kernel says no");
}

static weft_status *have_no_scratch(const weft_kernel_context *context, size_t *out_size)
{
    (void)out_size;
    return weft_status_create(context->allocator, WEFT_DATA_ERROR, NULL, "the kernel says no");
}

static weft_status *have_no_state(const weft_allocator *allocator, void **out_state)
{
    (void)out_state;
    return weft_status_create(allocator, WEFT_DATA_ERROR, NULL, "the state says no");
}

static void end_no_state(void *state)
{
    (void)state;
}

static void errors_of_states_say_where(void **state)
{
    (void)state;
    const weft_op_def op = stray_op();
    const weft_op_def *const ops[] = {&op};
    weft_extension extension = stray(ops);
    weft_executor *executor = executor_create();
    extension.state_create = have_no_state;
    extension.state_destroy = end_no_state;
    weft_status *status = weft_executor_register_extension(executor, &extension);
    assert_string_equal(weft_status_where(status), "weft_executor_register_extension");
    weft_test_fails(status, WEFT_DATA_ERROR, "the state says no");
    weft_executor_destroy(executor);
}

/* An error of a kernel, or of what it asks for, that names no place has its op's name. */
static void errors_of_kernels_say_where(void **state)
{
    (void)state;
    weft_op_def op = stray_op();
    const weft_op_def *const ops[] = {&op};
    const weft_extension extension = stray(ops);
    weft_graph *graph = graph_create();
    weft_executor *executor = executor_create();
    weft_array *input = array_create(1, (const int64_t[]){2}), *output = NULL;
    op.lower = NULL;
    op.kernel = say_no;
    weft_test_ok(weft_graph_register(graph, &extension));
    weft_test_ok(weft_executor_register_extension(executor, &extension));
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(2));
    weft_program *program = compile(graph, weft_trace(graph, "stray.op", WEFT_TENSORS(x), NULL));
    for (int i = 0; i < 4; i++) {
        if (i == 2) op.scratch_size = have_no_scratch;
        weft_executor_clear(executor);
        weft_status *status = run_one(executor, i % 2 == 0 ? "ref" : "llvm", program, input, &output);
        assert_string_equal(weft_status_where(status), "stray.op");
        weft_test_fails(status, WEFT_DATA_ERROR, "the kernel says no");
    }
    weft_array_release(input);
    weft_program_release(program);
    weft_executor_destroy(executor);
    weft_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_refuse_null),
        cmocka_unit_test(texts_and_programs_refuse_null),
        cmocka_unit_test(executors_refuse_null),
        cmocka_unit_test(runtimes_must_be_whole),
        cmocka_unit_test(errors_stick_to_any_graph_given),
        cmocka_unit_test(what_is_known_in_a_body_is_no_output),
        cmocka_unit_test(errors_of_runs_say_where),
        cmocka_unit_test(errors_of_generated_code_name_the_op),
        cmocka_unit_test(windows_of_nothing_may_have_any_size),
        cmocka_unit_test(no_rank_is_too_high_to_be_refused),
        cmocka_unit_test(products_may_have_more_axes_than_arrays),
        cmocka_unit_test(an_extent_that_cannot_be_computed_is_explained),
        cmocka_unit_test(a_number_of_extents_is_right_or_refused),
        cmocka_unit_test(bytes_other_than_0_are_equally_true),
        cmocka_unit_test(a_temporary_too_large_is_named),
        cmocka_unit_test(an_output_too_large_is_named),
        cmocka_unit_test(the_one_given_number_is_looked_at),
        cmocka_unit_test(an_axis_of_one_may_have_any_stride),
        cmocka_unit_test(steps_may_be_longer_than_any_axis),
        cmocka_unit_test(steps_over_rows_may_be_longer),
        cmocka_unit_test(outputs_have_their_own_memory),
        cmocka_unit_test(symbols_may_have_any_name),
        cmocka_unit_test(dotted_names_are_those_of_strides),
        cmocka_unit_test(the_struct_of_an_allocator_is_copied),
        cmocka_unit_test(a_driver_may_load_no_code),
        cmocka_unit_test(runtimes_do_not_share_code),
        cmocka_unit_test(tables_of_ops_must_make_sense),
        cmocka_unit_test(a_lowering_stays_in_its_graph),
        cmocka_unit_test(errors_of_kernels_say_where),
        cmocka_unit_test(errors_of_states_say_where),
        cmocka_unit_test(errors_name_the_public_function),
        cmocka_unit_test(steps_may_be_longer_than_a_symbol),
        cmocka_unit_test(empty_ranges_may_have_any_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
