/* SPDX-License-Identifier: Apache-2.0 */
/* Updates in place: of donated inputs, and of values that nobody reads any more. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <weft/weft.h>
#include "test/support.h"

enum { ROWS = 1000, WIDTH = 16, COUNT = ROWS * WIDTH, MOST = 3 };

/* What the steps of a run moved. */
typedef struct tally {
    size_t steps;
    double bytes;
    size_t peak_bytes;
} tally;

static void record(void *self, const weft_profile_record *record)
{
    tally *t = self;
    t->steps++;
    t->bytes += record->bytes;
}

/* A program over x: f32[1000, 16], row: f32[1, 16], at: i64[], and its arrays. */
typedef struct bench {
    weft_graph *graph;
    weft_tensor x, row, at;
    weft_executor *executor;
    weft_program *program;
    weft_array *inputs[3], *outputs[MOST];
    float *data; /* of x */
    size_t output_count;
} bench;

static void open_bench(bench *b)
{
    *b = (bench){.output_count = 0};
    weft_test_ok(weft_graph_create(NULL, &b->graph));
    weft_extent n = weft_symbol(b->graph, "n", 1, 1 << 20);
    b->x = weft_input(b->graph, "x", WEFT_F32, WEFT_SHAPE(n, WIDTH));
    b->row = weft_input(b->graph, "row", WEFT_F32, WEFT_SHAPE(1, WIDTH));
    b->at = weft_input(b->graph, "at", WEFT_I64, WEFT_SHAPE());
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 2}, &b->executor));
}

static void compile(bench *b, weft_tensors outputs)
{
    weft_test_ok(weft_compile(b->graph, outputs, NULL, &b->program));
    b->output_count = outputs.count;
    assert_int_equal(weft_program_input_count(b->program), 3);
}

static void fill_inputs(bench *b)
{
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 2, (const int64_t[]){ROWS, WIDTH}, &b->inputs[0]));
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 2, (const int64_t[]){1, WIDTH}, &b->inputs[1]));
    weft_test_ok(weft_array_create(NULL, WEFT_I64, 0, NULL, &b->inputs[2]));
    b->data = weft_array_data(b->inputs[0]);
    for (int i = 0; i < COUNT; i++) b->data[i] = (float)(i % 97);
    for (int i = 0; i < WIDTH; i++) ((float *)weft_array_data(b->inputs[1]))[i] = (float)(1000 + i);
    *(int64_t *)weft_array_data(b->inputs[2]) = 7;
}

static tally run(bench *b, const char *runtime, bool donated)
{
    const bool flags[3] = {donated, false, false};
    tally t = {0};
    weft_report report;
    weft_profile profile = {.self = &t, .record = record};
    weft_test_ok(weft_executor_run(b->executor, b->program,
                                   &(weft_run){.runtime = runtime,
                                               .input_count = 3,
                                               .inputs = b->inputs,
                                               .output_count = b->output_count,
                                               .outputs = b->outputs,
                                               .donated = flags,
                                               .report = &report,
                                               .profile = &profile}));
    t.peak_bytes = report.peak_bytes;
    return t;
}

static void drop_arrays(bench *b)
{
    for (size_t i = 0; i < 3; i++) weft_array_release(b->inputs[i]);
    for (size_t i = 0; i < b->output_count; i++) weft_array_release(b->outputs[i]);
    memset(b->outputs, 0, sizeof b->outputs);
}

static void close_bench(bench *b)
{
    weft_program_release(b->program);
    weft_executor_destroy(b->executor);
    weft_graph_destroy(b->graph);
}

static void expect_equal(const weft_array *x, const weft_array *y)
{
    size_t bytes = (size_t)weft_array_count(x) * weft_dtype_size(weft_array_dtype(x));
    assert_memory_equal(weft_array_data(x), weft_array_data(y), bytes);
}

/* What the view of the program says to be worth donating for output 0. */
static size_t find_donor(const weft_program *program)
{
    const weft_program_view *view;
    weft_test_ok(weft_program_view_create(program, &view));
    size_t donor = view->outputs[0].donor;
    for (size_t n = 0; n < view->node_count; n++)
        for (size_t r = 0; r < view->nodes[n].region_count; r++)
            assert_true(view->nodes[n].regions[r].view.outputs[0].donor == SIZE_MAX);
    weft_program_view_destroy(view);
    return donor;
}

/* Runs it on the reference, which copies everything, and in all ways in which x can be donated: the same comes out. */
static tally check(bench *b, bool keeps_memory)
{
    weft_array *expected[MOST];
    assert_true(find_donor(b->program) == (keeps_memory ? 0 : SIZE_MAX));
    fill_inputs(b);
    run(b, "ref", false);
    memcpy(expected, b->outputs, sizeof expected);
    memset(b->outputs, 0, sizeof b->outputs);
    drop_arrays(b);
    tally t = {0};
    for (int way = 0; way < 3; way++) {
        fill_inputs(b);
        weft_array *before = NULL;
        weft_test_ok(weft_array_create(NULL, WEFT_F32, 2, weft_array_shape(b->inputs[0]), &before));
        weft_test_ok(weft_array_copy(before, b->inputs[0]));
        if (way == 2) b->outputs[0] = weft_array_retain(b->inputs[0]);
        t = run(b, "llvm", way > 0);
        for (size_t i = 0; i < b->output_count; i++) expect_equal(b->outputs[i], expected[i]);
        if (way == 0) expect_equal(b->inputs[0], before);
        if (way == 1) assert_true((weft_array_data(b->outputs[0]) == b->data) == keeps_memory);
        weft_array_release(before);
        drop_arrays(b);
    }
    for (size_t i = 0; i < b->output_count; i++) weft_array_release(expected[i]);
    return t;
}

