/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/ref/ref.h"
#include "runtime/step/region.h"

/* ---- loops ---- */

/* What a loop carries lives in the outputs of its node: a step reads and overwrites them. */
static weft_status *start_carried(const weft_reference_call *call)
{
    if (call->output_count > call->input_count)
        return weft_reference_error(call, WEFT_INTERNAL, "%zu values are carried, but there are %zu operands",
                                    call->output_count, call->input_count);
    for (size_t i = 0; i < call->output_count; i++) weft_view_copy(&call->outputs[i], &call->inputs[i]);
    return NULL;
}

/* Arguments of a loop's regions: `first` of the loop's own, what it carries, the operands it only reads. */
static weft_view *fill_arguments(const weft_reference_call *call, weft_arena *arena, size_t first)
{
    weft_view *arguments = weft_arena_allocate(arena, (first + call->input_count) * sizeof *arguments);
    for (size_t i = 0; arguments != NULL && i < call->input_count; i++)
        arguments[first + i] = i < call->output_count ? call->outputs[i] : call->inputs[i];
    return arguments;
}

static weft_status *in_iteration(const weft_reference_call *call, int64_t iteration, weft_status *status)
{
    return weft_region_error(call->allocator, call->op->name, iteration, status);
}

typedef weft_status *(*region_function)(const weft_reference_call *call, weft_arena *arena);

static weft_status *with_arena(const weft_reference_call *call, region_function function)
{
    weft_arena arena;
    weft_arena_init(&arena, call->allocator);
    weft_status *status = function(call, &arena);
    weft_arena_finish(&arena);
    return status;
}

/* ---- ops ---- */

static weft_status *fold(const weft_reference_call *call, weft_arena *arena)
{
    weft_compiled body;
    int64_t trips = call->attrs[0].extents.extents[0].value;
    WEFT_TRY(weft_compiled_open(&call->attrs[1].region, arena, &body));
    WEFT_TRY(start_carried(call));
    weft_view *arguments = fill_arguments(call, arena, 1);
    if (arguments == NULL) return weft_status_out_of_memory();
    int64_t trip;
    arguments[0] = (weft_view){.dtype = WEFT_I64, .data = &trip};
    for (trip = 0; trip < trips; trip++)
        WEFT_TRY(in_iteration(
            call, trip, weft_reference_evaluate(call->run, &body, 1 + call->input_count, arguments, call->outputs)));
    return NULL;
}

static weft_status *loop(const weft_reference_call *call, weft_arena *arena)
{
    weft_compiled condition, body;
    WEFT_TRY(weft_compiled_open(&call->attrs[1].region, arena, &condition));
    WEFT_TRY(weft_compiled_open(&call->attrs[2].region, arena, &body));
    WEFT_TRY(start_carried(call));
    const weft_view *arguments = fill_arguments(call, arena, 0);
    if (arguments == NULL) return weft_status_out_of_memory();
    uint8_t again;
    weft_view verdict = {.dtype = WEFT_BOOL, .data = &again};
    for (int64_t iteration = 0;; iteration++) {
        weft_status *status = weft_reference_evaluate(call->run, &condition, call->input_count, arguments, &verdict);
        if (status == NULL && again)
            status = weft_reference_evaluate(call->run, &body, call->input_count, arguments, call->outputs);
        WEFT_TRY(in_iteration(call, iteration, status));
        if (!again) return NULL;
    }
}

static weft_status *branch(const weft_reference_call *call, weft_arena *arena)
{
    weft_compiled body;
    bool first = weft_element_load(WEFT_BOOL, call->inputs[0].data).integer != 0;
    WEFT_TRY(weft_compiled_open(&call->attrs[first ? 0 : 1].region, arena, &body));
    return weft_reference_evaluate(call->run, &body, call->input_count - 1, call->inputs + 1, call->outputs);
}

weft_status *weft_reference_fold(const weft_reference_call *call)
{
    return with_arena(call, fold);
}

weft_status *weft_reference_while(const weft_reference_call *call)
{
    return with_arena(call, loop);
}

weft_status *weft_reference_cond(const weft_reference_call *call)
{
    return with_arena(call, branch);
}
