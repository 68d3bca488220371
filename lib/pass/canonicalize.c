/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives each meaning one form: chains of movement ops merge, no-op movement vanishes, and movement of a repeated scalar
 * repeats the scalar.
 *
 * requires: nothing
 * maintains: the bits of every output, guards
 * breaks: nothing
 */
#include "lib/pass/pass.h"

enum { MOST_SWEEPS = 8 };

static weft_tensor input_of(const weft_rewrite_site *site)
{
    return site->inputs.items[0];
}

/* The node's own shape, which every replacement must have. */
static weft_shape shape_of(const weft_rewrite_site *site)
{
    return site->node->types[0].shape;
}

static bool is_repeated_scalar(weft_tensor x)
{
    return weft_tensor_is_op(x, WEFT_OP_broadcast) && weft_tensor_rank(weft_tensor_operand(x, 0)) == 0;
}

/* Any movement of a repeated scalar is the scalar repeated over the new shape. */
static weft_tensor move_scalar(const weft_rewrite_site *site)
{
    weft_tensor x = input_of(site);
    if (!is_repeated_scalar(x)) return weft_site_leave();
    return weft_broadcast_in_dim(weft_tensor_operand(x, 0), shape_of(site), (weft_ints){0, NULL});
}

static weft_tensor drop_cast(const weft_rewrite_site *site)
{
    return weft_tensor_dtype(input_of(site)) == site->node->types[0].dtype ? input_of(site) : weft_site_leave();
}

static weft_tensor fold_extent(const weft_rewrite_site *site)
{
    int64_t value;
    if (!weft_extent_is_static(site->node->attrs[0].extents.extents[0], &value)) return weft_site_leave();
    return weft_constant(site->graph, WEFT_I64, (weft_ints){0, NULL}, &value);
}

/* ---- permute ---- */

static bool counts_up(weft_ints axes)
{
    for (size_t i = 0; i < axes.count; i++)
        if (axes.items[i] != (int64_t)i) return false;
    return true;
}

static weft_tensor drop_permute(const weft_rewrite_site *site)
{
    return counts_up(site->node->attrs[0].ints) ? input_of(site) : weft_site_leave();
}

static weft_tensor merge_permutes(const weft_rewrite_site *site)
{
    weft_tensor x = input_of(site);
    if (!weft_tensor_is_op(x, WEFT_OP_permute)) return weft_site_leave();
    weft_ints outer = site->node->attrs[0].ints, inner = weft_tensor_node(x)->attrs[0].ints;
    int64_t axes[WEFT_MAX_RANK];
    for (size_t i = 0; i < outer.count; i++) axes[i] = inner.items[outer.items[i]];
    return weft_permute(weft_tensor_operand(x, 0), (weft_ints){outer.count, axes});
}

/* ---- reshape ---- */

static weft_tensor drop_reshape(const weft_rewrite_site *site)
{
    return weft_shape_equal(weft_tensor_shape(input_of(site)), shape_of(site)) ? input_of(site) : weft_site_leave();
}

static weft_tensor merge_reshapes(const weft_rewrite_site *site)
{
    weft_tensor x = input_of(site);
    if (!weft_tensor_is_op(x, WEFT_OP_reshape)) return weft_site_leave();
    return weft_reshape(weft_tensor_operand(x, 0), shape_of(site));
}

/* ---- broadcast ---- */

static weft_tensor drop_broadcast(const weft_rewrite_site *site)
{
    bool same = weft_shape_equal(weft_tensor_shape(input_of(site)), shape_of(site));
    return same && counts_up(site->node->attrs[1].ints) ? input_of(site) : weft_site_leave();
}

/* An extent that a guard makes one does not broadcast; what becomes one that way stays. */
static weft_tensor merge_broadcasts(const weft_rewrite_site *site)
{
    weft_tensor x = input_of(site);
    if (!weft_tensor_is_op(x, WEFT_OP_broadcast)) return weft_site_leave();
    weft_ints outer = site->node->attrs[1].ints, inner = weft_tensor_node(x)->attrs[1].ints;
    weft_tensor base = weft_tensor_operand(x, 0);
    int64_t axes[WEFT_MAX_RANK];
    for (size_t i = 0; i < inner.count; i++) {
        bool is_one = weft_extent_is(weft_tensor_extent(base, (int64_t)i), 1);
        if (!is_one && weft_extent_is(weft_tensor_extent(x, inner.items[i]), 1)) return weft_site_leave();
        axes[i] = outer.items[inner.items[i]];
    }
    return weft_broadcast_in_dim(base, shape_of(site), (weft_ints){inner.count, axes});
}

/* ---- slice ---- */

static weft_tensor drop_slice(const weft_rewrite_site *site)
{
    const weft_attr *attrs = site->node->attrs;
    bool whole = weft_shape_equal(weft_tensor_shape(input_of(site)), attrs[1].extents);
    for (size_t i = 0; i < attrs[2].ints.count && whole; i++)
        whole = attrs[2].ints.items[i] == 1 && weft_extent_is(attrs[0].extents.extents[i], 0);
    return whole ? input_of(site) : weft_site_leave();
}

