/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/store.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "runtime/base/entry.h"
#include "runtime/base/fork.h"
#include "runtime/base/map.h"
#include "runtime/base/status.h"

/*
 * While a file is open the lock is held, so that a forked child has none of them but the directory itself, in which
 * names alone are looked up. Of two processes that write one entry the last one wins, and both entries are complete.
 * Nothing is flushed to the disk: where a machine stops, a checksum tells.
 */

struct weft_store {
    weft_allocator allocator;
    int directory; /* -1: not open */
    uid_t owner;
    uint64_t max_bytes;
    pthread_mutex_t mutex; /* held while a file is open */
    weft_fork_guard guard;
    weft_disk_counters counters; /* under the lock */
};

/* ---- names ---- */

#define ENTRY ".weft"
#define TEMPORARY ".weft-new"

enum { DIGITS = 16 };

typedef struct file_name {
    char text[DIGITS + sizeof TEMPORARY];
} file_name;

static file_name make_name(uint64_t hash, const char *ending)
{
    file_name name;
    snprintf(name.text, sizeof name.text, "%0*llx%s", DIGITS, (unsigned long long)hash, ending);
    return name;
}

static bool has_name(const char *text, const char *ending)
{
    return strspn(text, "0123456789abcdef") == DIGITS && strcmp(text + DIGITS, ending) == 0;
}

/* One that no other process takes in the same moment; if one does, one of the two writes nothing. */
static file_name make_temporary(const weft_store *store)
{
    struct {
        struct timespec now;
        uint64_t process, store;
    } parts = {.process = (uint64_t)getpid(), .store = (uint64_t)(uintptr_t)store};
    clock_gettime(CLOCK_REALTIME, &parts.now);
    return make_name(weft_hash(&parts, sizeof parts), TEMPORARY);
}

/* ---- open, close ---- */

static weft_status *refuse_directory(const weft_allocator *allocator, const char *directory, const char *why)
{
    return weft_status_create(allocator, WEFT_BAD_FILE, NULL, "the cache directory %s cannot be used: %s", directory,
                              why);
}

/* To list it; NULL: that is not possible. */
static DIR *open_list(const weft_store *store)
{
    int again = openat(store->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = again < 0 ? NULL : fdopendir(again);
    if (directory == NULL && again >= 0) close(again);
    return directory;
}

static bool has_entries(const weft_store *store)
{
    bool found = false;
    DIR *directory = open_list(store);
    if (directory == NULL) return false;
    for (const struct dirent *at; !found && (at = readdir(directory)) != NULL;) found = has_name(at->d_name, ENTRY);
    closedir(directory);
    return found;
}

/* Whether entries can be written. One that nobody can write to may have been filled before. */
static weft_status *check_use(const weft_store *store, const char *directory)
{
    char why[256];
    if (faccessat(store->directory, ".", W_OK | X_OK, AT_EACCESS) == 0) return NULL;
    snprintf(why, sizeof why, "it has nothing to read, and cannot be written: %s", strerror(errno));
    if (has_entries(store)) return NULL;
    return refuse_directory(&store->allocator, directory, why);
}

static weft_status *open_directory(weft_store *store, const char *directory)
{
    struct stat found;
    int made = mkdir(directory, S_IRWXU);
    if (made == 0 || errno == EEXIST) store->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (store->directory < 0 || fstat(store->directory, &found) != 0)
        return refuse_directory(&store->allocator, directory, strerror(errno));
    store->owner = geteuid();
    if (found.st_uid != store->owner)
        return refuse_directory(&store->allocator, directory, "it belongs to another user");
    if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return refuse_directory(&store->allocator, directory, "users other than its owner may write to it");
    return check_use(store, directory);
}

weft_status *weft_store_open(const weft_allocator *allocator, const char *directory, uint64_t max_bytes,
                             weft_store **out_store)
{
    weft_store *store = weft_allocate_zeroed(allocator, sizeof *store);
    if (store == NULL) return weft_status_out_of_memory();
    store->allocator = *weft_allocator_or_default(allocator);
    store->directory = -1;
    store->max_bytes = max_bytes;
    pthread_mutex_init(&store->mutex, NULL);
    weft_status *status = weft_fork_guard_init(&store->guard, &store->mutex, NULL);
    if (status == NULL) status = open_directory(store, directory);
    if (status == NULL) *out_store = store;
    else weft_store_close(store);
    return status;
}

void weft_store_close(weft_store *store)
{
    if (store == NULL) return;
    weft_fork_guard_finish(&store->guard);
    pthread_mutex_destroy(&store->mutex);
    if (store->directory >= 0) close(store->directory);
    weft_allocator allocator = store->allocator;
    weft_free(&allocator, store, sizeof *store);
}

/* ---- reading ---- */

typedef enum finding { ABSENT, REFUSED, FOUND } finding;

static bool read_all(int file, char *to, size_t size)
{
    while (size > 0) {
        ssize_t got = read(file, to, size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got;
        size -= (size_t)got;
    }
    return true;
}

static bool read_open(const weft_store *store, int file, weft_bytes *out_file)
{
    struct stat found;
    if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode) || found.st_uid != store->owner) return false;
    if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0 || (uint64_t)found.st_size > store->max_bytes) return false;
    size_t size = (size_t)found.st_size;
    weft_bytes_clear(out_file);
    if (!weft_reserve(out_file->allocator, &out_file->data, &out_file->capacity, size + 1, 1)) return false;
    if (!read_all(file, out_file->data, size)) return false;
    out_file->size = size;
    return true;
}

