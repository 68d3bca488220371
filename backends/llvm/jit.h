/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_BACKENDS_LLVM_JIT_H
#define WEFT_BACKENDS_LLVM_JIT_H
/* Loading objects: see weft_driver. Thread-safe. */
#include <weft/runtime.h>
#include "runtime/base/memory.h"

weft_status *weft_image_load(const void *object, size_t size, const char *symbol, weft_image **out_image,
                             weft_kernel_function *out_function) WEFT_MUST_USE;
void weft_image_unload(weft_image *image);
#endif
