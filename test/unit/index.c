/* SPDX-License-Identifier: Apache-2.0 */
/* Indexing: shapes, sentences of errors, and values on the reference runtime. Random expressions are in
 * test/index/numpy_random.py. */
#include <weft/weft.h>
#include <string.h>
#include "lib/graph/graph.h"
#include "test/support.h"
#include "test/traced.h"

#define N(value) weft_extent_of(value)

typedef struct fixture {
    weft_graph *graph;
    weft_extent n;       /* [1, 1000] */
    weft_tensor x, y, s; /* f32[3, 4, 5], f32[n, 4], f32[] */
    weft_tensor i, j, k; /* i64[2, 3], i32[3], i64[] */
    weft_tensor p;       /* bool[3] */
} fixture;

static fixture f;

static int set_up(void **state)
{
    (void)state;
    weft_test_ok(weft_graph_create(NULL, &f.graph));
    f.n = weft_symbol(f.graph, "n", 1, 1000);
    f.x = weft_input(f.graph, "x", WEFT_F32, WEFT_SHAPE(3, 4, 5));
    f.y = weft_input(f.graph, "y", WEFT_F32, WEFT_SHAPE(f.n, 4));
    f.s = weft_input(f.graph, "s", WEFT_F32, WEFT_SHAPE());
    f.i = weft_input(f.graph, "i", WEFT_I64, WEFT_SHAPE(2, 3));
    f.j = weft_input(f.graph, "j", WEFT_I32, WEFT_SHAPE(3));
    f.k = weft_input(f.graph, "k", WEFT_I64, WEFT_SHAPE());
    f.p = weft_input(f.graph, "p", WEFT_BOOL, WEFT_SHAPE(3));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    weft_graph_destroy(f.graph);
    return 0;
}

static void expect_type(weft_tensor tensor, const char *type)
{
    weft_test_traced(f.graph, tensor, type);
}

static void expect_error(weft_tensor tensor, weft_code code, const char *message)
{
    weft_test_refused(f.graph, tensor, code, NULL, message);
}

/* ---- shapes ---- */

static void shapes_of_items(void **state)
{
    (void)state;
    expect_type(weft_at(f.x, WEFT_ALL), "f32[3, 4, 5]");
    expect_type(weft_at(f.x, WEFT_RANGE(1, 3), WEFT_INDEX(-1)), "f32[2, 5]");
    expect_type(weft_at(f.x, WEFT_RANGE(1, 3), -1), "f32[2, 5]");
    const size_t two = 2;
    const bool one = true;
    expect_type(weft_at(f.x, two, 1ull, one), "f32[]");
    expect_type(weft_at(f.y, weft_extent_sub(f.n, N(1))), "f32[4]");
    expect_type(weft_at(f.x, 0, WEFT_ALL, f.j), "f32[3, 4]");
    expect_type(weft_at(f.x, WEFT_ELLIPSIS, WEFT_RANGE(WEFT_OPEN, WEFT_OPEN, -2)), "f32[3, 4, 3]");
    expect_type(weft_at(f.x, WEFT_NEWAXIS, WEFT_ELLIPSIS, WEFT_NEWAXIS, WEFT_INDEX(0)), "f32[1, 3, 4, 1]");
    expect_type(weft_at(f.y, WEFT_RANGE(1, WEFT_OPEN)), "f32[n - 1, 4]");
    expect_type(weft_at(f.y, WEFT_RANGE(WEFT_OPEN, weft_extent_div(f.n, N(2)))), "f32[n / 2, 4]");
    expect_type(weft_at(f.y, WEFT_INDEX(weft_extent_sub(f.n, N(1)))), "f32[4]");
    expect_type(weft_at(f.x, WEFT_PICK(f.i), WEFT_RANGE(9, 7)), "f32[2, 3, 0, 5]");
    expect_type(weft_at(f.x, WEFT_INDEX(0), WEFT_ALL, WEFT_PICK(f.j)), "f32[3, 4]");
    expect_type(weft_at(f.x, WEFT_ALL, WEFT_PICK(f.i), WEFT_PICK(f.j)), "f32[3, 2, 3]");
    expect_type(weft_at(f.x, WEFT_PICK(f.i), WEFT_ALL, WEFT_PICK(f.j)), "f32[2, 3, 4]");
    expect_type(weft_set_at(f.x, f.s, WEFT_ALL, WEFT_RANGE(0, 2)), "f32[3, 4, 5]");
    expect_type(weft_add_at(f.y, f.s, WEFT_PICK(f.i)), "f32[n, 4]");
}

