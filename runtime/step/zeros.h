/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_STEP_ZEROS_H
#define WEFT_RUNTIME_STEP_ZEROS_H
/*
 * Terms of a product that change no bit of it: what a mask makes zero in the left operand. In one product of floats
 * terms of C = A * B from some one on change no bit, except perhaps the sign of a zero, if A is +0 there and B finite.
 */
#include "runtime/engine/gemm.h"

/* Whether A is +0 in its last term, where all of these are the same in a row. */
bool weft_zeros_end_rows(const weft_gemm_call *call, const void *a);
/* Whether B is finite from that term on. */
bool weft_zeros_meet_numbers(const weft_gemm_call *call, int64_t first, const void *b);
/* Whether an element of C is -0, which such terms may make +0. */
bool weft_zeros_are_negative(const weft_gemm_call *call, const void *c);
#endif
