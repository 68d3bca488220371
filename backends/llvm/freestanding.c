/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/freestanding.h"
#include <llvm-c/BitReader.h>
#include <llvm-c/Linker.h>
#include <string.h>
#include "runtime/base/status.h"

/* ---- the runtime ---- */

/* What all objects for an architecture need, those of its first level with code here; then the vector code of levels.
 */
typedef struct part {
    weft_isa level;
    bool for_all; /* levels of its architecture */
    const unsigned char *bitcode;
    size_t size;
} part;

#if defined(WEFT_FREESTANDING)
static const unsigned char common[] = {
#include "freestanding_common.inc"
};
static const unsigned char v3[] = {
#include "freestanding_v3.inc"
};
static const unsigned char v4[] = {
#include "freestanding_v4.inc"
};
#endif
#if defined(WEFT_FREESTANDING_AARCH64)
static const unsigned char aarch64[] = {
#include "freestanding_aarch64.inc"
};
#endif

/* The last one is none. */
static const part parts[] = {
#if defined(WEFT_FREESTANDING)
    {WEFT_ISA_BASE, true, common, sizeof common},
    {WEFT_ISA_V3, false, v3, sizeof v3},
    {WEFT_ISA_V4, false, v4, sizeof v4},
#endif
#if defined(WEFT_FREESTANDING_AARCH64)
    {WEFT_ISA_ARMV8A, true, aarch64, sizeof aarch64},
#endif
    {WEFT_ISA_COUNT, false, NULL, 0},
};
static const size_t part_count = sizeof parts / sizeof *parts - 1;

static bool is_needed(const part *p, const weft_object_request *request)
{
    return weft_isa_describe(p->level)->architecture == request->architecture &&
           (p->for_all || request->levels[p->level]);
}

/* Errors are reported to the context of the module. */
static weft_status *link_part(const weft_allocator *allocator, const part *p, LLVMModuleRef module)
{
    LLVMModuleRef runtime;
    LLVMMemoryBufferRef bytes =
        LLVMCreateMemoryBufferWithMemoryRange((const char *)p->bitcode, p->size, "runtime", false);
    bool failed = LLVMParseBitcodeInContext2(LLVMGetModuleContext(module), bytes, &runtime);
    LLVMDisposeMemoryBuffer(bytes);
    if (!failed) failed = LLVMLinkModules2(module, runtime);
    return failed ? weft_status_create(allocator, WEFT_COMPILE_FAILED, "llvm",
                                       "the runtime that freestanding objects contain cannot be linked")
                  : NULL;
}

weft_status *weft_freestanding_link(const weft_allocator *allocator, const weft_object_request *request,
                                    LLVMModuleRef module)
{
    size_t linked = 0;
    for (size_t i = 0; i < part_count; i++) {
        if (!is_needed(&parts[i], request)) continue;
        WEFT_TRY(link_part(allocator, &parts[i], module));
        linked++;
    }
    if (linked == 0)
        return weft_status_create(
            allocator, WEFT_UNSUPPORTED, "weft_object_create",
            "this weft cannot make freestanding objects%s: it was built without clang 19, opt and "
            "llvm-link%s",
            request->architecture == WEFT_AARCH64 ? " for aarch64" : "",
            request->architecture == WEFT_AARCH64 ? ", or the headers of aarch64" : "");
    return NULL;
}

/* ---- symbols ---- */

static bool is_entry(const weft_object_request *request, const char *name)
{
    size_t i = 0;
    while (i < request->entry_count && strcmp(request->entries[i].symbol, name) != 0) i++;
    return i < request->entry_count;
}

static void hide(const weft_object_request *request, LLVMValueRef value)
{
    size_t length;
    if (!LLVMIsDeclaration(value) && LLVMGetLinkage(value) != LLVMPrivateLinkage &&
        !is_entry(request, LLVMGetValueName2(value, &length)))
        LLVMSetLinkage(value, LLVMInternalLinkage);
}

void weft_freestanding_hide(const weft_object_request *request, LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f != NULL; f = LLVMGetNextFunction(f)) hide(request, f);
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g != NULL; g = LLVMGetNextGlobal(g)) hide(request, g);
}

/* Whether an intrinsic becomes a call of the C library on processors that have no instruction for it, which are all. */
static bool is_library_call(const char *intrinsic)
{
    static const char *const functions[] = {"exp",  "exp2",  "exp10",  "log",     "log2",  "log10", "sin",
                                            "cos",  "tan",   "sincos", "asin",    "acos",  "atan",  "atan2",
                                            "sinh", "cosh",  "tanh",   "pow",     "powi",  "ldexp", "frexp",
                                            "modf", "round", "lround", "llround", "lrint", "llrint"};
    const char *name = intrinsic + strlen("llvm.");
    size_t length = strcspn(name, "."), i = 0, count = sizeof functions / sizeof *functions;
    while (i < count && (strlen(functions[i]) != length || strncmp(functions[i], name, length) != 0)) i++;
    return i < count;
}

bool weft_freestanding_is_foreign(LLVMValueRef value)
{
    static const char *const allowed[] = {"memcpy", "memmove", "memset"};
    size_t length, i = 0;
    const char *name = LLVMGetValueName2(value, &length);
    if (!LLVMIsDeclaration(value) || LLVMGetFirstUse(value) == NULL) return false;
    if (LLVMIsAFunction(value) != NULL && LLVMGetIntrinsicID(value) != 0) return is_library_call(name);
    while (i < sizeof allowed / sizeof *allowed && strcmp(allowed[i], name) != 0) i++;
    return i == sizeof allowed / sizeof *allowed;
}

/* An import that is outside is so for all to see. */
static bool is_import(const weft_object_request *request, LLVMValueRef value)
{
    size_t length;
    const char *name = LLVMGetValueName2(value, &length);
    bool found = false;
    for (size_t i = 0; i < request->import_count; i++) {
        const weft_op_def *op = request->imports[i].op;
        found |= strcmp(op->kernel_symbol, name) == 0;
        found |= op->scratch_symbol != NULL && strcmp(op->scratch_symbol, name) == 0;
    }
    return found;
}

weft_status *weft_freestanding_check(const weft_allocator *allocator, const weft_object_request *request,
                                     LLVMModuleRef module)
{
    LLVMValueRef found = NULL;
    size_t length;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f != NULL; f = LLVMGetNextFunction(f))
        if (weft_freestanding_is_foreign(f) && !is_import(request, f)) found = f;
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g != NULL; g = LLVMGetNextGlobal(g))
        if (weft_freestanding_is_foreign(g) && !is_import(request, g)) found = g;
    if (found == NULL) return NULL;
    return weft_status_create(allocator, WEFT_INTERNAL, "llvm", "a freestanding object would need %s",
                              LLVMGetValueName2(found, &length));
}
