/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/lower/numerics.h"
#include "lib/loop/loop.h"
#include "runtime/engine/gemm.h"

/* Products of up to this many multiplications are loops: the library's call and its packing cost more than they do. */
#define MOST_IN_LOOPS (32 * 32 * 32)
/* Of f32 with a B that is contiguous along the terms, which the library transposes in registers. */
#define MOST_ALONG_TERMS (24 * 24 * 24)
/* The same, in bytes of real numbers, for a B that is contiguous along a free axis. */
#define MEDIUM_PRODUCT_BYTES (4 * 50 * 50 * 50)
/* Such a B that fits in L1 is reread from there; with so few terms the library is no faster. */
#define SMALL_B_BYTES (16 << 10)
#define SMALL_B_TERMS 32
/* This many rows or columns are computed together, so that a matrix is read once, as far as L2 holds its strided
 * lines. */
#define FEW_ROWS 4
#define LARGE_MATRIX_BYTES (2 << 20)
/* WEFT_PRODUCT_FEW_TERMS of real numbers that lie along the lanes. */
#define FEW_TERMS_ALONG 24
/* Results that are worth a kernel. */
#define LARGE_RESULT 65536

static void extent_range(const weft_graph *graph, weft_extent extent, int64_t *out_min, int64_t *out_max)
{
    if (extent.graph == NULL) {
        *out_min = *out_max = extent.value;
    } else {
        weft_expr_range(graph->exprs, (weft_expr)extent.value, out_min, out_max);
    }
}

