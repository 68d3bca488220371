/* SPDX-License-Identifier: Apache-2.0 */
/* Entries on disk: what is read is what was written, or nothing, whatever happens to the files and to the writers. */
#define _GNU_SOURCE /* namespaces */
#include "runtime/base/store.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "runtime/base/map.h"
#include "test/support.h"

enum { BLOCK = 4096, MEBIBYTE = 1 << 20, NOBODY = 65534, PATIENCE = 100 };

/* ---- a directory for each test ---- */

static char directory[64];

static void in_directory(const char *name, char *out_path, size_t size)
{
    assert_true(snprintf(out_path, size, "%s/%s", directory, name) < (int)size);
}

static int make_directory(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/weft-store-XXXXXX");
    return mkdtemp(directory) == NULL;
}

/* Calls `visit` for each file, except for . and .. */
static size_t visit_files(void (*visit)(const char *path), const char *ending)
{
    size_t count = 0;
    char path[512];
    DIR *all = opendir(directory);
    assert_non_null(all);
    for (const struct dirent *at; (at = readdir(all)) != NULL;) {
        size_t length = strlen(at->d_name), end = strlen(ending);
        if (at->d_name[0] == '.' || length < end || strcmp(at->d_name + length - end, ending) != 0) continue;
        count++;
        in_directory(at->d_name, path, sizeof path);
        if (visit != NULL) visit(path);
    }
    closedir(all);
    return count;
}

static void remove_file(const char *path)
{
    assert_int_equal(remove(path), 0);
}

static int remove_directory(void **state)
{
    (void)state;
    (void)chmod(directory, S_IRWXU);
    visit_files(remove_file, "");
    return rmdir(directory);
}

static char only[512];

static void keep_path(const char *path)
{
    strcpy(only, path);
}

static const char *only_entry(void)
{
    assert_int_equal(visit_files(keep_path, ".weft"), 1);
    return only;
}

static size_t temporaries(void)
{
    return visit_files(NULL, ".weft-new");
}

/* ---- entries ---- */

static weft_store *open_store(uint64_t max_bytes)
{
    weft_store *store;
    weft_test_ok(weft_store_open(NULL, directory, max_bytes, &store));
    return store;
}

/* The value of each number is known from it. */
static void fill_value(int number, char *value, size_t size)
{
    for (size_t i = 0; i < size; i++) value[i] = (char)((size_t)number * 31 + i * 7 + i / 251);
}

static void write_number(weft_store *store, int number, size_t size)
{
    char *value = malloc(size + 1);
    fill_value(number, value, size);
    weft_store_write(store, &number, sizeof number, value, size);
    free(value);
}

/* Whether it is there; if it is, it must be right. */
static bool read_number(weft_store *store, int number, size_t size)
{
    weft_bytes got;
    char *value = malloc(size + 1);
    weft_bytes_init(&got, NULL);
    fill_value(number, value, size);
    bool found = weft_store_read(store, &number, sizeof number, &got);
    bool right = !found || (got.size == size && memcmp(got.data, value, size) == 0);
    weft_bytes_finish(&got);
    free(value);
    if (!right) abort();
    return found;
}

static void it_reads_what_it_wrote(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 100, 5000, 300000};
    weft_store *store = open_store(MEBIBYTE);
    for (int i = 0; i < 5; i++) {
        assert_false(weft_store_has(store, &i, sizeof i));
        assert_false(read_number(store, i, sizes[i]));
        write_number(store, i, sizes[i]);
        assert_true(weft_store_has(store, &i, sizeof i));
        assert_true(read_number(store, i, sizes[i]));
    }
    weft_store_close(store);
    store = open_store(MEBIBYTE);
    write_number(store, 2, 200);
    assert_true(read_number(store, 2, 200));
    for (int i = 0; i < 5; i++) assert_true(i == 2 || read_number(store, i, sizes[i]));
    weft_disk_counters counters = weft_store_counters(store);
    assert_int_equal(counters.hits, 5);
    assert_int_equal(counters.misses, 0);
    assert_int_equal(counters.writes, 1);
    weft_store_refuse(store);
    counters = weft_store_counters(store);
    assert_int_equal(counters.hits, 4);
    assert_int_equal(counters.refused, 1);
    assert_int_equal(weft_store_counters(NULL).hits, 0);
    weft_store_close(store);
    weft_store_close(NULL);
}

