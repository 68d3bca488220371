/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that are recorded: what they compute, what is computed when, what is kept. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>
#include "test/unit/eager_fixture.h"

static bool has_llvm; /* an argument says so */

static void trace_split(weft_graph *graph, const void *options, const weft_tensor *operands, weft_tensor *out_results)
{
    (void)graph;
    (void)options;
    weft_split(operands[0], 0, 2, out_results);
}

/* ---- what is computed ---- */

static void types_are_known_at_once(void **state)
{
    (void)state;
    weft_eager_array *x = range(WEFT_INTS(2, 3)), *y = range(WEFT_INTS(3, 4));
    weft_eager_array *z = weft_eager_apply(weft_matmul, x, y);
    assert_false(weft_eager_is_known(z));
    assert_int_equal(weft_eager_dtype(z), WEFT_F32);
    assert_int_equal(weft_eager_rank(z), 2);
    assert_int_equal(weft_eager_shape(z)[0], 2);
    assert_int_equal(weft_eager_shape(z)[1], 4);
    assert_int_equal(weft_eager_count(z), 8);
    value_of(z);
    assert_true(weft_eager_is_known(z));
    EXPECT(z, 20, 23, 26, 29, 56, 68, 80, 92);
    weft_eager_release(x);
    weft_eager_release(y);
}

static void operands_broadcast(void **state)
{
    (void)state;
    weft_eager_array *x = range(WEFT_INTS(2, 3)), *y = range(WEFT_INTS(3));
    EXPECT(weft_eager_apply(weft_add, x, y), 0, 2, 4, 3, 5, 7);
    weft_eager_release(x);
    weft_eager_release(y);
}

/* One function of each type. */
static void functions_of_all_types(void **state)
{
    (void)state;
    weft_eager_array *x = range(WEFT_INTS(2, 3)), *v = range(WEFT_INTS(3));
    weft_eager_array *at = weft_eager_copy(eager, WEFT_I64, WEFT_INTS(2), (int64_t[]){2, 0});
    weft_eager_array *one = weft_eager_number(eager, WEFT_I64, 1);
    weft_eager_array *truth = weft_eager_apply(weft_gt, x, 2.25);
    weft_eager_array *row = weft_eager_apply(weft_unsqueeze, v, 0);
    weft_eager_array *picked = weft_eager_apply(weft_index_select, v, at, 0);
    EXPECT(weft_eager_apply(weft_neg, v), 0, -1, -2);
    EXPECT(weft_eager_apply(weft_max, v, 1), 1, 1, 2);
    EXPECT(weft_eager_apply(weft_select, truth, x, -1), -1, -1, -1, 3, 4, 5);
    EXPECT(weft_eager_apply(weft_softmax, v, -1), 0.09003057f, 0.24472847f, 0.66524096f);
    EXPECT(weft_eager_apply(weft_transpose, x, 0, 1), 0, 3, 1, 4, 2, 5);
    EXPECT(weft_eager_apply(weft_diagonal, x, 1, 0, 1), 1, 5);
    EXPECT(weft_eager_apply(weft_sort, v, 0, true), 2, 1, 0);
    EXPECT(weft_eager_apply(weft_cumsum, v, 0, true, false), 3, 3, 2);
    EXPECT(weft_eager_apply(weft_repeat, v, 0, 2), 0, 0, 1, 1, 2, 2);
    EXPECT(weft_eager_apply(weft_narrow, x, 1, 1, 2), 1, 2, 4, 5);
    EXPECT(weft_eager_apply(weft_permute, x, WEFT_INTS(1, 0)), 0, 3, 1, 4, 2, 5);
    EXPECT(weft_eager_apply(weft_reduce_sum, x, WEFT_INTS(1), false), 3, 12);
    EXPECT(weft_eager_apply(weft_variance, x, WEFT_INTS(1), 0, false), 2.f / 3, 2.f / 3);
    EXPECT(weft_eager_apply(weft_norm, v, WEFT_INTS(0), 1, false), 3);
    EXPECT(weft_eager_apply(weft_roll, v, WEFT_INTS(1), WEFT_INTS(0)), 2, 0, 1);
    EXPECT(weft_eager_apply(weft_reshape, x, WEFT_SHAPE(3, WEFT_INFER)), 0, 1, 2, 3, 4, 5);
    EXPECT(weft_eager_apply(weft_slice, x, WEFT_SHAPE(0, 2), WEFT_SHAPE(2, 2), WEFT_INTS(1, -2)), 2, 0, 5, 3);
    EXPECT(weft_eager_apply(weft_cast, truth, WEFT_F32), 0, 0, 0, 1, 1, 1);
    EXPECT(weft_eager_apply(weft_leaky_relu, v, 0.5), 0, 1, 2);
    EXPECT(weft_eager_apply(weft_hard_tanh, v, 0.5, 1.5), 0.5, 1, 1.5);
    EXPECT(weft_eager_apply(weft_quantile, v, 0.5, 0, false), 1);
    EXPECT(weft_eager_apply(weft_broadcast_in_dim, v, WEFT_SHAPE(3, 2), WEFT_INTS(0)), 0, 0, 1, 1, 2, 2);
    EXPECT(weft_eager_apply(weft_bincount, at, 4, picked), 0, 0, 2, 0);
    weft_eager_array *counts = weft_eager_apply(weft_histogram, v, 2, 0, 2);
    EXPECT(weft_eager_apply(weft_cast, counts, WEFT_F32), 1, 2);
    weft_eager_release(counts);
    EXPECT(weft_eager_apply(weft_one_hot, one, 3, WEFT_F32), 0, 1, 0);
    EXPECT(weft_eager_apply(weft_gather, v, at, 0), 2, 0);
    EXPECT(weft_eager_apply(weft_tensordot, x, v, WEFT_INTS(1), WEFT_INTS(0)), 5, 14);
    EXPECT(weft_eager_apply(weft_pad, v, 7.25, WEFT_SHAPE(1), WEFT_SHAPE(0)), 7.25, 0, 1, 2);
    EXPECT(weft_eager_apply(weft_index_add, v, at, picked, 0), 0, 1, 4);
    EXPECT(weft_eager_apply(weft_mse_loss, v, v, WEFT_REDUCTION_MEAN), 0);
    EXPECT(weft_eager_apply(weft_concat, WEFT_EAGER_ARRAYS(row, x), 0), 0, 1, 2, 0, 1, 2, 3, 4, 5);
    EXPECT(weft_eager_apply(weft_gather_axes, v, WEFT_EAGER_ARRAYS(at), WEFT_INTS(0)), 2, 0);
    EXPECT(weft_eager_apply(weft_dynamic_slice, v, WEFT_EAGER_ARRAYS(one), WEFT_INTS(0), WEFT_SHAPE(2)), 1, 2);
    EXPECT(weft_eager_apply(weft_dynamic_update_slice, x, row, WEFT_EAGER_ARRAYS(one), WEFT_INTS(0)), 0, 1, 2, 0, 1, 2);
    EXPECT(weft_eager_apply(weft_full, eager, WEFT_F32, 2.5, WEFT_SHAPE(2)), 2.5, 2.5);
    EXPECT(weft_eager_apply(weft_iota, eager, WEFT_F32, WEFT_SHAPE(2, 2), 0), 0, 0, 1, 1);
    EXPECT(weft_eager_apply(weft_linspace, eager, WEFT_F32, 0, 1, 3), 0, 0.5, 1);
    EXPECT(weft_eager_apply(weft_eye, eager, WEFT_F32, 2, 2, 0), 1, 0, 0, 1);
    weft_eager_release(x);
    weft_eager_release(v);
    weft_eager_release(at);
    weft_eager_release(one);
    weft_eager_release(truth);
    weft_eager_release(row);
    weft_eager_release(picked);
}

