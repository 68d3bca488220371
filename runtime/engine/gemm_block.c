/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm_block.h"
#include <stdlib.h>
#include "runtime/engine/gemm_block_tile.h"
#include "runtime/engine/gemm_panels.h"
#include "runtime/engine/gemm_part.h"
#include "runtime/engine/gemm_rows.h"

/*
 * The terms are cut into blocks of fixed length, whose sums are added to C one after the other; rows and columns are
 * cut to fit the caches, and then into tiles. Operands are packed where that pays, and otherwise read in place. Kernels
 * compute tiles in C itself where it lies as they want it, otherwise in a buffer. So each element is the same sum in
 * the same order, wherever it is and however A, B and C lie.
 */

/* ---- few rows ---- */

char *weft_gemm_block_element(const weft_gemm_block *block, int64_t i, int64_t j)
{
    int64_t offset = weft_gemm_axes_offset(block->c_left, i - block->c_first_left) +
                     weft_gemm_axes_offset(block->c_right, j - block->c_first_right);
    return block->c + offset * block->c_element;
}

static weft_gemm_rows rows_of(const weft_gemm_block *block)
{
    bool left = block->few_left;
    const weft_gemm_side *rows = left ? &block->left : &block->right, *matrix = left ? &block->right : &block->left;
    const weft_gemm_axes *c_row = left ? block->c_left : block->c_right,
                         *c_column = left ? block->c_right : block->c_left;
    int64_t bytes = matrix->count * block->terms * weft_gemm_side_element(matrix);
    return (weft_gemm_rows){.rows = weft_gemm_side_at(rows, rows->first, 0),
                            .matrix = weft_gemm_side_at(matrix, matrix->first, 0),
                            .c = weft_gemm_block_element(block, block->left.first, block->right.first),
                            .row_count = rows->count,
                            .column_count = matrix->count,
                            .terms = block->terms,
                            .block = block->kernel->terms / weft_gemm_parts(block),
                            .is_complex = rows->complex,
                            .far = !rows->complex && rows->count > 1 && weft_gemm_is_in_memory(block, bytes),
                            .row_stride = rows->lines->stride,
                            .row_term_stride = rows->terms->stride,
                            .matrix_term_stride = matrix->terms->stride,
                            .c_row = c_row->stride,
                            .c_column = c_column->stride};
}

static void run_rows(const weft_gemm_block *block, char *sums)
{
    const weft_gemm_rows product = rows_of(block);
    block->kernel->rows_in_place(&product, sums);
}

static void run_lines(const weft_gemm_block *block, char *packed)
{
    bool left = block->few_left;
    const weft_gemm_side *rows = left ? &block->left : &block->right, *lines = left ? &block->right : &block->left;
    weft_gemm_lines product = {.rows = weft_gemm_side_at(rows, rows->first, 0),
                               .lines = weft_gemm_side_at(lines, lines->first, 0),
                               .c = weft_gemm_block_element(block, block->left.first, block->right.first),
                               .row_count = rows->count,
                               .line_count = lines->count,
                               .terms = block->terms,
                               .block = block->kernel->terms,
                               .row_stride = rows->lines->stride,
                               .row_term_stride = rows->terms->stride,
                               .line_stride = lines->lines->stride,
                               .c_row = (left ? block->c_left : block->c_right)->stride,
                               .c_line = (left ? block->c_right : block->c_left)->stride};
    block->kernel->lines_in_place(&product, packed);
}

/* Of rows whose sums are whole vectors. */
static size_t rows_bytes(const weft_gemm_block *block, int64_t rows, int64_t columns)
{
    enum { VECTORS = WEFT_GEMM_ALIGNMENT / 2 };
    int64_t sums = rows * weft_gemm_round_up(columns * weft_gemm_parts(block), VECTORS);
    return (size_t)weft_gemm_least(sums, WEFT_GEMM_ROWS_SUMS) * block->left.size;
}

