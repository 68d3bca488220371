/* SPDX-License-Identifier: Apache-2.0 */
/* What text cases of the loop IR cannot reach: the order in which expressions are made, broken kernels, little memory.
 */
#include "lib/loop/inst.h"
#include "lib/loop/special.h"
#include "lib/math/math.h"
#include <string.h>
#include "test/support.h"

static const char sample[] = "kernel {\n"
                             "  symbol n in [1, 100]\n"
                             "  buffer b0 : f32 out\n"
                             "  buffer b1 : f32\n"
                             "  for i0 < n\n"
                             "  stage {\n"
                             "    for i1 < n reduce\n"
                             "    %0 = load b1[i0*n + i1] if (i1 - i0) : f32\n"
                             "    %1 = exp %0 : f32\n"
                             "    accumulate a0 (%1) init (0x0p+0) : f32 {\n"
                             "      %0 = param 0 : f32\n"
                             "      %1 = param 1 : f32\n"
                             "      %2 = add %0, %1 : f32\n"
                             "      yield %2\n"
                             "    }\n"
                             "  }\n"
                             "  stage {\n"
                             "    %2 = result a0.0 : f32\n"
                             "    %3 = log %2 : f32\n"
                             "    store b0[i0] = %3 if (n - i0 - 2)\n"
                             "  }\n"
                             "}\n";

static weft_kernel *parse_sample(void)
{
    weft_kernel *kernel = NULL;
    weft_test_ok(weft_kernel_parse(NULL, "sample", sample, strlen(sample), &kernel));
    return kernel;
}

/* ---- the builder ---- */

/* b0[i*m + i*n + j + min(i*n, j)] = 1, with symbols in a given order and expressions made from either end. */
static void build(bool forward, weft_bytes *out_text)
{
    weft_kernel_builder *builder;
    weft_test_ok(weft_kernel_builder_create(NULL, &builder));
    weft_expr_context *x = weft_kernel_builder_exprs(builder);
    weft_expr m = weft_expr_symbol(x, "m", 1, 9), n = weft_expr_symbol(x, "n", 1, 9), i, j;
    if (forward) i = weft_expr_variable(x, "row", m), j = weft_expr_variable(x, "column", n);
    else j = weft_expr_variable(x, "inner", n), i = weft_expr_variable(x, "outer", m);
    weft_expr terms[4];
    for (int k = 0; k < 4; k++) {
        int which = forward ? k : 3 - k;
        terms[which] = which == 0   ? weft_expr_mul(x, i, m)
                       : which == 1 ? weft_expr_mul(x, n, i)
                       : which == 2 ? j
                                    : weft_expr_min(x, weft_expr_mul(x, i, n), j);
    }
    weft_expr sum = weft_expr_constant(x, 0);
    for (int k = 0; k < 4; k++) sum = weft_expr_add(x, sum, terms[forward ? k : 3 - k]);
    uint32_t buffer = weft_kernel_builder_buffer(builder, WEFT_I64, true);
    weft_kernel_builder_range(builder, (weft_range){.variable = i, .extent = m});
    weft_kernel_builder_range(builder, (weft_range){.variable = j, .extent = n});
    weft_kernel_builder_stage(builder);
    weft_inst one = {.op = WEFT_SCALAR_const, .dtype = WEFT_I64, .bits = 1, .number = forward ? 7 : 8};
    weft_inst_id value = weft_kernel_builder_inst(builder, &one);
    assert_int_equal(weft_kernel_builder_inst(builder, &one), value);
    weft_kernel_builder_store(builder, &(weft_store){.buffer = buffer, .index = sum, .value = value});
    weft_kernel *kernel = NULL;
    weft_test_ok(weft_kernel_builder_finish(builder, &kernel));
    weft_kernel *other = NULL;
    weft_test_fails(weft_kernel_builder_finish(builder, &other), WEFT_INTERNAL, "finished already");
    weft_kernel_builder_destroy(builder);
    weft_test_ok(weft_kernel_print(kernel, out_text));
    weft_kernel_destroy(kernel);
}

