/* SPDX-License-Identifier: Apache-2.0 */
/* What a program tells of itself, and runs whose arrays are given by name. */
#include <string.h>
#include <weft/dlpack.h>
#include <weft/weft.h>
#include "test/support.h"

static weft_executor *executor;
static weft_program *program;

/* y = x[n, m] w[m, 3] + k, z = windows of x, t = k as it is; b by extents alone. */
static int set_up(void **state)
{
    (void)state;
    weft_graph *graph;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_extent n = weft_symbol(graph, "n", 1, 100), m = weft_symbol(graph, "m", 0, 50);
    weft_extent b = weft_symbol(graph, "b", 2, 9);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(n, m));
    weft_tensor w = weft_input(graph, "w", WEFT_F32, WEFT_SHAPE(m, 3));
    weft_tensor k = weft_input(graph, "k", WEFT_F32, WEFT_SHAPE());
    weft_extent both = weft_extent_add(weft_extent_mul(n, b), m), less = weft_extent_sub(n, weft_extent_of(5));
    weft_tensor outputs[] = {weft_add(weft_matmul(x, w), k), weft_full(graph, WEFT_I64, 1, WEFT_SHAPE(both, 2)),
                             weft_narrow(weft_full(graph, WEFT_F32, 1, WEFT_SHAPE(n)), 0, weft_extent_of(5), less)};
    static const char *const names[] = {"y", "counts", "rest"};
    weft_test_ok(weft_compile_named(graph, (weft_tensors){3, outputs}, names, NULL, &program));
    weft_graph_destroy(graph);
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 1}, &executor));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    weft_executor_destroy(executor);
    weft_program_release(program);
    return 0;
}

/* ---- what it tells ---- */

static void expect_axis(const weft_program_axis *axis, int64_t size, const char *extent, weft_ints symbols)
{
    assert_int_equal(axis->size, size);
    assert_string_equal(axis->extent, extent);
    assert_int_equal(axis->symbol_count, symbols.count);
    for (size_t i = 0; i < symbols.count; i++) assert_int_equal(axis->symbols[i], symbols.items[i]);
}

static void axes_have_extents_and_symbols(void **state)
{
    (void)state;
    const weft_program_axis *x = weft_program_input_axes(program, 0), *w = weft_program_input_axes(program, 1);
    expect_axis(&x[0], -1, "n", WEFT_INTS(0));
    expect_axis(&x[1], -1, "m", WEFT_INTS(1));
    expect_axis(&w[1], 3, "3", WEFT_INTS());
    assert_int_equal(weft_program_input_rank(program, 2), 0);
    assert_null(weft_program_input_axes(program, 3));
    const weft_program_axis *counts = weft_program_output_axes(program, 1);
    expect_axis(&counts[0], -1, "m + n*b", WEFT_INTS(0, 1, 2));
    expect_axis(&counts[1], 2, "2", WEFT_INTS());
    expect_axis(weft_program_output_axes(program, 2), -1, "n - 5", WEFT_INTS(0));
    assert_null(weft_program_output_axes(program, 3));
}

static void symbols_have_ranges_and_sources(void **state)
{
    (void)state;
    assert_int_equal(weft_program_symbol_count(program), 3);
    const weft_program_symbol *m = weft_program_symbol_at(program, 1), *b = weft_program_symbol_at(program, 2);
    assert_string_equal(m->name, "m");
    assert_int_equal(m->min, 0);
    assert_int_equal(m->max, 50);
    assert_int_equal(m->input, 0);
    assert_int_equal(m->axis, 1);
    assert_string_equal(b->name, "b");
    assert_true(b->input == SIZE_MAX && b->axis == SIZE_MAX);
    assert_null(weft_program_symbol_at(program, 3));
    assert_int_equal(weft_program_find_input(program, "w"), 1);
    assert_int_equal(weft_program_find_output(program, "rest"), 2);
    assert_true(weft_program_find_input(program, "rest") == SIZE_MAX);
    assert_true(weft_program_find_output(program, NULL) == SIZE_MAX);
}

