/* SPDX-License-Identifier: Apache-2.0 */
/* A cached call into the caller's arrays takes no lock, however many small kernels it runs and threads there are. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <weft/weft.h>
#include "test/support.h"

enum { EXTENT = 16, KERNELS = 5, CALLS = 1000 };

static atomic_long locks;

/* In place of the C library's, for the libraries too. */
static int call_next(const char *name, void *lock)
{
    int (*next)(void *);
    *(void **)&next = dlsym(RTLD_NEXT, name);
    atomic_fetch_add(&locks, 1);
    return next(lock);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    return call_next("pthread_mutex_lock", mutex);
}

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    return call_next("pthread_mutex_trylock", mutex);
}

int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
    return call_next("pthread_rwlock_rdlock", lock);
}

int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
    return call_next("pthread_rwlock_wrlock", lock);
}

static weft_program *compile(void)
{
    weft_graph *graph;
    weft_program *program;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(weft_symbol(graph, "n", 1, 1000)));
    for (int i = 0; i < KERNELS; i++) x = weft_cumsum(x, 0, false, false);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(x), NULL, &program));
    weft_graph_destroy(graph);
    return program;
}

static void test_cached_calls(void **state)
{
    (void)state;
    static float data[EXTENT] = {1};
    weft_program *program = compile();
    for (unsigned threads = 1; threads <= 2; threads++) {
        const weft_executor_options options = {.threads = threads, .specialize_after = WEFT_SPECIALIZE_NEVER};
        weft_executor *executor;
        weft_array *x, *y = NULL;
        weft_report report;
        weft_test_ok(weft_executor_create_standard(&options, &executor));
        weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 1, (int64_t[]){EXTENT}, NULL, data, NULL, NULL, &x));
        weft_run run = {.input_count = 1, .inputs = &x, .output_count = 1, .outputs = &y, .report = &report};
        weft_test_ok(weft_executor_run(executor, program, &run));
        assert_int_equal(report.steps, KERNELS);
        weft_test_ok(weft_executor_run(executor, program, &run));
        long before = atomic_load(&locks);
        assert_true(before > 0);
        run.report = NULL;
        for (int i = 0; i < CALLS; i++) weft_test_ok(weft_executor_run(executor, program, &run));
        assert_int_equal(atomic_load(&locks), before);
        weft_array_release(x);
        weft_array_release(y);
        weft_executor_destroy(executor);
    }
    weft_program_release(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cached_calls)};
    return cmocka_run_group_tests_name("locks", tests, NULL, NULL);
}
