/* SPDX-License-Identifier: Apache-2.0 */
/* The sample plugin, loaded from its shared object and used; einsum's shared object, loaded the same way. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>
#include "test/plugin/sample.h"
#include "test/support.h"

static const char *sample_path, *einsum_path;
static bool on_llvm;

static weft_plugin *load(const char *path)
{
    weft_plugin *plugin;
    weft_test_ok(weft_plugin_load(NULL, path, &plugin));
    return plugin;
}

static weft_executor *executor_with(const weft_extension *extension)
{
    weft_executor *executor;
    weft_test_ok(weft_executor_create(&(weft_executor_options){.threads = 2}, &executor));
    weft_test_ok(weft_executor_register_runtime(executor, weft_runtime_reference()));
    weft_test_ok(weft_executor_register_extension(executor, extension));
    return executor;
}

static weft_array *run(weft_executor *executor, weft_program *program, size_t count, weft_array **inputs)
{
    weft_array *result = NULL;
    weft_test_ok(weft_executor_run(
        executor, program, &(weft_run){.input_count = count, .inputs = inputs, .output_count = 1, .outputs = &result}));
    return result;
}

static weft_array *columns(int64_t rows, int64_t count, double *data)
{
    const int64_t shape[] = {rows, count}, strides[] = {1, rows};
    weft_array *array;
    weft_test_ok(weft_array_wrap(NULL, WEFT_F64, 2, shape, strides, data, NULL, NULL, &array));
    return array;
}

static double swish(double x)
{
    return x / (1 + exp(-x));
}

static weft_program *compile_median_of_swish(const weft_extension *extension)
{
    weft_graph *graph;
    weft_program *program;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_test_ok(weft_graph_register(graph, extension));
    weft_extent n = weft_symbol(graph, "n", 0, 1000), m = weft_symbol(graph, "m", 0, 1000);
    weft_tensor x = weft_input(graph, "x", WEFT_F64, WEFT_SHAPE(n, m));
    weft_tensor y = sample_swish(x), z = sample_median(y);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(weft_neg(z)), NULL, &program));
    weft_graph_destroy(graph);
    return program;
}

static void use_the_sample(void **state)
{
    (void)state;
    weft_plugin *plugin = load(sample_path);
    const weft_extension *extension = weft_plugin_extension(plugin);
    weft_executor *executor = executor_with(extension);
    weft_program *program = compile_median_of_swish(extension);
    assert_null(strstr(weft_program_text(program), "sample.swish"));
    assert_non_null(strstr(weft_program_text(program), "sample.median"));
    double odd[] = {3, 9, 1, 7, 2, 8}, even[] = {5, 1, 3, 9};
    weft_array *three = columns(2, 3, odd), *four = columns(1, 4, even);
    weft_array *a = run(executor, program, 1, &three), *b = run(executor, program, 1, &four);
    assert_int_equal(weft_array_rank(a), 1);
    const double *medians = weft_array_data(a);
    assert_true(fabs(medians[0] + swish(2)) < 1e-12 && fabs(medians[1] + swish(8)) < 1e-12);
    assert_true(fabs(*(double *)weft_array_data(b) + (swish(3) + swish(5)) / 2) < 1e-12);
    weft_array *arrays[] = {three, four, a, b};
    for (size_t i = 0; i < 4; i++) weft_array_release(arrays[i]);
    weft_program_release(program);
    weft_executor_destroy(executor);
    weft_plugin_destroy(plugin);
}

/* ---- derivatives ---- */

static double slope_of_swish(double x)
{
    double s = 1 / (1 + exp(-x));
    return s * (1 + x * (1 - s));
}

/* The median of swish: its gradient, its derivative along ones, and its Hessian by ones. */
static weft_program *compile_derivatives(const weft_extension *extension)
{
    weft_graph *graph;
    weft_program *program;
    weft_tensor gradient, tangent, product;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_test_ok(weft_graph_register(graph, extension));
    weft_tensor x = weft_input(graph, "x", WEFT_F64, WEFT_SHAPE(1, weft_symbol(graph, "n", 1, 1000)));
    weft_tensor loss = weft_reduce_sum(sample_median(sample_swish(x)), WEFT_INTS(0), false);
    weft_tensor ones = weft_full_like(x, 1);
    weft_grad(loss, WEFT_TENSORS(x), &gradient);
    weft_jvp(WEFT_TENSORS(loss), WEFT_TENSORS(x), WEFT_TENSORS(ones), &tangent);
    weft_hvp(loss, WEFT_TENSORS(x), WEFT_TENSORS(ones), &product);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(gradient, tangent, product), NULL, &program));
    weft_graph_destroy(graph);
    return program;
}

