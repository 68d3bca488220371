/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_MATH_WRITE_H
#define WEFT_LIB_MATH_WRITE_H
/*
 * The notation of the math lowerings; only files of this folder include this. Of the arguments of a call at most one
 * emits code, for their order is the C compiler's choice (test/math/expansions.c).
 */
#include "lib/loop/inst.h"
#include <math.h>
#include <string.h>

/* What a lowering has to know of a float format. */
typedef struct math_format {
    weft_dtype real, integer; /* of one size */
    unsigned fraction;        /* stored bits of the significand */
    int bias;
    double smallest_normal, epsilon;
    uint64_t one, sqrt_half; /* bits of these numbers */
} math_format;

/* Numbers of the formats; tables of constants go by them too. */
enum { MATH_F32, MATH_F64, MATH_FORMATS };
extern const math_format weft_math_formats[MATH_FORMATS];

/* Where the code goes, and for which dtype of operands. */
typedef struct writer {
    weft_inst_list *list;
    weft_dtype dtype;
    unsigned number;           /* MATH_F32 or MATH_F64 */
    const math_format *format; /* NULL for dtypes that are not one of the two */
} writer;

static inline weft_inst_id constant(const writer *w, weft_dtype dtype, uint64_t bits)
{
    weft_inst inst = {.op = WEFT_SCALAR_const, .dtype = dtype, .bits = bits};
    return weft_inst_list_add(w->list, &inst);
}

static inline weft_inst_id real(const writer *w, double value)
{
    uint64_t bits = 0;
    float single = (float)value;
    if (w->format->real == WEFT_F32) memcpy(&bits, &single, sizeof single);
    else memcpy(&bits, &value, sizeof value);
    return constant(w, w->format->real, bits);
}

/* A constant of the integers of the format's size. */
static inline weft_inst_id integer(const writer *w, uint64_t bits)
{
    return constant(w, w->format->integer, bits);
}

static inline weft_inst_id unary(const writer *w, weft_scalar_op op, weft_inst_id a)
{
    return weft_inst_list_apply(w->list, op, 1, &a);
}

static inline weft_inst_id binary(const writer *w, weft_scalar_op op, weft_inst_id a, weft_inst_id b)
{
    return weft_inst_list_apply(w->list, op, 2, (weft_inst_id[]){a, b});
}

static inline weft_inst_id add(const writer *w, weft_inst_id a, weft_inst_id b)
{
    return binary(w, WEFT_SCALAR_add, a, b);
}

static inline weft_inst_id sub(const writer *w, weft_inst_id a, weft_inst_id b)
{
    return binary(w, WEFT_SCALAR_sub, a, b);
}

static inline weft_inst_id mul(const writer *w, weft_inst_id a, weft_inst_id b)
{
    return binary(w, WEFT_SCALAR_mul, a, b);
}

static inline weft_inst_id quotient(const writer *w, weft_inst_id a, weft_inst_id b)
{
    return binary(w, WEFT_SCALAR_div, a, b);
}

static inline weft_inst_id less(const writer *w, weft_inst_id a, weft_inst_id b)
{
    return binary(w, WEFT_SCALAR_lt, a, b);
}

static inline weft_inst_id absolute(const writer *w, weft_inst_id a)
{
    return unary(w, WEFT_SCALAR_abs, a);
}

/* a * b + c */
static inline weft_inst_id fma3(const writer *w, weft_inst_id a, weft_inst_id b, weft_inst_id c)
{
    return weft_inst_list_apply(w->list, WEFT_SCALAR_fma, 3, (weft_inst_id[]){a, b, c});
}

static inline weft_inst_id choose(const writer *w, weft_inst_id condition, weft_inst_id yes, weft_inst_id no)
{
    return weft_inst_list_apply(w->list, WEFT_SCALAR_select, 3, (weft_inst_id[]){condition, yes, no});
}

/* The same, where the condition seldom holds, and `yes` takes much that nothing else needs. */
static inline weft_inst_id rarely(const writer *w, weft_inst_id condition, weft_inst_id yes, weft_inst_id no)
{
    return weft_inst_list_apply(w->list, WEFT_SCALAR_rarely, 3, (weft_inst_id[]){condition, yes, no});
}

static inline weft_inst_id choose_real(const writer *w, weft_inst_id condition, double yes, double no)
{
    weft_inst_id first = real(w, yes);
    return choose(w, condition, first, real(w, no));
}

static inline weft_inst_id given(const writer *w, weft_scalar_op op, weft_dtype dtype, weft_inst_id a)
{
    weft_inst inst = {.op = op, .dtype = dtype, .arg_count = 1, .args = {a}};
    return weft_inst_list_add(w->list, &inst);
}

