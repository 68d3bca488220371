/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_LOOP_MATH_CONSTANTS_H
#define WEFT_LIB_LOOP_MATH_CONSTANTS_H
/*
 * Constants of the math lowerings; only math.c includes this.
 *
 * Each polynomial was found here: a weighted minimax fit on the interval named (least squares on Chebyshev points,
 * reweighted after Lawson until the largest error is least, in 240-bit arithmetic), its first coefficients rounded to
 * the format one by one with the others fitted again, the rest rounded at the end. `error` is the largest relative
 * error of the function built on the rounded polynomial in exact arithmetic.
 */
#include <math.h>
#include <weft/dtype.h>

typedef struct math_format {
    weft_dtype real, integer;       /* of one size */
    unsigned fraction;              /* stored bits of the significand */
    int bias;
    double smallest_normal;
    uint64_t one, sqrt_half;        /* bits of these numbers */
    double log2_e, ln2;
    double ln2_high, ln2_low;       /* ln2_high times any exponent is exact; the sum is ln(2) */
    double exp_least, exp_most;     /* beyond them exp is 0 and infinity */
    double tanh_small, tanh_most;   /* up to the one the polynomial, beyond the other tanh is 1 */
    const double *exp, *log, *tanh; /* coefficients, constant first */
    size_t exp_count, log_count, tanh_count;
} math_format;

enum { MATH_MAX_EXP = 12 };

/* exp(r) on |r| <= 0.3467, 1 and r kept: error 2^-28.2. */
static const double single_exp[] = {
    0x1.0p+0, 0x1.0p+0, 0x1.fffffcp-2, 0x1.555492p-3, 0x1.5558a8p-5, 0x1.12398ap-7, 0x1.6a55e6p-10};

/* The same, error 2^-57.9. */
static const double double_exp[] = {
    0x1.0p+0, 0x1.0p+0, 0x1.000000000000ap-1, 0x1.5555555555505p-3, 0x1.55555555506a7p-5, 0x1.1111111124f2fp-7,
    0x1.6c16c1847efa8p-10, 0x1.a01a013974a19p-13, 0x1.a019994327bd2p-16, 0x1.71df03977a49fp-19,
    0x1.28ae1aa639038p-22, 0x1.adb4c563d6e85p-26};

/* (log(1 + f) - f) / f^2 on [sqrt(1/2) - 1, sqrt(2) - 1]: error 2^-27.8. */
static const double single_log[] = {
    -0x1.fffff8p-2, 0x1.55555p-2, -0x1.00043p-2, 0x1.99a3dap-3, -0x1.5425f2p-3, 0x1.22756p-3, -0x1.0f46fap-3,
    0x1.082c92p-3, -0x1.3794f8p-4};

/* The same, error 2^-56.6. */
static const double double_log[] = {
    -0x1.0000000000003p-1, 0x1.5555555555521p-2, -0x1.fffffffffdedep-3, 0x1.99999999a0dfap-3,
    -0x1.55555556e24a7p-3, 0x1.2492492281972p-3, -0x1.fffffef6fe6c4p-4, 0x1.c71c71c1a67dp-4,
    -0x1.9999c8ee07304p-4, 0x1.745d4792ec754p-4, -0x1.5550788a02a02p-4, 0x1.3b0aa10ca81dcp-4,
    -0x1.24dbf23082a63p-4, 0x1.11d9987299bd4p-4, -0x1.fb76baabb8408p-5, 0x1.cfaa7a676b4b5p-5,
    -0x1.d124e50dd817ap-5, 0x1.0b55743120c41p-4, -0x1.ebd0089183e32p-5, 0x1.accf2924f17bp-6};

/* (tanh(sqrt(z)) / sqrt(z) - 1) / z on [0, 0.9375^2]: error 2^-28.3. */
static const double single_tanh[] = {
    -0x1.55554ap-2, 0x1.110e6p-3, -0x1.b9ad0ap-5, 0x1.620ceap-6, -0x1.0b59ap-7, 0x1.454f6ap-9, -0x1.b67952p-12};

/* The same on [0, 0.55^2], error 2^-55.5. */
static const double double_tanh[] = {
    -0x1.555555555549ep-2, 0x1.11111111029bap-3, -0x1.ba1ba1ad73f5fp-5, 0x1.664f45c33bbf2p-6,
    -0x1.226ddd50c7a9ep-7, 0x1.d6c61eac68ap-9, -0x1.7cf3c6389acb7p-10, 0x1.2fa2b78aa2c5dp-11,
    -0x1.b90ad12048702p-13, 0x1.ac03d34ff2a52p-15};

static const math_format single_format = {
    .real = WEFT_F32, .integer = WEFT_I32, .fraction = 23, .bias = 127, .smallest_normal = 0x1p-126,
    .one = 0x3f800000, .sqrt_half = 0x3f3504f3,
    .log2_e = 0x1.715476p+0, .ln2 = 0x1.62e43p-1, .ln2_high = 0x1.62e4p-1, .ln2_low = 0x1.7f7d1cp-20,
    .exp_least = -104.0, .exp_most = 89.0, .tanh_small = 0.9375, .tanh_most = 9.5,
    .exp = single_exp, .exp_count = sizeof single_exp / sizeof *single_exp,
    .log = single_log, .log_count = sizeof single_log / sizeof *single_log,
    .tanh = single_tanh, .tanh_count = sizeof single_tanh / sizeof *single_tanh};

static const math_format double_format = {
    .real = WEFT_F64, .integer = WEFT_I64, .fraction = 52, .bias = 1023, .smallest_normal = 0x1p-1022,
    .one = 0x3ff0000000000000, .sqrt_half = 0x3fe6a09e667f3bcd,
    .log2_e = 0x1.71547652b82fep+0, .ln2 = 0x1.62e42fefa39efp-1,
    .ln2_high = 0x1.62e42fefa38p-1, .ln2_low = 0x1.ef35793c7673p-45,
    .exp_least = -746.0, .exp_most = 710.0, .tanh_small = 0.55, .tanh_most = 20.0,
    .exp = double_exp, .exp_count = sizeof double_exp / sizeof *double_exp,
    .log = double_log, .log_count = sizeof double_log / sizeof *double_log,
    .tanh = double_tanh, .tanh_count = sizeof double_tanh / sizeof *double_tanh};
#endif
