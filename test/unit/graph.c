/* SPDX-License-Identifier: Apache-2.0 */
/* The graph itself: the op table, equal nodes as one, regions, copies, guards of callers, registration. */
#include <weft/ops.h>
#include <stdio.h>
#include <string.h>
#include "lib/graph/graph.h"
#include "test/support.h"

#define N(value) weft_extent_of(value)

static weft_graph *graph;

static int set_up(void **state)
{
    (void)state;
    weft_test_ok(weft_graph_create(NULL, &graph));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    weft_graph_destroy(graph);
    return 0;
}

static const char *error_message(void)
{
    const weft_status *error = weft_graph_error(graph);
    return error == NULL ? "no error" : weft_status_message(error);
}

static weft_tensor vector(weft_graph *in, const char *name)
{
    return weft_input(in, name, WEFT_F32, WEFT_SHAPE(3));
}

/* ---- the table ---- */

static void every_op_is_a_whole_row(void **state)
{
    (void)state;
    for (unsigned id = 0; id < WEFT_OP_COUNT; id++) {
        const weft_op_def *op = &weft_op_table()[id];
        assert_int_equal(op->size, sizeof *op);
        assert_int_equal(weft_op_id_of(op), id);
        assert_ptr_equal(weft_graph_find_op(graph, op->name), op);
        assert_null(strchr(op->name, '.'));
        assert_int_equal(op->version, 1);
        assert_int_equal(op->output_count, 1);
        assert_true(op->input_count >= -1 && op->input_count <= 3);
        assert_int_equal(op->op_class == WEFT_CLASS_LEAF, op->input_count == 0);
        assert_int_not_equal(op->dtypes, 0);
        assert_int_equal(op->dtypes >> WEFT_DTYPE_COUNT, 0);
        assert_non_null(op->infer);
        for (size_t i = 0; i < op->attr_count; i++) {
            assert_non_null(op->attrs[i].name);
            for (size_t j = 0; j < i; j++) assert_string_not_equal(op->attrs[i].name, op->attrs[j].name);
        }
        assert_null(op->attrs[op->attr_count].name);
    }
    assert_int_equal(weft_op_id_of(NULL), WEFT_OP_EXTENSION);
    assert_null(weft_graph_find_op(graph, "nonsense"));
    assert_null(weft_graph_find_op(graph, "none.such"));
}

static void traits_and_classes_are_as_declared(void **state)
{
    (void)state;
    const weft_op_def *table = weft_op_table();
    assert_string_equal(table[WEFT_OP_add].name, "add");
    assert_int_equal(table[WEFT_OP_add].traits, WEFT_TRAIT_COMMUTATIVE);
    assert_int_equal(table[WEFT_OP_sub].traits, 0);
    assert_int_equal(table[WEFT_OP_input].traits, 0);
    assert_int_equal(table[WEFT_OP_dot].op_class, WEFT_CLASS_PRODUCT);
    assert_int_equal(table[WEFT_OP_dot].attr_count, 4);
    assert_int_equal(table[WEFT_OP_add].attr_count, 0);
}

/* ---- equal nodes ---- */

