/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_SCHEDULE_TILE_H
#define WEFT_LIB_SCHEDULE_TILE_H
/* A tile of several short ranges: chosen by tile.c, made by tile_apply.c. */
#include "lib/schedule/ranges.h"
#include "lib/schedule/transform.h"

/* Ranges, and one more for every run that ends inside of a range. */
#define WEFT_TILE_AXES (WEFT_MAX_RANK + 32)

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

typedef struct weft_tiling {
    weft_kernel *kernel;
    weft_expr_context *exprs;
    int64_t line_bytes;  /* of a cache line */
    int64_t local_bytes; /* of all local buffers: half of L1 */
    uint32_t width, unroll, axis_count, store_count, access_count, staged_count;
    weft_tile_axis axes[WEFT_TILE_AXES];
    weft_tile_axes lanes, rows;
    weft_tile_access *accesses; /* stores, then loads */
} weft_tiling;

/* Puts the tile in place of the kernel's ranges. */
weft_status *weft_tiling_apply(weft_tiling *t) WEFT_MUST_USE;

static inline int64_t weft_tile_magnitude(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}
#endif
