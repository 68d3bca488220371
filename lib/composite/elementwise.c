/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/elementwise.h>
#include <math.h>
#include "lib/composite/composite.h"

weft_tensor weft_clamp(weft_tensor x, weft_tensor low, weft_tensor high)
{
    return weft_min(weft_max(x, low), high);
}

weft_tensor weft_lerp(weft_tensor a, weft_tensor b, weft_tensor t)
{
    if (!weft_composite_begin("lerp", 3, (weft_tensor[]){a, b, t})) return weft_tensor_failed(a.graph);
    weft_dtype dtype = weft_tensor_dtype(a);
    if (!weft_composite_join("lerp", "b", a, &b) || !weft_composite_join("lerp", "t", a, &t)) {
        return weft_tensor_failed(a.graph);
    }
    a = weft_composite_widen(a);
    return weft_composite_cast(weft_add(a, weft_mul(weft_sub(b, a), t)), dtype);
}

weft_tensor weft_is_close(weft_tensor a, weft_tensor b, double relative, double absolute)
{
    if (!weft_composite_begin("is_close", 2, (weft_tensor[]){a, b}) ||
        !weft_composite_wants_float("is_close", "a", a) || !weft_composite_join("is_close", "b", a, &b)) {
        return weft_tensor_failed(a.graph);
    }
    a = weft_composite_widen(a);
    weft_tensor size = weft_abs(b), limit = weft_mul(size, weft_scalar_like(a, relative));
    weft_tensor is_finite = weft_lt(size, weft_scalar_like(a, INFINITY));
    weft_tensor is_near = weft_le(weft_abs(weft_sub(a, b)), weft_add(limit, weft_scalar_like(a, absolute)));
    return weft_or(weft_eq(a, b), weft_and(is_near, is_finite));
}

static weft_tensor truth(weft_tensor x)
{
    return weft_composite_cast(x, WEFT_BOOL);
}

weft_tensor weft_logical_and(weft_tensor a, weft_tensor b)
{
    return weft_and(truth(a), truth(b));
}

weft_tensor weft_logical_or(weft_tensor a, weft_tensor b)
{
    return weft_or(truth(a), truth(b));
}

weft_tensor weft_logical_xor(weft_tensor a, weft_tensor b)
{
    return weft_xor(truth(a), truth(b));
}

weft_tensor weft_logical_not(weft_tensor x)
{
    return weft_not(truth(x));
}
