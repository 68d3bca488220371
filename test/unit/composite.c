/* SPDX-License-Identifier: Apache-2.0 */
/* Composites: known results on every runtime, and sentences of errors. */
#include <weft/weft.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "test/support.h"
#include "test/traced.h"

#define N(value) weft_extent_of(value)

typedef struct fixture {
    weft_graph *graph, *other;
    weft_executor *executor;
    weft_extent n;       /* [1, 1000] */
    weft_tensor x, y, v; /* f32[n, 4], f32[3, 4], f32[3] */
    weft_tensor i, d;    /* i64[3], f64[3, 4] */
    weft_tensor foreign; /* f32[3, 4] of the other graph */
} fixture;

static fixture f;
/* The arguments of the program. */
static size_t runtime_count;
static char **runtimes;

static int set_up(void **state)
{
    (void)state;
    weft_test_ok(weft_graph_create(NULL, &f.graph));
    weft_test_ok(weft_graph_create(NULL, &f.other));
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 1}, &f.executor));
    f.n = weft_symbol(f.graph, "n", 1, 1000);
    f.x = weft_input(f.graph, "x", WEFT_F32, WEFT_SHAPE(f.n, 4));
    f.y = weft_input(f.graph, "y", WEFT_F32, WEFT_SHAPE(3, 4));
    f.v = weft_input(f.graph, "v", WEFT_F32, WEFT_SHAPE(3));
    f.i = weft_input(f.graph, "i", WEFT_I64, WEFT_SHAPE(3));
    f.d = weft_input(f.graph, "d", WEFT_F64, WEFT_SHAPE(3, 4));
    f.foreign = weft_input(f.other, "y", WEFT_F32, WEFT_SHAPE(3, 4));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    weft_executor_destroy(f.executor);
    weft_graph_destroy(f.graph);
    weft_graph_destroy(f.other);
    return 0;
}

/* ---- known results ---- */

/* A constant; `values` are converted to the dtype. */
static weft_tensor constant(weft_dtype dtype, weft_ints shape, const double *values)
{
    weft_tensor wide = weft_constant(f.graph, WEFT_F64, shape, values);
    return weft_cast(wide, dtype);
}

#define VALUES(...) ((const double[]){__VA_ARGS__})
#define F32(shape, ...) constant(WEFT_F32, WEFT_INTS shape, VALUES(__VA_ARGS__))
#define I64(shape, ...) constant(WEFT_I64, WEFT_INTS shape, VALUES(__VA_ARGS__))

static void check_run(const char *runtime, weft_program *program, weft_ints shape, const double *wanted, double within)
{
    weft_array *output = NULL;
    const weft_run run = {.runtime = runtime, .output_count = 1, .outputs = &output};
    weft_test_ok(weft_executor_run(f.executor, program, &run));
    assert_int_equal(weft_array_rank(output), shape.count);
    for (size_t i = 0; i < shape.count; i++) assert_int_equal(weft_array_shape(output)[i], shape.items[i]);
    const double *elements = weft_array_data(output);
    for (int64_t i = 0; i < weft_array_count(output); i++) {
        bool same = elements[i] == wanted[i] || (isnan(elements[i]) && isnan(wanted[i]));
        if (same || fabs(elements[i] - wanted[i]) <= within) continue;
        fail_msg("%s: element %lld is %.17g, not %.17g", runtime, (long long)i, elements[i], wanted[i]);
    }
    weft_array_release(output);
}

/* That `tensor` has that shape and those elements on all runtimes. */
static void expect(weft_tensor tensor, weft_ints shape, const double *wanted, double within)
{
    weft_program *program = NULL;
    weft_test_ok(weft_compile(f.graph, WEFT_TENSORS(weft_cast(tensor, WEFT_F64)), NULL, &program));
    for (size_t i = 0; i < runtime_count; i++) check_run(runtimes[i], program, shape, wanted, within);
    weft_program_release(program);
}
#define EXPECT(tensor, shape, ...) expect(tensor, WEFT_INTS shape, VALUES(__VA_ARGS__), 0)
#define EXPECT_NEAR(tensor, shape, within, ...) expect(tensor, WEFT_INTS shape, VALUES(__VA_ARGS__), within)

static void polynomials_broadcast(void **state)
{
    (void)state;
    weft_tensor x = F32((3), 3, 1, 4), five = weft_scalar(f.graph, WEFT_F32, 5),
                four = weft_scalar(f.graph, WEFT_F32, 4);
    EXPECT(weft_add(weft_add(weft_mul(x, x), weft_mul(five, x)), four), (3), 28, 10, 40);
    weft_tensor range = weft_reshape(weft_arange(f.graph, WEFT_F32, 0, 1, N(24)), WEFT_SHAPE(4, 2, 3));
    weft_tensor sums = weft_add(range, F32((2, 1), 100, 200));
    EXPECT(weft_narrow(sums, 0, N(0), N(1)), (1, 2, 3), 100, 101, 102, 203, 204, 205);
}

static void matrices_multiply(void **state)
{
    (void)state;
    weft_tensor a = F32((2, 2), 1, 2, 3, 4);
    EXPECT(weft_matmul(a, a), (2, 2), 7, 10, 15, 22);
    weft_tensor none =
        weft_matmul(weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(2, 0)), weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(0, 3)));
    EXPECT(none, (2, 3), 0, 0, 0, 0, 0, 0);
    EXPECT(weft_trace_matrix(a, 0, 0, 1), (), 5);
    EXPECT(weft_kron(a, F32((2), 1, 10)), (2, 4), 1, 10, 2, 20, 3, 30, 4, 40);
}

static void sums_of_powers_are_stable(void **state)
{
    (void)state;
    weft_tensor x = F32((3), -1000, -999, -1001), far = F32((2), 1000, 1e30);
    EXPECT_NEAR(weft_logsumexp(x, WEFT_INTS(0), false), (), 1e-4, -998.5924);
    EXPECT(weft_softmax(far, 0), (2), 0, 1);
    weft_tensor none = F32((2, 2), -INFINITY, -INFINITY, 0, INFINITY);
    EXPECT(weft_logsumexp(none, WEFT_INTS(1), false), (2), -INFINITY, INFINITY);
    EXPECT(weft_softmax(none, 1), (2, 2), NAN, NAN, NAN, NAN);
    EXPECT(weft_log_softmax(F32((2), -INFINITY, 0), 0), (2), -INFINITY, 0);
}

static void moments_are_known(void **state)
{
    (void)state;
    weft_tensor x = F32((4), .2035, 1.2959, 1.8101, -.4644);
    EXPECT_NEAR(weft_variance(x, WEFT_INTS(0), 1, false), (), 5e-5, 1.0631);
    EXPECT(weft_mean(weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(0)), WEFT_INTS(0), false), (), NAN);
    /* The sum of these is beyond f16. */
    weft_tensor large = weft_full(f.graph, WEFT_F16, 60000, WEFT_SHAPE(4));
    EXPECT(weft_mean(large, WEFT_INTS(0), false), (), 60000);
    EXPECT(weft_norm(F32((2), 3, -4), WEFT_INTS(0), 2, false), (), 5);
}

static void windows_are_known(void **state)
{
    (void)state;
    weft_tensor x = F32((1, 1, 5), 1, 2, 3, 4, 5), w = weft_ones(f.graph, WEFT_F32, WEFT_SHAPE(1, 1, 3));
    EXPECT(weft_conv(x, w, NULL), (1, 1, 3), 6, 9, 12);
    EXPECT(weft_conv(x, w, &(weft_conv_options){.bias = F32((1), 10)}), (1, 1, 3), 16, 19, 22);
    weft_ints three = WEFT_INTS(3);
    EXPECT(weft_unfold(x, three, NULL), (1, 3, 3), 1, 2, 3, 2, 3, 4, 3, 4, 5);
    EXPECT(weft_unfold(x, three, &(weft_conv_options){.dilation = WEFT_INTS(2)}), (1, 3, 1), 1, 3, 5);
    weft_conv_options padded = {.dilation = WEFT_INTS(2), .low = WEFT_INTS(1), .high = WEFT_INTS(1)};
    EXPECT(weft_unfold(x, three, &padded), (1, 3, 3), 0, 1, 2, 2, 3, 4, 4, 5, 0);
    EXPECT(weft_max_pool(x, &(weft_pool_options){.size = WEFT_INTS(2)}), (1, 1, 2), 2, 4);
    weft_pool_options ceiling = {.size = WEFT_INTS(2), .ceil_mode = true};
    EXPECT(weft_average_pool(x, &ceiling), (1, 1, 3), 1.5, 3.5, 5);
    /* The window that ceil_mode adds begins at 6, in the padding; the one at 4 is there without it. */
    weft_pool_options wide = {.size = WEFT_INTS(1), .stride = WEFT_INTS(2), .high = WEFT_INTS(3), .ceil_mode = true};
    EXPECT(weft_max_pool(F32((1, 1, 3), 1, 2, 3), &wide), (1, 1, 3), 1, 3, -INFINITY);
    EXPECT(weft_resize(F32((2), 0, 3), WEFT_SHAPE(4), &(weft_resize_options){.coordinates = 1, .mode = 1}), (4), 0, 1,
           2, 3);
}

static void triangles_are_known(void **state)
{
    (void)state;
    EXPECT(weft_tril(weft_ones(f.graph, WEFT_I64, WEFT_SHAPE(3, 3)), 1), (3, 3), 1, 1, 0, 1, 1, 1, 1, 1, 1);
    EXPECT(weft_triu(weft_ones(f.graph, WEFT_I64, WEFT_SHAPE(3, 3)), -1), (3, 3), 1, 1, 1, 1, 1, 1, 0, 1, 1);
    EXPECT(weft_diag(F32((2), 5, 6), -1), (3, 3), 0, 0, 0, 5, 0, 0, 0, 6, 0);
}

static void queries_that_see_nothing_give_zeros(void **state)
{
    (void)state;
    weft_tensor q = F32((2, 1), 1, 2), k = F32((2, 1), 3, 4), v = F32((2, 1), 5, 7);
    weft_tensor mask = weft_cast(F32((2, 2), 1, 0, 0, 0), WEFT_BOOL);
    EXPECT(weft_attention(q, k, v, &(weft_attention_options){.mask = mask}), (2, 1), 5, 0);
}

static void weights_that_would_be_denormal_are_zero(void **state)
{
    (void)state;
    weft_tensor q = F32((1, 1), 1), k = F32((3, 1), 0, -80.5F, -200), v = F32((3, 1), 2, 1e38F, 1e38F);
    EXPECT(weft_attention(q, k, v, NULL), (1, 1), 2);
}

#define F16(shape, ...) constant(WEFT_F16, WEFT_INTS shape, VALUES(__VA_ARGS__))

