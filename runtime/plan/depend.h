/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_PLAN_DEPEND_H
#define WEFT_RUNTIME_PLAN_DEPEND_H
/* Which steps must have run before a step, by what they read and write. */
#include "runtime/step/bound_variant.h"

/* Per buffer of the variant: one that may be the same memory, and stands for it. In `scratch`; NULL: no memory left. */
const uint32_t *weft_depend_memories(const weft_bound_variant *bound, weft_arena *scratch);

/* A sequence of steps; positions count those of it, steps that belong to another one of it left out. */
typedef struct weft_depend {
    size_t count;
    uint32_t *steps; /* number of the step at each position */
    /* Positions that position p needs: before[first[p] .. first[p + 1] - 1], perhaps more than once, all less than p.
     */
    uint32_t *first, *before;
} weft_depend;

/* Of the `count` steps from number `first` on. In `scratch`. */
weft_status *weft_depend_fill(const weft_bound_variant *bound, const uint32_t *memories, size_t first, size_t count,
                              weft_arena *scratch, weft_depend *out_depend) WEFT_MUST_USE;
#endif
