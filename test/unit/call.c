/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support.h"
#include <string.h>
#include <weft/array.h>
#include "test/fake.h"

/* What is checked before anything is built or runs, and the sentences that say so. */

static weft_status *fill_nothing(const weft_build_request *request, weft_variant *variant)
{
    (void)request, (void)variant;
    return NULL;
}

static weft_fake fake;
static weft_executor *executor;

static int open_executor(void **state)
{
    (void)state;
    weft_fake_init(&fake, "fake", fill_nothing);
    weft_test_ok(weft_executor_create(NULL, &executor));
    weft_test_ok(weft_executor_register_runtime(executor, &fake.runtime));
    return 0;
}

static int close_executor(void **state)
{
    (void)state;
    weft_executor_destroy(executor);
    return 0;
}

static weft_array *array_of(weft_dtype dtype, size_t rank, const int64_t *shape)
{
    weft_array *array;
    weft_test_ok(weft_array_create(NULL, dtype, rank, shape, &array));
    return array;
}

#define ARRAY(...) array_of(WEFT_F32, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})

/* Runs with two inputs and one output, which are released. */
static weft_status *run(weft_program *program, weft_array *x, weft_array *y, weft_array *z, weft_run options)
{
    weft_array *inputs[] = {x, y}, *output = z;
    options.input_count = 2;
    options.inputs = inputs;
    options.output_count = 1;
    options.outputs = &output;
    weft_status *status = weft_executor_run(executor, program, &options);
    weft_array_release(x);
    weft_array_release(y);
    weft_array_release(output);
    return status;
}

/* w[n, 4], x[m, n] -> z[n + m, 2*n] */
static weft_program *sample_program(void)
{
    weft_program *program = weft_fake_program();
    uint32_t n = weft_fake_symbol(program, "n", 1, 4), m = weft_fake_symbol(program, "m", 0, 100);
    uint32_t four = weft_fake_constant(program, 4), two = weft_fake_constant(program, 2);
    const uint32_t w[] = {n, four}, x[] = {m, n};
    const uint32_t z[] = {weft_fake_formula(program, WEFT_FORMULA_ADD, n, m),
                          weft_fake_formula(program, WEFT_FORMULA_MUL, two, n)};
    weft_fake_input(program, "w", WEFT_F32, 2, w);
    weft_fake_input(program, "x", WEFT_F32, 2, x);
    weft_fake_output(program, "z", WEFT_F32, 2, z);
    return program;
}

static void test_axes(void **state)
{
    (void)state;
    weft_program *p = sample_program();
    const weft_run none = {0};
    weft_test_ok(run(p, ARRAY(2, 4), ARRAY(7, 2), ARRAY(9, 4), none));
    weft_test_ok(run(p, ARRAY(2, 4), ARRAY(7, 2), NULL, none));
    weft_test_fails(run(p, ARRAY(2, 4), ARRAY(7, 3), NULL, none), WEFT_SHAPE_MISMATCH,
                    "input \"x\": axis 1 has extent 3, but the program requires n = 2 (bound by input \"w\" axis 0)");
    weft_test_fails(run(p, ARRAY(2, 5), ARRAY(7, 2), NULL, none), WEFT_SHAPE_MISMATCH,
                    "input \"w\": axis 1 has extent 5, but the program requires 4");
    weft_test_fails(
        run(p, ARRAY(2, 4), ARRAY(7, 2), ARRAY(9, 5), none), WEFT_SHAPE_MISMATCH,
        "output \"z\": axis 1 has extent 5, but the program requires 2*n = 4 (n = 2 bound by input \"w\" axis 0)");
    weft_test_fails(run(p, ARRAY(2, 4), ARRAY(7, 2), ARRAY(8, 4), none), WEFT_SHAPE_MISMATCH,
                    "requires n + m = 9 (m = 7 bound by input \"x\" axis 0; n = 2 bound by input \"w\" axis 0)");
    weft_program_release(p);
}

