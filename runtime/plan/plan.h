/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_PLAN_PLAN_H
#define WEFT_RUNTIME_PLAN_PLAN_H
/* The memory planner: packs items with lifetimes into one arena, so that items that may live at the same time do not
 * overlap. */
#include <weft/base.h>

#define WEFT_PLAN_ALIGNMENT 64
/* The branch of what happens in several. */
#define WEFT_PLAN_SEVERAL UINT32_MAX

/* When something happens: phases follow each other; within one its branches run side by side, each step by step. */
typedef struct weft_plan_time {
    uint32_t phase, branch, step;
} weft_plan_time;

typedef struct weft_plan_item {
    int64_t bytes;              /* 0 is fine, and takes no room */
    weft_plan_time first, last; /* times between which it lives, both included */
    int64_t offset;             /* filled in; a multiple of WEFT_PLAN_ALIGNMENT */
} weft_plan_item;

/* The time from which on, or up to which, what happens at both times is over; of one phase and several branches, all of
 * that phase. */
weft_plan_time weft_plan_earlier(weft_plan_time x, weft_plan_time y);
weft_plan_time weft_plan_later(weft_plan_time x, weft_plan_time y);

/* Fills the offsets of `items` and the size of the arena. WEFT_OUT_OF_RANGE when a size is negative or their sum
 * overflows. */
weft_status *weft_plan_fill(const weft_allocator *allocator, size_t count, weft_plan_item *items,
                            int64_t *out_bytes) WEFT_MUST_USE;
#endif
