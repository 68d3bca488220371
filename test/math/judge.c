/* SPDX-License-Identifier: Apache-2.0 */
#include "test/math/judge.h"
#include <math.h>
#include <string.h>

enum { EXACT_BITS = 240 };

weft_judge_format weft_judge_format_of(weft_dtype dtype)
{
    switch (dtype) {
    case WEFT_BF16: return (weft_judge_format){8, -126, 127};
    case WEFT_F16: return (weft_judge_format){11, -14, 15};
    case WEFT_F32: return (weft_judge_format){24, -126, 127};
    default: return (weft_judge_format){53, -1022, 1023};
    }
}

/* ---- functions ---- */

/* `mine` and its long double form from libm, and MPFR's function of the same meaning. */
#define UNARY(name, libm, exact_name)                                                                                  \
    static double name##_double(double a, double b)                                                                    \
    {                                                                                                                  \
        (void)b;                                                                                                       \
        return libm(a);                                                                                                \
    }                                                                                                                  \
    static long double name##_long(long double a, long double b)                                                       \
    {                                                                                                                  \
        (void)b;                                                                                                       \
        return libm##l(a);                                                                                             \
    }                                                                                                                  \
    static int name##_exact(mpfr_t r, const mpfr_t a, const mpfr_t b)                                                  \
    {                                                                                                                  \
        (void)b;                                                                                                       \
        return exact_name(r, a, MPFR_RNDN);                                                                            \
    }
#define BINARY(name, libm, exact_name)                                                                                 \
    static double name##_double(double a, double b)                                                                    \
    {                                                                                                                  \
        return libm(a, b);                                                                                             \
    }                                                                                                                  \
    static long double name##_long(long double a, long double b)                                                       \
    {                                                                                                                  \
        return libm##l(a, b);                                                                                          \
    }                                                                                                                  \
    static int name##_exact(mpfr_t r, const mpfr_t a, const mpfr_t b)                                                  \
    {                                                                                                                  \
        return exact_name(r, a, b, MPFR_RNDN);                                                                         \
    }

static double sigmoid(double a)
{
    return 1 / (1 + exp(-a));
}

static long double sigmoidl(long double a)
{
    return 1 / (1 + expl(-a));
}

static int exact_sigmoid(mpfr_t r, const mpfr_t a, mpfr_rnd_t mode)
{
    mpfr_neg(r, a, mode);
    mpfr_exp(r, r, mode);
    mpfr_add_ui(r, r, 1, mode);
    return mpfr_ui_div(r, 1, r, mode);
}

static double rsqrt(double a)
{
    return 1 / sqrt(a);
}

static long double rsqrtl(long double a)
{
    return 1 / sqrtl(a);
}

/* MPFR's own takes -0 to +infinity. */
static int exact_rsqrt(mpfr_t r, const mpfr_t a, mpfr_rnd_t mode)
{
    int inexact = mpfr_rec_sqrt(r, a, mode);
    if (mpfr_zero_p(a) && mpfr_signbit(a)) mpfr_set_inf(r, -1);
    return inexact;
}

static double quotient(double a, double b)
{
    return a / b;
}

static long double quotientl(long double a, long double b)
{
    return a / b;
}

static double rest(double a, double b)
{
    double r = fmod(a, b);
    if (r == 0) return copysign(0, b);
    return (r < 0) == (b < 0) ? r : r + b;
}

static long double restl(long double a, long double b)
{
    long double r = fmodl(a, b);
    if (r == 0) return copysignl(0, b);
    return (r < 0) == (b < 0) ? r : r + b;
}

static int exact_rest(mpfr_t r, const mpfr_t a, const mpfr_t b, mpfr_rnd_t mode)
{
    int inexact = mpfr_fmod(r, a, b, mode);
    if (mpfr_zero_p(r)) mpfr_setsign(r, r, mpfr_signbit(b), mode);
    else if (!mpfr_nan_p(r) && mpfr_signbit(r) != mpfr_signbit(b)) inexact = mpfr_add(r, r, b, mode);
    return inexact;
}

static int exact_floor(mpfr_t r, const mpfr_t a, mpfr_rnd_t mode)
{
    return mpfr_rint_floor(r, a, mode);
}

static int exact_ceil(mpfr_t r, const mpfr_t a, mpfr_rnd_t mode)
{
    return mpfr_rint_ceil(r, a, mode);
}

