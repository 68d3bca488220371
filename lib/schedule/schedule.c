/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/schedule/chooser.h"
#include "lib/loop/narrow.h"
#include "lib/schedule/ranges.h"
#include "lib/schedule/unroll.h"

/*
 * Choosing moves, in three steps: adjacent ranges that every address walks as one become one; one range is chosen for
 * the lanes, along the reduction where that has virtual lanes, along the last outer range otherwise; that outer range
 * is cut into tiles, so that the tiles can run on threads. Each move is made at once, and the next one is chosen for
 * the kernel as it then is.
 */

/* Elements of a tile of rows that a scatter runs through many times: the rest of the row goes to other threads. */
#define ROW_TILE 256

/* ---- collapsing ---- */

/* Adjacent ranges of a list, whose first one has number `first`, from the end. */
static weft_status *fuse_all(const weft_chooser *c, uint32_t first, const uint32_t *count)
{
    for (uint32_t i = *count; i-- > 1;) {
        const char *reason;
        weft_move fuse = {.kind = WEFT_MOVE_FUSE, .range = first + i - 1};
        WEFT_TRY(weft_move_check(c->kernel, c->schedule, c->schedule->count, &fuse, &reason));
        if (reason == NULL) WEFT_TRY(move(c, fuse));
    }
    return NULL;
}

/* ---- lanes ---- */

/* Whether the value of an instruction differs along a range; `varying` has that of those before it. */
static bool varies(const weft_kernel *kernel, const weft_inst *inst, weft_expr variable, const bool *varying)
{
    bool varies = inst->index != WEFT_EXPR_NONE && weft_expr_uses(kernel->exprs, inst->index, variable);
    for (uint32_t i = 0; i < inst->predicate_count; i++)
        varies |= weft_expr_uses(kernel->exprs, inst->predicates[i], variable);
    for (uint32_t i = 0; i < inst->arg_count; i++) varies |= varying[inst->args[i]];
    return varies;
}

/* Which instructions are computed in lanes along the last outer range, or stored; all, where stages have ranges of
 * their own. NULL: there is no memory. */
static bool *find_lanes(weft_kernel *kernel)
{
    bool *found = weft_arena_allocate(&kernel->arena, kernel->inst_count + 1), all = kernel->range_count == 0;
    for (uint32_t s = 0; s < kernel->stage_count; s++) all |= kernel->stages[s].range_count > 0;
    for (uint32_t i = 0; i < kernel->inst_count && found != NULL; i++)
        found[i] = all || varies(kernel, &kernel->insts[i], kernel->ranges[kernel->range_count - 1].variable, found);
    for (uint32_t s = 0; s < kernel->stage_count && found != NULL; s++)
        for (uint32_t i = 0; i < kernel->stages[s].store_count; i++) found[kernel->stages[s].stores[i].value] = true;
    return found;
}

/* Takes out of `lanes` what only comparisons of positions need: these are masks, made from where a lane lies. Users
 * come after what they use. */
static weft_status *leave_positions(weft_kernel *kernel, bool *lanes)
{
    bool *used = weft_arena_allocate(&kernel->arena, kernel->inst_count + 1);
    if (used == NULL) return weft_status_out_of_memory();
    memset(used, 0, kernel->inst_count + 1);
    for (uint32_t a = 0; a < kernel->accumulator_count; a++)
        for (uint32_t i = 0; i < kernel->accumulators[a].value_count; i++)
            used[kernel->accumulators[a].values[i]] = true;
    for (uint32_t s = 0; s < kernel->stage_count; s++)
        for (uint32_t i = 0; i < kernel->stages[s].store_count; i++) {
            const weft_store *store = &kernel->stages[s].stores[i];
            used[store->value] = true;
            if (store->is_indirect) used[store->offset] = true;
        }
    for (uint32_t id = kernel->inst_count; id-- > 0;) {
        const weft_inst *inst = &kernel->insts[id];
        bool is_mask = inst->arg_count == 2 && weft_scalar_result_of(inst->op) == WEFT_RESULT_BOOL &&
                       weft_inst_margin(kernel, inst) != WEFT_EXPR_NONE;
        used[id] |= weft_inst_has_effect(inst);
        for (uint32_t i = 0; i < inst->arg_count && used[id] && !is_mask; i++) used[inst->args[i]] = true;
        lanes[id] &= used[id];
    }
    return NULL;
}

