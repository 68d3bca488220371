/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every public function with NULL for each of its pointers, one at a time and all at once, also those inside of lists:
 * no call may crash, and one that returns a status has one when all are missing. One that traces leaves an error in the
 * graph, with the caller's source location, unless what is missing may be. nulls.py makes the table from the headers.
 */
#include "nulls.h"
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "test/support.h"

typedef struct function {
    const char *name;
    weft_status *(*call)(unsigned missing);
    unsigned count;  /* of what can be missing */
    unsigned graphs; /* the bits of what has a graph */
    enum { STATUS, TENSOR, ANY } kind;
} function;

/* What is not missing. */
static weft_graph *graph;
static weft_executor *executor;
static weft_program *program;
static weft_array *array;
static weft_module *module;
static weft_einsum_plan *plan;
static weft_queue *queue;
static weft_event *event;
static weft_eager *eager;
static weft_eager_array *eager_array;
static weft_tensor x;
static int64_t zeros[512], written[512];
static weft_tensor traced; /* by the last call that did */

#define IS_MISSING(i) ((missing & 1u << (i)) != 0)
#include "nulls_table.h"

enum { RIGHT = 0, ACCEPTED = 2, OTHER_CODE = 3, NO_ERROR = 4, NO_LOCATION = 5, WATCH = 120 };

static int judge_graph(void)
{
    const weft_status *error = weft_graph_error(graph);
    if (weft_tensor_is_valid(traced)) return RIGHT;
    if (error == NULL) return NO_ERROR;
    return strstr(weft_status_where(error), "nulls_table.h:") == NULL ? NO_LOCATION : RIGHT;
}

static int judge(const function *f, unsigned missing, bool all)
{
    weft_status *status = f->call(missing);
    if (f->kind == TENSOR && (f->graphs & ~missing) != 0) return judge_graph();
    if (f->kind != STATUS || !all || f->count == 0) return RIGHT;
    if (status == NULL) return ACCEPTED;
    return weft_status_code(status) == WEFT_INVALID_ARGUMENT ? RIGHT : OTHER_CODE;
}

static bool passes(const function *f, unsigned missing, bool all)
{
    static const char *const faults[] = {[ACCEPTED] = "succeeds",
                                         [OTHER_CODE] = "is not INVALID_ARGUMENT",
                                         [NO_ERROR] = "leaves no error",
                                         [NO_LOCATION] = "leaves an error without a location"};
    int result = -1;
    pid_t child = fork();
    if (child == 0) {
        static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
        for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) signal(crashes[i], SIG_DFL);
        alarm(WATCH);
        _exit(judge(f, missing, all));
    }
    if (child < 0 || waitpid(child, &result, 0) != child) return false;
    if (result == 0) return true;
    int code = WIFEXITED(result) ? WEXITSTATUS(result) : 0;
    print_error("%s without arguments 0x%x %s\n", f->name, missing,
                code >= ACCEPTED && code <= NO_LOCATION ? faults[code] : "ends the process");
    return false;
}

static void no_function_takes_null_badly(void **state)
{
    (void)state;
    size_t failures = 0, count = sizeof functions / sizeof *functions;
    assert_true(count > 200);
    for (size_t i = 0; i < count; i++) {
        const function *f = &functions[i];
        for (unsigned k = 0; k < f->count; k++) failures += !passes(f, 1u << k, f->count == 1);
        if (f->count != 1) failures += !passes(f, ~0u, true);
    }
    assert_int_equal(failures, 0);
}

/* Whichever operands are missing as long as there is one with a graph. */
static void an_error_sticks_wherever_there_is_a_graph(void **state)
{
    (void)state;
    size_t failures = 0, calls = 0;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const function *f = &functions[i];
        for (unsigned missing = 1; f->kind == TENSOR && missing < f->graphs; missing++) {
            if ((missing & ~f->graphs) != 0 || missing == f->graphs) continue;
            failures += !passes(f, missing, false);
            calls++;
        }
    }
    assert_true(calls > 100);
    assert_int_equal(failures, 0);
}

static int open_objects(void **state)
{
    char *text;
    (void)state;
    weft_test_ok(weft_graph_create(NULL, &graph));
    x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(4));
    weft_test_ok(weft_graph_print(WEFT_TENSORS(x), &text));
    weft_test_ok(weft_graph_parse("text", text, strlen(text), NULL, 0, NULL, &module));
    weft_text_destroy(text);
    weft_test_ok(weft_einsum_plan_create(NULL, "i->", 1, &WEFT_INTS(4), NULL, &plan));
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(weft_neg(x)), NULL, &program));
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 1}, &executor));
    weft_test_ok(weft_executor_register_extension(executor, weft_einsum_extension()));
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 1, (const int64_t[]){4}, &array));
    weft_test_ok(weft_queue_create(executor, NULL, &queue));
    weft_test_ok(weft_queue_copy(queue, array, array, &event));
    weft_test_ok(weft_eager_create(executor, NULL, &eager));
    eager_array = weft_eager_from(eager, array);
    return 0;
}

static int close_objects(void **state)
{
    (void)state;
    weft_eager_release(eager_array);
    weft_eager_destroy(eager);
    weft_event_release(event);
    weft_queue_destroy(queue);
    weft_array_release(array);
    weft_einsum_plan_destroy(plan);
    weft_module_destroy(module);
    weft_executor_destroy(executor);
    weft_program_release(program);
    weft_graph_destroy(graph);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_function_takes_null_badly),
                                       cmocka_unit_test(an_error_sticks_wherever_there_is_a_graph)};
    return cmocka_run_group_tests(tests, open_objects, close_objects);
}
