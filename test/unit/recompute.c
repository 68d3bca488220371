/* SPDX-License-Identifier: Apache-2.0 */
/* What derivatives compute again to save memory: the bits are those without, and the memory is less. Functions with
 * rules of their own, and whole Jacobians. */
#include "test/support.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

enum { ROWS = 256, WIDTH = 64, LAYERS = 8 };

typedef struct scene {
    weft_graph *graph;
    weft_executor *executor;
    weft_tensor x, w; /* f32[ROWS, WIDTH], f32[WIDTH, WIDTH] */
} scene;

static scene scene_create(void)
{
    scene s;
    weft_test_ok(weft_graph_create(NULL, &s.graph));
    weft_test_ok(weft_executor_create_standard(NULL, &s.executor));
    s.x = weft_input(s.graph, "x", WEFT_F32, WEFT_SHAPE(ROWS, WIDTH));
    s.w = weft_input(s.graph, "w", WEFT_F32, WEFT_SHAPE(WIDTH, WIDTH));
    return s;
}

static void scene_destroy(scene *s)
{
    weft_executor_destroy(s->executor);
    weft_graph_destroy(s->graph);
}

/* ---- runs ---- */

static float noise(size_t i)
{
    return (float)sin(12.9898 * (double)(i + 1)) * 0.25F;
}

static weft_array *make_input(const weft_program *program, size_t i)
{
    static float data[2][ROWS * WIDTH];
    bool is_x = strcmp(weft_program_input_name(program, i), "x") == 0;
    size_t rows = is_x ? ROWS : WIDTH;
    weft_array *array;
    for (size_t k = 0; k < rows * WIDTH; k++) data[is_x][k] = noise(k + is_x);
    weft_test_ok(
        weft_array_wrap(NULL, WEFT_F32, 2, (int64_t[]){(int64_t)rows, WIDTH}, NULL, data[is_x], NULL, NULL, &array));
    return array;
}

/* The outputs of a run, with `n` for the symbol if it is not negative; returns its peak. */
static size_t run(const scene *s, weft_tensors outputs, int64_t n, weft_array **out_results)
{
    weft_program *program;
    weft_array *inputs[2];
    weft_report report;
    weft_test_ok(weft_compile(s->graph, outputs, NULL, &program));
    size_t count = weft_program_input_count(program);
    assert_true(count <= 2);
    for (size_t i = 0; i < count; i++) inputs[i] = make_input(program, i);
    memset(out_results, 0, outputs.count * sizeof(weft_array *));
    const weft_binding binding = {"n", n};
    weft_test_ok(weft_executor_run(s->executor, program,
                                   &(weft_run){.input_count = count,
                                               .inputs = inputs,
                                               .output_count = outputs.count,
                                               .outputs = out_results,
                                               .extent_count = n >= 0,
                                               .extents = &binding,
                                               .report = &report}));
    for (size_t i = 0; i < count; i++) weft_array_release(inputs[i]);
    weft_program_release(program);
    return report.peak_bytes;
}

static void expect_same(size_t count, weft_array **a, weft_array **b, size_t elements)
{
    for (size_t i = 0; i < count; i++) {
        assert_memory_equal(weft_array_data(a[i]), weft_array_data(b[i]), elements * sizeof(float));
        assert_true(isfinite(((float *)weft_array_data(a[i]))[0]) && ((float *)weft_array_data(a[i]))[0] != 0);
        weft_array_release(a[i]);
        weft_array_release(b[i]);
    }
}

static float value_of(const scene *s, weft_tensor scalar)
{
    weft_array *result;
    run(s, WEFT_TENSORS(scalar), -1, &result);
    float value = *(float *)weft_array_data(result);
    weft_array_release(result);
    return value;
}

/* ---- checkpoints ---- */

static weft_tensor layer(weft_tensor x, weft_tensor w)
{
    return weft_tanh(weft_matmul(weft_tanh(weft_matmul(x, w)), w));
}

static void trace_layer(void *context, const weft_tensor *inputs, weft_tensor *out_results)
{
    const scene *s = context;
    out_results[0] = layer(inputs[0], s->w);
}

static weft_tensor gradient_by_w(scene *s, bool checkpoints)
{
    weft_tensor y = s->x;
    for (int i = 0; i < LAYERS; i++)
        y = checkpoints ? weft_checkpoint(WEFT_TENSORS(y), 1, trace_layer, s, NULL) : layer(y, s->w);
    return weft_grad(weft_reduce_sum(weft_mul(y, y), WEFT_INTS(0, 1), false), WEFT_TENSORS(s->w), NULL);
}

static void checkpoints_change_no_bit_and_take_less(void **state)
{
    (void)state;
    scene s = scene_create();
    weft_array *plain, *again;
    size_t stored = run(&s, WEFT_TENSORS(gradient_by_w(&s, false)), -1, &plain);
    size_t recomputed = run(&s, WEFT_TENSORS(gradient_by_w(&s, true)), -1, &again);
    expect_same(1, &plain, &again, WIDTH * WIDTH);
    /* Two values a layer, or one and the two of the layer that is computed again. */
    assert_true(recomputed < stored * 3 / 4);
    scene_destroy(&s);
}

