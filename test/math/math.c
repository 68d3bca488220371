/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures every row of math.def: the function is compiled and run as a program, and its results judged.
 *   math [--exhaustive] [--shard I/N] [FUNCTION...]
 * --exhaustive takes all floats for unary functions, and 10^8 points of the others. A shard is every Nth row.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <weft/weft.h>
#include "lib/graph/op.h"
#include "test/conform/number.h"
#include "test/math/clones.h"
#include "test/math/judge.h"
#include "test/math/points.h"
#include "test/support.h"

enum { BLOCK = 1 << 15 };

static struct {
    bool exhaustive;
    unsigned shard, shards;
    char **names;
    int name_count;
} options = {.shards = 1};

/* ---- a function as a program over a block ---- */

typedef struct runner {
    weft_executor *executor;
    weft_program *program;
    weft_dtype dtype;
    weft_array *inputs[2], *output;
    size_t input_count;
    const char *name;
    weft_function_policy functions;
    const double *exponent;                  /* of a power, where it is no input */
    double a[BLOCK], b[BLOCK], found[BLOCK]; /* room for elements of any float */
} runner;

/* The second operand of a power is an input, or the constant `exponent`. */
static weft_program *compile(const char *name, weft_dtype dtype, size_t arity, const double *exponent,
                             weft_function_policy functions)
{
    weft_policy policy = {.size = sizeof policy, .functions = functions};
    weft_graph *graph;
    weft_program *program;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_shape shape = WEFT_SHAPE(BLOCK);
    weft_tensor operands[2] = {weft_input(graph, "a", dtype, shape), weft_input(graph, "b", dtype, shape)};
    if (exponent != NULL) operands[1] = weft_full(graph, dtype, *exponent, shape);
    weft_tensor result = weft_trace(graph, name, (weft_tensors){arity, operands}, NULL);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(result), &policy, &program));
    weft_graph_destroy(graph);
    return program;
}

static weft_array *wrap(weft_dtype dtype, void *data)
{
    const int64_t shape[] = {BLOCK};
    weft_array *array;
    weft_test_ok(weft_array_wrap(NULL, dtype, 1, shape, NULL, data, NULL, NULL, &array));
    return array;
}

static runner *open_runner(const char *name, weft_dtype dtype, size_t arity, const double *exponent,
                           weft_function_policy functions)
{
    runner *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->dtype = dtype;
    r->input_count = arity;
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 1}, &r->executor));
    r->program = compile(name, dtype, arity, exponent, functions);
    r->name = name;
    r->functions = functions;
    r->exponent = exponent;
    if (exponent != NULL) r->input_count = 1;
    r->inputs[0] = wrap(dtype, r->a);
    r->inputs[1] = wrap(dtype, r->b);
    r->output = wrap(dtype, r->found);
    return r;
}

static void close_runner(runner *r)
{
    weft_array_release(r->inputs[0]);
    weft_array_release(r->inputs[1]);
    weft_array_release(r->output);
    weft_program_release(r->program);
    weft_executor_destroy(r->executor);
    free(r);
}

static void run(runner *r)
{
    weft_test_ok(weft_executor_run(r->executor, r->program,
                                   &(weft_run){.runtime = "llvm",
                                               .input_count = r->input_count,
                                               .inputs = r->inputs,
                                               .output_count = 1,
                                               .outputs = &r->output}));
}

WEFT_CLONES static void widen_single(const void *data, size_t count, double *out)
{
    for (size_t k = 0; k < count; k++) out[k] = ((const float *)data)[k];
}

/* `count` elements from the i-th on, as doubles. */
static void widen(weft_dtype dtype, const void *data, size_t i, size_t count, double *out)
{
    const char *at = (const char *)data + i * weft_dtype_size(dtype);
    if (dtype == WEFT_F64) {
        memcpy(out, at, count * sizeof *out);
        return;
    }
    if (dtype == WEFT_F32) widen_single(at, count, out);
    else
        for (size_t k = 0; k < count; k++) out[k] = weft_test_decode(dtype, at + 2 * k);
}

