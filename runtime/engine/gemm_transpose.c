/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm_transpose.h"
#include "runtime/base/isa.h"

weft_gemm_transpose *weft_gemm_transpose_find(size_t size)
{
    static weft_gemm_transpose *const levels[][2] = {
        [WEFT_ISA_BASE] = {NULL, NULL},
        [WEFT_ISA_V2] = {NULL, NULL},
        [WEFT_ISA_V3] = {weft_gemm_transpose_v3_f32, weft_gemm_transpose_v3_f64},
        [WEFT_ISA_V4] = {weft_gemm_transpose_v4_f32, weft_gemm_transpose_v4_f64}};
    return levels[weft_isa_level()][size == sizeof(double)];
}
