/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/emit.h"

static bool holds_always(weft_emitter *e, weft_expr predicate)
{
    return weft_expr_always_nonnegative(e->exprs, predicate);
}

uint32_t weft_predicates_level(weft_emitter *e, uint32_t count, const weft_expr *predicates)
{
    uint32_t level = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t of_predicate = holds_always(e, predicates[i]) ? 0 : weft_index_level(e, predicates[i]);
        if (of_predicate > level) level = of_predicate;
    }
    return level;
}

bool weft_predicates_vary(weft_emitter *e, uint32_t count, const weft_expr *predicates)
{
    for (uint32_t i = 0; i < count; i++)
        if (weft_index_varies(e, predicates[i]) && !holds_always(e, predicates[i])) return true;
    return false;
}

LLVMValueRef weft_condition_both(weft_emitter *e, LLVMValueRef a, LLVMValueRef b)
{
    if (a == NULL || b == NULL) return a == NULL ? b : a;
    return LLVMBuildAnd(e->builder, a, b, "");
}

static LLVMValueRef clamp(weft_emitter *e, LLVMValueRef value, int64_t low, int64_t high)
{
    LLVMValueRef floor = weft_int(e, low), ceiling = weft_int(e, high);
    LLVMValueRef above = LLVMBuildICmp(e->builder, LLVMIntSGT, value, floor, "");
    value = LLVMBuildSelect(e->builder, above, value, floor, "");
    LLVMValueRef below = LLVMBuildICmp(e->builder, LLVMIntSLT, value, ceiling, "");
    return LLVMBuildSelect(e->builder, below, value, ceiling, "");
}

static LLVMValueRef compare_lanes(weft_emitter *e, LLVMTypeRef type, LLVMIntPredicate predicate, LLVMValueRef count)
{
    uint32_t width = e->lane.width;
    LLVMValueRef limit = weft_splat(e, LLVMBuildTrunc(e->builder, count, type, ""), width);
    return LLVMBuildICmp(e->builder, predicate, weft_lane_steps(type, width, 1), limit, "");
}

LLVMValueRef weft_mask_below(weft_emitter *e, LLVMValueRef count)
{
    return compare_lanes(e, e->i32, LLVMIntSLT, count);
}

/* Many lanes hold short elements: their numbers, and the count, fit into bytes. */
static LLVMValueRef compare_clamped(weft_emitter *e, LLVMIntPredicate predicate, LLVMValueRef count)
{
    return compare_lanes(e, e->lane.width < 16 ? e->i32 : e->i8, predicate, clamp(e, count, 0, e->lane.width));
}

/* Whether numbers near those of the expression fit 32 bits, in vectors of which LLVM makes one comparison. */
static bool is_small(weft_emitter *e, weft_expr expr)
{
    int64_t least, most, bound = INT64_C(1) << 30;
    weft_expr_range(e->exprs, expr, &least, &most);
    return weft_emitter_has(e, WEFT_ISA_V4) && e->lane.width <= 16 && least > -bound && most < bound;
}

/* The lanes of a part where first + lane >= 0. */
static LLVMValueRef mask_from(weft_emitter *e, LLVMValueRef first)
{
    return compare_clamped(e, LLVMIntSGE, LLVMBuildNeg(e->builder, first, ""));
}

/* Where a predicate that depends on the lane holds. Steps of one need no vectors of 64-bit integers. */
static LLVMValueRef predicate_mask(weft_emitter *e, uint32_t level, weft_expr predicate, uint32_t part)
{
    weft_lane_stride step = weft_index_lane_stride(e, predicate);
    bool unit = step.kind == WEFT_LANE_STRIDE_CONSTANT && step.step >= -1 && step.step <= 1;
    LLVMValueRef value = unit ? weft_index_emit(e, predicate, part) : weft_index_lanes(e, predicate, part);
    weft_scope_move(e, level);
    bool small = unit && is_small(e, predicate);
    if (small && step.step == 1) return compare_lanes(e, e->i32, LLVMIntSGE, LLVMBuildNeg(e->builder, value, ""));
    if (small && step.step == -1) return compare_lanes(e, e->i32, LLVMIntSLE, value);
    if (unit && step.step == 1) return mask_from(e, value);
    if (unit && step.step == -1)
        return compare_clamped(e, LLVMIntSLT, LLVMBuildAdd(e->builder, value, weft_int(e, 1), ""));
    LLVMValueRef holds = LLVMBuildICmp(e->builder, LLVMIntSGE, value, LLVMConstNull(LLVMTypeOf(value)), "");
    return unit ? weft_splat(e, holds, e->lane.width) : holds;
}

void weft_condition_emit(weft_emitter *e, uint32_t level, uint32_t count, const weft_expr *predicates,
                         weft_condition *out_condition)
{
    *out_condition = (weft_condition){.varying = weft_predicates_vary(e, count, predicates)};
    for (uint32_t i = 0; i < count; i++) {
        if (holds_always(e, predicates[i])) continue;
        if (!weft_index_varies(e, predicates[i])) {
            LLVMValueRef value = weft_index_emit(e, predicates[i], 0);
            weft_scope_move(e, level);
            LLVMValueRef holds = LLVMBuildICmp(e->builder, LLVMIntSGE, value, weft_int(e, 0), "");
            out_condition->scalar = weft_condition_both(e, out_condition->scalar, holds);
            continue;
        }
        for (uint32_t part = 0; part < e->lane.parts; part++) {
            LLVMValueRef mask = predicate_mask(e, level, predicates[i], part);
            out_condition->masks[part] = weft_condition_both(e, out_condition->masks[part], mask);
        }
    }
}
