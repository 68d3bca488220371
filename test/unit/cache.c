/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support.h"
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "runtime/base/cache.h"
#include "runtime/base/memory.h"

/* What the values of a test are made from; a value is an int of the same allocator. */
struct source {
    weft_cache *cache;
    weft_test_allocator test;
    atomic_int made;
    atomic_int failures_left; /* this many calls of `make_int` fail first */
    size_t bytes;
};

struct request {
    struct source *source;
    int number;
};

static atomic_int alive;
static const weft_allocator *value_allocator;

static void destroy_int(void *value)
{
    atomic_fetch_sub(&alive, 1);
    weft_free(value_allocator, value, sizeof(int));
}

static weft_status *make_int(void *context, void **out_value, size_t *out_bytes)
{
    struct request *request = context;
    struct source *source = request->source;
    atomic_fetch_add(&source->made, 1);
    if (atomic_load(&source->failures_left) > 0) {
        atomic_fetch_sub(&source->failures_left, 1);
        return weft_status_create(&source->test.allocator, WEFT_COMPILE_FAILED, "make", "no value %d", request->number);
    }
    int *value = weft_allocate(value_allocator, sizeof *value);
    if (value == NULL) return weft_status_out_of_memory();
    *value = request->number;
    *out_value = value;
    *out_bytes = source->bytes;
    atomic_fetch_add(&alive, 1);
    return NULL;
}

static void open_source(struct source *source, size_t max_entries, size_t max_bytes)
{
    memset(source, 0, sizeof *source);
    weft_test_allocator_init(&source->test, WEFT_TEST_NEVER);
    source->bytes = 10;
    value_allocator = &source->test.allocator;
    atomic_store(&alive, 0);
    weft_test_ok(weft_cache_create(&source->test.allocator, max_entries, max_bytes, destroy_int, &source->cache));
}

static void close_source(struct source *source)
{
    weft_cache_destroy(source->cache);
    assert_int_equal(atomic_load(&alive), 0);
    weft_test_allocator_check(&source->test);
}

static weft_status *acquire(struct source *source, int number, weft_cache_handle **out_handle)
{
    struct request request = {source, number};
    return weft_cache_acquire(source->cache, &number, sizeof number, make_int, &request, NULL, out_handle);
}

/* Acquires, compares and releases. */
static void visit(struct source *source, int number)
{
    weft_cache_handle *handle = NULL;
    weft_test_ok(acquire(source, number, &handle));
    assert_int_equal(*(int *)weft_cache_value(handle), number);
    weft_cache_release(handle);
}

static void check_counters(struct source *source, uint64_t hits, uint64_t misses, uint64_t evictions, size_t entries)
{
    weft_cache_counters counters = weft_cache_counters_of(source->cache);
    assert_int_equal(counters.hits, hits);
    assert_int_equal(counters.misses, misses);
    assert_int_equal(counters.evictions, evictions);
    assert_int_equal(counters.entries, entries);
    assert_int_equal(counters.bytes, entries * source->bytes);
}

static void the_least_recently_used_goes_first(void **state)
{
    (void)state;
    struct source source;
    open_source(&source, 3, SIZE_MAX);
    for (int i = 0; i < 5; i++) visit(&source, i);
    check_counters(&source, 0, 5, 2, 3);
    assert_int_equal(atomic_load(&alive), 3);
    for (int i = 2; i < 5; i++) visit(&source, i);
    check_counters(&source, 3, 5, 2, 3);
    visit(&source, 2);
    visit(&source, 9);
    visit(&source, 2);
    visit(&source, 4);
    check_counters(&source, 6, 6, 3, 3);
    visit(&source, 3);
    check_counters(&source, 6, 7, 4, 3);
    close_source(&source);
}

static void what_is_marked_counts_as_used(void **state)
{
    (void)state;
    struct source source;
    weft_cache_handle *first, *second;
    open_source(&source, 3, SIZE_MAX);
    weft_test_ok(acquire(&source, 0, &first));
    weft_test_ok(acquire(&source, 1, &second));
    visit(&source, 2);
    weft_cache_mark(first);
    visit(&source, 3);
    assert_true(weft_cache_keeps(first));
    assert_false(weft_cache_keeps(second));
    weft_cache_mark(second);
    weft_cache_add_hits(source.cache, 1);
    check_counters(&source, 1, 4, 1, 3);
    visit(&source, 4);
    weft_cache_mark(first);
    for (int i = 5; i < 7; i++) visit(&source, i);
    assert_true(weft_cache_keeps(first));
    visit(&source, 7);
    assert_false(weft_cache_keeps(first));
    check_counters(&source, 1, 8, 5, 3);
    weft_cache_release(first);
    weft_cache_release(second);
    close_source(&source);
}

