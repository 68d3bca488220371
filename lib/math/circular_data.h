/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_MATH_CIRCULAR_DATA_H
#define WEFT_LIB_MATH_CIRCULAR_DATA_H
/*
 * Polynomials, written by constants.py, constant first. Those called single are for results that are floats. `error`
 * is relative, of the function built on the polynomial.
 */

/* (sin(r) / r - 1) / r^2 over r^2, |r| <= 0.789, of floats: error 2^-27.9. */
static const double single_sin[] = {-0x1.555546p-3, 0x1.11077p-7, -0x1.994f36p-13};

/* The same, |r| <= 0.786: error 2^-57.3. */
static const double double_sin[] = {-0x1.5555555555555p-3, 0x1.111111111111p-7,    -0x1.a01a01a019926p-13,
                                    0x1.71de3a545e704p-19, -0x1.ae64540f0c1bcp-26, 0x1.61217c18c5ad8p-33,
                                    -0x1.ab161790d481ep-41};

/* (cos(r) - 1) / r^2 over r^2, |r| <= 0.789, of floats: error 2^-32.9. */
static const double single_cos[] = {-0x1.0p-1, 0x1.55554ap-5, -0x1.6c0c22p-10, 0x1.99e512p-16};

/* (cos(r) - 1 + r^2 / 2) / r^4 over r^2, |r| <= 0.786: error 2^-60.0. */
static const double double_cos[] = {0x1.5555555555555p-5,   -0x1.6c16c16c1696p-10, 0x1.a01a019f4d0fp-16,
                                    -0x1.27e4fa15bdc69p-22, 0x1.1eeb66b6cb12cp-29, -0x1.907c0e977e8bdp-37};

/* sin(t pi/2) / t over t^2, |t| <= 1.063: error 2^-34.0. */
static const double single_half_turn[] = {0x1.921fb54405b0ep+0,  -0x1.4abbce43ec85ap-1, 0x1.466bbca30e7c7p-4,
                                          -0x1.32d079e21ff6ep-8, 0x1.4ff8c76b019b7p-13, -0x1.c9c3cb9c182f7p-19};

/* (tan(r) / r - 1) / r^2 over r^2, |r| <= 0.789, of floats: error 2^-29.3. */
static const double single_tangent[] = {0x1.555562p-2, 0x1.110d1cp-3,   0x1.baf014p-5, 0x1.5bde5ap-6,
                                        0x1.67549cp-7, -0x1.3ef598p-14, 0x1.242d62p-8};

/* (2 tan(r / 2) / r - 1) / r^2 over r^2, |r| <= 0.786: error 2^-56.5. */
static const double double_half_tangent[] = {0x1.5555555555556p-4,  0x1.11111111109c2p-7,  0x1.ba1ba1bb5663bp-11,
                                             0x1.664f47dffb98bp-14, 0x1.226e5f6fb9956p-17, 0x1.d6c7a49798c0fp-21,
                                             0x1.7eaabf396fec5p-24, 0x1.2884188168bd1p-27, 0x1.4ea8504632308p-30};
#endif
