/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/elementwise.h>
#include <math.h>
#include "lib/composite/composite.h"
#include "runtime/base/float_mode.h"

/* Whether all of them broadcast together. */
static bool meet(const char *function, size_t count, const weft_named *operands)
{
    for (size_t i = 1; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (!weft_composite_wants_broadcast(function, operands[i], operands[k])) return false;
    return true;
}

weft_tensor weft_clamp(weft_tensor x, weft_tensor low, weft_tensor high)
{
    weft_named named[] = {{"x", x}, {"low", low}, {"high", high}};
    if (!weft_composite_begin("clamp", 3, 3, (weft_tensor[]){x, low, high}) ||
        !weft_composite_wants_order("clamp", "x", x) || !weft_composite_wants_dtype("clamp", named[1], named[0]) ||
        !weft_composite_wants_dtype("clamp", named[2], named[0]) || !meet("clamp", 3, named)) {
        return weft_trace_failed(WEFT_TENSORS(x, low, high));
    }
    return weft_min(weft_max(x, low), high);
}

weft_tensor weft_lerp(weft_tensor a, weft_tensor b, weft_tensor t)
{
    weft_named named[] = {{"a", a}, {"b", b}, {"t", t}};
    if (!weft_composite_begin("lerp", 3, 3, (weft_tensor[]){a, b, t}) || !weft_composite_wants_number("lerp", "a", a)) {
        return weft_trace_failed(WEFT_TENSORS(a, b, t));
    }
    weft_dtype dtype = weft_tensor_dtype(a);
    if (!weft_composite_join("lerp", "b", named[0], &b) || !weft_composite_join("lerp", "t", named[0], &t) ||
        !meet("lerp", 3, named)) {
        return weft_tensor_failed(a.graph);
    }
    a = weft_composite_widen(a);
    if (weft_dtype_info_of(dtype)->kind == WEFT_KIND_FLOAT)
        return weft_composite_cast(weft_composite_between(a, b, t), dtype);
    return weft_add(a, weft_mul(weft_sub(b, a), t));
}

WEFT_PLAIN_FUNCTION(weft_tensor, weft_is_close, (weft_tensor a, weft_tensor b, double relative, double absolute),
                    (a, b, relative, absolute))
{
    if (!weft_composite_begin("is_close", 2, 2, (weft_tensor[]){a, b}) ||
        !weft_composite_wants_float("is_close", "a", a) ||
        !weft_composite_join("is_close", "b", (weft_named){"a", a}, &b) ||
        !meet("is_close", 2, (weft_named[]){{"a", a}, {"b", b}})) {
        return weft_trace_failed(WEFT_TENSORS(a, b));
    }
    if (!(relative >= 0) || !(absolute >= 0)) {
        return weft_trace_fail(a.graph, WEFT_INVALID_ARGUMENT, "is_close",
                               "the tolerances are %g and %g, but may not be negative or NaN", relative, absolute);
    }
    a = weft_composite_widen(a);
    weft_tensor size = weft_abs(b), limit = weft_mul(size, weft_scalar_like(a, relative));
    /* Also of a: its infinite distance is within an infinite limit. */
    weft_tensor is_finite = weft_lt(weft_max(weft_abs(a), size), weft_scalar_like(a, INFINITY));
    weft_tensor is_near = weft_le(weft_abs(weft_sub(a, b)), weft_add(limit, weft_scalar_like(a, absolute)));
    return weft_or(weft_eq(a, b), weft_and(is_near, is_finite));
}

static weft_tensor truth(weft_tensor x)
{
    return weft_composite_cast(x, WEFT_BOOL);
}

typedef weft_tensor (*connective)(weft_tensor a, weft_tensor b);

static weft_tensor connect(const char *function, weft_tensor a, weft_tensor b, connective combine)
{
    if (!weft_composite_begin(function, 2, 2, (weft_tensor[]){a, b}) ||
        !meet(function, 2, (weft_named[]){{"a", a}, {"b", b}})) {
        return weft_trace_failed(WEFT_TENSORS(a, b));
    }
    return combine(truth(a), truth(b));
}

weft_tensor weft_logical_and(weft_tensor a, weft_tensor b)
{
    return connect("logical_and", a, b, weft_and);
}

weft_tensor weft_logical_or(weft_tensor a, weft_tensor b)
{
    return connect("logical_or", a, b, weft_or);
}

weft_tensor weft_logical_xor(weft_tensor a, weft_tensor b)
{
    return connect("logical_xor", a, b, weft_xor);
}

weft_tensor weft_logical_not(weft_tensor x)
{
    return weft_not(truth(x));
}
