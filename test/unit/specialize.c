/* SPDX-License-Identifier: Apache-2.0 */
/* Variants for extents and strides that are used often take over in the background: same bits, bounded, and nothing
 * waits. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/weft.h>
#include "runtime/run/executor.h"
#include "test/support.h"

enum { COLUMNS = 7, RESULTS = 3, AFTER = 3, THREADS = 4, ROUNDS = 300, PATIENCE = 120, LONGEST = 200 };

static weft_status *compile(int number, weft_program **out_program)
{
    weft_graph *graph;
    WEFT_TRY(weft_graph_create(NULL, &graph));
    weft_tensor x = weft_input(graph, "x", WEFT_F32,
                               WEFT_SHAPE(weft_symbol(graph, "n", 1, LONGEST), weft_symbol(graph, "m", 1, 1000)));
    x = weft_add(x, weft_scalar(graph, WEFT_F32, number));
    weft_tensor y[RESULTS] = {weft_softmax(x, 1), weft_transpose(weft_mul(x, x), 0, 1),
                              weft_concat(WEFT_TENSORS(x, weft_neg(x)), 1)};
    weft_status *status = weft_compile(graph, (weft_tensors){RESULTS, y}, NULL, out_program);
    weft_graph_destroy(graph);
    return status;
}

static weft_array *make_input(int64_t rows)
{
    weft_array *x;
    const int64_t shape[] = {rows, COLUMNS};
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 2, shape, &x));
    float *data = weft_array_data(x);
    for (int i = 0; i < rows * COLUMNS; i++) data[i] = (float)((i * 7919) % 1009) / 300 - 1.5f;
    return x;
}

static weft_status *run(weft_executor *executor, weft_program *program, weft_array *x, weft_array **out_arrays)
{
    return weft_executor_run(
        executor, program, &(weft_run){.input_count = 1, .inputs = &x, .output_count = RESULTS, .outputs = out_arrays});
}

static void release(weft_array **arrays)
{
    for (int i = 0; i < RESULTS; i++) weft_array_release(arrays[i]);
}

static weft_executor *open_executor(const weft_executor_options *options)
{
    weft_executor *executor;
    weft_test_ok(weft_executor_create_standard(options, &executor));
    return executor;
}

static weft_executor_counters counters_of(const weft_executor *executor)
{
    weft_executor_counters counters = {.size = sizeof counters};
    weft_executor_counters_read(executor, &counters);
    return counters;
}

/* A program and what it computes. */
typedef struct bench {
    weft_program *program;
    weft_array *x, *expected[RESULTS];
} bench;

static bench open_bench(int number, int64_t rows)
{
    bench b = {.x = make_input(rows)};
    weft_test_ok(compile(number, &b.program));
    weft_executor *executor = open_executor(&(weft_executor_options){.threads = 1});
    weft_test_ok(run(executor, b.program, b.x, b.expected));
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
    weft_array *got[RESULTS] = {NULL};
    bool same = true;
    WEFT_TRY(run(executor, b->program, b->x, got));
    for (int i = 0; i < RESULTS; i++)
        same &= memcmp(weft_array_data(got[i]), weft_array_data(b->expected[i]),
                       (size_t)weft_array_count(got[i]) * sizeof(float)) == 0;
    release(got);
    return same ? NULL : weft_status_create(NULL, WEFT_INTERNAL, "test", "other bits");
}

static void try_runs(const bench *b, weft_executor *executor, int times)
{
    for (int i = 0; i < times; i++) weft_test_ok(try_run(b, executor));
}

