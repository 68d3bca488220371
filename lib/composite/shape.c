/* SPDX-License-Identifier: Apache-2.0 */
/* Axes renamed, tensors joined, split and repeated. */
#include <weft/shape.h>
#include <inttypes.h>
#include <stdio.h>
#include "lib/composite/composite.h"

/* ---- axes ---- */

weft_tensor weft_transpose(weft_tensor x, int64_t axis_a, int64_t axis_b)
{
    int64_t a, b;
    size_t rank = weft_tensor_rank(x);
    if (!weft_tensor_is_valid(x) || !weft_axis_normalize(x.graph, "transpose", axis_a, rank, &a) ||
        !weft_axis_normalize(x.graph, "transpose", axis_b, rank, &b)) {
        return weft_tensor_failed(x.graph);
    }
    weft_axis_list axes = weft_axis_range(0, rank);
    axes.items[a] = b;
    axes.items[b] = a;
    return weft_permute(x, weft_axis_list_ints(&axes));
}

/* Marks the axes of a list; false with an error when one comes twice. */
static bool mark_once(weft_graph *graph, const char *name, const weft_axis_list *axes, bool *out_marks)
{
    for (size_t i = 0; i < WEFT_MAX_RANK; i++) out_marks[i] = false;
    for (size_t i = 0; i < axes->count; i++) {
        if (out_marks[axes->items[i]]) {
            weft_trace_fail(graph, WEFT_INVALID_ARGUMENT, "moveaxis", "%s names axis %" PRId64 " twice", name,
                            axes->items[i]);
            return false;
        }
        out_marks[axes->items[i]] = true;
    }
    return true;
}

weft_tensor weft_moveaxis(weft_tensor x, weft_ints from, weft_ints to)
{
    weft_axis_list sources, targets, order = {.count = weft_tensor_rank(x)};
    bool moved[WEFT_MAX_RANK], taken[WEFT_MAX_RANK];
    size_t rank = order.count, next = 0;
    if (!weft_composite_begin("moveaxis", 1, 1, &x)) return weft_tensor_failed(x.graph);
    if (from.count != to.count) {
        return weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, "moveaxis", "from has length %zu but to has %zu",
                               from.count, to.count);
    }
    if (!weft_trace_wants_list("moveaxis", "from", x.graph, from.count, from.items) ||
        !weft_trace_wants_list("moveaxis", "to", x.graph, to.count, to.items) ||
        !weft_axes_normalize(x.graph, "moveaxis", from, rank, &sources) ||
        !mark_once(x.graph, "from", &sources, moved) || !weft_axes_normalize(x.graph, "moveaxis", to, rank, &targets) ||
        !mark_once(x.graph, "to", &targets, taken)) {
        return weft_tensor_failed(x.graph);
    }
    for (size_t i = 0; i < rank; i++) {
        if (moved[i]) continue;
        while (taken[next]) next++;
        order.items[next++] = (int64_t)i;
    }
    for (size_t i = 0; i < sources.count; i++) order.items[targets.items[i]] = sources.items[i];
    return weft_permute(x, weft_axis_list_ints(&order));
}

weft_tensor weft_unsqueeze(weft_tensor x, int64_t axis)
{
    weft_extent extents[WEFT_MAX_RANK + 1];
    weft_shape shape = weft_tensor_shape(x);
    int64_t at;
    if (!weft_tensor_is_valid(x) || !weft_axis_normalize(x.graph, "unsqueeze", axis, shape.rank + 1, &at)) {
        return weft_tensor_failed(x.graph);
    }
    for (size_t i = 0, n = 0; i <= shape.rank; i++) {
        extents[i] = i == (size_t)at ? weft_extent_of(1) : shape.extents[n++];
    }
    return weft_reshape(x, (weft_shape){shape.rank + 1, extents});
}

