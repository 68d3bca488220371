/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_BACKENDS_LLVM_IMAGE_H
#define WEFT_BACKENDS_LLVM_IMAGE_H
/* Loading objects without LLVM: see weft_driver. Part of libweft. Thread-safe. */
#include <weft/runtime.h>

/* What every image begins with. */
struct weft_image {
    bool by_orc; /* the other loader's: jit.h */
};

/* Takes what objects of kernels have, and nothing else: read-only sections, and references to themselves, to `fma` and
 * to `fmaf`. Nothing in the object is trusted but the code. COMPILE_FAILED says what does not fit. */
weft_status *weft_image_load(const void *object, size_t size, const char *symbol, weft_image **out_image,
                             weft_kernel_function *out_function) WEFT_MUST_USE;
/* NULL is fine. */
void weft_image_unload(weft_image *image);
#endif
