/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_LOOP_INTERVAL_H
#define WEFT_LIB_LOOP_INTERVAL_H
/* What is known of integers, from those of bytes and constants on. */
#include "lib/loop/loop.h"

/* All that an integer may be; beyond those of i32 it is anything. */
typedef struct weft_interval {
    int64_t least, most;
} weft_interval;

/* What each instruction of the kernel may be, in memory of `arena`. */
weft_status *weft_kernel_find_intervals(const weft_kernel *kernel, weft_arena *arena,
                                        const weft_interval **out_intervals) WEFT_MUST_USE;
#endif