weft_tensor weft_squeeze(weft_tensor x, int64_t axis)
{
    weft_extent extents[WEFT_MAX_RANK];
    weft_shape shape = weft_tensor_shape(x);
    int64_t at;
    if (!weft_tensor_is_valid(x) || !weft_axis_normalize(x.graph, "squeeze", axis, shape.rank, &at)) {
        return weft_tensor_failed(x.graph);
    }
    if (weft_extent_never_equal(x.graph, shape.extents[at], weft_extent_of(1))) {
        return weft_trace_fail(x.graph, WEFT_SHAPE_MISMATCH, "squeeze", "axis %" PRId64 " has extent %s, not 1", at,
                               weft_extent_describe(shape.extents[at]).text);
    }
    for (size_t i = 0, n = 0; i < shape.rank; i++) {
        if (i != (size_t)at) extents[n++] = shape.extents[i];
    }
    return weft_reshape(x, (weft_shape){shape.rank - 1, extents});
}

weft_tensor weft_flatten(weft_tensor x, int64_t first, int64_t last)
{
    int64_t from, to;
    if (!weft_composite_begin("flatten", 1, 1, &x)) return weft_tensor_failed(x.graph);
    if (weft_tensor_rank(x) == 0) x = weft_unsqueeze(x, 0);
    size_t rank = weft_tensor_rank(x);
    if (!weft_tensor_is_valid(x) || !weft_axis_normalize(x.graph, "flatten", first, rank, &from) ||
        !weft_axis_normalize(x.graph, "flatten", last, rank, &to)) {
        return weft_tensor_failed(x.graph);
    }
    if (from > to) {
        return weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, "flatten",
                               "the first axis, %" PRId64 ", comes after the last, %" PRId64, from, to);
    }
    return weft_composite_ravel(x, (size_t)from, (size_t)to + 1);
}

/* ---- joining and splitting ---- */

/* Whether operand `number` has the dtype and the shape of the first. */
static bool fits_stack(weft_tensors operands, size_t number)
{
    char name[32];
    snprintf(name, sizeof name, "operand %zu", number);
    weft_named first = {"operand 0", operands.items[0]}, other = {name, operands.items[number]};
    size_t rank = weft_tensor_rank(first.tensor);
    if (!weft_composite_wants_dtype("stack", other, first)) return false;
    if (weft_tensor_rank(other.tensor) != rank) {
        weft_trace_fail(first.tensor.graph, WEFT_SHAPE_MISMATCH, "stack", "%s has rank %zu but operand 0 has %zu", name,
                        weft_tensor_rank(other.tensor), rank);
        return false;
    }
    for (int64_t axis = 0; axis < (int64_t)rank; axis++)
        if (!weft_composite_wants_extent("stack", other, axis, first, axis)) return false;
    return true;
}

weft_tensor weft_stack(weft_tensors operands, int64_t axis)
{
    int64_t at;
    if (operands.count == 0 || operands.items == NULL) return weft_tensor_failed(NULL);
    weft_tensor first = operands.items[0];
    if (!weft_composite_begin("stack", operands.count, operands.count, operands.items) ||
        !weft_axis_normalize(first.graph, "stack", axis, weft_tensor_rank(first) + 1, &at)) {
        return weft_trace_failed(operands);
    }
    for (size_t i = 1; i < operands.count; i++)
        if (!fits_stack(operands, i)) return weft_tensor_failed(first.graph);
    size_t size = operands.count * sizeof first;
    weft_tensor *layers = weft_allocate(first.graph->allocator, size);
    if (layers == NULL) return weft_trace_error(first.graph, weft_status_out_of_memory());
    for (size_t i = 0; i < operands.count; i++) {
        layers[i] = weft_unsqueeze(operands.items[i], at);
    }
    weft_tensor stacked = weft_concat((weft_tensors){operands.count, layers}, at);
    weft_free(first.graph->allocator, layers, size);
    return stacked;
}

/* Whether there is a place for the results. */
static bool wants_place(weft_graph *graph, const char *function, const char *name, const void *place)
{
    if (place == NULL) weft_trace_fail(graph, WEFT_INVALID_ARGUMENT, function, "%s is NULL", name);
    return place != NULL;
}

