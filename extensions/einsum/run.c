/* SPDX-License-Identifier: Apache-2.0 */
/* The symbolic node, or a derivative of it, at run time: contracted by a program for the extents it meets. */
#define WEFT_NO_LOCATIONS
#include "gradient.h"
#include "op.h"
#include "program.h"

static weft_status *read_node(const einsum_call *call, einsum_expression *x, const weft_shape *shapes,
                              einsum_policy *out_policy)
{
    return einsum_op_read(x, call->source, call->operand_count, shapes, NULL, out_policy);
}

static weft_status *wrap(const weft_kernel_context *context, const weft_view *view, weft_array **out_array)
{
    return weft_array_wrap(context->allocator, view->dtype, view->rank, view->shape, view->strides, view->data, NULL,
                           NULL, out_array);
}

/* The outputs, then the operands. */
static weft_status *wrap_all(const weft_kernel_context *context, weft_array **arrays)
{
    for (size_t i = 0; i < context->output_count; i++) WEFT_TRY(wrap(context, &context->outputs[i], arrays++));
    for (size_t i = 0; i < context->input_count; i++) WEFT_TRY(wrap(context, &context->inputs[i], arrays++));
    return NULL;
}

static weft_status *fill_call(const weft_kernel_context *context, weft_ints passes, einsum_arena *arena,
                              einsum_call *out_call)
{
    const weft_attr *attrs = context->attrs;
    einsum_planner planner;
    weft_ints *shapes = einsum_arena_allocate(arena, context->input_count, sizeof *shapes);
    if (shapes == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < context->input_count; i++)
        shapes[i] = (weft_ints){context->inputs[i].rank, context->inputs[i].shape};
    WEFT_TRY(einsum_planner_parse(arena, attrs[EINSUM_ATTR_PLANNER].data, &planner));
    *out_call = (einsum_call){.text = attrs[EINSUM_ATTR_EQUATION].data,
                              .order = attrs[EINSUM_ATTR_ORDER].data,
                              .planner = attrs[EINSUM_ATTR_PLANNER].data,
                              .path = attrs[EINSUM_ATTR_PATH].ints,
                              .sliced = attrs[EINSUM_ATTR_SLICED].ints,
                              .passes = passes,
                              .dtype = context->inputs[0].dtype,
                              .operand_count = context->input_count - einsum_passes_input_count(passes),
                              .input_count = context->input_count,
                              .shapes = shapes,
                              .limit = planner.limit,
                              .cancelled = context->cancelled,
                              .read = read_node,
                              .source = attrs,
                              .products = context->policy->products};
    return NULL;
}

static weft_status *run_over(const weft_kernel_context *context, einsum_call *call, weft_array **arrays,
                             weft_array **inputs)
{
    WEFT_TRY(wrap_all(context, arrays));
    weft_report report = {.peak_bytes = 0};
    weft_run run = {.runtime = context->runtime,
                    .output_count = context->output_count,
                    .outputs = arrays,
                    .cancelled = context->cancelled,
                    .report = &report};
    weft_status *status = einsum_program_run(context->extension_state, call, context->executor,
                                             arrays + context->output_count, inputs, &run);
    if (context->nested_bytes != NULL) *context->nested_bytes = report.peak_bytes;
    return status;
}

static weft_status *run_in(const weft_kernel_context *context, weft_ints passes, einsum_arena *arena)
{
    einsum_call call;
    size_t count = context->output_count + context->input_count;
    WEFT_TRY(fill_call(context, passes, arena, &call));
    weft_array **arrays = einsum_arena_allocate(arena, 2 * count, sizeof(weft_array *));
    if (arrays == NULL) return weft_status_out_of_memory();
    weft_status *status = run_over(context, &call, arrays, arrays + count);
    for (size_t i = 0; i < count; i++) weft_array_release(arrays[i]);
    return status;
}

static weft_status *run(const weft_kernel_context *context, weft_ints passes)
{
    einsum_arena arena;
    einsum_arena_init(&arena, context->allocator);
    weft_status *status = run_in(context, passes, &arena);
    einsum_arena_finish(&arena);
    return status;
}

weft_status *einsum_op_run(const weft_kernel_context *context)
{
    return run(context, (weft_ints){0, NULL});
}

weft_status *einsum_derivative_run(const weft_kernel_context *context)
{
    return run(context, context->attrs[EINSUM_ATTR_PASSES].ints);
}
