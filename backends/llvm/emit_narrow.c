/* SPDX-License-Identifier: Apache-2.0 */
/* Integers whose values fit in 16 bits, and are computed so (lib/loop/narrow.h). */
#include "backends/llvm/emit.h"
#include "backends/llvm/emit_dtype.h"
#include "lib/loop/inst.h"

static bool is_constant(const weft_emitter *e, weft_inst_id id)
{
    return e->kernel->insts[id].op == WEFT_SCALAR_const;
}

/* Constants are made where they are used, in 16 bits or not. */
static bool is_narrow(const weft_emitter *e, weft_inst_id id)
{
    return e->narrow != NULL && e->narrow[id] != WEFT_NARROW_NONE && !is_constant(e, id);
}

bool weft_narrow_computes(const weft_emitter *e, const weft_inst *inst)
{
    bool takes = inst->op == WEFT_SCALAR_cast || weft_scalar_result_of(inst->op) == WEFT_RESULT_BOOL;
    if (is_narrow(e, (weft_inst_id)(inst - e->kernel->insts))) return true;
    for (uint32_t i = 0; i < inst->arg_count && takes; i++)
        if (is_narrow(e, inst->args[i])) return true;
    return false;
}

LLVMValueRef weft_narrow_constant(const weft_emitter *e, const weft_inst *constant)
{
    return LLVMConstInt(e->i16, constant->bits, false);
}

/* Whether a value in 16 bits may be less than zero. */
static bool has_sign(const weft_emitter *e, weft_inst_id id)
{
    const weft_inst *inst = &e->kernel->insts[id];
    if (!is_constant(e, id)) return e->narrow[id] == WEFT_NARROW_SIGNED;
    return is_signed(inst->dtype) && inst->bits >> (8 * weft_dtype_size(inst->dtype) - 1) != 0;
}

/* To 16 bits, or from them. */
static LLVMValueRef emit_cast(weft_emitter *e, const weft_inst *inst, weft_dtype from, LLVMValueRef value)
{
    if (!is_narrow(e, (weft_inst_id)(inst - e->kernel->insts))) return weft_cast_emit(e, from, inst->dtype, value);
    LLVMTypeRef type = LLVMTypeOf(value);
    bool is_vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
    LLVMTypeRef narrow = is_vector ? LLVMVectorType(e->i16, LLVMGetVectorSize(type)) : e->i16;
    return LLVMBuildIntCast2(e->builder, value, narrow, is_signed(from), "");
}

LLVMValueRef weft_narrow_emit(weft_emitter *e, const weft_inst *inst, LLVMValueRef *args)
{
    weft_inst same_bits = *inst;
    bool sign = false;
    for (uint32_t i = weft_scalar_is_choice(inst->op) ? 1 : 0; i < inst->arg_count; i++)
        sign |= has_sign(e, inst->args[i]);
    weft_dtype from = sign ? WEFT_I32 : WEFT_U32; /* for the sign alone */
    if (inst->op == WEFT_SCALAR_cast) {
        bool widens = is_narrow(e, inst->args[0]);
        return emit_cast(e, inst, widens ? from : e->kernel->insts[inst->args[0]].dtype, args[0]);
    }
    if (inst->op == WEFT_SCALAR_sar && !sign) same_bits.op = WEFT_SCALAR_shr;
    return weft_scalar_emit(e, &same_bits, from, args);
}
