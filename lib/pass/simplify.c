/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Algebra that keeps the bits.
 *
 * requires: nothing
 * maintains: the bits of every output except the payloads of NaNs, guards
 * breaks: nothing
 *
 * These look equivalent but are not: x + 0 turns -0 into 0, and so does the sum of one element, which starts from 0; 0
 * * x is NaN for an infinite x; not (a < b) is true for a NaN where a >= b is false.
 */
#include "lib/pass/pass.h"
#include <string.h>
#include "lib/pass/constants.h"
#include "lib/pass/reduce_columns.h"
#include "lib/pass/reduce_windows.h"
#include "runtime/base/float_bits.h"

enum { MOST_SWEEPS = 8 };

static weft_tensor input_of(const weft_rewrite_site *site, size_t i)
{
    return site->inputs.items[i];
}

static weft_dtype_kind kind_of(weft_tensor x)
{
    return weft_dtype_info_of(weft_tensor_dtype(x))->kind;
}

/* ---- constants ---- */

typedef struct pattern {
    unsigned char bytes[16];
} pattern;

static pattern pattern_of_one(weft_dtype dtype)
{
    static const uint64_t ones[WEFT_DTYPE_COUNT] = {
        [WEFT_BOOL] = 1,     [WEFT_U8] = 1,           [WEFT_I32] = 1,
        [WEFT_U32] = 1,      [WEFT_I64] = 1,          [WEFT_BF16] = 0x3f80,
        [WEFT_F16] = 0x3c00, [WEFT_F32] = 0x3f800000, [WEFT_F64] = UINT64_C(0x3ff0000000000000),
    };
    pattern one = {{0}};
    memcpy(one.bytes, &ones[dtype], sizeof ones[dtype]);
    return one;
}

static pattern pattern_of_zero(weft_dtype dtype, bool negative)
{
    pattern zero = {{0}};
    if (negative) zero.bytes[weft_dtype_size(dtype) - 1] = 0x80;
    return zero;
}

static bool is_constant(weft_tensor x, pattern value)
{
    return weft_constant_repeats(x, value.bytes);
}

static bool is_one(weft_tensor x)
{
    return kind_of(x) != WEFT_KIND_COMPLEX && is_constant(x, pattern_of_one(weft_tensor_dtype(x)));
}

/* The zero that does nothing on the right of an addition or a subtraction. */
static bool is_nothing(weft_tensor x, bool subtracted)
{
    if (kind_of(x) == WEFT_KIND_COMPLEX) return false;
    return is_constant(x, pattern_of_zero(weft_tensor_dtype(x), kind_of(x) == WEFT_KIND_FLOAT && !subtracted));
}

/* ---- unary ---- */

/* op (op x) is x: neg, not. */
static weft_tensor cancel_twice(const weft_rewrite_site *site)
{
    weft_tensor x = input_of(site, 0);
    return weft_tensor_is_op(x, weft_op_id_of(site->node->op)) ? weft_tensor_operand(x, 0) : weft_site_leave();
}

static weft_tensor abs_of_sign(const weft_rewrite_site *site)
{
    weft_tensor x = input_of(site, 0);
    if (weft_tensor_is_op(x, WEFT_OP_abs)) return x;
    /* Without a sign, negation changes the size. */
    if (kind_of(x) == WEFT_KIND_UNSIGNED || !weft_tensor_is_op(x, WEFT_OP_neg)) return weft_site_leave();
    return weft_abs(weft_tensor_operand(x, 0));
}

static weft_tensor not_of_equality(const weft_rewrite_site *site)
{
    weft_tensor x = input_of(site, 0);
    bool eq = weft_tensor_is_op(x, WEFT_OP_eq);
    if (!eq && !weft_tensor_is_op(x, WEFT_OP_ne)) return weft_site_leave();
    weft_tensor a = weft_tensor_operand(x, 0), b = weft_tensor_operand(x, 1);
    return eq ? weft_ne(a, b) : weft_eq(a, b);
}

