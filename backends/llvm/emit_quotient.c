/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include "backends/llvm/emit.h"

/* Quotients of a loop by the same number y: two ways that both round like the quotient, one quick, one for all x. */

/* Not by a power of two, where LLVM multiplies. */
static bool is_worth_inverting(LLVMValueRef divisor)
{
    LLVMBool inexact;
    int exponent;
    return !LLVMIsConstant(divisor) || fabs(frexp(LLVMConstRealGetDouble(divisor, &inexact), &exponent)) != 0.5;
}

/* Whether the unit that divides is asked for roots of vectors by the same stage: those after the quotient, or known. */
static bool takes_roots(const weft_emitter *e, const weft_inst *quotient)
{
    const weft_inst *insts = e->kernel->insts;
    for (uint32_t i = e->stage->inst_first; i < e->stage->inst_first + e->stage->inst_count; i++)
        if (insts[i].op == WEFT_SCALAR_sqrt && (&insts[i] > quotient || e->values[i].varying)) return true;
    return false;
}

/* Where vectors of 512 bits would be divided in a loop by what is known outside of it, and a processor takes long. */
bool weft_quotients_share(const weft_emitter *e, const weft_inst *inst, const weft_emitted *value)
{
    enum { LANES = 16 };
    if (inst->op != WEFT_SCALAR_div || inst->dtype != WEFT_F32 || e->gpu || !value->varying || e->lane.width < LANES)
        return false;
    if (!e->processor->slow_quotients && !takes_roots(e, inst)) return false;
    const weft_emitted *divisor = &e->values[inst->args[1]];
    return !divisor->varying && divisor->level < value->level && is_worth_inverting(divisor->parts[0]);
}

/*
 * x / y for f32 as x * (1 / y) in f64, whose error is at most 2^-52 of it. The quotient lies 2^-49 at least from the
 * middle of two neighbours in f32, or, where these are denormal, may lie on it; so that rounding to 50 bits brings it
 * to the middle only from there, and never across. The last rounding is then that of the quotient.
 */
static LLVMValueRef multiply_by_inverse(weft_emitter *e, LLVMValueRef x, LLVMValueRef inverse)
{
    enum { DROPPED = 3 }; /* of 53 bits */
    uint32_t width = e->lane.width;
    LLVMBuilderRef builder = e->builder;
    LLVMTypeRef wide = weft_vector_type(e->f64, width), bits = weft_vector_type(e->i64, width);
    LLVMValueRef product = LLVMBuildFMul(builder, LLVMBuildFPExt(builder, x, wide, ""), inverse, "");
    LLVMValueRef half = weft_splat(e, weft_int(e, 1 << (DROPPED - 1)), width);
    LLVMValueRef kept = weft_splat(e, weft_int(e, -(1 << DROPPED)), width);
    LLVMValueRef rounded = LLVMBuildAdd(builder, LLVMBuildBitCast(builder, product, bits, ""), half, "");
    rounded = LLVMBuildBitCast(builder, LLVMBuildAnd(builder, rounded, kept, ""), wide, "");
    return LLVMBuildFPTrunc(builder, rounded, weft_vector_type(e->f32, width), "");
}

/*
 * The quick way: with 1 / y in two floats q is nearer to x / y than its neighbours are, x - q y is exact, and with
 * that taken times 1 / y, rounded to nearest, the sum is rounded as the quotient is (a theorem of Markstein's). Nothing
 * that has to be exact underflows where y is between these bounds and x is zero or at least 2^-102; where anything
 * overflows, or x is infinite, the result is NaN.
 */
#define LEAST_DIVISOR 0x1p-100
#define MOST_DIVISOR 0x1p+20
enum { LEAST_DIVIDEND = (127 - 102) << 23 }; /* its bits */

/* What a loop needs of y, from outside of it. */
typedef struct inverse {
    weft_emitted y, wide;    /* 1 / y in f64 */
    weft_emitted high, low;  /* in two floats, the first cut off, so that the second is not negative */
    weft_emitted minus_near; /* -1 / y */
    LLVMValueRef unfit;      /* whether the quick way is none */
} inverse;

static weft_emitted beside(const weft_emitted *divisor, LLVMValueRef value)
{
    return (weft_emitted){.level = divisor->level, .serial = divisor->serial, .parts = {value}};
}

