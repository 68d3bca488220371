/* SPDX-License-Identifier: Apache-2.0 */
/* Optimisers: a step of each. */
#include <weft/optimize.h>
#include <inttypes.h>
#include <math.h>
#include <weft/elementwise.h>
#include <weft/statistics.h>
#include "lib/composite/composite.h"
#include "runtime/base/float_mode.h"

static weft_tensor times(weft_tensor x, double factor)
{
    return weft_mul(x, weft_scalar_like(x, factor));
}

static weft_tensor plus(weft_tensor x, double term)
{
    return weft_add(x, weft_scalar_like(x, term));
}

/* ---- arguments ---- */

/* One step: its operands in the dtype in which it computes. */
typedef struct update {
    const char *function;
    weft_graph *graph;
    weft_tensor own; /* the parameter as it is given */
    weft_tensor p, g, rate;
} update;

static bool wants_scalar(const char *function, const char *name, weft_tensor x)
{
    if (weft_tensor_rank(x) == 0) return true;
    weft_trace_fail(x.graph, WEFT_SHAPE_MISMATCH, function, "%s has rank %zu, but must have rank 0", name,
                    weft_tensor_rank(x));
    return false;
}

/* A shape is compared as that of a state is: what may be equal becomes a guard. */
static bool wants_shape(const char *function, weft_named x, weft_named like)
{
    size_t rank = weft_tensor_rank(like.tensor);
    bool fits = weft_tensor_rank(x.tensor) == rank;
    if (!fits) {
        weft_trace_fail(x.tensor.graph, WEFT_SHAPE_MISMATCH, function, "%s has rank %zu but %s has %zu", x.name,
                        weft_tensor_rank(x.tensor), like.name, rank);
    }
    for (size_t i = 0; i < rank && fits; i++)
        fits = weft_composite_wants_extent(function, x, (int64_t)i, like, (int64_t)i);
    return fits;
}

/* The operands are the parameter, the gradient, the rate and others; after the first `needed` they may be absent. */
static bool begin(update *u, const char *function, size_t needed, weft_tensors operands, const char *const *names)
{
    *u = (update){.function = function, .graph = weft_trace_graph(operands)};
    const weft_named p = {names[0], operands.items[0]}, g = {names[1], operands.items[1]};
    weft_tensor rate = operands.items[2];
    if (!weft_composite_begin_named(function, needed, operands.count, operands.items, names) ||
        !weft_composite_wants_float(function, names[0], p.tensor) || !weft_composite_wants_dtype(function, g, p) ||
        !wants_shape(function, g, p) || !weft_composite_wants_float(function, names[2], rate) ||
        !wants_scalar(function, names[2], rate))
        return false;
    u->own = p.tensor;
    u->p = weft_composite_widen(p.tensor);
    u->g = weft_composite_widen(g.tensor);
    u->rate = weft_composite_cast(rate, weft_tensor_dtype(u->p));
    return true;
}

/* Whether a state is of the parameter's shape and of the dtype that the step computes in. */
static bool wants_state(const update *u, const char *name, weft_tensor state)
{
    const weft_named x = {name, state}, like = {"the parameter", u->p};
    return weft_composite_wants_dtype(u->function, x, like) && wants_shape(u->function, x, like);
}

static bool wants_step(const char *function, weft_tensor step)
{
    static const char *const names[] = {"the step"};
    if (!weft_composite_begin_named(function, 1, 1, &step, names) || !wants_scalar(function, names[0], step))
        return false;
    if (weft_tensor_dtype(step) == WEFT_I64) return true;
    weft_trace_fail(step.graph, WEFT_DTYPE_MISMATCH, function, "the step is of %s, but must be an i64",
                    weft_dtype_name(weft_tensor_dtype(step)));
    return false;
}

/* Whether low <= value < high, or low < value where `open`. */
static bool in_range(weft_graph *graph, const char *function, const char *name, double value, double low, double high,
                     bool open)
{
    if ((open ? value > low : value >= low) && value < high) return true;
    weft_trace_fail(graph, WEFT_INVALID_ARGUMENT, function, "%s is %g, but must be %s %g%s", name, value,
                    open ? "greater than" : "at least", low, high < INFINITY ? " and below 1" : " and finite");
    return false;
}

