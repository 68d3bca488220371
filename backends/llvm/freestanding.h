/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_BACKENDS_LLVM_FREESTANDING_H
#define WEFT_BACKENDS_LLVM_FREESTANDING_H
/* Objects that contain what they need of the runtime: as bitcode, made when weft is built (runtime/freestanding). */
#include <llvm-c/Core.h>
#include "backends/llvm/llvm.h"

/* Adds the runtime to a module, for data and entries to refer to. UNSUPPORTED where weft was built without. */
weft_status *weft_freestanding_link(const weft_allocator *allocator, const weft_object_request *request,
                                    LLVMModuleRef module) WEFT_MUST_USE;
/* Of a module that is complete: leaves nothing to be seen from outside but the entries. */
void weft_freestanding_hide(const weft_object_request *request, LLVMModuleRef module);
/* Whether it is used, is outside of its module, and is not memcpy, memmove or memset. */
bool weft_freestanding_is_foreign(LLVMValueRef value);
/* Of a module whose unused parts are gone: that it needs nothing of the kind but the imports of the request. */
weft_status *weft_freestanding_check(const weft_allocator *allocator, const weft_object_request *request,
                                     LLVMModuleRef module) WEFT_MUST_USE;
#endif
