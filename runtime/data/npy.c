/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/npy.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "runtime/base/memory.h"
#include "runtime/base/status.h"

enum { MAGIC_SIZE = 6 };

static const char magic[MAGIC_SIZE + 1] = "\x93NUMPY";

struct reader {
    const weft_allocator *allocator;
    const weft_npy_source *source;
    const char *where, *name; /* the function called, and the file */
    uint64_t data_begin;
    const char *at, *end; /* rest of the header */
};

enum { FIELD_COUNT = 3 };

struct header {
    bool seen[FIELD_COUNT];
    weft_dtype dtype;
    bool big_endian, fortran;
    size_t rank;
    int64_t shape[WEFT_MAX_RANK];
};

static weft_status *bad_file(const struct reader *reader, const char *format, ...) WEFT_FORMAT(2, 3);

static weft_status *bad_file(const struct reader *reader, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return weft_status_create(reader->allocator, WEFT_BAD_FILE, reader->where, "%s: %s", reader->name, text);
}

/* ---- the header: a Python dictionary ---- */

static void skip_space(struct reader *reader)
{
    while (reader->at < reader->end && memchr(" \t\r\n\f", *reader->at, 5) != NULL) reader->at++;
}

/* Whether the next character, after space, is `c`, which then is consumed. */
static bool accept(struct reader *reader, char c)
{
    skip_space(reader);
    if (reader->at == reader->end || *reader->at != c) return false;
    reader->at++;
    return true;
}

static weft_status *expect(struct reader *reader, char c, const char *where)
{
    if (accept(reader, c)) return NULL;
    if (reader->at == reader->end) return bad_file(reader, "the header ends where '%c' is due %s", c, where);
    return bad_file(reader, "the header has byte 0x%02x where '%c' is due %s", (unsigned char)*reader->at, c, where);
}

/* A quoted string of printable ASCII without escapes, cut off at `size`. */
static weft_status *parse_string(struct reader *reader, const char *what, size_t size, char *out_text)
{
    skip_space(reader);
    char quote = reader->at < reader->end ? *reader->at : 0;
    if (quote != '\'' && quote != '"') return bad_file(reader, "%s in the header is not a string", what);
    const char *begin = ++reader->at;
    for (; reader->at < reader->end && *reader->at != quote; reader->at++)
        if (*reader->at < ' ' || *reader->at > '~')
            return bad_file(reader, "%s in the header has byte 0x%02x", what, (unsigned char)*reader->at);
    if (reader->at == reader->end) return bad_file(reader, "%s in the header has no closing quote", what);
    size_t length = (size_t)(reader->at++ - begin);
    if (length >= size) length = size - 1;
    memcpy(out_text, begin, length);
    out_text[length] = 0;
    return NULL;
}

static bool find_npy_dtype(const char *text, weft_dtype *out_dtype)
{
    for (unsigned i = 0; i < WEFT_DTYPE_COUNT; i++) {
        if (strcmp(weft_dtype_info_of((weft_dtype)i)->npy, text) != 0) continue;
        *out_dtype = (weft_dtype)i;
        return true;
    }
    return false;
}

/* A type after a byte order: that of the machine for '=', '|' and none, as numpy has it. For bf16 also the name, which
 * numpy takes where ml_dtypes is loaded. */
static weft_status *parse_descr(struct reader *reader, struct header *header)
{
    char text[32];
    if (accept(reader, '[')) return bad_file(reader, "structured types (descr is a list) are not taken");
    WEFT_TRY(parse_string(reader, "descr", sizeof text, text));
    header->dtype = WEFT_BF16;
    if (strcmp(text, "bfloat16") == 0) return NULL;
    size_t order = strspn(text, "<>|=") > 0;
    if (!find_npy_dtype(text + order, &header->dtype)) {
        return bad_file(
            reader, "dtype '%s' is not supported; there are bool, u8, i32, u32, i64, bf16, f16, f32, f64, c64 and c128",
            text);
    }
    if (weft_dtype_size(header->dtype) == 1) return NULL;
    header->big_endian = text[0] == '>';
    if (header->big_endian && text[1] == 'V') return bad_file(reader, "descr '%s' is bf16 in big endian", text);
    return NULL;
}

