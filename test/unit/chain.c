/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>
#include <weft/conv.h>
#include <weft/elementwise.h>
#include <weft/executor.h>
#include <weft/linear.h>
#include <weft/machine.h>
#include <weft/nn.h>
#include <weft/operand.h>
#include <weft/ops.h>
#include <weft/program.h>
#include <weft/region.h>
#include <weft/shape.h>
#include "test/rng.h"
#include "test/support.h"

/*
 * Chains of steps that run strip by strip have the same bits as without strips, and need less memory, as a rule: whole
 * intermediates may have the place of others. A machine with small caches cuts what is small, one with large caches
 * cuts nothing.
 */

enum { MOST_INPUTS = 4, MOST_OUTPUTS = 2 };

typedef struct traced {
    weft_graph *graph;
    weft_dtype dtype;
    weft_extent rows;
    weft_tensor outputs[MOST_OUTPUTS];
    size_t count;
} traced;

typedef struct chain_case {
    const char *name;
    void (*trace)(traced *t);
    weft_dtype dtype;
    int64_t rows;    /* of the symbol n; 0: there is none */
    bool has_strips; /* with small caches */
} chain_case;

static weft_tensor input(const traced *t, const char *name, weft_shape shape)
{
    return weft_cast(weft_input(t->graph, name, WEFT_F32, shape), t->dtype);
}

static void put_out(traced *t, weft_tensor x)
{
    t->outputs[t->count++] = x;
}

/* ---- programs ---- */

static void trace_attention(traced *t)
{
    weft_tensor q = input(t, "q", WEFT_SHAPE(3, 2, 150, 40)), k = input(t, "k", WEFT_SHAPE(3, 2, 64, 40));
    put_out(t, weft_attention(q, k, input(t, "v", WEFT_SHAPE(3, 2, 64, 48)), NULL));
}

/* The sum of all takes two kernels, of which the second cannot be moved before the attention. */
static void trace_attention_and_sums(traced *t)
{
    weft_tensor q = input(t, "q", WEFT_SHAPE(3, 2, 250, 40)), k = input(t, "k", WEFT_SHAPE(3, 2, 64, 40));
    weft_tensor y = weft_attention(q, k, input(t, "v", WEFT_SHAPE(3, 2, 64, 48)), NULL);
    put_out(t, weft_reduce_sum(y, WEFT_INTS(0, 1, 2, 3), false));
    put_out(t, weft_reduce_sum(weft_mul(y, y), WEFT_INTS(3), false));
}

/* What is made of one product goes into two others, of which one sums over its rows: a strip is whole matrices. */
static void trace_three_products(traced *t)
{
    weft_tensor x = input(t, "x", WEFT_SHAPE(6, 90, 40)), y = input(t, "y", WEFT_SHAPE(6, 90, 40));
    weft_tensor weights = weft_softmax(weft_matmul(x, weft_permute(y, WEFT_INTS(0, 2, 1))), -1);
    put_out(t, weft_matmul(weights, y));
    put_out(t, weft_matmul(weft_permute(weights, WEFT_INTS(0, 2, 1)), x));
}

static void trace_masked_attention(traced *t)
{
    weft_tensor q = input(t, "q", WEFT_SHAPE(5, 130, 40)), k = input(t, "k", WEFT_SHAPE(5, 130, 40));
    put_out(t, weft_attention(q, k, input(t, "v", WEFT_SHAPE(5, 130, 48)), &(weft_attention_options){.causal = true}));
}

/* Values that hidden weights, which are zero, change a result with: zero times infinity is NaN, and the sum of -0 and 0
 * is 0. */
static weft_tensor values_of(const traced *t, float first, float last)
{
    enum { KEYS = 300, DEPTH = 24 };
    static float values[KEYS * DEPTH];
    for (int i = 0; i < KEYS * DEPTH; i++) values[i] = i < KEYS * DEPTH / 2 ? first : last;
    return weft_cast(weft_constant(t->graph, WEFT_F32, WEFT_INTS(KEYS, DEPTH), values), t->dtype);
}

