/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/run/build_variant.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/plan/branches.h"
#include "runtime/step/device.h"
#include "runtime/step/step.h"

weft_status *weft_variant_request_init(weft_variant_request *request, weft_executor *executor, const weft_call *call,
                                       bool specialize, weft_arena *arena)
{
    const weft_formulas *formulas = &call->program->formulas;
    const weft_run *run = call->run;
    int64_t *symbols = weft_arena_allocate(arena, formulas->symbol_count * sizeof *symbols);
    int64_t *values = weft_arena_allocate(arena, formulas->count * sizeof *values);
    uint8_t *layouts = weft_arena_allocate(arena, run->input_count + run->output_count);
    if (symbols == NULL || values == NULL || layouts == NULL) return weft_status_out_of_memory();
    WEFT_TRY(weft_call_bind(&executor->allocator, call, symbols, values));
    for (size_t i = 0; i < run->input_count; i++) layouts[i] = weft_call_layout(run->inputs[i]);
    for (size_t i = 0; i < run->output_count; i++) layouts[run->input_count + i] = weft_call_layout(run->outputs[i]);
    *request = (weft_variant_request){.executor = executor,
                                      .runtime = call->runtime,
                                      .program = call->program,
                                      .layouts = layouts,
                                      .symbols = specialize ? symbols : NULL,
                                      .is_limited = weft_call_is_limited(call),
                                      .code = executor->code,
                                      .cancelled = run->cancelled};
    return NULL;
}

weft_status *weft_variant_request_build(const weft_variant_request *request, weft_variant **out_variant)
{
    weft_executor *executor = request->executor;
    const weft_program *program = request->program;
    const weft_runtime *runtime = request->runtime;
    if (runtime->compiler == NULL)
        return weft_status_create(&executor->allocator, WEFT_NO_COMPILER, "weft_executor_run",
                                  "runtime \"%s\" has no compiler, and nothing compiled fits the program",
                                  runtime->name);
    const weft_machine *machine = weft_device_machine(runtime);
    const weft_build_request build = {.allocator = &executor->allocator,
                                      .program = program,
                                      .runtime = runtime,
                                      .input_layouts = request->layouts,
                                      .output_layouts = request->layouts + program->input_count,
                                      .specialized_count =
                                          request->symbols != NULL ? program->formulas.symbol_count : 0,
                                      .specialized = request->symbols,
                                      .is_limited = request->is_limited,
                                      .machine = machine != NULL ? machine : weft_pool_machine(executor->pool),
                                      .level = weft_isa_level(),
                                      .pool = executor->pool,
                                      .kernels = executor->kernels,
                                      .store = executor->store,
                                      .schedules = executor->schedules,
                                      .code = request->code,
                                      .background = executor->background,
                                      .kernels_compiled = &executor->kernels_compiled,
                                      .kernels_optimized = &executor->kernels_optimized,
                                      .cancelled = request->cancelled};
    WEFT_TRY(weft_status_locate(runtime->compiler->build(runtime->self, &build, out_variant), "weft_executor_run"));
    if (*out_variant == NULL)
        return weft_status_create(&executor->allocator, WEFT_INTERNAL, "weft_executor_run",
                                  "the compiler of runtime \"%s\" made no variant", runtime->name);
    weft_steps_resolve(*out_variant, program->policy.products);
    (*out_variant)->branches = &weft_plan_branches;
    weft_status *status = weft_steps_check(*out_variant, program);
    if (status == NULL && weft_device_is_apart(runtime))
        status = weft_variant_upload(*out_variant, runtime, executor->blocks);
    if (status != NULL) weft_variant_destroy(*out_variant);
    return status;
}