/* Lanes of a vector: by the narrowest element from four bytes up that is computed with in lanes; wider values then take
 * several registers. What has no such element, and only moves or compares bytes, or computes in 16 bits, fills
 * registers with elements of two bytes: before AVX-512 masked tails of bytes go one by one. */
static weft_status *find_width(weft_kernel *kernel, const weft_machine *machine, uint32_t *out_width)
{
    uint32_t narrowest = 8;
    bool small = true;
    const weft_narrow_kind *narrow;
    bool *in_lanes = find_lanes(kernel);
    if (in_lanes != NULL && machine->vector_bytes >= 64) WEFT_TRY(leave_positions(kernel, in_lanes));
    WEFT_TRY(weft_kernel_find_narrow(kernel, &kernel->arena, &narrow));
    for (uint32_t i = 0; i < kernel->inst_count && in_lanes != NULL; i++) {
        uint32_t size = (uint32_t)weft_dtype_size(weft_dtype_component(kernel->insts[i].dtype));
        if (size < 4 || !in_lanes[i] || narrow[i] != WEFT_NARROW_NONE) continue;
        small = false;
        if (size < narrowest) narrowest = size;
    }
    *out_width = machine->vector_bytes / (small ? 2 : narrowest);
    return NULL;
}

static bool along_reduction(const weft_kernel *kernel)
{
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        const weft_stage *stage = &kernel->stages[s];
        if (stage->range_count > 0 && stage->ranges[stage->range_count - 1].virtual_lanes > 1) return true;
    }
    return false;
}

/* Whether the last outer range bounds inner ones, which must be the same for all lanes. */
static bool bounds_inner_ranges(const weft_kernel *kernel)
{
    return weft_kernel_bounds_inner(kernel, kernel->ranges[kernel->range_count - 1].variable);
}

/* Whether lanes along the last outer range would jump from row to row of what a scan stores. */
static bool scans_along_memory(const weft_kernel *kernel)
{
    weft_expr_context *x = kernel->exprs;
    weft_expr one = weft_expr_constant(x, 1), step, rest;
    if (kernel->range_count == 0) return false;
    weft_expr last = kernel->ranges[kernel->range_count - 1].variable;
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        const weft_stage *stage = &kernel->stages[s];
        for (uint32_t i = 0; i < stage->store_count && weft_stage_scans(kernel, stage); i++)
            if (!weft_expr_affine(x, stage->stores[i].index, last, &step, &rest) || step != one) return true;
    }
    return false;
}

/* What the template wants, or else what the rule says. */
static uint32_t wanted_or(uint32_t wanted, uint32_t rule)
{
    return wanted != 0 ? wanted : rule;
}

/* Whether points of the stage meet in what they store, so that they run in order. */
static bool is_ordered(const weft_stage *stage)
{
    for (uint32_t i = 0; i < stage->store_count; i++) {
        if (stage->stores[i].is_indirect) return true;
    }
    return false;
}

/* The last inner range of each stage; where it has virtual lanes, exactly those. Vectors of several registers where
 * those of one register would be more than WEFT_MAX_UNROLL. */
static weft_status *bind_inner(const weft_chooser *c, uint32_t width)
{
    const weft_kernel *kernel = c->kernel;
    uint32_t end = kernel->range_count;
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        const weft_stage *stage = &kernel->stages[s];
        end += stage->range_count;
        if (stage->range_count == 0 || is_ordered(stage)) continue;
        const weft_range *last = &stage->ranges[stage->range_count - 1];
        if (last->bind == WEFT_BIND_LANE || (last->reduce && last->virtual_lanes == 1)) continue;
        uint32_t fitting = last->reduce && last->virtual_lanes < width ? last->virtual_lanes : width;
        while (last->reduce && last->virtual_lanes / fitting > WEFT_MAX_UNROLL) fitting *= 2;
        uint32_t unroll =
            weft_unroll_for(kernel, weft_unroll_emitted(kernel, stage, last->variable), last->extent, fitting);
        if (last->reduce) unroll = last->virtual_lanes / fitting;
        else unroll = wanted_or(c->wanted->unroll, weft_unroll_walking(c->machine, unroll));
        WEFT_TRY(bind_lanes(c, end - 1, fitting, unroll));
    }
    return NULL;
}

