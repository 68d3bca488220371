/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_STEP_ZEROS_H
#define WEFT_RUNTIME_STEP_ZEROS_H
/* Terms of a product that change no bit of it: what a mask makes zero in the left operand. */
#include "runtime/engine/gemm.h"

/* Whether terms from `first` on change no bit of C = A * B but perhaps the sign of a zero: A is +0 there, and B finite.
 * Only of one product, of f32 or f64. */
bool weft_zeros_add_nothing(const weft_gemm_call *call, int64_t first, const void *a, const void *b);
/* Whether an element of C is -0, which such terms may make +0. */
bool weft_zeros_are_negative(const weft_gemm_call *call, const void *c);
#endif
