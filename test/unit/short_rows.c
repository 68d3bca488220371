/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of short rows, of rows side by side, and of rows that lie across memory, and scans of short and long ones:
 * lanes across rows, along them and for extents that are not known give the same bits, positions those of the
 * reference. */
#include <math.h>
#include <string.h>
#include <weft/weft.h>
#include "test/support.h"

enum { ROWS = 53, MOST_ROW = 33, LONGEST = 100, LONG_COLUMN = 20000, FEW = 19, FORMS = 5, REFERENCE = FORMS, IN_PLACE };

static weft_executor *wide, *narrow; /* for vectors of 64 bytes and of 32 */
static int64_t numbers[LONG_COLUMN * FEW];

static int set_up(void **state)
{
    (void)state;
    weft_machine machine = *weft_machine_host();
    weft_executor_options options = {.threads = 2, .machine = &machine};
    machine.vector_bytes = 64;
    weft_test_ok(weft_executor_create_standard(&options, &wide));
    machine.vector_bytes = 32;
    weft_test_ok(weft_executor_create_standard(&options, &narrow));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    weft_executor_destroy(wide);
    weft_executor_destroy(narrow);
    return 0;
}

/* ---- programs ---- */

static weft_tensor sum(weft_tensor x)
{
    return weft_reduce_sum(x, WEFT_INTS(1), false);
}

static weft_tensor product(weft_tensor x)
{
    return weft_reduce_prod(x, WEFT_INTS(1), true);
}

static weft_tensor greatest(weft_tensor x)
{
    return weft_reduce_max(x, WEFT_INTS(1), false);
}

static weft_tensor where_greatest(weft_tensor x)
{
    return weft_argmax(x, 1, false);
}

static weft_tensor sums_so_far(weft_tensor x)
{
    return weft_cumsum(x, 1, false, false);
}

static weft_tensor sums_from_behind(weft_tensor x)
{
    return weft_cumsum(x, 1, true, true);
}

static weft_tensor least_so_far(weft_tensor x)
{
    return weft_cummin(x, 1, false, false);
}

static weft_tensor products_before(weft_tensor x)
{
    return weft_cumprod(x, 1, false, true);
}

static weft_tensor recurrence(weft_tensor x)
{
    return weft_scan_linear(weft_flip(x, WEFT_INTS(1)), x, 1, false);
}

static weft_tensor sums_of_exponentials(weft_tensor x)
{
    return weft_cumsum(weft_exp(x), 1, true, false);
}

static weft_tensor sums_of_tangents(weft_tensor x)
{
    return weft_cumsum(weft_tanh(x), 1, false, false);
}

static weft_tensor recurrence_of_tangents(weft_tensor x)
{
    return weft_scan_linear(weft_tanh(x), x, 1, false);
}

static weft_tensor greatest_power(weft_tensor x)
{
    return weft_cummax(weft_pow(x, weft_flip(x, WEFT_INTS(1))), 1, false, true);
}

static weft_tensor norm(weft_tensor x)
{
    weft_tensor from_mean = weft_sub(x, weft_mean(x, WEFT_INTS(1), true));
    return weft_mul(from_mean, weft_rsqrt(weft_mean(weft_mul(from_mean, from_mean), WEFT_INTS(1), true)));
}

static weft_tensor softmax(weft_tensor x)
{
    return weft_softmax(x, 1);
}

static weft_tensor log_softmax(weft_tensor x)
{
    return weft_log_softmax(x, 1);
}

static weft_tensor variance(weft_tensor x)
{
    return weft_variance(x, WEFT_INTS(1), 0, false);
}

static weft_tensor sums_of_columns(weft_tensor x)
{
    return sum(weft_transpose(x, 0, 1));
}

static weft_tensor products_of_rows(weft_tensor x)
{
    return weft_reduce_sum(weft_mul(x, weft_flip(x, WEFT_INTS(1))), WEFT_INTS(1), false);
}

static weft_tensor scaled_rows(weft_tensor x)
{
    return weft_mul(x, weft_narrow(x, 1, weft_extent_of(0), weft_extent_of(1)));
}

static weft_tensor lower_triangle(weft_tensor x)
{
    return weft_tril(x, 2);
}

