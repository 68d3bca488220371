/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/step/frame.h"
#include <string.h>
#include "runtime/data/array.h"
#include "runtime/data/array_layout.h"
#include "runtime/base/cancel.h"
#include "runtime/base/memory.h"
#include "runtime/step/device.h"

/* ---- create, destroy ---- */

/* Arenas up to this size are part of the frame: they take little beside the tables, and a run no lock. */
enum { SMALL_ARENA = 4096, ARENA_ALIGNMENT = 64 };

static bool has_small_arena(const weft_bound_variant *bound)
{
    return bound->arena_bytes > 0 && bound->arena_bytes <= SMALL_ARENA && bound->runtime->driver->allocate == NULL;
}

static size_t frame_size(const weft_bound_variant *bound)
{
    size_t pointers = bound->output_count + bound->input_count + bound->variant->buffer_count + bound->pointer_count;
    size_t intervals = bound->output_count + bound->input_count;
    return sizeof(weft_frame) + pointers * sizeof(void *) + bound->view_count * sizeof(weft_view) +
           intervals * sizeof(weft_interval) +
           (has_small_arena(bound) ? (size_t)bound->arena_bytes + ARENA_ALIGNMENT - 1 : 0);
}

static char *align(char *memory)
{
    return memory + (-(uintptr_t)memory & (ARENA_ALIGNMENT - 1));
}

weft_status *weft_frame_create(weft_bound_variant *bound, weft_frame **out_frame)
{
    weft_frame *frame = weft_allocate_zeroed(bound->allocator, frame_size(bound));
    if (frame == NULL) return weft_status_out_of_memory();
    frame->bound = bound;
    frame->outputs = (weft_array **)(frame + 1);
    frame->copies = (weft_block **)(frame->outputs + bound->output_count);
    frame->buffers = (void **)(frame->copies + bound->input_count);
    frame->pointers = frame->buffers + bound->variant->buffer_count;
    frame->views = (weft_view *)(frame->pointers + bound->pointer_count);
    memcpy(frame->views, bound->views, bound->view_count * sizeof(weft_view));
    frame->output_intervals = (weft_interval *)(frame->views + bound->view_count);
    frame->input_intervals = frame->output_intervals + bound->output_count;
    if (has_small_arena(bound)) frame->arena = align((char *)(frame->input_intervals + bound->input_count));
    for (size_t i = 0; i < bound->output_count; i++) frame->output_intervals[i].number = i;
    for (size_t i = 0; i < bound->input_count; i++) frame->input_intervals[i].number = i;
    *out_frame = frame;
    return NULL;
}

void weft_frame_destroy(weft_frame *frame)
{
    if (frame != NULL) weft_free(frame->bound->allocator, frame, frame_size(frame->bound));
}

/* ---- overlaps ---- */

/* Up to this many pairs of arrays are compared one by one. */
#define FEW_PAIRS 64

static weft_interval interval_of(const weft_array *array, weft_span span, size_t number)
{
    weft_interval interval = {.number = number};
    if (array == NULL || span.low == span.high) return interval;
    interval.low = (uintptr_t)array->data + (uintptr_t)span.low;
    interval.high = (uintptr_t)array->data + (uintptr_t)span.high;
    return interval;
}

static weft_interval input_interval(const weft_frame *frame, const weft_run *run, size_t input)
{
    return interval_of(run->inputs[input], frame->bound->input_spans[input], input);
}

/* Of the caller's array. */
static weft_interval output_interval(const weft_frame *frame, const weft_run *run, size_t output)
{
    return interval_of(run->outputs[output], frame->bound->output_spans[output], output);
}

/* Where a donated input's first element lies in its copy. */
static void *data_of_copy(const weft_frame *frame, size_t input)
{
    return (char *)frame->copies[input]->memory - frame->bound->input_spans[input].low;
}

/* Between the array's memory and a copy of it. */
static weft_status *copy_elements(weft_frame *frame, const weft_array *array, void *to, const void *from)
{
    const weft_view view = {.dtype = weft_array_dtype(array),
                            .rank = weft_array_rank(array),
                            .shape = weft_array_shape(array),
                            .strides = weft_array_strides(array)};
    if (frame->device != NULL) return weft_device_copy_view(frame, WEFT_COPY_ON_DEVICE, &view, to, from);
    weft_array_copy_elements(array, to, from);
    return NULL;
}

/* The copy has room for what lies between the elements, so that the views of it keep their strides. That memory may
 * belong to others: it is left alone. */
static weft_status *copy_input(weft_frame *frame, const weft_run *run, size_t input)
{
    const weft_bound_variant *bound = frame->bound;
    weft_span span = bound->input_spans[input];
    if (frame->copies[input] != NULL) return NULL;
    size_t bytes = (size_t)(span.high - span.low);
    WEFT_TRY(weft_block_acquire(bound->blocks, bound->runtime, bytes, &frame->copies[input]));
    const weft_array *array = run->inputs[input];
    return copy_elements(frame, array, data_of_copy(frame, input), weft_array_data(array));
}

