/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/schedule/ranges.h"
#include "lib/schedule/transform.h"
#include <string.h>
#include "lib/loop/inst.h"

/*
 * A reduction whose results are one vector, as of a few columns, has one accumulator, which waits for itself from row
 * to row. Where the order affects no bit its rows are cut into a few parts of equal length, which run side by side,
 * each with an accumulator of its own:
 *
 *     stage 1   rows at the same place of all parts
 *     stage 2   the rows that are left
 *     stage 3   all of these are combined, and what the kernel does with the results
 *
 * Parts follow each other, and are combined in order: of two zeros, or of equal numbers, the same one is found as row
 * by row.
 */

enum { MOST_PARTS = 4, MOST_INSTRUCTIONS = 32, MOST_COMPONENTS = 4 };

typedef struct division {
    weft_kernel *kernel;
    weft_inst_list list;
    weft_stage reduction, after; /* of the kernel as it was */
    uint32_t parts;
    weft_inst_id *ids; /* of the instructions of a stage */
    weft_accumulator *accumulators;
} division;

/* ---- where it may be done ---- */

/* Whether combining in any order gives the same, apart from which of equal values is kept. */
static bool is_in_any_order(const weft_combiner *combiner)
{
    for (uint32_t i = 0; i < combiner->count; i++) {
        const weft_inst *inst = &combiner->insts[i];
        weft_dtype_kind kind = weft_dtype_info_of(inst->dtype)->kind;
        bool is_exact = kind != WEFT_KIND_FLOAT && kind != WEFT_KIND_COMPLEX;
        bool keeps = inst->op == WEFT_SCALAR_param || inst->op == WEFT_SCALAR_max || inst->op == WEFT_SCALAR_min;
        if (!is_exact && !keeps) return false;
    }
    return true;
}

static const char *refuse_accumulators(const weft_kernel *kernel)
{
    uint32_t components = 0;
    for (uint32_t i = 0; i < kernel->accumulator_count; i++) {
        const weft_accumulator *a = &kernel->accumulators[i];
        components += a->width;
        if (!is_in_any_order(&a->combine) || !is_in_any_order(weft_accumulator_step(a)))
            return "the order of the reduction affects bits";
    }
    return components == 0 || components > MOST_COMPONENTS ? "it has no accumulators, or too many" : NULL;
}

const char *weft_kernel_parts_refusal(const weft_kernel *kernel, int64_t parts)
{
    const weft_stage *stages = kernel->stages;
    if (parts < 2 || parts > MOST_PARTS) return "2 to 4 parts run side by side";
    if (kernel->stage_count != 2 || stages[0].range_count != 1 || stages[0].accumulator_count == 0 ||
        stages[0].store_count != 0 || stages[1].range_count != 0 || stages[1].accumulator_count != 0)
        return "the kernel is not one stage that reduces along one range, and one that stores";
    const weft_range *rows = &stages[0].ranges[0];
    if (rows->virtual_lanes != 1 || rows->blocks != WEFT_BLOCKS_NONE) return "it has virtual lanes, or blocks";
    if (stages[0].inst_count > MOST_INSTRUCTIONS) return "it would be too much code";
    for (uint32_t i = 0; i < stages[0].inst_count; i++) {
        const weft_inst *inst = &kernel->insts[stages[0].inst_first + i];
        if (inst->op == WEFT_SCALAR_running || inst->position != WEFT_EXPR_NONE) return "it scans, or reports";
    }
    return refuse_accumulators(kernel);
}

/* ---- making it ---- */

static weft_expr constant(const division *d, int64_t value)
{
    return weft_expr_constant(d->kernel->exprs, value);
}

/* The instructions of the reduction at row `row`, and the accumulators from `first` on, which take them in. */
static weft_status *take_row(division *d, weft_expr row, uint32_t first)
{
    weft_kernel *kernel = d->kernel;
    weft_expr_context *x = kernel->exprs;
    const weft_stage *stage = &d->reduction;
    weft_expr variable = stage->ranges[0].variable;
    for (uint32_t i = 0; i < stage->inst_count; i++) {
        weft_inst inst = kernel->insts[stage->inst_first + i];
        weft_expr *predicates = weft_arena_allocate(&kernel->arena, (inst.predicate_count + 1) * sizeof *predicates);
        if (predicates == NULL) return weft_status_out_of_memory();
        for (uint32_t k = 0; k < inst.arg_count; k++) inst.args[k] = d->ids[inst.args[k] - stage->inst_first];
        if (inst.index != WEFT_EXPR_NONE) inst.index = weft_expr_substitute(x, inst.index, 1, &variable, &row);
        for (uint32_t k = 0; k < inst.predicate_count; k++)
            predicates[k] = weft_expr_substitute(x, inst.predicates[k], 1, &variable, &row);
        inst.predicates = predicates;
        d->ids[i] = weft_inst_list_add(&d->list, &inst);
    }
    for (uint32_t a = 0; a < kernel->accumulator_count; a++) {
        weft_accumulator *accumulator = &d->accumulators[first + a];
        *accumulator = kernel->accumulators[a];
        for (uint32_t v = 0; v < accumulator->value_count; v++)
            accumulator->values[v] = d->ids[accumulator->values[v] - stage->inst_first];
    }
    return NULL;
}

