/* SPDX-License-Identifier: Apache-2.0 */
/* What optimisers refuse, what they leave alone, and what they do without memory. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>
#include "test/support.h"
#include "test/traced.h"

/* What a step is made of; a test replaces some of it. */
typedef struct operands {
    weft_graph *graph;
    weft_tensor p, g, rate, step, state, second;
} operands;

static operands create(void)
{
    weft_graph *graph = NULL;
    weft_test_ok(weft_graph_create(NULL, &graph));
    const weft_shape shape = WEFT_SHAPE(weft_symbol(graph, "n", 1, 9), 3);
    return (operands){.graph = graph,
                      .p = weft_input(graph, "p", WEFT_F64, shape),
                      .g = weft_input(graph, "g", WEFT_F64, shape),
                      .rate = weft_input(graph, "rate", WEFT_F32, WEFT_SHAPE()),
                      .step = weft_input(graph, "step", WEFT_I64, WEFT_SHAPE()),
                      .state = weft_input(graph, "state", WEFT_F64, shape),
                      .second = weft_input(graph, "second", WEFT_F64, shape)};
}

static void refused(weft_graph *graph, weft_tensor tensor, weft_code code, const char *message)
{
    weft_test_refused(graph, tensor, code, "optimize.c", message);
}

/* ---- all optimisers by one call ---- */

typedef weft_tensor (*optimizer)(const operands *o, weft_tensor *out_state);

static weft_tensor take_sgd(const operands *o, weft_tensor *out_state)
{
    return weft_sgd(o->p, o->g, o->rate, o->state, &(weft_sgd_options){.momentum = 0.9}, out_state);
}

static weft_tensor take_adam(const operands *o, weft_tensor *out_state)
{
    weft_tensor square;
    weft_tensor next = weft_adam(o->p, o->g, o->rate, o->step, o->state, o->second, NULL, out_state, &square);
    assert_int_equal(weft_tensor_is_valid(square), weft_tensor_is_valid(next));
    return next;
}

static weft_tensor take_rmsprop(const operands *o, weft_tensor *out_state)
{
    const weft_rmsprop_options options = {.momentum = 0.9};
    weft_tensor square;
    weft_tensor next = weft_rmsprop(o->p, o->g, o->rate, o->second, o->state, &options, &square, out_state);
    assert_int_equal(weft_tensor_is_valid(square), weft_tensor_is_valid(next));
    return next;
}

static weft_tensor take_adagrad(const operands *o, weft_tensor *out_state)
{
    const weft_adagrad_options options = {.rate_decay = 0.1};
    return weft_adagrad(o->p, o->g, o->rate, o->step, o->state, &options, out_state);
}

static weft_tensor take_lion(const operands *o, weft_tensor *out_state)
{
    return weft_lion(o->p, o->g, o->rate, o->state, NULL, out_state);
}

static const struct {
    const char *name, *state; /* as messages have them */
    optimizer take;
    bool has_step;
} all[] = {{"sgd", "the velocity", take_sgd, false},
           {"adam", "the mean", take_adam, true},
           {"rmsprop", "the velocity", take_rmsprop, false},
           {"adagrad", "the sum of squares", take_adagrad, true},
           {"lion", "the mean", take_lion, false}};
enum { OPTIMIZERS = sizeof all / sizeof *all };

/* Optimiser `i` refuses the operands with this sentence after its name; `%s` in it is the name of the state. */
static void refused_by(size_t i, const operands *o, weft_code code, const char *format)
{
    char sentence[200], message[256];
    weft_tensor state = o->p;
    weft_tensor next = all[i].take(o, &state);
    assert_false(weft_tensor_is_valid(state));
    snprintf(sentence, sizeof sentence, format, all[i].state, all[i].state);
    snprintf(message, sizeof message, "%s: %s", all[i].name, sentence);
    refused(o->graph, next, code, message);
}

