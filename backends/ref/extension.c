/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/ref/ref.h"
#include "runtime/base/status.h"

enum { SCRATCH_ALIGNMENT = 64 };

static const weft_extension *find_extension(const weft_program *program, const weft_op_def *op)
{
    for (size_t i = 0; i < program->family_count; i++)
        for (size_t k = 0; k < program->families[i]->op_count; k++)
            if (program->families[i]->ops[k] == op) return program->families[i];
    return NULL;
}

static weft_status *run_kernel(const weft_reference_call *call, weft_kernel_context *context)
{
    size_t size = 0;
    if (call->op->scratch_size != NULL) WEFT_TRY(call->op->scratch_size(context, &size));
    if (size == 0) return call->op->kernel(context);
    const weft_allocator *allocator = call->allocator;
    context->scratch = allocator->resize(allocator->self, NULL, 0, size, SCRATCH_ALIGNMENT);
    if (context->scratch == NULL) return weft_status_out_of_memory();
    weft_status *status = call->op->kernel(context);
    allocator->resize(allocator->self, context->scratch, size, 0, SCRATCH_ALIGNMENT);
    return status;
}

weft_status *weft_reference_extension(const weft_reference_call *call)
{
    if (call->op->kernel == NULL)
        return weft_reference_error(call, WEFT_UNSUPPORTED, "the op was not lowered and has no kernel");
    const weft_extension *extension = find_extension(call->run->reference->program, call->op);
    if (extension == NULL)
        return weft_reference_error(call, WEFT_NOT_REGISTERED, "its extension is not among those of the program");
    weft_kernel_context context = *call->run->context;
    context.op = call->op;
    context.attrs = call->attrs;
    context.input_count = call->input_count;
    context.output_count = call->output_count;
    context.inputs = call->inputs;
    context.outputs = call->outputs;
    context.scratch = NULL;
    context.extension_state = weft_executor_extension_state(context.executor, extension);
    return weft_status_of_op(run_kernel(call, &context), call->op->name, call->location.file, call->location.line);
}
