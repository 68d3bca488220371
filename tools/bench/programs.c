/* SPDX-License-Identifier: Apache-2.0 */
#include "suite.h"

/* The programs of the suite, family by family. */

#define TRACE(name, result)                                                                                            \
    static weft_tensor name(const weft_tensor *in)                                                                     \
    {                                                                                                                  \
        return result;                                                                                                 \
    }
#define A in[0]
#define B in[1]
#define C in[2]

#define TRACE_ALL(name, ...)                                                                                           \
    static size_t name(const weft_tensor *in, weft_tensor *out)                                                        \
    {                                                                                                                  \
        const weft_tensor results[] = {__VA_ARGS__};                                                                   \
        for (size_t i = 0; i < sizeof results / sizeof *results; i++) out[i] = results[i];                             \
        return sizeof results / sizeof *results;                                                                       \
    }

/* ---- elementwise ---- */

static weft_tensor chain(weft_tensor x, int links)
{
    weft_tensor y = x;
    for (int i = 0; i < links; i += 4) y = weft_max(weft_mul(weft_add(weft_mul(y, 0.75), x), 0.5), -1);
    return y;
}

TRACE(add, weft_add(A, B))
TRACE(mul, weft_mul(A, B))
TRACE(chain_4, chain(A, 4))
TRACE(chain_16, chain(A, 16))
TRACE(add_turned, weft_add(A, weft_transpose(B, 0, 1)))
TRACE(to_f16, weft_cast(A, WEFT_F16))
TRACE(to_u8, weft_cast(A, WEFT_U8))
TRACE(to_i32, weft_cast(A, WEFT_I32))
TRACE(to_f32, weft_cast(A, WEFT_F32))
TRACE(mul_add, weft_add(weft_mul(A, B), C))
TRACE(remainder_of_7, weft_remainder(A, 7))
TRACE(both, weft_xor(weft_and(A, B), A))
TRACE(greater_one, weft_select(weft_gt(A, B), A, B))
TRACE(clamp, weft_clamp(A, -0.5, 0.5))
TRACE(is_finite, weft_is_finite(A))
TRACE(magnitude, weft_abs(A))
TRACE(shift, weft_shift_left(A, 3))
TRACE(divide, weft_div(A, B))
TRACE(square_root, weft_sqrt(A))

/* The inverses of 3 x 3, by cofactors. */
static weft_tensor cofactor(weft_tensor m, int row, int column)
{
    int a = (row + 1) % 3, b = (row + 2) % 3, c = (column + 1) % 3, d = (column + 2) % 3;
    return weft_sub(weft_mul(weft_at(m, WEFT_ALL, a, c), weft_at(m, WEFT_ALL, b, d)),
                    weft_mul(weft_at(m, WEFT_ALL, a, d), weft_at(m, WEFT_ALL, b, c)));
}

static weft_tensor inverse_3(const weft_tensor *in)
{
    weft_tensor rows[3], determinant = weft_mul(weft_at(A, WEFT_ALL, 0, 0), cofactor(A, 0, 0));
    for (int i = 1; i < 3; i++)
        determinant = weft_add(determinant, weft_mul(weft_at(A, WEFT_ALL, 0, i), cofactor(A, 0, i)));
    for (int i = 0; i < 3; i++)
        rows[i] = weft_stack(WEFT_TENSORS(cofactor(A, 0, i), cofactor(A, 1, i), cofactor(A, 2, i)), -1);
    weft_tensor adjugate = weft_stack(WEFT_TENSORS(rows[0], rows[1], rows[2]), -2);
    return weft_div(adjugate, weft_reshape(determinant, WEFT_SHAPE(WEFT_INFER, 1, 1)));
}

/* ---- functions ---- */

TRACE(sine, weft_sin(A))
TRACE(cosine, weft_cos(A))
TRACE(tangent, weft_tan(A))
TRACE(exponential, weft_exp(A))
TRACE(logarithm, weft_log(A))
TRACE(hyperbolic_tangent, weft_tanh(A))
TRACE(error_function, weft_erf(A))
TRACE(sigmoid, weft_sigmoid(A))
TRACE(silu, weft_silu(A))
TRACE(gelu, weft_gelu(A))
TRACE(softplus, weft_softplus(A))
TRACE(exponential_minus_1, weft_expm1(A))
TRACE(logarithm_of_1_plus, weft_log1p(A))
TRACE(cube_root, weft_cbrt(A))
TRACE(arc_tangent, weft_atan(A))
TRACE(arc_sine, weft_asin(A))
TRACE(hyperbolic_sine, weft_sinh(A))
TRACE(arc_tangent_2, weft_atan2(A, B))
TRACE(power, weft_pow(A, B))
TRACE(cube, weft_pow(A, 3))
TRACE(square, weft_pow(A, 2))
TRACE(inverse, weft_pow(A, -1))
TRACE(root, weft_pow(A, 0.5))
TRACE(inverse_root, weft_rsqrt(A))

/* ---- reductions ---- */

TRACE(sum_0, weft_reduce_sum(A, WEFT_INTS(0), false))
TRACE(sum_1, weft_reduce_sum(A, WEFT_INTS(1), false))
TRACE(sum_02, weft_reduce_sum(A, WEFT_INTS(0, 2), false))
TRACE(max_0, weft_reduce_max(A, WEFT_INTS(0), false))
TRACE(max_1, weft_reduce_max(A, WEFT_INTS(1), false))
TRACE(prod_1, weft_reduce_prod(A, WEFT_INTS(1), false))
TRACE(any_0, weft_reduce_any(A, WEFT_INTS(0), false))
TRACE(any_1, weft_reduce_any(A, WEFT_INTS(1), false))
TRACE(all_0, weft_reduce_all(A, WEFT_INTS(0), false))
TRACE(argmax_0, weft_argmax(A, 0, false))
TRACE(argmax_1, weft_argmax(A, 1, false))
TRACE(variance_0, weft_variance(A, WEFT_INTS(0), 0, false))
TRACE(variance_1, weft_variance(A, WEFT_INTS(1), 0, false))
TRACE(sum_of_squares, weft_reduce_sum(weft_mul(A, A), WEFT_INTS(0), false))
TRACE(count_positive, weft_count_nonzero(weft_gt(A, 0), WEFT_INTS(1), false))
TRACE(logsumexp_1, weft_logsumexp(A, WEFT_INTS(1), false))
TRACE(centred, weft_sub(A, weft_mean(A, WEFT_INTS(1), true)))
TRACE(mean_all, weft_mean(A, WEFT_INTS(0, 1), false))
TRACE(max_01, weft_reduce_max(A, WEFT_INTS(0, 1), false))
TRACE(variation, weft_mean(weft_abs(weft_sub(weft_at(A, WEFT_ALL, WEFT_RANGE(1, WEFT_OPEN)),
                                             weft_at(A, WEFT_ALL, WEFT_RANGE(0, -1)))),
                           WEFT_INTS(0, 1), false))

