/* SPDX-License-Identifier: Apache-2.0 */
/* What gradients are made of: how many nodes, which guards, and how cotangents of parts are added. Their numbers are
 * compared in test/grad. */
#include "test/support.h"
#include <string.h>
#include <weft/weft.h>
#include "lib/graph/graph.h"

enum { PARTS = 3 };

typedef struct scene {
    weft_graph *graph;
    weft_extent n;
    weft_tensor x, y, v; /* f64[n, 6, n], f64[n, 6, n], f64[] */
    weft_tensor index;   /* i64[3] */
    weft_tensor start;   /* i64[] */
} scene;

static scene scene_create(void)
{
    scene s;
    weft_test_ok(weft_graph_create(NULL, &s.graph));
    s.n = weft_symbol(s.graph, "n", 0, 1000);
    s.x = weft_input(s.graph, "x", WEFT_F64, WEFT_SHAPE(s.n, 6, s.n));
    s.y = weft_input(s.graph, "y", WEFT_F64, WEFT_SHAPE(s.n, 6, s.n));
    s.v = weft_input(s.graph, "v", WEFT_F64, WEFT_SHAPE());
    s.index = weft_input(s.graph, "index", WEFT_I64, WEFT_SHAPE(3));
    s.start = weft_input(s.graph, "start", WEFT_I64, WEFT_SHAPE());
    return s;
}

/* ---- guards: those of the value are all that its derivatives need ---- */

static weft_extent less(weft_extent extent, int64_t by)
{
    return weft_extent_sub(extent, weft_extent_of(by));
}

static weft_tensor slice(const scene *s)
{
    return weft_slice(s->x, WEFT_SHAPE(2, 5, 1), WEFT_SHAPE(less(s->n, 2), 2, weft_extent_div(s->n, weft_extent_of(3))),
                      WEFT_INTS(1, -4, 3));
}

static weft_tensor slice_back(const scene *s)
{
    weft_extent half = weft_extent_div(s->n, weft_extent_of(2));
    return weft_slice(s->x, WEFT_SHAPE(less(s->n, 1), 0, less(s->n, 3)), WEFT_SHAPE(s->n, 1, half),
                      WEFT_INTS(-1, INT64_MAX, -2));
}

static weft_tensor part_by_symbols(const scene *s)
{
    weft_extent start = weft_symbol(s->graph, "start", 0, 1000), size = weft_symbol(s->graph, "size", 0, 1000);
    weft_tensor part = weft_narrow(s->x, 0, start, size);
    return weft_slice(part, WEFT_SHAPE(0, 0, size), WEFT_SHAPE(size, 1, start), WEFT_INTS(1, 1, -2));
}

static weft_tensor pad_by_symbols(const scene *s)
{
    weft_extent low = weft_extent_sub(weft_symbol(s->graph, "wanted", 0, 1000), s->n);
    return weft_pad(s->x, s->v, WEFT_SHAPE(low, 0, 0), WEFT_SHAPE(0, 0, low));
}

static weft_tensor pad(const scene *s)
{
    return weft_pad(s->x, s->v, WEFT_SHAPE(less(s->n, 4), 0, 1), WEFT_SHAPE(0, s->n, 2));
}

static weft_tensor concat(const scene *s)
{
    return weft_concat(WEFT_TENSORS(s->x, s->y, s->x), -1);
}

static weft_tensor split(const scene *s)
{
    weft_tensor parts[PARTS];
    weft_split(s->x, 0, PARTS, parts);
    return weft_mul(parts[0], parts[PARTS - 1]);
}

static weft_tensor windows(const scene *s)
{
    return weft_window(s->x, 0, weft_extent_of(3), 2, 1);
}

static weft_tensor diagonals(const scene *s)
{
    return weft_embed_diagonal(weft_extract_diagonal(s->x, 0, 2), 1, 0);
}

static weft_tensor gather(const scene *s)
{
    return weft_gather_axes(s->x, WEFT_TENSORS(s->index, s->index), WEFT_INTS(0, 2));
}

