/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules that are given, kept as text and found by measuring. Bits never depend on them. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <weft/object.h>
#include <weft/weft.h>
#include "test/support.h"

enum { MOST_INPUTS = 3 };

/* ---- programs ---- */

typedef weft_tensor (*trace)(weft_graph *graph);

static weft_tensor input(weft_graph *graph, const char *name, weft_dtype dtype, int64_t rows, int64_t columns)
{
    return weft_input(graph, name, dtype, WEFT_SHAPE(rows, columns));
}

static weft_tensor trace_chain(weft_graph *graph)
{
    weft_tensor x = input(graph, "x", WEFT_F32, 37, 211);
    return weft_add(weft_exp(x), weft_mul(x, x));
}

static weft_tensor trace_symbolic(weft_graph *graph)
{
    weft_tensor x = weft_input(graph, "x", WEFT_F64, WEFT_SHAPE(weft_symbol(graph, "n", 1, 10000), 33));
    return weft_softmax(x, 1);
}

static weft_tensor trace_transposed(weft_graph *graph)
{
    weft_tensor x = input(graph, "x", WEFT_F32, 96, 160), y = input(graph, "y", WEFT_F32, 160, 96);
    return weft_add(x, weft_permute(y, WEFT_INTS(1, 0)));
}

static weft_tensor trace_short_axes(weft_graph *graph)
{
    weft_tensor x = weft_input(graph, "x", WEFT_I32, WEFT_SHAPE(4, 3, 2, 5, 8, 3, 2));
    return weft_neg(weft_permute(x, WEFT_INTS(6, 2, 0, 4, 1, 5, 3)));
}

static weft_tensor trace_columns(weft_graph *graph)
{
    return weft_reduce_sum(input(graph, "x", WEFT_F32, 301, 203), WEFT_INTS(0), false);
}

static weft_tensor trace_rows(weft_graph *graph)
{
    return weft_reduce_max(input(graph, "x", WEFT_BF16, 31, 1003), WEFT_INTS(1), false);
}

static weft_tensor trace_complex(weft_graph *graph)
{
    weft_tensor x = input(graph, "x", WEFT_C64, 40, 50);
    return weft_reduce_sum(weft_mul(x, x), WEFT_INTS(1), false);
}

static weft_tensor trace_outer_sums(weft_graph *graph)
{
    weft_tensor x = weft_input(graph, "x", WEFT_I64, WEFT_SHAPE(6, 5, 7)),
                y = weft_input(graph, "y", WEFT_I64, WEFT_SHAPE(6, 7, 9));
    return weft_matmul(x, y);
}

/* Rows of one vector, of which two points of another range are computed together, one of them twice. */
static weft_tensor trace_outer_product(weft_graph *graph)
{
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(71, 6)),
                y = weft_input(graph, "y", WEFT_F32, WEFT_SHAPE(6, 51, 9));
    weft_tensor product = weft_dot(x, y, (weft_dot_axes){.contract_a = WEFT_INTS(1), .contract_b = WEFT_INTS(0)});
    return weft_permute(product, WEFT_INTS(1, 0, 2));
}

static weft_tensor trace_scatter(weft_graph *graph)
{
    weft_tensor x = input(graph, "x", WEFT_F32, 20, 300), updates = input(graph, "y", WEFT_F32, 64, 300);
    weft_tensor at = weft_remainder(weft_iota(graph, WEFT_I64, WEFT_SHAPE(64), 0), 20);
    return weft_scatter(x, WEFT_TENSORS(at), WEFT_INTS(0), updates, WEFT_SCATTER_ADD);
}

static weft_tensor trace_joined(weft_graph *graph)
{
    weft_tensor x = input(graph, "x", WEFT_U8, 33, 77), y = input(graph, "y", WEFT_U8, 33, 91);
    return weft_concat(WEFT_TENSORS(x, y), 1);
}

static weft_tensor trace_scan(weft_graph *graph)
{
    return weft_cumsum(input(graph, "x", WEFT_F32, 70, 90), 1, false, false);
}

static weft_program *compile(trace make)
{
    weft_graph *graph;
    weft_program *program;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor output = make(graph);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(output), NULL, &program));
    weft_graph_destroy(graph);
    return program;
}

