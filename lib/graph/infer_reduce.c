/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/graph/infer.h"
#include <inttypes.h>

/* `shape` without the axes marked in `gone`. */
static weft_status *drop_axes(const weft_infer_context *context, weft_shape shape, const bool *gone,
                              weft_shape *out_shape)
{
    weft_extent *extents;
    size_t rank = 0;
    WEFT_TRY(weft_infer_extents(context, shape.rank, &extents));
    for (size_t i = 0; i < shape.rank; i++) {
        if (!gone[i]) extents[rank++] = shape.extents[i];
    }
    *out_shape = (weft_shape){rank, extents};
    return NULL;
}

static void mark_axes(weft_ints axes, bool *marks)
{
    for (size_t i = 0; i < axes.count; i++) marks[axes.items[i]] = true;
}

weft_status *weft_infer_reduce(const weft_infer_context *context, weft_type *out_types)
{
    weft_shape shape = context->inputs[0].shape;
    weft_ints axes = context->attrs[0].ints;
    bool gone[WEFT_MAX_RANK] = {false};
    WEFT_TRY(weft_infer_axes(context, "axes", axes, shape.rank, true));
    mark_axes(axes, gone);
    out_types[0].dtype = context->inputs[0].dtype;
    return drop_axes(context, shape, gone, &out_types[0].shape);
}

weft_status *weft_infer_arg_reduce(const weft_infer_context *context, weft_type *out_types)
{
    weft_shape shape = context->inputs[0].shape;
    int64_t axis = context->attrs[0].integer;
    bool gone[WEFT_MAX_RANK] = {false};
    WEFT_TRY(weft_infer_axis(context, "axis", axis, shape.rank));
    gone[axis] = true;
    out_types[0].dtype = WEFT_I64;
    return drop_axes(context, shape, gone, &out_types[0].shape);
}

/* ---- scans, sort ---- */

weft_status *weft_infer_along_axis(const weft_infer_context *context, weft_type *out_types)
{
    out_types[0] = context->inputs[0];
    return weft_infer_axis(context, "axis", context->attrs[0].integer, context->inputs[0].shape.rank);
}

weft_status *weft_infer_scan_linear(const weft_infer_context *context, weft_type *out_types)
{
    WEFT_TRY(weft_infer_same(context, out_types));
    return weft_infer_axis(context, "axis", context->attrs[0].integer, out_types[0].shape.rank);
}

weft_status *weft_infer_argsort(const weft_infer_context *context, weft_type *out_types)
{
    WEFT_TRY(weft_infer_along_axis(context, out_types));
    out_types[0].dtype = WEFT_I64;
    return NULL;
}

/* ---- dot ---- */

/* Pairs axes of the two operands: equally many, each once, equal extents. `used` marks those of a, then those of b. */
static weft_status *pair_axes(const weft_infer_context *context, const char *kind, weft_ints axes_a, weft_ints axes_b,
                              bool used[2][WEFT_MAX_RANK])
{
    weft_shape a = context->inputs[0].shape, b = context->inputs[1].shape;
    if (axes_a.count != axes_b.count) {
        return weft_infer_error(context, WEFT_INVALID_ARGUMENT, "the %s axes of a have length %zu but those of b %zu",
                                kind, axes_a.count, axes_b.count);
    }
    for (size_t i = 0; i < axes_a.count; i++) {
        int64_t x = axes_a.items[i], y = axes_b.items[i];
        WEFT_TRY(weft_infer_axis(context, "axis of a", x, a.rank));
        WEFT_TRY(weft_infer_axis(context, "axis of b", y, b.rank));
        if (used[0][x] || used[1][y]) {
            return weft_infer_error(context, WEFT_INVALID_ARGUMENT, "axis %" PRId64 " of %s is paired twice",
                                    used[0][x] ? x : y, used[0][x] ? "a" : "b");
        }
        used[0][x] = used[1][y] = true;
        WEFT_TRY(weft_infer_require(context, WEFT_GUARD_EQUAL, a.extents[x], b.extents[y],
                                    "%s axis %" PRId64 " of a has extent %s but axis %" PRId64 " of b has %s", kind, x,
                                    weft_extent_describe(a.extents[x]).text, y,
                                    weft_extent_describe(b.extents[y]).text));
    }
    return NULL;
}

weft_status *weft_infer_dot(const weft_infer_context *context, weft_type *out_types)
{
    weft_shape a = context->inputs[0].shape, b = context->inputs[1].shape;
    weft_ints batch = context->attrs[0].ints;
    bool used[2][WEFT_MAX_RANK] = {{false}};
    WEFT_TRY(weft_infer_same_dtypes(context, 0));
    WEFT_TRY(pair_axes(context, "batch", batch, context->attrs[1].ints, used));
    WEFT_TRY(pair_axes(context, "contracted", context->attrs[2].ints, context->attrs[3].ints, used));
    size_t rank = a.rank + b.rank - batch.count - 2 * context->attrs[2].ints.count, n = 0;
    weft_extent *extents;
    WEFT_TRY(weft_infer_extents(context, rank, &extents));
    for (size_t i = 0; i < batch.count; i++) extents[n++] = a.extents[batch.items[i]];
    for (size_t i = 0; i < a.rank; i++) {
        if (!used[0][i]) extents[n++] = a.extents[i];
    }
    for (size_t i = 0; i < b.rank; i++) {
        if (!used[1][i]) extents[n++] = b.extents[i];
    }
    out_types[0] = (weft_type){context->inputs[0].dtype, {rank, extents}};
    return NULL;
}
