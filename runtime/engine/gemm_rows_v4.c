/* SPDX-License-Identifier: Apache-2.0 */
/* Products of a few rows with AVX-512. */
#include <string.h>
#include "runtime/engine/gemm_rows.h"
#include "runtime/engine/gemm_v4.h"
#include "runtime/engine/vector.h"

#define REAL float
#define TOGETHER 4
#define ELEMENT any_float
#define NAME(x) x##_float
#define FUNCTION weft_gemm_rows_v4_f32
#define VECTOR __m512
#define LOAD _mm512_loadu_ps
#define LOAD_FIRST(p, n) _mm512_maskz_loadu_ps((__mmask16)((1U << (n)) - 1), p)
#define STORE _mm512_storeu_ps
#define SPLAT _mm512_set1_ps
#define FMA_VECTOR _mm512_fmadd_ps
#include "runtime/engine/gemm_rows_vector.h"

#define REAL double
#define TOGETHER 4
#define ELEMENT any_double
#define NAME(x) x##_double
#define FUNCTION weft_gemm_rows_v4_f64
#define VECTOR __m512d
#define LOAD _mm512_loadu_pd
#define LOAD_FIRST(p, n) _mm512_maskz_loadu_pd((__mmask8)((1U << (n)) - 1), p)
#define STORE _mm512_storeu_pd
#define SPLAT _mm512_set1_pd
#define FMA_VECTOR _mm512_fmadd_pd
#include "runtime/engine/gemm_rows_vector.h"
