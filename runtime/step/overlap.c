/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/step/overlap.h"

/* ---- sorting: by heap, which takes no memory ---- */

static void swap(weft_interval *x, weft_interval *y)
{
    weft_interval kept = *x;
    *x = *y;
    *y = kept;
}

static void sift_down(size_t count, weft_interval *heap, size_t at)
{
    for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && heap[child + 1].low > heap[child].low) child++;
        if (heap[child].low <= heap[at].low) return;
        swap(&heap[child], &heap[at]);
        at = child;
    }
}

static bool is_sorted(size_t count, const weft_interval *intervals)
{
    for (size_t i = 1; i < count; i++)
        if (intervals[i - 1].low > intervals[i].low) return false;
    return true;
}

void weft_intervals_sort(size_t count, weft_interval *intervals)
{
    if (!is_sorted(count, intervals)) {
        for (size_t i = count / 2; i-- > 0;) sift_down(count, intervals, i);
        for (size_t left = count; left-- > 1;) {
            swap(&intervals[0], &intervals[left]);
            sift_down(left, intervals, 0);
        }
    }
    uintptr_t reach = 0;
    for (size_t i = 0; i < count; i++) {
        if (intervals[i].high > reach) reach = intervals[i].high;
        intervals[i].reach = reach;
    }
}

/* ---- searching ---- */

bool weft_intervals_meet(size_t count, const weft_interval *sorted)
{
    for (size_t i = 1; i < count; i++)
        if (sorted[i].high != 0 && sorted[i].low < sorted[i - 1].reach) return true;
    return false;
}

size_t weft_intervals_find(size_t count, const weft_interval *sorted, uintptr_t low)
{
    size_t first = 0, end = count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (sorted[middle].low < low) first = middle + 1;
        else end = middle;
    }
    return first;
}