static bool accept_word(struct reader *reader, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0) return false;
    reader->at += length;
    return true;
}

static weft_status *parse_order(struct reader *reader, struct header *header)
{
    skip_space(reader);
    header->fortran = accept_word(reader, "True");
    if (header->fortran || accept_word(reader, "False")) return NULL;
    return bad_file(reader, "fortran_order is neither True nor False");
}

static bool is_digit(const struct reader *reader)
{
    return reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9';
}

/* Decimal digits; Python 2 wrote an L after them. */
static weft_status *parse_extent(struct reader *reader, size_t axis, int64_t *out_extent)
{
    skip_space(reader);
    if (reader->at < reader->end && *reader->at == '-')
        return bad_file(reader, "extent %zu of the shape is negative", axis);
    if (!is_digit(reader)) return bad_file(reader, "extent %zu of the shape is not a number", axis);
    int64_t extent = 0;
    for (; is_digit(reader); reader->at++)
        if (__builtin_mul_overflow(extent, 10, &extent) || __builtin_add_overflow(extent, *reader->at - '0', &extent))
            return bad_file(reader, "extent %zu of the shape overflows 64 bits", axis);
    if (reader->at < reader->end && (*reader->at == '.' || *reader->at == 'e'))
        return bad_file(reader, "extent %zu of the shape is not an integer", axis);
    accept_word(reader, "L");
    *out_extent = extent;
    return NULL;
}

static weft_status *parse_shape(struct reader *reader, struct header *header)
{
    WEFT_TRY(expect(reader, '(', "before the shape"));
    bool comma = true;
    while (!accept(reader, ')')) {
        if (!comma) return bad_file(reader, "the extents of the shape are not separated by commas");
        if (header->rank == WEFT_MAX_RANK) return bad_file(reader, "the rank is over the limit of %d", WEFT_MAX_RANK);
        WEFT_TRY(parse_extent(reader, header->rank, &header->shape[header->rank]));
        header->rank++;
        comma = accept(reader, ',');
    }
    if (header->rank == 1 && !comma) return bad_file(reader, "the shape is a number in parentheses, not a tuple");
    return NULL;
}

struct field {
    const char *name;
    weft_status *(*parse)(struct reader *reader, struct header *header);
};

static const struct field fields[FIELD_COUNT] = {
    {"descr", parse_descr},
    {"fortran_order", parse_order},
    {"shape", parse_shape},
};

static weft_status *parse_field(struct reader *reader, struct header *header)
{
    char key[32];
    WEFT_TRY(parse_string(reader, "a key", sizeof key, key));
    WEFT_TRY(expect(reader, ':', "after a key"));
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (strcmp(fields[i].name, key) != 0) continue;
        if (header->seen[i]) return bad_file(reader, "the header has %s twice", key);
        header->seen[i] = true;
        return fields[i].parse(reader, header);
    }
    return bad_file(reader, "the header has an unknown key");
}

static weft_status *parse_header(struct reader *reader, struct header *header)
{
    WEFT_TRY(expect(reader, '{', "at its beginning"));
    bool comma = true;
    while (!accept(reader, '}')) {
        if (!comma) return bad_file(reader, "the fields of the header are not separated by commas");
        WEFT_TRY(parse_field(reader, header));
        comma = accept(reader, ',');
    }
    skip_space(reader);
    if (reader->at != reader->end) return bad_file(reader, "something follows the dictionary of the header");
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (!header->seen[i]) return bad_file(reader, "the header has no %s", fields[i].name);
    return NULL;
}

/* ---- the file ---- */