/* ---- arrays ---- */

typedef struct arrays {
    size_t count;
    weft_array *items[MOST_INPUTS];
} arrays;

/* Random bytes whose floats are small numbers; symbols are `symbol`. */
static void fill(weft_array *array)
{
    static uint32_t state = 1;
    weft_dtype dtype = weft_array_dtype(array);
    size_t size = (size_t)weft_array_count(array) * weft_dtype_size(dtype);
    unsigned char *bytes = weft_array_data(array);
    for (size_t i = 0; i < size; i++) {
        state = state * 1664525 + 1013904223;
        bytes[i] = (unsigned char)(state >> 24);
    }
    size_t exponent = dtype == WEFT_F64 ? 8 : dtype == WEFT_BF16 ? 2 : 4;
    if (weft_dtype_info_of(dtype)->kind != WEFT_KIND_FLOAT && weft_dtype_info_of(dtype)->kind != WEFT_KIND_COMPLEX)
        return;
    for (size_t i = exponent - 1; i < size; i += exponent) bytes[i] = (unsigned char)(bytes[i] & 0x80) | 0x3f;
}

static arrays create_inputs(const weft_program *program, const int64_t (*shapes)[8])
{
    arrays made = {.count = weft_program_input_count(program)};
    for (size_t i = 0; i < made.count; i++) {
        weft_test_ok(weft_array_create(NULL, weft_program_input_dtype(program, i), weft_program_input_rank(program, i),
                                       shapes[i], &made.items[i]));
        fill(made.items[i]);
    }
    return made;
}

static void release(arrays *a)
{
    for (size_t i = 0; i < a->count; i++) weft_array_release(a->items[i]);
}

static weft_array *run(weft_executor *executor, weft_program *program, const arrays *inputs,
                       const weft_profile *profile)
{
    weft_array *output = NULL;
    weft_test_ok(weft_executor_run(executor, program,
                                   &(weft_run){.input_count = inputs->count,
                                               .inputs = inputs->items,
                                               .output_count = 1,
                                               .outputs = &output,
                                               .profile = profile}));
    return output;
}

/* ---- tests ---- */

typedef struct subject {
    trace make;
    int64_t shapes[MOST_INPUTS][8];
    size_t least_tried;
} subject;

static const subject subjects[] = {
    {trace_chain, {{37, 211}}, 3},
    {trace_symbolic, {{29, 33}}, 1},
    {trace_transposed, {{96, 160}, {160, 96}}, 3},
    {trace_short_axes, {{4, 3, 2, 5, 8, 3, 2}}, 2},
    {trace_columns, {{301, 203}}, 3},
    {trace_rows, {{31, 1003}}, 1},
    {trace_complex, {{40, 50}}, 1},
    {trace_outer_sums, {{6, 5, 7}, {6, 7, 9}}, 2},
    {trace_outer_product, {{71, 6}, {6, 51, 9}}, 2},
    {trace_scatter, {{20, 300}, {64, 300}}, 2},
    {trace_joined, {{33, 77}, {33, 91}}, 2},
    {trace_scan, {{70, 90}}, 0},
};

/* weft_tune compares the bits itself, for each schedule. */
static void test_every_schedule_gives_the_same_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        weft_program *program = compile(subjects[i].make);
        arrays inputs = create_inputs(program, subjects[i].shapes);
        weft_schedules *schedules;
        weft_tune_report report;
        weft_test_ok(weft_schedules_create(NULL, &schedules));
        const weft_run run = {.input_count = inputs.count, .inputs = inputs.items};
        const weft_tune_options options = {.executor = {.threads = 1 + i % 2}, .seconds = 1000};
        weft_test_ok(weft_tune(program, &run, &options, schedules, &report));
        if (report.kernels < 1 || report.tried < subjects[i].least_tried)
            fail_msg("program %zu: %zu schedules tried for %zu kernels", i, report.tried, report.kernels);
        assert_int_equal(report.improved, weft_schedules_count(schedules));
        assert_true(report.best_ns > 0 && report.best_ns <= report.ruled_ns);
        weft_schedules_destroy(schedules);
        release(&inputs);
        weft_program_release(program);
    }
}

