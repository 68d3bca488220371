/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_MATH_JUDGE_H
#define WEFT_TEST_MATH_JUDGE_H
/*
 * How far a result is from the exact value. A first answer comes from libm in a wider format; where that is near the
 * bound, or there is no such function, MPFR decides.
 */
#include <mpfr.h>
#include <stdbool.h>
#include <weft/dtype.h>

typedef struct weft_judge_format {
    int precision, least, most; /* significant bits; exponents of the smallest normal and of the largest number */
} weft_judge_format;

weft_judge_format weft_judge_format_of(weft_dtype dtype);

/* A function of one or two numbers; unary ones ignore b. */
typedef struct weft_judge_function {
    const char *name;
    int arity;
    double (*in_double)(double a, double b);                     /* for formats of up to 24 bits; or NULL */
    long double (*in_long_double)(long double a, long double b); /* or NULL */
    int (*exact)(mpfr_t result, const mpfr_t a, const mpfr_t b); /* rounded to the precision of `result` */
} weft_judge_function;

/* NULL: the judge knows no such function. */
const weft_judge_function *weft_judge_find(const char *name);

typedef struct weft_judge {
    const weft_judge_function *function;
    weft_judge_format format;
    double floor;         /* of results for negative operands that are smaller, the places are those of this one */
    double bound, margin; /* closer to the bound than that, the first answer is not trusted */
    double worst, a, b;   /* what was the worst so far, and where */
    mpfr_t exact, left, right;
} weft_judge;

void weft_judge_init(weft_judge *judge, const weft_judge_function *function, weft_dtype dtype, double bound);
void weft_judge_finish(weft_judge *judge);
/* Takes in that f(a, b) was found to be `found`. A NaN for another is no distance, a wrong special value infinite. */
void weft_judge_note(weft_judge *judge, double a, double b, double found);
#endif
