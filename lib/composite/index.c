/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numpy's indexing, composed of slice, gather, dynamic update slice and scatter. Items become a plan: what is taken
 * along each axis of x, and where each axis of the result comes from. Reading and writing both follow it.
 */
#include <weft/index.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "lib/composite/composite.h"
#include "lib/graph/indexing.h"

/* What is taken along an axis of x. */
typedef struct taken_axis {
    weft_index_kind kind; /* RANGE, ONE, TENSOR */
    weft_extent start, size;
    int64_t step;
    bool whole;
    weft_tensor indices;
} taken_axis;

/* Where an axis of the result comes from: an axis of x, one of the index tensors' shape, or nowhere. */
typedef struct made_axis {
    enum { FROM_DATA, FROM_INDICES, NEW } from;
    size_t axis;
} made_axis;

typedef struct plan {
    weft_tensor x;
    size_t rank; /* of x */
    taken_axis axes[WEFT_MAX_RANK];
    size_t picked_count;
    weft_tensor picked[WEFT_MAX_RANK]; /* index tensors, of one shape */
    int64_t picked_axes[WEFT_MAX_RANK];
    size_t index_rank;
    size_t made_count;
    made_axis made[2 * WEFT_MAX_RANK];
} plan;

static const char function[] = "index";

static weft_extent constant(int64_t value)
{
    return weft_extent_of(value);
}

static weft_extent clip(weft_extent e, weft_extent low, weft_extent high)
{
    return weft_extent_min(weft_extent_max(e, low), high);
}

static bool is_open(weft_extent bound)
{
    int64_t value;
    return weft_extent_is_static(bound, &value) && value == -INT64_MAX;
}

/* Of two extents of which one is symbolic. */
static bool is_proven(weft_extent low, weft_extent high)
{
    weft_graph *graph = low.graph != NULL ? low.graph : high.graph;
    return weft_guard_is_proven(graph, WEFT_GUARD_AT_MOST, low, high);
}

/* A bound counted from the start: what is negative has the extent added. One that is negative only where there are no
 * elements stays. */
static weft_extent from_start(weft_extent bound, weft_extent extent)
{
    int64_t low, high;
    weft_extent_range(bound, &low, &high);
    if (low >= 0) return bound;
    if (high < 0) return weft_extent_add(bound, extent);
    if (is_proven(constant(0), bound) || is_proven(weft_extent_add(extent, constant(-1)), bound)) return bound;
    weft_extent opposite = weft_extent_sub(constant(0), bound);
    weft_extent is_negative = clip(opposite, constant(0), constant(1));
    return weft_extent_add(bound, weft_extent_mul(extent, is_negative));
}

/* ---- what each item takes ---- */

static bool check_bound(const plan *p, size_t axis, const char *what, weft_extent bound)
{
    char name[64];
    snprintf(name, sizeof name, "the %s of axis %zu", what, axis);
    return weft_composite_wants_own(p->x.graph, function, name, bound);
}

static bool take_range(plan *p, size_t axis, const weft_index_item *item)
{
    if (!check_bound(p, axis, "start", item->start) || !check_bound(p, axis, "stop", item->stop)) return false;
    weft_extent n = weft_tensor_extent(p->x, (int64_t)axis), start, stop, way;
    int64_t step = item->step == INT64_MIN ? -INT64_MAX : item->step;
    bool up = step > 0;
    if (step == 0) {
        weft_trace_fail(p->x.graph, WEFT_INVALID_ARGUMENT, function, "the range of axis %zu has step 0", axis);
        return false;
    }
    weft_extent low = constant(up ? 0 : -1), high = up ? n : weft_extent_sub(n, constant(1));
    start = is_open(item->start) ? (up ? low : high) : clip(from_start(item->start, n), low, high);
    stop = is_open(item->stop) ? (up ? high : low) : clip(from_start(item->stop, n), low, high);
    way = weft_extent_max(up ? weft_extent_sub(stop, start) : weft_extent_sub(start, stop), constant(0));
    taken_axis *taken = &p->axes[axis];
    *taken = (taken_axis){
        .kind = WEFT_INDEX_RANGE, .start = start, .size = weft_extent_steps(way, up ? step : -step), .step = step};
    taken->whole = step == 1 && weft_extent_equal(taken->size, n);
    return true;
}