static void equal_nodes_are_one(void **state)
{
    (void)state;
    weft_tensor x = vector(graph, "x"), y = vector(graph, "y");
    weft_tensor sum = weft_add(x, y);
    assert_int_equal(weft_add(x, y).node, sum.node);
    assert_int_equal(weft_add(y, x).node, sum.node);
    weft_tensor difference = weft_sub(x, y);
    assert_int_not_equal(difference.node, sum.node);
    assert_int_not_equal(weft_sub(y, x).node, difference.node);
    weft_extent n = weft_symbol(graph, "n", 0, 9), m = weft_symbol(graph, "m", 0, 9);
    weft_tensor a = weft_broadcast(x, WEFT_SHAPE(weft_extent_add(n, m), 3));
    assert_int_equal(weft_broadcast(x, WEFT_SHAPE(weft_extent_add(m, n), 3)).node, a.node);
    assert_int_not_equal(weft_broadcast(x, WEFT_SHAPE(n, 3)).node, a.node);
    size_t count = graph->node_count;
    static const float one = 1, minus = -0.0f, zero = 0;
    weft_tensor c = weft_constant(graph, WEFT_F32, WEFT_INTS(1), &one);
    assert_int_equal(weft_constant(graph, WEFT_F32, WEFT_INTS(1), &(float){1}).node, c.node);
    assert_int_not_equal(weft_constant(graph, WEFT_F32, WEFT_INTS(), &one).node, c.node);
    assert_int_not_equal(weft_constant(graph, WEFT_F32, WEFT_INTS(1), &minus).node,
                         weft_constant(graph, WEFT_F32, WEFT_INTS(1), &zero).node);
    assert_int_equal(graph->node_count, count + 4);
    assert_null(weft_graph_error(graph));
}

static void attributes_are_copied(void **state)
{
    (void)state;
    float data[3] = {1, 2, 3};
    char name[] = "x";
    weft_tensor x = vector(graph, name), c = weft_constant(graph, WEFT_F32, WEFT_INTS(3), data);
    data[0] = 9;
    name[0] = 'y';
    assert_string_equal(weft_graph_node(graph, x.node)->name, "x");
    assert_true(*(const float *)weft_graph_node(graph, c.node)->attrs[2].data == 1);
}

static void names_are_given(void **state)
{
    (void)state;
    weft_tensor x = vector(graph, "x"), y = weft_exp(x);
    weft_tensor_set_name(y, "layer.1");
    weft_tensor_set_name(x, "other");
    assert_string_equal(weft_graph_node(graph, y.node)->name, "layer.1");
    assert_string_equal(weft_graph_node(graph, x.node)->name, "x");
    weft_tensor_set_name((weft_tensor){0}, "nothing");
    assert_null(weft_graph_error(graph));
    static const char *const refused[] = {"", "two words", "layer 1/out", "1st", ".x", "caf\xc3\xa9"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char place[32];
        snprintf(place, sizeof place, "graph.c:%d", __LINE__ + 1);
        assert_false(weft_tensor_is_valid(weft_tensor_set_name(y, refused[i])));
        const weft_status *error = weft_graph_error(graph);
        assert_int_equal(weft_status_code(error), WEFT_INVALID_ARGUMENT);
        assert_non_null(strstr(weft_status_where(error), place));
        assert_non_null(
            strstr(weft_status_message(error), "must be a letter or _ followed by letters, digits, _ or ."));
        assert_string_equal(weft_graph_node(graph, y.node)->name, "layer.1");
        weft_graph_clear_error(graph);
    }
    weft_tensor_set_name(y, NULL);
    assert_string_equal(error_message(), "name is NULL (in tensor_set_name)");
}

/* ---- guards of callers ---- */

static void callers_may_require(void **state)
{
    (void)state;
    weft_extent n = weft_symbol(graph, "n", 2, 9), m = weft_symbol(graph, "m", 0, 20);
    assert_true(weft_require_equal(graph, n, n, "never said"));
    assert_true(weft_require_at_most(graph, N(2), n, "never said"));
    assert_int_equal(graph->guard_count, 0);
    assert_true(weft_require_equal(graph, n, m, "batch %d must agree", 7));
    assert_true(weft_require_equal(graph, m, n, "the same again"));
    assert_true(weft_require_at_most(graph, m, n, "m is too long"));
    assert_int_equal(graph->guard_count, 2);
    assert_string_equal(graph->guards[0].message, "batch 7 must agree");
    const char *none = NULL;
    assert_false((weft_require_equal)(graph, n, m, none));
    assert_string_equal(error_message(), "the message of a requirement is NULL");
    weft_graph_clear_error(graph);
    assert_false(weft_require_at_most(graph, n, N(1), "n must be 1 at most"));
    assert_string_equal(error_message(), "n must be 1 at most");
    assert_int_equal(weft_status_code(weft_graph_error(graph)), WEFT_OUT_OF_RANGE);
    assert_false(weft_require_equal(NULL, n, m, "no graph"));
    assert_int_equal(graph->guard_count, 2);
}

