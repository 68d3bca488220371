/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_KERNELS_H
#define WEFT_TEST_KERNELS_H
/*
 * Kernels of ops that have no lowering, for programs compiled ahead of time: families "outside", whose kernels are
 * linked with an object, and "inside", whose kernels come with it.
 */
#include <weft/extension.h>

/* y = a * x + what the attributes add up to, z = x in reverse order, through scratch memory and threads. */
weft_status *test_mix(const weft_kernel_context *context);
weft_status *test_mix_scratch(const weft_kernel_context *context, size_t *out_size);
/* A copy; DATA_ERROR for a number below zero. */
weft_status *test_positive(const weft_kernel_context *context);

const weft_extension *weft_test_outside(void);
const weft_extension *weft_test_inside(void); /* NULL without a compiler of bitcode */
#endif
