/* SPDX-License-Identifier: Apache-2.0 */
/* Fusion: what has to have memory because of who reads it. */
#include "lib/lower/chains.h"
#include "lib/lower/fusion_rules.h"
#include "lib/lower/product.h"

/* The factors of a product, which are often recomputed one by one, as scalars, get memory at the cost of this many
 * extra operations. */
#define LARGE_PRODUCT_REPETITION (1 << 12)
/* A value this cheap is computed where a gather reads it, even if that is more often than it has elements. */
#define CHEAP_TO_PLACE 2u

/* Whether a gather or dynamic slice computes the elements that it reads: where it is known to read no more than there
 * are, or they cost little. */
static bool computes_what_it_reads(const weft_fusion *fusion, const weft_node *node)
{
    const weft_graph *graph = fusion->compiled->graph;
    uint32_t source = node->inputs[0].node;
    if (!fusion->reachable[source]) return false;
    if (fusion->weights[source] <= CHEAP_TO_PLACE) return true;
    weft_expr read = weft_fusion_count(fusion, node->types[0].shape);
    weft_expr all = weft_fusion_count(fusion, weft_value_type(graph, node->inputs[0])->shape);
    return weft_expr_always_nonnegative(fusion->exprs, weft_expr_sub(fusion->exprs, all, read));
}

static void demand_operands(weft_fusion *fusion, const weft_node *node, bool through_views)
{
    const weft_graph *graph = fusion->compiled->graph;
    bool is_product = through_views && weft_op_id_of(node->op) == WEFT_OP_dot;
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t operand = (is_product ? weft_product_operand(graph, node, i) : node->inputs[i]).node;
        fusion->materialized[through_views ? weft_fusion_under_views(graph, operand) : operand] = 1;
    }
}

/* Of axes those that have more than one element. */
static size_t count_long(const weft_fusion *fusion, weft_shape shape, weft_ints axes)
{
    size_t count = 0;
    for (size_t i = 0; i < axes.count; i++) count += !weft_space_is_one(fusion->space, shape.extents[axes.items[i]]);
    return count;
}

/* Axes that a reduction takes in of an operand, if it takes in nothing else: of a product with one factor for each of
 * their elements; or 0. */
static size_t count_reduced(const weft_fusion *fusion, const weft_node *node, uint32_t operand)
{
    const weft_graph *graph = fusion->compiled->graph;
    weft_shape shape = weft_value_type(graph, node->inputs[operand])->shape;
    switch (weft_op_id_of(node->op)) {
    case WEFT_OP_reduce_sum:
    case WEFT_OP_reduce_max:
    case WEFT_OP_reduce_min: return count_long(fusion, shape, node->attrs[0].ints);
    case WEFT_OP_dot:
        return weft_dot_has_one_row(fusion->space, node, 1 - operand)
                   ? count_long(fusion, shape, node->attrs[2 + operand].ints)
                   : 0;
    default: return 0;
    }
}

/* Under a value that is windows, permuted or reshaped, over a pad: the pad, and the axes and elements of windows. */
typedef struct padded {
    uint32_t pad; /* node + 1; 0: there is none */
    size_t axes;
    int64_t elements;
    bool is_near; /* windows are of known number, and begin at most two elements apart */
} padded;

static bool is_near(const weft_fusion *fusion, const weft_node *window)
{
    int64_t count, stride = window->attrs[2].integer;
    weft_extent extent = window->types[0].shape.extents[window->attrs[0].integer];
    bool is_known = weft_expr_is_constant(fusion->exprs, weft_space_extent(fusion->space, extent), &count);
    return stride <= 2 && is_known;
}