static bool is_donated(const weft_run *run, size_t input)
{
    return run->donated != NULL && run->donated[input];
}

/* Whether the output may be in the memory of the input, and the input need not be copied for that. */
static bool may_alias(const weft_frame *frame, const weft_run *run, size_t output, size_t input)
{
    const uint32_t *output_alias = frame->bound->variant->output_alias;
    return output_alias != NULL && output_alias[input] == output && is_donated(run, input);
}

static bool is_same(const weft_array *x, const weft_array *y)
{
    size_t rank = weft_array_rank(x);
    return weft_array_data(x) == weft_array_data(y) &&
           memcmp(weft_array_strides(x), weft_array_strides(y), rank * sizeof(int64_t)) == 0;
}

/* Handles an output and an input that overlap: copies a donated input, refuses any other. */
static weft_status *settle_input(weft_frame *frame, const weft_run *run, size_t output, size_t input)
{
    const weft_bound_variant *bound = frame->bound;
    if (may_alias(frame, run, output, input) && is_same(run->outputs[output], run->inputs[input])) return NULL;
    if (is_donated(run, input) && bound->executor != NULL) return copy_input(frame, run, input);
    return weft_status_create(bound->allocator, WEFT_INVALID_ARGUMENT, "weft_executor_run",
                              "output \"%s\" overlaps input \"%s\"%s", bound->program->outputs[output].name,
                              bound->program->inputs[input].name,
                              bound->executor != NULL ? ", which is not donated" : "");
}

/* One by one; the first pair that must not overlap is reported. */
static weft_status *check_output(weft_frame *frame, const weft_run *run, size_t output)
{
    const weft_bound_variant *bound = frame->bound;
    weft_interval own = output_interval(frame, run, output), other;
    for (size_t i = 0; i < run->input_count; i++) {
        other = input_interval(frame, run, i);
        if (weft_interval_meets(&own, &other)) WEFT_TRY(settle_input(frame, run, output, i));
    }
    for (size_t i = 0; i < output; i++) {
        other = output_interval(frame, run, i);
        if (weft_interval_meets(&own, &other))
            return weft_status_create(bound->allocator, WEFT_INVALID_ARGUMENT, "weft_executor_run",
                                      "outputs \"%s\" and \"%s\" overlap", bound->program->outputs[i].name,
                                      bound->program->outputs[output].name);
    }
    return NULL;
}

static weft_status *check_pairs(weft_frame *frame, const weft_run *run)
{
    for (size_t i = 0; i < run->output_count; i++)
        if (run->outputs[i] != NULL) WEFT_TRY(check_output(frame, run, i));
    return NULL;
}

/* Starts from the order of the previous run, which is mostly still right. */
static void sort_outputs(weft_frame *frame, const weft_run *run)
{
    weft_interval *sorted = frame->output_intervals;
    for (size_t i = 0; i < run->output_count; i++) sorted[i] = output_interval(frame, run, sorted[i].number);
    weft_intervals_sort(run->output_count, sorted);
}

static void sort_inputs(weft_frame *frame, const weft_run *run)
{
    weft_interval *sorted = frame->input_intervals;
    for (size_t i = 0; i < run->input_count; i++) sorted[i] = input_interval(frame, run, sorted[i].number);
    weft_intervals_sort(run->input_count, sorted);
}

/* Settles an input with the outputs that it overlaps, which are sorted and do not overlap each other; `out_fine` is
 * false where it must not overlap any. */
static weft_status *check_input(weft_frame *frame, const weft_run *run, size_t input, bool *out_fine)
{
    const weft_interval *sorted = frame->output_intervals;
    weft_interval own = input_interval(frame, run, input);
    if (own.high == 0) return NULL;
    size_t at = weft_intervals_find(run->output_count, sorted, own.low);
    if (at > 0 && sorted[at - 1].high > own.low) at--;
    for (; at < run->output_count && sorted[at].low < own.high && frame->copies[input] == NULL; at++) {
        *out_fine = is_donated(run, input);
        if (!*out_fine) return NULL;
        WEFT_TRY(settle_input(frame, run, sorted[at].number, input));
    }
    return NULL;
}

/* Many arrays are sorted first; only if some overlap are the pairs compared, to name the one at fault. */
static weft_status *check_overlaps(weft_frame *frame, const weft_run *run)
{
    if (run->output_count * (run->input_count + run->output_count) <= FEW_PAIRS) return check_pairs(frame, run);
    sort_outputs(frame, run);
    bool fine = !weft_intervals_meet(run->output_count, frame->output_intervals);
    for (size_t i = 0; i < run->input_count && fine; i++) WEFT_TRY(check_input(frame, run, i, &fine));
    return fine ? NULL : check_pairs(frame, run);
}

