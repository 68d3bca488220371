/* SPDX-License-Identifier: Apache-2.0 */
/* Tracing functions of movement, reductions, scans, sorting and products. */
#include <weft/gradient.h>
#include <inttypes.h>
#include "lib/trace/trace.h"

bool weft_axes_normalize(weft_graph *graph, const char *function, weft_ints axes, size_t rank, weft_axis_list *out_axes)
{
    out_axes->count = axes.count;
    if (axes.count > 0 && axes.items == NULL) {
        weft_trace_fail(graph, WEFT_INVALID_ARGUMENT, function, "%s", "the axes are NULL");
        return false;
    }
    for (size_t i = 0; i < axes.count && i < WEFT_MAX_RANK; i++)
        if (!weft_axis_normalize(graph, function, axes.items[i], rank, &out_axes->items[i])) return false;
    if (axes.count <= rank && axes.count <= WEFT_MAX_RANK) return true;
    weft_trace_fail(graph, WEFT_INVALID_ARGUMENT, function, "axes has length %zu but the rank is %zu", axes.count,
                    rank);
    return false;
}

static weft_ints list_ints(const weft_axis_list *axes)
{
    return (weft_ints){axes->count, axes->items};
}

static void sort_axes(weft_axis_list *axes)
{
    for (size_t i = 1; i < axes->count; i++) {
        int64_t axis = axes->items[i];
        size_t j = i;
        for (; j > 0 && axes->items[j - 1] > axis; j--) axes->items[j] = axes->items[j - 1];
        axes->items[j] = axis;
    }
}

static weft_tensor unary(weft_op_id op, weft_tensor x, const weft_attr *attrs)
{
    return weft_trace_op(x.graph, op, (weft_tensors){1, &x}, attrs);
}

/* ---- the operand itself ---- */

weft_tensor weft_stop_gradient(weft_tensor x)
{
    return unary(WEFT_OP_stop_gradient, x, NULL);
}

/* Numbers count up in the root, so that bodies of regions differ by those in them; what a text has used is left out. */
weft_tensor weft_trace_barrier(weft_tensors operands, bool keep)
{
    weft_graph *graph = weft_trace_graph(operands);
    weft_tensor made = weft_tensor_failed(graph);
    if (graph == NULL) return made;
    size_t count = graph->node_count;
    weft_graph *root = weft_graph_root(graph);
    do {
        const weft_attr attrs[] = {{.integer = root->barrier_count++}, {.integer = keep}};
        made = weft_trace_op(graph, WEFT_OP_barrier, operands, attrs);
    } while (weft_tensor_is_valid(made) && made.node < count);
    return made;
}

/* ---- movement ---- */

/* The products of the extents of both, without axis `without` of the second, and without those that both have: these do
 * not affect the inferred extent, and may be 0 at a run. */
static void count_rest(weft_shape x, weft_shape shape, size_t without, weft_extent *out_count, weft_extent *out_others)
{
    bool shared[WEFT_MAX_RANK] = {false};
    *out_count = *out_others = weft_extent_of(1);
    for (size_t i = 0; i < shape.rank; i++) {
        size_t k = 0;
        if (i == without) continue;
        while (k < x.rank && (shared[k] || !weft_extent_equal(x.extents[k], shape.extents[i]))) k++;
        if (k < x.rank) shared[k] = true;
        else *out_others = weft_extent_mul(*out_others, shape.extents[i]);
    }
    for (size_t k = 0; k < x.rank; k++)
        if (!shared[k]) *out_count = weft_extent_mul(*out_count, x.extents[k]);
}

static bool has_zero(weft_shape shape)
{
    int64_t value;
    for (size_t i = 0; i < shape.rank; i++)
        if (weft_extent_is_static(shape.extents[i], &value) && value == 0) return true;
    return false;
}

/* The first axis of `shape` from `axis` on that is WEFT_INFER; the rank when there is none. */
static size_t find_inferred(weft_shape shape, size_t axis)
{
    int64_t value;
    while (axis < shape.rank && !(weft_extent_is_static(shape.extents[axis], &value) && value == -1)) axis++;
    return axis;
}

/* Whether an extent other than that of `axis` is below 0. */
static bool has_negative(weft_shape shape, size_t axis)
{
    int64_t value;
    for (size_t i = 0; i < shape.rank; i++)
        if (i != axis && weft_extent_is_static(shape.extents[i], &value) && value < 0) return true;
    return false;
}

/* The extent that axis `axis` of `shape` must have for as many elements as x has; the type rule checks that it is
 * exact. */