static void test_print_is_canonical(void **state)
{
    (void)state;
    weft_bytes first, second;
    weft_bytes_init(&first, NULL);
    weft_bytes_init(&second, NULL);
    build(true, &first);
    build(false, &second);
    assert_string_equal(first.data, second.data);
    assert_non_null(strstr(first.data, "store b0[i0*m + i0*n + i1 + min(i0*n, i1)] = %0"));
    weft_bytes_finish(&first);
    weft_bytes_finish(&second);
}

static void test_builder_keeps_first_error(void **state)
{
    (void)state;
    weft_kernel_builder *builder;
    weft_kernel *kernel = NULL;
    weft_test_ok(weft_kernel_builder_create(NULL, &builder));
    weft_kernel_builder_store(builder, &(weft_store){.buffer = 3});
    weft_kernel_builder_stage(builder);
    weft_test_fails(weft_kernel_builder_finish(builder, &kernel), WEFT_INTERNAL, "belong to a stage");
    weft_kernel_builder_destroy(builder);

    weft_test_ok(weft_kernel_builder_create(NULL, &builder));
    weft_expr_context *x = weft_kernel_builder_exprs(builder);
    weft_expr n = weft_expr_symbol(x, "n", 5, 4);
    weft_kernel_builder_range(builder, (weft_range){.variable = weft_expr_variable(x, "i", n), .extent = n});
    weft_test_fails(weft_kernel_builder_finish(builder, &kernel), WEFT_INVALID_ARGUMENT, "which is empty");
    weft_kernel_builder_destroy(builder);
    weft_kernel_builder_destroy(NULL);
    weft_kernel_destroy(NULL);
}

static void test_scalars(void **state)
{
    (void)state;
    weft_kernel *kernel = parse_sample();
    assert_int_equal(weft_kernel_scalar_count(kernel), 1);
    assert_string_equal(weft_kernel_scalar_name(kernel, 0), "n");
    assert_null(weft_kernel_scalar_name(kernel, 1));
    weft_kernel_destroy(kernel);
}

/* ---- the verifier ---- */

static void break_op(weft_kernel *kernel)
{
    kernel->insts[1].op = WEFT_SCALAR_COUNT;
}

static void break_dtype(weft_kernel *kernel)
{
    kernel->insts[0].dtype = WEFT_DTYPE_COUNT;
}

static void break_arity(weft_kernel *kernel)
{
    kernel->insts[1].arg_count = 2;
}

static void break_order(weft_kernel *kernel)
{
    kernel->insts[1].args[0] = 1;
}

static void break_index(weft_kernel *kernel)
{
    kernel->insts[0].index = WEFT_EXPR_NONE;
}

static void break_division(weft_kernel *kernel)
{
    kernel->stages[1].inst_first = 1;
}

static void break_end(weft_kernel *kernel)
{
    kernel->stages[1].inst_count = 1;
}

static void break_variable(weft_kernel *kernel)
{
    kernel->ranges[0].variable = kernel->ranges[0].extent;
}

static void break_components(weft_kernel *kernel)
{
    kernel->accumulators[0].width = WEFT_MAX_COMPONENTS + 1;
}

static void break_outcome(weft_kernel *kernel)
{
    kernel->accumulators[0].combine.outcomes[0] = 3;
}

static void break_stored_value(weft_kernel *kernel)
{
    kernel->stages[1].stores[0].value = 1;
}

static void break_unroll(weft_kernel *kernel)
{
    kernel->ranges[0].unroll = 0;
}

