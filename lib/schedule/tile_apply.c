/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/schedule/tile.h"
#include <string.h>

/* Vectors of a round of a reading stage, at most. */
#define READ_UNROLL 8

/* ---- expressions ---- */

static weft_expr constant(const weft_tiling *t, int64_t value)
{
    return weft_expr_constant(t->exprs, value);
}

/* The digit of the variable with that weight, of `extent` values; the last one needs no remainder. */
static weft_expr digit(const weft_tiling *t, weft_expr variable, int64_t weight, int64_t extent, bool last)
{
    weft_expr value = weight == 1 ? variable : weft_expr_div(t->exprs, variable, constant(t, weight));
    return last ? value : weft_expr_mod(t->exprs, value, constant(t, extent));
}

/* `sum`, and how far the list's axes move by `strides`; axes that follow each other stay one digit. */
static weft_expr add_digits(const weft_tiling *t, weft_expr sum, const weft_tile_axes *list, weft_expr variable,
                            const int64_t *strides)
{
    int64_t weight = 1;
    for (uint32_t i = 0; i < list->count;) {
        int64_t stride = strides[list->items[i]], extent = t->axes[list->items[i]].extent;
        for (i++; i < list->count && strides[list->items[i]] == stride * extent; i++)
            extent *= t->axes[list->items[i]].extent;
        weft_expr value = digit(t, variable, weight, extent, i == list->count);
        sum = weft_expr_add(t->exprs, sum, weft_expr_mul(t->exprs, value, constant(t, stride)));
        weight *= extent;
    }
    return sum;
}

/* The expressions that replace the variables of the original ranges. */
typedef struct values {
    weft_expr of[WEFT_MAX_RANK], by[WEFT_MAX_RANK];
    uint32_t count;
} values;

static void add_axis(const weft_tiling *t, values *v, uint32_t number, weft_expr value)
{
    const weft_tile_axis *a = &t->axes[number];
    weft_expr scaled = weft_expr_mul(t->exprs, value, constant(t, a->scale));
    v->by[a->of] = weft_expr_add(t->exprs, v->by[a->of], scaled);
}

/* The tile's corner. */
static void find_corner(const weft_tiling *t, const weft_range *ranges, uint32_t count, values *out_values)
{
    out_values->count = count;
    for (uint32_t i = 0; i < count; i++) {
        out_values->of[i] = ranges[i].variable;
        out_values->by[i] = constant(t, 0);
    }
    for (uint32_t i = 0; i < t->axis_count; i++)
        if (!t->axes[i].tiled) add_axis(t, out_values, i, t->axes[i].variable);
}

static void add_list(const weft_tiling *t, values *v, const weft_tile_axes *list, weft_expr variable)
{
    int64_t weight = 1;
    for (uint32_t i = 0; i < list->count; i++) {
        int64_t extent = t->axes[list->items[i]].extent;
        add_axis(t, v, list->items[i], digit(t, variable, weight, extent, i + 1 == list->count));
        weight *= extent;
    }
}

static bool replace(void *context, weft_expr_context *exprs, weft_expr *expr)
{
    const values *v = context;
    *expr = weft_expr_substitute(exprs, *expr, v->count, v->of, v->by);
    return *expr != WEFT_EXPR_NONE;
}

/* ---- the kernel ---- */

static weft_range make_range(const weft_tiling *t, int64_t extent)
{
    weft_range range = {.extent = constant(t, extent), .virtual_lanes = 1, .width = 1, .unroll = 1};
    range.variable = weft_kernel_fresh_variable(t->kernel, range.extent);
    return range;
}

/* Gives the stage its rows and lanes. */
static weft_status *make_ranges(const weft_tiling *t, const weft_tile_axes *rows, const weft_tile_axes *lanes,
                                uint32_t unroll, weft_stage *stage)
{
    weft_range ranges[2] = {make_range(t, rows->points), make_range(t, lanes->points)};
    while (unroll > 1 && (int64_t)t->width * unroll > lanes->points) unroll /= 2;
    ranges[1].bind = WEFT_BIND_LANE;
    ranges[1].width = t->width;
    ranges[1].unroll = unroll;
    stage->range_count = 2;
    stage->ranges = weft_arena_copy(&t->kernel->arena, ranges, sizeof ranges);
    return stage->ranges == NULL ? weft_status_out_of_memory() : NULL;
}

