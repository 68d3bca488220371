/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/data/array.h"
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <weft/dlpack.h>
#include "runtime/base/memory.h"
#include "runtime/base/status.h"

enum { DATA_ALIGNMENT = 64, DLPACK_MAJOR = 1 };

struct weft_array {
    atomic_size_t references;
    weft_allocator allocator; /* a copy: an array may outlive the object it was asked from */
    size_t block_size, block_alignment;
    weft_array *base; /* of a view; keeps the buffer */
    void (*release)(void *context);
    void *context;
    void *data;
    weft_device device;
    weft_dtype dtype;
    size_t rank;
    int64_t count;
    bool contiguous, read_only;
    int64_t extents[]; /* rank extents, then rank strides */
};

static int64_t *strides_of(weft_array *array)
{
    return array->extents + array->rank;
}

/* ---- layouts ---- */

struct layout {
    const char *where; /* for errors */
    weft_dtype dtype;
    size_t rank;
    const int64_t *shape;
    const int64_t *strides; /* NULL: row-major */
    int64_t count;
    int64_t low, high; /* least and greatest offset of an element, when count > 0 */
};

static weft_status *too_large(const weft_allocator *allocator, const struct layout *layout, const char *what)
{
    return weft_status_create(allocator, WEFT_OUT_OF_RANGE, layout->where, "the %s of the array overflows 64 bits",
                              what);
}

static weft_status *check_kind(const weft_allocator *allocator, const struct layout *layout)
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
static weft_status *fill_count(const weft_allocator *allocator, struct layout *layout)
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
static weft_status *fill_span(const weft_allocator *allocator, struct layout *layout)
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

static weft_status *layout_fill(const weft_allocator *allocator, struct layout *layout)
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
static weft_array *array_allocate(const weft_allocator *allocator, const struct layout *layout, size_t extra)
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
    if (layout->strides == NULL) fill_row_major(layout->rank, layout->shape, strides_of(array));
    else memcpy(strides_of(array), layout->strides, layout->rank * sizeof(int64_t));
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
    struct layout layout = {.where = __func__, .dtype = dtype, .rank = rank, .shape = shape};
    WEFT_REQUIRE(out_array);
    WEFT_TRY(layout_fill(allocator, &layout));
    /* At least one byte, so that the data of an empty array is a pointer of its own, aligned as promised. */
    size_t bytes = layout.count == 0 ? 1 : (size_t)layout.count * weft_dtype_size(dtype);
    weft_array *array = array_allocate(allocator, &layout, bytes);
    if (array == NULL) return weft_status_out_of_memory();
    *out_array = array;
    return NULL;
}

static weft_status *check_data(const weft_allocator *allocator, const struct layout *layout, const void *data)
{
    const weft_dtype_info *info = weft_dtype_info_of(layout->dtype);
    if (layout->count == 0) return NULL;
    if (data == NULL)
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, layout->where,
                                  "data of %" PRId64 " elements is NULL", layout->count);
    if ((uintptr_t)data % info->alignment != 0)
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, layout->where,
                                  "data at %p is not aligned to the %zu bytes that %s needs", data, info->alignment,
                                  info->name);
    return NULL;
}

static weft_status *wrap(const weft_allocator *allocator, struct layout layout, void *data,
                         void (*release)(void *context), void *context, weft_array **out_array)
{
    WEFT_TRY(layout_fill(allocator, &layout));
    WEFT_TRY(check_data(allocator, &layout, data));
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
    const struct layout layout = {__func__, dtype, rank, shape, strides, 0, 0, 0};
    WEFT_REQUIRE(out_array);
    return wrap(allocator, layout, data, release, context, out_array);
}

