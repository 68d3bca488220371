/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/step/step.h"
#include <pthread.h>
#include "runtime/base/cancel.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/step/chain.h"
#include "runtime/step/device.h"

static const weft_step_methods *methods_of(const weft_variant *variant, const weft_step *step)
{
    return variant->methods[step->kind];
}

/* ---- check ---- */

static bool buffer_is_sound(const weft_variant *variant, const weft_program *program, const weft_buffer *buffer)
{
    if (!weft_slots_exist(variant, buffer->extents, buffer->rank)) return false;
    if (buffer->strides != NULL && !weft_slots_exist(variant, buffer->strides, buffer->rank)) return false;
    switch (buffer->kind) {
    case WEFT_BUFFER_INPUT: return buffer->number < program->input_count;
    case WEFT_BUFFER_OUTPUT: return buffer->number < program->output_count;
    case WEFT_BUFFER_TEMPORARY: return buffer->bytes < variant->formulas.count;
    case WEFT_BUFFER_CONSTANT:
        return buffer->bytes < variant->formulas.count &&
               variant->formulas.items[buffer->bytes].op == WEFT_FORMULA_CONSTANT;
    case WEFT_BUFFER_ALIAS: return buffer->bytes < variant->formulas.count;
    }
    return false;
}

static bool step_is_sound(const weft_variant *variant, size_t number)
{
    const weft_step *step = &variant->steps[number];
    if ((size_t)step->kind >= WEFT_STEP_KINDS || step->written > step->buffer_count) return false;
    for (size_t i = 0; i < step->buffer_count; i++)
        if (step->buffers[i] >= variant->buffer_count) return false;
    return methods_of(variant, step)->is_sound(variant, step, &variant->resolved[number]);
}

weft_status *weft_steps_check(const weft_variant *variant, const weft_program *program)
{
    for (size_t i = 0; i < variant->buffer_count; i++)
        if (!buffer_is_sound(variant, program, &variant->buffers[i]))
            return weft_status_create(variant->allocator, WEFT_INTERNAL, __func__,
                                      "buffer %zu of the variant names an array or a slot that does not exist", i);
    for (size_t i = 0; variant->output_alias != NULL && i < program->input_count; i++)
        if (variant->output_alias[i] != WEFT_NO_ALIAS && variant->output_alias[i] >= program->output_count)
            return weft_status_create(variant->allocator, WEFT_INTERNAL, __func__,
                                      "input %zu of the variant aliases an output that does not exist", i);
    for (size_t i = 0; i < variant->step_count; i++)
        if (!step_is_sound(variant, i))
            return weft_status_create(
                variant->allocator, WEFT_INTERNAL, __func__,
                "step %zu of the variant lacks its function or names a buffer or slot that does not exist", i);
    return NULL;
}

/* ---- binding ---- */

static bool is_empty_fold(const weft_bound_variant *bound, const weft_step *step)
{
    return step->kind == WEFT_STEP_REGION && step->region.control == WEFT_CONTROL_FOLD &&
           bound->values[step->region.trips] <= 0;
}

weft_status *weft_steps_bind(weft_bound_variant *bound)
{
    const weft_variant *variant = bound->variant;
    bound->steps = weft_bound_take(bound, variant->step_count, sizeof *bound->steps);
    if (bound->steps == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < variant->step_count; i++) {
        const weft_step *step = &variant->steps[i];
        bound->steps[i].step = step;
        bound->steps[i].resolved = &variant->resolved[i];
        bound->steps[i].first_pointer = bound->pointer_count;
        bound->steps[i].first_view = bound->view_count;
        if (step->kind != WEFT_STEP_REGION) bound->pointer_count += step->buffer_count;
        if (step->kind == WEFT_STEP_HOST) bound->view_count += step->buffer_count;
    }
    bound->views = weft_bound_take(bound, bound->view_count, sizeof *bound->views);
    if (bound->views == NULL) return weft_status_out_of_memory();
    size_t idle_end = 0;
    for (size_t i = 0; i < variant->step_count; i++) {
        const weft_step *step = &variant->steps[i];
        weft_bound_step *bound_step = &bound->steps[i];
        bound_step->idle = i < idle_end;
        if (bound_step->idle) continue;
        WEFT_TRY(methods_of(variant, step)->bind(bound, bound_step));
        if (is_empty_fold(bound, step)) idle_end = i + 1 + weft_step_nested(step);
    }
    for (size_t i = 0; i < variant->step_count; i++)
        if (variant->steps[i].chain.steps > 0 && !bound->steps[i].idle) WEFT_TRY(variant->chains->bind(bound, i));
    return NULL;
}

bool weft_steps_tighten(weft_bound_variant *bound)
{
    bool changes = false;
    for (size_t i = 0; i < bound->variant->step_count; i++) {
        weft_bound_step *step = &bound->steps[i];
        const weft_step_methods *methods = methods_of(bound->variant, step->step);
        if (methods->tighten != NULL) changes |= methods->tighten(bound, step);
        else if (bound->variant->chains != NULL) changes |= bound->variant->chains->tighten(step);
    }
    return changes;
}

