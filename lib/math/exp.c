/* SPDX-License-Identifier: Apache-2.0 */
/* exp, exp2, expm1, sigmoid */
#include <math.h>
#include <string.h>
#include "lib/math/exp_data.h"
#include "lib/math/extended.h"

/* exp(r) on |r| <= 0.3467, 1 and r kept: error 2^-28.2. */
static const double single_terms[] = {0x1.0p+0,      0x1.0p+0,      0x1.fffffcp-2, 0x1.555492p-3,
                                      0x1.5558a8p-5, 0x1.12398ap-7, 0x1.6a55e6p-10};

/* The same, error 2^-57.9. */
static const double double_terms[] = {0x1.0p+0,
                                      0x1.0p+0,
                                      0x1.000000000000ap-1,
                                      0x1.5555555555505p-3,
                                      0x1.55555555506a7p-5,
                                      0x1.1111111124f2fp-7,
                                      0x1.6c16c1847efa8p-10,
                                      0x1.a01a013974a19p-13,
                                      0x1.a019994327bd2p-16,
                                      0x1.71df03977a49fp-19,
                                      0x1.28ae1aa639038p-22,
                                      0x1.adb4c563d6e85p-26};

const math_exp_constants weft_math_exp_constants[MATH_FORMATS] = {
    [MATH_F32] = {.log2_e = 0x1.715476p+0,
                  .ln2 = 0x1.62e43p-1,
                  .ln2_rest = -0x1.05c61p-29,
                  .ln2_high = 0x1.62e4p-1,
                  .ln2_low = 0x1.7f7d1cp-20,
                  .least = -104.0,
                  .most = 89.0,
                  .least_expm1 = -18.0,
                  .most_expm1 = 16.5,
                  .most_sigmoid = 18.0,
                  .series = single_terms,
                  .count = sizeof single_terms / sizeof *single_terms},
    [MATH_F64] = {.log2_e = 0x1.71547652b82fep+0,
                  .ln2 = 0x1.62e42fefa39efp-1,
                  .ln2_rest = 0x1.abc9e3b39803fp-56,
                  .ln2_high = 0x1.62e42fefa38p-1,
                  .ln2_low = 0x1.ef35793c7673p-45,
                  .least = -746.0,
                  .most = 710.0,
                  .least_expm1 = -38.0,
                  .most_expm1 = 36.0,
                  .most_sigmoid = 38.0,
                  .series = double_terms,
                  .count = sizeof double_terms / sizeof *double_terms},
};

/* 2^r on |r| <= 1/2, 1 kept: error 2^-28.3. */
static const double single_exp2_terms[] = {0x1.0p+0,      0x1.62e43p-1,  0x1.ebfbdcp-3, 0x1.c6af7ap-5,
                                           0x1.3b2dd2p-7, 0x1.5f094p-10, 0x1.417afep-13};

/* The same, error 2^-57.8. */
static const double double_exp2_terms[] = {0x1.0p+0,
                                           0x1.62e42fefa39efp-1,
                                           0x1.ebfbdff82c59cp-3,
                                           0x1.c6b08d704a0d5p-5,
                                           0x1.3b2ab6fba11f4p-7,
                                           0x1.5d87fe78b3689p-10,
                                           0x1.4309130c01929p-13,
                                           0x1.ffcbfbfab3a0dp-17,
                                           0x1.62bfcddd201d2p-20,
                                           0x1.b5260918e9cdap-24,
                                           0x1.e611a2875e5f1p-28,
                                           0x1.e8163363c2016p-32};

const math_exp2_constants weft_math_exp2_constants[MATH_FORMATS] = {
    [MATH_F32] = {.least = -151.0,
                  .most = 129.0,
                  .series = single_exp2_terms,
                  .count = sizeof single_exp2_terms / sizeof *single_exp2_terms},
    [MATH_F64] = {.least = -1076.0,
                  .most = 1025.0,
                  .series = double_exp2_terms,
                  .count = sizeof double_exp2_terms / sizeof *double_exp2_terms},
};

/* A number to which another one is added to be rounded to a multiple of 2^-places: see weft_math_round_scaled. */
static weft_inst_id rounder(const writer *w, unsigned places, int shift)
{
    return real(w, 1.5 * (double)((uint64_t)1 << (w->format->fraction - places)) + shift);
}

