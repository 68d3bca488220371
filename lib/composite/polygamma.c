/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The derivatives of digamma. With s = n + 1 and x > 0,
 *
 *   (-1)^(n+1) polygamma(n, x) = n! sum over k >= 0 of (x + k)^-s
 *
 * of which the first terms are added up; those from x + k = w on are, by Euler and Maclaurin with Bernoulli's B,
 *
 *   (n-1)! / w^n (1 + n / 2w + sum over j >= 1 of B_2j (2j+n-1)! / ((2j)! (n-1)!) w^-2j)
 *
 * For x < 0 the terms on both sides of the pole next to it are taken together, less those beyond 1 - x. Together they
 * are what the n-th derivative of the cotangent gives: N(cos(pi r)) (pi / sin(pi r))^s, where r is the distance from
 * the pole and N a polynomial. Abramowitz and Stegun, 6.4.
 */
#include <weft/elementwise.h>
#include <inttypes.h>
#include <math.h>
#include "lib/composite/composite.h"
#include "runtime/base/float_mode.h"

/* Beyond it powers in f32 overflow. */
#define MOST 20
/* B_2j from j = 1 on: enough of them for f64, and for f32. */
#define TERMS 10
#define NARROW_TERMS 5
static const double bernoulli[TERMS] = {1.0 / 6,       -1.0 / 30, 1.0 / 42,      -1.0 / 30,     5.0 / 66,
                                        -691.0 / 2730, 7.0 / 6,   -3617.0 / 510, 43867.0 / 798, -174611.0 / 330};
/* sin(pi r) / (pi r) - 1 in powers of r^2, from the first on: the terms (-1)^j pi^2j / (2j+1)!. */
#define SINE_TERMS 12
#define NARROW_SINE_TERMS 6
static const double sine[SINE_TERMS] = {-0x1.a51a6625307d3p+0,  0x1.9f9cb402bc46cp-1,   -0x1.86a8e4720db67p-3,
                                        0x1.ac6805cf350a6p-6,   -0x1.33816aa4607abp-9,  0x1.374719fab3915p-13,
                                        -0x1.d42498d1ce099p-18, 0x1.0fc992ff39e13p-22,  -0x1.f5f9d970ca6dfp-28,
                                        0x1.79788684225eap-33,  -0x1.d7353939082fep-39, 0x1.f0115b37351ebp-45};

static weft_tensor number(weft_tensor like, double value)
{
    return weft_scalar_like(like, value);
}

static double factorial(int64_t n)
{
    double product = 1;
    for (int64_t i = 2; i <= n; i++) product *= (double)i;
    return product;
}

/* The sum of values[i] x^i for i < count. */
static weft_tensor polynomial(weft_tensor x, size_t count, const double *values)
{
    weft_tensor sum = number(x, values[count - 1]);
    for (size_t i = count - 1; i-- > 0;) sum = weft_add(weft_mul(sum, x), number(x, values[i]));
    return sum;
}

/* For n >= 1, by squares. */
static weft_tensor power(weft_tensor x, int64_t n)
{
    weft_tensor product = WEFT_NO_TENSOR;
    for (; n > 0; n /= 2) {
        if (n % 2 == 1) product = product.graph == NULL ? x : weft_mul(product, x);
        if (n > 1) x = weft_mul(x, x);
    }
    return product;
}

/* factor / x^n in two steps: x^n alone may overflow before the quotient underflows. */
static weft_tensor over_power(double factor, weft_tensor x, int64_t n)
{
    weft_tensor half = weft_div(number(x, factor), power(x, n - n / 2));
    return n < 2 ? half : weft_div(half, power(x, n / 2));
}

/* ---- x > 0 ---- */

/* n! times the sum of w^-s and all that follow, for a large w. */
static weft_tensor far_terms(weft_tensor w, int64_t n, size_t count)
{
    double values[TERMS + 1] = {0}, ratio = 1;
    for (size_t j = 1; j <= count; j++) {
        double twice = 2 * (double)j, more = twice + (double)n;
        ratio *= j == 1 ? (double)n * ((double)n + 1) / 2 : (more - 2) * (more - 1) / ((twice - 1) * twice);
        values[j] = bernoulli[j - 1] * ratio;
    }
    weft_tensor inverse = weft_div(number(w, 1), w);
    weft_tensor rest = polynomial(weft_mul(inverse, inverse), count + 1, values);
    weft_tensor leading = over_power(factorial(n - 1), w, n);
    rest = weft_add(weft_mul(inverse, number(w, 0.5 * (double)n)), rest);
    return weft_add(weft_mul(leading, rest), leading);
}

