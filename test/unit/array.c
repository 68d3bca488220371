/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support.h"
#include <weft/dlpack.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <weft/array.h>
#include "runtime/data/array.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

/* 0, 1, 2, ... in row-major order */
static weft_array *arange(size_t rank, const int64_t *shape)
{
    weft_array *array;
    weft_test_ok(weft_array_create(NULL, WEFT_I32, rank, shape, &array));
    int32_t *data = weft_array_data(array);
    for (int64_t i = 0; i < weft_array_count(array); i++) data[i] = (int32_t)i;
    return array;
}

static void create_gives_an_aligned_row_major_array(void **state)
{
    (void)state;
    weft_array *array;
    weft_test_ok(weft_array_create(NULL, WEFT_F64, 3, DIMS(2, 3, 4), &array));
    assert_int_equal((uintptr_t)weft_array_data(array) % 64, 0);
    assert_memory_equal(weft_array_strides(array), DIMS(12, 4, 1), 3 * sizeof(int64_t));
    assert_memory_equal(weft_array_shape(array), DIMS(2, 3, 4), 3 * sizeof(int64_t));
    assert_int_equal(weft_array_rank(array), 3);
    assert_int_equal(weft_array_dtype(array), WEFT_F64);
    assert_int_equal(weft_array_count(array), 24);
    assert_true(weft_array_is_contiguous(array));
    assert_int_equal(weft_array_device(array).kind, WEFT_DEVICE_CPU);
    memset(weft_array_data(array), 1, 24 * sizeof(double));
    weft_array_release(array);
    weft_array_release(NULL);
    assert_null(weft_array_retain(NULL));
}

static void scalars_and_empty_arrays_exist(void **state)
{
    (void)state;
    weft_array *scalar = arange(0, NULL), *empty = arange(2, DIMS(0, 3)),
               *huge = arange(3, DIMS(INT64_MAX, 0, INT64_MAX));
    assert_int_equal(weft_array_count(scalar), 1);
    assert_int_equal(weft_array_count(empty), 0);
    assert_memory_equal(weft_array_strides(empty), DIMS(3, 1), 2 * sizeof(int64_t));
    assert_int_equal(weft_array_count(huge), 0);
    assert_true(weft_array_is_contiguous(scalar) && weft_array_is_contiguous(empty) && weft_array_is_contiguous(huge));
    weft_array_release(scalar);
    weft_array_release(empty);
    weft_array_release(huge);
}

static void impossible_arrays_are_refused(void **state)
{
    (void)state;
    weft_array *array = NULL;
    int64_t ones[WEFT_MAX_RANK + 1], data[4] = {0};
    for (size_t i = 0; i <= WEFT_MAX_RANK; i++) ones[i] = 1;
    weft_test_fails(weft_array_create(NULL, WEFT_F32, WEFT_MAX_RANK + 1, ones, &array), WEFT_INVALID_ARGUMENT,
                    "rank 65");
    weft_test_fails(weft_array_create(NULL, WEFT_DTYPE_COUNT, 0, NULL, &array), WEFT_INVALID_ARGUMENT, "dtype");
    weft_test_fails(weft_array_create(NULL, WEFT_F32, 2, DIMS(2, -3), &array), WEFT_OUT_OF_RANGE,
                    "extent -3 of axis 1");
    weft_test_fails(weft_array_create(NULL, WEFT_U8, 2, DIMS(INT64_MAX, 2), &array), WEFT_OUT_OF_RANGE,
                    "element count");
    weft_test_fails(weft_array_create(NULL, WEFT_F64, 1, DIMS(INT64_MAX / 4), &array), WEFT_OUT_OF_RANGE, "byte size");
    weft_test_allocator test;
    weft_test_allocator_init(&test, 0);
    weft_test_fails(weft_array_create(&test.allocator, WEFT_U8, 1, DIMS(INT64_MAX), &array), WEFT_OUT_OF_MEMORY, "");
    weft_test_fails(weft_array_wrap(NULL, WEFT_I64, 2, DIMS(3, 3), DIMS(INT64_MAX, 1), data, NULL, NULL, &array),
                    WEFT_OUT_OF_RANGE, "byte size");
    weft_test_fails(weft_array_wrap(NULL, WEFT_I64, 1, DIMS(2), DIMS(INT64_MIN), data, NULL, NULL, &array),
                    WEFT_OUT_OF_RANGE, "byte size");
    weft_test_fails(weft_array_wrap(NULL, WEFT_I64, 1, DIMS(2), NULL, NULL, NULL, NULL, &array), WEFT_INVALID_ARGUMENT,
                    "NULL");
    weft_test_fails(weft_array_wrap(NULL, WEFT_I64, 1, DIMS(2), NULL, (char *)data + 1, NULL, NULL, &array),
                    WEFT_INVALID_ARGUMENT, "aligned");
    assert_null(array);
    weft_test_ok(weft_array_create(NULL, WEFT_F32, WEFT_MAX_RANK, ones, &array));
    weft_array_release(array);
}

