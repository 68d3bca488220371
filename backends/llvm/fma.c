/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/fma.h"
#include <string.h>
#include "backends/llvm/target.h"

enum { OPERANDS = 3 };

static const char intrinsic[] = "llvm.fma";

/* Whether one of the words between commas of an attribute is `word`. */
static bool has_word(LLVMValueRef function, const char *key, const char *word)
{
    unsigned length = 0;
    LLVMAttributeRef attribute = LLVMGetStringAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                                               key, (unsigned)strlen(key));
    const char *text = attribute != NULL ? LLVMGetStringAttributeValue(attribute, &length) : "";
    const char *at = text, *end = text + length;
    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        size_t size = (size_t)((comma != NULL ? comma : end) - at);
        if (size == strlen(word) && memcmp(at, word, size) == 0) return true;
        at += size + 1;
    }
    return false;
}

/* By the features that a function is compiled for, or by its level. Others that have it, in bitcode of extensions, get
 * calls as well, for the same results. */
static bool has_instruction(LLVMValueRef function)
{
    static const char features[] = "target-features", cpu[] = "target-cpu";
    if (has_word(function, features, "-fma")) return false;
    return has_word(function, features, "+fma") || has_word(function, cpu, weft_processor_of_level(WEFT_ISA_V3)->cpu) ||
           has_word(function, cpu, weft_processor_of_level(WEFT_ISA_V4)->cpu);
}

static void add_attribute(LLVMValueRef function, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(context, kind, 0));
}

/* Its result depends on its operands alone. */
static void decorate(LLVMValueRef function)
{
    static const char *const names[] = {"nounwind", "willreturn", "memory"}; /* none */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) add_attribute(function, names[i]);
}

/* ---- f64: functions of the runtime ---- */

/* That of the module, in a freestanding object, or one outside. */
static LLVMValueRef find_runtime(LLVMModuleRef module, LLVMTypeRef type)
{
    static const char name[] = "weft_fma_f64";
    LLVMValueRef function = LLVMGetNamedFunction(module, name);
    if (function == NULL) {
        function = LLVMAddFunction(module, name, type);
        decorate(function);
    }
    return function;
}

static LLVMValueRef call_lane(LLVMBuilderRef builder, LLVMValueRef function, LLVMTypeRef type,
                              const LLVMValueRef *operands, LLVMValueRef lane)
{
    LLVMValueRef elements[OPERANDS];
    for (unsigned i = 0; i < OPERANDS; i++) elements[i] = LLVMBuildExtractElement(builder, operands[i], lane, "");
    return LLVMBuildCall2(builder, type, function, elements, OPERANDS, "");
}

static LLVMValueRef call_runtime(LLVMModuleRef module, LLVMBuilderRef builder, LLVMTypeRef number, LLVMTypeRef whole,
                                 LLVMValueRef *operands)
{
    LLVMTypeRef type = LLVMFunctionType(number, (LLVMTypeRef[OPERANDS]){number, number, number}, OPERANDS, false);
    LLVMValueRef function = find_runtime(module, type), result = LLVMGetPoison(whole);
    if (whole == number) return LLVMBuildCall2(builder, type, function, operands, OPERANDS, "");
    LLVMTypeRef index = LLVMInt32TypeInContext(LLVMGetTypeContext(whole));
    for (unsigned i = 0; i < LLVMGetVectorSize(whole); i++) {
        LLVMValueRef lane = LLVMConstInt(index, i, false);
        result = LLVMBuildInsertElement(builder, result, call_lane(builder, function, type, operands, lane), lane, "");
    }
    return result;
}

/* ---- f32: a function in the module ---- */

/* Of one number or of a register of four, which every caller passes alike, whatever it is compiled for. */
enum { LANES = 4 };

static LLVMTypeRef like(LLVMTypeRef element, LLVMTypeRef whole)
{
    return LLVMGetTypeKind(whole) == LLVMVectorTypeKind ? LLVMVectorType(element, LANES) : element;
}

static LLVMValueRef integer(LLVMTypeRef type, int64_t value)
{
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return LLVMConstInt(type, (unsigned long long)value, true);
    LLVMValueRef items[LANES];
    for (unsigned i = 0; i < LANES; i++) items[i] = integer(LLVMGetElementType(type), value);
    return LLVMConstVector(items, LANES);
}

