/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* recursive locks */
#include "runtime/run/queue.h"
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/data/array.h"
#include "runtime/run/executor.h"
#include "runtime/run/idle_frames.h"
#include "runtime/step/device.h"

/* Runs of one queue that may be under way: the oldest one is waited for before another begins. */
enum { MOST_RUNS = 64 };

/* What a run under way holds; `frame` NULL: it is a copy. */
typedef struct held {
    weft_frame *frame;
    weft_program *program;
} held;

struct weft_event {
    atomic_size_t references; /* of users, and of the queue while the run is under way */
    weft_allocator allocator;
    weft_queue *queue; /* retained; NULL: the run was done when the call returned, as for the next two */
    const weft_runtime *runtime;
    weft_driver_event *driver_event;
    atomic_bool done;
    weft_status *status; /* once it is done; from here on under the lock of the queue until then */
    weft_event *next;    /* of the same queue */
    held held;
    weft_run run; /* as it was given, with its arrays below */
    size_t size;
    weft_array *arrays[];
};

struct weft_queue {
    atomic_size_t references; /* of the user, and of events */
    weft_allocator allocator;
    weft_executor *executor;
    const weft_runtime *runtime;
    weft_driver_queue *driver_queue; /* NULL: runs are done on the spot */
    pthread_mutex_t mutex;           /* recursive: a profile's callback may run programs */
    weft_event *first, *last;        /* under way, in the order of their ends */
    size_t count;
    weft_status *failure; /* of the first run that failed since it was last reported */
};

/* ---- lifetimes ---- */

static void release_queue(weft_queue *queue)
{
    if (atomic_fetch_sub(&queue->references, 1) != 1) return;
    weft_allocator allocator = queue->allocator;
    pthread_mutex_destroy(&queue->mutex);
    weft_status_destroy(queue->failure);
    weft_free(&allocator, queue, sizeof *queue);
}

static weft_status *create_event(weft_executor *executor, weft_queue *queue, size_t array_count, weft_event **out_event)
{
    size_t size = sizeof **out_event + array_count * sizeof(weft_array *);
    weft_event *event = weft_allocate_zeroed(&executor->allocator, size);
    if (event == NULL) return weft_status_out_of_memory();
    atomic_init(&event->references, 1);
    event->allocator = executor->allocator;
    event->size = size;
    event->queue = queue;
    if (queue != NULL) {
        atomic_fetch_add(&queue->references, 1);
        event->runtime = queue->runtime;
    }
    *out_event = event;
    return NULL;
}

void weft_event_release(weft_event *event)
{
    if (event == NULL || atomic_fetch_sub(&event->references, 1) != 1) return;
    weft_allocator allocator = event->allocator;
    if (event->driver_event != NULL)
        event->runtime->driver->queues->destroy_event(event->runtime->self, event->driver_event);
    if (event->queue != NULL) release_queue(event->queue);
    weft_status_destroy(event->status);
    weft_free(&allocator, event, event->size);
}

/* ---- a run under way ---- */

weft_driver_queue *weft_event_queue(const weft_event *event)
{
    return event->queue->driver_queue;
}

weft_status *weft_event_record(weft_event *event, weft_frame *frame)
{
    const weft_runtime *runtime = event->runtime;
    WEFT_TRY(weft_device_ask(frame));
    return runtime->driver->queues->record(runtime->self, event->queue->driver_queue, &event->driver_event);
}

/* Puts an event that was recorded last in its queue, whose lock is held, with arrays to be retained until then. */
static void push_event(weft_event *event, size_t input_count, weft_array *const *inputs, size_t output_count,
                       weft_array *const *outputs)
{
    weft_queue *queue = event->queue;
    event->run = (weft_run){.input_count = input_count,
                            .inputs = event->arrays,
                            .output_count = output_count,
                            .outputs = event->arrays + input_count};
    for (size_t i = 0; i < input_count; i++) event->arrays[i] = weft_array_retain(inputs[i]);
    for (size_t i = 0; i < output_count; i++) event->arrays[input_count + i] = weft_array_retain(outputs[i]);
    atomic_fetch_add(&event->references, 1);
    if (queue->last == NULL) queue->first = event;
    else queue->last->next = event;
    queue->last = event;
    queue->count++;
}

void weft_event_keep(weft_event *event, const weft_call *call, weft_frame *frame)
{
    const weft_run *run = call->run;
    event->held = (held){frame, weft_program_retain(call->program)};
    push_event(event, run->input_count, run->inputs, run->output_count, run->outputs);
}

/* The outcome of the run of an event that the device has passed; releases what it held. */
static weft_status *end_run(weft_event *event, weft_status *status)
{
    const held *h = &event->held;
    if (h->frame == NULL) return status;
    if (status == NULL) status = weft_device_result(h->frame);
    weft_frame_close(h->frame, &event->run, status == NULL);
    weft_idle_frames_give(event->queue->executor->idle, h->frame);
    weft_program_release(h->program);
    return status;
}