static weft_inst_id round_to_places(const writer *w, weft_inst_id x, double scale, unsigned places, int shift,
                                    weft_inst_id *out_shifted)
{
    weft_inst_id magic = rounder(w, places, shift);
    *out_shifted = fma3(w, x, real(w, scale), magic);
    return sub(w, *out_shifted, magic);
}

weft_inst_id weft_math_round_scaled(const writer *w, weft_inst_id x, double scale, int shift, weft_inst_id *out_shifted)
{
    return round_to_places(w, x, scale, 0, shift, out_shifted);
}

weft_inst_id weft_math_power(const writer *w, weft_inst_id exponent)
{
    return as_real(w, binary(w, WEFT_SCALAR_shl, exponent, integer(w, w->format->fraction)));
}

static weft_inst_id scale(const writer *w, weft_inst_id significand, weft_inst_id n, weft_inst_id exponent)
{
    return weft_inst_list_apply(w->list, WEFT_SCALAR_scale, 3, (weft_inst_id[]){exponent, n, significand});
}

weft_inst_id weft_math_scale(const writer *w, weft_inst_id significand, weft_inst_id shifted)
{
    return scale(w, significand, sub(w, shifted, rounder(w, 0, 2 * w->format->bias)), shifted);
}

/*
 * Where x is below `least` the result is 0. The factors of a product in place of an instruction that scales are 0 then:
 * one that underflows costs some processors more than all the rest, and masked softmax is full of them. What is not
 * below is the condition, for zeros where a mask has no lane are part of an instruction of AVX-512.
 */
typedef struct bounded {
    weft_inst_id above, within;
} bounded;

static double value_of(const writer *w, weft_inst_id id)
{
    const weft_inst *inst = &w->list->items[id];
    double d;
    float f;
    memcpy(&d, &inst->bits, sizeof d);
    memcpy(&f, &inst->bits, sizeof f);
    return inst->op != WEFT_SCALAR_const ? NAN : inst->dtype == WEFT_F64 ? d : (double)f;
}

/* Where x is -inf in place of what is below a bound of *least or more: what that is, and *least is the bound then; else
 * x. */
static weft_inst_id without_bound(const writer *w, weft_inst_id x, double *least)
{
    const weft_inst *inst = &w->list->items[x];
    if (inst->op != WEFT_SCALAR_select || value_of(w, inst->args[1]) != -INFINITY) return x;
    const weft_inst *below = &w->list->items[inst->args[0]];
    if (below->op != WEFT_SCALAR_lt || below->args[0] != inst->args[2]) return x;
    double own = value_of(w, below->args[1]);
    if (!(own >= *least)) return x;
    *least = own;
    return inst->args[2];
}

static bounded bound(const writer *w, weft_inst_id x, double least, double most)
{
    weft_inst_id above = unary(w, WEFT_SCALAR_not, less(w, x, real(w, least)));
    return (bounded){above, at_most(w, x, most)};
}

/* `exponent` as of the operation `scale`. */
static weft_inst_id scale_above(const writer *w, bounded b, weft_inst_id significand, weft_inst_id n,
                                weft_inst_id exponent)
{
    weft_inst_id zero = real(w, 0.0), factors = choose(w, b.above, exponent, zero);
    return choose(w, b.above, scale(w, significand, n, factors), zero);
}

/* Whether the value depends on nothing but results of earlier stages, as the maximum of a row. */
static bool is_of_results(const writer *w, weft_inst_id id, unsigned depth)
{
    const weft_inst *inst = &w->list->items[id];
    if (inst->op == WEFT_SCALAR_result || inst->op == WEFT_SCALAR_const) return true;
    bool is = depth > 0 && inst->arg_count > 0;
    for (uint32_t i = 0; i < inst->arg_count && is; i++) is = is_of_results(w, inst->args[i], depth - 1);
    return is;
}

/* Whether x is -inf less such a value, so that its power is 0 or NaN, wherever *out_seen is false: under a mask, which
 * hides long parts of rows. */
static bool is_masked(const writer *w, weft_inst_id x, weft_inst_id *out_seen, weft_inst_id *out_hidden)
{
    enum { MOST_DEPTH = 3 };
    const weft_inst distance = w->list->items[x];
    if (distance.op != WEFT_SCALAR_sub || !is_of_results(w, distance.args[1], MOST_DEPTH)) return false;
    const weft_inst score = w->list->items[distance.args[0]];
    if (score.op != WEFT_SCALAR_select || value_of(w, score.args[2]) != -INFINITY) return false;
    *out_seen = score.args[0];
    weft_inst_id hidden = sub(w, score.args[2], distance.args[1]), zero = real(w, 0.0);
    *out_hidden = choose(w, less(w, hidden, zero), zero, hidden);
    return true;
}

