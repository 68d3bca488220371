/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* sched_getaffinity, sched_getcpu, pthread_setaffinity_np */
#include "runtime/base/pool.h"
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>
#include <weft/executor.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif
#include "runtime/base/background.h"
#include "runtime/base/float_mode.h"
#include "runtime/base/fork.h"
#include "runtime/base/memory.h"
#include "runtime/base/stack.h"

enum {
    CHUNKS_PER_THREAD = 4,
    WOKEN_AT_ONCE = 2,
    LOOKS = 10000, /* before a thread sleeps: 275 us on Zen 3 */
    APART = 128,   /* bytes between what different threads write: lines are fetched in pairs */
};

/* In place of a count of chunks: the thread is to end. */
static const size_t LEAVE = SIZE_MAX;

/* Where one thread sleeps, and others wake it. */
typedef struct bed {
    atomic_bool taken;
    sem_t call;
} bed;

/* A thread of the pool; the first one is the caller of the job. */
typedef struct member {
    atomic_size_t unclaimed; /* chunks of its share that no thread runs yet */
    bed bed;
    weft_pool *pool;
    pthread_t thread;
    cpu_set_t allowed; /* where the thread may run, while it is sent elsewhere */
    bool is_sent;
    char apart[APART];
} member;

/* Whoever has claimed a chunk may read `job`: it lasts until all chunks are done. */
struct weft_pool {
    weft_allocator allocator;
    weft_machine machine;
    size_t size, threads; /* started so far: none until a job needs them */
    weft_fork_guard guard;
    pthread_mutex_t busy; /* held by the thread whose job runs */
    struct job {
        weft_pool_task task;
        void *context;
        int64_t count, step;
        size_t chunks, shares;
        weft_float_mode mode;
    } job;
    char apart[APART];
    atomic_size_t pending; /* chunks that are not done */
    atomic_size_t unwoken; /* the first so many threads; changed by those that run a chunk */
    char apart_too[APART];
    member members[];
};

/* Whether this thread runs a chunk of a job, of any pool. */
static _Thread_local bool inside_job;

/* The background leaves the pool to runs. */
static bool is_alone(void)
{
    return inside_job || weft_background_is_here();
}

/* ---- waiting ---- */

