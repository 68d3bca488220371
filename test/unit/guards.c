/* SPDX-License-Identifier: Apache-2.0 */
/* What compositions require of extents has to hold in programs that need their results, and in no others. */
#include "test/support.h"
#include <string.h>
#include <weft/weft.h>
#include "lib/graph/graph.h"

enum { PARTS = 3 };

typedef struct scene {
    weft_graph *graph;
    weft_tensor x, channels; /* f32[n, 4, 9], f32[4, n, 9] */
    weft_tensor row, classes;
} scene;

static scene scene_create(void)
{
    scene s;
    weft_test_ok(weft_graph_create(NULL, &s.graph));
    weft_extent n = weft_symbol(s.graph, "n", 0, 100);
    s.x = weft_input(s.graph, "x", WEFT_F32, WEFT_SHAPE(n, 4, 9));
    s.channels = weft_transpose(s.x, 0, 1);
    s.row = weft_input(s.graph, "row", WEFT_F32, WEFT_SHAPE(6));
    s.classes = weft_input(s.graph, "classes", WEFT_I64, WEFT_SHAPE(6));
    return s;
}

static weft_tensor at(const scene *s)
{
    return weft_at(s->x, 5);
}

static weft_tensor set_at(const scene *s)
{
    return weft_set_at(s->x, weft_scalar(s->graph, WEFT_F32, 1), 5);
}

static weft_tensor split(const scene *s)
{
    weft_tensor parts[PARTS];
    weft_split(s->x, 0, PARTS, parts);
    return parts[PARTS - 1];
}

static weft_tensor split_at(const scene *s)
{
    weft_tensor parts[PARTS];
    weft_split_at(s->x, 0, WEFT_SHAPE(2, 2, 2), parts);
    return parts[1];
}

static weft_tensor top_k(const scene *s)
{
    weft_tensor indices;
    weft_top_k(s->x, 0, weft_extent_of(6), false, &indices);
    return indices;
}

static weft_tensor median(const scene *s)
{
    return weft_median(s->x, 0, false);
}

static weft_tensor group_norm(const scene *s)
{
    return weft_group_norm(s->channels, 3, NULL);
}

static weft_tensor batch_norm(const scene *s)
{
    return weft_batch_norm(s->channels, s->row, s->row, NULL);
}

static weft_tensor batch_norm_train(const scene *s)
{
    return weft_batch_norm_train(s->channels, &(weft_norm_options){.scale = s->row}, NULL, NULL);
}

static weft_tensor batch_mean(const scene *s)
{
    weft_tensor mean;
    weft_batch_norm_train(s->channels, &(weft_norm_options){.scale = s->row}, &mean, NULL);
    return mean;
}

static weft_tensor nll_loss(const scene *s)
{
    return weft_nll_loss(weft_reduce_sum(s->x, WEFT_INTS(2), false), s->classes, 1, NULL);
}

static weft_tensor cross_entropy(const scene *s)
{
    return weft_cross_entropy(weft_reduce_sum(s->x, WEFT_INTS(2), false), s->classes, 1, NULL);
}

static weft_tensor conv(const scene *s)
{
    weft_tensor kernel = weft_input(s->graph, "kernel", WEFT_F32, WEFT_SHAPE(6, 2, 3));
    return weft_conv(s->channels, kernel, &(weft_conv_options){.groups = 3});
}

static weft_tensor conv_transpose(const scene *s)
{
    weft_tensor kernel = weft_input(s->graph, "kernel", WEFT_F32, WEFT_SHAPE(6, 2, 3));
    return weft_conv_transpose(s->channels, kernel, &(weft_conv_options){.groups = 3});
}

static weft_tensor (*const compositions[])(const scene *s) = {
    at,         set_at,           split,      split_at, top_k,         median, group_norm,
    batch_norm, batch_norm_train, batch_mean, nll_loss, cross_entropy, conv,   conv_transpose,
};

