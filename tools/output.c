/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* fopencookie */
#include "output.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "interrupt.h"

enum { LONGEST_PATH = 4096, MOST_LINKS = 40, MOST_TRIES = 1000, NO_DESCRIPTOR = -1, PATIENCE_MS = 50 };

/* Where a file goes. */
typedef struct place {
    const char *path;          /* as the user gave it */
    int descriptor;            /* an open one, or NO_DESCRIPTOR */
    bool direct;               /* a device, a pipe or a descriptor: written without a temporary file */
    bool pipe;                 /* a named pipe */
    bool exists;               /* a regular file that is to be replaced */
    mode_t mode;               /* of the file that exists */
    char target[LONGEST_PATH]; /* without symbolic links at its end */
    char temporary[LONGEST_PATH + 32];
    int open; /* while it is written */
} place;

bool weft_output_is_standard(const char *path)
{
    return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
}

static const char *describe(const char *path)
{
    return weft_output_is_standard(path) ? "standard output" : path;
}

static weft_status *refuse(const char *path, int error)
{
    return weft_status_create(NULL, WEFT_BAD_FILE, NULL, "%s cannot be written: %s", describe(path), strerror(error));
}

/* Ends a section that signals may interrupt. If it is `done` it stays so: a signal that came too late is left to what
 * comes next. Takes `status`. */
static weft_status *end(weft_status *status, bool done, const char *path)
{
    if (done || !weft_interrupt_end()) return status;
    weft_status_destroy(status);
    return weft_status_create(NULL, WEFT_CANCELLED, NULL, "interrupted while %s was written", describe(path));
}

/* The descriptor that the path names, as in "/dev/fd/3", or NO_DESCRIPTOR. */
static int find_descriptor(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (weft_output_is_standard(path)) return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0) return STDERR_FILENO;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        size_t length = strlen(folders[i]), digits = strspn(path + strnlen(path, length), "0123456789");
        if (strncmp(path, folders[i], length) == 0 && digits > 0 && digits < 9 && path[length + digits] == 0)
            return atoi(path + length);
    }
    return NO_DESCRIPTOR;
}

/* ---- where a file goes ---- */

/* Replaces a link with the path that it points to, made relative to this process. */
static bool follow(char path[LONGEST_PATH])
{
    char text[LONGEST_PATH], joined[2 * LONGEST_PATH];
    ssize_t length = readlink(path, text, sizeof text - 1);
    const char *slash = strrchr(path, '/');
    if (length < 0) return false;
    text[length] = 0;
    int folder = text[0] == '/' || slash == NULL ? 0 : (int)(slash + 1 - path);
    int used = snprintf(joined, sizeof joined, "%.*s%s", folder, path, text);
    if (used >= LONGEST_PATH) errno = ENAMETOOLONG;
    if (used >= LONGEST_PATH) return false;
    memcpy(path, joined, (size_t)used + 1);
    return true;
}

/* Follows links to the end, which need not exist. */
static bool find_target(place *p)
{
    struct stat found;
    strcpy(p->target, p->path);
    for (int i = 0; i < MOST_LINKS; i++) {
        if (lstat(p->target, &found) != 0) return errno == ENOENT;
        if (!S_ISLNK(found.st_mode)) return true;
        if (!follow(p->target)) return false;
    }
    errno = ELOOP;
    return false;
}

static weft_status *find_place(const char *path, place *out_place)
{
    struct stat found;
    *out_place = (place){.path = path, .descriptor = find_descriptor(path)};
    if (out_place->descriptor != NO_DESCRIPTOR) out_place->direct = true;
    if (out_place->direct) return NULL;
    if (path[0] == 0) return weft_status_create(NULL, WEFT_BAD_FILE, NULL, "the name of the file to write is empty");
    if (strlen(path) >= LONGEST_PATH) return refuse(path, ENAMETOOLONG);
    out_place->exists = stat(path, &found) == 0;
    if (!out_place->exists && errno != ENOENT) return refuse(path, errno);
    if (out_place->exists && S_ISDIR(found.st_mode)) return refuse(path, EISDIR);
    if (out_place->exists && access(path, W_OK) != 0) return refuse(path, errno);
    out_place->direct = out_place->exists && !S_ISREG(found.st_mode);
    out_place->pipe = out_place->exists && S_ISFIFO(found.st_mode);
    if (out_place->direct) return NULL;
    if (out_place->exists) out_place->mode = found.st_mode & 0777;
    return find_target(out_place) ? NULL : refuse(path, errno);
}