/* Rows that are reduced along memory side by side, a few of those of an axis whose extent `rows` divides; and the lanes
 * along them. */
static weft_status *bind_reduced_rows(const weft_chooser *c, int64_t rows, uint32_t width)
{
    weft_jam jam = {.rows = 1};
    if (c->machine->vector_bytes >= 64 && c->wanted->form == WEFT_FORM_ANY)
        jam = weft_kernel_find_reduced_rows(c->kernel, c->machine, rows);
    explain(c, "the reduction has virtual lanes, which are those of the vectors");
    if (jam.rows > 1) WEFT_TRY(move(c, (weft_move){.kind = WEFT_MOVE_JAM, .range = jam.range, .factor = jam.rows}));
    return bind_inner(c, width);
}

/* Whether a step of the range is a step in memory for all that the stage stores. */
static bool stores_along(weft_kernel *kernel, const weft_stage *stage, weft_expr variable)
{
    weft_expr_context *x = kernel->exprs;
    bool along = true;
    for (uint32_t i = 0; i < stage->store_count && along; i++) {
        weft_expr coefficient, rest;
        along = weft_expr_affine(x, stage->stores[i].index, variable, &coefficient, &rest) &&
                coefficient == weft_expr_constant(x, 1);
    }
    return along;
}

/*
 * The only stage scatters, into rows if the last outer range runs along memory: then the lanes run along each row,
 * inside of the ranges that run in order. Elsewhere lanes would jump, and there are none.
 */
static weft_status *bind_row(const weft_chooser *c, uint32_t width)
{
    weft_kernel *kernel = c->kernel;
    const weft_stage *stage = &kernel->stages[0];
    int64_t tile = c->wanted->tile != 0 ? c->wanted->tile : ROW_TILE;
    explain(c, "what it scatters does not lie along the last range: points run one by one");
    if (!stores_along(kernel, stage, kernel->ranges[kernel->range_count - 1].variable)) {
        weft_jam rows = weft_kernel_find_scattered_rows(kernel);
        if (rows.rows == 1) return NULL;
        explain(c, "rows are scattered side by side by the same positions");
        return move(c, (weft_move){.kind = WEFT_MOVE_JAM, .range = rows.range, .factor = rows.rows});
    }
    explain(c, "it scatters rows along the last range");
    WEFT_TRY(split_last(c, tile));
    WEFT_TRY(move(c, (weft_move){.kind = WEFT_MOVE_SINK, .range = kernel->range_count - 1}));
    const weft_range *row = &stage->ranges[stage->range_count - 1];
    uint32_t unroll = weft_unroll_for(kernel, weft_unroll_body(kernel, stage, row->variable), row->extent, width);
    return bind_lanes(c, kernel->range_count + stage->range_count - 1, width, wanted_or(c->wanted->unroll, unroll));
}

/* Whether the range is whole vectors of any type, or so many tiles that what is left of the last one is little. */
static bool fills_tiles(const weft_kernel *kernel, const weft_range *range, int64_t tile)
{
    enum { ENOUGH = 8, WHOLE = 32 };
    int64_t least, most;
    weft_expr_range(kernel->exprs, range->extent, &least, &most);
    return least >= ENOUGH * tile || weft_expr_divisor(kernel->exprs, range->extent) % WHOLE == 0;
}

/* Whether a load transposes two ranges (`across` and the last) that fill tiles, so that they need no other tiling. */
static bool transposes_evenly(const weft_kernel *kernel, const weft_machine *machine, uint32_t across)
{
    if (across >= kernel->range_count) return false;
    if (machine->vector_bytes >= 64) return weft_kernel_fills_tile(kernel, machine, across);
    int64_t tile = weft_kernel_square_tile(kernel, across).along;
    return fills_tiles(kernel, &kernel->ranges[across], tile) &&
           fills_tiles(kernel, &kernel->ranges[kernel->range_count - 1], tile);
}

