/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/base/isa.h"
#include "runtime/engine/sort.h"
#include "test/rng.h"

static const weft_dtype dtypes[] = {WEFT_BOOL, WEFT_U8,  WEFT_I32, WEFT_U32, WEFT_I64,
                                    WEFT_BF16, WEFT_F16, WEFT_F32, WEFT_F64};

static uint64_t random_state = 1;

static long double half(uint16_t code)
{
    int exponent = code >> 10 & 31, fraction = code & 1023;
    long double size = exponent == 31
                           ? fraction != 0 ? NAN : HUGE_VALL
                           : ldexpl(exponent == 0 ? fraction : fraction + 1024, (exponent == 0 ? 1 : exponent) - 25);
    return code >> 15 != 0 ? -size : size;
}

static long double value_of(weft_dtype dtype, const void *element)
{
    uint32_t wide = 0;
    uint16_t code;
    float single;
    switch (dtype) {
    case WEFT_BOOL: return *(const uint8_t *)element != 0;
    case WEFT_I32: return *(const int32_t *)element;
    case WEFT_U32: return *(const uint32_t *)element;
    case WEFT_I64: return *(const int64_t *)element;
    case WEFT_F32: return *(const float *)element;
    case WEFT_F64: return *(const double *)element;
    case WEFT_F16: memcpy(&code, element, sizeof code); return half(code);
    case WEFT_BF16:
        memcpy(&code, element, sizeof code);
        wide = (uint32_t)code << 16;
        memcpy(&single, &wide, sizeof single);
        return single;
    default: return *(const uint8_t *)element;
    }
}

/* Where it is not 0: so many elements at equal distances, which a pivot may be chosen from, are less than all others.
 */
static int64_t sample;

/* Where it is not 0: elements have so many values, except for the last one. */
static uint64_t kinds;

/* Where it is not 0: half of the elements are of this kind, the one before it. */
static uint64_t common;

/* Where it is not 0: elements of 8 bytes lie in so many groups, whose elements differ in their lower bits alone. */
static uint64_t groups;

/* Zeros of both signs, NaNs of many kinds, the greatest number and others. */
static uint64_t bits_of_kind(uint64_t kind, size_t size)
{
    unsigned bits = 8 * (unsigned)size, low = bits > 12 ? bits - 12 : 4;
    switch (kind) {
    case 0: return 0;
    case 1: return UINT64_C(1) << (bits - 1);
    case 2: return UINT64_MAX << low | weft_test_bits(&random_state) % 8;
    case 3: return UINT64_MAX >> 1 >> (64 - bits);
    default: return kind << (size > 1 ? bits - 10 : 0);
    }
}

/* Bytes of any pattern, but often of few values, among them zeros of both signs, infinities and NaNs. */
static void fill(weft_dtype dtype, int64_t count, char *data)
{
    size_t size = weft_dtype_size(dtype);
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = weft_test_bits(&random_state);
        if (dtype == WEFT_BOOL) bits &= bits >> 8;
        else if (sample > 0) bits = (i % (count / sample) == count / sample / 2 ? 0 : 1 << 14) + bits % (1 << 14);
        else if (common > 0 && bits >> 60 < 8) bits = bits_of_kind(common - 1, size);
        else if (groups > 0) bits = bits % groups << 54 | (bits >> 32) % 1000;
        else if (kinds > 0) bits = i == count - 1 ? bits : bits_of_kind(bits % kinds, size);
        else if (bits % 4 == 0)
            bits = weft_test_bits(&random_state) % 2 << (8 * size - 1) | weft_test_bits(&random_state) % 3;
        else if (bits % 5 == 0)
            bits = UINT64_MAX << (8 * size - 4 - weft_test_bits(&random_state) % (size > 1 ? 12 : 4));
        memcpy(data + (size_t)i * size, &bits, size);
    }
}

/* Element i has to stand before element j > i of the same row, or may. */
static bool in_order(long double x, long double y, bool descending)
{
    if (isnan(x) || isnan(y)) return isnan(y);
    return descending ? x >= y : x <= y;
}

static bool same_order(long double x, long double y)
{
    return x == y || (isnan(x) && isnan(y));
}

struct example {
    weft_sort_call call;
    char *in;
    int64_t *positions;
    char *elements;
};

