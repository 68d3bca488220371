/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/data/output_file.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINKS = 40, MOST_TRIES = 1000 };

/* Replaces the link `path` by what it names, seen from here. */
static bool follow(char path[WEFT_OUTPUT_PATH])
{
    char text[WEFT_OUTPUT_PATH];
    const char *slash = strrchr(path, '/');
    ssize_t length = readlink(path, text, sizeof text);
    if (length <= 0) return false;
    size_t folder = slash == NULL || text[0] == '/' ? 0 : (size_t)(slash + 1 - path), size = folder + (size_t)length;
    if (size >= WEFT_OUTPUT_PATH) errno = ENAMETOOLONG;
    if (size >= WEFT_OUTPUT_PATH) return false;
    memcpy(path + folder, text, (size_t)length);
    path[size] = '\0';
    return true;
}

/* Follows links, which keep pointing where they do, also to what does not exist. */
static bool find_target(weft_output_file *o, const char *path)
{
    struct stat found;
    if (strlen(path) >= WEFT_OUTPUT_PATH) errno = ENAMETOOLONG;
    if (strlen(path) >= WEFT_OUTPUT_PATH) return false;
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
static bool open_beside(weft_output_file *o, const struct stat *old)
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

bool weft_output_file_open(weft_output_file *o, const char *path)
{
    struct stat old;
    bool exists = stat(path, &old) == 0;
    if (!exists && errno != ENOENT) return false;
    o->direct = exists && !S_ISREG(old.st_mode);
    if (o->direct) return (o->file = fopen(path, "wb")) != NULL;
    if (exists && access(path, W_OK) != 0) return false;
    return find_target(o, path) && open_beside(o, exists ? &old : NULL);
}

bool weft_output_file_close(weft_output_file *o, bool good)
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
