/* SPDX-License-Identifier: Apache-2.0 */
/* log, log2, log10, log1p */
#include "lib/math/lower.h"

typedef struct constants {
    double ln2_high, ln2_low; /* as of exp */
    const double *series;     /* (log(1 + f) - f) / f^2 */
    size_t count;
} constants;

/* (log(1 + f) - f) / f^2 on [sqrt(1/2) - 1, sqrt(2) - 1]: error 2^-27.8. */
static const double single_log[] = {-0x1.fffff8p-2, 0x1.55555p-2,   -0x1.00043p-2, 0x1.99a3dap-3, -0x1.5425f2p-3,
                                    0x1.22756p-3,   -0x1.0f46fap-3, 0x1.082c92p-3, -0x1.3794f8p-4};

/* The same, error 2^-56.6. */
static const double double_log[] = {
    -0x1.0000000000003p-1, 0x1.5555555555521p-2,  -0x1.fffffffffdedep-3, 0x1.99999999a0dfap-3,  -0x1.55555556e24a7p-3,
    0x1.2492492281972p-3,  -0x1.fffffef6fe6c4p-4, 0x1.c71c71c1a67dp-4,   -0x1.9999c8ee07304p-4, 0x1.745d4792ec754p-4,
    -0x1.5550788a02a02p-4, 0x1.3b0aa10ca81dcp-4,  -0x1.24dbf23082a63p-4, 0x1.11d9987299bd4p-4,  -0x1.fb76baabb8408p-5,
    0x1.cfaa7a676b4b5p-5,  -0x1.d124e50dd817ap-5, 0x1.0b55743120c41p-4,  -0x1.ebd0089183e32p-5, 0x1.accf2924f17bp-6};

static const constants constants_of[MATH_FORMATS] = {
    [MATH_F32] = {.ln2_high = 0x1.62e4p-1,
                  .ln2_low = 0x1.7f7d1cp-20,
                  .series = single_log,
                  .count = sizeof single_log / sizeof *single_log},
    [MATH_F64] = {.ln2_high = 0x1.62e42fefa38p-1,
                  .ln2_low = 0x1.ef35793c7673p-45,
                  .series = double_log,
                  .count = sizeof double_log / sizeof *double_log},
};

/* Whether x is anything but positive, normal and finite: a comparison of integers as if they had no sign. */
static weft_inst_id is_unusual(const writer *w, weft_inst_id x)
{
    const math_format *format = w->format;
    uint64_t least = (uint64_t)1 << format->fraction, infinity = (2 * (uint64_t)format->bias + 1) << format->fraction;
    uint64_t sign = (uint64_t)1 << (8 * weft_dtype_size(format->real) - 1);
    weft_inst_id bits = as_integer(w, x), moved = add(w, bits, integer(w, sign - least));
    return less(w, integer(w, infinity - least - 1 + sign), moved);
}

/* The exponent of |x| in `moved`, as a number: integers of 64 bits are not converted by AVX2. */
static weft_inst_id exponent_of(const writer *w, weft_inst_id moved, unsigned origin)
{
    weft_inst_id place = integer(w, w->format->fraction);
    if (w->number == MATH_F32) return given(w, WEFT_SCALAR_cast, WEFT_F32, binary(w, WEFT_SCALAR_sar, moved, place));
    double unit = (double)((uint64_t)1 << w->format->fraction);
    weft_inst_id exponent = binary(w, WEFT_SCALAR_shr, moved, place);
    exponent = as_real(w, binary(w, WEFT_SCALAR_or, exponent, as_integer(w, real(w, unit))));
    return sub(w, exponent, real(w, unit + origin));
}

