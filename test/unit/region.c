/* SPDX-License-Identifier: Apache-2.0 */
/* Loops and branches traced from C: what bodies may use, how they run, what goes wrong in them. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <weft/einsum.h>
#include <weft/weft.h>
#include "test/support.h"
#include "test/traced.h"

#define N(value) weft_extent_of(value)

static const char *runtime; /* NULL: the default */

typedef struct fixture {
    weft_graph *graph;
    weft_executor *executor;
} fixture;

static fixture f;

static int set_up(void **state)
{
    (void)state;
    weft_test_ok(weft_graph_create(NULL, &f.graph));
    weft_test_ok(weft_graph_register(f.graph, weft_einsum_extension()));
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 2}, &f.executor));
    weft_test_ok(weft_executor_register_extension(f.executor, weft_einsum_extension()));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    weft_executor_destroy(f.executor);
    weft_graph_destroy(f.graph);
    return 0;
}

static weft_array *array_of(weft_dtype dtype, size_t rank, const int64_t *shape, const void *data)
{
    weft_array *array;
    weft_test_ok(weft_array_create(NULL, dtype, rank, shape, &array));
    memcpy(weft_array_data(array), data, (size_t)weft_array_count(array) * weft_dtype_size(dtype));
    return array;
}

/* Runs a program of one output and no inputs with `k` as the value of symbol k, if it has one. */
static weft_array *run_tensor(weft_tensor output, int64_t k)
{
    weft_program *program;
    weft_array *result = NULL;
    weft_binding binding = {"k", k};
    weft_test_ok(weft_compile(f.graph, WEFT_TENSORS(output), NULL, &program));
    weft_test_ok(weft_executor_run(f.executor, program,
                                   &(weft_run){.runtime = runtime,
                                               .output_count = 1,
                                               .outputs = &result,
                                               .extent_count = k < 0 ? 0 : 1,
                                               .extents = &binding}));
    weft_program_release(program);
    return result;
}

static void expect_i64(weft_tensor output, int64_t k, int64_t wanted)
{
    weft_array *result = run_tensor(output, k);
    assert_int_equal(*(int64_t *)weft_array_data(result), wanted);
    weft_array_release(result);
}

static weft_tensor number(int64_t value)
{
    return weft_constant(f.graph, WEFT_I64, WEFT_INTS(), &value);
}

static void expect_error(weft_tensor tensor, weft_code code, const char *message)
{
    weft_test_refused(f.graph, tensor, code, NULL, message);
}

/* ---- numbers ---- */

static void add_both(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context, (void)index;
    out_next[0] = carried[1];
    out_next[1] = weft_add(carried[0], carried[1]);
}

static void fibonacci(void **state)
{
    (void)state;
    weft_extent k = weft_symbol(f.graph, "k", 0, 100);
    weft_tensor both[2];
    weft_tensor first = weft_fold(k, WEFT_TENSORS(number(0), number(1)), add_both, NULL, both);
    assert_true(first.node == both[0].node && first.output == 0 && both[1].output == 1);
    expect_i64(first, 0, 0);
    expect_i64(both[1], 0, 1);
    expect_i64(first, 10, 55);
    expect_i64(both[1], 90, 4660046610375530309);
}

static weft_tensor is_not_zero(void *context, const weft_tensor *carried)
{
    (void)context;
    return weft_ne(carried[1], number(0));
}

static void take_remainder(void *context, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context;
    out_next[0] = carried[1];
    out_next[1] = weft_sub(carried[0], weft_mul(weft_div(carried[0], carried[1]), carried[1]));
}

static weft_tensor gcd(weft_tensor a, weft_tensor b)
{
    return weft_while(WEFT_TENSORS(a, b), is_not_zero, take_remainder, NULL, NULL);
}

static void euclid(void **state)
{
    (void)state;
    expect_i64(gcd(number(1071), number(462)), -1, 21);
    expect_i64(gcd(number(7), number(0)), -1, 7);
    expect_i64(gcd(number(832040), number(514229)), -1, 1);
}

/* What bodies reach for: tensors of the program and of the body around. */
typedef struct scene {
    weft_tensor x, y, outer;
} scene;

static void add_products(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const scene *s = context;
    out_next[0] = weft_add(carried[0], weft_add(weft_mul(s->outer, number(10)), weft_add(index, s->x)));
}

static void add_rows(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    scene *s = context;
    s->outer = index;
    out_next[0] = weft_fold(N(3), WEFT_TENSORS(carried[0]), add_products, s, NULL);
}

