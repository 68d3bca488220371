/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floor division and remainder. Both reduce x and d by the same steps, which keep
 *     x0 div d0 = quotient + (x div d)        x0 mod d0 = rest + scale * (x mod d)
 * until none applies: the terms that d divides move to the quotient; a quotient known to be a single number ends the
 * reduction; a common factor g of d and some terms of x is cancelled if the other terms of x lie in 0 .. g-1. Every
 * step makes x or d smaller. A step whose arithmetic overflows int64 is not taken.
 */
#include "lib/expr/node.h"

typedef struct division {
    weft_expr quotient, rest, scale;
    weft_expr x, d;
    weft_expr x0, d0; /* the loop variables in these are inside their loops */
} division;

static bool is_zero(const weft_expr_context *exprs, weft_expr e)
{
    const weft_expr_node *node = weft_expr_node_of(exprs, e);
    return weft_expr_is_point(node) && node->min == 0;
}

/* x in 0 .. d-1. */
static bool is_below(weft_expr_context *exprs, const division *s, weft_expr x, weft_expr d)
{
    if (weft_expr_node_of(exprs, x)->max < 0) return false;
    if (!weft_expr_prove(exprs, x, s->x0, s->d0)) return false;
    weft_expr gap = weft_expr_combine(exprs, d, 1, x, -1);
    return weft_expr_prove_positive(exprs, gap, s->x0, s->d0);
}

/* ---- splitting by divisible terms ---- */

/* The term of d to divide by: of the highest degree, the latest among those; {offset, NONE} when d is constant. */
static weft_term leading_term(const weft_expr_context *exprs, weft_expr d)
{
    weft_expr_view view = weft_expr_view_of(exprs, d);
    weft_term lead = {view.offset, WEFT_EXPR_NONE};
    size_t best = 0;
    for (size_t i = 0; i < view.count; i++) {
        size_t degree;
        weft_expr_factors(exprs, (weft_expr)view.terms[i].expr, &degree);
        if (degree < best) continue;
        best = degree;
        lead = view.terms[i];
    }
    return lead;
}

static weft_expr divide_terms(weft_expr_context *exprs, weft_expr x, weft_term lead)
{
    weft_expr_view view = weft_expr_view_of(exprs, x);
    bool constant = lead.expr == WEFT_EXPR_NONE;
    weft_expr quotient = weft_expr_constant(exprs, constant ? weft_expr_floor_div(view.offset, lead.coefficient) : 0);
    for (size_t i = 0; i < view.count; i++) {
        if (lead.coefficient == -1 && view.terms[i].coefficient == INT64_MIN) continue;
        if (view.terms[i].coefficient % lead.coefficient != 0) continue;
        weft_expr left = weft_expr_divide_term(exprs, (weft_expr)view.terms[i].expr, (weft_expr)lead.expr);
        if (left == WEFT_EXPR_NONE) continue;
        quotient = weft_expr_combine(exprs, quotient, 1, left, view.terms[i].coefficient / lead.coefficient);
    }
    return quotient;
}

static size_t size_of(const weft_expr_context *exprs, weft_expr e)
{
    weft_expr_view view = weft_expr_view_of(exprs, e);
    return view.count + (view.offset != 0);
}

bool weft_expr_split(weft_expr_context *exprs, weft_expr x, weft_expr d, weft_expr *out_quotient, weft_expr *out_rest)
{
    weft_term lead = leading_term(exprs, d);
    weft_expr quotient = divide_terms(exprs, x, lead), rest = x, part = quotient;
    bool one_term = size_of(exprs, d) == 1;
    for (int pass = 0; part != WEFT_EXPR_NONE && !is_zero(exprs, part) && pass < 8; pass++) {
        if (pass > 0) quotient = weft_expr_add(exprs, quotient, part);
        rest = weft_expr_sub(exprs, rest, weft_expr_mul(exprs, part, d));
        if (rest == WEFT_EXPR_NONE || one_term) break;
        part = divide_terms(exprs, rest, lead);
    }
    if (quotient == WEFT_EXPR_NONE || rest == WEFT_EXPR_NONE || is_zero(exprs, quotient)) return false;
    if (!one_term && size_of(exprs, rest) >= size_of(exprs, x)) return false;
    *out_quotient = quotient;
    *out_rest = rest;
    return true;
}