/* Cuts away all of a sound file but the value; ABSENT: its key is another one of the same hash. */
static finding take_value(weft_bytes *file, const void *key, size_t key_size)
{
    weft_entry entry;
    if (!weft_entry_find(file->data, file->size, &entry) || !entry.sound || entry.size != file->size) return REFUSED;
    if (entry.key_size != key_size || memcmp(entry.key, key, key_size) != 0) return ABSENT;
    memmove(file->data, entry.value, entry.value_size);
    file->size = entry.value_size;
    file->data[file->size] = '\0';
    return FOUND;
}

/* An entry that is used is young again. */
static finding read_file(const weft_store *store, const char *name, const void *key, size_t key_size,
                         weft_bytes *out_value)
{
    int file = openat(store->directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) return errno == ENOENT ? ABSENT : REFUSED;
    finding result = read_open(store, file, out_value) ? take_value(out_value, key, key_size) : REFUSED;
    if (result == FOUND) (void)futimens(file, NULL); /* where it may not be, its age is that of the writing */
    close(file);
    return result;
}

bool weft_store_has(const weft_store *store, const void *key, size_t key_size)
{
    const file_name name = make_name(weft_hash(key, key_size), ENTRY);
    return faccessat(store->directory, name.text, R_OK, 0) == 0;
}

bool weft_store_read(weft_store *store, const void *key, size_t key_size, weft_bytes *out_value)
{
    const file_name name = make_name(weft_hash(key, key_size), ENTRY);
    pthread_mutex_lock(&store->mutex);
    finding result = read_file(store, name.text, key, key_size, out_value);
    store->counters.hits += result == FOUND;
    store->counters.misses += result != FOUND;
    store->counters.refused += result == REFUSED;
    pthread_mutex_unlock(&store->mutex);
    return result == FOUND;
}

void weft_store_refuse(weft_store *store)
{
    pthread_mutex_lock(&store->mutex);
    store->counters.hits--;
    store->counters.misses++;
    store->counters.refused++;
    pthread_mutex_unlock(&store->mutex);
}

/* ---- room ---- */

enum { BLOCK = 4096, LOOKS = 64, SLACK = 8 };

static uint64_t room_of(uint64_t size)
{
    return (size + BLOCK - 1) / BLOCK * BLOCK;
}

typedef struct entry {
    file_name name;
    struct timespec used;
    uint64_t room;
} entry;

typedef struct entries {
    entry *items;
    size_t count, capacity;
    uint64_t room; /* of all */
} entries;

/* One whose writer is gone: a writer has it locked. One that is taken from its writer is not written, that is all. */
static void drop_if_left(const weft_store *store, const char *name)
{
    int file = openat(store->directory, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool is_written = file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!is_written) (void)unlinkat(store->directory, name, 0);
    if (file >= 0) close(file);
}