static size_t guards_of(weft_graph *graph, weft_tensor output)
{
    static const char guard[] = "\nrequire ";
    weft_program *program;
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(output), NULL, &program));
    size_t count = 0;
    for (const char *found = strstr(weft_program_text(program), guard); found != NULL; count++)
        found = strstr(found + 1, guard);
    weft_program_release(program);
    return count;
}

/* Guards between the same two know the one before, and the last. */
static void check_chains(const weft_graph *graph)
{
    for (size_t i = 0; i < graph->guard_count; i++) {
        const weft_guard *guard = &graph->guards[i];
        size_t before = 0, last = 0;
        for (size_t k = 0; k < graph->guard_count; k++) {
            const weft_guard *other = &graph->guards[k];
            bool straight = guard->a == other->a && guard->b == other->b;
            bool across = guard->kind == WEFT_GUARD_EQUAL && guard->a == other->b && guard->b == other->a;
            if (guard->kind != other->kind || (!straight && !across)) continue;
            if (k < i) before = k + 1;
            last = k + 1;
        }
        assert_int_equal(guard->before, before);
        assert_int_equal(*guard->last, last);
    }
}

static void unused_results_require_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof compositions / sizeof *compositions; i++) {
        scene s = scene_create();
        weft_tensor result = compositions[i](&s), other = weft_neg(s.x);
        assert_true(weft_tensor_is_valid(result));
        assert_int_equal(guards_of(s.graph, other), 0);
        size_t count = guards_of(s.graph, result);
        assert_int_not_equal(count, 0);
        compositions[i](&s);
        check_chains(s.graph);
        assert_int_equal(guards_of(s.graph, weft_neg(result)), count);
        assert_int_equal(guards_of(s.graph, weft_neg(other)), 0);
        weft_graph_destroy(s.graph);
    }
}

/* Whichever comes first: a caller's own requirement stays. */
static void requirements_of_callers_count_always(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        scene s = scene_create();
        weft_extent n = weft_tensor_extent(s.x, 0);
        if (first == 0) assert_true(weft_require_at_most(s.graph, weft_extent_of(6), n, "n is less than 6"));
        at(&s);
        if (first == 1) assert_true(weft_require_at_most(s.graph, weft_extent_of(6), n, "n is less than 6"));
        assert_int_equal(guards_of(s.graph, weft_neg(s.x)), 1);
        weft_graph_destroy(s.graph);
    }
}

static void fail_conv(const scene *s)
{
    weft_tensor kernel = weft_input(s->graph, "kernel", WEFT_F32, WEFT_SHAPE(5, 2, 3));
    assert_false(weft_tensor_is_valid(weft_conv(s->channels, kernel, &(weft_conv_options){.groups = 3})));
}

static void fail_at(const scene *s)
{
    assert_false(weft_tensor_is_valid(weft_at(s->x, 5, 4)));
}

static void fail_set_at(const scene *s)
{
    assert_false(weft_tensor_is_valid(weft_set_at(s->x, s->row, 5)));
}

static void fail_batch_norm(const scene *s)
{
    weft_tensor wrong = weft_input(s->graph, "wrong", WEFT_F32, WEFT_SHAPE(6, 2));
    assert_false(weft_tensor_is_valid(weft_batch_norm(s->channels, s->row, wrong, NULL)));
}

/* What was asked before the failure is forgotten with it; what others asked stays. */
static void failed_compositions_require_nothing(void **state)
{
    (void)state;
    static void (*const failures[])(const scene *s) = {fail_conv, fail_at, fail_set_at, fail_batch_norm};
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        scene s = scene_create();
        weft_tensor result = split(&s);
        failures[i](&s);
        check_chains(s.graph);
        weft_graph_clear_error(s.graph);
        assert_int_equal(guards_of(s.graph, weft_neg(s.x)), 0);
        assert_int_equal(guards_of(s.graph, result), 1);
        weft_extent n = weft_tensor_extent(s.x, 0);
        assert_true(weft_require_at_most(s.graph, weft_extent_of(7), n, "n is less than 7"));
        assert_int_equal(s.graph->located_guards, s.graph->guard_count);
        assert_int_equal(guards_of(s.graph, weft_neg(s.x)), 1);
        weft_graph_destroy(s.graph);
    }
}