static weft_tensor trace_sums(weft_graph *graph)
{
    weft_tensor x = input(graph, "x", WEFT_F32, 64, 64), y = input(graph, "y", WEFT_F32, 64, 64);
    return weft_reduce_sum(weft_add(x, y), WEFT_INTS(1), false);
}

/* Which of two NaNs an addition returns may depend on the schedule. */
static void test_nans_are_equal(void **state)
{
    (void)state;
    static const uint32_t nans[] = {0x7fc00001, 0xffc00002, 0x7fc12345};
    weft_program *program = compile(trace_sums);
    arrays inputs = create_inputs(program, (const int64_t[][8]){{64, 64}, {64, 64}});
    for (size_t i = 0; i < inputs.count; i++) {
        uint32_t *numbers = weft_array_data(inputs.items[i]);
        for (size_t j = 0; j < (size_t)64 * 64; j += 5 + 2 * i) numbers[j] = nans[(i + j) % 3];
    }
    weft_schedules *schedules;
    weft_test_ok(weft_schedules_create(NULL, &schedules));
    const weft_run run = {.input_count = inputs.count, .inputs = inputs.items};
    weft_test_ok(weft_tune(program, &run, &(weft_tune_options){.seconds = 1000}, schedules, NULL));
    weft_schedules_destroy(schedules);
    release(&inputs);
    weft_program_release(program);
}

static const char columns[] = "split i0 16; lanes i1 8 x 2";

static void record(void *self, const weft_profile_record *record)
{
    *(uint64_t *)self = record->kernel;
}

static void test_a_given_schedule_is_used(void **state)
{
    (void)state;
    weft_program *program = compile(trace_columns);
    arrays inputs = create_inputs(program, (const int64_t[][8]){{301, 203}});
    weft_schedules *schedules;
    weft_executor *executor, *plain;
    char *text;
    uint64_t key = 0, none = 1;
    weft_test_ok(weft_schedules_create(NULL, &schedules));
    weft_test_ok(weft_program_emit(program, WEFT_EMIT_SCHEDULED, NULL, NULL, &text));
    assert_null(strstr(text, "for i0 < 13 thread"));
    weft_text_destroy(text);
    weft_test_ok(weft_schedules_set(schedules, program, 0, columns));
    assert_int_equal(weft_schedules_count(schedules), 1);
    weft_test_ok(weft_program_emit(program, WEFT_EMIT_SCHEDULED, NULL, schedules, &text));
    assert_non_null(strstr(text, "for i0 < 13 thread\n"));
    assert_non_null(strstr(text, "lane 8 x 2\n"));
    weft_text_destroy(text);
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.schedules = schedules}, &executor));
    weft_test_ok(weft_executor_create_standard(NULL, &plain));
    weft_array *given = run(executor, program, &inputs, &(weft_profile){&key, record});
    weft_array *ruled = run(plain, program, &inputs, &(weft_profile){&none, record});
    assert_true(key != 0 && none == 0);
    assert_memory_equal(weft_array_data(given), weft_array_data(ruled), 203 * sizeof(float));
    weft_array_release(given);
    weft_array_release(ruled);
    weft_executor_destroy(executor);
    weft_executor_destroy(plain);
    weft_schedules_destroy(schedules);
    release(&inputs);
    weft_program_release(program);
}

static void test_schedules_are_printed_for_a_machine(void **state)
{
    (void)state;
    weft_program *program = compile(trace_columns);
    weft_machine machine = *weft_machine_reference();
    char *text;
    machine.vector_bytes = 16;
    weft_test_ok(weft_program_emit(program, WEFT_EMIT_SCHEDULED, &machine, NULL, &text));
    assert_non_null(strstr(text, "lane 4 x "));
    weft_text_destroy(text);
    machine.registers = 1;
    weft_test_fails(weft_program_emit(program, WEFT_EMIT_SCHEDULED, &machine, NULL, &text), WEFT_INVALID_ARGUMENT,
                    "registers of the machine is 1, not an integer from 8 to 1024");
    weft_test_fails(weft_program_emit(program, WEFT_EMIT_ASM, &(weft_machine){0}, NULL, &text), WEFT_INVALID_ARGUMENT,
                    "of the machine is");
    machine = *weft_machine_reference();
    machine.device = WEFT_DEVICE_CUDA;
    weft_test_fails(weft_program_emit(program, WEFT_EMIT_SCHEDULED, &machine, NULL, &text), WEFT_INVALID_ARGUMENT,
                    "the machine is device 2, not the CPU");
    weft_program_release(program);
}

