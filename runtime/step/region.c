/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/step/region.h"
#include <inttypes.h>
#include <string.h>
#include "runtime/step/device.h"
#include "runtime/step/step.h"

weft_status *weft_region_error(const weft_allocator *allocator, const char *op, int64_t iteration, weft_status *status)
{
    weft_code code = weft_status_code(status);
    if (code != WEFT_DATA_ERROR && code != WEFT_CANCELLED) return status;
    weft_status *located =
        weft_status_create(allocator, code, weft_status_where(status), "%s (iteration %" PRId64 " of %s)",
                           weft_status_message(status), iteration, op);
    bool is_short = weft_status_code(located) == WEFT_OUT_OF_MEMORY; /* it says less then, but what was wrong */
    weft_status_destroy(is_short ? located : status);
    return is_short ? status : located;
}

/* ---- binding ---- */

/* Carried values have row-major memory of a known size, and aliases of their own. */
static bool carried_is_sound(const weft_variant *variant, const weft_carried *carried)
{
    const uint32_t buffers[] = {carried->initial, carried->current, carried->next, carried->result, carried->spare};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        if (buffers[i] >= variant->buffer_count || variant->buffers[buffers[i]].strides != NULL) return false;
        if (variant->buffers[buffers[i]].bytes >= variant->formulas.count) return false;
    }
    return variant->buffers[carried->current].kind == WEFT_BUFFER_ALIAS &&
           variant->buffers[carried->next].kind == WEFT_BUFFER_ALIAS && carried->current != carried->next;
}

static bool block_is_sound(const weft_variant *variant, const weft_block_alias *block)
{
    if (block->buffer >= variant->buffer_count || block->whole >= variant->buffer_count) return false;
    const weft_buffer *part = &variant->buffers[block->buffer], *whole = &variant->buffers[block->whole];
    bool has_sizes = part->bytes < variant->formulas.count && whole->bytes < variant->formulas.count;
    const uint32_t slots[] = {block->offset, block->step};
    return has_sizes && part->kind == WEFT_BUFFER_ALIAS && part->strides == NULL && whole->strides == NULL &&
           weft_slots_exist(variant, slots, 2);
}

static bool is_sound(const weft_variant *variant, const weft_step *step, const weft_resolved *resolved)
{
    (void)resolved;
    const weft_region_step *region = &step->region;
    if (weft_step_nested(step) >= variant->step_count - (size_t)(step - variant->steps)) return false;
    if (region->scalar >= variant->buffer_count) return false;
    if (region->control == WEFT_CONTROL_FOLD && !weft_slots_exist(variant, &region->trips, 1)) return false;
    for (size_t i = 0; i < region->carried_count; i++)
        if (!carried_is_sound(variant, &region->carried[i]) || region->carried[i].kept_in > region->block_count)
            return false;
    if (region->block_count > 0 && region->control != WEFT_CONTROL_FOLD) return false;
    for (size_t i = 0; i < region->block_count; i++)
        if (!block_is_sound(variant, &region->blocks[i])) return false;
    return true;
}

static bool is_pointed(const weft_region_step *region, uint32_t buffer)
{
    for (size_t i = 0; i < region->carried_count; i++)
        if (region->carried[i].current == buffer || region->carried[i].next == buffer) return true;
    for (size_t i = 0; i < region->block_count; i++)
        if (region->blocks[i].buffer == buffer) return true;
    return false;
}

/* Where steps that belong to the region step use what it carries and cuts; NULL counts them. */
static size_t find_uses(const weft_bound_step *bound_step, weft_alias_use *out_uses)
{
    const weft_step *step = bound_step->step;
    size_t count = 0, nested = weft_step_nested(step);
    for (size_t s = 1; s <= nested; s++) {
        const weft_bound_step *inner = bound_step + s;
        const weft_step *inner_step = inner->step;
        for (size_t i = 0; inner_step->kind != WEFT_STEP_REGION && i < inner_step->buffer_count; i++) {
            if (!is_pointed(&step->region, inner_step->buffers[i])) continue;
            size_t view = inner_step->kind == WEFT_STEP_HOST ? inner->first_view + i : SIZE_MAX;
            if (out_uses != NULL)
                out_uses[count] = (weft_alias_use){inner_step->buffers[i], inner->first_pointer + i, view};
            count++;
        }
    }
    return count;
}

