/* SPDX-License-Identifier: Apache-2.0 */
/* Programs in files: the same programs when they come back, and a sentence for every file that is none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/einsum.h>
#include <weft/weft.h>
#include "test/support.h"

static char path[64], other[64];

static int set_up(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "saved-%ld.program", (long)getpid());
    snprintf(other, sizeof other, "saved-%ld.other", (long)getpid());
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    remove(path);
    remove(other);
    return 0;
}

/* An input that no output needs once the passes are done, a symbol that nothing needs, a guard, a constant, an op of an
 * extension, and policies that are not the default. */
static weft_program *make_program(void)
{
    static const float weights[] = {1.5f, -2, 0.25f, 3e-30f};
    static const char *const names[] = {"y", "e", "input.4.4"};
    weft_graph *graph;
    weft_program *program;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_test_ok(weft_graph_register(graph, weft_einsum_extension()));
    weft_extent n = weft_symbol(graph, "n", 1, 100), m = weft_symbol(graph, "m", 1, 100);
    weft_symbol(graph, "idle", 2, 9);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(n, 4));
    weft_tensor u = weft_input(graph, "u", WEFT_F32, WEFT_SHAPE(n, m));
    weft_tensor v = weft_input(graph, "v", WEFT_F32, WEFT_SHAPE(m, 4));
    weft_tensor w = weft_input(graph, "w", WEFT_F32, WEFT_SHAPE(4, m));
    weft_tensor unused = weft_input(graph, "unused", WEFT_BOOL, WEFT_SHAPE(n, 4));
    weft_tensor outputs[] = {weft_exp(weft_mul(x, weft_constant(graph, WEFT_F32, WEFT_INTS(4), weights))),
                             weft_einsum("ij,jk,kl->il", WEFT_TENSORS(u, v, w), NULL), weft_select(unused, x, x)};
    const weft_policy policy = {
        .size = sizeof policy, .products = WEFT_PRODUCTS_FAST, .functions = WEFT_FUNCTIONS_FAST};
    weft_test_ok(weft_compile_named(graph, (weft_tensors){3, outputs}, names, &policy, &program));
    weft_graph_destroy(graph);
    return program;
}

static weft_status *load(const weft_allocator *allocator, const char *file, weft_program **out_program)
{
    const weft_extension *extensions[] = {weft_einsum_extension()};
    return weft_program_load(allocator, file, 1, extensions, out_program);
}

static void expect_values(const weft_program *a, const weft_program *b)
{
    assert_int_equal(weft_program_input_count(a), weft_program_input_count(b));
    assert_int_equal(weft_program_output_count(a), weft_program_output_count(b));
    for (size_t i = 0; i < weft_program_input_count(a); i++) {
        assert_string_equal(weft_program_input_name(a, i), weft_program_input_name(b, i));
        assert_int_equal(weft_program_input_dtype(a, i), weft_program_input_dtype(b, i));
        for (size_t axis = 0; axis < weft_program_input_rank(a, i); axis++)
            assert_string_equal(weft_program_input_axes(a, i)[axis].extent, weft_program_input_axes(b, i)[axis].extent);
    }
    for (size_t i = 0; i < weft_program_output_count(a); i++) {
        assert_string_equal(weft_program_output_name(a, i), weft_program_output_name(b, i));
        for (size_t axis = 0; axis < weft_program_output_rank(a, i); axis++)
            assert_string_equal(weft_program_output_axes(a, i)[axis].extent,
                                weft_program_output_axes(b, i)[axis].extent);
    }
    assert_int_equal(weft_program_symbol_count(a), weft_program_symbol_count(b));
    for (size_t i = 0; i < weft_program_symbol_count(a); i++) {
        const weft_program_symbol *x = weft_program_symbol_at(a, i), *y = weft_program_symbol_at(b, i);
        assert_string_equal(x->name, y->name);
        assert_true(x->min == y->min && x->max == y->max && x->input == y->input && x->axis == y->axis);
    }
}

static void is_the_same_program(void **state)
{
    (void)state;
    weft_program *program = make_program(), *loaded, *again;
    assert_null(strstr(weft_program_text(program), "unused")); /* the passes did without */
    weft_test_ok(weft_program_save(program, path));
    weft_test_ok(load(NULL, path, &loaded));
    assert_string_equal(weft_program_text(program), weft_program_text(loaded));
    expect_values(program, loaded);
    weft_test_ok(weft_program_save(loaded, other));
    weft_test_ok(load(NULL, other, &again));
    assert_string_equal(weft_program_text(program), weft_program_text(again));
    expect_values(program, again);
    weft_program_release(again);
    weft_program_release(loaded);
    weft_program_release(program);
}