static void checkpoints_nest_and_differentiate_twice(void **state)
{
    (void)state;
    scene s = scene_create();
    weft_tensor products[2];
    for (int i = 0; i < 2; i++) {
        weft_tensor y = i == 0 ? layer(s.x, s.w) : weft_checkpoint(WEFT_TENSORS(s.x), 1, trace_layer, &s, NULL);
        weft_tensor loss = weft_reduce_sum(weft_mul(y, y), WEFT_INTS(0, 1), false);
        products[i] = weft_hvp(loss, WEFT_TENSORS(s.w), WEFT_TENSORS(weft_cos(s.w)), NULL);
    }
    weft_array *plain, *again;
    run(&s, WEFT_TENSORS(products[0]), -1, &plain);
    run(&s, WEFT_TENSORS(products[1]), -1, &again);
    expect_same(1, &plain, &again, WIDTH * WIDTH);
    scene_destroy(&s);
}

/* ---- what derivatives keep ---- */

/* The peak of the gradients of the sum of squares of `y`, in arrays of the size of x. */
static double peak_of_gradients(scene *s, weft_tensor y)
{
    weft_tensor gradients[2];
    weft_array *results[2];
    weft_grad(weft_reduce_sum(weft_mul(y, y), WEFT_INTS(0, 1), false), WEFT_TENSORS(s->x, s->w), gradients);
    size_t peak = run(s, (weft_tensors){2, gradients}, -1, results);
    for (int i = 0; i < 2; i++) {
        assert_true(isfinite(((float *)weft_array_data(results[i]))[0]));
        weft_array_release(results[i]);
    }
    return (double)peak / (ROWS * WIDTH * sizeof(float));
}

/* The rows that the product reads, and its result; of what the norm computed before its scale, a number for each row.
 */
static void norms_keep_a_number_for_each_row(void **state)
{
    (void)state;
    scene s = scene_create();
    weft_tensor scale = weft_reduce_sum(s.w, WEFT_INTS(0), false);
    weft_tensor rows = weft_layer_norm(s.x, -1, &(weft_norm_options){.scale = scale});
    double peak = peak_of_gradients(&s, weft_matmul(rows, s.w));
    assert_true(peak > 2 && peak < 2.5);
    scene_destroy(&s);
}

/* Of more elements than caches hold no exponentials are kept. */
static void powers_of_many_are_computed_again(void **state)
{
    (void)state;
    scene s = scene_create();
    weft_program *program;
    weft_array *input, *result = NULL;
    weft_report report;
    weft_tensor gradient, x = weft_input(s.graph, "many", WEFT_F32, WEFT_SHAPE(4096, 600));
    weft_grad(weft_reduce_sum(weft_logsumexp(x, WEFT_INTS(1), false), WEFT_INTS(0), false), WEFT_TENSORS(x), &gradient);
    weft_test_ok(weft_compile(s.graph, WEFT_TENSORS(gradient), NULL, &program));
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 2, (int64_t[]){4096, 600}, &input));
    for (size_t i = 0; i < 4096 * 600; i++) ((float *)weft_array_data(input))[i] = noise(i % 600);
    const weft_run call = {
        .input_count = 1, .inputs = &input, .output_count = 1, .outputs = &result, .report = &report};
    weft_test_ok(weft_executor_run(s.executor, program, &call));
    assert_true(report.peak_bytes < 1 << 20);
    weft_array_release(input);
    weft_array_release(result);
    weft_program_release(program);
    scene_destroy(&s);
}

/* What the second product reads is over before its cotangent is there, which is computed from that of the product. */
static void gradients_by_inputs_come_first(void **state)
{
    (void)state;
    scene s = scene_create();
    weft_tensor hidden = weft_gelu(weft_matmul(s.x, s.w));
    double peak = peak_of_gradients(&s, weft_matmul(hidden, s.w));
    assert_true(peak > 4 && peak < 4.5);
    scene_destroy(&s);
}

/* ---- loops in segments, and with few iterations stored ---- */

typedef enum loop_kind {
    LOOP_PLAIN,
    LOOP_SEGMENTS, /* of so many iterations */
    LOOP_SNAPSHOTS /* so many stored */
} loop_kind;

typedef struct loop_way {
    loop_kind kind;
    int64_t size;
} loop_way;

static weft_tensor loop_over(loop_way way, weft_extent trips, weft_tensors initial, weft_fold_body body, void *context)
{
    if (way.kind == LOOP_SEGMENTS)
        return weft_fold_in_segments(trips, weft_extent_of(way.size), initial, body, context, NULL);
    if (way.kind == LOOP_SNAPSHOTS) return weft_fold_with_snapshots(trips, way.size, initial, body, context, NULL);
    return weft_fold(trips, initial, body, context, NULL);
}

static void next_state(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const scene *s = context;
    weft_tensor drift = weft_mul(weft_cast(index, WEFT_F32), 0.0009765625F);
    weft_tensor way = weft_tanh(weft_add(weft_matmul(carried[0], s->w), drift));
    out_next[0] = weft_add(carried[0], weft_mul(way, 0.0078125F));
}

static void trace_gradients(scene *s, weft_extent trips, loop_way way, weft_tensor *out_gradients)
{
    weft_tensor y = loop_over(way, trips, WEFT_TENSORS(s->x), next_state, s);
    weft_tensor loss = weft_add(weft_reduce_sum(weft_mul(y, y), WEFT_INTS(0, 1), false),
                                weft_reduce_sum(weft_mul(s->w, s->w), WEFT_INTS(0, 1), false));
    weft_grad(loss, WEFT_TENSORS(s->x, s->w), out_gradients);
}