/* Where there is no memory for it, it is counted all the same, but not evicted. */
static void add_entry(const weft_store *store, const char *name, entries *all)
{
    struct stat found;
    if (fstatat(store->directory, name, &found, AT_SYMLINK_NOFOLLOW) != 0) return;
    uint64_t room = room_of((uint64_t)found.st_size);
    all->room += room;
    if (!weft_reserve(&store->allocator, &all->items, &all->capacity, all->count + 1, sizeof *all->items)) return;
    entry *added = &all->items[all->count++];
    *added = (entry){.used = found.st_mtim, .room = room};
    strcpy(added->name.text, name);
}

static bool list(const weft_store *store, entries *out_entries)
{
    DIR *directory = open_list(store);
    if (directory == NULL) return false;
    for (const struct dirent *at; (at = readdir(directory)) != NULL;) {
        if (has_name(at->d_name, ENTRY)) add_entry(store, at->d_name, out_entries);
        else if (has_name(at->d_name, TEMPORARY)) drop_if_left(store, at->d_name);
    }
    closedir(directory);
    return true;
}

static int compare_ages(const void *a, const void *b)
{
    const struct timespec *x = &((const entry *)a)->used, *y = &((const entry *)b)->used;
    if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* More than is needed, so that it is not done for each entry. */
static void evict(weft_store *store, entries *all, uint64_t room)
{
    uint64_t wanted = store->max_bytes - store->max_bytes / SLACK;
    qsort(all->items, all->count, sizeof *all->items, compare_ages);
    for (size_t i = 0; i < all->count && all->room + room > wanted; i++) {
        store->counters.evictions += unlinkat(store->directory, all->items[i].name.text, 0) == 0;
        all->room -= all->items[i].room;
    }
}

/* Counts what is there, and evicts what is too much; whether there is room then. */
static bool look(weft_store *store, uint64_t room)
{
    entries all = {0};
    bool listed = list(store, &all);
    if (listed && all.room + room > store->max_bytes) evict(store, &all, room);
    weft_free(&store->allocator, all.items, all.capacity * sizeof *all.items);
    return listed && all.room + room <= store->max_bytes;
}

/*
 * To list a directory takes as long as to compile several kernels. So it is the hash of a key that says whether its
 * writer looks: of all that is written, by processes that know nothing of each other, and may be short, one does for
 * each LOOKS-th of the bound.
 */
static bool make_room(weft_store *store, uint64_t hash, uint64_t room)
{
    if (room > store->max_bytes) return false;
    return hash % (store->max_bytes / LOOKS + 1) < room ? look(store, room) : true;
}

/* ---- writing ---- */

/* A process that goes beyond its limit gets a signal. */
static bool is_allowed(size_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur;
}

static bool write_all(int file, const char *from, size_t size)
{
    while (size > 0) {
        ssize_t put = write(file, from, size);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        from += put;
        size -= (size_t)put;
    }
    return true;
}

static bool write_file(const weft_store *store, const char *name, const weft_bytes *content)
{
    const file_name temporary = make_temporary(store);
    if (!is_allowed(content->size)) return false;
    int file = openat(store->directory, temporary.text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file < 0) return false;
    (void)flock(file, LOCK_EX | LOCK_NB); /* see drop_if_left */
    bool written = write_all(file, content->data, content->size) &&
                   renameat(store->directory, temporary.text, store->directory, name) == 0;
    if (!written) (void)unlinkat(store->directory, temporary.text, 0);
    close(file);
    return written;
}

void weft_store_write(weft_store *store, const void *key, size_t key_size, const void *value, size_t value_size)
{
    uint64_t hash = weft_hash(key, key_size);
    const file_name name = make_name(hash, ENTRY);
    weft_bytes content;
    weft_bytes_init(&content, &store->allocator);
    weft_entry_append(&content, key, key_size, value, value_size);
    pthread_mutex_lock(&store->mutex);
    bool written =
        !content.failed && make_room(store, hash, room_of(content.size)) && write_file(store, name.text, &content);
    store->counters.writes += written;
    store->counters.failures += !written;
    pthread_mutex_unlock(&store->mutex);
    weft_bytes_finish(&content);
}

weft_disk_counters weft_store_counters(weft_store *store)
{
    if (store == NULL) return (weft_disk_counters){0};
    pthread_mutex_lock(&store->mutex);
    weft_disk_counters counters = store->counters;
    pthread_mutex_unlock(&store->mutex);
    return counters;
}
