/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of optimisers. */
#include "test/random/make.h"

#define UNUSED (void)g, (void)call

typedef struct operands {
    weft_tensor p, gradient, rate, step, state;
} operands;

static operands draw_operands(generator *g, weft_tensor x)
{
    weft_dtype dtype = weft_tensor_dtype(x);
    weft_dtype wide = dtype == WEFT_F64 ? WEFT_F64 : WEFT_F32;
    (void)g;
    return (operands){.p = x,
                      .gradient = weft_tanh(x),
                      .rate = weft_scalar(x.graph, WEFT_F64, 0.125),
                      .step = weft_scalar(x.graph, WEFT_I64, 3),
                      .state = weft_abs(weft_cast(x, wide))};
}

MAKE(sgd)
{
    UNUSED;
    operands o = draw_operands(g, x);
    const weft_sgd_options options = {.momentum = 0.5, .weight_decay = 0.25, .nesterov = draw_chance(g, 2)};
    weft_tensor next = WEFT_NO_TENSOR;
    weft_tensor made = weft_sgd(o.p, o.gradient, o.rate, o.state, draw_chance(g, 3) ? NULL : &options, &next);
    return draw_chance(g, 2) ? made : next;
}

MAKE(adam)
{
    UNUSED;
    operands o = draw_operands(g, x);
    const weft_adam_options options = {.weight_decay = 0.25, .decoupled = draw_chance(g, 2)};
    return weft_adam(o.p, o.gradient, o.rate, o.step, o.state, o.state, draw_chance(g, 3) ? NULL : &options, NULL,
                     NULL);
}

MAKE(rmsprop)
{
    UNUSED;
    operands o = draw_operands(g, x);
    const weft_rmsprop_options options = {.momentum = 0.5, .weight_decay = 0.25};
    return weft_rmsprop(o.p, o.gradient, o.rate, o.state, o.state, draw_chance(g, 3) ? NULL : &options, NULL, NULL);
}

MAKE(adagrad)
{
    UNUSED;
    operands o = draw_operands(g, x);
    const weft_adagrad_options options = {.rate_decay = 0.5, .weight_decay = 0.25};
    return weft_adagrad(o.p, o.gradient, o.rate, o.step, o.state, draw_chance(g, 3) ? NULL : &options, NULL);
}

MAKE(lion)
{
    UNUSED;
    operands o = draw_operands(g, x);
    weft_tensor next = WEFT_NO_TENSOR;
    weft_lion(o.p, o.gradient, o.rate, o.state, &(weft_lion_options){.weight_decay = 0.25}, &next);
    return next;
}

MAKE(clip_gradients)
{
    UNUSED;
    weft_tensor clipped[2];
    weft_tensor norm = weft_clip_gradients(WEFT_TENSORS(x, weft_tanh(x)), 2, clipped);
    return draw_chance(g, 2) ? norm : clipped[0];
}

/* The step is a number that the program has. */
static weft_tensor step_of(weft_tensor x)
{
    weft_tensor step = x;
    while (weft_tensor_rank(step) > 0) step = weft_reduce_max(step, WEFT_INTS(0), false);
    return weft_cast(step, WEFT_I64);
}

MAKE(rate_step)
{
    UNUSED;
    return weft_rate_step(step_of(x), 0.5, 0.875, 3);
}

MAKE(rate_cosine)
{
    UNUSED;
    return weft_rate_cosine(step_of(x), 0.5, 0.125, (int64_t)draw_below(g, 4), 9);
}

MAKE(rate_linear)
{
    UNUSED;
    return weft_rate_linear(step_of(x), 0.5, 0.125, (int64_t)draw_below(g, 4), 9);
}