static void count_call(void *context)
{
    ++*(int *)context;
}

static void the_last_reference_releases_wrapped_data_once(void **state)
{
    (void)state;
    int released = 0;
    float data[6];
    weft_array *array, *view, *inner;
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 2, DIMS(2, 3), NULL, data, count_call, &released, &array));
    assert_ptr_equal(weft_array_data(array), data);
    weft_test_ok(weft_array_view(array, 1, DIMS(3), DIMS(1), 3, &view));
    weft_test_ok(weft_array_view(view, 1, DIMS(1), DIMS(1), 2, &inner));
    assert_ptr_equal(weft_array_data(inner), data + 5);
    weft_array_release(array);
    weft_array_release(view);
    assert_int_equal(released, 0);
    assert_ptr_equal(weft_array_retain(inner), inner);
    weft_array_release(inner);
    assert_int_equal(released, 0);
    weft_array_release(inner);
    assert_int_equal(released, 1);
}

static void a_failed_wrap_keeps_the_data_with_the_caller(void **state)
{
    (void)state;
    int released = 0;
    float data[6];
    weft_array *array;
    weft_test_allocator test;
    weft_test_allocator_init(&test, 0);
    weft_test_fails(weft_array_wrap(&test.allocator, WEFT_F32, 1, DIMS(6), NULL, data, count_call, &released, &array),
                    WEFT_OUT_OF_MEMORY, "");
    assert_int_equal(released, 0);
    weft_test_allocator_check(&test);
}

static void views_stay_inside_their_base(void **state)
{
    (void)state;
    weft_array *base = arange(2, DIMS(4, 5)), *reversed, *view = NULL;
    weft_test_ok(weft_array_view(base, 2, DIMS(5, 4), DIMS(-1, -5), 19, &reversed));
    assert_int_equal(*(int32_t *)weft_array_data(reversed), 19);
    assert_false(weft_array_is_contiguous(reversed));
    weft_test_fails(weft_array_view(base, 1, DIMS(21), DIMS(1), 0, &view), WEFT_OUT_OF_RANGE, "0 to 19");
    weft_test_fails(weft_array_view(base, 1, DIMS(20), DIMS(1), 1, &view), WEFT_OUT_OF_RANGE, "offset 1");
    weft_test_fails(weft_array_view(base, 1, DIMS(2), DIMS(-1), 0, &view), WEFT_OUT_OF_RANGE, "elements -1 to 0");
    weft_test_fails(weft_array_view(base, 1, DIMS(1), DIMS(1), -1, &view), WEFT_OUT_OF_RANGE, "offset -1");
    weft_test_fails(weft_array_view(base, 1, DIMS(2), DIMS(1), INT64_MAX, &view), WEFT_OUT_OF_RANGE, "offset");
    weft_test_fails(weft_array_view(base, 1, DIMS(-1), DIMS(1), 0, &view), WEFT_OUT_OF_RANGE, "extent -1");
    assert_null(view);
    weft_test_ok(weft_array_view(reversed, 1, DIMS(20), DIMS(1), -19, &view));
    assert_true(weft_array_is_contiguous(view));
    assert_ptr_equal(weft_array_data(view), weft_array_data(base));
    weft_array_release(view);
    weft_test_ok(weft_array_view(base, 1, DIMS(1000000), DIMS(0), 7, &view));
    weft_array_release(view);
    weft_test_ok(weft_array_view(base, 2, DIMS(0, 3), DIMS(5, 1), 5, &view));
    weft_array *inside_empty;
    weft_test_fails(weft_array_view(view, 0, NULL, NULL, 0, &inside_empty), WEFT_OUT_OF_RANGE, "empty base");
    weft_array_release(view);
    weft_array_release(reversed);
    weft_array_release(base);
}

static void contiguity_ignores_axes_of_one(void **state)
{
    (void)state;
    int32_t data[12];
    weft_array *array;
    weft_test_ok(weft_array_wrap(NULL, WEFT_I32, 3, DIMS(1, 3, 1), DIMS(-7, 1, 99), data, NULL, NULL, &array));
    assert_true(weft_array_is_contiguous(array));
    weft_array_release(array);
    weft_test_ok(weft_array_wrap(NULL, WEFT_I32, 2, DIMS(3, 2), DIMS(4, 1), data, NULL, NULL, &array));
    assert_false(weft_array_is_contiguous(array));
    weft_array_release(array);
    weft_test_ok(weft_array_wrap(NULL, WEFT_I32, 1, DIMS(3), DIMS(0), data, NULL, NULL, &array));
    assert_false(weft_array_is_contiguous(array));
    weft_array_release(array);
}