/* In f64 the product is exact. Of the sum, rounded, whose last bit is even where it is not exact, the neighbour toward
 * the exact one is taken: rounded to odd, it is rounded to f32 as the exact one is (Boldo and Melquiond, Emulation of a
 * FMA and correctly rounded sums, 2008). The error of the sum is Knuth's. */
static LLVMValueRef emit_sum(LLVMBuilderRef b, LLVMValueRef function, LLVMTypeRef whole)
{
    LLVMContextRef context = LLVMGetTypeContext(whole);
    LLVMTypeRef wide = like(LLVMDoubleTypeInContext(context), whole),
                code = like(LLVMInt64TypeInContext(context), whole);
    LLVMValueRef x[OPERANDS], zero = LLVMConstNull(code);
    for (unsigned i = 0; i < OPERANDS; i++) x[i] = LLVMBuildFPExt(b, LLVMGetParam(function, i), wide, "");
    LLVMValueRef product = LLVMBuildFMul(b, x[0], x[1], ""), sum = LLVMBuildFAdd(b, product, x[2], "");
    LLVMValueRef other = LLVMBuildFSub(b, sum, product, ""), one = LLVMBuildFSub(b, sum, other, "");
    LLVMValueRef error = LLVMBuildFAdd(b, LLVMBuildFSub(b, product, one, ""), LLVMBuildFSub(b, x[2], other, ""), "");
    LLVMValueRef bits = LLVMBuildBitCast(b, sum, code, ""), direction = LLVMBuildBitCast(b, error, code, "");
    LLVMValueRef is_inexact = LLVMBuildFCmp(b, LLVMRealONE, error, LLVMConstNull(wide), "");
    LLVMValueRef is_even = LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAnd(b, bits, integer(code, 1), ""), zero, "");
    /* The signs of the sum and of its error: equal ones, away from zero. */
    LLVMValueRef away = LLVMBuildAShr(b, LLVMBuildXor(b, bits, direction, ""), integer(code, 63), "");
    LLVMValueRef step = LLVMBuildOr(b, away, integer(code, 1), ""), moves = LLVMBuildAnd(b, is_inexact, is_even, "");
    LLVMValueRef odd = LLVMBuildAdd(b, bits, LLVMBuildSelect(b, moves, step, zero, ""), "");
    return LLVMBuildFPTrunc(b, LLVMBuildBitCast(b, odd, wide, ""), whole, "");
}

/* Compiled for the least level, whatever this process runs on: any object may call it. */
static void set_processor(LLVMValueRef function)
{
    const weft_processor *least = weft_processor_of_level(WEFT_ISA_V2);
    LLVMAddTargetDependentFunctionAttr(function, "target-cpu", least->cpu);
    LLVMAddTargetDependentFunctionAttr(function, "target-features", least->features);
}

static LLVMValueRef find_sum(LLVMModuleRef module, LLVMTypeRef type, LLVMTypeRef whole)
{
    const char *name = LLVMGetTypeKind(whole) == LLVMVectorTypeKind ? "fma.f32.4" : "fma.f32";
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMValueRef function = LLVMGetNamedFunction(module, name);
    if (function != NULL) return function;
    function = LLVMAddFunction(module, name, type);
    LLVMSetLinkage(function, LLVMInternalLinkage);
    decorate(function);
    add_attribute(function, "noinline");
    set_processor(function);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
    LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(context, function, ""));
    LLVMBuildRet(builder, emit_sum(builder, function, whole));
    LLVMDisposeBuilder(builder);
    return function;
}

static LLVMValueRef call_sum(LLVMModuleRef module, LLVMBuilderRef builder, LLVMTypeRef whole, LLVMValueRef *operands)
{
    LLVMTypeRef type = LLVMFunctionType(whole, (LLVMTypeRef[OPERANDS]){whole, whole, whole}, OPERANDS, false);
    return LLVMBuildCall2(builder, type, find_sum(module, type, whole), operands, OPERANDS, "");
}

