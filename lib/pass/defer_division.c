/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides what a product makes of a softmax instead of the softmax: the dot of e / sum and v becomes that of e and v,
 * divided by the sums. So attention divides rows of results, which are shorter than rows of scores, and no weights are
 * written beside the exponentials.
 *
 * requires: what a product of 32 or 64-bit floats takes of a softmax is a quotient, whose divisor is broadcast
 *     (canonicalize, match_dot)
 * maintains: guards; values except for the rounding of quotients, of which there is one for each result as there was
 *     for each weight. What is divided is at most the sum times the greatest factor: the greatest exponential of each
 *     row of a softmax is 1, which is why other quotients stay.
 * breaks: nothing
 */
#include <math.h>
#include <string.h>
#include "lib/pass/constants.h"
#include "lib/pass/pass.h"
#include "lib/pass/uses.h"

/* Whether another number stands in place of the reduction where that is of nothing, a maximum of -inf or a sum of 0. */
static bool is_guard(weft_tensor select, weft_op_id reduction)
{
    double d = reduction == WEFT_OP_reduce_max ? -(double)INFINITY : 0;
    float f = (float)d;
    weft_tensor condition = weft_tensor_operand(select, 0), kept = weft_tensor_operand(select, 2);
    const void *element = weft_tensor_dtype(kept) == WEFT_F64 ? (const void *)&d : &f;
    return weft_tensor_is_op(condition, WEFT_OP_eq) && weft_tensor_same(weft_tensor_operand(condition, 0), kept) &&
           weft_constant_repeats(weft_tensor_operand(condition, 1), element);
}

/* Which axis of the weights each axis of a tensor is; ALONE: it has one element. */
enum { ALONE = -1 };
typedef struct alignment {
    int64_t axes[WEFT_MAX_RANK];
} alignment;

/* That of the operand of a broadcast. */
static void align_broadcast(weft_tensor broadcast, alignment *a)
{
    const alignment result = *a;
    weft_tensor operand = weft_tensor_operand(broadcast, 0);
    const int64_t *axes = weft_tensor_node(broadcast)->attrs[1].ints.items;
    for (size_t i = 0; i < weft_tensor_rank(operand); i++)
        a->axes[i] = weft_extent_is(weft_tensor_extent(operand, (int64_t)i), 1) ? ALONE : result.axes[axes[i]];
}

/* That of the operand of a reshape, if only axes of one element come or go. */
static bool align_reshape(weft_tensor reshape, alignment *a)
{
    const alignment result = *a;
    weft_tensor operand = weft_tensor_operand(reshape, 0);
    weft_shape from = weft_tensor_shape(operand), to = weft_tensor_shape(reshape);
    size_t k = 0;
    for (size_t i = 0; i < from.rank; i++) {
        a->axes[i] = ALONE;
        if (weft_extent_is(from.extents[i], 1)) continue;
        while (k < to.rank && weft_extent_is(to.extents[k], 1)) k++;
        if (k == to.rank || !weft_extent_equal(from.extents[i], to.extents[k])) return false;
        a->axes[i] = result.axes[k++];
    }
    while (k < to.rank && weft_extent_is(to.extents[k], 1)) k++;
    return k == to.rank;
}

/* Whether the reduction is over `contracted`, and its result has the other axes where the weights have them. */
static bool is_of_rows(weft_tensor reduction, weft_ints contracted, const alignment *a)
{
    weft_ints axes = weft_tensor_node(reduction)->attrs[0].ints;
    size_t k = 0;
    bool same = axes.count == contracted.count;
    for (size_t i = 0; i < axes.count; i++) same = same && weft_ints_contain(contracted, (size_t)axes.items[i]);
    for (int64_t axis = 0; axis < (int64_t)weft_tensor_rank(weft_tensor_operand(reduction, 0)); axis++) {
        if (weft_ints_contain(axes, (size_t)axis)) continue;
        same = same && (a->axes[k] == ALONE || a->axes[k] == axis);
        k++;
    }
    return same;
}

/* The operand of the reduction of rows along `contracted` that x is, repeated along them, a sum of at least some
 * number, or guarded; no tensor if x is none. */
