/* SPDX-License-Identifier: Apache-2.0 */
#include "element.h"
#include <math.h>
#include <string.h>

/* Below the smallest normal number it becomes 0. */
static uint16_t half_bits(double value)
{
    int exponent;
    double fraction = frexp(fabs(value), &exponent);
    uint16_t sign = value < 0 ? 0x8000 : 0;
    if (value == 0 || exponent < -13) return sign;
    return (uint16_t)(sign | (unsigned)(exponent + 14) << 10 | ((unsigned)ldexp(fraction, 11) & 1023));
}

static uint16_t bfloat_bits(double value)
{
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return (uint16_t)(bits >> 16);
}

weft_element weft_element_read(weft_dtype dtype, const void *data)
{
    weft_element element;
    weft_dtype_load(dtype, data, &element.re, &element.im);
    return element;
}

void weft_element_write(weft_dtype dtype, void *data, weft_element element)
{
    float *f = data;
    double *d = data;
    switch (dtype) {
    case WEFT_BOOL:
    case WEFT_U8: *(uint8_t *)data = (uint8_t)element.re; break;
    case WEFT_I32: *(int32_t *)data = (int32_t)element.re; break;
    case WEFT_U32: *(uint32_t *)data = (uint32_t)element.re; break;
    case WEFT_I64: *(int64_t *)data = (int64_t)element.re; break;
    case WEFT_BF16: *(uint16_t *)data = bfloat_bits(element.re); break;
    case WEFT_F16: *(uint16_t *)data = half_bits(element.re); break;
    case WEFT_C64: f[1] = (float)element.im; /* fall through */
    case WEFT_F32: f[0] = (float)element.re; break;
    case WEFT_C128: d[1] = element.im; /* fall through */
    case WEFT_F64: d[0] = element.re; break;
    default: break;
    }
}

double weft_element_rounding(weft_dtype dtype)
{
    switch (weft_dtype_component(dtype)) {
    case WEFT_BF16: return ldexp(1, -8);
    case WEFT_F16: return ldexp(1, -11);
    case WEFT_F32: return ldexp(1, -24);
    case WEFT_F64: return ldexp(1, -53);
    default: return 0;
    }
}
