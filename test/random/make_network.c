/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions, normalisation, attention, losses, and fragments of networks. */
#include "test/random/make.h"

#define UNUSED (void)g, (void)call, (void)x

/* x with at least `least` axes, and at most one more than that. */
static weft_tensor with_axes(generator *g, weft_tensor x, size_t least, size_t most)
{
    while (weft_tensor_is_valid(x) && weft_tensor_rank(x) < least) x = weft_unsqueeze(x, 0);
    if (weft_tensor_rank(x) > most && !draw_mistake(g)) x = weft_flatten(x, 0, (int64_t)(weft_tensor_rank(x) - most));
    return x;
}

static weft_tensor vector_of(generator *g, weft_tensor x, weft_extent count)
{
    if (draw_chance(g, 3)) return WEFT_NO_TENSOR;
    weft_dtype dtype = weft_tensor_dtype(x);
    bool is_short = dtype == WEFT_F16 || dtype == WEFT_BF16;
    return draw_like(g, is_short && draw_chance(g, 2) ? WEFT_F32 : dtype, WEFT_SHAPE(count), false);
}

/* ---- convolutions ---- */

typedef struct drawn_conv {
    drawn_ints stride, dilation, low, high, output_padding;
    weft_conv_options options;
} drawn_conv;

static void draw_conv(generator *g, size_t spatial, drawn_conv *out)
{
    out->options = (weft_conv_options){.groups = 0};
    out->stride = draw_ints(g, spatial, 1, 2);
    out->dilation = draw_ints(g, spatial, 1, 2);
    out->low = draw_ints(g, spatial, 0, 2);
    out->high = draw_ints(g, spatial, 0, 2);
    if (draw_chance(g, 2)) out->options.stride = INTS(out->stride);
    if (draw_chance(g, 3)) out->options.dilation = INTS(out->dilation);
    if (draw_chance(g, 2)) out->options.low = INTS(out->low);
    if (draw_chance(g, 2)) out->options.high = INTS(out->high);
}

/* A number of groups that divides both. */
static int64_t draw_groups(generator *g, weft_extent c, int64_t outputs)
{
    int64_t channels;
    if (!draw_chance(g, 3) || !weft_extent_is_static(c, &channels) || channels == 0) return draw_chance(g, 2);
    for (int64_t groups = 4; groups > 1; groups--)
        if (channels % groups == 0 && outputs % groups == 0) return groups;
    return draw_mistake(g) ? 5 : 1;
}

static drawn_shape kernel_shape(generator *g, weft_extent first, weft_extent second, size_t spatial)
{
    drawn_shape shape = {2, {first, second}};
    for (size_t i = 0; i < spatial; i++) shape.extents[shape.rank++] = weft_extent_of(1 + draw_small(g, 2));
    return shape;
}

MAKE(conv)
{
    UNUSED;
    drawn_conv made;
    x = with_axes(g, x, 3, 4);
    if (!weft_tensor_is_valid(x)) return x;
    size_t spatial = weft_tensor_rank(x) - 2;
    int64_t outputs = (int64_t[]){1, 2, 4, 6, 16, 33}[draw_below(g, 6)];
    draw_conv(g, spatial, &made);
    made.options.groups = draw_groups(g, draw_extent_of(x, 1), outputs);
    weft_extent channels =
        weft_extent_div(draw_extent_of(x, 1), weft_extent_of(made.options.groups > 0 ? made.options.groups : 1));
    drawn_shape shape = kernel_shape(g, weft_extent_of(outputs), channels, spatial);
    if (draw_chance(g, 2)) made.options.bias = draw_like(g, weft_tensor_dtype(x), WEFT_SHAPE(outputs), false);
    return weft_conv(x, draw_like(g, weft_tensor_dtype(x), SHAPE(shape), false),
                     draw_chance(g, 6) ? NULL : &made.options);
}

