/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include "backends/llvm/emit.h"

/*
 * With AVX2 LLVM 19 broadcasts each constant by an instruction of its own, keeps as many as it can in the sixteen
 * registers across a loop, and moves them about there. A vector in memory that it does not take for a constant is an
 * operand of the instruction that uses it instead; nearly all constants of math functions are operands of fma. With
 * AVX-512 it is a number, which is broadcast on the way, and there are registers enough for most kernels; where there
 * are not, LLVM takes long to choose what to keep.
 */

static uint32_t registers_of(const weft_table *table)
{
    uint32_t size = table->rows * (uint32_t)weft_dtype_size(table->dtype);
    return table->rows <= WEFT_TABLE_REGISTER_ROWS ? size / 32 : 0;
}

/* Constants that are operands of fma, counted for each, and registers that a column of a table takes, of 32 bytes. */
static uint32_t count_operands(const weft_kernel *kernel)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < kernel->inst_count; i++) {
        const weft_inst *inst = &kernel->insts[i];
        if (inst->op == WEFT_SCALAR_lookup) count += registers_of(weft_table_of(inst->buffer));
        if (inst->op != WEFT_SCALAR_fma) continue;
        for (uint32_t j = 0; j < inst->arg_count; j++) count += kernel->insts[inst->args[j]].op == WEFT_SCALAR_const;
    }
    return count;
}

/* So many stay in registers. */
static uint32_t most_in_registers(const weft_emitter *e)
{
    enum { AVX2 = 8, AVX512 = 32 };
    if (e->gpu) return UINT32_MAX;
    return e->processor->level == WEFT_ISA_V3 ? AVX2 : e->processor->level == WEFT_ISA_V4 ? AVX512 : UINT32_MAX;
}

bool weft_constants_are_stored(const weft_emitter *e)
{
    return count_operands(e->kernel) > most_in_registers(e);
}

/* Declared as a variable: a constant would be folded, or loaded into a register in front of the loop. */
static LLVMValueRef create_constant(weft_emitter *e, const char *name, LLVMValueRef value, unsigned alignment)
{
    LLVMValueRef global = LLVMAddGlobal(e->module, LLVMTypeOf(value), name);
    LLVMSetInitializer(global, value);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
    LLVMSetAlignment(global, alignment);
    return global;
}

/* Each part has its own: a vector that is used twice would be loaded into a register. */
LLVMValueRef weft_constant_load(weft_emitter *e, const weft_inst *inst, uint32_t part)
{
    char name[256];
    size_t length;
    uint32_t stored = weft_emitter_has(e, WEFT_ISA_V4) ? 1 : e->lane.width; /* elements in memory */
    unsigned alignment = stored == 1 ? (unsigned)weft_dtype_size(inst->dtype) : 32;
    snprintf(name, sizeof name, "%s_%s_%" PRIx64 "_%ux%u", LLVMGetValueName2(e->function, &length),
             weft_dtype_name(inst->dtype), inst->bits, (unsigned)stored, (unsigned)part);
    LLVMValueRef global = LLVMGetNamedGlobal(e->module, name);
    if (global == NULL) {
        LLVMValueRef value = weft_splat(e, weft_constant_emit(e, inst->dtype, inst->bits), stored);
        global = create_constant(e, name, value, alignment);
    }
    LLVMTypeRef type = weft_vector_type(weft_register_type(e, inst->dtype), stored);
    LLVMValueRef load = LLVMBuildLoad2(e->builder, type, global, "");
    LLVMSetAlignment(load, alignment);
    return stored == 1 ? weft_splat(e, load, e->lane.width) : load;
}
