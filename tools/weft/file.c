/* SPDX-License-Identifier: Apache-2.0 */
#include "file.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <weft/npy.h>
#include "../npz.h"
#include "../output.h"

enum { LONGEST_PATH = 4096 };

static bool is_standard(const char *path)
{
    return strcmp(path, "-") == 0;
}

const char *weft_file_name(const char *path)
{
    return is_standard(path) ? "standard input" : path;
}

bool weft_file_ends_with(const char *path, const char *end)
{
    size_t length = strlen(path), end_length = strlen(end);
    return length > end_length && strcmp(path + length - end_length, end) == 0;
}

static weft_status *load_archive(const char *path, const char *name, weft_array **out_array)
{
    weft_npz *npz;
    weft_status *status;
    char names[512];
    size_t member;
    WEFT_TRY(weft_npz_open(NULL, path, &npz));
    if (name != NULL && weft_npz_find(npz, name, &member)) {
        status = weft_npz_load(npz, member, out_array);
    } else {
        weft_npz_list(npz, names, sizeof names);
        if (name != NULL) status = weft_misuse("%s has no array '%s'; its arrays: %s", path, name, names);
        else status = weft_misuse("%s has several arrays; write %s:NAME; its arrays: %s", path, path, names);
    }
    weft_npz_close(npz);
    return status;
}

/* ---- files that cannot seek: standard input, pipes ---- */

typedef struct bytes {
    const char *at;
    size_t left;
} bytes;

static bool take_bytes(void *self, void *out_bytes, size_t size, const char **out_error)
{
    bytes *b = self;
    (void)out_error;
    if (size > b->left) return false;
    memcpy(out_bytes, b->at, size);
    b->at += size;
    b->left -= size;
    return true;
}

static weft_status *load_stream(const char *path, weft_array **out_array)
{
    char *text;
    size_t length;
    WEFT_TRY(weft_file_read(path, &text, &length));
    bytes b = {text, length};
    const weft_npy_source source = {.self = &b, .size = length, .read = take_bytes};
    weft_status *status = weft_npy_read(NULL, &source, weft_file_name(path), out_array);
    free(text);
    return status;
}

static bool is_stream(const char *path)
{
    struct stat found;
    return is_standard(path) || (stat(path, &found) == 0 && (S_ISFIFO(found.st_mode) || S_ISSOCK(found.st_mode)));
}

static weft_status *check_name(const char *path)
{
    return path[0] == 0 ? weft_misuse("the name of a file to read is empty") : NULL;
}

/* The member that FILE.npz:MEMBER names, and the file; NULL for another text. */
static const char *split_member(const char *text, char out_path[LONGEST_PATH])
{
    const char *found = strstr(text, ".npz:");
    if (found == NULL) return NULL;
    snprintf(out_path, LONGEST_PATH, "%.*s", (int)(found + 4 - text), text);
    return found + 5;
}

weft_status *weft_file_load(const char *text, const char *otherwise, weft_array **out_array)
{
    char path[LONGEST_PATH];
    WEFT_TRY(check_name(text));
    const char *member = split_member(text, path);
    if (member != NULL) return load_archive(path, member, out_array);
    if (is_stream(text)) return load_stream(text, out_array);
    if (!weft_file_ends_with(text, ".npz")) return weft_npy_load(NULL, text, out_array);
    return load_archive(text, otherwise, out_array);
}

static weft_status *read_error(const char *path)
{
    return weft_status_create(NULL, WEFT_BAD_FILE, NULL, "%s cannot be read: %s", weft_file_name(path),
                              strerror(errno));
}

/* Appends the contents of `file` to a text, which the caller frees on failure too. */
static weft_status *read_text(const char *path, FILE *file, char **text, size_t *length)
{
    size_t capacity = 0;
    do {
        if (*length + 1 >= capacity) {
            capacity = capacity == 0 ? 4096 : 2 * capacity;
            char *grown = realloc(*text, capacity);
            if (grown == NULL) return weft_status_out_of_memory();
            *text = grown;
        }
        *length += fread(*text + *length, 1, capacity - *length - 1, file);
        if (ferror(file)) return read_error(path);
    } while (!feof(file));
    (*text)[*length] = 0;
    return NULL;
}

weft_status *weft_file_read(const char *path, char **out_text, size_t *out_length)
{
    char *text = NULL;
    size_t length = 0;
    WEFT_TRY(check_name(path));
    FILE *file = is_standard(path) ? stdin : fopen(path, "rb");
    if (file == NULL) return read_error(path);
    weft_status *status = read_text(path, file, &text, &length);
    if (file != stdin) fclose(file);
    if (status != NULL) {
        free(text);
        return status;
    }
    *out_text = text;
    *out_length = length;
    return NULL;
}

weft_status *weft_file_check_inputs(size_t count, const char *const *files)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += files[i] != NULL && (is_standard(files[i]) || strcmp(files[i], "/dev/stdin") == 0);
    return found > 1 ? weft_misuse("standard input is given %zu times, but is read once", found) : NULL;
}

