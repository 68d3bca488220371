/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_MATH_COMPLEX_WRITE_H
#define WEFT_LIB_MATH_COMPLEX_WRITE_H
/* Notation of the expansions of complex numbers; only complex*.c include this. */
#include "lib/math/write.h"

typedef struct pair {
    weft_inst_id re, im;
} pair;

/*
 * A function of one or two complex numbers, in f64. `scaled`: the operands were of c128, so that squares and powers may
 * leave the range; parts of c64 are far from its limits.
 */
typedef pair weft_complex_function(const writer *w, pair a, pair b, bool scaled);

/* Unary ones read `a`. Of complex_math.c: */
weft_complex_function weft_complex_exp, weft_complex_log, weft_complex_log2, weft_complex_log10, weft_complex_log1p,
    weft_complex_pow, weft_complex_sinh, weft_complex_cosh, weft_complex_tanh, weft_complex_sin, weft_complex_cos,
    weft_complex_tan;
/* log(|z|) */
weft_inst_id weft_complex_log_of_size(const writer *w, pair z, bool scaled);
/* Of complex_inverse.c: */
weft_complex_function weft_complex_asin, weft_complex_acos, weft_complex_atan, weft_complex_asinh, weft_complex_acosh,
    weft_complex_atanh;

static inline pair choose_pair(const writer *w, weft_inst_id condition, pair yes, pair no)
{
    weft_inst_id re = choose(w, condition, yes.re, no.re);
    return (pair){re, choose(w, condition, yes.im, no.im)};
}

static inline weft_inst_id either(const writer *w, weft_inst_id a, weft_inst_id b)
{
    return binary(w, WEFT_SCALAR_or, a, b);
}

static inline weft_inst_id is_infinite(const writer *w, weft_inst_id size)
{
    return binary(w, WEFT_SCALAR_eq, size, real(w, HUGE_VAL));
}

/* ---- scaling by powers of two, in f64 ---- */

/* The biased exponent of the greater part, 0 to 2047. */
static inline weft_inst_id greatest_exponent(const writer *w, pair z)
{
    weft_inst_id a = as_integer(w, absolute(w, z.re)), b = as_integer(w, absolute(w, z.im));
    weft_inst_id count = integer(w, w->format->fraction);
    return binary(w, WEFT_SCALAR_shr, binary(w, WEFT_SCALAR_max, a, b), count);
}

/* The same from 1 to 2045: what divides both parts into numbers around one. */
static inline weft_inst_id exponent_of(const writer *w, pair z)
{
    weft_inst_id most = integer(w, 2045), exponent = binary(w, WEFT_SCALAR_min, greatest_exponent(w, z), most);
    return binary(w, WEFT_SCALAR_max, exponent, integer(w, 1));
}

/* The power of two with a biased exponent. */
static inline weft_inst_id power(const writer *w, weft_inst_id exponent)
{
    return as_real(w, binary(w, WEFT_SCALAR_shl, exponent, integer(w, w->format->fraction)));
}

static inline pair scale(const writer *w, pair z, weft_inst_id factor)
{
    weft_inst_id re = mul(w, z.re, factor);
    return (pair){re, mul(w, z.im, factor)};
}

/* z divided by the power of two with the biased exponent. */
static inline pair reduce(const writer *w, pair z, weft_inst_id exponent)
{
    return scale(w, z, power(w, sub(w, integer(w, 2 * (uint64_t)w->format->bias), exponent)));
}

/* ---- formulas of both files ---- */

/* Infinite where a part is, even beside a NaN. */
static inline weft_inst_id or_infinite(const writer *w, pair z, weft_inst_id size)
{
    weft_inst_id re = is_infinite(w, absolute(w, z.re));
    weft_inst_id infinite = either(w, re, is_infinite(w, absolute(w, z.im)));
    return choose(w, infinite, real(w, HUGE_VAL), size);
}

static inline pair multiply(const writer *w, pair a, pair b)
{
    weft_inst_id bd = mul(w, a.im, b.im), bc = mul(w, a.im, b.re);
    weft_inst_id re = sub(w, mul(w, a.re, b.re), bd);
    return (pair){re, add(w, mul(w, a.re, b.im), bc)};
}

static inline pair times_i(const writer *w, pair z)
{
    return (pair){negative_of(w, z.im), z.re};
}

static inline pair over_i(const writer *w, pair z)
{
    return (pair){z.im, negative_of(w, z.re)};
}
#endif
