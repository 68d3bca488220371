/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/fma.h"
#include <stdbool.h>
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

static void decorate(LLVMValueRef function)
{
    static const char *const names[] = {"nounwind", "willreturn", "memory"}; /* none */
    LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        unsigned kind = LLVMGetEnumAttributeKindForName(names[i], strlen(names[i]));
        LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                LLVMCreateEnumAttribute(context, kind, 0));
    }
}

/* The runtime's function for numbers of a type: that of the module, in a freestanding object, or one outside. */
static LLVMValueRef find_function(LLVMModuleRef module, LLVMTypeRef number, LLVMTypeRef type)
{
    const char *name = LLVMGetTypeKind(number) == LLVMFloatTypeKind ? "weft_fma_f32" : "weft_fma_f64";
    LLVMValueRef function = LLVMGetNamedFunction(module, name);
    if (function == NULL) {
        function = LLVMAddFunction(module, name, type);
        decorate(function);
    }
    return function;
}

static LLVMValueRef call_lane(LLVMBuilderRef builder, LLVMValueRef function, LLVMTypeRef type, LLVMValueRef call,
                              LLVMValueRef lane)
{
    LLVMValueRef operands[OPERANDS];
    for (unsigned i = 0; i < OPERANDS; i++) {
        operands[i] = LLVMGetOperand(call, i);
        if (lane != NULL) operands[i] = LLVMBuildExtractElement(builder, operands[i], lane, "");
    }
    return LLVMBuildCall2(builder, type, function, operands, OPERANDS, "");
}

static LLVMValueRef call_lanes(LLVMBuilderRef builder, LLVMValueRef function, LLVMTypeRef type, LLVMValueRef call)
{
    LLVMTypeRef vector = LLVMTypeOf(call);
    LLVMTypeRef index = LLVMInt32TypeInContext(LLVMGetTypeContext(vector));
    LLVMValueRef result = LLVMGetPoison(vector);
    for (unsigned i = 0; i < LLVMGetVectorSize(vector); i++) {
        LLVMValueRef lane = LLVMConstInt(index, i, false);
        result = LLVMBuildInsertElement(builder, result, call_lane(builder, function, type, call, lane), lane, "");
    }
    return result;
}

static void replace(LLVMModuleRef module, LLVMBuilderRef builder, LLVMValueRef call)
{
    bool is_vector = LLVMGetTypeKind(LLVMTypeOf(call)) == LLVMVectorTypeKind;
    LLVMTypeRef number = is_vector ? LLVMGetElementType(LLVMTypeOf(call)) : LLVMTypeOf(call);
    LLVMTypeRef type = LLVMFunctionType(number, (LLVMTypeRef[OPERANDS]){number, number, number}, OPERANDS, false);
    LLVMValueRef function = find_function(module, number, type);
    LLVMPositionBuilderBefore(builder, call);
    LLVMReplaceAllUsesWith(call, is_vector ? call_lanes(builder, function, type, call)
                                           : call_lane(builder, function, type, call, NULL));
    LLVMInstructionEraseFromParent(call);
}

/* Of f32 and f64, the floats that the runtime has functions for. */
static bool is_fma(LLVMValueRef function)
{
    if (LLVMGetIntrinsicID(function) != LLVMLookupIntrinsicID(intrinsic, sizeof intrinsic - 1)) return false;
    LLVMTypeRef type = LLVMGetReturnType(LLVMGlobalGetValueType(function));
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) type = LLVMGetElementType(type);
    return LLVMGetTypeKind(type) == LLVMFloatTypeKind || LLVMGetTypeKind(type) == LLVMDoubleTypeKind;
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

void weft_fma_replace(LLVMModuleRef module)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f != NULL; f = LLVMGetNextFunction(f))
        if (is_fma(f)) replace_calls(module, builder, f);
    LLVMDisposeBuilder(builder);
}
