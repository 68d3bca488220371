/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/run/build_variant.h"
#include <string.h>
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/plan/branches.h"
#include "runtime/step/device.h"
#include "runtime/step/step.h"

/* On an axis of one element nothing is stepped over, and in an array without any. */
static int64_t *add_strides(const weft_array *array, int64_t *next)
{
    for (size_t axis = 0; axis < weft_array_rank(array); axis++) {
        bool steps = weft_array_count(array) > 0 && weft_array_shape(array)[axis] > 1;
        *next++ = steps ? weft_array_strides(array)[axis] : 0;
    }
    return next;
}

/* Outputs that are not given are row-major, and theirs are not asked for. */
static int64_t *strides_of(const weft_call *call, weft_arena *arena)
{
    const weft_run *run = call->run;
    const weft_program *program = call->program;
    size_t count = 0;
    for (size_t i = 0; i < program->input_count; i++) count += program->inputs[i].rank;
    for (size_t i = 0; i < program->output_count; i++) count += program->outputs[i].rank;
    int64_t *strides = weft_arena_allocate(arena, (count + 1) * sizeof *strides), *next = strides;
    if (strides == NULL) return NULL;
    memset(strides, 0, count * sizeof *strides);
    for (size_t i = 0; i < program->input_count; i++) next = add_strides(run->inputs[i], next);
    for (size_t i = 0; i < program->output_count; next += program->outputs[i++].rank)
        if (run->outputs[i] != NULL) add_strides(run->outputs[i], next);
    return strides;
}

weft_status *weft_variant_request_init(weft_variant_request *request, weft_executor *executor, const weft_call *call,
                                       bool specialize, weft_arena *arena)
{
    const weft_formulas *formulas = &call->program->formulas;
    const weft_run *run = call->run;
    int64_t *symbols = weft_arena_allocate(arena, formulas->symbol_count * sizeof *symbols);
    int64_t *values = weft_arena_allocate(arena, formulas->count * sizeof *values);
    uint8_t *layouts = weft_arena_allocate(arena, run->input_count + run->output_count);
    int64_t *strides = specialize ? strides_of(call, arena) : NULL;
    if (symbols == NULL || values == NULL || layouts == NULL || (specialize && strides == NULL))
        return weft_status_out_of_memory();
    WEFT_TRY(weft_call_bind(&executor->allocator, call, symbols, values));
    for (size_t i = 0; i < run->input_count; i++) layouts[i] = weft_call_layout(run->inputs[i]);
    for (size_t i = 0; i < run->output_count; i++) layouts[run->input_count + i] = weft_call_layout(run->outputs[i]);
    *request = (weft_variant_request){.executor = executor,
                                      .runtime = call->runtime,
                                      .program = call->program,
                                      .layouts = layouts,
                                      .symbols = specialize ? symbols : NULL,
                                      .strides = strides,
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
                                      .strides = request->strides,
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