static weft_tensor trace_turned_matrices(weft_graph *graph)
{
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(64, 40, 16));
    return weft_permute(weft_reduce_max(x, WEFT_INTS(1), false), WEFT_INTS(1, 0));
}

static weft_tensor trace_rows_as_columns(weft_graph *graph)
{
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(100, 500));
    return weft_reduce_max(weft_permute(x, WEFT_INTS(1, 0)), WEFT_INTS(0), false);
}

/* Where results lie in another order than what is reduced, or its axes are permuted, lanes go along what is read. */
static void test_lanes_go_along_what_is_reduced(void **state)
{
    (void)state;
    static const trace traces[] = {trace_turned_matrices, trace_rows_as_columns};
    static const char *const lanes[] = {"for i1 < 16 lane", "for i1 < 500 reduce lanes"};
    for (int i = 0; i < 2; i++) {
        weft_program *program = compile(traces[i]);
        char *text;
        weft_test_ok(weft_program_emit(program, WEFT_EMIT_SCHEDULED, NULL, NULL, &text));
        assert_non_null(strstr(text, lanes[i]));
        weft_text_destroy(text);
        weft_program_release(program);
    }
}

static weft_tensor trace_softmax_of_columns(weft_graph *graph)
{
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(100, 500));
    return weft_softmax(weft_permute(x, WEFT_INTS(1, 0)), 0);
}

/* Beside sums in order, across rows, what is reduced in any order is not along them: no stage is without lanes. Few
 * vectors of rows are read at once. */
static void test_lanes_agree(void **state)
{
    (void)state;
    weft_program *program = compile(trace_softmax_of_columns);
    char *text;
    weft_test_ok(weft_program_emit(program, WEFT_EMIT_SCHEDULED, NULL, NULL, &text));
    assert_null(strstr(text, "reduce lanes"));
    bool is_short = weft_machine_host()->vector_bytes < 32;
    if (!is_short) assert_non_null(strstr(text, " x 2"));
    weft_text_destroy(text);
    weft_program_release(program);
}

static weft_tensor trace_triangle(weft_graph *graph)
{
    return weft_tril(weft_input(graph, "x", WEFT_U8, WEFT_SHAPE(100, 1000)), 0);
}

/* Positions that make a mask are in no lanes: those of bytes are as many as of elements of two. */
static void test_masks_take_no_lanes(void **state)
{
    (void)state;
    weft_program *program = compile(trace_triangle);
    weft_machine machine = *weft_machine_host();
    char *text;
    machine.vector_bytes = 64;
    weft_test_ok(weft_program_emit(program, WEFT_EMIT_SCHEDULED, &machine, NULL, &text));
    assert_non_null(strstr(text, " lane 32 x"));
    weft_text_destroy(text);
    weft_program_release(program);
}

/* A program with a schedule for one of its kernels, and with those of the rules. */
static void check_given(trace make, const int64_t (*shapes)[8], size_t kernel, const char *moves)
{
    weft_program *program = compile(make);
    arrays inputs = create_inputs(program, shapes);
    weft_schedules *schedules;
    weft_executor *executors[2];
    weft_array *outputs[2];
    weft_test_ok(weft_schedules_create(NULL, &schedules));
    weft_test_ok(weft_schedules_set(schedules, program, kernel, moves));
    for (int i = 0; i < 2; i++) {
        const weft_executor_options options = {.schedules = i == 0 ? schedules : NULL};
        weft_test_ok(weft_executor_create_standard(&options, &executors[i]));
        outputs[i] = run(executors[i], program, &inputs, NULL);
    }
    size_t size = (size_t)weft_array_count(outputs[0]) * weft_dtype_size(weft_array_dtype(outputs[0]));
    assert_memory_equal(weft_array_data(outputs[0]), weft_array_data(outputs[1]), size);
    for (int i = 0; i < 2; i++) {
        weft_array_release(outputs[i]);
        weft_executor_destroy(executors[i]);
    }
    weft_schedules_destroy(schedules);
    release(&inputs);
    weft_program_release(program);
}

