/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm_block.h"
#include <stdlib.h>
#include <string.h>
#include "runtime/engine/gemm_rows.h"

/*
 * The terms are cut into blocks of fixed length, whose sums are added to C one after the other; rows and columns are
 * cut to fit the caches, and then into tiles. Kernels compute whole tiles: in C itself where the tile lies as they want
 * it, otherwise in a buffer. So each element is the same sum in the same order, wherever it is and however C lies.
 */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t round_up(int64_t value, int64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* ---- sizes ---- */

static int64_t parts_of(const weft_gemm_block *block)
{
    return block->left.complex ? 2 : 1;
}

/* Rows or columns of C that a panel has. */
static int64_t panel_count(const weft_gemm_side *side, int64_t width)
{
    return side->doubled ? width / 2 : width;
}

/* Terms of a block, in elements. */
static int64_t most_terms(const weft_gemm_block *block)
{
    return least(block->terms, block->kernel->terms / parts_of(block));
}

static int64_t panel_bytes(const weft_gemm_block *block, int64_t width)
{
    return round_up(width * most_terms(block) * parts_of(block) * (int64_t)block->left.size, WEFT_GEMM_ALIGNMENT);
}

/* Panels that are packed at once. */
static int64_t most_panels(const weft_gemm_block *block, const weft_gemm_side *side, int64_t width, int64_t bytes)
{
    int64_t all = round_up(side->count, panel_count(side, width)) / panel_count(side, width);
    int64_t fit = bytes / panel_bytes(block, width);
    return least(all, fit < 1 ? 1 : fit);
}

/* Of packed operands: the left one stays in the second-level cache, the right one in the third, of which each core has
 * as much as that at least. */
static int64_t left_limit(const weft_gemm_block *block)
{
    return block->cache_bytes / 2;
}

static int64_t right_limit(const weft_gemm_block *block)
{
    return block->cache_bytes * 4;
}

static int64_t left_bytes(const weft_gemm_block *block)
{
    int64_t width = block->kernel->rows;
    return most_panels(block, &block->left, width, left_limit(block)) * panel_bytes(block, width) +
           WEFT_GEMM_READ_AHEAD;
}

static int64_t right_bytes(const weft_gemm_block *block)
{
    int64_t width = block->kernel->columns;
    return most_panels(block, &block->right, width, right_limit(block)) * panel_bytes(block, width) +
           WEFT_GEMM_READ_AHEAD;
}

/* ---- few rows ---- */

static void run_rows(const weft_gemm_block *block, char *sums)
{
    bool left = block->few_left;
    const weft_gemm_side *rows = left ? &block->left : &block->right, *matrix = left ? &block->right : &block->left;
    weft_gemm_rows product = {.rows = rows->data,
                              .matrix = matrix->data,
                              .c = block->c,
                              .row_count = rows->count,
                              .column_count = matrix->count,
                              .terms = block->terms,
                              .block = block->kernel->terms,
                              .row_stride = rows->stride,
                              .row_term_stride = rows->term_stride,
                              .matrix_stride = matrix->stride,
                              .matrix_term_stride = matrix->term_stride,
                              .c_row = left ? block->c_left : block->c_right,
                              .c_column = left ? block->c_right : block->c_left,
                              .size = rows->size};
    weft_gemm_rows_find()(&product, sums);
}

size_t weft_gemm_block_bytes(const weft_gemm_block *block)
{
    int64_t rows = block->few_left ? block->left.count : block->right.count;
    if (block->few_left || block->few_right) return (size_t)(rows * WEFT_GEMM_ROWS_COLUMNS) * block->left.size;
    return (size_t)(left_bytes(block) + right_bytes(block));
}

/* ---- packing ---- */

/* What is packed of an operand: rows or columns [first, first + count). */
struct packed {
    const weft_gemm_side *side;
    int64_t width; /* of a panel, in numbers */
    int64_t panel; /* bytes */
    int64_t first, count;
    char *memory;
};

static void pack(const struct packed *packed, int64_t term, int64_t terms)
{
    const weft_gemm_side *side = packed->side;
    int64_t each = panel_count(side, packed->width), element = (side->complex ? 2 : 1) * (int64_t)side->size;
    char *out = packed->memory;
    for (int64_t i = 0; i < packed->count; i += each, out += packed->panel) {
        const char *data = side->data + ((packed->first + i) * side->stride + term * side->term_stride) * element;
        weft_gemm_pack(side, data, least(each, packed->count - i), terms, packed->width, out);
    }
}

/* ---- tiles ---- */

/* A tile of C: `along` elements along the vectors of the kernel, `across` rows of them. Strides in bytes. */
struct tile {
    char *c;
    int64_t along, across;
    int64_t along_stride, across_stride;
    int64_t pitch; /* of the buffer, in bytes */
};

/* From C to the buffer, or back; extents and strides with the inner loop second. Inlined with a constant size. */
static inline __attribute__((always_inline)) void move(char *c, const int64_t *strides, char *buffer,
                                                       const int64_t *pitches, const int64_t *extents, bool store,
                                                       size_t size)
{
    for (int64_t j = 0; j < extents[0]; j++)
        for (int64_t i = 0; i < extents[1]; i++) {
            char *of_c = c + j * strides[0] + i * strides[1], *of_buffer = buffer + j * pitches[0] + i * pitches[1];
            memcpy(store ? of_c : of_buffer, store ? of_buffer : of_c, size);
        }
}

/* The inner loop goes along the shorter stride of C. */
static void move_tile(const struct tile *tile, char *buffer, bool store, int64_t size)
{
    bool along = llabs(tile->along_stride) <= llabs(tile->across_stride);
    const int64_t extents[2] = {along ? tile->across : tile->along, along ? tile->along : tile->across};
    const int64_t strides[2] = {along ? tile->across_stride : tile->along_stride,
                                along ? tile->along_stride : tile->across_stride};
    const int64_t pitches[2] = {along ? tile->pitch : size, along ? size : tile->pitch};
    switch (size) {
    case 4: move(tile->c, strides, buffer, pitches, extents, store, 4); break;
    case 8: move(tile->c, strides, buffer, pitches, extents, store, 8); break;
    default: move(tile->c, strides, buffer, pitches, extents, store, 16); break;
    }
}

static void run_tile(const weft_gemm_block *block, const struct tile *tile, const char *left, const char *right,
                     int64_t terms, bool add)
{
    _Alignas(WEFT_GEMM_ALIGNMENT) char buffer[WEFT_GEMM_TILE * sizeof(double)];
    const weft_gemm_kernel *kernel = block->kernel;
    int64_t parts = parts_of(block), element = parts * (int64_t)block->left.size;
    int64_t vector = kernel->by_columns ? kernel->rows : kernel->columns;
    int64_t vectors = kernel->by_columns ? kernel->columns : kernel->rows;
    bool whole = tile->along * parts == vector && tile->across == vectors;
    if (whole && tile->along_stride == element && tile->across_stride > 0) {
        weft_gemm_tile(kernel, terms * parts, left, right, add, tile->c,
                       tile->across_stride / (int64_t)block->left.size);
        return;
    }
    if (add) move_tile(tile, buffer, false, element);
    weft_gemm_tile(kernel, terms * parts, left, right, add, buffer, vector);
    move_tile(tile, buffer, true, element);
}

static struct tile tile_at(const weft_gemm_block *block, int64_t i, int64_t rows, int64_t j, int64_t columns)
{
    bool by_columns = block->kernel->by_columns;
    int64_t element = parts_of(block) * (int64_t)block->left.size;
    int64_t left = block->c_left * element, right = block->c_right * element;
    return (struct tile){.c = block->c + i * left + j * right,
                         .along = by_columns ? rows : columns,
                         .across = by_columns ? columns : rows,
                         .along_stride = by_columns ? left : right,
                         .across_stride = by_columns ? right : left,
                         .pitch =
                             (by_columns ? block->kernel->rows : block->kernel->columns) * (int64_t)block->left.size};
}

static void run_tiles(const weft_gemm_block *block, const struct packed *left, const struct packed *right,
                      int64_t terms, bool add)
{
    int64_t rows = panel_count(left->side, left->width), columns = panel_count(right->side, right->width);
    for (int64_t j = 0; j < right->count; j += columns)
        for (int64_t i = 0; i < left->count; i += rows) {
            struct tile tile = tile_at(block, left->first + i, least(rows, left->count - i), right->first + j,
                                       least(columns, right->count - j));
            run_tile(block, &tile, left->memory + i / rows * left->panel, right->memory + j / columns * right->panel,
                     terms, add);
        }
}

/* ---- all ---- */

static struct packed plan(const weft_gemm_block *block, const weft_gemm_side *side, int64_t width, int64_t bytes,
                          char *memory)
{
    return (struct packed){.side = side,
                           .width = width,
                           .panel = panel_bytes(block, width),
                           .count = most_panels(block, side, width, bytes) * panel_count(side, width),
                           .memory = memory};
}

/* The next `count` rows or columns, or what is left. */
static struct packed part_of(const struct packed *whole, int64_t first)
{
    struct packed part = *whole;
    part.first = first;
    part.count = least(whole->count, whole->side->count - first);
    return part;
}

void weft_gemm_block_run(const weft_gemm_block *block, char *memory)
{
    if (block->few_left || block->few_right) {
        run_rows(block, memory);
        return;
    }
    struct packed lefts = plan(block, &block->left, block->kernel->rows, left_limit(block), memory);
    struct packed rights =
        plan(block, &block->right, block->kernel->columns, right_limit(block), memory + left_bytes(block));
    int64_t most = most_terms(block);
    for (int64_t j = 0; j < block->right.count; j += rights.count)
        for (int64_t t = 0; t < block->terms; t += most) {
            int64_t terms = least(most, block->terms - t);
            struct packed right = part_of(&rights, j);
            pack(&right, t, terms);
            for (int64_t i = 0; i < block->left.count; i += lefts.count) {
                struct packed left = part_of(&lefts, i);
                pack(&left, t, terms);
                run_tiles(block, &left, &right, terms, t > 0);
            }
        }
}
