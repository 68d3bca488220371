/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_MATH_INVERSE_DATA_H
#define WEFT_LIB_MATH_INVERSE_DATA_H
/*
 * Polynomials, written by constants.py, constant first. Those called single are for results that are floats. `error`
 * is relative, of the function built on the polynomial.
 */

/* (atan(r) / r - 1) / r^2 over r^2, |r| <= 1, of floats: error 2^-31.1. */
static const double single_atan[] = {-0x1.555552p-2, 0x1.99981cp-3,  -0x1.24762p-3, 0x1.c5117p-4,   -0x1.6953bcp-4,
                                     0x1.150ap-4,    -0x1.7080bap-5, 0x1.75304p-6,  -0x1.e6a0ecp-8, 0x1.29687ep-10};

/* The same: error 2^-55.2. */
static const double double_atan[] = {
    -0x1.5555555555555p-2,  0x1.999999999997dp-3,  -0x1.2492492491234p-3, 0x1.c71c71c6882cdp-4,  -0x1.745d1731e853fp-4,
    0x1.3b13af957f086p-4,   -0x1.1110f9a06b09dp-4, 0x1.e1e0069edf96ep-5,  -0x1.af1a76061e434p-5, 0x1.85c82bf04fbd6p-5,
    -0x1.62c464c86804fp-5,  0x1.42a843b89b0ebp-5,  -0x1.20f157ad652dfp-5, 0x1.f0f041d3e2f5p-6,   -0x1.8c59dbc673323p-6,
    0x1.198ad7e0bd0c6p-6,   -0x1.552f78ddf9b3p-7,  0x1.50ea3497605b5p-8,  -0x1.0110cfd66bd22p-9, 0x1.19e6b726893dp-11,
    -0x1.890e58e18ff08p-14, 0x1.04a3628aee536p-17};

/* (asin(r) / r - 1) / r^2 over r^2, |r| <= 1/2, of floats: error 2^-27.6. */
static const double single_asin[] = {0x1.5555c8p-3, 0x1.33020cp-4, 0x1.747aa4p-5, 0x1.8c4a44p-6, 0x1.5951aep-5};

/* The same: error 2^-57.4. */
static const double double_asin[] = {
    0x1.5555555555556p-3, 0x1.3333333332ecap-4,  0x1.6db6db6e31f13p-5, 0x1.f1c71c1db0623p-6, 0x1.6e8bb1c8209a2p-6,
    0x1.1c4d35cf95421p-6, 0x1.c9cf07674736ap-7,  0x1.782651caa6547p-7, 0x1.52420b04b37bep-7, 0x1.65a9c4dfcf8b2p-8,
    0x1.1d189408314eep-6, -0x1.e6aaa8a0a04ccp-7, 0x1.d72b2bc8155f8p-6};
#endif
