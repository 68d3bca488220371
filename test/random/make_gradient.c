/* SPDX-License-Identifier: Apache-2.0 */
/* Derivatives of short formulas over what a program has. */
#include "test/random/make.h"

#define UNUSED (void)g, (void)call

/* Of x and of another value of the program. */
static weft_tensor curve(weft_tensor x, weft_tensor y)
{
    return weft_add(weft_mul(weft_sin(x), y), weft_tanh(x));
}

static weft_tensor total(generator *g, weft_tensor x)
{
    drawn_ints axes = draw_order(g, weft_tensor_rank(x));
    return weft_reduce_sum(x, INTS(axes), false);
}

MAKE(grad)
{
    UNUSED;
    return weft_grad(total(g, curve(x, draw_partner(g, x))), WEFT_TENSORS(x), NULL);
}

MAKE(vjp)
{
    UNUSED;
    weft_tensor y = curve(x, draw_partner(g, x));
    return weft_vjp(WEFT_TENSORS(y), WEFT_TENSORS(weft_cos(y)), WEFT_TENSORS(x), NULL);
}

MAKE(jvp)
{
    UNUSED;
    return weft_jvp(WEFT_TENSORS(curve(x, draw_partner(g, x))), WEFT_TENSORS(x), WEFT_TENSORS(weft_cos(x)), NULL);
}

MAKE(hvp)
{
    UNUSED;
    return weft_hvp(total(g, curve(x, draw_partner(g, x))), WEFT_TENSORS(x), WEFT_TENSORS(weft_cos(x)), NULL);
}

MAKE(jacobian)
{
    UNUSED;
    weft_tensor few = weft_reshape(total(g, x), WEFT_SHAPE(1));
    return weft_jacobian(weft_mul(few, few), draw_chance(g, 2) ? few : x);
}

static void product(void *context, const weft_tensor *inputs, weft_tensor *out_results)
{
    (void)context;
    out_results[0] = weft_mul(weft_sin(inputs[0]), inputs[1]);
}

static void pull_product(void *context, weft_tensors inputs, weft_tensors results, weft_tensors cotangents,
                         weft_tensor *out_cotangents)
{
    (void)context, (void)results;
    out_cotangents[0] = weft_mul(cotangents.items[0], inputs.items[1]);
}

MAKE(checkpoint)
{
    UNUSED;
    weft_tensor made = weft_checkpoint(WEFT_TENSORS(x, weft_cos(x)), 1, product, NULL, NULL);
    return draw_chance(g, 2) ? made : weft_grad(total(g, made), WEFT_TENSORS(x), NULL);
}

MAKE(custom_gradient)
{
    UNUSED;
    const weft_gradient_rule rule = {.vjp = pull_product};
    weft_tensor made = weft_custom_gradient(WEFT_TENSORS(x, x), 1, product, NULL, &rule, NULL);
    return draw_chance(g, 2) ? made : weft_grad(total(g, made), WEFT_TENSORS(x), NULL);
}
