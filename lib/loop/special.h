/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_LOOP_SPECIAL_H
#define WEFT_LIB_LOOP_SPECIAL_H
#include "lib/loop/loop.h"

enum { WEFT_SPECIAL_SCALARS = 4 };

/*
 * A scheduled kernel once more, for some values of its scalars, of which less code is needed. It computes the same for
 * the same iterations.
 *  - Where lanes go along rows whose lengths are scalars: for rows that no more than a vector holds, in which each is
 *    one masked vector and no loop; or, where data decide what is read there, so that lanes would load one by one, each
 *    lane goes along a row of its own.
 *  - Where what a lane reads or stores is found by a division by scalars: for those that are so large that a vector
 *    leaves a period at most once.
 */
typedef struct weft_special_kernel {
    weft_kernel *kernel;                  /* NULL: it would be no better */
    size_t scalars[WEFT_SPECIAL_SCALARS]; /* the numbers of those that it is for where they are in [least, most] */
    size_t count;
    int64_t least, most;
    bool has_rows_in_lanes; /* the iterations are the points of its only outer range, which the lanes go along */
} weft_special_kernel;

/* The caller destroys the kernel. */
weft_status *weft_kernel_find_special(const weft_kernel *kernel, weft_special_kernel *out_special) WEFT_MUST_USE;
#endif
