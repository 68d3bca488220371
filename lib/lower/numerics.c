/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/lower/lower.h"
#include "lib/lower/numerics.h"
#include "lib/loop/loop.h"
#include "lib/pass/uses.h"
#include "runtime/engine/gemm.h"

enum { FEWEST_CHUNKS = 8 }; /* of a scan that is cut, which takes two kernels more */

/* Upper bound of a product of extents, saturating. */
int64_t weft_multiply_bound(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

int64_t weft_count_bound(weft_space *space, weft_shape shape)
{
    int64_t bound = 1, low, high;
    for (size_t i = 0; i < shape.rank; i++) {
        weft_space_range(space, shape.extents[i], &low, &high);
        bound = weft_multiply_bound(bound, high);
    }
    return bound;
}

static uint32_t virtual_lanes(uint32_t lanes, uint32_t most_lanes, int64_t bound)
{
    if (lanes > most_lanes) lanes = most_lanes;
    while (lanes > 1 && (int64_t)lanes / 2 >= bound) lanes /= 2;
    return lanes < 1 ? 1 : lanes;
}

bool weft_dot_is_free(const weft_node *dot, size_t operand, size_t axis)
{
    weft_ints batch = dot->attrs[operand].ints, contract = dot->attrs[2 + operand].ints;
    for (size_t k = 0; k < batch.count; k++)
        if (batch.items[k] == (int64_t)axis) return false;
    for (size_t k = 0; k < contract.count; k++)
        if (contract.items[k] == (int64_t)axis) return false;
    return true;
}

/* Whether the free axes of an operand of a dot are all known to have one element. */
bool weft_dot_has_one_row(weft_space *space, const weft_node *dot, size_t operand)
{
    weft_shape shape = weft_value_type(space->graph, dot->inputs[operand])->shape;
    for (size_t i = 0; i < shape.rank; i++)
        if (weft_dot_is_free(dot, operand, i) && !weft_space_is_one(space, shape.extents[i])) return false;
    return true;
}

/* The axis of a value along which it lies innermost in memory, if it is read from there or permuted from there;
 * SIZE_MAX: it has one element. */
size_t weft_innermost_axis(weft_space *space, weft_value value)
{
    const weft_node *node = weft_graph_node(space->graph, value.node);
    weft_shape shape = weft_value_type(space->graph, value)->shape;
    bool permuted = weft_op_id_of(node->op) == WEFT_OP_permute;
    size_t found = SIZE_MAX;
    int64_t deepest = -1;
    for (size_t i = 0; i < shape.rank; i++) {
        int64_t place = permuted ? node->attrs[0].ints.items[i] : (int64_t)i;
        if (place < deepest || weft_space_is_one(space, shape.extents[i])) continue;
        deepest = place;
        found = i;
    }
    return found;
}

bool weft_dot_is_contracted(const weft_node *dot, size_t operand, size_t axis)
{
    weft_ints contract = dot->attrs[2 + operand].ints;
    for (size_t i = 0; i < contract.count; i++)
        if ((size_t)contract.items[i] == axis) return true;
    return false;
}

/* Whether an operand of a dot is contiguous along the terms. */
static bool lies_along_terms(const weft_graph *graph, const weft_node *dot, size_t operand)
{
    size_t axis = weft_innermost_axis(&(weft_space){.graph = graph}, dot->inputs[operand]);
    return axis == SIZE_MAX || weft_dot_is_contracted(dot, operand, axis);
}

/* Sums and products of floats, which round: bits of all others are the same in any order. */
static bool has_order(const weft_graph *graph, const weft_node *node)
{
    weft_dtype_kind kind = weft_dtype_info_of(weft_value_type(graph, node->inputs[0])->dtype)->kind;
    weft_op_id id = weft_op_id_of(node->op);
    bool adds = id == WEFT_OP_reduce_sum || id == WEFT_OP_reduce_prod || id == WEFT_OP_dot;
    bool scans = id == WEFT_OP_scan_sum || id == WEFT_OP_scan_prod;
    return (adds || scans) && (kind == WEFT_KIND_FLOAT || kind == WEFT_KIND_COMPLEX);
}

/* Whether the reduction runs along what is innermost in its operand, of a dot in the one with more rows if the other
 * one has few: then lanes go along it, otherwise across the results. Innermost in memory, where the order is free,
 * elsewhere as the axes are numbered. */
static bool is_innermost(const weft_graph *graph, const weft_node *node, const weft_reduction *reduction)
{
    if (weft_op_id_of(node->op) == WEFT_OP_dot) {
        weft_few_rows few = weft_dot_few_rows(graph, node);
        return few.in_lanes && lies_along_terms(graph, node, few.matrix) &&
               (few.may_copy || lies_along_terms(graph, node, 1 - few.matrix));
    }
    int64_t last = reduction->axes[reduction->axis_count - 1];
    size_t axis = weft_innermost_axis(&(weft_space){.graph = graph}, node->inputs[0]);
    if (!has_order(graph, node) && axis != SIZE_MAX) return (size_t)last == axis;
    weft_shape shape = weft_value_type(graph, node->inputs[0])->shape;
    size_t rank = shape.rank;
    while (rank > 0 && (int64_t)rank - 1 > last && weft_extent_equal(shape.extents[rank - 1], weft_extent_of(1)))
        rank--;
    return (size_t)last == rank - 1;
}

/* Whether what is reduced are windows, which are short: vectors go across them if the order is free. */
static bool is_of_windows(const weft_graph *graph, const weft_node *node)
{
    const weft_node *operand = weft_graph_node(graph, node->inputs[0].node);
    while (weft_op_id_of(operand->op) == WEFT_OP_permute) operand = weft_graph_node(graph, operand->inputs[0].node);
    return weft_op_id_of(operand->op) == WEFT_OP_window && !has_order(graph, node);
}

/* Of a product in order, which is that of the runtime's (gemm.h). */
static uint32_t block_terms(weft_dtype dtype)
{
    return weft_dtype_info_of(dtype)->kind == WEFT_KIND_COMPLEX ? WEFT_GEMM_TERMS / 2 : WEFT_GEMM_TERMS;
}

void weft_reduction_fill(const weft_graph *graph, uint32_t id, weft_reduction *out_reduction)
{
    const weft_node *node = weft_graph_node(graph, id);
    weft_ints axes = weft_reduced_axes(node);
    bool is_dot = weft_op_id_of(node->op) == WEFT_OP_dot;
    weft_shape shape = weft_value_type(graph, node->inputs[0])->shape;
    weft_reduction reduction = {.axis_count = (uint32_t)axes.count, .lanes = 1};
    weft_space own = {.graph = graph};
    int64_t bound = 1, terms = 1, low, high;
    for (size_t i = 0; i < axes.count; i++) {
        reduction.axes[i] = axes.items[i];
        bool adjacent = !is_dot && i > 0 && axes.items[i] == axes.items[i - 1] + 1;
        if (!adjacent) {
            reduction.group_first[reduction.group_count++] = (uint32_t)i;
            bound = 1;
        }
        weft_extent_range(shape.extents[axes.items[i]], &low, &high);
        bound = weft_multiply_bound(bound, high);
        terms = weft_multiply_bound(terms, high);
    }
    bool in_lanes = axes.count > 0 && is_innermost(graph, node, &reduction) && !is_of_windows(graph, node);
    if (in_lanes) {
        weft_dtype dtype = weft_accumulator_dtype(weft_value_type(graph, node->inputs[0])->dtype);
        uint32_t lanes = WEFT_ORDER_LANE_BYTES / (uint32_t)weft_dtype_size(dtype);
        reduction.lanes = virtual_lanes(lanes, WEFT_ORDER_MOST_LANES, bound);
    }
    if (has_order(graph, node))
        reduction.blocks = is_dot && reduction.lanes == 1 ? block_terms(node->types[0].dtype) : WEFT_BLOCKS_NESTED;
    /* Flat blocks go on through all axes: one range, unless one block takes all terms. */
    if (reduction.blocks > WEFT_BLOCKS_NESTED && terms > reduction.blocks) reduction.group_count = 1;
    bool few = weft_count_bound(&own, node->types[0].shape) < WEFT_ORDER_MANY;
    if (!is_dot && reduction.group_count == 1 && bound > WEFT_ORDER_LONG && few) reduction.chunk = WEFT_ORDER_CHUNK;
    *out_reduction = reduction;
}

/* One times a complex number may have a zero of another sign, so what is there before the first block of such products
 * is not neutral. */
static bool has_blocks(const weft_graph *graph, const weft_node *node)
{
    bool is_complex = weft_dtype_info_of(node->types[0].dtype)->kind == WEFT_KIND_COMPLEX;
    return has_order(graph, node) && !(is_complex && weft_op_id_of(node->op) == WEFT_OP_scan_prod);
}

void weft_scan_fill(const weft_graph *graph, const weft_node *scan, weft_reduction *out_order)
{
    weft_reduction order = {.axis_count = 1, .group_count = 1, .lanes = 1, .scans = true};
    int64_t low, high;
    order.axes[0] = scan->attrs[0].integer;
    weft_extent_range(scan->types[0].shape.extents[order.axes[0]], &low, &high);
    /* A recurrence runs in order: factors that are combined first may overflow where no result does. So do rows of one
     * block that are permuted from columns, which vectors read across them. */
    bool is_linear = weft_op_id_of(scan->op) == WEFT_OP_scan_linear;
    size_t innermost = weft_innermost_axis(&(weft_space){.graph = graph}, scan->inputs[0]);
    bool lies_across = innermost != SIZE_MAX && innermost != (size_t)order.axes[0] && high <= WEFT_ORDER_SCAN_BLOCK;
    if (!is_linear && !lies_across && is_innermost(graph, scan, &order)) {
        weft_dtype part = weft_dtype_component(weft_accumulator_dtype(scan->types[0].dtype));
        uint32_t lanes = WEFT_ORDER_SCAN_BYTES / (uint32_t)weft_dtype_size(part);
        order.lanes = virtual_lanes(lanes, WEFT_ORDER_SCAN_MOST_LANES, high);
    }
    if (has_blocks(graph, scan)) order.blocks = WEFT_ORDER_SCAN_BLOCK * order.lanes;
    *out_order = order;
}

int64_t weft_scan_chunk(const weft_fusion *fusion, const weft_node *scan)
{
    weft_space *space = fusion->space;
    weft_reduction order;
    weft_scan_fill(space->graph, scan, &order);
    weft_shape shape = scan->types[0].shape;
    int64_t rows = 1, least, most;
    for (size_t i = 0; i < shape.rank; i++) {
        weft_space_range(space, shape.extents[i], &least, &most);
        if ((int64_t)i != order.axes[0]) rows = weft_multiply_bound(rows, most);
    }
    int64_t size = (int64_t)WEFT_ORDER_SCAN_BLOCK * order.lanes;
    bool is_linear = weft_op_id_of(scan->op) == WEFT_OP_scan_linear;
    if (is_linear || (has_order(space->graph, scan) && order.blocks == WEFT_BLOCKS_NONE)) return 0;
    weft_space_range(space, shape.extents[order.axes[0]], &least, &most);
    return space->threads > 1 && rows < space->threads && least > 0 && most >= FEWEST_CHUNKS * size ? size : 0;
}

weft_expr weft_scan_totals(weft_space *space, const weft_node *scan, int64_t size)
{
    weft_expr_context *x = space->exprs;
    weft_expr count = weft_expr_constant(x, 1);
    weft_shape shape = scan->types[0].shape;
    for (size_t i = 0; i < shape.rank; i++) {
        weft_expr extent = weft_space_extent(space, shape.extents[i]);
        if ((int64_t)i == scan->attrs[0].integer) {
            weft_expr before_last = weft_expr_sub(x, extent, weft_expr_constant(x, 1));
            extent = weft_expr_div(x, before_last, weft_expr_constant(x, size));
        }
        count = weft_expr_mul(x, count, extent);
    }
    return count;
}
