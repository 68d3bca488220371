/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include "lib/graph/indexing.h"
#include "lib/lower/internal.h"
#include "runtime/variant.h"

/*
 * Elements whose place the data decide. In the index of a point, a variable stands for each checked index; addresses
 * are affine in it, and so are the indices of what an operand is computed from, if it has no memory: the instruction
 * takes the variable's place where an address, or the index itself, is made.
 */

typedef struct place {
    const weft_node *node;   /* gather, scatter, or a dynamic slice */
    const weft_point *point; /* of the result, or of the updates */
    weft_point read;         /* of operand 0 */
} place;

/* The value times `step`. */
static weft_inst_id scaled(lowerer *low, weft_inst_id value, weft_expr step)
{
    if (step == weft_expr_constant(low->extents, 1)) return value;
    return weft_lowerer_binary(low, WEFT_SCALAR_mul, WEFT_I64, value, weft_lowerer_index(low, step));
}

bool weft_lowerer_displace(lowerer *low, weft_expr *expr, weft_inst_id *out_offset)
{
    bool moved = false;
    for (size_t i = 0; i < low->placed_count && !low->failed; i++) {
        weft_expr step, rest;
        if (!weft_expr_uses(low->extents, *expr, low->placed[i].variable)) continue;
        if (!weft_expr_affine(low->extents, *expr, low->placed[i].variable, &step, &rest)) {
            weft_partition_force(low->lowering->partition, low->placed[i].source);
            continue;
        }
        weft_inst_id offset = scaled(low, low->placed[i].value, step);
        *out_offset = moved ? weft_lowerer_binary(low, WEFT_SCALAR_add, WEFT_I64, *out_offset, offset) : offset;
        *expr = rest;
        moved = true;
    }
    return moved;
}

/* Copies `format`, and behind it what `tail` prints for `axis`, for as long as the variant lives. */
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

static weft_shape data_shape(const lowerer *low, const place *p)
{
    return weft_value_type(low->graph, p->node->inputs[0])->shape;
}

static void require(lowerer *low, place *p, weft_expr e)
{
    if (!weft_expr_always_nonnegative(low->extents, e)) p->read.predicates[p->read.predicate_count++] = e;
}

static placed_index *add_placed(lowerer *low)
{
    bool room = weft_reserve(low->lowering->allocator, &low->placed, &low->placed_capacity, low->placed_count + 1,
                             sizeof *low->placed);
    if (!room) low->failed = true;
    return room ? &low->placed[low->placed_count++] : NULL;
}

/* Adds the index or start `value`, which `check` checks, to the index along `axis`. */
static void add_index_value(lowerer *low, place *p, size_t axis, weft_inst_id value, weft_inst check)
{
    check.dtype = WEFT_I64;
    check.arg_count = 1;
    check.args[0] = value;
    check.predicate_count = p->point->predicate_count;
    check.predicates = p->point->predicates;
    placed_index *placed = add_placed(low);
    if (placed == NULL) return;
    placed->variable = weft_lowerer_variable(low, check.index);
    placed->value = weft_kernel_builder_inst(low->builder, &check);
    placed->source = p->node->inputs[0].node;
    p->read.index[axis] = weft_expr_add(low->extents, p->read.index[axis], placed->variable);
}

static bool start(lowerer *low, place *p)
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

static void index_base(lowerer *low, place *p, size_t index_rank)
{
    weft_indexed_axis axes[2 * WEFT_MAX_RANK];
    size_t rank = data_shape(low, p).rank;
    size_t count = weft_indexing_fill(rank, p->node->attrs[0].ints, p->node->attrs[1].ints, index_rank, axes);
    for (size_t i = 0; i < rank; i++) p->read.index[i] = weft_expr_constant(low->extents, 0);
    for (size_t i = 0; i < count; i++) {
        if (axes[i].data >= 0) p->read.index[axes[i].data] = p->point->index[i];
    }
}