static void ends_are_exact(void **state)
{
    (void)state;
    EXPECT(weft_lerp(F32((3), 1e8, 1e8, -3), F32((3), 1, 1, 5), F32((3), 0, 1, .25)), (3), 1e8, 1, -1);
    weft_tensor parts[2];
    size_t count;
    weft_tensor row = weft_full(f.graph, WEFT_U8, 7, WEFT_SHAPE(INT64_MAX));
    assert_true(weft_tensor_is_valid(weft_chunk(row, 0, 2, parts, &count)));
    assert_int_equal(count, 2);
    assert_true(weft_tensor_is_valid(weft_chunk(F32((2), 1, 2), 0, SIZE_MAX, parts, &count)));
    assert_int_equal(count, 2);
    EXPECT(parts[1], (1), 2);
    EXPECT(weft_linspace(f.graph, WEFT_F64, -0x1.8p1023, 0x1.8p1023, N(3)), (3), -0x1.8p1023, 0, 0x1.8p1023);
    EXPECT(weft_lerp(I64((1), 2), I64((1), 5), I64((1), 3)), (1), 11);
    EXPECT(weft_is_close(F32((3), INFINITY, INFINITY, 1), F32((3), 1, INFINITY, 2), 0, INFINITY), (3), 0, 1, 1);
    EXPECT(weft_celu(F32((3), 0, 1, -1), 1e-40), (3), 0, 1, (double)-1e-40F);
    weft_tensor ones = weft_ones(f.graph, WEFT_F32, WEFT_SHAPE(3, 4));
    EXPECT(weft_diagonal(ones, INT64_MAX, 0, 1), (0), 0);
    EXPECT(weft_diagonal(ones, INT64_MIN, 0, 1), (0), 0);
    assert_true(weft_tensor_is_valid(weft_diagonal(f.x, -INT64_MAX, 0, 1)));
    EXPECT(weft_embedding(F32((2), 5, 6), I64((3), -100, 1, -1), -100), (3), 0, 6, 6);
}

/* Where a coordinate is whole, or half way between two elements, rounding may not take it below. */
static void resizing_meets_whole_coordinates(void **state)
{
    (void)state;
    const double scale = 49;
    weft_resize_options plain = {.coordinates = WEFT_RESIZE_ASYMMETRIC}, scaled = plain;
    scaled.scales = &scale;
    const weft_index_items middle = WEFT_ITEMS(WEFT_RANGE(48, 50));
    EXPECT(weft_index(weft_resize(F32((2), 0, 1), WEFT_SHAPE(98), &plain), middle), (2), 0, 1);
    EXPECT(weft_index(weft_resize(F32((2), 0, 1), WEFT_SHAPE(98), &scaled), middle), (2), 0, 1);
}

/* pi^2 / 6 and so on; below zero by polygamma(n, x + 1) = polygamma(n, x) + (-1)^n n! / x^(n+1). */
static void polygammas_have_known_values(void **state)
{
    (void)state;
    weft_tensor x = weft_constant(f.graph, WEFT_F64, WEFT_INTS(4), (double[]){1, 0.5, -0.5, 1e200});
    EXPECT_NEAR(weft_polygamma(0, x), (4), 1e-12, -0.57721566490153286, -1.9635100260214235, 0.036489973978576520,
                460.51701859880914);
    EXPECT_NEAR(weft_polygamma(1, x), (4), 1e-14, 1.6449340668482264, 4.9348022005446793, 8.9348022005446793, 0);
    EXPECT_NEAR(weft_polygamma(2, x), (4), 1e-14, -2.4041138063191886, -16.828796644234320, -0.82879664423432000, 0);
    EXPECT_NEAR(weft_polygamma(3, x), (4), 1e-13, 6.4939394022668291, 97.409091034002437, 193.40909103400244, 0);
    weft_tensor poles = F32((4), 0, -0.0, -1, INFINITY);
    EXPECT(weft_polygamma(1, poles), (4), INFINITY, INFINITY, NAN, 0);
    EXPECT(weft_polygamma(2, poles), (4), -INFINITY, INFINITY, NAN, -0.0);
    EXPECT(weft_polygamma(1, F16((3), -INFINITY, NAN, 2)), (3), NAN, NAN, 0.64501953125);
}

static void depthwise_convolution_adds_in_f32(void **state)
{
    (void)state;
    EXPECT(weft_conv(F16((1, 1, 2), 300, 300), F16((1, 1, 2), 300, -300), NULL), (1, 1, 1), 0);
    /* 2145 is no f16. */
    EXPECT(weft_conv(F16((1, 1, 2), 33, -1), F16((1, 1, 2), 65, 2144), NULL), (1, 1, 1), 1);
}

/* ---- errors ---- */

static void expect_error(weft_tensor tensor, weft_code code, const char *message)
{
    weft_test_refused(f.graph, tensor, code, "composite.c:", message);
}

static void filling_refuses(void **state)
{
    (void)state;
    expect_error(weft_arange(f.graph, WEFT_BOOL, 0, 1, N(2)), WEFT_DTYPE_MISMATCH,
                 "arange: dtype bool is not a dtype of real numbers");
    expect_error(weft_arange(f.graph, WEFT_I64, 0, .5, N(2)), WEFT_INVALID_ARGUMENT,
                 "arange: start 0 and step 0.5 must be integers of 64 bits for dtype i64");
    expect_error(weft_linspace(f.graph, WEFT_I64, 0, 1, N(2)), WEFT_DTYPE_MISMATCH,
                 "linspace: dtype i64 is not a float");
    expect_error(weft_one_hot(f.v, N(3), WEFT_F32), WEFT_DTYPE_MISMATCH,
                 "one_hot: the operand has dtype f32 but must be an integer");
    expect_error(weft_tril(f.v, 0), WEFT_SHAPE_MISMATCH, "tril: the operand has rank 1 but needs at least 2");
    expect_error(weft_diag(weft_scalar(f.graph, WEFT_F32, 1), 0), WEFT_SHAPE_MISMATCH,
                 "diag: the operand has rank 0, not 1 or 2");
    expect_error(weft_diagonal(f.y, 0, 1, -1), WEFT_INVALID_ARGUMENT, "diagonal: rows and columns are both axis 1");
}

static void shapes_refuse(void **state)
{
    (void)state;
    weft_tensor parts[4];
    size_t count;
    expect_error(weft_moveaxis(f.y, WEFT_INTS(0, 1), WEFT_INTS(0)), WEFT_INVALID_ARGUMENT,
                 "moveaxis: from has length 2 but to has 1");
    expect_error(weft_moveaxis(f.y, WEFT_INTS(0, -2), WEFT_INTS(0, 1)), WEFT_INVALID_ARGUMENT,
                 "moveaxis: from names axis 0 twice");
    expect_error(weft_flatten(f.y, 1, 0), WEFT_INVALID_ARGUMENT, "flatten: the first axis, 1, comes after the last, 0");
    expect_error(weft_flatten(weft_reduce_sum(f.y, WEFT_INTS(0, 1), false), 1, 0), WEFT_OUT_OF_RANGE,
                 "flatten: axis 1 is out of range for rank 1");
    expect_error(weft_stack(WEFT_TENSORS(f.y, f.foreign), 0), WEFT_INVALID_ARGUMENT,
                 "stack: operand 1 belongs to another graph");
    expect_error(weft_split(f.y, 1, 3, parts), WEFT_SHAPE_MISMATCH, "split: axis 1 has extent 4, not a multiple of 3");
    expect_error(weft_split(f.y, 1, 0, parts), WEFT_INVALID_ARGUMENT, "split: there are no parts");
    expect_error(weft_split_at(f.y, 0, WEFT_SHAPE(1, 1), parts), WEFT_SHAPE_MISMATCH,
                 "split_at: the sizes add up to 2 but axis 0 has extent 3");
    expect_error(weft_chunk(f.x, 0, 2, parts, &count), WEFT_UNSUPPORTED,
                 "chunk: axis 0 has extent n but needs a static one");
    expect_error(weft_roll(f.y, WEFT_INTS(INT64_MIN), WEFT_INTS(1)), WEFT_OUT_OF_RANGE,
                 "roll: the shift of axis 1 is -9223372036854775808, below -(2^63 - 1)");
    expect_error(weft_roll(f.y, WEFT_INTS(1), WEFT_INTS(0, 1)), WEFT_INVALID_ARGUMENT,
                 "roll: shifts has length 1 but axes has 2");
    expect_error(weft_meshgrid(WEFT_TENSORS(f.v, f.y), false, parts), WEFT_SHAPE_MISMATCH,
                 "meshgrid: operand 1 has rank 2, not 1");
    expect_error(weft_repeat(f.y, 2, N(3)), WEFT_OUT_OF_RANGE, "repeat: axis 2 is out of range for rank 2");
    expect_error(weft_split(f.y, 1, 2, NULL), WEFT_INVALID_ARGUMENT, "split: out_parts is NULL");
    expect_error(weft_split_at(f.y, 0, WEFT_SHAPE(3), NULL), WEFT_INVALID_ARGUMENT, "split_at: out_parts is NULL");
    expect_error(weft_chunk(f.y, 1, 2, NULL, &count), WEFT_INVALID_ARGUMENT, "chunk: out_parts is NULL");
    expect_error(weft_chunk(f.y, 1, 2, parts, NULL), WEFT_INVALID_ARGUMENT, "chunk: out_count is NULL");
    expect_error(weft_meshgrid(WEFT_TENSORS(f.v, f.v), false, NULL), WEFT_INVALID_ARGUMENT,
                 "meshgrid: out_grids is NULL");
}

/* More pieces than an int64 counts are as many as there are elements. */
static void chunks_of_one(void **state)
{
    (void)state;
    weft_tensor parts[4];
    size_t count;
    assert_true(weft_tensor_is_valid(weft_chunk(f.y, 1, SIZE_MAX, parts, &count)));
    assert_int_equal(count, 4);
    assert_true(weft_extent_equal(weft_tensor_extent(parts[3], 1), N(1)));
}

/* Errors speak of the arguments of the function that was called, not of those of its parts. */
#define REFUSED(call, code, sentence) expect_error(call, WEFT_##code, sentence)
static void errors_name_arguments_of_products_and_movement(void **state)
{
    (void)state;
    weft_tensor u = weft_input(f.graph, "u", WEFT_F32, WEFT_SHAPE(5));
    weft_tensor q = weft_input(f.graph, "q", WEFT_F32, WEFT_SHAPE(2, 3, 4));
    REFUSED(weft_matmul(f.y, f.v), SHAPE_MISMATCH, "matmul: axis 1 of a has extent 4 but axis 0 of b has 3");
    REFUSED(weft_matmul(f.y, f.d), DTYPE_MISMATCH, "matmul: b has dtype f64 but a has f32; cast explicitly");
    REFUSED(weft_matmul(q, weft_broadcast(f.y, WEFT_SHAPE(3, 3, 4))), SHAPE_MISMATCH,
            "matmul: axis 2 of a has extent 4 but axis 1 of b has 3");
    REFUSED(weft_matmul(q, weft_broadcast(weft_transpose(f.y, 0, 1), WEFT_SHAPE(5, 4, 3))), SHAPE_MISMATCH,
            "matmul: axis 0 of b has extent 5 but axis 0 of a has 2");
    REFUSED(weft_tensordot(f.y, f.y, WEFT_INTS(0), WEFT_INTS(1)), SHAPE_MISMATCH,
            "tensordot: contracted axis 0 of a has extent 3 but axis 1 of b has 4");
    REFUSED(weft_outer(f.y, f.d), DTYPE_MISMATCH,
            "outer: operand 1 has dtype f64 but operand 0 has f32; cast explicitly");
    REFUSED(weft_stack(WEFT_TENSORS(f.y, f.d), 0), DTYPE_MISMATCH,
            "stack: operand 1 has dtype f64 but operand 0 has f32; cast explicitly");
    REFUSED(weft_relu(weft_stack(WEFT_TENSORS(f.y, f.v), 0)), SHAPE_MISMATCH,
            "stack: operand 1 has rank 1 but operand 0 has 2");
    REFUSED(weft_stack(WEFT_TENSORS(f.v, u), 0), SHAPE_MISMATCH,
            "stack: axis 0 of operand 1 has extent 5 but axis 0 of operand 0 has 3");
    REFUSED(weft_repeat(f.y, 0, N(-1)), OUT_OF_RANGE, "repeat: the count is -1, below 0");
    REFUSED(weft_tile(f.y, WEFT_SHAPE(2, -1)), OUT_OF_RANGE, "tile: counts[1] is -1, below 0");
    REFUSED(weft_mean(f.y, WEFT_INTS(0, 0), false), INVALID_ARGUMENT, "mean: axes names axis 0 twice");
    REFUSED(weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(-1)), OUT_OF_RANGE,
            "zeros: axis 0 of the result has extent -1, below 0");
    REFUSED(weft_index_add(f.y, f.i, f.v, 0), SHAPE_MISMATCH, "index_add: the updates have rank 1, not 2");
    REFUSED(weft_scatter_along_axis(f.y, weft_scalar(f.graph, WEFT_I64, 0), f.y, 0, WEFT_SCATTER_SET), SHAPE_MISMATCH,
            "scatter_along_axis: the indices have rank 0 but x has 2");
}

