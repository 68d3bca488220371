/* SPDX-License-Identifier: Apache-2.0 */
/* Code that is optimised after it first ran: same bits, at any time, in any thread, in a child, without memory. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/weft.h>
#include "runtime/run/executor.h"
#include "test/support.h"

enum { ROWS = 37, COLUMNS = 53, KERNELS = 5, THREADS = 4, ROUNDS = 400, PATIENCE = 120 };

/* Some kernels of different shapes: functions, a reduction, a scan, a movement, a product. */
static weft_status *compile(weft_program **out_program)
{
    weft_graph *graph;
    WEFT_TRY(weft_graph_create(NULL, &graph));
    weft_extent n = weft_symbol(graph, "n", 1, 1000);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(n, COLUMNS));
    weft_tensor y[KERNELS] = {weft_tanh(weft_mul(x, x)), weft_softmax(x, 1), weft_cumsum(x, 1, false, false),
                              weft_transpose(weft_exp(x), 0, 1), weft_matmul(x, weft_transpose(x, 0, 1))};
    weft_status *status = weft_compile(graph, (weft_tensors){KERNELS, y}, NULL, out_program);
    weft_graph_destroy(graph);
    return status;
}

static weft_array *make_input(void)
{
    weft_array *x;
    const int64_t shape[] = {ROWS, COLUMNS};
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 2, shape, &x));
    float *data = weft_array_data(x);
    for (int i = 0; i < ROWS * COLUMNS; i++) data[i] = (float)((i * 7919) % 1009) / 300 - 1.5f;
    return x;
}

static weft_status *run(weft_executor *executor, weft_program *program, weft_array *x, weft_array **out_arrays)
{
    return weft_executor_run(
        executor, program, &(weft_run){.input_count = 1, .inputs = &x, .output_count = KERNELS, .outputs = out_arrays});
}

static bool same_bits(weft_array *const *a, weft_array *const *b)
{
    for (int i = 0; i < KERNELS; i++) {
        size_t bytes = (size_t)weft_array_count(a[i]) * sizeof(float);
        if (memcmp(weft_array_data(a[i]), weft_array_data(b[i]), bytes) != 0) return false;
    }
    return true;
}

static void release(weft_array **arrays)
{
    for (int i = 0; i < KERNELS; i++) weft_array_release(arrays[i]);
}

/* What code that is optimised at once computes. */
typedef struct bench {
    weft_program *program;
    weft_array *x, *expected[KERNELS];
    uint64_t kernels;
} bench;

static weft_executor *open_executor(weft_code_policy code)
{
    weft_executor *executor;
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 2, .code = code}, &executor));
    return executor;
}

static weft_executor_counters counters_of(const weft_executor *executor)
{
    weft_executor_counters counters = {.size = sizeof counters};
    weft_executor_counters_read(executor, &counters);
    return counters;
}

static bench open_bench(void)
{
    bench b = {.x = make_input()};
    weft_test_ok(compile(&b.program));
    weft_executor *executor = open_executor(WEFT_CODE_OPTIMIZED);
    weft_test_ok(run(executor, b.program, b.x, b.expected));
    b.kernels = counters_of(executor).kernels_compiled;
    assert_true(b.kernels >= KERNELS - 1);
    assert_int_equal(counters_of(executor).background_waiting, 0);
    assert_int_equal(counters_of(executor).kernels_optimized, 0);
    weft_executor_destroy(executor);
    return b;
}

static void close_bench(bench *b)
{
    release(b->expected);
    weft_array_release(b->x);
    weft_program_release(b->program);
}

static weft_status *try_run(const bench *b, weft_executor *executor)
{
    weft_array *got[KERNELS] = {NULL};
    WEFT_TRY(run(executor, b->program, b->x, got));
    bool same = same_bits(got, b->expected);
    release(got);
    return same ? NULL : weft_status_create(NULL, WEFT_INTERNAL, "test", "other bits");
}

