/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_ARRAY_H
#define WEFT_ARRAY_H
/*
 * Arrays: a reference-counted buffer on a device, with dtype, shape and strides. This is how data enter and leave weft.
 * Strides count elements, may be 0 or negative, and the data pointer addresses element (0, ..., 0). Any thread may
 * retain and release.
 */
#include <weft/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

struct DLManagedTensor;          /* <dlpack/dlpack.h> */
struct DLManagedTensorVersioned; /* <weft/dlpack.h> */

typedef struct weft_array weft_array;

/* As DLDeviceType. WEFT_DEVICE_OTHER is a device driven by a third-party runtime. */
typedef enum weft_device_kind { WEFT_DEVICE_CPU = 1, WEFT_DEVICE_CUDA = 2, WEFT_DEVICE_OTHER = 12 } weft_device_kind;

typedef struct weft_device {
    weft_device_kind kind;
    int32_t index;
} weft_device;

/* A new row-major array, 64-byte aligned, contents unspecified. WEFT_OUT_OF_RANGE if a size is negative or the bytes
 * overflow, INVALID_ARGUMENT for a rank over WEFT_MAX_RANK. */
weft_status *weft_array_create(const weft_allocator *allocator, weft_dtype dtype, size_t rank, const int64_t *shape,
                               weft_array **out_array) WEFT_MUST_USE;

/*
 * Wraps `data`, which remains the caller's, without copying it. `strides` NULL means row-major. `release` (may be NULL)
 * is called with `context` once the last reference is gone, on the thread that ends it, and may use this library.
 * INVALID_ARGUMENT for data of a nonempty array that is NULL, or not aligned to the `alignment` of weft_dtype_info: the
 * bytes of an element, or of one part of a complex one.
 */
weft_status *weft_array_wrap(const weft_allocator *allocator, weft_dtype dtype, size_t rank, const int64_t *shape,
                             const int64_t *strides, void *data, void (*release)(void *context), void *context,
                             weft_array **out_array) WEFT_MUST_USE;

/* A view of the same buffer with another shape and strides (NULL: row-major), starting `offset` elements after `base`'s
 * first. The view keeps `base` alive. WEFT_OUT_OF_RANGE when an element would lie outside what `base` addresses. */
weft_status *weft_array_view(weft_array *base, size_t rank, const int64_t *shape, const int64_t *strides,
                             int64_t offset, weft_array **out_array) WEFT_MUST_USE;

/* Takes `tensor` and calls its deleter when the last reference is gone. On error `tensor` remains the caller's.
 * UNSUPPORTED for lanes other than 1 or an element type that is not a dtype; data must be aligned as for
 * weft_array_wrap. */
weft_status *weft_array_import_dlpack(const weft_allocator *allocator, struct DLManagedTensor *tensor,
                                      weft_array **out_array) WEFT_MUST_USE;

/* A DLPack tensor that holds a reference on `array`; the consumer calls its deleter. No copy. */
weft_status *weft_array_export_dlpack(weft_array *array, struct DLManagedTensor **out_tensor) WEFT_MUST_USE;

/*
 * The same for DLPack 1.x. A tensor flagged read-only becomes a read-only array, and such an array is exported with
 * that flag; weft_array_export_dlpack refuses it (INVALID_ARGUMENT), because the older struct has no such flag. The
 * flag for copies is ignored and never set. A tensor of another major version is VERSION_MISMATCH.
 */
weft_status *weft_array_import_dlpack_versioned(const weft_allocator *allocator,
                                                struct DLManagedTensorVersioned *tensor,
                                                weft_array **out_array) WEFT_MUST_USE;
weft_status *weft_array_export_dlpack_versioned(weft_array *array,
                                                struct DLManagedTensorVersioned **out_tensor) WEFT_MUST_USE;

/* Whether the elements must not be written: the array, or the one it is a view of, was imported as read-only. A run
 * does not accept such an array as an output or a donated input, nor weft_array_copy as its destination
 * (INVALID_ARGUMENT). */
bool weft_array_is_read_only(const weft_array *array);

weft_array *weft_array_retain(weft_array *array);
void weft_array_release(weft_array *array);

weft_dtype weft_array_dtype(const weft_array *array);
size_t weft_array_rank(const weft_array *array);
const int64_t *weft_array_shape(const weft_array *array);
const int64_t *weft_array_strides(const weft_array *array);
/* Must not be written through if the array is read-only. */
void *weft_array_data(const weft_array *array);
weft_device weft_array_device(const weft_array *array);
/* Product of the shape. */
int64_t weft_array_count(const weft_array *array);
/* Whether the elements lie row-major without gaps (always so for counts 0 and 1). */
bool weft_array_is_contiguous(const weft_array *array);

/*
 * Copies element by element between two arrays of equal dtype and shape, whatever their strides, on any devices. If
 * they overlap, the result is as if the whole source had been read first, which may need memory for a copy of it.
 * INVALID_ARGUMENT for a destination that is read-only or has two elements at one address (checked as for outputs of a
 * run: axes may interleave, but if three or more do and a search of 4096 steps is inconclusive, it is rejected too).
 * UNSUPPORTED for an imported array in device memory; DTYPE_MISMATCH, SHAPE_MISMATCH, and errors of the device's
 * driver. The copy is done when the call returns; it waits for no queue.
 */
weft_status *weft_array_copy(weft_array *destination, const weft_array *source) WEFT_MUST_USE;
/* The same elements row-major without gaps: `array` itself, retained, or a copy, which is possible only on the CPU
 * (otherwise UNSUPPORTED). */
weft_status *weft_array_retain_dense(const weft_allocator *allocator, weft_array *array,
                                     weft_array **out_dense) WEFT_MUST_USE;

/* ---- with names ---- */

/* An array under the name of its input or output. */
typedef struct weft_named_array {
    const char *name;
    weft_array *array;
} weft_named_array;

typedef struct weft_named_arrays {
    size_t count;
    weft_named_array *items;
} weft_named_arrays;

/* A list in place: WEFT_NAMED({"x", x}, {"w", w}). C only. */
#define WEFT_NAMED(...)                                                                                                \
    ((weft_named_arrays){sizeof((weft_named_array[]){__VA_ARGS__}) / sizeof(weft_named_array),                         \
                         (weft_named_array[]){__VA_ARGS__}})

/* ---- as text ---- */

/*
 * Writes the elements in nested brackets much as numpy does: all as wide as the widest, floats with up to 9 significant
 * digits (f32 and parts of complex numbers 8, f16 5, bf16 4) and a point in any locale, lines of at most 100 characters
 * (longer only where one element with its brackets is), no empty lines; from 1000 elements on, only the first and last
 * three of each axis, with "..." between them. At most `size` bytes with the terminating NUL, like snprintf; returns
 * the length of the whole text. Of an array on another device it writes type and device: "f32[2, 3] on device 2:0".
 */
size_t weft_array_print(const weft_array *array, char *out_text, size_t size);
/* The same for dtype and shape: "f32[2, 3]". */
size_t weft_array_print_type(const weft_array *array, char *out_text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
