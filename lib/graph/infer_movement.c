/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/graph/infer.h"
#include <inttypes.h>
#include <string.h>

/* ---- reshape ---- */

typedef struct axes_left {
    size_t count;
    size_t axes[WEFT_MAX_RANK];
} axes_left;

/* The axes of each shape whose extents are not in the other one too. */
static void cancel(weft_shape from, weft_shape to, axes_left *out_from, axes_left *out_to)
{
    out_from->count = 0;
    out_to->count = to.rank;
    for (size_t i = 0; i < to.rank; i++) out_to->axes[i] = i;
    for (size_t i = 0; i < from.rank; i++) {
        size_t j = 0;
        while (j < out_to->count && !weft_extent_equal(from.extents[i], to.extents[out_to->axes[j]])) j++;
        if (j < out_to->count) out_to->axes[j] = out_to->axes[--out_to->count];
        else out_from->axes[out_from->count++] = i;
    }
}

static weft_extent count_of(weft_shape shape, const axes_left *left)
{
    weft_extent count = weft_extent_of(1);
    for (size_t i = 0; i < left->count; i++) {
        int64_t value;
        if (weft_extent_is_static(shape.extents[left->axes[i]], &value) && value == 0) return weft_extent_of(0);
    }
    for (size_t i = 0; i < left->count; i++) count = weft_extent_mul(count, shape.extents[left->axes[i]]);
    return count;
}

static weft_status *require_ones(const weft_infer_context *context, const char *whose, weft_shape shape,
                                 const axes_left *left)
{
    for (size_t i = 0; i < left->count; i++) {
        weft_extent extent = shape.extents[left->axes[i]];
        WEFT_TRY(weft_infer_require(context, WEFT_GUARD_EQUAL, extent, weft_extent_of(1),
                                    "axis %zu of the %s has extent %s, not 1", left->axes[i], whose,
                                    weft_extent_describe(extent).text));
    }
    return NULL;
}

static bool has_static_zero(weft_shape shape)
{
    int64_t value;
    for (size_t i = 0; i < shape.rank; i++) {
        if (weft_extent_is_static(shape.extents[i], &value) && value == 0) return true;
    }
    return false;
}

static bool is_static_one(weft_extent extent)
{
    int64_t value;
    return weft_extent_is_static(extent, &value) && value == 1;
}

/*
 * Counts are compared without the extents that both shapes have: a*n elements as b*n requires a == b. That is more than
 * needed where n is 0, and gives guards on single axes.
 */
weft_status *weft_infer_reshape(const weft_infer_context *context, weft_type *out_types)
{
    weft_shape from = context->inputs[0].shape, to = context->attrs[0].extents;
    axes_left from_left, to_left;
    out_types[0] = (weft_type){context->inputs[0].dtype, to};
    if (to.rank > WEFT_MAX_RANK) {
        return weft_infer_error(context, WEFT_INVALID_ARGUMENT, "the result would have rank %zu, over %d", to.rank,
                                WEFT_MAX_RANK);
    }
    for (size_t i = 0; i < to.rank; i++) {
        int64_t value;
        if (!weft_extent_is_static(to.extents[i], &value) || value >= 0) continue;
        return weft_infer_error(context, WEFT_OUT_OF_RANGE, "axis %zu of the result has extent %" PRId64 ", below 0", i,
                                value);
    }
    if (has_static_zero(from) && has_static_zero(to)) return NULL;
    cancel(from, to, &from_left, &to_left);
    weft_extent from_count = count_of(from, &from_left), to_count = count_of(to, &to_left);
    if (weft_extent_equal(from_count, to_count)) return NULL;
    bool decided = weft_extent_is_static(from_count, NULL) && weft_extent_is_static(to_count, NULL);
    if (!decided && is_static_one(to_count)) return require_ones(context, "operand", from, &from_left);
    if (!decided && is_static_one(from_count)) return require_ones(context, "result", to, &to_left);
    return weft_infer_require(context, WEFT_GUARD_EQUAL, from_count, to_count,
                              "%s and %s must have equally many elements", weft_type_describe(context->inputs).text,
                              weft_type_describe(out_types).text);
}

/* ---- permute, broadcast, flip ---- */

weft_status *weft_infer_permute(const weft_infer_context *context, weft_type *out_types)
{
    weft_shape shape = context->inputs[0].shape;
    weft_ints axes = context->attrs[0].ints;
    if (axes.count != shape.rank) {
        return weft_infer_error(context, WEFT_INVALID_ARGUMENT, "axes has length %zu but the rank is %zu", axes.count,
                                shape.rank);
    }
    WEFT_TRY(weft_infer_axes(context, "axes", axes, shape.rank, false));
    weft_extent *extents;
    WEFT_TRY(weft_infer_extents(context, shape.rank, &extents));
    for (size_t i = 0; i < shape.rank; i++) extents[i] = shape.extents[axes.items[i]];
    out_types[0] = (weft_type){context->inputs[0].dtype, {shape.rank, extents}};
    return NULL;
}

