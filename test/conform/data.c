/* SPDX-License-Identifier: Apache-2.0 */
#include "test/conform/data.h"
#include "lib/graph/scalar.h"
#include "test/conform/number.h"
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
/* Around the limits of f16; others of two bytes have the range of f32. */
static const double special_halves[] = {
    NAN,     INFINITY,    -INFINITY, 0.0,   -0.0,   1.0,     -1.0,      0.5,         2.5,
    -1.5,    3.0,         -7.0,      65504, -65504, 0x1p-14, 0x1p-24,   -0x1p-23,    -0x1.8p-17,
    255.875, -0x1.664p-1, 0x1p11,    2049,  11.0,   -17.0,   0x1.004p0, 0x1.ffcp-15,
};
/* Parts of complex numbers: far enough from the limits for the products of a formula; the NaN is the one that x86
 * makes, because which of two comes out depends on how a sum is compiled. */
static const double special_parts[] = {-NAN, INFINITY, -INFINITY, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e10};
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
    if (dtype == WEFT_BOOL) *(uint8_t *)element = integer != 0;
    else if (weft_test_parts(dtype) > 0) weft_scalar_store(dtype, real, element);
    else memcpy(element, &integer, weft_dtype_size(dtype));
}

/* ---- kinds of data ---- */

typedef struct filling {
    weft_dtype dtype;
    uint64_t seed;
    unsigned input;
    int64_t parameter, value; /* of the kinds that have them */
    unsigned part, parts;     /* which part of a complex number is filled, of how many */
    weft_test_visitor fill;
} filling;

/* Which of `count` entries element `number` gets, so that inputs run through all combinations. */
static size_t entry(const filling *fill, int64_t number, size_t count)
{
    for (unsigned i = 0; i < fill->input * fill->parts + fill->part; i++) number /= (int64_t)count;
    return (size_t)number % count;
}

static void fill_normal(void *context, int64_t number, void *element)
{
    const filling *fill = context;
    uint64_t random = mix(fill->seed + (uint64_t)number);
    int64_t integer = fill->dtype == WEFT_BOOL ? (int64_t)(random >> 40 & 1) : (int64_t)(random >> 11) % 19 - 9;
    store(fill->dtype, 4 * fraction(random) - 2, integer, element);
}

static void fill_bytes(void *context, int64_t number, void *element)
{
    const filling *fill = context;
    fill_normal(context, number, element);
    if (fill->dtype == WEFT_BOOL)
        *(uint8_t *)element = (uint8_t[]){0, 1, 2, 255}[mix(fill->seed + (uint64_t)number) >> 62];
}

static void fill_small(void *context, int64_t number, void *element)
{
    const filling *fill = context;
    int64_t integer = (int64_t)(mix(fill->seed + (uint64_t)number) >> 11) % 9 - 4;
    if (weft_dtype_info_of(fill->dtype)->kind == WEFT_KIND_UNSIGNED) integer = llabs(integer);
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
    int range = fill->dtype == WEFT_F64 ? 1080 : fill->dtype == WEFT_F16 ? 26 : 150;
    double real = ldexp(1 + fraction(mix(random)), (int)(random % (uint64_t)(2 * range)) - range);
    if (random >> 40 & 1) real = -real;
    if (random >> 41 & 1) real = ldexp(frexp(real, &(int){0}), (int)(random >> 50) % 12);
    store(fill->dtype, real, (int64_t)random, element);
}

typedef struct reals {
    const double *items;
    size_t count;
} reals;

static reals special_of(const filling *fill)
{
    if (fill->parts == 2) return (reals){special_parts, COUNT(special_parts)};
    if (fill->dtype == WEFT_F64) return (reals){special_doubles, COUNT(special_doubles)};
    if (fill->dtype == WEFT_F16) return (reals){special_halves, COUNT(special_halves)};
    return (reals){special_reals, COUNT(special_reals)};
}

static void fill_special(void *context, int64_t number, void *element)
{
    const filling *fill = context;
    reals special = special_of(fill);
    if (weft_test_parts(fill->dtype) > 0)
        store(fill->dtype, special.items[entry(fill, number, special.count)], 0, element);
    else store(fill->dtype, 0, special_integers[entry(fill, number, COUNT(special_integers))], element);
}

