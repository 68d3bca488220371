/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_LOWER_VIEW_H
#define WEFT_LIB_LOWER_VIEW_H
/* Values seen as strided views of memory: what a library can read without a copy. */
#include "lib/lower/fusion.h"
#include "lib/lower/space.h"

typedef struct weft_strides {
    uint32_t memory;
    weft_expr offset; /* of element (0, ..., 0), in elements */
    weft_expr strides[WEFT_MAX_RANK];
} weft_strides;

/* A new variable of that extent. */
weft_expr weft_view_variable(weft_space *space, weft_expr extent);
/* Follows `value` through movement ops to memory; false when it is no strided view of any. */
bool weft_view_find(weft_space *space, const weft_fusion *fusion, const weft_memory *memories,
                    const uint32_t *first_memory, weft_value value, weft_strides *out_view);
/* The same through all ops before `first`, which move elements or cast them, whether or not they have memory. */
bool weft_view_find_from(weft_space *space, const weft_fusion *fusion, const weft_memory *memories,
                         const uint32_t *first_memory, weft_value value, weft_value first, weft_strides *out_view);
#endif
