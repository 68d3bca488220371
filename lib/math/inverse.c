/* SPDX-License-Identifier: Apache-2.0 */
/* asin, acos, atan and atan2 */
#include "lib/math/extended.h"
#include "lib/math/inverse_data.h"

static const series atan_series[MATH_FORMATS] = WEFT_SERIES(atan);
static const series asin_series[MATH_FORMATS] = WEFT_SERIES(asin);

#define HALF_PI 0x1.921fb54442d18p+0
#define HALF_PI_LOW 0x1.1a62633145c07p-54

/* A constant of two doubles. */
static pair split_real(const writer *w, double high, double low)
{
    pair parts = {real(w, high), 0};
    if (!is_short(w)) parts.low = real(w, low);
    return parts;
}

/* base + factor * (x.high + (x.low + tail)), where |base| is zero or larger, and the factor a power of two. */
static weft_inst_id finish(const writer *w, pair base, weft_inst_id factor, pair x, weft_inst_id tail)
{
    if (is_short(w)) return fma3(w, factor, add(w, x.high, tail), base.high);
    weft_inst_id sum = fma3(w, factor, x.high, base.high), taken = sub(w, base.high, sum);
    weft_inst_id low = add(w, fma3(w, factor, x.high, taken), base.low);
    tail = add(w, tail, x.low);
    return add(w, sum, fma3(w, factor, tail, low));
}

/* base + factor * atan(t), |t| <= 1 */
static weft_inst_id finish_atan(const writer *w, pair base, weft_inst_id factor, pair t)
{
    weft_inst_id z = mul(w, t.high, t.high), cube = mul(w, t.high, z);
    weft_inst_id tail = mul(w, cube, weft_math_series(w, z, atan_series));
    /* The derivative 1 / (1 + z), nearly. */
    if (!is_short(w)) t.low = fma3(w, times(w, t.low, -0.5), z, t.low);
    return finish(w, base, factor, t, tail);
}

/* atan(a) = pi/2 + atan(-1 / a) */
weft_inst_id weft_math_atan(const writer *narrow_writer, const weft_inst_id *operands)
{
    writer wide = widened(narrow_writer), *w = &wide;
    weft_inst_id x = widen(w, operands[0]), a = at_most(w, absolute(w, x), 0x1p70);
    weft_inst_id one = real(w, 1.0), zero = real(w, 0.0), great = less(w, one, a);
    weft_inst_id over = choose(w, great, minus(w, one), a), under = choose(w, great, a, one);
    pair t = {quotient(w, over, under), 0}, half_pi = split_real(w, HALF_PI, HALF_PI_LOW);
    if (!is_short(w)) t.low = mul(w, subtract_product(w, t.high, under, over), absolute(w, t.high));
    pair base = choose_pair(w, great, half_pi, (pair){zero, zero});
    return narrow(w, with_sign(w, finish_atan(w, base, one, t), x));
}

/* The smaller of |y| and |x| divided by the larger. Zeros count as 0 / 1, infinities as one. */
static pair bounded_ratio(const writer *w, weft_inst_id smaller, weft_inst_id larger)
{
    weft_inst_id zero = real(w, 0.0), one = real(w, 1.0);
    weft_inst_id under = choose(w, binary(w, WEFT_SCALAR_le, larger, zero), one, larger);
    weft_inst_id t = quotient(w, smaller, under);
    t = choose(w, binary(w, WEFT_SCALAR_eq, smaller, under), one, t);
    if (is_short(w)) return (pair){t, 0};
    weft_inst_id low = quotient(w, subtract_product(w, t, under, smaller), under);
    return (pair){t, choose(w, below(w, under, HUGE_VAL), low, zero)};
}