/* The most elements of a tile that are rows of the innermost ranges; TILE where these are too long, or not known. */
static int64_t tile_of(const weft_kernel *kernel)
{
    int64_t tile = TILE, row = 1, extent;
    for (uint32_t i = kernel->range_count; i-- > 0;) {
        if (!weft_expr_is_constant(kernel->exprs, kernel->ranges[i].extent, &extent)) break;
        if (extent < 1 || extent > TILE / row) break;
        row *= extent;
        int64_t rows = row;
        while (rows % TILE_ROUND != 0) rows += row;
        if (rows <= TILE) tile = TILE / rows * rows;
    }
    return tile;
}

/* What stages do along the last outer range. */
typedef struct outer_body {
    uint32_t body, emitted; /* weft_unroll_body and weft_unroll_emitted of the largest stage */
    bool loops;             /* one has ranges or accumulators */
} outer_body;

static outer_body find_body(const weft_kernel *kernel)
{
    outer_body found = {0};
    weft_expr last = kernel->ranges[kernel->range_count - 1].variable;
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        const weft_stage *stage = &kernel->stages[s];
        found.body = larger(found.body, weft_unroll_body(kernel, stage, last));
        found.emitted = larger(found.emitted, weft_unroll_emitted(kernel, stage, last));
        found.loops |= stage->range_count > 0 || stage->accumulator_count > 0;
    }
    return found;
}

/* The lanes of strips of the last range, one strip after the other for all points of range `across`, which a load walks
 * along: the lines that its lanes jump to stay in L1 for the next points. */
static weft_status *bind_strips(const weft_chooser *c, uint32_t across, uint32_t width, uint32_t unroll)
{
    weft_kernel *kernel = c->kernel;
    uint32_t last = kernel->range_count - 1;
    explain(c, "a load of wide elements jumps along the last range: strips of it stay in the cache");
    WEFT_TRY(split_last(c, WEFT_STRIP));
    if (kernel->range_count > last + 1)
        WEFT_TRY(move(c, (weft_move){.kind = WEFT_MOVE_REORDER, .range = last, .to = across}));
    return bind_lanes(c, kernel->range_count - 1, width, unroll);
}

/* A transposing copy without a local buffer: a few lines at a time of many rows become as many runs of results. */
static weft_status *bind_lines(const weft_chooser *c, uint32_t across)
{
    enum { RUN = 256 };
    weft_kernel *kernel = c->kernel;
    uint32_t width = c->machine->line_bytes / (uint32_t)weft_dtype_size(kernel->insts[0].dtype);
    explain(c, "it only transposes, in registers: whole lines are read and stored");
    WEFT_TRY(move(c, (weft_move){.kind = WEFT_MOVE_SPLIT, .range = across, .factor = width}));
    WEFT_TRY(move(c, (weft_move){.kind = WEFT_MOVE_SPLIT, .range = kernel->range_count - 2, .factor = RUN}));
    for (int i = 0; i < 2; i++)
        WEFT_TRY(move(c, (weft_move){.kind = WEFT_MOVE_SINK, .range = kernel->range_count - 1}));
    return bind_lanes(c, kernel->range_count + 1, width, 1);
}

/* Half of the lanes where what is left of few columns beside whole vectors is that much. */
static uint32_t fitting_width(const weft_kernel *kernel, uint32_t across, uint32_t width)
{
    enum { FEW = 64 };
    int64_t columns;
    bool known = weft_expr_is_constant(kernel->exprs, kernel->ranges[across].extent, &columns);
    return known && columns <= FEW && width > 1 && columns % width >= width / 2 ? width / 2 : width;
}

