/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floor division and remainder. Both reduce x and d by the same steps, which keep
 *     x0 div d0 = quotient + (x div d)        x0 mod d0 = rest + scale * (x mod d)
 * until none applies: the terms that d divides move to the quotient; a quotient known to be a single number ends the
 * reduction; a common factor g of d and some terms of x is cancelled if the other terms of x lie in 0 .. g-1. Every
 * step makes x or d smaller. A step whose arithmetic overflows int64 is not taken.
 */
#include "lib/expr/internal.h"

typedef struct division {
    weft_expr quotient, rest, scale;
    weft_expr x, d;
    weft_expr x0, d0; /* the loop variables in these are inside their loops */
} division;

static bool is_zero(const weft_expr_context *extents, weft_expr e)
{
    const weft_expr_node *node = weft_expr_node_of(extents, e);
    return weft_expr_is_point(node) && node->min == 0;
}

/* x in 0 .. d-1. */
static bool is_below(weft_expr_context *extents, const division *s, weft_expr x, weft_expr d)
{
    if (weft_expr_node_of(extents, x)->max < 0) return false;
    if (!weft_expr_prove(extents, x, s->x0, s->d0)) return false;
    weft_expr gap = weft_expr_combine(extents, d, 1, x, -1);
    return weft_expr_prove_positive(extents, gap, s->x0, s->d0);
}

/* ---- splitting by divisible terms ---- */

/* The term of d to divide by: of the highest degree, the latest among those; {offset, NONE} when d is constant. */
static weft_term leading_term(const weft_expr_context *extents, weft_expr d)
{
    weft_expr_view view = weft_expr_view_of(extents, d);
    weft_term lead = {view.offset, WEFT_EXPR_NONE};
    size_t best = 0;
    for (size_t i = 0; i < view.count; i++) {
        size_t degree;
        weft_expr_factors(extents, (weft_expr)view.terms[i].expr, &degree);
        if (degree < best) continue;
        best = degree;
        lead = view.terms[i];
    }
    return lead;
}

static weft_expr divide_terms(weft_expr_context *extents, weft_expr x, weft_term lead)
{
    weft_expr_view view = weft_expr_view_of(extents, x);
    bool constant = lead.expr == WEFT_EXPR_NONE;
    weft_expr quotient = weft_expr_constant(extents, constant ? weft_expr_floor_div(view.offset, lead.coefficient) : 0);
    for (size_t i = 0; i < view.count; i++) {
        if (lead.coefficient == -1 && view.terms[i].coefficient == INT64_MIN) continue;
        if (view.terms[i].coefficient % lead.coefficient != 0) continue;
        weft_expr left = weft_expr_divide_term(extents, (weft_expr)view.terms[i].expr, (weft_expr)lead.expr);
        if (left == WEFT_EXPR_NONE) continue;
        quotient = weft_expr_combine(extents, quotient, 1, left, view.terms[i].coefficient / lead.coefficient);
    }
    return quotient;
}

static size_t size_of(const weft_expr_context *extents, weft_expr e)
{
    weft_expr_view view = weft_expr_view_of(extents, e);
    return view.count + (view.offset != 0);
}

bool weft_expr_split(weft_expr_context *extents, weft_expr x, weft_expr d, weft_expr *out_quotient, weft_expr *out_rest)
{
    weft_term lead = leading_term(extents, d);
    weft_expr quotient = divide_terms(extents, x, lead), rest = x, part = quotient;
    bool one_term = size_of(extents, d) == 1;
    for (int pass = 0; part != WEFT_EXPR_NONE && !is_zero(extents, part) && pass < 8; pass++) {
        if (pass > 0) quotient = weft_expr_add(extents, quotient, part);
        rest = weft_expr_sub(extents, rest, weft_expr_mul(extents, part, d));
        if (rest == WEFT_EXPR_NONE || one_term) break;
        part = divide_terms(extents, rest, lead);
    }
    if (quotient == WEFT_EXPR_NONE || rest == WEFT_EXPR_NONE || is_zero(extents, quotient)) return false;
    if (!one_term && size_of(extents, rest) >= size_of(extents, x)) return false;
    *out_quotient = quotient;
    *out_rest = rest;
    return true;
}

