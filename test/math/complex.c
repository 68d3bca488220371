/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the complex rows of math.def: both parts of the results, each in places of its own, against formulas of real
 * functions in MPFR.
 *   complex [--exhaustive] [--shard I/N] [FUNCTION...]
 * --exhaustive takes a hundred times as many points. A shard is every Nth row.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>
#include "test/conform/number.h"
#include "test/math/judge.h"
#include "test/math/points.h"
#include "test/support.h"

enum { BLOCK = 1 << 13, BITS = 240 };

static struct {
    bool exhaustive;
    unsigned shard, shards;
    char **names;
    int name_count;
} options = {.shards = 1};

/* ---- exact parts, of x + yi ---- */

/* Zero times infinity is zero: what is infinite here is a number too large for MPFR. */
static void multiply(mpfr_t r, const mpfr_t a, const mpfr_t b)
{
    bool none = mpfr_zero_p(a) || mpfr_zero_p(b), negative = mpfr_signbit(a) != mpfr_signbit(b);
    if (none) mpfr_set_zero(r, negative ? -1 : 1);
    else mpfr_mul(r, a, b, MPFR_RNDN);
}

typedef int real_function(mpfr_t r, const mpfr_t a, mpfr_rnd_t mode);

/* f(x) g(y) */
static int product(mpfr_t r, const mpfr_t x, const mpfr_t y, real_function *f, real_function *g)
{
    mpfr_t left, right;
    mpfr_inits2(BITS, left, right, (mpfr_ptr)NULL);
    f(left, x, MPFR_RNDN);
    g(right, y, MPFR_RNDN);
    multiply(r, left, right);
    mpfr_clears(left, right, (mpfr_ptr)NULL);
    return 0;
}

/* sinh(x) cosh(x) / d or sin(y) cos(y) / d with d = sinh(x)^2 + cos(y)^2, all divided by cosh(x)^2. */
static int tangent(mpfr_t r, const mpfr_t x, const mpfr_t y, bool imaginary)
{
    mpfr_t t, p, q, d;
    mpfr_inits2(BITS, t, p, q, d, (mpfr_ptr)NULL);
    mpfr_tanh(t, x, MPFR_RNDN);
    mpfr_sech(d, x, MPFR_RNDN);
    mpfr_sin_cos(q, p, y, MPFR_RNDN);
    mpfr_mul(p, p, d, MPFR_RNDN);
    mpfr_mul(q, q, d, MPFR_RNDN);
    mpfr_mul(q, q, p, MPFR_RNDN);
    mpfr_fmma(d, t, t, p, p, MPFR_RNDN);
    mpfr_div(r, imaginary ? q : t, d, MPFR_RNDN);
    mpfr_clears(t, p, q, d, (mpfr_ptr)NULL);
    return 0;
}

/* Where |z| is near one from |z|^2 - 1 = (a - 1) (a + 1) + b^2, a the larger part. */
static int log_of_size(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    mpfr_t a, b;
    mpfr_inits2(BITS, a, b, (mpfr_ptr)NULL);
    bool real_is_larger = mpfr_cmpabs(x, y) >= 0;
    mpfr_abs(a, real_is_larger ? x : y, MPFR_RNDN);
    mpfr_set(b, real_is_larger ? y : x, MPFR_RNDN);
    if (mpfr_cmp_d(a, 0.5) > 0 && mpfr_cmp_d(a, 2) < 0) {
        mpfr_sqr(b, b, MPFR_RNDN);
        mpfr_sub_ui(r, a, 1, MPFR_RNDN);
        mpfr_add_ui(a, a, 1, MPFR_RNDN);
        mpfr_fma(r, r, a, b, MPFR_RNDN);
        mpfr_log1p(r, r, MPFR_RNDN);
        mpfr_div_2ui(r, r, 1, MPFR_RNDN);
    } else {
        mpfr_hypot(r, a, b, MPFR_RNDN);
        mpfr_log(r, r, MPFR_RNDN);
    }
    mpfr_clears(a, b, (mpfr_ptr)NULL);
    return 0;
}

static int angle(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    return mpfr_atan2(r, y, x, MPFR_RNDN);
}

#define PRODUCT(name, f, g)                                                                                            \
    static int name(mpfr_t r, const mpfr_t x, const mpfr_t y)                                                          \
    {                                                                                                                  \
        return product(r, x, y, f, g);                                                                                 \
    }
