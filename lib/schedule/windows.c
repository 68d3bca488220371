/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/schedule/flat.h"

/*
 * Small windows. A loop over the elements of one takes in an element for each result, and elements that windows share
 * are loaded for each of them. So the elements become instructions, for a few rows of windows at once if they overlap:
 * what these share is one load, as are vectors of which lanes are picked.
 */

enum { MOST_INSTRUCTIONS = 20, MOST_ROWS = 4, MOST_SHORT_ROWS = 8 };

/* Whether the window of the next point of a range has an element, of those the load reads, that the first of this
 * window is moved to. */
static bool load_overlaps(const weft_kernel *kernel, const weft_stage *stage, const weft_inst *load, weft_expr variable)
{
    weft_expr_context *x = kernel->exprs;
    weft_flat_stage s = {.ranges = stage->ranges, .range_count = stage->range_count, .first = weft_expr_constant(x, 0)};
    weft_expr next = weft_expr_add(x, variable, weft_expr_constant(x, 1));
    if (load->op != WEFT_SCALAR_load || !weft_expr_uses(x, load->index, variable)) return false;
    weft_expr moved = weft_expr_substitute(x, weft_flat_at_point(x, &s, 0, load->index), 1, &variable, &next);
    for (uint32_t point = 1; point < weft_flat_points(kernel, stage); point++)
        if (weft_flat_at_point(x, &s, point, load->index) == moved) return true;
    return false;
}

static bool overlaps(const weft_kernel *kernel, const weft_stage *stage, weft_expr variable)
{
    bool found = false;
    for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++)
        found |= load_overlaps(kernel, stage, &kernel->insts[i], variable);
    return found;
}

/* Whether windows that follow each other along the lanes, of few elements, are a few elements apart in memory. */
static bool is_apart(const weft_kernel *kernel, const weft_stage *stage, weft_expr lanes)
{
    enum { MOST_ELEMENTS = 9, MOST_APART = 4 };
    weft_expr_context *x = kernel->exprs;
    bool apart = weft_flat_points(kernel, stage) <= MOST_ELEMENTS;
    for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count && apart; i++) {
        const weft_inst *load = &kernel->insts[i];
        weft_expr step, rest;
        int64_t distance;
        if (load->op != WEFT_SCALAR_load || !weft_expr_uses(x, load->index, lanes)) continue;
        apart = weft_expr_affine(x, load->index, lanes, &step, &rest) && weft_expr_is_constant(x, step, &distance) &&
                distance > 1 && distance <= MOST_APART;
    }
    return apart;
}

/* The only stage that reduces, in order; NULL: there is none. */
static const weft_stage *find_reduction(const weft_kernel *kernel)
{
    const weft_stage *found = NULL;
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        const weft_stage *stage = &kernel->stages[s];
        if (stage->range_count == 0) continue;
        const weft_range *last = &stage->ranges[stage->range_count - 1];
        if (found != NULL || !last->reduce || last->virtual_lanes > 1 || last->scans) return NULL;
        found = stage;
    }
    return found;
}

/* A divisor of their number if there is one: the last rows of others are places of their own, and share nothing. Few
 * enough to be no more code than is good. */
static uint32_t rows_of(const weft_kernel *kernel, uint32_t range, uint32_t width)
{
    int64_t least, most;
    weft_expr_range(kernel->exprs, kernel->ranges[kernel->range_count - 1].extent, &least, &most);
    uint32_t rows = most <= width ? MOST_SHORT_ROWS : MOST_ROWS;
    while (rows > 1 && weft_expr_divisor(kernel->exprs, kernel->ranges[range].extent) % rows != 0) rows--;
    if (rows == 1) rows = weft_kernel_jam_rows(kernel, range, MOST_ROWS);
    while (rows > 1 && weft_kernel_flatten_refusal(kernel, rows) != NULL) rows--;
    return rows;
}

/* Whether so many points of the range share what they read that it is better to load it once for these. */
static bool shares_more(const weft_kernel *kernel, uint32_t range)
{
    int64_t least, most;
    if (range == kernel->range_count) return false;
    weft_expr_range(kernel->exprs, kernel->ranges[range].extent, &least, &most);
    return least == most || least >= MOST_ROWS;
}

bool weft_kernel_find_windows(const weft_kernel *kernel, uint32_t width, weft_jam *out_rows)
{
    const weft_stage *stage = find_reduction(kernel);
    uint32_t last = kernel->range_count - 1, shared = weft_kernel_find_jam(kernel, MOST_ROWS).range;
    *out_rows = (weft_jam){kernel->range_count, 1};
    if (stage == NULL || kernel->range_count == 0 || kernel->inst_count > MOST_INSTRUCTIONS) return false;
    if (weft_kernel_flatten_refusal(kernel, 1) != NULL) return false;
    for (uint32_t r = 0; r < last; r++)
        if (overlaps(kernel, stage, kernel->ranges[r].variable)) out_rows->range = r;
    if (shared != out_rows->range && shares_more(kernel, shared)) return false;
    if (out_rows->range < last) out_rows->rows = rows_of(kernel, out_rows->range, width);
    weft_expr lanes = kernel->ranges[last].variable;
    return out_rows->rows > 1 || overlaps(kernel, stage, lanes) || is_apart(kernel, stage, lanes);
}
