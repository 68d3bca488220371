/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inverse circular and hyperbolic functions of complex numbers, in f64, by real functions of their parts.
 *
 * asin and acos are computed as T. Hull, T. Fairgrieve and P. Tang do ("Implementing the complex arcsine and arccosine
 * functions using exception handling", ACM TOMS 23, 1997), from the distances of z from 1 and -1, with sums of positive
 * terms in place of differences. Cuts and special values are those of C's Annex G; where that leaves a sign open, zeros
 * and infinities have the one of the operand, and acosh of a zero and NaN that of +0.
 */
#include "lib/math/complex_write.h"

/* Beyond `large`, z^2 +- 1 is z^2; below `tiny`, 1 + y^2 is 1 next to every x that is not 1, and y^2 may vanish. */
static const double large = 0x1p300, tiny = 0x1p-300, half_pi = 1.57079632679489661923, ln2 = 0.69314718055994530942;

static weft_inst_id half_of(const writer *w, weft_inst_id x)
{
    return mul(w, x, real(w, 0.5));
}

static weft_inst_id root_of(const writer *w, weft_inst_id x)
{
    return unary(w, WEFT_SCALAR_sqrt, x);
}

static weft_inst_id distance(const writer *w, weft_inst_id x, weft_inst_id y)
{
    return root_of(w, fma3(w, x, x, mul(w, y, y)));
}

/* Whether a part is large, infinite or NaN. */
static weft_inst_id is_far(const writer *w, weft_inst_id x, weft_inst_id y)
{
    weft_inst_id limit = real(w, large), re = less(w, x, limit), im = less(w, y, limit);
    return unary(w, WEFT_SCALAR_not, binary(w, WEFT_SCALAR_and, re, im));
}

/* Of x, y >= 0: acos(x + iy) is atan2(leg, x) - i log(1 + growth), and asin is atan2(x, leg) + i log(1 + growth). */
typedef struct triangle {
    weft_inst_id x, y, leg, growth, far;
} triangle;

/* Where y is tiny: first order in y, but next to the end of the cut the square root of y. */
static void flatten(const writer *w, triangle *t)
{
    weft_inst_id one = real(w, 1.0), above = less(w, one, t->x), below = less(w, t->x, one);
    weft_inst_id flat = less(w, t->y, real(w, tiny)), edge = root_of(w, t->y);
    weft_inst_id right = add(w, one, t->x), product = mul(w, absolute(w, sub(w, one, t->x)), right);
    weft_inst_id slope = quotient(w, t->y, root_of(w, product));
    weft_inst_id leg = choose(w, below, t->leg, edge);
    leg = choose(w, above, mul(w, slope, t->x), leg);
    weft_inst_id growth = choose(w, below, slope, choose(w, above, t->growth, edge));
    t->leg = choose(w, flat, leg, t->leg);
    t->growth = choose(w, flat, growth, t->growth);
}

/* With the distances r and s from -1 and 1, a = (r + s) / 2: leg^2 = (a - x) (a + x), and growth = a - 1 + sqrt(a^2 -
 * 1). */
static triangle triangle_of(const writer *w, pair z, bool scaled)
{
    triangle t = {.x = absolute(w, z.re), .y = absolute(w, z.im)};
    weft_inst_id one = real(w, 1.0), right = add(w, t.x, one), left = sub(w, t.x, one), square = mul(w, t.y, t.y);
    weft_inst_id r = distance(w, right, t.y), s = distance(w, left, t.y), a = half_of(w, add(w, r, s));
    weft_inst_id less_right = quotient(w, square, add(w, r, right)), sum = add(w, s, absolute(w, left));
    weft_inst_id rest = quotient(w, square, sum), above = less(w, one, t.x), below = less(w, t.x, one);
    weft_inst_id over_x = half_of(w, add(w, less_right, choose(w, above, rest, sum)));
    weft_inst_id over_one = half_of(w, add(w, less_right, choose(w, below, rest, sum)));
    t.leg = root_of(w, mul(w, over_x, add(w, a, t.x)));
    t.growth = add(w, over_one, root_of(w, mul(w, over_one, add(w, a, one))));
    if (scaled) flatten(w, &t);
    t.far = is_far(w, t.x, t.y);
    t.leg = choose(w, t.far, t.y, t.leg);
    return t;
}

/* log(1 + growth), far out log(2 |z|). */
static weft_inst_id height_of(const writer *w, const triangle *t, pair z, bool scaled)
{
    weft_inst_id log_two = real(w, ln2), beyond = add(w, weft_complex_log_of_size(w, z, scaled), log_two);
    return choose(w, t->far, beyond, unary(w, WEFT_SCALAR_log1p, t->growth));
}

pair weft_complex_asin(const writer *w, pair a, pair unused, bool scaled)
{
    (void)unused;
    triangle t = triangle_of(w, a, scaled);
    weft_inst_id re = binary(w, WEFT_SCALAR_atan2, t.x, t.leg), zero = real(w, 0.0);
    re = choose(w, binary(w, WEFT_SCALAR_eq, t.x, zero), zero, re);
    re = with_sign(w, re, a.re);
    return (pair){re, with_sign(w, height_of(w, &t, a, scaled), a.im)};
}

/* Of z = iy with a y that is no number the real part is known. */
pair weft_complex_acos(const writer *w, pair a, pair unused, bool scaled)
{
    (void)unused;
    triangle t = triangle_of(w, a, scaled);
    weft_inst_id re = binary(w, WEFT_SCALAR_atan2, t.leg, a.re);
    weft_inst_id right_angle = real(w, half_pi);
    re = choose(w, binary(w, WEFT_SCALAR_eq, t.x, real(w, 0.0)), right_angle, re);
    weft_inst_id height = height_of(w, &t, a, scaled);
    return (pair){re, with_sign(w, height, negative_of(w, a.im))};
}

/* i acos(z) or -i acos(z), whichever has a real part that is not negative. */
pair weft_complex_acosh(const writer *w, pair a, pair unused, bool scaled)
{
    pair found = weft_complex_acos(w, a, unused, scaled);
    weft_inst_id known = binary(w, WEFT_SCALAR_eq, a.im, a.im);
    return (pair){absolute(w, found.im), with_sign(w, found.re, choose(w, known, a.im, real(w, 0.0)))};
}

/* 1 / z far out, in its real part; zero for infinities. */
static weft_inst_id reciprocal(const writer *w, pair z, bool scaled)
{
    weft_inst_id exponent = exponent_of(w, z), zero = real(w, 0.0);
    pair small = scaled ? reduce(w, z, exponent) : z;
    weft_inst_id size = fma3(w, small.re, small.re, mul(w, small.im, small.im)), re = quotient(w, small.re, size);
    if (scaled) re = mul(w, re, power(w, sub(w, integer(w, 2 * (uint64_t)w->format->bias), exponent)));
    weft_inst_id at_end = is_infinite(w, or_infinite(w, z, zero));
    return choose(w, at_end, zero, re);
}

/* pi/2 far out, where neither part is NaN or y is infinite. */
static weft_inst_id right_angle(const writer *w, weft_inst_id x, weft_inst_id y)
{
    weft_inst_id sum = add(w, x, y), known = binary(w, WEFT_SCALAR_eq, sum, sum), angle = real(w, half_pi);
    return choose(w, either(w, known, is_infinite(w, y)), angle, sum);
}

/* atanh(z) = log(1 + 4x / ((1 - x)^2 + y^2)) / 4 + i atan2(2y, (1 - x) (1 + x) - y^2) / 2 for x >= 0 */
pair weft_complex_atanh(const writer *w, pair a, pair unused, bool scaled)
{
    (void)unused;
    weft_inst_id x = absolute(w, a.re), y = absolute(w, a.im), one = real(w, 1.0), zero = real(w, 0.0);
    weft_inst_id left = sub(w, one, x), square = mul(w, y, y), under = fma3(w, left, left, square);
    weft_inst_id ratio = quotient(w, mul(w, x, real(w, 4.0)), under);
    weft_inst_id quarter = real(w, 0.25), re = mul(w, unary(w, WEFT_SCALAR_log1p, ratio), quarter);
    if (scaled) {
        /* Next to the pole y^2 may vanish: log(4 / y^2) / 4. */
        weft_inst_id near = unary(w, WEFT_SCALAR_log, y);
        near = sub(w, real(w, ln2), near);
        weft_inst_id at_pole = binary(w, WEFT_SCALAR_eq, x, one);
        at_pole = binary(w, WEFT_SCALAR_and, at_pole, less(w, y, real(w, tiny)));
        re = choose(w, at_pole, half_of(w, near), re);
    }
    weft_inst_id across = sub(w, mul(w, left, add(w, one, x)), square), twice = add(w, y, y);
    weft_inst_id im = half_of(w, binary(w, WEFT_SCALAR_atan2, twice, across)), far = is_far(w, x, y);
    re = choose(w, far, reciprocal(w, (pair){x, y}, scaled), re);
    re = choose(w, binary(w, WEFT_SCALAR_eq, x, zero), zero, re);
    im = choose(w, far, right_angle(w, x, y), im);
    re = with_sign(w, re, a.re);
    return (pair){re, with_sign(w, im, a.im)};
}

/* ---- circular functions and hyperbolic ones, by each other ---- */

pair weft_complex_asinh(const writer *w, pair a, pair unused, bool scaled)
{
    return over_i(w, weft_complex_asin(w, times_i(w, a), unused, scaled));
}

pair weft_complex_atan(const writer *w, pair a, pair unused, bool scaled)
{
    return over_i(w, weft_complex_atanh(w, times_i(w, a), unused, scaled));
}
