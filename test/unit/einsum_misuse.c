/* SPDX-License-Identifier: Apache-2.0 */
/* What callers of einsum can get wrong: every function says what it was, and where; nothing leaks. */
#include "test/einsum/einsum.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

#define COUNT_OF(items) (sizeof(items) / sizeof *(items))
#define INVALID WEFT_INVALID_ARGUMENT

enum { DEPTH = 200000 };

static const int64_t two_by_two[] = {2, 2};
static const weft_ints square = {2, two_by_two};

static void expect(weft_status *status, weft_code code, const char *where, const char *part)
{
    assert_non_null(status);
    if (strstr(weft_status_where(status), where) == NULL)
        fail_msg("'%s' is said to be of '%s', not of '%s'", weft_status_message(status), weft_status_where(status),
                 where);
    weft_test_fails(status, code, part);
}

/* ---- plans ---- */

static void plans_refuse(const char *text, size_t count, const weft_ints *shapes, const weft_einsum_options *options,
                         weft_code code, const char *part)
{
    weft_einsum_plan *plan = NULL;
    expect(weft_einsum_plan_create(NULL, text, count, shapes, options, &plan), code, "weft_einsum_plan_create", part);
    assert_null(plan);
}

static void plans_refuse_null(void **state)
{
    weft_einsum_plan *plan = NULL;
    const weft_ints shapes[] = {square, {3, NULL}}, labels[] = {WEFT_INTS(0, 1), WEFT_INTS(1, 2)};
    const char *function = "weft_einsum_plan_create_labels";
    (void)state;
    plans_refuse(NULL, 1, shapes, NULL, INVALID, "the expression is NULL");
    plans_refuse("ij->", 0, NULL, NULL, INVALID, "no operands are given");
    plans_refuse("ij->", 1, NULL, NULL, INVALID, "the shapes are NULL");
    plans_refuse("ij,ij->", 2, shapes, NULL, INVALID, "the shape of operand 1 is NULL but has rank 3");
    expect(weft_einsum_plan_create(NULL, "ij->", 1, shapes, NULL, NULL), INVALID, "weft_einsum_plan_create",
           "the pointer for the plan is NULL");
    expect(weft_einsum_plan_create_labels(NULL, 1, labels, WEFT_INTS(0), shapes, NULL, NULL), INVALID, function,
           "the pointer for the plan is NULL");
    expect(weft_einsum_plan_create_labels(NULL, 1, NULL, WEFT_INTS(0), shapes, NULL, &plan), INVALID, function,
           "the labels are NULL");
    expect(weft_einsum_plan_create_labels(NULL, 0, NULL, WEFT_INTS(0), NULL, NULL, &plan), INVALID, function,
           "no operands are given");
    expect(weft_einsum_plan_create_labels(NULL, 1, labels, (weft_ints){1, NULL}, shapes, NULL, &plan), INVALID,
           function, "the labels of the output are NULL, but their count is 1");
    expect(weft_einsum_plan_create_labels(NULL, 2, labels, WEFT_INTS(0), NULL, NULL, &plan), INVALID, function,
           "the shapes are NULL");
    expect(weft_einsum_plan_create_labels(NULL, 1, labels, WEFT_INTS(0, -4), shapes, NULL, &plan), INVALID, function,
           "label 1 of the output is -4");
    expect(weft_einsum_plan_create_tensor(NULL, WEFT_NO_TENSOR, &plan), INVALID, "weft_einsum_plan_create_tensor",
           "the tensor was not made by an einsum");
    assert_null(plan);
    weft_einsum_plan_destroy(NULL);
}

static void plans_refuse_shapes(void **state)
{
    const int64_t none[WEFT_MAX_RANK + 1] = {0}, below[] = {2, -2}, all[] = {INT64_MIN, INT64_MAX};
    const weft_ints one[] = {{1, two_by_two}}, negative[] = {{2, below}}, huge[] = {{2, all}},
                    many[] = {{WEFT_MAX_RANK + 1, none}};
    weft_einsum_plan *plan = NULL;
    const weft_ints labels[] = {WEFT_INTS(0, 1)};
    (void)state;
    plans_refuse("ij->", 1, one, NULL, WEFT_SHAPE_MISMATCH, "operand 0 has rank 1 but its term");
    plans_refuse("ij->", 1, negative, NULL, WEFT_OUT_OF_RANGE, "axis 1 of operand 0 has extent -2, below 0");
    plans_refuse("ij->", 1, huge, NULL, WEFT_OUT_OF_RANGE, "axis 0 of operand 0 has extent -9223372036854775808");
    plans_refuse("ij->", 1, many, NULL, WEFT_SHAPE_MISMATCH, "operand 0 has rank 65 but its term");
    expect(weft_einsum_plan_create_labels(NULL, 1, labels, WEFT_INTS(0), one, NULL, &plan), WEFT_SHAPE_MISMATCH,
           "weft_einsum_plan_create_labels", "operand 0 has rank 1 but 2 labels");
    expect(weft_einsum_plan_create_labels(NULL, 1, labels, WEFT_INTS(7), &square, NULL, &plan), INVALID,
           "weft_einsum_plan_create_labels", "label 7 of the output is in no operand");
}

