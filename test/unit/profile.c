/* SPDX-License-Identifier: Apache-2.0 */
/* What a run tells of its steps. */
#include <stdio.h>
#include <string.h>
#include <weft/executor.h>
#include <weft/nn.h>
#include "test/support.h"

enum { MOST_RECORDS = 16 };

typedef struct recorder {
    size_t count;
    weft_profile_record records[MOST_RECORDS];
    char names[MOST_RECORDS][32];
} recorder;

static void record(void *self, const weft_profile_record *record)
{
    recorder *r = self;
    assert_true(r->count < MOST_RECORDS);
    assert_int_equal(record->size, sizeof *record);
    r->records[r->count] = *record;
    snprintf(r->names[r->count], sizeof r->names[0], "%s", record->name);
    r->count++;
}

static weft_program *compile(const char *text)
{
    weft_module *module;
    weft_program *program;
    weft_test_ok(weft_graph_parse("profile", text, strlen(text), NULL, 0, NULL, &module));
    weft_test_ok(weft_compile(module->graph, module->outputs, NULL, &program));
    weft_module_destroy(module);
    return program;
}

/* Runs `text` on arrays of ones whose shapes have extents of `extent`; the same records must come again. */
static weft_report run_twice(const char *text, int64_t extent, const char *runtime, recorder *out_recorder)
{
    enum { MOST_INPUTS = 4 };
    weft_program *program = compile(text);
    weft_executor *executor;
    weft_array *inputs[MOST_INPUTS];
    weft_report report;
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 2}, &executor));
    int64_t shape[WEFT_MAX_RANK];
    for (size_t i = 0; i < WEFT_MAX_RANK; i++) shape[i] = extent;
    size_t input_count = weft_program_input_count(program);
    for (size_t i = 0; i < input_count; i++) {
        weft_test_ok(weft_array_create(NULL, weft_program_input_dtype(program, i), weft_program_input_rank(program, i),
                                       shape, &inputs[i]));
        size_t size = (size_t)weft_array_count(inputs[i]) * weft_dtype_size(weft_array_dtype(inputs[i]));
        memset(weft_array_data(inputs[i]), 0, size);
    }
    size_t counts[2];
    for (int round = 0; round < 2; round++) {
        weft_array *output = NULL;
        *out_recorder = (recorder){.count = 0};
        weft_profile profile = {.self = out_recorder, .record = record};
        weft_run run = {.runtime = runtime,
                        .input_count = input_count,
                        .inputs = inputs,
                        .output_count = 1,
                        .outputs = &output,
                        .report = &report,
                        .profile = &profile};
        weft_test_ok(weft_executor_run(executor, program, &run));
        counts[round] = out_recorder->count;
        run.profile = &(weft_profile){0};
        run.report = NULL;
        weft_test_fails(weft_executor_run(executor, program, &run), WEFT_INVALID_ARGUMENT,
                        "profile has no record function");
        weft_array_release(output);
    }
    assert_int_equal(counts[0], counts[1]);
    for (size_t i = 0; i < input_count; i++) weft_array_release(inputs[i]);
    weft_executor_destroy(executor);
    weft_program_release(program);
    return report;
}

static void check(const recorder *r, size_t i, const char *name, weft_profile_kind kind, double bytes, double flops)
{
    assert_string_equal(r->names[i], name);
    assert_int_equal(r->records[i].kind, kind);
    assert_int_equal(r->records[i].step, i);
    assert_int_equal(r->records[i].depth, 0);
    assert_true(r->records[i].bytes == bytes);
    assert_true(r->records[i].flops == flops);
}

static const char three_steps[] =
    "weft 0.1\n"
    "symbol n in [1, 4096]\n"
    "graph {\n"
    "  %a = input() {name = \"a\", dtype = f32, shape = [n, n]}\n"
    "  %b = input() {name = \"b\", dtype = f32, shape = [n, n]}\n"
    "  %s = add(%a, %b)\n"
    "  %p = dot(%s, %b) {batch_a = [], batch_b = [], contract_a = [1], contract_b = [0]}\n"
    "  %q = mul(%p, %p)\n"
    "  %y = reduce_sum(%q) {axes = [1]}\n"
    "  return y = %y\n"
    "}\n";

static void tells_each_step(void **state)
{
    (void)state;
    enum { N = 96 };
    recorder r;
    const double square = (double)N * N;
    weft_report report = run_twice(three_steps, N, "llvm", &r);
    assert_int_equal(r.count, 3);
    assert_int_equal(report.steps, 3);
    check(&r, 0, "add", WEFT_PROFILE_KERNEL, 12 * square, square);
    check(&r, 1, "dot", WEFT_PROFILE_PRODUCT, 12 * square, 2 * N * square);
    check(&r, 2, "reduce_sum", WEFT_PROFILE_KERNEL, 4 * square + 4 * N, 2 * square);
}

