/* SPDX-License-Identifier: Apache-2.0 */
/* tanh, sinh, cosh and their inverses */
#include "lib/math/exp_data.h"
#include "lib/math/extended.h"

typedef struct constants {
    double most;       /* beyond it tanh is 1 */
    double tiny;       /* below it a function is a term or two of its series */
    double large_sinh; /* beyond it the smaller of two powers does not matter */
    double most_sinh;  /* beyond it sinh and cosh are infinite */
    double large;      /* beyond it a^2 + 1 is a^2 */
} constants;

static const constants constants_of[MATH_FORMATS] = {
    [MATH_F32] = {9.25, 0x1p-13, 86.0, 89.5, 0x1p13},
    [MATH_F64] = {20.0, 0x1p-27, 707.0, 710.5, 0x1p28},
};

/* ---- tanh ---- */

/* Floats: a row for each half of an octave of 1.6 a + 1. */
static weft_inst_id single_tanh(const writer *w, weft_inst_id a)
{
    a = at_most(w, a, constants_of[MATH_F32].most);
    weft_inst_id one = real(w, 1.0), place = fma3(w, a, real(w, 1.6), one);
    weft_inst_id row = shift_right(w, as_integer(w, place), w->format->fraction - 1);
    return weft_math_single_row(w, WEFT_TABLE_tanh, row, a);
}

/*
 * Doubles, a >= 0: 1 - 1 / (d + low), where d + low = (exp(2 a) + 1) / 2, and exp(2 a) / 2 = s + v (1 + w) with s =
 * 2^(n - 1), v = s r and w a sum that is small: only it is rounded. What is lost of 1 / d and by it is taken from 1 - 1
 * / d, which is all of small results.
 */
static weft_inst_id double_tanh(const writer *w, weft_inst_id a)
{
    const math_exp_constants *exp = &weft_math_exp_constants[MATH_F64];
    weft_inst_id shifted, one = real(w, 1.0);
    a = at_most(w, a, constants_of[MATH_F64].most);
    weft_inst_id n = weft_math_round_scaled(w, a, 2.0 * exp->log2_e, w->format->bias - 1, &shifted);
    weft_inst_id twice = add(w, a, a), r = fma3(w, n, real(w, -exp->ln2_high), twice);
    r = fma3(w, n, real(w, -exp->ln2_low), r);
    weft_inst_id growth = mul(w, r, paired_polynomial(w, r, exp->series + 2, exp->count - 2));
    weft_inst_id s = weft_math_power(w, as_integer(w, shifted)), v = mul(w, s, r), base = add(w, s, real(w, 0.5));
    weft_inst_id start = add(w, base, v), low = sum_error(w, start, base, v), d = fma3(w, v, growth, start);
    low = add(w, low, fma3(w, v, growth, sub(w, start, d)));
    weft_inst_id inverse = quotient(w, one, d), minus = negative_of(w, inverse);
    weft_inst_id left = fma3(w, minus, low, fma3(w, minus, d, one));
    return fma3(w, minus, left, sub(w, one, inverse));
}

weft_inst_id weft_math_tanh(const writer *w, const weft_inst_id *x)
{
    weft_inst_id a = absolute(w, x[0]);
    return with_sign(w, (w->number == MATH_F32 ? single_tanh : double_tanh)(w, a), x[0]);
}

/* (exp(2 u) - 1) / u on |u| <= 0.1735, of floats: error 2^-26.1. */
static const double fast_growth[] = {0x1p+1, 0x1.fffffep+0, 0x1.5554b4p+0, 0x1.5556f2p-1, 0x1.12256cp-2, 0x1.6b9cf2p-4};

