/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/inspect.h>
#include <stdio.h>
#include "backends/llvm/runtime.h"
#include "lib/build/build.h"
#include "lib/text/text.h"
#include "runtime/base/status.h"

weft_status *weft_emit_target(const char **out_target)
{
    const weft_llvm_interface *llvm;
    WEFT_REQUIRE(out_target);
    WEFT_TRY(weft_llvm_load(&llvm));
    *out_target = llvm->target();
    return NULL;
}

typedef struct format_info {
    bool generated; /* by LLVM, as `llvm` */
    weft_llvm_format llvm;
    const char *comment;
} format_info;

static const format_info formats[] = {
    [WEFT_EMIT_LOOPS] = {false, WEFT_LLVM_OBJECT, "#"}, [WEFT_EMIT_SCHEDULED] = {false, WEFT_LLVM_OBJECT, "#"},
    [WEFT_EMIT_LLVM] = {true, WEFT_LLVM_IR, ";"},       [WEFT_EMIT_ASM] = {true, WEFT_LLVM_ASM, "#"},
    [WEFT_EMIT_PTX] = {true, WEFT_LLVM_PTX, "//"},
};

typedef struct emission {
    const weft_allocator *allocator;
    weft_emit_format format;
    const weft_llvm_interface *llvm;
    size_t count;
    weft_bytes text;
} emission;

static weft_status *append_generated(emission *e, const weft_kernel *kernel)
{
    char symbol[32];
    weft_bytes code;
    snprintf(symbol, sizeof symbol, "kernel%zu", e->count);
    WEFT_TRY(e->llvm->emit(e->allocator, kernel, symbol, formats[e->format].llvm, &code));
    weft_bytes_append(&e->text, code.data, code.size);
    weft_bytes_finish(&code);
    return NULL;
}

static weft_status *append_kernel(void *context, const char *name, const weft_kernel *unscheduled,
                                  const weft_kernel *scheduled)
{
    emission *e = context;
    const format_info *format = &formats[e->format];
    weft_bytes_print(&e->text, "%s%s kernel %zu: %s\n", e->count == 0 ? "" : "\n", format->comment, e->count, name);
    if (format->generated) WEFT_TRY(append_generated(e, scheduled));
    else WEFT_TRY(weft_kernel_print(e->format == WEFT_EMIT_LOOPS ? unscheduled : scheduled, &e->text));
    e->count++;
    return weft_bytes_status(&e->text);
}

static weft_status *emit(emission *e, const weft_program *program)
{
    weft_machine machine = *weft_machine_host();
    if (e->format != WEFT_EMIT_LOOPS) WEFT_TRY(weft_llvm_load(&e->llvm));
    if (e->format == WEFT_EMIT_PTX) machine.device = WEFT_DEVICE_CUDA;
    return weft_program_visit_kernels(program, &machine, append_kernel, e);
}

weft_status *weft_program_emit(const weft_program *program, weft_emit_format format, char **out_text)
{
    WEFT_REQUIRE(program);
    WEFT_REQUIRE(out_text);
    if ((unsigned)format > WEFT_EMIT_PTX)
        return weft_status_create(program->allocator, WEFT_INVALID_ARGUMENT, "weft_program_emit",
                                  "format %u is none of the %zu formats", (unsigned)format,
                                  sizeof formats / sizeof *formats);
    emission e = {.allocator = program->allocator, .format = format};
    weft_bytes_init(&e.text, e.allocator);
    weft_status *status = emit(&e, program);
    if (status == NULL)
        status = weft_text_create(e.allocator, e.text.size == 0 ? "" : e.text.data, e.text.size, out_text);
    weft_bytes_finish(&e.text);
    return status;
}
