/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/schedule/move.h"
#include <string.h>
#include "lib/loop/inst.h"
#include "lib/schedule/ranges.h"
#include "lib/schedule/tile.h"
#include "lib/schedule/transform.h"

/* ---- ranges by number ---- */

/* Where a range is: the list that has it, and the stage, NULL for outer ones. */
typedef struct place {
    weft_range *ranges;
    uint32_t *count;
    uint32_t at;
    weft_stage *stage;
} place;

static bool find_place(weft_kernel *kernel, uint32_t number, place *out_place)
{
    *out_place = (place){kernel->ranges, &kernel->range_count, number, NULL};
    if (number < kernel->range_count) return true;
    uint32_t first = kernel->range_count;
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        weft_stage *stage = &kernel->stages[s];
        *out_place = (place){stage->ranges, &stage->range_count, number - first, stage};
        if (number - first < stage->range_count) return true;
        first += stage->range_count;
    }
    return false;
}

/* Whether the extent of an outer range from `begin` to `end` depends on the variable. */
static bool bounds_outer(const weft_kernel *kernel, uint32_t begin, uint32_t end, weft_expr variable)
{
    for (uint32_t i = begin; i < end; i++)
        if (weft_expr_uses(kernel->exprs, kernel->ranges[i].extent, variable)) return true;
    return false;
}

static bool has_lanes(const weft_range *ranges, uint32_t count)
{
    return count > 0 && ranges[count - 1].bind == WEFT_BIND_LANE;
}

/* Points that run in order, because they may meet in what they store. */
static bool is_ordered(const weft_stage *stage)
{
    for (uint32_t i = 0; i < stage->store_count; i++)
        if (stage->stores[i].is_indirect) return true;
    return false;
}

/* ---- split, reorder, sink ---- */

static const char *refuse_split(const weft_kernel *kernel, const weft_move *move)
{
    if (move->factor < 1) return "a tile has an element at least";
    if (has_lanes(kernel->ranges, kernel->range_count)) return "the lanes of the last outer range are bound";
    weft_expr variable = kernel->ranges[move->range].variable;
    return bounds_outer(kernel, move->range + 1, kernel->range_count, variable) ? "a later extent depends on it" : NULL;
}

static const char *refuse_reorder(const weft_kernel *kernel, const weft_move *move)
{
    if (move->to >= kernel->range_count) return "it goes in front of an outer range";
    if (has_lanes(kernel->ranges, kernel->range_count)) return "the lanes of the last outer range are bound";
    uint32_t first = move->to, last = move->range;
    if (first >= last) return "it goes in front of an earlier range";
    for (uint32_t i = first; i < last; i++)
        if (bounds_outer(kernel, last, last + 1, kernel->ranges[i].variable)) return "its extent depends on them";
    return NULL;
}

static void reorder(weft_kernel *kernel, const weft_move *move)
{
    weft_range moved = kernel->ranges[move->range], *to = &kernel->ranges[move->to];
    memmove(to + 1, to, (move->range - move->to) * sizeof moved);
    *to = moved;
}

static const char *refuse_sink(const weft_kernel *kernel, const weft_move *move)
{
    if (move->to >= kernel->stage_count) return "there is no such stage";
    if (kernel->stage_count != 1) return "the kernel has other stages";
    if (kernel->stages[0].accumulator_count != 0) return "the stage reduces";
    if (move->range + 1 != kernel->range_count) return "it is not the last outer range";
    if (kernel->ranges[move->range].bind != WEFT_BIND_SERIAL) return "its lanes are bound";
    return weft_kernel_bounds_inner(kernel, kernel->ranges[move->range].variable) ? "an extent depends on it" : NULL;
}

static weft_status *sink(weft_kernel *kernel, const weft_move *move)
{
    weft_stage *stage = &kernel->stages[move->to];
    weft_range *ranges = weft_arena_allocate(&kernel->arena, (stage->range_count + 1) * sizeof *ranges);
    if (ranges == NULL) return weft_status_out_of_memory();
    if (stage->range_count > 0) memcpy(ranges, stage->ranges, stage->range_count * sizeof *ranges);
    ranges[stage->range_count++] = kernel->ranges[--kernel->range_count];
    stage->ranges = ranges;
    return NULL;
}

/* ---- lanes ---- */