static weft_tensor put_row(const bench *b, weft_tensor x)
{
    return weft_dynamic_update_slice(x, b->row, WEFT_TENSORS(b->at), WEFT_INTS(0));
}

static void a_donated_input_moves_the_update_alone(void **state)
{
    (void)state;
    bench b;
    open_bench(&b);
    compile(&b, WEFT_TENSORS(put_row(&b, b.x)));
    tally t = check(&b, true);
    assert_int_equal(t.steps, 1);
    assert_true(t.bytes <= 2 * WIDTH * sizeof(float) + sizeof(int64_t));
    close_bench(&b);
}

static void a_chain_of_updates_stays_in_place(void **state)
{
    (void)state;
    bench b;
    open_bench(&b);
    weft_tensor rows = weft_constant(b.graph, WEFT_I64, WEFT_INTS(3), (const int64_t[]){5, 7, 5});
    weft_tensor y = put_row(&b, weft_index_add(put_row(&b, b.x), rows, weft_broadcast(b.row, WEFT_SHAPE(3, WIDTH)), 0));
    compile(&b, WEFT_TENSORS(y));
    tally t = check(&b, true);
    assert_int_equal(t.steps, 3);
    assert_true(t.bytes < COUNT);
    close_bench(&b);
}

/* What is read after the update is the input as it was. */
static void an_input_that_is_read_later_is_copied(void **state)
{
    (void)state;
    bench b;
    open_bench(&b);
    weft_tensor y = put_row(&b, b.x);
    weft_tensor later =
        weft_reduce_sum(weft_mul(b.x, weft_narrow(y, 0, weft_extent_of(0), weft_extent_of(1))), WEFT_INTS(0, 1), false);
    compile(&b, WEFT_TENSORS(y, later));
    tally t = check(&b, false);
    assert_true(t.bytes >= 3 * COUNT * sizeof(float));
    close_bench(&b);
    open_bench(&b);
    compile(&b, WEFT_TENSORS(put_row(&b, b.x), b.x));
    check(&b, false);
    close_bench(&b);
}

/* The new row is computed before, in memory of its own. */
static void an_update_may_be_made_of_what_it_replaces(void **state)
{
    (void)state;
    bench b;
    open_bench(&b);
    weft_tensor old = weft_narrow(weft_flip(b.x, WEFT_INTS(0, 1)), 0, weft_extent_of(3), weft_extent_of(1));
    compile(&b, WEFT_TENSORS(weft_dynamic_update_slice(b.x, weft_add(old, b.row), WEFT_TENSORS(b.at), WEFT_INTS(0))));
    assert_true(check(&b, true).bytes < COUNT);
    close_bench(&b);
}

/* Sorting has memory of its own, which becomes the result. */
static void the_last_use_of_a_value_is_in_place(void **state)
{
    (void)state;
    bench b;
    open_bench(&b);
    compile(&b, WEFT_TENSORS(put_row(&b, weft_sort(b.x, 0, false))));
    tally t = check(&b, false);
    assert_int_equal(t.steps, 2);
    assert_true(t.bytes < 2.1 * COUNT * sizeof(float));
    close_bench(&b);
    open_bench(&b);
    weft_tensor sorted = weft_sort(b.x, 0, false), y = put_row(&b, sorted);
    compile(&b, WEFT_TENSORS(y, sorted, weft_neg(y)));
    t = check(&b, false);
    assert_true(t.bytes > 5 * COUNT * sizeof(float));
    close_bench(&b);
}

/* A temporary that is updated and then read. */
static void temporaries_are_updated_in_place(void **state)
{
    (void)state;
    bench b;
    open_bench(&b);
    weft_tensor y = put_row(&b, weft_cumsum(b.x, 0, false, false));
    compile(&b, WEFT_TENSORS(weft_reduce_sum(weft_sort(y, 0, false), WEFT_INTS(0), false)));
    fill_inputs(&b);
    tally t = run(&b, "llvm", false);
    weft_array *found = b.outputs[0];
    assert_true(t.bytes < 5.1 * COUNT * sizeof(float));
    b.outputs[0] = NULL;
    run(&b, "ref", false);
    for (int i = 0; i < WIDTH; i++)
        assert_float_equal(((float *)weft_array_data(found))[i], ((float *)weft_array_data(b.outputs[0]))[i], 100);
    weft_array_release(found);
    drop_arrays(&b);
    close_bench(&b);
}