/* Whether a view that starts `offset` elements after `base`'s first stays inside what `base` addresses. */
static weft_status *check_inside(const weft_array *base, const struct layout *view, int64_t offset)
{
    struct layout whole = {
        .dtype = base->dtype, .rank = base->rank, .shape = base->extents, .strides = base->extents + base->rank};
    WEFT_TRY(layout_fill(&base->allocator, &whole));
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
    struct layout layout = {.where = __func__, .dtype = base->dtype, .rank = rank, .shape = shape, .strides = strides};
    WEFT_TRY(layout_fill(&base->allocator, &layout));
    WEFT_TRY(check_inside(base, &layout, offset));
    weft_array *array = array_allocate(&base->allocator, &layout, 0);
    if (array == NULL) return weft_status_out_of_memory();
    array->base = weft_array_retain(base);
    array->device = base->device;
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

static int compare_strides(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return x[0] < y[0] ? -1 : x[0] > y[0];
}

/* By increasing stride, each axis must step over all that the axes before it reach. */
bool weft_array_repeats(const weft_array *array, size_t *out_axis)
{
    int64_t axes[WEFT_MAX_RANK][2], reach = 0; /* stride, axis */
    size_t count = 0;
    if (array->contiguous) return false;
    for (size_t axis = 0; axis < array->rank; axis++) {
        int64_t stride = weft_array_strides(array)[axis];
        if (array->extents[axis] == 1) continue;
        axes[count][0] = stride < 0 ? -stride : stride;
        axes[count++][1] = (int64_t)axis;
    }
    qsort(axes, count, sizeof axes[0], compare_strides);
    for (size_t i = 0; i < count; i++) {
        *out_axis = (size_t)axes[i][1];
        if (axes[i][0] <= reach) return true;
        reach += axes[i][0] * (array->extents[*out_axis] - 1);
    }
    return false;
}

/* ---- DLPack ---- */

static bool find_dlpack_dtype(DLDataType type, weft_dtype *out_dtype)
{
    for (unsigned i = 0; i < WEFT_DTYPE_COUNT; i++) {
        const weft_dtype_info *info = weft_dtype_info_of((weft_dtype)i);
        if (type.code != info->dlpack_code || type.bits != 8 * info->size || type.lanes != 1) continue;
        *out_dtype = (weft_dtype)i;
        return true;
    }
    return false;
}

static weft_status *check_dlpack(const weft_allocator *allocator, const char *where, const DLTensor *dl,
                                 weft_dtype *out_dtype)
{
    if (!find_dlpack_dtype(dl->dtype, out_dtype))
        return weft_status_create(allocator, WEFT_UNSUPPORTED, where,
                                  "DLPack type code %u of %u bits and %u lanes is no dtype", (unsigned)dl->dtype.code,
                                  (unsigned)dl->dtype.bits, (unsigned)dl->dtype.lanes);
    if (dl->device.device_type != kDLCPU && dl->device.device_type != kDLCUDA)
        return weft_status_create(allocator, WEFT_UNSUPPORTED, where, "DLPack device type %d is neither CPU nor CUDA",
                                  (int)dl->device.device_type);
    if (dl->ndim < 0)
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where, "DLPack rank %d is negative", dl->ndim);
    return NULL;
}

/* An array of what `dl` says, which is part of `tensor`. */
static weft_status *import(const weft_allocator *allocator, const char *where, const DLTensor *dl,
                           void (*release)(void *tensor), void *tensor, weft_array **out_array)
{
    weft_dtype dtype = WEFT_BOOL;
    weft_array *array = NULL;
    WEFT_TRY(check_dlpack(allocator, where, dl, &dtype));
    void *data = dl->data == NULL ? NULL : (char *)dl->data + dl->byte_offset;
    const struct layout layout = {where, dtype, (size_t)dl->ndim, dl->shape, dl->strides, 0, 0, 0};
    WEFT_TRY(wrap(allocator, layout, data, release, tensor, &array));
    array->device = (weft_device){(weft_device_kind)dl->device.device_type, dl->device.device_id};
    *out_array = array;
    return NULL;
}

static void release_dlpack(void *context)
{
    DLManagedTensor *tensor = context;
    if (tensor->deleter != NULL) tensor->deleter(tensor);
}

weft_status *weft_array_import_dlpack(const weft_allocator *allocator, DLManagedTensor *tensor, weft_array **out_array)
{
    WEFT_REQUIRE(tensor);
    WEFT_REQUIRE(out_array);
    return import(allocator, __func__, &tensor->dl_tensor, release_dlpack, tensor, out_array);
}

static void release_versioned(void *context)
{
    DLManagedTensorVersioned *tensor = context;
    if (tensor->deleter != NULL) tensor->deleter(tensor);
}

