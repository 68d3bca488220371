/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_BACKENDS_LLVM_RUNTIME_H
#define WEFT_BACKENDS_LLVM_RUNTIME_H
/* The half of the backend that libweft contains. */
#include "backends/llvm/llvm.h"

/* The code generator, loaded now if it is not yet. WEFT_NO_COMPILER with the loader's sentence when it cannot be. */
weft_status *weft_llvm_load(const weft_llvm_interface **out_interface) WEFT_MUST_USE;
#endif
