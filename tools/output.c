/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONGEST_PATH = 4096, MOST_LINKS = 40, MOST_TRIES = 1000, NO_DESCRIPTOR = -1 };

/* Where a file goes. */
typedef struct place {
    const char *path;          /* as the user said it */
    int descriptor;            /* one that is open already, or NO_DESCRIPTOR */
    bool direct;               /* a device, a pipe, a descriptor */
    bool exists;               /* a regular file that is to be replaced */
    mode_t mode;               /* of that */
    char target[LONGEST_PATH]; /* without symbolic links at its end */
    char temporary[LONGEST_PATH + 32];
} place;

/* The file that is written beside its target now, or NULL. */
static const char *volatile under_way;

static weft_status *refuse(const char *path, int error)
{
    return weft_status_create(NULL, WEFT_BAD_FILE, NULL, "%s cannot be written: %s", path, strerror(error));
}

bool weft_output_is_standard(const char *path)
{
    return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
}

/* The number that ends one of the names that open descriptors have. */
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

/* What the link `path` says, as a path that this process can use. */
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

/* Follows links as far as they go, also to what does not exist. */
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
    if (out_place->direct) return NULL;
    if (out_place->exists) out_place->mode = found.st_mode & 0777;
    return find_target(out_place) ? NULL : refuse(path, errno);
}

/* ---- the file beside it ---- */

/* Opens a new file in the folder of the target; -1 where there can be none. */
static int open_temporary(place *p)
{
    const char *slash = strrchr(p->target, '/');
    int folder = slash == NULL ? 0 : (int)(slash + 1 - p->target), descriptor = -1;
    for (int i = 0; i < MOST_TRIES && descriptor < 0 && (i == 0 || errno == EEXIST); i++) {
        snprintf(p->temporary, sizeof p->temporary, "%.*s.weft-%ld-%d", folder, p->target, (long)getpid(), i);
        descriptor = open(p->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    if (descriptor >= 0) under_way = p->temporary;
    return descriptor;
}

void weft_output_abandon(void)
{
    const char *path = under_way;
    if (path != NULL) unlink(path);
}

static int open_place(place *p)
{
    if (p->descriptor == STDOUT_FILENO) fflush(stdout); /* what was printed before comes before */
    if (p->descriptor != NO_DESCRIPTOR) return dup(p->descriptor);
    return p->direct ? open(p->path, O_WRONLY | O_CLOEXEC | O_NOCTTY) : open_temporary(p);
}

weft_status *weft_output_check(const char *path)
{
    place p;
    WEFT_TRY(find_place(path, &p));
    if (p.direct && (p.descriptor == NO_DESCRIPTOR || fcntl(p.descriptor, F_GETFD) >= 0)) return NULL;
    int descriptor = p.direct ? -1 : open_temporary(&p);
    if (descriptor < 0) return refuse(path, errno);
    close(descriptor);
    under_way = NULL;
    unlink(p.temporary);
    return NULL;
}

/* ---- writing ---- */

/* Fills and closes the file. */
static weft_status *fill(const place *p, FILE *file, weft_status *(*write)(const void *context, FILE *file),
                         const void *context)
{
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

/* Puts the finished file in the place of the target. */
static weft_status *commit(const place *p)
{
    if (p->exists && chmod(p->temporary, p->mode) != 0) return refuse(p->path, errno);
    return rename(p->temporary, p->target) == 0 ? NULL : refuse(p->path, errno);
}

weft_status *weft_output_write(const char *path, weft_status *(*write)(const void *context, FILE *file),
                               const void *context)
{
    place p;
    WEFT_TRY(find_place(path, &p));
    int descriptor = open_place(&p);
    if (descriptor < 0) return refuse(path, errno);
    FILE *file = fdopen(descriptor, "w");
    weft_status *status = file == NULL ? weft_status_out_of_memory() : fill(&p, file, write, context);
    if (file == NULL) close(descriptor);
    if (p.direct) return status;
    if (status == NULL) status = commit(&p);
    if (status != NULL) unlink(p.temporary);
    under_way = NULL;
    return status;
}