static void plans_refuse_options(void **state)
{
    const int64_t numbers[] = {0, 1, 0, 1, 0, 1, INT64_MIN, INT64_MAX};
    const struct {
        weft_einsum_options options;
        weft_code code;
        const char *part;
    } mistakes[] = {
        {{.order = (weft_einsum_order)-1}, INVALID, "order is not a weft_einsum_order"},
        {{.order = (weft_einsum_order)77}, INVALID, "order is not a weft_einsum_order"},
        {{.minimize = (weft_einsum_minimize)77}, INVALID, "minimize is not a weft_einsum_minimize"},
        {{.dtype = (weft_dtype)77}, INVALID, "dtype is not a weft_dtype"},
        {{.watch = &(weft_einsum_watch){0}}, INVALID, "progress of the watch is NULL"},
        {{.order = WEFT_EINSUM_TREE}, INVALID, "order TREE needs a tree"},
        {{.order = WEFT_EINSUM_LEFT, .nested = "(0,1),2"}, INVALID, "nested requires order NESTED"},
        {{.order = WEFT_EINSUM_PATH, .path = {4, NULL}}, INVALID, "the path is NULL, but its count is not 0"},
        {{.order = WEFT_EINSUM_PATH, .path = {3, numbers}}, INVALID, "the path has 3 positions but 3 operands"},
        {{.order = WEFT_EINSUM_PATH, .path = {8, numbers}}, INVALID, "the path has 8 positions but 3 operands"},
        {{.order = WEFT_EINSUM_PATH, .path = {4, numbers + 4}}, WEFT_OUT_OF_RANGE, "has position -9223372036854775808"},
        {{.order = WEFT_EINSUM_SSA, .path = {4, numbers + 4}}, INVALID, "takes value -9223372036854775808"},
        {{.order = WEFT_EINSUM_SSA, .path = {4, numbers}}, INVALID, "takes value 0, which was taken before"},
        {{.order = WEFT_EINSUM_LEFT, .sliced = {1, NULL}}, INVALID, "sliced is NULL, but its count is not 0"},
        {{.order = WEFT_EINSUM_LEFT, .sliced = WEFT_INTS('z')}, INVALID, "sliced label 122 ('z') is not a label of"},
        {{.order = WEFT_EINSUM_LEFT, .sliced = WEFT_INTS('j', 'j')}, INVALID, "sliced label 106 ('j') is named twice"},
        {{.order = WEFT_EINSUM_LEFT, .sliced = WEFT_INTS(INT64_MIN)}, INVALID, "is not a label of"},
        {{.sliced = WEFT_INTS('j')}, INVALID, "sliced labels require a given order"},
        {{.order = WEFT_EINSUM_LEFT, .memory_limit = 9}, INVALID, "a memory limit requires order AUTO"},
        {{.time_budget = NAN}, INVALID, "time_budget is nan, not from 0"},
        {{.time_budget = -1}, INVALID, "time_budget is -1, not from 0"},
        {{.time_budget = INFINITY}, INVALID, "time_budget is inf, not from 0"},
        {{.time_budget = 1, .moves = 1}, INVALID, "time_budget and moves exclude each other"},
        {{.machine = &(weft_machine){0}}, INVALID, "device of the machine is 0, not"},
        {{.order = WEFT_EINSUM_NESTED}, WEFT_PARSE_ERROR, "expected ',' or \"->\""},
        {{.order = WEFT_EINSUM_NESTED, .nested = ""}, WEFT_PARSE_ERROR, "byte 1 of the order"},
        {{.order = WEFT_EINSUM_NESTED, .nested = ")("}, WEFT_PARSE_ERROR, "byte 1 of the order"},
        {{.order = WEFT_EINSUM_NESTED, .nested = "(0,1),99999999999999999999"},
         WEFT_PARSE_ERROR,
         "byte 7 of the order"},
        {{.order = WEFT_EINSUM_NESTED, .nested = "(0,1),2,"}, WEFT_PARSE_ERROR, "byte 9 of the order"},
        {{.order = WEFT_EINSUM_NESTED, .nested = "\xff\xfe"}, WEFT_PARSE_ERROR, "byte 1 of the order"},
    };
    const weft_ints shapes[] = {square, square, square};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(mistakes); i++) {
        bool flat = mistakes[i].options.order != WEFT_EINSUM_NESTED || mistakes[i].options.nested != NULL;
        plans_refuse(flat ? "ij,jk,kl->il" : "(ij,jk)(kl)->il", 3, shapes, &mistakes[i].options, mistakes[i].code,
                     mistakes[i].part);
    }
}