PRODUCT(exp_re, mpfr_exp, mpfr_cos)
PRODUCT(exp_im, mpfr_exp, mpfr_sin)
PRODUCT(sinh_re, mpfr_sinh, mpfr_cos)
PRODUCT(sinh_im, mpfr_cosh, mpfr_sin)
PRODUCT(cosh_re, mpfr_cosh, mpfr_cos)
PRODUCT(cosh_im, mpfr_sinh, mpfr_sin)
PRODUCT(sin_re, mpfr_sin, mpfr_cosh)
PRODUCT(sin_im, mpfr_cos, mpfr_sinh)
PRODUCT(cos_re, mpfr_cos, mpfr_cosh)

static int cos_im(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    product(r, x, y, mpfr_sin, mpfr_sinh);
    return mpfr_neg(r, r, MPFR_RNDN);
}

static int tanh_re(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    return tangent(r, x, y, false);
}

static int tanh_im(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    return tangent(r, x, y, true);
}

/* tan(x + yi) = -i tanh(-y + xi) */
static int tan_re(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    return tangent(r, y, x, true);
}

static int tan_im(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    return tangent(r, y, x, false);
}

/* To the base 2 or 10: a part of the logarithm, divided. */
static int over_log(mpfr_t r, const mpfr_t x, const mpfr_t y, int (*part)(mpfr_t, const mpfr_t, const mpfr_t),
                    unsigned base)
{
    mpfr_t s;
    mpfr_init2(s, BITS);
    part(s, x, y);
    mpfr_log_ui(r, base, MPFR_RNDN);
    mpfr_div(r, s, r, MPFR_RNDN);
    mpfr_clear(s);
    return 0;
}

static int log2_re(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    return over_log(r, x, y, log_of_size, 2);
}

static int log2_im(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    return over_log(r, x, y, angle, 2);
}

static int log10_re(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    return over_log(r, x, y, log_of_size, 10);
}

static int log10_im(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    return over_log(r, x, y, angle, 10);
}

/* By the difference |1 + z|^2 - 1 = x (x + 2) + y^2 where that is small. */
static int log1p_re(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    mpfr_t d, s;
    mpfr_inits2(BITS, d, s, (mpfr_ptr)NULL);
    mpfr_add_ui(s, x, 2, MPFR_RNDN);
    mpfr_fmma(d, x, s, y, y, MPFR_RNDN);
    mpfr_add_ui(s, x, 1, MPFR_RNDN);
    if (mpfr_cmp_d(d, -0.5) > 0 && mpfr_cmp_d(d, 0.5) < 0) mpfr_log1p(r, d, MPFR_RNDN);
    else {
        mpfr_hypot(s, s, y, MPFR_RNDN);
        mpfr_log(r, s, MPFR_RNDN);
        mpfr_mul_2ui(r, r, 1, MPFR_RNDN);
    }
    mpfr_clears(d, s, (mpfr_ptr)NULL);
    return mpfr_div_2ui(r, r, 1, MPFR_RNDN);
}

static int log1p_im(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    mpfr_t s;
    mpfr_init2(s, BITS);
    mpfr_add_ui(s, x, 1, MPFR_RNDN);
    angle(r, s, y);
    mpfr_clear(s);
    return 0;
}

/* With t = sqrt((|z| + |x|) / 2): t, or y / 2t. */
static void root_part(mpfr_t r, const mpfr_t x, const mpfr_t y, bool larger)
{
    mpfr_t t;
    mpfr_init2(t, BITS);
    mpfr_hypot(t, x, y, MPFR_RNDN);
    if (mpfr_signbit(x)) mpfr_sub(t, t, x, MPFR_RNDN);
    else mpfr_add(t, t, x, MPFR_RNDN);
    mpfr_div_2ui(t, t, 1, MPFR_RNDN);
    mpfr_sqrt(t, t, MPFR_RNDN);
    if (larger || mpfr_zero_p(t)) mpfr_set(r, t, MPFR_RNDN);
    else mpfr_div(r, y, t, MPFR_RNDN), mpfr_div_2ui(r, r, 1, MPFR_RNDN);
    mpfr_clear(t);
}

static int sqrt_re(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    root_part(r, x, y, !mpfr_signbit(x));
    return mpfr_abs(r, r, MPFR_RNDN);
}

