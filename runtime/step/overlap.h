/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_STEP_OVERLAP_H
#define WEFT_RUNTIME_STEP_OVERLAP_H
/* Which arrays of a run share memory, decided on the spans of bytes between the lowest and highest element. */
#include "runtime/step/bound_variant.h"

/* The bytes [low, high) of array `number`; both are 0 for an array that touches none, or is not given. */
typedef struct weft_interval {
    uintptr_t low, high;
    uintptr_t reach; /* the highest `high` up to here, once the intervals are sorted */
    size_t number;
} weft_interval;

static inline bool weft_interval_meets(const weft_interval *x, const weft_interval *y)
{
    return x->low < y->high && y->low < x->high;
}

/* Sorts by `low`, in place: `count` steps where they are sorted already. Fills in `reach`. */
void weft_intervals_sort(size_t count, weft_interval *intervals);
/* Whether two of the sorted intervals meet. */
bool weft_intervals_meet(size_t count, const weft_interval *sorted);
/* The first of the sorted intervals that begins at `low` or later; `count` if there is none. */
size_t weft_intervals_find(size_t count, const weft_interval *sorted, uintptr_t low);
#endif