/* Sum, sum of squares and result of a row are stages; what lies between them is computed once for each row. */
static void layer_norm_is_one_kernel(void **state)
{
    (void)state;
    enum { N = 96 };
    recorder r;
    weft_graph *graph;
    char *text;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_extent n = weft_symbol(graph, "n", 1, 4096);
    weft_tensor x = weft_input(graph, "a", WEFT_F32, WEFT_SHAPE(n, n));
    weft_test_ok(weft_graph_print(WEFT_TENSORS(weft_layer_norm(x, 1, NULL)), &text));
    weft_graph_destroy(graph);
    weft_report report = run_twice(text, N, "llvm", &r);
    weft_text_destroy(text);
    assert_int_equal(report.steps, 1);
    assert_int_equal(r.records[0].kind, WEFT_PROFILE_KERNEL);
}

static void times_follow_each_other(void **state)
{
    (void)state;
    recorder r;
    int64_t sum = 0;
    weft_report report = run_twice(three_steps, 200, "llvm", &r);
    for (size_t i = 0; i < r.count; i++) {
        assert_true(r.records[i].begin_ns <= r.records[i].end_ns);
        assert_true(i == 0 || r.records[i - 1].end_ns <= r.records[i].begin_ns);
        sum += r.records[i].end_ns - r.records[i].begin_ns;
    }
    assert_true(sum > 0 && sum <= report.run_ns);
}

/* Steps of a region come one deeper, as often as they ran, and before it. */
static void steps_of_a_region_are_told(void **state)
{
    (void)state;
    enum { N = 32, TRIPS = 3 };
    recorder r;
    run_twice("weft 0.1\n"
              "graph {\n"
              "  %a = input() {name = \"a\", dtype = f32, shape = [32, 32]}\n"
              "  %y = fold(%a) {trips = 3, carried = 1} body (%k : i64[], %x : f32[32, 32]) {\n"
              "    %0 = add(%x, %x)\n"
              "    yield %0\n"
              "  }\n"
              "  return y = %y\n"
              "}\n",
              N, "llvm", &r);
    const weft_profile_record *last = &r.records[r.count - 1];
    assert_int_equal(r.count, TRIPS + 1);
    assert_int_equal(last->kind, WEFT_PROFILE_REGION);
    assert_int_equal(last->depth, 0);
    for (size_t i = 0; i < TRIPS; i++) {
        assert_int_equal(r.records[i].depth, 1);
        assert_true(r.records[i].flops == (double)N * N);
        assert_true(r.records[i].begin_ns >= last->begin_ns && r.records[i].end_ns <= last->end_ns);
    }
}

/* An instruction of a function is one, as is one of an fma's two. */
static void functions_count_what_they_are_made_of(void **state)
{
    (void)state;
    enum { N = 64 };
    recorder r;
    run_twice("weft 0.1\n"
              "graph {\n"
              "  %a = input() {name = \"a\", dtype = f32, shape = [64, 64]}\n"
              "  %y = exp(%a)\n"
              "  return y = %y\n"
              "}\n",
              N, "llvm", &r);
    assert_int_equal(r.count, 1);
    assert_true(r.records[0].bytes == 8.0 * N * N);
    assert_true(r.records[0].flops >= 8.0 * N * N && r.records[0].flops <= 100.0 * N * N);
}

/* A sum of complex numbers is two, a comparison none. */
static void parts_count_and_comparisons_do_not(void **state)
{
    (void)state;
    enum { N = 64 };
    recorder r;
    run_twice("weft 0.1\n"
              "graph {\n"
              "  %a = input() {name = \"a\", dtype = c64, shape = [64]}\n"
              "  %b = input() {name = \"b\", dtype = c64, shape = [64]}\n"
              "  %s = add(%a, %b)\n"
              "  %r = real(%a)\n"
              "  %i = imag(%b)\n"
              "  %q = lt(%r, %i)\n"
              "  %y = select(%q, %s, %a)\n"
              "  return y = %y\n"
              "}\n",
              N, "llvm", &r);
    assert_int_equal(r.count, 1);
    assert_true(r.records[0].flops == 2.0 * N);
}