static void add_index(lowerer *low, place *p, uint32_t operand, size_t axis)
{
    weft_point read;
    if (!weft_space_indices(&low->space, p->node, operand, p->point->index, &read)) low->failed = true;
    if (low->failed) return;
    read.predicate_count = p->point->predicate_count;
    read.predicates = p->point->predicates;
    weft_expr extent = weft_space_extent(&low->space, data_shape(low, p).extents[axis]);
    const char *text = sentence(low, p->node->op->name,
                                "index %%" PRId64 " at position %%" PRId64 " is out of range for extent %%" PRId64
                                " (axis %" PRId64 ")",
                                (int64_t)axis);
    weft_inst_id index = weft_lowerer_value(low, &read);
    index = weft_lowerer_cast(low, index, weft_value_type(low->graph, read.value)->dtype, WEFT_I64);
    add_index_value(low, p, axis, index,
                    (weft_inst){.op = WEFT_SCALAR_check,
                                .number = weft_lowerer_site(low, p->node, text, extent),
                                .index = extent,
                                .position = weft_space_position(&low->space, &read)});
    /* With an extent of zero every index is out of range and there is no element. */
    require(low, p, weft_expr_sub(low->extents, extent, weft_expr_constant(low->extents, 1)));
}

static bool find_indexed(lowerer *low, place *p)
{
    uint32_t first = weft_indexing_first(weft_op_id_of(p->node->op));
    if (!start(low, p)) return false;
    index_base(low, p, weft_value_type(low->graph, p->node->inputs[first])->shape.rank);
    for (uint32_t i = first; i < p->node->input_count && !low->failed; i++) {
        add_index(low, p, i, (size_t)p->node->attrs[0].ints.items[i - first]);
    }
    return !low->failed;
}

/* ---- dynamic slices ---- */

/* `size` elements are taken along the axis; its number stands where a sentence has the position. */
static void add_start(lowerer *low, place *p, uint32_t operand, size_t axis, weft_extent size)
{
    weft_extents *x = low->extents;
    weft_point read = weft_space_point(&low->space, p->node->inputs[operand]);
    if (read.index == NULL) low->failed = true;
    if (low->failed) return;
    read.predicate_count = p->point->predicate_count;
    read.predicates = p->point->predicates;
    weft_expr last = weft_expr_sub(x, weft_space_extent(&low->space, data_shape(low, p).extents[axis]),
                                   weft_space_extent(&low->space, size));
    static const char text[] = "start %%" PRId64 " on axis %%" PRId64 " is outside [0, %%" PRId64 "]";
    add_index_value(
        low, p, axis, weft_lowerer_value(low, &read),
        (weft_inst){.op = WEFT_SCALAR_within,
                    .number = weft_lowerer_site(low, p->node, sentence(low, p->node->op->name, text, 0), last),
                    .index = weft_expr_add(x, last, weft_expr_constant(x, 1)),
                    .position = weft_expr_constant(x, (int64_t)axis)});
}

static bool find_started(lowerer *low, place *p, weft_shape sizes)
{
    uint32_t first = weft_indexing_first(weft_op_id_of(p->node->op));
    if (!start(low, p)) return false;
    for (size_t i = 0; i < data_shape(low, p).rank; i++) p->read.index[i] = p->point->index[i];
    for (uint32_t i = first; i < p->node->input_count && !low->failed; i++) {
        size_t axis = (size_t)p->node->attrs[0].ints.items[i - first];
        add_start(low, p, i, axis, sizes.extents[axis]);
    }
    return !low->failed;
}

/* ---- reading ---- */

weft_inst_id weft_lowerer_gather(lowerer *low, const weft_point *point)
{
    place p = {.node = weft_graph_node(low->graph, point->value.node), .point = point};
    return find_indexed(low, &p) ? weft_lowerer_value(low, &p.read) : 0;
}

weft_inst_id weft_lowerer_dynamic_slice(lowerer *low, const weft_point *point)
{
    place p = {.node = weft_graph_node(low->graph, point->value.node), .point = point};
    bool found = find_started(low, &p, weft_value_type(low->graph, point->value)->shape);
    return found ? weft_lowerer_value(low, &p.read) : 0;
}

/* ---- writing ---- */