static padded find_padded(const weft_fusion *fusion, uint32_t n)
{
    const weft_graph *graph = fusion->compiled->graph;
    padded found = {.elements = 1, .is_near = true};
    for (;; n = weft_graph_node(graph, n)->inputs[0].node) {
        const weft_node *node = weft_graph_node(graph, n);
        weft_op_id id = weft_op_id_of(node->op);
        if (id == WEFT_OP_pad && found.axes > 0) found.pad = n + 1;
        if (id != WEFT_OP_window && id != WEFT_OP_permute && id != WEFT_OP_reshape && id != WEFT_OP_broadcast) break;
        if (id != WEFT_OP_window) continue;
        int64_t least, most;
        weft_space_range(fusion->space, node->attrs[1].extents.extents[0], &least, &most);
        found.is_near &= is_near(fusion, node);
        found.axes++;
        found.elements = least == most ? weft_multiply_bound(found.elements, most) : INT64_MAX;
    }
    return found;
}

/* Windows over a pad of memory that are small, and all of what is reduced, become instructions (lib/schedule/windows).
 * With masks of AVX-512 these are compared with the bounds in less time than it takes to store what is padded. */
static void compare_bounds(weft_fusion *fusion, const weft_node *reduction, uint32_t operand)
{
    enum { MOST = 9 };
    const weft_graph *graph = fusion->compiled->graph;
    padded windows = find_padded(fusion, reduction->inputs[operand].node);
    bool has_masks = fusion->space->vector_bytes >= WEFT_LONG_VECTOR && weft_dtype_size(reduction->types[0].dtype) >= 4;
    if (windows.pad == 0 || !has_masks || !windows.is_near || windows.elements > MOST) return;
    bool is_read = fusion->weights[weft_graph_node(graph, windows.pad - 1)->inputs[0].node] <= 1;
    if (is_read && count_reduced(fusion, reduction, operand) == windows.axes) fusion->compared[windows.pad - 1] = 1;
}

/* Windows over a pad: each of their elements would have to be compared with the bounds. */
static void demand_padded(weft_fusion *fusion, uint32_t window)
{
    const weft_graph *graph = fusion->compiled->graph;
    uint32_t n = weft_graph_node(graph, window)->inputs[0].node;
    while (weft_op_id_of(weft_graph_node(graph, n)->op) == WEFT_OP_reshape)
        n = weft_graph_node(graph, n)->inputs[0].node;
    bool is_padded = weft_op_id_of(weft_graph_node(graph, n)->op) == WEFT_OP_pad;
    if (is_padded && (fusion->roots[window] == 0 || !fusion->compared[n])) fusion->materialized[n] = 1;
}

/* The same where windows are a factor of a product, in whatever order they come. */
static void demand_padded_factor(weft_fusion *fusion, uint32_t n)
{
    padded windows = find_padded(fusion, n);
    if (windows.pad != 0 && !fusion->compared[windows.pad - 1]) fusion->materialized[windows.pad - 1] = 1;
}

/* A product that is read only in another order, with another axis last, is fast to compute in its own: if it is large;
 * and if it has enough to compute, where it would end with its batch, along which neither operand is adjacent, or where
 * lanes would jump through a matrix that a vector is multiplied with. */
static void demand_product(weft_fusion *fusion, const weft_node *permute)
{
    enum { LEAST = 16 << 10 };
    const weft_graph *graph = fusion->compiled->graph;
    uint32_t n = permute->inputs[0].node;
    const weft_node *node = weft_graph_node(graph, n);
    weft_ints order = permute->attrs[0].ints;
    if (weft_op_id_of(node->op) != WEFT_OP_dot || order.count == 0) return;
    size_t last = (size_t)order.items[order.count - 1];
    if (last + 1 == order.count || weft_product_has_inner_batch(fusion->space, node)) return;
    weft_product_size size = weft_product_size_of(fusion->space, node);
    bool lies_across = last < node->attrs[0].ints.count && weft_product_has_outer_batch(fusion->space, node),
         is_vector = weft_product_has_matrix_across(fusion->space, node, last),
         has_enough = weft_multiply_bound(size.results, size.terms) >= LEAST;
    if (size.terms > WEFT_PRODUCT_FEW_TERMS &&
        ((size.is_large && size.along) || ((lies_across || is_vector) && has_enough)))
        fusion->materialized[n] = 1;
}