static weft_tensor reduced(weft_tensor x, weft_op_id reduction, weft_ints contracted)
{
    alignment a;
    for (int64_t i = 0; i < WEFT_MAX_RANK; i++) a.axes[i] = i;
    for (;; x = weft_tensor_operand(x, weft_tensor_is_op(x, WEFT_OP_select) ? 2 : 0)) {
        bool passes = false;
        switch (weft_op_id_of(weft_tensor_node(x)->op)) {
        case WEFT_OP_broadcast:
            align_broadcast(x, &a);
            passes = true;
            break;
        case WEFT_OP_reshape: passes = align_reshape(x, &a); break;
        case WEFT_OP_max: passes = reduction == WEFT_OP_reduce_sum; break;
        case WEFT_OP_select: passes = is_guard(x, reduction); break;
        default:
            if (weft_tensor_is_op(x, reduction) && is_of_rows(x, contracted, &a)) return weft_tensor_operand(x, 0);
        }
        if (!passes) return weft_site_leave();
    }
}

/* Whether x is one number less than 0, repeated. */
static bool is_negative(weft_tensor x)
{
    weft_tensor number = weft_tensor_is_op(x, WEFT_OP_broadcast) ? weft_tensor_operand(x, 0) : x;
    if (!weft_tensor_is_op(number, WEFT_OP_constant)) return false;
    const weft_attr *data = &weft_tensor_node(number)->attrs[2];
    if (data->size == 0 || !weft_constant_repeats(number, data->data)) return false;
    double d;
    float f;
    if (weft_tensor_dtype(x) == WEFT_F64) memcpy(&d, data->data, sizeof d);
    else memcpy(&f, data->data, sizeof f), d = (double)f;
    return d < 0;
}

/* Whether -inf stands in place of what is below a bound, which the greatest of differences to a maximum, 0, is not. */
static bool is_cut(weft_tensor select)
{
    const double d = -(double)INFINITY;
    const float f = (float)d;
    const void *element = weft_tensor_dtype(select) == WEFT_F64 ? (const void *)&d : &f;
    if (!weft_tensor_is_op(select, WEFT_OP_select)) return false;
    weft_tensor condition = weft_tensor_operand(select, 0);
    return weft_constant_repeats(weft_tensor_operand(select, 1), element) && weft_tensor_is_op(condition, WEFT_OP_lt) &&
           weft_tensor_same(weft_tensor_operand(condition, 0), weft_tensor_operand(select, 2)) &&
           is_negative(weft_tensor_operand(condition, 1));
}

/* Whether these are exponentials of differences to the maxima of rows along `contracted`, over their sums. */
static bool is_softmax(weft_tensor quotient, weft_ints contracted)
{
    weft_tensor powers = weft_tensor_operand(quotient, 0), sums = weft_tensor_operand(quotient, 1);
    if (!weft_tensor_is_op(powers, WEFT_OP_exp) ||
        !weft_tensor_same(reduced(sums, WEFT_OP_reduce_sum, contracted), powers))
        return false;
    weft_tensor distance = weft_tensor_operand(powers, 0);
    if (is_cut(distance)) distance = weft_tensor_operand(distance, 2);
    return weft_tensor_is_op(distance, WEFT_OP_sub) &&
           weft_tensor_same(reduced(weft_tensor_operand(distance, 1), WEFT_OP_reduce_max, contracted),
                            weft_tensor_operand(distance, 0));
}

/* One of the operands of a dot, whose axes these are. */
typedef struct side {
    weft_ints batch, contracted;
    weft_tensor other;
    weft_ints other_batch, other_contracted;
    size_t before; /* axes of the result before its free ones */
} side;

static side side_of(const weft_rewrite_site *site, size_t i)
{
    const weft_attr *attrs = site->node->attrs;
    side s = {attrs[i].ints,     attrs[2 + i].ints, site->inputs.items[1 - i],
              attrs[1 - i].ints, attrs[3 - i].ints, attrs[0].ints.count};
    if (i == 1) s.before = weft_tensor_rank(s.other) - s.other_contracted.count;
    return s;
}

/* Which axis of the result is `axis` of the operand, which is not contracted. */
static int64_t axis_of_result(const side *s, int64_t axis)
{
    for (size_t i = 0; i < s->batch.count; i++)
        if (s->batch.items[i] == axis) return (int64_t)i;
    int64_t free = (int64_t)s->before;
    for (int64_t i = 0; i < axis; i++)
        free += !weft_ints_contain(s->batch, (size_t)i) && !weft_ints_contain(s->contracted, (size_t)i);
    return free;
}

/* A broadcast along axes of the operand as one of `shape`, the result's; no tensor if it varies along what is
 * contracted, or comes in another order of axes. */
