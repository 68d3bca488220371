/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/ref/ordered.h"
#include <complex.h>
#include <math.h>
#include <string.h>

typedef weft_ordered_parts parts;

/* One sum, or one chunk of it. */
typedef struct walk {
    const weft_ordered_sum *sum;
    const int64_t *positions;
    const struct walk *chunks; /* not NULL: what is added up are the chunks of that sum */
    bool single, is_complex;   /* added up in f32; complex numbers */
    int64_t index[WEFT_MAX_RANK];
    parts lanes[WEFT_ORDER_MOST_LANES];
} walk;

static double fused(const walk *w, double a, double b, double sum)
{
    return w->single ? fmaf((float)a, (float)b, (float)sum) : fma(a, b, sum);
}

static double added(const walk *w, double a, double b)
{
    return w->single ? (float)a + (float)b : a + b;
}

static double multiplied(const walk *w, double a, double b)
{
    return w->single ? (float)a * (float)b : a * b;
}

static bool multiplies(const walk *w)
{
    return w->sum->op == WEFT_OP_reduce_prod;
}

static parts combined(const walk *w, parts a, parts b)
{
    if (!multiplies(w)) return (parts){added(w, a.re, b.re), added(w, a.im, b.im)};
    if (!w->is_complex) return (parts){multiplied(w, a.re, b.re), 0};
    return (parts){added(w, multiplied(w, a.re, b.re), -multiplied(w, a.im, b.im)),
                   added(w, multiplied(w, a.re, b.im), multiplied(w, a.im, b.re))};
}

static parts start(const walk *w)
{
    return (parts){multiplies(w), 0};
}

static void clear(walk *w)
{
    for (uint32_t i = 0; i < w->sum->reduction.lanes; i++) w->lanes[i] = start(w);
}

static parts parts_of(const walk *w, weft_element value)
{
    if (!w->is_complex) return (parts){(double)value.real, 0};
    return (parts){(double)creall(value.number), (double)cimagl(value.number)};
}

static weft_element element_of(const walk *w, parts value)
{
    if (!w->is_complex) return (weft_element){.real = value.re};
    return (weft_element){.number = weft_element_complex(value.re, value.im)};
}

static parts element(const walk *w, size_t operand)
{
    const weft_view *view = &w->sum->operands[operand];
    int64_t position = w->positions[operand];
    for (uint32_t i = 0; i < w->sum->reduction.axis_count; i++) position += w->index[i] * w->sum->strides[operand][i];
    return parts_of(w, weft_element_load(view->dtype, weft_view_nth(view, position)));
}

static void take_product(const walk *w, parts *sum)
{
    parts x = element(w, 0), y = element(w, 1);
    sum->re = fused(w, x.re, y.re, sum->re);
    if (!w->is_complex) return;
    sum->im = fused(w, x.re, y.im, sum->im);
    sum->re = fused(w, x.im, -y.im, sum->re);
    sum->im = fused(w, x.im, y.re, sum->im);
}

/* The axes of a group are one range, the last one fastest. */
static uint32_t group_end(const weft_reduction *reduction, uint32_t group)
{
    return group + 1 < reduction->group_count ? reduction->group_first[group + 1] : reduction->axis_count;
}

static int64_t group_extent(const weft_ordered_sum *sum, uint32_t group)
{
    int64_t extent = 1;
    for (uint32_t i = sum->reduction.group_first[group]; i < group_end(&sum->reduction, group); i++)
        extent *= sum->extents[i];
    return extent;
}

static void place(walk *w, uint32_t group, int64_t position)
{
    const weft_ordered_sum *sum = w->sum;
    for (uint32_t i = group_end(&sum->reduction, group); i-- > sum->reduction.group_first[group];) {
        w->index[i] = position % sum->extents[i];
        position /= sum->extents[i];
    }
}

static int64_t lanes_of(const walk *w, uint32_t group)
{
    return group + 1 >= w->sum->reduction.group_count ? w->sum->reduction.lanes : 1;
}

static parts chunk_at(const walk *whole, int64_t number);
static void add_span(walk *w, uint32_t group, int64_t begin, int64_t end);

/* The span by itself; then what it gives goes into what was there. */
static void add_block(walk *w, uint32_t group, int64_t begin, int64_t end)
{
    parts before[WEFT_ORDER_MOST_LANES];
    memcpy(before, w->lanes, sizeof before);
    clear(w);
    add_span(w, group, begin, end);
    for (uint32_t i = 0; i < w->sum->reduction.lanes; i++) w->lanes[i] = combined(w, before[i], w->lanes[i]);
}

static void add_group(walk *w, uint32_t group)
{
    int64_t extent = group_extent(w->sum, group);
    bool afresh = w->sum->reduction.blocks == WEFT_BLOCKS_NESTED && group > 0;
    if (afresh && extent > WEFT_ORDER_SHORT * lanes_of(w, group)) add_block(w, group, 0, extent);
    else add_span(w, group, 0, extent);
}

static void add_point(walk *w, uint32_t group, int64_t i)
{
    parts *lane = &w->lanes[i % lanes_of(w, group)];
    if (w->chunks != NULL) {
        *lane = combined(w, *lane, chunk_at(w->chunks, i));
        return;
    }
    place(w, group, i);
    if (group + 1 < w->sum->reduction.group_count) add_group(w, group + 1);
    else if (w->sum->op == WEFT_OP_dot) take_product(w, lane);
    else *lane = combined(w, *lane, element(w, 0));
}