/* ---- regions ---- */

typedef struct loop_parts {
    weft_graph *body;
    weft_tensor parameters[3], result;
} loop_parts;

/* (index, sum, x) -> sum + x, with names that start with `prefix`. */
static loop_parts make_body(const char *prefix)
{
    loop_parts parts;
    char name[3][16];
    for (int i = 0; i < 3; i++) snprintf(name[i], sizeof name[i], "%.3s%d", prefix, i);
    weft_test_ok(weft_graph_create_region(graph, &parts.body));
    parts.parameters[0] = weft_input(parts.body, name[0], WEFT_I64, WEFT_SHAPE());
    parts.parameters[1] = vector(parts.body, name[1]);
    parts.parameters[2] = vector(parts.body, name[2]);
    parts.result = weft_add(parts.parameters[1], parts.parameters[2]);
    return parts;
}

static weft_tensor fold(weft_extent trips, int64_t carried, const loop_parts *parts, weft_tensors inputs)
{
    weft_attr attrs[] = {
        {.extents = {1, &trips}},
        {.region = {parts->body, {3, parts->parameters}, {1, &parts->result}}},
        {.integer = carried},
    };
    return weft_trace(graph, "fold", inputs, attrs);
}

static void equal_regions_are_one(void **state)
{
    (void)state;
    weft_extent n = weft_symbol(graph, "n", 0, 9);
    weft_tensor x = vector(graph, "x"), y = vector(graph, "y");
    loop_parts one = make_body("p"), two = make_body("q"), other = make_body("p");
    weft_exp(two.result); /* dead: no part of the content */
    weft_tensor first = fold(n, 1, &one, WEFT_TENSORS(x, y));
    assert_string_equal(error_message(), "no error");
    assert_int_equal(weft_graph_node(graph, first.node)->output_count, 1);
    assert_int_equal(fold(n, 1, &two, WEFT_TENSORS(x, y)).node, first.node);
    assert_int_not_equal(fold(n, 1, &two, WEFT_TENSORS(y, x)).node, first.node);
    other.result = weft_sub(other.parameters[1], other.parameters[2]);
    assert_int_not_equal(fold(n, 1, &other, WEFT_TENSORS(x, y)).node, first.node);
}

static void regions_must_fit_their_op(void **state)
{
    (void)state;
    weft_extent n = weft_symbol(graph, "n", 0, 9);
    weft_tensor x = vector(graph, "x"), y = weft_input(graph, "y", WEFT_F32, WEFT_SHAPE(4));
    loop_parts body = make_body("p");
    fold(n, 3, &body, WEFT_TENSORS(x, x));
    assert_string_equal(error_message(), "fold: carried is 3, but must be at least 1 and no more than the operands, 2");
    weft_graph_clear_error(graph);
    fold(n, 2, &body, WEFT_TENSORS(x, x));
    assert_string_equal(error_message(), "fold: body has 1 result but needs 2");
    weft_graph_clear_error(graph);
    fold(n, 1, &body, WEFT_TENSORS(x, y));
    assert_string_equal(error_message(), "fold: parameter 2 of body has type f32[3] but needs f32[4]");
    weft_graph_clear_error(graph);
    fold(N(-1), 1, &body, WEFT_TENSORS(x, x));
    assert_string_equal(error_message(), "fold: trips is -1, below 0");
    weft_graph_clear_error(graph);
    body.result = weft_exp(vector(body.body, "free"));
    fold(n, 1, &body, WEFT_TENSORS(x, x));
    assert_string_equal(error_message(), "a region needs input free, which is none of its parameters");
    weft_graph_clear_error(graph);
    body.body = graph;
    fold(n, 1, &body, WEFT_TENSORS(x, x));
    assert_string_equal(error_message(), "fold: body is not a region of this graph");
}