static void nested_bodies_see_what_is_around(void **state)
{
    (void)state;
    scene s = {.x = number(100)};
    /* sum over i < 4, j < 3 of 10 i + j + 100 */
    expect_i64(weft_fold(N(4), WEFT_TENSORS(number(0)), add_rows, &s, NULL), -1, 3 * 60 + 4 * 3 + 12 * 100);
}

static void divide(void *context, weft_tensor *out_results)
{
    const scene *s = context;
    out_results[0] = weft_div(s->x, s->y);
}

static void take_first(void *context, weft_tensor *out_results)
{
    const scene *s = context;
    out_results[0] = s->x;
}

static void cond_runs_one_branch(void **state)
{
    (void)state;
    for (int64_t divisor = 0; divisor < 3; divisor++) {
        scene s = {.x = number(10), .y = number(divisor)};
        weft_tensor safe = weft_ne(s.y, number(0));
        expect_i64(weft_cond(safe, 1, divide, take_first, &s, NULL), -1, divisor == 0 ? 10 : 10 / divisor);
    }
}

static void collatz_step(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next);

static void halve(void *context, weft_tensor *out_results)
{
    out_results[0] = weft_div(((scene *)context)->x, number(2));
}

static void triple(void *context, weft_tensor *out_results)
{
    out_results[0] = weft_add(weft_mul(((scene *)context)->x, number(3)), number(1));
}

static void collatz_step(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    scene s = {.x = carried[0]};
    weft_tensor is_even = weft_eq(weft_and(carried[0], number(1)), number(0));
    (void)context, (void)index;
    out_next[0] = weft_cond(is_even, 1, halve, triple, &s, NULL);
}

static void cond_in_a_fold(void **state)
{
    (void)state;
    weft_extent k = weft_symbol(f.graph, "k", 0, 1000);
    weft_tensor last = weft_fold(k, WEFT_TENSORS(number(27)), collatz_step, NULL, NULL);
    expect_i64(last, 0, 27);
    expect_i64(last, 77, 9232);
    expect_i64(last, 111, 1);
}

static void improve(void *context, const weft_tensor *carried, weft_tensor *out_next)
{
    const scene *s = context;
    out_next[0] = weft_mul(weft_add(carried[0], weft_div(s->x, carried[0])), weft_scalar(f.graph, WEFT_F64, 0.5));
    out_next[1] = weft_abs(weft_sub(out_next[0], carried[0]));
}

static weft_tensor moved_far(void *context, const weft_tensor *carried)
{
    const scene *s = context;
    return weft_lt(s->y, carried[1]);
}

static void newton(void **state)
{
    (void)state;
    scene s = {.x = weft_scalar(f.graph, WEFT_F64, 2), .y = weft_scalar(f.graph, WEFT_F64, 1e-14)};
    weft_tensor root = weft_while(WEFT_TENSORS(s.x, weft_scalar(f.graph, WEFT_F64, 1)), moved_far, improve, &s, NULL);
    weft_array *result = run_tensor(root, -1);
    assert_true(fabs(*(double *)weft_array_data(result) - sqrt(2)) < 1e-15);
    weft_array_release(result);
}

static void multiply(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const scene *s = context;
    (void)index;
    out_next[0] = weft_matmul(s->x, carried[0]);
}

/* Matrices of two sizes: for loops, and for the library. Powers of a cyclic shift move the rows of the identity. */
static void matrix_power(void **state)
{
    (void)state;
    for (int64_t n = 4; n <= 64; n *= 16) {
        static float shift[64 * 64];
        memset(shift, 0, sizeof shift);
        for (int64_t i = 0; i < n; i++) shift[i * n + (i + 1) % n] = 1;
        scene s = {.x = weft_constant(f.graph, WEFT_F32, WEFT_INTS(n, n), shift)};
        weft_extent k = weft_symbol(f.graph, "k", 0, 100);
        weft_array *result = run_tensor(weft_fold(k, WEFT_TENSORS(s.x), multiply, &s, NULL), n - 2);
        const float *data = weft_array_data(result);
        for (int64_t i = 0; i < n * n; i++) assert_true(data[i] == (i % n == (i / n + n - 1) % n ? 1.0F : 0.0F));
        weft_array_release(result);
    }
}

/* An extension's own step inside, whose views move from one iteration to the next. */
static void contract(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const scene *s = context;
    (void)index;
    out_next[0] = weft_einsum("ij,jk,kl->il", WEFT_TENSORS(s->x, carried[0], s->y), NULL);
}

