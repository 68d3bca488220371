/* SPDX-License-Identifier: Apache-2.0 */
/* Einsum: errors, orders, plans, what it lowers to, memory running out. */
#include "test/einsum/einsum.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))
#define MOST_OPERANDS 6

typedef struct shapes {
    size_t count;
    weft_ints items[MOST_OPERANDS];
} shapes;

#define SHAPES(...) ((shapes){sizeof((weft_ints[]){__VA_ARGS__}) / sizeof(weft_ints), {__VA_ARGS__}})
#define DIMS(...) WEFT_INTS(__VA_ARGS__)

static weft_status *plan(const char *text, shapes given, const weft_einsum_options *options,
                         weft_einsum_plan **out_plan)
{
    return weft_einsum_plan_create(NULL, text, given.count, given.items, options, out_plan);
}

static weft_tensor trace(weft_graph *graph, const char *text, shapes given, bool symbolic,
                         const weft_einsum_options *options)
{
    weft_tensor inputs[MOST_OPERANDS];
    for (size_t i = 0; i < given.count; i++) {
        weft_extent extents[8];
        char name[48];
        for (size_t axis = 0; axis < given.items[i].count; axis++) {
            snprintf(name, sizeof name, "n%zu_%zu", i, axis);
            extents[axis] = symbolic ? weft_symbol(graph, name, 0, 1000) : weft_extent_of(given.items[i].items[axis]);
        }
        snprintf(name, sizeof name, "x%zu", i);
        inputs[i] = weft_input(graph, name, WEFT_F64, (weft_shape){given.items[i].count, extents});
    }
    return weft_einsum(text, (weft_tensors){given.count, inputs}, options);
}

/* ---- errors ---- */

typedef struct mistake {
    const char *text;
    shapes given;
    weft_einsum_options options;
    weft_code code;
    const char *sentence;
} mistake;

static void check_mistake(const mistake *m)
{
    weft_einsum_plan *made = NULL;
    weft_test_fails(plan(m->text, m->given, &m->options, &made), m->code, m->sentence);
    assert_null(made);
    if (m->given.count == 0) return;
    weft_graph *graph;
    weft_test_ok(weft_graph_create(NULL, &graph));
    assert_false(weft_tensor_is_valid(trace(graph, m->text, m->given, false, &m->options)));
    weft_test_fails(weft_status_clone(NULL, weft_graph_error(graph)), m->code, m->sentence);
    weft_graph_clear_error(graph);
    assert_true(weft_tensor_is_valid(weft_einsum("->", WEFT_TENSORS(weft_scalar(graph, WEFT_F64, 1)), NULL)));
    weft_graph_destroy(graph);
}

