/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/background.h"
#include <pthread.h>
#include <stdatomic.h>
#include "runtime/base/float_mode.h"
#include "runtime/base/fork.h"
#include "runtime/base/memory.h"
#include "runtime/base/stack.h"

struct weft_background {
    weft_allocator allocator;
    pthread_mutex_t mutex; /* of everything below */
    pthread_cond_t changed;
    weft_fork_guard guard;
    pthread_t thread;
    bool started, ending;
    bool busy;     /* with the first task */
    bool destroys; /* one that is done */
    volatile bool cancelled;
    size_t held, count;
    weft_background_task *first, *last;
    atomic_bool orphaned; /* in a forked child: there is no thread yet for what is in the queue */
};

/* In a forked child, with the lock held: neither the thread nor whoever held it up exists here. */
static void renew(weft_fork_guard *guard)
{
    weft_background *background = (weft_background *)((char *)guard - offsetof(weft_background, guard));
    pthread_cond_init(&background->changed, NULL);
    background->started = false;
    background->busy = background->destroys = false;
    background->held = 0;
    atomic_store(&background->orphaned, background->count > 0);
}

weft_status *weft_background_create(const weft_allocator *allocator, weft_background **out_background)
{
    weft_background *background = weft_allocate_zeroed(allocator, sizeof *background);
    if (background == NULL) return weft_status_out_of_memory();
    background->allocator = *weft_allocator_or_default(allocator);
    pthread_mutex_init(&background->mutex, NULL);
    pthread_cond_init(&background->changed, NULL);
    weft_status *status = weft_fork_guard_init(&background->guard, &background->mutex, renew);
    if (status == NULL) *out_background = background;
    else weft_background_destroy(background);
    return status;
}

/* ---- with the lock held ---- */

static void append(weft_background *background, weft_background_task *task)
{
    task->next = NULL;
    if (background->first == NULL) background->first = task;
    else background->last->next = task;
    background->last = task;
    background->count++;
}

static void remove_first(weft_background *background)
{
    background->first = background->first->next;
    if (background->first == NULL) background->last = NULL;
    background->count--;
}

/* All that wait, as a list. */
static weft_background_task *take_waiting(weft_background *background)
{
    weft_background_task *kept = background->busy ? background->first : NULL;
    weft_background_task *waiting = kept == NULL ? background->first : kept->next;
    if (kept != NULL) kept->next = NULL;
    background->first = background->last = kept;
    background->count = kept != NULL;
    return waiting;
}

static _Thread_local bool is_here;

bool weft_background_is_here(void)
{
    return is_here;
}

static void *work(void *argument)
{
    weft_background *background = argument;
    is_here = true;
    weft_float_mode_set(WEFT_FLOAT_MODE_PLAIN);
    pthread_mutex_lock(&background->mutex);
    while (!background->ending) {
        weft_background_task *task = background->first;
        if (task == NULL || background->held > 0) {
            pthread_cond_wait(&background->changed, &background->mutex);
            continue;
        }
        background->busy = true;
        __atomic_store_n(&background->cancelled, false, __ATOMIC_RELAXED);
        pthread_mutex_unlock(&background->mutex);
        task->run(task);
        pthread_mutex_lock(&background->mutex);
        background->busy = false;
        background->destroys = true;
        remove_first(background);
        pthread_mutex_unlock(&background->mutex);
        task->destroy(task);
        pthread_mutex_lock(&background->mutex);
        background->destroys = false;
        pthread_cond_broadcast(&background->changed);
    }
    pthread_mutex_unlock(&background->mutex);
    return NULL;
}

/* What is to be dropped because there is no thread for it. */
static weft_background_task *start(weft_background *background)
{
    atomic_store(&background->orphaned, false);
    if (background->first == NULL || background->started) return NULL;
    background->started = weft_thread_start(work, background, &background->thread);
    return background->started ? NULL : take_waiting(background);
}

/* ---- without it ---- */

static void drop(weft_background_task *tasks)
{
    while (tasks != NULL) {
        weft_background_task *task = tasks;
        tasks = task->next;
        task->destroy(task);
    }
}

void weft_background_destroy(weft_background *background)
{
    if (background == NULL) return;
    pthread_mutex_lock(&background->mutex);
    background->ending = true;
    __atomic_store_n(&background->cancelled, true, __ATOMIC_RELAXED);
    weft_background_task *waiting = take_waiting(background);
    pthread_cond_broadcast(&background->changed);
    pthread_mutex_unlock(&background->mutex);
    drop(waiting);
    if (background->started) pthread_join(background->thread, NULL);
    weft_fork_guard_finish(&background->guard);
    pthread_cond_destroy(&background->changed);
    pthread_mutex_destroy(&background->mutex);
    weft_allocator allocator = background->allocator;
    weft_free(&allocator, background, sizeof *background);
}

void weft_background_add(weft_background *background, weft_background_task *task)
{
    pthread_mutex_lock(&background->mutex);
    append(background, task);
    weft_background_task *dropped = start(background);
    pthread_cond_broadcast(&background->changed);
    pthread_mutex_unlock(&background->mutex);
    drop(dropped);
}

const volatile bool *weft_background_cancelled(const weft_background *background)
{
    return &background->cancelled;
}

void weft_background_clear(weft_background *background)
{
    pthread_mutex_lock(&background->mutex);
    __atomic_store_n(&background->cancelled, true, __ATOMIC_RELAXED);
    weft_background_task *waiting = take_waiting(background);
    pthread_cond_broadcast(&background->changed);
    pthread_mutex_unlock(&background->mutex);
    drop(waiting);
}

void weft_background_revive(weft_background *background)
{
    if (!atomic_load_explicit(&background->orphaned, memory_order_relaxed)) return;
    pthread_mutex_lock(&background->mutex);
    weft_background_task *dropped = start(background);
    pthread_mutex_unlock(&background->mutex);
    drop(dropped);
}

void weft_background_finish(weft_background *background)
{
    if (is_here) return;
    weft_background_revive(background);
    pthread_mutex_lock(&background->mutex);
    while (background->first != NULL || background->destroys)
        pthread_cond_wait(&background->changed, &background->mutex);
    pthread_mutex_unlock(&background->mutex);
}

size_t weft_background_count(weft_background *background)
{
    pthread_mutex_lock(&background->mutex);
    size_t count = background->count;
    pthread_mutex_unlock(&background->mutex);
    return count;
}

void weft_background_hold(weft_background *background)
{
    pthread_mutex_lock(&background->mutex);
    background->held++;
    pthread_mutex_unlock(&background->mutex);
}

void weft_background_resume(weft_background *background)
{
    pthread_mutex_lock(&background->mutex);
    if (background->held > 0) background->held--;
    pthread_cond_broadcast(&background->changed);
    pthread_mutex_unlock(&background->mutex);
}