static void put_causal(traced *t, weft_tensor values, int64_t offset)
{
    weft_tensor q = input(t, "q", WEFT_SHAPE(300, 40)), k = input(t, "k", WEFT_SHAPE(300, 40));
    weft_attention_options options = {.causal = true, .causal_offset = weft_extent_of(offset)};
    put_out(t, weft_attention(q, k, values, &options));
}

static void trace_causal(traced *t)
{
    put_causal(t, input(t, "v", WEFT_SHAPE(300, 24)), 0);
}

static void trace_ahead(traced *t)
{
    put_causal(t, input(t, "v", WEFT_SHAPE(300, 24)), 37);
}

static void trace_infinities(traced *t)
{
    put_causal(t, values_of(t, 0.5F, INFINITY), 0);
}

static void trace_negative_zeros(traced *t)
{
    put_causal(t, values_of(t, -0x1p-149F, 1), 0);
}

/* The first product sees fewer columns of what both multiply: the second one has to look at the others by itself. */
static void trace_two_products(traced *t)
{
    weft_shape shape = WEFT_SHAPE(300, 300);
    weft_tensor seen = weft_ge(weft_iota(t->graph, WEFT_I64, shape, 0), weft_iota(t->graph, WEFT_I64, shape, 1));
    weft_tensor scores = input(t, "x", shape);
    weft_tensor masked = weft_select(seen, scores, weft_full(t->graph, t->dtype, -INFINITY, shape));
    weft_tensor weights = weft_exp(weft_sub(masked, weft_reduce_max(masked, WEFT_INTS(1), true)));
    weft_shape wide = WEFT_SHAPE(300, 32);
    weft_tensor is_low = weft_ge(weft_iota(t->graph, WEFT_I64, wide, 0), 150);
    weft_tensor is_right = weft_ge(weft_iota(t->graph, WEFT_I64, wide, 1), 16);
    weft_tensor infinite = weft_full(t->graph, t->dtype, INFINITY, wide);
    weft_tensor values = weft_select(weft_and(is_low, is_right), infinite, input(t, "v", wide));
    put_out(t, weft_matmul(weights, weft_slice(values, WEFT_SHAPE(0, 0), WEFT_SHAPE(300, 16), WEFT_INTS(1, 1))));
    put_out(t, weft_matmul(weights, values));
}

/* What is hidden of a row moves with another reduced axis too. */
static void trace_moving_mask(traced *t)
{
    weft_tensor q = input(t, "q", WEFT_SHAPE(300, 40)), k = input(t, "k", WEFT_SHAPE(400, 40));
    weft_shape shape = WEFT_SHAPE(300, 5, 400);
    weft_tensor row = weft_iota(t->graph, WEFT_I64, shape, 0), shift = weft_iota(t->graph, WEFT_I64, shape, 1);
    weft_tensor seen = weft_le(weft_iota(t->graph, WEFT_I64, shape, 2), weft_add(row, shift));
    weft_tensor scores = weft_matmul(q, weft_transpose(k, 0, 1));
    weft_tensor spread = weft_broadcast_in_dim(scores, shape, WEFT_INTS(0, 2));
    weft_tensor masked = weft_select(seen, spread, weft_full(t->graph, t->dtype, 0, shape));
    put_out(t, weft_reduce_sum(weft_mul(masked, input(t, "w", WEFT_SHAPE(5, 400))), WEFT_INTS(1, 2), false));
}

/* Positions near the ends of their dtype. */
static void trace_far_mask(traced *t)
{
    const int64_t far = INT64_C(1) << 62;
    weft_tensor q = input(t, "q", WEFT_SHAPE(300, 40)), k = input(t, "k", WEFT_SHAPE(300, 40));
    weft_shape shape = WEFT_SHAPE(300, 300);
    weft_tensor row = weft_add(weft_iota(t->graph, WEFT_I64, shape, 0), far - 1);
    weft_tensor seen = weft_le(weft_sub(weft_iota(t->graph, WEFT_I64, shape, 1), far), row);
    weft_tensor scores = weft_matmul(q, weft_transpose(k, 0, 1));
    weft_tensor masked = weft_select(seen, scores, weft_full(t->graph, t->dtype, 0, shape));
    put_out(t, weft_matmul(masked, input(t, "v", WEFT_SHAPE(300, 24))));
}

