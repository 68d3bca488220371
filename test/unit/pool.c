/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* sched_getaffinity, sched_getcpu, gettid */
#include "test/support.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "runtime/base/pool.h"
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

enum { MOST = 1000 };

/* Counts how often each index is visited, by how many calls and by whom. */
struct visits {
    weft_pool *pool;
    unsigned char seen[MOST]; /* plain: ranges are disjoint */
    int64_t count, grain;
    atomic_int calls, short_calls, foreign_calls;
    pthread_t caller;
};

static void visit(void *context, int64_t begin, int64_t end)
{
    struct visits *visits = context;
    for (int64_t i = begin; i < end; i++) visits->seen[i]++;
    atomic_fetch_add(&visits->calls, 1);
    if (end - begin < visits->grain && end != visits->count) atomic_fetch_add(&visits->short_calls, 1);
    if (!pthread_equal(pthread_self(), visits->caller)) atomic_fetch_add(&visits->foreign_calls, 1);
}

static void init_visits(struct visits *visits, weft_pool *pool, int64_t count, int64_t grain)
{
    memset(visits, 0, sizeof *visits);
    visits->pool = pool;
    visits->count = count;
    visits->grain = grain;
    visits->caller = pthread_self();
}

static void check_visits(const struct visits *visits)
{
    for (int64_t i = 0; i < MOST; i++) assert_int_equal(visits->seen[i], i < visits->count ? 1 : 0);
    assert_int_equal(atomic_load(&visits->short_calls), 0);
}

static weft_pool *create(size_t threads)
{
    weft_pool *pool = NULL;
    weft_test_ok(weft_pool_create(NULL, weft_machine_reference(), threads, &pool));
    return pool;
}

static void ranges_cover_everything_once(void **state)
{
    (void)state;
    static const int64_t counts[] = {0, 1, 2, 7, 8, 9, 63, 100, 999, 1000}, grains[] = {-1, 0, 1, 3, 50, 998, 5000};
    for (size_t threads = 1; threads <= 3; threads++) {
        weft_pool *pool = create(threads);
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            for (size_t k = 0; k < sizeof grains / sizeof *grains; k++) {
                struct visits visits;
                init_visits(&visits, pool, counts[i], grains[k]);
                weft_pool_run(pool, counts[i], grains[k], visit, &visits);
                check_visits(&visits);
                assert_true(atomic_load(&visits.calls) <= 4 * (int)threads);
            }
        }
        weft_pool_destroy(pool);
    }
}

static void small_work_stays_on_the_callers_thread(void **state)
{
    (void)state;
    weft_pool *pool = create(4);
    struct visits visits;
    init_visits(&visits, pool, 500, 500);
    weft_pool_run(pool, 500, 500, visit, &visits);
    check_visits(&visits);
    assert_int_equal(atomic_load(&visits.calls), 1);
    assert_int_equal(atomic_load(&visits.foreign_calls), 0);
    init_visits(&visits, pool, -3, 1);
    weft_pool_run(pool, -3, 1, visit, &visits);
    assert_int_equal(atomic_load(&visits.calls), 0);
    weft_pool_destroy(pool);
}

enum { PATIENCE = 60 }; /* seconds */

/* Chunks that wait for each other: the job ends in time only if as many threads run it. */
struct meeting {
    int threads;
    atomic_int arrived, strange_state;
    atomic_bool failed;
    unsigned control;
    time_t until;
};

static unsigned control_word(void)
{
#if defined(__SSE__)
    return _mm_getcsr() & ~0x3fu; /* without the exception flags */
#else
    return 0;
#endif
}

static void meet(void *context, int64_t begin, int64_t end)
{
    struct meeting *meeting = context;
    (void)begin;
    (void)end;
    if (control_word() != meeting->control) atomic_fetch_add(&meeting->strange_state, 1);
    atomic_fetch_add(&meeting->arrived, 1);
    while (atomic_load(&meeting->arrived) < meeting->threads && !atomic_load(&meeting->failed)) {
        sched_yield();
        if (time(NULL) > meeting->until) atomic_store(&meeting->failed, true);
    }
}

/* Of some of the threads that run `chunks`. */
static bool try_meeting(weft_pool *pool, int threads, int chunks)
{
    struct meeting meeting = {.threads = threads, .control = control_word(), .until = time(NULL) + PATIENCE};
    weft_pool_run(pool, chunks, 1, meet, &meeting);
    assert_int_equal(atomic_load(&meeting.arrived), chunks);
    assert_int_equal(atomic_load(&meeting.strange_state), 0);
    assert_int_equal(control_word(), meeting.control);
    return !atomic_load(&meeting.failed);
}

