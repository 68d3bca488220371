/* SPDX-License-Identifier: Apache-2.0 */
/* Generated code. */
#include "runtime/step/step.h"
#include <pthread.h>
#include "runtime/base/machine.h"
#include "runtime/base/status.h"
#include "runtime/step/device.h"

/* ---- binding ---- */

static bool is_sound(const weft_variant *variant, const weft_step *step, const weft_resolved *resolved)
{
    const uint32_t range[] = {step->iterations, step->work};
    return (!step->copies || step->buffer_count == 2) && resolved->code != NULL &&
           weft_slots_exist(variant, range, 2) && weft_slots_exist(variant, step->scalars, step->scalar_count) &&
           (step->accesses == NULL || (weft_slots_exist(variant, step->accesses, step->buffer_count) &&
                                       weft_slots_exist(variant, &step->flops, 1)));
}

/* Whether no element is written, and none judged. */
static bool does_nothing(const weft_bound_variant *bound, const weft_step *step)
{
    for (size_t i = 0; i < step->written; i++) {
        const weft_buffer *buffer = &bound->variant->buffers[step->buffers[i]];
        size_t axis = 0;
        while (axis < buffer->rank && bound->values[buffer->extents[axis]] != 0) axis++;
        if (axis == buffer->rank) return false;
    }
    return step->sites == NULL;
}

static weft_status *bind(weft_bound_variant *bound, weft_bound_step *bound_step)
{
    const weft_step *step = bound_step->step;
    bound_step->code = bound_step->resolved->code;
    bound_step->scalars = weft_bound_gather(bound, step->scalars, step->scalar_count);
    if (bound_step->scalars == NULL) return weft_status_out_of_memory();
    if (step->update.guarded) {
        bound_step->dry_run = weft_bound_gather(bound, step->scalars, step->scalar_count);
        if (bound_step->dry_run == NULL) return weft_status_out_of_memory();
        bound_step->dry_run[step->update.writes] = 0;
    }
    int64_t work = weft_bound_variant_estimate(bound, step->work);
    /* Where the first iteration has nothing to do, none has, and there may be many, with any strides. */
    if (work <= 0 || bound->values[step->iterations] == 0 || does_nothing(bound, step)) return NULL;
    WEFT_TRY(weft_bound_check(bound, step, &step->iterations, 1));
    WEFT_TRY(weft_bound_check(bound, step, step->scalars, step->scalar_count));
    bound_step->iterations = bound->values[step->iterations];
    bound_step->grain = weft_machine_grain(weft_pool_machine(bound->pool), bound_step->iterations, work);
    return NULL;
}

/* ---- cost ---- */

static weft_step_cost cost(const weft_bound_variant *bound, const weft_bound_step *bound_step)
{
    const weft_step *step = bound_step->step;
    weft_step_cost cost = {.is_timed = true};
    if (bound_step->iterations <= 0) return cost;
    /* A kernel that reads a few rows of a table moves no more than it reads. */
    for (size_t i = 0; step->accesses != NULL && i < step->buffer_count; i++) {
        double accesses = (double)weft_bound_variant_estimate(bound, step->accesses[i]);
        cost.bytes += weft_step_buffer_bytes(bound, step, i, accesses);
    }
    if (step->accesses != NULL) cost.flops = (double)weft_bound_variant_estimate(bound, step->flops);
    double iterations = (double)bound_step->iterations;
    double operations = iterations * (double)weft_bound_variant_estimate(bound, step->work);
    weft_step_cost_cut(&cost, bound, weft_machine_kernel_ns(weft_pool_machine(bound->pool), operations, cost.bytes),
                       iterations / (double)bound_step->grain);
    return cost;
}

/* ---- running ---- */

struct kernel_run {
    weft_kernel_function function;
    void *const *buffers;
    const int64_t *scalars;
};

/* Its `position` is INT64_MAX where nothing was found. */
static weft_error_slot run_chunk(const struct kernel_run *run, int64_t begin, int64_t end)
{
    weft_error_slot error = {.position = INT64_MAX, .site = INT64_MAX};
    weft_kernel_frame frame = {.buffers = run->buffers, .scalars = run->scalars, .error = &error};
    run->function(&frame, begin, end);
    return error;
}

struct pool_run {
    const struct kernel_run *kernel;
    pthread_mutex_t mutex;
    weft_error_slot error;
};

static bool comes_before(const weft_error_slot *x, const weft_error_slot *y)
{
    return x->position != y->position ? x->position < y->position : x->site < y->site;
}

/* Chunks have error slots of their own: which of them comes first is decided by position, not by time. */
static void run_range(void *context, int64_t begin, int64_t end)
{
    struct pool_run *run = context;
    weft_error_slot error = run_chunk(run->kernel, begin, end);
    if (error.position == INT64_MAX) return;
    pthread_mutex_lock(&run->mutex);
    if (comes_before(&error, &run->error)) run->error = error;
    pthread_mutex_unlock(&run->mutex);
}

static weft_error_slot run_on_pool(weft_pool *pool, const struct kernel_run *kernel, int64_t iterations, int64_t grain)
{
    struct pool_run run = {
        .kernel = kernel, .mutex = PTHREAD_MUTEX_INITIALIZER, .error = {.position = INT64_MAX, .site = INT64_MAX}};
    weft_pool_run(pool, iterations, grain, run_range, &run);
    pthread_mutex_destroy(&run.mutex);
    return run.error;
}

weft_status *weft_kernel_data_error(const weft_bound_variant *bound, const weft_step *step,
                                    const weft_error_slot *error)
{
    int64_t extent = step->site_extents == NULL ? 0 : bound->values[step->site_extents[error->site]];
    return weft_status_create(bound->allocator, WEFT_DATA_ERROR, "weft_executor_run", step->sites[error->site],
                              error->value, error->position, extent);
}

static weft_status *run_iterations(weft_frame *frame, const weft_bound_step *bound_step, const int64_t *scalars,
                                   int64_t iterations)
{
    const weft_bound_variant *bound = frame->bound;
    if (frame->device != NULL) return weft_device_launch(frame, bound_step, scalars, iterations);
    const struct kernel_run run = {.function = weft_kernel_code_function(bound_step->code),
                                   .buffers = frame->pointers + bound_step->first_pointer,
                                   .scalars = scalars};
    weft_error_slot error = bound_step->grain >= iterations
                                ? run_chunk(&run, 0, iterations)
                                : run_on_pool(bound->pool, &run, iterations, bound_step->grain);
    return error.position == INT64_MAX ? NULL : weft_kernel_data_error(bound, bound_step->step, &error);
}

/* What an update in place would lose is the caller's: bad data are found before anything is written. */
static bool is_in_place(const weft_frame *frame, const weft_bound_step *bound_step)
{
    const weft_update *update = &bound_step->step->update;
    return update->guarded && frame->pointers[bound_step->first_pointer] == frame->buffers[update->input];
}

static weft_status *run(weft_frame *frame, const weft_bound_step *bound_step, const volatile bool *cancelled)
{
    (void)cancelled;
    int64_t iterations = bound_step->iterations;
    if (iterations <= 0) return NULL;
    if (is_in_place(frame, bound_step))
        WEFT_TRY(run_iterations(frame, bound_step, bound_step->dry_run,
                                bound_step->step->update.all_iterations ? iterations : 1));
    return run_iterations(frame, bound_step, bound_step->scalars, iterations);
}

const weft_step_methods weft_step_kernel = {WEFT_PROFILE_KERNEL, is_sound, bind, cost, run, NULL, NULL, NULL};
