/* SPDX-License-Identifier: Apache-2.0 */
/* Derivatives of scans and of sorting. */
#include <weft/shape.h>
#include "lib/composite/composite.h"
#include "lib/grad/grad.h"

/* How a scan runs, from its attributes. */
typedef struct scan_way {
    int64_t axis;
    bool reverse, exclusive;
} scan_way;

static scan_way way_of(const weft_gradient_context *c)
{
    return (scan_way){c->attrs[0].integer, c->attrs[1].integer != 0, c->attrs[2].integer != 0};
}

/* `x` moved along the axis by one element, which comes in as zero: on in the direction of the scan, or back. */
static weft_tensor move(weft_tensor x, scan_way way, bool back)
{
    bool up = way.reverse == back;
    size_t rank = weft_tensor_rank(x);
    weft_extent low[WEFT_MAX_RANK], high[WEFT_MAX_RANK], extent = weft_tensor_extent(x, way.axis);
    for (size_t i = 0; i < rank; i++) {
        low[i] = weft_extent_of((int64_t)i == way.axis && up);
        high[i] = weft_extent_of((int64_t)i == way.axis && !up);
    }
    x = weft_pad(x, weft_scalar_like(x, 0), (weft_shape){rank, low}, (weft_shape){rank, high});
    return weft_narrow(x, way.axis, weft_extent_of(!up), extent);
}

static weft_tensor narrow_back(weft_tensor x, weft_tensor like)
{
    return weft_composite_cast(x, weft_tensor_dtype(like));
}

/* ---- sums ---- */

static weft_status *vjp_sum(const weft_gradient_context *c, weft_tensor *out_values)
{
    scan_way way = way_of(c);
    out_values[0] = weft_cumsum(c->given.items[0], way.axis, !way.reverse, way.exclusive);
    return NULL;
}

static weft_status *jvp_sum(const weft_gradient_context *c, weft_tensor *out_values)
{
    out_values[0] = weft_gradient_again(c, c->given);
    return NULL;
}

/* ---- products: without a division, so that factors may be 0 ---- */

/* What was multiplied before element i is L_i, and what comes of it after that R_i = g_i + x_(i+1) R_(i+1). */
static weft_status *vjp_prod(const weft_gradient_context *c, weft_tensor *out_values)
{
    scan_way way = way_of(c);
    weft_tensor x = weft_gradient_conj(weft_composite_widen(c->inputs.items[0]));
    weft_tensor g = weft_composite_widen(c->given.items[0]);
    if (way.exclusive) g = move(g, way, true);
    weft_tensor before = weft_cumprod(x, way.axis, way.reverse, true);
    weft_tensor after = weft_scan_linear(move(x, way, true), g, way.axis, !way.reverse);
    out_values[0] = narrow_back(weft_mul(before, after), c->inputs.items[0]);
    return NULL;
}

/* dy_i = x_i dy_(i-1) + y_(i-1) dx_i */
static weft_status *jvp_prod(const weft_gradient_context *c, weft_tensor *out_values)
{
    scan_way way = way_of(c);
    weft_tensor x = weft_composite_widen(c->inputs.items[0]), dx = weft_composite_widen(c->given.items[0]);
    weft_tensor before = weft_cumprod(x, way.axis, way.reverse, true);
    weft_tensor dy = weft_scan_linear(x, weft_mul(before, dx), way.axis, way.reverse);
    out_values[0] = narrow_back(way.exclusive ? move(dy, way, false) : dy, c->inputs.items[0]);
    return NULL;
}

/* ---- max, min: the first element that had the value ---- */

/* Where along the axis the value of the inclusive scan comes from. */
static weft_tensor positions(const weft_gradient_context *c, scan_way way)
{
    bool is_max = weft_op_id_of(c->op) == WEFT_OP_scan_max;
    weft_tensor x = c->inputs.items[0];
    weft_tensor before =
        is_max ? weft_cummax(x, way.axis, way.reverse, true) : weft_cummin(x, way.axis, way.reverse, true);
    weft_tensor is_new = is_max ? weft_gt(x, before) : weft_lt(x, before);
    weft_tensor own = weft_iota(c->graph, WEFT_I64, weft_tensor_shape(x), way.axis);
    weft_extent last = weft_extent_plus(weft_tensor_extent(x, way.axis), -1);
    weft_tensor first = way.reverse ? weft_extent_tensor(c->graph, last) : weft_scalar_like(own, 0);
    weft_tensor found = weft_select(is_new, own, first);
    return way.reverse ? weft_cummin(found, way.axis, true, false) : weft_cummax(found, way.axis, false, false);
}

