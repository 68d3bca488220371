/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_DATA_OUTPUT_FILE_H
#define WEFT_RUNTIME_DATA_OUTPUT_FILE_H
/* A file that appears once it is complete: it is written beside its place, or, where that is no regular file, there. */
#include <stdbool.h>
#include <stdio.h>

#define WEFT_OUTPUT_PATH 4096

typedef struct weft_output_file {
    FILE *file; /* to write to */
    char target[WEFT_OUTPUT_PATH], temporary[WEFT_OUTPUT_PATH + 32];
    bool direct;
} weft_output_file;

/* False, with errno, where it cannot be written. */
bool weft_output_file_open(weft_output_file *o, const char *path);
/* Puts the file in its place if all is `good`, or removes it; errno is that of what went wrong first. */
bool weft_output_file_close(weft_output_file *o, bool good);
#endif
