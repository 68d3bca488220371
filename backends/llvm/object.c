/* SPDX-License-Identifier: Apache-2.0 */
/* What an object contains beside its kernels: data with addresses in it, and functions to enter by. */
#include "backends/llvm/object.h"
#include <string.h>
#include "runtime/base/status.h"

/* ---- data ---- */

/*
 * A packed struct of runs of bytes and the addresses between them. The variable has that type, so it is there before
 * its value, which may refer to it.
 */
typedef struct data_writer {
    const weft_object_request *request;
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMTypeRef byte, pointer;
    unsigned count;
    LLVMTypeRef *types;
    LLVMValueRef *values; /* of the second pass */
    LLVMValueRef data;
} data_writer;

static void add_run(data_writer *w, size_t begin, size_t end)
{
    if (begin == end) return;
    const char *bytes = (const char *)w->request->data + begin;
    if (w->data == NULL) w->types[w->count] = LLVMArrayType2(w->byte, end - begin);
    else w->values[w->count] = LLVMConstStringInContext2(w->context, bytes, end - begin, true);
    w->count++;
}

/* What is not of this module is outside. */
static LLVMValueRef find_symbol(const data_writer *w, const char *name)
{
    LLVMValueRef found = LLVMGetNamedFunction(w->module, name);
    if (found == NULL) found = LLVMGetNamedGlobal(w->module, name);
    return found != NULL ? found : LLVMAddGlobal(w->module, w->byte, name);
}

static void add_pointer(data_writer *w, const weft_object_pointer *pointer)
{
    if (w->data == NULL) {
        w->types[w->count++] = w->pointer;
        return;
    }
    LLVMValueRef offset = LLVMConstInt(LLVMInt64TypeInContext(w->context), pointer->offset, false);
    w->values[w->count++] =
        pointer->symbol != NULL ? find_symbol(w, pointer->symbol) : LLVMConstGEP2(w->byte, w->data, &offset, 1);
}

static void add_all(data_writer *w)
{
    size_t place = 0;
    w->count = 0;
    for (size_t i = 0; i < w->request->pointer_count; i++) {
        const weft_object_pointer *pointer = &w->request->pointers[i];
        add_run(w, place, pointer->at);
        add_pointer(w, pointer);
        place = pointer->at + sizeof(void *);
    }
    add_run(w, place, w->request->data_bytes);
}

static void write_data(data_writer *w)
{
    enum { ALIGNMENT = 64 };
    add_all(w);
    LLVMTypeRef type = LLVMStructTypeInContext(w->context, w->types, w->count, true);
    w->data = LLVMAddGlobal(w->module, type, w->request->data_symbol);
    add_all(w);
    LLVMSetInitializer(w->data, LLVMConstStructInContext(w->context, w->values, w->count, true));
    LLVMSetGlobalConstant(w->data, true);
    LLVMSetLinkage(w->data, LLVMInternalLinkage);
    LLVMSetAlignment(w->data, ALIGNMENT);
}

weft_status *weft_object_write_data(const weft_allocator *allocator, const weft_object_request *request,
                                    LLVMModuleRef module)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    size_t most = 2 * request->pointer_count + 1, size = most * (sizeof(LLVMTypeRef) + sizeof(LLVMValueRef));
    void *memory = weft_allocate(allocator, size);
    if (memory == NULL) return weft_status_out_of_memory();
    data_writer w = {.request = request,
                     .context = context,
                     .module = module,
                     .byte = LLVMInt8TypeInContext(context),
                     .pointer = LLVMPointerTypeInContext(context, 0),
                     .types = memory,
                     .values = (LLVMValueRef *)((LLVMTypeRef *)memory + most)};
    write_data(&w);
    weft_free(allocator, memory, size);
    return NULL;
}

void weft_object_write_text(const weft_object_request *request, LLVMModuleRef module)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMValueRef text = LLVMConstStringInContext2(context, request->text, strlen(request->text), false);
    LLVMValueRef global = LLVMAddGlobal(module, LLVMTypeOf(text), request->text_symbol);
    LLVMSetInitializer(global, text);
    LLVMSetGlobalConstant(global, true);
    LLVMSetLinkage(global, LLVMInternalLinkage);
    LLVMSetSection(global, WEFT_OBJECT_TEXT);
    LLVMSetAlignment(global, 1);
}

/* No other variables are private: those of the runtime are static. */
void weft_object_settle_constants(LLVMModuleRef module)
{
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g != NULL; g = LLVMGetNextGlobal(g))
        if (LLVMGetLinkage(g) == LLVMPrivateLinkage) LLVMSetGlobalConstant(g, true);
}

/* ---- entries ---- */

enum { MOST_PARAMETERS = 8 };

static LLVMValueRef call_target(LLVMBuilderRef builder, LLVMValueRef function, const weft_object_entry *entry,
                                LLVMTypeRef result, LLVMTypeRef pointer, LLVMValueRef data)
{
    LLVMModuleRef module = LLVMGetGlobalParent(function);
    LLVMTypeRef types[MOST_PARAMETERS + 1];
    LLVMValueRef arguments[MOST_PARAMETERS + 1] = {data};
    for (uint32_t i = 0; i <= entry->parameters; i++) types[i] = pointer;
    LLVMGetParams(function, arguments + 1);
    LLVMTypeRef type = LLVMFunctionType(result, types, entry->parameters + 1, false);
    LLVMValueRef target = LLVMGetNamedFunction(module, entry->target);
    if (target == NULL) target = LLVMAddFunction(module, entry->target, type);
    LLVMValueRef call = LLVMBuildCall2(builder, type, target, arguments, entry->parameters + 1, "");
    LLVMSetTailCall(call, true);
    return call;
}

void weft_object_write_entry(const weft_object_entry *entry, const char *data_symbol, LLVMModuleRef module)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMTypeRef pointer = LLVMPointerTypeInContext(context, 0), types[MOST_PARAMETERS];
    LLVMTypeRef result = entry->target == NULL ? pointer : LLVMInt32TypeInContext(context);
    LLVMValueRef data = LLVMGetNamedGlobal(module, data_symbol);
    for (uint32_t i = 0; i < entry->parameters; i++) types[i] = pointer;
    LLVMValueRef function =
        LLVMAddFunction(module, entry->symbol, LLVMFunctionType(result, types, entry->parameters, false));
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
    LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(context, function, ""));
    LLVMBuildRet(builder, entry->target == NULL ? data : call_target(builder, function, entry, result, pointer, data));
    LLVMDisposeBuilder(builder);
}
