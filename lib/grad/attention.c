/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cotangents of attention. With P the weights, o the result and g its cotangent,
 *   dS = P (g v^T - sum(g o)),  dq = dS k,  dk = dS^T q,  dv = P^T g.
 * P is E / z, exponentials and their sums. Dividing g, and with it sum(g o), in place of E divides fewer numbers where
 * keys are many; not those of 16 bits, for which g / z may be too small. Where a core's share of caches does not hold
 * all scores, E is computed again, for so many elements of the batch, or rows of q, at a time that memory is linear in
 * the number of rows and of keys, and what a product leaves for the next is still near: some heads after others, and of
 * one whose scores are many some rows after others.
 *
 * Dao et al., "FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness", 2022.
 */
#include <weft/region.h>
#include <weft/shape.h>
#include "lib/composite/attention.h"
#include "lib/grad/grad.h"

enum {
    SCORES = 1 << 19,      /* of a block, where extents are known */
    NEAR_SCORES = 1 << 18, /* of the heads of a block, which stay in L2 */
    FEW_SCORES = 1 << 14,  /* that do not pay for a loop */
    FEW_ROWS = 64,         /* of a block, at least */
    ROWS = 128,            /* of a block, where the number of keys is not known */
    PARTS = 4              /* that rows under a causal mask are divided into */
};

enum { OF_Q, OF_K, OF_V, OF_MASK, OPERANDS };

/* Some rows of q, and what belongs to them. */
typedef struct rows {
    weft_attention_core core;
    weft_tensor g;     /* of the result, [b..., r..., l, e] */
    weft_tensor along; /* its sum along the result, wide, [b..., r..., l, 1] */
} rows;

/* ---- the cotangents of some rows ---- */

/* The sum over query heads and rows of a, [b..., r..., l, s], times b, [b..., r..., l, d]: [b..., s, d]. */
static weft_tensor sum_rows(weft_tensor a, weft_tensor b, size_t batch)
{
    weft_axis_list batches = weft_axis_range(0, batch), rows_of = weft_axis_range(batch, weft_tensor_rank(a) - 1);
    weft_ints paired = weft_axis_list_ints(&batches), summed = weft_axis_list_ints(&rows_of);
    return weft_dot(a, b, (weft_dot_axes){paired, paired, summed, summed});
}

/* x summed over the axes along which `like` was broadcast to it. */
static weft_tensor sum_to(weft_tensor x, weft_tensor like)
{
    weft_shape shape = weft_tensor_shape(like);
    size_t more = weft_tensor_rank(x) - shape.rank;
    weft_axis_list axes = weft_axis_range(0, more);
    for (size_t i = 0; i < shape.rank; i++)
        if (weft_extent_is_value(shape.extents[i], 1)) axes.items[axes.count++] = (int64_t)(more + i);
    weft_tensor sum = axes.count == 0 ? x : weft_reduce_sum(x, weft_axis_list_ints(&axes), false);
    return axes.count == more ? sum : weft_reshape(sum, shape);
}

static weft_tensor slope_of_scores(const rows *r, weft_tensor weights)
{
    weft_tensor slope = weft_composite_widen(weft_attention_product(r->g, r->core.v, -1));
    return weft_mul(weights, weft_sub(slope, r->along));
}

/* Whether the cotangents have so much fewer numbers than the weights that dividing them, which they are stored for once
 * more, pays: where extents are known, from four keys for each of their columns on. */
static bool divides_cotangents(const rows *r, weft_dtype wide)
{
    int64_t keys, columns;
    if (weft_tensor_dtype(r->g) != wide) return false;
    return !weft_extent_is_static(weft_tensor_extent(r->core.k, -2), &keys) ||
           !weft_extent_is_static(weft_tensor_extent(r->g, -1), &columns) || keys / 4 >= columns;
}

/* The weights, or times what their rows, and so the cotangents, are divided by. */
static weft_tensor weigh(rows *r)
{
    weft_tensor sums, powers = weft_attention_powers(&r->core, &sums);
    if (!weft_tensor_is_valid(powers)) return powers;
    if (!divides_cotangents(r, weft_tensor_dtype(powers))) return weft_attention_share(powers, sums);
    r->g = weft_attention_share(r->g, sums);
    r->along = weft_attention_share(r->along, sums);
    return powers;
}

