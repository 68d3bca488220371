/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever the caller's thread does with floats, the library computes the same, and leaves that as it was. */
#define _GNU_SOURCE
#include "runtime/base/float_mode.h"
#include <fenv.h>
#include <string.h>
#include <weft/weft.h>
#include "test/float_modes.h"
#include "test/support.h"

enum { COUNT = 4, OUTPUTS = 12, RUNS = 3 };

/* Numbers of all kinds become elements, in tracing and in text; functions of numbers, some of which are not finite. */
static weft_program *make_program(void)
{
    weft_graph *graph;
    weft_program *program;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(COUNT));
    const int64_t odd = (INT64_C(1) << 53) + 1;
    weft_tensor outputs[OUTPUTS] = {weft_mul(x, 1e-39),
                                    weft_scalar(graph, WEFT_F32, 0.1),
                                    weft_scalar(graph, WEFT_F16, 0.1),
                                    weft_scalar(graph, WEFT_BF16, 1e-40),
                                    weft_scalar(graph, WEFT_BOOL, 1e-310),
                                    weft_add(weft_cast(x, WEFT_F64), odd),
                                    weft_add(weft_cast(x, WEFT_F16), 0.3),
                                    weft_exp(x),
                                    weft_lgamma(x),
                                    weft_div(1, x),
                                    weft_log(weft_sub(x, 2)),
                                    weft_mul(weft_exp(weft_mul(x, 30)), 1e30)};
    weft_test_ok(weft_compile(graph, (weft_tensors){OUTPUTS, outputs}, NULL, &program));
    weft_graph_destroy(graph);
    return program;
}

static size_t run_once(weft_executor *executor, weft_program *program, const char *runtime, weft_array *x,
                       char *out_bytes)
{
    weft_array *outputs[OUTPUTS] = {NULL};
    size_t size = 0;
    weft_test_ok(weft_executor_run(
        executor, program,
        &(weft_run){.runtime = runtime, .input_count = 1, .inputs = &x, .output_count = OUTPUTS, .outputs = outputs}));
    for (size_t i = 0; i < OUTPUTS; i++) {
        size_t bytes = (size_t)weft_array_count(outputs[i]) * weft_dtype_size(weft_array_dtype(outputs[i]));
        memcpy(out_bytes + size, weft_array_data(outputs[i]), bytes);
        size += bytes;
        weft_array_release(outputs[i]);
    }
    return size;
}

/* What runs of the program give, the first of which builds it, in one string of bytes. */
static size_t run_all(const char *runtime, char *out_bytes)
{
    float data[COUNT] = {0, 1, 3, 1e-40f};
    weft_array *x;
    weft_executor *executor;
    size_t size = 0;
    weft_program *program = make_program();
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 2}, &executor));
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 1, (const int64_t[]){COUNT}, NULL, data, NULL, NULL, &x));
    for (size_t i = 0; i < RUNS; i++) size += run_once(executor, program, runtime, x, out_bytes + size);
    weft_array_release(x);
    weft_executor_destroy(executor);
    weft_program_release(program);
    return size;
}

static void results_are_the_same(void **state)
{
    static const char *const runtimes[] = {"llvm", "ref"};
    (void)state;
    for (size_t r = 0; r < 2; r++) {
        char expected[RUNS * 1024], bytes[RUNS * 1024];
        size_t size = run_all(runtimes[r], expected);
        for (size_t m = 0; m < WEFT_TEST_FLOAT_MODES; m++) {
            fenv_t saved;
            assert_int_equal(fegetenv(&saved), 0);
            feclearexcept(FE_ALL_EXCEPT);
            weft_test_float_modes[m].set();
            weft_float_mode before = weft_float_mode_get();
            size_t found = run_all(runtimes[r], bytes);
            weft_float_mode after = weft_float_mode_get();
            assert_int_equal(fesetenv(&saved), 0);
            assert_int_equal(after.sse & ~0x3fu, before.sse & ~0x3fu);
            assert_int_equal(after.x87, before.x87);
            assert_int_equal(after.x87_flags & 0x3f, before.x87_flags & 0x3f);
            assert_int_equal(found, size);
            assert_memory_equal(bytes, expected, size);
        }
    }
}

/* Constants as text: printed, read and printed again. */
static char *print_again(void)
{
    weft_graph *graph;
    char *text, *twice;
    weft_module *module;
    weft_test_ok(weft_graph_create(NULL, &graph));
    const double numbers[] = {0.1, -1e-310, 1e300, 0.3};
    const float singles[] = {0.1f, 1e-40f, -3e38f, 0.7f};
    const uint16_t halves[] = {1, 0x2e66, 0x7bff, 0x8001};
    weft_tensor made[] = {
        weft_constant(graph, WEFT_F64, WEFT_INTS(4), numbers), weft_constant(graph, WEFT_F32, WEFT_INTS(4), singles),
        weft_constant(graph, WEFT_F16, WEFT_INTS(4), halves), weft_constant(graph, WEFT_BF16, WEFT_INTS(4), halves)};
    weft_test_ok(weft_graph_print((weft_tensors){4, made}, &text));
    weft_test_ok(weft_graph_parse("text", text, strlen(text), NULL, 0, NULL, &module));
    weft_test_ok(weft_graph_print(module->outputs, &twice));
    assert_string_equal(text, twice);
    weft_text_destroy(twice);
    weft_module_destroy(module);
    weft_graph_destroy(graph);
    return text;
}

static void text_is_the_same(void **state)
{
    (void)state;
    char *expected = print_again();
    for (size_t m = 0; m < WEFT_TEST_FLOAT_MODES; m++) {
        fenv_t saved;
        assert_int_equal(fegetenv(&saved), 0);
        weft_test_float_modes[m].set();
        char *text = print_again();
        assert_int_equal(fesetenv(&saved), 0);
        assert_string_equal(text, expected);
        weft_text_destroy(text);
    }
    weft_text_destroy(expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_the_same),
        cmocka_unit_test(text_is_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