static void report_mistakes(void **state)
{
    (void)state;
    const int64_t huge = INT64_C(1) << 40;
    const mistake mistakes[] = {
        {"ij,jk->ik",
         SHAPES(DIMS(2, 3), DIMS(3)),
         {0},
         WEFT_SHAPE_MISMATCH,
         "operand 1 has rank 1 but its term, at byte 4, has 2 labels"},
        {"...ij->ij...",
         SHAPES(DIMS(2)),
         {0},
         WEFT_SHAPE_MISMATCH,
         "operand 0 has rank 1 but its term, at byte 1, has 2 labels besides the ellipsis"},
        {"ij->iz",
         SHAPES(DIMS(2, 3)),
         {0},
         WEFT_INVALID_ARGUMENT,
         "label 'z' of the output, at byte 6, is in no operand"},
        {"[0 1]->[5]", SHAPES(DIMS(2, 3)), {0}, WEFT_INVALID_ARGUMENT, "label 5 of the output, at byte 9"},
        {"ij,jk->ik",
         SHAPES(DIMS(2, 3), DIMS(4, 2)),
         {0},
         WEFT_SHAPE_MISMATCH,
         "label 'j' has extent 3 at axis 1 of operand 0 but 4 at axis 0 of operand 1"},
        {"...a,...a->...a", SHAPES(DIMS(2, 3), DIMS(4, 3)), {0}, WEFT_SHAPE_MISMATCH, "label ...[0] has extent 2"},
        {"ii->",
         SHAPES(DIMS(2, 3)),
         {0},
         WEFT_SHAPE_MISMATCH,
         "label 'i' is repeated in operand 0, where axis 0 has extent 2 but axis 1 has 3"},
        {"ii->", SHAPES(DIMS(1, 3)), {0}, WEFT_SHAPE_MISMATCH, "axis 0 has extent 1 but axis 1 has 3"},
        {"ij,jk->ik",
         SHAPES(DIMS(2, 3)),
         {0},
         WEFT_INVALID_ARGUMENT,
         "the expression has 2 input terms but 1 operand is given"},
        {"i->i", SHAPES(DIMS(2, 3)), {0}, WEFT_SHAPE_MISMATCH, "its term, at byte 1, has 1 label"},
        {"a,b->",
         SHAPES(DIMS(2), DIMS(2)),
         {.order = WEFT_EINSUM_PATH, .path = WEFT_INTS(0)},
         WEFT_INVALID_ARGUMENT,
         "the path has 1 position but 2 operands take 1 step, two positions each"},
        {"a->",
         SHAPES(DIMS(2)),
         {.machine = &(weft_machine){.device = WEFT_DEVICE_CPU, .vector_bytes = 3}},
         WEFT_INVALID_ARGUMENT,
         "vector_bytes of the machine is 3, not a power of two from 16 to 64"},
        {"->", {0}, {0}, WEFT_INVALID_ARGUMENT, "no operands are given"},
        {"...i->i",
         SHAPES(DIMS(2, 3)),
         {0},
         WEFT_INVALID_ARGUMENT,
         "the ellipsis stands for 1 axis but the output, at byte 7, has none"},
        {"ab,bc",
         SHAPES(DIMS(2, 3), DIMS(3, 4)),
         {.order = WEFT_EINSUM_NESTED},
         WEFT_PARSE_ERROR,
         "byte 6 of the expression: a nested expression needs \"->\""},
        {"ij->i->j", SHAPES(DIMS(2, 3)), {0}, WEFT_PARSE_ERROR, "byte 6 of the expression: a second \"->\""},
        {"ij-i", SHAPES(DIMS(2, 3)), {0}, WEFT_PARSE_ERROR, "byte 3 of the expression: '-' must be followed by '>'"},
        {"(ij),jk->ik",
         SHAPES(DIMS(2, 3), DIMS(3, 2)),
         {0},
         WEFT_PARSE_ERROR,
         "byte 1 of the expression: '(' is not allowed"},
        {"ij),jk->ik",
         SHAPES(DIMS(2, 3), DIMS(3, 2)),
         {0},
         WEFT_PARSE_ERROR,
         "byte 3 of the expression: ')' is not allowed"},
        {"ij->i,j", SHAPES(DIMS(2, 3)), {0}, WEFT_PARSE_ERROR, "byte 6 of the expression: expected the end"},
        {"i.j->ij", SHAPES(DIMS(2, 3)), {0}, WEFT_PARSE_ERROR, "byte 2 of the expression: '.' is part of an ellipsis"},
        {"...i...->i", SHAPES(DIMS(2, 3)), {0}, WEFT_PARSE_ERROR, "byte 5 of the expression: a term has at most one"},
        {"i>j", SHAPES(DIMS(2, 3)), {0}, WEFT_PARSE_ERROR, "byte 2 of the expression: '>' is not a label"},
        {"i\xffj->ij", SHAPES(DIMS(2, 3)), {0}, WEFT_PARSE_ERROR, "byte 2 of the expression: the bytes from 0xff on"},
        {"\xc0\xaf->", SHAPES(DIMS(2)), {0}, WEFT_PARSE_ERROR, "byte 1 of the expression: the bytes from 0xc0"},
        {"i\xed\xa0\x80->", SHAPES(DIMS(2)), {0}, WEFT_PARSE_ERROR, "byte 2 of the expression: the bytes from 0xed"},
        {"\xf4\x90\x80\x80->", SHAPES(DIMS(2)), {0}, WEFT_PARSE_ERROR, "byte 1 of the expression"},
        {"ij\xe5\xad->", SHAPES(DIMS(2)), {0}, WEFT_PARSE_ERROR, "byte 3 of the expression"},
        {"[0 1],ij->", SHAPES(DIMS(2, 3), DIMS(3, 2)), {0}, WEFT_PARSE_ERROR, "byte 7 of the expression: expected '['"},
        {"i\x01->i", SHAPES(DIMS(2, 3)), {0}, WEFT_PARSE_ERROR, "byte 2 of the expression: the control character 0x01"},
        {"i\xc2\x9b->i", SHAPES(DIMS(2, 3)), {0}, WEFT_PARSE_ERROR, "the control character 0x9b is not a label"},
        {"[0 x]->", SHAPES(DIMS(2, 3)), {0}, WEFT_PARSE_ERROR, "byte 4 of the expression: expected a number"},
        {"[0 1->", SHAPES(DIMS(2, 3)), {0}, WEFT_PARSE_ERROR, "byte 5 of the expression: expected a number"},
        {"[9223372036854775808]->",
         SHAPES(DIMS(2)),
         {0},
         WEFT_PARSE_ERROR,
         "byte 2 of the expression: the number is over"},
        {"((ab,bc),cd->ad",
         SHAPES(DIMS(2, 2), DIMS(2, 2), DIMS(2, 2)),
         {.order = WEFT_EINSUM_NESTED},
         WEFT_PARSE_ERROR,
         "byte 12 of the expression: ')' is missing for the '(' of byte 1"},
        {"ab),cd->ad",
         SHAPES(DIMS(2, 2), DIMS(2, 2)),
         {.order = WEFT_EINSUM_NESTED},
         WEFT_PARSE_ERROR,
         "byte 3 of the expression: ')' closes no group"},
        {"(ab)cd->ad",
         SHAPES(DIMS(2, 2), DIMS(2, 2)),
         {.order = WEFT_EINSUM_NESTED},
         WEFT_PARSE_ERROR,
         "byte 5 of the expression: expected ',' or \"->\""},
        {"a,b,c->",
         SHAPES(DIMS(2), DIMS(2), DIMS(2)),
         {.order = WEFT_EINSUM_NESTED, .nested = "(0,1)"},
         WEFT_PARSE_ERROR,
         "the order leaves out operand 2"},
        {"a,b,c->",
         SHAPES(DIMS(2), DIMS(2), DIMS(2)),
         {.order = WEFT_EINSUM_NESTED, .nested = "(0,1),1"},
         WEFT_PARSE_ERROR,
         "byte 7 of the order: the order names operand 1 twice"},
        {"a,b,c->",
         SHAPES(DIMS(2), DIMS(2), DIMS(2)),
         {.order = WEFT_EINSUM_NESTED, .nested = "(0,1),3"},
         WEFT_PARSE_ERROR,
         "the order names operand 3 but there are 3, from 0"},
        {"a,b,c->",
         SHAPES(DIMS(2), DIMS(2), DIMS(2)),
         {.order = WEFT_EINSUM_NESTED, .nested = "(0,1),"},
         WEFT_PARSE_ERROR,
         "byte 7 of the order: expected '(' or the number"},
        {"a,b,c->",
         SHAPES(DIMS(2), DIMS(2), DIMS(2)),
         {.order = WEFT_EINSUM_PATH, .path = WEFT_INTS(0, 1)},
         WEFT_INVALID_ARGUMENT,
         "the path has 2 positions but 3 operands take 2 steps"},
        {"a,b,c->",
         SHAPES(DIMS(2), DIMS(2), DIMS(2)),
         {.order = WEFT_EINSUM_PATH, .path = WEFT_INTS(1, 1, 0, 1)},
         WEFT_INVALID_ARGUMENT,
         "step 0 of the path names position 1 twice"},
        {"a,b,c->",
         SHAPES(DIMS(2), DIMS(2), DIMS(2)),
         {.order = WEFT_EINSUM_PATH, .path = WEFT_INTS(1, 2, 0, 2)},
         WEFT_OUT_OF_RANGE,
         "step 1 of the path (0,2) has position 2 but 2 values are left"},
        {"a,b,c->",
         SHAPES(DIMS(2), DIMS(2), DIMS(2)),
         {.order = WEFT_EINSUM_PATH, .path = WEFT_INTS(-1, 2, 0, 1)},
         WEFT_OUT_OF_RANGE,
         "has position -1"},
        {"a,b,c->",
         SHAPES(DIMS(2), DIMS(2), DIMS(2)),
         {.order = WEFT_EINSUM_SSA, .path = WEFT_INTS(0, 1, 2, 4)},
         WEFT_INVALID_ARGUMENT,
         "step 1 of the path (2,4) takes value 4, which is not there yet; there are 4, from 0"},
        {"a,b,c->",
         SHAPES(DIMS(2), DIMS(2), DIMS(2)),
         {.order = WEFT_EINSUM_SSA, .path = WEFT_INTS(0, 1, 3, 1)},
         WEFT_INVALID_ARGUMENT,
         "step 1 of the path (3,1) takes value 1, which was taken before"},
        {"a,b,c->",
         SHAPES(DIMS(2), DIMS(2), DIMS(2)),
         {.order = WEFT_EINSUM_SSA, .path = WEFT_INTS(0, 1)},
         WEFT_INVALID_ARGUMENT,
         "the path has 2 values but 3 operands take 2 steps, two values each"},
        {"a->", SHAPES(DIMS(2)), {.path = WEFT_INTS(0, 1)}, WEFT_INVALID_ARGUMENT, "a path requires order PATH or SSA"},
        {"a->", SHAPES(DIMS(2)), {.order = WEFT_EINSUM_TREE}, WEFT_INVALID_ARGUMENT, "order TREE needs a tree"},
        {"a->", SHAPES(DIMS(2)), {.order = (weft_einsum_order)9}, WEFT_INVALID_ARGUMENT, "order is not a"},
        {"i,j->ij", SHAPES(DIMS(huge), DIMS(huge)), {0}, WEFT_OUT_OF_RANGE, "more elements than an int64 counts"},
        {NULL, SHAPES(DIMS(2)), {0}, WEFT_INVALID_ARGUMENT, "the expression is NULL"},
    };
    for (size_t i = 0; i < COUNT_OF(mistakes); i++) check_mistake(&mistakes[i]);
}