/* In graphs of their own: sums are in the order of the nodes. Returns the peak over that of a plain loop. */
static double compare_loops(loop_way way, int64_t trips, bool symbolic)
{
    weft_array *results[2][2];
    size_t peaks[2];
    for (int i = 0; i < 2; i++) {
        scene s = scene_create();
        weft_tensor gradients[2];
        weft_extent n = symbolic ? weft_symbol(s.graph, "n", 0, 1000) : weft_extent_of(trips);
        trace_gradients(&s, n, i == 0 ? (loop_way){LOOP_PLAIN, 0} : way, gradients);
        peaks[i] = run(&s, (weft_tensors){2, gradients}, symbolic ? trips : -1, results[i]);
        scene_destroy(&s);
    }
    expect_same(1, &results[0][0], &results[1][0], ROWS * WIDTH);
    expect_same(1, &results[0][1], &results[1][1], WIDTH * WIDTH);
    return (double)peaks[1] / (double)peaks[0];
}

static void segments_change_no_bit(void **state)
{
    (void)state;
    static const int64_t lengths[] = {1, 7, 10, 64, 0};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const loop_way way = {LOOP_SEGMENTS, lengths[i]};
        compare_loops(way, 1, true);
        compare_loops(way, 50, true);
        compare_loops(way, 50, false);
    }
}

static void snapshots_change_no_bit(void **state)
{
    (void)state;
    static const int64_t counts[] = {1, 2, 3, 10, 100};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const loop_way way = {LOOP_SNAPSHOTS, counts[i]};
        compare_loops(way, 0, true);
        compare_loops(way, 1, true);
        compare_loops(way, 50, true);
        compare_loops(way, 50, false);
    }
}

static void segments_take_a_twentieth(void **state)
{
    (void)state;
    assert_true(compare_loops((loop_way){LOOP_SEGMENTS, 0}, 2500, false) < 0.05);
}

/* The stack has six, 1000 are stored otherwise; besides, there are a few values of an iteration. */
static void snapshots_take_a_sixtieth(void **state)
{
    (void)state;
    assert_true(compare_loops((loop_way){LOOP_SNAPSHOTS, 5}, 1000, false) < 1.0 / 60);
}

/* ---- how often an iteration is computed ---- */

enum { MOST_TRIPS = 60 };

static void count_product(void *self, const weft_profile_record *record)
{
    if (record->kind == WEFT_PROFILE_PRODUCT) ++*(int64_t *)self;
}

static void next_small(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context, (void)index;
    weft_tensor way = weft_sin(carried[0]);
    out_next[0] = weft_add(weft_mul(way, way), 0.5);
}

/* How many products the gradient computes: one for each iteration that is computed, and two for each that is gone back
 * through. */
static int64_t count_products(int64_t stored, int64_t trips)
{
    int64_t count = 0;
    const weft_profile profile = {&count, count_product};
    weft_array *inputs[2], *result = NULL;
    weft_program *program;
    scene s = scene_create();
    weft_tensor y = weft_fold_with_snapshots(weft_extent_of(trips), stored, WEFT_TENSORS(s.x), next_state, &s, NULL);
    weft_tensor loss = weft_reduce_sum(y, WEFT_INTS(0, 1), false);
    weft_tensor gradient = weft_grad(loss, WEFT_TENSORS(s.x), NULL);
    weft_policy policy = {.products = WEFT_PRODUCTS_LIBRARY};
    weft_test_ok(weft_compile(s.graph, WEFT_TENSORS(gradient), &policy, &program));
    for (size_t i = 0; i < 2; i++) inputs[i] = make_input(program, i);
    weft_test_ok(weft_executor_run(
        s.executor, program,
        &(weft_run){.input_count = 2, .inputs = inputs, .output_count = 1, .outputs = &result, .profile = &profile}));
    for (size_t i = 0; i < 2; i++) weft_array_release(inputs[i]);
    weft_array_release(result);
    weft_program_release(program);
    scene_destroy(&s);
    return count;
}

/* The fewest to go back through 1 to `trips` iterations with 1 to `count` stored, by trying all ways to go on. */
static int64_t fewest(int64_t count, int64_t trips)
{
    static int64_t best[MOST_TRIPS + 1][MOST_TRIPS + 1];
    for (int64_t s = 1; s <= count; s++) {
        for (int64_t n = 1; n <= trips; n++) {
            best[s][n] = n * (n - 1) / 2;
            for (int64_t m = 1; s > 1 && m < n; m++) {
                int64_t cost = m + best[s - 1][n - m] + best[s][m];
                if (cost < best[s][n]) best[s][n] = cost;
            }
        }
    }
    return best[count][trips];
}

static void snapshots_compute_the_fewest(void **state)
{
    (void)state;
    static const int64_t cases[][2] = {{1, 1},  {1, 2},  {1, 8},  {2, 3}, {2, 21},
                                       {3, 34}, {3, 35}, {4, 60}, {7, 8}, {9, 60}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t stored = cases[i][0], trips = cases[i][1];
        assert_int_equal(count_products(stored, trips), fewest(stored, trips) + 2 * trips);
    }
}

/* ---- products that are stored ---- */

enum { WIDEST = 160, LINES = 24, TRIPS = 9 };

/* Two products, of which the results are four times what is carried, and one more. */
static void next_wide(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const scene *s = context;
    (void)index;
    weft_tensor x = weft_tanh(weft_matmul(carried[0], s->w));
    weft_tensor both = weft_sigmoid(weft_matmul(x, weft_concat(WEFT_TENSORS(s->w, weft_neg(s->w), s->w), 1)));
    weft_tensor parts[3];
    weft_split(both, 1, 3, parts);
    out_next[0] = weft_mul(weft_add(parts[0], parts[1]), weft_tanh(weft_matmul(parts[2], s->w)));
}

