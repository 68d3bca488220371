/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/import.h"
#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Error.h>
#include <llvm-c/Linker.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <string.h>
#include "backends/llvm/freestanding.h"
#include "backends/llvm/target.h"

/* The bitcode of one or more ops. */
typedef struct bitcode {
    const weft_allocator *allocator;
    const weft_object_request *request;
    const weft_op_def *op; /* the first of them */
    LLVMModuleRef module;  /* of the object */
    LLVMModuleRef read;
} bitcode;

static weft_status *refuse(const bitcode *b, const char *format, const char *what)
{
    char text[256];
    snprintf(text, sizeof text, format, what);
    return weft_status_create(b->allocator, WEFT_UNSUPPORTED, b->op->name, "op %s: the bitcode of its extension %s",
                              b->op->name, text);
}

/* ---- checks ---- */

/* Of one that others may name. */
static weft_status *check_definition(const bitcode *b, const char *symbol)
{
    if (symbol == NULL) return NULL;
    LLVMValueRef function = LLVMGetNamedFunction(b->read, symbol);
    if (function == NULL || LLVMIsDeclaration(function)) return refuse(b, "does not define %s", symbol);
    switch (LLVMGetLinkage(function)) {
    case LLVMExternalLinkage:
    case LLVMWeakAnyLinkage:
    case LLVMWeakODRLinkage: return NULL;
    case LLVMInternalLinkage:
    case LLVMPrivateLinkage: return refuse(b, "defines %s as static", symbol);
    default: return refuse(b, "defines %s as inline, which others may leave out", symbol);
    }
}

/* That it has no need of what there is not in an object without a library. */
static weft_status *check_needs(const bitcode *b, LLVMValueRef value)
{
    size_t length;
    const char *name = LLVMGetValueName2(value, &length);
    LLVMValueRef known = LLVMGetNamedFunction(b->module, name);
    if (!weft_freestanding_is_foreign(value) || (known != NULL && !LLVMIsDeclaration(known))) return NULL;
    return refuse(b, "needs %s, which a freestanding object must not", name);
}

static weft_status *check_all_needs(const bitcode *b)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(b->read); f != NULL; f = LLVMGetNextFunction(f))
        WEFT_TRY(check_needs(b, f));
    for (LLVMValueRef g = LLVMGetFirstGlobal(b->read); g != NULL; g = LLVMGetNextGlobal(g)) WEFT_TRY(check_needs(b, g));
    return NULL;
}

static weft_status *check(const bitcode *b)
{
    if (LLVMVerifyModule(b->read, LLVMReturnStatusAction, NULL)) return refuse(b, "is broken%s", "");
    if (strcmp(LLVMGetDataLayoutStr(b->read), LLVMGetDataLayoutStr(b->module)) != 0)
        return refuse(b, "is for %s", LLVMGetTarget(b->read));
    for (size_t i = 0; i < b->request->import_count; i++) {
        const weft_op_def *op = b->request->imports[i].op;
        if (op->bitcode != b->op->bitcode) continue;
        WEFT_TRY(check_definition(b, op->kernel_symbol));
        WEFT_TRY(check_definition(b, op->scratch_symbol));
    }
    return NULL;
}

/* ---- names ---- */

static bool is_kernel(const bitcode *b, const char *name)
{
    bool found = false;
    for (size_t i = 0; i < b->request->import_count; i++) {
        const weft_op_def *op = b->request->imports[i].op;
        if (op->bitcode != b->op->bitcode) continue;
        found |= strcmp(op->kernel_symbol, name) == 0;
        found |= op->scratch_symbol != NULL && strcmp(op->scratch_symbol, name) == 0;
    }
    return found;
}

/* All but the kernels becomes "OP.name", which no other bitcode has, nor C. What LLVM itself reads stays as it is. */
static void hide(const bitcode *b, LLVMValueRef value)
{
    char name[256];
    size_t length;
    const char *old = LLVMGetValueName2(value, &length);
    if (LLVMIsDeclaration(value) || LLVMGetLinkage(value) == LLVMAppendingLinkage || is_kernel(b, old)) return;
    int size = snprintf(name, sizeof name, "%s.%s", b->op->name, old);
    LLVMSetValueName2(value, name, (size_t)size < sizeof name ? (size_t)size : sizeof name - 1);
    LLVMSetLinkage(value, LLVMInternalLinkage);
}