/* The folder of the target, and its name there. */
static bool find_folder(const place *p, struct stat *out_folder, const char **out_name)
{
    char folder[LONGEST_PATH] = ".";
    const char *slash = strrchr(p->target, '/');
    if (slash != NULL) snprintf(folder, sizeof folder, "%.*s", (int)(slash + 1 - p->target), p->target);
    *out_name = slash == NULL ? p->target : slash + 1;
    return stat(folder, out_folder) == 0;
}

static bool find_file(const place *p, struct stat *out_file)
{
    return (p->descriptor == NO_DESCRIPTOR ? stat(p->path, out_file) : fstat(p->descriptor, out_file)) == 0;
}

/* Whether there is a place for a regular file, or a descriptor of one. */
static bool find_regular(const char *path, place *out_place)
{
    struct stat file;
    weft_status *status = find_place(path, out_place);
    bool found = status == NULL && !out_place->direct;
    weft_status_destroy(status);
    if (out_place->descriptor == NO_DESCRIPTOR) return found;
    return find_file(out_place, &file) && S_ISREG(file.st_mode);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool weft_output_is_same(const char *first, const char *second)
{
    place places[2];
    struct stat files[2], folders[2];
    const char *names[2];
    if (!find_regular(first, &places[0]) || !find_regular(second, &places[1])) return false;
    if (places[0].direct && places[0].descriptor == places[1].descriptor) return false;
    if (find_file(&places[0], &files[0]) && find_file(&places[1], &files[1])) return is_same(&files[0], &files[1]);
    if (places[0].direct || places[1].direct) return false;
    for (int i = 0; i < 2; i++)
        if (!find_folder(&places[i], &folders[i], &names[i])) return false;
    return is_same(&folders[0], &folders[1]) && strcmp(names[0], names[1]) == 0;
}

/* ---- the temporary file ---- */

/* Opens a new file in the folder of the target, or returns -1. Until it is renamed or removed, a second signal removes
 * it. */
static int open_temporary(place *p)
{
    const char *slash = strrchr(p->target, '/');
    int folder = slash == NULL ? 0 : (int)(slash + 1 - p->target), descriptor = -1;
    for (int i = 0; i < MOST_TRIES && descriptor < 0 && (i == 0 || errno == EEXIST); i++) {
        snprintf(p->temporary, sizeof p->temporary, "%.*s.weft-%ld-%d", folder, p->target, (long)getpid(), i);
        weft_interrupt_remove(p->temporary);
        descriptor = open(p->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    if (descriptor < 0) weft_interrupt_remove(NULL);
    return descriptor;
}

/* A pipe that no reader has opened yet is polled, so that a signal ends the waiting. */
static int open_direct(const place *p)
{
    int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY, descriptor = open(p->path, flags | (p->pipe ? O_NONBLOCK : 0));
    while (p->pipe && descriptor < 0 && errno == ENXIO) {
        poll(NULL, 0, PATIENCE_MS);
        errno = EINTR;
        if (*weft_interrupt_flag()) return -1;
        descriptor = open(p->path, flags | O_NONBLOCK);
    }
    if (p->pipe && descriptor >= 0) fcntl(descriptor, F_SETFL, O_WRONLY);
    return descriptor;
}

static int open_place(place *p)
{
    if (p->descriptor == STDOUT_FILENO) fflush(stdout); /* what was printed before comes before */
    if (p->descriptor != NO_DESCRIPTOR) return fcntl(p->descriptor, F_DUPFD_CLOEXEC, 0);
    return p->direct ? open_direct(p) : open_temporary(p);
}

weft_status *weft_output_check(const char *path)
{
    place p;
    WEFT_TRY(find_place(path, &p));
    if (p.direct && p.descriptor == NO_DESCRIPTOR) return NULL;
    if (p.direct) {
        int flags = fcntl(p.descriptor, F_GETFL);
        if (flags < 0) return refuse(path, errno);
        return (flags & O_ACCMODE) == O_RDONLY ? refuse(path, EBADF) : NULL;
    }
    weft_interrupt_begin();
    int descriptor = open_temporary(&p);
    if (descriptor < 0) return end(refuse(path, errno), false, path);
    close(descriptor);
    unlink(p.temporary);
    weft_interrupt_remove(NULL);
    return end(NULL, false, path);
}

/* ---- writing ---- */

/* Waits until something can be written, which may be never; false with `errno`. */
static bool wait_for(int descriptor)
{
    struct pollfd output = {.fd = descriptor, .events = POLLOUT};
    while (!*weft_interrupt_flag()) {
        int count = poll(&output, 1, PATIENCE_MS);
        if (count > 0) return true;
        if (count < 0 && errno != EINTR) return false;
    }
    errno = EINTR;
    return false;
}

/* Pieces of a file are long; a pipe that is ready takes PIPE_BUF bytes without blocking. */
static ssize_t put(void *self, const char *bytes, size_t size)
{
    const place *p = self;
    size_t done = 0, most = p->direct ? PIPE_BUF : 1 << 20;
    while (done < size) {
        if (!wait_for(p->open)) return 0;
        ssize_t count = write(p->open, bytes + done, size - done < most ? size - done : most);
        if (count < 0 && errno != EINTR && errno != EAGAIN) return 0;
        if (count > 0) done += (size_t)count;
    }
    return (ssize_t)size;
}

static int seek(void *self, off64_t *offset, int origin)
{
    const place *p = self;
    off64_t found = lseek64(p->open, *offset, origin);
    if (found >= 0) *offset = found;
    return found >= 0 ? 0 : -1;
}

static int close_place(void *self)
{
    return close(((const place *)self)->open);
}

/* Fills and closes the file. */
static weft_status *fill(place *p, weft_status *(*write)(const void *context, FILE *file), const void *context)
{
    const cookie_io_functions_t functions = {.write = put, .seek = seek, .close = close_place};
    FILE *file = fopencookie(p, "w", functions);
    if (file == NULL) close(p->open);
    if (file == NULL) return weft_status_out_of_memory();
    errno = 0;
    weft_status *status = write(context, file);
    bool failed = ferror(file) || fflush(file) != 0;
    int error = errno;
    if (fclose(file) != 0 && !failed) {
        error = errno;
        failed = true;
    }
    return status != NULL || !failed ? status : refuse(p->path, error);
}

/* Fills the file, and puts a temporary one in the place of the target. */
static weft_status *write_place(place *p, weft_status *(*write)(const void *context, FILE *file), const void *context)
{
    p->open = open_place(p);
    if (p->open < 0) return refuse(p->path, errno);
    weft_status *status = fill(p, write, context);
    if (p->direct) return status;
    if (status == NULL && p->exists && chmod(p->temporary, p->mode) != 0) status = refuse(p->path, errno);
    if (status == NULL && rename(p->temporary, p->target) != 0) status = refuse(p->path, errno);
    if (status != NULL) unlink(p->temporary);
    weft_interrupt_remove(NULL);
    return status;
}

weft_status *weft_output_write(const char *path, weft_status *(*write)(const void *context, FILE *file),
                               const void *context)
{
    place p;
    WEFT_TRY(find_place(path, &p));
    weft_interrupt_begin();
    weft_status *status = write_place(&p, write, context);
    return end(status, status == NULL, path);
}