/* A tile of several ranges, or of two that a load transposes, if the template wants one, or leaves it to the rule. */
static weft_status *bind_tile(const weft_chooser *c, uint32_t width, const outer_body *body, bool *out_done)
{
    weft_kernel *kernel = c->kernel;
    weft_form form = c->wanted->form;
    uint32_t last = kernel->range_count - 1, across = weft_kernel_find_transposition(kernel, c->machine);
    bool tiles = form == WEFT_FORM_TILED || (form == WEFT_FORM_ANY && !transposes_evenly(kernel, c->machine, across));
    bool transposes = across < last && (form == WEFT_FORM_ANY || form == WEFT_FORM_TRANSPOSED);
    const weft_tile_plan *tile = NULL;
    uint32_t unroll = weft_unroll_of(body->body);
    *out_done = across < last && form == WEFT_FORM_ANY && weft_kernel_copies_lines(kernel, c->machine, across);
    if (*out_done) return bind_lines(c, across);
    if (tiles) WEFT_TRY(weft_kernel_find_tile(kernel, c->machine, width, unroll, form == WEFT_FORM_TILED, &tile));
    *out_done = tile != NULL || transposes;
    if (*out_done)
        explain(c, tile != NULL ? "the last range is short, or a load jumps along it"
                                : "a load jumps along the last range");
    if (tile != NULL)
        return move(c, (weft_move){.kind = WEFT_MOVE_TILE, .width = width, .unroll = unroll, .tile = tile});
    if (!transposes) return NULL;
    unroll = weft_unroll_for(kernel, body->body, kernel->ranges[last].extent, width);
    bool is_long = c->machine->vector_bytes >= 64;
    /* Lanes are loaded one by one, so half a vector of them takes no longer for each. */
    if (is_long && weft_kernel_wants_strips(kernel, c->machine, across)) {
        unroll = weft_unroll_for(kernel, body->body, weft_expr_constant(kernel->exprs, WEFT_STRIP), width / 2);
        return bind_strips(c, across, width / 2, unroll < 4 ? unroll : 4);
    }
    weft_tile_sides sides = is_long ? weft_kernel_long_tile(kernel, across) : weft_kernel_square_tile(kernel, across);
    if (width > sides.across) width = sides.across;
    if (is_long) width = fitting_width(kernel, across, width);
    return move(
        c, (weft_move){.kind = WEFT_MOVE_TRANSPOSE, .range = across, .width = width, .unroll = unroll, .sides = sides});
}

/* Binds the lanes to the last outer range, cut into tiles so that these can run on threads. */
static weft_status *bind_outer(const weft_chooser *c, uint32_t width, int64_t tile)
{
    weft_kernel *kernel = c->kernel;
    weft_expr extent = kernel->ranges[kernel->range_count - 1].extent;
    bool done = false;
    if (kernel->stage_count == 1 && is_ordered(&kernel->stages[0]) && kernel->stages[0].range_count > 0)
        return bind_row(c, width);
    outer_body body = find_body(kernel);
    weft_short_rows rows = {0};
    if (body.loops && c->machine->vector_bytes >= 64 && c->wanted->form == WEFT_FORM_ANY)
        rows = weft_kernel_find_short_rows(kernel, width);
    if (rows.count != 0) return weft_choose_short_rows(c, rows, width);
    if (body.loops) {
        uint32_t unroll = wanted_or(c->wanted->unroll, weft_choose_reduction_unroll(c, body.body, extent, width));
        return weft_choose_reductions(c, width, weft_kernel_across_unroll(kernel, c->machine, unroll, width));
    }
    WEFT_TRY(bind_tile(c, width, &body, &done));
    if (done) return NULL;
    explain(c, "accesses walk along the last range, or their lines stay in the cache");
    uint32_t unroll;
    WEFT_TRY(weft_unroll_choose(kernel, c->machine, body.emitted, extent, width, &unroll));
    unroll = wanted_or(c->wanted->unroll, unroll);
    WEFT_TRY(split_last(c, c->wanted->tile != 0 ? c->wanted->tile : tile));
    return bind_lanes(c, kernel->range_count - 1, width, unroll);
}

/* The same for another outer range, which becomes the last one. */
static weft_status *bind_columns(const weft_chooser *c, uint32_t columns, uint32_t width, int64_t tile)
{
    explain(c, "what is reduced lies side by side along this range");
    for (uint32_t i = columns + 1; i < c->kernel->range_count; i++)
        WEFT_TRY(move(c, (weft_move){.kind = WEFT_MOVE_REORDER, .range = i, .to = i - 1}));
    return bind_outer(c, width, tile);
}

