/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/npy.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runtime/base/status.h"

enum { PREAMBLE = 10, PADDING = 64 };

/* The dictionary, without what pads it. */
static size_t print_dictionary(const weft_array *array, char *out_text, size_t size)
{
    const weft_dtype_info *info = weft_dtype_info_of(weft_array_dtype(array));
    size_t rank = weft_array_rank(array);
    int used = snprintf(out_text, size, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                        info->size > 1 ? '<' : '|', info->npy);
    for (size_t i = 0; i < rank; i++)
        used += snprintf(out_text + used, size - (size_t)used, i > 0 ? ", %" PRId64 : "%" PRId64,
                         weft_array_shape(array)[i]);
    used += snprintf(out_text + used, size - (size_t)used, rank == 1 ? ",), }" : "), }");
    return (size_t)used;
}

size_t weft_npy_print_header(const weft_array *array, char out_bytes[WEFT_NPY_HEADER_SIZE])
{
    size_t used = PREAMBLE + print_dictionary(array, out_bytes + PREAMBLE, WEFT_NPY_HEADER_SIZE - PREAMBLE - PADDING);
    size_t total = (used + 1 + PADDING - 1) / PADDING * PADDING, length = total - PREAMBLE;
    memset(out_bytes + used, ' ', total - used);
    out_bytes[total - 1] = '\n';
    memcpy(out_bytes, "\x93NUMPY\1\0", PREAMBLE - 2);
    out_bytes[PREAMBLE - 2] = (char)(length & 0xff);
    out_bytes[PREAMBLE - 1] = (char)(length >> 8);
    return total;
}

/* ---- files ---- */

enum { LONGEST_PATH = 4096, MOST_LINKS = 40, MOST_TRIES = 1000 };

/* Where a file is written: beside its place, or, where that is no regular file, there. */
typedef struct output {
    FILE *file;
    char target[LONGEST_PATH], temporary[LONGEST_PATH + 32];
    bool direct;
} output;

/* Replaces the link `path` by what it names, seen from here. */
static bool follow(char path[LONGEST_PATH])
{
    char text[LONGEST_PATH];
    const char *slash = strrchr(path, '/');
    ssize_t length = readlink(path, text, sizeof text);
    if (length <= 0) return false;
    size_t folder = slash == NULL || text[0] == '/' ? 0 : (size_t)(slash + 1 - path), size = folder + (size_t)length;
    if (size >= LONGEST_PATH) errno = ENAMETOOLONG;
    if (size >= LONGEST_PATH) return false;
    memcpy(path + folder, text, (size_t)length);
    path[size] = '\0';
    return true;
}

/* Follows links, which keep pointing where they do, also to what does not exist. */
static bool find_target(output *o, const char *path)
{
    struct stat found;
    if (strlen(path) >= LONGEST_PATH) errno = ENAMETOOLONG;
    if (strlen(path) >= LONGEST_PATH) return false;
    strcpy(o->target, path);
    for (int i = 0; i < MOST_LINKS; i++) {
        if (lstat(o->target, &found) != 0) return errno == ENOENT;
        if (!S_ISLNK(found.st_mode)) return true;
        if (!follow(o->target)) return false;
    }
    errno = ELOOP;
    return false;
}

/* A new file in the folder of the target, with the permissions that it has or would get. Its name is short: that of the
 * target may have all the characters a name can have. */
static bool open_beside(output *o, const struct stat *old)
{
    const char *slash = strrchr(o->target, '/');
    int folder = slash == NULL ? 0 : (int)(slash + 1 - o->target);
    for (int i = 0, descriptor = -1; i < MOST_TRIES; i++) {
        snprintf(o->temporary, sizeof o->temporary, "%.*s.weft-%ld-%d", folder, o->target, (long)getpid(), i);
        descriptor = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor < 0 && errno == EEXIST) continue;
        if (descriptor < 0) return false;
        if (old != NULL) (void)!fchmod(descriptor, old->st_mode & 0777);
        o->file = fdopen(descriptor, "wb");
        if (o->file != NULL) return true;
        close(descriptor);
        remove(o->temporary);
        return false;
    }
    return false;
}

static bool open_output(output *o, const char *path)
{
    struct stat old;
    bool exists = stat(path, &old) == 0;
    if (!exists && errno != ENOENT) return false;
    o->direct = exists && !S_ISREG(old.st_mode);
    if (o->direct) return (o->file = fopen(path, "wb")) != NULL;
    if (exists && access(path, W_OK) != 0) return false;
    return find_target(o, path) && open_beside(o, exists ? &old : NULL);
}

/* Puts the file in its place, or removes it; errno is that of what went wrong first. */
static bool close_output(output *o, bool good)
{
    int error = errno;
    if (fclose(o->file) != 0 && good) {
        error = errno;
        good = false;
    }
    if (good && !o->direct && rename(o->temporary, o->target) != 0) {
        error = errno;
        good = false;
    }
    if (!good && !o->direct) remove(o->temporary);
    errno = error;
    return good;
}

/* As 0 and 1, whatever else than 0 stands for true. */
static bool write_bools(FILE *file, size_t count, const unsigned char *bools)
{
    unsigned char part[1024];
    for (size_t done = 0, length; done < count; done += length) {
        length = count - done < sizeof part ? count - done : sizeof part;
        for (size_t i = 0; i < length; i++) part[i] = bools[done + i] != 0;
        if (fwrite(part, 1, length, file) != length) return false;
    }
    return true;
}

static bool write_elements(FILE *file, const weft_array *dense)
{
    size_t count = (size_t)weft_array_count(dense), size = weft_dtype_size(weft_array_dtype(dense));
    if (weft_array_dtype(dense) == WEFT_BOOL) return write_bools(file, count, weft_array_data(dense));
    return fwrite(weft_array_data(dense), size, count, file) == count;
}

static bool write_file(const char *path, const weft_array *dense)
{
    char header[WEFT_NPY_HEADER_SIZE];
    output o;
    if (!open_output(&o, path)) return false;
    size_t length = weft_npy_print_header(dense, header);
    bool good = fwrite(header, 1, length, o.file) == length && write_elements(o.file, dense);
    return close_output(&o, good);
}

weft_status *weft_npy_save(const weft_allocator *allocator, const char *path, weft_array *array)
{
    weft_array *dense;
    WEFT_REQUIRE(path);
    WEFT_REQUIRE(array);
    if (weft_array_device(array).kind != WEFT_DEVICE_CPU)
        return weft_status_create(allocator, WEFT_UNSUPPORTED, __func__, "the array must be on the CPU");
    WEFT_TRY(weft_array_retain_dense(allocator, array, &dense));
    bool good = write_file(path, dense);
    int error = errno;
    weft_array_release(dense);
    if (good) return NULL;
    return weft_status_create(allocator, WEFT_BAD_FILE, __func__, "%s cannot be written: %s",
                              *path == '\0' ? "\"\"" : path, strerror(error));
}
