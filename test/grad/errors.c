/* SPDX-License-Identifier: Apache-2.0 */
/* What the gradients of a graph refuse: the errors of gradients.json. */
#include <stdlib.h>
#include <string.h>
#include <weft/gradient.h>
#include <weft/weft.h>
#include "test/support.h"

static weft_graph *graph_create(void)
{
    weft_graph *graph = NULL;
    weft_test_ok(weft_graph_create(NULL, &graph));
    return graph;
}

static weft_tensor vector(weft_graph *graph, const char *name, weft_dtype dtype)
{
    return weft_input(graph, name, dtype, WEFT_SHAPE(3));
}

/* The tensor is none; the error of the graph, which is cleared, has this code, and its message all of these words. */
static void refused(weft_graph *graph, weft_tensor tensor, weft_code code, const char *const *words)
{
    const weft_status *error = weft_graph_error(graph);
    assert_false(weft_tensor_is_valid(tensor));
    assert_non_null(error);
    print_message("%s: %s\n", weft_code_name(weft_status_code(error)), weft_status_message(error));
    assert_int_equal(weft_status_code(error), code);
    for (; *words != NULL; words++)
        if (strstr(weft_status_message(error), *words) == NULL) fail_msg("the message does not say '%s'", *words);
    weft_graph_clear_error(graph);
    assert_true(weft_tensor_is_valid(weft_scalar(graph, WEFT_F64, 1)));
}
#define REFUSED(graph, tensor, code, ...) refused(graph, tensor, code, (const char *const[]){__VA_ARGS__, NULL})

/* vjp of one output by one input. */
static weft_tensor vjp(weft_tensor y, weft_tensor cotangent, weft_tensor x)
{
    weft_tensor result;
    return weft_vjp(WEFT_TENSORS(y), WEFT_TENSORS(cotangent), WEFT_TENSORS(x), &result);
}

static weft_tensor jvp(weft_tensor y, weft_tensor x, weft_tensor tangent)
{
    weft_tensor result;
    return weft_jvp(WEFT_TENSORS(y), WEFT_TENSORS(x), WEFT_TENSORS(tangent), &result);
}

/* ---- loops without a number of turns ---- */

static weft_tensor is_small(void *context, const weft_tensor *carried)
{
    (void)context;
    return weft_lt(weft_reduce_sum(carried[0], WEFT_INTS(0), false), 10.0);
}

static void double_it(void *context, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context;
    out_next[0] = weft_mul(carried[0], 2.0);
}

static void while_in_reverse(void **state)
{
    (void)state;
    weft_graph *graph = graph_create();
    weft_tensor x = vector(graph, "x", WEFT_F64), g = vector(graph, "g", WEFT_F64);
    weft_tensor y = weft_while(WEFT_TENSORS(x), is_small, double_it, NULL, NULL);
    REFUSED(graph, vjp(y, g, x), WEFT_UNSUPPORTED, "while", "fold", "stop_gradient", "errors.c:68)");
    assert_true(weft_tensor_is_valid(jvp(y, x, g)));
    assert_true(weft_tensor_is_valid(vjp(weft_mul(weft_stop_gradient(y), x), g, x)));
    weft_graph_destroy(graph);
}

/* ---- dtypes ---- */

static void inputs_without_gradients(void **state)
{
    (void)state;
    weft_graph *graph = graph_create();
    weft_tensor i = vector(graph, "i", WEFT_I64), p = vector(graph, "p", WEFT_BOOL), g = vector(graph, "g", WEFT_F64);
    REFUSED(graph, vjp(weft_cast(i, WEFT_F64), g, i), WEFT_DTYPE_MISMATCH, "vjp", "i64");
    REFUSED(graph, vjp(weft_cast(p, WEFT_F64), g, p), WEFT_DTYPE_MISMATCH, "vjp", "bool");
    REFUSED(graph, jvp(weft_cast(i, WEFT_F64), i, g), WEFT_DTYPE_MISMATCH, "jvp", "i64");
    weft_graph_destroy(graph);
}