/* ---- scans ---- */

TRACE(cumsum_0, weft_cumsum(A, 0, false, false))
TRACE(cumsum_1, weft_cumsum(A, 1, false, false))
TRACE(cummax_1, weft_cummax(A, 1, false, false))
TRACE(cumprod_0, weft_cumprod(A, 0, false, false))

/* ---- movement ---- */

TRACE(transpose, weft_transpose(A, 0, 1))
TRACE(permute_0213, weft_permute(A, WEFT_INTS(0, 2, 1, 3)))
TRACE(permute_0231, weft_permute(A, WEFT_INTS(0, 2, 3, 1)))
TRACE(permute_201, weft_permute(A, WEFT_INTS(2, 0, 1)))
TRACE(concat_0, weft_concat(WEFT_TENSORS(A, B, C, in[3]), 0))
TRACE(concat_1, weft_concat(WEFT_TENSORS(A, B, C, in[3]), 1))
TRACE(stack, weft_stack(WEFT_TENSORS(A, B), -1))
TRACE(pad, weft_pad(A, 0, WEFT_SHAPE(1, 1), WEFT_SHAPE(1, 1)))
TRACE(every_second, weft_at(A, WEFT_ALL, WEFT_RANGE(0, WEFT_OPEN, 2)))
TRACE(interior, weft_at(A, WEFT_RANGE(12, 1012, 1), WEFT_RANGE(12, 1012, 1)))
TRACE(flip, weft_flip(A, WEFT_INTS(0, 1)))
TRACE(roll, weft_roll(A, WEFT_INTS(3, 5), WEFT_INTS(0, 1)))
TRACE(tile, weft_tile(A, WEFT_SHAPE(1, 100)))
TRACE(repeat_0, weft_repeat(A, 0, weft_extent_of(4)))
TRACE(repeat_1, weft_repeat(A, 1, weft_extent_of(4)))
TRACE(space_to_depth,
      weft_reshape(weft_permute(weft_reshape(A, WEFT_SHAPE(8, 32, 28, 2, 28, 2)), WEFT_INTS(0, 3, 5, 1, 2, 4)),
                   WEFT_SHAPE(8, 128, 28, 28)))
TRACE(lower_triangle, weft_tril(A, 0))

/* ---- indexing ---- */

TRACE(rows_of, weft_gather(A, B, 0))
TRACE(columns_of, weft_gather(A, B, 1))
TRACE(along_0, weft_take_along_axis(A, B, 0))
TRACE(along_1, weft_take_along_axis(A, B, 1))
TRACE(index_add, weft_index_add(A, B, C, 0))
TRACE(index_add_1, weft_index_add(A, B, C, 1))
TRACE(embedding_bag, weft_reduce_sum(weft_embedding(A, B, WEFT_NO_PADDING), WEFT_INTS(1), false))
TRACE(one_hot, weft_one_hot(A, weft_extent_of(1000), WEFT_F32))
TRACE(bincount, weft_bincount(A, weft_extent_of(1000), (weft_tensor){0}))

/* ---- sorting ---- */

TRACE(sort_0, weft_sort(A, 0, false))
TRACE(sort_1, weft_sort(A, 1, false))
TRACE(argsort_1, weft_argsort(A, 1, false))
TRACE(top_10, weft_top_k(A, 0, weft_extent_of(10), false, NULL))
TRACE(top_8, weft_top_k(A, 1, weft_extent_of(8), false, NULL))
TRACE(top_100, weft_top_k(A, 1, weft_extent_of(100), false, NULL))
TRACE(unique, weft_unique(A, weft_extent_of(1000), NULL))
TRACE(median, weft_median(A, 1, false))
TRACE(search, weft_searchsorted(A, B, false))

/* ---- norms ---- */

TRACE(softmax, weft_softmax(A, 1))
TRACE(softmax_0, weft_softmax(A, 0))
TRACE(log_softmax, weft_log_softmax(A, 1))
TRACE(layer_norm, weft_layer_norm(A, 1, &(weft_norm_options){.scale = B, .bias = C}))
TRACE(rms_norm, weft_rms_norm(A, 1, &(weft_norm_options){.scale = B}))
TRACE(batch_norm, weft_batch_norm(A, B, C, &(weft_norm_options){.scale = in[3], .bias = in[4]}))
TRACE(group_norm, weft_group_norm(A, 8, &(weft_norm_options){.scale = B, .bias = C}))
TRACE(cross_entropy, weft_cross_entropy(A, B, 1, &(weft_class_options){.reduction = WEFT_REDUCTION_MEAN}))

/* ---- attention ---- */

TRACE(attention, weft_attention(A, B, C, NULL))
TRACE(causal_attention, weft_attention(A, B, C, &(weft_attention_options){.causal = true}))
TRACE(masked_attention, weft_attention(A, B, C, &(weft_attention_options){.mask = in[3]}))

/* ---- windows ---- */

