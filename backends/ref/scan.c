/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/ref/ordered.h"

/* Combines the elements of the row that begins at `index` one after the other, an exclusive scan those before, after
 * `start`; each result is rounded once. */
static void scan_row(const weft_reference_call *call, const int64_t *index, weft_element_function function,
                     weft_element start)
{
    const weft_view *x = &call->inputs[0], *out = &call->outputs[0];
    int64_t axis = call->attrs[0].integer, count = x->shape[axis];
    bool reverse = call->attrs[1].integer != 0, exclusive = call->attrs[2].integer != 0;
    weft_element total = start, before = start;
    weft_ordered_scan ordered;
    bool in_order = weft_ordered_scan_init(call, &ordered);
    for (int64_t i = 0; i < count; i++) {
        int64_t at[WEFT_MAX_RANK];
        for (size_t k = 0; k < x->rank; k++) at[k] = index[k];
        at[axis] = reverse ? count - 1 - i : i;
        weft_element element = weft_element_load(x->dtype, weft_view_at(x, at)), next = exclusive ? before : element;
        total = in_order ? weft_ordered_scan_next(&ordered, next) : function(total, next);
        weft_element_store(out->dtype, total, weft_view_at(out, at));
        before = element;
    }
}

static weft_status *scan(const weft_reference_call *call, weft_op_id op, weft_element init)
{
    const weft_view *x = &call->inputs[0];
    weft_element_function function = weft_element_function_of(op, weft_element_kind(x->dtype));
    int64_t rows[WEFT_MAX_RANK], index[WEFT_MAX_RANK];
    if (weft_view_count(x) == 0) return NULL;
    if (function == NULL)
        return weft_reference_error(call, WEFT_DTYPE_MISMATCH, "%s is not taken", weft_dtype_name(x->dtype));
    for (size_t i = 0; i < x->rank; i++) rows[i] = (int64_t)i == call->attrs[0].integer ? 1 : x->shape[i];
    for (bool more = weft_index_start(x->rank, rows, index); more; more = weft_index_next(x->rank, rows, index))
        scan_row(call, index, function, init);
    return NULL;
}

static weft_element number_of(weft_dtype dtype, int64_t value)
{
    return weft_element_cast(WEFT_I64, (weft_element){.integer = value}, dtype);
}

weft_status *weft_reference_scan_sum(const weft_reference_call *call)
{
    return scan(call, WEFT_OP_add, number_of(call->inputs[0].dtype, 0));
}

weft_status *weft_reference_scan_prod(const weft_reference_call *call)
{
    return scan(call, WEFT_OP_mul, number_of(call->inputs[0].dtype, 1));
}

weft_status *weft_reference_scan_max(const weft_reference_call *call)
{
    return scan(call, WEFT_OP_max, weft_element_least(call->inputs[0].dtype));
}

weft_status *weft_reference_scan_min(const weft_reference_call *call)
{
    return scan(call, WEFT_OP_min, weft_element_greatest(call->inputs[0].dtype));
}

/* ---- linear recurrences ---- */

/* The row that begins at `index`, element by element; each result is rounded once. */
static void recur(const weft_reference_call *call, const int64_t *index, weft_element_function multiply,
                  weft_element_function add)
{
    const weft_view *a = &call->inputs[0], *b = &call->inputs[1], *out = &call->outputs[0];
    int64_t axis = call->attrs[0].integer, count = b->shape[axis];
    bool reverse = call->attrs[1].integer != 0;
    weft_element y = {.integer = 0};
    for (int64_t i = 0; i < count; i++) {
        int64_t at[WEFT_MAX_RANK];
        for (size_t k = 0; k < b->rank; k++) at[k] = index[k];
        at[axis] = reverse ? count - 1 - i : i;
        weft_element term = weft_element_load(b->dtype, weft_view_at(b, at));
        weft_element factor = weft_element_load(a->dtype, weft_view_at(a, at));
        y = i == 0 ? term : add(multiply(factor, y), term);
        weft_element_store(out->dtype, y, weft_view_at(out, at));
    }
}

weft_status *weft_reference_scan_linear(const weft_reference_call *call)
{
    const weft_view *b = &call->inputs[1];
    weft_dtype_kind kind = weft_element_kind(b->dtype);
    weft_element_function multiply = weft_element_function_of(WEFT_OP_mul, kind);
    weft_element_function add = weft_element_function_of(WEFT_OP_add, kind);
    int64_t rows[WEFT_MAX_RANK], index[WEFT_MAX_RANK];
    if (weft_view_count(b) == 0) return NULL;
    if (multiply == NULL || add == NULL)
        return weft_reference_error(call, WEFT_DTYPE_MISMATCH, "%s is not taken", weft_dtype_name(b->dtype));
    for (size_t i = 0; i < b->rank; i++) rows[i] = (int64_t)i == call->attrs[0].integer ? 1 : b->shape[i];
    for (bool more = weft_index_start(b->rank, rows, index); more; more = weft_index_next(b->rank, rows, index))
        recur(call, index, multiply, add);
    return NULL;
}
