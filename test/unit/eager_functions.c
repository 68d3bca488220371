/* SPDX-License-Identifier: Apache-2.0 */
/* Functions called on arrays: all public ones, with options, without an operand, with several results. */
#include <string.h>
/* Macros of one letter do no harm to the headers. */
#define N 1
#define V 2
#include <weft/einsum.h>
#include <weft/weft.h>
#undef N
#undef V
#include "test/unit/eager_fixture.h"

/* ---- every public tracing function ---- */

/* Those that weft_eager_apply does not know, and what there is in their place. */
static const struct {
    const char *name, *instead;
} others[] = {
    {"input", "weft_eager_from"},
    {"constant", "weft_eager_copy"},
    {"tensor_set_name", "arrays have no names"},
    {"chunk", "weft_split_at: how many results there are is one of its results"},
    {"einsum", "an extension: weft_eager_call"},
    {"einsum_labels", "an extension: weft_eager_call"},
    {"fold", "takes a function: weft_eager_call"},
    {"fold_in_segments", "takes a function: weft_eager_call"},
    {"fold_with_snapshots", "takes a function: weft_eager_call"},
    {"while", "takes functions: weft_eager_call"},
    {"while_at_most", "takes functions: weft_eager_call"},
    {"cond", "takes functions: weft_eager_call"},
    {"grad", "weft_eager_gradient"},
    {"vjp", "of what a graph has computed: weft_eager_call"},
    {"jvp", "of what a graph has computed: weft_eager_call"},
    {"hvp", "of what a graph has computed: weft_eager_call"},
    {"jacobian", "of what a graph has computed: weft_eager_call"},
    {"checkpoint", "takes a function: weft_eager_call"},
    {"custom_gradient", "takes functions: weft_eager_call"},
};

#define SIGNATURE(function)                                                                                            \
    _Generic((function), WEFT_EAGER_SIGNATURES_(WEFT_EAGER_ASSOCIATION_) default : WEFT_EAGER_SIGNATURE_COUNT)

static const struct {
    const char *name;
    weft_eager_signature signature;
} all[] = {
#define WEFT_CALL(name, maker, dtypes, weight) {#name, SIGNATURE(weft_##name)},
#define WEFT_FRAGMENT(name, dtypes, weight)
#include "test/random/calls.def"
};

static const char *instead_of(const char *name)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i].name, name) == 0) return others[i].instead;
    return NULL;
}

/* weft_jacobian has a type that is known, but makes no sense of arrays. */
static bool is_meant(const char *name, weft_eager_signature signature)
{
    return signature != WEFT_EAGER_SIGNATURE_COUNT && strcmp(name, "jacobian") != 0;
}

static void every_public_function_has_a_way(void **state)
{
    (void)state;
    size_t lacking = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        bool is_known = is_meant(all[i].name, all[i].signature), is_listed = instead_of(all[i].name) != NULL;
        if (is_known != is_listed) continue;
        print_error("weft_%s %s\n", all[i].name,
                    is_known ? "is called by weft_eager_apply, and is in the list of what is not"
                             : "has no row in WEFT_EAGER_SIGNATURES_, and is not in the list of what has none");
        lacking++;
    }
    assert_int_equal(lacking, 0);
}

/* ---- options ---- */

