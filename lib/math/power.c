/* SPDX-License-Identifier: Apache-2.0 */
/* pow, roots, remainder */
#include <stdlib.h>
#include "lib/math/extended.h"
#include "lib/math/root_data.h"
#include "runtime/base/float_bits.h"

/* ---- roots ---- */

enum { LOWEST_EXPONENT = 2 }; /* as stored, of the three octaves that cbrt has tables for */

/* 1 / sqrt(x), corrected by what 1 - x y^2 says, for which x y is taken with its rounding error. */
weft_inst_id weft_math_rsqrt(const writer *w, const weft_inst_id *x)
{
    weft_inst_id one = real(w, 1.0), zero = real(w, 0.0), y = quotient(w, one, unary(w, WEFT_SCALAR_sqrt, x[0]));
    weft_inst_id product = mul(w, x[0], y), low = product_error(w, product, x[0], y), minus = negative_of(w, y);
    weft_inst_id left = fma3(w, minus, low, fma3(w, minus, product, one));
    weft_inst_id refined = fma3(w, mul(w, y, real(w, 0.5)), left, y);
    weft_inst_id finite = less(w, x[0], real(w, HUGE_VAL)), positive = less(w, zero, x[0]);
    return choose(w, binary(w, WEFT_SCALAR_and, finite, positive), refined, y);
}

static const series cbrt_series[MATH_FORMATS] = WEFT_SERIES(cbrt);

/*
 * A third of the exponent and fraction of x, which are read as one integer: the integer *out_power has n in the place
 * of an exponent, where x = 2^(3 n) y and y is one of the three lowest octaves but for one, and *out_row the eighth of
 * these octaves that y is in. The bits are those of a number between 2^fraction and twice that, whose last place is
 * one, so that the third is rounded as they need it; y may lie next to its row then.
 */
static void divide_exponent(const writer *w, weft_inst_id x, weft_inst_id *out_power, weft_inst_id *out_row)
{
    const math_format *format = w->format;
    unsigned fraction = format->fraction, kept = 8 * (unsigned)weft_dtype_size(format->real) - fraction;
    double unit = (double)((uint64_t)1 << fraction), octave = ldexp(1.0, (int)(fraction - kept));
    weft_inst_id logarithm = shift_right(w, as_integer(w, x), kept);
    logarithm = as_real(w, binary(w, WEFT_SCALAR_or, logarithm, as_integer(w, real(w, unit))));
    weft_inst_id scale = real(w, 1.0 / 3.0), bias = real(w, (2 * unit - LOWEST_EXPONENT * octave) / 3);
    weft_inst_id third = as_integer(w, fma3(w, logarithm, scale, bias));
    *out_row = shift_right(w, third, fraction - kept - 3);
    weft_inst_id shifted = shift_left(w, third, kept);
    *out_power = sub(w, shifted, mask(w, shifted, ((uint64_t)1 << fraction) - 1));
}

/*
 * x = 2^(3 n) y above the lowest octave: with c near 1 / y, t = c y - 1 is small, and the root is 2^n c^(-1/3) (1 +
 * t)^(1/3), where c is such that c^(-1/3) is nearly a number.
 */
static weft_inst_id cbrt_of(const writer *w, weft_inst_id x)
{
    const series *s = &cbrt_series[w->number];
    weft_table_id table = is_short(w) ? WEFT_TABLE_single_cbrt : WEFT_TABLE_double_cbrt;
    weft_inst_id power, row;
    divide_exponent(w, x, &power, &row);
    weft_inst_id twice = add(w, power, power), y = as_real(w, sub(w, sub(w, as_integer(w, x), power), twice));
    weft_inst_id c = look_up(w, table, 0, row), t = fma3(w, y, c, real(w, -1.0));
    weft_inst_id start = as_real(w, add(w, as_integer(w, look_up(w, table, 1, row)), power));
    weft_inst_id growth = mul(w, t, (is_short(w) ? polynomial : paired_polynomial)(w, t, s->terms, s->count));
    return fma3(w, start, growth, start);
}