/* Rows of a table count as often as they are read, not the whole table. */
static void a_table_counts_as_far_as_it_is_read(void **state)
{
    (void)state;
    enum { N = 8, TABLE = 10000 };
    recorder r;
    run_twice("weft 0.1\n"
              "graph {\n"
              "  %t = iota() {dtype = f32, shape = [10000, 8], axis = 0}\n"
              "  %i = input() {name = \"i\", dtype = i64, shape = [8]}\n"
              "  %f = reduce_sum(%t) {axes = [1]}\n"
              "  %y = gather(%f, %i) {axes = [0], batch = []}\n"
              "  return y = %y\n"
              "}\n",
              N, "llvm", &r);
    const weft_profile_record *last = &r.records[r.count - 1];
    assert_true(last->bytes <= 4.0 * N + 8.0 * N + 4.0 * N);
}

static void a_host_step_tells_its_arrays(void **state)
{
    (void)state;
    enum { N = 16 };
    recorder r;
    run_twice(three_steps, N, "ref", &r);
    assert_int_equal(r.count, 1);
    check(&r, 0, "reference", WEFT_PROFILE_HOST, 8.0 * N * N + 4.0 * N, 0);
}

static void a_step_that_fails_is_not_told(void **state)
{
    (void)state;
    recorder r = {.count = 0};
    int64_t index[2] = {0, 7}, shape = 2;
    weft_program *program = compile("weft 0.1\n"
                                    "graph {\n"
                                    "  %a = input() {name = \"a\", dtype = i64, shape = [2]}\n"
                                    "  %y = gather(%a, %a) {axes = [0], batch = []}\n"
                                    "  return y = %y\n"
                                    "}\n");
    weft_executor *executor;
    weft_array *input, *output = NULL;
    weft_test_ok(weft_executor_create_standard(NULL, &executor));
    weft_test_ok(weft_array_wrap(NULL, WEFT_I64, 1, &shape, NULL, index, NULL, NULL, &input));
    weft_profile profile = {.self = &r, .record = record};
    weft_run run = {.input_count = 1, .inputs = &input, .output_count = 1, .outputs = &output, .profile = &profile};
    weft_test_fails(weft_executor_run(executor, program, &run), WEFT_DATA_ERROR, "7");
    assert_int_equal(r.count, 0);
    run.profile = NULL;
    index[1] = 1;
    weft_test_ok(weft_executor_run(executor, program, &run));
    assert_int_equal(r.count, 0);
    weft_array_release(output);
    weft_array_release(input);
    weft_executor_destroy(executor);
    weft_program_release(program);
}

/* ---- arrays of nothing ---- */

static void run_nothing(weft_executor *executor, weft_program *program, const char *runtime, const int64_t *shape)
{
    recorder records = {.count = 0};
    weft_profile profile = {.self = &records, .record = record};
    weft_array *input, *outputs[3] = {NULL, NULL, NULL};
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 3, shape, &input));
    weft_test_ok(weft_executor_run(executor, program,
                                   &(weft_run){.runtime = runtime,
                                               .input_count = 1,
                                               .inputs = &input,
                                               .output_count = 3,
                                               .outputs = outputs,
                                               .profile = &profile}));
    assert_int_equal(weft_array_count(outputs[0]), 0);
    assert_true(*(float *)weft_array_data(outputs[1]) == 0);
    for (size_t i = 0; i < records.count; i++) assert_true(records.records[i].flops == 0);
    for (size_t i = 0; i < 3; i++) weft_array_release(outputs[i]);
    weft_array_release(input);
}

/* However large the other extents are, in whatever order formulas multiply them. */
static void nothing_may_have_any_shape(void **state)
{
    (void)state;
    static const char text[] = "weft 0.1\n"
                               "symbol a in [0, 2199023255552]\n"
                               "symbol b in [0, 2199023255552]\n"
                               "symbol c in [0, 2199023255552]\n"
                               "graph {\n"
                               "  %x = input() {name = \"x\", dtype = f32, shape = [a, b, c]} : f32[a, b, c]\n"
                               "  %y = neg(%x)\n"
                               "  %z = reduce_sum(%x) {axes = [0, 1, 2]}\n"
                               "  %s = sort(%x) {axis = 1, descending = false}\n"
                               "  return %y, %z, %s\n"
                               "}\n";
    int64_t huge = INT64_C(1) << 40;
    weft_program *program = compile(text);
    weft_executor *executor;
    weft_test_ok(weft_executor_create_standard(NULL, &executor));
    for (size_t axis = 0; axis < 3; axis++) {
        int64_t shape[3] = {huge, huge, huge};
        shape[axis] = 0;
        run_nothing(executor, program, "llvm", shape);
        run_nothing(executor, program, "ref", shape);
    }
    weft_program_release(program);
    weft_executor_destroy(executor);
}