/* Another input that lies on the donated one is read as it was. */
static void shared_memory_is_not_kept(void **state)
{
    (void)state;
    bench b;
    open_bench(&b);
    weft_tensor y = put_row(&b, b.x);
    weft_tensor twice = weft_input(b.graph, "twice", WEFT_F32, weft_tensor_shape(b.x));
    weft_tensor z = weft_reduce_sum(weft_mul(twice, weft_narrow(y, 0, weft_extent_of(0), weft_extent_of(1))),
                                    WEFT_INTS(0, 1), false);
    weft_test_ok(weft_compile(b.graph, WEFT_TENSORS(y, z), NULL, &b.program));
    fill_inputs(&b);
    weft_array *inputs[4] = {b.inputs[0], b.inputs[1], b.inputs[2], b.inputs[0]}, *outputs[2] = {NULL, NULL};
    const bool donated[4] = {true, false, false, false};
    weft_run call = {.input_count = 4, .inputs = inputs, .output_count = 2, .outputs = outputs, .donated = donated};
    weft_test_ok(weft_executor_run(b.executor, b.program, &call));
    assert_true(weft_array_data(outputs[0]) != b.data && b.data[7 * WIDTH] == (float)(7 * WIDTH % 97));
    weft_array_release(outputs[0]);
    weft_array_release(outputs[1]);
    outputs[1] = NULL;
    outputs[0] = b.inputs[0];
    weft_test_fails(weft_executor_run(b.executor, b.program, &call), WEFT_INVALID_ARGUMENT,
                    "output \"out0\" overlaps input \"twice\", which is not donated");
    drop_arrays(&b);
    close_bench(&b);
}

/* Columns of a larger array, given as input and output. */
static void strided_arrays_are_updated_in_place(void **state)
{
    (void)state;
    bench b;
    weft_array *whole, *view;
    open_bench(&b);
    compile(&b, WEFT_TENSORS(put_row(&b, b.x)));
    fill_inputs(&b);
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 2, (const int64_t[]){ROWS, 2 * WIDTH}, &whole));
    memset(weft_array_data(whole), 0, 2 * COUNT * sizeof(float));
    weft_test_ok(
        weft_array_view(whole, 2, (const int64_t[]){ROWS, WIDTH}, (const int64_t[]){2 * WIDTH, 1}, WIDTH, &view));
    weft_array_release(b.inputs[0]);
    b.inputs[0] = view;
    b.outputs[0] = weft_array_retain(view);
    assert_int_equal(run(&b, "llvm", true).steps, 1);
    for (int i = 0; i < 2 * COUNT; i++) {
        bool inside = i / (2 * WIDTH) == 7 && i % (2 * WIDTH) >= WIDTH;
        assert_true(((float *)weft_array_data(whole))[i] == (inside ? (float)(1000 + i % WIDTH) : 0));
    }
    weft_array_release(b.outputs[0]);
    b.outputs[0] = NULL; /* a new array is row-major */
    assert_int_equal(run(&b, "llvm", true).steps, 2);
    weft_array_release(whole);
    drop_arrays(&b);
    close_bench(&b);
}

static void put_twice(void *context, weft_tensor iteration, const weft_tensor *carried, weft_tensor *out_next)
{
    const bench *b = context;
    weft_tensor first = weft_dynamic_update_slice(carried[0], b->row, WEFT_TENSORS(iteration), WEFT_INTS(0));
    out_next[0] = put_row(b, weft_index_add(first, iteration, weft_neg(weft_reshape(b->row, WEFT_SHAPE(WIDTH))), 0));
    out_next[1] = carried[1];
}

/* In every iteration two rows and what never changes. */
static void loops_update_in_place(void **state)
{
    (void)state;
    enum { ITERATIONS = 10, MOVED = 12 * WIDTH * sizeof(float) };
    bench b;
    open_bench(&b);
    weft_tensor results[2];
    weft_fold(weft_extent_of(ITERATIONS), WEFT_TENSORS(b.x, weft_sort(b.x, 0, false)), put_twice, &b, results);
    compile(&b, WEFT_TENSORS(results[0], results[1]));
    tally t = check(&b, true);
    assert_true(t.bytes < 4.1 * COUNT * sizeof(float) + ITERATIONS * MOVED);
    close_bench(&b);
}

static void put_once(void *context, weft_tensor iteration, const weft_tensor *carried, weft_tensor *out_next)
{
    const bench *b = context;
    out_next[0] = put_row(b, weft_dynamic_update_slice(carried[0], b->row, WEFT_TENSORS(iteration), WEFT_INTS(0)));
}

static void a_donated_input_may_be_carried(void **state)
{
    (void)state;
    bench b;
    open_bench(&b);
    compile(&b, WEFT_TENSORS(weft_fold(weft_extent_of(10), WEFT_TENSORS(b.x), put_once, &b, NULL)));
    tally t = check(&b, true);
    assert_true(t.bytes < COUNT);
    close_bench(&b);
}

static void add_row(void *context, weft_tensor iteration, const weft_tensor *carried, weft_tensor *out_next)
{
    const bench *b = context;
    weft_tensor scale = weft_cast(iteration, WEFT_F32);
    out_next[0] = weft_add(carried[0], weft_mul(weft_neg(carried[0]), weft_mul(b->row, scale)));
}