static void extension_step_in_a_fold(void **state)
{
    (void)state;
    static const double twice[] = {2, 0, 0, 2}, swap[] = {0, 1, 1, 0}, start[] = {1, 2, 3, 4};
    static const int64_t shape[] = {2, 2};
    weft_extent n = weft_symbol(f.graph, "n", 1, 100);
    scene s = {.x = weft_input(f.graph, "x", WEFT_F64, WEFT_SHAPE(n, n)),
               .y = weft_input(f.graph, "y", WEFT_F64, WEFT_SHAPE(n, n))};
    weft_tensor z = weft_input(f.graph, "z", WEFT_F64, WEFT_SHAPE(n, n));
    weft_tensor folded = weft_fold(N(5), WEFT_TENSORS(z), contract, &s, NULL);
    weft_program *program;
    weft_array *result = NULL, *const inputs[] = {array_of(WEFT_F64, 2, shape, twice),
                                                  array_of(WEFT_F64, 2, shape, swap),
                                                  array_of(WEFT_F64, 2, shape, start)};
    weft_test_ok(weft_compile(f.graph, WEFT_TENSORS(folded), NULL, &program));
    weft_run run = {.runtime = runtime, .input_count = 3, .inputs = inputs, .output_count = 1, .outputs = &result};
    weft_test_ok(weft_executor_run(f.executor, program, &run));
    for (int i = 0; i < 4; i++) assert_true(((double *)weft_array_data(result))[i] == 32 * start[i ^ 1]);
    weft_array_release(result);
    for (int i = 0; i < 3; i++) weft_array_release(inputs[i]);
    weft_program_release(program);
}

/* ---- errors of tracing ---- */

static weft_tensor leaked;

static void leak(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context;
    leaked = index;
    out_next[0] = carried[0];
}

static void forget(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context, (void)index, (void)carried, (void)out_next;
}

static void change_dtype(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context, (void)index;
    out_next[0] = weft_cast(carried[0], WEFT_F32);
}

static int place_of_mistake;

static void mistake(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context, (void)index;
    place_of_mistake = __LINE__ + 1;
    out_next[0] = weft_reduce_sum(carried[0], WEFT_INTS(3), false);
}

static void sum_up(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context, (void)index;
    out_next[0] = weft_reduce_sum(carried[0], WEFT_INTS(), false);
    out_next[1] = leaked;
}

static weft_tensor number_is_true(void *context, const weft_tensor *carried)
{
    (void)context;
    return carried[0];
}

static void leave(void *context, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context;
    out_next[0] = carried[0];
}

static void no_branch(void *context, weft_tensor *out_results)
{
    (void)context, (void)out_results;
}

static void mistakes_are_named(void **state)
{
    static const char gone[] = "was made in the body of a region and is known only there";
    char sentence[160];
    (void)state;
    weft_tensor one = number(1);
    assert_true(weft_tensor_is_valid(weft_fold(N(2), WEFT_TENSORS(one), leak, NULL, NULL)));
    snprintf(sentence, sizeof sentence, "add: operand 1 %s", gone);
    expect_error(weft_add(one, leaked), WEFT_INVALID_ARGUMENT, sentence);
    snprintf(sentence, sizeof sentence, "neg: operand 0 %s", gone);
    expect_error(weft_neg(leaked), WEFT_INVALID_ARGUMENT, sentence);
    snprintf(sentence, sizeof sentence, "fold: result 1 of a body %s", gone);
    expect_error(weft_fold(N(2), WEFT_TENSORS(one, one), sum_up, NULL, NULL), WEFT_INVALID_ARGUMENT, sentence);
    expect_error(weft_fold(N(2), WEFT_TENSORS(one), forget, NULL, NULL), WEFT_INVALID_ARGUMENT,
                 "fold: result 0 of a body is not a tensor of a graph");
    expect_error(weft_fold(N(2), WEFT_TENSORS(one), change_dtype, NULL, NULL), WEFT_DTYPE_MISMATCH,
                 "fold: result 0 of body has type f32[] but needs i64[]");
    expect_error(weft_fold(N(-1), WEFT_TENSORS(one), leak, NULL, NULL), WEFT_OUT_OF_RANGE,
                 "fold: trips is -1, below 0");
    expect_error(weft_while(WEFT_TENSORS(one), number_is_true, leave, NULL, NULL), WEFT_DTYPE_MISMATCH,
                 "while: result 0 of condition has type i64[] but needs bool[]");
    expect_error(weft_cond(one, 1, no_branch, no_branch, NULL, NULL), WEFT_INVALID_ARGUMENT,
                 "cond: result 0 of a body is not a tensor of a graph");
    expect_error(weft_cond(weft_eq(one, one), 0, no_branch, no_branch, NULL, NULL), WEFT_INVALID_ARGUMENT,
                 "cond: there are no results, but at least one is needed");
    weft_tensor none = weft_fold(N(2), (weft_tensors){0, NULL}, forget, NULL, NULL);
    assert_false(weft_tensor_is_valid(none));
}