static void report_intermediates_that_overflow(void **state)
{
    (void)state;
    const int64_t large = INT64_C(1) << 32;
    const weft_einsum_options left = {.order = WEFT_EINSUM_LEFT};
    weft_graph *graph;
    weft_program *program;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor x = trace(graph, "i,j,ij->", SHAPES(DIMS(large), DIMS(large), DIMS(large, 1)), false, &left);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(x), NULL, &program));
    weft_program_release(program);
    weft_graph_destroy(graph);
    weft_test_ok(weft_graph_create(NULL, &graph));
    x = trace(graph, "i,j,k,ik,j->", SHAPES(DIMS(large), DIMS(large), DIMS(2), DIMS(large, 2), DIMS(large)), false,
              &left);
    weft_test_fails(weft_compile(graph, WEFT_TENSORS(x), NULL, &program), WEFT_OUT_OF_RANGE,
                    "step 0 of the order has a result of 2^64.0 elements");
    weft_graph_destroy(graph);
}

static void check_where(weft_status *status, const char *function)
{
    assert_string_equal(weft_status_where(status), function);
    weft_status_destroy(status);
}

/* Whatever it is that finds the error. */
static void name_what_was_called(void **state)
{
    (void)state;
    weft_graph *graph;
    weft_einsum_plan *made;
    const weft_ints shape = WEFT_INTS(2, 3), labels = WEFT_INTS(0, 1);
    const weft_einsum_options short_path = {.order = WEFT_EINSUM_PATH, .path = WEFT_INTS(0)};
    check_where(weft_einsum_plan_create(NULL, "ij->k", 1, &shape, NULL, &made), "weft_einsum_plan_create");
    check_where(weft_einsum_plan_create(NULL, NULL, 1, &shape, NULL, &made), "weft_einsum_plan_create");
    check_where(weft_einsum_plan_create_labels(NULL, 1, &labels, WEFT_INTS(7), &shape, NULL, &made),
                "weft_einsum_plan_create_labels");
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor x = weft_full(graph, WEFT_F64, 1, WEFT_SHAPE(2, 3));
    (weft_einsum_labels)(WEFT_TENSORS(x), &labels, WEFT_INTS(0), &short_path);
    check_where(weft_status_clone(NULL, weft_graph_error(graph)), "weft_einsum_labels");
    weft_graph_clear_error(graph);
    (weft_einsum_tensordot)(x, x, WEFT_INTS(0), WEFT_INTS(1));
    check_where(weft_status_clone(NULL, weft_graph_error(graph)), "weft_einsum_tensordot");
    weft_graph_destroy(graph);
}

static void report_other_dtypes_and_labels(void **state)
{
    weft_graph *graph;
    (void)state;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor a = weft_scalar(graph, WEFT_F64, 1), b = weft_scalar(graph, WEFT_F32, 1);
    assert_false(weft_tensor_is_valid(weft_einsum(",->", WEFT_TENSORS(a, b), NULL)));
    weft_test_fails(weft_status_clone(NULL, weft_graph_error(graph)), WEFT_DTYPE_MISMATCH,
                    "operand 1 has dtype f32 but operand 0 has f64");
    assert_non_null(strstr(weft_status_where(weft_graph_error(graph)), "einsum.c"));
    weft_graph_clear_error(graph);
    weft_tensor v = weft_full(graph, WEFT_F64, 1, WEFT_SHAPE(2));
    weft_ints labels[] = {WEFT_INTS(-3)};
    weft_einsum_labels(WEFT_TENSORS(v), labels, WEFT_INTS(), NULL);
    weft_test_fails(weft_status_clone(NULL, weft_graph_error(graph)), WEFT_INVALID_ARGUMENT,
                    "label 0 of operand 0 is -3");
    weft_graph_clear_error(graph);
    weft_einsum_tensordot(v, v, WEFT_INTS(1), WEFT_INTS(0));
    weft_test_fails(weft_status_clone(NULL, weft_graph_error(graph)), WEFT_OUT_OF_RANGE, "axis 1 of a is out of range");
    weft_graph_clear_error(graph);
    weft_einsum_tensordot(v, v, WEFT_INTS(0, -1), WEFT_INTS(0, 0));
    weft_test_fails(weft_status_clone(NULL, weft_graph_error(graph)), WEFT_INVALID_ARGUMENT,
                    "axis -1 of a is named twice");
    assert_false(weft_tensor_is_valid(weft_einsum("->", WEFT_TENSORS(), NULL)));
    weft_graph_destroy(graph);
}