static weft_tensor repeat(const side *s, weft_tensor repeated, weft_shape shape)
{
    weft_tensor divisor = weft_tensor_operand(repeated, 0);
    weft_ints axes = weft_tensor_node(repeated)->attrs[1].ints;
    weft_extent extents[WEFT_MAX_RANK];
    int64_t places[WEFT_MAX_RANK];
    size_t rank = 0;
    for (size_t i = 0; i < axes.count; i++) {
        weft_extent extent = weft_tensor_extent(divisor, (int64_t)i);
        if (weft_ints_contain(s->contracted, (size_t)axes.items[i])) {
            if (!weft_extent_is(extent, 1)) return weft_site_leave();
            continue;
        }
        extents[rank] = extent;
        places[rank] = axis_of_result(s, axes.items[i]);
        if (rank > 0 && places[rank] <= places[rank - 1]) return weft_site_leave();
        rank++;
    }
    if (rank < axes.count) divisor = weft_reshape(divisor, (weft_shape){rank, extents});
    return weft_broadcast_in_dim(divisor, shape, (weft_ints){rank, places});
}

/* What the result is to be divided by, or no tensor. */
static weft_tensor divisor_of(const side *s, weft_tensor divisor, weft_shape shape)
{
    if (weft_tensor_is_op(divisor, WEFT_OP_broadcast)) return repeat(s, divisor, shape);
    if (!weft_tensor_is_op(divisor, WEFT_OP_max)) return weft_site_leave();
    weft_tensor left = divisor_of(s, weft_tensor_operand(divisor, 0), shape);
    weft_tensor right = divisor_of(s, weft_tensor_operand(divisor, 1), shape);
    return weft_tensor_is_valid(left) && weft_tensor_is_valid(right) ? weft_max(left, right) : weft_site_leave();
}

/* Whether there are as few results to divide as weights: the other operand has no more free elements than it has
 * contracted ones, as far as they are known. */
static bool pays(const side *s)
{
    weft_shape shape = weft_tensor_shape(s->other);
    int64_t terms = 1, columns = 1, extent;
    for (size_t i = 0; i < shape.rank; i++) {
        if (!weft_extent_is_static(shape.extents[i], &extent)) return true;
        bool is_contracted = weft_ints_contain(s->other_contracted, i);
        bool is_batch = weft_ints_contain(s->other_batch, i);
        int64_t *count = is_contracted ? &terms : &columns;
        if (!is_batch && __builtin_mul_overflow(*count, extent, count)) return false;
    }
    return columns <= terms;
}

static weft_tensor defer(const weft_rewrite_site *site, size_t i)
{
    const weft_usages *usages = site->context;
    weft_tensor operands[] = {site->inputs.items[0], site->inputs.items[1]}, quotient = operands[i];
    if (!weft_tensor_is_op(quotient, WEFT_OP_div) || weft_dtype_size(weft_tensor_dtype(quotient)) < 4 ||
        !weft_usages_is_read_once(usages, site->graph, site->node->inputs[i].node))
        return weft_site_leave();
    side s = side_of(site, i);
    if (!is_softmax(quotient, s.contracted) || !pays(&s)) return weft_site_leave();
    weft_tensor divisor = divisor_of(&s, weft_tensor_operand(quotient, 1), site->node->types[0].shape);
    if (!weft_tensor_is_valid(divisor)) return divisor;
    const weft_attr *attrs = site->node->attrs;
    operands[i] = weft_tensor_operand(quotient, 0);
    weft_tensor product =
        weft_dot(operands[0], operands[1], (weft_dot_axes){attrs[0].ints, attrs[1].ints, attrs[2].ints, attrs[3].ints});
    return weft_tensor_is_valid(product) ? weft_div(product, divisor) : product;
}

static weft_status *defer_division(const weft_rewrite_site *site, weft_tensor *out_values, bool *out_replaced)
{
    weft_tensor value = weft_site_leave();
    for (size_t i = 0; i < 2 && weft_op_id_of(site->node->op) == WEFT_OP_dot && !weft_tensor_is_valid(value); i++)
        value = defer(site, i);
    if (!weft_tensor_is_valid(value)) return NULL;
    out_values[0] = value;
    *out_replaced = true;
    return NULL;
}

weft_status *weft_pass_defer_division(weft_graph *graph, const weft_policy *policy, size_t count, weft_value *outputs)
{
    (void)policy;
    weft_usages usages;
    weft_status *status = weft_usages_fill(&usages, graph, count, outputs);
    if (status == NULL) status = weft_rewrite_run(graph, count, outputs, defer_division, &usages);
    weft_usages_finish(&usages);
    return status;
}