/* What the mask hides is not the same in a row, though it ends with a zero. */
static void trace_mask_and_sum(traced *t)
{
    enum { KEYS = 300 };
    float last[KEYS];
    for (int i = 0; i < KEYS; i++) last[i] = i < KEYS - 1 ? 0.25F : 0;
    weft_tensor q = input(t, "q", WEFT_SHAPE(KEYS, 40)), k = input(t, "k", WEFT_SHAPE(KEYS, 40));
    weft_shape shape = WEFT_SHAPE(KEYS, KEYS);
    weft_tensor seen = weft_le(weft_iota(t->graph, WEFT_I64, shape, 1), weft_iota(t->graph, WEFT_I64, shape, 0));
    weft_tensor scores = weft_matmul(q, weft_transpose(k, 0, 1));
    weft_tensor masked = weft_select(seen, scores, weft_full(t->graph, t->dtype, 0, shape));
    weft_tensor added = weft_constant(t->graph, WEFT_F32, WEFT_INTS(KEYS), last);
    put_out(t, weft_matmul(weft_add(masked, added), input(t, "v", WEFT_SHAPE(KEYS, 24))));
}

/* Heads are cut one from the other, and none of them. */
static void trace_heads(traced *t)
{
    weft_tensor q = input(t, "q", WEFT_SHAPE(20, 64, 72)), k = input(t, "k", WEFT_SHAPE(20, 64, 72));
    weft_tensor scores = weft_mul(weft_matmul(q, weft_transpose(k, -1, -2)), 3);
    put_out(t, weft_matmul(scores, input(t, "v", WEFT_SHAPE(20, 64, 64))));
}

static weft_tensor layer(const traced *t, weft_tensor x, const char *name, int64_t from, int64_t to)
{
    return weft_matmul(x, input(t, name, WEFT_SHAPE(from, to)));
}

static void trace_layers(traced *t)
{
    weft_tensor h = layer(t, input(t, "x", WEFT_SHAPE(t->rows, 48)), "w", 48, 65);
    put_out(t, layer(t, weft_mul(h, weft_add(h, input(t, "b", WEFT_SHAPE(65)))), "u", 65, 41));
}

static void trace_norm(traced *t)
{
    put_out(t, layer(t, weft_layer_norm(layer(t, input(t, "x", WEFT_SHAPE(t->rows, 48)), "w", 48, 65), 1, NULL), "u",
                     65, 41));
}

/* The second product has the rows in its columns. */
static void trace_turned(traced *t)
{
    weft_tensor h = layer(t, input(t, "x", WEFT_SHAPE(1100, 48)), "w", 48, 65);
    weft_tensor turned = weft_transpose(weft_mul(h, h), 0, 1);
    put_out(t, weft_matmul(input(t, "u", WEFT_SHAPE(41, 65)), turned));
}

/* A product over two axes, one of them in batches that are added up. */
static void trace_sums_of_batches(traced *t)
{
    weft_tensor h = weft_matmul(input(t, "x", WEFT_SHAPE(600, 4, 40)), input(t, "w", WEFT_SHAPE(40, 37)));
    weft_tensor u = input(t, "u", WEFT_SHAPE(37, 4, 41));
    put_out(t, weft_tensordot(weft_mul(h, h), u, WEFT_INTS(1, 2), WEFT_INTS(1, 0)));
}

static void two_layers(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const weft_tensor *weights = context;
    (void)index;
    weft_tensor h = weft_matmul(carried[0], weights[0]);
    out_next[0] = weft_matmul(weft_clamp(weft_mul(h, h), -1, 1), weights[1]);
}