/* Copies a (3,4) block of every dtype size between all pairs of layouts and compares element by element. */
static void check_copy(weft_dtype dtype, const int64_t *to_strides, int64_t to_offset, const int64_t *from_strides,
                       int64_t from_offset)
{
    size_t size = weft_dtype_size(dtype);
    weft_array *to_base, *from_base, *to, *from;
    weft_test_ok(weft_array_create(NULL, dtype, 1, DIMS(64), &to_base));
    weft_test_ok(weft_array_create(NULL, dtype, 1, DIMS(64), &from_base));
    unsigned char *bytes = weft_array_data(from_base);
    for (size_t i = 0; i < 64 * size; i++) bytes[i] = (unsigned char)(i * 37 + i / 256);
    memset(weft_array_data(to_base), 0, 64 * size);
    weft_test_ok(weft_array_view(to_base, 2, DIMS(3, 4), to_strides, to_offset, &to));
    weft_test_ok(weft_array_view(from_base, 2, DIMS(3, 4), from_strides, from_offset, &from));
    weft_test_ok(weft_array_copy(to, from));
    unsigned char expected[64 * 16] = {0};
    for (int64_t i = 0; i < 3; i++)
        for (int64_t k = 0; k < 4; k++)
            memcpy(expected + (size_t)(to_offset + i * to_strides[0] + k * to_strides[1]) * size,
                   bytes + (size_t)(from_offset + i * from_strides[0] + k * from_strides[1]) * size, size);
    assert_memory_equal(weft_array_data(to_base), expected, 64 * size);
    weft_array_release(to);
    weft_array_release(from);
    weft_array_release(to_base);
    weft_array_release(from_base);
}

static void copies_follow_any_strides(void **state)
{
    (void)state;
    static const struct {
        int64_t strides[2], offset;
    } layouts[] = {{{4, 1}, 0}, {{1, 3}, 2}, {{-4, 1}, 20}, {{-5, -1}, 63}, {{20, 2}, 1}, {{9, -2}, 40}};
    enum { LAYOUTS = sizeof layouts / sizeof *layouts };
    for (int dtype = 0; dtype < WEFT_DTYPE_COUNT; dtype++)
        for (int i = 0; i < LAYOUTS * LAYOUTS; i++)
            check_copy((weft_dtype)dtype, layouts[i / LAYOUTS].strides, layouts[i / LAYOUTS].offset,
                       layouts[i % LAYOUTS].strides, layouts[i % LAYOUTS].offset);
    check_copy(WEFT_F32, layouts[0].strides, 0, DIMS(0, 1), 3);
    check_copy(WEFT_F32, layouts[1].strides, 2, DIMS(0, 0), 3);
}

/* To memory of the same layout: permuted, backwards, with and without gaps. */
static void elements_are_copied_alone(void **state)
{
    (void)state;
    static const int64_t strides[][3] = {{1, 3, 12}, {-20, 1, 5}, {12, -3, 1}, {12, 3, 1}, {40, 0, -2}, {-1, -24, -3}};
    const int64_t shape[] = {3, 4, 2};
    enum { SIZE = 200, FIRST = 100 };
    for (size_t s = 0; s < sizeof strides / sizeof *strides; s++) {
        int32_t from[SIZE], to[SIZE] = {0}, expected[SIZE] = {0};
        weft_array *array;
        for (int i = 0; i < SIZE; i++) from[i] = (int32_t)(i + 1);
        for (int64_t i = 0; i < 24; i++) {
            int64_t at = FIRST + i / 8 * strides[s][0] + i / 2 % 4 * strides[s][1] + i % 2 * strides[s][2];
            expected[at] = from[at];
        }
        weft_test_ok(weft_array_wrap(NULL, WEFT_I32, 3, shape, strides[s], from + FIRST, NULL, NULL, &array));
        weft_array_copy_elements(array, to + FIRST, from + FIRST);
        assert_memory_equal(to, expected, sizeof to);
        weft_array_release(array);
    }
}

