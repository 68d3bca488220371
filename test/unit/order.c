/* SPDX-License-Identifier: Apache-2.0 */
/* The order of sums: what they lose against f64, along memory and across it, and that nothing but the graph decides
 * bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>
#include "test/rng.h"
#include "test/support.h"

enum { LONG = 1000003, MANY = 8, MOST_SUMS = 1024 };

static weft_executor *executors[3]; /* of 1, 2, 3 threads */
static float *numbers;              /* LONG * MANY */

static float next_random(void)
{
    static uint64_t state = 1;
    return (float)(weft_test_bits(&state) >> 40) / (1 << 24);
}

static int set_up(void **state)
{
    (void)state;
    numbers = malloc((size_t)LONG * MANY * sizeof *numbers);
    assert_non_null(numbers);
    for (int i = 0; i < 3; i++)
        weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = (size_t)i + 1}, &executors[i]));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) weft_executor_destroy(executors[i]);
    free(numbers);
    return 0;
}

/* ---- one reduction ---- */

typedef weft_tensor (*reduction)(weft_tensor x, weft_ints axes, bool keep);

static weft_tensor sum(weft_tensor x, weft_ints axes, bool keep)
{
    return weft_reduce_sum(x, axes, keep);
}

static weft_tensor product(weft_tensor x, weft_ints axes, bool keep)
{
    return weft_reduce_prod(x, axes, keep);
}

static weft_tensor mean(weft_tensor x, weft_ints axes, bool keep)
{
    return weft_mean(x, axes, keep);
}

/* What is reduced: x of `numbers`, row-major or with axes in the reverse order, and extents that are symbols or not. */
typedef struct sample {
    reduction function;
    size_t rank;
    int64_t shape[3];
    weft_ints axes;
    bool symbolic, specialized, turned;
    int threads;
} sample;

static weft_program *compile(const sample *s)
{
    static const char *const names[] = {"l", "m", "n"};
    weft_graph *graph;
    weft_program *program;
    weft_extent extents[3];
    weft_test_ok(weft_graph_create(NULL, &graph));
    for (size_t i = 0; i < s->rank; i++)
        extents[i] = s->symbolic ? weft_symbol(graph, names[i], 0, 1 << 30) : weft_extent_of(s->shape[i]);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, (weft_shape){s->rank, extents});
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(s->function(x, s->axes, false)), NULL, &program));
    weft_graph_destroy(graph);
    return program;
}

/* Element (i, j, k) is the same number however it lies. */
static weft_array *create_input(const sample *s)
{
    weft_array *dense = NULL, *x = NULL;
    int64_t strides[3], shape[3], step = 1, count = 1;
    for (size_t i = 0; i < s->rank; i++) count *= s->shape[i];
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, s->rank, s->shape, NULL, numbers, NULL, NULL, &dense));
    if (!s->turned) return dense;
    for (size_t i = 0; i < s->rank; i++) {
        strides[i] = step;
        step *= s->shape[i];
        shape[i] = s->shape[i];
    }
    float *memory = malloc((size_t)count * sizeof *memory);
    assert_non_null(memory);
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, s->rank, shape, strides, memory, NULL, NULL, &x));
    weft_test_ok(weft_array_copy(x, dense));
    weft_array_release(dense);
    return x;
}

/* The results, at most MOST_SUMS; how many. */
static size_t run(const sample *s, float *out_results)
{
    weft_program *program = compile(s);
    weft_array *x = create_input(s), *y = NULL;
    weft_run run = {.runtime = "llvm", .input_count = 1, .inputs = &x, .output_count = 1, .outputs = &y};
    run.specialize = s->specialized;
    weft_test_ok(weft_executor_run(executors[s->threads - 1], program, &run));
    size_t count = (size_t)weft_array_count(y);
    assert_in_range(count, 1, MOST_SUMS);
    memcpy(out_results, weft_array_data(y), count * sizeof *out_results);
    if (s->turned) free(weft_array_data(x));
    weft_array_release(x);
    weft_array_release(y);
    weft_program_release(program);
    return count;
}

/* ---- accuracy ---- */

/* The greatest error of any result against f64, in units of f32's epsilon: of a product relative to it, of a sum to
 * that of the sizes. `kept` is the one axis that is not reduced. */
static double error_of(const sample *s, size_t kept)
{
    float found[MOST_SUMS];
    double totals[MOST_SUMS], sizes[MOST_SUMS], worst = 0;
    size_t count = run(s, found), inner = 1, elements = 1;
    bool multiplies = s->function == product;
    for (size_t i = 0; i < s->rank; i++) {
        elements *= (size_t)s->shape[i];
        if (i > kept) inner *= (size_t)s->shape[i];
    }
    for (size_t r = 0; r < count; r++) {
        totals[r] = multiplies;
        sizes[r] = 0;
    }
    for (size_t i = 0; i < elements; i++) {
        size_t r = i / inner % count;
        totals[r] = multiplies ? totals[r] * (double)numbers[i] : totals[r] + (double)numbers[i];
        sizes[r] += fabs((double)numbers[i]);
    }
    double each = s->function == mean ? (double)(elements / count) : 1;
    for (size_t r = 0; r < count; r++)
        worst = fmax(worst, fabs((double)found[r] - totals[r] / each) / (multiplies ? totals[r] : sizes[r] / each));
    return worst / 0x1p-23;
}

