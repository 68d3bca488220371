/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_MATH_LOG_DATA_H
#define WEFT_LIB_MATH_LOG_DATA_H
/*
 * Polynomials, written by constants.py, constant first. Those called single are for results that are floats. `error`
 * is relative, of the function built on the polynomial.
 */

/* (log(1 + r) - r) / r^2, -0.121 <= r <= 0.1343, of floats: error 2^-29.6. */
static const double single_log[] = {-0x1.000002p-1, 0x1.55554cp-2,  -0x1.fff172p-3,
                                    0x1.99b04ap-3,  -0x1.5c6efcp-3, 0x1.2268e8p-3};

/* The same: error 2^-57.5. */
static const double double_log[] = {
    -0x1.0000000000001p-1, 0x1.55555555554bbp-2,  -0x1.00000000001e3p-2, 0x1.99999999f3ac4p-3,  -0x1.55555552ef068p-3,
    0x1.249248960fc69p-3,  -0x1.0000030c1b7f2p-3, 0x1.c71d43f29595p-4,   -0x1.999698e46c8d5p-4, 0x1.740de692d4bf6p-4,
    -0x1.55eed0aab39c3p-4, 0x1.49d88fce2e6ddp-4,  -0x1.1e86177025772p-4};

/* (log(1 + r) - r) / r^2, -0.121 <= r <= 0.1343, over log(2), of floats: error 2^-29.5. */
static const double single_log2[] = {-0x1.715478p-1, 0x1.ec707ep-2,  -0x1.714b8ep-2,
                                     0x1.279248p-2,  -0x1.f62d92p-3, 0x1.9f92c6p-3};

/* The same: error 2^-57.6. */
static const double double_log2[] = {
    -0x1.71547652b82ffp-1, 0x1.ec709dc3a0322p-2,  -0x1.71547652b8a5bp-2, 0x1.2776c50f39e98p-2,  -0x1.ec709dbf50838p-3,
    0x1.a61761dc09e81p-3,  -0x1.71547b4c0a1cap-3, 0x1.484baa6ccc83ap-3,  -0x1.27746745df352p-3, 0x1.0c61a2bc66bep-3,
    -0x1.ed5fb0fbaeee9p-4, 0x1.dbd32e7ae0cddp-4,  -0x1.9c2b423abf2e4p-4};

/* (log(1 + r) - r) / r^2, -0.121 <= r <= 0.1343, over log(10), of floats: error 2^-29.7. */
static const double single_log10[] = {-0x1.bcb7b4p-3, 0x1.287a62p-3,  -0x1.bcabfp-4,
                                      0x1.63e788p-4,  -0x1.2e85bcp-4, 0x1.f4b818p-5};

/* The same: error 2^-57.7. */
static const double double_log10[] = {
    -0x1.bcb7b1526e50fp-3, 0x1.287a7636f42dcp-3,  -0x1.bcb7b1526f074p-4, 0x1.63c6277571de9p-4,  -0x1.287a7634205c1p-4,
    0x1.fc3fa520ec994p-5,  -0x1.bcb7b7a058a97p-5, 0x1.8b4ea7b6ad05cp-5,  -0x1.63c332096667ep-5, 0x1.4329f5e87ec41p-5,
    -0x1.290f36dad7455p-5, 0x1.1e76b159de6a6p-5,  -0x1.efa5c076cae11p-6};
#endif
