/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include "lib/graph/indexing.h"
#include "lib/lower/lowerer.h"

/*
 * Elements whose position depends on data. In the index of a point, a variable stands for each checked index; addresses
 * are affine in it, and so are the indices of what an operand is computed from, if it has no memory: the instruction
 * takes the variable's place where an address, or the index itself, is made.
 */

/* A copy of `format` followed by what `tail` prints for `axis`, which lives as long as the variant. */
static const char *sentence(lowerer *low, const char *name, const char *format, int64_t axis)
{
    weft_bytes text;
    weft_bytes_init(&text, low->lowering->allocator);
    weft_bytes_print(&text, "%s: ", name);
    weft_bytes_print(&text, format, axis);
    const char *kept = text.failed ? NULL : weft_arena_string(low->lowering->arena, text.data, text.size);
    weft_bytes_finish(&text);
    if (kept == NULL) low->failed = true;
    return kept;
}

static weft_shape data_shape(const lowerer *low, const indexed_read *p)
{
    return weft_value_type(low->graph, p->node->inputs[0])->shape;
}

void weft_indexed_require(lowerer *low, indexed_read *p, weft_expr e)
{
    if (!weft_expr_always_nonnegative(low->exprs, e)) p->read.predicates[p->read.predicate_count++] = e;
}

static data_index *add_data_index(lowerer *low)
{
    bool room = weft_reserve(low->lowering->allocator, &low->data_indices, &low->data_index_capacity,
                             low->data_index_count + 1, sizeof *low->data_indices);
    if (!room) low->failed = true;
    return room ? &low->data_indices[low->data_index_count++] : NULL;
}

/* Adds the index or start `value`, which `check` checks, to the index along `axis`. */
static void add_index_value(lowerer *low, indexed_read *p, size_t axis, weft_inst_id value, weft_inst check)
{
    check.dtype = WEFT_I64;
    check.arg_count = 1;
    check.args[0] = value;
    check.predicate_count = p->point->predicate_count;
    check.predicates = p->point->predicates;
    data_index *made = add_data_index(low);
    if (made == NULL) return;
    made->variable = weft_lowerer_variable(low, check.index);
    made->value = weft_kernel_builder_inst(low->builder, &check);
    made->source = p->node->inputs[0].node;
    p->read.index[axis] = weft_expr_add(low->exprs, p->read.index[axis], made->variable);
}

static bool begin(lowerer *low, indexed_read *p)
{
    size_t rank = data_shape(low, p).rank, given = p->point->predicate_count;
    weft_expr *index = weft_arena_allocate(&low->arena, (rank + 1) * sizeof *index);
    weft_expr *predicates = weft_arena_allocate(&low->arena, (given + rank + 2) * sizeof *predicates);
    if (index == NULL || predicates == NULL) low->failed = true;
    if (low->failed) return false;
    for (size_t i = 0; i < given; i++) predicates[i] = p->point->predicates[i];
    p->read = (weft_point){p->node->inputs[0], index, p->point->predicate_count, predicates};
    return true;
}

/* ---- gather, scatter ---- */

static void index_base(lowerer *low, indexed_read *p, size_t index_rank)
{
    weft_indexed_axis axes[2 * WEFT_MAX_RANK];
    size_t rank = data_shape(low, p).rank;
    size_t count = weft_indexing_fill(rank, p->node->attrs[0].ints, p->node->attrs[1].ints, index_rank, axes);
    for (size_t i = 0; i < rank; i++) p->read.index[i] = weft_expr_constant(low->exprs, 0);
    for (size_t i = 0; i < count; i++) {
        if (axes[i].data >= 0) p->read.index[axes[i].data] = p->point->index[i];
    }
}

static void add_index(lowerer *low, indexed_read *p, const weft_point *read, size_t axis, weft_inst_id index)
{
    weft_expr extent = weft_space_extent(&low->space, data_shape(low, p).extents[axis]);
    const char *text = sentence(low, p->node->op->name,
                                "index %%" PRId64 " at position %%" PRId64 " is out of range for extent %%" PRId64
                                " (axis %" PRId64 ")",
                                (int64_t)axis);
    index = weft_lowerer_cast(low, index, weft_value_type(low->graph, read->value)->dtype, WEFT_I64);
    add_index_value(low, p, axis, index,
                    (weft_inst){.op = WEFT_SCALAR_check,
                                .number = weft_lowerer_site(low, p->node, text, extent),
                                .index = extent,
                                .position = weft_space_position(&low->space, read)});
    /* With an extent of zero every index is out of range and there is no element. */
    weft_indexed_require(low, p, weft_expr_sub(low->exprs, extent, weft_expr_constant(low->exprs, 1)));
}

/* ---- dynamic slices ---- */

/* `size` elements are taken along the axis; its number stands where a sentence has the position. */
static void add_start(lowerer *low, indexed_read *p, size_t axis, weft_inst_id start)
{
    weft_expr_context *x = low->exprs;
    weft_extent size = weft_value_type(low->graph, p->point->value)->shape.extents[axis];
    weft_expr last = weft_expr_sub(x, weft_space_extent(&low->space, data_shape(low, p).extents[axis]),
                                   weft_space_extent(&low->space, size));
    static const char text[] = "start %%" PRId64 " on axis %%" PRId64 " is outside [0, %%" PRId64 "]";
    bool is_bound = weft_indexing_is_bound(p->node);
    const char *said = is_bound ? WEFT_BOUND_OP ": " WEFT_BOUND_SENTENCE : sentence(low, p->node->op->name, text, 0);
    add_index_value(low, p, axis, start,
                    (weft_inst){.op = WEFT_SCALAR_within,
                                .number = weft_lowerer_site(low, p->node, said, last),
                                .index = weft_expr_add(x, last, weft_expr_constant(x, 1)),
                                .position = weft_expr_constant(x, (int64_t)axis)});
}

/* ---- both ---- */

static bool is_indexed(const weft_node *node)
{
    return weft_op_id_of(node->op) == WEFT_OP_gather || weft_op_id_of(node->op) == WEFT_OP_scatter;
}

bool weft_indexed_begin(lowerer *low, indexed_read *p)
{
    if (!begin(low, p)) return false;
    if (is_indexed(p->node)) {
        uint32_t first = weft_indexing_first(weft_op_id_of(p->node->op));
        index_base(low, p, weft_value_type(low->graph, p->node->inputs[first])->shape.rank);
    } else {
        for (size_t i = 0; i < data_shape(low, p).rank; i++) p->read.index[i] = p->point->index[i];
    }
    return true;
}

bool weft_indexed_operand(lowerer *low, const indexed_read *p, uint32_t operand, weft_point *out_read)
{
    bool fine = true;
    if (is_indexed(p->node)) fine = weft_space_indices(&low->space, p->node, operand, p->point->index, out_read);
    else *out_read = weft_space_point(&low->space, p->node->inputs[operand]);
    if (!fine || out_read->index == NULL) low->failed = true;
    out_read->predicate_count = p->point->predicate_count;
    out_read->predicates = p->point->predicates;
    return !low->failed;
}

void weft_indexed_add(lowerer *low, indexed_read *p, uint32_t operand, const weft_point *read, weft_inst_id value)
{
    uint32_t first = weft_indexing_first(weft_op_id_of(p->node->op));
    size_t axis = (size_t)p->node->attrs[0].ints.items[operand - first];
    if (is_indexed(p->node)) add_index(low, p, read, axis, value);
    else add_start(low, p, axis, value);
}
