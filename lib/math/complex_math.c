/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exp, log, pow, circular and hyperbolic functions of complex numbers, in f64, by real functions of their parts.
 *
 * Special values are those of C's Annex G; where that leaves a sign open, zeros and infinities have the one that the
 * formula gives. pow is exp(b log a), as C has it, except for zeros.
 */
#include "lib/math/complex_write.h"
#include "lib/math/lower.h"

/* ---- exponential and hyperbolic functions ---- */

/* Beyond `most_real` exp, sinh and cosh may be infinite where their products with a sine or cosine are not: there they
 * are taken of so much less. exp(taken) is very near a double, and what is left is large enough for 2 cosh to be exp.
 */
static const double most_real = 709.0, taken = 636.0, exp_of_taken = 0x1.77dbc9d0946afp+917;

/* From here on sinh(x) and cosh(x) are one number. */
static const double large_tanh = 20.0;

/* x nearer to zero by `taken` where `size`, which is x or |x|, is large, and the factor that this costs. */
static weft_inst_id lessen(const writer *w, weft_inst_id x, weft_inst_id size, weft_inst_id *out_factor)
{
    weft_inst_id large = less(w, real(w, most_real), size), left = sub(w, size, real(w, taken));
    *out_factor = choose_real(w, large, exp_of_taken, 1.0);
    return choose(w, large, with_sign(w, left, x), x);
}

/* An angle on the unit circle. Where the radius is infinite and the angle is no number the cosine counts as 1. */
typedef struct circle {
    weft_inst_id cosine, sine;
    weft_inst_id lost; /* where that is so */
} circle;

static circle turn(const writer *w, weft_inst_id radius, weft_inst_id angle)
{
    circle c;
    c.cosine = unary(w, WEFT_SCALAR_cos, angle);
    c.sine = unary(w, WEFT_SCALAR_sin, angle);
    weft_inst_id none = binary(w, WEFT_SCALAR_ne, c.cosine, c.cosine);
    c.lost = binary(w, WEFT_SCALAR_and, none, is_infinite(w, absolute(w, radius)));
    c.cosine = choose(w, c.lost, real(w, 1.0), c.cosine);
    return c;
}

static weft_inst_id is_zero(const writer *w, weft_inst_id x)
{
    return binary(w, WEFT_SCALAR_eq, x, real(w, 0.0));
}

/* x y, except that zero times infinity or NaN is zero. */
static weft_inst_id times(const writer *w, weft_inst_id x, weft_inst_id y)
{
    weft_inst_id x_bits = as_integer(w, x), signs = binary(w, WEFT_SCALAR_xor, x_bits, as_integer(w, y));
    weft_inst_id sign = as_real(w, signs), zero = with_sign(w, real(w, 0.0), sign);
    weft_inst_id none = is_zero(w, x);
    none = either(w, none, is_zero(w, y));
    return choose(w, none, zero, mul(w, x, y));
}

/* exp(x + iy) = exp(x) (cos(y) + i sin(y)) */
pair weft_complex_exp(const writer *w, pair a, pair unused, bool scaled)
{
    (void)unused;
    weft_inst_id factor = 0, x = scaled ? lessen(w, a.re, a.re, &factor) : a.re;
    circle c = turn(w, a.re, a.im);
    weft_inst_id left = less(w, a.re, real(w, 0.0)), vanishes = binary(w, WEFT_SCALAR_and, c.lost, left);
    weft_inst_id sine = choose(w, vanishes, with_sign(w, real(w, 0.0), a.im), c.sine);
    weft_inst_id size = unary(w, WEFT_SCALAR_exp, x);
    pair result = scale(w, (pair){c.cosine, sine}, size);
    if (scaled) result = scale(w, result, factor);
    return (pair){result.re, choose(w, is_zero(w, a.im), a.im, result.im)};
}

typedef struct hyperbolic {
    weft_inst_id sine, cosine, factor;
} hyperbolic;

static hyperbolic hyperbolic_of(const writer *w, weft_inst_id x, bool scaled)
{
    hyperbolic h = {0};
    if (scaled) x = lessen(w, x, absolute(w, x), &h.factor);
    h.sine = unary(w, WEFT_SCALAR_sinh, x);
    h.cosine = unary(w, WEFT_SCALAR_cosh, x);
    return h;
}

