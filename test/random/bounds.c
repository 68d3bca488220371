/* SPDX-License-Identifier: Apache-2.0 */
#include "test/random/bounds.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "lib/loop/loop.h"
#include "test/conform/number.h"

/* Values beyond these are no longer told apart from failures. */
#define MOST_VALUE 1e6
#define MOST_ERROR 1e-2

typedef weft_test_bound bound;

static const bound unknown = {.known = false};

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

static bound between(double low, double high, bool integral, double error)
{
    return (bound){.known = true, .integral = integral, .low = low, .high = high, .error = error};
}

/* An integer that leaves its dtype may come back anywhere in it. */
static bound wrapped(weft_dtype dtype, bound x)
{
    const weft_dtype_info *info = weft_dtype_info_of(dtype);
    double places = ldexp(1, (int)info->size * 8 - (info->kind == WEFT_KIND_SIGNED));
    double low = info->kind == WEFT_KIND_SIGNED ? -places : 0, high = dtype == WEFT_BOOL ? 1 : places - 1;
    return x.low >= low && x.high <= high ? x : between(low, high, true, 0);
}

/* The result of one rounded operation. The oracle rounds f64 twice, so that it may be one place off; products of short
 * floats and of complex numbers are rounded otherwise where they become part of a dot. */
static bound rounded(weft_dtype dtype, bound x)
{
    if (is_exact(dtype) || (x.integral && size_of(x) <= count_limit(dtype))) return x;
    x.integral = false;
    if (x.error > 0 || dtype != WEFT_F32) x.error += 2 * epsilon_of(dtype) * size_of(x);
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
    return between(fmin(a.low, b.low), fmax(a.high, b.high), a.integral && b.integral, fmax(a.error, b.error));
}

static bound quotient(bound a, bound b)
{
    double least = (b.low > 0 ? b.low : -b.high) - b.error;
    if (least <= 0) return unknown;
    double most = size_of(a) / least;
    return between(-most, most, false, (a.error + most * b.error) / least);
}

/* ---- by class of ops ---- */

/* exp, or a function that grows no faster. */
static bound growing(weft_dtype dtype, bound x, double low)
{
    double most = exp(size_of(x));
    if (size_of(x) > 12) return unknown;
    return between(low * most, most * 1.01, false, most * (1.01 * x.error + 4 * epsilon_of(dtype)));
}

/* A logarithm of x + 1 - `least`, whose argument is at least 1; to base 2 it is 1.45 times as large. */
static bound logarithm(weft_dtype dtype, bound x, double least)
{
    if (x.low - x.error < least) return unknown;
    double most = 1.45 * log(x.high + 2 - least);
    return between(0, most, false, 1.45 * x.error + 4 * epsilon_of(dtype) * fmax(most, 1));
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

static bound function(weft_op_id op, weft_dtype dtype, bound x)
{
    double place = epsilon_of(dtype), least = x.low - x.error, size = size_of(x);
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
    case WEFT_OP_acosh:
        if (least < 2) return unknown;
        return damped(dtype, x, 0, log(2 * size + 2));
    case WEFT_OP_atanh:
        if (size + x.error > 0.9) return unknown;
        return between(-2, 2, false, 6 * x.error + 8 * place);
    case WEFT_OP_tanh:
    case WEFT_OP_sigmoid: return damped(dtype, x, -1, 1);
    case WEFT_OP_sin:
    case WEFT_OP_cos: return damped(dtype, x, -1, 1);
    case WEFT_OP_atan: return damped(dtype, x, -2, 2);
    case WEFT_OP_erf:
    case WEFT_OP_erfc: return between(-1, 2, false, 1.2 * x.error + 8 * place);
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
    case WEFT_OP_cbrt:
        return between(-cbrt(size), cbrt(size), false, (x.error == 0 ? 0 : 2 * cbrt(x.error)) + 4 * place * cbrt(size));
    case WEFT_OP_rsqrt:
        if (least < 0.5) return unknown;
        return between(0, 1.5, false, 1.5 * x.error + 8 * place);
    case WEFT_OP_floor:
    case WEFT_OP_ceil:
    case WEFT_OP_round:
    case WEFT_OP_trunc: return x.error == 0 ? between(floor(x.low), ceil(x.high), true, 0) : unknown;
    case WEFT_OP_sqrt:
        if (least < 0) return unknown;
        return rounded(dtype, between(0, sqrt(x.high), false,
                                      x.error == 0 ? 0
                                      : least > 0  ? x.error / sqrt(least)
                                                   : sqrt(x.error)));
    default: return unknown;
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
    case WEFT_OP_is_finite: return between(0, 1, true, 0);
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
    case WEFT_OP_copysign: return b.error > 0 ? unknown : between(-size_of(a), size_of(a), a.integral, a.error);
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
    if (!total.integral || size_of(total) > count_limit(wide)) {
        total.integral = false;
        total.error += 2 * (most + 1) * epsilon_of(wide) * size_of(total);
    }
    return wide == dtype ? total : rounded(dtype, total);
}

/* A product of up to `most` such values. */
static bound power(weft_dtype dtype, double most, bound x)
{
    double one = fmax(1, (is_complex(dtype) ? 2 : 1) * (size_of(x) + x.error));
    double size = pow(one, most), relative = x.error / fmax(size_of(x), 1);
    if (is_exact(dtype)) return between(-size, size, true, 0);
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
    default: return least > 0 ? a : unknown;
    }
}