/* Records a move that was made. */
static weft_status *record(const weft_chooser *c, bool made, weft_move move)
{
    return made ? weft_schedule_add(c->schedule, &move) : NULL;
}

/* All adjacent ranges that are walked as one. */
static weft_status *fuse_ranges(const weft_chooser *c)
{
    const weft_kernel *kernel = c->kernel;
    WEFT_TRY(fuse_all(c, 0, &kernel->range_count));
    uint32_t first = kernel->range_count;
    for (uint32_t s = 0; s < kernel->stage_count; first += kernel->stages[s++].range_count)
        WEFT_TRY(fuse_all(c, first, &kernel->stages[s].range_count));
    return NULL;
}

/* A short row becomes stores side by side, if the range before it fills vectors. */
static weft_status *interleave(const weft_chooser *c, uint32_t width, bool *out_done)
{
    weft_kernel *kernel = c->kernel;
    int64_t least, most;
    *out_done = false;
    if (kernel->range_count < 2) return NULL;
    weft_expr_range(kernel->exprs, kernel->ranges[kernel->range_count - 2].extent, &least, &most);
    if (most < width || !weft_kernel_wants_interleaving(kernel, c->machine)) return NULL;
    explain(c, "predicates, or what is read, change along short rows");
    WEFT_TRY(weft_kernel_interleave(kernel, out_done));
    WEFT_TRY(record(c, *out_done, (weft_move){.kind = WEFT_MOVE_INTERLEAVE}));
    return *out_done ? fuse_ranges(c) : NULL;
}

/* Lanes along the rows, in tiles that have as many elements as others. */
static weft_status *bind_interleaved(const weft_chooser *c, uint32_t width)
{
    weft_kernel *kernel = c->kernel;
    const weft_stage *stage = &kernel->stages[0];
    const weft_range *rows = &kernel->ranges[kernel->range_count - 1];
    int64_t tile = TILE / TILE_ROUND / stage->store_count * TILE_ROUND;
    uint32_t unroll = weft_unroll_of(weft_unroll_body(kernel, stage, rows->variable) + stage->store_count) >= 4 ? 2 : 1;
    unroll = weft_unroll_limit(kernel, unroll, rows->extent, width);
    WEFT_TRY(split_last(c, tile < TILE_ROUND ? TILE_ROUND : tile));
    return bind_lanes(c, kernel->range_count - 1, width, unroll);
}

/* Moves the last range into stages where predicates change or addresses have periods, and fuses what is left. */
static weft_status *cut(const weft_chooser *c, uint32_t width, int64_t tile, bool *out_cut, bool *out_interleaved)
{
    bool cuts = c->machine->device == WEFT_DEVICE_CPU && c->wanted->form == WEFT_FORM_ANY;
    *out_cut = *out_interleaved = false;
    if (c->wanted->tile != 0) tile = c->wanted->tile;
    explain(c, "predicates change along the last range");
    if (cuts) WEFT_TRY(weft_kernel_cut_at_seams(c->kernel, c->machine, width, tile, out_cut));
    WEFT_TRY(record(c, *out_cut, (weft_move){.kind = WEFT_MOVE_SEAMS, .factor = tile}));
    WEFT_TRY(fuse_ranges(c));
    if (!cuts || *out_cut) return NULL;
    WEFT_TRY(interleave(c, width, out_interleaved));
    if (*out_interleaved) return NULL;
    explain(c, "addresses have a period along the last range");
    WEFT_TRY(weft_kernel_cut_periods(c->kernel, width, tile, out_cut));
    return record(c, *out_cut, (weft_move){.kind = WEFT_MOVE_PERIODS, .width = width, .factor = tile});
}

/* Few columns of a product whose terms are lanes, and rows beside many of these. The rows come last then, along which
 * lanes go if these lie along memory. */
