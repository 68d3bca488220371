/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/cancel.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/run/executor.h"
#include "runtime/base/float_mode.h"
#include "runtime/base/memory.h"
#include "runtime/run/build_variant.h"
#include "runtime/run/idle_frames.h"
#include "runtime/run/named.h"
#include "runtime/run/queue.h"
#include "runtime/run/variant_entry.h"
#include "runtime/base/stack.h"
#include "runtime/step/device.h"
#include "runtime/step/step.h"

/* ---- building ---- */

struct build {
    weft_executor *executor;
    const weft_call *call;
    bool built, cancelled; /* by this run */
    int64_t elapsed;
    weft_status *status;
    weft_variant *variant;
};

static void build_on_stack(void *context)
{
    struct build *build = context;
    weft_arena arena;
    weft_variant_request request;
    weft_arena_init(&arena, &build->executor->allocator);
    /* Nothing is built for a call that fails its checks. */
    build->status =
        weft_variant_request_init(&request, build->executor, build->call, build->call->run->specialize, &arena);
    if (build->status == NULL) build->status = weft_variant_request_build(&request, &build->variant);
    weft_arena_finish(&arena);
}

static weft_status *make_entry(void *context, void **out_value, size_t *out_bytes)
{
    struct build *build = context;
    weft_variant_entry *entry;
    int64_t begin = weft_clock_now();
    weft_background_hold(build->executor->background);
    weft_status *called = weft_stack_call(&build->executor->allocator, build_on_stack, build);
    weft_background_resume(build->executor->background);
    WEFT_TRY(called);
    build->built = true;
    build->elapsed = weft_clock_now() - begin;
    build->cancelled = weft_status_code(build->status) == WEFT_CANCELLED;
    WEFT_TRY(build->status);
    size_t bytes = weft_variant_entry_bytes(build->variant);
    WEFT_TRY(weft_variant_entry_create(build->executor, build->variant, false, &entry));
    *out_value = entry;
    *out_bytes = bytes;
    return NULL;
}

/* ---- running ---- */

static weft_status *end_on_device(weft_frame *frame, const weft_call *call)
{
    if (call->event == NULL) return weft_device_finish(frame);
    WEFT_TRY(weft_event_record(call->event, frame));
    weft_frame_hand_over(frame, call->run);
    return NULL;
}

/* With an event the frame stays open. */
static weft_status *run_frame(weft_frame *frame, const weft_call *call)
{
    const weft_run *run = call->run;
    frame->profile = run->profile;
    frame->nested_bytes = 0;
    frame->queue = call->event == NULL ? NULL : weft_event_queue(call->event);
    weft_status *status = weft_frame_open(frame, run);
    if (status == NULL) status = weft_steps_run(frame, 0, frame->bound->variant->step_count, run->cancelled);
    if (status == NULL && frame->device != NULL) status = end_on_device(frame, call);
    if (status != NULL || call->event == NULL) weft_frame_close(frame, run, status == NULL);
    return status;
}

/* A kernel may say that it took any number of bytes. */
static size_t peak_bytes(const weft_frame *frame)
{
    size_t bytes;
    bool over = __builtin_add_overflow((size_t)frame->bound->arena_bytes, frame->nested_bytes, &bytes);
    return over ? SIZE_MAX : bytes;
}

/* `build` NULL: a frame was at hand. */
static weft_status *run_reported(weft_frame *frame, const weft_call *call, const struct build *build)
{
    weft_report *report = call->run->report;
    if (report == NULL) return run_frame(frame, call);
    int64_t begin = weft_clock_now();
    weft_status *status = run_frame(frame, call);
    *report = (weft_report){.compile_ns = build == NULL ? 0 : build->elapsed,
                            .run_ns = weft_clock_now() - begin,
                            .steps = frame->bound->variant->step_count,
                            .peak_bytes = peak_bytes(frame),
                            .packed_bytes = frame->bound->block_bytes * weft_pool_size(frame->bound->pool),
                            .hit = build == NULL || !build->built};
    return status;
}

