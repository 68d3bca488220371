/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support.h"
#include <pthread.h>
#include <string.h>
#include "test/fake.h"

/* Many threads on one executor. Run under the thread sanitizer too. */

enum { THREADS = 8, ROUNDS = 60, MOST = 40000, CROWD_ROUNDS = 3000 };

/* z = 2x through a temporary that holds x + x, so that arenas shared by mistake are found out. */
static void double_kernel(const weft_kernel_frame *frame, int64_t begin, int64_t end)
{
    int32_t *out = frame->buffers[0];
    const int32_t *x = frame->buffers[1];
    for (int64_t t = begin; t < end; t++) out[t] = (int32_t)frame->scalars[0] * x[t];
}

static const weft_kernel_code double_kernel_code = {.function = double_kernel};

static weft_status *add_step(weft_variant *variant, uint32_t out, uint32_t x, int64_t factor)
{
    uint32_t scalar;
    WEFT_TRY(weft_fake_value(variant, factor, &scalar));
    return weft_fake_step(variant,
                          (weft_step){.kind = WEFT_STEP_KERNEL,
                                      .name = "scale",
                                      .buffer_count = 2,
                                      .buffers = (uint32_t[]){out, x},
                                      .written = 1,
                                      .scalar_count = 1,
                                      .scalars = &scalar,
                                      .iterations = variant->buffers[0].extents[0],
                                      .work = scalar},
                          (weft_resolved){.code = &double_kernel_code});
}

static weft_status *fill_double(const weft_build_request *request, weft_variant *variant)
{
    (void)request;
    uint32_t temporary;
    WEFT_TRY(weft_fake_temporary(variant, WEFT_I32, 1, variant->buffers[0].extents, &temporary));
    WEFT_TRY(add_step(variant, temporary, 0, 3));
    return add_step(variant, 1, temporary, 2);
}

static weft_program *double_program(void)
{
    weft_program *program = weft_fake_program();
    uint32_t n = weft_fake_symbol(program, "n", 0, MOST);
    weft_fake_input(program, "x", WEFT_I32, 1, &n);
    weft_fake_output(program, "z", WEFT_I32, 1, &n);
    return program;
}

struct shared {
    weft_fake fake;
    weft_executor *executor;
    weft_program *programs[2];
    pthread_barrier_t barrier;
    atomic_int failed, succeeded;
};

struct worker {
    struct shared *shared;
    int number;
    pthread_t thread;
};

static weft_status *run_once(struct shared *shared, weft_program *program, int64_t count, int32_t seed)
{
    weft_array *x, *z = NULL;
    WEFT_TRY(weft_array_create(NULL, WEFT_I32, 1, &count, &x));
    int32_t *data = weft_array_data(x);
    for (int64_t i = 0; i < count; i++) data[i] = seed + (int32_t)i;
    weft_run run = {.input_count = 1, .inputs = &x, .output_count = 1, .outputs = &z};
    weft_status *status = weft_executor_run(shared->executor, program, &run);
    bool right = true;
    for (int64_t i = 0; status == NULL && i < count; i++)
        right &= ((const int32_t *)weft_array_data(z))[i] == 6 * (seed + (int32_t)i);
    weft_array_release(x);
    weft_array_release(z);
    return right ? status : weft_status_create(NULL, WEFT_INTERNAL, "test", "a result of %d is wrong", seed);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct shared *shared = worker->shared;
    pthread_barrier_wait(&shared->barrier);
    for (int i = 0; i < ROUNDS; i++) {
        int64_t count = i % 7 == 0 ? MOST - worker->number : (i * 37 + worker->number) % 50;
        weft_status *status = run_once(shared, shared->programs[i % 2], count, 1000 * worker->number + i);
        if (i % 20 == 19 && worker->number == 0) weft_executor_clear(shared->executor);
        if (weft_status_code(status) == WEFT_OK) atomic_fetch_add(&shared->succeeded, 1);
        else atomic_fetch_add(&shared->failed, 1);
        weft_status_destroy(status);
    }
    return NULL;
}

static void *work_once(void *argument)
{
    struct worker *worker = argument;
    struct shared *shared = worker->shared;
    pthread_barrier_wait(&shared->barrier);
    weft_status *status = run_once(shared, shared->programs[0], 10, worker->number);
    if (status == NULL) atomic_fetch_add(&shared->succeeded, 1);
    else if (weft_status_code(status) == WEFT_COMPILE_FAILED) atomic_fetch_add(&shared->failed, 1);
    weft_status_destroy(status);
    return NULL;
}

static void open_shared_with(struct shared *shared, const weft_executor_options *options)
{
    memset(shared, 0, sizeof *shared);
    weft_fake_init(&shared->fake, "fake", fill_double);
    weft_test_ok(weft_executor_create(options, &shared->executor));
    weft_test_ok(weft_executor_register_runtime(shared->executor, &shared->fake.runtime));
    for (int i = 0; i < 2; i++) shared->programs[i] = double_program();
    pthread_barrier_init(&shared->barrier, NULL, THREADS);
}