/* ---- floats: 2^n, n a multiple of 1/16, of which the fraction is the row of a table ---- */

enum { PLACES = 4 };

static const series exp_row = {single_exp_row, sizeof single_exp_row / sizeof *single_exp_row};
static const series exp2_row = {single_exp2_row, sizeof single_exp2_row / sizeof *single_exp2_row};

/*
 * 2^n (1 + r s(r)) for n of round_to_places: what is added last is a power of two from the table, so that its error,
 * up to 0.46 places, and the last rounding are nearly all there is.
 */
static weft_inst_id power_of_row(const writer *w, bounded b, weft_inst_id n, weft_inst_id shifted, weft_inst_id r,
                                 const series *s)
{
    weft_inst_id bits = as_integer(w, shifted), power = look_up(w, WEFT_TABLE_single_power, 0, bits);
    weft_inst_id slope = polynomial(w, r, s->terms, s->count), sum = fma3(w, slope, mul(w, power, r), power);
    return scale_above(w, b, sum, n, as_real(w, shift_right(w, bits, PLACES)));
}

static weft_inst_id single_exp(const writer *w, bounded b)
{
    const math_exp_constants *c = &weft_math_exp_constants[MATH_F32];
    weft_inst_id shifted, n = round_to_places(w, b.within, c->log2_e, PLACES, 2 * w->format->bias, &shifted);
    weft_inst_id r = fma3(w, n, real(w, -c->ln2_high), b.within);
    return power_of_row(w, b, n, shifted, fma3(w, n, real(w, -c->ln2_low), r), &exp_row);
}

static weft_inst_id single_exp2(const writer *w, bounded b)
{
    weft_inst_id shifted, n = round_to_places(w, b.within, 1.0, PLACES, 2 * w->format->bias, &shifted);
    return power_of_row(w, b, n, shifted, sub(w, b.within, n), &exp2_row);
}

/* ---- doubles: 2^n, n an integer ---- */

/* exp(x) = 2^n exp(r), |r| <= ln(2) / 2. */
static weft_inst_id double_exp(const writer *w, bounded b)
{
    const math_exp_constants *c = &weft_math_exp_constants[MATH_F64];
    weft_inst_id shifted, n = weft_math_round_scaled(w, b.within, c->log2_e, 2 * w->format->bias, &shifted);
    weft_inst_id r = fma3(w, n, real(w, -c->ln2_high), b.within);
    r = fma3(w, n, real(w, -c->ln2_low), r);
    return scale_above(w, b, polynomial(w, r, c->series, c->count), n, shifted);
}

static weft_inst_id double_exp2(const writer *w, bounded b)
{
    const math_exp2_constants *c = &weft_math_exp2_constants[MATH_F64];
    weft_inst_id shifted, n = weft_math_round_scaled(w, b.within, 1.0, 2 * w->format->bias, &shifted);
    return scale_above(w, b, polynomial(w, sub(w, b.within, n), c->series, c->count), n, shifted);
}

weft_inst_id weft_math_exp(const writer *w, const weft_inst_id *x)
{
    const math_exp_constants *c = &weft_math_exp_constants[w->number];
    double least = c->least;
    weft_inst_id operand = without_bound(w, x[0], &least), seen, hidden;
    bounded b = bound(w, operand, least, c->most);
    weft_inst_id power = (is_short(w) ? single_exp : double_exp)(w, b);
    return is_masked(w, operand, &seen, &hidden) ? rarely(w, seen, power, hidden) : power;
}

weft_inst_id weft_math_exp2(const writer *w, const weft_inst_id *x)
{
    const math_exp2_constants *c = &weft_math_exp2_constants[w->number];
    bounded b = bound(w, x[0], c->least, c->most);
    return (is_short(w) ? single_exp2 : double_exp2)(w, b);
}

/* ---- fast exponentials of floats: 2^n, n a multiple of 1/8 ---- */

enum { FAST_PLACES = 3 };

static const series fast_exp_series = {fast_exp_row, sizeof fast_exp_row / sizeof *fast_exp_row};
static const series fast_exp2_series = {fast_exp2_row, sizeof fast_exp2_row / sizeof *fast_exp2_row};