/* The angle of (|x|, |y|) below the diagonal is a, above it pi/2 - a; of (-|x|, |y|) it is pi - a or pi/2 + a. */
weft_inst_id weft_math_atan2(const writer *narrow_writer, const weft_inst_id *operands)
{
    writer wide = widened(narrow_writer), *w = &wide;
    weft_inst_id y = widen(w, operands[0]), x = widen(w, operands[1]), a = absolute(w, y), b = absolute(w, x);
    weft_inst_id steep = less(w, b, a), sign = as_integer(w, x), back = less(w, sign, integer(w, 0));
    weft_inst_id smaller = choose(w, steep, b, a), larger = choose(w, steep, a, b);
    pair t = bounded_ratio(w, smaller, larger), half_pi = split_real(w, HALF_PI, HALF_PI_LOW);
    pair pi = split_real(w, 2 * HALF_PI, 2 * HALF_PI_LOW);
    weft_inst_id zero = real(w, 0.0);
    pair flat = choose_pair(w, back, pi, (pair){zero, zero});
    pair base = choose_pair(w, steep, half_pi, flat);
    weft_inst_id opposite = binary(w, WEFT_SCALAR_xor, steep, back);
    return narrow(w, with_sign(w, finish_atan(w, base, choose_real(w, opposite, -1.0, 1.0), t), y));
}

/* u (1 + z p(z)) is asin(u) where z = u^2; `low` is what u lacks. For |x| > 1/2, u is the sine of half the angle
 * between x and 1: z = (1 - |x|) / 2. */
typedef struct arc {
    weft_inst_id great; /* |x| > 1/2 */
    pair u;
    weft_inst_id tail;
} arc;

static arc find_arc(const writer *w, weft_inst_id x)
{
    weft_inst_id a = absolute(w, x), half = real(w, 0.5), great = less(w, half, a);
    weft_inst_id complement = fma3(w, a, real(w, -0.5), half);
    weft_inst_id z = choose(w, great, complement, mul(w, a, a)), root = unary(w, WEFT_SCALAR_sqrt, complement);
    arc result = {.great = great, .u.high = choose(w, great, root, x)};
    if (!is_short(w)) {
        weft_inst_id rest = subtract_product(w, root, root, complement), doubled = times(w, root, 2.0);
        weft_inst_id low = quotient(w, rest, at_least(w, doubled, 0x1p-200));
        result.u.low = choose(w, great, low, real(w, 0.0));
    }
    weft_inst_id cube = mul(w, result.u.high, z);
    result.tail = mul(w, cube, weft_math_series(w, z, asin_series));
    return result;
}

/* asin(x), or pi/2 - 2 asin(u) with the sign of x */
weft_inst_id weft_math_asin(const writer *narrow_writer, const weft_inst_id *operands)
{
    writer wide = widened(narrow_writer), *w = &wide;
    weft_inst_id x = widen(w, operands[0]), zero = real(w, 0.0);
    arc found = find_arc(w, absolute(w, x));
    pair base = choose_pair(w, found.great, split_real(w, HALF_PI, HALF_PI_LOW), (pair){zero, zero});
    weft_inst_id factor = choose_real(w, found.great, -2.0, 1.0);
    return narrow(w, with_sign(w, finish(w, base, factor, found.u, found.tail), x));
}

/* pi/2 - asin(x); 2 asin(u) for x > 1/2, pi - 2 asin(u) for x < -1/2 */
weft_inst_id weft_math_acos(const writer *narrow_writer, const weft_inst_id *operands)
{
    writer wide = widened(narrow_writer), *w = &wide;
    weft_inst_id x = widen(w, operands[0]), zero = real(w, 0.0), negative = less(w, x, zero);
    arc found = find_arc(w, x);
    pair far = choose_pair(w, negative, split_real(w, 2 * HALF_PI, 2 * HALF_PI_LOW), (pair){zero, zero});
    pair base = choose_pair(w, found.great, far, split_real(w, HALF_PI, HALF_PI_LOW));
    weft_inst_id doubled = choose_real(w, negative, -2.0, 2.0);
    weft_inst_id factor = choose(w, found.great, doubled, real(w, -1.0));
    return narrow(w, finish(w, base, factor, found.u, found.tail));
}