/* Element i of the outer is element s + i * t of the inner, that is S + (s + i * t) * T of x. */
static weft_tensor merge_slices(const weft_rewrite_site *site)
{
    weft_tensor x = input_of(site);
    if (!weft_tensor_is_op(x, WEFT_OP_slice)) return weft_site_leave();
    const weft_attr *outer = site->node->attrs, *inner = weft_tensor_node(x)->attrs;
    size_t rank = outer[2].ints.count;
    weft_extent starts[WEFT_MAX_RANK];
    int64_t steps[WEFT_MAX_RANK];
    for (size_t i = 0; i < rank; i++) {
        int64_t step = inner[2].ints.items[i];
        if (weft_extent_is(outer[1].extents.extents[i], 0)) return weft_site_leave(); /* its start may lie anywhere */
        if (__builtin_mul_overflow(step, outer[2].ints.items[i], &steps[i])) return weft_site_leave();
        weft_extent moved = weft_extent_mul(outer[0].extents.extents[i], weft_extent_of(step));
        starts[i] = weft_extent_add(inner[0].extents.extents[i], moved);
    }
    return weft_slice(weft_tensor_operand(x, 0), (weft_shape){rank, starts}, outer[1].extents,
                      (weft_ints){rank, steps});
}

/* ---- pad and concat ---- */

static weft_tensor drop_pad(const weft_rewrite_site *site)
{
    const weft_attr *attrs = site->node->attrs;
    for (size_t i = 0; i < attrs[0].extents.rank; i++)
        if (!weft_extent_is(attrs[0].extents.extents[i], 0) || !weft_extent_is(attrs[1].extents.extents[i], 0))
            return weft_site_leave();
    return input_of(site);
}

static weft_tensor merge_pads(const weft_rewrite_site *site)
{
    weft_tensor x = input_of(site), value = site->inputs.items[1];
    if (!weft_tensor_is_op(x, WEFT_OP_pad) || !weft_tensor_same(weft_tensor_operand(x, 1), value))
        return weft_site_leave();
    const weft_attr *outer = site->node->attrs, *inner = weft_tensor_node(x)->attrs;
    size_t rank = outer[0].extents.rank;
    weft_extent low[WEFT_MAX_RANK], high[WEFT_MAX_RANK];
    for (size_t i = 0; i < rank; i++) {
        low[i] = weft_extent_add(inner[0].extents.extents[i], outer[0].extents.extents[i]);
        high[i] = weft_extent_add(inner[1].extents.extents[i], outer[1].extents.extents[i]);
    }
    return weft_pad(weft_tensor_operand(x, 0), value, (weft_shape){rank, low}, (weft_shape){rank, high});
}

/* What is padded in its own order is written as it is read, should it be stored. */
static weft_tensor pad_first(const weft_rewrite_site *site)
{
    weft_tensor x = input_of(site);
    if (!weft_tensor_is_op(x, WEFT_OP_permute)) return weft_site_leave();
    const weft_attr *attrs = site->node->attrs;
    weft_ints axes = weft_tensor_node(x)->attrs[0].ints;
    weft_extent low[WEFT_MAX_RANK], high[WEFT_MAX_RANK];
    for (size_t i = 0; i < axes.count; i++) {
        low[axes.items[i]] = attrs[0].extents.extents[i];
        high[axes.items[i]] = attrs[1].extents.extents[i];
    }
    weft_tensor padded = weft_pad(weft_tensor_operand(x, 0), site->inputs.items[1], (weft_shape){axes.count, low},
                                  (weft_shape){axes.count, high});
    return weft_permute(padded, axes);
}

static weft_tensor drop_concat(const weft_rewrite_site *site)
{
    return site->inputs.count == 1 ? input_of(site) : weft_site_leave();
}

static weft_tensor split_concat(const weft_rewrite_site *site)
{
    weft_tensor groups[WEFT_MOST_JOINED];
    size_t left = site->inputs.count, size = (left - 1) / WEFT_MOST_JOINED + 1, count = 0;
    const weft_tensor *operands = site->inputs.items;
    int64_t axis = site->node->attrs[0].integer;
    if (left <= WEFT_MOST_JOINED || weft_node_makes_rows(site->node)) return weft_site_leave();
    if (size < WEFT_MOST_JOINED) size = WEFT_MOST_JOINED;
    for (; left > 0; left -= size, operands += size) {
        if (size > left) size = left;
        groups[count++] = weft_concat((weft_tensors){size, operands}, axis);
    }
    return weft_concat((weft_tensors){count, groups}, axis);
}

/* The stack of tensors along its last axis that `x` is a reshape of, to an axis of extent one at `axis`; NULL if it is
 * another value. */