/* Nothing is as large as what is carried: neither the first value nor what iterations make. */
static void sums_are_added_where_they_are(void **state)
{
    (void)state;
    bench b;
    open_bench(&b);
    weft_tensor first = weft_mul(b.x, weft_cast(b.at, WEFT_F32));
    compile(&b, WEFT_TENSORS(weft_fold(weft_extent_of(7), WEFT_TENSORS(first), add_row, &b, NULL)));
    tally t = check(&b, false);
    assert_true(t.peak_bytes < COUNT * sizeof(float) / 2);
    close_bench(&b);
}

static void put_over_row(void *context, weft_tensor iteration, const weft_tensor *carried, weft_tensor *out_next)
{
    const bench *b = context;
    (void)iteration;
    weft_tensor other = weft_add(weft_mul(b->x, weft_scalar(b->graph, WEFT_F32, 2)), b->row);
    weft_tensor zero = weft_scalar(b->graph, WEFT_I64, 0);
    out_next[0] = weft_dynamic_update_slice(other, weft_neg(carried[0]), WEFT_TENSORS(zero), WEFT_INTS(0));
    out_next[1] = weft_dynamic_update_slice(b->x, weft_neg(carried[1]), WEFT_TENSORS(zero), WEFT_INTS(0));
}

/* The update reads what is carried after the other value was put where the result is to be. */
static void updates_read_after_the_copy(void **state)
{
    (void)state;
    bench b;
    weft_tensor results[2];
    open_bench(&b);
    weft_tensor first = weft_mul(b.x, weft_cast(b.at, WEFT_F32));
    weft_fold(weft_extent_of(3), WEFT_TENSORS(first, b.x), put_over_row, &b, results);
    compile(&b, WEFT_TENSORS(results[0], results[1]));
    check(&b, false);
    close_bench(&b);
}

static void add_reversed(void *context, weft_tensor iteration, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context;
    (void)iteration;
    out_next[0] = weft_add(carried[0], weft_flip(carried[0], WEFT_INTS(0)));
}

static void add_total(void *context, weft_tensor iteration, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context;
    (void)iteration;
    out_next[0] = weft_add(carried[0], weft_reduce_max(carried[0], WEFT_INTS(0), true));
}

static void add_and_subtract(void *context, weft_tensor iteration, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context;
    (void)iteration;
    out_next[0] = weft_add(carried[0], carried[1]);
    out_next[1] = weft_sub(carried[0], carried[1]);
}

/* What is read elsewhere, or once more, is not written over; nor is a first value that is an output too. */
static void what_is_still_read_stays(void **state)
{
    (void)state;
    bench b;
    weft_tensor results[2];
    open_bench(&b);
    weft_tensor first = weft_mul(b.x, weft_cast(b.at, WEFT_F32));
    weft_fold(weft_extent_of(3), WEFT_TENSORS(first, b.x), add_and_subtract, &b, results);
    weft_tensor sum = weft_fold(weft_extent_of(3), WEFT_TENSORS(first), add_row, &b, NULL);
    compile(&b,
            WEFT_TENSORS(
                weft_fold(weft_extent_of(5), WEFT_TENSORS(weft_add(sum, results[0])), add_reversed, NULL, NULL),
                weft_fold(weft_extent_of(2), WEFT_TENSORS(weft_sub(sum, results[1])), add_total, NULL, NULL), first));
    check(&b, false);
    close_bench(&b);
}

/* ---- updates that fail ---- */

static weft_status *try_run(bench *b, const char *runtime)
{
    const bool flags[3] = {true, false, false};
    return weft_executor_run(b->executor, b->program,
                             &(weft_run){.runtime = runtime,
                                         .input_count = 3,
                                         .inputs = b->inputs,
                                         .output_count = b->output_count,
                                         .outputs = b->outputs,
                                         .donated = flags});
}

/* With x donated, and given as the output or not: it is as it was. */
static void check_failure(bench *b, int64_t at, const char *part)
{
    static const char *const runtimes[] = {"llvm", "ref"};
    for (int way = 0; way < 4; way++) {
        fill_inputs(b);
        *(int64_t *)weft_array_data(b->inputs[2]) = at;
        if (way / 2 == 1) b->outputs[0] = weft_array_retain(b->inputs[0]);
        weft_test_fails(try_run(b, runtimes[way % 2]), WEFT_DATA_ERROR, part);
        for (int i = 0; i < COUNT; i++) assert_true(b->data[i] == (float)(i % 97));
        drop_arrays(b);
    }
}

static weft_tensor rows_of(const bench *b, int64_t count)
{
    return weft_broadcast(b->row, WEFT_SHAPE(count, WIDTH));
}

/* Rows 3, 5 and `at`. */
static weft_tensor places_of(const bench *b)
{
    weft_tensor constant = weft_constant(b->graph, WEFT_I64, WEFT_INTS(2), (const int64_t[]){3, 5});
    return weft_concat(WEFT_TENSORS(constant, weft_reshape(b->at, WEFT_SHAPE(1))), 0);
}

