/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_BLOCK_TILE_H
#define WEFT_RUNTIME_ENGINE_GEMM_BLOCK_TILE_H
/* Tiles of C that kernels cannot write as they lie, and compute in a buffer. */
#include "runtime/engine/gemm_block.h"

/* A tile of C: `along` elements along the vectors of the kernel, `across` rows of them. Strides in bytes. */
typedef struct weft_gemm_block_tile {
    char *c;
    int64_t along, across;
    int64_t along_stride, across_stride;
    int64_t pitch; /* of the buffer, in bytes */
    bool is_split; /* its elements lie at several strides */
    int64_t i, j;  /* its first row of the left operand, and column of the right one */
} weft_gemm_block_tile;

/* What is done with a tile: sums in a buffer become C, or are added to it, which is asked for before. */
typedef enum weft_gemm_block_tile_action {
    WEFT_GEMM_TILE_STORE,
    WEFT_GEMM_TILE_ADD,
    WEFT_GEMM_TILE_FETCH
} weft_gemm_block_tile_action;

/* In parts whose elements lie at one stride each way. */
void weft_gemm_block_tile_move(const weft_gemm_block *block, const weft_gemm_block_tile *tile, const char *buffer,
                               weft_gemm_block_tile_action action);
#endif
