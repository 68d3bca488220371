/* SPDX-License-Identifier: Apache-2.0 */
/* asin, acos, atan and atan2: one code for both formats, which keeps what roots and quotients lack. */
#include "lib/math/extended.h"
#include "lib/math/inverse_data.h"

static const series atan_series[MATH_FORMATS] = WEFT_SERIES(atan);
static const series asin_series[MATH_FORMATS] = WEFT_SERIES(asin);

/* A multiple of pi/2: a number of the format, and what that lacks. */
static pair quarter_turns(const writer *w, double count)
{
    double value = count * 0x1.921fb54442d18p+0, high = w->number == MATH_F32 ? (double)(float)value : value;
    weft_inst_id first = real(w, high);
    return (pair){first, real(w, value - high + count * 0x1.1a62633145c07p-54)};
}

static pair choose_either(const writer *w, weft_inst_id condition, pair yes, pair no)
{
    weft_inst_id high = choose(w, condition, yes.high, no.high);
    return (pair){high, choose(w, condition, yes.low, no.low)};
}

/* atan(t) - t over t^3, |t| <= 1 */
static weft_inst_id atan_rest(const writer *w, weft_inst_id z)
{
    const series *s = &atan_series[w->number];
    /* In pairs the terms of floats would be rounded where they are larger. */
    return is_short(w) ? polynomial(w, z, s->terms, s->count) : weft_math_series(w, z, atan_series);
}

/* base + atan(t), |t| <= 1, |base| zero or larger than |t|. Both sums keep what they lose. */
static weft_inst_id finish_atan(const writer *w, pair base, pair t)
{
    weft_inst_id z = mul(w, t.high, t.high), cube = mul(w, t.high, z), p = atan_rest(w, z);
    /* Nearly 1 / (1 + z). */
    weft_inst_id one = real(w, 1.0), derivative = fma3(w, z, real(w, -0.5), one);
    weft_inst_id low = fma3(w, t.low, derivative, base.low);
    pair sum = fast_two_sum(w, base.high, t.high);
    weft_inst_id angle = fma3(w, cube, p, sum.high), taken = sub(w, sum.high, angle);
    weft_inst_id rest = fma3(w, cube, p, taken);
    return add(w, angle, add(w, rest, add(w, sum.low, low)));
}

/*
 * atan(a) = pi/2 - t - (atan(t) - t) for a > 1, where t = 1 / a. The first difference keeps what it loses. What the
 * quotient leaves of 1 is a times what t lacks, so t times it goes to t, and 1 / (1 + t^2) of that from the angle: a
 * constant is near enough where t is large, and what a smaller t lacks is little beside the angle. No selection is in
 * the way of the quotient, which all else waits for.
 */
weft_inst_id weft_math_atan(const writer *w, const weft_inst_id *operands)
{
    weft_inst_id x = operands[0], a = at_most(w, absolute(w, x), 0x1p70);
    weft_inst_id great = less(w, real(w, 1.0), a), over = at_most(w, a, 1.0), under = at_least(w, a, 1.0);
    weft_inst_id t = quotient(w, over, under), left = subtract_product(w, t, under, over);
    pair half_pi = quarter_turns(w, 1);
    weft_inst_id turned = sub(w, half_pi.high, t);
    weft_inst_id weight = real(w, -0.55), low = fma3(w, mul(w, left, t), weight, half_pi.low);
    low = add(w, sub(w, sub(w, half_pi.high, turned), t), low);
    weft_inst_id z = mul(w, t, t), cube = mul(w, t, z), p = atan_rest(w, z);
    cube = choose(w, great, minus(w, cube), cube);
    weft_inst_id angle = fma3(w, cube, p, choose(w, great, low, t));
    return one_nan(w, with_sign(w, choose(w, great, add(w, turned, angle), angle), x));
}

/* The smaller of |y| and |x| divided by the larger. Zeros count as 0 / 1, infinities as one. */
static pair bounded_ratio(const writer *w, weft_inst_id smaller, weft_inst_id larger)
{
    int bias = w->format->bias;
    weft_inst_id zero = real(w, 0.0), one = real(w, 1.0);
    weft_inst_id under = choose(w, binary(w, WEFT_SCALAR_le, larger, zero), one, larger);
    weft_inst_id t = quotient(w, smaller, under);
    t = choose(w, binary(w, WEFT_SCALAR_eq, smaller, under), one, t);
    /* Powers of two keep what is left, and the inverse, from being too small. */
    weft_inst_id huge = less(w, real(w, ldexp(1.0, bias / 2)), under);
    weft_inst_id power = choose_real(w, huge, ldexp(1.0, -bias / 2), ldexp(1.0, bias / 4));
    weft_inst_id scaled = mul(w, under, power), left = subtract_product(w, t, scaled, mul(w, smaller, power));
    weft_inst_id low = mul(w, left, rough_inverse(w, scaled));
    /* Of a subnormal quotient what is left may be, and is nothing but its rounding. */
    weft_inst_id normal = less(w, real(w, w->format->smallest_normal), t), finite = below(w, under, HUGE_VAL);
    return (pair){t, choose(w, binary(w, WEFT_SCALAR_and, normal, finite), low, zero)};
}

