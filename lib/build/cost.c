/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/build/builder.h"
#include "lib/loop/inst.h"

/* The work of one iteration of a kernel's thread range, which determines the grain and what profiles report. */

typedef struct kernel_cost {
    variant_builder *builder;
    const weft_kernel *kernel;
    weft_expr_context *exprs; /* the kernel's */
    weft_expr lanes;          /* points that one iteration runs outside of inner ranges */
} kernel_cost;

/* Arithmetic operations of an instruction: moving, comparing, checking or reinterpreting a value counts as none.
 * Complex numbers are taken apart before. */
static int64_t count_flops(const weft_inst *inst)
{
    if (weft_scalar_result_of(inst->op) == WEFT_RESULT_BOOL || weft_scalar_is_check(inst->op)) return 0;
    switch (inst->op) {
    case WEFT_SCALAR_const:
    case WEFT_SCALAR_index:
    case WEFT_SCALAR_load:
    case WEFT_SCALAR_lookup:
    case WEFT_SCALAR_param:
    case WEFT_SCALAR_result:
    case WEFT_SCALAR_running:
    case WEFT_SCALAR_select:
    case WEFT_SCALAR_rarely:
    case WEFT_SCALAR_cast:
    case WEFT_SCALAR_bitcast:
    case WEFT_SCALAR_real:
    case WEFT_SCALAR_imag:
    case WEFT_SCALAR_complex: return 0;
    case WEFT_SCALAR_fma: return 2;
    default: return 1;
    }
}

static int64_t stage_work(const kernel_cost *cost, const weft_stage *stage, uint32_t buffer)
{
    (void)buffer;
    (void)cost;
    return (int64_t)stage->inst_count + stage->store_count;
}

static int64_t stage_flops(const kernel_cost *cost, const weft_stage *stage, uint32_t buffer)
{
    (void)buffer;
    const weft_kernel *kernel = cost->kernel;
    int64_t flops = 0;
    for (uint32_t i = 0; i < stage->inst_count; i++) flops += count_flops(&kernel->insts[stage->inst_first + i]);
    for (uint32_t a = 0; a < stage->accumulator_count; a++) {
        const weft_accumulator *accumulator = &kernel->accumulators[stage->accumulator_first + a];
        const weft_combiner *step = weft_accumulator_step(accumulator);
        for (uint32_t i = 0; i < step->count; i++) flops += count_flops(&step->insts[i]);
    }
    return flops;
}

static int64_t stage_accesses(const kernel_cost *cost, const weft_stage *stage, uint32_t buffer)
{
    int64_t count = 0;
    for (uint32_t i = 0; i < stage->inst_count; i++) {
        const weft_inst *inst = &cost->kernel->insts[stage->inst_first + i];
        count += inst->op == WEFT_SCALAR_load && inst->buffer == buffer;
    }
    for (uint32_t i = 0; i < stage->store_count; i++) count += stage->stores[i].buffer == buffer;
    return count;
}

static weft_expr stage_points(const kernel_cost *cost, const weft_stage *stage)
{
    weft_expr points = cost->lanes;
    for (uint32_t i = 0; i < stage->range_count; i++)
        points = weft_expr_mul(cost->exprs, points, stage->ranges[i].extent);
    return points;
}

static void add_stage(const kernel_cost *cost, const weft_stage *stage, int64_t count, weft_expr *sum)
{
    if (count == 0) return;
    weft_expr each = weft_expr_constant(cost->exprs, count);
    *sum = weft_expr_add(cost->exprs, *sum, weft_expr_mul(cost->exprs, stage_points(cost, stage), each));
}

static weft_expr at(const kernel_cost *cost, weft_expr sum, const weft_range *range, weft_expr value)
{
    weft_expr variable = range->variable;
    return weft_expr_substitute(cost->exprs, sum, 1, &variable, &value);
}

/* What the first iteration does. */
static weft_expr first_iteration(const kernel_cost *cost, weft_expr sum)
{
    weft_expr zero = weft_expr_constant(cost->exprs, 0);
    for (uint32_t i = 0; i < cost->kernel->range_count; i++) sum = at(cost, sum, &cost->kernel->ranges[i], zero);
    return sum;
}

/* What all iterations do, where those of a range are alike except for the last one, which a block may end early. */
static weft_expr all_iterations(const kernel_cost *cost, weft_expr sum)
{
    weft_expr_context *x = cost->exprs;
    weft_expr zero = weft_expr_constant(x, 0), minus_one = weft_expr_constant(x, -1);
    for (uint32_t i = cost->kernel->range_count; i-- > 0;) {
        const weft_range *range = &cost->kernel->ranges[i];
        weft_expr first = at(cost, sum, range, zero), rest = weft_expr_add(x, range->extent, minus_one);
        if (range->bind == WEFT_BIND_THREAD)
            sum = weft_expr_add(x, weft_expr_mul(x, rest, first), at(cost, sum, range, rest));
        else sum = first;
    }
    return sum;
}

static weft_status *fill_slot(const kernel_cost *cost, weft_expr sum, uint32_t *out_slot)
{
    WEFT_TRY(weft_expr_context_take_error(cost->exprs));
    return weft_expr_compile(cost->exprs, sum, &cost->builder->variant->formulas, out_slot);
}

static weft_expr sum_stages(const kernel_cost *cost,
                            int64_t (*count)(const kernel_cost *, const weft_stage *, uint32_t), uint32_t buffer)
{
    weft_expr sum = weft_expr_constant(cost->exprs, 0);
    for (uint32_t s = 0; s < cost->kernel->stage_count; s++) {
        const weft_stage *stage = &cost->kernel->stages[s];
        add_stage(cost, stage, count(cost, stage, buffer), &sum);
    }
    return sum;
}

static weft_status *fill_accesses(const kernel_cost *cost, weft_step *out_step)
{
    uint32_t count = weft_kernel_argument_count(cost->kernel);
    uint32_t *slots = weft_arena_allocate(&cost->builder->variant->arena, (count + 1) * sizeof *slots);
    if (slots == NULL) return weft_status_out_of_memory();
    for (uint32_t b = 0; b < count; b++)
        WEFT_TRY(fill_slot(cost, all_iterations(cost, sum_stages(cost, stage_accesses, b)), &slots[b]));
    out_step->accesses = slots;
    return NULL;
}

weft_status *weft_builder_fill_cost(variant_builder *builder, const weft_kernel *kernel, weft_step *out_step)
{
    weft_expr_context *x = kernel->exprs;
    weft_expr iterations = weft_expr_constant(x, 1);
    kernel_cost cost = {.builder = builder, .kernel = kernel, .exprs = x, .lanes = iterations};
    for (uint32_t i = 0; i < kernel->range_count; i++) {
        weft_expr *total = kernel->ranges[i].bind == WEFT_BIND_THREAD ? &iterations : &cost.lanes;
        *total = weft_expr_mul(x, *total, kernel->ranges[i].extent);
    }
    WEFT_TRY(fill_slot(&cost, iterations, &out_step->iterations));
    WEFT_TRY(fill_slot(&cost, first_iteration(&cost, sum_stages(&cost, stage_work, 0)), &out_step->work));
    WEFT_TRY(fill_slot(&cost, all_iterations(&cost, sum_stages(&cost, stage_flops, 0)), &out_step->flops));
    return fill_accesses(&cost, out_step);
}