static void pull_rows(const rows *all, const bool *needs, weft_tensor *out_values)
{
    rows own = *all, *r = &own;
    const weft_attention_core *core = &r->core;
    size_t batch = weft_tensor_rank(core->k) - 2;
    weft_dtype dtype = weft_tensor_dtype(core->v);
    weft_tensor weights = weigh(r);
    if (!weft_tensor_is_valid(weights)) return;
    if (needs[OF_V]) out_values[OF_V] = sum_rows(weft_composite_cast(weights, dtype), r->g, batch);
    if (!needs[OF_Q] && !needs[OF_K] && !needs[OF_MASK]) return;
    weft_tensor slope = slope_of_scores(r, weights), narrow = weft_composite_cast(slope, dtype);
    if (!weft_tensor_is_valid(narrow)) return;
    if (needs[OF_Q]) out_values[OF_Q] = weft_attention_product(narrow, core->k, -2);
    if (needs[OF_K]) out_values[OF_K] = sum_rows(narrow, core->q, batch);
    if (needs[OF_MASK]) out_values[OF_MASK] = sum_to(slope, core->mask);
}

/* ---- blocks of rows ---- */

typedef struct blocks {
    rows all; /* with zeros after them, up to a multiple of `size` */
    size_t axis;
    const bool *needs;
    int64_t size;
} blocks;

/* Whether a mask differs along axis -1, the keys, or -2, the rows. */
static bool masks_along(weft_tensor mask, int64_t axis)
{
    return !weft_composite_is_absent(mask) && (int64_t)weft_tensor_rank(mask) >= -axis &&
           !weft_extent_is_value(weft_tensor_extent(mask, axis), 1);
}

/* Some of the rows that x has along its last axis but one. */
static weft_tensor take(weft_tensor x, weft_tensor start, int64_t count)
{
    return weft_dynamic_slice(x, WEFT_TENSORS(start), WEFT_INTS(-2), WEFT_SHAPE(count));
}

static rows rows_at(const blocks *b, weft_tensor start)
{
    rows r = b->all;
    r.core.q = take(r.core.q, start, b->size);
    r.g = take(r.g, start, b->size);
    r.along = take(r.along, start, b->size);
    if (masks_along(r.core.mask, -2)) r.core.mask = take(r.core.mask, start, b->size);
    r.core.first = weft_composite_is_absent(r.core.first) ? start : weft_add(r.core.first, start);
    return r;
}

static void pull_block(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const blocks *b = context;
    weft_tensor start = weft_mul(index, weft_scalar_like(index, (double)b->size)), made[OPERANDS] = {WEFT_NO_TENSOR};
    rows r = rows_at(b, start);
    size_t next = 0;
    pull_rows(&r, b->needs, made);
    if (b->needs[OF_Q]) {
        out_next[next] = weft_dynamic_update_slice(carried[next], made[OF_Q], WEFT_TENSORS(start), WEFT_INTS(-2));
        next++;
    }
    for (size_t i = OF_K; i <= OF_V; i++) {
        if (!b->needs[i]) continue;
        out_next[next] = weft_add(carried[next], weft_composite_widen(made[i]));
        next++;
    }
}

static weft_tensor pad_rows(weft_tensor x, weft_extent more)
{
    weft_extent low[WEFT_MAX_RANK], high[WEFT_MAX_RANK];
    size_t rank = weft_tensor_rank(x);
    if (!weft_tensor_is_valid(x)) return x;
    for (size_t i = 0; i < rank; i++) low[i] = high[i] = weft_extent_of(0);
    high[rank - 2] = more;
    return weft_pad(x, weft_scalar_like(x, 0), (weft_shape){rank, low}, (weft_shape){rank, high});
}

static blocks blocks_of(const rows *r, const bool *needs, int64_t size)
{
    blocks b = {.all = *r, .axis = weft_tensor_rank(r->core.q) - 2, .needs = needs, .size = size};
    weft_extent count = weft_tensor_extent(r->core.q, -2);
    weft_extent more = weft_extent_mod(weft_extent_sub(weft_extent_of(0), count), weft_extent_of(size));
    b.all.core.q = pad_rows(r->core.q, more);
    b.all.g = pad_rows(r->g, more);
    b.all.along = pad_rows(r->along, more);
    if (masks_along(r->core.mask, -2)) b.all.core.mask = pad_rows(r->core.mask, more);
    return b;
}