/* ---- cancelling ---- */

bool weft_frame_is_cancelled(weft_frame *frame, const volatile bool *cancelled)
{
    int ending = WEFT_RUN_OPEN;
    return weft_is_cancelled(cancelled) &&
           (atomic_compare_exchange_strong(&frame->ending, &ending, WEFT_RUN_CANCELLED) ||
            ending == WEFT_RUN_CANCELLED);
}

bool weft_frame_complete(weft_frame *frame)
{
    int ending = WEFT_RUN_OPEN;
    return atomic_compare_exchange_strong(&frame->ending, &ending, WEFT_RUN_COMPLETED) || ending == WEFT_RUN_COMPLETED;
}

/* ---- open ---- */

/* The status of a block that could not be allocated, with a message that says what it was for. */
static weft_status *tell_what_for(const weft_frame *frame, weft_status *status, const char *what, const char *name,
                                  size_t bytes)
{
    if (weft_status_code(status) != WEFT_OUT_OF_MEMORY) return status;
    weft_status_destroy(status);
    return weft_status_create(frame->bound->allocator, WEFT_OUT_OF_MEMORY, "weft_executor_run",
                              "there is no memory for the %zu bytes of %s%s%s%s", bytes, what,
                              name == NULL ? "" : " \"", name == NULL ? "" : name, name == NULL ? "" : "\"");
}

static weft_status *create_output(weft_frame *frame, size_t output)
{
    const weft_bound_variant *bound = frame->bound;
    const weft_output_shape *shape = &bound->outputs[output];
    const weft_allocator *allocator = bound->allocator;
    weft_block *block;
    weft_status *status = weft_block_acquire(bound->blocks, bound->runtime, shape->bytes, &block);
    if (status != NULL)
        return tell_what_for(frame, status, "output", bound->program->outputs[output].name, shape->bytes);
    status = weft_array_wrap(allocator, shape->dtype, shape->rank, shape->shape, NULL, block->memory,
                             weft_block_release, block, &frame->outputs[output]);
    if (status == NULL) weft_array_set_runtime(frame->outputs[output], bound->runtime);
    else weft_block_release(block);
    return status;
}

/* Whether one of the sorted intervals meets it, other than the array's own if that `is_among` them. */
static bool meets_another(const weft_interval *own, size_t count, const weft_interval *sorted, bool is_among)
{
    size_t at = weft_intervals_find(count, sorted, own->low), next = at + is_among;
    return (at > 0 && sorted[at - 1].reach > own->low) || (next < count && sorted[next].low < own->high);
}

/* Whether a donated input is row-major, like a new array, and not read or written through another array. */
static bool may_keep(const weft_frame *frame, const weft_run *run, size_t input)
{
    const weft_array *array = run->inputs[input];
    if (frame->copies[input] != NULL || !weft_array_is_contiguous(array)) return false;
    weft_interval own = input_interval(frame, run, input);
    return own.high == 0 || (!meets_another(&own, run->input_count, frame->input_intervals, true) &&
                             !meets_another(&own, run->output_count, frame->output_intervals, false));
}

/* Puts outputs that are not given into the memory of donated inputs. */
static weft_status *reuse_inputs(weft_frame *frame, const weft_run *run)
{
    const uint32_t *output_alias = frame->bound->variant->output_alias;
    sort_inputs(frame, run);
    sort_outputs(frame, run);
    for (size_t i = 0; i < run->input_count; i++) {
        if (!run->donated[i] || output_alias[i] == WEFT_NO_ALIAS) continue;
        weft_array *array = run->inputs[i], **output = &frame->outputs[output_alias[i]];
        if (*output != NULL || !may_keep(frame, run, i)) continue;
        WEFT_TRY(weft_array_view(array, weft_array_rank(array), weft_array_shape(array), weft_array_strides(array), 0,
                                 output));
    }
    return NULL;
}

static weft_status *open_outputs(weft_frame *frame, const weft_run *run)
{
    size_t given = 0;
    for (size_t i = 0; i < run->output_count; i++) given += run->outputs[i] != NULL;
    if (given > 0) WEFT_TRY(check_overlaps(frame, run));
    if (given < run->output_count && run->donated != NULL && frame->bound->variant->output_alias != NULL)
        WEFT_TRY(reuse_inputs(frame, run));
    for (size_t i = 0; i < run->output_count; i++)
        if (frame->outputs[i] == NULL) WEFT_TRY(create_output(frame, i));
    return NULL;
}