/* ---- steps ---- */

static bool step_divisible(weft_expr_context *extents, division *s)
{
    weft_expr quotient, rest;
    if (!weft_expr_split(extents, s->x, s->d, &quotient, &rest)) return false;
    quotient = weft_expr_add(extents, s->quotient, quotient);
    if (quotient == WEFT_EXPR_NONE) return false;
    s->quotient = quotient;
    s->x = rest;
    return true;
}

/* Finds q with x div d = q everywhere. */
static bool find_single_quotient(weft_expr_context *extents, const division *s, int64_t *out_q)
{
    const weft_expr_node *x = weft_expr_node_of(extents, s->x), *d = weft_expr_node_of(extents, s->d);
    if (weft_expr_is_point(d) && x->min != INT64_MIN && x->max != INT64_MAX) {
        *out_q = weft_expr_floor_div(x->min, d->min);
        if (*out_q == weft_expr_floor_div(x->max, d->min)) return true;
    }
    *out_q = 0;
    if (is_below(extents, s, s->x, s->d)) return true;
    *out_q = -1;
    return x->min < 0 && is_below(extents, s, weft_expr_add(extents, s->x, s->d), s->d);
}

static bool step_single_quotient(weft_expr_context *extents, division *s)
{
    int64_t q;
    if (is_zero(extents, s->x) || !find_single_quotient(extents, s, &q)) return false;
    weft_expr quotient = weft_expr_add(extents, s->quotient, weft_expr_constant(extents, q));
    weft_expr rest = weft_expr_mul(extents, s->scale, weft_expr_combine(extents, s->x, 1, s->d, -q));
    rest = weft_expr_add(extents, s->rest, rest);
    if (quotient == WEFT_EXPR_NONE || rest == WEFT_EXPR_NONE) return false;
    s->quotient = quotient;
    s->rest = rest;
    s->x = weft_expr_constant(extents, 0);
    return true;
}

/* The greatest common monomial of two terms; {0, NONE} is the neutral start and expr NONE stands for 1. */
static weft_term common_term(weft_expr_context *extents, weft_term a, weft_term b)
{
    if (a.coefficient == 0) return b;
    weft_term common = {weft_expr_gcd(a.coefficient, b.coefficient), WEFT_EXPR_NONE};
    if (a.expr == WEFT_EXPR_NONE || b.expr == WEFT_EXPR_NONE) return common;
    size_t na, nb, i = 0, j = 0;
    const weft_term *fa = weft_expr_factors(extents, (weft_expr)a.expr, &na);
    const weft_term *fb = weft_expr_factors(extents, (weft_expr)b.expr, &nb);
    weft_expr product = WEFT_EXPR_NONE;
    while (i < na && j < nb) {
        if (fa[i].expr != fb[j].expr) {
            if (fa[i].expr < fb[j].expr) i++;
            else j++;
            continue;
        }
        product =
            product == WEFT_EXPR_NONE ? (weft_expr)fa[i].expr : weft_expr_mul(extents, product, (weft_expr)fa[i].expr);
        i++, j++;
    }
    common.expr = product;
    return common;
}

/* The greatest common monomial of all terms of d. */
static weft_term content_of(weft_expr_context *extents, weft_expr d)
{
    weft_expr_view view = weft_expr_view_of(extents, d);
    weft_term common = {0, WEFT_EXPR_NONE};
    for (size_t i = 0; i < view.count; i++) common = common_term(extents, common, view.terms[i]);
    if (view.offset != 0) common = common_term(extents, common, (weft_term){view.offset, WEFT_EXPR_NONE});
    return common;
}

