/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/step/device.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/step/queues.h"
#include "runtime/step/region.h"
#include "runtime/step/step.h"

/* Iterations that a loop gives to its queue before the host looks what became of them: it bounds what the queue holds,
 * and how late a run is cancelled. */
enum { MOST_ITERATIONS = 1024 };

static const weft_queue_methods *methods_of(const weft_frame *frame)
{
    return frame->bound->runtime->driver->queues;
}

static void *self_of(const weft_frame *frame)
{
    return frame->bound->runtime->self;
}

/* ---- open, close ---- */

static weft_status *open_run(weft_frame *frame)
{
    const weft_bound_variant *bound = frame->bound;
    weft_device_run *run = frame->device;
    run->iteration_count = 1;
    run->found.tag = -1;
    WEFT_TRY(weft_block_acquire(bound->blocks, bound->runtime, sizeof *run->error, &run->error_block));
    run->error = run->error_block->memory;
    run->queue = frame->queue;
    run->owned = frame->queue == NULL;
    if (run->owned) WEFT_TRY(weft_queues_acquire(bound->queues, bound->runtime, &run->queue));
    return weft_device_store(frame, &run->error->tag, -1);
}

weft_status *weft_device_open(weft_frame *frame)
{
    frame->device = weft_allocate_zeroed(frame->bound->allocator, sizeof *frame->device);
    if (frame->device == NULL) return weft_status_out_of_memory();
    weft_status *status = open_run(frame);
    if (status != NULL) weft_device_close(frame);
    return status;
}

void weft_device_close(weft_frame *frame)
{
    const weft_bound_variant *bound = frame->bound;
    weft_device_run *run = frame->device;
    if (run->owned) weft_queues_release(bound->queues, bound->runtime, run->queue);
    weft_block_release(run->error_block);
    weft_free(bound->allocator, run->iterations, run->iteration_capacity * sizeof *run->iterations);
    weft_free(bound->allocator, run, sizeof *run);
    frame->device = NULL;
}

/* ---- errors ---- */

static const char *loop_name(const weft_step *region)
{
    return region->region.control == WEFT_CONTROL_FOLD ? "fold" : "while";
}

static weft_status *locate_in(const weft_frame *frame, int64_t iteration, weft_status *status)
{
    const weft_device_run *run = frame->device;
    for (; iteration != 0; iteration = run->iterations[iteration].parent) {
        const weft_iteration *around = &run->iterations[iteration];
        status = weft_region_error(frame->bound->allocator, loop_name(around->region), around->number, status);
    }
    return status;
}

weft_status *weft_device_locate(const weft_frame *frame, weft_status *status)
{
    return locate_in(frame, frame->device->iteration, status);
}

/* A tag is the number of a step and of the iteration that it was in. */
static int64_t tag_of(const weft_frame *frame, const weft_bound_step *bound_step)
{
    int64_t steps = (int64_t)frame->bound->variant->step_count;
    return frame->device->iteration * steps + (bound_step - frame->bound->steps);
}

weft_status *weft_device_ask(weft_frame *frame)
{
    weft_device_run *run = frame->device;
    const weft_copy copy = {.size = sizeof copy,
                            .kind = WEFT_COPY_TO_HOST,
                            .to = &run->found,
                            .from = run->error,
                            .width = sizeof run->found,
                            .rows = 1};
    return methods_of(frame)->copy(self_of(frame), run->queue, &copy);
}

weft_status *weft_device_result(const weft_frame *frame)
{
    const weft_launch_error *found = &frame->device->found;
    int64_t steps = (int64_t)frame->bound->variant->step_count;
    if (found->tag < 0) return NULL;
    const weft_step *step = &frame->bound->variant->steps[found->tag % steps];
    return locate_in(frame, found->tag / steps, weft_kernel_data_error(frame->bound, step, &found->slot));
}