static void numbers_stand_for_arrays(void **state)
{
    (void)state;
    weft_eager_array *x = range(WEFT_INTS(3));
    EXPECT(weft_eager_apply(weft_sub, 1, x), 1, 0, -1);
    EXPECT(weft_eager_apply(weft_pow, x, 2), 0, 1, 4);
    EXPECT(weft_eager_apply(weft_clamp, x, 0.5, 1.5f), 0.5, 1, 1.5);
    weft_eager_array *truth = weft_eager_apply(weft_gt, x, 0.5), *padded;
    EXPECT(weft_eager_apply(weft_select, truth, 1.5, x), 0, 1.5, 1.5);
    padded = weft_eager_apply(weft_pad, truth, 1, WEFT_SHAPE(0), WEFT_SHAPE(1));
    EXPECT(weft_eager_apply(weft_cast, padded, WEFT_F32), 0, 1, 1, 1);
    expect_error(weft_eager_apply(weft_select, truth, 1, 0), WEFT_INVALID_ARGUMENT, "no array gives its dtype");
    weft_eager_release(truth);
    weft_eager_release(padded);
    /* Those that are not plain are operands: the second finds the program of the first. */
    EXPECT(weft_eager_apply(weft_mul, x, 0.1), 0, 0.1f, 0.2f);
    uint64_t before = counters().programs;
    EXPECT(weft_eager_apply(weft_mul, x, 0.3), 0, 0.3f, 0.6f);
    assert_int_equal(counters().programs, before);
    EXPECT(weft_eager_apply(weft_mul, x, 2), 0, 2, 4);
    assert_int_equal(counters().programs, before + 1);
    weft_eager_release(x);
}

/* ---- errors ---- */

static void errors_come_at_once_and_wait(void **state)
{
    (void)state;
    weft_eager_array *x = range(WEFT_INTS(3)), *y = range(WEFT_INTS(4));
    weft_eager_array *z = weft_eager_number(eager, WEFT_F64, 1);
    weft_eager_array *failed = weft_eager_apply(weft_add, x, y);
    const weft_status *error = weft_eager_error(eager);
    assert_int_equal(weft_status_code(error), WEFT_SHAPE_MISMATCH);
    assert_non_null(strstr(weft_status_message(error), "add"));
    assert_non_null(strstr(weft_status_where(error), "eager.c:"));
    failed = weft_eager_apply(weft_mul, weft_eager_apply(weft_neg, failed), x);
    assert_null(weft_eager_apply(weft_sub, x, z)); /* the first one stays */
    expect_error(failed, WEFT_SHAPE_MISMATCH, "add");
    expect_error(failed, WEFT_INVALID_ARGUMENT, "NULL");
    expect_error(weft_eager_apply(weft_sub, x, z), WEFT_DTYPE_MISMATCH, "sub");
    expect_error(weft_eager_apply(weft_softmax, x, 1), WEFT_OUT_OF_RANGE, "softmax");
    expect_error(weft_eager_apply(weft_add, x), WEFT_INVALID_ARGUMENT, "add takes 2 arguments, not 1");
    expect_error(weft_eager_apply(weft_add, x, WEFT_INTS(1)), WEFT_INVALID_ARGUMENT, "argument 1 is neither");
    expect_error(weft_eager_apply(weft_softmax, x, 0.5), WEFT_INVALID_ARGUMENT, "argument 1 is not an integer");
    expect_error(weft_eager_apply(weft_permute, x, 0), WEFT_INVALID_ARGUMENT, "is not a list of integers");
    expect_error(weft_eager_apply(weft_reshape, x, WEFT_INTS(3)), WEFT_INVALID_ARGUMENT, "is not a shape");
    expect_error(weft_eager_apply(weft_concat, x, 0), WEFT_INVALID_ARGUMENT, "is not a list of arrays");
    expect_error(weft_eager_apply(weft_leaky_relu, x, y), WEFT_INVALID_ARGUMENT, "is not a number");
    expect_error(weft_eager_apply(weft_zeros, x, WEFT_F32, WEFT_SHAPE(1)), WEFT_INVALID_ARGUMENT, "not the context");
    expect_error(weft_eager_apply(weft_mul, x, 1e300), WEFT_OUT_OF_RANGE, "f32 cannot hold");
    expect_error(weft_eager_apply(weft_permute, x, ((weft_ints){1, NULL})), WEFT_INVALID_ARGUMENT, "is NULL");
    expect_error(weft_eager_apply(weft_reshape, x, ((weft_shape){1, NULL})), WEFT_INVALID_ARGUMENT, "is NULL");
    expect_error(weft_eager_apply(weft_concat, WEFT_EAGER_ARRAYS(x, NULL), 0), WEFT_INVALID_ARGUMENT, "NULL");
    expect_error(weft_eager_from(eager, NULL), WEFT_INVALID_ARGUMENT, "array is NULL");
    expect_error(weft_eager_copy(eager, WEFT_F32, WEFT_INTS(-1), NULL), WEFT_OUT_OF_RANGE, "");
    assert_null(weft_eager_apply(weft_zeros, (weft_eager *)NULL, WEFT_F32, WEFT_SHAPE(1)));
    weft_eager_release(x);
    weft_eager_release(y);
    weft_eager_release(z);
}

