/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lgamma, tgamma and digamma.
 *
 * All three know a function of 1 + z for z >= 0, by a table below `far` and an asymptotic series above. It serves x >=
 * 1 with z = x - 1, which is exact; 0 < x < 1 with z = x and the recurrence; x < 0 with z = -x and the reflection, of
 * which z minus the nearest integer is exact too.
 */
#include "lib/math/extended.h"
#include "lib/math/gamma_data.h"

static const series stirling_series[MATH_FORMATS] = WEFT_SERIES(stirling);
static const series asymptotic_series[MATH_FORMATS] = WEFT_SERIES(asymptotic);
static const series sinpi_series[MATH_FORMATS] = WEFT_SERIES(sinpi);
static const uint32_t log_gamma_counts[MATH_FORMATS] = {8, 12};
static const uint32_t digamma_counts[MATH_FORMATS] = {9, 12};
static const double far = 7.9;

#define HALF_LOG_TWO_PI 0x1.d67f1c864beb5p-1
#define PI 0x1.921fb54442d18p+1
#define PI_LOW 0x1.1a62633145c07p-53
#define HALF_LOG_TWO_PI_LOW -0x1.65b5a1b7ff5dfp-55

/* Where x lies, and its z. */
typedef struct argument {
    weft_inst_id x, z;
    weft_inst_id negative, small; /* x < 0; x < 1 */
} argument;

static argument split(const writer *w, weft_inst_id x)
{
    argument parts = {.x = x, .negative = below(w, x, 0.0)};
    parts.small = below(w, x, 1.0);
    weft_inst_id size = absolute(w, x);
    parts.z = choose(w, parts.small, size, plus(w, x, -1.0));
    return parts;
}

/* sin(pi r) / pi = r + r^3 (c + r^2 p(r^2)), |r| <= 1/2; for doubles with the errors of all that is as large as r. */
static pair sine(const writer *w, weft_inst_id r)
{
    weft_inst_id z = mul(w, r, r), cube = mul(w, r, z);
    weft_inst_id rest = mul(w, z, weft_math_series(w, z, sinpi_series)), c = real(w, -0x1.a51a6625307d3p+0);
    pair bracket = fast_two_sum(w, c, rest), tail = {mul(w, cube, bracket.high), 0};
    if (is_short(w)) return (pair){add(w, r, tail.high), 0};
    weft_inst_id square_low = multiply_subtract(w, r, r, z), cube_low = multiply_subtract(w, r, z, cube);
    cube_low = fma3(w, r, square_low, cube_low);
    tail.low = multiply_subtract(w, cube, bracket.high, tail.high);
    tail.low = fma3(w, cube, plus(w, bracket.low, -0x1.1873d8912200cp-55), tail.low);
    tail.low = fma3(w, cube_low, bracket.high, tail.low);
    pair sum = fast_two_sum(w, r, tail.high);
    return (pair){sum.high, add(w, sum.low, tail.low)};
}

/* ---- log(gamma(1 + z)) ---- */

/* z (log(z) - 1) + log(z) / 2 + log(2 pi) / 2 + p(1 / z^2) / z */
static pair stirling(const writer *w, weft_inst_id z, pair log)
{
    weft_inst_id inverse = quotient(w, real(w, 1.0), z), square = mul(w, inverse, inverse);
    weft_inst_id rest = mul(w, inverse, weft_math_series(w, square, stirling_series));
    pair less_one = fast_two_sum(w, log.high, real(w, -1.0));
    weft_inst_id half = times(w, log.high, 0.5);
    rest = plus(w, rest, is_short(w) ? HALF_LOG_TWO_PI : HALF_LOG_TWO_PI_LOW);
    if (is_short(w)) return (pair){fma3(w, z, less_one.high, half), rest};
    pair product = two_product(w, z, less_one.high);
    pair sum = fast_two_sum(w, product.high, half);
    pair total = fast_two_sum(w, sum.high, real(w, HALF_LOG_TWO_PI));
    rest = fma3(w, log.low, real(w, 0.5), rest);
    rest = fma3(w, z, add(w, less_one.low, log.low), rest);
    rest = add(w, add(w, rest, product.low), sum.low);
    rest = add(w, rest, total.low);
    return (pair){total.high, rest};
}

/* From the table where z is below `far`, else `distant`. */
static pair near_or_distant(const writer *w, weft_inst_id z, pair distant)
{
    weft_inst_id t, row = weft_math_nearest(w, at_most(w, z, far), 0.125, &t), near = below(w, z, far);
    pair table = weft_math_row(w, WEFT_TABLE_log_gamma, row, t, log_gamma_counts);
    weft_inst_id high = choose(w, near, table.high, distant.high);
    return (pair){high, choose(w, near, table.low, distant.low)};
}