MAKE(conv_transpose)
{
    UNUSED;
    drawn_conv made;
    x = with_axes(g, x, 3, 4);
    if (!weft_tensor_is_valid(x)) return x;
    size_t spatial = weft_tensor_rank(x) - 2;
    int64_t outputs = 1 + (int64_t)draw_below(g, 4);
    draw_conv(g, spatial, &made);
    made.options.groups = draw_groups(g, draw_extent_of(x, 1), outputs);
    int64_t groups = made.options.groups > 0 ? made.options.groups : 1;
    made.output_padding = draw_ints(g, spatial, 0, 1);
    if (draw_chance(g, 3)) made.options.output_padding = INTS(made.output_padding);
    drawn_shape shape = kernel_shape(g, draw_extent_of(x, 1), weft_extent_of(outputs), spatial);
    if (draw_chance(g, 3)) made.options.bias = draw_like(g, weft_tensor_dtype(x), WEFT_SHAPE(outputs * groups), false);
    return weft_conv_transpose(x, draw_like(g, weft_tensor_dtype(x), SHAPE(shape), false), &made.options);
}

MAKE(unfold)
{
    UNUSED;
    drawn_conv made;
    x = with_axes(g, x, 3, 4);
    if (!weft_tensor_is_valid(x)) return x;
    drawn_ints size = draw_ints(g, weft_tensor_rank(x) - 2, 1, 3);
    draw_conv(g, size.count, &made);
    return weft_unfold(x, INTS(size), &made.options);
}

MAKE(pool)
{
    drawn_conv made;
    x = with_axes(g, x, 1, 4);
    if (!weft_tensor_is_valid(x)) return x;
    size_t rank = weft_tensor_rank(x), spatial = 1 + draw_below(g, rank < 2 ? rank : 2);
    drawn_ints size = draw_ints(g, spatial, 1, 3);
    draw_conv(g, spatial, &made);
    weft_pool_options options = {.size = INTS(size),
                                 .stride = made.options.stride,
                                 .dilation = made.options.dilation,
                                 .low = made.options.low,
                                 .high = made.options.high};
    options.ceil_mode = draw_chance(g, 3);
    options.count_include_pad = draw_chance(g, 3);
    return ((weft_tensor(*)(weft_tensor, const weft_pool_options *))call->function)(x, &options);
}

MAKE(adaptive_pool)
{
    x = with_axes(g, x, 1, 4);
    if (!weft_tensor_is_valid(x)) return x;
    drawn_ints sizes = draw_ints(g, 1 + draw_below(g, weft_tensor_rank(x) < 2 ? 1 : 2), 1, 7);
    return ((weft_tensor(*)(weft_tensor, weft_ints))call->function)(x, INTS(sizes));
}

MAKE(resize)
{
    UNUSED;
    static const double ratios[] = {2, 0.5, 1.5, 1, 3};
    double scales[DRAW_AXES];
    x = with_axes(g, x, 1, 4);
    if (!weft_tensor_is_valid(x)) return x;
    drawn_shape sizes = {.rank = 1 + draw_below(g, weft_tensor_rank(x) < 2 ? 1 : 2)};
    for (size_t i = 0; i < sizes.rank; i++) {
        sizes.extents[i] = draw_chance(g, 3) ? draw_extent(g) : weft_extent_of(1 + draw_small(g, 9));
        scales[i] = draw_mistake(g) ? -1 : ratios[draw_below(g, 5)];
    }
    weft_resize_options options = {.mode = draw_chance(g, 2) ? WEFT_RESIZE_LINEAR : WEFT_RESIZE_NEAREST,
                                   .coordinates = (weft_resize_coordinates)draw_below(g, 3),
                                   .scales = draw_chance(g, 3) ? scales : NULL,
                                   .prefer_floor = draw_chance(g, 2)};
    return weft_resize(x, SHAPE(sizes), draw_chance(g, 6) ? NULL : &options);
}

/* ---- normalisation ---- */

static weft_norm_options draw_norm(generator *g, weft_tensor x, weft_extent count)
{
    weft_norm_options options = {.scale = vector_of(g, x, count), .bias = vector_of(g, x, count)};
    options.epsilon = draw_chance(g, 2) ? 0 : 0.25;
    return options;
}

MAKE(layer_norm)
{
    weft_tensor (*function)(weft_tensor, int64_t, const weft_norm_options *) =
        (weft_tensor(*)(weft_tensor, int64_t, const weft_norm_options *))call->function;
    if (weft_tensor_rank(x) == 0) return WEFT_NO_TENSOR;
    weft_norm_options options = draw_norm(g, x, weft_tensor_extent(x, -1));
    return function(x, draw_axis(g, x), draw_chance(g, 4) ? NULL : &options);
}