/* Though a result may have been there before what is between. */
static void nodes_between_results_require_nothing(void **state)
{
    (void)state;
    scene s = scene_create();
    weft_tensor parts[2], first = weft_narrow(s.x, 0, weft_extent_of(0), weft_extent_of(2)), other = weft_neg(s.x);
    weft_split_at(s.x, 0, WEFT_SHAPE(2, 5), parts);
    assert_int_equal(first.node, parts[0].node);
    assert_int_equal(guards_of(s.graph, other), 0);
    for (int i = 0; i < 2; i++) assert_int_not_equal(guards_of(s.graph, weft_neg(parts[i])), 0);
    weft_graph_destroy(s.graph);
}

/* ---- in bodies ---- */

static weft_tensor halve(weft_tensor x)
{
    weft_tensor parts[2];
    weft_split(x, 0, 2, parts);
    return weft_reduce_sum(parts[1], WEFT_INTS(0), true);
}

static void needs(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context, (void)index;
    out_next[0] = weft_add(carried[0], halve(carried[0]));
}

static void needs_not(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context, (void)index;
    halve(carried[0]);
    out_next[0] = weft_neg(carried[0]);
}

static void nests(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)index;
    out_next[0] = weft_fold(weft_extent_of(2), WEFT_TENSORS(carried[0]), needs, context, NULL);
}

static void fails(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    needs(context, index, carried, out_next);
    out_next[0] = weft_at(out_next[0], -200);
}

static weft_tensor fold(const scene *s, weft_fold_body body)
{
    return weft_fold(weft_extent_of(2), WEFT_TENSORS(s->x), body, NULL, NULL);
}

static void then(void *context, weft_tensor *out_results)
{
    out_results[0] = halve(*(weft_tensor *)context);
}

static void otherwise(void *context, weft_tensor *out_results)
{
    out_results[0] = weft_reduce_sum(*(weft_tensor *)context, WEFT_INTS(0), true);
}

static weft_tensor branch(const scene *s, weft_tensor x)
{
    return weft_cond(weft_scalar(s->graph, WEFT_BOOL, 1), 1, then, otherwise, &x, NULL);
}

static void bodies_require_where_they_run(void **state)
{
    (void)state;
    scene s = scene_create();
    weft_tensor other = weft_neg(s.x);
    for (int i = 0; i < 2; i++) { /* the second time all nodes are there already */
        weft_tensor needed[] = {fold(&s, needs), fold(&s, nests), branch(&s, s.x)}, unneeded = fold(&s, needs_not);
        assert_false(weft_tensor_is_valid(fold(&s, fails)));
        weft_graph_clear_error(s.graph);
        assert_int_equal(s.graph->guard_count, 3);
        assert_int_equal(guards_of(s.graph, other), 0);
        assert_int_equal(guards_of(s.graph, unneeded), 0);
        for (size_t k = 0; k < 3; k++) assert_int_equal(guards_of(s.graph, weft_neg(needed[k])), 1);
    }
    weft_graph_destroy(s.graph);
}

/* ---- compositions of compositions ---- */

static void require_six(const scene *s)
{
    weft_extent n = weft_tensor_extent(s->x, 0);
    assert_true(weft_require_at_most(s->graph, weft_extent_of(6), n, "n is less than 6"));
}

/* What the inner one asked for is asked again. */
static void outer_compositions_require_themselves(void **state)
{
    (void)state;
    scene s = scene_create();
    weft_guard_scope outer = weft_guards_open(s.graph), inner = weft_guards_open(s.graph);
    require_six(&s);
    weft_tensor low = weft_neg(s.x), high = weft_exp(s.x), other = weft_sin(s.x);
    weft_guards_close(inner, 1, &low);
    require_six(&s);
    weft_guards_close(outer, 1, &high);
    assert_int_equal(guards_of(s.graph, low), 1);
    assert_int_equal(guards_of(s.graph, high), 1);
    assert_int_equal(guards_of(s.graph, weft_add(low, high)), 1);
    assert_int_equal(guards_of(s.graph, other), 0);
    weft_graph_destroy(s.graph);
}