/* ---- damage ---- */

enum { SMALL = 200 };

static void load_file(const char *path, weft_bytes *out_bytes)
{
    char part[BLOCK];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    weft_bytes_init(out_bytes, NULL);
    for (size_t got; (got = fread(part, 1, sizeof part, file)) > 0;) weft_bytes_append(out_bytes, part, got);
    fclose(file);
}

static void save_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, S_IRUSR | S_IWUSR), 0);
}

static void expect_refused(weft_store *store, uint64_t *refused)
{
    assert_false(read_number(store, 1, SMALL));
    assert_int_equal(weft_store_counters(store).refused, ++*refused);
}

static void change_bit(int file, const weft_bytes *whole, size_t bit)
{
    char changed = (char)(whole->data[bit / 8] ^ 1 << bit % 8);
    assert_int_equal(pwrite(file, &changed, 1, (off_t)bit / 8), 1);
}

static void damaged_entries_are_refused(void **state)
{
    (void)state;
    weft_bytes whole;
    uint64_t refused = 0;
    weft_store *store = open_store(MEBIBYTE);
    write_number(store, 1, SMALL);
    const char *path = only_entry();
    load_file(path, &whole);
    int file = open(path, O_WRONLY);
    for (size_t i = 0; i < 8 * whole.size; i++) {
        change_bit(file, &whole, i);
        expect_refused(store, &refused);
        assert_int_equal(pwrite(file, whole.data + i / 8, 1, (off_t)i / 8), 1);
    }
    assert_true(read_number(store, 1, SMALL));
    assert_int_equal(ftruncate(file, (off_t)whole.size + 1), 0);
    expect_refused(store, &refused);
    for (size_t size = whole.size; size-- > 0;) {
        assert_int_equal(ftruncate(file, (off_t)size), 0);
        expect_refused(store, &refused);
    }
    close(file);
    write_number(store, 1, SMALL);
    assert_true(read_number(store, 1, SMALL));
    assert_string_equal(only_entry(), path);
    weft_bytes_finish(&whole);
    weft_store_close(store);
}

static void sign(weft_bytes *file)
{
    uint64_t hash = weft_hash(file->data, file->size - sizeof hash);
    memcpy(file->data + file->size - sizeof hash, &hash, sizeof hash);
}

/* All of it fits, but it is of another version of the format, or its sizes are others. */
static void foreign_entries_are_refused(void **state)
{
    (void)state;
    static const size_t changed[] = {7, 8, 15, 16, 23};
    uint64_t refused = 0;
    weft_store *store = open_store(MEBIBYTE);
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++) {
        weft_bytes whole;
        write_number(store, 1, SMALL);
        load_file(only_entry(), &whole);
        whole.data[changed[i]]++;
        sign(&whole);
        save_file(only_entry(), whole.data, whole.size);
        expect_refused(store, &refused);
        weft_bytes_finish(&whole);
    }
    weft_store_close(store);
}

/* Another key under the name of this one is no damage, but no value either. */
static void the_whole_key_decides(void **state)
{
    (void)state;
    char aside[512], second[512];
    weft_store *store = open_store(MEBIBYTE);
    write_number(store, 1, SMALL);
    in_directory("aside", aside, sizeof aside);
    assert_int_equal(rename(only_entry(), aside), 0);
    write_number(store, 2, SMALL);
    strcpy(second, only_entry());
    assert_int_equal(rename(aside, second), 0);
    assert_true(weft_store_has(store, &(int){2}, sizeof(int)));
    assert_false(read_number(store, 2, SMALL));
    assert_int_equal(weft_store_counters(store).refused, 0);
    write_number(store, 2, SMALL);
    assert_true(read_number(store, 2, SMALL));
    weft_store_close(store);
}

