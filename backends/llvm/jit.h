/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_BACKENDS_LLVM_JIT_H
#define WEFT_BACKENDS_LLVM_JIT_H
/* Loading objects by ORC: see weft_driver. Thread-safe. */
#include <weft/runtime.h>
#include "backends/llvm/image.h"
#include "runtime/base/memory.h"

weft_status *weft_jit_load(const void *object, size_t size, const char *symbol, weft_image **out_image,
                           weft_kernel_function *out_function) WEFT_MUST_USE;
void weft_jit_unload(weft_image *image);
#endif