static void functions_must_be_given(void **state)
{
    (void)state;
    const weft_tensor one = number(1), is_so = weft_scalar(f.graph, WEFT_BOOL, 1);
    weft_tensor results[1];
    expect_error(weft_fold(N(2), WEFT_TENSORS(one), NULL, NULL, results), WEFT_INVALID_ARGUMENT,
                 "fold: the body is NULL");
    assert_false(weft_tensor_is_valid(results[0]));
    expect_error(weft_while(WEFT_TENSORS(one), NULL, leave, NULL, NULL), WEFT_INVALID_ARGUMENT,
                 "while: the condition is NULL");
    expect_error(weft_while(WEFT_TENSORS(one), number_is_true, NULL, NULL, NULL), WEFT_INVALID_ARGUMENT,
                 "while: the body is NULL");
    expect_error(weft_cond(is_so, 1, NULL, no_branch, NULL, NULL), WEFT_INVALID_ARGUMENT,
                 "cond: the branch then is NULL");
    expect_error(weft_cond(is_so, 1, no_branch, NULL, NULL, NULL), WEFT_INVALID_ARGUMENT,
                 "cond: the branch otherwise is NULL");
}

/* The place is the one in the body; results are failed tensors, and what follows fails silently. */
static void errors_in_a_body_stick(void **state)
{
    char place[64];
    (void)state;
    weft_tensor results[1];
    weft_tensor row = weft_full(f.graph, WEFT_I64, 1, WEFT_SHAPE(3));
    weft_tensor failed = weft_fold(N(2), WEFT_TENSORS(row), mistake, NULL, results);
    assert_false(weft_tensor_is_valid(results[0]));
    assert_false(weft_tensor_is_valid(weft_neg(failed)));
    snprintf(place, sizeof place, "region.c:%d", place_of_mistake);
    assert_non_null(strstr(weft_status_where(weft_graph_error(f.graph)), place));
    expect_error(failed, WEFT_OUT_OF_RANGE, "reduce_sum: axis 3 is out of range for rank 1");
    expect_i64(weft_neg(number(3)), -1, -3);
}

/* ---- nesting ---- */

typedef enum innermost { FOLD, WHILE, COND, SUM } innermost;

typedef struct nesting {
    int folds; /* still to be traced */
    innermost last;
    int line; /* of the last */
    bool called;
} nesting;

static weft_tensor trace_nested(nesting *n, weft_tensor x);

static void nest(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)index;
    out_next[0] = trace_nested(context, carried[0]);
}

static void call_body(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)index;
    ((nesting *)context)->called = true;
    out_next[0] = carried[0];
}

static weft_tensor call_condition(void *context, const weft_tensor *carried)
{
    ((nesting *)context)->called = true;
    return weft_ne(carried[0], carried[0]);
}

static void call_while(void *context, const weft_tensor *carried, weft_tensor *out_next)
{
    call_body(context, carried[0], carried, out_next);
}

static void call_branch(void *context, weft_tensor *out_results)
{
    ((nesting *)context)->called = true;
    out_results[0] = number(1);
}

static weft_tensor trace_last(nesting *n, weft_tensor x)
{
    weft_tensor is_so = weft_eq(x, x);
    n->line = __LINE__ + 1 + n->last;
    if (n->last == FOLD) return weft_fold(N(1), WEFT_TENSORS(x), call_body, n, NULL);
    if (n->last == WHILE) return weft_while(WEFT_TENSORS(x), call_condition, call_while, n, NULL);
    if (n->last == COND) return weft_cond(is_so, 1, call_branch, call_branch, n, NULL);
    return weft_add(x, x);
}

static weft_tensor trace_nested(nesting *n, weft_tensor x)
{
    if (n->folds-- == 0) return trace_last(n, x);
    return weft_fold(N(1), WEFT_TENSORS(x), nest, n, NULL);
}

