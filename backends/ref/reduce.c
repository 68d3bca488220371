/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/ref/ordered.h"
#include <math.h>
#include <string.h>

/* The operand's shape in two: `out_kept` with extents of one in place of the reduced axes, `out_reduced` the other way
 * round. An element of the operand then is an index of each, added. */
static void split_shape(const weft_view *x, weft_ints axes, int64_t *out_kept, int64_t *out_reduced)
{
    for (size_t i = 0; i < x->rank; i++) {
        out_kept[i] = x->shape[i];
        out_reduced[i] = 1;
    }
    for (size_t i = 0; i < axes.count; i++) {
        out_reduced[axes.items[i]] = x->shape[axes.items[i]];
        out_kept[axes.items[i]] = 1;
    }
}

/* Combines, in row-major order, the elements of `x` that start at `first` and span `shape`. */
static weft_element combine(const weft_view *x, const char *first, const int64_t *shape, weft_element_function function,
                            weft_element init)
{
    weft_view part = *x;
    part.data = (char *)first;
    int64_t index[WEFT_MAX_RANK];
    for (bool more = weft_index_start(x->rank, shape, index); more; more = weft_index_next(x->rank, shape, index))
        init = function(init, weft_element_load(x->dtype, weft_view_at(&part, index)));
    return init;
}

static weft_status *reduce(const weft_reference_call *call, weft_op_id op, weft_element init)
{
    const weft_view *x = &call->inputs[0], *out = &call->outputs[0];
    weft_element_function function = weft_element_function_of(op, weft_element_kind(x->dtype));
    if (function == NULL)
        return weft_reference_error(call, WEFT_DTYPE_MISMATCH, "%s is not taken", weft_dtype_name(x->dtype));
    int64_t kept[WEFT_MAX_RANK], reduced[WEFT_MAX_RANK], index[WEFT_MAX_RANK], position = 0;
    split_shape(x, call->attrs[0].ints, kept, reduced);
    weft_ordered_sum sum;
    bool in_order = weft_ordered_sum_init(call, &sum);
    for (size_t i = 0; i < sum.reduction.axis_count; i++) {
        sum.extents[i] = x->shape[sum.reduction.axes[i]];
        sum.strides[0][i] = x->strides[sum.reduction.axes[i]];
    }
    for (bool more = weft_index_start(x->rank, kept, index); more; more = weft_index_next(x->rank, kept, index)) {
        int64_t first = (weft_view_at(x, index) - (char *)x->data) / (int64_t)weft_dtype_size(x->dtype);
        weft_element element =
            in_order ? weft_ordered_sum_at(&sum, &first) : combine(x, weft_view_at(x, index), reduced, function, init);
        weft_element_store(out->dtype, element, weft_view_nth(out, position++));
    }
    return NULL;
}

static weft_element number_of(weft_dtype dtype, int64_t value)
{
    return weft_element_cast(WEFT_I64, (weft_element){.integer = value}, dtype);
}

weft_status *weft_reference_reduce_sum(const weft_reference_call *call)
{
    return reduce(call, WEFT_OP_add, number_of(call->inputs[0].dtype, 0));
}

weft_status *weft_reference_reduce_prod(const weft_reference_call *call)
{
    return reduce(call, WEFT_OP_mul, number_of(call->inputs[0].dtype, 1));
}

weft_status *weft_reference_reduce_any(const weft_reference_call *call)
{
    return reduce(call, WEFT_OP_or, (weft_element){.integer = 0});
}

weft_status *weft_reference_reduce_all(const weft_reference_call *call)
{
    return reduce(call, WEFT_OP_and, (weft_element){.integer = 1});
}

weft_status *weft_reference_reduce_max(const weft_reference_call *call)
{
    return reduce(call, WEFT_OP_max, weft_element_least(call->inputs[0].dtype));
}

weft_status *weft_reference_reduce_min(const weft_reference_call *call)
{
    return reduce(call, WEFT_OP_min, weft_element_greatest(call->inputs[0].dtype));
}

/* The first NaN wins, else the first that is greater (or less, by `order`) than all before it. */
static bool beats(weft_dtype_kind kind, weft_op_id order, weft_element challenger, weft_element best)
{
    if (kind == WEFT_KIND_FLOAT && isnan(best.real)) return false;
    if (kind == WEFT_KIND_FLOAT && isnan(challenger.real)) return true;
    return weft_element_function_of(order, kind)(challenger, best).integer != 0;
}

static int64_t first_best(const weft_view *x, weft_op_id order, const char *first, int64_t axis)
{
    ptrdiff_t step = x->strides[axis] * (int64_t)weft_dtype_size(x->dtype);
    int64_t best = 0;
    weft_element champion = number_of(x->dtype, 0);
    for (int64_t i = 0; i < x->shape[axis]; i++) {
        weft_element element = weft_element_load(x->dtype, first + i * step);
        if (i > 0 && !beats(weft_element_kind(x->dtype), order, element, champion)) continue;
        best = i;
        champion = element;
    }
    return best;
}

static weft_status *arg_reduce(const weft_reference_call *call, weft_op_id order)
{
    const weft_view *x = &call->inputs[0], *out = &call->outputs[0];
    int64_t axis = call->attrs[0].integer;
    int64_t kept[WEFT_MAX_RANK], reduced[WEFT_MAX_RANK], index[WEFT_MAX_RANK], position = 0;
    split_shape(x, (weft_ints){1, &axis}, kept, reduced);
    for (bool more = weft_index_start(x->rank, kept, index); more; more = weft_index_next(x->rank, kept, index)) {
        weft_element element = {.integer = first_best(x, order, weft_view_at(x, index), axis)};
        weft_element_store(WEFT_I64, element, weft_view_nth(out, position++));
    }
    return NULL;
}

weft_status *weft_reference_argmax(const weft_reference_call *call)
{
    return arg_reduce(call, WEFT_OP_gt);
}

weft_status *weft_reference_argmin(const weft_reference_call *call)
{
    return arg_reduce(call, WEFT_OP_lt);
}
