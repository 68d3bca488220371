/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <weft/dlpack.h>
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/data/array_layout.h"

enum { DLPACK_MAJOR = 1 };

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
                                  "DLPack type code %u of %u bits and %u lanes is not a dtype",
                                  (unsigned)dl->dtype.code, (unsigned)dl->dtype.bits, (unsigned)dl->dtype.lanes);
    if (dl->device.device_type != kDLCPU && dl->device.device_type != kDLCUDA)
        return weft_status_create(allocator, WEFT_UNSUPPORTED, where, "DLPack device type %d is neither CPU nor CUDA",
                                  (int)dl->device.device_type);
    if (dl->ndim < 0)
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where, "DLPack rank %d is negative", dl->ndim);
    if (dl->byte_offset > UINTPTR_MAX - (uintptr_t)dl->data)
        return weft_status_create(allocator, WEFT_OUT_OF_RANGE, where,
                                  "DLPack byte_offset %" PRIu64 " leads beyond the end of memory", dl->byte_offset);
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
    const weft_layout layout = {where, dtype, (size_t)dl->ndim, dl->shape, dl->strides, 0, 0, 0};
    WEFT_TRY(weft_array_wrap_layout(allocator, layout, data, release, tensor, &array));
    /* There is one CPU, whatever number it has. */
    int index = dl->device.device_type == kDLCPU ? 0 : dl->device.device_id;
    array->device = (weft_device){(weft_device_kind)dl->device.device_type, index};
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
                      .strides = weft_array_own_strides(array)};
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
                                  "the array is read-only: only weft_array_export_dlpack_versioned can export it");
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