/* Prints, parses and prints again. */
static void expect_same_text(weft_tensor output)
{
    char *text, *again;
    weft_module *module;
    weft_test_ok(weft_graph_print(WEFT_TENSORS(output), &text));
    weft_test_ok(weft_graph_parse("nested", text, strlen(text), NULL, 0, NULL, &module));
    weft_test_ok(weft_graph_print(module->outputs, &again));
    assert_string_equal(text, again);
    weft_text_destroy(text);
    weft_text_destroy(again);
    weft_module_destroy(module);
}

static void regions_nest_64_deep(void **state)
{
    static const char *const names[] = {"fold", "while", "cond"};
    (void)state;
    for (innermost last = FOLD; last <= COND; last++) {
        char sentence[64], place[32];
        expect_same_text(trace_nested(&(nesting){.folds = 63, .last = last}, number(3)));
        nesting n = {.folds = 64, .last = last};
        weft_tensor refused = trace_nested(&n, number(3));
        assert_false(n.called);
        snprintf(place, sizeof place, "region.c:%d", n.line);
        assert_non_null(strstr(weft_status_where(weft_graph_error(f.graph)), place));
        snprintf(sentence, sizeof sentence, "%s: regions nest more than 64 deep", names[last]);
        expect_error(refused, WEFT_UNSUPPORTED, sentence);
    }
    expect_i64(trace_nested(&(nesting){.folds = 64, .last = SUM}, number(3)), -1, 6);
}

static void slice_first(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const scene *s = context;
    (void)index, (void)carried;
    out_next[0] = weft_neg(s->y);
}

/* An extent of a result that is equal only for some values of the symbols. */
static void extents_of_results_are_guarded(void **state)
{
    static const int64_t three = 3, four = 4;
    static const float data[4] = {1, 2, 3, 4};
    (void)state;
    scene s = {.x = weft_input(f.graph, "x", WEFT_F32, WEFT_SHAPE(weft_symbol(f.graph, "n", 1, 9))),
               .y = weft_input(f.graph, "y", WEFT_F32, WEFT_SHAPE(weft_symbol(f.graph, "m", 1, 9)))};
    weft_program *program;
    weft_tensor folded = weft_fold(N(2), WEFT_TENSORS(s.x), slice_first, &s, NULL);
    weft_test_ok(weft_compile(f.graph, WEFT_TENSORS(weft_add(folded, s.x)), NULL, &program));
    weft_array *x = array_of(WEFT_F32, 1, &three, data), *y = array_of(WEFT_F32, 1, &three, data);
    weft_array *z = array_of(WEFT_F32, 1, &four, data), *result = NULL;
    weft_run run = {.runtime = runtime, .input_count = 2, .output_count = 1, .outputs = &result};
    run.inputs = (weft_array *const[]){x, z};
    weft_test_fails(weft_executor_run(f.executor, program, &run), WEFT_SHAPE_MISMATCH,
                    "fold: axis 0 of result 0 of body has extent m but needs n");
    run.inputs = (weft_array *const[]){x, y};
    weft_test_ok(weft_executor_run(f.executor, program, &run));
    for (int i = 0; i < 3; i++) assert_true(((float *)weft_array_data(result))[i] == 0);
    weft_array_release(result);
    weft_array_release(x);
    weft_array_release(y);
    weft_array_release(z);
    weft_program_release(program);
}

/* What only larger extents allow: a part of x, sorted, a product of it, and guards of its own. */
static void use_part(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const scene *s = context;
    weft_extent n = weft_tensor_extent(s->x, 0), part = weft_extent_sub(n, N(5));
    (void)index;
    weft_require_at_most(f.graph, N(7), weft_extent_mul(n, n), "there are too few");
    weft_tensor x = weft_sort(weft_narrow(s->x, 0, N(5), part), 0, true), matrix = weft_outer(x, x);
    weft_tensor product = weft_einsum("ij,jk->ik", WEFT_TENSORS(matrix, matrix), NULL);
    weft_tensor sum = weft_reduce_sum(weft_at(product, 0), WEFT_INTS(0), false);
    out_next[0] = weft_add(carried[0], sum);
    out_next[1] = weft_narrow(carried[1], 0, N(0), weft_extent_max(n, N(6)));
}

static void use_part_deeper(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)index;
    weft_fold(weft_symbol(f.graph, "inner", 0, 9), (weft_tensors){2, carried}, use_part, context, out_next);
}

