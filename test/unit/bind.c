/* SPDX-License-Identifier: Apache-2.0 */
/* weft_program_bind: programs whose weights are constants compute what they compute from the same inputs. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <weft/einsum.h>
#include <weft/object.h>
#include <weft/weft.h>
#include "test/support.h"

enum { ROWS = 5, IN = 4, OUT = 3 };

static const float x_data[ROWS * IN] = {0.5f, -1, 2, 3, 1, 1, -2, 0.25f, 7, 0, 1, -1, 2, 2, 2, 2, -3, 5, 0, 1};
static const float w_data[IN * OUT] = {1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12}; /* its columns, one after another */
static const float b_data[OUT] = {-20, 0.5f, 4};

/* ---- programs ---- */

typedef weft_tensor (*model)(weft_tensor x, weft_tensor w, weft_tensor b);

static weft_tensor layer(weft_tensor x, weft_tensor w, weft_tensor b)
{
    return weft_relu(weft_add(weft_matmul(x, w), b));
}

static void step(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const weft_tensor *w = context;
    (void)index;
    out_next[0] = weft_tanh(weft_matmul(weft_matmul(carried[0], w[0]), weft_transpose(w[0], 0, 1)));
}

/* The weights are used within a region, of which they become parameters. */
static weft_tensor loop(weft_tensor x, weft_tensor w, weft_tensor b)
{
    weft_tensor result = weft_fold(weft_extent_of(3), WEFT_TENSORS(x), step, &w, NULL);
    return layer(result, w, b);
}

static weft_tensor contraction(weft_tensor x, weft_tensor w, weft_tensor b)
{
    return weft_einsum("ni,ij,j->nj", WEFT_TENSORS(x, w, b), NULL);
}

static weft_status *make(const weft_allocator *allocator, model f, weft_program **out_program)
{
    weft_graph *graph;
    const weft_graph_options options = {.allocator = allocator};
    WEFT_TRY(weft_graph_create(&options, &graph));
    weft_status *status = weft_graph_register(graph, weft_einsum_extension());
    if (status != NULL) {
        weft_graph_destroy(graph);
        return status;
    }
    weft_extent n = weft_symbol(graph, "n", 1, 100);
    weft_symbol(graph, "idle", 2, 9);
    weft_tensor w = weft_input(graph, "w", WEFT_F32, WEFT_SHAPE(IN, OUT));
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(n, IN));
    weft_tensor b = weft_input(graph, "b", WEFT_F32, WEFT_SHAPE(OUT));
    weft_tensor y = f(x, w, b);
    status = weft_compile_named(graph, WEFT_TENSORS(y), (const char *const[]){"y"}, NULL, out_program);
    weft_graph_destroy(graph);
    return status;
}

/* ---- arrays ---- */

static struct {
    weft_array *x, *w, *b;
} arrays;

static weft_array *wrap(size_t rank, const int64_t *shape, const int64_t *strides, const float *data)
{
    weft_array *array;
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, rank, shape, strides, (void *)(uintptr_t)data, NULL, NULL, &array));
    return array;
}

static int make_arrays(void **state)
{
    (void)state;
    arrays.x = wrap(2, (int64_t[]){ROWS, IN}, NULL, x_data);
    arrays.w = wrap(2, (int64_t[]){IN, OUT}, (int64_t[]){1, IN}, w_data);
    arrays.b = wrap(1, (int64_t[]){OUT}, NULL, b_data);
    return 0;
}

static int release_arrays(void **state)
{
    (void)state;
    weft_array_release(arrays.x);
    weft_array_release(arrays.w);
    weft_array_release(arrays.b);
    return 0;
}

static weft_array *run(weft_program *program, weft_named_arrays inputs)
{
    weft_executor *executor;
    weft_named_array y = {"y", NULL};
    weft_test_ok(weft_executor_create_standard(NULL, &executor));
    weft_test_ok(weft_executor_register_extension(executor, weft_einsum_extension()));
    weft_test_ok(weft_executor_run(executor, program, &(weft_run){.named_inputs = inputs, .named_outputs = {1, &y}}));
    weft_executor_destroy(executor);
    return y.array;
}

