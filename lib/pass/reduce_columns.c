/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/pass/reduce_columns.h"
#include "lib/composite/composite.h"

enum {
    NARROW_BYTES = 64, /* of a row: up to a vector of AVX-512 */
    JOINED_LEAST = 32, /* rows that become one */
    JOINED_WIDTH = 256,
    LONG = 16 /* joined rows in a column, at least */
};

/* Reduced axes [first, end), after which columns lie side by side. */
typedef struct columns {
    weft_tensor x;
    weft_dtype dtype; /* that x is cast to before */
    size_t first, end;
    int64_t rows; /* 0: not known */
    int64_t width;
    int64_t joined; /* rows that become one */
} columns;

/* Of integers and bools no bit depends on the order. An extremum of floats may be any one of its zeros or NaNs, but for
 * expected extents it is that of the program. */
static bool is_in_any_order(const weft_node *node, weft_tensor x, const weft_expected *expected)
{
    weft_dtype_kind kind = weft_dtype_info_of(weft_tensor_dtype(x))->kind;
    weft_op_id id = weft_op_id_of(node->op);
    if (kind == WEFT_KIND_FLOAT) return expected == NULL && (id == WEFT_OP_reduce_max || id == WEFT_OP_reduce_min);
    return kind != WEFT_KIND_COMPLEX;
}

/* The product of known, or expected, extents [first, end); 0 where one is not known. */
static int64_t known_count(const weft_expected *expected, weft_tensor x, size_t first, size_t end)
{
    int64_t count, most;
    weft_extent extent = weft_extent_product(weft_tensor_shape(x), first, end);
    if (weft_extent_is_static(extent, &count)) return count;
    weft_expr e = expected == NULL ? WEFT_EXPR_NONE : weft_expected_expr(expected, x.graph, extent);
    if (e == WEFT_EXPR_NONE) return 0;
    weft_expr_range(x.graph->exprs, e, &count, &most);
    return count == most ? count : 0;
}

/* Whether elements are those of memory, in its order, or computed from such. */
static bool lies_in_order(weft_tensor x)
{
    while (weft_tensor_node(x)->op->op_class == WEFT_CLASS_ELEMENTWISE) x = weft_tensor_operand(x, 0);
    return weft_tensor_node(x)->op->op_class != WEFT_CLASS_MOVEMENT;
}

/* Whether its columns fill no vectors by themselves: one alone lies along memory, and is joined only where it is of
 * bytes, whose lanes are many. */
static bool is_narrow(const columns *c)
{
    int64_t least = weft_dtype_size(weft_tensor_dtype(c->x)) > 1 ? 2 : 1;
    return c->width >= least && c->width <= NARROW_BYTES / (int64_t)weft_dtype_size(c->dtype);
}

/* Whether elements are of memory, or an op of such: what takes longer is stored where two kernels read it. */
static bool is_light(weft_tensor x)
{
    const weft_node *node = weft_tensor_node(x);
    if (node->op->op_class != WEFT_CLASS_ELEMENTWISE) return true;
    size_t i = 0;
    while (i < node->input_count && weft_tensor_node(weft_tensor_operand(x, i))->op->op_class != WEFT_CLASS_ELEMENTWISE)
        i++;
    return i == node->input_count;
}

/* Whether rows of unknown number are whole joined ones, of which there may be many. */
static bool are_whole(const columns *c)
{
    weft_graph *graph = c->x.graph;
    weft_extent rows = weft_extent_product(weft_tensor_shape(c->x), c->first, c->end);
    int64_t least, most;
    weft_extent_range(rows, &least, &most);
    return most >= LONG * c->joined && weft_expr_divisor(graph->exprs, weft_extent_expr(graph, rows)) % c->joined == 0;
}