/* ---- symbolic extents ---- */

static weft_array *ones(weft_ints shape)
{
    double data[64];
    for (size_t i = 0; i < COUNT_OF(data); i++) data[i] = 1;
    return weft_test_column_major(shape.count, shape.items, data);
}

static void check_extents_at_the_run(void **state)
{
    weft_executor *executor = weft_test_einsum_executor(false);
    weft_array *a = ones(DIMS(2, 3)), *b = ones(DIMS(4, 2)), *c = ones(DIMS(3, 2)), *result;
    (void)state;
    for (unsigned way = WEFT_TEST_SYMBOLIC; way <= WEFT_TEST_KEPT; way++) {
        weft_array *wrong[] = {a, b}, *right[] = {a, c};
        weft_test_einsum call = {.text = "ij,jk->ik", .count = 2, .operands = wrong, .way = way};
        weft_status *status = weft_test_einsum_run(executor, &call, &result);
        assert_non_null(strstr(weft_status_message(status), "operand 0 is x0, operand 1 is x1"));
        assert_non_null(strstr(weft_status_message(status), "3"));
        assert_non_null(strstr(weft_status_message(status), "4"));
        weft_test_fails(status, WEFT_SHAPE_MISMATCH, "at axis 1 of operand 0 but");
        call.operands = right;
        weft_test_ok(weft_test_einsum_run(executor, &call, &result));
        weft_array_release(result);
    }
    weft_array_release(a);
    weft_array_release(b);
    weft_array_release(c);
    weft_executor_destroy(executor);
}

/* ---- orders ---- */

static double run_products(weft_executor *executor, const weft_einsum_options *options, unsigned way)
{
    const double values[] = {1e308, 1e308, 1e-308};
    const int64_t shape[] = {1, 1};
    weft_array *operands[3], *result;
    double product;
    for (size_t i = 0; i < 3; i++) operands[i] = weft_test_column_major(2, shape, &values[i]);
    weft_test_einsum call = {.text = "ij,jk,kl->il", .count = 3, .operands = operands, .options = options, .way = way};
    weft_test_ok(weft_test_einsum_run(executor, &call, &result));
    weft_test_read_column_major(result, &product);
    weft_array_release(result);
    for (size_t i = 0; i < 3; i++) weft_array_release(operands[i]);
    return product;
}

static void keep_the_order(void **state)
{
    weft_executor *executor = weft_test_einsum_executor(false);
    const weft_einsum_options left = {.order = WEFT_EINSUM_LEFT};
    const weft_einsum_options path = {.order = WEFT_EINSUM_PATH, .path = WEFT_INTS(1, 2, 0, 1)};
    const weft_einsum_options nested = {.order = WEFT_EINSUM_NESTED, .nested = "0,(1,2)"};
    (void)state;
    for (unsigned way = 0; way < WEFT_TEST_WAYS; way++) {
        assert_true(isinf(run_products(executor, &left, way)));
        assert_true(isfinite(run_products(executor, &path, way)));
        assert_true(isfinite(run_products(executor, &nested, way)));
    }
    weft_executor_destroy(executor);
}

static void check_plan(const char *text, shapes given, const weft_einsum_options *options, const char *order)
{
    weft_einsum_plan *made;
    weft_test_ok(plan(text, given, options, &made));
    assert_string_equal(weft_einsum_plan_order(made), order);
    weft_einsum_plan_destroy(made);
}

static void print_orders(void **state)
{
    (void)state;
    const shapes four = SHAPES(DIMS(2, 3), DIMS(3, 4), DIMS(4, 5), DIMS(5, 6));
    const weft_einsum_options left = {.order = WEFT_EINSUM_LEFT}, nested = {.order = WEFT_EINSUM_NESTED};
    check_plan("ij,jk,kl,lm->im", four, &left, "0-1,0-2,0-1");
    check_plan("ij,jk,kl,lm->im", four, &nested, "0-1,0-2,0-1");
    check_plan("(ij,jk),(kl,lm)->im", four, &nested, "0-1,0-1,0-1");
    check_plan("ij,(jk,(kl,lm))->im", four, &nested, "2-3,1-2,0-1");
    check_plan("(((ij))),jk,kl,lm->im", four, &nested, "0-1,0-2,0-1");
    check_plan("i->i", SHAPES(DIMS(3)), NULL, "");
    check_plan("(ca,ab),cd->bd", SHAPES(DIMS(3, 2), DIMS(2, 4), DIMS(3, 5)), &nested, "0-1,0-1");
}

static void check_ints(weft_ints found, weft_ints expected)
{
    assert_int_equal(found.count, expected.count);
    assert_memory_equal(found.items, expected.items, expected.count * sizeof *expected.items);
}

/* Every form of an order gives the same one back. */
static void convert_orders(void **state)
{
    (void)state;
    const shapes four = SHAPES(DIMS(2, 3), DIMS(3, 4), DIMS(4, 5), DIMS(5, 6));
    const weft_einsum_options forms[] = {{.order = WEFT_EINSUM_PATH, .path = WEFT_INTS(1, 2, 0, 2, 0, 1)},
                                         {.order = WEFT_EINSUM_SSA, .path = WEFT_INTS(1, 2, 0, 4, 3, 5)},
                                         {.order = WEFT_EINSUM_NESTED, .nested = "(3,(0,(1,2)))"}};
    for (size_t i = 0; i < 3; i++) {
        weft_einsum_plan *made;
        weft_test_ok(plan("ij,jk,kl,lm->im", four, &forms[i], &made));
        check_ints(weft_einsum_plan_path(made), WEFT_INTS(1, 2, 0, 2, 0, 1));
        check_ints(weft_einsum_plan_ssa(made), WEFT_INTS(1, 2, 0, 4, 3, 5));
        assert_string_equal(weft_einsum_plan_nested(made), "(3,(0,(1,2)))");
        weft_einsum_plan_destroy(made);
    }
    weft_einsum_plan *one;
    weft_test_ok(plan("ii->i", SHAPES(DIMS(3, 3)), NULL, &one));
    assert_string_equal(weft_einsum_plan_nested(one), "0");
    assert_int_equal(weft_einsum_plan_ssa(one).count, 0);
    weft_einsum_plan_destroy(one);
}

