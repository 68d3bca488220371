/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_SQUARE_V4_H
#define WEFT_RUNTIME_ENGINE_GEMM_SQUARE_V4_H
/* What transposing squares of registers has in common, with AVX-512. */
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
#endif