static void shapes_follow_from_symbols(void **state)
{
    (void)state;
    int64_t shape[2];
    const weft_binding all[] = {{"b", 3}, {"n", 7}, {"m", 2}}, twice[] = {{"n", 7}, {"n", 7}, {"n", 8}};
    weft_test_ok(weft_program_output_shape(program, 1, 3, all, shape));
    assert_true(shape[0] == 23 && shape[1] == 2);
    weft_test_ok(weft_program_output_shape(program, 0, 1, &all[1], shape));
    assert_true(shape[0] == 7 && shape[1] == 3);
    weft_test_ok(weft_program_output_shape(program, 2, 2, twice, shape));
    assert_int_equal(shape[0], 2);
    weft_test_fails(weft_program_output_shape(program, 2, 3, twice, shape), WEFT_INVALID_ARGUMENT,
                    "symbol n is given twice, as 7 and as 8");
    weft_test_fails(weft_program_output_shape(program, 1, 2, all, shape), WEFT_INVALID_ARGUMENT,
                    "symbol m is not given");
    weft_test_fails(weft_program_output_shape(program, 2, 1, &(weft_binding){"q", 1}, shape), WEFT_INVALID_ARGUMENT,
                    "the program has no symbol \"q\"");
    weft_test_fails(weft_program_output_shape(program, 2, 1, &(weft_binding){"n", 101}, shape), WEFT_OUT_OF_RANGE,
                    "symbol n = 101 is outside [1, 100]");
    weft_test_fails(weft_program_output_shape(program, 2, 1, &(weft_binding){"n", 4}, shape), WEFT_OUT_OF_RANGE,
                    "axis 0 would have extent n - 5 = -1");
    weft_test_fails(weft_program_output_shape(program, 3, 0, NULL, shape), WEFT_INVALID_ARGUMENT,
                    "there is no output 3; the program has 3");
    weft_test_fails(weft_program_output_shape(program, 0, 1, NULL, shape), WEFT_INVALID_ARGUMENT, "bindings");
}

/* ---- runs ---- */

static weft_array *array_of(size_t rank, const int64_t *shape, const float *data)
{
    weft_array *array;
    weft_test_ok(weft_array_create(NULL, WEFT_F32, rank, shape, &array));
    memcpy(weft_array_data(array), data, (size_t)weft_array_count(array) * sizeof *data);
    return array;
}

typedef struct arrays {
    weft_array *x, *w, *k;
} arrays;

static arrays make_arrays(void)
{
    static const float x[6] = {1, 1, 1, 1, 1, 1}, w[3] = {1, 2, 3}, k = 10;
    return (arrays){array_of(2, (int64_t[]){6, 1}, x), array_of(2, (int64_t[]){1, 3}, w), array_of(0, NULL, &k)};
}

static void release(arrays a)
{
    weft_array_release(a.x);
    weft_array_release(a.w);
    weft_array_release(a.k);
}

#define RUN(...) weft_executor_run(executor, program, &(weft_run){.extent_count = 1, .extents = &b, __VA_ARGS__})

static const weft_binding b = {"b", 2};

static void names_come_in_any_order(void **state)
{
    (void)state;
    arrays a = make_arrays();
    weft_array *given = array_of(2, (int64_t[]){6, 3}, (float[18]){0});
    weft_named_array outputs[] = {{"rest", NULL}, {"y", given}};
    weft_test_ok(RUN(.named_inputs = WEFT_NAMED({"k", a.k}, {"x", a.x}, {"w", a.w}), .named_outputs = {2, outputs}));
    assert_int_equal(weft_array_shape(outputs[0].array)[0], 1);
    assert_ptr_equal(outputs[1].array, given);
    assert_true(((float *)weft_array_data(given))[2] == 13);
    weft_array_release(outputs[0].array);
    weft_array_release(given);

    /* Each side for itself. */
    weft_array *results[3] = {NULL};
    weft_test_ok(
        RUN(.named_inputs = WEFT_NAMED({"k", a.k}, {"x", a.x}, {"w", a.w}), .output_count = 3, .outputs = results));
    for (int i = 0; i < 3; i++) weft_array_release(results[i]);
    weft_named_array y = {"y", NULL};
    weft_test_ok(RUN(.input_count = 3, .inputs = (weft_array *[]){a.x, a.w, a.k}, .named_outputs = {1, &y}));
    assert_true(((float *)weft_array_data(y.array))[0] == 11);
    weft_array_release(y.array);
    release(a);
}