static void arrays_of_another_context(void **state)
{
    (void)state;
    weft_eager *other;
    weft_array *value;
    weft_test_ok(weft_eager_create(executor, NULL, &other));
    weft_eager_array *x = range(WEFT_INTS(3)), *y = weft_eager_number(other, WEFT_F32, 1);
    expect_error(weft_eager_apply(weft_add, x, y), WEFT_INVALID_ARGUMENT, "operand 1 belongs to another context");
    weft_test_fails(weft_eager_value(eager, y, &value), WEFT_INVALID_ARGUMENT, "another context");
    weft_eager_destroy(other);
    weft_eager_release(y); /* after its context */
    weft_eager_release(x);
}

static void errors_of_runs_come_with_the_value(void **state)
{
    (void)state;
    weft_array *value;
    weft_eager_array *x = weft_eager_copy(eager, WEFT_I32, WEFT_INTS(2), (int32_t[]){6, 7});
    weft_eager_array *zero = weft_eager_number(eager, WEFT_I32, 0);
    weft_eager_array *y = weft_eager_apply(weft_div, x, zero);
    assert_non_null(y);
    for (int i = 0; i < 2; i++) weft_test_fails(weft_eager_value(eager, y, &value), WEFT_DATA_ERROR, "by 0");
    weft_eager_release(x);
    weft_eager_release(y);
    weft_eager_release(zero);
}

/* The program is that of both calls. */
static void errors_of_runs_name_the_call(void **state)
{
    (void)state;
    weft_array *value;
    weft_eager_array *x = weft_eager_copy(eager, WEFT_I32, WEFT_INTS(2), (int32_t[]){6, 7});
    weft_eager_array *y = weft_eager_copy(eager, WEFT_I32, WEFT_INTS(2), (int32_t[]){2, 0});
    const int line = __LINE__ + 1;
    weft_eager_array *first = weft_eager_apply(weft_div, x, y);
    weft_eager_array *second = weft_eager_apply(weft_div, x, y);
    weft_eager_array *both[] = {weft_eager_apply(weft_neg, first), weft_eager_apply(weft_neg, second)};
    weft_eager_release(first);
    weft_eager_release(second);
    for (int i = 0; i < 2; i++) {
        char place[64];
        snprintf(place, sizeof place, "by 0 at position 1 (%s:%d)", __FILE__, line + i);
        weft_test_fails(weft_eager_value(eager, both[i], &value), WEFT_DATA_ERROR, place);
        weft_eager_release(both[i]);
    }
    weft_eager_release(x);
    weft_eager_release(y);
}

/* ---- when ---- */

static void structures_are_compiled_once(void **state)
{
    (void)state;
    weft_eager_array *x = range(WEFT_INTS(3)), *y = range(WEFT_INTS(3));
    for (int i = 0; i < 3; i++) {
        weft_eager_array *sum = weft_eager_apply(weft_add, x, y);
        EXPECT(weft_eager_apply(weft_exp2, sum), 1, 4, 16);
        weft_eager_release(sum);
    }
    weft_eager_counters now = counters();
    assert_int_equal(now.programs, 1 + 1); /* that of `range` too */
    assert_int_equal(now.traces, 1 + 2);
    EXPECT(weft_eager_apply(weft_add, x, x), 0, 2, 4); /* one operand, twice */
    assert_int_equal(counters().traces, now.traces);
    assert_int_equal(counters().programs, now.programs + 1);
    weft_eager_release(x);
    weft_eager_release(y);
}

static void what_is_held_is_not_computed_again(void **state)
{
    (void)state;
    weft_eager_array *x = range(WEFT_INTS(3)), *held = weft_eager_apply(weft_mul, x, 3);
    weft_eager_array *passed = weft_eager_apply(weft_add, held, 1);
    weft_eager_array *other = weft_eager_apply(weft_sub, passed, x); /* needs it as well */
    weft_eager_array *y = weft_eager_apply(weft_neg, passed);
    weft_eager_release(passed);
    EXPECT(y, -1, -4, -7);
    assert_true(weft_eager_is_known(held));
    assert_false(weft_eager_is_known(other));
    uint64_t runs = counters().runs;
    EXPECT(held, 0, 3, 6);
    assert_int_equal(counters().runs, runs);
    EXPECT(other, 1, 3, 5);
    weft_eager_release(x);
}

static void several_values_of_one_program(void **state)
{
    (void)state;
    weft_eager_array *x = range(WEFT_INTS(3)), *y = weft_eager_apply(weft_neg, x), *z = weft_eager_apply(weft_exp2, x);
    uint64_t runs = counters().runs;
    weft_test_ok(weft_eager_evaluate(eager, WEFT_EAGER_ARRAYS(y, z, x)));
    assert_int_equal(counters().runs, runs + 1);
    EXPECT(y, 0, -1, -2);
    EXPECT(z, 1, 2, 4);
    assert_int_equal(counters().runs, runs + 1);
    weft_eager_release(x);
}

static void long_chains_repeat_their_programs(void **state)
{
    (void)state;
    weft_eager_array *x = range(WEFT_INTS(2)), *one = weft_eager_number(eager, WEFT_F32, 1);
    uint64_t programs = counters().programs, runs = counters().runs;
    for (int i = 0; i < 1000; i++) weft_eager_assign(&x, weft_eager_apply(weft_add, x, one));
    EXPECT(x, 1000, 1001);
    assert_int_equal(counters().programs, programs + 2); /* of 64, and of those that are left */
    assert_int_equal(counters().runs, runs + 16);
    weft_eager_release(one);
}

static void calls_nobody_wants_are_forgotten(void **state)
{
    (void)state;
    weft_eager_array *x = range(WEFT_INTS(2));
    uint64_t runs = counters().runs;
    for (int i = 0; i < 50; i++) weft_eager_assign(&x, weft_eager_apply(weft_neg, x));
    weft_eager_release(x);
    assert_int_equal(counters().runs, runs);
    assert_int_equal(counters().arrays, 0);
}

