/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations that take a loop or a branch: a function beside the kernel for each type, called as one instruction. All
 * lanes run until the last one is through.
 */
#include "backends/llvm/emit.h"
#include <stdio.h>

/* The function being written, over its two operands; the emitter's builder is lent to it. */
typedef struct body {
    weft_emitter *e;
    LLVMBuilderRef builder;
    LLVMValueRef function;
    LLVMTypeRef type; /* of operands and result, scalar or vector */
    uint32_t width;
    LLVMBasicBlockRef loop, done;
} body;

static LLVMTypeRef element_of(LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

/* Ends the block before the loop. The loop begins with `count` values, out_phis, as they come in and go on. */
static void begin_loop(body *b, size_t count, const LLVMValueRef *initial, LLVMValueRef *out_phis)
{
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b->builder);
    b->loop = LLVMAppendBasicBlockInContext(b->e->context, b->function, "");
    b->done = LLVMAppendBasicBlockInContext(b->e->context, b->function, "");
    LLVMBuildBr(b->builder, b->loop);
    LLVMPositionBuilderAtEnd(b->builder, b->loop);
    for (size_t i = 0; i < count; i++) {
        out_phis[i] = LLVMBuildPhi(b->builder, LLVMTypeOf(initial[i]), "");
        LLVMValueRef value = initial[i];
        LLVMAddIncoming(out_phis[i], &value, &before, 1);
    }
}

/* Leaves the loop where `more` holds in no lane; otherwise the block that follows. */
static void leave_unless(body *b, LLVMValueRef more)
{
    LLVMValueRef any = weft_any_lane(b->e, more);
    LLVMBasicBlockRef next = LLVMAppendBasicBlockInContext(b->e->context, b->function, "");
    LLVMBuildCondBr(b->builder, any, next, b->done);
    LLVMPositionBuilderAtEnd(b->builder, next);
}

/* Returns `result` where `unfit` holds in no lane; otherwise the block that follows. */
static void return_unless(body *b, LLVMValueRef unfit, LLVMValueRef result)
{
    LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(b->e->context, b->function, "");
    LLVMBasicBlockRef next = LLVMAppendBasicBlockInContext(b->e->context, b->function, "");
    LLVMBuildCondBr(b->builder, weft_any_lane(b->e, unfit), next, done);
    LLVMPositionBuilderAtEnd(b->builder, done);
    LLVMBuildRet(b->builder, result);
    LLVMPositionBuilderAtEnd(b->builder, next);
}

static void end_loop(body *b, size_t count, const LLVMValueRef *next, const LLVMValueRef *phis)
{
    LLVMBasicBlockRef here = LLVMGetInsertBlock(b->builder);
    for (size_t i = 0; i < count; i++) {
        LLVMValueRef value = next[i];
        LLVMAddIncoming(phis[i], &value, &here, 1);
    }
    LLVMBuildBr(b->builder, b->loop);
    LLVMPositionBuilderAtEnd(b->builder, b->done);
}

/* ---- fmod ---- */

/* What an exponent takes: the format's integers and numbers. */
typedef struct float_type {
    LLVMTypeRef type, integers;
    unsigned fraction, bias;
    double smallest_normal;
} float_type;

static float_type describe(const body *b)
{
    bool wide = element_of(b->type) == b->e->f64;
    return (float_type){.type = b->type,
                        .integers = weft_vector_type(wide ? b->e->i64 : b->e->i32, b->width),
                        .fraction = wide ? 52 : 23,
                        .bias = wide ? 1023 : 127,
                        .smallest_normal = wide ? 0x1p-1022 : 0x1p-126};
}

static LLVMValueRef number(body *b, double value)
{
    return weft_splat(b->e, LLVMConstReal(element_of(b->type), value), b->width);
}

static LLVMValueRef call(body *b, const char *name, unsigned count, LLVMValueRef *args)
{
    return weft_intrinsic_call(b->e, name, 1, &b->type, count, args);
}

/* The biased exponent of a number > 0 as if denormal ones had a leading bit like others. */
static LLVMValueRef exponent(body *b, const float_type *f, LLVMValueRef x)
{
    LLVMBuilderRef builder = b->builder;
    LLVMValueRef small = LLVMBuildFCmp(builder, LLVMRealOLT, x, number(b, f->smallest_normal), "");
    LLVMValueRef lift = number(b, (double)((uint64_t)1 << f->fraction));
    x = LLVMBuildFMul(builder, x, LLVMBuildSelect(builder, small, lift, number(b, 1.0), ""), "");
    LLVMValueRef bits = LLVMBuildBitCast(builder, x, f->integers, "");
    bits = LLVMBuildLShr(builder, bits, weft_int_like(f->integers, f->fraction), "");
    LLVMValueRef taken = weft_int_like(f->integers, f->fraction), none = LLVMConstNull(f->integers);
    return LLVMBuildSub(builder, bits, LLVMBuildSelect(builder, small, taken, none, ""), "");
}

