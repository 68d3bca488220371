/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/data/host_memory.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <weft/executor.h>
#include "runtime/base/memory.h"

enum { SMALL_ALIGNMENT = 64, HUGE_PAGE = 2 << 20 };
/* Bytes read of a file of the system's: of one that lists groups, and of one with a limit. What is asked here must fit
 * the small stack that executor.h promises. */
enum { LINES = 8192, NUMBER = 64 };

/* ---- blocks ---- */

static size_t alignment_of(size_t bytes)
{
    return bytes < HUGE_PAGE ? SMALL_ALIGNMENT : HUGE_PAGE;
}

weft_status *weft_host_allocate(const weft_allocator *allocator, size_t bytes, void **out_memory)
{
    allocator = weft_allocator_or_default(allocator);
    if (bytes == 0) bytes = 1;
    void *memory = allocator->resize(allocator->self, NULL, 0, bytes, alignment_of(bytes));
    if (memory == NULL) return weft_status_out_of_memory();
#if defined(MADV_HUGEPAGE)
    /* Only advice: without huge pages the memory is as good, a little slower at first touch. */
    if (bytes >= HUGE_PAGE) (void)madvise(memory, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
#endif
    *out_memory = memory;
    return NULL;
}

void weft_host_release(const weft_allocator *allocator, void *memory, size_t bytes)
{
    if (memory == NULL) return;
    allocator = weft_allocator_or_default(allocator);
    if (bytes == 0) bytes = 1;
    allocator->resize(allocator->self, memory, bytes, 0, alignment_of(bytes));
}

/* ---- how much there is ---- */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t physical_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages * (size_t)page : SIZE_MAX;
}

static size_t resource_limit(__typeof__(RLIMIT_AS) resource)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? (size_t)limit.rlim_cur : SIZE_MAX;
}

/* Not by stdio, which allocates. */
static bool read_text(const char *path, size_t size, char *text)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    ssize_t length = read(file, text, size - 1);
    close(file);
    if (length < 0) return false;
    text[length] = 0;
    char *last = strrchr(text, '\n');
    if ((size_t)length == size - 1 && last != NULL) last[1] = 0; /* whole lines */
    return true;
}

/* Of the file named; SIZE_MAX for "max", or where there is none. */
static size_t read_limit(const char *path)
{
    char text[NUMBER], *end;
    if (!read_text(path, sizeof text, text)) return SIZE_MAX;
    errno = 0;
    unsigned long long limit = strtoull(text, &end, 10);
    return end == text || errno != 0 || limit > SIZE_MAX ? SIZE_MAX : (size_t)limit;
}

/*
 * Of a control group and those around it, by the files named: folders below `base`. In a container the group may be
 * named as the system outside sees it; there is no such folder then, and that of the container is `base` itself.
 * `path` is for names.
 */
static size_t group_limit(const char *root, const char *base, char *group, const char *const *files,
                          char path[static PATH_MAX])
{
    size_t limit = SIZE_MAX;
    char *slash;
    for (;;) {
        for (const char *const *file = files; *file != NULL; file++) {
            int length = snprintf(path, PATH_MAX, "%s%s%s/%s", root, base, group, *file);
            if (length > 0 && length < PATH_MAX) limit = least(limit, read_limit(path));
        }
        if ((slash = strrchr(group, '/')) == NULL) return limit;
        *slash = 0;
    }
}

static bool names_memory(const char *controllers)
{
    for (const char *name = controllers; name != NULL; name = strchr(name, ',') == NULL ? NULL : strchr(name, ',') + 1)
        if (strcspn(name, ",") == strlen("memory") && strncmp(name, "memory", strlen("memory")) == 0) return true;
    return false;
}

/* Lines of /proc/self/cgroup are "number:controllers:group"; of version 2 there is one, without controllers. */
static size_t groups_limit(const char *root)
{
    static const char *const old_files[] = {"memory.limit_in_bytes", NULL};
    static const char *const files[] = {"memory.max", "memory.high", NULL};
    char path[PATH_MAX], text[LINES], *rest = NULL;
    size_t limit = SIZE_MAX;
    int length = snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    if (length < 0 || (size_t)length >= sizeof path || !read_text(path, sizeof text, text)) return SIZE_MAX;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        char *controllers = strchr(line, ':'), *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        if (group == NULL) continue;
        *group++ = 0;
        if (names_memory(controllers + 1))
            limit = least(limit, group_limit(root, "/sys/fs/cgroup/memory", group, old_files, path));
        else if (controllers[1] == 0) limit = least(limit, group_limit(root, "/sys/fs/cgroup", group, files, path));
    }
    return limit;
}

size_t weft_host_memory_size(const char *root)
{
    size_t limit = least(resource_limit(RLIMIT_AS), resource_limit(RLIMIT_DATA));
    return least(least(physical_memory(), limit), groups_limit(root));
}

size_t weft_memory_size(void)
{
    return weft_host_memory_size("");
}
