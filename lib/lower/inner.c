/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/lower/inner.h"

/* Of `inner`, bit `from` as bit `to`. */
static uint64_t bit(uint64_t inner, size_t from, size_t to)
{
    return (inner >> from & 1) << to;
}

/* A reduced axis has a range unless it has one element. */
static uint64_t reduced(weft_shape shape, weft_ints axes)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < axes.count; i++)
        if (!weft_extent_equal(shape.extents[axes.items[i]], weft_extent_of(1))) bits |= UINT64_C(1) << axes.items[i];
    return bits;
}

static uint64_t of_reduction(const weft_node *node, weft_shape shape, uint64_t inner)
{
    weft_ints axes = weft_reduced_axes(node);
    uint64_t bits = reduced(shape, axes);
    size_t kept = 0;
    for (size_t i = 0; i < shape.rank; i++)
        if (!weft_ints_contain(axes, i)) bits |= bit(inner, kept++, i);
    return bits;
}

/* The axes of the result: batch, those of the left operand, those of the right one. */
static uint64_t of_dot(const weft_graph *graph, const weft_node *node, size_t side, uint64_t inner)
{
    weft_ints batch = node->attrs[side].ints, contract = node->attrs[2 + side].ints;
    weft_shape shape = weft_value_type(graph, node->inputs[side])->shape;
    uint64_t bits = reduced(shape, contract);
    size_t next = batch.count;
    if (side == 1) next += weft_value_type(graph, node->inputs[0])->shape.rank - batch.count - contract.count;
    for (size_t i = 0; i < batch.count; i++) bits |= bit(inner, i, (size_t)batch.items[i]);
    for (size_t i = 0; i < shape.rank; i++)
        if (!weft_ints_contain(batch, i) && !weft_ints_contain(contract, i)) bits |= bit(inner, next++, i);
    return bits;
}

static uint64_t of_broadcast(const weft_node *node, weft_shape shape, uint64_t inner)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < shape.rank; i++)
        if (!weft_extent_equal(shape.extents[i], weft_extent_of(1)))
            bits |= bit(inner, (size_t)node->attrs[1].ints.items[i], i);
    return bits;
}

static uint64_t of_permute(const weft_node *node, weft_shape shape, uint64_t inner)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < shape.rank; i++) bits |= bit(inner, i, (size_t)node->attrs[0].ints.items[i]);
    return bits;
}

uint64_t weft_inner_axes(const weft_graph *graph, const weft_node *node, uint32_t operand, uint64_t inner)
{
    weft_shape shape = weft_value_type(graph, node->inputs[operand])->shape;
    weft_op_id id = weft_op_id_of(node->op);
    if (id == WEFT_OP_dot) return of_dot(graph, node, operand, inner);
    if (id == WEFT_OP_broadcast) return of_broadcast(node, shape, inner);
    if (id == WEFT_OP_permute) return of_permute(node, shape, inner);
    if (node->op->op_class == WEFT_CLASS_REDUCE) return of_reduction(node, shape, inner);
    return node->op->op_class == WEFT_CLASS_ELEMENTWISE ? inner : 0;
}