static void open_shared(struct shared *shared)
{
    open_shared_with(shared, &(weft_executor_options){.threads = 2});
}

static void close_shared(struct shared *shared)
{
    weft_executor_destroy(shared->executor);
    for (int i = 0; i < 2; i++) weft_program_release(shared->programs[i]);
    pthread_barrier_destroy(&shared->barrier);
}

static void run_all(struct shared *shared, void *(*body)(void *))
{
    struct worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.shared = shared, .number = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, body, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(workers[i].thread, NULL);
}

static void test_many_runs(void **state)
{
    (void)state;
    struct shared shared;
    open_shared(&shared);
    run_all(&shared, work);
    assert_int_equal(atomic_load(&shared.succeeded), THREADS * ROUNDS);
    close_shared(&shared);
}

static void test_one_build_for_all(void **state)
{
    (void)state;
    struct shared shared;
    open_shared(&shared);
    shared.fake.delay_us = 50000;
    run_all(&shared, work_once);
    assert_int_equal(atomic_load(&shared.succeeded), THREADS);
    assert_int_equal(atomic_load(&shared.fake.builds), 1);
    close_shared(&shared);
}

/* Whoever waits for a build that fails gets its error; whoever comes later tries again. */
static void test_failed_build(void **state)
{
    (void)state;
    struct shared shared;
    open_shared(&shared);
    shared.fake.delay_us = 200000;
    atomic_store(&shared.fake.failures, 1);
    run_all(&shared, work_once);
    assert_true(atomic_load(&shared.failed) > 1);
    assert_int_equal(atomic_load(&shared.failed) + atomic_load(&shared.succeeded), THREADS);
    weft_test_ok(run_once(&shared, shared.programs[0], 10, 1));
    assert_int_equal(atomic_load(&shared.fake.builds), 2);
    close_shared(&shared);
}

/* ---- dropped while it is used ---- */

enum { PROGRAMS = 50, EXTENTS = 40, FAMILIAR = 3 };

struct crowd {
    struct shared shared;
    weft_program *programs[PROGRAMS];
};

/* Most runs are of few programs and extents, others of any. Some threads drop what there is, or count it. */
static void *work_in_a_crowd(void *argument)
{
    struct worker *worker = argument;
    struct shared *shared = worker->shared;
    struct crowd *crowd = (struct crowd *)((char *)shared - offsetof(struct crowd, shared));
    unsigned random = (unsigned)worker->number + 1;
    weft_executor_counters counters = {.size = sizeof counters};
    pthread_barrier_wait(&shared->barrier);
    for (int i = 0; i < CROWD_ROUNDS; i++) {
        random = random * 1103515245 + 12345;
        bool any = (random >> 16) % 8 == 0;
        int program = (int)((random >> 20) % (any ? PROGRAMS : FAMILIAR));
        int64_t count = (int64_t)((random >> 10) % (any ? EXTENTS : FAMILIAR));
        weft_status *status = run_once(shared, crowd->programs[program], count, i);
        if (i % 200 == 199 && worker->number == 0) weft_executor_clear(shared->executor);
        if (i % 30 == 29 && worker->number == 1) weft_executor_counters_read(shared->executor, &counters);
        atomic_fetch_add(weft_status_code(status) == WEFT_OK ? &shared->succeeded : &shared->failed, 1);
        weft_status_destroy(status);
    }
    return NULL;
}

static void run_crowd(const weft_executor_options *options)
{
    struct crowd crowd;
    weft_test_allocator test;
    weft_executor_options own = *options;
    weft_executor_counters counters = {.size = sizeof counters};
    weft_test_allocator_init(&test, WEFT_TEST_NEVER);
    own.allocator = &test.allocator;
    open_shared_with(&crowd.shared, &own);
    for (int i = 0; i < PROGRAMS; i++) crowd.programs[i] = double_program();
    run_all(&crowd.shared, work_in_a_crowd);
    assert_int_equal(atomic_load(&crowd.shared.succeeded), THREADS * CROWD_ROUNDS);
    weft_executor_settle(crowd.shared.executor);
    weft_executor_counters_read(crowd.shared.executor, &counters);
    assert_int_equal(counters.variants.hits + counters.variants.misses, THREADS * CROWD_ROUNDS);
    assert_true(counters.variants.entries <= own.variant_capacity);
    close_shared(&crowd.shared);
    for (int i = 0; i < PROGRAMS; i++) weft_program_release(crowd.programs[i]);
    weft_test_allocator_check(&test);
}

static void test_crowd(void **state)
{
    (void)state;
    run_crowd(&(weft_executor_options){.threads = 2, .variant_capacity = 4});
}

static void test_crowd_specialized(void **state)
{
    (void)state;
    run_crowd(&(weft_executor_options){
        .threads = 2, .variant_capacity = 4, .specialize_after = 3, .specialized_capacity = 8});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_runs), cmocka_unit_test(test_one_build_for_all), cmocka_unit_test(test_failed_build),
        cmocka_unit_test(test_crowd),     cmocka_unit_test(test_crowd_specialized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
