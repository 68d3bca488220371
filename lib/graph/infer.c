/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of the type rules, and the rules of leaves and elementwise ops. */
#include "lib/graph/infer.h"
#include <inttypes.h>
#include "lib/text/text.h"

static weft_status *error_named(const weft_infer_context *context, weft_status *plain)
{
    if (weft_status_code(plain) == WEFT_OUT_OF_MEMORY) return plain;
    weft_status *named = weft_status_create(context->graph->allocator, weft_status_code(plain), context->op->name,
                                            "%s: %s", context->op->name, weft_status_message(plain));
    weft_status_destroy(plain);
    return named;
}

weft_status *weft_infer_error(const weft_infer_context *context, weft_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    weft_status *plain = weft_status_create_v(context->graph->allocator, code, NULL, format, arguments);
    va_end(arguments);
    return error_named(context, plain);
}

weft_status *weft_infer_require(const weft_infer_context *context, weft_guard_kind kind, weft_extent a, weft_extent b,
                                const char *format, ...)
{
    if (!weft_extent_is_valid(a) || !weft_extent_is_valid(b)) {
        return weft_infer_error(context, WEFT_OUT_OF_RANGE, "an extent is invalid or does not fit an int64");
    }
    if (weft_guard_is_proven(context->graph, kind, a, b)) return NULL;
    weft_code code = kind == WEFT_GUARD_EQUAL ? WEFT_SHAPE_MISMATCH : WEFT_OUT_OF_RANGE;
    va_list arguments;
    va_start(arguments, format);
    weft_status *plain = weft_status_create_v(context->graph->allocator, code, NULL, format, arguments);
    va_end(arguments);
    return weft_guard_settle(context->graph, kind, a, b, error_named(context, plain));
}

weft_status *weft_infer_extents(const weft_infer_context *context, size_t rank, weft_extent **out_extents)
{
    if (rank > WEFT_MAX_RANK) {
        return weft_infer_error(context, WEFT_INVALID_ARGUMENT, "the result would have rank %zu, over %d", rank,
                                WEFT_MAX_RANK);
    }
    *out_extents = context->allocate(context, rank * sizeof **out_extents);
    return *out_extents == NULL ? weft_status_out_of_memory() : NULL;
}

weft_status *weft_infer_same_dtypes(const weft_infer_context *context, size_t first)
{
    weft_dtype dtype = context->inputs[first].dtype;
    for (size_t i = first + 1; i < context->input_count; i++) {
        if (context->inputs[i].dtype == dtype) continue;
        return weft_infer_error(context, WEFT_DTYPE_MISMATCH,
                                "operand %zu has dtype %s but operand %zu has %s; cast explicitly", i,
                                weft_dtype_name(context->inputs[i].dtype), first, weft_dtype_name(dtype));
    }
    return NULL;
}

weft_status *weft_infer_axis(const weft_infer_context *context, const char *name, int64_t axis, size_t rank)
{
    if (axis >= 0 && (size_t)axis < rank) return NULL;
    if (axis < 0 && axis + (int64_t)rank >= 0) {
        return weft_infer_error(context, WEFT_OUT_OF_RANGE,
                                "%s %" PRId64 " is negative, but axes of an op count from 0", name, axis);
    }
    return weft_infer_error(context, WEFT_OUT_OF_RANGE, "%s %" PRId64 " is out of range for rank %zu", name, axis,
                            rank);
}

weft_status *weft_infer_axes(const weft_infer_context *context, const char *name, weft_ints axes, size_t rank,
                             bool increasing)
{
    bool seen[WEFT_MAX_RANK] = {false};
    for (size_t i = 0; i < axes.count; i++) {
        int64_t axis = axes.items[i];
        WEFT_TRY(weft_infer_axis(context, "axis", axis, rank));
        if (seen[axis]) {
            return weft_infer_error(context, WEFT_INVALID_ARGUMENT, "%s names axis %" PRId64 " twice", name, axis);
        }
        if (increasing && i > 0 && axis < axes.items[i - 1]) {
            return weft_infer_error(context, WEFT_INVALID_ARGUMENT, "%s must increase but %" PRId64 " follows %" PRId64,
                                    name, axis, axes.items[i - 1]);
        }
        seen[axis] = true;
    }
    return NULL;
}

