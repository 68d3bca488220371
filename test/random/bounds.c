/* SPDX-License-Identifier: Apache-2.0 */
#include "test/random/bounds.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "lib/loop/loop.h"
#include "test/conform/number.h"
#include "test/conform/place.h"

typedef weft_test_bound bound;

/* What is known of the values of a graph that is looked at; NULL: nothing, as in regions. */
typedef struct survey {
    const weft_graph *graph;
    const size_t *first; /* number of a node's result 0 among all values */
    const bound *bounds; /* of these, as far as they are known */
} survey;

static const bound unknown = {.known = false};

static void find_node(const survey *of, uint32_t n, const bound *seen, bound *out);

static bound operand(const survey *of, const weft_node *node, uint32_t i)
{
    return of->bounds[of->first[node->inputs[i].node] + node->inputs[i].output];
}

static double size_of(bound x)
{
    return fmax(fabs(x.low), fabs(x.high));
}

static bool is_exact(weft_dtype dtype)
{
    return weft_test_parts(dtype) == 0;
}

static bool is_complex(weft_dtype dtype)
{
    return weft_test_parts(dtype) == 2;
}

static double epsilon_of(weft_dtype dtype)
{
    return is_exact(dtype) ? 0 : weft_test_epsilon(weft_dtype_component(dtype));
}

/* Up to here floats count without gaps. */
static double count_limit(weft_dtype dtype)
{
    return is_exact(dtype) ? 0x1p53 : 2 / epsilon_of(dtype);
}

/* Larger ones may be infinite by another order of operations. */
static double size_limit(weft_dtype dtype)
{
    if (is_exact(dtype)) return HUGE_VAL;
    switch (weft_dtype_component(dtype)) {
    case WEFT_F16: return 6e4;
    case WEFT_F64: return 1e307;
    default: return 1e38;
    }
}

static double tiny(weft_dtype dtype)
{
    return is_exact(dtype) ? 0 : weft_test_least_normal(weft_dtype_component(dtype)) * epsilon_of(dtype);
}

static bound between(double low, double high, bool integral, double error)
{
    double nearest = low > 0 ? low : high < 0 ? -high : 0;
    return (bound){.known = true,
                   .integral = integral,
                   .finite = true,
                   .low = low,
                   .high = high,
                   .nearest = nearest,
                   .error = error};
}

/* An integer that leaves its dtype may come back anywhere in it. */
static bound wrapped(weft_dtype dtype, bound x)
{
    const weft_dtype_info *info = weft_dtype_info_of(dtype);
    double places = ldexp(1, (int)info->size * 8 - (info->kind == WEFT_KIND_SIGNED));
    double low = info->kind == WEFT_KIND_SIGNED ? -places : 0, high = dtype == WEFT_BOOL ? 1 : places - 1;
    return x.low >= low && x.high <= high ? x : between(low, high, true, 0);
}

/* The result of one rounded operation. Products of 16-bit floats and of complex numbers are rounded otherwise where
 * they become part of a dot. */
static bound rounded(weft_dtype dtype, bound x)
{
    if (is_exact(dtype) || (x.integral && size_of(x) <= count_limit(dtype))) return x;
    x.integral = false;
    if (x.error > 0 || (dtype != WEFT_F32 && dtype != WEFT_F64))
        x.error += 2 * epsilon_of(dtype) * size_of(x) + tiny(dtype);
    return x;
}

/* Of complex numbers: bounds are of both parts. */
static bound complex_product(bound a, bound b)
{
    double most = 2 * size_of(a) * size_of(b);
    double error = 2 * (size_of(a) * b.error + size_of(b) * a.error + a.error * b.error);
    return between(-most, most, a.integral && b.integral, error);
}

static bound product(weft_dtype dtype, bound a, bound b)
{
    if (is_complex(dtype)) return complex_product(a, b);
    double w[4] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    double error = size_of(a) * b.error + size_of(b) * a.error + a.error * b.error;
    return between(fmin(fmin(w[0], w[1]), fmin(w[2], w[3])), fmax(fmax(w[0], w[1]), fmax(w[2], w[3])),
                   a.integral && b.integral, error);
}

static bound hull(bound a, bound b)
{
    if (!a.known || !b.known) return unknown;
    bound both = between(fmin(a.low, b.low), fmax(a.high, b.high), a.integral && b.integral, fmax(a.error, b.error));
    both.finite = a.finite && b.finite;
    both.nearest = fmin(a.nearest, b.nearest);
    return both;
}

/* Whether a product may be infinite or, where `a` is 0 except for rounding, NaN. */
static bool is_open_product(bound a, bound b)
{
    return a.error > 0 && a.nearest <= a.error && !b.finite;
}

