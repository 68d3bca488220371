/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support.h"
#include <string.h>
#include "runtime/base/memory.h"

static void the_default_allocator_keeps_alignment_and_contents(void **state)
{
    (void)state;
    const weft_allocator *allocator = weft_allocator_default();
    assert_ptr_equal(weft_allocator_or_default(NULL), allocator);
    for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        char *block = allocator->resize(allocator->self, NULL, 0, 100, alignment);
        assert_int_equal((uintptr_t)block % alignment, 0);
        memset(block, 7, 100);
        block = allocator->resize(allocator->self, block, 100, 10000, alignment);
        assert_int_equal((uintptr_t)block % alignment, 0);
        for (int i = 0; i < 100; i++) assert_int_equal(block[i], 7);
        block = allocator->resize(allocator->self, block, 10000, 50, alignment);
        for (int i = 0; i < 50; i++) assert_int_equal(block[i], 7);
        assert_null(allocator->resize(allocator->self, block, 50, 0, alignment));
    }
}

static void blocks_of_no_bytes_are_valid(void **state)
{
    (void)state;
    weft_test_allocator test;
    weft_test_allocator_init(&test, WEFT_TEST_NEVER);
    void *block = weft_allocate(&test.allocator, 0);
    assert_non_null(block);
    weft_free(&test.allocator, block, 0);
    weft_free(&test.allocator, NULL, 5);
    unsigned char *zeroed = weft_allocate_zeroed(&test.allocator, 33);
    for (int i = 0; i < 33; i++) assert_int_equal(zeroed[i], 0);
    weft_free(&test.allocator, zeroed, 33);
    weft_test_allocator_check(&test);
}

static void reserve_grows_or_changes_nothing(void **state)
{
    (void)state;
    weft_test_allocator test;
    weft_test_allocator_init(&test, WEFT_TEST_NEVER);
    int *items = NULL;
    size_t capacity = 0;
    for (int i = 0; i < 1000; i++) {
        assert_true(weft_reserve(&test.allocator, &items, &capacity, (size_t)i + 1, sizeof *items));
        items[i] = i;
    }
    assert_true(atomic_load(&test.requests) < 20);
    for (int i = 0; i < 1000; i++) assert_int_equal(items[i], i);
    int *before = items;
    size_t before_capacity = capacity;
    assert_false(weft_reserve(&test.allocator, &items, &capacity, SIZE_MAX / 2, sizeof *items));
    test.fail_at = atomic_load(&test.requests);
    assert_false(weft_reserve(&test.allocator, &items, &capacity, capacity + 1, sizeof *items));
    assert_ptr_equal(items, before);
    assert_int_equal(capacity, before_capacity);
    weft_free(&test.allocator, items, capacity * sizeof *items);
    weft_test_allocator_check(&test);
}

static weft_status *fill_arena(const weft_allocator *allocator, void *context)
{
    (void)context;
    weft_arena arena;
    weft_arena_init(&arena, allocator);
    bool ok = true;
    for (size_t size = 0; size < 3000000 && ok; size = size * 8 + 1) {
        unsigned char *block = weft_arena_allocate(&arena, size);
        ok = block != NULL;
        assert_int_equal((uintptr_t)block % 16, 0);
        if (ok) memset(block, (int)size, size);
    }
    const char *text = ok ? weft_arena_string(&arena, "extent", 3) : NULL;
    if (text != NULL) assert_string_equal(text, "ext");
    weft_arena_finish(&arena);
    assert_int_equal(arena.used, 0);
    return text == NULL ? weft_status_out_of_memory() : NULL;
}

static void an_arena_survives_short_memory(void **state)
{
    (void)state;
    assert_true(weft_test_fail_each(fill_arena, NULL) >= 3);
}

static void arena_blocks_do_not_overlap(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    weft_arena arena;
    weft_arena_init(&arena, NULL);
    size_t *blocks[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        size_t value[5] = {i, i, i, i, i};
        blocks[i] = weft_arena_copy(&arena, value, (i % 5 + 1) * sizeof(size_t));
    }
    for (size_t i = 0; i < COUNT; i++)
        for (size_t k = 0; k <= i % 5; k++) assert_int_equal(blocks[i][k], i);
    assert_true(arena.used >= COUNT * 16);
    assert_null(weft_arena_allocate(&arena, SIZE_MAX));
    assert_null(weft_arena_string(&arena, "", SIZE_MAX));
    assert_non_null(weft_arena_copy(&arena, NULL, 0));
    weft_arena_finish(&arena);
}

static weft_status *fill_bytes(const weft_allocator *allocator, void *context)
{
    (void)context;
    weft_bytes bytes;
    weft_bytes_init(&bytes, allocator);
    for (int i = 0; i < 100; i++) weft_bytes_print(&bytes, "%d,", i);
    weft_bytes_append(&bytes, "a\0b", 3);
    weft_status *status = weft_bytes_status(&bytes);
    if (status == NULL) {
        assert_int_equal(bytes.size, 290 + 3);
        assert_memory_equal(bytes.data + 281, "97,98,99,a\0b", 13);
    }
    weft_bytes_finish(&bytes);
    return status;
}

static void bytes_survive_short_memory(void **state)
{
    (void)state;
    assert_true(weft_test_fail_each(fill_bytes, NULL) >= 3);
}

static void bytes_stay_failed_until_cleared(void **state)
{
    (void)state;
    weft_test_allocator test;
    weft_test_allocator_init(&test, 0);
    weft_bytes bytes;
    weft_bytes_init(&bytes, &test.allocator);
    weft_bytes_append(&bytes, "x", 1);
    weft_bytes_append(&bytes, "y", 1);
    assert_true(bytes.failed);
    assert_null(bytes.data);
    weft_test_fails(weft_bytes_status(&bytes), WEFT_OUT_OF_MEMORY, "");
    weft_bytes_clear(&bytes);
    weft_bytes_append(&bytes, NULL, 0);
    assert_string_equal(bytes.data, "");
    weft_bytes_print(&bytes, "%s", "again");
    assert_string_equal(bytes.data, "again");
    weft_test_ok(weft_bytes_status(&bytes));
    weft_bytes_finish(&bytes);
    weft_test_allocator_check(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_allocator_keeps_alignment_and_contents),
        cmocka_unit_test(blocks_of_no_bytes_are_valid),
        cmocka_unit_test(reserve_grows_or_changes_nothing),
        cmocka_unit_test(an_arena_survives_short_memory),
        cmocka_unit_test(arena_blocks_do_not_overlap),
        cmocka_unit_test(bytes_survive_short_memory),
        cmocka_unit_test(bytes_stay_failed_until_cleared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