static void test_ranges(void **state)
{
    (void)state;
    weft_program *p = sample_program();
    weft_test_fails(run(p, ARRAY(5, 4), ARRAY(7, 5), NULL, (weft_run){0}), WEFT_SHAPE_MISMATCH,
                    "symbol n = 5 is outside [1, 4] (bound by input \"w\" axis 0)");
    weft_test_fails(run(p, ARRAY(0, 4), ARRAY(7, 0), NULL, (weft_run){0}), WEFT_SHAPE_MISMATCH,
                    "symbol n = 0 is outside [1, 4]");
    assert_int_equal(atomic_load(&fake.builds), 0);
    weft_program_release(p);
}

static void test_arrays(void **state)
{
    (void)state;
    weft_program *p = sample_program();
    weft_array *wrong = array_of(WEFT_I64, 2, (int64_t[]){2, 4});
    weft_test_fails(run(p, wrong, ARRAY(7, 2), NULL, (weft_run){0}), WEFT_DTYPE_MISMATCH,
                    "input \"w\" is i64, but the program requires f32");
    weft_test_fails(run(p, ARRAY(2), ARRAY(7, 2), NULL, (weft_run){0}), WEFT_SHAPE_MISMATCH,
                    "input \"w\" has rank 1, but the program requires 2");
    weft_test_fails(run(p, NULL, ARRAY(7, 2), NULL, (weft_run){0}), WEFT_INVALID_ARGUMENT, "input \"w\" is NULL");
    weft_test_fails(weft_executor_run(executor, p, &(weft_run){.input_count = 1}), WEFT_INVALID_ARGUMENT,
                    "the number of inputs is 1, but the program has 2");
    weft_test_fails(weft_executor_run(executor, p, &(weft_run){.input_count = 2}), WEFT_INVALID_ARGUMENT,
                    "the list of 2 inputs is NULL");
    weft_test_fails(weft_executor_run(executor, p, NULL), WEFT_INVALID_ARGUMENT, "run is NULL");
    weft_program_release(p);
}

static void test_explicit_extents(void **state)
{
    (void)state;
    weft_program *p = weft_fake_program();
    uint32_t n = weft_fake_symbol(p, "n", 0, 100), k = weft_fake_symbol(p, "k", 0, 9);
    uint32_t less = weft_fake_formula(p, WEFT_FORMULA_ADD, n, weft_fake_constant(p, -3));
    weft_fake_input(p, "x", WEFT_F32, 1, &n);
    weft_fake_input(p, "y", WEFT_F32, 1, &n);
    weft_fake_output(p, "z", WEFT_F32, 2, (uint32_t[]){k, less});
    const weft_binding k3[] = {{"k", 3}}, both[] = {{"k", 3}, {"n", 5}}, twice[] = {{"k", 3}, {"k", 4}};
    const weft_binding unknown[] = {{"q", 3}}, nameless[] = {{NULL, 3}}, high[] = {{"k", 10}};
    weft_test_ok(run(p, ARRAY(5), ARRAY(5), ARRAY(3, 2), (weft_run){.extent_count = 1, .extents = k3}));
    weft_test_ok(run(p, ARRAY(5), ARRAY(5), NULL, (weft_run){.extent_count = 2, .extents = both}));
    weft_test_fails(run(p, ARRAY(5), ARRAY(5), NULL, (weft_run){0}), WEFT_INVALID_ARGUMENT,
                    "symbol k is not bound by any input and not given in extents");
    weft_test_fails(run(p, ARRAY(4), ARRAY(4), NULL, (weft_run){.extent_count = 2, .extents = both}),
                    WEFT_SHAPE_MISMATCH,
                    "input \"x\": axis 0 has extent 4, but the program requires n = 5 (given in extents)");
    weft_test_fails(run(p, ARRAY(5), ARRAY(5), NULL, (weft_run){.extent_count = 2, .extents = twice}),
                    WEFT_INVALID_ARGUMENT, "extent \"k\" is given twice, as 3 and as 4");
    weft_test_fails(run(p, ARRAY(5), ARRAY(5), NULL, (weft_run){.extent_count = 1, .extents = unknown}),
                    WEFT_INVALID_ARGUMENT, "no symbol \"q\"");
    weft_test_fails(run(p, ARRAY(5), ARRAY(5), NULL, (weft_run){.extent_count = 1, .extents = nameless}),
                    WEFT_INVALID_ARGUMENT, "the name of extent 0 is NULL");
    weft_test_fails(run(p, ARRAY(5), ARRAY(5), NULL, (weft_run){.extent_count = 1, .extents = high}),
                    WEFT_SHAPE_MISMATCH, "symbol k = 10 is outside [0, 9] (given in extents)");
    weft_test_fails(run(p, ARRAY(2), ARRAY(2), NULL, (weft_run){.extent_count = 1, .extents = k3}), WEFT_SHAPE_MISMATCH,
                    "output \"z\": axis 1 would have a negative extent, n - 3 = -1");
    weft_program_release(p);
}