static void errors_name_arguments_of_losses_and_norms(void **state)
{
    (void)state;
    weft_tensor c = weft_complex(f.y, f.y), b = weft_eq(f.y, f.y);
    weft_tensor u = weft_input(f.graph, "u", WEFT_F32, WEFT_SHAPE(5));
    REFUSED(weft_relu(c), DTYPE_MISMATCH, "relu: the operand has dtype c64, which has no order");
    REFUSED(weft_prelu(f.y, u), SHAPE_MISMATCH,
            "prelu: axis 0 of the slope has extent 5 but axis 1 of the operand has 4");
    REFUSED(weft_clamp(f.y, f.d, f.y), DTYPE_MISMATCH, "clamp: low has dtype f64 but x has f32; cast explicitly");
    REFUSED(weft_clamp(f.y, f.y, u), SHAPE_MISMATCH, "clamp: axis 0 of high has extent 5 but axis 1 of x has 4");
    REFUSED(weft_clamp(c, c, c), DTYPE_MISMATCH, "clamp: x has dtype c64, which has no order");
    REFUSED(weft_lerp(f.y, f.y, u), SHAPE_MISMATCH, "lerp: axis 0 of t has extent 5 but axis 1 of a has 4");
    REFUSED(weft_lerp(b, b, b), DTYPE_MISMATCH, "lerp: a has dtype bool, which is not numeric");
    REFUSED(weft_polygamma(-1, f.y), OUT_OF_RANGE, "polygamma: n is -1, not from 0 to 20");
    REFUSED(weft_polygamma(21, f.y), OUT_OF_RANGE, "polygamma: n is 21, not from 0 to 20");
    REFUSED(weft_is_close(f.y, u, 0, 0), SHAPE_MISMATCH, "is_close: axis 0 of b has extent 5 but axis 1 of a has 4");
    REFUSED(weft_logical_or(f.i, f.y), SHAPE_MISMATCH, "logical_or: axis 1 of b has extent 4 but axis 0 of a has 3");
    REFUSED(weft_mse_loss(f.y, u, WEFT_REDUCTION_MEAN), SHAPE_MISMATCH,
            "mse_loss: axis 0 of the target has extent 5 but axis 1 of the operand has 4");
    REFUSED(weft_bce_with_logits(f.y, f.y, u, WEFT_REDUCTION_MEAN), SHAPE_MISMATCH,
            "bce_with_logits: axis 0 of the tensor of weights has extent 5 but axis 1 of the operand has 4");
    REFUSED(weft_cross_entropy(f.y, weft_broadcast(u, WEFT_SHAPE(3, 5)), -1, NULL), SHAPE_MISMATCH,
            "cross_entropy: axis 1 of the target has extent 5 but axis 1 of the operand has 4");
    REFUSED(weft_layer_norm(f.y, -1, &(weft_norm_options){.scale = u}), SHAPE_MISMATCH,
            "layer_norm: axis 0 of the scale has extent 5 but axis 1 of the operand has 4");
    REFUSED(weft_rms_norm(f.y, 0, &(weft_norm_options){.bias = weft_transpose(f.y, 0, 1)}), SHAPE_MISMATCH,
            "rms_norm: axis 1 of the bias has extent 3 but axis 1 of the operand has 4");
    REFUSED(weft_batch_norm(f.y, WEFT_NO_TENSOR, f.v, NULL), INVALID_ARGUMENT, "batch_norm: the mean is missing");
    REFUSED(weft_nll_loss(f.y, WEFT_NO_TENSOR, 0, NULL), INVALID_ARGUMENT, "nll_loss: the target is missing");
    REFUSED(weft_batch_norm(f.y, u, f.v, NULL), SHAPE_MISMATCH,
            "batch_norm: the mean has extent 5 but there are 4 channels");
}

static void errors_name_arguments_of_networks_and_searches(void **state)
{
    (void)state;
    weft_tensor c = weft_complex(f.y, f.y), u = weft_input(f.graph, "u", WEFT_F32, WEFT_SHAPE(5));
    weft_tensor x = weft_input(f.graph, "image", WEFT_F32, WEFT_SHAPE(1, 2, 5));
    weft_tensor w = weft_input(f.graph, "kernel", WEFT_F32, WEFT_SHAPE(2, 2, 3));
    weft_tensor q = weft_input(f.graph, "q", WEFT_F32, WEFT_SHAPE(2, 3, 4));
    REFUSED(weft_attention(f.y, f.y, WEFT_NO_TENSOR, NULL), INVALID_ARGUMENT, "attention: v is missing");
    REFUSED(weft_attention(f.y, f.d, f.y, NULL), DTYPE_MISMATCH,
            "attention: k has dtype f64 but q has f32; cast explicitly");
    REFUSED(weft_attention(f.y, weft_transpose(f.y, 0, 1), f.y, NULL), SHAPE_MISMATCH,
            "attention: axis 1 of k has extent 3 but axis 1 of q has 4");
    REFUSED(weft_attention(f.y, f.y, weft_transpose(f.y, 0, 1), NULL), SHAPE_MISMATCH,
            "attention: axis 0 of v has extent 4 but axis 0 of k has 3");
    REFUSED(weft_attention(q, q, weft_broadcast(f.y, WEFT_SHAPE(1, 3, 4)), NULL), SHAPE_MISMATCH,
            "attention: axis 0 of v has extent 1 but axis 0 of k has 2");
    REFUSED(weft_attention(f.y, f.y, f.y, &(weft_attention_options){.mask = f.y}), SHAPE_MISMATCH,
            "attention: axis 1 of the mask has extent 4 but axis 0 of k has 3");
    REFUSED(weft_conv(x, weft_cast(w, WEFT_F64), NULL), DTYPE_MISMATCH,
            "conv: the kernel has dtype f64 but the operand has f32; cast explicitly");
    REFUSED(weft_conv(x, w, &(weft_conv_options){.bias = weft_cast(weft_narrow(f.v, 0, N(0), N(2)), WEFT_F64)}),
            DTYPE_MISMATCH, "conv: the bias has dtype f64 but the operand has f32; cast explicitly");
    REFUSED(weft_conv_transpose(x, w, &(weft_conv_options){.low = WEFT_INTS(9)}), OUT_OF_RANGE,
            "conv_transpose: low[0] is 9, but without padding axis 2 of the result has extent 7");
    REFUSED(weft_resize(x, WEFT_SHAPE(-1), NULL), OUT_OF_RANGE, "resize: sizes[0] is -1, below 0");
    REFUSED(weft_top_k(f.y, 0, N(-1), false, NULL), OUT_OF_RANGE, "top_k: k is -1, below 0");
    REFUSED(weft_top_k(c, 0, N(1), false, NULL), DTYPE_MISMATCH,
            "top_k: the operand has dtype c64, which has no order");
    REFUSED(weft_searchsorted(c, c, false), DTYPE_MISMATCH,
            "searchsorted: the sorted operand has dtype c64, which has no order");
    REFUSED(weft_bincount(f.i, N(3), u), SHAPE_MISMATCH,
            "bincount: axis 0 of the tensor of weights has extent 5 but axis 0 of the operand has 3");
    REFUSED(weft_bincount(f.i, N(-3), WEFT_NO_TENSOR), OUT_OF_RANGE, "bincount: the count is -3, below 0");
}
#undef REFUSED

/* Query heads that share a key head; a mask for each of them, and one for all. */
static void heads_have_masks(void **state)
{
    (void)state;
    weft_tensor q = F32((2, 1, 1), 1, 1), k = F32((1, 2, 1), 3, 3), v = F32((1, 2, 1), 5, 7);
    weft_tensor each = weft_cast(F32((2, 1, 2), 1, 0, 0, 1), WEFT_BOOL);
    weft_tensor all = weft_cast(F32((1, 1, 2), 0, 1), WEFT_BOOL);
    EXPECT(weft_attention(q, k, v, NULL), (2, 1, 1), 6, 6);
    EXPECT(weft_attention(q, k, v, &(weft_attention_options){.mask = each}), (2, 1, 1), 5, 7);
    EXPECT(weft_attention(q, k, v, &(weft_attention_options){.mask = all}), (2, 1, 1), 7, 7);
}

static void axes_are_inside(void **state)
{
    (void)state;
    weft_tensor parts[2];
    static const int64_t out[] = {2};
    const weft_ints axes = {1, out};
    expect_error(weft_concat(WEFT_TENSORS(f.y, f.y), 2), WEFT_OUT_OF_RANGE,
                 "concat: axis 2 is out of range for rank 2");
    expect_error(weft_extract_diagonal(f.y, 0, 2), WEFT_OUT_OF_RANGE,
                 "extract_diagonal: axis 2 is out of range for rank 2");
    expect_error(weft_dot(f.y, f.y, (weft_dot_axes){.contract_a = axes, .contract_b = axes}), WEFT_OUT_OF_RANGE,
                 "dot: axis 2 is out of range for rank 2");
    expect_error(weft_unsqueeze(f.y, 3), WEFT_OUT_OF_RANGE, "unsqueeze: axis 3 is out of range for rank 3");
    expect_error(weft_flatten(f.y, 0, 2), WEFT_OUT_OF_RANGE, "flatten: axis 2 is out of range for rank 2");
    expect_error(weft_diagonal(f.y, 0, 0, 2), WEFT_OUT_OF_RANGE, "diagonal: axis 2 is out of range for rank 2");
    expect_error(weft_roll(f.y, WEFT_INTS(1), axes), WEFT_OUT_OF_RANGE, "roll: axis 2 is out of range for rank 2");
    expect_error(weft_count_nonzero(f.y, axes, false), WEFT_OUT_OF_RANGE,
                 "count_nonzero: axis 2 is out of range for rank 2");
    expect_error(weft_median(f.y, 2, false), WEFT_OUT_OF_RANGE, "median: axis 2 is out of range for rank 2");
    expect_error(weft_top_k(f.y, 2, N(1), false, parts), WEFT_OUT_OF_RANGE, "top_k: axis 2 is out of range for rank 2");
    expect_error(weft_nll_loss(f.y, f.i, 2, NULL), WEFT_OUT_OF_RANGE, "nll_loss: axis 2 is out of range for rank 2");
}

