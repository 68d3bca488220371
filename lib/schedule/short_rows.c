/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/schedule/transform.h"

/*
 * Products with short rows of results, as of points by a 3 x 3 matrix, or of many pairs of such matrices. Lanes along a
 * row would be idle for the most part. So all results of a row become one point, their few terms instructions, and
 * lanes go across rows, which are read and stored as they lie and transposed in registers.
 */

/* Results of a row, each an accumulator in a register; what they add up in all, each of which is an instruction; other
 * instructions of all of them, before terms are flattened. */
enum { MOST_RESULTS = 16, MOST_TERMS = 256, MOST_INSTRUCTIONS = 256 };
/* Elements of a row, beyond two vectors, from which on transposing them costs as much as idle lanes, or more: 4 x 4 by
 * 4 x 4 takes as long in f32, and 1.2 of the time in f64, sums of 7 rows of 8 f32 1.15 (Sapphire Rapids). */
enum { MANY_BEYOND = 16 };

/* Lanes that are no farther apart are picked from vectors, also in a loop over terms. */
enum { NEAR = 4 };

/* Whether outer range `number` may be a part of a row, of which there are `*results` so far. */
static bool add_to_row(const weft_kernel *kernel, uint32_t number, uint32_t *results)
{
    int64_t extent;
    if (!weft_expr_is_constant(kernel->exprs, kernel->ranges[number].extent, &extent)) return false;
    if (extent < 2 || extent > MOST_RESULTS / *results) return false;
    if (weft_kernel_jam_refusal(kernel, number, extent) != NULL) return false;
    *results *= (uint32_t)extent;
    return true;
}

/* The last outer ranges where they leave lanes idle, or those before the last one; how many results these are. */
static weft_short_rows find_row(const weft_kernel *kernel, uint32_t width, uint32_t *out_results)
{
    uint32_t end = kernel->range_count, first = end;
    int64_t least, most;
    *out_results = 1;
    weft_expr_range(kernel->exprs, kernel->ranges[end - 1].extent, &least, &most);
    if (most >= width) first = --end;
    while (first > 0 && add_to_row(kernel, first - 1, out_results)) first--;
    uint32_t rows = end < kernel->range_count ? end : first - 1;
    return first == 0 && rows != end ? (weft_short_rows){0} : (weft_short_rows){rows, first, end - first, 0};
}

/* Points of a range, if the expression changes along it. */
static uint32_t points_along(const weft_kernel *kernel, const weft_range *range, weft_expr index)
{
    int64_t extent;
    bool is_known = weft_expr_is_constant(kernel->exprs, range->extent, &extent);
    return is_known && weft_expr_uses(kernel->exprs, index, range->variable) ? (uint32_t)extent : 1;
}

/* Elements that an access of a row reaches; 0: all rows share them. */
static uint32_t count_elements(const weft_kernel *kernel, const weft_stage *stage, const weft_short_rows *row,
                               weft_expr index)
{
    uint32_t count = 1;
    if (!weft_expr_uses(kernel->exprs, index, kernel->ranges[row->rows].variable)) return 0;
    for (uint32_t i = 0; i < row->count; i++) count *= points_along(kernel, &kernel->ranges[row->first + i], index);
    for (uint32_t i = 0; i < stage->range_count; i++) count *= points_along(kernel, &stage->ranges[i], index);
    return count;
}

/* How far the access goes from row to row: a number, as all do. */
static int64_t distance_of(const weft_kernel *kernel, weft_expr rows, weft_expr index)
{
    weft_expr step, rest;
    int64_t distance = 0;
    if (weft_expr_affine(kernel->exprs, index, rows, &step, &rest))
        weft_expr_is_constant(kernel->exprs, step, &distance);
    return distance < 0 ? -distance : distance;
}

static bool is_adjacent_along(const weft_kernel *kernel, const weft_range *range, weft_expr index)
{
    weft_expr step, rest;
    return weft_expr_affine(kernel->exprs, index, range->variable, &step, &rest) &&
           step == weft_expr_constant(kernel->exprs, 1);
}

