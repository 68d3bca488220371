/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_SCHEDULE_CANDIDATES_H
#define WEFT_LIB_SCHEDULE_CANDIDATES_H
#include "lib/schedule/cost.h"
#include "lib/schedule/schedule.h"

typedef struct weft_candidate {
    const char *text; /* of the schedule */
    weft_estimate estimate;
} weft_candidate;

/* Different schedules of one kernel. */
typedef struct weft_candidates {
    weft_arena arena;
    const char *reason; /* why the rules choose the first one; static */
    uint32_t count;
    weft_candidate *items; /* the one that the rules choose, then others, the fastest first as it is estimated */
} weft_candidates;

/* Schedules of an unscheduled kernel that templates give. */
weft_status *weft_candidates_init(const weft_allocator *allocator, const weft_kernel *kernel,
                                  const weft_machine *machine, weft_candidates *out_candidates) WEFT_MUST_USE;
void weft_candidates_finish(weft_candidates *candidates);
#endif