static void what_is_out_of_range_changes_nothing(void **state)
{
    (void)state;
    static const char start[] = "start 1000 on axis 0 is outside [0, 999]", index[] = "index -1001 at position 2";
    bench b;
    open_bench(&b);
    compile(&b, WEFT_TENSORS(put_row(&b, b.x)));
    check(&b, true);
    check_failure(&b, ROWS, start);
    close_bench(&b);
    open_bench(&b);
    compile(&b, WEFT_TENSORS(weft_index_add(b.x, places_of(&b), rows_of(&b, 3), 0)));
    check(&b, true);
    check_failure(&b, -ROWS - 1, index);
    close_bench(&b);
    open_bench(&b);
    compile(&b, WEFT_TENSORS(weft_set_at(b.x, rows_of(&b, 3), places_of(&b))));
    check_failure(&b, -ROWS - 1, index);
    close_bench(&b);
    open_bench(&b); /* read later: a copy of x is updated, in x itself where that is the output */
    weft_tensor y = put_row(&b, b.x);
    compile(&b, WEFT_TENSORS(y, weft_reduce_sum(weft_mul(b.x, y), WEFT_INTS(0, 1), false)));
    check_failure(&b, ROWS, start);
    close_bench(&b);
}

/* Divided by at: of all rows, in the last one first. */
static void neither_do_bad_values(void **state)
{
    (void)state;
    bench b;
    open_bench(&b);
    weft_tensor places = weft_iota(b.graph, WEFT_I64, WEFT_SHAPE(400), 0);
    weft_tensor divisors = weft_add(weft_mul(b.at, weft_scalar(b.graph, WEFT_I64, 0)),
                                    weft_sub(weft_scalar(b.graph, WEFT_I64, 399), places));
    weft_tensor quotients = weft_cast(weft_div(places, divisors), WEFT_F32);
    weft_tensor rows = weft_mul(weft_reshape(quotients, WEFT_SHAPE(400, 1)), rows_of(&b, 400));
    compile(&b, WEFT_TENSORS(weft_index_add(b.x, places, rows, 0)));
    check_failure(&b, 0, "division by 0");
    close_bench(&b);
}

/* Of two updates the first one is made, and all of it, where the second one fails. */
static void updates_are_whole(void **state)
{
    (void)state;
    bench b;
    open_bench(&b);
    weft_tensor first =
        weft_dynamic_update_slice(b.x, b.row, WEFT_TENSORS(weft_scalar(b.graph, WEFT_I64, 2)), WEFT_INTS(0));
    compile(&b, WEFT_TENSORS(put_row(&b, first)));
    fill_inputs(&b);
    *(int64_t *)weft_array_data(b.inputs[2]) = -1;
    weft_test_fails(try_run(&b, "llvm"), WEFT_DATA_ERROR, "start -1");
    for (int i = 0; i < COUNT; i++)
        assert_true(b.data[i] == (i / WIDTH == 2 ? (float)(1000 + i % WIDTH) : (float)(i % 97)));
    drop_arrays(&b);
    close_bench(&b);
}

/* ---- what is no update leaves a donated input as it was, whenever the run ends ---- */

/* The row over a number that is 0 where `number` is `at`. */
static weft_tensor share_of_row(const bench *b, weft_tensor number)
{
    weft_tensor one = weft_scalar(b->graph, WEFT_I64, 1);
    return weft_mul(b->row, weft_cast(weft_div(one, weft_sub(b->at, number)), WEFT_F32));
}

static void add_share(void *context, weft_tensor iteration, const weft_tensor *carried, weft_tensor *out_next)
{
    out_next[0] = weft_add(carried[0], weft_add(share_of_row(context, iteration), weft_full_like(carried[0], 1)));
}

/* Updates in a loop of its own first. */
static void update_and_add_share(void *context, weft_tensor iteration, const weft_tensor *carried,
                                 weft_tensor *out_next)
{
    weft_tensor updated = weft_fold(weft_extent_of(2), WEFT_TENSORS(carried[0]), put_once, context, NULL);
    add_share(context, iteration, &updated, out_next);
}

static weft_tensor is_below_five(void *context, const weft_tensor *carried)
{
    (void)context;
    return weft_lt(carried[1], weft_full_like(carried[1], 5));
}

static void add_and_count(void *context, const weft_tensor *carried, weft_tensor *out_next)
{
    add_share(context, carried[1], carried, out_next);
    out_next[1] = weft_add(carried[1], weft_full_like(carried[1], 1));
}

typedef struct countdown {
    size_t left;
    volatile bool is_over;
} countdown;

static void count_down(void *self, const weft_profile_record *record)
{
    countdown *c = self;
    (void)record;
    c->is_over = c->left-- <= 1;
}

static weft_status *run_for_steps(bench *b, size_t steps)
{
    const bool flags[3] = {true, false, false};
    countdown c = {.left = steps};
    return weft_executor_run(b->executor, b->program,
                             &(weft_run){.input_count = 3,
                                         .inputs = b->inputs,
                                         .output_count = b->output_count,
                                         .outputs = b->outputs,
                                         .donated = flags,
                                         .cancelled = &c.is_over,
                                         .profile = &(weft_profile){.self = &c, .record = count_down}});
}