static void pause_thread(void)
{
#if defined(__SSE__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static bool is_zero(atomic_size_t *count)
{
    return atomic_load(count) == 0;
}

/* Whichever takes the bed back first, the thread that wakes or the one going to sleep, owns the wake-up. */
static bool take_back(bed *where)
{
    return atomic_load(&where->taken) && atomic_exchange(&where->taken, false);
}

/* After `count` has changed. */
static void wake(bed *where)
{
    if (take_back(where)) sem_post(&where->call);
}

/* Until `count` is zero, or is not, or somebody calls. All accesses are in one order: either the sleeper sees the
 * count, or who changes it sees the sleeper. */
static void wait_until(atomic_size_t *count, bool zero, bed *where)
{
    for (int i = 0; i < LOOKS; i++) {
        if (is_zero(count) == zero) return;
        pause_thread();
    }
    atomic_store(&where->taken, true);
    if (is_zero(count) == zero && atomic_exchange(&where->taken, false)) return;
    while (sem_wait(&where->call) != 0) continue; /* interrupted */
}

/* ---- waking members ---- */

/*
 * Has a sleeping thread wake on another processor than this one. Kernels that keep virtual processors idle wake it
 * here, and take milliseconds to move it: a product of 256 took 199 us on two threads instead of 73, on one 131 (Zen 5,
 * KVM).
 */
static bool send_elsewhere(member *sleeper)
{
    int here = sched_getcpu();
    if (here < 0) return false;
    if (pthread_getaffinity_np(sleeper->thread, sizeof sleeper->allowed, &sleeper->allowed) != 0) return false;
    cpu_set_t others = sleeper->allowed;
    CPU_CLR((size_t)here, &others);
    return CPU_COUNT(&others) != 0 && pthread_setaffinity_np(sleeper->thread, sizeof others, &others) == 0;
}

static void wake_member(member *sleeper)
{
    if (!take_back(&sleeper->bed)) return;
    sleeper->is_sent = send_elsewhere(sleeper);
    sem_post(&sleeper->bed.call);
}

/* The thread is where it was sent, and may run again wherever it might. */
static void arrive(member *self)
{
    if (self->is_sent) sched_setaffinity(0, sizeof self->allowed, &self->allowed);
    self->is_sent = false;
}

/* ---- chunks ---- */

static bool claim(atomic_size_t *unclaimed, size_t *out_left)
{
    size_t left = atomic_load_explicit(unclaimed, memory_order_relaxed);
    while (left != 0 && left != LEAVE)
        if (atomic_compare_exchange_weak(unclaimed, &left, left - 1)) {
            *out_left = left;
            return true;
        }
    return false;
}

/* The first chunk of a share. */
static size_t find_share(const struct job *job, size_t share)
{
    return job->chunks * share / job->shares;
}

static void run_chunk(const struct job *job, size_t chunk)
{
    int64_t begin = (int64_t)chunk * job->step;
    int64_t end = job->count - begin < job->step ? job->count : begin + job->step;
    job->task(job->context, begin, end);
}

/* Whoever begins a chunk wakes two of the threads that nobody has woken yet: the caller begins early, and none waits
 * for one that is late. */
static void wake_some(weft_pool *pool)
{
    size_t last;
    for (int i = 0; i < WOKEN_AT_ONCE && claim(&pool->unwoken, &last); i++) wake_member(&pool->members[last]);
}

/* All unclaimed chunks, those of `own` first; none if the job is already over. */
static void run_chunks(weft_pool *pool, size_t own)
{
    const struct job *job = &pool->job;
    for (size_t i = 0; i < pool->size; i++) {
        size_t share = (own + i) % pool->size, left;
        while (claim(&pool->members[share].unclaimed, &left)) {
            wake_some(pool);
            weft_float_mode_set(job->mode);
            run_chunk(job, find_share(job, share + 1) - left);
            if (atomic_fetch_sub(&pool->pending, 1) == 1) wake(&pool->members->bed);
        }
    }
}

/* ---- threads ---- */

/* A thread whose own chunks were taken by others before it woke helps with the rest. */
static void *work(void *argument)
{
    member *self = argument;
    weft_pool *pool = self->pool;
    inside_job = true;
    for (;;) {
        wait_until(&self->unclaimed, false, &self->bed);
        if (atomic_load(&self->unclaimed) == LEAVE) return NULL;
        arrive(self);
        run_chunks(pool, (size_t)(self - pool->members));
    }
}

/* Starts as many threads as the system allows; they run the shares of the missing ones. */
static void start_threads(weft_pool *pool)
{
    while (pool->threads < pool->size - 1) {
        member *next = &pool->members[pool->threads + 1];
        if (!weft_thread_start(work, next, &next->thread)) break;
        pool->threads++;
    }
}

/* ---- pool ---- */

static size_t online_threads(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return (size_t)CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : (size_t)online;
}

static size_t bytes_of(size_t threads)
{
    return sizeof(weft_pool) + threads * sizeof(member);
}

static void init_members(weft_pool *pool)
{
    for (size_t i = 0; i < pool->size; i++) {
        pool->members[i].pool = pool;
        pool->members[i].is_sent = false;
        sem_init(&pool->members[i].bed.call, 0, 0);
    }
}

/* A forked child has none of the threads, and no job but that of the thread that forked, if it was inside one. */
static void renew(weft_fork_guard *guard)
{
    weft_pool *pool = (weft_pool *)((char *)guard - offsetof(weft_pool, guard));
    pool->threads = 0;
    if (inside_job) return;
    pthread_mutex_init(&pool->busy, NULL);
    atomic_store(&pool->pending, 0);
    for (size_t i = 0; i < pool->size; i++) {
        atomic_store(&pool->members[i].unclaimed, 0);
        atomic_store(&pool->members[i].bed.taken, false);
    }
    init_members(pool);
}

weft_status *weft_pool_create(const weft_allocator *allocator, const weft_machine *machine, size_t threads,
                              weft_pool **out_pool)
{
    if (threads > WEFT_MAX_THREADS)
        return weft_status_create(allocator, WEFT_OUT_OF_RANGE, "weft_executor_create",
                                  "%zu threads are over the limit of %d", threads, WEFT_MAX_THREADS);
    if (threads == 0) threads = online_threads();
    if (threads > WEFT_MAX_THREADS) threads = WEFT_MAX_THREADS;
    allocator = weft_allocator_or_default(allocator);
    weft_pool *pool = weft_allocate_zeroed(allocator, bytes_of(threads));
    if (pool == NULL) return weft_status_out_of_memory();
    pool->allocator = *allocator;
    pool->machine = *machine;
    pool->size = threads;
    pthread_mutex_init(&pool->busy, NULL);
    init_members(pool);
    /* Without threads there is nothing to renew after a fork, nor anything to destroy but memory. */
    weft_status *status = threads == 1 ? NULL : weft_fork_guard_init(&pool->guard, NULL, renew);
    if (status == NULL) *out_pool = pool;
    else weft_pool_destroy(pool);
    return status;
}

void weft_pool_destroy(weft_pool *pool)
{
    if (pool == NULL) return;
    if (pool->size > 1) weft_fork_guard_finish(&pool->guard);
    for (size_t i = 1; i <= pool->threads; i++) {
        atomic_store(&pool->members[i].unclaimed, LEAVE);
        wake(&pool->members[i].bed);
    }
    for (size_t i = 1; i <= pool->threads; i++) pthread_join(pool->members[i].thread, NULL);
    for (size_t i = 0; i < pool->size; i++) sem_destroy(&pool->members[i].bed.call);
    pthread_mutex_destroy(&pool->busy);
    weft_allocator allocator = pool->allocator;
    weft_free(&allocator, pool, bytes_of(pool->size));
}

size_t weft_pool_size(const weft_pool *pool)
{
    return pool->size;
}

const weft_machine *weft_pool_machine(const weft_pool *pool)
{
    return &pool->machine;
}

size_t weft_pool_width(const weft_pool *pool)
{
    return is_alone() ? 1 : pool->size;
}

/* ---- jobs ---- */

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a - 1) / b + 1;
}