/* As if the source had been read before: each pair of views of one buffer, some of which are the same elements. */
static void overlapping_arrays_are_copied(void **state)
{
    (void)state;
    static const struct {
        int64_t strides[2], offset;
    } layouts[] = {{{4, 1}, 0}, {{4, 1}, 3}, {{-4, -1}, 11}, {{1, 3}, 0}, {{4, -1}, 3}, {{8, 2}, 0}, {{8, 2}, 1}};
    enum { LAYOUTS = sizeof layouts / sizeof *layouts, SIZE = 24 };
    for (int i = 0; i < LAYOUTS * LAYOUTS; i++) {
        int32_t data[SIZE], expected[SIZE];
        weft_array *whole, *to, *from;
        const int64_t *into = layouts[i / LAYOUTS].strides, *out_of = layouts[i % LAYOUTS].strides;
        for (int k = 0; k < SIZE; k++) data[k] = expected[k] = k;
        for (int64_t k = 0; k < 12; k++)
            expected[layouts[i / LAYOUTS].offset + k / 4 * into[0] + k % 4 * into[1]] =
                (int32_t)(layouts[i % LAYOUTS].offset + k / 4 * out_of[0] + k % 4 * out_of[1]);
        weft_test_ok(weft_array_wrap(NULL, WEFT_I32, 1, DIMS(SIZE), NULL, data, NULL, NULL, &whole));
        weft_test_ok(weft_array_view(whole, 2, DIMS(3, 4), into, layouts[i / LAYOUTS].offset, &to));
        weft_test_ok(weft_array_view(whole, 2, DIMS(3, 4), out_of, layouts[i % LAYOUTS].offset, &from));
        weft_test_ok(weft_array_copy(to, from));
        assert_memory_equal(data, expected, sizeof data);
        weft_array_release(to);
        weft_array_release(from);
        weft_array_release(whole);
    }
}

/* The elements of the one lie between those of the other row. */
static void rows_that_interleave_are_copied(void **state)
{
    (void)state;
    static const int32_t expected[] = {0, -1, 1, 3, 2, 4, -1, 5};
    int32_t data[8];
    weft_array *to, *source = arange(2, DIMS(2, 3));
    memset(data, -1, sizeof data);
    weft_test_ok(weft_array_wrap(NULL, WEFT_I32, 2, DIMS(2, 3), DIMS(3, 2), data, NULL, NULL, &to));
    weft_test_ok(weft_array_copy(to, source));
    assert_memory_equal(data, expected, sizeof data);
    weft_array_release(to);
    weft_array_release(source);
}

static void copies_into_repeated_elements_are_refused(void **state)
{
    (void)state;
    static const int64_t strides[][2] = {{0, 1}, {4, 0}, {3, 1}, {1, -1}, {0, 0}};
    weft_array *base = arange(1, DIMS(24)), *source = arange(2, DIMS(3, 4)), *to;
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        weft_test_ok(weft_array_view(base, 2, DIMS(3, 4), strides[i], 10, &to));
        weft_test_fails(weft_array_copy(to, source), WEFT_INVALID_ARGUMENT,
                        "of the destination addresses elements twice");
        weft_array_release(to);
    }
    assert_int_equal(((int32_t *)weft_array_data(base))[10], 10);
    weft_array_release(base);
    weft_array_release(source);
}

/* A status of which the place is `where`. */
static void fails_in(weft_status *status, const char *where)
{
    assert_string_equal(weft_status_where(status), where);
    weft_status_destroy(status);
}

static void errors_name_the_function(void **state)
{
    (void)state;
    int32_t data[2];
    int64_t negative = -1;
    weft_array *base = arange(1, DIMS(2)), *array;
    DLManagedTensor tensor = {.dl_tensor = {data, {kDLCPU, 0}, 1, {kDLInt, 32, 1}, &negative, NULL, 0}};
    DLManagedTensorVersioned versioned = {.version = {1, 0}, .dl_tensor = tensor.dl_tensor};
    fails_in(weft_array_create(NULL, WEFT_I32, 1, &negative, &array), "weft_array_create");
    fails_in(weft_array_wrap(NULL, WEFT_I32, 1, &negative, NULL, data, NULL, NULL, &array), "weft_array_wrap");
    fails_in(weft_array_wrap(NULL, WEFT_I32, 1, DIMS(2), NULL, NULL, NULL, NULL, &array), "weft_array_wrap");
    fails_in(weft_array_view(base, 1, &negative, NULL, 0, &array), "weft_array_view");
    fails_in(weft_array_import_dlpack(NULL, &tensor, &array), "weft_array_import_dlpack");
    fails_in(weft_array_import_dlpack_versioned(NULL, &versioned, &array), "weft_array_import_dlpack_versioned");
    weft_array_release(base);
}

static void copies_of_unlike_arrays_are_refused(void **state)
{
    (void)state;
    weft_array *a = arange(2, DIMS(2, 3)), *b = arange(2, DIMS(2, 4)), *c = arange(1, DIMS(6)), *d;
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 2, DIMS(2, 3), &d));
    weft_test_fails(weft_array_copy(a, b), WEFT_SHAPE_MISMATCH, "axis 1 has extent 3 in destination and 4 in source");
    weft_test_fails(weft_array_copy(a, c), WEFT_SHAPE_MISMATCH, "rank 2");
    weft_test_fails(weft_array_copy(a, d), WEFT_DTYPE_MISMATCH, "destination is i32 and source is f32");
    weft_array_release(a);
    weft_array_release(b);
    weft_array_release(c);
    weft_array_release(d);
}