static void extents_that_are_used_often(void **state)
{
    (void)state;
    bench b = open_bench(1, 20), other = open_bench(1, 30);
    weft_executor *executor = open_executor(&(weft_executor_options){.threads = 2, .specialize_after = AFTER});
    try_runs(&b, executor, AFTER - 1);
    weft_executor_settle(executor);
    assert_int_equal(counters_of(executor).variants_specialized, 0);
    uint64_t kernels = counters_of(executor).kernels_compiled;
    weft_background_hold(executor->background);
    try_runs(&b, executor, 2 * AFTER);
    assert_int_equal(counters_of(executor).background_waiting, 1);
    weft_background_resume(executor->background);
    weft_executor_settle(executor);
    assert_int_equal(counters_of(executor).background_waiting, 0);
    assert_int_equal(counters_of(executor).variants_specialized, 1);
    assert_true(counters_of(executor).kernels_compiled > kernels);
    kernels = counters_of(executor).kernels_compiled;
    try_runs(&b, executor, 2 * AFTER);
    weft_executor_settle(executor);
    assert_int_equal(counters_of(executor).variants_specialized, 1);
    assert_int_equal(counters_of(executor).kernels_compiled, kernels);
    /* Of another program of the same text, whose variants are its own. */
    try_runs(&other, executor, AFTER - 1);
    weft_executor_settle(executor);
    assert_int_equal(counters_of(executor).variants_specialized, 1);
    weft_executor_destroy(executor);
    close_bench(&b);
    close_bench(&other);
}

/* Of a program without symbols, where arrays are not row-major. */
static void strides_that_are_used_often(void **state)
{
    (void)state;
    weft_graph *graph;
    weft_program *program;
    weft_executor *executor = open_executor(&(weft_executor_options){.threads = 1, .specialize_after = AFTER});
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(COLUMNS, 20));
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(weft_mul(x, weft_flip(x, WEFT_INTS(1)))), NULL, &program));
    weft_graph_destroy(graph);
    weft_array *rows = make_input(20), *columns, *same, *y = NULL, *expected = NULL;
    const int64_t shape[] = {COLUMNS, 20}, strides[] = {1, COLUMNS};
    weft_test_ok(weft_array_view(rows, 2, shape, strides, 0, &columns));
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 2, shape, &same));
    weft_test_ok(weft_array_copy(same, columns));
    for (int strided = 0; strided < 2; strided++) {
        weft_run how = {.input_count = 1, .output_count = 1};
        how.inputs = strided ? &columns : &same;
        how.outputs = strided ? &y : &expected;
        for (int i = 0; i <= 2 * AFTER; i++) {
            weft_test_ok(weft_executor_run(executor, program, &how));
            if (i >= AFTER) weft_executor_settle(executor);
        }
        assert_int_equal(counters_of(executor).variants_specialized, strided);
    }
    assert_memory_equal(weft_array_data(y), weft_array_data(expected), COLUMNS * 20 * sizeof(float));
    weft_array *arrays[] = {rows, columns, same, y, expected};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) weft_array_release(arrays[i]);
    weft_executor_destroy(executor);
    weft_program_release(program);
}

/* By default it takes a hundred runs, and before that no thread. */
static void when_the_option_says_so(void **state)
{
    (void)state;
    enum { DEFAULT = 100 };
    bench b = open_bench(1, 20);
    for (int never = 0; never < 2; never++) {
        const weft_executor_options options = {.threads = 1, .specialize_after = never ? WEFT_SPECIALIZE_NEVER : 0};
        weft_executor *executor = open_executor(&options);
        try_runs(&b, executor, DEFAULT - 1);
        weft_executor_settle(executor);
        assert_int_equal(counters_of(executor).variants_specialized, 0);
        try_runs(&b, executor, ROUNDS);
        weft_executor_settle(executor);
        assert_int_equal(counters_of(executor).variants_specialized, !never);
        weft_executor_destroy(executor);
    }
    close_bench(&b);
}

/* The first run makes the outputs. */
static void run_rows(weft_executor *executor, weft_program *program, int64_t rows, int times)
{
    weft_array *x = make_input(rows), *got[RESULTS] = {NULL};
    for (int i = 0; i <= times; i++) weft_test_ok(run(executor, program, x, got));
    release(got);
    weft_array_release(x);
    weft_executor_settle(executor);
}