/* Whether the first and the last iteration have the block inside of the array. */
static bool block_is_inside(const weft_bound_variant *bound, const weft_region_step *region,
                            const weft_block_alias *block)
{
    const weft_buffer *buffers = bound->variant->buffers;
    int64_t trips = bound->values[region->trips], first = bound->values[block->offset], last, end;
    if (__builtin_mul_overflow(trips - 1, bound->values[block->step], &last)) return false;
    if (__builtin_add_overflow(first, last, &last)) return false;
    if (__builtin_add_overflow(first > last ? first : last, bound->values[buffers[block->buffer].bytes], &end))
        return false;
    return first >= 0 && last >= 0 && end <= bound->values[buffers[block->whole].bytes];
}

static weft_status *check_blocks(const weft_bound_variant *bound, const weft_step *step)
{
    size_t count = bound->values[step->region.trips] > 0 ? step->region.block_count : 0;
    for (size_t i = 0; i < count; i++) {
        const weft_block_alias *block = &step->region.blocks[i];
        const uint32_t slots[] = {block->offset, block->step};
        WEFT_TRY(weft_bound_check(bound, step, slots, 2));
        if (!block_is_inside(bound, &step->region, block))
            return weft_status_create(bound->allocator, WEFT_OUT_OF_RANGE, "weft_executor_run",
                                      "%s: a block is outside of its array", step->name);
    }
    return NULL;
}

static weft_status *bind(weft_bound_variant *bound, weft_bound_step *bound_step)
{
    const weft_region_step *region = &bound_step->step->region;
    if (region->control == WEFT_CONTROL_FOLD) WEFT_TRY(weft_bound_check(bound, bound_step->step, &region->trips, 1));
    if (region->block_count > 0) WEFT_TRY(check_blocks(bound, bound_step->step));
    bound_step->use_count = find_uses(bound_step, NULL);
    bound_step->uses = weft_bound_take(bound, bound_step->use_count, sizeof *bound_step->uses);
    if (bound_step->uses == NULL) return weft_status_out_of_memory();
    find_uses(bound_step, bound_step->uses);
    return NULL;
}

/* ---- cost ---- */

static weft_step_cost cost_of_part(const weft_bound_variant *bound, size_t first, size_t count)
{
    weft_step_cost sum = {.is_timed = true};
    for (size_t i = first; i < first + count; i += 1 + weft_step_nested(bound->steps[i].step)) {
        weft_step_cost step = weft_steps_cost(bound, i);
        sum.is_timed = sum.is_timed && step.is_timed;
        sum.alone += step.alone;
        sum.together += step.together;
    }
    return sum;
}

/* Without the bytes and operations of its steps, which count for themselves. */
static weft_step_cost cost(const weft_bound_variant *bound, const weft_bound_step *bound_step)
{
    const weft_region_step *region = &bound_step->step->region;
    size_t number = (size_t)(bound_step - bound->steps);
    int64_t trips = region->control == WEFT_CONTROL_FOLD ? bound->values[region->trips] : 1;
    if (trips <= 0) return (weft_step_cost){.is_timed = true};
    weft_step_cost part = cost_of_part(bound, number + 1, region->parts[0]);
    weft_step_cost other = cost_of_part(bound, number + 1 + region->parts[0], region->parts[1]);
    bool is_timed = part.is_timed && other.is_timed && region->control != WEFT_CONTROL_WHILE;
    if (other.alone > part.alone) part = other;
    return (weft_step_cost){
        .is_timed = is_timed, .alone = (double)trips * part.alone, .together = (double)trips * part.together};
}

/* ---- what is carried ---- */

static weft_status *copy_to(weft_frame *frame, const weft_carried *carried, void *to, const void *value)
{
    const weft_bound_variant *bound = frame->bound;
    int64_t bytes = bound->values[bound->variant->buffers[carried->result].bytes];
    if (value == to || bytes <= 0) return NULL;
    if (frame->device != NULL) return weft_device_move(frame, to, value, (size_t)bytes);
    memcpy(to, value, (size_t)bytes);
    return NULL;
}