static bool is_power_of_two(uint32_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

/* Wider ones are no vectors of any processor, and would take LLVM forever. */
enum { MOST_WIDTH = 64 };

/* What is emitted for each lane of a round, or for each vector of it: instructions on so many lanes that LLVM takes
 * seconds for them. One vector of a register or two is always fine. */
enum { PLAIN_WIDTH = 16, MOST_EMITTED = 1 << 15 };

static const char *refuse_vectors(const weft_kernel *kernel, const weft_move *move)
{
    if (!is_power_of_two(move->width) || move->width > MOST_WIDTH) return "a width is a power of two up to 64";
    bool fits = is_power_of_two(move->unroll) && move->unroll <= WEFT_MAX_UNROLL;
    if (!fits) return "a round has 1, 2, 4, 8 or 16 vectors";
    bool plain = move->width <= PLAIN_WIDTH && move->unroll == 1;
    return plain || kernel->inst_count <= MOST_EMITTED / (move->width * move->unroll) ? NULL
                                                                                      : "it would be too much code";
}

/* Those that were made before. */
typedef struct moves {
    const weft_move *items;
    uint32_t count;
} moves;

/* Whether a move before made the last range of the stage out of an outer one, whose points never meet. */
static bool was_sunk(const moves *before, const weft_kernel *kernel, const weft_stage *stage)
{
    for (uint32_t i = 0; i < before->count; i++)
        if (before->items[i].kind == WEFT_MOVE_SINK && &kernel->stages[before->items[i].to] == stage) return true;
    return false;
}

static const char *refuse_inner_lanes(const weft_kernel *kernel, const moves *before, const weft_move *move,
                                      const place *at)
{
    const weft_range *range = &at->ranges[at->at];
    if (has_lanes(kernel->ranges, kernel->range_count)) return "the lanes of the last outer range are bound";
    if (is_ordered(at->stage) && !was_sunk(before, kernel, at->stage)) return "its points run in order";
    if (!range->reduce) return NULL;
    if (range->virtual_lanes == 1) return "its elements combine in order";
    return move->width * move->unroll == range->virtual_lanes ? NULL : "it has another number of virtual lanes";
}

/* Whether a stage stores to local memory, which lanes across what it stores would do at once. */
static bool shares_local_memory(const weft_kernel *kernel, weft_expr lanes)
{
    for (uint32_t s = 0; s < kernel->stage_count; s++)
        for (uint32_t i = 0; i < kernel->stages[s].store_count; i++) {
            const weft_store *store = &kernel->stages[s].stores[i];
            if (kernel->buffers[store->buffer].local != 0 && !weft_expr_uses(kernel->exprs, store->index, lanes))
                return true;
        }
    return false;
}

static const char *refuse_outer_lanes(const weft_kernel *kernel, const place *at)
{
    for (uint32_t s = 0; s < kernel->stage_count; s++)
        if (has_lanes(kernel->stages[s].ranges, kernel->stages[s].range_count)) return "lanes of a stage are bound";
    if (shares_local_memory(kernel, at->ranges[at->at].variable)) return "its points share local memory";
    return weft_kernel_bounds_inner(kernel, at->ranges[at->at].variable) ? "an inner extent depends on it" : NULL;
}

static const char *refuse_lanes(const weft_kernel *kernel, const moves *before, const weft_move *move, const place *at)
{
    const char *reason = refuse_vectors(kernel, move);
    if (reason != NULL) return reason;
    if (at->at + 1 != *at->count) return "the range is not the last outer one, nor the last of its stage";
    if (at->ranges[at->at].bind != WEFT_BIND_SERIAL) return "its lanes are bound";
    return at->stage == NULL ? refuse_outer_lanes(kernel, at) : refuse_inner_lanes(kernel, before, move, at);
}

static void bind_lanes(const weft_move *move, const place *at)
{
    weft_range *range = &at->ranges[at->at];
    range->bind = WEFT_BIND_LANE;
    range->width = move->width;
    range->unroll = move->unroll;
}

/* ---- seams, rows, periods, sweeps ---- */

static const char *refuse_cut(const weft_kernel *kernel, const weft_move *move)
{
    if (move->kind == WEFT_MOVE_INTERLEAVE) return NULL;
    if (move->kind == WEFT_MOVE_PARTS) return weft_kernel_parts_refusal(kernel, move->factor);
    if (move->kind == WEFT_MOVE_FLATTEN) return weft_kernel_flatten_refusal(kernel, 1);
    if (move->kind == WEFT_MOVE_SCAN) {
        const char *reason = refuse_vectors(kernel, move);
        return reason != NULL ? reason : weft_kernel_scan_refusal(kernel, move->width, move->unroll);
    }
    if (move->factor < 1) return "a tile has an element at least";
    if (move->kind != WEFT_MOVE_SEAMS && (!is_power_of_two(move->width) || move->width > MOST_WIDTH))
        return "a width is a power of two up to 64";
    return move->kind == WEFT_MOVE_SWEEP ? weft_kernel_sweep_refusal(kernel, move->factor) : NULL;
}

static weft_status *nothing_to_do(bool done, const char *reason)
{
    return done ? NULL : weft_status_create(NULL, WEFT_INVALID_ARGUMENT, NULL, "%s", reason);
}

static weft_status *cut_at_seams(weft_kernel *kernel, const weft_move *move)
{
    bool done;
    WEFT_TRY(weft_kernel_cut_at_seams(kernel, NULL, 1, move->factor, &done));
    return nothing_to_do(done, "no predicate changes along the last outer range, or too many do");
}

static weft_status *interleave(weft_kernel *kernel)
{
    bool done;
    WEFT_TRY(weft_kernel_interleave(kernel, &done));
    return nothing_to_do(done, "the last outer range is no short row along which predicates change or loads jump");
}

static weft_status *cut_periods(weft_kernel *kernel, const weft_move *move)
{
    bool done;
    WEFT_TRY(weft_kernel_cut_periods(kernel, move->width, move->factor, &done));
    return nothing_to_do(done, "no address has a period along the last outer range that is no whole vector");
}

/* ---- all moves ---- */

/* Outer ranges that code is generated for. */
enum { MOST_RANGES = 2 * WEFT_MAX_RANK };

static bool is_of_all(weft_move_kind kind)
{
    return kind == WEFT_MOVE_TILE || kind == WEFT_MOVE_SEAMS || kind == WEFT_MOVE_INTERLEAVE ||
           kind == WEFT_MOVE_PERIODS || kind == WEFT_MOVE_PARTS || kind == WEFT_MOVE_SWEEP ||
           kind == WEFT_MOVE_FLATTEN || kind == WEFT_MOVE_SCAN;
}

static bool is_of_outer(weft_move_kind kind)
{
    return kind != WEFT_MOVE_FUSE && kind != WEFT_MOVE_LANES;
}

/* Of moves whose ranges are numbers. */
static const char *find_refusal(weft_kernel *kernel, const moves *before, const weft_move *move)
{
    place at = {0};
    if (!find_place(kernel, move->range, &at)) return "there is no such range";
    if (is_of_outer(move->kind) && at.stage != NULL) return "it is not an outer range";
    if (kernel->range_count >= MOST_RANGES) return "the kernel has too many ranges";
    switch (move->kind) {
    case WEFT_MOVE_FUSE: return weft_kernel_fuse_refusal(kernel, at.ranges, *at.count, at.at);
    case WEFT_MOVE_SPLIT: return refuse_split(kernel, move);
    case WEFT_MOVE_REORDER: return refuse_reorder(kernel, move);
    case WEFT_MOVE_SINK: return refuse_sink(kernel, move);
    case WEFT_MOVE_JAM: return weft_kernel_jam_refusal(kernel, move->range, move->factor);
    case WEFT_MOVE_TRANSPOSE: {
        const char *reason = refuse_vectors(kernel, move);
        return reason != NULL ? reason : weft_kernel_transpose_refusal(kernel, move);
    }
    default: return refuse_lanes(kernel, before, move, &at);
    }
}

weft_status *weft_move_check(weft_kernel *kernel, const weft_schedule *schedule, uint32_t count, const weft_move *move,
                             const char **out_reason)
{
    const moves before = {schedule->moves, count};
    if (!is_of_all(move->kind)) *out_reason = find_refusal(kernel, &before, move);
    else *out_reason = move->kind == WEFT_MOVE_TILE ? refuse_vectors(kernel, move) : refuse_cut(kernel, move);
    if (*out_reason != NULL || move->kind != WEFT_MOVE_TILE) return NULL;
    return weft_kernel_tile_check(kernel, move->tile, out_reason);
}

weft_status *weft_move_make(weft_kernel *kernel, const weft_move *move)
{
    place at = {0};
    if (!is_of_all(move->kind)) find_place(kernel, move->range, &at);
    switch (move->kind) {
    case WEFT_MOVE_FUSE: return weft_kernel_fuse(kernel, at.ranges, at.count, at.at);
    case WEFT_MOVE_SPLIT: return weft_kernel_split(kernel, move->range, move->factor);
    case WEFT_MOVE_REORDER: reorder(kernel, move); return NULL;
    case WEFT_MOVE_SINK: return sink(kernel, move);
    case WEFT_MOVE_JAM: return weft_kernel_jam(kernel, move->range, (uint32_t)move->factor);
    case WEFT_MOVE_LANES: bind_lanes(move, &at); return NULL;
    case WEFT_MOVE_TRANSPOSE: return weft_kernel_transpose(kernel, move);
    case WEFT_MOVE_SEAMS: return cut_at_seams(kernel, move);
    case WEFT_MOVE_INTERLEAVE: return interleave(kernel);
    case WEFT_MOVE_PERIODS: return cut_periods(kernel, move);
    case WEFT_MOVE_FLATTEN: return weft_kernel_flatten(kernel);
    case WEFT_MOVE_SCAN: return weft_kernel_scan(kernel, move->width, move->unroll);
    case WEFT_MOVE_PARTS: return weft_kernel_split_reduction(kernel, (uint32_t)move->factor);
    case WEFT_MOVE_SWEEP: return weft_kernel_sweep(kernel, move->width, move->factor);
    default: return weft_kernel_tile(kernel, move->tile, move->width, move->unroll);
    }
}

/* ---- schedules ---- */

void weft_schedule_init(weft_schedule *schedule, const weft_allocator *allocator)
{
    *schedule = (weft_schedule){.count = 0};
    weft_arena_init(&schedule->arena, allocator);
}

void weft_schedule_finish(weft_schedule *schedule)
{
    weft_arena_finish(&schedule->arena);
    schedule->count = 0;
}

weft_status *weft_schedule_add(weft_schedule *schedule, const weft_move *move)
{
    weft_move copy = *move, *grown = weft_loop_grow(&schedule->arena, schedule->moves, schedule->count, sizeof *grown);
    if (copy.tile != NULL) copy.tile = weft_arena_copy(&schedule->arena, copy.tile, sizeof *copy.tile);
    if (grown == NULL || (move->tile != NULL && copy.tile == NULL)) return weft_status_out_of_memory();
    schedule->moves = grown;
    schedule->moves[schedule->count++] = copy;
    return NULL;
}

weft_status *weft_schedule_close(weft_kernel *kernel, const weft_machine *machine)
{
    weft_bind bind = machine->device != WEFT_DEVICE_CPU ? WEFT_BIND_GRID : WEFT_BIND_THREAD;
    for (uint32_t i = 0; i < kernel->range_count; i++)
        if (kernel->ranges[i].bind == WEFT_BIND_SERIAL) kernel->ranges[i].bind = bind;
    kernel->scheduled = true;
    WEFT_TRY(weft_expr_context_take_error(kernel->exprs));
    return weft_kernel_verify(kernel);
}

static weft_status *refuse(const weft_move *move, uint32_t number, const char *reason)
{
    weft_bytes text;
    weft_bytes_init(&text, NULL);
    weft_move_print(move, &text);
    weft_status *status = weft_bytes_status(&text);
    if (status == NULL)
        status = weft_status_create(NULL, WEFT_INVALID_ARGUMENT, NULL, "move %u of the schedule, \"%s\": %s",
                                    number + 1, text.data, reason);
    weft_bytes_finish(&text);
    return status;
}

/* A move that fails is refused. Takes `status`. */
static weft_status *refuse_failed(const weft_move *move, uint32_t number, weft_status *status)
{
    if (weft_status_code(status) != WEFT_INVALID_ARGUMENT) return status;
    weft_status *refused = refuse(move, number, weft_status_message(status));
    weft_status_destroy(status);
    return refused;
}

/* A kernel that breaks a rule of the loop IR is the schedule's fault. */
static weft_status *blame(weft_status *status)
{
    if (weft_status_code(status) != WEFT_INTERNAL) return status;
    weft_status *blamed = weft_status_create(NULL, WEFT_INVALID_ARGUMENT, NULL,
                                             "the schedule does not fit the kernel: %s", weft_status_message(status));
    weft_status_destroy(status);
    return blamed;
}

/* What is left for threads is one range in all: its extents are the same everywhere. */
static weft_status *check_threads(const weft_kernel *kernel)
{
    for (uint32_t i = 0; i < kernel->range_count; i++)
        if (kernel->ranges[i].bind == WEFT_BIND_SERIAL)
            for (uint32_t k = 0; k < i; k++)
                if (weft_expr_uses(kernel->exprs, kernel->ranges[i].extent, kernel->ranges[k].variable))
                    return weft_status_create(
                        NULL, WEFT_INVALID_ARGUMENT, NULL,
                        "the schedule leaves range i%u for threads, but its extent depends on i%u", i, k);
    return NULL;
}

weft_status *weft_schedule_apply(weft_kernel *kernel, const weft_schedule *schedule, const weft_machine *machine)
{
    for (uint32_t i = 0; i < schedule->count; i++) {
        const char *reason;
        WEFT_TRY(weft_move_check(kernel, schedule, i, &schedule->moves[i], &reason));
        WEFT_TRY(weft_expr_context_take_error(kernel->exprs));
        if (reason != NULL) return refuse(&schedule->moves[i], i, reason);
        WEFT_TRY(refuse_failed(&schedule->moves[i], i, weft_move_make(kernel, &schedule->moves[i])));
    }
    WEFT_TRY(check_threads(kernel));
    return blame(weft_schedule_close(kernel, machine));
}
