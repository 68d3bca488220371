/* SPDX-License-Identifier: Apache-2.0 */
/* Type rules of ops that index by data: gather, scatter, dynamic slices. */
#include "lib/graph/indexing.h"
#include "lib/graph/infer.h"
#include <inttypes.h>
#include <string.h>

/* ---- gather, scatter ---- */

static weft_status *check_index_types(const weft_infer_context *context, size_t first)
{
    for (size_t i = first; i < context->input_count; i++) {
        weft_dtype dtype = context->inputs[i].dtype;
        if (dtype == WEFT_I64 || dtype == WEFT_I32) continue;
        return weft_infer_error(context, WEFT_DTYPE_MISMATCH, "the indices have dtype %s, not i64 or i32",
                                weft_dtype_name(dtype));
    }
    return NULL;
}

/* One tensor for each axis, all of one shape, whose extents are in `extents` then. */
static weft_status *check_indices(const weft_infer_context *context, size_t first, weft_extent *extents)
{
    weft_ints axes = context->attrs[0].ints, batch = context->attrs[1].ints;
    size_t given = context->input_count < first ? 0 : context->input_count - first;
    if (axes.count == 0)
        return weft_infer_error(context, WEFT_INVALID_ARGUMENT, "%s", "there are no axes, but at least one is needed");
    if (given != axes.count) {
        return weft_infer_error(context, WEFT_INVALID_ARGUMENT, "the index tensors have length %zu but axes has %zu",
                                given, axes.count);
    }
    WEFT_TRY(check_index_types(context, first));
    weft_shape shape = context->inputs[first].shape;
    if (shape.rank < batch.count) {
        return weft_infer_error(context, WEFT_SHAPE_MISMATCH, "the indices have rank %zu, below that of %zu batch axes",
                                shape.rank, batch.count);
    }
    memcpy(extents, shape.extents, shape.rank * sizeof *extents);
    for (size_t i = first + 1; i < context->input_count; i++) {
        if (context->inputs[i].shape.rank != shape.rank) {
            return weft_infer_error(context, WEFT_SHAPE_MISMATCH,
                                    "the indices of axis %" PRId64 " have rank %zu but those of axis %" PRId64
                                    " have %zu",
                                    axes.items[i - first], context->inputs[i].shape.rank, axes.items[0], shape.rank);
        }
        for (size_t k = 0; k < shape.rank; k++) {
            weft_extent extent = context->inputs[i].shape.extents[k];
            WEFT_TRY(weft_infer_require(context, WEFT_GUARD_EQUAL, extents[k], extent,
                                        "axis %zu of the indices has extent %s for axis %" PRId64
                                        " but %s for axis %" PRId64,
                                        k, weft_extent_describe(extents[k]).text, axes.items[0],
                                        weft_extent_describe(extent).text, axes.items[i - first]));
        }
    }
    return NULL;
}

static weft_status *check_axes(const weft_infer_context *context, size_t rank)
{
    weft_ints axes = context->attrs[0].ints, batch = context->attrs[1].ints;
    WEFT_TRY(weft_infer_axes(context, "axes", axes, rank, true));
    WEFT_TRY(weft_infer_axes(context, "batch", batch, rank, true));
    for (size_t i = 0; i < axes.count; i++) {
        for (size_t k = 0; k < batch.count; k++) {
            if (axes.items[i] != batch.items[k]) continue;
            return weft_infer_error(context, WEFT_INVALID_ARGUMENT, "axis %" PRId64 " is named in axes and in batch",
                                    axes.items[i]);
        }
    }
    return NULL;
}

/* The shape of what is gathered, or of updates. */
static weft_status *indexed_shape(const weft_infer_context *context, size_t first, weft_shape *out_shape)
{
    weft_shape x = context->inputs[0].shape;
    weft_extent indices[WEFT_MAX_RANK];
    weft_indexed_axis axes[2 * WEFT_MAX_RANK];
    WEFT_TRY(check_axes(context, x.rank));
    WEFT_TRY(check_indices(context, first, indices));
    size_t rank = weft_indexing_fill(x.rank, context->attrs[0].ints, context->attrs[1].ints,
                                     context->inputs[first].shape.rank, axes);
    weft_extent *extents;
    WEFT_TRY(weft_infer_extents(context, rank, &extents));
    for (size_t i = 0; i < rank; i++) {
        extents[i] = axes[i].data >= 0 ? x.extents[axes[i].data] : indices[axes[i].index];
        if (axes[i].data < 0 || axes[i].index < 0) continue;
        WEFT_TRY(weft_infer_require(context, WEFT_GUARD_EQUAL, extents[i], indices[axes[i].index],
                                    "batch axis %" PRId32 " has extent %s but axis %" PRId32 " of the indices has %s",
                                    axes[i].data, weft_extent_describe(extents[i]).text, axes[i].index,
                                    weft_extent_describe(indices[axes[i].index]).text));
    }
    *out_shape = (weft_shape){rank, extents};
    return NULL;
}

weft_status *weft_infer_gather(const weft_infer_context *context, weft_type *out_types)
{
    weft_shape shape;
    WEFT_TRY(indexed_shape(context, 1, &shape));
    out_types[0] = (weft_type){context->inputs[0].dtype, shape};
    return NULL;
}

/* Operand 1 has the dtype of x. */
static weft_status *check_update(const weft_infer_context *context)
{
    if (context->input_count < 2) {
        return weft_infer_error(context, WEFT_INVALID_ARGUMENT, "%s", "there are no updates");
    }
    weft_dtype x = context->inputs[0].dtype, update = context->inputs[1].dtype;
    if (x == update) return NULL;
    return weft_infer_error(context, WEFT_DTYPE_MISMATCH, "the updates have dtype %s but x has %s; cast explicitly",
                            weft_dtype_name(update), weft_dtype_name(x));
}

