/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing moves where reductions or scans run side by side, or their rows do. */
#include "lib/schedule/chooser.h"
#include "lib/schedule/unroll.h"

/* Vectors of a round of rows that are computed side by side, at most. */
#define MOST_JAMMED_VECTORS 2u

/* Several rows side by side, and the last range in blocks in front of all ranges along which a block is read again. */
static weft_status *jam(const weft_chooser *c, weft_jam rows)
{
    weft_kernel *kernel = c->kernel;
    uint32_t last = kernel->range_count - 1;
    explain(c, "points of the jammed range share what their reductions read");
    WEFT_TRY(move(c, (weft_move){.kind = WEFT_MOVE_JAM, .range = rows.range, .factor = rows.rows}));
    if (rows.range + 2 == last && c->machine->vector_bytes >= 64 &&
        weft_kernel_rereads_far(kernel, c->machine, rows.range, rows.range + 1)) {
        WEFT_TRY(move(c, (weft_move){.kind = WEFT_MOVE_REORDER, .range = rows.range + 1, .to = rows.range}));
    }
    uint32_t first = weft_kernel_find_block(kernel, c->machine);
    WEFT_TRY(split_last(c, WEFT_JAM_BLOCK));
    if (kernel->range_count == last + 1 || first == last) return NULL;
    return move(c, (weft_move){.kind = WEFT_MOVE_REORDER, .range = last, .to = first});
}

/* Elements of a tile of the last range, along which reductions run side by side: a round, or the whole range where that
 * is known to be short, so that its lanes are constants, and other ranges are left for threads. */
static int64_t reduction_tile(const weft_chooser *c, uint32_t width, uint32_t unroll)
{
    enum { ENOUGH = 64 };
    const weft_kernel *kernel = c->kernel;
    uint32_t last = kernel->range_count - 1;
    int64_t extent, points = 1, least, most, round = (int64_t)width * unroll;
    for (uint32_t i = 0; i < last && points < ENOUGH; i++) {
        weft_expr_range(kernel->exprs, kernel->ranges[i].extent, &least, &most);
        points *= most < ENOUGH ? most : ENOUGH;
    }
    if (points < ENOUGH || !weft_expr_is_constant(kernel->exprs, kernel->ranges[last].extent, &extent)) return round;
    return extent <= 2 * round ? extent : round;
}

/* Rows side by side whose lanes are one vector take two points of another range as well, before they are jammed: their
 * sums are few, and wait for themselves, and each factor would be loaded for one multiplication. */
static weft_status *jam_second_vector(const weft_chooser *c, weft_jam rows, uint32_t width, uint32_t vectors)
{
    int64_t least, most;
    const weft_range *lanes = &c->kernel->ranges[c->kernel->range_count - 1];
    weft_expr_range(c->kernel->exprs, lanes->extent, &least, &most);
    if (most > width) return NULL;
    weft_jam second = weft_kernel_find_second_vector(c->kernel, rows, vectors);
    if (second.rows == 1) return NULL;
    return move(c, (weft_move){.kind = WEFT_MOVE_JAM, .range = second.range, .factor = second.rows});
}

/* Vectors of rows side by side that are known to be short are no longer than these: whole ones would be masked, and lie
 * across two lines. */
static uint32_t short_width(const weft_chooser *c, uint32_t width)
{
    enum { LEAST = 4 };
    int64_t least, most;
    weft_expr_range(c->kernel->exprs, c->kernel->ranges[c->kernel->range_count - 1].extent, &least, &most);
    while (width > LEAST && width / 2 >= most) width /= 2;
    return width;
}

/* A few rows of windows side by side, whose elements are instructions. Where loads jump, or registers are few, of one
 * vector each. */
