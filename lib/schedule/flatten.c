/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/schedule/flat.h"
#include <string.h>

/*
 * Reductions and scans of short rows. Lanes along a row of ten elements are idle for the most part, and the results of
 * lanes are combined once more for every row. So the points of all inner ranges become instructions one after the other
 * in a single stage, and lanes go across rows. Each virtual lane has an accumulator of its own until the end of the
 * row, so the order of the reduction stays. What a later stage reads back is taken from the instruction that stored it.
 */

enum { MOST_ROW = 32, MOST_FLAT = 1024 };

/* ---- where it may be done ---- */

/* Nested ranges have one virtual lane, and go on with the same accumulators. */
uint32_t weft_flat_points(const weft_kernel *kernel, const weft_stage *stage)
{
    int64_t points = 1, extent;
    if (stage->range_count > WEFT_FLAT_RANGES) return 0;
    for (uint32_t i = 0; i < stage->range_count; i++) {
        const weft_range *range = &stage->ranges[i];
        if (!weft_expr_is_constant(kernel->exprs, range->extent, &extent) || extent < 1) return 0;
        if (stage->range_count > 1 && (range->virtual_lanes > 1 || extent > WEFT_ORDER_SHORT)) return 0;
        if (extent > MOST_ROW / points) return 0;
        points *= extent;
    }
    return (uint32_t)points;
}

/* An expression of stage `from` at the points of stage `to`. */
static weft_expr translate(const weft_kernel *kernel, const weft_stage *from, const weft_stage *to, weft_expr e)
{
    if (from->range_count == 0 || to->range_count == 0) return e;
    return weft_expr_substitute(kernel->exprs, e, 1, &from->ranges[0].variable, &to->ranges[0].variable);
}

/* Whether an earlier stage stores, at the same points, what the load of stage `number` reads back. */
static bool reads_back(const weft_kernel *kernel, uint32_t number, const weft_inst *load)
{
    const weft_stage *stage = &kernel->stages[number];
    for (uint32_t s = 0; s < number; s++) {
        const weft_stage *early = &kernel->stages[s];
        if (early->range_count > 1 || stage->range_count > 1) continue;
        if (weft_flat_points(kernel, early) != weft_flat_points(kernel, stage)) continue;
        for (uint32_t i = 0; i < early->store_count; i++)
            if (early->stores[i].buffer == load->buffer && early->stores[i].predicate_count == 0 &&
                translate(kernel, early, stage, early->stores[i].index) == load->index)
                return true;
    }
    return false;
}

const char *weft_flat_refusal(const weft_kernel *kernel, uint32_t stage, const weft_inst *inst)
{
    if (weft_inst_has_effect(inst)) return "it reports what is wrong with data";
    if (inst->op != WEFT_SCALAR_load) return NULL;
    if (inst->arg_count != 0) return "data decide where it loads";
    if (kernel->buffers[inst->buffer].written && !reads_back(kernel, stage, inst)) return "it loads what it stores";
    return NULL;
}

static const char *refuse_stage(const weft_kernel *kernel, uint32_t number)
{
    const weft_stage *stage = &kernel->stages[number];
    const char *reason = NULL;
    if (weft_flat_points(kernel, stage) == 0)
        return "a stage has other than 1 to 32 points, or nested ranges that start anew";
    for (uint32_t i = 0; i < stage->range_count; i++)
        if (stage->ranges[i].bind != WEFT_BIND_SERIAL) return "the lanes of a stage are bound";
    for (uint32_t i = 0; i < stage->store_count; i++)
        if (stage->stores[i].is_indirect) return "data decide where it stores";
    for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count && reason == NULL; i++)
        reason = weft_flat_refusal(kernel, number, &kernel->insts[i]);
    return reason;
}

const char *weft_kernel_flatten_refusal(const weft_kernel *kernel, uint32_t copies)
{
    uint32_t insts = 0, stores = 0, ranges = 0;
    const char *reason = NULL;
    if (kernel->range_count == 0) return "there is no outer range";
    for (uint32_t i = 0; i < kernel->buffer_count; i++)
        if (kernel->buffers[i].local != 0) return "it has local buffers";
    for (uint32_t s = 0; s < kernel->stage_count && reason == NULL; s++) {
        uint32_t points = weft_flat_points(kernel, &kernel->stages[s]);
        insts += copies * points * kernel->stages[s].inst_count;
        stores += copies * points * kernel->stages[s].store_count;
        ranges += kernel->stages[s].range_count;
        reason = refuse_stage(kernel, s);
    }
    if (reason != NULL) return reason;
    if (ranges == 0) return "no stage has a range";
    return insts > MOST_FLAT || stores > WEFT_FLAT_STORES ? "it would be too much code" : NULL;
}