static void outputs_without_cotangents(void **state)
{
    (void)state;
    weft_graph *graph = graph_create();
    weft_tensor x = vector(graph, "x", WEFT_F64), g = vector(graph, "g", WEFT_F64), i = vector(graph, "i", WEFT_I64);
    REFUSED(graph, vjp(weft_argsort(x, 0, false), i, x), WEFT_DTYPE_MISMATCH, "vjp", "i64");
    REFUSED(graph, vjp(weft_argsort(x, 0, false), g, x), WEFT_DTYPE_MISMATCH, "vjp", "i64");
    weft_graph_destroy(graph);
}

static void losses_that_are_no_number(void **state)
{
    (void)state;
    weft_graph *graph = graph_create();
    weft_tensor x = vector(graph, "x", WEFT_F64), z = vector(graph, "z", WEFT_C128), result;
    weft_tensor sum = weft_reduce_sum(z, WEFT_INTS(0), false), i = weft_argmax(x, 0, false);
    REFUSED(graph, weft_grad(weft_exp(x), WEFT_TENSORS(x), &result), WEFT_SHAPE_MISMATCH, "grad", "[3]");
    REFUSED(graph, weft_grad(sum, WEFT_TENSORS(z), &result), WEFT_DTYPE_MISMATCH, "grad", "c128");
    REFUSED(graph, weft_grad(i, WEFT_TENSORS(x), &result), WEFT_DTYPE_MISMATCH, "grad", "i64");
    weft_graph_destroy(graph);
}

/* ---- types of cotangents and tangents ---- */

static void cotangents_of_another_type(void **state)
{
    (void)state;
    weft_graph *graph = graph_create();
    weft_tensor x = vector(graph, "x", WEFT_F64), z = vector(graph, "z", WEFT_C128);
    weft_tensor two = weft_input(graph, "two", WEFT_F64, WEFT_SHAPE(2)), f32 = vector(graph, "f32", WEFT_F32);
    REFUSED(graph, vjp(weft_exp(x), two, x), WEFT_SHAPE_MISMATCH, "vjp", "2", "3");
    REFUSED(graph, vjp(weft_exp(x), f32, x), WEFT_DTYPE_MISMATCH, "vjp", "f32", "f64");
    REFUSED(graph, vjp(weft_exp(z), x, z), WEFT_DTYPE_MISMATCH, "vjp", "f64", "c128");
    REFUSED(graph, jvp(weft_exp(x), x, two), WEFT_SHAPE_MISMATCH, "jvp", "2", "3");
    REFUSED(graph, jvp(weft_exp(x), x, f32), WEFT_DTYPE_MISMATCH, "jvp", "f32", "f64");
    weft_graph_destroy(graph);
}

static weft_array *create_array(int64_t count)
{
    weft_array *array = NULL;
    weft_test_ok(weft_array_create(NULL, WEFT_F64, 1, &count, &array));
    memset(weft_array_data(array), 0, (size_t)count * sizeof(double));
    return array;
}

/* Runs a program of one output on the reference. */
static weft_status *run_on(weft_program *program, size_t count, weft_array *const *inputs)
{
    weft_executor *executor = NULL;
    weft_array *output = NULL;
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 1}, &executor));
    weft_status *status = weft_executor_run(
        executor, program,
        &(weft_run){.runtime = "ref", .input_count = count, .inputs = inputs, .output_count = 1, .outputs = &output});
    weft_array_release(output);
    weft_executor_destroy(executor);
    return status;
}

/* Extents that may be equal are compared in a run. */
static void cotangents_of_a_symbolic_shape(void **state)
{
    (void)state;
    weft_graph *graph = graph_create();
    weft_extent n = weft_symbol(graph, "n", 1, 8), m = weft_symbol(graph, "m", 1, 8);
    weft_tensor x = weft_input(graph, "x", WEFT_F64, WEFT_SHAPE(n)),
                g = weft_input(graph, "g", WEFT_F64, WEFT_SHAPE(m));
    weft_program *program = NULL;
    weft_array *const arrays[] = {create_array(3), create_array(2)};
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(vjp(weft_exp(x), g, x)), NULL, &program));
    weft_test_fails(run_on(program, 2, arrays), WEFT_SHAPE_MISMATCH, "must equal");
    weft_test_ok(run_on(program, 2, (weft_array *const[]){arrays[0], arrays[0]}));
    weft_array_release(arrays[0]);
    weft_array_release(arrays[1]);
    weft_program_release(program);
    weft_graph_destroy(graph);
}

/* ---- what is differentiated by ---- */