/* Texts that no grammar knows. */
static void plans_refuse_nonsense(void **state)
{
    static const char *const texts[] = {"",         "->->",   ",",       "[",      "]",      "[-1]->",     "[1,2]->",
                                        "...",      ".",      "..",      "....->", ">",      "-",          "a-",
                                        "a->b",     "a->...", "(a)",     "a)->",   "\x80->", "a b c-",     "[0]a->",
                                        "\xf0\x9f", "a,,b->", "[[0]]->", "\x01",   "%s%n%n", "a->a a a a", "[0 0 0 0"};
    const weft_ints shapes[] = {square, square, square};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        for (int order = WEFT_EINSUM_AUTO; order <= WEFT_EINSUM_NESTED; order++) {
            weft_einsum_plan *plan = NULL;
            const weft_einsum_options options = {.order = (weft_einsum_order)order};
            weft_status *status = weft_einsum_plan_create(NULL, texts[i], 3, shapes, &options, &plan);
            if (status == NULL) fail_msg("\"%s\" was taken", texts[i]);
            assert_string_equal(weft_status_where(status), "weft_einsum_plan_create");
            weft_status_destroy(status);
            assert_null(plan);
        }
    }
}

/* Depth and length are no question of the stack. */
static void plans_take_deep_texts(void **state)
{
    const weft_einsum_options nested = {.order = WEFT_EINSUM_NESTED};
    char *text = malloc(2 * DEPTH + 8);
    (void)state;
    assert_non_null(text);
    memset(text, '(', DEPTH);
    strcpy(text + DEPTH, "ij->");
    plans_refuse(text, 1, &square, &nested, WEFT_PARSE_ERROR, "')' is missing for the '('");
    const weft_einsum_options order = {.order = WEFT_EINSUM_NESTED, .nested = text};
    plans_refuse("ij->", 1, &square, &order, WEFT_PARSE_ERROR, "of the order");
    strcpy(text + DEPTH, "ij");
    memset(text + DEPTH + 2, ')', DEPTH);
    strcpy(text + 2 * DEPTH + 2, "->");
    weft_einsum_plan *plan;
    weft_test_ok(weft_einsum_plan_create(NULL, text, 1, &square, &nested, &plan));
    assert_string_equal(weft_einsum_plan_nested(plan), "0");
    weft_einsum_plan_destroy(plan);
    free(text);
}

/* Values that a plan does not have are empty. */
static void plans_read_any_value(void **state)
{
    char text[8] = "before";
    weft_einsum_plan *plan;
    const weft_ints shapes[] = {square, square};
    const size_t values[] = {3, 4, SIZE_MAX / 2, SIZE_MAX};
    (void)state;
    weft_test_ok(weft_einsum_plan_create(NULL, "ij,jk->ik", 2, shapes, NULL, &plan));
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        weft_einsum_value value = weft_einsum_plan_value(plan, values[i]);
        assert_true(value.rank == 0 && value.log2_size == 0 && value.log10_flops == 0);
        assert_int_equal(weft_einsum_plan_print_labels(plan, values[i], text, sizeof text), 0);
        assert_string_equal(text, "");
        assert_int_equal(weft_einsum_plan_print_sliced(plan, values[i], text, sizeof text), 0);
    }
    assert_int_equal(weft_einsum_plan_print_labels(plan, 2, NULL, 0), 2);
    assert_int_equal(weft_einsum_plan_print_labels(plan, 2, text, 2), 2);
    assert_string_equal(text, "i");
    weft_einsum_plan_destroy(plan);
}