static void kernels_are_optimised_after_they_ran(void **state)
{
    (void)state;
    bench b = open_bench();
    weft_executor *executor = open_executor(WEFT_CODE_TIERED);
    weft_background_hold(executor->background);
    weft_test_ok(try_run(&b, executor));
    weft_test_ok(try_run(&b, executor));
    assert_int_equal(counters_of(executor).kernels_compiled, b.kernels);
    assert_int_equal(counters_of(executor).background_waiting, b.kernels);
    assert_int_equal(counters_of(executor).kernels_optimized, 0);
    weft_background_resume(executor->background);
    weft_executor_settle(executor);
    assert_int_equal(counters_of(executor).background_waiting, 0);
    assert_int_equal(counters_of(executor).kernels_optimized, b.kernels);
    weft_test_ok(try_run(&b, executor));
    assert_int_equal(counters_of(executor).kernels_compiled, b.kernels);
    weft_executor_destroy(executor);
    close_bench(&b);
}

static void quick_code_stays(void **state)
{
    (void)state;
    bench b = open_bench();
    weft_executor *executor = open_executor(WEFT_CODE_QUICK);
    weft_test_ok(try_run(&b, executor));
    assert_int_equal(counters_of(executor).background_waiting, 0);
    weft_executor_settle(executor);
    assert_int_equal(counters_of(executor).kernels_optimized, 0);
    weft_test_ok(try_run(&b, executor));
    weft_executor_destroy(executor);
    close_bench(&b);
}

static void what_waits_may_be_dropped(void **state)
{
    (void)state;
    bench b = open_bench();
    for (int cleared = 0; cleared < 2; cleared++) {
        weft_executor *executor = open_executor(WEFT_CODE_TIERED);
        weft_background_hold(executor->background);
        weft_test_ok(try_run(&b, executor));
        if (cleared) weft_executor_clear(executor);
        assert_int_equal(counters_of(executor).background_waiting, cleared ? 0 : b.kernels);
        weft_background_resume(executor->background);
        if (cleared) weft_test_ok(try_run(&b, executor));
        weft_executor_destroy(executor);
    }
    close_bench(&b);
}

/* ---- threads ---- */

struct worker {
    const bench *b;
    weft_executor *executor;
    weft_status *status;
    pthread_t thread;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (int i = 0; i < ROUNDS && worker->status == NULL; i++) worker->status = try_run(worker->b, worker->executor);
    return NULL;
}

static void runs_switch_over(void **state)
{
    (void)state;
    bench b = open_bench();
    struct worker workers[THREADS];
    weft_executor *executor = open_executor(WEFT_CODE_TIERED);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.b = &b, .executor = executor};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        weft_test_ok(workers[i].status);
    }
    weft_executor_settle(executor);
    assert_int_equal(counters_of(executor).kernels_optimized, b.kernels);
    weft_executor_destroy(executor);
    close_bench(&b);
}

/* ---- children ---- */

static int run_child(const bench *b, weft_executor *executor)
{
    alarm(PATIENCE);
    weft_status *status = try_run(b, executor);
    weft_executor_settle(executor);
    if (status == NULL) status = try_run(b, executor);
    bool good = status == NULL && counters_of(executor).kernels_optimized == b->kernels;
    if (status != NULL) fprintf(stderr, "in a child: %s\n", weft_status_message(status));
    weft_executor_destroy(executor);
    return good ? 0 : 1;
}

/* A child optimises what waited, also while the thread of its parent is at it. */
static void a_child_goes_on(void **state)
{
    (void)state;
    if (WEFT_TEST_THREAD) skip(); /* the sanitizer allows no threads in a child */
    bench b = open_bench();
    for (int held = 0; held < 2; held++) {
        weft_executor *executor = open_executor(WEFT_CODE_TIERED);
        if (held) weft_background_hold(executor->background);
        weft_test_ok(try_run(&b, executor));
        fflush(stdout);
        int result = -1;
        pid_t child = fork();
        if (child == 0) _exit(run_child(&b, executor));
        assert_int_equal(waitpid(child, &result, 0), child);
        assert_int_equal(result, 0);
        if (held) weft_background_resume(executor->background);
        weft_executor_settle(executor);
        assert_int_equal(counters_of(executor).kernels_optimized, b.kernels);
        weft_executor_destroy(executor);
    }
    close_bench(&b);
}

/* ---- the end ---- */

static weft_executor *left; /* where a leak checker finds them */
static bench kept;

typedef enum ending { MAIN_RUNS, WORKER_RUNS, WORKER_EXITS, WORKER_FORKS, ENDINGS } ending;

struct end {
    const bench *b;
    ending how;
    weft_status *status;
};