/* Rows of what the first product reads are written between it and the second. */
static void update_between(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const weft_tensor *weights = context;
    weft_tensor zero = weft_scalar(index.graph, WEFT_I64, 0);
    weft_tensor h = weft_matmul(carried[0], weights[0]);
    out_next[0] = weft_dynamic_update_slice(carried[0], weights[2], WEFT_TENSORS(index, zero), WEFT_INTS(0, 1));
    out_next[1] = weft_add(carried[1], weft_matmul(weft_clamp(weft_mul(h, h), -1, 1), weights[1]));
}

static void trace_update_between(traced *t)
{
    weft_tensor weights[] = {input(t, "w", WEFT_SHAPE(48, 65)), input(t, "u", WEFT_SHAPE(65, 41)),
                             weft_full(t->graph, t->dtype, 0.5, WEFT_SHAPE(300, 48))};
    weft_tensor x = input(t, "x", WEFT_SHAPE(1100, 48)), sum = weft_zeros(t->graph, t->dtype, WEFT_SHAPE(1100, 41));
    weft_tensor results[2];
    weft_fold(weft_extent_of(3), WEFT_TENSORS(x, sum), update_between, weights, results);
    put_out(t, results[1]);
    put_out(t, results[0]);
}

static void trace_loop(traced *t)
{
    weft_tensor weights[] = {input(t, "w", WEFT_SHAPE(48, 65)), input(t, "u", WEFT_SHAPE(65, 48))};
    weft_tensor x = input(t, "x", WEFT_SHAPE(1100, 48));
    put_out(t, weft_fold(weft_extent_of(3), WEFT_TENSORS(x), two_layers, weights, NULL));
}

static void trace_result_in_between(traced *t)
{
    weft_tensor h = layer(t, input(t, "x", WEFT_SHAPE(1100, 48)), "w", 48, 65);
    put_out(t, weft_mul(h, h));
    put_out(t, layer(t, t->outputs[0], "u", 65, 41));
}

static void trace_reversed_rows(traced *t)
{
    weft_tensor h = layer(t, input(t, "x", WEFT_SHAPE(1100, 48)), "w", 48, 65);
    put_out(t, layer(t, weft_flip(weft_mul(h, h), WEFT_INTS(0)), "u", 65, 41));
}

static void trace_sums_of_columns(traced *t)
{
    weft_tensor h = layer(t, input(t, "x", WEFT_SHAPE(1100, 48)), "w", 48, 65);
    put_out(t, layer(t, weft_mul(h, weft_reduce_sum(h, WEFT_INTS(0), true)), "u", 65, 41));
}

/* What rows consist of is not what iterations have: windows overlap, and a strip is some images, or channels. */
static void trace_pool(traced *t)
{
    weft_pool_options options = {
        .size = WEFT_INTS(3, 3), .stride = WEFT_INTS(2, 2), .low = WEFT_INTS(1, 1), .high = WEFT_INTS(1, 2)};
    put_out(t, weft_max_pool(input(t, "x", WEFT_SHAPE(3, 13, 37, 41)), &options));
}

static void put_convolution(traced *t, weft_shape images, weft_shape kernels, int64_t stride, int64_t groups)
{
    weft_conv_options options = {
        .stride = WEFT_INTS(stride, 1), .low = WEFT_INTS(1, 2), .high = WEFT_INTS(1, 0), .groups = groups};
    put_out(t, weft_conv(input(t, "x", images), input(t, "w", kernels), &options));
}

static void trace_images(traced *t)
{
    put_convolution(t, WEFT_SHAPE(7, 24, 29, 23), WEFT_SHAPE(31, 24, 3, 3), 1, 1);
}

static void trace_strided_images(traced *t)
{
    put_convolution(t, WEFT_SHAPE(t->rows, 24, 29, 23), WEFT_SHAPE(31, 24, 3, 3), 2, 1);
}

