/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_BACKENDS_LLVM_MODULE_H
#define WEFT_BACKENDS_LLVM_MODULE_H
/* From a kernel to an object or a text: context, passes, code generation. */
#include "backends/llvm/llvm.h"

weft_status *weft_llvm_emit(const weft_allocator *allocator, const weft_kernel *kernel, const char *symbol,
                            weft_llvm_format format, weft_bytes *out_bytes) WEFT_MUST_USE;
weft_status *weft_llvm_emit_group(const weft_allocator *allocator, const weft_code_group *group, bool quick,
                                  weft_bytes *out_object) WEFT_MUST_USE;
weft_status *weft_llvm_emit_object(const weft_allocator *allocator, const weft_object_request *request,
                                   weft_bytes *out_object) WEFT_MUST_USE;
#endif