static weft_tensor dynamic(const scene *s)
{
    weft_tensor part = weft_dynamic_slice(s->x, WEFT_TENSORS(s->start), WEFT_INTS(2), WEFT_SHAPE(less(s->n, 7)));
    return weft_dynamic_update_slice(s->y, part, WEFT_TENSORS(s->start), WEFT_INTS(2));
}

static weft_tensor reductions(const scene *s)
{
    weft_tensor product = weft_reduce_prod(s->x, WEFT_INTS(0, 2), true);
    return weft_add(weft_reduce_max(weft_mul(s->x, product), WEFT_INTS(0, 1), true), s->v);
}

static weft_tensor scans(const scene *s)
{
    return weft_cumsum(weft_cummax(s->x, 2, true, true), 0, false, true);
}

static weft_tensor sorted(const scene *s)
{
    return weft_sort(s->x, 2, false);
}

static const struct guarded {
    const char *name;
    weft_tensor (*trace)(const scene *s);
} guarded[] = {
    {"slice", slice},
    {"slice_back", slice_back},
    {"part_by_symbols", part_by_symbols},
    {"pad_by_symbols", pad_by_symbols},
    {"pad", pad},
    {"concat", concat},
    {"split", split},
    {"windows", windows},
    {"diagonals", diagonals},
    {"gather", gather},
    {"dynamic", dynamic},
    {"reductions", reductions},
    {"scans", scans},
    {"sorted", sorted},
};

/* First and second derivatives. */
static void trace_derivatives(const scene *s, weft_tensor value)
{
    weft_tensor wrt[] = {s->x, s->y, s->v}, made[3], pushed;
    weft_tensors all = {3, wrt};
    weft_tensor square = weft_reduce_sum(weft_mul(value, value), WEFT_INTS(0), false);
    while (weft_tensor_rank(square) > 0) square = weft_reduce_sum(square, WEFT_INTS(0), false);
    weft_jvp(WEFT_TENSORS(value), all, all, &pushed);
    weft_hvp(square, all, all, made);
}

static void derivatives_add_no_guards(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof guarded / sizeof *guarded; i++) {
        scene s = scene_create();
        weft_tensor value = guarded[i].trace(&s);
        size_t count = s.graph->guard_count;
        trace_derivatives(&s, value);
        if (weft_graph_error(s.graph) != NULL)
            fail_msg("%s: %s", guarded[i].name, weft_status_message(weft_graph_error(s.graph)));
        if (s.graph->guard_count > count) fail_msg("%s: %s", guarded[i].name, s.graph->guards[count].message);
        weft_graph_destroy(s.graph);
    }
}

/* ---- how much is traced ---- */

static weft_tensor perceptron(const scene *s)
{
    weft_tensor x = weft_input(s->graph, "pictures", WEFT_F32, WEFT_SHAPE(s->n, 784));
    weft_tensor labels = weft_input(s->graph, "labels", WEFT_I64, WEFT_SHAPE(s->n));
    static const int64_t widths[] = {784, 256, 64, 10};
    for (size_t i = 0; i < 3; i++) {
        char name[] = {'w', (char)('0' + i), 0};
        weft_tensor w = weft_input(s->graph, name, WEFT_F32, WEFT_SHAPE(widths[i], widths[i + 1]));
        x = weft_matmul(x, w);
        if (i < 2) x = weft_relu(x);
    }
    return weft_cross_entropy(x, labels, 1, NULL);
}

static weft_tensor transformer(const scene *s)
{
    weft_tensor x = weft_input(s->graph, "tokens", WEFT_F32, WEFT_SHAPE(s->n, 8, 64)), heads[3];
    weft_tensor scale = weft_input(s->graph, "scale", WEFT_F32, WEFT_SHAPE(64));
    weft_tensor w = weft_input(s->graph, "w", WEFT_F32, WEFT_SHAPE(64, 192));
    weft_tensor h = weft_layer_norm(x, 1, &(weft_norm_options){.scale = scale});
    weft_split(weft_matmul(h, w), 2, 3, heads);
    h = weft_add(x, weft_attention(heads[0], heads[1], heads[2], NULL));
    return weft_gelu(weft_layer_norm(h, 1, NULL));
}

