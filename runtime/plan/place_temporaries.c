/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/plan/place_temporaries.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "runtime/plan/branches.h"
#include "runtime/base/memory.h"
#include "runtime/plan/plan.h"
#include "runtime/step/step.h"

/* Branches per thread to begin with, so that others can take over from a thread that is late. */
enum { BRANCHES_PER_THREAD = 4 };

/* When a step begins, and when all that belongs to it has ended. */
typedef struct step_time {
    weft_plan_time begin, end;
} step_time;

typedef struct placement {
    weft_bound_variant *bound;
    size_t item_count;
    weft_plan_item *items; /* of each buffer, of which only temporaries take room; then of each step's scratch */
    step_time *times;      /* of each step */
    uint32_t *place_of;    /* of each buffer: the one in whose place it is */
    uint32_t phase;        /* under way */
    weft_arena scratch;
} placement;

/* ---- when ---- */

static void time_sequence(placement *a, size_t first, size_t count);

/* Steps that run in strips run at the same time. */
static size_t time_strips(placement *a, size_t number)
{
    const weft_strips *strips = a->bound->steps[number].strips;
    size_t end = number + (strips == NULL ? 1 : strips->count);
    for (size_t i = number + 1; i < end; i++) a->times[i] = a->times[number];
    return end;
}

/* A step that has all threads: it gets phases of its own, as do those of a chain. */
static void time_step(placement *a, size_t number)
{
    const weft_step *step = a->bound->steps[number].step;
    a->times[number].begin = (weft_plan_time){.phase = a->phase++};
    if (step->kind == WEFT_STEP_REGION) {
        time_sequence(a, number + 1, step->region.parts[0]);
        time_sequence(a, number + 1 + step->region.parts[0], step->region.parts[1]);
    }
    a->times[number].end = (weft_plan_time){.phase = a->phase++};
    for (size_t i = time_strips(a, number); i <= number + step->chain.steps; i = time_strips(a, i)) time_step(a, i);
}

/* A step in a branch and those that belong to it, in order: `*at` is the time of the next. */
static void time_in_branch(placement *a, size_t number, weft_plan_time *at)
{
    const weft_step *step = a->bound->steps[number].step;
    size_t end = number + 1 + weft_step_nested(step);
    a->times[number].begin = *at;
    at->step++;
    for (size_t i = number + 1; i < end && step->chain.steps == 0; i += 1 + weft_step_nested(a->bound->steps[i].step))
        time_in_branch(a, i, at);
    a->times[number].end = *at;
    at->step++;
    for (size_t i = time_strips(a, number); i <= number + step->chain.steps; i = time_strips(a, i))
        time_in_branch(a, i, at);
}

static void time_phase(placement *a, const weft_phase *phase)
{
    for (size_t branch = 0; branch < phase->branch_count; branch++) {
        weft_plan_time at = {.phase = a->phase, .branch = (uint32_t)branch};
        for (size_t i = 0; i < phase->branches[branch].count; i++) {
            if (phase->branch_count == 1) time_step(a, phase->branches[branch].steps[i]);
            else time_in_branch(a, phase->branches[branch].steps[i], &at);
        }
    }
    a->phase++;
}

static void time_sequence(placement *a, size_t first, size_t count)
{
    const weft_bound_variant *bound = a->bound;
    const weft_phases *phases = count > 0 ? bound->steps[first].phases : NULL;
    for (size_t i = 0; phases != NULL && i < phases->count; i++) time_phase(a, &phases->phases[i]);
    for (size_t i = first; phases == NULL && i < first + count; i += 1 + weft_step_nested(bound->steps[i].step))
        time_step(a, i);
}

/* ---- what lives when ---- */

/* What a region step names lives as long as the steps that belong to it run, however often. */
static void cover(weft_plan_item *item, const step_time *time, bool *known)
{
    item->first = *known ? weft_plan_earlier(item->first, time->begin) : time->begin;
    item->last = *known ? weft_plan_later(item->last, time->end) : time->end;
    *known = true;
}

