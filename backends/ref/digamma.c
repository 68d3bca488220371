/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include "backends/ref/ref.h"

/* The positive zero of the function, in two numbers. */
static const long double zero = 0xb.b16c31ab5f1fb71p-3L, zero_low = -1.8257096315963484214601e-20L;
static const long double pi = 3.141592653589793238462643383279502884197L;

/* digamma(x) - log(x) for x >= 30: Abramowitz and Stegun, "Handbook of Mathematical Functions", 6.3.18. */
static long double asymptotic(long double x)
{
    static const long double terms[] = {1.0L / 12,  -1.0L / 120,     1.0L / 252, -1.0L / 240,
                                        1.0L / 132, -691.0L / 32760, 1.0L / 12,  -3617.0L / 8160};
    long double square = 1 / (x * x), sum = 0;
    for (size_t i = sizeof terms / sizeof *terms; i-- > 0;) sum = (sum + terms[i]) * square;
    return -0.5L / x - sum;
}

/* For x > 0, from the recurrence at x and at the zero: nothing cancels next to the zero. */
static long double positive(long double x)
{
    enum { STEPS = 30 };
    long double distance = (x - zero) - zero_low, sum = 0;
    for (int k = STEPS; k-- > 0;) sum += distance / ((x + k) * (zero + k));
    sum += asymptotic(x + STEPS) - asymptotic(zero + STEPS);
    return sum + log1pl(distance / (zero + STEPS));
}

long double weft_digamma_evaluate(long double x)
{
    if (x == 0) return -1 / x;
    if (isinf(x)) return x > 0 ? x : (long double)NAN;
    if (x > 0) return positive(x);
    long double rest = x - rintl(x);
    return rest == 0 ? (long double)NAN : positive(1 - x) - pi / tanl(pi * rest);
}
