/* SPDX-License-Identifier: Apache-2.0 */
/* Integers in a range, by the high half of a product of 64 bits with a random number. */
#include <inttypes.h>
#include "lib/composite/random/random.h"

/* Numbers low, low + 1, ..., as many as `count`, an unsigned i64. Of 2^64 random numbers `surplus` are too many. */
typedef struct range {
    weft_tensor low, count, surplus;
} range;

static weft_tensor word(weft_tensor x, bool upper)
{
    weft_graph *graph = x.graph;
    if (upper) x = weft_shift_right(x, weft_random_integer(graph, 32));
    return weft_and(x, weft_random_integer(graph, UINT32_MAX));
}

/* The upper half of the product of two unsigned i64. */
static weft_tensor multiply_high(weft_tensor x, weft_tensor y)
{
    weft_tensor x_low = word(x, false), x_high = word(x, true), y_low = word(y, false), y_high = word(y, true);
    weft_tensor first = weft_mul(x_low, y_high), second = weft_mul(x_high, y_low);
    weft_tensor least = word(weft_mul(x_low, y_low), true);
    weft_tensor middle = weft_add(weft_add(least, word(first, false)), word(second, false));
    weft_tensor carries = weft_add(weft_add(word(first, true), word(second, true)), word(middle, true));
    return weft_add(weft_mul(x_high, y_high), carries);
}

static weft_tensor try_bits(const void *context, const weft_random_block *block)
{
    (void)context;
    return weft_random_bits_of(block, WEFT_I64);
}

/* Whether the lower half of the product is below `surplus`, both unsigned. */
static weft_tensor is_surplus(const void *context, weft_tensor bits)
{
    const range *r = context;
    weft_tensor sign = weft_random_integer(bits.graph, INT64_MIN);
    return weft_lt(weft_xor(weft_mul(bits, r->count), sign), weft_xor(r->surplus, sign));
}

static weft_tensor draw_range(weft_tensor key, weft_shape shape, const range *r)
{
    weft_random_rule rule = {try_bits, is_surplus, r};
    weft_tensor bits = weft_random_accepted(key, shape, 0, &rule);
    return weft_add(r->low, multiply_high(bits, r->count));
}

/* 2^64 mod count. Where that is 2^63 or more as an unsigned number, so that it is negative, it goes into 2^64 once. */
static weft_tensor surplus_of(weft_tensor count)
{
    weft_graph *graph = count.graph;
    weft_tensor zero = weft_random_integer(graph, 0), one = weft_random_integer(graph, 1);
    weft_tensor rest = weft_add(weft_remainder(weft_random_integer(graph, INT64_MAX), count), one);
    rest = weft_select(weft_eq(rest, count), zero, rest); /* 2^63 mod count */
    weft_tensor missing = weft_sub(count, rest);
    weft_tensor twice = weft_select(weft_ge(rest, missing), weft_sub(rest, missing), weft_add(rest, rest));
    return weft_select(weft_lt(count, zero), weft_neg(count), twice);
}

weft_tensor weft_random_between(weft_tensor key, weft_dtype dtype, weft_shape shape, weft_extent low, weft_extent high)
{
    int64_t first, end;
    weft_tensor zero = weft_random_integer(key.graph, 0);
    range r = {.low = weft_extent_like(zero, low)};
    if (!weft_extent_is_static(low, &first) || !weft_extent_is_static(high, &end)) {
        r.count = weft_sub(weft_extent_like(zero, high), r.low);
        r.surplus = surplus_of(r.count);
        return weft_composite_cast(draw_range(key, shape, &r), dtype);
    }
    /* There may be none where nothing ever runs. */
    uint64_t count = first < end ? (uint64_t)end - (uint64_t)first : 1, surplus = -count % count;
    r.count = weft_random_integer(key.graph, (int64_t)count);
    r.surplus = weft_random_integer(key.graph, (int64_t)surplus);
    if (surplus > 0) return weft_composite_cast(draw_range(key, shape, &r), dtype);
    weft_random_block block = weft_random_draw(key, shape, WEFT_NO_TENSOR);
    return weft_composite_cast(weft_add(r.low, multiply_high(try_bits(NULL, &block), r.count)), dtype);
}

