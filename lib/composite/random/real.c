/* SPDX-License-Identifier: Apache-2.0 */
/* Floats: uniform, normal and exponential numbers, coins, dropout. */
#include <math.h>
#include <string.h>
#include "lib/composite/random/random.h"
#include "lib/graph/scalar.h"
#include "runtime/base/float_mode.h"

static bool wants_floats(const char *function, weft_graph *graph, weft_dtype dtype)
{
    const weft_dtype_info *info = weft_dtype_info_of(dtype);
    if (info != NULL && info->kind == WEFT_KIND_FLOAT) return true;
    weft_trace_fail(graph, WEFT_DTYPE_MISMATCH, function, "dtype %s is not a float", weft_dtype_name(dtype));
    return false;
}

static weft_tensor times(weft_tensor x, double value)
{
    return weft_mul(x, weft_scalar_like(x, value));
}

static weft_tensor plus(weft_tensor x, double value)
{
    return weft_add(x, weft_scalar_like(x, value));
}

static weft_tensor masked(weft_tensor word, int64_t mask)
{
    return weft_and(word, weft_random_integer(word.graph, mask));
}

static weft_tensor shifted(weft_tensor word, int64_t count)
{
    return weft_shift_right(word, weft_random_integer(word.graph, count));
}

/* A number below 2^31 as an f32, rounded. */
static weft_tensor single_of(weft_tensor word)
{
    return weft_cast(weft_cast(word, WEFT_I32), WEFT_F32);
}

/* ---- shares ---- */

weft_random_share weft_random_share_of(const weft_random_block *block, size_t first, weft_dtype dtype)
{
    weft_tensor word = masked(block->words[first], INT32_MAX);
    weft_tensor rest = weft_xor(word, weft_random_integer(word.graph, INT32_MAX));
    if (dtype == WEFT_F32) {
        return (weft_random_share){times(plus(single_of(word), 0.5), 0x1p-31),
                                   times(plus(single_of(rest), 0.5), 0x1p-31)};
    }
    weft_tensor low = block->words[first + 1], low_rest = weft_xor(low, weft_random_integer(low.graph, UINT32_MAX));
    weft_tensor u = weft_add(times(weft_random_f64(word), 0x1p32), plus(weft_random_f64(low), 0.5));
    weft_tensor up = weft_add(times(weft_random_f64(rest), 0x1p32), plus(weft_random_f64(low_rest), 0.5));
    return (weft_random_share){times(u, 0x1p-63), times(up, 0x1p-63)};
}

weft_tensor weft_random_exponential_of(const weft_random_block *block, size_t first, weft_dtype dtype)
{
    return weft_neg(weft_random_log_share(weft_random_share_of(block, first, dtype)));
}

/* z with the uppermost bit of a word as its sign. */
static weft_tensor signed_by(weft_tensor z, weft_tensor word)
{
    weft_dtype dtype = weft_tensor_dtype(z), integer = dtype == WEFT_F64 ? WEFT_I64 : WEFT_I32;
    if (!weft_tensor_is_valid(z)) return z;
    weft_tensor sign = masked(word, INT64_C(1) << 31);
    if (integer == WEFT_I64) sign = weft_shift_left(sign, weft_random_integer(word.graph, 32));
    return weft_bitcast(weft_xor(weft_bitcast(z, integer), weft_composite_cast(sign, integer)), dtype);
}

weft_tensor weft_random_normal_of(const weft_random_block *block, size_t first, weft_dtype dtype)
{
    weft_random_share share = weft_random_share_of(block, first, dtype);
    weft_tensor z = weft_random_quantile(times(share.u, 0.5), times(share.rest, 0.5), false);
    return signed_by(z, block->words[first]);
}

/* ---- uniform ---- */

/* In [0, 1), of as many bits as the dtype has; f32 or f64. */
static weft_tensor unit_of(const weft_random_block *block, weft_dtype dtype)
{
    if (dtype == WEFT_F64) {
        weft_tensor high = times(weft_random_f64(shifted(block->words[0], 5)), 0x1p26);
        return times(weft_add(high, weft_random_f64(shifted(block->words[1], 6))), 0x1p-53);
    }
    int bits = dtype == WEFT_F32 ? 24 : dtype == WEFT_F16 ? 11 : 8;
    return times(single_of(shifted(block->words[0], 32 - bits)), ldexp(1, -bits));
}

