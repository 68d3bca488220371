/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes whose places are data, where a processor has no fast gathers: loaded one by one, by a function beside the
 * kernel. Four vectors of sixteen lanes are more than three hundred instructions, and searches load as many in each
 * step.
 */
#include <stdio.h>
#include "backends/llvm/emit_access.h"
#include "lib/loop/inst.h"

/* Loads from places that data give. */
static uint32_t count_loads(const weft_emitter *e)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < e->kernel->inst_count; i++)
        count += e->kernel->insts[i].op == WEFT_SCALAR_load && e->kernel->insts[i].arg_count != 0;
    return count;
}

/* Whether lanes that are masked off may be loaded as well. */
static bool is_always_inside(const weft_emitter *e, weft_inst_id offset)
{
    const weft_inst *inst = &e->kernel->insts[offset];
    return weft_scalar_is_check(inst->op) && weft_kernel_is_inside(e->kernel, e->intervals, inst->args[0], inst->index);
}

/* Where all lanes take part, each at its own distance from one pointer. A few loads are up to 1.12 times as fast where
 * they stand. */
bool weft_lanes_are_called(const weft_emitter *e, const weft_access *access, weft_inst_id offset)
{
    enum { MANY = 4, WORD = 64 };
    bool is_still = access->step.kind == WEFT_LANE_STRIDE_CONSTANT && access->step.step == 0;
    bool takes_all = !access->condition.varying && access->condition.scalar == NULL &&
                     (e->lane.mask == NULL || is_always_inside(e, offset));
    bool fits = e->lane.width > 1 && e->lane.width * access->offset_bits % WORD == 0;
    return offset_varies(access) && is_still && takes_all && fits && !e->gpu && count_loads(e) >= MANY;
}

/* (pointer, offsets) to a vector. */
static LLVMValueRef create(weft_emitter *e, const weft_access *access, const char *name, LLVMTypeRef type)
{
    LLVMBuilderRef outer = e->builder;
    LLVMValueRef function = LLVMAddFunction(e->module, name, type), vector = LLVMGetPoison(LLVMGetReturnType(type));
    LLVMSetLinkage(function, LLVMInternalLinkage);
    weft_function_decorate(e, function);
    e->builder = LLVMCreateBuilderInContext(e->context);
    LLVMPositionBuilderAtEnd(e->builder, LLVMAppendBasicBlockInContext(e->context, function, ""));
    for (uint32_t lane = 0; lane < e->lane.width; lane++) {
        LLVMValueRef offset = weft_access_load_offset(e, access, LLVMGetParam(function, 1), lane);
        LLVMValueRef from = offset_pointer(e, access->type, LLVMGetParam(function, 0), offset);
        LLVMValueRef element = aligned(LLVMBuildLoad2(e->builder, access->type, from, ""), access->dtype);
        vector = weft_element_insert(e, vector, element, lane);
    }
    LLVMBuildRet(e->builder, vector);
    LLVMDisposeBuilder(e->builder);
    e->builder = outer;
    return function;
}

LLVMValueRef weft_lanes_call(weft_emitter *e, weft_access *access, uint32_t buffer, uint32_t part)
{
    char name[64];
    LLVMValueRef args[2] = {weft_access_part_pointer(e, access, buffer, part), weft_access_offsets(e, access, part)};
    LLVMTypeRef vector = weft_vector_type(access->type, e->lane.width);
    LLVMTypeRef type = LLVMFunctionType(vector, (LLVMTypeRef[]){e->pointer, e->pointer}, 2, false);
    snprintf(name, sizeof name, "weft_local_lanes_%s_%u_%u%s", weft_dtype_name(access->dtype), (unsigned)e->lane.width,
             (unsigned)access->offset_bits, e->processor->suffix);
    LLVMValueRef function = LLVMGetNamedFunction(e->module, name);
    if (function == NULL) function = create(e, access, name, type);
    return LLVMBuildCall2(e->builder, type, function, args, 2, "");
}