static void check_value(const weft_einsum_plan *made, size_t value, const char *labels, size_t elements, size_t flops)
{
    char text[32], cut[3];
    weft_einsum_value found = weft_einsum_plan_value(made, value);
    assert_int_equal(weft_einsum_plan_print_labels(made, value, text, sizeof text), strlen(labels));
    assert_string_equal(text, labels);
    assert_int_equal(weft_einsum_plan_print_labels(made, value, cut, sizeof cut), strlen(labels));
    assert_int_equal(strlen(cut), strlen(labels) < 2 ? strlen(labels) : 2);
    assert_true(fabs(found.log2_size - log2((double)elements)) < 1e-12);
    assert_true(fabs(found.log10_flops - log10((double)flops)) < 1e-12);
}

static void check_sliced(const weft_einsum_plan *made, size_t value, const char *labels)
{
    char text[32];
    assert_int_equal(weft_einsum_plan_print_sliced(made, value, text, sizeof text), strlen(labels));
    assert_string_equal(text, labels);
    assert_int_equal(weft_einsum_plan_value(made, value).sliced, strlen(labels));
}

static void read_values(void **state)
{
    (void)state;
    const weft_einsum_options left = {.order = WEFT_EINSUM_LEFT};
    weft_einsum_plan *made;
    weft_test_ok(plan("iijx,j...,...->i...", SHAPES(DIMS(2, 2, 3, 7), DIMS(3, 1, 4), DIMS(5, 4)), &left, &made));
    assert_int_equal(weft_einsum_plan_operand_count(made), 3);
    assert_int_equal(weft_einsum_plan_label_count(made), 5);
    assert_true(fabs(weft_einsum_plan_log2_points(made) - log2(2 * 3 * 7 * 5 * 4)) < 1e-12);
    check_value(made, 0, "ij", 6, 1);
    check_value(made, 1, "j...[1]", 12, 1);
    check_value(made, 3, "i...[1]", 8, 24);
    check_value(made, 4, "...[1]i...[0]", 40, 40);
    assert_int_equal(weft_einsum_plan_value(made, 4).a, 3);
    assert_int_equal(weft_einsum_plan_value(made, 4).b, 2);
    assert_int_equal(weft_einsum_plan_value(made, 4).rank, 3);
    weft_einsum_plan_destroy(made);
    const weft_ints labels[] = {WEFT_INTS(0, 12), WEFT_INTS(12, 7), WEFT_INTS(7)};
    const weft_ints given[] = {WEFT_INTS(2, 3), WEFT_INTS(3, 4), WEFT_INTS(4)};
    weft_test_ok(weft_einsum_plan_create_labels(NULL, 3, labels, WEFT_INTS(0), given, &left, &made));
    check_value(made, 3, "[0 7]", 8, 24);
    check_value(made, 4, "[0]", 2, 8);
    weft_einsum_plan_destroy(made);
    weft_test_fails(weft_einsum_plan_create_labels(NULL, 3, labels, WEFT_INTS(1), given, &left, NULL),
                    WEFT_INVALID_ARGUMENT, "the pointer for the plan is NULL");
    weft_test_fails(weft_einsum_plan_create_labels(NULL, 3, labels, WEFT_INTS(1), NULL, &left, &made),
                    WEFT_INVALID_ARGUMENT, "the shapes are NULL");
    weft_test_fails(weft_einsum_plan_create_labels(NULL, 3, NULL, WEFT_INTS(1), given, &left, &made),
                    WEFT_INVALID_ARGUMENT, "the labels are NULL");
    weft_test_fails(weft_einsum_plan_create_labels(NULL, 3, labels, (weft_ints){1, NULL}, given, &left, &made),
                    WEFT_INVALID_ARGUMENT, "the labels of the output are NULL, but their count is 1");
    weft_test_fails(weft_einsum_plan_create(NULL, "i->", 1, &(weft_ints){1, NULL}, NULL, &made), WEFT_INVALID_ARGUMENT,
                    "the shape of operand 0 is NULL but has rank 1");
    weft_test_fails(weft_einsum_plan_create_labels(NULL, 3, labels, WEFT_INTS(-1), given, &left, &made),
                    WEFT_INVALID_ARGUMENT, "label 0 of the output is -1, but labels are not negative");
}

static void plan_tensors(void **state)
{
    (void)state;
    weft_graph *graph;
    weft_einsum_plan *made;
    const shapes three = SHAPES(DIMS(2, 3), DIMS(3, 4), DIMS(4, 5));
    const weft_einsum_options sliced = {
        .order = WEFT_EINSUM_PATH, .path = WEFT_INTS(1, 2, 0, 1), .sliced = WEFT_INTS('k', 'j')};
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_test_ok(weft_einsum_plan_create_tensor(NULL, trace(graph, "ij,jk,kl->il", three, false, &sliced), &made));
    assert_string_equal(weft_einsum_plan_equation(made), "ij,jk,kl->il");
    check_value(made, 1, "jk", 12, 1);
    check_value(made, 3, "jl", 5, 60);
    check_value(made, 4, "il", 10, 120);
    check_sliced(made, 1, "");
    check_sliced(made, 3, "kj");
    check_sliced(made, 4, "j");
    assert_true(fabs(weft_einsum_plan_log10_flops(made) - log10(180)) < 1e-12);
    weft_einsum_plan_destroy(made);
    weft_graph_destroy(graph);
}

