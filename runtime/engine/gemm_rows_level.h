/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weft_gemm_rows_function for one ISA level, as WEFT_GEMM_ROWS. Every element takes its terms in order. Where columns
 * are adjacent, sums of a block of them stay in L1 and take four terms in one pass; the compiler
 * makes vectors of these loops. Where terms are adjacent, squares of the matrix are transposed in registers, so that
 * vectors run along columns too.
 */
#include <immintrin.h>
#include <string.h>
#include "runtime/engine/gemm_rows.h"
#include "runtime/engine/vector.h"

enum { COLUMNS = WEFT_GEMM_ROWS_COLUMNS, PASS = 4, GROUPS = 4, LINE = 64, AHEAD = 8 };

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

static inline __m256 times_i_float(__m256 v)
{
    return _mm256_xor_ps(_mm256_permute_ps(v, 0xb1), _mm256_setr_ps(-0.0F, 0, -0.0F, 0, -0.0F, 0, -0.0F, 0));
}

static inline __m256d times_i_double(__m256d v)
{
    return _mm256_xor_pd(_mm256_permute_pd(v, 0x5), _mm256_setr_pd(-0.0, 0, -0.0, 0));
}

#define REAL float
#define ELEMENT any_float
#define NAME(x) x##_float
#define VECTOR __m256
#define LOAD _mm256_loadu_ps
#define STORE _mm256_storeu_ps
#define TIMES_I times_i_float
#define SPLAT _mm256_set1_ps
#define FMA __builtin_fmaf
#define FMA_VECTOR _mm256_fmadd_ps
#define TRANSPOSE transpose_float
#include "runtime/engine/gemm_rows_vector.h"

#define REAL double
#define ELEMENT any_double
#define NAME(x) x##_double
#define VECTOR __m256d
#define LOAD _mm256_loadu_pd
#define STORE _mm256_storeu_pd
#define TIMES_I times_i_double
#define SPLAT _mm256_set1_pd
#define FMA __builtin_fma
#define FMA_VECTOR _mm256_fmadd_pd
#define TRANSPOSE transpose_double
#include "runtime/engine/gemm_rows_vector.h"

void WEFT_GEMM_ROWS(const weft_gemm_rows *product, void *sums)
{
    if (product->size == sizeof(float)) run_float(product, sums);
    else run_double(product, sums);
}
