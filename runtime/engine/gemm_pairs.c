/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terms of a product are cut into blocks, whose sums are added up in order, so that each element is the same sum
 * wherever it is and however A, B and C lie.
 */
#include "runtime/engine/gemm_pairs.h"
#include <immintrin.h>
#include <string.h>
#include "runtime/engine/gemm_float16.h"
#include "runtime/engine/gemm_panels.h"

enum {
    TILE_LINES = WEFT_PAIRS_TILE_LINES,
    TILE_ROW = WEFT_PAIRS_TILE_ROW,
    TILE_BYTES = WEFT_PAIRS_TILE_BYTES,
    LINES = WEFT_PAIRS_LINES,
    STEP_BYTES = WEFT_PAIRS_STEP_BYTES,
    SUMS = LINES * LINES,
};

/* Columns of the right operand that are packed at once at most, of kernel->alone terms. Of these kernel->terms are
 * added up in registers. */
enum { COLUMNS = 512 };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t count_of(int64_t extent, int64_t unit)
{
    return (extent + unit - 1) / unit;
}

/* ---- packing ---- */

#define FIRST(n) ((1ULL << (n)) - 1)

/* What is packed: lines and terms, from one to the next of which it is so many bytes. Bytes of the right operand change
 * their first bit, which takes 128 from them. */
typedef struct source {
    const char *data;
    ptrdiff_t line, term;
    bool is_left;
    int64_t count, terms, size;
} source;

static bool is_signed(const source *s)
{
    return !s->is_left && s->size == 1;
}

/* Of lines whose terms are adjacent: a tile of the left operand. */
static void take_lines(const source *s, const char *from, int64_t lines, int64_t terms, char *tile)
{
    const __mmask64 first = ~0ULL >> (TILE_ROW - terms * s->size);
    const __m512i sign = _mm512_set1_epi8(is_signed(s) ? INT8_MIN : 0);
    for (int64_t i = 0; i < TILE_LINES; i++, from += s->line, tile += TILE_ROW) {
        __m512i line = _mm512_maskz_loadu_epi8(i < lines ? first : 0, from);
        _mm512_store_si512(tile, _mm512_xor_si512(line, sign));
    }
}

/* Of terms whose lines are adjacent: two tiles of the right operand, of pairs of terms. */
static void take_pairs(const source *s, const char *from, int64_t lines, int64_t terms, char *tiles)
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
static void take_fours(const source *s, const char *from, int64_t lines, int64_t terms, char *tiles)
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

/* A tile of one operand as one of the other: what terms are multiplied together change places with lines.
 */
static void turn(const char *from, char *to)
{
    static const ptrdiff_t offsets[TILE_LINES] = {0 * TILE_ROW,  1 * TILE_ROW,  2 * TILE_ROW,  3 * TILE_ROW,
                                                  4 * TILE_ROW,  5 * TILE_ROW,  6 * TILE_ROW,  7 * TILE_ROW,
                                                  8 * TILE_ROW,  9 * TILE_ROW,  10 * TILE_ROW, 11 * TILE_ROW,
                                                  12 * TILE_ROW, 13 * TILE_ROW, 14 * TILE_ROW, 15 * TILE_ROW};
    weft_gemm_transpose_v4_f32(from, offsets, TILE_LINES, TILE_LINES, to, TILE_LINES);
}

/* Panels of lines whose terms are adjacent, the lines of a tile at a time. */
static void pack_lines(const source *s, char *panels)
{
    _Alignas(TILE_ROW) char turned[TILE_BYTES];
    int64_t step = TILE_ROW / s->size, steps = count_of(s->terms, step);
    for (int64_t line = 0; line < s->count; line += TILE_LINES) {
        const char *from = s->data + line * s->line;
        char *tile = panels + line / LINES * steps * STEP_BYTES + line % LINES * TILE_ROW;
        for (int64_t term = 0; term < s->terms; term += step, from += TILE_ROW, tile += STEP_BYTES) {
            take_lines(s, from, least(TILE_LINES, s->count - line), least(step, s->terms - term),
                       s->is_left ? tile : turned);
            if (!s->is_left) turn(turned, tile);
        }
    }
}

/* Panels of terms whose lines are adjacent, the terms of a tile at a time. */
static void pack_terms(const source *s, char *panels)
{
    _Alignas(TILE_ROW) char turned[STEP_BYTES];
    int64_t step = TILE_ROW / s->size, steps = count_of(s->terms, step);
    for (int64_t term = 0; term < s->terms; term += step, panels += STEP_BYTES) {
        const char *from = s->data + term * s->term;
        char *tiles = panels;
        for (int64_t line = 0; line < s->count; line += LINES, from += LINES * s->size, tiles += steps * STEP_BYTES) {
            (s->size == 1 ? take_fours : take_pairs)(s, from, least(LINES, s->count - line),
                                                     least(step, s->terms - term), s->is_left ? turned : tiles);
            for (int64_t i = 0; s->is_left && i < STEP_BYTES; i += TILE_BYTES) turn(turned + i, tiles + i);
        }
    }
}