/* Runs with so many iterations; NULL or the error. */
static weft_status *run_part_of(weft_program *program, int64_t n, int64_t outer, int64_t inner, float *out_sum)
{
    static const float data[9] = {9, 8, 7, 6, 5, 4, 3, 2, 1};
    weft_array *x = array_of(WEFT_F32, 1, &n, data), *results[2] = {NULL};
    weft_binding bindings[] = {{"outer", outer}, {"inner", inner}};
    weft_status *status = weft_executor_run(f.executor, program,
                                            &(weft_run){.runtime = runtime,
                                                        .input_count = 1,
                                                        .inputs = &x,
                                                        .extent_count = 2,
                                                        .extents = bindings,
                                                        .output_count = 2,
                                                        .outputs = results});
    if (status == NULL) *out_sum = *(float *)weft_array_data(results[0]);
    if (status == NULL) assert_memory_equal(weft_array_data(results[1]), data, (size_t)n * sizeof *data);
    weft_array_release(results[0]);
    weft_array_release(results[1]);
    weft_array_release(x);
    return status;
}

static void check_parts(weft_program *program)
{
    float sum;
    weft_test_fails(run_part_of(program, 3, 1, 1, &sum), WEFT_SHAPE_MISMATCH, "region.c");
    weft_test_fails(run_part_of(program, 5, 2, 1, &sum), WEFT_SHAPE_MISMATCH, "region.c");
    for (int64_t n = 0; n <= 5; n++) {
        weft_test_ok(run_part_of(program, n, 0, 1, &sum));
        assert_true(sum == 0);
        weft_test_ok(run_part_of(program, n, 2, 0, &sum));
        assert_true(sum == 0);
    }
    weft_test_ok(run_part_of(program, 7, 2, 1, &sum));
    assert_true(sum == 2 * (16 * 16 + 12 * 12 + 16 * 12 + 12 * 9));
    weft_test_fails(run_part_of(program, 2, 1, 1, &sum), WEFT_SHAPE_MISMATCH, "");
    weft_test_ok(run_part_of(program, 2, 0, 0, &sum));
}

/* What a body needs of extents has to hold where the body runs; also after the program's text was read again. */
static void bodies_without_iterations_need_nothing(void **state)
{
    (void)state;
    scene s = {.x = weft_input(f.graph, "x", WEFT_F32, WEFT_SHAPE(weft_symbol(f.graph, "n", 0, 9)))};
    weft_tensor results[2], zero = weft_scalar(f.graph, WEFT_F32, 0);
    weft_program *program, *again;
    weft_fold(weft_symbol(f.graph, "outer", 0, 9), WEFT_TENSORS(zero, s.x), use_part_deeper, &s, results);
    weft_test_ok(weft_compile(f.graph, (weft_tensors){2, results}, NULL, &program));
    const char *text = weft_program_text(program);
    assert_non_null(strstr(text, " if min(outer, inner) \""));
    weft_module *module;
    weft_test_ok(weft_graph_parse("again", text, strlen(text), NULL, 0, NULL, &module));
    weft_test_ok(weft_compile(module->graph, module->outputs, NULL, &again));
    assert_string_equal(weft_program_text(again), text);
    check_parts(program);
    weft_program_release(program);
    weft_program_release(again);
    weft_module_destroy(module);
}

static weft_status *parse_with(const char *guard)
{
    char text[200];
    weft_module *module = NULL;
    snprintf(text, sizeof text,
             "weft 0.1\n%s\ngraph {\n  %%x = input() {name = \"x\", dtype = f32, shape = [2]} : f32[2]\n"
             "  return out0 = %%x\n}\n",
             guard);
    weft_status *status = weft_graph_parse("text", text, strlen(text), NULL, 0, NULL, &module);
    weft_module_destroy(module);
    return status;
}

/* As when a symbol's value takes its place in the text of a program. */
static void known_extents_of_no_iterations_need_not_fit(void **state)
{
    (void)state;
    weft_test_ok(parse_with("require 3 = 2 if 0 \"never asked\""));
    weft_test_fails(parse_with("require 3 = 2 if 1 \"are unlike\""), WEFT_SHAPE_MISMATCH, "are unlike");
    weft_test_fails(parse_with("require 3 <= 2 \"is larger\""), WEFT_OUT_OF_RANGE, "is larger");
}

