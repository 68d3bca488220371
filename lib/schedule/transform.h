/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_SCHEDULE_TRANSFORM_H
#define WEFT_LIB_SCHEDULE_TRANSFORM_H
/* The larger moves: choosing them and making them. */
#include "lib/schedule/move.h"

/*
 * Concats, pads, rolls (seams.c). Cuts the last range where predicates change and moves it into stages, in each of
 * which they are known; not done (false) where none changes, where there would be too many stages, and for kernels of
 * other forms than one stage without inner ranges. With a machine (not NULL) neither where stages would be short, for
 * vectors of `width`, or a transposition is better. `tile`: elements of a tile of the last range.
 */
weft_status *weft_kernel_cut_at_seams(weft_kernel *kernel, const weft_machine *machine, uint32_t width, int64_t tile,
                                      bool *out_cut) WEFT_MUST_USE;

/*
 * Stacks, channels last (interleave.c). The last range, a row of a few elements, becomes stores side by side, in each
 * of which all predicates are known; not done (false) where these depend on more than the element, and for kernels of
 * other forms than one stage without inner ranges. Wanted where predicates change along the row, or with the widest
 * vectors, where what is read does not lie in such rows.
 */
bool weft_kernel_wants_interleaving(weft_kernel *kernel, const weft_machine *machine);
weft_status *weft_kernel_interleave(weft_kernel *kernel, bool *out_done) WEFT_MUST_USE;

/*
 * Repeats, tiles (periods.c). Cuts the last range into periods of the addresses and moves it into the stage, where no
 * vector would have a step; not done (false) where all have one. Only for kernels of one stage without inner ranges.
 */
weft_status *weft_kernel_cut_periods(weft_kernel *kernel, uint32_t width, int64_t tile, bool *out_cut) WEFT_MUST_USE;

/*
 * Short ranges. A tile of the ranges that store and loads walk in runs of memory, read and written run by run.
 */
/* Local buffers are on the stack, of which a run may have 32 KB: bytes of all those of a kernel. */
#define WEFT_LOCAL_BYTES (16 << 10)
/* Points of a tile at most. */
#define WEFT_TILE_POINTS (64 << 10)
/* The tile that suits the kernel (tile.c), or NULL where the last range is long enough and nothing jumps along it
 * (unless `needless`), or where none can be made. `unroll` is the most that the body bears. */
weft_status *weft_kernel_find_tile(weft_kernel *kernel, const weft_machine *machine, uint32_t width, uint32_t unroll,
                                   bool needless, const weft_tile_plan **out_tile) WEFT_MUST_USE;
/* Why it cannot be made; NULL: it can (tile_apply.c). */
weft_status *weft_kernel_tile_check(weft_kernel *kernel, const weft_tile_plan *tile,
                                    const char **out_reason) WEFT_MUST_USE;
weft_status *weft_kernel_tile(weft_kernel *kernel, const weft_tile_plan *tile, uint32_t width,
                              uint32_t unroll) WEFT_MUST_USE;

/*
 * Products (unroll_and_jam.c): several points of one outer range become one, where reductions of them share what they
 * read.
 */
typedef struct weft_jam {
    uint32_t range, rows; /* rows 1: no range is worth it */
} weft_jam;
/* `vectors` is how many accumulators the registers hold, of one vector each. */
weft_jam weft_kernel_find_jam(const weft_kernel *kernel, uint32_t vectors);
/* How many points of a range become one, up to `most`, so that few are computed twice. */
uint32_t weft_kernel_jam_rows(const weft_kernel *kernel, uint32_t range, uint32_t most);
/* Of a product whose terms are lanes, on vectors of `width` numbers: the few columns, which share what is read of a
 * row, and rows, where what columns are computed from does not stay in L1. */
typedef struct weft_product_jam {
    weft_jam columns, rows;
} weft_product_jam;
weft_product_jam weft_kernel_find_columns(const weft_kernel *kernel, const weft_machine *machine, uint32_t width);
/* Where `rows` are computed together and lanes are one vector: two points of another range, which share what is the
 * same for all lanes or, where the sums are few, nothing. */
