/* SPDX-License-Identifier: Apache-2.0 */
/* Products of u8 with AVX-512. */
#include <immintrin.h>

#define VECTOR __m512i
#define LOAD _mm512_load_si512
#define STORE _mm512_store_si512
#define SPLAT _mm512_set1_epi32
#define PAIRS _mm512_madd_epi16
#define ADD _mm512_add_epi32
#define TRANSPOSE weft_gemm_transpose_v4_f32
#define ROWS 8
#define VECTORS 2
#define CASES CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8)
#include "runtime/engine/gemm_bytes_vector.h"

ENGINE(weft_gemm_v4_engine_u8, sizeof(uint16_t), 2, weft_gemm_pack_8, NULL, numbers);