static void test_verifier(void **state)
{
    (void)state;
    static const struct {
        void (*damage)(weft_kernel *kernel);
        const char *sentence;
    } cases[] = {
        {break_op, "stage 0, instruction %1 (?): its operation"},
        {break_dtype, "stage 0, instruction %0 (load): its dtype"},
        {break_arity, "stage 0, instruction %1 (exp): it has 2 operands"},
        {break_order, "stage 0, instruction %1 (exp): operand %1 is not an earlier value"},
        {break_index, "stage 0, instruction %0 (load): its index is missing"},
        {break_division, "stage 1: its instructions or accumulators do not begin"},
        {break_end, "instructions or accumulators of the kernel belong to no stage"},
        {break_variable, "is not the bound of its variable"},
        {break_components, "stage 0, accumulator a0: it has 5 components"},
        {break_outcome, "stage 0, accumulator a0: outcome %3 is not an earlier value"},
        {break_stored_value, "stage 1: the stored value %1 is of stage 0"},
        {break_unroll, "range i0 is unrolled 0 times"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weft_kernel *kernel = parse_sample();
        cases[i].damage(kernel);
        weft_test_fails(weft_kernel_verify(kernel), WEFT_INTERNAL, cases[i].sentence);
        weft_kernel_destroy(kernel);
    }
}

static void test_table(void **state)
{
    (void)state;
    for (int op = 0; op < WEFT_SCALAR_COUNT; op++) {
        assert_in_range(weft_scalar_operands((weft_scalar_op)op) + 1, 0, 4);
        for (int other = 0; other < op; other++)
            assert_string_not_equal(weft_scalar_name((weft_scalar_op)op), weft_scalar_name((weft_scalar_op)other));
    }
    assert_string_equal(weft_scalar_name(WEFT_SCALAR_COUNT), "?");
}

/* ---- text ---- */

static void test_parse_length(void **state)
{
    (void)state;
    weft_kernel *kernel = NULL;
    weft_test_ok(weft_kernel_parse(NULL, "part", "kernel {} and more", 9, &kernel));
    weft_kernel_destroy(kernel);
    weft_test_fails(weft_kernel_parse(NULL, "part", "kernel {}\0", 10, &kernel), WEFT_PARSE_ERROR,
                    "part:1:10: the text has a NUL");
}

/* A clone needs nothing of the kernel that it was made from, and finds the expressions that it has. */
static weft_status *replace_by_clone(weft_kernel **kernel)
{
    weft_kernel *clone;
    weft_bytes text;
    WEFT_TRY(weft_kernel_clone(*kernel, &clone));
    weft_expr row = (*kernel)->ranges[0].variable, n = (*kernel)->ranges[0].extent;
    weft_kernel_destroy(*kernel);
    *kernel = clone;
    assert_int_equal(weft_expr_find(clone->exprs, "n"), n);
    assert_int_equal(weft_expr_bound(clone->exprs, row), n);
    weft_expr index =
        weft_expr_add(clone->exprs, weft_expr_mul(clone->exprs, row, n), clone->stages[0].ranges[0].variable);
    WEFT_TRY(weft_expr_context_take_error(clone->exprs));
    assert_int_equal(index, clone->insts[0].index);
    weft_bytes_init(&text, clone->arena.allocator);
    weft_status *status = weft_kernel_print(clone, &text);
    if (status == NULL) assert_string_equal(text.data, sample);
    weft_bytes_finish(&text);
    return status;
}

static weft_status *walk(const weft_allocator *allocator, void *context)
{
    (void)context;
    weft_kernel *kernel = NULL;
    weft_bytes text;
    weft_bytes_init(&text, allocator);
    weft_status *status = weft_kernel_parse(allocator, "sample", sample, strlen(sample), &kernel);
    if (status == NULL) status = weft_kernel_print(kernel, &text);
    if (status == NULL) assert_string_equal(text.data, sample);
    if (status == NULL) status = replace_by_clone(&kernel);
    if (status == NULL) status = weft_kernel_lower_math(kernel, WEFT_FUNCTIONS_ACCURATE);
    if (status == NULL) status = weft_kernel_verify(kernel);
    weft_bytes_finish(&text);
    weft_kernel_destroy(kernel);
    return status;
}

static weft_status *walk_error(const weft_allocator *allocator, void *context)
{
    weft_kernel *kernel = NULL;
    weft_status *status = weft_kernel_parse(allocator, "sample", context, strlen(context), &kernel);
    assert_non_null(status);
    if (weft_status_code(status) == WEFT_OUT_OF_MEMORY) return status;
    weft_status_destroy(status);
    return NULL;
}

static void test_short_memory(void **state)
{
    (void)state;
    static char wrong[][64] = {"kernel { for i < n }", "kernel { for i < 4 reduce }", "kernel { symbol n in [2, 1] }",
                               "kernel { stage { %0 = const 1 : i64 %1 = exp %0 : i64 } }"};
    assert_true(weft_test_fail_each(walk, NULL) > 20);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_true(weft_test_fail_each(walk_error, wrong[i]) > 3);
}

/* ---- short lanes ---- */

static const char in_tiles[] = "kernel scheduled {\n"
                               "  symbol n in [1, 100000]\n"
                               "  symbol m in [1, 100000]\n"
                               "  buffer b0 : f32 out\n"
                               "  buffer b1 : f32\n"
                               "  for i0 < n thread\n"
                               "  for i1 < (m + 8191) / 8192 thread\n"
                               "  for i2 < min(8192, m - 8192*i1) lane 16 x 4\n"
                               "  stage {\n"
                               "    %0 = load b1[8192*i1 + i0*m + i2] if (m - 8192*i1 - i2 - 1) : f32\n"
                               "    store b0[8192*i1 + i0*m + i2] = %0\n"
                               "  }\n"
                               "}\n";
static const char in_vectors[] = "kernel scheduled {\n"
                                 "  symbol n in [1, 100000]\n"
                                 "  symbol m in [1, 16]\n"
                                 "  buffer b0 : f32 out\n"
                                 "  buffer b1 : f32\n"
                                 "  for i0 < n thread\n"
                                 "  for i1 < m lane 16 x 4\n"
                                 "  stage {\n"
                                 "    %0 = load b1[i0*m + i1] if (m - i1 - 1) : f32\n"
                                 "    store b0[i0*m + i1] = %0\n"
                                 "  }\n"
                                 "}\n";

/* The same where data decide what is read: lanes go across rows. */
static const char picked_in_tiles[] = "kernel scheduled {\n"
                                      "  symbol n in [1, 100000]\n"
                                      "  symbol m in [1, 100000]\n"
                                      "  buffer b0 : f32 out\n"
                                      "  buffer b1 : i32\n"
                                      "  buffer b2 : f32\n"
                                      "  for i0 < n thread\n"
                                      "  for i1 < (m + 8191) / 8192 thread\n"
                                      "  for i2 < min(8192, m - 8192*i1) lane 16 x 4\n"
                                      "  stage {\n"
                                      "    %0 = load b1[8192*i1 + i2] : i32\n"
                                      "    %1 = cast %0 : i64\n"
                                      "    %2 = load b2[20*i0, %1] : f32\n"
                                      "    store b0[8192*i1 + i0*m + i2] = %2\n"
                                      "  }\n"
                                      "}\n";
static const char picked_in_rows[] = "kernel scheduled {\n"
                                     "  symbol n in [1, 100000]\n"
                                     "  symbol m in [1, 16]\n"
                                     "  buffer b0 : f32 out\n"
                                     "  buffer b1 : i32\n"
                                     "  buffer b2 : f32\n"
                                     "  for i0 < n lane 16 x 2\n"
                                     "  stage {\n"
                                     "    for i1 < m\n"
                                     "    %0 = load b1[i1] : i32\n"
                                     "    %1 = cast %0 : i64\n"
                                     "    %2 = load b2[20*i0, %1] : f32\n"
                                     "    store b0[i0*m + i1] = %2\n"
                                     "  }\n"
                                     "}\n";

typedef struct short_case {
    const char *text, *special;
    bool has_rows_in_lanes;
} short_case;

static weft_status *find_short(const weft_allocator *allocator, void *context)
{
    const short_case *c = context;
    weft_kernel *kernel = NULL;
    weft_special_kernel found = {.kernel = NULL};
    weft_bytes text;
    weft_bytes_init(&text, allocator);
    weft_status *status = weft_kernel_parse(allocator, "tiles", c->text, strlen(c->text), &kernel);
    if (status == NULL) status = weft_kernel_find_special(kernel, &found);
    if (status == NULL) {
        assert_non_null(found.kernel);
        assert_int_equal(found.count, 1);
        assert_int_equal(found.scalars[0], 1);
        assert_int_equal(found.most, 16);
        assert_int_equal(found.has_rows_in_lanes, c->has_rows_in_lanes);
        status = weft_kernel_verify(found.kernel);
    }
    if (status == NULL) status = weft_kernel_print(found.kernel, &text);
    if (status == NULL) assert_string_equal(text.data, c->special);
    weft_bytes_finish(&text);
    weft_kernel_destroy(found.kernel);
    weft_kernel_destroy(kernel);
    return status;
}

static const char in_periods[] = "kernel scheduled {\n"
                                 "  symbol n in [1, 9]\n"
                                 "  symbol m in [2, 100000]\n"
                                 "  buffer b0 : f32 out\n"
                                 "  buffer b1 : f32\n"
                                 "  for i0 < n thread\n"
                                 "  for i1 < 1000 lane 16 x 4\n"
                                 "  stage {\n"
                                 "    %0 = load b1[i1 + i1 / (m - 1)] : f32\n"
                                 "    store b0[i1 + 1000*i0] = %0\n"
                                 "  }\n"
                                 "}\n";

/* Whether the quotient changes within a vector more than once is known of the special kernel. */
static void test_long_periods(void **state)
{
    (void)state;
    weft_kernel *kernel;
    weft_special_kernel found;
    int64_t least, most;
    weft_test_ok(weft_kernel_parse(NULL, "periods", in_periods, strlen(in_periods), &kernel));
    weft_test_ok(weft_kernel_find_special(kernel, &found));
    assert_non_null(found.kernel);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.scalars[0], 1);
    assert_true(found.least > 16 && found.most == INT64_MAX);
    weft_test_ok(weft_kernel_verify(found.kernel));
    weft_expr_range(found.kernel->exprs, weft_expr_find(found.kernel->exprs, "m"), &least, &most);
    assert_true(least == found.least && most == 100000);
    weft_kernel_destroy(found.kernel);
    weft_kernel_destroy(kernel);
}