static void *run_and_end(void *argument)
{
    struct end *end = argument;
    end->status = try_run(end->b, left);
    if (end->how == WORKER_EXITS) exit(end->status == NULL ? 0 : 1);
    if (end->how != WORKER_FORKS || end->status != NULL) return NULL;
    int result = -1;
    pid_t child = fork();
    if (child == 0) exit(try_run(end->b, left) == NULL ? 0 : 1);
    bool fine = waitpid(child, &result, 0) == child && result == 0;
    if (!fine)
        end->status = weft_status_create(NULL, WEFT_INTERNAL, "test", "a child of a worker ended with %d", result);
    return NULL;
}

static void run_to_the_end(const bench *b, ending how, unsigned microseconds)
{
    struct end end = {b, how, NULL};
    pthread_t worker;
    alarm(PATIENCE);
    left = open_executor(WEFT_CODE_TIERED);
    if (how == MAIN_RUNS) run_and_end(&end);
    else if (pthread_create(&worker, NULL, run_and_end, &end) != 0 || pthread_join(worker, NULL) != 0) exit(2);
    if (end.status != NULL) fprintf(stderr, "%s\n", weft_status_message(end.status));
    usleep(microseconds);
    exit(end.status == NULL ? 0 : 1);
}

/* Whichever thread ran, or ends it, and whatever the background is at then. */
static void a_process_may_end(void **state)
{
    (void)state;
    if (WEFT_TEST_THREAD) skip(); /* the sanitizer allows no threads in a child */
    enum { TIMES = 5, MICROSECONDS = 3000 };
    kept = open_bench();
    for (int i = 0; i < TIMES * ENDINGS; i++) {
        /* What the C library has for the first thread is lost in a child of another one. */
        if (WEFT_TEST_ADDRESS && i % ENDINGS == WORKER_FORKS) continue;
        fflush(stdout);
        int result = -1;
        pid_t child = fork();
        if (child == 0) run_to_the_end(&kept, (ending)(i % ENDINGS), (unsigned)(i / ENDINGS) * MICROSECONDS);
        assert_int_equal(waitpid(child, &result, 0), child);
        assert_int_equal(result, 0);
    }
    close_bench(&kept);
    kept = (bench){.program = NULL};
}

/* ---- memory ---- */

struct failing {
    weft_program *program;
    weft_array *x;
    size_t slow; /* kernels that found no memory to be optimised */
};

/* An allocation that fails in the background, or while a task is made, is no error of any run. */
static weft_status *run_tiered(const weft_allocator *allocator, void *context)
{
    struct failing *f = context;
    weft_executor *executor;
    weft_executor_options options = {.allocator = allocator, .threads = 1, .code = WEFT_CODE_TIERED};
    WEFT_TRY(weft_executor_create_standard(&options, &executor));
    weft_array *y = NULL;
    weft_status *status = weft_executor_run(
        executor, f->program, &(weft_run){.input_count = 1, .inputs = &f->x, .output_count = 1, .outputs = &y});
    weft_executor_settle(executor);
    if (status == NULL) f->slow += 1 - counters_of(executor).kernels_optimized;
    weft_array_release(y);
    weft_executor_destroy(executor);
    return status;
}

static void kernels_without_memory_stay(void **state)
{
    (void)state;
    weft_graph *graph;
    struct failing f = {.x = make_input()};
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor y = weft_neg(weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(ROWS, COLUMNS)));
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(y), NULL, &f.program));
    weft_graph_destroy(graph);
    weft_test_fail_each(run_tiered, &f);
    assert_true(f.slow > 0);
    weft_program_release(f.program);
    weft_array_release(f.x);
}

static void policies_are_checked(void **state)
{
    (void)state;
    weft_executor *executor;
    weft_test_fails(weft_executor_create_standard(&(weft_executor_options){.code = (weft_code_policy)3}, &executor),
                    WEFT_INVALID_ARGUMENT, "no policy 3 of code");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_optimised_after_they_ran),
        cmocka_unit_test(quick_code_stays),
        cmocka_unit_test(what_waits_may_be_dropped),
        cmocka_unit_test(runs_switch_over),
        cmocka_unit_test(a_child_goes_on),
        cmocka_unit_test(kernels_without_memory_stay),
        cmocka_unit_test(a_process_may_end),
        cmocka_unit_test(policies_are_checked),
    };
    return cmocka_run_group_tests_name("tiers", tests, NULL, NULL);
}