static weft_tensor fail_parts(weft_tensor x, size_t count, weft_tensor *out_parts)
{
    for (size_t i = 0; out_parts != NULL && i < count; i++) out_parts[i] = weft_tensor_failed(x.graph);
    return weft_tensor_failed(x.graph);
}

/* What follows `start` along `axis`, in pieces of `sizes`; the first. */
static weft_tensor cut(weft_tensor x, int64_t axis, weft_shape sizes, weft_tensor *out_parts)
{
    weft_extent start = weft_extent_of(0);
    for (size_t i = 0; i < sizes.rank; i++) {
        out_parts[i] = weft_narrow(x, axis, start, sizes.extents[i]);
        if (!weft_tensor_is_valid(out_parts[i])) return fail_parts(x, sizes.rank, out_parts);
        start = weft_extent_add(start, sizes.extents[i]);
    }
    return out_parts[0];
}

static weft_tensor split_at(weft_tensor x, int64_t axis, weft_shape sizes, weft_tensor *out_parts)
{
    int64_t at;
    if (!weft_composite_begin("split_at", 1, 1, &x) ||
        !weft_axis_normalize(x.graph, "split_at", axis, weft_tensor_rank(x), &at) ||
        !wants_place(x.graph, "split_at", "out_parts", out_parts) ||
        !weft_composite_wants_counts(x.graph, "split_at", "sizes", sizes)) {
        return fail_parts(x, sizes.rank, out_parts);
    }
    if (sizes.rank == 0) return weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, "split_at", "%s", "there are no sizes");
    weft_extent sum = weft_extent_of(0), extent = weft_tensor_extent(x, at);
    for (size_t i = 0; i < sizes.rank; i++) sum = weft_extent_add(sum, sizes.extents[i]);
    if (!weft_require_equal(x.graph, sum, extent, "split_at: the sizes add up to %s but axis %" PRId64 " has extent %s",
                            weft_extent_describe(sum).text, at, weft_extent_describe(extent).text)) {
        return fail_parts(x, sizes.rank, out_parts);
    }
    return cut(x, at, sizes, out_parts);
}

weft_tensor weft_split_at(weft_tensor x, int64_t axis, weft_shape sizes, weft_tensor *out_parts)
{
    weft_guard_scope scope = weft_guards_open(x.graph);
    weft_tensor result = split_at(x, axis, sizes, out_parts);
    if (weft_tensor_is_valid(result)) weft_guards_close(scope, sizes.rank, out_parts);
    else weft_guards_close(scope, 0, NULL);
    return result;
}

static weft_tensor split(weft_tensor x, int64_t axis, size_t parts, weft_tensor *out_parts)
{
    int64_t at;
    if (!weft_composite_begin("split", 1, 1, &x) ||
        !weft_axis_normalize(x.graph, "split", axis, weft_tensor_rank(x), &at) ||
        !wants_place(x.graph, "split", "out_parts", out_parts)) {
        return fail_parts(x, parts, out_parts);
    }
    if (parts == 0) return weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, "split", "%s", "there are no parts");
    weft_extent count = weft_extent_of((int64_t)parts), extent = weft_tensor_extent(x, at);
    if (!weft_require_equal(x.graph, weft_extent_mod(extent, count), weft_extent_of(0),
                            "split: axis %" PRId64 " has extent %s, not a multiple of %zu", at,
                            weft_extent_describe(extent).text, parts)) {
        return fail_parts(x, parts, out_parts);
    }
    weft_extent size = weft_extent_div(extent, count);
    for (size_t i = 0; i < parts; i++) {
        out_parts[i] = weft_narrow(x, at, weft_extent_times(size, (int64_t)i), size);
        if (!weft_tensor_is_valid(out_parts[i])) return fail_parts(x, parts, out_parts);
    }
    return out_parts[0];
}

weft_tensor weft_split(weft_tensor x, int64_t axis, size_t parts, weft_tensor *out_parts)
{
    weft_guard_scope scope = weft_guards_open(x.graph);
    weft_tensor result = split(x, axis, parts, out_parts);
    if (weft_tensor_is_valid(result)) weft_guards_close(scope, parts, out_parts);
    else weft_guards_close(scope, 0, NULL);
    return result;
}