static bool wants_finite(weft_graph *graph, const char *function, const char *name, double value)
{
    if (isfinite(value)) return true;
    weft_trace_fail(graph, WEFT_INVALID_ARGUMENT, function, "%s is %g, but must be finite", name, value);
    return false;
}

static double or_default(double value, double usual)
{
    return value == 0 ? usual : value;
}

static weft_tensor fail(const update *u, weft_tensor *out_a, weft_tensor *out_b)
{
    weft_tensor failed = weft_tensor_failed(u->graph);
    if (out_a != NULL) *out_a = failed;
    if (out_b != NULL) *out_b = failed;
    return failed;
}

static void keep(weft_tensor *out, weft_tensor value)
{
    if (out != NULL) *out = value;
}

/* The decay as a part of the gradient. */
static void decay(update *u, double weight_decay)
{
    if (weight_decay != 0) u->g = weft_add(u->g, times(u->p, weight_decay));
}

/* The decay on its own. */
static void shrink(update *u, double weight_decay)
{
    if (weight_decay != 0) u->p = weft_mul(u->p, weft_sub(weft_scalar_like(u->p, 1), times(u->rate, weight_decay)));
}

static weft_tensor end(const update *u, weft_tensor way)
{
    return weft_composite_cast(weft_sub(u->p, weft_mul(u->rate, way)), weft_tensor_dtype(u->own));
}

/* beta * mean + (1 - beta) * x */
static weft_tensor mix(weft_tensor mean, weft_tensor x, double beta)
{
    return weft_add(times(mean, beta), times(x, 1 - beta));
}

/* ---- optimisers ---- */

static const char *const sgd_names[] = {"the parameter", "the gradient", "the rate", "the velocity"};

WEFT_PLAIN_FUNCTION(weft_tensor, weft_sgd,
                    (weft_tensor parameter, weft_tensor gradient, weft_tensor rate, weft_tensor velocity,
                     const weft_sgd_options *options, weft_tensor *out_velocity),
                    (parameter, gradient, rate, velocity, options, out_velocity))
{
    update u;
    weft_sgd_options o = options == NULL ? (weft_sgd_options){0} : *options;
    if (!begin(&u, "sgd", o.momentum == 0 ? 3 : 4, WEFT_TENSORS(parameter, gradient, rate, velocity), sgd_names) ||
        !in_range(u.graph, "sgd", "momentum", o.momentum, 0, 1, false) ||
        !in_range(u.graph, "sgd", "weight_decay", o.weight_decay, 0, INFINITY, false) ||
        (o.momentum != 0 && !wants_state(&u, "the velocity", velocity)))
        return fail(&u, out_velocity, NULL);
    if (o.nesterov && o.momentum == 0) {
        weft_trace_fail(u.graph, WEFT_INVALID_ARGUMENT, "sgd", "%s", "nesterov needs a momentum");
        return fail(&u, out_velocity, NULL);
    }
    decay(&u, o.weight_decay);
    weft_tensor way = o.momentum == 0 ? u.g : weft_add(times(velocity, o.momentum), u.g);
    keep(out_velocity, o.momentum == 0 ? velocity : way);
    return end(&u, o.nesterov ? weft_add(u.g, times(way, o.momentum)) : way);
}

/* 1 - beta^(step + 1), which makes up for a mean that begins with 0. */
static weft_tensor correction(weft_tensor step, double beta, weft_tensor like)
{
    weft_tensor count = plus(weft_cast(step, WEFT_F64), 1);
    weft_tensor left = weft_sub(weft_scalar_like(count, 1), weft_pow(weft_scalar_like(count, beta), count));
    return weft_composite_cast(left, weft_tensor_dtype(like));
}

static bool check_adam(const update *u, const weft_adam_options *o, weft_tensor step, weft_tensor mean,
                       weft_tensor square)
{
    weft_graph *graph = u->graph;
    return in_range(graph, "adam", "beta1", o->beta1, 0, 1, true) &&
           in_range(graph, "adam", "beta2", o->beta2, 0, 1, true) &&
           in_range(graph, "adam", "epsilon", o->epsilon, 0, INFINITY, true) &&
           in_range(graph, "adam", "weight_decay", o->weight_decay, 0, INFINITY, false) && wants_step("adam", step) &&
           wants_state(u, "the mean", mean) && wants_state(u, "the mean of squares", square);
}

