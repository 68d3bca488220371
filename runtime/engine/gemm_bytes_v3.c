/* SPDX-License-Identifier: Apache-2.0 */
/* Products of u8 with AVX2. */
#include <immintrin.h>

#define VECTOR __m256i
#define LOAD _mm256_load_si256
#define STORE _mm256_store_si256
#define SPLAT _mm256_set1_epi32
#define PAIRS _mm256_madd_epi16
#define ADD _mm256_add_epi32
#define TRANSPOSE weft_gemm_transpose_v3_f32
#define ROWS 4
#define VECTORS 2
#define CASES CASE(1) CASE(2) CASE(3) CASE(4)
#include "runtime/engine/gemm_bytes_vector.h"

ENGINE(weft_gemm_v3_engine_u8, sizeof(uint16_t), 2, weft_gemm_pack_8, NULL, numbers);
