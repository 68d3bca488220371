/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/data/device.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/data/array.h"
#include "runtime/data/array_layout.h"

/* ---- strided copies ---- */

/* Axes of more than one element, those that `to` steps furthest along first. */
typedef struct axes {
    size_t rank;
    int64_t shape[WEFT_MAX_RANK], to[WEFT_MAX_RANK], from[WEFT_MAX_RANK]; /* strides in bytes */
} axes;

static int64_t magnitude(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

static void insert_axis(axes *a, int64_t extent, int64_t to, int64_t from)
{
    size_t at = a->rank++;
    for (; at > 0 && magnitude(a->to[at - 1]) < magnitude(to); at--) {
        a->shape[at] = a->shape[at - 1];
        a->to[at] = a->to[at - 1];
        a->from[at] = a->from[at - 1];
    }
    a->shape[at] = extent;
    a->to[at] = to;
    a->from[at] = from;
}

/* Joins axes that both sides step through as through one. */
static void merge_axes(axes *a)
{
    size_t kept = 0;
    for (size_t i = 1; i < a->rank; i++) {
        if (a->to[kept] == a->to[i] * a->shape[i] && a->from[kept] == a->from[i] * a->shape[i])
            a->shape[kept] *= a->shape[i];
        else a->shape[++kept] = a->shape[i];
        a->to[kept] = a->to[i];
        a->from[kept] = a->from[i];
    }
    if (a->rank > 0) a->rank = kept + 1;
}

/* An axis that both sides walk backwards is walked forwards from its other end. */
static void fill_axes(const weft_device_layout *layout, axes *out_axes, char **to, const char **from)
{
    int64_t element = (int64_t)layout->element;
    out_axes->rank = 0;
    for (size_t i = 0; i < layout->rank; i++) {
        int64_t extent = layout->shape[i];
        if (extent == 1) continue;
        int64_t to_stride = layout->to_strides[i] * element, from_stride = layout->from_strides[i] * element;
        if (to_stride < 0 && from_stride < 0) {
            *to += (extent - 1) * to_stride;
            *from += (extent - 1) * from_stride;
            to_stride = -to_stride;
            from_stride = -from_stride;
        }
        insert_axis(out_axes, extent, to_stride, from_stride);
    }
    merge_axes(out_axes);
}

/* The last axis, if its elements lie side by side, is a row; the one before it makes the rows of a copy. */
weft_status *weft_device_copy(const weft_runtime *runtime, weft_driver_queue *queue, weft_copy_kind kind,
                              const weft_device_layout *layout, void *to, const void *from)
{
    const weft_queue_methods *methods = runtime->driver->queues;
    weft_copy copy = {.size = sizeof copy, .kind = kind, .width = layout->element, .rows = 1};
    char *target = to;
    const char *source = from;
    axes a;
    for (size_t i = 0; i < layout->rank; i++)
        if (layout->shape[i] == 0) return NULL;
    fill_axes(layout, &a, &target, &source);
    int64_t element = (int64_t)layout->element;
    if (a.rank > 0 && a.to[a.rank - 1] == element && a.from[a.rank - 1] == element)
        copy.width *= (size_t)a.shape[--a.rank];
    if (a.rank > 0) {
        a.rank--;
        copy.rows = a.shape[a.rank];
        copy.to_pitch = a.to[a.rank];
        copy.from_pitch = a.from[a.rank];
    }
    int64_t index[WEFT_MAX_RANK] = {0};
    for (;;) {
        copy.to = target;
        copy.from = source;
        WEFT_TRY(methods->copy(runtime->self, queue, &copy));
        size_t axis = a.rank;
        while (axis > 0 && ++index[axis - 1] == a.shape[axis - 1]) {
            axis--;
            index[axis] = 0;
            target -= (a.shape[axis] - 1) * a.to[axis];
            source -= (a.shape[axis] - 1) * a.from[axis];
        }
        if (axis == 0) return NULL;
        target += a.to[axis - 1];
        source += a.from[axis - 1];
    }
}

/* ---- tables ---- */

/* What is missing at the end of a struct from an older header counts as zero. */
#define HAS_FIELD(table, field) ((table)->size >= offsetof(__typeof__(*(table)), field) + sizeof((table)->field))

static bool is_whole(const weft_queue_methods *queues)
{
    return HAS_FIELD(queues, destroy_event) && queues->create != NULL && queues->destroy != NULL &&
           queues->copy != NULL && queues->store != NULL && queues->launch != NULL && queues->multiply != NULL &&
           queues->sort != NULL && queues->finish != NULL && queues->record != NULL && queues->wait != NULL &&
           queues->is_done != NULL && queues->finish_event != NULL && queues->destroy_event != NULL;
}

const char *weft_runtime_fault(const weft_runtime *runtime)
{
    if (!HAS_FIELD(runtime, compiler) || runtime->name == NULL || runtime->driver == NULL)
        return "it needs its size, a name and a driver";
    const weft_driver *driver = runtime->driver;
    const weft_compiler *compiler = runtime->compiler;
    if (!HAS_FIELD(driver, unload)) return "its driver says it is shorter than version 0.1 of the table";
    if ((driver->allocate == NULL) != (driver->release == NULL)) return "its driver has one of allocate and release";
    if ((driver->load == NULL) != (driver->unload == NULL)) return "its driver has one of load and unload";
    if (weft_device_is_apart(runtime) && !is_whole(driver->queues)) return "its driver lacks a function of queues";
    if (weft_device_is_apart(runtime) && driver->allocate == NULL)
        return "its driver has queues, but does not allocate";
    if (compiler != NULL && (!HAS_FIELD(compiler, build) || compiler->build == NULL))
        return "its compiler has no build function";
    return NULL;
}

#undef HAS_FIELD

static weft_status *check_runtime(const weft_allocator *allocator, const weft_runtime *runtime, const char *function)
{
    const char *fault = weft_runtime_fault(runtime);
    if (fault == NULL) return NULL;
    return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, function, "the runtime cannot be used: %s", fault);
}

