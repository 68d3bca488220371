/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_BACKENDS_LLVM_FMA_H
#define WEFT_BACKENDS_LLVM_FMA_H
#include <stdbool.h>
#include <llvm-c/Core.h>

/* For functions of x86-64 without fused multiplications: those of f32 become calls of a function that the module gets,
 * four lanes a call; those of f64, where `with_runtime`, calls of the runtime's (runtime/engine/fma.h), lane by lane.
 * Left to LLVM they would call fma of the C library, which an object is not to need. */
void weft_fma_replace(LLVMModuleRef module, bool with_runtime);
#endif
