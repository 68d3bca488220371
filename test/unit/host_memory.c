/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* nftw */
#include "test/support.h"
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/executor.h>
#include "runtime/data/host_memory.h"

enum { PATH = 512 };

/* ---- a system of files ---- */

static char root[] = "/tmp/weft-cpu-XXXXXX";

static int make_root(void **state)
{
    (void)state;
    return mkdtemp(root) == NULL;
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)info;
    (void)type;
    (void)place;
    return remove(path);
}

static int remove_root(void **state)
{
    (void)state;
    return nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* Writes a file below the root, and the folders it lies in. */
static void write_file(const char *name, const char *text)
{
    char path[PATH];
    int length = snprintf(path, sizeof path, "%s%s", root, name);
    assert_true(length > 0 && length < PATH);
    for (char *slash = strchr(path + strlen(root) + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
}

/* ---- memory ---- */

static void test_blocks(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 4096, (2 << 20) - 1, 2 << 20, (5 << 20) + 1};
    weft_test_allocator test;
    weft_test_allocator_init(&test, WEFT_TEST_NEVER);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *memory;
        weft_test_ok(weft_host_allocate(&test.allocator, sizes[i], &memory));
        assert_int_equal((uintptr_t)memory % (sizes[i] < 2 << 20 ? 64 : 2 << 20), 0);
        memset(memory, 1, sizes[i]);
        weft_host_release(&test.allocator, memory, sizes[i]);
    }
    weft_host_release(&test.allocator, NULL, 7);
    weft_test_allocator_check(&test);
}

/* Pages that a first touch of 64 MiB takes: 32 huge ones, where the system gives them. */
static void test_large_blocks_ask_for_huge_pages(void **state)
{
    (void)state;
    enum { BYTES = 64 << 20 };
    struct rusage before, after;
    char setting[80] = "";
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    if (file != NULL) {
        if (fgets(setting, sizeof setting, file) == NULL) setting[0] = 0;
        fclose(file);
    }
    if (setting[0] == 0 || strstr(setting, "[never]") != NULL) skip();
    void *memory;
    weft_test_ok(weft_host_allocate(NULL, BYTES, &memory));
    getrusage(RUSAGE_SELF, &before);
    memset(memory, 1, BYTES);
    getrusage(RUSAGE_SELF, &after);
    weft_host_release(NULL, memory, BYTES);
    assert_true(after.ru_minflt - before.ru_minflt < BYTES / 4096 / 4);
}

/* ---- how much there is ---- */

static void test_the_machine(void **state)
{
    (void)state;
    size_t all = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    assert_int_equal(weft_host_memory_size("/nowhere"), all);
    assert_true(weft_memory_size() > 0 && weft_memory_size() <= all);
}

static void test_control_groups(void **state)
{
    (void)state;
    size_t all = weft_host_memory_size("/nowhere");
    write_file("/proc/self/cgroup", "0::/user/job\n");
    assert_int_equal(weft_host_memory_size(root), all);
    write_file("/sys/fs/cgroup/user/job/memory.max", "max\n");
    assert_int_equal(weft_host_memory_size(root), all);
    write_file("/sys/fs/cgroup/user/memory.max", "5000000\n");
    assert_int_equal(weft_host_memory_size(root), 5000000);
    write_file("/sys/fs/cgroup/user/job/memory.max", "4000000\n");
    assert_int_equal(weft_host_memory_size(root), 4000000);
    write_file("/sys/fs/cgroup/user/memory.high", "3500000\n");
    assert_int_equal(weft_host_memory_size(root), 3500000);
    write_file("/sys/fs/cgroup/memory.max", "3000000\n");
    assert_int_equal(weft_host_memory_size(root), 3000000);
    write_file("/proc/self/cgroup", "5:memory_too,cpu:/user\n4:hugetlb,memory:/outside/7\n1:name=systemd:/\n0::\n");
    write_file("/sys/fs/cgroup/memory.max", "max\n");
    assert_int_equal(weft_host_memory_size(root), all);
    write_file("/sys/fs/cgroup/memory/user/memory.limit_in_bytes", "1000000\n");
    write_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "2000000\n");
    assert_int_equal(weft_host_memory_size(root), 2000000);
    write_file("/sys/fs/cgroup/memory/outside/7/memory.limit_in_bytes", "1999999\n");
    assert_int_equal(weft_host_memory_size(root), 1999999);
}

/* What makes no sense limits nothing. */
static void test_broken_files(void **state)
{
    (void)state;
    static const char *const groups[] = {"", "\n", "::\n", ":", "memory", "4:memory", "0::/../..\n", "\n\n4:memory:\n"};
    static const char *const limits[] = {"", "lots", "99999999999999999999999999", "18446744073709551615"};
    size_t all = weft_host_memory_size("/nowhere");
    for (size_t l = 0; l < sizeof limits / sizeof *limits; l++) {
        write_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", limits[l]);
        for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
            write_file("/proc/self/cgroup", groups[g]);
            assert_int_equal(weft_host_memory_size(root), all);
        }
    }
}

static void test_limits_of_the_process(void **state)
{
    (void)state;
    static const int resources[] = {RLIMIT_DATA, RLIMIT_AS};
    for (size_t i = 0; i < 2; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct rlimit limit;
            bool fine = getrlimit(resources[i], &limit) == 0;
            limit.rlim_cur = (rlim_t)900000000;
            fine = fine && setrlimit(resources[i], &limit) == 0;
            _exit(fine && weft_host_memory_size("/nowhere") == 900000000 ? 0 : 1);
        }
        int result;
        assert_int_equal(waitpid(child, &result, 0), child);
        assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),       cmocka_unit_test(test_large_blocks_ask_for_huge_pages),
        cmocka_unit_test(test_the_machine),  cmocka_unit_test(test_control_groups),
        cmocka_unit_test(test_broken_files), cmocka_unit_test(test_limits_of_the_process),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