static void tensors_of_another_graph(void **state)
{
    (void)state;
    weft_graph *graph = graph_create(), *other = graph_create();
    weft_tensor x = vector(graph, "x", WEFT_F64), y = weft_exp(x), g = vector(graph, "g", WEFT_F64);
    weft_tensor abroad = vector(other, "x", WEFT_F64);
    REFUSED(graph, vjp(y, g, abroad), WEFT_INVALID_ARGUMENT, "vjp", "graph");
    REFUSED(graph, vjp(y, abroad, x), WEFT_INVALID_ARGUMENT, "vjp", "graph");
    REFUSED(graph, jvp(y, x, abroad), WEFT_INVALID_ARGUMENT, "jvp", "graph");
    weft_tensor sum = weft_reduce_sum(y, WEFT_INTS(0), false), apart = weft_reduce_sum(abroad, WEFT_INTS(0), false);
    REFUSED(graph, weft_grad(WEFT_NO_TENSOR, WEFT_TENSORS(x), NULL), WEFT_INVALID_ARGUMENT, "grad",
            "the loss is missing");
    REFUSED(graph, weft_grad(sum, WEFT_TENSORS(abroad), NULL), WEFT_INVALID_ARGUMENT, "wrt 0 belongs to another graph");
    REFUSED(other, weft_grad(apart, WEFT_TENSORS(WEFT_NO_TENSOR), NULL), WEFT_INVALID_ARGUMENT, "wrt 0 is missing");
    REFUSED(graph, weft_vjp(WEFT_TENSORS(y), WEFT_TENSORS(g, g), WEFT_TENSORS(x), NULL), WEFT_INVALID_ARGUMENT,
            "there are 2 cotangents for 1 output");
    REFUSED(graph, weft_jvp(WEFT_TENSORS(y), WEFT_TENSORS(x, g), WEFT_TENSORS(g), NULL), WEFT_INVALID_ARGUMENT,
            "there is 1 tangent for 2 wrt");
    weft_graph_destroy(graph);
    weft_graph_destroy(other);
}

static void dtypes_without_a_jacobian(void **state)
{
    (void)state;
    weft_graph *graph = graph_create();
    weft_tensor x = vector(graph, "x", WEFT_F64), i = vector(graph, "i", WEFT_I64), z = vector(graph, "z", WEFT_C128);
    REFUSED(graph, weft_jacobian(i, x), WEFT_DTYPE_MISMATCH, "jacobian: the output has dtype i64 but must be a float");
    REFUSED(graph, weft_jacobian(x, i), WEFT_DTYPE_MISMATCH, "jacobian: wrt has dtype i64 but must be a float");
    REFUSED(graph, weft_jacobian(z, z), WEFT_DTYPE_MISMATCH, "jacobian: the output has dtype c128 but must be a float");
    REFUSED(graph, weft_jacobian(weft_cast(x, WEFT_F32), x), WEFT_DTYPE_MISMATCH, "jacobian", "f32", "f64");
    weft_graph_destroy(graph);
}

/* No error: a gradient of zeros. */
static void inputs_that_do_not_matter(void **state)
{
    (void)state;
    weft_graph *graph = graph_create();
    weft_tensor x = vector(graph, "x", WEFT_F64), g = vector(graph, "g", WEFT_F64);
    weft_tensor unused = weft_input(graph, "unused", WEFT_F32, WEFT_SHAPE(2, 4));
    weft_tensor result = vjp(weft_exp(x), g, unused);
    assert_true(weft_tensor_is_valid(result));
    assert_int_equal(weft_tensor_dtype(result), WEFT_F32);
    assert_true(weft_extent_equal(weft_tensor_extent(result, 1), weft_extent_of(4)));
    weft_graph_destroy(graph);
}

static void keep_inside(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    weft_tensor *inside = context;
    (void)index;
    *inside = weft_mul(carried[0], 2.0);
    out_next[0] = *inside;
}

static void tensors_inside_of_a_region(void **state)
{
    (void)state;
    weft_graph *graph = graph_create();
    weft_tensor x = vector(graph, "x", WEFT_F64), g = vector(graph, "g", WEFT_F64), inside;
    weft_tensor y = weft_fold(weft_extent_of(3), WEFT_TENSORS(x), keep_inside, &inside, NULL);
    REFUSED(graph, vjp(y, g, inside), WEFT_INVALID_ARGUMENT, "vjp", "wrt 0", "region");
    weft_graph_destroy(graph);
}

