/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/emit.h"
#include <math.h>
#include <stdio.h>
#include "backends/llvm/emit_dtype.h"
#include "lib/loop/inst.h"
#include "lib/math/math.h"

LLVMValueRef weft_constant_emit(weft_emitter *e, weft_dtype dtype, uint64_t bits)
{
    if (dtype == WEFT_BOOL) return LLVMConstInt(e->i1, (bits & 0xff) != 0, false);
    if (!is_float(dtype) || is_short(dtype)) return LLVMConstInt(weft_register_type(e, dtype), bits, false);
    LLVMValueRef integer = LLVMConstInt(dtype == WEFT_F32 ? e->i32 : e->i64, bits, false);
    return LLVMConstBitCast(integer, weft_register_type(e, dtype));
}

/* An intrinsic whose result has the type of its operands. */
static LLVMValueRef call_same(weft_emitter *e, const char *name, unsigned count, LLVMValueRef *args)
{
    LLVMTypeRef type = LLVMTypeOf(args[0]);
    return weft_intrinsic_call(e, name, 1, &type, count, args);
}

static LLVMValueRef emit_neg(weft_emitter *e, weft_dtype dtype, LLVMValueRef value)
{
    enum { SIGN = 0x8000 };
    if (is_short(dtype)) return LLVMBuildXor(e->builder, value, weft_int_like(LLVMTypeOf(value), SIGN), "");
    return (is_float(dtype) ? LLVMBuildFNeg : LLVMBuildNeg)(e->builder, value, "");
}

static LLVMValueRef emit_abs(weft_emitter *e, weft_dtype dtype, LLVMValueRef value)
{
    enum { ALL_BUT_SIGN = 0x7fff };
    if (is_short(dtype)) return LLVMBuildAnd(e->builder, value, weft_int_like(LLVMTypeOf(value), ALL_BUT_SIGN), "");
    if (is_float(dtype)) return call_same(e, "llvm.fabs", 1, &value);
    if (!is_signed(dtype)) return value;
    LLVMValueRef args[2] = {value, LLVMConstInt(e->i1, 0, false)};
    return call_same(e, "llvm.abs", 2, args);
}

static LLVMValueRef emit_extremum(weft_emitter *e, weft_dtype dtype, bool greatest, LLVMValueRef a, LLVMValueRef b)
{
    if (is_float(dtype)) return weft_extremum_emit(e, greatest, a, b);
    return weft_extremum_of_integers(e, is_signed(dtype), greatest, a, b);
}

static LLVMValueRef emit_compare(weft_emitter *e, weft_scalar_op op, weft_dtype from, LLVMValueRef a, LLVMValueRef b)
{
    static const LLVMIntPredicate integers[2][6] = {
        {LLVMIntEQ, LLVMIntNE, LLVMIntULT, LLVMIntULE, LLVMIntUGT, LLVMIntUGE},
        {LLVMIntEQ, LLVMIntNE, LLVMIntSLT, LLVMIntSLE, LLVMIntSGT, LLVMIntSGE},
    };
    static const LLVMRealPredicate floats[6] = {LLVMRealOEQ, LLVMRealUNE, LLVMRealOLT,
                                                LLVMRealOLE, LLVMRealOGT, LLVMRealOGE};
    unsigned row = (unsigned)op - WEFT_SCALAR_eq;
    if (is_float(from)) return LLVMBuildFCmp(e->builder, floats[row], a, b, "");
    return LLVMBuildICmp(e->builder, integers[is_signed(from)][row], a, b, "");
}

/* ---- integer division ---- */

/* Whether the integer is a constant above zero, the same in all lanes: below zero, x / b is then -1 - (-1 - x) / b. */
static bool is_positive(LLVMValueRef b)
{
    if (!LLVMIsConstant(b)) return false;
    bool vector = LLVMGetTypeKind(LLVMTypeOf(b)) == LLVMVectorTypeKind;
    LLVMValueRef first = vector ? LLVMGetAggregateElement(b, 0) : b;
    for (uint32_t i = 1; vector && i < LLVMGetVectorSize(LLVMTypeOf(b)); i++)
        if (LLVMGetAggregateElement(b, i) != first) return false;
    return first != NULL && LLVMIsAConstantInt(first) != NULL && LLVMConstIntGetSExtValue(first) > 0;
}