/* The gradient by the matrix, and how many products it takes. */
static weft_array *differentiate_wide(int64_t width, bool by_snapshots, int64_t *out_count)
{
    static float data[2][WIDEST * WIDEST];
    const weft_profile profile = {out_count, count_product};
    const weft_policy policy = {.products = WEFT_PRODUCTS_LIBRARY};
    weft_array *inputs[2], *result = NULL;
    weft_program *program;
    scene s = scene_create();
    s.x = weft_input(s.graph, "wide", WEFT_F32, WEFT_SHAPE(LINES, width));
    s.w = weft_input(s.graph, "square", WEFT_F32, WEFT_SHAPE(width, width));
    weft_tensor y = by_snapshots
                        ? weft_fold_with_snapshots(weft_extent_of(TRIPS), TRIPS, WEFT_TENSORS(s.x), next_wide, &s, NULL)
                        : weft_fold(weft_extent_of(TRIPS), WEFT_TENSORS(s.x), next_wide, &s, NULL);
    weft_tensor gradient = weft_grad(weft_reduce_sum(y, WEFT_INTS(0, 1), false), WEFT_TENSORS(s.w), NULL);
    weft_test_ok(weft_compile(s.graph, WEFT_TENSORS(gradient), &policy, &program));
    for (size_t i = 0; i < 2; i++) {
        int64_t rows = strcmp(weft_program_input_name(program, i), "wide") == 0 ? LINES : width;
        for (int64_t k = 0; k < rows * width; k++) data[i][k] = noise((size_t)(k + rows));
        weft_test_ok(
            weft_array_wrap(NULL, WEFT_F32, 2, (int64_t[]){rows, width}, NULL, data[i], NULL, NULL, &inputs[i]));
    }
    *out_count = 0;
    weft_test_ok(weft_executor_run(
        s.executor, program,
        &(weft_run){.input_count = 2, .inputs = inputs, .output_count = 1, .outputs = &result, .profile = &profile}));
    for (size_t i = 0; i < 2; i++) weft_array_release(inputs[i]);
    weft_program_release(program);
    scene_destroy(&s);
    return result;
}

/* Each iteration computes three products, and twice as many when it is gone back through. The last one of these is more
 * than is stored. Those of fewer terms are computed again. */
static void products_are_stored(void **state)
{
    static const int64_t cases[][2] = {{WIDEST, 10}, {64, 12}}; /* terms, products of an iteration */
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t plain, snapshots, width = cases[i][0];
        weft_array *found = differentiate_wide(width, false, &plain);
        weft_array *expected = differentiate_wide(width, true, &snapshots);
        assert_int_equal(plain, cases[i][1] * TRIPS);
        assert_true(snapshots >= 12 * TRIPS - 3);
        assert_memory_equal(weft_array_data(found), weft_array_data(expected), (size_t)(width * width) * sizeof(float));
        weft_array_release(found);
        weft_array_release(expected);
    }
}

static void next_rows(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const scene *s = context;
    weft_tensor row = weft_dynamic_slice(s->x, WEFT_TENSORS(index), WEFT_INTS(0), WEFT_SHAPE(1));
    out_next[0] = weft_dynamic_update_slice(carried[0], weft_sin(row), WEFT_TENSORS(index), WEFT_INTS(0));
    out_next[1] = weft_dynamic_update_slice(carried[1], weft_cos(row), WEFT_TENSORS(index), WEFT_INTS(0));
}

/* What is stored begins as zeros, the same for all: there are none besides, and the last row is zero if no iteration
 * writes it. */
static void buffers_begin_where_they_are(void **state)
{
    (void)state;
    for (int64_t trips = ROWS - 1; trips <= ROWS; trips++) {
        scene s = scene_create();
        weft_tensor zeros = weft_zeros(s.graph, WEFT_F32, WEFT_SHAPE(ROWS, WIDTH)), made[2];
        weft_array *results[2] = {NULL};
        weft_fold(weft_extent_of(trips), WEFT_TENSORS(zeros, zeros), next_rows, &s, made);
        assert_true(run(&s, (weft_tensors){2, made}, -1, results) < ROWS * WIDTH * sizeof(float));
        for (size_t i = 0; i < ROWS * WIDTH; i++) {
            double x = noise(i + 1);
            bool is_left = (int64_t)(i / WIDTH) >= trips;
            const float *sines = weft_array_data(results[0]), *cosines = weft_array_data(results[1]);
            assert_true(fabs(sines[i] - (is_left ? 0 : sin(x))) < 1e-6);
            assert_true(fabs(cosines[i] - (is_left ? 0 : cos(x))) < 1e-6);
        }
        for (size_t k = 0; k < 2; k++) weft_array_release(results[k]);
        scene_destroy(&s);
    }
}

/* ---- snapshots: in other loops, and in derivatives of derivatives ---- */

static void next_pair(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context;
    out_next[0] = weft_sin(weft_add(carried[0], weft_cast(index, WEFT_F64)));
    out_next[1] = weft_add(carried[1], weft_mul(out_next[0], carried[0]));
}

static void next_nest(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const loop_way *inner = context;
    weft_tensor both[2] = {weft_mul(carried[0], 0.5), weft_cast(index, WEFT_F64)}, results[2];
    if (inner->kind == LOOP_PLAIN) weft_fold(weft_extent_of(7), (weft_tensors){2, both}, next_pair, NULL, results);
    else weft_fold_with_snapshots(weft_extent_of(7), inner->size, (weft_tensors){2, both}, next_pair, NULL, results);
    out_next[0] = weft_add(results[0], results[1]);
}

