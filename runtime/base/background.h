/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_BASE_BACKGROUND_H
#define WEFT_RUNTIME_BASE_BACKGROUND_H
/*
 * Work that no run waits for: tasks in a queue, which one thread takes in order. The thread starts with the first task.
 * A forked child has the queue too, the task included that was being run, which begins anew there.
 */
#include <weft/base.h>

typedef struct weft_background weft_background;

/* Embedded in what is to be done. Both are called without a lock. */
typedef struct weft_background_task {
    struct weft_background_task *next;
    void (*run)(struct weft_background_task *task);
    void (*destroy)(struct weft_background_task *task); /* after it has run, or instead */
} weft_background_task;

weft_status *weft_background_create(const weft_allocator *allocator, weft_background **out_background) WEFT_MUST_USE;
/* Cancels and waits for the task that is being run, and drops those that wait. NULL is fine. */
void weft_background_destroy(weft_background *background);

/* Takes the task; drops all when no thread can be started. */
void weft_background_add(weft_background *background, weft_background_task *task);
/* Cancels the task that is being run, and drops those that wait. */
void weft_background_clear(weft_background *background);
/* Whether the task that is being run is cancelled; it may look, or not. */
const volatile bool *weft_background_cancelled(const weft_background *background);
/* Waits until the queue is empty; on its own thread it does nothing. */
void weft_background_finish(weft_background *background);
/* Tasks in the queue, with the one that is being run. */
size_t weft_background_count(weft_background *background);

/* Between the two no task begins: somebody waits for what uses the processors. May be nested. */
void weft_background_hold(weft_background *background);
void weft_background_resume(weft_background *background);
/* Whether this is the thread of a background. */
bool weft_background_is_here(void);
/* In a forked child, once: starts the thread again if there is something to do. Does nothing elsewhere. */
void weft_background_revive(weft_background *background);
#endif