static weft_tensor trace_small_transposed(weft_graph *graph)
{
    weft_tensor x = input(graph, "x", WEFT_F32, 3, 4), y = input(graph, "y", WEFT_F32, 4, 3);
    return weft_add(weft_permute(x, WEFT_INTS(1, 0)), y);
}

/* A local buffer of one element: its only address is the same everywhere, but not what is there. */
static void test_a_local_buffer_is_read_after_it_is_filled(void **state)
{
    (void)state;
    check_given(trace_small_transposed, (const int64_t[][8]){{3, 4}, {4, 3}}, 0,
                "tile 4 x 4 cut i1 3, lanes i1.1, read %0 i1.1");
}

static weft_tensor trace_update(weft_graph *graph)
{
    weft_tensor x = weft_exp(input(graph, "x", WEFT_C128, 20, 100)), y = input(graph, "y", WEFT_C128, 5, 64);
    weft_tensor at = weft_scalar(graph, WEFT_I64, 2);
    return weft_dynamic_update_slice(x, y, WEFT_TENSORS(at, at), WEFT_INTS(0, 1));
}

/* Vectors of 1024 bytes under a condition that lanes share: nothing is written where it does not hold. */
static void test_the_longest_vectors(void **state)
{
    (void)state;
    check_given(trace_update, (const int64_t[][8]){{20, 100}, {5, 64}}, 1, "lanes i1 64 x 1");
}

static void test_what_is_no_schedule_is_refused(void **state)
{
    (void)state;
    weft_program *program = compile(trace_columns);
    weft_schedules *schedules;
    weft_test_ok(weft_schedules_create(NULL, &schedules));
    weft_test_fails(weft_schedules_set(schedules, program, 1, columns), WEFT_OUT_OF_RANGE,
                    "there is no kernel 1; the number of the program's kernels is 1");
    weft_test_fails(
        weft_schedules_set(schedules, program, 0, "spilt i0 16"), WEFT_PARSE_ERROR,
        "schedule:1:1: expected fuse, split, reorder, sink, jam, lanes, transpose, seams, interleave, periods, "
        "parts, sweep, flatten, scan or tile, found 'spilt'");
    weft_test_fails(
        weft_schedules_set(schedules, program, 0, "split i0 16; lanes i0 8 x 2"), WEFT_INVALID_ARGUMENT,
        "move 2 of the schedule, \"lanes i0 8 x 2\": the range is not the last outer one, nor the last of its stage");
    assert_int_equal(weft_schedules_count(schedules), 0);
    weft_schedules_destroy(schedules);
    weft_program_release(program);
}

static void test_the_text_reads_back(void **state)
{
    (void)state;
    weft_program *program = compile(trace_columns);
    weft_schedules *schedules, *read;
    char *text, *again;
    bool foreign;
    weft_test_ok(weft_schedules_create(NULL, &schedules));
    weft_test_ok(weft_schedules_create(NULL, &read));
    weft_test_ok(weft_schedules_set(schedules, program, 0, columns));
    weft_test_ok(weft_schedules_text(schedules, &text));
    weft_test_ok(weft_schedules_parse(read, "file", text, strlen(text), &foreign));
    assert_false(foreign);
    weft_test_ok(weft_schedules_text(read, &again));
    assert_string_equal(text, again);
    weft_text_destroy(again);
    /* Of another version. */
    *strstr(text, "weft 0") = 'W';
    weft_schedules *none;
    weft_test_ok(weft_schedules_create(NULL, &none));
    weft_test_ok(weft_schedules_parse(none, "file", text, strlen(text), &foreign));
    assert_true(foreign);
    assert_int_equal(weft_schedules_count(none), 0);
    weft_text_destroy(text);
    weft_schedules_destroy(none);
    weft_schedules_destroy(read);
    weft_schedules_destroy(schedules);
    weft_program_release(program);
}

