/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_BACKENDS_LLVM_FMA_H
#define WEFT_BACKENDS_LLVM_FMA_H
#include <llvm-c/Core.h>

/* Of the module of an object for x86-64: functions for processors without fused multiplications call those of the
 * runtime (runtime/engine/fma.h), lane by lane. Left to LLVM they would call fma and fmaf of the C library, which an
 * object is not to need. */
void weft_fma_replace(LLVMModuleRef module);
#endif
