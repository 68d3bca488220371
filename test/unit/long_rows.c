/* SPDX-License-Identifier: Apache-2.0 */
/* Long rows have the same bits, sorted on any number of threads. */
#include "test/support.h"
#include <stdlib.h>
#include <string.h>
#include "runtime/engine/sort.h"
#include "test/rng.h"

static const weft_dtype dtypes[] = {WEFT_BOOL, WEFT_U8,  WEFT_I32, WEFT_U32, WEFT_I64,
                                    WEFT_BF16, WEFT_F16, WEFT_F32, WEFT_F64};
static const size_t threads[] = {1, 2, 3, 7};
enum { POOLS = sizeof threads / sizeof *threads, LONG = 1 << 17 };

static weft_pool *pools[POOLS];
static uint64_t random_state = 1;

/* Of the examples only one in so many is tried. */
static size_t sparsity = 1;

typedef enum values { ANY, SPECIAL, FEW, HALF_EQUAL, ALL_EQUAL, NANS, GROUPS, ONE_GROUP, VALUES } values;
typedef enum order { AS_IS, ASCENDING, DESCENDING, UP_AND_DOWN, NEARLY, ORDERS } order;

/* Of so many bytes: of floats, NaNs and zeros of both signs among others. */
static uint64_t element(values kind, size_t size)
{
    const unsigned top = 8 * (unsigned)size - 1;
    uint64_t bits = weft_test_bits(&random_state), low = bits >> 32;
    switch (kind) {
    case SPECIAL: return bits % 4 == 0 ? low % 2 << top : bits % 4 == 1 ? UINT64_MAX << (top - 3) | low % 16 : bits;
    case FEW: return bits % 13 << (top - 3);
    case HALF_EQUAL: return bits >> 63 != 0 ? 77 : bits;
    case ALL_EQUAL: return 5;
    case NANS: return UINT64_MAX >> (low & 1) << (top - 3) | bits % 8;
    case GROUPS: return bits % 40 << (top - 6) | low % 1000;
    case ONE_GROUP: return bits % 3 == 0 ? (uint64_t)9 << (top - 6) | low % 1000 : bits;
    default: return bits;
    }
}

/* Sorts a row of adjacent elements, on one thread. */
static void sort_alone(weft_dtype dtype, int64_t length, bool descending, const char *in, char *out)
{
    weft_sort_call call = {.dtype = dtype, .descending = descending, .length = length, .in_step = 1, .out_step = 1};
    const struct weft_key_sort *keys = weft_key_sort_find(dtype, false);
    void *scratch = malloc((size_t)weft_sort_scratch(keys, pools[0], &call, false) + 1);
    assert_non_null(scratch);
    assert_true(weft_sort_run(keys, pools[0], &call, false, in, out, scratch, NULL));
    free(scratch);
}

static char *new_row(weft_dtype dtype, int64_t length, values kind, order arrangement)
{
    const size_t size = weft_dtype_size(dtype), count = (size_t)length;
    char *row = malloc(count * size), *sorted = malloc(count * size);
    assert_true(row != NULL && sorted != NULL);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = element(kind, size);
        if (dtype == WEFT_BOOL) bits &= bits >> 8;
        memcpy(row + i * size, &bits, size);
    }
    if (arrangement != AS_IS) sort_alone(dtype, length, arrangement == DESCENDING, row, sorted);
    for (size_t i = 0; i < count && arrangement != AS_IS; i++) {
        size_t to = arrangement != UP_AND_DOWN ? i : i % 2 == 0 ? i / 2 : count - 1 - i / 2;
        memcpy(row + to * size, sorted + i * size, size);
    }
    if (arrangement == NEARLY) memcpy(row + count / 3 * size, sorted, size);
    free(sorted);
    return row;
}

/* The wanted elements, one after another, or their positions. */
static char *sort_on(weft_pool *pool, weft_sort_call call, bool tight, const char *in)
{
    const size_t size = call.positions ? sizeof(int64_t) : weft_dtype_size(call.dtype);
    const struct weft_key_sort *keys = weft_key_sort_find(call.dtype, call.positions);
    void *scratch = malloc((size_t)weft_sort_scratch(keys, pool, &call, tight) + 1);
    char *out = calloc((size_t)(call.length * call.out_step), size), *wanted = malloc((size_t)call.wanted * size);
    assert_true(scratch != NULL && out != NULL && wanted != NULL);
    assert_true(weft_sort_run(keys, pool, &call, tight, in, out, scratch, NULL));
    for (size_t i = 0; i < (size_t)call.wanted; i++)
        memcpy(wanted + i * size, out + i * (size_t)call.out_step * size, size);
    free(scratch);
    free(out);
    return wanted;
}

