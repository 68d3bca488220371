/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_MATH_MATH_H
#define WEFT_LIB_MATH_MATH_H
/* Passes over kernels that leave only arithmetic that every backend has. */
#include <weft/program.h>
#include "lib/loop/loop.h"

/* Pass: arithmetic on complex numbers becomes arithmetic on their parts (complex.c). Same state in and out. */
weft_status *weft_kernel_expand_complex(weft_kernel *kernel) WEFT_MUST_USE;

/* Pass: arithmetic on 16-bit floats becomes arithmetic on f32 between casts (legalize_float16.c). Same state in and
 * out.
 */
weft_status *weft_kernel_legalize_float16(weft_kernel *kernel) WEFT_MUST_USE;

/* Whether `op` is a function that weft_kernel_lower_math expands. */
bool weft_scalar_is_math(weft_scalar_op op);
/* Pass: functions of math.def become arithmetic, fma, select and integer operations (math.c). Same state in and out. */
weft_status *weft_kernel_lower_math(weft_kernel *kernel, weft_function_policy policy) WEFT_MUST_USE;
#endif