/* n! times the sum of (x + k)^-s. The terms are added from the smallest to the greatest. */
static weft_tensor all_terms(weft_tensor x, int64_t n, bool is_double)
{
    int64_t first = n + (is_double ? 9 : 4);
    weft_tensor is_near = weft_lt(x, number(x, (double)first)), near_sum = number(x, 0);
    weft_tensor w = weft_select(is_near, weft_add(x, number(x, (double)first)), x);
    weft_tensor far_sum = far_terms(w, n, is_double ? TERMS : NARROW_TERMS);
    for (int64_t k = first - 1; k > 0; k--) {
        weft_tensor shifted = weft_add(x, number(x, (double)k));
        near_sum = weft_add(near_sum, weft_div(number(x, factorial(n)), power(shifted, n + 1)));
    }
    near_sum = weft_add(weft_add(far_sum, near_sum), over_power(factorial(n), x, n + 1));
    return weft_select(is_near, near_sum, far_sum);
}

/* ---- x < 0 ---- */

/* The n-th derivative of the cotangent is (-1)^n N(cos) / sin^s: the n coefficients of N.
 * N_1 = 1; N_(m+1) = (1 - c^2) N_m' + (m + 1) c N_m. */
static void fill_cotangent(int64_t n, double *values)
{
    values[0] = 1;
    for (int64_t m = 1; m < n; m++) {
        double next[MOST + 2] = {0};
        for (int64_t i = 0; i < m; i++) {
            next[i + 1] += (double)(m + 1 - i) * values[i];
            if (i > 0) next[i - 1] += (double)i * values[i];
        }
        for (int64_t i = 0; i <= m; i++) values[i] = next[i];
    }
}

/* sin(pi r) / pi for r within -1/2 and 1/2. */
static weft_tensor sine_of(weft_tensor r, bool is_double)
{
    weft_tensor square = weft_mul(r, r);
    weft_tensor rest = polynomial(square, is_double ? SINE_TERMS : NARROW_SINE_TERMS, sine);
    return weft_mul(r, weft_add(weft_mul(square, rest), number(r, 1)));
}

/* n! times the sum of 1 / (r + k)^s over all integers k. */
static weft_tensor both_sides(weft_tensor r, int64_t n, bool is_double)
{
    double values[MOST + 2];
    fill_cotangent(n, values);
    weft_tensor half = weft_sub(number(r, 0.5), weft_abs(r));
    weft_tensor cosine = weft_mul(sine_of(half, is_double), number(r, 0x1.921fb54442d18p+1));
    return weft_div(polynomial(cosine, (size_t)n, values), power(sine_of(r, is_double), n + 1));
}

/* ---- the function ---- */

static weft_tensor trace(weft_tensor x, int64_t n)
{
    bool is_double = weft_tensor_dtype(x) == WEFT_F64, is_odd = n % 2 == 1;
    weft_tensor below = weft_lt(x, number(x, 0)), distance = weft_sub(x, weft_round(x));
    weft_tensor sum = all_terms(weft_select(below, weft_sub(number(x, 1), x), x), n, is_double);
    weft_tensor sides = both_sides(distance, n, is_double);
    weft_tensor reflected = is_odd ? weft_sub(sides, sum) : weft_add(sides, sum);
    weft_tensor at_pole = weft_not(weft_ne(distance, number(x, 0)));
    reflected = weft_select(at_pole, number(x, (double)NAN), reflected);
    weft_tensor result = weft_select(below, reflected, sum);
    return is_odd ? result : weft_neg(result);
}

WEFT_PLAIN_FUNCTION(weft_tensor, weft_polygamma, (int64_t n, weft_tensor x), (n, x))
{
    if (!weft_composite_begin("polygamma", 1, 1, &x) || !weft_composite_wants_float("polygamma", "x", x))
        return weft_tensor_failed(x.graph);
    if (n < 0 || n > MOST) {
        return weft_trace_fail(x.graph, WEFT_OUT_OF_RANGE, "polygamma", "n is %" PRId64 ", not from 0 to %d", n, MOST);
    }
    if (n == 0) return weft_digamma(x);
    weft_tensor result = weft_composite_cast(trace(weft_composite_widen(x), n), weft_tensor_dtype(x));
    return weft_composite_as(WEFT_COMPOSED_polygamma, WEFT_TENSORS(x), &(weft_attr){.integer = n}, result);
}
