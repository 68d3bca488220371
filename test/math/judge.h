/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_MATH_JUDGE_H
#define WEFT_TEST_MATH_JUDGE_H
/*
 * How far results are from the exact values. A first answer comes from libm in a wider format, for many points at a
 * time; where that is near the bound, or unknown, MPFR decides.
 */
#include <mpfr.h>
#include <stdbool.h>
#include <stddef.h>
#include <weft/dtype.h>

typedef struct weft_judge_format {
    int precision, least, most; /* significant bits; exponents of the smallest normal and of the largest number */
} weft_judge_format;

weft_judge_format weft_judge_format_of(weft_dtype dtype);

/* Estimates of f(a[i], b[i]): the sum of two numbers, where `low` has zeros and may be left as it is. */
typedef void weft_judge_estimate(size_t count, const double *a, const double *b, double *high, double *low);

/* A function of one or two numbers; unary ones ignore b. */
typedef struct weft_judge_function {
    const char *name;
    int arity;
    weft_judge_estimate *in_double;                              /* for formats of up to 24 bits; or NULL */
    weft_judge_estimate *in_long_double;                         /* for all others; or NULL */
    int (*exact)(mpfr_t result, const mpfr_t a, const mpfr_t b); /* rounded to the precision of `result` */
    double slack, slack_long; /* absolute errors of the estimates, where those are not relative to the result */
} weft_judge_function;

/* NULL: the judge knows no such function. */
const weft_judge_function *weft_judge_find(const char *name);

enum { WEFT_JUDGE_COUNT = 1024 };

typedef struct weft_judge {
    const weft_judge_function *function;
    weft_judge_estimate *estimate; /* or NULL: MPFR is asked everywhere */
    weft_judge_format format;
    double floor;             /* of results for negative operands that are smaller, the places are those of this one */
    double bound, margin;     /* closer to the bound than that, the first answer is not trusted */
    double slack;             /* an absolute error of the first answer */
    double worst, a, b;       /* what was the worst so far, and where */
    unsigned long long asked; /* how many points MPFR has decided */
    mpfr_t exact, left, right;
    double high[WEFT_JUDGE_COUNT], low[WEFT_JUDGE_COUNT], distance[WEFT_JUDGE_COUNT];
} weft_judge;

/* `floor` may be zero: see above. */
void weft_judge_init(weft_judge *judge, const weft_judge_function *function, weft_dtype dtype, double bound,
                     double floor);
void weft_judge_finish(weft_judge *judge);
/* Takes in that f(a[i], b[i]) was found to be found[i], for at most WEFT_JUDGE_COUNT points. A NaN for another is no
 * distance, a wrong special value infinite. */
void weft_judge_note(weft_judge *judge, size_t count, const double *a, const double *b, const double *found);
#endif