static void fill_items(placement *a, bool *known)
{
    const weft_bound_variant *bound = a->bound;
    const weft_variant *variant = bound->variant;
    memset(known, 0, variant->buffer_count * sizeof *known);
    for (size_t s = 0; s < variant->step_count; s++) {
        const weft_step *step = &variant->steps[s];
        for (size_t i = 0; i < step->buffer_count && !bound->steps[s].idle; i++)
            cover(&a->items[step->buffers[i]], &a->times[s], &known[step->buffers[i]]);
        a->items[variant->buffer_count + s] = (weft_plan_item){
            .bytes = bound->steps[s].scratch_bytes, .first = a->times[s].begin, .last = a->times[s].end};
    }
    for (size_t i = 0; i < variant->buffer_count; i++) {
        bool takes_room = known[i] && variant->buffers[i].kind == WEFT_BUFFER_TEMPORARY;
        a->items[i].bytes = takes_room ? bound->values[variant->buffers[i].bytes] : 0;
    }
    for (size_t s = 0; s < variant->step_count; s++) {
        const weft_strips *strips = bound->steps[s].strips;
        for (size_t i = 0; strips != NULL && i < strips->intermediate_count; i++)
            a->items[strips->intermediates[i]].bytes = 0;
    }
}

/* ---- places that are handed on ---- */

static bool are_same(weft_plan_time a, weft_plan_time b)
{
    return a.phase == b.phase && a.branch == b.branch && a.step == b.step;
}

/* Steps that run in strips read and write all along. */
static bool runs_in_strips(const weft_bound_variant *bound, size_t number)
{
    size_t first = number >= WEFT_CHAIN_STEPS ? number - WEFT_CHAIN_STEPS + 1 : 0;
    for (size_t i = first; i <= number; i++)
        if (bound->steps[i].strips != NULL && i + bound->steps[i].strips->count > number) return true;
    return false;
}

/* Whether the kernel writes a temporary that has nothing yet, and nothing uses the one it may be put over after it. */
static bool replaces(const placement *a, size_t number)
{
    const weft_bound_variant *bound = a->bound;
    const weft_step *step = bound->steps[number].step;
    if (step->replaces == 0 || bound->steps[number].idle || runs_in_strips(bound, number)) return false;
    uint32_t read = step->buffers[step->replaces], written = step->buffers[0];
    int64_t bytes = a->items[a->place_of[written]].bytes;
    return bytes > 0 && a->items[read].bytes == bytes && are_same(a->items[read].last, a->times[number].end) &&
           are_same(a->items[written].first, a->times[number].begin);
}

/* Gives what kernels write the place of what they read last: from the last step on, so that it is handed on. */
static void hand_on_places(placement *a)
{
    const weft_bound_variant *bound = a->bound;
    for (uint32_t i = 0; i < bound->variant->buffer_count; i++) a->place_of[i] = i;
    for (size_t s = bound->variant->step_count; s-- > 0 && !bound->is_apart;) {
        if (!replaces(a, s)) continue;
        const weft_step *step = bound->steps[s].step;
        uint32_t read = step->buffers[step->replaces], place = a->place_of[step->buffers[0]];
        a->items[place].first = a->items[read].first;
        a->items[read].bytes = 0;
        a->place_of[read] = place;
    }
}

/* Offsets for the phases as they are. */
static weft_status *place(placement *a, int64_t *out_bytes)
{
    bool *known = weft_arena_allocate(&a->scratch, a->bound->variant->buffer_count + 1);
    if (known == NULL) return weft_status_out_of_memory();
    a->phase = 0;
    time_sequence(a, 0, a->bound->variant->step_count);
    fill_items(a, known);
    hand_on_places(a);
    return weft_plan_fill(a->bound->allocator, a->item_count, a->items, out_bytes);
}

/* ---- phases ---- */

static int64_t most_bytes(int64_t alone, size_t limit)
{
    int64_t most;
    if (limit != 0) return limit < INT64_MAX ? (int64_t)limit : INT64_MAX;
    return __builtin_add_overflow(alone, alone / 4 + WEFT_PLACEMENT_ROOM, &most) ? INT64_MAX : most;
}

/* Fewer branches first; then steps stay nearer to their order. */
static bool tighten(weft_branches_limits *limits, size_t threads)
{
    if (limits->branches > threads) {
        limits->branches = limits->branches / 2 > threads ? limits->branches / 2 : threads;
        return true;
    }
    limits->window /= 4;
    return limits->window > threads;
}

