/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/data/array.h"
#include <inttypes.h>
#include <string.h>
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/data/device.h"
#include "runtime/data/array_layout.h"

enum { DATA_ALIGNMENT = 64 };

/* ---- layouts ---- */

static weft_status *too_large(const weft_allocator *allocator, const weft_layout *layout, const char *what)
{
    return weft_status_create(allocator, WEFT_OUT_OF_RANGE, layout->where, "the %s of the array overflows 64 bits",
                              what);
}

static weft_status *check_kind(const weft_allocator *allocator, const weft_layout *layout)
{
    if (weft_dtype_info_of(layout->dtype) == NULL)
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, layout->where, "dtype %d does not exist",
                                  (int)layout->dtype);
    if (layout->rank > WEFT_MAX_RANK)
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, layout->where, "rank %zu is over the limit of %d",
                                  layout->rank, WEFT_MAX_RANK);
    return NULL;
}

/* Product of the extents; an extent of 0 makes it 0 however large the others are. */
static weft_status *fill_count(const weft_allocator *allocator, weft_layout *layout)
{
    bool empty = false, overflow = false;
    layout->count = 1;
    for (size_t axis = 0; axis < layout->rank; axis++) {
        int64_t extent = layout->shape[axis];
        if (extent < 0)
            return weft_status_create(allocator, WEFT_OUT_OF_RANGE, layout->where,
                                      "extent %" PRId64 " of axis %zu is negative", extent, axis);
        if (extent == 0) empty = true;
        else overflow |= __builtin_mul_overflow(layout->count, extent, &layout->count);
    }
    if (empty) layout->count = 0;
    return overflow && !empty ? too_large(allocator, layout, "element count") : NULL;
}

/* Offsets the elements reach, and whether the bytes between them can be addressed. */
static weft_status *fill_span(const weft_allocator *allocator, weft_layout *layout)
{
    layout->low = 0;
    layout->high = layout->strides == NULL && layout->count > 0 ? layout->count - 1 : 0;
    bool overflow = false;
    for (size_t axis = 0; layout->strides != NULL && layout->count > 0 && axis < layout->rank; axis++) {
        int64_t reach;
        overflow |= __builtin_mul_overflow(layout->shape[axis] - 1, layout->strides[axis], &reach);
        int64_t *end = reach < 0 ? &layout->low : &layout->high;
        overflow |= __builtin_add_overflow(*end, reach, end);
    }
    int64_t bytes;
    overflow |= __builtin_sub_overflow(layout->high, layout->low, &bytes);
    overflow |= __builtin_add_overflow(bytes, 1, &bytes);
    overflow |= __builtin_mul_overflow(bytes, (int64_t)weft_dtype_size(layout->dtype), &bytes);
    return overflow ? too_large(allocator, layout, "byte size") : NULL;
}

weft_status *weft_layout_fill(const weft_allocator *allocator, weft_layout *layout)
{
    WEFT_TRY(check_kind(allocator, layout));
    if (layout->rank > 0 && layout->shape == NULL)
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, layout->where, "the shape of rank %zu is NULL",
                                  layout->rank);
    WEFT_TRY(fill_count(allocator, layout));
    return fill_span(allocator, layout);
}

/* Where the product overflows the array is empty and no stride is used. */
static void fill_row_major(size_t rank, const int64_t *shape, int64_t *out_strides)
{
    int64_t stride = 1;
    for (size_t axis = rank; axis-- > 0;) {
        out_strides[axis] = stride;
        if (shape[axis] > 1 && __builtin_mul_overflow(stride, shape[axis], &stride)) stride = 0;
    }
}

static bool is_row_major(const weft_array *array)
{
    if (array->count <= 1) return true;
    int64_t expected = 1;
    const int64_t *strides = array->extents + array->rank;
    for (size_t axis = array->rank; axis-- > 0;) {
        if (array->extents[axis] == 1) continue;
        if (strides[axis] != expected) return false;
        expected *= array->extents[axis];
    }
    return true;
}

/* ---- making and ending ---- */