static void pull_blocks(const rows *r, const bool *needs, int64_t size, weft_tensor *out_values)
{
    weft_tensor initial[OPERANDS], results[OPERANDS];
    blocks b = blocks_of(r, needs, size);
    weft_extent count = weft_tensor_extent(r->core.q, -2);
    const weft_tensor operands[] = {b.all.core.q, r->core.k, r->core.v};
    size_t carried = 0, next = 0;
    for (size_t i = OF_Q; i <= OF_V; i++)
        if (needs[i])
            initial[carried++] = weft_gradient_zeros(i == OF_Q ? operands[i] : weft_composite_widen(operands[i]));
    weft_fold(weft_extent_ceil_div(count, size), (weft_tensors){carried, initial}, pull_block, &b, results);
    for (size_t i = OF_Q; i <= OF_V; i++)
        if (needs[i]) out_values[i] = weft_composite_cast(results[next++], weft_tensor_dtype(operands[i]));
    if (needs[OF_Q]) out_values[OF_Q] = weft_narrow(out_values[OF_Q], (int64_t)b.axis, weft_extent_of(0), count);
}

/* The product of the extents of x in [first, last) in *out_count, if it is known and no more than `most`. */
static bool count_up_to(int64_t most, weft_tensor x, size_t first, size_t last, int64_t *out_count)
{
    weft_extent product = weft_extent_product(weft_tensor_shape(x), first, last);
    return weft_extent_is_static(product, out_count) && *out_count <= most;
}

static bool count(weft_tensor x, size_t first, size_t last, int64_t *out_count)
{
    return count_up_to(SCORES, x, first, last, out_count);
}

/* Rows of a block: a multiple of FEW_ROWS. */
static int64_t rows_of_block(const rows *r)
{
    int64_t keys, heads;
    size_t rank = weft_tensor_rank(r->core.k);
    if (!weft_extent_is_static(weft_tensor_extent(r->core.k, -2), &keys) ||
        !count(r->core.q, rank - 2, weft_tensor_rank(r->core.q) - 2, &heads) || keys == 0 || heads == 0)
        return ROWS;
    int64_t most = SCORES / heads / keys / FEW_ROWS * FEW_ROWS;
    return most > FEW_ROWS ? most : FEW_ROWS;
}

/* A few rows are a single block. */
static void pull_some(const rows *r, const bool *needs, weft_tensor *out_values)
{
    int64_t least, most, size = rows_of_block(r);
    weft_extent_range(weft_tensor_extent(r->core.q, -2), &least, &most);
    if (most > size) pull_blocks(r, needs, size, out_values);
    else pull_rows(r, needs, out_values);
}

/* ---- under a causal mask ---- */

/* The rows in some parts of them, each with the keys that its last row sees. */
typedef struct parts {
    const rows *all;
    const bool *needs;
    int64_t rows, keys, offset, size; /* size: rows of a part, except the last */
} parts;

/* Whether all extents are known, and the rows so many that it pays. */
static bool fill_parts(const rows *r, const bool *needs, parts *out_parts)
{
    *out_parts = (parts){.all = r, .needs = needs};
    bool known = r->core.causal && weft_extent_is_static(weft_tensor_extent(r->core.q, -2), &out_parts->rows) &&
                 weft_extent_is_static(weft_tensor_extent(r->core.k, -2), &out_parts->keys) &&
                 weft_extent_is_static(r->core.offset, &out_parts->offset);
    bool fits = out_parts->rows < INT64_C(1) << 40 && out_parts->keys > 0 && out_parts->offset < out_parts->keys;
    if (!known || !fits) return false;
    int64_t block_count = (out_parts->rows + ROWS - 1) / ROWS;
    out_parts->size = (block_count + PARTS - 1) / PARTS * ROWS;
    return out_parts->size < out_parts->rows;
}

static weft_tensor take_part(weft_tensor x, int64_t axis, int64_t start, int64_t count)
{
    return weft_narrow(x, axis, weft_extent_of(start), weft_extent_of(count));
}

/* Of a part: how many rows it has, and how many keys these see, at least one. */
static void measure_part(const parts *p, int64_t start, int64_t *out_rows, int64_t *out_keys)
{
    int64_t end = start + p->size < p->rows ? start + p->size : p->rows, seen;
    if (__builtin_add_overflow(end, p->offset, &seen) || seen < 1) seen = 1;
    *out_rows = end - start;
    *out_keys = seen < p->keys ? seen : p->keys;
}

static rows part_at(const parts *p, int64_t start)
{
    int64_t count, keys;
    rows r = *p->all;
    measure_part(p, start, &count, &keys);
    r.core.q = take_part(r.core.q, -2, start, count);
    r.g = take_part(r.g, -2, start, count);
    r.along = take_part(r.along, -2, start, count);
    r.core.k = take_part(r.core.k, -2, 0, keys);
    r.core.v = take_part(r.core.v, -2, 0, keys);
    if (masks_along(r.core.mask, -2)) r.core.mask = take_part(r.core.mask, -2, start, count);
    if (masks_along(r.core.mask, -1)) r.core.mask = take_part(r.core.mask, -1, 0, keys);
    r.core.first = weft_constant(r.g.graph, WEFT_I64, (weft_ints){0, NULL}, &start);
    return r;
}

