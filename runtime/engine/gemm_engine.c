/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm.h"
#include "runtime/engine/gemm_block.h"
#include "runtime/engine/gemm_float16.h"
#include "runtime/engine/level.h"

#define NUMBERS(dtype)                                                                                                 \
    static const weft_gemm_numbers numbers_##dtype = {weft_gemm_pack_##dtype, weft_gemm_block_bytes,                   \
                                                      weft_gemm_block_run, .repeats = weft_gemm_block_repeats,         \
                                                      .keep = weft_gemm_block_keep}

static const weft_gemm_numbers numbers_16 = {weft_gemm_pack_16, weft_gemm_float16_bytes, weft_gemm_float16_run};
NUMBERS(f32);
NUMBERS(f64);
NUMBERS(c64);
NUMBERS(c128);

/* `base`: the conversions of 16-bit floats. `c64`, `c128`: the kernels of complex numbers. */
#define ENGINES(level, base, c64, c128)                                                                                \
    const weft_gemm_engine weft_gemm_##level##_engine_f16 = {&weft_gemm_kernel_##level##_f32, &numbers_16,             \
                                                             &weft_f16_##base};                                        \
    const weft_gemm_engine weft_gemm_##level##_engine_bf16 = {&weft_gemm_kernel_##level##_f32, &numbers_16,            \
                                                              &weft_bf16_##base};                                      \
    const weft_gemm_engine weft_gemm_##level##_engine_f32 = {&weft_gemm_kernel_##level##_f32, &numbers_f32, NULL};     \
    const weft_gemm_engine weft_gemm_##level##_engine_f64 = {&weft_gemm_kernel_##level##_f64, &numbers_f64, NULL};     \
    const weft_gemm_engine weft_gemm_##level##_engine_c64 = {&weft_gemm_kernel_##c64, &numbers_c64, NULL};             \
    const weft_gemm_engine weft_gemm_##level##_engine_c128 = {&weft_gemm_kernel_##c128, &numbers_c128, NULL}

ENGINES(portable, base, portable_f32, portable_f64);
#if defined(__x86_64__)
ENGINES(v3, v3, v3_f32, v3_f64);
ENGINES(v4, v4, v4_c64, v4_c128);
#endif

/* Of all levels; and those that this one has besides. */
#define LEVEL(level, ...)                                                                                              \
    {                                                                                                                  \
        [WEFT_F16] = &weft_gemm_##level##_engine_f16, [WEFT_BF16] = &weft_gemm_##level##_engine_bf16,                  \
        [WEFT_F32] = &weft_gemm_##level##_engine_f32, [WEFT_F64] = &weft_gemm_##level##_engine_f64,                    \
        [WEFT_C64] = &weft_gemm_##level##_engine_c64, [WEFT_C128] = &weft_gemm_##level##_engine_c128, __VA_ARGS__      \
    }
#define BYTES(level) [WEFT_U8] = &weft_gemm_##level##_engine_u8

const weft_gemm_engine *weft_gemm_engine_find(weft_isa level, weft_dtype dtype)
{
    static const weft_gemm_engine *const levels[][WEFT_DTYPE_COUNT] =
        WEFT_BY_LEVEL(LEVEL(portable, ), LEVEL(v3, BYTES(v3)), LEVEL(v4, BYTES(v4)));
    return levels[level][dtype];
}
