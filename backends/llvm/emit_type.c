/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/emit.h"
#include <string.h>

LLVMTypeRef weft_memory_type(const weft_emitter *e, weft_dtype dtype)
{
    switch (dtype) {
    case WEFT_BOOL:
    case WEFT_U8: return e->i8;
    case WEFT_F16:
    case WEFT_BF16: return e->i16; /* only their bits: arithmetic is in f32 */
    case WEFT_I32:
    case WEFT_U32: return e->i32;
    case WEFT_F32: return e->f32;
    case WEFT_F64: return e->f64;
    default: return e->i64;
    }
}

LLVMTypeRef weft_register_type(const weft_emitter *e, weft_dtype dtype)
{
    return dtype == WEFT_BOOL ? e->i1 : weft_memory_type(e, dtype);
}

LLVMTypeRef weft_vector_type(LLVMTypeRef type, uint32_t width)
{
    return width == 1 ? type : LLVMVectorType(type, width);
}

static bool is_vector(LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind;
}

LLVMValueRef weft_int(const weft_emitter *e, int64_t value)
{
    return LLVMConstInt(e->i64, (unsigned long long)value, true);
}

static LLVMValueRef repeat(LLVMValueRef constant, uint32_t width)
{
    LLVMValueRef elements[WEFT_MAX_WIDTH];
    for (uint32_t i = 0; i < width; i++) elements[i] = constant;
    return width == 1 ? constant : LLVMConstVector(elements, width);
}

LLVMValueRef weft_int_like(LLVMTypeRef type, int64_t value)
{
    if (!is_vector(type)) return LLVMConstInt(type, (unsigned long long)value, true);
    LLVMValueRef element = LLVMConstInt(LLVMGetElementType(type), (unsigned long long)value, true);
    return repeat(element, LLVMGetVectorSize(type));
}

LLVMValueRef weft_lane_steps(LLVMTypeRef type, uint32_t width, int64_t step)
{
    LLVMValueRef elements[WEFT_MAX_WIDTH];
    for (uint32_t i = 0; i < width; i++)
        elements[i] = LLVMConstInt(type, (unsigned long long)i * (unsigned long long)step, true);
    return width == 1 ? elements[0] : LLVMConstVector(elements, width);
}

LLVMValueRef weft_splat(weft_emitter *e, LLVMValueRef scalar, uint32_t width)
{
    if (width == 1) return scalar;
    if (LLVMIsConstant(scalar)) return repeat(scalar, width);
    LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), width);
    LLVMValueRef first =
        LLVMBuildInsertElement(e->builder, LLVMGetPoison(type), scalar, LLVMConstInt(e->i32, 0, false), "");
    LLVMValueRef zeros = LLVMConstNull(LLVMVectorType(e->i32, width));
    return LLVMBuildShuffleVector(e->builder, first, LLVMGetPoison(type), zeros, "");
}

LLVMValueRef weft_element(weft_emitter *e, LLVMValueRef vector, uint32_t width, uint32_t lane)
{
    if (width == 1) return vector;
    return LLVMBuildExtractElement(e->builder, vector, LLVMConstInt(e->i32, lane, false), "");
}

LLVMValueRef weft_from_memory(weft_emitter *e, weft_dtype dtype, LLVMValueRef value)
{
    if (dtype != WEFT_BOOL) return value;
    return LLVMBuildICmp(e->builder, LLVMIntNE, value, LLVMConstNull(LLVMTypeOf(value)), "");
}

LLVMValueRef weft_to_memory(weft_emitter *e, weft_dtype dtype, LLVMValueRef value)
{
    if (dtype != WEFT_BOOL) return value;
    LLVMTypeRef type = LLVMTypeOf(value);
    uint32_t width = is_vector(type) ? LLVMGetVectorSize(type) : 1;
    return LLVMBuildZExt(e->builder, value, weft_vector_type(e->i8, width), "");
}

LLVMValueRef weft_intrinsic_call(weft_emitter *e, const char *name, size_t overload_count, const LLVMTypeRef *overloads,
                                 unsigned count, LLVMValueRef *args)
{
    LLVMTypeRef types[2];
    for (size_t i = 0; i < overload_count; i++) types[i] = overloads[i];
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(e->module, id, types, overload_count);
    LLVMTypeRef type = LLVMIntrinsicGetType(e->context, id, types, overload_count);
    return LLVMBuildCall2(e->builder, type, function, args, count, "");
}
