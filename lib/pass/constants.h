/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_PASS_CONSTANTS_H
#define WEFT_LIB_PASS_CONSTANTS_H
#include "lib/pass/pass.h"

/* Whether every element of `x`, a constant or a broadcast one, has these bytes. */
bool weft_constant_repeats(weft_tensor x, const void *element);

/* Rows for ops of constants of rank 0, or such that are broadcast: the constant that they give. None of complex
 * numbers, and none whose result is a NaN, which has a payload. */
weft_tensor weft_constant_compare(const weft_rewrite_site *site); /* eq, ne, lt, le, gt, ge */
weft_tensor weft_constant_test(const weft_rewrite_site *site);    /* not of a bool, is_finite, is_nan */
weft_tensor weft_constant_cast(const weft_rewrite_site *site);    /* from integers to integers the low bits */
weft_tensor weft_constant_compute(const weft_rewrite_site *site); /* add, sub, mul, and, or; div of floats */
#endif
