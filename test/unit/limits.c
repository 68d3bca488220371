/* SPDX-License-Identifier: Apache-2.0 */
/* What a process that the system gives little can still do, and what it is told otherwise. Each case has a process of
 * its own, as limits cannot be taken back. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/weft.h>
#include "runtime/base/memory.h"
#include "test/support.h"

enum { COUNT = 1000, PATIENCE = 120 };

enum { SANITIZED = WEFT_TEST_ADDRESS || WEFT_TEST_THREAD };

/* ---- a program and a run of it ---- */

static weft_status *compile(double factor, weft_program **out_program)
{
    weft_graph *graph;
    WEFT_TRY(weft_graph_create(NULL, &graph));
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(weft_symbol(graph, "n", 1, 1 << 20)));
    weft_tensor y = weft_mul(x, weft_scalar(graph, WEFT_F32, factor));
    weft_status *status = weft_compile(graph, WEFT_TENSORS(y), NULL, out_program);
    weft_graph_destroy(graph);
    return status;
}

static weft_status *run(weft_executor *executor, weft_program *program)
{
    float in[COUNT] = {1, 2, 3}, out[COUNT] = {0};
    weft_array *x, *y;
    WEFT_TRY(weft_array_wrap(NULL, WEFT_F32, 1, (const int64_t[]){COUNT}, NULL, in, NULL, NULL, &x));
    WEFT_TRY(weft_array_wrap(NULL, WEFT_F32, 1, (const int64_t[]){COUNT}, NULL, out, NULL, NULL, &y));
    weft_status *status = weft_executor_run(
        executor, program, &(weft_run){.input_count = 1, .inputs = &x, .output_count = 1, .outputs = &y});
    weft_array_release(x);
    weft_array_release(y);
    if (status != NULL || (out[2] != 0 && out[2] == 3 * out[0])) return status;
    return weft_status_create(NULL, WEFT_INTERNAL, "test", "the result is wrong");
}

/* Two programs, one of them twice: code is loaded beside code, and freed. */
static weft_status *use(void)
{
    weft_executor *executor;
    weft_program *first, *second;
    WEFT_TRY(weft_executor_create_standard(&(weft_executor_options){.threads = 1}, &executor));
    WEFT_TRY(compile(2, &first));
    WEFT_TRY(compile(3, &second));
    weft_status *status = run(executor, first);
    if (status == NULL) status = run(executor, second);
    if (status == NULL) status = run(executor, first);
    weft_executor_clear(executor);
    if (status == NULL) status = run(executor, second);
    weft_program_release(first);
    weft_program_release(second);
    weft_executor_destroy(executor);
    return status;
}

/* ---- processes ---- */

/* 0 when the body's status is `code` and its message contains `part`. */
static int judge(weft_status *status, weft_code code, const char *part)
{
    if (weft_status_code(status) == code && strstr(weft_status_message(status), part) != NULL) return 0;
    fprintf(stderr, "%s: %s\n", weft_code_name(weft_status_code(status)), weft_status_message(status));
    return 1;
}

static void check_process(void (*limit)(void), weft_code code, const char *part)
{
    int result = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE);
        limit();
        _exit(judge(use(), code, part));
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
}

/* ---- system calls that are refused ---- */

#define SIZE_OF(list) (unsigned short)(sizeof(list) / sizeof *(list))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define SKIP_UNLESS(value, count) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (count))

static void refuse(struct sock_filter *filter, unsigned short length)
{
    const struct sock_fprog program = {.len = length, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(77);
}

static void refuse_files_in_memory(void)
{
    struct sock_filter filter[] = {LOAD(nr), SKIP_UNLESS(SYS_memfd_create, 1), RETURN(SECCOMP_RET_ERRNO | ENOSYS),
                                   RETURN(SECCOMP_RET_ALLOW)};
    refuse(filter, SIZE_OF(filter));
}

/* As systemd's MemoryDenyWriteExecute does, once the libraries are loaded. */
static void refuse_new_code(void)
{
    struct sock_filter filter[] = {LOAD(nr),
                                   SKIP_UNLESS(SYS_mprotect, 3),
                                   LOAD(args[2]),
                                   BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
                                   RETURN(SECCOMP_RET_ERRNO | EPERM),
                                   RETURN(SECCOMP_RET_ALLOW)};
    refuse(filter, SIZE_OF(filter));
}

static void refuse_both(void)
{
    refuse_new_code();
    refuse_files_in_memory();
}

static void code_needs_no_file_in_memory(void **state)
{
    (void)state;
    check_process(refuse_files_in_memory, WEFT_OK, "");
}

static void code_needs_no_page_that_was_writable(void **state)
{
    (void)state;
    check_process(refuse_new_code, WEFT_OK, "");
}

static void without_executable_memory_the_error_says_so(void **state)
{
    (void)state;
    check_process(refuse_both, WEFT_UNSUPPORTED, "the system allows no executable memory: mprotect: ");
}

/* ---- address space ---- */

/* What is mapped now, and `more` bytes. */
static void limit_space(size_t more)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld", &pages) != 1) _exit(77);
    fclose(file);
    rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + more;
    if (setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes}) != 0) _exit(77);
}

