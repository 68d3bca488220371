/* SPDX-License-Identifier: Apache-2.0 */
/* The pool, locks and forks where a run has the thread that calls it and no other: a pool that was given is not used.
 */
#include <pthread.h>
#include "runtime/base/background.h"
#include "runtime/base/fork.h"
#include "runtime/base/pool.h"
#include "runtime/engine/sorter.h"

/* ---- the pool ---- */

struct weft_pool {
    char none;
};

weft_status *weft_pool_create(const weft_allocator *allocator, const weft_machine *machine, size_t threads,
                              weft_pool **out_pool)
{
    static const weft_pool one;
    *out_pool = (weft_pool *)(uintptr_t)&one;
    return NULL;
}

void weft_pool_destroy(weft_pool *pool) {}

size_t weft_pool_size(const weft_pool *pool)
{
    return 1;
}

const weft_machine *weft_pool_machine(const weft_pool *pool)
{
    return weft_machine_host();
}

size_t weft_pool_width(const weft_pool *pool)
{
    return 1;
}

void weft_pool_run(weft_pool *pool, int64_t count, int64_t grain, weft_pool_task task, void *context)
{
    if (count > 0) task(context, 0, count);
}

/* Long rows are not cut for one thread. */
bool weft_sorter_sort_cut(const weft_sorter *s, const char *in, char *out, char *scratch)
{
    return false;
}

int64_t weft_sorter_cut_bytes(int64_t length)
{
    return 0;
}

int64_t weft_sorter_cut_pieces(void)
{
    return 1;
}

bool weft_background_is_here(void)
{
    return false;
}

/* ---- locks: what they protect has one thread ---- */

int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
    return 0;
}

int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
    return 0;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    return 0;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    return 0;
}

weft_status *weft_fork_guard_init(weft_fork_guard *guard, pthread_mutex_t *mutex, void (*renew)(weft_fork_guard *self))
{
    return NULL;
}

void weft_fork_guard_finish(weft_fork_guard *guard) {}