static void pull_parts(const parts *p, weft_tensor *out_values)
{
    weft_tensor pieces[PARTS], made[OPERANDS];
    size_t count = 0;
    for (int64_t start = 0; start < p->rows; start += p->size, count++) {
        rows r = part_at(p, start);
        int64_t keys = 0, unused;
        measure_part(p, start, &unused, &keys);
        for (size_t i = 0; i < OPERANDS; i++) made[i] = WEFT_NO_TENSOR;
        pull_some(&r, p->needs, made);
        pieces[count] = made[OF_Q];
        for (size_t i = OF_K; i <= OF_V; i++)
            if (p->needs[i])
                out_values[i] = weft_gradient_add(out_values[i], pad_rows(made[i], weft_extent_of(p->keys - keys)));
    }
    if (p->needs[OF_Q]) out_values[OF_Q] = weft_concat((weft_tensors){count, pieces}, -2);
}

static void pull_all(const rows *r, const bool *needs, weft_tensor *out_values)
{
    parts p;
    if (fill_parts(r, needs, &p)) pull_parts(&p, out_values);
    else pull_some(r, needs, out_values);
}

/* ---- blocks of the batch: their cotangents are parts of the whole, and nothing is added up ---- */

typedef struct batches {
    const rows *all;
    const bool *needs;
    size_t axes;  /* the outer ones, of which a block has one index each, */
    int64_t size; /* but so many of the last */
} batches;

/* Where a block begins along `axes`. */
typedef struct corner {
    size_t count;
    int64_t axes[WEFT_MAX_RANK];
    weft_tensor starts[WEFT_MAX_RANK];
    weft_extent sizes[WEFT_MAX_RANK];
} corner;

/* How many blocks follow each other along the axis. */
static weft_extent blocks_along(const batches *b, size_t axis)
{
    weft_extent extent = weft_tensor_extent(b->all->core.k, (int64_t)axis);
    return axis + 1 == b->axes ? weft_extent_ceil_div(extent, b->size) : extent;
}

static void fill_corner(const batches *b, weft_tensor index, corner *out)
{
    size_t outermost = 0; /* of more than one block */
    while (outermost + 1 < b->axes && weft_extent_is_value(blocks_along(b, outermost), 1)) outermost++;
    out->count = 0;
    for (size_t axis = b->axes; axis-- > outermost;) {
        weft_extent along = blocks_along(b, axis);
        int64_t size = axis + 1 == b->axes ? b->size : 1;
        if (weft_extent_is_value(along, 1)) continue;
        weft_tensor start = axis == outermost ? index : weft_remainder(index, weft_extent_like(index, along));
        index = axis == outermost ? index : weft_div(index, weft_extent_like(index, along));
        out->axes[out->count] = (int64_t)axis;
        out->starts[out->count] = weft_mul(start, weft_scalar_like(start, (double)size));
        out->sizes[out->count++] = weft_extent_of(size);
    }
}

/* The block of x, whose axis 0 is axis `first` of the batch. It has all along the axes along which it is broadcast. */
static weft_tensor take_block(const corner *at, weft_tensor x, size_t first)
{
    corner own = {.count = 0};
    if (weft_composite_is_absent(x)) return x;
    for (size_t i = 0; i < at->count; i++) {
        int64_t axis = at->axes[i] - (int64_t)first;
        if (axis < 0 || weft_extent_is_value(weft_tensor_extent(x, axis), 1)) continue;
        own.axes[own.count] = axis;
        own.starts[own.count] = at->starts[i];
        own.sizes[own.count++] = at->sizes[i];
    }
    return own.count == 0 ? x
                          : weft_dynamic_slice(x, (weft_tensors){own.count, own.starts},
                                               (weft_ints){own.count, own.axes}, (weft_shape){own.count, own.sizes});
}

static void pull_batch(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const batches *b = context;
    corner at;
    weft_tensor made[OPERANDS] = {WEFT_NO_TENSOR};
    rows r = *b->all;
    size_t next = 0, rank = weft_tensor_rank(r.core.q);
    fill_corner(b, index, &at);
    if (!weft_composite_is_absent(r.core.mask))
        r.core.mask = take_block(&at, r.core.mask, rank - weft_tensor_rank(r.core.mask));
    r.core.q = take_block(&at, r.core.q, 0);
    r.core.k = take_block(&at, r.core.k, 0);
    r.core.v = take_block(&at, r.core.v, 0);
    r.g = take_block(&at, r.g, 0);
    r.along = take_block(&at, r.along, 0);
    pull_all(&r, b->needs, made);
    for (size_t i = OF_Q; i <= OF_V; i++) {
        if (!b->needs[i]) continue;
        out_next[next] = weft_dynamic_update_slice(carried[next], made[i], (weft_tensors){at.count, at.starts},
                                                   (weft_ints){at.count, at.axes});
        next++;
    }
}

