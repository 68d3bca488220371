/* SPDX-License-Identifier: Apache-2.0 */
/* log, log2, log10, log1p */
#include "lib/math/extended.h"
#include "lib/math/log_data.h"

weft_inst_id weft_math_is_outside(const writer *w, weft_inst_id x, uint64_t least)
{
    const math_format *format = w->format;
    uint64_t infinity = (2 * (uint64_t)format->bias + 1) << format->fraction;
    uint64_t sign = (uint64_t)1 << (8 * weft_dtype_size(format->real) - 1);
    weft_inst_id bits = as_integer(w, x), moved = add(w, bits, integer(w, sign - least));
    return less(w, integer(w, infinity - least - 1 + sign), moved);
}

/* Whether x is anything but positive, normal and finite. */
static weft_inst_id is_unusual(const writer *w, weft_inst_id x)
{
    return weft_math_is_outside(w, x, (uint64_t)1 << w->format->fraction);
}

enum { ORIGIN = 1 << 11 }; /* no exponent of a double is below it */

/* The exponent of a double, in `moved`, as a number: integers of 64 bits are not converted by AVX2. */
static weft_inst_id double_exponent(const writer *w, weft_inst_id moved)
{
    weft_inst_id exponent = shift_right(w, moved, w->format->fraction);
    exponent = as_real(w, binary(w, WEFT_SCALAR_or, exponent, as_integer(w, real(w, 0x1p52))));
    return sub(w, exponent, real(w, 0x1p52 + ORIGIN));
}

static weft_inst_id exponent_of(const writer *w, weft_inst_id moved)
{
    if (w->number == MATH_F64) return double_exponent(w, moved);
    weft_inst_id place = integer(w, w->format->fraction);
    return given(w, WEFT_SCALAR_cast, WEFT_F32, binary(w, WEFT_SCALAR_sar, moved, place));
}

weft_inst_id weft_math_exponent(const writer *w, const math_split *split)
{
    return exponent_of(w, split->beyond);
}

math_split weft_math_split(const writer *w, weft_inst_id x, uint64_t least)
{
    const math_format *format = w->format;
    unsigned fraction = format->fraction;
    uint64_t origin = w->number == MATH_F32 ? 0 : ORIGIN, significand = ((uint64_t)1 << fraction) - 1;
    uint64_t start = least - (origin << fraction);
    math_split split = {.unusual = is_unusual(w, x)};
    weft_inst_id a = absolute(w, x), tiny = less(w, a, real(w, format->smallest_normal));
    weft_inst_id lifted = as_integer(w, mul(w, a, real(w, (double)((uint64_t)1 << fraction))));
    lifted = sub(w, lifted, integer(w, (uint64_t)fraction << fraction));
    weft_inst_id bits = as_integer(w, x), of_unusual = choose(w, tiny, lifted, as_integer(w, a));
    bits = rarely(w, split.unusual, of_unusual, bits);
    weft_inst_id moved = split.beyond = sub(w, bits, integer(w, start));
    if (w->number == MATH_F32) {
        weft_inst_id exponent = mask(w, moved, UINT32_MAX - significand);
        split.m = as_real(w, sub(w, bits, exponent));
        split.scaled_k = given(w, WEFT_SCALAR_cast, WEFT_F32, exponent);
    } else {
        split.m = as_real(w, plus_bits(w, mask(w, moved, significand), least));
        split.scaled_k = double_exponent(w, moved);
    }
    return split;
}

/* `usual` with the special values of a logarithm: infinity and NaN are their own, of zero it is -infinity, of what is
 * below NaN. */
static weft_inst_id with_specials(const writer *w, weft_inst_id x, weft_inst_id unusual, weft_inst_id usual)
{
    weft_inst_id result = choose(w, less(w, x, real(w, HUGE_VAL)), usual, x);
    weft_inst_id zero = real(w, 0.0), negative = less(w, x, zero);
    weft_inst_id outside = choose_real(w, negative, (double)NAN, -HUGE_VAL);
    result = choose(w, binary(w, WEFT_SCALAR_le, x, zero), outside, result);
    return rarely(w, unusual, result, usual);
}

/* Of the exponent of a split. */
static double exponent_unit(const writer *w)
{
    return w->number == MATH_F32 ? 0x1p-23 : 1;
}

/* To a base: log(2), of which the first part times any exponent is exact, one over the logarithm of the base, and the
 * series ((log(1 + r) - r) / log(base)) / r^2. */
typedef struct base {
    double two_high, two_low, scale_high, scale_low;
    const double *terms;
    size_t count;
    uint32_t column; /* of the table of c, and of -log(c) after it */
} base;

/* Significands from 0x1.625p-1, where the table begins: rows with c = 1 reach as far as logarithms of size 1/8. */
static math_split split_at_row(const writer *w, weft_inst_id x)
{
    return weft_math_split(w, x, w->format->one - ((uint64_t)0x9db << (w->format->fraction - 12)));
}

