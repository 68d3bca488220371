/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code in saved programs: a second process runs from the file alone, without LLVM, to the same bits, and nothing that
 * happens to the code changes them. Each run is a process of its own, forked from one that never loads LLVM.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/weft.h>
#include "runtime/base/entry.h"
#include "runtime/base/map.h"
#include "runtime/program/program.h"
#include "test/support.h"

enum { ROWS = 37, COLUMNS = 53, OUTPUTS = 4, PATIENCE = 200 };

static char path[64], other[64];

static int make_paths(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/weft-kept-%ld", (long)getpid());
    snprintf(other, sizeof other, "/tmp/weft-kept-%ld.other", (long)getpid());
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    remove(path);
    remove(other);
    return 0;
}

/* ---- a program ---- */

static weft_status *compile(const weft_allocator *allocator, weft_program **out_program)
{
    weft_graph *graph;
    WEFT_TRY(weft_graph_create(&(weft_graph_options){.allocator = allocator}, &graph));
    weft_extent n = weft_symbol(graph, "n", 1, 1000);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(n, COLUMNS));
    weft_tensor y[OUTPUTS] = {weft_tanh(weft_mul(x, x)), weft_softmax(x, 1), weft_cumsum(x, 1, false, false),
                              weft_transpose(weft_exp(x), 0, 1)};
    weft_status *status = weft_compile(graph, (weft_tensors){OUTPUTS, y}, NULL, out_program);
    weft_graph_destroy(graph);
    return status;
}

static weft_status *make_input(const weft_allocator *allocator, weft_array **out_x)
{
    WEFT_TRY(weft_array_create(allocator, WEFT_F32, 2, (int64_t[]){ROWS, COLUMNS}, out_x));
    float *data = weft_array_data(*out_x);
    for (int i = 0; i < ROWS * COLUMNS; i++) data[i] = (float)((i * 7919) % 1009) / 300 - 1.5f;
    return NULL;
}

static weft_status *run(weft_executor *executor, weft_program *program, const weft_allocator *allocator,
                        bool specialize, uint64_t *out_hash)
{
    weft_array *x, *y[OUTPUTS] = {NULL};
    WEFT_TRY(make_input(allocator, &x));
    weft_status *status = weft_executor_run(
        executor, program,
        &(weft_run){.input_count = 1, .inputs = &x, .output_count = OUTPUTS, .outputs = y, .specialize = specialize});
    weft_array_release(x);
    *out_hash = 0;
    for (int i = 0; i < OUTPUTS && status == NULL; i++) {
        *out_hash = *out_hash * 31 + weft_hash(weft_array_data(y[i]), (size_t)weft_array_count(y[i]) * sizeof(float));
        weft_array_release(y[i]);
    }
    return status;
}

/* ---- processes ---- */

/* What one does, and finds out. */
typedef struct task {
    const char *isa;  /* NULL: the processor's */
    const char *from; /* a saved program, in place of a new one; NULL: none */
    bool trusts;      /* and uses its code */
    bool keeps;       /* what it compiles, and saves it as `to` */
    const char *to;
    bool specialize; /* runs like that too */
    weft_code_policy code;
} task;

typedef struct outcome {
    uint64_t hash;
    bool has_llvm;
    size_t kernels; /* with the program, before it ran and after */
    size_t kept;
    weft_executor_counters counters;
} outcome;

static weft_status *make_program(const task *t, const weft_allocator *allocator, weft_program **out_program)
{
    WEFT_TRY(t->from == NULL ? compile(allocator, out_program)
                             : weft_program_load(allocator, t->from, 0, NULL, out_program));
    weft_status *status = t->trusts ? weft_program_load_code(*out_program, t->from, NULL) : NULL;
    if (status == NULL && t->keeps) status = weft_program_keep_code(*out_program);
    if (status != NULL) weft_program_release(*out_program);
    return status;
}

