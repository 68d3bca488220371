/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_PAIRS_H
#define WEFT_RUNTIME_ENGINE_GEMM_PAIRS_H
/* Products of bf16, and of u8, by instructions that multiply pairs of terms, or four at once, whatever these are. */
#include "runtime/engine/gemm_block.h"
#include "runtime/engine/gemm_float16.h"

/* A tile is 16 rows of the left operand, in each 64 bytes of terms, a step; or columns of the right one, in each of its
 * 16 rows the two or four terms that are multiplied at once, of all columns. A panel is two tiles beside each other for
 * each step. Numbers are packed as they are, or u8 as 16 bits. */
enum {
    WEFT_PAIRS_TILE_LINES = 16,
    WEFT_PAIRS_TILE_ROW = 64, /* bytes */
    WEFT_PAIRS_TILE_BYTES = 1024,
    WEFT_PAIRS_LINES = 2 * WEFT_PAIRS_TILE_LINES, /* of a panel */
    WEFT_PAIRS_STEP_BYTES = 2 * WEFT_PAIRS_TILE_BYTES,
    WEFT_PAIRS_SUMS = WEFT_PAIRS_LINES * WEFT_PAIRS_LINES, /* of two panels */
};

/* What is packed: lines and terms, from one to the next of which it is so many bytes. */
typedef struct weft_gemm_pairs_source {
    const char *data;
    ptrdiff_t line, term;
    bool is_left;
    int64_t count, terms;
    int64_t size, step; /* bytes of a number as it lies, terms of a step */
} weft_gemm_pairs_source;

/* `lines` lines of up to a step of terms, which lie from `from` on; what is left of tiles becomes zero. */
typedef void weft_gemm_pairs_packing(const weft_gemm_pairs_source *source, const char *from, int64_t lines,
                                     int64_t terms, char *tiles);

/* sums[i, j] = first[i] + the products of the first rows of one panel and the first columns of another, of so many
 * steps, in f32 or i32. What lies beside them in `sums`, of whole panels, is not specified. */
typedef void weft_gemm_pairs_function(const char *left, const char *right, int64_t steps, int64_t rows, int64_t columns,
                                      const int32_t *first, void *sums);

/* How numbers of one kind are packed, multiplied and added up. */
typedef struct weft_gemm_pairs {
    weft_gemm_pairs_packing *lines; /* whose terms are adjacent: a tile of the left operand */
    weft_gemm_pairs_packing *terms; /* whose lines are adjacent: two tiles of the right operand */
    weft_gemm_transpose *transpose; /* of 32 bits */
    /* What sums of the rows of a panel begin with; NULL: with zero. */
    void (*begin)(const char *left, int64_t steps, int64_t rows, int32_t *first);
    weft_gemm_pairs_function *multiply;
    void (*add)(void *sums, const void *more); /* to all sums of two panels, which are aligned as panels are */
    void (*store)(const weft_gemm_block *block, const weft_gemm_sums *sums); /* as elements of C */
} weft_gemm_pairs;

size_t weft_gemm_pairs_bytes(const weft_gemm_block *block);
void weft_gemm_pairs_run(const weft_gemm_pairs *pairs, const weft_gemm_block *block, char *memory);
/* That of weft_gemm_numbers; of terms that are packed in steps of `step`. */
void weft_gemm_pairs_fill(const weft_gemm_pairs *pairs, int64_t step, const weft_gemm_side *side, int64_t term,
                          int64_t terms, char *panels);
/* Whether columns of C are adjacent. */
bool weft_gemm_pairs_has_rows(const weft_gemm_block *block);

/* With AVX-512 (gemm_pairs_v4.c): numbers of bf16, and bytes, of which those of the right operand are packed less 128,
 * with a sign, so that sums begin with 128 times the numbers of a row. `multiply` alone depends on the instruction. */
#define WEFT_PAIRS_BF16(multiply_)                                                                                     \
    {                                                                                                                  \
        .lines = weft_gemm_pairs_lines_v4, .terms = weft_gemm_pairs_terms_v4, .transpose = weft_gemm_transpose_v4_f32, \
        .multiply = multiply_, .add = weft_gemm_pairs_add_bf16, .store = weft_gemm_pairs_store_bf16                    \
    }
#define WEFT_PAIRS_U8(multiply_)                                                                                       \
    {                                                                                                                  \
        .lines = weft_gemm_pairs_lines_v4, .terms = weft_gemm_pairs_fours_v4, .transpose = weft_gemm_transpose_v4_f32, \
        .begin = weft_gemm_pairs_begin_u8, .multiply = multiply_, .add = weft_gemm_pairs_add_i32,                      \
        .store = weft_gemm_pairs_store_i32                                                                             \
    }
extern weft_gemm_pairs_packing weft_gemm_pairs_lines_v4, weft_gemm_pairs_terms_v4, weft_gemm_pairs_fours_v4;
void weft_gemm_pairs_begin_u8(const char *left, int64_t steps, int64_t rows, int32_t *first);
void weft_gemm_pairs_add_bf16(void *sums, const void *more);
void weft_gemm_pairs_add_i32(void *sums, const void *more);
void weft_gemm_pairs_store_bf16(const weft_gemm_block *block, const weft_gemm_sums *sums);
void weft_gemm_pairs_store_i32(const weft_gemm_block *block, const weft_gemm_sums *sums);
extern const weft_float16 weft_gemm_pairs_float16;

/* The kernel of an engine, as far as these are alike: two panels of `terms` stay in L1. Numbers are packed as so many
 * bytes. */
#define WEFT_PAIRS_KERNEL(bytes)                                                                                       \
    .rows = WEFT_PAIRS_LINES, .columns = WEFT_PAIRS_LINES, .terms = 2 * WEFT_GEMM_TERMS / (bytes),                     \
    .step = WEFT_PAIRS_TILE_ROW / (bytes), .size = (bytes), .alone = 8 * WEFT_GEMM_TERMS / (bytes)
#endif