static weft_status *read_bytes(struct reader *reader, const char *what, void *out_bytes, size_t size)
{
    const char *error = NULL;
    if (reader->source->read(reader->source->self, out_bytes, size, &error)) return NULL;
    if (error != NULL) return bad_file(reader, "reading %s failed: %s", what, error);
    return bad_file(reader, "the file ends inside %s", what);
}

/* Magic, version and the length of the header that follows. */
static weft_status *read_preamble(struct reader *reader, size_t *out_length)
{
    unsigned char bytes[MAGIC_SIZE + 2], length[4] = {0};
    WEFT_TRY(read_bytes(reader, "the magic string and version", bytes, sizeof bytes));
    if (memcmp(bytes, magic, MAGIC_SIZE) != 0) return bad_file(reader, "the file is not an npy file");
    unsigned major = bytes[MAGIC_SIZE], minor = bytes[MAGIC_SIZE + 1];
    if (major < 1 || major > 3 || minor != 0) return bad_file(reader, "npy format %u.%u is unknown", major, minor);
    size_t digits = major == 1 ? 2 : 4;
    WEFT_TRY(read_bytes(reader, "the length of the header", length, digits));
    *out_length = length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 | (size_t)length[3] << 24;
    reader->data_begin = sizeof bytes + digits + *out_length;
    if (reader->data_begin > reader->source->size)
        return bad_file(reader, "the file ends inside the header of %zu bytes", *out_length);
    return NULL;
}

static weft_status *read_header(struct reader *reader, struct header *header)
{
    size_t length = 0;
    WEFT_TRY(read_preamble(reader, &length));
    const weft_allocator *allocator = reader->allocator;
    char *text = allocator->resize(allocator->self, NULL, 0, length + 1, 1);
    if (text == NULL) return weft_status_out_of_memory();
    weft_status *status = read_bytes(reader, "the header", text, length);
    reader->at = text;
    reader->end = text + length;
    if (status == NULL) status = parse_header(reader, header);
    allocator->resize(allocator->self, text, length + 1, 0, 1);
    return status;
}

/* The elements of the shape must be all the rest of the file. */
static weft_status *check_size(const struct reader *reader, const struct header *header)
{
    uint64_t size = weft_dtype_size(header->dtype), expected = size, rest = reader->source->size - reader->data_begin;
    bool empty = false, overflow = false;
    for (size_t i = 0; i < header->rank; i++) {
        if (header->shape[i] == 0) empty = true;
        else overflow |= __builtin_mul_overflow(expected, (uint64_t)header->shape[i], &expected);
    }
    if (empty) expected = 0;
    else if (overflow) return bad_file(reader, "the size of the array overflows 64 bits");
    if (rest < expected || (rest > expected && rest % size == 0))
        return bad_file(reader, "the shape is of %" PRIu64 " element%s, but the file has %" PRIu64, expected / size,
                        expected == size ? "" : "s", rest / size);
    if (rest > expected)
        return bad_file(reader, "%" PRIu64 " byte%s the array", rest - expected,
                        rest - expected == 1 ? " follows" : "s follow");
    return NULL;
}

/* Writers of bools write 0 and 1: other bytes mean that they are not bools, or that the file is damaged. */
static weft_status *check_bools(const struct reader *reader, const weft_array *array)
{
    const unsigned char *bytes = weft_array_data(array);
    int64_t count = weft_array_dtype(array) == WEFT_BOOL ? weft_array_count(array) : 0;
    for (int64_t i = 0; i < count; i++)
        if (bytes[i] > 1) return bad_file(reader, "byte %" PRId64 " of the bool array is %u", i, (unsigned)bytes[i]);
    return NULL;
}

/* Reverses the bytes of each number; a complex one is two numbers. */
static void swap_bytes(weft_array *array)
{
    const weft_dtype_info *info = weft_dtype_info_of(weft_array_dtype(array));
    size_t size = info->kind == WEFT_KIND_COMPLEX ? info->size / 2 : info->size;
    unsigned char *begin = weft_array_data(array), *end = begin + (size_t)weft_array_count(array) * info->size;
    for (unsigned char *number = begin; number < end; number += size) {
        for (size_t i = 0; i < size / 2; i++) {
            unsigned char low = number[i];
            number[i] = number[size - 1 - i];
            number[size - 1 - i] = low;
        }
    }
}