static weft_status *check_mode(const weft_infer_context *context)
{
    const char *name = context->attrs[2].data;
    weft_dtype dtype = context->inputs[0].dtype;
    weft_op_id op;
    if (!weft_scatter_mode_find(name, &op)) {
        return weft_infer_error(context, WEFT_INVALID_ARGUMENT, "mode \"%s\" is not one of set, add, mul, max, min",
                                name);
    }
    if (weft_scatter_op_takes(op, dtype)) return NULL;
    return weft_infer_error(context, WEFT_DTYPE_MISMATCH, "mode %s does not take dtype %s", name,
                            weft_dtype_name(dtype));
}

weft_status *weft_infer_scatter(const weft_infer_context *context, weft_type *out_types)
{
    weft_shape wanted, updates;
    WEFT_TRY(check_update(context));
    WEFT_TRY(check_mode(context));
    WEFT_TRY(indexed_shape(context, 2, &wanted));
    updates = context->inputs[1].shape;
    if (updates.rank != wanted.rank) {
        return weft_infer_error(context, WEFT_SHAPE_MISMATCH, "the updates have rank %zu, not %zu", updates.rank,
                                wanted.rank);
    }
    for (size_t i = 0; i < wanted.rank; i++) {
        WEFT_TRY(weft_infer_require(context, WEFT_GUARD_EQUAL, updates.extents[i], wanted.extents[i],
                                    "axis %zu of the updates has extent %s, not %s", i,
                                    weft_extent_describe(updates.extents[i]).text,
                                    weft_extent_describe(wanted.extents[i]).text));
    }
    out_types[0] = context->inputs[0];
    return NULL;
}

/* ---- dynamic slices ---- */

static weft_status *check_starts(const weft_infer_context *context, size_t first)
{
    weft_ints axes = context->attrs[0].ints;
    size_t given = context->input_count < first ? 0 : context->input_count - first;
    WEFT_TRY(weft_infer_axes(context, "axes", axes, context->inputs[0].shape.rank, true));
    if (given != axes.count) {
        return weft_infer_error(context, WEFT_INVALID_ARGUMENT, "the starts have length %zu but axes has %zu", given,
                                axes.count);
    }
    for (size_t i = first; i < context->input_count; i++) {
        if (context->inputs[i].dtype != WEFT_I64 || context->inputs[i].shape.rank != 0) {
            return weft_infer_error(context,
                                    context->inputs[i].dtype == WEFT_I64 ? WEFT_SHAPE_MISMATCH : WEFT_DTYPE_MISMATCH,
                                    "the start of axis %" PRId64 " is %s, not i64[]", axes.items[i - first],
                                    weft_type_describe(&context->inputs[i]).text);
        }
    }
    return NULL;
}

/* 0 <= size <= extent. */
static weft_status *check_size(const weft_infer_context *context, int64_t axis, weft_extent size)
{
    weft_extent extent = context->inputs[0].shape.extents[axis];
    WEFT_TRY(weft_infer_require(context, WEFT_GUARD_AT_MOST, weft_extent_of(0), size,
                                "axis %" PRId64 " has size %s, below 0", axis, weft_extent_describe(size).text));
    return weft_infer_require(context, WEFT_GUARD_AT_MOST, size, extent,
                              "axis %" PRId64 " has size %s but its extent is %s", axis,
                              weft_extent_describe(size).text, weft_extent_describe(extent).text);
}

weft_status *weft_infer_dynamic_slice(const weft_infer_context *context, weft_type *out_types)
{
    weft_shape shape = context->inputs[0].shape, sizes = context->attrs[1].extents;
    weft_ints axes = context->attrs[0].ints;
    WEFT_TRY(check_starts(context, 1));
    if (sizes.rank != axes.count) {
        return weft_infer_error(context, WEFT_INVALID_ARGUMENT, "the sizes have length %zu but axes has %zu",
                                sizes.rank, axes.count);
    }
    weft_extent *extents;
    WEFT_TRY(weft_infer_extents(context, shape.rank, &extents));
    memcpy(extents, shape.extents, shape.rank * sizeof *extents);
    for (size_t i = 0; i < axes.count; i++) {
        WEFT_TRY(check_size(context, axes.items[i], sizes.extents[i]));
        extents[axes.items[i]] = sizes.extents[i];
    }
    out_types[0] = (weft_type){context->inputs[0].dtype, {shape.rank, extents}};
    return NULL;
}

weft_status *weft_infer_dynamic_update_slice(const weft_infer_context *context, weft_type *out_types)
{
    weft_ints axes = context->attrs[0].ints;
    WEFT_TRY(check_update(context));
    WEFT_TRY(check_starts(context, 2));
    weft_shape shape = context->inputs[0].shape, update = context->inputs[1].shape;
    if (update.rank != shape.rank) {
        return weft_infer_error(context, WEFT_SHAPE_MISMATCH, "the update has rank %zu but x has %zu", update.rank,
                                shape.rank);
    }
    for (size_t i = 0, n = 0; i < shape.rank; i++) {
        bool starts = n < axes.count && (size_t)axes.items[n] == i;
        n += starts;
        if (starts) {
            WEFT_TRY(check_size(context, (int64_t)i, update.extents[i]));
            continue;
        }
        WEFT_TRY(weft_infer_require(context, WEFT_GUARD_EQUAL, update.extents[i], shape.extents[i],
                                    "axis %zu of the update has extent %s but x has %s", i,
                                    weft_extent_describe(update.extents[i]).text,
                                    weft_extent_describe(shape.extents[i]).text));
    }
    out_types[0] = context->inputs[0];
    return NULL;
}
