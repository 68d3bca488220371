/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* sched_getaffinity */
#include "runtime/pool.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif
#include <pthreadpool.h>
#include "runtime/memory.h"

enum { CHUNKS_PER_THREAD = 4 };

struct weft_pool {
    weft_allocator allocator;
    size_t size;
    pthread_mutex_t busy;  /* held by the thread whose region runs */
    pthreadpool_t threads; /* NULL until a region needs them */
};

/* Whether this thread runs a chunk of a region, of any pool. */
static _Thread_local bool inside_region;

struct region {
    atomic_size_t pending; /* chunks */
    weft_pool_task task;
    void *context;
    int64_t count, step;
    unsigned control;
};

/* ---- floating-point control word ---- */

static unsigned control_word(void)
{
#if defined(__SSE__)
    return _mm_getcsr();
#else
    return 0;
#endif
}

static void set_control_word(unsigned control)
{
#if defined(__SSE__)
    _mm_setcsr(control);
#else
    (void)control;
#endif
}

/* ---- pool ---- */

static size_t online_threads(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return (size_t)CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : (size_t)online;
}

weft_status *weft_pool_create(const weft_allocator *allocator, size_t threads, weft_pool **out_pool)
{
    if (threads > WEFT_POOL_MAX_THREADS)
        return weft_status_create(allocator, WEFT_OUT_OF_RANGE, "weft_pool_create",
                                  "%zu threads are over the limit of %d", threads, WEFT_POOL_MAX_THREADS);
    if (threads == 0) threads = online_threads();
    allocator = weft_allocator_or_default(allocator);
    weft_pool *pool = weft_allocate_zeroed(allocator, sizeof *pool);
    if (pool == NULL) return weft_status_out_of_memory();
    pool->allocator = *allocator;
    pool->size = threads < WEFT_POOL_MAX_THREADS ? threads : WEFT_POOL_MAX_THREADS;
    pthread_mutex_init(&pool->busy, NULL);
    *out_pool = pool;
    return NULL;
}

void weft_pool_destroy(weft_pool *pool)
{
    if (pool == NULL) return;
    if (pool->threads != NULL) pthreadpool_destroy(pool->threads);
    pthread_mutex_destroy(&pool->busy);
    weft_allocator allocator = pool->allocator;
    weft_free(&allocator, pool, sizeof *pool);
}

size_t weft_pool_size(const weft_pool *pool)
{
    return pool->size;
}

size_t weft_pool_width(const weft_pool *pool)
{
    return inside_region ? 1 : pool->size;
}

/* ---- regions ---- */

/*
 * `pending` also orders memory: workers acquire what the caller wrote before the region, the caller what they wrote in
 * it. pthreadpool orders it too, but out of sight of the thread sanitizer.
 */
static void run_chunk(void *argument, size_t index)
{
    struct region *region = argument;
    (void)atomic_load_explicit(&region->pending, memory_order_acquire);
    int64_t begin = (int64_t)index * region->step;
    int64_t end = region->count - begin < region->step ? region->count : begin + region->step;
    unsigned control = control_word();
    set_control_word(region->control);
    inside_region = true;
    region->task(region->context, begin, end);
    inside_region = false;
    set_control_word(control);
    atomic_fetch_sub_explicit(&region->pending, 1, memory_order_acq_rel);
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a - 1) / b + 1;
}

/* With the pool's lock held; false when there are no threads to be had. */
static bool run_parallel(weft_pool *pool, int64_t count, int64_t grain, weft_pool_task task, void *context)
{
    if (pool->threads == NULL) pool->threads = pthreadpool_create(pool->size);
    if (pool->threads == NULL) return false;
    int64_t step = divide_up(count, CHUNKS_PER_THREAD * (int64_t)pool->size);
    if (step < grain) step = grain;
    size_t chunks = (size_t)divide_up(count, step);
    struct region region = {.task = task, .context = context, .count = count, .step = step, .control = control_word()};
    atomic_store_explicit(&region.pending, chunks, memory_order_release);
    pthreadpool_parallelize_1d(pool->threads, run_chunk, &region, chunks, 0);
    (void)atomic_load_explicit(&region.pending, memory_order_acquire);
    return true;
}

void weft_pool_run(weft_pool *pool, int64_t count, int64_t grain, weft_pool_task task, void *context)
{
    if (count <= 0) return;
    if (grain < 1) grain = 1;
    bool done = false;
    if (count > grain && pool->size > 1 && !inside_region && pthread_mutex_trylock(&pool->busy) == 0) {
        done = run_parallel(pool, count, grain, task, context);
        pthread_mutex_unlock(&pool->busy);
    }
    if (!done) task(context, 0, count);
}