math_split weft_math_split(const writer *w, weft_inst_id x)
{
    const math_format *format = w->format;
    unsigned fraction = format->fraction, origin = w->number == MATH_F32 ? 0 : 1 << 11; /* no exponent is below it */
    uint64_t start = format->sqrt_half - ((uint64_t)origin << fraction);
    math_split split = {.unusual = is_unusual(w, x)};
    weft_inst_id a = absolute(w, x), tiny = less(w, a, real(w, format->smallest_normal)), first = integer(w, start);
    weft_inst_id lifted = mul(w, a, choose_real(w, tiny, (double)((uint64_t)1 << fraction), 1.0));
    weft_inst_id later = integer(w, start + ((uint64_t)fraction << fraction));
    later = choose(w, tiny, later, first);
    weft_inst_id normal = rarely(w, split.unusual, lifted, x);
    first = rarely(w, split.unusual, later, first);
    weft_inst_id moved = sub(w, as_integer(w, normal), first);
    split.k = exponent_of(w, moved, origin);
    weft_inst_id bits = binary(w, WEFT_SCALAR_and, moved, integer(w, ((uint64_t)1 << fraction) - 1));
    split.m = as_real(w, add(w, bits, integer(w, format->sqrt_half)));
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

/*
 * log(x) = k ln(2) + f + f^2 p, f = m - 1, p = p(f). The sum of k ln2_high (exact, larger than f or zero) and f is kept
 * together with its rounding error (Dekker's Fast2Sum), because for |k| = 1 it cancels.
 */
static weft_inst_id natural(const writer *w, weft_inst_id f, weft_inst_id k, weft_inst_id p, weft_inst_id *out_low)
{
    const constants *c = &constants_of[w->number];
    weft_inst_id high = fma3(w, k, real(w, c->ln2_high), f);
    weft_inst_id taken = fma3(w, k, real(w, -c->ln2_high), high);
    weft_inst_id error = sub(w, f, taken);
    weft_inst_id low = fma3(w, k, real(w, c->ln2_low), error);
    *out_low = fma3(w, p, mul(w, f, f), low);
    return high;
}

/* The terms of f64 are so many that a processor runs out of other work while one waits for the next. */
static weft_inst_id long_series(const writer *w, weft_inst_id f, const double *coefficients, size_t count)
{
    return (w->number == MATH_F64 ? paired_polynomial : polynomial)(w, f, coefficients, count);
}

weft_inst_id weft_math_log(const writer *w, const weft_inst_id *x)
{
    const constants *c = &constants_of[w->number];
    math_split split = weft_math_split(w, x[0]);
    weft_inst_id f = sub(w, split.m, real(w, 1.0)), low;
    weft_inst_id high = natural(w, f, split.k, long_series(w, f, c->series, c->count), &low);
    return with_specials(w, x[0], split.unusual, add(w, high, low));
}

/* With the correction there is no room for the errors that pairs of large terms add. */
weft_inst_id weft_math_log_corrected(const writer *w, weft_inst_id x, weft_inst_id more, weft_inst_id correction)
{
    const constants *c = &constants_of[w->number];
    math_split split = weft_math_split(w, x);
    weft_inst_id f = sub(w, split.m, real(w, 1.0)), p = long_series(w, f, c->series + 2, c->count - 2), low;
    for (size_t i = 2; i > 0; i--) p = fma3(w, p, f, real(w, c->series[i - 1]));
    weft_inst_id high = natural(w, f, add(w, split.k, more), p, &low);
    return with_specials(w, x, split.unusual, add(w, high, add(w, low, correction)));
}

/* 1 + x is rounded; what that lost, relative to the sum, is the correction. */
weft_inst_id weft_math_log1p(const writer *w, const weft_inst_id *x)
{
    weft_inst_id one = real(w, 1.0), y = add(w, x[0], one), part = sub(w, y, x[0]), other = sub(w, y, part);
    weft_inst_id lost = sub(w, x[0], other), lost_too = sub(w, one, part);
    weft_inst_id correction = quotient(w, add(w, lost, lost_too), y);
    weft_inst_id result = weft_math_log_corrected(w, y, real(w, 0.0), correction);
    weft_inst_id tiny = less(w, absolute(w, x[0]), real(w, 0.25 * w->format->epsilon));
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
    unsigned fraction = w->format->fraction, origin = w->number == MATH_F32 ? 0 : 1 << 11;
    uint64_t unit = (uint64_t)1 << fraction, half = unit / 2;
    weft_inst_id least = sub(w, as_integer(w, bottom), integer(w, half));
    weft_inst_id moved = sub(w, as_integer(w, top), least);
    weft_inst_id bits = binary(w, WEFT_SCALAR_and, moved, integer(w, unit - 1)), whole = sub(w, moved, bits);
    balanced parts = {.scaled = as_real(w, add(w, bits, least))};
    if (origin != 0) moved = add(w, moved, integer(w, origin * unit));
    parts.k = exponent_of(w, moved, origin);
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
    const constants *c = &constants_of[w->number];
    balanced parts = balance(w, ratio->top, ratio->bottom);
    weft_inst_id n = sub(w, parts.scaled, ratio->bottom), twice = add(w, ratio->bottom, ratio->bottom),
                 d = add(w, twice, n);
    weft_inst_id low = mul(w, parts.power, ratio->top_low), n_low = sub(w, low, ratio->bottom_low);
    weft_inst_id d_low = add(w, sum_error(w, d, twice, n), add(w, low, ratio->bottom_low));
    weft_inst_id inverse = quotient(w, real(w, 1.0), d), s = mul(w, n, inverse), minus = negative_of(w, s);
    weft_inst_id left = fma3(w, minus, d, n);
    weft_inst_id s_low = mul(w, add(w, left, fma3(w, minus, d_low, n_low)), inverse);
    weft_inst_id sum = fma3(w, parts.k, real(w, 0.5 * c->ln2_high), s);
    weft_inst_id taken = fma3(w, parts.k, real(w, -0.5 * c->ln2_high), sum);
    weft_inst_id rest = add(w, fma3(w, parts.k, real(w, 0.5 * c->ln2_low), sub(w, s, taken)), s_low), z = mul(w, s, s);
    return add(w, sum, fma3(w, mul(w, s, z), atanh_rest(w, z), rest));
}

/* ---- other bases ---- */

/* (log2(1 + f) - f / log(2)) / f^2 on the same interval: error 2^-27.7. */
static const double single_log2[] = {-0x1.71547p-1, 0x1.ec7092p-2,  -0x1.715afcp-2, 0x1.277fep-2,  -0x1.eaa43cp-3,
                                     0x1.a2af4cp-3, -0x1.87c40cp-3, 0x1.7fd478p-3,  -0x1.c693c6p-4};

/* The same, error 2^-56.8. */
static const double double_log2[] = {
    -0x1.71547652b8303p-1, 0x1.ec709dc3a03acp-2,  -0x1.71547652b69b8p-2, 0x1.2776c50eff529p-2,  -0x1.ec709dc5ef99cp-3,
    0x1.a61762a47fc6ep-3,  -0x1.7154758f841cap-3, 0x1.484b13db3004fp-3,  -0x1.2776e7b5c9904p-3, 0x1.0c9aa6eee6c3bp-3,
    -0x1.ec69859fd7a17p-4, 0x1.c68248d36dc8p-4,   -0x1.a682a07ce33aep-4, 0x1.8b154edce8439p-4,  -0x1.6e07b42164df9p-4,
    0x1.4e712ee586ea8p-4,  -0x1.4fa33505e01b4p-4, 0x1.81ce5d3c5d7c1p-4,  -0x1.629b1b7b1168ep-4, 0x1.34dc0fd29327fp-5};

/* (log10(1 + f) - f / log(10)) / f^2 on the same interval: error 2^-27.7. */
static const double single_log10[] = {-0x1.bcb7aap-3, 0x1.287a7p-3, -0x1.bcbf46p-4, 0x1.63d076p-4, -0x1.276cb8p-4,
                                      0x1.f84d36p-5,  -0x1.d75ap-5, 0x1.ccd9fap-5,  -0x1.10ecbep-5};

/* The same, error 2^-55.8. */
static const double double_log10[] = {
    -0x1.bcb7b1526e513p-3, 0x1.287a7636f4331p-3,  -0x1.bcb7b1526c847p-4, 0x1.63c627752b5eep-4,  -0x1.287a76384d00ep-4,
    0x1.fc3fa61179ec5p-5,  -0x1.bcb7b06c3fdefp-5, 0x1.8b4df2ef32081p-5,  -0x1.63c650915727ap-5, 0x1.436e7c5eb07adp-5,
    -0x1.28763d0008b4p-5,  0x1.11a43f116f11ap-5,  -0x1.fcbf9c20a25fdp-6, 0x1.dbb9e4a25cac4p-6,  -0x1.b8c70690e10b4p-6,
    0x1.92bc302984876p-6,  -0x1.9404e06a0427ap-6, 0x1.d06808c76ddadp-6,  -0x1.ab2eda9dd9a0bp-6, 0x1.74757e3be5681p-7};

/* One over the logarithm of the base, and log(2) to the base, each as a sum. */
typedef struct base {
    double scale_high, scale_low;
    double two_high, two_low; /* two_high times any exponent is exact */
    const double *series;     /* as many terms as that of log */
} base;

/*
 * log(x) / log(base) = k log(2) / log(base) + f / log(base) + f^2 p(f). The sum of the first two is kept together with
 * its rounding error; the product is rounded before it is added, for the difference with `start` to be exact.
 */
static weft_inst_id to_base(const writer *w, weft_inst_id x, const base *b)
{
    math_split split = weft_math_split(w, x);
    weft_inst_id f = sub(w, split.m, real(w, 1.0)), scale = real(w, b->scale_high);
    weft_inst_id p = long_series(w, f, b->series, constants_of[w->number].count);
    weft_inst_id start = mul(w, split.k, real(w, b->two_high)), high = add(w, start, mul(w, f, scale));
    weft_inst_id gap = sub(w, start, high), low = fma3(w, f, scale, gap);
    if (b->two_low != 0) low = fma3(w, split.k, real(w, b->two_low), low);
    low = fma3(w, f, real(w, b->scale_low), low);
    low = fma3(w, mul(w, f, f), p, low);
    return with_specials(w, x, split.unusual, add(w, high, low));
}

weft_inst_id weft_math_log2(const writer *w, const weft_inst_id *x)
{
    static const base two[MATH_FORMATS] = {
        [MATH_F32] = {0x1.715476p+0, 0x1.4ae0cp-26, 1.0, 0.0, single_log2},
        [MATH_F64] = {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56, 1.0, 0.0, double_log2},
    };
    return to_base(w, x[0], &two[w->number]);
}

weft_inst_id weft_math_log10(const writer *w, const weft_inst_id *x)
{
    static const base ten[MATH_FORMATS] = {
        [MATH_F32] = {0x1.bcb7b2p-2, -0x1.5b235ep-27, 0x1.344p-2, 0x1.3509f8p-18, single_log10},
        [MATH_F64] = {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57, 0x1.34413509f8p-2, -0x1.80433b83b532ap-44,
                      double_log10},
    };
    return to_base(w, x[0], &ten[w->number]);
}