/* ---- what is no entry ---- */

static void be_link(const char *path)
{
    assert_int_equal(symlink("/dev/zero", path), 0);
}

static void be_pipe(const char *path)
{
    assert_int_equal(mkfifo(path, S_IRUSR | S_IWUSR), 0);
}

static void be_folder(const char *path)
{
    assert_int_equal(mkdir(path, S_IRWXU), 0);
}

static void be_writable(const char *path)
{
    save_file(path, "", 0);
    assert_int_equal(chmod(path, S_IRUSR | S_IWUSR | S_IWOTH), 0);
}

static void be_long(const char *path)
{
    save_file(path, "", 0);
    assert_int_equal(truncate(path, (off_t)1 << 40), 0);
}

static void other_things_are_refused(void **state)
{
    (void)state;
    static void (*const kinds[])(const char *path) = {be_link, be_pipe, be_folder, be_writable, be_long};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        uint64_t refused = 0;
        weft_store *store = open_store(MEBIBYTE);
        write_number(store, 1, SMALL);
        char path[512];
        strcpy(path, only_entry());
        remove_file(path);
        kinds[i](path);
        expect_refused(store, &refused);
        write_number(store, 1, SMALL);
        assert_true(kinds[i] == be_folder || read_number(store, 1, SMALL));
        assert_int_equal(temporaries(), 0);
        remove_file(path);
        weft_store_close(store);
    }
}

static void others_of_the_directory_stay(void **state)
{
    (void)state;
    char path[512];
    in_directory("readme.weft", path, sizeof path);
    save_file(path, "", 0);
    in_directory("0123456789abcdeF.weft-new", path, sizeof path);
    save_file(path, "", 0);
    weft_store *store = open_store(4 * BLOCK);
    for (int i = 0; i < 20; i++) write_number(store, i, SMALL);
    weft_store_close(store);
    assert_int_equal(visit_files(NULL, "readme.weft"), 1);
    assert_int_equal(temporaries(), 1);
}

/* ---- directories ---- */

static void refuse(const char *path, const char *part)
{
    weft_store *store;
    weft_test_fails(weft_store_open(NULL, path, MEBIBYTE, &store), WEFT_BAD_FILE, part);
}

static void directories_are_made_or_refused(void **state)
{
    (void)state;
    char path[512];
    struct stat found;
    weft_store *store;
    in_directory("new", path, sizeof path);
    weft_test_ok(weft_store_open(NULL, path, MEBIBYTE, &store));
    weft_store_close(store);
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(found.st_mode & 07777, S_IRWXU);
    assert_int_equal(chmod(path, 0770), 0);
    refuse(path, "users other than its owner may write to it");
    assert_int_equal(chmod(path, 0703), 0);
    refuse(path, "users other than its owner may write to it");
    assert_int_equal(chmod(path, 0755), 0);
    weft_test_ok(weft_store_open(NULL, path, MEBIBYTE, &store));
    weft_store_close(store);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, NOBODY, NOBODY), 0);
        refuse(path, "belongs to another user");
    }
    in_directory("missing/new", path, sizeof path);
    refuse(path, "No such file or directory");
    in_directory("file", path, sizeof path);
    save_file(path, "", 0);
    refuse(path, "Not a directory");
    refuse("", "No such file or directory");
}

/* ---- what a child does ---- */

static void check(bool condition, const char *what)
{
    if (condition) return;
    fprintf(stderr, "%s\n", what);
    _exit(1);
}

/* Of a user that permissions hold for. */
static void become_nobody(void)
{
    if (geteuid() != 0) return;
    check(chown(directory, NOBODY, NOBODY) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0, "no other user");
}