static bool is_scatter(const weft_node *node)
{
    return weft_op_id_of(node->op) == WEFT_OP_scatter;
}

uint64_t weft_lowerer_meeting_axes(lowerer *low)
{
    const weft_node *node = weft_graph_node(low->graph, low->owner);
    weft_indexed_axis axes[2 * WEFT_MAX_RANK];
    uint64_t meeting = 0;
    if (!is_scatter(node)) return 0;
    size_t count =
        weft_indexing_fill(weft_value_type(low->graph, node->inputs[0])->shape.rank, node->attrs[0].ints,
                           node->attrs[1].ints, weft_value_type(low->graph, node->inputs[2])->shape.rank, axes);
    for (size_t i = 0; i < count; i++) {
        if (axes[i].data < 0) meeting |= UINT64_C(1) << i;
    }
    return meeting;
}

bool weft_lowerer_update_operand(lowerer *low, const weft_point *point, uint32_t operand, weft_point *out_point)
{
    const weft_node *node = weft_graph_node(low->graph, low->owner);
    if (is_scatter(node)) return weft_space_indices(&low->space, node, operand, point->index, out_point);
    *out_point = weft_space_point(&low->space, node->inputs[operand]);
    return out_point->index != NULL;
}

static weft_expr writes(lowerer *low)
{
    return weft_expr_sub(low->extents, weft_expr_symbol(low->extents, WEFT_WRITES_SYMBOL, 0, 1),
                         weft_expr_constant(low->extents, 1));
}

/* The update itself: not read where nothing is written, unless it is computed here, with checks of its own, or is a
 * single element for each place, where asking costs more than reading. */
static weft_inst_id update_value(lowerer *low, const weft_point *point)
{
    uint32_t count = point->predicate_count;
    if (low->outer == 0 || !weft_role_has_memory(low->partition->roles[point->value.node]))
        return weft_lowerer_value(low, point);
    weft_point read = *point;
    weft_expr *predicates = weft_arena_allocate(&low->arena, (count + 1) * sizeof *predicates);
    if (predicates == NULL) low->failed = true;
    if (low->failed) return 0;
    for (uint32_t i = 0; i < count; i++) predicates[i] = point->predicates[i];
    predicates[count] = writes(low);
    read.predicates = predicates;
    read.predicate_count = count + 1;
    return weft_lowerer_value(low, &read);
}

void weft_lowerer_store_update(lowerer *low, const weft_point *point, uint32_t target)
{
    place p = {.node = weft_graph_node(low->graph, low->owner), .point = point};
    weft_op_id combine = WEFT_OP_COUNT;
    weft_inst_id value = update_value(low, point);
    low->checks_values = low->site_count > 0;
    bool found = is_scatter(p.node) ? find_indexed(low, &p)
                                    : find_started(low, &p, weft_value_type(low->graph, point->value)->shape);
    if (!found) return;
    if (is_scatter(p.node)) weft_scatter_mode_find(p.node->attrs[2].data, &combine);
    if (low->outer != 0) require(low, &p, writes(low));
    if (combine != WEFT_OP_COUNT) {
        weft_inst_id old = weft_lowerer_load(low, target, &p.read);
        weft_dtype dtype = weft_value_type(low->graph, point->value)->dtype;
        value = weft_lowerer_binary(low, weft_lowerer_scalar(combine), dtype, old, value);
    }
    if (low->outer == 0) require(low, &p, writes(low));
    weft_store store = {.buffer = weft_lowerer_buffer(low, target, true),
                        .index = weft_lowerer_address(low, target, p.read.index),
                        .value = value,
                        .predicate_count = p.read.predicate_count,
                        .predicates = p.read.predicates};
    store.moved = weft_lowerer_displace(low, &store.index, &store.offset);
    /* Data move nothing along axes of one element, but updates meet there all the same. */
    if (!store.moved && weft_lowerer_meeting_axes(low) != 0) {
        store.moved = true;
        store.offset = weft_lowerer_constant(low, WEFT_I64, 0);
    }
    weft_kernel_builder_store(low->builder, &store);
}
