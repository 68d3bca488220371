/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/pass/reduce_windows.h"
#include "lib/composite/composite.h"

/* Windows along several axes of a value, of which a reduction takes in all elements in order. */
typedef struct windows {
    weft_tensor viewed;
    weft_ints order; /* in which the viewed value is permuted before */
    size_t count;
    const weft_attr *attrs[WEFT_MAX_RANK]; /* of each, the last axis last */
    int64_t sizes[WEFT_MAX_RANK];
} windows;

/* Windows of known sizes along axes of their own of what is viewed, where a permute is left out: what is stored in
 * between lies in memory as that does. */
static bool find_windows(weft_tensor x, size_t count, windows *out_windows)
{
    size_t rank = weft_tensor_rank(x);
    if (count < 2 || count >= rank) return false;
    for (size_t i = count; i-- > 0; x = weft_tensor_operand(x, 0)) {
        if (!weft_tensor_is_op(x, WEFT_OP_window)) return false;
        const weft_attr *attrs = weft_tensor_node(x)->attrs;
        if ((size_t)attrs[0].integer >= rank - count) return false;
        for (size_t k = i + 1; k < count; k++)
            if (out_windows->attrs[k][0].integer == attrs[0].integer) return false;
        if (!weft_extent_is_static(attrs[1].extents.extents[0], &out_windows->sizes[i])) return false;
        out_windows->attrs[i] = attrs;
    }
    bool is_permuted = weft_tensor_is_op(x, WEFT_OP_permute);
    out_windows->order = is_permuted ? weft_tensor_node(x)->attrs[0].ints : (weft_ints){0, NULL};
    out_windows->viewed = is_permuted ? weft_tensor_operand(x, 0) : x;
    out_windows->count = count;
    return true;
}

/* The axes of sizes come in the order of windows, all others in that of what is viewed, one of them last: so what is
 * next to an element in memory is no other element of its window, and elements are taken in one by one. */
static bool is_in_order(weft_ints order, weft_ints reduced, size_t viewed_rank)
{
    int64_t viewed = 0, size = 0;
    for (size_t i = 0; i < order.count; i++) {
        bool is_size = (size_t)size < reduced.count && reduced.items[size] == (int64_t)i;
        if (order.items[i] != (is_size ? (int64_t)viewed_rank + size++ : viewed++)) return false;
    }
    return (size_t)order.items[order.count - 1] < viewed_rank;
}

static bool match(const weft_rewrite_site *site, windows *out_windows)
{
    weft_tensor x = site->inputs.items[0];
    weft_ints reduced = site->node->attrs[0].ints;
    if (!weft_tensor_is_op(x, WEFT_OP_permute) || reduced.count == 0) return false;
    weft_ints order = weft_tensor_node(x)->attrs[0].ints;
    return find_windows(weft_tensor_operand(x, 0), reduced.count, out_windows) &&
           is_in_order(order, reduced, order.count - reduced.count);
}

/* The axis of what is viewed along which the windows are. */
static int64_t axis_of(const windows *w, size_t window)
{
    int64_t axis = w->attrs[window][0].integer;
    return w->order.count == 0 ? axis : w->order.items[axis];
}

/* Elements of the axis for each of its windows: the stride, or more where there are few windows, which share little. */
static double elements_for_each(const windows *w, size_t window)
{
    int64_t extent, size = w->sizes[window], stride = w->attrs[window][2].integer;
    int64_t reach = (size - 1) * w->attrs[window][3].integer + 1;
    if (!weft_extent_is_static(weft_tensor_extent(w->viewed, axis_of(w, window)), &extent)) return (double)stride;
    int64_t count = extent < reach ? 0 : (extent - reach) / stride + 1;
    return count > 0 && 2 * count <= size ? (double)(size + (count - 1) * stride) / (double)count : (double)stride;
}

/*
 * Whether it is much fewer elements for each result where windows along the last of the axes are reduced first, for all
 * windows along the others. What is stored in between takes its time: 5 x 5 of 256 channels of 20 x 20 takes 0.3 of the
 * time, with a stride of 2 0.65, 3 x 3 0.84 from L2 but 1.2 from memory (Sapphire Rapids).
 */
static bool is_worth_it(const windows *w)
{
    const double little = 0.6;
    double others = 1, rows = 1, last = (double)w->sizes[w->count - 1];
    for (size_t i = 0; i + 1 < w->count; i++) {
        others *= (double)w->sizes[i];
        rows *= elements_for_each(w, i);
    }
    return last * rows + others <= little * last * others;
}