/* Zeros in place of what is below 2^-125, which fast exponentials and sigmoid may return, are judged as if they were
 * the result for 0. */
static void pass_over_tiny(const runner *r, double *a, double *found)
{
    if (strcmp(r->name, "tanh") == 0) return;
    double least = strcmp(r->name, "exp2") == 0 ? -125 : -125 * log(2);
    for (size_t k = 0; k < WEFT_JUDGE_COUNT; k++) {
        if (a[k] > least || found[k] != 0) continue;
        a[k] = 0;
        found[k] = strcmp(r->name, "sigmoid") == 0 ? 0.5 : 1;
    }
}

static void judge_block(weft_judge *judge, const runner *r)
{
    double a[WEFT_JUDGE_COUNT], b[WEFT_JUDGE_COUNT] = {0}, found[WEFT_JUDGE_COUNT];
    for (size_t i = 0; i < BLOCK; i += WEFT_JUDGE_COUNT) {
        widen(r->dtype, r->a, i, WEFT_JUDGE_COUNT, a);
        if (r->exponent != NULL)
            for (size_t k = 0; k < WEFT_JUDGE_COUNT; k++) b[k] = *r->exponent;
        else if (r->input_count == 2) widen(r->dtype, r->b, i, WEFT_JUDGE_COUNT, b);
        widen(r->dtype, r->found, i, WEFT_JUDGE_COUNT, found);
        if (r->functions == WEFT_FUNCTIONS_FAST) pass_over_tiny(r, a, found);
        weft_judge_note(judge, WEFT_JUDGE_COUNT, a, b, found);
    }
}

/* ---- rows ---- */

typedef struct row {
    const char *name;
    weft_dtype dtype;
    double bound;
    const double *exponent; /* see runner */
    weft_function_policy policy;
} row;

static const row rows[] = {
#define WEFT_MATH(name, dtype, ulp) {#name, WEFT_##dtype, ulp, NULL, WEFT_FUNCTIONS_ACCURATE},
#define WEFT_MATH_EMITTED WEFT_MATH
#define WEFT_MATH_FAST(name, dtype, ulp) {#name, WEFT_##dtype, ulp, NULL, WEFT_FUNCTIONS_FAST},
#include "lib/math/math.def"
#undef WEFT_MATH
#undef WEFT_MATH_EMITTED
};

/* See math.def. */
static const row floors[] = {
#define WEFT_MATH(name, dtype, ulp)
#define WEFT_MATH_EMITTED(name, dtype, ulp)
#define WEFT_MATH_FLOOR(name, dtype, least) {#name, WEFT_##dtype, least, NULL, WEFT_FUNCTIONS_ACCURATE},
#include "lib/math/math.def"
#undef WEFT_MATH
#undef WEFT_MATH_EMITTED
};

static double floor_of(const row *which)
{
    for (size_t i = 0; i < sizeof floors / sizeof *floors; i++)
        if (strcmp(floors[i].name, which->name) == 0 && floors[i].dtype == which->dtype) return floors[i].bound;
    return 0;
}

enum { ROWS = sizeof rows / sizeof *rows };

static bool is_wanted(size_t i)
{
    if (i % options.shards != options.shard) return false;
    for (int k = 0; k < options.name_count; k++)
        if (strcmp(options.names[k], rows[i].name) == 0) return true;
    return options.name_count == 0;
}

