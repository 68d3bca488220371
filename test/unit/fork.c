/* SPDX-License-Identifier: Apache-2.0 */
/* What a process and its forked children do to each other: nothing. An argument N forks N times beside threads. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/einsum.h>
#include <weft/weft.h>
#include "test/support.h"

enum { ROWS = 16, WIDTH = 16, LONG = 200000, PATIENCE = 120 };

static int forks = 25;

static weft_executor *executor;

static void open_executor(unsigned threads)
{
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = threads}, &executor));
    weft_test_ok(weft_executor_register_extension(executor, weft_einsum_extension()));
}

/* ---- programs over f32[n], each with a kernel of its own; they may run in threads and children, so no asserts ---- */

static weft_status *compile(int number, weft_program **out_program)
{
    weft_graph *graph;
    WEFT_TRY(weft_graph_create(NULL, &graph));
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(weft_symbol(graph, "n", 1, 1 << 20)));
    weft_tensor y = weft_add(x, weft_scalar(graph, WEFT_F32, number));
    weft_status *status = weft_compile(graph, WEFT_TENSORS(y), NULL, out_program);
    weft_graph_destroy(graph);
    return status;
}

static weft_status *check(weft_program *program, int number, int64_t count)
{
    weft_array *x, *y = NULL;
    WEFT_TRY(weft_array_create(NULL, WEFT_F32, 1, &count, &x));
    float *data = weft_array_data(x);
    for (int64_t i = 0; i < count; i++) data[i] = (float)(i % 1000);
    weft_status *status = weft_executor_run(
        executor, program, &(weft_run){.input_count = 1, .inputs = &x, .output_count = 1, .outputs = &y});
    for (int64_t i = 0; status == NULL && i < count; i++)
        if (((const float *)weft_array_data(y))[i] != data[i] + (float)number)
            status = weft_status_create(NULL, WEFT_INTERNAL, "test", "program %d: element %d is wrong", number, (int)i);
    weft_array_release(x);
    weft_array_release(y);
    return status;
}

static weft_status *check_new(int number, int64_t count)
{
    weft_program *program;
    WEFT_TRY(compile(number, &program));
    weft_status *status = check(program, number, count);
    weft_program_release(program);
    return status;
}

/* A product of matrices of ones, planned and run by the extension. */
static weft_status *check_product(const char *expression)
{
    const int64_t shape[] = {ROWS, WIDTH};
    weft_array *operands[2] = {NULL}, *result = NULL;
    weft_status *status = weft_array_create(NULL, WEFT_F64, 2, shape, &operands[0]);
    if (status == NULL) status = weft_array_create(NULL, WEFT_F64, 2, shape, &operands[1]);
    for (int i = 0; status == NULL && i < 2 * ROWS * WIDTH; i++)
        ((double *)weft_array_data(operands[i % 2]))[i / 2] = 1;
    if (status == NULL) status = weft_einsum_arrays(executor, expression, 2, operands, NULL, &result);
    if (status == NULL && ((const double *)weft_array_data(result))[0] != WIDTH)
        status = weft_status_create(NULL, WEFT_INTERNAL, "test", "a product is wrong");
    for (int i = 0; i < 2; i++) weft_array_release(operands[i]);
    weft_array_release(result);
    return status;
}

/* ---- children ---- */

static pid_t start(weft_status *(*body)(void *), void *argument)
{
    fflush(stdout);
    pid_t child = fork();
    if (child != 0) return child;
    alarm(PATIENCE);
    weft_status *status = body(argument);
    if (status != NULL) fprintf(stderr, "in a child: %s\n", weft_status_message(status));
    _exit(status == NULL ? 0 : 1);
}

static void end(pid_t child)
{
    int result = -1;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
}

static void run_child(weft_status *(*body)(void *), void *argument)
{
    end(start(body, argument));
}

static weft_status *destroy(void *argument)
{
    (void)argument;
    weft_executor_destroy(executor);
    return NULL;
}

static void a_child_may_destroy_the_executor(void **state)
{
    (void)state;
    weft_program *program;
    open_executor(2);
    weft_test_ok(compile(1, &program));
    weft_test_ok(check(program, 1, LONG));
    run_child(destroy, NULL);
    weft_test_ok(check(program, 1, LONG));
    weft_test_ok(check_new(2, WIDTH));
    weft_program_release(program);
    weft_executor_destroy(executor);
}

/* Two pipes, so that both sides work in turn. */
struct turns {
    int to_child[2], to_parent[2];
    weft_program *shared;
};

static void pass(const int pipe[2])
{
    assert_int_equal(write(pipe[1], "x", 1), 1);
}

static bool wait_for(const int pipe[2])
{
    char byte;
    return read(pipe[0], &byte, 1) == 1;
}