/* What is printed of the outputs comes back as it is, with so many guards. */
static void check_print(weft_graph *graph, weft_tensors outputs, size_t guards)
{
    char *text, *again;
    weft_module *module;
    weft_test_ok(weft_graph_print(outputs, &text));
    weft_test_ok(weft_graph_parse("text", text, strlen(text), NULL, 0, NULL, &module));
    weft_test_ok(weft_graph_print(module->outputs, &again));
    assert_string_equal(again, text);
    size_t count = 0;
    for (const char *at = strstr(text, "\nrequire "); at != NULL; at = strstr(at + 1, "\nrequire ")) count++;
    assert_int_equal(count, guards);
    assert_ptr_equal(outputs.items[0].graph, graph);
    weft_text_destroy(text);
    weft_text_destroy(again);
    weft_module_destroy(module);
    weft_graph_destroy(graph);
}

/* Compositions that ask for the same, and a caller who does so too, before or after, whatever the sentence. */
static void what_is_asked_again_is_printed_once(void **state)
{
    (void)state;
    scene s = scene_create();
    check_print(s.graph, WEFT_TENSORS(weft_set_at(s.x, weft_at(s.x, -2), -2)), 1);
    s = scene_create();
    check_print(s.graph, WEFT_TENSORS(weft_add_at(weft_add_at(s.x, 1, -2), 2, -2)), 1);
    for (int before = 0; before < 2; before++) {
        s = scene_create();
        weft_tensor read = before ? at(&s) : s.x;
        weft_require_at_most(s.graph, weft_extent_of(6), weft_tensor_extent(s.x, 0), "six");
        weft_require_equal(s.graph, weft_extent_of(6), weft_tensor_extent(s.x, 0), "just six");
        if (!before) read = at(&s);
        check_print(s.graph, WEFT_TENSORS(read), 2);
    }
}

/* One that counts always is enough, for a body that may not run too. */
static void conditions_follow_what_counts_always(void **state)
{
    (void)state;
    for (int before = 0; before < 2; before++) {
        scene s = scene_create();
        weft_extent k = weft_symbol(s.graph, "k", 0, 9);
        weft_tensor always = before ? halve(s.x) : s.x;
        weft_tensor folded = weft_fold(k, WEFT_TENSORS(s.x), needs, NULL, NULL);
        if (!before) always = halve(s.x);
        check_print(s.graph, WEFT_TENSORS(always, folded), before ? 1 : 2);
    }
}

static weft_status *trace_all(const weft_allocator *allocator, void *context)
{
    (void)context;
    scene s;
    WEFT_TRY(weft_graph_create(&(weft_graph_options){allocator}, &s.graph));
    s.x = weft_input(s.graph, "x", WEFT_F32, WEFT_SHAPE(weft_symbol(s.graph, "n", 0, 100), 4));
    fold(&s, needs);
    branch(&s, weft_at(s.x, 5));
    weft_status *status = weft_status_clone(NULL, weft_graph_error(s.graph));
    weft_graph_destroy(s.graph);
    return status;
}

static void without_memory_there_is_an_error(void **state)
{
    (void)state;
    assert_true(weft_test_fail_each(trace_all, NULL) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unused_results_require_nothing),      cmocka_unit_test(requirements_of_callers_count_always),
        cmocka_unit_test(failed_compositions_require_nothing), cmocka_unit_test(nodes_between_results_require_nothing),
        cmocka_unit_test(bodies_require_where_they_run),       cmocka_unit_test(outer_compositions_require_themselves),
        cmocka_unit_test(what_is_asked_again_is_printed_once), cmocka_unit_test(conditions_follow_what_counts_always),
        cmocka_unit_test(without_memory_there_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
