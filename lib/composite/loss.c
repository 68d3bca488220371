/* SPDX-License-Identifier: Apache-2.0 */
/* Losses. */
#include <weft/nn.h>
#include <weft/shape.h>
#include "lib/composite/composite.h"
#include "runtime/base/float_mode.h"

/* Both operands widened. */
static bool begin(const char *function, weft_tensor *x, weft_tensor *target)
{
    weft_tensor operands[] = {*x, *target};
    if (!weft_composite_begin(function, 2, 2, operands) || !weft_composite_wants_float(function, "the operand", *x) ||
        !weft_composite_wants_broadcast(function, (weft_named){"the target", *target},
                                        (weft_named){"the operand", *x}) ||
        !weft_composite_join(function, "the target", (weft_named){"the operand", *x}, target)) {
        return false;
    }
    *x = weft_composite_widen(*x);
    return true;
}

/* The loss as asked for, in `dtype`. */
static weft_tensor end(const char *function, weft_tensor loss, weft_reduction_kind reduction, weft_dtype dtype)
{
    if (weft_tensor_is_valid(loss) && (unsigned)reduction > WEFT_REDUCTION_BATCH_MEAN) {
        return weft_trace_fail(loss.graph, WEFT_INVALID_ARGUMENT, function, "%d is not a weft_reduction_kind",
                               (int)reduction);
    }
    if (!weft_tensor_is_valid(loss) || reduction == WEFT_REDUCTION_NONE) return weft_composite_cast(loss, dtype);
    weft_shape shape = weft_tensor_shape(loss);
    weft_axis_list axes = weft_axis_range(0, shape.rank);
    weft_tensor sum = weft_reduce_sum(loss, weft_axis_list_ints(&axes), false);
    bool by_batch = reduction == WEFT_REDUCTION_BATCH_MEAN;
    if (by_batch && !weft_composite_wants_rank(function, "the loss", loss, 1)) return weft_tensor_failed(loss.graph);
    if (reduction != WEFT_REDUCTION_SUM) {
        sum = weft_div(sum, weft_extent_like(sum, weft_extent_product(shape, 0, by_batch ? 1 : shape.rank)));
    }
    return weft_composite_cast(sum, dtype);
}

weft_tensor weft_mse_loss(weft_tensor x, weft_tensor target, weft_reduction_kind reduction)
{
    weft_dtype dtype = weft_tensor_dtype(x);
    if (!begin("mse_loss", &x, &target)) return weft_trace_failed(WEFT_TENSORS(x, target));
    weft_tensor distance = weft_sub(x, target);
    return end("mse_loss", weft_mul(distance, distance), reduction, dtype);
}

weft_tensor weft_l1_loss(weft_tensor x, weft_tensor target, weft_reduction_kind reduction)
{
    weft_dtype dtype = weft_tensor_dtype(x);
    if (!begin("l1_loss", &x, &target)) return weft_trace_failed(WEFT_TENSORS(x, target));
    return end("l1_loss", weft_abs(weft_sub(x, target)), reduction, dtype);
}

WEFT_PLAIN_FUNCTION(weft_tensor, weft_huber_loss,
                    (weft_tensor x, weft_tensor target, double delta, weft_reduction_kind reduction),
                    (x, target, delta, reduction))
{
    weft_dtype dtype = weft_tensor_dtype(x);
    if (!begin("huber_loss", &x, &target)) return weft_trace_failed(WEFT_TENSORS(x, target));
    if (!(delta > 0)) {
        return weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, "huber_loss", "delta is %g, not positive", delta);
    }
    weft_tensor distance = weft_abs(weft_sub(x, target)), limit = weft_scalar_like(x, delta);
    weft_tensor half = weft_scalar_like(x, 0.5);
    weft_tensor square = weft_mul(weft_mul(distance, distance), half);
    weft_tensor line = weft_mul(limit, weft_sub(distance, weft_scalar_like(x, delta / 2)));
    return end("huber_loss", weft_select(weft_le(distance, limit), square, line), reduction, dtype);
}

weft_tensor weft_kl_divergence(weft_tensor x, weft_tensor target, weft_reduction_kind reduction)
{
    weft_dtype dtype = weft_tensor_dtype(x);
    if (!begin("kl_divergence", &x, &target)) return weft_trace_failed(WEFT_TENSORS(x, target));
    weft_tensor zero = weft_scalar_like(x, 0);
    weft_tensor is_zero = weft_eq(target, zero), inside = weft_select(is_zero, weft_scalar_like(x, 1), target);
    weft_tensor loss = weft_mul(target, weft_sub(weft_log(inside), x));
    return end("kl_divergence", weft_select(is_zero, zero, loss), reduction, dtype);
}

