/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_BACKENDS_LLVM_COUNTER_H
#define WEFT_BACKENDS_LLVM_COUNTER_H
#include <llvm-c/Core.h>

/* Keeps LLVM's loop strength reduction from the loops of a function. To be called after all other passes: these would
 * undo it. */
void weft_counters_freeze(LLVMValueRef function);
#endif