static void hold_meeting(weft_pool *pool, int threads)
{
    if (!try_meeting(pool, threads, threads)) fail_msg("fewer than %d threads came in %d seconds", threads, PATIENCE);
}

static void jobs_use_several_threads(void **state)
{
    (void)state;
    weft_pool *pool = create(2);
    for (int i = 0; i < 20; i++) hold_meeting(pool, 2);
    weft_pool_destroy(pool);
}

/* Long enough that the workers sleep. */
static void sleeping_threads_are_woken(void **state)
{
    (void)state;
    weft_pool *pool = create(2);
    for (int i = 0; i < 10; i++) {
        usleep(3000);
        hold_meeting(pool, 2);
    }
    weft_pool_destroy(pool);
}

/* Chunks of two threads, of which one ends up on the processor of the other. */
struct crowd {
    struct meeting meeting;
    cpu_set_t one, all, after; /* the caller's processor; where the other thread may run, and may after it was woken */
    pthread_t caller;
    bool to_move;
    int thread, processor; /* of the other one */
};

static void crowd_together(void *context, int64_t begin, int64_t end)
{
    struct crowd *crowd = context;
    int processor = sched_getcpu();
    meet(&crowd->meeting, begin, end);
    if (pthread_equal(pthread_self(), crowd->caller)) return;
    crowd->processor = processor;
    crowd->thread = gettid();
    if (!crowd->to_move) {
        sched_getaffinity(0, sizeof crowd->after, &crowd->after);
        return;
    }
    assert_int_equal(sched_getaffinity(0, sizeof crowd->all, &crowd->all), 0);
    assert_int_equal(sched_setaffinity(0, sizeof crowd->one, &crowd->one), 0);
    assert_int_equal(sched_setaffinity(0, sizeof crowd->all, &crowd->all), 0);
}

static bool is_asleep(int thread)
{
    char path[64], state = '?';
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
    fclose(file);
    return state == 'S';
}

static void run_crowd(weft_pool *pool, struct crowd *crowd, bool to_move)
{
    crowd->meeting = (struct meeting){.threads = 2, .control = control_word(), .until = time(NULL) + PATIENCE};
    crowd->to_move = to_move;
    weft_pool_run(pool, 2, 1, crowd_together, crowd);
    assert_false(atomic_load(&crowd->meeting.failed));
    while (!is_asleep(crowd->thread)) usleep(1000);
}

/* A thread that slept on the caller's processor wakes on another one, and may run wherever it might. A busy system may
 * move it back at once. */
static void threads_wake_apart(void **state)
{
    (void)state;
    enum { TIMES = 20 };
    struct crowd crowd = {.caller = pthread_self()};
    cpu_set_t before;
    int apart = 0;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    if (CPU_COUNT(&before) < 2) skip();
    weft_pool *pool = create(2);
    hold_meeting(pool, 2);
    CPU_SET((size_t)sched_getcpu(), &crowd.one);
    assert_int_equal(sched_setaffinity(0, sizeof crowd.one, &crowd.one), 0);
    for (int i = 0; i < TIMES; i++) {
        run_crowd(pool, &crowd, true);
        run_crowd(pool, &crowd, false);
        apart += !CPU_ISSET((size_t)crowd.processor, &crowd.one);
        assert_true(CPU_EQUAL(&crowd.all, &crowd.after));
        assert_true(CPU_EQUAL(&crowd.all, &before));
    }
    assert_true(apart > TIMES / 2);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    weft_pool_destroy(pool);
}

/* By each other, down to the last one, however many shares there are. */
static void many_threads_are_woken(void **state)
{
    (void)state;
    enum { THREADS = 17 };
    weft_pool *pool = create(THREADS);
    for (int threads = THREADS; threads > 1; threads -= 3) {
        usleep(20000);
        hold_meeting(pool, threads);
    }
    weft_pool_destroy(pool);
}

enum { GUESTS = 17 };

static pthread_t guests[GUESTS];
static atomic_bool released;
static atomic_int held;

/* A chunk that notes its thread, and lasts until each has one. */
static void sign(void *context, int64_t begin, int64_t end)
{
    guests[begin] = pthread_self();
    meet(context, begin, end);
}

/* Holds the thread in which it is called. */
static void linger(int number)
{
    (void)number;
    atomic_fetch_add(&held, 1);
    while (!atomic_load(&released)) sched_yield();
    atomic_fetch_sub(&held, 1);
}

static void wait_for_held(int count)
{
    while (atomic_load(&held) != count) usleep(100);
}