/* The number as an element of the dtype; with `below`, the element before it. */
static double element_near(weft_dtype dtype, double value, bool below)
{
    unsigned char element[8] = {0};
    uint64_t bits = 0, sign = UINT64_C(1) << (8 * weft_dtype_size(dtype) - 1);
    double real, imaginary;
    weft_scalar_store(dtype, value, element);
    memcpy(&bits, element, sizeof bits);
    if (below) bits = (bits & ~sign) == 0 ? sign | 1 : (bits & sign) != 0 ? bits + 1 : bits - 1;
    memcpy(element, &bits, sizeof bits);
    weft_dtype_load(dtype, element, &real, &imaginary);
    return real;
}

static bool wants_range(weft_graph *graph, weft_dtype dtype, double low, double high)
{
    double from = element_near(dtype, low, false), to = element_near(dtype, high, false);
    if (!(from < to)) {
        weft_trace_fail(graph, WEFT_OUT_OF_RANGE, "random_uniform", "low, %.17g, is not below high, %.17g, as %s", low,
                        high, weft_dtype_name(dtype));
        return false;
    }
    double width = to - from;
    if (isfinite(dtype == WEFT_F64 ? width : (double)(float)width)) return true;
    weft_trace_fail(graph, WEFT_OUT_OF_RANGE, "random_uniform",
                    "the difference between low, %.17g, and high, %.17g, is not finite", low, high);
    return false;
}

WEFT_PLAIN_FUNCTION(weft_tensor, weft_random_uniform,
                    (weft_tensor key, weft_dtype dtype, weft_shape shape, double low, double high),
                    (key, dtype, shape, low, high))
{
    if (!weft_random_begin_shape("random_uniform", key, shape) || !wants_floats("random_uniform", key.graph, dtype) ||
        !wants_range(key.graph, dtype, low, high)) {
        return weft_tensor_failed(key.graph);
    }
    weft_random_block block = weft_random_draw(key, shape, WEFT_NO_TENSOR);
    weft_tensor unit = unit_of(&block, dtype);
    double from = element_near(dtype, low, false), to = element_near(dtype, high, false);
    if (from == 0 && to == 1) return weft_composite_cast(unit, dtype);
    weft_tensor value = weft_composite_cast(plus(times(unit, to - from), from), dtype);
    return weft_min(value, weft_scalar_like(value, element_near(dtype, high, true)));
}

/* ---- normal and exponential ---- */

static weft_tensor draw_floats(const char *function, weft_tensor key, weft_dtype dtype, weft_shape shape,
                               weft_tensor (*make)(const weft_random_block *block, size_t first, weft_dtype dtype))
{
    if (!weft_random_begin_shape(function, key, shape) || !wants_floats(function, key.graph, dtype))
        return weft_tensor_failed(key.graph);
    weft_random_block block = weft_random_draw(key, shape, WEFT_NO_TENSOR);
    return weft_composite_cast(make(&block, 0, weft_accumulator_dtype(dtype)), dtype);
}

weft_tensor weft_random_normal(weft_tensor key, weft_dtype dtype, weft_shape shape)
{
    return draw_floats("random_normal", key, dtype, shape, weft_random_normal_of);
}

weft_tensor weft_random_exponential(weft_tensor key, weft_dtype dtype, weft_shape shape)
{
    return draw_floats("random_exponential", key, dtype, shape, weft_random_exponential_of);
}

/* ---- truncated normal ---- */

/* Of the normal distribution what is cut off below `low` and above `high`, and what is left. */
typedef struct remainder_of_normal {
    double below, above, between;
} remainder_of_normal;

static double upper_tail(double x)
{
    return erfc(x * M_SQRT1_2) / 2;
}

static remainder_of_normal cut(double low, double high)
{
    double below = upper_tail(-low), above = upper_tail(high);
    double between = low > 0 ? upper_tail(low) - above : high < 0 ? upper_tail(-high) - below : 1 - below - above;
    return (remainder_of_normal){below, above, between};
}

