/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_SCHEDULE_TILE_H
#define WEFT_LIB_SCHEDULE_TILE_H
/* A tile of several short ranges: chosen by tile.c, made by tile_apply.c; tile_axes.c has what both need. */
#include "lib/schedule/ranges.h"
#include "lib/schedule/transform.h"

/* Ranges, and one more for every cut. */
#define WEFT_TILE_AXES (WEFT_MAX_RANK + WEFT_TILE_CUTS)

/* A range or a part of it: what `of` walks is the sum of its axes, each times its scale. */
typedef struct weft_tile_axis {
    weft_expr variable;
    uint32_t of;
    int64_t extent, scale;
    bool tiled;
} weft_tile_axis;

/* Axes, the fastest first. */
typedef struct weft_tile_axes {
    uint32_t items[WEFT_TILE_AXES], count;
    int64_t points;
} weft_tile_axes;

typedef struct weft_tile_access {
    weft_expr *index;
    weft_inst *inst; /* NULL: a store */
    uint32_t size;   /* bytes of an element */
    bool known;      /* its strides are numbers */
    bool staged;
    weft_tile_axes run, rows; /* staged: of the reading stage */
    int64_t strides[WEFT_TILE_AXES];
    int64_t local_strides[WEFT_TILE_AXES]; /* staged: strides in the local buffer */
} weft_tile_access;

/* Axis a is what no cut takes of range a; axis n + c of a kernel of n ranges is what cut c takes. */
typedef struct weft_tiling {
    weft_kernel *kernel;
    weft_expr_context *exprs;
    /* While it is chosen: bytes of a cache line, and those that all local buffers may have. */
    const weft_machine *machine;
    int64_t line_bytes, local_bytes;
    uint32_t width, unroll;
    uint32_t range_count, axis_count, store_count, access_count, staged_count;
    weft_tile_axis axes[WEFT_TILE_AXES];
    weft_tile_axes lanes, rows;
    weft_tile_access *accesses; /* stores, then loads */
} weft_tiling;

/* One to be filled, in the kernel's arena. */
weft_status *weft_tiling_create(weft_kernel *kernel, weft_tiling **out_tiling) WEFT_MUST_USE;
/* From the kernel as it is. Why no tile can be made of it; NULL: one can. Where a vector may report an error positions
 * have to grow along its lanes. */
const char *weft_tiling_fill(weft_tiling *t);
/* Makes the axis two, of which the inner one, which is returned, has `extent` elements. */
uint32_t weft_tiling_cut(weft_tiling *t, uint32_t axis, int64_t extent);
bool weft_tile_contains(const weft_tile_axes *list, uint32_t item);
void weft_tiling_append(weft_tiling *t, weft_tile_axes *list, uint32_t item);
/* The axes of the tile outside of `lanes`, those along which the access moves least first; `moving`: only those along
 * which it moves. */
void weft_tiling_find_rows(const weft_tiling *t, const weft_tile_access *a, bool moving, const weft_tile_axes *lanes,
                           weft_tile_axes *out_rows);

static inline int64_t weft_tile_magnitude(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}
#endif
