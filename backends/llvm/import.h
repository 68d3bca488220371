/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_BACKENDS_LLVM_IMPORT_H
#define WEFT_BACKENDS_LLVM_IMPORT_H
/* Kernels of extensions that come as bitcode. */
#include <llvm-c/Core.h>
#include "backends/llvm/llvm.h"

/*
 * Adds the bitcode of all imports to a module, for data to refer to, which then sees it alone. After the runtime, where
 * the object contains that. UNSUPPORTED names an op whose bitcode is no such, for another processor, or without what it
 * is there for; or that needs what a freestanding object must not.
 */
weft_status *weft_import_link(const weft_allocator *allocator, const weft_object_request *request,
                              LLVMModuleRef module) WEFT_MUST_USE;
#endif