/* A text with the target of this machine and one line after it. */
static weft_status *parse_line(weft_schedules *schedules, const char *line)
{
    char *text, whole[2048];
    weft_schedules *none;
    weft_test_ok(weft_schedules_create(NULL, &none));
    weft_test_ok(weft_schedules_text(none, &text));
    snprintf(whole, sizeof whole, "%s%s", text, line);
    weft_text_destroy(text);
    weft_schedules_destroy(none);
    return weft_schedules_parse(schedules, "file", whole, strlen(whole), NULL);
}

static void test_what_is_wrong_with_a_text_is_said(void **state)
{
    (void)state;
    weft_schedules *s;
    weft_test_ok(weft_schedules_create(NULL, &s));
    weft_test_fails(weft_schedules_parse(s, "file", "", 0, NULL), WEFT_PARSE_ERROR, "file:1:1: expected 'schedules'");
    weft_test_fails(weft_schedules_parse(s, "file", "schedules 0.0", 13, NULL), WEFT_VERSION_MISMATCH,
                    "file:1:11: the text is of version 0.0");
    weft_test_fails(weft_schedules_parse(s, "file", "schedules 0.1\0", 14, NULL), WEFT_PARSE_ERROR,
                    "file: byte 13 is NUL");
    weft_test_fails(parse_line(s, "kernel 1"), WEFT_PARSE_ERROR, "file:3:8: expected the key of a kernel, found '1'");
    weft_test_fails(parse_line(s, "kernel \"12\" \"\""), WEFT_PARSE_ERROR,
                    "file:3:8: the key of a kernel has 16 hexadecimal digits");
    weft_test_fails(parse_line(s, "kernel \"0123456789abcdef\" \"jam i0\""), WEFT_PARSE_ERROR,
                    "file:3:27: schedule:1:7: expected a number of points");
    weft_test_fails(parse_line(s, "kernel \"0123456789abcdef\" \"\"\nkernel"), WEFT_PARSE_ERROR, "file:4:7: expected");
    assert_int_equal(weft_schedules_count(s), 0);
    weft_test_ok(parse_line(s, "kernel \"0123456789abcdef\" \"\" # none\n"));
    assert_int_equal(weft_schedules_count(s), 1);
    weft_schedules_destroy(s);
}

static void check_where(weft_status *status, const char *where)
{
    assert_non_null(status);
    assert_string_equal(weft_status_where(status), where);
    weft_status_destroy(status);
}

static void test_what_is_wrong_has_its_place(void **state)
{
    (void)state;
    weft_program *program = compile(trace_columns);
    weft_schedules *s;
    weft_test_ok(weft_schedules_create(NULL, &s));
    check_where(weft_schedules_set(s, program, 0, "spilt i0 16"), "weft_schedules_set");
    check_where(weft_schedules_set(s, program, 0, "split i0 16; lanes i0 8 x 2"), "weft_schedules_set");
    check_where(weft_schedules_parse(s, "file", "", 0, NULL), "weft_schedules_parse");
    check_where(parse_line(s, "kernel 1"), "weft_schedules_parse");
    weft_schedules_destroy(s);
    weft_program_release(program);
}

/* A kernel's schedule that is no longer right, as when somebody has changed the file. */
static void test_a_schedule_that_does_not_fit_is_an_error(void **state)
{
    (void)state;
    weft_program *program = compile(trace_columns);
    arrays inputs = create_inputs(program, (const int64_t[][8]){{301, 203}});
    weft_schedules *schedules;
    weft_executor *executor;
    weft_object *object;
    char *text;
    weft_array *output = NULL;
    weft_test_ok(weft_schedules_create(NULL, &schedules));
    weft_test_ok(weft_schedules_set(schedules, program, 0, columns));
    weft_test_ok(weft_schedules_text(schedules, &text));
    strstr(text, "lanes i1")[7] = '0';
    weft_test_ok(weft_schedules_parse(schedules, "file", text, strlen(text), NULL));
    weft_text_destroy(text);
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.schedules = schedules}, &executor));
    const weft_run given = {.input_count = 1, .inputs = inputs.items, .output_count = 1, .outputs = &output};
    weft_test_fails(
        weft_executor_run(executor, program, &given), WEFT_INVALID_ARGUMENT,
        "move 2 of the schedule, \"lanes i0 8 x 2\": the range is not the last outer one, nor the last of its stage");
    assert_null(output);
    check_where(weft_executor_run(executor, program, &given), "weft_executor_run");
    check_where(weft_program_emit(program, WEFT_EMIT_ASM, NULL, schedules, &text), "weft_program_emit");
    const weft_object_options options = {.name = "f", .isa = "native", .schedules = schedules};
    check_where(weft_object_create(program, &options, &object), "weft_object_create");
    weft_executor_destroy(executor);
    weft_schedules_destroy(schedules);
    release(&inputs);
    weft_program_release(program);
}

