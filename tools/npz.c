/* SPDX-License-Identifier: Apache-2.0 */
#include "npz.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zip.h>
#include <weft/npy.h>
#include "output.h"

struct weft_npz {
    const weft_allocator *allocator;
    zip_t *zip;
    char name[]; /* for messages */
};

/* Deflate makes no more out of one byte. */
enum { DEFLATE_RATIO = 1032, LONGEST_NAME = 1024 };

static weft_status *bad_file(const weft_allocator *allocator, const char *name, const char *what, zip_error_t *error)
{
    return weft_status_create(allocator, WEFT_BAD_FILE, NULL, "%s: %s: %s", name, what, zip_error_strerror(error));
}

/* ---- reading ---- */

/* To the library a file of no bytes is an archive of no members. */
static bool is_empty(zip_source_t *source)
{
    zip_stat_t stat;
    zip_stat_init(&stat);
    return zip_source_stat(source, &stat) == 0 && (stat.valid & ZIP_STAT_SIZE) != 0 && stat.size == 0;
}

/* Takes `source`, which may be NULL with what went wrong in `error`. */
static weft_status *open_source(const weft_allocator *allocator, zip_source_t *source, zip_error_t *error,
                                const char *name, weft_npz **out_npz)
{
    zip_t *zip = NULL;
    if (source != NULL && is_empty(source)) zip_error_set(error, ZIP_ER_NOZIP, 0);
    else if (source != NULL) zip = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, error);
    if (zip == NULL) {
        if (source != NULL) zip_source_free(source);
        if (zip_error_code_zip(error) == ZIP_ER_EXISTS)
            return weft_status_create(allocator, WEFT_BAD_FILE, NULL, "%s: two members have the same name", name);
        if (zip_error_code_zip(error) == ZIP_ER_NOZIP)
            return weft_status_create(allocator, WEFT_BAD_FILE, NULL, "%s: is no zip archive, or is cut off", name);
        return bad_file(allocator, name, "cannot be opened", error);
    }
    weft_npz *npz = calloc(1, sizeof *npz + strlen(name) + 1);
    if (npz == NULL) {
        zip_discard(zip);
        return weft_status_out_of_memory();
    }
    npz->allocator = allocator;
    npz->zip = zip;
    strcpy(npz->name, name);
    *out_npz = npz;
    return NULL;
}

weft_status *weft_npz_open(const weft_allocator *allocator, const char *path, weft_npz **out_npz)
{
    zip_error_t error;
    struct stat info;
    int failed = stat(path, &info) != 0 ? errno : S_ISDIR(info.st_mode) ? EISDIR : 0;
    if (failed != 0) /* in the words of the system, not of the library */
        return weft_status_create(allocator, WEFT_BAD_FILE, NULL, "%s: cannot be opened: %s", path, strerror(failed));
    zip_error_init(&error);
    weft_status *status = open_source(allocator, zip_source_file_create(path, 0, -1, &error), &error, path, out_npz);
    zip_error_fini(&error);
    return status;
}

weft_status *weft_npz_open_bytes(const weft_allocator *allocator, const void *bytes, size_t size, const char *name,
                                 weft_npz **out_npz)
{
    zip_error_t error;
    zip_error_init(&error);
    weft_status *status =
        open_source(allocator, zip_source_buffer_create(bytes, size, 0, &error), &error, name, out_npz);
    zip_error_fini(&error);
    return status;
}

void weft_npz_close(weft_npz *npz)
{
    if (npz == NULL) return;
    zip_discard(npz->zip);
    free(npz);
}

size_t weft_npz_count(const weft_npz *npz)
{
    return (size_t)zip_get_num_entries(npz->zip, 0);
}

bool weft_npz_find(const weft_npz *npz, const char *name, size_t *out_member)
{
    char file[LONGEST_NAME];
    snprintf(file, sizeof file, "%s.npy", name);
    zip_int64_t found = zip_name_locate(npz->zip, file, 0);
    if (found < 0) found = zip_name_locate(npz->zip, name, 0);
    if (found < 0) return false;
    *out_member = (size_t)found;
    return true;
}

void weft_npz_list(const weft_npz *npz, char *out_text, size_t size)
{
    size_t used = 0, count = weft_npz_count(npz);
    snprintf(out_text, size, "none");
    for (size_t i = 0; i < count && used < size; i++) {
        const char *name = zip_get_name(npz->zip, i, 0);
        size_t length = name == NULL ? 0 : strlen(name);
        if (length > 4 && strcmp(name + length - 4, ".npy") == 0) length -= 4;
        used += (size_t)snprintf(out_text + used, size - used, "%s%.*s", i == 0 ? "" : ", ", (int)length,
                                 name == NULL ? "" : name);
    }
}

