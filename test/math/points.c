/* SPDX-License-Identifier: Apache-2.0 */
#include "test/math/points.h"
#include <math.h>
#include <string.h>
#include "test/math/clones.h"

/* Where functions change: zero, the ends of the range, thresholds of exp and its relatives, values that are exact. */
static const double marks[] = {0,
                               0x1p-1074,
                               0x1p-1022,
                               0x1p-149,
                               0x1p-126,
                               0x1p-53,
                               0x1p-27,
                               0x1p-24,
                               0x1p-13,
                               0.125,
                               1.0 / 3,
                               0.34657359,
                               0.5,
                               0.55,
                               0.70710678,
                               0.9375,
                               1,
                               1.4142135,
                               2,
                               2.718281828,
                               3,
                               8,
                               9.5,
                               10,
                               17.3287,
                               20,
                               37.43,
                               88.02969,
                               88.722839,
                               89.41599,
                               103.27893,
                               103.97208,
                               100,
                               126,
                               128,
                               149,
                               150,
                               709.78271,
                               710.475860,
                               744.44007,
                               745.13322,
                               1000,
                               1022,
                               1024,
                               1074,
                               1075,
                               4096,
                               0x1p23,
                               0x1p24,
                               0x1p31,
                               0x1p52,
                               0x1p53,
                               0x1p63,
                               0x1p64,
                               1.4616321449683623,
                               1.5707963267948966,
                               3.141592653589793,
                               4.5,
                               6,
                               7.9,
                               8.9,
                               10.05,
                               27.2,
                               35.0400980,
                               40.5,
                               171.6243769563027,
                               184.5,
                               2.4570247382208006,
                               2.5563481638716906e305,
                               4.085003e36,
                               0x1.6ac5b262ca1ffp849,
                               1e10,
                               1e22,
                               0x1p127,
                               0x1.fffffep127,
                               0x1p128,
                               1e300,
                               0x1p1023,
                               0x1.fffffffffffffp1023,
                               INFINITY,
                               NAN};

enum { MARKS = sizeof marks / sizeof *marks, AROUND = 2048 };

