/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>
#include <weft/conv.h>
#include <weft/executor.h>
#include <weft/gradient.h>
#include <weft/linear.h>
#include <weft/nn.h>
#include <weft/operand.h>
#include <weft/program.h>
#include "test/support.h"

/*
 * Rules that work by parts, or otherwise than through the ops, on operands that are large enough for it: reverse mode
 * is the adjoint of forward mode, which goes through the ops where it can: sum(g (J t)) = sum((J* g) t). So it is of
 * the cotangents of attention, as functions of the operands.
 */

enum { MOST_OPERANDS = 4 };

typedef struct function_case {
    const char *name;
    size_t rank, count;               /* of each of so many operands */
    int64_t shapes[MOST_OPERANDS][4]; /* 0: symbol n */
    int64_t n;
    weft_tensor (*trace)(const weft_tensor *x);
    bool twice; /* its cotangents too */
} function_case;

/* ---- functions ---- */

static weft_tensor attend(const weft_tensor *x)
{
    return weft_attention(x[0], x[1], x[2], NULL);
}

static weft_tensor attend_before(const weft_tensor *x)
{
    return weft_attention(x[0], x[1], x[2], &(weft_attention_options){.causal = true});
}

static weft_tensor attend_far(const weft_tensor *x)
{
    weft_attention_options options = {.causal = true, .causal_offset = weft_extent_of(-140), .scale = 2};
    return weft_attention(x[0], x[1], x[2], &options);
}

static weft_tensor attend_where(const weft_tensor *x)
{
    weft_attention_options options = {.mask = weft_gt(x[3], 0), .causal = true, .causal_offset = weft_extent_of(9)};
    return weft_attention(x[0], x[1], x[2], &options);
}

static weft_tensor attend_with_bias(const weft_tensor *x)
{
    return weft_attention(x[0], x[1], x[2], &(weft_attention_options){.mask = x[3]});
}

static weft_tensor convolve(const weft_tensor *x)
{
    weft_conv_options options = {.stride = WEFT_INTS(2, 3), .low = WEFT_INTS(1, 3), .high = WEFT_INTS(0, 4)};
    return weft_conv(x[0], x[1], &options);
}

static weft_tensor convolve_groups(const weft_tensor *x)
{
    return weft_conv(x[0], x[1], &(weft_conv_options){.groups = 3, .dilation = WEFT_INTS(2, 1)});
}

static weft_tensor convolve_deep(const weft_tensor *x)
{
    return weft_conv(x[0], x[1], &(weft_conv_options){.groups = 6, .stride = WEFT_INTS(1, 2), .low = WEFT_INTS(2, 0)});
}

static weft_tensor transpose(const weft_tensor *x)
{
    weft_conv_options options = {.stride = WEFT_INTS(2, 2), .low = WEFT_INTS(1, 0), .output_padding = WEFT_INTS(1, 0)};
    return weft_conv_transpose(x[0], x[1], &options);
}

static const function_case cases[] = {
    {"blocks of rows", 2, 3, {{330, 8}, {2100, 8}, {2100, 5}}, 0, attend, true},
    {"blocks of n rows", 3, 3, {{2, 0, 8}, {2, 70, 8}, {2, 70, 5}}, 259, attend, true},
    {"one of n rows", 3, 3, {{2, 0, 8}, {2, 70, 8}, {2, 70, 5}}, 1, attend, true},
    {"shared keys", 3, 3, {{6, 150, 8}, {2, 70, 8}, {2, 70, 5}}, 0, attend, true},
    {"blocks of the batch", 4, 3, {{6, 5, 140, 6}, {6, 5, 150, 6}, {6, 5, 150, 4}}, 0, attend, true},
    {"blocks of the batch, shared keys", 4, 3, {{6, 2, 260, 6}, {6, 1, 250, 6}, {6, 1, 250, 4}}, 0, attend, false},
    {"n in the batch", 4, 3, {{2, 0, 140, 6}, {2, 0, 130, 6}, {2, 0, 130, 4}}, 3, attend, true},
    {"n in the batch, blocks of rows", 3, 3, {{0, 260, 6}, {0, 2050, 6}, {0, 2050, 4}}, 2, attend, false},
    {"causal", 3, 3, {{2, 300, 8}, {2, 300, 8}, {2, 300, 5}}, 0, attend_before, true},
    {"causal, blocks of the batch", 4, 3, {{8, 1, 280, 6}, {8, 1, 280, 6}, {8, 1, 280, 4}}, 0, attend_before, true},
    {"causal, many rows", 2, 3, {{1100, 8}, {90, 8}, {90, 5}}, 0, attend_before, true},
    {"causal, n rows", 2, 3, {{0, 8}, {90, 8}, {90, 5}}, 270, attend_before, true},
    {"causal, rows that see nothing", 2, 3, {{400, 8}, {300, 8}, {300, 5}}, 0, attend_far, true},
    {"causal and a mask", 3, 4, {{4, 270, 8}, {2, 280, 8}, {2, 280, 5}, {4, 270, 280}}, 0, attend_where, false},
    {"a mask of some axes",
     4,
     4,
     {{5, 4, 150, 4}, {5, 4, 200, 4}, {5, 4, 200, 3}, {5, 1, 150, 200}},
     0,
     attend_where,
     false},
    {"a mask for all rows", 2, 4, {{270, 8}, {200, 8}, {200, 5}, {1, 200}}, 0, attend_where, true},
    {"bias", 3, 4, {{2, 150, 8}, {2, 40, 8}, {2, 40, 5}, {1, 150, 40}}, 0, attend_with_bias, true},
    {"strides with a rest", 4, 2, {{2, 3, 12, 13}, {4, 3, 3, 2}}, 0, convolve},
    {"n images", 4, 2, {{0, 3, 12, 0}, {4, 3, 3, 2}}, 17, convolve},
    {"groups, dilated", 4, 2, {{2, 6, 9, 8}, {9, 2, 3, 4}}, 0, convolve_groups},
    {"depthwise", 4, 2, {{3, 6, 9, 8}, {6, 1, 3, 4}}, 0, convolve_deep},
    {"transposed", 4, 2, {{2, 3, 7, 6}, {3, 4, 3, 4}}, 0, transpose},
};

