/* SPDX-License-Identifier: Apache-2.0 */
/* Activations: one formula each. */
#include <weft/nn.h>
#include <math.h>
#include "lib/composite/composite.h"
#include "runtime/base/float_mode.h"

/* Whether `x` is valid and of floats; if so, the widened x. */
static bool begin(const char *function, weft_tensor x, weft_tensor *out_x)
{
    if (!weft_composite_begin(function, 1, 1, &x) || !weft_composite_wants_float(function, "the operand", x))
        return false;
    *out_x = weft_composite_widen(x);
    return true;
}

static weft_tensor end(weft_tensor result, weft_tensor like)
{
    return weft_composite_cast(result, weft_tensor_dtype(like));
}

static weft_tensor times(weft_tensor x, double factor)
{
    return weft_mul(x, weft_scalar_like(x, factor));
}

static weft_tensor plus(weft_tensor x, double term)
{
    return weft_add(x, weft_scalar_like(x, term));
}

static weft_tensor clamp(weft_tensor x, double low, double high)
{
    return weft_max(weft_min(x, weft_scalar_like(x, high)), weft_scalar_like(x, low));
}

static weft_tensor hard_sigmoid(weft_tensor x, double slope, double offset)
{
    return clamp(plus(times(x, slope), offset), 0, 1);
}

weft_tensor weft_relu(weft_tensor x)
{
    if (!weft_composite_begin("relu", 1, 1, &x) || !weft_composite_wants_order("relu", "the operand", x))
        return weft_tensor_failed(x.graph);
    weft_tensor zero = weft_scalar_like(x, 0);
    return weft_composite_as(WEFT_COMPOSED_relu, WEFT_TENSORS(x), NULL, weft_select(weft_le(x, zero), zero, x));
}

static weft_tensor leak(weft_tensor x, weft_tensor slope)
{
    return weft_select(weft_ge(x, weft_scalar_like(x, 0)), x, weft_mul(x, slope));
}

weft_tensor weft_leaky_relu(weft_tensor x, double slope)
{
    weft_tensor wide;
    if (!begin("leaky_relu", x, &wide)) return weft_tensor_failed(x.graph);
    if (isnan(slope)) return weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, "leaky_relu", "the slope is NaN");
    return end(leak(wide, weft_scalar_like(wide, slope)), x);
}

weft_tensor weft_prelu(weft_tensor x, weft_tensor slope)
{
    weft_tensor wide;
    if (!weft_composite_begin("prelu", 2, 2, (weft_tensor[]){x, slope}) || !begin("prelu", x, &wide) ||
        !weft_composite_join("prelu", "the slope", (weft_named){"the operand", x}, &slope) ||
        !weft_composite_wants_broadcast("prelu", (weft_named){"the slope", slope}, (weft_named){"the operand", x})) {
        return weft_trace_failed(WEFT_TENSORS(x, slope));
    }
    return end(leak(wide, slope), x);
}

weft_tensor weft_hard_sigmoid(weft_tensor x, double slope, double offset)
{
    weft_tensor wide;
    if (!begin("hard_sigmoid", x, &wide)) return weft_tensor_failed(x.graph);
    return end(hard_sigmoid(wide, slope, offset), x);
}

weft_tensor weft_hard_swish(weft_tensor x)
{
    weft_tensor wide;
    if (!begin("hard_swish", x, &wide)) return weft_tensor_failed(x.graph);
    return end(weft_mul(wide, hard_sigmoid(wide, 1.0 / 6, 0.5)), x);
}

weft_tensor weft_hard_tanh(weft_tensor x, double low, double high)
{
    weft_tensor wide;
    if (!begin("hard_tanh", x, &wide)) return weft_tensor_failed(x.graph);
    return end(clamp(wide, low, high), x);
}

weft_tensor weft_softsign(weft_tensor x)
{
    weft_tensor wide;
    if (!begin("softsign", x, &wide)) return weft_tensor_failed(x.graph);
    return end(weft_div(wide, plus(weft_abs(wide), 1)), x);
}

weft_tensor weft_gelu_tanh(weft_tensor x)
{
    weft_tensor wide;
    if (!begin("gelu_tanh", x, &wide)) return weft_tensor_failed(x.graph);
    weft_tensor cube = weft_mul(weft_mul(wide, wide), wide);
    weft_tensor inner = times(weft_add(wide, times(cube, 0.044715)), 0.79788456080286536);
    return end(weft_mul(times(wide, 0.5), plus(weft_tanh(inner), 1)), x);
}

