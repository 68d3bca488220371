/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_FILE_H
#define WEFT_TOOLS_FILE_H
/* Arrays in the files that a command line names. */
#include <weft/array.h>
#include "options.h"

/* Whether `path` ends in `end`, after something. */
bool weft_file_ends_with(const char *path, const char *end);
/* Loads FILE.npy or FILE.npz:MEMBER; of FILE.npz alone the member called `otherwise`, which may be NULL: there is none
 * then. Here and below an empty name is a misuse. */
weft_status *weft_file_load(const char *text, const char *otherwise, weft_array **out_array) WEFT_MUST_USE;
/* Writes FILE.npy, as output.h says. */
weft_status *weft_file_save(const char *path, weft_array *array) WEFT_MUST_USE;
/* Prints the elements to the standard output. */
weft_status *weft_file_print(const weft_array *array) WEFT_MUST_USE;
/* How messages call a file. */
const char *weft_file_name(const char *path);
/* The whole of a file with a NUL after it, to be freed. Here and above "-" is the standard input. */
weft_status *weft_file_read(const char *path, char **out_text, size_t *out_length) WEFT_MUST_USE;
/* Refuses, as a misuse, two of `files` that are the standard input; entries may be NULL. */
weft_status *weft_file_check_inputs(size_t count, const char *const *files) WEFT_MUST_USE;
/* Refuses, as a misuse, two results for one file, and a result in the place of what the command reads: the files `read`,
 * texts and arrays, or what an option names. `files` are the results of -o, besides those of other options. "-" is the
 * file that the standard output, or input, of the command is. */
weft_status *weft_file_check_results(const weft_arguments *arguments, size_t read_count, const char *const *read,
                                     size_t count, const char *const *files) WEFT_MUST_USE;
/* Refuses, as a misuse, what is no file for one array, and a file that cannot be written. */
weft_status *weft_file_check_single(const char *path) WEFT_MUST_USE;
#endif