static weft_status *compile_in_turn(void *argument)
{
    struct turns *turns = argument;
    weft_program *own;
    WEFT_TRY(compile(100, &own));
    for (int i = 0; i < 10; i++) {
        if (!wait_for(turns->to_child)) return weft_status_create(NULL, WEFT_INTERNAL, "test", "the parent is gone");
        WEFT_TRY(check(own, 100, WIDTH));
        WEFT_TRY(check_new(101 + i, LONG));
        WEFT_TRY(check(turns->shared, 1, LONG));
        pass(turns->to_parent);
    }
    return NULL;
}

static void both_sides_compile_in_turn(void **state)
{
    (void)state;
    struct turns turns;
    weft_program *own;
    open_executor(2);
    weft_test_ok(compile(1, &turns.shared));
    weft_test_ok(compile(200, &own));
    weft_test_ok(check(turns.shared, 1, LONG));
    assert_int_equal(pipe(turns.to_child), 0);
    assert_int_equal(pipe(turns.to_parent), 0);
    pid_t child = start(compile_in_turn, &turns);
    for (int i = 0; i < 10; i++) {
        weft_test_ok(check_new(201 + i, LONG));
        pass(turns.to_child);
        assert_true(wait_for(turns.to_parent));
        weft_test_ok(check(own, 200, WIDTH));
        weft_test_ok(check(turns.shared, 1, LONG));
    }
    end(child);
    for (int i = 0; i < 2; i++) {
        close(turns.to_child[i]);
        close(turns.to_parent[i]);
    }
    weft_program_release(own);
    weft_program_release(turns.shared);
    weft_executor_destroy(executor);
}

/* The `depth`-th child of a child. */
static weft_status *descend(void *argument)
{
    int depth = *(int *)argument;
    WEFT_TRY(check_new(10 + depth, LONG));
    WEFT_TRY(check_product("ij,kj->ik"));
    if (depth == 3) return destroy(NULL);
    int next = depth + 1, result;
    pid_t child = start(descend, &next);
    if (child < 0 || waitpid(child, &result, 0) != child || result != 0)
        return weft_status_create(NULL, WEFT_INTERNAL, "test", "child %d failed", next);
    return check_new(20 + depth, LONG);
}

static void children_have_children(void **state)
{
    (void)state;
    open_executor(2);
    weft_test_ok(descend(&(int){0}));
    weft_executor_destroy(executor);
}

/* ---- forks beside threads ---- */

static atomic_bool over;
static weft_program *common;

/* Threads 0 and 1 compile all the time, the others run what is compiled. */
static void *work(void *argument)
{
    int number = *(int *)argument;
    weft_status *status = NULL;
    for (int i = 0; status == NULL && !atomic_load(&over); i++) {
        if (number == 0) status = check_new(1000 + i, 1 + i % LONG);
        else if (number == 1) status = check_product(i % 2 == 0 ? "ab,cb->ac" : "ab,cb->ca");
        else status = check(common, 1, i % 3 == 0 ? LONG : 1 + i % 100);
        if (i % 50 == 49) weft_executor_clear(executor);
    }
    return status;
}

static weft_status *use_all(void *argument)
{
    int number = *(int *)argument;
    WEFT_TRY(check(common, 1, LONG));
    WEFT_TRY(check_new(500000 + number, LONG));
    WEFT_TRY(check_product("xy,zy->xz"));
    return destroy(NULL);
}

static void forks_beside_threads(void **state)
{
    (void)state;
    /* The allocator of ASan does not unlock itself for a child: it may wait forever for what another thread held. */
    if (WEFT_TEST_ADDRESS) skip();
    enum { THREADS = 5 };
    pthread_t threads[THREADS];
    int numbers[THREADS];
    open_executor(3);
    weft_test_ok(compile(1, &common));
    atomic_store(&over, false);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &numbers[i]), 0);
    }
    for (int i = 0; i < forks; i++) {
        usleep((useconds_t)(3000 + i * 731 % 7000));
        run_child(use_all, &i);
    }
    atomic_store(&over, true);
    for (int i = 0; i < THREADS; i++) {
        void *status;
        pthread_join(threads[i], &status);
        weft_test_ok(status);
    }
    weft_program_release(common);
    weft_executor_destroy(executor);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forks_beside_threads), /* first: LLVM itself is being loaded */
        cmocka_unit_test(a_child_may_destroy_the_executor),
        cmocka_unit_test(both_sides_compile_in_turn),
        cmocka_unit_test(children_have_children),
    };
    if (WEFT_TEST_THREAD) return 77; /* the sanitizer follows no threads of forked children */
    if (argc > 1) forks = atoi(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