/* Whether every value of `from` is one of `to`. */
static bool is_exact(weft_dtype from, weft_dtype to)
{
    static const weft_dtype_set wider[WEFT_DTYPE_COUNT] = {
        [WEFT_BOOL] = (1u << WEFT_DTYPE_COUNT) - 1,
        [WEFT_U8] = 1u << WEFT_I32 | 1u << WEFT_U32 | 1u << WEFT_I64 | 1u << WEFT_F16 | 1u << WEFT_F32 | 1u << WEFT_F64,
        [WEFT_I32] = 1u << WEFT_I64 | 1u << WEFT_F64,
        [WEFT_U32] = 1u << WEFT_I64 | 1u << WEFT_F64,
        [WEFT_BF16] = 1u << WEFT_F32 | 1u << WEFT_F64,
        [WEFT_F16] = 1u << WEFT_F32 | 1u << WEFT_F64,
        [WEFT_F32] = 1u << WEFT_F64,
        [WEFT_C64] = 1u << WEFT_C128};
    return (wider[from] >> to & 1) != 0;
}

static weft_tensor cast_there_and_back(const weft_rewrite_site *site)
{
    weft_tensor x = input_of(site, 0);
    if (!weft_tensor_is_op(x, WEFT_OP_cast)) return weft_site_leave();
    weft_tensor origin = weft_tensor_operand(x, 0);
    bool back = weft_tensor_dtype(origin) == site->node->types[0].dtype;
    return back && is_exact(weft_tensor_dtype(origin), weft_tensor_dtype(x)) ? origin : weft_site_leave();
}

/* ---- binary ---- */

static weft_tensor multiply_by_one(const weft_rewrite_site *site)
{
    weft_tensor a = input_of(site, 0), b = input_of(site, 1);
    if (is_one(b)) return a;
    return is_one(a) ? b : weft_site_leave();
}

static weft_tensor divide_by_one(const weft_rewrite_site *site)
{
    return is_one(input_of(site, 1)) ? input_of(site, 0) : weft_site_leave();
}

static weft_tensor add_nothing(const weft_rewrite_site *site)
{
    weft_tensor a = input_of(site, 0), b = input_of(site, 1);
    if (is_nothing(b, false)) return a;
    return is_nothing(a, false) ? b : weft_site_leave();
}

static weft_tensor subtract_nothing(const weft_rewrite_site *site)
{
    return is_nothing(input_of(site, 1), true) ? input_of(site, 0) : weft_site_leave();
}

/* op (x, x) is x: and, or, max, min. */
static weft_tensor same_twice(const weft_rewrite_site *site)
{
    return weft_tensor_same(input_of(site, 0), input_of(site, 1)) ? input_of(site, 0) : weft_site_leave();
}

static bool is_truth(weft_tensor x, bool value)
{
    pattern truth = value ? pattern_of_one(WEFT_BOOL) : pattern_of_zero(WEFT_BOOL, false);
    return weft_tensor_dtype(x) == WEFT_BOOL && is_constant(x, truth);
}

/* and, or: with one that is known the result is known, or the other operand. */
static weft_tensor decide(const weft_rewrite_site *site)
{
    bool strong = weft_op_id_of(site->node->op) == WEFT_OP_or; /* what decides */
    for (size_t i = 0; i < 2; i++) {
        weft_tensor known = input_of(site, i);
        if (is_truth(known, strong)) return known;
        if (is_truth(known, !strong)) return input_of(site, 1 - i);
    }
    return weft_site_leave();
}

/* ---- select ---- */

static weft_tensor select_known(const weft_rewrite_site *site)
{
    if (is_truth(input_of(site, 0), true)) return input_of(site, 1);
    return is_truth(input_of(site, 0), false) ? input_of(site, 2) : weft_site_leave();
}

static weft_tensor select_same(const weft_rewrite_site *site)
{
    return weft_tensor_same(input_of(site, 1), input_of(site, 2)) ? input_of(site, 1) : weft_site_leave();
}

static weft_tensor select_not(const weft_rewrite_site *site)
{
    weft_tensor condition = input_of(site, 0);
    if (!weft_tensor_is_op(condition, WEFT_OP_not)) return weft_site_leave();
    return weft_select(weft_tensor_operand(condition, 0), input_of(site, 2), input_of(site, 1));
}

/* ---- reductions of one element, or a few ---- */

static bool all_ones(weft_tensor x, weft_ints axes)
{
    for (size_t i = 0; i < axes.count; i++)
        if (!weft_extent_is(weft_tensor_extent(x, axes.items[i]), 1)) return false;
    return true;
}

