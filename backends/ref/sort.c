/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting: by merging halves, the plainest way that keeps equal elements in order. */
#include "backends/ref/ref.h"
#include <math.h>
#include <string.h>

enum { LONG = 1 << 12 }; /* positions that are sorted without reading the flag of the run */

typedef struct row {
    const weft_kernel_context *context;
    const weft_view *x;
    const char *first;
    ptrdiff_t step; /* bytes */
    bool descending;
} row;

/* Whether the element at `b` has to stand before the one at `a`, which comes first in the row. */
static bool overtakes(const row *r, int64_t b, int64_t a)
{
    weft_element later = weft_element_load(r->x->dtype, r->first + b * r->step);
    weft_element earlier = weft_element_load(r->x->dtype, r->first + a * r->step);
    if (weft_element_kind(r->x->dtype) != WEFT_KIND_FLOAT)
        return r->descending ? later.integer > earlier.integer : later.integer < earlier.integer;
    if (isnan(later.real) || isnan(earlier.real)) return isnan(earlier.real) && !isnan(later.real);
    return r->descending ? later.real > earlier.real : later.real < earlier.real;
}

/* Sorts positions[0 .. count-1], which are increasing; `spare` has room for as many. False when the run is cancelled.
 */
static bool sort(const row *r, int64_t count, int64_t *positions, int64_t *spare)
{
    int64_t middle = count / 2, left = 0, right = middle;
    if (count < 2) return true;
    if (count >= LONG && weft_reference_is_cancelled(r->context)) return false;
    if (!sort(r, middle, positions, spare) || !sort(r, count - middle, positions + middle, spare)) return false;
    for (int64_t i = 0; i < count; i++) {
        bool from_right = left == middle || (right < count && overtakes(r, positions[right], positions[left]));
        spare[i] = positions[from_right ? right++ : left++];
    }
    memcpy(positions, spare, (size_t)count * sizeof *positions);
    return true;
}

/* False when the run is cancelled. */
static bool sort_row(const weft_reference_call *call, const int64_t *index, int64_t *positions, int64_t *spare)
{
    const weft_view *x = &call->inputs[0], *out = &call->outputs[0];
    int64_t axis = call->attrs[0].integer, count = x->shape[axis];
    ptrdiff_t step = x->strides[axis] * (ptrdiff_t)weft_dtype_size(x->dtype);
    ptrdiff_t out_step = out->strides[axis] * (ptrdiff_t)weft_dtype_size(out->dtype);
    row r = {call->run->context, x, weft_view_at(x, index), step, call->attrs[1].integer != 0};
    char *to = weft_view_at(out, index);
    for (int64_t i = 0; i < count; i++) positions[i] = i;
    if (!sort(&r, count, positions, spare)) return false;
    for (int64_t i = 0; i < count; i++, to += out_step) {
        if (weft_op_id_of(call->op) == WEFT_OP_sort)
            memcpy(to, r.first + positions[i] * step, weft_dtype_size(x->dtype));
        else memcpy(to, &positions[i], sizeof *positions);
    }
    return true;
}

static weft_status *sort_rows(const weft_reference_call *call)
{
    const weft_view *x = &call->inputs[0];
    int64_t axis = call->attrs[0].integer, rows[WEFT_MAX_RANK], index[WEFT_MAX_RANK];
    size_t bytes = 2 * (size_t)x->shape[axis] * sizeof(int64_t);
    if (weft_view_count(x) == 0) return NULL;
    int64_t *positions = weft_allocate(call->allocator, bytes);
    if (positions == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < x->rank; i++) rows[i] = i == (size_t)axis ? 1 : x->shape[i];
    bool done = true;
    for (bool more = weft_index_start(x->rank, rows, index); more && done; more = weft_index_next(x->rank, rows, index))
        done = !weft_reference_is_cancelled(call->run->context) &&
               sort_row(call, index, positions, positions + x->shape[axis]);
    weft_free(call->allocator, positions, bytes);
    return done ? NULL : weft_reference_cancelled(call, "in", call->op->name);
}

weft_status *weft_reference_sort(const weft_reference_call *call)
{
    return sort_rows(call);
}

weft_status *weft_reference_argsort(const weft_reference_call *call)
{
    return sort_rows(call);
}