static weft_status *run_all(const task *t, weft_executor *executor, weft_program *program,
                            const weft_allocator *allocator, outcome *out)
{
    uint64_t special;
    out->kernels = weft_program_code_count(program);
    WEFT_TRY(run(executor, program, allocator, false, &out->hash));
    if (t->specialize) {
        WEFT_TRY(run(executor, program, allocator, true, &special));
        assert_true(special == out->hash);
    }
    weft_executor_settle(executor);
    weft_executor_counters_read(executor, &out->counters);
    out->kept = weft_program_code_count(program);
    return t->to == NULL ? NULL : weft_program_save(program, t->to);
}

static weft_status *perform(const task *t, const weft_allocator *allocator, outcome *out)
{
    weft_program *program;
    weft_executor *executor;
    const weft_executor_options options = {.allocator = allocator, .threads = 2, .code = t->code};
    WEFT_TRY(make_program(t, allocator, &program));
    weft_status *status = weft_executor_create_standard(&options, &executor);
    if (status == NULL) {
        status = run_all(t, executor, program, allocator, out);
        weft_executor_destroy(executor);
    }
    weft_program_release(program);
    out->has_llvm = weft_test_has_llvm();
    return status;
}

static outcome run_process(task t)
{
    outcome result = {0};
    int from_child[2], exited = -1;
    assert_int_equal(pipe(from_child), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(PATIENCE);
        if (t.isa != NULL) setenv("WEFT_ISA", t.isa, 1);
        weft_test_ok(perform(&t, NULL, &result));
        _exit(write(from_child[1], &result, sizeof result) == (ssize_t)sizeof result ? 0 : 1);
    }
    close(from_child[1]);
    assert_int_equal(read(from_child[0], &result, sizeof result), sizeof result);
    close(from_child[0]);
    assert_int_equal(waitpid(child, &exited, 0), child);
    assert_int_equal(exited, 0);
    return result;
}

static void expect_compiled(outcome got, uint64_t hash, uint64_t compiled)
{
    assert_int_equal(got.hash, hash);
    assert_int_equal(got.counters.kernels_compiled, compiled);
    assert_true(got.has_llvm == (compiled > 0));
}

/* ---- files ---- */

static char *read_file(const char *from, size_t *out_size)
{
    FILE *file = fopen(from, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *out_size = (size_t)ftell(file);
    rewind(file);
    char *data = malloc(*out_size + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *out_size, file), *out_size);
    fclose(file);
    return data;
}

