/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_PAIRS_H
#define WEFT_RUNTIME_ENGINE_GEMM_PAIRS_H
/* Products of bf16, and of u8, by instructions that multiply pairs of terms, or four at once, whatever these are. */
#include "runtime/engine/gemm_block.h"

/* A tile is 16 rows of the left operand, in each 64 bytes of terms, a step; or columns of the right one, in each of its
 * 16 rows the two terms of bf16, or four of u8, of all columns. A panel is two tiles beside each other for each step.
 */
enum {
    WEFT_PAIRS_TILE_LINES = 16,
    WEFT_PAIRS_TILE_ROW = 64, /* bytes */
    WEFT_PAIRS_TILE_BYTES = 1024,
    WEFT_PAIRS_LINES = 2 * WEFT_PAIRS_TILE_LINES, /* of a panel */
    WEFT_PAIRS_STEP_BYTES = 2 * WEFT_PAIRS_TILE_BYTES,
};

/* sums[i, j] = the products of the first rows of one panel and the first columns of another, of so many steps, in f32
 * or i32. What lies beside them in `sums`, of whole panels, is not specified. Of u8 the right panel has numbers less
 * 128, as bytes with a sign, and sums of a row begin with 128 times all of its numbers, `first`. */
typedef void weft_gemm_pairs_function(const char *left, const char *right, int64_t steps, int64_t rows, int64_t columns,
                                      const int32_t *first, void *sums);

size_t weft_gemm_pairs_bytes(const weft_gemm_block *block);
void weft_gemm_pairs_run(const weft_gemm_block *block, char *memory, weft_gemm_pairs_function *multiply);
/* That of weft_gemm_numbers. */
void weft_gemm_pairs_fill(const weft_gemm_side *side, int64_t term, int64_t terms, char *panels);
extern const weft_float16 weft_gemm_pairs_float16;

/* The kernel of an engine, as far as these are alike: two panels of `terms` stay in L1. */
#define WEFT_PAIRS_KERNEL(size)                                                                                        \
    .rows = WEFT_PAIRS_LINES, .columns = WEFT_PAIRS_LINES, .terms = 2 * WEFT_GEMM_TERMS / (size),                      \
    .step = WEFT_PAIRS_TILE_ROW / (size), .alone = 8 * WEFT_GEMM_TERMS / (size)
#endif
