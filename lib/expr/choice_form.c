/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The normal form of one choice in a sum. A sum rest + c * M, M being the MIN or MAX of a and b, can be written in many
 * ways: what is in `rest` may be added to both operands, and what both have may be taken out. Of a term with u of it
 * where a is chosen and v where b is, the normal form has outside
 *     what both have, where u and v have the same sign: the smaller of them
 *     nothing, where they do not
 * so that n + m - min(n, m) is max(n, m). Where c does not divide what would have to go inside, the smaller of u and v
 * stays outside. Where all signs inside are positive, the lesser offset is 0, whatever is outside: n - min(n, 1) is
 * max(n, 1) - 1.
 */
#include "lib/expr/choice.h"

#define MAX_OFFSET (UINT64_C(1) << 40)

/* Three views walked together, term by term in order of ids. */
typedef struct walk {
    weft_expr_view views[3];
    size_t at[3];
} walk;

/* The next term, and its coefficient in each view; NONE at the end. */
static weft_expr walk_next(walk *w, int64_t coefficients[3])
{
    uint64_t term = UINT64_MAX;
    for (int i = 0; i < 3; i++)
        if (w->at[i] < w->views[i].count && w->views[i].terms[w->at[i]].expr < term)
            term = w->views[i].terms[w->at[i]].expr;
    if (term == UINT64_MAX) return WEFT_EXPR_NONE;
    for (int i = 0; i < 3; i++) {
        bool has = w->at[i] < w->views[i].count && w->views[i].terms[w->at[i]].expr == term;
        coefficients[i] = has ? w->views[i].terms[w->at[i]++].coefficient : 0;
    }
    return (weft_expr)term;
}

/* What of a term goes outside that is there u times with a and v times with b. */
static int64_t outside(int64_t u, int64_t v, int64_t coefficient)
{
    int64_t smaller = weft_choice_magnitude(u) < weft_choice_magnitude(v) ||
                              (weft_choice_magnitude(u) == weft_choice_magnitude(v) && u > v)
                          ? u
                          : v;
    if ((u > 0 && v > 0) || (u < 0 && v < 0)) return smaller;
    return coefficient == -1 || u % coefficient == 0 ? 0 : smaller;
}

/* Of one term, {outside, with a, with b}: how it is split in the normal form. False where that is beyond int64. */
static bool split_term(int64_t c, int64_t k[3], bool is_offset)
{
    int64_t u, v, a, b;
    if (__builtin_mul_overflow(c, k[1], &u) || __builtin_mul_overflow(c, k[2], &v) ||
        __builtin_add_overflow(u, k[0], &u) || __builtin_add_overflow(v, k[0], &v))
        return false;
    int64_t out = is_offset ? ((u < v) == (c > 0) ? u : v) : outside(u, v, c);
    if (__builtin_sub_overflow(u, out, &a) || __builtin_sub_overflow(v, out, &b)) return false;
    if (c == -1 && (a == INT64_MIN || b == INT64_MIN)) return false;
    k[0] = out;
    k[1] = a / c;
    k[2] = b / c;
    return true;
}

/* Adds `term` to what is outside and in both operands, NONE standing for 1. */
static bool put_term(weft_expr_context *exprs, weft_choice *m, weft_expr term, const int64_t by[3])
{
    weft_expr one = weft_expr_constant(exprs, 1), t = term == WEFT_EXPR_NONE ? one : term;
    if (by[0] != 0) m->rest = weft_expr_combine(exprs, m->rest, 1, t, by[0]);
    if (by[1] != 0) m->a = weft_expr_combine(exprs, m->a, 1, t, by[1]);
    if (by[2] != 0) m->b = weft_expr_combine(exprs, m->b, 1, t, by[2]);
    return m->rest != WEFT_EXPR_NONE && m->a != WEFT_EXPR_NONE && m->b != WEFT_EXPR_NONE;
}

/* Whether all terms of both operands have coefficients of that sign. */
static bool has_sign(const weft_expr_context *exprs, const weft_choice *m, bool positive)
{
    weft_expr_view views[2] = {weft_expr_view_of(exprs, m->a), weft_expr_view_of(exprs, m->b)};
    for (int v = 0; v < 2; v++)
        for (size_t i = 0; i < views[v].count; i++)
            if ((views[v].terms[i].coefficient > 0) != positive) return false;
    return true;
}

/* Moves one term where it belongs; `moved` tells whether it was elsewhere. */
static bool move_term(weft_expr_context *exprs, weft_choice *m, weft_expr term, const int64_t have[3], bool *moved)
{
    int64_t want[3] = {have[0], have[1], have[2]}, by[3];
    if (have[1] == 0 && have[2] == 0) return true;
    if (!split_term(m->coefficient, want, term == WEFT_EXPR_NONE)) return false;
    if (want[0] == have[0]) return true;
    *moved = true;
    for (int i = 0; i < 3; i++)
        if (__builtin_sub_overflow(want[i], have[i], &by[i])) return false;
    return put_term(exprs, m, term, by);
}

/* Where signs are mixed, what has moved gets a positive coefficient and what was written so stays so. */
static bool orient(weft_expr_context *exprs, weft_choice *m, bool moved)
{
    if (!moved || has_sign(exprs, m, true)) return true;
    if (!has_sign(exprs, m, false) && m->coefficient > 0) return true;
    m->a = weft_choice_scaled(exprs, m->a, -1);
    m->b = weft_choice_scaled(exprs, m->b, -1);
    m->kind = weft_choice_opposite(m->kind);
    return m->a != WEFT_EXPR_NONE && m->b != WEFT_EXPR_NONE &&
           !__builtin_mul_overflow(m->coefficient, -1, &m->coefficient);
}

/* What is bounded from above by a constant, as the rest of a tile is, stays as it was written; so do offsets that would
 * bring sums near the ends of int64. */
static bool move_offset(weft_expr_context *exprs, weft_choice *m, bool *moved)
{
    int64_t have[3] = {weft_expr_view_of(exprs, m->rest).offset, weft_expr_view_of(exprs, m->a).offset,
                       weft_expr_view_of(exprs, m->b).offset};
    for (int i = 0; i < 3; i++)
        if (weft_choice_magnitude(have[i]) > MAX_OFFSET) return true;
    return !has_sign(exprs, m, true) || move_term(exprs, m, WEFT_EXPR_NONE, have, moved);
}

static bool move_terms(weft_expr_context *exprs, weft_choice *m, bool *moved)
{
    walk w = {
        .views = {weft_expr_view_of(exprs, m->rest), weft_expr_view_of(exprs, m->a), weft_expr_view_of(exprs, m->b)}};
    int64_t have[3];
    for (weft_expr term; (term = walk_next(&w, have)) != WEFT_EXPR_NONE;)
        if (!move_term(exprs, m, term, have, moved)) return false;
    return orient(exprs, m, *moved) && move_offset(exprs, m, moved);
}

bool weft_choice_normalise(weft_expr_context *exprs, weft_choice *m, bool *moved)
{
    *moved = false;
    exprs->proving++;
    bool fits = move_terms(exprs, m, moved);
    exprs->proving--;
    if (*moved) {
        m->rest = weft_expr_absorb(exprs, m->rest);
        m->a = weft_expr_absorb(exprs, m->a);
        m->b = weft_expr_absorb(exprs, m->b);
    }
    return fits;
}