/* ---- ops of extensions ---- */

static weft_status *infer_same(const weft_infer_context *context, weft_type *out_types)
{
    out_types[0] = context->inputs[0];
    return NULL;
}

static weft_status *copy_in(const weft_kernel_context *context)
{
    (void)context;
    return NULL;
}

static weft_status *lower_to_exp(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs, weft_tensors inputs,
                                 weft_tensor *out_tensors)
{
    (void)graph, (void)op, (void)attrs;
    out_tensors[0] = weft_exp(inputs.items[0]);
    return NULL;
}

static weft_status *give_a_scalar(const weft_gradient_context *context, weft_tensor *out_values)
{
    out_values[0] = weft_scalar(context->graph, WEFT_F64, 1);
    return NULL;
}

static weft_status *give_f32(const weft_gradient_context *context, weft_tensor *out_values)
{
    out_values[0] = weft_cast(context->given.items[0], WEFT_F32);
    return NULL;
}

static weft_status *refuse(const weft_gradient_context *context, weft_tensor *out_values)
{
    (void)context, (void)out_values;
    return weft_status_create(NULL, WEFT_UNSUPPORTED, "odd.refuses", "odd.refuses: not on a Saturday");
}

#define ODD_OP(op_name, ...)                                                                                           \
    &(const weft_op_def)                                                                                               \
    {                                                                                                                  \
        .size = sizeof(weft_op_def), .name = op_name, .version = 1, .input_count = 1, .output_count = 1,               \
        .op_class = WEFT_CLASS_OPAQUE, .infer = infer_same, __VA_ARGS__                                                \
    }

/* Tables of version 0.1 end before they have derivatives: what lies there means nothing. */
#define OLD_OP(op_name, ...)                                                                                           \
    &(const weft_op_def)                                                                                               \
    {                                                                                                                  \
        .size = offsetof(weft_op_def, lower_for), .name = op_name, .version = 1, .input_count = 1, .output_count = 1,  \
        .op_class = WEFT_CLASS_OPAQUE, .infer = infer_same, .vjp = give_a_scalar, .jvp = give_a_scalar, __VA_ARGS__    \
    }

static const weft_op_def *const odd_ops[] = {
    OLD_OP("odd.old_opaque", .kernel = copy_in),
    OLD_OP("odd.old_lowered", .lower = lower_to_exp),
    ODD_OP("odd.opaque", .kernel = copy_in),
    ODD_OP("odd.lowered", .lower = lower_to_exp),
    ODD_OP("odd.scalar", .kernel = copy_in, .vjp = give_a_scalar, .jvp = give_a_scalar),
    ODD_OP("odd.narrow", .kernel = copy_in, .vjp = give_f32, .jvp = give_f32),
    ODD_OP("odd.refuses", .kernel = copy_in, .vjp = refuse, .jvp = refuse),
};

static const weft_extension odd = {
    .size = sizeof odd,
    .abi_major = WEFT_ABI_MAJOR,
    .abi_minor = WEFT_ABI_MINOR,
    .family = "odd",
    .version = "1",
    .op_count = sizeof odd_ops / sizeof *odd_ops,
    .ops = odd_ops,
};

static weft_tensor call(const char *op, weft_tensor x)
{
    return weft_trace(x.graph, op, WEFT_TENSORS(x), NULL);
}

static void ops_without_a_rule(void **state)
{
    (void)state;
    weft_graph *graph = graph_create();
    weft_test_ok(weft_graph_register(graph, &odd));
    weft_tensor x = vector(graph, "x", WEFT_F64), g = vector(graph, "g", WEFT_F64), y = call("odd.opaque", x);
    REFUSED(graph, vjp(y, g, x), WEFT_UNSUPPORTED, "odd.opaque", "reverse mode");
    REFUSED(graph, jvp(y, x, g), WEFT_UNSUPPORTED, "odd.opaque", "forward mode");
    assert_true(weft_tensor_is_valid(vjp(call("odd.lowered", x), g, x)));
    assert_true(weft_tensor_is_valid(jvp(call("odd.lowered", x), x, g)));
    /* off the path, or stopped */
    assert_true(weft_tensor_is_valid(vjp(weft_mul(call("odd.opaque", g), x), g, x)));
    assert_true(weft_tensor_is_valid(vjp(weft_mul(weft_stop_gradient(y), x), g, x)));
    assert_true(weft_tensor_is_valid(jvp(weft_mul(weft_stop_gradient(y), x), x, g)));
    weft_graph_destroy(graph);
}