static void trace_groups(traced *t)
{
    put_convolution(t, WEFT_SHAPE(2, 60, 29, 23), WEFT_SHAPE(48, 20, 3, 3), 1, 3);
}

static void trace_depthwise(traced *t)
{
    put_convolution(t, WEFT_SHAPE(2, 30, 29, 23), WEFT_SHAPE(30, 1, 3, 3), 1, 30);
}

static void trace_two_layers_of_images(traced *t)
{
    weft_conv_options options = {.low = WEFT_INTS(1, 1), .high = WEFT_INTS(1, 1)};
    weft_tensor w = input(t, "w", WEFT_SHAPE(20, 24, 3, 3)), u = input(t, "u", WEFT_SHAPE(28, 20, 3, 3));
    weft_tensor h = weft_conv(input(t, "x", WEFT_SHAPE(9, 24, 19, 23)), w, &options);
    put_out(t, weft_conv(weft_relu(h), u, &options));
}

/* What is handed on is small, and the rows that all kernels read are not. A sum of all has blocks of 16384 elements. */
static void put_sum_of_norms(traced *t, weft_extent rows, int64_t columns)
{
    weft_shape shape = WEFT_SHAPE(rows, columns);
    weft_tensor y = weft_layer_norm(input(t, "x", shape), -1, NULL);
    put_out(t, weft_reduce_sum(weft_mul(y, input(t, "c", shape)), WEFT_INTS(0, 1), false));
}

static void trace_sum_of_norms(traced *t)
{
    put_sum_of_norms(t, weft_extent_of(640), 1024);
}

static void trace_sum_of_n_norms(traced *t)
{
    put_sum_of_norms(t, t->rows, 512);
}

/* Blocks begin inside of rows. */
static void trace_sum_of_odd_norms(traced *t)
{
    put_sum_of_norms(t, t->rows, 600);
}

static const chain_case cases[] = {{"attention", trace_attention, WEFT_F32, 0, true},
                                   {"attention, f64", trace_attention, WEFT_F64, 0, true},
                                   {"attention, bf16", trace_attention, WEFT_BF16, 0, true},
                                   {"attention and sums", trace_attention_and_sums, WEFT_F32, 0, true},
                                   {"three products", trace_three_products, WEFT_F32, 0, true},
                                   {"masked attention", trace_masked_attention, WEFT_F32, 0, true},
                                   {"causal attention", trace_causal, WEFT_F32, 0, true},
                                   {"causal attention, f64", trace_causal, WEFT_F64, 0, true},
                                   {"causal attention, bf16", trace_causal, WEFT_BF16, 0, true},
                                   {"causal attention, f16", trace_causal, WEFT_F16, 0, true},
                                   {"keys ahead", trace_ahead, WEFT_F32, 0, true},
                                   {"hidden infinities", trace_infinities, WEFT_F32, 0, true},
                                   {"hidden infinities, bf16", trace_infinities, WEFT_BF16, 0, true},
                                   {"hidden infinities, f16", trace_infinities, WEFT_F16, 0, true},
                                   {"two products", trace_two_products, WEFT_F32, 0, true},
                                   {"negative zeros", trace_negative_zeros, WEFT_F32, 0, true},
                                   {"negative zeros, bf16", trace_negative_zeros, WEFT_BF16, 0, true},
                                   {"negative zeros, f16", trace_negative_zeros, WEFT_F16, 0, true},
                                   {"moving mask", trace_moving_mask, WEFT_F32, 0, true},
                                   {"far mask", trace_far_mask, WEFT_F32, 0, true},
                                   {"mask and sum", trace_mask_and_sum, WEFT_F32, 0, true},
                                   {"heads", trace_heads, WEFT_F32, 0, true},
                                   {"heads, c64", trace_heads, WEFT_C64, 0, true},
                                   {"heads, f16", trace_heads, WEFT_F16, 0, true},
                                   {"layers", trace_layers, WEFT_F32, 0, true},
                                   {"layers of n rows", trace_layers, WEFT_F32, 701, true},
                                   {"layers of one row", trace_layers, WEFT_F32, 1, false},
                                   {"norm", trace_norm, WEFT_F32, 0, true},
                                   {"norm of n rows", trace_norm, WEFT_F64, 523, true},
                                   {"sum of norms", trace_sum_of_norms, WEFT_F32, 0, true},
                                   {"sum of norms, f64", trace_sum_of_norms, WEFT_F64, 0, true},
                                   {"sum of n norms", trace_sum_of_n_norms, WEFT_F32, 999, true},
                                   {"sum of odd norms", trace_sum_of_odd_norms, WEFT_F32, 1023, false},
                                   {"turned", trace_turned, WEFT_F32, 0, true},
                                   {"sums of batches", trace_sums_of_batches, WEFT_F32, 0, true},
                                   {"loop", trace_loop, WEFT_F32, 0, false},
                                   {"update in between", trace_update_between, WEFT_F32, 0, false},
                                   {"result in between", trace_result_in_between, WEFT_F32, 0, true},
                                   {"pool", trace_pool, WEFT_F32, 0, true},
                                   {"pool, bf16", trace_pool, WEFT_BF16, 0, true},
                                   {"images", trace_images, WEFT_F32, 0, true},
                                   {"images, c64", trace_images, WEFT_C64, 0, true},
                                   {"n images", trace_strided_images, WEFT_F64, 11, true},
                                   {"groups", trace_groups, WEFT_F32, 0, true},
                                   {"depthwise", trace_depthwise, WEFT_F32, 0, true},
                                   {"two layers of images", trace_two_layers_of_images, WEFT_F32, 0, true},
                                   {"reversed rows", trace_reversed_rows, WEFT_F32, 0, true},
                                   {"sums of columns", trace_sums_of_columns, WEFT_F32, 0, false}};
