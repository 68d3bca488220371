/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_SUPPORT_H
#define WEFT_TEST_SUPPORT_H
/* What every C test may use: an allocator that counts and fails on demand, and checks on statuses. */
#include <weft/base.h>
#include <stdatomic.h>
/* cmocka.h wants these four before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* What the test is built with: sanitizers take memory, stacks and time of their own. */
#if defined(__has_feature)
enum { WEFT_TEST_ADDRESS = __has_feature(address_sanitizer), WEFT_TEST_THREAD = __has_feature(thread_sanitizer) };
#elif defined(__SANITIZE_ADDRESS__)
enum { WEFT_TEST_ADDRESS = 1, WEFT_TEST_THREAD = 0 };
#elif defined(__SANITIZE_THREAD__)
enum { WEFT_TEST_ADDRESS = 0, WEFT_TEST_THREAD = 1 };
#else
enum { WEFT_TEST_ADDRESS = 0, WEFT_TEST_THREAD = 0 };
#endif

#define WEFT_TEST_NEVER SIZE_MAX

/*
 * Give `&test.allocator` to what is tested. Sizes and alignments handed back are compared with those asked for; what
 * differs is counted in `mistakes`. `most_bytes` is the largest value of `bytes`. Any thread may use it.
 */
typedef struct weft_test_allocator {
    weft_allocator allocator;
    size_t fail_at; /* number of the request that fails, from 0; WEFT_TEST_NEVER: none */
    atomic_size_t requests, blocks, bytes, most_bytes, mistakes;
} weft_test_allocator;

void weft_test_allocator_init(weft_test_allocator *test, size_t fail_at);
/* Fails the test unless everything was freed, with the sizes it was asked with. */
void weft_test_allocator_check(weft_test_allocator *test);

/*
 * Calls `body` with an allocator whose Nth request fails, for N = 0, 1, ... until it succeeds without a failure; with
 * the address sanitizer for every third, from one on that the clock chooses and the log has. `body` frees what it made.
 * Fails the test if a status is not OUT_OF_MEMORY or anything leaks. Returns the number of requests of a full run.
 */
size_t weft_test_fail_each(weft_status *(*body)(const weft_allocator *allocator, void *context), void *context);

/* Fails the test unless `status` is NULL; prints its message. */
void weft_test_ok(weft_status *status);
/* Fails the test unless `status` has `code` and its message contains `part` (may be ""). Destroys it. */
void weft_test_fails(weft_status *status, weft_code code, const char *part);

/* Runs `body` in a child process, which ends with it, and fails the test unless it succeeds within minutes. A body may
 * end the process itself: by exit, where a sanitizer looks for leaks, or by _exit(77), which skips the test. */
void weft_test_in_child(void (*body)(void));

/* How many instructions this thread runs between the two calls; 0 where processors of this kind cannot say. Takes 1 to
 * 20 us for each. */
void weft_test_count_begin(void);
uint64_t weft_test_count_end(void);

/* Of this process: kilobytes resident, and how many mappings. */
long weft_test_resident(void);
size_t weft_test_mappings(void);
/* Whether LLVM is among them. */
bool weft_test_has_llvm(void);
#endif
