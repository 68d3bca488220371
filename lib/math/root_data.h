/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_MATH_ROOT_DATA_H
#define WEFT_LIB_MATH_ROOT_DATA_H
/*
 * Polynomials, written by constants.py, constant first. Those called single are for results that are floats. `error`
 * is relative, of the function built on the polynomial.
 */

/* ((1 + t)^(1/3) - 1) / t, |t| <= 0.1582, of floats: error 2^-30.0. */
static const double single_cbrt[] = {0x1.555558p-2,  -0x1.c71c7p-4, 0x1.f99516p-5,
                                     -0x1.511924p-5, 0x1.fcf376p-6, -0x1.88d6dap-6};

/* The same: error 2^-56.5. */
static const double double_cbrt[] = {
    0x1.5555555555557p-2,  -0x1.c71c71c71c26p-4,  0x1.f9add3c0c6e65p-5,  -0x1.511e8d2cf68bap-5, 0x1.ee71135ab7866p-6,
    -0x1.8090d297c8ecap-6, 0x1.3750a655466cbp-6,  -0x1.036f8705e642ap-6, 0x1.ba028b6233f4ap-7,  -0x1.7e4d14cbbfb21p-7,
    0x1.4fb0d6326fb6p-7,   -0x1.413e4ca13ca49p-7, 0x1.23a11a4e2797p-7};
#endif