/* Integers beyond any extent, and those that are WEFT_OPEN as extents, are bounds and steps like others. */
static void shapes_of_far_ranges(void **state)
{
    (void)state;
    const uint64_t high = (uint64_t)1 << 63;
    expect_type(weft_at(f.x, WEFT_RANGE(0, 3, high)), "f32[1, 4, 5]");
    expect_type(weft_at(f.x, WEFT_ALL, WEFT_RANGE(WEFT_OPEN, WEFT_OPEN, UINT64_MAX)), "f32[3, 1, 5]");
    expect_type(weft_at(f.x, WEFT_RANGE(1, UINT64_MAX)), "f32[2, 4, 5]");
    expect_type(weft_at(f.x, WEFT_RANGE(high, UINT64_MAX)), "f32[0, 4, 5]");
    expect_type(weft_at(f.x, WEFT_RANGE(high, 0, -1)), "f32[2, 4, 5]");
    expect_type(weft_at(f.y, WEFT_RANGE(1, UINT64_MAX)), "f32[n - 1, 4]");
    for (int64_t low = INT64_MIN; low < INT64_MIN + 3; low++) {
        expect_type(weft_at(f.x, WEFT_RANGE(low, 2)), "f32[2, 4, 5]");
        expect_type(weft_at(f.x, WEFT_RANGE(0, low)), "f32[0, 4, 5]");
        expect_type(weft_at(f.x, WEFT_RANGE(low, WEFT_OPEN, -1)), "f32[0, 4, 5]");
        expect_type(weft_at(f.x, WEFT_RANGE(1, low, -1)), "f32[2, 4, 5]");
        expect_type(weft_at(f.y, WEFT_RANGE(low, WEFT_OPEN)), "f32[n, 4]");
    }
}

static void shapes_of_ops(void **state)
{
    (void)state;
    weft_tensor rows = weft_gather(f.x, f.i, 1);
    expect_type(rows, "f32[3, 2, 3, 5]");
    expect_type(weft_gather_axes(f.x, WEFT_TENSORS(f.j, f.i), WEFT_INTS(-1, 0)), "f32[2, 3, 4]");
    expect_type(weft_scatter(f.x, WEFT_TENSORS(f.i), WEFT_INTS(1), rows, WEFT_SCATTER_MAX), "f32[3, 4, 5]");
    expect_type(weft_index_add(f.x, f.i, rows, 1), "f32[3, 4, 5]");
    expect_type(weft_index_select(f.x, f.j, 2), "f32[3, 4, 3]");
    weft_tensor along = weft_input(f.graph, "along", WEFT_I64, WEFT_SHAPE(1, 7, 5));
    weft_tensor taken = weft_take_along_axis(f.x, along, 1);
    expect_type(taken, "f32[3, 7, 5]");
    expect_type(weft_scatter_along_axis(f.x, along, taken, -2, WEFT_SCATTER_SET), "f32[3, 4, 5]");
    weft_tensor slice = weft_dynamic_slice(f.x, WEFT_TENSORS(f.k, f.k), WEFT_INTS(2, 0), WEFT_SHAPE(4, 1));
    expect_type(slice, "f32[1, 4, 4]");
    expect_type(weft_dynamic_update_slice(f.x, slice, WEFT_TENSORS(f.k, f.k), WEFT_INTS(0, -1)), "f32[3, 4, 5]");
}

/* ---- errors ---- */

