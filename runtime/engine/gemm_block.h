/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_BLOCK_H
#define WEFT_RUNTIME_ENGINE_GEMM_BLOCK_H
/* One product on one thread, in blocks that fit the caches. */
#include "runtime/engine/gemm_kernel.h"
#include "runtime/engine/gemm_pack.h"

/* Bytes between two lines from which on nothing fetches the next one ahead of time. */
enum { WEFT_GEMM_FAR = 1024 };

/* The tiles of a product in order, as the kernel takes them, or its few rows: to find them takes longer than to compute
 * a small product. What they read and write lies where arrays did when they were found. */
enum { WEFT_GEMM_KEPT_TILES = 32 };
typedef struct weft_gemm_kept {
    uint32_t count;
    bool failed; /* there are more, or others that read or write memory of the engine */
    bool is_rows;
    weft_gemm_rows rows;
    weft_gemm_tile_call tiles[WEFT_GEMM_KEPT_TILES];
} weft_gemm_kept;

typedef struct weft_gemm_block {
    const weft_gemm_kernel *kernel;
    int64_t cache_bytes;                 /* of the second level */
    weft_gemm_side left, right;          /* of complex ones, that along the kernel's vectors is whole or doubled */
    bool right_first;                    /* the right operand is the first factor: decides bits of complex products */
    int64_t terms;                       /* > 0 */
    char *c;                             /* row `c_first_left` of the left operand by column `c_first_right` */
    int64_t c_first_left, c_first_right; /* 0, except in a C of one axis each way */
    int64_t c_element;                   /* bytes */
    const weft_gemm_axes *c_left, *c_right; /* how rows of the left operand, and columns of the right one, lie in it */
    bool symmetric;                         /* only elements whose row is not beyond their column are wanted */
    bool left_kept, right_kept;             /* all of `memory` is as the same operand, of the product before, left it */
    bool few_left, few_right;               /* the rows of the product, or its columns, are those of weft_gemm_rows */
    bool in_lines;                          /* or those of weft_gemm_lines */
    int64_t count;                          /* of products like this one, if they can be repeated; 0: this one alone */
    int64_t left_step, right_step, c_step;  /* bytes from one of these to the next */
    int64_t next_left;    /* bytes from the left operand to that of the next product; 0: it need not be asked for */
    weft_gemm_kept *kept; /* where tiles are kept in place of being computed; NULL: they are computed */
} weft_gemm_block;

/* How a dtype is multiplied in blocks. What others take need not be linked. */
typedef struct weft_gemm_numbers {
    weft_gemm_packing *pack;
    size_t (*bytes)(const weft_gemm_block *block); /* that `run` needs */
    void (*run)(const weft_gemm_block *block, char *memory);
    /* Packs `terms` terms, a block of them, from `term` on of all of an operand that never changes. NULL:
     * weft_gemm_pack does, and of 16-bit floats nothing can. */
    void (*fill)(const weft_gemm_side *side, int64_t term, int64_t terms, char *panels);
    bool (*repeats)(const weft_gemm_block *block); /* whether `run` takes several products; NULL: it never does */
    /* Appends the tiles that `run` would compute; NULL: they are not those of the operands as they lie. */
    void (*keep)(const weft_gemm_block *block, weft_gemm_kept *kept);
} weft_gemm_numbers;

/* Where C has row `i` of the left operand by column `j` of the right one. */
char *weft_gemm_block_element(const weft_gemm_block *block, int64_t i, int64_t j);

/* Bytes that weft_gemm_block_run needs to pack operands. */
size_t weft_gemm_block_bytes(const weft_gemm_block *block);
/* Whether operands and C of products like this one are read and written in place, so that the kernel can go from one
 * product to the next. */
bool weft_gemm_block_repeats(const weft_gemm_block *block);
/* C = left * right. `memory` is aligned to WEFT_GEMM_ALIGNMENT. Touches the elements of the operands and no others. */
void weft_gemm_block_run(const weft_gemm_block *block, char *memory);
/* Appends the tiles that this computes to `kept`, if they are few and nothing goes through memory of the engine. */
void weft_gemm_block_keep(const weft_gemm_block *block, weft_gemm_kept *kept);
#endif
