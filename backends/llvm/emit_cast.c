/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions between dtypes. */
#include "backends/llvm/emit.h"
#include <float.h>
#include <math.h>
#include "backends/llvm/emit_dtype.h"

/* `type` with the elements of `shaped` replaced by scalars of `element`. */
static LLVMTypeRef like(LLVMTypeRef shaped, LLVMTypeRef element)
{
    return LLVMGetTypeKind(shaped) == LLVMVectorTypeKind ? LLVMVectorType(element, LLVMGetVectorSize(shaped)) : element;
}

static LLVMValueRef shift_right(weft_emitter *e, LLVMValueRef value, int64_t count)
{
    return LLVMBuildLShr(e->builder, value, weft_int_like(LLVMTypeOf(value), count), "");
}

static LLVMValueRef shift_left(weft_emitter *e, LLVMValueRef value, int64_t count)
{
    return LLVMBuildShl(e->builder, value, weft_int_like(LLVMTypeOf(value), count), "");
}

static LLVMValueRef mask(weft_emitter *e, LLVMValueRef value, int64_t bits)
{
    return LLVMBuildAnd(e->builder, value, weft_int_like(LLVMTypeOf(value), bits), "");
}

static LLVMValueRef add(weft_emitter *e, LLVMValueRef value, int64_t other)
{
    return LLVMBuildAdd(e->builder, value, weft_int_like(LLVMTypeOf(value), other), "");
}

/* Integers: value < bound ? yes : no. */
static LLVMValueRef select_below(weft_emitter *e, LLVMValueRef value, int64_t bound, LLVMValueRef yes, LLVMValueRef no)
{
    LLVMValueRef below = LLVMBuildICmp(e->builder, LLVMIntULT, value, weft_int_like(LLVMTypeOf(value), bound), "");
    return LLVMBuildSelect(e->builder, below, yes, no, "");
}

/* Without instructions for f16 LLVM calls a function for each conversion. */
static bool has_half_instructions(const weft_emitter *e)
{
    return e->gpu || weft_emitter_has(e, WEFT_ISA_V3) || weft_emitter_has(e, WEFT_ISA_ARMV8A);
}

/* As F16C does it. The exponent moves by 112, that of infinities and NaNs once more; subnormal numbers are counts of
 * 2^-24; a NaN becomes quiet. */
static LLVMValueRef single_from_half_bits(weft_emitter *e, LLVMValueRef value)
{
    enum { SUBNORMALS = 0x400, INFINITY_BITS = 0x7c00, MOVED = 112 << 23, QUIET = 1 << 22 };
    LLVMTypeRef type = like(LLVMTypeOf(value), e->i32), single = like(type, e->f32);
    LLVMValueRef bits = LLVMBuildZExt(e->builder, value, type, ""), size = mask(e, bits, 0x7fff);
    LLVMValueRef normal = add(e, shift_left(e, size, 13), MOVED), large = add(e, normal, MOVED);
    LLVMValueRef nan = LLVMBuildOr(e->builder, large, weft_int_like(type, QUIET), "");
    LLVMValueRef unit = LLVMConstBitCast(weft_int_like(type, (127 - 24) << 23), single);
    LLVMValueRef small = LLVMBuildFMul(e->builder, LLVMBuildSIToFP(e->builder, size, single, ""), unit, "");
    large = select_below(e, size, INFINITY_BITS + 1, large, nan);
    LLVMValueRef chosen = select_below(e, size, INFINITY_BITS, normal, large);
    chosen = select_below(e, size, SUBNORMALS, LLVMBuildBitCast(e->builder, small, type, ""), chosen);
    LLVMValueRef sign = shift_left(e, LLVMBuildXor(e->builder, bits, size, ""), 16);
    return LLVMBuildBitCast(e->builder, LLVMBuildOr(e->builder, chosen, sign, ""), single, "");
}

/* As F16C does it, to nearest even. Adding 1/2, whose last bit is 2^-24, rounds what becomes subnormal. */
static LLVMValueRef half_from_single_bits(weft_emitter *e, LLVMValueRef value)
{
    enum { NORMAL = 113 << 23, OVERFLOW = 0x47800000, INFINITY_BITS = 0x7f800000, MOVED = 112 << 23, HALF = 126 << 23 };
    LLVMTypeRef single = LLVMTypeOf(value), type = like(single, e->i32);
    LLVMValueRef bits = LLVMBuildBitCast(e->builder, value, type, ""), size = mask(e, bits, 0x7fffffff);
    LLVMValueRef last = mask(e, shift_right(e, size, 13), 1);
    LLVMValueRef normal = LLVMBuildAdd(e->builder, add(e, size, 0xfff - MOVED), last, "");
    LLVMValueRef half = LLVMConstBitCast(weft_int_like(type, HALF), single);
    LLVMValueRef small = LLVMBuildFAdd(e->builder, LLVMBuildBitCast(e->builder, size, single, ""), half, "");
    small = add(e, LLVMBuildBitCast(e->builder, small, type, ""), -HALF);
    LLVMValueRef infinite = weft_int_like(type, 0x7c00);
    LLVMValueRef nan = mask(e, shift_right(e, size, 13), 0x3ff);
    nan = LLVMBuildOr(e->builder, nan, weft_int_like(type, 0x7e00), "");
    LLVMValueRef large = select_below(e, size, INFINITY_BITS + 1, infinite, nan);
    LLVMValueRef chosen = select_below(e, size, OVERFLOW, shift_right(e, normal, 13), large);
    chosen = select_below(e, size, NORMAL, small, chosen);
    LLVMValueRef sign = mask(e, shift_right(e, bits, 16), 0x8000);
    return LLVMBuildTrunc(e->builder, LLVMBuildOr(e->builder, chosen, sign, ""), like(type, e->i16), "");
}