size_t weft_gemm_block_bytes(const weft_gemm_block *block)
{
    if (block->in_lines)
        return (size_t)(WEFT_GEMM_LINES_ROWS * weft_gemm_least(block->terms, WEFT_GEMM_LINES_TERMS)) * block->left.size;
    if (block->few_left) return rows_bytes(block, block->left.count, block->right.count);
    if (block->few_right) return rows_bytes(block, block->right.count, block->left.count);
    weft_gemm_part left = weft_gemm_part_plan(block, true, NULL), right = weft_gemm_part_plan(block, false, NULL);
    return (size_t)(weft_gemm_part_bytes(&left) + weft_gemm_part_bytes(&right));
}

/* ---- panels ---- */

/* Strides in numbers. */
struct panel {
    const char *data;
    int64_t stride, term_stride;
};

static const char *element_at(const weft_gemm_part *part, int64_t index)
{
    return weft_gemm_side_at(part->side, part->first + index, part->term);
}

/* The first row or column that is packed. What does not fill the vectors of a kernel always is, unless it takes masks.
 */
static int64_t packed_from(const weft_gemm_part *part)
{
    if (part->packs) return 0;
    return part->wide && !part->masked ? part->count / part->width * part->width : part->count;
}

static void pack(const weft_gemm_part *part, int64_t terms)
{
    int64_t from = packed_from(part), panel = 0;
    if (part->pending) {
        panel = part->count / part->width;
        from = panel * part->width;
    }
    if (from < part->count && part->side->panels == NULL && !part->kept)
        weft_gemm_pack(part->side, part->first + from, part->count - from, part->term, terms, part->width,
                       part->memory + panel * part->bytes, part->bytes);
}

/* Whether the tiles beside the first panel of the other operand pack the panels of this one: lines are adjacent, in
 * runs no shorter than a register. Of an operand that comes from memory panels that are read many times are packed
 * before, in longer runs, which takes little of all then. */
static bool is_pending(const weft_gemm_block *block, const weft_gemm_part *part, const weft_gemm_part *other)
{
    enum { MOST_USES = 512, CACHES = 4 };
    const weft_gemm_side *side = part->side;
    if (!block->kernel->sources || !part->wide || !part->packs || part->kept || side->panels != NULL) return false;
    int64_t lanes = weft_gemm_lanes(block->kernel), vectors = block->kernel->vectors;
    if (side->float16 != NULL || side->lines->stride != 1 || side->lines->each < lanes || block->symmetric)
        return false;
    bool is_near = side->count * block->terms * weft_gemm_side_element(side) <= CACHES * block->cache_bytes;
    return (is_near || other->side->count <= MOST_USES) && part->width == vectors * lanes &&
           weft_gemm_takes_source(weft_gemm_least(other->width, other->count), vectors);
}

/* Panel number `panel`, which begins with row or column `index`. */
static struct panel panel_at(const weft_gemm_part *part, int64_t index, int64_t panel)
{
    int64_t parts = part->side->complex ? 2 : 1, number = part->side->form == WEFT_GEMM_WHOLE ? 2 : 1;
    if (part->packs) return (struct panel){part->memory + panel * part->bytes, number, number * part->width};
    if (index >= packed_from(part)) return (struct panel){part->memory, number, number * part->width};
    return (struct panel){element_at(part, index), parts * part->side->lines->stride,
                          parts * part->side->terms->stride};
}

/* ---- tiles ---- */

/* Tiles that the kernel takes in one go, and bytes from one to the next, and from the wide operand to what is fetched
 * into L2 beside it. */
struct series {
    int64_t count, wide_step, narrow_step, c_step, fetch, fetch_step;
    bool near, far;
    const weft_gemm_source *source; /* of a tile that packs its wide operand */
};

/* One tile of each product. */
static struct series repeated(const weft_gemm_block *block)
{
    bool by_columns = block->kernel->by_columns;
    return (struct series){.count = block->count,
                           .wide_step = by_columns ? block->left_step : block->right_step,
                           .narrow_step = by_columns ? block->right_step : block->left_step,
                           .c_step = block->c_step};
}

/* Those of number `index` of one operand, which lies in C like this: one tile of each product, or those whose panels
 * follow each other before `end`. */
