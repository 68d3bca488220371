/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of bf16. A bf16 is the upper half of an f32, so a vector of pairs is two vectors of f32 by a shift and a mask,
 * of even and of odd elements, where vectors of elements side by side take a shuffle and a shift each, and a load. A
 * reduction along lanes, in which nothing but such loads asks which element a lane has, runs so: lanes of two parts
 * change places, accumulators with them, and go back to theirs behind the loop.
 */
#include "backends/llvm/emit.h"
#include "lib/loop/inst.h"

static bool uses(const weft_emitter *e, weft_expr expr, weft_expr lanes)
{
    return expr != WEFT_EXPR_NONE && weft_expr_uses(e->exprs, expr, lanes);
}

static bool asks_for_element(const weft_emitter *e, const weft_inst *inst, weft_expr lanes)
{
    bool asks = uses(e, inst->index, lanes) || uses(e, inst->position, lanes);
    for (uint32_t i = 0; i < inst->predicate_count; i++) asks |= uses(e, inst->predicates[i], lanes);
    return asks;
}

static bool loads_pairs(const weft_emitter *e, const weft_inst *inst, weft_expr lanes)
{
    weft_expr step, rest;
    return inst->op == WEFT_SCALAR_load && inst->dtype == WEFT_BF16 && inst->arg_count == 0 &&
           inst->predicate_count == 0 && weft_expr_affine(e->exprs, inst->index, lanes, &step, &rest) &&
           step == weft_expr_constant(e->exprs, 1);
}

static bool has_float_accumulators(const weft_emitter *e, const weft_stage *stage)
{
    for (uint32_t a = 0; a < stage->accumulator_count; a++) {
        const weft_accumulator *accumulator = weft_reduce_accumulator(e, a);
        for (uint32_t c = 0; c < accumulator->width; c++)
            if (weft_dtype_info_of(accumulator->dtypes[c])->kind != WEFT_KIND_FLOAT) return false;
    }
    return true;
}

bool weft_pairs_fit(const weft_emitter *e, const weft_stage *stage, const weft_range *range, uint32_t parts)
{
    enum { ROUNDS = 4 }; /* fewer are not worth bringing lanes back */
    int64_t least, most;
    bool loads = false;
    weft_expr_range(e->exprs, range->extent, &least, &most);
    if (parts != range->unroll || parts % 2 != 0 || range->width == 1) return false;
    if (most < ROUNDS * (int64_t)range->width * parts) return false;
    if (!e->reduction.along_lanes || e->reduction.scans || stage->store_count != 0) return false;
    for (uint32_t i = 0; i < stage->inst_count; i++) {
        const weft_inst *inst = &e->kernel->insts[stage->inst_first + i];
        bool is_pairs = loads_pairs(e, inst, range->variable);
        if (weft_inst_has_effect(inst) || weft_dtype_info_of(inst->dtype)->kind == WEFT_KIND_COMPLEX) return false;
        if (!is_pairs && asks_for_element(e, inst, range->variable)) return false;
        loads |= is_pairs;
    }
    return loads && has_float_accumulators(e, stage);
}

static void swap_lanes(weft_emitter *e, LLVMValueRef *vectors, uint32_t width, bool apart)
{
    uint32_t lanes[2][WEFT_MAX_WIDTH];
    LLVMValueRef both[2] = {vectors[0], vectors[1]};
    for (uint32_t i = 0; i < 2 * width; i++) {
        if (apart) lanes[i % 2][i / 2] = i;
        else lanes[i / width][i % width] = i % 2 * width + i / 2;
    }
    for (int i = 0; i < 2; i++) vectors[i] = weft_lanes_shuffle(e, both[0], both[1], width, lanes[i]);
}

void weft_pairs_move(weft_emitter *e, bool apart)
{
    weft_scope_move(e, weft_scope_top(e));
    for (size_t i = 0; i < e->carried_count; i += 2) swap_lanes(e, &e->carried[i], e->reduction.width, apart);
}

void weft_pairs_split(weft_emitter *e, LLVMValueRef pointer, LLVMValueRef *out_parts)
{
    LLVMTypeRef words = weft_vector_type(e->i32, e->lane.width), elements = weft_vector_type(e->i16, e->lane.width);
    LLVMValueRef pairs = LLVMBuildLoad2(e->builder, words, pointer, "");
    LLVMSetAlignment(pairs, weft_dtype_info_of(WEFT_BF16)->alignment);
    out_parts[0] = LLVMBuildTrunc(e->builder, pairs, elements, "");
    LLVMValueRef odd = LLVMBuildLShr(e->builder, pairs, weft_int_like(words, 16), "");
    out_parts[1] = LLVMBuildTrunc(e->builder, odd, elements, "");
}