weft_status *weft_infer_broadcast(const weft_infer_context *context, weft_type *out_types)
{
    weft_shape from = context->inputs[0].shape, to = context->attrs[0].extents;
    weft_ints axes = context->attrs[1].ints;
    if (axes.count != from.rank) {
        return weft_infer_error(context, WEFT_INVALID_ARGUMENT, "axes has length %zu but the rank is %zu", axes.count,
                                from.rank);
    }
    if (to.rank > WEFT_MAX_RANK) {
        return weft_infer_error(context, WEFT_INVALID_ARGUMENT, "the result would have rank %zu, over %d", to.rank,
                                WEFT_MAX_RANK);
    }
    WEFT_TRY(weft_infer_axes(context, "axes", axes, to.rank, true));
    for (size_t i = 0; i < from.rank; i++) {
        int64_t value;
        if (weft_extent_is_static(from.extents[i], &value) && value == 1) continue;
        weft_extent wanted = to.extents[axes.items[i]];
        if (weft_extent_equal(from.extents[i], wanted)) continue;
        WEFT_TRY(weft_infer_require(context, WEFT_GUARD_EQUAL, from.extents[i], wanted,
                                    "axis %zu has extent %s but axis %" PRId64 " of the result has %s", i,
                                    weft_extent_describe(from.extents[i]).text, axes.items[i],
                                    weft_extent_describe(wanted).text));
    }
    out_types[0] = (weft_type){context->inputs[0].dtype, to};
    return NULL;
}

weft_status *weft_infer_barrier(const weft_infer_context *context, weft_type *out_types)
{
    out_types[0] = context->inputs[0];
    return NULL;
}

weft_status *weft_infer_flip(const weft_infer_context *context, weft_type *out_types)
{
    out_types[0] = context->inputs[0];
    return weft_infer_axes(context, "axes", context->attrs[0].ints, context->inputs[0].shape.rank, true);
}

/* ---- slice, window, pad ---- */

/* From the first element to the last: (size - 1) * step. Of no elements the last lies a step before the first, or just
 * one element where the step is so long that it might lie at no int64. */
static weft_extent slice_way(weft_extent size, int64_t step)
{
    weft_extent one = weft_extent_of(1), by = weft_extent_of(step);
    if (step >= -(INT64_MAX / 2) && step <= INT64_MAX / 2) return weft_extent_mul(weft_extent_sub(size, one), by);
    weft_extent some = weft_extent_min(size, one), before = step > 0 ? weft_extent_of(-1) : one;
    return weft_extent_add(weft_extent_mul(weft_extent_sub(size, some), by),
                           weft_extent_mul(weft_extent_sub(one, some), before));
}

/* Every element start + i * step with 0 <= i < size lies in [0, extent). */
static weft_status *check_slice(const weft_infer_context *context, size_t axis, int64_t step)
{
    weft_extent extent = context->inputs[0].shape.extents[axis], one = weft_extent_of(1);
    weft_extent start = context->attrs[0].extents.extents[axis], size = context->attrs[1].extents.extents[axis];
    if (step == 0) return weft_infer_error(context, WEFT_INVALID_ARGUMENT, "the step of axis %zu is 0", axis);
    if (step == INT64_MIN)
        return weft_infer_error(context, WEFT_OUT_OF_RANGE, "the step of axis %zu is %" PRId64 ", below %" PRId64, axis,
                                step, -INT64_MAX);
    WEFT_TRY(weft_infer_require(context, WEFT_GUARD_AT_MOST, weft_extent_of(0), size, "axis %zu has size %s, below 0",
                                axis, weft_extent_describe(size).text));
    weft_extent end = weft_extent_add(start, slice_way(size, step));
    weft_extent low = step > 0 ? start : end, high = step > 0 ? end : start;
    WEFT_TRY(weft_infer_require(context, WEFT_GUARD_AT_MOST, weft_extent_of(0), low,
                                "axis %zu %s index %s, before the first", axis,
                                step > 0 ? "starts at" : "reads down to", weft_extent_describe(low).text));
    return weft_infer_require(context, WEFT_GUARD_AT_MOST, weft_extent_add(high, one), extent,
                              "axis %zu %s index %s but its extent is %s", axis, step > 0 ? "reads up to" : "starts at",
                              weft_extent_describe(high).text, weft_extent_describe(extent).text);
}