/* As traced for "ij,jk->ik" with a symbol for each axis. */
static void test_guards(void **state)
{
    (void)state;
    weft_program *p = weft_fake_program();
    uint32_t i = weft_fake_symbol(p, "i", 0, 100), j = weft_fake_symbol(p, "j", 0, 100);
    uint32_t l = weft_fake_symbol(p, "l", 0, 100), k = weft_fake_symbol(p, "k", 0, 100);
    weft_fake_input(p, "a", WEFT_F32, 2, (uint32_t[]){i, j});
    weft_fake_input(p, "b", WEFT_F32, 2, (uint32_t[]){l, k});
    weft_fake_output(p, "c", WEFT_F32, 2, (uint32_t[]){i, k});
    weft_fake_guard(p, true, j, l, "label j of \"ij,jk->ik\"");
    weft_fake_guard(p, false, i, k, NULL);
    weft_test_ok(run(p, ARRAY(2, 3), ARRAY(3, 4), NULL, (weft_run){0}));
    weft_test_fails(
        run(p, ARRAY(2, 3), ARRAY(4, 2), NULL, (weft_run){0}), WEFT_SHAPE_MISMATCH,
        "label j of \"ij,jk->ik\": j = 3 (bound by input \"a\" axis 1) must equal l = 4 (bound by input \"b\" axis 0)");
    weft_test_fails(run(p, ARRAY(3, 3), ARRAY(3, 2), NULL, (weft_run){0}), WEFT_SHAPE_MISMATCH,
                    "i = 3 (bound by input \"a\" axis 0) must be at most k = 2 (bound by input \"b\" axis 1)");
    /* Agreeing once merges nothing. */
    weft_test_ok(run(p, ARRAY(3, 3), ARRAY(3, 3), NULL, (weft_run){0}));
    weft_test_fails(run(p, ARRAY(3, 3), ARRAY(4, 3), NULL, (weft_run){0}), WEFT_SHAPE_MISMATCH, "must equal");
    assert_int_equal(atomic_load(&fake.builds), 1);
    weft_program_release(p);
}

/* Whatever comes before them, formulas are printed whole. */
static void test_long_messages(void **state)
{
    (void)state;
    char message[300];
    memset(message, 'm', sizeof message - 1);
    message[sizeof message - 1] = '\0';
    weft_program *p = weft_fake_program();
    uint32_t j = weft_fake_symbol(p, "j", 0, 100), l = weft_fake_symbol(p, "l", 0, 100);
    weft_fake_input(p, "a", WEFT_F32, 1, &j);
    weft_fake_input(p, "b", WEFT_F32, 1, &l);
    weft_fake_output(p, "c", WEFT_F32, 1, &j);
    weft_fake_guard(p, true, j, l, message);
    weft_array *a = ARRAY(3), *b = ARRAY(4);
    weft_test_fails(run(p, a, b, NULL, (weft_run){0}), WEFT_SHAPE_MISMATCH,
                    "mm: j = 3 (bound by input \"a\" axis 0) must equal l = 4 (bound by input \"b\" axis 0)");
    weft_program_release(p);
}