static bool measure(const row *which)
{
    const weft_judge_function *function = weft_judge_find(which->name);
    if (function == NULL) fail_msg("the judge knows no function %s", which->name);
    static weft_judge judge;
    weft_points points;
    clock_t start = clock();
    weft_judge_init(&judge, function, which->dtype, which->bound, floor_of(which));
    weft_points_init(&points, which->dtype, which->exponent != NULL ? 1 : function->arity, options.exhaustive);
    runner *r = open_runner(which->name, which->dtype, (size_t)function->arity, which->exponent, which->policy);
    while (weft_points_fill(&points, BLOCK, r->a, r->b)) {
        run(r);
        judge_block(&judge, r);
    }
    close_runner(r);
    bool good = judge.worst <= which->bound;
    printf("%-10s %s%s  %.4f ULP, bound %.4g, %llu points, %llu by MPFR, %.1f s, worst at %a", which->name,
           weft_dtype_name(which->dtype), which->policy == WEFT_FUNCTIONS_FAST ? " fast" : "", judge.worst,
           which->bound, (unsigned long long)points.count, judge.asked, (double)(clock() - start) / CLOCKS_PER_SEC,
           judge.a);
    if (function->arity == 2) printf(", %a", judge.b);
    printf("%s\n", good ? "" : "  FAILED");
    fflush(stdout);
    weft_judge_finish(&judge);
    return good;
}

/* 16-bit floats are computed in f32 and rounded once more: all their values, where the function has one operand. */
static bool measure_short(const row *which)
{
    static const weft_dtype dtypes[] = {WEFT_BF16, WEFT_F16};
    bool good = true;
    if (which->dtype != WEFT_F32 || weft_judge_find(which->name)->arity != 1) return true;
    for (size_t i = 0; i < 2; i++) {
        int precision = weft_judge_format_of(dtypes[i]).precision;
        good &= measure(&(row){which->name, dtypes[i], 0.5 + ldexp(which->bound, precision - 24), NULL, which->policy});
    }
    return good;
}

static void results_are_within_bounds(void **state)
{
    (void)state;
    size_t failed = 0;
    for (size_t i = 0; i < ROWS; i++)
        if (is_wanted(i)) failed += !measure(&rows[i]) + !measure_short(&rows[i]);
    assert_int_equal(failed, 0);
}

/* Powers that need no logarithm, in each format: their bounds do not depend on it. */
static void powers_of_constants_are_within_bounds(void **state)
{
    static const struct power {
        double exponent, bound, double_bound;
    } powers[] = {{0, 0, 0},       {1, 0, 0},        {2, 0.5, 0.5},      {3, 1, 1},
                  {-1, 0.5, 0.5},  {0.5, 0.5, 0.5},  {-0.5, 0.51, 0.51}, {1.5, 1.5, 1.5},
                  {4, 0.51, 1.5},  {7, 0.51, 1.5},   {64, 0.51, 1.5},    {-2, 0.51, 1.5},
                  {-3, 0.51, 1.5}, {-12, 0.51, 1.5}, {-64, 0.51, 1.5},   {65, 1, 1.5}};
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F64, WEFT_BF16, WEFT_F16};
    (void)state;
    size_t failed = 0;
    if (options.name_count > 0) return;
    enum { POWERS = sizeof powers / sizeof *powers, DTYPES = sizeof dtypes / sizeof *dtypes };
    for (size_t i = options.shard; i < POWERS * DTYPES; i += options.shards) {
        const struct power *power = &powers[i / DTYPES];
        size_t d = i % DTYPES;
        double bound = dtypes[d] == WEFT_F64 ? power->double_bound : power->bound + (d < 2 ? 0 : 0.01);
        failed += !measure(&(row){"pow", dtypes[d], bound, &power->exponent, WEFT_FUNCTIONS_ACCURATE});
    }
    assert_int_equal(failed, 0);
}

/* Constant exponents on both sides of where products end, against wrapping multiplication one by one. */
static void integer_powers_of_constants(void **state)
{
    static const weft_dtype dtypes[] = {WEFT_U8, WEFT_I32, WEFT_U32, WEFT_I64};
    (void)state;
    if (options.name_count > 0) return;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (int exponent = (int)options.shard; exponent <= 66; exponent += (int)options.shards) {
            const double constant_exponent = exponent;
            size_t size = weft_dtype_size(dtypes[d]);
            runner *r = open_runner("pow", dtypes[d], 2, &constant_exponent, WEFT_FUNCTIONS_ACCURATE);
            for (size_t i = 0; i < BLOCK; i++) {
                uint64_t a = i * UINT64_C(0x9e3779b97f4a7c15) >> i % 64;
                memcpy((char *)r->a + i * size, &a, size);
            }
            run(r);
            for (size_t i = 0; i < BLOCK; i++) {
                uint64_t a = 0, power = 1;
                memcpy(&a, (char *)r->a + i * size, size);
                for (int k = 0; k < exponent; k++) power *= a;
                assert_memory_equal((char *)r->found + i * size, &power, size);
            }
            close_runner(r);
        }
}