/* Waits for the first event of a queue, whose lock is held. */
static void end_first(weft_queue *queue)
{
    weft_event *event = queue->first;
    const weft_runtime *runtime = queue->runtime;
    event->status = end_run(event, runtime->driver->queues->finish_event(runtime->self, event->driver_event));
    for (size_t i = 0; i < event->run.input_count + event->run.output_count; i++) weft_array_release(event->arrays[i]);
    if (event->status != NULL && queue->failure == NULL)
        queue->failure = weft_status_clone(&queue->allocator, event->status);
    atomic_store(&event->done, true);
    queue->first = event->next;
    if (queue->first == NULL) queue->last = NULL;
    queue->count--;
    weft_event_release(event);
}

static bool first_is_done(const weft_queue *queue)
{
    const weft_runtime *runtime = queue->runtime;
    return runtime->driver->queues->is_done(runtime->self, queue->first->driver_event);
}

/* ---- events ---- */

static void finish_event(weft_event *event)
{
    if (atomic_load(&event->done)) return;
    pthread_mutex_lock(&event->queue->mutex);
    while (!atomic_load(&event->done)) end_first(event->queue);
    pthread_mutex_unlock(&event->queue->mutex);
}

weft_status *weft_event_finish(weft_event *event)
{
    WEFT_REQUIRE(event);
    finish_event(event);
    return weft_status_clone(&event->allocator, event->status);
}

bool weft_event_is_done(weft_event *event)
{
    if (event == NULL || atomic_load(&event->done)) return event != NULL;
    weft_queue *queue = event->queue;
    pthread_mutex_lock(&queue->mutex);
    while (!atomic_load(&event->done) && first_is_done(queue)) end_first(queue);
    pthread_mutex_unlock(&queue->mutex);
    return atomic_load(&event->done);
}

/* ---- queues ---- */

static weft_status *create_queue(weft_executor *executor, const weft_runtime *runtime, weft_queue **out_queue)
{
    pthread_mutexattr_t recursive;
    weft_queue *queue = weft_allocate_zeroed(&executor->allocator, sizeof *queue);
    if (queue == NULL) return weft_status_out_of_memory();
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&queue->mutex, &recursive);
    pthread_mutexattr_destroy(&recursive);
    atomic_init(&queue->references, 1);
    queue->allocator = executor->allocator;
    queue->executor = executor;
    queue->runtime = runtime;
    weft_status *status = NULL;
    if (weft_device_is_apart(runtime)) status = weft_queues_acquire(executor->queues, runtime, &queue->driver_queue);
    if (status == NULL) *out_queue = queue;
    else release_queue(queue);
    return status;
}

weft_status *weft_queue_create(weft_executor *executor, const char *runtime, weft_queue **out_queue)
{
    WEFT_REQUIRE(executor);
    WEFT_REQUIRE(out_queue);
    const weft_runtime *found = weft_executor_find_runtime(executor, runtime);
    if (found == NULL) return weft_executor_no_runtime(executor, __func__, runtime);
    return create_queue(executor, found, out_queue);
}

static void finish_queue(weft_queue *queue)
{
    while (queue->first != NULL) end_first(queue);
}

weft_status *weft_queue_finish(weft_queue *queue)
{
    WEFT_REQUIRE(queue);
    pthread_mutex_lock(&queue->mutex);
    finish_queue(queue);
    weft_status *failure = queue->failure;
    queue->failure = NULL;
    pthread_mutex_unlock(&queue->mutex);
    return failure;
}

void weft_queue_destroy(weft_queue *queue)
{
    if (queue == NULL) return;
    pthread_mutex_lock(&queue->mutex);
    finish_queue(queue);
    weft_queues_release(queue->executor->queues, queue->runtime, queue->driver_queue);
    queue->driver_queue = NULL;
    pthread_mutex_unlock(&queue->mutex);
    release_queue(queue);
}

/* ---- runs ---- */

static weft_status *check_run(const weft_executor *executor, const weft_run *run)
{
    const weft_queue *queue = run->queue;
    const char *where = "weft_executor_run";
    if (queue != NULL && queue->executor != executor)
        return weft_status_create(&executor->allocator, WEFT_INVALID_ARGUMENT, where,
                                  "the queue is one of another executor");
    if (queue != NULL && run->runtime != NULL && strcmp(run->runtime, queue->runtime->name) != 0)
        return weft_status_create(&executor->allocator, WEFT_INVALID_ARGUMENT, where,
                                  "the run is for runtime \"%s\", but its queue is one of \"%s\"", run->runtime,
                                  queue->runtime->name);
    if (run->wait_count > 0 && run->waits == NULL)
        return weft_status_create(&executor->allocator, WEFT_INVALID_ARGUMENT, where,
                                  "the list of %" PRIu32 " events to wait for is NULL", run->wait_count);
    for (uint32_t i = 0; i < run->wait_count; i++)
        if (run->waits[i] == NULL)
            return weft_status_create(&executor->allocator, WEFT_INVALID_ARGUMENT, where,
                                      "event %" PRIu32 " to wait for is NULL", i);
    return NULL;
}