static weft_tensor network(const scene *s)
{
    weft_tensor x = weft_input(s->graph, "images", WEFT_F32, WEFT_SHAPE(2, 3, 16, 16));
    weft_tensor w = weft_input(s->graph, "filters", WEFT_F32, WEFT_SHAPE(8, 3, 3, 3));
    x = weft_relu(weft_conv(x, w, &(weft_conv_options){.stride = WEFT_INTS(2, 2)}));
    return weft_softmax(weft_reduce_max(x, WEFT_INTS(2, 3), false), 1);
}

static weft_tensor sum_all(weft_tensor x)
{
    while (weft_tensor_rank(x) > 0) x = weft_reduce_sum(x, WEFT_INTS(0), false);
    return x;
}

static void gradients_trace_few_nodes(void **state)
{
    (void)state;
    weft_tensor (*const models[])(const scene *s) = {perceptron, transformer, network};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        scene s = scene_create();
        weft_tensor loss = sum_all(models[i](&s)), wrt[32], made[32];
        size_t count = s.graph->node_count, inputs = 0;
        for (uint32_t n = 0; n < count; n++) {
            const weft_node *node = weft_graph_node(s.graph, n);
            weft_dtype dtype = node->types[0].dtype;
            if (weft_op_id_of(node->op) == WEFT_OP_input && dtype == weft_tensor_dtype(loss))
                wrt[inputs++] = (weft_tensor){s.graph, n, 0};
        }
        weft_grad(loss, (weft_tensors){inputs, wrt}, made);
        assert_null(weft_graph_error(s.graph));
        assert_true(s.graph->node_count - count <= 6 * count);
        weft_graph_destroy(s.graph);
    }
}

/* ---- cotangents of parts ---- */

/* Nodes of `graph` from `first` on of the op, and of the shape of `like` if that is a tensor. */
static size_t count_nodes(const weft_graph *graph, size_t first, weft_op_id op, weft_tensor like)
{
    size_t count = 0;
    for (size_t n = first; n < graph->node_count; n++) {
        const weft_node *node = weft_graph_node(graph, (uint32_t)n);
        bool same = weft_op_id_of(node->op) == op;
        if (like.graph != NULL) {
            weft_shape shape = weft_tensor_shape(like), own = node->types[0].shape;
            same = same && own.rank == shape.rank;
            for (size_t i = 0; i < shape.rank && same; i++) same = weft_extent_equal(own.extents[i], shape.extents[i]);
        }
        count += same;
    }
    return count;
}

static void parts_side_by_side_are_joined(void **state)
{
    (void)state;
    for (size_t left_out = 0; left_out < 2; left_out++) {
        scene s = scene_create();
        weft_tensor parts[PARTS], total = s.v, made;
        weft_split(s.x, 1, PARTS, parts);
        for (size_t i = PARTS; i-- > left_out;) total = weft_add(total, sum_all(weft_sin(parts[i])));
        size_t first = s.graph->node_count;
        weft_grad(total, WEFT_TENSORS(s.x), &made);
        assert_int_equal(count_nodes(s.graph, first, WEFT_OP_concat, WEFT_NO_TENSOR), 1);
        assert_int_equal(count_nodes(s.graph, first, WEFT_OP_add, s.x), 0);
        assert_int_equal(weft_op_id_of(weft_graph_node(s.graph, made.node)->op),
                         left_out == 0 ? WEFT_OP_concat : WEFT_OP_pad);
        weft_graph_destroy(s.graph);
    }
}

static void other_parts_are_added(void **state)
{
    (void)state;
    scene s = scene_create();
    weft_tensor low = weft_narrow(s.x, 1, weft_extent_of(0), weft_extent_of(4)), made;
    weft_tensor high = weft_narrow(s.x, 1, weft_extent_of(2), weft_extent_of(4));
    weft_tensor none = weft_narrow(s.x, 0, weft_extent_of(0), weft_extent_of(0));
    weft_tensor total = weft_add(weft_add(sum_all(weft_sin(low)), sum_all(weft_sin(high))), sum_all(weft_sin(none)));
    size_t first = s.graph->node_count;
    weft_grad(total, WEFT_TENSORS(s.x), &made);
    assert_int_equal(count_nodes(s.graph, first, WEFT_OP_concat, WEFT_NO_TENSOR), 0);
    assert_int_equal(count_nodes(s.graph, first, WEFT_OP_add, s.x), 1);
    weft_graph_destroy(s.graph);
}

