/* SPDX-License-Identifier: Apache-2.0 */
/* Ops whose places are decided by data: gather, scatter, dynamic slices. */
#include "backends/ref/ref.h"
#include <inttypes.h>
#include <string.h>
#include "lib/graph/indexing.h"

static bool contains(weft_ints list, size_t value)
{
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i] == (int64_t)value) return true;
    return false;
}

static int64_t integer_at(const weft_view *view, const int64_t *index)
{
    return weft_element_load(view->dtype, weft_view_at(view, index)).integer;
}

/* ---- gather, scatter ---- */

/*
 * From an index into the result of a gather, or into the updates of a scatter, to the element of x and to the index
 * into the index tensors, the first of which is `first`.
 */
static void find_element(const weft_reference_call *call, size_t first, const int64_t *index, int64_t *out_element,
                         int64_t *out_at)
{
    weft_ints axes = call->attrs[0].ints, batch = call->attrs[1].ints;
    const weft_view *x = &call->inputs[0];
    size_t own = call->inputs[first].rank - batch.count, next = 0, at = 0;
    for (size_t axis = 0; axis < x->rank; axis++) {
        if ((int64_t)axis == axes.items[0])
            for (size_t i = 0; i < own; i++) out_at[at++] = index[next++];
        if (contains(axes, axis)) continue;
        if (contains(batch, axis)) out_at[at++] = index[next];
        out_element[axis] = index[next++];
    }
    for (size_t i = 0; i < axes.count; i++) {
        int64_t axis = axes.items[i], given = integer_at(&call->inputs[first + i], out_at);
        out_element[axis] = given < 0 ? given + x->shape[axis] : given;
    }
}

/*
 * The first position with an index out of range; of several there the one of the lowest axis. `moved` are the elements
 * that the indices place: where it has none, nothing is read.
 */
static weft_status *check_indices(const weft_reference_call *call, size_t first, const weft_view *moved)
{
    weft_ints axes = call->attrs[0].ints;
    int64_t count = weft_view_count(moved) == 0 ? 0 : weft_view_count(&call->inputs[first]);
    for (int64_t i = 0; i < count; i++) {
        for (size_t k = 0; k < axes.count; k++) {
            const weft_view *indices = &call->inputs[first + k];
            int64_t index = weft_element_load(indices->dtype, weft_view_nth(indices, i)).integer;
            int64_t extent = call->inputs[0].shape[axes.items[k]];
            if (index < -extent || index >= extent)
                return weft_reference_error(call, WEFT_DATA_ERROR,
                                            "index %" PRId64 " at position %" PRId64
                                            " is out of range for extent %" PRId64 " (axis %" PRId64 ")",
                                            index, i, extent, axes.items[k]);
        }
    }
    return NULL;
}

weft_status *weft_reference_gather(const weft_reference_call *call)
{
    const weft_view *result = &call->outputs[0];
    int64_t index[WEFT_MAX_RANK], element[WEFT_MAX_RANK], at[WEFT_MAX_RANK];
    WEFT_TRY(check_indices(call, 1, result));
    for (bool more = weft_index_start(result->rank, result->shape, index); more;
         more = weft_index_next(result->rank, result->shape, index)) {
        find_element(call, 1, index, element, at);
        memcpy(weft_view_at(result, index), weft_view_at(&call->inputs[0], element), weft_dtype_size(result->dtype));
    }
    return NULL;
}

/* How a mode combines; NULL where the update takes the element's place. */
static weft_element_function combination(const char *mode, weft_dtype dtype)
{
    static const struct {
        const char *mode;
        weft_op_id op;
    } rows[] = {{"add", WEFT_OP_add}, {"mul", WEFT_OP_mul}, {"max", WEFT_OP_max}, {"min", WEFT_OP_min}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(mode, rows[i].mode) == 0) return weft_element_rounded_of(rows[i].op, dtype);
    return NULL;
}

weft_status *weft_reference_scatter(const weft_reference_call *call)
{
    const weft_view *result = &call->outputs[0], *updates = &call->inputs[1];
    weft_dtype dtype = result->dtype;
    weft_element_function combine = combination(call->attrs[2].data, dtype);
    int64_t index[WEFT_MAX_RANK], element[WEFT_MAX_RANK], at[WEFT_MAX_RANK];
    WEFT_TRY(check_indices(call, 2, updates));
    weft_view_copy(result, &call->inputs[0]);
    for (bool more = weft_index_start(updates->rank, updates->shape, index); more;
         more = weft_index_next(updates->rank, updates->shape, index)) {
        find_element(call, 2, index, element, at);
        void *target = weft_view_at(result, element);
        const void *update = weft_view_at(updates, index);
        if (combine == NULL) memcpy(target, update, weft_dtype_size(dtype));
        else
            weft_element_store(dtype, combine(weft_element_load(dtype, target), weft_element_load(dtype, update)),
                               target);
    }
    return NULL;
}

/* ---- dynamic slices ---- */

static weft_status *start_error(const weft_reference_call *call, int64_t start, int64_t axis, int64_t last)
{
    static const weft_op_def loop = {.name = WEFT_BOUND_OP};
    weft_reference_call of_loop = *call;
    of_loop.op = &loop;
    if (weft_indexing_is_bound(weft_graph_node(call->graph, call->node)))
        return weft_reference_error(&of_loop, WEFT_DATA_ERROR, WEFT_BOUND_SENTENCE);
    return weft_reference_error(call, WEFT_DATA_ERROR,
                                "start %" PRId64 " on axis %" PRId64 " is outside [0, %" PRId64 "]", start, axis, last);
}

/* The part of `view` of the shape `sizes` that begins at the starts. */
static weft_status *part_of(const weft_reference_call *call, size_t first, const weft_view *view, const int64_t *sizes,
                            weft_view *out_part)
{
    weft_ints axes = call->attrs[0].ints;
    int64_t from[WEFT_MAX_RANK] = {0};
    for (size_t i = 0; i < axes.count; i++) {
        int64_t axis = axes.items[i], start = integer_at(&call->inputs[first + i], NULL);
        int64_t last = view->shape[axis] - sizes[axis];
        if (start < 0 || start > last) return start_error(call, start, axis, last);
        from[axis] = start;
    }
    *out_part = *view;
    out_part->data = weft_view_at(view, from);
    out_part->shape = sizes;
    return NULL;
}

weft_status *weft_reference_dynamic_slice(const weft_reference_call *call)
{
    weft_view part;
    if (weft_view_count(&call->outputs[0]) == 0) return NULL;
    WEFT_TRY(part_of(call, 1, &call->inputs[0], call->outputs[0].shape, &part));
    weft_view_copy(&call->outputs[0], &part);
    return NULL;
}

weft_status *weft_reference_dynamic_update_slice(const weft_reference_call *call)
{
    weft_view part;
    weft_view_copy(&call->outputs[0], &call->inputs[0]);
    if (weft_view_count(&call->inputs[1]) == 0) return NULL;
    WEFT_TRY(part_of(call, 2, &call->outputs[0], call->inputs[1].shape, &part));
    weft_view_copy(&part, &call->inputs[1]);
    return NULL;
}
