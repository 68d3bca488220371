/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_DATA_H
#define WEFT_TEST_DATA_H
/* What is written into inputs, and how results are compared. */
#include <weft/array.h>

/*
 * Fills `array` with data of a kind:
 *   normal     floats in [-2, 2), integers in [-9, 9]
 *   small      integers in [-4, 4], or in [0, 4], in any dtype
 *   positive   in (0, 4)
 *   nonzero    integers in [-9, 9] but 0, in any dtype
 *   wide       floats of all exponents
 *   special    what is special about the dtype; inputs 0, 1, ... run through all combinations
 *   divisor    the same without 0
 *   below:K    integers in [0, K)
 *   around:K   integers in [-K, K)
 *   at:P:V     zeros, but V at position P
 *   bytes      bools of the bytes 0, 1, 2 and 255; normal in other dtypes
 *   ties       half way between two numbers of f16 or bf16, or one place off, in any dtype
 * Both parts of a complex number are of the kind. False when there is no such kind.
 */
bool weft_test_fill(weft_array *array, const char *kind, uint64_t seed, unsigned input);
/* Makes every element its absolute value. */
void weft_test_make_absolute(weft_array *array);

typedef enum weft_test_tolerance_kind {
    WEFT_TEST_EXACT,  /* the same value, any NaN being another; zeros with their sign */
    WEFT_TEST_BITS,   /* the same bytes */
    WEFT_TEST_VALUE,  /* exact, except for the sign of zeros */
    WEFT_TEST_ULP,    /* `amount` representable values apart at most */
    WEFT_TEST_NEAR,   /* `amount` epsilons of the greatest of the result */
    WEFT_TEST_WITHIN, /* `amount` epsilons */
    WEFT_TEST_SUM     /* a sum of `amount` terms: amount * epsilon * sum |x| apart at most */
} weft_test_tolerance_kind;

typedef struct weft_test_tolerance {
    weft_test_tolerance_kind kind;
    double amount;
} weft_test_tolerance;

/*
 * Compares two arrays of equal shapes and dtypes; dtypes other than floats and complex numbers always exactly. ULP
 * measures a complex number by the greater of its parts, SUM 16-bit floats by the f32 that they are summed in, and the
 * rounding at the end. `scale` is what
 * WEFT_TEST_SUM measures by: the result for absolute values; NULL otherwise. Returns the number of the first element
 * that differs, or -1, and describes it.
 */
int64_t weft_test_compare(const weft_array *expected, const weft_array *actual, const weft_array *scale,
                          weft_test_tolerance tolerance, char *out_text, size_t size);
/* Whether `actual` has the same bytes in its elements. */
bool weft_test_same_bits(const weft_array *expected, const weft_array *actual);
/* FNV-1a over the elements, any NaN as the same one, after `hash`. */
uint64_t weft_test_hash(const weft_array *array, uint64_t hash);
#endif