/* A stage of `copies` rows, `distance` apart, from `row` plus its variable on. */
static weft_status *add_rows(division *d, weft_stage *stage, weft_expr extent, weft_expr row, uint32_t copies,
                             weft_expr distance)
{
    weft_kernel *kernel = d->kernel;
    weft_expr_context *x = kernel->exprs;
    weft_range *range = weft_arena_copy(&kernel->arena, d->reduction.ranges, sizeof *range);
    if (range == NULL) return weft_status_out_of_memory();
    uint32_t count = kernel->accumulator_count, first = stage == kernel->stages ? 0 : d->parts * count;
    d->list.visible = d->list.count;
    *stage = (weft_stage){.range_count = 1,
                          .ranges = range,
                          .inst_first = d->list.count,
                          .accumulator_first = first,
                          .accumulator_count = copies * count};
    range->extent = extent;
    range->variable = weft_kernel_fresh_variable(kernel, extent);
    row = weft_expr_add(x, row, range->variable);
    for (uint32_t i = 0; i < copies; i++, row = weft_expr_add(x, row, distance))
        WEFT_TRY(take_row(d, row, first + i * count));
    stage->inst_count = d->list.count - stage->inst_first;
    return NULL;
}

static weft_inst_id result_of(division *d, uint32_t accumulator, uint32_t component)
{
    const weft_inst result = {.op = WEFT_SCALAR_result,
                              .dtype = d->accumulators[accumulator].dtypes[component],
                              .buffer = accumulator,
                              .number = component,
                              .index = WEFT_EXPR_NONE,
                              .position = WEFT_EXPR_NONE};
    return weft_inst_list_add(&d->list, &result);
}

/* The results of accumulator `a` of the kernel as it was. */
static weft_status *combine_parts(division *d, uint32_t a, weft_inst_id *into)
{
    const weft_accumulator *accumulator = &d->kernel->accumulators[a];
    weft_inst_id next[WEFT_MAX_COMPONENTS];
    for (uint32_t c = 0; c < accumulator->width; c++) into[c] = result_of(d, a, c);
    for (uint32_t part = 1; part <= d->parts; part++) {
        for (uint32_t c = 0; c < accumulator->width; c++)
            next[c] = result_of(d, part * d->kernel->accumulator_count + a, c);
        WEFT_TRY(weft_inst_list_combine(&d->list, accumulator, into, next, false));
    }
    return NULL;
}

static weft_status *add_after(division *d, weft_stage *stage)
{
    const weft_kernel *kernel = d->kernel;
    const weft_stage *old = &d->after;
    weft_inst_id results[MOST_COMPONENTS][WEFT_MAX_COMPONENTS];
    d->list.visible = d->list.count;
    *stage = *old;
    stage->inst_first = d->list.count;
    stage->accumulator_first = (d->parts + 1) * kernel->accumulator_count;
    for (uint32_t a = 0; a < kernel->accumulator_count; a++) WEFT_TRY(combine_parts(d, a, results[a]));
    for (uint32_t i = 0; i < old->inst_count; i++) {
        weft_inst inst = kernel->insts[old->inst_first + i];
        for (uint32_t k = 0; k < inst.arg_count; k++) inst.args[k] = d->ids[inst.args[k] - old->inst_first];
        d->ids[i] =
            inst.op == WEFT_SCALAR_result ? results[inst.buffer][inst.number] : weft_inst_list_add(&d->list, &inst);
    }
    for (uint32_t i = 0; i < old->store_count; i++)
        stage->stores[i].value = d->ids[stage->stores[i].value - old->inst_first];
    stage->inst_count = d->list.count - stage->inst_first;
    return NULL;
}

/*
 * requires   a kernel for which weft_kernel_parts_refusal has nothing to say
 * maintains  what is computed
 * breaks     nothing
 */
weft_status *weft_kernel_split_reduction(weft_kernel *kernel, uint32_t parts)
{
    weft_expr_context *x = kernel->exprs;
    division d = {.kernel = kernel,
                  .list = {.arena = &kernel->arena},
                  .reduction = kernel->stages[0],
                  .after = kernel->stages[1],
                  .parts = parts};
    uint32_t count = (parts + 1) * kernel->accumulator_count;
    d.ids = weft_arena_allocate(&kernel->arena, (kernel->inst_count + 1) * sizeof *d.ids);
    d.accumulators = weft_arena_allocate(&kernel->arena, count * sizeof *d.accumulators);
    kernel->stages = weft_arena_allocate(&kernel->arena, 3 * sizeof *kernel->stages);
    if (d.ids == NULL || d.accumulators == NULL || kernel->stages == NULL) return weft_status_out_of_memory();
    weft_expr rows = d.reduction.ranges[0].extent, part = weft_expr_div(x, rows, constant(&d, parts));
    weft_expr whole = weft_expr_mul(x, part, constant(&d, parts));
    WEFT_TRY(add_rows(&d, &kernel->stages[0], part, constant(&d, 0), parts, part));
    WEFT_TRY(add_rows(&d, &kernel->stages[1], weft_expr_sub(x, rows, whole), whole, 1, constant(&d, 0)));
    WEFT_TRY(add_after(&d, &kernel->stages[2]));
    if (d.list.failed) return weft_status_out_of_memory();
    kernel->stage_count = 3;
    kernel->insts = d.list.items;
    kernel->inst_count = d.list.count;
    kernel->accumulators = d.accumulators;
    kernel->accumulator_count = count;
    return NULL;
}

/* ---- where it pays ---- */

uint32_t weft_kernel_find_parts(const weft_kernel *kernel, uint32_t width)
{
    int64_t least, most;
    if (kernel->range_count == 0 || weft_kernel_parts_refusal(kernel, MOST_PARTS) != NULL) return 1;
    weft_expr_range(kernel->exprs, kernel->stages[0].ranges[0].extent, &least, &most);
    if (most < 4 * MOST_PARTS) return 1;
    weft_expr_range(kernel->exprs, kernel->ranges[kernel->range_count - 1].extent, &least, &most);
    return most <= width ? MOST_PARTS : most <= 2 * (int64_t)width ? 2 : 1;
}