/* A term with a negative factor is taken away, not added. */
static void test_differences(void **state)
{
    (void)state;
    weft_program *p = weft_fake_program();
    uint32_t n = weft_fake_symbol(p, "n", 0, 100), k = weft_fake_symbol(p, "k", 0, 100);
    uint32_t once = weft_fake_formula(p, WEFT_FORMULA_MUL, weft_fake_constant(p, -1), k);
    uint32_t twice = weft_fake_formula(p, WEFT_FORMULA_MUL, weft_fake_constant(p, -2), n);
    uint32_t sum = weft_fake_formula(p, WEFT_FORMULA_ADD, weft_fake_formula(p, WEFT_FORMULA_ADD, n, once), twice);
    weft_fake_input(p, "x", WEFT_F32, 2, (uint32_t[]){n, k});
    sum = weft_fake_formula(p, WEFT_FORMULA_ADD, once, sum);
    weft_fake_guard(p, true, weft_fake_formula(p, WEFT_FORMULA_ADD, sum, weft_fake_constant(p, -INT64_MAX)), n, NULL);
    weft_fake_output(p, "y", WEFT_F32, 1, (uint32_t[]){n});
    const weft_run one = {.input_count = 1,
                          .inputs = (weft_array *[]){ARRAY(5, 3)},
                          .output_count = 1,
                          .outputs = (weft_array *[]){NULL}};
    weft_test_fails(weft_executor_run(executor, p, &one), WEFT_OUT_OF_RANGE,
                    "computed: -k + (n - k - 2*n) - 9223372036854775807");
    weft_array_release(one.inputs[0]);
    weft_program_release(p);
}

static void test_formulas_in_sentences(void **state)
{
    (void)state;
    weft_program *p = weft_fake_program();
    uint32_t n = weft_fake_symbol(p, "n", 0, 100), three = weft_fake_constant(p, 3), two = weft_fake_constant(p, 2);
    uint32_t sum = weft_fake_formula(p, WEFT_FORMULA_ADD, n, three);
    uint32_t quotient = weft_fake_formula(p, WEFT_FORMULA_DIV, sum, two);
    uint32_t rest = weft_fake_formula(p, WEFT_FORMULA_MOD, quotient, three);
    uint32_t least = weft_fake_formula(p, WEFT_FORMULA_MIN, rest, n);
    weft_fake_input(p, "x", WEFT_F32, 1, &n);
    weft_fake_input(p, "y", WEFT_F32, 1, &least);
    weft_fake_output(p, "z", WEFT_F32, 1, &n);
    weft_test_fails(run(p, ARRAY(5), ARRAY(7), NULL, (weft_run){0}), WEFT_SHAPE_MISMATCH,
                    "requires min((n + 3) / 2 mod 3, n) = 1 (n = 5 bound by input \"x\" axis 0)");
    /* Doubling forty times over one shared slot prints no novel. */
    for (int i = 0; i < 40; i++) sum = weft_fake_formula(p, WEFT_FORMULA_MIN, sum, sum);
    weft_fake_guard(p, true, sum, n, "sums");
    weft_test_fails(run(p, ARRAY(5), ARRAY(1), NULL, (weft_run){0}), WEFT_SHAPE_MISMATCH, "...");
    weft_program_release(p);
}

static void test_registering(void **state)
{
    (void)state;
    weft_program *p = sample_program();
    weft_fake other;
    weft_executor *empty;
    weft_fake_init(&other, "fake", fill_nothing);
    weft_test_fails(weft_executor_register_runtime(executor, &other.runtime), WEFT_INVALID_ARGUMENT,
                    "a runtime \"fake\" is registered already");
    weft_test_fails(run(p, ARRAY(2, 4), ARRAY(7, 2), NULL, (weft_run){.runtime = "cuda"}), WEFT_NOT_REGISTERED,
                    "runtime \"cuda\" is not registered with this executor, which has fake");
    other.runtime.name = "bare";
    other.runtime.compiler = NULL;
    weft_test_ok(weft_executor_register_runtime(executor, &other.runtime));
    weft_test_fails(run(p, ARRAY(2, 4), ARRAY(7, 2), NULL, (weft_run){.runtime = "cuda"}), WEFT_NOT_REGISTERED,
                    "which has fake, bare");
    weft_test_fails(run(p, ARRAY(2, 4), ARRAY(7, 2), NULL, (weft_run){.runtime = "bare"}), WEFT_NO_COMPILER,
                    "runtime \"bare\" has no compiler");
    weft_test_ok(run(p, ARRAY(2, 4), ARRAY(7, 2), NULL, (weft_run){.runtime = "fake"}));
    weft_test_ok(weft_executor_create(NULL, &empty));
    weft_test_fails(weft_executor_run(empty, p, &(weft_run){0}), WEFT_NOT_REGISTERED, "no runtime");
    weft_test_fails(weft_executor_run(empty, p, &(weft_run){.runtime = "cuda"}), WEFT_NOT_REGISTERED, "which has none");
    weft_executor_destroy(empty);
    weft_program_release(p);
}