static void mismatch_all(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const weft_tensor *x = context; /* [2, 3], [m, 5] with m below 2; four and three heads */
    (void)index;
    weft_tensor sum = weft_reduce_sum(weft_mul(x[0], x[1]), WEFT_INTS(0, 1), false);
    weft_tensor product = weft_reduce_sum(weft_matmul(x[0], x[1]), WEFT_INTS(0, 1), false);
    weft_tensor dot = weft_tensordot(x[0], x[1], WEFT_INTS(0, 1), WEFT_INTS(0, 1));
    weft_tensor joined = weft_reduce_sum(weft_concat(WEFT_TENSORS(x[0], x[1]), 0), WEFT_INTS(0, 1), false);
    weft_tensor line = weft_reduce_sum(weft_squeeze(x[0], 0), WEFT_INTS(0), false);
    weft_norm_options scaled = {.scale = weft_reduce_sum(x[1], WEFT_INTS(0), false)};
    weft_tensor norm = weft_reduce_sum(weft_layer_norm(x[0], 1, &scaled), WEFT_INTS(0, 1), false);
    weft_tensor heads = weft_attention(x[2], x[3], x[3], NULL);
    weft_tensor parts[] = {sum, product, dot, joined, line, norm, weft_reduce_sum(heads, WEFT_INTS(0, 1, 2), false)};
    out_next[0] = carried[0];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) out_next[0] = weft_add(out_next[0], parts[i]);
}

/* Passes too trace such a body again. */
static void operands_of_no_iterations_need_not_fit(void **state)
{
    (void)state;
    weft_extent m = weft_symbol(f.graph, "m", 0, 1);
    weft_tensor x[] = {weft_input(f.graph, "x", WEFT_F32, WEFT_SHAPE(2, 3)),
                       weft_input(f.graph, "y", WEFT_F32, WEFT_SHAPE(m, 5)),
                       weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(4, 2, 2)),
                       weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(3, 2, 2))},
                result;
    weft_program *program;
    weft_fold(weft_extent_of(0), WEFT_TENSORS(weft_scalar(f.graph, WEFT_F32, 7)), mismatch_all, x, &result);
    weft_test_ok(weft_compile(f.graph, WEFT_TENSORS(result), NULL, &program));
    static const float data[6] = {1, 2, 3, 4, 5, 6};
    weft_array *a = array_of(WEFT_F32, 2, (const int64_t[]){2, 3}, data),
               *b = array_of(WEFT_F32, 2, (const int64_t[]){1, 5}, data);
    weft_array *found = NULL;
    weft_run run = {
        .runtime = runtime, .named_inputs = WEFT_NAMED({"x", a}, {"y", b}), .output_count = 1, .outputs = &found};
    weft_test_ok(weft_executor_run(f.executor, program, &run));
    assert_true(*(const float *)weft_array_data(found) == 7);
    weft_array_release(found);
    weft_array_release(a);
    weft_array_release(b);
    weft_program_release(program);
    weft_fold(weft_extent_of(1), WEFT_TENSORS(weft_scalar(f.graph, WEFT_F32, 7)), mismatch_all, x, &result);
    expect_error(result, WEFT_SHAPE_MISMATCH, "mul: axis 0 of operand 0 has extent 2 but axis 0 of operand 1 has m");
}

/* ---- runs that end early ---- */

static weft_tensor is_positive(void *context, const weft_tensor *carried)
{
    (void)context;
    return weft_lt(number(0), carried[0]);
}

static void count_in_circles(void *context, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context;
    out_next[0] = weft_max(weft_and(weft_add(carried[0], number(1)), number(1023)), number(1));
}

static volatile bool cancelled;

static void *cancel_soon(void *argument)
{
    nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
    cancelled = true;
    return argument;
}

static void endless_loops_can_be_cancelled(void **state)
{
    (void)state;
    weft_program *program;
    pthread_t thread;
    weft_array *result = NULL;
    weft_tensor endless = weft_while(WEFT_TENSORS(number(1)), is_positive, count_in_circles, NULL, NULL);
    weft_test_ok(weft_compile(f.graph, WEFT_TENSORS(endless), NULL, &program));
    weft_run run = {.runtime = runtime, .output_count = 1, .outputs = &result, .cancelled = &cancelled};
    cancelled = false;
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, NULL), 0);
    weft_test_fails(weft_executor_run(f.executor, program, &run), WEFT_CANCELLED, "the run was cancelled before");
    pthread_join(thread, NULL);
    assert_null(result);
    weft_program_release(program);
}

static weft_tensor same(void *context, const weft_tensor *carried)
{
    (void)context;
    return carried[0];
}

static void keep(void *context, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context;
    out_next[0] = carried[0];
}