enum { CASES = sizeof cases / sizeof *cases };

/* ---- runs ---- */

static weft_program *compile(const chain_case *c)
{
    weft_program *program;
    traced t = {.dtype = c->dtype, .rows = weft_extent_of(1101)};
    weft_test_ok(weft_graph_create(NULL, &t.graph));
    if (c->rows > 0) t.rows = weft_symbol(t.graph, "n", 1, 10000);
    c->trace(&t);
    weft_test_ok(weft_compile(t.graph, (weft_tensors){t.count, t.outputs}, NULL, &program));
    weft_graph_destroy(t.graph);
    return program;
}

/* The arrays of the program's inputs: numbers of either sign, up to 1. */
static void make_inputs(const weft_program *program, int64_t rows, weft_array **out_inputs)
{
    uint64_t seed = 1;
    for (size_t i = 0; i < weft_program_input_count(program); i++) {
        int64_t shape[WEFT_MAX_RANK];
        size_t rank = weft_program_input_rank(program, i);
        const weft_program_axis *axes = weft_program_input_axes(program, i);
        for (size_t axis = 0; axis < rank; axis++) shape[axis] = axes[axis].size < 0 ? rows : axes[axis].size;
        weft_test_ok(weft_array_create(NULL, WEFT_F32, rank, shape, &out_inputs[i]));
        for (int64_t k = 0; k < weft_array_count(out_inputs[i]); k++) {
            ((float *)weft_array_data(out_inputs[i]))[k] = (float)weft_test_real(&seed);
        }
    }
}

typedef struct outcome {
    weft_array *outputs[MOST_OUTPUTS];
    size_t peak_bytes, steps;
} outcome;

static void count_step(void *self, const weft_profile_record *record)
{
    size_t *steps = self;
    assert_true(record->begin_ns <= record->end_ns);
    ++*steps;
}

