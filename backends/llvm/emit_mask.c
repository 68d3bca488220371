/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of which masks leave nothing: those past the end of a range, and what a comparison of positions hides, as
 * scores after the diagonal. */
#include "backends/llvm/emit.h"
#include "lib/loop/inst.h"

/* ---- past the end ---- */

/* Elements that lie side by side from lane to lane, or are one. */
static bool is_regular(weft_emitter *e, const weft_inst *load, weft_expr lanes)
{
    weft_expr step, rest;
    return load->arg_count == 0 && load->predicate_count == 0 &&
           weft_expr_affine(e->exprs, load->index, lanes, &step, &rest) &&
           (step == weft_expr_constant(e->exprs, 0) || step == weft_expr_constant(e->exprs, 1));
}

/* Sums and products: extrema, which ask for NaN, take longer than the vectors that are left out. */
static bool is_short_step(const weft_accumulator *accumulator)
{
    const weft_combiner *step = weft_accumulator_step(accumulator);
    for (uint32_t i = 0; i < step->count; i++) {
        weft_scalar_op op = step->insts[i].op;
        bool is_arithmetic = op == WEFT_SCALAR_add || op == WEFT_SCALAR_mul || op == WEFT_SCALAR_fma;
        if (step->insts[i].arg_count != 0 && !is_arithmetic) return false;
    }
    return true;
}

/* One of two, with few instructions. */
bool weft_mask_may_be_empty(weft_emitter *e, const weft_stage *stage, const weft_range *range)
{
    enum { MOST = 8 };
    uint32_t count = 0;
    if (range->unroll > 2 || !weft_emitter_has(e, WEFT_ISA_V4)) return false;
    for (uint32_t i = 0; i < stage->accumulator_count; i++)
        if (!is_short_step(&e->kernel->accumulators[stage->accumulator_first + i])) return false;
    for (uint32_t i = 0; i < stage->inst_count; i++) {
        const weft_inst *inst = &e->kernel->insts[stage->inst_first + i];
        if (inst->op == WEFT_SCALAR_rarely || inst->op == WEFT_SCALAR_running) return false;
        if (inst->op == WEFT_SCALAR_load && !is_regular(e, inst, range->variable)) return false;
        count += inst->op != WEFT_SCALAR_const;
    }
    return count <= MOST && stage->store_count == 0;
}

/* ---- hidden by a comparison ---- */

static bool is_choice_of(const weft_emitter *e, const weft_inst *inst, const weft_inst *mask)
{
    return weft_scalar_is_choice(inst->op) && &e->kernel->insts[inst->args[0]] == mask;
}

/* Whether the comparison is false from an element on, and decides what becomes of elements; *out_seen: that element. */
static bool hides(weft_emitter *e, const weft_stage *stage, const weft_inst *mask, weft_expr column,
                  weft_expr *out_seen)
{
    weft_expr step, rest, one = weft_expr_constant(e->exprs, 1);
    if (weft_scalar_result_of(mask->op) != WEFT_RESULT_BOOL || mask->arg_count != 2) return false;
    weft_expr margin = weft_inst_margin(e->kernel, mask);
    if (margin == WEFT_EXPR_NONE || !weft_expr_affine(e->exprs, margin, column, &step, &rest)) return false;
    if (step != weft_expr_constant(e->exprs, -1)) return false;
    *out_seen = weft_expr_add(e->exprs, rest, one);
    for (uint32_t i = 0; i < stage->inst_count; i++)
        if (is_choice_of(e, &e->kernel->insts[stage->inst_first + i], mask)) return true;
    return false;
}

const weft_inst *weft_mask_find(weft_emitter *e, const weft_stage *stage, const weft_range *range, weft_expr *out_seen)
{
    int64_t least, most;
    weft_expr_range(e->exprs, range->extent, &least, &most);
    if (e->gpu || !weft_emitter_has(e, WEFT_ISA_V4) || most < 2 * (int64_t)range->width * range->unroll) return NULL;
    for (uint32_t i = 0; i < stage->inst_count; i++) {
        const weft_inst *inst = &e->kernel->insts[stage->inst_first + i];
        if (hides(e, stage, inst, range->variable, out_seen)) return inst;
    }
    return NULL;
}

LLVMValueRef weft_mask_limit(weft_emitter *e, const weft_range *range, weft_expr seen, LLVMValueRef start,
                             LLVMValueRef limit)
{
    int64_t round = (int64_t)range->width * range->unroll;
    LLVMValueRef count = weft_index_emit(e, seen, 0);
    weft_scope_move(e, weft_scope_top(e));
    LLVMValueRef rounds = LLVMBuildAdd(e->builder, count, weft_int(e, round - 1), "");
    rounds = LLVMBuildAnd(e->builder, rounds, weft_int(e, -round), "");
    LLVMValueRef above = LLVMBuildICmp(e->builder, LLVMIntSGT, rounds, start, "");
    rounds = LLVMBuildSelect(e->builder, above, rounds, start, "");
    LLVMValueRef below = LLVMBuildICmp(e->builder, LLVMIntSLT, rounds, limit, "");
    return LLVMBuildSelect(e->builder, below, rounds, limit, "");
}

/* Whether the accumulator begins with what it takes in where the mask hides, which leaves an extremum as it is. */
static bool stays(const weft_emitter *e, const weft_accumulator *accumulator, const weft_inst *mask)
{
    const weft_inst *insts = e->kernel->insts, *value = &insts[accumulator->values[0]];
    if (!weft_reduce_is_extremum(accumulator) || accumulator->value_count != 1) return false;
    if (!is_choice_of(e, value, mask)) return false;
    const weft_inst *other = &insts[value->args[2]];
    return other->op == WEFT_SCALAR_const && other->bits == accumulator->init[0];
}

bool weft_mask_leaves(const weft_emitter *e, const weft_stage *stage, const weft_inst *mask)
{
    bool leaves = stage->store_count > 0;
    for (uint32_t i = 0; i < stage->inst_count; i++)
        leaves |= weft_inst_has_effect(&e->kernel->insts[stage->inst_first + i]);
    for (uint32_t i = 0; i < stage->accumulator_count; i++)
        leaves |= !stays(e, &e->kernel->accumulators[stage->accumulator_first + i], mask);
    return leaves;
}

bool weft_mask_emit(weft_emitter *e, const weft_inst *inst, weft_emitted *value)
{
    bool is_mask = inst == e->hidden;
    if (e->hidden == NULL || (!is_mask && !is_choice_of(e, inst, e->hidden))) return false;
    for (uint32_t part = 0; part < e->lane.parts; part++)
        value->parts[part] = is_mask ? LLVMConstNull(weft_vector_type(e->i1, e->lane.width))
                                     : weft_operand_part(e, inst, 2, part, value);
    return true;
}