/* What passes find does not decide which symbols a run may be given; a value has to be one that the symbol can have. */
static void symbols_that_nothing_needs_may_be_given(void **state)
{
    (void)state;
    weft_graph *graph;
    weft_program *ones;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_extent n = weft_symbol(graph, "n", 1, 100);
    weft_symbol(graph, "m", 0, 5);
    weft_tensor full = weft_full(graph, WEFT_F32, 1, WEFT_SHAPE(n, 3));
    weft_test_ok(
        weft_compile(graph, WEFT_TENSORS(weft_narrow(full, 0, weft_extent_of(0), weft_extent_of(1))), NULL, &ones));
    weft_graph_destroy(graph);
    assert_int_equal(weft_program_symbol_count(ones), 0);
    int64_t shape[2];
    const weft_binding both[] = {{"n", 7}, {"m", 5}}, far = {"n", 101}, unknown = {"q", 1};
    weft_test_ok(weft_program_output_shape(ones, 0, 2, both, shape));
    weft_test_fails(weft_program_output_shape(ones, 0, 1, &far, shape), WEFT_OUT_OF_RANGE,
                    "symbol n = 101 is outside [1, 100]");
    const weft_binding twice[] = {{"n", 7}, {"n", 7}, {"n", 8}};
    weft_test_fails(weft_program_output_shape(ones, 0, 3, twice, shape), WEFT_INVALID_ARGUMENT,
                    "symbol n is given twice, as 7 and as 8");
    weft_run wrong = {.output_count = 1, .outputs = &(weft_array *){NULL}, .extent_count = 3, .extents = twice};
    weft_test_fails(weft_executor_run(executor, ones, &wrong), WEFT_INVALID_ARGUMENT,
                    "symbol n is given twice, as 7 and as 8");
    for (size_t given = 0; given <= 2; given++) {
        weft_array *result = NULL;
        weft_run run = {.output_count = 1, .outputs = &result, .extent_count = given, .extents = both};
        weft_test_ok(weft_executor_run(executor, ones, &run));
        assert_int_equal(weft_array_count(result), 3);
        run.extent_count = 1;
        run.extents = &far;
        weft_test_fails(weft_executor_run(executor, ones, &run), WEFT_SHAPE_MISMATCH,
                        "symbol n = 101 is outside [1, 100]");
        run.extents = &unknown;
        weft_test_fails(weft_executor_run(executor, ones, &run), WEFT_INVALID_ARGUMENT,
                        "the program has no symbol \"q\"");
        weft_array_release(result);
    }
    weft_program_release(ones);
}

/* Donation follows the names: y is written over x, which has room for it. */
static void donation_follows_the_names(void **state)
{
    (void)state;
    weft_graph *graph;
    weft_program *adds;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor p = weft_input(graph, "p", WEFT_F32, WEFT_SHAPE(2)),
                q = weft_input(graph, "q", WEFT_F32, WEFT_SHAPE(2));
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(weft_sub(p, q)), NULL, &adds));
    weft_graph_destroy(graph);
    weft_array *x = array_of(1, (int64_t[]){2}, (float[]){5, 7}), *y = array_of(1, (int64_t[]){2}, (float[]){1, 2});
    weft_named_array result = {"out0", y};
    weft_run run = {.named_inputs = WEFT_NAMED({"q", y}, {"p", x}), .named_outputs = {1, &result}};
    run.donated = (const bool[]){false, true};
    weft_test_fails(weft_executor_run(executor, adds, &run), WEFT_INVALID_ARGUMENT,
                    "output \"out0\" overlaps input \"q\", which is not donated");
    run.donated = (const bool[]){true, false};
    weft_test_ok(weft_executor_run(executor, adds, &run));
    assert_true(((float *)weft_array_data(y))[1] == 5);
    weft_array_release(x);
    weft_array_release(y);
    weft_program_release(adds);
}

/* What came in as read-only is read, and nothing else. */
static void read_only_arrays_are_only_read(void **state)
{
    (void)state;
    float data[6] = {1, 1, 1, 1, 1, 1};
    int64_t shape[] = {6, 1};
    DLManagedTensorVersioned tensor = {.version = {1, 0},
                                       .flags = DLPACK_FLAG_BITMASK_READ_ONLY,
                                       .dl_tensor = {data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0}};
    arrays a = make_arrays();
    weft_array *x, *results[3] = {NULL};
    weft_test_ok(weft_array_import_dlpack_versioned(NULL, &tensor, &x));
    weft_array *inputs[] = {x, a.w, a.k};
    weft_test_ok(RUN(.input_count = 3, .inputs = inputs, .output_count = 3, .outputs = results,
                     .donated = (const bool[]){false, true, false}));
    for (int i = 0; i < 3; i++) weft_array_release(results[i]);
    memset(results, 0, sizeof results);
    weft_test_fails(RUN(.input_count = 3, .inputs = inputs, .output_count = 3, .outputs = results,
                        .donated = (const bool[]){true, false, false}),
                    WEFT_INVALID_ARGUMENT, "input \"x\" is read-only and cannot be donated");
    weft_named_array y = {"y", x};
    weft_test_fails(RUN(.input_count = 3, .inputs = inputs, .named_outputs = {1, &y}), WEFT_INVALID_ARGUMENT,
                    "output \"y\" is read-only");
    weft_array_release(x);
    release(a);
}

