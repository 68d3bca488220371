/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include "backends/llvm/emit.h"

/*
 * With AVX2 LLVM 19 broadcasts each constant by an instruction of its own, keeps as many as it can in the sixteen
 * registers across a loop, and moves them about there. A vector in memory that it does not take for a constant is an
 * operand of the instruction that uses it instead; nearly all constants of math functions are operands of fma. AVX-512
 * has registers enough, and operands in memory that are broadcast on the way.
 */
enum { FEW = 8 }; /* as many stay in registers */

/* Constants that are operands of fma, counted for each. */
static uint32_t count_operands(const weft_kernel *kernel)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < kernel->inst_count; i++) {
        const weft_inst *inst = &kernel->insts[i];
        if (inst->op != WEFT_SCALAR_fma) continue;
        for (uint32_t j = 0; j < inst->arg_count; j++) count += kernel->insts[inst->args[j]].op == WEFT_SCALAR_const;
    }
    return count;
}

bool weft_constants_are_stored(const weft_emitter *e)
{
    return !e->gpu && e->processor->level == WEFT_ISA_V3 && count_operands(e->kernel) > FEW;
}

/* Declared as a variable: a constant would be folded, or loaded into a register in front of the loop. */
static LLVMValueRef create_constant(weft_emitter *e, const char *name, LLVMValueRef value)
{
    LLVMValueRef global = LLVMAddGlobal(e->module, LLVMTypeOf(value), name);
    LLVMSetInitializer(global, value);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
    LLVMSetAlignment(global, 32);
    return global;
}

/* Each part has its own: a vector that is used twice would be loaded into a register. */
LLVMValueRef weft_constant_load(weft_emitter *e, const weft_inst *inst, uint32_t part)
{
    char name[256];
    size_t length;
    LLVMTypeRef type = weft_vector_type(weft_register_type(e, inst->dtype), e->lane.width);
    snprintf(name, sizeof name, "%s_%s_%" PRIx64 "_%ux%u", LLVMGetValueName2(e->function, &length),
             weft_dtype_name(inst->dtype), inst->bits, (unsigned)e->lane.width, (unsigned)part);
    LLVMValueRef global = LLVMGetNamedGlobal(e->module, name);
    if (global == NULL)
        global = create_constant(e, name, weft_splat(e, weft_constant_emit(e, inst->dtype, inst->bits), e->lane.width));
    LLVMValueRef load = LLVMBuildLoad2(e->builder, type, global, "");
    LLVMSetAlignment(load, 32);
    return load;
}