static bool take_one(plan *p, size_t axis, const weft_index_item *item)
{
    static const char sentence[] = "index: index %s is out of range for axis %zu of extent %s";
    weft_extent n = weft_tensor_extent(p->x, (int64_t)axis);
    weft_extent_text given = weft_extent_describe(item->start), extent = weft_extent_describe(n);
    bool natural = item->start.graph == NULL && !weft_extent_is_valid(item->start) && item->step < 0;
    if (natural) snprintf(given.text, sizeof given.text, "%" PRIu64, (uint64_t)item->step);
    else if (!check_bound(p, axis, "index", item->start)) return false;
    bool beyond = natural || weft_extent_is_value(item->start, INT64_MAX); /* of any extent */
    weft_extent at = beyond ? constant(-1) : from_start(item->start, n);
    p->axes[axis] = (taken_axis){.kind = WEFT_INDEX_ONE, .start = at, .size = constant(1), .step = 1};
    return weft_require_at_most(p->x.graph, constant(0), at, sentence, given.text, axis, extent.text) &&
           weft_require_at_most(p->x.graph, weft_extent_add(at, constant(1)), n, sentence, given.text, axis,
                                extent.text);
}

static bool take_tensor(plan *p, size_t axis, const weft_index_item *item)
{
    weft_tensor indices = item->indices;
    const char *fault = weft_tensor_enter(p->x.graph, &indices);
    if (fault != NULL)
        weft_trace_fail(p->x.graph, WEFT_INVALID_ARGUMENT, function, "the index tensor of axis %zu %s", axis, fault);
    if (fault != NULL || !weft_tensor_is_valid(indices)) return false;
    if (weft_tensor_dtype(indices) == WEFT_BOOL) {
        weft_trace_fail(p->x.graph, WEFT_UNSUPPORTED, function,
                        "axis %zu is indexed by a mask, and how many elements it takes is not known before the run; "
                        "use weft_select, or indices",
                        axis);
        return false;
    }
    p->axes[axis] = (taken_axis){.kind = WEFT_INDEX_TENSOR, .start = constant(0), .step = 1, .whole = true};
    p->axes[axis].size = weft_tensor_extent(p->x, (int64_t)axis);
    p->axes[axis].indices = indices;
    p->picked[p->picked_count] = indices;
    p->picked_axes[p->picked_count++] = (int64_t)axis;
    return true;
}

static bool take(plan *p, size_t axis, const weft_index_item *item)
{
    switch (item->kind) {
    case WEFT_INDEX_RANGE: return take_range(p, axis, item);
    case WEFT_INDEX_ONE: return take_one(p, axis, item);
    default: return take_tensor(p, axis, item);
    }
}

static bool takes_axis(const weft_index_item *item)
{
    return item->kind != WEFT_INDEX_NEW_AXIS && item->kind != WEFT_INDEX_ELLIPSIS;
}

/* Counts what the items take; false with an error when they do not fit x. */
static bool check_items(weft_tensor x, weft_index_items items, size_t *out_left)
{
    size_t axes = 0, ellipses = 0, added = 0, rank = weft_tensor_rank(x);
    if (items.count > 0 && items.items == NULL) {
        weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, function, "the items are NULL");
        return false;
    }
    for (size_t i = 0; i < items.count; i++) {
        if ((unsigned)items.items[i].kind > WEFT_INDEX_TENSOR) {
            weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, function, "item %zu has kind %d, which does not exist", i,
                            (int)items.items[i].kind);
            return false;
        }
        axes += takes_axis(&items.items[i]);
        ellipses += items.items[i].kind == WEFT_INDEX_ELLIPSIS;
        added += items.items[i].kind == WEFT_INDEX_NEW_AXIS;
    }
    if (axes > rank || ellipses > 1 || added > WEFT_MAX_RANK) {
        if (axes > rank)
            weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, function,
                            "there are indices for %zu axes, but the tensor has rank %zu", axes, rank);
        else if (ellipses > 1)
            weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, function, "there are %zu ellipses: one is possible",
                            ellipses);
        else
            weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, function, "there are %zu new axes, and %d at most", added,
                            WEFT_MAX_RANK);
        return false;
    }
    *out_left = rank - axes;
    return true;
}