static void pull_batches(const batches *b, weft_tensor *out_values)
{
    const weft_attention_core *core = &b->all->core;
    const weft_tensor operands[] = {core->q, core->k, core->v};
    weft_tensor initial[OPERANDS], results[OPERANDS];
    weft_extent trips = weft_extent_of(1);
    size_t carried = 0, next = 0;
    for (size_t axis = 0; axis < b->axes; axis++) trips = weft_extent_mul(trips, blocks_along(b, axis));
    for (size_t i = OF_Q; i <= OF_V; i++)
        if (b->needs[i]) initial[carried++] = weft_gradient_zeros(operands[i]);
    weft_fold(trips, (weft_tensors){carried, initial}, pull_batch, (void *)(uintptr_t)b, results);
    for (size_t i = OF_Q; i <= OF_V; i++)
        if (b->needs[i]) out_values[i] = results[next++];
}

/* The greatest divisor of `count` up to `most`. */
static int64_t divisor(int64_t count, int64_t most)
{
    int64_t size = most < count ? most : count;
    while (size > 1 && count % size != 0) size--;
    return size > 1 ? size : 1;
}

/* Whether all scores are so few that E need not be computed again; where a mask hides half of them, blocks of rows do
 * less. */
static bool keeps_scores(const rows *r)
{
    int64_t queries, keys;
    return !r->core.causal && weft_extent_is_static(weft_tensor_extent(r->core.k, -2), &keys) &&
           count_up_to(WEFT_GRADIENT_NEAR, r->core.q, 0, weft_tensor_rank(r->core.q) - 1, &queries) &&
           (keys == 0 || queries <= WEFT_GRADIENT_NEAR / keys);
}

/* Whether the batch goes by blocks of about NEAR_SCORES, or at least of FEW_SCORES. */
static bool fill_batches(const rows *r, const bool *needs, batches *out)
{
    size_t rank = weft_tensor_rank(r->core.k);
    int64_t keys, scores, extent;
    *out = (batches){.all = r, .needs = needs, .size = 1};
    if (!weft_extent_is_static(weft_tensor_extent(r->core.k, -2), &keys)) return false;
    if (!count(r->core.q, rank - 2, weft_tensor_rank(r->core.q) - 1, &scores)) scores = SCORES;
    if (keys == 0 || scores == 0) return false;
    scores = keys > SCORES / scores ? SCORES : scores * keys;
    for (out->axes = rank - 2; out->axes > 0; out->axes--) {
        bool known = weft_extent_is_static(weft_tensor_extent(r->core.k, (int64_t)out->axes - 1), &extent);
        out->size = known ? divisor(extent, NEAR_SCORES / scores) : 1;
        if (!known || out->size < extent) break;
        scores *= extent > 0 ? extent : 1;
    }
    return out->axes > 0 && scores * out->size >= FEW_SCORES;
}

/* ---- the rule ---- */

static weft_status *vjp_attention(const weft_gradient_context *c, weft_tensor *out_values)
{
    const weft_tensor *x = c->inputs.items;
    weft_tensor g = c->given.items[0];
    weft_tensor along = weft_mul(weft_composite_widen(g), weft_composite_widen(c->outputs.items[0]));
    rows r = {.core = {x[OF_Q], x[OF_K], x[OF_V], x[OF_MASK], c->attrs[0].integer != 0, c->attrs[1].extents.extents[0],
                       WEFT_NO_TENSOR},
              .g = g,
              .along = weft_reduce_sum(along, WEFT_INTS(-1), true)};
    batches b;
    /* The cotangent of a mask may be as large as the scores are. */
    if (c->needs[OF_MASK] || keeps_scores(&r)) pull_rows(&r, c->needs, out_values);
    else if (fill_batches(&r, c->needs, &b)) pull_batches(&b, out_values);
    else pull_all(&r, c->needs, out_values);
    return NULL;
}

static const weft_gradient_row rows_of_table[] = {
    {WEFT_COMPOSED_attention, vjp_attention, NULL, NULL},
};

const weft_gradient_family weft_gradient_attention = {sizeof rows_of_table / sizeof *rows_of_table, rows_of_table};
