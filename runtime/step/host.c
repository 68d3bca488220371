/* SPDX-License-Identifier: Apache-2.0 */
/* C functions: an extension's kernel, the reference backend. */
#include "runtime/step/step.h"
#include <string.h>
#include "runtime/base/cancel.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/step/device.h"

/* ---- context ---- */

/* What only the runtime knows of a kernel's context; what its `host` points to. */
typedef struct host_call {
    weft_pool *pool;
    const volatile bool *cancelled;
} host_call;

static void context_parallel(const weft_kernel_context *context, int64_t count, int64_t grain,
                             void (*task)(void *argument, int64_t begin, int64_t end), void *argument)
{
    const host_call *host = context->host;
    weft_pool_run(host->pool, count, grain, task, argument);
}

static bool context_is_cancelled(const weft_kernel_context *context)
{
    const host_call *host = context->host;
    return weft_is_cancelled(host->cancelled);
}

static weft_kernel_context make_context(const weft_bound_variant *bound, const weft_bound_step *bound_step,
                                        weft_view *views, host_call *host)
{
    const weft_step *step = bound_step->step;
    const weft_resolved *resolved = bound_step->resolved;
    size_t input_count = step->buffer_count - step->written;
    return (weft_kernel_context){.size = sizeof(weft_kernel_context),
                                 .op = resolved->op,
                                 .attrs = bound_step->attrs,
                                 .input_count = input_count,
                                 .output_count = step->written,
                                 .inputs = views,
                                 .outputs = views + input_count,
                                 .extension_state = weft_registry_state(bound->extensions, resolved->extension),
                                 .allocator = bound->allocator,
                                 .executor = bound->executor,
                                 .runtime = bound->host_runtime->name,
                                 .parallel = context_parallel,
                                 .is_cancelled = context_is_cancelled,
                                 .host = host,
                                 .cancelled = host->cancelled,
                                 .policy = &bound->program->policy};
}

/* ---- binding ---- */

static bool is_sound(const weft_variant *variant, const weft_step *step, const weft_resolved *resolved)
{
    (void)variant;
    (void)step;
    return resolved->op != NULL ? resolved->op->kernel != NULL : resolved->host != NULL;
}

static weft_status *bind_view(weft_bound_variant *bound, const weft_step *step, const weft_buffer *buffer,
                              weft_view *out_view)
{
    int64_t *shape = weft_bound_gather(bound, buffer->extents, buffer->rank);
    int64_t *strides = buffer->strides != NULL ? weft_bound_gather(bound, buffer->strides, buffer->rank)
                                               : weft_bound_take(bound, buffer->rank, sizeof *strides);
    if (shape == NULL || strides == NULL) return weft_status_out_of_memory();
    WEFT_TRY(weft_bound_check(bound, step, buffer->extents, buffer->rank));
    int64_t stride = 1;
    for (size_t axis = buffer->rank; buffer->strides == NULL && axis-- > 0;) {
        strides[axis] = stride;
        if (shape[axis] > 1 && __builtin_mul_overflow(stride, shape[axis], &stride)) stride = 0;
    }
    *out_view = (weft_view){.dtype = buffer->dtype, .rank = buffer->rank, .shape = shape, .strides = strides};
    return NULL;
}

/* The attribute with the slots in it replaced by their values. */
static weft_status *bind_attr(weft_bound_variant *bound, const weft_step *step, weft_attr_kind kind, weft_attr *attr)
{
    if (kind != WEFT_ATTR_EXTENT && kind != WEFT_ATTR_EXTENTS) return NULL;
    weft_extent *extents = weft_bound_take(bound, attr->extents.rank, sizeof *extents);
    if (extents == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < attr->extents.rank; i++) {
        int64_t slot = attr->extents.extents[i].value;
        if (slot < 0 || (uint64_t)slot >= bound->variant->formulas.count)
            return weft_status_create(bound->allocator, WEFT_INTERNAL, __func__,
                                      "an attribute names slot %lld, which does not exist", (long long)slot);
        WEFT_TRY(weft_bound_check(bound, step, &(uint32_t){(uint32_t)slot}, 1));
        extents[i] = (weft_extent){.value = bound->values[slot]};
    }
    attr->extents.extents = extents;
    return NULL;
}

static weft_status *bind_attrs(weft_bound_variant *bound, weft_bound_step *bound_step)
{
    const weft_op_def *op = bound_step->resolved->op;
    bound_step->attrs = bound_step->resolved->attrs;
    if (op == NULL || op->attr_count == 0) return NULL;
    weft_attr *attrs = weft_bound_take(bound, op->attr_count, sizeof *attrs);
    if (attrs == NULL) return weft_status_out_of_memory();
    memcpy(attrs, bound_step->attrs, op->attr_count * sizeof *attrs);
    for (size_t i = 0; i < op->attr_count; i++)
        WEFT_TRY(bind_attr(bound, bound_step->step, op->attrs[i].kind, &attrs[i]));
    bound_step->attrs = attrs;
    return NULL;
}

static weft_status *find_scratch(weft_bound_variant *bound, weft_bound_step *bound_step)
{
    const weft_step *step = bound_step->step;
    const weft_op_def *op = bound_step->resolved->op;
    if (op == NULL || op->scratch_size == NULL) return NULL;
    host_call host = {.pool = bound->pool};
    weft_kernel_context context = make_context(bound, bound_step, bound->views + bound_step->first_view, &host);
    size_t bytes = 0;
    WEFT_TRY(weft_status_of_op(op->scratch_size(&context, &bytes), op->name, step->file, step->line));
    if (bytes > INT64_MAX)
        return weft_status_create(bound->allocator, WEFT_OUT_OF_RANGE, "weft_executor_run",
                                  "op %s asks for %zu bytes of scratch", op->name, bytes);
    bound_step->scratch_bytes = (int64_t)bytes;
    return NULL;
}