/* ---- tracing ---- */

static weft_graph *graph_create(void)
{
    weft_graph *graph;
    weft_test_ok(weft_graph_create(NULL, &graph));
    return graph;
}

/* Where is the caller's source location. */
static void stuck(weft_graph *graph, weft_tensor result, weft_code code, const char *part)
{
    assert_false(weft_tensor_is_valid(result));
    expect(weft_status_clone(NULL, weft_graph_error(graph)), code, "einsum_misuse.c:", part);
    weft_graph_clear_error(graph);
}

static void tracing_refuses(void **state)
{
    weft_graph *graph = graph_create(), *other = graph_create();
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(2, 2)),
                y = weft_input(graph, "y", WEFT_F64, WEFT_SHAPE(2, 2));
    weft_tensor foreign = weft_input(other, "x", WEFT_F32, WEFT_SHAPE(2, 2));
    weft_tensor wide = weft_full(graph, WEFT_F32, 1, WEFT_SHAPE(1, 1, 1, 1, 1));
    const weft_ints labels[] = {WEFT_INTS(0, 1), WEFT_INTS(1, 2)}, below[] = {WEFT_INTS(0, -1)};
    (void)state;
    stuck(graph, weft_einsum(NULL, WEFT_TENSORS(x), NULL), INVALID, "the expression is NULL");
    stuck(graph, weft_einsum("ij,jk->", WEFT_TENSORS(x, y), NULL), WEFT_DTYPE_MISMATCH,
          "operand 1 has dtype f64 but operand 0 has f32");
    stuck(graph, weft_einsum("ij,jk->", WEFT_TENSORS(x, foreign), NULL), INVALID, "graph");
    stuck(graph, weft_einsum("ij->k", WEFT_TENSORS(x), NULL), INVALID, "label 'k' of the output");
    stuck(graph, weft_einsum_labels(WEFT_TENSORS(x, x), NULL, WEFT_INTS(0), NULL), INVALID, "the labels are NULL");
    stuck(graph, weft_einsum_labels(WEFT_TENSORS(x), below, WEFT_INTS(0), NULL), INVALID, "label 1 of operand 0 is -1");
    stuck(graph, weft_einsum_labels(WEFT_TENSORS(x, wide), labels, WEFT_INTS(0), NULL), WEFT_SHAPE_MISMATCH,
          "operand 1 has rank 5 but 2 labels");
    stuck(graph, weft_einsum_labels(WEFT_TENSORS(x, x), labels, WEFT_INTS(5), NULL), INVALID,
          "label 5 of the output is in no operand");
    stuck(graph, weft_einsum_tensordot(x, y, WEFT_INTS(0), WEFT_INTS(0)), WEFT_DTYPE_MISMATCH, "dtype");
    stuck(graph, weft_einsum_tensordot(x, foreign, WEFT_INTS(0), WEFT_INTS(0)), INVALID, "graph");
    stuck(graph, weft_einsum_tensordot(x, x, (weft_ints){1, NULL}, WEFT_INTS(0)), INVALID, "axes_a is NULL");
    stuck(graph, weft_einsum_tensordot(x, x, WEFT_INTS(0), (weft_ints){1, NULL}), INVALID, "axes_b is NULL");
    stuck(graph, weft_einsum_tensordot(x, x, WEFT_INTS(INT64_MIN), WEFT_INTS(0)), WEFT_OUT_OF_RANGE, "out of range");
    stuck(graph, weft_einsum_tensordot(x, x, WEFT_INTS(INT64_MAX), WEFT_INTS(0)), WEFT_OUT_OF_RANGE, "out of range");
    weft_graph_destroy(other);
    weft_graph_destroy(graph);
}

