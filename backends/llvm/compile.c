/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/runtime.h"
#include "lib/object/compile.h"
#include "runtime/base/status.h"

weft_status *weft_object_create(const weft_program *program, const weft_object_options *options,
                                weft_object **out_object)
{
    const weft_llvm_interface *llvm;
    WEFT_REQUIRE(program);
    WEFT_REQUIRE(options);
    WEFT_REQUIRE(out_object);
    WEFT_TRY(weft_llvm_load(&llvm));
    return weft_status_locate(weft_object_compile(program, options, llvm->emit_object, out_object), __func__);
}