static void wrong_operands(void **state)
{
    (void)state;
    operands o = create();
    weft_tensor whole = weft_cast(o.p, WEFT_I32), single = weft_cast(o.p, WEFT_F32);
    weft_tensor row = weft_reduce_sum(o.p, WEFT_INTS(0), false), wide = weft_concat(WEFT_TENSORS(o.p, o.p), 1);
    for (size_t i = 0; i < OPTIMIZERS; i++) {
        operands bad = o;
        bad.p = whole;
        refused_by(i, &bad, WEFT_DTYPE_MISMATCH, "the parameter has dtype i32 but must be a float");
        bad = o;
        bad.g = single;
        refused_by(i, &bad, WEFT_DTYPE_MISMATCH,
                   "the gradient has dtype f32 but the parameter has f64; cast explicitly");
        bad = o;
        bad.g = row;
        refused_by(i, &bad, WEFT_SHAPE_MISMATCH, "the gradient has rank 1 but the parameter has 2");
        bad = o;
        bad.g = wide;
        refused_by(i, &bad, WEFT_SHAPE_MISMATCH,
                   "axis 1 of the gradient has extent 6 but axis 1 of the parameter has 3");
        bad = o;
        bad.rate = o.step;
        refused_by(i, &bad, WEFT_DTYPE_MISMATCH, "the rate has dtype i64 but must be a float");
        bad = o;
        bad.rate = row;
        refused_by(i, &bad, WEFT_SHAPE_MISMATCH, "the rate has rank 1, but must have rank 0");
    }
    weft_graph_destroy(o.graph);
}

static void wrong_states(void **state)
{
    (void)state;
    operands o = create();
    weft_tensor single = weft_cast(o.p, WEFT_F32), wide = weft_concat(WEFT_TENSORS(o.p, o.p), 1);
    weft_tensor several = weft_input(o.graph, "several", WEFT_I64, WEFT_SHAPE(3));
    for (size_t i = 0; i < OPTIMIZERS; i++) {
        operands bad = o;
        bad.state = single;
        refused_by(i, &bad, WEFT_DTYPE_MISMATCH, "%s has dtype f32 but the parameter has f64; cast explicitly");
        bad = o;
        bad.state = wide;
        refused_by(i, &bad, WEFT_SHAPE_MISMATCH, "axis 1 of %s has extent 6 but axis 1 of the parameter has 3");
        bad = o;
        bad.state = WEFT_NO_TENSOR;
        refused_by(i, &bad, WEFT_INVALID_ARGUMENT, "%s is missing");
        if (!all[i].has_step) continue;
        bad = o;
        bad.step = o.rate;
        refused_by(i, &bad, WEFT_DTYPE_MISMATCH, "the step is of f32, but must be an i64");
        bad = o;
        bad.step = several;
        refused_by(i, &bad, WEFT_SHAPE_MISMATCH, "the step has rank 1, but must have rank 0");
        bad = o;
        bad.step = WEFT_NO_TENSOR;
        refused_by(i, &bad, WEFT_INVALID_ARGUMENT, "the step is missing");
    }
    weft_graph_destroy(o.graph);
}

/* ---- numbers out of their ranges ---- */

