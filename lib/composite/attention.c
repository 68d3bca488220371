/* SPDX-License-Identifier: Apache-2.0 */
/* Attention and embedding. */
#include <weft/nn.h>
#include <inttypes.h>
#include <math.h>
#include "lib/composite/attention.h"
#include "runtime/base/float_mode.h"

/*
 * Where several query heads share a key head, axis -3 of q is split into key heads and the query heads of each: that
 * makes them one more free axis of the products, and keys and values are used as they are.
 */
typedef struct heads {
    bool split;
    size_t axis;            /* of the heads */
    weft_extent extents[2]; /* key heads, query heads of each */
} heads;

static bool find_heads(weft_tensor q, weft_tensor k, heads *out_heads)
{
    size_t rank = weft_tensor_rank(q);
    int64_t count, shared;
    *out_heads = (heads){.split = false};
    if (rank < 3) return true;
    weft_extent query = weft_tensor_extent(q, -3), key = weft_tensor_extent(k, -3);
    if (weft_extent_equal(query, key)) return true;
    bool known = weft_extent_is_static(query, &count) && weft_extent_is_static(key, &shared);
    if ((!known && !weft_extent_never_equal(q.graph, query, key)) || weft_graph_never_runs(weft_graph_current(q.graph)))
        return true;
    if (!known || shared == 0 || count % shared != 0) {
        weft_trace_fail(q.graph, WEFT_SHAPE_MISMATCH, "attention", "%s query heads cannot share %s key heads",
                        weft_extent_describe(query).text, weft_extent_describe(key).text);
        return false;
    }
    *out_heads = (heads){true, rank - 3, {key, weft_extent_of(count / shared)}};
    return true;
}

/* A mask in the form of the scores: its heads, if it has any, are split like those of q. */
static weft_tensor split_mask(weft_tensor mask, const heads *h)
{
    size_t rank = weft_tensor_rank(mask);
    weft_extent one = weft_extent_of(1), ones[] = {one, one};
    if (!h->split || rank < 3) return mask;
    bool repeats = weft_extent_is_value(weft_tensor_extent(mask, -3), 1);
    return weft_composite_unravel(mask, rank - 3, 2, repeats ? ones : h->extents);
}

weft_tensor weft_attention_product(weft_tensor a, weft_tensor b, int64_t contract_b)
{
    weft_axis_list batch = weft_axis_range(0, weft_tensor_rank(b) - 2);
    weft_ints paired = weft_axis_list_ints(&batch);
    return weft_dot(a, b, (weft_dot_axes){paired, paired, WEFT_INTS(-1), WEFT_INTS(contract_b)});
}

/* -inf where `allowed` is false. */
static weft_tensor forbid(weft_tensor scores, weft_tensor allowed)
{
    return weft_select(allowed, scores, weft_scalar_like(scores, -INFINITY));
}

static weft_tensor mask_scores(weft_tensor scores, const weft_attention_core *core)
{
    if (!weft_composite_is_absent(core->mask)) {
        bool additive = weft_tensor_dtype(core->mask) != WEFT_BOOL;
        scores = additive ? weft_add(scores, core->mask) : forbid(scores, core->mask);
    }
    if (!core->causal || !weft_tensor_is_valid(scores)) return scores;
    size_t rank = weft_tensor_rank(scores);
    weft_tensor query = weft_composite_positions(scores, rank - 2), key = weft_composite_positions(scores, rank - 1);
    if (!weft_composite_is_absent(core->first)) query = weft_add(query, core->first);
    /* So that the sum does not overflow. */
    weft_extent offset = weft_extent_min(core->offset, weft_tensor_extent(scores, -1));
    return forbid(scores, weft_le(key, weft_add(query, weft_extent_like(query, offset))));
}

/* Differences of scores below which weights are zero: their exponentials, beside which the greatest one is 1, or these
 * over the sum of some hundred, would be denormal, and such factors take products a hundred times as long. A penalty
 * for distance is full of them. */
static double least_distance(weft_tensor scores)
{
    return weft_tensor_dtype(scores) == WEFT_F64 ? -700 : -80;
}

