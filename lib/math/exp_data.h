/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_MATH_EXP_DATA_H
#define WEFT_LIB_MATH_EXP_DATA_H
/*
 * Polynomials, written by constants.py, constant first. Those called single are for results that are floats. `error`
 * is relative, of the function built on the polynomial.
 */

/* (exp(r) - 1 - r) / r^2, log(3/4) <= r <= log(3/2), of floats: error 2^-31.3. */
static const double single_expm1[] = {0x1.0p-1,      0x1.55555ap-3,  0x1.55552ap-5,
                                      0x1.110634p-7, 0x1.6cdbf8p-10, 0x1.b726dp-13};

/* The same: error 2^-58.9. */
static const double double_expm1[] = {0x1.0p-1,
                                      0x1.5555555555555p-3,
                                      0x1.55555555555bep-5,
                                      0x1.11111111115c1p-7,
                                      0x1.6c16c16bd1659p-10,
                                      0x1.a01a019e1095ep-13,
                                      0x1.a01a03b0bcc79p-16,
                                      0x1.71de379ebb32dp-19,
                                      0x1.27de61f706988p-22,
                                      0x1.aec5a3d3fc78dp-26,
                                      0x1.2e2503adf04c7p-29};

/* (exp(r) - 1) / r, |r| <= log(2) / 32, of floats, the second a little larger: the powers in the table that are least
 * accurate are too small: error 2^-27.9. */
static const double single_exp_row[] = {0x1.0p+0, 0x1.00036p-1, 0x1.555748p-3};

/* 2 (exp(r) - 1) / r, |r| <= log(2) / 16, of floats: error 2^-25.2. */
static const double fast_exp_row[] = {0x1.0p+1, 0x1.000882p+0, 0x1.555c86p-2};

/* (exp2(r) - 1) / r, |r| <= 1/32, of floats, the second a little larger: the powers in the table that are least
 * accurate are too small: error 2^-27.9. */
static const double single_exp2_row[] = {0x1.62e43p-1, 0x1.ec025cp-3, 0x1.c6ae0cp-5};

/* 2 (exp2(r) - 1) / r, |r| <= 1/16, of floats: error 2^-25.2. */
static const double fast_exp2_row[] = {0x1.62e43p+0, 0x1.ec0c38p-2, 0x1.c6b8e8p-4};

/* (sinh(r) / r - 1) / r^2 over r^2, |r| <= log(3/2), of floats: error 2^-34.1. */
static const double single_odd[] = {0x1.555556p-3, 0x1.110fep-7, 0x1.a28128p-13};

/* The same: error 2^-59.2. */
static const double double_odd[] = {0x1.5555555555555p-3,  0x1.1111111111113p-7,  0x1.a01a01a017e5dp-13,
                                    0x1.71de3a6309387p-19, 0x1.ae64070f9cab7p-26, 0x1.61f9fea64308dp-33};

/* (cosh(r) - 1) / r^2 over r^2, |r| <= log(3/2), of floats: error 2^-31.4. */
static const double single_even[] = {0x1.0p-1, 0x1.555482p-5, 0x1.6dc4f8p-10};

/* The same: error 2^-62.9. */
static const double double_even[] = {0x1.0p-1,
                                     0x1.555555555555dp-5,
                                     0x1.6c16c16c12cd1p-10,
                                     0x1.a01a01b9a16a1p-16,
                                     0x1.27e4b0faf8d78p-22,
                                     0x1.1fb5da5e287cfp-29};
#endif
