/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that the runtime sorts itself. */
#include "runtime/step/device.h"
#include "runtime/step/step.h"

/* ---- binding ---- */

static bool is_sound(const weft_variant *variant, const weft_step *step, const weft_resolved *resolved)
{
    (void)resolved;
    const weft_sort_step *sort = &step->sort;
    const uint32_t slots[] = {sort->length,    sort->in_step,    sort->out_step,
                              sort->in_offset, sort->out_offset, sort->wanted};
    return step->buffer_count == 2 && weft_sort_supports(sort->dtype) &&
           weft_slots_exist(variant, slots, sizeof slots / sizeof *slots) &&
           weft_slots_exist(variant, sort->rows, sort->rank) &&
           weft_slots_exist(variant, sort->in_strides, sort->rank) &&
           weft_slots_exist(variant, sort->out_strides, sort->rank);
}

static weft_status *check_slots(const weft_bound_variant *bound, const weft_step *step, weft_sort_call *call)
{
    const weft_sort_step *sort = &step->sort;
    const uint32_t slots[] = {sort->length,    sort->in_step,    sort->out_step,
                              sort->in_offset, sort->out_offset, sort->wanted};
    if (call->length == 0 || weft_has_zero(call->rows, call->rank)) call->length = 0;
    if (call->length == 0) return NULL;
    WEFT_TRY(weft_bound_check(bound, step, slots, sizeof slots / sizeof *slots));
    WEFT_TRY(weft_bound_check(bound, step, sort->rows, sort->rank));
    WEFT_TRY(weft_bound_check(bound, step, sort->in_strides, sort->rank));
    return weft_bound_check(bound, step, sort->out_strides, sort->rank);
}

static weft_status *bind(weft_bound_variant *bound, weft_bound_step *bound_step)
{
    const weft_sort_step *sort = &bound_step->step->sort;
    const int64_t *values = bound->values;
    weft_sort_call *call = &bound_step->sort;
    *call = (weft_sort_call){.size = sizeof *call,
                             .dtype = sort->dtype,
                             .positions = sort->positions,
                             .descending = sort->descending,
                             .length = values[sort->length],
                             .rank = sort->rank,
                             .rows = weft_bound_gather(bound, sort->rows, sort->rank),
                             .in_strides = weft_bound_gather(bound, sort->in_strides, sort->rank),
                             .out_strides = weft_bound_gather(bound, sort->out_strides, sort->rank),
                             .in_step = values[sort->in_step],
                             .out_step = values[sort->out_step],
                             .in_offset = values[sort->in_offset],
                             .out_offset = values[sort->out_offset],
                             .wanted = values[sort->wanted]};
    if (call->rows == NULL || call->in_strides == NULL || call->out_strides == NULL) return weft_status_out_of_memory();
    WEFT_TRY(check_slots(bound, bound_step->step, call));
    if (!bound->is_apart)
        bound_step->scratch_bytes = weft_sort_scratch(bound_step->resolved->keys, bound->pool, call, false);
    return NULL;
}

static bool tighten(const weft_bound_variant *bound, weft_bound_step *bound_step)
{
    if (bound->is_apart || bound_step->idle) return false;
    int64_t bytes = weft_sort_scratch(bound_step->resolved->keys, bound->pool, &bound_step->sort, true);
    bound_step->is_tight = bytes < bound_step->scratch_bytes;
    bound_step->scratch_bytes = bytes;
    return bound_step->is_tight;
}

/* ---- cost, running ---- */

/* The time to select from a row in that to sort it: a fourteenth for 10 of 10^6 f32, a sixth for 20,000 (Zen 3). */
#define SELECTING 0.1

static weft_step_cost cost(const weft_bound_variant *bound, const weft_bound_step *bound_step)
{
    const weft_sort_call *call = &bound_step->sort;
    weft_step_cost cost = {.bytes = weft_step_bytes(bound, bound_step->step), .is_timed = true};
    double rows = call->length > 0;
    for (size_t i = 0; i < call->rank; i++) rows *= (double)call->rows[i];
    double ns = 1e9 * rows * (double)call->length / weft_pool_machine(bound->pool)->sort_rate;
    if (weft_sort_selects(bound_step->resolved->keys, call)) ns *= SELECTING;
    weft_step_cost_cut(&cost, bound, ns,
                       (double)weft_sort_pieces(bound_step->resolved->keys, bound->pool, call, bound_step->is_tight));
    return cost;
}

static weft_status *run(weft_frame *frame, const weft_bound_step *bound_step, const volatile bool *cancelled)
{
    const weft_bound_variant *bound = frame->bound;
    const weft_runtime *runtime = bound->runtime;
    void *const *buffers = frame->pointers + bound_step->first_pointer;
    if (bound_step->sort.length == 0) return NULL;
    if (frame->device != NULL)
        return runtime->driver->queues->sort(runtime->self, frame->device->queue, &bound_step->sort, buffers[0],
                                             buffers[1]);
    bool done = weft_sort_run(bound_step->resolved->keys, bound->pool, &bound_step->sort, bound_step->is_tight,
                              buffers[0], buffers[1], weft_frame_scratch(frame, bound_step), cancelled);
    return done ? NULL : weft_bound_cancelled(bound, "in", (size_t)(bound_step - bound->steps));
}

const weft_step_methods weft_step_sort = {WEFT_PROFILE_SORT, is_sound, bind, cost, run, tighten, NULL, NULL};