/* ---- the files of a command ---- */

/* A file that a command line names, and the option that names it, or NULL. */
typedef struct named_file {
    const char *option, *path;
} named_file;

/* What is written, then what is read. */
typedef struct named_files {
    size_t written, count;
    named_file *items;
} named_files;

static void add_files(named_files *files, const char *option, size_t count, const char *const *paths)
{
    for (size_t i = 0; i < count; i++) files->items[files->count++] = (named_file){option, paths[i]};
}

static void add_options(named_files *files, const weft_arguments *arguments, const char *const *names)
{
    for (; *names != NULL; names++)
        for (size_t i = 0; i < arguments->value_count; i++)
            if (strcmp(arguments->values[i].option->name, *names) == 0)
                add_files(files, *names, 1, &arguments->values[i].text);
}

/* What is read may be an array of an archive: the archive counts. */
static weft_status *check_read(const named_file *result, const char *read)
{
    char path[LONGEST_PATH];
    const char *opened = is_standard(read) ? "/dev/fd/0" : split_member(read, path) != NULL ? path : read;
    if (!weft_output_is_same(result->path, opened)) return NULL;
    if (result->option == NULL) return weft_misuse("standard output would overwrite '%s', which is also read", read);
    return weft_misuse("a result of %s in '%s' would overwrite '%s', which is also read", result->option, result->path,
                       read);
}

static weft_status *check_written(const char *path, const char *other)
{
    if (!weft_output_is_same(path, other)) return NULL;
    if (strcmp(path, other) == 0) return weft_misuse("'%s' would get two results; each needs a file of its own", path);
    return weft_misuse("'%s' and '%s' are one file, which would get two results; each needs a file of its own", path,
                       other);
}

static weft_status *check_named(const named_files *files)
{
    static const named_file printed = {NULL, "/dev/stdout"};
    for (size_t i = 0; i < files->written; i++) {
        for (size_t k = i + 1; k < files->written; k++)
            WEFT_TRY(check_written(files->items[i].path, files->items[k].path));
        for (size_t k = files->written; k < files->count; k++)
            WEFT_TRY(check_read(&files->items[i], files->items[k].path));
    }
    for (size_t k = files->written; k < files->count; k++) WEFT_TRY(check_read(&printed, files->items[k].path));
    return NULL;
}

weft_status *weft_file_check_results(const weft_arguments *arguments, size_t read_count, const char *const *read,
                                     size_t count, const char *const *files)
{
    bool tunes = weft_arguments_find(arguments, "--tune") != NULL;
    const char *const written[] = {"--trace", "--view", "--tree", "--save", tunes ? "--schedules" : NULL, NULL};
    const char *const texts[] = {"--instance", "--order", "--machine", "--plugin", tunes ? NULL : "--schedules", NULL};
    named_files all = {.items = calloc(read_count + count + arguments->value_count + 1, sizeof *all.items)};
    if (all.items == NULL) return weft_status_out_of_memory();
    add_files(&all, "-o", count, files);
    add_options(&all, arguments, written);
    all.written = all.count;
    add_files(&all, NULL, read_count, read);
    add_options(&all, arguments, texts);
    weft_status *status = check_named(&all);
    free(all.items);
    return status;
}

weft_status *weft_file_check_single(const char *path)
{
    char archive[LONGEST_PATH];
    if (split_member(path, archive) != NULL)
        return weft_misuse("'%s' names an array of an archive, which inputs do; one result is written to OUT.npy, all "
                           "of 'weft run' to OUT.npz",
                           path);
    if (!weft_file_ends_with(path, ".npz")) return weft_output_check(path);
    return weft_misuse("a single array is written to an .npy file, not to '%s'", path);
}

/* ---- results ---- */

static weft_status *print_npy(const void *context, FILE *file)
{
    const weft_array *dense = context;
    char header[WEFT_NPY_HEADER_SIZE];
    fwrite(header, 1, weft_npy_print_header(dense, header), file);
    fwrite(weft_array_data(dense), weft_dtype_size(weft_array_dtype(dense)), (size_t)weft_array_count(dense), file);
    return NULL;
}

weft_status *weft_file_save(const char *path, weft_array *array)
{
    weft_array *dense;
    WEFT_TRY(weft_array_retain_dense(NULL, array, &dense));
    weft_status *status = weft_output_write(path, print_npy, dense);
    weft_array_release(dense);
    return status;
}

weft_status *weft_file_print(const weft_array *array)
{
    size_t length = weft_array_print(array, NULL, 0);
    char *text = malloc(length + 1);
    if (text == NULL) return weft_status_out_of_memory();
    weft_array_print(array, text, length + 1);
    bool printed = puts(text) != EOF;
    int error = errno;
    free(text);
    if (printed) return NULL;
    return weft_status_create(NULL, WEFT_BAD_FILE, NULL, "standard output cannot be written: %s", strerror(error));
}