static void test_tuning_refuses_what_a_run_refuses(void **state)
{
    (void)state;
    weft_program *program = compile(trace_columns);
    arrays inputs = create_inputs(program, (const int64_t[][8]){{301, 203}});
    weft_schedules *schedules;
    weft_tune_report report;
    weft_test_ok(weft_schedules_create(NULL, &schedules));
    const weft_run none = {.input_count = 0};
    weft_test_fails(weft_tune(program, &none, NULL, schedules, &report), WEFT_INVALID_ARGUMENT, "1");
    weft_test_fails(weft_tune(program, &none, &(weft_tune_options){.seconds = -1}, schedules, NULL),
                    WEFT_INVALID_ARGUMENT, "-1 is no number of seconds");
    const bool cancelled = true;
    const weft_run stopped = {.input_count = 1, .inputs = inputs.items, .cancelled = &cancelled};
    weft_test_fails(weft_tune(program, &stopped, NULL, schedules, NULL), WEFT_CANCELLED, "");
    const weft_run reference = {.runtime = "ref", .input_count = 1, .inputs = inputs.items};
    weft_test_ok(weft_tune(program, &reference, NULL, schedules, &report));
    assert_int_equal(report.kernels, 0);
    assert_int_equal(weft_schedules_count(schedules), 0);
    weft_schedules_destroy(schedules);
    release(&inputs);
    weft_program_release(program);
}

/* ---- an op that counts the runs ---- */

static size_t run_count;

static weft_status *infer_counted(const weft_infer_context *context, weft_type *out_types)
{
    out_types[0] = context->inputs[0];
    return NULL;
}

static weft_status *count(const weft_kernel_context *context)
{
    (void)context;
    run_count++;
    return NULL;
}

static const weft_op_def counted_op = {.size = sizeof(weft_op_def),
                                       .name = "counted.run",
                                       .version = 1,
                                       .input_count = 1,
                                       .output_count = 1,
                                       .op_class = WEFT_CLASS_OPAQUE,
                                       .infer = infer_counted,
                                       .kernel = count};
static const weft_op_def *const counted_ops[] = {&counted_op};
static const weft_extension counted = {.size = sizeof(weft_extension),
                                       .abi_major = WEFT_ABI_MAJOR,
                                       .abi_minor = WEFT_ABI_MINOR,
                                       .family = "counted",
                                       .version = "1",
                                       .op_count = 1,
                                       .ops = counted_ops};

static weft_tensor trace_counted(weft_graph *graph)
{
    weft_test_ok(weft_graph_register(graph, &counted));
    weft_tensor sums = weft_reduce_sum(input(graph, "x", WEFT_F32, 301, 203), WEFT_INTS(0), false);
    return weft_trace(graph, "counted.run", WEFT_TENSORS(sums), NULL);
}

/* Where no schedule was tried there is none to be confirmed. */
static void test_time_that_is_up(void **state)
{
    (void)state;
    weft_program *program = compile(trace_counted);
    arrays inputs = create_inputs(program, (const int64_t[][8]){{301, 203}});
    weft_schedules *schedules;
    weft_tune_report report;
    weft_test_ok(weft_schedules_create(NULL, &schedules));
    const weft_run once = {.input_count = 1, .inputs = inputs.items};
    run_count = 0;
    weft_test_ok(weft_tune(program, &once, &(weft_tune_options){.seconds = 1e-9}, schedules, &report));
    assert_int_equal(run_count, 1);
    assert_int_equal(report.tried, 0);
    assert_true(report.kernels > 0 && report.ruled_ns > 0 && report.best_ns == report.ruled_ns);
    weft_schedules_destroy(schedules);
    release(&inputs);
    weft_program_release(program);
}

