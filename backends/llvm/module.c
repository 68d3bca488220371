/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/module.h"
#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/Object.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <string.h>
#include "backends/llvm/counter.h"
#include "backends/llvm/emit.h"
#include "backends/llvm/fma.h"
#include "backends/llvm/freestanding.h"
#include "backends/llvm/import.h"
#include "backends/llvm/object.h"
#include "backends/llvm/target.h"

/* Vectors are emitted as such, so what is left to do is folding; see README.md for what other lists cost. */
#define PASSES "always-inline,function(early-cse,instcombine<no-verify-fixpoint>,simplifycfg)"
#define QUICK_PASSES "always-inline,function(early-cse)"
#define LINKED_PASSES "globaldce," PASSES ",globaldce" /* of what was bitcode */

/* One compilation. */
typedef struct compilation {
    const weft_allocator *allocator;
    weft_target target;
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMTargetMachineRef machine;
    weft_status *error; /* the first diagnostic of error severity */
} compilation;

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *self)
{
    compilation *c = self;
    if (LLVMGetDiagInfoSeverity(info) != LLVMDSError || c->error != NULL) return;
    char *text = LLVMGetDiagInfoDescription(info);
    c->error = weft_status_create(c->allocator, WEFT_COMPILE_FAILED, "llvm", "LLVM reports: %s", text);
    LLVMDisposeMessage(text);
}

static weft_status *fail_with(const compilation *c, const char *what, char *message)
{
    weft_status *status = weft_status_create(c->allocator, WEFT_COMPILE_FAILED, "llvm", "%s: %s", what, message);
    LLVMDisposeMessage(message);
    return status;
}

static weft_status *create(compilation *c)
{
    WEFT_TRY(weft_target_machine_acquire(c->allocator, c->target, &c->machine));
    c->context = LLVMContextCreate();
    LLVMContextSetDiscardValueNames(c->context, true);
    LLVMContextSetDiagnosticHandler(c->context, on_diagnostic, c);
    c->module = LLVMModuleCreateWithNameInContext("kernel", c->context);
    char *triple = LLVMGetTargetMachineTriple(c->machine);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(c->machine);
    LLVMSetTarget(c->module, triple);
    LLVMSetModuleDataLayout(c->module, layout);
    LLVMDisposeTargetData(layout);
    LLVMDisposeMessage(triple);
    return NULL;
}

static void destroy(compilation *c)
{
    if (c->module != NULL) LLVMDisposeModule(c->module);
    if (c->context != NULL) LLVMContextDispose(c->context);
    weft_target_machine_release(c->target, c->machine);
    weft_status_destroy(c->error);
}

static weft_status *take_error(compilation *c)
{
    weft_status *error = c->error;
    c->error = NULL;
    return error;
}

static weft_status *verify(const compilation *c)
{
#ifdef NDEBUG
    (void)c;
#else
    char *message = NULL;
    LLVMBool broken = LLVMVerifyModule(c->module, LLVMReturnStatusAction, &message);
    if (broken) {
        weft_status *status =
            weft_status_create(c->allocator, WEFT_INTERNAL, "llvm", "the emitted module is broken: %s", message);
        LLVMDisposeMessage(message);
        return status;
    }
    LLVMDisposeMessage(message);
#endif
    return NULL;
}

static weft_status *run_passes(compilation *c, const char *passes)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(c->module, passes, c->machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (error == LLVMErrorSuccess) return take_error(c);
    char *text = LLVMGetErrorMessage(error);
    weft_status *status =
        weft_status_create(c->allocator, WEFT_COMPILE_FAILED, "llvm", "LLVM's passes failed: %s", text);
    LLVMDisposeErrorMessage(text);
    return status;
}

/* Without optimisation LLVM 19 folds loads where it must not: one of four bytes into a blend of sixteen, which reads
 * beyond the buffer; and shuffles that broadcast elements of one load send it into endless recursion. Volatile ones
 * stay as they are. */
static void keep_loads(const compilation *c)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(c->module); f != NULL; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block != NULL; block = LLVMGetNextBasicBlock(block))
            for (LLVMValueRef i = LLVMGetFirstInstruction(block); i != NULL; i = LLVMGetNextInstruction(i))
                if (LLVMIsALoadInst(i) != NULL) LLVMSetVolatile(i, true);
}

static weft_status *emit_text(const compilation *c, weft_bytes *out_bytes)
{
    char *text = LLVMPrintModuleToString(c->module);
    weft_bytes_print(out_bytes, "%s", text);
    LLVMDisposeMessage(text);
    return weft_bytes_status(out_bytes);
}