static outcome run(const chain_case *c, unsigned threads, size_t cache_bytes, bool specialize, size_t memory_limit)
{
    /* Whether iterations have whole rows, and so which cases have strips, depends on the vectors. */
    weft_machine machine = *weft_machine_reference();
    machine.cache_bytes[0] = machine.cache_bytes[1] = cache_bytes;
    weft_executor *executor;
    weft_test_ok(
        weft_executor_create_standard(&(weft_executor_options){.threads = threads, .machine = &machine}, &executor));
    weft_program *program = compile(c);
    weft_array *inputs[MOST_INPUTS];
    size_t count = weft_program_input_count(program);
    assert_true(count <= MOST_INPUTS);
    make_inputs(program, c->rows, inputs);
    outcome found = {.outputs = {NULL}};
    weft_report report;
    weft_profile profile = {.record = count_step, .self = &found.steps};
    weft_run call = {.input_count = count,
                     .inputs = inputs,
                     .output_count = weft_program_output_count(program),
                     .outputs = found.outputs,
                     .specialize = specialize,
                     .memory_limit = memory_limit,
                     .report = &report};
    weft_test_ok(weft_executor_run(executor, program, &call));
    found.peak_bytes = report.peak_bytes;
    call.profile = &profile;
    weft_test_ok(weft_executor_run(executor, program, &call));
    for (size_t i = 0; i < count; i++) weft_array_release(inputs[i]);
    weft_program_release(program);
    weft_executor_destroy(executor);
    return found;
}

static void outcome_release(outcome *found)
{
    for (size_t i = 0; i < MOST_OUTPUTS; i++) weft_array_release(found->outputs[i]);
}

static void check_bits(const outcome *found, const outcome *whole)
{
    for (size_t i = 0; i < MOST_OUTPUTS && found->outputs[i] != NULL; i++) {
        const weft_array *y = found->outputs[i];
        assert_memory_equal(weft_array_data(y), weft_array_data(whole->outputs[i]),
                            (size_t)weft_array_count(y) * weft_dtype_size(weft_array_dtype(y)));
    }
}

static void check_case(const chain_case *c, const outcome *whole, unsigned threads, bool specialize)
{
    outcome found = run(c, threads, 32 << 10, specialize, 0);
    check_bits(&found, whole);
    assert_true(found.steps == whole->steps);
    bool has_strips = found.peak_bytes != whole->peak_bytes;
    if (c->has_strips ? threads == 1 && !has_strips : has_strips)
        fail_msg("%s: %zu of %zu bytes with %u threads", c->name, found.peak_bytes, whole->peak_bytes, threads);
    outcome_release(&found);
}

/* What a run under a limit needs. */
static size_t least_bytes(const chain_case *c, unsigned threads)
{
    weft_machine machine = *weft_machine_reference();
    machine.cache_bytes[0] = machine.cache_bytes[1] = 32 << 10;
    weft_executor *executor;
    weft_executor_options options = {.threads = threads, .machine = &machine};
    weft_test_ok(weft_executor_create_standard(&options, &executor));
    weft_program *program = compile(c);
    weft_array *inputs[MOST_INPUTS], *outputs[MOST_OUTPUTS] = {NULL};
    size_t count = weft_program_input_count(program);
    make_inputs(program, c->rows, inputs);
    weft_report report;
    weft_run call = {.input_count = count,
                     .inputs = inputs,
                     .output_count = weft_program_output_count(program),
                     .outputs = outputs,
                     .memory_limit = 1,
                     .report = &report};
    weft_test_fails(weft_executor_run(executor, program, &call), WEFT_OVER_LIMIT, "");
    for (size_t i = 0; i < count; i++) weft_array_release(inputs[i]);
    weft_program_release(program);
    weft_executor_destroy(executor);
    return report.peak_bytes;
}

static void limits_do_not_depend_on_threads(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        size_t bytes = least_bytes(&cases[i], 1);
        for (unsigned threads = 2; threads <= 8; threads += 3) assert_int_equal(least_bytes(&cases[i], threads), bytes);
    }
}

static void trace_sort(traced *t)
{
    put_out(t, weft_sort(input(t, "x", WEFT_SHAPE(5000, 7)), 0, false));
}

