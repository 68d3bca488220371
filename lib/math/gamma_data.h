/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_MATH_GAMMA_DATA_H
#define WEFT_LIB_MATH_GAMMA_DATA_H
/*
 * Polynomials, written by constants.py, constant first. Those called single are for results that are floats. `error`
 * is relative, of the function built on the polynomial.
 */

/* ((sin(pi r) / (pi r) - 1) / r^2 + pi^2 / 6) / r^2 over r^2, |r| <= 1/2: error 2^-31.1. */
static const double single_sinpi[] = {0x1.9f9cb3dcba90cp-1, -0x1.86a8986772b7p-3, 0x1.ac3866edd76d2p-6,
                                      -0x1.29eeff6d77c09p-9};

/* The same: error 2^-58.1. */
static const double double_sinpi[] = {0x1.9f9cb402bc46cp-1,  -0x1.86a8e4720db65p-3, 0x1.ac6805cf34cdap-6,
                                      -0x1.33816aa423b5bp-9, 0x1.374719befaa3p-13,  -0x1.d424590c8494fp-18,
                                      0x1.0fb6b2b4d71d5p-22, -0x1.ea50cabd9d672p-28};

/* z (log(z!) - (z + 1/2) log(z) + z - log(2 pi) / 2) over z^-2, z >= 7.4, absolute: error 2^-36.0. */
static const double single_stirling[] = {0x1.5555554dd64b4p-4, -0x1.6c1324839027cp-9, 0x1.97caa18a8dc0ap-11};

/* The same: error 2^-60.5. */
static const double double_stirling[] = {0x1.5555555555555p-4,   -0x1.6c16c16c16981p-9, 0x1.a01a019d2eb44p-11,
                                         -0x1.38137c2cabc16p-11, 0x1.b94d93689eebcp-11, -0x1.f5a84860517e7p-10,
                                         0x1.92ec762998d6dp-8,   -0x1.43ddba36d1061p-6};

/* z^2 (digamma(1 + z) - log(z) - 1 / (2 z)) over z^-2, z >= 7.4, absolute: error 2^-36.1. */
static const double single_asymptotic[] = {-0x1.555555216936dp-4, 0x1.110aced9f0f11p-7, -0x1.f9b2ea07c9eb3p-9};

/* The same: error 2^-63.4. */
static const double double_asymptotic[] = {-0x1.5555555555555p-4, 0x1.11111111106a9p-7,  -0x1.041040fe302d6p-8,
                                           0x1.111106e70575dp-8,  -0x1.f0736be040c66p-8, 0x1.588f97daca098p-6,
                                           -0x1.43d75c2a2241fp-4, 0x1.20c52d11531a2p-2};
#endif