static bool meet_without(weft_pool *pool, pthread_t late)
{
    usleep(20000);
    atomic_store(&released, false);
    assert_int_equal(pthread_kill(late, SIGPROF), 0);
    wait_for_held(1);
    bool met = try_meeting(pool, GUESTS - 3, GUESTS);
    atomic_store(&released, true);
    wait_for_held(0);
    return met;
}

/* A thread is called and does not come: whichever it is, the others meet. Two may still be looking for what is left of
 * the job before, and find their shares taken. */
static void a_late_thread_holds_back_nobody(void **state)
{
    (void)state;
    const struct sigaction lingering = {.sa_handler = linger};
    struct sigaction before;
    struct meeting meeting = {.threads = GUESTS, .control = control_word(), .until = time(NULL) + PATIENCE};
    if (WEFT_TEST_THREAD) skip(); /* which calls handlers when it sees fit */
    assert_int_equal(sigaction(SIGPROF, &lingering, &before), 0);
    weft_pool *pool = create(GUESTS);
    weft_pool_run(pool, GUESTS, 1, sign, &meeting);
    if (atomic_load(&meeting.failed)) fail_msg("fewer than %d threads came in %d seconds", GUESTS, PATIENCE);
    for (int i = 0; i < GUESTS; i++)
        if (!pthread_equal(guests[i], pthread_self()) && !meet_without(pool, guests[i]))
            fail_msg("without thread %d others did not come", i);
    weft_pool_destroy(pool);
    assert_int_equal(sigaction(SIGPROF, &before, NULL), 0);
}

/* A forked child has none of them. */
static void threads_that_do_not_come_are_not_waited_for(void **state)
{
    (void)state;
    struct visits visits;
    int result = -1;
    if (WEFT_TEST_THREAD) skip(); /* which does not follow the threads of a forked child */
    weft_pool *pool = create(3);
    hold_meeting(pool, 2);
    pid_t child = fork();
    if (child == 0) {
        alarm(120);
        init_visits(&visits, pool, MOST, 1);
        weft_pool_run(pool, MOST, 1, visit, &visits);
        weft_pool_destroy(pool);
        _exit(memchr(visits.seen, 0, MOST) == NULL && atomic_load(&visits.calls) == 12 ? 0 : 1);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    weft_pool_destroy(pool);
}

static void workers_take_the_callers_control_word(void **state)
{
    (void)state;
#if defined(__SSE__)
    enum { FLUSH_DENORMALS = 0x8040, TOWARD_ZERO = 0x6000 };
    static const unsigned changes[] = {FLUSH_DENORMALS, 0, TOWARD_ZERO, 0};
    unsigned before = _mm_getcsr();
    weft_pool *pool = create(2);
    for (int i = 0; i < 4; i++) {
        _mm_setcsr(before | changes[i]);
        hold_meeting(pool, 2);
        _mm_setcsr(before);
    }
    weft_pool_destroy(pool);
#else
    skip();
#endif
}

/* ---- nested and concurrent jobs ---- */

static atomic_int nested_calls, nested_foreign;

struct nest {
    weft_pool *inner;
    atomic_int wrong;
};

struct inner_run {
    pthread_t owner;
    int64_t sum;
};

static void add_up(void *context, int64_t begin, int64_t end)
{
    struct inner_run *run = context;
    if (!pthread_equal(run->owner, pthread_self())) atomic_fetch_add(&nested_foreign, 1);
    atomic_fetch_add(&nested_calls, 1);
    for (int64_t i = begin; i < end; i++) run->sum += i;
}

static void run_inner(void *context, int64_t begin, int64_t end)
{
    struct nest *nest = context;
    for (int64_t i = begin; i < end; i++) {
        struct inner_run run = {pthread_self(), 0};
        weft_pool_run(nest->inner, 100, 1, add_up, &run);
        if (run.sum != 4950) atomic_fetch_add(&nest->wrong, 1);
    }
}

static void a_job_inside_a_job_is_serial(void **state)
{
    (void)state;
    weft_pool *outer = create(3), *other = create(2);
    weft_pool *inner[] = {outer, other};
    for (int i = 0; i < 2; i++) {
        struct nest nest = {inner[i], 0};
        atomic_store(&nested_calls, 0);
        atomic_store(&nested_foreign, 0);
        weft_pool_run(outer, 40, 1, run_inner, &nest);
        assert_int_equal(atomic_load(&nest.wrong), 0);
        assert_int_equal(atomic_load(&nested_foreign), 0);
        assert_int_equal(atomic_load(&nested_calls), 40);
    }
    weft_pool_destroy(outer);
    weft_pool_destroy(other);
}

static void *run_often(void *argument)
{
    weft_pool *pool = argument;
    struct visits visits;
    for (int i = 0; i < 200; i++) {
        init_visits(&visits, pool, MOST, 10);
        weft_pool_run(pool, MOST, 10, visit, &visits);
        for (int k = 0; k < MOST; k++)
            if (visits.seen[k] != 1) return pool;
    }
    return NULL;
}

static void many_callers_share_one_pool(void **state)
{
    (void)state;
    pthread_t threads[4];
    weft_pool *pool = create(3);
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, run_often, pool), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    weft_pool_destroy(pool);
}