/* A function that does not say for which processor it is has none but the least. */
static void find_processor(const bitcode *b, LLVMValueRef function)
{
    static const char key[] = "target-cpu";
    int level = 0;
    while (level + 1 < WEFT_ISA_COUNT && !b->request->levels[level]) level++;
    const weft_processor *least = weft_processor_of_level((weft_isa)level);
    LLVMAttributeIndex at = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
    if (LLVMIsDeclaration(function) || LLVMGetStringAttributeAtIndex(function, at, key, sizeof key - 1) != NULL) return;
    LLVMAddTargetDependentFunctionAttr(function, key, least->cpu);
    LLVMAddTargetDependentFunctionAttr(function, "target-features", least->features);
}

static void hide_all(const bitcode *b)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(b->read); f != NULL; f = LLVMGetNextFunction(f)) {
        find_processor(b, f);
        hide(b, f);
    }
    for (LLVMValueRef g = LLVMGetFirstGlobal(b->read); g != NULL; g = LLVMGetNextGlobal(g)) hide(b, g);
    for (LLVMValueRef a = LLVMGetFirstGlobalAlias(b->read); a != NULL; a = LLVMGetNextGlobalAlias(a)) hide(b, a);
}

/* ---- linking ---- */

/* Of the module that the object has. */
static void hide_kernels(const bitcode *b)
{
    for (size_t i = 0; i < b->request->import_count; i++) {
        const weft_op_def *op = b->request->imports[i].op;
        if (op->bitcode != b->op->bitcode) continue;
        LLVMSetLinkage(LLVMGetNamedFunction(b->module, op->kernel_symbol), LLVMInternalLinkage);
        if (op->scratch_symbol != NULL)
            LLVMSetLinkage(LLVMGetNamedFunction(b->module, op->scratch_symbol), LLVMInternalLinkage);
    }
}

/* Leaves of what was read the kernels, and what they use. */
static weft_status *prune(const bitcode *b)
{
    LLVMStripModuleDebugInfo(b->read);
    LLVMSetTarget(b->read, LLVMGetTarget(b->module));
    hide_all(b);
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(b->read, "globaldce", NULL, options);
    LLVMDisposePassBuilderOptions(options);
    if (error == LLVMErrorSuccess) return NULL;
    LLVMConsumeError(error);
    return refuse(b, "cannot be reduced to its kernels%s", "");
}

/* Takes what was read. */
static weft_status *link_read(const bitcode *b)
{
    weft_status *status = check(b);
    if (status == NULL) status = prune(b);
    if (status == NULL && b->request->freestanding) status = check_all_needs(b);
    if (status != NULL) {
        LLVMDisposeModule(b->read);
        return status;
    }
    if (LLVMLinkModules2(b->module, b->read)) return refuse(b, "cannot be linked%s", "");
    hide_kernels(b);
    return NULL;
}

/* Errors of LLVM are reported to the context of the module. */
static weft_status *link_bitcode(bitcode *b)
{
    LLVMContextRef context = LLVMGetModuleContext(b->module);
    LLVMMemoryBufferRef bytes =
        LLVMCreateMemoryBufferWithMemoryRange(b->op->bitcode, b->op->bitcode_size, b->op->name, false);
    bool failed = LLVMParseBitcodeInContext2(context, bytes, &b->read);
    LLVMDisposeMemoryBuffer(bytes);
    return failed ? refuse(b, "is none that LLVM 19 reads%s", "") : link_read(b);
}

static bool is_linked(const weft_object_request *request, size_t number)
{
    const void *wanted = request->imports[number].op->bitcode;
    size_t i = 0;
    while (i < number && request->imports[i].op->bitcode != wanted) i++;
    return i < number;
}

weft_status *weft_import_link(const weft_allocator *allocator, const weft_object_request *request, LLVMModuleRef module)
{
    for (size_t i = 0; i < request->import_count; i++) {
        const weft_op_def *op = request->imports[i].op;
        bitcode b = {.allocator = allocator, .request = request, .op = op, .module = module};
        if (op->bitcode != NULL && !is_linked(request, i)) WEFT_TRY(link_bitcode(&b));
    }
    return NULL;
}
