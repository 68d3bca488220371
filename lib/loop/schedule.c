/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/loop.h"
#include <stdio.h>
#include <string.h>

/*
 * Scheduling, in three steps: adjacent ranges that every address walks as one become one; one range is chosen for the lanes, along the reduction
 * where that has virtual lanes, along the last outer range otherwise; that outer range is cut into tiles, so that the tiles can run on
 * threads. Nothing here changes what is computed or in which order it is combined.
 */

/* Elements of a tile: large against the cost of an iteration, small against the first-level cache. */
#define TILE 8192
/* Elements along the other range of a transposition: one cache line of floats. */
#define CROSSING_TILE 16
/* Instructions up to which vectors are emitted eight, four or two times per round: more would spill. */
#define SMALL_BODY 6u
#define MEDIUM_BODY 20u
#define LARGE_BODY 60u

/* ---- every expression of a kernel ---- */

typedef bool (*expr_visit)(void *context, weft_extents *extents, weft_expr *expr);

static bool visit_predicates(weft_kernel *kernel, uint32_t count, const weft_expr **predicates, expr_visit visit, void *context) {
    if (count == 0) return true;
    weft_expr *copy = weft_arena_copy(&kernel->arena, *predicates, count * sizeof *copy);
    if (copy == NULL) return false;
    for (uint32_t i = 0; i < count; i++) {
        if (!visit(context, kernel->extents, &copy[i])) return false;
    }
    *predicates = copy;
    return true;
}

static bool visit_ranges(weft_kernel *kernel, uint32_t count, weft_range *ranges, expr_visit visit, void *context) {
    for (uint32_t i = 0; i < count; i++) {
        if (!visit(context, kernel->extents, &ranges[i].extent)) return false;
    }
    return true;
}

static bool visit_optional(weft_kernel *kernel, weft_expr *expr, expr_visit visit, void *context) {
    return *expr == WEFT_EXPR_NONE || visit(context, kernel->extents, expr);
}

static bool visit_exprs(weft_kernel *kernel, expr_visit visit, void *context) {
    if (!visit_ranges(kernel, kernel->range_count, kernel->ranges, visit, context)) return false;
    for (uint32_t i = 0; i < kernel->inst_count; i++) {
        weft_inst *inst = &kernel->insts[i];
        if (!visit_optional(kernel, &inst->index, visit, context)) return false;
        if (!visit_optional(kernel, &inst->position, visit, context)) return false;
        if (!visit_predicates(kernel, inst->predicate_count, &inst->predicates, visit, context)) return false;
    }
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        weft_stage *stage = &kernel->stages[s];
        if (!visit_ranges(kernel, stage->range_count, stage->ranges, visit, context)) return false;
        for (uint32_t i = 0; i < stage->store_count; i++) {
            weft_store *store = &stage->stores[i];
            if (!visit(context, kernel->extents, &store->index)) return false;
            if (!visit_predicates(kernel, store->predicate_count, &store->predicates, visit, context)) return false;
        }
    }
    return true;
}

typedef struct substitution {
    weft_expr variables[2], values[2];
    size_t count;
} substitution;

static bool substitute(void *context, weft_extents *extents, weft_expr *expr) {
    const substitution *s = context;
    *expr = weft_expr_substitute(extents, *expr, s->count, s->variables, s->values);
    return *expr != WEFT_EXPR_NONE;
}

/* ---- collapsing ---- */

typedef struct pair {
    weft_expr outer, inner, inner_extent;
} pair;

/* Whether the expression walks the two ranges as one: a step of the outer is as long as the whole inner range. */
static bool walks_as_one(void *context, weft_extents *extents, weft_expr *expr) {
    const pair *p = context;
    weft_expr outer, inner, rest;
    if (!weft_expr_uses(extents, *expr, p->outer) && !weft_expr_uses(extents, *expr, p->inner)) return true;
    if (!weft_expr_affine(extents, *expr, p->outer, &outer, &rest)) return false;
    if (weft_expr_uses(extents, outer, p->inner)) return false;
    if (!weft_expr_affine(extents, *expr, p->inner, &inner, &rest)) return false;
    return outer == weft_expr_mul(extents, inner, p->inner_extent);
}