static weft_status *emit_code(compilation *c, LLVMCodeGenFileType type, weft_bytes *out_bytes)
{
    char *message = NULL;
    LLVMMemoryBufferRef code = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(c->machine, c->module, type, &message, &code))
        return fail_with(c, "LLVM emits no code", message);
    /* With a diagnostic handler, code generation may report an error and still succeed. */
    weft_status *status = take_error(c);
    if (status == NULL) {
        weft_bytes_append(out_bytes, LLVMGetBufferStart(code), LLVMGetBufferSize(code));
        status = weft_bytes_status(out_bytes);
    }
    LLVMDisposeMemoryBuffer(code);
    return status;
}

/* The function of kernel i of a group. */
static void name_function(const weft_code_group *group, size_t i, size_t size, char *out_name)
{
    if (i == 0) snprintf(out_name, size, "%s", group->symbol);
    else snprintf(out_name, size, "%s_%zu", group->symbol, i);
}

enum { NAME_SIZE = 256 };

static weft_status *add_group(const compilation *c, const weft_code_group *group)
{
    char name[NAME_SIZE];
    const weft_processor *processor = weft_processor_find(c->target);
    bool brief = c->target == WEFT_TARGET_HOST_QUICK;
    for (size_t i = 0; i < group->count; i++) {
        name_function(group, i, sizeof name, name);
        WEFT_TRY((brief ? weft_kernel_emit_briefly : weft_kernel_emit)(c->allocator, group->kernels[i], name, processor,
                                                                       c->module));
    }
    return NULL;
}

/* Where a function begins in its section; false if there is none. The name of the module is a symbol without a size. */
static bool find_function(LLVMBinaryRef object, const char *name, int64_t *out_address)
{
    LLVMSymbolIteratorRef symbol = LLVMObjectFileCopySymbolIterator(object);
    bool found = false;
    for (; !found && !LLVMObjectFileIsSymbolIteratorAtEnd(object, symbol); LLVMMoveToNextSymbol(symbol)) {
        found = strcmp(LLVMGetSymbolName(symbol), name) == 0 && LLVMGetSymbolSize(symbol) > 0;
        if (found) *out_address = (int64_t)LLVMGetSymbolAddress(symbol);
    }
    LLVMDisposeSymbolIterator(symbol);
    return found;
}

static weft_status *fill_offsets(const compilation *c, const weft_code_group *group, const weft_bytes *bytes)
{
    char name[NAME_SIZE], *message = NULL;
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange(bytes->data, bytes->size, "", false);
    LLVMBinaryRef object = LLVMCreateBinary(buffer, c->context, &message);
    if (object == NULL) {
        LLVMDisposeMemoryBuffer(buffer);
        return fail_with(c, "LLVM does not read its object", message);
    }
    int64_t first = 0, address = 0;
    bool found = find_function(object, group->symbol, &first);
    for (size_t i = 0; i < group->count && found; i++) {
        name_function(group, i, sizeof name, name);
        found = find_function(object, name, &address);
        group->offsets[i] = address - first;
    }
    LLVMDisposeBinary(object);
    LLVMDisposeMemoryBuffer(buffer);
    if (found) return NULL;
    return weft_status_create(c->allocator, WEFT_COMPILE_FAILED, "llvm", "LLVM's object has no function \"%s\"", name);
}

static bool lacks_fma(const compilation *c)
{
    bool is_host = c->target == WEFT_TARGET_HOST || c->target == WEFT_TARGET_HOST_QUICK;
    return is_host && weft_processor_find(c->target)->level < WEFT_ISA_V3;
}

/* Of a kernel, and its special function. */
static void freeze_counters_of(const compilation *c, const char *symbol)
{
    LLVMValueRef function = LLVMGetNamedFunction(c->module, symbol),
                 special = weft_kernel_find_special_function(symbol, c->module);
    if (function != NULL) weft_counters_freeze(function);
    if (special != NULL) weft_counters_freeze(special);
}