static void expect_equal(weft_array *found, weft_array *expected)
{
    assert_int_equal(weft_array_count(expected), ROWS * OUT);
    assert_int_equal(weft_array_count(found), ROWS * OUT);
    assert_memory_equal(weft_array_data(found), weft_array_data(expected), ROWS * OUT * sizeof(float));
    weft_array_release(found);
    weft_array_release(expected);
}

/* ---- */

static void expect_interface(const weft_program *program, size_t inputs)
{
    assert_int_equal(weft_program_input_count(program), inputs);
    assert_string_equal(weft_program_output_name(program, 0), "y");
    assert_int_equal(weft_program_symbol_count(program), 1);
    assert_string_equal(weft_program_symbol_at(program, 0)->name, "n");
}

static void computes_the_same(void **state)
{
    (void)state;
    static const model models[] = {layer, loop, contraction};
    weft_program *program, *one, *both;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        weft_test_ok(make(NULL, models[i], &program));
        weft_test_ok(weft_program_bind(program, WEFT_NAMED({"w", arrays.w}), &one));
        weft_test_ok(weft_program_bind(one, WEFT_NAMED({"b", arrays.b}), &both));
        expect_interface(program, 3);
        expect_interface(one, 2);
        expect_interface(both, 1);
        assert_string_equal(weft_program_input_name(one, 0), "x");
        assert_null(strstr(weft_program_text(both), "\"w\""));
        weft_named_arrays all = WEFT_NAMED({"x", arrays.x}, {"w", arrays.w}, {"b", arrays.b});
        expect_equal(run(one, WEFT_NAMED({"x", arrays.x}, {"b", arrays.b})), run(program, all));
        expect_equal(run(both, WEFT_NAMED({"x", arrays.x})), run(program, all));
        weft_program_release(program);
        weft_program_release(one);
        weft_program_release(both);
    }
}

/* Constants are copies, nothing is bound by an empty list, and the program may come from a file. */
static void is_a_program_of_its_own(void **state)
{
    (void)state;
    char path[64];
    float numbers[OUT];
    weft_program *program, *loaded, *same, *bound;
    const weft_extension *const extensions[] = {weft_einsum_extension()};
    memcpy(numbers, b_data, sizeof numbers);
    weft_array *b = wrap(1, (int64_t[]){OUT}, NULL, numbers);
    snprintf(path, sizeof path, "/tmp/weft-bind-%ld", (long)getpid());
    weft_test_ok(make(NULL, contraction, &program));
    weft_array *expected = run(program, WEFT_NAMED({"x", arrays.x}, {"w", arrays.w}, {"b", arrays.b}));
    weft_test_ok(weft_program_save(program, path));
    weft_program_release(program);
    weft_test_ok(weft_program_load(NULL, path, 1, extensions, &loaded));
    assert_int_equal(remove(path), 0);
    weft_test_ok(weft_program_bind(loaded, (weft_named_arrays){0, NULL}, &same));
    weft_test_ok(weft_program_bind(same, WEFT_NAMED({"b", b}, {"w", arrays.w}), &bound));
    weft_program_release(loaded);
    weft_program_release(same);
    weft_array_release(b);
    memset(numbers, 0, sizeof numbers);
    expect_equal(run(bound, WEFT_NAMED({"x", arrays.x})), expected);
    weft_program_release(bound);
}