static void wrong_names_are_named(void **state)
{
    (void)state;
    arrays a = make_arrays();
    weft_array *results[3] = {NULL};
    weft_named_array twice[] = {{"y", NULL}, {"y", NULL}}, none = {"q", NULL}, nameless = {NULL, NULL};
    weft_named_arrays inputs = WEFT_NAMED({"k", a.k}, {"x", a.x}, {"w", a.w});
    weft_test_fails(RUN(.named_inputs = WEFT_NAMED({"k", a.k}, {"x", a.x}), .output_count = 3, .outputs = results),
                    WEFT_INVALID_ARGUMENT, "input \"w\" is not given; the program has inputs x, w, k");
    weft_test_fails(RUN(.named_inputs = WEFT_NAMED({"K", a.k}, {"x", a.x}), .output_count = 3, .outputs = results),
                    WEFT_INVALID_ARGUMENT, "input \"K\" does not exist; the program has inputs x, w, k");
    weft_test_fails(RUN(.named_inputs = WEFT_NAMED({"x", a.k}, {"x", a.x}), .output_count = 3, .outputs = results),
                    WEFT_INVALID_ARGUMENT, "input \"x\" is given twice; the program has inputs x, w, k");
    weft_test_fails(
        RUN(.named_inputs = WEFT_NAMED({"x", a.x}, {"w", NULL}, {"k", a.k}), .output_count = 3, .outputs = results),
        WEFT_INVALID_ARGUMENT, "input \"w\" is NULL");
    weft_test_fails(RUN(.named_inputs = inputs, .named_outputs = {2, twice}), WEFT_INVALID_ARGUMENT,
                    "output \"y\" is given twice; the program has outputs y, counts, rest");
    weft_test_fails(RUN(.named_inputs = inputs, .named_outputs = {1, &none}), WEFT_INVALID_ARGUMENT,
                    "output \"q\" does not exist; the program has outputs y, counts, rest");
    weft_test_fails(RUN(.named_inputs = inputs, .named_outputs = {1, &nameless}), WEFT_INVALID_ARGUMENT,
                    "the name of an output is NULL; the program has outputs y, counts, rest");
    weft_test_fails(RUN(.named_inputs = inputs, .input_count = 3, .inputs = &a.x), WEFT_INVALID_ARGUMENT,
                    "inputs are given both by name and in order");
    weft_report report = {1, 1, 1, 1, true};
    weft_test_fails(RUN(.named_inputs = {3, NULL}, .report = &report), WEFT_INVALID_ARGUMENT,
                    "the list of 3 named inputs is NULL");
    assert_true(report.compile_ns == 0 && report.run_ns == 0 && report.steps == 0 && report.peak_bytes == 0);
    assert_false(report.hit);
    release(a);
}

/* ---- memory ---- */

static weft_status *compile_and_ask(const weft_allocator *allocator, void *context)
{
    (void)context;
    int64_t shape[1];
    weft_graph *graph;
    weft_program *made;
    WEFT_TRY(weft_graph_create(&(weft_graph_options){.allocator = allocator}, &graph));
    weft_extent n = weft_symbol(graph, "n", 0, 9);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(n));
    weft_status *status = weft_compile(graph, WEFT_TENSORS(weft_concat(WEFT_TENSORS(x, x), 0)), NULL, &made);
    weft_graph_destroy(graph);
    if (status != NULL) return status;
    status = weft_program_output_shape(made, 0, 1, &(weft_binding){"n", 3}, shape);
    if (status == NULL) assert_int_equal(shape[0], 6);
    weft_program_release(made);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    weft_test_fail_each(compile_and_ask, NULL);
}

int main(void)
{
#define IN_FIXTURE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_FIXTURE(axes_have_extents_and_symbols),  IN_FIXTURE(symbols_have_ranges_and_sources),
        IN_FIXTURE(shapes_follow_from_symbols),     IN_FIXTURE(names_come_in_any_order),
        IN_FIXTURE(shapes_follow_from_symbols),     IN_FIXTURE(symbols_that_nothing_needs_may_be_given),
        IN_FIXTURE(read_only_arrays_are_only_read), IN_FIXTURE(donation_follows_the_names),
        IN_FIXTURE(wrong_names_are_named),          cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
