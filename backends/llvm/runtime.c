/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/runtime.h"
#include "lib/build.h"
#include <dlfcn.h>
#include <stdatomic.h>

/*
 * The half of the backend that lives in libweft: it loads the other half, libweft-llvm.so, when the first program has
 * to be compiled. Hits never pay for LLVM. Once loaded it stays: LLVM does not survive being unloaded.
 */

#define LIBRARY "libweft-llvm.so"

static _Atomic(const weft_llvm_interface *) loaded;

weft_status *weft_llvm_load(const weft_llvm_interface **out_interface)
{
    const weft_llvm_interface *interface = atomic_load(&loaded);
    if (interface == NULL) {
        void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
        const weft_llvm_interface *(*query)(void) = NULL;
        if (library != NULL) *(void **)&query = dlsym(library, "weft_llvm_query");
        if (query == NULL) {
            return weft_status_create(NULL, WEFT_NO_COMPILER, "llvm", "the LLVM code generator cannot be loaded: %s",
                                      dlerror());
        }
        interface = query();
        if (interface->size != sizeof *interface) {
            return weft_status_create(NULL, WEFT_NO_COMPILER, "llvm", "%s is of another build than this library",
                                      LIBRARY);
        }
        atomic_store(&loaded, interface);
    }
    *out_interface = interface;
    return NULL;
}

static const char *target(void)
{
    return atomic_load(&loaded)->target();
}

static void machine(weft_machine *out_machine)
{
    atomic_load(&loaded)->machine(out_machine);
}

static weft_status *emit(const weft_allocator *allocator, const weft_kernel *kernel, const char *symbol,
                         weft_bytes *out_object)
{
    return atomic_load(&loaded)->emit(allocator, kernel, symbol, WEFT_LLVM_OBJECT, out_object);
}

static weft_status *build(void *self, const weft_build_request *request, weft_variant **out_variant)
{
    static const weft_code_generator generator = {target, machine, emit};
    const weft_llvm_interface *interface;
    (void)self;
    WEFT_TRY(weft_llvm_load(&interface));
    return weft_variant_build(request, &generator, out_variant);
}

static weft_status *load(void *self, const void *object, size_t size, const char *symbol, weft_image **out_image,
                         weft_kernel_function *out_function)
{
    const weft_llvm_interface *interface;
    (void)self;
    WEFT_TRY(weft_llvm_load(&interface));
    return interface->load(object, size, symbol, out_image, out_function);
}

static void unload(void *self, weft_image *image)
{
    (void)self;
    if (image != NULL) atomic_load(&loaded)->unload(image);
}

const weft_runtime *weft_runtime_llvm(void)
{
    static const weft_driver driver = {
        .size = sizeof driver, .device = {WEFT_DEVICE_CPU, 0}, .load = load, .unload = unload};
    static const weft_compiler compiler = {.size = sizeof compiler, .build = build};
    static const weft_runtime runtime = {
        .size = sizeof runtime, .name = "llvm", .driver = &driver, .compiler = &compiler};
    return &runtime;
}
