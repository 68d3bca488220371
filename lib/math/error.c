/* SPDX-License-Identifier: Apache-2.0 */
/* erf and erfc */
#include "lib/math/error_data.h"
#include "lib/math/extended.h"

static const uint32_t erf_counts[MATH_FORMATS] = {[MATH_F64] = 10};
static const uint32_t scaled_counts[MATH_FORMATS] = {6, 9};

/*
 * Without lookups, which vectors do one by one: a + a (erf(a) / a - 1) up to 7/8, and beyond 1 - p^2, where p is the
 * root of erfc, which is smoother. At 4 the result is 1. A fourth root needs two terms less, but its error counts four
 * times.
 */
static weft_inst_id short_erf(const writer *w, weft_inst_id x)
{
    weft_inst_id a = at_most(w, absolute(w, x), 4.0);
    weft_inst_id rest = polynomial(w, mul(w, x, x), single_erf_rest, sizeof single_erf_rest / sizeof *single_erf_rest);
    weft_inst_id t = plus(w, a, -0.875);
    weft_inst_id root = paired_polynomial(w, t, single_erf_tail, sizeof single_erf_tail / sizeof *single_erf_tail);
    weft_inst_id far = with_sign(w, fma3(w, negative_of(w, root), root, real(w, 1.0)), x);
    weft_inst_id near = fma3(w, x, rest, x);
    weft_inst_id result = choose(w, below(w, a, 0.875), near, far), none = real(w, NAN);
    return choose(w, binary(w, WEFT_SCALAR_eq, x, x), result, none);
}

weft_inst_id weft_math_erf(const writer *w, const weft_inst_id *operands)
{
    if (is_short(w)) return short_erf(w, operands[0]);
    weft_inst_id x = operands[0], a = at_most(w, absolute(w, x), 6.0), t;
    weft_inst_id row = weft_math_eighth(w, a, &t);
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

/* erfc(a) = exp(-a^2) g, and of -a two minus that; with g = h + l and exp(-a^2) = 2^n (1 + p) it is
 * 2^n (h + (l + p g)). */
weft_inst_id weft_math_erfc(const writer *narrow_writer, const weft_inst_id *operands)
{
    writer wide = widened(narrow_writer), *w = &wide;
    weft_inst_id x = widen(w, operands[0]), a = at_most(w, absolute(w, x), is_short(w) ? 11.0 : 28.0), shifted;
    pair exponent = {minus(w, mul(w, a, a)), 0};
    if (!is_short(w)) exponent.low = minus(w, fma3(w, a, a, exponent.high));
    pair growth = weft_math_growth(w, exponent, &shifted);
    pair g = scaled_erfc(w, a);
    weft_inst_id sum = add(w, g.high, g.low);
    weft_inst_id change = is_short(w) ? g.low : fma3(w, growth.low, sum, g.low);
    change = fma3(w, growth.high, sum, change);
    weft_inst_id tail = weft_math_scale(w, add(w, g.high, change), shifted);
    weft_inst_id two = real(w, 2.0), mirrored = sub(w, two, tail);
    return narrow(w, choose(w, below(w, x, 0.0), mirrored, tail));
}
