/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/steps.h"
#include <inttypes.h>
#include "runtime/branches.h"
#include "runtime/cancel.h"
#include "runtime/profile.h"
#include "runtime/region.h"
#include "runtime/status.h"

/* ---- kernels ---- */

struct kernel_run {
    weft_kernel_function function;
    weft_kernel_frame frame;
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
    struct kernel_run *run = context;
    weft_error_slot error = {.position = INT64_MAX};
    weft_kernel_frame frame = {.buffers = run->frame.buffers, .scalars = run->frame.scalars, .error = &error};
    run->function(&frame, begin, end);
    if (error.position == INT64_MAX) return;
    pthread_mutex_lock(&run->mutex);
    if (comes_before(&error, &run->error)) run->error = error;
    pthread_mutex_unlock(&run->mutex);
}

static weft_status *data_error(const weft_bound_variant *bound, const weft_step *step, const weft_error_slot *error)
{
    int64_t extent = step->site_extents == NULL ? 0 : bound->values[step->site_extents[error->site]];
    return weft_status_create(&bound->executor->allocator, WEFT_DATA_ERROR, step->name, step->sites[error->site],
                              error->value, error->position, extent);
}

static weft_status *run_iterations(weft_frame *frame, const weft_bound_step *bound_step, const int64_t *scalars,
                                   int64_t iterations)
{
    const weft_bound_variant *bound = frame->bound;
    struct kernel_run run = {.function = bound_step->step->function,
                             .frame = {.buffers = frame->pointers + bound_step->first_pointer, .scalars = scalars},
                             .mutex = PTHREAD_MUTEX_INITIALIZER,
                             .error = {.position = INT64_MAX, .site = INT64_MAX}};
    if (bound_step->grain >= iterations) run_range(&run, 0, iterations);
    else weft_pool_run(bound->executor->pool, iterations, bound_step->grain, run_range, &run);
    pthread_mutex_destroy(&run.mutex);
    return run.error.position == INT64_MAX ? NULL : data_error(bound, bound_step->step, &run.error);
}

/* What an update in place would lose is the caller's: bad data are found before anything is written. */
static bool is_in_place(const weft_frame *frame, const weft_bound_step *bound_step)
{
    const weft_update *update = &bound_step->step->update;
    return update->guarded && frame->pointers[bound_step->first_pointer] == frame->buffers[update->over];
}

static weft_status *run_kernel(weft_frame *frame, const weft_bound_step *bound_step)
{
    int64_t iterations = bound_step->iterations;
    if (iterations <= 0) return NULL;
    if (is_in_place(frame, bound_step))
        WEFT_TRY(run_iterations(frame, bound_step, bound_step->trial,
                                bound_step->step->update.all_iterations ? iterations : 1));
    return run_iterations(frame, bound_step, bound_step->scalars, iterations);
}

/* ---- host steps ---- */

static void context_parallel(const weft_kernel_context *context, int64_t count, int64_t grain,
                             void (*task)(void *argument, int64_t begin, int64_t end), void *argument)
{
    const weft_host_call *host = context->host;
    weft_pool_run(host->executor->pool, count, grain, task, argument);
}

static bool context_is_cancelled(const weft_kernel_context *context)
{
    const weft_host_call *host = context->host;
    return weft_is_cancelled(host->cancelled);
}

weft_kernel_context weft_steps_context(const weft_bound_variant *bound, const weft_bound_step *bound_step,
                                       weft_view *views, weft_host_call *host)
{
    const weft_step *step = bound_step->step;
    size_t input_count = step->buffer_count - step->written;
    return (weft_kernel_context){.size = sizeof(weft_kernel_context),
                                 .op = step->op,
                                 .attrs = bound_step->attrs,
                                 .input_count = input_count,
                                 .output_count = step->written,
                                 .inputs = views,
                                 .outputs = views + input_count,
                                 .extension_state = weft_executor_extension_state(bound->executor, step->extension),
                                 .allocator = &bound->executor->allocator,
                                 .executor = bound->executor,
                                 .runtime = bound->runtime->name,
                                 .parallel = context_parallel,
                                 .is_cancelled = context_is_cancelled,
                                 .host = host,
                                 .cancelled = host->cancelled};
}

static weft_status *run_host(weft_frame *frame, const weft_bound_step *bound_step, const volatile bool *cancelled)
{
    const weft_bound_variant *bound = frame->bound;
    const weft_step *step = bound_step->step;
    weft_host_call host = {.executor = bound->executor, .cancelled = cancelled};
    weft_kernel_context context = weft_steps_context(bound, bound_step, frame->views + bound_step->first_view, &host);
    size_t nested_bytes = 0;
    context.nested_bytes = &nested_bytes;
    if (bound_step->scratch_bytes > 0) context.scratch = frame->arena + bound_step->scratch_offset;
    weft_status *status = step->op != NULL ? weft_status_place(step->op->kernel(&context), step->op->name)
                                           : step->host(step->host_self, &context, bound->values);
    if (nested_bytes > frame->nested_bytes) frame->nested_bytes = nested_bytes;
    return status;
}