/* 2 exp(sign r), or 2 exp2(sign r), whose series lacks the constant. */
static weft_inst_id twice_growth(const writer *w, weft_inst_id r, double sign, const series *s)
{
    double terms[MATH_MOST_EXP] = {2.0};
    for (size_t i = 0; i < s->count; i++) terms[i + 1] = i % 2 == 0 ? sign * s->terms[i] : s->terms[i];
    return polynomial(w, r, terms, s->count + 1);
}

/* 2^(n - 1) for n that was rounded with a shift of -1, from -125 on, or next to 0 down to -126: half of the power,
 * because the largest one is half of a power. The bits of the row are those of the sum too, and the table lacks them.
 */
static weft_inst_id half_power(const writer *w, weft_inst_id shifted)
{
    weft_inst_id bits = as_integer(w, shifted), row = as_integer(w, look_up(w, WEFT_TABLE_shifted_power, 0, bits));
    weft_inst_id places = integer(w, w->format->fraction - FAST_PLACES);
    return as_real(w, add(w, row, binary(w, WEFT_SCALAR_shl, bits, places)));
}

/* exp(sign x) = *out_twice times the result, where sign is 1 or -1 and sign x from -87 to 89. */
static weft_inst_id fast_parts(const writer *w, weft_inst_id x, double sign, weft_inst_id *out_twice)
{
    const math_exp_constants *c = &weft_math_exp_constants[MATH_F32];
    weft_inst_id shifted, n = round_to_places(w, x, sign * c->log2_e, FAST_PLACES, -1, &shifted);
    weft_inst_id r = fma3(w, n, real(w, -sign * c->ln2_high), x);
    r = fma3(w, n, real(w, -sign * c->ln2_low), r);
    *out_twice = twice_growth(w, r, sign, &fast_exp_series);
    return half_power(w, shifted);
}

weft_inst_id weft_math_fast_exp(const writer *w, const weft_inst_id *x)
{
    weft_inst_id twice, power = fast_parts(w, at_most(w, x[0], 89.0), 1, &twice);
    weft_inst_id tiny = less(w, x[0], real(w, -86.66)), result = mul(w, twice, power);
    return choose(w, tiny, real(w, 0.0), result);
}

weft_inst_id weft_math_fast_exp2(const writer *w, const weft_inst_id *x)
{
    weft_inst_id shifted, within = at_most(w, x[0], 129.0);
    weft_inst_id n = round_to_places(w, within, 1.0, FAST_PLACES, -1, &shifted);
    weft_inst_id twice = twice_growth(w, sub(w, within, n), 1, &fast_exp2_series);
    weft_inst_id tiny = less(w, x[0], real(w, -125.03)), result = mul(w, twice, half_power(w, shifted));
    return choose(w, tiny, real(w, 0.0), result);
}

/* 1 / (1 + exp(-x)) */
weft_inst_id weft_math_fast_sigmoid(const writer *w, const weft_inst_id *x)
{
    weft_inst_id twice, power = fast_parts(w, at_least(w, at_most(w, x[0], 87.0), -89.0), -1, &twice);
    weft_inst_id one = real(w, 1.0);
    return quotient(w, one, fma3(w, twice, power, one));
}

/* ---- functions of exp that cancel ---- */

/* Half less the logarithm of 3/2 to the base of two. */
#define LOWERED (-0x1.5c01a39fbd688p-4)

math_reduced weft_math_reduce(const writer *w, weft_inst_id x, int shift)
{
    const math_exp_constants *c = &weft_math_exp_constants[w->number];
    weft_inst_id magic = rounder(w, 0, shift), lowered = real(w, LOWERED),
                 moved = fma3(w, x, real(w, c->log2_e), lowered);
    math_reduced reduced = {.shifted = add(w, moved, magic)};
    weft_inst_id n = sub(w, reduced.shifted, magic), exact = fma3(w, n, real(w, -c->ln2), x);
    if (is_short(w)) {
        reduced.high = fma3(w, n, real(w, -c->ln2_rest), exact);
        return reduced;
    }
    weft_inst_id rest = mul(w, n, real(w, -c->ln2_rest));
    reduced.high = add(w, exact, rest);
    reduced.low = sum_error(w, reduced.high, exact, rest);
    return reduced;
}

