/* SPDX-License-Identifier: Apache-2.0 */
/* Derivatives of losses. */
#include <weft/nn.h>
#include <weft/shape.h>
#include "lib/composite/composite.h"
#include "lib/grad/grad.h"

/* softmax(x): where powers are computed again, from the greatest and the sums of the forward pass. */
static weft_tensor shares_of(weft_tensor x)
{
    weft_dtype dtype = weft_tensor_dtype(x);
    weft_tensor again = weft_gradient_afresh(x);
    if (again.node == x.node || weft_accumulator_dtype(dtype) != dtype) return weft_softmax(again, -1);
    weft_tensor greatest = weft_stop_gradient(weft_reduce_max(x, WEFT_INTS(-1), true));
    weft_tensor sums = weft_reduce_sum(weft_exp(weft_sub(x, greatest)), WEFT_INTS(-1), true);
    return weft_div(weft_exp(weft_sub(again, greatest)), sums);
}

/* By the logits of each row: softmax(x), less 1 for its class. */
static weft_tensor slope_of(const weft_gradient_context *c)
{
    weft_tensor x = c->inputs.items[0], classes = weft_unsqueeze(c->inputs.items[1], -1);
    weft_tensor is_class = weft_eq(weft_composite_positions(x, weft_tensor_rank(x) - 1), classes);
    weft_tensor share = shares_of(x);
    return weft_select(is_class, weft_sub(share, weft_scalar_like(x, 1)), share);
}

static weft_status *vjp_cross_entropy(const weft_gradient_context *c, weft_tensor *out_values)
{
    out_values[0] = weft_mul(slope_of(c), weft_unsqueeze(c->given.items[0], -1));
    return NULL;
}

static weft_status *jvp_cross_entropy(const weft_gradient_context *c, weft_tensor *out_values)
{
    out_values[0] = weft_reduce_sum(weft_mul(slope_of(c), c->given.items[0]), WEFT_INTS(-1), false);
    return NULL;
}

static const weft_gradient_row rows[] = {
    {WEFT_COMPOSED_cross_entropy, vjp_cross_entropy, jvp_cross_entropy, NULL},
};

const weft_gradient_family weft_gradient_loss = {sizeof rows / sizeof *rows, rows};