typedef enum kind { EQUAL, POSITIVE, NEAR_ONE } kind;

static void fill(kind of)
{
    for (size_t i = 0; i < (size_t)LONG * MANY; i++) {
        float u = next_random();
        numbers[i] = of == EQUAL ? 0.1f : of == POSITIVE ? u : 1 + (u - 0.5f) / 256;
    }
}

/* Across memory, over symbols, over axes that lie apart and many short ones, errors are as large as along memory. */
static void test_accuracy(void **state)
{
    (void)state;
    static const struct {
        kind numbers;
        reduction function;
    } cases[] = {{EQUAL, sum}, {EQUAL, mean}, {POSITIVE, sum}, {NEAR_ONE, product}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        reduction f = cases[i].function;
        const sample others[] = {
            {f, 2, {LONG, MANY}, WEFT_INTS(0), .threads = 1},
            {f, 2, {LONG, MANY}, WEFT_INTS(0), .threads = 1, .symbolic = true},
            {f, 3, {LONG / 100, MANY, 100}, WEFT_INTS(0, 2), .threads = 1},
            {f, 3, {LONG / 3, MANY, 3}, WEFT_INTS(0, 2), .threads = 1},
        };
        fill(cases[i].numbers);
        double along = error_of(&(sample){f, 2, {MANY, LONG}, WEFT_INTS(1), .threads = 1}, 0);
        for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
            double error = error_of(&others[k], 1);
            if (error > 4 * along + 4)
                fail_msg("case %zu, sample %zu: %g epsilon, along memory %g", i, k, error, along);
        }
    }
}

/* ---- bits ---- */

static void test_bits(void **state)
{
    (void)state;
    static const sample samples[] = {
        {.rank = 2, .shape = {LONG, MANY}}, {.rank = 2, .shape = {16385, 7}}, {.rank = 2, .shape = {300, 40}},
        {.rank = 2, .shape = {300, 900}},   {.rank = 2, .shape = {128, 3}},   {.rank = 3, .shape = {700, 3, 9}},
        {.rank = 3, .shape = {5, 2, 1000}},
    };
    fill(POSITIVE);
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        float wanted[MOST_SUMS], found[MOST_SUMS];
        sample s = samples[i];
        s.function = sum;
        s.axes = s.rank == 2 ? WEFT_INTS(0) : WEFT_INTS(0, 2);
        s.threads = 1;
        size_t count = run(&s, wanted);
        for (int form = 0; form < 18; form++) {
            s.threads = form % 3 + 1;
            s.symbolic = form / 3 % 3 > 0;
            s.specialized = form / 3 % 3 > 1;
            s.turned = form / 9 == 1;
            assert_int_equal(run(&s, found), count);
            if (memcmp(found, wanted, count * sizeof *found) != 0)
                fail_msg("sample %zu, %s%s, %d threads: other bits", i,
                         s.specialized ? "specialized"
                         : s.symbolic  ? "symbolic"
                                       : "static",
                         s.turned ? ", turned" : "", s.threads);
        }
    }
}

/* ---- parts of different lengths ---- */

static float run_column(weft_program *program, int64_t rows, bool specialize, int threads)
{
    weft_array *x, *y = NULL;
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 2, (const int64_t[]){rows, 1}, NULL, numbers, NULL, NULL, &x));
    weft_run run = {.runtime = "llvm", .input_count = 1, .inputs = &x, .output_count = 1, .outputs = &y};
    run.specialize = specialize;
    weft_test_ok(weft_executor_run(executors[threads - 1], program, &run));
    float result = *(const float *)weft_array_data(y);
    weft_array_release(x);
    weft_array_release(y);
    return result;
}

/* Of at most one column there is one: its parts are side by side then, the last of them short. What lies after it
 * would spoil the result. */
static void test_last_part(void **state)
{
    (void)state;
    enum { ROWS = 131073 };
    weft_graph *graph;
    weft_program *program;
    for (int i = 0; i < ROWS; i++) numbers[i] = next_random();
    for (int i = ROWS; i < LONG * MANY; i++) numbers[i] = INFINITY;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(ROWS, weft_symbol(graph, "n", 0, 1)));
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(weft_reduce_sum(x, WEFT_INTS(0), false)), NULL, &program));
    float plain = run_column(program, ROWS, false, 1);
    assert_true(isfinite(plain));
    for (int threads = 1; threads <= 3; threads++) {
        float specialized = run_column(program, ROWS, true, threads);
        assert_memory_equal(&specialized, &plain, sizeof plain);
    }
    weft_program_release(program);
    weft_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_accuracy), cmocka_unit_test(test_bits),
                                       cmocka_unit_test(test_last_part)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
