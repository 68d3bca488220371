/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_BASE_POOL_H
#define WEFT_RUNTIME_BASE_POOL_H
/*
 * The one thread pool of an executor. One job at a time: a caller that finds the pool busy, is inside a job already, or
 * is the thread of a background runs its range alone. No caller ever waits for the pool, nor for a thread of it that
 * has not begun: the other threads do its share. So jobs also end in a forked child, where there are none.
 */
#include <weft/machine.h>

typedef struct weft_pool weft_pool;
typedef void (*weft_pool_task)(void *context, int64_t begin, int64_t end);

/* A pool that uses `threads` threads of `machine`, which it copies, the caller's included; 0: as many as this process
 * may run on. They start with the first job that needs them. WEFT_OUT_OF_RANGE over WEFT_MAX_THREADS
 * (<weft/executor.h>). */
weft_status *weft_pool_create(const weft_allocator *allocator, const weft_machine *machine, size_t threads,
                              weft_pool **out_pool) WEFT_MUST_USE;
/* No job may be running. */
void weft_pool_destroy(weft_pool *pool);
size_t weft_pool_size(const weft_pool *pool);
const weft_machine *weft_pool_machine(const weft_pool *pool);
/* How many of them a job of this thread can have: one inside of a job. */
size_t weft_pool_width(const weft_pool *pool);

/*
 * Calls `task` over disjoint ranges that cover [0, count), each of at least `grain` except for the last, and returns
 * when all are done. Every call of it sees the caller's floating-point control word. Which ranges there are depends on
 * the pool: a result must not.
 */
void weft_pool_run(weft_pool *pool, int64_t count, int64_t grain, weft_pool_task task, void *context);
#endif
