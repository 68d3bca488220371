/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm_block_tile.h"
#include <stdlib.h>
#include <string.h>
#include "runtime/engine/vector.h"

/* Adds numbers of `size` bytes that are adjacent. */
static inline __attribute__((always_inline)) void add_run(char *c, const char *sums, size_t bytes, size_t size)
{
    typedef float floats __attribute__((vector_size(16)));
    typedef double doubles __attribute__((vector_size(16)));
    size_t i = 0;
    for (; i + 16 <= bytes; i += 16) {
        floats x, y;
        memcpy(&x, c + i, sizeof x);
        memcpy(&y, sums + i, sizeof y);
        x = size == sizeof(float) ? x + y : (floats)((doubles)x + (doubles)y);
        memcpy(c + i, &x, sizeof x);
    }
    for (; i < bytes; i += size) {
        if (size == sizeof(float)) *(any_float *)(c + i) += *(const any_float *)(sums + i);
        else *(any_double *)(c + i) += *(const any_double *)(sums + i);
    }
}

/* A part of C and one of the buffer: extents and strides in bytes, the inner loop second. */
struct part_of_tile {
    char *c;
    const char *buffer;
    int64_t extents[2], strides[2], pitches[2];
    bool adjacent;
};

/* Sums become C, in runs of adjacent elements. */
static void copy_runs(const struct part_of_tile *p, size_t bytes)
{
    for (int64_t j = 0; j < p->extents[0]; j++)
        weft_copy_few(p->c + j * p->strides[0], p->buffer + j * p->pitches[0], bytes);
}

/* The same one by one. Inlined with a constant size. */
static inline __attribute__((always_inline)) void copy_part(const struct part_of_tile *p, size_t size)
{
    for (int64_t j = 0; j < p->extents[0]; j++) {
        const char *from = p->buffer + j * p->pitches[0];
        char *to = p->c + j * p->strides[0];
        for (int64_t i = 0; i < p->extents[1]; i++, to += p->strides[1], from += p->pitches[1]) memcpy(to, from, size);
    }
}

/* Sums are added to C. Inlined with a constant size of numbers; `size` is that of elements. */
static inline __attribute__((always_inline)) void add_part(const struct part_of_tile *p, size_t size, size_t number)
{
    int64_t runs = p->adjacent ? 1 : p->extents[1];
    size_t bytes = p->adjacent ? (size_t)p->extents[1] * size : size;
    for (int64_t j = 0; j < p->extents[0]; j++) {
        const char *from = p->buffer + j * p->pitches[0];
        char *to = p->c + j * p->strides[0];
        for (int64_t i = 0; i < runs; i++, to += p->strides[1], from += p->pitches[1]) add_run(to, from, bytes, number);
    }
}

/* Whether elements of C that are adjacent lie across the vectors, and squares of registers are transposed. */
static bool is_transposed(const weft_gemm_block *block, const weft_gemm_block_tile *tile)
{
    return tile->across_stride == block->c_element && block->kernel->masked && block->c_element <= 8;
}

static void transpose_tile(const weft_gemm_block *block, const weft_gemm_block_tile *tile, const char *buffer,
                           char *out, int64_t stride)
{
    ptrdiff_t offsets[WEFT_GEMM_MOST_LINES];
    offsets[0] = 0;
    for (int64_t j = 1; j < tile->across; j++) offsets[j] = j * tile->pitch;
    block->kernel->transpose(buffer, offsets, tile->across, tile->along, out, stride / block->c_element);
}