/* The least way that an access moves along the axis, of those that move. */
static int64_t least_stride(const weft_tiling *t, uint32_t number)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < t->access_count; i++) {
        int64_t stride = t->accesses[i].known ? weft_tile_magnitude(t->accesses[i].strides[number]) : 0;
        if (stride != 0 && stride < least) least = stride;
    }
    return least;
}

/* The ranges outside of the tile. The last ones lead to tiles that are close by, in what is read or what is written: a
 * cache line that two tiles share is used by the second soon after the first. */
static weft_status *make_outer(weft_tiling *t)
{
    weft_kernel *kernel = t->kernel;
    weft_range *ranges = weft_arena_allocate(&kernel->arena, (t->axis_count + 1) * sizeof *ranges);
    int64_t *strides = weft_arena_allocate(&kernel->arena, (t->axis_count + 1) * sizeof *strides);
    if (ranges == NULL || strides == NULL) return weft_status_out_of_memory();
    kernel->range_count = 0;
    for (uint32_t i = 0; i < t->axis_count; i++) {
        if (t->axes[i].tiled) continue;
        weft_range range = make_range(t, t->axes[i].extent);
        int64_t stride = least_stride(t, i);
        uint32_t at = kernel->range_count++;
        for (; at > 0 && strides[at - 1] < stride; at--) {
            ranges[at] = ranges[at - 1];
            strides[at] = strides[at - 1];
        }
        ranges[at] = range;
        strides[at] = stride;
        t->axes[i].variable = range.variable;
    }
    kernel->ranges = ranges;
    return NULL;
}

/* Strides in the local buffer: the run, then the rows. */
static void place_local(const weft_tiling *t, weft_tile_access *a)
{
    int64_t stride = 1;
    for (uint32_t i = 0; i < a->run.count + a->rows.count; i++) {
        uint32_t item = i < a->run.count ? a->run.items[i] : a->rows.items[i - a->run.count];
        a->local_strides[item] = stride;
        stride *= t->axes[item].extent;
    }
}

/* What is assembled: the reading stages with a load each, then the kernel's own stage. */
typedef struct assembly {
    weft_inst *insts;
    weft_stage *stages;
    weft_store *stores;
    weft_kernel_buffer *buffers;
    uint32_t count; /* reading stages so far */
} assembly;

static weft_status *make_room(const weft_tiling *t, assembly *out_assembly)
{
    weft_kernel *kernel = t->kernel;
    weft_arena *arena = &kernel->arena;
    out_assembly->insts = weft_arena_allocate(arena, (t->staged_count + kernel->inst_count) * sizeof(weft_inst));
    out_assembly->stages = weft_arena_allocate(arena, (t->staged_count + 1) * sizeof(weft_stage));
    out_assembly->stores = weft_arena_allocate(arena, (t->staged_count + 1) * sizeof(weft_store));
    out_assembly->buffers =
        weft_arena_allocate(arena, (t->staged_count + kernel->buffer_count) * sizeof(weft_kernel_buffer));
    out_assembly->count = 0;
    bool made = out_assembly->insts != NULL && out_assembly->stages != NULL && out_assembly->stores != NULL &&
                out_assembly->buffers != NULL;
    if (!made) return weft_status_out_of_memory();
    memcpy(out_assembly->buffers, kernel->buffers, kernel->buffer_count * sizeof *kernel->buffers);
    return NULL;
}