static weft_status *read_data(struct reader *reader, const struct header *header, weft_array *array)
{
    size_t size = (size_t)weft_array_count(array) * weft_dtype_size(weft_array_dtype(array));
    WEFT_TRY(read_bytes(reader, "the array", weft_array_data(array), size));
    if (header->big_endian) swap_bytes(array);
    return check_bools(reader, array);
}

/* Data in Fortran order is the row-major array of the reversed shape. */
static weft_status *reverse_axes(weft_array *base, weft_array **out_array)
{
    size_t rank = weft_array_rank(base);
    int64_t shape[WEFT_MAX_RANK], strides[WEFT_MAX_RANK];
    for (size_t i = 0; i < rank; i++) {
        shape[i] = weft_array_shape(base)[rank - 1 - i];
        strides[i] = weft_array_strides(base)[rank - 1 - i];
    }
    weft_status *status = weft_array_view(base, rank, shape, strides, 0, out_array);
    weft_array_release(base);
    return status;
}

static weft_status *read_array(struct reader *reader, weft_array **out_array)
{
    struct header header = {.rank = 0};
    int64_t shape[WEFT_MAX_RANK];
    WEFT_TRY(read_header(reader, &header));
    WEFT_TRY(check_size(reader, &header));
    for (size_t i = 0; i < header.rank; i++) shape[i] = header.shape[header.fortran ? header.rank - 1 - i : i];
    weft_array *array;
    WEFT_TRY(weft_array_create(reader->allocator, header.dtype, header.rank, shape, &array));
    weft_status *status = read_data(reader, &header, array);
    if (status != NULL) {
        weft_array_release(array);
        return status;
    }
    if (header.fortran) return reverse_axes(array, out_array);
    *out_array = array;
    return NULL;
}

weft_status *weft_npy_read(const weft_allocator *allocator, const weft_npy_source *source, const char *name,
                           weft_array **out_array)
{
    WEFT_REQUIRE(source);
    WEFT_REQUIRE(source->read);
    WEFT_REQUIRE(name);
    WEFT_REQUIRE(out_array);
    struct reader reader = {
        .allocator = weft_allocator_or_default(allocator), .source = source, .where = __func__, .name = name};
    return read_array(&reader, out_array);
}

/* ---- files ---- */

static bool read_file(void *self, void *out_bytes, size_t size, const char **out_error)
{
    FILE *file = self;
    if (fread(out_bytes, 1, size, file) == size) return true;
    if (ferror(file)) *out_error = strerror(errno);
    return false;
}

static weft_status *read_open_file(const weft_allocator *allocator, FILE *file, const char *path,
                                   weft_array **out_array)
{
    off_t size = -1;
    if (fseeko(file, 0, SEEK_END) == 0) size = ftello(file);
    if (size < 0 || fseeko(file, 0, SEEK_SET) != 0)
        return weft_status_create(allocator, WEFT_BAD_FILE, "weft_npy_load", "%s: the file cannot seek", path);
    weft_npy_source source = {.self = file, .size = (uint64_t)size, .read = read_file};
    struct reader reader = {
        .allocator = weft_allocator_or_default(allocator), .source = &source, .where = "weft_npy_load", .name = path};
    return read_array(&reader, out_array);
}

weft_status *weft_npy_load(const weft_allocator *allocator, const char *path, weft_array **out_array)
{
    WEFT_REQUIRE(path);
    WEFT_REQUIRE(out_array);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return weft_status_create(allocator, WEFT_BAD_FILE, "weft_npy_load", "%s: cannot be opened: %s",
                                  *path == '\0' ? "\"\"" : path, strerror(errno));
    weft_status *status = read_open_file(allocator, file, path, out_array);
    fclose(file);
    return status;
}