static weft_status *bind(weft_bound_variant *bound, weft_bound_step *bound_step)
{
    const weft_step *step = bound_step->step;
    for (size_t i = 0; i < step->buffer_count; i++)
        WEFT_TRY(bind_view(bound, step, &bound->variant->buffers[step->buffers[i]],
                           &bound->views[bound_step->first_view + i]));
    WEFT_TRY(bind_attrs(bound, bound_step));
    return find_scratch(bound, bound_step);
}

/* ---- cost, running ---- */

static weft_step_cost cost(const weft_bound_variant *bound, const weft_bound_step *bound_step)
{
    return (weft_step_cost){.bytes = weft_step_bytes(bound, bound_step->step)};
}

static weft_status *call(weft_frame *frame, const weft_bound_step *bound_step, weft_view *views, void *scratch,
                         const volatile bool *cancelled)
{
    const weft_bound_variant *bound = frame->bound;
    const weft_step *step = bound_step->step;
    const weft_resolved *resolved = bound_step->resolved;
    host_call host = {.pool = bound->pool, .cancelled = cancelled};
    weft_kernel_context context = make_context(bound, bound_step, views, &host);
    size_t nested_bytes = 0;
    context.nested_bytes = &nested_bytes;
    context.scratch = scratch;
    const weft_op_def *op = resolved->op;
    weft_status *status = op != NULL ? weft_status_of_op(op->kernel(&context), op->name, step->file, step->line)
                                     : resolved->host(resolved->host_self, &context, bound->values);
    if (nested_bytes > frame->nested_bytes) frame->nested_bytes = nested_bytes;
    return status;
}

/* ---- on a device: the kernel works on copies in memory of the host ---- */

typedef struct staged {
    weft_block *scratch, **blocks; /* of each buffer */
    weft_view *views;
} staged;

static weft_status *stage(weft_frame *frame, const weft_bound_step *bound_step, size_t number, staged *s)
{
    const weft_step *step = bound_step->step;
    const weft_view *view = &frame->views[bound_step->first_view + number];
    bool is_empty = weft_has_zero(view->shape, view->rank);
    int64_t size = (int64_t)weft_dtype_size(view->dtype), low = 0, high = is_empty ? 0 : size;
    for (size_t axis = 0; axis < view->rank && !is_empty; axis++) {
        int64_t reach = (view->shape[axis] - 1) * view->strides[axis] * size;
        *(reach < 0 ? &low : &high) += reach;
    }
    WEFT_TRY(weft_block_acquire(frame->bound->blocks, NULL, (size_t)(high - low), &s->blocks[number]));
    s->views[number] = *view;
    s->views[number].data = (char *)s->blocks[number]->memory - low;
    if (number >= step->buffer_count - step->written) return NULL;
    return weft_device_copy_view(frame, WEFT_COPY_TO_HOST, view, s->views[number].data, view->data);
}

static weft_status *run_on(weft_frame *frame, const weft_bound_step *bound_step, staged *s,
                           const volatile bool *cancelled)
{
    const weft_step *step = bound_step->step;
    for (size_t i = 0; i < step->buffer_count; i++) WEFT_TRY(stage(frame, bound_step, i, s));
    if (bound_step->scratch_bytes > 0)
        WEFT_TRY(weft_block_acquire(frame->bound->blocks, NULL, (size_t)bound_step->scratch_bytes, &s->scratch));
    WEFT_TRY(weft_device_finish(frame));
    void *scratch = s->scratch == NULL ? NULL : s->scratch->memory;
    WEFT_TRY(weft_device_locate(frame, call(frame, bound_step, s->views, scratch, cancelled)));
    for (size_t i = step->buffer_count - step->written; i < step->buffer_count; i++) {
        const weft_view *view = &frame->views[bound_step->first_view + i];
        WEFT_TRY(weft_device_copy_view(frame, WEFT_COPY_TO_DEVICE, view, view->data, s->views[i].data));
    }
    return NULL;
}

static weft_status *run_staged(weft_frame *frame, const weft_bound_step *bound_step, const volatile bool *cancelled)
{
    const weft_allocator *allocator = frame->bound->allocator;
    size_t count = bound_step->step->buffer_count, size = count * (sizeof(weft_view) + sizeof(weft_block *));
    staged s = {.views = weft_allocate_zeroed(allocator, size)};
    if (s.views == NULL) return weft_status_out_of_memory();
    s.blocks = (weft_block **)(s.views + count);
    weft_status *status = run_on(frame, bound_step, &s, cancelled);
    weft_status *late = weft_device_finish(frame); /* the queue is through with the blocks */
    for (size_t i = 0; i < count; i++) weft_block_release(s.blocks[i]);
    weft_block_release(s.scratch);
    weft_free(allocator, s.views, size);
    if (status != NULL) weft_status_destroy(late);
    return status != NULL ? status : late;
}

static weft_status *run(weft_frame *frame, const weft_bound_step *bound_step, const volatile bool *cancelled)
{
    if (frame->device != NULL) return run_staged(frame, bound_step, cancelled);
    return call(frame, bound_step, frame->views + bound_step->first_view, weft_frame_scratch(frame, bound_step),
                cancelled);
}

const weft_step_methods weft_step_host = {WEFT_PROFILE_HOST, is_sound, bind, cost, run, NULL, NULL, NULL};
