/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code of kernels on disk: a second process has it without LLVM, results are the same, and nothing that happens to the
 * files changes that. Each run is a process of its own, forked from one that never loads LLVM.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/weft.h>
#include "runtime/base/map.h"
#include "test/support.h"

enum { ROWS = 37, COLUMNS = 53, KERNELS = 5, PATIENCE = 200 };

static char directory[64];

static int make_directory(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/weft-disk-XXXXXX");
    return mkdtemp(directory) == NULL;
}

/* Calls `visit` for each entry. */
static size_t visit_entries(void (*visit)(const char *path))
{
    size_t count = 0;
    char path[512];
    DIR *all = opendir(directory);
    assert_non_null(all);
    for (const struct dirent *at; (at = readdir(all)) != NULL;) {
        if (at->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", directory, at->d_name);
        count++;
        if (visit != NULL) visit(path);
    }
    closedir(all);
    return count;
}

static void remove_file(const char *path)
{
    assert_int_equal(remove(path), 0);
}

static int remove_directory(void **state)
{
    (void)state;
    visit_entries(remove_file);
    return rmdir(directory);
}

/* ---- a program ---- */

/* Some kernels of different shapes: functions, a reduction, a scan, a movement, a product. */
static weft_status *compile(const weft_allocator *allocator, weft_program **out_program)
{
    weft_graph *graph;
    WEFT_TRY(weft_graph_create(&(weft_graph_options){.allocator = allocator}, &graph));
    weft_extent n = weft_symbol(graph, "n", 1, 1000);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(n, COLUMNS));
    weft_tensor y[KERNELS] = {weft_tanh(weft_mul(x, x)), weft_softmax(x, 1), weft_cumsum(x, 1, false, false),
                              weft_transpose(weft_exp(x), 0, 1), weft_matmul(x, weft_transpose(x, 0, 1))};
    weft_status *status = weft_compile(graph, (weft_tensors){KERNELS, y}, NULL, out_program);
    weft_graph_destroy(graph);
    return status;
}

static weft_status *make_input(const weft_allocator *allocator, weft_array **out_x)
{
    const int64_t shape[] = {ROWS, COLUMNS};
    WEFT_TRY(weft_array_create(allocator, WEFT_F32, 2, shape, out_x));
    float *data = weft_array_data(*out_x);
    for (int i = 0; i < ROWS * COLUMNS; i++) data[i] = (float)((i * 7919) % 1009) / 300 - 1.5f;
    return NULL;
}

/* What a process found out. */
typedef struct outcome {
    uint64_t hash; /* of all results */
    bool has_llvm;
    weft_executor_counters counters;
} outcome;

static weft_status *hash_results(weft_array **y, uint64_t *out_hash)
{
    for (int i = 0; i < KERNELS; i++) {
        *out_hash = *out_hash * 31 + weft_hash(weft_array_data(y[i]), (size_t)weft_array_count(y[i]) * sizeof(float));
        weft_array_release(y[i]);
    }
    return NULL;
}

static weft_status *run_on(weft_executor *executor, weft_program *program, const weft_allocator *allocator,
                           const volatile bool *cancelled, uint64_t *out_hash)
{
    weft_array *x, *y[KERNELS] = {NULL};
    WEFT_TRY(make_input(allocator, &x));
    weft_status *status = weft_executor_run(
        executor, program,
        &(weft_run){.input_count = 1, .inputs = &x, .output_count = KERNELS, .outputs = y, .cancelled = cancelled});
    weft_array_release(x);
    return status == NULL ? hash_results(y, out_hash) : status;
}

static weft_status *run_program(const weft_executor_options *options, outcome *out_outcome)
{
    weft_program *program;
    weft_executor *executor;
    WEFT_TRY(compile(options->allocator, &program));
    weft_status *status = weft_executor_create_standard(options, &executor);
    if (status == NULL) {
        status = run_on(executor, program, options->allocator, NULL, &out_outcome->hash);
        weft_executor_settle(executor);
        weft_executor_counters_read(executor, &out_outcome->counters);
        weft_executor_destroy(executor);
    }
    weft_program_release(program);
    out_outcome->has_llvm = weft_test_has_llvm();
    return status;
}

/* ---- processes ---- */

static pid_t begin(const weft_executor_options *options, const char *isa, int out_pipe[2])
{
    assert_int_equal(pipe(out_pipe), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0) {
        close(out_pipe[1]);
        return child;
    }
    outcome result = {0};
    alarm(PATIENCE);
    if (isa != NULL) setenv("WEFT_ISA", isa, 1);
    weft_status *status = run_program(options, &result);
    if (status != NULL) fprintf(stderr, "%s: %s\n", weft_status_where(status), weft_status_message(status));
    bool told = write(out_pipe[1], &result, sizeof result) == (ssize_t)sizeof result;
    exit(status == NULL && told ? 0 : 1);
}