/* From the nearer end, where probabilities are small numbers and so exact. */
static weft_tensor cut_normal(weft_random_share share, remainder_of_normal cut)
{
    weft_tensor from_below = plus(times(share.u, cut.between), cut.below);
    weft_tensor from_above = plus(times(share.rest, cut.between), cut.above);
    weft_tensor half = weft_scalar_like(share.u, 0.5), tail = weft_min(weft_min(from_below, from_above), half);
    weft_tensor z = weft_random_quantile(tail, weft_sub(half, tail), true);
    return weft_select(weft_lt(from_below, from_above), weft_neg(z), z);
}

WEFT_PLAIN_FUNCTION(weft_tensor, weft_random_truncated_normal,
                    (weft_tensor key, weft_dtype dtype, weft_shape shape, double low, double high),
                    (key, dtype, shape, low, high))
{
    static const char function[] = "random_truncated_normal";
    if (!weft_random_begin_shape(function, key, shape) || !wants_floats(function, key.graph, dtype))
        return weft_tensor_failed(key.graph);
    if (!(low < high)) {
        return weft_trace_fail(key.graph, WEFT_OUT_OF_RANGE, function, "low is %.17g, not below high, %.17g", low,
                               high);
    }
    remainder_of_normal left = cut(low, high);
    if (!(left.between > 0x1p-950)) {
        return weft_trace_fail(key.graph, WEFT_OUT_OF_RANGE, function,
                               "between low, %.17g, and high, %.17g, there is no probability that an f64 holds", low,
                               high);
    }
    weft_random_block block = weft_random_draw(key, shape, WEFT_NO_TENSOR);
    weft_tensor z = cut_normal(weft_random_share_of(&block, 0, WEFT_F64), left);
    weft_tensor value = weft_composite_cast(z, dtype);
    return weft_min(weft_max(value, weft_scalar_like(value, low)), weft_scalar_like(value, high));
}

/* ---- coins ---- */

weft_tensor weft_random_bernoulli(weft_tensor key, weft_tensor p, weft_shape shape)
{
    weft_tensor operands[] = {key, p};
    static const char *const names[] = {"the key", "p"};
    if (!weft_composite_begin_named("random_bernoulli", 2, 2, operands, names) ||
        !weft_random_begin_shape("random_bernoulli", key, shape) ||
        !weft_random_wants_parameter("random_bernoulli", key, (weft_named){"p", p}, shape)) {
        return weft_trace_failed(WEFT_TENSORS(key, p));
    }
    weft_random_block block = weft_random_draw(key, shape, WEFT_NO_TENSOR);
    return weft_lt(unit_of(&block, WEFT_F64), weft_composite_cast(p, WEFT_F64));
}

WEFT_PLAIN_FUNCTION(weft_tensor, weft_dropout, (weft_tensor x, weft_tensor key, double p), (x, key, p))
{
    weft_tensor operands[] = {x, key};
    static const char *const names[] = {"the operand", "the key"};
    if (!weft_composite_begin_named("dropout", 2, 2, operands, names) || !weft_random_begin("dropout", key) ||
        !weft_composite_wants_float("dropout", names[0], x)) {
        return weft_trace_failed(WEFT_TENSORS(x, key));
    }
    if (!(p >= 0 && p <= 1)) {
        return weft_trace_fail(key.graph, WEFT_OUT_OF_RANGE, "dropout", "p is %.17g, not in [0, 1]", p);
    }
    weft_random_block block = weft_random_draw(key, weft_tensor_shape(x), WEFT_NO_TENSOR);
    weft_tensor limit = weft_random_integer(key.graph, (int64_t)ceil(p * 0x1p32));
    weft_tensor scaled = times(weft_composite_widen(x), p < 1 ? 1 / (1 - p) : 0);
    weft_tensor kept = weft_select(weft_ge(block.words[0], limit), scaled, weft_scalar_like(scaled, 0));
    return weft_composite_cast(kept, weft_tensor_dtype(x));
}
