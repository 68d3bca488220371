/* SPDX-License-Identifier: Apache-2.0 */
#include "npy.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

static bool write_file(const char *path, const weft_array *dense)
{
    char header[WEFT_NPY_HEADER_SIZE];
    FILE *file = fopen(path, "wb");
    if (file == NULL) return false;
    size_t length = weft_npy_print_header(dense, header);
    size_t size = (size_t)weft_array_count(dense) * weft_dtype_size(weft_array_dtype(dense));
    bool good = fwrite(header, 1, length, file) == length && fwrite(weft_array_data(dense), 1, size, file) == size;
    int error = errno;
    if (fclose(file) != 0 && good) {
        error = errno;
        good = false;
    }
    if (!good) remove(path);
    errno = error;
    return good;
}

static weft_status *copy_dense(const weft_allocator *allocator, weft_array *array, weft_array **out_dense)
{
    weft_array *dense;
    WEFT_TRY(
        weft_array_create(allocator, weft_array_dtype(array), weft_array_rank(array), weft_array_shape(array), &dense));
    weft_status *status = weft_array_copy(dense, array);
    if (status == NULL) *out_dense = dense;
    else weft_array_release(dense);
    return status;
}

weft_status *weft_npy_find_dense(const weft_allocator *allocator, weft_array *array, weft_array **out_dense)
{
    if (!weft_array_is_contiguous(array)) return copy_dense(allocator, array, out_dense);
    *out_dense = weft_array_retain(array);
    return NULL;
}

weft_status *weft_npy_save(const weft_allocator *allocator, const char *path, weft_array *array)
{
    weft_array *dense;
    WEFT_TRY(weft_npy_find_dense(allocator, array, &dense));
    bool good = write_file(path, dense);
    int error = errno;
    weft_array_release(dense);
    if (good) return NULL;
    return weft_status_create(allocator, WEFT_BAD_FILE, NULL, "%s: cannot be written: %s", path, strerror(error));
}