/* ---- runs ---- */

enum { N = 5, M = 3, OUTPUTS = 3 };

static weft_array *make_array(weft_dtype dtype, int64_t rows, int64_t columns)
{
    weft_array *array;
    weft_test_ok(weft_array_create(NULL, dtype, 2, (int64_t[]){rows, columns}, &array));
    memset(weft_array_data(array), 0, (size_t)(rows * columns) * weft_dtype_size(dtype));
    float *data = weft_array_data(array);
    for (int64_t i = 0; i < rows * columns && dtype == WEFT_F32; i++) data[i] = (float)(i % 7) - 2.5f;
    return array;
}

static weft_status *run(weft_executor *executor, weft_program *program, int64_t idle, int64_t m, weft_array **outputs)
{
    weft_array *inputs[] = {make_array(WEFT_F32, N, 4), make_array(WEFT_F32, N, M), make_array(WEFT_F32, M, 4),
                            make_array(WEFT_F32, 4, m), make_array(WEFT_BOOL, N, 4)};
    const weft_binding extents[] = {{"idle", idle}};
    memset(outputs, 0, OUTPUTS * sizeof *outputs);
    weft_status *status = weft_executor_run(executor, program,
                                            &(weft_run){.input_count = 5,
                                                        .inputs = inputs,
                                                        .output_count = OUTPUTS,
                                                        .outputs = outputs,
                                                        .extent_count = 1,
                                                        .extents = extents});
    for (size_t i = 0; i < 5; i++) weft_array_release(inputs[i]);
    return status;
}

static void expect_same_failure(weft_status *a, weft_status *b)
{
    assert_non_null(a);
    assert_int_equal(weft_status_code(a), weft_status_code(b));
    assert_string_equal(weft_status_message(a), weft_status_message(b));
    weft_status_destroy(a);
    weft_status_destroy(b);
}

static void runs_to_the_bit(void **state)
{
    (void)state;
    weft_program *program = make_program(), *loaded;
    weft_executor *executor;
    weft_array *a[OUTPUTS], *b[OUTPUTS];
    weft_test_ok(weft_program_save(program, path));
    weft_test_ok(load(NULL, path, &loaded));
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 1}, &executor));
    weft_test_ok(weft_executor_register_extension(executor, weft_einsum_extension()));
    weft_test_ok(run(executor, program, 2, M, a));
    weft_test_ok(run(executor, loaded, 2, M, b));
    for (size_t i = 0; i < OUTPUTS; i++) {
        size_t bytes = (size_t)weft_array_count(a[i]) * sizeof(float);
        assert_memory_equal(weft_array_data(a[i]), weft_array_data(b[i]), bytes);
        weft_array_release(a[i]);
        weft_array_release(b[i]);
    }
    expect_same_failure(run(executor, program, 1, M, a), run(executor, loaded, 1, M, b));
    expect_same_failure(run(executor, program, 2, M + 1, a), run(executor, loaded, 2, M + 1, b));
    weft_executor_destroy(executor);
    weft_program_release(loaded);
    weft_program_release(program);
}

/* ---- files that are none ---- */

static char *read_saved(size_t *out_size)
{
    static char text[1 << 14];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    *out_size = fread(text, 1, sizeof text, file);
    assert_true(*out_size > 0 && *out_size < sizeof text);
    fclose(file);
    return text;
}

/* Whether both have the same bytes. */
static bool is_same_file(void)
{
    FILE *a = fopen(path, "rb"), *b = fopen(other, "rb");
    assert_true(a != NULL && b != NULL);
    int x, y;
    do {
        x = getc(a);
        y = getc(b);
    } while (x == y && x != EOF);
    fclose(a);
    fclose(b);
    return x == y;
}