static int sqrt_im(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    root_part(r, x, y, mpfr_signbit(x));
    return mpfr_setsign(r, r, mpfr_signbit(y), MPFR_RNDN);
}

/* a - c where a = (|z + 1| + |z - 1|) / 2, for c = 1 or x: half of a sum of |z + 1| - (x + 1) and |z - 1| -+ (x - 1),
 * differences that are y^2 over the sum of the same. */
static void excess(mpfr_t r, const mpfr_t x, const mpfr_t y, bool over_one)
{
    mpfr_t part, size;
    mpfr_inits2(BITS, part, size, (mpfr_ptr)NULL);
    mpfr_set_zero(r, 1);
    for (int sign = -1; sign <= 1; sign += 2) {
        mpfr_add_si(part, x, sign, MPFR_RNDN);
        bool is_sum = sign < 0 && (over_one ? mpfr_sgn(part) >= 0 : mpfr_sgn(part) <= 0);
        mpfr_hypot(size, part, y, MPFR_RNDN);
        mpfr_abs(part, part, MPFR_RNDN);
        mpfr_add(size, size, part, MPFR_RNDN);
        mpfr_sqr(part, y, MPFR_RNDN);
        if (!is_sum) mpfr_div(size, part, size, MPFR_RNDN);
        mpfr_add(r, r, size, MPFR_RNDN);
    }
    mpfr_div_2ui(r, r, 1, MPFR_RNDN);
    mpfr_clears(part, size, (mpfr_ptr)NULL);
}

/* The imaginary part of asin, sign and all: log(1 + e + sqrt(e (e + 2))) of the excess e over one. */
static int asin_im(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    mpfr_t e, s;
    mpfr_inits2(BITS, e, s, (mpfr_ptr)NULL);
    mpfr_abs(s, x, MPFR_RNDN);
    excess(e, s, y, true);
    mpfr_add_ui(s, e, 2, MPFR_RNDN);
    mpfr_mul(s, s, e, MPFR_RNDN);
    mpfr_sqrt(s, s, MPFR_RNDN);
    mpfr_add(s, s, e, MPFR_RNDN);
    mpfr_log1p(r, s, MPFR_RNDN);
    mpfr_clears(e, s, (mpfr_ptr)NULL);
    return mpfr_setsign(r, r, mpfr_signbit(y), MPFR_RNDN);
}

/* sqrt(a^2 - x^2) */
static void leg(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    mpfr_t e, s;
    mpfr_inits2(BITS, e, s, (mpfr_ptr)NULL);
    mpfr_abs(s, x, MPFR_RNDN);
    excess(e, s, y, false);
    mpfr_mul_2ui(s, s, 1, MPFR_RNDN);
    mpfr_add(s, s, e, MPFR_RNDN);
    mpfr_mul(s, s, e, MPFR_RNDN);
    mpfr_sqrt(r, s, MPFR_RNDN);
    mpfr_clears(e, s, (mpfr_ptr)NULL);
}

static int asin_re(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    mpfr_t s;
    mpfr_init2(s, BITS);
    leg(s, x, y);
    mpfr_atan2(r, x, s, MPFR_RNDN);
    mpfr_clear(s);
    return 0;
}

static int acos_re(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    mpfr_t s;
    mpfr_init2(s, BITS);
    leg(s, x, y);
    mpfr_atan2(r, s, x, MPFR_RNDN);
    mpfr_clear(s);
    return 0;
}

static int acos_im(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    asin_im(r, x, y);
    return mpfr_neg(r, r, MPFR_RNDN);
}

static int acosh_re(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    asin_im(r, x, y);
    return mpfr_abs(r, r, MPFR_RNDN);
}

static int acosh_im(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    acos_re(r, x, y);
    return mpfr_setsign(r, r, mpfr_signbit(y), MPFR_RNDN);
}

/* asinh(x + yi) = -i asin(-y + xi), and asin is odd in each part. */
static int asinh_re(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    return asin_im(r, y, x);
}

static int asinh_im(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    return asin_re(r, y, x);
}