/* Upper bound of a product of extents, saturating. */
static int64_t multiply_bound(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

int64_t weft_count_bound(const weft_graph *graph, weft_shape shape)
{
    int64_t bound = 1, low, high;
    for (size_t i = 0; i < shape.rank; i++) {
        extent_range(graph, shape.extents[i], &low, &high);
        bound = multiply_bound(bound, high);
    }
    return bound;
}

static uint32_t virtual_lanes(size_t element_size, int64_t bound)
{
    uint32_t lanes = WEFT_ORDER_LANE_BYTES / (uint32_t)element_size;
    if (lanes > WEFT_ORDER_MOST_LANES) lanes = WEFT_ORDER_MOST_LANES;
    while (lanes > 1 && (int64_t)lanes / 2 >= bound) lanes /= 2;
    return lanes < 1 ? 1 : lanes;
}

static bool is_free(const weft_node *dot, size_t operand, size_t axis)
{
    weft_ints batch = dot->attrs[operand].ints, contract = dot->attrs[2 + operand].ints;
    for (size_t k = 0; k < batch.count; k++)
        if (batch.items[k] == (int64_t)axis) return false;
    for (size_t k = 0; k < contract.count; k++)
        if (contract.items[k] == (int64_t)axis) return false;
    return true;
}

/* Whether the free axes of an operand of a dot are all known to have one element. */
static bool has_one_row(const weft_graph *graph, const weft_node *dot, size_t operand)
{
    weft_shape shape = weft_value_type(graph, dot->inputs[operand])->shape;
    for (size_t i = 0; i < shape.rank; i++)
        if (is_free(dot, operand, i) && !weft_extent_equal(shape.extents[i], weft_extent_of(1))) return false;
    return true;
}

/* The axis of a value along which it lies innermost in memory, if it is read from there or permuted from there;
 * SIZE_MAX: it has one element. */
static size_t innermost_axis(const weft_graph *graph, weft_value value)
{
    const weft_node *node = weft_graph_node(graph, value.node);
    weft_shape shape = weft_value_type(graph, value)->shape;
    bool permuted = weft_op_id_of(node->op) == WEFT_OP_permute;
    size_t found = SIZE_MAX;
    int64_t deepest = -1;
    for (size_t i = 0; i < shape.rank; i++) {
        int64_t place = permuted ? node->attrs[0].ints.items[i] : (int64_t)i;
        if (place < deepest || weft_extent_equal(shape.extents[i], weft_extent_of(1))) continue;
        deepest = place;
        found = i;
    }
    return found;
}

static bool is_contracted(const weft_node *dot, size_t operand, size_t axis)
{
    weft_ints contract = dot->attrs[2 + operand].ints;
    for (size_t i = 0; i < contract.count; i++)
        if ((size_t)contract.items[i] == axis) return true;
    return false;
}

/* Whether the reduction runs along what is innermost in its operand, of a dot in the one that has rows if one only has:
 * then lanes go along it, otherwise across the results. */
static bool is_innermost(const weft_graph *graph, const weft_node *node, const weft_reduction *reduction)
{
    if (weft_op_id_of(node->op) == WEFT_OP_dot) {
        bool row = has_one_row(graph, node, 0), column = has_one_row(graph, node, 1);
        size_t matrix = column ? 0 : 1, axis = innermost_axis(graph, node->inputs[matrix]);
        return (row || column) && (axis == SIZE_MAX || is_contracted(node, matrix, axis));
    }
    int64_t last = reduction->axes[reduction->axis_count - 1];
    weft_shape shape = weft_value_type(graph, node->inputs[0])->shape;
    size_t rank = shape.rank;
    while (rank > 0 && (int64_t)rank - 1 > last && weft_extent_equal(shape.extents[rank - 1], weft_extent_of(1)))
        rank--;
    return (size_t)last == rank - 1;
}

/* Sums and products of floats, which round: bits of all others are the same in any order. */
static bool has_order(const weft_graph *graph, const weft_node *node)
{
    weft_dtype_kind kind = weft_dtype_info_of(weft_value_type(graph, node->inputs[0])->dtype)->kind;
    weft_op_id id = weft_op_id_of(node->op);
    bool adds = id == WEFT_OP_reduce_sum || id == WEFT_OP_reduce_prod || id == WEFT_OP_dot;
    return adds && (kind == WEFT_KIND_FLOAT || kind == WEFT_KIND_COMPLEX);
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
    int64_t bound = 1, terms = 1, low, high;
    for (size_t i = 0; i < axes.count; i++) {
        reduction.axes[i] = axes.items[i];
        bool adjacent = !is_dot && i > 0 && axes.items[i] == axes.items[i - 1] + 1;
        if (!adjacent) {
            reduction.group_first[reduction.group_count++] = (uint32_t)i;
            bound = 1;
        }
        extent_range(graph, shape.extents[axes.items[i]], &low, &high);
        bound = multiply_bound(bound, high);
        terms = multiply_bound(terms, high);
    }
    if (axes.count > 0 && is_innermost(graph, node, &reduction) && !(is_dot && bound < WEFT_ORDER_FEWEST_IN_LANES)) {
        weft_dtype dtype = weft_accumulator_dtype(weft_value_type(graph, node->inputs[0])->dtype);
        reduction.lanes = virtual_lanes(weft_dtype_size(dtype), bound);
    }
    if (has_order(graph, node))
        reduction.blocks = is_dot && reduction.lanes == 1 ? block_terms(node->types[0].dtype) : WEFT_BLOCKS_NESTED;
    /* Flat blocks go on through all axes: one range, unless one block takes all terms. */
    if (reduction.blocks > WEFT_BLOCKS_NESTED && terms > reduction.blocks) reduction.group_count = 1;
    bool few = weft_count_bound(graph, node->types[0].shape) < WEFT_ORDER_MANY;
    if (!is_dot && reduction.group_count == 1 && bound > WEFT_ORDER_LONG && few) reduction.chunk = WEFT_ORDER_CHUNK;
    *out_reduction = reduction;
}

weft_product_size weft_product_size_of(const weft_graph *graph, const weft_node *node)
{
    weft_shape a = weft_value_type(graph, node->inputs[0])->shape, b = weft_value_type(graph, node->inputs[1])->shape;
    weft_shape batch = node->types[0].shape, free_axes = batch;
    batch.rank = node->attrs[0].ints.count;
    free_axes.rank -= batch.rank;
    free_axes.extents += batch.rank;
    weft_product_size size = {
        .batch = weft_count_bound(graph, batch), .free = weft_count_bound(graph, free_axes), .terms = 1, .along = true};
    size.results = multiply_bound(size.batch, size.free);
    size.is_large = size.results >= LARGE_RESULT;
    for (size_t i = 0; i < node->attrs[2].ints.count; i++) {
        int64_t low, high;
        extent_range(graph, a.extents[node->attrs[2].ints.items[i]], &low, &high);
        size.terms = multiply_bound(size.terms, high);
        size.along &= (size_t)node->attrs[3].ints.items[i] + 1 != b.rank;
    }
    for (size_t i = 0; i < batch.rank; i++) size.along &= (size_t)node->attrs[1].ints.items[i] + 1 != b.rank;
    size.along &= weft_dtype_info_of(node->types[0].dtype)->kind != WEFT_KIND_COMPLEX;
    return size;
}

/* The rows of operand 0, or the columns of operand 1, at most. */
static int64_t count_rows(const weft_graph *graph, const weft_node *dot, size_t operand)
{
    weft_shape shape = weft_value_type(graph, dot->inputs[operand])->shape;
    int64_t rows = 1, low, high;
    for (size_t i = 0; i < shape.rank; i++) {
        if (!is_free(dot, operand, i)) continue;
        extent_range(graph, shape.extents[i], &low, &high);
        rows = multiply_bound(rows, high);
    }
    return rows;
}

/* Bytes of a number as it is added up. */
static int64_t accumulator_size(const weft_node *dot)
{
    return (int64_t)weft_dtype_size(weft_accumulator_dtype(dot->types[0].dtype));
}

/* Whether `operand` has few rows, and loops read the other one at least as fast as the library: where its lines of f64
 * are added up along them, and of 16-bit floats, which the library would widen first. Measured on Sapphire Rapids. */
static bool has_few_rows(const weft_graph *graph, const weft_node *dot, size_t operand, int64_t terms)
{
    size_t matrix = 1 - operand, axis = innermost_axis(graph, dot->inputs[matrix]);
    weft_dtype dtype = dot->types[0].dtype;
    if (dtype == WEFT_F32 || count_rows(graph, dot, operand) > FEW_ROWS) return false;
    if (axis == SIZE_MAX || is_contracted(dot, matrix, axis)) return true;
    int64_t elements = multiply_bound(count_rows(graph, dot, matrix), terms);
    return weft_dtype_is_float16(dtype) && elements <= LARGE_MATRIX_BYTES / accumulator_size(dot);
}

/* Whether B is contiguous along a free axis. */
static bool lies_along(const weft_graph *graph, const weft_node *dot)
{
    size_t axis = innermost_axis(graph, dot->inputs[1]);
    return axis == SIZE_MAX || is_free(dot, 1, axis);
}

/* Whether loops do as well as the library. */
static bool is_small(const weft_graph *graph, const weft_node *dot)
{
    weft_product_size size = weft_product_size_of(graph, dot);
    if (size.is_large && size.terms <= (size.along ? FEW_TERMS_ALONG : WEFT_PRODUCT_FEW_TERMS)) return true;
    int64_t multiplications = multiply_bound(size.free, size.terms);
    bool along = lies_along(graph, dot), transposes = dot->types[0].dtype == WEFT_F32 && !along;
    if (multiplications <= (transposes ? MOST_ALONG_TERMS : MOST_IN_LOOPS)) return true;
    if (weft_dtype_info_of(dot->types[0].dtype)->kind == WEFT_KIND_COMPLEX) return false;
    int64_t element = accumulator_size(dot);
    int64_t b_elements = multiply_bound(count_rows(graph, dot, 1), size.terms);
    bool near = size.terms <= SMALL_B_TERMS && b_elements <= SMALL_B_BYTES / element;
    /* Lanes go along B as it lies, or as it is copied for a large result. */
    bool lanes = size.along && (along || (size.is_large && !transposes));
    if (lanes && (near || multiplications <= MEDIUM_PRODUCT_BYTES / element)) return true;
    return has_few_rows(graph, dot, 0, size.terms) || has_few_rows(graph, dot, 1, size.terms);
}

bool weft_product_is_library(const weft_graph *graph, const weft_node *node)
{
    if (!weft_gemm_supports(node->types[0].dtype)) return false;
    weft_shape a = weft_value_type(graph, node->inputs[0])->shape, b = weft_value_type(graph, node->inputs[1])->shape;
    size_t batch = node->attrs[0].ints.count, contract = node->attrs[2].ints.count;
    if (contract == 0 || a.rank == batch + contract || b.rank == batch + contract) return false;
    /* Loops read the matrix once too, and compute what follows in the same kernel. */
    if (has_one_row(graph, node, 0) || has_one_row(graph, node, 1)) return false;
    return !is_small(graph, node);
}
