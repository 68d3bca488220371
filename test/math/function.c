/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <string.h>
#include "test/math/clones.h"
#include "test/math/judge.h"

/* Estimates in double and in long double from a function of libm, and MPFR's function of the same meaning. */
#define UNARY(name, libm, exact_name)                                                                                  \
    WEFT_CLONES static void name##_double(size_t count, const double *a, const double *b, double *high, double *low)   \
    {                                                                                                                  \
        (void)b, (void)low;                                                                                            \
        for (size_t i = 0; i < count; i++) high[i] = libm(a[i]);                                                       \
    }                                                                                                                  \
    static void name##_long(size_t count, const double *a, const double *b, double *high, double *low)                 \
    {                                                                                                                  \
        (void)b;                                                                                                       \
        for (size_t i = 0; i < count; i++) divide(libm##l(a[i]), &high[i], &low[i]);                                   \
    }                                                                                                                  \
    static int name##_exact(mpfr_t r, const mpfr_t a, const mpfr_t b)                                                  \
    {                                                                                                                  \
        (void)b;                                                                                                       \
        return exact_name(r, a, MPFR_RNDN);                                                                            \
    }
#define BINARY(name, libm, exact_name)                                                                                 \
    WEFT_CLONES static void name##_double(size_t count, const double *a, const double *b, double *high, double *low)   \
    {                                                                                                                  \
        (void)low;                                                                                                     \
        for (size_t i = 0; i < count; i++) high[i] = libm(a[i], b[i]);                                                 \
    }                                                                                                                  \
    static void name##_long(size_t count, const double *a, const double *b, double *high, double *low)                 \
    {                                                                                                                  \
        for (size_t i = 0; i < count; i++) divide(libm##l(a[i], b[i]), &high[i], &low[i]);                             \
    }                                                                                                                  \
    static int name##_exact(mpfr_t r, const mpfr_t a, const mpfr_t b)                                                  \
    {                                                                                                                  \
        return exact_name(r, a, b, MPFR_RNDN);                                                                         \
    }

static void divide(long double value, double *high, double *low)
{
    *high = (double)value;
    *low = (double)(value - *high);
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

/* MPFR's own takes milliseconds for what is subnormal in f64, which has far fewer places than long double. */
static int exact_erfc(mpfr_t r, const mpfr_t a, mpfr_rnd_t mode)
{
    long double value = erfcl(mpfr_get_ld(a, MPFR_RNDN));
    return value > 0 && value < DBL_MIN ? mpfr_set_ld(r, value, mode) : mpfr_erfc(r, a, mode);
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

/* From the recurrence and the series for large numbers. Next to its zeros the error is an absolute one: see `slack`. */
#define DIGAMMA(name, real, log, tan, rint)                                                                            \
    static inline real name(real a)                                                                                    \
    {                                                                                                                  \
        const real pi = (real)3.141592653589793238462643383279502884L;                                                 \
        real x = a < 0 ? 1 - a : a, sum = 0, part = a - rint(a);                                                       \
        for (int k = 0; k < 16; k++) sum += 1 / (x + (real)k);                                                         \
        real y = x < 16 ? x + 16 : x, s = 1 / (y * y);                                                                 \
        real series = (real)1 / 240 - s * ((real)1 / 132 - s * ((real)691 / 32760 - s / 12));                          \
        series = s * ((real)1 / 12 - s * ((real)1 / 120 - s * ((real)1 / 252 - s * series)));                          \
        real right = log(y) - 1 / (2 * y) - series - (x < 16 ? sum : 0);                                               \
        real left = part == 0 ? (real)NAN : right - pi / tan(pi * part);                                               \
        return a == 0 ? -1 / a : a < 0 ? left : right;                                                                 \
    }

DIGAMMA(digamma, double, log, tan, rint)
DIGAMMA(digammal, long double, logl, tanl, rintl)

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
UNARY(erfc, erfc, exact_erfc)
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
#name, arity, name##_double, name##_long, name##_exact, 0, 0                                                   \
    }

static const weft_judge_function functions[] = {
    ROW(exp, 1),
    ROW(exp2, 1),
    ROW(expm1, 1),
    ROW(log, 1),
    ROW(log2, 1),
    ROW(log10, 1),
    ROW(log1p, 1),
    ROW(tanh, 1),
    ROW(sinh, 1),
    ROW(cosh, 1),
    ROW(asinh, 1),
    ROW(acosh, 1),
    ROW(atanh, 1),
    ROW(sigmoid, 1),
    ROW(sqrt, 1),
    ROW(rsqrt, 1),
    ROW(cbrt, 1),
    ROW(floor, 1),
    ROW(ceil, 1),
    ROW(round, 1),
    ROW(trunc, 1),
    ROW(div, 2),
    ROW(fmod, 2),
    ROW(remainder, 2),
    ROW(pow, 2),
    ROW(sin, 1),
    ROW(cos, 1),
    ROW(tan, 1),
    ROW(asin, 1),
    ROW(acos, 1),
    ROW(atan, 1),
    ROW(erf, 1),
    ROW(erfc, 1),
    ROW(lgamma, 1),
    ROW(tgamma, 1),
    ROW(atan2, 2),
    {"digamma", 1, digamma_double, digamma_long, digamma_exact, 1e-14, 5e-18},
};

const weft_judge_function *weft_judge_find(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0) return &functions[i];
    return NULL;
}