static void bytes_bound_too(void **state)
{
    (void)state;
    struct source source;
    open_source(&source, SIZE_MAX, 35);
    for (int i = 0; i < 5; i++) visit(&source, i);
    check_counters(&source, 0, 5, 2, 3);
    source.bytes = 36;
    visit(&source, 77);
    source.bytes = 10;
    check_counters(&source, 0, 6, 3, 3);
    visit(&source, 3);
    check_counters(&source, 1, 6, 3, 3);
    source.bytes = 30;
    visit(&source, 78);
    check_counters(&source, 1, 7, 6, 1);
    close_source(&source);
}

static void a_handle_outlives_eviction_and_cache(void **state)
{
    (void)state;
    struct source source;
    weft_cache_handle *first, *second;
    open_source(&source, 1, SIZE_MAX);
    weft_test_ok(acquire(&source, 1, &first));
    visit(&source, 2);
    assert_int_equal(atomic_load(&alive), 2);
    assert_int_equal(*(int *)weft_cache_value(first), 1);
    weft_test_ok(acquire(&source, 1, &second));
    assert_ptr_not_equal(weft_cache_value(first), weft_cache_value(second));
    assert_ptr_equal(weft_cache_retain(first), first);
    weft_cache_release(first);
    assert_int_equal(atomic_load(&alive), 2);
    weft_cache_release(first);
    assert_int_equal(atomic_load(&alive), 1);
    weft_cache_destroy(source.cache);
    assert_int_equal(*(int *)weft_cache_value(second), 1);
    weft_cache_release(second);
    weft_cache_release(NULL);
    assert_null(weft_cache_retain(NULL));
    assert_int_equal(atomic_load(&alive), 0);
    weft_test_allocator_check(&source.test);
}

static void capacity_and_clearing_drop_entries(void **state)
{
    (void)state;
    struct source source;
    open_source(&source, 5, SIZE_MAX);
    for (int i = 0; i < 8; i++) visit(&source, i);
    check_counters(&source, 0, 8, 3, 5);
    weft_cache_clear(source.cache);
    check_counters(&source, 0, 8, 3, 0);
    assert_int_equal(atomic_load(&alive), 0);
    close_source(&source);
    open_source(&source, 5, 20);
    for (int i = 0; i < 8; i++) visit(&source, i);
    check_counters(&source, 0, 8, 6, 2);
    close_source(&source);
    open_source(&source, 0, SIZE_MAX);
    visit(&source, 1);
    visit(&source, 1);
    check_counters(&source, 0, 2, 2, 0);
    close_source(&source);
}

static void the_last_handle_may_drop_a_value(void **state)
{
    (void)state;
    struct source source;
    weft_cache_handle *handles[3] = {NULL};
    open_source(&source, 8, SIZE_MAX);
    for (int i = 0; i < 2; i++) weft_test_ok(acquire(&source, 1, &handles[i]));
    weft_test_ok(acquire(&source, 2, &handles[2]));
    weft_cache_release_and_drop(source.cache, handles[0]);
    check_counters(&source, 1, 2, 0, 2);
    weft_cache_release_and_drop(source.cache, handles[1]);
    check_counters(&source, 1, 2, 0, 1);
    weft_cache_clear(source.cache);
    weft_cache_release_and_drop(source.cache, handles[2]); /* the cache has it no longer */
    assert_int_equal(atomic_load(&alive), 0);
    weft_cache_release_and_drop(source.cache, NULL);
    close_source(&source);
}

static void keys_compare_in_full(void **state)
{
    (void)state;
    struct source source;
    open_source(&source, 10, SIZE_MAX);
    const char *keys[] = {"", "a", "a\0", "a\0b", "ab"};
    const size_t sizes[] = {0, 1, 2, 3, 2};
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 5; i++) {
            struct request request = {&source, i};
            weft_cache_handle *handle;
            weft_test_ok(weft_cache_acquire(source.cache, keys[i], sizes[i], make_int, &request, NULL, &handle));
            assert_int_equal(*(int *)weft_cache_value(handle), i);
            weft_cache_release(handle);
        }
    }
    check_counters(&source, 5, 5, 0, 5);
    close_source(&source);
}