static void check_derivatives(weft_executor *executor, weft_program *program, int64_t count, double *data)
{
    weft_array *x = columns(1, count, data), *results[3] = {NULL};
    double slope = 0, step = 1e-4;
    weft_test_ok(weft_executor_run(executor, program,
                                   &(weft_run){.input_count = 1, .inputs = &x, .output_count = 3, .outputs = results}));
    const double *gradient = weft_array_data(results[0]), *product = weft_array_data(results[2]);
    for (int64_t i = 0; i < count; i++) {
        double share = count % 2 == 1 ? data[i] == 3 : (data[i] == 3 || data[i] == 5) / 2.0;
        double second = (slope_of_swish(data[i] + step) - slope_of_swish(data[i] - step)) / (2 * step);
        slope += share * slope_of_swish(data[i]);
        assert_true(fabs(gradient[i] - share * slope_of_swish(data[i])) < 1e-12);
        assert_true(fabs(product[i] - share * second) < 1e-6);
    }
    assert_true(fabs(*(double *)weft_array_data(results[1]) - slope) < 1e-12);
    for (size_t i = 0; i < 3; i++) weft_array_release(results[i]);
    weft_array_release(x);
}

static void differentiate_the_sample(void **state)
{
    (void)state;
    weft_plugin *plugin = load(sample_path);
    weft_executor *executor = executor_with(weft_plugin_extension(plugin));
    weft_program *program = compile_derivatives(weft_plugin_extension(plugin));
    double even[] = {5, 1, 3, 9}, odd[] = {7, 3, 1};
    check_derivatives(executor, program, 4, even);
    check_derivatives(executor, program, 3, odd);
    weft_program_release(program);
    weft_executor_destroy(executor);
    weft_plugin_destroy(plugin);
}

/* ---- errors ---- */

static void guard_what_the_sample_requires(void **state)
{
    (void)state;
    weft_plugin *plugin = load(sample_path);
    weft_executor *executor = executor_with(weft_plugin_extension(plugin));
    weft_program *program = compile_median_of_swish(weft_plugin_extension(plugin));
    double none;
    weft_array *empty = columns(3, 0, &none), *result = NULL;
    weft_run call = {.input_count = 1, .inputs = &empty, .output_count = 1, .outputs = &result};
    weft_test_fails(weft_executor_run(executor, program, &call), WEFT_SHAPE_MISMATCH, "the last axis has no elements");
    weft_test_fails(weft_executor_run(executor, program, &call), WEFT_SHAPE_MISMATCH, "sample.c:");
    weft_array_release(empty);
    weft_program_release(program);
    weft_executor_destroy(executor);
    weft_plugin_destroy(plugin);
}

static void errors_name_the_line_of_the_call(void **state)
{
    (void)state;
    weft_plugin *plugin = load(sample_path);
    weft_graph *graph;
    char place[32];
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_test_ok(weft_graph_register(graph, weft_plugin_extension(plugin)));
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE());
    snprintf(place, sizeof place, "sample.c:%d", __LINE__ + 1);
    assert_false(weft_tensor_is_valid(sample_median(x)));
    const weft_status *error = weft_graph_error(graph);
    assert_non_null(strstr(weft_status_where(error), place));
    assert_string_equal(weft_status_message(error),
                        "sample.median: the operand has rank 0, but the median is taken over its last axis");
    weft_graph_clear_error(graph);
    snprintf(place, sizeof place, "sample.c:%d", __LINE__ + 1);
    weft_tensor failed = weft_trace(graph, "sample.median", WEFT_TENSORS(x), NULL);
    assert_false(weft_tensor_is_valid(weft_mul(failed, 2)));
    error = weft_graph_error(graph);
    assert_non_null(strstr(weft_status_where(error), place));
    assert_string_equal(weft_status_message(error),
                        "sample.median: the operand has rank 0, but the median is taken over its last axis");
    weft_graph_destroy(graph);
    weft_plugin_destroy(plugin);
}

static weft_status *infer_same(const weft_infer_context *context, weft_type *out_types)
{
    out_types[0] = context->inputs[0];
    return NULL;
}

static weft_status *refuse(const weft_kernel_context *context)
{
    return weft_status_create(context->allocator, WEFT_DATA_ERROR, NULL, "t.refuse: no");
}