/* Whether elements of a view are not at strides over what it views: axes are joined that do not follow each other, or
 * padded. Not windows, of which there are more than of what they view. */
static bool is_scattered(const weft_graph *graph, uint32_t n)
{
    uint32_t viewed = weft_fusion_under_views(graph, n);
    bool is_scattered = weft_op_id_of(weft_graph_node(graph, viewed)->op) == WEFT_OP_pad;
    for (; n != viewed; n = weft_graph_node(graph, n)->inputs[0].node) {
        const weft_node *node = weft_graph_node(graph, n);
        if (weft_op_id_of(node->op) == WEFT_OP_window) return false;
        is_scattered |= weft_op_id_of(node->op) == WEFT_OP_reshape && !weft_reshape_keeps_axes(graph, node) &&
                        weft_op_id_of(weft_graph_node(graph, node->inputs[0].node)->op) == WEFT_OP_permute;
    }
    return is_scattered;
}

/* What is stored of a factor, under repetitions, and how many operations its elements take. */
static uint32_t stored_factor(const weft_fusion *fusion, uint32_t n, uint32_t *out_weight)
{
    enum { WEIGHT_OF_PLACES = 8 };
    const weft_graph *graph = fusion->compiled->graph;
    uint32_t factor = weft_fusion_under_views(graph, n);
    const weft_node *node = weft_graph_node(graph, factor);
    *out_weight = fusion->weights[factor];
    if (node->op->op_class == WEFT_CLASS_ELEMENTWISE || weft_op_id_of(node->op) == WEFT_OP_concat) return factor;
    while (weft_op_id_of(weft_graph_node(graph, n)->op) == WEFT_OP_broadcast)
        n = weft_graph_node(graph, n)->inputs[0].node;
    *out_weight = is_scattered(graph, n) ? WEIGHT_OF_PLACES : 1;
    return n;
}

/* A product done by loops reads its factors once for each row or column of the other one: a factor that would be
 * recomputed each time, or looked for, is stored first. */
static void demand_factors(weft_fusion *fusion, const weft_node *dot)
{
    const weft_graph *graph = fusion->compiled->graph;
    weft_product_size size = weft_product_size_of(fusion->space, dot);
    for (uint32_t i = 0; i < dot->input_count; i++) {
        uint32_t weight, factor = stored_factor(fusion, dot->inputs[i].node, &weight);
        weft_shape shape = weft_graph_node(graph, factor)->types[0].shape;
        double again = (double)size.results * (double)size.terms - (double)weft_count_bound(fusion->space, shape);
        if (again * ((double)weight - 1) >= LARGE_PRODUCT_REPETITION) fusion->materialized[factor] = 1;
        uint32_t viewed;
        if (i == 1 && weft_product_has_windows_across(fusion->space, dot, &viewed)) fusion->materialized[viewed] = 1;
        else demand_padded_factor(fusion, dot->inputs[i].node);
    }
}

/* Whether a scan has lanes: along its axis, or across rows, where they fill half of these; of contiguous ones
 * lib/schedule/scan.c needs vectors of 64 bytes. */
static bool scans_in_lanes(const weft_fusion *fusion, const weft_node *scan)
{
    const weft_shape shape = scan->types[0].shape;
    const uint32_t bytes = (uint32_t)fusion->space->vector_bytes;
    size_t scanned = (size_t)scan->attrs[0].integer;
    double rows = 1;
    weft_reduction order;
    weft_scan_fill(fusion->compiled->graph, scan, &order);
    if (order.lanes > 1) return true;
    for (size_t axis = 0; axis < shape.rank; axis++) {
        int64_t least, most;
        weft_space_range(fusion->space, shape.extents[axis], &least, &most);
        if (axis != scanned) rows *= (double)most;
    }
    bool is_along = scanned + 1 == shape.rank;
    return 2 * rows * (double)weft_dtype_size(scan->types[0].dtype) >= bytes &&
           (!is_along || bytes >= WEFT_LONG_VECTOR);
}

