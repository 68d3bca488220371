/* SPDX-License-Identifier: Apache-2.0 */
/* Scans: bits are those of runtime ref-ordered however they run, and what the order promises. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>
#include "test/rng.h"
#include "test/support.h"

enum { MOST = 300007 };

static const size_t threads[] = {1, 2, 7};
static weft_executor *executors[3];
static float *numbers, *wanted;

static int set_up(void **state)
{
    (void)state;
    uint64_t seed = 1;
    numbers = malloc(MOST * sizeof *numbers);
    wanted = malloc(MOST * sizeof *wanted);
    assert_true(numbers != NULL && wanted != NULL);
    for (size_t i = 0; i < MOST; i++) numbers[i] = (float)(weft_test_bits(&seed) >> 40) / (1 << 24);
    for (size_t i = 0; i < 3; i++)
        weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = threads[i]}, &executors[i]));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) weft_executor_destroy(executors[i]);
    free(numbers);
    free(wanted);
    return 0;
}

typedef weft_tensor (*scan)(weft_tensor x, int64_t axis, bool reverse, bool exclusive);

static weft_tensor sum(weft_tensor x, int64_t axis, bool reverse, bool exclusive)
{
    return weft_cumsum(x, axis, reverse, exclusive);
}

/* Factors near one. */
static weft_tensor product(weft_tensor x, int64_t axis, bool reverse, bool exclusive)
{
    return weft_cumprod(weft_add(weft_mul(x, 0x1p-8), 1 - 0x1p-9), axis, reverse, exclusive);
}

static weft_tensor maximum(weft_tensor x, int64_t axis, bool reverse, bool exclusive)
{
    return weft_cummax(x, axis, reverse, exclusive);
}

static weft_tensor halves(weft_tensor x, int64_t axis, bool reverse, bool exclusive)
{
    return weft_cast(weft_cumsum(weft_cast(x, WEFT_BF16), axis, reverse, exclusive), WEFT_F32);
}

static weft_tensor complex_sum(weft_tensor x, int64_t axis, bool reverse, bool exclusive)
{
    return weft_imag(weft_cumsum(weft_complex(x, weft_neg(x)), axis, reverse, exclusive));
}

static weft_tensor permuted(weft_tensor x, int64_t axis, bool reverse, bool exclusive)
{
    weft_tensor y = weft_permute(x, WEFT_INTS(1, 0));
    return weft_permute(weft_cumsum(y, 1 - axis, reverse, exclusive), WEFT_INTS(1, 0));
}

static weft_tensor counted(weft_tensor x, int64_t axis, bool reverse, bool exclusive)
{
    return weft_cast(weft_cumsum(weft_cast(weft_mul(x, 1000), WEFT_I32), axis, reverse, exclusive), WEFT_F32);
}

/* Of what a row is read for before it is scanned. */
static weft_tensor below_most(weft_tensor x, int64_t axis, bool reverse, bool exclusive)
{
    weft_tensor most = weft_reduce_max(x, WEFT_INTS(axis), true);
    return weft_cumsum(weft_sub(x, most), axis, reverse, exclusive);
}

/* How x, of `numbers`, is scanned and lies. */
typedef struct sample {
    scan function;
    int64_t shape[2];
    int64_t axis;
    bool reverse, exclusive, symbolic, specialized, turned;
} sample;

static weft_program *compile(const sample *s)
{
    weft_graph *graph;
    weft_program *program;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_extent n = weft_extent_of(s->shape[0]), m = weft_extent_of(s->shape[1]);
    if (s->symbolic) {
        n = weft_symbol(graph, "n", 0, 1 << 20);
        m = weft_symbol(graph, "m", 1, 1 << 20);
    }
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(n, m));
    weft_tensor y = s->function(x, s->axis, s->reverse, s->exclusive);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(y), NULL, &program));
    weft_graph_destroy(graph);
    return program;
}

static void run(const sample *s, const char *runtime, weft_executor *executor, weft_program *program, float *out)
{
    int64_t n = s->shape[0], m = s->shape[1];
    weft_array *dense, *x, *y = NULL;
    float *memory = malloc((size_t)(n * m) * sizeof *memory);
    assert_non_null(memory);
    const int64_t *strides = s->turned ? (const int64_t[]){1, n} : NULL;
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 2, s->shape, NULL, numbers, NULL, NULL, &dense));
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 2, s->shape, strides, memory, NULL, NULL, &x));
    weft_test_ok(weft_array_copy(x, dense));
    weft_run run = {.runtime = runtime, .input_count = 1, .inputs = &x, .output_count = 1, .outputs = &y};
    run.specialize = s->specialized;
    weft_test_ok(weft_executor_run(executor, program, &run));
    memcpy(out, weft_array_data(y), (size_t)(n * m) * sizeof *out);
    weft_array_release(y);
    weft_array_release(x);
    weft_array_release(dense);
    free(memory);
}

