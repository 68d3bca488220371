/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include "lib/indexing.h"
#include "lib/loop/lower_internal.h"
#include "runtime/variant.h"

/*
 * Elements whose place the data decide: the address is that of an element with zeros in place of what the data say, and
 * an offset that is computed, a checked index times a stride for each axis.
 */

typedef struct place {
    const weft_node *node;   /* gather, scatter, or a dynamic slice */
    uint32_t memory;         /* of operand 0, or of the result that takes its place */
    const weft_point *point; /* of the result, or of the updates */
    weft_expr *base;         /* index of the element without the offset */
    weft_inst_id offset;
    bool moved; /* there is an offset */
    uint32_t predicate_count;
    weft_expr *predicates;
} place;

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

/* What a step along `axis` adds to the address. */
static weft_expr stride_of(lowerer *low, const place *p, size_t axis)
{
    weft_expr kept = p->base[axis];
    p->base[axis] = weft_expr_constant(low->extents, 0);
    weft_expr zero = weft_lowerer_address(low, p->memory, p->base);
    p->base[axis] = weft_expr_constant(low->extents, 1);
    weft_expr one = weft_lowerer_address(low, p->memory, p->base);
    p->base[axis] = kept;
    return weft_expr_sub(low->extents, one, zero);
}

static void require(lowerer *low, place *p, weft_expr e)
{
    if (!weft_expr_always_nonnegative(low->extents, e)) p->predicates[p->predicate_count++] = e;
}

/* Adds the index or start `value`, which `check` checks, along `axis`. */
static void add_offset(lowerer *low, place *p, size_t axis, weft_inst_id value, weft_inst check)
{
    check.dtype = WEFT_I64;
    check.arg_count = 1;
    check.args[0] = value;
    check.predicate_count = p->point->predicate_count;
    check.predicates = p->point->predicates;
    weft_inst_id step = weft_kernel_builder_inst(low->builder, &check);
    weft_expr stride = stride_of(low, p, axis);
    if (stride != weft_expr_constant(low->extents, 1))
        step = weft_lowerer_binary(low, WEFT_SCALAR_mul, WEFT_I64, step, weft_lowerer_index(low, stride));
    p->offset = p->moved ? weft_lowerer_binary(low, WEFT_SCALAR_add, WEFT_I64, p->offset, step) : step;
    p->moved = true;
}

static bool start(lowerer *low, place *p)
{
    size_t rank = data_shape(low, p).rank;
    p->base = weft_arena_allocate(&low->arena, (rank + 1) * sizeof *p->base);
    p->predicates = weft_arena_allocate(&low->arena, (p->point->predicate_count + rank + 2) * sizeof *p->predicates);
    if (p->base == NULL || p->predicates == NULL) low->failed = true;
    if (low->failed) return false;
    for (uint32_t i = 0; i < p->point->predicate_count; i++)
        p->predicates[p->predicate_count++] = p->point->predicates[i];
    return true;
}

/* ---- gather, scatter ---- */

static void index_base(lowerer *low, place *p, size_t index_rank)
{
    weft_indexed_axis axes[2 * WEFT_MAX_RANK];
    size_t rank = data_shape(low, p).rank;
    size_t count = weft_indexing_fill(rank, p->node->attrs[0].ints, p->node->attrs[1].ints, index_rank, axes);
    for (size_t i = 0; i < rank; i++) p->base[i] = weft_expr_constant(low->extents, 0);
    for (size_t i = 0; i < count; i++) {
        if (axes[i].data >= 0) p->base[axes[i].data] = p->point->index[i];
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
    add_offset(low, p, axis, index,
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
    add_offset(low, p, axis, weft_lowerer_value(low, &read),
               (weft_inst){.op = WEFT_SCALAR_within,
                           .number = weft_lowerer_site(low, p->node, sentence(low, p->node->op->name, text, 0), last),
                           .index = weft_expr_add(x, last, weft_expr_constant(x, 1)),
                           .position = weft_expr_constant(x, (int64_t)axis)});
}

static bool find_started(lowerer *low, place *p, weft_shape sizes)
{
    uint32_t first = weft_indexing_first(weft_op_id_of(p->node->op));
    if (!start(low, p)) return false;
    for (size_t i = 0; i < data_shape(low, p).rank; i++) p->base[i] = p->point->index[i];
    for (uint32_t i = first; i < p->node->input_count && !low->failed; i++) {
        size_t axis = (size_t)p->node->attrs[0].ints.items[i - first];
        add_start(low, p, i, axis, sizes.extents[axis]);
    }
    return !low->failed;
}

/* ---- reading ---- */

static weft_inst_id load(lowerer *low, const place *p)
{
    weft_inst inst = {.op = WEFT_SCALAR_load,
                      .dtype = weft_value_type(low->graph, p->node->inputs[0])->dtype,
                      .arg_count = p->moved,
                      .args = {p->moved ? p->offset : 0},
                      .buffer = weft_lowerer_buffer(low, p->memory, false),
                      .index = weft_lowerer_address(low, p->memory, p->base),
                      .predicate_count = p->predicate_count,
                      .predicates = p->predicates};
    return weft_kernel_builder_inst(low->builder, &inst);
}

static place place_of(const lowerer *low, const weft_point *point)
{
    const weft_node *node = weft_graph_node(low->graph, point->value.node);
    uint32_t memory = low->lowering->first_memory[node->inputs[0].node] + node->inputs[0].output;
    return (place){.node = node, .memory = memory, .point = point};
}

weft_inst_id weft_lowerer_gather(lowerer *low, const weft_point *point)
{
    place p = place_of(low, point);
    return find_indexed(low, &p) ? load(low, &p) : 0;
}

weft_inst_id weft_lowerer_dynamic_slice(lowerer *low, const weft_point *point)
{
    place p = place_of(low, point);
    return find_started(low, &p, weft_value_type(low->graph, point->value)->shape) ? load(low, &p) : 0;
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
    place p = {.node = weft_graph_node(low->graph, low->owner), .memory = target, .point = point};
    weft_op_id combine = WEFT_OP_COUNT;
    weft_inst_id value = update_value(low, point);
    low->checks_values = low->site_count > 0;
    bool found = is_scatter(p.node) ? find_indexed(low, &p)
                                    : find_started(low, &p, weft_value_type(low->graph, point->value)->shape);
    if (!found) return;
    if (is_scatter(p.node)) weft_scatter_mode_find(p.node->attrs[2].data, &combine);
    if (low->outer != 0) require(low, &p, writes(low));
    if (combine != WEFT_OP_COUNT) {
        weft_inst_id old = load(low, &p);
        weft_dtype dtype = weft_value_type(low->graph, point->value)->dtype;
        value = weft_lowerer_binary(low, weft_lowerer_scalar(combine), dtype, old, value);
    }
    if (low->outer == 0) require(low, &p, writes(low));
    weft_kernel_builder_store(low->builder, &(weft_store){.buffer = weft_lowerer_buffer(low, target, true),
                                                          .index = weft_lowerer_address(low, target, p.base),
                                                          .value = value,
                                                          .moved = p.moved,
                                                          .offset = p.offset,
                                                          .predicate_count = p.predicate_count,
                                                          .predicates = p.predicates});
}