static weft_expr fresh_variable(weft_kernel *kernel, weft_expr extent) {
    char name[24];
    snprintf(name, sizeof name, "t%zu", weft_extents_symbol_count(kernel->extents));
    return weft_expr_variable(kernel->extents, name, extent);
}

/* Makes ranges i and i + 1 one range if all expressions allow it. */
static bool collapse(weft_kernel *kernel, weft_range *ranges, uint32_t *count, uint32_t i) {
    weft_range *outer = &ranges[i], *inner = &ranges[i + 1];
    pair p = {outer->variable, inner->variable, inner->extent};
    bool dependent = weft_expr_uses(kernel->extents, inner->extent, outer->variable);
    if (outer->reduce || inner->reduce || dependent || !visit_exprs(kernel, walks_as_one, &p)) return false;
    weft_expr extent = weft_expr_mul(kernel->extents, outer->extent, inner->extent);
    weft_expr variable = fresh_variable(kernel, extent);
    substitution s = {{outer->variable, inner->variable}, {weft_expr_constant(kernel->extents, 0), variable}, 2};
    if (!visit_exprs(kernel, substitute, &s)) return false;
    outer->variable = variable;
    outer->extent = extent;
    memmove(inner, inner + 1, (*count - i - 2) * sizeof *inner);
    (*count)--;
    return true;
}

static void collapse_all(weft_kernel *kernel, weft_range *ranges, uint32_t *count) {
    for (uint32_t i = *count; i-- > 1;) collapse(kernel, ranges, count, i - 1);
}

/* ---- lanes ---- */

/* Lanes of a vector: by the narrowest element in memory from four bytes up; wider values then take several registers. */
static uint32_t vector_width(const weft_kernel *kernel, const weft_machine *machine) {
    size_t narrowest = 8;
    for (uint32_t i = 0; i < kernel->buffer_count; i++) {
        size_t size = weft_dtype_size(kernel->buffers[i].dtype);
        if (size >= 4 && size < narrowest) narrowest = size;
    }
    return machine->vector_bytes / (uint32_t)narrowest;
}

static bool along_reduction(const weft_kernel *kernel) {
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        const weft_stage *stage = &kernel->stages[s];
        if (stage->range_count > 0 && stage->ranges[stage->range_count - 1].lanes > 1) return true;
    }
    return false;
}

static uint32_t unroll_for(uint32_t body) {
    return body <= SMALL_BODY ? 8 : body <= MEDIUM_BODY ? 4 : body <= LARGE_BODY ? 2 : 1;
}

static void bind_lanes(weft_range *range, uint32_t width, uint32_t unroll) {
    range->bind = WEFT_BIND_LANE;
    range->width = width;
    range->unroll = unroll;
}

/* The last inner range of each stage; where it has virtual lanes, exactly those. */
static void bind_inner(weft_kernel *kernel, uint32_t width) {
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        weft_stage *stage = &kernel->stages[s];
        if (stage->range_count == 0) continue;
        weft_range *last = &stage->ranges[stage->range_count - 1];
        if (last->reduce && last->lanes == 1) continue;
        uint32_t fitting = last->reduce && last->lanes < width ? last->lanes : width;
        bind_lanes(last, fitting, last->reduce ? last->lanes / fitting : unroll_for(stage->inst_count));
    }
}

/*
 * Cuts outer range `number` into tiles of `tile` elements: the range becomes one of tiles, and one inside the tile is added behind the last
 * range. A range known to fit one tile only moves to the end.
 */
static weft_status *cut_tiles(weft_kernel *kernel, uint32_t number, int64_t tile) {
    weft_extents *x = kernel->extents;
    weft_range *ranges = weft_arena_allocate(&kernel->arena, (kernel->range_count + 1) * sizeof *ranges);
    if (ranges == NULL) return weft_status_out_of_memory();
    memcpy(ranges, kernel->ranges, kernel->range_count * sizeof *ranges);
    weft_range cut = ranges[number];
    weft_expr size = weft_expr_constant(x, tile);
    kernel->ranges = ranges;
    if (weft_expr_always_nonnegative(x, weft_expr_sub(x, size, cut.extent))) {
        memmove(&ranges[number], &ranges[number + 1], (kernel->range_count - number - 1) * sizeof *ranges);
        ranges[kernel->range_count - 1] = cut;
        return NULL;
    }
    weft_range *tiles = &ranges[number], *inside = &ranges[kernel->range_count];
    tiles->extent = weft_expr_div(x, weft_expr_add(x, cut.extent, weft_expr_constant(x, tile - 1)), size);
    tiles->variable = fresh_variable(kernel, tiles->extent);
    weft_expr start = weft_expr_mul(x, tiles->variable, size);
    *inside = cut;
    inside->extent = weft_expr_min(x, size, weft_expr_sub(x, cut.extent, start));
    inside->variable = fresh_variable(kernel, inside->extent);
    kernel->range_count++;
    substitution s = {{cut.variable}, {weft_expr_add(x, start, inside->variable)}, 1};
    return visit_exprs(kernel, substitute, &s) ? NULL : weft_status_out_of_memory();
}

