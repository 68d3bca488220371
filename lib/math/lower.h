/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_MATH_LOWER_H
#define WEFT_LIB_MATH_LOWER_H
/* The lowerings, one function for each function of math.def, and what they share. */
#include "lib/math/write.h"

/* From the operands of the operation to its value. */
typedef weft_inst_id weft_math_lowering(const writer *w, const weft_inst_id *x);

#define WEFT_MATH(name, dtype, ulp) weft_math_lowering weft_math_##name;
#define WEFT_MATH_EMITTED(name, dtype, ulp)
#define WEFT_MATH_FAST(name, dtype, ulp) weft_math_lowering weft_math_fast_##name;
#include "lib/math/math.def"
#undef WEFT_MATH
#undef WEFT_MATH_EMITTED

/* ---- of exact.c ---- */
weft_math_lowering weft_math_sign, weft_math_copysign, weft_math_is_nan, weft_math_is_finite, weft_math_shift_left,
    weft_math_shift_right;

/* ---- of power.c ---- */

/* Whether the power x[0]^x[1] of integers has a constant exponent of 1 to 64; *out_power is then its product. */
bool weft_math_find_integer_power(const writer *w, const weft_inst_id *x, weft_inst_id *out_power);

/* ---- of exp.c ---- */

/* exp(r) on |r| <= 0.3467: coefficients, constant first; 1 and r have the coefficient 1. */
typedef struct math_exp_constants {
    double log2_e, ln2, ln2_rest; /* ln2 is of 21 bits in f32: any exponent times it less a number nearby is exact */
    double ln2_high, ln2_low;     /* ln2_high times any exponent is exact; the sum is ln(2) */
    double least, most;           /* beyond them exp is 0 and infinity */
    double least_expm1;           /* beyond it exp(x) - 1 is -1 */
    double most_expm1;            /* beyond it it is a matter of a branch */
    double most_sigmoid;          /* beyond it 1 / (1 + exp(-x)) is 1 */
    const double *series;
    size_t count;
} math_exp_constants;

enum { MATH_MOST_EXP = 12 };
extern const math_exp_constants weft_math_exp_constants[MATH_FORMATS];

/*
 * x * scale rounded to an integer n; *out_shifted has n + shift in the low bits of its significand: a number of the
 * size of 1.5 * 2^fraction has no bits below one.
 */
weft_inst_id weft_math_round_scaled(const writer *w, weft_inst_id x, double scale, int shift,
                                    weft_inst_id *out_shifted);
/* The power of two whose biased exponent is in the low bits of the integer `exponent`. */
weft_inst_id weft_math_power(const writer *w, weft_inst_id exponent);
/* `significand` * 2^n, rounded once; `shifted` is of weft_math_round_scaled with a shift of twice the bias. What is
 * half scaled must be normal, as must the factor. */
weft_inst_id weft_math_scale(const writer *w, weft_inst_id significand, weft_inst_id shifted);

/*
 * x = n ln(2) + high + low, `shifted` as of weft_math_round_scaled. Of floats there is no low: high is rounded once,
 * and for n of -1 and 1 nearly not at all. From 3/4 to 3/2 is what exp(high) is, nearly: were it less, what a sum with
 * its rounding error leaves next to 0.4 would be a place of the result.
 */
typedef struct math_reduced {
    weft_inst_id high, low, shifted;
} math_reduced;

math_reduced weft_math_reduce(const writer *w, weft_inst_id x, int shift);

/* 2^r on |r| <= 1/2; beyond least and most 2^x is 0 and infinity. */
typedef struct math_exp2_constants {
    double least, most;
    const double *series;
    size_t count;
} math_exp2_constants;

extern const math_exp2_constants weft_math_exp2_constants[MATH_FORMATS];

/* ---- of log.c ---- */
/* |x| = 2^k * m, where m is at least the number with the bits `least` and less than twice that, for finite x that is
 * not zero. The bits of the fraction of `beyond` are how far m is from `least`; scaled_k is k, of floats 2^23 k.
 * `unusual` is whether x is anything but positive, normal and finite, for `rarely`. */
typedef struct math_split {
    weft_inst_id m, beyond, scaled_k, unusual;
} math_split;

/* Whether x is anything but finite and positive, with the bits `least` or more: a comparison of integers as if they had
 * no sign. */
weft_inst_id weft_math_is_outside(const writer *w, weft_inst_id x, uint64_t least);

math_split weft_math_split(const writer *w, weft_inst_id x, uint64_t least);
/* k as a float. */
weft_inst_id weft_math_exponent(const writer *w, const math_split *split);
/* log(2^more * x * (1 + correction)) for positive finite x and a correction of a few units of the last place. */
weft_inst_id weft_math_log_corrected(const writer *w, weft_inst_id x, weft_inst_id more, weft_inst_id correction);

/* (top + top_low) / (bottom + bottom_low): numbers of [2^-53, 2], and what they lack. */
typedef struct math_ratio {
    weft_inst_id top, top_low, bottom, bottom_low;
} math_ratio;

/* Half the logarithm of a ratio, which may be as near to 1 as numbers come to 0. */
weft_inst_id weft_math_half_log(const writer *w, const math_ratio *ratio);
#endif
