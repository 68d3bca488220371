/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products by instructions that add several of them to each lane: two of bf16 (AVX512_BF16), in f32, with denormals
 * taken for zero, or four of u8 by bytes with a sign (AVX512_VNNI), in i32. Of the right factor 128 was taken, so a sum
 * begins with 128 times those of the left one.
 */
#include <immintrin.h>
#include <string.h>
#include "runtime/engine/gemm.h"
#include "runtime/engine/gemm_pairs.h"
#include "runtime/engine/gemm_v4.h"
#include "runtime/engine/vector.h"

/* Of each panel of rows so many are multiplied at once, by the columns of both tiles: enough sums to wait for none. */
enum { ROWS = 8, LANES = 16, GROUPS = 16 /* of terms in a step, one for each lane */ };

INLINE __m512i add_products(__m512i sum, __m512i left, __m512i right, bool is_bytes)
{
    if (is_bytes) return _mm512_dpbusd_epi32(sum, left, right);
    return (__m512i)_mm512_dpbf16_ps((__m512)sum, (__m512bh)left, (__m512bh)right);
}

/* Inlined with constants, as far as rows. */
INLINE void multiply_rows(const char *left, const char *right, int64_t steps, int rows, int vectors, bool is_bytes,
                          const int32_t *first, int32_t *sums)
{
    __m512i sum[ROWS][2];
    UNROLL for (int i = 0; i < rows; i++) sum[i][0] = sum[i][1] =
        is_bytes ? _mm512_set1_epi32(first[i]) : _mm512_setzero_si512();
    for (int64_t s = 0; s < steps; s++, left += WEFT_PAIRS_STEP_BYTES, right += WEFT_PAIRS_STEP_BYTES)
        UNROLL for (int group = 0; group < GROUPS; group++)
        {
            __m512i across[2];
            UNROLL for (int v = 0; v < vectors; v++) across[v] =
                _mm512_load_si512(right + v * WEFT_PAIRS_TILE_BYTES + group * WEFT_PAIRS_TILE_ROW);
            UNROLL for (int i = 0; i < rows; i++)
            {
                int32_t terms;
                memcpy(&terms, left + i * WEFT_PAIRS_TILE_ROW + group * (int)sizeof terms, sizeof terms);
                __m512i splat = _mm512_set1_epi32(terms);
                UNROLL for (int v = 0; v < vectors; v++) sum[i][v] =
                    add_products(sum[i][v], splat, across[v], is_bytes);
            }
        }
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < vectors; v++)
        _mm512_store_si512(sums + i * WEFT_PAIRS_LINES + v * LANES, sum[i][v]);
}

#define CASE(rows)                                                                                                     \
    case rows:                                                                                                         \
        if (columns <= LANES) multiply_rows(left, right, steps, rows, 1, is_bytes, first, sums);                       \
        else multiply_rows(left, right, steps, rows, 2, is_bytes, first, sums);                                        \
        break;

INLINE void multiply_some(const char *left, const char *right, int64_t steps, int64_t rows, int64_t columns,
                          bool is_bytes, const int32_t *first, int32_t *sums)
{
    switch (rows) {
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(5)
        CASE(6)
        CASE(7)
        CASE(8)
    }
}

INLINE void multiply(const char *left, const char *right, int64_t steps, int64_t rows, int64_t columns, bool is_bytes,
                     const int32_t *first, int32_t *sums)
{
    for (int64_t i = 0; i < rows; i += ROWS) {
        int64_t line = i % WEFT_PAIRS_TILE_LINES, tile = i / WEFT_PAIRS_TILE_LINES;
        multiply_some(left + tile * WEFT_PAIRS_TILE_BYTES + line * WEFT_PAIRS_TILE_ROW, right, steps,
                      rows - i < ROWS ? rows - i : ROWS, columns, is_bytes, first + i, sums + i * WEFT_PAIRS_LINES);
    }
}

static void multiply_bf16(const char *left, const char *right, int64_t steps, int64_t rows, int64_t columns,
                          const int32_t *first, void *sums)
{
    multiply(left, right, steps, rows, columns, false, first, sums);
}

static void multiply_u8(const char *left, const char *right, int64_t steps, int64_t rows, int64_t columns,
                        const int32_t *first, void *sums)
{
    multiply(left, right, steps, rows, columns, true, first, sums);
}

static void run_bf16(const weft_gemm_block *block, char *memory)
{
    weft_gemm_pairs_run(block, memory, multiply_bf16);
}

static void run_u8(const weft_gemm_block *block, char *memory)
{
    weft_gemm_pairs_run(block, memory, multiply_u8);
}

static const weft_gemm_kernel kernel_bf16 = {WEFT_PAIRS_KERNEL(sizeof(uint16_t)), .speed = 2};
static const weft_gemm_numbers numbers_bf16 = {weft_gemm_pack_16, weft_gemm_pairs_bytes, run_bf16,
                                               weft_gemm_pairs_fill};
const weft_gemm_engine weft_gemm_dot_engine_bf16 = {&kernel_bf16, &numbers_bf16, &weft_gemm_pairs_float16};

static const weft_gemm_kernel kernel_u8 = {WEFT_PAIRS_KERNEL(sizeof(uint8_t)), .speed = 4};
static const weft_gemm_numbers numbers_u8 = {weft_gemm_pack_8, weft_gemm_pairs_bytes, run_u8, weft_gemm_pairs_fill};
const weft_gemm_engine weft_gemm_dot_engine_u8 = {&kernel_u8, &numbers_u8, NULL};