static void *data_of(const weft_frame *frame, const weft_run *run, size_t index)
{
    const weft_bound_variant *bound = frame->bound;
    const weft_buffer *buffer = &bound->variant->buffers[index];
    switch (buffer->kind) {
    case WEFT_BUFFER_INPUT:
        if (frame->copies[buffer->number] != NULL) return data_of_copy(frame, buffer->number);
        return run->inputs[buffer->number]->data;
    case WEFT_BUFFER_OUTPUT: return frame->outputs[buffer->number]->data;
    case WEFT_BUFFER_TEMPORARY: return frame->arena == NULL ? NULL : frame->arena + bound->offsets[index];
    case WEFT_BUFFER_CONSTANT:
        return (void *)(frame->weights == NULL ? buffer->data : frame->weights + (uintptr_t)buffer->data);
    case WEFT_BUFFER_ALIAS: return NULL;
    }
    return NULL;
}

static void fill_pointers(weft_frame *frame, const weft_run *run)
{
    const weft_variant *variant = frame->bound->variant;
    for (size_t i = 0; i < variant->buffer_count; i++) frame->buffers[i] = data_of(frame, run, i);
    for (size_t s = 0; s < variant->step_count; s++) {
        const weft_bound_step *bound_step = &frame->bound->steps[s];
        const weft_step *step = bound_step->step;
        for (size_t i = 0; step->kind != WEFT_STEP_REGION && i < step->buffer_count; i++) {
            void *data = frame->buffers[step->buffers[i]];
            frame->pointers[bound_step->first_pointer + i] = data;
            if (step->kind == WEFT_STEP_HOST) frame->views[bound_step->first_view + i].data = data;
        }
    }
}

weft_status *weft_frame_open(weft_frame *frame, const weft_run *run)
{
    atomic_store_explicit(&frame->ending, WEFT_RUN_OPEN, memory_order_relaxed);
    for (size_t i = 0; i < run->output_count; i++) frame->outputs[i] = run->outputs[i];
    const weft_bound_variant *bound = frame->bound;
    size_t bytes = (size_t)bound->arena_bytes;
    if (run->memory_limit != 0 && bytes > run->memory_limit)
        return weft_status_create(bound->allocator, WEFT_OVER_LIMIT, "weft_executor_run",
                                  "intermediates take %zu bytes, but the memory limit is %zu", bytes,
                                  run->memory_limit);
    if (bound->is_apart) WEFT_TRY(weft_device_open(frame));
    WEFT_TRY(open_outputs(frame, run));
    if (bytes > 0 && frame->arena == NULL) {
        weft_status *status = weft_block_acquire(bound->blocks, bound->runtime, bytes, &frame->arena_block);
        if (status != NULL) return tell_what_for(frame, status, "intermediates", NULL, bytes);
        frame->arena = frame->arena_block->memory;
    }
    fill_pointers(frame, run);
    return NULL;
}

weft_status *weft_frame_open_in(weft_frame *frame, const weft_run *run, void *arena)
{
    atomic_store_explicit(&frame->ending, WEFT_RUN_OPEN, memory_order_relaxed);
    for (size_t i = 0; i < run->output_count; i++) frame->outputs[i] = run->outputs[i];
    WEFT_TRY(check_overlaps(frame, run));
    frame->arena = arena;
    fill_pointers(frame, run);
    return NULL;
}

/* ---- close ---- */

/* After an error, donated inputs that outputs alias get their elements back; nothing can be read back from a
 * device that failed. */
static void restore_inputs(weft_frame *frame, const weft_run *run)
{
    for (size_t i = 0; i < run->input_count; i++) {
        if (frame->copies[i] == NULL) continue;
        const weft_array *array = run->inputs[i];
        weft_status_destroy(copy_elements(frame, array, weft_array_data(array), data_of_copy(frame, i)));
    }
    if (frame->device != NULL) weft_status_destroy(weft_device_finish(frame));
}

void weft_frame_hand_over(weft_frame *frame, const weft_run *run)
{
    for (size_t i = 0; i < run->output_count; i++) run->outputs[i] = frame->outputs[i];
}

void weft_frame_close(weft_frame *frame, const weft_run *run, bool succeeded)
{
    for (size_t i = 0; i < run->output_count; i++) {
        if (run->outputs[i] != NULL) continue;
        if (succeeded) run->outputs[i] = frame->outputs[i];
        else weft_array_release(frame->outputs[i]);
    }
    if (!succeeded) restore_inputs(frame, run);
    for (size_t i = 0; i < run->input_count; i++) {
        weft_block_release(frame->copies[i]);
        frame->copies[i] = NULL;
    }
    if (frame->arena_block != NULL) {
        weft_block_release(frame->arena_block);
        frame->arena_block = NULL;
        frame->arena = NULL;
    }
    if (frame->device != NULL) weft_device_close(frame);
}