static weft_status *vjp_extreme(const weft_gradient_context *c, weft_tensor *out_values)
{
    scan_way way = way_of(c);
    weft_tensor x = c->inputs.items[0], g = weft_composite_widen(c->given.items[0]);
    if (way.exclusive) g = move(g, way, true);
    g = weft_scatter_along_axis(weft_gradient_zeros(g), positions(c, way), g, way.axis, WEFT_SCATTER_ADD);
    out_values[0] = narrow_back(g, x);
    return NULL;
}

static weft_status *jvp_extreme(const weft_gradient_context *c, weft_tensor *out_values)
{
    scan_way way = way_of(c);
    weft_tensor dy = weft_take_along_axis(c->given.items[0], positions(c, way), way.axis);
    out_values[0] = way.exclusive ? move(dy, way, false) : dy;
    return NULL;
}

/* ---- linear recurrences: y_i = a_i y_(i-1) + b_i ---- */

static scan_way linear_way(const weft_gradient_context *c)
{
    return (scan_way){c->attrs[0].integer, c->attrs[1].integer != 0, false};
}

/* The cotangents of b are h_i = g_i + a_(i+1) h_(i+1), those of a are h_i y_(i-1): that product is what is moved, so
 * that the first one is 0 whatever h is. */
static weft_status *vjp_linear(const weft_gradient_context *c, weft_tensor *out_values)
{
    scan_way way = linear_way(c);
    weft_tensor a = weft_gradient_conj(c->inputs.items[0]), y = weft_gradient_conj(c->outputs.items[0]);
    weft_tensor h = weft_scan_linear(move(a, way, true), c->given.items[0], way.axis, !way.reverse);
    if (c->needs[0]) out_values[0] = move(weft_mul(move(h, way, true), y), way, false);
    if (c->needs[1]) out_values[1] = h;
    return NULL;
}

static weft_status *jvp_linear(const weft_gradient_context *c, weft_tensor *out_values)
{
    scan_way way = linear_way(c);
    weft_tensor by_a = WEFT_NO_TENSOR;
    if (weft_gradient_given(c, 0))
        by_a = move(weft_mul(move(c->given.items[0], way, true), c->outputs.items[0]), way, false);
    weft_tensor added = weft_gradient_add(by_a, c->given.items[1]);
    out_values[0] = weft_scan_linear(c->inputs.items[0], added, way.axis, way.reverse);
    return NULL;
}

/* ---- sorting ---- */

static weft_tensor order_of(const weft_gradient_context *c)
{
    return weft_argsort(c->inputs.items[0], c->attrs[0].integer, c->attrs[1].integer != 0);
}

static weft_status *vjp_sort(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor g = c->given.items[0];
    out_values[0] =
        weft_scatter_along_axis(weft_gradient_zeros(g), order_of(c), g, c->attrs[0].integer, WEFT_SCATTER_SET);
    return NULL;
}

static weft_status *jvp_sort(const weft_gradient_context *c, weft_tensor *out_values)
{
    out_values[0] = weft_take_along_axis(c->given.items[0], order_of(c), c->attrs[0].integer);
    return NULL;
}

static const weft_gradient_row rows[] = {
    {WEFT_OP_scan_sum, vjp_sum, jvp_sum, NULL},
    {WEFT_OP_scan_prod, vjp_prod, jvp_prod, NULL},
    {WEFT_OP_scan_max, vjp_extreme, jvp_extreme, NULL},
    {WEFT_OP_scan_min, vjp_extreme, jvp_extreme, NULL},
    {WEFT_OP_scan_linear, vjp_linear, jvp_linear, NULL},
    {WEFT_OP_sort, vjp_sort, jvp_sort, NULL},
    {WEFT_OP_argsort, NULL, NULL, NULL},
};

const weft_gradient_family weft_gradient_scan = {sizeof rows / sizeof *rows, rows};