/* ---- leaves ---- */

/* A parameter of a region may have the name of any value in a text. */
weft_status *weft_infer_input(const weft_infer_context *context, weft_type *out_types)
{
    const char *name = context->attrs[0].data;
    if (context->graph->parent == NULL ? !weft_text_is_identifier(name) : !weft_text_is_word(name)) {
        return weft_infer_error(context, WEFT_INVALID_ARGUMENT,
                                "name \"%s\" must be a letter or _ followed by letters, digits, _ or .", name);
    }
    out_types[0] = (weft_type){(weft_dtype)context->attrs[1].integer, context->attrs[2].extents};
    return NULL;
}

weft_status *weft_infer_constant(const weft_infer_context *context, weft_type *out_types)
{
    weft_dtype dtype = (weft_dtype)context->attrs[0].integer;
    weft_ints shape = context->attrs[1].ints;
    weft_extent *extents;
    WEFT_TRY(weft_infer_extents(context, shape.count, &extents));
    size_t bytes = weft_dtype_size(dtype);
    for (size_t i = 0; i < shape.count; i++) {
        extents[i] = weft_extent_of(shape.items[i]);
        if (shape.items[i] < 0)
            return weft_infer_error(context, WEFT_OUT_OF_RANGE, "axis %zu cannot have extent %" PRId64, i,
                                    shape.items[i]);
        if (__builtin_mul_overflow(bytes, (size_t)shape.items[i], &bytes))
            return weft_infer_error(context, WEFT_OUT_OF_RANGE, "the size of the data overflows 64 bits at axis %zu",
                                    i);
    }
    size_t given = context->attrs[2].size, size = weft_dtype_size(dtype), count = bytes / size;
    if (given % size != 0)
        return weft_infer_error(context, WEFT_INVALID_ARGUMENT, "%zu bytes of data are not whole elements", given);
    if (given != bytes)
        return weft_infer_error(context, WEFT_INVALID_ARGUMENT, "the shape is of %zu element%s, but the data has %zu",
                                count, count == 1 ? "" : "s", given / size);
    out_types[0] = (weft_type){dtype, {shape.count, extents}};
    return NULL;
}

weft_status *weft_infer_iota(const weft_infer_context *context, weft_type *out_types)
{
    weft_dtype dtype = (weft_dtype)context->attrs[0].integer;
    weft_shape shape = context->attrs[1].extents;
    if ((context->op->dtypes >> dtype & 1) == 0) {
        return weft_infer_error(context, WEFT_DTYPE_MISMATCH, "dtype %s is not numeric", weft_dtype_name(dtype));
    }
    WEFT_TRY(weft_infer_axis(context, "axis", context->attrs[2].integer, shape.rank));
    out_types[0] = (weft_type){dtype, shape};
    return NULL;
}

weft_status *weft_infer_extent(const weft_infer_context *context, weft_type *out_types)
{
    out_types[0] = (weft_type){WEFT_I64, {0, NULL}};
    return weft_infer_require(context, WEFT_GUARD_AT_MOST, context->attrs[0].extents.extents[0],
                              weft_extent_of(INT64_MAX), "the extent must fit an int64");
}

/* ---- elementwise ---- */

/* What operand `other` adds to `extents`, which so far are those of the operands before it. */
static weft_status *meet(const weft_infer_context *context, size_t first, size_t other, weft_extent *extents)
{
    weft_shape shape = context->inputs[other].shape;
    for (size_t i = 0; i < shape.rank; i++) {
        weft_extent extent = shape.extents[i];
        if (weft_extent_equal(extents[i], extent)) continue;
        WEFT_TRY(weft_infer_require(context, WEFT_GUARD_EQUAL, extents[i], extent,
                                    "axis %zu of operand %zu has extent %s but axis %zu of operand %zu has %s", i,
                                    first, weft_extent_describe(extents[i]).text, i, other,
                                    weft_extent_describe(extent).text));
        if (weft_extent_is_static(extent, NULL)) extents[i] = extent;
    }
    return NULL;
}