static weft_tensor reduce_one(const weft_rewrite_site *site)
{
    weft_tensor x = input_of(site, 0);
    weft_op_id op = weft_op_id_of(site->node->op);
    bool computes = op == WEFT_OP_reduce_sum || op == WEFT_OP_reduce_prod;
    bool rounds = computes && (kind_of(x) == WEFT_KIND_FLOAT || kind_of(x) == WEFT_KIND_COMPLEX);
    if (rounds || !all_ones(x, site->node->attrs[0].ints)) return weft_site_leave();
    return weft_reshape(x, site->node->types[0].shape);
}

/* Whether elements of the result lie closer together than those along `axis`: then a sum takes them in one by one. */
static bool is_summed_in_order(weft_tensor x, int64_t axis)
{
    int64_t last = (int64_t)weft_tensor_rank(x) - 1;
    while (last > axis && weft_extent_is(weft_tensor_extent(x, last), 1)) last--;
    return last > axis;
}

/* Row k of a value along `axis`, which is gone. */
static weft_tensor row_of(weft_tensor x, int64_t axis, int64_t k, weft_shape shape)
{
    return weft_reshape(weft_narrow(x, axis, weft_extent_of(k), weft_extent_of(1)), shape);
}

/* The sum of a few rows that a shear moves, row by row: where each begins and ends is known then. */
static weft_tensor add_sheared(const weft_rewrite_site *site)
{
    enum { MOST_ROWS = 8 };
    weft_tensor x = input_of(site, 0);
    weft_ints axes = site->node->attrs[0].ints;
    if (!weft_tensor_is_op(x, WEFT_OP_shear) || axes.count != 1) return weft_site_leave();
    int64_t axis = axes.items[0], count;
    if (axis != weft_tensor_node(x)->attrs[1].integer || !is_summed_in_order(x, axis)) return weft_site_leave();
    if (!weft_extent_is_static(weft_tensor_extent(x, axis), &count) || count > MOST_ROWS) return weft_site_leave();
    weft_dtype dtype = weft_tensor_dtype(x), wide = weft_accumulator_dtype(dtype);
    weft_shape shape = site->node->types[0].shape;
    weft_tensor sum = weft_full(site->graph, wide, 0.0, shape);
    for (int64_t k = 0; k < count; k++) {
        weft_tensor row = row_of(x, axis, k, shape);
        sum = weft_add(sum, wide == dtype ? row : weft_cast(row, wide));
    }
    return wide == dtype ? sum : weft_cast(sum, dtype);
}

/* The most elements that an element of a reduction takes in, or `limit` + 1 if it may be more than `limit`. */
static int64_t most_reduced(weft_tensor x, weft_ints axes, int64_t limit)
{
    int64_t product = 1, least, most;
    for (size_t i = 0; i < axes.count; i++) {
        weft_extent_range(weft_tensor_extent(x, axes.items[i]), &least, &most);
        if (most > limit / product) return limit + 1;
        product *= most > 1 ? most : 1;
    }
    return product;
}

/* Whether elements lie in long rows: vectors of more and smaller elements lose in short ones, whose tails are masked.
 */
static bool has_long_rows(weft_tensor x)
{
    enum { LONG = 256 };
    int64_t least, most;
    if (weft_tensor_rank(x) == 0) return false;
    weft_extent_range(weft_tensor_extent(x, (int64_t)weft_tensor_rank(x) - 1), &least, &most);
    return least >= LONG;
}

/* How many bools are true, in i32 where it is large enough: as exact as wider integers and floats, and faster; than
 * f32 only where bools come from memory. */
static weft_tensor count_true(const weft_rewrite_site *site)
{
    enum { EXACT_SINGLE = 1 << 24 };
    weft_tensor x = input_of(site, 0);
    if (!weft_tensor_is_op(x, WEFT_OP_cast)) return weft_site_leave();
    weft_tensor bools = weft_tensor_operand(x, 0);
    weft_dtype dtype = weft_tensor_dtype(x), wide = weft_accumulator_dtype(dtype);
    bool is_slower =
        wide == WEFT_I64 || wide == WEFT_F64 || (wide == WEFT_F32 && weft_tensor_is_op(bools, WEFT_OP_input));
    if (weft_tensor_dtype(bools) != WEFT_BOOL || !is_slower || !has_long_rows(bools)) return weft_site_leave();
    weft_ints axes = site->node->attrs[0].ints;
    int64_t limit = wide == WEFT_F32 ? EXACT_SINGLE : INT32_MAX;
    if (most_reduced(x, axes, limit) > limit) return weft_site_leave();
    return weft_cast(weft_reduce_sum(weft_cast(bools, WEFT_I32), axes, false), dtype);
}