static void plan_symbolic_tensors(void **state)
{
    (void)state;
    weft_graph *graph;
    weft_einsum_plan *made;
    const shapes three = SHAPES(DIMS(0, 0), DIMS(0, 0), DIMS(0, 0));
    const weft_einsum_options left = {.order = WEFT_EINSUM_LEFT};
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor known = trace(graph, "ij,jk,kl->il", three, true, &left);
    weft_test_ok(weft_einsum_plan_create_tensor(NULL, known, &made));
    assert_string_equal(weft_einsum_plan_nested(made), "((0,1),2)");
    assert_int_equal(weft_einsum_plan_value(made, 4).open, 2);
    check_ints(weft_einsum_plan_shape(made), WEFT_INTS(-1, -1));
    weft_einsum_plan_destroy(made);
    weft_tensor late = weft_einsum(
        "ij,jk,kl->il",
        WEFT_TENSORS(weft_tensor_input(known, 0), weft_tensor_input(known, 1), weft_tensor_input(known, 2)), NULL);
    weft_test_fails(weft_einsum_plan_create_tensor(NULL, late, &made), WEFT_UNSUPPORTED,
                    "the order of \"ij,jk,kl->il\" is found at run time, from extents that are symbols");
    weft_test_fails(weft_einsum_plan_create_tensor(NULL, weft_tensor_input(known, 0), &made), WEFT_INVALID_ARGUMENT,
                    "the tensor was not made by an einsum");
    weft_graph_destroy(graph);
}

static void count_costs(void **state)
{
    weft_einsum_plan *made;
    (void)state;
    weft_test_ok(plan("ij,jk,kl->il", SHAPES(DIMS(2, 100), DIMS(100, 100), DIMS(100, 3)), NULL, &made));
    assert_string_equal(weft_einsum_plan_order(made), "0-1,0-1");
    assert_true(fabs(weft_einsum_plan_log10_flops(made) - log10(2 * 100 * 100 + 2 * 100 * 3)) < 1e-12);
    assert_true(fabs(weft_einsum_plan_log2_size(made) - log2(200)) < 1e-12);
    assert_int_equal(weft_einsum_plan_shape(made).count, 2);
    assert_int_equal(weft_einsum_plan_shape(made).items[1], 3);
    weft_einsum_plan_destroy(made);
    const int64_t huge = INT64_C(1) << 40;
    weft_test_ok(plan("ab,bc,cd,de,ea->",
                      SHAPES(DIMS(huge, huge), DIMS(huge, huge), DIMS(huge, huge), DIMS(huge, huge), DIMS(huge, huge)),
                      NULL, &made));
    assert_true(fabs(weft_einsum_plan_log10_flops(made) - log10(3) - 120 * log10(2)) < 1e-6);
    assert_true(fabs(weft_einsum_plan_log2_size(made) - 80) < 1e-12);
    weft_einsum_plan_destroy(made);
}

/* A chain of n matrices, the first with few rows, so that contracting from the left is best by far. */
static void plan_chain(size_t count, double most_log10)
{
    char text[4096], *at = text;
    weft_ints given[200];
    static const int64_t first[] = {2, 50}, other[] = {50, 50};
    for (size_t i = 0; i < count; i++) {
        at += sprintf(at, "%s[%zu %zu]", i == 0 ? "" : ",", i, i + 1);
        given[i] = (weft_ints){2, i == 0 ? first : other};
    }
    weft_einsum_plan *made;
    weft_test_ok(weft_einsum_plan_create(NULL, text, count, given, NULL, &made));
    assert_true(weft_einsum_plan_log10_flops(made) < most_log10);
    weft_ints path = weft_einsum_plan_path(made);
    assert_int_equal(path.count, 2 * (count - 1));
    weft_einsum_options again = {.order = WEFT_EINSUM_PATH, .path = path};
    weft_einsum_plan *same;
    weft_test_ok(weft_einsum_plan_create(NULL, text, count, given, &again, &same));
    assert_string_equal(weft_einsum_plan_order(made), weft_einsum_plan_order(same));
    weft_einsum_plan_destroy(same);
    weft_einsum_plan_destroy(made);
}

static void plan_well(void **state)
{
    (void)state;
    plan_chain(8, log10(7 * 2 * 50 * 50) + 1e-9);
    plan_chain(200, log10(199 * 50.0 * 50 * 50));
}

static void use_trees(void **state)
{
    (void)state;
    weft_einsum_plan *tree, *other;
    const weft_einsum_options path = {.order = WEFT_EINSUM_PATH, .path = WEFT_INTS(1, 2, 0, 1)};
    weft_test_ok(plan("ij,jk,kl->il", SHAPES(DIMS(2, 3), DIMS(3, 4), DIMS(4, 5)), &path, &tree));
    const weft_einsum_options as_tree = {.order = WEFT_EINSUM_TREE, .tree = tree};
    check_plan("i j,j k,k l->i l", SHAPES(DIMS(2, 3), DIMS(3, 4), DIMS(4, 5)), &as_tree, "1-2,0-1");
    weft_test_fails(plan("ij,jk,kl->il", SHAPES(DIMS(2, 3), DIMS(3, 6), DIMS(6, 5)), &as_tree, &other),
                    WEFT_SHAPE_MISMATCH, "the tree was planned for extent 4 at axis 1 of operand 1, which is 6");
    weft_test_fails(plan("ij,jk,kl->li", SHAPES(DIMS(2, 3), DIMS(3, 4), DIMS(4, 5)), &as_tree, &other),
                    WEFT_INVALID_ARGUMENT,
                    "the tree was planned for \"ij,jk,kl->il\" but the expression is \"ij,jk,kl->li\"");
    weft_graph *graph;
    weft_test_ok(weft_graph_create(NULL, &graph));
    trace(graph, "ij,jk,kl->il", SHAPES(DIMS(2, 3), DIMS(3, 4), DIMS(4, 5)), true, &as_tree);
    weft_test_fails(weft_status_clone(NULL, weft_graph_error(graph)), WEFT_SHAPE_MISMATCH, "which is n0_0");
    weft_graph_destroy(graph);
    weft_einsum_plan_destroy(tree);
}

/* ---- what it becomes ---- */

static void check_text(const char *expression, shapes given, bool symbolic, bool keep,
                       const weft_einsum_options *options, const char *has, const char *lacks)
{
    weft_graph *graph;
    weft_program *program;
    weft_policy policy = {.size = sizeof policy, .keep_symbolic_extensions = keep};
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor x = trace(graph, expression, given, symbolic, options);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(x), &policy, &program));
    const char *text = weft_program_text(program);
    if (strstr(text, has) == NULL || strstr(text, lacks) != NULL) fail_msg("%s: %s", expression, text);
    weft_program_release(program);
    weft_graph_destroy(graph);
}