LLVMValueRef weft_floor_divide(weft_emitter *e, weft_dtype dtype, LLVMValueRef a, LLVMValueRef b)
{
    LLVMBuilderRef builder = e->builder;
    LLVMTypeRef type = LLVMTypeOf(b);
    LLVMValueRef none = LLVMConstNull(type), one = weft_int_like(type, 1);
    LLVMValueRef zero = LLVMBuildICmp(builder, LLVMIntEQ, b, none, "");
    if (!is_signed(dtype)) {
        LLVMValueRef quotient = LLVMBuildUDiv(builder, a, LLVMBuildSelect(builder, zero, one, b, ""), "");
        return LLVMBuildSelect(builder, zero, none, quotient, "");
    }
    if (is_positive(b)) {
        bool is_vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
        unsigned bits = LLVMGetIntTypeWidth(is_vector ? LLVMGetElementType(type) : type);
        LLVMValueRef sign = LLVMBuildAShr(builder, a, weft_int_like(type, bits - 1), "");
        LLVMValueRef quotient = LLVMBuildUDiv(builder, LLVMBuildXor(builder, a, sign, ""), b, "");
        return LLVMBuildXor(builder, quotient, sign, "");
    }
    /* The least integer divided by -1 traps, so -1 is a case of its own. */
    LLVMValueRef minus = LLVMBuildICmp(builder, LLVMIntEQ, b, LLVMConstAllOnes(type), "");
    LLVMValueRef divisor = LLVMBuildSelect(builder, LLVMBuildOr(builder, zero, minus, ""), one, b, "");
    LLVMValueRef quotient = LLVMBuildSDiv(builder, a, divisor, "");
    LLVMValueRef remainder = LLVMBuildSub(builder, a, LLVMBuildMul(builder, quotient, divisor, ""), "");
    LLVMValueRef inexact = LLVMBuildICmp(builder, LLVMIntNE, remainder, none, "");
    LLVMValueRef opposite = LLVMBuildICmp(builder, LLVMIntSLT, LLVMBuildXor(builder, remainder, divisor, ""), none, "");
    LLVMValueRef down = LLVMBuildSExt(builder, LLVMBuildAnd(builder, inexact, opposite, ""), type, "");
    LLVMValueRef floor = LLVMBuildAdd(builder, quotient, down, "");
    floor = LLVMBuildSelect(builder, minus, LLVMBuildNeg(builder, a, ""), floor, "");
    return LLVMBuildSelect(builder, zero, none, floor, "");
}

/* The fence is for LLVM 19, which folds lanes that are 0 in both vectors to 0 in the quotient, where they are NaN. */
static LLVMValueRef emit_divide(weft_emitter *e, weft_dtype dtype, LLVMValueRef a, LLVMValueRef b)
{
    if (!is_float(dtype)) return weft_floor_divide(e, dtype, a, b);
    bool known = LLVMIsConstant(a) || LLVMIsConstant(b);
    bool vectors = LLVMGetTypeKind(LLVMTypeOf(b)) == LLVMVectorTypeKind;
    return LLVMBuildFDiv(e->builder, a, vectors && !known ? call_same(e, "llvm.arithmetic.fence", 1, &b) : b, "");
}

static LLVMValueRef refuse(weft_emitter *e, const weft_inst *inst, const char *why)
{
    weft_emitter_fail(e, weft_status_create(e->allocator, WEFT_UNSUPPORTED, "llvm", "operation %s of %s %s",
                                            weft_scalar_name(inst->op), weft_dtype_name(inst->dtype), why));
    return LLVMGetPoison(weft_register_type(e, inst->dtype));
}

/* ---- scaling by powers of two ---- */

/* As an instruction of AVX-512 does. */
static LLVMValueRef scale_vector(weft_emitter *e, weft_dtype dtype, LLVMValueRef a, LLVMValueRef n)
{
    uint32_t lanes = LLVMGetVectorSize(LLVMTypeOf(a)), bits = lanes * (uint32_t)weft_dtype_size(dtype) * 8;
    char name[48];
    snprintf(name, sizeof name, "llvm.x86.avx512.mask.scalef.%s.%u", dtype == WEFT_F32 ? "ps" : "pd", bits);
    LLVMTypeRef mask = LLVMIntTypeInContext(e->context, lanes < 8 ? 8 : lanes);
    LLVMValueRef args[5] = {a, n, LLVMGetUndef(LLVMTypeOf(a)), LLVMConstAllOnes(mask),
                            LLVMConstInt(e->i32, WEFT_CURRENT_ROUNDING, false)};
    return weft_intrinsic_call(e, name, 0, NULL, bits == 512 ? 5 : 4, args);
}