static double product_of(loop_way inner, loop_way outer, bool second)
{
    scene s = scene_create();
    weft_tensor x = weft_scalar(s.graph, WEFT_F64, 0.7), y, product;
    y = loop_over(outer, weft_extent_of(6), WEFT_TENSORS(x), next_nest, &inner);
    if (second) weft_hvp(y, WEFT_TENSORS(x), WEFT_TENSORS(x), &product);
    else weft_grad(y, WEFT_TENSORS(x), &product);
    weft_array *result;
    run(&s, WEFT_TENSORS(product), -1, &result);
    double value = *(double *)weft_array_data(result);
    weft_array_release(result);
    scene_destroy(&s);
    return value;
}

static void snapshots_nest_and_have_hessians(void **state)
{
    (void)state;
    static const loop_way ways[] = {{LOOP_PLAIN, 0}, {LOOP_SNAPSHOTS, 2}};
    for (int second = 0; second < 2; second++) {
        double expected = product_of(ways[0], ways[0], second != 0);
        assert_true(isfinite(expected) && expected != 0);
        for (int i = 1; i < 4; i++) assert_true(product_of(ways[i & 1], ways[i >> 1], second != 0) == expected);
    }
}

/* Forward mode of it has few stored as well, so that its reverse mode is the same. */
static void snapshots_stay_in_forward_mode(void **state)
{
    (void)state;
    float values[2];
    for (int i = 0; i < 2; i++) {
        scene s = scene_create();
        weft_tensor x = weft_scalar(s.graph, WEFT_F64, 0.7), slope;
        weft_tensor y = loop_over((loop_way){i == 0 ? LOOP_PLAIN : LOOP_SNAPSHOTS, 2}, weft_extent_of(9),
                                  WEFT_TENSORS(x), next_small, NULL);
        weft_jvp(WEFT_TENSORS(y), WEFT_TENSORS(x), WEFT_TENSORS(x), &slope);
        values[i] = value_of(&s, weft_cast(weft_grad(slope, WEFT_TENSORS(x), NULL), WEFT_F32));
        scene_destroy(&s);
    }
    assert_true(values[0] == values[1] && values[0] != 0);
}

typedef struct swayed {
    weft_tensor x, carried; /* around the loop, and in the iteration that is traced */
} swayed;

static void multiply(void *context, weft_tensor *out_results)
{
    const swayed *s = context;
    out_results[0] = weft_mul(s->carried, s->x);
}

static void sway(void *context, weft_tensor *out_results)
{
    const swayed *s = context;
    out_results[0] = weft_sin(s->carried);
}

static void multiply_or_sway(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    swayed *s = context;
    s->carried = carried[0];
    weft_cond(weft_lt(index, 3), 1, multiply, sway, s, out_next);
}

/* What a branch is given does not all depend on the tangent. */
static void tangents_with_snapshots_are_pulled_through_branches(void **state)
{
    (void)state;
    float values[2];
    for (int i = 0; i < 2; i++) {
        scene s = scene_create();
        weft_tensor x = weft_scalar(s.graph, WEFT_F64, 0.7), t = weft_scalar(s.graph, WEFT_F64, 1.5), tangent;
        swayed context = {.x = x};
        weft_tensor y = loop_over((loop_way){i == 0 ? LOOP_PLAIN : LOOP_SNAPSHOTS, 2}, weft_extent_of(9),
                                  WEFT_TENSORS(x), multiply_or_sway, &context);
        weft_jvp(WEFT_TENSORS(y), WEFT_TENSORS(x), WEFT_TENSORS(t), &tangent);
        values[i] = value_of(&s, weft_cast(weft_grad(tangent, WEFT_TENSORS(t), NULL), WEFT_F32));
        scene_destroy(&s);
    }
    assert_true(values[0] == values[1] && values[0] != 0);
}

static weft_tensor is_below_eight(void *context, const weft_tensor *carried)
{
    (void)context;
    return weft_lt(carried[1], 8);
}

static void double_both(void *context, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context;
    for (int k = 0; k < 2; k++) out_next[k] = weft_mul(carried[k], 2);
}

static void parts_of_searches_may_be_used(void **state)
{
    (void)state;
    scene s = scene_create();
    weft_tensor x = weft_scalar(s.graph, WEFT_F64, 0.7), one = weft_scalar(s.graph, WEFT_F64, 1), found[2];
    weft_while(WEFT_TENSORS(x, one), is_below_eight, double_both, NULL, found);
    assert_true(value_of(&s, weft_cast(weft_grad(weft_mul(found[1], x), WEFT_TENSORS(x), NULL), WEFT_F32)) == 8);
    weft_grad(weft_mul(found[0], x), WEFT_TENSORS(x), NULL);
    assert_int_equal(weft_status_code(weft_graph_error(s.graph)), WEFT_UNSUPPORTED);
    scene_destroy(&s);
}

/* Whether the message names that line of this file. */
static bool names_line(const char *message, int line)
{
    char place[64];
    snprintf(place, sizeof place, "recompute.c:%d)", line);
    return strstr(message, place) != NULL;
}

static void snapshots_refuse(void **state)
{
    (void)state;
    scene s = scene_create();
    weft_tensor x = weft_scalar(s.graph, WEFT_F64, 0.7);
    const int line = __LINE__ + 1;
    weft_tensor y = weft_fold_with_snapshots(weft_extent_of(9), 2, WEFT_TENSORS(x), next_small, NULL, NULL);
    weft_tensor slope = weft_grad(y, WEFT_TENSORS(x), NULL);
    weft_grad(slope, WEFT_TENSORS(x), NULL);
    const weft_status *error = weft_graph_error(s.graph);
    assert_int_equal(weft_status_code(error), WEFT_UNSUPPORTED);
    assert_non_null(strstr(weft_status_message(error), "fold_with_snapshots: what it computes in reverse mode has no"));
    assert_true(names_line(weft_status_message(error), line));
    weft_graph_clear_error(s.graph);
    weft_fold_with_snapshots(weft_extent_of(9), 0, WEFT_TENSORS(x), next_small, NULL, NULL);
    error = weft_graph_error(s.graph);
    assert_int_equal(weft_status_code(error), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(weft_status_message(error), "fold_with_snapshots: the number of stored iterations is 0"));
    weft_graph_clear_error(s.graph);
    scene_destroy(&s);
}