static void refused_items(void **state)
{
    (void)state;
    expect_error(weft_at(f.x, WEFT_INDEX(3)), WEFT_OUT_OF_RANGE,
                 "index: index 3 is out of range for axis 0 of extent 3");
    expect_error(weft_at(f.x, UINT64_MAX), WEFT_OUT_OF_RANGE,
                 "index: index 18446744073709551615 is out of range for axis 0 of extent 3");
    expect_error(weft_set_at(f.y, 1, WEFT_ALL, (uint64_t)1 << 63), WEFT_OUT_OF_RANGE,
                 "index_update: index 9223372036854775808 is out of range for axis 1 of extent 4");
    expect_error(weft_at(f.x, INT64_MAX), WEFT_OUT_OF_RANGE,
                 "index: index 9223372036854775807 is out of range for axis 0 of extent 3");
    expect_error(weft_at(f.y, INT64_MAX), WEFT_OUT_OF_RANGE,
                 "index: index 9223372036854775807 is out of range for axis 0 of extent n");
    expect_error(weft_at(f.x, WEFT_ELLIPSIS, WEFT_INDEX(-6)), WEFT_OUT_OF_RANGE,
                 "index: index -6 is out of range for axis 2 of extent 5");
    expect_error(
        weft_at(f.x, WEFT_ALL, WEFT_RANGE(0, N(INT64_MIN))), WEFT_INVALID_ARGUMENT,
        "index: the stop of axis 1 is below -(2^63 - 1) or above 2^63 - 1, or comes of constants that overflow 64 "
        "bits or divide by 0");
    expect_error(
        weft_at(f.x, WEFT_RANGE(N(INT64_MIN), 1)), WEFT_INVALID_ARGUMENT,
        "index: the start of axis 0 is below -(2^63 - 1) or above 2^63 - 1, or comes of constants that overflow 64 "
        "bits or divide by 0");
    expect_error(
        weft_at(f.x, WEFT_INDEX(INT64_MIN)), WEFT_INVALID_ARGUMENT,
        "index: the index of axis 0 is below -(2^63 - 1) or above 2^63 - 1, or comes of constants that overflow 64 "
        "bits or divide by 0");
    expect_error(weft_at(f.x, WEFT_RANGE(0, 2, 0)), WEFT_INVALID_ARGUMENT, "index: the range of axis 0 has step 0");
    expect_error(weft_at(f.x, WEFT_RANGE(0, 2, 0ull)), WEFT_INVALID_ARGUMENT, "index: the range of axis 0 has step 0");
    expect_error(weft_at(f.y, WEFT_ALL, WEFT_ALL, WEFT_INDEX(0)), WEFT_INVALID_ARGUMENT,
                 "index: there are indices for 3 axes, but the tensor has rank 2");
    expect_error(weft_at(f.y, WEFT_ELLIPSIS, WEFT_NEWAXIS, WEFT_ELLIPSIS), WEFT_INVALID_ARGUMENT,
                 "index: there are 2 ellipses: one is possible");
    expect_error(weft_at(f.x, WEFT_PICK(f.p)), WEFT_UNSUPPORTED,
                 "index: axis 0 is indexed by a mask, and how many elements it takes is not known before the run; use "
                 "weft_select, or indices");
    expect_error(weft_at(f.x, WEFT_PICK(f.s)), WEFT_DTYPE_MISMATCH,
                 "index: the indices have dtype f32, not i64 or i32");
    expect_error(weft_at(f.x, WEFT_PICK(((weft_tensor){0}))), WEFT_INVALID_ARGUMENT,
                 "index: the index tensor of axis 0 is not a tensor of a graph");
    expect_error(weft_at(f.x, ((weft_index_item){.kind = (weft_index_kind)9})), WEFT_INVALID_ARGUMENT,
                 "index: item 0 has kind 9, which does not exist");
    expect_error(weft_index(f.x, (weft_index_items){2, NULL}), WEFT_INVALID_ARGUMENT, "index: the items are NULL");
    expect_error(weft_set_at(f.x, f.y, WEFT_INDEX(0)), WEFT_SHAPE_MISMATCH,
                 "index_update: axis 1 of the value has extent 4 but axis 1 of x[items] has 5");
    expect_error(weft_set_at(f.x, f.k, WEFT_ALL), WEFT_DTYPE_MISMATCH,
                 "index_update: the value has dtype i64 but x has f32; cast explicitly");
    expect_error(weft_add_at(f.p, f.p, WEFT_ALL), WEFT_DTYPE_MISMATCH,
                 "index_update: mode add does not take dtype bool");
}