static outcome end(pid_t child, const int from_child[2])
{
    outcome result;
    int exited = -1;
    assert_int_equal(read(from_child[0], &result, sizeof result), sizeof result);
    close(from_child[0]);
    assert_int_equal(waitpid(child, &exited, 0), child);
    assert_int_equal(exited, 0);
    return result;
}

static outcome run_process(const weft_executor_options *options, const char *isa)
{
    int from_child[2];
    return end(begin(options, isa, from_child), from_child);
}

static outcome run_code(weft_code_policy code)
{
    return run_process(&(weft_executor_options){.threads = 2, .code = code, .cache_directory = directory}, NULL);
}

/* Without anything on disk. */
static outcome run_plainly(void)
{
    return run_process(&(weft_executor_options){.threads = 2}, NULL);
}

static void expect_compiled(outcome got, uint64_t hash, uint64_t compiled)
{
    assert_int_equal(got.hash, hash);
    assert_true(got.has_llvm == (compiled > 0));
    assert_int_equal(got.counters.kernels_compiled, compiled);
}

/* ---- */

static void the_second_process_compiles_nothing(void **state)
{
    (void)state;
    outcome plain = run_plainly();
    assert_int_equal(plain.counters.disk.misses + plain.counters.disk.writes, 0);
    uint64_t kernels = plain.counters.kernels_compiled;
    assert_true(kernels >= KERNELS - 1);
    outcome first = run_code(WEFT_CODE_OPTIMIZED);
    expect_compiled(first, plain.hash, kernels);
    assert_int_equal(first.counters.disk.misses, kernels);
    assert_int_equal(first.counters.disk.writes, kernels);
    assert_int_equal(visit_entries(NULL), kernels);
    for (int i = 0; i < 2; i++) {
        outcome second = run_code(WEFT_CODE_OPTIMIZED);
        expect_compiled(second, plain.hash, 0);
        assert_int_equal(second.counters.disk.hits, kernels);
        assert_int_equal(second.counters.disk.misses + second.counters.disk.refused + second.counters.disk.writes, 0);
    }
}

/* What is kept is optimised, and then used whatever is asked for. */
static void tiers_share_optimised_code(void **state)
{
    (void)state;
    outcome plain = run_plainly();
    uint64_t kernels = plain.counters.kernels_compiled;
    outcome quick = run_code(WEFT_CODE_QUICK);
    expect_compiled(quick, plain.hash, kernels);
    assert_int_equal(quick.counters.disk.writes, 0);
    outcome tiered = run_code(WEFT_CODE_TIERED);
    expect_compiled(tiered, plain.hash, kernels);
    assert_int_equal(tiered.counters.kernels_optimized, kernels);
    assert_int_equal(tiered.counters.disk.writes, kernels);
    for (int code = WEFT_CODE_OPTIMIZED; code <= WEFT_CODE_QUICK; code++) {
        outcome again = run_code((weft_code_policy)code);
        expect_compiled(again, plain.hash, 0);
        assert_int_equal(again.counters.disk.hits, kernels);
        assert_int_equal(again.counters.kernels_optimized, 0);
        assert_int_equal(again.counters.background_waiting, 0);
    }
}

static void levels_have_code_of_their_own(void **state)
{
    (void)state;
    const weft_executor_options options = {.threads = 1, .cache_directory = directory};
    outcome host = run_code(WEFT_CODE_OPTIMIZED);
    outcome alone = run_process(&(weft_executor_options){.threads = 1}, "x86-64-v2");
    assert_true(alone.counters.kernels_compiled >= KERNELS - 1);
    expect_compiled(run_process(&options, "x86-64-v2"), host.hash, alone.counters.kernels_compiled);
    expect_compiled(run_process(&options, "x86-64-v2"), host.hash, 0);
    expect_compiled(run_code(WEFT_CODE_OPTIMIZED), host.hash, 0);
}

/* ---- damage ---- */

/* At the offset that `place` is of the file, in 256ths; 256: behind the last byte but one. */
static int place;

static void change_byte(const char *path)
{
    struct stat found;
    char byte;
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(stat(path, &found), 0);
    long offset = (found.st_size - 1) * place / 256;
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    assert_int_equal(fread(&byte, 1, 1, file), 1);
    byte ^= 0x10;
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    assert_int_equal(fwrite(&byte, 1, 1, file), 1);
    assert_int_equal(fclose(file), 0);
}