static int64_t element_of(const weft_sort_call *call, int64_t row, int64_t i)
{
    return call->in_offset + row * call->in_strides[0] + i * call->in_step;
}

static void check_row(const struct example *x, int64_t row)
{
    const weft_sort_call *call = &x->call;
    size_t size = weft_dtype_size(call->dtype);
    bool *seen = calloc((size_t)call->length + 1, sizeof *seen);
    assert_non_null(seen);
    for (int64_t i = 0; i < call->length; i++) {
        int64_t at = call->out_offset + row * call->out_strides[0] + i * call->out_step, position = x->positions[at];
        assert_true(position >= 0 && position < call->length && !seen[position]);
        seen[position] = true;
        const char *element = x->in + element_of(call, row, position) * (int64_t)size;
        if (call->dtype == WEFT_BOOL) assert_int_equal(x->elements[at], *element != 0);
        else assert_memory_equal(x->elements + at * (int64_t)size, element, size);
        if (i == 0) continue;
        int64_t before = x->positions[at - call->out_step];
        long double a = value_of(call->dtype, x->in + element_of(call, row, before) * (int64_t)size);
        long double b = value_of(call->dtype, element);
        assert_true(in_order(a, b, call->descending));
        if (same_order(a, b)) assert_true(before < position);
    }
    free(seen);
}

static const struct weft_key_sort *keys_of(const weft_sort_call *call)
{
    return weft_key_sort_find(call->dtype, call->positions);
}

/* Every other call with as little scratch as can be. */
static void run(weft_pool *pool, weft_sort_call call, const void *in, void *out, bool positions)
{
    static bool tight;
    tight = !tight;
    call.positions = positions;
    size_t bytes = (size_t)weft_sort_scratch(keys_of(&call), pool, &call, tight);
    assert_true(bytes <= (size_t)weft_sort_scratch(keys_of(&call), pool, &call, false));
    void *scratch = malloc(bytes);
    assert_true(scratch != NULL || bytes == 0);
    assert_true(weft_sort_run(keys_of(&call), pool, &call, tight, in, out, scratch, NULL));
    free(scratch);
}

/* Sorts `in` as a whole and for `wanted` elements alone. */
static void check_wanted(weft_pool *pool, weft_sort_call call, const void *in, int64_t wanted, bool positions)
{
    size_t size = positions ? sizeof(int64_t) : weft_dtype_size(call.dtype);
    size_t count = (size_t)(call.rows[0] * call.length);
    char *all = malloc(count * size), *some = malloc(count * size);
    assert_true(all != NULL && some != NULL);
    run(pool, call, in, all, positions);
    call.wanted = wanted;
    run(pool, call, in, some, positions);
    for (int64_t row = 0; row < call.rows[0]; row++)
        for (int64_t i = 0; i < wanted; i++) {
            size_t at = (size_t)(call.out_offset + row * call.out_strides[0] + i * call.out_step) * size;
            assert_memory_equal(some + at, all + at, size);
        }
    free(all);
    free(some);
}

/* A few elements, and many, of what is in no order, and of what is in the wrong one. */
static void check_parts(weft_pool *pool, const struct example *x)
{
    const int64_t length = x->call.length, wanted[] = {1, 1 + length / 100, 1 + length / 30, 1 + length / 3};
    weft_sort_call wrong = x->call;
    wrong.descending = !wrong.descending;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        for (int positions = 0; positions < 2; positions++) {
            check_wanted(pool, x->call, x->in, wanted[i], positions);
            check_wanted(pool, wrong, x->elements, wanted[i], positions);
        }
}

/* Rows that are sorted, or the other way round, and then but for their last element. */
static void check_ordered(weft_pool *pool, const struct example *x, int64_t rows, size_t bytes)
{
    struct example y = *x;
    y.in = malloc(bytes);
    assert_non_null(y.in);
    for (int turn = 0; turn < 4; turn++) {
        size_t size = weft_dtype_size(x->call.dtype);
        memcpy(y.in, x->elements, bytes);
        if (turn & 2)
            memcpy(y.in + (size_t)(x->call.length - 1) * size, y.in + (size_t)(x->call.length / 2) * size, size);
        y.call.descending = x->call.descending != (turn & 1);
        run(pool, y.call, y.in, y.positions, true);
        y.elements = malloc(bytes);
        assert_non_null(y.elements);
        run(pool, y.call, y.in, y.elements, false);
        for (int64_t row = 0; row < rows; row++) check_row(&y, row);
        free(y.elements);
    }
    free(y.in);
}