/* What is not above the lowest octave is lifted, and its root lowered; zero, infinity and NaN are their own roots. */
weft_inst_id weft_math_cbrt(const writer *w, const weft_inst_id *operands)
{
    const math_format *format = w->format;
    unsigned fraction = format->fraction, lift = (fraction + 3) / 3;
    uint64_t sign = (uint64_t)1 << (8 * weft_dtype_size(format->real) - 1);
    weft_inst_id a = absolute(w, operands[0]), moved = plus_bits(w, as_integer(w, a), sign - 1);
    weft_inst_id tiny = less(w, moved, integer(w, sign - 1 + ((uint64_t)LOWEST_EXPONENT << fraction)));
    weft_inst_id lifted = as_integer(w, cbrt_of(w, times(w, a, ldexp(1.0, 3 * (int)lift))));
    lifted = as_real(w, sub(w, lifted, integer(w, (uint64_t)lift << fraction)));
    weft_inst_id root = rarely(w, tiny, lifted, cbrt_of(w, a));
    return with_sign(w, choose(w, weft_math_is_outside(w, a, 1), a, root), operands[0]);
}

/* ---- pow: 2^(y log2|x|), where the logarithm is a sum high + low ---- */

/* Values of f64 have their logarithm in twice the precision: log(m) = 2 s (1 + T/3 + T^2 R(T)), s = (m - 1) / (m + 1),
 * T = s^2. R on [0, 0.0295]: error 2^-54, which is 2^-66 of the logarithm. */
static const double pow_series[] = {0x1.999999999999ap-3, 0x1.2492492491fadp-3, 0x1.c71c71c855373p-4,
                                    0x1.745d165e9d8cbp-4, 0x1.3b14001ad1ac5p-4, 0x1.11044f323b52dp-4,
                                    0x1.e367b008da267p-5, 0x1.ba6e20d1720cp-5};

/* Values of f32: log2(m) = s (C + D T + T^2 R(T)), where C = 2 / log(2) and D, nearly C / 3, are pairs: error
 * 2^-37.5. */
static const double single_log2[] = {0x1.277768p-1, 0x1.a595dap-2, 0x1.5c6d4ap-2};

static pair product(const writer *w, pair a, pair b)
{
    pair p = {.high = mul(w, a.high, b.high)};
    weft_inst_id error = product_error(w, p.high, a.high, b.high);
    error = fma3(w, a.high, b.low, error);
    p.low = fma3(w, a.low, b.high, error);
    return p;
}

/* a + b for |a| >= |b|, or a = 0 */
static pair sum(const writer *w, pair a, pair b)
{
    pair s = {.high = add(w, a.high, b.high)};
    weft_inst_id error = sum_error(w, s.high, a.high, b.high);
    s.low = add(w, error, add(w, a.low, b.low));
    return s;
}

static pair constant_pair(const writer *w, double high, double low)
{
    pair p = {.high = real(w, high)};
    p.low = real(w, low);
    return p;
}

static pair log2_of_f64(const writer *w, weft_inst_id m, weft_inst_id k)
{
    weft_inst_id one = real(w, 1.0), f = sub(w, m, one), d = add(w, m, one), d_low = sub(w, m, sub(w, d, one));
    weft_inst_id inverse = quotient(w, one, d), zero = real(w, 0.0);
    pair s = {.high = mul(w, f, inverse)};
    weft_inst_id minus = negative_of(w, s.high), left = fma3(w, minus, d, f);
    s.low = mul(w, fma3(w, minus, d_low, left), inverse);
    pair square = product(w, s, s);
    weft_inst_id r = polynomial(w, square.high, pow_series, sizeof pow_series / sizeof *pow_series);
    pair third = constant_pair(w, 0x1.5555555555555p-2, 0x1.5555555555555p-56);
    pair terms = sum(w, third, product(w, square, (pair){r, zero}));
    pair rest = product(w, s, product(w, square, terms));
    pair scale = constant_pair(w, 0x1.71547652b82fep+1, 0x1.777d0ffda0d24p-55);
    pair log2 = product(w, sum(w, s, rest), scale);
    return sum(w, (pair){k, zero}, log2);
}

/*
 * k + s g(T), where s = f / (2 + f) leaves a rest: f - 2 s is exact, and so the rest is. For the rest the logarithm
 * grows by C / 2 / (1 + s), nearly C / 2 (1 - s) (1 + T), which is short of it by T^2: half of the most that this is
 * has been added to C / 2. g is a pair, exact except for the terms R.
 */