/* Holds the pool's only job until told to stop. */
struct blocker {
    weft_pool *pool;
    atomic_bool running, stop;
};

static void block(void *context, int64_t begin, int64_t end)
{
    struct blocker *blocker = context;
    (void)begin;
    (void)end;
    atomic_store(&blocker->running, true);
    while (!atomic_load(&blocker->stop)) sched_yield();
}

static void *hold(void *argument)
{
    struct blocker *blocker = argument;
    weft_pool_run(blocker->pool, 2, 1, block, blocker);
    return NULL;
}

static void a_busy_pool_is_not_waited_for(void **state)
{
    (void)state;
    struct blocker blocker = {.pool = create(2)};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, hold, &blocker), 0);
    while (!atomic_load(&blocker.running)) sched_yield();
    struct visits visits;
    init_visits(&visits, blocker.pool, MOST, 1);
    weft_pool_run(blocker.pool, MOST, 1, visit, &visits);
    atomic_store(&blocker.stop, true);
    pthread_join(thread, NULL);
    check_visits(&visits);
    assert_int_equal(atomic_load(&visits.calls), 1);
    assert_int_equal(atomic_load(&visits.foreign_calls), 0);
    weft_pool_destroy(blocker.pool);
}

/* Though a job of another thread was under way. */
static void a_child_has_a_pool_of_its_own(void **state)
{
    (void)state;
    if (WEFT_TEST_THREAD) skip(); /* which does not follow the threads of a forked child */
    struct blocker blocker = {.pool = create(2)};
    pthread_t thread;
    int result = -1;
    hold_meeting(blocker.pool, 2);
    assert_int_equal(pthread_create(&thread, NULL, hold, &blocker), 0);
    while (!atomic_load(&blocker.running)) sched_yield();
    pid_t child = fork();
    if (child == 0) {
        alarm(120);
        for (int i = 0; i < 20; i++) hold_meeting(blocker.pool, 2);
        weft_pool_destroy(blocker.pool);
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    atomic_store(&blocker.stop, true);
    pthread_join(thread, NULL);
    hold_meeting(blocker.pool, 2);
    weft_pool_destroy(blocker.pool);
}

/* ---- making ---- */

static weft_status *create_and_destroy(const weft_allocator *allocator, void *context)
{
    weft_pool *pool;
    (void)context;
    WEFT_TRY(weft_pool_create(allocator, weft_machine_reference(), 2, &pool));
    weft_pool_destroy(pool);
    return NULL;
}

static void sizes_are_checked(void **state)
{
    (void)state;
    weft_pool *pool = create(0);
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    assert_int_equal(weft_pool_size(pool), CPU_COUNT(&set));
    weft_pool_destroy(pool);
    pool = create(7);
    assert_int_equal(weft_pool_size(pool), 7);
    weft_pool_destroy(pool);
    weft_pool_destroy(NULL);
    weft_test_fails(weft_pool_create(NULL, weft_machine_reference(), SIZE_MAX, &pool), WEFT_OUT_OF_RANGE,
                    "limit of 1024");
    assert_int_equal(weft_test_fail_each(create_and_destroy, NULL), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_cover_everything_once),
        cmocka_unit_test(small_work_stays_on_the_callers_thread),
        cmocka_unit_test(jobs_use_several_threads),
        cmocka_unit_test(sleeping_threads_are_woken),
        cmocka_unit_test(threads_wake_apart),
        cmocka_unit_test(many_threads_are_woken),
        cmocka_unit_test(a_late_thread_holds_back_nobody),
        cmocka_unit_test(threads_that_do_not_come_are_not_waited_for),
        cmocka_unit_test(a_job_inside_a_job_is_serial),
        cmocka_unit_test(many_callers_share_one_pool),
        cmocka_unit_test(a_busy_pool_is_not_waited_for),
        cmocka_unit_test(a_child_has_a_pool_of_its_own),
        cmocka_unit_test(workers_take_the_callers_control_word),
        cmocka_unit_test(sizes_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
