/* SPDX-License-Identifier: Apache-2.0 */
#include "test/math/judge.h"
#include <math.h>
#include <stdint.h>
#include "runtime/base/float_bits.h"
#include "test/math/clones.h"

enum {
    EXACT_BITS = 240,
    BIAS = 1023,         /* of the exponent of a double */
    FRACTION = 52,       /* bits below it */
    SPECIAL = 2047,      /* of infinities and NaN */
    LEAST = FRACTION + 1 /* below that exponent, parts of a place need not be doubles */
};

weft_judge_format weft_judge_format_of(weft_dtype dtype)
{
    switch (dtype) {
    case WEFT_BF16: return (weft_judge_format){8, -126, 127};
    case WEFT_F16: return (weft_judge_format){11, -14, 15};
    case WEFT_F32: return (weft_judge_format){24, -126, 127};
    default: return (weft_judge_format){53, -1022, 1023};
    }
}

/* ---- the first answer ---- */

/* The smallest exponent, with the bias, whose places count for results at a negative operand, or at another. */
static int64_t least_exponent(const weft_judge *judge, bool negative)
{
    return BIAS + (negative && judge->floor > 0 ? ilogb(judge->floor) : judge->format.least);
}

/*
 * Distances from the estimates in places of the estimates, in doubles alone. Infinite where found is no number or too
 * large and the estimate is neither, where special values differ, and where the places are too small.
 */
WEFT_CLONES static void measure(const weft_judge *judge, size_t count, const double *a, const double *found,
                                const double *restrict high, const double *restrict low, double *restrict distance)
{
    const int64_t least = least_exponent(judge, false), least_negative = least_exponent(judge, true);
    const int64_t most = judge->format.most + BIAS, places = 2 * BIAS - 1 + judge->format.precision;
    const int64_t infinity = (int64_t)SPECIAL << FRACTION, sign = INT64_MIN;
    const double slack = judge->slack;
    for (size_t i = 0; i < count; i++) {
        int64_t bits = (int64_t)weft_bits_of_f64(high[i]), is = (int64_t)weft_bits_of_f64(found[i]);
        int64_t size = bits & ~sign, size_found = is & ~sign;
        int64_t exponent = (int64_t)((uint64_t)size >> FRACTION), floor = a[i] < 0 ? least_negative : least;
        int64_t unit = exponent < floor ? floor : exponent, over = (bits & sign) | infinity;
        int64_t expected = exponent > most ? over : bits;
        double scale = weft_f64_of_bits((uint64_t)(places - unit) << FRACTION);
        double far = (fabs((found[i] - high[i]) - low[i]) + slack) * scale;
        double number = is == expected ? 0 : HUGE_VAL, none = size_found > infinity ? 0 : HUGE_VAL;
        far = unit < LEAST ? HUGE_VAL : far;
        far = size > 0 ? far : slack > 0 ? far : number;
        far = exponent > most ? number : far;
        distance[i] = size > infinity ? none : far;
    }
}

/* ---- MPFR ---- */

static double special_distance(double found, double expected)
{
    if (isnan(expected)) return isnan(found) ? 0 : HUGE_VAL;
    return weft_bits_of_f64(found) == weft_bits_of_f64(expected) ? 0 : HUGE_VAL;
}

/* Infinity counts as the number after the largest one where the exact value is within the range. */
static double exact_distance(weft_judge *judge, double a, double b, double found)
{
    mpfr_set_d(judge->left, a, MPFR_RNDN);
    mpfr_set_d(judge->right, b, MPFR_RNDN);
    judge->function->exact(judge->exact, judge->left, judge->right);
    judge->asked++;
    if (!mpfr_number_p(judge->exact) || mpfr_zero_p(judge->exact))
        return special_distance(found, mpfr_get_d(judge->exact, MPFR_RNDN));
    long exponent = (long)mpfr_get_exp(judge->exact) - 1, least = (long)least_exponent(judge, a < 0) - BIAS;
    int sign = mpfr_sgn(judge->exact), beyond = judge->format.most + 1;
    if (exponent >= beyond) return special_distance(found, sign * HUGE_VAL);
    if (isnan(found)) return HUGE_VAL;
    mpfr_set_d(judge->left, found, MPFR_RNDN);
    if (isinf(found)) mpfr_set_si_2exp(judge->left, found > 0 ? 1 : -1, beyond, MPFR_RNDN);
    mpfr_sub(judge->left, judge->left, judge->exact, MPFR_RNDN);
    mpfr_mul_2si(judge->left, judge->left, judge->format.precision - 1 - (exponent < least ? least : exponent),
                 MPFR_RNDN);
    return fabs(mpfr_get_d(judge->left, MPFR_RNDN));
}

/* ---- the judge ---- */

/* What has a bound of zero is exact in any format, and then so are estimates. */
void weft_judge_init(weft_judge *judge, const weft_judge_function *function, weft_dtype dtype, double bound,
                     double floor)
{
    *judge = (weft_judge){.function = function, .format = weft_judge_format_of(dtype), .bound = bound, .floor = floor};
    bool wide = judge->format.precision > 24;
    judge->estimate = wide ? function->in_long_double : function->in_double;
    judge->slack = wide ? function->slack_long : function->slack;
    judge->margin = bound == 0 ? 0 : wide ? 0.01 : 1e-5;
    mpfr_inits2(EXACT_BITS, judge->exact, judge->left, judge->right, (mpfr_ptr)NULL);
}

void weft_judge_finish(weft_judge *judge)
{
    mpfr_clears(judge->exact, judge->left, judge->right, (mpfr_ptr)NULL);
}

static void note(weft_judge *judge, double a, double b, double ulp)
{
    if (ulp <= judge->worst) return;
    judge->worst = ulp;
    judge->a = a;
    judge->b = b;
}

WEFT_CLONES static bool are_within(size_t count, const double *distance, double limit)
{
    int64_t beyond = 0;
    for (size_t i = 0; i < count; i++) beyond += distance[i] <= limit ? 0 : 1;
    return beyond == 0;
}

void weft_judge_note(weft_judge *judge, size_t count, const double *a, const double *b, const double *found)
{
    const double trusted = judge->bound - judge->margin, *distance = judge->distance;
    bool is_estimated = judge->estimate != NULL;
    if (is_estimated) {
        judge->estimate(count, a, b, judge->high, judge->low);
        measure(judge, count, a, found, judge->high, judge->low, judge->distance);
        if (are_within(count, distance, fmin(judge->worst, trusted))) return;
    }
    for (size_t i = 0; i < count; i++) {
        bool is_trusted = is_estimated && distance[i] <= trusted;
        note(judge, a[i], b[i], is_trusted ? distance[i] : exact_distance(judge, a[i], b[i], found[i]));
    }
}
