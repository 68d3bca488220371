/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_LOOP_MATH_LOWER_H
#define WEFT_LIB_LOOP_MATH_LOWER_H
/* The lowerings, one function for each function of math.def, and what they share. */
#include "lib/loop/math_write.h"

/* From the operands of the operation to its value. */
typedef weft_inst_id weft_math_lowering(const writer *w, const weft_inst_id *x);

#define WEFT_MATH(name, dtype, ulp) weft_math_lowering weft_math_##name;
#include "lib/loop/math.def"
#undef WEFT_MATH

/* ---- of math_exp.c ---- */

/* exp(r) on |r| <= 0.3467: coefficients, constant first; 1 and r have the coefficient 1. */
typedef struct math_exp_constants {
    double log2_e, ln2;
    double ln2_high, ln2_low; /* ln2_high times any exponent is exact; the sum is ln(2) */
    double least, most;       /* beyond them exp is 0 and infinity */
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
#endif