/* ---- steps ---- */

static bool step_divisible(weft_expr_context *exprs, division *s)
{
    weft_expr quotient, rest;
    if (!weft_expr_split(exprs, s->x, s->d, &quotient, &rest)) return false;
    quotient = weft_expr_add(exprs, s->quotient, quotient);
    if (quotient == WEFT_EXPR_NONE) return false;
    s->quotient = quotient;
    s->x = rest;
    return true;
}

/* Finds q with x div d = q everywhere. */
static bool find_single_quotient(weft_expr_context *exprs, const division *s, int64_t *out_q)
{
    const weft_expr_node *x = weft_expr_node_of(exprs, s->x), *d = weft_expr_node_of(exprs, s->d);
    if (weft_expr_is_point(d) && x->min != INT64_MIN && x->max != INT64_MAX) {
        *out_q = weft_expr_floor_div(x->min, d->min);
        if (*out_q == weft_expr_floor_div(x->max, d->min)) return true;
    }
    *out_q = 0;
    if (is_below(exprs, s, s->x, s->d)) return true;
    *out_q = -1;
    return x->min < 0 && is_below(exprs, s, weft_expr_add(exprs, s->x, s->d), s->d);
}

static bool step_single_quotient(weft_expr_context *exprs, division *s)
{
    int64_t q;
    if (is_zero(exprs, s->x) || !find_single_quotient(exprs, s, &q)) return false;
    weft_expr quotient = weft_expr_add(exprs, s->quotient, weft_expr_constant(exprs, q));
    weft_expr rest = weft_expr_mul(exprs, s->scale, weft_expr_combine(exprs, s->x, 1, s->d, -q));
    rest = weft_expr_add(exprs, s->rest, rest);
    if (quotient == WEFT_EXPR_NONE || rest == WEFT_EXPR_NONE) return false;
    s->quotient = quotient;
    s->rest = rest;
    s->x = weft_expr_constant(exprs, 0);
    return true;
}

/* The greatest common monomial of two terms; {0, NONE} is the neutral start and expr NONE stands for 1. */
static weft_term common_term(weft_expr_context *exprs, weft_term a, weft_term b)
{
    if (a.coefficient == 0) return b;
    weft_term common = {weft_expr_gcd(a.coefficient, b.coefficient), WEFT_EXPR_NONE};
    if (a.expr == WEFT_EXPR_NONE || b.expr == WEFT_EXPR_NONE) return common;
    size_t na, nb, i = 0, j = 0;
    const weft_term *fa = weft_expr_factors(exprs, (weft_expr)a.expr, &na);
    const weft_term *fb = weft_expr_factors(exprs, (weft_expr)b.expr, &nb);
    weft_expr product = WEFT_EXPR_NONE;
    while (i < na && j < nb) {
        if (fa[i].expr != fb[j].expr) {
            if (fa[i].expr < fb[j].expr) i++;
            else j++;
            continue;
        }
        product =
            product == WEFT_EXPR_NONE ? (weft_expr)fa[i].expr : weft_expr_mul(exprs, product, (weft_expr)fa[i].expr);
        i++, j++;
    }
    common.expr = product;
    return common;
}

/* The greatest common monomial of all terms of d. */
static weft_term content_of(weft_expr_context *exprs, weft_expr d)
{
    weft_expr_view view = weft_expr_view_of(exprs, d);
    weft_term common = {0, WEFT_EXPR_NONE};
    for (size_t i = 0; i < view.count; i++) common = common_term(exprs, common, view.terms[i]);
    if (view.offset != 0) common = common_term(exprs, common, (weft_term){view.offset, WEFT_EXPR_NONE});
    return common;
}

