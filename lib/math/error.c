/* SPDX-License-Identifier: Apache-2.0 */
/* erf and erfc */
#include "lib/math/extended.h"

static const uint32_t erf_counts[MATH_FORMATS] = {[MATH_F64] = 13};
static const uint32_t scaled_counts[MATH_FORMATS] = {[MATH_F64] = 9};

enum { SINGLE_TERMS = 7 }; /* of a row of the table for floats */

/* Rows are near multiples of 8/15. They end at 4; from 3.93 on the result is 1. */
static weft_inst_id short_erf(const writer *w, weft_inst_id x)
{
    weft_inst_id a = at_most(w, absolute(w, x), 3.99), shifted;
    (void)weft_math_round_scaled(w, a, 1.875, 0, &shifted);
    return weft_math_single_row(w, WEFT_TABLE_single_erf, as_integer(w, shifted), a);
}

weft_inst_id weft_math_erf(const writer *w, const weft_inst_id *operands)
{
    weft_inst_id x = operands[0];
    if (is_short(w)) return one_nan(w, with_sign(w, short_erf(w, x), x));
    weft_inst_id a = at_most(w, absolute(w, x), 6.0), t, row = weft_math_nearest(w, a, 25.0 / 64, &t);
    pair value = weft_math_row(w, WEFT_TABLE_erf, row, t, erf_counts);
    return narrow(w, with_sign(w, add(w, value.high, value.low), x));
}

/* erfc(a) exp(a^2), a >= 0: rows are parts of the octaves of a + 1. */
static pair scaled_erfc(const writer *w, weft_inst_id a)
{
    weft_inst_id bits = as_integer(w, plus(w, a, 1.0));
    weft_inst_id row = shift_right(w, plus_bits(w, bits, -((uint64_t)1023 << 52)), 48);
    weft_inst_id middle = plus_bits(w, mask(w, bits, UINT64_MAX << 48), (uint64_t)1 << 47);
    weft_inst_id center = plus(w, as_real(w, middle), -1.0);
    return weft_math_row(w, WEFT_TABLE_scaled_erfc, row, sub(w, a, center), scaled_counts);
}

/* The same for floats: h + t s. */
typedef struct line {
    weft_inst_id h, t, s;
} line;

static line single_scaled_erfc(const writer *w, weft_inst_id a)
{
    weft_inst_id row = shift_right(w, as_integer(w, plus(w, a, 1.0)), 21);
    line g = {.t = sub(w, a, look_up(w, WEFT_TABLE_single_erfc, 0, row))};
    g.h = look_up(w, WEFT_TABLE_single_erfc, 1, row);
    g.s = look_up(w, WEFT_TABLE_single_erfc, 1 + SINGLE_TERMS, row);
    for (uint32_t i = SINGLE_TERMS - 1; i > 0; i--)
        g.s = fma3(w, g.s, g.t, look_up(w, WEFT_TABLE_single_erfc, 1 + i, row));
    return g;
}

/*
 * erfc(a) of floats, a >= 0: exp(-a^2) = 2^n (1 + d + e), where d is exact and e small, and with g = h + t s it is 2^n
 * times the sum of h (1 + d), kept with its rounding error, t s, and t s d + g e.
 */
static weft_inst_id single_tail(const writer *w, weft_inst_id a)
{
    const math_exp_constants *exp = &weft_math_exp_constants[MATH_F32];
    weft_inst_id square = mul(w, a, a), square_low = multiply_subtract(w, a, a, square), shifted;
    weft_inst_id n = weft_math_round_scaled(w, square, -exp->log2_e, 2 * w->format->bias, &shifted);
    weft_inst_id d = minus(w, fma3(w, n, real(w, exp->ln2_high), square));
    weft_inst_id low = minus(w, fma3(w, n, real(w, exp->ln2_low), square_low)), r = add(w, d, low);
    weft_inst_id curve = polynomial(w, r, exp->series + 2, exp->count - 2), e = fma3(w, mul(w, r, r), curve, low);
    line g = single_scaled_erfc(w, a);
    weft_inst_id high = fma3(w, g.h, d, g.h), gap = sub(w, g.h, high), product = mul(w, g.t, g.s);
    weft_inst_id rest = fma3(w, product, d, fma3(w, g.h, d, gap));
    rest = fma3(w, g.t, g.s, fma3(w, add(w, g.h, product), e, rest));
    return weft_math_scale(w, add(w, high, rest), shifted);
}

/* erfc(a) = exp(-a^2) g, a >= 0; with g = h + l and exp(-a^2) = 2^n (1 + p) it is 2^n (h + (l + p g)). */
static weft_inst_id double_tail(const writer *w, weft_inst_id a)
{
    weft_inst_id shifted;
    pair exponent = {minus(w, mul(w, a, a)), 0};
    exponent.low = minus(w, fma3(w, a, a, exponent.high));
    pair growth = weft_math_growth(w, exponent, &shifted), g = scaled_erfc(w, a);
    weft_inst_id sum = add(w, g.high, g.low), change = fma3(w, growth.low, sum, g.low);
    change = fma3(w, growth.high, sum, change);
    return weft_math_scale(w, add(w, g.high, change), shifted);
}

/* Of -a it is two minus that of a. */
weft_inst_id weft_math_erfc(const writer *w, const weft_inst_id *operands)
{
    weft_inst_id x = operands[0], a = at_most(w, absolute(w, x), is_short(w) ? 10.5 : 28.0);
    weft_inst_id tail = is_short(w) ? single_tail(w, a) : double_tail(w, a), mirrored = sub(w, real(w, 2.0), tail);
    return one_nan(w, choose(w, below(w, x, 0.0), mirrored, tail));
}