/* More operands than one kernel can have buffers. */
static void long_lists_are_joined(void **state)
{
    (void)state;
    enum { COUNT = 300 };
    weft_tensor parts[COUNT];
    double wanted[2 * COUNT];
    for (int i = 0; i < COUNT; i++) {
        wanted[2 * i] = i;
        wanted[2 * i + 1] = -i;
        parts[i] = weft_neg(constant(WEFT_F32, WEFT_INTS(2), VALUES(-i, i)));
    }
    expect(weft_concat((weft_tensors){COUNT, parts}, 0), WEFT_INTS(2 * COUNT), wanted, 0);
}

/* What needs axes of its own leaves fewer to its operands. */
static void ranks_are_bounded(void **state)
{
    (void)state;
    enum { HALF = WEFT_MAX_RANK / 2 };
    weft_extent ones[HALF + 1];
    weft_tensor many[WEFT_MAX_RANK + 1];
    for (size_t i = 0; i <= HALF; i++) ones[i] = N(1);
    for (size_t i = 0; i <= WEFT_MAX_RANK; i++) many[i] = f.v;
    const weft_tensor x = weft_zeros(f.graph, WEFT_F32, (weft_shape){HALF + 1, ones});
    const weft_tensor places = weft_zeros(f.graph, WEFT_I64, (weft_shape){HALF + 1, ones});
    expect_error(weft_outer(x, x), WEFT_INVALID_ARGUMENT, "outer: the result would have rank 66, over 64");
    expect_error(weft_kron(x, x), WEFT_UNSUPPORTED, "kron: rank 33 is over 32");
    weft_extent twos[HALF + 1];
    for (size_t i = 0; i <= HALF; i++) twos[i] = N(2);
    expect_error(weft_tile(x, (weft_shape){HALF + 1, twos}), WEFT_UNSUPPORTED,
                 "tile: rank 33 with 33 repeated axes is over 64");
    assert_int_equal(weft_tensor_rank(weft_tile(x, (weft_shape){HALF - 1, twos})), HALF + 1);
    expect_error(weft_conv(x, x, NULL), WEFT_UNSUPPORTED, "conv: the operand has rank 33, over 32");
    expect_error(weft_conv_transpose(x, x, NULL), WEFT_UNSUPPORTED, "conv_transpose: the operand has rank 33, over 32");
    int64_t windows[WEFT_MAX_RANK];
    for (size_t i = 0; i < WEFT_MAX_RANK; i++) windows[i] = 1;
    expect_error(weft_unfold(x, (weft_ints){HALF - 1, windows}, NULL), WEFT_UNSUPPORTED,
                 "unfold: the operand has rank 33, over 32");
    weft_extent most[WEFT_MAX_RANK];
    for (size_t i = 0; i < WEFT_MAX_RANK; i++) most[i] = N(1);
    const weft_tensor deep = weft_zeros(f.graph, WEFT_F32, (weft_shape){WEFT_MAX_RANK, most});
    expect_error(weft_conv_transpose(deep, deep, NULL), WEFT_UNSUPPORTED,
                 "conv_transpose: the operand has rank 64, over 32");
    expect_error(weft_unfold(deep, (weft_ints){WEFT_MAX_RANK - 2, windows}, NULL), WEFT_UNSUPPORTED,
                 "unfold: the operand has rank 64, over 32");
    int64_t sizes[HALF];
    for (size_t i = 0; i < HALF; i++) sizes[i] = 1;
    expect_error(weft_max_pool(x, &(weft_pool_options){.size = {HALF, sizes}}), WEFT_UNSUPPORTED,
                 "max_pool: rank 33 with 32 spatial axes is over 64");
    expect_error(weft_index(x, WEFT_ITEMS(WEFT_PICK(places))), WEFT_INVALID_ARGUMENT,
                 "index: the result would have rank 65, over 64");
    weft_tensor grids[WEFT_MAX_RANK + 1];
    expect_error(weft_meshgrid((weft_tensors){WEFT_MAX_RANK + 1, many}, false, grids), WEFT_INVALID_ARGUMENT,
                 "meshgrid: 65 operands are over 64");
    assert_false(weft_tensor_is_valid(grids[WEFT_MAX_RANK]));
}

/* Runs y of x: f32[m, 4] and at: i64[]; m is 0. */
static weft_status *run_empty(weft_tensor y, const char *runtime, int64_t at)
{
    weft_program *program;
    weft_array *inputs[2], *output = NULL;
    weft_test_ok(weft_compile(y.graph, WEFT_TENSORS(y), NULL, &program));
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 2, (const int64_t[]){0, 4}, &inputs[0]));
    weft_test_ok(weft_array_create(NULL, WEFT_I64, 0, NULL, &inputs[1]));
    *(int64_t *)weft_array_data(inputs[1]) = at;
    weft_run run = {.runtime = runtime, .input_count = 2, .inputs = inputs, .output_count = 1, .outputs = &output};
    weft_status *status = weft_executor_run(f.executor, program, &run);
    for (size_t i = 0; i < 2; i++) weft_array_release(inputs[i]);
    weft_array_release(output);
    weft_program_release(program);
    return status;
}

/* Of guards and of bad data; the line is that of the call that asked for it. */
static void errors_of_runs_name_the_line(void **state)
{
    (void)state;
    char data[64], guard[64], own[64];
    weft_extent m = weft_symbol(f.graph, "m", 0, 9);
    weft_tensor x = weft_input(f.graph, "e", WEFT_F32, WEFT_SHAPE(m, 4)),
                at = weft_input(f.graph, "at", WEFT_I64, WEFT_SHAPE());
    snprintf(data, sizeof data, "composite.c:%d)", __LINE__ + 1);
    weft_tensor y = weft_div(at, weft_sub(at, weft_scalar(f.graph, WEFT_I64, 7)));
    weft_tensor turned = weft_reshape(x, WEFT_SHAPE(WEFT_INFER, m));
    weft_tensor sum = weft_reduce_sum(weft_cast(turned, WEFT_I64), WEFT_INTS(0, 1), false);
    weft_tensor fine = weft_add(y, sum);
    snprintf(guard, sizeof guard, "composite.c:%d)", __LINE__ + 1);
    weft_tensor square = weft_matmul(x, x);
    for (size_t r = 0; r < runtime_count; r++) {
        weft_test_ok(run_empty(fine, runtimes[r], 8));
        weft_test_fails(run_empty(fine, runtimes[r], 7), WEFT_DATA_ERROR, data);
        weft_tensor both = weft_add(fine, weft_cast(weft_reduce_sum(square, WEFT_INTS(0, 1), false), WEFT_I64));
        weft_test_fails(run_empty(both, runtimes[r], 8), WEFT_SHAPE_MISMATCH, guard);
    }
    assert_true(weft_require_at_most(f.graph, N(3), weft_extent_mul(m, m), "m is too small"));
    snprintf(own, sizeof own, "composite.c:%d)", __LINE__ - 1);
    weft_test_fails(run_empty(fine, runtimes[0], 8), WEFT_SHAPE_MISMATCH, own);
    weft_extent wrong = weft_extent_div(m, N(0));
    assert_false(weft_extent_is_valid(wrong));
    snprintf(own, sizeof own, "composite.c:%d", __LINE__ - 2);
    assert_non_null(strstr(weft_status_where(weft_graph_error(f.graph)), own));
    weft_graph_clear_error(f.graph);
}

/* Places decided by data that nothing is read from and nothing written to. */
static void empty_results_have_no_bad_places(void **state)
{
    (void)state;
    weft_extent m = weft_symbol(f.graph, "m", 0, 9);
    weft_tensor x = weft_input(f.graph, "e", WEFT_F32, WEFT_SHAPE(m, 4)),
                at = weft_input(f.graph, "at", WEFT_I64, WEFT_SHAPE());
    weft_tensor one = weft_reshape(at, WEFT_SHAPE(1)), column = weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(m, 1));
    weft_tensor square = weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(9, 4));
    const weft_tensor results[] = {
        weft_gather(x, one, 1),
        weft_scatter(x, WEFT_TENSORS(one), WEFT_INTS(1), column, WEFT_SCATTER_SET),
        weft_index_add(x, one, column, 1),
        weft_take_along_axis(x, weft_reshape(at, WEFT_SHAPE(1, 1)), 1),
        weft_dynamic_slice(x, WEFT_TENSORS(at), WEFT_INTS(1), WEFT_SHAPE(2)),
        weft_dynamic_update_slice(x, column, WEFT_TENSORS(at), WEFT_INTS(1)),
        weft_dynamic_update_slice(square, x, WEFT_TENSORS(at), WEFT_INTS(0)),
        weft_adaptive_max_pool(weft_broadcast(x, WEFT_SHAPE(0, 1, m, 4)), WEFT_INTS(2, 2)),
    };
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        for (size_t r = 0; r < runtime_count; r++)
            weft_test_ok(run_empty(weft_add(results[i], weft_cast(at, WEFT_F32)), runtimes[r], 10));
    }
}

static weft_module *parse_places(const char *guard)
{
    char text[1024];
    weft_module *module;
    snprintf(text, sizeof text,
             "weft 0.1\nsymbol m in [0, 9]\n%s\ngraph {\n"
             "  %%e = input() {name = \"e\", dtype = f32, shape = [m, 4]}\n"
             "  %%at = input() {name = \"at\", dtype = i64, shape = []}\n"
             "  %%f = fold(%%at) {trips = 2, carried = 1} body (%%i : i64[], %%a : i64[]) {\n"
             "    %%0 = constant() {dtype = i64, shape = [], data = [7]}\n"
             "    %%1 = sub(%%a, %%0)\n    %%2 = div(%%a,\n      %%1)\n    yield %%2\n  }\n"
             "  %%r = reshape(\n    %%e) {shape = [4, 4]}\n"
             "  %%s = reduce_sum(%%r) {axes = [0, 1]}\n  %%c = cast(%%s) {dtype = i64}\n"
             "  %%k = slice(%%e) {starts = [0, 0], sizes = [m, 1], steps = [1, 1]}\n"
             "  %%l = reduce_sum(%%k) {axes = [0, 1]}\n  %%n = cast(%%l) {dtype = i64}\n  %%o = add(%%n, %%f)\n"
             "  %%p = add(%%c, %%f)\n  return o = %%o, p = %%p\n}\n",
             guard);
    weft_test_ok(weft_graph_parse("a.weft", text, strlen(text), NULL, 0, NULL, &module));
    return module;
}

/* Of guards and of bad data in a program that was read: the line that names the op. */
static void errors_of_runs_name_the_line_of_a_text(void **state)
{
    (void)state;
    weft_module *plain = parse_places(""), *guarded = parse_places("require 3 <= m * m \"m is too small\"");
    for (size_t r = 0; r < runtime_count; r++) {
        weft_test_ok(run_empty(plain->outputs.items[0], runtimes[r], 8));
        weft_test_fails(run_empty(plain->outputs.items[0], runtimes[r], 7), WEFT_DATA_ERROR, "(a.weft:10)");
        weft_test_fails(run_empty(plain->outputs.items[1], runtimes[r], 8), WEFT_SHAPE_MISMATCH, "(a.weft:14)");
        weft_test_fails(run_empty(guarded->outputs.items[0], runtimes[r], 8), WEFT_SHAPE_MISMATCH, "(a.weft:3)");
    }
    weft_module_destroy(plain);
    weft_module_destroy(guarded);
}

