/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masked loads of elements of one and two bytes, for which processors have no instruction before AVX-512. Masks are
 * those of seams between operands, so nearly all have all lanes or none: what tells them apart is inlined, and a
 * function beside the kernel loads some lanes, one after the other.
 */
#include "backends/llvm/emit.h"
#include <stdio.h>
#include <string.h>

/* A function (pointer, mask) that gives a vector, zero in lanes that take no part. */
typedef struct masked_load {
    weft_emitter *e;
    weft_dtype dtype;
    LLVMTypeRef type, element, bits, function_type;
    LLVMValueRef function, pointer, mask;
} masked_load;

static masked_load begin(weft_emitter *e, weft_dtype dtype, LLVMTypeRef type, LLVMTypeRef mask)
{
    return (masked_load){.e = e,
                         .dtype = dtype,
                         .type = type,
                         .element = LLVMGetElementType(type),
                         .bits = LLVMIntTypeInContext(e->context, LLVMGetVectorSize(type)),
                         .function_type = LLVMFunctionType(type, (LLVMTypeRef[]){e->pointer, mask}, 2, false)};
}

/* Whether the function is still to be written. */
static bool find(masked_load *n, const char *what, const char *attribute)
{
    char name[64];
    snprintf(name, sizeof name, "weft_local_%s_%s_%u%s", what, weft_dtype_name(n->dtype),
             (unsigned)LLVMGetVectorSize(n->type), n->e->processor->suffix);
    n->function = LLVMGetNamedFunction(n->e->module, name);
    bool is_new = n->function == NULL;
    if (is_new) {
        n->function = LLVMAddFunction(n->e->module, name, n->function_type);
        LLVMSetLinkage(n->function, LLVMInternalLinkage);
        weft_function_decorate(n->e, n->function);
        unsigned kind = LLVMGetEnumAttributeKindForName(attribute, strlen(attribute));
        LLVMAddAttributeAtIndex(n->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                LLVMCreateEnumAttribute(n->e->context, kind, 0));
    }
    n->pointer = LLVMGetParam(n->function, 0);
    n->mask = LLVMGetParam(n->function, 1);
    return is_new;
}

static LLVMBasicBlockRef new_block(const masked_load *n)
{
    return LLVMAppendBasicBlockInContext(n->e->context, n->function, "");
}

static LLVMValueRef load_from(const masked_load *n, LLVMTypeRef type, LLVMValueRef pointer)
{
    LLVMValueRef value = LLVMBuildLoad2(n->e->builder, type, pointer, "");
    LLVMSetAlignment(value, weft_dtype_info_of(n->dtype)->alignment);
    return value;
}

static LLVMValueRef equals(const masked_load *n, LLVMValueRef bits, LLVMValueRef wanted)
{
    return LLVMBuildICmp(n->e->builder, LLVMIntEQ, bits, wanted, "");
}

/* From the first lane of a mask, which is not empty, to the last one. */
static void write_lanes(const masked_load *n)
{
    LLVMBuilderRef builder = n->e->builder;
    LLVMBasicBlockRef blocks[2] = {new_block(n), new_block(n)}, done = new_block(n);
    LLVMPositionBuilderAtEnd(builder, blocks[0]);
    LLVMValueRef all = LLVMBuildBitCast(builder, n->mask, n->bits, "");
    LLVMBuildBr(builder, blocks[1]);
    LLVMPositionBuilderAtEnd(builder, blocks[1]);
    LLVMValueRef left = LLVMBuildPhi(builder, n->bits, ""), lanes = LLVMBuildPhi(builder, n->type, "");
    LLVMValueRef args[2] = {left, LLVMConstInt(n->e->i1, 1, false)};
    LLVMValueRef lane = weft_intrinsic_call(n->e, "llvm.cttz", 1, (LLVMTypeRef[]){n->bits}, 2, args);
    lane = LLVMBuildIntCast2(builder, lane, n->e->i64, false, "");
    LLVMValueRef from = LLVMBuildGEP2(builder, n->element, n->pointer, &lane, 1, "");
    LLVMValueRef next = LLVMBuildInsertElement(builder, lanes, load_from(n, n->element, from), lane, "");
    LLVMValueRef rest = LLVMBuildSub(builder, left, LLVMConstInt(n->bits, 1, false), "");
    rest = LLVMBuildAnd(builder, left, rest, "");
    LLVMBuildCondBr(builder, equals(n, rest, LLVMConstNull(n->bits)), done, blocks[1]);
    LLVMAddIncoming(left, (LLVMValueRef[]){all, rest}, blocks, 2);
    LLVMAddIncoming(lanes, (LLVMValueRef[]){LLVMConstNull(n->type), next}, blocks, 2);
    LLVMPositionBuilderAtEnd(builder, done);
    LLVMBuildRet(builder, next);
}

static void write_cases(const masked_load *n, const masked_load *some)
{
    LLVMBuilderRef builder = n->e->builder;
    LLVMBasicBlockRef entry = new_block(n), whole = new_block(n), part = new_block(n), call = new_block(n),
                      done = new_block(n);
    LLVMPositionBuilderAtEnd(builder, entry);
    LLVMValueRef bits = LLVMBuildBitCast(builder, n->mask, n->bits, "");
    LLVMBuildCondBr(builder, equals(n, bits, LLVMConstAllOnes(n->bits)), whole, part);
    LLVMPositionBuilderAtEnd(builder, whole);
    LLVMValueRef vector = load_from(n, n->type, n->pointer);
    LLVMBuildBr(builder, done);
    LLVMPositionBuilderAtEnd(builder, part);
    LLVMBuildCondBr(builder, equals(n, bits, LLVMConstNull(n->bits)), done, call);
    LLVMPositionBuilderAtEnd(builder, call);
    LLVMValueRef args[2] = {n->pointer, n->mask};
    LLVMValueRef lanes = LLVMBuildCall2(builder, some->function_type, some->function, args, 2, "");
    LLVMBuildBr(builder, done);
    LLVMPositionBuilderAtEnd(builder, done);
    LLVMValueRef result = LLVMBuildPhi(builder, n->type, "");
    LLVMAddIncoming(result, (LLVMValueRef[]){vector, LLVMConstNull(n->type), lanes},
                    (LLVMBasicBlockRef[]){whole, part, call}, 3);
    LLVMBuildRet(builder, result);
}

LLVMValueRef weft_masked_load(weft_emitter *e, weft_dtype dtype, LLVMTypeRef type, LLVMValueRef pointer,
                              LLVMValueRef mask)
{
    masked_load load = begin(e, dtype, type, LLVMTypeOf(mask)), some = load;
    LLVMBuilderRef outer = e->builder;
    if (find(&load, "load", "alwaysinline")) {
        e->builder = LLVMCreateBuilderInContext(e->context);
        if (find(&some, "load_some", "noinline")) write_lanes(&some);
        write_cases(&load, &some);
        LLVMDisposeBuilder(e->builder);
        e->builder = outer;
    }
    return LLVMBuildCall2(e->builder, load.function_type, load.function, (LLVMValueRef[]){pointer, mask}, 2, "");
}
