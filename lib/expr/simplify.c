/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and products. */
#include "lib/expr/node.h"

#include <inttypes.h>

weft_expr weft_expr_settle(weft_expr_context *exprs, weft_expr e)
{
    const weft_expr_node *node = weft_expr_node_of(exprs, e);
    if (node->kind != WEFT_EXPR_SYMBOL || !weft_expr_is_point(node)) return e;
    return weft_expr_constant(exprs, node->min);
}

int64_t weft_expr_coefficient(weft_expr_view view, uint64_t expr)
{
    size_t low = 0, high = view.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (view.terms[middle].expr < expr) low = middle + 1;
        else high = middle;
    }
    return low < view.count && view.terms[low].expr == expr ? view.terms[low].coefficient : 0;
}

static void push_scaled(weft_expr_context *exprs, weft_expr_list *list, weft_term term, int64_t factor)
{
    int64_t coefficient;
    if (__builtin_mul_overflow(term.coefficient, factor, &coefficient)) {
        weft_expr_overflow(exprs);
        list->failed = true;
        return;
    }
    weft_expr_push(exprs, list, coefficient, (weft_expr)term.expr);
}

/* Terms in order of both views, so that sorting them costs nothing. */
static void push_merged(weft_expr_context *exprs, weft_expr_list *list, weft_expr_view a, int64_t ca, weft_expr_view b,
                        int64_t cb)
{
    size_t i = 0, j = 0;
    while (i < a.count || j < b.count) {
        bool first = j == b.count || (i < a.count && a.terms[i].expr <= b.terms[j].expr);
        push_scaled(exprs, list, first ? a.terms[i++] : b.terms[j++], first ? ca : cb);
    }
}

static weft_expr finish_sum(weft_expr_context *exprs, weft_expr_list *list)
{
    return weft_expr_absorb(exprs, weft_expr_improve(exprs, weft_expr_sum(exprs, list)));
}

weft_expr weft_expr_combine(weft_expr_context *exprs, weft_expr a, int64_t ca, weft_expr b, int64_t cb)
{
    a = weft_expr_settle(exprs, a);
    b = weft_expr_settle(exprs, b);
    if (a == WEFT_EXPR_NONE || b == WEFT_EXPR_NONE) return WEFT_EXPR_NONE;
    weft_expr_view va = weft_expr_view_of(exprs, a), vb = weft_expr_view_of(exprs, b);
    int64_t oa, ob, offset;
    if (__builtin_mul_overflow(va.offset, ca, &oa) || __builtin_mul_overflow(vb.offset, cb, &ob) ||
        __builtin_add_overflow(oa, ob, &offset))
        return weft_expr_overflow(exprs);
    weft_expr_list list = weft_expr_begin(exprs, WEFT_EXPR_SUM, offset);
    push_merged(exprs, &list, va, ca, vb, cb);
    return finish_sum(exprs, &list);
}

weft_expr weft_expr_add(weft_expr_context *exprs, weft_expr a, weft_expr b)
{
    return weft_expr_combine(exprs, a, 1, b, 1);
}

weft_expr weft_expr_sub(weft_expr_context *exprs, weft_expr a, weft_expr b)
{
    return weft_expr_combine(exprs, a, 1, b, -1);
}

/* ---- products ---- */

const weft_term *weft_expr_factors(const weft_expr_context *exprs, weft_expr term, size_t *out_count)
{
    const weft_expr_node *node = weft_expr_node_of(exprs, term);
    bool product = node->kind == WEFT_EXPR_PRODUCT;
    *out_count = product ? node->count : 1;
    return product ? node->terms : &node->self;
}

static weft_expr mul_terms(weft_expr_context *exprs, weft_expr a, weft_expr b)
{
    size_t na, nb, i = 0, j = 0;
    const weft_term *fa = weft_expr_factors(exprs, a, &na), *fb = weft_expr_factors(exprs, b, &nb);
    weft_expr_list list = weft_expr_begin(exprs, WEFT_EXPR_PRODUCT, 0);
    while (i < na || j < nb) {
        bool first = j == nb || (i < na && fa[i].expr <= fb[j].expr);
        weft_expr_push(exprs, &list, 1, (weft_expr)(first ? fa[i++] : fb[j++]).expr);
    }
    return weft_expr_intern(exprs, &list);
}

/* A product whose only possible value is one number comes back as that constant. */
static void push_product(weft_expr_context *exprs, weft_expr_list *list, int64_t coefficient, weft_expr product)
{
    const weft_expr_node *node = weft_expr_node_of(exprs, product);
    if (product == WEFT_EXPR_NONE || node->kind != WEFT_EXPR_CONSTANT) {
        weft_expr_push(exprs, list, coefficient, product);
        return;
    }
    int64_t value;
    if (!list->failed && !__builtin_mul_overflow(coefficient, node->value, &value) &&
        !__builtin_add_overflow(exprs->scratch[list->mark].coefficient, value, &value)) {
        exprs->scratch[list->mark].coefficient = value;
        return;
    }
    weft_expr_overflow(exprs);
    list->failed = true;
}

