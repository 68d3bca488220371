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
    case WEFT_C64: return LLVMVectorType(e->f32, 2);
    case WEFT_C128: return LLVMVectorType(e->f64, 2);
    default: return e->i64;
    }
}

LLVMTypeRef weft_register_type(const weft_emitter *e, weft_dtype dtype)
{
    return dtype == WEFT_BOOL ? e->i1 : weft_memory_type(e, dtype);
}

static bool is_vector(LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind;
}

/* Numbers that an element of `type` consists of: two for a complex one. */
static uint32_t parts_of(LLVMTypeRef type)
{
    return is_vector(type) ? LLVMGetVectorSize(type) : 1;
}

LLVMTypeRef weft_vector_type(LLVMTypeRef type, uint32_t width)
{
    if (width == 1) return type;
    LLVMTypeRef number = is_vector(type) ? LLVMGetElementType(type) : type;
    return LLVMVectorType(number, width * parts_of(type));
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

/* A vector of `count` elements of `parts` numbers: element `of[i]`, part by part. */
static LLVMValueRef pick(weft_emitter *e, LLVMValueRef vector, uint32_t parts, uint32_t count, const uint32_t *of)
{
    LLVMValueRef numbers[2 * WEFT_MAX_WIDTH];
    for (uint32_t i = 0; i < count * parts; i++)
        numbers[i] = LLVMConstInt(e->i32, of[i / parts] * parts + i % parts, false);
    return LLVMBuildShuffleVector(e->builder, vector, LLVMGetPoison(LLVMTypeOf(vector)),
                                  LLVMConstVector(numbers, count * parts), "");
}

LLVMValueRef weft_splat(weft_emitter *e, LLVMValueRef scalar, uint32_t width)
{
    uint32_t parts = parts_of(LLVMTypeOf(scalar));
    static const uint32_t first[WEFT_MAX_WIDTH];
    if (width == 1) return scalar;
    if (parts > 1) return pick(e, scalar, parts, width, first);
    if (LLVMIsConstant(scalar)) return repeat(scalar, width);
    LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), width);
    LLVMValueRef vector =
        LLVMBuildInsertElement(e->builder, LLVMGetPoison(type), scalar, LLVMConstInt(e->i32, 0, false), "");
    return pick(e, vector, 1, width, first);
}

LLVMValueRef weft_element(weft_emitter *e, LLVMValueRef vector, uint32_t width, uint32_t lane)
{
    if (width == 1) return vector;
    uint32_t parts = LLVMGetVectorSize(LLVMTypeOf(vector)) / width;
    if (parts > 1) return pick(e, vector, parts, 1, &lane);
    return LLVMBuildExtractElement(e->builder, vector, LLVMConstInt(e->i32, lane, false), "");
}

LLVMValueRef weft_element_insert(weft_emitter *e, LLVMValueRef vector, LLVMValueRef element, uint32_t lane)
{
    uint32_t parts = parts_of(LLVMTypeOf(element));
    for (uint32_t i = 0; i < parts; i++) {
        LLVMValueRef number = weft_element(e, element, parts, i), at = LLVMConstInt(e->i32, lane * parts + i, false);
        vector = LLVMBuildInsertElement(e->builder, vector, number, at, "");
    }
    return vector;
}

LLVMValueRef weft_reverse(weft_emitter *e, LLVMValueRef vector, uint32_t width)
{
    uint32_t order[WEFT_MAX_WIDTH];
    for (uint32_t i = 0; i < width; i++) order[i] = width - 1 - i;
    return pick(e, vector, LLVMGetVectorSize(LLVMTypeOf(vector)) / width, width, order);
}

LLVMValueRef weft_lanes_slice(weft_emitter *e, LLVMValueRef vector, uint32_t width, uint32_t first, uint32_t count)
{
    uint32_t order[WEFT_MAX_WIDTH];
    if (count == 1) return weft_element(e, vector, width, first);
    for (uint32_t i = 0; i < count; i++) order[i] = first + i;
    return pick(e, vector, LLVMGetVectorSize(LLVMTypeOf(vector)) / width, count, order);
}

LLVMValueRef weft_lanes_insert(weft_emitter *e, LLVMValueRef vector, LLVMValueRef lanes, uint32_t width, uint32_t first,
                               uint32_t count)
{
    if (width == 1 || count == width) return lanes;
    if (count == 1) return weft_element_insert(e, vector, lanes, first);
    uint32_t order[WEFT_MAX_WIDTH] = {0}, parts = LLVMGetVectorSize(LLVMTypeOf(vector)) / width;
    for (uint32_t i = 0; i < width; i++) order[i] = i < count ? i : 0;
    LLVMValueRef wide = pick(e, lanes, parts, width, order), numbers[2 * WEFT_MAX_WIDTH];
    for (uint32_t i = 0; i < width * parts; i++) {
        bool inside = i / parts >= first && i / parts < first + count;
        numbers[i] = LLVMConstInt(e->i32, inside ? width * parts + i - first * parts : i, false);
    }
    return LLVMBuildShuffleVector(e->builder, vector, wide, LLVMConstVector(numbers, width * parts), "");
}

LLVMValueRef weft_lanes_shuffle(weft_emitter *e, LLVMValueRef a, LLVMValueRef b, uint32_t count, const uint32_t *lanes)
{
    LLVMValueRef numbers[2 * WEFT_MAX_WIDTH];
    for (uint32_t i = 0; i < count; i++) numbers[i] = LLVMConstInt(e->i32, lanes[i], false);
    return LLVMBuildShuffleVector(e->builder, a, b, LLVMConstVector(numbers, count), "");
}

LLVMValueRef weft_repeat_lanes(weft_emitter *e, LLVMValueRef vector, uint32_t times)
{
    LLVMValueRef numbers[2 * WEFT_MAX_WIDTH];
    uint32_t count = LLVMGetVectorSize(LLVMTypeOf(vector)) * times;
    for (uint32_t i = 0; i < count; i++) numbers[i] = LLVMConstInt(e->i32, i / times, false);
    return LLVMBuildShuffleVector(e->builder, vector, LLVMGetPoison(LLVMTypeOf(vector)),
                                  LLVMConstVector(numbers, count), "");
}

/* Bools of all lanes as one integer, compared with `wanted`: whether all of them are, or one is not. */
static LLVMValueRef compare_lanes(weft_emitter *e, LLVMIntPredicate order, LLVMValueRef lanes, bool wanted)
{
    if (!is_vector(LLVMTypeOf(lanes))) return lanes;
    LLVMTypeRef type = LLVMIntTypeInContext(e->context, LLVMGetVectorSize(LLVMTypeOf(lanes)));
    LLVMValueRef bits = LLVMBuildBitCast(e->builder, lanes, type, "");
    return LLVMBuildICmp(e->builder, order, bits, wanted ? LLVMConstAllOnes(type) : LLVMConstNull(type), "");
}

LLVMValueRef weft_any_lane(weft_emitter *e, LLVMValueRef lanes)
{
    return compare_lanes(e, LLVMIntNE, lanes, false);
}

LLVMValueRef weft_all_lanes(weft_emitter *e, LLVMValueRef lanes)
{
    return compare_lanes(e, LLVMIntEQ, lanes, true);
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

LLVMValueRef weft_multiply_add(weft_emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    LLVMTypeRef type = LLVMTypeOf(c);
    return weft_intrinsic_call(e, "llvm.fma", 1, &type, 3, (LLVMValueRef[]){a, b, c});
}