/* After each number of steps that does not end the run; the reference is one step. Returns how many there are. */
static size_t check_cancelled(bench *b, bool given)
{
    for (size_t steps = 1;; steps++) {
        fill_inputs(b);
        if (given) b->outputs[0] = weft_array_retain(b->inputs[0]);
        weft_status *status = run_for_steps(b, steps);
        bool cancelled = weft_status_code(status) == WEFT_CANCELLED;
        if (cancelled) weft_status_destroy(status);
        else weft_test_ok(status);
        for (int i = 0; i < COUNT && cancelled; i++) assert_true(b->data[i] == (float)(i % 97));
        drop_arrays(b);
        if (!cancelled) return steps - 1;
    }
}

static void check_kept(bench *b, weft_tensors outputs, int64_t at, const char *part)
{
    compile(b, outputs);
    check(b, false);
    check_failure(b, at, part);
    assert_true(check_cancelled(b, false) > 0);
    assert_true(check_cancelled(b, true) > 0);
    close_bench(b);
}

static void loops_keep_what_they_do_not_update(void **state)
{
    (void)state;
    bench b;
    weft_tensor results[2];
    open_bench(&b);
    check_kept(&b, WEFT_TENSORS(weft_fold(weft_extent_of(5), WEFT_TENSORS(b.x), add_share, &b, NULL)), 3,
               "division by 0 at position 0");
    open_bench(&b);
    weft_while(WEFT_TENSORS(b.x, weft_scalar(b.graph, WEFT_I64, 0)), is_below_five, add_and_count, &b, results);
    check_kept(&b, WEFT_TENSORS(results[0]), 4, "(iteration 4 of while)");
    open_bench(&b);
    check_kept(&b, WEFT_TENSORS(weft_fold(weft_extent_of(5), WEFT_TENSORS(b.x), update_and_add_share, &b, NULL)), 2,
               "(iteration 2 of fold)");
    open_bench(&b); /* an update whose result is carried */
    weft_tensor first =
        weft_dynamic_update_slice(b.x, b.row, WEFT_TENSORS(weft_scalar(b.graph, WEFT_I64, 2)), WEFT_INTS(0));
    check_kept(&b, WEFT_TENSORS(weft_fold(weft_extent_of(5), WEFT_TENSORS(first), add_share, &b, NULL)), 3,
               "(iteration 3 of fold)");
}

/* The second step of each fails. */
static void later_failures_change_nothing(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        bench b;
        open_bench(&b);
        weft_tensor y = weft_add(b.x, b.row);
        if (kind == 1) y = weft_sort(weft_neg(y), 0, false);
        if (kind == 2) y = weft_fold(weft_extent_of(3), WEFT_TENSORS(b.x), add_row, &b, NULL);
        check_kept(&b, WEFT_TENSORS(y, weft_gather(y, b.at, 0)), ROWS, "index 1000");
    }
}

/* ---- between the elements of a donated input that an output lies on ---- */

/* Somebody else who writes there while a run is under way. */
typedef struct neighbour {
    float *memory; /* f32[ROWS + 1, 2 WIDTH], of which the first half of each row is the run's */
    size_t steps;
    bool cancels;
    volatile bool cancelled;
} neighbour;

static void fill_gaps(float *memory, float value)
{
    for (int row = 0; row <= ROWS; row++)
        for (int i = WIDTH; i < 2 * WIDTH; i++) memory[row * 2 * WIDTH + i] = value;
}

static void write_between(void *self, const weft_profile_record *record)
{
    (void)record;
    neighbour *n = self;
    fill_gaps(n->memory, -7);
    n->steps++;
    n->cancelled = n->cancels;
}

static void wrap_rows(float *first, int64_t rows, int64_t stride, weft_array **out_array)
{
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 2, (const int64_t[]){rows, WIDTH}, (const int64_t[]){stride, 1}, first,
                                 NULL, NULL, out_array));
}

/* The output is the input one row further on. */
static weft_status *run_beside(bench *b, neighbour *n)
{
    const bool flags[3] = {true, false, false};
    weft_profile profile = {.self = n, .record = write_between};
    return weft_executor_run(b->executor, b->program,
                             &(weft_run){.runtime = "llvm",
                                         .input_count = 3,
                                         .inputs = b->inputs,
                                         .output_count = b->output_count,
                                         .outputs = b->outputs,
                                         .donated = flags,
                                         .profile = &profile,
                                         .cancelled = &n->cancelled});
}

static void check_neighbour(bench *b, int64_t at, bool cancels)
{
    static float memory[(ROWS + 1) * 2 * WIDTH];
    neighbour n = {.memory = memory, .cancels = cancels};
    fill_inputs(b);
    *(int64_t *)weft_array_data(b->inputs[2]) = at;
    weft_array_release(b->inputs[0]);
    wrap_rows(memory, ROWS, 2 * WIDTH, &b->inputs[0]);
    wrap_rows(memory + 2 * WIDTH, ROWS, 2 * WIDTH, &b->outputs[0]);
    for (int i = 0; i < ROWS * 2 * WIDTH; i++) memory[i] = (float)(i % 97);
    fill_gaps(memory, -5);
    weft_test_fails(run_beside(b, &n), cancels ? WEFT_CANCELLED : WEFT_DATA_ERROR, "");
    assert_true(n.steps > 0);
    for (int i = 0; i < ROWS * 2 * WIDTH; i++)
        assert_true(memory[i] == (i % (2 * WIDTH) < WIDTH ? (float)(i % 97) : -7));
    drop_arrays(b);
}