/* A range other than the last along which a load walks memory element by element while it jumps along the last; or none (range_count). */
static uint32_t find_crossing(const weft_kernel *kernel) {
    weft_extents *x = kernel->extents;
    weft_expr one = weft_expr_constant(x, 1), zero = weft_expr_constant(x, 0), minus = weft_expr_constant(x, -1), rest;
    uint32_t last = kernel->range_count - 1;
    for (uint32_t i = 0; i < kernel->inst_count; i++) {
        const weft_inst *inst = &kernel->insts[i];
        weft_expr along, across;
        if (inst->op != WEFT_SCALAR_load || !weft_expr_affine(x, inst->index, kernel->ranges[last].variable, &along, &rest)) continue;
        if (along == zero || along == one || along == minus) continue;
        for (uint32_t r = 0; r < last; r++) {
            if (weft_expr_affine(x, inst->index, kernel->ranges[r].variable, &across, &rest) && across == one) return r;
        }
    }
    return kernel->range_count;
}

/* Binds the lanes to the last outer range, cut so that tiles can run on threads. Leaves the number of ranges of tiles and beyond. */
static weft_status *bind_outer(weft_kernel *kernel, uint32_t width, uint32_t *out_threads) {
    uint32_t body = 0, last = kernel->range_count - 1;
    bool loops = false;
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        if (kernel->stages[s].inst_count > body) body = kernel->stages[s].inst_count;
        loops |= kernel->stages[s].range_count > 0;
    }
    uint32_t unroll = unroll_for(body), crossing = loops ? kernel->range_count : find_crossing(kernel);
    if (crossing < last) {
        /* A transposition: as many rows as a vector has lanes stay in the cache while the block is walked. */
        uint32_t before = kernel->range_count;
        unroll = 1;
        WEFT_TRY(cut_tiles(kernel, crossing, CROSSING_TILE));
        last = before == kernel->range_count ? last - 1 : last;
        WEFT_TRY(cut_tiles(kernel, last, width));
        *out_threads = kernel->range_count - 2;
    } else {
        WEFT_TRY(cut_tiles(kernel, last, loops ? (int64_t)width * unroll : TILE));
        *out_threads = kernel->range_count - 1;
    }
    bind_lanes(&kernel->ranges[kernel->range_count - 1], width, unroll);
    return NULL;
}

static void bind_first(weft_kernel *kernel, uint32_t count, weft_bind bind) {
    for (uint32_t i = 0; i < count; i++) kernel->ranges[i].bind = bind;
}

/*
 * requires   a verified unscheduled kernel
 * maintains  what is computed, and the order of every reduction
 * breaks     nothing: the result is a verified scheduled kernel
 */
weft_status *weft_kernel_schedule(weft_kernel *kernel, const weft_machine *machine) {
    collapse_all(kernel, kernel->ranges, &kernel->range_count);
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        collapse_all(kernel, kernel->stages[s].ranges, &kernel->stages[s].range_count);
    }
    uint32_t width = machine->gpu ? 1 : vector_width(kernel, machine), threads = kernel->range_count;
    if (!machine->gpu && (along_reduction(kernel) || kernel->range_count == 0)) {
        bind_inner(kernel, width);
    } else if (!machine->gpu) {
        WEFT_TRY(bind_outer(kernel, width, &threads));
    }
    bind_first(kernel, threads, machine->gpu ? WEFT_BIND_GRID : WEFT_BIND_THREAD);
    kernel->scheduled = true;
    WEFT_TRY(weft_extents_take_error(kernel->extents));
    return weft_kernel_verify(kernel);
}
