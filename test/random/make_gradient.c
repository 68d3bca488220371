/* SPDX-License-Identifier: Apache-2.0 */
/* Derivatives of short formulas over what a program has, and of what it computes. */
#include "lib/graph/graph.h"
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

/* ---- of any values ---- */

static bool is_inexact(weft_tensor x)
{
    return (DRAW_INEXACT & (1u << weft_tensor_dtype(x))) != 0;
}

/* One of the inexact values that y is computed from, or y. */
static weft_tensor draw_origin(generator *g, weft_tensor y)
{
    for (bool goes_on = true; goes_on;) {
        const weft_node *node = weft_graph_node(y.graph, y.node);
        weft_tensor found = y;
        for (size_t i = 0, count = 0; i < node->input_count; i++) {
            weft_tensor input = {y.graph, node->inputs[i].node, node->inputs[i].output};
            if (is_inexact(input) && draw_chance(g, ++count)) found = input;
        }
        goes_on = found.node != y.node && !draw_chance(g, 6);
        y = found;
    }
    return y;
}

static weft_tensor pull_from(weft_tensor y, weft_tensor x)
{
    return weft_vjp(WEFT_TENSORS(y), WEFT_TENSORS(weft_cos(y)), WEFT_TENSORS(x), NULL);
}

static weft_tensor push_to(weft_tensor y, weft_tensor x)
{
    return weft_jvp(WEFT_TENSORS(y), WEFT_TENSORS(x), WEFT_TENSORS(weft_cos(x)), NULL);
}

MAKE(slope)
{
    (void)call;
    weft_tensor origin = draw_origin(g, x);
    weft_tensor first = draw_chance(g, 3) ? push_to(x, origin) : pull_from(x, origin);
    if (!weft_tensor_is_valid(first) || draw_chance(g, 2)) return first;
    return draw_chance(g, 2) ? push_to(first, origin) : pull_from(first, origin);
}
