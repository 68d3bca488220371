/* SPDX-License-Identifier: Apache-2.0 */
/* Panels of lines that are adjacent in memory, with AVX2. */
#include <immintrin.h>
#include "runtime/engine/gemm_transpose.h"
#include "runtime/engine/vector.h"

/* The first n lanes, of 32 bits each. */
static inline __m256i first(int64_t n)
{
    static const int32_t lanes[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return _mm256_loadu_si256((const __m256i *)(lanes + 8 - n));
}

/* Halves instead of a masked store, which takes some forty operations on processors of AMD. */
static inline void store_first_float(float *p, __m256 v, int64_t n)
{
    __m128 x = _mm256_castps256_ps128(v);
    if (n & 4) {
        _mm_storeu_ps(p, x);
        x = _mm256_extractf128_ps(v, 1);
        p += 4;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)p, x);
        x = _mm_movehl_ps(x, x);
        p += 2;
    }
    if (n & 1) _mm_store_ss(p, x);
}

static inline void store_first_double(double *p, __m256d v, int64_t n)
{
    __m128d x = _mm256_castpd256_pd128(v);
    if (n & 2) {
        _mm_storeu_pd(p, x);
        x = _mm256_extractf128_pd(v, 1);
        p += 2;
    }
    if (n & 1) _mm_store_sd(p, x);
}

static inline __attribute__((always_inline)) void transpose_four(__m256 *v)
{
    __m256 a = _mm256_unpacklo_ps(v[0], v[1]), b = _mm256_unpackhi_ps(v[0], v[1]);
    __m256 c = _mm256_unpacklo_ps(v[2], v[3]), d = _mm256_unpackhi_ps(v[2], v[3]);
    v[0] = _mm256_shuffle_ps(a, c, 0x44);
    v[1] = _mm256_shuffle_ps(a, c, 0xee);
    v[2] = _mm256_shuffle_ps(b, d, 0x44);
    v[3] = _mm256_shuffle_ps(b, d, 0xee);
}

static inline __attribute__((always_inline)) void exchange_halves(__m256 *a, __m256 *b)
{
    __m256 low = _mm256_permute2f128_ps(*a, *b, 0x20);
    *b = _mm256_permute2f128_ps(*a, *b, 0x31);
    *a = low;
}

static inline __attribute__((always_inline)) void transpose_float(__m256 *v)
{
    transpose_four(v);
    transpose_four(v + 4);
    exchange_halves(&v[0], &v[4]);
    exchange_halves(&v[1], &v[5]);
    exchange_halves(&v[2], &v[6]);
    exchange_halves(&v[3], &v[7]);
}

static inline __attribute__((always_inline)) void transpose_double(__m256d *v)
{
    __m256d a = _mm256_unpacklo_pd(v[0], v[1]), b = _mm256_unpackhi_pd(v[0], v[1]);
    __m256d c = _mm256_unpacklo_pd(v[2], v[3]), d = _mm256_unpackhi_pd(v[2], v[3]);
    v[0] = _mm256_permute2f128_pd(a, c, 0x20);
    v[1] = _mm256_permute2f128_pd(b, d, 0x20);
    v[2] = _mm256_permute2f128_pd(a, c, 0x31);
    v[3] = _mm256_permute2f128_pd(b, d, 0x31);
}

#define SOURCE any_float
#define ELEMENT any_float
#define NAME(x) x##_float
#define FUNCTION weft_gemm_transpose_v3_f32
#define VECTOR __m256
#define LOAD(p) _mm256_loadu_ps((const float *)(p))
#define LOAD_FIRST(p, n) _mm256_maskload_ps((const float *)(p), first(n))
#define STORE(p, v) _mm256_storeu_ps((float *)(p), v)
#define STORE_FIRST(p, v, n) store_first_float((float *)(p), v, n)
#define TRANSPOSE transpose_float
#include "runtime/engine/gemm_transpose_vector.h"

#define SOURCE any_double
#define ELEMENT any_double
#define NAME(x) x##_double
#define FUNCTION weft_gemm_transpose_v3_f64
#define VECTOR __m256d
#define LOAD(p) _mm256_loadu_pd((const double *)(p))
#define LOAD_FIRST(p, n) _mm256_maskload_pd((const double *)(p), first(2 * (n)))
#define STORE(p, v) _mm256_storeu_pd((double *)(p), v)
#define STORE_FIRST(p, v, n) store_first_double((double *)(p), v, n)
#define TRANSPOSE transpose_double
#include "runtime/engine/gemm_transpose_vector.h"
