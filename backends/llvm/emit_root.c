/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors of square roots of f64 by multiplication, from an estimate of 1 / sqrt(x), where a processor takes long for a
 * root and has little else to do meanwhile. They are rounded as roots are:
 *
 * Let s = sqrt(x), and u its last place. g, which is rounded from a number within 0.43 u of s, is one of the two
 * numbers beside s wherever s is near the middle of these. h is rounded from 1 / (2 s) (1 - (g - s) / s + c), |c| <=
 * 2^-54.8. What is rounded at last, g + h (x - g^2), where x - g^2 is exact, is off s by at most (g - s)^2 / 2 s = u^2
 * / 8 s, by u^2 / 2 s for the rounding of h, and by u^2 / 6 s for c: by 0.8 u^2 / s. But s is off each middle m by 7/8
 * u^2 / s at least: x is an even multiple of u^2, and so is m^2 less u^2 / 4. Only where these two are equal, for 1 + u
 * and 4 - 2 u times powers of four, it may be nearer; the test of roots has all of them.
 *
 * Discarded: the same for f32, where a processor takes half as long for a root: 0.9 of the time at best.
 */
#include "backends/llvm/emit.h"
#include "lib/loop/inst.h"

enum { LANES = 8 }; /* of the vectors for which it was measured */

/* By how much what divides and what computes is busy, for a vector: half cycles of Sapphire Rapids, which computes two
 * instructions in a cycle. */
enum { SINGLE_DIVISION = 20, SINGLE_ROOT = 24, DIVISION = 32, ROOT = 48, MULTIPLIED_ROOT = 19 };

typedef struct busy {
    uint32_t dividing, computing;
} busy;

static void add_inst(weft_emitter *e, const weft_inst *inst, busy *all)
{
    bool is_double = inst->dtype == WEFT_F64, is_float = is_double || inst->dtype == WEFT_F32;
    if (is_float && inst->op == WEFT_SCALAR_div) all->dividing += is_double ? DIVISION : SINGLE_DIVISION;
    else if (is_float && inst->op == WEFT_SCALAR_sqrt) all->dividing += is_double ? ROOT : SINGLE_ROOT;
    else if (inst->op != WEFT_SCALAR_load) all->computing += inst->arg_count > 0;
    else {
        /* Lanes that are not side by side are put together one by one. */
        weft_lane_stride stride = weft_index_lane_stride(e, inst->index);
        bool is_vector =
            stride.kind == WEFT_LANE_STRIDE_CONSTANT && (stride.step == 0 || stride.step == 1) && inst->arg_count == 0;
        all->computing += is_vector ? 0 : LANES;
    }
}

/* A reduction is something to do meanwhile. Counting leaves moves and constants out, half as much again. */
static bool pays(weft_emitter *e)
{
    busy all = {0};
    if (e->kernel->accumulator_count > 0) return false;
    for (weft_inst_id id = 0; id < e->kernel->inst_count; id++) add_inst(e, &e->kernel->insts[id], &all);
    uint32_t multiplied = larger(all.dividing - ROOT, all.computing + MULTIPLIED_ROOT);
    return multiplied + multiplied / 2 < larger(all.dividing, all.computing);
}

bool weft_roots_multiply(weft_emitter *e, const weft_inst *inst, const weft_emitted *value)
{
    bool is_root = inst->op == WEFT_SCALAR_sqrt && inst->dtype == WEFT_F64 && value->varying && !e->detours;
    return is_root && weft_emitter_has(e, WEFT_ISA_V4) && e->processor->slow_roots && e->lane.width % LANES == 0 &&
           pays(e);
}

