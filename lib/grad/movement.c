/* SPDX-License-Identifier: Apache-2.0 */
/* Derivatives of movement: linear, so that a tangent takes the same way and a cotangent the way back. */
#include <weft/shape.h>
#include "lib/composite/composite.h"
#include "lib/grad/grad.h"

static weft_status *jvp_again(const weft_gradient_context *c, weft_tensor *out_values)
{
    out_values[0] = weft_gradient_again(c, c->given);
    return NULL;
}

static weft_status *vjp_reshape(const weft_gradient_context *c, weft_tensor *out_values)
{
    out_values[0] = weft_reshape(c->given.items[0], weft_tensor_shape(c->inputs.items[0]));
    return NULL;
}

static weft_status *vjp_permute(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_ints axes = c->attrs[0].ints;
    int64_t back[WEFT_MAX_RANK];
    for (size_t i = 0; i < axes.count; i++) back[axes.items[i]] = (int64_t)i;
    out_values[0] = weft_permute(c->given.items[0], (weft_ints){axes.count, back});
    return NULL;
}

static weft_status *vjp_flip(const weft_gradient_context *c, weft_tensor *out_values)
{
    out_values[0] = weft_flip(c->given.items[0], c->attrs[0].ints);
    return NULL;
}

/* Sums over the axes that were added, and over those that were stretched, which stay as extents of one. */
static weft_status *vjp_broadcast(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_ints kept = c->attrs[1].ints;
    weft_shape from = weft_tensor_shape(c->inputs.items[0]), to = c->attrs[0].extents;
    weft_axis_list summed = {.count = 0};
    size_t next = 0;
    for (size_t i = 0; i < to.rank; i++) {
        bool is_kept = next < kept.count && kept.items[next] == (int64_t)i;
        bool stretched =
            is_kept && weft_extent_is_value(from.extents[next], 1) && !weft_extent_is_value(to.extents[i], 1);
        if (is_kept) next++;
        if (!is_kept || stretched) summed.items[summed.count++] = (int64_t)i;
    }
    weft_tensor g = c->given.items[0];
    if (summed.count > 0) g = weft_reduce_sum(g, weft_axis_list_ints(&summed), false);
    out_values[0] = weft_tensor_rank(g) == from.rank ? g : weft_reshape(g, from);
    return NULL;
}

static const weft_gradient_row rows[] = {
    {WEFT_OP_reshape, vjp_reshape, jvp_again, NULL},
    {WEFT_OP_permute, vjp_permute, jvp_again, NULL},
    {WEFT_OP_broadcast, vjp_broadcast, jvp_again, NULL},
    {WEFT_OP_flip, vjp_flip, jvp_again, NULL},
};

const weft_gradient_family weft_gradient_movement = {sizeof rows / sizeof *rows, rows};
