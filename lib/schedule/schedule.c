/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/schedule/ranges.h"
#include "lib/schedule/transform.h"
#include "lib/schedule/schedule.h"
#include <string.h>

/*
 * Scheduling, in three steps: adjacent ranges that every address walks as one become one; one range is chosen for the
 * lanes, along the reduction where that has virtual lanes, along the last outer range otherwise; that outer range is
 * cut into tiles, so that the tiles can run on threads. Nothing here changes what is computed or in which order it is
 * combined.
 */

/* Elements of a tile: large against the cost of an iteration, small against L1. If possible it has whole rows, so that
 * products before and after the kernel may run on the same ones, and whole rounds of vectors. */
#define TILE 8192
#define TILE_ROUND 64
/* The same for rows that a scatter runs through many times: the rest of the row goes to other threads. */
#define ROW_TILE 256
/* Instructions up to which vectors are emitted eight, four or two times per round: more would spill. */
#define SMALL_BODY 6u
#define MEDIUM_BODY 20u
#define LARGE_BODY 60u
/* The same for rows that are computed side by side. */
#define MOST_JAMMED_VECTORS 2u

/* ---- collapsing ---- */

typedef struct pair {
    weft_expr outer, inner, inner_extent;
} pair;

/* Whether the expression walks the two ranges as one: a step of the outer is as long as the whole inner range. */
static bool walks_as_one(void *context, weft_expr_context *exprs, weft_expr *expr)
{
    const pair *p = context;
    weft_expr outer, inner, rest;
    if (!weft_expr_uses(exprs, *expr, p->outer) && !weft_expr_uses(exprs, *expr, p->inner)) return true;
    if (!weft_expr_affine(exprs, *expr, p->outer, &outer, &rest)) return false;
    if (weft_expr_uses(exprs, outer, p->inner)) return false;
    if (!weft_expr_affine(exprs, *expr, p->inner, &inner, &rest)) return false;
    return outer == weft_expr_mul(exprs, inner, p->inner_extent);
}

/* Makes ranges i and i + 1 one range if all expressions allow it. */
static bool collapse(weft_kernel *kernel, weft_range *ranges, uint32_t *count, uint32_t i)
{
    weft_range *outer = &ranges[i], *inner = &ranges[i + 1];
    pair p = {outer->variable, inner->variable, inner->extent};
    bool dependent = weft_expr_uses(kernel->exprs, inner->extent, outer->variable);
    if (outer->reduce || inner->reduce || dependent || !weft_kernel_visit_exprs(kernel, walks_as_one, &p)) return false;
    weft_expr extent = weft_expr_mul(kernel->exprs, outer->extent, inner->extent);
    weft_expr variable = weft_kernel_fresh_variable(kernel, extent);
    weft_substitution s = {{outer->variable, inner->variable}, {weft_expr_constant(kernel->exprs, 0), variable}, 2};
    if (!weft_kernel_substitute(kernel, &s)) return false;
    outer->variable = variable;
    outer->extent = extent;
    memmove(inner, inner + 1, (*count - i - 2) * sizeof *inner);
    (*count)--;
    return true;
}

static void collapse_all(weft_kernel *kernel, weft_range *ranges, uint32_t *count)
{
    for (uint32_t i = *count; i-- > 1;) collapse(kernel, ranges, count, i - 1);
}

/* ---- lanes ---- */

/* Lanes of a vector: by the narrowest element from four bytes up that is computed with; wider values then take several
 * registers. What has no such element, and only moves or compares bytes, fills half a register with elements of two
 * bytes: before AVX-512 its masked tails go one by one. */
static uint32_t vector_width(const weft_kernel *kernel, const weft_machine *machine)
{
    uint32_t narrowest = 8;
    bool small = true;
    for (uint32_t i = 0; i < kernel->inst_count; i++) {
        uint32_t size = (uint32_t)weft_dtype_size(weft_dtype_component(kernel->insts[i].dtype));
        if (size < 4) continue;
        small = false;
        if (size < narrowest) narrowest = size;
    }
    return machine->vector_bytes / (small ? 2 : narrowest);
}

static bool along_reduction(const weft_kernel *kernel)
{
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        const weft_stage *stage = &kernel->stages[s];
        if (stage->range_count > 0 && stage->ranges[stage->range_count - 1].virtual_lanes > 1) return true;
    }
    return false;
}

static bool is_scan(const weft_kernel *kernel, const weft_stage *stage)
{
    for (uint32_t i = 0; i < stage->inst_count; i++)
        if (kernel->insts[stage->inst_first + i].op == WEFT_SCALAR_running) return true;
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
    weft_expr last = kernel->ranges[kernel->range_count - 1].variable, one = weft_expr_constant(x, 1), step, rest;
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        const weft_stage *stage = &kernel->stages[s];
        for (uint32_t i = 0; i < stage->store_count && is_scan(kernel, stage); i++)
            if (!weft_expr_affine(x, stage->stores[i].index, last, &step, &rest) || step != one) return true;
    }
    return false;
}

