/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_TRANSPOSE_H
#define WEFT_RUNTIME_ENGINE_GEMM_TRANSPOSE_H
/* Lines of numbers that are adjacent in memory, packed into a panel. */
#include <weft/base.h>

/* Lines that are transposed at once: as many as tiles and panels of all kernels have. */
#define WEFT_GEMM_MOST_LINES 64

/* out[t * width + i] = number `t` of line `i`, which begins `offsets[i]` bytes from `from`. `terms` numbers of each of
 * `lines` lines. Touches these alone. */
typedef void weft_gemm_transpose(const char *from, const ptrdiff_t *offsets, int64_t lines, int64_t terms, char *out,
                                 int64_t width);
extern weft_gemm_transpose weft_gemm_transpose_any_f32, weft_gemm_transpose_any_f64; /* gemm_pack_panel.c */
extern weft_gemm_transpose weft_gemm_transpose_v3_f32, weft_gemm_transpose_v3_f64;
extern weft_gemm_transpose weft_gemm_transpose_v4_f32, weft_gemm_transpose_v4_f64;
extern weft_gemm_transpose weft_gemm_transpose_v4_f16, weft_gemm_transpose_v4_bf16; /* these become f32 */
#endif