weft_tensor weft_chunk(weft_tensor x, int64_t axis, size_t parts, weft_tensor *out_parts, size_t *out_count)
{
    int64_t at, extent;
    if (out_count != NULL) *out_count = 0;
    if (!weft_composite_begin("chunk", 1, 1, &x) ||
        !weft_axis_normalize(x.graph, "chunk", axis, weft_tensor_rank(x), &at) ||
        !wants_place(x.graph, "chunk", "out_parts", out_parts) ||
        !wants_place(x.graph, "chunk", "out_count", out_count)) {
        return fail_parts(x, parts, out_parts);
    }
    if (parts == 0) return weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, "chunk", "%s", "there are no parts");
    if (!weft_extent_is_static(weft_tensor_extent(x, at), &extent)) {
        fail_parts(x, parts, out_parts);
        return weft_trace_fail(x.graph, WEFT_UNSUPPORTED, "chunk",
                               "axis %" PRId64 " has extent %s but needs a static one", at,
                               weft_extent_describe(weft_tensor_extent(x, at)).text);
    }
    int64_t size = extent == 0 ? 0 : (int64_t)((uint64_t)(extent - 1) / parts) + 1, rest = extent;
    do {
        int64_t taken = rest < size ? rest : size;
        out_parts[*out_count] = weft_narrow(x, at, weft_extent_of(extent - rest), weft_extent_of(taken));
        *out_count += 1;
        rest -= taken;
    } while (rest > 0);
    return out_parts[0];
}

/* ---- repeating and shifting ---- */

weft_tensor weft_repeat(weft_tensor x, int64_t axis, weft_extent count)
{
    weft_extent extents[WEFT_MAX_RANK + 1];
    weft_shape shape = weft_tensor_shape(x);
    int64_t at;
    if (!weft_composite_begin("repeat", 1, 1, &x) || !weft_axis_normalize(x.graph, "repeat", axis, shape.rank, &at) ||
        !weft_composite_wants_count(x.graph, "repeat", "the count", count)) {
        return weft_tensor_failed(x.graph);
    }
    weft_tensor column = weft_unsqueeze(x, at + 1);
    if (!weft_tensor_is_valid(column)) return column;
    weft_shape apart = weft_tensor_shape(column);
    for (size_t i = 0; i < apart.rank; i++) extents[i] = i == (size_t)at + 1 ? count : apart.extents[i];
    weft_tensor repeated = weft_broadcast(column, (weft_shape){apart.rank, extents});
    return weft_composite_ravel(repeated, (size_t)at, (size_t)at + 2);
}

weft_tensor weft_tile(weft_tensor x, weft_shape counts)
{
    if (!weft_composite_begin("tile", 1, 1, &x) || !weft_composite_wants_counts(x.graph, "tile", "counts", counts)) {
        return weft_tensor_failed(x.graph);
    }
    size_t given = weft_tensor_rank(x), rank = counts.rank > given ? counts.rank : given, parts = 0;
    weft_extent apart[2 * WEFT_MAX_RANK], repeated[2 * WEFT_MAX_RANK], whole[WEFT_MAX_RANK];
    if (rank > WEFT_MAX_RANK)
        return weft_trace_fail(x.graph, WEFT_OUT_OF_RANGE, "tile", "there are %zu counts, over %d", rank,
                               WEFT_MAX_RANK);
    weft_shape shape = weft_tensor_shape(x);
    for (size_t i = 0; i < rank; i++) {
        size_t lacks_extent = rank - given, lacks_count = rank - counts.rank;
        weft_extent extent = i < lacks_extent ? weft_extent_of(1) : shape.extents[i - lacks_extent];
        weft_extent count = i < lacks_count ? weft_extent_of(1) : counts.extents[i - lacks_count];
        whole[i] = weft_extent_mul(count, extent);
        if (!weft_extent_equal(count, weft_extent_of(1))) {
            apart[parts] = weft_extent_of(1);
            repeated[parts++] = count;
        }
        apart[parts] = repeated[parts] = extent;
        parts++;
    }
    if (parts > WEFT_MAX_RANK)
        return weft_trace_fail(x.graph, WEFT_UNSUPPORTED, "tile", "rank %zu with %zu repeated axes is over %d", rank,
                               parts - rank, WEFT_MAX_RANK);
    weft_tensor tiles = weft_broadcast(weft_reshape(x, (weft_shape){parts, apart}), (weft_shape){parts, repeated});
    return weft_reshape(tiles, (weft_shape){rank, whole});
}

