/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_BACKENDS_LLVM_LLVM_H
#define WEFT_BACKENDS_LLVM_LLVM_H
/*
 * The LLVM code generator: a shared object of its own, libweft-llvm.so, whose one export is weft_llvm_query. lib loads
 * it on the first miss. No LLVM type appears here.
 */
#include <weft/runtime.h>
#include "lib/build/build.h"
#include "lib/object/request.h"

typedef enum weft_llvm_format {
    WEFT_LLVM_OBJECT,       /* ELF object for the host */
    WEFT_LLVM_QUICK_OBJECT, /* one made without optimisation, in half the time */
    WEFT_LLVM_IR,           /* text */
    WEFT_LLVM_ASM,          /* text for the host */
    WEFT_LLVM_PTX           /* text for sm_90 */
} weft_llvm_format;

typedef struct weft_llvm_interface {
    size_t size;
    /* "llvm 19.1.7 x86_64-pc-linux-gnu znver3 +avx2,...": for people. Static. */
    const char *(*target)(void);
    /* Emits a scheduled kernel as a function `symbol` of type weft_kernel_function (PTX: an entry that takes the
     * frame's fields). The kernel must have been through weft_kernel_lower_math. Thread-safe: each call has a context
     * of its own. COMPILE_FAILED, UNSUPPORTED. */
    weft_status *(*emit)(const weft_allocator *allocator, const weft_kernel *kernel, const char *symbol,
                         weft_llvm_format format, weft_bytes *out_bytes);
    /* The same for several kernels, as an object; `quick` makes one without optimisation. */
    weft_status *(*emit_group)(const weft_allocator *allocator, const weft_code_group *group, bool quick,
                               weft_bytes *out_object);
    /* Emits an ELF object with position-independent code. */
    weft_status *(*emit_object)(const weft_allocator *allocator, const weft_object_request *request,
                                weft_bytes *out_object);
    /* Loads an object; see weft_driver. Thread-safe. */
    weft_status *(*load)(const void *object, size_t size, const char *symbol, weft_image **out_image,
                         weft_kernel_function *out_function);
    void (*unload)(weft_image *image);
} weft_llvm_interface;

const weft_llvm_interface *weft_llvm_query(void);
#endif