/* Behind each other, and between zeros. */
static weft_tensor joined_rows(weft_tensor x)
{
    weft_tensor rows = weft_concat(WEFT_TENSORS(x, weft_neg(x)), 1);
    return weft_roll(weft_pad(rows, 0.5, WEFT_SHAPE(0, 1), WEFT_SHAPE(1, 2)), WEFT_INTS(2), WEFT_INTS(1));
}

static weft_tensor transposed(weft_tensor x)
{
    return weft_transpose(x, 0, 1);
}

static weft_tensor every_third(weft_tensor x)
{
    return weft_exp(weft_at(x, WEFT_ALL, WEFT_RANGE(0, WEFT_OPEN, 3)));
}

static weft_tensor as_image(weft_tensor x)
{
    return weft_unsqueeze(weft_unsqueeze(x, 0), 0);
}

static weft_tensor pooled(weft_tensor x)
{
    return weft_max_pool(as_image(x), &(weft_pool_options){.size = WEFT_INTS(3, 3),
                                                           .stride = WEFT_INTS(2, 2),
                                                           .low = WEFT_INTS(1, 1),
                                                           .high = WEFT_INTS(1, 1)});
}

static weft_tensor averaged(weft_tensor x)
{
    weft_pool_options options = {.size = WEFT_INTS(2, 4), .stride = WEFT_INTS(1, 4), .high = WEFT_INTS(1, 3)};
    return weft_average_pool(as_image(x), &options);
}

typedef struct sample {
    const char *name;
    weft_tensor (*trace)(weft_tensor x);
    weft_dtype dtype;
    int64_t columns;
    bool special; /* NaN and the like, and zeros of both signs */
    bool turned;  /* rows lie across memory */
    int64_t rows; /* 0: ROWS */
} sample;

static int64_t rows_of(const sample *s)
{
    return s->rows != 0 ? s->rows : ROWS;
}

/* ---- runs ---- */

static void fill(const sample *s)
{
    static const double specials[] = {-0.0, 0, INFINITY, -INFINITY, NAN, -0.0, 1e-40, -0.0};
    for (int64_t i = 0; i < rows_of(s) * s->columns; i++) {
        double number = (double)(i * 7919 % 1009) / 300 - 1.5;
        if (s->special && i / s->columns % 3 != 0) number = specials[i * 31 / 4 % 8];
        if (s->special && i / s->columns % 3 == 2) number = -0.0;
        switch (s->dtype) {
        case WEFT_F32: ((float *)numbers)[i] = (float)number; break;
        case WEFT_F64: ((double *)numbers)[i] = number; break;
        case WEFT_I32: ((int32_t *)numbers)[i] = (int32_t)(i * 7919 % 1009); break;
        default: numbers[i] = i * 7919 % 1009 - 500; break;
        }
    }
}

/* Form 0 has lanes along rows, 1 across; 2 knows the columns alone, 3 no extent; 4 is 3, specialised; IN_PLACE is 2,
 * with a result that is written over the operand where it can be. */
static weft_array *run(const sample *s, int form)
{
    weft_graph *graph;
    weft_program *program;
    weft_array *x, *y = NULL;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_extent rows = form < 2 ? weft_extent_of(rows_of(s)) : weft_symbol(graph, "rows", 0, 100000);
    weft_extent columns =
        form < 3 || form == IN_PLACE ? weft_extent_of(s->columns) : weft_symbol(graph, "columns", 1, 100000);
    weft_shape shape = s->turned ? WEFT_SHAPE(columns, rows) : WEFT_SHAPE(rows, columns);
    weft_tensor input = weft_input(graph, "x", s->dtype, shape);
    weft_tensor result = s->trace(s->turned ? weft_transpose(input, 0, 1) : input);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(result), NULL, &program));
    weft_graph_destroy(graph);
    const int64_t extents[] = {s->turned ? s->columns : rows_of(s), s->turned ? rows_of(s) : s->columns};
    weft_test_ok(weft_array_wrap(NULL, s->dtype, 2, extents, NULL, numbers, NULL, NULL, &x));
    weft_run run = {.input_count = 1, .inputs = &x, .output_count = 1, .outputs = &y, .specialize = form == 4};
    if (form == REFERENCE) run.runtime = "ref";
    if (form == IN_PLACE) run.donated = &(const bool){true};
    weft_test_ok(weft_executor_run(form == 0 ? narrow : wide, program, &run));
    weft_array_release(x);
    weft_program_release(program);
    return y;
}

