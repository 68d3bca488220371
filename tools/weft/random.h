/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_RANDOM_H
#define WEFT_TOOLS_RANDOM_H
/* Operands made up, and how two results of them compare. */
#include <weft/array.h>
#include <weft/graph.h>

/*
 * An array of numbers drawn from [0.5, 1.5) * scale, with imaginary parts of a tenth of that around 0; of 0 to 3 for
 * integers. Nothing cancels in sums of their products, so that an error bound is one of the result too. The same seed
 * gives the same numbers.
 */
weft_status *weft_random_create(weft_dtype dtype, weft_ints shape, double scale, uint64_t seed,
                                weft_array **out_array) WEFT_MUST_USE;

/* Numbers drawn from [low, high); `*state` begins as a seed. */
void weft_random_fill(uint64_t *state, double low, double high, size_t count, double *out_numbers);

/* Sum of all elements. */
void weft_array_sum(const weft_array *array, double *out_re, double *out_im);
/* The largest difference of two elements relative to the larger one, NaN if there is one; of dtypes that are exact 1 if
 * any differs. */
double weft_array_difference(const weft_array *a, const weft_array *b);
#endif