/*
 * With c near 1 / m, r = c m - 1 is small, and log(x) is the sum of start = k log(2) - log(c) and log(1 + r). c is such
 * that -log(c) is nearly a number of few bits, so that start is exact, except for two_low. Next to 1 it is zero, and r
 * exact; elsewhere it is so much larger than r that roundings of what is added to it hardly matter.
 */
typedef struct reduced {
    weft_inst_id start, r;
} reduced;

static reduced take_apart(const writer *w, const math_split *split, const base *b)
{
    weft_table_id table = w->number == MATH_F32 ? WEFT_TABLE_single_inverse : WEFT_TABLE_double_inverse;
    weft_inst_id row = shift_right(w, split->beyond, w->format->fraction - 3);
    weft_inst_id c = look_up(w, table, b->column, row), minus_log = look_up(w, table, b->column + 1, row);
    reduced p = {.r = fma3(w, split->m, c, real(w, -1.0))};
    p.start = fma3(w, split->scaled_k, real(w, b->two_high * exponent_unit(w)), minus_log);
    return p;
}

/* `sum` and what of log(2) is not in `start`. */
static weft_inst_id add_low(const writer *w, const math_split *split, const base *b, weft_inst_id sum)
{
    return fma3(w, split->scaled_k, real(w, b->two_low * exponent_unit(w)), sum);
}

/* The terms of f64 are so many that a processor runs out of other work while one waits for the next. */
static weft_inst_id rest_of(const writer *w, weft_inst_id r, const base *b)
{
    return (w->number == MATH_F64 ? paired_polynomial : polynomial)(w, r, b->terms, b->count);
}

static const base natural[MATH_FORMATS] = {
    [MATH_F32] = {0x1.62e4p-1, 0x1.7f7d1cp-20, 1, 0, single_log, sizeof single_log / sizeof *single_log, 0},
    [MATH_F64] = {0x1.62e42fefa38p-1, 0x1.ef35793c7673p-45, 1, 0, double_log, sizeof double_log / sizeof *double_log,
                  0},
};

weft_inst_id weft_math_log(const writer *w, const weft_inst_id *x)
{
    const base *b = &natural[w->number];
    math_split split = split_at_row(w, x[0]);
    reduced p = take_apart(w, &split, b);
    weft_inst_id square = mul(w, p.r, p.r), rest = rest_of(w, p.r, b);
    weft_inst_id sum = fma3(w, square, rest, add_low(w, &split, b, p.r));
    return with_specials(w, x[0], split.unusual, add(w, p.start, sum));
}

/* Next to 1 the correction counts in full: it is added to what is less than r. */
static weft_inst_id corrected(const writer *w, weft_inst_id x, const math_split *split, weft_inst_id correction)
{
    const base *b = &natural[w->number];
    reduced p = take_apart(w, split, b);
    weft_inst_id square = mul(w, p.r, p.r), rest = rest_of(w, p.r, b);
    weft_inst_id low = fma3(w, square, rest, add_low(w, split, b, correction));
    return with_specials(w, x, split->unusual, add(w, p.start, add(w, p.r, low)));
}

weft_inst_id weft_math_log_corrected(const writer *w, weft_inst_id x, weft_inst_id more, weft_inst_id correction)
{
    math_split split = split_at_row(w, x);
    split.scaled_k = fma3(w, more, real(w, 1 / exponent_unit(w)), split.scaled_k);
    return corrected(w, x, &split, correction);
}

/* 1 + x is rounded; what that lost, relative to the sum, is the correction. */
weft_inst_id weft_math_log1p(const writer *w, const weft_inst_id *x)
{
    weft_inst_id one = real(w, 1.0), y = add(w, x[0], one), part = sub(w, y, x[0]), other = sub(w, y, part);
    weft_inst_id lost = sub(w, x[0], other), lost_too = sub(w, one, part);
    weft_inst_id correction = quotient(w, add(w, lost, lost_too), y);
    math_split split = split_at_row(w, y);
    weft_inst_id result = corrected(w, y, &split, correction);
    weft_inst_id limit = real(w, 0.25 * w->format->epsilon), tiny = less(w, absolute(w, x[0]), limit);
    return choose(w, tiny, x[0], result);
}

/* ---- logarithms of ratios ---- */

/* (atanh(sqrt(z)) / sqrt(z) - 1) / z on [0, 0.2005^2]: error 2^-28.3. */
static const double single_atanh[] = {0x1.5555b4p-2, 0x1.992a76p-3, 0x1.36f36p-3};

/* The same, error 2^-60.7. */
static const double double_atanh[] = {0x1.555555555554fp-2, 0x1.999999999c268p-3, 0x1.24924921d6ce1p-3,
                                      0x1.c71c749b4b37cp-4, 0x1.745c4839b7dcdp-4, 0x1.3b3614f80c19fp-4,
                                      0x1.0dc6272a4c734p-4, 0x1.1ba5cfea5fbp-4};

/* top = 2^k * scaled, where scaled / bottom = (1 + s) / (1 - s), |s| <= 0.2005; k as a float, power = 2^-k. */
typedef struct balanced {
    weft_inst_id k, scaled, power;
} balanced;

