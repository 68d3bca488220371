/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors of integers are divided by floats, where LLVM 19 would divide one lane after the other: floor(x / y) is that
 * of x * (1 / y) + |1 / y| / 2, which has the distance of half of 1 / y from all integers. It is as exact as that needs
 * for |x| < 2^51 in f64, whatever y is, and 2^22 in f32. Integers of 64 bits that are larger take two such steps.
 */
#include "backends/llvm/emit.h"
#include "backends/llvm/emit_dtype.h"

/* What LLVM does by a shift. */
static bool is_power_of_two(LLVMValueRef constant)
{
    uint64_t value = LLVMConstIntGetZExtValue(constant);
    return (value & (value - 1)) == 0;
}

/* LLVM multiplies short integers by the inverse of a constant. */
bool weft_division_is_real(const weft_emitter *e, const weft_inst *inst, const weft_emitted *value)
{
    if (!weft_emitter_has(e, WEFT_ISA_V4) || !value->varying || e->lane.width == 1) return false;
    const weft_emitted *divisor = &e->values[inst->args[1]];
    if (divisor->varying || !LLVMIsConstant(divisor->parts[0])) return true;
    return inst->dtype == WEFT_I64 && !is_power_of_two(divisor->parts[0]);
}

static LLVMTypeRef reals_of(const weft_emitter *e, weft_dtype dtype, uint32_t width)
{
    return weft_vector_type(dtype == WEFT_U8 ? e->f32 : e->f64, width);
}

static LLVMValueRef to_reals(weft_emitter *e, weft_dtype dtype, LLVMValueRef x, uint32_t width)
{
    return (is_signed(dtype) ? LLVMBuildSIToFP : LLVMBuildUIToFP)(e->builder, x, reals_of(e, dtype, width), "");
}

static LLVMValueRef call(weft_emitter *e, const char *name, unsigned count, LLVMValueRef *args)
{
    LLVMTypeRef type = LLVMTypeOf(args[0]);
    return weft_intrinsic_call(e, name, 1, &type, count, args);
}

/* The factor 1 / y, or 0 where y is 0, and half its size. */
typedef struct inverse {
    LLVMValueRef factor, half;
} inverse;

static inverse invert(weft_emitter *e, weft_dtype dtype, LLVMValueRef y, uint32_t width)
{
    LLVMTypeRef reals = reals_of(e, dtype, width), element = reals_of(e, dtype, 1);
    LLVMValueRef one = weft_splat(e, LLVMConstReal(element, 1), width), real = to_reals(e, dtype, y, width);
    LLVMValueRef zero = LLVMBuildICmp(e->builder, LLVMIntEQ, y, LLVMConstNull(LLVMTypeOf(y)), "");
    LLVMValueRef factor = LLVMBuildFDiv(e->builder, one, real, "");
    factor = LLVMBuildSelect(e->builder, zero, LLVMConstNull(reals), factor, "");
    LLVMValueRef size = call(e, "llvm.fabs", 1, &factor);
    return (inverse){factor, LLVMBuildFMul(e->builder, size, weft_splat(e, LLVMConstReal(element, 0.5), width), "")};
}

/* Of each part; before the loop where all parts have one divisor. */
static void invert_parts(weft_emitter *e, const weft_inst *inst, const weft_emitted *value, inverse *out_inverses)
{
    weft_emitted *divisor = &e->values[inst->args[1]];
    for (uint32_t part = 0; part < e->lane.parts && divisor->varying; part++)
        out_inverses[part] = invert(e, inst->dtype, divisor->parts[part], e->lane.width);
    if (divisor->varying) return;
    weft_scope_move(e, divisor->level);
    inverse single = invert(e, inst->dtype, divisor->parts[0], 1);
    single.factor = weft_splat(e, single.factor, e->lane.width);
    single.half = weft_splat(e, single.half, e->lane.width);
    weft_scope_move(e, value->level);
    for (uint32_t part = 0; part < e->lane.parts; part++) out_inverses[part] = single;
}

static LLVMValueRef floor_of_ratio(weft_emitter *e, weft_dtype dtype, LLVMValueRef x, inverse i)
{
    LLVMValueRef args[3] = {to_reals(e, dtype, x, e->lane.width), i.factor, i.half};
    LLVMValueRef ratio = call(e, "llvm.fma", 3, args);
    return call(e, "llvm.floor", 1, &ratio);
}

