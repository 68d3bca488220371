/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proofs of e >= 0. Let A be the latest leaf or operation among the factors of e (added minima and subtracted maxima
 * first: both operands must satisfy it); write e = C*A + R and bound it pointwise: where C >= 0, C*A is at least C
 * times any lower bound of A, where C <= 0, C times any upper bound. Bounds of A are older expressions (0 and extent-1
 * of a loop variable, the operands of a minimum, x/d of a division), so this ends at constants. If the sign of C is
 * unknown, e >= 0 at both ends suffices, as e is linear in between. A loop variable inside its loop also implies that
 * its extent is at least 1.
 */
#include "lib/expr/node.h"

#define MAX_POSITIVE 24
#define MAX_FACTS 6
#define MAX_STEPS 96
#define MAX_NESTING 32
#define MAX_ACTIVE 256

typedef struct prover {
    weft_expr_context *exprs;
    weft_expr positive[MAX_POSITIVE]; /* at least 1 */
    size_t positive_count;
    weft_expr facts[MAX_FACTS]; /* at least 0 */
    size_t fact_count;
    uint64_t active[MAX_ACTIVE / 64]; /* symbols whose loops are running, by index; later ones tell nothing */
    int steps, nesting;
} prover;

static bool nonnegative(prover *p, weft_expr e);

/* ---- what running loop variables tell ---- */

static void assume_nonnegative(prover *p, weft_expr f, int nesting);

static void assume_positive_factors(prover *p, weft_expr term)
{
    size_t count;
    const weft_term *factors = weft_expr_factors(p->exprs, term, &count);
    for (size_t i = 0; i < count; i++)
        if (weft_expr_node_of(p->exprs, (weft_expr)factors[i].expr)->min < 0) return;
    for (size_t i = 0; i < count && p->positive_count < MAX_POSITIVE; i++)
        p->positive[p->positive_count++] = (weft_expr)factors[i].expr;
}

static bool is_positive(const prover *p, weft_expr atom)
{
    for (size_t i = 0; i < p->positive_count; i++)
        if (p->positive[i] == atom) return true;
    return weft_expr_node_of(p->exprs, atom)->min > 0;
}

/* From A >= 1: both operands of a minimum are, and a division reaches its divisor. */
static void assume_operands(prover *p, const weft_expr_node *atom, int nesting)
{
    weft_expr one = weft_expr_constant(p->exprs, 1);
    if (atom->kind != WEFT_EXPR_MIN && atom->kind != WEFT_EXPR_DIV) return;
    weft_expr a = (weft_expr)atom->terms[0].expr, b = (weft_expr)atom->terms[1].expr;
    if (atom->kind == WEFT_EXPR_MIN) {
        assume_nonnegative(p, weft_expr_sub(p->exprs, a, one), nesting - 1);
        assume_nonnegative(p, weft_expr_sub(p->exprs, b, one), nesting - 1);
    } else if (weft_expr_node_of(p->exprs, b)->min > 0) {
        assume_nonnegative(p, weft_expr_sub(p->exprs, a, b), nesting - 1);
    }
}

static void assume_nonnegative(prover *p, weft_expr f, int nesting)
{
    weft_expr_view view = weft_expr_view_of(p->exprs, f);
    if (f == WEFT_EXPR_NONE || nesting == 0 || weft_expr_node_of(p->exprs, f)->min >= 0) return;
    if (view.count == 1 && view.terms[0].coefficient > 0 && view.offset < 0) {
        weft_expr term = (weft_expr)view.terms[0].expr;
        assume_positive_factors(p, term);
        assume_operands(p, weft_expr_node_of(p->exprs, term), nesting);
    } else if (p->fact_count < MAX_FACTS) {
        p->facts[p->fact_count++] = f;
    }
}

static void mark_active(prover *p, const weft_expr_node *node)
{
    for (uint32_t w = 0; w < node->words && w < MAX_ACTIVE / 64; w++) p->active[w] |= node->symbols[w];
}

/* Bounds are older than their variables, so going down meets every variable whose loop must be running too. */
static void use_active(prover *p)
{
    for (size_t index = MAX_ACTIVE; index-- > 0;) {
        if (p->active[index / 64] == 0) index &= ~(size_t)63;
        if ((p->active[index / 64] >> (index % 64) & 1) == 0) continue;
        const weft_expr_node *symbol = weft_expr_node_of(p->exprs, p->exprs->symbols[index]);
        if (symbol->bound == WEFT_EXPR_NONE) continue;
        assume_nonnegative(p, symbol->last, 8);
        mark_active(p, weft_expr_node_of(p->exprs, symbol->bound));
    }
}

