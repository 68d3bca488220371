/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/ref/ref.h"
#include <inttypes.h>
#include <string.h>

/* Where the element at `index` of the result comes from; NULL: it is zero. */
typedef const char *(*source_function)(const weft_reference_call *call, const int64_t *index);

static weft_status *move(const weft_reference_call *call, source_function source)
{
    const weft_view *out = &call->outputs[0];
    size_t size = weft_dtype_size(out->dtype);
    int64_t index[WEFT_MAX_RANK];
    for (bool more = weft_index_start(out->rank, out->shape, index); more;
         more = weft_index_next(out->rank, out->shape, index)) {
        const char *from = source(call, index);
        if (from == NULL) memset(weft_view_at(out, index), 0, size);
        else memcpy(weft_view_at(out, index), from, size);
    }
    return NULL;
}

static weft_status *misfit(const weft_reference_call *call, size_t axis)
{
    return weft_reference_error(call, WEFT_INTERNAL, "axis %zu of the operand does not fit the result", axis);
}

/* Whether two extents are equal; the error otherwise. */
static weft_status *check_extent(const weft_reference_call *call, size_t axis, int64_t extent, int64_t expected)
{
    return extent == expected ? NULL : misfit(call, axis);
}

/* ---- reshape, permute, broadcast ---- */

weft_status *weft_reference_reshape(const weft_reference_call *call)
{
    const weft_view *x = &call->inputs[0], *out = &call->outputs[0];
    int64_t count = weft_view_count(out);
    if (weft_view_count(x) != count)
        return weft_reference_error(call, WEFT_INTERNAL, "%" PRId64 " elements do not fill a shape of %" PRId64,
                                    weft_view_count(x), count);
    for (int64_t i = 0; i < count; i++) memcpy(weft_view_nth(out, i), weft_view_nth(x, i), weft_dtype_size(out->dtype));
    return NULL;
}

static const char *permuted(const weft_reference_call *call, const int64_t *index)
{
    int64_t from[WEFT_MAX_RANK];
    for (size_t i = 0; i < call->inputs[0].rank; i++) from[call->attrs[0].ints.items[i]] = index[i];
    return weft_view_at(&call->inputs[0], from);
}

/* ---- the operand itself ---- */

static const char *same(const weft_reference_call *call, const int64_t *index)
{
    return weft_view_at(&call->inputs[0], index);
}

weft_status *weft_reference_stop_gradient(const weft_reference_call *call)
{
    return move(call, same);
}

weft_status *weft_reference_barrier(const weft_reference_call *call)
{
    return move(call, same);
}

weft_status *weft_reference_permute(const weft_reference_call *call)
{
    const weft_view *x = &call->inputs[0], *out = &call->outputs[0];
    for (size_t i = 0; i < x->rank; i++)
        WEFT_TRY(check_extent(call, i, x->shape[call->attrs[0].ints.items[i]], out->shape[i]));
    return move(call, permuted);
}

static const char *broadcasted(const weft_reference_call *call, const int64_t *index)
{
    const weft_view *x = &call->inputs[0];
    int64_t from[WEFT_MAX_RANK];
    for (size_t i = 0; i < x->rank; i++) from[i] = x->shape[i] == 1 ? 0 : index[call->attrs[1].ints.items[i]];
    return weft_view_at(x, from);
}

weft_status *weft_reference_broadcast(const weft_reference_call *call)
{
    const weft_view *x = &call->inputs[0], *out = &call->outputs[0];
    for (size_t i = 0; i < x->rank; i++)
        if (x->shape[i] != 1) WEFT_TRY(check_extent(call, i, x->shape[i], out->shape[call->attrs[1].ints.items[i]]));
    return move(call, broadcasted);
}

/* ---- slice, window, flip, pad ---- */

static const char *sliced(const weft_reference_call *call, const int64_t *index)
{
    int64_t from[WEFT_MAX_RANK];
    for (size_t i = 0; i < call->inputs[0].rank; i++)
        from[i] = call->attrs[0].extents.extents[i].value + index[i] * call->attrs[2].ints.items[i];
    return weft_view_at(&call->inputs[0], from);
}

/* Whether all of start, start + step, ... for `size` elements lie in [0, extent). */
static bool lies_inside(int64_t start, int64_t size, int64_t step, int64_t extent)
{
    int64_t last;
    if (size <= 0) return size == 0;
    if (__builtin_mul_overflow(size - 1, step, &last) || __builtin_add_overflow(last, start, &last)) return false;
    return start >= 0 && start < extent && last >= 0 && last < extent;
}

weft_status *weft_reference_slice(const weft_reference_call *call)
{
    const weft_view *x = &call->inputs[0];
    for (size_t i = 0; i < x->rank && weft_view_count(&call->outputs[0]) > 0; i++)
        if (!lies_inside(call->attrs[0].extents.extents[i].value, call->outputs[0].shape[i],
                         call->attrs[2].ints.items[i], x->shape[i]))
            return misfit(call, i);
    return move(call, sliced);
}

static const char *windowed(const weft_reference_call *call, const int64_t *index)
{
    int64_t axis = call->attrs[0].integer, from[WEFT_MAX_RANK];
    size_t rank = call->inputs[0].rank;
    for (size_t i = 0; i < rank; i++) from[i] = index[i];
    from[axis] = index[axis] * call->attrs[2].integer + index[rank] * call->attrs[3].integer;
    return weft_view_at(&call->inputs[0], from);
}