static bound scanned(const weft_graph *graph, const weft_node *node, bound a)
{
    int64_t low, high;
    weft_dtype dtype = node->types[0].dtype;
    weft_extent_range(weft_value_type(graph, node->inputs[0])->shape.extents[node->attrs[0].integer], &low, &high);
    switch (weft_op_id_of(node->op)) {
    case WEFT_OP_scan_sum: return sum(weft_accumulator_dtype(dtype), dtype, (double)high, a);
    case WEFT_OP_scan_prod: return power(dtype, (double)high, a);
    default: return node->attrs[2].integer == 0 ? a : unknown;
    }
}

/* Of values that are not exact the order is not known. */
static bound sorted(const weft_graph *graph, const weft_node *node, bound a)
{
    int64_t low, high;
    if (a.error > 0) return unknown;
    if (weft_op_id_of(node->op) == WEFT_OP_sort) return a;
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
    return adds ? sum(dtype, dtype, most + 1, hull(x, updates)) : hull(x, updates);
}

static bound leaf(const weft_graph *graph, const weft_node *node)
{
    weft_dtype dtype = node->types[0].dtype;
    int64_t low = 0, high = 0;
    double real;
    switch (weft_op_id_of(node->op)) {
    case WEFT_OP_input:
        if (dtype == WEFT_BOOL) return between(0, 1, true, 0);
        return between(weft_dtype_info_of(dtype)->kind == WEFT_KIND_UNSIGNED ? 0 : -WEFT_TEST_INPUT_LIMIT,
                       WEFT_TEST_INPUT_LIMIT, true, 0);
    case WEFT_OP_iota:
        weft_extent_range(node->types[0].shape.extents[node->attrs[2].integer], &low, &high);
        return rounded(dtype, between(0, (double)high, true, 0));
    case WEFT_OP_extent:
        weft_extent_range(node->attrs[0].extents.extents[0], &low, &high);
        return between((double)low, (double)high, true, 0);
    default: break;
    }
    (void)graph;
    if (node->types[0].shape.rank > 0) return unknown;
    if (is_exact(dtype)) {
        memcpy(&high, node->attrs[2].data, node->attrs[2].size);
        real = (double)(dtype == WEFT_I32 ? (int32_t)high : high);
        return between(real, real, true, 0);
    }
    real = weft_test_decode(weft_dtype_component(dtype), node->attrs[2].data);
    bound value = between(real, real, real == rint(real), 0);
    return is_complex(dtype) ? hull(value, between(0, 0, true, 0)) : value;
}

/* Of result 0, given those of the parameters. */
static bound of_region(const weft_region *region, const bound *parameters)
{
    const weft_graph *graph = region->graph;
    bound *bounds = malloc((graph->node_count + 1) * sizeof *bounds);
    if (bounds == NULL) abort();
    for (uint32_t n = 0; n < graph->node_count; n++) {
        size_t parameter = 0;
        while (parameter < region->parameters.count && region->parameters.items[parameter].node != n) parameter++;
        bounds[n] =
            parameter < region->parameters.count ? parameters[parameter] : weft_test_bound_find(graph, n, bounds);
    }
    bound result = bounds[region->results.items[0].node];
    free(bounds);
    return result;
}