static bool infer_axis(weft_tensor x, weft_shape shape, size_t axis, weft_extent *out_extent)
{
    weft_extent count, others;
    int64_t rest;
    *out_extent = weft_extent_of(1);
    if (has_negative(shape, axis)) return true; /* the type rule refuses it */
    count_rest(weft_tensor_shape(x), shape, axis, &count, &others);
    if (has_zero(shape)) {
        weft_trace_fail(x.graph, WEFT_SHAPE_MISMATCH, "reshape",
                        "axis %zu cannot be inferred: the others have no elements", axis);
        return false;
    }
    if (weft_extent_is_static(weft_extent_mod(count, others), &rest) && rest != 0) {
        weft_trace_fail(x.graph, WEFT_SHAPE_MISMATCH, "reshape",
                        "axis %zu cannot be inferred: %s elements are not a multiple of %s", axis,
                        weft_extent_describe(count).text, weft_extent_describe(others).text);
        return false;
    }
    *out_extent = weft_extent_div(count, others);
    return true;
}

weft_tensor weft_reshape(weft_tensor x, weft_shape shape)
{
    weft_extent extents[WEFT_MAX_RANK];
    bool may_infer = weft_tensor_is_valid(x) && shape.rank <= WEFT_MAX_RANK && shape.extents != NULL;
    size_t axis = may_infer ? find_inferred(shape, 0) : shape.rank;
    if (axis < shape.rank) {
        size_t second = find_inferred(shape, axis + 1);
        if (second < shape.rank) {
            return weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, "reshape",
                                   "axes %zu and %zu cannot both be inferred", axis, second);
        }
        for (size_t i = 0; i < shape.rank; i++) extents[i] = shape.extents[i];
        if (!infer_axis(x, shape, axis, &extents[axis])) return weft_tensor_failed(x.graph);
        shape.extents = extents;
    }
    return unary(WEFT_OP_reshape, x, &(weft_attr){.extents = shape});
}

weft_tensor weft_permute(weft_tensor x, weft_ints axes)
{
    weft_axis_list list;
    if (!weft_tensor_is_valid(x) || !weft_axes_normalize(x.graph, "permute", axes, weft_tensor_rank(x), &list)) {
        return weft_tensor_failed(x.graph);
    }
    return unary(WEFT_OP_permute, x, &(weft_attr){.ints = list_ints(&list)});
}

weft_tensor weft_broadcast_in_dim(weft_tensor x, weft_shape shape, weft_ints axes)
{
    weft_axis_list list;
    if (!weft_tensor_is_valid(x) || !weft_axes_normalize(x.graph, "broadcast", axes, shape.rank, &list)) {
        return weft_tensor_failed(x.graph);
    }
    return unary(WEFT_OP_broadcast, x, (weft_attr[]){{.extents = shape}, {.ints = list_ints(&list)}});
}

weft_tensor weft_broadcast(weft_tensor x, weft_shape shape)
{
    size_t rank = weft_tensor_rank(x);
    weft_axis_list list = {.count = rank};
    if (!weft_tensor_is_valid(x)) return x;
    if (rank > shape.rank) {
        return weft_trace_fail(x.graph, WEFT_SHAPE_MISMATCH, "broadcast",
                               "a tensor of rank %zu does not broadcast to rank %zu", rank, shape.rank);
    }
    for (size_t i = 0; i < rank; i++) list.items[i] = (int64_t)(shape.rank - rank + i);
    return weft_broadcast_in_dim(x, shape, list_ints(&list));
}

weft_tensor weft_slice(weft_tensor x, weft_shape starts, weft_shape sizes, weft_ints steps)
{
    return unary(WEFT_OP_slice, x, (weft_attr[]){{.extents = starts}, {.extents = sizes}, {.ints = steps}});
}

weft_tensor weft_narrow(weft_tensor x, int64_t axis, weft_extent start, weft_extent size)
{
    weft_extent starts[WEFT_MAX_RANK], sizes[WEFT_MAX_RANK];
    int64_t steps[WEFT_MAX_RANK], at;
    weft_shape shape = weft_tensor_shape(x);
    if (!weft_tensor_is_valid(x) || !weft_axis_normalize(x.graph, "narrow", axis, shape.rank, &at)) {
        return weft_tensor_failed(x.graph);
    }
    for (size_t i = 0; i < shape.rank; i++) {
        starts[i] = i == (size_t)at ? start : weft_extent_of(0);
        sizes[i] = i == (size_t)at ? size : shape.extents[i];
        steps[i] = 1;
    }
    return weft_slice(x, (weft_shape){shape.rank, starts}, (weft_shape){shape.rank, sizes},
                      (weft_ints){shape.rank, steps});
}

weft_tensor weft_pad(weft_tensor x, weft_tensor value, weft_shape low, weft_shape high)
{
    weft_tensor operands[] = {x, value};
    return weft_trace_op(x.graph, WEFT_OP_pad, (weft_tensors){2, operands},
                         (weft_attr[]){{.extents = low}, {.extents = high}});
}