/* ---- DLPack ---- */

static int deleted;

static void count_deleted(DLManagedTensor *tensor)
{
    (void)tensor;
    deleted++;
}

static void imports_take_the_tensor(void **state)
{
    (void)state;
    double data[12];
    int64_t shape[] = {2, 3}, strides[] = {-3, 1};
    DLManagedTensor tensor = {
        .dl_tensor = {data, {kDLCPU, 5}, 2, {kDLFloat, 64, 1}, shape, strides, 4 * sizeof(double)},
        .deleter = count_deleted};
    weft_array *array;
    deleted = 0;
    weft_test_ok(weft_array_import_dlpack(NULL, &tensor, &array));
    assert_ptr_equal(weft_array_data(array), data + 4);
    assert_int_equal(weft_array_strides(array)[0], -3);
    assert_int_equal(weft_array_dtype(array), WEFT_F64);
    assert_int_equal(weft_array_device(array).index, 0);
    weft_array_release(array);
    assert_int_equal(deleted, 1);

    tensor.dl_tensor.strides = NULL;
    tensor.dl_tensor.device = (DLDevice){kDLCUDA, 3};
    tensor.deleter = NULL;
    weft_test_ok(weft_array_import_dlpack(NULL, &tensor, &array));
    assert_true(weft_array_is_contiguous(array));
    assert_int_equal(weft_array_device(array).kind, WEFT_DEVICE_CUDA);
    assert_int_equal(weft_array_device(array).index, 3);
    weft_array *host = NULL;
    weft_test_ok(weft_array_create(NULL, WEFT_F64, 2, shape, &host));
    weft_test_fails(weft_array_copy(host, array), WEFT_UNSUPPORTED, "memory of device 2:3");
    weft_array_release(host);
    weft_array_release(array);
}

static void foreign_tensors_are_refused_and_stay_the_callers(void **state)
{
    (void)state;
    double data[4];
    int64_t shape[] = {4};
    const DLManagedTensor good = {.dl_tensor = {data, {kDLCPU, 0}, 1, {kDLFloat, 64, 1}, shape, NULL, 0},
                                  .deleter = count_deleted};
    weft_array *array = NULL;
    deleted = 0;
    DLManagedTensor bad = good;
    bad.dl_tensor.dtype.lanes = 2;
    weft_test_fails(weft_array_import_dlpack(NULL, &bad, &array), WEFT_UNSUPPORTED, "2 lanes");
    bad = good;
    bad.dl_tensor.dtype.bits = 80;
    weft_test_fails(weft_array_import_dlpack(NULL, &bad, &array), WEFT_UNSUPPORTED, "code 2 of 80 bits");
    bad = good;
    bad.dl_tensor.device.device_type = kDLMetal;
    weft_test_fails(weft_array_import_dlpack(NULL, &bad, &array), WEFT_UNSUPPORTED, "device type 8");
    bad = good;
    bad.dl_tensor.ndim = -1;
    weft_test_fails(weft_array_import_dlpack(NULL, &bad, &array), WEFT_INVALID_ARGUMENT, "rank -1");
    bad = good;
    bad.dl_tensor.ndim = WEFT_MAX_RANK + 1;
    weft_test_fails(weft_array_import_dlpack(NULL, &bad, &array), WEFT_INVALID_ARGUMENT, "rank 65");
    bad = good;
    bad.dl_tensor.byte_offset = 4;
    weft_test_fails(weft_array_import_dlpack(NULL, &bad, &array), WEFT_INVALID_ARGUMENT, "aligned");
    bad = good;
    bad.dl_tensor.byte_offset = UINT64_MAX - 7;
    weft_test_fails(weft_array_import_dlpack(NULL, &bad, &array), WEFT_OUT_OF_RANGE, "beyond the end of memory");
    bad = good;
    bad.dl_tensor.data = NULL;
    weft_test_fails(weft_array_import_dlpack(NULL, &bad, &array), WEFT_INVALID_ARGUMENT, "NULL");
    assert_null(array);
    assert_int_equal(deleted, 0);
}

static void every_dtype_goes_out_and_in(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < WEFT_DTYPE_COUNT; dtype++) {
        weft_array *array, *again;
        DLManagedTensor *tensor;
        weft_test_ok(weft_array_create(NULL, (weft_dtype)dtype, 2, DIMS(2, 3), &array));
        void *data = weft_array_data(array);
        weft_test_ok(weft_array_export_dlpack(array, &tensor));
        weft_array_release(array);
        weft_test_ok(weft_array_import_dlpack(NULL, tensor, &again));
        assert_int_equal(weft_array_dtype(again), dtype);
        assert_ptr_equal(weft_array_data(again), data);
        assert_memory_equal(weft_array_shape(again), DIMS(2, 3), 2 * sizeof(int64_t));
        memset(data, 0, 6 * weft_dtype_size((weft_dtype)dtype));
        weft_array_release(again);
    }
}

