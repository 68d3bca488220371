/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_BASE_FORK_H
#define WEFT_RUNTIME_BASE_FORK_H
/*
 * Keeps state consistent in a forked child, where only the forking thread continues: locks that other threads held, and
 * what they had not finished. Registered locks are taken before a fork, so that what they protect is consistent in the
 * child, and released on both sides after it. While one is held no other of them is taken, none is registered, and no
 * thread waits for another one.
 */
#include <weft/base.h>
#include <pthread.h>

/* Embedded in what it watches over. */
typedef struct weft_fork_guard {
    struct weft_fork_guard *previous, *next;
    pthread_mutex_t *mutex; /* may be NULL */
    /* Called in the child, before any other thread exists there, with the lock held; may be NULL. Must not allocate. */
    void (*renew)(struct weft_fork_guard *self);
} weft_fork_guard;

/* OUT_OF_MEMORY only for the first one of the process. Without it weft_fork_guard_finish is fine as well. */
weft_status *weft_fork_guard_init(weft_fork_guard *guard, pthread_mutex_t *mutex,
                                  void (*renew)(weft_fork_guard *self)) WEFT_MUST_USE;
void weft_fork_guard_finish(weft_fork_guard *guard);

/* How many forks lie between this process and the one that loaded the library. */
unsigned weft_fork_generation(void);
#endif