static void the_least_recently_used_go(void **state)
{
    (void)state;
    enum { CAPACITY = 2, SIZES = 5, OFTEN = 2 * AFTER };
    weft_program *program;
    const weft_executor_options options = {.threads = 1, .specialize_after = OFTEN, .specialized_capacity = CAPACITY};
    weft_executor *executor = open_executor(&options);
    weft_test_ok(compile(1, &program));
    run_rows(executor, program, 9, 0);
    uint64_t generic = weft_cache_counters_of(executor->kernels).entries;
    for (int i = 0; i < SIZES; i++) run_rows(executor, program, 10 + i, OFTEN);
    assert_int_equal(counters_of(executor).variants_specialized, SIZES);
    assert_int_equal(weft_cache_counters_of(executor->specialized).entries, CAPACITY);
    uint64_t each = (counters_of(executor).kernels_compiled - generic) / SIZES;
    assert_true(each > 0);
    assert_int_equal(weft_cache_counters_of(executor->kernels).entries, generic + CAPACITY * each);
    /* The last is there; the first, which finds its variant gone, waits for twice as many runs. */
    run_rows(executor, program, 10 + SIZES - 1, OFTEN);
    run_rows(executor, program, 10, 2 * OFTEN - 1);
    assert_int_equal(counters_of(executor).variants_specialized, SIZES);
    run_rows(executor, program, 10, 2);
    assert_int_equal(counters_of(executor).variants_specialized, SIZES + 1);
    /* Cleared, it begins anew. */
    weft_executor_clear(executor);
    assert_int_equal(weft_cache_counters_of(executor->specialized).entries, 0);
    run_rows(executor, program, 10, OFTEN);
    assert_int_equal(counters_of(executor).variants_specialized, SIZES + 2);
    weft_executor_destroy(executor);
    weft_program_release(program);
}

/* Runs go on without them. */
static void those_too_large_are_not_kept(void **state)
{
    (void)state;
    bench b = open_bench(1, 20);
    const weft_executor_options options = {.threads = 1, .specialize_after = AFTER, .specialized_bytes = 1000};
    weft_executor *executor = open_executor(&options);
    try_runs(&b, executor, AFTER);
    weft_executor_settle(executor);
    assert_int_equal(counters_of(executor).variants_specialized, 1);
    assert_int_equal(weft_cache_counters_of(executor->specialized).entries, 0);
    try_runs(&b, executor, ROUNDS);
    weft_executor_settle(executor);
    assert_int_equal(counters_of(executor).variants_specialized, 1);
    weft_executor_destroy(executor);
    close_bench(&b);
}

/* An executor keeps 32 bindings of a variant; those that come again find what was built for them. */
static void dropped_bindings_come_again(void **state)
{
    (void)state;
    enum { SIZES = 40 };
    weft_program *program;
    const weft_executor_options options = {.threads = 1, .specialize_after = AFTER, .code = WEFT_CODE_QUICK};
    weft_executor *executor = open_executor(&options);
    weft_test_ok(compile(1, &program));
    for (int i = 0; i < SIZES; i++) run_rows(executor, program, 10 + i, AFTER);
    uint64_t hits = weft_cache_counters_of(executor->specialized).hits;
    run_rows(executor, program, 10, 2 * AFTER);
    assert_int_equal(counters_of(executor).variants_specialized, SIZES);
    assert_true(weft_cache_counters_of(executor->specialized).hits > hits);
    weft_executor_destroy(executor);
    weft_program_release(program);
}

/* The variant and the program may be gone from everywhere else when their turn comes. */
static void what_waits_outlives_its_variant(void **state)
{
    (void)state;
    bench b = open_bench(1, 20), other = open_bench(2, 20);
    for (int resumed = 0; resumed < 2; resumed++) {
        const weft_executor_options options = {.threads = 1, .specialize_after = AFTER, .variant_capacity = 1};
        weft_executor *executor = open_executor(&options);
        weft_background_hold(executor->background);
        weft_program *program;
        weft_test_ok(compile(3, &program));
        weft_array *got[RESULTS] = {NULL};
        for (int i = 0; i <= AFTER; i++) weft_test_ok(run(executor, program, b.x, got));
        release(got);
        weft_program_release(program);
        try_runs(&b, executor, AFTER);
        try_runs(&other, executor, AFTER);
        assert_int_equal(counters_of(executor).background_waiting, 3);
        if (resumed) {
            weft_background_resume(executor->background);
            weft_executor_settle(executor);
            assert_int_equal(counters_of(executor).variants_specialized, 2); /* one program is nobody's any more */
            try_runs(&other, executor, AFTER);
            try_runs(&b, executor, AFTER);
        }
        weft_executor_destroy(executor);
    }
    close_bench(&b);
    close_bench(&other);
}