static void errors_and_guards_of_regions_are_the_graphs(void **state)
{
    (void)state;
    weft_extent n = weft_symbol(graph, "n", 0, 9), m = weft_symbol(graph, "m", 0, 9);
    weft_graph *region;
    weft_test_ok(weft_graph_create_region(graph, &region));
    weft_tensor a = weft_input(region, "a", WEFT_F32, WEFT_SHAPE(n));
    weft_tensor b = weft_input(region, "b", WEFT_F32, WEFT_SHAPE(m));
    assert_true(weft_tensor_is_valid(weft_add(a, b)));
    assert_int_equal(graph->guard_count, 1);
    assert_false(weft_tensor_is_valid(weft_and(a, b)));
    assert_non_null(weft_graph_error(graph));
    assert_ptr_equal(weft_graph_error(graph), weft_graph_error(region));
}

static weft_tensor branch(weft_tensor predicate, weft_tensor x, weft_dtype other)
{
    weft_graph *regions[2];
    weft_tensor parameters[2], results[2];
    for (int i = 0; i < 2; i++) {
        weft_test_ok(weft_graph_create_region(graph, &regions[i]));
        parameters[i] = vector(regions[i], "x");
        results[i] = i == 0 ? weft_neg(parameters[i]) : weft_cast(parameters[i], other);
    }
    weft_attr attrs[] = {{.region = {regions[0], {1, &parameters[0]}, {1, &results[0]}}},
                         {.region = {regions[1], {1, &parameters[1]}, {1, &results[1]}}}};
    return weft_trace(graph, "cond", WEFT_TENSORS(predicate, x), attrs);
}

static void branches_must_agree(void **state)
{
    (void)state;
    weft_tensor p = weft_input(graph, "p", WEFT_BOOL, WEFT_SHAPE()), x = vector(graph, "x");
    assert_int_equal(weft_tensor_dtype(branch(p, x, WEFT_F32)), WEFT_F32);
    assert_string_equal(error_message(), "no error");
    branch(p, x, WEFT_F64);
    assert_string_equal(error_message(), "cond: result 0 of else has type f64[3] but needs f32[3]");
    weft_graph_clear_error(graph);
    branch(x, x, WEFT_F32);
    assert_string_equal(error_message(), "cond: operand 0 has type f32[3] but needs bool[]");
}

static void loops_carry_several_values(void **state)
{
    (void)state;
    weft_graph *regions[2];
    weft_tensor parameters[2][2], results[2];
    for (int i = 0; i < 2; i++) {
        weft_test_ok(weft_graph_create_region(graph, &regions[i]));
        parameters[i][0] = vector(regions[i], "a");
        parameters[i][1] = weft_input(regions[i], "b", WEFT_I64, WEFT_SHAPE());
    }
    weft_tensor go = weft_lt(parameters[0][1], weft_scalar(regions[0], WEFT_I64, 5));
    results[0] = weft_exp(parameters[1][0]);
    results[1] = weft_add(parameters[1][1], weft_scalar(regions[1], WEFT_I64, 1));
    weft_attr attrs[] = {{.integer = 2},
                         {.region = {regions[0], {2, parameters[0]}, {1, &go}}},
                         {.region = {regions[1], {2, parameters[1]}, {2, results}}}};
    weft_tensor loop =
        weft_trace(graph, "while", WEFT_TENSORS(vector(graph, "x"), weft_scalar(graph, WEFT_I64, 0)), attrs);
    assert_string_equal(error_message(), "no error");
    weft_tensor counter = {graph, loop.node, 1};
    assert_true(weft_tensor_is_valid(counter));
    assert_int_equal(weft_tensor_dtype(counter), WEFT_I64);
    assert_false(weft_tensor_is_valid((weft_tensor){graph, loop.node, 2}));
}

