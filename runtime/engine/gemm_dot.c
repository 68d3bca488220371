/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products by instructions that add several of them to each lane: two of bf16 (AVX512_BF16), in f32, with denormals
 * taken for zero, or four of u8 by bytes with a sign (AVX512_VNNI), in i32. Of the right factor 128 was taken, so a sum
 * begins with 128 times those of the left one.
 */
#include <immintrin.h>
#include "runtime/engine/gemm.h"

#define VECTOR __m512i
#define LOAD _mm512_load_si512
#define STORE _mm512_store_si512
#define SPLAT _mm512_set1_epi32
#define ROWS 8
#define VECTORS 2
#define CASES CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8)
#include "runtime/engine/gemm_pairs_vector.h"

INLINE __m512i add_bf16(__m512i sum, __m512i left, __m512i right)
{
    return (__m512i)_mm512_dpbf16_ps((__m512)sum, (__m512bh)left, (__m512bh)right);
}

INLINE __m512i add_u8(__m512i sum, __m512i left, __m512i right)
{
    return _mm512_dpbusd_epi32(sum, left, right);
}

MULTIPLY(multiply_bf16, add_bf16)
MULTIPLY(multiply_u8, add_u8)

static const weft_gemm_pairs bf16 = WEFT_PAIRS_BF16(multiply_bf16), u8 = WEFT_PAIRS_U8(multiply_u8);
ENGINE(weft_gemm_dot_engine_bf16, sizeof(uint16_t), 2, weft_gemm_pack_16, &weft_gemm_pairs_float16, bf16);
ENGINE(weft_gemm_dot_engine_u8, sizeof(uint8_t), 4, weft_gemm_pack_8, NULL, u8);
