/* SPDX-License-Identifier: Apache-2.0 */
/* Derivatives of activations that those of their ops would give less accurately, or at more cost. */
#include <weft/elementwise.h>
#include <weft/nn.h>
#include <math.h>
#include "lib/composite/composite.h"
#include "lib/grad/grad.h"

static weft_tensor sum_along(weft_tensor x, int64_t axis)
{
    return weft_reduce_sum(x, WEFT_INTS(axis), true);
}

static weft_tensor narrow_back(weft_tensor x, weft_tensor like)
{
    return weft_composite_cast(x, weft_tensor_dtype(like));
}

/* g where y is not 0, which is where x is positive: so x need not be kept. Its own adjoint. */
static weft_status *relu(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor y = c->outputs.items[0], zero = weft_scalar_like(y, 0);
    out_values[0] = weft_select(weft_le(y, zero), zero, c->given.items[0]);
    return NULL;
}

/* y (g - sum(g y)), which is its own adjoint. */
static weft_status *softmax(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor y = weft_composite_widen(c->outputs.items[0]), g = weft_composite_widen(c->given.items[0]);
    weft_tensor mean = sum_along(weft_mul(g, y), c->attrs[0].integer);
    out_values[0] = narrow_back(weft_mul(y, weft_sub(g, mean)), c->inputs.items[0]);
    return NULL;
}

/* g - exp(y) sum(g) */
static weft_status *vjp_log_softmax(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor y = weft_composite_widen(c->outputs.items[0]), g = weft_composite_widen(c->given.items[0]);
    weft_tensor total = sum_along(g, c->attrs[0].integer);
    out_values[0] = narrow_back(weft_sub(g, weft_mul(weft_exp(y), total)), c->inputs.items[0]);
    return NULL;
}

/* dx - sum(exp(y) dx) */
static weft_status *jvp_log_softmax(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor y = weft_composite_widen(c->outputs.items[0]), dx = weft_composite_widen(c->given.items[0]);
    weft_tensor mean = sum_along(weft_mul(weft_exp(y), dx), c->attrs[0].integer);
    out_values[0] = narrow_back(weft_sub(dx, mean), c->inputs.items[0]);
    return NULL;
}

/* g sigmoid(x) */
static weft_status *softplus(const weft_gradient_context *c, weft_tensor *out_values)
{
    out_values[0] = weft_mul(c->given.items[0], weft_sigmoid(c->inputs.items[0]));
    return NULL;
}

/*
 * The shares exp(x - y) of x in y = logsumexp(x), from distances to the greatest: y has lost digits where it is large.
 * Where y is infinite, those that are share it equally, as they would the greatest; of nothing but -inf none has any.
 */
static weft_tensor shares_of(const weft_gradient_context *c)
{
    weft_ints axes = c->attrs[0].ints;
    weft_tensor x = c->inputs.items[0], y = c->outputs.items[0], zero = weft_scalar_like(x, 0);
    weft_tensor greatest = weft_stop_gradient(weft_reduce_max(x, axes, true));
    weft_tensor count = weft_composite_sum_of_powers(x, greatest, axes);
    weft_tensor is_least = weft_eq(y, weft_scalar_like(y, -INFINITY)),
                is_most = weft_eq(y, weft_scalar_like(y, INFINITY));
    weft_tensor each = weft_select(is_least, zero, weft_div(weft_scalar_like(x, 1), count));
    weft_tensor infinite = weft_select(weft_eq(x, y), weft_stop_gradient(each), zero);
    weft_tensor powers = weft_exp(weft_sub(weft_gradient_afresh(x), greatest));
    weft_tensor shares = weft_div(powers, weft_reduce_sum(powers, axes, true));
    return weft_select(weft_or(is_least, is_most), infinite, shares);
}

static weft_status *vjp_logsumexp(const weft_gradient_context *c, weft_tensor *out_values)
{
    out_values[0] = weft_mul(shares_of(c), c->given.items[0]);
    return NULL;
}

static weft_status *jvp_logsumexp(const weft_gradient_context *c, weft_tensor *out_values)
{
    out_values[0] = weft_reduce_sum(weft_mul(shares_of(c), c->given.items[0]), c->attrs[0].ints, true);
    return NULL;
}

/* The next one is the slope. */
static weft_status *polygamma(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor slope = weft_polygamma(c->attrs[0].integer + 1, c->inputs.items[0]);
    out_values[0] = weft_gradient_scale(c->given.items[0], slope);
    return NULL;
}

static const weft_gradient_row rows[] = {
    {WEFT_COMPOSED_relu, relu, relu, NULL},
    {WEFT_COMPOSED_softmax, softmax, softmax, NULL},
    {WEFT_COMPOSED_log_softmax, vjp_log_softmax, jvp_log_softmax, NULL},
    {WEFT_COMPOSED_softplus, softplus, softplus, NULL},
    {WEFT_COMPOSED_logsumexp, vjp_logsumexp, jvp_logsumexp, NULL},
    {WEFT_COMPOSED_polygamma, polygamma, polygamma, NULL},
};

const weft_gradient_family weft_gradient_activation = {sizeof rows / sizeof *rows, rows};
