/* SPDX-License-Identifier: Apache-2.0 */
#include "test/conform/data.h"
#include "test/conform/place.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The elements of an array, row-major and without gaps. */
static char *gather(const weft_array *array)
{
    size_t bytes = (size_t)weft_array_count(array) * weft_dtype_size(weft_array_dtype(array));
    char *elements = malloc(bytes + 1);
    weft_array *dense = NULL;
    if (elements == NULL) abort();
    weft_status *status = weft_array_wrap(NULL, weft_array_dtype(array), weft_array_rank(array),
                                          weft_array_shape(array), NULL, elements, NULL, NULL, &dense);
    if (status == NULL) status = weft_array_copy(dense, array);
    if (status != NULL) abort();
    weft_array_release(dense);
    return elements;
}

static bool is_float(weft_dtype dtype)
{
    return dtype == WEFT_F32 || dtype == WEFT_F64;
}

static double real_at(weft_dtype dtype, const char *elements, int64_t i)
{
    float single;
    double real;
    if (dtype == WEFT_F32) {
        memcpy(&single, elements + i * (int64_t)sizeof single, sizeof single);
        return single;
    }
    memcpy(&real, elements + i * (int64_t)sizeof real, sizeof real);
    return real;
}

/* The place of a number among those that `dtype` represents. */
static int64_t ordinal(weft_dtype dtype, double real)
{
    const float single = (float)real;
    int32_t narrow;
    int64_t bits;
    memcpy(&narrow, &single, sizeof narrow);
    memcpy(&bits, &real, sizeof bits);
    if (dtype == WEFT_F32) return narrow < 0 ? INT64_C(-1) - (narrow & INT32_MAX) : narrow;
    return bits < 0 ? -1 - (bits & INT64_MAX) : bits;
}

static double greatest(weft_dtype dtype, const char *elements, int64_t count)
{
    double most = 0;
    for (int64_t i = 0; i < count; i++) {
        double real = fabs(real_at(dtype, elements, i));
        if (isfinite(real) && real > most) most = real;
    }
    return most;
}

static bool close_enough(weft_dtype dtype, double expected, double actual, double scale, weft_test_tolerance tolerance)
{
    double epsilon = dtype == WEFT_F32 ? FLT_EPSILON : DBL_EPSILON;
    double least = dtype == WEFT_F32 ? FLT_MIN : DBL_MIN;
    if (isnan(expected) || isnan(actual)) return isnan(expected) && isnan(actual);
    if (ordinal(dtype, expected) == ordinal(dtype, actual)) return true;
    if (tolerance.kind == WEFT_TEST_VALUE) return expected == actual;
    if (tolerance.kind == WEFT_TEST_ULP) {
        int64_t apart;
        if (__builtin_sub_overflow(ordinal(dtype, expected), ordinal(dtype, actual), &apart)) return false;
        return fabs((double)apart) <= tolerance.amount;
    }
    if (tolerance.kind == WEFT_TEST_EXACT || !isfinite(expected) || !isfinite(actual)) return false;
    if (tolerance.kind == WEFT_TEST_WITHIN) scale = 1;
    return fabs(expected - actual) <= tolerance.amount * epsilon * scale + least;
}

static void describe(weft_dtype dtype, const char *expected, const char *actual, int64_t i, char *out_text, size_t size)
{
    size_t element = weft_dtype_size(dtype);
    uint64_t wanted = 0, found = 0;
    memcpy(&wanted, expected + (size_t)i * element, element);
    memcpy(&found, actual + (size_t)i * element, element);
    if (is_float(dtype))
        snprintf(out_text, size, "element %" PRId64 ": expected %.17g (%#" PRIx64 "), found %.17g (%#" PRIx64 ")", i,
                 real_at(dtype, expected, i), wanted, real_at(dtype, actual, i), found);
    else
        snprintf(out_text, size, "element %" PRId64 ": expected %" PRId64 ", found %" PRId64, i, (int64_t)wanted,
                 (int64_t)found);
}

int64_t weft_test_compare(const weft_array *expected, const weft_array *actual, const weft_array *scale,
                          weft_test_tolerance tolerance, char *out_text, size_t size)
{
    weft_dtype dtype = weft_array_dtype(expected);
    int64_t count = weft_array_count(expected), differs = -1;
    size_t element = weft_dtype_size(dtype);
    char *wanted = gather(expected), *found = gather(actual), *scales = scale == NULL ? NULL : gather(scale);
    bool numbers = is_float(dtype) && tolerance.kind != WEFT_TEST_BITS;
    double most = numbers ? greatest(dtype, wanted, count) : 0;
    for (int64_t i = 0; i < count && differs < 0; i++) {
        bool same = memcmp(wanted + (size_t)i * element, found + (size_t)i * element, element) == 0;
        if (!same && numbers)
            same = close_enough(dtype, real_at(dtype, wanted, i), real_at(dtype, found, i),
                                scales == NULL ? most : real_at(dtype, scales, i), tolerance);
        if (!same) differs = i;
    }
    if (differs >= 0) describe(dtype, wanted, found, differs, out_text, size);
    free(wanted);
    free(found);
    free(scales);
    return differs;
}

bool weft_test_same_bits(const weft_array *expected, const weft_array *actual)
{
    char text[160];
    return weft_test_compare(expected, actual, NULL, (weft_test_tolerance){WEFT_TEST_BITS, 0}, text, sizeof text) < 0;
}