/* Adds the sine of row `index`, taken by a slice or by an index, to what is carried. */
static void add_row(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const scene *s = context;
    weft_tensor by_slice = weft_dynamic_slice(s->x, WEFT_TENSORS(index), WEFT_INTS(0), WEFT_SHAPE(1));
    weft_tensor by_index = weft_gather(s->y, index, 0);
    out_next[0] = weft_add(carried[0], weft_add(sum_all(weft_sin(by_slice)), sum_all(weft_sin(by_index))));
}

/* A whole array of zeros with one row in it, added in each iteration, would take time by the square of n. */
static void rows_are_added_in_place(void **state)
{
    (void)state;
    scene s = scene_create();
    weft_tensor total = weft_fold(s.n, WEFT_TENSORS(s.v), add_row, &s, NULL), made[2];
    weft_grad(total, WEFT_TENSORS(s.x, s.y), made);
    assert_null(weft_graph_error(s.graph));
    const weft_node *loop = weft_graph_node(s.graph, made[0].node);
    assert_int_equal(weft_op_id_of(loop->op), WEFT_OP_fold);
    const weft_region *body = &loop->attrs[1].region;
    for (size_t k = 0; k < 2; k++) {
        weft_tensor sum = body->results.items[made[k].output];
        const weft_node *update = weft_graph_node(body->graph, sum.node);
        assert_int_equal(weft_op_id_of(update->op), k == 0 ? WEFT_OP_dynamic_update_slice : WEFT_OP_scatter);
        assert_int_equal(update->inputs[0].node, body->parameters.items[1 + made[k].output].node);
    }
    weft_graph_destroy(s.graph);
}

static void square(void *context, const weft_tensor *inputs, weft_tensor *out_results)
{
    (void)context;
    out_results[0] = weft_mul(inputs[0], inputs[0]);
}

static void scale(void *context, weft_tensors inputs, weft_tensors results, weft_tensors cotangents,
                  weft_tensor *out_cotangents)
{
    (void)inputs, (void)results;
    out_cotangents[0] = weft_mul(cotangents.items[0], *(const double *)context);
}

static void square_by_rule(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)index;
    out_next[0] = weft_custom_gradient(WEFT_TENSORS(carried[0]), 1, square, NULL, context, NULL);
}

static void square_row(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context, (void)index;
    square(NULL, carried, out_next);
}

/* Equal loops are one, unless their derivatives differ: by a rule in the body, or by what is stored. */
static void loops_with_derivatives_of_their_own_are_apart(void **state)
{
    (void)state;
    scene s = scene_create();
    weft_tensors initial = WEFT_TENSORS(s.v);
    static double three = 3, five = 5;
    weft_gradient_rule rules[2] = {{.context = &three, .vjp = scale}, {.context = &five, .vjp = scale}};
    weft_extent trips = weft_extent_of(2);
    weft_tensor loops[] = {weft_fold(trips, initial, square_by_rule, &rules[0], NULL),
                           weft_fold(trips, initial, square_by_rule, &rules[1], NULL),
                           weft_fold(trips, initial, square_row, NULL, NULL),
                           weft_fold_with_snapshots(trips, 1, initial, square_row, NULL, NULL),
                           weft_fold_with_snapshots(trips, 2, initial, square_row, NULL, NULL)};
    for (size_t a = 0; a < 5; a++)
        for (size_t b = 0; b < a; b++) assert_true(loops[a].node != loops[b].node);
    weft_tensor again = weft_fold(trips, initial, square_row, NULL, NULL);
    assert_int_equal(again.node, loops[2].node);
    assert_null(weft_graph_error(s.graph));
    weft_graph_destroy(s.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derivatives_add_no_guards),
        cmocka_unit_test(gradients_trace_few_nodes),
        cmocka_unit_test(parts_side_by_side_are_joined),
        cmocka_unit_test(other_parts_are_added),
        cmocka_unit_test(rows_are_added_in_place),
        cmocka_unit_test(loops_with_derivatives_of_their_own_are_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