static bound quotient(bound a, bound b)
{
    double least = b.nearest - b.error;
    if (least <= 0) return unknown;
    double most = size_of(a) / least;
    return between(-most, most, false, (a.error + most * b.error) / least);
}

/* ---- by class of ops ---- */

/* exp, or a function that grows no faster; exp2 does, but is larger where both are less than 1. */
static bound growing(weft_dtype dtype, bound x, double low)
{
    double most = exp(low == 0 ? fmax(x.high, 0.6931 * x.high) : size_of(x));
    if (x.error > 0.01 || !(most < size_limit(dtype))) return unknown;
    return between(low * most, most * 1.01, false, most * (1.02 * x.error + 4 * epsilon_of(dtype)));
}

/* A logarithm of x + 1 - `least`; to base 2 it is 1.45 times as large. */
static bound logarithm(weft_dtype dtype, bound x, double least)
{
    double nearest = x.low - x.error + 1 - least;
    if (nearest < 0.01) return unknown;
    double most = 1.45 * fmax(log(x.high + 2 - least), -log(nearest));
    return between(-most, most, false, 1.45 * x.error / nearest + 4 * epsilon_of(dtype) * fmax(most, 1));
}

/* A function with values in [low, high] that grows no faster than x. */
static bound damped(weft_dtype dtype, bound x, double low, double high)
{
    return between(low, high, false, x.error + 4 * epsilon_of(dtype) * fmax(fabs(low), fabs(high)));
}

/* Sizes and slopes are at most those of exp of a part. Of tan and tanh the poles are 1.5 away from zero. */
static bound complex_function(weft_op_id op, weft_dtype dtype, bound x)
{
    bound wide = x;
    wide.error *= 2;
    switch (op) {
    case WEFT_OP_exp:
    case WEFT_OP_sin:
    case WEFT_OP_cos:
    case WEFT_OP_sinh:
    case WEFT_OP_cosh: return growing(dtype, wide, -1.01);
    case WEFT_OP_tan:
    case WEFT_OP_tanh:
        if (size_of(x) + x.error > 0.8) return unknown;
        return between(-2, 2, false, 6 * x.error + 24 * epsilon_of(dtype));
    /* Their slopes are at most 4 where no part is larger. */
    case WEFT_OP_asin:
    case WEFT_OP_acos:
    case WEFT_OP_atan:
    case WEFT_OP_asinh:
    case WEFT_OP_atanh:
    case WEFT_OP_log1p:
        if (size_of(x) + x.error > 0.55) return unknown;
        return between(-2, 3, false, 8 * x.error + 24 * epsilon_of(dtype));
    default: return unknown;
    }
}

/* Functions that have no values, or very large ones, outside of a part of the line. */
static bound function_of_part(weft_op_id op, weft_dtype dtype, bound x)
{
    double place = epsilon_of(dtype), least = x.low - x.error, size = size_of(x);
    switch (op) {
    case WEFT_OP_acosh:
        if (least < 2) return unknown;
        return damped(dtype, x, 0, log(2 * size + 2));
    case WEFT_OP_atanh:
        if (size + x.error > 0.9) return unknown;
        return between(-2, 2, false, 6 * x.error + 8 * place);
    case WEFT_OP_asin:
    case WEFT_OP_acos:
    case WEFT_OP_tan:
        if (size + x.error > 0.9) return unknown;
        return between(-2, 3, false, 3 * x.error + 12 * place);
    case WEFT_OP_lgamma:
    case WEFT_OP_digamma:
        if (least < 0.9 || size > 8) return unknown;
        return between(-1, 9, false, 3 * x.error + 36 * place);
    case WEFT_OP_tgamma:
        if (least < 0.9 || size > 6) return unknown;
        return between(0, 121, false, 240 * x.error + 500 * place);
    case WEFT_OP_rsqrt:
        if (least <= 0.1 * x.low) return unknown;
        return between(0, 1 / sqrt(least), false, x.error / (least * sqrt(least)) + 8 * place / sqrt(least));
    case WEFT_OP_sqrt:
        if (least < 0) return unknown;
        return rounded(dtype, between(0, sqrt(x.high), false,
                                      x.error == 0 ? 0
                                      : least > 0  ? x.error / sqrt(least)
                                                   : sqrt(x.error)));
    default: return unknown;
    }
}

