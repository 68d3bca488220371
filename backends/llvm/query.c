/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/llvm.h"
#include "backends/llvm/jit.h"
#include "backends/llvm/module.h"
#include "backends/llvm/target.h"

static const char *target(void)
{
    const weft_processor *processor = weft_processor_find(WEFT_TARGET_HOST);
    return processor == NULL ? "llvm" : processor->name;
}

const weft_llvm_interface *weft_llvm_query(void)
{
    static const weft_llvm_interface interface = {
        .size = sizeof interface,
        .target = target,
        .emit = weft_llvm_emit,
        .emit_group = weft_llvm_emit_group,
        .emit_object = weft_llvm_emit_object,
        .load = weft_jit_load,
        .unload = weft_jit_unload,
    };
    return &interface;
}