static void an_error_is_not_kept(void **state)
{
    (void)state;
    struct source source;
    open_source(&source, 3, SIZE_MAX);
    atomic_store(&source.failures_left, 2);
    weft_cache_handle *handle = NULL;
    weft_test_fails(acquire(&source, 6, &handle), WEFT_COMPILE_FAILED, "no value 6");
    weft_test_fails(acquire(&source, 6, &handle), WEFT_COMPILE_FAILED, "no value 6");
    assert_null(handle);
    check_counters(&source, 0, 2, 0, 0);
    visit(&source, 6);
    visit(&source, 6);
    check_counters(&source, 1, 3, 0, 1);
    close_source(&source);
}

/* ---- making that uses the cache ---- */

/* The value of n needs that of n - 1, down to 0; -1 depends on itself. */
static weft_status *make_chain(void *context, void **out_value, size_t *out_bytes)
{
    struct request *outer = context;
    struct request inner = {outer->source, outer->number < 0 ? outer->number : outer->number - 1};
    if (outer->number != 0) {
        weft_cache_handle *handle;
        WEFT_TRY(weft_cache_acquire(outer->source->cache, &inner.number, sizeof inner.number, make_chain, &inner, NULL,
                                    &handle));
        weft_cache_release(handle);
    }
    return make_int(context, out_value, out_bytes);
}

static void making_may_use_the_same_cache(void **state)
{
    (void)state;
    struct source source;
    open_source(&source, 2, SIZE_MAX);
    struct request request = {&source, 5};
    weft_cache_handle *handle;
    weft_test_ok(weft_cache_acquire(source.cache, &request.number, sizeof(int), make_chain, &request, NULL, &handle));
    assert_int_equal(*(int *)weft_cache_value(handle), 5);
    weft_cache_release(handle);
    check_counters(&source, 0, 6, 4, 2);
    close_source(&source);
}

static void a_key_that_needs_itself_is_an_error(void **state)
{
    (void)state;
    struct source source;
    open_source(&source, 2, SIZE_MAX);
    struct request request = {&source, -1};
    weft_cache_handle *handle;
    weft_test_fails(weft_cache_acquire(source.cache, &request.number, sizeof(int), make_chain, &request, NULL, &handle),
                    WEFT_INTERNAL, "depends on itself");
    visit(&source, 1);
    close_source(&source);
}

/* ---- values made together ---- */

static void *visit_three(void *context)
{
    visit(context, 3);
    return NULL;
}

static void *make_three(void *source)
{
    struct request request = {source, 3};
    void *value;
    size_t bytes;
    weft_test_ok(make_int(&request, &value, &bytes));
    return value;
}

static weft_cache_handle *claim(struct source *source, int number)
{
    return weft_cache_claim(source->cache, &number, sizeof number);
}

static void a_claim_ends_with_a_value_or_an_error(void **state)
{
    (void)state;
    struct source source;
    pthread_t thread;
    weft_cache_handle *claims[2], *handle = NULL;
    open_source(&source, 8, SIZE_MAX);
    for (int i = 0; i < 2; i++) assert_non_null(claims[i] = claim(&source, 3 + i));
    assert_null(claim(&source, 3));
    assert_null(weft_cache_find(source.cache, &(int){3}, sizeof(int)));
    weft_test_fails(acquire(&source, 3, &handle), WEFT_INTERNAL, "depends on itself");
    assert_int_equal(pthread_create(&thread, NULL, visit_three, &source), 0);
    weft_test_ok(weft_cache_settle(source.cache, claims[0], NULL, make_three(&source), source.bytes, &handle));
    pthread_join(thread, NULL);
    assert_int_equal(*(int *)weft_cache_value(handle), 3);
    weft_cache_release(handle);
    weft_status *error = weft_status_create(NULL, WEFT_COMPILE_FAILED, "make", "no value 4");
    weft_test_fails(weft_cache_settle(source.cache, claims[1], error, NULL, 0, &handle), WEFT_COMPILE_FAILED, "");
    assert_null(claim(&source, 3));
    check_counters(&source, 1, 3, 0, 1);
    visit(&source, 4);
    assert_int_equal(atomic_load(&source.made), 2);
    close_source(&source);
}