static struct series series_at(const weft_gemm_block *block, const weft_gemm_part *part, const weft_gemm_axes *c,
                               int64_t index, int64_t end)
{
    if (block->count > 1) return repeated(block);
    int64_t lines = weft_gemm_panel_lines(part->side, part->width), size = weft_gemm_side_element(part->side);
    if (end - index <= lines) return (struct series){.count = 1};
    int64_t most = packed_from(part) > index ? packed_from(part) - index : part->count - index;
    if (end < part->count) most = weft_gemm_least(most, weft_gemm_round_up(end - index, lines));
    int64_t count = weft_gemm_axes_run(c, part->first + index, most) / lines;
    if (count <= 1) return (struct series){.count = 1};
    int64_t step = part->packs ? part->bytes : lines * part->side->lines->stride * size;
    return (struct series){.count = count,
                           .wide_step = part->wide ? step : 0,
                           .narrow_step = part->wide ? 0 : step,
                           .c_step = lines * c->stride * block->c_element};
}

/* While a part of the left operand is read in place, from L2 after the first column of tiles, the next part comes from
 * memory: each column of tiles asks for one register of a panel's. Of one column, for the next panel. 64 x 147 x 12544
 * f32 takes 0.87 of the time, 18 x 700 x 2500 0.88 (Sapphire Rapids). */
static int64_t fetch_at(const weft_gemm_block *block, const weft_gemm_part *left, int64_t column)
{
    const weft_gemm_side *side = left->side;
    bool is_one = weft_gemm_is_one_tile(block, false), is_last = left->first + left->count >= side->first + side->count;
    if (!left->wide || left->packs) return 0;
    const int64_t size = (int64_t)side->size, line = column % block->kernel->vectors * weft_gemm_lanes(block->kernel);
    if (!is_last || is_one) return ((is_one ? left->width : left->count) * side->lines->stride + line) * size;
    return block->next_left == 0 ? 0 : block->next_left + line * size;
}

/* Whether the next part of the left operand, which is read in place, is asked for as a whole beside each of a few
 * columns of tiles, and nothing of the terms ahead: these would come too late from memory, and where their distance is
 * a multiple of 4 KB they share a set of L1 with the ones before. */
static bool is_far(const weft_gemm_block *block, const weft_gemm_part *left, const weft_gemm_part *right)
{
    enum { PAGE = 4096, MOST_COLUMNS = 2 };
    const weft_gemm_side *side = left->side;
    const int64_t element = weft_gemm_side_element(side);
    if (right->count > MOST_COLUMNS * weft_gemm_panel_lines(right->side, right->width)) return false;
    return side->terms->stride * element % PAGE == 0 ||
           weft_gemm_is_in_memory(block, side->count * block->terms * element);
}

/* The next product's left operand beside a row of tiles, each of which asks for another register of a panel's terms.
 * 62208 products of 48 x 48 by 48 x 24 f32 that follow each other in memory take 0.67 of the time (Zen 5). */
static void fetch_across(const weft_gemm_block *block, const weft_gemm_part *left, int64_t column,
                         struct series *series)
{
    const int64_t vectors = block->kernel->vectors;
    if (!block->kernel->ahead || block->next_left == 0 || block->count > 1) return;
    if (!left->wide || left->packs || column >= vectors) return;
    const int64_t register_bytes = weft_gemm_lanes(block->kernel) * (int64_t)left->side->size;
    series->count = weft_gemm_least(series->count, vectors - column);
    series->fetch = block->next_left + column * register_bytes;
    series->fetch_step = register_bytes;
}

/* Whether the wide operand is in L2 after the first of many columns of tiles, in lines so close to each other that
 * the processor finds the next ones by itself: asking for them would take as many instructions as they save time.
 * 256^3 takes 0.96 of the time (Sapphire Rapids). Panels of two packed operands are not asked for either. */
static bool is_near(const weft_gemm_block *block, const weft_gemm_part *wide, const weft_gemm_part *narrow)
{
    enum { NEAR = 2048, FEWEST_COLUMNS = 3 };
    if (block->kernel->packs) return true;
    int64_t distance = wide->packs ? 0 : llabs(wide->side->terms->stride) * weft_gemm_side_element(wide->side);
    return distance <= NEAR && narrow->count >= FEWEST_COLUMNS * weft_gemm_panel_lines(narrow->side, narrow->width);
}