static bool read_member(void *self, void *out_bytes, size_t size, const char **out_error)
{
    zip_file_t *file = self;
    char *at = out_bytes;
    while (size > 0) {
        zip_int64_t count = zip_fread(file, at, size);
        if (count < 0) *out_error = zip_file_strerror(file);
        if (count <= 0) return false;
        at += count;
        size -= (size_t)count;
    }
    return true;
}

/* What a header says of its array is trusted up to the size of the member, so that one may not be made up. */
static weft_status *check_size(const weft_npz *npz, const zip_stat_t *stat)
{
    bool stored = stat->comp_method == ZIP_CM_STORE;
    if (!stored && stat->comp_method != ZIP_CM_DEFLATE)
        return weft_status_create(npz->allocator, WEFT_BAD_FILE, NULL,
                                  "%s: member '%s' is compressed by method %u; only stored and deflated ones are read",
                                  npz->name, stat->name, (unsigned)stat->comp_method);
    if (stat->size / (stored ? 1 : DEFLATE_RATIO) > stat->comp_size)
        return weft_status_create(npz->allocator, WEFT_BAD_FILE, NULL,
                                  "%s: member '%s' cannot have %" PRIu64 " bytes packed in %" PRIu64, npz->name,
                                  stat->name, stat->size, stat->comp_size);
    return NULL;
}

/* The sum is checked by reading up to the end. */
static weft_status *read_open_member(const weft_npz *npz, zip_file_t *file, const zip_stat_t *stat,
                                     weft_array **out_array)
{
    char name[LONGEST_NAME], rest;
    weft_npy_source source = {.self = file, .size = stat->size, .read = read_member};
    snprintf(name, sizeof name, "%s:%s", npz->name, stat->name);
    WEFT_TRY(weft_npy_read(npz->allocator, &source, name, out_array));
    zip_int64_t count = zip_fread(file, &rest, 1);
    if (count == 0) return NULL;
    weft_array_release(*out_array);
    *out_array = NULL;
    if (count > 0)
        return weft_status_create(npz->allocator, WEFT_BAD_FILE, NULL,
                                  "%s: more is packed in it than the %" PRIu64 " bytes that the archive tells of", name,
                                  stat->size);
    return weft_status_create(npz->allocator, WEFT_BAD_FILE, NULL, "%s: reading the end failed: %s", name,
                              zip_file_strerror(file));
}

weft_status *weft_npz_load(const weft_npz *npz, size_t member, weft_array **out_array)
{
    const zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    zip_stat_t stat;
    zip_stat_init(&stat);
    if (zip_stat_index(npz->zip, member, 0, &stat) != 0)
        return bad_file(npz->allocator, npz->name, "a member cannot be found", zip_get_error(npz->zip));
    if ((stat.valid & needed) != needed)
        return weft_status_create(npz->allocator, WEFT_BAD_FILE, NULL, "%s: member %zu has no name or size", npz->name,
                                  member);
    WEFT_TRY(check_size(npz, &stat));
    zip_file_t *file = zip_fopen_index(npz->zip, member, 0);
    if (file == NULL) return bad_file(npz->allocator, npz->name, stat.name, zip_get_error(npz->zip));
    weft_status *status = read_open_member(npz, file, &stat, out_array);
    zip_fclose(file);
    return status;
}

/* ---- writing ---- */

/* Whoever unpacks the archive gets a file of that name. */
weft_status *weft_npz_check_name(const weft_allocator *allocator, const char *path, const char *name)
{
    bool is_path = strchr(name, '/') != NULL || strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
    if (is_path)
        return weft_status_create(allocator, WEFT_BAD_FILE, NULL,
                                  "%s: '%s' is a path, which cannot be the name of a member", path, name);
    if (strlen(name) + sizeof ".npy" <= LONGEST_NAME) return NULL;
    return weft_status_create(allocator, WEFT_BAD_FILE, NULL, "%s: the name '%.20s...' is too long for a member", path,
                              name);
}

typedef struct written {
    weft_array *dense;
    char header[WEFT_NPY_HEADER_SIZE];
} written;

/* The archive reads header and elements where they lie, when it is closed. */
static bool add_member(zip_t *zip, const char *name, written *member, bool deflated)
{
    enum { DATE = 1 << 5 | 1 }; /* the first day that there is */
    char file[LONGEST_NAME];
    zip_buffer_fragment_t parts[2] = {
        {(zip_uint8_t *)member->header, weft_npy_print_header(member->dense, member->header)},
        {weft_array_data(member->dense),
         (size_t)weft_array_count(member->dense) * weft_dtype_size(weft_array_dtype(member->dense))},
    };
    snprintf(file, sizeof file, "%s.npy", name);
    zip_source_t *source = zip_source_buffer_fragment_create(parts, 2, 0, zip_get_error(zip));
    zip_int64_t index = source == NULL ? -1 : zip_file_add(zip, file, source, ZIP_FL_ENC_UTF_8);
    if (source != NULL && index < 0) zip_source_free(source);
    return index >= 0 && zip_file_set_dostime(zip, (zip_uint64_t)index, 0, DATE, 0) == 0 &&
           zip_set_file_compression(zip, (zip_uint64_t)index, deflated ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0) == 0;
}