static bool is_same(const weft_array *a, const weft_array *b)
{
    weft_dtype dtype = weft_array_dtype(a);
    for (int64_t i = 0; i < weft_array_count(a); i++) {
        const char *x = (const char *)weft_array_data(a) + (size_t)i * weft_dtype_size(dtype);
        const char *y = (const char *)weft_array_data(b) + (size_t)i * weft_dtype_size(dtype);
        bool none = (dtype == WEFT_F32 && isnan(*(const float *)x) && isnan(*(const float *)y)) ||
                    (dtype == WEFT_F64 && isnan(*(const double *)x) && isnan(*(const double *)y));
        if (!none && memcmp(x, y, weft_dtype_size(dtype)) != 0) return false;
    }
    return true;
}

static void check(const sample *s)
{
    fill(s);
    weft_array *wanted = run(s, 0);
    int last = s->trace == where_greatest ? REFERENCE : FORMS - 1;
    for (int form = 1; form <= last; form++) {
        weft_array *found = run(s, form);
        if (!is_same(wanted, found))
            fail_msg("%s of %d columns, dtype %s, form %d: other bits", s->name, (int)s->columns,
                     weft_dtype_name(s->dtype), form);
        weft_array_release(found);
    }
    weft_array_release(wanted);
}

static void test_lengths(void **state)
{
    (void)state;
    static const sample samples[] = {
        {"sum", sum, WEFT_F32, 0, false},
        {"cumulative sum", sums_so_far, WEFT_F32, 0, false},
        {"sum", sum, WEFT_F64, 0, true},
        {"cumulative sum from behind", sums_from_behind, WEFT_F64, 0, false},
        {"argmax", where_greatest, WEFT_F32, 0, true},
    };
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        for (int64_t columns = 1; columns <= MOST_ROW; columns += columns < 12 ? 1 : 5) {
            sample s = samples[i];
            s.columns = columns;
            check(&s);
        }
}

static void test_operations(void **state)
{
    (void)state;
    static const sample samples[] = {
        {"sum", sum, WEFT_F32, 6, true},
        {"sum", sum, WEFT_I32, 6, false},
        {"sum", sum, WEFT_I64, 3, false},
        {"product", product, WEFT_F32, 7, true},
        {"product", product, WEFT_I64, 5, false},
        {"maximum", greatest, WEFT_F32, 5, true},
        {"maximum", greatest, WEFT_F64, 9, true},
        {"maximum", greatest, WEFT_I32, 3, false},
        {"argmax", where_greatest, WEFT_F64, 5, true},
        {"argmax", where_greatest, WEFT_I64, 6, false},
        {"argmax", where_greatest, WEFT_F32, 100, true},
        {"argmax", where_greatest, WEFT_F64, 71, true},
        {"cumulative minimum", least_so_far, WEFT_F32, 8, true},
        {"cumulative minimum", least_so_far, WEFT_F64, 5, true},
        {"cumulative minimum", least_so_far, WEFT_I32, 3, false},
        {"cumulative sum", sums_so_far, WEFT_I64, 7, false},
        {"cumulative sum", sums_so_far, WEFT_F32, 47, false},
        {"cumulative sum", sums_so_far, WEFT_I32, 100, false},
        {"cumulative sum from behind", sums_from_behind, WEFT_F32, 64, false},
        {"cumulative minimum", least_so_far, WEFT_F32, 100, true},
        {"cumulative minimum", least_so_far, WEFT_F64, 71, true},
        {"products before", products_before, WEFT_F32, 48, true},
        {"products before", products_before, WEFT_F64, 17, true},
        {"products before", products_before, WEFT_I32, 33, false},
        {"recurrence", recurrence, WEFT_F32, 50, false},
        {"recurrence", recurrence, WEFT_F64, 20, false},
        {"cumulative sum of exponentials", sums_of_exponentials, WEFT_F32, 40, false},
        {"cumulative sum of hyperbolic tangents", sums_of_tangents, WEFT_F32, 39, false},
        {"cumulative sum of hyperbolic tangents", sums_of_tangents, WEFT_F64, 66, true},
        {"cumulative maximum of powers", greatest_power, WEFT_F32, 50, true},
        {"cumulative maximum of powers", greatest_power, WEFT_F64, 21, true},
        {"norm", norm, WEFT_F32, 3, false},
        {"norm", norm, WEFT_F32, 8, false},
        {"norm", norm, WEFT_F64, 5, false},
        {"softmax", softmax, WEFT_F32, 2, true},
        {"softmax", softmax, WEFT_F32, 3, false},
        {"softmax", softmax, WEFT_F32, 10, false},
        {"softmax", softmax, WEFT_F32, 17, false},
        {"softmax", softmax, WEFT_F64, 4, false},
        {"softmax", softmax, WEFT_F32, 58, true},
        {"norm", norm, WEFT_F32, 60, false},
        {"sum", sum, WEFT_F32, 93, true},
        {"product", product, WEFT_F64, 46, false},
        {"maximum", greatest, WEFT_F64, 31, true},
        {"argmax", where_greatest, WEFT_F32, 61, true},
        {"products of rows", products_of_rows, WEFT_F32, 6, false},
        {"products of rows", products_of_rows, WEFT_F64, 16, false},
    };
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) check(&samples[i]);
}