/* ---- loops with a bound ---- */

static weft_tensor is_short(void *context, const weft_tensor *carried)
{
    (void)context;
    return weft_lt(carried[0], 100);
}

static void twice(void *context, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context;
    out_next[0] = weft_mul(carried[0], 2);
}

static void bounded_loops_have_gradients(void **state)
{
    (void)state;
    scene s = scene_create();
    weft_tensor x = weft_scalar(s.graph, WEFT_F32, 3);
    weft_tensor y = weft_while_at_most(weft_extent_of(9), WEFT_TENSORS(x), is_short, twice, NULL, NULL);
    weft_tensor outputs[] = {y, weft_grad(y, WEFT_TENSORS(x), NULL)};
    weft_array *results[2];
    run(&s, (weft_tensors){2, outputs}, -1, results);
    assert_true(*(float *)weft_array_data(results[0]) == 192 && *(float *)weft_array_data(results[1]) == 64);
    for (int i = 0; i < 2; i++) weft_array_release(results[i]);
    scene_destroy(&s);
}

static void says_what_is_exceeded(weft_executor *executor, const char *runtime, weft_tensors outputs, int line)
{
    weft_program *program;
    weft_test_ok(weft_compile(outputs.items[0].graph, outputs, NULL, &program));
    weft_array *none[2] = {NULL, NULL};
    const weft_run run = {.runtime = runtime, .output_count = outputs.count, .outputs = none};
    weft_status *status = weft_executor_run(executor, program, &run);
    assert_true(names_line(weft_status_message(status), line));
    weft_test_fails(status, WEFT_DATA_ERROR,
                    "while_at_most: the condition still holds after as many iterations as there may be (");
    weft_program_release(program);
}

static void bounds_that_are_exceeded_are_named(void **state)
{
    (void)state;
    scene s = scene_create();
    weft_tensor x = weft_scalar(s.graph, WEFT_F64, 3);
    const int line = __LINE__ + 1;
    weft_tensor cut = weft_while_at_most(weft_extent_of(2), WEFT_TENSORS(x), is_short, twice, NULL, NULL);
    weft_tensor slope = weft_grad(cut, WEFT_TENSORS(x), NULL);
    static const char *const runtimes[] = {"llvm", "ref"};
    for (int i = 0; i < 2; i++) {
        says_what_is_exceeded(s.executor, runtimes[i], WEFT_TENSORS(cut), line);
        says_what_is_exceeded(s.executor, runtimes[i], WEFT_TENSORS(slope), line);
        says_what_is_exceeded(s.executor, runtimes[i], WEFT_TENSORS(slope, cut), line);
    }
    scene_destroy(&s);
}

static weft_tensor is_always(void *context, const weft_tensor *carried)
{
    (void)context;
    return weft_eq(weft_scalar(carried[0].graph, WEFT_F64, 1), 1);
}

/* What a slice says that looks like the end of such a loop, and what a loop says whose condition is a constant. */
static void bounds_are_known_by_more_than_their_shape(void **state)
{
    (void)state;
    scene s = scene_create();
    weft_tensor x = weft_scalar(s.graph, WEFT_F64, 3), yes = weft_not(weft_scalar(s.graph, WEFT_BOOL, 0));
    weft_tensor slice =
        weft_dynamic_slice(weft_unsqueeze(x, 0), WEFT_TENSORS(weft_cast(yes, WEFT_I64)), WEFT_INTS(0), WEFT_SHAPE(1));
    const int line = __LINE__ + 1;
    weft_tensor cut = weft_while_at_most(weft_extent_of(2), WEFT_TENSORS(x), is_always, twice, NULL, NULL);
    weft_tensor slope = weft_jvp(WEFT_TENSORS(cut), WEFT_TENSORS(x), WEFT_TENSORS(x), NULL);
    static const char *const runtimes[] = {"llvm", "ref"};
    for (int i = 0; i < 2; i++) {
        says_what_is_exceeded(s.executor, runtimes[i], WEFT_TENSORS(cut), line);
        says_what_is_exceeded(s.executor, runtimes[i], WEFT_TENSORS(slope), line);
        weft_program *program;
        weft_test_ok(weft_compile(s.graph, WEFT_TENSORS(slice), NULL, &program));
        weft_array *none[] = {NULL};
        const weft_run run = {.runtime = runtimes[i], .output_count = 1, .outputs = none};
        weft_test_fails(weft_executor_run(s.executor, program, &run), WEFT_DATA_ERROR,
                        "dynamic_slice: start 1 on axis 0");
        weft_program_release(program);
    }
    scene_destroy(&s);
}