/* ---- the plan ---- */

static void make(plan *p, size_t at, made_axis axis)
{
    memmove(&p->made[at + 1], &p->made[at], (p->made_count++ - at) * sizeof *p->made);
    p->made[at] = axis;
}

static bool take_whole(plan *p, size_t *axis, size_t count)
{
    static const weft_index_item all = {
        .kind = WEFT_INDEX_RANGE, .step = 1, .start = {NULL, -INT64_MAX}, .stop = {NULL, -INT64_MAX}};
    for (size_t i = 0; i < count; i++) {
        make(p, p->made_count, (made_axis){FROM_DATA, *axis});
        if (!take(p, (*axis)++, &all)) return false;
    }
    return true;
}

/* Puts the axes of the index tensors where numpy does: `front` is where the first of them stood. */
static bool place_indices(plan *p, size_t front, bool adjacent)
{
    if (p->picked_count == 0) return true;
    if (!weft_trace_broadcast(WEFT_OP_gather, 0, p->picked_count, p->picked)) return false;
    p->index_rank = weft_tensor_rank(p->picked[0]);
    size_t rank = p->made_count + p->index_rank;
    if (rank > WEFT_MAX_RANK) {
        weft_trace_fail(p->x.graph, WEFT_INVALID_ARGUMENT, function, "the result would have rank %zu, over %d", rank,
                        WEFT_MAX_RANK);
        return false;
    }
    for (size_t i = 0; i < p->index_rank; i++) make(p, (adjacent ? front : 0) + i, (made_axis){FROM_INDICES, i});
    return true;
}

static bool make_plan(weft_tensor x, weft_index_items items, plan *p)
{
    size_t left = 0, axis = 0, front = 0;
    enum { NONE, INSIDE, BEHIND, APART } state = NONE; /* of the run of single indices and index tensors */
    memset(p, 0, sizeof *p);
    p->x = x;
    p->rank = weft_tensor_rank(x);
    if (!check_items(x, items, &left)) return false;
    for (size_t i = 0; i < items.count; i++) {
        const weft_index_item *item = &items.items[i];
        bool advanced = item->kind == WEFT_INDEX_ONE || item->kind == WEFT_INDEX_TENSOR;
        if (advanced && state == NONE) front = p->made_count;
        if (advanced) state = state == BEHIND || state == APART ? APART : INSIDE;
        else if (state == INSIDE) state = BEHIND;
        if (item->kind == WEFT_INDEX_NEW_AXIS) make(p, p->made_count, (made_axis){NEW, 0});
        if (item->kind == WEFT_INDEX_RANGE) make(p, p->made_count, (made_axis){FROM_DATA, axis});
        if (item->kind == WEFT_INDEX_ELLIPSIS && !take_whole(p, &axis, left)) return false;
        if (item->kind == WEFT_INDEX_ELLIPSIS) left = 0;
        if (takes_axis(item) && !take(p, axis++, item)) return false;
    }
    return take_whole(p, &axis, left) && place_indices(p, front, state != APART);
}

/* ---- reading ---- */

/* The elements of x that ranges and single indices take; single ones are gone. */
static weft_tensor read_ranges(const plan *p)
{
    weft_extent starts[WEFT_MAX_RANK], sizes[WEFT_MAX_RANK], kept[WEFT_MAX_RANK];
    int64_t steps[WEFT_MAX_RANK];
    size_t count = 0;
    bool whole = true;
    for (size_t i = 0; i < p->rank; i++) {
        const taken_axis *taken = &p->axes[i];
        starts[i] = taken->start;
        sizes[i] = taken->size;
        steps[i] = taken->step;
        whole &= taken->whole;
        if (taken->kind != WEFT_INDEX_ONE) kept[count++] = taken->size;
    }
    if (whole) return p->x;
    weft_tensor y =
        weft_slice(p->x, (weft_shape){p->rank, starts}, (weft_shape){p->rank, sizes}, (weft_ints){p->rank, steps});
    return count == p->rank ? y : weft_reshape(y, (weft_shape){count, kept});
}