static bool reduce_by(weft_expr_context *extents, division *s, weft_term factor)
{
    weft_expr one = weft_expr_constant(extents, 1), a, b, low, none;
    weft_expr g = weft_expr_combine(extents, factor.expr == WEFT_EXPR_NONE ? one : (weft_expr)factor.expr,
                                    factor.coefficient, one, 0);
    if (g == WEFT_EXPR_NONE || !weft_expr_prove_positive(extents, g, s->x0, s->d0)) return false;
    if (!weft_expr_split(extents, s->x, g, &a, &low) || !is_below(extents, s, low, g)) return false;
    if (!weft_expr_split(extents, s->d, g, &b, &none) || !is_zero(extents, none)) return false;
    weft_expr rest = weft_expr_add(extents, s->rest, weft_expr_mul(extents, s->scale, low));
    weft_expr scale = weft_expr_mul(extents, s->scale, g);
    if (rest == WEFT_EXPR_NONE || scale == WEFT_EXPR_NONE) return false;
    s->rest = rest;
    s->scale = scale;
    s->x = a;
    s->d = b;
    return true;
}

static bool step_common_factor(weft_expr_context *extents, division *s)
{
    weft_term content = content_of(extents, s->d), tried[8];
    weft_expr_view view = weft_expr_view_of(extents, s->x);
    size_t count = 0;
    for (size_t i = 0; i < view.count && count < 8; i++) {
        weft_term g = common_term(extents, content, view.terms[i]);
        bool known = g.coefficient <= 1 && g.expr == WEFT_EXPR_NONE;
        for (size_t j = 0; j < count; j++) known |= tried[j].coefficient == g.coefficient && tried[j].expr == g.expr;
        if (known) continue;
        if (reduce_by(extents, s, g)) return true;
        tried[count++] = g;
    }
    return false;
}

/* x div -d = -x div d and x mod -d = -(-x mod d). */
static bool step_sign(weft_expr_context *extents, division *s)
{
    weft_expr zero = weft_expr_constant(extents, 0);
    if (weft_expr_node_of(extents, s->d)->max >= 0) return false;
    weft_expr x = weft_expr_sub(extents, zero, s->x), d = weft_expr_sub(extents, zero, s->d);
    if (x == WEFT_EXPR_NONE || d == WEFT_EXPR_NONE) return false;
    s->x = x;
    s->d = d;
    s->scale = weft_expr_sub(extents, zero, s->scale);
    return true;
}

static division reduce(weft_expr_context *extents, weft_expr x, weft_expr d)
{
    weft_expr zero = weft_expr_constant(extents, 0), one = weft_expr_constant(extents, 1);
    division s = {.quotient = zero, .rest = zero, .scale = one, .x = x, .d = d, .x0 = x, .d0 = d};
    step_sign(extents, &s);
    if (!weft_expr_prove_positive(extents, s.d, x, d)) return s;
    bool reduced = true;
    for (int i = 0; i < 64 && reduced && !is_zero(extents, s.x); i++)
        reduced = step_divisible(extents, &s) || step_single_quotient(extents, &s) || step_common_factor(extents, &s);
    return s;
}

/* ---- the reduced division ---- */

static weft_expr intern_pair(weft_expr_context *extents, weft_expr_kind kind, weft_expr x, weft_expr d)
{
    weft_expr_list list = weft_expr_begin(extents, kind, 0);
    weft_expr_push(extents, &list, 1, x);
    weft_expr_push(extents, &list, 1, d);
    return weft_expr_intern(extents, &list);
}