static void write_file(const char *to, const char *data, size_t size)
{
    FILE *file = fopen(to, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void expect_same_files(void)
{
    size_t a_size, b_size;
    char *a = read_file(path, &a_size), *b = read_file(other, &b_size);
    assert_int_equal(a_size, b_size);
    assert_memory_equal(a, b, a_size);
    free(a);
    free(b);
}

/* ---- */

static void the_file_alone_is_enough(void **state)
{
    (void)state;
    outcome plain = run_process((task){.specialize = true});
    uint64_t kernels = plain.counters.kernels_compiled;
    outcome first = run_process((task){.keeps = true, .specialize = true, .to = path});
    expect_compiled(first, plain.hash, kernels);
    assert_int_equal(first.kept, kernels);
    outcome second = run_process((task){.from = path, .trusts = true, .specialize = true, .to = other});
    expect_compiled(second, plain.hash, 0);
    assert_int_equal(second.kernels, kernels);
    expect_same_files();
    expect_compiled(run_process((task){.from = path, .specialize = true}), plain.hash, kernels);
}

/* Two processes that save the same write the same. */
static void files_do_not_depend_on_the_order(void **state)
{
    (void)state;
    run_process((task){.keeps = true, .to = path});
    run_process((task){.keeps = true, .to = other});
    expect_same_files();
}

static void other_instructions_are_compiled_for(void **state)
{
    (void)state;
    outcome host = run_process((task){.keeps = true, .to = path});
    uint64_t kernels = host.counters.kernels_compiled;
    const task low = {.isa = "x86-64-v2", .from = path, .trusts = true, .keeps = true, .to = other};
    outcome lower = run_process(low);
    expect_compiled(lower, host.hash, kernels);
    assert_int_equal(lower.kernels, kernels);
    assert_int_equal(lower.kept, 2 * kernels);
    expect_compiled(run_process((task){.from = other, .trusts = true}), host.hash, 0);
    expect_compiled(run_process((task){.isa = "x86-64-v2", .from = other, .trusts = true}), host.hash, 0);
}

/* What is kept is optimised, and used whatever is asked for. */
static void haste_keeps_optimised_code(void **state)
{
    (void)state;
    outcome quick = run_process((task){.keeps = true, .code = WEFT_CODE_QUICK, .to = path});
    outcome plain = run_process((task){.keeps = true, .to = other});
    expect_compiled(quick, plain.hash, plain.counters.kernels_compiled);
    expect_same_files();
    for (int code = WEFT_CODE_OPTIMIZED; code <= WEFT_CODE_QUICK; code++)
        expect_compiled(run_process((task){.from = path, .trusts = true, .code = (weft_code_policy)code}), plain.hash,
                        0);
}

/* ---- damage ---- */

/* What is in a file after its text. */
static char *find_entries(char *file)
{
    return strstr(strstr(file, "graph {"), "\n}\n") + 3;
}

/* What the code of a file is once its entries were read. */
static void read_entries(const weft_program *program, const char *entries, size_t size, weft_bytes *out_entries)
{
    weft_kept_code *kept;
    weft_test_ok(weft_kept_code_create(program->allocator, &kept));
    weft_test_ok(weft_kept_code_add_entries(kept, entries, size));
    weft_bytes_clear(out_entries);
    weft_kept_code_append(kept, out_entries);
    weft_test_ok(weft_bytes_status(out_entries));
    weft_kept_code_destroy(kept);
}

/* Every entry is as it was, or none. */
static void expect_subset(const weft_bytes *found, const char *entries, size_t size)
{
    size_t at = 0;
    for (size_t end = 1; end <= found->size; end++) {
        /* One entry ends where the next one begins, or all do. */
        if (end < found->size && memcmp(found->data + end, found->data, 8) != 0) continue;
        bool there = false;
        for (size_t i = 0; !there && i + (end - at) <= size; i++)
            there = memcmp(entries + i, found->data + at, end - at) == 0;
        assert_true(there);
        at = end;
    }
}

static void damaged_code_is_left_out(void **state)
{
    (void)state;
    size_t size;
    weft_program *program;
    weft_bytes found;
    outcome made = run_process((task){.keeps = true, .to = path});
    char *file = read_file(path, &size), *entries = find_entries(file);
    size_t entries_size = size - (size_t)(entries - file), step = WEFT_TEST_ADDRESS ? 97 : 7;
    weft_bytes_init(&found, NULL);
    weft_test_ok(compile(NULL, &program));
    read_entries(program, entries, entries_size, &found);
    assert_int_equal(found.size, entries_size);
    for (size_t i = 0; i < entries_size; i += i < 200 ? 1 : step) {
        entries[i] ^= 0x10;
        read_entries(program, entries, entries_size, &found);
        assert_true(found.size < entries_size);
        if (i % 16 == 0) expect_subset(&found, entries, entries_size);
        entries[i] ^= 0x10;
        read_entries(program, entries, i, &found);
        assert_true(found.size <= i && memcmp(entries, found.data == NULL ? "" : found.data, found.size) == 0);
    }
    weft_program_release(program);
    weft_bytes_finish(&found);
    for (size_t i = 0; i < 5; i++) {
        entries[i * (entries_size - 1) / 4] ^= 1;
        write_file(other, file, size);
        outcome got = run_process((task){.from = other, .trusts = true});
        assert_int_equal(got.hash, made.hash);
        assert_true(got.counters.kernels_compiled > 0);
        entries[i * (entries_size - 1) / 4] ^= 1;
    }
    free(file);
}

/* Sound entries of the same keys, whose objects are none, in a file of the same program. */
static void write_nonsense(const char *to, const char *entries, size_t size)
{
    static const char nonsense[] = "no object";
    weft_entry entry;
    weft_bytes spoilt;
    weft_program *program;
    weft_bytes_init(&spoilt, NULL);
    for (; weft_entry_find(entries, size, &entry); entries += entry.size, size -= entry.size)
        weft_entry_append(&spoilt, entry.key, entry.key_size, nonsense, sizeof nonsense);
    weft_test_ok(weft_program_load(NULL, path, 0, NULL, &program));
    weft_test_ok(weft_program_make_kept(program));
    weft_test_ok(weft_kept_code_add_entries(program->kept, spoilt.data, spoilt.size));
    weft_test_ok(weft_program_save(program, to));
    weft_program_release(program);
    weft_bytes_finish(&spoilt);
}

/* It is compiled again, and the next file is as if it had never been there. */
static void code_that_cannot_be_loaded_is_replaced(void **state)
{
    (void)state;
    size_t size;
    outcome made = run_process((task){.keeps = true, .to = path});
    uint64_t kernels = made.counters.kernels_compiled;
    char *file = read_file(path, &size), *entries = find_entries(file);
    for (int code = WEFT_CODE_OPTIMIZED; code <= WEFT_CODE_QUICK; code++) {
        write_nonsense(other, entries, size - (size_t)(entries - file));
        outcome got = run_process(
            (task){.from = other, .trusts = true, .keeps = true, .to = other, .code = (weft_code_policy)code});
        assert_int_equal(got.hash, made.hash);
        assert_int_equal(got.kernels, kernels);
        assert_true(got.counters.kernels_compiled >= kernels);
        expect_same_files();
    }
    write_nonsense(other, entries, size - (size_t)(entries - file));
    outcome got = run_process((task){.from = other, .trusts = true, .to = other});
    expect_compiled(got, made.hash, kernels);
    assert_int_equal(got.kept, 0);
    free(file);
}

static void a_file_that_is_cut_is_refused(void **state)
{
    (void)state;
    size_t size;
    weft_program *program;
    run_process((task){.keeps = true, .to = path});
    char *file = read_file(path, &size);
    weft_test_ok(compile(NULL, &program));
    for (size_t cut = 0; cut < size; cut++)
        weft_test_fails(weft_program_parse_code(program, "cut", file, cut, NULL), WEFT_BAD_FILE, "cut: ");
    assert_int_equal(weft_program_code_count(program), 0);
    weft_test_fails(weft_program_load_code(program, "/nowhere/at/all", NULL), WEFT_BAD_FILE, "No such file");
    weft_program_release(program);
    free(file);
}

/* ---- memory ---- */

static weft_status *run_from_file(const weft_allocator *allocator, void *context)
{
    const task t = {.from = path, .trusts = true, .keeps = true, .to = other};
    outcome got = {0};
    (void)context;
    WEFT_TRY(perform(&t, allocator, &got));
    return NULL;
}

static void fail_each(void)
{
    assert_true(weft_test_fail_each(run_from_file, NULL) > 50);
    exit(0);
}

static void memory_may_run_out(void **state)
{
    (void)state;
    run_process((task){.keeps = true, .to = path});
    weft_test_in_child(fail_each);
    expect_same_files();
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_paths, remove_files)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_file_alone_is_enough),
        CASE(files_do_not_depend_on_the_order),
        CASE(other_instructions_are_compiled_for),
        CASE(haste_keeps_optimised_code),
        CASE(damaged_code_is_left_out),
        CASE(code_that_cannot_be_loaded_is_replaced),
        CASE(a_file_that_is_cut_is_refused),
        CASE(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