/* Not where rows are short anyhow, are never so, or where there is one alone. */
static void test_short_lanes(void **state)
{
    (void)state;
    static const char *const alone[] = {
        in_vectors,
        "kernel scheduled { symbol n in [1, 9] symbol m in [17, 100] buffer b0 : f32 out for i < n thread\n"
        "for j < m lane 16 x 1 stage { %0 = const 0x0p+0 : f32 store b0[i*m + j] = %0 } }",
        "kernel scheduled { symbol m in [1, 100] buffer b0 : f32 out for j < m lane 16 x 1\n"
        "stage { %0 = const 0x0p+0 : f32 store b0[j] = %0 } }",
        "kernel scheduled { symbol n in [1, 9] symbol m in [1, 100] buffer b0 : f32 out for i < n thread\n"
        "for j < 2*m lane 16 x 1 stage { %0 = const 0x0p+0 : f32 store b0[2*i*m + j] = %0 } }"};
    short_case cases[] = {{in_tiles, in_vectors, false}, {picked_in_tiles, picked_in_rows, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_true(weft_test_fail_each(find_short, &cases[i]) > 20);
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++) {
        weft_kernel *kernel;
        weft_special_kernel found;
        weft_test_ok(weft_kernel_parse(NULL, "alone", alone[i], strlen(alone[i]), &kernel));
        weft_test_ok(weft_kernel_find_special(kernel, &found));
        assert_null(found.kernel);
        weft_kernel_destroy(kernel);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_print_is_canonical),
        cmocka_unit_test(test_builder_keeps_first_error),
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_short_lanes),
        cmocka_unit_test(test_long_periods),
        cmocka_unit_test(test_verifier),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_parse_length),
        cmocka_unit_test(test_short_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