static int exact_trunc(mpfr_t r, const mpfr_t a, mpfr_rnd_t mode)
{
    return mpfr_rint_trunc(r, a, mode);
}

static int exact_lgamma(mpfr_t r, const mpfr_t a, mpfr_rnd_t mode)
{
    int sign;
    return mpfr_lgamma(r, &sign, a, mode);
}

/* From the recurrence and the series for large numbers, so not accurate next to the zeros: there MPFR is asked. */
static long double digammal(long double a)
{
    const long double pi = 3.141592653589793238462643383279502884L;
    if (a == 0) return -1 / a;
    if (a < 0) return a == rintl(a) ? NAN : digammal(1 - a) - pi / tanl(pi * (a - rintl(a)));
    long double sum = 0, square;
    for (; a < 40; a += 1) sum -= 1 / a;
    square = 1 / (a * a);
    long double series = square * (1.0L / 12 - square * (1.0L / 120 - square * (1.0L / 252 - square / 240)));
    return sum + logl(a) - 0.5L / a - series;
}

static double digamma(double a)
{
    return (double)digammal(a);
}

/* MPFR gives NaN at zeros, and takes long for large negative integers. */
static int exact_digamma(mpfr_t r, const mpfr_t a, mpfr_rnd_t mode)
{
    if (mpfr_zero_p(a)) mpfr_set_inf(r, mpfr_signbit(a) ? 1 : -1);
    else if (mpfr_sgn(a) < 0 && (mpfr_inf_p(a) || mpfr_integer_p(a))) mpfr_set_nan(r);
    else return mpfr_digamma(r, a, mode);
    return 0;
}

UNARY(exp, exp, mpfr_exp)
UNARY(exp2, exp2, mpfr_exp2)
UNARY(expm1, expm1, mpfr_expm1)
UNARY(log, log, mpfr_log)
UNARY(log2, log2, mpfr_log2)
UNARY(log10, log10, mpfr_log10)
UNARY(log1p, log1p, mpfr_log1p)
UNARY(tanh, tanh, mpfr_tanh)
UNARY(sinh, sinh, mpfr_sinh)
UNARY(cosh, cosh, mpfr_cosh)
UNARY(asinh, asinh, mpfr_asinh)
UNARY(acosh, acosh, mpfr_acosh)
UNARY(atanh, atanh, mpfr_atanh)
UNARY(sigmoid, sigmoid, exact_sigmoid)
UNARY(sqrt, sqrt, mpfr_sqrt)
UNARY(rsqrt, rsqrt, exact_rsqrt)
UNARY(cbrt, cbrt, mpfr_cbrt)
UNARY(sin, sin, mpfr_sin)
UNARY(cos, cos, mpfr_cos)
UNARY(tan, tan, mpfr_tan)
UNARY(asin, asin, mpfr_asin)
UNARY(acos, acos, mpfr_acos)
UNARY(atan, atan, mpfr_atan)
UNARY(erf, erf, mpfr_erf)
UNARY(erfc, erfc, mpfr_erfc)
UNARY(lgamma, lgamma, exact_lgamma)
UNARY(tgamma, tgamma, mpfr_gamma)
UNARY(digamma, digamma, exact_digamma)
UNARY(floor, floor, exact_floor)
UNARY(ceil, ceil, exact_ceil)
UNARY(round, rint, mpfr_rint)
UNARY(trunc, trunc, exact_trunc)
BINARY(div, quotient, mpfr_div)
BINARY(fmod, fmod, mpfr_fmod)
BINARY(remainder, rest, exact_rest)
BINARY(pow, pow, mpfr_pow)
BINARY(atan2, atan2, mpfr_atan2)

#define ROW(name, arity)                                                                                               \
    {                                                                                                                  \
#name, arity, name##_double, name##_long, name##_exact                                                         \
    }

static const weft_judge_function functions[] = {
    ROW(exp, 1),     ROW(exp2, 1),  ROW(expm1, 1),     ROW(log, 1),   ROW(log2, 1),  ROW(log10, 1),  ROW(log1p, 1),
    ROW(tanh, 1),    ROW(sinh, 1),  ROW(cosh, 1),      ROW(asinh, 1), ROW(acosh, 1), ROW(atanh, 1),  ROW(sigmoid, 1),
    ROW(sqrt, 1),    ROW(rsqrt, 1), ROW(cbrt, 1),      ROW(floor, 1), ROW(ceil, 1),  ROW(round, 1),  ROW(trunc, 1),
    ROW(div, 2),     ROW(fmod, 2),  ROW(remainder, 2), ROW(pow, 2),   ROW(sin, 1),   ROW(cos, 1),    ROW(tan, 1),
    ROW(asin, 1),    ROW(acos, 1),  ROW(atan, 1),      ROW(erf, 1),   ROW(erfc, 1),  ROW(lgamma, 1), ROW(tgamma, 1),
    ROW(digamma, 1), ROW(atan2, 2),
};