static bool reduce_by(weft_expr_context *exprs, division *s, weft_term factor)
{
    weft_expr one = weft_expr_constant(exprs, 1), a, b, low, none;
    weft_expr g = weft_expr_combine(exprs, factor.expr == WEFT_EXPR_NONE ? one : (weft_expr)factor.expr,
                                    factor.coefficient, one, 0);
    if (g == WEFT_EXPR_NONE || !weft_expr_prove_positive(exprs, g, s->x0, s->d0)) return false;
    if (!weft_expr_split(exprs, s->x, g, &a, &low) || !is_below(exprs, s, low, g)) return false;
    if (!weft_expr_split(exprs, s->d, g, &b, &none) || !is_zero(exprs, none)) return false;
    weft_expr rest = weft_expr_add(exprs, s->rest, weft_expr_mul(exprs, s->scale, low));
    weft_expr scale = weft_expr_mul(exprs, s->scale, g);
    if (rest == WEFT_EXPR_NONE || scale == WEFT_EXPR_NONE) return false;
    s->rest = rest;
    s->scale = scale;
    s->x = a;
    s->d = b;
    return true;
}

static bool step_common_factor(weft_expr_context *exprs, division *s)
{
    weft_term content = content_of(exprs, s->d), tried[8];
    weft_expr_view view = weft_expr_view_of(exprs, s->x);
    size_t count = 0;
    for (size_t i = 0; i < view.count && count < 8; i++) {
        weft_term g = common_term(exprs, content, view.terms[i]);
        bool known = g.coefficient <= 1 && g.expr == WEFT_EXPR_NONE;
        for (size_t j = 0; j < count; j++) known |= tried[j].coefficient == g.coefficient && tried[j].expr == g.expr;
        if (known) continue;
        if (reduce_by(exprs, s, g)) return true;
        tried[count++] = g;
    }
    return false;
}

/* x div -d = -x div d and x mod -d = -(-x mod d). */
static bool step_sign(weft_expr_context *exprs, division *s)
{
    weft_expr zero = weft_expr_constant(exprs, 0);
    if (weft_expr_node_of(exprs, s->d)->max >= 0) return false;
    weft_expr x = weft_expr_sub(exprs, zero, s->x), d = weft_expr_sub(exprs, zero, s->d);
    if (x == WEFT_EXPR_NONE || d == WEFT_EXPR_NONE) return false;
    s->x = x;
    s->d = d;
    s->scale = weft_expr_sub(exprs, zero, s->scale);
    return true;
}

static division reduce(weft_expr_context *exprs, weft_expr x, weft_expr d)
{
    weft_expr zero = weft_expr_constant(exprs, 0), one = weft_expr_constant(exprs, 1);
    division s = {.quotient = zero, .rest = zero, .scale = one, .x = x, .d = d, .x0 = x, .d0 = d};
    step_sign(exprs, &s);
    if (!weft_expr_prove_positive(exprs, s.d, x, d)) return s;
    bool reduced = true;
    for (int i = 0; i < 64 && reduced && !is_zero(exprs, s.x); i++)
        reduced = step_divisible(exprs, &s) || step_single_quotient(exprs, &s) || step_common_factor(exprs, &s);
    return s;
}

/* ---- the reduced division ---- */

static weft_expr intern_pair(weft_expr_context *exprs, weft_expr_kind kind, weft_expr x, weft_expr d)
{
    weft_expr_list list = weft_expr_begin(exprs, kind, 0);
    weft_expr_push(exprs, &list, 1, x);
    weft_expr_push(exprs, &list, 1, d);
    return weft_expr_intern(exprs, &list);
}