/* ---- all ---- */

/* `when` is "before" or "in". */
static weft_status *report_cancelled(const weft_bound_variant *bound, const char *when, size_t number)
{
    return weft_status_create(&bound->executor->allocator, WEFT_CANCELLED, "weft_executor_run",
                              "the run was cancelled %s step %zu of %zu", when, number, bound->variant->step_count);
}

static weft_status *run_sort(weft_frame *frame, const weft_bound_step *bound_step, const volatile bool *cancelled)
{
    const weft_bound_variant *bound = frame->bound;
    void *const *buffers = frame->pointers + bound_step->first_pointer;
    bool done = weft_sort_run(bound->executor->pool, &bound_step->sort, buffers[0], buffers[1],
                              frame->arena + bound_step->scratch_offset, cancelled);
    return done ? NULL : report_cancelled(bound, "in", (size_t)(bound_step - bound->steps));
}

static weft_status *run_step(weft_frame *frame, const weft_bound_step *bound_step, const volatile bool *cancelled)
{
    void *const *buffers = frame->pointers + bound_step->first_pointer;
    switch (bound_step->step->kind) {
    case WEFT_STEP_KERNEL: return run_kernel(frame, bound_step);
    case WEFT_STEP_GEMM:
        return weft_gemm_run(frame->bound->executor->pool, frame->bound->executor->blocks, &bound_step->gemm,
                             buffers[0], buffers[1], buffers[2]);
    case WEFT_STEP_SORT: return run_sort(frame, bound_step, cancelled);
    case WEFT_STEP_HOST: return run_host(frame, bound_step, cancelled);
    case WEFT_STEP_REGION: return weft_region_run(frame, bound_step, cancelled);
    }
    return NULL;
}

/* Steps that a step runs report before it, one deeper. */
static weft_status *run_profiled(weft_frame *frame, size_t number, const volatile bool *cancelled)
{
    int64_t begin = weft_clock_now();
    frame->depth++;
    weft_status *status = run_step(frame, &frame->bound->steps[number], cancelled);
    frame->depth--;
    if (status == NULL) weft_profile_step(frame, number, begin, weft_clock_now());
    return status;
}

static bool copies_onto_itself(const weft_frame *frame, const weft_bound_step *bound_step)
{
    void *const *buffers = frame->pointers + bound_step->first_pointer;
    return bound_step->step->copies && buffers[0] == buffers[1];
}

static weft_status *check_cancelled(const weft_bound_variant *bound, size_t number, const volatile bool *cancelled)
{
    return weft_is_cancelled(cancelled) ? report_cancelled(bound, "before", number) : NULL;
}

static weft_status *run_number(weft_frame *frame, size_t number, const volatile bool *cancelled)
{
    const weft_bound_variant *bound = frame->bound;
    WEFT_TRY(check_cancelled(bound, number, cancelled));
    if (copies_onto_itself(frame, &bound->steps[number])) return NULL;
    if (frame->profile == NULL) return run_step(frame, &bound->steps[number], cancelled);
    return run_profiled(frame, number, cancelled);
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
 * Steps run in another order than that of their numbers. After one failed, those of lower numbers run still, which need
 * nothing of it: so the one that is reported is the one that would have failed first.
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
    weft_pool_run(frame->bound->executor->pool, (int64_t)phase->branch_count, 1, run_branches, &run);
    pthread_mutex_destroy(&run.mutex);
    *failed = run.failure;
}

/* Of a run that is profiled each step has all threads, and its time is its own. */
static weft_status *run_phases(weft_frame *frame, const weft_phases *phases, const volatile bool *cancelled)
{
    failure failed = {.step = SIZE_MAX};
    for (size_t i = 0; i < phases->count; i++) {
        const weft_phase *phase = &phases->phases[i];
        if (phase->branch_count > 1 && frame->profile == NULL) run_side_by_side(frame, phase, cancelled, &failed);
        else
            for (size_t branch = 0; branch < phase->branch_count; branch++)
                run_branch(frame, &phase->branches[branch], cancelled, &failed);
    }
    return failed.status;
}

weft_status *weft_steps_run(weft_frame *frame, size_t first, size_t count, const volatile bool *cancelled)
{
    const weft_bound_variant *bound = frame->bound;
    if (count == 0) return check_cancelled(bound, first, cancelled); /* a loop of nothing ends too */
    if (bound->steps[first].phases != NULL) return run_phases(frame, bound->steps[first].phases, cancelled);
    for (size_t i = first; i < first + count; i += 1 + weft_step_nested(bound->steps[i].step))
        WEFT_TRY(run_number(frame, i, cancelled));
    return NULL;
}
