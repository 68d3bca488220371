/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of bf16. A bf16 is the upper half of an f32, so a vector of pairs is two vectors of f32 by a shift and a mask,
 * of even and of odd elements, where vectors of elements side by side take a shuffle and a shift each, and a load; and
 * two vectors of f32 are one of pairs by a shift and a choice of halves. Whole rounds, in which nothing but such loads
 * and stores asks which element a lane has, run so: lanes of two parts change places. Accumulators of a reduction along
 * lanes change theirs with them, and go back after the loop.
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

static bool is_pairs(const weft_emitter *e, weft_dtype dtype, weft_expr index, weft_expr lanes)
{
    weft_expr step, rest;
    return dtype == WEFT_BF16 && weft_expr_affine(e->exprs, index, lanes, &step, &rest) &&
           step == weft_expr_constant(e->exprs, 1);
}

static bool loads_pairs(const weft_emitter *e, const weft_inst *inst, weft_expr lanes)
{
    return inst->op == WEFT_SCALAR_load && inst->arg_count == 0 && inst->predicate_count == 0 &&
           is_pairs(e, inst->dtype, inst->index, lanes);
}

static bool inst_fits(const weft_emitter *e, const weft_inst *inst, weft_expr lanes)
{
    if (weft_inst_has_effect(inst) || weft_dtype_info_of(inst->dtype)->kind == WEFT_KIND_COMPLEX) return false;
    if (loads_pairs(e, inst, lanes)) return true;
    bool is_indirect = inst->op == WEFT_SCALAR_load && inst->arg_count != 0;
    return !is_indirect && !asks_for_element(e, inst, lanes);
}

static bool store_fits(const weft_emitter *e, const weft_store *store, weft_expr lanes)
{
    return !store->is_indirect && store->predicate_count == 0 &&
           is_pairs(e, e->kernel->buffers[store->buffer].dtype, store->index, lanes);
}

/* *converts: whether f32 are made of pairs. */
static bool stage_fits(const weft_emitter *e, const weft_stage *stage, weft_expr lanes, bool *converts)
{
    for (uint32_t i = 0; i < stage->inst_count; i++) {
        const weft_inst *inst = &e->kernel->insts[stage->inst_first + i];
        if (!inst_fits(e, inst, lanes)) return false;
        *converts |= inst->op == WEFT_SCALAR_cast && loads_pairs(e, &e->kernel->insts[inst->args[0]], lanes);
    }
    for (uint32_t i = 0; i < stage->store_count; i++)
        if (!store_fits(e, &stage->stores[i], lanes)) return false;
    return true;
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

static bool reduction_fits(const weft_emitter *e, const weft_stage *stage, const weft_range *range, uint32_t parts)
{
    enum { ROUNDS = 4 }; /* fewer are not worth bringing lanes back */
    int64_t least, most;
    weft_expr_range(e->exprs, range->extent, &least, &most);
    return e->reduction.along_lanes && !e->reduction.scans && has_float_accumulators(e, stage) &&
           parts == range->unroll && most >= ROUNDS * (int64_t)range->width * parts;
}

bool weft_pairs_fit(const weft_emitter *e, const weft_stage *stage, const weft_range *range, uint32_t parts)
{
    bool converts = false;
    uint32_t count = stage == NULL ? e->kernel->stage_count : 1;
    if (parts % 2 != 0 || range->width == 1) return false;
    if (stage != NULL && stage->accumulator_count != 0 && !reduction_fits(e, stage, range, parts)) return false;
    for (uint32_t i = 0; i < count; i++)
        if (!stage_fits(e, stage == NULL ? &e->kernel->stages[i] : stage, range->variable, &converts)) return false;
    return converts;
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

LLVMValueRef weft_pairs_join(weft_emitter *e, LLVMValueRef evens, LLVMValueRef odds)
{
    LLVMTypeRef words = weft_vector_type(e->i32, e->lane.width);
    LLVMValueRef high = LLVMBuildZExt(e->builder, odds, words, "");
    high = LLVMBuildShl(e->builder, high, weft_int_like(words, 16), "");
    LLVMValueRef pairs = LLVMBuildOr(e->builder, high, LLVMBuildZExt(e->builder, evens, words, ""), "");
    return LLVMBuildBitCast(e->builder, pairs, weft_vector_type(e->i16, 2 * e->lane.width), "");
}