weft_tensor weft_window(weft_tensor x, int64_t axis, weft_extent size, int64_t stride, int64_t dilation)
{
    weft_attr attrs[] = {{.integer = axis}, {.extents = {1, &size}}, {.integer = stride}, {.integer = dilation}};
    if (!weft_tensor_is_valid(x) ||
        !weft_axis_normalize(x.graph, "window", axis, weft_tensor_rank(x), &attrs[0].integer)) {
        return weft_tensor_failed(x.graph);
    }
    return unary(WEFT_OP_window, x, attrs);
}

weft_tensor weft_shear(weft_tensor x, int64_t axis, int64_t along, int64_t step, weft_extent extent)
{
    weft_attr attrs[] = {{.integer = axis}, {.integer = along}, {.integer = step}, {.extents = {1, &extent}}};
    size_t rank = weft_tensor_rank(x);
    if (!weft_tensor_is_valid(x) || !weft_axis_normalize(x.graph, "shear", axis, rank, &attrs[0].integer) ||
        !weft_axis_normalize(x.graph, "shear", along, rank, &attrs[1].integer)) {
        return weft_tensor_failed(x.graph);
    }
    return unary(WEFT_OP_shear, x, attrs);
}

weft_tensor weft_flip(weft_tensor x, weft_ints axes)
{
    weft_axis_list list;
    if (!weft_tensor_is_valid(x) || !weft_axes_normalize(x.graph, "flip", axes, weft_tensor_rank(x), &list)) {
        return weft_tensor_failed(x.graph);
    }
    sort_axes(&list);
    return unary(WEFT_OP_flip, x, &(weft_attr){.ints = list_ints(&list)});
}

weft_tensor weft_concat(weft_tensors operands, int64_t axis)
{
    if (operands.count == 0 || operands.items == NULL) return weft_tensor_failed(NULL);
    weft_tensor first = operands.items[0];
    weft_attr attr = {.integer = axis};
    if (weft_tensor_is_valid(first) &&
        !weft_axis_normalize(first.graph, "concat", axis, weft_tensor_rank(first), &attr.integer)) {
        return weft_tensor_failed(first.graph);
    }
    return weft_trace_op(first.graph, WEFT_OP_concat, operands, &attr);
}

weft_tensor weft_extract_diagonal(weft_tensor x, int64_t axis_a, int64_t axis_b)
{
    weft_axis_list list;
    if (!weft_tensor_is_valid(x) ||
        !weft_axes_normalize(x.graph, "extract_diagonal", WEFT_INTS(axis_a, axis_b), weft_tensor_rank(x), &list)) {
        return weft_tensor_failed(x.graph);
    }
    sort_axes(&list);
    return unary(WEFT_OP_extract_diagonal, x, (weft_attr[]){{.integer = list.items[0]}, {.integer = list.items[1]}});
}

weft_tensor weft_embed_diagonal(weft_tensor x, int64_t axis, int64_t new_axis)
{
    weft_attr attrs[2];
    size_t rank = weft_tensor_rank(x);
    if (!weft_tensor_is_valid(x) || !weft_axis_normalize(x.graph, "embed_diagonal", axis, rank, &attrs[0].integer) ||
        !weft_axis_normalize(x.graph, "embed_diagonal", new_axis, rank + 1, &attrs[1].integer)) {
        return weft_tensor_failed(x.graph);
    }
    return unary(WEFT_OP_embed_diagonal, x, attrs);
}

/* ---- reductions ---- */

/* Gives `reduced` the rank of `x` back, with extents of one at `axes`. */
static weft_tensor keep_axes(weft_tensor x, weft_tensor reduced, const weft_axis_list *axes)
{
    weft_extent extents[WEFT_MAX_RANK];
    weft_shape shape = weft_tensor_shape(x);
    if (!weft_tensor_is_valid(reduced)) return reduced;
    for (size_t i = 0; i < shape.rank; i++) extents[i] = shape.extents[i];
    for (size_t i = 0; i < axes->count; i++) extents[axes->items[i]] = weft_extent_of(1);
    return weft_reshape(reduced, (weft_shape){shape.rank, extents});
}

static weft_tensor reduce(weft_op_id op, weft_tensor x, weft_ints axes, bool keep)
{
    weft_axis_list list;
    const char *name = weft_op_table()[op].name;
    if (!weft_tensor_is_valid(x) || !weft_axes_normalize(x.graph, name, axes, weft_tensor_rank(x), &list)) {
        return weft_tensor_failed(x.graph);
    }
    sort_axes(&list);
    weft_tensor reduced = unary(op, x, &(weft_attr){.ints = list_ints(&list)});
    return keep ? keep_axes(x, reduced, &list) : reduced;
}