/* ---- one step ---- */

/* Whether e >= 0 says no less than that of both operands, so that nothing is lost by looking at them first. */
static bool needs_both(const weft_expr_context *exprs, weft_term term)
{
    return weft_expr_node_of(exprs, (weft_expr)term.expr)->kind ==
           (term.coefficient > 0 ? WEFT_EXPR_MIN : WEFT_EXPR_MAX);
}

/* The youngest factor of the terms of e, of those that need both operands if there are any; NONE for a constant. */
static weft_expr next_atom(const weft_expr_context *exprs, weft_expr e)
{
    weft_expr_view view = weft_expr_view_of(exprs, e);
    uint64_t atom = WEFT_EXPR_NONE;
    bool found = false;
    for (size_t i = 0; i < view.count; i++) {
        size_t count;
        const weft_term *factors = weft_expr_factors(exprs, (weft_expr)view.terms[i].expr, &count);
        bool first = needs_both(exprs, view.terms[i]);
        if (found && !first) continue;
        if ((first && !found) || factors[count - 1].expr > atom) atom = factors[count - 1].expr;
        found |= first;
    }
    return (weft_expr)atom;
}

/* e = cofactor * atom + rest, with the proven sign of the cofactor; 0 is unknown. */
typedef struct linear {
    weft_expr cofactor, rest;
    int sign;
} linear;

static bool at(prover *p, const linear *form, weft_expr value)
{
    if (value == WEFT_EXPR_NONE) return false;
    return nonnegative(p, weft_expr_add(p->exprs, form->rest, weft_expr_mul(p->exprs, form->cofactor, value)));
}

/* Pointwise low <= atom <= high; NONE where there is no such bound. */
static bool between(prover *p, const linear *form, weft_expr low, weft_expr high)
{
    if (form->sign > 0) return at(p, form, low);
    if (form->sign < 0) return at(p, form, high);
    return low != WEFT_EXPR_NONE && high != WEFT_EXPR_NONE && at(p, form, low) && at(p, form, high);
}

static weft_expr constant_low(prover *p, const weft_expr_node *atom)
{
    int64_t low = atom->min < 1 && is_positive(p, atom->id) ? 1 : atom->min;
    return low == INT64_MIN ? WEFT_EXPR_NONE : weft_expr_constant(p->exprs, low);
}

static weft_expr constant_high(prover *p, const weft_expr_node *atom)
{
    return atom->max == INT64_MAX ? WEFT_EXPR_NONE : weft_expr_constant(p->exprs, atom->max);
}

static bool by_constants(prover *p, const linear *form, const weft_expr_node *atom)
{
    return between(p, form, constant_low(p, atom), constant_high(p, atom));
}

static bool by_symbol(prover *p, const linear *form, const weft_expr_node *atom)
{
    if (atom->bound == WEFT_EXPR_NONE) return by_constants(p, form, atom);
    return between(p, form, constant_low(p, atom), atom->last);
}

static bool by_choice(prover *p, const linear *form, const weft_expr_node *atom)
{
    bool either = atom->kind == WEFT_EXPR_MIN ? form->sign < 0 : form->sign > 0;
    weft_expr a = (weft_expr)atom->terms[0].expr, b = (weft_expr)atom->terms[1].expr;
    if (either) return at(p, form, a) || at(p, form, b);
    return at(p, form, a) && at(p, form, b);
}

static bool by_mod(prover *p, const linear *form, const weft_expr_node *atom)
{
    weft_expr_context *exprs = p->exprs;
    weft_expr x = (weft_expr)atom->terms[0].expr, d = (weft_expr)atom->terms[1].expr;
    if (!nonnegative(p, weft_expr_sub(exprs, d, weft_expr_constant(exprs, 1)))) return by_constants(p, form, atom);
    if (between(p, form, constant_low(p, atom), weft_expr_sub(exprs, d, weft_expr_constant(exprs, 1)))) return true;
    return form->sign < 0 && nonnegative(p, x) && at(p, form, x);
}

/* A term of `rest` that divides the same as `atom` does, except for a constant `gap`, by what divides its divisor: then
 * with y = x - gap, b the other's divisor and times * b that of A, y div b + gap div b - (times - 1) <= times * A
 * <= y div b - (-gap div b). */
