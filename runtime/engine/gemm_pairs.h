/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_PAIRS_H
#define WEFT_RUNTIME_ENGINE_GEMM_PAIRS_H
/* Products of bf16 by instructions that multiply pairs of terms, whatever these are. */
#include "runtime/engine/gemm_block.h"

/* A tile is 16 rows of the left operand, in each 32 terms; or columns of the right one, in each of its 16 rows two
 * terms of all columns. A panel is two tiles beside each other for each 32 terms. */
enum {
    WEFT_PAIRS_TILE_LINES = 16,
    WEFT_PAIRS_TILE_TERMS = 32,
    WEFT_PAIRS_TILE_ROW = 64, /* bytes */
    WEFT_PAIRS_TILE_BYTES = 1024,
    WEFT_PAIRS_LINES = 2 * WEFT_PAIRS_TILE_LINES, /* of a panel */
    WEFT_PAIRS_STEP_BYTES = 2 * WEFT_PAIRS_TILE_BYTES,
};

/* Terms up to which sums need no memory of their own. */
#define WEFT_PAIRS_ALONE (4 * WEFT_GEMM_TERMS)

/* sums[i, j] = the products of the first rows of one panel and the first columns of another, of so many steps of 32
 * terms. What lies beside them in `sums`, of whole panels, is not specified. */
typedef void weft_gemm_pairs_function(const char *left, const char *right, int64_t steps, int64_t rows, int64_t columns,
                                      float *sums);

size_t weft_gemm_pairs_bytes(const weft_gemm_block *block);
void weft_gemm_pairs_run(const weft_gemm_block *block, char *memory, weft_gemm_pairs_function *multiply);
/* That of weft_gemm_numbers. */
void weft_gemm_pairs_fill(const weft_gemm_side *side, int64_t term, int64_t terms, char *panels);
extern const weft_float16 weft_gemm_pairs_float16;

/* The kernel of an engine, as far as these are alike. */
#define WEFT_PAIRS_KERNEL                                                                                              \
    .rows = WEFT_PAIRS_LINES, .columns = WEFT_PAIRS_LINES, .terms = WEFT_GEMM_TERMS, .step = WEFT_PAIRS_TILE_TERMS,    \
    .alone = WEFT_PAIRS_ALONE
#endif