static pair log2_of_f32(const writer *w, weft_inst_id m, weft_inst_id k)
{
    weft_inst_id one = real(w, 1.0), f = sub(w, m, one), s = quotient(w, f, add(w, m, one)), minus = negative_of(w, s);
    weft_inst_id rest = fma3(w, minus, f, fma3(w, s, real(w, -2.0), f)), half = real(w, 0x1.717d6ap+0);
    weft_inst_id slope = fma3(w, minus, half, half), square = mul(w, s, s);
    slope = fma3(w, slope, square, slope);
    pair scale = constant_pair(w, 0x1.715476p+1, 0x1.4ae0cp-25),
         third = constant_pair(w, 0x1.ec709ep-1, -0x1.761356p-26);
    weft_inst_id g = fma3(w, square, third.high, scale.high), gap = sub(w, scale.high, g);
    weft_inst_id lost = fma3(w, square, third.high, gap);
    lost = fma3(w, product_error(w, square, s, s), third.high, lost);
    weft_inst_id g_low = polynomial(w, square, single_log2, sizeof single_log2 / sizeof *single_log2);
    g_low = fma3(w, fma3(w, g_low, square, third.low), square, scale.low);
    pair log2 = {.high = fma3(w, s, g, k)};
    weft_inst_id error = fma3(w, s, g, sub(w, k, log2.high));
    log2.low = fma3(w, rest, slope, fma3(w, s, add(w, g_low, lost), error));
    return log2;
}

/* y log2(a) */
static pair times_logarithm(const writer *w, pair log2, weft_inst_id y)
{
    pair e = {.high = mul(w, log2.high, y)};
    e.low = fma3(w, log2.low, y, product_error(w, e.high, log2.high, y));
    return e;
}

/* The same for any a, bounded, and without a low part where it is infinite; `usual` is right for what is positive and
 * finite. */
static pair bounded_exponent(const writer *w, weft_inst_id a, weft_inst_id y, weft_inst_id log2, pair usual)
{
    const math_exp2_constants *c = &weft_math_exp2_constants[w->number];
    weft_inst_id finite = less(w, a, real(w, HUGE_VAL)), none = binary(w, WEFT_SCALAR_eq, a, real(w, 0.0));
    weft_inst_id high = choose(w, finite, log2, a);
    high = choose(w, none, real(w, -HUGE_VAL), high);
    weft_inst_id whole = mul(w, high, y);
    pair e = {.high = at_least(w, at_most(w, whole, c->most), c->least)};
    weft_inst_id is_within = binary(w, WEFT_SCALAR_eq, e.high, whole);
    e.low = choose(w, is_within, usual.low, real(w, 0.0));
    return e;
}

/* 2^(high + low), |high| <= 1/2, from the first two terms with their rounding error. */
static weft_inst_id exp2_of_f32(const writer *w, weft_inst_id high, weft_inst_id low)
{
    const math_exp2_constants *c = &weft_math_exp2_constants[MATH_F32];
    weft_inst_id r = add(w, high, low), one = real(w, 1.0), first = real(w, c->series[1]);
    weft_inst_id start = fma3(w, high, first, one), gap = sub(w, one, start);
    weft_inst_id rest = fma3(w, low, first, fma3(w, high, first, gap));
    weft_inst_id square = mul(w, r, r), tail = polynomial(w, r, c->series + 2, c->count - 2);
    return add(w, start, fma3(w, square, tail, rest));
}

/* `result` = |x|^y with the sign, or NaN, that a negative x gives. */
static weft_inst_id of_negative(const writer *w, weft_inst_id x, weft_inst_id y, weft_inst_id finite,
                                weft_inst_id result)
{
    weft_inst_id half = unary(w, WEFT_SCALAR_trunc, mul(w, y, real(w, 0.5))), even = add(w, half, half);
    weft_inst_id left = absolute(w, sub(w, y, even)), odd = binary(w, WEFT_SCALAR_eq, left, real(w, 1.0));
    weft_inst_id not_even = binary(w, WEFT_SCALAR_ne, even, y), zero = real(w, 0.0);
    weft_inst_id undefined = binary(w, WEFT_SCALAR_and, less(w, x, zero), finite);
    undefined = binary(w, WEFT_SCALAR_and, undefined, not_even);
    weft_inst_id other = choose(w, undefined, real(w, (double)NAN), result);
    return choose(w, odd, with_sign(w, result, x), other);
}

/*
 * Where x is 1 or y is 0 the result is 1, whatever the other is. Only where x or the result is not positive, normal and
 * finite there is something that a logarithm and an exponential of numbers do not give.
 */
