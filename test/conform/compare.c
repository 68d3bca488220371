/* SPDX-License-Identifier: Apache-2.0 */
#include "test/conform/data.h"
#include "test/conform/number.h"
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

/* One array under comparison. */
typedef struct column {
    weft_dtype dtype, part; /* of an element, and of its parts */
    size_t parts, size;     /* of an element; bytes of a part */
    const char *elements;
} column;

static column column_of(weft_dtype dtype, const char *elements)
{
    weft_dtype part = weft_dtype_component(dtype);
    return (column){dtype, part, weft_test_parts(dtype), weft_dtype_size(part), elements};
}

static const char *part_at(const column *c, int64_t i, size_t part)
{
    return c->elements + ((size_t)i * (c->parts == 2 ? 2 : 1) + part) * c->size;
}

static double number_at(const column *c, int64_t i, size_t part)
{
    return weft_test_decode(c->part, part_at(c, i, part));
}

/* The greatest finite part of elements [begin, end). */
static double greatest(const column *c, int64_t begin, int64_t end)
{
    double most = 0;
    for (int64_t i = begin; i < end; i++)
        for (size_t part = 0; part < c->parts; part++) {
            double size = fabs(number_at(c, i, part));
            if (isfinite(size) && size > most) most = size;
        }
    return most;
}

/* How far a result may be from `expected`, for the kinds that measure absolutely. */
static double allowance(const column *c, double expected, double scale, weft_test_tolerance tolerance)
{
    double epsilon = weft_test_epsilon(c->part);
    if (tolerance.kind == WEFT_TEST_WITHIN) return tolerance.amount * epsilon;
    /* Sums of 16-bit floats are kept in f32 and rounded once. */
    if (tolerance.kind == WEFT_TEST_SUM && c->size < sizeof(float))
        return tolerance.amount * FLT_EPSILON * scale + epsilon * fabs(expected);
    return tolerance.amount * epsilon * scale;
}

/* Whether one part of an element agrees; `size` is that of the whole element. */
static bool part_agrees(const column *wanted, const column *found, int64_t i, size_t part, double size, double scale,
                        weft_test_tolerance tolerance)
{
    double expected = number_at(wanted, i, part), actual = number_at(found, i, part);
    int64_t place = weft_test_ordinal(wanted->part, part_at(wanted, i, part)), apart;
    if (isnan(expected) || isnan(actual)) return isnan(expected) && isnan(actual);
    if (place == weft_test_ordinal(wanted->part, part_at(found, i, part))) return true;
    if (tolerance.kind == WEFT_TEST_VALUE) return expected == actual;
    if (tolerance.kind == WEFT_TEST_ULP && wanted->parts == 1) {
        bool fits = !__builtin_sub_overflow(place, weft_test_ordinal(found->part, part_at(found, i, part)), &apart);
        return fits && fabs((double)apart) <= tolerance.amount;
    }
    if (tolerance.kind == WEFT_TEST_EXACT || !isfinite(expected) || !isfinite(actual)) return false;
    if (tolerance.kind == WEFT_TEST_ULP) scale = size;
    double least = tolerance.kind == WEFT_TEST_ULP ? 0 : weft_test_least_normal(wanted->part);
    double denormal = weft_test_least_normal(wanted->part) * weft_test_epsilon(wanted->part) * tolerance.amount;
    return fabs(expected - actual) <= allowance(wanted, expected, scale, tolerance) + fmax(least, denormal);
}

static void describe(const column *expected, const column *actual, int64_t i, char *out_text, size_t size)
{
    size_t parts = expected->parts == 0 ? 1 : expected->parts;
    int used = snprintf(out_text, size, "element %" PRId64 ":", i);
    for (size_t part = 0; part < parts; part++) {
        uint64_t wanted = 0, found = 0;
        memcpy(&wanted, part_at(expected, i, part), expected->size);
        memcpy(&found, part_at(actual, i, part), expected->size);
        if (expected->parts > 0)
            used += snprintf(out_text + used, size - (size_t)used,
                             " expected %.17g (%#" PRIx64 "), found %.17g (%#" PRIx64 ")", number_at(expected, i, part),
                             wanted, number_at(actual, i, part), found);
        else
            used += snprintf(out_text + used, size - (size_t)used, " expected %" PRId64 ", found %" PRId64,
                             (int64_t)wanted, (int64_t)found);
        if (used >= (int)size) return;
    }
}

/* Whether element i agrees. `most` is the greatest of all that were expected. */
static bool agrees(const column *wanted, const column *found, const column *scales, int64_t i, double most,
                   weft_test_tolerance tolerance)
{
    double size = greatest(wanted, i, i + 1), scale = scales == NULL ? most : number_at(scales, i, 0);
    for (size_t part = 0; part < wanted->parts; part++)
        if (!part_agrees(wanted, found, i, part, size, scale, tolerance)) return false;
    return wanted->parts > 0;
}

int64_t weft_test_compare(const weft_array *expected, const weft_array *actual, const weft_array *scale,
                          weft_test_tolerance tolerance, char *out_text, size_t size)
{
    weft_dtype dtype = weft_array_dtype(expected);
    int64_t count = weft_array_count(expected), differs = -1;
    size_t element = weft_dtype_size(dtype);
    char *memory[3] = {gather(expected), gather(actual), scale == NULL ? NULL : gather(scale)};
    column wanted = column_of(dtype, memory[0]), found = column_of(dtype, memory[1]),
           scales = column_of(dtype, memory[2]);
    bool numbers = wanted.parts > 0 && tolerance.kind != WEFT_TEST_BITS;
    double most = numbers ? greatest(&wanted, 0, count) : 0;
    for (int64_t i = 0; i < count && differs < 0; i++) {
        bool same = memcmp(memory[0] + (size_t)i * element, memory[1] + (size_t)i * element, element) == 0;
        if (!same && numbers) same = agrees(&wanted, &found, scale == NULL ? NULL : &scales, i, most, tolerance);
        if (!same) differs = i;
    }
    if (differs >= 0) describe(&wanted, &found, differs, out_text, size);
    for (int i = 0; i < 3; i++) free(memory[i]);
    return differs;
}

bool weft_test_same_bits(const weft_array *expected, const weft_array *actual)
{
    char text[160];
    return weft_test_compare(expected, actual, NULL, (weft_test_tolerance){WEFT_TEST_BITS, 0}, text, sizeof text) < 0;
}

uint64_t weft_test_hash(const weft_array *array, uint64_t hash)
{
    char *elements = gather(array);
    column c = column_of(weft_array_dtype(array), elements);
    int64_t parts = c.parts == 2 ? 2 : 1, count = weft_array_count(array);
    for (int64_t i = 0; i < count * parts; i++) {
        const char *part = part_at(&c, i / parts, (size_t)(i % parts));
        bool is_nan = c.parts > 0 && isnan(weft_test_decode(c.part, part));
        for (size_t k = 0; k < c.size; k++) hash = (hash ^ (is_nan ? 0xff : (unsigned char)part[k])) * 0x100000001b3;
    }
    free(elements);
    return hash;
}
