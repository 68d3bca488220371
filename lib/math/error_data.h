/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_MATH_ERROR_DATA_H
#define WEFT_LIB_MATH_ERROR_DATA_H
/*
 * Polynomials, written by constants.py, constant first, evaluated in single precision. `error` is absolute, of erf.
 */

/* erf(a) / a - 1 over a^2, a <= 7/8: error 2^-32.5. */
static const double single_erf_rest[] = {0x1.06eba81a17219p-3,  -0x1.812744e22993dp-2, 0x1.ce2e8a10b1d8dp-4,
                                         -0x1.b81a2903d2157p-6, 0x1.553fc8c79a63ap-8,  -0x1.aeae1aa65b734p-11,
                                         0x1.6c8020288965bp-14};

/* erfc(7/8 + t)^(1/2), t <= 25/8: error 2^-29.7. */
static const double single_erf_tail[] = {0x1.dbd459c5ea29bp-2,  -0x1.2117ade2e62dp-1,   0x1.35423e52f5c4fp-3,
                                         0x1.562e59473d76ep-4,  -0x1.6a1b8955a9243p-5,  -0x1.f7dee9650b9d1p-8,
                                         0x1.b86eb94fcfd7p-8,   0x1.ab39d4088b919p-10,  -0x1.1ab1f67cb482ap-9,
                                         0x1.72f052df7c0ccp-11, -0x1.c1316fd5c0c46p-14, 0x1.b32fb04361b56p-18};
#endif
