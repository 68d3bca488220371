/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_NPY_H
#define WEFT_TOOLS_NPY_H
/*
 * Arrays in numpy's .npy files: formats 1.0, 2.0 and 3.0, every dtype of weft (bf16 is '<V2', as ml_dtypes writes it),
 * little endian. What is wrong with a file is WEFT_BAD_FILE, and the sentence names the file.
 */
#include <weft/array.h>
#include <stdio.h>

/* Reads the file; an array in Fortran order becomes one with such strides. */
weft_status *weft_npy_load(const weft_allocator *allocator, const char *path, weft_array **out_array) WEFT_MUST_USE;
/* The same from an open file that can seek; `name` is for messages. The array must end where the file does. */
weft_status *weft_npy_read(const weft_allocator *allocator, FILE *file, const char *name,
                           weft_array **out_array) WEFT_MUST_USE;
/* Writes format 1.0 in C order, whatever the strides. A file that could not be finished is removed. */
weft_status *weft_npy_save(const weft_allocator *allocator, const char *path, const weft_array *array) WEFT_MUST_USE;
#endif