/* An array of `layout` with `extra` bytes after it in the same block. */
static weft_array *array_allocate(const weft_allocator *allocator, const weft_layout *layout, size_t extra)
{
    allocator = weft_allocator_or_default(allocator);
    size_t header = sizeof(weft_array) + 2 * layout->rank * sizeof(int64_t);
    if (extra > 0) header = (header + DATA_ALIGNMENT - 1) / DATA_ALIGNMENT * DATA_ALIGNMENT;
    size_t size, alignment = extra > 0 ? DATA_ALIGNMENT : _Alignof(max_align_t);
    if (__builtin_add_overflow(header, extra, &size)) return NULL;
    weft_array *array = allocator->resize(allocator->self, NULL, 0, size, alignment);
    if (array == NULL) return NULL;
    *array = (weft_array){.allocator = *allocator,
                          .block_size = size,
                          .block_alignment = alignment,
                          .data = (char *)array + header,
                          .device = {WEFT_DEVICE_CPU, 0},
                          .dtype = layout->dtype,
                          .rank = layout->rank,
                          .count = layout->count};
    atomic_init(&array->references, 1);
    for (size_t axis = 0; axis < layout->rank; axis++) array->extents[axis] = layout->shape[axis];
    if (layout->strides == NULL) fill_row_major(layout->rank, layout->shape, weft_array_own_strides(array));
    else memcpy(weft_array_own_strides(array), layout->strides, layout->rank * sizeof(int64_t));
    array->contiguous = is_row_major(array);
    return array;
}

weft_array *weft_array_retain(weft_array *array)
{
    if (array != NULL) atomic_fetch_add_explicit(&array->references, 1, memory_order_relaxed);
    return array;
}

void weft_array_release(weft_array *array)
{
    while (array != NULL && atomic_fetch_sub_explicit(&array->references, 1, memory_order_acq_rel) == 1) {
        weft_array *base = array->base;
        weft_allocator allocator = array->allocator;
        if (array->release != NULL) array->release(array->context);
        allocator.resize(allocator.self, array, array->block_size, 0, array->block_alignment);
        array = base;
    }
}

weft_status *weft_array_create(const weft_allocator *allocator, weft_dtype dtype, size_t rank, const int64_t *shape,
                               weft_array **out_array)
{
    weft_layout layout = {.where = __func__, .dtype = dtype, .rank = rank, .shape = shape};
    WEFT_REQUIRE(out_array);
    WEFT_TRY(weft_layout_fill(allocator, &layout));
    /* At least one byte, so that the data of an empty array is a pointer of its own, aligned as promised. */
    size_t bytes = layout.count == 0 ? 1 : (size_t)layout.count * weft_dtype_size(dtype);
    weft_array *array = array_allocate(allocator, &layout, bytes);
    if (array == NULL) return weft_status_out_of_memory();
    *out_array = array;
    return NULL;
}

static weft_status *check_data(const weft_allocator *allocator, const char *where, weft_dtype dtype, int64_t count,
                               const void *data)
{
    const weft_dtype_info *info = weft_dtype_info_of(dtype);
    if (count == 0) return NULL;
    if (data == NULL)
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where, "data of %" PRId64 " elements is NULL",
                                  count);
    if ((uintptr_t)data % info->alignment != 0)
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where,
                                  "data at %p is not aligned to the %zu bytes that %s needs", data, info->alignment,
                                  info->name);
    return NULL;
}

weft_status *weft_array_wrap_layout(const weft_allocator *allocator, weft_layout layout, void *data,
                                    void (*release)(void *context), void *context, weft_array **out_array)
{
    WEFT_TRY(weft_layout_fill(allocator, &layout));
    WEFT_TRY(check_data(allocator, layout.where, layout.dtype, layout.count, data));
    weft_array *array = array_allocate(allocator, &layout, 0);
    if (array == NULL) return weft_status_out_of_memory();
    array->data = data;
    array->release = release;
    array->context = context;
    *out_array = array;
    return NULL;
}

weft_status *weft_array_wrap(const weft_allocator *allocator, weft_dtype dtype, size_t rank, const int64_t *shape,
                             const int64_t *strides, void *data, void (*release)(void *context), void *context,
                             weft_array **out_array)
{
    const weft_layout layout = {__func__, dtype, rank, shape, strides, 0, 0, 0};
    WEFT_REQUIRE(out_array);
    return weft_array_wrap_layout(allocator, layout, data, release, context, out_array);
}