/* ---- products ---- */

/* Numbers in [-1, 1] without a pattern. */
static weft_tensor numbers(weft_graph *graph, weft_shape shape, double seed)
{
    weft_tensor phase = weft_scalar(graph, WEFT_F64, seed);
    for (size_t axis = 0; axis < shape.rank; axis++) {
        weft_tensor place = weft_iota(graph, WEFT_F64, shape, (int64_t)axis);
        phase = weft_add(phase, weft_mul(place, 12.9 + 7.3 * (double)axis));
    }
    return weft_sin(phase);
}

static weft_tensor inner_product(weft_tensor a, weft_tensor b)
{
    int64_t axes[WEFT_MAX_RANK];
    size_t rank = weft_tensor_rank(a);
    for (size_t i = 0; i < rank; i++) axes[i] = (int64_t)i;
    return weft_reduce_sum(weft_mul(a, b), (weft_ints){rank, axes}, false);
}

static weft_tensor inner_products(size_t count, const weft_tensor *a, const weft_tensor *b)
{
    weft_tensor sum = inner_product(a[0], b[0]);
    for (size_t i = 1; i < count; i++) sum = weft_add(sum, inner_product(a[i], b[i]));
    return sum;
}

/* sum(g (J t)) and sum((J* g) t) of some functions y of x. */
static void trace_both(weft_tensors y, weft_tensors g, weft_tensors x, weft_tensors t, weft_tensor *out_products)
{
    weft_tensor back[MOST_OPERANDS], forth[MOST_OPERANDS];
    weft_jvp(y, x, t, forth);
    weft_vjp(y, g, x, back);
    out_products[0] = inner_products(y.count, g.items, forth);
    out_products[1] = inner_products(x.count, back, t.items);
}

static void trace_products(weft_graph *graph, const function_case *c, bool twice, weft_tensor *out_products)
{
    weft_tensor x[MOST_OPERANDS], t[MOST_OPERANDS], u[MOST_OPERANDS], slopes[MOST_OPERANDS];
    weft_extent n = weft_symbol(graph, "n", 1, 1 << 20);
    for (size_t i = 0; i < c->count; i++) {
        weft_extent extents[4];
        for (size_t axis = 0; axis < c->rank; axis++)
            extents[axis] = c->shapes[i][axis] == 0 ? n : weft_extent_of(c->shapes[i][axis]);
        x[i] = numbers(graph, (weft_shape){c->rank, extents}, (double)i);
        t[i] = numbers(graph, (weft_shape){c->rank, extents}, (double)i + 0.5);
        u[i] = numbers(graph, (weft_shape){c->rank, extents}, (double)i + 0.8);
    }
    weft_tensors operands = {c->count, x}, tangents = {c->count, t};
    weft_tensor y = c->trace(x), g = numbers(graph, weft_tensor_shape(y), 0.3);
    if (!twice) {
        trace_both((weft_tensors){1, &y}, (weft_tensors){1, &g}, operands, tangents, out_products);
        return;
    }
    weft_vjp((weft_tensors){1, &y}, (weft_tensors){1, &g}, operands, slopes);
    trace_both((weft_tensors){c->count, slopes}, (weft_tensors){c->count, u}, operands, tangents, out_products);
}