/* t / (t + 2), where t = exp(2 a) - 1 = (s - 1) + s (exp(2 u) - 1) with s = 2^n. */
weft_inst_id weft_math_fast_tanh(const writer *w, const weft_inst_id *x)
{
    const math_exp_constants *exp = &weft_math_exp_constants[MATH_F32];
    weft_inst_id a = at_most(w, absolute(w, x[0]), constants_of[MATH_F32].most), shifted;
    weft_inst_id n = weft_math_round_scaled(w, a, 2.0 * exp->log2_e, w->format->bias, &shifted);
    weft_inst_id u = fma3(w, n, real(w, -0.5 * exp->ln2), a);
    weft_inst_id growth = mul(w, u, polynomial(w, u, fast_growth, sizeof fast_growth / sizeof *fast_growth));
    weft_inst_id s = weft_math_power(w, as_integer(w, shifted)), base = sub(w, s, real(w, 1.0));
    weft_inst_id t = fma3(w, s, growth, base);
    return with_sign(w, quotient(w, t, add(w, t, real(w, 2.0))), x[0]);
}

/* ---- sinh and cosh ---- */

static const series odd_series[MATH_FORMATS] = WEFT_SERIES(odd);
static const series even_series[MATH_FORMATS] = WEFT_SERIES(even);

/* a = n ln(2) + u >= 0, h = 2^(n - 1), g = 2^(-n - 1), square = u^2, odd = (sinh(u) / u - 1) / u^2, even = (cosh(u) -
 * 1) / u^2. */
typedef struct halves {
    math_reduced u;
    weft_inst_id h, g, square, odd, even;
} halves;

static halves halve(const writer *w, weft_inst_id a)
{
    halves parts;
    parts.u = weft_math_reduce(w, a, w->format->bias - 1);
    parts.h = weft_math_power(w, as_integer(w, parts.u.shifted));
    uint64_t both = (2 * (uint64_t)w->format->bias - 2) << w->format->fraction;
    weft_inst_id bits = as_integer(w, parts.h);
    parts.g = as_real(w, sub(w, integer(w, both), bits));
    parts.square = mul(w, parts.u.high, parts.u.high);
    const series *odd = &odd_series[w->number], *even = &even_series[w->number];
    parts.odd = polynomial(w, parts.square, odd->terms, odd->count);
    parts.even = polynomial(w, parts.square, even->terms, even->count);
    return parts;
}

/*
 * first cosh(u) + second sinh(u), where `lost` is what both lack, that of the second already times u. The product of
 * the first with 1 is added last, that of the second with u next to last.
 */
static weft_inst_id join(const writer *w, const halves *parts, weft_inst_id first, weft_inst_id second,
                         weft_inst_id lost)
{
    weft_inst_id u = parts->u.high, slope = mul(w, second, u);
    weft_inst_id curve = fma3(w, slope, parts->odd, mul(w, first, parts->even));
    if (!is_short(w)) lost = fma3(w, second, parts->u.low, lost);
    return add(w, first, fma3(w, second, u, fma3(w, parts->square, curve, lost)));
}

/* Both where g does not matter and may be no normal number: twice what they are of half of h, for the largest ones. */
static weft_inst_id large_sinh(const writer *w, weft_inst_id a, const halves *parts)
{
    weft_inst_id step = integer(w, (uint64_t)1 << w->format->fraction), zero = real(w, 0.0);
    weft_inst_id lower = as_real(w, sub(w, as_integer(w, parts->h), step));
    weft_inst_id half = join(w, parts, lower, lower, zero), infinity = real(w, HUGE_VAL);
    weft_inst_id beyond = less(w, real(w, constants_of[w->number].most_sinh), a);
    return choose(w, beyond, infinity, add(w, half, half));
}

/*
 * Of sinh the first factor is h - g. What h + g lacks matters for floats next to n = 12 alone, where it is half a
 * place.
 */
static weft_inst_id sinh_or_cosh(const writer *w, weft_inst_id a, bool is_sinh)
{
    halves parts = halve(w, a);
    weft_inst_id usual = less(w, a, real(w, constants_of[w->number].large_sinh)), minus = negative_of(w, parts.g);
    weft_inst_id own = is_sinh ? minus : parts.g, other = is_sinh ? parts.g : minus;
    weft_inst_id first = add(w, parts.h, own), lost = sum_error(w, first, parts.h, own);
    weft_inst_id second = add(w, parts.h, other);
    if (is_sinh && is_short(w)) lost = fma3(w, sum_error(w, second, parts.h, other), parts.u.high, lost);
    weft_inst_id result = join(w, &parts, first, second, lost);
    weft_inst_id rare = unary(w, WEFT_SCALAR_not, usual);
    return rarely(w, rare, large_sinh(w, a, &parts), result);
}

