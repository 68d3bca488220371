/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_LOOP_BF16_H
#define WEFT_LIB_LOOP_BF16_H
/*
 * What is known of numbers of f32 that are rounded to bf16, their upper halves. A carry out of the lower half of a NaN
 * would make it another number; but NaNs that come from bf16, and those that processors make, have a lower half of
 * zeros, and so has what arithmetic makes of them.
 */
#include "lib/loop/loop.h"

enum {
    WEFT_BF16_EXACT = 1, /* the lower half is zero */
    WEFT_BF16_NAN = 2,   /* that of a NaN is */
    WEFT_BF16_QUIET = 4  /* a NaN is a quiet one */
};

/* The sum of these for each instruction of the kernel, in memory of `arena`; zero where it is neither f32 nor bf16. */
weft_status *weft_kernel_find_bf16(const weft_kernel *kernel, weft_arena *arena,
                                   const uint8_t **out_known) WEFT_MUST_USE;
#endif