/* The widest phases whose memory is within `limit`; `alone`: bytes without any. */
static weft_status *fill_phases(placement *a, size_t limit, int64_t alone)
{
    weft_bound_variant *bound = a->bound;
    size_t threads = weft_pool_size(bound->pool);
    weft_branches_limits limits = {BRANCHES_PER_THREAD * threads, bound->variant->step_count};
    int64_t most = most_bytes(alone, limit);
    bool found;
    const weft_branch_methods *branches = bound->variant->branches;
    if (branches == NULL) return NULL;
    WEFT_TRY(branches->fill(bound, limits, &found));
    if (!found) return NULL;
    while (found) {
        WEFT_TRY(place(a, &bound->arena_bytes));
        if (bound->arena_bytes <= most) return NULL;
        found = tighten(&limits, threads);
        if (found) WEFT_TRY(branches->fill(bound, limits, &found));
    }
    for (size_t i = 0; i < bound->variant->step_count; i++) bound->steps[i].phases = NULL;
    return place(a, &bound->arena_bytes);
}

/* ---- all ---- */

static weft_status *place_within(placement *a, size_t limit)
{
    weft_bound_variant *bound = a->bound;
    const weft_variant *variant = bound->variant;
    a->item_count = variant->buffer_count + variant->step_count;
    a->items = weft_arena_allocate(&a->scratch, (a->item_count + 1) * sizeof *a->items);
    a->times = weft_arena_allocate(&a->scratch, (variant->step_count + 1) * sizeof *a->times);
    a->place_of = weft_arena_allocate(&a->scratch, (variant->buffer_count + 1) * sizeof *a->place_of);
    bound->offsets = weft_arena_allocate(&bound->arena, (variant->buffer_count + 1) * sizeof *bound->offsets);
    if (a->items == NULL || a->times == NULL || a->place_of == NULL || bound->offsets == NULL)
        return weft_status_out_of_memory();
    WEFT_TRY(place(a, &bound->arena_bytes));
    bool is_over = limit != 0 && (uint64_t)bound->arena_bytes > limit;
    if (is_over && weft_steps_tighten(bound)) WEFT_TRY(place(a, &bound->arena_bytes));
    /* In branches the steps may need less memory; but what is over the limit must not hang on the number of threads. */
    bool fits = limit == 0 || (uint64_t)bound->arena_bytes <= limit;
    if (fits && weft_pool_size(bound->pool) > 1) WEFT_TRY(fill_phases(a, limit, bound->arena_bytes));
    for (size_t i = 0; i < variant->buffer_count; i++) bound->offsets[i] = a->items[a->place_of[i]].offset;
    for (size_t s = 0; s < variant->step_count; s++)
        bound->steps[s].scratch_offset = a->items[variant->buffer_count + s].offset;
    return NULL;
}

/* The bytes of a temporary that `step` uses have no value. */
static weft_status *too_large(const weft_bound_variant *bound, const weft_step *step, uint32_t number)
{
    const weft_buffer *buffer = &bound->variant->buffers[number];
    int64_t shape[WEFT_MAX_RANK];
    char what[32];
    for (size_t axis = 0; axis < buffer->rank; axis++) shape[axis] = bound->values[buffer->extents[axis]];
    snprintf(what, sizeof what, ": temporary %" PRIu32, number);
    weft_output_shape type = {.dtype = buffer->dtype, .rank = buffer->rank, .shape = shape};
    return weft_bound_variant_too_large(bound, "", step->name, what, type);
}

static weft_status *check_sizes(const weft_bound_variant *bound)
{
    const weft_variant *variant = bound->variant;
    for (size_t s = 0; s < variant->step_count; s++) {
        const weft_step *step = &variant->steps[s];
        for (size_t i = 0; i < step->buffer_count && !bound->steps[s].idle; i++) {
            const weft_buffer *buffer = &variant->buffers[step->buffers[i]];
            if (buffer->kind == WEFT_BUFFER_TEMPORARY && bound->values[buffer->bytes] == WEFT_FORMULA_NONE)
                return too_large(bound, step, step->buffers[i]);
        }
    }
    return NULL;
}

weft_status *weft_place_temporaries(weft_bound_variant *bound, size_t limit)
{
    placement a = {.bound = bound};
    WEFT_TRY(check_sizes(bound));
    weft_arena_init(&a.scratch, bound->allocator);
    weft_status *status = place_within(&a, limit);
    weft_arena_finish(&a.scratch);
    return status;
}