bool weft_gemm_block_repeats(const weft_gemm_block *block)
{
    const weft_gemm_kernel *kernel = block->kernel;
    const weft_gemm_axes *along = kernel->by_columns ? block->c_left : block->c_right;
    if (kernel->tile == NULL || !kernel->masked || block->symmetric || block->few_left || block->few_right)
        return false;
    if (block->c_left->rank + block->c_right->rank > 0 || along->stride != 1 ||
        block->terms > weft_gemm_block_terms(block))
        return false;
    return !weft_gemm_part_plan(block, true, NULL).packs && !weft_gemm_part_plan(block, false, NULL).packs;
}

static void keep(weft_gemm_kept *kept, const weft_gemm_tile_call *call, bool direct)
{
    kept->failed |= !direct || call->source != NULL || kept->count == WEFT_GEMM_KEPT_TILES;
    if (!kept->failed) kept->tiles[kept->count++] = *call;
}

/* Through `buffer` where the kernel cannot write the tile as it lies. Returns how many tiles of the series are done. */
static int64_t run_strided(const weft_gemm_block *block, const weft_gemm_block_tile *tile, const struct panel *wide,
                           const struct panel *narrow, const struct series *series, int64_t terms, bool add,
                           char *buffer)
{
    const weft_gemm_kernel *kernel = block->kernel;
    int64_t size = (int64_t)block->left.size, width = weft_gemm_vector(kernel), parts = weft_gemm_parts(block);
    int64_t along = tile->along * parts, whole = weft_gemm_round_up(along, weft_gemm_lanes(kernel));
    bool direct = (kernel->masked || along == whole) && tile->along_stride == parts * size && !tile->is_split;
    int64_t count = direct ? series->count : 1;
    const weft_gemm_tile_call call = {.wide = wide->data,
                                      .narrow = narrow->data,
                                      .c = direct ? tile->c : buffer,
                                      .rows = tile->across,
                                      .columns = kernel->masked ? along : whole,
                                      .terms = kernel->is_complex ? terms : terms * parts,
                                      .wide_term = wide->term_stride,
                                      .narrow_term = narrow->term_stride,
                                      .narrow_stride = narrow->stride,
                                      .c_stride = direct ? tile->across_stride / size : width,
                                      .count = count,
                                      .wide_step = series->wide_step / size,
                                      .narrow_step = series->narrow_step / size,
                                      .c_step = series->c_step / size,
                                      .fetch = series->fetch / size,
                                      .far = series->far,
                                      .fetch_step = series->fetch_step / size,
                                      .source = series->source,
                                      .add = add && direct,
                                      .near = series->near,
                                      .wide_first = kernel->by_columns != block->right_first};
    if (block->kept != NULL) {
        keep(block->kept, &call, direct);
        return count;
    }
    if (!direct && add) weft_gemm_block_tile_fetch(block, tile);
    kernel->tile(&call);
    if (!direct) weft_gemm_block_tile_move(block, tile, buffer, add);
    return count;
}

/* The same with a kernel for whole tiles of packed operands. */
static void run_packed(const weft_gemm_block *block, const weft_gemm_block_tile *tile, const char *left,
                       const char *right, int64_t terms, bool add, char *buffer)
{
    const weft_gemm_kernel *kernel = block->kernel;
    int64_t parts = weft_gemm_parts(block), element = parts * (int64_t)block->left.size;
    int64_t vector = weft_gemm_vector(kernel);
    int64_t vectors = kernel->by_columns ? kernel->columns : kernel->rows;
    bool whole = tile->along * parts == vector && tile->across == vectors;
    bool direct = whole && tile->along_stride == element && tile->across_stride > 0 && !tile->is_split;
    if (!direct && add) weft_gemm_block_tile_fetch(block, tile);
    kernel->panels(kernel, terms * parts, left, right, add && direct, direct ? tile->c : buffer,
                   direct ? tile->across_stride / (int64_t)block->left.size : vector);
    if (!direct) weft_gemm_block_tile_move(block, tile, buffer, add);
}