MAKE(group_norm)
{
    UNUSED;
    x = with_axes(g, x, 2, 4);
    if (!weft_tensor_is_valid(x)) return x;
    weft_norm_options options = draw_norm(g, x, draw_extent_of(x, 1));
    int64_t channels = 1, groups = 1;
    if (weft_extent_is_static(draw_extent_of(x, 1), &channels) && channels > 0)
        groups = draw_chance(g, 3) ? channels : channels % 2 == 0 ? 2 : channels % 3 == 0 ? 3 : 1;
    return weft_group_norm(x, draw_mistake(g) ? 0 : groups, draw_chance(g, 4) ? NULL : &options);
}

MAKE(batch_norm)
{
    UNUSED;
    x = with_axes(g, x, 2, 4);
    if (!weft_tensor_is_valid(x)) return x;
    weft_norm_options options = draw_norm(g, x, draw_extent_of(x, 1));
    weft_tensor mean = draw_like(g, weft_tensor_dtype(x), WEFT_SHAPE(draw_extent_of(x, 1)), false);
    weft_tensor variance = weft_abs(draw_like(g, weft_tensor_dtype(x), WEFT_SHAPE(draw_extent_of(x, 1)), false));
    return weft_batch_norm(x, mean, variance, draw_chance(g, 4) ? NULL : &options);
}

MAKE(batch_norm_train)
{
    UNUSED;
    weft_tensor mean = WEFT_NO_TENSOR, variance = WEFT_NO_TENSOR;
    x = with_axes(g, x, 2, 4);
    if (!weft_tensor_is_valid(x)) return x;
    weft_norm_options options = draw_norm(g, x, draw_extent_of(x, 1));
    weft_tensor made =
        weft_batch_norm_train(x, draw_chance(g, 4) ? NULL : &options, &mean, draw_chance(g, 3) ? NULL : &variance);
    draw_keep(g, mean);
    draw_keep(g, variance);
    return made;
}

/* ---- attention and embedding ---- */

MAKE(attention)
{
    UNUSED;
    x = with_axes(g, x, 2, 4);
    if (!weft_tensor_is_valid(x)) return x;
    weft_dtype dtype = weft_tensor_dtype(x);
    drawn_shape k = draw_shape_of(x), v, scores = k;
    int64_t heads = 0;
    k.extents[k.rank - 2] = draw_extent(g);
    if (k.rank > 2 && weft_extent_is_static(k.extents[k.rank - 3], &heads) && heads > 0 && draw_chance(g, 2))
        k.extents[k.rank - 3] = weft_extent_of(heads % 2 == 0 ? heads / 2 : 1);
    v = k;
    if (draw_chance(g, 2)) v.extents[v.rank - 1] = draw_extent(g);
    scores.extents[scores.rank - 1] = k.extents[k.rank - 2];
    weft_attention_options options = {.causal = draw_chance(g, 3), .scale = draw_chance(g, 2) ? 0 : 0.5};
    options.causal_offset = weft_extent_of(draw_chance(g, 2) ? 0 : (int64_t)draw_below(g, 4));
    if (draw_chance(g, 2)) options.mask = draw_like(g, draw_chance(g, 2) ? WEFT_BOOL : dtype, SHAPE(scores), true);
    return weft_attention(x, draw_like(g, dtype, SHAPE(k), false), draw_like(g, dtype, SHAPE(v), false),
                          draw_chance(g, 6) ? NULL : &options);
}

MAKE(embedding)
{
    UNUSED;
    if (weft_tensor_rank(x) == 0) return WEFT_NO_TENSOR;
    weft_tensor from = draw_tensor(g);
    if (weft_tensor_rank(from) > 2) return WEFT_NO_TENSOR;
    return weft_embedding(x, draw_indices(g, from, draw_extent_of(x, 0)),
                          draw_chance(g, 2) ? WEFT_NO_PADDING : draw_small(g, 3));
}

/* ---- losses ---- */

static weft_reduction_kind draw_reduction(generator *g)
{
    return (weft_reduction_kind)draw_below(g, 4);
}

MAKE(loss)
{
    return ((weft_tensor(*)(weft_tensor, weft_tensor, weft_reduction_kind))call->function)(x, draw_partner(g, x),
                                                                                           draw_reduction(g));
}

MAKE(huber_loss)
{
    UNUSED;
    return weft_huber_loss(x, draw_partner(g, x), draw_number(g), draw_reduction(g));
}