static const series expm1_series[MATH_FORMATS] = WEFT_SERIES(expm1);

/* exp(r) - 1, rounded once */
static weft_inst_id growth_of(const writer *w, math_reduced r)
{
    const series *s = &expm1_series[w->number];
    weft_inst_id square = mul(w, r.high, r.high);
    if (is_short(w)) return fma3(w, square, polynomial(w, r.high, s->terms, s->count), r.high);
    weft_inst_id q = paired_polynomial(w, r.high, s->terms, s->count);
    return add(w, r.high, fma3(w, square, q, r.low));
}

/* exp(x) - 1 for operands that expm1 leaves to a branch, of h = 2^(n - 1): the sum of h p and -1/2, which is small
 * beside h, is rounded before h is added. */
static weft_inst_id large_expm1(const writer *w, weft_inst_id x, weft_inst_id power, weft_inst_id p)
{
    weft_inst_id step = integer(w, (uint64_t)1 << w->format->fraction);
    weft_inst_id h = as_real(w, sub(w, as_integer(w, power), step));
    weft_inst_id half = add(w, fma3(w, h, p, real(w, -0.5)), h), infinity = real(w, HUGE_VAL);
    weft_inst_id beyond = less(w, real(w, weft_math_exp_constants[w->number].most), x);
    return choose(w, beyond, infinity, add(w, half, half));
}

/*
 * expm1(x) = 2^n p + (2^n - 1), where p = exp(r) - 1 is rounded once, and the bracket exact below a limit of x. The
 * sign is that of -0 too.
 */
weft_inst_id weft_math_expm1(const writer *w, const weft_inst_id *x)
{
    const math_exp_constants *c = &weft_math_exp_constants[w->number];
    weft_inst_id within = at_least(w, x[0], c->least_expm1);
    weft_inst_id usual = less(w, within, real(w, c->most_expm1)), rare = unary(w, WEFT_SCALAR_not, usual);
    math_reduced r = weft_math_reduce(w, within, w->format->bias);
    weft_inst_id power = weft_math_power(w, as_integer(w, r.shifted)), base = sub(w, power, real(w, 1.0));
    weft_inst_id p = growth_of(w, r), result = with_sign(w, fma3(w, power, p, base), x[0]);
    return rarely(w, rare, large_expm1(w, within, power, p), result);
}

/*
 * sigmoid(x) = 1 / (1 + t), where t = exp(-x) = 2^n (1 + v). The denominator is taken 2^-k times, so that it and its
 * inverse are normal where the result is not. It is kept with its rounding errors, of which the inverse is corrected
 * once; what is lost of 2^-k beside 2^(n - k), or the other way round, matters where both are about 2^fraction apart.
 */
weft_inst_id weft_math_sigmoid(const writer *w, const weft_inst_id *x)
{
    const math_exp_constants *c = &weft_math_exp_constants[w->number];
    int k = w->number == MATH_F32 ? 32 : 64;
    weft_inst_id within = at_least(w, at_most(w, x[0], c->most_sigmoid), c->least), shifted;
    weft_inst_id n = weft_math_round_scaled(w, within, -c->log2_e, w->format->bias - k, &shifted);
    weft_inst_id minus_r = fma3(w, n, real(w, c->ln2_high), within);
    minus_r = fma3(w, n, real(w, c->ln2_low), minus_r);
    double mirrored[MATH_MOST_EXP];
    for (size_t i = 2; i < c->count; i++) mirrored[i - 2] = i % 2 == 0 ? c->series[i] : -c->series[i];
    weft_inst_id tail = polynomial(w, minus_r, mirrored, c->count - 2);
    weft_inst_id square = mul(w, minus_r, minus_r), v = fma3(w, square, tail, negative_of(w, minus_r));
    weft_inst_id power = weft_math_power(w, as_integer(w, shifted)), unit = real(w, ldexp(1, -k)), one = real(w, 1.0);
    weft_inst_id base = add(w, power, unit), base_low = sum_error(w, base, power, unit);
    weft_inst_id d = fma3(w, power, v, base), gap = sub(w, base, d);
    weft_inst_id d_low = add(w, fma3(w, power, v, gap), base_low);
    weft_inst_id inverse = quotient(w, one, d), minus = negative_of(w, inverse);
    weft_inst_id left = fma3(w, minus, d_low, fma3(w, minus, d, one));
    return mul(w, fma3(w, inverse, left, inverse), unit);
}