/* The angle of (|x|, |y|) below the diagonal is a, above it pi/2 - a; of (-|x|, |y|) it is pi - a or pi/2 + a. */
weft_inst_id weft_math_atan2(const writer *w, const weft_inst_id *operands)
{
    weft_inst_id y = operands[0], x = operands[1], a = absolute(w, y), b = absolute(w, x);
    weft_inst_id steep = less(w, b, a), sign = as_integer(w, x), back = less(w, sign, integer(w, 0));
    weft_inst_id smaller = choose(w, steep, b, a), larger = choose(w, steep, a, b);
    weft_inst_id factor = choose_real(w, binary(w, WEFT_SCALAR_xor, steep, back), -1.0, 1.0), zero = real(w, 0.0);
    pair t = bounded_ratio(w, smaller, larger), half_pi = quarter_turns(w, 1), pi = quarter_turns(w, 2);
    t = (pair){mul(w, t.high, factor), mul(w, t.low, factor)};
    pair flat = choose_either(w, back, pi, (pair){zero, zero});
    pair base = choose_either(w, steep, half_pi, flat);
    return one_nan(w, with_sign(w, finish_atan(w, base, t), y));
}

/* base + factor * (high + low), where |base| is zero or larger than |high|, and the factor a power of two. */
static weft_inst_id finish(const writer *w, pair base, weft_inst_id factor, weft_inst_id high, weft_inst_id low)
{
    weft_inst_id sum = fma3(w, factor, high, base.high), taken = sub(w, base.high, sum);
    weft_inst_id rest = add(w, fma3(w, factor, high, taken), base.low);
    return add(w, sum, fma3(w, factor, low, rest));
}

/* asin(x) = u + low where |x| <= 1/2 and u = x, with low = u z p(z) and z = u^2. For |x| > 1/2, u is the sine of half
 * the angle between x and 1, z = (1 - |x|) / 2, and low has what u lacks too. */
typedef struct arc {
    weft_inst_id great; /* |x| > 1/2 */
    weft_inst_id u, low;
} arc;

static arc find_arc(const writer *w, weft_inst_id x)
{
    weft_inst_id a = absolute(w, x), half = real(w, 0.5), great = less(w, half, a);
    weft_inst_id complement = fma3(w, a, real(w, -0.5), half);
    weft_inst_id z = choose(w, great, complement, mul(w, a, a)), root = unary(w, WEFT_SCALAR_sqrt, complement);
    weft_inst_id slope = half_inverse_root(w, complement);
    weft_inst_id lost = mul(w, subtract_product(w, root, root, complement), slope);
    weft_inst_id u = choose(w, great, root, x), low = choose(w, great, lost, real(w, 0.0));
    weft_inst_id rest = weft_math_series(w, z, asin_series);
    return (arc){great, u, fma3(w, mul(w, u, z), rest, low)};
}

/* asin(x), or pi/2 - 2 asin(u) with the sign of x */
weft_inst_id weft_math_asin(const writer *w, const weft_inst_id *operands)
{
    weft_inst_id x = operands[0], zero = real(w, 0.0);
    arc found = find_arc(w, absolute(w, x));
    pair base = choose_either(w, found.great, quarter_turns(w, 1), (pair){zero, zero});
    weft_inst_id factor = choose_real(w, found.great, -2.0, 1.0);
    return one_nan(w, with_sign(w, finish(w, base, factor, found.u, found.low), x));
}

/* pi/2 - asin(x); 2 asin(u) for x > 1/2, pi - 2 asin(u) for x < -1/2 */
weft_inst_id weft_math_acos(const writer *w, const weft_inst_id *operands)
{
    weft_inst_id x = operands[0], zero = real(w, 0.0), negative = less(w, x, zero);
    arc found = find_arc(w, x);
    pair far = choose_either(w, negative, quarter_turns(w, 2), (pair){zero, zero});
    pair base = choose_either(w, found.great, far, quarter_turns(w, 1));
    weft_inst_id doubled = choose_real(w, negative, -2.0, 2.0);
    weft_inst_id factor = choose(w, found.great, doubled, real(w, -1.0));
    return one_nan(w, finish(w, base, factor, found.u, found.low));
}