/* How many steps a program of the first `rows` rows has; its result is at *out_result. */
static size_t run_rows(weft_executor *executor, weft_tensor (*trace)(weft_tensor x), int64_t rows, int64_t columns,
                       weft_array **out_result)
{
    weft_graph *graph;
    weft_program *program;
    weft_array *x;
    weft_report report = {0};
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor result = trace(weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(rows, columns)));
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(result), NULL, &program));
    weft_graph_destroy(graph);
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 2, (const int64_t[]){rows, columns}, NULL, numbers, NULL, NULL, &x));
    *out_result = NULL;
    weft_run run = {.input_count = 1, .inputs = &x, .output_count = 1, .outputs = out_result, .report = &report};
    weft_test_ok(weft_executor_run(executor, program, &run));
    weft_array_release(x);
    weft_program_release(program);
    return report.steps;
}

/* Columns so long that they are added up in parts, whose sums lie apart. */
static void test_long_columns(void **state)
{
    (void)state;
    weft_array *wanted, *found;
    float *x = (float *)numbers;
    for (int64_t i = 0; i < (int64_t)LONG_COLUMN * FEW; i++) x[i] = (float)(i * 7919 % 1009) / 300 - 1.5f;
    run_rows(narrow, sums_of_columns, LONG_COLUMN, FEW, &wanted);
    run_rows(wide, sums_of_columns, LONG_COLUMN, FEW, &found);
    assert_true(is_same(wanted, found));
    weft_array_release(wanted);
    weft_array_release(found);
}

/* A function of rows that do not fill lanes is computed before they are scanned in order; one of rows with lanes of
 * their own is not. */
static void test_few_rows(void **state)
{
    (void)state;
    weft_array *many, *few;
    fill(&(sample){.dtype = WEFT_F32, .columns = LONGEST});
    assert_int_equal(run_rows(wide, recurrence_of_tangents, ROWS, LONGEST, &many), 1);
    assert_int_equal(run_rows(wide, recurrence_of_tangents, 2, LONGEST, &few), 2);
    assert_memory_equal(weft_array_data(few), weft_array_data(many), 2 * LONGEST * sizeof(float));
    weft_array_release(few);
    assert_int_equal(run_rows(wide, sums_of_tangents, 2, LONGEST, &few), 1);
    weft_array_release(few);
    weft_array_release(many);
}

static void test_turned(void **state)
{
    (void)state;
    static const sample samples[] = {
        {"sum", sum, WEFT_F32, 0, false, true},
        {"sum", sum, WEFT_F64, 0, true, true},
        {"sum", sum, WEFT_I64, 0, false, true},
        {"product", product, WEFT_F32, 0, true, true},
        {"maximum", greatest, WEFT_F32, 0, true, true},
        {"argmax", where_greatest, WEFT_F32, 0, true, true},
        {"norm", norm, WEFT_F32, 0, false, true},
        {"softmax", softmax, WEFT_F32, 0, false, true},
        {"argmax", where_greatest, WEFT_I64, 0, false, true},
    };
    static const int64_t columns[] = {2, 7, 25, 40, 64, 100};
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
            sample s = samples[i];
            s.columns = columns[k];
            check(&s);
        }
}

