/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_BACKENDS_LLVM_OBJECT_H
#define WEFT_BACKENDS_LLVM_OBJECT_H
#include <llvm-c/Core.h>
#include "backends/llvm/llvm.h"

void weft_object_write_text(const weft_object_request *request, LLVMModuleRef module);
/* Adds the data to a module that has the kernels and the text. */
weft_status *weft_object_write_data(const weft_allocator *allocator, const weft_object_request *request,
                                    LLVMModuleRef module) WEFT_MUST_USE;
/* Of a module that has gone through its passes: what kernels have as variables, so that these do not fold it, becomes
 * constant, so that the object has nothing to write. */
void weft_object_settle_constants(LLVMModuleRef module);
/* Adds an entry to a module that has the data. */
void weft_object_write_entry(const weft_object_entry *entry, const char *data_symbol, LLVMModuleRef module);
#endif