/* The exponentials of differences to the greatest score of a row, along the last axis. */
static weft_tensor powers_of(weft_tensor scores, weft_tensor *out_sums)
{
    weft_tensor zero = weft_scalar_like(scores, 0), nothing = weft_scalar_like(scores, -INFINITY);
    weft_tensor greatest = weft_reduce_max(scores, WEFT_INTS(-1), true);
    weft_tensor distance = weft_sub(scores, weft_select(weft_eq(greatest, nothing), zero, greatest));
    weft_tensor is_far = weft_lt(distance, weft_scalar_like(scores, least_distance(scores)));
    weft_tensor powers = weft_exp(weft_select(is_far, nothing, distance));
    *out_sums = weft_reduce_sum(powers, WEFT_INTS(-1), true);
    return powers;
}

weft_tensor weft_attention_share(weft_tensor x, weft_tensor sums)
{
    if (!weft_tensor_is_valid(x) || !weft_tensor_is_valid(sums)) return weft_tensor_failed(x.graph);
    weft_tensor repeated = weft_broadcast(sums, weft_tensor_shape(x));
    return weft_div(x, weft_max(repeated, weft_scalar_like(repeated, 1)));
}

static weft_tensor scores_of(const weft_attention_core *core)
{
    weft_tensor scores = weft_composite_widen(weft_attention_product(core->q, core->k, -1));
    return weft_tensor_is_valid(scores) ? mask_scores(scores, core) : scores;
}

weft_tensor weft_attention_powers(const weft_attention_core *core, weft_tensor *out_sums)
{
    weft_tensor scores = scores_of(core);
    *out_sums = scores;
    return weft_tensor_is_valid(scores) ? powers_of(scores, out_sums) : scores;
}

/* Softmax along the last axis, zeros where all scores are -inf; wide. */
static weft_tensor weigh(const weft_attention_core *core)
{
    weft_tensor scores = scores_of(core), sums;
    if (!weft_tensor_is_valid(scores)) return scores;
    weft_tensor powers = powers_of(scores, &sums), weights = weft_attention_share(powers, sums);
    if (!weft_tensor_is_valid(weights)) return weights;
    const weft_attr last = {.integer = (int64_t)weft_tensor_rank(weights) - 1};
    return weft_composite_as(WEFT_COMPOSED_softmax, WEFT_TENSORS(scores), &last, weights);
}

static weft_tensor attend(const weft_attention_core *core)
{
    weft_tensor weights = weft_composite_cast(weigh(core), weft_tensor_dtype(core->v));
    const weft_attr attrs[] = {{.integer = core->causal}, {.extents = {1, &core->offset}}};
    return weft_composite_as(WEFT_COMPOSED_attention, WEFT_TENSORS(core->q, core->k, core->v, core->mask), attrs,
                             weft_attention_product(weights, core->v, -2));
}

/* Whether the shapes are [..., h, l, d], [..., g, s, d] and [..., g, s, e]; find_heads checks h and g. */
static bool check_shapes(weft_named q, weft_named k, weft_named v)
{
    int64_t rank = (int64_t)weft_tensor_rank(q.tensor);
    for (int64_t axis = 0; axis < rank - 3; axis++)
        if (!weft_composite_wants_extent("attention", k, axis, q, axis)) return false;
    for (int64_t axis = 0; axis < rank - 2; axis++)
        if (!weft_composite_wants_extent("attention", v, axis, k, axis)) return false;
    return weft_composite_wants_extent("attention", k, -1, q, -1) &&
           weft_composite_wants_extent("attention", v, -2, k, -2);
}

/* Whether the mask broadcasts to the scores: the axes of q, except for the keys in the place of the last. */
static bool check_mask(weft_named mask, weft_named q, weft_named k)
{
    int64_t rank = (int64_t)weft_tensor_rank(mask.tensor);
    if (rank > (int64_t)weft_tensor_rank(q.tensor)) {
        weft_trace_fail(q.tensor.graph, WEFT_SHAPE_MISMATCH, "attention", "the mask has rank %" PRId64 " but q has %zu",
                        rank, weft_tensor_rank(q.tensor));
        return false;
    }
    for (int64_t axis = -1; axis >= -rank; axis--) {
        if (weft_extent_is_value(weft_tensor_extent(mask.tensor, axis), 1)) continue;
        if (axis == -1 && !weft_composite_wants_extent("attention", mask, axis, k, -2)) return false;
        if (axis < -1 && !weft_composite_wants_extent("attention", mask, axis, q, axis)) return false;
    }
    return true;
}