weft_tensor weft_composite_softplus(weft_tensor x, weft_tensor size)
{
    weft_tensor rest = weft_log1p(weft_exp(weft_neg(size)));
    weft_tensor y = weft_add(weft_max(x, weft_scalar_like(x, 0)), rest);
    return weft_composite_as(WEFT_COMPOSED_softplus, WEFT_TENSORS(x), NULL, y);
}

static weft_tensor softplus(weft_tensor x)
{
    return weft_composite_softplus(x, weft_abs(x));
}

/* factor * (exp(x / divisor) - 1) */
static weft_tensor bend(weft_tensor x, double factor, double divisor)
{
    return times(weft_expm1(times(x, 1 / divisor)), factor);
}

/* The slope at 0 is alpha. */
static weft_tensor elu(weft_tensor x, double alpha)
{
    return weft_select(weft_gt(x, weft_scalar_like(x, 0)), x, bend(x, alpha, 1));
}

weft_tensor weft_silu(weft_tensor x)
{
    weft_tensor wide;
    if (!begin("silu", x, &wide)) return weft_tensor_failed(x.graph);
    return end(weft_mul(wide, weft_sigmoid(wide)), x);
}

weft_tensor weft_gelu(weft_tensor x)
{
    weft_tensor wide;
    if (!begin("gelu", x, &wide)) return weft_tensor_failed(x.graph);
    return end(weft_mul(times(wide, 0.5), plus(weft_erf(times(wide, M_SQRT1_2)), 1)), x);
}

weft_tensor weft_softplus(weft_tensor x)
{
    weft_tensor wide;
    if (!begin("softplus", x, &wide)) return weft_tensor_failed(x.graph);
    return end(softplus(wide), x);
}

weft_tensor weft_mish(weft_tensor x)
{
    weft_tensor wide;
    if (!begin("mish", x, &wide)) return weft_tensor_failed(x.graph);
    return end(weft_mul(wide, weft_tanh(softplus(wide))), x);
}

weft_tensor weft_elu(weft_tensor x, double alpha)
{
    weft_tensor wide;
    if (!begin("elu", x, &wide)) return weft_tensor_failed(x.graph);
    return end(elu(wide, alpha), x);
}

WEFT_PLAIN_FUNCTION(weft_tensor, weft_celu, (weft_tensor x, double alpha), (x, alpha))
{
    weft_tensor wide;
    if (!begin("celu", x, &wide)) return weft_tensor_failed(x.graph);
    if (!(alpha != 0)) return weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, "celu", "alpha is %g", alpha);
    return end(weft_select(weft_ge(wide, weft_scalar_like(wide, 0)), wide, bend(wide, alpha, alpha)), x);
}

weft_tensor weft_selu(weft_tensor x)
{
    weft_tensor wide;
    if (!begin("selu", x, &wide)) return weft_tensor_failed(x.graph);
    return end(times(elu(wide, 1.6732632423543772), 1.0507009873554805), x);
}

/* ---- along an axis ---- */

/* Also the axis; the distance of each element to the greatest. */
static bool begin_along(const char *function, weft_tensor x, int64_t axis, int64_t *out_axis, weft_tensor *out_distance)
{
    weft_tensor wide;
    if (!begin(function, x, &wide) || !weft_axis_normalize(x.graph, function, axis, weft_tensor_rank(x), out_axis)) {
        return false;
    }
    *out_distance = weft_sub(wide, weft_reduce_max(wide, WEFT_INTS(*out_axis), true));
    return true;
}

weft_tensor weft_softmax(weft_tensor x, int64_t axis)
{
    weft_tensor distance;
    int64_t at;
    if (!begin_along("softmax", x, axis, &at, &distance)) return weft_tensor_failed(x.graph);
    weft_tensor powers = weft_exp(distance);
    weft_tensor shares = end(weft_div(powers, weft_reduce_sum(powers, WEFT_INTS(at), true)), x);
    return weft_composite_as(WEFT_COMPOSED_softmax, WEFT_TENSORS(x), &(weft_attr){.integer = at}, shares);
}

weft_tensor weft_log_softmax(weft_tensor x, int64_t axis)
{
    weft_tensor distance;
    int64_t at;
    if (!begin_along("log_softmax", x, axis, &at, &distance)) return weft_tensor_failed(x.graph);
    weft_tensor total = weft_reduce_sum(weft_exp(distance), WEFT_INTS(at), true);
    weft_tensor shares = end(weft_sub(distance, weft_log(total)), x);
    return weft_composite_as(WEFT_COMPOSED_log_softmax, WEFT_TENSORS(x), &(weft_attr){.integer = at}, shares);
}