static size_t step_block_bytes(const weft_bound_variant *bound, const weft_bound_step *step)
{
    const weft_step_methods *methods = methods_of(bound->variant, step->step);
    return methods->block_bytes == NULL || step->idle ? 0 : methods->block_bytes(bound, step, &step->gemm);
}

size_t weft_steps_block_bytes(const weft_bound_variant *bound)
{
    size_t most = 0, count = bound->is_apart ? 0 : bound->variant->step_count;
    for (size_t i = 0; i < count; i += bound->steps[i].strips == NULL ? 1 : bound->steps[i].strips->count) {
        size_t bytes = bound->steps[i].strips == NULL ? step_block_bytes(bound, &bound->steps[i])
                                                      : bound->variant->chains->block_bytes(bound, i);
        if (bytes > most) most = bytes;
    }
    return most;
}

/* ---- cost ---- */

static weft_step_cost step_cost(const weft_bound_variant *bound, size_t number)
{
    const weft_bound_step *bound_step = &bound->steps[number];
    return methods_of(bound->variant, bound_step->step)->cost(bound, bound_step);
}

weft_step_cost weft_steps_cost(const weft_bound_variant *bound, size_t number)
{
    weft_step_cost cost = step_cost(bound, number);
    for (size_t i = number + 1; i <= number + bound->steps[number].step->chain.steps; i++) {
        weft_step_cost next = step_cost(bound, i);
        cost.bytes += next.bytes;
        cost.flops += next.flops;
        cost.is_timed = cost.is_timed && next.is_timed;
        cost.alone += next.alone;
        cost.together += next.together;
    }
    return cost;
}

/* ---- one step ---- */

static weft_status *run_step(weft_frame *frame, const weft_bound_step *bound_step, const volatile bool *cancelled)
{
    return methods_of(frame->bound->variant, bound_step->step)->run(frame, bound_step, cancelled);
}

/* Hands the record of a step that ran to frame->profile. */
static void record(const weft_frame *frame, size_t number, int64_t begin, int64_t end)
{
    const weft_step *step = frame->bound->steps[number].step;
    weft_step_cost cost = step_cost(frame->bound, number);
    weft_profile_record record = {.size = sizeof record,
                                  .kind = methods_of(frame->bound->variant, step)->kind,
                                  .name = step->name,
                                  .step = number,
                                  .depth = frame->depth,
                                  .bytes = cost.bytes,
                                  .flops = cost.flops,
                                  .kernel = step->schedule_key,
                                  .begin_ns = begin,
                                  .end_ns = end};
    frame->profile->record(frame->profile->self, &record);
}

/* Steps that a step runs report before it, one deeper. */
static weft_status *run_profiled(weft_frame *frame, size_t number, const volatile bool *cancelled)
{
    int64_t begin = weft_clock_now();
    frame->depth++;
    weft_status *status = run_step(frame, &frame->bound->steps[number], cancelled);
    if (status == NULL && frame->device != NULL) status = weft_device_finish(frame);
    frame->depth--;
    if (status == NULL) record(frame, number, begin, weft_clock_now());
    return status;
}

static bool copies_onto_itself(const weft_frame *frame, const weft_bound_step *bound_step)
{
    void *const *buffers = frame->pointers + bound_step->first_pointer;
    return bound_step->step->copies && buffers[0] == buffers[1];
}

/* Whether an output is in the memory of an input that the step reads. */
static bool is_on_input(const weft_frame *frame, const weft_bound_step *bound_step)
{
    const weft_step *step = bound_step->step;
    void *const *buffers = frame->pointers + bound_step->first_pointer;
    size_t count = step->overwrites ? step->buffer_count : 0;
    for (size_t i = step->written; i < count; i++)
        for (size_t w = 0; w < step->written; w++)
            if (buffers[i] == buffers[w]) return true;
    return false;
}

static weft_status *check_cancelled(weft_frame *frame, size_t number, const volatile bool *cancelled)
{
    return weft_frame_is_cancelled(frame, cancelled) ? weft_bound_cancelled(frame->bound, "before", number) : NULL;
}

/* Before a step that may write over an input: then the run is not cancelled any more. */
static weft_status *begin_overwriting(weft_frame *frame, size_t number)
{
    bool goes_on = !is_on_input(frame, &frame->bound->steps[number]) || weft_frame_complete(frame);
    return goes_on ? NULL : weft_bound_cancelled(frame->bound, "before", number);
}

static weft_status *run_single(weft_frame *frame, size_t number, const volatile bool *cancelled)
{
    const weft_bound_variant *bound = frame->bound;
    WEFT_TRY(check_cancelled(frame, number, cancelled));
    WEFT_TRY(begin_overwriting(frame, number));
    if (copies_onto_itself(frame, &bound->steps[number])) return NULL;
    if (frame->profile == NULL) return run_step(frame, &bound->steps[number], cancelled);
    return run_profiled(frame, number, cancelled);
}