static void statistics_refuse(void **state)
{
    (void)state;
    expect_error(weft_variance(f.i, WEFT_INTS(0), 0, false), WEFT_DTYPE_MISMATCH,
                 "variance: the operand has dtype i64 but must be a float");
    expect_error(weft_variance(f.y, WEFT_INTS(0), INT64_MIN, false), WEFT_OUT_OF_RANGE,
                 "variance: the correction is -9223372036854775808: 3 elements less that many do not fit an int64");
    expect_error(weft_standard_deviation(f.y, WEFT_INTS(0), -INT64_MAX, false), WEFT_OUT_OF_RANGE,
                 "standard_deviation: the correction is -9223372036854775807: 3 elements less that many do not fit an "
                 "int64");
    expect_error(weft_logsumexp(f.y, WEFT_INTS(2), false), WEFT_OUT_OF_RANGE,
                 "logsumexp: axis 2 is out of range for rank 2");
    expect_error(weft_norm(f.y, WEFT_INTS(0), NAN, false), WEFT_INVALID_ARGUMENT, "norm: the order is NaN");
}

static void networks_refuse(void **state)
{
    (void)state;
    expect_error(weft_hard_swish(f.i), WEFT_DTYPE_MISMATCH,
                 "hard_swish: the operand has dtype i64 but must be a float");
    expect_error(weft_celu(f.y, 0), WEFT_INVALID_ARGUMENT, "celu: alpha is 0");
    expect_error(weft_prelu(f.y, f.d), WEFT_DTYPE_MISMATCH, "prelu: the slope has dtype f64 but the operand has f32");
    expect_error(weft_layer_norm(f.y, 1, &(weft_norm_options){.scale = f.y}), WEFT_SHAPE_MISMATCH,
                 "layer_norm: the scale has rank 2, above that of what is normalised, 1");
    expect_error(weft_layer_norm(f.y, 1, &(weft_norm_options){.bias = f.d}), WEFT_DTYPE_MISMATCH,
                 "layer_norm: the bias has dtype f64 but the operand has f32");
    expect_error(weft_group_norm(f.y, 3, NULL), WEFT_SHAPE_MISMATCH,
                 "group_norm: 4 channels are not a multiple of 3 groups");
    expect_error(weft_group_norm(f.y, 0, NULL), WEFT_INVALID_ARGUMENT, "group_norm: there are 0 groups");
    expect_error(weft_group_norm(f.y, 2, &(weft_norm_options){.scale = f.y}), WEFT_SHAPE_MISMATCH,
                 "group_norm: the scale has rank 2, not 1");
    expect_error(weft_group_norm(f.v, 1, NULL), WEFT_SHAPE_MISMATCH,
                 "group_norm: the operand has rank 1 but needs at least 2");
    expect_error(weft_batch_norm(f.y, f.v, f.v, NULL), WEFT_SHAPE_MISMATCH,
                 "batch_norm: the mean has extent 3 but there are 4 channels");
    expect_error(weft_attention(f.y, f.y, f.v, NULL), WEFT_SHAPE_MISMATCH,
                 "attention: q has rank 2 but k has 2 and v has 1");
    weft_tensor q = weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(4, 5, 6));
    weft_tensor k = weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(3, 5, 6));
    expect_error(weft_attention(q, k, k, NULL), WEFT_SHAPE_MISMATCH,
                 "attention: 4 query heads cannot share 3 key heads");
    expect_error(weft_embedding(f.y, f.v, 0), WEFT_DTYPE_MISMATCH,
                 "embedding: the index tensor has dtype f32 but must be an integer");
    expect_error(weft_layer_norm(f.y, 0, &(weft_norm_options){.epsilon = -1}), WEFT_INVALID_ARGUMENT,
                 "layer_norm: epsilon is -1, but may not be negative or NaN");
    expect_error(weft_group_norm(f.y, 1, &(weft_norm_options){.epsilon = NAN}), WEFT_INVALID_ARGUMENT,
                 "group_norm: epsilon is nan, but may not be negative or NaN");
    expect_error(weft_huber_loss(f.y, f.y, 0, WEFT_REDUCTION_MEAN), WEFT_INVALID_ARGUMENT,
                 "huber_loss: delta is 0, not positive");
    expect_error(
        weft_mse_loss(weft_scalar(f.graph, WEFT_F32, 1), weft_scalar(f.graph, WEFT_F32, 1), WEFT_REDUCTION_BATCH_MEAN),
        WEFT_SHAPE_MISMATCH, "mse_loss: the loss has rank 0 but needs at least 1");
    expect_error(weft_mse_loss(f.y, f.d, WEFT_REDUCTION_MEAN), WEFT_DTYPE_MISMATCH,
                 "mse_loss: the target has dtype f64 but the operand has f32");
    expect_error(weft_bce_with_logits(f.y, f.y, f.d, WEFT_REDUCTION_MEAN), WEFT_DTYPE_MISMATCH,
                 "bce_with_logits: the tensor of weights has dtype f64 but the operand has f32");
    expect_error(weft_lerp(f.y, f.d, f.y), WEFT_DTYPE_MISMATCH, "lerp: b has dtype f64 but a has f32");
    expect_error(weft_mse_loss(f.y, f.y, (weft_reduction_kind)17), WEFT_INVALID_ARGUMENT,
                 "mse_loss: 17 is not a weft_reduction_kind");
}

/* Options as great as they can be: nothing overflows, and the error has them. */
static void windows_are_longer_than_an_extent(void **state)
{
    (void)state;
    const weft_ints most = WEFT_INTS(INT64_MAX), two = WEFT_INTS(2);
    weft_tensor x = weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(1, 2, 5)),
                w = weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(2, 2, 3)),
                none = weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(2, 2, 0));
    expect_error(weft_conv_transpose(x, w, &(weft_conv_options){.output_padding = most}), WEFT_OUT_OF_RANGE,
                 "conv_transpose: along spatial axis 0 the kernel reaches over 2 elements, low is 0, high 0 and "
                 "output_padding 9223372036854775807: their sum does not fit an int64");
    expect_error(weft_conv_transpose(x, none, NULL), WEFT_OUT_OF_RANGE,
                 "conv_transpose: axis 2 of the kernel has extent 0, below 1");
    expect_error(weft_conv(x, none, NULL), WEFT_OUT_OF_RANGE, "conv: axis 2 of the kernel has extent 0, below 1");
    expect_error(weft_conv_transpose(x, w, &(weft_conv_options){.dilation = most}), WEFT_OUT_OF_RANGE,
                 "conv_transpose: windows of size 3 with dilation 9223372036854775807 are longer than 2^63 - 1 along "
                 "spatial axis 0");
    expect_error(
        weft_conv_transpose(x, w, &(weft_conv_options){.low = most, .high = most}), WEFT_OUT_OF_RANGE,
        "conv_transpose: low[0] is 9223372036854775807, but without padding axis 2 of the result has extent 7");
    expect_error(weft_max_pool(x, &(weft_pool_options){.size = two, .dilation = most, .ceil_mode = true}),
                 WEFT_OUT_OF_RANGE,
                 "max_pool: windows of size 2 with dilation 9223372036854775807 are longer than 2^63 - 1 along spatial "
                 "axis 0");
    expect_error(
        weft_average_pool(x, &(weft_pool_options){.size = most, .dilation = two, .ceil_mode = true}), WEFT_OUT_OF_RANGE,
        "average_pool: windows of size 9223372036854775807 with dilation 2 are longer than 2^63 - 1 along spatial "
        "axis 0");
    expect_error(
        weft_average_pool(
            x,
            &(weft_pool_options){.size = two, .low = most, .high = most, .ceil_mode = true, .count_include_pad = true}),
        WEFT_OUT_OF_RANGE,
        "average_pool: low[0] is 9223372036854775807 and high[0] 9223372036854775807, whose sum with extent 5 of axis "
        "2 "
        "does not fit an int64");
    weft_tensor first = weft_max_pool(x, &(weft_pool_options){.size = two, .stride = most, .ceil_mode = true});
    assert_true(weft_extent_equal(weft_tensor_extent(first, 2), N(1)));
}

/* Optional operands, extents and entries of lists are called by their names. */
static void errors_name_optional_operands(void **state)
{
    (void)state;
    weft_tensor x = weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(1, 2, 5)),
                w = weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(2, 2, 3));
    weft_extent k = weft_symbol(f.other, "k", 0, 9);
    expect_error(weft_conv(x, w, &(weft_conv_options){.bias = f.foreign}), WEFT_INVALID_ARGUMENT,
                 "conv: the bias belongs to another graph");
    expect_error(weft_conv(x, f.foreign, NULL), WEFT_INVALID_ARGUMENT, "conv: the kernel belongs to another graph");
    weft_tensor truths = weft_zeros(f.graph, WEFT_BOOL, WEFT_SHAPE(1, 2, 3));
    expect_error(weft_conv(truths, truths, NULL), WEFT_DTYPE_MISMATCH,
                 "conv: the operand has dtype bool, which is not numeric");
    expect_error(weft_repeat(f.v, 0, N(INT64_MAX)), WEFT_OUT_OF_RANGE,
                 "repeat: a result of type f32[3, 9223372036854775807] has more elements than an int64 counts");
    expect_error(weft_tile(f.v, WEFT_SHAPE(INT64_MAX)), WEFT_OUT_OF_RANGE,
                 "tile: a result of type f32[9223372036854775807, 3] has more elements than an int64 counts");
    expect_error(weft_conj(f.y), WEFT_DTYPE_MISMATCH, "conj: operand 0 has dtype f32 but the op takes c64, c128");
    expect_error(weft_layer_norm(f.y, 1, &(weft_norm_options){.bias = f.foreign}), WEFT_INVALID_ARGUMENT,
                 "layer_norm: the bias belongs to another graph");
    expect_error(weft_batch_norm(f.y, f.v, f.foreign, NULL), WEFT_INVALID_ARGUMENT,
                 "batch_norm: the variance belongs to another graph");
    expect_error(weft_attention(f.y, f.y, f.y, &(weft_attention_options){.mask = f.foreign}), WEFT_INVALID_ARGUMENT,
                 "attention: the mask belongs to another graph");
    expect_error(weft_attention(f.y, f.y, f.y, &(weft_attention_options){.mask = f.d}), WEFT_DTYPE_MISMATCH,
                 "attention: the mask has dtype f64 but q has f32");
    expect_error(weft_attention(f.y, f.y, f.y, &(weft_attention_options){.causal = true, .causal_offset = k}),
                 WEFT_INVALID_ARGUMENT, "attention: causal_offset belongs to another graph");
    expect_error(weft_bce_with_logits(f.y, f.y, f.foreign, WEFT_REDUCTION_MEAN), WEFT_INVALID_ARGUMENT,
                 "bce_with_logits: the tensor of weights belongs to another graph");
    expect_error(weft_cross_entropy(f.y, f.i, 1, &(weft_class_options){.weights = f.foreign}), WEFT_INVALID_ARGUMENT,
                 "cross_entropy: the tensor of weights belongs to another graph");
    expect_error(weft_bincount(f.i, N(3), f.foreign), WEFT_INVALID_ARGUMENT,
                 "bincount: the tensor of weights belongs to another graph");
}