/* Loops carry one value here. Of one that may take fewer turns, every turn may be the last. */
static bound fold(const weft_node *node, bound *operands)
{
    int64_t low, high;
    weft_extent_range(node->attrs[0].extents.extents[0], &low, &high);
    bound result = operands[1];
    if (node->output_count != 1) return unknown;
    for (int64_t turn = 0; turn < high; turn++) {
        operands[0] = between((double)turn, (double)turn, true, 0);
        operands[1] = of_region(&node->attrs[1].region, operands);
        result = turn < low ? operands[1] : hull(result, operands[1]);
    }
    return result;
}

static bound region_op(const weft_node *node, const bound *bounds)
{
    bound operands[64];
    if (node->input_count >= 64) return unknown;
    for (uint32_t i = 0; i < node->input_count; i++) operands[1 + i] = bounds[node->inputs[i].node];
    if (weft_op_id_of(node->op) == WEFT_OP_fold) return fold(node, operands);
    if (weft_op_id_of(node->op) == WEFT_OP_while || operands[1].error > 0) return unknown;
    return hull(of_region(&node->attrs[0].region, operands + 2), of_region(&node->attrs[1].region, operands + 2));
}

static bound find(const weft_graph *graph, const weft_node *node, const bound *bounds)
{
    weft_op_id op = weft_op_id_of(node->op);
    weft_dtype dtype = node->types[0].dtype;
    for (uint32_t i = 0; i < node->input_count; i++)
        if (!bounds[node->inputs[i].node].known) return unknown;
    if (node->input_count == 0) return leaf(graph, node);
    bound a = bounds[node->inputs[0].node], b = bounds[node->inputs[node->input_count - 1].node];
    weft_dtype from = weft_value_type(graph, node->inputs[0])->dtype;
    if (op == WEFT_OP_cast) return cast(from, dtype, a);
    if (op == WEFT_OP_select) return hull(bounds[node->inputs[1].node], b);
    if (op == WEFT_OP_pad) return hull(a, b);
    if (op == WEFT_OP_embed_diagonal) return hull(a, between(0, 0, true, 0));
    if (op == WEFT_OP_scatter) return scattered(graph, node, a, bounds[node->inputs[1].node]);
    if (op == WEFT_OP_dynamic_update_slice) return hull(a, bounds[node->inputs[1].node]);
    if (op == WEFT_OP_concat) {
        for (uint32_t i = 0; i < node->input_count; i++) a = hull(a, bounds[node->inputs[i].node]);
        return a;
    }
    if (node->op->op_class == WEFT_CLASS_REDUCE || node->op->op_class == WEFT_CLASS_PRODUCT)
        return reduction(graph, node, a, b);
    if (node->op->op_class == WEFT_CLASS_REGION) return region_op(node, bounds);
    if (node->op->op_class == WEFT_CLASS_SCAN) return scanned(graph, node, a);
    if (node->op->op_class == WEFT_CLASS_SORT) return sorted(graph, node, a);
    if (node->op->op_class != WEFT_CLASS_ELEMENTWISE) return a;
    return node->input_count == 1 ? unary(op, from, dtype, a) : binary(op, from, a, b);
}

weft_test_bound weft_test_bound_find(const weft_graph *graph, uint32_t node, const weft_test_bound *bounds)
{
    bound found = find(graph, weft_graph_node(graph, node), bounds);
    weft_dtype dtype = weft_graph_node(graph, node)->types[0].dtype;
    if (found.known && is_exact(dtype)) found = wrapped(dtype, found);
    return size_of(found) <= MOST_VALUE && found.error <= MOST_ERROR ? found : unknown;
}

weft_test_bound *weft_test_bounds_create(const weft_graph *graph)
{
    weft_test_bound *bounds = calloc(graph->node_count + 1, sizeof *bounds);
    if (bounds == NULL) abort();
    for (uint32_t n = 0; n < graph->node_count; n++) bounds[n] = weft_test_bound_find(graph, n, bounds);
    return bounds;
}