/* ---- what a compiler may get wrong ---- */

static weft_status *fill_bad_buffer(const weft_build_request *request, weft_variant *variant)
{
    (void)request;
    variant->buffers[0].number = 9;
    return NULL;
}

static weft_status *fill_bad_step(const weft_build_request *request, weft_variant *variant)
{
    (void)request;
    return weft_fake_step(variant, (weft_step){.kind = WEFT_STEP_KERNEL}, (weft_resolved){0});
}

static weft_status *fill_bad_symbol(const weft_build_request *request, weft_variant *variant)
{
    (void)request;
    uint32_t slot;
    return weft_formulas_add_symbol(&variant->formulas, "in9.s0", 0, 1, &slot);
}

static weft_status *build_nothing(void *self, const weft_build_request *request, weft_variant **out_variant)
{
    (void)self, (void)request, (void)out_variant;
    return NULL;
}

static void test_broken_variants(void **state)
{
    (void)state;
    weft_program *p = sample_program();
    fake.fill = fill_bad_buffer;
    weft_test_fails(run(p, ARRAY(2, 4), ARRAY(7, 2), NULL, (weft_run){0}), WEFT_INTERNAL, "buffer 0");
    fake.fill = fill_bad_step;
    weft_test_fails(run(p, ARRAY(2, 4), ARRAY(7, 2), NULL, (weft_run){0}), WEFT_INTERNAL, "step 0");
    const weft_compiler compiler = fake.compiler;
    fake.compiler.build = build_nothing;
    weft_test_fails(run(p, ARRAY(2, 4), ARRAY(7, 2), NULL, (weft_run){0}), WEFT_INTERNAL,
                    "the compiler of runtime \"fake\" made no variant");
    fake.compiler = compiler;
    fake.fill = fill_bad_symbol;
    weft_test_fails(run(p, ARRAY(2, 4), ARRAY(7, 2), NULL, (weft_run){0}), WEFT_INTERNAL, "in9.s0");
    weft_program_release(p);
}

/* ---- results ---- */

static void test_outputs_are_on_the_device(void **state)
{
    (void)state;
    weft_program *p = weft_fake_program();
    const uint32_t extents[] = {weft_fake_constant(p, 3)};
    weft_fake_output(p, "z", WEFT_F32, 1, extents);
    weft_array *z = NULL, *again = NULL;
    fake.driver.device.index = 1;
    weft_test_ok(weft_executor_run(executor, p, &(weft_run){.output_count = 1, .outputs = &z}));
    assert_int_equal(weft_array_device(z).kind, WEFT_DEVICE_CPU);
    assert_int_equal(weft_array_device(z).index, 1);
    weft_program_release(p);
    p = weft_fake_program();
    const uint32_t same[] = {weft_fake_constant(p, 3)};
    weft_fake_input(p, "x", WEFT_F32, 1, same);
    weft_fake_output(p, "z", WEFT_F32, 1, same);
    weft_test_ok(weft_executor_run(executor, p,
                                   &(weft_run){.input_count = 1, .inputs = &z, .output_count = 1, .outputs = &again}));
    weft_array_release(z);
    weft_array_release(again);
    weft_program_release(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_axes, open_executor, close_executor),
        cmocka_unit_test_setup_teardown(test_ranges, open_executor, close_executor),
        cmocka_unit_test_setup_teardown(test_arrays, open_executor, close_executor),
        cmocka_unit_test_setup_teardown(test_explicit_extents, open_executor, close_executor),
        cmocka_unit_test_setup_teardown(test_guards, open_executor, close_executor),
        cmocka_unit_test_setup_teardown(test_long_messages, open_executor, close_executor),
        cmocka_unit_test_setup_teardown(test_differences, open_executor, close_executor),
        cmocka_unit_test_setup_teardown(test_formulas_in_sentences, open_executor, close_executor),
        cmocka_unit_test_setup_teardown(test_registering, open_executor, close_executor),
        cmocka_unit_test_setup_teardown(test_broken_variants, open_executor, close_executor),
        cmocka_unit_test_setup_teardown(test_outputs_are_on_the_device, open_executor, close_executor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
