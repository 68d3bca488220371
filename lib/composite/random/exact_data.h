/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_COMPOSITE_RANDOM_EXACT_DATA_H
#define WEFT_LIB_COMPOSITE_RANDOM_EXACT_DATA_H
/* Written by constants.py. Coefficients, constant first. */

/* z / c over 0x1.72p-3 - c^2, which is not negative: error 2^-27.7. */
static const double single_middle_above[] = {
    0x1.b19a9a42d3b5fp+1, 0x1.d6ae0d9af31fap+5, 0x1.ee2d673cea81p+7, 0x1.5dde11fce07a7p+7, -0x1.a69ecdc9a9b4p+4};
static const double single_middle_below[] = {
    0x1.0p+0, 0x1.45fee1d8b909dp+4, 0x1.c07c480ace776p+6, 0x1.26c37489642b3p+7};

/* z / c over 0x1.72p-3 - c^2, which is not negative: error 2^-57.1. */
static const double double_middle_above[] = {
    0x1.b19a9a647d78cp+1, 0x1.1d08a0a2a3d9dp+7, 0x1.1fcb478b9e669p+11, 0x1.1903aca58ea39p+14, 0x1.12d17be8ba20ep+16,
    0x1.f83e6b9c296b5p+16, 0x1.647eda071099cp+16, 0x1.a6049d99285f1p+13, -0x1.21727918649a8p+9};
static const double double_middle_below[] = {
    0x1.0p+0, 0x1.689f03655ec1dp+5, 0x1.8c8db255abfddp+9, 0x1.afb0a0e8c8464p+12, 0x1.e7b11a142e1e8p+14,
    0x1.122cc121cc653p+16, 0x1.0b0b775ad7823p+16, 0x1.3a4b6291b069dp+14};

/* z over t = sqrt(-log(1/2 - c)) - 1.6, -0.0125 < t <= 3.2: error 2^-32.0. */
static const double single_tail_above[] = {
    0x1.6c665fe18156dp+0, 0x1.9cae1193b3dfap+1, 0x1.15ff9aed6f0c1p+1, 0x1.1258be260e0d5p-1, 0x1.4837f070f823ep-5};
static const double single_tail_below[] = {
    0x1.0p+0, 0x1.10b4176c0e5dep+0, 0x1.563ff7751c4bep-2, 0x1.cffc67fbb1f9ap-6};

/* z over t = sqrt(-log(1/2 - c)) - 1.6, -0.0125 < t <= 5.2: error 2^-55.3. */
static const double double_tail_above[] = {
    0x1.6c665fde9526bp+0, 0x1.2884298c93d94p+2, 0x1.73311e841cf9dp+2, 0x1.dcb83430fe376p+1, 0x1.598076596aa63p+0,
    0x1.1fb8b356e06a6p-2, 0x1.071247749d3cp-5, 0x1.cc39067ad201fp-10, 0x1.0e22036b83162p-15};
static const double double_tail_below[] = {
    0x1.0p+0, 0x1.070dcc7fbd884p+1, 0x1.b2075a6551992p+0, 0x1.711334e8b2c17p-1, 0x1.580db76b2f413p-3,
    0x1.55934a7f88ca7p-6, 0x1.3be8aa2026915p-10, 0x1.7e0417be90492p-16};

/* z over t = sqrt(-log(1/2 - c)) - 6.8, t <= 20.5: error 2^-63.2. */
static const double double_far_above[] = {
    0x1.290993cfdd6afp+3, 0x1.86180a315aac3p+2, 0x1.a34f1f1201fafp+0, 0x1.db8f380dabbdap-3, 0x1.31c5d1bcf0338p-6,
    0x1.bd93f15473ef2p-11, 0x1.5b3248cc01abep-16, 0x1.f77069da52c0ap-23, 0x1.e1deb4887908cp-31};
static const double double_far_below[] = {
    0x1.0p+0, 0x1.004b11c17d689p-1, 0x1.948c4c15fe271p-4, 0x1.4000bfba16174p-7, 0x1.0b1048eb6a62fp-11,
    0x1.c63a36202986cp-17, 0x1.5aef9bba57107p-23, 0x1.54bbaf317b99ap-31};

/* (log((1 + s) / (1 - s)) / s - 2) / s^2 over s^2, |s| <= 0.1716: error 2^-29.1. */
static const double single_log[] = {
    0x1.5555554bae5e4p-1, 0x1.9999eb792e453p-2, 0x1.245c3741a294p-2, 0x1.ddd171deebc7p-3};

/* (log((1 + s) / (1 - s)) / s - 2) / s^2 over s^2, |s| <= 0.1716: error 2^-50.9. */
static const double double_log[] = {
    0x1.5555555555558p-1, 0x1.99999999952b2p-2, 0x1.2492492df6947p-2, 0x1.c71c62debf86bp-3, 0x1.7462b69705382p-3,
    0x1.39fe208c33457p-3, 0x1.2b5b5fb2eac92p-3};

/* (exp(r) - 1 - r) / r^2, |r| <= 0.347: error 2^-28.4. */
static const double single_exp[] = {
    0x1.0000000ba5507p-1, 0x1.5555555a81e0ep-3, 0x1.5554e8888568p-5, 0x1.1110e0ba6338cp-7, 0x1.6d43d29bda4f5p-10,
    0x1.a1258c600f075p-13};

/* (exp(r) - 1 - r) / r^2, |r| <= 0.347: error 2^-57.6. */
static const double double_exp[] = {
    0x1.0p-1, 0x1.5555555555557p-3, 0x1.5555555555556p-5, 0x1.11111111100b6p-7, 0x1.6c16c16c162bfp-10,
    0x1.a01a01abfc8ddp-13, 0x1.a01a01a6e448ep-16, 0x1.71de01f07539bp-19, 0x1.27e4db3f36203p-22, 0x1.af4e70dd7207dp-26,
    0x1.1f7350a074034p-29};
#endif