/* What goes into an archive. */
typedef struct archive {
    const weft_allocator *allocator;
    const char *path;
    size_t count;
    const char *const *names;
    weft_array *const *arrays;
    written *members;
    bool deflated;
} archive;

static weft_status *refuse_archive(const archive *a, zip_error_t *error)
{
    bool system = zip_error_system_type(error) == ZIP_ET_SYS;
    return weft_status_create(a->allocator, WEFT_BAD_FILE, NULL, "%s cannot be written: %s", a->path,
                              system ? strerror(zip_error_code_system(error)) : zip_error_strerror(error));
}

static weft_status *add_members(const archive *a, zip_t *zip)
{
    for (size_t i = 0; i < a->count; i++) {
        WEFT_TRY(weft_npz_check_name(a->allocator, a->path, a->names[i]));
        WEFT_TRY(weft_array_retain_dense(a->allocator, a->arrays[i], &a->members[i].dense));
        if (!add_member(zip, a->names[i], &a->members[i], a->deflated)) return refuse_archive(a, zip_get_error(zip));
    }
    return NULL;
}

/* A file that is open to the library: one that has nothing yet. */
typedef struct sink {
    FILE *file;
    zip_error_t error;
} sink;

static zip_int64_t sink_result(sink *s, bool good, zip_int64_t value)
{
    if (good) return value;
    zip_error_set(&s->error, ZIP_ER_WRITE, errno);
    return -1;
}

static zip_int64_t sink_seek(sink *s, void *data, zip_uint64_t size)
{
    static const int origins[] = {SEEK_SET, SEEK_CUR, SEEK_END};
    const zip_source_args_seek_t *to = ZIP_SOURCE_GET_ARGS(zip_source_args_seek_t, data, size, &s->error);
    return to == NULL ? -1 : sink_result(s, fseeko(s->file, (off_t)to->offset, origins[to->whence]) == 0, 0);
}

static zip_int64_t call_sink(void *self, void *data, zip_uint64_t size, zip_source_cmd_t command)
{
    sink *s = self;
    switch (command) {
    case ZIP_SOURCE_SUPPORTS:
        return ZIP_SOURCE_SUPPORTS_WRITABLE | ZIP_SOURCE_MAKE_COMMAND_BITMASK(ZIP_SOURCE_TELL_WRITE);
    case ZIP_SOURCE_STAT: zip_error_set(&s->error, ZIP_ER_READ, ENOENT); return -1;
    case ZIP_SOURCE_ERROR: return zip_error_to_data(&s->error, data, size);
    case ZIP_SOURCE_WRITE: return sink_result(s, fwrite(data, 1, size, s->file) == size, (zip_int64_t)size);
    case ZIP_SOURCE_SEEK_WRITE: return sink_seek(s, data, size);
    case ZIP_SOURCE_TELL_WRITE: return sink_result(s, ftello(s->file) >= 0, ftello(s->file));
    case ZIP_SOURCE_COMMIT_WRITE: return sink_result(s, fflush(s->file) == 0, 0);
    case ZIP_SOURCE_BEGIN_WRITE:
    case ZIP_SOURCE_ROLLBACK_WRITE:
    case ZIP_SOURCE_REMOVE:
    case ZIP_SOURCE_FREE: return 0;
    default: zip_error_set(&s->error, ZIP_ER_OPNOTSUPP, 0); return -1;
    }
}

static weft_status *fill_zip(const archive *a, zip_t *zip)
{
    weft_status *status = add_members(a, zip);
    if (status == NULL && zip_close(zip) == 0) return NULL;
    if (status == NULL) status = refuse_archive(a, zip_get_error(zip));
    zip_discard(zip);
    return status;
}

static weft_status *print_archive(const void *context, FILE *file)
{
    const archive *a = context;
    sink s = {.file = file};
    zip_error_t error;
    zip_error_init(&error);
    zip_error_init(&s.error);
    zip_source_t *source = zip_source_function_create(call_sink, &s, &error);
    zip_t *zip = source == NULL ? NULL : zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, &error);
    weft_status *status = zip == NULL ? refuse_archive(a, &error) : fill_zip(a, zip);
    if (zip == NULL && source != NULL) zip_source_free(source);
    zip_error_fini(&s.error);
    zip_error_fini(&error);
    return status;
}

weft_status *weft_npz_save(const weft_allocator *allocator, const char *path, size_t count, const char *const *names,
                           weft_array *const *arrays, bool deflated)
{
    archive a = {allocator, path, count, names, arrays, calloc(count + 1, sizeof *a.members), deflated};
    if (a.members == NULL) return weft_status_out_of_memory();
    weft_status *status = weft_output_write(path, print_archive, &a);
    for (size_t i = 0; i < count; i++) weft_array_release(a.members[i].dense);
    free(a.members);
    return status;
}
