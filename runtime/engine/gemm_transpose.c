/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm_transpose.h"
#include "runtime/engine/level.h"

weft_gemm_transpose *weft_gemm_transpose_find(size_t size)
{
    static weft_gemm_transpose *const f32[] =
        WEFT_BY_LEVEL(NULL, weft_gemm_transpose_v3_f32, weft_gemm_transpose_v4_f32);
    static weft_gemm_transpose *const f64[] =
        WEFT_BY_LEVEL(NULL, weft_gemm_transpose_v3_f64, weft_gemm_transpose_v4_f64);
    return (size == sizeof(double) ? f64 : f32)[weft_isa_level()];
}
