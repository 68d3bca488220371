/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_SCHEDULE_CHOOSER_H
#define WEFT_LIB_SCHEDULE_CHOOSER_H
/* What files that choose moves share; only these include it. */
#include "lib/schedule/schedule.h"
#include "lib/schedule/transform.h"

/* Elements of a tile: large against the cost of an iteration, small against L1. If possible it has whole rows, so that
 * products before and after the kernel may run on the same ones, and whole rounds of vectors. */
#define TILE 8192
#define TILE_ROUND 64

/* The kernel as the moves so far have made it, and what decides the next ones. */
typedef struct weft_chooser {
    weft_kernel *kernel;
    const weft_machine *machine;
    const weft_template *wanted;
    weft_schedule *schedule;
} weft_chooser;

static inline void explain(const weft_chooser *c, const char *reason)
{
    c->schedule->reason = reason;
}

static inline weft_status *move(const weft_chooser *c, weft_move made)
{
    WEFT_TRY(weft_schedule_add(c->schedule, &made));
    return weft_move_make(c->kernel, &made);
}

static inline weft_status *bind_lanes(const weft_chooser *c, uint32_t range, uint32_t width, uint32_t unroll)
{
    return move(c, (weft_move){.kind = WEFT_MOVE_LANES, .range = range, .width = width, .unroll = unroll});
}

static inline weft_status *split_last(const weft_chooser *c, int64_t tile)
{
    return move(c, (weft_move){.kind = WEFT_MOVE_SPLIT, .range = c->kernel->range_count - 1, .factor = tile});
}

static inline uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* ---- choose_reductions.c ---- */

/* Reductions: tiles, or rows side by side in place of all but two of its vectors; a quarter of the registers is for
 * what is loaded. */
weft_status *weft_choose_reductions(const weft_chooser *c, uint32_t width, uint32_t unroll);
/* Short rows of results, each of which becomes one point; two vectors of them where the registers hold them. */
weft_status *weft_choose_short_rows(const weft_chooser *c, weft_short_rows rows, uint32_t width);
/* Rows that are scanned along memory: lanes across them, or a few rows side by side, so that none waits for itself. */
weft_status *weft_choose_scans(const weft_chooser *c, uint32_t width);
/* Vectors for each round of reductions side by side. */
uint32_t weft_choose_reduction_unroll(const weft_chooser *c, uint32_t body, weft_expr extent, uint32_t width);
/* Short rows, across which the lanes go. */
weft_status *weft_choose_flat(const weft_chooser *c, uint32_t width, weft_flat_rows rows);
#endif
