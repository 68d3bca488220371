/* SPDX-License-Identifier: Apache-2.0 */
/* Classes, permutations and choices: the best of many draws, or the order of all. */
#include <math.h>
#include <weft/shape.h>
#include <weft/statistics.h>
#include "lib/composite/random/random.h"

/* The extents of `shape`, then those of `x`. False with an error where these are too many. */
static bool join_shapes(const char *function, weft_shape shape, weft_tensor x, weft_extent *out_extents)
{
    weft_shape rest = weft_tensor_shape(x);
    if (shape.rank + rest.rank > WEFT_MAX_RANK) {
        weft_trace_fail(x.graph, WEFT_SHAPE_MISMATCH, function, "there are %zu axes, more than %d",
                        shape.rank + rest.rank, WEFT_MAX_RANK);
        return false;
    }
    for (size_t i = 0; i < shape.rank; i++) out_extents[i] = shape.extents[i];
    for (size_t i = 0; i < rest.rank; i++) out_extents[shape.rank + i] = rest.extents[i];
    return true;
}

/* ---- classes ---- */

static weft_tensor draw_classes(weft_tensor key, weft_tensor logits, weft_shape shape)
{
    static const char function[] = "random_categorical";
    weft_extent extents[WEFT_MAX_RANK], classes = weft_tensor_extent(logits, -1);
    if (!join_shapes(function, shape, logits, extents) ||
        !weft_require_at_most(key.graph, weft_extent_of(1), classes, "%s: there are %s classes, fewer than 1", function,
                              weft_extent_describe(classes).text)) {
        return weft_tensor_failed(key.graph);
    }
    weft_tensor wide = weft_composite_widen(logits);
    weft_shape all = {shape.rank + weft_tensor_rank(logits), extents};
    weft_random_block block = weft_random_draw(key, all, WEFT_NO_TENSOR);
    weft_tensor waiting = weft_random_exponential_of(&block, 0, weft_tensor_dtype(wide));
    return weft_argmax(weft_sub(wide, weft_random_log(waiting)), -1, false);
}

weft_tensor weft_random_categorical(weft_tensor key, weft_tensor logits, weft_shape shape)
{
    weft_tensor operands[] = {key, logits};
    static const char *const names[] = {"the key", "the tensor of logits"};
    if (!weft_composite_begin_named("random_categorical", 2, 2, operands, names) ||
        !weft_random_begin_shape("random_categorical", key, shape) ||
        !weft_composite_wants_float("random_categorical", names[1], logits) ||
        !weft_composite_wants_rank("random_categorical", names[1], logits, 1)) {
        return weft_trace_failed(WEFT_TENSORS(key, logits));
    }
    weft_guard_scope scope = weft_guards_open(key.graph);
    weft_tensor result = draw_classes(key, logits, shape);
    weft_guards_close(scope, 1, &result);
    return result;
}

/* ---- permutations and choices ---- */

static weft_tensor permutation(weft_tensor key, weft_extent count)
{
    return weft_argsort(weft_random_bits(key, WEFT_I64, (weft_shape){1, &count}), 0, false);
}

weft_tensor weft_random_permutation(weft_tensor key, weft_extent count)
{
    if (!weft_random_begin("random_permutation", key) ||
        !weft_composite_wants_count(key.graph, "random_permutation", "the count", count)) {
        return weft_tensor_failed(key.graph);
    }
    return permutation(key, count);
}

/* When each number comes, of as many as there are weights: f64 of `shape` and that. */
static weft_tensor race(weft_tensor key, weft_shape shape, weft_tensor weights)
{
    weft_extent extents[WEFT_MAX_RANK];
    if (!join_shapes("random_choice", shape, weights, extents)) return weft_tensor_failed(key.graph);
    weft_random_block block = weft_random_draw(key, (weft_shape){shape.rank + 1, extents}, WEFT_NO_TENSOR);
    weft_tensor waiting = weft_random_exponential_of(&block, 0, WEFT_F64);
    weft_tensor rates = weft_composite_cast(weights, WEFT_F64), zero = weft_scalar_like(waiting, 0);
    return weft_select(weft_gt(rates, zero), weft_div(waiting, rates), weft_scalar_like(waiting, INFINITY));
}

static weft_tensor choose_different(weft_tensor key, weft_extent count, weft_shape shape, weft_tensor weights)
{
    weft_tensor order;
    weft_extent draws = weft_extent_product(shape, 0, shape.rank);
    if (!weft_require_at_most(key.graph, draws, count, "random_choice: there are %s draws without replacement of %s",
                              weft_extent_describe(draws).text, weft_extent_describe(count).text)) {
        return weft_tensor_failed(key.graph);
    }
    if (weft_composite_is_absent(weights)) order = permutation(key, count);
    else order = weft_argsort(race(key, (weft_shape){0, NULL}, weights), 0, false);
    return weft_reshape(weft_narrow(order, 0, weft_extent_of(0), draws), shape);
}

static weft_tensor choose(weft_tensor key, weft_extent count, weft_shape shape, bool replace, weft_tensor weights)
{
    if (!replace) return choose_different(key, count, shape, weights);
    if (!weft_require_at_most(key.graph, weft_extent_of(1), count, "random_choice: the count is %s, below 1",
                              weft_extent_describe(count).text)) {
        return weft_tensor_failed(key.graph);
    }
    if (!weft_composite_is_absent(weights)) return weft_argmin(race(key, shape, weights), -1, false);
    return weft_random_between(key, WEFT_I64, shape, weft_extent_of(0), count);
}

static bool wants_weights(weft_tensor weights, weft_extent count)
{
    static const char function[] = "random_choice", name[] = "the tensor of weights";
    if (weft_composite_is_absent(weights)) return true;
    if (!weft_composite_wants_float(function, name, weights)) return false;
    if (weft_tensor_rank(weights) != 1) {
        weft_trace_fail(weights.graph, WEFT_SHAPE_MISMATCH, function, "%s has rank %zu, not 1", name,
                        weft_tensor_rank(weights));
        return false;
    }
    weft_extent own = weft_tensor_extent(weights, 0);
    return weft_require_equal(weights.graph, own, count, "%s: %s has extent %s but the count is %s", function, name,
                              weft_extent_describe(own).text, weft_extent_describe(count).text);
}

weft_tensor weft_random_choice(weft_tensor key, weft_extent count, weft_shape shape, bool replace, weft_tensor weights)
{
    weft_tensor operands[] = {key, weights};
    static const char *const names[] = {"the key", "the tensor of weights"};
    if (!weft_composite_begin_named("random_choice", 1, 2, operands, names) ||
        !weft_random_begin_shape("random_choice", key, shape) ||
        !weft_composite_wants_count(key.graph, "random_choice", "the count", count)) {
        return weft_trace_failed(WEFT_TENSORS(key, weights));
    }
    weft_guard_scope scope = weft_guards_open(key.graph);
    weft_tensor result = weft_tensor_failed(key.graph);
    if (wants_weights(weights, count)) result = choose(key, count, shape, replace, weights);
    weft_guards_close(scope, 1, &result);
    return result;
}