static weft_eager_array *ones(weft_ints shape)
{
    static const float data[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    return f32(shape, data);
}

static void options_and_their_arrays(void **state)
{
    (void)state;
    weft_eager_scope scope = weft_eager_scope_begin(eager);
    weft_eager_array *x = f32(WEFT_INTS(1, 2), (float[]){1, 3}), *two = f32(WEFT_INTS(2), (float[]){2, 20});
    const weft_norm_options nothing = {.epsilon = 0}, *none = NULL;
    weft_norm_options large = {.epsilon = 3};
#define KEPT(call, ...) EXPECT(weft_eager_retain(call), __VA_ARGS__)
    KEPT(weft_eager_apply(weft_layer_norm, x, 1, NULL), -1, 1);
    KEPT(weft_eager_apply(weft_layer_norm, x, 1, none), -1, 1);
    KEPT(weft_eager_apply(weft_layer_norm, x, 1, &nothing, two), -2, 20);
    KEPT(weft_eager_apply(weft_layer_norm, x, 1, NULL, WEFT_EAGER_NONE, two), 1, 21);
    KEPT(weft_eager_apply(weft_layer_norm, x, 1, &large, two, two), 1, 30);
    KEPT(weft_eager_apply(weft_layer_norm, x, 1, &(weft_norm_options){.epsilon = 3}, two), -1, 10);
    KEPT(weft_eager_apply(weft_rms_norm, x, -1, (&(weft_norm_options){.scale = WEFT_NO_TENSOR, .epsilon = 4})), 1.f / 3,
         1);
    KEPT(weft_eager_apply(weft_group_norm, x, 1, NULL), -1, 1);
    KEPT(weft_eager_apply(weft_batch_norm, x, two, two, &(weft_norm_options){.epsilon = 2}), -0.5f, -17 / sqrtf(22));
    weft_eager_scope_end(eager, scope);
}

static void attention_and_classes(void **state)
{
    (void)state;
    weft_eager_scope scope = weft_eager_scope_begin(eager);
    weft_eager_array *q = ones(WEFT_INTS(1, 2, 1)), *k = f32(WEFT_INTS(1, 2, 1), (float[]){0, logf(3)});
    weft_eager_array *v = f32(WEFT_INTS(1, 2, 1), (float[]){4, 8});
    weft_eager_array *mask = weft_eager_copy(eager, WEFT_BOOL, WEFT_INTS(1, 2), (bool[]){false, true});
    KEPT(weft_eager_apply(weft_attention, q, k, v, NULL), 7, 7);
    KEPT(weft_eager_apply(weft_attention, q, k, v, &(weft_attention_options){.causal = true}), 4, 7);
    weft_attention_options ahead = {.causal = true, .causal_offset = weft_extent_of(1), .scale = 0};
    KEPT(weft_eager_apply(weft_attention, q, k, v, &ahead), 7, 7);
    KEPT(weft_eager_apply(weft_attention, q, k, v, NULL, mask), 8, 8);
    weft_eager_array *scores = f32(WEFT_INTS(2, 2), (float[]){logf(3), 0, 0, 0});
    weft_eager_array *at = weft_eager_copy(eager, WEFT_I64, WEFT_INTS(2), (int64_t[]){0, 1});
    weft_eager_array *weights = f32(WEFT_INTS(2), (float[]){1, 0});
    KEPT(weft_eager_apply(weft_cross_entropy, scores, at, 1, &(weft_class_options){.reduction = WEFT_REDUCTION_NONE}),
         logf(4.f / 3), logf(2));
    KEPT(weft_eager_apply(weft_cross_entropy, scores, at, 1, NULL, weights), logf(4.f / 3));
    KEPT(weft_eager_apply(weft_nll_loss, scores, at, 1, (&(weft_class_options){.ignores = true, .ignored = 1})),
         -logf(3));
    KEPT(weft_eager_apply(weft_bce_with_logits, scores, scores, WEFT_EAGER_NONE, WEFT_REDUCTION_NONE),
         logf(4) - logf(3) * logf(3), logf(2), logf(2), logf(2));
    weft_eager_scope_end(eager, scope);
}

static void lists_in_options(void **state)
{
    (void)state;
    weft_eager_scope scope = weft_eager_scope_begin(eager);
    weft_eager_array *x = f32(WEFT_INTS(1, 1, 4), (float[]){1, 2, 3, 4}),
                     *w = f32(WEFT_INTS(1, 1, 2), (float[]){1, 10});
    weft_eager_array *bias = f32(WEFT_INTS(1), (float[]){100});
    KEPT(weft_eager_apply(weft_conv, x, w, NULL), 21, 32, 43);
    KEPT(weft_eager_apply(weft_conv, x, w, (&(weft_conv_options){.stride = WEFT_INTS(2), .high = WEFT_INTS(2)}), bias),
         121, 143, 100);
    KEPT(weft_eager_apply(
             weft_conv_transpose, w, w,
             (&(weft_conv_options){.stride = WEFT_INTS(2), .low = WEFT_INTS(1), .output_padding = WEFT_INTS(1)})),
         10, 10, 100, 0);
    KEPT(weft_eager_apply(weft_unfold, x, WEFT_INTS(2), &(weft_conv_options){.stride = WEFT_INTS(2)}), 1, 3, 2, 4);
    KEPT(weft_eager_apply(weft_max_pool, x, &(weft_pool_options){.size = WEFT_INTS(3)}), 3);
    KEPT(weft_eager_apply(weft_average_pool, x,
                          (&(weft_pool_options){.size = WEFT_INTS(2), .stride = WEFT_INTS(1), .low = WEFT_INTS(1)})),
         1, 1.5f, 2.5f, 3.5f);
    KEPT(weft_eager_apply(
             weft_resize, x, WEFT_SHAPE(2),
             (&(weft_resize_options){.mode = WEFT_RESIZE_LINEAR, .coordinates = WEFT_RESIZE_ALIGN_CORNERS})),
         1, 4);
    const weft_dot_axes axes = {
        .batch_a = WEFT_INTS(0), .batch_b = WEFT_INTS(0), .contract_a = WEFT_INTS(2), .contract_b = WEFT_INTS(2)};
    KEPT(weft_eager_apply(weft_dot, x, x, axes), 30);
    KEPT(weft_eager_apply(weft_dot, w, w, ((weft_dot_axes){.contract_a = WEFT_INTS(2), .contract_b = WEFT_INTS(2)})),
         101);
    weft_eager_scope_end(eager, scope);
}

/* ---- several results ---- */

static void results_in_places(void **state)
{
    (void)state;
    weft_eager_scope scope = weft_eager_scope_begin(eager);
    weft_eager_array *x = f32(WEFT_INTS(4), (float[]){3, 1, 3, 2}), *parts[20], *other, *third;
    KEPT(weft_eager_apply(weft_split, x, 0, 2, parts), 3, 1);
    KEPT(parts[0], 3, 1);
    KEPT(parts[1], 3, 2);
    KEPT(weft_eager_apply(weft_split, weft_eager_apply(weft_repeat, x, 0, 5), 0, (size_t)20, parts), 3);
    KEPT(parts[19], 2); /* more than there is room for on the stack */
    weft_eager_apply(weft_split_at, x, 0, WEFT_SHAPE(1, 3), parts);
    KEPT(parts[1], 1, 3, 2);
    weft_eager_apply(weft_meshgrid, WEFT_EAGER_ARRAYS(parts[0], parts[1]), false, parts + 2);
    KEPT(parts[2], 3, 3, 3);
    KEPT(parts[3], 1, 3, 2);
    KEPT(weft_eager_apply(weft_top_k, x, 0, 2, false, &other), 3, 3);
    KEPT(weft_eager_apply(weft_cast, other, WEFT_F32), 0, 2);
    KEPT(weft_eager_apply(weft_top_k, x, 0, 1, true, NULL), 1);
    KEPT(weft_eager_apply(weft_unique, x, 3, &other), 1, 2, 3);
    KEPT(weft_eager_apply(weft_cast, other, WEFT_F32), 1, 1, 2);
    KEPT(weft_eager_apply(weft_clip_gradients, WEFT_EAGER_ARRAYS(x, x), 100, parts), sqrtf(46));
    KEPT(parts[1], 3, 1, 3, 2);
    weft_eager_array *rows = f32(WEFT_INTS(2, 2), (float[]){1, 2, 3, 6}), *scale = ones(WEFT_INTS(2));
    weft_eager_array *normal = weft_eager_apply(weft_batch_norm_train, rows, NULL, scale, scale, &other, &third);
    KEPT(normal, 0, 0, 2, 2);
    KEPT(other, 2, 4);
    KEPT(third, 1, 4);
    weft_eager_apply(weft_batch_norm_train, rows, NULL, NULL, &third);
    KEPT(third, 1, 4);
    weft_eager_scope_end(eager, scope);
}

/* References: without a scope each result is one. `tear_down` finds what is left. */
static void results_are_references(void **state)
{
    (void)state;
    weft_eager_array *x = f32(WEFT_INTS(4), (float[]){3, 1, 3, 2}), *parts[2], *at;
    weft_eager_apply(weft_split, x, 0, 2, parts);
    weft_eager_array *best = weft_eager_apply(weft_top_k, x, 0, 1, false, &at);
    assert_int_equal(counters().arrays, 5);
    EXPECT(parts[1], 3, 2);
    weft_eager_release(parts[0]);
    weft_eager_release(at);
    EXPECT(best, 3);
    weft_eager_release(x);
}

/* Each optimiser as it is with graphs: their formulas are tested there. */
static void optimisers(void **state)
{
    (void)state;
    weft_eager_scope scope = weft_eager_scope_begin(eager);
    weft_eager_array *p = ones(WEFT_INTS(2)), *g = f32(WEFT_INTS(2), (float[]){1, -2}),
                     *zero = f32(WEFT_INTS(2), (float[2]){0});
    weft_eager_array *a, *b, *half = f32(WEFT_INTS(2), (float[]){0.5, 0.5});
    KEPT(weft_eager_apply(weft_sgd, p, g, 0.5, WEFT_EAGER_NONE, NULL, NULL), 0.5, 2);
    KEPT(weft_eager_apply(weft_sgd, p, g, 0.5, half, &(weft_sgd_options){.momentum = 0.5}, &a), 0.375, 1.875);
    KEPT(a, 1.25, -1.75);
    KEPT(weft_eager_apply(weft_adam, p, g, 0.5, 0, zero, zero, NULL, &a, &b), 0.5, 1.5);
    KEPT(a, 0.1f, -0.2f);
    KEPT(b, 0.001f, 0.004f);
    KEPT(weft_eager_apply(weft_rmsprop, p, g, 0.5, zero, WEFT_EAGER_NONE, &(weft_rmsprop_options){.alpha = 0.75}, &a,
                          NULL),
         0, 2);
    KEPT(a, 0.25, 1);
    KEPT(weft_eager_apply(weft_adagrad, p, g, 0.5, WEFT_EAGER_NONE, zero, NULL, &a), 0.5, 1.5);
    KEPT(a, 1, 4);
    KEPT(weft_eager_apply(weft_adagrad, p, g, 1, 3, zero, &(weft_adagrad_options){.rate_decay = 1}, NULL), 0.75, 1.25);
    KEPT(weft_eager_apply(weft_lion, p, g, 0.5, zero, NULL, &a), 0.5, 1.5);
    KEPT(a, 0.01f, -0.02f);
    weft_eager_scope_end(eager, scope);
}

/* A step that is a number compiles nothing the second time. */
static void steps_are_operands(void **state)
{
    (void)state;
    weft_eager_array *p = ones(WEFT_INTS(2)), *mean = f32(WEFT_INTS(2), (float[2]){0}),
                     *square = weft_eager_retain(mean);
    uint64_t programs = 0;
    for (int step = 0; step < 6; step++) {
        weft_eager_array *next_mean, *next_square;
        weft_eager_array *next =
            weft_eager_apply(weft_adam, p, p, 0.125, step, mean, square, NULL, &next_mean, &next_square);
        weft_test_ok(weft_eager_evaluate(eager, WEFT_EAGER_ARRAYS(next, next_mean, next_square)));
        weft_eager_assign(&p, next);
        weft_eager_assign(&mean, next_mean);
        weft_eager_assign(&square, next_square);
        if (step == 1) programs = counters().programs; /* of shared and of own zeros */
    }
    assert_int_equal(counters().programs, programs);
    weft_eager_release(p);
    weft_eager_release(mean);
    weft_eager_release(square);
}

/* ---- random numbers, schedules, and what else there is ---- */

/* The bytes of the value of a graph of one output, and those of the array. */
static void expect_same(weft_eager_array *array, weft_graph *graph, weft_tensor tensor)
{
    weft_program *program;
    weft_array *wanted = NULL, *found = value_of(array);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(tensor), NULL, &program));
    weft_run run = {.output_count = 1, .outputs = &wanted, .runtime = "ref"};
    weft_test_ok(weft_executor_run(executor, program, &run));
    assert_int_equal(weft_array_dtype(found), weft_array_dtype(wanted));
    assert_int_equal(weft_array_count(found), weft_array_count(wanted));
    assert_memory_equal(weft_array_data(found), weft_array_data(wanted),
                        (size_t)weft_array_count(wanted) * weft_dtype_size(weft_array_dtype(wanted)));
    weft_array_release(wanted);
    weft_program_release(program);
    weft_graph_destroy(graph);
}