static size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* With the pool's lock held. No thread is woken before all shares are there, lest it sleeps again. The last one to
 * finish wakes the caller; threads that come later find nothing to do and are not waited for. */
static void run_parallel(weft_pool *pool, struct job job)
{
    job.chunks = (size_t)divide_up(job.count, job.step);
    job.shares = lesser(job.chunks, pool->size);
    job.mode = weft_float_mode_get();
    pool->job = job;
    atomic_store(&pool->pending, job.chunks);
    atomic_store(&pool->unwoken, 0);
    for (size_t i = job.shares; i-- > 0;)
        atomic_store(&pool->members[i].unclaimed, find_share(&job, i + 1) - find_share(&job, i));
    atomic_store(&pool->unwoken, lesser(job.shares - 1, pool->threads));
    inside_job = true;
    run_chunks(pool, 0);
    while (!is_zero(&pool->pending)) wait_until(&pool->pending, true, &pool->members->bed);
    inside_job = false;
}

void weft_pool_run(weft_pool *pool, int64_t count, int64_t grain, weft_pool_task task, void *context)
{
    if (count <= 0) return;
    if (grain < 1) grain = 1;
    if (count <= grain || pool->size == 1 || is_alone() || pthread_mutex_trylock(&pool->busy) != 0) {
        task(context, 0, count);
        return;
    }
    if (pool->threads == 0) start_threads(pool);
    int64_t step = divide_up(count, CHUNKS_PER_THREAD * (int64_t)pool->size);
    run_parallel(pool,
                 (struct job){.task = task, .context = context, .count = count, .step = step < grain ? grain : step});
    pthread_mutex_unlock(&pool->busy);
}