weft_status *weft_array_import_dlpack_versioned(const weft_allocator *allocator, DLManagedTensorVersioned *tensor,
                                                weft_array **out_array)
{
    WEFT_REQUIRE(tensor);
    WEFT_REQUIRE(out_array);
    if (tensor->version.major != DLPACK_MAJOR)
        return weft_status_create(allocator, WEFT_VERSION_MISMATCH, __func__,
                                  "the tensor is of DLPack %" PRIu32 ".%" PRIu32 ", but this library knows %d.x",
                                  tensor->version.major, tensor->version.minor, DLPACK_MAJOR);
    weft_array *array;
    WEFT_TRY(import(allocator, __func__, &tensor->dl_tensor, release_versioned, tensor, &array));
    array->read_only = (tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
    *out_array = array;
    return NULL;
}

static DLTensor describe(weft_array *array)
{
    const weft_dtype_info *info = weft_dtype_info_of(array->dtype);
    return (DLTensor){.data = array->data,
                      .device = {(DLDeviceType)array->device.kind, array->device.index},
                      .ndim = (int)array->rank,
                      .dtype = {info->dlpack_code, (uint8_t)(8 * info->size), 1},
                      .shape = array->extents,
                      .strides = strides_of(array)};
}

static void delete_dlpack(DLManagedTensor *tensor)
{
    weft_array *array = tensor->manager_ctx;
    weft_free(&array->allocator, tensor, sizeof *tensor);
    weft_array_release(array);
}

weft_status *weft_array_export_dlpack(weft_array *array, DLManagedTensor **out_tensor)
{
    WEFT_REQUIRE(array);
    WEFT_REQUIRE(out_tensor);
    if (array->read_only)
        return weft_status_create(&array->allocator, WEFT_INVALID_ARGUMENT, __func__,
                                  "the array is read only, which only weft_array_export_dlpack_versioned can say");
    DLManagedTensor *tensor = weft_allocate(&array->allocator, sizeof *tensor);
    if (tensor == NULL) return weft_status_out_of_memory();
    *tensor = (DLManagedTensor){
        .dl_tensor = describe(array), .manager_ctx = weft_array_retain(array), .deleter = delete_dlpack};
    *out_tensor = tensor;
    return NULL;
}

static void delete_versioned(DLManagedTensorVersioned *tensor)
{
    weft_array *array = tensor->manager_ctx;
    weft_free(&array->allocator, tensor, sizeof *tensor);
    weft_array_release(array);
}

weft_status *weft_array_export_dlpack_versioned(weft_array *array, DLManagedTensorVersioned **out_tensor)
{
    WEFT_REQUIRE(array);
    WEFT_REQUIRE(out_tensor);
    DLManagedTensorVersioned *tensor = weft_allocate(&array->allocator, sizeof *tensor);
    if (tensor == NULL) return weft_status_out_of_memory();
    *tensor = (DLManagedTensorVersioned){.version = {DLPACK_MAJOR, 0},
                                         .manager_ctx = weft_array_retain(array),
                                         .deleter = delete_versioned,
                                         .flags = array->read_only ? DLPACK_FLAG_BITMASK_READ_ONLY : 0,
                                         .dl_tensor = describe(array)};
    *out_tensor = tensor;
    return NULL;
}

/* ---- copying ---- */

typedef struct copy_plan {
    size_t rank, element;
    const int64_t *shape, *to_strides, *from_strides;
} copy_plan;

/* Constant sizes let the compiler turn each copy into one load and one store. */
static void copy_row(const copy_plan *plan, size_t axis, char *to, const char *from)
{
    int64_t count = plan->shape[axis];
    ptrdiff_t to_step = plan->to_strides[axis] * (int64_t)plan->element;
    ptrdiff_t from_step = plan->from_strides[axis] * (int64_t)plan->element;
    if (plan->to_strides[axis] == 1 && plan->from_strides[axis] == 1) {
        memmove(to, from, (size_t)count * plan->element);
        return;
    }
    switch (plan->element) {
    case 1:
        for (int64_t i = 0; i < count; i++) to[i * to_step] = from[i * from_step];
        break;
    case 2:
        for (int64_t i = 0; i < count; i++) memcpy(to + i * to_step, from + i * from_step, 2);
        break;
    case 4:
        for (int64_t i = 0; i < count; i++) memcpy(to + i * to_step, from + i * from_step, 4);
        break;
    case 8:
        for (int64_t i = 0; i < count; i++) memcpy(to + i * to_step, from + i * from_step, 8);
        break;
    default:
        for (int64_t i = 0; i < count; i++) memcpy(to + i * to_step, from + i * from_step, plan->element);
    }
}

static void copy_axes(const copy_plan *plan, size_t axis, char *to, const char *from)
{
    if (axis + 1 == plan->rank) {
        copy_row(plan, axis, to, from);
        return;
    }
    int64_t element = (int64_t)plan->element;
    for (int64_t i = 0; i < plan->shape[axis]; i++)
        copy_axes(plan, axis + 1, to + i * plan->to_strides[axis] * element,
                  from + i * plan->from_strides[axis] * element);
}

static weft_status *check_copy(const weft_array *destination, const weft_array *source)
{
    const weft_allocator *allocator = &destination->allocator;
    if (destination->device.kind != WEFT_DEVICE_CPU || source->device.kind != WEFT_DEVICE_CPU)
        return weft_status_create(allocator, WEFT_UNSUPPORTED, "weft_array_copy", "both arrays must be on the CPU");
    if (destination->read_only)
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, "weft_array_copy", "the destination is read only");
    if (destination->dtype != source->dtype)
        return weft_status_create(allocator, WEFT_DTYPE_MISMATCH, "weft_array_copy",
                                  "destination is %s and source is %s", weft_dtype_name(destination->dtype),
                                  weft_dtype_name(source->dtype));
    if (destination->rank != source->rank)
        return weft_status_create(allocator, WEFT_SHAPE_MISMATCH, "weft_array_copy",
                                  "destination has rank %zu and source has rank %zu", destination->rank, source->rank);
    for (size_t axis = 0; axis < source->rank; axis++)
        if (destination->extents[axis] != source->extents[axis])
            return weft_status_create(allocator, WEFT_SHAPE_MISMATCH, "weft_array_copy",
                                      "axis %zu has extent %" PRId64 " in destination and %" PRId64 " in source", axis,
                                      destination->extents[axis], source->extents[axis]);
    size_t axis;
    if (weft_array_repeats(destination, &axis))
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, "weft_array_copy",
                                  "stride %" PRId64 " of axis %zu over extent %" PRId64
                                  " of the destination addresses elements twice",
                                  weft_array_strides(destination)[axis], axis, destination->extents[axis]);
    return NULL;
}