static weft_expr related_div(prover *p, weft_expr rest, const weft_expr_node *atom, int64_t *out_times, int64_t *out_b,
                             int64_t *out_gap)
{
    weft_expr_view view = weft_expr_view_of(p->exprs, rest);
    int64_t d, b;
    if (!weft_expr_is_constant(p->exprs, (weft_expr)atom->terms[1].expr, &d) || d <= 0) return WEFT_EXPR_NONE;
    for (size_t i = 0; i < view.count; i++) {
        const weft_expr_node *other = weft_expr_node_of(p->exprs, (weft_expr)view.terms[i].expr);
        if (other->kind != WEFT_EXPR_DIV || other == atom) continue;
        if (!weft_expr_is_constant(p->exprs, (weft_expr)other->terms[1].expr, &b) || b <= 0 || d % b != 0) continue;
        weft_expr gap = weft_expr_sub(p->exprs, (weft_expr)atom->terms[0].expr, (weft_expr)other->terms[0].expr);
        if (!weft_expr_is_constant(p->exprs, gap, out_gap) || *out_gap == INT64_MIN) continue;
        *out_times = d / b;
        *out_b = b;
        return other->id;
    }
    return WEFT_EXPR_NONE;
}

static bool by_related_div(prover *p, const linear *form, const weft_expr_node *atom)
{
    int64_t times, b, gap;
    weft_expr_context *exprs = p->exprs;
    weft_expr other = related_div(p, form->rest, atom, &times, &b, &gap), quotient, none;
    if (other == WEFT_EXPR_NONE) return false;
    weft_expr by = weft_expr_constant(exprs, times);
    linear scaled = {form->cofactor, weft_expr_mul(exprs, form->rest, by), form->sign};
    if (weft_expr_split(exprs, form->cofactor, by, &quotient, &none) && none == weft_expr_constant(exprs, 0))
        scaled = (linear){quotient, form->rest, form->sign};
    int64_t low = weft_expr_floor_div(gap, b), high = -weft_expr_floor_div(-gap, b);
    if (__builtin_sub_overflow(low, times - 1, &low)) return false;
    return between(p, &scaled, weft_expr_add(exprs, other, weft_expr_constant(exprs, low)),
                   weft_expr_add(exprs, other, weft_expr_constant(exprs, high)));
}

/* For d > 0: x-d+1 <= d*A <= x. The whole form is taken d times, unless d divides the cofactor. */
static bool by_div(prover *p, const linear *form, const weft_expr_node *atom)
{
    weft_expr_context *exprs = p->exprs;
    weft_expr x = (weft_expr)atom->terms[0].expr, d = (weft_expr)atom->terms[1].expr,
              one = weft_expr_constant(exprs, 1);
    if (by_constants(p, form, atom) || by_related_div(p, form, atom)) return true;
    if (!nonnegative(p, weft_expr_sub(exprs, d, one))) return false;
    if (form->sign > 0 && atom->min < 0 && at(p, form, weft_expr_constant(exprs, 0)) && nonnegative(p, x)) return true;
    weft_expr low = weft_expr_add(exprs, weft_expr_sub(exprs, x, d), one), quotient, none;
    linear scaled = {form->cofactor, weft_expr_mul(exprs, form->rest, d), form->sign};
    if (weft_expr_split(exprs, form->cofactor, d, &quotient, &none) && none == weft_expr_constant(exprs, 0))
        scaled = (linear){quotient, form->rest, form->sign};
    return between(p, &scaled, low, x);
}

static int sign_of(prover *p, weft_expr e)
{
    if (nonnegative(p, e)) return 1;
    weft_expr negated = weft_expr_sub(p->exprs, weft_expr_constant(p->exprs, 0), e);
    return nonnegative(p, negated) ? -1 : 0;
}

static bool eliminate(prover *p, weft_expr e, const weft_expr_node *atom)
{
    linear form;
    weft_expr_cofactor(p->exprs, e, atom->id, &form.cofactor, &form.rest);
    if (form.cofactor == WEFT_EXPR_NONE || form.rest == WEFT_EXPR_NONE) return false;
    form.sign = sign_of(p, form.cofactor);
    switch (atom->kind) {
    case WEFT_EXPR_SYMBOL: return by_symbol(p, &form, atom);
    case WEFT_EXPR_MIN:
    case WEFT_EXPR_MAX: return by_choice(p, &form, atom);
    case WEFT_EXPR_MOD: return by_mod(p, &form, atom);
    case WEFT_EXPR_DIV: return by_div(p, &form, atom);
    default: return false;
    }
}