static bound function(weft_op_id op, weft_dtype dtype, bound x)
{
    double place = epsilon_of(dtype), size = size_of(x);
    if (is_complex(dtype)) return complex_function(op, dtype, x);
    switch (op) {
    case WEFT_OP_exp:
    case WEFT_OP_exp2: return growing(dtype, x, 0);
    case WEFT_OP_expm1:
    case WEFT_OP_sinh:
    case WEFT_OP_cosh: return growing(dtype, x, -1);
    case WEFT_OP_log:
    case WEFT_OP_log2:
    case WEFT_OP_log10: return logarithm(dtype, x, 1);
    case WEFT_OP_log1p: return logarithm(dtype, x, 0);
    case WEFT_OP_asinh: return damped(dtype, x, -log(2 * size + 2), log(2 * size + 2));
    case WEFT_OP_tanh:
    case WEFT_OP_sigmoid: return damped(dtype, x, -1, 1);
    case WEFT_OP_sin:
    case WEFT_OP_cos: return damped(dtype, x, -1, 1);
    case WEFT_OP_atan: return damped(dtype, x, -2, 2);
    case WEFT_OP_erf:
    case WEFT_OP_erfc: return between(-1, 2, false, 1.2 * x.error + 8 * place);
    case WEFT_OP_cbrt:
        return between(-cbrt(size), cbrt(size), false, (x.error == 0 ? 0 : 2 * cbrt(x.error)) + 4 * place * cbrt(size));
    case WEFT_OP_floor:
    case WEFT_OP_ceil:
    case WEFT_OP_round:
    case WEFT_OP_trunc: return x.error == 0 ? between(floor(x.low), ceil(x.high), true, 0) : unknown;
    default: return function_of_part(op, dtype, x);
    }
}

static bound unary(weft_op_id op, weft_dtype from, weft_dtype dtype, bound x)
{
    switch (op) {
    case WEFT_OP_real:
    case WEFT_OP_imag: return x;
    case WEFT_OP_neg: return rounded(dtype, between(-x.high, -x.low, x.integral, x.error));
    case WEFT_OP_abs:
        if (is_complex(from)) {
            double most = 1.5 * size_of(x);
            return between(0, most, false, 1.5 * x.error + 2 * epsilon_of(dtype) * most);
        }
        return between(x.low > 0 ? x.low : x.high < 0 ? -x.high : 0, size_of(x), x.integral, x.error);
    case WEFT_OP_not: return dtype == WEFT_BOOL ? x : between(-1 - size_of(x), 1 + size_of(x), true, 0);
    case WEFT_OP_sign: return x.error == 0 ? between(-1, 1, true, 0) : unknown;
    case WEFT_OP_is_nan:
    case WEFT_OP_is_finite: return between(0, 1, true, 0); /* what is no number or infinite agrees */
    case WEFT_OP_population_count: return between(0, 64, true, 0);
    default: return function(op, dtype, x);
    }
}

/* a^b for a >= 1 */
static bound raised(weft_dtype dtype, bound a, bound b)
{
    if (a.low - a.error < 1 || size_of(b) > 4) return unknown;
    double most = pow(a.high, fmax(b.high, 0)), slope = size_of(b) * a.error + log(a.high) * b.error;
    return between(0, most, false, 1.01 * most * slope + 4 * epsilon_of(dtype) * most);
}

/* What division leaves jumps: of what is known exactly it is exact, or rounded once. */
static bound rest(weft_dtype dtype, bound a, bound b)
{
    if (a.error > 0 || b.error > 0) return unknown;
    bool integral = a.integral && b.integral;
    return between(-size_of(b), size_of(b), integral, integral ? 0 : 2 * epsilon_of(dtype) * size_of(b));
}

static bound bits(bound a, bound b)
{
    double most = 2 * fmax(size_of(a), size_of(b)) + 1;
    return between(-most, most, true, 0);
}