static weft_tensor arg_reduce(weft_op_id op, weft_tensor x, int64_t axis, bool keep)
{
    weft_axis_list list = {.count = 1};
    if (!weft_tensor_is_valid(x) ||
        !weft_axis_normalize(x.graph, weft_op_table()[op].name, axis, weft_tensor_rank(x), &list.items[0])) {
        return weft_tensor_failed(x.graph);
    }
    weft_tensor reduced = unary(op, x, &(weft_attr){.integer = list.items[0]});
    return keep ? keep_axes(x, reduced, &list) : reduced;
}

#define REDUCTION(name)                                                                                                \
    weft_tensor weft_##name(weft_tensor x, weft_ints axes, bool keep)                                                  \
    {                                                                                                                  \
        return reduce(WEFT_OP_##name, x, axes, keep);                                                                  \
    }
#define ARG_REDUCTION(name)                                                                                            \
    weft_tensor weft_##name(weft_tensor x, int64_t axis, bool keep)                                                    \
    {                                                                                                                  \
        return arg_reduce(WEFT_OP_##name, x, axis, keep);                                                              \
    }

REDUCTION(reduce_sum)
REDUCTION(reduce_prod)
REDUCTION(reduce_max)
REDUCTION(reduce_min)
REDUCTION(reduce_any)
REDUCTION(reduce_all)
ARG_REDUCTION(argmax)
ARG_REDUCTION(argmin)

/* ---- scans and sorting ---- */

static weft_tensor scan(weft_op_id op, weft_tensor x, int64_t axis, bool reverse, bool exclusive)
{
    weft_attr attrs[] = {{.integer = axis}, {.integer = reverse}, {.integer = exclusive}};
    if (!weft_tensor_is_valid(x) ||
        !weft_axis_normalize(x.graph, weft_op_table()[op].name, axis, weft_tensor_rank(x), &attrs[0].integer)) {
        return weft_tensor_failed(x.graph);
    }
    return unary(op, x, attrs);
}

#define SCAN(name)                                                                                                     \
    weft_tensor weft_cum##name(weft_tensor x, int64_t axis, bool reverse, bool exclusive)                              \
    {                                                                                                                  \
        return scan(WEFT_OP_scan_##name, x, axis, reverse, exclusive);                                                 \
    }

SCAN(sum)
SCAN(prod)
SCAN(max)
SCAN(min)

weft_tensor weft_scan_linear(weft_tensor a, weft_tensor b, int64_t axis, bool reverse)
{
    weft_tensor operands[] = {a, b};
    weft_attr attrs[] = {{.integer = axis}, {.integer = reverse}};
    weft_graph *graph = weft_trace_graph((weft_tensors){2, operands});
    if (graph == NULL || !weft_trace_enter(graph, "scan_linear", 2, operands) ||
        !weft_trace_broadcast(WEFT_OP_scan_linear, 0, 2, operands) ||
        !weft_axis_normalize(graph, "scan_linear", axis, weft_tensor_rank(operands[0]), &attrs[0].integer)) {
        return weft_tensor_failed(graph);
    }
    return weft_trace_op(graph, WEFT_OP_scan_linear, (weft_tensors){2, operands}, attrs);
}

static weft_tensor sorted(weft_op_id op, weft_tensor x, int64_t axis, bool descending)
{
    weft_attr attrs[] = {{.integer = axis}, {.integer = descending}};
    if (!weft_tensor_is_valid(x) ||
        !weft_axis_normalize(x.graph, weft_op_table()[op].name, axis, weft_tensor_rank(x), &attrs[0].integer)) {
        return weft_tensor_failed(x.graph);
    }
    return unary(op, x, attrs);
}

weft_tensor weft_sort(weft_tensor x, int64_t axis, bool descending)
{
    return sorted(WEFT_OP_sort, x, axis, descending);
}

weft_tensor weft_argsort(weft_tensor x, int64_t axis, bool descending)
{
    return sorted(WEFT_OP_argsort, x, axis, descending);
}

/* ---- products ---- */

weft_tensor weft_dot(weft_tensor a, weft_tensor b, weft_dot_axes axes)
{
    weft_tensor operands[] = {a, b};
    weft_ints given[] = {axes.batch_a, axes.batch_b, axes.contract_a, axes.contract_b};
    weft_axis_list lists[4];
    weft_attr attrs[4];
    for (size_t i = 0; i < 4 && weft_tensor_is_valid(a) && weft_tensor_is_valid(b); i++) {
        if (!weft_axes_normalize(a.graph, "dot", given[i], weft_tensor_rank(operands[i % 2]), &lists[i])) {
            return weft_tensor_failed(a.graph);
        }
        attrs[i] = (weft_attr){.ints = list_ints(&lists[i])};
    }
    return weft_trace_op(a.graph, WEFT_OP_dot, (weft_tensors){2, operands}, attrs);
}