void weft_points_init(weft_points *points, weft_dtype dtype, int arity, bool exhaustive)
{
    *points = (weft_points){.dtype = dtype, .arity = arity, .state = 1};
    size_t size = weft_dtype_size(dtype);
    points->specials = arity == 2 ? 4 * MARKS * MARKS : 2 * MARKS * 2 * AROUND;
    if (arity == 1 && size < 8) {
        points->stride = size == 2 || exhaustive ? 1 : 1021;
        if (points->stride == 1) points->specials = 0;
        points->count = points->specials + ((uint64_t)1 << 8 * size) / points->stride;
    } else {
        points->count = points->specials + (exhaustive ? 100000000 : (uint64_t)1 << (size == 8 ? 19 : 20));
    }
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* ---- numbers as bit patterns of the dtype ---- */

static uint64_t bits_of(weft_dtype dtype, double value)
{
    uint64_t bits = 0;
    float single = (float)value;
    memcpy(&bits, dtype == WEFT_F64 ? (void *)&value : (void *)&single, dtype == WEFT_F64 ? 8 : 4);
    return dtype == WEFT_F16 || dtype == WEFT_BF16 ? bits >> 16 : bits;
}

/* Any bits, or an exponent of moderate size, or a small integer or fraction: a third each. */
static uint64_t any_bits(const weft_points *points, uint64_t *state)
{
    uint64_t kind = next_random(state) % 3, random = next_random(state);
    if (kind == 0) return random & UINT64_MAX >> (64 - 8 * weft_dtype_size(points->dtype));
    double sign = random & 1 ? -1 : 1, part = ldexp((double)(random >> 11), -53);
    if (kind == 1) return bits_of(points->dtype, sign * ldexp(1 + part, (int)(random >> 1 & 63) - 48));
    return bits_of(points->dtype, sign * ldexp(rint(ldexp(part, 10)), -(int)(random >> 1 & 7)));
}

/* x and y that make x^y large or small: it is within a few powers of two of the ends of the range. */
static void power_at_the_end(const weft_points *points, uint64_t random, double part, uint64_t *a, uint64_t *b)
{
    int bits = points->dtype == WEFT_F64 ? 1024 : 128;
    double end = (random & 1 ? bits : 2 - bits) - ldexp((double)(random >> 1 & 255), -6);
    double base = ldexp(1 + part, -(int)(random >> 9 & 1));
    *a = bits_of(points->dtype, base);
    *b = bits_of(points->dtype, end / log2(base));
}

/* y near an integer multiple of what makes x^y, x / y large, or x of the size of y: relations that chance does not
 * make. */
static void relate(const weft_points *points, uint64_t *state, uint64_t *a, uint64_t *b)
{
    uint64_t random = next_random(state);
    double part = ldexp((double)(random >> 11), -53);
    switch (random & 7) {
    case 0: *a = bits_of(points->dtype, 1 + ldexp(part - 0.5, -(int)(random >> 3 & 31))); break;
    case 1: *a = *b + (random >> 3 & 15); break;
    case 2: *b = bits_of(points->dtype, (double)((int64_t)(random >> 56) - 128)); break;
    case 3: *b = bits_of(points->dtype, ldexp((double)((int64_t)(random >> 50) - 8192), -5)); break;
    case 4: power_at_the_end(points, random >> 3, part, a, b); break;
    default: break;
    }
}

static void special(const weft_points *points, uint64_t i, uint64_t *out_a, uint64_t *out_b)
{
    uint64_t sign = (uint64_t)1 << (8 * weft_dtype_size(points->dtype) - 1);
    if (points->arity == 2) {
        *out_a = bits_of(points->dtype, marks[i / 4 % MARKS]) ^ (i & 1 ? sign : 0);
        *out_b = bits_of(points->dtype, marks[i / 4 / MARKS]) ^ (i & 2 ? sign : 0);
        return;
    }
    uint64_t around = i / 2 % (2 * AROUND), mark = bits_of(points->dtype, marks[i / 2 / (2 * AROUND)]);
    *out_a = *out_b = (mark + around - AROUND) ^ (i & 1 ? sign : 0);
}

static void point(weft_points *points, uint64_t i, uint64_t *out_a, uint64_t *out_b)
{
    if (i < points->specials) {
        special(points, i, out_a, out_b);
    } else if (points->stride != 0) {
        *out_a = *out_b = (i - points->specials) * points->stride;
    } else {
        *out_a = *out_b = any_bits(points, &points->state);
        if (points->arity == 1) return;
        *out_b = any_bits(points, &points->state);
        relate(points, &points->state, out_a, out_b);
    }
}

/* All single floats: runs of neighbours, but runs all over the line, so that large errors are met early. */
static uint32_t swept(uint64_t i)
{
    return (uint32_t)(i & 0xfff) | (uint32_t)((i >> 12) * 0x9e375 << 12);
}

WEFT_CLONES static size_t sweep(weft_points *points, size_t count, uint32_t *a)
{
    const uint64_t first = points->next;
    for (size_t i = 0; i < count; i++) a[i] = swept(first + i);
    points->next += count;
    return count;
}

bool weft_points_fill(weft_points *points, size_t count, void *a, void *b)
{
    size_t size = weft_dtype_size(points->dtype), i = 0;
    uint64_t left = 0, right = 0;
    if (points->next == points->count) return false;
    if (points->stride == 1 && size == 4) i = sweep(points, count, a);
    for (; i < count; i++) {
        if (points->next < points->count) point(points, points->next++, &left, &right);
        memcpy((char *)a + i * size, &left, size);
        memcpy((char *)b + i * size, &right, size);
    }
    return true;
}