static weft_status *run_taken(weft_executor *executor, const weft_call *call, weft_frame *frame,
                              const struct build *build)
{
    weft_status *status = run_reported(frame, call, build);
    if (status == NULL && call->event != NULL) weft_event_keep(call->event, call, frame);
    else weft_idle_frames_give(executor->idle, frame);
    return status;
}

/* Another run that builds the variant, or a kernel of it, may be cancelled, which must not affect this one. */
static weft_status *acquire(struct build *build, const weft_call_key *key, weft_cache_handle **out_handle)
{
    const volatile bool *cancelled = build->call->run->cancelled;
    for (;;) {
        weft_status *status =
            weft_cache_acquire(build->executor->variants, key->words, key->variant_count * sizeof *key->words,
                               make_entry, build, cancelled, out_handle);
        bool others = weft_status_code(status) == WEFT_CANCELLED && !build->cancelled && !weft_is_cancelled(cancelled);
        if (!others) return status;
        weft_status_destroy(status);
    }
}

/* After a variant was made others may have gone to make room. */
static weft_status *acquire_frame(struct build *build, const weft_call_key *key, weft_frame **out_frame)
{
    weft_cache_handle *handle;
    WEFT_TRY(acquire(build, key, &handle));
    if (build->built) weft_idle_frames_review(build->executor->idle);
    return weft_variant_entry_acquire(handle, build->call, key, out_frame);
}

static weft_status *run_new(weft_executor *executor, const weft_call *call, const weft_call_key *key)
{
    struct build build = {.executor = executor, .call = call};
    weft_frame *frame;
    WEFT_TRY(acquire_frame(&build, key, &frame));
    return run_taken(executor, call, frame, &build);
}

/* Only kernels and engines run: no functions of others, which may compute in long double. */
static bool is_ours(const weft_frame *frame, const weft_run *run)
{
    return frame->bound->view_count == 0 && !frame->bound->is_apart && run->profile == NULL;
}

static weft_status *run_plainly(weft_executor *executor, const weft_call *call, const weft_call_key *key)
{
    weft_frame *frame = weft_idle_frames_take(executor->idle, key);
    bool only_sse = frame != NULL && is_ours(frame, call->run);
    weft_float_mode saved = only_sse ? weft_float_mode_enter_sse() : weft_float_mode_enter();
    weft_status *status = frame == NULL ? run_new(executor, call, key) : run_taken(executor, call, frame, NULL);
    if (only_sse) weft_float_mode_leave_sse(saved);
    else weft_float_mode_leave(saved);
    return status;
}

weft_status *weft_executor_run_until(weft_executor *executor, weft_program *program, const weft_run *run,
                                     weft_event *event)
{
    weft_call call = {.program = program, .run = run, .event = event};
    if (run->profile != NULL && run->profile->record == NULL)
        return weft_status_create(&executor->allocator, WEFT_INVALID_ARGUMENT, "weft_executor_run",
                                  "profile has no record function");
    call.runtime = weft_executor_find_runtime(executor, run->runtime);
    if (call.runtime == NULL) return weft_executor_no_runtime(executor, "weft_executor_run", run->runtime);
    WEFT_TRY(weft_call_check_arrays(&executor->allocator, &call));
    WEFT_TRY(weft_executor_check_extensions(executor, program));
    weft_call_key key;
    WEFT_TRY(weft_call_key_init(&key, &executor->allocator, &call));
    weft_background_revive(executor->background);
    weft_status *status = run_plainly(executor, &call, &key);
    weft_call_key_finish(&key);
    return status;
}

weft_status *weft_executor_run(weft_executor *executor, weft_program *program, const weft_run *run)
{
    if (executor == NULL || program == NULL || run == NULL)
        return weft_status_create(NULL, WEFT_INVALID_ARGUMENT, "weft_executor_run", "%s is NULL",
                                  executor == NULL  ? "executor"
                                  : program == NULL ? "program"
                                                    : "run");
    if (run->report != NULL) *run->report = (weft_report){0};
    if (run->signal != NULL) *run->signal = NULL;
    if (weft_run_is_named(run)) return weft_run_named(executor, program, run);
    if (weft_run_is_queued(run)) return weft_queue_run(executor, program, run);
    return weft_executor_run_until(executor, program, run, NULL);
}