static void wrong_numbers(void **state)
{
    (void)state;
    operands o = create();
#define SGD(...) weft_sgd(o.p, o.g, o.rate, o.state, &(weft_sgd_options){__VA_ARGS__}, NULL)
#define ADAM(...) weft_adam(o.p, o.g, o.rate, o.step, o.state, o.second, &(weft_adam_options){__VA_ARGS__}, NULL, NULL)
#define RMSPROP(...) weft_rmsprop(o.p, o.g, o.rate, o.state, o.second, &(weft_rmsprop_options){__VA_ARGS__}, NULL, NULL)
#define ADAGRAD(...) weft_adagrad(o.p, o.g, o.rate, o.step, o.state, &(weft_adagrad_options){__VA_ARGS__}, NULL)
#define LION(...) weft_lion(o.p, o.g, o.rate, o.state, &(weft_lion_options){__VA_ARGS__}, NULL)
#define REFUSED(tensor, message) refused(o.graph, tensor, WEFT_INVALID_ARGUMENT, message)
    REFUSED(SGD(.momentum = 1), "sgd: momentum is 1, but must be at least 0 and below 1");
    REFUSED(SGD(.momentum = -0.5), "sgd: momentum is -0.5, but must be at least 0 and below 1");
    REFUSED(SGD(.weight_decay = -1), "sgd: weight_decay is -1, but must be at least 0 and finite");
    REFUSED(SGD(.weight_decay = INFINITY), "sgd: weight_decay is inf, but must be at least 0 and finite");
    REFUSED(SGD(.momentum = NAN), "sgd: momentum is nan, but must be at least 0 and below 1");
    REFUSED(ADAM(.beta1 = 1), "adam: beta1 is 1, but must be greater than 0 and below 1");
    REFUSED(ADAM(.beta2 = -0.1), "adam: beta2 is -0.1, but must be greater than 0 and below 1");
    REFUSED(ADAM(.epsilon = -1e-8), "adam: epsilon is -1e-08, but must be greater than 0 and finite");
    REFUSED(ADAM(.weight_decay = -1), "adam: weight_decay is -1, but must be at least 0 and finite");
    REFUSED(RMSPROP(.alpha = 1), "rmsprop: alpha is 1, but must be greater than 0 and below 1");
    REFUSED(RMSPROP(.epsilon = -1), "rmsprop: epsilon is -1, but must be greater than 0 and finite");
    REFUSED(RMSPROP(.momentum = 1.5), "rmsprop: momentum is 1.5, but must be at least 0 and below 1");
    REFUSED(RMSPROP(.weight_decay = -1), "rmsprop: weight_decay is -1, but must be at least 0 and finite");
    REFUSED(ADAGRAD(.epsilon = -1), "adagrad: epsilon is -1, but must be greater than 0 and finite");
    REFUSED(ADAGRAD(.rate_decay = -1), "adagrad: rate_decay is -1, but must be at least 0 and finite");
    REFUSED(ADAGRAD(.weight_decay = -1), "adagrad: weight_decay is -1, but must be at least 0 and finite");
    REFUSED(LION(.beta1 = 2), "lion: beta1 is 2, but must be greater than 0 and below 1");
    REFUSED(LION(.beta2 = 1), "lion: beta2 is 1, but must be greater than 0 and below 1");
    REFUSED(LION(.weight_decay = -1), "lion: weight_decay is -1, but must be at least 0 and finite");
    weft_graph_destroy(o.graph);
}

/* ---- gradients and rates ---- */

static void wrong_gradients(void **state)
{
    (void)state;
    operands o = create();
    weft_tensor clipped[2];
    const weft_tensors fine = WEFT_TENSORS(o.g, o.state);
    REFUSED(weft_clip_gradients(fine, 0, clipped),
            "clip_gradients: the limit is 0, but must be greater than 0 and finite");
    assert_false(weft_tensor_is_valid(clipped[0]) || weft_tensor_is_valid(clipped[1]));
    REFUSED(weft_clip_gradients(fine, INFINITY, NULL),
            "clip_gradients: the limit is inf, but must be greater than 0 and finite");
    refused(o.graph, weft_clip_gradients(WEFT_TENSORS(o.g, o.step), 1, clipped), WEFT_DTYPE_MISMATCH,
            "clip_gradients: a gradient has dtype i64 but must be a float");
    weft_graph_destroy(o.graph);
}