/* ---- threads, children ---- */

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

static void threads_switch_over(void **state)
{
    (void)state;
    bench benches[2] = {open_bench(1, 20), open_bench(2, 30)};
    struct worker workers[THREADS];
    weft_executor *executor =
        open_executor(&(weft_executor_options){.threads = 2, .specialize_after = AFTER, .code = WEFT_CODE_TIERED});
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.b = &benches[i % 2], .executor = executor};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        weft_test_ok(workers[i].status);
    }
    weft_executor_settle(executor);
    assert_int_equal(counters_of(executor).variants_specialized, 2);
    weft_executor_destroy(executor);
    for (int i = 0; i < 2; i++) close_bench(&benches[i]);
}

static int run_child(const bench *b, weft_executor *executor)
{
    alarm(PATIENCE);
    weft_status *status = try_run(b, executor);
    weft_executor_settle(executor);
    if (status == NULL) status = try_run(b, executor);
    bool good = status == NULL && counters_of(executor).variants_specialized == 1;
    if (status != NULL) fprintf(stderr, "in a child: %s\n", weft_status_message(status));
    weft_executor_destroy(executor);
    return good ? 0 : 1;
}

static void a_child_goes_on(void **state)
{
    (void)state;
    if (WEFT_TEST_THREAD) skip(); /* the sanitizer allows no threads in a child */
    bench b = open_bench(1, 20);
    for (int held = 0; held < 2; held++) {
        weft_executor *executor = open_executor(&(weft_executor_options){.threads = 2, .specialize_after = AFTER});
        if (held) weft_background_hold(executor->background);
        try_runs(&b, executor, AFTER);
        fflush(stdout);
        int result = -1;
        pid_t child = fork();
        if (child == 0) _exit(run_child(&b, executor));
        assert_int_equal(waitpid(child, &result, 0), child);
        assert_int_equal(result, 0);
        if (held) weft_background_resume(executor->background);
        weft_executor_destroy(executor);
    }
    close_bench(&b);
}

/* ---- memory ---- */

struct failing {
    weft_program *program;
    weft_array *x;
    size_t generic; /* times that there was no memory to specialise */
};

/* A failure in the background is no error of any run. */
static weft_status *run_often(const weft_allocator *allocator, void *context)
{
    struct failing *f = context;
    weft_executor *executor;
    weft_array *y = NULL;
    const weft_executor_options options = {
        .allocator = allocator, .threads = 1, .specialize_after = 1, .code = WEFT_CODE_QUICK};
    WEFT_TRY(weft_executor_create_standard(&options, &executor));
    weft_run how = {.input_count = 1, .inputs = &f->x, .output_count = 1, .outputs = &y};
    weft_status *status = weft_executor_run(executor, f->program, &how);
    if (status == NULL) {
        weft_executor_settle(executor);
        f->generic += counters_of(executor).variants_specialized == 0;
        status = weft_executor_run(executor, f->program, &how);
    }
    weft_array_release(y);
    weft_executor_destroy(executor);
    return status;
}

static void without_memory_runs_stay_as_they_are(void **state)
{
    (void)state;
    weft_graph *graph;
    struct failing f = {.x = make_input(20)};
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor y = weft_neg(weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(weft_symbol(graph, "n", 1, 100), COLUMNS)));
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(y), NULL, &f.program));
    weft_graph_destroy(graph);
    weft_test_fail_each(run_often, &f);
    assert_true(f.generic > 0);
    weft_program_release(f.program);
    weft_array_release(f.x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extents_that_are_used_often),
        cmocka_unit_test(strides_that_are_used_often),
        cmocka_unit_test(when_the_option_says_so),
        cmocka_unit_test(the_least_recently_used_go),
        cmocka_unit_test(those_too_large_are_not_kept),
        cmocka_unit_test(dropped_bindings_come_again),
        cmocka_unit_test(what_waits_outlives_its_variant),
        cmocka_unit_test(threads_switch_over),
        cmocka_unit_test(a_child_goes_on),
        cmocka_unit_test(without_memory_runs_stay_as_they_are),
    };
    return cmocka_run_group_tests_name("specialize", tests, NULL, NULL);
}
