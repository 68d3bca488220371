/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support.h"
#include <string.h>
#include "runtime/base/map.h"

enum { COUNT = 2000 };

static int values[COUNT];
static int destroyed;

static void count_destroyed(void *value)
{
    assert_true((int *)value >= values && (int *)value < values + COUNT);
    destroyed++;
}

static weft_status *insert_and_remove(const weft_allocator *allocator, void *context)
{
    int count = *(int *)context;
    weft_map map;
    weft_map_init(&map, allocator);
    int inserted = 0;
    while (inserted < count && weft_map_insert(&map, &inserted, sizeof inserted, &values[inserted])) inserted++;
    assert_int_equal(weft_map_count(&map), inserted);
    for (int i = 0; i < count; i++)
        assert_ptr_equal(weft_map_find(&map, &i, sizeof i), i < inserted ? &values[i] : NULL);
    for (int i = 0; i < inserted; i += 2) {
        assert_ptr_equal(weft_map_remove(&map, &i, sizeof i), &values[i]);
        assert_null(weft_map_remove(&map, &i, sizeof i));
    }
    assert_int_equal(weft_map_count(&map), inserted / 2);
    destroyed = 0;
    weft_map_finish(&map, count_destroyed);
    assert_int_equal(destroyed, inserted / 2);
    return inserted == count ? NULL : weft_status_out_of_memory();
}

static void short_memory_refuses_the_entry_and_keeps_the_rest(void **state)
{
    (void)state;
    int few = 600;
    assert_true(weft_test_fail_each(insert_and_remove, &few) > 600 + 3);
}

static void many_keys_are_found(void **state)
{
    (void)state;
    int many = COUNT;
    weft_test_allocator test;
    weft_test_allocator_init(&test, WEFT_TEST_NEVER);
    weft_test_ok(insert_and_remove(&test.allocator, &many));
    weft_test_allocator_check(&test);
}

static void keys_are_whole_byte_strings(void **state)
{
    (void)state;
    weft_map map;
    weft_map_init(&map, NULL);
    assert_null(weft_map_find(&map, "a", 1));
    assert_null(weft_map_remove(&map, "a", 1));
    assert_true(weft_map_insert(&map, NULL, 0, &values[0]));
    assert_true(weft_map_insert(&map, "a", 1, &values[1]));
    assert_true(weft_map_insert(&map, "a\0", 2, &values[2]));
    assert_true(weft_map_insert(&map, "a\0b", 3, &values[3]));
    assert_ptr_equal(weft_map_find(&map, "", 0), &values[0]);
    assert_ptr_equal(weft_map_find(&map, "ax", 1), &values[1]);
    assert_ptr_equal(weft_map_find(&map, "a\0x", 2), &values[2]);
    assert_ptr_equal(weft_map_find(&map, "a\0b", 3), &values[3]);
    assert_null(weft_map_find(&map, "a\0c", 3));
    weft_map_finish(&map, NULL);
    assert_int_equal(weft_map_count(&map), 0);
    assert_true(weft_map_insert(&map, "a", 1, &values[0]));
    weft_map_finish(&map, NULL);
}

static void the_key_is_copied(void **state)
{
    (void)state;
    weft_map map;
    weft_map_init(&map, NULL);
    char key[4] = "key";
    assert_true(weft_map_insert(&map, key, 3, &values[0]));
    memset(key, 'x', 3);
    assert_ptr_equal(weft_map_find(&map, "key", 3), &values[0]);
    weft_map_finish(&map, NULL);
}

static void the_hash_is_xxh3(void **state)
{
    (void)state;
    assert_true(weft_hash("", 0) == UINT64_C(0x2d06800538d394c2)); /* published check value of XXH3_64bits, seed 0 */
    assert_true(weft_hash("abc", 3) != weft_hash("abd", 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_memory_refuses_the_entry_and_keeps_the_rest),
        cmocka_unit_test(many_keys_are_found),
        cmocka_unit_test(keys_are_whole_byte_strings),
        cmocka_unit_test(the_key_is_copied),
        cmocka_unit_test(the_hash_is_xxh3),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
