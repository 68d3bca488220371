/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_SCHEDULE_MOVE_H
#define WEFT_LIB_SCHEDULE_MOVE_H
/*
 * A schedule: a list of moves, each of which transforms the kernel that the moves before it made. None changes what is
 * computed or the order of a reduction, so that a schedule changes no bit of a result. Outer ranges that no move binds
 * are for threads.
 *
 * A move names a range by its number in the text of the kernel it acts on: outer ranges first, then those of each
 * stage. As text (weft_schedule_print, weft_schedule_parse) moves have semicolons between them:
 *
 *  - `fuse i0 i1`: two adjacent ranges that every address walks as one become one.
 *  - `split i1 8192`: an outer range becomes one of tiles, where it was, and one inside the tile, the last outer one; a
 *    range known to fit one tile only goes to the end.
 *  - `reorder i2 i0`: an outer range goes in front of another.
 *  - `sink i2 0`: the last outer range becomes the innermost of stage 0, the only one.
 *  - `jam i0 4`: four points of an outer range become one, with their reductions side by side.
 *  - `lanes i1 8 x 4`: the last outer range, or the last of a stage, is on vectors of 8 lanes, 4 in a round.
 *  - `transpose i0 8 x 4 by 256 x 16`: tiles of 256 points of the last range and 16 of this one are read along this one
 *    into a local buffer, and computed along the last from there, on vectors as of `lanes`. Square ones if it does not
 *    say by what.
 *  - `seams 8192`: the last outer range, cut into tiles of 8192 elements and where predicates change, is in stages in
 *    which these are known; outer ranges that only predicates keep apart are fused before.
 *  - `interleave`: the last outer range, a row of a few elements along which predicates change or loads jump, becomes
 *    stores side by side, in which predicates are known and loads walk along the rows.
 *  - `periods 8 8192`: the last outer range, cut into tiles and periods of addresses, for vectors of 8 lanes, is in
 *    stages.
 *  - `flatten`: the points of all inner ranges, which are known to be few, become instructions of one stage, with the
 *    reductions in their order.
 *  - `scan 16 x 2`: of a scan along rows, a few columns at a time are computed on vectors of 16 lanes across the rows,
 *    2 in a round, with accumulators in local buffers.
 *  - `parts 4`: four parts of the rows of a reduction whose order affects no bit run side by side.
 *  - `sweep 8 2048`: a reduction across memory takes in a few whole rows in one pass, with accumulators of 2048
 *    elements of the last outer range in local buffers, on vectors of 8 lanes.
 *  - `tile 8 x 4 cut i2 4, lanes i3 i2.0, rows i1, read %0 i1 i2.0`: parts of several ranges become a tile of rows and
 *    lanes. `cut` takes the next 4 elements of a range as part i2.0, the rest is i2.1; a load under `read` is read
 *    along these parts into a local buffer first.
 */
#include <weft/machine.h>
#include "lib/loop/loop.h"

typedef enum weft_move_kind {
    WEFT_MOVE_FUSE,
    WEFT_MOVE_SPLIT,
    WEFT_MOVE_REORDER,
    WEFT_MOVE_SINK,
    WEFT_MOVE_JAM,
    WEFT_MOVE_LANES,
    WEFT_MOVE_TRANSPOSE,
    WEFT_MOVE_SEAMS,
    WEFT_MOVE_INTERLEAVE,
    WEFT_MOVE_PERIODS,
    WEFT_MOVE_PARTS,
    WEFT_MOVE_SWEEP,
    WEFT_MOVE_FLATTEN,
    WEFT_MOVE_SCAN,
    WEFT_MOVE_TILE
} weft_move_kind;

/* Cuts of all ranges of a tile, and loads that are read in front of it, at most. */
#define WEFT_TILE_CUTS 32
#define WEFT_TILE_READS 4

/* The next `extent` elements of what earlier cuts left of a range, as a part of their own. */
typedef struct weft_tile_cut {
    uint32_t range;
    int64_t extent;
} weft_tile_cut;

/* Part p of a range: what its cut number p takes, or after the last one the rest. */
typedef struct weft_tile_part {
    uint32_t range, part;
} weft_tile_part;

typedef struct weft_tile_parts {
    uint32_t count;
    weft_tile_part items[WEFT_MAX_RANK + WEFT_TILE_CUTS];
} weft_tile_parts;

typedef struct weft_tile_plan {
    uint32_t cut_count, read_count;
    weft_tile_cut cuts[WEFT_TILE_CUTS];
    weft_tile_parts lanes; /* the fastest first */
    weft_tile_parts rows;  /* the other parts of the tile */
    struct {
        weft_inst_id load;
        weft_tile_parts run; /* the fastest first */
    } reads[WEFT_TILE_READS];
} weft_tile_plan;

/* A tile of transposed loads: elements along the last range, which are stored one after another, and across it, where
 * they are read so. */
typedef struct weft_tile_sides {
    uint32_t along, across;
} weft_tile_sides;

typedef struct weft_move {
    weft_move_kind kind;
    uint32_t range;             /* unless the move is of all, or of the last outer one: SEAMS, PERIODS, ... */
    uint32_t to;                /* REORDER: the range that it goes in front of; SINK: the stage */
    int64_t factor;             /* SPLIT, SEAMS, PERIODS, SWEEP: elements of a tile; JAM: points; PARTS: of them */
    uint32_t width, unroll;     /* LANES, TRANSPOSE, SCAN, TILE; PERIODS, SWEEP: width */
    weft_tile_sides sides;      /* TRANSPOSE; 0: square */
    const weft_tile_plan *tile; /* TILE */
} weft_move;

typedef struct weft_schedule {
    weft_arena arena; /* where the moves live */
    uint32_t count;
    weft_move *moves;
    const char *reason; /* of a choice, static: what in the kernel led to it */
} weft_schedule;

void weft_schedule_init(weft_schedule *schedule, const weft_allocator *allocator);
void weft_schedule_finish(weft_schedule *schedule);
/* Appends a copy of the move. */
weft_status *weft_schedule_add(weft_schedule *schedule, const weft_move *move) WEFT_MUST_USE;

/* Why the move may not be made after the first `count` moves of the schedule; NULL: it may. Static. */
weft_status *weft_move_check(weft_kernel *kernel, const weft_schedule *schedule, uint32_t count, const weft_move *move,
                             const char **out_reason) WEFT_MUST_USE;
/* Makes a move that is not refused. INVALID_ARGUMENT where it turns out that there is nothing to do. */
weft_status *weft_move_make(weft_kernel *kernel, const weft_move *move) WEFT_MUST_USE;

/* The end of every schedule: what is not bound is for threads, or for the grid of a GPU; verified. */
weft_status *weft_schedule_close(weft_kernel *kernel, const weft_machine *machine) WEFT_MUST_USE;
/* All moves, and the end. INVALID_ARGUMENT says which move may not be made and why; the kernel is then of no use. */
weft_status *weft_schedule_apply(weft_kernel *kernel, const weft_schedule *schedule,
                                 const weft_machine *machine) WEFT_MUST_USE;

weft_status *weft_schedule_print(const weft_schedule *schedule, weft_bytes *out_text) WEFT_MUST_USE;
void weft_move_print(const weft_move *move, weft_bytes *out_text);
/* PARSE_ERROR with line and column; `name` is that of the text. */
weft_status *weft_schedule_parse(const char *name, const char *text, weft_schedule *out_schedule) WEFT_MUST_USE;
#endif
