/* SPDX-License-Identifier: Apache-2.0 */
/* Products of very long vectors, in every dtype: they lose no more digits than a sum added up in blocks. */
#include "test/support.h"
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

static bool on_llvm;

/* How many elements x and y have; the vectors are theirs in all pairs. */
static int64_t side(void)
{
    return on_llvm ? 4096 : 512;
}

/* ---- elements: two by two the exact sum is that of x times that of y ---- */

static double part(int64_t i, int64_t step)
{
    return 0.5 + (double)(i * step % 997) / 2048;
}

/* Of 16-bit floats so small that f16 holds the sum. */
static weft_tensor terms(weft_graph *graph, weft_dtype dtype, int64_t step)
{
    double _Complex values[4096];
    weft_dtype from = dtype == WEFT_C64 || dtype == WEFT_C128 ? WEFT_C128 : WEFT_F64;
    double scale = weft_dtype_size(dtype) == 2 ? 1.0 / 64 : 1, reals[4096];
    bool integer = dtype == WEFT_U8 || dtype == WEFT_I32 || dtype == WEFT_U32 || dtype == WEFT_I64;
    for (int64_t i = 0; i < side(); i++) {
        reals[i] = dtype == WEFT_BOOL ? i == step : integer ? (double)(i * step % 97) : scale * part(i, step);
        values[i] = part(i, step) + I * part(i, step + 2);
    }
    const int64_t shape[] = {side()};
    return weft_cast(weft_constant(graph, from, (weft_ints){1, shape}, from == WEFT_F64 ? (void *)reals : values),
                     dtype);
}

/* ---- both ways to say it ---- */

static weft_tensor spread(weft_tensor x, int64_t axis, bool flat)
{
    weft_extent n = weft_extent_of(side()), all = weft_extent_of(side() * side());
    weft_tensor y = weft_broadcast_in_dim(x, WEFT_SHAPE(n, n), WEFT_INTS(axis));
    return flat ? weft_reshape(y, WEFT_SHAPE(all)) : y;
}

static weft_tensor product(weft_tensor x, weft_tensor y, bool flat)
{
    weft_ints none = {0, NULL}, axes = flat ? WEFT_INTS(0) : WEFT_INTS(0, 1);
    return weft_dot(spread(x, 0, flat), spread(y, 1, flat), (weft_dot_axes){none, none, axes, axes});
}

/* What it must be, in the widest dtype of its kind: sums of few terms, of which the product is taken. */
static weft_tensor expected(weft_tensor x, weft_tensor y, weft_dtype wide)
{
    weft_ints all = WEFT_INTS(0);
    if (wide == WEFT_BOOL) return weft_and(weft_reduce_any(x, all, false), weft_reduce_any(y, all, false));
    return weft_mul(weft_reduce_sum(weft_cast(x, wide), all, false), weft_reduce_sum(weft_cast(y, wide), all, false));
}

static double error_of(const weft_array *got, const weft_array *wanted)
{
    const void *g = weft_array_data(got), *w = weft_array_data(wanted);
    if (weft_array_dtype(wanted) == WEFT_C128)
        return cabs(*(const double _Complex *)g - *(const double _Complex *)w) / cabs(*(const double _Complex *)w);
    if (weft_array_dtype(wanted) == WEFT_F64) return fabs(*(const double *)g / *(const double *)w - 1);
    return memcmp(g, w, weft_dtype_size(weft_array_dtype(wanted))) == 0 ? 0 : 1;
}

static void check_dtype(weft_executor *executor, weft_dtype dtype, weft_dtype wide, double most)
{
    weft_graph *graph;
    weft_program *program;
    weft_array *outputs[3] = {NULL};
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor x = terms(graph, dtype, 5), y = terms(graph, dtype, 7);
    weft_tensor flat = weft_cast(product(x, y, true), wide), square = weft_cast(product(x, y, false), wide);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(expected(x, y, wide), flat, square), NULL, &program));
    weft_test_ok(weft_executor_run(executor, program, &(weft_run){.output_count = 3, .outputs = outputs}));
    for (size_t i = 1; i < 3; i++) {
        double error = error_of(outputs[i], outputs[0]);
        if (!(error <= most)) fail_msg("%s: off by %.3g where %.3g is allowed", weft_dtype_name(dtype), error, most);
    }
    for (size_t i = 0; i < 3; i++) weft_array_release(outputs[i]);
    weft_program_release(program);
    weft_graph_destroy(graph);
}

static void add_long_products(void **state)
{
    static const struct {
        weft_dtype dtype, wide;
        double most;
    } rows[WEFT_DTYPE_COUNT] = {
        {WEFT_BOOL, WEFT_BOOL, 0},   {WEFT_U8, WEFT_U8, 0},         {WEFT_I32, WEFT_I32, 0},
        {WEFT_U32, WEFT_U32, 0},     {WEFT_I64, WEFT_I64, 0},       {WEFT_F16, WEFT_F64, 6e-4},
        {WEFT_BF16, WEFT_F64, 5e-3}, {WEFT_F32, WEFT_F64, 3e-7},    {WEFT_F64, WEFT_F64, 2e-15},
        {WEFT_C64, WEFT_C128, 3e-7}, {WEFT_C128, WEFT_C128, 2e-15},
    };
    weft_executor *executor;
    (void)state;
    weft_test_ok(weft_executor_create(&(weft_executor_options){.threads = 2}, &executor));
    weft_test_ok(weft_executor_register_runtime(executor, on_llvm ? weft_runtime_llvm() : weft_runtime_reference()));
    for (size_t i = 0; i < WEFT_DTYPE_COUNT; i++) check_dtype(executor, rows[i].dtype, rows[i].wide, rows[i].most);
    weft_executor_destroy(executor);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(add_long_products)};
    on_llvm = argc > 1 && strcmp(argv[1], "llvm") == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
