/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support.h"
#include <stdlib.h>
#include "runtime/data/block.h"

/* A store of `capacity` bytes on an allocator that counts, and two devices: the CPU and one with its own memory. */
struct bench {
    weft_test_allocator test;
    weft_block_store *store;
    weft_driver drivers[2];
    weft_runtime cpu, device;
    size_t device_bytes, device_most; /* now; that a request may have */
};

static weft_status *device_allocate(void *self, size_t bytes, void **out_memory)
{
    struct bench *bench = self;
    if (bench->device_bytes + bytes > bench->device_most) return weft_status_out_of_memory();
    bench->device_bytes += bytes;
    *out_memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_non_null(*out_memory);
    return NULL;
}

static void device_release(void *self, void *memory, size_t bytes)
{
    struct bench *bench = self;
    bench->device_bytes -= bytes;
    free(memory);
}

static void open_bench(struct bench *bench, size_t capacity)
{
    *bench = (struct bench){.device_most = SIZE_MAX};
    weft_test_allocator_init(&bench->test, WEFT_TEST_NEVER);
    bench->drivers[0] = bench->drivers[1] = (weft_driver){.size = sizeof(weft_driver)};
    bench->drivers[1].allocate = device_allocate;
    bench->drivers[1].release = device_release;
    bench->cpu = (weft_runtime){.size = sizeof(weft_runtime), .name = "cpu", .driver = &bench->drivers[0]};
    bench->device = bench->cpu;
    bench->device.self = bench;
    bench->device.driver = &bench->drivers[1];
    weft_test_ok(weft_block_store_create(&bench->test.allocator, capacity, &bench->store));
}

static void close_bench(struct bench *bench)
{
    weft_block_store_release(bench->store);
    weft_test_allocator_check(&bench->test);
    assert_int_equal(bench->device_bytes, 0);
}

static weft_block *acquire(struct bench *bench, const weft_runtime *runtime, size_t bytes)
{
    weft_block *block;
    weft_test_ok(weft_block_acquire(bench->store, runtime, bytes, &block));
    assert_true(block->bytes >= bytes);
    return block;
}

/* Makes one and gives it back. */
static void leave(struct bench *bench, size_t bytes)
{
    weft_block_release(acquire(bench, &bench->cpu, bytes));
}

static void test_a_block_is_found_again(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, SIZE_MAX);
    static const size_t sizes[] = {1, 100, 5000, 1 << 20, 3 << 20, (3 << 20) + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        weft_block *block = acquire(&bench, &bench.cpu, sizes[i]);
        void *memory = block->memory;
        weft_block_release(block);
        size_t requests = atomic_load(&bench.test.requests);
        block = acquire(&bench, &bench.cpu, sizes[i]);
        assert_ptr_equal(block->memory, memory);
        assert_int_equal(atomic_load(&bench.test.requests), requests);
        weft_block_release(block);
        weft_block_store_clear(bench.store);
        assert_int_equal(weft_block_store_idle(bench.store), 0);
    }
    close_bench(&bench);
}

/* Two blocks of a run, each of which would do for the smaller one, are the same two at the next run. */
static void test_the_best_fit_is_taken(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, SIZE_MAX);
    weft_block *small = acquire(&bench, &bench.cpu, 100000), *large = acquire(&bench, &bench.cpu, 120000);
    weft_block_release(small);
    weft_block_release(large);
    for (int run = 0; run < 3; run++) {
        weft_block *first = acquire(&bench, &bench.cpu, 100000), *second = acquire(&bench, &bench.cpu, 120000);
        assert_ptr_equal(first, small);
        assert_ptr_equal(second, large);
        weft_block_release(first);
        weft_block_release(second);
    }
    assert_int_equal(weft_block_store_idle(bench.store), 220000);
    weft_block *first = acquire(&bench, &bench.cpu, 90000), *second = acquire(&bench, &bench.cpu, 90000);
    assert_ptr_equal(first, small);
    assert_int_equal(second->bytes, 90000); /* a block of 120000 would waste more than a quarter */
    weft_block_release(first);
    weft_block_release(second);
    close_bench(&bench);
}

