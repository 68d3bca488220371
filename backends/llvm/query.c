/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/llvm.h"
#include "backends/llvm/jit.h"
#include "backends/llvm/module.h"
#include "backends/llvm/target.h"

static const char *target(void)
{
    const weft_processor *processor = weft_processor_find();
    return processor == NULL ? "llvm" : processor->name;
}

static void machine(weft_machine *out_machine)
{
    const weft_processor *processor = weft_processor_find();
    *out_machine = processor == NULL ? (weft_machine){.vector_bytes = 16, .registers = 16} : processor->machine;
}

const weft_llvm_interface *weft_llvm_query(void)
{
    static const weft_llvm_interface interface = {
        .size = sizeof interface,
        .target = target,
        .machine = machine,
        .emit = weft_llvm_emit,
        .load = weft_image_load,
        .unload = weft_image_unload,
    };
    return &interface;
}