/* Static strides are part of the code, except where there are no elements. */
static void run_huge(const char *extent, const char *refusal)
{
    static const char text[] =
        "weft 0.1\n"
        "symbol n in [0, 1]\n"
        "graph {\n"
        "  %%x = input() {name = \"x\", dtype = f32, shape = [%s, 1099511627776, 1099511627776]}\n"
        "  %%y = exp(%%x)\n"
        "  return %%y\n"
        "}\n";
    char whole[sizeof text + 8];
    snprintf(whole, sizeof whole, text, extent);
    weft_program *program = compile(whole);
    weft_executor *executor;
    weft_array *input, *output = NULL;
    weft_test_ok(weft_executor_create_standard(NULL, &executor));
    weft_test_ok(
        weft_array_create(NULL, WEFT_F32, 3, (const int64_t[]){0, INT64_C(1) << 40, INT64_C(1) << 40}, &input));
    weft_run run = {.input_count = 1, .inputs = &input, .output_count = 1, .outputs = &output};
    weft_status *status = weft_executor_run(executor, program, &run);
    if (refusal == NULL) weft_test_ok(status);
    else weft_test_fails(status, WEFT_OUT_OF_RANGE, refusal);
    weft_array_release(output);
    weft_array_release(input);
    weft_program_release(program);
    weft_executor_destroy(executor);
}

static void static_strides_must_fit(void **state)
{
    (void)state;
    run_huge("0", NULL);
    run_huge("n",
             "x: the strides of an array of type f32[n, 1099511627776, 1099511627776] overflow 64 bits (profile:4)");
}

/* ---- callbacks that use the executor ---- */

typedef struct nested {
    weft_executor *executor;
    weft_program *program;
    const char *runtime;
    int depth, runs;
} nested;

static void run_nested(void *self, const weft_profile_record *record);

/* Three iterations that double the input. */
static void run_checked(nested *n)
{
    float data[4] = {0, 1, 2, 3};
    weft_array *input, *output = NULL;
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 1, (const int64_t[]){4}, NULL, data, NULL, NULL, &input));
    weft_test_ok(weft_executor_run(n->executor, n->program,
                                   &(weft_run){.runtime = n->runtime,
                                               .input_count = 1,
                                               .inputs = &input,
                                               .output_count = 1,
                                               .outputs = &output,
                                               .profile = &(weft_profile){n, run_nested}}));
    for (int i = 0; i < 4; i++) assert_true(((float *)weft_array_data(output))[i] == 8 * data[i]);
    weft_array_release(input);
    weft_array_release(output);
    n->runs++;
}

static void run_nested(void *self, const weft_profile_record *record)
{
    nested *n = self;
    (void)record;
    if (n->depth == 3) return;
    n->depth++;
    run_checked(n);
    weft_executor_clear(n->executor);
    n->depth--;
}

static void run_released(void *context)
{
    run_checked(context);
}

static void callbacks_may_use_the_executor(void **state)
{
    (void)state;
    static const char *const runtimes[] = {"llvm", "ref"};
    for (size_t i = 0; i < 2; i++) {
        nested n = {.program = compile("weft 0.1\n"
                                       "graph {\n"
                                       "  %a = input() {name = \"a\", dtype = f32, shape = [4]}\n"
                                       "  %y = fold(%a) {trips = 3, carried = 1} body (%k : i64[], %x : f32[4]) {\n"
                                       "    %0 = add(%x, %x)\n"
                                       "    yield %0\n"
                                       "  }\n"
                                       "  return y = %y\n"
                                       "}\n"),
                    .runtime = runtimes[i]};
        weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 2}, &n.executor));
        run_checked(&n);
        assert_true(n.runs > 3 && n.depth == 0);
        weft_array *array;
        float datum = 0;
        int before = n.runs;
        weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 0, NULL, NULL, &datum, run_released, &n, &array));
        weft_array_release(array);
        assert_true(n.runs > before);
        weft_program_release(n.program);
        weft_executor_destroy(n.executor);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_each_step),
        cmocka_unit_test(layer_norm_is_one_kernel),
        cmocka_unit_test(times_follow_each_other),
        cmocka_unit_test(steps_of_a_region_are_told),
        cmocka_unit_test(functions_count_what_they_are_made_of),
        cmocka_unit_test(parts_count_and_comparisons_do_not),
        cmocka_unit_test(a_table_counts_as_far_as_it_is_read),
        cmocka_unit_test(a_host_step_tells_its_arrays),
        cmocka_unit_test(a_step_that_fails_is_not_told),
        cmocka_unit_test(nothing_may_have_any_shape),
        cmocka_unit_test(static_strides_must_fit),
        cmocka_unit_test(callbacks_may_use_the_executor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
