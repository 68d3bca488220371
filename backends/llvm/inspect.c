/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/inspect.h>
#include <stdio.h>
#include "backends/llvm/runtime.h"
#include "lib/build/build.h"
#include "lib/schedule/candidates.h"
#include "lib/text/text.h"
#include "runtime/base/machine.h"
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
    weft_llvm_format llvm; /* of the code that LLVM makes */
    const char *comment;
} format_info;

static const format_info formats[] = {
    [WEFT_EMIT_LOOPS] = {WEFT_LLVM_OBJECT, "#"}, [WEFT_EMIT_SCHEDULED] = {WEFT_LLVM_OBJECT, "#"},
    [WEFT_EMIT_LLVM] = {WEFT_LLVM_IR, ";"},      [WEFT_EMIT_ASM] = {WEFT_LLVM_ASM, "#"},
    [WEFT_EMIT_PTX] = {WEFT_LLVM_PTX, "//"},     [WEFT_EMIT_SCHEDULE] = {WEFT_LLVM_OBJECT, "#"},
};

typedef struct emission {
    const weft_allocator *allocator;
    weft_emit_format format;
    weft_machine machine;
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

/* "# 12.3 us (computing 10.1, memory 8.3):", and the moves on a line of their own. */
static void append_candidate(emission *e, const weft_candidate *candidate)
{
    const weft_estimate *estimate = &candidate->estimate;
    weft_bytes_print(&e->text, "# %.4g us: computing %.4g, memory %.4g\n%s\n", estimate->total * 1e-3,
                     estimate->computing * 1e-3, estimate->memory * 1e-3, candidate->text);
}

static weft_status *append_candidates(emission *e, const weft_kernel *expanded)
{
    weft_candidates candidates;
    WEFT_TRY(weft_candidates_init(e->allocator, expanded, &e->machine, &candidates));
    for (uint32_t i = 0; i < candidates.count; i++) {
        if (i == 0) weft_bytes_print(&e->text, "# by the rules: %s\n", candidates.reason);
        if (i == 1) weft_bytes_print(&e->text, "# others, the fastest first as estimated\n");
        append_candidate(e, &candidates.items[i]);
    }
    weft_candidates_finish(&candidates);
    return NULL;
}

static weft_status *append_text(emission *e, const weft_kernel_view *kernel)
{
    switch (e->format) {
    case WEFT_EMIT_LOOPS: return weft_kernel_print(kernel->lowered, &e->text);
    case WEFT_EMIT_SCHEDULED: return weft_kernel_print(kernel->scheduled, &e->text);
    case WEFT_EMIT_SCHEDULE: return append_candidates(e, kernel->expanded);
    default: return append_generated(e, kernel->scheduled);
    }
}

static weft_status *append_kernel(void *context, const weft_kernel_view *kernel)
{
    emission *e = context;
    const format_info *format = &formats[e->format];
    weft_bytes_print(&e->text, "%s%s kernel %zu: %s\n", e->count == 0 ? "" : "\n", format->comment, e->count,
                     kernel->name);
    WEFT_TRY(append_text(e, kernel));
    e->count++;
    return weft_bytes_status(&e->text);
}

static weft_status *emit(emission *e, const weft_program *program, const weft_schedules *schedules)
{
    if (e->format != WEFT_EMIT_LOOPS) WEFT_TRY(weft_llvm_load(&e->llvm));
    if (e->format == WEFT_EMIT_PTX) e->machine.device = WEFT_DEVICE_CUDA;
    return weft_program_visit_kernels(program, &e->machine, schedules, append_kernel, e);
}

weft_status *weft_program_emit(const weft_program *program, weft_emit_format format, const weft_machine *machine,
                               const weft_schedules *schedules, char **out_text)
{
    WEFT_REQUIRE(program);
    WEFT_REQUIRE(out_text);
    if ((unsigned)format >= sizeof formats / sizeof *formats)
        return weft_status_create(program->allocator, WEFT_INVALID_ARGUMENT, "weft_program_emit",
                                  "format %u is none of the %zu formats", (unsigned)format,
                                  sizeof formats / sizeof *formats);
    if (machine != NULL) WEFT_TRY(weft_machine_check_cpu(program->allocator, machine, "weft_program_emit"));
    emission e = {.allocator = program->allocator,
                  .format = format,
                  .machine = machine == NULL ? *weft_machine_host() : *machine};
    weft_bytes_init(&e.text, e.allocator);
    weft_status *status = emit(&e, program, schedules);
    if (status == NULL)
        status = weft_text_create(e.allocator, e.text.size == 0 ? "" : e.text.data, e.text.size, out_text);
    weft_bytes_finish(&e.text);
    return weft_status_locate(status, __func__);
}