/* Vectors of more than 512 bits in halves. */
static LLVMValueRef scale_vectors(weft_emitter *e, weft_dtype dtype, LLVMValueRef a, LLVMValueRef n)
{
    uint32_t lanes = LLVMGetVectorSize(LLVMTypeOf(a)), half = lanes / 2, numbers[WEFT_MAX_WIDTH];
    if (lanes * weft_dtype_size(dtype) * 8 <= 512) return scale_vector(e, dtype, a, n);
    for (uint32_t i = 0; i < lanes; i++) numbers[i] = i;
    LLVMValueRef none = LLVMGetPoison(LLVMTypeOf(a)), scaled[2];
    for (uint32_t i = 0; i < 2; i++)
        scaled[i] = scale_vectors(e, dtype, weft_lanes_shuffle(e, a, none, half, numbers + i * half),
                                  weft_lanes_shuffle(e, n, none, half, numbers + i * half));
    return weft_lanes_shuffle(e, scaled[0], scaled[1], lanes, numbers);
}

/* Two factors of about 2^(n/2), so that overflow and gradual underflow happen in the last multiplication. */
static LLVMValueRef scale_twice(weft_emitter *e, LLVMValueRef exponent, LLVMValueRef a, LLVMTypeRef element,
                                int fraction)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
    LLVMTypeRef integer = vector ? weft_vector_type(element, LLVMGetVectorSize(type)) : element;
    LLVMValueRef one = LLVMConstInt(element, 1, false), place = LLVMConstInt(element, (unsigned)fraction, false);
    if (vector) {
        one = weft_splat(e, one, LLVMGetVectorSize(type));
        place = weft_splat(e, place, LLVMGetVectorSize(type));
    }
    LLVMValueRef both = LLVMBuildBitCast(e->builder, exponent, integer, "");
    LLVMValueRef half = LLVMBuildLShr(e->builder, both, one, "");
    LLVMValueRef exponents[2] = {half, LLVMBuildSub(e->builder, both, half, "")};
    for (int i = 0; i < 2; i++) {
        LLVMValueRef power = LLVMBuildShl(e->builder, exponents[i], place, "");
        a = LLVMBuildFMul(e->builder, a, LLVMBuildBitCast(e->builder, power, type, ""), "");
    }
    return a;
}

static LLVMValueRef emit_scale(weft_emitter *e, weft_dtype dtype, LLVMValueRef *args)
{
    bool single = dtype == WEFT_F32, vector = LLVMGetTypeKind(LLVMTypeOf(args[2])) == LLVMVectorTypeKind;
    bool scales = vector && weft_emitter_has(e, WEFT_ISA_V4) &&
                  LLVMGetVectorSize(LLVMTypeOf(args[2])) * weft_dtype_size(dtype) >= 16;
    if (scales) return scale_vectors(e, dtype, args[2], args[1]);
    return scale_twice(e, args[0], args[2], single ? e->i32 : e->i64, single ? 23 : 52);
}

/* ---- complex numbers ---- */

static LLVMValueRef emit_part(weft_emitter *e, LLVMValueRef value, uint32_t part)
{
    uint32_t width = LLVMGetVectorSize(LLVMTypeOf(value)) / 2, lanes[WEFT_MAX_WIDTH];
    if (width == 1) return weft_element(e, value, 2, part);
    for (uint32_t i = 0; i < width; i++) lanes[i] = 2 * i + part;
    return weft_lanes_shuffle(e, value, LLVMGetPoison(LLVMTypeOf(value)), width, lanes);
}

static LLVMValueRef emit_complex(weft_emitter *e, weft_dtype dtype, LLVMValueRef re, LLVMValueRef im)
{
    LLVMTypeRef type = LLVMTypeOf(re);
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) {
        LLVMValueRef empty = LLVMGetPoison(weft_register_type(e, dtype));
        return weft_element_insert(e, weft_element_insert(e, empty, re, 0), im, 1);
    }
    uint32_t width = LLVMGetVectorSize(type), lanes[2 * WEFT_MAX_WIDTH];
    for (uint32_t i = 0; i < 2 * width; i++) lanes[i] = i / 2 + i % 2 * width;
    return weft_lanes_shuffle(e, re, im, 2 * width, lanes);
}

static bool is_complex(weft_dtype dtype)
{
    return kind_of(dtype) == WEFT_KIND_COMPLEX;
}

/* 16-bit floats are only cast from and to f32, selected, bitcast and given another sign, complex numbers only taken
 * apart and put together; legalize_float16.c and complex.c lower the rest. */