/* ---- many threads ---- */

enum { THREADS = 6 };

struct crowd {
    struct source source;
    pthread_barrier_t start;
    atomic_int joined; /* threads about to ask, the maker included */
    bool fail;
    atomic_int succeeded, failed;
};

/* Gives the others time to join, so that most of them wait for this call. */
static weft_status *make_slowly(void *context, void **out_value, size_t *out_bytes)
{
    struct crowd *crowd = context;
    while (atomic_load(&crowd->joined) < THREADS) sched_yield();
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    struct request request = {&crowd->source, 7};
    atomic_store(&crowd->source.failures_left, crowd->fail ? 1 : 0);
    return make_int(&request, out_value, out_bytes);
}

static void *ask(void *argument)
{
    struct crowd *crowd = argument;
    weft_cache_handle *handle = NULL;
    pthread_barrier_wait(&crowd->start);
    atomic_fetch_add(&crowd->joined, 1);
    weft_status *status = weft_cache_acquire(crowd->source.cache, "key", 3, make_slowly, crowd, NULL, &handle);
    if (status == NULL && *(int *)weft_cache_value(handle) == 7) atomic_fetch_add(&crowd->succeeded, 1);
    if (status != NULL && strcmp(weft_status_message(status), "no value 7") == 0) atomic_fetch_add(&crowd->failed, 1);
    weft_status_destroy(status);
    weft_cache_release(handle);
    return NULL;
}

static void gather_crowd(struct crowd *crowd, bool fail)
{
    pthread_t threads[THREADS];
    open_source(&crowd->source, 4, SIZE_MAX);
    crowd->fail = fail;
    atomic_init(&crowd->joined, 0);
    atomic_init(&crowd->succeeded, 0);
    atomic_init(&crowd->failed, 0);
    pthread_barrier_init(&crowd->start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, ask, crowd), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&crowd->start);
}

static void many_threads_share_one_making(void **state)
{
    (void)state;
    struct crowd crowd;
    gather_crowd(&crowd, false);
    assert_int_equal(atomic_load(&crowd.succeeded), THREADS);
    assert_int_equal(atomic_load(&crowd.source.made), 1);
    check_counters(&crowd.source, THREADS - 1, 1, 0, 1);
    close_source(&crowd.source);
}

static void many_threads_share_one_error(void **state)
{
    (void)state;
    struct crowd crowd;
    gather_crowd(&crowd, true);
    assert_int_equal(atomic_load(&crowd.failed), THREADS);
    assert_true(atomic_load(&crowd.source.made) < THREADS);
    check_counters(&crowd.source, 0, THREADS, 0, 0);
    crowd.fail = false;
    weft_cache_handle *handle;
    weft_test_ok(weft_cache_acquire(crowd.source.cache, "key", 3, make_slowly, &crowd, NULL, &handle));
    weft_cache_release(handle);
    close_source(&crowd.source);
}

/* Making takes as long as the pipe is open. */
struct stalled {
    struct source source;
    int pipe[2];
    atomic_int asking;
};

static weft_status *make_on_signal(void *context, void **out_value, size_t *out_bytes)
{
    struct stalled *stalled = context;
    char byte;
    atomic_fetch_add(&stalled->asking, 1);
    if (read(stalled->pipe[0], &byte, 1) < 0) return weft_status_out_of_memory();
    return make_int(&(struct request){&stalled->source, 7}, out_value, out_bytes);
}

static void *ask_stalled(void *argument)
{
    struct stalled *stalled = argument;
    weft_cache_handle *handle = NULL;
    weft_status *status = weft_cache_acquire(stalled->source.cache, "key", 3, make_on_signal, stalled, NULL, &handle);
    weft_cache_release(handle);
    return status;
}

/* Makes, finds and drops what another thread of its parent was making. */
static bool take_over(struct stalled *stalled)
{
    alarm(120);
    struct request request = {&stalled->source, 8};
    weft_cache_handle *first = NULL, *second = NULL;
    weft_status *status = weft_cache_acquire(stalled->source.cache, "key", 3, make_int, &request, NULL, &first);
    if (status == NULL) status = weft_cache_acquire(stalled->source.cache, "key", 3, make_int, &request, NULL, &second);
    bool right = status == NULL && first == second && *(int *)weft_cache_value(first) == 8;
    weft_cache_release(first);
    weft_cache_release(second);
    weft_cache_destroy(stalled->source.cache);
    return right && atomic_load(&alive) == 0;
}