static weft_inst_id general_power(const writer *w, weft_inst_id x, weft_inst_id y)
{
    const math_exp2_constants *c = &weft_math_exp2_constants[w->number];
    math_split split = weft_math_split(w, x, w->format->sqrt_half);
    weft_inst_id k = weft_math_exponent(w, &split);
    pair log2 = (w->number == MATH_F32 ? log2_of_f32 : log2_of_f64)(w, split.m, k);
    pair usual = times_logarithm(w, log2, y);
    weft_inst_id limit = real(w, w->format->bias - 1.0), within = less(w, absolute(w, usual.high), limit);
    weft_inst_id rare = binary(w, WEFT_SCALAR_or, split.unusual, unary(w, WEFT_SCALAR_not, within));
    weft_inst_id a = absolute(w, x), one = real(w, 1.0), zero = real(w, 0.0), shifted;
    pair e = bounded_exponent(w, a, y, log2.high, usual);
    e.high = rarely(w, rare, e.high, usual.high);
    e.low = rarely(w, rare, e.low, usual.low);
    weft_inst_id n = weft_math_round_scaled(w, e.high, 1.0, 2 * w->format->bias, &shifted), high = sub(w, e.high, n);
    weft_inst_id significand =
        w->number == MATH_F32 ? exp2_of_f32(w, high, e.low) : polynomial(w, add(w, high, e.low), c->series, c->count);
    weft_inst_id result = weft_math_scale(w, significand, shifted);
    weft_inst_id at_one = binary(w, WEFT_SCALAR_eq, a, one), none = binary(w, WEFT_SCALAR_eq, y, zero);
    weft_inst_id special = choose(w, binary(w, WEFT_SCALAR_or, at_one, none), one, result);
    weft_inst_id finite = less(w, a, real(w, HUGE_VAL));
    return rarely(w, rare, of_negative(w, x, y, finite, special), result);
}

/* ---- pow of a constant exponent ---- */

enum { MOST_EXPONENT = 64 }; /* by squares */

/* x^3 with its rounding errors: x^2 = square + low, square x = cube + rest. */
static weft_inst_id cube_of(const writer *w, weft_inst_id x)
{
    weft_inst_id square = mul(w, x, x), low = product_error(w, square, x, x), cube = mul(w, square, x);
    weft_inst_id rest = product_error(w, cube, square, x), corrected = add(w, cube, fma3(w, low, x, rest));
    weft_inst_id size = absolute(w, cube), finite = less(w, size, real(w, HUGE_VAL));
    weft_inst_id positive = less(w, real(w, 0.0), size);
    return choose(w, binary(w, WEFT_SCALAR_and, finite, positive), corrected, cube);
}

/* x^n, n > 0, by squares; and in twice the precision. */
static weft_inst_id power_by_squares(const writer *w, weft_inst_id x, uint64_t n)
{
    weft_inst_id power = x, square = x;
    for (; (n & 1) == 0; n >>= 1) power = square = mul(w, square, square);
    for (n >>= 1; n > 0; n >>= 1) {
        square = mul(w, square, square);
        if (n & 1) power = mul(w, power, square);
    }
    return power;
}

static pair pair_by_squares(const writer *w, pair x, uint64_t n)
{
    pair power = x, square = x;
    for (; (n & 1) == 0; n >>= 1) power = square = product(w, square, square);
    for (n >>= 1; n > 0; n >>= 1) {
        square = product(w, square, square);
        if (n & 1) power = product(w, power, square);
    }
    return power;
}

/* x^n of f64. That of an inverse is taken of 1 / x: no power on the way is denormal then whose inverse is a number. */
static weft_inst_id double_power(const writer *w, weft_inst_id x, int n)
{
    weft_inst_id zero = real(w, 0.0), one = real(w, 1.0);
    pair base = {x, zero};
    if (n < 0) {
        base.high = quotient(w, one, x);
        base.low = mul(w, fma3(w, negative_of(w, base.high), x, one), base.high);
    }
    pair power = pair_by_squares(w, base, (uint64_t)abs(n));
    weft_inst_id size = absolute(w, power.high), finite = less(w, size, real(w, HUGE_VAL));
    weft_inst_id known = binary(w, WEFT_SCALAR_and, finite, less(w, zero, size));
    return choose(w, known, add(w, power.high, power.low), power.high);
}

/* 1 / x of f32 in f64, except for the last bits: twice as fast as a division there. */
static weft_inst_id widened_inverse(const writer *w, weft_inst_id x)
{
    weft_inst_id one = real(w, 1.0), high = quotient(w, one, x);
    weft_inst_id low = mul(w, fma3(w, negative_of(w, high), x, one), high);
    weft_inst_id infinity = real(w, HUGE_VAL), known = less(w, absolute(w, low), infinity);
    weft_inst_id wide = given(w, WEFT_SCALAR_cast, WEFT_F64, high);
    return choose(w, known, add(w, wide, given(w, WEFT_SCALAR_cast, WEFT_F64, low)), wide);
}

