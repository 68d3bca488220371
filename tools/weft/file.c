/* SPDX-License-Identifier: Apache-2.0 */
#include "file.h"
#include <errno.h>
#include <string.h>
#include "../npy.h"
#include "../npz.h"
#include "options.h"

enum { LONGEST_PATH = 4096 };

bool weft_file_ends_with(const char *path, const char *end)
{
    size_t length = strlen(path), end_length = strlen(end);
    return length > end_length && strcmp(path + length - end_length, end) == 0;
}

static weft_status *load_member(const weft_npz *npz, const char *path, const char *name, weft_array **out_array)
{
    char names[512];
    size_t member;
    if (weft_npz_find(npz, name, &member)) return weft_npz_load(npz, member, out_array);
    weft_npz_list(npz, names, sizeof names);
    return weft_status_create(NULL, WEFT_BAD_FILE, NULL, "%s has no array '%s'; its arrays: %s", path, name, names);
}

static weft_status *load_archive(const char *path, const char *name, weft_array **out_array)
{
    weft_npz *npz;
    WEFT_TRY(weft_npz_open(NULL, path, &npz));
    weft_status *status = load_member(npz, path, name, out_array);
    weft_npz_close(npz);
    return status;
}

weft_status *weft_file_load(const char *text, const char *otherwise, weft_array **out_array)
{
    char path[LONGEST_PATH];
    const char *found = strstr(text, ".npz:");
    if (found != NULL) {
        snprintf(path, sizeof path, "%.*s", (int)(found + 4 - text), text);
        return load_archive(path, found + 5, out_array);
    }
    if (!weft_file_ends_with(text, ".npz")) return weft_npy_load(NULL, text, out_array);
    if (otherwise == NULL) return weft_misuse("which array of %s is meant? Say it as %s:NAME", text, text);
    return load_archive(text, otherwise, out_array);
}

weft_status *weft_file_write(const char *path, weft_status *(*write)(const void *context, FILE *file),
                             const void *context)
{
    FILE *file = fopen(path, "w");
    weft_status *status = file == NULL ? NULL : write(context, file);
    bool written = file != NULL && !ferror(file);
    int error = errno;
    if (file != NULL && fclose(file) != 0 && written) {
        error = errno;
        written = false;
    }
    if (file != NULL && (status != NULL || !written)) remove(path);
    if (status != NULL || written) return status;
    return weft_status_create(NULL, WEFT_BAD_FILE, NULL, "%s cannot be written: %s", path, strerror(error));
}

weft_status *weft_file_check_single(const char *path)
{
    if (!weft_file_ends_with(path, ".npz")) return NULL;
    return weft_misuse("a single array is written to an .npy file, not to '%s'", path);
}