static const char *const adam_names[] = {"the parameter", "the gradient", "the rate",
                                         "the step",      "the mean",     "the mean of squares"};

WEFT_PLAIN_FUNCTION(weft_tensor, weft_adam,
                    (weft_tensor parameter, weft_tensor gradient, weft_tensor rate, weft_tensor step, weft_tensor mean,
                     weft_tensor square, const weft_adam_options *options, weft_tensor *out_mean,
                     weft_tensor *out_square),
                    (parameter, gradient, rate, step, mean, square, options, out_mean, out_square))
{
    update u;
    weft_adam_options o = options == NULL ? (weft_adam_options){0} : *options;
    o.beta1 = or_default(o.beta1, 0.9);
    o.beta2 = or_default(o.beta2, 0.999);
    o.epsilon = or_default(o.epsilon, 1e-8);
    if (!begin(&u, "adam", 6, WEFT_TENSORS(parameter, gradient, rate, step, mean, square), adam_names) ||
        !check_adam(&u, &o, step, mean, square))
        return fail(&u, out_mean, out_square);
    if (o.decoupled) shrink(&u, o.weight_decay);
    else decay(&u, o.weight_decay);
    weft_tensor m = weft_add(mean, times(weft_sub(u.g, mean), 1 - o.beta1));
    weft_tensor v = mix(square, weft_mul(u.g, u.g), o.beta2);
    weft_tensor root = weft_sqrt(correction(step, o.beta2, u.p));
    weft_tensor size = plus(weft_div(weft_sqrt(v), root), o.epsilon);
    u.rate = weft_div(u.rate, correction(step, o.beta1, u.p));
    keep(out_mean, m);
    keep(out_square, v);
    return end(&u, weft_div(m, size));
}

static const char *const rmsprop_names[] = {"the parameter", "the gradient", "the rate", "the mean of squares",
                                            "the velocity"};

WEFT_PLAIN_FUNCTION(weft_tensor, weft_rmsprop,
                    (weft_tensor parameter, weft_tensor gradient, weft_tensor rate, weft_tensor square,
                     weft_tensor velocity, const weft_rmsprop_options *options, weft_tensor *out_square,
                     weft_tensor *out_velocity),
                    (parameter, gradient, rate, square, velocity, options, out_square, out_velocity))
{
    update u;
    weft_rmsprop_options o = options == NULL ? (weft_rmsprop_options){0} : *options;
    o.alpha = or_default(o.alpha, 0.99);
    o.epsilon = or_default(o.epsilon, 1e-8);
    if (!begin(&u, "rmsprop", o.momentum == 0 ? 4 : 5, WEFT_TENSORS(parameter, gradient, rate, square, velocity),
               rmsprop_names) ||
        !in_range(u.graph, "rmsprop", "alpha", o.alpha, 0, 1, true) ||
        !in_range(u.graph, "rmsprop", "epsilon", o.epsilon, 0, INFINITY, true) ||
        !in_range(u.graph, "rmsprop", "momentum", o.momentum, 0, 1, false) ||
        !in_range(u.graph, "rmsprop", "weight_decay", o.weight_decay, 0, INFINITY, false) ||
        !wants_state(&u, "the mean of squares", square) ||
        (o.momentum != 0 && !wants_state(&u, "the velocity", velocity)))
        return fail(&u, out_square, out_velocity);
    decay(&u, o.weight_decay);
    weft_tensor v = mix(square, weft_mul(u.g, u.g), o.alpha);
    weft_tensor way = weft_div(u.g, plus(weft_sqrt(v), o.epsilon));
    if (o.momentum != 0) way = weft_add(times(velocity, o.momentum), way);
    keep(out_square, v);
    keep(out_velocity, o.momentum == 0 ? velocity : way);
    return end(&u, way);
}

static const char *const adagrad_names[] = {"the parameter", "the gradient", "the rate", "the sum of squares",
                                            "the step"};