/* ---- the table ---- */

static bool has_row(const char *name, weft_dtype dtype)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0 && rows[i].dtype == dtype) return true;
    return false;
}

/* Ops on floats alone that only move bits have nothing to measure. */
static bool is_exact(const char *name)
{
    static const char *const exact[] = {"is_nan", "is_finite", "copysign", "complex"};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        if (strcmp(exact[i], name) == 0) return true;
    return false;
}

static void every_function_of_floats_has_a_bound(void **state)
{
    (void)state;
    for (unsigned id = 0; id < WEFT_OP_COUNT; id++) {
        const weft_op_def *op = &weft_op_table()[id];
        bool on_floats = op->op_class == WEFT_CLASS_ELEMENTWISE && op->attr_count == 0 &&
                         (op->dtypes >> WEFT_F32 & 1) != 0 && (op->dtypes >> WEFT_I64 & 1) == 0;
        if (!on_floats || is_exact(op->name)) continue;
        if (!has_row(op->name, WEFT_F32) || !has_row(op->name, WEFT_F64)) fail_msg("%s has no bound", op->name);
    }
}

/* ---- the judge itself ---- */

/* |high + low - f(a, b)|, less the slack, in places of the format; zero where f(a, b) is no number of the format. */
static double estimate_error(weft_judge *judge, double a, double b)
{
    weft_judge_format f = judge->format;
    double high = 0, low = 0;
    judge->estimate(1, &a, &b, &high, &low);
    mpfr_set_d(judge->left, a, MPFR_RNDN);
    mpfr_set_d(judge->right, b, MPFR_RNDN);
    judge->function->exact(judge->exact, judge->left, judge->right);
    if (!mpfr_number_p(judge->exact) || mpfr_zero_p(judge->exact)) return 0;
    long exponent = (long)mpfr_get_exp(judge->exact) - 1;
    if (exponent > f.most || (f.least < -1000 && exponent < f.least + f.precision)) return 0;
    mpfr_sub_d(judge->exact, judge->exact, high, MPFR_RNDN);
    mpfr_sub_d(judge->exact, judge->exact, low, MPFR_RNDN);
    double error = fabs(mpfr_get_d(judge->exact, MPFR_RNDN)) - judge->slack;
    return error <= 0 ? 0 : ldexp(error, f.precision - 1 - (int)(exponent < f.least ? f.least : exponent));
}

/* Where MPFR is not asked, its answer is as far from the first one as half the margin at most. */
static void the_first_answer_is_better_than_the_margin(void **state)
{
    enum { COUNT = 512 };
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        static weft_judge judge;
        weft_points points;
        double a[COUNT], b[COUNT];
        uint64_t left[COUNT], right[COUNT];
        const weft_judge_function *function = weft_judge_find(rows[i].name);
        if (!is_wanted(i)) continue;
        weft_judge_init(&judge, function, rows[i].dtype, rows[i].bound, floor_of(&rows[i]));
        weft_points_init(&points, rows[i].dtype, 2, false);
        points.next = points.specials;
        weft_points_fill(&points, COUNT, left, right);
        widen(rows[i].dtype, left, 0, COUNT, a);
        widen(rows[i].dtype, right, 0, COUNT, b);
        for (size_t k = 0; k < COUNT; k++) {
            double error = estimate_error(&judge, a[k], b[k]);
            if (error > judge.margin / 2)
                fail_msg("%s of %s at %a, %a: estimated with an error of %g places", rows[i].name,
                         weft_dtype_name(rows[i].dtype), a[k], b[k], error);
        }
        weft_judge_finish(&judge);
    }
}

