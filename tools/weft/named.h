/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_NAMED_H
#define WEFT_TOOLS_NAMED_H
/* Files for the inputs or the outputs of a program, as command lines name them: [NAME=]FILE.npy or FILE.npz. */
#include <weft/inspect.h>
#include <weft/program.h>
#include "options.h"

/* Names of the inputs or of the outputs, each with a file or NULL. */
typedef struct weft_named_files {
    const char *what;    /* "input" */
    size_t count, known; /* of the program, and with inputs after those that the outputs do not need */
    const char **names;
    const char **files;
} weft_named_files;

/* With room for `most` names and none yet. Accepts, when it is finished, one whose initialisation failed. */
weft_status *weft_named_init(weft_named_files *list, const char *what, size_t most) WEFT_MUST_USE;
void weft_named_finish(weft_named_files *list);
/* The inputs of the program, and then those of `declared` that it does not have. */
void weft_named_fill_inputs(weft_named_files *list, const weft_program *program, weft_tensors declared);
/* "x, w, b", or "none"; cut where it gets long. */
void weft_named_print(const weft_named_files *list, char *out_text, size_t size);
/* FILE.npz, which gives or takes all arrays by their names. */
bool weft_named_is_archive(const char *text);
/* Takes "NAME=FILE", or "FILE" where there is one name only. A misuse is one that is not known, or is given twice. */
weft_status *weft_named_add(weft_named_files *list, const char *text) WEFT_MUST_USE;
/* Loads from an archive those of the program that no file is named for. A misuse is an archive that has none of the
 * names, or one of them a second time. */
weft_status *weft_named_load_archive(const weft_named_files *list, const char *path, weft_array **arrays) WEFT_MUST_USE;
#endif