/* ---- copies ---- */

static char *print(weft_graph *of, weft_value value)
{
    char *text;
    weft_tensor tensor = {of, value.node, value.output};
    weft_test_ok(weft_graph_print((weft_tensors){1, &tensor}, &text));
    return text;
}

static void copies_print_alike(void **state)
{
    (void)state;
    weft_extent n = weft_symbol(graph, "n", 1, 9), m = weft_symbol(graph, "m", 1, 9), k = weft_symbol(graph, "k", 1, 9);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(n, 3));
    weft_tensor y = weft_input(graph, "y", WEFT_F32, WEFT_SHAPE(m, 3));
    weft_tensor dead = weft_add(x, weft_input(graph, "z", WEFT_F32, WEFT_SHAPE(k, 3)));
    loop_parts body = make_body("p");
    weft_tensor folded =
        fold(n, 1, &body, WEFT_TENSORS(weft_reduce_sum(weft_add(x, y), WEFT_INTS(0), false), vector(graph, "v")));
    assert_true(weft_tensor_is_valid(dead) && weft_tensor_is_valid(folded));
    weft_tensor_set_name(folded, "total");
    assert_true(weft_require_at_most(graph, n, k, "n is too large"));
    weft_graph *copy;
    weft_test_ok(weft_graph_create(NULL, &copy));
    weft_value from = {folded.node, 0}, to;
    weft_test_ok(weft_graph_copy(graph, copy, 1, &from, &to));
    char *texts[] = {print(graph, from), print(copy, to)};
    assert_string_equal(texts[0], texts[1]);
    weft_text_destroy(texts[0]);
    weft_text_destroy(texts[1]);
    assert_int_equal(graph->guard_count, 3);
    assert_int_equal(copy->guard_count, 2);
    assert_string_equal(copy->guards[0].message, "n is too large");
    assert_string_equal(
        copy->guards[1].message,
        "add: axis 0 of operand 0 has extent n but axis 0 of operand 1 has m (operand 0 is x, operand 1 is y)");
    assert_int_equal(copy->node_count, 6);
    weft_graph_destroy(copy);
}

static void marking_follows_operands(void **state)
{
    (void)state;
    weft_tensor x = vector(graph, "x"), y = vector(graph, "y"), dead = weft_exp(y), z = weft_neg(weft_exp(x));
    uint8_t live[8];
    memset(live, 7, sizeof live);
    weft_value output = {z.node, 0};
    weft_graph_mark(graph, 1, &output, live);
    assert_int_equal(live[x.node], 1);
    assert_int_equal(live[y.node], 0);
    assert_int_equal(live[dead.node], 0);
    assert_int_equal(live[z.node], 1);
    assert_int_equal(live[graph->node_count], 7);
}

/* ---- extensions ---- */

static weft_status *infer_twin(const weft_infer_context *context, weft_type *out_types)
{
    if (!weft_require_equal(context->graph, context->inputs[0].shape.extents[0], N(3), "demo.twin: the axis must be 3"))
        return NULL;
    weft_extent *extents = context->allocate(context, sizeof *extents);
    if (extents == NULL) return weft_status_out_of_memory();
    extents[0] = weft_extent_mul(context->inputs[0].shape.extents[0], context->attrs[0].extents.extents[0]);
    out_types[0] = context->inputs[0];
    out_types[1] = (weft_type){WEFT_F64, {1, extents}};
    return NULL;
}

/* Against the rules: it makes a tensor. */
static weft_status *infer_tracing(const weft_infer_context *context, weft_type *out_types)
{
    out_types[0] = out_types[1] = context->inputs[0];
    (weft_input)(context->graph, "more", WEFT_F32, WEFT_SHAPE(2));
    return NULL;
}