static void check(weft_pool *pool, weft_dtype dtype, int64_t rows, int64_t length, bool turned, bool descending)
{
    const int64_t gap = descending && length <= 128 ? 3 : 0,
                  pitch = length + gap; /* rows follow each other, or lie apart */
    size_t size = weft_dtype_size(dtype), count = (size_t)(rows * pitch) + 1;
    struct example x = {
        .in = malloc(count * size), .positions = malloc(count * sizeof(int64_t)), .elements = malloc(count * size)};
    assert_true(x.in != NULL && x.positions != NULL && x.elements != NULL);
    fill(dtype, rows * pitch, x.in);
    /* Turned: columns of a matrix from the last element to the first. */
    int64_t stride = turned ? 1 : pitch, step = turned ? -rows : 1;
    x.call = (weft_sort_call){.dtype = dtype,
                              .descending = descending,
                              .length = length,
                              .rank = 1,
                              .rows = &rows,
                              .in_strides = &stride,
                              .out_strides = &stride,
                              .in_step = step,
                              .out_step = step,
                              .in_offset = turned && length > 0 ? rows * (length - 1) : 0,
                              .out_offset = turned && length > 0 ? rows * (length - 1) : 0};
    run(pool, x.call, x.in, x.positions, true);
    run(pool, x.call, x.in, x.elements, false);
    for (int64_t row = 0; row < rows; row++) check_row(&x, row);
    if (length > 128) check_parts(pool, &x);
    if (length > 128 && !turned) check_ordered(pool, &x, rows, count * size);
    free(x.in);
    free(x.positions);
    free(x.elements);
}

/* Of the rows of every dtype and length only so many are tried: one in so many. */
static size_t sparsity = 1;

/* Lengths on both sides of where the way of sorting changes. */
static void rows_of_every_dtype_and_length(void **unused)
{
    static const int64_t lengths[] = {0,   1,   2,   3,   4,   5,   8,   9,   15,  16,   17,   31,
                                      32,  33,  63,  64,  65,  95,  96,  97,  127, 128,  129,  255,
                                      256, 257, 300, 383, 384, 511, 512, 513, 800, 5000, 40000};
    (void)unused;
    size_t number = 0;
    for (size_t threads = 1; threads <= 3; threads += 2) {
        weft_pool *pool;
        weft_test_ok(weft_pool_create(NULL, weft_machine_reference(), threads, &pool));
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
                int64_t rows = lengths[l] > 1000 ? 1 : lengths[l] > 256 ? 7 : lengths[l] > 16 ? 37 : 150;
                for (int turn = 0; turn < 4; turn++)
                    if (number++ % sparsity == 0) check(pool, dtypes[d], rows, lengths[l], turn & 1, turn & 2);
            }
        check(pool, WEFT_F32, 40, 1000, true, false);
        weft_pool_destroy(pool);
    }
}

static void samples_that_mislead(void **unused)
{
    (void)unused;
    weft_pool *pool;
    weft_test_ok(weft_pool_create(NULL, weft_machine_reference(), 1, &pool));
    for (sample = 16; sample <= 256; sample *= 2)
        for (size_t d = 2; d < 5; d++) {
            check(pool, dtypes[d], 1, 8192, false, false);
            check(pool, dtypes[d], 1, 32768, false, false);
        }
    sample = 0;
    weft_pool_destroy(pool);
}

static void elements_of_few_values(void **unused)
{
    static const int64_t lengths[] = {5000, 32768, 40001};
    (void)unused;
    weft_pool *pool;
    weft_test_ok(weft_pool_create(NULL, weft_machine_reference(), 1, &pool));
    for (kinds = 1; kinds <= 64; kinds *= 2)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
            for (size_t d = 2; d < sizeof dtypes / sizeof *dtypes; d++)
                check(pool, dtypes[d], 1, lengths[l], false, l % 2 != 0);
    for (kinds = 256; kinds <= 1024; kinds *= 2)
        for (size_t d = 2; d < sizeof dtypes / sizeof *dtypes; d++) check(pool, dtypes[d], 1, 40001, false, false);
    for (kinds = 1; kinds <= 64; kinds *= 2)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            for (int turn = 0; turn < 4; turn++) check(pool, dtypes[d], 40, 100, turn & 1, turn & 2);
    kinds = 0;
    weft_pool_destroy(pool);
}

