/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/jit.h"
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/OrcEE.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "backends/llvm/slab.h"
#include "backends/llvm/target.h"

/*
 * One ORC session for the process. Each image has a library of its own, so that symbols of different objects never meet
 * and nothing is searched but the object itself, memcpy, and the two functions that LLVM calls where a processor has no
 * fused multiplication: any other symbol that it does not define fails to load. Libraries cannot be removed from a
 * session, so those of unloaded images are used again.
 */

/* Memory of one object, whose sections lie one after another: code refers to data relative to itself. */
typedef struct sections {
    char *memory;
    size_t size, used;
} sections;

typedef struct orc_image {
    weft_image base;
    struct orc_image *next; /* among the unused ones */
    LLVMOrcJITDylibRef library;
    LLVMOrcResourceTrackerRef tracker;
} orc_image;

static struct {
    pthread_mutex_t lock;
    bool started;
    LLVMOrcLLJITRef jit;
    LLVMOrcExecutionSessionRef session;
    weft_slab slab;
    sections *next;       /* for the object that is about to be loaded */
    weft_status *refused; /* why it cannot be executed */
    orc_image *unused;
    size_t library_count;
} loader = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- memory; called with the lock held, from within load and unload ---- */

static void *create_sections(void *context)
{
    (void)context;
    sections *of_object = loader.next;
    loader.next = NULL;
    return of_object;
}

static void terminate(void *context)
{
    (void)context;
}

static uint8_t *allocate_section(sections *of_object, size_t size, size_t alignment)
{
    if (of_object == NULL) return NULL;
    if (alignment == 0) alignment = 1;
    size_t begin = (of_object->used + alignment - 1) / alignment * alignment;
    if (begin > of_object->size || size > of_object->size - begin) return NULL;
    of_object->used = begin + size;
    return (uint8_t *)of_object->memory + begin;
}

static uint8_t *allocate_code(void *of_object, uintptr_t size, unsigned alignment, unsigned id, const char *name)
{
    (void)id;
    (void)name;
    return allocate_section(of_object, size, alignment);
}

static uint8_t *allocate_data(void *of_object, uintptr_t size, unsigned alignment, unsigned id, const char *name,
                              LLVMBool read_only)
{
    (void)id;
    (void)name;
    (void)read_only;
    return allocate_section(of_object, size, alignment);
}

static LLVMBool finalize(void *context, char **message)
{
    const sections *of_object = context;
    (void)message;
    loader.refused = weft_slab_seal(&loader.slab, of_object->memory, of_object->used);
    return loader.refused != NULL;
}

static void destroy_sections(void *context)
{
    sections *of_object = context;
    if (of_object == NULL) return;
    weft_slab_free(&loader.slab, of_object->memory);
    weft_free(NULL, of_object, sizeof *of_object);
}

/*
 * Before LLVM sees the object, as it ends the process when a section gets no memory. What an object adds to its
 * sections when it is loaded, for each of its relocations, is less than a relocation takes in the object.
 */
static weft_status *prepare_sections(size_t object_size)
{
    enum { ALIGNMENTS = 4096 };
    sections *of_object = weft_allocate_zeroed(NULL, sizeof *of_object);
    if (of_object == NULL) return weft_status_out_of_memory();
    of_object->size = 2 * object_size + ALIGNMENTS;
    void *memory = NULL;
    weft_status *status = weft_slab_allocate(&loader.slab, of_object->size, &memory);
    of_object->memory = memory;
    if (status == NULL) loader.next = of_object;
    else weft_free(NULL, of_object, sizeof *of_object);
    return status;
}

/* ---- the session ---- */

static LLVMOrcObjectLayerRef create_layer(void *context, LLVMOrcExecutionSessionRef session, const char *triple)
{
    (void)context;
    (void)triple;
    return LLVMOrcCreateRTDyldObjectLinkingLayerWithMCJITMemoryManagerLikeCallbacks(
        session, NULL, create_sections, terminate, allocate_code, allocate_data, finalize, destroy_sections);
}

static weft_status *take(LLVMErrorRef error, const char *what)
{
    if (error == LLVMErrorSuccess) return NULL;
    char *text = LLVMGetErrorMessage(error);
    weft_status *status = weft_status_create(NULL, WEFT_COMPILE_FAILED, "llvm", "%s: %s", what, text);
    LLVMDisposeErrorMessage(text);
    return status;
}

/* Errors come back from the calls that made them; without this the session prints them. */
static void drop_error(void *context, LLVMErrorRef error)
{
    (void)context;
    LLVMConsumeError(error);
}

static weft_status *start(void)
{
    if (loader.started) return NULL;
    if (weft_processor_find(WEFT_TARGET_HOST) == NULL) return weft_status_out_of_memory();
    LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
    LLVMOrcLLJITBuilderSetObjectLinkingLayerCreator(builder, create_layer, NULL);
    WEFT_TRY(take(LLVMOrcCreateLLJIT(&loader.jit, builder), "LLVM's loader cannot be started"));
    loader.session = LLVMOrcLLJITGetExecutionSession(loader.jit);
    LLVMOrcExecutionSessionSetErrorReporter(loader.session, drop_error, NULL);
    loader.started = true;
    return NULL;
}

/* ---- images ---- */

static LLVMOrcCSymbolMapPair symbol_at(const char *name, uintptr_t address)
{
    const LLVMJITSymbolFlags flags = {LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable, 0};
    return (LLVMOrcCSymbolMapPair){LLVMOrcExecutionSessionIntern(loader.session, name), {address, flags}};
}

