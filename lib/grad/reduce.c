/* SPDX-License-Identifier: Apache-2.0 */
/* Derivatives of reductions and products. */
#include <weft/shape.h>
#include "lib/composite/composite.h"
#include "lib/grad/grad.h"

/* `x`, which has no axes `axes`, along these of the shape of `like`. */
static weft_tensor spread(weft_tensor x, weft_tensor like, weft_ints axes)
{
    int64_t kept[WEFT_MAX_RANK];
    size_t count = 0, rank = weft_tensor_rank(like);
    for (size_t i = 0; i < rank; i++)
        if (!weft_ints_contain(axes, i)) kept[count++] = (int64_t)i;
    return weft_broadcast_in_dim(x, weft_tensor_shape(like), (weft_ints){count, kept});
}

static weft_status *vjp_sum(const weft_gradient_context *c, weft_tensor *out_values)
{
    out_values[0] = spread(c->given.items[0], c->inputs.items[0], c->attrs[0].ints);
    return NULL;
}

/* ---- max, min: all that equal the result share it, none where it is NaN ---- */

/* Which elements equal the result, and how many of them, at least 1, in f32 for 16-bit floats. */
static weft_tensor find_equal(const weft_gradient_context *c, weft_tensor *out_count)
{
    weft_tensor x = c->inputs.items[0];
    weft_tensor equal = weft_eq(x, spread(c->outputs.items[0], x, c->attrs[0].ints));
    weft_dtype wide = weft_accumulator_dtype(weft_tensor_dtype(x));
    weft_tensor count = weft_reduce_sum(weft_cast(equal, wide), c->attrs[0].ints, false);
    *out_count = weft_max(count, weft_scalar_like(count, 1));
    return equal;
}

static weft_status *vjp_extreme(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor x = c->inputs.items[0], g = c->given.items[0], count;
    weft_tensor equal = find_equal(c, &count);
    g = weft_composite_cast(weft_div(weft_composite_widen(g), count), weft_tensor_dtype(g));
    out_values[0] = weft_select(equal, spread(g, x, c->attrs[0].ints), weft_scalar_like(x, 0));
    return NULL;
}

static weft_status *jvp_extreme(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor x = c->inputs.items[0], count;
    weft_tensor equal = find_equal(c, &count);
    weft_tensor dx = weft_select(equal, c->given.items[0], weft_scalar_like(x, 0));
    weft_tensor total = weft_reduce_sum(weft_composite_widen(dx), c->attrs[0].ints, false);
    out_values[0] = weft_composite_cast(weft_div(total, count), weft_tensor_dtype(x));
    return NULL;
}

/* ---- products ---- */

/* An order of the axes in which those that are reduced follow each other, from that of the first of them on. */
static void gather_axes(size_t rank, weft_ints axes, int64_t *order)
{
    size_t count = 0;
    for (size_t i = 0; i < rank; i++) {
        for (size_t k = 0; k < axes.count && (int64_t)i == axes.items[0]; k++) order[count++] = axes.items[k];
        if (!weft_ints_contain(axes, i)) order[count++] = (int64_t)i;
    }
}

/* For each element the product of all others along the axes: of those before it and of those after it. */
static weft_tensor other_factors(weft_tensor x, weft_ints axes)
{
    int64_t order[WEFT_MAX_RANK], back[WEFT_MAX_RANK];
    size_t rank = weft_tensor_rank(x);
    if (axes.count == 0) return weft_full_like(x, 1);
    gather_axes(rank, axes, order);
    for (size_t i = 0; i < rank; i++) back[order[i]] = (int64_t)i;
    weft_tensor gathered = weft_permute(x, (weft_ints){rank, order});
    weft_shape shape = weft_tensor_shape(gathered);
    int64_t first = axes.items[0];
    weft_tensor line = weft_composite_ravel(gathered, (size_t)first, (size_t)first + axes.count);
    line = weft_mul(weft_cumprod(line, first, false, true), weft_cumprod(line, first, true, true));
    return weft_permute(weft_reshape(line, shape), (weft_ints){rank, back});
}