static void refused_ops(void **state)
{
    (void)state;
    weft_tensor rows = weft_gather(f.x, f.i, 1);
    expect_error(weft_gather_axes(f.x, WEFT_TENSORS(f.i), WEFT_INTS(0, 1)), WEFT_INVALID_ARGUMENT,
                 "gather_axes: the index tensors have length 1 but axes has 2");
    expect_error(weft_gather_axes(f.x, WEFT_TENSORS(f.j, f.j), WEFT_INTS(0, -3)), WEFT_INVALID_ARGUMENT,
                 "gather_axes: axes names axis 0 twice");
    expect_error(weft_gather(f.x, f.i, 3), WEFT_OUT_OF_RANGE, "gather: axis 3 is out of range for rank 3");
    expect_error(weft_gather_axes(f.x, WEFT_TENSORS(), WEFT_INTS()), WEFT_INVALID_ARGUMENT,
                 "gather_axes: there are no axes, but at least one is needed");
    expect_error(weft_scatter(f.x, WEFT_TENSORS(f.i), WEFT_INTS(1), f.x, WEFT_SCATTER_SET), WEFT_SHAPE_MISMATCH,
                 "scatter: the updates have rank 3, not 4");
    expect_error(weft_scatter(f.x, WEFT_TENSORS(f.j), WEFT_INTS(1), f.x, WEFT_SCATTER_SET), WEFT_SHAPE_MISMATCH,
                 "scatter: axis 1 of the updates has extent 4, not 3");
    expect_error(weft_scatter(f.x, WEFT_TENSORS(f.i), WEFT_INTS(1), rows, (weft_scatter_mode)7), WEFT_INVALID_ARGUMENT,
                 "scatter: 7 is not a weft_scatter_mode");
    weft_tensor truth = weft_gather(f.p, f.j, 0);
    expect_error(weft_scatter(f.p, WEFT_TENSORS(f.j), WEFT_INTS(0), truth, WEFT_SCATTER_ADD), WEFT_DTYPE_MISMATCH,
                 "scatter: mode add does not take dtype bool");
    expect_error(weft_index_select(f.x, f.i, 0), WEFT_SHAPE_MISMATCH, "index_select: the indices have rank 2, not 1");
    expect_error(weft_take_along_axis(f.x, f.i, 0), WEFT_SHAPE_MISMATCH,
                 "take_along_axis: the indices have rank 2 but x has 3");
    expect_error(weft_dynamic_slice(f.x, WEFT_TENSORS(f.k), WEFT_INTS(1), WEFT_SHAPE(5)), WEFT_OUT_OF_RANGE,
                 "dynamic_slice: axis 1 has size 5 but its extent is 4");
    expect_error(weft_dynamic_slice(f.x, WEFT_TENSORS(f.k), WEFT_INTS(1), WEFT_SHAPE()), WEFT_INVALID_ARGUMENT,
                 "dynamic_slice: the sizes have length 0 but axes has 1");
    expect_error(weft_dynamic_slice(f.x, WEFT_TENSORS(f.j), WEFT_INTS(1), WEFT_SHAPE(1)), WEFT_DTYPE_MISMATCH,
                 "dynamic_slice: the start of axis 1 is i32[3], not i64[]");
    expect_error(weft_dynamic_update_slice(f.x, f.y, WEFT_TENSORS(f.k), WEFT_INTS(0)), WEFT_SHAPE_MISMATCH,
                 "dynamic_update_slice: the update has rank 2 but x has 3");
    expect_error(weft_dynamic_update_slice(f.x, f.x, WEFT_TENSORS(f.k, ((weft_tensor){0})), WEFT_INTS(0, 1)),
                 WEFT_INVALID_ARGUMENT, "dynamic_update_slice: start 1 is not a tensor of a graph");
}

/* ---- values ---- */

/* Runs the graph, which has no inputs, on the reference runtime. */
static weft_array *evaluate(weft_tensor tensor)
{
    weft_program *program;
    weft_executor *executor;
    weft_array *result = NULL;
    const weft_status *error = weft_graph_error(f.graph);
    if (error != NULL) fail_msg("%s", weft_status_message(error));
    weft_test_ok(weft_compile(f.graph, WEFT_TENSORS(tensor), NULL, &program));
    weft_test_ok(weft_executor_create(NULL, &executor));
    weft_test_ok(weft_executor_register_runtime(executor, weft_runtime_reference()));
    weft_test_ok(weft_executor_run(executor, program, &(weft_run){.output_count = 1, .outputs = &result}));
    weft_executor_destroy(executor);
    weft_program_release(program);
    return result;
}

static void expect_values(weft_tensor tensor, size_t count, const float *wanted)
{
    weft_array *array = evaluate(weft_cast(tensor, WEFT_F32));
    assert_int_equal(weft_array_count(array), count);
    assert_memory_equal(weft_array_data(array), wanted, count * sizeof *wanted);
    weft_array_release(array);
}

