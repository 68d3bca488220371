/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_PLAN_H
#define WEFT_RUNTIME_PLAN_H
/* The memory planner: places what lives for some steps into one arena, so that what lives at the same time does not
 * overlap. */
#include <weft/base.h>

#define WEFT_PLAN_ALIGNMENT 64

typedef struct weft_plan_item {
    int64_t bytes;        /* 0 is fine, and takes no room */
    uint32_t first, last; /* steps between which it lives, both included */
    int64_t offset;       /* filled in; a multiple of WEFT_PLAN_ALIGNMENT */
} weft_plan_item;

/* Fills the offsets of `items` and the size of the arena. WEFT_OUT_OF_RANGE when a size is negative or their sum
 * overflows. */
weft_status *weft_plan_fill(const weft_allocator *allocator, size_t count, weft_plan_item *items,
                            int64_t *out_bytes) WEFT_MUST_USE;
#endif