weft_status *weft_infer_slice(const weft_infer_context *context, weft_type *out_types)
{
    size_t rank = context->inputs[0].shape.rank;
    weft_shape starts = context->attrs[0].extents, sizes = context->attrs[1].extents;
    weft_ints steps = context->attrs[2].ints;
    if (starts.rank != rank || sizes.rank != rank || steps.count != rank) {
        return weft_infer_error(context, WEFT_INVALID_ARGUMENT,
                                "starts has length %zu, sizes %zu and steps %zu, but the rank is %zu", starts.rank,
                                sizes.rank, steps.count, rank);
    }
    for (size_t i = 0; i < rank; i++) WEFT_TRY(check_slice(context, i, steps.items[i]));
    out_types[0] = (weft_type){context->inputs[0].dtype, sizes};
    return NULL;
}

static weft_status *check_window(const weft_infer_context *context)
{
    weft_extent size = context->attrs[1].extents.extents[0];
    WEFT_TRY(weft_infer_axis(context, "axis", context->attrs[0].integer, context->inputs[0].shape.rank));
    for (size_t i = 2; i < 4; i++) {
        if (context->attrs[i].integer >= 1) continue;
        return weft_infer_error(context, WEFT_INVALID_ARGUMENT, "the %s is %" PRId64 ", below 1",
                                i == 2 ? "stride" : "dilation", context->attrs[i].integer);
    }
    return weft_infer_require(context, WEFT_GUARD_AT_MOST, weft_extent_of(1), size, "the size is %s, below 1",
                              weft_extent_describe(size).text);
}

/* Windows that begin at 0, stride, 2 * stride, ... and end inside; none where one is longer than the axis. */
weft_status *weft_infer_window(const weft_infer_context *context, weft_type *out_types)
{
    weft_shape shape = context->inputs[0].shape;
    weft_extent size = context->attrs[1].extents.extents[0];
    WEFT_TRY(check_window(context));
    size_t axis = (size_t)context->attrs[0].integer;
    weft_extent *extents;
    WEFT_TRY(weft_infer_extents(context, shape.rank + 1, &extents));
    memcpy(extents, shape.extents, shape.rank * sizeof *extents);
    extents[axis] =
        weft_extent_windows(shape.extents[axis], size, context->attrs[2].integer, context->attrs[3].integer);
    extents[shape.rank] = size;
    out_types[0] = (weft_type){context->inputs[0].dtype, {shape.rank + 1, extents}};
    return NULL;
}

static weft_status *check_padding(const weft_infer_context *context, const char *side, size_t axis, weft_extent count)
{
    return weft_infer_require(context, WEFT_GUARD_AT_MOST, weft_extent_of(0), count, "%s of axis %zu is %s, below 0",
                              side, axis, weft_extent_describe(count).text);
}

weft_status *weft_infer_pad(const weft_infer_context *context, weft_type *out_types)
{
    weft_shape shape = context->inputs[0].shape, low = context->attrs[0].extents, high = context->attrs[1].extents;
    if (low.rank != shape.rank || high.rank != shape.rank) {
        return weft_infer_error(context, WEFT_INVALID_ARGUMENT, "low has length %zu and high %zu, but the rank is %zu",
                                low.rank, high.rank, shape.rank);
    }
    WEFT_TRY(weft_infer_same_dtypes(context, 0));
    if (context->inputs[1].shape.rank != 0) {
        return weft_infer_error(context, WEFT_SHAPE_MISMATCH, "the value has rank %zu, not 0",
                                context->inputs[1].shape.rank);
    }
    weft_extent *extents;
    WEFT_TRY(weft_infer_extents(context, shape.rank, &extents));
    for (size_t i = 0; i < shape.rank; i++) {
        WEFT_TRY(check_padding(context, "low", i, low.extents[i]));
        WEFT_TRY(check_padding(context, "high", i, high.extents[i]));
        extents[i] = weft_extent_add(weft_extent_add(low.extents[i], shape.extents[i]), high.extents[i]);
    }
    out_types[0] = (weft_type){context->inputs[0].dtype, {shape.rank, extents}};
    return NULL;
}