/* Where the specification has the fields, on machines with pointers of 8 bytes. */
_Static_assert(offsetof(DLManagedTensorVersioned, version) == 0, "");
_Static_assert(offsetof(DLManagedTensorVersioned, manager_ctx) == 8, "");
_Static_assert(offsetof(DLManagedTensorVersioned, deleter) == 16, "");
_Static_assert(offsetof(DLManagedTensorVersioned, flags) == 24, "");
_Static_assert(offsetof(DLManagedTensorVersioned, dl_tensor) == 32, "");
_Static_assert(DLPACK_FLAG_BITMASK_READ_ONLY == 1 && DLPACK_FLAG_BITMASK_IS_COPIED == 2, "");

static void count_versioned(DLManagedTensorVersioned *tensor)
{
    (void)tensor;
    deleted++;
}

static void versioned_tensors_may_be_read_only(void **state)
{
    (void)state;
    float data[4] = {1, 2, 3, 4};
    int64_t shape[] = {4};
    DLManagedTensorVersioned tensor = {.version = {1, 9},
                                       .deleter = count_versioned,
                                       .flags = DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED | 1 << 9,
                                       .dl_tensor = {data, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, NULL, 0}};
    weft_array *array, *view, *copy;
    DLManagedTensor *plain;
    deleted = 0;
    weft_test_ok(weft_array_import_dlpack_versioned(NULL, &tensor, &array));
    weft_test_ok(weft_array_view(array, 1, DIMS(2), DIMS(-1), 3, &view));
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 1, DIMS(2), &copy));
    assert_true(weft_array_is_read_only(array) && weft_array_is_read_only(view) && !weft_array_is_read_only(copy));
    weft_test_fails(weft_array_copy(view, copy), WEFT_INVALID_ARGUMENT, "the destination is read-only");
    weft_test_ok(weft_array_copy(copy, view));
    assert_true(((float *)weft_array_data(copy))[0] == 4);
    weft_test_fails(weft_array_export_dlpack(view, &plain), WEFT_INVALID_ARGUMENT, "the array is read-only");
    weft_array_release(copy);
    weft_array_release(array);
    assert_int_equal(deleted, 0);
    weft_array_release(view);
    assert_int_equal(deleted, 1);

    tensor.flags = 0;
    tensor.deleter = NULL;
    weft_test_ok(weft_array_import_dlpack_versioned(NULL, &tensor, &array));
    assert_false(weft_array_is_read_only(array));
    weft_array_release(array);
}

static void other_versions_stay_the_callers(void **state)
{
    (void)state;
    DLManagedTensorVersioned tensor = {.version = {2, 0}, .deleter = count_versioned};
    weft_array *array = NULL;
    deleted = 0;
    weft_test_fails(weft_array_import_dlpack_versioned(NULL, &tensor, &array), WEFT_VERSION_MISMATCH,
                    "the tensor is of DLPack 2.0, but this library knows 1.x");
    tensor.version.major = 0;
    weft_test_fails(weft_array_import_dlpack_versioned(NULL, &tensor, &array), WEFT_VERSION_MISMATCH, "DLPack 0.0");
    tensor.version.major = 1;
    tensor.dl_tensor.dtype = (DLDataType){kDLFloat, 80, 1};
    weft_test_fails(weft_array_import_dlpack_versioned(NULL, &tensor, &array), WEFT_UNSUPPORTED, "80 bits");
    assert_null(array);
    assert_int_equal(deleted, 0);
}

static void versioned_tensors_go_out_and_in(void **state)
{
    (void)state;
    for (int read_only = 0; read_only < 2; read_only++) {
        float data[6] = {0};
        int64_t shape[] = {2, 3}, strides[] = {1, 2};
        DLManagedTensorVersioned given = {.version = {1, 0},
                                          .flags = (uint64_t)read_only,
                                          .dl_tensor = {data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0}};
        DLManagedTensorVersioned *tensor;
        weft_array *array;
        weft_test_ok(weft_array_import_dlpack_versioned(NULL, &given, &array));
        weft_test_ok(weft_array_export_dlpack_versioned(array, &tensor));
        weft_array_release(array);
        assert_true(tensor->version.major == 1 && tensor->version.minor == 0);
        assert_int_equal(tensor->flags, read_only);
        assert_true(tensor->dl_tensor.data == data && tensor->dl_tensor.ndim == 2);
        assert_memory_equal(tensor->dl_tensor.strides, strides, sizeof strides);
        weft_test_ok(weft_array_import_dlpack_versioned(NULL, tensor, &array));
        assert_int_equal(weft_array_is_read_only(array), read_only);
        weft_array_release(array);
    }
}

