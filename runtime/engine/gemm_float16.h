/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_FLOAT16_H
#define WEFT_RUNTIME_ENGINE_GEMM_FLOAT16_H
/* Products of 16-bit floats: of f32 numbers, into a block of sums, which are rounded once all terms are added. */
#include "runtime/engine/gemm_block.h"

/* About the most sums in a block, so that they stay near. */
enum { WEFT_GEMM_FLOAT16_ELEMENTS = 512 * 512 };

/* Sums of `left_count` rows by `right_count` columns of C, beginning with row `left` of the left operand and column
 * `right` of the right one. Those along the kernel's vectors are adjacent, and rows of them `pitch` numbers apart. */
typedef struct weft_gemm_sums {
    const float *data;
    int64_t pitch;
    int64_t left, left_count, right, right_count;
} weft_gemm_sums;

/* Rounds sums of a block to its elements. */
void weft_gemm_float16_round(const weft_gemm_block *block, const weft_gemm_sums *sums);

/* As weft_gemm_block_bytes and weft_gemm_block_run, for operands with `float16`. */
size_t weft_gemm_float16_bytes(const weft_gemm_block *block);
void weft_gemm_float16_run(const weft_gemm_block *block, char *memory);
#endif