/* ---- arrays ---- */

/* Memory of a driver, for one array. */
typedef struct device_memory {
    weft_allocator allocator;
    const weft_runtime *runtime;
    void *data;
    size_t bytes;
} device_memory;

static void release_memory(void *context)
{
    device_memory *memory = context;
    weft_allocator allocator = memory->allocator;
    memory->runtime->driver->release(memory->runtime->self, memory->data, memory->bytes);
    weft_free(&allocator, memory, sizeof *memory);
}

static weft_status *create_memory(const weft_allocator *allocator, const weft_runtime *runtime, size_t bytes,
                                  device_memory **out_memory)
{
    device_memory *memory = weft_allocate(allocator, sizeof *memory);
    if (memory == NULL) return weft_status_out_of_memory();
    *memory = (device_memory){.allocator = *allocator, .runtime = runtime, .bytes = bytes};
    weft_status *status = runtime->driver->allocate(runtime->self, bytes, &memory->data);
    if (status == NULL) *out_memory = memory;
    else weft_free(allocator, memory, sizeof *memory);
    return status;
}

weft_status *weft_array_create_on(const weft_allocator *allocator, const weft_runtime *runtime, weft_dtype dtype,
                                  size_t rank, const int64_t *shape, weft_array **out_array)
{
    weft_layout layout = {.where = __func__, .dtype = dtype, .rank = rank, .shape = shape};
    WEFT_REQUIRE(runtime);
    WEFT_REQUIRE(out_array);
    WEFT_TRY(check_runtime(allocator, runtime, __func__));
    if (runtime->driver->allocate == NULL) return weft_array_create(allocator, dtype, rank, shape, out_array);
    allocator = weft_allocator_or_default(allocator);
    WEFT_TRY(weft_layout_fill(allocator, &layout));
    size_t bytes = layout.count == 0 ? 1 : (size_t)layout.count * weft_dtype_size(dtype);
    device_memory *memory = NULL;
    WEFT_TRY(create_memory(allocator, runtime, bytes, &memory));
    weft_status *status = weft_array_wrap_on(allocator, runtime, dtype, rank, shape, NULL, memory->data, release_memory,
                                             memory, out_array);
    if (status != NULL) release_memory(memory);
    return status;
}

weft_status *weft_array_wrap_on(const weft_allocator *allocator, const weft_runtime *runtime, weft_dtype dtype,
                                size_t rank, const int64_t *shape, const int64_t *strides, void *data,
                                void (*release)(void *context), void *context, weft_array **out_array)
{
    const weft_layout layout = {__func__, dtype, rank, shape, strides, 0, 0, 0};
    WEFT_REQUIRE(runtime);
    WEFT_REQUIRE(out_array);
    WEFT_TRY(check_runtime(allocator, runtime, __func__));
    WEFT_TRY(weft_array_wrap_layout(allocator, layout, data, release, context, out_array));
    weft_array_set_runtime(*out_array, runtime);
    return NULL;
}