static bound binary(weft_op_id op, weft_dtype dtype, bound a, bound b)
{
    switch (op) {
    case WEFT_OP_add:
        return rounded(dtype, between(a.low + b.low, a.high + b.high, a.integral && b.integral, a.error + b.error));
    case WEFT_OP_sub:
        return rounded(dtype, between(a.low - b.high, a.high - b.low, a.integral && b.integral, a.error + b.error));
    case WEFT_OP_mul: return rounded(dtype, product(dtype, a, b));
    case WEFT_OP_complex: return hull(a, b);
    case WEFT_OP_div:
        if (is_complex(dtype)) return unknown;
        if (is_exact(dtype)) return between(-1 - size_of(a), 1 + size_of(a), true, 0);
        return rounded(dtype, quotient(a, b));
    case WEFT_OP_max:
        return between(fmax(a.low, b.low), fmax(a.high, b.high), a.integral && b.integral, fmax(a.error, b.error));
    case WEFT_OP_min:
        return between(fmin(a.low, b.low), fmin(a.high, b.high), a.integral && b.integral, fmax(a.error, b.error));
    case WEFT_OP_remainder:
    case WEFT_OP_fmod: return rest(dtype, a, b);
    case WEFT_OP_pow: return is_exact(dtype) ? between(-1e5, 1e5, true, 0) : raised(dtype, a, b);
    case WEFT_OP_atan2:
        if (b.low - b.error < 0.9) return unknown;
        return between(-2, 2, false, 1.3 * (a.error + b.error) + 8 * epsilon_of(dtype));
    case WEFT_OP_copysign: /* the sign of what is no number is left open */
        return b.error > 0 || !b.finite ? unknown : between(-size_of(a), size_of(a), a.integral, a.error);
    case WEFT_OP_shift_left: return between(-8 * size_of(a), 8 * size_of(a), true, 0);
    case WEFT_OP_shift_right: return between(-1 - size_of(a), size_of(a), true, 0);
    case WEFT_OP_and:
    case WEFT_OP_or:
    case WEFT_OP_xor: return dtype == WEFT_BOOL ? between(0, 1, true, 0) : bits(a, b);
    default: return a.error == 0 && b.error == 0 ? between(0, 1, true, 0) : unknown;
    }
}

static bound cast(weft_dtype from, weft_dtype to, bound x)
{
    bool real = !is_exact(to);
    if (is_complex(to) && !is_complex(from)) x = hull(x, between(0, 0, true, 0));
    if (!real && x.error > 0) return unknown;
    if (to == WEFT_BOOL) return between(0, 1, true, 0);
    if (!real) return between(-size_of(x), size_of(x), true, 0);
    x.integral |= is_exact(from);
    return rounded(to, x);
}

/* How many elements go into one of the result, at most and at least. */
static void count_reduced(const weft_graph *graph, const weft_node *node, double *out_most, double *out_least)
{
    weft_ints axes = weft_reduced_axes(node);
    weft_shape shape = weft_value_type(graph, node->inputs[0])->shape;
    *out_most = *out_least = 1;
    for (size_t i = 0; i < axes.count; i++) {
        int64_t low, high;
        weft_extent_range(shape.extents[axes.items[i]], &low, &high);
        *out_most *= (double)high;
        *out_least *= (double)low;
    }
}

/* Summed in `wide`, rounded to `dtype`. */
static bound sum(weft_dtype wide, weft_dtype dtype, double most, bound x)
{
    bound total = between(fmin(0, x.low * most), fmax(0, x.high * most), x.integral, x.error * most);
    if (is_exact(dtype)) return total;
    if (!(size_of(total) < size_limit(wide))) return unknown;
    if (!total.integral || size_of(total) > count_limit(wide)) {
        total.integral = false;
        total.error += 2 * (most + 1) * (epsilon_of(wide) * size_of(total) + tiny(wide));
    }
    return wide == dtype ? total : rounded(dtype, total);
}

/* A product of up to `most` such values. */
static bound power(weft_dtype dtype, double most, bound x)
{
    double one = fmax(1, (is_complex(dtype) ? 2 : 1) * (size_of(x) + x.error));
    double size = pow(one, most), relative = x.error / fmax(size_of(x), 1);
    if (is_exact(dtype)) return between(-size, size, true, 0);
    if (!(size < size_limit(dtype))) return unknown;
    if (x.integral && x.error == 0 && size <= count_limit(dtype)) return between(-size, size, true, 0);
    return between(-size, size, false, size * most * (relative + 2 * epsilon_of(dtype)));
}

static bound reduction(const weft_graph *graph, const weft_node *node, bound a, bound b)
{
    double most, least;
    weft_dtype dtype = node->types[0].dtype, wide = weft_accumulator_dtype(dtype);
    count_reduced(graph, node, &most, &least);
    switch (weft_op_id_of(node->op)) {
    case WEFT_OP_reduce_sum: return sum(wide, dtype, most, a);
    case WEFT_OP_dot: return dtype == WEFT_BOOL ? between(0, 1, true, 0) : sum(wide, dtype, most, product(dtype, a, b));
    case WEFT_OP_reduce_prod: return power(dtype, most, a);
    case WEFT_OP_argmax:
    case WEFT_OP_argmin: return a.error == 0 ? between(0, most, true, 0) : unknown;
    default: (void)least; return a; /* of nothing it is the same infinity */
    }
}

