/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/schedule/flat.h"
#include <string.h>

/*
 * Scans of long rows without virtual lanes. A row alone takes the latency of an operation for each element, and its
 * stores are single ones. So a few columns are one pass, at the end of which accumulators of all rows of a tile lie in
 * local buffers. The first column is apart where it alone is without what others have: an exclusive scan, or a
 * recurrence.
 */

/* Columns of the passes: a whole vector of each row, 16 bytes of it at least, and one. */
enum { WIDE_PASS = 16, PASS = 4, MOST_SCANNED = 512, MOST_COMPONENTS = 4 };
static const uint32_t lengths[] = {WIDE_PASS, PASS, 1};

/* Whether passes of `columns` columns are not too much code. */
static bool fits(const weft_stage *stage, uint32_t columns)
{
    return columns * stage->inst_count <= MOST_SCANNED && columns * stage->store_count < WEFT_FLAT_STORES / 2;
}

/* A kernel of one scan, and what it becomes. */
typedef struct scan {
    weft_flat flat;
    weft_flat_stage stage;
    weft_range rows; /* of a tile */
    uint32_t first_local, components;
    weft_stage stages[4];
    uint32_t stage_count;
} scan;

static const char *refuse_scan(const weft_kernel *kernel)
{
    const weft_stage *stage = &kernel->stages[0];
    if (kernel->range_count == 0 || kernel->stage_count != 1 || stage->range_count != 1 ||
        stage->accumulator_count == 0 || stage->store_count == 0)
        return "the kernel is not one stage that scans along one range";
    if (kernel->ranges[kernel->range_count - 1].bind != WEFT_BIND_SERIAL || stage->ranges[0].bind != WEFT_BIND_SERIAL)
        return "its lanes are bound";
    if (stage->ranges[0].virtual_lanes != 1 || stage->ranges[0].blocks != WEFT_BLOCKS_NONE)
        return "it reduces in lanes or blocks";
    return weft_kernel_bounds_inner(kernel, kernel->ranges[kernel->range_count - 1].variable)
               ? "an inner extent depends on the last outer range"
               : NULL;
}

bool weft_kernel_scans_long_rows(const weft_kernel *kernel)
{
    int64_t extent;
    if (refuse_scan(kernel) != NULL) return false;
    return !weft_expr_is_constant(kernel->exprs, kernel->stages[0].ranges[0].extent, &extent) || extent > WIDE_PASS;
}

const char *weft_kernel_scan_refusal(const weft_kernel *kernel, uint32_t width, uint32_t unroll)
{
    const weft_stage *stage = &kernel->stages[0];
    const char *reason = refuse_scan(kernel);
    uint32_t components = 0;
    for (uint32_t i = 0; i < kernel->buffer_count; i++)
        if (kernel->buffers[i].local != 0) return "it has local buffers";
    for (uint32_t i = 0; reason == NULL && i < stage->store_count; i++)
        if (stage->stores[i].is_indirect) return "data decide where it stores";
    for (uint32_t i = 0; reason == NULL && i < stage->inst_count; i++)
        reason = weft_flat_refusal(kernel, 0, &kernel->insts[stage->inst_first + i]);
    if (reason != NULL) return reason;
    for (uint32_t a = 0; a < kernel->accumulator_count; a++) components += kernel->accumulators[a].width;
    if (components > MOST_COMPONENTS) return "it has too many accumulators";
    return fits(stage, 1) && width * unroll <= 256 ? NULL : "it would be too much code";
}

/* Whether the kernel has predicates, of loads and of what counts, which all hold from the second column on. */
static bool counts_from_second(const weft_kernel *kernel)
{
    const weft_stage *stage = &kernel->stages[0];
    weft_expr_context *x = kernel->exprs;
    int64_t least, most;
    bool any = false;
    weft_expr_range(x, stage->ranges[0].extent, &least, &most);
    for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++) {
        for (uint32_t p = 0; p < kernel->insts[i].predicate_count; p++) {
            weft_expr step, rest, predicate = kernel->insts[i].predicates[p];
            if (!weft_expr_affine(x, predicate, stage->ranges[0].variable, &step, &rest)) return false;
            bool grows = weft_expr_always_nonnegative(x, step);
            if (!grows || !weft_expr_always_nonnegative(x, weft_expr_add(x, step, rest))) return false;
            any = true;
        }
    }
    return any && least > 0;
}

