/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_PORTABLE_H
#define WEFT_RUNTIME_ENGINE_GEMM_PORTABLE_H
/* The kernel for processors without fused multiplications: the same sums as those of all others, which takes calls of
 * the C library. As weft_gemm_tile, for f32 or f64; numbers of a row are adjacent. */
#include "runtime/engine/gemm_kernel.h"

enum { WEFT_GEMM_PORTABLE_ROWS = 4, WEFT_GEMM_PORTABLE_COLUMNS = 8 };

void weft_gemm_portable_f32(int64_t terms, const float *left, const float *right, bool add, float *tile,
                            int64_t stride);
void weft_gemm_portable_f64(int64_t terms, const double *left, const double *right, bool add, double *tile,
                            int64_t stride);
#endif
