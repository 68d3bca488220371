/* SPDX-License-Identifier: Apache-2.0 */
/* log */
#include "lib/loop/math_lower.h"

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

/* x = 2^k * m, sqrt(1/2) <= m < sqrt(2), for positive finite x; k as a float. */
static void split(const writer *w, weft_inst_id x, weft_inst_id *out_m, weft_inst_id *out_k)
{
    const math_format *format = w->format;
    double lift = (double)((uint64_t)1 << format->fraction), bias = lift + format->bias;
    weft_inst_id tiny = less(w, x, real(w, format->smallest_normal));
    x = mul(w, x, choose_real(w, tiny, lift, 1.0));
    weft_inst_id bits = as_integer(w, x);
    weft_inst_id moved = add(w, bits, integer(w, format->one - format->sqrt_half));
    weft_inst_id exponent = binary(w, WEFT_SCALAR_shr, moved, integer(w, format->fraction));
    exponent = as_real(w, binary(w, WEFT_SCALAR_or, exponent, as_integer(w, real(w, lift))));
    *out_k = sub(w, exponent, choose_real(w, tiny, bias + format->fraction, bias));
    weft_inst_id fraction = binary(w, WEFT_SCALAR_and, moved, integer(w, ((uint64_t)1 << format->fraction) - 1));
    *out_m = as_real(w, add(w, fraction, integer(w, format->sqrt_half)));
}

/* `result` with the special values of a logarithm: infinity and NaN are their own, of zero it is -infinity, of what is
 * below NaN. */
static weft_inst_id with_specials(const writer *w, weft_inst_id x, weft_inst_id result)
{
    result = choose(w, less(w, x, real(w, HUGE_VAL)), result, x);
    weft_inst_id zero = real(w, 0.0), negative = less(w, x, zero);
    weft_inst_id outside = choose_real(w, negative, (double)NAN, -HUGE_VAL);
    return choose(w, binary(w, WEFT_SCALAR_le, x, zero), outside, result);
}

/*
 * log(x) = k ln(2) + f + f^2 p(f), f = m - 1. The sum of k ln2_high (exact, larger than f or zero) and f is kept
 * together with its rounding error (Dekker's Fast2Sum), because for |k| = 1 it cancels.
 */
weft_inst_id weft_math_log(const writer *w, const weft_inst_id *x)
{
    const constants *c = &constants_of[w->number];
    weft_inst_id m, k;
    split(w, x[0], &m, &k);
    weft_inst_id f = sub(w, m, real(w, 1.0));
    weft_inst_id high = fma3(w, k, real(w, c->ln2_high), f);
    weft_inst_id taken = fma3(w, k, real(w, -c->ln2_high), high);
    weft_inst_id error = sub(w, f, taken);
    weft_inst_id low = fma3(w, k, real(w, c->ln2_low), error);
    weft_inst_id p = polynomial(w, f, c->series, c->count);
    low = fma3(w, p, mul(w, f, f), low);
    return with_specials(w, x[0], add(w, high, low));
}