static void cut(const char *path)
{
    struct stat found;
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(truncate(path, (found.st_size - 1) * place / 256), 0);
}

/* The entry is sound, but what it holds is no object: as another version of the loader may find it. */
static void fill_with_nonsense(const char *path)
{
    static char content[1 << 20];
    uint64_t sizes[2], hash;
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    size_t size = fread(content, 1, sizeof content, file);
    memcpy(sizes, content + 8, sizeof sizes);
    memset(content + 24 + sizes[0] + 4 * (size_t)place / 256, 'x', sizes[1] / 2);
    hash = weft_hash(content, size - sizeof hash);
    memcpy(content + size - sizeof hash, &hash, sizeof hash);
    rewind(file);
    assert_int_equal(fwrite(content, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void damage_costs_a_compilation(void **state)
{
    (void)state;
    static void (*const kinds[])(const char *path) = {change_byte, cut, fill_with_nonsense};
    outcome first = run_code(WEFT_CODE_OPTIMIZED);
    uint64_t kernels = first.counters.kernels_compiled;
    for (size_t i = 0; i < 3; i++) {
        for (place = 0; place <= 256; place += 64) {
            visit_entries(kinds[i]);
            outcome damaged = run_code(WEFT_CODE_OPTIMIZED);
            expect_compiled(damaged, first.hash, kernels);
            assert_int_equal(damaged.counters.disk.refused, kernels);
            assert_int_equal(damaged.counters.disk.hits, 0);
            assert_int_equal(damaged.counters.disk.writes, kernels);
            expect_compiled(run_code(WEFT_CODE_OPTIMIZED), first.hash, 0);
        }
    }
    assert_int_equal(visit_entries(NULL), kernels);
}

static void some_are_missing(void **state)
{
    (void)state;
    outcome first = run_code(WEFT_CODE_OPTIMIZED);
    char path[512];
    DIR *all = opendir(directory);
    const struct dirent *at = readdir(all);
    while (at->d_name[0] == '.') at = readdir(all);
    snprintf(path, sizeof path, "%s/%s", directory, at->d_name);
    closedir(all);
    remove_file(path);
    outcome second = run_code(WEFT_CODE_OPTIMIZED);
    expect_compiled(second, first.hash, 1);
    assert_int_equal(second.counters.disk.hits, first.counters.kernels_compiled - 1);
    assert_int_equal(second.counters.disk.writes, 1);
}

static void little_room_is_room_for_some(void **state)
{
    (void)state;
    const weft_executor_options options = {.threads = 2, .cache_directory = directory, .cache_bytes = 2 * 4096};
    outcome plain = run_plainly();
    for (int i = 0; i < 3; i++) {
        outcome got = run_process(&options, NULL);
        assert_int_equal(got.hash, plain.hash);
        assert_true(visit_entries(NULL) <= 2);
    }
}

static void processes_start_at_once(void **state)
{
    (void)state;
    enum { PROCESSES = 4 };
    const weft_executor_options options = {.threads = 1, .cache_directory = directory};
    int from_child[PROCESSES][2];
    pid_t children[PROCESSES];
    outcome plain = run_plainly();
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < PROCESSES; i++) children[i] = begin(&options, NULL, from_child[i]);
        for (int i = 0; i < PROCESSES; i++) {
            outcome got = end(children[i], from_child[i]);
            assert_int_equal(got.hash, plain.hash);
            assert_int_equal(got.counters.disk.refused, 0);
        }
        assert_int_equal(visit_entries(NULL), plain.counters.kernels_compiled);
    }
}

/* ---- errors ---- */

static void a_directory_that_cannot_be_used_is_an_error(void **state)
{
    (void)state;
    weft_executor *executor;
    weft_status *status = weft_executor_create(&(weft_executor_options){.cache_directory = "/dev/null"}, &executor);
    assert_string_equal(weft_status_where(status), "weft_executor_create");
    weft_test_fails(status, WEFT_BAD_FILE, "the cache directory /dev/null cannot be used: Not a directory");
    assert_int_equal(chmod(directory, 0777), 0);
    weft_test_fails(weft_executor_create_standard(&(weft_executor_options){.cache_directory = directory}, &executor),
                    WEFT_BAD_FILE, "users other than its owner may write to it");
    assert_int_equal(chmod(directory, 0700), 0);
}

static weft_status *run_with(const weft_allocator *allocator, void *context)
{
    outcome *result = context;
    const weft_executor_options options = {.allocator = allocator, .threads = 1, .cache_directory = directory};
    outcome got = {0};
    WEFT_TRY(run_program(&options, &got));
    assert_int_equal(got.hash, result->hash);
    return NULL;
}

static outcome known;

static void fail_each(void)
{
    weft_test_fail_each(run_with, &known);
    exit(0);
}

/* With everything on disk; a kernel for which there is no memory there is compiled. */
static void memory_may_run_out(void **state)
{
    (void)state;
    if (WEFT_TEST_THREAD) skip(); /* it takes a minute */
    known = run_code(WEFT_CODE_OPTIMIZED);
    weft_test_in_child(fail_each);
    expect_compiled(run_code(WEFT_CODE_OPTIMIZED), known.hash, 0);
}

/* The child goes on with what its parent had, and both write. */
static void fork_in_the_middle(void)
{
    weft_program *program;
    weft_executor *executor;
    uint64_t hash = 0;
    weft_test_ok(compile(NULL, &program));
    weft_test_ok(
        weft_executor_create_standard(&(weft_executor_options){.threads = 1, .cache_directory = directory}, &executor));
    pid_t child = fork();
    alarm(PATIENCE);
    weft_test_ok(run_on(executor, program, NULL, NULL, &hash));
    if (child == 0) {
        weft_executor_destroy(executor);
        exit(hash == known.hash ? 0 : 1);
    }
    int result = -1;
    if (waitpid(child, &result, 0) != child || result != 0 || hash != known.hash) exit(1);
    weft_executor_destroy(executor);
    weft_program_release(program);
    exit(0);
}

static void a_child_goes_on(void **state)
{
    (void)state;
    known = run_plainly();
    weft_test_in_child(fork_in_the_middle);
    weft_test_in_child(fork_in_the_middle);
    expect_compiled(run_code(WEFT_CODE_OPTIMIZED), known.hash, 0);
}

static void expect_run(weft_program *program, const weft_executor_options *options, uint64_t compiled, uint64_t refused)
{
    weft_executor *executor;
    outcome got = {0};
    weft_test_ok(weft_executor_create_standard(options, &executor));
    weft_test_ok(run_on(executor, program, NULL, NULL, &got.hash));
    weft_executor_counters_read(executor, &got.counters);
    assert_int_equal(got.hash, known.hash);
    assert_int_equal(got.counters.kernels_compiled, compiled);
    assert_int_equal(got.counters.disk.refused, refused);
    weft_executor_destroy(executor);
}

/* Of a program that is to have it. */
static void keep_code(void)
{
    weft_program *program;
    uint64_t kernels = known.counters.kernels_compiled;
    const weft_executor_options cached = {.cache_directory = directory}, alone = {0};
    weft_test_ok(compile(NULL, &program));
    weft_test_ok(weft_program_keep_code(program));
    expect_run(program, &cached, kernels, kernels);
    expect_run(program, &alone, 0, 0);
    assert_int_equal(weft_program_code_count(program), kernels);
    weft_program_release(program);
    exit(0);
}

/* What is sound on disk but cannot be loaded does not become part of a program. */
static void a_program_takes_no_code_that_cannot_be_loaded(void **state)
{
    (void)state;
    known = run_code(WEFT_CODE_OPTIMIZED);
    place = 0;
    visit_entries(fill_with_nonsense);
    weft_test_in_child(keep_code);
}

static void cancel(void)
{
    weft_program *program;
    weft_executor *executor;
    uint64_t hash = 0;
    bool cancelled = true;
    weft_test_ok(compile(NULL, &program));
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.cache_directory = directory}, &executor));
    weft_test_fails(run_on(executor, program, NULL, &cancelled, &hash), WEFT_CANCELLED, "");
    cancelled = false;
    weft_test_ok(run_on(executor, program, NULL, &cancelled, &hash));
    weft_executor_destroy(executor);
    weft_program_release(program);
    if (hash != known.hash) exit(1);
    exit(0);
}

static void a_run_may_be_cancelled(void **state)
{
    (void)state;
    known = run_plainly();
    weft_test_in_child(cancel);
    weft_test_in_child(cancel);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_second_process_compiles_nothing),
        CASE(tiers_share_optimised_code),
        CASE(levels_have_code_of_their_own),
        CASE(damage_costs_a_compilation),
        CASE(some_are_missing),
        CASE(little_room_is_room_for_some),
        CASE(processes_start_at_once),
        CASE(a_directory_that_cannot_be_used_is_an_error),
        CASE(memory_may_run_out),
        CASE(a_child_goes_on),
        CASE(a_program_takes_no_code_that_cannot_be_loaded),
        CASE(a_run_may_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