/* x of n rows times y, and the gradient of its sum in y: the sums of the columns of x. */
static void step_of(int64_t n, weft_eager_array *y, weft_eager_array **out_gradient)
{
    weft_eager_scope scope = weft_eager_scope_begin(eager);
    weft_eager_array *x =
        weft_eager_apply(weft_reshape, weft_eager_apply(weft_arange, eager, WEFT_F32, 0, 1, 3 * n), WEFT_SHAPE(n, 3));
    value_of(x);
    weft_eager_tape_begin(eager, WEFT_EAGER_ARRAYS(y));
    weft_eager_array *loss =
        weft_eager_apply(weft_reduce_sum, weft_eager_apply(weft_matmul, x, y), WEFT_INTS(0), false);
    weft_eager_gradient(eager, loss, WEFT_EAGER_ARRAYS(y), out_gradient);
    weft_eager_tape_end(eager);
    value_of(weft_eager_retain(*out_gradient));
    weft_eager_scope_end(eager, scope);
}

static void extents_that_vary_become_symbols(void **state)
{
    (void)state;
    weft_eager_array *y = range(WEFT_INTS(3)), *gradient;
    for (int64_t n = 4; n < 20; n++) {
        uint64_t before = counters().programs;
        step_of(n, y, &gradient);
        float sum = 3.f * (float)(n * (n - 1) / 2), rows = (float)n;
        EXPECT(gradient, sum, sum + rows, sum + 2 * rows);
        /* The range is one each time, its numbers are options. */
        assert_int_equal(counters().programs - before, n < 7 ? 2 : 1);
    }
    weft_eager_release(y);
}

/* Three counts that differ, of a function that wants a number. */
static void some_functions_want_numbers(void **state)
{
    (void)state;
    for (int64_t n = 4; n < 10; n += 2) {
        weft_eager_array *x = range(WEFT_INTS(n)), *parts[2];
        weft_eager_assign(&x, weft_eager_apply(weft_neg, x));
        weft_eager_function split = {.name = "halves", .trace = trace_split, .result_count = 2};
        weft_eager_call(eager, &split, WEFT_EAGER_ARRAYS(x), parts);
        weft_eager_assign(&x, weft_eager_apply(weft_reduce_sum, parts[0], WEFT_INTS(0), false));
        weft_eager_release(parts[0]);
        weft_eager_release(parts[1]);
        EXPECT(x, -(float)(n / 2 * (n / 2 - 1) / 2));
    }
}

/* A trace that reads extents as numbers, and says so. */
static void trace_rows(weft_graph *graph, const void *options, const weft_tensor *operands, weft_tensor *out_results)
{
    int64_t rows;
    (void)options;
    if (weft_extent_is_static(weft_tensor_extent(operands[0], 0), &rows))
        out_results[0] = weft_mul(operands[0], weft_scalar(graph, WEFT_F32, (double)rows));
}

static void extents_that_are_read_stay_numbers(void **state)
{
    (void)state;
    weft_eager_function rows = {.name = "rows", .trace = trace_rows};
    uint64_t before = counters().programs;
    for (int64_t n = 4; n < 10; n++) {
        weft_eager_array *x = weft_eager_copy(eager, WEFT_F32, WEFT_INTS(n), (float[10]){1});
        weft_eager_assign(&x, weft_eager_call(eager, &rows, WEFT_EAGER_ARRAYS(x), NULL));
        weft_eager_assign(&x, weft_eager_apply(weft_reduce_max, x, WEFT_INTS(0), false));
        EXPECT(x, (float)n);
    }
    assert_int_equal(counters().programs, before + 6);
}

static void extents_may_be_fixed(void **state)
{
    (void)state;
    weft_eager_counters now;
    weft_eager *reference = eager;
    weft_test_ok(weft_eager_create(executor, &(weft_eager_options){.runtime = "ref", .fixed_extents = true}, &eager));
    for (int64_t n = 4; n < 10; n++) {
        weft_eager_array *x = range(WEFT_INTS(n));
        EXPECT(weft_eager_apply(weft_reduce_max, x, WEFT_INTS(0), false), (float)n - 1);
        weft_eager_release(x);
    }
    weft_eager_counters_read(eager, &now);
    assert_int_equal(now.programs, 1 + 6);
    weft_eager_destroy(eager);
    eager = reference;
}

/* ---- memory ---- */

static void views_share_memory(void **state)
{
    (void)state;
    weft_eager_array *x = range(WEFT_INTS(4, 6));
    const float *data = weft_array_data(value_of(x));
    uint64_t runs = counters().runs;
    weft_eager_array *t = weft_eager_apply(weft_permute, x, WEFT_INTS(1, 0));
    assert_true(weft_eager_is_known(t));
    assert_ptr_equal(weft_array_data(value_of(t)), data);
    weft_eager_array *s = weft_eager_apply(weft_slice, t, WEFT_SHAPE(5, 1), WEFT_SHAPE(3, 2), WEFT_INTS(-2, 2));
    assert_ptr_equal(weft_array_data(value_of(s)), data + 5 + 6);
    EXPECT(s, 11, 23, 9, 21, 7, 19);
    weft_eager_array *pairs = weft_eager_apply(weft_reshape, x, WEFT_SHAPE(2, 2, 3, 2));
    assert_ptr_equal(weft_array_data(value_of(pairs)), data);
    weft_eager_assign(&pairs, weft_eager_apply(weft_flip, pairs, WEFT_INTS(0, 3)));
    assert_ptr_equal(weft_array_data(value_of(pairs)), data + 13);
    weft_eager_assign(&pairs, weft_eager_apply(weft_narrow, pairs, 1, 1, 1));
    EXPECT(pairs, 19, 18, 21, 20, 23, 22, 7, 6, 9, 8, 11, 10);
    weft_eager_array *row = weft_eager_apply(weft_narrow, x, 0, 1, 1);
    weft_eager_assign(&row, weft_eager_apply(weft_squeeze, row, 0));
    weft_eager_assign(&row, weft_eager_apply(weft_broadcast, row, WEFT_SHAPE(2, 6)));
    EXPECT(row, 6, 7, 8, 9, 10, 11, 6, 7, 8, 9, 10, 11);
    weft_eager_array *windows = weft_eager_apply(weft_narrow, x, 0, 0, 1);
    weft_eager_assign(&windows, weft_eager_apply(weft_window, windows, 1, 2, 2, 3));
    EXPECT(windows, 0, 3, 2, 5);
    weft_eager_array *diagonal = weft_eager_apply(weft_narrow, x, 1, 1, 4);
    weft_eager_assign(&diagonal, weft_eager_apply(weft_extract_diagonal, diagonal, 0, 1));
    EXPECT(diagonal, 1, 8, 15, 22);
    assert_int_equal(counters().runs, runs);
    /* No strides say this one: it is computed. */
    weft_eager_assign(&t, weft_eager_apply(weft_reshape, t, WEFT_SHAPE(24)));
    assert_false(weft_eager_is_known(t));
    EXPECT(t, 0, 6, 12, 18, 1, 7, 13, 19, 2, 8, 14, 20, 3, 9, 15, 21, 4, 10, 16, 22, 5, 11, 17, 23);
    weft_eager_release(x);
}

