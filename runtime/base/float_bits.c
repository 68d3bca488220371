/* SPDX-License-Identifier: Apache-2.0 */
/* Floats between formats by integers alone, as the caller's thread may flush denormals or round another way. */
#include "runtime/base/float_bits.h"
#include <string.h>

typedef struct float_format {
    int exponent_bits, fraction_bits;
} float_format;

static const float_format formats[WEFT_DTYPE_COUNT] = {
    [WEFT_BF16] = {8, 7}, [WEFT_F16] = {5, 10}, [WEFT_F32] = {8, 23}, [WEFT_F64] = {11, 52}};

static int bias_of(float_format format)
{
    return (1 << (format.exponent_bits - 1)) - 1;
}

static uint64_t infinity_of(float_format format)
{
    return (((uint64_t)1 << format.exponent_bits) - 1) << format.fraction_bits;
}

/* Half of the last place and more rounds up, to even where it is half. */
static uint64_t shift_right(uint64_t significand, int places)
{
    if (places > 63) return 0;
    if (places == 0) return significand;
    uint64_t kept = significand >> places, half = (uint64_t)1 << (places - 1), rest = significand & (2 * half - 1);
    return kept + (rest > half || (rest == half && (kept & 1) != 0));
}

uint64_t weft_float_encode(weft_dtype dtype, double value)
{
    const float_format wide = formats[WEFT_F64], format = formats[dtype];
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t sign = bits >> 63 << (format.exponent_bits + format.fraction_bits), size = bits & INT64_MAX;
    uint64_t infinity = infinity_of(format);
    if (size > infinity_of(wide)) return sign | infinity | (uint64_t)1 << (format.fraction_bits - 1);
    if (size == infinity_of(wide)) return sign | infinity;
    if (dtype == WEFT_F64) return bits;
    int exponent = (int)(size >> wide.fraction_bits) - bias_of(wide), least = 1 - bias_of(format);
    if (exponent < least - 64) return sign; /* also where the double is a denormal */
    int scale = exponent < least ? least : exponent;
    uint64_t one = (uint64_t)1 << wide.fraction_bits, significand = (size & (one - 1)) | one;
    /* In units of the last place; a carry out of the fraction moves into the exponent by itself. */
    uint64_t units = shift_right(significand, wide.fraction_bits - format.fraction_bits + scale - exponent);
    uint64_t code = units + ((uint64_t)(scale - least) << format.fraction_bits);
    return sign | (code < infinity ? code : infinity);
}

double weft_float_decode(weft_dtype dtype, uint64_t bits)
{
    const float_format wide = formats[WEFT_F64], format = formats[dtype];
    int width = format.exponent_bits + format.fraction_bits, more = wide.fraction_bits - format.fraction_bits;
    uint64_t sign = bits >> width << 63, size = bits & (((uint64_t)1 << width) - 1), result;
    uint64_t one = (uint64_t)1 << format.fraction_bits, rebias = (uint64_t)(bias_of(wide) - bias_of(format));
    if (dtype == WEFT_F64 || size == 0) {
        result = size;
    } else if (size >= infinity_of(format)) {
        result = infinity_of(wide) | (size & (one - 1)) << more;
    } else if (size >= one) {
        result = (size << more) + (rebias << wide.fraction_bits);
    } else {
        int places = __builtin_clzll(size) - __builtin_clzll(one);
        result = (size << (places + more)) + ((rebias - (uint64_t)places) << wide.fraction_bits);
    }
    double value;
    result |= sign;
    memcpy(&value, &result, sizeof value);
    return value;
}