/* x^n of f32 in f64, where nothing overflows or vanishes whose result is a number. */
static weft_inst_id single_power(const writer *w, weft_inst_id x, int n)
{
    weft_inst_id base = n < 0 ? widened_inverse(w, x) : given(w, WEFT_SCALAR_cast, WEFT_F64, x);
    return given(w, WEFT_SCALAR_cast, WEFT_F32, power_by_squares(w, base, (uint64_t)abs(n)));
}

/* x^0.5 or x^-0.5: they are not sqrt and rsqrt for -0, which counts as 0, and for -infinity. */
static weft_inst_id root_of(const writer *w, weft_inst_id x, bool inverse)
{
    weft_inst_id unsigned_zero = add(w, x, real(w, 0.0));
    weft_inst_id root = inverse ? weft_math_rsqrt(w, &unsigned_zero) : unary(w, WEFT_SCALAR_sqrt, unsigned_zero);
    weft_inst_id lowest = binary(w, WEFT_SCALAR_eq, x, real(w, -HUGE_VAL));
    return choose(w, lowest, real(w, inverse ? 0.0 : HUGE_VAL), root);
}

/* Whether `id` is a float that is known; the exponents below are the same in any format. */
static bool find_constant(const writer *w, weft_inst_id id, double *out_value)
{
    const weft_inst *inst = &w->list->items[id];
    while (inst->op == WEFT_SCALAR_cast && weft_dtype_info_of(inst->dtype)->kind == WEFT_KIND_FLOAT)
        inst = &w->list->items[inst->args[0]];
    if (inst->op != WEFT_SCALAR_const || weft_dtype_info_of(inst->dtype)->kind != WEFT_KIND_FLOAT) return false;
    *out_value = weft_float_decode(inst->dtype, inst->bits);
    return true;
}

/* Whether x^exponent takes no logarithm. Rounded as well as the general way, or better: last bits may differ. */
static bool find_simple_power(const writer *w, weft_inst_id x, double exponent, weft_inst_id *out_power)
{
    if (exponent == 0) *out_power = real(w, 1.0);
    else if (exponent == 1) *out_power = x;
    else if (exponent == 2) *out_power = mul(w, x, x);
    else if (exponent == 3) *out_power = cube_of(w, x);
    else if (exponent == -1) *out_power = quotient(w, real(w, 1.0), x);
    else if (exponent == 0.5 || exponent == -0.5) *out_power = root_of(w, x, exponent < 0);
    else if (exponent == trunc(exponent) && fabs(exponent) <= MOST_EXPONENT)
        *out_power = (w->number == MATH_F32 ? single_power : double_power)(w, x, (int)exponent);
    else return false;
    return true;
}

weft_inst_id weft_math_pow(const writer *w, const weft_inst_id *x)
{
    double constant_exponent;
    weft_inst_id power;
    if (find_constant(w, x[1], &constant_exponent) && find_simple_power(w, x[0], constant_exponent, &power))
        return power;
    return general_power(w, x[0], x[1]);
}

/* By squares; products wrap as those of the general way do. */
bool weft_math_find_integer_power(const writer *w, const weft_inst_id *x, weft_inst_id *out_power)
{
    const weft_inst *inst = &w->list->items[x[1]];
    if (inst->op != WEFT_SCALAR_const || inst->bits == 0 || inst->bits > MOST_EXPONENT) return false;
    *out_power = power_by_squares(w, x[0], inst->bits);
    return true;
}

/* ---- remainder ---- */

/* The result of fmod, plus b if its sign differs from that of b; a zero has the sign of b. */
weft_inst_id weft_math_remainder(const writer *w, const weft_inst_id *x)
{
    weft_inst_id zero = real(w, 0.0), rest = binary(w, WEFT_SCALAR_fmod, x[0], x[1]);
    weft_inst_id below = less(w, rest, zero), divisor_below = less(w, x[1], zero);
    weft_inst_id differ = binary(w, WEFT_SCALAR_xor, below, divisor_below);
    weft_inst_id result = choose(w, differ, add(w, rest, x[1]), rest);
    weft_inst_id none = binary(w, WEFT_SCALAR_eq, rest, zero);
    return choose(w, none, with_sign(w, zero, x[1]), result);
}