/* Elements that are scanned one by one had better not be functions, which are stored before: 512 x 1000 f32 with tanh
 * takes 0.05 of the time (AVX2). */
static void demand_scanned(weft_fusion *fusion, const weft_node *scan)
{
    const weft_graph *graph = fusion->compiled->graph;
    for (uint32_t i = 0; i < scan->input_count && !scans_in_lanes(fusion, scan); i++) {
        uint32_t operand = weft_fusion_under_views(graph, scan->inputs[i].node);
        bool is_elementwise = weft_graph_node(graph, operand)->op->op_class == WEFT_CLASS_ELEMENTWISE;
        if (is_elementwise && fusion->weights[operand] >= WEFT_FUSION_FUNCTION_WEIGHT)
            fusion->materialized[operand] = 1;
    }
}

/* Points of a scatter of single elements run one by one, and so would what they are computed from: with vectors of 64
 * bytes what takes more than a trip through memory is stored first. */
static void demand_scattered(weft_fusion *fusion, const weft_node *scatter)
{
    const weft_graph *graph = fusion->compiled->graph;
    int64_t points = weft_count_bound(fusion->space, weft_value_type(graph, scatter->inputs[1])->shape);
    bool is_single = fusion->space->vector_bytes >= WEFT_LONG_VECTOR;
    for (uint32_t i = 2; i < scatter->input_count; i++)
        is_single &= weft_count_bound(fusion->space, weft_value_type(graph, scatter->inputs[i])->shape) == points;
    for (uint32_t i = 1; i < scatter->input_count && is_single; i++) {
        uint32_t n = scatter->inputs[i].node;
        bool is_elementwise = weft_graph_node(graph, n)->op->op_class == WEFT_CLASS_ELEMENTWISE;
        if (is_elementwise && fusion->weights[n] > WEFT_FUSION_CHEAP_TO_REPEAT) fusion->materialized[n] = 1;
    }
}

enum { MOST_PERMUTES = 8, MOST_VISITS = 64 };

/* What elementwise ops read of arrays: some along their last axis, and permutes that read others across it. */
typedef struct reads {
    bool along;
    uint32_t visits, permute_count, permutes[MOST_PERMUTES];
} reads;

static void find_reads(const weft_fusion *fusion, uint32_t n, reads *found)
{
    const weft_graph *graph = fusion->compiled->graph;
    const weft_node *node = weft_graph_node(graph, n);
    weft_op_id id = weft_op_id_of(node->op);
    size_t rank = node->types[0].shape.rank;
    if (found->visits++ >= MOST_VISITS) return;
    if (node->op->op_class == WEFT_CLASS_ELEMENTWISE) {
        for (uint32_t i = 0; i < node->input_count; i++) find_reads(fusion, node->inputs[i].node, found);
        return;
    }
    bool turns = id == WEFT_OP_permute && rank > 0 && node->attrs[0].ints.items[rank - 1] != (int64_t)rank - 1;
    if (turns && found->permute_count < MOST_PERMUTES) found->permutes[found->permute_count++] = n;
    found->along |= !turns && id != WEFT_OP_broadcast && (node->input_count > 0 || id == WEFT_OP_input);
}

/* Whether single elements of a permuted array come from beyond L2, or the lines that vectors of them are in share a
 * set of L1. Not of short rows, across which the lanes go. */
static bool is_read_from_afar(const weft_fusion *fusion, const weft_node *permute)
{
    enum { FAR_BYTES = 1 << 20, PERIOD = 1 << 12, SHORT = 32 };
    weft_ints order = permute->attrs[0].ints;
    const weft_type *type = weft_value_type(fusion->compiled->graph, permute->inputs[0]);
    size_t axis = (size_t)order.items[order.count - 1];
    int64_t size = (int64_t)weft_dtype_size(type->dtype), pitch = weft_fusion_pitch(fusion, type, axis), least, rows;
    weft_space_range(fusion->space, type->shape.extents[axis], &least, &rows);
    bool is_far = weft_count_bound(fusion->space, type->shape) >= FAR_BYTES / size;
    return rows > SHORT && pitch != size && (is_far || (pitch != 0 && pitch % PERIOD == 0));
}