#define CONV(name, ...) TRACE(name, weft_conv(A, B, &(weft_conv_options){__VA_ARGS__}))
CONV(conv, .groups = 1)
CONV(conv_1, .low = WEFT_INTS(1, 1), .high = WEFT_INTS(1, 1))
CONV(conv_7_2, .stride = WEFT_INTS(2, 2), .low = WEFT_INTS(3, 3), .high = WEFT_INTS(3, 3))
CONV(depthwise, .low = WEFT_INTS(1, 1), .high = WEFT_INTS(1, 1), .groups = 128)
CONV(depthwise_2, .stride = WEFT_INTS(2, 2), .low = WEFT_INTS(1, 1), .high = WEFT_INTS(1, 1), .groups = 128)
CONV(grouped, .low = WEFT_INTS(1, 1), .high = WEFT_INTS(1, 1), .groups = 4)
CONV(conv_1d, .low = WEFT_INTS(2), .high = WEFT_INTS(2))
#undef CONV
TRACE(max_pool, weft_max_pool(A, &(weft_pool_options){.size = WEFT_INTS(3, 3),
                                                      .stride = WEFT_INTS(2, 2),
                                                      .low = WEFT_INTS(1, 1),
                                                      .high = WEFT_INTS(1, 1)}))
TRACE(average_pool, weft_average_pool(A, &(weft_pool_options){.size = WEFT_INTS(2, 2)}))
TRACE(global_pool, weft_mean(A, WEFT_INTS(2, 3), false))

/* Means of 3 x 3 bytes, in integers. */
static weft_tensor box_3(const weft_tensor *in)
{
    weft_tensor x = weft_cast(A, WEFT_I32);
    for (int axis = 0; axis < 2; axis++)
        x = weft_reduce_sum(weft_window(x, axis, weft_extent_of(3), 1, 1), WEFT_INTS(-1), false);
    return weft_cast(weft_div(x, 9), WEFT_U8);
}

/* ---- networks ---- */

static weft_tensor perceptron(const weft_tensor *in)
{
    weft_tensor h = weft_relu(weft_matmul(A, B));
    return weft_matmul(weft_relu(weft_matmul(h, C)), in[3]);
}

static weft_tensor rope(const weft_tensor *in)
{
    weft_tensor halves[2];
    weft_split(A, 2, 2, halves);
    weft_tensor cosines = weft_unsqueeze(B, 1), sines = weft_unsqueeze(C, 1);
    return weft_concat(WEFT_TENSORS(weft_sub(weft_mul(halves[0], cosines), weft_mul(halves[1], sines)),
                                    weft_add(weft_mul(halves[1], cosines), weft_mul(halves[0], sines))),
                       2);
}

/* Each number and the one after it are a pair. */
static weft_tensor rotate_pairs(const weft_tensor *in)
{
    weft_tensor pairs = weft_reshape(A, WEFT_SHAPE(512, 12, 32, 2));
    weft_tensor x = weft_at(pairs, WEFT_ALL, WEFT_ALL, WEFT_ALL, 0),
                y = weft_at(pairs, WEFT_ALL, WEFT_ALL, WEFT_ALL, 1);
    weft_tensor cosines = weft_unsqueeze(B, 1), sines = weft_unsqueeze(C, 1);
    weft_tensor turned = weft_stack(WEFT_TENSORS(weft_sub(weft_mul(x, cosines), weft_mul(y, sines)),
                                                 weft_add(weft_mul(y, cosines), weft_mul(x, sines))),
                                    -1);
    return weft_reshape(turned, WEFT_SHAPE(512, 12, 64));
}

static weft_tensor lstm_cell(const weft_tensor *in)
{
    weft_tensor gates[4];
    weft_split(weft_add(weft_matmul(A, C), weft_matmul(B, in[3])), 1, 4, gates);
    weft_tensor cell =
        weft_add(weft_mul(weft_sigmoid(gates[1]), in[4]), weft_mul(weft_sigmoid(gates[0]), weft_tanh(gates[2])));
    return weft_mul(weft_sigmoid(gates[3]), weft_tanh(cell));
}

static weft_tensor cosine_similarity(const weft_tensor *in)
{
    weft_tensor dots = weft_reduce_sum(weft_mul(A, B), WEFT_INTS(1), false);
    return weft_div(dots, weft_mul(weft_norm(A, WEFT_INTS(1), 2, false), weft_norm(B, WEFT_INTS(1), 2, false)));
}

TRACE(gelu_layers, weft_matmul(weft_gelu(weft_matmul(A, B)), C))
TRACE(swiglu, weft_matmul(weft_mul(weft_silu(weft_matmul(A, B)), weft_matmul(A, C)), in[3]))
TRACE(relu_softmax, weft_softmax(weft_relu(weft_add(weft_matmul(A, B), C)), 1))
TRACE(norm_and_product, weft_matmul(weft_layer_norm(A, 1, NULL), B))
TRACE(distances, weft_sub(weft_add(weft_reduce_sum(weft_mul(A, A), WEFT_INTS(1), true),
                                   weft_reduce_sum(weft_mul(B, B), WEFT_INTS(1), false)),
                          weft_mul(weft_matmul(A, weft_transpose(B, 0, 1)), 2)))

/* ---- products ---- */

TRACE(matmul, weft_matmul(A, B))
TRACE(matmul_tn, weft_matmul(weft_transpose(A, 0, 1), B))
TRACE(matmul_nt, weft_matmul(A, weft_transpose(B, 0, 1)))
TRACE(matmul_tt, weft_matmul(weft_transpose(A, 0, 1), weft_transpose(B, 0, 1)))
TRACE(gram, weft_matmul(weft_transpose(A, 0, 1), A))
TRACE(biased, weft_relu(weft_add(weft_matmul(A, B), C)))

#define SQUARE(type, n, family, times)                                                                                 \
    {                                                                                                                  \
        family, #type " " #n, #type " " #n "x" #n ";" #type " " #n "x" #n, matmul, 2.0 * (times) * (n) * (n) * (n)     \
    }
#define PRODUCT(name, a, b)                                                                                            \
    {                                                                                                                  \
        "einsum", name, a ";" b, NULL, 0                                                                               \
    }