/* Also one that nothing has used from the beginning, and one that nothing uses any more. */
static void symbols_stay(void **state)
{
    (void)state;
    weft_program *program, *bound;
    weft_object *object;
    weft_test_ok(make(NULL, layer, &program));
    weft_test_ok(weft_program_bind(program, WEFT_NAMED({"w", arrays.w}), &bound));
    weft_status *status =
        weft_object_create(bound, &(weft_object_options){.name = "f", .extents = "n=3,idle=4"}, &object);
    if (weft_status_code(status) == WEFT_NO_COMPILER) weft_status_destroy(status);
    else {
        weft_test_ok(status);
        weft_object_destroy(object);
    }
    weft_test_fails(weft_object_create(bound, &(weft_object_options){.name = "f", .extents = "n=3,idle=1"}, &object),
                    WEFT_INVALID_ARGUMENT, "\"idle=1\" is not one value from 2 to 9");
    weft_program_release(bound);
    weft_program_release(program);
}

static void refuses(const weft_program *program, weft_named_arrays constants, weft_code code, const char *sentence)
{
    weft_program *bound;
    weft_test_fails(weft_program_bind(program, constants, &bound), code, sentence);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    weft_program *program;
    weft_array *whole;
    weft_test_ok(make(NULL, layer, &program));
    weft_test_ok(weft_array_create(NULL, WEFT_I32, 1, (int64_t[]){OUT}, &whole));
    refuses(program, WEFT_NAMED({"v", arrays.w}), WEFT_NOT_FOUND, "the program has no input \"v\"");
    refuses(program, WEFT_NAMED({"w", arrays.w}, {"w", arrays.w}), WEFT_INVALID_ARGUMENT, "input \"w\" is given twice");
    refuses(program, WEFT_NAMED({"w", NULL}), WEFT_INVALID_ARGUMENT, "the array for input \"w\" is NULL");
    refuses(program, WEFT_NAMED({"w", arrays.w}, {NULL, arrays.w}), WEFT_INVALID_ARGUMENT, "name 1 is NULL");
    refuses(program, WEFT_NAMED({"b", whole}), WEFT_DTYPE_MISMATCH,
            "the array for input \"b\" is i32, but the program requires f32");
    refuses(program, WEFT_NAMED({"b", arrays.w}), WEFT_SHAPE_MISMATCH,
            "the array for input \"b\" has rank 2, but the program requires 1");
    refuses(program, WEFT_NAMED({"w", arrays.x}), WEFT_SHAPE_MISMATCH,
            "axis 0 of the array for input \"w\" has extent 5, but the program requires 4");
    refuses(program, WEFT_NAMED({"x", arrays.x}), WEFT_UNSUPPORTED,
            "input \"x\" cannot be a constant: axis 0 has extent n, which is no number");
    weft_array_release(whole);
    weft_program_release(program);
}

static void bools_are_checked(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {1, 2};
    weft_graph *graph;
    weft_program *program;
    weft_array *mask;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor y = weft_logical_not(weft_input(graph, "mask", WEFT_BOOL, WEFT_SHAPE(2)));
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(y), NULL, &program));
    weft_graph_destroy(graph);
    weft_test_ok(
        weft_array_wrap(NULL, WEFT_BOOL, 1, (int64_t[]){2}, NULL, (void *)(uintptr_t)bytes, NULL, NULL, &mask));
    refuses(program, WEFT_NAMED({"mask", mask}), WEFT_INVALID_ARGUMENT, "");
    weft_array_release(mask);
    weft_program_release(program);
}

static weft_status *bind(const weft_allocator *allocator, void *context)
{
    weft_program *program, *bound;
    (void)context;
    WEFT_TRY(make(allocator, loop, &program));
    weft_status *status = weft_program_bind(program, WEFT_NAMED({"w", arrays.w}, {"b", arrays.b}), &bound);
    if (status == NULL) weft_program_release(bound);
    weft_program_release(program);
    return status;
}

static void memory_may_run_out(void **state)
{
    (void)state;
    assert_true(weft_test_fail_each(bind, NULL) > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(computes_the_same), cmocka_unit_test(is_a_program_of_its_own),
        cmocka_unit_test(symbols_stay),      cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(bools_are_checked), cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, make_arrays, release_arrays);
}