/* 1 / sqrt(x), within 2^-14 of it; 0 where x is not usable, so that roots of zeros are zeros. */
static LLVMValueRef estimate(weft_emitter *e, LLVMValueRef x, LLVMValueRef usable)
{
    uint32_t width = e->lane.width;
    LLVMValueRef result = LLVMGetPoison(LLVMTypeOf(x));
    for (uint32_t first = 0; first < width; first += LANES) {
        LLVMValueRef piece = weft_lanes_slice(e, x, width, first, LANES);
        LLVMValueRef mask = weft_lanes_slice(e, usable, width, first, LANES);
        mask = LLVMBuildBitCast(e->builder, mask, e->i8, "");
        LLVMValueRef args[3] = {piece, LLVMConstNull(LLVMTypeOf(piece)), mask};
        piece = weft_intrinsic_call(e, "llvm.x86.avx512.rsqrt14.pd.512", 0, NULL, 3, args);
        result = weft_lanes_insert(e, result, piece, width, first, LANES);
    }
    return result;
}

/* c - a * b */
static LLVMValueRef subtract_product(weft_emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    return weft_multiply_add(e, LLVMBuildFNeg(e->builder, a, ""), b, c);
}

static LLVMValueRef root_of(weft_emitter *e, LLVMValueRef x, LLVMValueRef usable)
{
    LLVMValueRef y = estimate(e, x, usable), half = weft_splat(e, LLVMConstReal(e->f64, 0.5), e->lane.width);
    LLVMValueRef s = LLVMBuildFMul(e->builder, x, y, ""), h = LLVMBuildFMul(e->builder, y, half, "");
    LLVMValueRef less = subtract_product(e, s, h, half);
    y = weft_multiply_add(e, y, less, y);
    s = weft_multiply_add(e, s, less, s);
    h = LLVMBuildFMul(e->builder, y, half, "");
    LLVMValueRef g = weft_multiply_add(e, subtract_product(e, s, s, x), h, s);
    h = weft_multiply_add(e, y, subtract_product(e, g, h, half), h);
    return weft_multiply_add(e, subtract_product(e, g, g, x), h, g);
}

/* Where nothing above underflows or overflows: positive numbers from 2^-960 on. */
static LLVMValueRef is_usable(weft_emitter *e, LLVMValueRef x)
{
    static const int64_t least = (int64_t)(1023 - 960) << 52, infinity = (int64_t)2047 << 52;
    LLVMTypeRef type = weft_vector_type(e->i64, e->lane.width);
    LLVMValueRef bits = LLVMBuildBitCast(e->builder, x, type, "");
    LLVMValueRef moved = LLVMBuildSub(e->builder, bits, weft_int_like(type, least), "");
    return LLVMBuildICmp(e->builder, LLVMIntULT, moved, weft_int_like(type, infinity - least), "");
}

/* What is neither usable nor zero has a branch, for all vectors of a round. */
void weft_roots_emit(weft_emitter *e, const weft_inst *inst, weft_emitted *value)
{
    weft_emitted *x = &e->values[inst->args[0]];
    LLVMTypeRef type = LLVMTypeOf(x->parts[0]);
    LLVMValueRef others = NULL, roots[WEFT_MAX_PARTS];
    for (uint32_t part = 0; part < e->lane.parts; part++) {
        LLVMValueRef usable = is_usable(e, x->parts[part]);
        LLVMValueRef nonzero = LLVMBuildFCmp(e->builder, LLVMRealUNE, x->parts[part], LLVMConstNull(type), "");
        LLVMValueRef other = LLVMBuildAnd(e->builder, LLVMBuildNot(e->builder, usable, ""), nonzero, "");
        others = others == NULL ? other : LLVMBuildOr(e->builder, others, other, "");
        value->parts[part] = root_of(e, x->parts[part], usable);
    }
    weft_detour detour;
    weft_detour_open(e, value->level, weft_any_lane(e, others), &detour);
    for (uint32_t part = 0; part < e->lane.parts; part++)
        roots[part] = weft_intrinsic_call(e, "llvm.sqrt", 1, &type, 1, &x->parts[part]);
    weft_detour_close(e, value->level, &detour);
    weft_detour_merge(e, &detour, e->lane.parts, roots, value->parts);
}
