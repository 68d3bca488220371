/* SPDX-License-Identifier: Apache-2.0 */
/* Products of a few rows with AVX2. */
#include <immintrin.h>
#include <string.h>
#include "runtime/engine/gemm_rows.h"
#include "runtime/engine/vector.h"

/* All ones in the first n lanes, from the last of eight on. */
static const int32_t first_lanes[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

static inline __m256 load_first_float(const float *p, int64_t n)
{
    return _mm256_maskload_ps(p, _mm256_loadu_si256((const __m256i *)(first_lanes + 8 - n)));
}

static inline __m256d load_first_double(const double *p, int64_t n)
{
    return _mm256_maskload_pd(p, _mm256_loadu_si256((const __m256i *)(first_lanes + 8 - 2 * n)));
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
#define TOGETHER 2
#define ELEMENT any_float
#define NAME(x) x##_float
#define FUNCTION weft_gemm_rows_v3_f32
#define VECTOR __m256
#define LOAD _mm256_loadu_ps
#define LOAD_FIRST load_first_float
#define STORE _mm256_storeu_ps
#define TIMES_I times_i_float
#define SPLAT _mm256_set1_ps
#define FMA __builtin_fmaf
#define FMA_VECTOR _mm256_fmadd_ps
#include "runtime/engine/gemm_rows_vector.h"

#define REAL double
#define TOGETHER 2
#define ELEMENT any_double
#define NAME(x) x##_double
#define FUNCTION weft_gemm_rows_v3_f64
#define VECTOR __m256d
#define LOAD _mm256_loadu_pd
#define LOAD_FIRST load_first_double
#define STORE _mm256_storeu_pd
#define TIMES_I times_i_double
#define SPLAT _mm256_set1_pd
#define FMA __builtin_fma
#define FMA_VECTOR _mm256_fmadd_pd
#include "runtime/engine/gemm_rows_vector.h"