static LLVMValueRef single_from_short(weft_emitter *e, weft_dtype from, LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value), single = like(type, e->f32);
    if (from == WEFT_BF16) {
        /* The upper half of f32. */
        LLVMValueRef bits = shift_left(e, LLVMBuildZExt(e->builder, value, like(type, e->i32), ""), 16);
        return LLVMBuildBitCast(e->builder, bits, single, "");
    }
    if (!has_half_instructions(e)) return single_from_half_bits(e, value);
    /* LLVM 19 would move comparisons in front of an fpext, where it makes one for each lane, and calls the C library
     * for the minimum of two halves. */
    bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
    if (!e->gpu && !vector) return weft_intrinsic_call(e, "llvm.convert.from.fp16", 1, &single, 1, &value);
    LLVMValueRef half = LLVMBuildBitCast(e->builder, value, like(type, e->f16), "");
    LLVMValueRef extended = LLVMBuildFPExt(e->builder, half, single, "");
    return e->gpu ? extended : weft_intrinsic_call(e, "llvm.arithmetic.fence", 1, &single, 1, &extended);
}

/* The upper half of bits, which have a NaN where `value` is one: that is made quiet. */
static LLVMValueRef upper_half(weft_emitter *e, LLVMValueRef value, LLVMValueRef bits, bool is_quiet)
{
    LLVMTypeRef type = LLVMTypeOf(bits);
    if (!is_quiet) {
        LLVMValueRef quiet = LLVMBuildBitCast(e->builder, value, type, "");
        quiet = LLVMBuildOr(e->builder, quiet, weft_int_like(type, 0x400000), "");
        LLVMValueRef is_nan = LLVMBuildFCmp(e->builder, LLVMRealUNO, value, value, "");
        bits = LLVMBuildSelect(e->builder, is_nan, quiet, bits, "");
    }
    return LLVMBuildTrunc(e->builder, shift_right(e, bits, 16), like(type, e->i16), "");
}

/* To nearest even: half a unit less one is added, and one more where the last bit that stays is set; a carry runs into
 * the exponent, up to infinity. A NaN keeps its upper bits and becomes quiet. */
LLVMValueRef weft_bf16_round(weft_emitter *e, LLVMValueRef value, unsigned known)
{
    enum { NAN_STAYS = WEFT_BF16_NAN | WEFT_BF16_QUIET };
    LLVMTypeRef type = like(LLVMTypeOf(value), e->i32);
    LLVMValueRef bits = LLVMBuildBitCast(e->builder, value, type, "");
    if (known & WEFT_BF16_EXACT) return upper_half(e, value, bits, known & WEFT_BF16_QUIET);
    LLVMValueRef last = mask(e, shift_right(e, bits, 16), 1);
    LLVMValueRef moved = LLVMBuildAdd(e->builder, add(e, bits, 0x7fff), last, "");
    return upper_half(e, value, moved, (known & NAN_STAYS) == NAN_STAYS);
}

static LLVMValueRef short_from_single(weft_emitter *e, weft_dtype to, LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    if (to == WEFT_BF16) {
        /* Not an fptrunc: LLVM 19 joins one to bfloat with a product into a product of bf16, which rounds once where
         * the product is below the least normal f32, and so to other bits. */
        if (!e->gpu || LLVMGetTypeKind(type) == LLVMVectorTypeKind) return weft_bf16_round(e, value, 0);
        LLVMValueRef rounded = weft_intrinsic_call(e, "llvm.nvvm.f2bf16.rn", 0, NULL, 1, &value);
        return LLVMBuildBitCast(e->builder, rounded, e->i16, "");
    }
    if (!has_half_instructions(e)) return half_from_single_bits(e, value);
    LLVMValueRef half = LLVMBuildFPTrunc(e->builder, value, like(type, e->f16), "");
    return LLVMBuildBitCast(e->builder, half, like(type, e->i16), "");
}

/*
 * A vector of floats as integers, saturating, NaN as 0: what llvm.fptosi.sat means, for which LLVM 19 makes one
 * conversion for each lane. The numbers are first brought between the limits of the integers, or the nearest floats
 * inside of them; beyond an upper limit that is no float the result is replaced.
 */