static const weft_node *stack_of(weft_tensor x, int64_t axis)
{
    if (!weft_tensor_is_op(x, WEFT_OP_reshape) || !weft_extent_is(weft_tensor_extent(x, axis), 1)) return NULL;
    weft_tensor stack = weft_tensor_operand(x, 0);
    int64_t rank = (int64_t)weft_tensor_rank(stack);
    if (!weft_tensor_is_op(stack, WEFT_OP_concat) || rank + 1 != (int64_t)weft_tensor_rank(x)) return NULL;
    for (int64_t i = 0; i < rank; i++)
        if (!weft_extent_equal(weft_tensor_extent(stack, i), weft_tensor_extent(x, i + (i >= axis)))) return NULL;
    const weft_node *node = weft_tensor_node(stack);
    for (size_t i = 0; i < node->input_count; i++)
        if (!weft_extent_is(weft_tensor_extent(weft_tensor_operand(stack, i), -1), 1)) return NULL;
    return node->attrs[0].integer + 1 == rank ? node : NULL;
}

/* A stack of stacks, as of the rows or columns of small matrices, is a stack of all elements. */
static weft_tensor merge_stacks(const weft_rewrite_site *site)
{
    weft_tensor elements[WEFT_LONGEST_ROW];
    int64_t axis = site->node->attrs[0].integer, rank = (int64_t)shape_of(site).rank;
    size_t outer = site->inputs.count, inner = 0;
    if (axis + 2 < rank) return weft_site_leave();
    for (size_t i = 0; i < outer; i++) {
        const weft_node *node = stack_of(site->inputs.items[i], axis);
        if (node == NULL || (i > 0 && node->input_count != inner)) return weft_site_leave();
        inner = node->input_count;
        if (outer * inner > WEFT_LONGEST_ROW) return weft_site_leave();
        weft_tensor stack = weft_tensor_operand(site->inputs.items[i], 0);
        for (size_t k = 0; k < inner; k++)
            elements[axis + 1 < rank ? i * inner + k : k * outer + i] = weft_tensor_operand(stack, k);
    }
    return weft_reshape(weft_concat((weft_tensors){outer * inner, elements}, rank - 2), shape_of(site));
}

/* Without a step, or along one element, nothing moves. */
static weft_tensor drop_shear(const weft_rewrite_site *site)
{
    const weft_attr *attrs = site->node->attrs;
    weft_extent along = shape_of(site).extents[attrs[1].integer];
    bool moves = attrs[2].integer != 0 && !weft_extent_is(along, 1);
    bool same = weft_shape_equal(weft_tensor_shape(input_of(site)), shape_of(site));
    return same && !moves ? input_of(site) : weft_site_leave();
}

static weft_tensor drop_flip(const weft_rewrite_site *site)
{
    return site->node->attrs[0].ints.count == 0 ? input_of(site) : weft_site_leave();
}

/* A dynamic slice of no axes is x, an update of none is the update. */
static weft_tensor drop_dynamic_slice(const weft_rewrite_site *site)
{
    bool updates = weft_op_id_of(site->node->op) == WEFT_OP_dynamic_update_slice;
    return site->node->attrs[0].ints.count == 0 ? site->inputs.items[updates] : weft_site_leave();
}

static const weft_rewrite_row rows[] = {
    {WEFT_OP_cast, drop_cast},
    {WEFT_OP_bitcast, drop_cast},
    {WEFT_OP_extent, fold_extent},
    {WEFT_OP_permute, drop_permute},
    {WEFT_OP_permute, merge_permutes},
    {WEFT_OP_permute, move_scalar},
    {WEFT_OP_reshape, drop_reshape},
    {WEFT_OP_reshape, merge_reshapes},
    {WEFT_OP_reshape, move_scalar},
    {WEFT_OP_broadcast, drop_broadcast},
    {WEFT_OP_broadcast, merge_broadcasts},
    {WEFT_OP_slice, drop_slice},
    {WEFT_OP_slice, merge_slices},
    {WEFT_OP_slice, move_scalar},
    {WEFT_OP_flip, drop_flip},
    {WEFT_OP_flip, move_scalar},
    {WEFT_OP_shear, drop_shear},
    {WEFT_OP_pad, drop_pad},
    {WEFT_OP_pad, merge_pads},
    {WEFT_OP_pad, pad_first},
    {WEFT_OP_concat, drop_concat},
    {WEFT_OP_concat, merge_stacks},
    {WEFT_OP_concat, split_concat},
    {WEFT_OP_dynamic_slice, drop_dynamic_slice},
    {WEFT_OP_dynamic_update_slice, drop_dynamic_slice},
};

weft_status *weft_pass_canonicalize(weft_graph *graph, const weft_policy *policy, size_t count, weft_value *outputs)
{
    (void)policy;
    bool settled;
    weft_rewrite_table table = {WEFT_COUNT_OF(rows), rows};
    return weft_rewrite_settle(graph, count, outputs, weft_rewrite_by_table, &table, MOST_SWEEPS, &settled);
}
