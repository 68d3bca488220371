/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Lies right before each block, at the end of a prefix whose length is a multiple of the alignment. */
typedef struct block_header {
    size_t size, alignment;
} block_header;

static size_t prefix_size(size_t alignment)
{
    size_t size = alignment;
    while (size < sizeof(block_header)) size += alignment;
    return size;
}

static void *block_create(weft_test_allocator *test, size_t size, size_t alignment)
{
    if (atomic_fetch_add(&test->requests, 1) == test->fail_at) return NULL;
    size_t prefix = prefix_size(alignment);
    void *raw;
    if (size > SIZE_MAX - prefix) return NULL;
    if (posix_memalign(&raw, alignment < sizeof(void *) ? sizeof(void *) : alignment, prefix + size) != 0) return NULL;
    char *block = (char *)raw + prefix;
    block_header header = {size, alignment};
    memcpy(block - sizeof header, &header, sizeof header);
    memset(block, 0xa5, size);
    atomic_fetch_add(&test->blocks, 1);
    size_t bytes = atomic_fetch_add(&test->bytes, size) + size, most = atomic_load(&test->most_bytes);
    while (bytes > most && !atomic_compare_exchange_weak(&test->most_bytes, &most, bytes)) {
    }
    return block;
}

static void block_destroy(weft_test_allocator *test, char *block, size_t size, size_t alignment)
{
    block_header header;
    memcpy(&header, block - sizeof header, sizeof header);
    if (header.size != size || header.alignment != alignment) atomic_fetch_add(&test->mistakes, 1);
    atomic_fetch_sub(&test->blocks, 1);
    atomic_fetch_sub(&test->bytes, header.size);
    free(block - prefix_size(header.alignment));
}

/* Always moves, so that a pointer kept across a resize is found out. */
static void *test_resize(void *self, void *block, size_t old_size, size_t new_size, size_t alignment)
{
    weft_test_allocator *test = self;
    if (new_size == 0) {
        if (block != NULL) block_destroy(test, block, old_size, alignment);
        return NULL;
    }
    void *moved = block_create(test, new_size, alignment);
    if (moved == NULL || block == NULL) return moved;
    memcpy(moved, block, old_size < new_size ? old_size : new_size);
    block_destroy(test, block, old_size, alignment);
    return moved;
}

void weft_test_allocator_init(weft_test_allocator *test, size_t fail_at)
{
    memset(test, 0, sizeof *test);
    test->allocator = (weft_allocator){test, test_resize};
    test->fail_at = fail_at;
}

void weft_test_allocator_check(weft_test_allocator *test)
{
    assert_int_equal(atomic_load(&test->blocks), 0);
    assert_int_equal(atomic_load(&test->bytes), 0);
    assert_int_equal(atomic_load(&test->mistakes), 0);
}

/* Others each time. */
enum { STRIDE = WEFT_TEST_ADDRESS ? 3 : 1 };

size_t weft_test_fail_each(weft_status *(*body)(const weft_allocator *allocator, void *context), void *context)
{
    size_t first = (size_t)time(NULL) % STRIDE;
    if (STRIDE > 1) print_message("requests that fail: every %d from %zu on\n", STRIDE, first);
    for (size_t fail_at = first;; fail_at += STRIDE) {
        weft_test_allocator test;
        weft_test_allocator_init(&test, fail_at);
        weft_status *status = body(&test.allocator, context);
        if (status != NULL) weft_test_fails(status, WEFT_OUT_OF_MEMORY, "");
        weft_test_allocator_check(&test);
        size_t requests = atomic_load(&test.requests);
        if (requests <= fail_at) {
            assert_null(status);
            return requests;
        }
    }
}

void weft_test_ok(weft_status *status)
{
    if (status == NULL) return;
    print_error("%s: %s\n", weft_status_where(status), weft_status_message(status));
    weft_status_destroy(status);
    fail();
}

void weft_test_fails(weft_status *status, weft_code code, const char *part)
{
    assert_string_equal(weft_code_name(weft_status_code(status)), weft_code_name(code));
    if (strstr(weft_status_message(status), part) == NULL)
        fail_msg("'%s' does not contain '%s'", weft_status_message(status), part);
    weft_status_destroy(status);
}

/* ---- counting instructions: the processor stops after each ---- */

static volatile uint64_t counted;

#if defined(__x86_64__)
#define TRAP_FLAG 0x100ull

static struct sigaction before_counting;

static void count_one(int signal)
{
    (void)signal;
    counted++;
}

void weft_test_count_begin(void)
{
    struct sigaction action = {.sa_handler = count_one};
    counted = 0;
    assert_int_equal(sigaction(SIGTRAP, &action, &before_counting), 0);
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | TRAP_FLAG);
}

uint64_t weft_test_count_end(void)
{
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~TRAP_FLAG);
    assert_int_equal(sigaction(SIGTRAP, &before_counting, NULL), 0);
    return counted;
}
#else
void weft_test_count_begin(void) {}

uint64_t weft_test_count_end(void)
{
    return counted;
}
#endif

/* ---- what the system says ---- */

long weft_test_resident(void)
{
    char line[256];
    long kilobytes = -1;
    FILE *file = fopen("/proc/self/status", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) sscanf(line, "VmRSS: %ld", &kilobytes);
    fclose(file);
    return kilobytes;
}

size_t weft_test_mappings(void)
{
    size_t lines = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    assert_non_null(file);
    for (int c; (c = getc(file)) != EOF;) lines += c == '\n';
    fclose(file);
    return lines;
}

bool weft_test_has_llvm(void)
{
    char line[512];
    bool found = false;
    FILE *file = fopen("/proc/self/maps", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) found |= strstr(line, "libLLVM") != NULL;
    fclose(file);
    return found;
}

void weft_test_in_child(void (*body)(void))
{
    enum { PATIENCE = 200, SKIPPED = 77 };
    int result = -1;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(PATIENCE);
        body();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    if (WIFEXITED(result) && WEXITSTATUS(result) == SKIPPED) skip();
    assert_int_equal(result, 0);
}