MAKE(bce_with_logits)
{
    UNUSED;
    weft_tensor positive = draw_chance(g, 2) ? WEFT_NO_TENSOR : draw_partner(g, x);
    return weft_bce_with_logits(x, draw_partner(g, x), positive, draw_reduction(g));
}

MAKE(class_loss)
{
    weft_tensor (*function)(weft_tensor, weft_tensor, int64_t, const weft_class_options *) =
        (weft_tensor(*)(weft_tensor, weft_tensor, int64_t, const weft_class_options *))call->function;
    drawn_shape shape = draw_shape_of(x), rows = {.rank = 0};
    if (shape.rank == 0) return WEFT_NO_TENSOR;
    size_t axis = draw_below(g, shape.rank);
    for (size_t i = 0; i < shape.rank; i++)
        if (i != axis) rows.extents[rows.rank++] = shape.extents[i];
    weft_class_options options = {
        .ignores = draw_chance(g, 3), .ignored = draw_small(g, 3), .reduction = draw_reduction(g)};
    if (draw_chance(g, 3)) options.weights = vector_of(g, x, shape.extents[axis]);
    weft_tensor targets = draw_indices(g, draw_like(g, WEFT_I64, SHAPE(rows), false), shape.extents[axis]);
    if (draw_chance(g, 5)) targets = draw_like(g, weft_tensor_dtype(x), SHAPE(shape), false);
    return function(x, targets, (int64_t)axis, draw_chance(g, 4) ? NULL : &options);
}

/* ---- fragments: what networks compute, and what shares long and short reductions ---- */

/* max(x * rsqrt(sum(x * x))) and its like. */
MAKE(normalised)
{
    UNUSED;
    drawn_ints axes = draw_axes(g, x, true), outer = draw_axes(g, x, true);
    weft_tensor sum = weft_reduce_sum(weft_mul(x, x), INTS(axes), true);
    if (draw_chance(g, 2)) sum = weft_add(sum, draw_filled(sum, 1));
    weft_tensor scaled = weft_mul(x, weft_rsqrt(sum));
    if (draw_chance(g, 3)) scaled = weft_sub(scaled, weft_mean(x, INTS(axes), true));
    if (draw_chance(g, 3)) draw_keep(g, sum);
    switch (draw_below(g, 4)) {
    case 0: return weft_reduce_max(scaled, INTS(outer), false);
    case 1: return weft_reduce_sum(scaled, INTS(outer), draw_chance(g, 2));
    case 2: return weft_softmax(scaled, draw_axis(g, x));
    default: return scaled;
    }
}

/* Scores of repeated keys, masked, through softmax, with the values. */
MAKE(grouped_attention)
{
    UNUSED;
    x = with_axes(g, x, 3, 4);
    if (!weft_tensor_is_valid(x)) return x;
    drawn_shape shape = draw_shape_of(x);
    int64_t times = 1 + (int64_t)draw_below(g, 3), heads = -3;
    weft_tensor keys = weft_repeat(x, heads, weft_extent_of(times));
    if (draw_chance(g, 4))
        keys = weft_flatten(
            weft_broadcast_in_dim(x, WEFT_SHAPE(shape.extents[0], times, shape.extents[1], shape.extents[2]),
                                  WEFT_INTS(0, 2, 3)),
            0, 1);
    weft_tensor queries = draw_partner(g, keys);
    if (weft_tensor_rank(queries) < 2) queries = keys;
    weft_tensor scores = weft_matmul(queries, weft_transpose(keys, -1, -2));
    weft_shape of = weft_tensor_shape(scores);
    if (of.rank < 2) return scores;
    weft_tensor mask = draw_like(g, WEFT_BOOL, (weft_shape){2, of.extents + of.rank - 2}, true);
    if (draw_chance(g, 2))
        mask = weft_tril(weft_ones(g->graph, WEFT_BOOL, (weft_shape){2, of.extents + of.rank - 2}), 0);
    weft_tensor low = draw_filled(scores, draw_chance(g, 2) ? -1e4 : -__builtin_inf());
    return weft_matmul(weft_softmax(weft_select(mask, scores, low), -1), keys);
}

