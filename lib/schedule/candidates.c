/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/schedule/candidates.h"
#include <string.h>

/* What there may be to gain by: the form of the loops, vectors of a round, rows side by side, elements of a tile, and
 * shorter or longer vectors. A template that means nothing for a kernel gives a schedule that there is already. */
static const weft_template templates[] = {
    {.form = WEFT_FORM_ANY},
    {.form = WEFT_FORM_PLAIN},
    {.form = WEFT_FORM_TRANSPOSED},
    {.form = WEFT_FORM_TILED},
    {.unroll = 1},
    {.unroll = 2},
    {.unroll = 4},
    {.unroll = 8},
    {.rows = 1},
    {.rows = 2},
    {.rows = 3},
    {.rows = 4},
    {.rows = 6},
    {.rows = 8},
    {.tile = 512},
    {.tile = 2048},
    {.tile = 32768},
    {.width = 4},
    {.width = 8},
    {.width = 16},
    {.form = WEFT_FORM_PLAIN, .unroll = 2},
    {.form = WEFT_FORM_PLAIN, .tile = 2048},
};

enum { TEMPLATES = sizeof templates / sizeof *templates };

static bool is_known(const weft_candidates *candidates, const char *text)
{
    for (uint32_t i = 0; i < candidates->count; i++)
        if (strcmp(candidates->items[i].text, text) == 0) return true;
    return false;
}

/* After the first, in order of what they are estimated to take. */
static void insert(weft_candidates *candidates, weft_candidate candidate)
{
    uint32_t at = candidates->count++;
    for (; at > 1 && candidates->items[at - 1].estimate.total > candidate.estimate.total; at--)
        candidates->items[at] = candidates->items[at - 1];
    candidates->items[at] = candidate;
}

/* What is made for one template. */
typedef struct attempt {
    weft_kernel *clone;
    weft_schedule schedule;
    weft_bytes text;
} attempt;

static weft_status *add(weft_candidates *candidates, attempt *made, const weft_machine *machine,
                        const weft_template *wanted)
{
    weft_candidate candidate;
    WEFT_TRY(weft_schedule_choose(made->clone, machine, wanted, &made->schedule));
    WEFT_TRY(weft_schedule_print(&made->schedule, &made->text));
    const char *moves = made->text.size == 0 ? "" : made->text.data;
    if (candidates->count == 0) candidates->reason = made->schedule.reason;
    if (is_known(candidates, moves)) return NULL;
    WEFT_TRY(weft_kernel_estimate(made->clone, machine, &candidate.estimate));
    candidate.text = weft_arena_string(&candidates->arena, moves, made->text.size);
    if (candidate.text == NULL) return weft_status_out_of_memory();
    insert(candidates, candidate);
    return NULL;
}

static weft_status *add_template(weft_candidates *candidates, const weft_kernel *kernel, const weft_machine *machine,
                                 const weft_template *wanted)
{
    const weft_allocator *allocator = kernel->arena.allocator;
    attempt made;
    WEFT_TRY(weft_kernel_clone(kernel, &made.clone));
    weft_bytes_init(&made.text, allocator);
    weft_schedule_init(&made.schedule, allocator);
    weft_status *status = add(candidates, &made, machine, wanted);
    weft_schedule_finish(&made.schedule);
    weft_bytes_finish(&made.text);
    weft_kernel_destroy(made.clone);
    return status;
}

weft_status *weft_candidates_init(const weft_allocator *allocator, const weft_kernel *kernel,
                                  const weft_machine *machine, weft_candidates *out_candidates)
{
    weft_status *status = NULL;
    weft_arena_init(&out_candidates->arena, allocator);
    out_candidates->count = 0;
    out_candidates->items = weft_arena_allocate(&out_candidates->arena, TEMPLATES * sizeof *out_candidates->items);
    if (out_candidates->items == NULL) status = weft_status_out_of_memory();
    for (size_t i = 0; i < TEMPLATES && status == NULL; i++)
        status = add_template(out_candidates, kernel, machine, &templates[i]);
    if (status != NULL) weft_candidates_finish(out_candidates);
    return status;
}

void weft_candidates_finish(weft_candidates *candidates)
{
    weft_arena_finish(&candidates->arena);
    candidates->count = 0;
}