static void errors_name_extents_and_options(void **state)
{
    (void)state;
    weft_tensor x = weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(1, 2, 5)),
                w = weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(2, 2, 3)), parts[2];
    weft_extent k = weft_symbol(f.other, "k", 0, 9);
    const weft_ints most = WEFT_INTS(INT64_MAX);
    expect_error(weft_bincount(f.i, k, WEFT_NO_TENSOR), WEFT_INVALID_ARGUMENT,
                 "bincount: the count belongs to another graph");
    expect_error(weft_bincount(f.i, N(INT64_MAX), WEFT_NO_TENSOR), WEFT_OUT_OF_RANGE,
                 "bincount: the count is 9223372036854775807, above 2^63 - 2");
    weft_tensor counts = f.i;
    expect_error(weft_unique(f.i, N(INT64_MAX), &counts), WEFT_OUT_OF_RANGE,
                 "unique: the size is 9223372036854775807, above 2^63 - 2");
    assert_false(weft_tensor_is_valid(counts));
    expect_error(weft_diag(f.v, INT64_MAX), WEFT_OUT_OF_RANGE,
                 "diag: the diagonal is 9223372036854775807, whose sum with extent 3 does not fit an int64");
    expect_error(weft_moveaxis(f.y, WEFT_INTS(0, 1), WEFT_INTS(1, 1)), WEFT_INVALID_ARGUMENT,
                 "moveaxis: to names axis 1 twice");
    expect_error(weft_moveaxis(f.y, WEFT_INTS(0), (weft_ints){1, NULL}), WEFT_INVALID_ARGUMENT,
                 "moveaxis: to is NULL, but its length is 1");
    expect_error(weft_top_k(f.y, 0, k, false, NULL), WEFT_INVALID_ARGUMENT, "top_k: k belongs to another graph");
    expect_error(weft_one_hot(f.i, N(-1), WEFT_F32), WEFT_OUT_OF_RANGE, "one_hot: the count is -1, below 0");
    expect_error(weft_split_at(f.y, 1, WEFT_SHAPE(5, -1), parts), WEFT_OUT_OF_RANGE,
                 "split_at: sizes[1] is -1, below 0");
    expect_error(weft_resize(x, WEFT_SHAPE(2, k), NULL), WEFT_INVALID_ARGUMENT,
                 "resize: sizes[1] belongs to another graph");
    expect_error(weft_index_update(f.y, f.y, (weft_scatter_mode)99, WEFT_ITEMS(WEFT_ALL)), WEFT_INVALID_ARGUMENT,
                 "index_update: 99 is not a weft_scatter_mode");
    expect_error(weft_conv(x, w, &(weft_conv_options){.low = most}), WEFT_OUT_OF_RANGE,
                 "conv: low[0] is 9223372036854775807 and high[0] 0, whose sum with extent 5 of axis 2 does not fit an "
                 "int64");
    expect_error(
        weft_max_pool(x, &(weft_pool_options){.size = WEFT_INTS(2), .high = most}), WEFT_OUT_OF_RANGE,
        "max_pool: low[0] is 0 and high[0] 9223372036854775807, whose sum with extent 5 of axis 2 does not fit "
        "an int64");
    expect_error(
        weft_conv(x, w, &(weft_conv_options){.dilation = most}), WEFT_OUT_OF_RANGE,
        "conv: windows of size 3 with dilation 9223372036854775807 are longer than 2^63 - 1 along spatial axis "
        "0");
    expect_error(weft_unfold(x, most, &(weft_conv_options){.dilation = WEFT_INTS(2)}), WEFT_OUT_OF_RANGE,
                 "unfold: windows of size 9223372036854775807 with dilation 2 are longer than 2^63 - 1 along spatial "
                 "axis 0");
}

static void windows_refuse(void **state)
{
    (void)state;
    weft_tensor x = weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(f.n, 4, 9));
    weft_tensor w = weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(6, 2, 3));
    weft_tensor open = weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(4, 2, f.n));
    expect_error(weft_conv(f.y, f.y, NULL), WEFT_SHAPE_MISMATCH, "conv: the operand has rank 2 but needs at least 3");
    expect_error(weft_conv(x, f.y, NULL), WEFT_SHAPE_MISMATCH, "conv: the operand has rank 3 but the kernel has 2");
    expect_error(weft_conv(x, w, NULL), WEFT_SHAPE_MISMATCH,
                 "conv: the kernel has 2 channels but each group of the operand 4");
    expect_error(weft_conv(x, w, &(weft_conv_options){.groups = 4}), WEFT_SHAPE_MISMATCH,
                 "conv: 6 channels of the result are not a multiple of 4 groups");
    expect_error(weft_conv(x, w, &(weft_conv_options){.groups = -1}), WEFT_INVALID_ARGUMENT,
                 "conv: there are -1 groups");
    expect_error(weft_conv(x, w, &(weft_conv_options){.groups = 2, .bias = f.v}), WEFT_SHAPE_MISMATCH,
                 "conv: the bias has extent 3 but the result has 6 channels");
    expect_error(weft_conv(x, w, &(weft_conv_options){.groups = 2, .bias = f.y}), WEFT_SHAPE_MISMATCH,
                 "conv: the bias has rank 2, not 1");
    expect_error(weft_conv_transpose(x, w, &(weft_conv_options){.output_padding = WEFT_INTS(1, 1)}),
                 WEFT_INVALID_ARGUMENT, "conv_transpose: output_padding has length 2 but the spatial rank is 1");
    expect_error(weft_unfold(x, WEFT_INTS(0), NULL), WEFT_INVALID_ARGUMENT, "unfold: size[0] is 0, below 1");
    expect_error(weft_conv(x, w, &(weft_conv_options){.groups = 2, .stride = WEFT_INTS(1, 1)}), WEFT_INVALID_ARGUMENT,
                 "conv: stride has length 2 but the spatial rank is 1");
    expect_error(weft_conv(x, w, &(weft_conv_options){.groups = 2, .low = WEFT_INTS(-1)}), WEFT_INVALID_ARGUMENT,
                 "conv: low[0] is -1, below 0");
    expect_error(weft_conv_transpose(x, w, NULL), WEFT_SHAPE_MISMATCH,
                 "conv_transpose: the kernel has 6 channels but the operand 4");
    expect_error(weft_conv_transpose(x, open, NULL), WEFT_UNSUPPORTED,
                 "conv_transpose: axis 2 of the kernel has extent n but needs a static one");
    expect_error(weft_max_pool(x, NULL), WEFT_INVALID_ARGUMENT, "max_pool: the windows have no size");
    expect_error(weft_average_pool(f.i, &(weft_pool_options){.size = WEFT_INTS(2)}), WEFT_DTYPE_MISMATCH,
                 "average_pool: the operand has dtype i64 but must be a float");
    expect_error(weft_max_pool(x, &(weft_pool_options){.size = WEFT_INTS(0)}), WEFT_INVALID_ARGUMENT,
                 "max_pool: size[0] is 0, below 1");
    weft_tensor whole = weft_zeros(f.graph, WEFT_I64, WEFT_SHAPE(2, 4, 9));
    expect_error(weft_adaptive_average_pool(whole, WEFT_INTS(3)), WEFT_DTYPE_MISMATCH,
                 "adaptive_average_pool: the operand has dtype i64 but must be a float");
    expect_error(weft_resize(whole, WEFT_SHAPE(3), &(weft_resize_options){.mode = WEFT_RESIZE_LINEAR}),
                 WEFT_DTYPE_MISMATCH, "resize: the operand has dtype i64 but must be a float");
    expect_error(weft_adaptive_max_pool(x, WEFT_INTS(0)), WEFT_INVALID_ARGUMENT,
                 "adaptive_max_pool: sizes[0] is 0, below 1");
    expect_error(weft_resize(x, WEFT_SHAPE(3), &(weft_resize_options){.scales = (const double[]){-1}}),
                 WEFT_INVALID_ARGUMENT, "resize: scales[0] is -1, not positive");
    expect_error(weft_resize(x, WEFT_SHAPE(3), &(weft_resize_options){.mode = (weft_resize_mode)2}),
                 WEFT_INVALID_ARGUMENT, "resize: mode is 2, not a weft_resize_mode");
    expect_error(weft_resize(x, WEFT_SHAPE(3), &(weft_resize_options){.coordinates = (weft_resize_coordinates)-7}),
                 WEFT_INVALID_ARGUMENT, "resize: coordinates is -7, not a weft_resize_coordinates");
}

/* What is cut off counts in elements of the result, as options do. */
static void transposes_are_cut_to_nothing(void **state)
{
    (void)state;
    const struct cut {
        int64_t low, high, more, size; /* -1: refused */
        const char *sentence;
    } cuts[] = {{1, 1, 0, 1, NULL},
                {3, 0, 0, 0, NULL},
                {0, 3, 0, 0, NULL},
                {2, 2, 0, 0, NULL},
                {3, 3, 0, 0, NULL},
                {0, 4, 1, 0, NULL},
                {3, 0, 2, 2, NULL},
                {4, 0, 0, -1, "conv_transpose: low[0] is 4, but without padding axis 2 of the result has extent 3"},
                {0, 4, 0, -1, "conv_transpose: high[0] is 4, but without padding axis 2 of the result has extent 3"},
                {0, 5, 1, -1,
                 "conv_transpose: high[0] less output_padding[0] is 4, but without padding axis 2 of the result has "
                 "extent 3"}};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        weft_conv_options options = {
            .low = WEFT_INTS(cuts[i].low), .high = WEFT_INTS(cuts[i].high), .output_padding = WEFT_INTS(cuts[i].more)};
        weft_tensor y = weft_conv_transpose(F32((1, 1, 2), 1, 2), F32((1, 1, 2), 1, 10), &options);
        if (cuts[i].size < 0) expect_error(y, WEFT_OUT_OF_RANGE, cuts[i].sentence);
        else assert_true(weft_extent_equal(weft_tensor_extent(y, 2), N(cuts[i].size)));
    }
    weft_conv_options both = {.low = WEFT_INTS(2), .high = WEFT_INTS(2)},
                      one = {.low = WEFT_INTS(1), .high = WEFT_INTS(1)};
    EXPECT(weft_conv_transpose(F32((1, 1, 2), 1, 2), F32((1, 1, 2), 1, 10), &both), (1, 1, 0), 0);
    EXPECT(weft_conv_transpose(F32((1, 1, 2), 1, 2), F32((1, 1, 2), 1, 10), &one), (1, 1, 1), 12);
    weft_tensor none = weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(1, 1, 0)), w = F32((1, 1, 3), 1, 1, 1);
    EXPECT(weft_conv_transpose(none, w, &(weft_conv_options){.stride = WEFT_INTS(2)}), (1, 1, 2), 0, 0);
}