static void check_case(weft_executor *executor, const char *runtime, const function_case *c, bool twice)
{
    weft_graph *graph;
    weft_program *program;
    weft_tensor products[2];
    weft_array *outputs[2] = {NULL, NULL};
    weft_test_ok(weft_graph_create(NULL, &graph));
    trace_products(graph, c, twice, products);
    weft_test_ok(weft_compile(graph, (weft_tensors){2, products}, NULL, &program));
    weft_graph_destroy(graph);
    const weft_binding extents[] = {{"n", c->n}};
    bool bound = c->n > 0;
    weft_run run = {
        .runtime = runtime, .output_count = 2, .outputs = outputs, .extent_count = bound, .extents = extents};
    weft_test_ok(weft_executor_run(executor, program, &run));
    double forth = *(const double *)weft_array_data(outputs[0]), back = *(const double *)weft_array_data(outputs[1]);
    if (!(fabs(forth) > 1e-6) || !(fabs(forth - back) <= 1e-11 * fabs(forth)))
        fail_msg("%s%s on %s: %.17g forth, %.17g back", c->name, twice ? ", twice" : "", runtime, forth, back);
    weft_array_release(outputs[0]);
    weft_array_release(outputs[1]);
    weft_program_release(program);
}

static const char *runtime_name;

static void reverse_mode_is_the_adjoint(void **state)
{
    weft_executor *executor;
    (void)state;
    weft_test_ok(weft_executor_create_standard(NULL, &executor));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_case(executor, runtime_name, &cases[i], false);
    weft_executor_destroy(executor);
}

static void of_cotangents_too(void **state)
{
    weft_executor *executor;
    (void)state;
    if (strcmp(runtime_name, "ref") == 0) skip(); /* a minute */
    weft_test_ok(weft_executor_create_standard(NULL, &executor));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (cases[i].twice) check_case(executor, runtime_name, &cases[i], true);
    weft_executor_destroy(executor);
}

/* ---- weights in f32, of which the loss takes bf16 ---- */

enum { BATCH = 64, WIDE = 48, HIDDEN = 32 };

/* The gradients of a loss by two matrices of f32, which is computed in `dtype` as far as its mean. */
static void trace_network(weft_graph *graph, weft_dtype dtype, weft_tensor *out_gradients)
{
    weft_tensor x = numbers(graph, WEFT_SHAPE(BATCH, WIDE), 1), target = numbers(graph, WEFT_SHAPE(BATCH, 3), 2);
    weft_tensor w[2] = {weft_cast(weft_mul(numbers(graph, WEFT_SHAPE(WIDE, HIDDEN), 3), 0.2), WEFT_F32),
                        weft_cast(weft_mul(numbers(graph, WEFT_SHAPE(HIDDEN, 3), 4), 0.2), WEFT_F32)};
    weft_tensor hidden = weft_tanh(weft_matmul(weft_cast(x, dtype), weft_cast(w[0], dtype)));
    weft_tensor guess = weft_cast(weft_matmul(hidden, weft_cast(w[1], dtype)), WEFT_F32);
    weft_tensor loss = weft_mse_loss(guess, weft_cast(target, WEFT_F32), WEFT_REDUCTION_MEAN);
    weft_grad(loss, (weft_tensors){2, w}, out_gradients);
    for (int i = 0; i < 2; i++) assert_int_equal(weft_tensor_dtype(out_gradients[i]), WEFT_F32);
}

/* The square of the distance of two tensors, over that of the second. */
static weft_tensor distance(weft_tensor x, weft_tensor y)
{
    weft_tensor apart = weft_cast(weft_sub(x, y), WEFT_F64), all = weft_cast(y, WEFT_F64);
    return weft_div(inner_product(apart, apart), inner_product(all, all));
}

static void weights_may_be_wider_than_the_loss(void **state)
{
    (void)state;
    weft_graph *graph;
    weft_program *program;
    weft_executor *executor;
    weft_tensor narrow[2], wide[2];
    weft_array *outputs[2] = {NULL, NULL};
    weft_test_ok(weft_executor_create_standard(NULL, &executor));
    weft_test_ok(weft_graph_create(NULL, &graph));
    trace_network(graph, WEFT_BF16, narrow);
    trace_network(graph, WEFT_F32, wide);
    weft_test_ok(
        weft_compile(graph, WEFT_TENSORS(distance(narrow[0], wide[0]), distance(narrow[1], wide[1])), NULL, &program));
    weft_graph_destroy(graph);
    weft_test_ok(weft_executor_run(executor, program,
                                   &(weft_run){.runtime = runtime_name, .output_count = 2, .outputs = outputs}));
    for (int i = 0; i < 2; i++) {
        double found = *(const double *)weft_array_data(outputs[i]);
        if (!(found > 0) || !(found < 0x1p-12)) fail_msg("gradient %d on %s: %g", i, runtime_name, found);
        weft_array_release(outputs[i]);
    }
    weft_program_release(program);
    weft_executor_destroy(executor);
}

int main(int argc, char **argv)
{
    int failed = 0;
    const struct CMUnitTest tests[] = {cmocka_unit_test(reverse_mode_is_the_adjoint),
                                       cmocka_unit_test(of_cotangents_too),
                                       cmocka_unit_test(weights_may_be_wider_than_the_loss)};
    for (int i = 1; i < argc; i++) {
        runtime_name = argv[i];
        failed |= cmocka_run_group_tests_name(argv[i], tests, NULL, NULL);
    }
    return failed;
}
