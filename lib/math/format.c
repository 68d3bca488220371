/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/math/write.h"

const math_format weft_math_formats[MATH_FORMATS] = {
    [MATH_F32] = {.real = WEFT_F32,
                  .integer = WEFT_I32,
                  .fraction = 23,
                  .bias = 127,
                  .smallest_normal = 0x1p-126,
                  .epsilon = 0x1p-23,
                  .one = 0x3f800000,
                  .sqrt_half = 0x3f3504f3},
    [MATH_F64] = {.real = WEFT_F64,
                  .integer = WEFT_I64,
                  .fraction = 52,
                  .bias = 1023,
                  .smallest_normal = 0x1p-1022,
                  .epsilon = 0x1p-52,
                  .one = 0x3ff0000000000000,
                  .sqrt_half = 0x3fe6a09e667f3bcd},
};