static void activations_are_known(void **state)
{
    (void)state;
    weft_tensor x = F32((3), -1000, 1, 1000);
    EXPECT_NEAR(weft_softplus(x), (3), 1e-6, 0, 1.3132617, 1000);
    EXPECT_NEAR(weft_gelu(x), (3), 1e-6, 0, 0.8413447, 1000);
    EXPECT_NEAR(weft_silu(x), (3), 1e-6, 0, 0.7310586, 1000);
    EXPECT_NEAR(weft_selu(x), (3), 1e-4, -1.7580993, 1.0507010, 1050.7010);
    /* Halfway between neighbours in bf16, of which 0.5 is even. */
    weft_tensor small = weft_cast(F32((2), 0.00390625F, 1), WEFT_BF16);
    EXPECT(weft_mean(small, WEFT_INTS(0), false), (), 0.5);
    EXPECT(weft_hard_tanh(small, -1, 0.5), (2), 0.00390625, 0.5);
    weft_tensor target = F32((3), 0, 1, 1);
    EXPECT_NEAR(weft_bce_with_logits(x, target, WEFT_NO_TENSOR, WEFT_REDUCTION_SUM), (), 1e-6, 0.3132617);
    /* Small losses keep their digits on both sides, large ones do not overflow. */
    weft_tensor sure = F32((5), -20, 20, -20, -INFINITY, -3e38F), truth = F32((5), 0, 1, 1e-8F, 1, 0.5F);
    weft_tensor losses = weft_bce_with_logits(sure, truth, F32((1), 2), WEFT_REDUCTION_NONE);
    EXPECT_NEAR(weft_mul(losses, F32((1), 1e9F)), (5), 1e-4, 2.0611537, 4.1223073, 402.06114, INFINITY, INFINITY);
    EXPECT_NEAR(losses, (5), 1e33, 0, 0, 0, INFINITY, 3e38F);
}

static void resizing_needs_elements(void **state)
{
    (void)state;
    weft_extent n = weft_symbol(f.graph, "maybe", 0, 9);
    weft_tensor empty = weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(2, 0)),
                x = weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(n));
    EXPECT(weft_resize(empty, WEFT_SHAPE(0), NULL), (2, 0), 0);
    expect_error(weft_resize(empty, WEFT_SHAPE(3), NULL), WEFT_OUT_OF_RANGE,
                 "resize: axis 1 of the operand has extent 0, which cannot become 3");
    assert_true(weft_tensor_is_valid(weft_resize(x, WEFT_SHAPE(3), NULL)));
}

static void causal_offsets_have_any_size(void **state)
{
    (void)state;
    weft_tensor q = F32((2, 1), 0, 0), k = F32((3, 1), 1, 2, 3), v = F32((3, 1), 1, 2, 6);
    weft_attention_options options = {.causal = true, .causal_offset = N(1)};
    EXPECT(weft_attention(q, k, v, &options), (2, 1), 1.5, 3);
    options.causal_offset = N(INT64_MAX);
    EXPECT(weft_attention(q, k, v, &options), (2, 1), 3, 3);
    options.causal_offset = N(-1);
    EXPECT(weft_attention(q, k, v, &options), (2, 1), 0, 1);
    options.causal_offset = N(-INT64_MAX);
    EXPECT(weft_attention(q, k, v, &options), (2, 1), 0, 0);
}

/* All elements sorted would take twice the memory of the positions once more. */
static void a_few_of_many_are_selected(void **state)
{
    (void)state;
    enum { COUNT = 100000, LEAST = COUNT * (sizeof(int64_t) + sizeof(float)) };
    weft_tensor x = weft_iota(f.graph, WEFT_F32, WEFT_SHAPE(COUNT), 0), indices;
    weft_tensor best = weft_top_k(x, 0, N(3), false, &indices);
    weft_tensor inner = weft_narrow(weft_sort(x, 0, true), 0, N(1000), N(2));
    EXPECT(best, (3), COUNT - 1, COUNT - 2, COUNT - 3);
    EXPECT(indices, (3), COUNT - 1, COUNT - 2, COUNT - 3);
    EXPECT(inner, (2), COUNT - 1001, COUNT - 1002);
    weft_program *program;
    weft_test_ok(weft_compile(f.graph, WEFT_TENSORS(best, indices), NULL, &program));
    for (size_t i = 0; i < runtime_count; i++) {
        weft_array *outputs[2] = {NULL, NULL};
        weft_report report;
        weft_run run = {.runtime = runtimes[i], .output_count = 2, .outputs = outputs, .report = &report};
        weft_test_ok(weft_executor_run(f.executor, program, &run));
        for (size_t j = 0; j < 2; j++) weft_array_release(outputs[j]);
        if (strcmp(runtimes[i], "llvm") == 0) assert_in_range(report.peak_bytes, LEAST, LEAST + (1 << 16));
    }
    weft_program_release(program);
}

/* Sorted rows of which more is read than their beginning. */
static void a_slice_is_not_all_that_is_read(void **state)
{
    (void)state;
    enum { COUNT = 1000, SUM = COUNT * (COUNT - 1) / 2 };
    weft_tensor x = weft_iota(f.graph, WEFT_F32, WEFT_SHAPE(COUNT), 0), sorted = weft_sort(x, 0, true);
    weft_tensor first = weft_narrow(sorted, 0, N(0), N(2)), sum = weft_reduce_sum(sorted, WEFT_INTS(0), true);
    EXPECT(weft_add(first, sum), (2), SUM + COUNT - 1, SUM + COUNT - 2);
    EXPECT(weft_add(first, weft_narrow(sorted, 0, N(COUNT - 2), N(2))), (2), COUNT, COUNT - 2);
    weft_tensor rising = weft_sort(x, 0, false), twice = weft_reduce_sum(rising, WEFT_INTS(0), true);
    EXPECT(weft_add(twice, weft_narrow(rising, 0, N(0), N(2))), (2), SUM, SUM + 1);
    EXPECT(weft_slice(sorted, WEFT_SHAPE(5), WEFT_SHAPE(3), WEFT_INTS(-2)), (3), COUNT - 6, COUNT - 4, COUNT - 2);
    EXPECT(weft_slice(sorted, WEFT_SHAPE(1), WEFT_SHAPE(2), WEFT_INTS(900)), (2), COUNT - 2, COUNT - 902);
    EXPECT(weft_narrow(sorted, 0, N(3), N(0)), (0), 0);
    weft_program *program;
    weft_test_ok(weft_compile(f.graph, WEFT_TENSORS(first, sorted), NULL, &program));
    for (size_t i = 0; i < runtime_count; i++) {
        weft_array *outputs[2] = {NULL, NULL};
        const weft_run run = {.runtime = runtimes[i], .output_count = 2, .outputs = outputs};
        weft_test_ok(weft_executor_run(f.executor, program, &run));
        const float *all = weft_array_data(outputs[1]);
        for (size_t j = 0; j < COUNT; j++) assert_true(all[j] == (float)(COUNT - 1 - j));
        weft_array_release(outputs[0]);
        weft_array_release(outputs[1]);
    }
    weft_program_release(program);
}

static void searches_are_known(void **state)
{
    (void)state;
    weft_tensor x = F32((2, 5), 3, 1, 4, 1.5F, 5, 2, 1, 7, 8, 2), indices;
    EXPECT(weft_top_k(x, -1, N(2), false, &indices), (2, 2), 5, 4, 8, 7);
    EXPECT(indices, (2, 2), 4, 2, 3, 2);
    EXPECT(weft_top_k(x, -1, N(2), true, NULL), (2, 2), 1, 1.5, 1, 2);
    EXPECT(weft_median(x, 1, false), (2), 3, 2);
    EXPECT(weft_quantile(F32((4), 1, 2, 3, 5), .5, 0, false), (), 2.5);
    EXPECT(weft_median(F32((3), 1, NAN, 3), 0, true), (1), NAN);
    EXPECT(weft_median(F32((2, 3), 2, INFINITY, 1, -INFINITY, INFINITY, 5), 1, false), (2), 2, 5);
    EXPECT(weft_median(F32((3, 2), 1, INFINITY, -3e38F, 3e38F, -INFINITY, INFINITY), 1, false), (3), INFINITY, 0, NAN);
    EXPECT(weft_quantile(F32((2, 2), -INFINITY, 1, -3e38F, 3e38F), 0, 1, false), (2), -INFINITY, -3e38F);
    EXPECT(weft_searchsorted(F32((4), 1, 2, 2, 3), F32((4), 2, 0, NAN, 3), false), (4), 1, 0, 4, 3);
    EXPECT(weft_searchsorted(F32((4), 1, 2, 2, 3), F32((4), 2, 0, NAN, 3), true), (4), 3, 0, 4, 4);
    EXPECT(weft_bincount(I64((5), 1, 0, 1, 7, -1), N(3), WEFT_NO_TENSOR), (3), 1, 2, 0);
    EXPECT(weft_histogram(F32((5), 0, 1, 2, NAN, 3), 2, 0, 2), (2), 1, 2);
    EXPECT(weft_histogram(F32((3), 0, 7, 7.5), 1, 7, 7), (1), 2);
    weft_tensor tenths = F32((11), 0, .1f, .2f, .3f, .4f, .5f, .6f, .7f, .8f, .9f, 1);
    EXPECT(weft_histogram(tenths, 10, 0, 1), (10), 1, 1, 1, 1, 1, 1, 1, 1, 1, 2);
    EXPECT(weft_histogram(weft_cast(tenths, WEFT_F16), 10, 0, 1), (10), 1, 1, 1, 1, 1, 1, 1, 1, 1, 2);
    EXPECT(weft_histogram(weft_cast(tenths, WEFT_BF16), 10, 0, 1), (10), 1, 1, 1, 1, 1, 1, 1, 1, 1, 2);
}

static void expect_inputs(weft_tensor y, size_t count)
{
    weft_program *program;
    weft_test_ok(weft_compile(y.graph, WEFT_TENSORS(y), NULL, &program));
    assert_int_equal(weft_program_input_count(program), count);
    weft_program_release(program);
}

static void expect_operands(int64_t extent)
{
    weft_graph *graph = NULL;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(extent, extent)),
                y = weft_input(graph, "y", WEFT_F32, WEFT_SHAPE(extent, extent)),
                v = weft_input(graph, "v", WEFT_F32, WEFT_SHAPE(extent)),
                i = weft_input(graph, "i", WEFT_I64, WEFT_SHAPE(extent)),
                q = weft_input(graph, "q", WEFT_F32, WEFT_SHAPE(extent, extent, extent)),
                w = weft_input(graph, "w", WEFT_F32, WEFT_SHAPE(extent, extent, 1)), counts, indices;
    const weft_class_options weighted = {.weights = v};
    const weft_norm_options scaled = {.scale = v};
    weft_tensor values = weft_unique(v, N(0), &counts), best = weft_top_k(v, 0, N(0), false, &indices);
    const struct made {
        weft_tensor tensor;
        size_t inputs;
    } made[] = {{weft_searchsorted(x, y, false), 2},
                {values, 1},
                {counts, 1},
                {best, 1},
                {indices, 1},
                {weft_bincount(i, N(0), v), 2},
                {weft_histogram(v, 1, 0, 1), 1},
                {weft_variance(v, WEFT_INTS(0), 1, false), 1},
                {weft_norm(v, WEFT_INTS(0), 0, false), 1},
                {weft_one_hot(i, N(0), WEFT_F32), 1},
                {weft_tile(v, WEFT_SHAPE(0)), 1},
                {weft_kron(x, v), 2},
                {weft_matmul(x, v), 2},
                {weft_lerp(x, y, v), 3},
                {weft_layer_norm(x, 1, &scaled), 2},
                {weft_attention(q, q, w, NULL), 2},
                {weft_embedding(x, i, 0), 2},
                {weft_cross_entropy(x, i, 1, &weighted), 3},
                {weft_cross_entropy(x, y, 1, &weighted), 3},
                {weft_conv(q, w, &(weft_conv_options){.bias = v}), 3},
                {weft_conv_transpose(q, w, &(weft_conv_options){.bias = v}), 3},
                {weft_resize(q, WEFT_SHAPE(0), NULL), 1},
                {weft_at(x, i), 2},
                {weft_set_at(x, y, WEFT_ALL), 2},
                {weft_set_at(x, y, WEFT_RANGE(1, 1)), 2},
                {weft_index_add(x, i, y, 0), 3}};
    for (size_t k = 0; k < sizeof made / sizeof *made; k++) expect_inputs(made[k].tensor, made[k].inputs);
    weft_graph_destroy(graph);
}