static weft_status *kernel_none(const weft_kernel_context *context)
{
    (void)context;
    return NULL;
}

static const weft_attr_def twin_attrs[] = {{"factor", WEFT_ATTR_EXTENT}};
static const weft_op_def twin = {.size = sizeof twin,
                                 .name = "demo.twin",
                                 .version = 1,
                                 .input_count = 1,
                                 .output_count = 2,
                                 .op_class = WEFT_CLASS_OPAQUE,
                                 .attr_count = 1,
                                 .attrs = twin_attrs,
                                 .infer = infer_twin,
                                 .kernel = kernel_none};
static const weft_op_def tracer = {.size = sizeof tracer,
                                   .name = "demo.tracer",
                                   .version = 1,
                                   .input_count = 1,
                                   .output_count = 2,
                                   .op_class = WEFT_CLASS_OPAQUE,
                                   .infer = infer_tracing,
                                   .kernel = kernel_none};
static const weft_op_def *const demo_ops[] = {&twin, &tracer};
static const weft_extension demo = {
    .size = sizeof demo, .family = "demo", .version = "1", .op_count = 2, .ops = demo_ops};

static void extensions_trace_like_builtins(void **state)
{
    (void)state;
    static weft_extension another;
    another = demo;
    weft_test_ok(weft_graph_register(graph, &demo));
    weft_test_ok(weft_graph_register(graph, &demo));
    weft_test_fails(weft_graph_register(graph, &another), WEFT_INVALID_ARGUMENT,
                    "family demo is registered already, with another table");
    weft_test_fails(weft_graph_register(graph, NULL), WEFT_INVALID_ARGUMENT, "the extension table is NULL");
    assert_ptr_equal(weft_graph_find_op(graph, "demo.twin"), &twin);
    assert_int_equal(weft_op_id_of(&twin), WEFT_OP_EXTENSION);
    weft_extent n = weft_symbol(graph, "n", 1, 9);
    weft_attr attr = {.extents = {1, &n}};
    weft_tensor x = weft_trace(graph, "demo.twin", WEFT_TENSORS(vector(graph, "x")), &attr);
    assert_string_equal(error_message(), "no error");
    weft_type type = {weft_tensor_dtype((weft_tensor){graph, x.node, 1}),
                      weft_tensor_shape((weft_tensor){graph, x.node, 1})};
    assert_string_equal(weft_type_describe(&type).text, "f64[3*n]");
    weft_tensor y = weft_input(graph, "y", WEFT_F32, WEFT_SHAPE(4));
    assert_false(weft_tensor_is_valid(weft_trace(graph, "demo.twin", WEFT_TENSORS(y), &attr)));
    assert_string_equal(error_message(), "demo.twin: the axis must be 3");
}

static void infer_must_not_trace(void **state)
{
    (void)state;
    weft_test_ok(weft_graph_register(graph, &demo));
    weft_tensor x = vector(graph, "x");
    size_t nodes = graph->node_count;
    assert_false(weft_tensor_is_valid(weft_trace(graph, "demo.tracer", WEFT_TENSORS(x), NULL)));
    assert_string_equal(error_message(), "demo.tracer: infer must not trace, but traces input");
    assert_int_equal(graph->node_count, nodes);
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(every_op_is_a_whole_row),
        UNIT(traits_and_classes_are_as_declared),
        UNIT(equal_nodes_are_one),
        UNIT(attributes_are_copied),
        UNIT(names_are_given),
        UNIT(callers_may_require),
        UNIT(equal_regions_are_one),
        UNIT(regions_must_fit_their_op),
        UNIT(errors_and_guards_of_regions_are_the_graphs),
        UNIT(branches_must_agree),
        UNIT(loops_carry_several_values),
        UNIT(copies_print_alike),
        UNIT(marking_follows_operands),
        UNIT(extensions_trace_like_builtins),
        UNIT(infer_must_not_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