static void read_only(void)
{
    become_nobody();
    weft_store *store = open_store(MEBIBYTE);
    write_number(store, 1, SMALL);
    check(chmod(directory, S_IRUSR | S_IXUSR) == 0, "chmod");
    write_number(store, 2, SMALL);
    check(read_number(store, 1, SMALL) && !read_number(store, 2, SMALL), "read-only");
    weft_store_close(store);
    store = open_store(MEBIBYTE);
    check(read_number(store, 1, SMALL), "opened read-only");
    write_number(store, 2, SMALL);
    const weft_disk_counters counters = weft_store_counters(store);
    check(counters.writes == 0 && counters.refused == 0 && counters.failures == 1, "counters");
    check(chmod(directory, 0) == 0, "chmod");
    check(!read_number(store, 1, SMALL), "not searchable");
    weft_store_close(store);
}

static void a_directory_may_be_read_only(void **state)
{
    (void)state;
    weft_test_in_child(read_only);
}

static void of_no_use(void)
{
    become_nobody();
    check(chmod(directory, S_IRUSR | S_IXUSR) == 0, "chmod");
    weft_store *store;
    weft_status *status = weft_store_open(NULL, directory, MEBIBYTE, &store);
    check(weft_status_code(status) == WEFT_BAD_FILE, "an empty directory that is read-only");
    check(strstr(weft_status_message(status), "it has nothing to read, and cannot be written: Permission") != NULL,
          weft_status_message(status));
    weft_status_destroy(status);
}

static void one_that_is_empty_and_read_only_is_refused(void **state)
{
    (void)state;
    weft_test_in_child(of_no_use);
}

/* The signal that comes with the limit would end the process. */
static void limited(void)
{
    const struct rlimit limit = {1000, 1000};
    weft_store *store = open_store(MEBIBYTE);
    check(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
    write_number(store, 1, SMALL);
    write_number(store, 2, 2000);
    check(read_number(store, 1, SMALL) && !read_number(store, 2, 2000), "limited");
    const weft_disk_counters counters = weft_store_counters(store);
    check(counters.writes == 1 && counters.failures == 1 && temporaries() == 0, "debris");
    weft_store_close(store);
}

static void files_may_be_limited(void **state)
{
    (void)state;
    weft_test_in_child(limited);
}

static void full(void)
{
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", directory, "tmpfs", 0, "size=64k,mode=0700") != 0)
        _exit(77);
    weft_store *store = open_store(MEBIBYTE);
    for (int i = 0; i < 10; i++) write_number(store, i, 20000);
    int found = 0;
    for (int i = 0; i < 10; i++) found += read_number(store, i, 20000);
    check(found == 2 || found == 3, "a full disk");
    const weft_disk_counters counters = weft_store_counters(store);
    check(counters.writes == (uint64_t)found && temporaries() == 0, "debris of a full disk");
    check(counters.failures == (uint64_t)(10 - found), "failures of a full disk");
    weft_store_close(store);
}

static void a_disk_may_be_full(void **state)
{
    (void)state;
    weft_test_in_child(full);
}

static void gone(void)
{
    weft_store *store = open_store(MEBIBYTE);
    write_number(store, 1, SMALL);
    visit_files(remove_file, "");
    check(rmdir(directory) == 0, "rmdir");
    write_number(store, 2, SMALL);
    check(!read_number(store, 1, SMALL) && !read_number(store, 2, SMALL), "a directory that is gone");
    weft_store_close(store);
    check(mkdir(directory, S_IRWXU) == 0, "mkdir");
}

static void a_directory_may_go(void **state)
{
    (void)state;
    weft_test_in_child(gone);
}

/* ---- many at once ---- */

enum { NUMBERS = 7, LARGE = 400000, ROOM = 8 * MEBIBYTE, ROUNDS = WEFT_TEST_THREAD ? 20 : 100 };

static void use(weft_store *store, unsigned seed, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        int number = rand_r(&seed) % NUMBERS;
        if (rand_r(&seed) % 2 == 0) write_number(store, number, LARGE);
        else (void)read_number(store, number, LARGE);
    }
}