weft_status *weft_reference_window(const weft_reference_call *call)
{
    const weft_view *x = &call->inputs[0], *out = &call->outputs[0];
    size_t axis = (size_t)call->attrs[0].integer;
    int64_t last[WEFT_MAX_RANK];
    for (size_t i = 0; i < out->rank; i++) last[i] = out->shape[i] - 1;
    if (weft_view_count(out) > 0 &&
        last[axis] * call->attrs[2].integer + last[x->rank] * call->attrs[3].integer >= x->shape[axis])
        return misfit(call, axis);
    return move(call, windowed);
}

static const char *sheared(const weft_reference_call *call, const int64_t *index)
{
    const weft_view *x = &call->inputs[0];
    int64_t axis = call->attrs[0].integer, from[WEFT_MAX_RANK], moved;
    memcpy(from, index, x->rank * sizeof *from);
    if (__builtin_mul_overflow(index[call->attrs[1].integer], call->attrs[2].integer, &moved) ||
        __builtin_sub_overflow(from[axis], moved, &from[axis]))
        return NULL;
    return from[axis] >= 0 && from[axis] < x->shape[axis] ? weft_view_at(x, from) : NULL;
}

weft_status *weft_reference_shear(const weft_reference_call *call)
{
    const weft_view *x = &call->inputs[0], *out = &call->outputs[0];
    for (size_t i = 0; i < x->rank; i++)
        if ((int64_t)i != call->attrs[0].integer) WEFT_TRY(check_extent(call, i, x->shape[i], out->shape[i]));
    return move(call, sheared);
}

static const char *flipped(const weft_reference_call *call, const int64_t *index)
{
    const weft_view *x = &call->inputs[0];
    int64_t from[WEFT_MAX_RANK];
    for (size_t i = 0; i < x->rank; i++) from[i] = index[i];
    for (size_t i = 0; i < call->attrs[0].ints.count; i++) {
        int64_t axis = call->attrs[0].ints.items[i];
        from[axis] = x->shape[axis] - 1 - index[axis];
    }
    return weft_view_at(x, from);
}

weft_status *weft_reference_flip(const weft_reference_call *call)
{
    for (size_t i = 0; i < call->inputs[0].rank; i++)
        WEFT_TRY(check_extent(call, i, call->inputs[0].shape[i], call->outputs[0].shape[i]));
    return move(call, flipped);
}

static const char *padded(const weft_reference_call *call, const int64_t *index)
{
    const weft_view *x = &call->inputs[0];
    int64_t from[WEFT_MAX_RANK];
    for (size_t i = 0; i < x->rank; i++) {
        from[i] = index[i] - call->attrs[0].extents.extents[i].value;
        if (from[i] < 0 || from[i] >= x->shape[i]) return call->inputs[1].data;
    }
    return weft_view_at(x, from);
}

weft_status *weft_reference_pad(const weft_reference_call *call)
{
    return move(call, padded);
}

/* ---- diagonals ---- */

static const char *extracted(const weft_reference_call *call, const int64_t *index)
{
    int64_t a = call->attrs[0].integer, b = call->attrs[1].integer, from[WEFT_MAX_RANK];
    int64_t low = a < b ? a : b, high = a < b ? b : a;
    for (int64_t i = 0; i < (int64_t)call->inputs[0].rank; i++) from[i] = index[i == high ? low : i > high ? i - 1 : i];
    return weft_view_at(&call->inputs[0], from);
}

weft_status *weft_reference_extract_diagonal(const weft_reference_call *call)
{
    const int64_t *shape = call->inputs[0].shape;
    WEFT_TRY(check_extent(call, (size_t)call->attrs[0].integer, shape[call->attrs[0].integer],
                          shape[call->attrs[1].integer]));
    return move(call, extracted);
}

/* Zeros of every dtype are zero bytes. */
static const char *embedded(const weft_reference_call *call, const int64_t *index)
{
    int64_t axis = call->attrs[0].integer, added = call->attrs[1].integer, from[WEFT_MAX_RANK];
    for (int64_t i = 0; i < (int64_t)call->inputs[0].rank; i++) from[i] = index[i < added ? i : i + 1];
    return from[axis] == index[added] ? weft_view_at(&call->inputs[0], from) : NULL;
}

weft_status *weft_reference_embed_diagonal(const weft_reference_call *call)
{
    return move(call, embedded);
}

/* ---- concat ---- */

static const char *joined(const weft_reference_call *call, const int64_t *index)
{
    size_t axis = (size_t)call->attrs[0].integer, operand = 0;
    int64_t from[WEFT_MAX_RANK];
    memcpy(from, index, call->outputs[0].rank * sizeof *from);
    while (from[axis] >= call->inputs[operand].shape[axis]) from[axis] -= call->inputs[operand++].shape[axis];
    return weft_view_at(&call->inputs[operand], from);
}

weft_status *weft_reference_concat(const weft_reference_call *call)
{
    int64_t axis = call->attrs[0].integer, total = 0;
    for (size_t i = 0; i < call->input_count; i++) total += call->inputs[i].shape[axis];
    WEFT_TRY(check_extent(call, (size_t)axis, total, call->outputs[0].shape[axis]));
    return move(call, joined);
}
