/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_NUMBER_H
#define WEFT_TEST_NUMBER_H
/* Floats of any dtype, as numbers; decoded here and not by the library, which is what is judged. */
#include <weft/dtype.h>

/* 1 for floats, 2 for complex numbers, 0 for what counts without fractions. */
size_t weft_test_parts(weft_dtype dtype);
/* The number at `at`, of the float `dtype`. */
double weft_test_decode(weft_dtype dtype, const void *at);
/* Its place among those that `dtype` represents. */
int64_t weft_test_ordinal(weft_dtype dtype, const void *at);
/* The distance from 1 to the next number, and the least normal one. */
double weft_test_epsilon(weft_dtype dtype);
double weft_test_least_normal(weft_dtype dtype);
#endif