weft_jam weft_kernel_find_second_vector(const weft_kernel *kernel, weft_jam rows, uint32_t vectors);
/* The same of rows that are scattered by positions they share, along the last range. */
weft_jam weft_kernel_find_scattered_rows(const weft_kernel *kernel);
/* The same of rows that are scanned along memory with an operation that takes long. */
weft_jam weft_kernel_find_scanned_rows(const weft_kernel *kernel, uint32_t vectors);
/* The same of rows that are reduced along memory, of which there is a multiple of `divisor` (jam_rows.c). */
weft_jam weft_kernel_find_reduced_rows(const weft_kernel *kernel, const weft_machine *machine, int64_t divisor);
/* Why it may not be done; NULL: it may. */
const char *weft_kernel_jam_refusal(const weft_kernel *kernel, uint32_t range, int64_t rows);
weft_status *weft_kernel_jam(weft_kernel *kernel, uint32_t range, uint32_t rows) WEFT_MUST_USE;
/* Lanes that all rows are computed for before the next ones are: what they read meanwhile stays in the cache. Blocks of
 * the last range then go in front of the range that is returned, all ranges from there on read a block again. */
#define WEFT_JAM_BLOCK 256
uint32_t weft_kernel_find_block(const weft_kernel *kernel, const weft_machine *machine);
/* Whether the rows of a range that was jammed read more than L2 holds again and again, through range `inner` after it,
 * of which they share each point and which the other operand does not move along, and would find what a point needs in
 * L2 if that range went in front. */
bool weft_kernel_rereads_far(const weft_kernel *kernel, const weft_machine *machine, uint32_t jammed, uint32_t inner);

/*
 * Reductions of what lies across memory (across.c): for lanes along an outer range that is at least a
 * vector, and along which all that is read lies, and what is stored of rows. The number of that range, the last one
 * before others; the number of outer ranges: there is none.
 */
uint32_t weft_kernel_find_columns_across(weft_kernel *kernel, uint32_t width);
/* As many vectors, up to `unroll`, as have room for the accumulators of all virtual lanes: in half of it, where columns
 * that several stages read would not stay in L2. */
uint32_t weft_kernel_across_unroll(const weft_kernel *kernel, const weft_machine *machine, uint32_t unroll,
                                   uint32_t width);

/*
 * Reductions and scans of short rows (flatten.c): the points of all inner ranges become instructions of one stage, for
 * lanes across rows.
 */
typedef struct weft_flat_rows {
    uint32_t points; /* of one */
    bool is_dense;   /* loads go from row to row one by one: windows along memory, of which nothing is transposed */
} weft_flat_rows;
/* Whether it pays: there are rows for two vectors of `width`, all known to be short. */
bool weft_kernel_wants_flattening(const weft_kernel *kernel, uint32_t width, weft_flat_rows *out_rows);
/* Why it may not be done with a kernel that has every instruction `copies` times; NULL: it may. */
const char *weft_kernel_flatten_refusal(const weft_kernel *kernel, uint32_t copies);
weft_status *weft_kernel_flatten(weft_kernel *kernel) WEFT_MUST_USE;
/* Whether all accesses go along a range one by one, or in other steps, of elements that vectors are transposed by,
 * without masks; `predicated`: loads may have predicates. */
bool weft_kernel_is_in_rows(const weft_kernel *kernel, weft_expr row, bool predicated);

/*
 * Windows that overlap (windows.c): flattened, perhaps with a few rows of them jammed, for vectors of `width`. False:
 * there are none.
 */
bool weft_kernel_find_windows(const weft_kernel *kernel, uint32_t width, weft_jam *out_rows);

/*
 * Products with short rows of results (short_rows.c): rows are jammed and flattened, for lanes across them.
 */
typedef struct weft_short_rows {
    uint32_t rows;         /* the outer range for the lanes */
    uint32_t first, count; /* outer ranges that are a row, before or after that one; 0: none are, or it does not pay */
    uint32_t elements;     /* that are read and stored for a row */
} weft_short_rows;
weft_short_rows weft_kernel_find_short_rows(const weft_kernel *kernel, uint32_t width);

/*
 * Scans of long rows along memory without virtual lanes (scan.c): lanes go across the rows of a tile, a few columns at
 * a time.
 */