weft_status *weft_infer_shear(const weft_infer_context *context, weft_type *out_types)
{
    weft_shape shape = context->inputs[0].shape;
    int64_t axis = context->attrs[0].integer, along = context->attrs[1].integer;
    WEFT_TRY(weft_infer_axis(context, "axis", axis, shape.rank));
    WEFT_TRY(weft_infer_axis(context, "along", along, shape.rank));
    if (axis == along)
        return weft_infer_error(context, WEFT_INVALID_ARGUMENT, "axis and along are both %" PRId64, axis);
    weft_extent *extents;
    WEFT_TRY(weft_infer_extents(context, shape.rank, &extents));
    memcpy(extents, shape.extents, shape.rank * sizeof *extents);
    extents[axis] = context->attrs[3].extents.extents[0];
    out_types[0] = (weft_type){context->inputs[0].dtype, {shape.rank, extents}};
    return NULL;
}

/* ---- concat ---- */

static weft_status *join(const weft_infer_context *context, size_t operand, int64_t axis, weft_extent *extents)
{
    weft_shape first = context->inputs[0].shape, shape = context->inputs[operand].shape;
    if (shape.rank != first.rank) {
        return weft_infer_error(context, WEFT_SHAPE_MISMATCH, "operand %zu has rank %zu but operand 0 has %zu", operand,
                                shape.rank, first.rank);
    }
    for (size_t i = 0; i < first.rank; i++) {
        if (i == (size_t)axis) {
            extents[i] = weft_extent_add(extents[i], shape.extents[i]);
            continue;
        }
        WEFT_TRY(weft_infer_require(context, WEFT_GUARD_EQUAL, first.extents[i], shape.extents[i],
                                    "axis %zu of operand 0 has extent %s but axis %zu of operand %zu has %s", i,
                                    weft_extent_describe(first.extents[i]).text, i, operand,
                                    weft_extent_describe(shape.extents[i]).text));
    }
    return NULL;
}

weft_status *weft_infer_concat(const weft_infer_context *context, weft_type *out_types)
{
    weft_shape first = context->inputs[0].shape;
    int64_t axis = context->attrs[0].integer;
    WEFT_TRY(weft_infer_same_dtypes(context, 0));
    WEFT_TRY(weft_infer_axis(context, "axis", axis, first.rank));
    weft_extent *extents;
    WEFT_TRY(weft_infer_extents(context, first.rank, &extents));
    memcpy(extents, first.extents, first.rank * sizeof *extents);
    for (size_t i = 1; i < context->input_count; i++) WEFT_TRY(join(context, i, axis, extents));
    out_types[0] = (weft_type){context->inputs[0].dtype, {first.rank, extents}};
    return NULL;
}

/* ---- diagonals ---- */

weft_status *weft_infer_extract_diagonal(const weft_infer_context *context, weft_type *out_types)
{
    weft_shape shape = context->inputs[0].shape;
    int64_t a = context->attrs[0].integer, b = context->attrs[1].integer;
    WEFT_TRY(weft_infer_axis(context, "axis_a", a, shape.rank));
    WEFT_TRY(weft_infer_axis(context, "axis_b", b, shape.rank));
    if (a == b) return weft_infer_error(context, WEFT_INVALID_ARGUMENT, "axis_a and axis_b are both %" PRId64, a);
    WEFT_TRY(weft_infer_require(context, WEFT_GUARD_EQUAL, shape.extents[a], shape.extents[b],
                                "axis %" PRId64 " has extent %s but axis %" PRId64 " has %s", a,
                                weft_extent_describe(shape.extents[a]).text, b,
                                weft_extent_describe(shape.extents[b]).text));
    weft_extent *extents;
    WEFT_TRY(weft_infer_extents(context, shape.rank - 1, &extents));
    int64_t gone = a > b ? a : b;
    for (size_t i = 0, n = 0; i < shape.rank; i++) {
        if (i != (size_t)gone) extents[n++] = shape.extents[i];
    }
    out_types[0] = (weft_type){context->inputs[0].dtype, {shape.rank - 1, extents}};
    return NULL;
}

weft_status *weft_infer_embed_diagonal(const weft_infer_context *context, weft_type *out_types)
{
    weft_shape shape = context->inputs[0].shape;
    int64_t axis = context->attrs[0].integer, new_axis = context->attrs[1].integer;
    WEFT_TRY(weft_infer_axis(context, "axis", axis, shape.rank));
    WEFT_TRY(weft_infer_axis(context, "new_axis", new_axis, shape.rank + 1));
    weft_extent *extents;
    WEFT_TRY(weft_infer_extents(context, shape.rank + 1, &extents));
    for (size_t i = 0, n = 0; i <= shape.rank; i++) {
        extents[i] = i == (size_t)new_axis ? shape.extents[axis] : shape.extents[n++];
    }
    out_types[0] = (weft_type){context->inputs[0].dtype, {shape.rank + 1, extents}};
    return NULL;
}
