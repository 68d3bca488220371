/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/lower/product_windows.h"
#include "lib/lower/numerics.h"
#include "lib/pass/pass.h"
#include "runtime/base/float_bits.h"

/* Where axis `axis` of what `value` permutes is in it. */
static size_t permuted_place(weft_space *space, weft_value value, size_t axis)
{
    const weft_node *node = weft_graph_node(space->graph, value.node);
    if (weft_op_id_of(node->op) != WEFT_OP_permute) return axis;
    size_t place = permuted_place(space, node->inputs[0], axis), i = 0;
    while ((size_t)node->attrs[0].ints.items[i] != place) i++;
    return i;
}

/* The outermost window of a factor, under permutes, if what it counts is a free axis; NULL: there is none. */
static const weft_node *free_windows(weft_space *space, const weft_node *dot, size_t operand)
{
    const weft_node *node = weft_graph_node(space->graph, dot->inputs[operand].node);
    while (weft_op_id_of(node->op) == WEFT_OP_permute) node = weft_graph_node(space->graph, node->inputs[0].node);
    if (weft_op_id_of(node->op) != WEFT_OP_window) return NULL;
    size_t axis = permuted_place(space, dot->inputs[operand], (size_t)node->attrs[0].integer);
    return weft_dot_is_free(dot, operand, axis) ? node : NULL;
}

/* What windows of windows are of. */
static weft_value viewed_by(weft_space *space, const weft_node *windows)
{
    weft_value viewed = windows->inputs[0];
    while (weft_op_id_of(weft_graph_node(space->graph, viewed.node)->op) == WEFT_OP_window)
        viewed = weft_graph_node(space->graph, viewed.node)->inputs[0];
    return viewed;
}

/* Whether windows repeat what they view; those of one element do not. */
static bool is_repeating(weft_space *space, const weft_node *windows)
{
    int64_t least, most = 1;
    while (weft_op_id_of(windows->op) == WEFT_OP_window && most == 1) {
        weft_space_range(space, windows->attrs[1].extents.extents[0], &least, &most);
        windows = weft_graph_node(space->graph, windows->inputs[0].node);
    }
    return most > 1;
}

bool weft_product_has_distant_columns(weft_space *space, const weft_node *dot)
{
    const weft_node *node = free_windows(space, dot, 1);
    return node != NULL && node->attrs[2].integer != 1;
}

/* Whether rows are windows, which the library would pack, beside a B that loops reread from L2, and copy if it does not
 * lie along the lanes: 3 x 3 of 64 channels of 56 x 56, channels last, takes 0.8 of the time, 32 channels 0.47, 128
 * channels of 28 x 28 1.0 (Sapphire Rapids). */
bool weft_product_has_window_rows(weft_space *space, const weft_node *dot)
{
    enum { LEAST_COLUMNS = 8, LEAST_ROWS = 64, MOST_BYTES = 512 << 10 };
    weft_product_size size = weft_product_size_of(space, dot);
    int64_t rows = weft_product_rows(space, dot, 0), columns = weft_product_rows(space, dot, 1),
            element = weft_product_number_size(dot);
    const weft_node *windows = free_windows(space, dot, 0);
    return space->vector_bytes >= WEFT_LONG_VECTOR && size.along && windows != NULL && is_repeating(space, windows) &&
           !weft_dtype_is_float16(dot->types[0].dtype) && rows >= LEAST_ROWS && columns >= LEAST_COLUMNS &&
           weft_multiply_bound(columns, size.terms) <= MOST_BYTES / element;
}

/* The axis of what a reshape is of that is axis `axis`, if it leaves that and those after it; SIZE_MAX: it does not. */
static size_t reshaped_axis(weft_space *space, const weft_node *reshape, size_t axis)
{
    weft_shape after = reshape->types[0].shape, before = weft_value_type(space->graph, reshape->inputs[0])->shape;
    size_t count = after.rank - axis;
    if (count > before.rank) return SIZE_MAX;
    for (size_t i = 1; i <= count; i++)
        if (weft_space_extent(space, after.extents[after.rank - i]) !=
            weft_space_extent(space, before.extents[before.rank - i]))
            return SIZE_MAX;
    return before.rank - count;
}

