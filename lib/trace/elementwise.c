/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves, elementwise ops and casts; operands are broadcast to the shape they meet in. */
#include <inttypes.h>
#include <string.h>
#include "lib/trace/trace.h"

static weft_tensor unary(weft_op_id op, weft_tensor x, const weft_attr *attrs)
{
    return weft_trace_op(x.graph, op, (weft_tensors){1, &x}, attrs);
}

static bool is_one(weft_extent extent)
{
    int64_t value;
    return weft_extent_is_static(extent, &value) && value == 1;
}

/* ---- leaves ---- */

weft_tensor weft_input(weft_graph *graph, const char *name, weft_dtype dtype, weft_shape shape)
{
    weft_attr attrs[] = {
        {.data = name, .size = name == NULL ? 0 : strlen(name)}, {.integer = dtype}, {.extents = shape}};
    return weft_trace_op(graph, WEFT_OP_input, (weft_tensors){0, NULL}, attrs);
}

/* Bytes of a constant; SIZE_MAX, which no data match, when they overflow. */
static size_t data_size(weft_dtype dtype, weft_ints shape)
{
    size_t size = weft_dtype_size(dtype);
    for (size_t i = 0; i < shape.count; i++) {
        if (__builtin_mul_overflow(size, (size_t)shape.items[i], &size)) return SIZE_MAX;
    }
    return size;
}

weft_tensor weft_constant(weft_graph *graph, weft_dtype dtype, weft_ints shape, const void *data)
{
    if (graph == NULL) return weft_tensor_failed(NULL);
    if (!weft_trace_wants_list("constant", "shape", graph, shape.count, shape.items)) return weft_tensor_failed(graph);
    for (size_t i = 0; i < shape.count; i++)
        if (shape.items[i] < 0)
            return weft_trace_fail(graph, WEFT_OUT_OF_RANGE, "constant", "axis %zu has extent %" PRId64 ", below 0", i,
                                   shape.items[i]);
    size_t size = data_size(dtype, shape);
    weft_attr attrs[] = {{.integer = dtype}, {.ints = shape}, {.data = data, .size = size}};
    if (size > PTRDIFF_MAX) {
        return weft_trace_fail(graph, WEFT_OUT_OF_RANGE, "constant", "%s",
                               "the elements of the shape do not fit in memory");
    }
    return weft_trace_op(graph, WEFT_OP_constant, (weft_tensors){0, NULL}, attrs);
}

weft_tensor weft_iota(weft_graph *graph, weft_dtype dtype, weft_shape shape, int64_t axis)
{
    weft_attr attrs[] = {{.integer = dtype}, {.extents = shape}, {.integer = axis}};
    if (graph == NULL || !weft_axis_normalize(graph, "iota", axis, shape.rank, &attrs[2].integer)) {
        return weft_tensor_failed(graph);
    }
    return weft_trace_op(graph, WEFT_OP_iota, (weft_tensors){0, NULL}, attrs);
}

weft_tensor weft_extent_tensor(weft_graph *graph, weft_extent extent)
{
    weft_attr attr = {.extents = {1, &extent}};
    return weft_trace_op(graph, WEFT_OP_extent, (weft_tensors){0, NULL}, &attr);
}

/* ---- elementwise ---- */

#define ELEMENTWISE_LIMIT 3

/* The common shape of operands, aligned at the right; `owners` records which operand contributed each extent. */
typedef struct common_shape {
    size_t rank;
    weft_extent extents[WEFT_MAX_RANK];
    size_t owners[WEFT_MAX_RANK];
} common_shape;

/* Lets operand `number` take part; false with an error when it never fits. */
static bool meet(common_shape *common, weft_op_id op, const weft_tensor *operands, size_t number)
{
    weft_shape shape = weft_tensor_shape(operands[number]);
    for (size_t i = 0; i < shape.rank; i++) {
        size_t at = common->rank - shape.rank + i, owner = common->owners[at];
        weft_extent extent = shape.extents[i], known = common->extents[at];
        if (is_one(extent) || weft_extent_equal(extent, known)) continue;
        weft_graph *graph = operands[number].graph;
        if (!is_one(known) && weft_extent_never_equal(graph, known, extent)) {
            weft_trace_fail(graph, WEFT_SHAPE_MISMATCH, weft_op_table()[op].name,
                            "axis %zu of operand %zu has extent %s but axis %zu of operand %zu has %s",
                            at + weft_tensor_rank(operands[owner]) - common->rank, owner,
                            weft_extent_describe(known).text, i, number, weft_extent_describe(extent).text);
            return false;
        }
        if (!is_one(known) && weft_extent_is_static(known, NULL)) continue;
        common->extents[at] = extent;
        common->owners[at] = number;
    }
    return true;
}