static void leave_20_megabytes(void)
{
    weft_test_ok(use()); /* LLVM is there */
    limit_space(20 << 20);
}

static void leave_3_megabytes(void)
{
    weft_test_ok(use());
    limit_space(3 << 20);
}

/* LLVM would end the process where there is none. */
static void code_takes_little_room(void **state)
{
    (void)state;
    if (SANITIZED) skip();
    check_process(leave_20_megabytes, WEFT_OK, "");
    check_process(leave_3_megabytes, WEFT_OUT_OF_MEMORY, "compiling takes up to 16 MiB, which are not available");
}

/* ---- stacks ---- */

/* What the documentation says is enough: for calls, then for a region within another and for extents, and for texts. */
enum { SMALL_STACK = 32 << 10, REGION_STACK = 2 << 10, EXTENT_STACK = 128 << 10, TEXT_STACK = 320 << 10, SIDE = 40 };

enum { TRANSPOSED = 8 };

/* Each load is a transposition, which would be read into a local buffer first. */
static weft_tensor add_transposed(weft_graph *graph)
{
    weft_extent n = weft_symbol(graph, "m", 1, 1 << 20);
    weft_tensor y = weft_input(graph, "y", WEFT_F32, WEFT_SHAPE(SIDE, n));
    for (int i = 0; i < TRANSPOSED; i++) {
        const char name[] = {'x', (char)('0' + i), '\0'};
        y = weft_add(y, weft_permute(weft_input(graph, name, WEFT_F32, WEFT_SHAPE(n, SIDE)), WEFT_INTS(1, 0)));
    }
    return y;
}

/* A long row of so many different values, in no order. */
static weft_tensor long_row(weft_graph *graph, double kinds)
{
    weft_tensor i = weft_iota(graph, WEFT_F64, WEFT_SHAPE(1 << 17), 0);
    return weft_sort(
        weft_remainder(weft_mul(i, weft_scalar(graph, WEFT_F64, 7919)), weft_scalar(graph, WEFT_F64, kinds)), 0, false);
}

static weft_tensor trace(weft_graph *graph, int number)
{
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(weft_symbol(graph, "n", 1, 1 << 20), SIDE));
    weft_tensor y = x;
    switch (number) {
    case 0: return weft_sort(weft_softmax(x, -1), 0, false);
    case 1: return weft_matmul(x, weft_permute(x, WEFT_INTS(1, 0)));
    case 2: return weft_attention(x, x, x, NULL);
    case 3: return add_transposed(graph);
    case 4: return long_row(graph, 100);
    case 5: return long_row(graph, 1 << 17);
    default:
        for (int i = 0; i < 300; i++) y = weft_flip(weft_tanh(y), WEFT_INTS(i % 2));
        return y;
    }
}

static weft_status *use_program(weft_executor *executor, int number, const char *runtime)
{
    weft_graph *graph;
    weft_program *program;
    weft_array *x, *y = NULL, *inputs[1 + TRANSPOSED];
    WEFT_TRY(weft_graph_create(NULL, &graph));
    weft_status *status = weft_compile(graph, WEFT_TENSORS(trace(graph, number)), NULL, &program);
    weft_graph_destroy(graph);
    WEFT_TRY(status);
    WEFT_TRY(weft_array_create(NULL, WEFT_F32, 2, (const int64_t[]){SIDE, SIDE}, &x));
    memset(weft_array_data(x), 0, SIDE * SIDE * sizeof(float));
    size_t count = weft_program_input_count(program);
    for (size_t i = 0; i < count; i++) inputs[i] = x;
    weft_run call = {.runtime = runtime, .input_count = count, .inputs = inputs, .output_count = 1, .outputs = &y};
    for (int i = 0; i < 2 && status == NULL; i++) status = weft_executor_run(executor, program, &call);
    weft_array_release(x);
    weft_array_release(y);
    weft_program_release(program);
    return status;
}

