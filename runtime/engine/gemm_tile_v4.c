/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of products with AVX-512. */
#include "runtime/engine/gemm_tile.h"
#include "runtime/engine/gemm_v4.h"
#include "runtime/engine/vector.h"

#define FIRST(n) ((1U << (n)) - 1)

/* With p[i] as an operand in memory, at an address of one register. Without optimisation clang does not know that `i`
 * is a constant in a loop that it unrolls. */
#if defined(__clang__) && !defined(__OPTIMIZE__)
#define EACH(instruction, lanes, sum, a, p, i)                                                                         \
    __asm__(instruction " %2%{" lanes "%}, %1, %0" : "+v"(sum) : "v"(a), "m"((p)[i]))
#else
#define EACH(instruction, lanes, sum, a, p, i)                                                                         \
    __asm__(instruction " %c3(%2)%{" lanes "%}, %1, %0"                                                                \
            : "+v"(sum)                                                                                                \
            : "v"(a), "r"(p), "i"((i) * sizeof *(p)), "m"(*(const char(*)[ROWS * sizeof *(p)])(p)))
#endif

#define REAL float
#define ELEMENT any_float
#define NAME(x) x##_float
#define FUNCTION weft_gemm_tile_v4_f32
#define COMPLEX_FUNCTION weft_gemm_complex_tile_v4_f32
#define COMPLEX_ROWS 14
#define EVEN(a, b) _mm512_shuffle_ps(a, b, 0x88)
#define ODD(a, b) _mm512_shuffle_ps(a, b, 0xdd)
#define LOW _mm512_unpacklo_ps
#define HIGH _mm512_unpackhi_ps
#define TIMES_I times_i_float
#define FMA_EACH(sum, a, p, i) EACH("vfmadd231ps", "1to16", sum, a, p, i)
#define FNMA_EACH(sum, a, p, i) EACH("vfnmadd231ps", "1to16", sum, a, p, i)
#define ROWS 14
#define VECTORS 3
#define VECTOR __m512
#define LOAD _mm512_loadu_ps
#define STORE _mm512_storeu_ps
#define LOAD_LAST(p, n) _mm512_maskz_loadu_ps((__mmask16)FIRST(n), p)
#define STORE_LAST(p, n, v) _mm512_mask_storeu_ps(p, (__mmask16)FIRST(n), v)
#define LOAD_PARTS(p, q, n) _mm512_mask_loadu_ps(_mm512_maskz_loadu_ps((__mmask16)FIRST(n), p), (__mmask16)~FIRST(n), q)
#define AHEAD 8
#define SPLAT _mm512_set1_ps
#define ADD _mm512_add_ps
#define FMA_VECTOR _mm512_fmadd_ps
#include "runtime/engine/gemm_tile_vector.h"

#define REAL double
#define ELEMENT any_double
#define NAME(x) x##_double
#define FUNCTION weft_gemm_tile_v4_f64
#define COMPLEX_FUNCTION weft_gemm_complex_tile_v4_f64
#define COMPLEX_ROWS 14
#define EVEN _mm512_unpacklo_pd
#define ODD _mm512_unpackhi_pd
#define LOW _mm512_unpacklo_pd
#define HIGH _mm512_unpackhi_pd
#define TIMES_I times_i_double
#define FMA_EACH(sum, a, p, i) EACH("vfmadd231pd", "1to8", sum, a, p, i)
#define FNMA_EACH(sum, a, p, i) EACH("vfnmadd231pd", "1to8", sum, a, p, i)
#define ROWS 14
#define VECTORS 3
#define VECTOR __m512d
#define LOAD _mm512_loadu_pd
#define STORE _mm512_storeu_pd
#define LOAD_LAST(p, n) _mm512_maskz_loadu_pd((__mmask8)FIRST(n), p)
#define STORE_LAST(p, n, v) _mm512_mask_storeu_pd(p, (__mmask8)FIRST(n), v)
#define LOAD_PARTS(p, q, n) _mm512_mask_loadu_pd(_mm512_maskz_loadu_pd((__mmask8)FIRST(n), p), (__mmask8)~FIRST(n), q)
#define AHEAD 8
#define SPLAT _mm512_set1_pd
#define ADD _mm512_add_pd
#define FMA_VECTOR _mm512_fmadd_pd
#include "runtime/engine/gemm_tile_vector.h"