static void sorts_under_a_limit_do_not_depend_on_threads(void **state)
{
    (void)state;
    const chain_case sort = {"sort", trace_sort, WEFT_F64, 0, false};
    size_t bytes = least_bytes(&sort, 1);
    for (unsigned threads = 2; threads <= 3; threads++) assert_int_equal(least_bytes(&sort, threads), bytes);
    outcome whole = run(&sort, 3, 1 << 20, false, 0), least = run(&sort, 3, 1 << 20, false, bytes);
    assert_true(whole.peak_bytes > bytes);
    assert_int_equal(least.peak_bytes, bytes);
    assert_memory_equal(weft_array_data(least.outputs[0]), weft_array_data(whole.outputs[0]),
                        5000 * 7 * sizeof(double));
    outcome_release(&whole);
    outcome_release(&least);
}

static void strips_change_no_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        outcome whole = run(&cases[i], 1, 1 << 30, false, 0);
        for (unsigned threads = 1; threads <= 3; threads++) check_case(&cases[i], &whole, threads, false);
        /* Its steps may be others, which are fused for its size. */
        outcome specialized = run(&cases[i], 1, 1 << 30, true, 0);
        check_bits(&specialized, &whole);
        check_case(&cases[i], &specialized, 2, true);
        outcome_release(&specialized);
        outcome_release(&whole);
    }
}

static void trace_long_attention(traced *t)
{
    weft_tensor q = input(t, "q", WEFT_SHAPE(t->rows, 32)), k = input(t, "k", WEFT_SHAPE(t->rows, 32));
    put_out(t, weft_attention(q, k, input(t, "v", WEFT_SHAPE(t->rows, 32)), NULL));
}

/* What it takes grows with the length, not with its square: the scores of 8192 are 268 MB. */
static void long_attention_takes_little_memory(void **state)
{
    (void)state;
    if (WEFT_TEST_ADDRESS || WEFT_TEST_THREAD) skip();
    for (int64_t length = 2048; length <= 8192; length *= 2) {
        const chain_case attention = {"long attention", trace_long_attention, WEFT_F32, length, true};
        outcome found = run(&attention, 1, 512 << 10, false, 0);
        if (found.peak_bytes > (size_t)length * 2048)
            fail_msg("%zu bytes for a length of %lld", found.peak_bytes, (long long)length);
        outcome_release(&found);
    }
}

/* ---- no memory ---- */

/* Layers in strips, each of which would pack what others read too. */
static weft_status *run_layers(const weft_allocator *allocator, void *context)
{
    weft_program *program = context;
    weft_machine machine = *weft_machine_reference();
    machine.cache_bytes[0] = machine.cache_bytes[1] = 32 << 10;
    weft_executor *executor;
    const weft_executor_options options = {.allocator = allocator, .threads = 1, .machine = &machine};
    WEFT_TRY(weft_executor_create_standard(&options, &executor));
    weft_array *inputs[MOST_INPUTS], *outputs[MOST_OUTPUTS] = {NULL};
    size_t count = weft_program_input_count(program);
    make_inputs(program, 0, inputs);
    weft_run call = {
        .input_count = count, .inputs = inputs, .output_count = weft_program_output_count(program), .outputs = outputs};
    weft_status *status = weft_executor_run(executor, program, &call);
    for (size_t i = 0; i < count; i++) weft_array_release(inputs[i]);
    for (size_t i = 0; i < MOST_OUTPUTS; i++) weft_array_release(outputs[i]);
    weft_executor_destroy(executor);
    return status;
}

static void memory_runs_out(void **state)
{
    (void)state;
    const chain_case layers = {"layers", trace_layers, WEFT_F32, 0, true};
    weft_program *program = compile(&layers);
    print_message("%zu allocations\n", weft_test_fail_each(run_layers, program));
    weft_program_release(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(strips_change_no_bits), cmocka_unit_test(memory_runs_out),
                                       cmocka_unit_test(limits_do_not_depend_on_threads),
                                       cmocka_unit_test(long_attention_takes_little_memory),
                                       cmocka_unit_test(sorts_under_a_limit_do_not_depend_on_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
