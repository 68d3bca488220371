/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/step/queues.h"
#include <pthread.h>
#include "runtime/base/fork.h"
#include "runtime/base/memory.h"

typedef struct idle_queue {
    const weft_runtime *runtime;
    weft_driver_queue *queue;
} idle_queue;

struct weft_queues {
    weft_allocator allocator;
    pthread_mutex_t mutex;
    weft_fork_guard guard;
    idle_queue *idle;
    size_t count, capacity;
};

weft_status *weft_queues_create(const weft_allocator *allocator, weft_queues **out_queues)
{
    weft_queues *queues = weft_allocate_zeroed(allocator, sizeof *queues);
    if (queues == NULL) return weft_status_out_of_memory();
    queues->allocator = *allocator;
    pthread_mutex_init(&queues->mutex, NULL);
    weft_status *status = weft_fork_guard_init(&queues->guard, &queues->mutex, NULL);
    if (status == NULL) *out_queues = queues;
    else weft_queues_destroy(queues);
    return status;
}

static void destroy_queue(const idle_queue *idle)
{
    idle->runtime->driver->queues->destroy(idle->runtime->self, idle->queue);
}

void weft_queues_destroy(weft_queues *queues)
{
    if (queues == NULL) return;
    weft_fork_guard_finish(&queues->guard);
    for (size_t i = 0; i < queues->count; i++) destroy_queue(&queues->idle[i]);
    pthread_mutex_destroy(&queues->mutex);
    weft_allocator allocator = queues->allocator;
    weft_free(&allocator, queues->idle, queues->capacity * sizeof *queues->idle);
    weft_free(&allocator, queues, sizeof *queues);
}

/* The one that was used last; NULL: there is none. Under the lock. */
static weft_driver_queue *take(weft_queues *queues, const weft_runtime *runtime)
{
    for (size_t i = queues->count; i-- > 0;) {
        if (queues->idle[i].runtime != runtime) continue;
        weft_driver_queue *queue = queues->idle[i].queue;
        queues->idle[i] = queues->idle[--queues->count];
        return queue;
    }
    return NULL;
}

weft_status *weft_queues_acquire(weft_queues *queues, const weft_runtime *runtime, weft_driver_queue **out_queue)
{
    pthread_mutex_lock(&queues->mutex);
    *out_queue = take(queues, runtime);
    pthread_mutex_unlock(&queues->mutex);
    return *out_queue != NULL ? NULL : runtime->driver->queues->create(runtime->self, out_queue);
}

void weft_queues_release(weft_queues *queues, const weft_runtime *runtime, weft_driver_queue *queue)
{
    const idle_queue released = {runtime, queue};
    if (queue == NULL) return;
    pthread_mutex_lock(&queues->mutex);
    bool kept =
        weft_reserve(&queues->allocator, &queues->idle, &queues->capacity, queues->count + 1, sizeof *queues->idle);
    if (kept) queues->idle[queues->count++] = released;
    pthread_mutex_unlock(&queues->mutex);
    if (!kept) destroy_queue(&released);
}
