/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm.h"
#include "runtime/engine/gemm_kernel.h"
#include "runtime/engine/level.h"

const weft_gemm_engine weft_gemm_portable_engine_f16 = {&weft_gemm_kernel_portable_f32, &weft_f16_base};
const weft_gemm_engine weft_gemm_portable_engine_bf16 = {&weft_gemm_kernel_portable_f32, &weft_bf16_base};
const weft_gemm_engine weft_gemm_portable_engine_f32 = {&weft_gemm_kernel_portable_f32, NULL};
const weft_gemm_engine weft_gemm_portable_engine_f64 = {&weft_gemm_kernel_portable_f64, NULL};
#if defined(__x86_64__)
const weft_gemm_engine weft_gemm_v3_engine_f16 = {&weft_gemm_kernel_v3_f32, &weft_f16_v3};
const weft_gemm_engine weft_gemm_v3_engine_bf16 = {&weft_gemm_kernel_v3_f32, &weft_bf16_v3};
const weft_gemm_engine weft_gemm_v3_engine_f32 = {&weft_gemm_kernel_v3_f32, NULL};
const weft_gemm_engine weft_gemm_v3_engine_f64 = {&weft_gemm_kernel_v3_f64, NULL};
const weft_gemm_engine weft_gemm_v4_engine_f16 = {&weft_gemm_kernel_v4_f32, &weft_f16_v4};
const weft_gemm_engine weft_gemm_v4_engine_bf16 = {&weft_gemm_kernel_v4_f32, &weft_bf16_v4};
const weft_gemm_engine weft_gemm_v4_engine_f32 = {&weft_gemm_kernel_v4_f32, NULL};
const weft_gemm_engine weft_gemm_v4_engine_f64 = {&weft_gemm_kernel_v4_f64, NULL};
#endif

#define LEVEL(level)                                                                                                   \
    {                                                                                                                  \
        [WEFT_F16] = &weft_gemm_##level##_engine_f16, [WEFT_BF16] = &weft_gemm_##level##_engine_bf16,                  \
        [WEFT_F32] = &weft_gemm_##level##_engine_f32, [WEFT_F64] = &weft_gemm_##level##_engine_f64,                    \
        [WEFT_C64] = &weft_gemm_##level##_engine_f32, [WEFT_C128] = &weft_gemm_##level##_engine_f64                    \
    }

const weft_gemm_engine *weft_gemm_engine_find(weft_isa level, weft_dtype dtype)
{
    static const weft_gemm_engine *const levels[][WEFT_DTYPE_COUNT] =
        WEFT_BY_LEVEL(LEVEL(portable), LEVEL(v3), LEVEL(v4));
    return levels[level][dtype];
}