static void a_child_makes_what_its_parent_was_making(void **state)
{
    (void)state;
    struct stalled stalled = {.asking = 0};
    pthread_t threads[2];
    int result = -1;
    open_source(&stalled.source, 4, SIZE_MAX);
    assert_int_equal(pipe(stalled.pipe), 0);
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, ask_stalled, &stalled), 0);
    while (atomic_load(&stalled.asking) == 0) sched_yield();
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* for the other one to wait */
    pid_t child = fork();
    if (child == 0) _exit(take_over(&stalled) ? 0 : 1);
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    close(stalled.pipe[1]);
    for (int i = 0; i < 2; i++) {
        void *status;
        pthread_join(threads[i], &status);
        weft_test_ok(status);
    }
    close(stalled.pipe[0]);
    check_counters(&stalled.source, 1, 1, 0, 1);
    close_source(&stalled.source);
}

static void *wander(void *argument)
{
    struct source *source = argument;
    unsigned random = (unsigned)(uintptr_t)&random;
    for (int i = 0; i < 3000; i++) {
        random = random * 1664525u + 1013904223u;
        struct request request = {source, (int)(random >> 24) % 12};
        weft_cache_handle *handle;
        weft_status *status =
            weft_cache_acquire(source->cache, &request.number, sizeof(int), make_chain, &request, NULL, &handle);
        if (status != NULL || *(int *)weft_cache_value(handle) != request.number) return source;
        if (i % 7 == 0) weft_cache_release_and_drop(source->cache, handle);
        else weft_cache_release(handle);
        if (i % 500 == 0) weft_cache_clear(source->cache);
        if (weft_cache_counters_of(source->cache).entries > 5) return source;
    }
    return NULL;
}

static void threads_may_do_anything_at_once(void **state)
{
    (void)state;
    struct source source;
    pthread_t threads[THREADS];
    open_source(&source, 5, 70);
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, wander, &source), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    weft_cache_counters counters = weft_cache_counters_of(source.cache);
    assert_int_equal(counters.misses, atomic_load(&source.made));
    assert_int_equal(counters.entries, atomic_load(&alive));
    close_source(&source);
}

/* ---- short memory ---- */

static weft_status *fill_cache(const weft_allocator *allocator, void *context)
{
    struct source *source = context;
    value_allocator = allocator;
    atomic_store(&alive, 0);
    WEFT_TRY(weft_cache_create(allocator, 4, SIZE_MAX, destroy_int, &source->cache));
    weft_status *status = NULL;
    for (int i = 0; i < 6 && status == NULL; i++) {
        weft_cache_handle *handle = NULL;
        status = acquire(source, i, &handle);
        weft_cache_release(handle);
    }
    weft_cache_counters counters = weft_cache_counters_of(source->cache);
    assert_int_equal(counters.entries, atomic_load(&alive));
    weft_cache_destroy(source->cache);
    assert_int_equal(atomic_load(&alive), 0);
    return status;
}

static void a_cache_survives_short_memory(void **state)
{
    (void)state;
    struct source source;
    memset(&source, 0, sizeof source);
    weft_test_allocator_init(&source.test, WEFT_TEST_NEVER);
    assert_true(weft_test_fail_each(fill_cache, &source) >= 1 + 3 * 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_recently_used_goes_first),
        cmocka_unit_test(what_is_marked_counts_as_used),
        cmocka_unit_test(bytes_bound_too),
        cmocka_unit_test(a_handle_outlives_eviction_and_cache),
        cmocka_unit_test(capacity_and_clearing_drop_entries),
        cmocka_unit_test(the_last_handle_may_drop_a_value),
        cmocka_unit_test(keys_compare_in_full),
        cmocka_unit_test(an_error_is_not_kept),
        cmocka_unit_test(making_may_use_the_same_cache),
        cmocka_unit_test(a_key_that_needs_itself_is_an_error),
        cmocka_unit_test(a_claim_ends_with_a_value_or_an_error),
        cmocka_unit_test(many_threads_share_one_making),
        cmocka_unit_test(many_threads_share_one_error),
        cmocka_unit_test(a_child_makes_what_its_parent_was_making),
        cmocka_unit_test(threads_may_do_anything_at_once),
        cmocka_unit_test(a_cache_survives_short_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