static void ops_of_older_tables(void **state)
{
    (void)state;
    weft_graph *graph = graph_create();
    weft_test_ok(weft_graph_register(graph, &odd));
    weft_tensor x = vector(graph, "x", WEFT_F64), g = vector(graph, "g", WEFT_F64), y = call("odd.old_opaque", x);
    REFUSED(graph, vjp(y, g, x), WEFT_UNSUPPORTED, "odd.old_opaque", "reverse mode");
    REFUSED(graph, jvp(y, x, g), WEFT_UNSUPPORTED, "odd.old_opaque", "forward mode");
    assert_true(weft_tensor_is_valid(vjp(call("odd.old_lowered", x), g, x)));
    assert_true(weft_tensor_is_valid(jvp(call("odd.old_lowered", x), x, g)));
    weft_graph_destroy(graph);
}

static void rules_that_give_another_type(void **state)
{
    (void)state;
    weft_graph *graph = graph_create();
    weft_test_ok(weft_graph_register(graph, &odd));
    weft_tensor x = vector(graph, "x", WEFT_F64), g = vector(graph, "g", WEFT_F64);
    REFUSED(graph, vjp(call("odd.scalar", x), g, x), WEFT_INVALID_ARGUMENT, "odd.scalar", "vjp", "f64[]", "f64[3]");
    REFUSED(graph, jvp(call("odd.scalar", x), x, g), WEFT_INVALID_ARGUMENT, "odd.scalar", "jvp", "f64[]", "f64[3]");
    REFUSED(graph, vjp(call("odd.narrow", x), g, x), WEFT_INVALID_ARGUMENT, "odd.narrow", "f32[3]", "f64[3]");
    REFUSED(graph, vjp(call("odd.refuses", x), g, x), WEFT_UNSUPPORTED, "odd.refuses", "Saturday");
    REFUSED(graph, jvp(call("odd.refuses", x), x, g), WEFT_UNSUPPORTED, "odd.refuses", "Saturday");
    weft_graph_destroy(graph);
}

/* ---- memory ---- */

/* The error of the graph, which is usable without it; takes the graph. */
static weft_status *finish(weft_graph *graph)
{
    weft_status *status = weft_status_clone(NULL, weft_graph_error(graph));
    weft_graph_clear_error(graph);
    weft_scalar(graph, WEFT_F64, 1);
    weft_graph_destroy(graph);
    return status;
}

static weft_status *trace_gradients(const weft_allocator *allocator, void *context)
{
    (void)context;
    weft_graph *graph;
    WEFT_TRY(weft_graph_create(&(weft_graph_options){.allocator = allocator}, &graph));
    weft_tensor x = weft_input(graph, "x", WEFT_F64, WEFT_SHAPE(4, 3)), w = vector(graph, "w", WEFT_F64), result[2];
    weft_tensor y = weft_softmax(weft_tanh(weft_matmul(x, weft_outer(w, w))), 1), size = weft_pow(weft_abs(x), w);
    weft_tensor loss = weft_reduce_sum(weft_div(y, weft_add(size, 2.0)), WEFT_INTS(0, 1), false);
    weft_grad(loss, WEFT_TENSORS(x, w), result);
    weft_hvp(loss, WEFT_TENSORS(w), WEFT_TENSORS(result[1]), &result[1]);
    return finish(graph);
}

static weft_status *trace_complex_gradients(const weft_allocator *allocator, void *context)
{
    (void)context;
    weft_graph *graph;
    WEFT_TRY(weft_graph_create(&(weft_graph_options){.allocator = allocator}, &graph));
    weft_tensor z = vector(graph, "z", WEFT_C128), x = vector(graph, "x", WEFT_F64), result[2];
    weft_tensor y = weft_add(weft_exp(weft_mul(z, z)), weft_sqrt(weft_complex(x, weft_sin(x))));
    weft_tensor loss = weft_reduce_sum(weft_add(weft_abs(y), weft_angle(z)), WEFT_INTS(0), false);
    weft_grad(loss, WEFT_TENSORS(z, x), result);
    return finish(graph);
}