/* (a div b + k) div d = (a + k*b) div (b*d). */
static weft_expr div_of_div(weft_expr_context *exprs, weft_expr x, weft_expr d)
{
    weft_expr_view view = weft_expr_view_of(exprs, x);
    if (view.count != 1 || view.terms[0].coefficient != 1) return WEFT_EXPR_NONE;
    const weft_expr_node *inner = weft_expr_node_of(exprs, (weft_expr)view.terms[0].expr);
    if (inner->kind != WEFT_EXPR_DIV) return WEFT_EXPR_NONE;
    weft_expr a = (weft_expr)inner->terms[0].expr, b = (weft_expr)inner->terms[1].expr;
    if (!weft_expr_prove_positive(exprs, b, x, d)) return WEFT_EXPR_NONE;
    a = weft_expr_combine(exprs, a, 1, b, view.offset);
    b = weft_expr_mul(exprs, b, d);
    return a == WEFT_EXPR_NONE || b == WEFT_EXPR_NONE ? WEFT_EXPR_NONE : weft_expr_div(exprs, a, b);
}

/* (y mod (a*d)) div d = (y div d) mod a. */
static weft_expr div_of_mod(weft_expr_context *exprs, weft_expr x, weft_expr d)
{
    const weft_expr_node *inner = weft_expr_node_of(exprs, x);
    weft_expr a, none;
    if (inner->kind != WEFT_EXPR_MOD) return WEFT_EXPR_NONE;
    if (!weft_expr_split(exprs, (weft_expr)inner->terms[1].expr, d, &a, &none) || !is_zero(exprs, none) ||
        !weft_expr_prove_positive(exprs, a, x, d))
        return WEFT_EXPR_NONE;
    return weft_expr_mod(exprs, weft_expr_div(exprs, (weft_expr)inner->terms[0].expr, d), a);
}

/* c*f*(y mod m) mod d = c*f*y mod d where d divides c*f*m. */
static weft_expr mod_of_mod(weft_expr_context *exprs, weft_expr x, weft_expr d)
{
    weft_expr_view view = weft_expr_view_of(exprs, x);
    size_t count;
    if (view.count != 1 || view.offset != 0) return WEFT_EXPR_NONE;
    const weft_term *factors = weft_expr_factors(exprs, (weft_expr)view.terms[0].expr, &count);
    for (size_t i = 0; i < count; i++) {
        const weft_expr_node *inner = weft_expr_node_of(exprs, (weft_expr)factors[i].expr);
        if (inner->kind != WEFT_EXPR_MOD) continue;
        weft_expr left = weft_expr_divide_term(exprs, (weft_expr)view.terms[0].expr, inner->id), q, none;
        left = weft_expr_combine(exprs, left, view.terms[0].coefficient, d, 0);
        weft_expr period = weft_expr_mul(exprs, left, (weft_expr)inner->terms[1].expr);
        if (period == WEFT_EXPR_NONE || !weft_expr_split(exprs, period, d, &q, &none) || !is_zero(exprs, none))
            continue;
        return weft_expr_mod(exprs, weft_expr_mul(exprs, left, (weft_expr)inner->terms[0].expr), d);
    }
    return WEFT_EXPR_NONE;
}

static weft_expr finish_div(weft_expr_context *exprs, const division *s)
{
    if (!weft_expr_prove_positive(exprs, s->d, s->x0, s->d0)) return WEFT_EXPR_NONE;
    weft_expr e = div_of_div(exprs, s->x, s->d);
    if (e == WEFT_EXPR_NONE) e = weft_expr_divide_choice(exprs, s->x, s->d);
    return e != WEFT_EXPR_NONE ? e : div_of_mod(exprs, s->x, s->d);
}

static weft_expr finish_mod(weft_expr_context *exprs, const division *s)
{
    const weft_expr_node *x = weft_expr_node_of(exprs, s->x), *d = weft_expr_node_of(exprs, s->d);
    if (weft_expr_is_point(d) && x->divisor % d->min == 0) return weft_expr_constant(exprs, 0);
    if (!weft_expr_prove_positive(exprs, s->d, s->x0, s->d0)) return WEFT_EXPR_NONE;
    return mod_of_mod(exprs, s->x, s->d);
}