static bool check(weft_tensor q, weft_tensor k, weft_tensor v, weft_attention_options *options)
{
    size_t rank = weft_tensor_rank(q);
    weft_tensor operands[] = {q, k, v, options->mask};
    static const char *const names[] = {"q", "k", "v", "the mask"};
    bool fine = weft_composite_begin_named("attention", 3, 4, operands, names) &&
                (!options->causal || weft_composite_wants_own(weft_trace_graph((weft_tensors){4, operands}),
                                                              "attention", "causal_offset", options->causal_offset)) &&
                weft_composite_wants_float("attention", "q", q) && weft_composite_wants_rank("attention", "q", q, 2);
    if (fine && (weft_tensor_rank(k) != rank || weft_tensor_rank(v) != rank)) {
        weft_trace_fail(q.graph, WEFT_SHAPE_MISMATCH, "attention", "q has rank %zu but k has %zu and v has %zu", rank,
                        weft_tensor_rank(k), weft_tensor_rank(v));
        return false;
    }
    weft_named named[] = {{"q", q}, {"k", k}, {"v", v}, {"the mask", options->mask}};
    fine = fine && weft_composite_wants_dtype("attention", named[1], named[0]) &&
           weft_composite_wants_dtype("attention", named[2], named[0]) && check_shapes(named[0], named[1], named[2]);
    if (!fine || weft_composite_is_absent(options->mask)) return fine;
    bool is_bool = weft_tensor_dtype(options->mask) == WEFT_BOOL;
    return (is_bool || weft_composite_join("attention", "the mask", named[0], &options->mask)) &&
           check_mask(named[3], named[0], named[1]);
}

static weft_tensor scale_of(weft_tensor q, double scale)
{
    weft_tensor like = weft_composite_widen(q);
    if (scale != 0) return weft_scalar_like(like, scale);
    int64_t depth;
    weft_extent extent = weft_tensor_extent(q, -1);
    if (weft_extent_is_static(extent, &depth)) return weft_scalar_like(like, 1 / sqrt((double)depth));
    return weft_div(weft_scalar_like(like, 1), weft_sqrt(weft_extent_like(like, extent)));
}

WEFT_PLAIN_FUNCTION(weft_tensor, weft_attention,
                    (weft_tensor q, weft_tensor k, weft_tensor v, const weft_attention_options *options),
                    (q, k, v, options))
{
    weft_attention_options o = options == NULL ? (weft_attention_options){.causal = false} : *options;
    heads h;
    if (!check(q, k, v, &o) || !find_heads(q, k, &h)) return weft_trace_failed(WEFT_TENSORS(q, k, v));
    if (isnan(o.scale)) return weft_trace_fail(q.graph, WEFT_INVALID_ARGUMENT, "attention", "the scale is NaN");
    weft_dtype dtype = weft_tensor_dtype(q);
    /* Scaled before the product, so that scores of 16-bit floats stay in their range. */
    weft_tensor scaled = weft_composite_cast(weft_mul(weft_composite_widen(q), scale_of(q, o.scale)), dtype);
    if (h.split) scaled = weft_composite_unravel(scaled, h.axis, 2, h.extents);
    weft_tensor mask = weft_composite_is_absent(o.mask) ? o.mask : split_mask(o.mask, &h);
    weft_tensor result = attend(&(weft_attention_core){scaled, k, v, mask, o.causal, o.causal_offset, WEFT_NO_TENSOR});
    return h.split && weft_tensor_is_valid(result) ? weft_composite_ravel(result, h.axis, h.axis + 2) : result;
}

weft_tensor weft_embedding(weft_tensor table, weft_tensor indices, int64_t padding)
{
    weft_tensor operands[] = {table, indices};
    if (!weft_composite_begin("embedding", 2, 2, operands) ||
        !weft_composite_wants_integer("embedding", "the index tensor", indices) ||
        !weft_composite_wants_rank("embedding", "the table", table, 1)) {
        return weft_trace_failed(WEFT_TENSORS(table, indices));
    }
    weft_tensor wide = weft_composite_cast(indices, WEFT_I64);
    if (padding == WEFT_NO_PADDING) return weft_gather(table, wide, 0);
    weft_tensor is_padding = weft_eq(wide, weft_constant(table.graph, WEFT_I64, (weft_ints){0, NULL}, &padding));
    /* The padding itself may be out of range. */
    weft_tensor rows = weft_gather(table, weft_select(is_padding, weft_scalar_like(wide, 0), wide), 0);
    if (!weft_tensor_is_valid(rows)) return rows;
    return weft_select(weft_composite_align(is_padding, 0, weft_tensor_rank(rows)), weft_scalar_like(rows, 0), rows);
}