/* ---- instructions ---- */

weft_expr weft_flat_at_point(weft_expr_context *x, const weft_flat_stage *s, uint32_t point, weft_expr e)
{
    weft_expr variables[WEFT_FLAT_RANGES], values[WEFT_FLAT_RANGES];
    int64_t rest = point, extent;
    if (s->range_count == 0 || e == WEFT_EXPR_NONE) return e;
    for (uint32_t i = s->range_count; i-- > 0;) {
        bool is_inner = i > 0 && weft_expr_is_constant(x, s->ranges[i].extent, &extent);
        variables[i] = s->ranges[i].variable;
        values[i] = weft_expr_constant(x, is_inner ? rest % extent : rest);
        if (is_inner) rest /= extent;
    }
    values[0] = weft_expr_add(x, s->first, values[0]);
    return weft_expr_substitute(x, e, s->range_count, variables, values);
}

static weft_expr at_point(const weft_flat *f, const weft_flat_stage *s, uint32_t point, weft_expr e)
{
    return weft_flat_at_point(f->kernel->exprs, s, point, e);
}

/* Those that always hold there are left out. */
static weft_status *predicates_at_point(const weft_flat *f, const weft_flat_stage *s, uint32_t point, uint32_t *count,
                                        const weft_expr **exprs)
{
    uint32_t left = 0;
    if (*count == 0) return NULL;
    weft_expr *copy = weft_arena_copy(&f->kernel->arena, *exprs, *count * sizeof *copy);
    if (copy == NULL) return weft_status_out_of_memory();
    for (uint32_t i = 0; i < *count; i++) {
        copy[left] = at_point(f, s, point, copy[i]);
        left += !weft_expr_always_nonnegative(f->kernel->exprs, copy[left]);
    }
    *exprs = copy;
    *count = left;
    return NULL;
}

static weft_store *find_store(const weft_flat *f, uint32_t buffer, weft_expr index)
{
    for (uint32_t i = 0; i < f->store_count; i++)
        if (f->stores[i].buffer == buffer && f->stores[i].index == index) return &f->stores[i];
    return NULL;
}

static weft_status *add_inst(weft_flat *f, const weft_flat_stage *s, uint32_t point, weft_inst_id id)
{
    weft_inst inst = f->kernel->insts[id];
    for (uint32_t a = 0; a < inst.arg_count; a++) inst.args[a] = f->ids[inst.args[a]];
    inst.index = at_point(f, s, point, inst.index);
    inst.position = at_point(f, s, point, inst.position);
    WEFT_TRY(predicates_at_point(f, s, point, &inst.predicate_count, &inst.predicates));
    bool written = inst.op == WEFT_SCALAR_load && f->kernel->buffers[inst.buffer].written;
    const weft_store *stored = written ? find_store(f, inst.buffer, inst.index) : NULL;
    if (written && stored == NULL) return weft_kernel_expr_failure(f->kernel);
    if (written) f->ids[id] = stored->value;
    else if (inst.op == WEFT_SCALAR_result || inst.op == WEFT_SCALAR_running)
        f->ids[id] = f->results[inst.buffer * WEFT_MAX_COMPONENTS + inst.number];
    else if (inst.op == WEFT_SCALAR_inside && inst.predicate_count == 0)
        f->ids[id] = weft_inst_list_constant(&f->list, WEFT_BOOL, 1);
    else f->ids[id] = weft_inst_list_add(&f->list, &inst);
    return NULL;
}

static weft_status *add_stores(weft_flat *f, const weft_flat_stage *s, uint32_t point)
{
    for (uint32_t i = 0; i < s->stage->store_count; i++) {
        weft_store store = s->stage->stores[i];
        store.index = at_point(f, s, point, store.index);
        store.value = f->ids[store.value];
        WEFT_TRY(predicates_at_point(f, s, point, &store.predicate_count, &store.predicates));
        weft_store *early = find_store(f, store.buffer, store.index);
        if (early == NULL) early = &f->stores[f->store_count++];
        *early = store;
    }
    return NULL;
}

