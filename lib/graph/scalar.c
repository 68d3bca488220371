/* SPDX-License-Identifier: Apache-2.0 */
/* A double as one element of any dtype, converted as the op `cast` converts. */
#include "lib/graph/scalar.h"
#include <math.h>
#include <string.h>

static int64_t to_integer(double value, double least, double most, int64_t if_most)
{
    if (isnan(value)) return 0;
    if (value <= least) return (int64_t)least;
    return value >= most ? if_most : (int64_t)value;
}

/* The nearest small float, ties to even: sign, then exponent, then `mantissa` bits; denormals and overflow as IEEE. */
static uint16_t to_small_float(double value, int exponent_bits, int mantissa)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0, infinity = (uint16_t)(((1 << exponent_bits) - 1) << mantissa);
    if (isnan(value)) return (uint16_t)(sign | infinity | 1 << (mantissa - 1));
    if (isinf(value)) return (uint16_t)(sign | infinity);
    if (value == 0) return sign;
    int bias = (1 << (exponent_bits - 1)) - 1, exponent;
    frexp(value, &exponent);
    int scale = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    /* In units of the last place; a carry out of the mantissa moves into the exponent by itself. */
    double units = nearbyint(ldexp(fabs(value), mantissa - scale));
    double bits = units + ldexp(scale + bias - 1, mantissa);
    return (uint16_t)(sign | (bits >= infinity ? infinity : (uint16_t)bits));
}

#define STORE(type, expression)                                                                                        \
    do {                                                                                                               \
        type element_ = (type)(expression);                                                                            \
        memcpy(out_element, &element_, sizeof element_);                                                               \
    } while (0)

void weft_scalar_store(weft_dtype dtype, double value, void *out_element)
{
    switch (dtype) {
    case WEFT_BOOL: STORE(uint8_t, value != 0); break;
    case WEFT_U8: STORE(uint8_t, to_integer(value, 0, UINT8_MAX, UINT8_MAX)); break;
    case WEFT_I32: STORE(int32_t, to_integer(value, INT32_MIN, INT32_MAX, INT32_MAX)); break;
    case WEFT_U32: STORE(uint32_t, to_integer(value, 0, UINT32_MAX, UINT32_MAX)); break;
    case WEFT_I64: STORE(int64_t, to_integer(value, -0x1p63, 0x1p63, INT64_MAX)); break;
    case WEFT_BF16: STORE(uint16_t, to_small_float(value, 8, 7)); break;
    case WEFT_F16: STORE(uint16_t, to_small_float(value, 5, 10)); break;
    case WEFT_F32:
    case WEFT_C64: STORE(float, value); break;
    case WEFT_F64:
    case WEFT_C128: STORE(double, value); break;
    case WEFT_DTYPE_COUNT: break;
    }
}
