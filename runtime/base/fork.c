/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/fork.h"
#include <stdatomic.h>

static struct {
    pthread_once_t once;
    bool watched;
    pthread_mutex_t mutex; /* of the list; held before any lock in it */
    weft_fork_guard *first;
    atomic_uint generation;
} forks = {.once = PTHREAD_ONCE_INIT, .mutex = PTHREAD_MUTEX_INITIALIZER};

static void before(void)
{
    pthread_mutex_lock(&forks.mutex);
    for (const weft_fork_guard *guard = forks.first; guard != NULL; guard = guard->next)
        if (guard->mutex != NULL) pthread_mutex_lock(guard->mutex);
}

static void after(void)
{
    for (const weft_fork_guard *guard = forks.first; guard != NULL; guard = guard->next)
        if (guard->mutex != NULL) pthread_mutex_unlock(guard->mutex);
    pthread_mutex_unlock(&forks.mutex);
}

static void after_in_child(void)
{
    atomic_fetch_add(&forks.generation, 1);
    for (weft_fork_guard *guard = forks.first; guard != NULL; guard = guard->next)
        if (guard->renew != NULL) guard->renew(guard);
    after();
}

static void watch(void)
{
    forks.watched = pthread_atfork(before, after, after_in_child) == 0;
}

weft_status *weft_fork_guard_init(weft_fork_guard *guard, pthread_mutex_t *mutex, void (*renew)(weft_fork_guard *self))
{
    pthread_once(&forks.once, watch);
    if (!forks.watched) return weft_status_out_of_memory();
    pthread_mutex_lock(&forks.mutex);
    *guard = (weft_fork_guard){.next = forks.first, .mutex = mutex, .renew = renew};
    if (forks.first != NULL) forks.first->previous = guard;
    forks.first = guard;
    pthread_mutex_unlock(&forks.mutex);
    return NULL;
}

void weft_fork_guard_finish(weft_fork_guard *guard)
{
    pthread_mutex_lock(&forks.mutex);
    if (guard->previous != NULL) guard->previous->next = guard->next;
    else if (forks.first == guard) forks.first = guard->next;
    if (guard->next != NULL) guard->next->previous = guard->previous;
    pthread_mutex_unlock(&forks.mutex);
    *guard = (weft_fork_guard){.mutex = NULL};
}

unsigned weft_fork_generation(void)
{
    return atomic_load_explicit(&forks.generation, memory_order_relaxed);
}
