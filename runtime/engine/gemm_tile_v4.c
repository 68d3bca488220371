/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of products with AVX-512. */
#include <immintrin.h>
#include "runtime/engine/gemm_tile.h"
#include "runtime/engine/vector.h"

#define REAL float
#define ELEMENT any_float
#define NAME(x) x##_float
#define FUNCTION weft_gemm_tile_v4_f32
#define ROWS 12
#define VECTOR __m512
#define LOAD _mm512_loadu_ps
#define STORE _mm512_storeu_ps
#define SPLAT _mm512_set1_ps
#define ADD _mm512_add_ps
#define FMA_VECTOR _mm512_fmadd_ps
#include "runtime/engine/gemm_tile_vector.h"

#define REAL double
#define ELEMENT any_double
#define NAME(x) x##_double
#define FUNCTION weft_gemm_tile_v4_f64
#define ROWS 14
#define VECTOR __m512d
#define LOAD _mm512_loadu_pd
#define STORE _mm512_storeu_pd
#define SPLAT _mm512_set1_pd
#define ADD _mm512_add_pd
#define FMA_VECTOR _mm512_fmadd_pd
#include "runtime/engine/gemm_tile_vector.h"
