/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/plan/plan.h"
#include <inttypes.h>
#include <string.h>
#include "runtime/base/items.h"
#include "runtime/base/memory.h"

/*
 * Greedy by size: the largest item first, each into the smallest gap that fits between the items already placed that
 * live at the same time, or after them. `placed` is kept in order of offsets.
 */

static int64_t round_up(int64_t bytes)
{
    return (bytes + WEFT_PLAN_ALIGNMENT - 1) / WEFT_PLAN_ALIGNMENT * WEFT_PLAN_ALIGNMENT;
}

static bool is_before(weft_plan_time x, weft_plan_time y)
{
    if (x.phase != y.phase) return x.phase < y.phase;
    return x.branch == y.branch && x.branch != WEFT_PLAN_SEVERAL && x.step < y.step;
}

weft_plan_time weft_plan_earlier(weft_plan_time x, weft_plan_time y)
{
    if (x.phase != y.phase) return x.phase < y.phase ? x : y;
    if (x.branch != y.branch) return (weft_plan_time){x.phase, WEFT_PLAN_SEVERAL, 0};
    return x.step < y.step ? x : y;
}

weft_plan_time weft_plan_later(weft_plan_time x, weft_plan_time y)
{
    if (x.phase != y.phase) return x.phase < y.phase ? y : x;
    if (x.branch != y.branch) return (weft_plan_time){x.phase, WEFT_PLAN_SEVERAL, 0};
    return x.step < y.step ? y : x;
}

static bool live_together(const weft_plan_item *x, const weft_plan_item *y)
{
    return !is_before(x->last, y->first) && !is_before(y->last, x->first);
}

static int64_t best_offset(const weft_plan_item *item, size_t count, weft_plan_item *const *placed)
{
    int64_t end = 0, best = -1, best_gap = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        if (!live_together(item, placed[i])) continue;
        int64_t gap = placed[i]->offset - end;
        if (gap >= item->bytes && gap < best_gap) {
            best = end;
            best_gap = gap;
        }
        int64_t after = placed[i]->offset + round_up(placed[i]->bytes);
        if (after > end) end = after;
    }
    return best >= 0 ? best : end;
}

static void insert(size_t count, weft_plan_item **placed, weft_plan_item *item)
{
    size_t at = count;
    while (at > 0 && placed[at - 1]->offset > item->offset) at--;
    memmove(placed + at + 1, placed + at, (count - at) * sizeof(*placed));
    placed[at] = item;
}

/* Larger first; equal ones in the caller's order, so that the plan depends on nothing else. */
static int compare(const void *a, const void *b)
{
    const weft_plan_item *x = *(weft_plan_item *const *)a, *y = *(weft_plan_item *const *)b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return x < y ? -1 : x > y;
}

static weft_status *check_sizes(const weft_allocator *allocator, size_t count, const weft_plan_item *items)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (items[i].bytes >= 0 && !__builtin_add_overflow(sum, items[i].bytes, &sum) &&
            !__builtin_add_overflow(sum, WEFT_PLAN_ALIGNMENT, &sum))
            continue;
        return weft_status_create(allocator, WEFT_OUT_OF_RANGE, "weft_executor_run",
                                  "intermediate %zu has %" PRId64 " bytes, with which their sum does not fit an int64",
                                  i, items[i].bytes);
    }
    return NULL;
}

weft_status *weft_plan_fill(const weft_allocator *allocator, size_t count, weft_plan_item *items, int64_t *out_bytes)
{
    WEFT_TRY(check_sizes(allocator, count, items));
    size_t room = 2 * count * sizeof(weft_plan_item *);
    weft_plan_item **order = weft_allocate(allocator, room);
    if (order == NULL) return weft_status_out_of_memory();
    weft_plan_item **placed = order + count;
    for (size_t i = 0; i < count; i++) order[i] = &items[i];
    weft_items_sort(order, count, sizeof(*order), compare);
    int64_t total = 0;
    size_t placed_count = 0;
    for (size_t i = 0; i < count; i++) {
        order[i]->offset = order[i]->bytes == 0 ? 0 : best_offset(order[i], placed_count, placed);
        if (order[i]->bytes == 0) continue;
        int64_t end = order[i]->offset + round_up(order[i]->bytes);
        if (end > total) total = end;
        insert(placed_count++, placed, order[i]);
    }
    weft_free(allocator, order, room);
    *out_bytes = total;
    return NULL;
}