static void step(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const weft_tensor *w = context;
    (void)index;
    out_next[0] = weft_tanh(weft_mul(carried[0], *w));
}

static void take_sine(void *context, weft_tensor *out_results)
{
    out_results[0] = weft_sin(*(const weft_tensor *)context);
}

static void take_square(void *context, weft_tensor *out_results)
{
    const weft_tensor *w = context;
    out_results[0] = weft_mul(*w, *w);
}

static weft_status *trace_gradients_of_regions(const weft_allocator *allocator, void *context)
{
    (void)context;
    weft_graph *graph;
    WEFT_TRY(weft_graph_create(&(weft_graph_options){.allocator = allocator}, &graph));
    weft_tensor x = vector(graph, "x", WEFT_F64), w = vector(graph, "w", WEFT_F64), result[4];
    weft_tensor y = weft_fold(weft_symbol(graph, "n", 0, 9), WEFT_TENSORS(x), step, &w, NULL);
    weft_tensor positive = weft_gt(weft_reduce_sum(w, WEFT_INTS(0), false), 0.0);
    weft_tensor z = weft_cond(positive, 1, take_sine, take_square, &w, NULL);
    weft_vjp(WEFT_TENSORS(y, z), WEFT_TENSORS(x, w), WEFT_TENSORS(x, w), result);
    weft_jvp(WEFT_TENSORS(y, z), WEFT_TENSORS(x, w), WEFT_TENSORS(w, x), result + 2);
    return finish(graph);
}

static weft_status *trace_gradients_with_snapshots(const weft_allocator *allocator, void *context)
{
    (void)context;
    weft_graph *graph;
    WEFT_TRY(weft_graph_create(&(weft_graph_options){.allocator = allocator}, &graph));
    weft_tensor x = vector(graph, "x", WEFT_F64), w = vector(graph, "w", WEFT_F64), result[2];
    weft_tensor y = weft_fold_with_snapshots(weft_symbol(graph, "n", 0, 9), 2, WEFT_TENSORS(x), step, &w, NULL);
    weft_vjp(WEFT_TENSORS(y), WEFT_TENSORS(x), WEFT_TENSORS(x, w), result);
    weft_jvp(WEFT_TENSORS(y), WEFT_TENSORS(x, w), WEFT_TENSORS(w, x), result);
    return finish(graph);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(weft_test_fail_each(trace_gradients, NULL) > 100);
    assert_true(weft_test_fail_each(trace_complex_gradients, NULL) > 100);
    assert_true(weft_test_fail_each(trace_gradients_of_regions, NULL) > 100);
    assert_true(weft_test_fail_each(trace_gradients_with_snapshots, NULL) > 100);
}

/* An index that is out of range is reported by the gather of the forward part. */
static void indices_out_of_range(void **state)
{
    (void)state;
    weft_graph *graph = graph_create();
    weft_tensor x = vector(graph, "x", WEFT_F64), i = weft_constant(graph, WEFT_I64, WEFT_INTS(2), (int64_t[]){0, 7});
    weft_tensor loss = weft_reduce_sum(weft_exp(weft_gather(x, i, 0)), WEFT_INTS(0), false), result;
    weft_program *program = NULL;
    weft_array *array = create_array(3);
    weft_grad(loss, WEFT_TENSORS(x), &result);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(result), NULL, &program));
    weft_test_fails(run_on(program, 1, &array), WEFT_DATA_ERROR, "gather");
    weft_array_release(array);
    weft_program_release(program);
    weft_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(while_in_reverse),
        cmocka_unit_test(inputs_without_gradients),
        cmocka_unit_test(outputs_without_cotangents),
        cmocka_unit_test(losses_that_are_no_number),
        cmocka_unit_test(cotangents_of_another_type),
        cmocka_unit_test(cotangents_of_a_symbolic_shape),
        cmocka_unit_test(tensors_of_another_graph),
        cmocka_unit_test(dtypes_without_a_jacobian),
        cmocka_unit_test(inputs_that_do_not_matter),
        cmocka_unit_test(tensors_inside_of_a_region),
        cmocka_unit_test(ops_without_a_rule),
        cmocka_unit_test(ops_of_older_tables),
        cmocka_unit_test(rules_that_give_another_type),
        cmocka_unit_test(indices_out_of_range),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
