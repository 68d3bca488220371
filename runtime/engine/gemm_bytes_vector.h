/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of u8, packed as numbers of 16 bits, whose pairs are multiplied and added as numbers with a sign: no sum of
 * two products is beyond i32. Numbers of one ISA level, after the macros of gemm_pairs_vector.h and these:
 *
 *     PAIRS(a, b)       of each lane the sum of two products
 *     ADD(a, b)         of i32
 *     TRANSPOSE         of f32 at this level
 */
#include "runtime/engine/gemm.h"
#include "runtime/engine/gemm_pairs_vector.h"

enum { STEP = WEFT_PAIRS_TILE_ROW / sizeof(uint16_t) };

INLINE VECTOR add_pairs(VECTOR sum, VECTOR left, VECTOR right)
{
    return ADD(sum, PAIRS(left, right));
}

MULTIPLY(multiply_pairs, add_pairs)

static void widen_lines(const weft_gemm_pairs_source *s, const char *from, int64_t lines, int64_t terms, char *tile)
{
    uint16_t *to = (uint16_t *)tile;
    for (int64_t i = 0; i < WEFT_PAIRS_TILE_LINES; i++, from += s->line, to += STEP) {
        uint8_t line[STEP] = {0};
        if (i < lines) memcpy(line, from, terms == STEP ? (size_t)STEP : (size_t)terms);
        for (int t = 0; t < STEP; t++) to[t] = line[t];
    }
}

static void widen_terms(const weft_gemm_pairs_source *s, const char *from, int64_t lines, int64_t terms, char *tiles)
{
    enum { LINES = WEFT_PAIRS_LINES };
    const size_t bytes = lines == LINES ? (size_t)LINES : (size_t)lines;
    for (int64_t t = 0; t < STEP; t += 2, from += 2 * s->term, tiles += WEFT_PAIRS_TILE_ROW) {
        uint8_t even[LINES] = {0}, odd[LINES] = {0};
        if (t < terms) memcpy(even, from, bytes);
        if (t + 1 < terms) memcpy(odd, from + s->term, bytes);
        for (int tile = 0; tile < 2; tile++) {
            uint32_t *to = (uint32_t *)(tiles + tile * WEFT_PAIRS_TILE_BYTES);
            for (int j = 0; j < WEFT_PAIRS_TILE_LINES; j++) {
                int line = tile * WEFT_PAIRS_TILE_LINES + j;
                to[j] = even[line] | (uint32_t)odd[line] << 16;
            }
        }
    }
}

static void add_sums(void *sums, const void *more)
{
    uint32_t *to = sums;
    const uint32_t *from = more;
    for (int i = 0; i < WEFT_PAIRS_SUMS; i++) to[i] += from[i];
}

static void store_sums(const weft_gemm_block *block, const weft_gemm_sums *sums)
{
    enum { LINES = WEFT_PAIRS_LINES };
    const bool has_rows = weft_gemm_pairs_has_rows(block);
    const float *from = sums->data;
    for (int64_t i = 0; i < sums->left_count; i++, from += LINES) {
        char *to = weft_gemm_block_element(block, sums->left + i, sums->right);
        if (has_rows && sums->right_count == LINES) memcpy(to, from, LINES * sizeof *from);
        else if (has_rows) memcpy(to, from, (size_t)sums->right_count * sizeof *from);
        else
            for (int64_t j = 0; j < sums->right_count; j++)
                memcpy(weft_gemm_block_element(block, sums->left + i, sums->right + j), from + j, sizeof *from);
    }
}

static const weft_gemm_pairs numbers = {.lines = widen_lines,
                                        .terms = widen_terms,
                                        .transpose = TRANSPOSE,
                                        .multiply = multiply_pairs,
                                        .add = add_sums,
                                        .store = store_sums};