static void elements_half_of_which_are_equal(void **unused)
{
    static const uint64_t common_kinds[] = {0, 1, 2, 3, 4, 300, 1000};
    (void)unused;
    weft_pool *pool;
    weft_test_ok(weft_pool_create(NULL, weft_machine_reference(), 1, &pool));
    for (size_t k = 0; k < sizeof common_kinds / sizeof *common_kinds; k++)
        for (size_t d = 2; d < sizeof dtypes / sizeof *dtypes; d++) {
            common = common_kinds[k] + 1;
            check(pool, dtypes[d], 1, 40001, false, false);
        }
    common = 0;
    weft_pool_destroy(pool);
}

static void elements_in_groups(void **unused)
{
    static const weft_dtype wide[] = {WEFT_I64, WEFT_F64};
    (void)unused;
    weft_pool *pool;
    weft_test_ok(weft_pool_create(NULL, weft_machine_reference(), 1, &pool));
    for (groups = 1; groups <= 64; groups *= 2)
        for (size_t d = 0; d < 2; d++) {
            check(pool, wide[d], 9, 20, false, d != 0);
            check(pool, wide[d], 40, 12, false, d == 0);
            check(pool, wide[d], 37, 100, groups % 4 != 0, d != 0);
            check(pool, wide[d], 3, 300, false, d == 0);
            check(pool, wide[d], 1, 5000, groups % 4 != 0, d != 0);
        }
    groups = 0;
    weft_pool_destroy(pool);
}

/* Together, whatever their length; apart where there is little memory, or fewer of them than threads. */
static void long_rows_side_by_side(void **unused)
{
    static const int64_t rows = 5, stride = 1;
    (void)unused;
    for (size_t threads = 1; threads <= 7; threads += 6) {
        weft_pool *pool;
        weft_test_ok(weft_pool_create(NULL, weft_machine_reference(), threads, &pool));
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            check(pool, dtypes[d], rows, d == 3 ? 140001 : 10001, true, d % 2 != 0);
        weft_sort_call call = {.dtype = WEFT_F32,
                               .length = 140001,
                               .rank = 1,
                               .rows = &rows,
                               .in_strides = &stride,
                               .out_strides = &stride,
                               .in_step = rows,
                               .out_step = rows};
        int64_t keys = call.length * (int64_t)sizeof(float);
        if (threads == 1) assert_true(weft_sort_scratch(keys_of(&call), pool, &call, false) > rows * keys);
        assert_true(weft_sort_scratch(keys_of(&call), pool, &call, true) < rows * keys);
        weft_pool_destroy(pool);
    }
}

static void no_rows(void **unused)
{
    (void)unused;
    weft_pool *pool;
    weft_test_ok(weft_pool_create(NULL, weft_machine_reference(), 2, &pool));
    check(pool, WEFT_F64, 0, 100, false, false);
    /* Read backwards from where there is nothing. */
    weft_sort_call reversed = {.dtype = WEFT_F64, .in_step = -1, .out_step = 1, .in_offset = -1};
    assert_true(weft_sort_run(keys_of(&reversed), pool, &reversed, false, NULL, NULL, NULL, NULL));
    weft_pool_destroy(pool);
    assert_true(weft_sort_supports(WEFT_F16));
    assert_false(weft_sort_supports(WEFT_C64));
}

static void scratch_that_cannot_be_counted(void **unused)
{
    (void)unused;
    weft_pool *pool;
    weft_test_ok(weft_pool_create(NULL, weft_machine_reference(), 2, &pool));
    const int64_t rows = 4, strides = 0;
    weft_sort_call call = {.dtype = WEFT_F32,
                           .positions = true,
                           .length = INT64_MAX / 16,
                           .rank = 1,
                           .rows = &rows,
                           .in_strides = &strides,
                           .out_strides = &strides};
    assert_int_equal(weft_sort_scratch(keys_of(&call), pool, &call, false), INT64_MAX);
    call.length = INT64_MAX / 2;
    assert_int_equal(weft_sort_scratch(keys_of(&call), pool, &call, false), INT64_MAX);
    weft_pool_destroy(pool);
}