/* Four lanes from `first` on; those after the last one of `count` are any. */
static LLVMValueRef take_lanes(LLVMBuilderRef builder, LLVMValueRef vector, unsigned count, unsigned first)
{
    LLVMTypeRef index = LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(vector)));
    LLVMValueRef order[LANES];
    for (unsigned i = 0; i < LANES; i++)
        order[i] = first + i < count ? LLVMConstInt(index, first + i, false) : LLVMGetPoison(index);
    return LLVMBuildShuffleVector(builder, vector, LLVMGetPoison(LLVMTypeOf(vector)), LLVMConstVector(order, LANES),
                                  "");
}

static LLVMValueRef call_lanes(LLVMModuleRef module, LLVMBuilderRef builder, LLVMTypeRef whole, LLVMValueRef *operands)
{
    LLVMTypeRef number = LLVMGetElementType(whole), some = LLVMVectorType(number, LANES);
    LLVMTypeRef index = LLVMInt32TypeInContext(LLVMGetTypeContext(whole));
    LLVMValueRef result = LLVMGetPoison(whole), parts[OPERANDS];
    unsigned count = LLVMGetVectorSize(whole);
    for (unsigned first = 0; first < count; first += LANES) {
        for (unsigned i = 0; i < OPERANDS; i++) parts[i] = take_lanes(builder, operands[i], count, first);
        LLVMValueRef sums = call_sum(module, builder, some, parts);
        for (unsigned i = 0; i < LANES && first + i < count; i++) {
            LLVMValueRef sum = LLVMBuildExtractElement(builder, sums, LLVMConstInt(index, i, false), "");
            result = LLVMBuildInsertElement(builder, result, sum, LLVMConstInt(index, first + i, false), "");
        }
    }
    return result;
}

static LLVMValueRef call_function(LLVMModuleRef module, LLVMBuilderRef builder, LLVMTypeRef whole,
                                  LLVMValueRef *operands)
{
    bool is_vector = LLVMGetTypeKind(whole) == LLVMVectorTypeKind;
    return is_vector ? call_lanes(module, builder, whole, operands) : call_sum(module, builder, whole, operands);
}

/* ---- calls ---- */

static LLVMTypeRef number_of(LLVMTypeRef whole)
{
    return LLVMGetTypeKind(whole) == LLVMVectorTypeKind ? LLVMGetElementType(whole) : whole;
}

static void replace(LLVMModuleRef module, LLVMBuilderRef builder, LLVMValueRef call)
{
    LLVMTypeRef whole = LLVMTypeOf(call), number = number_of(whole);
    LLVMValueRef operands[OPERANDS];
    for (unsigned i = 0; i < OPERANDS; i++) operands[i] = LLVMGetOperand(call, i);
    LLVMPositionBuilderBefore(builder, call);
    LLVMReplaceAllUsesWith(call, LLVMGetTypeKind(number) == LLVMFloatTypeKind
                                     ? call_function(module, builder, whole, operands)
                                     : call_runtime(module, builder, number, whole, operands));
    LLVMInstructionEraseFromParent(call);
}

static bool is_fma(LLVMValueRef function, bool with_runtime)
{
    if (LLVMGetIntrinsicID(function) != LLVMLookupIntrinsicID(intrinsic, sizeof intrinsic - 1)) return false;
    LLVMTypeKind kind = LLVMGetTypeKind(number_of(LLVMGetReturnType(LLVMGlobalGetValueType(function))));
    return kind == LLVMFloatTypeKind || (kind == LLVMDoubleTypeKind && with_runtime);
}

/* Nothing but calls uses an intrinsic function. */
static void replace_calls(LLVMModuleRef module, LLVMBuilderRef builder, LLVMValueRef function)
{
    for (LLVMUseRef use = LLVMGetFirstUse(function), next; use != NULL; use = next) {
        LLVMValueRef call = LLVMGetUser(use);
        next = LLVMGetNextUse(use);
        if (!has_instruction(LLVMGetBasicBlockParent(LLVMGetInstructionParent(call)))) replace(module, builder, call);
    }
}

void weft_fma_replace(LLVMModuleRef module, bool with_runtime)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f != NULL; f = LLVMGetNextFunction(f))
        if (is_fma(f, with_runtime)) replace_calls(module, builder, f);
    LLVMDisposeBuilder(builder);
}