/* The C library's functions are exact: they round once. */
static weft_status *define_functions(LLVMOrcJITDylibRef library)
{
    LLVMOrcCSymbolMapPair symbols[] = {symbol_at("fma", (uintptr_t)fma), symbol_at("fmaf", (uintptr_t)fmaf),
                                       symbol_at("memcpy", (uintptr_t)memcpy)};
    LLVMOrcMaterializationUnitRef unit = LLVMOrcAbsoluteSymbols(symbols, sizeof symbols / sizeof *symbols);
    LLVMErrorRef error = LLVMOrcJITDylibDefine(library, unit);
    if (error != LLVMErrorSuccess) LLVMOrcDisposeMaterializationUnit(unit);
    return take(error, "a library for code cannot be made");
}

static weft_status *create_library(LLVMOrcJITDylibRef *out_library)
{
    char name[32];
    snprintf(name, sizeof name, "image%zu", loader.library_count++);
    *out_library = LLVMOrcExecutionSessionCreateBareJITDylib(loader.session, name);
    return define_functions(*out_library);
}

static weft_status *create_image(orc_image **out_image)
{
    orc_image *image = loader.unused;
    if (image != NULL) {
        loader.unused = image->next;
    } else {
        image = weft_allocate_zeroed(NULL, sizeof *image);
        if (image == NULL) return weft_status_out_of_memory();
        image->base.by_orc = true;
        weft_status *status = create_library(&image->library);
        if (status != NULL) {
            weft_free(NULL, image, sizeof *image);
            return status;
        }
    }
    image->tracker = LLVMOrcJITDylibCreateResourceTracker(image->library);
    *out_image = image;
    return NULL;
}

static void destroy_image(orc_image *image)
{
    LLVMConsumeError(LLVMOrcResourceTrackerRemove(image->tracker));
    LLVMOrcReleaseResourceTracker(image->tracker);
    image->tracker = NULL;
    LLVMOrcSymbolStringPoolClearDeadEntries(LLVMOrcExecutionSessionGetSymbolStringPool(loader.session));
    image->next = loader.unused;
    loader.unused = image;
}

typedef struct found {
    LLVMErrorRef error;
    LLVMOrcExecutorAddress address;
} found;

static void on_found(LLVMErrorRef error, LLVMOrcCSymbolMapPairs pairs, size_t count, void *context)
{
    found *result = context;
    result->error = error;
    if (error == LLVMErrorSuccess && count == 1) result->address = pairs[0].Sym.Address;
}

static weft_status *find(const orc_image *image, const sections *of_object, const char *symbol,
                         weft_kernel_function *out_function)
{
    LLVMOrcCJITDylibSearchOrderElement order = {image->library, LLVMOrcJITDylibLookupFlagsMatchAllSymbols};
    LLVMOrcCLookupSetElement wanted = {LLVMOrcExecutionSessionIntern(loader.session, symbol),
                                       LLVMOrcSymbolLookupFlagsRequiredSymbol};
    found result = {0};
    LLVMOrcExecutionSessionLookup(loader.session, LLVMOrcLookupKindStatic, &order, 1, &wanted, 1, on_found, &result);
    WEFT_TRY(take(result.error, "the object cannot be loaded"));
    if (result.address - (uintptr_t)of_object->memory >= of_object->used)
        return weft_status_create(NULL, WEFT_COMPILE_FAILED, "llvm", "symbol '%s' lies outside of its object", symbol);
    void *code = (void *)(uintptr_t)result.address;
    memcpy(out_function, &code, sizeof code);
    return NULL;
}

static weft_status *add_object(const orc_image *image, const void *object, size_t size)
{
    LLVMMemoryBufferRef copy = LLVMCreateMemoryBufferWithMemoryRangeCopy((const char *)object, size, "kernel");
    return take(LLVMOrcLLJITAddObjectFileWithRT(loader.jit, image->tracker, copy), "the object cannot be loaded");
}

static weft_status *load_into(const orc_image *image, const void *object, size_t size, const char *symbol,
                              weft_kernel_function *out_function)
{
    WEFT_TRY(prepare_sections(size));
    const sections *of_object = loader.next;
    weft_status *status = add_object(image, object, size);
    if (status == NULL) status = find(image, of_object, symbol, out_function);
    destroy_sections(create_sections(NULL)); /* unless the object has taken them */
    if (loader.refused == NULL) return status;
    weft_status_destroy(status);
    status = loader.refused;
    loader.refused = NULL;
    return status;
}

static weft_status *load(const void *object, size_t size, const char *symbol, weft_image **out_image,
                         weft_kernel_function *out_function)
{
    orc_image *image = NULL;
    WEFT_TRY(start());
    WEFT_TRY(create_image(&image));
    weft_status *status = load_into(image, object, size, symbol, out_function);
    if (status == NULL) *out_image = &image->base;
    else destroy_image(image);
    return status;
}

weft_status *weft_jit_load(const void *object, size_t size, const char *symbol, weft_image **out_image,
                           weft_kernel_function *out_function)
{
    pthread_mutex_lock(&loader.lock);
    weft_status *status = load(object, size, symbol, out_image, out_function);
    pthread_mutex_unlock(&loader.lock);
    return status;
}

void weft_jit_unload(weft_image *image)
{
    if (image == NULL) return;
    pthread_mutex_lock(&loader.lock);
    destroy_image((orc_image *)image);
    pthread_mutex_unlock(&loader.lock);
}