static weft_status *keep_and_print(const weft_allocator *allocator, void *context)
{
    weft_schedules *schedules;
    char *text = NULL;
    WEFT_TRY(weft_schedules_create(allocator, &schedules));
    weft_status *status = weft_schedules_set(schedules, context, 0, columns);
    if (status == NULL) status = weft_schedules_text(schedules, &text);
    if (status == NULL) status = weft_schedules_parse(schedules, "file", text, strlen(text), NULL);
    weft_text_destroy(text);
    weft_schedules_destroy(schedules);
    return status;
}

static void test_memory_that_ends(void **state)
{
    (void)state;
    weft_program *program = compile(trace_columns);
    weft_test_fail_each(keep_and_print, program);
    weft_program_release(program);
}

/* A machine may have longer vectors than the processor: nothing beyond the elements is read even so. The array is a
 * page between others that cannot be read. */
static void test_longer_vectors(void **state)
{
    (void)state;
    enum { PAGE = 4096, SIDE = 8 };
    static const int64_t axes[] = {2, 0, 1}, shifts[] = {4, 3, 2};
    char *pages = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
    int64_t *data = (int64_t *)(void *)(pages + PAGE);
    for (int64_t i = 0; i < SIDE * SIDE * SIDE; i++) data[i] = i;
    weft_graph *graph;
    weft_program *program;
    weft_executor *executor;
    weft_array *input, *output = NULL;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor x = weft_input(graph, "x", WEFT_I64, WEFT_SHAPE(SIDE, SIDE, SIDE));
    for (int i = 0; i < 3; i++) x = weft_roll(x, (weft_ints){1, &shifts[i]}, (weft_ints){1, &axes[i]});
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(weft_reshape(x, WEFT_SHAPE(PAGE / 8))), NULL, &program));
    weft_graph_destroy(graph);
    weft_machine machine = *weft_machine_host();
    machine.vector_bytes = 64;
    machine.cache_bytes[0] = machine.cache_bytes[1] = 4096;
    machine.line_bytes = 1024;
    const weft_executor_options options = {.threads = 1, .machine = &machine};
    weft_test_ok(weft_executor_create_standard(&options, &executor));
    weft_test_ok(weft_array_wrap(NULL, WEFT_I64, 3, (int64_t[]){SIDE, SIDE, SIDE}, NULL, data, NULL, NULL, &input));
    const weft_run run = {.input_count = 1, .inputs = &input, .output_count = 1, .outputs = &output};
    weft_test_ok(weft_executor_run(executor, program, &run));
    for (int64_t i = 0; i < SIDE * SIDE * SIDE; i++) {
        int64_t from[] = {i / 64, i / 8 % 8, i % 8};
        for (int k = 0; k < 3; k++) from[axes[k]] = (from[axes[k]] + SIDE - shifts[k]) % SIDE;
        assert_int_equal(((const int64_t *)weft_array_data(output))[i], from[0] * 64 + from[1] * 8 + from[2]);
    }
    weft_array_release(input);
    weft_array_release(output);
    weft_executor_destroy(executor);
    weft_program_release(program);
    munmap(pages, 3 * PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_longer_vectors),
        cmocka_unit_test(test_every_schedule_gives_the_same_bits),
        cmocka_unit_test(test_nans_are_equal),
        cmocka_unit_test(test_a_given_schedule_is_used),
        cmocka_unit_test(test_lanes_go_along_what_is_reduced),
        cmocka_unit_test(test_lanes_agree),
        cmocka_unit_test(test_masks_take_no_lanes),
        cmocka_unit_test(test_schedules_are_printed_for_a_machine),
        cmocka_unit_test(test_a_local_buffer_is_read_after_it_is_filled),
        cmocka_unit_test(test_the_longest_vectors),
        cmocka_unit_test(test_what_is_no_schedule_is_refused),
        cmocka_unit_test(test_the_text_reads_back),
        cmocka_unit_test(test_what_is_wrong_with_a_text_is_said),
        cmocka_unit_test(test_what_is_wrong_has_its_place),
        cmocka_unit_test(test_a_schedule_that_does_not_fit_is_an_error),
        cmocka_unit_test(test_tuning_refuses_what_a_run_refuses),
        cmocka_unit_test(test_time_that_is_up),
        cmocka_unit_test(test_memory_that_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