static bool is_masked(const weft_kernel *kernel, const weft_inst *load, weft_expr lanes)
{
    for (uint32_t i = 0; i < load->predicate_count; i++)
        if (weft_expr_uses(kernel->exprs, load->predicates[i], lanes)) return true;
    return false;
}

/* Instructions of a stage whose lanes run along variable `lanes`. A mask for elements of one or two bytes is tested. */
static uint32_t body_of(const weft_kernel *kernel, const weft_stage *stage, weft_expr lanes)
{
    enum { TESTED_MASK = 8 };
    uint32_t body = stage->inst_count;
    for (uint32_t i = 0; i < stage->inst_count; i++) {
        const weft_inst *inst = &kernel->insts[stage->inst_first + i];
        bool is_narrow = inst->op == WEFT_SCALAR_load && weft_dtype_size(inst->dtype) < 4;
        if (is_narrow && is_masked(kernel, inst, lanes)) body += TESTED_MASK;
    }
    return body;
}

/* Whether an access is not contiguous from lane to lane, so that it is made one lane at a time. */
static bool jumps(const weft_kernel *kernel, weft_expr index, bool is_indirect, weft_expr lanes)
{
    weft_expr_context *x = kernel->exprs;
    weft_expr step, rest;
    if (is_indirect) return true;
    if (!weft_expr_uses(x, index, lanes)) return false;
    if (!weft_expr_affine(x, index, lanes, &step, &rest)) return true;
    return step != weft_expr_constant(x, 1) && step != weft_expr_constant(x, -1);
}

/* The instructions of a stage, where an access that is made lane by lane counts as one for each lane of a vector of f32
 * with AVX-512. Eight vectors of such accesses are no faster than two, and took most of code generation. */
static uint32_t emitted_of(const weft_kernel *kernel, const weft_stage *stage, weft_expr lanes)
{
    enum { LANES = 16 };
    uint32_t body = body_of(kernel, stage, lanes);
    for (uint32_t i = 0; i < stage->inst_count; i++) {
        const weft_inst *inst = &kernel->insts[stage->inst_first + i];
        if (inst->op == WEFT_SCALAR_load && jumps(kernel, inst->index, inst->arg_count != 0, lanes)) body += LANES;
    }
    for (uint32_t i = 0; i < stage->store_count; i++)
        if (jumps(kernel, stage->stores[i].index, stage->stores[i].is_indirect, lanes)) body += LANES;
    return body;
}

/* Vectors for each round that the registers hold. */
static uint32_t unroll_of(uint32_t body)
{
    return body <= SMALL_BODY ? 8 : body <= MEDIUM_BODY ? 4 : body <= LARGE_BODY ? 2 : 1;
}

/* The same, but no more than the range can ever fill. */
static uint32_t unroll_for(const weft_kernel *kernel, uint32_t body, weft_expr extent, uint32_t width)
{
    uint32_t unroll = unroll_of(body);
    int64_t least, most;
    weft_expr_range(kernel->exprs, extent, &least, &most);
    while (unroll > 1 && (int64_t)width * unroll > most) unroll /= 2;
    return unroll;
}

