/* SPDX-License-Identifier: Apache-2.0 */
/* Derivatives of moments and norms, and of what they normalise: all along axes, which the results keep. */
#include <weft/statistics.h>
#include "lib/composite/composite.h"
#include "lib/grad/grad.h"

static weft_tensor sum_along(const weft_gradient_context *c, weft_tensor x)
{
    return weft_reduce_sum(x, c->attrs[0].ints, true);
}

static weft_tensor mean_along(const weft_gradient_context *c, weft_tensor x)
{
    return weft_mean(x, c->attrs[0].ints, true);
}

/* a / b, 0 where y = 0. */
static weft_tensor divide_unless_zero(weft_tensor a, weft_tensor b, weft_tensor y)
{
    weft_tensor zero = weft_scalar_like(y, 0);
    return weft_select(weft_eq(y, zero), zero, weft_div(a, b));
}

/* ---- moments: multiples of x - mean, whose own slope by the mean is 0 ---- */

static weft_tensor centered(const weft_gradient_context *c)
{
    return weft_sub(c->inputs.items[0], mean_along(c, c->inputs.items[0]));
}

/* g times what x - mean is multiplied by. */
static weft_tensor moment_factor(const weft_gradient_context *c, weft_tensor g)
{
    weft_tensor y = c->outputs.items[0];
    weft_tensor freedom = weft_composite_freedom(c->inputs.items[0], c->attrs[0].ints, c->attrs[1].integer, y);
    if (weft_composed_id_of(c->op) == WEFT_COMPOSED_variance)
        return weft_div(weft_mul(g, weft_scalar_like(g, 2)), freedom);
    return divide_unless_zero(g, weft_mul(y, freedom), y);
}

static weft_status *vjp_moment(const weft_gradient_context *c, weft_tensor *out_values)
{
    out_values[0] = weft_mul(centered(c), moment_factor(c, c->given.items[0]));
    return NULL;
}

static weft_status *jvp_moment(const weft_gradient_context *c, weft_tensor *out_values)
{
    out_values[0] = moment_factor(c, sum_along(c, weft_mul(centered(c), c->given.items[0])));
    return NULL;
}

/* ---- norms ---- */

/* sign(x) (|x| / y)^(p - 1), which does not overflow; 0 at 0. */
static weft_tensor slope_of_order(const weft_gradient_context *c)
{
    weft_tensor x = c->inputs.items[0], share = weft_div(weft_abs(x), c->outputs.items[0]),
                zero = weft_scalar_like(x, 0);
    weft_tensor power = weft_pow(share, weft_scalar_like(x, c->attrs[1].real - 1));
    return weft_select(weft_eq(x, zero), zero, weft_mul(weft_sign(x), power));
}

static weft_status *vjp_norm(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor x = c->inputs.items[0], y = c->outputs.items[0], g = c->given.items[0];
    if (c->attrs[1].real == 2) out_values[0] = weft_mul(x, divide_unless_zero(g, y, y));
    else out_values[0] = weft_mul(slope_of_order(c), g);
    return NULL;
}

static weft_status *jvp_norm(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor x = c->inputs.items[0], y = c->outputs.items[0], dx = c->given.items[0];
    if (c->attrs[1].real == 2) out_values[0] = divide_unless_zero(sum_along(c, weft_mul(x, dx)), y, y);
    else out_values[0] = sum_along(c, weft_mul(slope_of_order(c), dx));
    return NULL;
}

/* ---- normalised ---- */

/* With h the result and r the factor: r (g - mean(g) - h mean(g h)), which is its own adjoint; without mean(g) where
 * no mean was taken off. */
static weft_status *normalize(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor h = c->outputs.items[0], g = c->given.items[0];
    bool centers = c->attrs[2].integer != 0;
    weft_normal normal = weft_composite_normal(c->inputs.items[0], c->attrs[0].ints, c->attrs[1].real, centers);
    weft_tensor along = weft_mul(h, mean_along(c, weft_mul(g, h)));
    weft_tensor rest = centers ? weft_sub(g, mean_along(c, g)) : g;
    out_values[0] = weft_mul(normal.factor, weft_sub(rest, along));
    return NULL;
}

static const weft_gradient_row rows[] = {
    {WEFT_COMPOSED_variance, vjp_moment, jvp_moment, NULL},
    {WEFT_COMPOSED_standard_deviation, vjp_moment, jvp_moment, NULL},
    {WEFT_COMPOSED_norm, vjp_norm, jvp_norm, NULL},
    {WEFT_COMPOSED_normalize, normalize, normalize, NULL},
};

const weft_gradient_family weft_gradient_normalize = {sizeof rows / sizeof *rows, rows};