static void copy_apart(weft_array *destination, const weft_array *source)
{
    copy_plan plan = {.rank = source->rank,
                      .element = weft_dtype_size(source->dtype),
                      .shape = source->extents,
                      .to_strides = weft_array_strides(destination),
                      .from_strides = weft_array_strides(source)};
    if (source->contiguous && destination->contiguous)
        memmove(destination->data, source->data, (size_t)source->count * plan.element);
    else copy_axes(&plan, 0, destination->data, source->data);
}

/* Whether an element could be overwritten before it is read. Decided on spans: what interleaves counts as well. */
static bool overlap(const weft_array *x, const weft_array *y)
{
    int64_t x_low, x_high, y_low, y_high;
    if (x->contiguous && y->contiguous) return false; /* one move */
    weft_array_span(x, &x_low, &x_high);
    weft_array_span(y, &y_low, &y_high);
    uintptr_t from_x = (uintptr_t)x->data, from_y = (uintptr_t)y->data;
    return from_x + (uintptr_t)x_low < from_y + (uintptr_t)y_high &&
           from_y + (uintptr_t)y_low < from_x + (uintptr_t)x_high;
}

weft_status *weft_array_copy(weft_array *destination, const weft_array *source)
{
    WEFT_REQUIRE(destination);
    WEFT_REQUIRE(source);
    WEFT_TRY(check_copy(destination, source));
    if (source->count == 0) return NULL;
    if (!overlap(destination, source)) {
        copy_apart(destination, source);
        return NULL;
    }
    weft_array *dense;
    WEFT_TRY(weft_array_create(&destination->allocator, source->dtype, source->rank, source->extents, &dense));
    copy_apart(dense, source);
    copy_apart(destination, dense);
    weft_array_release(dense);
    return NULL;
}

static int64_t minus_magnitude(int64_t stride)
{
    return stride < 0 ? stride : -stride;
}

/* The longest strides first, so that a permuted array is copied in the order of its memory. */
static void sort_axes(size_t rank, int64_t *shape, int64_t *strides)
{
    for (size_t i = 1; i < rank; i++) {
        int64_t extent = shape[i], stride = strides[i];
        size_t at = i;
        for (; at > 0 && minus_magnitude(strides[at - 1]) > minus_magnitude(stride); at--) {
            shape[at] = shape[at - 1];
            strides[at] = strides[at - 1];
        }
        shape[at] = extent;
        strides[at] = stride;
    }
}

void weft_array_copy_elements(const weft_array *array, void *to, const void *from)
{
    int64_t shape[WEFT_MAX_RANK], strides[WEFT_MAX_RANK];
    size_t rank = array->rank, element = weft_dtype_size(array->dtype);
    if (array->contiguous) {
        memcpy(to, from, (size_t)array->count * element);
        return;
    }
    memcpy(shape, array->extents, rank * sizeof *shape);
    memcpy(strides, weft_array_strides(array), rank * sizeof *strides);
    sort_axes(rank, shape, strides);
    copy_axes(&(copy_plan){rank, element, shape, strides, strides}, 0, to, from);
}

weft_status *weft_array_retain_dense(const weft_allocator *allocator, weft_array *array, weft_array **out_dense)
{
    weft_array *dense;
    WEFT_REQUIRE(array);
    WEFT_REQUIRE(out_dense);
    if (weft_array_is_contiguous(array)) {
        *out_dense = weft_array_retain(array);
        return NULL;
    }
    WEFT_TRY(
        weft_array_create(allocator, weft_array_dtype(array), weft_array_rank(array), weft_array_shape(array), &dense));
    weft_status *status = weft_array_copy(dense, array);
    if (status == NULL) *out_dense = dense;
    else weft_array_release(dense);
    return status;
}