static bool nonnegative(prover *p, weft_expr e)
{
    const weft_expr_node *node = weft_expr_node_of(p->exprs, e);
    if (e == WEFT_EXPR_NONE || node->max < 0) return false;
    if (node->min >= 0) return true;
    if (p->nesting == 0 || p->steps == 0) return false;
    p->steps--;
    p->nesting--;
    bool proven = eliminate(p, e, weft_expr_node_of(p->exprs, next_atom(p->exprs, e)));
    p->nesting++;
    return proven;
}

bool weft_expr_prove(weft_expr_context *exprs, weft_expr e, weft_expr context, weft_expr other)
{
    const weft_expr_node *node = weft_expr_node_of(exprs, e);
    if (e == WEFT_EXPR_NONE || node->max < 0) return false;
    if (node->min >= 0) return true;
    exprs->speculating++;
    exprs->proving++;
    prover p = {.exprs = exprs, .steps = MAX_STEPS, .nesting = MAX_NESTING};
    mark_active(&p, node);
    mark_active(&p, weft_expr_node_of(exprs, context));
    mark_active(&p, weft_expr_node_of(exprs, other));
    use_active(&p);
    bool proven = nonnegative(&p, e);
    for (size_t i = 0; i < p.fact_count && !proven; i++) proven = nonnegative(&p, weft_expr_sub(exprs, e, p.facts[i]));
    exprs->proving--;
    exprs->speculating--;
    return proven;
}

bool weft_expr_prove_positive(weft_expr_context *exprs, weft_expr e, weft_expr context, weft_expr other)
{
    if (e == WEFT_EXPR_NONE || weft_expr_node_of(exprs, e)->min > 0) return e != WEFT_EXPR_NONE;
    exprs->speculating++;
    weft_expr less = weft_expr_sub(exprs, e, weft_expr_constant(exprs, 1));
    bool proven = weft_expr_prove(exprs, less, context == WEFT_EXPR_NONE ? e : context, other);
    exprs->speculating--;
    return proven;
}

bool weft_expr_always_nonnegative(weft_expr_context *exprs, weft_expr e)
{
    weft_expr_node *node = weft_expr_node_of(exprs, e);
    if (e == WEFT_EXPR_NONE) return false;
    if (node->proof == 0) node->proof = weft_expr_prove(exprs, e, WEFT_EXPR_NONE, WEFT_EXPR_NONE) ? 1 : -1;
    return node->proof > 0;
}

static bool always_less(weft_expr_context *exprs, weft_expr a, weft_expr b)
{
    weft_expr gap = weft_expr_sub(exprs, b, a);
    return weft_expr_prove(exprs, weft_expr_sub(exprs, gap, weft_expr_constant(exprs, 1)), a, b);
}

bool weft_expr_always_less(weft_expr_context *exprs, weft_expr a, weft_expr b)
{
    if (a == WEFT_EXPR_NONE || b == WEFT_EXPR_NONE) return false;
    exprs->speculating++;
    bool less = always_less(exprs, a, b);
    exprs->speculating--;
    return less;
}

/* Also by divisors: 2*x and 2*y + 1 never meet. */
bool weft_expr_never_equal(weft_expr_context *exprs, weft_expr a, weft_expr b)
{
    if (a == b || a == WEFT_EXPR_NONE || b == WEFT_EXPR_NONE) return false;
    exprs->speculating++;
    weft_expr gap = weft_expr_sub(exprs, b, a);
    weft_expr_view view = weft_expr_view_of(exprs, gap);
    int64_t step = 0;
    for (size_t i = 0; i < view.count; i++) {
        int64_t d = weft_expr_node_of(exprs, (weft_expr)view.terms[i].expr)->divisor, each = view.terms[i].coefficient;
        if (__builtin_mul_overflow(each, d, &each)) each = 1;
        step = weft_expr_gcd(step, each);
    }
    bool apart = gap != WEFT_EXPR_NONE && (step == 0 ? view.offset != 0 : view.offset % step != 0);
    apart = apart || always_less(exprs, a, b) || always_less(exprs, b, a);
    exprs->speculating--;
    return apart;
}
