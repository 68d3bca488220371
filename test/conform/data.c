/* SPDX-License-Identifier: Apache-2.0 */
#include "test/conform/data.h"
#include "test/conform/place.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* In [0, 1). */
static double fraction(uint64_t random)
{
    return (double)(random >> 11) * 0x1p-53;
}

static const double special_reals[] = {
    NAN,    INFINITY, -INFINITY, 0.0,           -0.0,    1.0,      -1.0,        0.5,          2.5,  -1.5,
    3.0,    -7.0,     FLT_MAX,   -FLT_MAX,      FLT_MIN, 0x1p-149, -0x1.8p-140, 255.9,        -0.7, 0x1p31,
    0x1p63, -0x1p63,  1e10,      0x1.fffffep62, 88.7,    -87.4,    0x1p-24,     0x1.000002p0,
};
static const double special_doubles[] = {
    NAN,          INFINITY, -INFINITY, 0.0,
    -0.0,         1.0,      -1.0,      0.5,
    2.5,          -1.5,     3.0,       -7.0,
    DBL_MAX,      -DBL_MAX, DBL_MIN,   0x1p-1074,
    -0x1.8p-1060, 255.9,    -0.7,      0x1p31,
    0x1p63,       -0x1p63,  1e10,      0x1.fffffffffffffp62,
    709.7,        -745.1,   0x1p-53,   0x1.0000000000001p0,
};
static const int64_t special_integers[] = {
    INT64_MIN,
    INT64_MAX,
    -1,
    0,
    1,
    2,
    -2,
    3,
    -3,
    7,
    -7,
    10,
    255,
    256,
    INT64_C(1) << 31,
    (INT64_C(1) << 53) + 1,
    -(INT64_C(1) << 62),
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

static void store(weft_dtype dtype, double real, int64_t integer, void *element)
{
    const float single = (float)real;
    switch (dtype) {
    case WEFT_BOOL: *(uint8_t *)element = integer != 0; break;
    case WEFT_F32: memcpy(element, &single, sizeof single); break;
    case WEFT_F64: memcpy(element, &real, sizeof real); break;
    default: memcpy(element, &integer, weft_dtype_size(dtype)); break;
    }
}

/* ---- kinds of data ---- */

typedef struct filling {
    weft_dtype dtype;
    uint64_t seed;
    unsigned input;
    int64_t parameter, value; /* of the kinds that have them */
} filling;

/* Which of `count` entries element `number` gets, so that inputs run through all combinations. */
static size_t entry(const filling *fill, int64_t number, size_t count)
{
    for (unsigned i = 0; i < fill->input; i++) number /= (int64_t)count;
    return (size_t)number % count;
}

static void fill_normal(void *context, int64_t number, void *element)
{
    const filling *fill = context;
    uint64_t random = mix(fill->seed + (uint64_t)number);
    int64_t integer = fill->dtype == WEFT_BOOL ? (int64_t)(random >> 40 & 1) : (int64_t)(random >> 11) % 19 - 9;
    store(fill->dtype, 4 * fraction(random) - 2, integer, element);
}

static void fill_small(void *context, int64_t number, void *element)
{
    const filling *fill = context;
    int64_t integer = (int64_t)(mix(fill->seed + (uint64_t)number) >> 11) % 9 - 4;
    store(fill->dtype, (double)integer, integer, element);
}

static void fill_positive(void *context, int64_t number, void *element)
{
    const filling *fill = context;
    uint64_t random = mix(fill->seed + (uint64_t)number);
    store(fill->dtype, 4 * fraction(random) + 0x1p-10, 1 + (int64_t)(random >> 11) % 9, element);
}

static void fill_nonzero(void *context, int64_t number, void *element)
{
    const filling *fill = context;
    int64_t integer = (int64_t)(mix(fill->seed + (uint64_t)number) >> 11) % 18 - 9;
    if (integer >= 0) integer++;
    store(fill->dtype, (double)integer, integer, element);
}

static void fill_wide(void *context, int64_t number, void *element)
{
    const filling *fill = context;
    uint64_t random = mix(fill->seed + (uint64_t)number);
    int range = fill->dtype == WEFT_F32 ? 150 : 1080;
    double real = ldexp(1 + fraction(mix(random)), (int)(random % (uint64_t)(2 * range)) - range);
    if (random >> 40 & 1) real = -real;
    if (random >> 41 & 1) real = ldexp(frexp(real, &(int){0}), (int)(random >> 50) % 12);
    store(fill->dtype, real, (int64_t)random, element);
}

static void fill_special(void *context, int64_t number, void *element)
{
    const filling *fill = context;
    if (fill->dtype == WEFT_BOOL) {
        store(WEFT_BOOL, 0, (int64_t)entry(fill, number, 2), element);
    } else if (fill->dtype == WEFT_F32) {
        store(WEFT_F32, special_reals[entry(fill, number, COUNT(special_reals))], 0, element);
    } else if (fill->dtype == WEFT_F64) {
        store(WEFT_F64, special_doubles[entry(fill, number, COUNT(special_doubles))], 0, element);
    } else {
        store(fill->dtype, 0, special_integers[entry(fill, number, COUNT(special_integers))], element);
    }
}

static void fill_divisor(void *context, int64_t number, void *element)
{
    const filling *fill = context;
    int64_t integer = special_integers[entry(fill, number, COUNT(special_integers))];
    if (fill->dtype == WEFT_F32 || fill->dtype == WEFT_F64) fill_special(context, number, element);
    else store(fill->dtype, 0, integer == 0 ? 5 : integer, element);
}

static void fill_below(void *context, int64_t number, void *element)
{
    const filling *fill = context;
    uint64_t random = mix(fill->seed + (uint64_t)number) >> 11;
    int64_t integer = fill->parameter > 0 ? (int64_t)(random % (uint64_t)fill->parameter) : 0;
    store(fill->dtype, (double)integer, integer, element);
}

static void fill_around(void *context, int64_t number, void *element)
{
    const filling *fill = context;
    uint64_t random = mix(fill->seed + (uint64_t)number) >> 11;
    int64_t integer = fill->parameter > 0 ? (int64_t)(random % (uint64_t)(2 * fill->parameter)) - fill->parameter : 0;
    store(fill->dtype, (double)integer, integer, element);
}

static void fill_at(void *context, int64_t number, void *element)
{
    const filling *fill = context;
    int64_t integer = number == fill->parameter ? fill->value : 0;
    store(fill->dtype, (double)integer, integer, element);
}

static void fill_dividing(void *context, int64_t number, void *element)
{
    const filling *fill = context;
    int64_t integer = number == fill->parameter ? 0 : 1 + number % 7;
    store(fill->dtype, (double)integer, integer, element);
}

bool weft_test_fill(weft_array *array, const char *kind, uint64_t seed, unsigned input)
{
    static const struct {
        const char *name;
        weft_test_visitor fill;
    } kinds[] = {
        {"normal", fill_normal}, {"small", fill_small},     {"positive", fill_positive}, {"nonzero", fill_nonzero},
        {"wide", fill_wide},     {"special", fill_special}, {"divisor", fill_divisor},   {"below", fill_below},
        {"around", fill_around}, {"at", fill_at},           {"zero-at", fill_dividing},
    };
    filling fill = {.dtype = weft_array_dtype(array), .seed = mix(seed + 977 * input), .input = input};
    size_t length = strcspn(kind, ":");
    sscanf(kind + length, ":%" SCNd64 ":%" SCNd64, &fill.parameter, &fill.value);
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (strlen(kinds[i].name) != length || strncmp(kinds[i].name, kind, length) != 0) continue;
        weft_test_visit(array, kinds[i].fill, &fill);
        return true;
    }
    return false;
}

static void make_absolute(void *context, int64_t number, void *element)
{
    const weft_dtype dtype = *(const weft_dtype *)context;
    float single;
    double real;
    (void)number;
    if (dtype == WEFT_F32) {
        memcpy(&single, element, sizeof single);
        single = fabsf(single);
        memcpy(element, &single, sizeof single);
    } else if (dtype == WEFT_F64) {
        memcpy(&real, element, sizeof real);
        real = fabs(real);
        memcpy(element, &real, sizeof real);
    }
}

void weft_test_make_absolute(weft_array *array)
{
    weft_dtype dtype = weft_array_dtype(array);
    weft_test_visit(array, make_absolute, &dtype);
}
