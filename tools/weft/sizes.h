/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_SIZES_H
#define WEFT_TOOLS_SIZES_H
/*
 * The extents of labels in an instance, under "sizes" or "size_dict": a list, label i having the extent at place i, or
 * an object with an extent for each label: {"0": 4, "1": 3} or {"i": 4, "j": 3}.
 */
#include "json.h"

typedef struct weft_size {
    const char *label;
    int64_t extent;
} weft_size;

typedef struct weft_sizes {
    const char *path, *key; /* the file, and the name there */
    bool listed;
    size_t count;
    weft_size *items; /* in the order of the list, or sorted by label */
} weft_sizes;

/* Whether the file has one. */
bool weft_sizes_exist(const cJSON *root);
/* The keys of an object must be integers if `numbered`, else one character each; `root` must outlive the sizes. To be
 * finished also on failure. */
weft_status *weft_sizes_load(const char *path, const cJSON *root, bool numbered, weft_sizes *out_sizes) WEFT_MUST_USE;
void weft_sizes_finish(weft_sizes *sizes);
/* The extent of a label of `operand`, for messages. */
weft_status *weft_sizes_find(const weft_sizes *sizes, const char *label, size_t operand,
                             int64_t *out_extent) WEFT_MUST_USE;
#endif