static bool is_direct(const weft_gemm_side *side)
{
    return !weft_gemm_side_is_joined(side) && (side->terms->stride == 1 || side->lines->stride == 1);
}

/* ---- blocks ---- */

/* A block, the part of it that is computed now, and its memory. */
typedef struct work {
    const weft_gemm_block *block;
    weft_gemm_pairs_function *multiply;
    int64_t column, columns, begin, end; /* columns, and terms, that are packed at once */
    int64_t term, terms;                 /* of these, those that are added up now */
    int64_t panels, most;                /* of columns, and terms, that are packed at most */
    int64_t size, step;                  /* bytes of a number, terms of a step */
    int32_t first[LINES];                /* 128 times the sums of rows of u8 */
    char *right, *left;                  /* panels of columns, and one of rows */
    char *gathered;                      /* lines of a panel that lie anywhere */
    float *sums;                         /* where there are more terms: of all panels, of f32 or i32, */
    int64_t row_sums;                    /* from one panel of rows to the next; 0: they are those of one */
} work;

/* Bytes of memory; `w` becomes the places in it, if there is any. What is packed of the right operand takes half of L2;
 * where one panel of rows reads it, less, which is nearer. */
static size_t plan(work *w, const weft_gemm_block *block, char *memory)
{
    int64_t row_panels = count_of(block->left.count, LINES);
    bool is_packed = block->right.panels != NULL;
    int64_t most = block->kernel->alone;
    *w = (work){.block = block,
                .size = weft_gemm_side_element(&block->left),
                .step = block->kernel->step,
                .most = row_panels > 1 ? most : most / 2};
    int64_t steps = count_of(least(block->terms, w->most), w->step);
    int64_t fit = block->cache_bytes / 2 / (steps * STEP_BYTES);
    w->panels = least(count_of(least(block->right.count, COLUMNS), LINES), fit < 1 ? 1 : fit);
    int64_t left = is_packed ? 0 : w->panels * steps * STEP_BYTES;
    int64_t gathered = left + least(steps, block->kernel->terms / w->step) * STEP_BYTES;
    bool gathers = !is_direct(&block->left) || !(is_packed || is_direct(&block->right));
    int64_t sums = gathered + (gathers ? steps * STEP_BYTES : 0);
    if (memory != NULL) {
        w->right = memory;
        w->left = memory + left;
        w->gathered = memory + gathered;
        w->sums = (float *)(memory + sums);
    }
    if (block->terms <= block->kernel->terms) return (size_t)sums;
    w->row_sums = block->terms > w->most ? w->panels * SUMS : 0;
    return (size_t)sums + (size_t)(w->panels * SUMS + (row_panels - 1) * w->row_sums) * sizeof(float);
}

size_t weft_gemm_pairs_bytes(const weft_gemm_block *block)
{
    work w;
    return plan(&w, block, NULL);
}

/* `count` rows or columns from `first` on, of the terms of `s`, into panels. */
static void pack(const weft_gemm_side *side, int64_t first, int64_t term, source s, char *panels, char *gathered)
{
    s.size = weft_gemm_side_element(side);
    if (is_direct(side)) {
        s.data = weft_gemm_side_at(side, first, term);
        s.line = side->lines->stride * s.size;
        s.term = side->terms->stride * s.size;
        (side->terms->stride == 1 ? pack_lines : pack_terms)(&s, panels);
        return;
    }
    weft_gemm_side narrow = *side;
    narrow.float16 = NULL;
    narrow.size = (size_t)s.size;
    s.data = gathered;
    s.term = LINES * s.size;
    for (int64_t end = first + s.count; first < end; first += LINES) {
        s.count = least(LINES, end - first);
        weft_gemm_pack(&narrow, first, s.count, term, s.terms, LINES, gathered, 0);
        pack_terms(&s, panels);
        panels += count_of(s.terms, TILE_ROW / s.size) * STEP_BYTES;
    }
}

void weft_gemm_pairs_fill(const weft_gemm_side *side, int64_t term, int64_t terms, char *panels)
{
    enum { STEPS = 2 * WEFT_GEMM_TERMS / TILE_ROW }; /* of a block of terms */
    _Alignas(TILE_ROW) char gathered[STEPS * STEP_BYTES];
    pack(side, 0, term, (source){.count = side->count, .terms = terms}, panels, gathered);
}

static void pack_columns(const work *w)
{
    const weft_gemm_side *side = &w->block->right;
    const source s = {.count = w->columns, .terms = w->end - w->begin};
    if (side->panels == NULL) pack(side, side->first + w->column, w->begin, s, w->right, w->gathered);
}