/* x with 9 at an index that the last holder of x gives away. */
static weft_eager_array *updated(weft_eager_array *x)
{
    weft_eager_array *nine = weft_eager_copy(eager, WEFT_F32, WEFT_INTS(1), (float[]){9});
    weft_eager_array *at = weft_eager_number(eager, WEFT_I64, 1);
    weft_eager_array *y = weft_eager_apply(weft_dynamic_update_slice, x, nine, WEFT_EAGER_ARRAYS(at), WEFT_INTS(0));
    weft_eager_release(nine);
    weft_eager_release(at);
    return y;
}

static void what_nobody_holds_is_updated_in_place(void **state)
{
    (void)state;
    weft_eager_array *x = range(WEFT_INTS(3));
    const void *data = weft_array_data(value_of(x));
    weft_eager_assign(&x, updated(x));
    EXPECT(weft_eager_retain(x), 0, 9, 2);
    assert_int_equal(counters().donations, 3); /* the update and the index as well */
    (void)data;                                /* runtime "ref" updates a copy */
    weft_eager_array *y = updated(x);
    EXPECT(y, 0, 9, 2);
    assert_int_equal(counters().donations, 5);
    EXPECT(weft_eager_retain(x), 0, 9, 2);
    /* A caller that has a reference on the value keeps it. */
    weft_array *value = weft_array_retain(value_of(x));
    weft_eager_assign(&x, updated(x));
    EXPECT(x, 0, 9, 2);
    assert_int_equal(counters().donations, 7);
    weft_array_release(value);
}

static void memory_of_callers_is_left_alone(void **state)
{
    (void)state;
    float data[3] = {0, 1, 2};
    weft_array *array;
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 1, (int64_t[]){3}, NULL, data, NULL, NULL, &array));
    weft_eager_array *x = weft_eager_from(eager, array);
    weft_array_release(array);
    weft_eager_assign(&x, updated(x));
    EXPECT(x, 0, 9, 2);
    assert_float_equal(data[1], 1, 0);
}

/* Of a run that fails, what it may have written is not read again. */
static void what_a_failed_run_was_given_is_lost(void **state)
{
    (void)state;
    weft_array *value;
    weft_eager_array *x = range(WEFT_INTS(3)), *at = weft_eager_number(eager, WEFT_I64, 3);
    weft_eager_array *nine = weft_eager_copy(eager, WEFT_F32, WEFT_INTS(1), (float[]){9});
    weft_eager_assign(&x, weft_eager_apply(weft_dynamic_update_slice, x, nine, WEFT_EAGER_ARRAYS(at), WEFT_INTS(0)));
    weft_test_fails(weft_eager_value(eager, x, &value), WEFT_DATA_ERROR, "start");
    weft_test_fails(weft_eager_value(eager, x, &value), WEFT_INVALID_ARGUMENT, "a run that failed");
    weft_eager_release(x);
    weft_eager_release(at);
    EXPECT(nine, 9);
}

static void scopes_end_what_was_made_in_them(void **state)
{
    (void)state;
    weft_eager_scope scope = weft_eager_scope_begin(eager);
    weft_eager_array *x = range(WEFT_INTS(3));
    weft_eager_array *y = weft_eager_apply(weft_add, weft_eager_apply(weft_mul, x, 0.1), weft_eager_apply(weft_neg, x));
    weft_eager_retain(y);
    weft_eager_scope inner = weft_eager_scope_begin(eager);
    weft_eager_array *early = weft_eager_apply(weft_neg, x);
    weft_eager_apply(weft_exp, x);
    weft_eager_release(early);
    weft_eager_scope_end(eager, inner);
    assert_non_null(weft_eager_apply(weft_neg, x));
    weft_eager_scope_end(eager, scope);
    EXPECT(y, 0, -0.9f, -1.8f);
    assert_int_equal(counters().arrays, 1); /* 0.1, for a while */
}

/* ---- calls ---- */

struct scale {
    double by;
};

static void trace_scale(weft_graph *graph, const void *options, const weft_tensor *operands, weft_tensor *out_results)
{
    (void)graph;
    const struct scale *scale = options;
    out_results[0] = weft_mul(operands[0], scale->by);
}

static void trace_nothing(weft_graph *graph, const void *options, const weft_tensor *operands, weft_tensor *out_results)
{
    (void)graph;
    (void)options;
    (void)operands;
    (void)out_results;
}

static void trace_input(weft_graph *graph, const void *options, const weft_tensor *operands, weft_tensor *out_results)
{
    (void)options;
    (void)operands;
    out_results[0] = weft_neg(weft_input(graph, "y", WEFT_F32, WEFT_SHAPE(2)));
}

static void functions_of_callers(void **state)
{
    (void)state;
    weft_eager_array *x = range(WEFT_INTS(4)), *parts[2], *sum;
    weft_eager_function function = {
        .name = "scale", .trace = trace_scale, .options = &(struct scale){2.5}, .options_size = sizeof(struct scale)};
    EXPECT(weft_eager_call(eager, &function, WEFT_EAGER_ARRAYS(x), NULL), 0, 2.5, 5, 7.5);
    function.options = &(struct scale){0.5};
    EXPECT(weft_eager_call(eager, &function, WEFT_EAGER_ARRAYS(x), NULL), 0, 0.5, 1, 1.5);
    weft_eager_function split = {.name = "halves", .trace = trace_split, .result_count = 2};
    weft_eager_array *first = weft_eager_call(eager, &split, WEFT_EAGER_ARRAYS(x), parts);
    assert_ptr_equal(first, parts[0]);
    assert_true(weft_eager_is_known(parts[1]));
    EXPECT(parts[1], 2, 3);
    EXPECT(parts[0], 0, 1);
    weft_eager_assign(&x, weft_eager_apply(weft_neg, x)); /* of what is not known, no views */
    weft_eager_call(eager, &split, WEFT_EAGER_ARRAYS(x), parts);
    assert_false(weft_eager_is_known(parts[1]));
    sum = weft_eager_apply(weft_add, parts[0], parts[1]);
    weft_eager_release(parts[0]);
    EXPECT(sum, -2, -4);
    EXPECT(parts[1], -2, -3);
    weft_eager_release(x);
}