static weft_gemm_block_tile tile_at(const weft_gemm_block *block, int64_t i, int64_t rows, int64_t j, int64_t columns)
{
    bool by_columns = block->kernel->by_columns, is_joined = block->c_left->rank + block->c_right->rank > 0;
    int64_t element = block->c_element;
    int64_t left = block->c_left->stride * element, right = block->c_right->stride * element;
    bool is_split = is_joined && (weft_gemm_axes_run(block->c_left, i, rows) < rows ||
                                  weft_gemm_axes_run(block->c_right, j, columns) < columns);
    char *c = is_joined ? weft_gemm_block_element(block, i, j)
                        : block->c + (i - block->c_first_left) * left + (j - block->c_first_right) * right;
    return (weft_gemm_block_tile){.c = c,
                                  .along = by_columns ? rows : columns,
                                  .across = by_columns ? columns : rows,
                                  .along_stride = by_columns ? left : right,
                                  .across_stride = by_columns ? right : left,
                                  .pitch = weft_gemm_vector(block->kernel) * (int64_t)block->left.size,
                                  .is_split = is_split,
                                  .i = i,
                                  .j = j};
}

/* Rows or columns of the tile that begins with number `index`. */
static int64_t tile_extent(const weft_gemm_block *block, const weft_gemm_part *part, int64_t index)
{
    int64_t width = weft_gemm_panel_lines(part->side, part->width), rest = part->count - index;
    bool in_place = part->wide && !part->packs && width == weft_gemm_vector(block->kernel);
    if (in_place && weft_gemm_is_one_more(block->kernel, rest)) return width - weft_gemm_lanes(block->kernel);
    return weft_gemm_least(width, rest);
}

/* Whether tiles of a row follow each other, and not those of a column: all of these panels of the right operand are
 * read beside one of the left one, which stays in L1. Then series are longer, and what each costs is spread: at least
 * twice as long. Not where lines of a large C would be written in pieces. */
static bool goes_across(const weft_gemm_block *block, const weft_gemm_part *left, const weft_gemm_part *right,
                        int64_t terms)
{
    enum { NEAR = 12 << 10 };
    int64_t rows = weft_gemm_panel_lines(left->side, left->width),
            columns = weft_gemm_panel_lines(right->side, right->width);
    if (block->symmetric || 2 * left->count * columns > right->count * rows) return false;
    if (left->count <= rows) return true;
    bool is_near = left->wide && left->width * terms * weft_gemm_side_element(left->side) <= NEAR;
    return is_near && (left->count * block->c_element <= WEFT_GEMM_FAR ||
                       left->count * right->count * block->c_element <= block->cache_bytes / 2);
}

/* What tiles of a pair of parts have in common. */
struct tiles {
    const weft_gemm_block *block;
    const weft_gemm_part *left, *right;
    int64_t terms;
    bool add;
    char *buffer;
    weft_gemm_source *source; /* of a left part that is pending */
};

/* A tile: its first row and column, how many it has, and the panels that it is the product of. */
struct place {
    int64_t i, rows, j, columns;
    struct panel a, b;
};

/* Computes a tile, and those of the series that follow it. Returns how many they are. Inlined: a place in memory would
 * be loaded as registers that waited until stores to it, and all before, were done. */
static inline __attribute__((always_inline)) int64_t run_from(const struct tiles *t, const struct place *at,
                                                              const struct series *series)
{
    const weft_gemm_block *block = t->block;
    const weft_gemm_kernel *kernel = block->kernel;
    const weft_gemm_part *left = t->left, *right = t->right;
    const weft_gemm_block_tile tile = tile_at(block, left->first + at->i, at->rows, right->first + at->j, at->columns);
    bool is_packed = left->packs && right->packs && !kernel->tile_is_faster;
    if (kernel->tile == NULL || (is_packed && at->rows == weft_gemm_panel_lines(left->side, left->width) &&
                                 at->columns == weft_gemm_panel_lines(right->side, right->width))) {
        run_packed(block, &tile, at->a.data, at->b.data, t->terms, t->add, t->buffer);
        return 1;
    }
    int64_t done = run_strided(block, &tile, left->wide ? &at->a : &at->b, left->wide ? &at->b : &at->a, series,
                               t->terms, t->add, t->buffer);
    return block->count > 1 ? 1 : done;
}