static weft_status *jam_columns(const weft_chooser *c, uint32_t width, bool *out_jammed)
{
    const weft_kernel *kernel = c->kernel;
    weft_product_jam found = weft_kernel_find_columns(kernel, c->machine, width);
    const weft_jam jams[] = {found.columns, found.rows};
    int64_t points;
    *out_jammed = found.columns.rows > 1;
    if (*out_jammed) explain(c, "columns of a product share what they read of a row");
    for (size_t i = 0; i < sizeof jams / sizeof *jams; i++) {
        if (jams[i].rows == 1) continue;
        WEFT_TRY(move(c, (weft_move){.kind = WEFT_MOVE_JAM, .range = jams[i].range, .factor = jams[i].rows}));
    }
    bool is_last = *out_jammed && found.columns.range > 0 && found.columns.range + 1 == kernel->range_count;
    if (!is_last || !weft_expr_is_constant(kernel->exprs, kernel->ranges[found.columns.range].extent, &points) ||
        points != 1)
        return NULL;
    return move(c, (weft_move){.kind = WEFT_MOVE_REORDER, .range = found.columns.range, .to = 0});
}

weft_status *weft_schedule_choose(weft_kernel *kernel, const weft_machine *machine, const weft_template *wanted,
                                  weft_schedule *out_schedule)
{
    const weft_chooser c = {kernel, machine, wanted, out_schedule};
    bool gpu = machine->device != WEFT_DEVICE_CPU, is_cut, is_interleaved;
    uint32_t width = 1;
    if (!gpu) WEFT_TRY(find_width(kernel, machine, &width));
    if (!gpu) width = wanted_or(wanted->width, width);
    int64_t tile = tile_of(kernel);
    int64_t rows =
        kernel->range_count == 0 ? 1 : weft_expr_divisor(kernel->exprs, kernel->ranges[kernel->range_count - 1].extent);
    WEFT_TRY(cut(&c, width, tile, &is_cut, &is_interleaved));
    if (is_interleaved) {
        WEFT_TRY(bind_interleaved(&c, width));
        return weft_schedule_close(kernel, machine);
    }
    if (!is_cut)
        explain(&c,
                gpu ? "points are threads of the grid" : "rows run in order, which differ in length, or are scanned");
    weft_flat_rows row;
    bool along_rows = !gpu && !is_cut && (along_reduction(kernel) || scans_along_memory(kernel));
    bool jammed = false;
    bool walks =
        along_rows && machine->vector_bytes >= 64 && weft_kernel_wants_flattening(kernel, width, &row) && row.is_dense;
    if (along_rows && wanted->form == WEFT_FORM_ANY && !walks) WEFT_TRY(jam_columns(&c, width, &jammed));
    bool flat = along_rows && wanted->form == WEFT_FORM_ANY && machine->vector_bytes >= 64 &&
                weft_kernel_wants_flattening(kernel, width, &row);
    uint32_t columns = kernel->range_count;
    if (!gpu && !is_cut && wanted->form == WEFT_FORM_ANY && kernel->accumulator_count > 0)
        columns = weft_kernel_find_columns_across(kernel, width);
    if (flat) WEFT_TRY(weft_choose_flat(&c, width, row));
    else if (columns < kernel->range_count) WEFT_TRY(bind_columns(&c, columns, width, tile));
    else if (jammed) WEFT_TRY(bind_inner(&c, width));
    else if (!gpu && !is_cut && along_reduction(kernel)) WEFT_TRY(bind_reduced_rows(&c, rows, width));
    else if (!gpu && (is_cut || kernel->range_count == 0)) WEFT_TRY(bind_inner(&c, width));
    else if (!gpu && scans_along_memory(kernel)) WEFT_TRY(weft_choose_scans(&c, width));
    else if (!gpu && !bounds_inner_ranges(kernel)) WEFT_TRY(bind_outer(&c, width, tile));
    return weft_schedule_close(kernel, machine);
}

/*
 * requires   a verified unscheduled kernel
 * maintains  what is computed, and the order of every reduction
 * breaks     nothing: the result is a verified scheduled kernel
 */
weft_status *weft_kernel_schedule(weft_kernel *kernel, const weft_machine *machine)
{
    static const weft_template by_rule = {.form = WEFT_FORM_ANY};
    weft_schedule schedule;
    weft_schedule_init(&schedule, kernel->arena.allocator);
    weft_status *status = weft_schedule_choose(kernel, machine, &by_rule, &schedule);
    weft_schedule_finish(&schedule);
    return status;
}