static weft_status *copy_to_result(weft_frame *frame, const weft_carried *carried, const void *value)
{
    return copy_to(frame, carried, frame->buffers[carried->result], value);
}

static void *address_of(const weft_frame *frame, const weft_block_alias *block, int64_t iteration)
{
    const int64_t *values = frame->bound->values;
    return (char *)frame->buffers[block->whole] + values[block->offset] + iteration * values[block->step];
}

/* The iteration has its blocks, and values that are kept in some. */
static weft_status *point_blocks(weft_frame *frame, const weft_region_step *region, int64_t iteration)
{
    for (size_t i = 0; i < region->block_count; i++)
        frame->buffers[region->blocks[i].buffer] = address_of(frame, &region->blocks[i], iteration);
    for (size_t i = 0; i < region->carried_count; i++) {
        const weft_carried *carried = &region->carried[i];
        if (carried->kept_in == 0) continue;
        const weft_block_alias *block = &region->blocks[carried->kept_in - 1];
        void *current = frame->buffers[block->buffer];
        if (iteration == 0) WEFT_TRY(copy_to(frame, carried, current, frame->buffers[carried->initial]));
        bool is_last = iteration == frame->bound->values[region->trips] - 1;
        frame->buffers[carried->current] = current;
        frame->buffers[carried->next] =
            is_last ? frame->buffers[carried->result] : address_of(frame, block, iteration + 1);
    }
    return NULL;
}

/* The iteration reads what the one before it has written, and writes `result` or `spare`. */
static weft_status *point_carried(weft_frame *frame, const weft_bound_step *bound_step, int64_t iteration,
                                  bool to_result)
{
    const weft_region_step *region = &bound_step->step->region;
    bool first = iteration == 0;
    for (size_t i = 0; i < region->carried_count; i++) {
        const weft_carried *carried = &region->carried[i];
        if (carried->kept_in > 0) continue;
        if (carried->in_place) {
            if (first && carried->updated) WEFT_TRY(copy_to_result(frame, carried, frame->buffers[carried->initial]));
            bool is_apart = first && !carried->updated;
            frame->buffers[carried->current] = frame->buffers[is_apart ? carried->initial : carried->result];
            frame->buffers[carried->next] = frame->buffers[carried->result];
            continue;
        }
        frame->buffers[carried->current] = frame->buffers[first ? carried->initial : carried->next];
        frame->buffers[carried->next] = frame->buffers[to_result ? carried->result : carried->spare];
    }
    if (region->block_count > 0) WEFT_TRY(point_blocks(frame, region, iteration));
    for (size_t i = 0; i < bound_step->use_count; i++) {
        const weft_alias_use *use = &bound_step->uses[i];
        void *data = frame->buffers[use->buffer];
        frame->pointers[use->pointer] = data;
        if (use->view != SIZE_MAX) frame->views[use->view].data = data;
    }
    return NULL;
}

/* Copies to `result` the values that ended elsewhere: the initial ones of a loop without iterations, a spare one of
 * `while`.
 */
static weft_status *finish_carried(weft_frame *frame, const weft_region_step *region, bool is_current)
{
    for (size_t i = 0; i < region->carried_count; i++) {
        const weft_carried *carried = &region->carried[i];
        WEFT_TRY(copy_to_result(frame, carried, frame->buffers[is_current ? carried->current : carried->initial]));
    }
    return NULL;
}

static weft_status *write_index(weft_frame *frame, int64_t *index, int64_t iteration)
{
    if (frame->device != NULL) return weft_device_store(frame, index, iteration);
    *index = iteration;
    return NULL;
}

static weft_status *read_verdict(weft_frame *frame, const uint8_t *verdict, bool *out_verdict)
{
    if (frame->device != NULL) return weft_device_test(frame, verdict, out_verdict);
    *out_verdict = *verdict != 0;
    return NULL;
}

/* ---- ops ---- */