/* sinh(x + iy) = sinh(x) cos(y) + i cosh(x) sin(y) */
pair weft_complex_sinh(const writer *w, pair a, pair unused, bool scaled)
{
    (void)unused;
    hyperbolic h = hyperbolic_of(w, a.re, scaled);
    circle c = turn(w, a.re, a.im);
    weft_inst_id re = times(w, h.sine, c.cosine);
    pair result = {re, times(w, h.cosine, c.sine)};
    return scaled ? scale(w, result, h.factor) : result;
}

/* cosh(x + iy) = cosh(x) cos(y) + i sinh(x) sin(y) */
pair weft_complex_cosh(const writer *w, pair a, pair unused, bool scaled)
{
    (void)unused;
    hyperbolic h = hyperbolic_of(w, a.re, scaled);
    circle c = turn(w, a.re, a.im);
    weft_inst_id re = mul(w, h.cosine, c.cosine);
    pair result = {re, times(w, h.sine, c.sine)};
    return scaled ? scale(w, result, h.factor) : result;
}

/*
 * tanh(x + iy) = (sinh(x) cosh(x) + i sin(y) cos(y)) / (sinh(x)^2 + cos(y)^2). Where x is large all of it is divided by
 * cosh(x)^2, beside which sinh(x) is as large: nothing overflows.
 */
pair weft_complex_tanh(const writer *w, pair a, pair unused, bool scaled)
{
    (void)unused;
    (void)scaled;
    circle c = turn(w, a.re, a.im);
    weft_inst_id one = real(w, 1.0), sine = choose(w, c.lost, with_sign(w, real(w, 0.0), a.im), c.sine);
    weft_inst_id sinh = unary(w, WEFT_SCALAR_sinh, a.re), cosh = unary(w, WEFT_SCALAR_cosh, a.re);
    weft_inst_id size = absolute(w, a.re), large = less(w, real(w, large_tanh), size);
    weft_inst_id factor = choose(w, large, quotient(w, one, cosh), one);
    sinh = choose(w, large, with_sign(w, one, a.re), sinh);
    cosh = choose(w, large, one, cosh);
    pair turned = scale(w, (pair){c.cosine, sine}, factor);
    weft_inst_id square = mul(w, turned.re, turned.re), under = fma3(w, sinh, sinh, square);
    weft_inst_id re = quotient(w, mul(w, sinh, cosh), under), im = quotient(w, mul(w, turned.re, turned.im), under);
    re = choose(w, is_zero(w, a.re), a.re, re);
    return (pair){re, choose(w, is_zero(w, a.im), a.im, im)};
}

/* ---- circular functions, by those of iz ---- */

pair weft_complex_sin(const writer *w, pair a, pair unused, bool scaled)
{
    return over_i(w, weft_complex_sinh(w, times_i(w, a), unused, scaled));
}

pair weft_complex_cos(const writer *w, pair a, pair unused, bool scaled)
{
    return weft_complex_cosh(w, times_i(w, a), unused, scaled);
}

pair weft_complex_tan(const writer *w, pair a, pair unused, bool scaled)
{
    return over_i(w, weft_complex_tanh(w, times_i(w, a), unused, scaled));
}

/* ---- logarithm and power ---- */

/* Twice the exponent that a biased one stands for, as a float. */
static weft_inst_id twice_unbiased(const writer *w, weft_inst_id exponent)
{
    double lift = 0x1p52;
    weft_inst_id shifted = as_real(w, either(w, exponent, as_integer(w, real(w, lift))));
    weft_inst_id unbiased = sub(w, shifted, real(w, lift + w->format->bias));
    return add(w, unbiased, unbiased);
}

/* a + b, and what its rounding lost (Knuth's TwoSum). */
static weft_inst_id exact_sum(const writer *w, weft_inst_id a, weft_inst_id b, weft_inst_id *out_lost)
{
    weft_inst_id sum = add(w, a, b), of_b = sub(w, sum, a), of_a = sub(w, sum, of_b);
    weft_inst_id lost_a = sub(w, a, of_a), lost_b = sub(w, b, of_b);
    *out_lost = add(w, lost_a, lost_b);
    return sum;
}