/* Integers of less than 64 bits are the last ones of the quotient and 1.5 * 2^fraction, which wrap as they do. */
static LLVMValueRef short_quotient(weft_emitter *e, weft_dtype dtype, LLVMValueRef x, inverse i)
{
    bool wide = dtype != WEFT_U8;
    uint32_t width = e->lane.width;
    LLVMTypeRef bits = weft_vector_type(wide ? e->i64 : e->i32, width);
    LLVMValueRef shift = LLVMConstReal(reals_of(e, dtype, 1), wide ? 0x1.8p52 : 0x1.8p23);
    LLVMValueRef sum = LLVMBuildFAdd(e->builder, floor_of_ratio(e, dtype, x, i), weft_splat(e, shift, width), "");
    return LLVMBuildTrunc(e->builder, LLVMBuildBitCast(e->builder, sum, bits, ""), LLVMTypeOf(x), "");
}

static LLVMValueRef long_quotient(weft_emitter *e, LLVMValueRef x, inverse i)
{
    return LLVMBuildFPToSI(e->builder, floor_of_ratio(e, WEFT_I64, x, i), LLVMTypeOf(x), "");
}

/* A quotient that is about right leaves a rest below 2^51 if |y| < 2^50. One of 2^63, which is that of the least
 * integer by -1 or rounded to it, is made less before it is an integer. */
static LLVMValueRef two_quotients(weft_emitter *e, LLVMValueRef x, LLVMValueRef y, inverse i)
{
    LLVMBuilderRef builder = e->builder;
    LLVMValueRef most = weft_splat(e, LLVMConstReal(e->f64, 0x1p63 - 0x1p10), e->lane.width);
    LLVMValueRef first = floor_of_ratio(e, WEFT_I64, x, i);
    LLVMValueRef below = LLVMBuildFCmp(builder, LLVMRealOLT, first, most, "");
    first = LLVMBuildFPToSI(builder, LLVMBuildSelect(builder, below, first, most, ""), LLVMTypeOf(x), "");
    LLVMValueRef rest = LLVMBuildSub(builder, x, LLVMBuildMul(builder, first, y, ""), "");
    return LLVMBuildAdd(builder, first, long_quotient(e, rest, i), "");
}

/* Whether any is -limit or less, or limit or more. */
static LLVMValueRef any_beyond(weft_emitter *e, const LLVMValueRef *parts, int64_t limit)
{
    LLVMTypeRef type = LLVMTypeOf(parts[0]);
    LLVMValueRef beyond = NULL;
    for (uint32_t part = 0; part < e->lane.parts; part++) {
        LLVMValueRef moved = LLVMBuildAdd(e->builder, parts[part], weft_int_like(type, limit - 1), "");
        LLVMValueRef large = LLVMBuildICmp(e->builder, LLVMIntUGT, moved, weft_int_like(type, 2 * limit - 2), "");
        beyond = beyond == NULL ? large : LLVMBuildOr(e->builder, beyond, large, "");
    }
    return weft_any_lane(e, beyond);
}

/* Of 64 bits, for all operands. */
static void emit_long(weft_emitter *e, const LLVMValueRef *x, const LLVMValueRef *y, const inverse *inverses,
                      weft_emitted *value)
{
    static const int64_t one_step = (int64_t)1 << 51, two_steps = (int64_t)1 << 50;
    LLVMValueRef slow[WEFT_MAX_PARTS], slowest[WEFT_MAX_PARTS];
    weft_detour outer, inner;
    uint32_t parts = e->lane.parts, level = value->level;
    for (uint32_t i = 0; i < parts; i++) value->parts[i] = long_quotient(e, x[i], inverses[i]);
    weft_detour_open(e, level, any_beyond(e, x, one_step), &outer);
    for (uint32_t i = 0; i < parts; i++) slow[i] = two_quotients(e, x[i], y[i], inverses[i]);
    weft_detour_open(e, level, any_beyond(e, y, two_steps), &inner);
    for (uint32_t i = 0; i < parts; i++) slowest[i] = weft_floor_divide(e, WEFT_I64, x[i], y[i]);
    weft_detour_close(e, level, &inner);
    weft_detour_merge(e, &inner, parts, slowest, slow);
    weft_detour_close(e, level, &outer);
    weft_detour_merge(e, &outer, parts, slow, value->parts);
}

void weft_division_emit(weft_emitter *e, const weft_inst *inst, weft_emitted *value)
{
    inverse inverses[WEFT_MAX_PARTS];
    LLVMValueRef operands[2][WEFT_MAX_PARTS];
    for (uint32_t part = 0; part < e->lane.parts; part++)
        for (uint32_t i = 0; i < 2; i++) operands[i][part] = weft_value_part(e, &e->values[inst->args[i]], part, true);
    weft_scope_move(e, value->level);
    invert_parts(e, inst, value, inverses);
    if (inst->dtype == WEFT_I64) {
        emit_long(e, operands[0], operands[1], inverses, value);
        return;
    }
    for (uint32_t part = 0; part < e->lane.parts; part++)
        value->parts[part] = short_quotient(e, inst->dtype, operands[0][part], inverses[part]);
}
