/* SPDX-License-Identifier: Apache-2.0 */
/* The symbolic node at the run: contracted by a program for the extents it meets. */
#define WEFT_NO_PLACES
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

static weft_status *wrap_all(const weft_kernel_context *context, const einsum_program *program, weft_array **arrays)
{
    WEFT_TRY(wrap(context, &context->outputs[0], &arrays[0]));
    for (size_t i = 0; i < program->input_count; i++)
        WEFT_TRY(wrap(context, &context->inputs[program->inputs[i]], &arrays[1 + i]));
    return NULL;
}

static weft_status *run_over(const weft_kernel_context *context, const einsum_program *program, weft_array **arrays)
{
    WEFT_TRY(wrap_all(context, program, arrays));
    weft_run run = {.runtime = context->runtime,
                    .input_count = program->input_count,
                    .inputs = arrays + 1,
                    .output_count = 1,
                    .outputs = arrays,
                    .cancelled = context->cancelled};
    return weft_executor_run(context->executor, program->program, &run);
}

static weft_status *run_program(const weft_kernel_context *context, einsum_arena *arena, const einsum_program *program)
{
    size_t count = 1 + program->input_count;
    weft_array **arrays = einsum_arena_allocate(arena, count, sizeof(weft_array *));
    weft_status *status = arrays == NULL ? weft_status_out_of_memory() : run_over(context, program, arrays);
    for (size_t i = 0; arrays != NULL && i < count; i++) weft_array_release(arrays[i]);
    return status;
}

static weft_status *run_in(const weft_kernel_context *context, einsum_arena *arena)
{
    const weft_attr *attrs = context->attrs;
    einsum_program *program;
    weft_ints *shapes = einsum_arena_allocate(arena, context->input_count, sizeof *shapes);
    if (shapes == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < context->input_count; i++)
        shapes[i] = (weft_ints){context->inputs[i].rank, context->inputs[i].shape};
    einsum_call call = {.text = attrs[EINSUM_ATTR_EQUATION].data,
                        .order = attrs[EINSUM_ATTR_ORDER].data,
                        .planner = attrs[EINSUM_ATTR_PLANNER].data,
                        .path = attrs[EINSUM_ATTR_PATH].ints,
                        .sliced = attrs[EINSUM_ATTR_SLICED].ints,
                        .dtype = context->inputs[0].dtype,
                        .operand_count = context->input_count,
                        .shapes = shapes,
                        .read = read_node,
                        .source = attrs};
    WEFT_TRY(einsum_program_find(context->extension_state, &call, &program));
    weft_status *status = run_program(context, arena, program);
    einsum_shared_release(&program->shared);
    return status;
}

weft_status *einsum_op_run(const weft_kernel_context *context)
{
    einsum_arena arena;
    einsum_arena_init(&arena, context->allocator);
    weft_status *status = run_in(context, &arena);
    einsum_arena_finish(&arena);
    return status;
}