/* Their regions have inputs alone, which no sentence names. */
static void so_can_those_that_do_nothing(void **state)
{
    (void)state;
    weft_program *program;
    pthread_t thread;
    weft_array *result = NULL;
    weft_tensor yes = weft_scalar(f.graph, WEFT_BOOL, 1);
    weft_test_ok(
        weft_compile(f.graph, WEFT_TENSORS(weft_while(WEFT_TENSORS(yes), same, keep, NULL, NULL)), NULL, &program));
    weft_run run = {.runtime = runtime, .output_count = 1, .outputs = &result, .cancelled = &cancelled};
    cancelled = false;
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, NULL), 0);
    weft_status *status = weft_executor_run(f.executor, program, &run);
    pthread_join(thread, NULL);
    assert_null(strstr(weft_status_message(status), "input"));
    assert_string_equal(weft_status_where(status), "weft_executor_run");
    weft_test_fails(status, WEFT_CANCELLED, "the run was cancelled before");
    weft_program_release(program);
}

/* ---- out of memory ---- */

typedef struct layer {
    weft_tensor w;
} layer;

static void apply_layer(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const layer *l = context;
    scene s = {.x = weft_matmul(carried[0], l->w), .y = weft_cast(index, WEFT_F32)};
    weft_tensor first = weft_eq(index, weft_scalar(index.graph, WEFT_I64, 0));
    out_next[0] = weft_cond(first, 1, divide, take_first, &s, NULL);
}

static weft_status *compile_layers(const weft_allocator *allocator, weft_program **out_program)
{
    weft_graph *graph;
    WEFT_TRY(weft_graph_create(&(weft_graph_options){.allocator = allocator}, &graph));
    weft_extent n = weft_symbol(graph, "n", 1, 64);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(n, 3));
    layer l = {weft_input(graph, "w", WEFT_F32, WEFT_SHAPE(3, 3))};
    weft_tensor y = weft_fold(N(3), WEFT_TENSORS(x), apply_layer, &l, NULL);
    weft_status *status = weft_compile(graph, WEFT_TENSORS(y), NULL, out_program);
    weft_graph_destroy(graph);
    return status;
}

static weft_status *run_layers(const weft_allocator *allocator, weft_program *program, weft_array *const *inputs)
{
    weft_executor *executor;
    weft_array *y = NULL;
    WEFT_TRY(weft_executor_create_standard(&(weft_executor_options){.allocator = allocator, .threads = 1}, &executor));
    weft_status *status = weft_executor_run(
        executor, program,
        &(weft_run){.runtime = runtime, .input_count = 2, .inputs = inputs, .output_count = 1, .outputs = &y});
    weft_array_release(y);
    weft_executor_destroy(executor);
    return status;
}

static weft_status *whole_way(const weft_allocator *allocator, void *context)
{
    weft_program *program;
    WEFT_TRY(compile_layers(allocator, &program));
    weft_status *status = run_layers(allocator, program, context);
    weft_program_release(program);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    static const int64_t x_shape[] = {2, 3}, w_shape[] = {3, 3};
    static const float data[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    (void)state;
    weft_array *inputs[] = {array_of(WEFT_F32, 2, x_shape, data), array_of(WEFT_F32, 2, w_shape, data)};
    assert_true(weft_test_fail_each(whole_way, inputs) > 100);
    weft_array_release(inputs[0]);
    weft_array_release(inputs[1]);
}

#define IN_FIXTURE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        IN_FIXTURE(fibonacci),
        IN_FIXTURE(euclid),
        IN_FIXTURE(nested_bodies_see_what_is_around),
        IN_FIXTURE(cond_runs_one_branch),
        IN_FIXTURE(cond_in_a_fold),
        IN_FIXTURE(newton),
        IN_FIXTURE(matrix_power),
        IN_FIXTURE(extension_step_in_a_fold),
        IN_FIXTURE(mistakes_are_named),
        IN_FIXTURE(functions_must_be_given),
        IN_FIXTURE(errors_in_a_body_stick),
        IN_FIXTURE(regions_nest_64_deep),
        IN_FIXTURE(extents_of_results_are_guarded),
        IN_FIXTURE(bodies_without_iterations_need_nothing),
        IN_FIXTURE(known_extents_of_no_iterations_need_not_fit),
        IN_FIXTURE(operands_of_no_iterations_need_not_fit),
        IN_FIXTURE(endless_loops_can_be_cancelled),
        IN_FIXTURE(so_can_those_that_do_nothing),
        cmocka_unit_test(every_allocation_may_fail),
    };
    runtime = argc > 1 ? argv[1] : NULL;
    return cmocka_run_group_tests_name("region", tests, NULL, NULL);
}
