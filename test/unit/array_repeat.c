/* SPDX-License-Identifier: Apache-2.0 */
/* Whether elements of a layout share a place, against counting, and where the answer follows from number theory. */
#include <stdio.h>
#include <string.h>
#include "runtime/data/array.h"
#include "test/rng.h"
#include "test/support.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

enum { MOST_AXES = 4, SPAN = 1 << 16 };

static uint64_t random_state = 1;

/* The elements are never looked at. */
static const char *find(size_t rank, const int64_t *shape, const int64_t *strides, size_t *out_axis)
{
    char data;
    weft_array *array;
    weft_test_ok(weft_array_wrap(NULL, WEFT_U8, rank, shape, strides, &data, NULL, NULL, &array));
    const char *repeat = weft_array_find_repeat(array, out_axis);
    weft_array_release(array);
    return repeat;
}

/* Whether two elements have the same offset. */
static bool repeats(size_t rank, const int64_t *shape, const int64_t *strides)
{
    static uint32_t seen[SPAN], round;
    int64_t index[MOST_AXES] = {0}, low = 0;
    round++;
    for (size_t i = 0; i < rank; i++) {
        if (shape[i] == 0) return false;
        if (strides[i] < 0) low += strides[i] * (shape[i] - 1);
    }
    for (;;) {
        int64_t offset = -low;
        for (size_t i = 0; i < rank; i++) offset += index[i] * strides[i];
        assert_true(offset >= 0 && offset < SPAN);
        if (seen[offset] == round) return true;
        seen[offset] = round;
        size_t axis = 0;
        while (axis < rank && ++index[axis] == shape[axis]) index[axis++] = 0;
        if (axis == rank) return false;
    }
}

static void judge(size_t rank, const int64_t *shape, const int64_t *strides)
{
    size_t axis = WEFT_MAX_RANK;
    const char *found = find(rank, shape, strides, &axis);
    bool expected = repeats(rank, shape, strides);
    if ((found != NULL) == expected && (found == NULL || strcmp(found, "addresses elements twice") == 0)) {
        assert_true(found == NULL ? axis == WEFT_MAX_RANK : axis < rank && shape[axis] > 1);
        return;
    }
    printf("found: %s\n", found == NULL ? "nothing" : found);
    for (size_t i = 0; i < rank; i++) printf("extent %d, stride %d\n", (int)shape[i], (int)strides[i]);
    fail();
}

static int64_t between(int64_t low, int64_t high)
{
    return weft_test_between(&random_state, low, high);
}

static void judge_random(int count, int64_t extent, int64_t stride)
{
    for (int i = 0; i < count; i++) {
        int64_t shape[MOST_AXES], strides[MOST_AXES];
        size_t rank = (size_t)between(1, MOST_AXES);
        for (size_t axis = 0; axis < rank; axis++) {
            shape[axis] = between(extent > 4 ? 1 : 0, extent);
            strides[axis] = between(-stride, stride);
        }
        judge(rank, shape, strides);
    }
}

static void every_small_layout_of_two_axes_is_judged_right(void **state)
{
    (void)state;
    for (int i = 0; i < 5 * 5 * 25 * 25; i++) judge(2, DIMS(i % 5, i / 5 % 5), DIMS(i / 25 % 25 - 12, i / 625 - 12));
}

static void layouts_are_judged_right(void **state)
{
    (void)state;
    judge_random(200000, 4, 12);
    judge_random(50000, 3, 80);
    judge_random(20000, 9, 1000);
}

static void check_distinct(size_t rank, const int64_t *shape, const int64_t *strides)
{
    size_t axis;
    assert_null(find(rank, shape, strides, &axis));
}

static void check_repeats(size_t rank, const int64_t *shape, const int64_t *strides, size_t expected)
{
    size_t axis;
    const char *found = find(rank, shape, strides, &axis);
    assert_non_null(found);
    assert_string_equal(found, "addresses elements twice");
    assert_int_equal(axis, expected);
}

/* Strides p and q without a common divisor meet where one axis has more than q elements and the other more than p. */
static void great_strides_overflow_nothing(void **state)
{
    (void)state;
    const int64_t n = (int64_t)1 << 30, far = (int64_t)1 << 60;
    check_distinct(2, DIMS(n, n), DIMS(n + 1, -n));
    check_distinct(2, DIMS(n + 1, n + 1), DIMS(n + 1, -n));
    check_distinct(2, DIMS(n, n + 2), DIMS(-n - 1, n));
    check_repeats(2, DIMS(n + 1, n + 2), DIMS(n + 1, n), 0);
    check_distinct(3, DIMS(2, 2, 2), DIMS(far + 2, -far - 1, far));
    check_repeats(3, DIMS(2, 2, 2), DIMS(far + 1, far, -far), 1);
    check_distinct(3, DIMS(2, 2, 3), DIMS(far + 1, 2, far / 2 - 1));
    check_repeats(3, DIMS(2, 2, 3), DIMS(far, 2, far / 2 - 1), 0);
    check_distinct(2, DIMS(2, 2), DIMS(INT64_MAX / 2, -(INT64_MAX / 2 - 1)));
}

/* Whether sums of these strides are equal is a knapsack problem. */
static void what_takes_long_to_know_is_refused(void **state)
{
    (void)state;
    int64_t shape[24], strides[24];
    size_t axis;
    for (size_t i = 0; i < 24; i++) {
        shape[i] = 2;
        strides[i] = ((int64_t)1 << 57) + (int64_t)(weft_test_bits(&random_state) >> 8);
    }
    assert_string_equal(find(24, shape, strides, &axis), "may address elements twice");
    assert_true(axis < 24);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_small_layout_of_two_axes_is_judged_right),
        cmocka_unit_test(layouts_are_judged_right),
        cmocka_unit_test(great_strides_overflow_nothing),
        cmocka_unit_test(what_takes_long_to_know_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
