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

/* Sums in `buffer` become the tile, or are added to it. */
void weft_gemm_block_tile_move(const weft_gemm_block *block, const weft_gemm_block_tile *tile, const char *buffer,
                               bool add);
/* Asks for a tile that is going to be added to. */
void weft_gemm_block_tile_fetch(const weft_gemm_block *block, const weft_gemm_block_tile *tile);
#endif