/* What is added to the list from here on is a new stage. */
static weft_stage *open_stage(scan *s)
{
    weft_stage *stage = &s->stages[s->stage_count++];
    s->flat.list.visible = s->flat.list.count;
    *stage = (weft_stage){.inst_first = s->flat.list.count};
    stage->stores = weft_arena_allocate(&s->flat.kernel->arena, WEFT_FLAT_STORES * sizeof *stage->stores);
    s->flat.stores = stage->stores;
    s->flat.store_count = 0;
    return stage->stores == NULL ? NULL : stage;
}

/* The stage, with rows along the lanes. */
static weft_status *close_stage(scan *s, weft_stage *stage, const weft_range *around)
{
    uint32_t count = around != NULL ? 2 : 1;
    weft_range *ranges = weft_arena_allocate(&s->flat.kernel->arena, 2 * sizeof *ranges);
    if (ranges == NULL || s->flat.list.failed) return weft_status_out_of_memory();
    if (around != NULL) ranges[0] = *around;
    ranges[count - 1] = s->rows;
    stage->ranges = ranges;
    stage->range_count = count;
    stage->inst_count = s->flat.list.count - stage->inst_first;
    stage->store_count = s->flat.store_count;
    return NULL;
}

typedef enum access { INIT, LOAD, STORE } access;

/* Sets all accumulators to what they begin with or to what is in the local buffers, or stores them there. */
static void access_components(scan *s, access kind)
{
    uint32_t buffer = s->first_local;
    weft_flat *f = &s->flat;
    for (uint32_t a = 0; a < f->kernel->accumulator_count; a++) {
        const weft_accumulator *accumulator = &f->kernel->accumulators[a];
        weft_inst_id *ids = weft_flat_accumulator(&s->stage, 0, a);
        for (uint32_t c = 0; c < accumulator->width; c++, buffer++) {
            const weft_inst load = {
                .op = WEFT_SCALAR_load, .dtype = accumulator->dtypes[c], .buffer = buffer, .index = s->rows.variable};
            if (kind == INIT) ids[c] = weft_inst_list_constant(&f->list, accumulator->dtypes[c], accumulator->init[c]);
            if (kind == LOAD) ids[c] = weft_inst_list_add(&f->list, &load);
            if (kind == STORE)
                f->stores[f->store_count++] = (weft_store){.buffer = buffer, .index = load.index, .value = ids[c]};
        }
    }
}

/* What accumulators begin with, and the first column where that is one of its own. */
static weft_status *add_start(scan *s, bool has_first)
{
    weft_stage *stage = open_stage(s);
    if (stage == NULL) return weft_status_out_of_memory();
    access_components(s, INIT);
    s->stage.points = 1;
    s->stage.first = weft_expr_constant(s->flat.kernel->exprs, 0);
    if (has_first) WEFT_TRY(weft_flat_add_point(&s->flat, &s->stage, 0));
    access_components(s, STORE);
    return close_stage(s, stage, NULL);
}

/* `passes` passes of `columns` columns each, from column `from` on. */
static weft_status *add_passes(scan *s, weft_expr from, weft_expr passes, uint32_t columns)
{
    weft_expr_context *x = s->flat.kernel->exprs;
    weft_range range = {.extent = passes, .virtual_lanes = 1, .width = 1, .unroll = 1};
    weft_stage *stage = open_stage(s);
    if (stage == NULL) return weft_status_out_of_memory();
    range.variable = weft_kernel_fresh_variable(s->flat.kernel, passes);
    s->stage.points = columns;
    s->stage.first = weft_expr_add(x, from, weft_expr_mul(x, range.variable, weft_expr_constant(x, columns)));
    access_components(s, LOAD);
    for (uint32_t point = 0; point < columns; point++) WEFT_TRY(weft_flat_add_point(&s->flat, &s->stage, point));
    access_components(s, STORE);
    return close_stage(s, stage, &range);
}

static weft_status *add_locals(scan *s, uint32_t rows)
{
    weft_kernel *kernel = s->flat.kernel;
    size_t count = kernel->buffer_count + s->components;
    weft_kernel_buffer *buffers = weft_arena_allocate(&kernel->arena, count * sizeof *buffers);
    if (buffers == NULL) return weft_status_out_of_memory();
    memcpy(buffers, kernel->buffers, kernel->buffer_count * sizeof *buffers);
    s->first_local = kernel->buffer_count;
    for (uint32_t a = 0; a < kernel->accumulator_count; a++)
        for (uint32_t c = 0; c < kernel->accumulators[a].width; c++)
            buffers[kernel->buffer_count++] =
                (weft_kernel_buffer){.dtype = kernel->accumulators[a].dtypes[c], .local = rows};
    kernel->buffers = buffers;
    return NULL;
}