static weft_status *use_all(const weft_allocator *allocator, void *context)
{
    (void)context;
    weft_array *base, *view = NULL, *again = NULL;
    DLManagedTensor *tensor = NULL;
    WEFT_TRY(weft_array_create(allocator, WEFT_F32, 2, DIMS(3, 4), &base));
    weft_status *status = weft_array_view(base, 2, DIMS(4, 3), DIMS(1, 4), 0, &view);
    weft_array_release(base);
    if (status != NULL) return status;
    status = weft_array_export_dlpack(view, &tensor);
    weft_array_release(view);
    if (status != NULL) return status;
    status = weft_array_import_dlpack(allocator, tensor, &again);
    if (status != NULL) tensor->deleter(tensor);
    weft_array_release(again);
    if (status != NULL) return status;
    DLManagedTensorVersioned *versioned;
    WEFT_TRY(weft_array_create(allocator, WEFT_F32, 1, DIMS(3), &base));
    status = weft_array_export_dlpack_versioned(base, &versioned);
    weft_array_release(base);
    if (status != NULL) return status;
    status = weft_array_import_dlpack_versioned(allocator, versioned, &again);
    if (status != NULL) versioned->deleter(versioned);
    else weft_array_release(again);
    return status;
}

static void arrays_survive_short_memory(void **state)
{
    (void)state;
    assert_int_equal(weft_test_fail_each(use_all, NULL), 7);
}

/* ---- as text ---- */

static void expect_text(weft_array *array, const char *type, const char *elements)
{
    char text[512];
    assert_int_equal(weft_array_print_type(array, text, sizeof text), strlen(type));
    assert_string_equal(text, type);
    size_t length = weft_array_print(array, text, sizeof text);
    assert_string_equal(text, elements);
    assert_int_equal(length, strlen(elements));
    assert_int_equal(weft_array_print(array, NULL, 0), length);
    if (length > 3) {
        assert_int_equal(weft_array_print(array, text, 4), length);
        assert_true(strlen(text) == 3 && strncmp(text, elements, 3) == 0);
    }
    weft_array_release(array);
}

static weft_array *wrap(weft_dtype dtype, size_t rank, const int64_t *shape, const int64_t *strides, void *data)
{
    weft_array *array;
    weft_test_ok(weft_array_wrap(NULL, dtype, rank, shape, strides, data, NULL, NULL, &array));
    return array;
}

static void arrays_print_as_in_numpy(void **state)
{
    (void)state;
    float reals[] = {1, -2.5f, 1024, 0}, parts[] = {1, 2, 0, -1};
    uint16_t halves[] = {0x3c00, 0x7c00, 0xc000};
    bool flags[] = {true, false};
    expect_text(wrap(WEFT_F32, 2, (int64_t[]){2, 2}, NULL, reals), "f32[2, 2]", "[[   1.  -2.5]\n [1024.    0.]]");
    expect_text(wrap(WEFT_F32, 2, (int64_t[]){2, 2}, (int64_t[]){-2, 1}, reals + 2), "f32[2, 2]",
                "[[1024.    0.]\n [   1.  -2.5]]");
    expect_text(wrap(WEFT_I64, 0, NULL, NULL, &(int64_t){INT64_MIN}), "i64[]", "-9223372036854775808");
    expect_text(wrap(WEFT_F16, 1, (int64_t[]){3}, NULL, halves), "f16[3]", "[ 1. inf -2.]");
    expect_text(wrap(WEFT_BOOL, 1, (int64_t[]){2}, NULL, flags), "bool[2]", "[ True False]");
    expect_text(wrap(WEFT_C64, 1, (int64_t[]){2}, NULL, parts), "c64[2]", "[1.+2.j 0.-1.j]");
    expect_text(wrap(WEFT_U8, 2, (int64_t[]){0, 3}, NULL, flags), "u8[0, 3]", "[]");
}

/* Skipped where no locale with another decimal point is installed. */
static void arrays_print_alike_in_any_locale(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8", "de_DE", "fr_FR"};
    float reals[] = {0.5f, 2};
    char text[8];
    size_t i = 0;
    while (i < sizeof names / sizeof *names && setlocale(LC_NUMERIC, names[i]) == NULL) i++;
    snprintf(text, sizeof text, "%.1f", 0.5);
    bool other = strcmp(text, "0.5") != 0;
    if (other) expect_text(wrap(WEFT_C64, 0, NULL, NULL, reals), "c64[]", "0.5+2.j");
    snprintf(text, sizeof text, "%.1f", 0.5);
    assert_true(other == (strcmp(text, "0.5") != 0));
    setlocale(LC_NUMERIC, "C");
    if (!other) skip();
}