static void compare_forms(sample s)
{
    float *found = malloc(MOST * sizeof *found);
    assert_non_null(found);
    for (int form = 0; form < 3; form++) {
        s.symbolic = form > 0;
        s.specialized = form > 1;
        s.turned = false;
        weft_program *program = compile(&s);
        /* What is permuted has an order of its own where extents are known. */
        if (form == 0 || s.function == permuted) run(&s, "ref-ordered", executors[0], program, wanted);
        for (int i = 0; i < 6; i++) {
            s.turned = i >= 3;
            memset(found, 0xa5, MOST * sizeof *found);
            run(&s, "llvm", executors[i % 3], program, found);
            if (memcmp(found, wanted, (size_t)(s.shape[0] * s.shape[1]) * sizeof *found) != 0)
                fail_msg("%d x %d along %d%s%s, form %d%s, %zu threads: other bits", (int)s.shape[0], (int)s.shape[1],
                         (int)s.axis, s.reverse ? ", reverse" : "", s.exclusive ? ", exclusive" : "", form,
                         s.turned ? ", turned" : "", threads[i % 3]);
        }
        weft_program_release(program);
    }
    free(found);
}

/* Groups and blocks that end anywhere, rows to share among threads and rows to cut, along memory and across it. */
static void bits_are_those_of_the_order(void **state)
{
    (void)state;
    static const scan functions[] = {sum, product, maximum, halves, complex_sum, counted, permuted, below_most};
    static const struct {
        int64_t shape[2], axis;
    } places[] = {{{1, MOST}, 1}, {{2, 140003}, 1}, {{9, 20001}, 1}, {{300, 37}, 1},
                  {{600, 5}, 1},  {{40009, 3}, 0},  {{70, 90}, 0},   {{1, 16}, 1}};
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
            sample s = {functions[f], .axis = places[p].axis, .reverse = f % 2 == 1, .exclusive = (f + p) % 3 == 1};
            memcpy(s.shape, places[p].shape, sizeof s.shape);
            compare_forms(s);
        }
    }
}

/* Of numbers that are not negative, whose sums are nearer to the exact ones than those of a chain. */
static void sums_do_not_fall(void **state)
{
    (void)state;
    sample s = {sum, {1, MOST}, 1, .symbolic = false};
    weft_program *program = compile(&s);
    run(&s, "llvm", executors[1], program, wanted);
    double exact = 0, worst = 0, worst_chain = 0;
    float chain = 0;
    for (size_t i = 0; i < MOST; i++) {
        if (i > 0 && wanted[i] < wanted[i - 1]) fail_msg("sum %zu is less than the one before", i);
        exact += (double)numbers[i];
        chain += numbers[i];
        worst = fmax(worst, fabs((double)wanted[i] - exact) / exact);
        worst_chain = fmax(worst_chain, fabs((double)chain - exact) / exact);
    }
    if (worst > worst_chain / 4) fail_msg("errors up to %g, of a chain up to %g", worst, worst_chain);
    weft_program_release(program);
}

/* A scan of `values`, which are few, into `wanted`. */
static void run_few(scan function, float *values, int64_t count)
{
    float *kept = numbers;
    sample s = {function, {1, count}, 1, .symbolic = true};
    weft_program *program = compile(&s);
    numbers = values;
    run(&s, "llvm", executors[0], program, wanted);
    numbers = kept;
    weft_program_release(program);
}

/* Sums begin with +0, and what is not a number stays so to the end. */
static void zeros_and_infinities(void **state)
{
    (void)state;
    enum { COUNT = 40 };
    static float values[COUNT];
    for (size_t i = 0; i < COUNT; i++) values[i] = i < 20 ? -0.0F : i == 20 ? INFINITY : i == 25 ? -INFINITY : 1;
    run_few(sum, values, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        if (i < 20) assert_true(wanted[i] == 0 && !signbit(wanted[i]));
        else if (i < 25) assert_true(isinf(wanted[i]) && wanted[i] > 0);
        else assert_true(isnan(wanted[i]));
    }
}

/* In any lane, and in the group that is not whole. */
static void maxima_stay_nan(void **state)
{
    (void)state;
    enum { COUNT = 150 };
    static float values[COUNT];
    for (size_t first = 0; first <= COUNT; first += 7) {
        for (size_t i = 0; i < COUNT; i++) values[i] = i == first ? NAN : (float)(i % 50);
        run_few(maximum, values, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            if (i >= first) assert_true(isnan(wanted[i]));
            else assert_true(wanted[i] == (float)(i < 50 ? i : 49));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bits_are_those_of_the_order),
                                       cmocka_unit_test(sums_do_not_fall), cmocka_unit_test(zeros_and_infinities),
                                       cmocka_unit_test(maxima_stay_nan)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