/* `most` steps of y = a y + b. What is off in one grows like what is added in it. */
static bound recurrence(weft_dtype dtype, double most, bound a, bound b)
{
    weft_dtype wide = weft_accumulator_dtype(dtype);
    double factor = (is_complex(dtype) ? 2 : 1) * (size_of(a) + a.error);
    double growth = factor > 1.001 ? (pow(factor, most) - 1) / (factor - 1) : most * pow(fmax(factor, 1), most);
    double size = (size_of(b) + b.error) * fmax(growth, 1);
    if (is_exact(dtype)) return between(-size, size, true, 0);
    if (!(size < size_limit(wide))) return unknown;
    bool exact = a.error == 0 && b.error == 0 && a.integral && b.integral && size <= count_limit(wide);
    double step = b.error + a.error * size + 4 * (epsilon_of(wide) * size + tiny(wide));
    bound result = between(-size, size, exact, exact ? 0 : step * fmax(growth, 1));
    return wide == dtype ? result : rounded(dtype, result);
}

static bound scanned(const weft_graph *graph, const weft_node *node, bound a, bound b)
{
    int64_t low, high;
    weft_dtype dtype = node->types[0].dtype;
    weft_extent_range(weft_value_type(graph, node->inputs[0])->shape.extents[node->attrs[0].integer], &low, &high);
    switch (weft_op_id_of(node->op)) {
    case WEFT_OP_scan_sum: return sum(weft_accumulator_dtype(dtype), dtype, (double)high, a);
    case WEFT_OP_scan_prod: return power(dtype, (double)high, a);
    case WEFT_OP_scan_linear: return recurrence(dtype, (double)high, a, b);
    default: return a;
    }
}

/* Of values that are not exact the order is not known, but what is in each place is. */
static bound sorted(const weft_graph *graph, const weft_node *node, bound a)
{
    int64_t low, high;
    if (weft_op_id_of(node->op) == WEFT_OP_sort) return a;
    if (a.error > 0) return unknown;
    weft_extent_range(weft_value_type(graph, node->inputs[0])->shape.extents[node->attrs[0].integer], &low, &high);
    return between(0, (double)high, true, 0);
}

/* An element may meet as many updates as there are indices. */
static bound scattered(const weft_graph *graph, const weft_node *node, bound x, bound updates)
{
    weft_shape indices = weft_value_type(graph, node->inputs[2])->shape;
    double most = 1;
    for (size_t i = 0; i < indices.rank; i++) {
        int64_t low, high;
        weft_extent_range(indices.extents[i], &low, &high);
        most *= (double)high;
    }
    bool adds = strcmp(node->attrs[2].data, "add") == 0;
    weft_dtype dtype = node->types[0].dtype;
    if (strcmp(node->attrs[2].data, "mul") == 0) return power(dtype, most + 1, hull(x, updates));
    return adds ? sum(dtype, dtype, most + 1, hull(x, updates)) : hull(x, updates);
}

static bound number(double real)
{
    bound value = between(isfinite(real) ? real : 0, isfinite(real) ? real : 0, real == rint(real), 0);
    value.finite = isfinite(real);
    return value;
}

static bound leaf(const weft_node *node, const bound *seen)
{
    weft_dtype dtype = node->types[0].dtype;
    int64_t low = 0, high = 0;
    if (seen != NULL) return *seen;
    switch (weft_op_id_of(node->op)) {
    case WEFT_OP_iota:
        weft_extent_range(node->types[0].shape.extents[node->attrs[2].integer], &low, &high);
        return between(0, (double)high, true, 0);
    case WEFT_OP_extent:
        weft_extent_range(node->attrs[0].extents.extents[0], &low, &high);
        return between((double)low, (double)high, true, 0);
    case WEFT_OP_constant: break;
    default: return unknown;
    }
    if (node->types[0].shape.rank > 0 || node->attrs[2].size > 16) return unknown;
    if (is_exact(dtype)) {
        memcpy(&high, node->attrs[2].data, node->attrs[2].size);
        return number((double)(dtype == WEFT_I32 ? (int32_t)high : high));
    }
    bound value = number(weft_test_decode(weft_dtype_component(dtype), node->attrs[2].data));
    return is_complex(dtype) ? hull(value, between(0, 0, true, 0)) : value;
}

/* ---- regions ---- */

/* Of the results, given those of the parameters. */
static void of_region(const weft_region *region, const bound *parameters, bound *out_results)
{
    const weft_graph *graph = region->graph;
    weft_test_bounds inside = {.first = NULL};
    if (!weft_test_bounds_start(graph, &inside)) abort();
    for (uint32_t n = 0; n < graph->node_count; n++) {
        size_t parameter = 0;
        while (parameter < region->parameters.count && region->parameters.items[parameter].node != n) parameter++;
        if (parameter < region->parameters.count) inside.items[inside.first[n]] = parameters[parameter];
        else find_node(&(survey){graph, inside.first, inside.items}, n, NULL, inside.items + inside.first[n]);
    }
    for (size_t i = 0; i < region->results.count; i++) {
        weft_tensor result = region->results.items[i];
        out_results[i] = inside.items[inside.first[result.node] + result.output];
    }
    weft_test_bounds_finish(&inside);
}