/* The difference of the bits is the binary logarithm of the ratio to 0.09, in steps of the last place. */
static balanced balance(const writer *w, weft_inst_id top, weft_inst_id bottom)
{
    unsigned fraction = w->format->fraction, origin = w->number == MATH_F32 ? 0 : ORIGIN;
    uint64_t unit = (uint64_t)1 << fraction, half = unit / 2;
    weft_inst_id octave = integer(w, half), least = sub(w, as_integer(w, bottom), octave);
    weft_inst_id moved = sub(w, as_integer(w, top), least);
    weft_inst_id bits = binary(w, WEFT_SCALAR_and, moved, integer(w, unit - 1)), whole = sub(w, moved, bits);
    balanced parts = {.scaled = as_real(w, add(w, bits, least))};
    if (origin != 0) moved = add(w, moved, integer(w, origin * unit));
    parts.k = exponent_of(w, moved);
    parts.power = as_real(w, sub(w, integer(w, w->format->one), whole));
    return parts;
}

/* (atanh(s) - s) / s^3, z = s^2 */
static weft_inst_id atanh_rest(const writer *w, weft_inst_id z)
{
    if (w->number == MATH_F32) return polynomial(w, z, single_atanh, sizeof single_atanh / sizeof *single_atanh);
    return polynomial(w, z, double_atanh, sizeof double_atanh / sizeof *double_atanh);
}

/*
 * With n = 2^-k top - bottom, which is exact, and d = 2^-k top + bottom it is k ln(2) / 2 + atanh(n / d). The quotient
 * lacks what n and d do, and its own rounding; one inverse serves all.
 */
weft_inst_id weft_math_half_log(const writer *w, const math_ratio *ratio)
{
    const math_exp_constants *c = &weft_math_exp_constants[w->number];
    balanced parts = balance(w, ratio->top, ratio->bottom);
    weft_inst_id n = sub(w, parts.scaled, ratio->bottom), twice = add(w, ratio->bottom, ratio->bottom),
                 d = add(w, twice, n);
    weft_inst_id low = mul(w, parts.power, ratio->top_low), n_low = sub(w, low, ratio->bottom_low);
    weft_inst_id d_low = add(w, low, ratio->bottom_low);
    d_low = add(w, sum_error(w, d, twice, n), d_low);
    weft_inst_id inverse = quotient(w, real(w, 1.0), d), s = mul(w, n, inverse), minus = negative_of(w, s);
    weft_inst_id left = fma3(w, minus, d, n);
    weft_inst_id s_low = mul(w, add(w, left, fma3(w, minus, d_low, n_low)), inverse);
    weft_inst_id sum = fma3(w, parts.k, real(w, 0.5 * c->ln2_high), s);
    weft_inst_id taken = fma3(w, parts.k, real(w, -0.5 * c->ln2_high), sum);
    weft_inst_id rest = sub(w, s, taken);
    rest = add(w, fma3(w, parts.k, real(w, 0.5 * c->ln2_low), rest), s_low);
    weft_inst_id z = mul(w, s, s), curve = atanh_rest(w, z);
    return add(w, sum, fma3(w, mul(w, s, z), curve, rest));
}

/* ---- other bases ---- */

static weft_inst_id to_base(const writer *w, weft_inst_id x, const base *b)
{
    math_split split = split_at_row(w, x);
    reduced p = take_apart(w, &split, b);
    weft_inst_id scale_low = real(w, b->scale_low), slope = fma3(w, rest_of(w, p.r, b), p.r, scale_low);
    weft_inst_id low = mul(w, slope, p.r);
    if (b->two_low != 0) low = add_low(w, &split, b, low);
    return with_specials(w, x, split.unusual, add(w, p.start, fma3(w, p.r, real(w, b->scale_high), low)));
}

weft_inst_id weft_math_log2(const writer *w, const weft_inst_id *x)
{
    static const base two[MATH_FORMATS] = {
        [MATH_F32] = {1, 0, 0x1.715476p+0, 0x1.4ae0cp-26, single_log2, sizeof single_log2 / sizeof *single_log2, 2},
        [MATH_F64] = {1, 0, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56, double_log2,
                      sizeof double_log2 / sizeof *double_log2, 2},
    };
    return to_base(w, x[0], &two[w->number]);
}

weft_inst_id weft_math_log10(const writer *w, const weft_inst_id *x)
{
    static const base ten[MATH_FORMATS] = {
        [MATH_F32] = {0x1.344p-2, 0x1.3509f8p-18, 0x1.bcb7b2p-2, -0x1.5b235ep-27, single_log10,
                      sizeof single_log10 / sizeof *single_log10, 4},
        [MATH_F64] = {0x1.34413509f8p-2, -0x1.80433b83b532ap-44, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57,
                      double_log10, sizeof double_log10 / sizeof *double_log10, 4},
    };
    return to_base(w, x[0], &ten[w->number]);
}