/* (a div b + k) div d = (a + k*b) div (b*d). */
static weft_expr div_of_div(weft_expr_context *extents, weft_expr x, weft_expr d)
{
    weft_expr_view view = weft_expr_view_of(extents, x);
    if (view.count != 1 || view.terms[0].coefficient != 1) return WEFT_EXPR_NONE;
    const weft_expr_node *inner = weft_expr_node_of(extents, (weft_expr)view.terms[0].expr);
    if (inner->kind != WEFT_EXPR_DIV) return WEFT_EXPR_NONE;
    weft_expr a = (weft_expr)inner->terms[0].expr, b = (weft_expr)inner->terms[1].expr;
    if (!weft_expr_prove_positive(extents, b, x, d)) return WEFT_EXPR_NONE;
    a = weft_expr_combine(extents, a, 1, b, view.offset);
    b = weft_expr_mul(extents, b, d);
    return a == WEFT_EXPR_NONE || b == WEFT_EXPR_NONE ? WEFT_EXPR_NONE : weft_expr_div(extents, a, b);
}

/* (y mod (a*d)) div d = (y div d) mod a. */
static weft_expr div_of_mod(weft_expr_context *extents, weft_expr x, weft_expr d)
{
    const weft_expr_node *inner = weft_expr_node_of(extents, x);
    weft_expr a, none;
    if (inner->kind != WEFT_EXPR_MOD) return WEFT_EXPR_NONE;
    if (!weft_expr_split(extents, (weft_expr)inner->terms[1].expr, d, &a, &none) || !is_zero(extents, none) ||
        !weft_expr_prove_positive(extents, a, x, d))
        return WEFT_EXPR_NONE;
    return weft_expr_mod(extents, weft_expr_div(extents, (weft_expr)inner->terms[0].expr, d), a);
}

/* c*f*(y mod m) mod d = c*f*y mod d where d divides c*f*m. */
static weft_expr mod_of_mod(weft_expr_context *extents, weft_expr x, weft_expr d)
{
    weft_expr_view view = weft_expr_view_of(extents, x);
    size_t count;
    if (view.count != 1 || view.offset != 0) return WEFT_EXPR_NONE;
    const weft_term *factors = weft_expr_factors(extents, (weft_expr)view.terms[0].expr, &count);
    for (size_t i = 0; i < count; i++) {
        const weft_expr_node *inner = weft_expr_node_of(extents, (weft_expr)factors[i].expr);
        if (inner->kind != WEFT_EXPR_MOD) continue;
        weft_expr left = weft_expr_divide_term(extents, (weft_expr)view.terms[0].expr, inner->id), q, none;
        left = weft_expr_combine(extents, left, view.terms[0].coefficient, d, 0);
        weft_expr period = weft_expr_mul(extents, left, (weft_expr)inner->terms[1].expr);
        if (period == WEFT_EXPR_NONE || !weft_expr_split(extents, period, d, &q, &none) || !is_zero(extents, none))
            continue;
        return weft_expr_mod(extents, weft_expr_mul(extents, left, (weft_expr)inner->terms[0].expr), d);
    }
    return WEFT_EXPR_NONE;
}

static weft_expr finish_div(weft_expr_context *extents, const division *s)
{
    if (!weft_expr_prove_positive(extents, s->d, s->x0, s->d0)) return WEFT_EXPR_NONE;
    weft_expr e = div_of_div(extents, s->x, s->d);
    if (e == WEFT_EXPR_NONE) e = weft_expr_divide_choice(extents, s->x, s->d);
    return e != WEFT_EXPR_NONE ? e : div_of_mod(extents, s->x, s->d);
}

static weft_expr finish_mod(weft_expr_context *extents, const division *s)
{
    const weft_expr_node *x = weft_expr_node_of(extents, s->x), *d = weft_expr_node_of(extents, s->d);
    if (weft_expr_is_point(d) && x->divisor % d->min == 0) return weft_expr_constant(extents, 0);
    if (!weft_expr_prove_positive(extents, s->d, s->x0, s->d0)) return WEFT_EXPR_NONE;
    return mod_of_mod(extents, s->x, s->d);
}

