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
/* Whether an index is known to be in [0, extent), also in lanes that are masked off. */
bool weft_kernel_is_inside(const weft_kernel *kernel, const weft_interval *intervals, weft_inst_id id,
                           weft_expr extent);
#endif
