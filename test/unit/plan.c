/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support.h"
#include <stdlib.h>
#include "runtime/plan/plan.h"
#include "test/rng.h"

static bool live_together(const weft_plan_item *x, const weft_plan_item *y)
{
    return x->first.phase <= y->last.phase && y->first.phase <= x->last.phase;
}

static void check_plan(size_t count, const weft_plan_item *items, int64_t total)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(items[i].offset % WEFT_PLAN_ALIGNMENT, 0);
        assert_true(items[i].offset >= 0 && items[i].offset + items[i].bytes <= total);
        for (size_t j = 0; j < i; j++)
            if (items[i].bytes > 0 && items[j].bytes > 0 && live_together(&items[i], &items[j]))
                assert_true(items[i].offset + items[i].bytes <= items[j].offset ||
                            items[j].offset + items[j].bytes <= items[i].offset);
    }
}

static void test_nothing(void **state)
{
    (void)state;
    int64_t total = -1;
    weft_test_ok(weft_plan_fill(NULL, 0, NULL, &total));
    assert_int_equal(total, 0);
}

/* A chain of equal temporaries needs two of them at a time. */
static void test_chain_reuses_the_dead(void **state)
{
    (void)state;
    weft_plan_item items[10];
    int64_t total;
    for (uint32_t i = 0; i < 10; i++) items[i] = (weft_plan_item){.bytes = 1000, .first = {i}, .last = {i + 1}};
    weft_test_ok(weft_plan_fill(NULL, 10, items, &total));
    check_plan(10, items, total);
    assert_int_equal(total, 2048);
}

static void test_smallest_gap_that_fits(void **state)
{
    (void)state;
    weft_plan_item items[] = {{.bytes = 640, .first = {0}, .last = {1}},
                              {.bytes = 320, .first = {0}, .last = {9}},
                              {.bytes = 256, .first = {0}, .last = {1}},
                              {.bytes = 192, .first = {0}, .last = {9}},
                              {.bytes = 130, .first = {2}, .last = {9}}};
    int64_t total;
    weft_test_ok(weft_plan_fill(NULL, 5, items, &total));
    check_plan(5, items, total);
    assert_int_equal(total, 640 + 320 + 256 + 192);
    assert_int_equal(items[4].offset, items[2].offset);
}

static void test_zero_sizes_take_no_room(void **state)
{
    (void)state;
    weft_plan_item items[] = {{.bytes = 0, .first = {0}, .last = {3}}, {.bytes = 1, .first = {1}, .last = {1}}};
    int64_t total;
    weft_test_ok(weft_plan_fill(NULL, 2, items, &total));
    assert_int_equal(items[0].offset, 0);
    assert_int_equal(items[1].offset, 0);
    assert_int_equal(total, 64);
}

static void test_sizes_that_cannot_be(void **state)
{
    (void)state;
    weft_plan_item negative = {.bytes = -1};
    weft_plan_item huge[] = {{.bytes = INT64_MAX / 2}, {.bytes = INT64_MAX / 2}};
    int64_t total;
    weft_test_fails(weft_plan_fill(NULL, 1, &negative, &total), WEFT_OUT_OF_RANGE, "-1 bytes");
    weft_test_fails(weft_plan_fill(NULL, 2, huge, &total), WEFT_OUT_OF_RANGE, "their sum does not fit an int64");
}

static void test_random(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (int round = 0; round < 200; round++) {
        weft_plan_item items[40], again[40];
        int64_t total, total_again;
        for (size_t i = 0; i < 40; i++) {
            uint32_t first = (uint32_t)weft_test_below(&random, 20);
            items[i] = (weft_plan_item){.bytes = weft_test_below(&random, 5) == 0 ? 0 : weft_test_below(&random, 3000),
                                        .first = {first},
                                        .last = {first + (uint32_t)weft_test_below(&random, 6)}};
            again[i] = items[i];
        }
        weft_test_ok(weft_plan_fill(NULL, 40, items, &total));
        weft_test_ok(weft_plan_fill(NULL, 40, again, &total_again));
        check_plan(40, items, total);
        assert_int_equal(total, total_again);
        assert_memory_equal(items, again, sizeof items);
    }
}

static weft_status *plan_with(const weft_allocator *allocator, void *context)
{
    (void)context;
    weft_plan_item items[] = {{.bytes = 10, .last = {1}}, {.bytes = 20, .last = {1}}};
    int64_t total;
    return weft_plan_fill(allocator, 2, items, &total);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    assert_true(weft_test_fail_each(plan_with, NULL) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_chain_reuses_the_dead),
        cmocka_unit_test(test_smallest_gap_that_fits),
        cmocka_unit_test(test_zero_sizes_take_no_room),
        cmocka_unit_test(test_sizes_that_cannot_be),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