/* Where the first panel of columns has the terms that are added up now, and the bytes to the next one. */
static const char *right_of(const work *w, int64_t *out_pitch)
{
    const weft_gemm_side *side = &w->block->right;
    if (side->panels == NULL) {
        *out_pitch = count_of(w->end - w->begin, w->step) * STEP_BYTES;
        return w->right + (w->term - w->begin) / w->step * STEP_BYTES;
    }
    const weft_gemm_panels panels =
        weft_gemm_panels_of(w->block->kernel, (size_t)w->size, side->panel_lines, w->block->terms);
    *out_pitch = weft_gemm_panels_pitch(&panels, w->term);
    return side->panels + weft_gemm_panels_at(&panels, side->first + w->column, w->term);
}

static void add_up_rows(work *w, int64_t rows)
{
    int64_t steps = count_of(w->terms, w->step);
    for (int64_t i = 0; i < rows; i++) {
        const char *row = w->left + i / TILE_LINES * TILE_BYTES + i % TILE_LINES * TILE_ROW;
        __m512i sum = _mm512_setzero_si512();
        for (int64_t s = 0; s < steps; s++, row += STEP_BYTES)
            sum = _mm512_add_epi64(sum, _mm512_sad_epu8(_mm512_load_si512(row), _mm512_setzero_si512()));
        w->first[i] = 128 * (int32_t)_mm512_reduce_add_epi64(sum);
    }
}

static void pack_row(work *w, int64_t row)
{
    const weft_gemm_side *side = &w->block->left;
    const source s = {.is_left = true, .count = least(LINES, side->count - row), .terms = w->terms};
    pack(side, side->first + row, w->term, s, w->left, w->gathered);
    if (w->size == 1) add_up_rows(w, s.count);
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

static bool has_adjacent_columns(const weft_gemm_block *block)
{
    return block->c_left->rank == 0 && block->c_right->rank == 0 && block->c_right->stride == 1;
}

static void round_tile(const weft_gemm_block *block, const weft_gemm_sums *sums)
{
    if (!has_adjacent_columns(block)) {
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
static void store_tile(const weft_gemm_block *block, const weft_gemm_sums *sums)
{
    bool is_adjacent = has_adjacent_columns(block);
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

static void add(const work *w, float *sums, const float *more)
{
    for (int i = 0; i < SUMS; i += TILE_LINES) {
        __m512 x = _mm512_load_ps(sums + i), y = _mm512_load_ps(more + i);
        _mm512_store_ps(sums + i,
                        w->size == 1 ? (__m512)_mm512_add_epi32((__m512i)x, (__m512i)y) : _mm512_add_ps(x, y));
    }
}

/* The rows of one panel, from `row` on, by all columns. */
static void run_row(const work *w, int64_t row)
{
    _Alignas(TILE_ROW) float buffer[SUMS];
    const weft_gemm_block *block = w->block;
    int64_t rows = least(LINES, block->left.count - row), steps = count_of(w->terms, w->step);
    bool is_first = w->term == 0, is_last = w->term + w->terms == block->terms;
    int64_t pitch;
    const char *right = right_of(w, &pitch);
    for (int64_t y = 0; y * LINES < w->columns; y++) {
        int64_t columns = least(LINES, w->columns - y * LINES);
        float *sums = is_first && is_last ? buffer : w->sums + row / LINES * w->row_sums + y * SUMS;
        w->multiply(w->left, right + y * pitch, steps, rows, columns, w->first, is_first ? sums : buffer);
        if (!is_first) add(w, sums, buffer);
        if (!is_last) continue;
        (w->size == 1 ? store_tile : round_tile)(block,
                                                 &(weft_gemm_sums){.data = sums,
                                                                   .pitch = LINES,
                                                                   .left = block->left.first + row,
                                                                   .left_count = rows,
                                                                   .right = block->right.first + w->column + y * LINES,
                                                                   .right_count = columns});
    }
}

/* All rows by the columns and terms that are packed at once. */
static void run_columns(work *w)
{
    pack_columns(w);
    for (int64_t row = 0; row < w->block->left.count; row += LINES)
        for (int64_t term = w->begin; term < w->end; term += w->block->kernel->terms) {
            w->term = term;
            w->terms = least(w->block->kernel->terms, w->end - term);
            pack_row(w, row);
            run_row(w, row);
        }
}

void weft_gemm_pairs_run(const weft_gemm_block *block, char *memory, weft_gemm_pairs_function *multiply)
{
    work w;
    plan(&w, block, memory);
    w.multiply = multiply;
    for (w.column = 0; w.column < block->right.count; w.column += w.panels * LINES) {
        w.columns = least(w.panels * LINES, block->right.count - w.column);
        for (w.begin = 0; w.begin < block->terms; w.begin += w.most) {
            w.end = least(block->terms, w.begin + w.most);
            run_columns(&w);
        }
    }
}