static weft_status *run_part(weft_frame *frame, const weft_bound_step *bound_step, int part,
                             const volatile bool *cancelled)
{
    const weft_region_step *region = &bound_step->step->region;
    size_t first = (size_t)(bound_step - frame->bound->steps) + 1 + (part > 0 ? region->parts[0] : 0);
    return weft_steps_run(frame, first, region->parts[part], cancelled);
}

/* An error of a device comes some time later, and already tells its iteration. */
static weft_status *locate_error(const weft_frame *frame, const char *op, int64_t iteration, weft_status *status)
{
    if (frame->device != NULL) return status;
    return weft_region_error(frame->bound->allocator, op, iteration, status);
}

static weft_status *fold_once(weft_frame *frame, const weft_bound_step *bound_step, const weft_device_loop *loop,
                              int64_t iteration, const volatile bool *cancelled)
{
    const weft_region_step *region = &bound_step->step->region;
    int64_t left = frame->bound->values[region->trips] - iteration;
    if (frame->device != NULL) WEFT_TRY(weft_device_begin_iteration(frame, loop, iteration));
    WEFT_TRY(point_carried(frame, bound_step, iteration, left % 2 == 1));
    WEFT_TRY(write_index(frame, frame->buffers[region->scalar], iteration));
    return run_part(frame, bound_step, 0, cancelled);
}

static weft_status *run_fold(weft_frame *frame, const weft_bound_step *bound_step, const volatile bool *cancelled)
{
    const weft_region_step *region = &bound_step->step->region;
    int64_t trips = frame->bound->values[region->trips];
    weft_device_loop loop = weft_device_begin_loop(frame, bound_step->step);
    if (trips <= 0) return finish_carried(frame, region, false);
    for (int64_t iteration = 0; iteration < trips; iteration++) {
        weft_status *status = fold_once(frame, bound_step, &loop, iteration, cancelled);
        if (status != NULL) return locate_error(frame, "fold", iteration, status);
    }
    weft_device_end_loop(frame, &loop);
    return NULL;
}

static weft_status *while_once(weft_frame *frame, const weft_bound_step *bound_step, const weft_device_loop *loop,
                               int64_t iteration, bool *out_again, const volatile bool *cancelled)
{
    if (frame->device != NULL) WEFT_TRY(weft_device_begin_iteration(frame, loop, iteration));
    WEFT_TRY(point_carried(frame, bound_step, iteration, iteration % 2 == 0));
    WEFT_TRY(run_part(frame, bound_step, 0, cancelled));
    WEFT_TRY(read_verdict(frame, frame->buffers[bound_step->step->region.scalar], out_again));
    return *out_again ? run_part(frame, bound_step, 1, cancelled) : NULL;
}

static weft_status *run_while(weft_frame *frame, const weft_bound_step *bound_step, const volatile bool *cancelled)
{
    weft_device_loop loop = weft_device_begin_loop(frame, bound_step->step);
    bool again = true;
    for (int64_t iteration = 0; again; iteration++) {
        weft_status *status = while_once(frame, bound_step, &loop, iteration, &again, cancelled);
        if (status != NULL) return locate_error(frame, "while", iteration, status);
    }
    weft_device_end_loop(frame, &loop);
    return finish_carried(frame, &bound_step->step->region, true);
}

static weft_status *run_cond(weft_frame *frame, const weft_bound_step *bound_step, const volatile bool *cancelled)
{
    bool chosen;
    WEFT_TRY(read_verdict(frame, frame->buffers[bound_step->step->region.scalar], &chosen));
    return run_part(frame, bound_step, chosen ? 0 : 1, cancelled);
}

static weft_status *run(weft_frame *frame, const weft_bound_step *bound_step, const volatile bool *cancelled)
{
    switch (bound_step->step->region.control) {
    case WEFT_CONTROL_FOLD: return run_fold(frame, bound_step, cancelled);
    case WEFT_CONTROL_WHILE: return run_while(frame, bound_step, cancelled);
    case WEFT_CONTROL_COND: return run_cond(frame, bound_step, cancelled);
    }
    return NULL;
}

const weft_step_methods weft_step_region = {WEFT_PROFILE_REGION, is_sound, bind, cost, run, NULL, NULL, NULL};