/* log(((1 + x)^2 + y^2) / ((1 - x)^2 + y^2)) / 4 */
static int atanh_re(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    mpfr_t d, s;
    mpfr_inits2(BITS, d, s, (mpfr_ptr)NULL);
    mpfr_abs(s, x, MPFR_RNDN);
    mpfr_ui_sub(d, 1, s, MPFR_RNDN);
    mpfr_fmma(d, d, d, y, y, MPFR_RNDN);
    mpfr_mul_2ui(s, s, 2, MPFR_RNDN);
    mpfr_div(s, s, d, MPFR_RNDN);
    mpfr_log1p(r, s, MPFR_RNDN);
    mpfr_div_2ui(r, r, 2, MPFR_RNDN);
    mpfr_clears(d, s, (mpfr_ptr)NULL);
    return mpfr_setsign(r, r, mpfr_signbit(x), MPFR_RNDN);
}

/* Half of the sum of the angles of 1 + z and 1 / (1 - z). */
static int atanh_im(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    mpfr_t s, t;
    mpfr_inits2(BITS, s, t, (mpfr_ptr)NULL);
    mpfr_add_ui(s, x, 1, MPFR_RNDN);
    mpfr_atan2(t, y, s, MPFR_RNDN);
    mpfr_ui_sub(s, 1, x, MPFR_RNDN);
    mpfr_atan2(r, y, s, MPFR_RNDN);
    mpfr_add(r, r, t, MPFR_RNDN);
    mpfr_clears(s, t, (mpfr_ptr)NULL);
    return mpfr_div_2ui(r, r, 1, MPFR_RNDN);
}

static int atan_re(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    return atanh_im(r, y, x);
}

static int atan_im(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    return atanh_re(r, y, x);
}

static const struct {
    const char *name;
    weft_judge_function parts[2];
} functions[] = {
#define ROW(function, re, im)                                                                                          \
    {                                                                                                                  \
#function,                                                                                                     \
        {                                                                                                              \
            {#re, 2, NULL, NULL, re, 0, 0},                                                                            \
            {                                                                                                          \
#im, 2, NULL, NULL, im, 0, 0                                                                           \
            }                                                                                                          \
        }                                                                                                              \
    }
    ROW(exp, exp_re, exp_im),       ROW(log, log_of_size, angle),   ROW(sin, sin_re, sin_im),
    ROW(cos, cos_re, cos_im),       ROW(tan, tan_re, tan_im),       ROW(sinh, sinh_re, sinh_im),
    ROW(cosh, cosh_re, cosh_im),    ROW(tanh, tanh_re, tanh_im),    ROW(log2, log2_re, log2_im),
    ROW(log10, log10_re, log10_im), ROW(log1p, log1p_re, log1p_im), ROW(asin, asin_re, asin_im),
    ROW(acos, acos_re, acos_im),    ROW(atan, atan_re, atan_im),    ROW(asinh, asinh_re, asinh_im),
    ROW(acosh, acosh_re, acosh_im), ROW(atanh, atanh_re, atanh_im), ROW(sqrt, sqrt_re, sqrt_im),
};

static const weft_judge_function *parts_of(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0) return functions[i].parts;
    fail_msg("there are no exact parts of %s", name);
    return NULL;
}

/* ---- points ---- */

/* Of every eight points two are moved near the unit circle, and one each near the poles of tan and of tanh. */
static void move(size_t i, double *x, double *y)
{
    const double quarter = 1.57079632679489661923;
    double angle = fmod(*x, 7), least = ldexp(fmod(*y, 1), -(int)(i / 8 % 60)), turns = fmod(floor(*x), 1000);
    if (!isfinite(angle) || !isfinite(least)) return;
    switch (i % 8) {
    case 0:
        *x = cos(angle);
        *y = sin(angle) + least;
        break;
    case 1:
        *x = i & 8 ? 1 : 1 + least;
        *y = least;
        break;
    case 2:
        *x = (2 * turns + 1) * quarter;
        *y = least;
        break;
    case 3:
        *x = least;
        *y = (2 * turns + 1) * quarter;
        break;
    default: break;
    }
}

static void put(weft_dtype dtype, void *data, size_t i, double value)
{
    if (dtype == WEFT_F32) ((float *)data)[i] = (float)value;
    else ((double *)data)[i] = value;
}

static double get(weft_dtype dtype, const void *data, size_t i)
{
    return weft_test_decode(dtype, (const char *)data + i * weft_dtype_size(dtype));
}

/* ---- rows ---- */

typedef struct row {
    const char *name;
    weft_dtype dtype;
    double bound;
} row;

