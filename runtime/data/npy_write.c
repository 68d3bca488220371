/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/npy.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "runtime/base/status.h"
#include "runtime/data/output_file.h"

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
    weft_output_file o;
    if (!weft_output_file_open(&o, path)) return false;
    size_t length = weft_npy_print_header(dense, header);
    bool good = fwrite(header, 1, length, o.file) == length && write_elements(o.file, dense);
    return weft_output_file_close(&o, good);
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