static void use_long(void)
{
    weft_store *store = open_store(ROOM);
    use(store, (unsigned)getpid(), ROUNDS);
    check(weft_store_counters(store).refused == 0, "an entry was not complete");
    weft_store_close(store);
}

static void processes_share_it(void **state)
{
    (void)state;
    enum { PROCESSES = 3 };
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            use_long();
            _exit(0);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int result = -1;
        assert_int_equal(waitpid(children[i], &result, 0), children[i]);
        assert_int_equal(result, 0);
    }
    assert_int_equal(temporaries(), 0);
}

static void use_forever(void)
{
    weft_store *store = open_store(ROOM);
    for (;;) use(store, (unsigned)getpid(), 1000);
}

/* Whatever a process was at when it was killed, entries are whole, and the next one that writes tidies up. */
static void a_writer_may_be_killed(void **state)
{
    (void)state;
    enum { KILLS = 60, SPREAD = 4000000 };
    unsigned seed = (unsigned)time(NULL);
    size_t left = 0;
    for (int i = 0; i < KILLS; i++) {
        pid_t child = fork();
        if (child == 0) use_forever();
        const struct timespec pause = {0, 500000 + rand_r(&seed) % SPREAD};
        nanosleep(&pause, NULL);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_true(temporaries() <= 1);
        left += temporaries();
    }
    print_message("%zu of %d killed in the middle of writing\n", left, KILLS);
    weft_store *store = open_store(ROOM);
    for (int i = 0; i < NUMBERS; i++) (void)read_number(store, i, LARGE);
    assert_int_equal(weft_store_counters(store).refused, 0);
    write_number(store, 0, LARGE);
    assert_true(read_number(store, 0, LARGE));
    assert_int_equal(temporaries(), 0);
    weft_store_close(store);
}

static atomic_bool ending;

static void *use_in_thread(void *store)
{
    while (!atomic_load(&ending)) use(store, 1, 10);
    return NULL;
}

static void threads_share_it(void **state)
{
    (void)state;
    pthread_t threads[3];
    weft_store *store = open_store(ROOM);
    atomic_store(&ending, false);
    for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&threads[i], NULL, use_in_thread, store), 0);
    use(store, 2, ROUNDS);
    atomic_store(&ending, true);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    assert_int_equal(weft_store_counters(store).refused, 0);
    assert_int_equal(temporaries(), 0);
    weft_store_close(store);
}

static size_t open_files(void)
{
    size_t count = 0;
    DIR *all = opendir("/proc/self/fd");
    while (readdir(all) != NULL) count++;
    closedir(all);
    return count;
}

/* A child has the directory and no other file, and may use it on its own. */
static void a_child_shares_nothing(void **state)
{
    (void)state;
    enum { FORKS = 50 };
    pthread_t threads[2];
    if (WEFT_TEST_ADDRESS || WEFT_TEST_THREAD) skip(); /* their allocators are locked in a child */
    weft_store *store = open_store(ROOM);
    size_t before = open_files();
    atomic_store(&ending, false);
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, use_in_thread, store), 0);
    for (int i = 0; i < FORKS; i++) {
        int result = -1;
        pid_t child = fork();
        if (child == 0) {
            alarm(PATIENCE);
            check(open_files() == before, "a file is open in the child");
            use(store, (unsigned)i, 10);
            check(weft_store_counters(store).refused == 0, "refused in the child");
            weft_store_close(store);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &result, 0), child);
        assert_int_equal(result, 0);
    }
    atomic_store(&ending, true);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    assert_int_equal(weft_store_counters(store).refused, 0);
    weft_store_close(store);
}

/* ---- room ---- */

static size_t blocks;

static void add_blocks(const char *path)
{
    struct stat found;
    assert_int_equal(stat(path, &found), 0);
    blocks += ((size_t)found.st_size + BLOCK - 1) / BLOCK;
}

static size_t count_blocks(void)
{
    blocks = 0;
    visit_files(add_blocks, "");
    return blocks;
}