/* `y` with axis i moved to where `order` has i; unchanged where that is so already. */
static weft_tensor reorder(weft_tensor y, size_t count, const int64_t *order)
{
    bool same = true;
    for (size_t i = 0; i < count; i++) same &= order[i] == (int64_t)i;
    return same ? y : weft_permute(y, (weft_ints){count, order});
}

static size_t count_new(const plan *p)
{
    size_t count = 0;
    for (size_t i = 0; i < p->made_count; i++) count += p->made[i].from == NEW;
    return count;
}

/* Axis of what is gathered that an axis of the result is. */
static int64_t gathered_axis(const plan *p, made_axis axis)
{
    size_t lowest = p->picked_count > 0 ? (size_t)p->picked_axes[0] : p->rank, at = 0;
    for (size_t i = 0; i < p->rank; i++) {
        if (i == lowest && axis.from == FROM_INDICES) return (int64_t)(at + axis.axis);
        if (i == lowest) at += p->index_rank;
        if (axis.from == FROM_DATA && i == axis.axis) return (int64_t)at;
        at += p->axes[i].kind == WEFT_INDEX_RANGE;
    }
    return (int64_t)at;
}

static weft_tensor add_new_axes(const plan *p, weft_tensor y)
{
    weft_extent extents[2 * WEFT_MAX_RANK];
    if (count_new(p) == 0 || !weft_tensor_is_valid(y)) return y;
    for (size_t i = 0, n = 0; i < p->made_count; i++)
        extents[i] = p->made[i].from == NEW ? constant(1) : weft_tensor_extent(y, (int64_t)n++);
    return weft_reshape(y, (weft_shape){p->made_count, extents});
}

static weft_tensor read_plan(const plan *p)
{
    weft_tensor y = read_ranges(p), picked[WEFT_MAX_RANK];
    int64_t axes[WEFT_MAX_RANK], order[WEFT_MAX_RANK];
    size_t count = 0;
    for (size_t i = 0; i < p->picked_count; i++) {
        picked[i] = p->picked[i];
        axes[i] = p->picked_axes[i];
        for (int64_t k = 0; k < p->picked_axes[i]; k++) axes[i] -= p->axes[k].kind == WEFT_INDEX_ONE;
    }
    if (p->picked_count > 0)
        y = weft_gather_axes(y, (weft_tensors){p->picked_count, picked}, (weft_ints){p->picked_count, axes});
    if (!weft_tensor_is_valid(y)) return y;
    for (size_t i = 0; i < p->made_count; i++)
        if (p->made[i].from != NEW) order[count++] = gathered_axis(p, p->made[i]);
    return add_new_axes(p, reorder(y, count, order));
}

/* The graph of an operand or, where none has one, of an index tensor. */
static weft_graph *find_graph(weft_tensors operands, weft_index_items items)
{
    weft_graph *graph = weft_trace_graph(operands);
    for (size_t i = 0; graph == NULL && items.items != NULL && i < items.count; i++)
        if (items.items[i].kind == WEFT_INDEX_TENSOR)
            graph = weft_trace_graph((weft_tensors){1, &items.items[i].indices});
    return graph;
}

static weft_tensor read_items(weft_tensor x, weft_index_items items)
{
    plan p;
    weft_graph *graph = find_graph((weft_tensors){1, &x}, items);
    if (graph == NULL || !weft_trace_enter(graph, function, 1, &x) || !make_plan(x, items, &p))
        return weft_tensor_failed(graph);
    return read_plan(&p);
}

weft_tensor weft_index(weft_tensor x, weft_index_items items)
{
    weft_guard_scope scope = weft_guards_open(x.graph);
    weft_tensor result = read_items(x, items);
    weft_guards_close(scope, 1, &result);
    return result;
}

/* ---- writing ---- */

static weft_extent made_extent(const plan *p, made_axis made)
{
    if (made.from == NEW) return constant(1);
    return made.from == FROM_DATA ? p->axes[made.axis].size : weft_tensor_extent(p->picked[0], (int64_t)made.axis);
}

