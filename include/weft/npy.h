/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_NPY_H
#define WEFT_NPY_H
/*
 * Arrays in numpy's .npy files: formats 1.0, 2.0 and 3.0, every dtype of weft. bf16 is written as '<V2', as ml_dtypes
 * does, and read as that, as '|V2' and as 'bfloat16'. Big-endian numbers are byte-swapped; a descr without a byte order
 * ('f4') means the machine's, like '=f4'. Anything wrong with a file, including a bool other than 0 and 1, is
 * WEFT_BAD_FILE, and the message names the file. Part of libweft-rt.
 */
#include <weft/array.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads the file; an array in Fortran order becomes one with such strides. */
weft_status *weft_npy_load(const weft_allocator *allocator, const char *path, weft_array **out_array) WEFT_MUST_USE;
/* Writes format 1.0 in C order, whatever the strides. A regular file is written under another name in its folder, which
 * must be writable, and renamed once it is complete: if anything goes wrong an existing file is left unchanged, and
 * other hard links to it keep the old contents. Symbolic links are followed, also to a file that does not exist yet.
 * Devices and pipes are written directly. The elements of a bool are written as 0 and 1. UNSUPPORTED for an array that
 * is not on the CPU. */
weft_status *weft_npy_save(const weft_allocator *allocator, const char *path, weft_array *array) WEFT_MUST_USE;

/* ---- for what holds such a file inside: archives, messages ---- */

typedef struct weft_npy_source {
    void *self;
    uint64_t size; /* bytes in all */
    /* Reads the next `size` bytes. Otherwise false, with a text that lives as long as the source, or with none where
     * there are fewer. */
    bool (*read)(void *self, void *out_bytes, size_t size, const char **out_error);
} weft_npy_source;

/* `name` is for messages. The array must end where the source does. */
weft_status *weft_npy_read(const weft_allocator *allocator, const weft_npy_source *source, const char *name,
                           weft_array **out_array) WEFT_MUST_USE;

/* 22 characters for each extent with its comma, and the rest. */
enum { WEFT_NPY_HEADER_SIZE = 22 * WEFT_MAX_RANK + 256 };

/* The header that precedes the elements of `array`, which follow in row-major order (weft_array_retain_dense); returns
 * its length. */
size_t weft_npy_print_header(const weft_array *array, char out_bytes[WEFT_NPY_HEADER_SIZE]);

#ifdef __cplusplus
}
#endif
#endif
