/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_SCHEDULE_TRANSFORM_H
#define WEFT_LIB_SCHEDULE_TRANSFORM_H
/* Transformations of a kernel that a schedule consists of, apart from lanes and threads. */
#include <weft/machine.h>
#include "lib/loop/loop.h"

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
 * Reductions across memory (sweep.c). Where rows are far apart, lets accumulators of a long chunk of columns, in local
 * buffers, take in a few rows in one pass, and binds the lanes; not done (false) elsewhere. The order of the reduction
 * stays.
 */
weft_status *weft_kernel_sweep(weft_kernel *kernel, const weft_machine *machine, uint32_t width,
                               bool *out_swept) WEFT_MUST_USE;

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