weft_tensor weft_bce_with_logits(weft_tensor x, weft_tensor target, weft_tensor positive, weft_reduction_kind reduction)
{
    weft_dtype dtype = weft_tensor_dtype(x);
    weft_tensor operands[] = {x, target, positive};
    static const char *const names[] = {"the operand", "the target", "the tensor of weights"};
    if (!weft_composite_begin_named("bce_with_logits", 2, 3, operands, names) ||
        !weft_composite_join("bce_with_logits", names[2], (weft_named){names[0], x}, &positive) ||
        !begin("bce_with_logits", &x, &target)) {
        return weft_trace_failed(WEFT_TENSORS(x, target, positive));
    }
    weft_named weights = {"the tensor of weights", positive};
    if (!weft_composite_is_absent(positive) &&
        (!weft_composite_wants_broadcast("bce_with_logits", weights, (weft_named){"the operand", x}) ||
         !weft_composite_wants_broadcast("bce_with_logits", weights, (weft_named){"the target", target}))) {
        return weft_tensor_failed(x.graph);
    }
    weft_tensor one = weft_scalar_like(x, 1), size = weft_abs(x);
    /* -log(sigmoid(x)) and -log(1 - sigmoid(x)), each a sum without cancellation, share a term. */
    weft_tensor if_positive = weft_composite_softplus(weft_neg(x), size);
    weft_tensor if_negative = weft_composite_softplus(x, size);
    weft_tensor share = weft_composite_is_absent(positive) ? target : weft_mul(positive, target);
    weft_tensor loss = weft_add(weft_mul(share, if_positive), weft_mul(weft_sub(one, target), if_negative));
    return end("bce_with_logits", loss, reduction, dtype);
}

/* ---- classes ---- */

/* Logits or logarithms with the classes last, and for each row its class and its weight. */
typedef struct classification {
    weft_tensor x, classes, weights; /* weights: WEFT_NO_TENSOR where all are 1 */
    weft_class_options options;
    weft_dtype dtype;
} classification;

/* The class of each row, 0 instead of one that is ignored, and what the row counts. */
static void weigh_rows(classification *c, weft_tensor targets)
{
    weft_tensor zero = weft_scalar_like(c->x, 0), one = weft_scalar_like(c->x, 1), counts = WEFT_NO_TENSOR;
    c->classes = weft_composite_cast(targets, WEFT_I64);
    if (c->options.ignores) {
        weft_tensor ignored = weft_constant(targets.graph, WEFT_I64, (weft_ints){0, NULL}, &c->options.ignored);
        weft_tensor is_used = weft_ne(c->classes, ignored);
        c->classes = weft_select(is_used, c->classes, weft_scalar_like(c->classes, 0));
        counts = weft_select(is_used, one, zero);
    }
    c->weights = counts;
    if (weft_composite_is_absent(c->options.weights)) return;
    weft_tensor own = weft_gather(c->options.weights, c->classes, 0);
    c->weights = weft_composite_is_absent(counts) ? own : weft_select(weft_eq(counts, zero), zero, own);
}

static bool check_weights(const char *function, const classification *c)
{
    weft_tensor weights = c->options.weights;
    if (weft_composite_is_absent(weights)) return true;
    if (weft_tensor_rank(weights) != 1) {
        weft_trace_fail(c->x.graph, WEFT_SHAPE_MISMATCH, function, "the weights have rank %zu, not 1",
                        weft_tensor_rank(weights));
        return false;
    }
    weft_extent own = weft_tensor_extent(weights, 0), classes = weft_tensor_extent(c->x, -1);
    return weft_require_equal(c->x.graph, own, classes, "%s: there are %s weights for %s classes", function,
                              weft_extent_describe(own).text, weft_extent_describe(classes).text);
}

static bool begin_classes(const char *function, weft_tensor x, weft_tensor targets, int64_t axis,
                          const weft_class_options *options, classification *out_c)
{
    int64_t at;
    *out_c = (classification){.dtype = weft_tensor_dtype(x)};
    if (options != NULL) out_c->options = *options;
    weft_tensor operands[] = {x, targets, out_c->options.weights};
    static const char *const names[] = {"the operand", "the target", "the tensor of weights"};
    if (!weft_composite_begin_named(function, 2, 3, operands, names) ||
        !weft_composite_wants_float(function, names[0], x) ||
        !weft_axis_normalize(x.graph, function, axis, weft_tensor_rank(x), &at) ||
        !weft_composite_join(function, names[2], (weft_named){names[0], x}, &out_c->options.weights)) {
        return false;
    }
    out_c->x = weft_moveaxis(weft_composite_widen(x), WEFT_INTS(at), WEFT_INTS(-1));
    return check_weights(function, out_c);
}

/* Whether there is one class for each row. */
static bool begin_indices(const char *function, weft_tensor targets, classification *c)
{
    size_t rank = weft_tensor_rank(c->x) - 1;
    if (!weft_composite_wants_integer(function, "the target", targets)) return false;
    if (weft_tensor_rank(targets) != rank) {
        weft_trace_fail(c->x.graph, WEFT_SHAPE_MISMATCH, function, "the target has rank %zu, not %zu",
                        weft_tensor_rank(targets), rank);
        return false;
    }
    for (size_t i = 0; i < rank; i++) {
        weft_extent own = weft_tensor_extent(targets, (int64_t)i), rows = weft_tensor_extent(c->x, (int64_t)i);
        if (!weft_require_equal(c->x.graph, own, rows, "%s: axis %zu of the target has extent %s, not %s", function, i,
                                weft_extent_describe(own).text, weft_extent_describe(rows).text)) {
            return false;
        }
    }
    weigh_rows(c, targets);
    return weft_tensor_is_valid(c->classes);
}