static void functions_that_do_not_do(void **state)
{
    (void)state;
    weft_eager_array *x = range(WEFT_INTS(2)), *y;
    weft_array *value;
    weft_eager_function function = {.name = "idle", .trace = trace_nothing};
    expect_error(weft_eager_call(eager, NULL, WEFT_EAGER_ARRAYS(x), NULL), WEFT_INVALID_ARGUMENT, "function is NULL");
    expect_error(weft_eager_call(eager, &function, WEFT_EAGER_ARRAYS(x), NULL), WEFT_INVALID_ARGUMENT,
                 "idle: result 0 is a failed tensor");
    expect_error(weft_eager_call(eager, &function, (weft_eager_arrays){1, NULL}, NULL), WEFT_INVALID_ARGUMENT,
                 "operands is NULL");
    function.result_count = 2;
    expect_error(weft_eager_call(eager, &function, WEFT_EAGER_ARRAYS(x), NULL), WEFT_INVALID_ARGUMENT,
                 "there are 2 results");
    function.options_size = 1;
    expect_error(weft_eager_call(eager, &function, WEFT_EAGER_ARRAYS(x), NULL), WEFT_INVALID_ARGUMENT, "options");
    function.trace = NULL;
    expect_error(weft_eager_call(eager, &function, WEFT_EAGER_ARRAYS(x), NULL), WEFT_INVALID_ARGUMENT, "trace");
    function = (weft_eager_function){.name = "asks", .trace = trace_input};
    y = weft_eager_call(eager, &function, WEFT_EAGER_ARRAYS(x), NULL);
    weft_test_fails(weft_eager_value(eager, y, &value), WEFT_INVALID_ARGUMENT, "made an input");
    weft_eager_release(x);
    weft_eager_release(y);
}

static void few_things_are_kept(void **state)
{
    (void)state;
    weft_eager *small;
    weft_array *value;
    weft_test_ok(weft_eager_create(
        executor, &(weft_eager_options){.runtime = "ref", .program_capacity = 2, .function_capacity = 3}, &small));
    for (int round = 0; round < 3; round++) {
        for (int64_t n = 1; n < 6; n++) {
            weft_eager_array *x = weft_eager_apply(weft_ones, small, WEFT_F32, WEFT_SHAPE(n));
            weft_eager_assign(&x, weft_eager_apply(weft_exp, x));
            weft_test_ok(weft_eager_value(small, x, &value));
            assert_int_equal(weft_array_count(value), n);
            weft_eager_release(x);
        }
    }
    weft_eager_counters now;
    weft_eager_counters_read(small, &now);
    assert_int_equal(now.programs, 15);
    weft_eager_destroy(small);
}

static void llvm_updates_in_place(void **state)
{
    (void)state;
    weft_eager *fast;
    weft_array *value;
    if (!has_llvm) skip();
    weft_test_ok(weft_eager_create(executor, NULL, &fast));
    weft_eager *reference = eager;
    eager = fast;
    weft_eager_array *x = range(WEFT_INTS(3));
    const void *data = weft_array_data(value_of(x));
    for (int i = 0; i < 4; i++) {
        weft_eager_assign(&x, updated(x));
        weft_test_ok(weft_eager_value(fast, x, &value));
        assert_ptr_equal(weft_array_data(value), data);
    }
    EXPECT(x, 0, 9, 2);
    eager = reference;
    weft_eager_destroy(fast);
}

static void multiply(weft_eager *fast, weft_eager_array *x)
{
    weft_array *value;
    weft_eager_array *product = weft_eager_apply(weft_matmul, x, x);
    weft_test_ok(weft_eager_value(fast, product, &value));
    weft_eager_release(product);
}

/* A call that was made before makes no graph: that alone would be ten times as many instructions. */
static void cached_calls_are_cheap(void **state)
{
    (void)state;
    enum { MOST = 10000 };
    weft_eager *fast;
    if (!has_llvm || WEFT_TEST_ADDRESS || WEFT_TEST_THREAD) skip();
    weft_test_ok(weft_eager_create(executor, NULL, &fast));
    weft_eager_array *x = weft_eager_copy(fast, WEFT_F32, WEFT_INTS(2, 2), (float[]){1, 2, 3, 4});
    for (int i = 0; i < 3; i++) multiply(fast, x);
    weft_test_count_begin();
    multiply(fast, x);
    uint64_t count = weft_test_count_end();
    assert_true(count < MOST);
    weft_eager_release(x);
    weft_eager_destroy(fast);
}

/* ---- gradients ---- */

static void a_gradient(void **state)
{
    (void)state;
    weft_eager_array *x = range(WEFT_INTS(3)), *y = range(WEFT_INTS(3)), *gradients[2];
    weft_eager_tape_begin(eager, WEFT_EAGER_ARRAYS(x, y));
    weft_eager_array *product = weft_eager_apply(weft_mul, weft_eager_retain(x), y);
    weft_eager_release(x);
    weft_eager_array *square = weft_eager_apply(weft_mul, product, product);
    weft_eager_array *loss = weft_eager_apply(weft_reduce_sum, square, WEFT_INTS(0), false);
    value_of(product); /* what is known has its record all the same */
    weft_eager_release(product);
    weft_eager_gradient(eager, loss, WEFT_EAGER_ARRAYS(x, y), gradients);
    weft_eager_tape_end(eager);
    assert_false(weft_eager_is_known(gradients[0]));
    uint64_t runs = counters().runs;
    weft_test_ok(weft_eager_evaluate(eager, WEFT_EAGER_ARRAYS(loss, gradients[0], gradients[1])));
    assert_int_equal(counters().runs, runs + 1);
    EXPECT(loss, 17);
    EXPECT(gradients[0], 0, 2, 16);
    EXPECT(gradients[1], 0, 2, 16);
    weft_eager_release(square);
    weft_eager_release(x);
    weft_eager_release(y);
}