static weft_graph *graph_create(void)
{
    weft_graph *graph;
    weft_test_ok(weft_graph_create(NULL, &graph));
    return graph;
}

/* The call in a graph, and of arrays: `key`, `x` and `i` are tensors there and arrays here. */
#define SAME(name, ...)                                                                                                \
    do {                                                                                                               \
        weft_graph *graph = graph_create();                                                                            \
        weft_tensor traced;                                                                                            \
        weft_eager_array *called;                                                                                      \
        {                                                                                                              \
            weft_tensor key = weft_random_key(graph, UINT64_MAX - 6), i = weft_scalar(graph, WEFT_I32, 3);             \
            weft_tensor x = weft_linspace(graph, WEFT_F32, 0.125, 2, weft_extent_of(4));                               \
            (void)x, (void)i;                                                                                          \
            traced = weft_##name(__VA_ARGS__);                                                                         \
        }                                                                                                              \
        {                                                                                                              \
            weft_eager_array *key = weft_eager_apply(weft_random_key, eager, UINT64_MAX - 6);                          \
            weft_eager_array *x = weft_eager_apply(weft_linspace, eager, WEFT_F32, 0.125, 2, 4);                       \
            weft_eager_array *i = weft_eager_number(eager, WEFT_I32, 3);                                               \
            (void)x, (void)i;                                                                                          \
            called = weft_eager_apply(weft_##name, __VA_ARGS__);                                                       \
        }                                                                                                              \
        expect_same(called, graph, traced);                                                                            \
    } while (0)

static void random_numbers(void **state)
{
    (void)state;
    weft_eager_scope scope = weft_eager_scope_begin(eager);
    SAME(random_fold, key, i);
    SAME(random_split, key, weft_extent_of(3));
    SAME(random_bits, key, WEFT_I64, WEFT_SHAPE(2, 3));
    SAME(random_uniform, key, WEFT_F32, WEFT_SHAPE(5), -1, 2);
    SAME(random_normal, key, WEFT_F64, WEFT_SHAPE(5));
    SAME(random_truncated_normal, key, WEFT_F32, WEFT_SHAPE(5), 0, 1);
    SAME(random_exponential, key, WEFT_F32, WEFT_SHAPE(5));
    SAME(random_gamma, key, x, WEFT_SHAPE(3, 4));
    SAME(random_bernoulli, key, x, WEFT_SHAPE(4));
    SAME(random_integers, key, WEFT_I32, WEFT_SHAPE(5), weft_extent_of(3), weft_extent_of(100));
    SAME(random_integers_between, key, i, i, WEFT_SHAPE(5));
    SAME(random_categorical, key, x, WEFT_SHAPE(6));
    SAME(random_permutation, key, weft_extent_of(7));
    SAME(random_choice, key, weft_extent_of(4), WEFT_SHAPE(3), false, x);
    SAME(dropout, x, key, 0.25);
    weft_eager_array *key = weft_eager_apply(weft_random_key, eager, 5);
    weft_eager_array *choice = weft_eager_apply(weft_random_choice, key, 1, WEFT_SHAPE(2), true, WEFT_EAGER_NONE);
    KEPT(weft_eager_apply(weft_cast, choice, WEFT_F32), 0, 0);
    weft_eager_scope_end(eager, scope);
}

static void schedules_and_others(void **state)
{
    (void)state;
    weft_eager_scope scope = weft_eager_scope_begin(eager);
    weft_eager_array *step = weft_eager_number(eager, WEFT_I64, 5), *x = f32(WEFT_INTS(2, 2), (float[]){1, 2, 3, 4});
    KEPT(weft_eager_apply(weft_cast, weft_eager_apply(weft_rate_cosine, step, 2, 0, 0, 10), WEFT_F32), 1);
    KEPT(weft_eager_apply(weft_cast, weft_eager_apply(weft_rate_linear, step, 2, 1, 0, 10), WEFT_F32), 1.5);
    KEPT(weft_eager_apply(weft_cast, weft_eager_apply(weft_rate_step, step, 8, 0.5, 2), WEFT_F32), 2);
    KEPT(weft_eager_apply(weft_polygamma, 1, weft_eager_number(eager, WEFT_F32, 1)), 1.6449341f);
    KEPT(weft_eager_apply(weft_scan_linear, x, x, 1, false), 1, 4, 3, 16);
    KEPT(weft_eager_apply(weft_shear, x, 1, 0, 1, 3), 1, 2, 0, 0, 3, 4);
    KEPT(weft_eager_apply(weft_scalar, eager, WEFT_F32, 2.5), 2.5);
    KEPT(weft_eager_apply(weft_cast, weft_eager_apply(weft_extent_tensor, eager, 7), WEFT_F32), 7);
    weft_eager_scope_end(eager, scope);
}

static void elements_by_index(void **state)
{
    (void)state;
    weft_eager_scope scope = weft_eager_scope_begin(eager);
    weft_eager_array *x = range(WEFT_INTS(2, 3));
    weft_eager_array *at = weft_eager_copy(eager, WEFT_I64, WEFT_INTS(2), (int64_t[]){1, 0});
    KEPT(weft_eager_at(x, 1), 3, 4, 5);
    KEPT(weft_eager_at(x, WEFT_ALL, -1), 2, 5);
    KEPT(weft_eager_at(x, WEFT_ELLIPSIS, WEFT_RANGE(WEFT_OPEN, WEFT_OPEN, -2)), 2, 0, 5, 3);
    KEPT(weft_eager_at(x, at, WEFT_NEWAXIS, WEFT_RANGE(0, 2u)), 3, 4, 0, 1);
    KEPT(weft_eager_at(x, weft_extent_of(0), (size_t)2), 2);
    assert_true(weft_eager_is_known(weft_eager_at(x, WEFT_ALL, 1))); /* a view */
    KEPT(weft_eager_set_at(x, 7.25, 0), 7.25, 7.25, 7.25, 3, 4, 5);
    KEPT(weft_eager_set_at(x, weft_eager_at(x, 0), at), 0, 1, 2, 0, 1, 2);
    KEPT(weft_eager_add_at(x, 1, at, WEFT_RANGE(1, WEFT_OPEN)), 0, 2, 3, 3, 5, 6);
    expect_error(weft_eager_at(x, 5), WEFT_OUT_OF_RANGE, "index");
    expect_error(weft_eager_at(x, weft_eager_at(x, 5)), WEFT_OUT_OF_RANGE, "index");
    weft_eager_scope_end(eager, scope);
}

/* ---- errors ---- */

static void arguments_that_are_wrong(void **state)
{
    (void)state;
    weft_eager_scope scope = weft_eager_scope_begin(eager);
    weft_eager_array *x = range(WEFT_INTS(2, 2)), *parts[2] = {x, x}, *out = x;
    weft_graph *graph = graph_create();
    weft_tensor traced = weft_scalar(graph, WEFT_F32, 1);
    expect_error(weft_eager_apply(weft_add, x, WEFT_EAGER_NONE), WEFT_INVALID_ARGUMENT,
                 "add: operand 1 is not a tensor");
    expect_error(weft_eager_apply(weft_add, x, NULL), WEFT_INVALID_ARGUMENT, "left out by WEFT_EAGER_NONE");
    expect_error(weft_eager_apply(weft_layer_norm, x, 1), WEFT_INVALID_ARGUMENT, "takes 3 to 5 arguments, not 2");
    expect_error(weft_eager_apply(weft_layer_norm, x, 1, NULL, x, 2), WEFT_INVALID_ARGUMENT,
                 "argument 4 is one too many");
    expect_error(weft_eager_apply(weft_layer_norm, x, 1, &(weft_sgd_options){0}), WEFT_INVALID_ARGUMENT,
                 "argument 2 is neither a weft_norm_options nor NULL");
    expect_error(weft_eager_apply(weft_layer_norm, x, 1, 3), WEFT_INVALID_ARGUMENT, "neither a weft_norm_options");
    expect_error(weft_eager_apply(weft_layer_norm, x, 1, &(weft_norm_options){.bias = traced}), WEFT_INVALID_ARGUMENT,
                 "arrays follow the options");
    expect_error(weft_eager_apply(weft_conv, x, x, (&(weft_conv_options){.low = {1, NULL}})), WEFT_INVALID_ARGUMENT,
                 "has a list that is NULL");
    expect_error(weft_eager_apply(weft_conv, x, x, (&(weft_conv_options){.low = {17, (int64_t[17]){0}}})),
                 WEFT_INVALID_ARGUMENT, "more than 16 items");
    expect_error(weft_eager_apply(weft_resize, x, WEFT_SHAPE(2, 2), &(weft_resize_options){.scales = (double[2]){1}}),
                 WEFT_INVALID_ARGUMENT, "list of numbers");
    expect_error(weft_eager_apply(weft_attention, x, x, x,
                                  &(weft_attention_options){.causal_offset = weft_symbol(graph, "n", 1, 2)}),
                 WEFT_INVALID_ARGUMENT, "extent that is no number");
    expect_error(weft_eager_at(x, WEFT_PICK(traced)), WEFT_INVALID_ARGUMENT, "tensor of a graph");
    expect_error(weft_eager_at(x, weft_symbol(graph, "n", 1, 2)), WEFT_INVALID_ARGUMENT, "extent that is no number");
    expect_error(weft_eager_apply(weft_random_key, eager, -1), WEFT_INVALID_ARGUMENT, "is not an integer from 0 on");
    /* Places are NULL after an error, wherever it is. */
    expect_error(weft_eager_apply(weft_split, x, 7, 2, parts), WEFT_OUT_OF_RANGE, "split");
    assert_true(parts[0] == NULL && parts[1] == NULL);
    parts[0] = parts[1] = x;
    expect_error(weft_eager_apply(weft_split, x, 0.5, 2, parts), WEFT_INVALID_ARGUMENT, "argument 1");
    assert_true(parts[0] == NULL && parts[1] == NULL);
    parts[0] = parts[1] = x;
    assert_null(weft_eager_apply(weft_split, (weft_eager_array *)NULL, 0, 2, parts));
    assert_true(parts[0] == NULL && parts[1] == NULL);
    expect_error(weft_eager_apply(weft_split, x, 0, 2, NULL), WEFT_INVALID_ARGUMENT, "out_parts");
    expect_error(weft_eager_apply(weft_split, x, 0, 0, parts), WEFT_INVALID_ARGUMENT, "no parts");
    expect_error(weft_eager_apply(weft_split, x, 0, 2, x), WEFT_INVALID_ARGUMENT, "argument 3 is no place for arrays");
    expect_error(weft_eager_apply(weft_sgd, x, x, 0.1, weft_eager_at(x, 9), NULL, &out), WEFT_OUT_OF_RANGE, "index");
    assert_null(out);
    expect_error(weft_eager_apply(weft_adam, x, x, 0.1, 0.5, x, x, NULL, NULL, NULL), WEFT_OUT_OF_RANGE,
                 "argument 3 is a number that i64 cannot hold");
    expect_error(weft_eager_apply(weft_repeat, x, 0, weft_symbol(graph, "n", 1, 2)), WEFT_INVALID_ARGUMENT,
                 "argument 2 is not an integer");
    weft_graph_destroy(graph);
    weft_eager_scope_end(eager, scope);
}

/* ---- all together ---- */

/* The state of one parameter. */
struct parameter {
    weft_eager_array *value, *mean, *square;
};

static struct parameter make_parameter(weft_eager_array *key, weft_ints shape, weft_shape extents)
{
    weft_eager_array *value = weft_eager_apply(weft_random_normal, key, WEFT_F32, extents);
    struct parameter parameter = {weft_eager_retain(weft_eager_apply(weft_mul, value, 0.5)), NULL, NULL};
    static const float zeros[64];
    parameter.mean = weft_eager_retain(f32(shape, zeros));
    parameter.square = weft_eager_retain(f32(shape, zeros));
    return parameter;
}

static void release_parameter(struct parameter *parameter)
{
    weft_eager_release(parameter->value);
    weft_eager_release(parameter->mean);
    weft_eager_release(parameter->square);
}

static void step_parameter(struct parameter *p, weft_eager_array *gradient, weft_eager_array *rate, int64_t step)
{
    weft_eager_array *mean, *square;
    weft_eager_array *next =
        weft_eager_apply(weft_adam, p->value, gradient, rate, step, p->mean, p->square, NULL, &mean, &square);
    weft_eager_assign(&p->value, weft_eager_retain(next));
    weft_eager_assign(&p->mean, weft_eager_retain(mean));
    weft_eager_assign(&p->square, weft_eager_retain(square));
}

/* The parity of two bits; returns the loss before the step. */
static float train_step(struct parameter *p, weft_eager_array *key, int64_t step)
{
    weft_eager_array *x = f32(WEFT_INTS(4, 2), (float[]){0, 0, 0, 1, 1, 0, 1, 1});
    weft_eager_array *y = f32(WEFT_INTS(4, 1), (float[]){0, 1, 1, 0}), *gradients[2], *clipped[2];
    weft_eager_array *count = weft_eager_number(eager, WEFT_I64, (double)step);
    weft_eager_tape_begin(eager, WEFT_EAGER_ARRAYS(p[0].value, p[1].value));
    weft_eager_array *hidden = weft_eager_apply(weft_matmul, weft_eager_apply(weft_sub, x, 0.5), p[0].value);
    hidden = weft_eager_apply(weft_layer_norm, hidden, 1, &(weft_norm_options){.epsilon = 0.125});
    hidden = weft_eager_apply(weft_relu, hidden);
    hidden = weft_eager_apply(weft_dropout, hidden, weft_eager_apply(weft_random_fold, key, count), 0.125);
    weft_eager_array *out = weft_eager_apply(weft_matmul, hidden, p[1].value);
    weft_eager_array *loss = weft_eager_apply(weft_bce_with_logits, out, y, WEFT_EAGER_NONE, WEFT_REDUCTION_MEAN);
    weft_eager_gradient(eager, loss, WEFT_EAGER_ARRAYS(p[0].value, p[1].value), gradients);
    weft_eager_tape_end(eager);
    weft_eager_apply(weft_clip_gradients, WEFT_EAGER_ARRAYS(gradients[0], gradients[1]), 1, clipped);
    weft_eager_array *rate = weft_eager_apply(weft_rate_cosine, count, 0.1, 0.01, 5, 60);
    for (int i = 0; i < 2; i++) step_parameter(&p[i], clipped[i], rate, step);
    weft_test_ok(weft_eager_evaluate(eager, WEFT_EAGER_ARRAYS(loss, p[0].value, p[1].value)));
    return *(float *)weft_array_data(value_of(loss));
}

static void a_network_with_all_of_it(void **state)
{
    (void)state;
    float first = 0, last = 0;
    uint64_t programs = 0;
    weft_eager_scope outer = weft_eager_scope_begin(eager);
    weft_eager_array *keys[3],
        *all_keys = weft_eager_apply(weft_random_split, weft_eager_apply(weft_random_key, eager, 1), 3);
    for (int i = 0; i < 3; i++) keys[i] = weft_eager_at(all_keys, i);
    struct parameter p[2] = {make_parameter(keys[0], WEFT_INTS(2, 16), WEFT_SHAPE(2, 16)),
                             make_parameter(keys[1], WEFT_INTS(16, 1), WEFT_SHAPE(16, 1))};
    for (int64_t step = 0; step < 60; step++) {
        weft_eager_scope scope = weft_eager_scope_begin(eager);
        last = train_step(p, keys[2], step);
        if (step == 0) first = last;
        if (step == 2) programs = counters().programs;
        weft_eager_scope_end(eager, scope);
    }
    assert_true(first > 0.5f && last < 0.2f);
    assert_int_equal(counters().programs, programs); /* none of its own for any step */
    for (int i = 0; i < 2; i++) release_parameter(&p[i]);
    weft_eager_scope_end(eager, outer);
}

/* ---- memory that runs out ---- */

static weft_status *use_all(const weft_allocator *allocator, void *context)
{
    (void)context;
    weft_eager *own;
    weft_array *value;
    weft_eager_array *parts[17] = {NULL}; /* too many for the stack */
    static const float data[17];
    WEFT_TRY(weft_eager_create(executor, &(weft_eager_options){.allocator = allocator, .runtime = "ref"}, &own));
    weft_eager_scope scope = weft_eager_scope_begin(own);
    weft_eager_array *x = weft_eager_copy(own, WEFT_F32, WEFT_INTS(17), data);
    weft_eager_apply(weft_split, x, 0, 17, parts); /* views */
    weft_eager_array *y = weft_eager_apply(weft_layer_norm, parts[16], 0, NULL, WEFT_EAGER_NONE, parts[0]);
    weft_status *status = weft_eager_value(own, y, &value);
    weft_eager_scope_end(own, scope);
    weft_eager_destroy(own);
    weft_executor_clear(executor);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(weft_test_fail_each(use_all, NULL) > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FIXTURE(every_public_function_has_a_way),
        IN_FIXTURE(options_and_their_arrays),
        IN_FIXTURE(attention_and_classes),
        IN_FIXTURE(lists_in_options),
        IN_FIXTURE(results_in_places),
        IN_FIXTURE(results_are_references),
        IN_FIXTURE(optimisers),
        IN_FIXTURE(steps_are_operands),
        IN_FIXTURE(random_numbers),
        IN_FIXTURE(schedules_and_others),
        IN_FIXTURE(elements_by_index),
        IN_FIXTURE(arguments_that_are_wrong),
        IN_FIXTURE(a_network_with_all_of_it),
        IN_FIXTURE(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