/* Whether the queue's device can wait for it. */
static bool waits_itself(const weft_queue *queue, const weft_event *event)
{
    return queue != NULL && queue->driver_queue != NULL && event->runtime == queue->runtime;
}

/* Ends what is done, and makes room. Under the lock of the queue, as the next two. */
static void sweep(weft_queue *queue)
{
    while (queue->first != NULL && (queue->count >= MOST_RUNS || first_is_done(queue))) end_first(queue);
}

static weft_status *wait_on_device(weft_queue *queue, const weft_run *run)
{
    const weft_runtime *runtime = queue->runtime;
    for (uint32_t i = 0; i < run->wait_count; i++) {
        const weft_event *event = run->waits[i];
        if (!waits_itself(queue, event) || atomic_load(&event->done)) continue;
        WEFT_TRY(runtime->driver->queues->wait(runtime->self, queue->driver_queue, event->driver_event));
    }
    return NULL;
}

static weft_status *run_on_device(weft_executor *executor, weft_program *program, const weft_run *given,
                                  const weft_run *run, weft_event *event)
{
    weft_queue *queue = given->queue;
    pthread_mutex_lock(&queue->mutex);
    sweep(queue);
    weft_status *status = wait_on_device(queue, given);
    if (status == NULL) status = weft_executor_run_until(executor, program, run, event);
    pthread_mutex_unlock(&queue->mutex);
    return status;
}

weft_status *weft_queue_run(weft_executor *executor, weft_program *program, const weft_run *given)
{
    weft_queue *queue = given->queue;
    weft_event *event = NULL;
    weft_run run = *given;
    WEFT_TRY(check_run(executor, given));
    if (queue != NULL) run.runtime = queue->runtime->name;
    for (uint32_t i = 0; i < given->wait_count; i++)
        if (!waits_itself(queue, given->waits[i])) finish_event(given->waits[i]);
    bool on_device = queue != NULL && queue->driver_queue != NULL;
    size_t array_count = given->input_count + given->output_count;
    if (on_device || given->signal != NULL)
        WEFT_TRY(create_event(executor, on_device ? queue : NULL, array_count, &event));
    weft_status *status = on_device ? run_on_device(executor, program, given, &run, event)
                                    : weft_executor_run_until(executor, program, &run, NULL);
    if (event != NULL && !on_device) atomic_store(&event->done, true);
    if (status == NULL && given->signal != NULL) *given->signal = event;
    else weft_event_release(event);
    return status;
}

/* ---- copies ---- */

/* `*out_queued` false: it has to be done on the spot. */
static weft_status *copy_on_device(weft_event *event, weft_array *destination, weft_array *source, bool *out_queued)
{
    weft_queue *queue = event->queue;
    const weft_runtime *runtime = queue->runtime;
    const weft_queue_methods *methods = runtime->driver->queues;
    sweep(queue);
    weft_status *status = weft_array_copy_queued(destination, source, runtime, queue->driver_queue, out_queued);
    if (!*out_queued) return status;
    if (status == NULL) status = methods->record(runtime->self, queue->driver_queue, &event->driver_event);
    if (status == NULL) push_event(event, 1, &source, 1, &destination);
    else weft_status_destroy(methods->finish(runtime->self, queue->driver_queue)); /* with what it was given of it */
    return status;
}

static weft_status *copy_on_the_spot(weft_queue *queue, weft_event *event, weft_array *destination, weft_array *source)
{
    finish_queue(queue);
    WEFT_TRY(weft_array_copy(destination, source));
    atomic_store(&event->done, true);
    return NULL;
}

weft_status *weft_queue_copy(weft_queue *queue, weft_array *destination, weft_array *source, weft_event **out_event)
{
    weft_event *event = NULL;
    bool queued = false;
    WEFT_REQUIRE(queue);
    WEFT_REQUIRE(destination);
    WEFT_REQUIRE(source);
    if (out_event != NULL) *out_event = NULL;
    WEFT_TRY(create_event(queue->executor, queue, 2, &event));
    pthread_mutex_lock(&queue->mutex);
    weft_status *status = NULL;
    if (queue->driver_queue != NULL) status = copy_on_device(event, destination, source, &queued);
    if (status == NULL && !queued) status = copy_on_the_spot(queue, event, destination, source);
    pthread_mutex_unlock(&queue->mutex);
    if (status == NULL && out_event != NULL) *out_event = event;
    else weft_event_release(event);
    return status;
}