/* As large as a thread's stack may be in the documentation; below it nothing may be touched. */
static void *use_on_small_stack(void *context)
{
    weft_executor *executor = NULL;
    (void)context;
    weft_status *status = weft_executor_create_standard(&(weft_executor_options){.threads = 2}, &executor);
    for (int i = 0; i < 14 && status == NULL; i++) status = use_program(executor, i / 2, i % 2 == 0 ? "llvm" : "ref");
    weft_executor_destroy(executor);
    return status;
}

static void check_thread(size_t stack, void *(*body)(void *context), void *context)
{
    pthread_attr_t attributes;
    pthread_t thread;
    void *status;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, stack), 0);
    assert_int_equal(pthread_create(&thread, &attributes, body, context), 0);
    pthread_join(thread, &status);
    weft_test_ok(status);
    pthread_attr_destroy(&attributes);
}

static void a_small_stack_is_enough(void **state)
{
    (void)state;
    if (SANITIZED) skip();
    check_thread(SMALL_STACK, use_on_small_stack, NULL);
}

static void repeat(weft_bytes *text, const char *part, int count)
{
    for (int i = 0; i < count; i++) weft_bytes_print(text, "%s", part);
}

/* Folds within folds, the innermost with an extent nested as deep as the engine allows. */
static void print_nested(weft_bytes *text, int folds, int extents)
{
    weft_bytes_print(text, "weft 0.1\nsymbol n in [1, 9]\nsymbol m in [1, 9]\ngraph {\n%%x = input() {name = \"x\", "
                           "dtype = f32, shape = [n]}\n"
                           "%%y = fold(%%x) {trips = 1, carried = 1} ");
    repeat(text, "body(%i: i64[], %a: f32[n]) { %b = fold(%a) {trips = 1, carried = 1} ", folds - 1);
    weft_bytes_print(text, "body(%%i: i64[], %%a: f32[n]) { %%c = extent() {value = ");
    repeat(text, "max(m, (n + ", extents);
    weft_bytes_print(text, "n");
    repeat(text, "))", extents);
    weft_bytes_print(text, "} %%d = cast(%%c) {dtype = f32} %%e = broadcast(%%d) {shape = [n], axes = []} "
                           "%%b = add(%%a, %%e) yield %%b }");
    repeat(text, " yield %b }", folds - 1);
    weft_bytes_print(text, " return y = %%y }");
}

static weft_status *compile_text(const weft_bytes *text, weft_program **out_program)
{
    weft_module *module;
    char *printed;
    WEFT_TRY(weft_graph_parse("nested", text->data, text->size, NULL, 0, NULL, &module));
    weft_status *status = weft_graph_print(module->outputs, &printed);
    if (status == NULL) weft_text_destroy(printed);
    if (status == NULL) status = weft_compile(module->graph, module->outputs, NULL, out_program);
    weft_module_destroy(module);
    return status;
}

static void *compile_nested(void *context)
{
    weft_program *program;
    weft_status *status = compile_text(context, &program);
    if (status == NULL) weft_program_release(program);
    return status;
}

static void what_nests_takes_the_stack_that_is_documented(void **state)
{
    static const struct nesting {
        int folds, extents;
        size_t stack;
    } nestings[] = {
        {17, 0, SMALL_STACK + 16 * REGION_STACK}, {1, 99, SMALL_STACK + EXTENT_STACK}, {64, 99, TEXT_STACK}};
    (void)state;
    if (SANITIZED) skip();
    for (size_t i = 0; i < sizeof nestings / sizeof *nestings; i++) {
        weft_bytes text;
        weft_bytes_init(&text, NULL);
        print_nested(&text, nestings[i].folds, nestings[i].extents);
        check_thread(nestings[i].stack, compile_nested, &text);
        weft_bytes_finish(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_needs_no_file_in_memory),
        cmocka_unit_test(code_needs_no_page_that_was_writable),
        cmocka_unit_test(without_executable_memory_the_error_says_so),
        cmocka_unit_test(code_takes_little_room),
        cmocka_unit_test(a_small_stack_is_enough),
        cmocka_unit_test(what_nests_takes_the_stack_that_is_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