/* In parentheses a function is called without the place. */
static void derivatives_leave_what_was_traced_before_without_their_place(void **state)
{
    (void)state;
    scene s = scene_create();
    weft_tensor x = weft_scalar(s.graph, WEFT_F64, 3), y = weft_sin(x), zero = weft_scalar(s.graph, WEFT_I64, 0);
    weft_tensor quotient = (weft_div)(zero, zero);
    const int line = __LINE__ + 1;
    weft_tensor slope = weft_grad(y, WEFT_TENSORS(x), NULL);
    weft_program *program;
    weft_array *none[] = {NULL, NULL};
    weft_test_ok(weft_compile(s.graph, WEFT_TENSORS(quotient, slope), NULL, &program));
    weft_status *status = weft_executor_run(s.executor, program, &(weft_run){.output_count = 2, .outputs = none});
    assert_true(names_line(weft_status_message(status), line));
    weft_test_fails(status, WEFT_DATA_ERROR, "div: division by 0");
    weft_program_release(program);
    scene_destroy(&s);
}

/* ---- rules of one's own ---- */

static void square(void *context, const weft_tensor *inputs, weft_tensor *out_results)
{
    (void)context;
    out_results[0] = weft_mul(inputs[0], inputs[0]);
}

static void pull_seven(void *context, weft_tensors inputs, weft_tensors results, weft_tensors cotangents,
                       weft_tensor *out_cotangents)
{
    (void)context, (void)inputs, (void)results;
    out_cotangents[0] = weft_mul(cotangents.items[0], 7);
}

static void pull_wrong(void *context, weft_tensors inputs, weft_tensors results, weft_tensors cotangents,
                       weft_tensor *out_cotangents)
{
    (void)context, (void)inputs, (void)results;
    out_cotangents[0] = weft_reduce_sum(cotangents.items[0], WEFT_INTS(0), false);
}

static void custom_rules_are_used(void **state)
{
    (void)state;
    scene s = scene_create();
    const weft_gradient_rule rule = {.vjp = pull_seven}, wrong = {.vjp = pull_wrong};
    weft_tensor x = weft_scalar(s.graph, WEFT_F32, 3), v = weft_narrow(s.x, 0, weft_extent_of(0), weft_extent_of(2));
    weft_tensor y = weft_custom_gradient(WEFT_TENSORS(x), 1, square, NULL, &rule, NULL);
    weft_tensor same = weft_mul(x, x); /* no part of it */
    assert_true(value_of(&s, y) == 9);
    assert_true(value_of(&s, weft_grad(y, WEFT_TENSORS(x), NULL)) == 7);
    assert_true(value_of(&s, weft_grad(same, WEFT_TENSORS(x), NULL)) == 6);
    assert_true(value_of(&s, weft_grad(weft_add(y, same), WEFT_TENSORS(x), NULL)) == 13);
    /* Without a jvp the function itself is differentiated. */
    assert_true(value_of(&s, weft_jvp(WEFT_TENSORS(y), WEFT_TENSORS(x), WEFT_TENSORS(x), NULL)) == 18);
    weft_tensor bad = weft_custom_gradient(WEFT_TENSORS(v), 1, square, NULL, &wrong, NULL);
    weft_grad(weft_reduce_sum(bad, WEFT_INTS(0, 1), false), WEFT_TENSORS(v), NULL);
    const weft_status *error = weft_graph_error(s.graph);
    assert_int_equal(weft_status_code(error), WEFT_INVALID_ARGUMENT);
    assert_non_null(
        strstr(weft_status_message(error), "custom_gradient: its vjp gave f32[64] for input 0, which is f32[2, 64]"));
    weft_graph_clear_error(s.graph);
    assert_true(value_of(&s, weft_grad(y, WEFT_TENSORS(x), NULL)) == 7);
    scene_destroy(&s);
}

static void fails_with(scene *s, weft_tensor tensor, const char *part)
{
    const weft_status *error = weft_graph_error(s->graph);
    assert_false(weft_tensor_is_valid(tensor));
    assert_int_equal(weft_status_code(error), WEFT_INVALID_ARGUMENT);
    assert_non_null(strstr(weft_status_message(error), part));
    weft_graph_clear_error(s->graph);
}

static void functions_have_results(void **state)
{
    (void)state;
    scene s = scene_create();
    const weft_gradient_rule rule = {.vjp = pull_seven};
    weft_tensors x = WEFT_TENSORS(s.x);
    fails_with(&s, weft_checkpoint(x, 0, square, NULL, NULL), "checkpoint: there are no results");
    fails_with(&s, weft_custom_gradient(x, 0, square, NULL, &rule, NULL), "custom_gradient: there are no results");
    fails_with(&s, weft_custom_gradient(x, 1, square, NULL, NULL, NULL), "custom_gradient: the rule is NULL");
    fails_with(&s, weft_checkpoint(x, 1, NULL, NULL, NULL), "checkpoint: the function is NULL");
    scene_destroy(&s);
}

static void rounded(void *context, const weft_tensor *inputs, weft_tensor *out_results)
{
    (void)context;
    out_results[0] = weft_round(inputs[0]);
}

static void pull_through(void *context, weft_tensors inputs, weft_tensors results, weft_tensors cotangents,
                         weft_tensor *out_cotangents)
{
    (void)context, (void)inputs, (void)results;
    out_cotangents[0] = cotangents.items[0];
}

/* The ops of the function pass nothing on; its rule does. */
static void rules_reach_where_ops_do_not(void **state)
{
    (void)state;
    scene s = scene_create();
    const weft_gradient_rule rule = {.vjp = pull_through};
    weft_tensor x = weft_scalar(s.graph, WEFT_F32, 3);
    weft_tensor y = weft_custom_gradient(WEFT_TENSORS(x), 1, rounded, NULL, &rule, NULL);
    assert_true(value_of(&s, weft_grad(weft_mul(y, 5), WEFT_TENSORS(x), NULL)) == 5);
    scene_destroy(&s);
}

