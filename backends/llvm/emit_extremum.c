/* SPDX-License-Identifier: Apache-2.0 */
/* The greater or lesser of two numbers. */
#include <math.h>
#include "backends/llvm/emit.h"

/* Whether each lane is known, and neither NaN nor one of the two zeros. */
static bool is_number(LLVMValueRef value)
{
    if (!LLVMIsConstant(value)) return false;
    bool vector = LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind;
    uint32_t width = vector ? LLVMGetVectorSize(LLVMTypeOf(value)) : 1;
    for (uint32_t i = 0; i < width; i++) {
        LLVMValueRef lane = vector ? LLVMGetAggregateElement(value, i) : value;
        LLVMBool inexact;
        if (lane == NULL || LLVMIsAConstantFP(lane) == NULL) return false;
        double number = LLVMConstRealGetDouble(lane, &inexact);
        if (isnan(number) || number == 0) return false;
    }
    return true;
}

/* Of a number and what may be NaN: one instruction of x86. */
static LLVMValueRef extremum_of_number(weft_emitter *e, bool greatest, LLVMValueRef number, LLVMValueRef other)
{
    LLVMValueRef better = LLVMBuildFCmp(e->builder, greatest ? LLVMRealOGT : LLVMRealOLT, number, other, "");
    return LLVMBuildSelect(e->builder, better, number, other, "");
}

/* Where x86 has vectors like these, a > b ? a : b or a < b ? a : b as one instruction, which nothing looks through;
 * else NULL. */
static LLVMValueRef emit_x86_extremum(weft_emitter *e, bool greatest, LLVMValueRef a, LLVMValueRef b)
{
    static const char *const names[3][2][2] = {
        {{"llvm.x86.sse.min.ps", "llvm.x86.sse.max.ps"}, {"llvm.x86.sse2.min.pd", "llvm.x86.sse2.max.pd"}},
        {{"llvm.x86.avx.min.ps.256", "llvm.x86.avx.max.ps.256"},
         {"llvm.x86.avx.min.pd.256", "llvm.x86.avx.max.pd.256"}},
        {{"llvm.x86.avx512.min.ps.512", "llvm.x86.avx512.max.ps.512"},
         {"llvm.x86.avx512.min.pd.512", "llvm.x86.avx512.max.pd.512"}}};
    static const weft_isa levels[3] = {WEFT_ISA_V2, WEFT_ISA_V3, WEFT_ISA_V4};
    LLVMTypeRef type = LLVMTypeOf(a);
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return NULL;
    bool is_double = LLVMGetElementType(type) == e->f64;
    unsigned bytes = LLVMGetVectorSize(type) * (is_double ? sizeof(double) : sizeof(float)), size = 0;
    while (size < 3 && bytes != 16u << size) size++;
    if (size == 3 || !weft_emitter_has(e, levels[size])) return NULL;
    LLVMValueRef args[3] = {a, b, LLVMConstInt(e->i32, WEFT_CURRENT_ROUNDING, false)};
    return weft_intrinsic_call(e, names[size][is_double][greatest], 0, NULL, bytes == 64 ? 3 : 2, args);
}

LLVMValueRef weft_extremum_of_numbers(weft_emitter *e, bool greatest, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef picked = emit_x86_extremum(e, greatest, a, b);
    return picked != NULL ? picked : extremum_of_number(e, greatest, a, b);
}

LLVMValueRef weft_extremum_emit(weft_emitter *e, bool greatest, LLVMValueRef a, LLVMValueRef b)
{
    if (is_number(b)) return extremum_of_number(e, greatest, b, a);
    if (is_number(a)) return extremum_of_number(e, greatest, a, b);
    LLVMValueRef is_nan = LLVMBuildFCmp(e->builder, LLVMRealUNO, a, a, "");
    LLVMValueRef picked = emit_x86_extremum(e, greatest, a, b);
    if (picked != NULL) return LLVMBuildSelect(e->builder, is_nan, a, picked, "");
    LLVMValueRef better = LLVMBuildFCmp(e->builder, greatest ? LLVMRealOGT : LLVMRealOLT, a, b, "");
    /* The other way round, is_nan around better, LLVM 19 makes x > 0 ? |x| : 0 of the maximum of |x| and 0. */
    LLVMValueRef rest = LLVMBuildSelect(e->builder, is_nan, a, b, "");
    return LLVMBuildSelect(e->builder, better, a, rest, "");
}

static LLVMValueRef integer_extremum(weft_emitter *e, bool is_signed, bool greatest, LLVMValueRef a, LLVMValueRef b)
{
    static const LLVMIntPredicate orders[2][2] = {{LLVMIntULT, LLVMIntUGT}, {LLVMIntSLT, LLVMIntSGT}};
    LLVMValueRef better = LLVMBuildICmp(e->builder, orders[is_signed][greatest], a, b, "");
    return LLVMBuildSelect(e->builder, better, a, b, "");
}

/* What is loaded, as a lane of `type` where it is loaded: no register of integers is in between, in no block. */
static LLVMValueRef loaded_lane(weft_emitter *e, LLVMTypeRef type, LLVMValueRef load)
{
    LLVMBasicBlockRef block = LLVMGetInsertBlock(e->builder);
    LLVMPositionBuilder(e->builder, LLVMGetInstructionParent(load), LLVMGetNextInstruction(load));
    LLVMValueRef lane = weft_element_insert(e, LLVMGetPoison(type), load, 0);
    LLVMValueRef terminator = LLVMGetBasicBlockTerminator(block);
    if (terminator != NULL) LLVMPositionBuilderBefore(e->builder, terminator);
    else LLVMPositionBuilderAtEnd(e->builder, block);
    return lane;
}

/* Of two single numbers from memory, where x86 has an instruction for lanes of vectors like these. */
static LLVMValueRef extremum_in_lane(weft_emitter *e, bool is_signed, bool greatest, LLVMValueRef a, LLVMValueRef b)
{
    static const char *const names[2][2] = {{"llvm.umin", "llvm.umax"}, {"llvm.smin", "llvm.smax"}};
    LLVMTypeRef type = weft_vector_type(LLVMTypeOf(a), LLVMTypeOf(a) == e->i32 ? 4 : 2);
    LLVMValueRef lanes[2] = {loaded_lane(e, type, a), loaded_lane(e, type, b)};
    LLVMValueRef picked = weft_intrinsic_call(e, names[is_signed][greatest], 1, &type, 2, lanes);
    return weft_element(e, picked, LLVMGetVectorSize(type), 0);
}

LLVMValueRef weft_extremum_of_integers(weft_emitter *e, bool is_signed, bool greatest, LLVMValueRef a, LLVMValueRef b)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    bool has_vectors =
        (type == e->i32 && weft_emitter_has(e, WEFT_ISA_V2)) || (type == e->i64 && weft_emitter_has(e, WEFT_ISA_V4));
    bool are_loads = LLVMIsALoadInst(a) != NULL && LLVMIsALoadInst(b) != NULL;
    return (has_vectors && are_loads ? extremum_in_lane : integer_extremum)(e, is_signed, greatest, a, b);
}