/* Whether the dtype holds low .. high - 1, and there are any. */
static bool wants_range(weft_graph *graph, weft_dtype dtype, weft_extent low, weft_extent high)
{
    static const char function[] = "random_integers";
    const weft_dtype_info *info = weft_dtype_info_of(dtype);
    if (info == NULL || (info->kind != WEFT_KIND_SIGNED && info->kind != WEFT_KIND_UNSIGNED)) {
        weft_trace_fail(graph, WEFT_DTYPE_MISMATCH, function, "dtype %s is not a dtype of integers",
                        weft_dtype_name(dtype));
        return false;
    }
    if (!weft_composite_wants_own(graph, function, "low", low) ||
        !weft_composite_wants_own(graph, function, "high", high))
        return false;
    if (!weft_require_at_most(graph, weft_extent_plus(low, 1), high, "%s: low is %s, not below high, %s", function,
                              weft_extent_describe(low).text, weft_extent_describe(high).text)) {
        return false;
    }
    if (dtype == WEFT_I64) return true;
    int64_t least = dtype == WEFT_I32 ? INT32_MIN : 0;
    int64_t end = (dtype == WEFT_I32 ? INT32_MAX : dtype == WEFT_U8 ? UINT8_MAX : (int64_t)UINT32_MAX) + INT64_C(1);
    return weft_require_at_most(graph, weft_extent_of(least), low, "%s: low is %s, below the least %s", function,
                                weft_extent_describe(low).text, info->name) &&
           weft_require_at_most(graph, high, weft_extent_of(end), "%s: high is %s, beyond the greatest %s", function,
                                weft_extent_describe(high).text, info->name);
}

weft_tensor weft_random_integers(weft_tensor key, weft_dtype dtype, weft_shape shape, weft_extent low, weft_extent high)
{
    if (!weft_random_begin_shape("random_integers", key, shape)) return weft_tensor_failed(key.graph);
    weft_guard_scope scope = weft_guards_open(key.graph);
    bool fine = wants_range(key.graph, dtype, low, high);
    weft_tensor result = fine ? weft_random_between(key, dtype, shape, low, high) : weft_tensor_failed(key.graph);
    weft_guards_close(scope, 1, &result);
    return result;
}

static bool wants_bounds(weft_tensor key, weft_shape shape, weft_tensor low, weft_tensor high)
{
    static const char function[] = "random_integers_between";
    weft_named result = {"the result", weft_random_positions(key.graph, shape)};
    return weft_composite_wants_integer(function, "low", low) &&
           weft_composite_wants_dtype(function, (weft_named){"high", high}, (weft_named){"low", low}) &&
           weft_tensor_is_valid(result.tensor) &&
           weft_composite_wants_fit(function, (weft_named){"low", low}, result) &&
           weft_composite_wants_fit(function, (weft_named){"high", high}, result);
}

weft_tensor weft_random_integers_between(weft_tensor key, weft_tensor low, weft_tensor high, weft_shape shape)
{
    weft_tensor operands[] = {key, low, high};
    static const char *const names[] = {"the key", "low", "high"};
    if (!weft_composite_begin_named("random_integers_between", 3, 3, operands, names) ||
        !weft_random_begin_shape("random_integers_between", key, shape) || !wants_bounds(key, shape, low, high)) {
        return weft_trace_failed((weft_tensors){3, operands});
    }
    weft_dtype dtype = weft_tensor_dtype(low);
    range r = {.low = weft_composite_cast(low, WEFT_I64)};
    weft_tensor end = weft_composite_cast(high, WEFT_I64), one = weft_random_integer(key.graph, 1);
    r.count = weft_select(weft_lt(r.low, end), weft_sub(end, r.low), one);
    r.surplus = surplus_of(r.count);
    return weft_composite_cast(draw_range(key, shape, &r), dtype);
}