/* As many passes of a length as there is room for, then shorter ones. */
static weft_status *add_stages(scan *s, const weft_range *columns)
{
    weft_expr_context *x = s->flat.kernel->exprs;
    bool has_first = counts_from_second(s->flat.kernel);
    weft_expr from = weft_expr_constant(x, has_first), left = weft_expr_sub(x, columns->extent, from);
    int64_t least, most;
    WEFT_TRY(add_start(s, has_first));
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        if (!fits(s->stage.stage, lengths[i])) continue;
        weft_expr length = weft_expr_constant(x, lengths[i]), passes = weft_expr_div(x, left, length);
        weft_expr_range(x, passes, &least, &most);
        if (most > 0) WEFT_TRY(add_passes(s, from, passes, lengths[i]));
        from = weft_expr_add(x, from, weft_expr_mul(x, passes, length));
        left = weft_expr_mod(x, left, length);
    }
    return NULL;
}

/*
 * requires   an unscheduled kernel that is not refused
 * maintains  what is computed, and the order of the scan
 * breaks     nothing; lanes are bound
 */
weft_status *weft_kernel_scan(weft_kernel *kernel, uint32_t width, uint32_t unroll)
{
    scan s = {.flat = {.kernel = kernel, .list = {.arena = &kernel->arena}}};
    for (uint32_t a = 0; a < kernel->accumulator_count; a++) s.components += kernel->accumulators[a].width;
    WEFT_TRY(weft_kernel_split(kernel, kernel->range_count - 1, (int64_t)width * unroll));
    weft_stage old = kernel->stages[0];
    weft_range columns = old.ranges[0];
    size_t slots = (size_t)kernel->accumulator_count * WEFT_MAX_COMPONENTS;
    s.stage = (weft_flat_stage){.stage = &old, .ranges = &columns, .range_count = 1, .lanes = 1, .goes_on = true};
    s.stage.accumulators = weft_arena_allocate(&kernel->arena, slots * sizeof *s.stage.accumulators);
    s.flat.results = weft_arena_allocate(&kernel->arena, slots * sizeof *s.flat.results);
    s.flat.ids = weft_arena_allocate(&kernel->arena, (kernel->inst_count + 1) * sizeof *s.flat.ids);
    if (s.stage.accumulators == NULL || s.flat.results == NULL || s.flat.ids == NULL)
        return weft_status_out_of_memory();
    s.rows = kernel->ranges[--kernel->range_count];
    s.rows.bind = WEFT_BIND_LANE;
    s.rows.width = width;
    s.rows.unroll = unroll;
    WEFT_TRY(add_locals(&s, width * unroll));
    WEFT_TRY(add_stages(&s, &columns));
    kernel->stages = weft_arena_copy(&kernel->arena, s.stages, s.stage_count * sizeof *s.stages);
    if (kernel->stages == NULL) return weft_status_out_of_memory();
    kernel->stage_count = s.stage_count;
    kernel->insts = s.flat.list.items;
    kernel->inst_count = s.flat.list.count;
    kernel->accumulator_count = 0;
    return NULL;
}

/* Whether an element takes longer than its store, which is a single one: not additions of eight bytes, nor integers,
 * unless functions are scanned. */
static bool takes_long(const weft_kernel *kernel)
{
    enum { FUNCTION = 16 };
    const weft_accumulator *accumulator = &kernel->accumulators[0];
    if (kernel->stages[0].inst_count >= FUNCTION) return true;
    const weft_combiner *step = weft_accumulator_step(accumulator);
    bool is_float = weft_dtype_info_of(accumulator->dtypes[0])->kind == WEFT_KIND_FLOAT;
    return weft_dtype_size(accumulator->dtypes[0]) < 8 ||
           (is_float && step->insts[step->count - 1].op != WEFT_SCALAR_add);
}

bool weft_kernel_wants_scan(const weft_kernel *kernel, uint32_t width)
{
    int64_t least, most, columns;
    if (weft_kernel_scan_refusal(kernel, width, 1) != NULL) return false;
    const weft_range *rows = &kernel->ranges[kernel->range_count - 1];
    weft_expr_range(kernel->exprs, kernel->stages[0].ranges[0].extent, &least, &columns);
    weft_expr_range(kernel->exprs, rows->extent, &least, &most);
    if (2 * most < width || columns < WIDE_PASS || !takes_long(kernel)) return false;
    return weft_kernel_is_in_rows(kernel, rows->variable, counts_from_second(kernel));
}