const weft_judge_function *weft_judge_find(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0) return &functions[i];
    return NULL;
}

/* ---- distances ---- */

static bool same_special(double found, double expected)
{
    return found == expected && !signbit(found) == !signbit(expected);
}

/* Infinity counts as the number after the largest one where the exact value is within the range. */
static double distance(weft_judge_format f, double found, long double exact)
{
    if (isnan(exact)) return isnan(found) ? 0.0 : INFINITY;
    if (isnan(found)) return INFINITY;
    if (isinf(exact) || exact == 0) return same_special(found, (double)exact) ? 0.0 : INFINITY;
    int exponent = ilogbl(exact);
    if (exponent > f.most) return isinf(found) && (found > 0) == (exact > 0) ? 0.0 : INFINITY;
    long double value = isinf(found) ? copysignl(ldexpl(1, f.most + 1), found) : (long double)found;
    if (exponent < f.least) exponent = f.least;
    return (double)ldexpl(fabsl(value - exact), f.precision - 1 - exponent);
}

/* The format whose places count for a result at a. */
static weft_judge_format format_at(const weft_judge *judge, double a)
{
    weft_judge_format f = judge->format;
    if (a < 0 && judge->floor > 0) f.least = ilogb(judge->floor);
    return f;
}

static double exact_distance(weft_judge *judge, double a, double b, double found)
{
    weft_judge_format f = format_at(judge, a);
    mpfr_set_d(judge->left, a, MPFR_RNDN);
    mpfr_set_d(judge->right, b, MPFR_RNDN);
    judge->function->exact(judge->exact, judge->left, judge->right);
    if (!mpfr_number_p(judge->exact) || mpfr_zero_p(judge->exact))
        return distance(f, found, mpfr_get_ld(judge->exact, MPFR_RNDN));
    long exponent = (long)mpfr_get_exp(judge->exact) - 1;
    int sign = mpfr_sgn(judge->exact);
    if (exponent > f.most) return isinf(found) && (found > 0) == (sign > 0) ? 0.0 : INFINITY;
    if (isnan(found)) return INFINITY;
    mpfr_set_d(judge->left, found, MPFR_RNDN);
    if (isinf(found)) mpfr_set_si_2exp(judge->left, found > 0 ? 1 : -1, f.most + 1, MPFR_RNDN);
    mpfr_sub(judge->left, judge->left, judge->exact, MPFR_RNDN);
    mpfr_mul_2si(judge->left, judge->left, f.precision - 1 - (exponent < f.least ? f.least : exponent), MPFR_RNDN);
    return fabs(mpfr_get_d(judge->left, MPFR_RNDN));
}

static double first_distance(const weft_judge *judge, double a, double b, double found)
{
    const weft_judge_function *function = judge->function;
    if (judge->format.precision <= 24 && function->in_double != NULL)
        return distance(format_at(judge, a), found, function->in_double(a, b));
    if (function->in_long_double == NULL) return INFINITY;
    return distance(format_at(judge, a), found, function->in_long_double(a, b));
}

void weft_judge_init(weft_judge *judge, const weft_judge_function *function, weft_dtype dtype, double bound)
{
    *judge = (weft_judge){.function = function, .format = weft_judge_format_of(dtype), .bound = bound};
    judge->margin = judge->format.precision > 24 ? 0.01 : 1e-5;
    mpfr_inits2(EXACT_BITS, judge->exact, judge->left, judge->right, (mpfr_ptr)NULL);
}

void weft_judge_finish(weft_judge *judge)
{
    mpfr_clears(judge->exact, judge->left, judge->right, (mpfr_ptr)NULL);
}

void weft_judge_note(weft_judge *judge, double a, double b, double found)
{
    double ulp = first_distance(judge, a, b, found);
    if (ulp <= judge->worst && ulp <= judge->bound - judge->margin) return;
    ulp = exact_distance(judge, a, b, found);
    if (ulp <= judge->worst) return;
    judge->worst = ulp;
    judge->a = a;
    judge->b = b;
}
