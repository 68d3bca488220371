/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_MATH_CLONES_H
#define WEFT_TEST_MATH_CLONES_H
/*
 * Loops over doubles, compiled once more for processors with wider vectors, and calls of libm in them that become calls
 * of its vector functions (off by 4 units of the last place at most). Elsewhere nothing is lost but time.
 */
#include <math.h>

#if defined __x86_64__ && defined __GLIBC__ && defined __GNUC__ && !defined __clang__
#if __GLIBC_PREREQ(2, 35)
#define WEFT_VECTOR __attribute__((__simd__("notinbranch"))) double
#endif
#define WEFT_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define WEFT_CLONES
#endif

#ifdef WEFT_VECTOR
WEFT_VECTOR exp(double a);
WEFT_VECTOR exp2(double a);
WEFT_VECTOR expm1(double a);
WEFT_VECTOR log(double a);
WEFT_VECTOR log2(double a);
WEFT_VECTOR log10(double a);
WEFT_VECTOR log1p(double a);
WEFT_VECTOR tanh(double a);
WEFT_VECTOR sinh(double a);
WEFT_VECTOR cosh(double a);
WEFT_VECTOR asinh(double a);
WEFT_VECTOR acosh(double a);
WEFT_VECTOR atanh(double a);
WEFT_VECTOR cbrt(double a);
WEFT_VECTOR sin(double a);
WEFT_VECTOR cos(double a);
WEFT_VECTOR tan(double a);
WEFT_VECTOR asin(double a);
WEFT_VECTOR acos(double a);
WEFT_VECTOR atan(double a);
WEFT_VECTOR erf(double a);
WEFT_VECTOR erfc(double a);
WEFT_VECTOR pow(double a, double b);
WEFT_VECTOR atan2(double a, double b);
#endif
#endif