WEFT_PLAIN_FUNCTION(weft_tensor, weft_adagrad,
                    (weft_tensor parameter, weft_tensor gradient, weft_tensor rate, weft_tensor step,
                     weft_tensor square, const weft_adagrad_options *options, weft_tensor *out_square),
                    (parameter, gradient, rate, step, square, options, out_square))
{
    update u;
    weft_adagrad_options o = options == NULL ? (weft_adagrad_options){0} : *options;
    o.epsilon = or_default(o.epsilon, 1e-10);
    if (!begin(&u, "adagrad", o.rate_decay == 0 ? 4 : 5, WEFT_TENSORS(parameter, gradient, rate, square, step),
               adagrad_names) ||
        !in_range(u.graph, "adagrad", "epsilon", o.epsilon, 0, INFINITY, true) ||
        !in_range(u.graph, "adagrad", "rate_decay", o.rate_decay, 0, INFINITY, false) ||
        !in_range(u.graph, "adagrad", "weight_decay", o.weight_decay, 0, INFINITY, false) ||
        !wants_state(&u, "the sum of squares", square) || (o.rate_decay != 0 && !wants_step("adagrad", step)))
        return fail(&u, out_square, NULL);
    decay(&u, o.weight_decay);
    if (o.rate_decay != 0) {
        weft_tensor count = weft_composite_cast(step, weft_tensor_dtype(u.rate));
        u.rate = weft_div(u.rate, plus(times(count, o.rate_decay), 1));
    }
    weft_tensor sum = weft_add(square, weft_mul(u.g, u.g));
    keep(out_square, sum);
    return end(&u, weft_div(u.g, plus(weft_sqrt(sum), o.epsilon)));
}

static const char *const lion_names[] = {"the parameter", "the gradient", "the rate", "the mean"};

WEFT_PLAIN_FUNCTION(weft_tensor, weft_lion,
                    (weft_tensor parameter, weft_tensor gradient, weft_tensor rate, weft_tensor mean,
                     const weft_lion_options *options, weft_tensor *out_mean),
                    (parameter, gradient, rate, mean, options, out_mean))
{
    update u;
    weft_lion_options o = options == NULL ? (weft_lion_options){0} : *options;
    o.beta1 = or_default(o.beta1, 0.9);
    o.beta2 = or_default(o.beta2, 0.99);
    if (!begin(&u, "lion", 4, WEFT_TENSORS(parameter, gradient, rate, mean), lion_names) ||
        !in_range(u.graph, "lion", "beta1", o.beta1, 0, 1, true) ||
        !in_range(u.graph, "lion", "beta2", o.beta2, 0, 1, true) ||
        !in_range(u.graph, "lion", "weight_decay", o.weight_decay, 0, INFINITY, false) ||
        !wants_state(&u, "the mean", mean))
        return fail(&u, out_mean, NULL);
    shrink(&u, o.weight_decay);
    keep(out_mean, mix(mean, u.g, o.beta2));
    return end(&u, weft_sign(mix(mean, u.g, o.beta1)));
}

/* ---- gradients ---- */

static bool check_gradients(weft_tensors gradients, weft_graph *graph)
{
    bool fine = weft_trace_wants_list("clip_gradients", "gradients", graph, gradients.count, gradients.items) &&
                weft_composite_begin("clip_gradients", gradients.count, gradients.count, gradients.items);
    for (size_t i = 0; i < gradients.count && fine; i++)
        fine = weft_composite_wants_float("clip_gradients", "a gradient", gradients.items[i]);
    return fine;
}

static weft_tensor norm_of(weft_tensors gradients, weft_dtype dtype)
{
    weft_tensor total = WEFT_NO_TENSOR;
    for (size_t i = 0; i < gradients.count; i++) {
        weft_tensor x = weft_composite_cast(gradients.items[i], dtype);
        weft_axis_list all = weft_axis_range(0, weft_tensor_rank(x));
        weft_tensor square = weft_reduce_sum(weft_mul(x, x), weft_axis_list_ints(&all), false);
        total = total.graph == NULL ? square : weft_add(total, square);
    }
    return weft_sqrt(total);
}