static const row rows[] = {
#define WEFT_MATH(name, dtype, ulp)
#define WEFT_MATH_EMITTED(name, dtype, ulp)
#define WEFT_MATH_COMPLEX(name, dtype, ulp) {#name, WEFT_##dtype, ulp},
#include "lib/math/math.def"
#undef WEFT_MATH
#undef WEFT_MATH_EMITTED
};

typedef struct runner {
    weft_dtype part;
    weft_executor *executor;
    weft_program *program;
    weft_array *input, *output;
    double x[BLOCK], y[BLOCK], z[2 * BLOCK], found[2 * BLOCK]; /* room for parts of any dtype */
} runner;

static weft_array *wrap(weft_dtype dtype, void *data)
{
    const int64_t shape[] = {BLOCK};
    weft_array *array;
    weft_test_ok(weft_array_wrap(NULL, dtype, 1, shape, NULL, data, NULL, NULL, &array));
    return array;
}

static runner *open_runner(const row *which)
{
    weft_graph *graph;
    runner *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->part = weft_dtype_component(which->dtype);
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor z = weft_input(graph, "z", which->dtype, WEFT_SHAPE(BLOCK));
    weft_tensor result = weft_trace(graph, which->name, WEFT_TENSORS(z), NULL);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(result), NULL, &r->program));
    weft_graph_destroy(graph);
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 1}, &r->executor));
    r->input = wrap(which->dtype, r->z);
    r->output = wrap(which->dtype, r->found);
    return r;
}

static void close_runner(runner *r)
{
    weft_array_release(r->input);
    weft_array_release(r->output);
    weft_program_release(r->program);
    weft_executor_destroy(r->executor);
    free(r);
}

/* The next points, and what the function gives there. */
static bool run(runner *r, weft_points *points)
{
    if (!weft_points_fill(points, BLOCK, r->x, r->y)) return false;
    for (size_t i = 0; i < BLOCK; i++) {
        double x = get(r->part, r->x, i), y = get(r->part, r->y, i);
        if (points->next > points->specials + BLOCK) move(i, &x, &y);
        put(r->part, r->z, 2 * i, x);
        put(r->part, r->z, 2 * i + 1, y);
    }
    weft_test_ok(weft_executor_run(
        r->executor, r->program,
        &(weft_run){
            .runtime = "llvm", .input_count = 1, .inputs = &r->input, .output_count = 1, .outputs = &r->output}));
    return true;
}

/* Points without infinities and NaN: those have values that C gives, not the formula. */
static bool measure(const row *which)
{
    const weft_judge_function *parts = parts_of(which->name);
    runner *r = open_runner(which);
    weft_points points;
    static weft_judge judges[2];
    for (size_t p = 0; p < 2; p++) weft_judge_init(&judges[p], &parts[p], r->part, which->bound, 0);
    weft_points_init(&points, r->part, 2, options.exhaustive);
    points.count = points.specials + (options.exhaustive ? 4000000 : 40000);
    while (run(r, &points))
        for (size_t i = 0; i < 2 * BLOCK; i++) {
            double x = get(r->part, r->z, i & ~(size_t)1), y = get(r->part, r->z, i | 1);
            double found = get(r->part, r->found, i);
            if (isfinite(x) && isfinite(y)) weft_judge_note(&judges[i & 1], 1, &x, &y, &found);
        }
    close_runner(r);
    bool good = judges[0].worst <= which->bound && judges[1].worst <= which->bound;
    printf("%-5s %-5s", which->name, weft_dtype_name(which->dtype));
    for (size_t p = 0; p < 2; p++) {
        printf("  %.4f ULP at (%a, %a)", judges[p].worst, judges[p].a, judges[p].b);
        weft_judge_finish(&judges[p]);
    }
    printf(", bound %.4g%s\n", which->bound, good ? "" : "  FAILED");
    return good;
}

static bool is_wanted(size_t i)
{
    if (i % options.shards != options.shard) return false;
    for (int k = 0; k < options.name_count; k++)
        if (strcmp(options.names[k], rows[i].name) == 0) return true;
    return options.name_count == 0;
}

static void parts_are_within_bounds(void **state)
{
    (void)state;
    size_t failed = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is_wanted(i)) failed += !measure(&rows[i]);
    assert_int_equal(failed, 0);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts_are_within_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