#define EXPECT(tensor, ...)                                                                                            \
    expect_values(tensor, sizeof((float[]){__VA_ARGS__}) / sizeof(float), (float[]){__VA_ARGS__})

/* 0, 1, 2, ... */
static weft_tensor counted(int64_t rows, int64_t columns)
{
    weft_tensor all = weft_iota(f.graph, WEFT_F32, WEFT_SHAPE(rows * columns), 0);
    return weft_reshape(all, WEFT_SHAPE(rows, columns));
}

static weft_tensor list(size_t count, const int64_t *values)
{
    return weft_constant(f.graph, WEFT_I64, WEFT_INTS((int64_t)count), values);
}

#define LIST(...) list(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})

static void index_add_adds_columns(void **state)
{
    (void)state;
    weft_tensor ones = weft_full(f.graph, WEFT_F32, 1, WEFT_SHAPE(4, 2));
    EXPECT(weft_index_add(ones, LIST(0, 1, 1), counted(4, 3), 1), 1, 4, 4, 10, 7, 16, 10, 22);
}

static void duplicates_are_defined(void **state)
{
    (void)state;
    weft_tensor x = counted(1, 4),
                u = weft_reshape(weft_add(counted(1, 3), weft_scalar(f.graph, WEFT_F32, 10)), WEFT_SHAPE(3));
    x = weft_reshape(x, WEFT_SHAPE(4));
    EXPECT(weft_set_at(x, u, WEFT_PICK(LIST(2, -2, 0))), 12, 1, 11, 3);
    EXPECT(weft_add_at(x, u, WEFT_PICK(LIST(2, -2, 0))), 12, 1, 23, 3);
    EXPECT(weft_index_update(x, u, WEFT_SCATTER_MUL, WEFT_ITEMS(WEFT_PICK(LIST(1, 1, 3)))), 0, 110, 2, 36);
}

static void along_an_axis(void **state)
{
    (void)state;
    weft_tensor x = counted(2, 3), at = weft_reshape(LIST(2, 0), WEFT_SHAPE(2, 1));
    EXPECT(weft_take_along_axis(x, at, 1), 2, 3);
    EXPECT(weft_take_along_axis(x, weft_reshape(LIST(-1, 0), WEFT_SHAPE(2, 1)), 0), 3, 4, 5, 0, 1, 2);
    EXPECT(weft_scatter_along_axis(x, at, weft_scalar(f.graph, WEFT_F32, 9), 1, WEFT_SCATTER_SET), 0, 1, 9, 9, 4, 5);
}

static void blocks_are_replaced(void **state)
{
    (void)state;
    weft_tensor x = counted(2, 4), nine = weft_scalar(f.graph, WEFT_F32, 9),
                row = weft_at(counted(1, 2), WEFT_INDEX(0));
    EXPECT(weft_at(x, WEFT_INDEX(1), WEFT_RANGE(WEFT_OPEN, 0, -2)), 7, 5);
    EXPECT(weft_at(x, 1, WEFT_RANGE(0, 4, UINT64_MAX)), 4);
    EXPECT(weft_at(x, 1, WEFT_RANGE(INT64_MAX, -INT64_MAX, -3)), 7, 4);
    EXPECT(weft_set_at(x, nine, WEFT_INDEX(-1), WEFT_RANGE(1, 3)), 0, 1, 2, 3, 4, 9, 9, 7);
    EXPECT(weft_set_at(x, row, WEFT_ALL, WEFT_RANGE(2, 0, -1)), 0, 1, 0, 3, 4, 1, 0, 7);
    EXPECT(weft_set_at(x, row, WEFT_ALL, WEFT_RANGE(WEFT_OPEN, WEFT_OPEN, 2)), 0, 1, 1, 3, 0, 5, 1, 7);
    EXPECT(weft_add_at(x, nine, WEFT_RANGE(7, 9)), 0, 1, 2, 3, 4, 5, 6, 7);
}

#define IN_GRAPH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_GRAPH(shapes_of_items),        IN_GRAPH(shapes_of_far_ranges), IN_GRAPH(shapes_of_ops),
        IN_GRAPH(refused_items),          IN_GRAPH(refused_ops),          IN_GRAPH(index_add_adds_columns),
        IN_GRAPH(duplicates_are_defined), IN_GRAPH(along_an_axis),        IN_GRAPH(blocks_are_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