static void lower_to_primitives(void **state)
{
    (void)state;
    const shapes two = SHAPES(DIMS(2, 3), DIMS(3, 4)), three = SHAPES(DIMS(2, 3), DIMS(3, 4), DIMS(4, 2));
    const weft_einsum_options left = {.order = WEFT_EINSUM_LEFT};
    check_text("ij,jk->ik", two, false, false, NULL, "dot(", "einsum.einsum");
    check_text("ij,jk->ik", two, true, false, NULL, "dot(", "einsum.einsum");
    check_text("ij,jk->ik", two, true, true, NULL, "einsum.einsum(", "dot(");
    check_text("ij,jk->ik", two, false, true, NULL, "dot(", "einsum.einsum");
    check_text("ij,jk,kl->il", three, true, false, NULL, "einsum.einsum(", "dot(");
    check_text("ij,jk,kl->il", three, true, false, &left, "dot(", "einsum.einsum");
    check_text("i,i->i", SHAPES(DIMS(3), DIMS(3)), false, false, NULL, "mul(", "dot(");
    check_text("i,j->ij", SHAPES(DIMS(3), DIMS(4)), false, false, NULL, "mul(", "dot(");
    check_text("ij->i", SHAPES(DIMS(3, 4)), true, false, NULL, "reduce_sum(", "einsum.einsum");
}

static void print_and_parse(void **state)
{
    (void)state;
    weft_graph *graph;
    weft_module *module;
    char *text, *again;
    const weft_extension *extensions[] = {weft_einsum_extension()};
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor x = trace(graph, " α j, j k ", SHAPES(DIMS(2, 3), DIMS(3, 4)), true, NULL);
    assert_true(weft_tensor_is_valid(x));
    weft_test_ok(weft_graph_print(WEFT_TENSORS(x), &text));
    assert_non_null(strstr(text, "jk->kα"));
    weft_test_ok(weft_graph_parse("test", text, strlen(text), NULL, 1, extensions, &module));
    weft_test_ok(weft_graph_print(module->outputs, &again));
    assert_string_equal(text, again);
    weft_text_destroy(again);
    weft_text_destroy(text);
    weft_module_destroy(module);
    weft_graph_destroy(graph);
}

/* Counting modulo 2^64 would see no path here: there are 2^66 of them. */
static void multiply_booleans(void **state)
{
    (void)state;
    enum { MATRICES = 12 };
    const int64_t shape[] = {64, 64};
    const char *text = "ab,bc,cd,de,ef,fg,gh,hi,ij,jk,kl,lm->am";
    weft_executor *executor = weft_test_einsum_executor(false);
    weft_array *all, *operands[MATRICES], *result;
    weft_test_ok(weft_array_create(NULL, WEFT_BOOL, 2, shape, &all));
    memset(weft_array_data(all), 1, 64 * 64);
    for (size_t i = 0; i < MATRICES; i++) operands[i] = all;
    weft_test_einsum call = {.text = text, .count = MATRICES, .operands = operands};
    weft_test_ok(weft_test_einsum_run(executor, &call, &result));
    assert_int_equal(weft_array_dtype(result), WEFT_BOOL);
    for (size_t i = 0; i < 64 * 64; i++) assert_int_equal(((uint8_t *)weft_array_data(result))[i], 1);
    weft_array_release(result);
    weft_array_release(all);
    weft_executor_destroy(executor);
}

/* Runs a tensor of truth values, all of which must be true. */
static void expect_true(weft_executor *executor, weft_tensor tensor, size_t count)
{
    weft_program *program;
    weft_array *result = NULL;
    weft_test_ok(weft_compile(tensor.graph, WEFT_TENSORS(tensor), NULL, &program));
    weft_test_ok(weft_executor_run(executor, program, &(weft_run){.output_count = 1, .outputs = &result}));
    assert_int_equal(weft_array_count(result), count);
    for (size_t i = 0; i < count; i++) assert_int_equal(((uint8_t *)weft_array_data(result))[i], 1);
    weft_array_release(result);
    weft_program_release(program);
}

/* Also over no axes, which is the outer product, and over all. */
static void contract_axes_of_every_dtype(void **state)
{
    (void)state;
    weft_executor *executor = weft_test_einsum_executor(false);
    for (int dtype = 0; dtype < WEFT_DTYPE_COUNT; dtype++) {
        weft_graph *graph;
        weft_test_ok(weft_graph_create(NULL, &graph));
        weft_tensor a = weft_full(graph, (weft_dtype)dtype, 1, WEFT_SHAPE(2, 3, 4));
        weft_tensor b = weft_full(graph, (weft_dtype)dtype, 1, WEFT_SHAPE(4, 5, 3));
        double twelve = dtype == WEFT_BOOL ? 1 : 12;
        weft_tensor two = weft_einsum_tensordot(a, b, WEFT_INTS(-1, 1), WEFT_INTS(0, -1));
        weft_tensor none = weft_einsum_tensordot(a, b, WEFT_INTS(), WEFT_INTS());
        weft_tensor all = weft_einsum_tensordot(a, a, WEFT_INTS(0, 1, 2), WEFT_INTS(-3, -2, -1));
        assert_int_equal(weft_tensor_rank(none), 6);
        expect_true(executor, weft_eq(two, weft_full(graph, (weft_dtype)dtype, twelve, WEFT_SHAPE(2, 5))), 10);
        expect_true(executor, weft_eq(none, weft_full(graph, (weft_dtype)dtype, 1, WEFT_SHAPE(2, 3, 4, 4, 5, 3))),
                    24 * 60);
        expect_true(executor, weft_eq(all, weft_scalar(graph, (weft_dtype)dtype, dtype == WEFT_BOOL ? 1 : 24)), 1);
        weft_graph_destroy(graph);
    }
    weft_executor_destroy(executor);
}