static inverse invert(weft_emitter *e, const weft_emitted *divisor)
{
    LLVMBuilderRef builder = e->builder;
    LLVMValueRef y = divisor->parts[0];
    weft_scope_move(e, divisor->level);
    LLVMValueRef wide = LLVMBuildFDiv(builder, LLVMConstReal(e->f64, 1), LLVMBuildFPExt(builder, y, e->f64, ""), "");
    LLVMValueRef near = LLVMBuildFPTrunc(builder, wide, e->f32, "");
    LLVMValueRef above = LLVMBuildFCmp(builder, LLVMRealOGT, LLVMBuildFPExt(builder, near, e->f64, ""), wide, "");
    LLVMValueRef bits = LLVMBuildBitCast(builder, near, e->i32, "");
    bits = LLVMBuildSub(builder, bits, LLVMBuildZExt(builder, above, e->i32, ""), "");
    LLVMValueRef high = LLVMBuildBitCast(builder, bits, e->f32, "");
    LLVMValueRef rest = LLVMBuildFSub(builder, wide, LLVMBuildFPExt(builder, high, e->f64, ""), "");
    LLVMValueRef small = LLVMBuildFCmp(builder, LLVMRealULT, y, LLVMConstReal(e->f32, LEAST_DIVISOR), "");
    LLVMValueRef great = LLVMBuildFCmp(builder, LLVMRealUGT, y, LLVMConstReal(e->f32, MOST_DIVISOR), "");
    return (inverse){
        .y = *divisor,
        .wide = beside(divisor, wide),
        .high = beside(divisor, high),
        .low = beside(divisor, LLVMBuildFPTrunc(builder, rest, e->f32, "")),
        .minus_near = beside(divisor, LLVMBuildFNeg(builder, near, "")),
        .unfit = LLVMBuildOr(builder, small, great, ""),
    };
}

static LLVMValueRef divide_quickly(weft_emitter *e, LLVMValueRef x, inverse *i, uint32_t level)
{
    LLVMValueRef y = weft_value_part(e, &i->y, 0, true), high = weft_value_part(e, &i->high, 0, true);
    LLVMValueRef low = weft_value_part(e, &i->low, 0, true), near = weft_value_part(e, &i->minus_near, 0, true);
    weft_scope_move(e, level);
    LLVMValueRef q = weft_multiply_add(e, x, high, LLVMBuildFMul(e->builder, x, low, ""));
    LLVMValueRef excess = weft_multiply_add(e, q, y, LLVMBuildFNeg(e->builder, x, ""));
    return weft_multiply_add(e, excess, near, q);
}

/* Twice the bits of |x| less one, which are the most for zeros. */
static LLVMValueRef size_of(weft_emitter *e, LLVMValueRef x)
{
    LLVMTypeRef type = weft_vector_type(e->i32, e->lane.width);
    LLVMValueRef bits = LLVMBuildBitCast(e->builder, x, type, ""), twice = LLVMBuildAdd(e->builder, bits, bits, "");
    return LLVMBuildAdd(e->builder, twice, LLVMConstAllOnes(type), "");
}

/* Whether the quick way is none for some x, found from all parts at once: the sum of quotients is NaN if one is. */
static LLVMValueRef fails(weft_emitter *e, weft_emitted *x, const weft_emitted *quotients)
{
    LLVMTypeRef type = weft_vector_type(e->i32, e->lane.width);
    LLVMValueRef least = size_of(e, x->parts[0]), sum = quotients->parts[0];
    for (uint32_t part = 1; part < e->lane.parts; part++) {
        LLVMValueRef sizes[2] = {least, size_of(e, x->parts[part])};
        least = weft_intrinsic_call(e, "llvm.umin", 1, &type, 2, sizes);
        sum = LLVMBuildFAdd(e->builder, sum, quotients->parts[part], "");
    }
    LLVMValueRef limit = weft_int_like(type, 2 * (int64_t)LEAST_DIVIDEND - 1);
    LLVMValueRef tiny = LLVMBuildICmp(e->builder, LLVMIntULT, least, limit, "");
    LLVMValueRef undefined = LLVMBuildFCmp(e->builder, LLVMRealUNO, sum, sum, "");
    return weft_any_lane(e, LLVMBuildOr(e->builder, tiny, undefined, ""));
}

void weft_quotients_emit(weft_emitter *e, const weft_inst *inst, weft_emitted *value)
{
    weft_emitted *x = &e->values[inst->args[0]];
    inverse i = invert(e, &e->values[inst->args[1]]);
    LLVMValueRef slow[WEFT_MAX_PARTS], wide = weft_value_part(e, &i.wide, 0, true);
    for (uint32_t part = 0; part < e->lane.parts; part++)
        value->parts[part] = divide_quickly(e, x->parts[part], &i, value->level);
    weft_detour detour;
    weft_detour_open(e, value->level, LLVMBuildOr(e->builder, fails(e, x, value), i.unfit, ""), &detour);
    for (uint32_t part = 0; part < e->lane.parts; part++) slow[part] = multiply_by_inverse(e, x->parts[part], wide);
    weft_detour_close(e, value->level, &detour);
    weft_detour_merge(e, &detour, e->lane.parts, slow, value->parts);
}