static double judged(weft_dtype dtype, double a, double found)
{
    static weft_judge judge;
    double b = 0;
    weft_judge_init(&judge, weft_judge_find("exp"), dtype, 1, 0);
    weft_judge_note(&judge, 1, &a, &b, &found);
    weft_judge_finish(&judge);
    return judge.worst;
}

static void the_judge_finds_errors(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        weft_dtype dtype = i ? WEFT_F64 : WEFT_F32;
        double place = i ? 0x1p-52 : 0x1p-23, e = i ? M_E : (double)(float)M_E, least = i ? 0x1p-1074 : 0x1p-149;
        assert_true(judged(dtype, 1, e) < 0.5);
        assert_true(judged(dtype, 1, e + 4 * place) > 1.5 && judged(dtype, 1, e + 4 * place) < 2.5);
        assert_true(isinf(judged(dtype, 1, NAN)) && isinf(judged(dtype, NAN, 1)) && judged(dtype, NAN, NAN) == 0);
        assert_true(judged(dtype, -HUGE_VAL, 0) == 0 && isinf(judged(dtype, -HUGE_VAL, -0.0)));
        assert_true(judged(dtype, 1e5, HUGE_VAL) == 0 && isinf(judged(dtype, 1e5, 0x1.fffffep127)));
        assert_true(judged(dtype, -1e5, 0) < 0.5 && judged(dtype, -1e5, least) > 0.9);
        assert_true(judged(dtype, log(2 * least), least) > 0.9 && judged(dtype, 1, HUGE_VAL) > 1e6);
    }
}

/* Numbers that grow by a 400th of an octave. */
static void fill_growing(runner *r, double first)
{
    for (int k = 0; k < BLOCK; k++) {
        double x = exp2(first + k / 400.0);
        if (r->dtype == WEFT_F64) r->a[k] = x;
        else ((float *)r->a)[k] = (float)x;
    }
}

/* Bounds alone would let neighbours of pi/2 pass. */
static void check_arc_tangents(const runner *r, double most, double certain)
{
    static double x[BLOCK], found[BLOCK];
    widen(r->dtype, r->a, 0, BLOCK, x);
    widen(r->dtype, r->found, 0, BLOCK, found);
    for (int k = 0; k < BLOCK; k++)
        if (found[k] < found[k > 0 ? k - 1 : 0] || found[k] > most || (x[k] > certain && found[k] != most))
            fail_msg("atan(%a) of %s is %a", x[k], weft_dtype_name(r->dtype), found[k]);
}

static void arc_tangents_grow_to_a_quarter_turn(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        runner *r = open_runner("atan", i ? WEFT_F64 : WEFT_F32, 1, NULL, WEFT_FUNCTIONS_ACCURATE);
        for (int block = 0; block < 64; block++) {
            fill_growing(r, block / (64 * 400.0));
            run(r);
            check_arc_tangents(r, i ? M_PI_2 : (double)(float)M_PI_2, i ? 0x1p55 : 0x1p26);
        }
        close_runner(r);
    }
}

int main(int argc, char **argv)
{
    int next = 1;
    for (; next < argc && argv[next][0] == '-'; next++) {
        if (strcmp(argv[next], "--exhaustive") == 0) options.exhaustive = true;
        else if (next + 1 < argc && sscanf(argv[next + 1], "%u/%u", &options.shard, &options.shards) == 2) next++;
    }
    options.names = argv + next;
    options.name_count = argc - next;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_of_floats_has_a_bound),       cmocka_unit_test(the_judge_finds_errors),
        cmocka_unit_test(the_first_answer_is_better_than_the_margin), cmocka_unit_test(results_are_within_bounds),
        cmocka_unit_test(powers_of_constants_are_within_bounds),      cmocka_unit_test(integer_powers_of_constants),
        cmocka_unit_test(arc_tangents_grow_to_a_quarter_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