static weft_status *vjp_prod(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor x = weft_gradient_conj(weft_composite_widen(c->inputs.items[0]));
    weft_tensor g = spread(weft_composite_widen(c->given.items[0]), x, c->attrs[0].ints);
    weft_tensor made = weft_mul(g, other_factors(x, c->attrs[0].ints));
    out_values[0] = weft_composite_cast(made, weft_tensor_dtype(c->inputs.items[0]));
    return NULL;
}

static weft_status *jvp_prod(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor x = weft_composite_widen(c->inputs.items[0]), dx = weft_composite_widen(c->given.items[0]);
    weft_tensor made = weft_reduce_sum(weft_mul(dx, other_factors(x, c->attrs[0].ints)), c->attrs[0].ints, false);
    out_values[0] = weft_composite_cast(made, weft_tensor_dtype(c->inputs.items[0]));
    return NULL;
}

/* ---- dot ---- */

/* What the axes of one operand are: its attributes number `side` and `side` + 2. */
typedef struct dot_side {
    weft_ints batch, contract;
    weft_axis_list free;
} dot_side;

static dot_side side_of(const weft_gradient_context *c, size_t side)
{
    dot_side made = {c->attrs[side].ints, c->attrs[side + 2].ints, {.count = 0}};
    for (size_t i = 0; i < weft_tensor_rank(c->inputs.items[side]); i++)
        if (!weft_ints_contain(made.batch, i) && !weft_ints_contain(made.contract, i))
            made.free.items[made.free.count++] = (int64_t)i;
    return made;
}

/* Fills the places that axes of the result have in the operand: those of `list` in order. */
static void place(const weft_axis_list *list, int64_t *order, size_t *next)
{
    for (size_t i = 0; i < list->count; i++) order[list->items[i]] = (int64_t)(*next)++;
}

/* The contracted axes of `own` in the order in which a dot leaves those of `other`, which pair up with them. */
static weft_axis_list contracted_in_order(const dot_side *own, const dot_side *other, size_t other_rank)
{
    weft_axis_list list = {.count = 0};
    for (size_t axis = 0; axis < other_rank; axis++)
        for (size_t i = 0; i < other->contract.count; i++)
            if (other->contract.items[i] == (int64_t)axis) list.items[list.count++] = own->contract.items[i];
    return list;
}

/* `x` with axis i at places[i] of the shape of `like`, along the others of which it repeats. */
static weft_tensor spread_to(weft_tensor x, const weft_axis_list *places, weft_tensor like)
{
    int64_t order[WEFT_MAX_RANK], sorted[WEFT_MAX_RANK];
    size_t count = 0;
    for (size_t axis = 0; axis < weft_tensor_rank(like); axis++)
        for (size_t i = 0; i < places->count; i++)
            if (places->items[i] == (int64_t)axis) {
                sorted[count] = (int64_t)axis;
                order[count++] = (int64_t)i;
            }
    return weft_broadcast_in_dim(weft_permute(x, (weft_ints){count, order}), weft_tensor_shape(like),
                                 (weft_ints){count, sorted});
}

/* The cotangent of an operand where the other one has no free axis, which nothing is summed for: elementwise, so that
 * it need not be in memory before something is added to it. */
static weft_tensor pull_outer(const weft_gradient_context *c, size_t side, const dot_side *own, const dot_side *other)
{
    weft_tensor like = c->inputs.items[side];
    weft_axis_list of_g = {.count = 0}, of_other = {.count = weft_tensor_rank(c->inputs.items[1 - side])};
    for (size_t i = 0; i < own->batch.count; i++) of_g.items[of_g.count++] = own->batch.items[i];
    for (size_t i = 0; i < own->free.count; i++) of_g.items[of_g.count++] = own->free.items[i];
    for (size_t i = 0; i < other->batch.count; i++) of_other.items[other->batch.items[i]] = own->batch.items[i];
    for (size_t i = 0; i < other->contract.count; i++)
        of_other.items[other->contract.items[i]] = own->contract.items[i];
    weft_tensor g = spread_to(c->given.items[0], &of_g, like);
    weft_tensor conj = weft_gradient_conj(c->inputs.items[1 - side]);
    return weft_mul(g, spread_to(conj, &of_other, like));
}