/* Texts may give a loop or a branch one tensor twice. */
static void operands_may_be_there_twice(void **state)
{
    (void)state;
    static const char text[] =
        "weft 0.1\n"
        "graph {\n"
        "  %x = constant() {dtype = f32, shape = [], data = [3]}\n"
        "  %p = constant() {dtype = bool, shape = [], data = [true]}\n"
        "  %0 = fold(%x, %x, %x) {trips = 1, carried = 1} body (%i : i64[], %c : f32[], %a : f32[], %b : f32[]) {\n"
        "    %0 = mul(%a, %b)\n"
        "    %1 = add(%c, %0)\n"
        "    yield %1\n"
        "  }\n"
        "  %1 = cond(%p, %x, %x) then (%a : f32[], %b : f32[]) {\n"
        "    %0 = mul(%a, %b)\n"
        "    yield %0\n"
        "  } else (%a : f32[], %b : f32[]) {\n"
        "    yield %a\n"
        "  }\n"
        "  return %x, %0, %1\n"
        "}\n";
    scene s = scene_create();
    weft_module *module;
    weft_test_ok(weft_graph_parse("twice", text, sizeof text - 1, NULL, 0, NULL, &module));
    const weft_tensor *values = module->outputs.items;
    weft_graph *graph = s.graph;
    s.graph = module->graph;
    assert_true(value_of(&s, weft_grad(values[1], WEFT_TENSORS(values[0]), NULL)) == 7);
    assert_true(value_of(&s, weft_grad(values[2], WEFT_TENSORS(values[0]), NULL)) == 6);
    s.graph = graph;
    weft_module_destroy(module);
    scene_destroy(&s);
}

/* A function's rule does not pass by a value inside it that is held. */
static void parts_of_functions_are_held(void **state)
{
    (void)state;
    scene s = scene_create();
    weft_tensor x = weft_reshape(weft_narrow(s.x, 0, weft_extent_of(0), weft_extent_of(1)), WEFT_SHAPE(WIDTH));
    weft_tensor powers = weft_exp(weft_sub(x, weft_reduce_max(x, WEFT_INTS(0), true)));
    weft_tensor first = weft_narrow(weft_softmax(x, 0), 0, weft_extent_of(0), weft_extent_of(1));
    weft_tensor gradient = weft_grad(weft_reduce_sum(first, WEFT_INTS(0), false), WEFT_TENSORS(powers), NULL);
    assert_true(value_of(&s, weft_reduce_sum(weft_mul(gradient, gradient), WEFT_INTS(0), false)) > 0);
    scene_destroy(&s);
}

/* ---- Jacobians ---- */

static void jacobians_are_whole(void **state)
{
    (void)state;
    scene s = scene_create();
    /* Of x[0, :3] and of two sums of it: by columns, and by rows. */
    weft_tensor x = weft_reshape(weft_slice(s.x, WEFT_SHAPE(0, 0), WEFT_SHAPE(1, 3), WEFT_INTS(1, 1)), WEFT_SHAPE(3));
    weft_tensor few = weft_reshape(weft_reduce_sum(weft_mul(x, x), WEFT_INTS(0), false), WEFT_SHAPE(1));
    weft_tensor outputs[] = {x, weft_jacobian(weft_sin(x), x),
                             weft_jacobian(weft_concat(WEFT_TENSORS(few, few), 0), x)};
    weft_array *results[3];
    run(&s, (weft_tensors){3, outputs}, -1, results);
    const float *at = weft_array_data(results[0]), *square_matrix = weft_array_data(results[1]);
    const float *rows = weft_array_data(results[2]);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) assert_true(fabsf(square_matrix[3 * i + j] - (i == j ? cosf(at[i]) : 0)) < 1e-6F);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++) assert_true(fabsf(rows[3 * i + j] - 2 * at[j]) < 1e-6F);
    for (int i = 0; i < 3; i++) weft_array_release(results[i]);
    scene_destroy(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checkpoints_change_no_bit_and_take_less),
        cmocka_unit_test(checkpoints_nest_and_differentiate_twice),
        cmocka_unit_test(norms_keep_a_number_for_each_row),
        cmocka_unit_test(powers_of_many_are_computed_again),
        cmocka_unit_test(gradients_by_inputs_come_first),
        cmocka_unit_test(segments_change_no_bit),
        cmocka_unit_test(segments_take_a_twentieth),
        cmocka_unit_test(snapshots_change_no_bit),
        cmocka_unit_test(snapshots_take_a_sixtieth),
        cmocka_unit_test(snapshots_compute_the_fewest),
        cmocka_unit_test(products_are_stored),
        cmocka_unit_test(buffers_begin_where_they_are),
        cmocka_unit_test(snapshots_nest_and_have_hessians),
        cmocka_unit_test(snapshots_stay_in_forward_mode),
        cmocka_unit_test(tangents_with_snapshots_are_pulled_through_branches),
        cmocka_unit_test(parts_of_searches_may_be_used),
        cmocka_unit_test(snapshots_refuse),
        cmocka_unit_test(bounded_loops_have_gradients),
        cmocka_unit_test(bounds_that_are_exceeded_are_named),
        cmocka_unit_test(bounds_are_known_by_more_than_their_shape),
        cmocka_unit_test(derivatives_leave_what_was_traced_before_without_their_place),
        cmocka_unit_test(custom_rules_are_used),
        cmocka_unit_test(functions_have_results),
        cmocka_unit_test(rules_reach_where_ops_do_not),
        cmocka_unit_test(operands_may_be_there_twice),
        cmocka_unit_test(parts_of_functions_are_held),
        cmocka_unit_test(jacobians_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