/* Panel number `index` of the left part as it lies. */
static void find_source(const weft_gemm_part *left, int64_t index, int64_t lanes, weft_gemm_source *source)
{
    const int64_t size = (int64_t)left->side->size;
    weft_gemm_walk walk;
    weft_gemm_walk_start(&walk, left->side->lines, left->first + index * left->width);
    source->panel = left->memory + index * left->bytes;
    for (int64_t v = 0, done = 0; v * lanes < left->width; v++) {
        int64_t before = weft_gemm_least(walk.length - done, lanes);
        ptrdiff_t place = (walk.offset + done) * size, beyond = place;
        done += before;
        if (done == walk.length) {
            weft_gemm_walk_next(&walk);
            done = lanes - before;
            if (done > 0) beyond = (walk.offset - before) * size;
        }
        source->registers[v].place = place;
        source->registers[v].beyond = beyond;
        source->registers[v].before = before;
    }
}

/* The first tile that reads panel `index` of a left part that is pending, which begins with row `i`. */
static struct series first_series(const struct tiles *t, int64_t i, int64_t index)
{
    if (t->left->count - i < t->left->width) return (struct series){.count = 1};
    find_source(t->left, index, weft_gemm_lanes(t->block->kernel), t->source);
    return (struct series){.count = 1, .source = t->source};
}

/* Column by column. */
static void run_columns(const struct tiles *t)
{
    const weft_gemm_block *block = t->block;
    const weft_gemm_part *left = t->left, *right = t->right;
    int64_t rows = weft_gemm_panel_lines(left->side, left->width);
    bool near = is_near(block, left->wide ? left : right, left->wide ? right : left), far = is_far(block, left, right);
    struct place at = {0};
    for (int64_t y = 0; at.j < right->count; at.j += at.columns, y++) {
        int64_t end = left->count, fetch = fetch_at(block, left, far ? 0 : y);
        at.columns = tile_extent(block, right, at.j);
        at.b = panel_at(right, at.j, y);
        if (block->symmetric) end = weft_gemm_least(end, right->first + at.j + at.columns - left->first);
        at.i = 0;
        for (int64_t x = 0, done; at.i < end; at.i += at.rows + (done - 1) * rows, x += done) {
            struct series series =
                y == 0 && left->pending ? first_series(t, at.i, x) : series_at(block, left, block->c_left, at.i, end);
            series.fetch = fetch;
            series.far = fetch != 0 && far;
            series.near = fetch == 0 && near;
            at.rows = tile_extent(block, left, at.i);
            at.a = panel_at(left, at.i, x);
            done = run_from(t, &at, &series);
        }
    }
}

/* Row by row. */
static void run_across(const struct tiles *t)
{
    const weft_gemm_block *block = t->block;
    const weft_gemm_part *left = t->left, *right = t->right;
    int64_t columns = weft_gemm_panel_lines(right->side, right->width);
    bool near = is_near(block, left->wide ? left : right, left->wide ? right : left);
    struct place at = {0};
    for (int64_t x = 0; at.i < left->count; at.i += at.rows, x++) {
        at.rows = tile_extent(block, left, at.i);
        at.a = panel_at(left, at.i, x);
        at.j = 0;
        for (int64_t y = 0, done; at.j < right->count; at.j += at.columns + (done - 1) * columns, y += done) {
            struct series series = y == 0 && left->pending
                                       ? first_series(t, at.i, x)
                                       : series_at(block, right, block->c_right, at.j, right->count);
            fetch_across(block, left, y, &series);
            series.near = series.fetch == 0 && near;
            at.columns = tile_extent(block, right, at.j);
            at.b = panel_at(right, at.j, y);
            done = run_from(t, &at, &series);
        }
    }
}