/* Puts a stage in front that reads for the access into a local buffer of its own. */
static weft_status *add_reading(const weft_tiling *t, weft_tile_access *a, weft_expr corner, assembly *made)
{
    uint32_t number = made->count++, buffer = t->kernel->buffer_count + number;
    weft_stage *stage = &made->stages[number];
    *stage = (weft_stage){.inst_first = number, .inst_count = 1, .store_count = 1, .stores = &made->stores[number]};
    WEFT_TRY(make_ranges(t, &a->rows, &a->run, READ_UNROLL, stage));
    weft_expr row = stage->ranges[0].variable, lane = stage->ranges[1].variable;
    corner = add_digits(t, corner, &a->run, lane, a->strides);
    made->insts[number] = *a->inst;
    made->insts[number].index = add_digits(t, corner, &a->rows, row, a->strides);
    weft_expr local = weft_expr_mul(t->exprs, row, constant(t, a->run.points));
    *stage->stores = (weft_store){.buffer = buffer, .index = weft_expr_add(t->exprs, local, lane), .value = number};
    made->buffers[buffer] =
        (weft_kernel_buffer){.dtype = a->inst->dtype, .local = (uint32_t)(a->run.points * a->rows.points)};
    a->inst->buffer = buffer;
    return NULL;
}

/* The access as the kernel's own stage has it. */
static weft_status *move_access(const weft_tiling *t, weft_tile_access *a, const weft_stage *own, const values *corner,
                                assembly *made)
{
    weft_expr row = own->ranges[0].variable, lane = own->ranges[1].variable, sum = *a->index;
    const int64_t *strides = a->staged ? a->local_strides : a->strides;
    replace((void *)(uintptr_t)corner, t->exprs, &sum);
    if (a->staged) {
        place_local(t, a);
        WEFT_TRY(add_reading(t, a, sum, made));
        sum = constant(t, 0);
    }
    sum = add_digits(t, sum, &t->lanes, lane, strides);
    *a->index = add_digits(t, sum, &t->rows, row, strides);
    return NULL;
}

static void install(const weft_tiling *t, assembly *made, const weft_stage *own)
{
    weft_kernel *kernel = t->kernel;
    uint32_t count = made->count;
    memcpy(made->insts + count, kernel->insts, kernel->inst_count * sizeof *kernel->insts);
    for (uint32_t i = count; i < count + kernel->inst_count; i++) {
        for (uint32_t k = 0; k < made->insts[i].arg_count; k++) made->insts[i].args[k] += count;
    }
    for (uint32_t i = 0; i < own->store_count; i++) own->stores[i].value += count;
    made->stages[count] = *own;
    made->stages[count].inst_first = count;
    kernel->insts = made->insts;
    kernel->inst_count += count;
    kernel->stages = made->stages;
    kernel->stage_count = count + 1;
    kernel->buffers = made->buffers;
    kernel->buffer_count += count;
}

static weft_status *apply(weft_tiling *t)
{
    weft_kernel *kernel = t->kernel;
    const weft_range *ranges = kernel->ranges;
    uint32_t count = kernel->range_count;
    weft_stage own = kernel->stages[0];
    values corner, point;
    assembly made;
    WEFT_TRY(make_room(t, &made));
    WEFT_TRY(make_outer(t));
    WEFT_TRY(make_ranges(t, &t->rows, &t->lanes, t->unroll, &own));
    find_corner(t, ranges, count, &corner);
    point = corner;
    add_list(t, &point, &t->rows, own.ranges[0].variable);
    add_list(t, &point, &t->lanes, own.ranges[1].variable);
    for (uint32_t i = 0; i < t->access_count; i++)
        if (t->accesses[i].known) WEFT_TRY(move_access(t, &t->accesses[i], &own, &corner, &made));
    if (!weft_kernel_visit_exprs(kernel, replace, &point)) return weft_status_out_of_memory();
    install(t, &made, &own);
    return NULL;
}

/* ---- the move ---- */

/* The axis of a part; axis_count: there is none. */
static uint32_t find_axis(const weft_tiling *t, weft_tile_part part)
{
    uint32_t seen = 0;
    if (part.range >= t->range_count) return t->axis_count;
    for (uint32_t i = t->range_count; i < t->axis_count; i++)
        if (t->axes[i].of == part.range && seen++ == part.part) return i;
    return seen == part.part ? part.range : t->axis_count;
}