static void bind_lanes(weft_range *range, uint32_t width, uint32_t unroll)
{
    range->bind = WEFT_BIND_LANE;
    range->width = width;
    range->unroll = unroll;
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
static void bind_inner(weft_kernel *kernel, uint32_t width)
{
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        weft_stage *stage = &kernel->stages[s];
        if (stage->range_count == 0 || is_ordered(stage)) continue;
        weft_range *last = &stage->ranges[stage->range_count - 1];
        if (last->reduce && last->virtual_lanes == 1) continue;
        uint32_t fitting = last->reduce && last->virtual_lanes < width ? last->virtual_lanes : width;
        while (last->reduce && last->virtual_lanes / fitting > WEFT_MAX_UNROLL) fitting *= 2;
        bind_lanes(last, fitting,
                   last->reduce ? last->virtual_lanes / fitting
                                : unroll_for(kernel, emitted_of(kernel, stage, last->variable), last->extent, fitting));
    }
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
static weft_status *bind_row(weft_kernel *kernel, uint32_t width)
{
    weft_stage *stage = &kernel->stages[0];
    if (!stores_along(kernel, stage, kernel->ranges[kernel->range_count - 1].variable)) return NULL;
    weft_range *ranges = weft_arena_allocate(&kernel->arena, (stage->range_count + 1) * sizeof *ranges);
    if (ranges == NULL) return weft_status_out_of_memory();
    WEFT_TRY(weft_kernel_split(kernel, kernel->range_count - 1, ROW_TILE));
    memcpy(ranges, stage->ranges, stage->range_count * sizeof *ranges);
    weft_range *row = &ranges[stage->range_count++];
    *row = kernel->ranges[--kernel->range_count];
    bind_lanes(row, width, unroll_for(kernel, body_of(kernel, stage, row->variable), row->extent, width));
    stage->ranges = ranges;
    return NULL;
}

/* Whether a load transposes two ranges (`across` and the last) that are whole tiles, so that they need no other
 * tiling. */
static bool transposes_evenly(const weft_kernel *kernel, uint32_t across)
{
    if (across >= kernel->range_count) return false;
    const weft_range *last = &kernel->ranges[kernel->range_count - 1];
    return weft_expr_divisor(kernel->exprs, kernel->ranges[across].extent) % WEFT_TRANSPOSE_TILE == 0 &&
           weft_expr_divisor(kernel->exprs, last->extent) % WEFT_TRANSPOSE_TILE == 0;
}

/* Reductions: tiles of one round, or rows side by side in place of all but two of its vectors; a quarter of the
 * registers is for what is loaded. */
static weft_status *bind_reductions(weft_kernel *kernel, uint32_t width, uint32_t unroll, const weft_machine *machine)
{
    bool jammed, swept = false;
    uint32_t vectors = unroll < MOST_JAMMED_VECTORS ? unroll : MOST_JAMMED_VECTORS;
    WEFT_TRY(weft_kernel_unroll_and_jam(kernel, machine->registers * 3 / 4 / vectors, &jammed));
    if (!jammed) WEFT_TRY(weft_kernel_sweep(kernel, machine, width, &swept));
    if (swept) return NULL;
    if (!jammed) WEFT_TRY(weft_kernel_split(kernel, kernel->range_count - 1, (int64_t)width * unroll));
    bind_lanes(&kernel->ranges[kernel->range_count - 1], width, jammed ? vectors : unroll);
    return NULL;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
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

/* Binds the lanes to the last outer range, cut into tiles so that these can run on threads. */
static weft_status *bind_outer(weft_kernel *kernel, uint32_t width, int64_t tile, const weft_machine *machine)
{
    uint32_t body = 0, emitted = 0, last = kernel->range_count - 1;
    if (kernel->stage_count == 1 && is_ordered(&kernel->stages[0]) && kernel->stages[0].range_count > 0)
        return bind_row(kernel, width);
    bool loops = false;
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        body = larger(body, body_of(kernel, &kernel->stages[s], kernel->ranges[last].variable));
        emitted = larger(emitted, emitted_of(kernel, &kernel->stages[s], kernel->ranges[last].variable));
        loops |= kernel->stages[s].range_count > 0 || kernel->stages[s].accumulator_count > 0;
    }
    uint32_t unroll = unroll_for(kernel, body, kernel->ranges[last].extent, width),
             across = loops ? last + 1 : weft_kernel_find_transposition(kernel);
    if (!loops && !transposes_evenly(kernel, across)) {
        bool tiled;
        WEFT_TRY(weft_kernel_tile(kernel, machine, width, unroll_of(body), &tiled));
        if (tiled) return NULL;
    }
    if (across < last) return weft_kernel_transpose_tile(kernel, across, width, unroll);
    if (loops) return bind_reductions(kernel, width, unroll, machine);
    unroll = unroll_for(kernel, emitted, kernel->ranges[last].extent, width);
    WEFT_TRY(weft_kernel_split(kernel, last, tile));
    bind_lanes(&kernel->ranges[kernel->range_count - 1], width, unroll);
    return NULL;
}

static void bind_rest(weft_kernel *kernel, weft_bind bind)
{
    for (uint32_t i = 0; i < kernel->range_count; i++) {
        if (kernel->ranges[i].bind == WEFT_BIND_SERIAL) kernel->ranges[i].bind = bind;
    }
}

/*
 * requires   a verified unscheduled kernel
 * maintains  what is computed, and the order of every reduction
 * breaks     nothing: the result is a verified scheduled kernel
 */
weft_status *weft_kernel_schedule(weft_kernel *kernel, const weft_machine *machine)
{
    int64_t tile = tile_of(kernel);
    collapse_all(kernel, kernel->ranges, &kernel->range_count);
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        collapse_all(kernel, kernel->stages[s].ranges, &kernel->stages[s].range_count);
    }
    bool gpu = machine->device != WEFT_DEVICE_CPU;
    uint32_t width = gpu ? 1 : vector_width(kernel, machine);
    if (!gpu && (along_reduction(kernel) || kernel->range_count == 0)) {
        bind_inner(kernel, width);
    } else if (!gpu && !scans_along_memory(kernel) && !bounds_inner_ranges(kernel)) {
        WEFT_TRY(bind_outer(kernel, width, tile, machine));
    }
    bind_rest(kernel, gpu ? WEFT_BIND_GRID : WEFT_BIND_THREAD);
    kernel->scheduled = true;
    WEFT_TRY(weft_expr_context_take_error(kernel->exprs));
    return weft_kernel_verify(kernel);
}