static void operands_without_a_graph_are_named(void **state)
{
    weft_graph *graph = graph_create();
    weft_tensor none = WEFT_NO_TENSOR, x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(2, 2));
    const weft_ints labels[] = {WEFT_INTS(0, 1), WEFT_INTS(1, 2)};
    (void)state;
    stuck(graph, weft_einsum("ij,jk->ik", WEFT_TENSORS(x, none), NULL), INVALID,
          "operand 1 is not a tensor of a graph");
    stuck(graph, weft_einsum("ij,jk->ik", WEFT_TENSORS(none, x), NULL), INVALID,
          "operand 0 is not a tensor of a graph");
    stuck(graph, weft_einsum_labels(WEFT_TENSORS(x, none), labels, WEFT_INTS(0), NULL), INVALID, "operand 1 is no");
    stuck(graph, weft_einsum_tensordot(x, none, WEFT_INTS(0), WEFT_INTS(0)), INVALID, "operand 1 is not a tensor");
    stuck(graph, weft_einsum_tensordot(none, x, WEFT_INTS(0), WEFT_INTS(0)), INVALID, "operand 0 is not a tensor");
    weft_graph_destroy(graph);
}

/* Nothing has a place for these errors but what is made of them. */
static void tracing_survives_no_graph(void **state)
{
    weft_graph *graph = graph_create();
    weft_tensor none = WEFT_NO_TENSOR, x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(2, 2));
    weft_tensor failed = weft_einsum("ij->k", WEFT_TENSORS(x), NULL);
    const weft_ints labels[] = {WEFT_INTS(0, 1)};
    (void)state;
    weft_graph_clear_error(graph);
    assert_false(weft_tensor_is_valid(weft_einsum("->", (weft_tensors){0, NULL}, NULL)));
    assert_false(weft_tensor_is_valid(weft_einsum("->", WEFT_TENSORS(none), NULL)));
    assert_false(weft_tensor_is_valid(weft_einsum("ij,ij->", WEFT_TENSORS(x, failed), NULL)));
    assert_false(weft_tensor_is_valid(weft_einsum_labels((weft_tensors){0, NULL}, NULL, WEFT_INTS(0), NULL)));
    assert_false(weft_tensor_is_valid(weft_einsum_labels(WEFT_TENSORS(none), labels, WEFT_INTS(0), NULL)));
    assert_false(weft_tensor_is_valid(weft_einsum_tensordot(none, none, WEFT_INTS(0), WEFT_INTS(0))));
    assert_false(weft_tensor_is_valid(weft_einsum_tensordot(failed, x, WEFT_INTS(0), WEFT_INTS(0))));
    assert_null(weft_graph_error(graph));
    weft_graph_destroy(graph);
}

/* ---- arrays ---- */

static weft_array *array_create(weft_dtype dtype, size_t rank, const int64_t *shape)
{
    weft_array *array;
    weft_test_ok(weft_array_create(NULL, dtype, rank, shape, &array));
    memset(weft_array_data(array), 0, (size_t)weft_array_count(array) * weft_dtype_size(dtype));
    return array;
}