weft_inst_id weft_math_cosh(const writer *w, const weft_inst_id *x)
{
    return sinh_or_cosh(w, absolute(w, x[0]), false);
}

weft_inst_id weft_math_sinh(const writer *w, const weft_inst_id *x)
{
    return with_sign(w, sinh_or_cosh(w, absolute(w, x[0]), true), x[0]);
}

/* ---- inverses: logarithms of a sum of two numbers, of which the second is small ---- */

/*
 * log(a + sqrt(a^2 + shift)); for large a it is log(2 a). With r the rounded root, which lacks left / (2 r), and y the
 * rounded sum, which lacks `error` and that, the correction is (error + left / (2 r)) / y: one quotient.
 */
static weft_inst_id log_of_sum(const writer *w, weft_inst_id a, double shift)
{
    weft_inst_id square = mul(w, a, a), square_low = product_error(w, square, a, a), constant = real(w, shift);
    weft_inst_id sum = add(w, square, constant), part = sub(w, sum, square), other = sub(w, sum, part);
    weft_inst_id lost = sub(w, square, other), lost_too = sub(w, constant, part), r = unary(w, WEFT_SCALAR_sqrt, sum);
    weft_inst_id low = add(w, add(w, lost, lost_too), square_low), twice = add(w, r, r);
    weft_inst_id left = add(w, fma3(w, negative_of(w, r), r, sum), low);
    /* The larger one first. */
    weft_inst_id greater = shift > 0 ? r : a, lesser = shift > 0 ? a : r, y = add(w, a, r);
    weft_inst_id lack = fma3(w, sum_error(w, y, greater, lesser), twice, left);
    weft_inst_id large = less(w, real(w, constants_of[w->number].large), a), zero = real(w, 0.0);
    y = choose(w, large, a, y);
    weft_inst_id correction = choose(w, large, zero, quotient(w, lack, mul(w, twice, y)));
    return weft_math_log_corrected(w, y, choose_real(w, large, 1.0, 0.0), correction);
}

/* a + a^3 * coefficient for tiny a */
static weft_inst_id cubic(const writer *w, weft_inst_id a, double coefficient)
{
    weft_inst_id cube = mul(w, mul(w, a, a), a);
    return fma3(w, cube, real(w, coefficient), a);
}

weft_inst_id weft_math_asinh(const writer *w, const weft_inst_id *x)
{
    weft_inst_id a = absolute(w, x[0]), tiny = less(w, a, real(w, constants_of[w->number].tiny));
    weft_inst_id near = cubic(w, a, -1.0 / 6.0);
    return with_sign(w, choose(w, tiny, near, log_of_sum(w, a, 1.0)), x[0]);
}

weft_inst_id weft_math_acosh(const writer *w, const weft_inst_id *x)
{
    weft_inst_id one = real(w, 1.0), beyond = less(w, one, x[0]), at_one = binary(w, WEFT_SCALAR_eq, x[0], one);
    weft_inst_id outside = choose_real(w, at_one, 0.0, (double)NAN);
    return choose(w, beyond, log_of_sum(w, x[0], -1.0), outside);
}

/* atanh(a) = log((1 + a) / (1 - a)) / 2, numerator and denominator with their rounding errors. */
weft_inst_id weft_math_atanh(const writer *w, const weft_inst_id *x)
{
    weft_inst_id a = absolute(w, x[0]), one = real(w, 1.0), minus = negative_of(w, a);
    math_ratio ratio = {.top = add(w, one, a), .bottom = add(w, one, minus)};
    ratio.top_low = sum_error(w, ratio.top, one, a);
    ratio.bottom_low = sum_error(w, ratio.bottom, one, minus);
    weft_inst_id result = weft_math_half_log(w, &ratio);
    weft_inst_id at_one = binary(w, WEFT_SCALAR_eq, a, one), outside = choose_real(w, at_one, HUGE_VAL, (double)NAN);
    return with_sign(w, choose(w, less(w, a, one), result, outside), x[0]);
}
