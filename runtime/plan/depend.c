/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/plan/depend.h"
#include <string.h>

/*
 * Steps are looked at in order. Of each buffer it is known who wrote it last and who has read it since: who reads it
 * needs that writer, who writes it needs those readers, too. A step that writes over an input needs all before it that
 * may fail: what it writes is not undone. They are readers of a memory that there is not, which the first such step
 * writes.
 */

#define NONE UINT32_MAX

typedef struct reader {
    uint32_t position, next;
} reader;

typedef struct tracker {
    const weft_bound_variant *bound;
    const uint32_t *memories;
    uint32_t *writers, *last_readers; /* per buffer; NONE */
    reader *readers;
    uint32_t reader_count, position;
    uint32_t *before, before_count;
} tracker;

/* ---- memories ---- */

/* The output that may be in the memory of an input stands for it. */
static void join_output(const weft_variant *variant, uint32_t input, uint32_t *memories)
{
    const weft_buffer *buffers = variant->buffers;
    uint32_t output = variant->output_alias[buffers[input].number];
    for (uint32_t i = 0; i < variant->buffer_count; i++)
        if (buffers[i].kind == WEFT_BUFFER_OUTPUT && buffers[i].number == output) memories[input] = i;
}

const uint32_t *weft_depend_memories(const weft_bound_variant *bound, weft_arena *scratch)
{
    const weft_variant *variant = bound->variant;
    uint32_t *memories = weft_arena_allocate(scratch, (variant->buffer_count + 1) * sizeof *memories);
    if (memories == NULL) return NULL;
    for (uint32_t i = 0; i <= variant->buffer_count; i++) memories[i] = i;
    for (uint32_t i = 0; i < variant->buffer_count && variant->output_alias != NULL; i++)
        if (variant->buffers[i].kind == WEFT_BUFFER_INPUT &&
            variant->output_alias[variant->buffers[i].number] != WEFT_NO_ALIAS)
            join_output(variant, i, memories);
    for (size_t s = 0; s < variant->step_count; s++) {
        const weft_region_step *region = &variant->steps[s].region;
        for (size_t i = 0; i < region->carried_count; i++)
            if (region->carried[i].in_place) memories[region->carried[i].next] = region->carried[i].current;
        for (size_t i = 0; i < region->block_count; i++)
            memories[region->blocks[i].buffer] = memories[region->blocks[i].whole];
    }
    return memories;
}

/* ---- one access ---- */

static void need(tracker *t, uint32_t position)
{
    if (position != NONE && position != t->position) t->before[t->before_count++] = position;
}

static void track(tracker *t, uint32_t buffer, bool written)
{
    uint32_t memory = t->memories[buffer];
    need(t, t->writers[memory]);
    if (!written) {
        t->readers[t->reader_count] = (reader){t->position, t->last_readers[memory]};
        t->last_readers[memory] = t->reader_count++;
        return;
    }
    for (uint32_t r = t->last_readers[memory]; r != NONE; r = t->readers[r].next) need(t, t->readers[r].position);
    t->last_readers[memory] = NONE;
    t->writers[memory] = t->position;
}

/* ---- steps ---- */

static size_t count_accesses(const weft_step *step)
{
    return 1 + step->buffer_count + (step->kind == WEFT_STEP_REGION ? step->region.carried_count + 1 : 0);
}

/* Of the memory that there is not. */
static void track_failures(tracker *t, const weft_step *step)
{
    uint32_t failures = (uint32_t)t->bound->variant->buffer_count;
    if (!step->overwrites && weft_step_may_fail(step)) track(t, failures, false);
    else if (step->overwrites) track(t, failures, t->last_readers[failures] != NONE && t->writers[failures] == NONE);
}

static void track_step(tracker *t, const weft_step *step)
{
    track_failures(t, step);
    bool first_written = step->kind == WEFT_STEP_KERNEL;
    size_t read = step->buffer_count - step->written;
    for (size_t i = 0; i < step->buffer_count; i++)
        track(t, step->buffers[i], first_written ? i < step->written : i >= read);
    if (step->kind != WEFT_STEP_REGION) return;
    const weft_region_step *region = &step->region;
    for (size_t i = 0; i < region->carried_count; i++) track(t, region->carried[i].spare, true);
    if (region->control != WEFT_CONTROL_COND) track(t, region->scalar, true);
}

static weft_status *init(tracker *t, size_t accesses, weft_arena *scratch)
{
    size_t buffers = t->bound->variant->buffer_count + 1;
    t->writers = weft_arena_allocate(scratch, buffers * sizeof *t->writers);
    t->last_readers = weft_arena_allocate(scratch, buffers * sizeof *t->last_readers);
    t->readers = weft_arena_allocate(scratch, (accesses + 1) * sizeof *t->readers);
    /* Each access needs one writer, and is needed as a reader once. */
    t->before = weft_arena_allocate(scratch, (2 * accesses + 1) * sizeof *t->before);
    if (t->writers == NULL || t->last_readers == NULL || t->readers == NULL || t->before == NULL)
        return weft_status_out_of_memory();
    memset(t->writers, 0xff, buffers * sizeof *t->writers);
    memset(t->last_readers, 0xff, buffers * sizeof *t->last_readers);
    return NULL;
}

weft_status *weft_depend_fill(const weft_bound_variant *bound, const uint32_t *memories, size_t first, size_t count,
                              weft_arena *scratch, weft_depend *out_depend)
{
    const weft_step *steps = bound->variant->steps;
    tracker t = {.bound = bound, .memories = memories};
    size_t accesses = 0;
    *out_depend = (weft_depend){.steps = weft_arena_allocate(scratch, (count + 1) * sizeof(uint32_t)),
                                .first = weft_arena_allocate(scratch, (count + 1) * sizeof(uint32_t))};
    if (out_depend->steps == NULL || out_depend->first == NULL) return weft_status_out_of_memory();
    for (size_t s = first; s < first + count; s++) accesses += count_accesses(&steps[s]);
    WEFT_TRY(init(&t, accesses, scratch));
    for (size_t s = first; s < first + count; t.position++) {
        size_t end = s + 1 + weft_step_nested(&steps[s]);
        out_depend->steps[t.position] = (uint32_t)s;
        out_depend->first[t.position] = t.before_count;
        for (; s < end; s++) track_step(&t, &steps[s]);
    }
    out_depend->first[t.position] = t.before_count;
    out_depend->before = t.before;
    out_depend->count = t.position;
    return NULL;
}