static LLVMValueRef power(body *b, const float_type *f, LLVMValueRef k)
{
    LLVMValueRef bits = LLVMBuildAdd(b->builder, k, weft_int_like(f->integers, f->bias), "");
    bits = LLVMBuildShl(b->builder, bits, weft_int_like(f->integers, f->fraction), "");
    return LLVMBuildBitCast(b->builder, bits, b->type, "");
}

/* y * 2^k with the greatest k >= 0 for which x / (y * 2^k) is at least 2^(fraction - 2), if there is one. */
static LLVMValueRef raise(body *b, const float_type *f, LLVMValueRef x, LLVMValueRef y, LLVMValueRef y_exponent)
{
    LLVMBuilderRef builder = b->builder;
    LLVMValueRef none = LLVMConstNull(f->integers);
    LLVMValueRef k = LLVMBuildSub(builder, exponent(b, f, x), y_exponent, "");
    k = LLVMBuildSub(builder, k, weft_int_like(f->integers, f->fraction - 1), "");
    k = LLVMBuildSelect(builder, LLVMBuildICmp(builder, LLVMIntSLT, k, none, ""), none, k, "");
    LLVMValueRef half = LLVMBuildLShr(builder, k, weft_int_like(f->integers, 1), "");
    LLVMValueRef rest = LLVMBuildSub(builder, k, half, "");
    return LLVMBuildFMul(builder, LLVMBuildFMul(builder, y, power(b, f, half), ""), power(b, f, rest), "");
}

/*
 * One step of long division for all lanes: x - trunc(x / y) y, which is exact as below, if all quotients are below
 * 2^fraction; *out_unfit is set where that is not so, or y is infinite.
 */
static LLVMValueRef divide_once(body *b, const float_type *f, LLVMValueRef x, LLVMValueRef y, LLVMValueRef *out_unfit)
{
    LLVMBuilderRef builder = b->builder;
    LLVMValueRef zero = LLVMConstNull(b->type), quotient = LLVMBuildFDiv(builder, x, y, "");
    LLVMValueRef down = LLVMBuildFNeg(builder, call(b, "llvm.trunc", 1, &quotient), "");
    LLVMValueRef rest = call(b, "llvm.fma", 3, (LLVMValueRef[]){down, y, x});
    LLVMValueRef over = LLVMBuildFCmp(builder, LLVMRealOLT, rest, zero, "");
    LLVMValueRef limit = number(b, (double)((uint64_t)1 << f->fraction));
    LLVMValueRef far = LLVMBuildFCmp(builder, LLVMRealUGE, quotient, limit, "");
    LLVMValueRef undefined = LLVMBuildFCmp(builder, LLVMRealUNO, rest, rest, "");
    *out_unfit = LLVMBuildOr(builder, far, undefined, "");
    return LLVMBuildSelect(builder, over, LLVMBuildFAdd(builder, rest, y, ""), rest, "");
}

/*
 * Long division in steps of nearly a significand: x -= trunc(x / t) t for t = |y| 2^k. The quotient is below
 * 2^fraction, so that rounding makes it one too large at most; the fma is exact, for its result is a multiple of the
 * last place of t and not larger than t. 42 steps at most in f64, 13 in f32.
 */
static LLVMValueRef write_fmod(body *b, LLVMValueRef x, LLVMValueRef y)
{
    LLVMBuilderRef builder = b->builder;
    float_type f = describe(b);
    LLVMValueRef zero = LLVMConstNull(b->type), left = call(b, "llvm.fabs", 1, &x), right = call(b, "llvm.fabs", 1, &y);
    if (b->width > 1) {
        LLVMValueRef unfit, rest = divide_once(b, &f, left, right, &unfit);
        return_unless(b, unfit, call(b, "llvm.copysign", 2, (LLVMValueRef[]){rest, x}));
    }
    LLVMValueRef finite = LLVMBuildFCmp(builder, LLVMRealOLT, left, number(b, __builtin_inf()), "");
    LLVMValueRef defined = LLVMBuildFCmp(builder, LLVMRealOGT, right, zero, "");
    defined = LLVMBuildAnd(builder, finite, defined, "");
    left = LLVMBuildSelect(builder, defined, left, zero, "");
    right = LLVMBuildSelect(builder, defined, right, number(b, 1.0), "");
    LLVMValueRef y_exponent = exponent(b, &f, right), phi, next;
    begin_loop(b, 1, &left, &phi);
    LLVMValueRef more = LLVMBuildFCmp(builder, LLVMRealOGE, phi, right, "");
    leave_unless(b, more);
    LLVMValueRef t = raise(b, &f, phi, right, y_exponent), quotient = LLVMBuildFDiv(builder, phi, t, "");
    LLVMValueRef down = LLVMBuildFNeg(builder, call(b, "llvm.trunc", 1, &quotient), "");
    LLVMValueRef rest = call(b, "llvm.fma", 3, (LLVMValueRef[]){down, t, phi});
    LLVMValueRef over = LLVMBuildFCmp(builder, LLVMRealOLT, rest, zero, "");
    rest = LLVMBuildSelect(builder, over, LLVMBuildFAdd(builder, rest, t, ""), rest, "");
    next = LLVMBuildSelect(builder, more, rest, phi, "");
    end_loop(b, 1, &next, &phi);
    LLVMValueRef result = call(b, "llvm.copysign", 2, (LLVMValueRef[]){phi, x});
    return LLVMBuildSelect(builder, defined, result, number(b, __builtin_nan("")), "");
}

