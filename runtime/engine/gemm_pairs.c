/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terms of a product are cut into blocks, whose sums are added up in order, so that each element is the same sum
 * wherever it is and however A, B and C lie.
 */
#include "runtime/engine/gemm_pairs.h"
#include "runtime/engine/gemm_panels.h"

typedef weft_gemm_pairs_source source;

enum {
    TILE_LINES = WEFT_PAIRS_TILE_LINES,
    TILE_ROW = WEFT_PAIRS_TILE_ROW,
    TILE_BYTES = WEFT_PAIRS_TILE_BYTES,
    LINES = WEFT_PAIRS_LINES,
    STEP_BYTES = WEFT_PAIRS_STEP_BYTES,
    SUMS = WEFT_PAIRS_SUMS,
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

/* A tile of one operand as one of the other: what terms are multiplied together change places with lines. */
static void turn(const weft_gemm_pairs *pairs, const char *from, char *to)
{
    static const ptrdiff_t offsets[TILE_LINES] = {0 * TILE_ROW,  1 * TILE_ROW,  2 * TILE_ROW,  3 * TILE_ROW,
                                                  4 * TILE_ROW,  5 * TILE_ROW,  6 * TILE_ROW,  7 * TILE_ROW,
                                                  8 * TILE_ROW,  9 * TILE_ROW,  10 * TILE_ROW, 11 * TILE_ROW,
                                                  12 * TILE_ROW, 13 * TILE_ROW, 14 * TILE_ROW, 15 * TILE_ROW};
    pairs->transpose(from, offsets, TILE_LINES, TILE_LINES, to, TILE_LINES);
}

/* Panels of lines whose terms are adjacent, the lines of a tile at a time. */
static void pack_lines(const weft_gemm_pairs *pairs, const source *s, char *panels)
{
    _Alignas(TILE_ROW) char turned[TILE_BYTES];
    int64_t step = s->step, steps = count_of(s->terms, step);
    for (int64_t line = 0; line < s->count; line += TILE_LINES) {
        const char *from = s->data + line * s->line;
        char *tile = panels + line / LINES * steps * STEP_BYTES + line % LINES * TILE_ROW;
        for (int64_t term = 0; term < s->terms; term += step, from += step * s->size, tile += STEP_BYTES) {
            pairs->lines(s, from, least(TILE_LINES, s->count - line), least(step, s->terms - term),
                         s->is_left ? tile : turned);
            if (!s->is_left) turn(pairs, turned, tile);
        }
    }
}

/* Panels of terms whose lines are adjacent, the terms of a tile at a time. */
static void pack_terms(const weft_gemm_pairs *pairs, const source *s, char *panels)
{
    _Alignas(TILE_ROW) char turned[STEP_BYTES];
    int64_t step = s->step, steps = count_of(s->terms, step);
    for (int64_t term = 0; term < s->terms; term += step, panels += STEP_BYTES) {
        const char *from = s->data + term * s->term;
        char *tiles = panels;
        for (int64_t line = 0; line < s->count; line += LINES, from += LINES * s->size, tiles += steps * STEP_BYTES) {
            pairs->terms(s, from, least(LINES, s->count - line), least(step, s->terms - term),
                         s->is_left ? turned : tiles);
            for (int64_t i = 0; s->is_left && i < STEP_BYTES; i += TILE_BYTES) turn(pairs, turned + i, tiles + i);
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
    const weft_gemm_pairs *pairs;
    int64_t column, columns, begin, end; /* columns, and terms, that are packed at once */
    int64_t term, terms;                 /* of these, those that are added up now */
    int64_t panels, most;                /* of columns, and terms, that are packed at most */
    int64_t step;                        /* terms of a step */
    int32_t first[LINES];                /* what sums of rows begin with */
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
    *w = (work){.block = block, .step = block->kernel->step, .most = row_panels > 1 ? most : most / 2};
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
static void pack(const weft_gemm_pairs *pairs, const weft_gemm_side *side, int64_t first, int64_t term, source s,
                 char *panels, char *gathered)
{
    s.size = weft_gemm_side_element(side);
    if (is_direct(side)) {
        s.data = weft_gemm_side_at(side, first, term);
        s.line = side->lines->stride * s.size;
        s.term = side->terms->stride * s.size;
        (side->terms->stride == 1 ? pack_lines : pack_terms)(pairs, &s, panels);
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
        pack_terms(pairs, &s, panels);
        panels += count_of(s.terms, s.step) * STEP_BYTES;
    }
}

void weft_gemm_pairs_fill(const weft_gemm_pairs *pairs, int64_t step, const weft_gemm_side *side, int64_t term,
                          int64_t terms, char *panels)
{
    enum { STEPS = 2 * WEFT_GEMM_TERMS / TILE_ROW }; /* of a block of terms */
    _Alignas(TILE_ROW) char gathered[STEPS * STEP_BYTES];
    pack(pairs, side, 0, term, (source){.count = side->count, .terms = terms, .step = step}, panels, gathered);
}

static void pack_columns(const work *w)
{
    const weft_gemm_side *side = &w->block->right;
    const source s = {.count = w->columns, .terms = w->end - w->begin, .step = w->step};
    if (side->panels == NULL) pack(w->pairs, side, side->first + w->column, w->begin, s, w->right, w->gathered);
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
        weft_gemm_panels_of(w->block->kernel, (size_t)w->block->kernel->size, side->panel_lines, w->block->terms);
    *out_pitch = weft_gemm_panels_pitch(&panels, w->term);
    return side->panels + weft_gemm_panels_at(&panels, side->first + w->column, w->term);
}

static void pack_row(work *w, int64_t row)
{
    const weft_gemm_side *side = &w->block->left;
    const source s = {.is_left = true, .count = least(LINES, side->count - row), .terms = w->terms, .step = w->step};
    pack(w->pairs, side, side->first + row, w->term, s, w->left, w->gathered);
    if (w->pairs->begin != NULL) w->pairs->begin(w->left, count_of(w->terms, w->step), s.count, w->first);
}

bool weft_gemm_pairs_has_rows(const weft_gemm_block *block)
{
    return block->c_left->rank == 0 && block->c_right->rank == 0 && block->c_right->stride == 1;
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
        w->pairs->multiply(w->left, right + y * pitch, steps, rows, columns, w->first, is_first ? sums : buffer);
        if (!is_first) w->pairs->add(sums, buffer);
        if (is_last)
            w->pairs->store(block, &(weft_gemm_sums){.data = sums,
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

void weft_gemm_pairs_run(const weft_gemm_pairs *pairs, const weft_gemm_block *block, char *memory)
{
    work w;
    plan(&w, block, memory);
    w.pairs = pairs;
    for (w.column = 0; w.column < block->right.count; w.column += w.panels * LINES) {
        w.columns = least(w.panels * LINES, block->right.count - w.column);
        for (w.begin = 0; w.begin < block->terms; w.begin += w.most) {
            w.end = least(block->terms, w.begin + w.most);
            run_columns(&w);
        }
    }
}