static const char *make_cuts(weft_tiling *t, const weft_tile_plan *tile)
{
    for (uint32_t i = 0; i < tile->cut_count; i++) {
        const weft_tile_cut *cut = &tile->cuts[i];
        if (cut->range >= t->range_count) return "it cuts a range that there is not";
        if (cut->extent < 1 || t->axes[cut->range].extent % cut->extent != 0) return "a cut does not divide its range";
        weft_tiling_cut(t, cut->range, cut->extent);
    }
    return NULL;
}

/* Adds the parts to a list. A part is in the tile once; `again`: of those that are. */
static const char *add_parts(weft_tiling *t, const weft_tile_parts *parts, bool again, weft_tile_axes *list)
{
    *list = (weft_tile_axes){.points = 1};
    for (uint32_t i = 0; i < parts->count; i++) {
        uint32_t axis = find_axis(t, parts->items[i]);
        if (axis == t->axis_count) return "it names a part that there is not";
        if (!again && t->axes[axis].tiled) return "a part is in it twice";
        if (again && (!t->axes[axis].tiled || weft_tile_contains(list, axis)))
            return "a load is read along a part that is not in the tile, or twice";
        if (list->points > WEFT_TILE_POINTS / t->axes[axis].extent) return "it has too many elements";
        weft_tiling_append(t, list, axis);
    }
    return NULL;
}

static const char *add_reads(weft_tiling *t, const weft_tile_plan *tile)
{
    int64_t bytes = 0;
    for (uint32_t i = 0; i < tile->read_count; i++) {
        weft_tile_access *a = NULL;
        for (uint32_t k = t->store_count; k < t->access_count; k++)
            if (t->accesses[k].inst == &t->kernel->insts[tile->reads[i].load]) a = &t->accesses[k];
        if (a == NULL || !a->known || a->staged) return "it reads what is no load of known strides, or twice";
        if (a->inst->predicate_count != 0 || t->kernel->buffers[a->inst->buffer].written)
            return "it reads a load under a condition, or of what is written";
        const char *reason = add_parts(t, &tile->reads[i].run, true, &a->run);
        if (reason != NULL) return reason;
        weft_tiling_find_rows(t, a, true, &a->run, &a->rows);
        if (a->rows.points > WEFT_TILE_POINTS / a->run.points) return "it has too many elements";
        bytes += a->run.points * a->rows.points * a->size;
        a->staged = true;
        t->staged_count++;
    }
    return bytes > WEFT_LOCAL_BYTES ? "its local buffers are too large" : NULL;
}

static const char *read_tile(weft_tiling *t, const weft_tile_plan *tile)
{
    const char *reason = weft_tiling_fill(t);
    if (reason == NULL) reason = make_cuts(t, tile);
    if (reason == NULL) reason = add_parts(t, &tile->lanes, false, &t->lanes);
    if (reason == NULL && t->lanes.count == 0) reason = "it has no lanes";
    if (reason == NULL) reason = add_parts(t, &tile->rows, false, &t->rows);
    if (reason == NULL && t->rows.points > WEFT_TILE_POINTS / t->lanes.points) reason = "it has too many elements";
    if (reason == NULL) weft_tiling_find_rows(t, &t->accesses[0], false, &t->lanes, &t->rows);
    return reason == NULL ? add_reads(t, tile) : reason;
}

weft_status *weft_kernel_tile_check(weft_kernel *kernel, const weft_tile_plan *tile, const char **out_reason)
{
    weft_tiling *t;
    WEFT_TRY(weft_tiling_create(kernel, &t));
    *out_reason = read_tile(t, tile);
    return NULL;
}

weft_status *weft_kernel_tile(weft_kernel *kernel, const weft_tile_plan *tile, uint32_t width, uint32_t unroll)
{
    weft_tiling *t;
    WEFT_TRY(weft_tiling_create(kernel, &t));
    t->width = width;
    t->unroll = unroll;
    (void)read_tile(t, tile);
    return apply(t);
}
