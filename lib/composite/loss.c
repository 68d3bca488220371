/* SPDX-License-Identifier: Apache-2.0 */
/* Losses. */
#include <weft/nn.h>
#include "lib/composite/composite.h"

/* Both operands widened. */
static bool begin(const char *function, weft_tensor *x, weft_tensor *target)
{
    weft_tensor operands[] = {*x, *target};
    if (!weft_composite_begin(function, 2, operands) || !weft_composite_wants_float(function, "the operand", *x) ||
        !weft_composite_join(function, "the target", *x, target)) {
        return false;
    }
    *x = weft_composite_widen(*x);
    return true;
}

/* The loss as asked for, in `dtype`. */
static weft_tensor end(const char *function, weft_tensor loss, weft_reduction_kind reduction, weft_dtype dtype)
{
    if (!weft_tensor_is_valid(loss) || reduction == WEFT_REDUCTION_NONE) return weft_composite_cast(loss, dtype);
    weft_shape shape = weft_tensor_shape(loss);
    weft_axis_list axes = weft_axis_range(0, shape.rank);
    weft_tensor sum = weft_reduce_sum(loss, weft_axis_list_ints(&axes), false);
    bool by_batch = reduction == WEFT_REDUCTION_BATCH_MEAN;
    if (by_batch && !weft_composite_wants_rank(function, "the operand", loss, 1)) return weft_tensor_failed(loss.graph);
    if (reduction != WEFT_REDUCTION_SUM) {
        sum = weft_div(sum, weft_extent_like(sum, weft_extent_product(shape, 0, by_batch ? 1 : shape.rank)));
    }
    return weft_composite_cast(sum, dtype);
}

weft_tensor weft_mse_loss(weft_tensor x, weft_tensor target, weft_reduction_kind reduction)
{
    weft_dtype dtype = weft_tensor_dtype(x);
    if (!begin("mse_loss", &x, &target)) return weft_tensor_failed(x.graph);
    weft_tensor distance = weft_sub(x, target);
    return end("mse_loss", weft_mul(distance, distance), reduction, dtype);
}

weft_tensor weft_l1_loss(weft_tensor x, weft_tensor target, weft_reduction_kind reduction)
{
    weft_dtype dtype = weft_tensor_dtype(x);
    if (!begin("l1_loss", &x, &target)) return weft_tensor_failed(x.graph);
    return end("l1_loss", weft_abs(weft_sub(x, target)), reduction, dtype);
}

weft_tensor weft_huber_loss(weft_tensor x, weft_tensor target, double delta, weft_reduction_kind reduction)
{
    weft_dtype dtype = weft_tensor_dtype(x);
    if (!begin("huber_loss", &x, &target)) return weft_tensor_failed(x.graph);
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
    if (!begin("kl_divergence", &x, &target)) return weft_tensor_failed(x.graph);
    weft_tensor zero = weft_scalar_like(x, 0);
    weft_tensor loss = weft_mul(target, weft_sub(weft_log(target), x));
    return end("kl_divergence", weft_select(weft_eq(target, zero), zero, loss), reduction, dtype);
}