static void long_arrays_are_cut(void **state)
{
    (void)state;
    static int32_t numbers[1000];
    for (int i = 0; i < 1000; i++) numbers[i] = i;
    expect_text(wrap(WEFT_I32, 1, (int64_t[]){1000}, NULL, numbers), "i32[1000]", "[  0   1   2 ... 997 998 999]");
    expect_text(wrap(WEFT_I32, 2, (int64_t[]){250, 4}, NULL, numbers), "i32[250, 4]",
                "[[  0   1   2   3]\n [  4   5   6   7]\n [  8   9  10  11]\n ...\n [988 989 990 991]\n"
                " [992 993 994 995]\n [996 997 998 999]]");
}

/* An array of `rank` axes, of extent 1 except for the last, whose elements are all `value`. */
static void expect_short_lines(size_t rank, int64_t extent, int64_t value)
{
    int64_t shape[WEFT_MAX_RANK], strides[WEFT_MAX_RANK] = {0};
    char text[4096];
    for (size_t i = 0; i < rank; i++) shape[i] = i + 1 < rank ? 1 : extent;
    weft_array *array = wrap(WEFT_I64, rank, shape, strides, &value);
    assert_true(weft_array_print(array, text, sizeof text) < sizeof text);
    weft_array_release(array);
    size_t longest = 0;
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strcspn(line, "\n") > longest) longest = strcspn(line, "\n");
    }
    if (longest > 100) fail_msg("%zu characters, rank %zu, extent %d: %s", longest, rank, (int)extent, text);
}

/* Whatever closes or is left out at their ends. */
static void lines_are_short(void **state)
{
    (void)state;
    int64_t value = 1;
    for (int digits = 1; digits <= 18; digits++, value *= 10) {
        for (size_t rank = 1; rank <= 20; rank++) {
            for (int64_t extent = 1; extent <= 70; extent++) expect_short_lines(rank, extent, value);
            expect_short_lines(rank, 1000, value);
        }
    }
    for (size_t rank = 1; rank <= 20; rank++) expect_short_lines(rank, 1000, INT64_MIN);
}

static void dense_arrays_are_shared(void **state)
{
    (void)state;
    float data[] = {1, 2, 3, 4};
    weft_array *plain = wrap(WEFT_F32, 1, (int64_t[]){4}, NULL, data), *dense;
    weft_test_ok(weft_array_retain_dense(NULL, plain, &dense));
    assert_ptr_equal(dense, plain);
    weft_array_release(dense);
    weft_array_release(plain);
    weft_array *flipped = wrap(WEFT_F32, 1, (int64_t[]){4}, (int64_t[]){-1}, data + 3);
    weft_test_ok(weft_array_retain_dense(NULL, flipped, &dense));
    assert_memory_equal(weft_array_data(dense), ((float[]){4, 3, 2, 1}), sizeof data);
    weft_array_release(dense);
    weft_array_release(flipped);
    weft_test_fails(weft_array_retain_dense(NULL, NULL, &dense), WEFT_INVALID_ARGUMENT, "array");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(create_gives_an_aligned_row_major_array),
        cmocka_unit_test(scalars_and_empty_arrays_exist),
        cmocka_unit_test(impossible_arrays_are_refused),
        cmocka_unit_test(the_last_reference_releases_wrapped_data_once),
        cmocka_unit_test(a_failed_wrap_keeps_the_data_with_the_caller),
        cmocka_unit_test(views_stay_inside_their_base),
        cmocka_unit_test(contiguity_ignores_axes_of_one),
        cmocka_unit_test(copies_follow_any_strides),
        cmocka_unit_test(elements_are_copied_alone),
        cmocka_unit_test(copies_of_unlike_arrays_are_refused),
        cmocka_unit_test(overlapping_arrays_are_copied),
        cmocka_unit_test(rows_that_interleave_are_copied),
        cmocka_unit_test(copies_into_repeated_elements_are_refused),
        cmocka_unit_test(errors_name_the_function),
        cmocka_unit_test(imports_take_the_tensor),
        cmocka_unit_test(foreign_tensors_are_refused_and_stay_the_callers),
        cmocka_unit_test(every_dtype_goes_out_and_in),
        cmocka_unit_test(arrays_survive_short_memory),
        cmocka_unit_test(versioned_tensors_may_be_read_only),
        cmocka_unit_test(other_versions_stay_the_callers),
        cmocka_unit_test(versioned_tensors_go_out_and_in),
        cmocka_unit_test(arrays_print_as_in_numpy),
        cmocka_unit_test(arrays_print_alike_in_any_locale),
        cmocka_unit_test(long_arrays_are_cut),
        cmocka_unit_test(lines_are_short),
        cmocka_unit_test(dense_arrays_are_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