/* The inner loop goes along the shorter stride of C. */
static void move_part(const weft_gemm_block *block, const weft_gemm_block_tile *tile, const char *buffer, bool add)
{
    _Alignas(WEFT_GEMM_ALIGNMENT) char transposed[WEFT_GEMM_TILE * sizeof(double)];
    const int64_t size = block->c_element;
    bool along = llabs(tile->along_stride) <= llabs(tile->across_stride);
    int64_t pitch_along = size, pitch_across = tile->pitch;
    if (is_transposed(block, tile)) {
        pitch_along = tile->across * size;
        pitch_across = size;
        transpose_tile(block, tile, buffer, add ? transposed : tile->c, add ? pitch_along : tile->along_stride);
        if (!add) return;
        buffer = transposed;
        along = false;
    }
    int64_t stride = along ? tile->along_stride : tile->across_stride, pitch = along ? pitch_along : pitch_across;
    struct part_of_tile part = {.c = tile->c,
                                .buffer = buffer,
                                .extents = {along ? tile->across : tile->along, along ? tile->along : tile->across},
                                .strides = {along ? tile->across_stride : tile->along_stride, stride},
                                .pitches = {along ? pitch_across : pitch_along, pitch},
                                .adjacent = stride == size && pitch == size};
    if (add && block->left.size == sizeof(float)) add_part(&part, (size_t)size, sizeof(float));
    else if (add) add_part(&part, (size_t)size, sizeof(double));
    else if (part.adjacent) copy_runs(&part, (size_t)(part.extents[1] * size));
    else if (size == 4) copy_part(&part, 4);
    else
        for (int64_t half = 0; half < size; half += 8, part.c += 8, part.buffer += 8) copy_part(&part, 8);
}

/* Asks for what is going to be added to. Processors may ignore that for a page they have not looked up lately, so the
 * first number of each page is loaded. */
static void fetch_part(const weft_gemm_block *block, const weft_gemm_block_tile *tile)
{
    enum { LINE = 64, PAGE = 4096 };
    bool turns = is_transposed(block, tile);
    if (!turns && tile->along_stride != block->c_element) return;
    int64_t lines = turns ? tile->along : tile->across, stride = turns ? tile->along_stride : tile->across_stride;
    int64_t last = (turns ? tile->across : tile->along) * block->c_element - 1;
    const char *line = tile->c;
    uintptr_t page = 0;
    for (int64_t i = 0; i < lines; i++, line += stride) {
        if ((uintptr_t)line / PAGE != page) (void)*(const volatile char *)line;
        page = (uintptr_t)line / PAGE;
        for (int64_t at = 0; at < last; at += LINE) __builtin_prefetch(line + at);
        __builtin_prefetch(line + last);
    }
}

/* What is done with a tile. */
enum action { STORE, ADD, FETCH };

static void act(const weft_gemm_block *block, const weft_gemm_block_tile *part, const char *buffer, enum action action)
{
    if (action == FETCH) fetch_part(block, part);
    else move_part(block, part, buffer, action == ADD);
}

/* In parts whose elements lie at one stride each way. */
static void move_tile(const weft_gemm_block *block, const weft_gemm_block_tile *tile, const char *buffer,
                      enum action action)
{
    const int64_t size = block->c_element;
    bool by_columns = block->kernel->by_columns;
    int64_t rows = by_columns ? tile->along : tile->across, columns = by_columns ? tile->across : tile->along;
    if (!tile->is_split) {
        act(block, tile, buffer, action); /* a copy would wait until the tile is in memory */
        return;
    }
    for (int64_t i = 0, row_run; i < rows; i += row_run) {
        row_run = weft_gemm_axes_run(block->c_left, tile->i + i, rows - i);
        for (int64_t j = 0, column_run; j < columns; j += column_run) {
            column_run = weft_gemm_axes_run(block->c_right, tile->j + j, columns - j);
            weft_gemm_block_tile part = *tile;
            part.c = weft_gemm_block_element(block, tile->i + i, tile->j + j);
            part.along = by_columns ? row_run : column_run;
            part.across = by_columns ? column_run : row_run;
            int64_t along = by_columns ? i : j, across = by_columns ? j : i;
            act(block, &part, action == FETCH ? NULL : buffer + along * size + across * tile->pitch, action);
        }
    }
}

void weft_gemm_block_tile_move(const weft_gemm_block *block, const weft_gemm_block_tile *tile, const char *buffer,
                               bool add)
{
    move_tile(block, tile, buffer, add ? ADD : STORE);
}

void weft_gemm_block_tile_fetch(const weft_gemm_block *block, const weft_gemm_block_tile *tile)
{
    move_tile(block, tile, NULL, FETCH);
}
