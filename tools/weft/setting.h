/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_SETTING_H
#define WEFT_TOOLS_SETTING_H
/* Programs that share symbols and named arrays, run one after another. */
#include <weft/executor.h>

typedef struct weft_setting {
    weft_executor *executor;
    size_t extent_count;
    weft_binding *extents; /* of all symbols; owned, as their names are */
    size_t count;
    char **names; /* of inputs */
    weft_array **arrays;
} weft_setting;

/* Of zeros before; also after a failure. */
void weft_setting_finish(weft_setting *setting);
/* Takes the array, in place of one that had the name. */
weft_status *weft_setting_put(weft_setting *setting, const char *name, weft_array *array) WEFT_MUST_USE;
/* The array of that name, or NULL. */
weft_array *weft_setting_find(const weft_setting *setting, const char *name);
/* The value of the symbol is `extent` from now on. */
weft_status *weft_setting_bind(weft_setting *setting, const char *symbol, int64_t extent) WEFT_MUST_USE;
/* The value of the symbol, or -1. */
int64_t weft_setting_extent(const weft_setting *setting, const char *symbol);
/* A row-major array like that output of the program. */
weft_status *weft_setting_create_array(const weft_setting *setting, const weft_program *program, size_t output,
                                       weft_array **out_array) WEFT_MUST_USE;
/* Runs the program on the reference runtime: an output that is NULL becomes a new array, others are written to. */
weft_status *weft_setting_run(const weft_setting *setting, weft_program *program, weft_array **outputs) WEFT_MUST_USE;
#endif