/* A new MOD gets its quotient at once: sums look there for the terms that complete it. */
static weft_expr intern_mod(weft_expr_context *extents, weft_expr x, weft_expr d)
{
    size_t before = extents->count;
    weft_expr e = intern_pair(extents, WEFT_EXPR_MOD, x, d);
    weft_expr_node *node = weft_expr_node_of(extents, e);
    if (e == WEFT_EXPR_NONE || extents->count == before || node->kind != WEFT_EXPR_MOD) return e;
    extents->speculating++;
    node->learning = true;
    node->quotient = weft_expr_div(extents, x, d);
    node->whole = weft_expr_mul(extents, d, node->quotient);
    node->learning = false;
    extents->speculating--;
    weft_expr_view view = weft_expr_view_of(extents, node->quotient);
    for (size_t i = 0; i < view.count; i++)
        weft_expr_node_of(extents, (weft_expr)view.terms[i].expr)->in_quotient = true;
    return e;
}

static weft_expr divide_constants(weft_expr_context *extents, weft_expr_kind kind, int64_t x, int64_t d)
{
    if (kind == WEFT_EXPR_MOD) {
        int64_t rest = d == -1 ? 0 : x % d;
        return weft_expr_constant(extents, rest != 0 && (rest < 0) != (d < 0) ? rest + d : rest);
    }
    if (x == INT64_MIN && d == -1) return weft_expr_overflow(extents);
    return weft_expr_constant(extents, weft_expr_floor_div(x, d));
}

static weft_expr divide_simply(weft_expr_context *extents, weft_expr_kind kind, weft_expr x, weft_expr d)
{
    extents->speculating++;
    division s = reduce(extents, x, d);
    bool done = is_zero(extents, s.x);
    weft_expr e = done ? weft_expr_constant(extents, 0) : WEFT_EXPR_NONE;
    if (!done) e = kind == WEFT_EXPR_DIV ? finish_div(extents, &s) : finish_mod(extents, &s);
    if (e == WEFT_EXPR_NONE)
        e = kind == WEFT_EXPR_DIV ? intern_pair(extents, kind, s.x, s.d) : intern_mod(extents, s.x, s.d);
    if (kind == WEFT_EXPR_DIV) e = weft_expr_add(extents, s.quotient, e);
    else e = weft_expr_add(extents, s.rest, weft_expr_mul(extents, s.scale, e));
    extents->speculating--;
    return e;
}

static weft_expr divide(weft_expr_context *extents, weft_expr_kind kind, weft_expr x, weft_expr d)
{
    x = weft_expr_settle(extents, x);
    d = weft_expr_settle(extents, d);
    if (x == WEFT_EXPR_NONE || d == WEFT_EXPR_NONE) return WEFT_EXPR_NONE;
    const weft_expr_node *nx = weft_expr_node_of(extents, x), *nd = weft_expr_node_of(extents, d);
    if (nd->kind == WEFT_EXPR_CONSTANT && nd->value == 0)
        return weft_expr_fail(extents, WEFT_INVALID_ARGUMENT, "an extent expression is divided by 0");
    if (nx->kind == WEFT_EXPR_CONSTANT && nd->kind == WEFT_EXPR_CONSTANT)
        return divide_constants(extents, kind, nx->value, nd->value);
    weft_expr e = WEFT_EXPR_NONE;
    if (extents->depth < WEFT_EXTENT_MAX_DEPTH) {
        extents->depth++;
        e = divide_simply(extents, kind, x, d);
        extents->depth--;
    }
    return e == WEFT_EXPR_NONE ? intern_pair(extents, kind, x, d) : e;
}

weft_expr weft_expr_div(weft_expr_context *extents, weft_expr x, weft_expr d)
{
    return divide(extents, WEFT_EXPR_DIV, x, d);
}

weft_expr weft_expr_mod(weft_expr_context *extents, weft_expr x, weft_expr d)
{
    return divide(extents, WEFT_EXPR_MOD, x, d);
}