weft_status *weft_array_move(weft_array *array, const char *where, void *data)
{
    WEFT_TRY(check_data(&array->allocator, where, array->dtype, array->count, data));
    array->data = data;
    return NULL;
}

/* Whether a view that starts `offset` elements after `base`'s first stays inside what `base` addresses. */
static weft_status *check_inside(const weft_array *base, const weft_layout *view, int64_t offset)
{
    weft_layout whole = {
        .dtype = base->dtype, .rank = base->rank, .shape = base->extents, .strides = base->extents + base->rank};
    WEFT_TRY(weft_layout_fill(&base->allocator, &whole));
    int64_t low, high;
    bool overflow = __builtin_add_overflow(view->low, offset, &low);
    overflow |= __builtin_add_overflow(view->high, offset, &high);
    if (view->count == 0) return NULL;
    if (whole.count == 0)
        return weft_status_create(&base->allocator, WEFT_OUT_OF_RANGE, "weft_array_view",
                                  "a view of %" PRId64 " elements cannot lie in an empty base", view->count);
    if (overflow || low < whole.low || high > whole.high)
        return weft_status_create(&base->allocator, WEFT_OUT_OF_RANGE, "weft_array_view",
                                  "elements %" PRId64 " to %" PRId64 " from offset %" PRId64
                                  " leave the base, which addresses %" PRId64 " to %" PRId64,
                                  view->low, view->high, offset, whole.low, whole.high);
    return NULL;
}

weft_status *weft_array_view(weft_array *base, size_t rank, const int64_t *shape, const int64_t *strides,
                             int64_t offset, weft_array **out_array)
{
    WEFT_REQUIRE(base);
    WEFT_REQUIRE(out_array);
    weft_layout layout = {.where = __func__, .dtype = base->dtype, .rank = rank, .shape = shape, .strides = strides};
    WEFT_TRY(weft_layout_fill(&base->allocator, &layout));
    WEFT_TRY(check_inside(base, &layout, offset));
    weft_array *array = array_allocate(&base->allocator, &layout, 0);
    if (array == NULL) return weft_status_out_of_memory();
    array->base = weft_array_retain(base);
    array->device = base->device;
    array->runtime = base->runtime;
    array->read_only = base->read_only;
    array->data = base->data;
    if (layout.count > 0) array->data = (char *)base->data + offset * (int64_t)weft_dtype_size(base->dtype);
    *out_array = array;
    return NULL;
}

/* ---- reading ---- */

weft_dtype weft_array_dtype(const weft_array *array)
{
    return array->dtype;
}

size_t weft_array_rank(const weft_array *array)
{
    return array->rank;
}

const int64_t *weft_array_shape(const weft_array *array)
{
    return array->extents;
}

const int64_t *weft_array_strides(const weft_array *array)
{
    return array->extents + array->rank;
}

void *weft_array_data(const weft_array *array)
{
    return array->data;
}

weft_device weft_array_device(const weft_array *array)
{
    return array->device;
}

void weft_array_set_runtime(weft_array *array, const weft_runtime *runtime)
{
    array->device = runtime->driver->device;
    array->runtime = weft_device_is_apart(runtime) ? runtime : NULL;
}

int64_t weft_array_count(const weft_array *array)
{
    return array->count;
}

bool weft_array_is_read_only(const weft_array *array)
{
    return array->read_only;
}

bool weft_array_is_contiguous(const weft_array *array)
{
    return array->contiguous;
}

void weft_array_span(const weft_array *array, int64_t *out_low, int64_t *out_high)
{
    int64_t size = (int64_t)weft_dtype_size(array->dtype);
    *out_low = *out_high = 0;
    if (array->count == 0) return;
    for (size_t axis = 0; axis < array->rank; axis++) {
        int64_t reach = (array->extents[axis] - 1) * weft_array_strides(array)[axis] * size;
        *(reach < 0 ? out_low : out_high) += reach;
    }
    *out_high += size;
}
