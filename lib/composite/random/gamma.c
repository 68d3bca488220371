/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gamma variables after Marsaglia and Tsang (2000): d (1 + t)^3 for t = x / (3 sqrt(d)) and a normal x, accepted if
 * log(u) < x^2 / 2 + d - d v + d log(v), where v = (1 + t)^3. In terms of t the right side is
 * d (3 (log(1 + t) - t) + 3/2 t^2 - t^3), which does not cancel where d is large.
 */
#include <math.h>
#include "lib/composite/random/random.h"

typedef struct proposal {
    weft_tensor d, step; /* 1 / (3 sqrt(d)) */
} proposal;

static weft_tensor times(weft_tensor x, double value)
{
    return weft_mul(x, weft_scalar_like(x, value));
}

static weft_tensor plus(weft_tensor x, double value)
{
    return weft_add(x, weft_scalar_like(x, value));
}

/* NaN where the proposal is rejected. */
static weft_tensor try_gamma(const void *context, const weft_random_block *block)
{
    const proposal *p = context;
    weft_dtype dtype = weft_tensor_dtype(p->d);
    weft_tensor t = weft_mul(weft_random_normal_of(block, 0, dtype), p->step);
    weft_tensor base = plus(t, 1), square = weft_mul(t, t);
    weft_tensor cubic = weft_sub(times(square, 1.5), weft_mul(square, t));
    weft_tensor limit = weft_mul(p->d, weft_add(times(weft_random_log1p_rest(t), 3), cubic));
    weft_tensor log_share = weft_random_log_share(weft_random_share_of(block, 2, dtype));
    weft_tensor accepted = weft_and(weft_gt(base, weft_scalar_like(base, 0)), weft_lt(log_share, limit));
    weft_tensor value = weft_mul(p->d, weft_mul(weft_mul(base, base), base));
    return weft_select(accepted, value, weft_scalar_like(value, NAN));
}

static weft_tensor is_rejected(const void *context, weft_tensor value)
{
    (void)context;
    return weft_is_nan(value);
}

/* u^(1 / alpha), from block 0, which no attempt uses. */
static weft_tensor power_of_share(weft_tensor key, weft_tensor alpha, weft_shape shape)
{
    weft_random_block block = weft_random_draw(key, shape, WEFT_NO_TENSOR);
    weft_tensor log_share = weft_random_log_share(weft_random_share_of(&block, 2, weft_tensor_dtype(alpha)));
    return weft_random_exp(weft_div(log_share, alpha));
}

static weft_tensor draw_gamma(weft_tensor key, weft_tensor alpha, weft_shape shape)
{
    weft_tensor one = weft_scalar_like(alpha, 1), zero = weft_scalar_like(alpha, 0);
    weft_tensor is_fine = weft_and(weft_gt(alpha, zero), weft_is_finite(alpha));
    weft_tensor own = weft_select(is_fine, alpha, one), is_small = weft_lt(own, one);
    proposal p = {.d = plus(weft_select(is_small, weft_add(own, one), own), -1.0 / 3)};
    p.step = weft_div(one, times(weft_sqrt(p.d), 3));
    weft_random_rule rule = {try_gamma, is_rejected, &p};
    weft_tensor value = weft_random_accepted(key, shape, 1, &rule);
    value = weft_select(is_small, weft_mul(value, power_of_share(key, own, shape)), value);
    return weft_select(is_fine, value, weft_scalar_like(value, NAN));
}

weft_tensor weft_random_gamma(weft_tensor key, weft_tensor alpha, weft_shape shape)
{
    weft_tensor operands[] = {key, alpha};
    static const char *const names[] = {"the key", "alpha"};
    if (!weft_composite_begin_named("random_gamma", 2, 2, operands, names) ||
        !weft_random_begin_shape("random_gamma", key, shape) ||
        !weft_random_wants_parameter("random_gamma", key, (weft_named){"alpha", alpha}, shape)) {
        return weft_trace_failed(WEFT_TENSORS(key, alpha));
    }
    return weft_composite_cast(draw_gamma(key, weft_composite_widen(alpha), shape), weft_tensor_dtype(alpha));
}