/* Whether the value can take the place of x[items]. */
static bool fits_items(const plan *p, weft_tensor value)
{
    weft_graph *graph = p->x.graph;
    size_t rank = weft_tensor_rank(value);
    if (!weft_composite_wants_dtype("index_update", (weft_named){"the value", value}, (weft_named){"x", p->x}))
        return false;
    if (rank > p->made_count) {
        weft_trace_fail(graph, WEFT_SHAPE_MISMATCH, "index_update", "the value has rank %zu but x[items] has %zu", rank,
                        p->made_count);
        return false;
    }
    for (size_t i = 0; i < rank; i++) {
        size_t at = p->made_count - rank + i;
        weft_extent own = weft_tensor_extent(value, (int64_t)i), wanted = made_extent(p, p->made[at]);
        if (weft_extent_is_value(own, 1)) continue;
        if (!weft_extent_never_equal(graph, own, wanted)) continue;
        weft_trace_fail(graph, WEFT_SHAPE_MISMATCH, "index_update",
                        "axis %zu of the value has extent %s but axis %zu of x[items] has %s", i,
                        weft_extent_describe(own).text, at, weft_extent_describe(wanted).text);
        return false;
    }
    return true;
}

/* The value with the shape of the result, without its new axes. */
static weft_tensor shape_value(const plan *p, weft_tensor value)
{
    weft_extent full[2 * WEFT_MAX_RANK], plain[WEFT_MAX_RANK];
    size_t count = 0;
    for (size_t i = 0; i < p->made_count; i++) {
        full[i] = made_extent(p, p->made[i]);
        if (p->made[i].from != NEW) plain[count++] = full[i];
    }
    value = weft_broadcast(value, (weft_shape){p->made_count, full});
    if (count == p->made_count || !weft_tensor_is_valid(value)) return value;
    return weft_reshape(value, (weft_shape){count, plain});
}

/* Where an axis of x or of the index tensors is in the value. */
static int64_t value_axis(const plan *p, int from, size_t axis)
{
    int64_t at = 0;
    for (size_t i = 0; i < p->made_count; i++) {
        if ((int)p->made[i].from == from && p->made[i].axis == axis) return at;
        at += p->made[i].from != NEW;
    }
    return -1;
}

/* Ranges of steps 1 and -1 and single indices only: one block of x is replaced. */
static bool is_block(const plan *p)
{
    bool block = p->picked_count == 0;
    for (size_t i = 0; i < p->rank; i++) block &= p->axes[i].step == 1 || p->axes[i].step == -1;
    return block;
}

static weft_tensor write_block(const plan *p, weft_tensor value)
{
    weft_extent sizes[WEFT_MAX_RANK];
    weft_tensor starts[WEFT_MAX_RANK];
    int64_t axes[WEFT_MAX_RANK], flipped[WEFT_MAX_RANK];
    size_t count = 0, flips = 0;
    for (size_t i = 0; i < p->rank; i++) {
        const taken_axis *taken = &p->axes[i];
        weft_extent start = taken->start;
        sizes[i] = taken->size;
        if (taken->whole) continue;
        if (taken->step < 0) {
            flipped[flips++] = (int64_t)i;
            start = weft_extent_sub(weft_extent_add(start, constant(1)), taken->size);
        }
        axes[count] = (int64_t)i;
        starts[count++] = weft_extent_tensor(p->x.graph, start);
    }
    if (weft_tensor_rank(value) < p->rank) value = weft_reshape(value, (weft_shape){p->rank, sizes});
    if (flips > 0) value = weft_flip(value, (weft_ints){flips, flipped});
    return weft_dynamic_update_slice(p->x, value, (weft_tensors){count, starts}, (weft_ints){count, axes});
}

/* The places along a range as an index tensor, its axis `before` the last ones. */
static weft_tensor range_indices(const plan *p, const taken_axis *taken, size_t before)
{
    weft_extent extents[2 * WEFT_MAX_RANK] = {taken->size};
    weft_graph *graph = p->x.graph;
    for (size_t i = 1; i <= before; i++) extents[i] = constant(1);
    weft_tensor number = weft_iota(graph, WEFT_I64, (weft_shape){before + 1, extents}, 0);
    weft_tensor step = weft_constant(graph, WEFT_I64, (weft_ints){0, NULL}, &taken->step);
    return weft_add(weft_mul(number, step), weft_extent_tensor(graph, taken->start));
}