/* ---- several results ---- */

TRACE_ALL(sin_and_cos, weft_sin(A), weft_cos(A))
TRACE_ALL(least_and_most, weft_reduce_min(A, WEFT_INTS(0), false), weft_reduce_max(A, WEFT_INTS(0), false))
TRACE_ALL(sums_and_squares, weft_reduce_sum(A, WEFT_INTS(1), false),
          weft_reduce_sum(weft_mul(A, A), WEFT_INTS(1), false))

static size_t gelu_and_gradient(const weft_tensor *in, weft_tensor *out)
{
    out[0] = weft_gelu(A);
    out[1] = weft_grad(weft_reduce_sum(out[0], WEFT_INTS(0), false), WEFT_TENSORS(A), NULL);
    return 2;
}

/* The parameter, its gradient, and what is remembered of it. */
static size_t adam(const weft_tensor *in, weft_tensor *out)
{
    const weft_tensor rate = weft_scalar(A.graph, WEFT_F32, 0.001), step = weft_scalar(A.graph, WEFT_I64, 9);
    out[0] = weft_adam(A, B, rate, step, C, in[3], NULL, &out[1], &out[2]);
    return 3;
}

static size_t momentum(const weft_tensor *in, weft_tensor *out)
{
    const weft_sgd_options options = {.momentum = 0.9};
    out[0] = weft_sgd(A, B, weft_scalar(A.graph, WEFT_F32, 0.001), C, &options, &out[1]);
    return 2;
}