static void room_is_bounded(void **state)
{
    (void)state;
    enum { MOST = 40 };
    weft_store *first = open_store(MOST * BLOCK), *second = open_store(MOST * BLOCK);
    for (int i = 0; i < 300; i++) {
        write_number(i % 3 == 0 ? first : second, i, (size_t)i * 37 % 9000);
        assert_true(count_blocks() <= MOST);
        assert_true(read_number(first, i, (size_t)i * 37 % 9000));
    }
    assert_true(count_blocks() > MOST / 2);
    assert_true(weft_store_counters(first).evictions > 0);
    write_number(first, 1000, (MOST + 1) * BLOCK);
    assert_false(read_number(first, 1000, (MOST + 1) * BLOCK));
    weft_store_close(first);
    weft_store_close(second);
}

/* Where not every writer looks. */
static void room_is_bounded_on_the_whole(void **state)
{
    (void)state;
    enum { MOST = 800, SLACK = MOST / 16 };
    size_t most = 0;
    for (int i = 0; i < 2 * MOST; i++) {
        weft_store *store = open_store(MOST * BLOCK);
        write_number(store, i, SMALL);
        weft_store_close(store);
        size_t blocks_now = i % 16 == 0 ? count_blocks() : 0;
        if (blocks_now > most) most = blocks_now;
    }
    print_message("%zu blocks of %d\n", most, MOST);
    assert_true(most > MOST / 2 && most <= MOST + SLACK);
}

static void be_old(const char *path)
{
    const struct timespec times[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void what_is_used_stays(void **state)
{
    (void)state;
    enum { MOST = 32, USED = 5 };
    weft_store *store = open_store(MOST * BLOCK);
    for (int i = 0; i < MOST; i++) write_number(store, i, SMALL);
    visit_files(be_old, "");
    for (int i = 0; i < USED; i++) assert_true(read_number(store, i, SMALL));
    for (int i = MOST; i < MOST + MOST / 2; i++) write_number(store, i, SMALL);
    for (int i = 0; i < USED; i++) assert_true(read_number(store, i, SMALL));
    for (int i = MOST; i < MOST + MOST / 2; i++) assert_true(read_number(store, i, SMALL));
    weft_store_close(store);
}

/* ---- memory ---- */

static weft_status *use_all(const weft_allocator *allocator, void *context)
{
    (void)context;
    weft_store *store;
    weft_bytes got;
    WEFT_TRY(weft_store_open(allocator, directory, 8 * BLOCK, &store));
    weft_bytes_init(&got, allocator);
    for (int i = 0; i < 12; i++) {
        weft_store_write(store, &i, sizeof i, "value", 5);
        if (weft_store_read(store, &i, sizeof i, &got)) assert_int_equal(got.size, 5);
    }
    weft_bytes_finish(&got);
    weft_store_close(store);
    return NULL;
}

static void memory_may_run_out(void **state)
{
    (void)state;
    weft_test_fail_each(use_all, NULL);
    weft_store *store;
    weft_test_allocator test;
    weft_test_allocator_init(&test, WEFT_TEST_NEVER);
    weft_test_fails(weft_store_open(&test.allocator, "/dev/null", MEBIBYTE, &store), WEFT_BAD_FILE, "/dev/null");
    weft_test_allocator_check(&test);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(it_reads_what_it_wrote),
        CASE(damaged_entries_are_refused),
        CASE(foreign_entries_are_refused),
        CASE(the_whole_key_decides),
        CASE(other_things_are_refused),
        CASE(others_of_the_directory_stay),
        CASE(directories_are_made_or_refused),
        CASE(a_directory_may_be_read_only),
        CASE(one_that_is_empty_and_read_only_is_refused),
        CASE(files_may_be_limited),
        CASE(a_disk_may_be_full),
        CASE(a_directory_may_go),
        CASE(processes_share_it),
        CASE(a_writer_may_be_killed),
        CASE(threads_share_it),
        CASE(a_child_shares_nothing),
        CASE(room_is_bounded),
        CASE(room_is_bounded_on_the_whole),
        CASE(what_is_used_stays),
        CASE(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
