/* SPDX-License-Identifier: Apache-2.0 */
#include "test/conform/number.h"
#include <math.h>
#include <string.h>

/* Bits of the fraction and of the exponent of an IEEE format. */
typedef struct format {
    int fraction, exponent;
} format;

static format format_of(weft_dtype dtype)
{
    switch (dtype) {
    case WEFT_BF16: return (format){7, 8};
    case WEFT_F16: return (format){10, 5};
    case WEFT_F32: return (format){23, 8};
    default: return (format){52, 11};
    }
}

static int bias_of(format f)
{
    return (1 << (f.exponent - 1)) - 1;
}

size_t weft_test_parts(weft_dtype dtype)
{
    weft_dtype_kind kind = weft_dtype_info_of(dtype)->kind;
    return kind == WEFT_KIND_COMPLEX ? 2 : kind == WEFT_KIND_FLOAT;
}

static uint64_t bits_at(weft_dtype dtype, const void *at)
{
    uint64_t bits = 0;
    memcpy(&bits, at, weft_dtype_size(dtype));
    return bits;
}

double weft_test_decode(weft_dtype dtype, const void *at)
{
    format f = format_of(dtype);
    uint64_t bits = bits_at(dtype, at), one = UINT64_C(1) << f.fraction, fraction = bits & (one - 1);
    int top = (1 << f.exponent) - 1, exponent = (int)(bits >> f.fraction) & top;
    double size;
    if (exponent == top) size = fraction != 0 ? (double)NAN : HUGE_VAL;
    else if (exponent == 0) size = ldexp((double)fraction, 1 - bias_of(f) - f.fraction);
    else size = ldexp((double)(fraction + one), exponent - bias_of(f) - f.fraction);
    return bits >> (f.fraction + f.exponent) ? -size : size;
}

int64_t weft_test_ordinal(weft_dtype dtype, const void *at)
{
    format f = format_of(dtype);
    uint64_t sign = UINT64_C(1) << (f.fraction + f.exponent), bits = bits_at(dtype, at);
    return bits < sign ? (int64_t)bits : -1 - (int64_t)(bits - sign);
}

double weft_test_epsilon(weft_dtype dtype)
{
    return ldexp(1, -format_of(dtype).fraction);
}

double weft_test_least_normal(weft_dtype dtype)
{
    return ldexp(1, 1 - bias_of(format_of(dtype)));
}