static void push_row(weft_expr_context *exprs, weft_expr_list *list, weft_term term, weft_expr_view b)
{
    if (b.offset != 0) push_scaled(exprs, list, term, b.offset);
    for (size_t j = 0; j < b.count && !list->failed; j++) {
        int64_t coefficient;
        if (__builtin_mul_overflow(term.coefficient, b.terms[j].coefficient, &coefficient)) {
            weft_expr_overflow(exprs);
            list->failed = true;
            return;
        }
        push_product(exprs, list, coefficient, mul_terms(exprs, (weft_expr)term.expr, (weft_expr)b.terms[j].expr));
    }
}

weft_expr weft_expr_mul(weft_expr_context *exprs, weft_expr a, weft_expr b)
{
    a = weft_expr_settle(exprs, a);
    b = weft_expr_settle(exprs, b);
    if (a == WEFT_EXPR_NONE || b == WEFT_EXPR_NONE) return WEFT_EXPR_NONE;
    weft_expr_view va = weft_expr_view_of(exprs, a), vb = weft_expr_view_of(exprs, b);
    if (va.count == 0) return weft_expr_combine(exprs, b, va.offset, a, 0);
    if (vb.count == 0) return weft_expr_combine(exprs, a, vb.offset, b, 0);
    if (va.count * vb.count > WEFT_EXTENT_MAX_TERMS) {
        if (exprs->speculating > 0) return WEFT_EXPR_NONE;
        return weft_expr_fail(exprs, WEFT_OUT_OF_RANGE,
                              "a product of extent expressions has %zu terms, where %d are the most",
                              va.count * vb.count, WEFT_EXTENT_MAX_TERMS);
    }
    int64_t offset;
    if (__builtin_mul_overflow(va.offset, vb.offset, &offset)) return weft_expr_overflow(exprs);
    weft_expr_list list = weft_expr_begin(exprs, WEFT_EXPR_SUM, offset);
    for (size_t i = 0; i < va.count && !list.failed; i++) push_row(exprs, &list, va.terms[i], vb);
    for (size_t j = 0; j < vb.count && va.offset != 0; j++) push_scaled(exprs, &list, vb.terms[j], va.offset);
    return finish_sum(exprs, &list);
}

weft_expr weft_expr_divide_term(weft_expr_context *exprs, weft_expr term, weft_expr divisor)
{
    if (divisor == WEFT_EXPR_NONE) return term;
    size_t nt, nd, i = 0, j = 0, left = 0;
    const weft_term *ft = weft_expr_factors(exprs, term, &nt), *fd = weft_expr_factors(exprs, divisor, &nd);
    if (nd > nt) return WEFT_EXPR_NONE;
    uint64_t last = 0;
    weft_expr_list list = weft_expr_begin(exprs, WEFT_EXPR_PRODUCT, 0);
    for (; i < nt; i++) {
        if (j < nd && ft[i].expr == fd[j].expr) {
            j++;
            continue;
        }
        weft_expr_push(exprs, &list, 1, (weft_expr)ft[i].expr);
        last = ft[i].expr;
        left++;
    }
    if (j == nd && left > 1) return weft_expr_intern(exprs, &list);
    list.failed = true;
    weft_expr_intern(exprs, &list);
    if (j < nd) return WEFT_EXPR_NONE;
    return left == 1 ? (weft_expr)last : weft_expr_constant(exprs, 1);
}

static bool has_factor(const weft_expr_context *exprs, weft_expr term, weft_expr atom)
{
    size_t count;
    const weft_term *factors = weft_expr_factors(exprs, term, &count);
    for (size_t i = 0; i < count; i++)
        if (factors[i].expr == atom) return true;
    return false;
}

void weft_expr_cofactor(weft_expr_context *exprs, weft_expr e, weft_expr atom, weft_expr *out_cofactor,
                        weft_expr *out_rest)
{
    weft_expr_view view = weft_expr_view_of(exprs, e);
    weft_expr_list list = weft_expr_begin(exprs, WEFT_EXPR_SUM, 0);
    for (size_t i = 0; i < view.count; i++)
        if (has_factor(exprs, (weft_expr)view.terms[i].expr, atom))
            push_product(exprs, &list, view.terms[i].coefficient,
                         weft_expr_divide_term(exprs, (weft_expr)view.terms[i].expr, atom));
    *out_cofactor = weft_expr_sum(exprs, &list);
    list = weft_expr_begin(exprs, WEFT_EXPR_SUM, view.offset);
    for (size_t i = 0; i < view.count; i++)
        if (!has_factor(exprs, (weft_expr)view.terms[i].expr, atom))
            weft_expr_push(exprs, &list, view.terms[i].coefficient, (weft_expr)view.terms[i].expr);
    *out_rest = weft_expr_sum(exprs, &list);
}