/* Four of them, two, or one. */
static void test_side_by_side(void **state)
{
    (void)state;
    static const sample samples[] = {
        {"softmax", softmax, WEFT_F32, 33, true, .rows = 64},
        {"softmax", softmax, WEFT_F32, 197, false, .rows = 68},
        {"softmax", softmax, WEFT_F32, 512, true, .rows = 66},
        {"softmax", softmax, WEFT_F64, 130, true, .rows = 72},
        {"log_softmax", log_softmax, WEFT_F32, 70, false, .rows = 64},
        {"norm", norm, WEFT_F32, 40, false, .rows = 100},
        {"norm", norm, WEFT_F64, 257, false, .rows = 66},
        {"variance", variance, WEFT_F32, 1001, false, .rows = 64},
        {"maximum", greatest, WEFT_F32, 3000, true, .rows = 66},
        {"maximum", greatest, WEFT_F64, 41, true, .rows = 65},
        {"argmax", where_greatest, WEFT_F32, 100, true, .rows = 68},
        {"argmax", where_greatest, WEFT_F64, 49, true, .rows = 74},
        {"products of rows", products_of_rows, WEFT_F32, 48, true, .rows = 64},
    };
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) check(&samples[i]);
}

/* Any number of rows, which run side by side: the last ones may be one. */
static void test_any_number(void **state)
{
    (void)state;
    static const sample samples[] = {
        {"softmax", softmax, WEFT_F32, 33, true},
        {"softmax", softmax, WEFT_F32, 197, false},
        {"log_softmax", log_softmax, WEFT_F32, 70, false},
        {"norm", norm, WEFT_F32, 256, false},
        {"norm", norm, WEFT_F64, 100, false},
        {"variance", variance, WEFT_F32, 130, false},
    };
    static const int64_t rows[] = {1, 3, 66};
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
            sample s = samples[i];
            s.rows = rows[k];
            fill(&s);
            weft_array *wanted = run(&s, 0), *apart = run(&s, 2), *found = run(&s, IN_PLACE);
            assert_true(is_same(wanted, apart) && is_same(wanted, found));
            assert_true((weft_array_data(found) == numbers) == (s.trace != variance));
            weft_array_release(wanted);
            weft_array_release(apart);
            weft_array_release(found);
        }
}

/* Lanes along rows of any length: shorter than a vector, or so long that some are left after a round. */
static void test_along(void **state)
{
    (void)state;
    static const sample samples[] = {
        {"scaled rows", scaled_rows, WEFT_F32, 0, false},
        {"scaled rows", scaled_rows, WEFT_I64, 0, false},
        {"lower triangle", lower_triangle, WEFT_F32, 0, true},
        {"joined rows", joined_rows, WEFT_F32, 0, false},
        {"joined rows", joined_rows, WEFT_F64, 0, true},
        {"transposed", transposed, WEFT_F32, 0, false},
        {"transposed", transposed, WEFT_I64, 0, false},
        {"every third", every_third, WEFT_F32, 0, false},
        {"every third", every_third, WEFT_F64, 0, false},
        {"pooled", pooled, WEFT_F32, 0, false},
        {"pooled", pooled, WEFT_F64, 0, true},
        {"averaged", averaged, WEFT_F32, 0, false},
        {"averaged", averaged, WEFT_F64, 0, false},
    };
    static const int64_t columns[] = {1, 3, 8, 9, 16, 17, 33, 65, 100};
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
            sample s = samples[i];
            s.columns = columns[k];
            check(&s);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lengths),    cmocka_unit_test(test_operations),
                                       cmocka_unit_test(test_few_rows),   cmocka_unit_test(test_long_columns),
                                       cmocka_unit_test(test_turned),     cmocka_unit_test(test_side_by_side),
                                       cmocka_unit_test(test_any_number), cmocka_unit_test(test_along)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