/* The one shape of the operands; a static extent is kept where it meets a symbolic one. */
static weft_status *same_shapes(const weft_infer_context *context, weft_shape *out_shape)
{
    weft_shape shape = context->inputs[0].shape;
    weft_extent *extents;
    WEFT_TRY(weft_infer_extents(context, shape.rank, &extents));
    for (size_t i = 0; i < shape.rank; i++) extents[i] = shape.extents[i];
    for (size_t i = 1; i < context->input_count; i++) {
        if (context->inputs[i].shape.rank != shape.rank) {
            return weft_infer_error(context, WEFT_SHAPE_MISMATCH, "operand %zu has rank %zu but operand 0 has %zu", i,
                                    context->inputs[i].shape.rank, shape.rank);
        }
        WEFT_TRY(meet(context, 0, i, extents));
    }
    *out_shape = (weft_shape){shape.rank, extents};
    return NULL;
}

weft_status *weft_infer_same(const weft_infer_context *context, weft_type *out_types)
{
    WEFT_TRY(weft_infer_same_dtypes(context, 0));
    out_types[0].dtype = context->inputs[0].dtype;
    return same_shapes(context, &out_types[0].shape);
}

weft_status *weft_infer_part(const weft_infer_context *context, weft_type *out_types)
{
    out_types[0] = (weft_type){weft_dtype_component(context->inputs[0].dtype), context->inputs[0].shape};
    return NULL;
}

weft_status *weft_infer_complex(const weft_infer_context *context, weft_type *out_types)
{
    WEFT_TRY(weft_infer_same_dtypes(context, 0));
    out_types[0].dtype = context->inputs[0].dtype == WEFT_F32 ? WEFT_C64 : WEFT_C128;
    return same_shapes(context, &out_types[0].shape);
}

weft_status *weft_infer_compare(const weft_infer_context *context, weft_type *out_types)
{
    WEFT_TRY(weft_infer_same_dtypes(context, 0));
    out_types[0].dtype = WEFT_BOOL;
    return same_shapes(context, &out_types[0].shape);
}

weft_status *weft_infer_select(const weft_infer_context *context, weft_type *out_types)
{
    if (context->inputs[0].dtype != WEFT_BOOL) {
        return weft_infer_error(context, WEFT_DTYPE_MISMATCH, "the condition has dtype %s, not bool",
                                weft_dtype_name(context->inputs[0].dtype));
    }
    WEFT_TRY(weft_infer_same_dtypes(context, 1));
    out_types[0].dtype = context->inputs[1].dtype;
    return same_shapes(context, &out_types[0].shape);
}

weft_status *weft_infer_cast(const weft_infer_context *context, weft_type *out_types)
{
    out_types[0] = (weft_type){(weft_dtype)context->attrs[0].integer, context->inputs[0].shape};
    return NULL;
}

weft_status *weft_infer_bitcast(const weft_infer_context *context, weft_type *out_types)
{
    weft_dtype from = context->inputs[0].dtype, to = (weft_dtype)context->attrs[0].integer;
    if ((context->op->dtypes >> to & 1) == 0) {
        return weft_infer_error(context, WEFT_DTYPE_MISMATCH, "bits are not taken as %s", weft_dtype_name(to));
    }
    if (weft_dtype_size(from) != weft_dtype_size(to)) {
        return weft_infer_error(context, WEFT_DTYPE_MISMATCH, "%s has size %zu but %s has %zu", weft_dtype_name(from),
                                weft_dtype_size(from), weft_dtype_name(to), weft_dtype_size(to));
    }
    out_types[0] = (weft_type){to, context->inputs[0].shape};
    return NULL;
}
