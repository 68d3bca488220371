/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_NPY_H
#define WEFT_TOOLS_NPY_H
/*
 * Arrays in numpy's .npy files: formats 1.0, 2.0 and 3.0, every dtype of weft. bf16 is written as '<V2', as ml_dtypes
 * does, and read as that, as '|V2' and as 'bfloat16'. Big-endian numbers are turned around. What is wrong with a file
 * is WEFT_BAD_FILE, and the sentence names the file.
 */
#include <weft/array.h>

/* Reads the file; an array in Fortran order becomes one with such strides. */
weft_status *weft_npy_load(const weft_allocator *allocator, const char *path, weft_array **out_array) WEFT_MUST_USE;
/* Writes format 1.0 in C order, whatever the strides, as output.h says. */
weft_status *weft_npy_save(const weft_allocator *allocator, const char *path, weft_array *array) WEFT_MUST_USE;

/* ---- for what holds such a file inside ---- */

typedef struct weft_npy_source {
    void *self;
    uint64_t size; /* bytes in all */
    /* Reads the next `size` bytes. Otherwise false, with a text that lives as long as the source, or with none where
     * there are not so many. */
    bool (*read)(void *self, void *out_bytes, size_t size, const char **out_error);
} weft_npy_source;

/* `name` is for messages. The array must end where the source does. */
weft_status *weft_npy_read(const weft_allocator *allocator, const weft_npy_source *source, const char *name,
                           weft_array **out_array) WEFT_MUST_USE;

/* 22 characters for each extent with its comma, and the rest. */
enum { WEFT_NPY_HEADER_SIZE = 22 * WEFT_MAX_RANK + 256 };

/* What stands before the elements of `array`; returns its length. */
size_t weft_npy_print_header(const weft_array *array, char out_bytes[WEFT_NPY_HEADER_SIZE]);
/* The same elements row-major without gaps: `array` itself, retained, or a copy. */
weft_status *weft_npy_find_dense(const weft_allocator *allocator, weft_array *array,
                                 weft_array **out_dense) WEFT_MUST_USE;
#endif