static void wrong_rates(void **state)
{
    (void)state;
    operands o = create();
    weft_tensor several = weft_input(o.graph, "several", WEFT_I64, WEFT_SHAPE(3));
    REFUSED(weft_rate_step(o.step, 1, 0.5, 0), "rate_step: every is 0, below 1");
    REFUSED(weft_rate_step(o.step, NAN, 0.5, 2), "rate_step: rate is nan, but must be finite");
    REFUSED(weft_rate_step(o.step, 1, -0.5, 2), "rate_step: factor is -0.5, but must be at least 0 and finite");
    REFUSED(weft_rate_cosine(o.step, INFINITY, 0, 0, 4), "rate_cosine: rate is inf, but must be finite");
    REFUSED(weft_rate_linear(o.step, 1, NAN, 0, 4), "rate_linear: least is nan, but must be finite");
    REFUSED(weft_rate_cosine(o.step, 1, 0, 5, 4), "rate_cosine: warmup is 5, but must be in [0, total] with total 4");
    REFUSED(weft_rate_linear(o.step, 1, 0, -1, 4), "rate_linear: warmup is -1, but must be in [0, total] with total 4");
    refused(o.graph, weft_rate_step(o.rate, 1, 0.5, 2), WEFT_DTYPE_MISMATCH,
            "rate_step: the step is of f32, but must be an i64");
    refused(o.graph, weft_rate_cosine(o.rate, 1, 0, 0, 4), WEFT_DTYPE_MISMATCH,
            "rate_cosine: the step is of f32, but must be an i64");
    refused(o.graph, weft_rate_linear(several, 1, 0, 0, 4), WEFT_SHAPE_MISMATCH,
            "rate_linear: the step has rank 1, but must have rank 0");
    weft_graph_destroy(o.graph);
}

/* ---- what is given ---- */

static void types(void **state)
{
    (void)state;
    static const weft_dtype dtypes[] = {WEFT_F64, WEFT_F32, WEFT_F16, WEFT_BF16};
    static const char *const names[][2] = {{"f64[n, 3]", "f64[n, 3]"},
                                           {"f32[n, 3]", "f32[n, 3]"},
                                           {"f16[n, 3]", "f32[n, 3]"},
                                           {"bf16[n, 3]", "f32[n, 3]"}};
    operands o = create();
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++) {
        weft_dtype wide = dtypes[k] == WEFT_F64 ? WEFT_F64 : WEFT_F32;
        operands some = o;
        some.p = weft_cast(o.p, dtypes[k]);
        some.g = weft_cast(o.g, dtypes[k]);
        some.state = weft_cast(o.state, wide);
        some.second = weft_cast(o.second, wide);
        for (size_t i = 0; i < OPTIMIZERS; i++) {
            weft_tensor next_state, next = all[i].take(&some, &next_state);
            weft_test_traced(o.graph, next, names[k][0]);
            weft_test_traced(o.graph, next_state, names[k][1]);
        }
        weft_tensor clipped, norm = weft_clip_gradients(WEFT_TENSORS(some.g), 1, &clipped);
        weft_test_traced(o.graph, norm, wide == WEFT_F64 ? "f64[]" : "f32[]");
        weft_test_traced(o.graph, clipped, names[k][0]);
    }
    weft_graph_destroy(o.graph);
}

/* What an optimiser does without may be missing, and there is no next value of it. */
static void absent_states(void **state)
{
    (void)state;
    operands o = create();
    weft_tensor next = o.p, square;
    weft_test_traced(o.graph, weft_sgd(o.p, o.g, o.rate, WEFT_NO_TENSOR, NULL, &next), "f64[n, 3]");
    assert_false(weft_tensor_is_valid(next));
    next = o.p;
    weft_test_traced(o.graph, weft_rmsprop(o.p, o.g, o.rate, o.state, WEFT_NO_TENSOR, NULL, &square, &next),
                     "f64[n, 3]");
    assert_false(weft_tensor_is_valid(next));
    weft_test_traced(o.graph, square, "f64[n, 3]");
    weft_test_traced(o.graph, weft_adagrad(o.p, o.g, o.rate, WEFT_NO_TENSOR, o.state, NULL, NULL), "f64[n, 3]");
    weft_graph_destroy(o.graph);
}

/* ---- norms that are no number to scale by ---- */