/* x' = x - rate d/dx sum((x - 3)^2), again and again, in one program each time. */
static void steps_of_descent(void **state)
{
    (void)state;
    weft_eager_array *x = range(WEFT_INTS(2));
    weft_eager_counters before = counters();
    for (int i = 0; i < 20; i++) {
        weft_eager_array *gradient;
        weft_eager_scope scope = weft_eager_scope_begin(eager);
        weft_eager_tape_begin(eager, WEFT_EAGER_ARRAYS(x));
        weft_eager_array *away = weft_eager_apply(weft_sub, x, 3);
        weft_eager_array *loss =
            weft_eager_apply(weft_reduce_sum, weft_eager_apply(weft_mul, away, away), WEFT_INTS(0), false);
        weft_eager_gradient(eager, loss, WEFT_EAGER_ARRAYS(x), &gradient);
        weft_eager_tape_end(eager);
        weft_eager_array *next = weft_eager_apply(weft_sub, x, weft_eager_apply(weft_mul, gradient, 0.3));
        value_of(next);
        weft_eager_assign(&x, weft_eager_retain(next));
        weft_eager_scope_end(eager, scope);
    }
    assert_int_equal(counters().programs, before.programs + 1);
    assert_int_equal(counters().runs, before.runs + 20);
    EXPECT(x, 3, 3);
}

static void gradients_of_gradients(void **state)
{
    (void)state;
    weft_eager_scope scope = weft_eager_scope_begin(eager);
    weft_eager_array *x = weft_eager_number(eager, WEFT_F32, 2), *first, *second, *third;
    weft_eager_tape_begin(eager, WEFT_EAGER_ARRAYS(x));
    weft_eager_array *cube = weft_eager_apply(weft_pow, x, 3);
    weft_eager_gradient(eager, cube, WEFT_EAGER_ARRAYS(x), &first);
    value_of(first);
    weft_eager_gradient(eager, first, WEFT_EAGER_ARRAYS(x), &second);
    weft_eager_gradient(eager, second, WEFT_EAGER_ARRAYS(x), &third);
    weft_eager_tape_end(eager);
    EXPECT(weft_eager_retain(first), 12);
    EXPECT(weft_eager_retain(second), 12);
    EXPECT(weft_eager_retain(third), 6);
    weft_eager_scope_end(eager, scope);
}

static void gradients_in_what_is_on_the_way(void **state)
{
    (void)state;
    weft_eager_scope scope = weft_eager_scope_begin(eager);
    weft_eager_array *x = range(WEFT_INTS(2, 2)), *apart = range(WEFT_INTS(2)), *gradients[3];
    weft_eager_tape_begin(eager, WEFT_EAGER_ARRAYS(x, apart));
    weft_eager_array *row =
        weft_eager_apply(weft_reshape, weft_eager_apply(weft_permute, x, WEFT_INTS(0, 1)), WEFT_SHAPE(4));
    assert_true(weft_eager_is_known(row)); /* a view */
    weft_eager_tape_begin(eager, WEFT_EAGER_ARRAYS(row));
    weft_eager_array *loss = weft_eager_apply(weft_reduce_sum, weft_eager_apply(weft_exp2, row), WEFT_INTS(0), false);
    weft_eager_tape_end(eager);
    weft_eager_gradient(eager, loss, WEFT_EAGER_ARRAYS(x, row, apart), gradients);
    weft_eager_tape_end(eager);
    for (int i = 0; i < 2; i++) EXPECT(weft_eager_retain(gradients[i]), logf(2), 2 * logf(2), 4 * logf(2), 8 * logf(2));
    EXPECT(weft_eager_retain(gradients[2]), 0, 0);
    weft_eager_scope_end(eager, scope);
}

static void what_has_no_gradient(void **state)
{
    (void)state;
    weft_eager_array *x = range(WEFT_INTS(2)), *y = range(WEFT_INTS(2)), *gradient;
    weft_eager_array *sum = weft_eager_apply(weft_reduce_sum, x, WEFT_INTS(0), false);
    weft_eager_gradient(eager, sum, WEFT_EAGER_ARRAYS(x), &gradient);
    assert_non_null(strstr(weft_status_where(weft_eager_error(eager)), "eager.c:"));
    expect_error(gradient, WEFT_INVALID_ARGUMENT, "gradient: there is no tape");
    weft_eager_tape_begin(eager, WEFT_EAGER_ARRAYS(x));
    weft_eager_gradient(eager, sum, WEFT_EAGER_ARRAYS(y), &gradient);
    expect_error(gradient, WEFT_INVALID_ARGUMENT, "the array is not followed by the tape");
    weft_eager_gradient(eager, sum, WEFT_EAGER_ARRAYS(x, y), (weft_eager_array *[2]){NULL});
    expect_error(NULL, WEFT_INVALID_ARGUMENT, "gradient: array 1 of 2 (from 0) is not followed by the tape");
    weft_eager_array *negative = weft_eager_apply(weft_neg, x);
    weft_eager_gradient(eager, negative, WEFT_EAGER_ARRAYS(x), &gradient);
    assert_non_null(strstr(weft_status_where(weft_eager_error(eager)), "eager.c:"));
    expect_error(gradient, WEFT_SHAPE_MISMATCH, "grad: the loss is f32[2], but must be a float of rank 0");
    (weft_eager_gradient)(eager, negative, WEFT_EAGER_ARRAYS(x), &gradient); /* without a place */
    assert_null(strstr(weft_status_where(weft_eager_error(eager)), "eager.c:"));
    expect_error(gradient, WEFT_SHAPE_MISMATCH, "grad");
    weft_eager_gradient(eager, sum, (weft_eager_arrays){1, NULL}, &gradient);
    assert_non_null(weft_eager_error(eager));
    weft_eager_clear_error(eager);
    weft_eager_gradient(eager, NULL, WEFT_EAGER_ARRAYS(x), &gradient);
    assert_null(weft_eager_error(eager));
    weft_eager_tape_end(eager);
    weft_eager_release(x);
    weft_eager_release(y);
    weft_eager_release(sum);
    weft_eager_release(negative);
}

/* A tape keeps records of what there is a handle on, and none after it. */
static void tapes_end(void **state)
{
    (void)state;
    weft_eager_array *x = range(WEFT_INTS(2));
    weft_eager_array *start = weft_eager_retain(x);
    weft_eager_tape_begin(eager, WEFT_EAGER_ARRAYS(x));
    for (int i = 0; i < 5000; i++) weft_eager_assign(&x, weft_eager_apply(weft_neg, x));
    value_of(x);
    assert_true(counters().arrays > 5000);
    weft_eager_tape_end(eager);
    assert_int_equal(counters().arrays, 2);
    weft_eager_release(start);
    weft_eager_tape_begin(eager, WEFT_EAGER_ARRAYS(x));
    for (int i = 0; i < 5000; i++) weft_eager_assign(&x, weft_eager_apply(weft_neg, x));
    weft_eager_release(x);
    assert_int_equal(counters().arrays, 0); /* long chains end without a stack of their length */
    weft_eager_tape_end(eager);
}