enum { MOST_OPERANDS = 64 };

/* Of a loop that may take fewer iterations, each one may be the last. */
static void fold(const weft_node *node, bound *operands, bound *out)
{
    int64_t low, high;
    uint32_t carried = node->output_count;
    bound next[MOST_OPERANDS];
    weft_extent_range(node->attrs[0].extents.extents[0], &low, &high);
    memcpy(out, operands + 1, carried * sizeof *out);
    if (high > 64) {
        for (uint32_t k = 0; k < carried; k++) out[k] = unknown;
        return;
    }
    for (int64_t iteration = 0; iteration < high; iteration++) {
        operands[0] = between((double)iteration, (double)iteration, true, 0);
        of_region(&node->attrs[1].region, operands, next);
        memcpy(operands + 1, next, carried * sizeof *next);
        for (uint32_t k = 0; k < carried; k++) out[k] = iteration < low ? next[k] : hull(out[k], next[k]);
    }
}

/* What is exact in every iteration is exact at the end; of anything else nothing is known. */
static void while_loop(const weft_node *node, bound *operands, bound *out)
{
    bool exact = true;
    bound more;
    for (uint32_t k = 0; k < node->output_count; k++) {
        weft_dtype dtype = node->types[k].dtype;
        exact &= operands[k].known && operands[k].error == 0;
        operands[k] = wrapped(dtype, between(-DBL_MAX, DBL_MAX, is_exact(dtype), 0));
        operands[k].finite = false;
    }
    if (exact) of_region(&node->attrs[1].region, operands, &more);
    if (exact) of_region(&node->attrs[2].region, operands, out);
    exact = exact && more.known && more.error == 0;
    for (uint32_t k = 0; k < node->output_count && exact; k++) exact = out[k].known && out[k].error == 0;
    for (uint32_t k = 0; k < node->output_count && !exact; k++) out[k] = unknown;
}

static void branches(const weft_node *node, const bound *operands, bound *out)
{
    bound otherwise[MOST_OPERANDS];
    if (!operands[0].known || operands[0].error > 0) return;
    of_region(&node->attrs[0].region, operands + 1, out);
    of_region(&node->attrs[1].region, operands + 1, otherwise);
    for (uint32_t k = 0; k < node->output_count; k++) out[k] = hull(out[k], otherwise[k]);
}

static void region_op(const survey *of, const weft_node *node, bound *out)
{
    bound operands[MOST_OPERANDS + 1];
    if (node->input_count >= MOST_OPERANDS || node->output_count >= MOST_OPERANDS) return;
    for (uint32_t i = 0; i < node->input_count; i++) operands[1 + i] = operand(of, node, i);
    switch (weft_op_id_of(node->op)) {
    case WEFT_OP_fold: fold(node, operands, out); break;
    case WEFT_OP_while: while_loop(node, operands + 1, out); break;
    default: branches(node, operands + 1, out);
    }
}

/* ---- one node ---- */

static bool is_function(weft_op_id op)
{
    switch (op) {
    case WEFT_OP_neg:
    case WEFT_OP_real:
    case WEFT_OP_imag:
    case WEFT_OP_not:
    case WEFT_OP_sign:
    case WEFT_OP_is_nan:
    case WEFT_OP_is_finite:
    case WEFT_OP_population_count: return false;
    default: return true;
    }
}

/* A function of what is exact, whose results are there: it is as near as functions are. */
static bound exact_function(weft_op_id op, weft_dtype from, weft_dtype dtype, bound x, const bound *seen)
{
    bool jumps = op == WEFT_OP_floor || op == WEFT_OP_ceil || op == WEFT_OP_round || op == WEFT_OP_trunc;
    bool rounds = op == WEFT_OP_sqrt || op == WEFT_OP_abs;
    if (is_complex(from) && !x.finite) return unknown;
    bound result = *seen;
    result.error = (is_complex(from) ? 64 : 16) * epsilon_of(dtype) * size_of(*seen) + tiny(dtype);
    if (jumps || is_exact(dtype)) result.error = 0;
    if (rounds && !is_complex(from)) return rounded(dtype, *seen);
    return result;
}

static bound bits_of(weft_dtype from, bound x)
{
    if (!is_exact(from) && (x.error > 0 || !x.finite || x.loose_zeros)) return unknown;
    return between(-DBL_MAX, DBL_MAX, false, 0);
}