/* The elements of x at the classes. */
static weft_tensor pick(const classification *c)
{
    return weft_squeeze(weft_take_along_axis(c->x, weft_unsqueeze(c->classes, -1), -1), -1);
}

/* Each row's loss, weighted and reduced: the mean is over weights. */
static weft_tensor end_classes(const char *function, const classification *c, weft_tensor loss)
{
    weft_reduction_kind reduction = c->options.reduction;
    if (weft_composite_is_absent(c->weights)) return end(function, loss, reduction, c->dtype);
    weft_tensor zero = weft_scalar_like(loss, 0);
    loss = weft_select(weft_eq(c->weights, zero), zero, weft_mul(loss, c->weights));
    if (reduction != WEFT_REDUCTION_MEAN) return end(function, loss, reduction, c->dtype);
    weft_axis_list axes = weft_axis_range(0, weft_tensor_rank(loss));
    weft_ints all = weft_axis_list_ints(&axes);
    weft_tensor weights = weft_broadcast_like(c->weights, loss);
    weft_tensor mean = weft_div(weft_reduce_sum(loss, all, false), weft_reduce_sum(weights, all, false));
    return weft_composite_cast(mean, c->dtype);
}

static weft_tensor nll_loss(weft_tensor x, weft_tensor targets, int64_t axis, const weft_class_options *options)
{
    classification c;
    if (!begin_classes("nll_loss", x, targets, axis, options, &c) || !begin_indices("nll_loss", targets, &c)) {
        return weft_trace_failed(WEFT_TENSORS(x, targets));
    }
    return end_classes("nll_loss", &c, weft_neg(pick(&c)));
}

weft_tensor weft_nll_loss(weft_tensor x, weft_tensor targets, int64_t axis, const weft_class_options *options)
{
    weft_guard_scope scope = weft_guards_open(x.graph);
    weft_tensor result = nll_loss(x, targets, axis, options);
    weft_guards_close(scope, 1, &result);
    return result;
}

/* With a probability for every class. */
static weft_tensor cross_probabilities(const classification *c, weft_tensor x, weft_tensor targets, int64_t axis)
{
    if (!weft_composite_join("cross_entropy", "the target", (weft_named){"the operand", x}, &targets))
        return weft_tensor_failed(c->x.graph);
    if (weft_tensor_rank(targets) != weft_tensor_rank(c->x)) {
        return weft_trace_fail(c->x.graph, WEFT_SHAPE_MISMATCH, "cross_entropy",
                               "the target has rank %zu but the operand %zu", weft_tensor_rank(targets),
                               weft_tensor_rank(c->x));
    }
    for (int64_t i = 0; i < (int64_t)weft_tensor_rank(x); i++) {
        if (!weft_composite_wants_extent("cross_entropy", (weft_named){"the target", targets}, i,
                                         (weft_named){"the operand", x}, i)) {
            return weft_tensor_failed(x.graph);
        }
    }
    weft_tensor shares = weft_mul(weft_log_softmax(c->x, -1), weft_moveaxis(targets, WEFT_INTS(axis), WEFT_INTS(-1)));
    if (!weft_composite_is_absent(c->options.weights)) shares = weft_mul(shares, c->options.weights);
    weft_tensor loss = weft_neg(weft_reduce_sum(shares, WEFT_INTS(-1), false));
    return end("cross_entropy", loss, c->options.reduction, c->dtype);
}

static weft_tensor cross_entropy(weft_tensor x, weft_tensor targets, int64_t axis, const weft_class_options *options)
{
    classification c;
    if (!begin_classes("cross_entropy", x, targets, axis, options, &c))
        return weft_trace_failed(WEFT_TENSORS(x, targets));
    bool indices = weft_dtype_info_of(weft_tensor_dtype(targets))->kind != WEFT_KIND_FLOAT;
    if (!indices) return cross_probabilities(&c, x, targets, axis);
    if (!begin_indices("cross_entropy", targets, &c)) return weft_tensor_failed(x.graph);
    weft_tensor greatest = weft_reduce_max(c.x, WEFT_INTS(-1), false);
    weft_tensor powers = weft_exp(weft_sub(c.x, weft_unsqueeze(greatest, -1)));
    weft_tensor sum = weft_reduce_sum(powers, WEFT_INTS(-1), false);
    weft_tensor loss = weft_sub(weft_log(sum), weft_sub(pick(&c), greatest));
    loss = weft_composite_as(WEFT_COMPOSED_cross_entropy, WEFT_TENSORS(c.x, c.classes), NULL, loss);
    return end_classes("cross_entropy", &c, loss);
}

weft_tensor weft_cross_entropy(weft_tensor x, weft_tensor targets, int64_t axis, const weft_class_options *options)
{
    weft_guard_scope scope = weft_guards_open(x.graph);
    weft_tensor result = cross_entropy(x, targets, axis, options);
    weft_guards_close(scope, 1, &result);
    return result;
}
