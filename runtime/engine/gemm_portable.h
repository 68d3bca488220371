/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_PORTABLE_H
#define WEFT_RUNTIME_ENGINE_GEMM_PORTABLE_H
/* The kernel for processors without fused multiplications: the same sums as those of all others, by functions (fma.h).
 * Numbers of a row are adjacent. */
#include "runtime/engine/gemm_kernel.h"

enum { WEFT_GEMM_PORTABLE_ROWS = 4, WEFT_GEMM_PORTABLE_COLUMNS = 8 };

weft_gemm_panels_function weft_gemm_portable_f32, weft_gemm_portable_f64;
#endif