static pair log_gamma(const writer *w, weft_inst_id z)
{
    weft_inst_id distant = at_least(w, z, far);
    return near_or_distant(w, z, stirling(w, distant, weft_math_log_pair(w, distant)));
}

/* ---- the functions ---- */

/* Minus log(gamma(1 + z)) and log(sin(pi z) / pi), x < 0: the result is near zero in many places. */
static weft_inst_id negative_lgamma(const writer *w, weft_inst_id z, pair gamma)
{
    pair wave = sine(w, sub(w, z, unary(w, WEFT_SCALAR_round, z)));
    weft_inst_id factor = absolute(w, wave.high);
    pair log = weft_math_log_pair(w, factor);
    weft_inst_id minus_log = minus(w, log.high);
    pair sum = two_sum(w, minus(w, gamma.high), minus_log);
    weft_inst_id low = sub(w, sum.low, gamma.low);
    low = sub(w, low, add(w, log.low, quotient(w, wave.low, wave.high)));
    weft_inst_id infinity = real(w, HUGE_VAL), pole = binary(w, WEFT_SCALAR_eq, factor, real(w, 0.0));
    return choose(w, pole, infinity, add(w, sum.high, low));
}

/* log(gamma(1 + z)), minus log(x) for x < 1. A distant number needs one logarithm, a small one the other. Of floats
 * only negative ones need the precision of doubles. */
static weft_inst_id lgamma_of(const writer *w, argument x, weft_inst_id z)
{
    writer exact = *w;
    exact.number = MATH_F64;
    weft_inst_id distant = at_least(w, z, far), zero = real(w, 0.0);
    weft_inst_id reduced = binary(w, WEFT_SCALAR_and, x.small, unary(w, WEFT_SCALAR_not, x.negative));
    pair log = weft_math_log_pair(w, choose(w, reduced, x.x, distant));
    pair gamma = near_or_distant(w, z, stirling(w, distant, log));
    pair less = choose_pair(w, reduced, log, (pair){zero, zero}), sum = two_sum(w, gamma.high, minus(w, less.high));
    weft_inst_id low = add(w, gamma.low, sum.low);
    if (!is_short(w)) low = sub(w, low, less.low);
    weft_inst_id pole = binary(w, WEFT_SCALAR_eq, x.x, zero), infinity = real(w, HUGE_VAL);
    weft_inst_id usual = choose(w, pole, infinity, add(w, sum.high, low));
    weft_inst_id mirrored = negative_lgamma(&exact, z, is_short(w) ? log_gamma(&exact, z) : gamma);
    return rarely(w, x.negative, mirrored, usual);
}

weft_inst_id weft_math_lgamma(const writer *narrow_writer, const weft_inst_id *operands)
{
    writer wide = widened(narrow_writer), *w = &wide;
    static const double limit = 0x1.754d9278b51a7p+1014;
    argument x = split(w, widen(narrow_writer, operands[0]));
    weft_inst_id result = lgamma_of(w, x, at_most(w, x.z, limit));
    weft_inst_id most = real(w, limit), beyond = less(w, most, absolute(w, x.x));
    return narrow(narrow_writer, choose(w, beyond, real(w, HUGE_VAL), result));
}

/* The number with its sign flipped if `sign` is negative. */
static weft_inst_id flip(const writer *w, weft_inst_id x, weft_inst_id sign)
{
    return as_real(w, binary(w, WEFT_SCALAR_xor, as_integer(w, x), sign));
}

/* What log(gamma(1 + z)) to the power of e is divided by: 1, x for 0 < x < 1, and -sin(pi z) / pi for x < 0. */
static pair divisor(const writer *w, argument x)
{
    weft_inst_id n = unary(w, WEFT_SCALAR_round, x.z), one = real(w, 1.0);
    pair wave = sine(w, sub(w, x.z, n));
    weft_inst_id zero = real(w, 0.0);
    pair upper = {choose(w, x.small, x.x, one), zero};
    weft_inst_id odd = shift_left(w, as_integer(w, plus(w, n, 0x1p52)), 63);
    weft_inst_id even = binary(w, WEFT_SCALAR_xor, odd, integer(w, (uint64_t)1 << 63));
    wave.high = flip(w, wave.high, even);
    if (!is_short(w)) wave.low = flip(w, wave.low, even);
    return choose_pair(w, x.negative, wave, upper);
}