/* Every axis that is not taken whole has an index tensor; those of ranges come before those given. */
static weft_tensor write_places(const plan *p, weft_tensor value, weft_scatter_mode mode)
{
    weft_tensor indices[WEFT_MAX_RANK];
    int64_t axes[WEFT_MAX_RANK], order[WEFT_MAX_RANK];
    size_t count = 0, ranges = 0, picked = 0, ordered = 0;
    for (size_t i = 0; i < p->rank; i++) ranges += p->axes[i].kind == WEFT_INDEX_RANGE && !p->axes[i].whole;
    size_t left = ranges;
    for (size_t i = 0; i < p->rank; i++) {
        const taken_axis *taken = &p->axes[i];
        if (taken->kind == WEFT_INDEX_RANGE && taken->whole) {
            order[ordered++] = value_axis(p, FROM_DATA, i);
            continue;
        }
        for (size_t k = i; count == 0 && k < p->rank; k++)
            if (p->axes[k].kind == WEFT_INDEX_RANGE && !p->axes[k].whole)
                order[ordered++] = value_axis(p, FROM_DATA, k);
        for (size_t k = 0; count == 0 && k < p->index_rank; k++) order[ordered++] = value_axis(p, FROM_INDICES, k);
        axes[count] = (int64_t)i;
        indices[count++] = taken->kind == WEFT_INDEX_TENSOR ? p->picked[picked++]
                           : taken->kind == WEFT_INDEX_ONE  ? weft_extent_tensor(p->x.graph, taken->start)
                                                            : range_indices(p, taken, --left + p->index_rank);
    }
    return weft_scatter(p->x, (weft_tensors){count, indices}, (weft_ints){count, axes}, reorder(value, ordered, order),
                        mode);
}

static weft_tensor combine(weft_scatter_mode mode, weft_tensor old, weft_tensor value)
{
    switch (mode) {
    case WEFT_SCATTER_ADD: return weft_add(old, value);
    case WEFT_SCATTER_MUL: return weft_mul(old, value);
    case WEFT_SCATTER_MAX: return weft_max(old, value);
    case WEFT_SCATTER_MIN: return weft_min(old, value);
    default: return value;
    }
}

static weft_tensor write_items(weft_tensor x, weft_tensor value, weft_scatter_mode mode, weft_index_items items)
{
    plan p;
    weft_tensor operands[] = {x, value};
    weft_graph *graph = find_graph((weft_tensors){2, operands}, items);
    if (graph == NULL || !weft_trace_enter(graph, "index_update", 2, operands)) return weft_tensor_failed(graph);
    value = operands[1];
    if (weft_scatter_mode_name((size_t)mode) == NULL)
        return weft_trace_fail(graph, WEFT_INVALID_ARGUMENT, "index_update", "%d is not a weft_scatter_mode",
                               (int)mode);
    weft_op_id op;
    weft_dtype dtype = weft_tensor_dtype(operands[0]);
    weft_scatter_mode_find(weft_scatter_mode_name((size_t)mode), &op);
    if (!weft_scatter_op_takes(op, dtype)) {
        return weft_trace_fail(graph, WEFT_DTYPE_MISMATCH, "index_update", "mode %s does not take dtype %s",
                               weft_scatter_mode_name((size_t)mode), weft_dtype_name(dtype));
    }
    if (!make_plan(operands[0], items, &p) || !fits_items(&p, value)) return weft_tensor_failed(graph);
    if (is_block(&p)) {
        value = combine(mode, read_plan(&p), value);
        if (!weft_tensor_is_valid(value)) return value;
    }
    value = shape_value(&p, value);
    if (!weft_tensor_is_valid(value)) return value;
    return is_block(&p) ? write_block(&p, value) : write_places(&p, value, mode);
}

weft_tensor weft_index_update(weft_tensor x, weft_tensor value, weft_scatter_mode mode, weft_index_items items)
{
    weft_guard_scope scope = weft_guards_open(x.graph);
    weft_tensor result = write_items(x, value, mode, items);
    weft_guards_close(scope, 1, &result);
    return result;
}
