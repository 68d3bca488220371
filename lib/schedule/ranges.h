/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_SCHEDULE_RANGES_H
#define WEFT_LIB_SCHEDULE_RANGES_H
/* Operations of scheduling on the ranges of a kernel and on the expressions over them. */
#include <weft/machine.h>
#include "lib/loop/loop.h"

/* Called with every expression of a kernel, which it may replace; false stops. */
typedef bool (*weft_expr_visit)(void *context, weft_expr_context *exprs, weft_expr *expr);
bool weft_kernel_visit_exprs(weft_kernel *kernel, weft_expr_visit visit, void *context);

typedef struct weft_substitution {
    weft_expr variables[2], values[2];
    size_t count;
} weft_substitution;

/* Replaces variables in every expression of the kernel; false when an expression fails or memory is short. */
bool weft_kernel_substitute(weft_kernel *kernel, const weft_substitution *substitution);
/* A range variable of a name not used yet. */
weft_expr weft_kernel_fresh_variable(weft_kernel *kernel, weft_expr extent);
/*
 * Cuts outer range `number` into tiles of `tile` elements: the range becomes one of tiles, and one inside the tile is
 * added after the last range. A range known to fit one tile only moves to the end.
 */
weft_status *weft_kernel_split(weft_kernel *kernel, uint32_t number, int64_t tile) WEFT_MUST_USE;

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
