/* SPDX-License-Identifier: Apache-2.0 */
/* Panels of lines that are adjacent in memory, with AVX-512. */
#include "runtime/engine/gemm_transpose.h"
#include "runtime/engine/gemm_v4.h"
#include "runtime/engine/vector.h"

#define FIRST(n) ((1U << (n)) - 1)

/* Of the quarters of four registers. */
INLINE void transpose_quarters(__m512 *a, __m512 *b, __m512 *c, __m512 *d)
{
    __m512 even = _mm512_shuffle_f32x4(*a, *b, 0x88), odd = _mm512_shuffle_f32x4(*a, *b, 0xdd);
    __m512 even2 = _mm512_shuffle_f32x4(*c, *d, 0x88), odd2 = _mm512_shuffle_f32x4(*c, *d, 0xdd);
    *a = _mm512_shuffle_f32x4(even, even2, 0x88);
    *b = _mm512_shuffle_f32x4(odd, odd2, 0x88);
    *c = _mm512_shuffle_f32x4(even, even2, 0xdd);
    *d = _mm512_shuffle_f32x4(odd, odd2, 0xdd);
}

INLINE void transpose_float(__m512 *v)
{
    UNROLL for (int i = 0; i < 16; i += 4) transpose_four(v + i);
    UNROLL for (int i = 0; i < 4; i++) transpose_quarters(&v[i], &v[4 + i], &v[8 + i], &v[12 + i]);
}

INLINE void transpose_double(__m512d *v)
{
    __m512d w[8];
    UNROLL for (int i = 0; i < 8; i += 2)
    {
        w[i] = _mm512_unpacklo_pd(v[i], v[i + 1]);
        w[i + 1] = _mm512_unpackhi_pd(v[i], v[i + 1]);
    }
    UNROLL for (int i = 0; i < 2; i++)
    {
        __m512d even = _mm512_shuffle_f64x2(w[i], w[2 + i], 0x88), odd = _mm512_shuffle_f64x2(w[i], w[2 + i], 0xdd);
        __m512d even2 = _mm512_shuffle_f64x2(w[4 + i], w[6 + i], 0x88),
                odd2 = _mm512_shuffle_f64x2(w[4 + i], w[6 + i], 0xdd);
        v[i] = _mm512_shuffle_f64x2(even, even2, 0x88);
        v[2 + i] = _mm512_shuffle_f64x2(odd, odd2, 0x88);
        v[4 + i] = _mm512_shuffle_f64x2(even, even2, 0xdd);
        v[6 + i] = _mm512_shuffle_f64x2(odd, odd2, 0xdd);
    }
}

/* Numbers of 16 bits, at any address. */
typedef uint16_t any_code __attribute__((aligned(1), may_alias));

INLINE __m512 bf16_of(__m256i codes)
{
    return (__m512)_mm512_slli_epi32(_mm512_cvtepu16_epi32(codes), 16);
}

#define SOURCE any_float
#define ELEMENT any_float
#define NAME(x) x##_float
#define FUNCTION weft_gemm_transpose_v4_f32
#define VECTOR __m512
#define LOAD(p) _mm512_loadu_ps((const float *)(p))
#define LOAD_FIRST(p, n) _mm512_maskz_loadu_ps((__mmask16)FIRST(n), p)
#define STORE(p, v) _mm512_storeu_ps((float *)(p), v)
#define STORE_FIRST(p, v, n) _mm512_mask_storeu_ps(p, (__mmask16)FIRST(n), v)
#define TRANSPOSE transpose_float
#include "runtime/engine/gemm_transpose_vector.h"

#define SOURCE any_code
#define ELEMENT any_float
#define NAME(x) x##_bf16
#define FUNCTION weft_gemm_transpose_v4_bf16
#define VECTOR __m512
#define LOAD(p) bf16_of(_mm256_loadu_si256((const __m256i_u *)(p)))
#define LOAD_FIRST(p, n) bf16_of(_mm256_maskz_loadu_epi16((__mmask16)FIRST(n), p))
#define STORE(p, v) _mm512_storeu_ps((float *)(p), v)
#define STORE_FIRST(p, v, n) _mm512_mask_storeu_ps(p, (__mmask16)FIRST(n), v)
#define TRANSPOSE transpose_float
#include "runtime/engine/gemm_transpose_vector.h"

#define SOURCE any_code
#define ELEMENT any_float
#define NAME(x) x##_f16
#define FUNCTION weft_gemm_transpose_v4_f16
#define VECTOR __m512
#define LOAD(p) _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i_u *)(p)))
#define LOAD_FIRST(p, n) _mm512_cvtph_ps(_mm256_maskz_loadu_epi16((__mmask16)FIRST(n), p))
#define STORE(p, v) _mm512_storeu_ps((float *)(p), v)
#define STORE_FIRST(p, v, n) _mm512_mask_storeu_ps(p, (__mmask16)FIRST(n), v)
#define TRANSPOSE transpose_float
#include "runtime/engine/gemm_transpose_vector.h"

#define SOURCE any_double
#define ELEMENT any_double
#define NAME(x) x##_double
#define FUNCTION weft_gemm_transpose_v4_f64
#define VECTOR __m512d
#define LOAD(p) _mm512_loadu_pd((const double *)(p))
#define LOAD_FIRST(p, n) _mm512_maskz_loadu_pd((__mmask8)FIRST(n), p)
#define STORE(p, v) _mm512_storeu_pd((double *)(p), v)
#define STORE_FIRST(p, v, n) _mm512_mask_storeu_pd(p, (__mmask8)FIRST(n), v)
#define TRANSPOSE transpose_double
#include "runtime/engine/gemm_transpose_vector.h"
