/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/region.h"
#include <inttypes.h>
#include <string.h>
#include "runtime/steps.h"

weft_status *weft_region_error(const weft_allocator *allocator, const char *op, int64_t turn, weft_status *status)
{
    if (weft_status_code(status) != WEFT_DATA_ERROR) return status;
    weft_status *placed = weft_status_create(allocator, WEFT_DATA_ERROR, weft_status_where(status),
                                             "%s (iteration %" PRId64 " of %s)", weft_status_message(status), turn, op);
    weft_status_destroy(status);
    return placed;
}

/* ---- what is carried ---- */

static void point_uses(weft_frame *frame, const weft_bound_step *bound_step)
{
    for (size_t i = 0; i < bound_step->use_count; i++) {
        const weft_alias_use *use = &bound_step->uses[i];
        void *data = frame->buffers[use->buffer];
        frame->pointers[use->pointer] = data;
        if (use->view != SIZE_MAX) frame->views[use->view].data = data;
    }
}

static void copy_to_result(weft_frame *frame, const weft_carried *carried, const void *value)
{
    const weft_bound_variant *bound = frame->bound;
    void *result = frame->buffers[carried->result];
    int64_t bytes = bound->values[bound->variant->buffers[carried->result].bytes];
    if (value != result && bytes > 0) memcpy(result, value, (size_t)bytes);
}

/* What was written is read now; the turn writes `result` or `spare`. */
static void begin_turn(weft_frame *frame, const weft_bound_step *bound_step, bool first, bool to_result)
{
    const weft_region_step *region = &bound_step->step->region;
    for (size_t i = 0; i < region->carried_count; i++) {
        const weft_carried *carried = &region->carried[i];
        if (carried->in_place) {
            if (first && carried->updated) copy_to_result(frame, carried, frame->buffers[carried->initial]);
            bool is_apart = first && !carried->updated;
            frame->buffers[carried->current] = frame->buffers[is_apart ? carried->initial : carried->result];
            frame->buffers[carried->next] = frame->buffers[carried->result];
            continue;
        }
        frame->buffers[carried->current] = frame->buffers[first ? carried->initial : carried->next];
        frame->buffers[carried->next] = frame->buffers[to_result ? carried->result : carried->spare];
    }
    point_uses(frame, bound_step);
}

/* Copies to `result` what came out somewhere else: the initial values of a loop without turns, a spare one of `while`.
 */
static void finish_carried(weft_frame *frame, const weft_region_step *region, bool is_current)
{
    for (size_t i = 0; i < region->carried_count; i++) {
        const weft_carried *carried = &region->carried[i];
        copy_to_result(frame, carried, frame->buffers[is_current ? carried->current : carried->initial]);
    }
}

/* ---- ops ---- */

static weft_status *run_part(weft_frame *frame, const weft_bound_step *bound_step, int part,
                             const volatile bool *cancelled)
{
    const weft_region_step *region = &bound_step->step->region;
    size_t first = (size_t)(bound_step - frame->bound->steps) + 1 + (part > 0 ? region->parts[0] : 0);
    return weft_steps_run(frame, first, region->parts[part], cancelled);
}

static weft_status *run_fold(weft_frame *frame, const weft_bound_step *bound_step, const volatile bool *cancelled)
{
    const weft_region_step *region = &bound_step->step->region;
    int64_t trips = frame->bound->values[region->trips], *index = frame->buffers[region->scalar];
    if (trips <= 0) finish_carried(frame, region, false);
    for (int64_t turn = 0; turn < trips; turn++) {
        begin_turn(frame, bound_step, turn == 0, (trips - turn) % 2 == 1);
        *index = turn;
        weft_status *status = run_part(frame, bound_step, 0, cancelled);
        if (status != NULL) return weft_region_error(&frame->bound->executor->allocator, "fold", turn, status);
    }
    return NULL;
}

static weft_status *run_while(weft_frame *frame, const weft_bound_step *bound_step, const volatile bool *cancelled)
{
    const weft_region_step *region = &bound_step->step->region;
    for (int64_t turn = 0;; turn++) {
        begin_turn(frame, bound_step, turn == 0, turn % 2 == 0);
        weft_status *status = run_part(frame, bound_step, 0, cancelled);
        bool again = status == NULL && *(const uint8_t *)frame->buffers[region->scalar] != 0;
        if (again) status = run_part(frame, bound_step, 1, cancelled);
        if (status != NULL) return weft_region_error(&frame->bound->executor->allocator, "while", turn, status);
        if (!again) break;
    }
    finish_carried(frame, region, true);
    return NULL;
}

static weft_status *run_cond(weft_frame *frame, const weft_bound_step *bound_step, const volatile bool *cancelled)
{
    bool chosen = *(const uint8_t *)frame->buffers[bound_step->step->region.scalar] != 0;
    return run_part(frame, bound_step, chosen ? 0 : 1, cancelled);
}

weft_status *weft_region_run(weft_frame *frame, const weft_bound_step *bound_step, const volatile bool *cancelled)
{
    switch (bound_step->step->region.control) {
    case WEFT_CONTROL_FOLD: return run_fold(frame, bound_step, cancelled);
    case WEFT_CONTROL_WHILE: return run_while(frame, bound_step, cancelled);
    case WEFT_CONTROL_COND: return run_cond(frame, bound_step, cancelled);
    }
    return NULL;
}
