/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/ref/ref.h"
#include <complex.h>
#include <math.h>
#include <string.h>

weft_dtype_kind weft_element_kind(weft_dtype dtype)
{
    return weft_dtype_info_of(dtype)->kind;
}

/* ---- the 16-bit floats ---- */

typedef struct small_float {
    int exponent_bits, fraction_bits;
} small_float;

static const small_float f16 = {5, 10}, bf16 = {8, 7};

static int bias_of(small_float format)
{
    return (1 << (format.exponent_bits - 1)) - 1;
}

static long double decode(small_float format, uint16_t code)
{
    int top = (1 << format.exponent_bits) - 1;
    int exponent = code >> format.fraction_bits & top;
    long double fraction = code & ((1 << format.fraction_bits) - 1);
    long double magnitude;
    if (exponent == top) magnitude = fraction == 0 ? HUGE_VALL : nanl("");
    else if (exponent == 0) magnitude = ldexpl(fraction, 1 - bias_of(format) - format.fraction_bits);
    else
        magnitude =
            ldexpl(ldexpl(1, format.fraction_bits) + fraction, exponent - bias_of(format) - format.fraction_bits);
    return copysignl(magnitude, code >> 15 ? -1 : 1);
}

/* Counts in ulps: a carry out of the fraction then propagates into the exponent, as it must. */
static uint16_t encode(small_float format, long double value)
{
    uint32_t sign = signbit(value) ? 0x8000 : 0;
    uint32_t infinity = ((1u << format.exponent_bits) - 1) << format.fraction_bits;
    if (isnan(value)) return (uint16_t)(sign | infinity | 1u << (format.fraction_bits - 1));
    if (isinf(value)) return (uint16_t)(sign | infinity);
    if (value == 0) return (uint16_t)sign;
    int exponent, least = 1 - bias_of(format);
    frexpl(value, &exponent);
    exponent = exponent - 1 < least ? least : exponent - 1;
    uint32_t units = (uint32_t)rintl(ldexpl(fabsl(value), format.fraction_bits - exponent));
    uint32_t code = units + ((uint32_t)(exponent - least) << format.fraction_bits);
    return (uint16_t)(sign | (code < infinity ? code : infinity));
}

/* ---- memory ---- */

#define LOAD(type) (*(const type *)data)
#define STORE(type, value) (*(type *)data = (type)(value))

weft_element weft_element_load(weft_dtype dtype, const void *data)
{
    switch (dtype) {
    case WEFT_BOOL: return (weft_element){.integer = LOAD(uint8_t) != 0};
    case WEFT_U8: return (weft_element){.integer = LOAD(uint8_t)};
    case WEFT_I32: return (weft_element){.integer = LOAD(int32_t)};
    case WEFT_U32: return (weft_element){.integer = LOAD(uint32_t)};
    case WEFT_I64: return (weft_element){.integer = LOAD(int64_t)};
    case WEFT_BF16: return (weft_element){.real = decode(bf16, LOAD(uint16_t))};
    case WEFT_F16: return (weft_element){.real = decode(f16, LOAD(uint16_t))};
    case WEFT_F32: return (weft_element){.real = LOAD(float)};
    case WEFT_F64: return (weft_element){.real = LOAD(double)};
    case WEFT_C64: return (weft_element){.number = LOAD(float complex)};
    case WEFT_C128: return (weft_element){.number = LOAD(double complex)};
    case WEFT_DTYPE_COUNT: break;
    }
    return (weft_element){.integer = 0};
}

void weft_element_store(weft_dtype dtype, weft_element element, void *data)
{
    switch (dtype) {
    case WEFT_BOOL: STORE(uint8_t, element.integer & 1); break;
    case WEFT_U8: STORE(uint8_t, element.integer); break;
    case WEFT_I32: STORE(int32_t, element.integer); break;
    case WEFT_U32: STORE(uint32_t, element.integer); break;
    case WEFT_I64: STORE(int64_t, element.integer); break;
    case WEFT_BF16: STORE(uint16_t, encode(bf16, element.real)); break;
    case WEFT_F16: STORE(uint16_t, encode(f16, element.real)); break;
    case WEFT_F32: STORE(float, element.real); break;
    case WEFT_F64: STORE(double, element.real); break;
    case WEFT_C64: STORE(float complex, element.number); break;
    case WEFT_C128: STORE(double complex, element.number); break;
    case WEFT_DTYPE_COUNT: break;
    }
}

/* ---- limits and casts ---- */

static int integer_bits(weft_dtype dtype)
{
    return dtype == WEFT_BOOL ? 1 : (int)(8 * weft_dtype_size(dtype));
}

/* All integer dtypes fit into int64. */
static int64_t least_integer(weft_dtype dtype)
{
    return weft_element_kind(dtype) == WEFT_KIND_SIGNED ? INT64_MIN >> (64 - integer_bits(dtype)) : 0;
}

static int64_t greatest_integer(weft_dtype dtype)
{
    int value_bits = integer_bits(dtype) - (weft_element_kind(dtype) == WEFT_KIND_SIGNED);
    return (int64_t)(((uint64_t)1 << value_bits) - 1);
}

static bool is_integer(weft_dtype_kind kind)
{
    return kind != WEFT_KIND_FLOAT && kind != WEFT_KIND_COMPLEX;
}

weft_element weft_element_least(weft_dtype dtype)
{
    if (is_integer(weft_element_kind(dtype))) return (weft_element){.integer = least_integer(dtype)};
    return (weft_element){.real = -HUGE_VALL};
}

weft_element weft_element_greatest(weft_dtype dtype)
{
    if (is_integer(weft_element_kind(dtype))) return (weft_element){.integer = greatest_integer(dtype)};
    return (weft_element){.real = HUGE_VALL};
}

static int64_t saturate(weft_dtype dtype, long double value)
{
    if (isnan(value)) return 0;
    if (value <= (long double)least_integer(dtype)) return least_integer(dtype);
    if (value >= (long double)greatest_integer(dtype)) return greatest_integer(dtype);
    return (int64_t)value;
}

static bool is_zero(weft_dtype_kind kind, weft_element element)
{
    if (kind == WEFT_KIND_COMPLEX) return element.number == 0;
    return kind == WEFT_KIND_FLOAT ? element.real == 0 : element.integer == 0;
}

static long double real_part(weft_dtype_kind kind, weft_element element)
{
    if (kind == WEFT_KIND_COMPLEX) return creall(element.number);
    return kind == WEFT_KIND_FLOAT ? element.real : (long double)element.integer;
}

weft_element weft_element_cast(weft_dtype from, weft_element element, weft_dtype to)
{
    weft_dtype_kind source = weft_element_kind(from), target = weft_element_kind(to);
    if (target == WEFT_KIND_BOOL) return (weft_element){.integer = !is_zero(source, element)};
    if (source == target || (is_integer(source) && is_integer(target))) return element;
    long double real = real_part(source, element);
    if (target == WEFT_KIND_COMPLEX) return (weft_element){.number = real};
    if (target == WEFT_KIND_FLOAT) return (weft_element){.real = real};
    return (weft_element){.integer = saturate(to, real)};
}