static void report_axes(void **state)
{
    (void)state;
    weft_graph *graph;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor a = weft_full(graph, WEFT_F32, 1, WEFT_SHAPE(2, 3)),
                b = weft_full(graph, WEFT_F32, 1, WEFT_SHAPE(3, 4, 1));
    const struct {
        weft_ints a, b;
        weft_code code;
        const char *sentence;
    } mistakes[] = {
        {WEFT_INTS(-3), WEFT_INTS(0), WEFT_OUT_OF_RANGE, "tensordot: axis -3 of a is out of range for rank 2"},
        {WEFT_INTS(0), WEFT_INTS(3), WEFT_OUT_OF_RANGE, "tensordot: axis 3 of b is out of range for rank 3"},
        {WEFT_INTS(0, 1), WEFT_INTS(1, -2), WEFT_INVALID_ARGUMENT, "tensordot: axis -2 of b is named twice"},
        {WEFT_INTS(0, 1), WEFT_INTS(1), WEFT_INVALID_ARGUMENT,
         "tensordot: axes_a has length 2 but axes_b 1; they are pairs"},
        {WEFT_INTS(0), WEFT_INTS(0), WEFT_SHAPE_MISMATCH, "tensordot: axis 0 of a has extent 2 but axis 0 of b has 3"},
        {WEFT_INTS(-1), WEFT_INTS(2), WEFT_SHAPE_MISMATCH, "tensordot: axis 1 of a has extent 3 but axis 2 of b has 1"},
    };
    for (size_t i = 0; i < COUNT_OF(mistakes); i++) {
        assert_false(weft_tensor_is_valid(weft_einsum_tensordot(a, b, mistakes[i].a, mistakes[i].b)));
        weft_test_fails(weft_status_clone(NULL, weft_graph_error(graph)), mistakes[i].code, mistakes[i].sentence);
        weft_graph_clear_error(graph);
    }
    weft_tensor open = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(weft_symbol(graph, "n", 5, 9)));
    assert_false(weft_tensor_is_valid(weft_einsum_tensordot(a, open, WEFT_INTS(1), WEFT_INTS(0))));
    weft_test_fails(weft_status_clone(NULL, weft_graph_error(graph)), WEFT_SHAPE_MISMATCH,
                    "tensordot: axis 1 of a has extent 3 but axis 0 of b has n");
    weft_graph_destroy(graph);
}

static void contract_axes(void **state)
{
    (void)state;
    weft_graph *graph;
    weft_program *program;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor a = weft_full(graph, WEFT_F64, 1, WEFT_SHAPE(2, 3, 4));
    weft_tensor b = weft_full(graph, WEFT_F64, 2, WEFT_SHAPE(3, 4, 5));
    weft_tensor x = weft_einsum_tensordot(a, b, WEFT_INTS(-2, -1), WEFT_INTS(0, 1));
    assert_int_equal(weft_tensor_rank(x), 2);
    assert_true(weft_extent_equal(weft_tensor_extent(x, 1), weft_extent_of(5)));
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(x), NULL, &program));
    weft_array *result = NULL;
    weft_executor *executor = weft_test_einsum_executor(false);
    weft_test_ok(weft_executor_run(executor, program, &(weft_run){.output_count = 1, .outputs = &result}));
    for (int i = 0; i < 10; i++) assert_true(((double *)weft_array_data(result))[i] == 24);
    weft_array_release(result);
    weft_executor_destroy(executor);
    weft_program_release(program);
    weft_graph_destroy(graph);
}

/* ---- memory running out ---- */

static weft_status *plan_once(const weft_allocator *allocator, void *context)
{
    (void)context;
    weft_einsum_plan *made;
    char text[256] = "", *at = text;
    weft_ints given[12];
    static const int64_t shape[] = {3, 3};
    for (size_t i = 0; i < 12; i++) {
        at += sprintf(at, "%s[%zu %zu]", i == 0 ? "" : ",", i, i + 1);
        given[i] = (weft_ints){2, shape};
    }
    WEFT_TRY(weft_einsum_plan_create(allocator, text, 12, given, NULL, &made));
    weft_einsum_plan_destroy(made);
    return NULL;
}

static weft_status *trace_once(const weft_allocator *allocator, void *context)
{
    weft_graph *graph;
    weft_program *program;
    WEFT_TRY(weft_graph_create(&(weft_graph_options){.allocator = allocator}, &graph));
    const weft_einsum_options nested = {.order = WEFT_EINSUM_NESTED};
    weft_tensor x = trace(graph, "(iij,...jk),kll->ik", SHAPES(DIMS(2, 2, 3), DIMS(3, 4), DIMS(4, 5, 5)),
                          *(bool *)context, &nested);
    weft_status *status = weft_compile(graph, WEFT_TENSORS(x), NULL, &program);
    if (status == NULL) weft_program_release(program);
    weft_einsum_plan *made = NULL;
    if (status == NULL) status = weft_einsum_plan_create_tensor(allocator, x, &made);
    weft_einsum_plan_destroy(made);
    weft_graph_destroy(graph);
    return status;
}

static void survive_without_memory(void **state)
{
    bool symbolic = false;
    (void)state;
    assert_true(weft_test_fail_each(plan_once, NULL) > 0);
    assert_true(weft_test_fail_each(trace_once, &symbolic) > 20);
    symbolic = true;
    assert_true(weft_test_fail_each(trace_once, &symbolic) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(report_mistakes),
        cmocka_unit_test(report_intermediates_that_overflow),
        cmocka_unit_test(name_what_was_called),
        cmocka_unit_test(report_other_dtypes_and_labels),
        cmocka_unit_test(check_extents_at_the_run),
        cmocka_unit_test(keep_the_order),
        cmocka_unit_test(print_orders),
        cmocka_unit_test(count_costs),
        cmocka_unit_test(convert_orders),
        cmocka_unit_test(read_values),
        cmocka_unit_test(plan_tensors),
        cmocka_unit_test(plan_symbolic_tensors),
        cmocka_unit_test(plan_well),
        cmocka_unit_test(use_trees),
        cmocka_unit_test(lower_to_primitives),
        cmocka_unit_test(print_and_parse),
        cmocka_unit_test(multiply_booleans),
        cmocka_unit_test(contract_axes),
        cmocka_unit_test(contract_axes_of_every_dtype),
        cmocka_unit_test(report_axes),
        cmocka_unit_test(survive_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