static bound elementwise(const survey *of, const weft_node *node, weft_dtype from, const bound *seen)
{
    weft_op_id op = weft_op_id_of(node->op);
    weft_dtype dtype = node->types[0].dtype;
    bound a = operand(of, node, 0), b = operand(of, node, node->input_count - 1);
    if (op == WEFT_OP_cast) return cast(from, dtype, a);
    if (op == WEFT_OP_bitcast) return bits_of(from, a);
    if (op == WEFT_OP_select) return a.error > 0 ? unknown : hull(operand(of, node, 1), b);
    bool exact = a.error == 0 && b.error == 0, divides = op == WEFT_OP_div || op == WEFT_OP_pow || op == WEFT_OP_atan2;
    bool zeros =
        op == WEFT_OP_rsqrt || op == WEFT_OP_tgamma || op == WEFT_OP_digamma || op == WEFT_OP_copysign || divides;
    bool loose = b.loose_zeros || (a.loose_zeros && op != WEFT_OP_div && op != WEFT_OP_copysign);
    if (zeros && !is_complex(from) && loose) return unknown;
    if (is_complex(from) && (a.loose_zeros || b.loose_zeros)) return unknown;
    if (is_complex(from) &&
        (op == WEFT_OP_pow || ((op == WEFT_OP_mul || op == WEFT_OP_div) && !(a.finite && b.finite))))
        return unknown;
    if (op == WEFT_OP_mul && (is_open_product(a, b) || is_open_product(b, a))) return unknown;
    if (node->input_count == 1 && exact && seen != NULL && !is_exact(from) && is_function(op))
        return exact_function(op, from, dtype, a, seen);
    if (divides && exact && seen != NULL && !is_exact(from)) {
        bound result = *seen;
        if (op == WEFT_OP_div && !is_complex(from)) return rounded(dtype, result);
        result.error = 16 * epsilon_of(dtype) * size_of(result) + tiny(dtype);
        return result;
    }
    return node->input_count == 1 ? unary(op, from, dtype, a) : binary(op, from, a, b);
}

static bound find(const survey *of, const weft_node *node, const bound *seen)
{
    weft_op_id op = weft_op_id_of(node->op);
    const weft_graph *graph = of->graph;
    for (uint32_t i = 0; i < node->input_count; i++)
        if (!operand(of, node, i).known) return unknown;
    if (node->input_count == 0) return leaf(node, seen);
    bound a = operand(of, node, 0), b = operand(of, node, node->input_count - 1);
    weft_dtype from = weft_value_type(graph, node->inputs[0])->dtype;
    if (op == WEFT_OP_EXTENSION) return unknown;
    if (op == WEFT_OP_pad) return hull(a, b);
    if (op == WEFT_OP_embed_diagonal || op == WEFT_OP_shear) return hull(a, between(0, 0, true, 0));
    if (op == WEFT_OP_scatter) return b.error > 0 ? unknown : scattered(graph, node, a, operand(of, node, 1));
    if (op == WEFT_OP_dynamic_update_slice) return hull(a, operand(of, node, 1));
    if (op == WEFT_OP_gather && b.error > 0) return unknown;
    if (op == WEFT_OP_concat) {
        for (uint32_t i = 0; i < node->input_count; i++) a = hull(a, operand(of, node, i));
        return a;
    }
    switch (node->op->op_class) {
    case WEFT_CLASS_REDUCE:
    case WEFT_CLASS_PRODUCT:
        if (is_complex(from) && !(a.finite && b.finite)) return unknown;
        if (node->op->op_class == WEFT_CLASS_PRODUCT && (is_open_product(a, b) || is_open_product(b, a)))
            return unknown;
        return reduction(graph, node, a, b);
    case WEFT_CLASS_SCAN: return scanned(graph, node, a, b);
    case WEFT_CLASS_SORT: return sorted(graph, node, a);
    case WEFT_CLASS_ELEMENTWISE: return elementwise(of, node, from, seen);
    default: return a;
    }
}

/* Zeros of either sign may come out of these. */
static bool loosens_zeros(const weft_node *node)
{
    weft_op_id op = weft_op_id_of(node->op);
    uint32_t op_class = node->op->op_class;
    return op == WEFT_OP_max || op == WEFT_OP_min || op == WEFT_OP_scatter || op_class == WEFT_CLASS_REDUCE ||
           op_class == WEFT_CLASS_PRODUCT || op_class == WEFT_CLASS_SCAN || op_class == WEFT_CLASS_SORT ||
           op_class == WEFT_CLASS_REGION;
}

