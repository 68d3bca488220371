/* SPDX-License-Identifier: Apache-2.0 */
/* What compositions require of extents has to hold in programs that need their results, and in no others. */
#include "test/support.h"
#include <string.h>
#include <weft/weft.h>

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
    at,         set_at,           split,    split_at,      top_k, median,         group_norm,
    batch_norm, batch_norm_train, nll_loss, cross_entropy, conv,  conv_transpose,
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unused_results_require_nothing),
        cmocka_unit_test(requirements_of_callers_count_always),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