/* The reduction of windows [first, end) of `x`, which is viewed; axes of sizes come before those of windows. */
static weft_tensor reduce_some(const weft_rewrite_site *site, const windows *w, weft_tensor x, size_t first, size_t end)
{
    size_t rank = weft_tensor_rank(x), count = end - first, at = rank, next = 0;
    int64_t order[WEFT_MAX_RANK];
    for (size_t i = first; i < end; i++) {
        const weft_attr *attrs = w->attrs[i];
        size_t axis = (size_t)axis_of(w, i);
        if (axis < at) at = axis;
        x = weft_window(x, (int64_t)axis, attrs[1].extents.extents[0], attrs[2].integer, attrs[3].integer);
    }
    for (size_t i = 0; i < rank + count; i++) order[i] = (int64_t)(i >= at && i < at + count ? rank + i - at : next++);
    weft_axis_list reduced = weft_axis_range(at, at + count);
    weft_tensor sizes_first = weft_permute(x, (weft_ints){rank + count, order});
    bool greatest = weft_op_id_of(site->node->op) == WEFT_OP_reduce_max;
    return (greatest ? weft_reduce_max : weft_reduce_min)(sizes_first, weft_axis_list_ints(&reduced), false);
}

weft_tensor weft_reduce_windows(const weft_rewrite_site *site)
{
    windows w;
    if (!match(site, &w) || !is_worth_it(&w)) return weft_site_leave();
    weft_tensor rows = reduce_some(site, &w, w.viewed, w.count - 1, w.count);
    weft_tensor all = weft_tensor_is_valid(rows) ? reduce_some(site, &w, rows, 0, w.count - 1) : rows;
    return w.order.count == 0 || !weft_tensor_is_valid(all) ? all : weft_permute(all, w.order);
}

/* Where element `k` of the first window is: at the end of what is viewed, where that is shorter, of which there are no
 * windows then. */
static weft_extent start_of(weft_tensor viewed, const weft_attr *window, int64_t k)
{
    int64_t least, most, start = k * window[3].integer;
    weft_extent extent = weft_tensor_extent(viewed, window[0].integer);
    weft_extent_range(extent, &least, &most);
    return start <= least ? weft_extent_of(start) : weft_extent_min(weft_extent_of(start), extent);
}

/* Element `k` of each window. */
static weft_tensor element_of(weft_tensor window, int64_t k)
{
    const weft_attr *attrs = weft_tensor_node(window)->attrs;
    weft_tensor x = weft_tensor_operand(window, 0);
    size_t rank = weft_tensor_rank(x), axis = (size_t)attrs[0].integer;
    weft_extent starts[WEFT_MAX_RANK], sizes[WEFT_MAX_RANK];
    int64_t steps[WEFT_MAX_RANK];
    for (size_t i = 0; i < rank; i++) {
        starts[i] = i == axis ? start_of(x, attrs, k) : weft_extent_of(0);
        sizes[i] = weft_tensor_extent(window, (int64_t)i);
        steps[i] = i == axis ? attrs[2].integer : 1;
    }
    return weft_slice(x, (weft_shape){rank, starts}, (weft_shape){rank, sizes}, (weft_ints){rank, steps});
}

weft_tensor weft_add_windows(const weft_rewrite_site *site)
{
    enum { MOST = 4 };
    weft_tensor x = site->inputs.items[0];
    weft_ints axes = site->node->attrs[0].ints;
    int64_t size;
    if (!weft_tensor_is_op(x, WEFT_OP_window) || axes.count != 1) return weft_site_leave();
    if ((size_t)axes.items[0] + 1 != weft_tensor_rank(x)) return weft_site_leave();
    weft_dtype dtype = weft_tensor_dtype(x);
    weft_dtype_kind kind = weft_dtype_info_of(dtype)->kind;
    bool is_exact = kind == WEFT_KIND_SIGNED || kind == WEFT_KIND_UNSIGNED;
    if (!is_exact || weft_accumulator_dtype(dtype) != dtype) return weft_site_leave();
    if (!weft_extent_is_static(weft_tensor_extent(x, axes.items[0]), &size) || size < 1 || size > MOST)
        return weft_site_leave();
    weft_tensor sum = element_of(x, 0);
    for (int64_t k = 1; k < size; k++) sum = weft_add(sum, element_of(x, k));
    return sum;
}
