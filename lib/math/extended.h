/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_MATH_EXTENDED_H
#define WEFT_LIB_MATH_EXTENDED_H
/*
 * Notation of the lowerings that need tables or more than the precision of a double. They compute f32 in f64, where the
 * short polynomials of `number` do: one code serves both, and corrections that a float does not see are left out.
 */
#include "lib/math/lower.h"

/* An unevaluated sum; low is small against high. */
typedef struct pair {
    weft_inst_id high, low;
} pair;

/* A polynomial for each format, constant first. */
typedef struct series {
    const double *terms;
    size_t count;
} series;

#define WEFT_SERIES(name)                                                                                              \
    {                                                                                                                  \
        [MATH_F32] = {single_##name, sizeof single_##name / sizeof *single_##name},                                    \
        [MATH_F64] = {double_##name, sizeof double_##name / sizeof *double_##name},                                    \
    }

static inline bool is_short(const writer *w)
{
    return w->number == MATH_F32;
}

/* A writer for f64 that knows the format of the result. */
static inline writer widened(const writer *w)
{
    writer wide = *w;
    wide.dtype = WEFT_F64;
    wide.format = &weft_math_formats[MATH_F64];
    return wide;
}

static inline weft_inst_id widen(const writer *w, weft_inst_id x)
{
    return is_short(w) ? given(w, WEFT_SCALAR_cast, WEFT_F64, x) : x;
}

/* The result in its own format. */
static inline weft_inst_id narrow(const writer *w, weft_inst_id x)
{
    writer own = *w;
    own.format = &weft_math_formats[w->number];
    return one_nan(&own, is_short(w) ? given(w, WEFT_SCALAR_cast, WEFT_F32, x) : x);
}

static inline weft_inst_id times(const writer *w, weft_inst_id x, double factor)
{
    return mul(w, x, real(w, factor));
}

static inline weft_inst_id plus(const writer *w, weft_inst_id x, double term)
{
    return add(w, x, real(w, term));
}

static inline weft_inst_id plus_bits(const writer *w, weft_inst_id x, uint64_t bits)
{
    return add(w, x, integer(w, bits));
}

static inline weft_inst_id shift_left(const writer *w, weft_inst_id x, unsigned count)
{
    return binary(w, WEFT_SCALAR_shl, x, integer(w, count));
}

static inline weft_inst_id shift_right(const writer *w, weft_inst_id x, unsigned count)
{
    return binary(w, WEFT_SCALAR_shr, x, integer(w, count));
}

static inline weft_inst_id mask(const writer *w, weft_inst_id x, uint64_t bits)
{
    return binary(w, WEFT_SCALAR_and, x, integer(w, bits));
}

static inline weft_inst_id minus(const writer *w, weft_inst_id x)
{
    return unary(w, WEFT_SCALAR_neg, x);
}

static inline weft_inst_id below(const writer *w, weft_inst_id x, double limit)
{
    return less(w, x, real(w, limit));
}

/* a * b - c */
static inline weft_inst_id multiply_subtract(const writer *w, weft_inst_id a, weft_inst_id b, weft_inst_id c)
{
    return fma3(w, a, b, minus(w, c));
}

/* c - a * b */
static inline weft_inst_id subtract_product(const writer *w, weft_inst_id a, weft_inst_id b, weft_inst_id c)
{
    return fma3(w, minus(w, a), b, c);
}

/* a + b exactly, after Knuth. */
static inline pair two_sum(const writer *w, weft_inst_id a, weft_inst_id b)
{
    weft_inst_id sum = add(w, a, b), of_b = sub(w, sum, a), of_a = sub(w, sum, of_b);
    weft_inst_id error_a = sub(w, a, of_a), error_b = sub(w, b, of_b);
    return (pair){sum, add(w, error_a, error_b)};
}

/* a + b exactly where a is zero or the larger one, after Dekker. */
static inline pair fast_two_sum(const writer *w, weft_inst_id a, weft_inst_id b)
{
    weft_inst_id sum = add(w, a, b), rest = sub(w, a, sum);
    return (pair){sum, add(w, rest, b)};
}

static inline pair two_product(const writer *w, weft_inst_id a, weft_inst_id b)
{
    weft_inst_id product = mul(w, a, b);
    return (pair){product, multiply_subtract(w, a, b, product)};
}

/* A float has no low part. */
static inline pair choose_pair(const writer *w, weft_inst_id condition, pair yes, pair no)
{
    pair chosen = {choose(w, condition, yes.high, no.high), 0};
    if (!is_short(w)) chosen.low = choose(w, condition, yes.low, no.low);
    return chosen;
}

/* Column `column` of the table in row `row` modulo the number of rows. */
static inline weft_inst_id look_up(const writer *w, weft_table_id table, uint32_t column, weft_inst_id row)
{
    weft_inst inst = {.op = WEFT_SCALAR_lookup,
                      .dtype = weft_table_of(table)->dtype,
                      .arg_count = 1,
                      .args = {row},
                      .buffer = table,
                      .number = column};
    return weft_inst_list_add(w->list, &inst);
}

/* ---- of math_extended.c ---- */

/* a / b, rounded nearly once. */
pair weft_math_ratio(const writer *w, pair a, pair b);

/* The sum of terms[i] * x^i in a tree of pairs: short chains, that vectors may overlap. */
weft_inst_id weft_math_series(const writer *w, weft_inst_id x, const series *of_formats);
/* The row of a table of polynomials (table_data.h) at distance t from its center. `count` is that of the coefficients
 * after the first one. */
pair weft_math_row(const writer *w, weft_table_id table, weft_inst_id row, weft_inst_id t, const uint32_t *counts);
/* Of floats: the row of a table of c, f(c), 1 where these are equal or 0, and (f(x) - f(c)) / (x - c) less that, of an
 * odd number of terms. Where they are, f(x) is x and a sum that is small. */
weft_inst_id weft_math_single_row(const writer *w, weft_table_id table, weft_inst_id row, weft_inst_id x);
/* For a table whose rows have centers at multiples of `step`, a number of few bits, so that these are exact: the row of
 * x >= 0, which the table has, and the distance. */
weft_inst_id weft_math_nearest(const writer *w, weft_inst_id x, double step, weft_inst_id *out_distance);
/* The logarithm of a positive finite number: the absolute error is 2^-65 or less for f64. */
pair weft_math_log_pair(const writer *w, weft_inst_id x);
/* exp(x) = 2^n (1 + growth); *out_shifted has n + twice the bias in the low bits. |x| is at most 1000. */
pair weft_math_growth(const writer *w, pair x, weft_inst_id *out_shifted);
#endif