/* Whether the elements that a row has of an access lie one after another, or those of rows are near each other. */
static bool is_in_runs(const weft_kernel *kernel, const weft_stage *stage, const weft_short_rows *row, weft_expr index)
{
    bool found = distance_of(kernel, kernel->ranges[row->rows].variable, index) <= NEAR;
    for (uint32_t i = 0; i < row->count; i++)
        found |= is_adjacent_along(kernel, &kernel->ranges[row->first + i], index);
    for (uint32_t i = 0; i < stage->range_count; i++) found |= is_adjacent_along(kernel, &stage->ranges[i], index);
    return found;
}

/* Whether an outer range besides the row and `rows` reads the same again. */
static bool is_reread(const weft_kernel *kernel, const weft_short_rows *row, weft_expr index)
{
    int64_t least, most;
    for (uint32_t i = 0; i < kernel->range_count; i++) {
        if (i == row->rows || (i >= row->first && i < row->first + row->count)) continue;
        weft_expr_range(kernel->exprs, kernel->ranges[i].extent, &least, &most);
        if (most > 1 && !weft_expr_uses(kernel->exprs, index, kernel->ranges[i].variable)) return true;
    }
    return false;
}

/* What accesses of all rows are like. */
typedef struct accesses {
    uint32_t elements; /* of a row */
    bool in_runs;      /* all */
    bool jump, reread; /* any load */
} accesses;

static void add_access(const weft_kernel *kernel, const weft_stage *stage, const weft_short_rows *row, weft_expr index,
                       bool is_load, accesses *found)
{
    uint32_t elements = count_elements(kernel, stage, row, index);
    if (elements == 0) return;
    found->elements += elements;
    found->in_runs &= is_in_runs(kernel, stage, row, index);
    found->jump |= is_load && distance_of(kernel, kernel->ranges[row->rows].variable, index) > NEAR;
    found->reread |= is_load && is_reread(kernel, row, index);
}

static accesses find_accesses(const weft_kernel *kernel, const weft_short_rows *row)
{
    accesses found = {.in_runs = true};
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        const weft_stage *stage = &kernel->stages[s];
        for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++)
            if (kernel->insts[i].op == WEFT_SCALAR_load)
                add_access(kernel, stage, row, kernel->insts[i].index, true, &found);
        for (uint32_t i = 0; i < stage->store_count; i++)
            add_access(kernel, stage, row, stage->stores[i].index, false, &found);
    }
    return found;
}

/* The most terms of a result. */
static uint32_t count_terms(const weft_kernel *kernel)
{
    uint32_t terms = 1;
    int64_t extent;
    for (uint32_t s = 0; s < kernel->stage_count; s++)
        for (uint32_t i = 0; i < kernel->stages[s].range_count; i++)
            if (weft_expr_is_constant(kernel->exprs, kernel->stages[s].ranges[i].extent, &extent) && extent > terms)
                terms = (uint32_t)extent;
    return terms;
}

weft_short_rows weft_kernel_find_short_rows(const weft_kernel *kernel, uint32_t width)
{
    const weft_short_rows none = {0};
    uint32_t results;
    int64_t least, most;
    if (kernel->range_count == 0) return none;
    weft_short_rows row = find_row(kernel, width, &results);
    const weft_range *rows = &kernel->ranges[row.rows];
    if (row.count == 0 || results * kernel->inst_count > MOST_INSTRUCTIONS) return none;
    if (weft_kernel_flatten_refusal(kernel, results) != NULL || results * count_terms(kernel) > MOST_TERMS) return none;
    weft_expr_range(kernel->exprs, rows->extent, &least, &most);
    if (most < 2 * (int64_t)width || !weft_kernel_is_in_rows(kernel, rows->variable, false)) return none;
    accesses found = find_accesses(kernel, &row);
    if (!found.in_runs || found.elements >= 2 * width + MANY_BEYOND) return none;
    if (row.rows > row.first && (!found.jump || found.reread)) return none;
    row.elements = found.elements;
    return row;
}