static void arrays_refuse(void **state)
{
    const char *function = "weft_einsum_arrays";
    const int64_t ones[WEFT_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                         1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    weft_executor *executor = weft_test_einsum_executor(false);
    weft_array *x = array_create(WEFT_F32, 2, two_by_two), *y = array_create(WEFT_F64, 2, two_by_two),
               *wide = array_create(WEFT_F32, 40, ones), *result = NULL, *small = array_create(WEFT_F32, 1, two_by_two);
    weft_array *same[] = {x, x}, *hole[] = {x, NULL}, *mixed[] = {x, y}, *wides[] = {wide, wide}, *own = x,
               *kept = small, *other = y;
    const weft_einsum_options wrong = {.order = (weft_einsum_order)9};
    char text[512] = "[";
    (void)state;
    expect(weft_einsum_arrays(NULL, "ij,jk->ik", 2, same, NULL, &result), INVALID, function, "the executor is NULL");
    expect(weft_einsum_arrays(executor, NULL, 2, same, NULL, &result), INVALID, function, "the expression is NULL");
    expect(weft_einsum_arrays(executor, "->", 0, same, NULL, &result), INVALID, function, "no operands are given");
    expect(weft_einsum_arrays(executor, "ij,jk->ik", 2, NULL, NULL, &result), INVALID, function,
           "the operands are NULL");
    expect(weft_einsum_arrays(executor, "ij,jk->ik", 2, same, NULL, NULL), INVALID, function,
           "the pointer for the result is NULL");
    expect(weft_einsum_arrays(executor, "ij,jk->ik", 2, hole, NULL, &result), INVALID, function, "operand 1 is NULL");
    expect(weft_einsum_arrays(executor, "ij,jk->ik", 2, mixed, NULL, &result), WEFT_DTYPE_MISMATCH, function,
           "operand 1 has dtype f64 but operand 0 has f32");
    expect(weft_einsum_arrays(executor, "ij,jk->ik", 2, same, &wrong, &result), INVALID, function, "order is not a");
    expect(weft_einsum_arrays(executor, "ij->ik", 2, same, NULL, &result), INVALID, function,
           "the expression has 1 input term");
    expect(weft_einsum_arrays(executor, "ij,j->i", 2, same, NULL, &result), WEFT_SHAPE_MISMATCH, function,
           "operand 1 has rank 2 but its term, at byte 4, has 1 label");
    expect(weft_einsum_arrays(executor, "ij,\xff->", 2, same, NULL, &result), WEFT_PARSE_ERROR, function, "byte 4");
    expect(weft_einsum_arrays(executor, "ij,jk->ik", 2, same, NULL, &kept), WEFT_SHAPE_MISMATCH, "", "rank");
    expect(weft_einsum_arrays(executor, "ij,jk->ik", 2, same, NULL, &other), WEFT_DTYPE_MISMATCH, "", "f64");
    expect(weft_einsum_arrays(executor, "ij,jk->ik", 2, same, NULL, &own), INVALID, "", "");
    for (int i = 0; i < 80; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d%s", i, i == 39 ? "],[" : i == 79 ? "]" : " ");
    strcat(text, "->...");
    expect(weft_einsum_arrays(executor, text, 2, wides, NULL, &result), WEFT_PARSE_ERROR, function, "");
    text[strlen(text) - 3] = '\0';
    strncat(text, "[", 2);
    for (int i = 0; i < 80; i++) snprintf(text + strlen(text), sizeof text - strlen(text), "%d ", i);
    strcat(text, "]");
    expect(weft_einsum_arrays(executor, text, 2, wides, NULL, &result), WEFT_OUT_OF_RANGE, function,
           "the result has rank 80 but a tensor has at most 64 axes");
    assert_null(result);
    weft_array *all[] = {x, y, wide, small};
    for (size_t i = 0; i < COUNT_OF(all); i++) weft_array_release(all[i]);
    weft_executor_destroy(executor);
}

/* ---- caches ---- */

static void caches_refuse(void **state)
{
    weft_executor *executor = weft_test_einsum_executor(false), *bare;
    weft_cache_counters counters;
    weft_einsum_cache wrong = (weft_einsum_cache)99;
    const char *read = "weft_einsum_cache_read", *set = "weft_einsum_cache_set_capacity",
               *clear = "weft_einsum_cache_clear";
    (void)state;
    weft_test_ok(weft_executor_create(&(weft_executor_options){.threads = 1}, &bare));
    expect(weft_einsum_cache_read(NULL, WEFT_EINSUM_PLANS, &counters), INVALID, read, "the executor is NULL");
    expect(weft_einsum_cache_read(bare, WEFT_EINSUM_PLANS, &counters), WEFT_NOT_REGISTERED, read, "not registered");
    expect(weft_einsum_cache_read(executor, wrong, &counters), INVALID, read, "cache 99 is none");
    expect(weft_einsum_cache_read(executor, WEFT_EINSUM_PLANS, NULL), INVALID, read,
           "pointer for the counters is NULL");
    expect(weft_einsum_cache_set_capacity(NULL, WEFT_EINSUM_PLANS, 1), INVALID, set, "the executor is NULL");
    expect(weft_einsum_cache_set_capacity(bare, WEFT_EINSUM_PLANS, 1), WEFT_NOT_REGISTERED, set, "not registered");
    expect(weft_einsum_cache_set_capacity(executor, wrong, 1), INVALID, set, "cache 99 is none");
    expect(weft_einsum_cache_clear(NULL), INVALID, clear, "the executor is NULL");
    expect(weft_einsum_cache_clear(bare), WEFT_NOT_REGISTERED, clear, "not registered");
    weft_executor_destroy(bare);
    weft_executor_destroy(executor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_refuse_null),
        cmocka_unit_test(plans_refuse_shapes),
        cmocka_unit_test(plans_refuse_options),
        cmocka_unit_test(plans_refuse_nonsense),
        cmocka_unit_test(plans_take_deep_texts),
        cmocka_unit_test(plans_read_any_value),
        cmocka_unit_test(tracing_refuses),
        cmocka_unit_test(tracing_survives_no_graph),
        cmocka_unit_test(arrays_refuse),
        cmocka_unit_test(caches_refuse),
        cmocka_unit_test(operands_without_a_graph_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