/* Steps that run in strips share the time that these take, as they share that of the threads. */
static weft_status *run_strips(weft_frame *frame, size_t number, const volatile bool *cancelled)
{
    size_t count = frame->bound->steps[number].strips->count;
    const weft_chain_methods *chains = frame->bound->variant->chains;
    for (size_t i = 0; i < count; i++) WEFT_TRY(begin_overwriting(frame, number + i));
    if (frame->profile == NULL) return chains->run(frame, number, cancelled, NULL);
    atomic_llong times[WEFT_CHAIN_STEPS] = {0};
    int64_t begin = weft_clock_now(), from = begin, before = 0, sum = 1;
    WEFT_TRY(chains->run(frame, number, cancelled, times));
    double taken = (double)(weft_clock_now() - begin);
    for (size_t i = 0; i < count; i++) sum += times[i];
    for (size_t i = 0; i < count; i++) {
        before += times[i];
        int64_t to = begin + (int64_t)(taken * (double)before / (double)sum);
        record(frame, number + i, from, to);
        from = to;
    }
    return NULL;
}

static weft_status *run_chain(weft_frame *frame, size_t number, const volatile bool *cancelled)
{
    const weft_bound_step *steps = frame->bound->steps;
    size_t end = number + 1 + steps[number].step->chain.steps;
    for (size_t i = number; i < end; i += steps[i].strips == NULL ? 1 : steps[i].strips->count)
        WEFT_TRY(steps[i].strips == NULL ? run_single(frame, i, cancelled) : run_strips(frame, i, cancelled));
    return NULL;
}

/* A step with all that belong to it. */
static weft_status *run_number(weft_frame *frame, size_t number, const volatile bool *cancelled)
{
    if (frame->bound->steps[number].step->chain.steps > 0) return run_chain(frame, number, cancelled);
    return run_single(frame, number, cancelled);
}

/* ---- phases ---- */

/* The first step that failed, in the order of their numbers; `step` is SIZE_MAX while none did. */
typedef struct failure {
    size_t step;
    weft_status *status;
} failure;

struct phase_run {
    weft_frame *frame;
    const weft_phase *phase;
    const volatile bool *cancelled;
    size_t end; /* number of the step that failed before the phase */
    pthread_mutex_t mutex;
    failure failure;
};

static void keep_first(failure *kept, failure other)
{
    bool is_first = other.step < kept->step;
    weft_status_destroy(is_first ? kept->status : other.status);
    if (is_first) *kept = other;
}

/*
 * Steps run in another order than that of their numbers. After one fails, those with lower numbers, which do not depend
 * on it, still run, so that the error reported is the one that would have occurred first.
 */
static void run_branch(weft_frame *frame, const weft_branch *branch, const volatile bool *cancelled, failure *failed)
{
    for (size_t i = 0; i < branch->count; i++) {
        if (branch->steps[i] >= failed->step) continue;
        weft_status *status = run_number(frame, branch->steps[i], cancelled);
        if (status != NULL) keep_first(failed, (failure){branch->steps[i], status});
    }
}

static void run_branches(void *context, int64_t begin, int64_t end)
{
    struct phase_run *run = context;
    for (int64_t i = begin; i < end; i++) {
        failure failed = {.step = run->end};
        run_branch(run->frame, &run->phase->branches[i], run->cancelled, &failed);
        if (failed.status == NULL) continue;
        pthread_mutex_lock(&run->mutex);
        keep_first(&run->failure, failed);
        pthread_mutex_unlock(&run->mutex);
    }
}

static void run_side_by_side(weft_frame *frame, const weft_phase *phase, const volatile bool *cancelled,
                             failure *failed)
{
    struct phase_run run = {.frame = frame,
                            .phase = phase,
                            .cancelled = cancelled,
                            .end = failed->step,
                            .mutex = PTHREAD_MUTEX_INITIALIZER,
                            .failure = *failed};
    weft_pool_run(frame->bound->pool, (int64_t)phase->branch_count, 1, run_branches, &run);
    pthread_mutex_destroy(&run.mutex);
    *failed = run.failure;
}

/* Of a run that is profiled each step has all threads, and its time is its own. What a queue is given is in order. */
static weft_status *run_phases(weft_frame *frame, const weft_phases *phases, const volatile bool *cancelled)
{
    failure failed = {.step = SIZE_MAX};
    for (size_t i = 0; i < phases->count; i++) {
        const weft_phase *phase = &phases->phases[i];
        bool in_order = frame->profile != NULL || frame->device != NULL;
        if (phase->branch_count > 1 && !in_order) run_side_by_side(frame, phase, cancelled, &failed);
        else
            for (size_t branch = 0; branch < phase->branch_count; branch++)
                run_branch(frame, &phase->branches[branch], cancelled, &failed);
    }
    return failed.status;
}

weft_status *weft_steps_run(weft_frame *frame, size_t first, size_t count, const volatile bool *cancelled)
{
    const weft_bound_variant *bound = frame->bound;
    if (count == 0) return check_cancelled(frame, first, cancelled); /* a loop of nothing ends too */
    if (bound->steps[first].phases != NULL) return run_phases(frame, bound->steps[first].phases, cancelled);
    for (size_t i = first; i < first + count; i += 1 + weft_step_nested(bound->steps[i].step))
        WEFT_TRY(run_number(frame, i, cancelled));
    return NULL;
}
