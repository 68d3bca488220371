/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of products with AVX2. */
#include <immintrin.h>
#include "runtime/engine/gemm_tile.h"
#include "runtime/engine/vector.h"

#define REAL float
#define ELEMENT any_float
#define NAME(x) x##_float
#define FUNCTION weft_gemm_tile_v3_f32
#define ROWS 6
#define VECTORS 2
#define VECTOR __m256
#define LOAD _mm256_loadu_ps
#define STORE _mm256_storeu_ps
#define LOAD_LAST(p, n) ((void)(n), LOAD(p))
#define STORE_LAST(p, n, v) STORE(p, v)
#define AHEAD 0
#define TIMES_I(v) (v)
#define SPLAT _mm256_set1_ps
#define ADD _mm256_add_ps
#define FMA_VECTOR _mm256_fmadd_ps
#include "runtime/engine/gemm_tile_vector.h"

#define REAL double
#define ELEMENT any_double
#define NAME(x) x##_double
#define FUNCTION weft_gemm_tile_v3_f64
#define ROWS 6
#define VECTORS 2
#define VECTOR __m256d
#define LOAD _mm256_loadu_pd
#define STORE _mm256_storeu_pd
#define LOAD_LAST(p, n) ((void)(n), LOAD(p))
#define STORE_LAST(p, n, v) STORE(p, v)
#define AHEAD 0
#define TIMES_I(v) (v)
#define SPLAT _mm256_set1_pd
#define ADD _mm256_add_pd
#define FMA_VECTOR _mm256_fmadd_pd
#include "runtime/engine/gemm_tile_vector.h"