static bool is_lowered(const weft_inst *inst, weft_dtype from)
{
    if (inst->op == WEFT_SCALAR_real || inst->op == WEFT_SCALAR_imag || inst->op == WEFT_SCALAR_complex) return true;
    if (is_complex(from) || is_complex(inst->dtype)) return false;
    if (weft_scalar_is_choice(inst->op) || inst->op == WEFT_SCALAR_bitcast) return true;
    if (inst->op == WEFT_SCALAR_neg || inst->op == WEFT_SCALAR_abs) return true;
    if (inst->op != WEFT_SCALAR_cast) return !is_short(from) && !is_short(inst->dtype);
    return (!is_short(from) || inst->dtype == WEFT_F32) && (!is_short(inst->dtype) || from == WEFT_F32);
}

LLVMValueRef weft_scalar_emit(weft_emitter *e, const weft_inst *inst, weft_dtype from, LLVMValueRef *args)
{
    if (!is_lowered(inst, from)) return refuse(e, inst, "has to be lowered to real arithmetic in f32 or f64 first");
    LLVMBuilderRef builder = e->builder;
    bool real = is_float(from);
    switch (inst->op) {
    case WEFT_SCALAR_neg: return emit_neg(e, from, args[0]);
    case WEFT_SCALAR_abs: return emit_abs(e, from, args[0]);
    case WEFT_SCALAR_sqrt: return call_same(e, "llvm.sqrt", 1, args);
    case WEFT_SCALAR_round: return call_same(e, "llvm.roundeven", 1, args);
    case WEFT_SCALAR_floor: return call_same(e, "llvm.floor", 1, args);
    case WEFT_SCALAR_ceil: return call_same(e, "llvm.ceil", 1, args);
    case WEFT_SCALAR_trunc: return call_same(e, "llvm.trunc", 1, args);
    case WEFT_SCALAR_population_count: return call_same(e, "llvm.ctpop", 1, args);
    case WEFT_SCALAR_fmod:
    case WEFT_SCALAR_pow: return weft_function_call(e, inst->op, from, args);
    case WEFT_SCALAR_fma: return call_same(e, "llvm.fma", 3, args);
    case WEFT_SCALAR_scale: return emit_scale(e, from, args);
    case WEFT_SCALAR_not: return LLVMBuildNot(builder, args[0], "");
    case WEFT_SCALAR_real: return emit_part(e, args[0], 0);
    case WEFT_SCALAR_imag: return emit_part(e, args[0], 1);
    case WEFT_SCALAR_complex: return emit_complex(e, inst->dtype, args[0], args[1]);
    case WEFT_SCALAR_add: return (real ? LLVMBuildFAdd : LLVMBuildAdd)(builder, args[0], args[1], "");
    case WEFT_SCALAR_sub: return (real ? LLVMBuildFSub : LLVMBuildSub)(builder, args[0], args[1], "");
    case WEFT_SCALAR_mul: return (real ? LLVMBuildFMul : LLVMBuildMul)(builder, args[0], args[1], "");
    case WEFT_SCALAR_div: return emit_divide(e, from, args[0], args[1]);
    case WEFT_SCALAR_max: return emit_extremum(e, from, true, args[0], args[1]);
    case WEFT_SCALAR_min: return emit_extremum(e, from, false, args[0], args[1]);
    case WEFT_SCALAR_and: return LLVMBuildAnd(builder, args[0], args[1], "");
    case WEFT_SCALAR_or: return LLVMBuildOr(builder, args[0], args[1], "");
    case WEFT_SCALAR_xor: return LLVMBuildXor(builder, args[0], args[1], "");
    case WEFT_SCALAR_eq:
    case WEFT_SCALAR_ne:
    case WEFT_SCALAR_lt:
    case WEFT_SCALAR_le:
    case WEFT_SCALAR_gt:
    case WEFT_SCALAR_ge: return emit_compare(e, inst->op, from, args[0], args[1]);
    case WEFT_SCALAR_earlier: return emit_compare(e, WEFT_SCALAR_lt, from, args[0], args[1]);
    case WEFT_SCALAR_rarely:
    case WEFT_SCALAR_select: return LLVMBuildSelect(builder, args[0], args[1], args[2], "");
    case WEFT_SCALAR_cast: return weft_cast_emit(e, from, inst->dtype, args[0]);
    case WEFT_SCALAR_bitcast: return weft_bitcast_emit(e, from, inst->dtype, args[0]);
    case WEFT_SCALAR_shl: return LLVMBuildShl(builder, args[0], args[1], "");
    case WEFT_SCALAR_shr: return LLVMBuildLShr(builder, args[0], args[1], "");
    case WEFT_SCALAR_sar: return LLVMBuildAShr(builder, args[0], args[1], "");
    default:
        return refuse(e, inst,
                      weft_scalar_is_math(inst->op) ? "has to be lowered to arithmetic first (weft_kernel_lower_math)"
                                                    : "has no place here");
    }
}