static void write_other(const char *text, size_t size)
{
    FILE *file = fopen(other, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    fclose(file);
}

static void refuses(const char *text, size_t size, weft_code code)
{
    weft_program *program;
    write_other(text, size);
    weft_test_fails(load(NULL, other, &program), code, other);
}

static void damage_is_found(void **state)
{
    (void)state;
    weft_program *program = make_program();
    size_t size;
    weft_test_ok(weft_program_save(program, path));
    char *text = read_saved(&size);
    size_t version = strlen("weft program ");
    for (size_t at = 0; at < size; at++) {
        bool tells_version = at >= version && at < version + strlen("0.1 ");
        text[at] ^= 0x10;
        if (!tells_version) refuses(text, size, WEFT_BAD_FILE);
        text[at] ^= 0x10;
        refuses(text, at, WEFT_BAD_FILE);
    }
    text[version + 2] = '9';
    refuses(text, size, WEFT_VERSION_MISMATCH);
    refuses("weft 0.1\n", 9, WEFT_BAD_FILE);
    weft_test_fails(weft_program_load(NULL, "/nowhere/at/all", 0, NULL, &program), WEFT_BAD_FILE, "No such file");
    weft_test_fails(weft_program_save(program, "/nowhere/at/all"), WEFT_BAD_FILE, "No such file");
    weft_program_release(program);
}

static void expect_where(weft_status *status, const char *where)
{
    assert_string_equal(weft_status_where(status), where);
    weft_test_fails(status, WEFT_BAD_FILE, "");
}

/* Which function it was, whatever it calls. */
static void errors_say_where(void **state)
{
    (void)state;
    static const char none[] = "weft program 0.1 damaged\n";
    weft_program *program = make_program(), *loaded;
    write_other(none, strlen(none));
    expect_where(weft_program_parse("none", none, strlen(none), NULL, 0, NULL, &loaded), "weft_program_parse");
    expect_where(weft_program_parse_code(program, "none", none, strlen(none), NULL), "weft_program_parse_code");
    expect_where(weft_program_load(NULL, other, 0, NULL, &loaded), "weft_program_load");
    expect_where(weft_program_load_code(program, other, NULL), "weft_program_load_code");
    expect_where(weft_program_load(NULL, "/nowhere", 0, NULL, &loaded), "weft_program_load");
    expect_where(weft_program_load_code(program, "/nowhere", NULL), "weft_program_load_code");
    weft_program_release(program);
}

static void extensions_are_named(void **state)
{
    (void)state;
    weft_program *program = make_program(), *loaded;
    weft_test_ok(weft_program_save(program, path));
    weft_test_fails(weft_program_load(NULL, path, 0, NULL, &loaded), WEFT_NOT_REGISTERED, "einsum");
    weft_program_release(program);
}

/* The program has the allocator from loading on. */
static weft_status *load_and_save(const weft_allocator *allocator, void *context)
{
    weft_program *program;
    (void)context;
    WEFT_TRY(load(allocator, path, &program));
    weft_status *status = weft_program_save(program, other);
    weft_program_release(program);
    return status;
}

static void nothing_is_lost_without_memory(void **state)
{
    (void)state;
    weft_program *program = make_program();
    weft_test_ok(weft_program_save(program, path));
    weft_program_release(program);
    assert_true(weft_test_fail_each(load_and_save, NULL) > 50);
    assert_true(is_same_file());
}

/* ---- time and again ---- */

enum { TIMES = WEFT_TEST_ADDRESS ? 500 : 10000, WARM = TIMES / 4, SLACK_KILOBYTES = 256 };

static weft_program *make_small_program(void)
{
    weft_graph *graph;
    weft_program *program;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_extent n = weft_symbol(graph, "n", 1, 100);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(n));
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(weft_exp(x)), NULL, &program));
    weft_graph_destroy(graph);
    return program;
}

/* Each program is the one that was saved before. */
static void nothing_piles_up(void **state)
{
    (void)state;
    long memory = 0;
    size_t maps = 0;
    weft_program *program = make_small_program(), *loaded;
    weft_test_ok(weft_program_save(program, path));
    for (size_t i = 0; i < TIMES; i++) {
        if (i == WARM) {
            memory = weft_test_resident();
            maps = weft_test_mappings();
        }
        remove(other); /* some systems wait for the disk where a file is replaced */
        weft_test_ok(weft_program_save(program, other));
        weft_test_ok(load(NULL, other, &loaded));
        weft_program_release(program);
        program = loaded;
    }
    if (!WEFT_TEST_ADDRESS) assert_true(weft_test_resident() - memory < SLACK_KILOBYTES);
    assert_true(weft_test_mappings() < maps + 16);
    assert_true(is_same_file());
    weft_program_release(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_the_same_program),  cmocka_unit_test(runs_to_the_bit),
        cmocka_unit_test(damage_is_found),      cmocka_unit_test(errors_say_where),
        cmocka_unit_test(extensions_are_named), cmocka_unit_test(nothing_is_lost_without_memory),
        cmocka_unit_test(nothing_piles_up),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
