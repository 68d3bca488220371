/* SPDX-License-Identifier: Apache-2.0 */
#include "npy.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "output.h"

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

static weft_status *print(const void *context, FILE *file)
{
    const weft_array *dense = context;
    char header[WEFT_NPY_HEADER_SIZE];
    fwrite(header, 1, weft_npy_print_header(dense, header), file);
    fwrite(weft_array_data(dense), weft_dtype_size(weft_array_dtype(dense)), (size_t)weft_array_count(dense), file);
    return NULL;
}

weft_status *weft_npy_save(const weft_allocator *allocator, const char *path, weft_array *array)
{
    weft_array *dense;
    WEFT_TRY(weft_npy_find_dense(allocator, array, &dense));
    weft_status *status = weft_output_write(path, print, dense);
    weft_array_release(dense);
    return status;
}