/* ---- accumulators ---- */

weft_inst_id *weft_flat_accumulator(const weft_flat_stage *s, uint32_t lane, uint32_t number)
{
    uint32_t within = number - s->stage->accumulator_first;
    return &s->accumulators[(lane * s->stage->accumulator_count + within) * WEFT_MAX_COMPONENTS];
}

/* Whether the first element is what the accumulator then is: sums of floats begin with +0, which -0 does not survive.
 */
static bool begins_as_it_is(const weft_accumulator *accumulator)
{
    weft_dtype_kind kind = weft_dtype_info_of(accumulator->dtypes[0])->kind;
    return accumulator->step.count == 0 && (kind != WEFT_KIND_FLOAT || accumulator->init[0] != 0);
}

/* What `right` is with what was there before it, in `right`. */
static weft_status *combine_in_front(weft_flat *f, const weft_accumulator *accumulator, const weft_inst_id *left,
                                     weft_inst_id *right)
{
    weft_inst_id both[WEFT_MAX_COMPONENTS];
    memcpy(both, left, sizeof both);
    WEFT_TRY(weft_inst_list_combine(&f->list, accumulator, both, right, false));
    memcpy(right, both, sizeof both);
    return NULL;
}

/* A point of a scan in virtual lanes: of these, lane 0 has what there is before the group, and the next ones the latest
 * lower half of each level of the tree. */
static weft_status *take_in_group(weft_flat *f, const weft_flat_stage *s, uint32_t point, uint32_t number)
{
    const weft_accumulator *accumulator = &f->kernel->accumulators[number];
    weft_inst_id value[WEFT_MAX_COMPONENTS] = {0}, *before = weft_flat_accumulator(s, 0, number);
    for (uint32_t c = 0; c < accumulator->width; c++) {
        value[c] = f->ids[accumulator->values[c]];
        if (point == 0) before[c] = weft_inst_list_constant(&f->list, accumulator->dtypes[c], accumulator->init[c]);
    }
    for (uint32_t level = 0; 1u << level < s->lanes; level++) {
        weft_inst_id *lower = weft_flat_accumulator(s, 1 + level, number);
        if ((point >> level & 1) == 0) memcpy(lower, value, sizeof value);
        else WEFT_TRY(combine_in_front(f, accumulator, lower, value));
    }
    if (point >= s->lanes || !begins_as_it_is(accumulator)) WEFT_TRY(combine_in_front(f, accumulator, before, value));
    if ((point + 1) % s->lanes == 0) memcpy(before, value, sizeof value);
    memcpy(&f->results[number * WEFT_MAX_COMPONENTS], value, sizeof value);
    return NULL;
}

static weft_status *take_in(weft_flat *f, const weft_flat_stage *s, uint32_t point)
{
    const weft_stage *stage = s->stage;
    if (s->range_count > 0 && s->ranges[0].scans) {
        for (uint32_t a = 0; a < stage->accumulator_count; a++)
            WEFT_TRY(take_in_group(f, s, point, stage->accumulator_first + a));
        return NULL;
    }
    for (uint32_t a = stage->accumulator_first; a < stage->accumulator_first + stage->accumulator_count; a++) {
        const weft_accumulator *accumulator = &f->kernel->accumulators[a];
        weft_inst_id values[WEFT_MAX_COMPONENTS], *into = weft_flat_accumulator(s, point % s->lanes, a);
        for (uint32_t v = 0; v < accumulator->value_count; v++) values[v] = f->ids[accumulator->values[v]];
        bool begins = !s->goes_on && point < s->lanes;
        for (uint32_t c = 0; c < accumulator->width && begins; c++)
            into[c] = begins_as_it_is(accumulator)
                          ? values[c]
                          : weft_inst_list_constant(&f->list, accumulator->dtypes[c], accumulator->init[c]);
        if (!begins || !begins_as_it_is(accumulator))
            WEFT_TRY(weft_inst_list_combine(&f->list, accumulator, into, values, true));
        memcpy(&f->results[a * WEFT_MAX_COMPONENTS], into, sizeof values);
    }
    return NULL;
}