/* ---- powers of integers ---- */

static LLVMValueRef is_value(body *b, LLVMValueRef x, int64_t value)
{
    return LLVMBuildICmp(b->builder, LLVMIntEQ, x, weft_int_like(b->type, value), "");
}

/* By squares. 1 / x^n cut off is 0 except for 1 and -1, where only n mod 2 counts. */
static LLVMValueRef write_power(body *b, LLVMValueRef x, LLVMValueRef n, bool is_signed)
{
    LLVMBuilderRef builder = b->builder;
    LLVMValueRef none = LLVMConstNull(b->type), one = weft_int_like(b->type, 1), negative = NULL;
    LLVMValueRef phis[3], next[3], left[3] = {one, x, n};
    if (is_signed) {
        negative = LLVMBuildICmp(builder, LLVMIntSLT, n, none, "");
        left[2] = LLVMBuildSelect(builder, negative, LLVMBuildAnd(builder, n, one, ""), n, "");
    }
    begin_loop(b, 3, left, phis);
    leave_unless(b, LLVMBuildICmp(builder, LLVMIntNE, phis[2], none, ""));
    LLVMValueRef odd = LLVMBuildICmp(builder, LLVMIntNE, LLVMBuildAnd(builder, phis[2], one, ""), none, "");
    next[0] = LLVMBuildSelect(builder, odd, LLVMBuildMul(builder, phis[0], phis[1], ""), phis[0], "");
    next[1] = LLVMBuildMul(builder, phis[1], phis[1], "");
    next[2] = LLVMBuildLShr(builder, phis[2], one, "");
    end_loop(b, 3, next, phis);
    if (!is_signed) return phis[0];
    LLVMValueRef unit = LLVMBuildOr(builder, is_value(b, x, 1), is_value(b, x, -1), "");
    LLVMValueRef vanishes = LLVMBuildAnd(builder, negative, LLVMBuildNot(builder, unit, ""), "");
    return LLVMBuildSelect(builder, vanishes, none, phis[0], "");
}

/* ---- calls ---- */

static LLVMValueRef create(weft_emitter *e, const char *name, weft_scalar_op op, weft_dtype dtype, LLVMTypeRef type)
{
    LLVMTypeRef types[2] = {type, type};
    LLVMBuilderRef outer = e->builder;
    uint32_t width = LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 1;
    body b = {.e = e, .type = type, .width = width, .builder = LLVMCreateBuilderInContext(e->context)};
    b.function = LLVMAddFunction(e->module, name, LLVMFunctionType(type, types, 2, false));
    LLVMSetLinkage(b.function, LLVMInternalLinkage);
    weft_function_decorate(e, b.function);
    e->builder = b.builder;
    LLVMPositionBuilderAtEnd(b.builder, LLVMAppendBasicBlockInContext(e->context, b.function, ""));
    LLVMValueRef x = LLVMGetParam(b.function, 0), y = LLVMGetParam(b.function, 1);
    bool is_signed = weft_dtype_info_of(dtype)->kind == WEFT_KIND_SIGNED;
    LLVMBuildRet(b.builder, op == WEFT_SCALAR_fmod ? write_fmod(&b, x, y) : write_power(&b, x, y, is_signed));
    LLVMDisposeBuilder(b.builder);
    e->builder = outer;
    return b.function;
}

LLVMValueRef weft_function_call(weft_emitter *e, weft_scalar_op op, weft_dtype dtype, LLVMValueRef *args)
{
    LLVMTypeRef type = LLVMTypeOf(args[0]), types[2] = {type, type};
    uint32_t width = LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 1;
    char name[64];
    snprintf(name, sizeof name, "weft_local_%s_%s_%u%s", weft_scalar_name(op), weft_dtype_name(dtype), (unsigned)width,
             e->processor->suffix);
    LLVMValueRef function = LLVMGetNamedFunction(e->module, name);
    if (function == NULL) function = create(e, name, op, dtype, type);
    return LLVMBuildCall2(e->builder, LLVMFunctionType(type, types, 2, false), function, args, 2, "");
}