/* The clipped gradient of two, [3] and [1]. */
static float clip(const float *data, float *out_clipped)
{
    weft_graph *graph;
    weft_program *program;
    weft_executor *executor;
    weft_array *outputs[3] = {NULL};
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor clipped[2], a = weft_constant(graph, WEFT_F32, WEFT_INTS(3), data);
    weft_tensor norm =
        weft_clip_gradients(WEFT_TENSORS(a, weft_constant(graph, WEFT_F32, WEFT_INTS(1), data + 3)), 2, clipped);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(norm, clipped[0], clipped[1]), NULL, &program));
    weft_test_ok(weft_executor_create_standard(NULL, &executor));
    weft_run run = {.output_count = 3, .outputs = outputs, .runtime = "ref"};
    weft_test_ok(weft_executor_run(executor, program, &run));
    float found = *(const float *)weft_array_data(outputs[0]);
    memcpy(out_clipped, weft_array_data(outputs[1]), 3 * sizeof(float));
    memcpy(out_clipped + 3, weft_array_data(outputs[2]), sizeof(float));
    for (int i = 0; i < 3; i++) weft_array_release(outputs[i]);
    weft_executor_destroy(executor);
    weft_program_release(program);
    weft_graph_destroy(graph);
    return found;
}

static void norms_that_are_not_finite(void **state)
{
    (void)state;
    float out[4];
    assert_float_equal(clip((const float[]){2, 4, 4, 0}, out), 6, 0);
    assert_float_equal(out[1], 4 / 3., 1e-5);
    assert_true(isinf(clip((const float[]){1, INFINITY, -1, 3}, out)));
    assert_true(out[0] == 0 && isnan(out[1]) && out[2] == 0 && out[3] == 0);
    assert_true(isinf(clip((const float[]){1e30f, 1, 1, 1}, out))); /* its square */
    assert_true(out[0] == 0 && out[3] == 0);
    assert_true(isnan(clip((const float[]){1, 1, NAN, 1}, out)));
    assert_true(isnan(out[0]) && isnan(out[2]) && isnan(out[3]));
}

static weft_status *trace_steps(const weft_allocator *allocator, void *context)
{
    (void)context;
    weft_graph *graph;
    weft_program *program = NULL;
    WEFT_TRY(weft_graph_create(&(weft_graph_options){.allocator = allocator}, &graph));
    weft_tensor p = weft_input(graph, "p", WEFT_F16, WEFT_SHAPE(3)), out[6];
    weft_tensor state = weft_input(graph, "state", WEFT_F32, WEFT_SHAPE(3));
    weft_tensor step = weft_input(graph, "step", WEFT_I64, WEFT_SHAPE());
    weft_tensor rate = weft_rate_cosine(step, 0.1, 0.01, 3, 9);
    weft_clip_gradients(WEFT_TENSORS(p), 1, &out[0]);
    out[1] = weft_sgd(p, out[0], rate, state, &(weft_sgd_options){.momentum = 0.9, .nesterov = true}, NULL);
    out[2] = weft_adam(out[1], p, weft_rate_step(step, 1, 0.5, 3), step, state, state, NULL, NULL, NULL);
    out[3] = weft_rmsprop(out[2], p, rate, state, state, &(weft_rmsprop_options){.momentum = 0.9}, NULL, NULL);
    out[4] = weft_adagrad(out[3], p, rate, step, state, &(weft_adagrad_options){.rate_decay = 0.1}, NULL);
    out[5] = weft_lion(out[4], p, weft_rate_linear(step, 0.1, 0.01, 3, 9), state, NULL, NULL);
    weft_status *status = weft_compile(graph, WEFT_TENSORS(out[5]), NULL, &program);
    weft_program_release(program);
    weft_graph_destroy(graph);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(weft_test_fail_each(trace_steps, NULL) > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_operands),
        cmocka_unit_test(wrong_states),
        cmocka_unit_test(wrong_numbers),
        cmocka_unit_test(wrong_gradients),
        cmocka_unit_test(wrong_rates),
        cmocka_unit_test(types),
        cmocka_unit_test(absent_states),
        cmocka_unit_test(norms_that_are_not_finite),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