static const weft_suite_program programs[] = {
    {"elementwise", "add 1k", "f32 1000; f32 1000", add, 0},
    {"elementwise", "add 4M", "f32 4194304; f32 4194304", add, 0},
    {"elementwise", "chain 16 1k", "f32 1000", chain_16, 0},
    {"elementwise", "chain 4 64k", "f32 65536", chain_4, 0},
    {"elementwise", "chain 16 4M", "f32 4194304", chain_16, 0},
    {"elementwise", "broadcast column", "f32 2048x2048; f32 2048x1", add, 0},
    {"elementwise", "broadcast row", "f32 2048x2048; f32 2048", mul, 0},
    {"elementwise", "channel bias", "f32 32x64x28x28; f32 64x1x1", add, 0},
    {"elementwise", "narrow column", "f32 262144x4; f32 262144x1", mul, 0},
    {"elementwise", "outer", "f32 2048x1; f32 2048", mul, 0},
    {"elementwise", "plus transpose", "f32 1024x1024; f32 1024x1024", add_turned, 0},
    {"elementwise", "f32 to f16", "f32 4194304", to_f16, 0},
    {"elementwise", "f32 to u8", "f32 4194304 below 256", to_u8, 0},
    {"elementwise", "f32 to i32", "f32 4194304 times 1000", to_i32, 0},
    {"elementwise", "i64 to f32", "i64 1048576 below 1000", to_f32, 0},
    {"elementwise", "bf16 a*b+c", "bf16 1048576; bf16 1048576; bf16 1048576", mul_add, 0},
    {"elementwise", "f64 a*b+c", "f64 1048576; f64 1048576; f64 1048576", mul_add, 0},
    {"elementwise", "f32 a/b", "f32 1048576; f32 1048576 positive", divide, 0},
    {"elementwise", "i32 remainder of 7", "i32 1048576 below 100000", remainder_of_7, 0},
    {"elementwise", "u8 add", "u8 4194304 below 256; u8 4194304 below 256", add, 0},
    {"elementwise", "bool and, xor", "bool 4194304 below 2; bool 4194304 below 2", both, 0},
    {"elementwise", "select", "f32 1048576; f32 1048576", greater_one, 0},
    {"elementwise", "clamp", "f32 1048576", clamp, 0},
    {"elementwise", "is_finite", "f32 1048576", is_finite, 0},
    {"elementwise", "c64 a*b", "c64 262144; c64 262144", mul, 0},
    {"elementwise", "c64 abs", "c64 262144", magnitude, 0},
    {"elementwise", "i32 shift", "i32 1048576 below 1000", shift, 0},
    {"elementwise", "sqrt", "f32 1048576 positive", square_root, 0},
    {"elementwise", "inverses of 3 x 3", "f64 20000x3x3 positive", inverse_3, 0},

    {"functions", "sin", "f32 262144 times 10", sine, 0},
    {"functions", "sin of large", "f32 262144 times 1000000", sine, 0},
    {"functions", "cos", "f32 262144 times 10", cosine, 0},
    {"functions", "tan", "f32 262144 times 10", tangent, 0},
    {"functions", "exp", "f32 262144 times 10", exponential, 0},
    {"functions", "log", "f32 262144 positive", logarithm, 0},
    {"functions", "tanh", "f32 262144 times 4", hyperbolic_tangent, 0},
    {"functions", "erf", "f32 262144 times 3", error_function, 0},
    {"functions", "sigmoid", "f32 262144 times 8", sigmoid, 0},
    {"functions", "silu", "f32 1048576 times 8", silu, 0},
    {"functions", "sin and cos", "f32 1048576 times 4", .trace_all = sin_and_cos},
    {"functions", "gelu", "f32 1048576 times 4", gelu, 0},
    {"functions", "softplus", "f32 262144 times 8", softplus, 0},
    {"functions", "expm1", "f32 262144", exponential_minus_1, 0},
    {"functions", "log1p", "f32 262144 positive", logarithm_of_1_plus, 0},
    {"functions", "cbrt", "f32 262144 times 100", cube_root, 0},
    {"functions", "atan", "f32 262144 times 10", arc_tangent, 0},
    {"functions", "asin", "f32 262144", arc_sine, 0},
    {"functions", "sinh", "f32 262144 times 4", hyperbolic_sine, 0},
    {"functions", "atan2", "f32 262144; f32 262144", arc_tangent_2, 0},
    {"functions", "pow", "f32 262144 positive; f32 262144 times 4", power, 0},
    {"functions", "pow 3", "f32 262144", cube, 0},
    {"functions", "pow 2", "f32 262144", square, 0},
    {"functions", "pow -1", "f32 262144 positive", inverse, 0},
    {"functions", "pow 0.5", "f32 262144 positive", root, 0},
    {"functions", "rsqrt", "f32 262144 positive", inverse_root, 0},
    {"functions", "exp f64", "f64 262144 times 10", exponential, 0},
    {"functions", "log f64", "f64 262144 positive", logarithm, 0},
    {"functions", "sin f64", "f64 262144 times 10", sine, 0},
    {"functions", "tanh f64", "f64 262144 times 4", hyperbolic_tangent, 0},
    {"functions", "pow f64", "f64 262144 positive; f64 262144 times 4", power, 0},
    {"functions", "exp c64", "c64 262144", exponential, 0},
    {"functions", "silu bf16", "bf16 1048576 times 8", silu, 0},
    {"functions", "exp f16", "f16 262144 times 8", exponential, 0},

    {"reductions", "sum of rows", "f32 2048x2048", sum_1, 0},
    {"reductions", "sum of columns", "f32 2048x2048", sum_0, 0},
    {"reductions", "sum of all", "f32 4194304", sum_0, 0},
    {"reductions", "min and max of all", "f32 4194304", .trace_all = least_and_most},
    {"reductions", "sums and squares of rows", "f32 2048x1024", .trace_all = sums_and_squares},
    {"reductions", "sum over 0, 2", "f32 64x256x256", sum_02, 0},
    {"reductions", "sum over 1", "f32 64x256x256", sum_1, 0},
    {"reductions", "max of rows", "f32 2048x2048", max_1, 0},
    {"reductions", "max of columns", "f32 2048x2048", max_0, 0},
    {"reductions", "max over 1", "f32 64x256x256", max_1, 0},
    {"reductions", "max of all, u8", "u8 4194304 below 256", max_0, 0},
    {"reductions", "max of rows, bf16", "bf16 1024x4096", max_1, 0},
    {"reductions", "max of rows, u8", "u8 2048x2048 below 256", max_1, 0},
    {"reductions", "sum of rows, f64", "f64 1024x1024", sum_1, 0},
    {"reductions", "sum of columns, i32", "i32 1024x1024 below 1000", sum_0, 0},
    {"reductions", "sum of rows, bf16", "bf16 1024x4096", sum_1, 0},
    {"reductions", "sum of rows, c64", "c64 1024x1024", sum_1, 0},
    {"reductions", "sum of 262144 x 4", "f32 262144x4", sum_1, 0},
    {"reductions", "sum of 16 x 65536", "f32 16x65536", sum_0, 0},
    {"reductions", "sum of 32 x 32", "f32 32x32", sum_1, 0},
    {"reductions", "product of rows", "f32 1024x1024", prod_1, 0},
    {"reductions", "any of columns", "bool 2048x2048 below 1", any_0, 0},
    {"reductions", "any of rows", "bool 2048x2048 below 1", any_1, 0},
    {"reductions", "all of 100000 x 10", "bool 100000x10 below 2", all_0, 0},
    {"reductions", "argmax of rows", "f32 2048x2048", argmax_1, 0},
    {"reductions", "argmax of columns", "f32 2048x2048", argmax_0, 0},
    {"reductions", "variance of rows", "f32 2048x2048", variance_1, 0},
    {"reductions", "variance of columns", "f32 2048x2048", variance_0, 0},
    {"reductions", "sum of squares", "f32 4194304", sum_of_squares, 0},
    {"reductions", "positive ones of rows", "f32 2048x2048", count_positive, 0},
    {"reductions", "logsumexp of rows", "f32 2048x1024 times 4", logsumexp_1, 0},
    {"reductions", "rows less their mean", "f32 4096x100", centred, 0},
    {"reductions", "mean of all", "f32 1024x1024", mean_all, 0},
    {"reductions", "max of channels last", "f32 512x512x3", max_01, 0},
    {"reductions", "mean of steps along rows", "f32 512x512", variation, 0},

    {"scans", "cumsum of rows", "f32 2048x2048", cumsum_1, 0},
    {"scans", "cumsum of columns", "f32 2048x2048", cumsum_0, 0},
    {"scans", "cumsum 1M", "f32 1048576", cumsum_0, 0},
    {"scans", "cumsum of rows, i32", "i32 1024x1024 below 1000", cumsum_1, 0},
    {"scans", "cumsum of rows, f64", "f64 1024x1024", cumsum_1, 0},
    {"scans", "cummax of rows", "f32 1024x1024", cummax_1, 0},
    {"scans", "cumprod of columns", "f32 1024x1024 positive", cumprod_0, 0},

    {"movement", "transpose", "f32 2048x2048", transpose, 0},
    {"movement", "transpose u8", "u8 2048x2048 below 256", transpose, 0},
    {"movement", "transpose 65536 x 8", "f32 65536x8", transpose, 0},
    {"movement", "transpose 262144 x 3, u8", "u8 262144x3 below 256", transpose, 0},
    {"movement", "permute 0213", "f32 32x128x12x64", permute_0213, 0},
    {"movement", "permute 0231", "f32 32x128x12x64", permute_0231, 0},
    {"movement", "permute 201, bf16", "bf16 256x256x64", permute_201, 0},
    {"movement", "concat of columns", "f32 1024x512; f32 1024x512; f32 1024x512; f32 1024x512", concat_1, 0},
    {"movement", "concat of rows", "f32 512x1024; f32 512x1024; f32 512x1024; f32 512x1024", concat_0, 0},
    {"movement", "stack last", "f32 1024x512; f32 1024x512", stack, 0},
    {"movement", "pad", "f32 1022x1022", pad, 0},
    {"movement", "every second", "f32 2048x2048", every_second, 0},
    {"movement", "interior", "f32 1024x1024", interior, 0},
    {"movement", "flip", "f32 2048x2048", flip, 0},
    {"movement", "roll", "f32 2048x2048", roll, 0},
    {"movement", "tile", "f32 1000x3", tile, 0},
    {"movement", "repeat rows", "f32 512x1024", repeat_0, 0},
    {"movement", "repeat columns", "f32 512x1024", repeat_1, 0},
    {"movement", "space to depth", "f32 8x32x56x56", space_to_depth, 0},
    {"movement", "lower triangle", "f32 2048x2048", lower_triangle, 0},

    {"indexing", "rows", "f32 30000x256; i64 8192 below 30000", rows_of, 0},
    {"indexing", "columns", "f32 2048x2048; i64 256 below 2048", columns_of, 0},
    {"indexing", "3 of 8 columns", "f32 100000x8; i64 3 below 8", columns_of, 0},
    {"indexing", "elements", "f32 4096; i32 65536 below 4096", rows_of, 0},
    {"indexing", "elements of 1M", "f32 1048576; i64 1048576 below 1048576", rows_of, 0},
    {"indexing", "along columns", "f32 1024x1024; i64 1024x1024 below 1024", along_0, 0},
    {"indexing", "along rows", "f32 1024x1024; i64 1024x1024 below 1024", along_1, 0},
    {"indexing", "add at 1M", "f32 65536; i64 1048576 below 65536; f32 1048576", index_add, 0},
    {"indexing", "add rows", "f32 4096x128; i64 16384 below 4096; f32 16384x128", index_add, 0},
    {"indexing", "add columns", "f32 1000x1000; i64 1000 below 1000; f32 1000x1000", index_add_1, 0},
    {"indexing", "embedding", "f32 30522x768; i64 32x128 below 30522", rows_of, 0},
    {"indexing", "embedding bag", "f32 30000x128; i64 1024x32 below 30000", embedding_bag, 0},
    {"indexing", "one_hot", "i64 4096 below 1000", one_hot, 0},
    {"indexing", "bincount", "i64 1048576 below 1000", bincount, 0},

    {"sorting", "sort 64k", "f32 65536", sort_0, 0},
    {"sorting", "sort 1M", "f32 1048576", sort_0, 0},
    {"sorting", "sort of rows", "f32 1024x1024", sort_1, 0},
    {"sorting", "sort of rows of 16", "f32 65536x16", sort_1, 0},
    {"sorting", "sort of columns", "f32 1024x1024", sort_0, 0},
    {"sorting", "sort of long columns", "f32 100000x10", sort_0, 0},
    {"sorting", "sort 1M, u8", "u8 1048576 below 256", sort_0, 0},
    {"sorting", "sort 1M, i64", "i64 1048576 below 1000000000", sort_0, 0},
    {"sorting", "sort of the sorted", "f32 1048576 rising", sort_0, 0},
    {"sorting", "sort 1M, few values", "f32 1048576 below 16", sort_0, 0},
    {"sorting", "sort 1M, half NaN", "f32 1048576 partial", sort_0, 0},
    {"sorting", "argsort of rows", "f32 1024x1024", argsort_1, 0},
    {"sorting", "10 largest of 1M", "f32 1048576", top_10, 0},
    {"sorting", "8 largest of rows of 64", "f32 4096x64", top_8, 0},
    {"sorting", "100 largest of rows", "f32 1000x1000", top_100, 0},
    {"sorting", "unique", "i64 100000 below 1000", unique, 0},
    {"sorting", "median of rows", "f32 1024x1024", median, 0},
    {"sorting", "search", "f32 4096 rising; f32 262144 positive", search, 0},

    {"norms", "softmax 2048 x 1024", "f32 2048x1024 times 4", softmax, 0},
    {"norms", "softmax 256 x 50257", "f32 256x50257 times 4", softmax, 0},
    {"norms", "softmax of channels", "f32 8x21x128x128 times 4", softmax, 0},
    {"norms", "softmax of columns", "f32 1024x1024 times 4", softmax_0, 0},
    {"norms", "softmax f64", "f64 512x1024 times 4", softmax, 0},
    {"norms", "log_softmax", "f32 2048x1024 times 4", log_softmax, 0},
    {"norms", "layer norm", "f32 2048x1024; f32 1024; f32 1024", layer_norm, 0},
    {"norms", "layer norm of 64", "f32 16384x64; f32 64; f32 64", layer_norm, 0},
    {"norms", "layer norm bf16", "bf16 1024x1024; bf16 1024; bf16 1024", layer_norm, 0},
    {"norms", "rms norm", "f32 2048x1024; f32 1024", rms_norm, 0},
    {"norms", "batch norm", "f32 32x64x28x28; f32 64; f32 64 positive; f32 64; f32 64", batch_norm, 0},
    {"norms", "group norm", "f32 8x64x56x56; f32 64; f32 64", group_norm, 0},
    {"norms", "cross entropy", "f32 512x10000 times 4; i64 512 below 10000", cross_entropy, 0},

    {"attention", "12 heads of 512 x 64", "f32 1x12x512x64; f32 1x12x512x64; f32 1x12x512x64", attention,
     4.0 * 12 * 512 * 512 * 64},
    {"attention", "causal", "f32 1x12x512x64; f32 1x12x512x64; f32 1x12x512x64", causal_attention,
     2.0 * 12 * 512 * 512 * 64},
    {"attention", "mask", "f32 1x4x1024x128; f32 1x4x1024x128; f32 1x4x1024x128; f32 1024x1024", masked_attention,
     4.0 * 4 * 1024 * 1024 * 128},
    {"attention", "one query", "f32 1x12x1x64; f32 1x12x512x64; f32 1x12x512x64", attention, 0},
    {"attention", "grouped heads", "f32 1x16x256x64; f32 1x4x256x64; f32 1x4x256x64", attention,
     4.0 * 16 * 256 * 256 * 64},
    {"attention", "short", "f32 32x8x32x32; f32 32x8x32x32; f32 32x8x32x32", attention, 4.0 * 256 * 32 * 32 * 32},
    {"attention", "length 4096", "f32 1x1x4096x64; f32 1x1x4096x64; f32 1x1x4096x64", attention,
     4.0 * 4096 * 4096 * 64},

    {"windows", "3x3, 128 channels of 28", "f32 8x128x28x28; f32 128x128x3x3", conv_1, 2.0 * 8 * 784 * 128 * 128 * 9},
    {"windows", "3x3, 64 channels of 56", "f32 1x64x56x56; f32 64x64x3x3", conv_1, 2.0 * 3136 * 64 * 64 * 9},
    {"windows", "1x1", "f32 1x256x56x56; f32 64x256x1x1", conv, 2.0 * 3136 * 64 * 256},
    {"windows", "7x7 stride 2", "f32 1x3x224x224; f32 64x3x7x7", conv_7_2, 2.0 * 112 * 112 * 64 * 3 * 49},
    {"windows", "3x3, 16 channels of 16", "f32 1x16x16x16; f32 16x16x3x3", conv_1, 2.0 * 256 * 16 * 16 * 9},
    {"windows", "grouped", "f32 1x128x28x28; f32 128x32x3x3", grouped, 2.0 * 784 * 128 * 32 * 9},
    {"windows", "depthwise", "f32 1x128x56x56; f32 128x1x3x3", depthwise, 0},
    {"windows", "depthwise stride 2", "f32 1x128x56x56; f32 128x1x3x3", depthwise_2, 0},
    {"windows", "1-D, 5", "f32 16x64x1000; f32 64x64x5", conv_1d, 2.0 * 16 * 1000 * 64 * 64 * 5},
    {"windows", "max pool", "f32 1x64x112x112", max_pool, 0},
    {"windows", "average pool", "f32 8x64x56x56", average_pool, 0},
    {"windows", "global pool", "f32 8x512x7x7", global_pool, 0},
    {"windows", "box of 3x3, u8", "u8 1024x1024 below 256", box_3, 0},

    {"networks", "784-512-512-10, 32 rows", "f32 32x784; f32 784x512; f32 512x512; f32 512x10", perceptron,
     2.0 * 32 * (784 * 512 + 512 * 512 + 512 * 10)},
    {"networks", "784-512-512-10, 1 row", "f32 1x784; f32 784x512; f32 512x512; f32 512x10", perceptron, 0},
    {"networks", "product, relu, softmax", "f32 64x256; f32 256x256; f32 256", relu_softmax, 2.0 * 64 * 256 * 256},
    {"networks", "768-3072-768 gelu", "f32 128x768; f32 768x3072; f32 3072x768", gelu_layers, 4.0 * 128 * 768 * 3072},
    {"networks", "swiglu", "f32 128x512; f32 512x1365; f32 512x1365; f32 1365x512", swiglu, 6.0 * 128 * 512 * 1365},
    {"networks", "norm, product", "f32 512x512; f32 512x512", norm_and_product, 2.0 * 512 * 512 * 512},
    {"networks", "LSTM cell", "f32 64x256; f32 64x256; f32 256x1024; f32 256x1024; f32 64x256", lstm_cell,
     4.0 * 64 * 256 * 1024},
    {"networks", "cosine similarity", "f32 4096x256; f32 4096x256", cosine_similarity, 0},
    {"networks", "rotary embedding", "f32 512x12x64; f32 512x32; f32 512x32", rope, 0},
    {"networks", "rotation of pairs", "f32 512x12x64; f32 512x32; f32 512x32", rotate_pairs, 0},
    {"networks", "Adam", "f32 1048576; f32 1048576; f32 1048576; f32 1048576 positive", .trace_all = adam},
    {"networks", "SGD with momentum", "f32 1048576; f32 1048576; f32 1048576", .trace_all = momentum},
    {"networks", "gelu and gradient", "f32 1048576 times 4", .trace_all = gelu_and_gradient},
    {"networks", "distances", "f32 1024x64; f32 1024x64", distances, 2.0 * 1024 * 1024 * 64},

    SQUARE(f32, 64, "products", 1),
    SQUARE(f32, 128, "products", 1),
    SQUARE(f32, 256, "products", 1),
    SQUARE(f32, 512, "products", 1),
    SQUARE(f32, 1024, "products", 1),
    SQUARE(f32, 3000, "products", 1),
    SQUARE(f64, 64, "products", 1),
    SQUARE(f64, 256, "products", 1),
    SQUARE(f64, 512, "products", 1),
    SQUARE(c64, 128, "products", 4),
    SQUARE(c64, 512, "products", 4),
    SQUARE(bf16, 512, "products", 1),
    {"products", "bf16 512, fast", "bf16 512x512; bf16 512x512", matmul, 0, WEFT_PRODUCTS_FAST},
    {"products", "128 x 768 x 768, fast", "bf16 128x768; bf16 768x768", matmul, 0, WEFT_PRODUCTS_FAST},
    SQUARE(f16, 256, "products", 1),
    SQUARE(i32, 256, "products", 1),
    {"products", "128 x 768 x 768", "f32 128x768; f32 768x768", matmul, 2.0 * 128 * 768 * 768},
    {"products", "300 x 200 x 100", "f32 300x200; f32 200x100", matmul, 2.0 * 300 * 200 * 100},
    {"products", "4 of 256", "f32 4x256x256; f32 4x256x256", matmul, 8.0 * 256 * 256 * 256},
    {"products", "32 of 128", "f32 32x128x128; f32 32x128x128", matmul, 64.0 * 128 * 128 * 128},
    {"products", "32 of 64, c64", "c64 32x64x64; c64 32x64x64", matmul, 256.0 * 64 * 64 * 64},
    {"products", "A.T B 384", "f32 384x384; f32 384x384", matmul_tn, 2.0 * 384 * 384 * 384},
    {"products", "A B.T 384", "f32 384x384; f32 384x384", matmul_nt, 2.0 * 384 * 384 * 384},
    {"products", "A.T B.T 384", "f32 384x384; f32 384x384", matmul_tt, 2.0 * 384 * 384 * 384},
    {"products", "gram 10000 x 64", "f32 10000x64", gram, 2.0 * 10000 * 64 * 64},
    {"products", "bias, relu 512", "f32 512x512; f32 512x512; f32 512", biased, 2.0 * 512 * 512 * 512},

    SQUARE(f32, 8, "small products", 1),
    SQUARE(f32, 16, "small products", 1),
    SQUARE(f32, 20, "small products", 1),
    SQUARE(f32, 25, "small products", 1),
    SQUARE(f32, 32, "small products", 1),
    SQUARE(f32, 33, "small products", 1),
    SQUARE(f32, 40, "small products", 1),
    SQUARE(f32, 56, "small products", 1),
    SQUARE(f32, 96, "small products", 1),
    SQUARE(f64, 16, "small products", 1),
    SQUARE(f64, 32, "small products", 1),
    SQUARE(c64, 32, "small products", 4),
    SQUARE(bf16, 32, "small products", 1),
    {"small products", "128 of 8", "f32 128x8x8; f32 128x8x8", matmul, 256.0 * 8 * 8 * 8},
    {"small products", "128 of 16", "f32 128x16x16; f32 128x16x16", matmul, 256.0 * 16 * 16 * 16},
    {"small products", "bias, relu 64", "f32 64x64; f32 64x64; f32 64", biased, 2.0 * 64 * 64 * 64},

    {"skinny products", "1 x 784 x 512", "f32 1x784; f32 784x512", matmul, 0},
    {"skinny products", "4 x 784 x 512", "f32 4x784; f32 784x512", matmul, 0},
    {"skinny products", "16 x 784 x 512", "f32 16x784; f32 784x512", matmul, 2.0 * 16 * 784 * 512},
    {"skinny products", "2048 x 512 x 1", "f32 2048x512; f32 512x1", matmul, 0},
    {"skinny products", "2048 x 512 x 4", "f32 2048x512; f32 512x4", matmul, 0},
    {"skinny products", "2048 x 512 x 16", "f32 2048x512; f32 512x16", matmul, 2.0 * 2048 * 512 * 16},
    {"skinny products", "vector 1024", "f32 1024; f32 1024x1024", matmul, 0},
    {"skinny products", "vector 4096", "f32 4096; f32 4096x4096", matmul, 0},
    {"skinny products", "1024 by vector", "f32 1024x1024; f32 1024", matmul, 0},
    {"skinny products", "512 by vector, f64", "f64 512x512; f64 512", matmul, 0},
    {"skinny products", "2048 by vector, bf16", "bf16 2048x2048; bf16 2048", matmul, 0},
    {"skinny products", "64 of 256 by vector", "f32 64x256x256; f32 64x256x1", matmul, 0},
    {"skinny products", "4096 x 512 x 8", "f32 4096x512; f32 512x8", matmul, 2.0 * 4096 * 512 * 8},
    {"skinny products", "8 x 512 x 4096", "f32 8x512; f32 512x4096", matmul, 2.0 * 4096 * 512 * 8},
    {"skinny products", "65536 x 3 x 3", "f32 65536x3; f32 3x3", matmul, 0},
    {"skinny products", "4 x 2048 by (2048 x 2048).T", "f32 4x2048; f32 2048x2048", matmul_nt, 0},

    {"einsum", "abcdef,fg->gdbeac", "f32 16x16x8x8x4x16; f32 16x16", NULL, 0},
    {"einsum", "ikb,kjb->ijb", "f32 32x32x64; f32 32x32x64", NULL, 0},
    {"einsum", "abk,cdk->abcd", "f32 24x24x4; f32 24x24x4", NULL, 0},
    {"einsum", "abk,kcd->acbd", "f32 32x32x36; f32 36x32x32", NULL, 0},
    {"einsum", "ib,jb,b->ij", "f32 256x128; f32 256x128; f32 128", NULL, 0},
    {"einsum", "iij->ij", "f32 256x256x64", NULL, 0},
    {"einsum", "ikac,kjcb->ijab", "f32 16x32x16x32; f32 32x16x32x16", NULL, 0},
    {"einsum", "abx,xyz,cbz->ayc", "f32 32x2x32; f32 32x2x32; f32 32x2x32", NULL, 0},
    {"einsum", "bi,oij,bj->bo", "f32 64x64; f32 64x64x64; f32 64x64", NULL, 0},
    {"einsum", "ij,ij->", "f32 1024x1024; f32 1024x1024", NULL, 0},
    {"einsum", "ij->j", "f32 1024x1024", NULL, 0},
    {"einsum", "bi,bj->bij", "f32 64x128; f32 64x128", NULL, 0},
    {"einsum", "ib,ijb->jb", "f32 128x64; f32 128x128x64", NULL, 0},
    {"einsum", "ijkl,jk->il", "f32 48x48x48x48; f32 48x48", NULL, 0},
    {"einsum", "bqhd,bkhd->bhqk", "f32 2x128x12x64; f32 2x128x12x64", NULL, 0},
    {"einsum", "dbea,ec->abcd", "f32 24x42x48x48; f32 48x12", NULL, 0},
    {"einsum", "deca,be->abcd", "f32 24x48x42x48; f32 12x48", NULL, 0},
    {"einsum", "dfgb,geac->abcdef", "f32 12x12x12x10; f32 12x10x12x10", NULL, 0},
    {"einsum", "ea,ebcd->abcd", "f32 48x48; f32 48x42x42x42", NULL, 0},
    {"einsum", "adec,ebd->abc", "f32 48x42x48x42; f32 48x42x42", NULL, 0},
    {"einsum", "acd,db->abc", "f32 192x188x188; f32 188x192", NULL, 0},
    {"einsum", "efbad,cf->abcde", "f32 24x18x18x24x12; f32 18x18", NULL, 0},
    {"einsum", "eafd,fbec->abcd", "f32 48x48x48x42; f32 48x42x48x42", NULL, 0},
};

size_t weft_suite_count(void)
{
    return sizeof programs / sizeof *programs;
}

const weft_suite_program *weft_suite_at(size_t index)
{
    return index < weft_suite_count() ? &programs[index] : NULL;
}