/* Whatever the extents: callers give arrays in the order of the inputs. */
static void operands_stay_inputs(void **state)
{
    (void)state;
    expect_operands(0);
    expect_operands(1);
}

/* What a search is given stays an input of the program, and has to fit, where there is nothing to search. */
static void empty_rows_are_searched(void **state)
{
    (void)state;
    weft_tensor row = weft_input(f.graph, "row", WEFT_F32, WEFT_SHAPE(0)),
                rows = weft_input(f.graph, "rows", WEFT_F32, WEFT_SHAPE(2, 0));
    expect_inputs(weft_searchsorted(row, f.v, false), 2);
    EXPECT(weft_searchsorted(weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(0)), F32((2), 1, NAN), true), (2), 0, 0);
    EXPECT(weft_searchsorted(weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(2, 0)), F32((1, 1), 1), true), (2, 1), 0, 0);
    expect_error(weft_searchsorted(rows, f.y, false), WEFT_SHAPE_MISMATCH,
                 "searchsorted: axis 0 of the values has extent 3 but axis 0 of the sorted operand has 2");
}

static void class_losses_are_known(void **state)
{
    (void)state;
    weft_tensor x = F32((2, 2), 0, 0, 1000, 0);
    EXPECT_NEAR(weft_cross_entropy(x, I64((2), 0, 1), 1, NULL), (), 1e-4, (0.6931472 + 1000) / 2);
    weft_class_options ignoring = {.ignores = true, .ignored = -100};
    EXPECT_NEAR(weft_cross_entropy(x, I64((2), 0, -100), 1, &ignoring), (), 1e-6, 0.6931472);
    weft_class_options each = {.weights = F32((2), 2, 3), .reduction = WEFT_REDUCTION_NONE};
    EXPECT(weft_nll_loss(F32((2, 2), -1, -2, -3, -4), I64((2), 0, 1), -1, &each), (2), 2, 12);
}

static void searches_refuse(void **state)
{
    (void)state;
    weft_tensor indices;
    expect_error(weft_quantile(f.y, 1.5, 0, false), WEFT_OUT_OF_RANGE, "quantile: the quantile is 1.5, not in [0, 1]");
    expect_error(weft_median(weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(0)), 0, false), WEFT_OUT_OF_RANGE,
                 "median: axis 0 has extent 0, below 1");
    expect_error(weft_top_k(f.y, 0, N(4), false, &indices), WEFT_OUT_OF_RANGE, "top_k: k is 4 but axis 0 has extent 3");
    assert_false(weft_tensor_is_valid(indices));
    expect_error(weft_searchsorted(f.v, f.d, false), WEFT_DTYPE_MISMATCH,
                 "searchsorted: the sorted operand has dtype f32 but the values have f64");
    expect_error(weft_searchsorted(f.y, f.v, false), WEFT_SHAPE_MISMATCH,
                 "searchsorted: the sorted operand has rank 2 but the values have 1");
    expect_error(weft_bincount(f.v, N(3), WEFT_NO_TENSOR), WEFT_DTYPE_MISMATCH,
                 "bincount: the operand has dtype f32 but must be an integer");
    expect_error(weft_histogram(f.v, 2, 1, 0), WEFT_INVALID_ARGUMENT,
                 "histogram: there are 2 bins from 1 to 0: low must not be above high, and neither may be NaN");
    expect_error(weft_histogram(f.v, INT64_MAX, 0, 1), WEFT_INVALID_ARGUMENT,
                 "histogram: there are 9223372036854775807 bins from 0 to 1: there may be 1 to 2^63 - 2");
    expect_error(weft_histogram(f.v, 2, -1e308, 1e308), WEFT_INVALID_ARGUMENT,
                 "histogram: there are 2 bins from -1e+308 to 1e+308: their distance must be finite");
    expect_error(weft_histogram(f.v, 2, INFINITY, INFINITY), WEFT_INVALID_ARGUMENT,
                 "histogram: there are 2 bins from inf to inf: their distance must be finite");
    expect_error(weft_histogram(f.v, 2, 1e17, 1e17), WEFT_INVALID_ARGUMENT,
                 "histogram: there are 2 bins from 1e+17 to 1e+17: low and high are equal, and so are low - 0.5 and "
                 "high + 0.5 in f64");
    expect_error(weft_diag(f.v, INT64_MIN), WEFT_OUT_OF_RANGE,
                 "diag: the diagonal is -9223372036854775808, below -(2^63 - 1)");
    expect_error(weft_arange(f.graph, WEFT_I64, 1e19, 1, N(2)), WEFT_INVALID_ARGUMENT,
                 "arange: start 1e+19 and step 1 must be integers of 64 bits for dtype i64");
    expect_error(weft_is_close(f.v, f.v, -1, 0), WEFT_INVALID_ARGUMENT,
                 "is_close: the tolerances are -1 and 0, but may not be negative or NaN");
    expect_error(weft_is_close(f.v, f.v, 0, NAN), WEFT_INVALID_ARGUMENT,
                 "is_close: the tolerances are 0 and nan, but may not be negative or NaN");
    expect_error(weft_leaky_relu(f.v, NAN), WEFT_INVALID_ARGUMENT, "leaky_relu: the slope is NaN");
    expect_error(weft_attention(f.y, f.y, f.y, &(weft_attention_options){.scale = NAN}), WEFT_INVALID_ARGUMENT,
                 "attention: the scale is NaN");
    expect_error(weft_cross_entropy(f.y, f.i, 0, NULL), WEFT_SHAPE_MISMATCH,
                 "cross_entropy: axis 0 of the target has extent 3, not 4");
    expect_error(weft_nll_loss(f.y, f.v, 1, NULL), WEFT_DTYPE_MISMATCH,
                 "nll_loss: the target has dtype f32 but must be an integer");
    expect_error(weft_nll_loss(f.v, f.i, 0, NULL), WEFT_SHAPE_MISMATCH, "nll_loss: the target has rank 1, not 0");
    expect_error(weft_cross_entropy(f.y, f.i, 1, &(weft_class_options){.weights = f.v}), WEFT_SHAPE_MISMATCH,
                 "cross_entropy: there are 3 weights for 4 classes");
    expect_error(weft_cross_entropy(f.y, f.v, 1, NULL), WEFT_SHAPE_MISMATCH,
                 "cross_entropy: the target has rank 1 but the operand 2");
    expect_error(weft_cross_entropy(f.y, f.i, 1, &(weft_class_options){.weights = f.y}), WEFT_SHAPE_MISMATCH,
                 "cross_entropy: the weights have rank 2, not 1");
    expect_error(weft_cross_entropy(f.y, f.i, 1, &(weft_class_options){.weights = f.d}), WEFT_DTYPE_MISMATCH,
                 "cross_entropy: the tensor of weights has dtype f64 but the operand has f32");
    expect_error(weft_searchsorted(weft_scalar(f.graph, WEFT_F32, 1), f.v, false), WEFT_SHAPE_MISMATCH,
                 "searchsorted: the sorted operand has rank 0 but needs at least 1");
    expect_error(weft_histogram(weft_lt(f.v, f.v), 2, 0, 1), WEFT_DTYPE_MISMATCH,
                 "histogram: the operand has dtype bool, which is not numeric");
    expect_error(weft_histogram(weft_scalar(f.graph, WEFT_C64, 1), 2, 0, 1), WEFT_DTYPE_MISMATCH,
                 "histogram: the operand has dtype c64, which has no order");
    expect_error(weft_is_close(f.i, f.i, 0, 0), WEFT_DTYPE_MISMATCH, "is_close: a has dtype i64 but must be a float");
}

int main(int argc, char **argv)
{
    runtime_count = (size_t)argc - 1;
    runtimes = argv + 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(polynomials_broadcast, set_up, tear_down),
        cmocka_unit_test_setup_teardown(matrices_multiply, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sums_of_powers_are_stable, set_up, tear_down),
        cmocka_unit_test_setup_teardown(moments_are_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(windows_are_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(activations_are_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(resizing_needs_elements, set_up, tear_down),
        cmocka_unit_test_setup_teardown(causal_offsets_have_any_size, set_up, tear_down),
        cmocka_unit_test_setup_teardown(searches_are_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_few_of_many_are_selected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_slice_is_not_all_that_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(operands_stay_inputs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(empty_rows_are_searched, set_up, tear_down),
        cmocka_unit_test_setup_teardown(transposes_are_cut_to_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(class_losses_are_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(searches_refuse, set_up, tear_down),
        cmocka_unit_test_setup_teardown(triangles_are_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(queries_that_see_nothing_give_zeros, set_up, tear_down),
        cmocka_unit_test_setup_teardown(weights_that_would_be_denormal_are_zero, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ends_are_exact, set_up, tear_down),
        cmocka_unit_test_setup_teardown(resizing_meets_whole_coordinates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(polygammas_have_known_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(depthwise_convolution_adds_in_f32, set_up, tear_down),
        cmocka_unit_test_setup_teardown(filling_refuses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shapes_refuse, set_up, tear_down),
        cmocka_unit_test_setup_teardown(chunks_of_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(errors_name_arguments_of_products_and_movement, set_up, tear_down),
        cmocka_unit_test_setup_teardown(errors_name_arguments_of_losses_and_norms, set_up, tear_down),
        cmocka_unit_test_setup_teardown(errors_name_arguments_of_networks_and_searches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_lists_are_joined, set_up, tear_down),
        cmocka_unit_test_setup_teardown(heads_have_masks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(axes_are_inside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ranks_are_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(errors_of_runs_name_the_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(empty_results_have_no_bad_places, set_up, tear_down),
        cmocka_unit_test_setup_teardown(errors_of_runs_name_the_line_of_a_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(statistics_refuse, set_up, tear_down),
        cmocka_unit_test_setup_teardown(windows_are_longer_than_an_extent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(errors_name_optional_operands, set_up, tear_down),
        cmocka_unit_test_setup_teardown(errors_name_extents_and_options, set_up, tear_down),
        cmocka_unit_test_setup_teardown(windows_refuse, set_up, tear_down),
        cmocka_unit_test_setup_teardown(networks_refuse, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