static bool find_columns(const weft_rewrite_site *site, const weft_expected *expected, columns *out_columns)
{
    weft_tensor x = site->inputs.items[0];
    weft_ints axes = weft_reduced_axes(site->node);
    size_t rank = weft_tensor_rank(x);
    if (axes.count == 0 || !is_in_any_order(site->node, x, expected)) return false;
    columns c = {.x = x, .dtype = weft_tensor_dtype(x), .first = (size_t)axes.items[0], .joined = JOINED_LEAST};
    c.end = c.first + axes.count;
    if ((size_t)axes.items[axes.count - 1] + 1 != c.end || c.end == rank) return false;
    c.rows = known_count(expected, x, c.first, c.end);
    c.width = known_count(expected, x, c.end, rank);
    if (weft_tensor_is_op(x, WEFT_OP_cast)) c.x = weft_tensor_operand(x, 0);
    if (!is_narrow(&c)) return false;
    while (c.joined * c.width < JOINED_WIDTH) c.joined *= 2;
    *out_columns = c;
    bool pays = c.rows == 0 ? are_whole(&c) : c.rows >= LONG * c.joined && (c.rows % c.joined == 0 || is_light(c.x));
    return pays && lies_in_order(x);
}

static weft_tensor reshaped(weft_tensor x, weft_shape shape)
{
    return weft_shape_equal(weft_tensor_shape(x), shape) ? x : weft_reshape(x, shape);
}

/* x with the axes before the reduced ones, and these two in place of all others. */
static weft_tensor reshape_rows(const columns *c, weft_tensor x, weft_extent rows, int64_t width)
{
    weft_extent extents[WEFT_MAX_RANK];
    weft_shape shape = weft_tensor_shape(x);
    for (size_t i = 0; i < c->first; i++) extents[i] = shape.extents[i];
    extents[c->first] = rows;
    extents[c->first + 1] = weft_extent_of(width);
    return reshaped(x, (weft_shape){c->first + 2, extents});
}

/* The node's reduction of rows. */
static weft_tensor reduce_rows(const weft_rewrite_site *site, const columns *c, weft_tensor rows)
{
    weft_ints axis = WEFT_INTS((int64_t)c->first);
    rows = weft_composite_cast(rows, c->dtype);
    switch (weft_op_id_of(site->node->op)) {
    case WEFT_OP_reduce_sum: return weft_reduce_sum(rows, axis, false);
    case WEFT_OP_reduce_prod: return weft_reduce_prod(rows, axis, false);
    case WEFT_OP_reduce_max: return weft_reduce_max(rows, axis, false);
    case WEFT_OP_reduce_min: return weft_reduce_min(rows, axis, false);
    case WEFT_OP_reduce_any: return weft_reduce_any(rows, axis, false);
    default: return weft_reduce_all(rows, axis, false);
    }
}

weft_tensor weft_reduce_columns_for(const weft_rewrite_site *site, const weft_expected *expected)
{
    columns c;
    if (!find_columns(site, expected, &c)) return weft_site_leave();
    int64_t axis = (int64_t)c.first, left = c.rows % c.joined;
    weft_extent joined = weft_extent_of(c.joined), whole = weft_extent_of(c.rows - left), all = weft_extent_of(c.rows);
    if (c.rows == 0) all = whole = weft_extent_product(weft_tensor_shape(c.x), c.first, c.end);
    weft_tensor rows = reshape_rows(&c, c.x, all, c.width);
    weft_tensor first = left == 0 ? rows : weft_narrow(rows, axis, weft_extent_of(0), whole);
    weft_tensor long_rows = reshape_rows(&c, first, weft_extent_div(whole, joined), c.joined * c.width);
    weft_tensor parts = reshape_rows(&c, reduce_rows(site, &c, long_rows), joined, c.width);
    if (left > 0) {
        weft_tensor last = weft_narrow(rows, axis, whole, weft_extent_of(left));
        parts = weft_concat(WEFT_TENSORS(parts, weft_composite_cast(last, c.dtype)), axis);
    }
    return reshaped(reduce_rows(site, &c, parts), site->node->types[0].shape);
}

weft_tensor weft_reduce_columns(const weft_rewrite_site *site)
{
    return weft_reduce_columns_for(site, NULL);
}
