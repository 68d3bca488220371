/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that are packed as they are, bf16 and u8, and sums of their products, with AVX-512. */
#include <immintrin.h>
#include <string.h>
#include "runtime/engine/gemm_pairs.h"

enum {
    TILE_LINES = WEFT_PAIRS_TILE_LINES,
    TILE_ROW = WEFT_PAIRS_TILE_ROW,
    TILE_BYTES = WEFT_PAIRS_TILE_BYTES,
    LINES = WEFT_PAIRS_LINES,
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

#define FIRST(n) ((1ULL << (n)) - 1)

/* Bytes of the right operand change their first bit, which takes 128 from them. */
static bool is_signed(const weft_gemm_pairs_source *s)
{
    return !s->is_left && s->size == 1;
}

/* Of lines whose terms are adjacent: a tile of the left operand. */
void weft_gemm_pairs_lines_v4(const weft_gemm_pairs_source *s, const char *from, int64_t lines, int64_t terms,
                              char *tile)
{
    const __mmask64 first = ~0ULL >> (TILE_ROW - terms * s->size);
    const __m512i sign = _mm512_set1_epi8(is_signed(s) ? INT8_MIN : 0);
    for (int64_t i = 0; i < TILE_LINES; i++, from += s->line, tile += TILE_ROW) {
        __m512i line = _mm512_maskz_loadu_epi8(i < lines ? first : 0, from);
        _mm512_store_si512(tile, _mm512_xor_si512(line, sign));
    }
}

/* Of terms whose lines are adjacent: two tiles of the right operand, of pairs of terms. */
void weft_gemm_pairs_terms_v4(const weft_gemm_pairs_source *s, const char *from, int64_t lines, int64_t terms,
                              char *tiles)
{
    const ptrdiff_t stride = s->term;
    static const uint16_t pairs[LINES] = {0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
                                          8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
    const __m512i low = _mm512_loadu_si512(pairs), high = _mm512_add_epi16(low, _mm512_set1_epi16(TILE_LINES));
    const __mmask32 first = (__mmask32)FIRST(lines);
    for (int64_t t = 0; t < TILE_ROW / s->size; t += 2, from += 2 * stride, tiles += TILE_ROW) {
        __m512i even = _mm512_maskz_loadu_epi16(t < terms ? first : 0, from);
        __m512i odd = _mm512_maskz_loadu_epi16(t + 1 < terms ? first : 0, from + stride);
        _mm512_store_si512(tiles, _mm512_permutex2var_epi16(even, low, odd));
        _mm512_store_si512(tiles + TILE_BYTES, _mm512_permutex2var_epi16(even, high, odd));
    }
}

/* The same of four terms each: bytes of two are put in turn, then these. */
void weft_gemm_pairs_fours_v4(const weft_gemm_pairs_source *s, const char *from, int64_t lines, int64_t terms,
                              char *tiles)
{
    enum { FOUR = 4 };
    const __mmask32 first = (__mmask32)FIRST(lines);
    const __m256i sign = _mm256_set1_epi8(is_signed(s) ? INT8_MIN : 0);
    for (int64_t t = 0; t < TILE_ROW; t += FOUR, from += FOUR * s->term, tiles += TILE_ROW) {
        __m256i x[FOUR];
        for (int64_t i = 0; i < FOUR; i++)
            x[i] = _mm256_xor_si256(_mm256_maskz_loadu_epi8(t + i < terms ? first : 0, from + i * s->term), sign);
        __m256i low = _mm256_unpacklo_epi8(x[0], x[1]), high = _mm256_unpackhi_epi8(x[0], x[1]);
        __m256i low2 = _mm256_unpacklo_epi8(x[2], x[3]), high2 = _mm256_unpackhi_epi8(x[2], x[3]);
        __m256i a = _mm256_unpacklo_epi16(low, low2), b = _mm256_unpackhi_epi16(low, low2);
        __m256i c = _mm256_unpacklo_epi16(high, high2), d = _mm256_unpackhi_epi16(high, high2);
        __m256i *row = (__m256i *)tiles, *next = (__m256i *)(tiles + TILE_BYTES);
        _mm256_store_si256(row, _mm256_permute2x128_si256(a, b, 0x20));
        _mm256_store_si256(row + 1, _mm256_permute2x128_si256(c, d, 0x20));
        _mm256_store_si256(next, _mm256_permute2x128_si256(a, b, 0x31));
        _mm256_store_si256(next + 1, _mm256_permute2x128_si256(c, d, 0x31));
    }
}

void weft_gemm_pairs_begin_u8(const char *left, int64_t steps, int64_t rows, int32_t *first)
{
    for (int64_t i = 0; i < rows; i++) {
        const char *row = left + i / TILE_LINES * TILE_BYTES + i % TILE_LINES * TILE_ROW;
        __m512i sum = _mm512_setzero_si512();
        for (int64_t s = 0; s < steps; s++, row += WEFT_PAIRS_STEP_BYTES)
            sum = _mm512_add_epi64(sum, _mm512_sad_epu8(_mm512_load_si512(row), _mm512_setzero_si512()));
        first[i] = 128 * (int32_t)_mm512_reduce_add_epi64(sum);
    }
}

/* Sums become numbers of bf16 by an instruction, wherever they go. */
static void round_all(const float *from, char *to, int64_t count)
{
    enum { LANES = 16 };
    for (int64_t i = 0; i < count; i += LANES) {
        const __mmask16 first = (__mmask16)FIRST(least(LANES, count - i));
        __m256i rounded = (__m256i)_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(first, from + i));
        _mm256_mask_storeu_epi16(to + i * (int64_t)sizeof(uint16_t), first, rounded);
    }
}

const weft_float16 weft_gemm_pairs_float16 = {.round = round_all};

void weft_gemm_pairs_store_bf16(const weft_gemm_block *block, const weft_gemm_sums *sums)
{
    if (!weft_gemm_pairs_has_rows(block)) {
        weft_gemm_float16_round(block, sums);
        return;
    }
    const __mmask32 first = (__mmask32)FIRST(sums->right_count);
    const float *from = sums->data;
    char *to = weft_gemm_block_element(block, sums->left, sums->right);
    for (int64_t i = 0; i < sums->left_count; i++, from += LINES, to += block->c_left->stride * block->c_element) {
        __m512 low = _mm512_load_ps(from), high = _mm512_load_ps(from + TILE_LINES);
        _mm512_mask_storeu_epi16(to, first, (__m512i)_mm512_cvtne2ps_pbh(high, low));
    }
}

/* Sums of i32 are those of C. */
void weft_gemm_pairs_store_i32(const weft_gemm_block *block, const weft_gemm_sums *sums)
{
    bool is_adjacent = weft_gemm_pairs_has_rows(block);
    const __mmask16 first = (__mmask16)FIRST(least(TILE_LINES, sums->right_count)),
                    second = (__mmask16)(FIRST(sums->right_count) >> TILE_LINES);
    const float *from = sums->data;
    for (int64_t i = 0; i < sums->left_count; i++, from += LINES) {
        char *to = weft_gemm_block_element(block, sums->left + i, sums->right);
        if (is_adjacent) {
            _mm512_mask_storeu_ps(to, first, _mm512_load_ps(from));
            _mm512_mask_storeu_ps(to + TILE_ROW, second, _mm512_load_ps(from + TILE_LINES));
            continue;
        }
        for (int64_t j = 0; j < sums->right_count; j++)
            memcpy(weft_gemm_block_element(block, sums->left + i, sums->right + j), from + j, sizeof *from);
    }
}

void weft_gemm_pairs_add_bf16(void *sums, const void *more)
{
    float *to = sums;
    const float *from = more;
    for (int i = 0; i < WEFT_PAIRS_SUMS; i += TILE_LINES)
        _mm512_store_ps(to + i, _mm512_add_ps(_mm512_load_ps(to + i), _mm512_load_ps(from + i)));
}

void weft_gemm_pairs_add_i32(void *sums, const void *more)
{
    int32_t *to = sums;
    const int32_t *from = more;
    for (int i = 0; i < WEFT_PAIRS_SUMS; i += TILE_LINES)
        _mm512_store_si512(to + i, _mm512_add_epi32(_mm512_load_si512(to + i), _mm512_load_si512(from + i)));
}