/* Whether axis `axis` of a value is known not to be innermost in memory, under permutes and reshapes. */
static bool jumps_along(weft_space *space, weft_value value, size_t axis)
{
    const weft_node *node = weft_graph_node(space->graph, value.node);
    weft_op_id op = weft_op_id_of(node->op);
    if (op != WEFT_OP_permute && op != WEFT_OP_reshape) return weft_innermost_axis(space, value) != axis;
    axis = op == WEFT_OP_permute ? (size_t)node->attrs[0].ints.items[axis] : reshaped_axis(space, node, axis);
    return axis != SIZE_MAX && jumps_along(space, node->inputs[0], axis);
}

bool weft_product_has_windows_across(weft_space *space, const weft_node *dot, uint32_t *out_viewed)
{
    const weft_node *windows = free_windows(space, dot, 1);
    if (windows == NULL) return false;
    weft_value viewed = viewed_by(space, windows);
    *out_viewed = viewed.node;
    return jumps_along(space, viewed, (size_t)windows->attrs[0].integer);
}

/* Whether B is windows along what is innermost in memory, with a stride of at most `most_stride`, and they are columns
 * of it, not terms: then how many of them, at least and at most, and their stride. */
static bool has_window_columns(weft_space *space, const weft_node *dot, int64_t most_stride, int64_t *out_least,
                               int64_t *out_most, int64_t *out_stride)
{
    const weft_node *node = free_windows(space, dot, 1);
    if (node == NULL || node->attrs[2].integer > most_stride) return false;
    size_t axis = (size_t)node->attrs[0].integer;
    weft_space_range(space, node->types[0].shape.extents[axis], out_least, out_most);
    *out_stride = node->attrs[2].integer;
    return axis == weft_innermost_axis(space, viewed_by(space, node)) && *out_most > 0;
}

bool weft_product_has_adjacent_windows(weft_space *space, const weft_node *dot)
{
    enum { PICKED = 2 }; /* elements apart, from vectors */
    int64_t least, most, stride;
    return has_window_columns(space, dot, PICKED, &least, &most, &stride) &&
           is_repeating(space, free_windows(space, dot, 1));
}

/* What loops over windows cost, in terms of two whole vectors of columns for as many rows as are computed together. */
typedef struct window_costs {
    int64_t rows, vector_bytes, near_bytes; /* what two vectors of columns read stays in L1 */
    int64_t most_stride;                    /* whose elements are picked from vectors */
    double alone, far, apart;               /* one vector at a time; not near; with a stride */
} window_costs;

/*
 * Whether loops over windows, which read them where they lie, are faster than the library, which packs them. Loops use
 * as much of the time as rows and vectors of their tiles are whole. The library packs as much for a few rows as for
 * many. Measured on Zen 3, and on Sapphire Rapids for vectors of 64 bytes, where masks fill the last two of them. Of
 * any number of columns the vectors are as full as those of 14 to 56 on average.
 */
bool weft_product_has_near_windows(weft_space *space, const weft_node *dot, int64_t terms)
{
    enum { MOST_TERMS = 4096 /* whose places are in a table */ };
    static const window_costs narrow = {6, 32, 24 << 10, 1, 4.0 / 3, 1.2, 1},
                              wide = {8, 64, 32 << 10, 2, 1.25, 1.2, 1.25};
    const window_costs *costs = space->vector_bytes >= wide.vector_bytes ? &wide : &narrow;
    const double packing = 16, on_average = 0.8;
    int64_t columns, most, stride;
    int64_t lanes = costs->vector_bytes / weft_product_number_size(dot), rows = weft_product_rows(space, dot, 0);
    if (!has_window_columns(space, dot, costs->most_stride, &columns, &most, &stride)) return false;
    if (costs == &wide && !is_repeating(space, free_windows(space, dot, 1))) return false;
    if (weft_dtype_is_float16(dot->types[0].dtype) || terms > MOST_TERMS || rows < 1) return false;
    int64_t vectors = (columns + lanes - 1) / lanes, pairs = (costs == &wide ? vectors : columns / lanes) / 2 * 2;
    double taken = (double)pairs + costs->alone * (double)(vectors - pairs);
    double used = columns == most ? (double)columns / (double)lanes / taken : on_average;
    used *= (double)rows / ((double)(rows / costs->rows + (rows % costs->rows != 0)) * (double)costs->rows);
    if (terms * 2 * costs->vector_bytes > costs->near_bytes) used /= costs->far;
    if (stride != 1) used /= costs->apart;
    return used > (double)rows / ((double)rows + packing);
}
