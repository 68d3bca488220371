/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_V4_H
#define WEFT_RUNTIME_ENGINE_GEMM_V4_H
/* What kernels of products have in common, with AVX-512. */
#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

/* Of four registers in each 128 bits. */
INLINE void transpose_four(__m512 *v)
{
    __m512 a = _mm512_unpacklo_ps(v[0], v[1]), b = _mm512_unpackhi_ps(v[0], v[1]);
    __m512 c = _mm512_unpacklo_ps(v[2], v[3]), d = _mm512_unpackhi_ps(v[2], v[3]);
    v[0] = _mm512_shuffle_ps(a, c, 0x44);
    v[1] = _mm512_shuffle_ps(a, c, 0xee);
    v[2] = _mm512_shuffle_ps(b, d, 0x44);
    v[3] = _mm512_shuffle_ps(b, d, 0xee);
}

/* i * v, of complex numbers as pairs of lanes. */
INLINE __m512 times_i_float(__m512 v)
{
    return _mm512_xor_ps(_mm512_permute_ps(v, 0xb1), (__m512)_mm512_set1_epi64(0x80000000));
}

INLINE __m512d times_i_double(__m512d v)
{
    const int64_t sign = INT64_MIN;
    return _mm512_xor_pd(_mm512_permute_pd(v, 0x55), (__m512d)_mm512_setr_epi64(sign, 0, sign, 0, sign, 0, sign, 0));
}
#endif