static weft_status *choose_windows(const weft_chooser *c, weft_jam rows, uint32_t width)
{
    weft_kernel *kernel = c->kernel;
    explain(c, "windows overlap: what they share is loaded once");
    if (rows.rows > 1) WEFT_TRY(move(c, (weft_move){.kind = WEFT_MOVE_JAM, .range = rows.range, .factor = rows.rows}));
    WEFT_TRY(move(c, (weft_move){.kind = WEFT_MOVE_FLATTEN}));
    WEFT_TRY(split_last(c, TILE));
    const weft_stage *stage = &kernel->stages[0];
    const weft_range *last = &kernel->ranges[kernel->range_count - 1];
    bool jumps = weft_unroll_emitted(kernel, stage, last->variable) > weft_unroll_body(kernel, stage, last->variable);
    uint32_t unroll = c->machine->registers >= 32 && !jumps ? 2 : 1;
    unroll = rows.rows == 1 ? weft_choose_reduction_unroll(c, 1, last->extent, width)
                            : weft_unroll_limit(kernel, unroll, last->extent, width);
    return bind_lanes(c, kernel->range_count - 1, width, unroll);
}

/* A few parts of the rows side by side, where there are so few results that each would wait for the row before. */
static weft_status *split_rows(const weft_chooser *c, uint32_t width)
{
    uint32_t parts = c->wanted->form == WEFT_FORM_ANY ? weft_kernel_find_parts(c->kernel, width) : 1;
    return parts == 1 ? NULL : move(c, (weft_move){.kind = WEFT_MOVE_PARTS, .factor = parts});
}

weft_status *weft_choose_reductions(const weft_chooser *c, uint32_t width, uint32_t unroll)
{
    weft_kernel *kernel = c->kernel;
    uint32_t vectors = unroll < MOST_JAMMED_VECTORS ? unroll : MOST_JAMMED_VECTORS;
    const uint32_t sums = c->machine->registers * 3 / 4;
    weft_jam rows = weft_kernel_find_jam(kernel, sums / vectors);
    weft_jam windows;
    bool plain = c->wanted->rows == 0 && c->wanted->form == WEFT_FORM_ANY;
    if (plain && weft_kernel_find_windows(kernel, width, &windows)) return choose_windows(c, windows, width);
    if (c->wanted->rows != 0 && rows.rows != 1) rows.rows = c->wanted->rows;
    int64_t chunk =
        rows.rows > 1 || c->wanted->form == WEFT_FORM_PLAIN ? 0 : weft_kernel_find_sweep(kernel, c->machine);
    explain(c, chunk != 0 ? "rows of what it reduces are far apart in memory"
                          : "reductions run side by side along the last range");
    if (chunk != 0) return move(c, (weft_move){.kind = WEFT_MOVE_SWEEP, .width = width, .factor = chunk});
    if (rows.rows == 1) WEFT_TRY(split_rows(c, width));
    if (rows.rows > 1) width = short_width(c, width);
    if (rows.rows > 1) WEFT_TRY(jam_second_vector(c, rows, width, sums));
    if (rows.rows > 1) WEFT_TRY(jam(c, rows));
    else WEFT_TRY(split_last(c, reduction_tile(c, width, unroll)));
    return bind_lanes(c, kernel->range_count - 1, width, rows.rows > 1 ? vectors : unroll);
}

/* Lanes across rows that became single points, in tiles of range `rows` with about as many elements as others. */
static weft_status *bind_rows(const weft_chooser *c, uint32_t rows, uint32_t elements, uint32_t width, uint32_t unroll)
{
    int64_t tile = TILE / elements / TILE_ROUND * TILE_ROUND;
    if (c->wanted->tile != 0) tile = c->wanted->tile;
    WEFT_TRY(move(c, (weft_move){.kind = WEFT_MOVE_SPLIT, .range = rows, .factor = tile}));
    return bind_lanes(c, c->kernel->range_count - 1, width, unroll);
}

weft_status *weft_choose_short_rows(const weft_chooser *c, weft_short_rows rows, uint32_t width)
{
    const weft_kernel *kernel = c->kernel;
    explain(c, "results come in short rows: lanes go across them");
    for (uint32_t i = rows.first; i < rows.first + rows.count; i++) {
        weft_move jam = {.kind = WEFT_MOVE_JAM, .range = i};
        if (weft_expr_is_constant(kernel->exprs, kernel->ranges[i].extent, &jam.factor)) WEFT_TRY(move(c, jam));
    }
    WEFT_TRY(move(c, (weft_move){.kind = WEFT_MOVE_FLATTEN}));
    const weft_range *range = &kernel->ranges[rows.rows];
    uint32_t body = weft_unroll_body(kernel, &kernel->stages[0], range->variable);
    bool fits = 2 * rows.elements < c->machine->registers && weft_unroll_of(body) > 1;
    return bind_rows(c, rows.rows, rows.elements, width, weft_unroll_limit(kernel, fits ? 2 : 1, range->extent, width));
}