static void errors_of_kernels_end_with_the_line(void **state)
{
    (void)state;
    static const weft_op_def op = {.size = sizeof op,
                                   .name = "t.refuse",
                                   .version = 1,
                                   .input_count = 1,
                                   .output_count = 1,
                                   .op_class = WEFT_CLASS_OPAQUE,
                                   .infer = infer_same,
                                   .kernel = refuse};
    static const weft_op_def *const ops[] = {&op};
    static const weft_extension extension = {.size = sizeof extension,
                                             .abi_major = WEFT_ABI_MAJOR,
                                             .abi_minor = WEFT_ABI_MINOR,
                                             .family = "t",
                                             .version = "1",
                                             .op_count = 1,
                                             .ops = ops};
    weft_executor *executor = executor_with(&extension);
    weft_graph *graph;
    weft_program *program;
    weft_array *result = NULL;
    char place[48];
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_test_ok(weft_graph_register(graph, &extension));
    weft_tensor x = weft_scalar(graph, WEFT_F64, 1);
    snprintf(place, sizeof place, "sample.c:%d)", __LINE__ + 1);
    weft_tensor y = WEFT_LOCATED("t.refuse", weft_trace(graph, "t.refuse", WEFT_TENSORS(x), NULL));
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(y), NULL, &program));
    weft_status *status = weft_executor_run(executor, program, &(weft_run){.output_count = 1, .outputs = &result});
    assert_int_equal(weft_status_code(status), WEFT_DATA_ERROR);
    assert_string_equal(weft_status_where(status), "t.refuse");
    assert_non_null(strstr(weft_status_message(status), "t.refuse: no ("));
    assert_non_null(strstr(weft_status_message(status), place));
    weft_status_destroy(status);
    weft_program_release(program);
    weft_graph_destroy(graph);
    weft_executor_destroy(executor);
}

/* Two products, the sample's op and a negation: one kernel. */
static void fuse_the_sample(void **state)
{
    (void)state;
    if (!on_llvm) skip();
    weft_plugin *plugin = load(sample_path);
    weft_graph *graph;
    weft_program *program;
    weft_executor *executor;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_test_ok(weft_graph_register(graph, weft_plugin_extension(plugin)));
    weft_extent n = weft_symbol(graph, "n", 0, 1000), m = weft_symbol(graph, "m", 0, 1000);
    weft_tensor x = weft_input(graph, "x", WEFT_F64, WEFT_SHAPE(n, m));
    weft_tensor y = sample_swish(weft_mul(x, weft_mul(x, x)));
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(weft_neg(y)), NULL, &program));
    weft_test_ok(weft_executor_create(&(weft_executor_options){.threads = 1}, &executor));
    weft_test_ok(weft_executor_register_runtime(executor, weft_runtime_llvm()));
    double data[] = {-1, 0, 1, 2};
    weft_array *input = columns(1, 4, data), *result = NULL;
    weft_report report;
    weft_run call = {.input_count = 1, .inputs = &input, .output_count = 1, .outputs = &result, .report = &report};
    weft_test_ok(weft_executor_run(executor, program, &call));
    assert_int_equal(report.steps, 1);
    for (size_t i = 0; i < 4; i++) {
        double cube = data[i] * data[i] * data[i];
        assert_true(fabs(((double *)weft_array_data(result))[i] + swish(cube)) < 1e-12);
    }
    weft_array_release(result);
    weft_array_release(input);
    weft_executor_destroy(executor);
    weft_program_release(program);
    weft_graph_destroy(graph);
    weft_plugin_destroy(plugin);
}

static void load_einsum(void **state)
{
    (void)state;
    weft_plugin *plugin = load(einsum_path);
    const weft_extension *extension = weft_plugin_extension(plugin);
    weft_executor *executor = executor_with(extension);
    weft_graph *graph;
    weft_program *program;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_test_ok(weft_graph_register(graph, extension));
    weft_extent n = weft_symbol(graph, "n", 0, 1000);
    weft_tensor x = weft_input(graph, "x", WEFT_F64, WEFT_SHAPE(n, n));
    const weft_attr attrs[] = {{.data = "ij,jk,kl->il", .size = strlen("ij,jk,kl->il")},
                               {.data = "auto", .size = strlen("auto")},
                               {.ints = {0, NULL}},
                               {.ints = {0, NULL}},
                               {.data = ""}};
    weft_tensor y = weft_trace(graph, "einsum.einsum", WEFT_TENSORS(x, x, x), attrs);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(y), NULL, &program));
    double data[] = {1, 2, 3, 4};
    weft_array *input = columns(2, 2, data), *result = run(executor, program, 1, &input);
    const double *cube = weft_array_data(result);
    assert_true(cube[0] == 37 && cube[1] == 81 && cube[2] == 54 && cube[3] == 118);
    weft_array_release(result);
    weft_array_release(input);
    weft_program_release(program);
    weft_graph_destroy(graph);
    weft_executor_destroy(executor);
    weft_plugin_destroy(plugin);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(use_the_sample),
        cmocka_unit_test(differentiate_the_sample),
        cmocka_unit_test(guard_what_the_sample_requires),
        cmocka_unit_test(errors_name_the_line_of_the_call),
        cmocka_unit_test(errors_of_kernels_end_with_the_line),
        cmocka_unit_test(fuse_the_sample),
        cmocka_unit_test(load_einsum),
    };
    if (argc < 3) return 2;
    sample_path = argv[1];
    einsum_path = argv[2];
    on_llvm = argc > 3 && strcmp(argv[3], "llvm") == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
