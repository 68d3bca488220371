/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_PLAN_WORKERS_H
#define EINSUM_PLAN_WORKERS_H
/* Threads that live for one piece of planning. */
#include <weft/base.h>

/* Numbered pieces of work that do not depend on each other. */
typedef struct einsum_tasks {
    size_t count;
    weft_status *(*run)(void *context, size_t index);
    void *context;
} einsum_tasks;

/* `threads`, but no more than may work at once; for 0 one for each processor that the process may use. */
size_t einsum_workers_size(size_t threads);

/*
 * Runs all tasks on at most `threads` threads, the caller's among them; fewer where no more can be started. Returns
 * the error of the first task, by index, that failed.
 */
weft_status *einsum_workers_run(size_t threads, const einsum_tasks *tasks) WEFT_MUST_USE;
#endif
