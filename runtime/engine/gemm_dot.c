/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of bf16 by an instruction that adds two of them to each lane (AVX512_BF16). It adds up in f32, and takes
 * denormals for zero.
 */
#include <immintrin.h>
#include <string.h>
#include "runtime/engine/gemm.h"
#include "runtime/engine/gemm_pairs.h"
#include "runtime/engine/gemm_v4.h"
#include "runtime/engine/vector.h"

/* Of each panel of rows so many are multiplied at once, by the columns of both tiles: enough sums to wait for none. */
enum { ROWS = 8, LANES = 16, PAIR = 4 /* bytes */ };

/* Inlined with constants. */
INLINE void multiply_rows(const char *left, const char *right, int64_t steps, int rows, int vectors, float *sums)
{
    __m512 sum[ROWS][2];
    UNROLL for (int i = 0; i < rows; i++) sum[i][0] = sum[i][1] = _mm512_setzero_ps();
    for (int64_t s = 0; s < steps; s++, left += WEFT_PAIRS_STEP_BYTES, right += WEFT_PAIRS_STEP_BYTES)
        UNROLL for (int pair = 0; pair < WEFT_PAIRS_TILE_TERMS / 2; pair++)
        {
            __m512bh across[2];
            UNROLL for (int v = 0; v < vectors; v++) across[v] =
                (__m512bh)_mm512_load_si512(right + v * WEFT_PAIRS_TILE_BYTES + pair * WEFT_PAIRS_TILE_ROW);
            UNROLL for (int i = 0; i < rows; i++)
            {
                int32_t terms;
                memcpy(&terms, left + i * WEFT_PAIRS_TILE_ROW + pair * PAIR, sizeof terms);
                __m512bh splat = (__m512bh)_mm512_set1_epi32(terms);
                UNROLL for (int v = 0; v < vectors; v++) sum[i][v] = _mm512_dpbf16_ps(sum[i][v], across[v], splat);
            }
        }
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < vectors; v++)
        _mm512_store_ps(sums + i * WEFT_PAIRS_LINES + v * LANES, sum[i][v]);
}

#define CASE(rows)                                                                                                     \
    case rows:                                                                                                         \
        if (columns <= LANES) multiply_rows(left, right, steps, rows, 1, sums);                                        \
        else multiply_rows(left, right, steps, rows, 2, sums);                                                         \
        break;

static void multiply_some(const char *left, const char *right, int64_t steps, int64_t rows, int64_t columns,
                          float *sums)
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

static void multiply(const char *left, const char *right, int64_t steps, int64_t rows, int64_t columns, float *sums)
{
    for (int64_t i = 0; i < rows; i += ROWS) {
        int64_t line = i % WEFT_PAIRS_TILE_LINES, tile = i / WEFT_PAIRS_TILE_LINES;
        multiply_some(left + tile * WEFT_PAIRS_TILE_BYTES + line * WEFT_PAIRS_TILE_ROW, right, steps,
                      rows - i < ROWS ? rows - i : ROWS, columns, sums + i * WEFT_PAIRS_LINES);
    }
}

static void run(const weft_gemm_block *block, char *memory)
{
    weft_gemm_pairs_run(block, memory, multiply);
}

static const weft_gemm_kernel kernel = {WEFT_PAIRS_KERNEL, .speed = 2};
static const weft_gemm_numbers numbers = {weft_gemm_pack_16, weft_gemm_pairs_bytes, run, weft_gemm_pairs_fill};
const weft_gemm_engine weft_gemm_dot_engine_bf16 = {&kernel, &numbers, &weft_gemm_pairs_float16};
