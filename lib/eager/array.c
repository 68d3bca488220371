/* SPDX-License-Identifier: Apache-2.0 */
/* Handles: arrays in, their life, scopes. */
#include <string.h>
#include "lib/eager/eager.h"
#include "lib/graph/scalar.h"
#include "runtime/base/float_mode.h"
#include "runtime/base/status.h"

/* ---- scopes ---- */

static weft_status *enter_scope(weft_eager *eager, weft_eager_array *array)
{
    if (eager->scope_depth == 0) return NULL;
    if (!weft_eager_list_add(eager, &eager->scope, &array, sizeof array)) return weft_status_out_of_memory();
    array->slot = eager->scope.count;
    return NULL;
}

weft_eager_scope weft_eager_scope_begin(weft_eager *eager)
{
    if (eager == NULL) return (weft_eager_scope){0, 0};
    weft_eager_scope scope = {eager->scope.count, eager->scope_first};
    eager->scope_depth++;
    eager->scope_first = scope.first;
    return scope;
}

void weft_eager_scope_end(weft_eager *eager, weft_eager_scope scope)
{
    if (eager == NULL) return;
    weft_eager_array **items = eager->scope.items;
    while (eager->scope.count > scope.first) {
        weft_eager_array *array = items[--eager->scope.count];
        if (array == NULL) continue;
        array->slot = 0;
        weft_eager_release(array);
    }
    eager->scope_first = scope.outer;
    if (eager->scope_depth > 0) eager->scope_depth--;
}

/* Of what is released last in, first out, nothing is left. */
static void leave_scope(weft_eager *eager, weft_eager_array *array)
{
    weft_eager_array **items = eager->scope.items;
    if (array->slot == 0) return;
    items[array->slot - 1] = NULL;
    array->slot = 0;
    while (eager->scope.count > eager->scope_first && items[eager->scope.count - 1] == NULL) eager->scope.count--;
}

/* ---- handles ---- */

weft_status *weft_eager_array_create(weft_eager *eager, weft_eager_type *type, weft_array *value,
                                     weft_eager_array **out_array)
{
    weft_eager_array *array = weft_allocate(eager->allocator, sizeof *array);
    if (array == NULL) return weft_status_out_of_memory();
    *array = (weft_eager_array){.eager = eager, .type = type, .handles = 1};
    weft_status *status = enter_scope(eager, array);
    if (status != NULL) {
        weft_free(eager->allocator, array, sizeof *array);
        return status;
    }
    type->references++;
    if (value != NULL) array->value = weft_array_retain(value);
    eager->counters.arrays++;
    *out_array = array;
    return NULL;
}

void weft_eager_array_review(weft_eager_array *array)
{
    if (array->handles > 0 || array->uses > 0) return;
    weft_eager *eager = array->eager;
    weft_eager_node *node = array->node;
    if (node != NULL) weft_eager_node_results(node)[array->output] = NULL;
    weft_array_release(array->value);
    weft_eager_type_release(eager, array->type);
    weft_free(eager->allocator, array, sizeof *array);
    eager->counters.arrays--;
    if (node != NULL) weft_eager_node_unpin(node);
}

weft_eager_array *weft_eager_retain(weft_eager_array *array)
{
    if (array != NULL) array->handles++;
    return array;
}

void weft_eager_release(weft_eager_array *array)
{
    if (array == NULL) return;
    weft_eager *eager = array->eager;
    if (--array->handles > 0) return;
    leave_scope(eager, array);
    weft_eager_array_review(array);
    weft_eager_review(eager);
}

void weft_eager_assign(weft_eager_array **place, weft_eager_array *array)
{
    if (place == NULL) return;
    weft_eager_array *old = *place;
    *place = array;
    weft_eager_release(old);
}

/* ---- in ---- */

static weft_status *make_from(weft_eager *eager, weft_array *array, weft_eager_array **out_array)
{
    weft_eager_type *type;
    WEFT_TRY(weft_eager_type_acquire(eager, weft_array_dtype(array), weft_array_rank(array), weft_array_shape(array),
                                     &type));
    weft_status *status = weft_eager_array_create(eager, type, array, out_array);
    weft_eager_type_release(eager, type);
    return status;
}

/* Reports `status`, or hands out what was made. */
static weft_eager_array *made_or_failed(weft_eager *eager, weft_status *status, weft_eager_array *made)
{
    if (status == NULL) return made;
    weft_eager_fail(eager, status, NULL, 0);
    return NULL;
}

weft_eager_array *weft_eager_from(weft_eager *eager, weft_array *array)
{
    weft_eager_array *made = NULL;
    if (eager == NULL) return NULL;
    weft_status *status = array == NULL ? weft_status_null(__func__, "array") : make_from(eager, array, &made);
    return made_or_failed(eager, status, made);
}

weft_status *weft_eager_array_copy(weft_eager *eager, weft_dtype dtype, weft_ints shape, const void *data,
                                   weft_eager_array **out_array)
{
    weft_array *array;
    if (shape.count > 0 && shape.items == NULL) return weft_status_null("weft_eager_copy", "shape");
    WEFT_TRY(weft_array_create(eager->allocator, dtype, shape.count, shape.items, &array));
    size_t size = (size_t)weft_array_count(array) * weft_dtype_size(dtype);
    weft_status *status = data == NULL && size > 0 ? weft_status_null("weft_eager_copy", "data") : NULL;
    if (status == NULL && size > 0) memcpy(weft_array_data(array), data, size);
    if (status == NULL) status = make_from(eager, array, out_array);
    if (status == NULL) (*out_array)->is_own = true;
    weft_array_release(array);
    return status;
}

weft_eager_array *weft_eager_copy(weft_eager *eager, weft_dtype dtype, weft_ints shape, const void *data)
{
    weft_eager_array *made = NULL;
    if (eager == NULL) return NULL;
    weft_status *status = weft_eager_array_copy(eager, dtype, shape, data, &made);
    return made_or_failed(eager, status, made);
}

WEFT_PLAIN_FUNCTION(weft_eager_array *, weft_eager_number, (weft_eager * eager, weft_dtype dtype, double value),
                    (eager, dtype, value))
{
    unsigned char element[16] = {0};
    if (weft_dtype_info_of(dtype) != NULL) weft_scalar_store(dtype, value, element);
    return weft_eager_copy(eager, dtype, (weft_ints){0, NULL}, element);
}

/* ---- read ---- */

bool weft_eager_is_known(const weft_eager_array *array)
{
    return array->value != NULL;
}

weft_dtype weft_eager_dtype(const weft_eager_array *array)
{
    return array->type->dtype;
}

size_t weft_eager_rank(const weft_eager_array *array)
{
    return array->type->rank;
}

const int64_t *weft_eager_shape(const weft_eager_array *array)
{
    return array->type->extents;
}

int64_t weft_eager_count(const weft_eager_array *array)
{
    return array->type->count;
}