static void run_tiles(const weft_gemm_block *block, const weft_gemm_part *left, const weft_gemm_part *right,
                      int64_t terms, bool add)
{
    _Alignas(WEFT_GEMM_ALIGNMENT) char buffer[WEFT_GEMM_TILE * sizeof(double)];
    ptrdiff_t offsets[WEFT_GEMM_TERMS];
    weft_gemm_source source = {.from = left->side->data, .offsets = offsets};
    const struct tiles tiles = {block, left, right, terms, add, buffer, &source};
    if (left->pending) weft_gemm_pack_offsets(left->side, left->term, terms, offsets);
    if (goes_across(block, left, right, terms)) run_across(&tiles);
    else run_columns(&tiles);
}

/* ---- all ---- */

/* The next rows or columns, or what is left of them. */
static weft_gemm_part part_of(const weft_gemm_block *block, const weft_gemm_part *whole, int64_t first, int64_t term)
{
    weft_gemm_part part = *whole;
    const weft_gemm_side *side = part.side;
    part.first = side->first + first;
    part.count = weft_gemm_least(whole->count, side->count - first);
    part.term = term;
    if (whole->blocks > 1 && part.memory != NULL)
        part.memory += term / weft_gemm_block_terms(block) % whole->blocks * weft_gemm_part_block_bytes(whole);
    if (side->panels != NULL) {
        const weft_gemm_panels panels =
            weft_gemm_panels_of(block->kernel, side->size, side->panel_lines, side->terms->count);
        part.memory = (char *)(uintptr_t)side->panels + weft_gemm_panels_at(&panels, part.first, term);
        part.bytes = weft_gemm_panels_pitch(&panels, term);
    }
    return part;
}

/* One operand, the left one if it is short, is packed for a few blocks of terms at once, as much of it as is worth it;
 * of the other one a piece of a block at a time. */
static void run_parts(const weft_gemm_block *block, const weft_gemm_part *lefts, const weft_gemm_part *rights)
{
    const bool by_left = weft_gemm_is_short(block, true), is_packed_later = by_left && is_pending(block, lefts, rights);
    const weft_gemm_part *outers = by_left ? lefts : rights, *inners = by_left ? rights : lefts;
    const int64_t most = weft_gemm_block_terms(block), all = block->terms;
    for (int64_t o = 0; o < outers->side->count; o += outers->count)
        for (int64_t begin = 0, end; begin < all; begin = end) {
            end = weft_gemm_least(begin + outers->blocks * most, all);
            for (int64_t t = begin; t < end; t += most) {
                weft_gemm_part outer = part_of(block, outers, o, t);
                outer.pending = is_packed_later;
                pack(&outer, weft_gemm_least(most, all - t));
            }
            for (int64_t i = 0; i < inners->side->count; i += inners->count)
                for (int64_t t = begin; t < end; t += most) {
                    int64_t terms = weft_gemm_least(most, all - t);
                    weft_gemm_part outer = part_of(block, outers, o, t), inner = part_of(block, inners, i, t);
                    outer.pending = is_packed_later && i == 0;
                    inner.pending = !by_left && is_pending(block, &inner, &outer);
                    pack(&inner, terms);
                    run_tiles(block, by_left ? &outer : &inner, by_left ? &inner : &outer, terms, t > 0);
                }
        }
}

void weft_gemm_block_run(const weft_gemm_block *block, char *memory)
{
    if (block->few_left || block->few_right) {
        (block->in_lines ? run_lines : run_rows)(block, memory);
        return;
    }
    weft_gemm_part left = weft_gemm_part_plan(block, true, memory),
                   right = weft_gemm_part_plan(block, false, memory + weft_gemm_part_bytes(&left));
    run_parts(block, &left, &right);
}

void weft_gemm_block_keep(const weft_gemm_block *block, weft_gemm_kept *kept)
{
    weft_gemm_block keeping = *block;
    keeping.kept = kept;
    weft_gemm_part left = weft_gemm_part_plan(block, true, NULL), right = weft_gemm_part_plan(block, false, NULL);
    if (block->few_left || block->few_right) {
        kept->failed = kept->is_rows || block->in_lines;
        kept->is_rows = true;
        kept->rows = rows_of(block);
        return;
    }
    kept->failed |= block->kernel->tile == NULL || weft_gemm_part_bytes(&left) + weft_gemm_part_bytes(&right) > 0;
    if (!kept->failed) run_parts(&keeping, &left, &right);
}