weft_status *weft_device_finish(weft_frame *frame)
{
    weft_status *status = weft_device_ask(frame);
    weft_status *late = methods_of(frame)->finish(self_of(frame), frame->device->queue);
    if (status != NULL) weft_status_destroy(late);
    else status = late;
    return status != NULL ? status : weft_device_result(frame);
}

/* ---- work ---- */

weft_status *weft_device_move(weft_frame *frame, void *to, const void *from, size_t bytes)
{
    const weft_copy copy = {
        .size = sizeof copy, .kind = WEFT_COPY_ON_DEVICE, .to = to, .from = from, .width = bytes, .rows = 1};
    return methods_of(frame)->copy(self_of(frame), frame->device->queue, &copy);
}

weft_status *weft_device_store(weft_frame *frame, int64_t *to, int64_t value)
{
    return methods_of(frame)->store(self_of(frame), frame->device->queue, to, value);
}

weft_status *weft_device_test(weft_frame *frame, const void *from, bool *out_value)
{
    uint8_t byte = 0;
    const weft_copy copy = {
        .size = sizeof copy, .kind = WEFT_COPY_TO_HOST, .to = &byte, .from = from, .width = sizeof byte, .rows = 1};
    weft_status *status = methods_of(frame)->copy(self_of(frame), frame->device->queue, &copy);
    weft_status *late = weft_device_finish(frame); /* `byte` is not left to the queue */
    *out_value = byte != 0;
    if (status != NULL) weft_status_destroy(late);
    return status != NULL ? status : late;
}

weft_status *weft_device_copy_view(weft_frame *frame, weft_copy_kind kind, const weft_view *view, void *to,
                                   const void *from)
{
    const weft_device_layout layout = {.element = weft_dtype_size(view->dtype),
                                       .rank = view->rank,
                                       .shape = view->shape,
                                       .to_strides = view->strides,
                                       .from_strides = view->strides};
    return weft_device_copy(frame->bound->runtime, frame->device->queue, kind, &layout, to, from);
}

weft_status *weft_device_launch(weft_frame *frame, const weft_bound_step *bound_step, const int64_t *scalars,
                                int64_t iterations)
{
    const weft_step *step = bound_step->step;
    const weft_launch launch = {.size = sizeof launch,
                                .name = step->name,
                                .image = bound_step->code->image,
                                .function = weft_kernel_code_function(bound_step->code),
                                .buffer_count = step->buffer_count,
                                .buffers = frame->pointers + bound_step->first_pointer,
                                .scalar_count = step->scalar_count,
                                .scalars = scalars,
                                .iterations = iterations,
                                .tag = tag_of(frame, bound_step),
                                .error = frame->device->error};
    return methods_of(frame)->launch(self_of(frame), frame->device->queue, &launch);
}

/* ---- loops ---- */

weft_device_loop weft_device_begin_loop(const weft_frame *frame, const weft_step *region)
{
    const weft_device_run *run = frame->device;
    if (run == NULL) return (weft_device_loop){.region = region};
    return (weft_device_loop){region, run->iteration, run->iteration_count};
}

weft_status *weft_device_begin_iteration(weft_frame *frame, const weft_device_loop *loop, int64_t number)
{
    weft_device_run *run = frame->device;
    if (run->iteration_count - loop->kept >= MOST_ITERATIONS) {
        WEFT_TRY(weft_device_finish(frame));
        run->iteration_count = loop->kept;
    }
    if (!weft_reserve(frame->bound->allocator, &run->iterations, &run->iteration_capacity, run->iteration_count + 1,
                      sizeof *run->iterations))
        return weft_status_out_of_memory();
    run->iterations[run->iteration_count] = (weft_iteration){loop->parent, loop->region, number};
    run->iteration = (int64_t)run->iteration_count++;
    return NULL;
}

void weft_device_end_loop(weft_frame *frame, const weft_device_loop *loop)
{
    if (frame->device != NULL) frame->device->iteration = loop->parent;
}