/* A new MOD gets its quotient at once: sums look there for the terms that complete it. */
static weft_expr intern_mod(weft_expr_context *exprs, weft_expr x, weft_expr d)
{
    size_t before = exprs->count;
    weft_expr e = intern_pair(exprs, WEFT_EXPR_MOD, x, d);
    weft_expr_node *node = weft_expr_node_of(exprs, e);
    if (e == WEFT_EXPR_NONE || exprs->count == before || node->kind != WEFT_EXPR_MOD) return e;
    exprs->speculating++;
    node->learning = true;
    node->quotient = weft_expr_div(exprs, x, d);
    node->whole = weft_expr_mul(exprs, d, node->quotient);
    node->learning = false;
    exprs->speculating--;
    weft_expr_view view = weft_expr_view_of(exprs, node->quotient);
    for (size_t i = 0; i < view.count; i++) weft_expr_node_of(exprs, (weft_expr)view.terms[i].expr)->in_quotient = true;
    return e;
}

static weft_expr divide_constants(weft_expr_context *exprs, weft_expr_kind kind, int64_t x, int64_t d)
{
    if (kind == WEFT_EXPR_MOD) {
        int64_t rest = d == -1 ? 0 : x % d;
        return weft_expr_constant(exprs, rest != 0 && (rest < 0) != (d < 0) ? rest + d : rest);
    }
    if (x == INT64_MIN && d == -1) return weft_expr_overflow(exprs);
    return weft_expr_constant(exprs, weft_expr_floor_div(x, d));
}

static weft_expr divide_simply(weft_expr_context *exprs, weft_expr_kind kind, weft_expr x, weft_expr d)
{
    exprs->speculating++;
    division s = reduce(exprs, x, d);
    bool done = is_zero(exprs, s.x);
    weft_expr e = done ? weft_expr_constant(exprs, 0) : WEFT_EXPR_NONE;
    if (!done) e = kind == WEFT_EXPR_DIV ? finish_div(exprs, &s) : finish_mod(exprs, &s);
    if (e == WEFT_EXPR_NONE)
        e = kind == WEFT_EXPR_DIV ? intern_pair(exprs, kind, s.x, s.d) : intern_mod(exprs, s.x, s.d);
    if (kind == WEFT_EXPR_DIV) e = weft_expr_add(exprs, s.quotient, e);
    else e = weft_expr_add(exprs, s.rest, weft_expr_mul(exprs, s.scale, e));
    exprs->speculating--;
    return e;
}

static weft_expr divide(weft_expr_context *exprs, weft_expr_kind kind, weft_expr x, weft_expr d)
{
    x = weft_expr_settle(exprs, x);
    d = weft_expr_settle(exprs, d);
    if (x == WEFT_EXPR_NONE || d == WEFT_EXPR_NONE) return WEFT_EXPR_NONE;
    const weft_expr_node *nx = weft_expr_node_of(exprs, x), *nd = weft_expr_node_of(exprs, d);
    if (nd->kind == WEFT_EXPR_CONSTANT && nd->value == 0)
        return weft_expr_fail(exprs, WEFT_INVALID_ARGUMENT, "an extent expression is divided by 0");
    if (nx->kind == WEFT_EXPR_CONSTANT && nd->kind == WEFT_EXPR_CONSTANT)
        return divide_constants(exprs, kind, nx->value, nd->value);
    weft_expr e = WEFT_EXPR_NONE;
    if (exprs->depth < WEFT_EXTENT_MAX_DEPTH) {
        exprs->depth++;
        e = divide_simply(exprs, kind, x, d);
        exprs->depth--;
    }
    return e == WEFT_EXPR_NONE ? intern_pair(exprs, kind, x, d) : e;
}

weft_expr weft_expr_div(weft_expr_context *exprs, weft_expr x, weft_expr d)
{
    return divide(exprs, WEFT_EXPR_DIV, x, d);
}

weft_expr weft_expr_mod(weft_expr_context *exprs, weft_expr x, weft_expr d)
{
    return divide(exprs, WEFT_EXPR_MOD, x, d);
}
