/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/ref/ordered.h"
#include <complex.h>
#include <math.h>
#include <string.h>

/* A number as it is added up, of f32 precision where that is the accumulator's. */
typedef struct parts {
    double re, im;
} parts;

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

static parts element(const walk *w, size_t operand)
{
    const weft_view *view = &w->sum->operands[operand];
    int64_t position = w->positions[operand];
    for (uint32_t i = 0; i < w->sum->reduction.axis_count; i++) position += w->index[i] * w->sum->strides[operand][i];
    weft_element value = weft_element_load(view->dtype, weft_view_nth(view, position));
    if (!w->is_complex) return (parts){(double)value.real, 0};
    return (parts){(double)creall(value.number), (double)cimagl(value.number)};
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

weft_element weft_ordered_sum_at(const weft_ordered_sum *sum, const int64_t *positions)
{
    weft_dtype dtype = sum->operands[0].dtype, part = weft_dtype_component(weft_accumulator_dtype(dtype));
    const walk one = {.sum = sum,
                      .positions = positions,
                      .single = part == WEFT_F32,
                      .is_complex = weft_element_kind(dtype) == WEFT_KIND_COMPLEX};
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
    parts result = fold(&all);
    if (!all.is_complex) return (weft_element){.real = result.re};
    return (weft_element){.number = weft_element_complex(result.re, result.im)};
}