/* Whether it is a scan of rows of more than one pass. */
bool weft_kernel_scans_long_rows(const weft_kernel *kernel);
/* Whether it pays: not where rows are few, or lie as vectors are not transposed from. */
bool weft_kernel_wants_scan(const weft_kernel *kernel, uint32_t width);
/* Why it may not be done; NULL: it may. */
const char *weft_kernel_scan_refusal(const weft_kernel *kernel, uint32_t width, uint32_t unroll);
weft_status *weft_kernel_scan(weft_kernel *kernel, uint32_t width, uint32_t unroll) WEFT_MUST_USE;

/*
 * Reductions across memory (sweep.c): accumulators of a chunk of columns, in local buffers, take in a few rows in one
 * pass, in stages whose lanes are bound. The order of the reduction stays.
 */
/* Columns of a chunk: their accumulators take half of L1, unless that makes fewer chunks than there are threads. 0: it
 * does not pay, because rows are near each other, in the cache or short, or, with vectors of 64 bytes, much is computed
 * for each element. */
int64_t weft_kernel_find_sweep(const weft_kernel *kernel, const weft_machine *machine);
/* Why it may not be done; NULL: it may. */
const char *weft_kernel_sweep_refusal(const weft_kernel *kernel, int64_t chunk);
weft_status *weft_kernel_sweep(weft_kernel *kernel, uint32_t width, int64_t chunk) WEFT_MUST_USE;

/*
 * Reductions across memory with few results (parts.c): a few parts of the rows run side by side, where the order
 * affects no bit.
 */
/* How many, for lanes along the last outer range; 1: it does not pay. */
uint32_t weft_kernel_find_parts(const weft_kernel *kernel, uint32_t width);
/* Why it may not be done; NULL: it may. */
const char *weft_kernel_parts_refusal(const weft_kernel *kernel, int64_t parts);
weft_status *weft_kernel_split_reduction(weft_kernel *kernel, uint32_t parts) WEFT_MUST_USE;

/*
 * Transpositions (transpose_tile.c): both ranges are cut into tiles; each tile is first read along the one into local
 * buffers, then computed along the last, from them.
 */
/* The outer range, not the last, along which a load walks memory element by element while it jumps along the last, and
 * would lose its lines, or has a whole tile; range_count when there is none. Only for kernels of one stage without
 * inner ranges. As many loads as WEFT_LOCAL_BYTES has room for are read in front. */
uint32_t weft_kernel_find_transposition(const weft_kernel *kernel, const weft_machine *machine);
/* Whether lines that a load jumps over along the last range are still in L1 when the range along which it walks memory
 * takes its next step: then it needs no local buffer. Only if extents and strides are numbers. */
bool weft_kernel_keeps_lines(const weft_kernel *kernel, const weft_inst *load, const weft_machine *machine);
/* Whether the last range and `across` are long enough for registers to transpose them faster than lanes jump, even
 * within L1. */
bool weft_kernel_fills_tile(const weft_kernel *kernel, const weft_machine *machine, uint32_t across);
/* Tiles of the loads that transpose `across` and the last range: square, or with results in longer runs. */
weft_tile_sides weft_kernel_square_tile(const weft_kernel *kernel, uint32_t across);
weft_tile_sides weft_kernel_long_tile(const weft_kernel *kernel, uint32_t across);
/* Points of the last range that loads of wide elements jump along before `across`, the one in front of it, takes its
 * next step, and whether all that are transposed are so wide that this is faster than a tile, and L1 holds their lines
 * meanwhile. */
#define WEFT_STRIP 64
bool weft_kernel_wants_strips(const weft_kernel *kernel, const weft_machine *machine, uint32_t across);
/* Whether the kernel does nothing but copy elements of four bytes or more, transposed, of which vectors as long as a
 * cache line and as many of them are transposed in registers and stored in whole lines. */
bool weft_kernel_copies_lines(const weft_kernel *kernel, const weft_machine *machine, uint32_t across);
const char *weft_kernel_transpose_refusal(const weft_kernel *kernel, const weft_move *move);
weft_status *weft_kernel_transpose(weft_kernel *kernel, const weft_move *move) WEFT_MUST_USE;
#endif