static weft_tensor arg_reduce_one(const weft_rewrite_site *site)
{
    int64_t axis = site->node->attrs[0].integer;
    if (!all_ones(input_of(site, 0), (weft_ints){1, &axis})) return weft_site_leave();
    return weft_full(site->graph, WEFT_I64, 0.0, site->node->types[0].shape);
}

static const weft_rewrite_row rows[] = {
    {WEFT_OP_neg, cancel_twice},
    {WEFT_OP_not, cancel_twice},
    {WEFT_OP_not, not_of_equality},
    {WEFT_OP_abs, abs_of_sign},
    {WEFT_OP_cast, cast_there_and_back},
    {WEFT_OP_mul, multiply_by_one},
    {WEFT_OP_div, divide_by_one},
    {WEFT_OP_add, add_nothing},
    {WEFT_OP_sub, subtract_nothing},
    {WEFT_OP_mul, weft_constant_compute},
    {WEFT_OP_div, weft_constant_compute},
    {WEFT_OP_add, weft_constant_compute},
    {WEFT_OP_sub, weft_constant_compute},
    {WEFT_OP_cast, weft_constant_cast},
    {WEFT_OP_not, weft_constant_test},
    {WEFT_OP_is_finite, weft_constant_test},
    {WEFT_OP_is_nan, weft_constant_test},
    {WEFT_OP_eq, weft_constant_compare},
    {WEFT_OP_ne, weft_constant_compare},
    {WEFT_OP_lt, weft_constant_compare},
    {WEFT_OP_le, weft_constant_compare},
    {WEFT_OP_gt, weft_constant_compare},
    {WEFT_OP_ge, weft_constant_compare},
    {WEFT_OP_and, weft_constant_compute},
    {WEFT_OP_or, weft_constant_compute},
    {WEFT_OP_and, same_twice},
    {WEFT_OP_and, decide},
    {WEFT_OP_or, same_twice},
    {WEFT_OP_or, decide},
    {WEFT_OP_max, same_twice},
    {WEFT_OP_min, same_twice},
    {WEFT_OP_select, select_known},
    {WEFT_OP_select, select_same},
    {WEFT_OP_select, select_not},
    {WEFT_OP_reduce_sum, reduce_one},
    {WEFT_OP_reduce_sum, add_sheared},
    {WEFT_OP_reduce_sum, weft_add_windows},
    {WEFT_OP_reduce_sum, count_true},
    {WEFT_OP_reduce_sum, weft_reduce_columns},
    {WEFT_OP_reduce_prod, reduce_one},
    {WEFT_OP_reduce_prod, weft_reduce_columns},
    {WEFT_OP_reduce_max, reduce_one},
    {WEFT_OP_reduce_max, weft_reduce_windows},
    {WEFT_OP_reduce_max, weft_reduce_columns},
    {WEFT_OP_reduce_min, reduce_one},
    {WEFT_OP_reduce_min, weft_reduce_windows},
    {WEFT_OP_reduce_min, weft_reduce_columns},
    {WEFT_OP_reduce_any, reduce_one},
    {WEFT_OP_reduce_any, weft_reduce_columns},
    {WEFT_OP_reduce_all, reduce_one},
    {WEFT_OP_reduce_all, weft_reduce_columns},
    {WEFT_OP_argmax, arg_reduce_one},
    {WEFT_OP_argmin, arg_reduce_one},
};

weft_status *weft_pass_simplify(weft_graph *graph, const weft_policy *policy, size_t count, weft_value *outputs)
{
    (void)policy;
    bool settled;
    weft_rewrite_table table = {WEFT_COUNT_OF(rows), rows};
    return weft_rewrite_settle(graph, count, outputs, weft_rewrite_by_table, &table, MOST_SWEEPS, &settled);
}