/* x^2 + y^2 and what its rounding lost; squares of parts of c64 are exact. */
static weft_inst_id exact_squares(const writer *w, pair z, bool scaled, weft_inst_id *out_lost)
{
    weft_inst_id x = mul(w, z.re, z.re), y = mul(w, z.im, z.im), sum = exact_sum(w, x, y, out_lost);
    if (!scaled) return sum;
    weft_inst_id of_x = product_error(w, x, z.re, z.re), of_y = product_error(w, y, z.im, z.im), rest, last;
    weft_inst_id low = exact_sum(w, of_x, of_y, &last);
    low = exact_sum(w, *out_lost, low, &rest);
    *out_lost = add(w, low, add(w, rest, last));
    return sum;
}

/* The logarithm of |z| is half of that of a sum of squares that is known to twice the precision: near one, where it
 * vanishes, that is what counts. */
weft_inst_id weft_complex_log_of_size(const writer *w, pair z, bool scaled)
{
    weft_inst_id exponent = scaled ? exponent_of(w, z) : 0, lost;
    pair small = scaled ? reduce(w, z, exponent) : z;
    weft_inst_id more = scaled ? twice_unbiased(w, exponent) : real(w, 0.0);
    weft_inst_id square = exact_squares(w, small, scaled, &lost), correction = quotient(w, lost, square);
    weft_inst_id twice = weft_math_log_corrected(w, square, more, correction);
    return or_infinite(w, z, mul(w, twice, real(w, 0.5)));
}

/* log(z) = log(|z|) + i atan2(y, x) */
pair weft_complex_log(const writer *w, pair a, pair unused, bool scaled)
{
    (void)unused;
    weft_inst_id re = weft_complex_log_of_size(w, a, scaled);
    return (pair){re, binary(w, WEFT_SCALAR_atan2, a.im, a.re)};
}

/* To another base: times the logarithm of e to that base. */
static pair weigh(const writer *w, pair a, bool scaled, double factor)
{
    weft_inst_id weight = real(w, factor);
    return scale(w, weft_complex_log(w, a, a, scaled), weight);
}

pair weft_complex_log2(const writer *w, pair a, pair unused, bool scaled)
{
    (void)unused;
    return weigh(w, a, scaled, 1.44269504088896340736);
}

pair weft_complex_log10(const writer *w, pair a, pair unused, bool scaled)
{
    (void)unused;
    return weigh(w, a, scaled, 0.43429448190325182765);
}

/*
 * log(1 + z). With z = x + yi, log(|1 + z|) is half of log(1 + d) where d = 2x + x^2 + y^2, known to twice the
 * precision next to the circle where it vanishes. Next to -1, where log(1 + d) would lose what d has, 1 + x is exact.
 */
pair weft_complex_log1p(const writer *w, pair a, pair unused, bool scaled)
{
    (void)unused;
    weft_inst_id lost, rest, square = exact_squares(w, a, scaled, &lost), twice = add(w, a.re, a.re);
    weft_inst_id sum = exact_sum(w, twice, square, &rest), d = add(w, sum, add(w, rest, lost));
    weft_inst_id near = less(w, real(w, -0.75), d), x = add(w, a.re, real(w, 1.0));
    near = binary(w, WEFT_SCALAR_and, near, less(w, d, real(w, 0x1p500)));
    weft_inst_id half = real(w, 0.5), re = mul(w, unary(w, WEFT_SCALAR_log1p, d), half);
    re = choose(w, near, re, weft_complex_log_of_size(w, (pair){x, a.im}, scaled));
    return (pair){re, binary(w, WEFT_SCALAR_atan2, a.im, x)};
}

static weft_inst_id is_nothing(const writer *w, pair z)
{
    weft_inst_id re = is_zero(w, z.re);
    return binary(w, WEFT_SCALAR_and, re, is_zero(w, z.im));
}

/* exp(b log(a)); to the power of zero everything is 1, and zero to another one is 0 or no number. */
pair weft_complex_pow(const writer *w, pair a, pair b, bool scaled)
{
    pair result = weft_complex_exp(w, multiply(w, b, weft_complex_log(w, a, a, scaled)), a, scaled);
    weft_inst_id zero = real(w, 0.0), one = real(w, 1.0), positive = less(w, zero, b.re);
    weft_inst_id of_zero = choose_real(w, positive, 0.0, (double)NAN);
    result = choose_pair(w, is_nothing(w, a), (pair){of_zero, of_zero}, result);
    return choose_pair(w, is_nothing(w, b), (pair){one, zero}, result);
}
