/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_SCHEDULE_TRANSFORM_H
#define WEFT_LIB_SCHEDULE_TRANSFORM_H
/* Transformations of a kernel that a schedule consists of, apart from lanes and threads. */
#include <weft/machine.h>
#include "lib/loop/loop.h"

/* Makes ranges i and i + 1 one range if all expressions allow it (schedule.c). */
bool weft_kernel_collapse(weft_kernel *kernel, weft_range *ranges, uint32_t *count, uint32_t i);

/*
 * Concats, pads, rolls (seams.c). Cuts the last range where predicates change and moves it into stages, in each of
 * which they are known; not done (false) where none changes, where stages would be short or many, and for kernels of
 * other forms than one stage without inner ranges. `tile`: elements of a tile of the last range.
 */
weft_status *weft_kernel_cut_at_seams(weft_kernel *kernel, uint32_t width, int64_t tile, bool *out_cut) WEFT_MUST_USE;

/*
 * Repeats, tiles (periods.c). Cuts the last range into periods of the addresses and moves it into the stage, where no
 * vector would have a step; not done (false) where all have one. Only for kernels of one stage without inner ranges.
 */
weft_status *weft_kernel_cut_periods(weft_kernel *kernel, uint32_t width, int64_t tile, bool *out_cut) WEFT_MUST_USE;

/*
 * Short ranges (tile.c). Makes a tile of the ranges that store and loads walk in runs of memory, read and written run
 * by run; not done (false) where the last range is long enough and nothing jumps along it, or where ranges and strides
 * are no numbers. Only for kernels of one stage without inner ranges and of at most WEFT_MAX_RANK ranges; `unroll` is
 * the most that the body bears.
 */
weft_status *weft_kernel_tile(weft_kernel *kernel, const weft_machine *machine, uint32_t width, uint32_t unroll,
                              bool *out_tiled) WEFT_MUST_USE;

/*
 * Products (unroll_and_jam.c). Makes several points of one outer range one point, where reductions of them share what
 * they read; not done (false) where none do. `vectors` is how many accumulators the registers hold, of one vector each.
 */
weft_status *weft_kernel_unroll_and_jam(weft_kernel *kernel, uint32_t vectors, bool *out_jammed) WEFT_MUST_USE;

/*
 * Transpositions (transpose_tile.c). The outer range, not the last, along which a load walks memory element by element
 * while it jumps along the last; range_count when there is none. Only for kernels of one stage without inner ranges.
 */
/* Elements along each side of a tile: two cache lines of floats, and tiles of a few loads still fit the cache. */
#define WEFT_TRANSPOSE_TILE 32
uint32_t weft_kernel_find_transposition(const weft_kernel *kernel);
/* Cuts both ranges into tiles; each tile is first read along the one into local buffers, then computed along the last,
 * from them. */
weft_status *weft_kernel_transpose_tile(weft_kernel *kernel, uint32_t across, uint32_t width,
                                        uint32_t unroll) WEFT_MUST_USE;
#endif