weft_status *weft_choose_scans(const weft_chooser *c, uint32_t width)
{
    if (c->machine->vector_bytes < 64) return NULL;
    bool across = c->wanted->form == WEFT_FORM_ANY && weft_kernel_wants_scan(c->kernel, width);
    explain(c, "rows are scanned: lanes go across them, some columns at a time");
    if (across) return move(c, (weft_move){.kind = WEFT_MOVE_SCAN, .width = width, .unroll = 1});
    weft_jam rows = weft_kernel_find_scanned_rows(c->kernel, c->machine->registers * 3 / 4);
    explain(c, "rows are scanned side by side");
    if (rows.rows > 1) return move(c, (weft_move){.kind = WEFT_MOVE_JAM, .range = rows.range, .factor = rows.rows});
    explain(c, "rows run in order, which are scanned");
    return NULL;
}

/* Whether the sums of sixteen vectors fit in registers, one for each and one for its block, rows are read as they lie,
 * and nothing decides on the way where they are: a short last round would ask again. */
static bool takes_one(const weft_kernel *kernel)
{
    const weft_stage *stage = &kernel->stages[0];
    weft_expr last = kernel->ranges[kernel->range_count - 1].variable;
    bool is_indirect = false, jumps = weft_unroll_emitted(kernel, stage, last) > weft_unroll_body(kernel, stage, last);
    for (uint32_t i = 0; i < kernel->inst_count; i++)
        is_indirect |= kernel->insts[i].op == WEFT_SCALAR_load && kernel->insts[i].arg_count != 0;
    return kernel->accumulator_count == 1 && kernel->accumulators[0].width == 1 && !is_indirect && !jumps;
}

/* With AVX-512 the last one may be masked, which takes no longer, and four take in more of each row than what they lack
 * of registers costs; eight where two more stages walk the rows. Where little is computed, up to 256 columns: the
 * longer the runs of rows that may be far apart the better. Few where lanes go across rows that lie along memory, from
 * vectors of 32 bytes on. */
uint32_t weft_choose_reduction_unroll(const weft_chooser *c, uint32_t body, weft_expr extent, uint32_t width)
{
    enum { COLUMNS = 256 };
    int64_t least, most;
    const weft_range *lanes = &c->kernel->ranges[c->kernel->range_count - 1];
    uint32_t rows = weft_unroll_across_rows(c->kernel, lanes->variable, width);
    if (rows != 0 && c->machine->vector_bytes >= 32) return weft_unroll_limit(c->kernel, rows, extent, width);
    if (c->machine->vector_bytes < 64) return weft_unroll_for(c->kernel, body, extent, width);
    weft_expr_range(c->kernel->exprs, extent, &least, &most);
    uint32_t unroll = weft_unroll_of(body);
    if (unroll > 1) unroll = c->kernel->stage_count > 2 ? 8 : larger(unroll, 4);
    if (unroll == 8 && takes_one(c->kernel)) unroll = COLUMNS / width;
    while (unroll > WEFT_MAX_UNROLL || (unroll > 1 && (int64_t)width * unroll / 2 >= most)) unroll /= 2;
    return unroll;
}

weft_status *weft_choose_flat(const weft_chooser *c, uint32_t width, weft_flat_rows rows)
{
    const weft_kernel *kernel = c->kernel;
    explain(c, "rows are short: lanes go across them");
    WEFT_TRY(move(c, (weft_move){.kind = WEFT_MOVE_FLATTEN}));
    const weft_range *range = &kernel->ranges[kernel->range_count - 1];
    uint32_t unroll = weft_unroll_limit(kernel, rows.is_dense ? 4 : 1, range->extent, width);
    return bind_rows(c, kernel->range_count - 1, rows.is_dense ? 1 : rows.points, width, unroll);
}