static void what_lies_between_is_left_alone(void **state)
{
    (void)state;
    bench b;
    open_bench(&b);
    compile(&b, WEFT_TENSORS(weft_neg(b.x), put_row(&b, weft_cumsum(b.x, 0, false, false))));
    check_neighbour(&b, ROWS, false);
    check_neighbour(&b, 0, true);
    close_bench(&b);
}

/* Two rows with a page between them that may not be read or written. */
static void what_lies_between_may_be_out_of_bounds(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int64_t stride = (int64_t)(2 * page / sizeof(float));
    bench b;
    float *memory = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(mprotect((char *)memory + page, page, PROT_NONE), 0);
    open_bench(&b);
    compile(&b, WEFT_TENSORS(weft_neg(b.x), put_row(&b, b.x)));
    for (int64_t at = 1; at < 3; at++) {
        fill_inputs(&b);
        *(int64_t *)weft_array_data(b.inputs[2]) = at;
        weft_array_release(b.inputs[0]);
        wrap_rows(memory, 2, stride, &b.inputs[0]);
        wrap_rows(memory + 4, 2, stride, &b.outputs[0]);
        for (int i = 0; i < WIDTH; i++) memory[i] = memory[stride + i] = (float)i;
        if (at == 1) weft_test_ok(try_run(&b, "llvm"));
        else weft_test_fails(try_run(&b, "llvm"), WEFT_DATA_ERROR, "start 2");
        for (int i = 0; i < WIDTH; i++) {
            if (at == 1) assert_true(memory[4 + i] == (float)-i && memory[stride + 4 + i] == (float)-i);
            else assert_true(memory[i] == (float)i && memory[stride + i] == (float)i);
        }
        drop_arrays(&b);
    }
    close_bench(&b);
    munmap(memory, 3 * page);
}

/* ---- updates made of what they update ---- */

static weft_tensor next_row(weft_tensor iteration)
{
    return weft_add(iteration, weft_scalar(iteration.graph, WEFT_I64, 1));
}

static weft_tensor row_of(weft_tensor x, weft_tensor at)
{
    return weft_dynamic_slice(x, WEFT_TENSORS(at), WEFT_INTS(0), WEFT_SHAPE(1));
}

static weft_tensor put(weft_tensor x, weft_tensor row, weft_tensor at)
{
    return weft_dynamic_update_slice(x, row, WEFT_TENSORS(at), WEFT_INTS(0));
}

static weft_tensor move_on(const bench *b, weft_tensor x, weft_tensor iteration)
{
    return put(x, weft_add(row_of(x, iteration), b->row), next_row(iteration));
}

static weft_tensor add_where_it_is(const bench *b, weft_tensor x, weft_tensor iteration)
{
    return put(x, weft_add(row_of(x, iteration), b->row), iteration);
}

static weft_tensor add_gathered(const bench *b, weft_tensor x, weft_tensor iteration)
{
    weft_tensor row = weft_neg(weft_gather(x, weft_sub(b->at, iteration), 0));
    return weft_index_add(x, next_row(iteration), row, 0);
}

static weft_tensor set_gathered(const bench *b, weft_tensor x, weft_tensor iteration)
{
    weft_tensor rows = weft_reshape(next_row(iteration), WEFT_SHAPE(1));
    weft_tensor row = weft_mul(weft_gather(x, rows, 0), b->row);
    return weft_scatter(x, WEFT_TENSORS(weft_reshape(iteration, WEFT_SHAPE(1))), WEFT_INTS(0), row, WEFT_SCATTER_SET);
}

/* The place is read there too, and the maximum of the row is a reduction that a kernel could have as a stage. */
static weft_tensor find_place(const bench *b, weft_tensor x, weft_tensor iteration)
{
    weft_tensor most = weft_reduce_max(row_of(x, iteration), WEFT_INTS(1), true);
    weft_tensor first = weft_gather(weft_reshape(row_of(x, iteration), WEFT_SHAPE(WIDTH)), b->at, 0);
    weft_tensor place = weft_remainder(weft_cast(first, WEFT_I64), weft_scalar(b->graph, WEFT_I64, 50));
    return put(x, weft_broadcast(most, WEFT_SHAPE(1, WIDTH)), weft_abs(place));
}

/* Both are read before either is written. */
static weft_tensor swap_rows(const bench *b, weft_tensor x, weft_tensor iteration)
{
    weft_tensor one = row_of(x, iteration), other = row_of(x, b->at);
    return put(put(x, other, iteration), one, b->at);
}

typedef weft_tensor (*updater)(const bench *b, weft_tensor x, weft_tensor iteration);

static const updater updaters[] = {move_on, add_where_it_is, add_gathered, set_gathered, find_place, swap_rows};
enum { UPDATERS = sizeof updaters / sizeof *updaters };

typedef struct updating {
    const bench *b;
    updater update;
} updating;