/* Positions [begin, end) of a group, with all of the groups after it. */
static void add_span(walk *w, uint32_t group, int64_t begin, int64_t end)
{
    bool nested = w->sum->reduction.blocks == WEFT_BLOCKS_NESTED;
    int64_t size = nested ? WEFT_ORDER_BLOCK * lanes_of(w, group) : w->sum->reduction.blocks;
    if (end - begin <= size) {
        for (int64_t i = begin; i < end; i++) add_point(w, group, i);
        return;
    }
    while (nested && size < (end - begin + WEFT_ORDER_BLOCK - 1) / WEFT_ORDER_BLOCK) size *= WEFT_ORDER_BLOCK;
    add_span(w, group, begin, begin + size);
    for (int64_t i = begin + size; i < end; i += size) add_block(w, group, i, i + size < end ? i + size : end);
}

static parts fold(walk *w)
{
    for (uint32_t half = w->sum->reduction.lanes / 2; half > 0; half /= 2)
        for (uint32_t i = 0; i < half; i++) w->lanes[i] = combined(w, w->lanes[i], w->lanes[i + half]);
    return w->lanes[0];
}

static parts chunk_at(const walk *whole, int64_t number)
{
    walk chunk = *whole;
    int64_t size = whole->sum->reduction.chunk, first = number * size, all = group_extent(whole->sum, 0);
    clear(&chunk);
    add_span(&chunk, 0, first, first + size < all ? first + size : all);
    return fold(&chunk);
}

bool weft_ordered_sum_init(const weft_reference_call *call, weft_ordered_sum *out_sum)
{
    *out_sum = (weft_ordered_sum){.op = weft_op_id_of(call->op), .operands = call->inputs};
    weft_reduction_fill(call->graph, call->node, &out_sum->reduction);
    return call->run->reference->ordered && out_sum->reduction.blocks != WEFT_BLOCKS_NONE;
}

static walk walk_of(const weft_ordered_sum *sum, const int64_t *positions)
{
    weft_dtype dtype = sum->operands[0].dtype, part = weft_dtype_component(weft_accumulator_dtype(dtype));
    return (walk){.sum = sum,
                  .positions = positions,
                  .single = part == WEFT_F32,
                  .is_complex = weft_element_kind(dtype) == WEFT_KIND_COMPLEX};
}

weft_element weft_ordered_sum_at(const weft_ordered_sum *sum, const int64_t *positions)
{
    const walk one = walk_of(sum, positions);
    walk all = one;
    int64_t chunk = sum->reduction.chunk;
    clear(&all);
    if (chunk > 0) {
        all.chunks = &one;
        add_span(&all, 0, 0, (group_extent(sum, 0) + chunk - 1) / chunk);
    } else if (sum->reduction.group_count > 0) {
        add_group(&all, 0);
    } else {
        add_point(&all, 0, 0);
    }
    return element_of(&all, fold(&all));
}

/* ---- scans ---- */

bool weft_ordered_scan_init(const weft_reference_call *call, weft_ordered_scan *out_scan)
{
    bool multiplies = weft_op_id_of(call->op) == WEFT_OP_scan_prod;
    *out_scan = (weft_ordered_scan){.sum = {.operands = call->inputs}};
    out_scan->sum.op = multiplies ? WEFT_OP_reduce_prod : WEFT_OP_reduce_sum;
    weft_scan_fill(call->graph, weft_graph_node(call->graph, call->node), &out_scan->sum.reduction);
    walk w = walk_of(&out_scan->sum, NULL);
    out_scan->group = out_scan->block = out_scan->earlier = start(&w);
    weft_dtype_kind kind = weft_element_kind(call->inputs[0].dtype);
    bool rounds = kind == WEFT_KIND_FLOAT || kind == WEFT_KIND_COMPLEX;
    bool combines = multiplies || weft_op_id_of(call->op) == WEFT_OP_scan_sum;
    return call->run->reference->ordered && rounds && combines;
}

/* What the element has with those before it in its group of lanes. */
static parts in_group(const walk *w, weft_ordered_scan *scan, parts value)
{
    int64_t half = 1;
    for (uint32_t level = 0; half < scan->sum.reduction.lanes; level++, half *= 2) {
        if ((scan->position & half) == 0) scan->halves[level] = value;
        else value = combined(w, scan->halves[level], value);
    }
    return value;
}

weft_element weft_ordered_scan_next(weft_ordered_scan *scan, weft_element element)
{
    walk w = walk_of(&scan->sum, NULL);
    const weft_reduction *order = &scan->sum.reduction;
    if (order->blocks != WEFT_BLOCKS_NONE && scan->position != 0 && scan->position % order->blocks == 0) {
        scan->earlier = combined(&w, scan->earlier, scan->block);
        scan->group = scan->block = start(&w);
    }
    if (scan->position % order->lanes == 0) scan->group = scan->block;
    scan->block = combined(&w, scan->group, in_group(&w, scan, parts_of(&w, element)));
    bool later = order->blocks != WEFT_BLOCKS_NONE && scan->position >= order->blocks;
    scan->position++;
    return element_of(&w, later ? combined(&w, scan->earlier, scan->block) : scan->block);
}
