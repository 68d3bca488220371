/* SPDX-License-Identifier: Apache-2.0 */
/* A double as one element of any dtype, converted as the op `cast` converts. */
#include "lib/graph/scalar.h"
#include <math.h>
#include <string.h>
#include "runtime/base/float_bits.h"

static int64_t to_integer(double value, double least, double most, int64_t if_most)
{
    if (isnan(value)) return 0;
    if (value <= least) return (int64_t)least;
    return value >= most ? if_most : (int64_t)value;
}

#define STORE(type, expression)                                                                                        \
    do {                                                                                                               \
        type element_ = (type)(expression);                                                                            \
        memcpy(out_element, &element_, sizeof element_);                                                               \
    } while (0)

void weft_scalar_store(weft_dtype dtype, double value, void *out_element)
{
    switch (dtype) {
    case WEFT_BOOL: STORE(uint8_t, weft_float_encode(WEFT_F64, fabs(value)) != 0); break;
    case WEFT_U8: STORE(uint8_t, to_integer(value, 0, UINT8_MAX, UINT8_MAX)); break;
    case WEFT_I32: STORE(int32_t, to_integer(value, INT32_MIN, INT32_MAX, INT32_MAX)); break;
    case WEFT_U32: STORE(uint32_t, to_integer(value, 0, UINT32_MAX, UINT32_MAX)); break;
    case WEFT_I64: STORE(int64_t, to_integer(value, -0x1p63, 0x1p63, INT64_MAX)); break;
    case WEFT_BF16:
    case WEFT_F16: STORE(uint16_t, weft_float_encode(dtype, value)); break;
    case WEFT_F32:
    case WEFT_C64: STORE(uint32_t, weft_float_encode(WEFT_F32, value)); break;
    case WEFT_F64:
    case WEFT_C128: STORE(double, value); break;
    case WEFT_DTYPE_COUNT: break;
    }
}