static weft_tensor roll(weft_tensor x, int64_t axis, int64_t shift)
{
    weft_extent extent = weft_tensor_extent(x, axis), zero = weft_extent_of(0);
    weft_extent last = weft_extent_mod(weft_extent_of(shift), weft_extent_max(extent, weft_extent_of(1)));
    weft_extent first = weft_extent_sub(extent, last);
    weft_tensor end = weft_narrow(x, axis, first, last), begin = weft_narrow(x, axis, zero, first);
    return weft_concat(WEFT_TENSORS(end, begin), axis);
}

weft_tensor weft_roll(weft_tensor x, weft_ints shifts, weft_ints axes)
{
    weft_axis_list list;
    if (!weft_composite_begin("roll", 1, 1, &x) ||
        !weft_trace_wants_list("roll", "shifts", x.graph, shifts.count, shifts.items) ||
        !weft_axes_normalize(x.graph, "roll", axes, weft_tensor_rank(x), &list)) {
        return weft_tensor_failed(x.graph);
    }
    if (shifts.count != axes.count) {
        return weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, "roll", "shifts has length %zu but axes has %zu",
                               shifts.count, axes.count);
    }
    for (size_t i = 0; i < list.count && weft_tensor_is_valid(x); i++) {
        if (shifts.items[i] == INT64_MIN)
            return weft_trace_fail(x.graph, WEFT_OUT_OF_RANGE, "roll",
                                   "the shift of axis %" PRId64 " is %" PRId64 ", below -(2^63 - 1)", list.items[i],
                                   shifts.items[i]);
        x = roll(x, list.items[i], shifts.items[i]);
    }
    return x;
}

/* ---- grids ---- */

weft_tensor weft_meshgrid(weft_tensors axes, bool swap, weft_tensor *out_grids)
{
    weft_extent extents[WEFT_MAX_RANK];
    if (axes.count == 0 || axes.items == NULL) return weft_tensor_failed(NULL);
    weft_tensor first = axes.items[0];
    if (!weft_composite_begin("meshgrid", axes.count, axes.count, axes.items) ||
        !wants_place(first.graph, "meshgrid", "out_grids", out_grids)) {
        return fail_parts(weft_trace_failed(axes), axes.count, out_grids);
    }
    if (axes.count > WEFT_MAX_RANK) {
        fail_parts(first, axes.count, out_grids);
        return weft_trace_fail(first.graph, WEFT_INVALID_ARGUMENT, "meshgrid", "%zu operands are over %d", axes.count,
                               WEFT_MAX_RANK);
    }
    swap = swap && axes.count > 1;
    for (size_t i = 0; i < axes.count; i++) {
        if (weft_tensor_rank(axes.items[i]) != 1) {
            fail_parts(first, axes.count, out_grids);
            return weft_trace_fail(first.graph, WEFT_SHAPE_MISMATCH, "meshgrid", "operand %zu has rank %zu, not 1", i,
                                   weft_tensor_rank(axes.items[i]));
        }
        extents[swap && i < 2 ? 1 - i : i] = weft_tensor_extent(axes.items[i], 0);
    }
    for (size_t i = 0; i < axes.count; i++) {
        int64_t at = (int64_t)(swap && i < 2 ? 1 - i : i);
        out_grids[i] = weft_broadcast_in_dim(axes.items[i], (weft_shape){axes.count, extents}, WEFT_INTS(at));
        if (!weft_tensor_is_valid(out_grids[i])) return fail_parts(first, axes.count, out_grids);
    }
    return out_grids[0];
}