/* A reduction along memory takes vectors along its axis. What lies across it, beside what lies along it, would be put
 * together from single elements: it is turned first, unless runs have a memory limit. */
static void demand_turned(weft_fusion *fusion, uint32_t n)
{
    const weft_graph *graph = fusion->compiled->graph;
    const weft_node *node = weft_graph_node(graph, n);
    weft_reduction reduction;
    reads found = {.along = false};
    weft_reduction_fill(graph, n, &reduction);
    for (uint32_t i = 0; i < node->input_count; i++) find_reads(fusion, node->inputs[i].node, &found);
    for (uint32_t i = 0; i < found.permute_count && reduction.lanes > 1 && found.along; i++)
        if (is_read_from_afar(fusion, weft_graph_node(graph, found.permutes[i])))
            fusion->materialized[found.permutes[i]] = 1;
}

void weft_fusion_materialize_operands(weft_fusion *fusion, uint32_t n)
{
    const weft_graph *graph = fusion->compiled->graph;
    const weft_node *node = weft_graph_node(graph, n);
    weft_op_id id = weft_op_id_of(node->op);
    bool is_step = fusion->roles[n] == WEFT_ROLE_HOST || fusion->roles[n] == WEFT_ROLE_REGION;
    bool reads_views = fusion->roles[n] == WEFT_ROLE_GEMM || fusion->roles[n] == WEFT_ROLE_SORT;
    bool copies = fusion->roles[n] == WEFT_ROLE_GEMM && weft_product_copies_batches(fusion->space, n);
    if (is_step || reads_views) demand_operands(fusion, node, reads_views && !copies);
    if (weft_fusion_is_gather(node) && !computes_what_it_reads(fusion, node))
        fusion->materialized[node->inputs[0].node] = 1;
    for (uint32_t i = 0; i < node->input_count && weft_fusion_is_reduction(node); i++) compare_bounds(fusion, node, i);
    if (id == WEFT_OP_window) demand_padded(fusion, n);
    if (node->op->op_class == WEFT_CLASS_SCAN) demand_scanned(fusion, node);
    if (node->op->op_class == WEFT_CLASS_REDUCE && !fusion->space->is_limited) demand_turned(fusion, n);
    if (id == WEFT_OP_permute) demand_product(fusion, node);
    if (id == WEFT_OP_scatter) demand_scattered(fusion, node);
    if (id == WEFT_OP_dot && fusion->roles[n] != WEFT_ROLE_GEMM && weft_product_copies_b(fusion->space, n))
        fusion->materialized[node->inputs[1].node] = 1;
    if (id == WEFT_OP_dot && fusion->roles[n] != WEFT_ROLE_GEMM) demand_factors(fusion, node);
    bool expands = id == WEFT_OP_broadcast && weft_value_type(graph, node->inputs[0])->shape.rank > 0;
    if (!expands) return;
    uint32_t source = node->inputs[0].node;
    bool is_costly = fusion->weights[source] > WEFT_FUSION_FUNCTION_WEIGHT &&
                     weft_graph_node(graph, source)->op->op_class == WEFT_CLASS_ELEMENTWISE;
    if (is_costly && !fusion->fused_row[source]) fusion->materialized[source] = 1;
}

bool weft_fusion_stores_operand(const weft_fusion *fusion, uint32_t n)
{
    const weft_graph *graph = fusion->compiled->graph;
    const weft_node *node = weft_graph_node(graph, n);
    if (weft_op_id_of(node->op) != WEFT_OP_broadcast || fusion->materialized[n]) return false;
    return weft_value_type(graph, node->inputs[0])->shape.rank > 0 && !fusion->materialized[node->inputs[0].node];
}
