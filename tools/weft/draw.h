/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_DRAW_H
#define WEFT_TOOLS_DRAW_H
/* Programs drawn into files, in a format that has a name, or else in that which the end of the file's name says: .svg,
 * .dot, .html. */
#include <weft/program.h>
#include "profile.h"

/* "svg", "dot" or "html"; NULL for a file's name that ends otherwise. */
const char *weft_draw_format(const char *path);
/* Refuses, as a misuse of `option`, a name that says no format, and a file that cannot be written. */
weft_status *weft_draw_check(const char *option, const char *path) WEFT_MUST_USE;
/* Asks for a picture with every op in a box of its own. */
#define WEFT_DRAW_OPTION "--every-op"

typedef struct weft_draw_options {
    const char *format; /* one that there is */
    const char *path;   /* one that was checked */
    bool every_op;      /* broadcasts, permutes and reshapes too */
} weft_draw_options;

/* Draws with the contraction trees of the `traced` outputs that `program` was compiled from. `profile`, of runs of the
 * same program, may be NULL; pages alone show it. */
weft_status *weft_draw_save(const weft_program *program, weft_tensors traced, const weft_profile_table *profile,
                            const weft_draw_options *options) WEFT_MUST_USE;
#endif
