/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_MATH_EXTENDED_DATA_H
#define WEFT_LIB_MATH_EXTENDED_DATA_H
/*
 * Polynomials, written by constants.py, constant first. Those called single are for results that are floats. `error`
 * is relative, of the function built on the polynomial.
 */

/* (exp(r) - 1 - r) / r^2, |r| <= 0.3467: error 2^-32.5. */
static const double single_growth[] = {0x1.0000000b95df5p-1, 0x1.5555555a7b04dp-3,  0x1.5554e8e8cf598p-5,
                                       0x1.1110e0e528fc9p-7, 0x1.6d434d32cc595p-10, 0x1.a12515da60daep-13};

/* The same: error 2^-56.1. */
static const double double_growth[] = {
    0x1.0000000000001p-1, 0x1.5555555555556p-3,  0x1.5555555553d56p-5,  0x1.11111111109afp-7,  0x1.6c16c17890eb4p-10,
    0x1.a01a01a7c73cp-13, 0x1.a019b8f9792eep-16, 0x1.71de0da24602dp-19, 0x1.28919ccaf9211p-22, 0x1.af38c67fbb53ep-26};

/* (log(1 + r) - r + r^2 / 2) / r^3, |r| <= 0.0125, absolute: error 2^-34.9. */
static const double single_log_rest[] = {0x1.55596df7c5183p-2, -0x1.000369dd52443p-2};

/* The same: error 2^-74.6. */
static const double double_log_rest[] = {0x1.5555555555555p-2, -0x1.0p-2,
                                         0x1.999999999a5cep-3, -0x1.5555555556085p-3,
                                         0x1.249248c53941p-3,  -0x1.ffffff5131f85p-4,
                                         0x1.c73a3d2beeb09p-4, -0x1.99b4e964e991cp-4};
#endif