/* Programs that take turns: the oldest blocks go, and no more than the capacity is idle or about to be. */
static void test_the_capacity_holds(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, 100000);
    for (size_t turn = 0; turn < 200; turn++) {
        leave(&bench, 10000 + turn % 7 * 7000);
        assert_true(weft_block_store_idle(bench.store) <= 100000);
    }
    assert_true(atomic_load(&bench.test.most_bytes) <= 100000 + 20 * 1024); /* the store and what describes blocks */
    size_t idle = weft_block_store_idle(bench.store);
    leave(&bench, 100001); /* is not kept, so nothing goes for it */
    assert_int_equal(weft_block_store_idle(bench.store), idle);
    close_bench(&bench);
    open_bench(&bench, 100000);
    leave(&bench, 60000);
    leave(&bench, 30000);
    assert_int_equal(weft_block_store_idle(bench.store), 90000);
    leave(&bench, 11000);
    assert_int_equal(weft_block_store_idle(bench.store), 41000);
    close_bench(&bench);
}

static void test_many_small_blocks(void **state)
{
    (void)state;
    struct bench bench;
    enum { MANY = 300 };
    weft_block *blocks[MANY];
    open_bench(&bench, SIZE_MAX);
    for (size_t i = 0; i < MANY; i++) blocks[i] = acquire(&bench, &bench.cpu, 0);
    for (size_t i = 0; i < MANY; i++) weft_block_release(blocks[i]);
    assert_int_equal(weft_block_store_idle(bench.store), 256);
    close_bench(&bench);
}

static void test_devices_do_not_share(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, SIZE_MAX);
    leave(&bench, 5000);
    weft_block *block = acquire(&bench, &bench.device, 5000);
    assert_int_equal(bench.device_bytes, 5000);
    assert_ptr_equal(block->owner, &bench.device);
    weft_block_release(block);
    assert_int_equal(bench.device_bytes, 5000);
    assert_int_equal(weft_block_store_idle(bench.store), 10000);
    assert_ptr_equal(acquire(&bench, &bench.device, 4000), block);
    weft_block_release(block);
    close_bench(&bench);
}

static void test_idle_blocks_are_no_reason_to_fail(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, SIZE_MAX);
    bench.device_most = 10000;
    weft_block *first = acquire(&bench, &bench.device, 2000), *second = acquire(&bench, &bench.device, 3000), *third;
    weft_block_release(first);
    weft_block_release(second);
    third = acquire(&bench, &bench.device, 9000);
    assert_int_equal(bench.device_bytes, 9000);
    weft_test_fails(weft_block_acquire(bench.store, &bench.device, 2000, &first), WEFT_OUT_OF_MEMORY, "");
    weft_block_release(third);
    close_bench(&bench);
}

static void test_blocks_outlive_the_store(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, SIZE_MAX);
    weft_block *block = acquire(&bench, &bench.cpu, 5000);
    weft_block_store_release(bench.store);
    ((char *)block->memory)[4999] = 1;
    weft_block_release(block);
    weft_block_release(NULL);
    weft_test_allocator_check(&bench.test);
}

static weft_status *use_store(const weft_allocator *allocator, void *context)
{
    struct bench *bench = context;
    weft_block_store *store;
    weft_block *block;
    WEFT_TRY(weft_block_store_create(allocator, SIZE_MAX, &store));
    weft_status *status = weft_block_acquire(store, &bench->cpu, 5000, &block);
    if (status == NULL) weft_block_release(block);
    weft_block_store_release(store);
    return status;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, 0);
    assert_int_equal(weft_test_fail_each(use_store, &bench), 3);
    close_bench(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_block_is_found_again),   cmocka_unit_test(test_the_best_fit_is_taken),
        cmocka_unit_test(test_the_capacity_holds),       cmocka_unit_test(test_many_small_blocks),
        cmocka_unit_test(test_devices_do_not_share),     cmocka_unit_test(test_idle_blocks_are_no_reason_to_fail),
        cmocka_unit_test(test_blocks_outlive_the_store), cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
