/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* sched_getaffinity */
#include "workers.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { MOST_THREADS = 64 };

typedef struct workers {
    const einsum_tasks *tasks;
    atomic_size_t next;
    pthread_mutex_t mutex; /* of what follows */
    weft_status *status;
    size_t failed; /* the task `status` is of */
} workers;

static size_t processor_count(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return (size_t)CPU_COUNT(&set);
}

size_t einsum_workers_size(size_t threads)
{
    if (threads == 0) threads = processor_count();
    return threads < MOST_THREADS ? threads : MOST_THREADS;
}

/* Keeps the error of the lowest index. */
static void note(workers *t, size_t index, weft_status *status)
{
    pthread_mutex_lock(&t->mutex);
    bool first = t->status == NULL || index < t->failed;
    weft_status *other = first ? t->status : status;
    if (first) {
        t->status = status;
        t->failed = index;
    }
    pthread_mutex_unlock(&t->mutex);
    weft_status_destroy(other);
}

static void *work(void *context)
{
    workers *t = context;
    for (size_t i = atomic_fetch_add(&t->next, 1); i < t->tasks->count; i = atomic_fetch_add(&t->next, 1)) {
        weft_status *status = t->tasks->run(t->tasks->context, i);
        if (status != NULL) note(t, i, status);
    }
    return NULL;
}

weft_status *einsum_workers_run(size_t threads, const einsum_tasks *tasks)
{
    pthread_t started[MOST_THREADS];
    size_t count = 0;
    workers t = {.tasks = tasks};
    threads = einsum_workers_size(threads);
    if (threads > tasks->count) threads = tasks->count;
    if (pthread_mutex_init(&t.mutex, NULL) != 0) return weft_status_out_of_memory();
    while (count + 1 < threads && pthread_create(&started[count], NULL, work, &t) == 0) count++;
    work(&t);
    for (size_t i = 0; i < count; i++) pthread_join(started[i], NULL);
    pthread_mutex_destroy(&t.mutex);
    return t.status;
}