/* Lane i takes in lane i + h, for h = lanes / 2, ..., 1; lanes without elements change nothing. */
static weft_status *fold_lanes(weft_flat *f, const weft_flat_stage *s, uint32_t number)
{
    const weft_accumulator *accumulator = &f->kernel->accumulators[number];
    for (uint32_t half = s->lanes / 2; half > 0; half /= 2)
        for (uint32_t lane = 0; lane < half && lane + half < s->points; lane++)
            WEFT_TRY(weft_inst_list_combine(&f->list, accumulator, weft_flat_accumulator(s, lane, number),
                                            weft_flat_accumulator(s, lane + half, number), false));
    memcpy(&f->results[number * WEFT_MAX_COMPONENTS], weft_flat_accumulator(s, 0, number),
           accumulator->width * sizeof *f->results);
    return NULL;
}

/* ---- stages ---- */

weft_status *weft_flat_add_point(weft_flat *f, const weft_flat_stage *s, uint32_t point)
{
    const weft_stage *stage = s->stage;
    bool waiting = stage->accumulator_count != 0;
    for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++) {
        bool runs = f->kernel->insts[i].op == WEFT_SCALAR_running;
        if (waiting && runs) WEFT_TRY(take_in(f, s, point));
        waiting &= !runs;
        WEFT_TRY(add_inst(f, s, point, i));
    }
    if (waiting) WEFT_TRY(take_in(f, s, point));
    return add_stores(f, s, point);
}

static weft_status *add_stage(weft_flat *f, const weft_stage *stage)
{
    weft_flat_stage s = {.stage = stage, .first = weft_expr_constant(f->kernel->exprs, 0), .lanes = 1};
    s.points = weft_flat_points(f->kernel, stage);
    s.ranges = stage->ranges;
    s.range_count = stage->range_count;
    bool scans = s.range_count > 0 && s.ranges[0].scans;
    if (s.range_count > 0 && s.ranges[0].reduce) s.lanes = s.ranges[0].virtual_lanes;
    size_t slots = (size_t)s.lanes * stage->accumulator_count * WEFT_MAX_COMPONENTS;
    s.accumulators = weft_arena_allocate(&f->kernel->arena, (slots + 1) * sizeof *s.accumulators);
    if (s.accumulators == NULL) return weft_status_out_of_memory();
    for (uint32_t point = 0; point < s.points; point++) WEFT_TRY(weft_flat_add_point(f, &s, point));
    for (uint32_t a = 0; a < stage->accumulator_count && !scans; a++)
        WEFT_TRY(fold_lanes(f, &s, stage->accumulator_first + a));
    return NULL;
}

/*
 * requires   an unscheduled kernel that is not refused
 * maintains  what is computed, and the order of every reduction
 * breaks     that written buffers are read: there is one stage, without ranges
 */
weft_status *weft_kernel_flatten(weft_kernel *kernel)
{
    weft_flat f = {.kernel = kernel, .list = {.arena = &kernel->arena}};
    size_t results = (size_t)(kernel->accumulator_count + 1) * WEFT_MAX_COMPONENTS;
    f.ids = weft_arena_allocate(&kernel->arena, (kernel->inst_count + 1) * sizeof *f.ids);
    f.results = weft_arena_allocate(&kernel->arena, results * sizeof *f.results);
    f.stores = weft_arena_allocate(&kernel->arena, WEFT_FLAT_STORES * sizeof *f.stores);
    weft_stage *stage = weft_arena_allocate(&kernel->arena, sizeof *stage);
    if (f.ids == NULL || f.results == NULL || f.stores == NULL || stage == NULL) return weft_status_out_of_memory();
    for (uint32_t s = 0; s < kernel->stage_count; s++) WEFT_TRY(add_stage(&f, &kernel->stages[s]));
    if (f.list.failed) return weft_status_out_of_memory();
    *stage = (weft_stage){.inst_count = f.list.count, .stores = f.stores, .store_count = f.store_count};
    kernel->stages = stage;
    kernel->stage_count = 1;
    kernel->insts = f.list.items;
    kernel->inst_count = f.list.count;
    kernel->accumulator_count = 0;
    return weft_kernel_dce(kernel);
}

