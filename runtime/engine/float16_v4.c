/* SPDX-License-Identifier: Apache-2.0 */
/* 16-bit floats with AVX-512, a register of f32 at a time; masks take what does not fill one. */
#include "runtime/engine/float16.h"
#include "runtime/engine/gemm_v4.h"

enum { LANES = 16, SIZE = sizeof(uint16_t) };

INLINE __m512 widen_bf16(__m256i codes)
{
    return (__m512)_mm512_slli_epi32(_mm512_cvtepu16_epi32(codes), 16);
}

INLINE __m256i round_bf16(__m512 x)
{
    const __m512i bits = (__m512i)x, upper = _mm512_srli_epi32(bits, 16);
    __m512i odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
    __m512i nearest = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    __m512i code = _mm512_mask_or_epi32(_mm512_srli_epi32(nearest, 16), is_nan, upper, _mm512_set1_epi32(0x40));
    return _mm512_cvtepi32_epi16(code);
}

INLINE __m512 widen_f16(__m256i codes)
{
    return _mm512_cvtph_ps(codes);
}

INLINE __m256i round_f16(__m512 x)
{
    return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* Inlined with a constant function, as what follows. */
INLINE void widen_run(const char *from, float *to, int64_t count, __m512 (*widen)(__m256i))
{
    for (; count >= LANES; count -= LANES, from += LANES * SIZE, to += LANES)
        _mm512_storeu_ps(to, widen(_mm256_loadu_si256((const __m256i_u *)from)));
    const __mmask16 first = (__mmask16)((1U << count) - 1);
    if (count > 0) _mm512_mask_storeu_ps(to, first, widen(_mm256_maskz_loadu_epi16(first, from)));
}

INLINE void round_run(const float *from, char *to, int64_t count, __m256i (*round)(__m512))
{
    for (; count >= LANES; count -= LANES, from += LANES, to += LANES * SIZE)
        _mm256_storeu_si256((__m256i_u *)to, round(_mm512_loadu_ps(from)));
    const __mmask16 first = (__mmask16)((1U << count) - 1);
    if (count > 0) _mm256_mask_storeu_epi16(to, first, round(_mm512_maskz_loadu_ps(first, from)));
}

#define CONVERSIONS(dtype)                                                                                             \
    static void widen_all_##dtype(const char *from, float *to, int64_t count)                                          \
    {                                                                                                                  \
        widen_run(from, to, count, widen_##dtype);                                                                     \
    }                                                                                                                  \
    static void widen_rows_##dtype(const char *from, ptrdiff_t stride, float *to, int64_t pitch, int64_t rows,         \
                                   int64_t count)                                                                      \
    {                                                                                                                  \
        for (int64_t i = 0; i < rows; i++, from += stride, to += pitch) widen_run(from, to, count, widen_##dtype);     \
    }                                                                                                                  \
    static void round_all_##dtype(const float *from, char *to, int64_t count)                                          \
    {                                                                                                                  \
        round_run(from, to, count, round_##dtype);                                                                     \
    }                                                                                                                  \
    const weft_float16 weft_##dtype##_v4 = {.widen = widen_all_##dtype,                                                \
                                            .widen_rows = widen_rows_##dtype,                                          \
                                            .transpose = weft_gemm_transpose_v4_##dtype,                               \
                                            .round = round_all_##dtype}

CONVERSIONS(f16);
CONVERSIONS(bf16);