/* `x` with the common rank: missing axes and those of extent one take the common extent, the others keep their own. */
static weft_tensor stretch(weft_tensor x, const common_shape *common)
{
    weft_extent extents[WEFT_MAX_RANK];
    int64_t axes[WEFT_MAX_RANK];
    weft_shape shape = weft_tensor_shape(x);
    size_t missing = common->rank - shape.rank;
    bool same = missing == 0;
    for (size_t i = 0; i < common->rank; i++) {
        bool keeps = i >= missing && !is_one(shape.extents[i - missing]);
        extents[i] = keeps ? shape.extents[i - missing] : common->extents[i];
        same = same && weft_extent_equal(extents[i], shape.extents[i]);
        if (i >= missing) axes[i - missing] = (int64_t)i;
    }
    if (same) return x;
    return weft_broadcast_in_dim(x, (weft_shape){common->rank, extents}, (weft_ints){shape.rank, axes});
}

bool weft_trace_broadcast(weft_op_id op, size_t first, size_t count, weft_tensor *operands)
{
    common_shape common = {.rank = 0};
    for (size_t i = first; i < count; i++) {
        if (weft_tensor_rank(operands[i]) > common.rank) common.rank = weft_tensor_rank(operands[i]);
    }
    for (size_t i = 0; i < common.rank; i++) common.extents[i] = weft_extent_of(1);
    for (size_t i = first; i < count; i++) {
        if (!meet(&common, op, operands, i)) return false;
    }
    for (size_t i = first; i < count; i++) operands[i] = stretch(operands[i], &common);
    return true;
}

static weft_tensor elementwise(weft_op_id op, size_t count, const weft_tensor *operands)
{
    weft_tensor stretched[ELEMENTWISE_LIMIT];
    weft_graph *graph = weft_trace_graph((weft_tensors){count, operands});
    memcpy(stretched, operands, count * sizeof *operands);
    if (graph == NULL || !weft_trace_enter(graph, weft_op_table()[op].name, count, stretched)) {
        return weft_tensor_failed(graph);
    }
    if (!weft_trace_broadcast(op, 0, count, stretched)) return weft_tensor_failed(graph);
    return weft_trace_op(graph, op, (weft_tensors){count, stretched}, NULL);
}

#define UNARY(name)                                                                                                    \
    weft_tensor weft_##name(weft_tensor x)                                                                             \
    {                                                                                                                  \
        return unary(WEFT_OP_##name, x, NULL);                                                                         \
    }
#define BINARY(name)                                                                                                   \
    weft_tensor weft_##name(weft_tensor a, weft_tensor b)                                                              \
    {                                                                                                                  \
        return elementwise(WEFT_OP_##name, 2, (weft_tensor[]){a, b});                                                  \
    }

#define TRACE_1_none UNARY
#define TRACE_2_none BINARY
#define TRACE_3_none(name)
#define TRACE_1_cast(name)
#define WEFT_ELEMENTWISE(name, inputs, attributes, dtypes) TRACE_##inputs##_##attributes(name)
#include "lib/graph/elementwise.def"

weft_tensor weft_select(weft_tensor condition, weft_tensor a, weft_tensor b)
{
    return elementwise(WEFT_OP_select, 3, (weft_tensor[]){condition, a, b});
}

weft_tensor weft_cast(weft_tensor x, weft_dtype dtype)
{
    return unary(WEFT_OP_cast, x, &(weft_attr){.integer = dtype});
}

weft_tensor weft_bitcast(weft_tensor x, weft_dtype dtype)
{
    return unary(WEFT_OP_bitcast, x, &(weft_attr){.integer = dtype});
}