/* ---- memory that runs out ---- */

static weft_status *use_all(const weft_allocator *allocator, void *context)
{
    (void)context;
    weft_eager *short_of;
    weft_array *value;
    float data[] = {1, 2, 3, 4};
    WEFT_TRY(weft_eager_create(executor, &(weft_eager_options){.allocator = allocator, .runtime = "ref"}, &short_of));
    weft_eager_scope scope = weft_eager_scope_begin(short_of);
    weft_eager_array *x = weft_eager_copy(short_of, WEFT_F32, WEFT_INTS(2, 2), data);
    weft_eager_array *y = weft_eager_apply(weft_mul, weft_eager_apply(weft_permute, x, WEFT_INTS(1, 0)), 0.1);
    weft_eager_array *parts[2];
    weft_eager_function split = {.trace = trace_split, .result_count = 2};
    weft_eager_call(short_of, &split, WEFT_EAGER_ARRAYS(y), parts);
    weft_eager_array *z = weft_eager_apply(weft_concat, WEFT_EAGER_ARRAYS(parts[1], parts[0]), 0);
    weft_status *status = weft_eager_value(short_of, z, &value);
    if (status != NULL && z != NULL) weft_test_ok(weft_eager_value(short_of, z, &value)); /* nothing is lost */
    if (z != NULL) assert_float_equal(((float *)weft_array_data(value))[0], 0.2f, 1e-6f);
    weft_eager_scope_end(short_of, scope);
    weft_eager_destroy(short_of);
    weft_executor_clear(executor); /* its variants know the programs */
    return status;
}

static weft_status *differentiate(const weft_allocator *allocator, void *context)
{
    (void)context;
    weft_eager *short_of;
    weft_array *value;
    weft_eager_array *gradient = NULL;
    WEFT_TRY(weft_eager_create(executor, &(weft_eager_options){.allocator = allocator, .runtime = "ref"}, &short_of));
    weft_eager_scope scope = weft_eager_scope_begin(short_of);
    weft_eager_array *x = weft_eager_number(short_of, WEFT_F32, 2);
    weft_eager_tape_begin(short_of, WEFT_EAGER_ARRAYS(x));
    weft_eager_array *y = weft_eager_apply(weft_mul, weft_eager_apply(weft_reshape, x, WEFT_SHAPE(1)), x);
    y = weft_eager_apply(weft_reshape, y, WEFT_SHAPE());
    weft_eager_gradient(short_of, y, WEFT_EAGER_ARRAYS(x), &gradient);
    weft_eager_tape_end(short_of);
    weft_status *status = weft_eager_value(short_of, gradient, &value);
    if (status == NULL) assert_float_equal(((float *)weft_array_data(value))[0], 4, 1e-6f);
    weft_eager_scope_end(short_of, scope);
    weft_eager_destroy(short_of);
    weft_executor_clear(executor);
    return status;
}

static weft_status *vary(const weft_allocator *allocator, void *context)
{
    (void)context;
    weft_eager *short_of;
    weft_array *value;
    weft_status *status = NULL;
    WEFT_TRY(weft_eager_create(executor, &(weft_eager_options){.allocator = allocator, .runtime = "ref"}, &short_of));
    for (int64_t n = 2; n < 6 && status == NULL; n++) {
        weft_eager_array *x = weft_eager_copy(short_of, WEFT_F32, WEFT_INTS(n), (float[]){1, 2, 3, 4, 5});
        weft_eager_assign(&x, weft_eager_apply(weft_reduce_sum, x, WEFT_INTS(0), false));
        status = weft_eager_value(short_of, x, &value);
        if (status == NULL) assert_float_equal(*(float *)weft_array_data(value), (float)(n * (n + 1) / 2), 0);
        weft_eager_release(x);
    }
    weft_eager_destroy(short_of);
    weft_executor_clear(executor);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(weft_test_fail_each(use_all, NULL) > 100);
    assert_true(weft_test_fail_each(differentiate, NULL) > 100);
    assert_true(weft_test_fail_each(vary, NULL) > 100);
}

int main(int argc, char **argv)
{
    has_llvm = argc > 1 && strcmp(argv[1], "llvm") == 0;
    const struct CMUnitTest tests[] = {
        IN_FIXTURE(types_are_known_at_once),
        IN_FIXTURE(operands_broadcast),
        IN_FIXTURE(functions_of_all_types),
        IN_FIXTURE(numbers_stand_for_arrays),
        IN_FIXTURE(errors_come_at_once_and_wait),
        IN_FIXTURE(arrays_of_another_context),
        IN_FIXTURE(errors_of_runs_come_with_the_value),
        IN_FIXTURE(errors_of_runs_name_the_call),
        IN_FIXTURE(structures_are_compiled_once),
        IN_FIXTURE(what_is_held_is_not_computed_again),
        IN_FIXTURE(several_values_of_one_program),
        IN_FIXTURE(long_chains_repeat_their_programs),
        IN_FIXTURE(calls_nobody_wants_are_forgotten),
        IN_FIXTURE(extents_that_vary_become_symbols),
        IN_FIXTURE(some_functions_want_numbers),
        IN_FIXTURE(extents_that_are_read_stay_numbers),
        IN_FIXTURE(extents_may_be_fixed),
        IN_FIXTURE(views_share_memory),
        IN_FIXTURE(what_nobody_holds_is_updated_in_place),
        IN_FIXTURE(memory_of_callers_is_left_alone),
        IN_FIXTURE(what_a_failed_run_was_given_is_lost),
        IN_FIXTURE(scopes_end_what_was_made_in_them),
        IN_FIXTURE(functions_of_callers),
        IN_FIXTURE(functions_that_do_not_do),
        IN_FIXTURE(few_things_are_kept),
        IN_FIXTURE(llvm_updates_in_place),
        IN_FIXTURE(cached_calls_are_cheap),
        IN_FIXTURE(a_gradient),
        IN_FIXTURE(steps_of_descent),
        IN_FIXTURE(gradients_of_gradients),
        IN_FIXTURE(gradients_in_what_is_on_the_way),
        IN_FIXTURE(what_has_no_gradient),
        IN_FIXTURE(tapes_end),
        IN_FIXTURE(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
