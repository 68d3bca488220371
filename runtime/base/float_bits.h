/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_BASE_FLOAT_BITS_H
#define WEFT_RUNTIME_BASE_FLOAT_BITS_H
#include <weft/dtype.h>
#include <string.h>

static inline bool weft_dtype_is_float16(weft_dtype dtype)
{
    return dtype == WEFT_F16 || dtype == WEFT_BF16;
}

/* The bits of a double, and back. */
static inline uint64_t weft_bits_of_f64(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double weft_f64_of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The dtype in which sums and products of `dtype` are accumulated. */
static inline weft_dtype weft_accumulator_dtype(weft_dtype dtype)
{
    return weft_dtype_is_float16(dtype) ? WEFT_F32 : dtype;
}

/* The element of F16, BF16, F32 or F64 nearest to `value`, ties to even, in the low bytes; NaN has its sign and no
 * payload. Whatever the thread does with floats. */
uint64_t weft_float_encode(weft_dtype dtype, double value);
/* The value of such an element. */
double weft_float_decode(weft_dtype dtype, uint64_t bits);
#endif