/*
 * The cotangent of one operand: the product of g with the other one over the axes that are free there, g on the side of
 * the operand, so that the axes come near to its order: batch, free, contracted for the first, batch, contracted, free
 * for the second. They are permuted to where they lie in it.
 */
static weft_tensor pull_side(const weft_gradient_context *c, size_t side)
{
    dot_side own = side_of(c, side), other = side_of(c, 1 - side);
    if (other.free.count == 0) return pull_outer(c, side, &own, &other);
    size_t batch = own.batch.count, rank = weft_tensor_rank(c->inputs.items[side]);
    weft_axis_list g_batch = weft_axis_range(0, batch);
    size_t first = batch + (side == 0 ? own.free.count : 0);
    weft_axis_list g_free = weft_axis_range(first, first + other.free.count);
    weft_ints batches[2] = {weft_axis_list_ints(&g_batch), other.batch};
    weft_ints contracts[2] = {weft_axis_list_ints(&g_free), weft_axis_list_ints(&other.free)};
    weft_tensor operands[2] = {c->given.items[0], weft_gradient_conj(c->inputs.items[1 - side])};
    weft_dot_axes axes = {batches[side], batches[1 - side], contracts[side], contracts[1 - side]};
    weft_tensor made = weft_dot(operands[side], operands[1 - side], axes);
    weft_axis_list contracted = contracted_in_order(&own, &other, weft_tensor_rank(c->inputs.items[1 - side]));
    int64_t order[WEFT_MAX_RANK];
    size_t next = 0;
    for (size_t i = 0; i < batch; i++) order[own.batch.items[i]] = (int64_t)next++;
    place(side == 0 ? &own.free : &contracted, order, &next);
    place(side == 0 ? &contracted : &own.free, order, &next);
    return weft_permute(made, (weft_ints){rank, order});
}

/* Whether an operand is an input, in any order of axes. */
static bool is_parameter(weft_tensor x)
{
    const weft_node *node = weft_graph_node(x.graph, x.node);
    while (weft_op_id_of(node->op) == WEFT_OP_permute || weft_op_id_of(node->op) == WEFT_OP_reshape)
        node = weft_graph_node(x.graph, node->inputs[0].node);
    return weft_op_id_of(node->op) == WEFT_OP_input;
}

/* That of an input comes first, since steps are in the order in which they are traced: no step needs it, and the memory
 * of the other operand is free after it, before the cotangent of that takes as much. */
static weft_status *vjp_dot(const weft_gradient_context *c, weft_tensor *out_values)
{
    size_t first = is_parameter(c->inputs.items[1]) ? 1 : 0;
    for (size_t i = 0; i < 2; i++) {
        size_t side = first ^ i;
        if (c->needs[side]) out_values[side] = pull_side(c, side);
    }
    return NULL;
}

static weft_status *jvp_dot(const weft_gradient_context *c, weft_tensor *out_values)
{
    for (size_t side = 0; side < 2; side++) {
        if (!weft_gradient_given(c, side)) continue;
        weft_tensor operands[2] = {c->inputs.items[0], c->inputs.items[1]};
        operands[side] = c->given.items[side];
        out_values[0] = weft_gradient_add(out_values[0], weft_gradient_again(c, (weft_tensors){2, operands}));
    }
    return NULL;
}

static const weft_gradient_row rows[] = {
    {WEFT_OP_reduce_sum, vjp_sum, weft_gradient_jvp_linear, NULL},
    {WEFT_OP_reduce_prod, vjp_prod, jvp_prod, NULL},
    {WEFT_OP_reduce_max, vjp_extreme, jvp_extreme, NULL},
    {WEFT_OP_reduce_min, vjp_extreme, jvp_extreme, NULL},
    {WEFT_OP_reduce_any, NULL, NULL, NULL},
    {WEFT_OP_reduce_all, NULL, NULL, NULL},
    {WEFT_OP_argmax, NULL, NULL, NULL},
    {WEFT_OP_argmin, NULL, NULL, NULL},
    {WEFT_OP_dot, vjp_dot, jvp_dot, NULL},
};

const weft_gradient_family weft_gradient_reduce = {sizeof rows / sizeof *rows, rows};