static LLVMValueRef saturated_lanes(weft_emitter *e, weft_dtype from, weft_dtype to, LLVMValueRef value)
{
    LLVMBuilderRef builder = e->builder;
    LLVMTypeRef type = LLVMTypeOf(value), integers = like(type, weft_register_type(e, to));
    int digits = 8 * (int)weft_dtype_size(to) - (is_signed(to) ? 1 : 0);
    int precision = from == WEFT_F64 ? DBL_MANT_DIG : FLT_MANT_DIG;
    double limit = ldexp(1, digits), largest = limit - (digits > precision ? ldexp(1, digits - precision) : 1);
    LLVMValueRef low = LLVMConstReal(type, is_signed(to) ? -limit : 0), high = LLVMConstReal(type, largest);
    LLVMValueRef above = LLVMBuildFCmp(builder, LLVMRealOGT, value, low, "");
    LLVMValueRef within = LLVMBuildSelect(builder, above, value, low, "");
    LLVMValueRef below = LLVMBuildFCmp(builder, LLVMRealOLT, within, high, "");
    within = LLVMBuildSelect(builder, below, within, high, "");
    if (weft_dtype_size(to) < sizeof(int32_t))
        return LLVMBuildTrunc(builder, LLVMBuildFPToSI(builder, within, like(type, e->i32), ""), integers, "");
    LLVMValueRef result = (is_signed(to) ? LLVMBuildFPToSI : LLVMBuildFPToUI)(builder, within, integers, "");
    if (digits > precision) {
        LLVMValueRef over = LLVMBuildFCmp(builder, LLVMRealOGE, value, LLVMConstReal(type, limit), "");
        LLVMValueRef most = weft_int_like(integers, is_signed(to) ? (int64_t)(UINT64_MAX >> (64 - digits)) : -1);
        result = LLVMBuildSelect(builder, over, most, result, "");
    }
    if (!is_signed(to)) return result;
    LLVMValueRef ordered = LLVMBuildFCmp(builder, LLVMRealORD, value, value, "");
    return LLVMBuildSelect(builder, ordered, result, LLVMConstNull(integers), "");
}

/* Whether bools of AVX-512 become floats as ones under a mask: as lanes of all bits, which are integers first, they
 * wait for what their register had before: 36 cycles for a row of 20 to be added up, in place of 9 (Sapphire Rapids).
 * Of masks there are seven; those of more parts would be spilled. */
static bool takes_masks(const weft_emitter *e, LLVMTypeRef bools)
{
    enum { MOST_PARTS = 4 };
    return LLVMGetTypeKind(bools) == LLVMVectorTypeKind && e->lane.parts <= MOST_PARTS &&
           weft_emitter_has(e, WEFT_ISA_V4);
}

static LLVMValueRef float_of_bools(weft_emitter *e, LLVMTypeRef type, LLVMValueRef bools)
{
    if (!takes_masks(e, LLVMTypeOf(bools))) return LLVMBuildUIToFP(e->builder, bools, type, "");
    return LLVMBuildSelect(e->builder, bools, LLVMConstReal(type, 1.0), LLVMConstNull(type), "");
}

LLVMValueRef weft_cast_emit(weft_emitter *e, weft_dtype from, weft_dtype to, LLVMValueRef value)
{
    LLVMBuilderRef builder = e->builder;
    LLVMTypeRef type = LLVMTypeOf(value);
    if (is_short(from)) return single_from_short(e, from, value);
    if (is_short(to)) return short_from_single(e, to, value);
    if (to == WEFT_BOOL)
        return is_float(from) ? LLVMBuildFCmp(builder, LLVMRealUNE, value, LLVMConstNull(type), "")
                              : LLVMBuildICmp(builder, LLVMIntNE, value, LLVMConstNull(type), "");
    LLVMTypeRef types[2] = {like(type, weft_register_type(e, to)), type};
    if (is_float(from) && is_float(to)) {
        if (from == to) return value;
        return (to == WEFT_F64 ? LLVMBuildFPExt : LLVMBuildFPTrunc)(builder, value, types[0], "");
    }
    if (is_float(from) && LLVMGetTypeKind(type) == LLVMVectorTypeKind) return saturated_lanes(e, from, to, value);
    if (is_float(from))
        return weft_intrinsic_call(e, is_signed(to) ? "llvm.fptosi.sat" : "llvm.fptoui.sat", 2, types, 1, &value);
    if (from == WEFT_BOOL && is_float(to)) return float_of_bools(e, types[0], value);
    if (is_float(to)) return (is_signed(from) ? LLVMBuildSIToFP : LLVMBuildUIToFP)(builder, value, types[0], "");
    return LLVMBuildIntCast2(builder, value, types[0], is_signed(from), "");
}

LLVMValueRef weft_bitcast_emit(weft_emitter *e, weft_dtype from, weft_dtype to, LLVMValueRef value)
{
    value = weft_to_memory(e, from, value);
    value = LLVMBuildBitCast(e->builder, value, like(LLVMTypeOf(value), weft_memory_type(e, to)), "");
    return weft_from_memory(e, to, value);
}