/* Of two rows. The flag is a byte that the sorting itself sets, `at` bytes into the result or the scratch. */
static void cancel(bool in_scratch, size_t at, int64_t length, size_t done)
{
    weft_pool *pool;
    weft_test_ok(weft_pool_create(NULL, weft_machine_reference(), 1, &pool));
    const int64_t rows = 2;
    weft_sort_call call = {.dtype = WEFT_I64,
                           .length = length,
                           .rank = 1,
                           .rows = &rows,
                           .in_strides = &length,
                           .out_strides = &length,
                           .in_step = 1,
                           .out_step = 1};
    size_t count = (size_t)(rows * length),
           scratch_bytes = (size_t)weft_sort_scratch(keys_of(&call), pool, &call, false);
    int64_t *in = calloc(count, sizeof *in), *out = calloc(count, sizeof *out);
    char *scratch = calloc(scratch_bytes, 1);
    assert_true(in != NULL && out != NULL && scratch != NULL);
    for (size_t i = 0; i < count; i++) in[i] = 1 + (int64_t)(i * 7919 % 1000 << 40);
    const volatile bool *flag = (const volatile bool *)(in_scratch ? scratch : (char *)out) + at;
    assert_false(weft_sort_run(keys_of(&call), pool, &call, false, in, out, scratch, flag));
    for (size_t i = 0; i < count; i++) assert_true((out[i] != 0) == (i < done));
    free(in);
    free(out);
    free(scratch);
    weft_pool_destroy(pool);
}

static void cancelled(void **unused)
{
    (void)unused;
    const int64_t length = 1 << 20;
    cancel(false, 0, 40, 40);
    cancel(false, (size_t)(length - 1) * sizeof(int64_t), length, (size_t)length);
    /* What follows the first room of a row, to which some of the keys are moved. */
    cancel(true, (size_t)length * sizeof(int64_t), length, 0);
}

/* Every other one is set. The flag is the first byte of what is put for the first of these. */
static void cancelled_bools(void **unused)
{
    (void)unused;
    weft_pool *pool;
    weft_test_ok(weft_pool_create(NULL, weft_machine_reference(), 1, &pool));
    enum { LENGTH = 1 << 20 };
    const int64_t rows = 1, strides = LENGTH;
    bool *in = calloc(LENGTH, sizeof *in);
    int64_t *out = calloc(LENGTH, sizeof *out);
    assert_true(in != NULL && out != NULL);
    for (int64_t i = 0; i < LENGTH; i++) in[i] = i % 2 != 0;
    /* Without vectors positions come out at the end alone. */
    const int outcomes = weft_isa_level() >= WEFT_ISA_V3 ? 2 : 1;
    for (int positions = 0; positions < outcomes; positions++) {
        weft_sort_call call = {.dtype = WEFT_BOOL,
                               .positions = positions,
                               .length = LENGTH,
                               .rank = 1,
                               .rows = &rows,
                               .in_strides = &strides,
                               .out_strides = &strides,
                               .in_step = 1,
                               .out_step = 1};
        char *scratch = calloc((size_t)weft_sort_scratch(keys_of(&call), pool, &call, false) + 1, 1);
        assert_non_null(scratch);
        memset(out, 0, LENGTH * sizeof *out);
        const size_t size = positions ? sizeof *out : sizeof *in;
        const volatile bool *flag = (const volatile bool *)out + size * (LENGTH / 2);
        assert_false(weft_sort_run(keys_of(&call), pool, &call, false, in, out, scratch, flag));
        assert_int_equal(((const char *)out)[size * (LENGTH - 1)], 0);
        free(scratch);
    }
    free(in);
    free(out);
    weft_pool_destroy(pool);
}

int main(int argc, char **argv)
{
    if (argc > 1) sparsity = strtoul(argv[1], NULL, 10);
    if (sparsity == 0) return 2;
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_every_dtype_and_length),
                                       cmocka_unit_test(samples_that_mislead),
                                       cmocka_unit_test(cancelled_bools),
                                       cmocka_unit_test(elements_of_few_values),
                                       cmocka_unit_test(elements_half_of_which_are_equal),
                                       cmocka_unit_test(elements_in_groups),
                                       cmocka_unit_test(long_rows_side_by_side),
                                       cmocka_unit_test(no_rows),
                                       cmocka_unit_test(cancelled),
                                       cmocka_unit_test(scratch_that_cannot_be_counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
