/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_LOOP_SHORT_LANES_H
#define WEFT_LIB_LOOP_SHORT_LANES_H
#include "lib/loop/loop.h"

enum { WEFT_SHORT_SCALARS = 4 };

/*
 * Where the lanes of a scheduled kernel go along rows whose lengths are scalars: the same kernel for rows that no more
 * than a vector holds, in which each is one masked vector and no loop. It computes the same for the same iterations.
 */
typedef struct weft_short_lanes {
    weft_kernel *kernel;                /* NULL: it would be no better */
    size_t scalars[WEFT_SHORT_SCALARS]; /* the numbers of those that it is for where they are no more than `most` */
    size_t count;
    int64_t most;
} weft_short_lanes;

/* The caller destroys the kernel. */
weft_status *weft_kernel_find_short_lanes(const weft_kernel *kernel, weft_short_lanes *out_short) WEFT_MUST_USE;
#endif
