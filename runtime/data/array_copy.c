/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>
#include "runtime/base/status.h"
#include "runtime/data/array.h"
#include "runtime/data/device.h"
#include "runtime/data/array_layout.h"

typedef struct copy_plan {
    size_t rank, element;
    const int64_t *shape, *to_strides, *from_strides;
} copy_plan;

/* Constant sizes let the compiler turn each copy into one load and one store. */
static void copy_row(const copy_plan *plan, size_t axis, char *to, const char *from)
{
    int64_t count = plan->shape[axis];
    if (count == 1 || (plan->to_strides[axis] == 1 && plan->from_strides[axis] == 1)) {
        memmove(to, from, (size_t)count * plan->element);
        return;
    }
    ptrdiff_t to_step = plan->to_strides[axis] * (int64_t)plan->element;
    ptrdiff_t from_step = plan->from_strides[axis] * (int64_t)plan->element;
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

/* Imported memory has no driver to copy it, unless it is on the CPU. */
static weft_status *check_memory(const char *which, const weft_array *array)
{
    if (array->runtime != NULL || array->device.kind == WEFT_DEVICE_CPU) return NULL;
    return weft_status_create(&array->allocator, WEFT_UNSUPPORTED, "weft_array_copy",
                              "the %s was imported, with memory of device %d:%d, which no runtime is known to copy",
                              which, (int)array->device.kind, (int)array->device.index);
}

static weft_status *check_copy(const weft_array *destination, const weft_array *source)
{
    const weft_allocator *allocator = &destination->allocator;
    if (destination->read_only)
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, "weft_array_copy", "the destination is read-only");
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
    const char *repeat = weft_array_find_repeat(destination, &axis);
    if (repeat != NULL)
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, "weft_array_copy",
                                  "stride %" PRId64 " of axis %zu over extent %" PRId64 " of the destination %s",
                                  weft_array_strides(destination)[axis], axis, destination->extents[axis], repeat);
    return NULL;
}

static weft_status *copy_by_driver(weft_array *destination, const weft_array *source, weft_driver_queue *queue)
{
    const weft_device_layout layout = {.element = weft_dtype_size(source->dtype),
                                       .rank = source->rank,
                                       .shape = source->extents,
                                       .to_strides = weft_array_strides(destination),
                                       .from_strides = weft_array_strides(source)};
    weft_copy_kind kind = source->runtime == NULL        ? WEFT_COPY_TO_DEVICE
                          : destination->runtime == NULL ? WEFT_COPY_TO_HOST
                                                         : WEFT_COPY_ON_DEVICE;
    const weft_runtime *runtime = source->runtime == NULL ? destination->runtime : source->runtime;
    return weft_device_copy(runtime, queue, kind, &layout, destination->data, source->data);
}

/* Memory that does not overlap, of the host and at most one device. */
static weft_status *copy_apart(weft_array *destination, const weft_array *source)
{
    if (destination->runtime != NULL || source->runtime != NULL) return copy_by_driver(destination, source, NULL);
    copy_plan plan = {.rank = source->rank,
                      .element = weft_dtype_size(source->dtype),
                      .shape = source->extents,
                      .to_strides = weft_array_strides(destination),
                      .from_strides = weft_array_strides(source)};
    if (source->contiguous && destination->contiguous)
        memmove(destination->data, source->data, (size_t)source->count * plan.element);
    else copy_axes(&plan, 0, destination->data, source->data);
    return NULL;
}

/* Whether an element could be overwritten before it is read. Decided on spans: what interleaves counts as well. */
static bool overlap(const weft_array *x, const weft_array *y)
{
    int64_t x_low, x_high, y_low, y_high;
    if (x->runtime != y->runtime) return false;
    if (x->runtime == NULL && x->contiguous && y->contiguous) return false; /* one move */
    weft_array_span(x, &x_low, &x_high);
    weft_array_span(y, &y_low, &y_high);
    uintptr_t from_x = (uintptr_t)x->data, from_y = (uintptr_t)y->data;
    return from_x + (uintptr_t)x_low < from_y + (uintptr_t)y_high &&
           from_y + (uintptr_t)y_low < from_x + (uintptr_t)x_high;
}

/* Whether there is memory of one device at most, and elements do not meet. */
static bool is_direct(const weft_array *destination, const weft_array *source)
{
    bool two_devices =
        destination->runtime != NULL && source->runtime != NULL && destination->runtime != source->runtime;
    return !two_devices && !overlap(destination, source);
}

static weft_status *check_all(const weft_array *destination, const weft_array *source)
{
    WEFT_TRY(check_copy(destination, source));
    if (source->count == 0) return NULL;
    WEFT_TRY(check_memory("destination", destination));
    return check_memory("source", source);
}

weft_status *weft_array_copy(weft_array *destination, const weft_array *source)
{
    WEFT_REQUIRE(destination);
    WEFT_REQUIRE(source);
    WEFT_TRY(check_all(destination, source));
    if (source->count == 0) return NULL;
    if (is_direct(destination, source)) return copy_apart(destination, source);
    weft_array *dense; /* on the way */
    WEFT_TRY(weft_array_create(&destination->allocator, source->dtype, source->rank, source->extents, &dense));
    weft_status *status = copy_apart(dense, source);
    if (status == NULL) status = copy_apart(destination, dense);
    weft_array_release(dense);
    return status;
}

weft_status *weft_array_copy_queued(weft_array *destination, const weft_array *source, const weft_runtime *runtime,
                                    weft_driver_queue *queue, bool *out_queued)
{
    *out_queued = false;
    WEFT_TRY(check_all(destination, source));
    const weft_runtime *by = source->runtime == NULL ? destination->runtime : source->runtime;
    if (source->count == 0 || by != runtime || !is_direct(destination, source)) return NULL;
    *out_queued = true;
    return copy_by_driver(destination, source, queue);
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