WEFT_PLAIN_FUNCTION(weft_tensor, weft_clip_gradients,
                    (weft_tensors gradients, double limit, weft_tensor *out_gradients),
                    (gradients, limit, out_gradients))
{
    weft_graph *graph = weft_trace_graph(gradients);
    bool fine = graph != NULL && check_gradients(gradients, graph) &&
                in_range(graph, "clip_gradients", "the limit", limit, 0, INFINITY, true);
    for (size_t i = 0; i < gradients.count && out_gradients != NULL && !fine; i++)
        out_gradients[i] = weft_tensor_failed(graph);
    if (!fine) return weft_tensor_failed(graph);
    weft_dtype dtype = WEFT_F32;
    for (size_t i = 0; i < gradients.count; i++)
        if (weft_tensor_dtype(gradients.items[i]) == WEFT_F64) dtype = WEFT_F64;
    weft_tensor norm = norm_of(gradients, dtype);
    /* As PyTorch has it: a little less than the limit, and no division by 0. */
    weft_tensor scale = weft_min(weft_div(weft_scalar_like(norm, limit), plus(norm, 1e-6)), weft_scalar_like(norm, 1));
    for (size_t i = 0; i < gradients.count && out_gradients != NULL; i++) {
        weft_tensor x = gradients.items[i], wide = weft_composite_widen(x);
        weft_tensor scaled = weft_mul(wide, weft_composite_cast(scale, weft_tensor_dtype(wide)));
        out_gradients[i] = weft_composite_cast(scaled, weft_tensor_dtype(x));
    }
    return norm;
}

/* ---- rates ---- */

WEFT_PLAIN_FUNCTION(weft_tensor, weft_rate_step, (weft_tensor step, double rate, double factor, int64_t every),
                    (step, rate, factor, every))
{
    if (!wants_step("rate_step", step)) return weft_tensor_failed(step.graph);
    if (every < 1)
        return weft_trace_fail(step.graph, WEFT_INVALID_ARGUMENT, "rate_step", "every is %" PRId64 ", below 1", every);
    if (!wants_finite(step.graph, "rate_step", "rate", rate) ||
        !in_range(step.graph, "rate_step", "factor", factor, 0, INFINITY, false))
        return weft_tensor_failed(step.graph);
    weft_tensor times_done = weft_cast(weft_div(step, weft_scalar(step.graph, WEFT_I64, (double)every)), WEFT_F64);
    return times(weft_pow(weft_scalar_like(times_done, factor), times_done), rate);
}

typedef weft_tensor (*rate_curve)(weft_tensor part);

static weft_tensor cosine(weft_tensor part)
{
    return times(plus(weft_cos(times(part, M_PI)), 1), 0.5);
}

static weft_tensor line(weft_tensor part)
{
    return weft_sub(weft_scalar_like(part, 1), part);
}

static weft_tensor after_warmup(const char *function, weft_tensor step, double rate, double least, int64_t warmup,
                                int64_t total, rate_curve curve)
{
    if (!wants_step(function, step)) return weft_tensor_failed(step.graph);
    if (warmup < 0 || warmup > total)
        return weft_trace_fail(step.graph, WEFT_INVALID_ARGUMENT, function,
                               "warmup is %" PRId64 ", but must be in [0, total] with total %" PRId64, warmup, total);
    if (!wants_finite(step.graph, function, "rate", rate) || !wants_finite(step.graph, function, "least", least))
        return weft_tensor_failed(step.graph);
    weft_tensor at = weft_cast(step, WEFT_F64);
    double length = total > warmup ? (double)(total - warmup) : 1;
    weft_tensor part = times(plus(at, -(double)warmup), 1 / length);
    if (total == warmup) part = plus(part, 1);
    part = weft_min(weft_max(part, weft_scalar_like(part, 0)), weft_scalar_like(part, 1));
    weft_tensor down = plus(times(curve(part), rate - least), least);
    if (warmup == 0) return down;
    weft_tensor up = times(plus(at, 1), rate / (double)warmup);
    return weft_select(weft_lt(at, weft_scalar_like(at, (double)warmup)), up, down);
}

WEFT_PLAIN_FUNCTION(weft_tensor, weft_rate_cosine,
                    (weft_tensor step, double rate, double least, int64_t warmup, int64_t total),
                    (step, rate, least, warmup, total))
{
    return after_warmup("rate_cosine", step, rate, least, warmup, total, cosine);
}

WEFT_PLAIN_FUNCTION(weft_tensor, weft_rate_linear,
                    (weft_tensor step, double rate, double least, int64_t warmup, int64_t total),
                    (step, rate, least, warmup, total))
{
    return after_warmup("rate_linear", step, rate, least, warmup, total, line);
}