static inline weft_inst_id as_integer(const writer *w, weft_inst_id a)
{
    return given(w, WEFT_SCALAR_bitcast, w->format->integer, a);
}

static inline weft_inst_id as_real(const writer *w, weft_inst_id a)
{
    return given(w, WEFT_SCALAR_bitcast, w->format->real, a);
}

/* The sum of coefficients[i] * x^i. */
static inline weft_inst_id polynomial(const writer *w, weft_inst_id x, const double *coefficients, size_t count)
{
    weft_inst_id sum = real(w, coefficients[count - 1]);
    for (size_t i = count - 1; i > 0; i--) sum = fma3(w, sum, x, real(w, coefficients[i - 1]));
    return sum;
}

/* The same of many terms in fewer steps that wait for each other: all but the first two terms in pairs, which are the
 * coefficients of powers of x^2. It takes one product more. */
static inline weft_inst_id paired_polynomial(const writer *w, weft_inst_id x, const double *coefficients, size_t count)
{
    weft_inst_id square = mul(w, x, x), sum = real(w, coefficients[count - 1]);
    size_t left = count - 1;
    if (count % 2 == 0) sum = fma3(w, sum, x, real(w, coefficients[--left]));
    for (; left > 2; left -= 2) {
        weft_inst_id odd = real(w, coefficients[left - 1]);
        sum = fma3(w, sum, square, fma3(w, odd, x, real(w, coefficients[left - 2])));
    }
    sum = fma3(w, sum, x, real(w, coefficients[1]));
    return fma3(w, sum, x, real(w, coefficients[0]));
}

static inline weft_inst_id negative_of(const writer *w, weft_inst_id a)
{
    return unary(w, WEFT_SCALAR_neg, a);
}

/* The rounding error of `sum` = a + b for |a| >= |b| (Dekker's Fast2Sum). */
static inline weft_inst_id sum_error(const writer *w, weft_inst_id sum, weft_inst_id a, weft_inst_id b)
{
    return add(w, sub(w, a, sum), b);
}

/* The rounding error of `product` = a * b. */
static inline weft_inst_id product_error(const writer *w, weft_inst_id product, weft_inst_id a, weft_inst_id b)
{
    return fma3(w, a, b, negative_of(w, product));
}

/* The smaller of x and `most`, NaN for NaN: the form that is one instruction of x86. */
static inline weft_inst_id at_most(const writer *w, weft_inst_id x, double most)
{
    weft_inst_id limit = real(w, most);
    return choose(w, less(w, limit, x), limit, x);
}

static inline weft_inst_id at_least(const writer *w, weft_inst_id x, double least)
{
    weft_inst_id limit = real(w, least);
    return choose(w, less(w, x, limit), limit, x);
}

/* x, with one NaN for all: which of several NaNs an addition returns depends on the order of its operands. */
static inline weft_inst_id one_nan(const writer *w, weft_inst_id x)
{
    weft_inst_id ordered = binary(w, WEFT_SCALAR_eq, x, x);
    return choose(w, ordered, x, real(w, (double)NAN));
}

/* The magnitude of `result`, which is not negative, with the sign of x. */
static inline weft_inst_id with_sign(const writer *w, weft_inst_id result, weft_inst_id x)
{
    weft_inst_id bits = as_integer(w, x), sign_bit = as_integer(w, real(w, -0.0));
    weft_inst_id sign = binary(w, WEFT_SCALAR_and, bits, sign_bit);
    return as_real(w, binary(w, WEFT_SCALAR_or, as_integer(w, result), sign));
}

/*
 * Bits read as an integer are nearly a logarithm, so constants less those of a number are powers of it, nearly: good
 * enough for what a result lacks. The constants are those that make the largest errors least: 1/19 and 1/29. Numbers
 * must be normal, and so must be the results.
 */
static inline weft_inst_id rough_power(const writer *w, weft_inst_id x, unsigned shift, double exponent)
{
    weft_inst_id count = integer(w, shift), bits = binary(w, WEFT_SCALAR_shr, as_integer(w, x), count);
    return as_real(w, sub(w, integer(w, (uint64_t)ldexp(exponent, (int)w->format->fraction)), bits));
}

/* 1 / x */
static inline weft_inst_id rough_inverse(const writer *w, weft_inst_id x)
{
    return rough_power(w, x, 0, 2 * w->format->bias - 0x1.9dbp-4);
}

/* 1 / (2 sqrt(x)) */
static inline weft_inst_id half_inverse_root(const writer *w, weft_inst_id x)
{
    return rough_power(w, x, 1, 1.5 * w->format->bias - 1 - 0x1.13bp-4);
}
#endif