/* Moved twice, then an elementwise op that broadcasts, then a consumer. */
MAKE(moved)
{
    static const draw_maker moves[] = {
        make_reshape, make_permute, make_slice,     make_pad,     make_flip,   make_repeat,          make_tile,
        make_roll,    make_window,  make_transpose, make_flatten, make_concat, make_broadcast_in_dim};
    for (size_t i = 1 + draw_below(g, 3); i > 0 && weft_tensor_is_valid(x); i--)
        x = moves[draw_below(g, sizeof moves / sizeof *moves)](g, call, x);
    if (!weft_tensor_is_valid(x)) return x;
    weft_tensor y = draw_partner(g, x);
    weft_dtype_set dtype = 1u << weft_tensor_dtype(x);
    weft_tensor mixed = dtype & DRAW_BOOL ? weft_xor(x, y) : weft_add(x, y);
    if (!weft_tensor_is_valid(mixed)) return mixed;
    drawn_ints axes = draw_axes(g, mixed, true);
    if (draw_chance(g, 3)) return moves[draw_below(g, sizeof moves / sizeof *moves)](g, call, mixed);
    if (dtype & DRAW_NUMERIC && draw_chance(g, 2)) return weft_reduce_sum(mixed, INTS(axes), draw_chance(g, 3));
    if (dtype & DRAW_ORDERED && draw_chance(g, 2)) return weft_reduce_max(mixed, INTS(axes), draw_chance(g, 3));
    return dtype & DRAW_FLOAT ? weft_softmax(mixed, draw_axis(g, mixed)) : mixed;
}

/* Rotary positions: halves of the last axis swapped and negated. */
MAKE(rotated)
{
    UNUSED;
    weft_tensor halves[2];
    if (weft_tensor_rank(x) == 0 || !weft_tensor_is_valid(weft_split(x, -1, 2, halves))) return WEFT_NO_TENSOR;
    weft_tensor turned = weft_concat(WEFT_TENSORS(weft_neg(halves[1]), halves[0]), -1);
    weft_tensor angle = draw_like(g, weft_tensor_dtype(x), WEFT_SHAPE(weft_tensor_extent(x, -1)), false);
    return weft_add(weft_mul(x, weft_cos(angle)), weft_mul(turned, weft_sin(angle)));
}

MAKE(perceptron)
{
    UNUSED;
    if (weft_tensor_rank(x) == 0) return WEFT_NO_TENSOR;
    weft_extent k = weft_tensor_extent(x, -1), n = draw_extent(g);
    weft_dtype dtype = weft_tensor_dtype(x);
    weft_tensor h = weft_layer_norm(x, -1, NULL);
    h = weft_matmul(h, draw_like(g, dtype, WEFT_SHAPE(k, n), false));
    h = weft_add(h, draw_like(g, dtype, WEFT_SHAPE(n), false));
    h = draw_chance(g, 2) ? weft_gelu(h) : weft_mul(weft_silu(h), h);
    h = weft_matmul(h, draw_like(g, dtype, WEFT_SHAPE(n, k), false));
    return weft_add(x, h);
}

/* Reductions along other axes than the last, of reductions. */
MAKE(outer_reduction)
{
    UNUSED;
    if (weft_tensor_rank(x) < 2) return WEFT_NO_TENSOR;
    weft_tensor inner = weft_reduce_sum(x, WEFT_INTS(-1), true), y = weft_mul(weft_sub(x, inner), x);
    if (draw_chance(g, 2)) y = weft_sub(y, weft_reduce_max(y, WEFT_INTS(0), true));
    if (draw_chance(g, 3)) y = weft_cumsum(y, draw_axis(g, y), false, false);
    return draw_chance(g, 2) ? weft_reduce_sum(y, WEFT_INTS(0), false) : weft_reduce_sum(y, WEFT_INTS(0, -1), true);
}

/* repeat, reshape and gather of what is computed. */
MAKE(repeated_heads)
{
    UNUSED;
    if (weft_tensor_rank(x) == 0) return WEFT_NO_TENSOR;
    weft_tensor y =
        weft_repeat(weft_mul(x, draw_partner(g, x)), draw_axis(g, x), weft_extent_of(2 + (int64_t)draw_below(g, 2)));
    if (!weft_tensor_is_valid(y)) return y;
    if (draw_chance(g, 2)) y = weft_tile(y, WEFT_SHAPE(2));
    if (draw_chance(g, 2)) y = weft_roll(y, WEFT_INTS(1), WEFT_INTS(-1));
    if (draw_chance(g, 2)) y = make_reshape(g, call, y);
    if (!weft_tensor_is_valid(y)) return y;
    return draw_chance(g, 2) ? weft_reduce_sum(y, WEFT_INTS(-1), false) : weft_mul(y, y);
}