static void compare(const weft_sort_call *call, const char *in)
{
    const size_t size = call->positions ? sizeof(int64_t) : weft_dtype_size(call->dtype);
    char *expected = sort_on(pools[0], *call, false, in);
    for (size_t p = 1; p < POOLS; p++) {
        char *found = sort_on(pools[p], *call, p % 2 == 0, in);
        assert_memory_equal(found, expected, (size_t)call->wanted * size);
        free(found);
    }
    free(expected);
}

static void check(weft_dtype dtype, int64_t length, values kind, order arrangement)
{
    char *in = new_row(dtype, length, kind, arrangement);
    for (int turn = 0; turn < 4; turn++) {
        weft_sort_call call = {.dtype = dtype,
                               .positions = turn % 2 != 0,
                               .descending = turn / 2 != 0,
                               .length = length,
                               .in_step = 1,
                               .out_step = 1,
                               .wanted = length};
        compare(&call, in);
        call.wanted = length / 3;
        compare(&call, in);
        if (arrangement != AS_IS) continue;
        call.in_step = -1;
        call.in_offset = length - 1;
        call.out_step = 2;
        compare(&call, in);
    }
    free(in);
}

static void any_number_of_threads(void **unused)
{
    static const int64_t lengths[] = {LONG - 1, LONG, LONG + 1, 160001, 262139};
    size_t number = 0;
    (void)unused;
    for (int kind = 0; kind < VALUES; kind++)
        for (int arrangement = 0; arrangement < ORDERS; arrangement++)
            for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
                if (number++ % sparsity == 0)
                    check(dtypes[d], lengths[number % (sizeof lengths / sizeof *lengths)], kind, arrangement);
}

static void rows_fewer_than_threads(void **unused)
{
    (void)unused;
    const int64_t rows = 2, stride = LONG + 5;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        const size_t size = weft_dtype_size(dtypes[d]);
        char *in = new_row(dtypes[d], rows * stride, SPECIAL, AS_IS), *out[POOLS];
        weft_sort_call call = {.dtype = dtypes[d],
                               .length = LONG,
                               .rank = 1,
                               .rows = &rows,
                               .in_strides = &stride,
                               .out_strides = &stride,
                               .in_step = 1,
                               .out_step = 1};
        for (size_t p = 0; p < POOLS; p++) {
            const struct weft_key_sort *keys = weft_key_sort_find(call.dtype, false);
            void *scratch = malloc((size_t)weft_sort_scratch(keys, pools[p], &call, false) + 1);
            out[p] = calloc((size_t)(rows * stride), size);
            assert_true(scratch != NULL && out[p] != NULL);
            assert_true(weft_sort_run(keys, pools[p], &call, false, in, out[p], scratch, NULL));
            assert_memory_equal(out[p], out[0], (size_t)(rows * stride) * size);
            free(scratch);
        }
        for (size_t p = 0; p < POOLS; p++) free(out[p]);
        free(in);
    }
}

/* The flag is a byte that is set where keys are dealt to. */
static void cancelled(void **unused)
{
    (void)unused;
    if (WEFT_TEST_THREAD) skip(); /* one thread sets what another one reads */
    weft_sort_call call = {.dtype = WEFT_I64, .length = 1 << 20, .in_step = 1, .out_step = 1};
    const size_t count = (size_t)call.length;
    const struct weft_key_sort *keys = weft_key_sort_find(call.dtype, false);
    int64_t *in = calloc(count, sizeof *in), *out = calloc(count, sizeof *out);
    char *scratch = calloc((size_t)weft_sort_scratch(keys, pools[1], &call, false), 1);
    assert_true(in != NULL && out != NULL && scratch != NULL);
    for (size_t i = 0; i < count; i++) in[i] = 1 + (int64_t)(weft_test_bits(&random_state) >> 20 << 10);
    const volatile bool *flag = (const volatile bool *)scratch + (count + count / 2) * sizeof *in;
    assert_false(weft_sort_run(keys, pools[1], &call, false, in, out, scratch, flag));
    for (size_t i = 0; i < count; i++) assert_int_equal(out[i], 0);
    free(in);
    free(out);
    free(scratch);
}

int main(int argc, char **argv)
{
    if (argc > 1) sparsity = strtoul(argv[1], NULL, 10);
    if (sparsity == 0) return 2;
    for (size_t p = 0; p < POOLS; p++)
        if (weft_pool_create(NULL, weft_machine_reference(), threads[p], &pools[p]) != NULL) return 2;
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_number_of_threads),
                                       cmocka_unit_test(rows_fewer_than_threads), cmocka_unit_test(cancelled)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t p = 0; p < POOLS; p++) weft_pool_destroy(pools[p]);
    return failed;
}