static void fill_divisor(void *context, int64_t number, void *element)
{
    const filling *fill = context;
    int64_t integer = special_integers[entry(fill, number, COUNT(special_integers))];
    /* What is left of a special integer in a narrow dtype may be 0. */
    if (weft_dtype_size(fill->dtype) < 8 && integer % 256 == 0) integer = 5;
    if (weft_test_parts(fill->dtype) > 0) fill_special(context, number, element);
    else store(fill->dtype, 0, integer == 0 ? 5 : integer, element);
}

/* Half way between two 16-bit floats, or next to that; integers likewise. */
static void fill_ties(void *context, int64_t number, void *element)
{
    const filling *fill = context;
    uint64_t random = mix(fill->seed + (uint64_t)number);
    weft_dtype narrow = random & 1 ? WEFT_F16 : WEFT_BF16;
    uint16_t code = (uint16_t)(random >> 8), next = (uint16_t)(code + 1);
    double middle = (weft_test_decode(narrow, &code) + weft_test_decode(narrow, &next)) / 2;
    double towards = (random >> 1) % 3 == 0 ? middle : (random >> 1) % 3 == 1 ? -HUGE_VAL : HUGE_VAL;
    double real = fill->dtype == WEFT_F32 ? nextafterf((float)middle, (float)towards) : nextafter(middle, towards);
    int bits = (int)weft_dtype_size(fill->dtype) * 8 - 1,
        shift = (int)(random >> 24 & 0xff) % (bits > 8 ? bits - 8 : 1);
    int64_t integer = ((int64_t)(code & 0x1ff) << shift) + (int64_t)(random >> 40) % 3 - 1;
    store(fill->dtype, real, random >> 60 & 1 ? integer : -integer, element);
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

/* An element part by part, each with random numbers of its own. */
static void fill_parts(void *context, int64_t number, void *element)
{
    filling part = *(const filling *)context;
    for (; part.part < part.parts; part.part++, part.seed = mix(part.seed))
        part.fill(&part, number, (char *)element + part.part * weft_dtype_size(part.dtype));
}

bool weft_test_fill(weft_array *array, const char *kind, uint64_t seed, unsigned input)
{
    static const struct {
        const char *name;
        weft_test_visitor fill;
    } kinds[] = {
        {"normal", fill_normal}, {"small", fill_small},     {"positive", fill_positive}, {"nonzero", fill_nonzero},
        {"wide", fill_wide},     {"special", fill_special}, {"divisor", fill_divisor},   {"below", fill_below},
        {"around", fill_around}, {"at", fill_at},           {"zero-at", fill_dividing},  {"ties", fill_ties},
        {"bytes", fill_bytes},
    };
    weft_dtype dtype = weft_array_dtype(array);
    filling fill = {.dtype = weft_dtype_component(dtype), .seed = mix(seed + 977 * input), .input = input};
    fill.parts = weft_test_parts(dtype) == 2 ? 2 : 1;
    size_t length = strcspn(kind, ":");
    sscanf(kind + length, ":%" SCNd64 ":%" SCNd64, &fill.parameter, &fill.value);
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (strlen(kinds[i].name) != length || strncmp(kinds[i].name, kind, length) != 0) continue;
        fill.fill = kinds[i].fill;
        weft_test_visit(array, fill_parts, &fill);
        return true;
    }
    return false;
}

/* A complex number becomes the sum of its parts' sizes: products of those bound both parts of products. */
static void make_absolute(void *context, int64_t number, void *element)
{
    const weft_dtype dtype = *(const weft_dtype *)context, part = weft_dtype_component(dtype);
    size_t parts = weft_test_parts(dtype), size = weft_dtype_size(part);
    double sum = 0;
    (void)number;
    for (size_t i = 0; i < parts; i++) {
        sum += fabs(weft_test_decode(part, (char *)element + i * size));
        weft_scalar_store(part, 0, (char *)element + i * size);
    }
    if (parts > 0) weft_scalar_store(part, sum, element);
}

void weft_test_make_absolute(weft_array *array)
{
    weft_dtype dtype = weft_array_dtype(array);
    weft_test_visit(array, make_absolute, &dtype);
}
