/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/math/extended.h"
#include "lib/math/extended_data.h"

enum { MOST_TERMS = 32 };

static const series growth_series[MATH_FORMATS] = WEFT_SERIES(growth);
static const series log_rest_series[MATH_FORMATS] = WEFT_SERIES(log_rest);

/* The sum of terms[i] * x^i, powers[j] = x^(2^j). */
static weft_inst_id tree(const writer *w, const weft_inst_id *terms, size_t count, const weft_inst_id *powers)
{
    if (count == 1) return terms[0];
    size_t half = 1, level = 0;
    for (; 2 * half < count; half *= 2) level++;
    weft_inst_id high = tree(w, terms + half, count - half, powers);
    weft_inst_id low = tree(w, terms, half, powers);
    return fma3(w, high, powers[level], low);
}

static weft_inst_id sum_terms(const writer *w, weft_inst_id x, const weft_inst_id *terms, size_t count)
{
    weft_inst_id powers[6] = {x};
    for (size_t level = 1; (size_t)1 << level < count; level++)
        powers[level] = mul(w, powers[level - 1], powers[level - 1]);
    return tree(w, terms, count, powers);
}

weft_inst_id weft_math_series(const writer *w, weft_inst_id x, const series *of_formats)
{
    const series *s = &of_formats[w->number];
    weft_inst_id terms[MOST_TERMS];
    for (size_t i = 0; i < s->count; i++) terms[i] = real(w, s->terms[i]);
    return sum_terms(w, x, terms, s->count);
}

/* f(c) = h + l: the result is h + (t b0 + (t^2 p(t) + l)), where the inner bracket is small. */
pair weft_math_row(const writer *w, weft_table_id table, weft_inst_id row, weft_inst_id t, const uint32_t *counts)
{
    weft_inst_id terms[MOST_TERMS];
    uint32_t count = counts[w->number];
    weft_inst_id high = look_up(w, table, 0, row);
    for (uint32_t i = 0; i < count; i++) terms[i] = look_up(w, table, 2 + i, row);
    weft_inst_id square = mul(w, t, t), rest = mul(w, square, sum_terms(w, t, terms + 1, count - 1));
    if (!is_short(w)) rest = add(w, rest, look_up(w, table, 1, row));
    weft_inst_id change = fma3(w, t, terms[0], rest);
    return (pair){high, change};
}

weft_inst_id weft_math_single_row(const writer *w, weft_table_id table, weft_inst_id row, weft_inst_id x)
{
    uint32_t last = weft_table_of(table)->columns - 1;
    weft_inst_id t = sub(w, x, look_up(w, table, 0, row)), start = look_up(w, table, 1, row);
    start = fma3(w, t, look_up(w, table, 2, row), start);
    weft_inst_id square = mul(w, t, t), sum = look_up(w, table, last, row);
    for (uint32_t i = last - 1; i > 3; i -= 2) {
        weft_inst_id odd = look_up(w, table, i, row);
        sum = fma3(w, sum, square, fma3(w, odd, t, look_up(w, table, i - 1, row)));
    }
    return fma3(w, sum, t, start);
}

weft_inst_id weft_math_nearest(const writer *w, weft_inst_id x, double step, weft_inst_id *out_distance)
{
    weft_inst_id shifted, nearest = weft_math_round_scaled(w, x, 1 / step, 0, &shifted);
    *out_distance = fma3(w, nearest, real(w, -step), x);
    return as_integer(w, shifted);
}

/*
 * x = 2^k m, sqrt(1/2) <= m < sqrt(2). The table has c near 1 / m, so short that r = c m - 1 is exact, and -log(c) as a
 * sum whose first part has the last place of ln2_high: k ln2_high and it add up exactly.
 */
pair weft_math_log_pair(const writer *w, weft_inst_id x)
{
    const math_format *format = w->format;
    const math_exp_constants *exp = &weft_math_exp_constants[MATH_F64];
    weft_inst_id excess = real(w, 0x1p52 + 1023.0);
    if (!is_short(w)) {
        weft_inst_id tiny = below(w, x, format->smallest_normal);
        x = mul(w, x, choose_real(w, tiny, 0x1p52, 1.0));
        excess = choose_real(w, tiny, 0x1p52 + 1023.0 + 52.0, 0x1p52 + 1023.0);
    }
    weft_inst_id moved = plus_bits(w, as_integer(w, x), format->one - format->sqrt_half);
    weft_inst_id exponent = plus_bits(w, shift_right(w, moved, 52), (uint64_t)(1023 + 52) << 52);
    weft_inst_id k = sub(w, as_real(w, exponent), excess);
    weft_inst_id fraction = mask(w, moved, ((uint64_t)1 << 52) - 1);
    weft_inst_id m = as_real(w, plus_bits(w, fraction, format->sqrt_half)), row = shift_right(w, fraction, 45);
    weft_inst_id c = look_up(w, WEFT_TABLE_logarithm, 0, row), high = look_up(w, WEFT_TABLE_logarithm, 1, row);
    weft_inst_id r = fma3(w, m, c, real(w, -1.0)), square = mul(w, r, r);
    weft_inst_id rest = times(w, square, -0.5), cube = mul(w, square, r);
    rest = fma3(w, cube, weft_math_series(w, r, log_rest_series), rest);
    pair sum = fast_two_sum(w, fma3(w, k, real(w, exp->ln2_high), high), r);
    if (is_short(w)) return (pair){add(w, sum.high, rest), 0};
    weft_inst_id low = look_up(w, WEFT_TABLE_logarithm, 2, row);
    low = fma3(w, k, real(w, exp->ln2_low), low);
    low = add(w, low, sum.low);
    return (pair){sum.high, add(w, low, rest)};
}

pair weft_math_growth(const writer *w, pair x, weft_inst_id *out_shifted)
{
    const math_exp_constants *exp = &weft_math_exp_constants[MATH_F64];
    weft_inst_id n = weft_math_round_scaled(w, x.high, exp->log2_e, 2 * w->format->bias, out_shifted);
    weft_inst_id exact = fma3(w, n, real(w, -exp->ln2_high), x.high);
    if (is_short(w)) {
        weft_inst_id r = fma3(w, n, real(w, -exp->ln2_low), exact), square = mul(w, r, r);
        return (pair){fma3(w, square, weft_math_series(w, r, growth_series), r), 0};
    }
    pair r = fast_two_sum(w, exact, fma3(w, n, real(w, -exp->ln2_low), x.low));
    weft_inst_id square = mul(w, r.high, r.high);
    weft_inst_id tail = fma3(w, square, weft_math_series(w, r.high, growth_series), r.low);
    return fast_two_sum(w, r.high, tail);
}

pair weft_math_ratio(const writer *w, pair a, pair b)
{
    weft_inst_id inverse = quotient(w, real(w, 1.0), b.high), first = mul(w, a.high, inverse);
    weft_inst_id rest = subtract_product(w, first, b.high, a.high);
    rest = add(w, rest, subtract_product(w, first, b.low, a.low));
    return (pair){first, mul(w, rest, inverse)};
}