/* ---- where it pays ---- */

/* Whether an access goes from row to row in steps of one, or in others, of elements that vectors are transposed by. */
static bool is_in_rows(const weft_kernel *kernel, weft_dtype dtype, weft_expr index, weft_expr row)
{
    weft_expr step, rest;
    size_t size = weft_dtype_size(dtype);
    if (!weft_expr_uses(kernel->exprs, index, row)) return true;
    if (!weft_expr_affine(kernel->exprs, index, row, &step, &rest)) return false;
    if (step == weft_expr_constant(kernel->exprs, 1)) return true;
    return (size == 4 || size == 8) && weft_dtype_info_of(dtype)->kind != WEFT_KIND_COMPLEX;
}

/* Whether elements of one or two bytes lie so near from row to row that vectors pick them from all between them. */
static bool is_near(const weft_kernel *kernel, const weft_inst *load, weft_expr row)
{
    enum { MOST_BYTES = 32 };
    weft_expr step, rest;
    int64_t distance, size = (int64_t)weft_dtype_size(load->dtype);
    return size <= 2 && weft_expr_affine(kernel->exprs, load->index, row, &step, &rest) &&
           weft_expr_is_constant(kernel->exprs, step, &distance) && distance > 0 && distance <= MOST_BYTES / size;
}

static bool stage_is_in_rows(const weft_kernel *kernel, const weft_stage *stage, weft_expr row, bool predicated)
{
    for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++) {
        const weft_inst *inst = &kernel->insts[i];
        if (inst->predicate_count != 0 && !predicated) return false;
        if (inst->op != WEFT_SCALAR_load || is_near(kernel, inst, row)) continue;
        if (!is_in_rows(kernel, inst->dtype, inst->index, row)) return false;
    }
    for (uint32_t i = 0; i < stage->store_count; i++) {
        const weft_store *store = &stage->stores[i];
        weft_dtype dtype = kernel->buffers[store->buffer].dtype;
        if (store->predicate_count != 0 || !is_in_rows(kernel, dtype, store->index, row)) return false;
    }
    return true;
}

bool weft_kernel_is_in_rows(const weft_kernel *kernel, weft_expr row, bool predicated)
{
    bool in_rows = true;
    for (uint32_t s = 0; s < kernel->stage_count && in_rows; s++)
        in_rows = stage_is_in_rows(kernel, &kernel->stages[s], row, predicated);
    return in_rows;
}

/* Whether all accesses of all stages go from row to row one by one, or stay, as windows along memory do. */
static bool is_dense(const weft_kernel *kernel, weft_expr row)
{
    weft_expr step, rest;
    bool dense = true;
    for (uint32_t i = 0; i < kernel->inst_count; i++) {
        const weft_inst *inst = &kernel->insts[i];
        if (inst->op != WEFT_SCALAR_load || !weft_expr_uses(kernel->exprs, inst->index, row)) continue;
        dense &= weft_expr_affine(kernel->exprs, inst->index, row, &step, &rest) &&
                 step == weft_expr_constant(kernel->exprs, 1);
    }
    return dense;
}

/* Longer rows fill vectors, and are more code than they are worth, unless nothing is transposed. */
bool weft_kernel_wants_flattening(const weft_kernel *kernel, uint32_t width, weft_flat_rows *out_rows)
{
    enum { LONGEST_WANTED = 24 };
    int64_t least, most;
    *out_rows = (weft_flat_rows){.points = 1};
    if (weft_kernel_flatten_refusal(kernel, 1) != NULL) return false;
    if (weft_kernel_scans_long_rows(kernel)) return false;
    const weft_range *rows = &kernel->ranges[kernel->range_count - 1];
    weft_expr_range(kernel->exprs, rows->extent, &least, &most);
    if (most < 2 * (int64_t)width) return false;
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        uint32_t points = weft_flat_points(kernel, &kernel->stages[s]);
        if (points > out_rows->points) out_rows->points = points;
    }
    out_rows->is_dense = is_dense(kernel, rows->variable);
    bool is_short = out_rows->points <= LONGEST_WANTED || out_rows->is_dense;
    return is_short && weft_kernel_is_in_rows(kernel, rows->variable, false);
}