static weft_status *compile(compilation *c, const weft_code_group *group, weft_llvm_format format,
                            weft_bytes *out_bytes)
{
    WEFT_TRY(create(c));
    WEFT_TRY(add_group(c, group));
    if (lacks_fma(c)) weft_fma_replace(c->module, false);
    WEFT_TRY(verify(c));
    WEFT_TRY(run_passes(c, c->target == WEFT_TARGET_HOST_QUICK ? QUICK_PASSES : PASSES));
    if (c->target == WEFT_TARGET_HOST_QUICK) keep_loads(c);
    for (size_t i = 0; i < group->count && c->target == WEFT_TARGET_HOST; i++) {
        char name[NAME_SIZE];
        name_function(group, i, sizeof name, name);
        freeze_counters_of(c, name);
    }
    if (format == WEFT_LLVM_IR) return emit_text(c, out_bytes);
    bool is_object = format == WEFT_LLVM_OBJECT || format == WEFT_LLVM_QUICK_OBJECT;
    WEFT_TRY(emit_code(c, is_object ? LLVMObjectFile : LLVMAssemblyFile, out_bytes));
    return group->count == 1 ? NULL : fill_offsets(c, group, out_bytes);
}

static weft_status *emit(const weft_allocator *allocator, const weft_code_group *group, weft_llvm_format format,
                         weft_bytes *out_bytes)
{
    compilation c = {.allocator = weft_allocator_or_default(allocator),
                     .target = format == WEFT_LLVM_PTX            ? WEFT_TARGET_PTX
                               : format == WEFT_LLVM_QUICK_OBJECT ? WEFT_TARGET_HOST_QUICK
                                                                  : WEFT_TARGET_HOST};
    weft_bytes_init(out_bytes, c.allocator);
    weft_status *status = compile(&c, group, format, out_bytes);
    destroy(&c);
    if (status != NULL) weft_bytes_finish(out_bytes);
    return status;
}

weft_status *weft_llvm_emit(const weft_allocator *allocator, const weft_kernel *kernel, const char *symbol,
                            weft_llvm_format format, weft_bytes *out_bytes)
{
    const weft_code_group group = {.kernels = &kernel, .count = 1, .symbol = symbol};
    return emit(allocator, &group, format, out_bytes);
}

weft_status *weft_llvm_emit_group(const weft_allocator *allocator, const weft_code_group *group, bool quick,
                                  weft_bytes *out_object)
{
    group->offsets[0] = 0;
    return emit(allocator, group, quick ? WEFT_LLVM_QUICK_OBJECT : WEFT_LLVM_OBJECT, out_object);
}

/* ---- objects of many kernels ---- */

static weft_status *add_kernels(const compilation *c, const weft_object_request *request)
{
    for (size_t i = 0; i < request->kernel_count; i++) {
        const weft_object_kernel *kernel = &request->kernels[i];
        const weft_processor *processor = weft_processor_of_level(kernel->level);
        WEFT_TRY(weft_kernel_emit(c->allocator, kernel->kernel, kernel->symbol, processor, c->module));
        LLVMSetLinkage(LLVMGetNamedFunction(c->module, kernel->symbol), LLVMInternalLinkage);
    }
    return NULL;
}

static void freeze_counters(const compilation *c, const weft_object_request *request)
{
    for (size_t i = 0; i < request->kernel_count; i++) freeze_counters_of(c, request->kernels[i].symbol);
}

static weft_status *compile_object(compilation *c, const weft_object_request *request, weft_bytes *out_object)
{
    WEFT_TRY(create(c));
    WEFT_TRY(add_kernels(c, request));
    weft_object_write_text(request, c->module);
    if (request->freestanding) WEFT_TRY(weft_freestanding_link(c->allocator, request, c->module));
    WEFT_TRY(weft_import_link(c->allocator, request, c->module));
    WEFT_TRY(weft_object_write_data(c->allocator, request, c->module));
    for (size_t i = 0; i < request->entry_count; i++)
        weft_object_write_entry(&request->entries[i], request->data_symbol, c->module);
    if (request->architecture == WEFT_X86_64) weft_fma_replace(c->module, true);
    if (request->freestanding) weft_freestanding_hide(request, c->module);
    WEFT_TRY(verify(c));
    WEFT_TRY(run_passes(c, request->freestanding || request->import_count > 0 ? LINKED_PASSES : PASSES));
    if (request->freestanding) WEFT_TRY(weft_freestanding_check(c->allocator, request, c->module));
    weft_object_settle_constants(c->module);
    if (request->architecture == WEFT_X86_64) freeze_counters(c, request);
    return emit_code(c, LLVMObjectFile, out_object);
}

weft_status *weft_llvm_emit_object(const weft_allocator *allocator, const weft_object_request *request,
                                   weft_bytes *out_object)
{
    compilation c = {.allocator = weft_allocator_or_default(allocator),
                     .target = weft_target_of_architecture(request->architecture)};
    weft_status *status = compile_object(&c, request, out_object);
    destroy(&c);
    return status;
}
