/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_H
#define WEFT_RUNTIME_H
/*
 * Runtimes: what a user registers with an executor. A runtime is a driver (memory, loading and launching code on one
 * kind of device; needs no compiler) and, if one is linked, a compiler, which turns a program into a variant the driver
 * can run. Without it a miss is WEFT_NO_COMPILER.
 */
#include <weft/executor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_variant weft_variant;
typedef struct weft_build_request weft_build_request;

/* What a kernel reads: generated code, and a hand-written stand-in for it, sees this and nothing else. */
typedef struct weft_error_slot {
    int64_t position; /* lowest linear position at which data broke a rule; INT64_MAX: none */
    int64_t value;    /* the offending value */
    int64_t site;     /* which check */
} weft_error_slot;

typedef struct weft_kernel_frame {
    void *const *buffers;   /* data of each buffer of the kernel, element (0, ..., 0) */
    const int64_t *scalars; /* its extents and strides, in the order of its symbols */
    weft_error_slot *error;
} weft_kernel_frame;

/* Runs iterations begin <= t < end of the kernel's thread range. */
typedef void (*weft_kernel_function)(const weft_kernel_frame *frame, int64_t begin, int64_t end);

/* Code loaded by a driver. */
typedef struct weft_image weft_image;

typedef struct weft_driver {
    size_t size;
    weft_device device;
    /* Device memory, 64-byte aligned at least. Where it is OUT_OF_MEMORY the executor gives back what it keeps, asks
     * again, and then says so itself. Both NULL on the CPU: memory then comes from the executor's allocator. */
    weft_status *(*allocate)(void *self, size_t bytes, void **out_memory);
    void (*release)(void *self, void *memory, size_t bytes);
    /* Loads an object made for this device and finds `symbol` in it; called from several threads at the same time.
     * Loaded code is freed by unload. Both may be NULL: a runtime whose compiler needs them is UNSUPPORTED then. */
    weft_status *(*load)(void *self, const void *object, size_t size, const char *symbol, weft_image **out_image,
                         weft_kernel_function *out_function);
    void (*unload)(void *self, weft_image *image);
} weft_driver;

typedef struct weft_compiler {
    size_t size;
    /* Builds the variant that `request` describes; called on a miss, from the thread that missed. */
    weft_status *(*build)(void *self, const weft_build_request *request, weft_variant **out_variant);
} weft_compiler;

struct weft_runtime {
    size_t size;
    const char *name;
    void *self;
    const weft_driver *driver;
    const weft_compiler *compiler; /* may be NULL */
};

/* The two of libweft. The LLVM code generator is loaded on the first miss. Static, never freed. */
const weft_runtime *weft_runtime_llvm(void);
const weft_runtime *weft_runtime_reference(void);

#ifdef __cplusplus
}
#endif
#endif