/* The calculus says how far off a value may be, its elements say how large they are. */
static bound judged(const survey *of, const weft_node *node, uint32_t output, bound found, const bound *seen)
{
    weft_dtype dtype = node->types[output].dtype;
    bool loose = loosens_zeros(node), inexact = false;
    for (uint32_t i = 0; i < node->input_count; i++) {
        loose |= operand(of, node, i).loose_zeros;
        inexact |= operand(of, node, i).error > 0;
    }
    if (!found.known) return found;
    if (is_exact(dtype)) found = wrapped(dtype, found);
    bool large = !(size_of(found) < size_limit(dtype));
    if (large && found.error > 0 && (seen == NULL || !seen->finite)) return unknown;
    if (seen != NULL) {
        double error = found.error;
        bool functions = node->op->op_class == WEFT_CLASS_ELEMENTWISE && is_function(weft_op_id_of(node->op)) &&
                         node->input_count == 1 && weft_op_id_of(node->op) != WEFT_OP_cast;
        if (!seen->finite && inexact && functions) return unknown;
        found = *seen;
        found.error = error;
    }
    if (found.error >= size_limit(dtype) || isnan(found.error)) return unknown;
    found.loose_zeros = loose && found.nearest == 0 && !is_exact(dtype);
    return found;
}

static void find_node(const survey *of, uint32_t n, const bound *seen, bound *out)
{
    const weft_node *node = weft_graph_node(of->graph, n);
    for (uint32_t k = 0; k < node->output_count; k++) out[k] = unknown;
    if (node->op->op_class == WEFT_CLASS_REGION) region_op(of, node, out);
    else if (node->output_count == 1) out[0] = find(of, node, seen);
    for (uint32_t k = 0; k < node->output_count; k++)
        out[k] = judged(of, node, k, out[k], seen == NULL ? NULL : seen + k);
}

/* ---- a graph ---- */

bool weft_test_bounds_start(const weft_graph *graph, weft_test_bounds *out)
{
    size_t count = 0;
    out->first = malloc((graph->node_count + 1) * sizeof *out->first);
    for (size_t n = 0; n < graph->node_count && out->first != NULL; n++) {
        out->first[n] = count;
        count += graph->nodes[n].output_count;
    }
    out->count = count;
    out->items = calloc(count + 1, sizeof *out->items);
    return out->first != NULL && out->items != NULL;
}

void weft_test_bounds_finish(weft_test_bounds *bounds)
{
    free(bounds->first);
    free(bounds->items);
}

typedef struct census {
    weft_dtype part;
    size_t parts, size;
    bound *seen;
} census;

static void count_element(void *context, int64_t number, void *element)
{
    const census *of = context;
    (void)number;
    for (size_t i = 0; i < of->parts; i++) {
        double real = 0;
        int64_t integer = 0;
        const char *at = (const char *)element + i * of->size;
        if (is_exact(of->part)) {
            memcpy(&integer, at, of->size);
            real = (double)(of->part == WEFT_I32 ? (int32_t)integer : integer);
        } else real = weft_test_decode(of->part, at);
        if (!isfinite(real)) {
            of->seen->finite = false;
            continue;
        }
        of->seen->low = fmin(of->seen->low, real);
        of->seen->high = fmax(of->seen->high, real);
        of->seen->nearest = fmin(of->seen->nearest, fabs(real));
        of->seen->integral &= real == rint(real);
    }
}

/* What the elements of an array are. */
static bound see(const weft_array *array)
{
    weft_dtype dtype = weft_array_dtype(array), part = weft_dtype_component(dtype);
    bound seen = {
        .known = true, .integral = true, .finite = true, .low = HUGE_VAL, .high = -HUGE_VAL, .nearest = HUGE_VAL};
    census of = {part, is_complex(dtype) ? 2 : 1, weft_dtype_size(part), &seen};
    weft_test_visit(array, count_element, &of);
    if (seen.low > seen.high) seen.low = seen.high = seen.nearest = 0;
    return seen;
}

bool weft_test_bounds_create(const weft_graph *graph, weft_array *const *values, weft_test_bounds *out)
{
    bound seen[MOST_OPERANDS];
    if (!weft_test_bounds_start(graph, out)) return false;
    survey of = {graph, out->first, out->items};
    for (uint32_t n = 0; n < graph->node_count; n++) {
        uint32_t outputs = graph->nodes[n].output_count;
        for (uint32_t k = 0; k < outputs && k < MOST_OPERANDS; k++) seen[k] = see(values[out->first[n] + k]);
        find_node(&of, n, seen, out->items + out->first[n]);
    }
    return true;
}