/* exp(log(gamma(1 + z))), divided by x for x < 1; for x < 0 the inverse of it, divided by -sin(pi z) / pi. */
weft_inst_id weft_math_tgamma(const writer *narrow_writer, const weft_inst_id *operands)
{
    writer wide = widened(narrow_writer), *w = &wide;
    argument x = split(w, widen(w, operands[0]));
    weft_inst_id one = real(w, 1.0), shifted;
    pair under = divisor(w, x), exponent = log_gamma(w, at_most(w, x.z, 190.0));
    exponent = fast_two_sum(w, exponent.high, exponent.low);
    exponent.high = choose(w, x.negative, minus(w, exponent.high), exponent.high);
    exponent.low = choose(w, x.negative, minus(w, exponent.low), exponent.low);
    pair growth = weft_math_growth(w, exponent, &shifted);
    weft_inst_id factor = quotient(w, one, under.high), rest = factor;
    if (!is_short(w)) {
        rest = subtract_product(w, factor, under.high, one);
        rest = mul(w, factor, subtract_product(w, factor, under.low, rest));
        rest = add(w, factor, fma3(w, factor, growth.high, fma3(w, factor, growth.low, rest)));
    } else {
        /* A pole below zero is no number: infinity times zero. */
        rest = fma3(w, factor, growth.high, fma3(w, factor, real(w, 0.0), factor));
    }
    weft_inst_id result = weft_math_scale(w, rest, shifted);
    weft_inst_id tiny = below(w, absolute(w, x.x), 0x1p-1000);
    return narrow(w, choose(w, tiny, factor, result));
}

/* digamma(1 + z): the row that has the zero for a center serves all around it, so that relative precision is kept. */
static pair digamma(const writer *w, weft_inst_id z)
{
    weft_inst_id t, row = weft_math_nearest(w, at_most(w, z, far), 0.125, &t), near = below(w, z, far);
    weft_inst_id from_zero = plus(w, z, -0x1.d8b618d5af8fep-2);
    weft_inst_id at_zero = below(w, absolute(w, from_zero), 0.1015);
    t = choose(w, at_zero, from_zero, t);
    weft_inst_id zero_row = integer(w, 4);
    row = choose(w, at_zero, zero_row, row);
    pair table = weft_math_row(w, WEFT_TABLE_digamma, row, t, digamma_counts);
    weft_inst_id distant = at_least(w, z, far), inverse = quotient(w, real(w, 1.0), distant);
    weft_inst_id square = mul(w, inverse, inverse);
    weft_inst_id rest = mul(w, square, weft_math_series(w, square, asymptotic_series));
    rest = fma3(w, inverse, real(w, 0.5), rest);
    pair log = weft_math_log_pair(w, distant);
    rest = add(w, rest, log.low);
    weft_inst_id high = choose(w, near, table.high, log.high);
    return (pair){high, choose(w, near, table.low, rest)};
}

/* digamma(1 + z), minus 1 / x for x < 1, or for x < 0 plus pi cos(pi z) / sin(pi z); r being the distance of z from an
 * integer, the cosine is the sine of a right angle less |r|. */
weft_inst_id weft_math_digamma(const writer *narrow_writer, const weft_inst_id *operands)
{
    writer wide = widened(narrow_writer), *w = &wide;
    wide.number = MATH_F64;
    argument x = split(w, widen(narrow_writer, operands[0]));
    weft_inst_id one = real(w, 1.0), zero = real(w, 0.0), half = real(w, 0.5);
    weft_inst_id r = sub(w, x.z, unary(w, WEFT_SCALAR_round, x.z));
    pair value = digamma(w, x.z), under = sine(w, r), over = sine(w, sub(w, half, absolute(w, r)));
    pair cosine = two_product(w, over.high, real(w, PI));
    cosine.low = fma3(w, over.high, real(w, PI_LOW), cosine.low);
    cosine.low = fma3(w, over.low, real(w, PI), cosine.low);
    cosine = fast_two_sum(w, cosine.high, cosine.low);
    weft_inst_id plain_over = choose(w, x.small, real(w, -1.0), zero), plain_under = choose(w, x.small, x.x, one);
    over = choose_pair(w, x.negative, cosine, (pair){plain_over, zero});
    under = choose_pair(w, x.negative, under, (pair){plain_under, zero});
    pair ratio = weft_math_ratio(w, over, under), sum = two_sum(w, value.high, ratio.high);
    weft_inst_id low = add(w, value.low, sum.low);
    weft_inst_id result = add(w, sum.high, add(w, low, ratio.low));
    result = choose(w, below(w, absolute(w, x.x), 0x1p-1000), ratio.high, result);
    return narrow(narrow_writer, choose(w, less(w, x.x, real(w, HUGE_VAL)), result, x.x));
}