static void update_carried(void *context, weft_tensor iteration, const weft_tensor *carried, weft_tensor *out_next)
{
    const updating *u = context;
    out_next[0] = u->update(u->b, carried[0], iteration);
}

/* Once, and in every iteration of a loop: nothing as large as x is moved, and x's memory is the result's. */
static void what_updates_read_is_read_before(void **state)
{
    (void)state;
    for (size_t k = 0; k < UPDATERS; k++) {
        bench b;
        open_bench(&b);
        compile(&b, WEFT_TENSORS(updaters[k](&b, put_row(&b, b.x), weft_sub(b.at, weft_scalar(b.graph, WEFT_I64, 4)))));
        assert_true(check(&b, true).bytes < COUNT);
        close_bench(&b);
        open_bench(&b);
        updating u = {&b, updaters[k]};
        compile(&b,
                WEFT_TENSORS(weft_fold(weft_extent_of(7), WEFT_TENSORS(put_row(&b, b.x)), update_carried, &u, NULL)));
        assert_true(check(&b, true).bytes < 2 * COUNT);
        close_bench(&b);
    }
}

static void update_two(void *context, weft_tensor iteration, const weft_tensor *carried, weft_tensor *out_next)
{
    const bench *b = context;
    weft_tensor row = weft_sub(row_of(carried[1], iteration), row_of(carried[0], b->at));
    out_next[0] = put(carried[0], weft_neg(row), iteration);
    out_next[1] = put(carried[1], weft_mul(row, b->row), next_row(iteration));
}

/* Two tables, of each of which a part goes into the other. */
static void two_tables_are_updated_from_each_other(void **state)
{
    (void)state;
    bench b;
    weft_tensor results[2];
    open_bench(&b);
    weft_fold(weft_extent_of(9), WEFT_TENSORS(b.x, weft_sort(b.x, 0, false)), update_two, &b, results);
    compile(&b, WEFT_TENSORS(results[0], results[1]));
    assert_true(check(&b, true).bytes < 3 * COUNT * sizeof(float));
    close_bench(&b);
}

static void keep_carried(void *context, weft_tensor iteration, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context, (void)iteration;
    out_next[0] = carried[0];
}

static weft_tensor kept(weft_tensor x)
{
    return weft_fold(weft_extent_of(2), WEFT_TENSORS(x), keep_carried, NULL, NULL);
}

/* Two results of a value that both branches may change where it is. */
typedef struct sharing {
    const bench *b;
    weft_tensor value;
} sharing;

static void yield_twice(void *context, weft_tensor *out_results)
{
    const sharing *s = context;
    out_results[0] = out_results[1] = kept(s->value);
}

static void yield_updated(void *context, weft_tensor *out_results)
{
    const sharing *s = context;
    out_results[0] = s->value;
    out_results[1] = put_row(s->b, s->value);
}

static void yield_kept(void *context, weft_tensor *out_results)
{
    const sharing *s = context;
    out_results[0] = s->value;
    out_results[1] = kept(s->value);
}

static void results_of_branches_share_no_memory(void **state)
{
    (void)state;
    const weft_branch others[] = {yield_updated, yield_kept, yield_twice};
    for (size_t k = 0; k < 2 * sizeof others / sizeof *others; k++) {
        bench b;
        weft_tensor results[2];
        open_bench(&b);
        sharing s = {&b, weft_sub(b.row, b.x)};
        weft_tensor predicate = weft_gt(b.at, weft_scalar(b.graph, WEFT_I64, k % 2 == 0 ? 0 : 100));
        weft_cond(predicate, 2, yield_twice, others[k / 2], &s, results);
        compile(&b, WEFT_TENSORS(results[0], results[1]));
        check(&b, false);
        close_bench(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_donated_input_moves_the_update_alone),
        cmocka_unit_test(a_chain_of_updates_stays_in_place),
        cmocka_unit_test(an_input_that_is_read_later_is_copied),
        cmocka_unit_test(an_update_may_be_made_of_what_it_replaces),
        cmocka_unit_test(the_last_use_of_a_value_is_in_place),
        cmocka_unit_test(temporaries_are_updated_in_place),
        cmocka_unit_test(shared_memory_is_not_kept),
        cmocka_unit_test(strided_arrays_are_updated_in_place),
        cmocka_unit_test(loops_update_in_place),
        cmocka_unit_test(what_is_out_of_range_changes_nothing),
        cmocka_unit_test(neither_do_bad_values),
        cmocka_unit_test(updates_are_whole),
        cmocka_unit_test(what_lies_between_is_left_alone),
        cmocka_unit_test(what_lies_between_may_be_out_of_bounds),
        cmocka_unit_test(a_donated_input_may_be_carried),
        cmocka_unit_test(sums_are_added_where_they_are),
        cmocka_unit_test(what_is_still_read_stays),
        cmocka_unit_test(loops_keep_what_they_do_not_update),
        cmocka_unit_test(later_failures_change_nothing),
        cmocka_unit_test(updates_read_after_the_copy),
        cmocka_unit_test(what_updates_read_is_read_before),
        cmocka_unit_test(two_tables_are_updated_from_each_other),
        cmocka_unit_test(results_of_branches_share_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
