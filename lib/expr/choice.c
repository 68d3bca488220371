/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Minima and maxima. A minimum of minima, or of sums with minima, becomes one list, without the operands that can never
 * be smaller than another one; likewise maxima. The list is built from pairs again, in order of what the operands are.
 * What is once known of a pair is remembered, so that the cost of a chain is that of its nodes.
 */
#include "lib/expr/choice.h"

#define MAX_OPERANDS 16
#define MAX_EFFORT 320 /* proofs and sums that one operation, with all that it leads to, may take */

static weft_expr choose(weft_expr_context *exprs, weft_expr_kind kind, weft_expr a, weft_expr b);

/* The sum without one of its terms. */
static weft_expr without(weft_expr_context *exprs, weft_expr sum, weft_expr term)
{
    weft_expr_view view = weft_expr_view_of(exprs, sum);
    weft_expr_list list = weft_expr_begin(exprs, WEFT_EXPR_SUM, view.offset);
    for (size_t i = 0; i < view.count; i++)
        if (view.terms[i].expr != term)
            weft_expr_push(exprs, &list, view.terms[i].coefficient, (weft_expr)view.terms[i].expr);
    return weft_expr_sum(exprs, &list);
}

/* ---- work ---- */

/* Work on choices nests; what the outermost operation may spend is given out anew for each. */
static void begin_work(weft_expr_context *exprs)
{
    if (exprs->choosing++ == 0) exprs->effort = MAX_EFFORT;
    exprs->speculating++;
    exprs->depth++;
}

static void end_work(weft_expr_context *exprs)
{
    exprs->depth--;
    exprs->speculating--;
    exprs->choosing--;
}

static bool spend(weft_expr_context *exprs)
{
    if (exprs->choosing == 0) return true;
    if (exprs->effort == 0) return false;
    exprs->effort--;
    return true;
}

static bool never_above(weft_expr_context *exprs, weft_expr a, weft_expr b)
{
    const weft_expr_node *na = weft_expr_node_of(exprs, a), *nb = weft_expr_node_of(exprs, b);
    if (na->max <= nb->min && na->max != INT64_MAX && nb->min != INT64_MIN) return true;
    if (na->min > nb->max || !spend(exprs)) return false;
    exprs->speculating++;
    exprs->proving++;
    bool proven = weft_expr_prove(exprs, weft_expr_sub(exprs, b, a), a, b);
    exprs->proving--;
    exprs->speculating--;
    return proven;
}

/* Whether `e` is never chosen where `other` is an operand. */
static bool is_idle(weft_expr_context *exprs, weft_expr_kind kind, weft_expr e, weft_expr other)
{
    if (e == other) return true;
    return kind == WEFT_EXPR_MIN ? never_above(exprs, other, e) : never_above(exprs, e, other);
}

/* ---- pairs ---- */

static weft_expr intern_pair(weft_expr_context *exprs, weft_expr_kind kind, weft_expr a, weft_expr b)
{
    weft_expr_list list = weft_expr_begin(exprs, kind, 0);
    weft_expr_push(exprs, &list, 1, a < b ? a : b);
    weft_expr_push(exprs, &list, 1, a < b ? b : a);
    return weft_expr_intern(exprs, &list);
}

/* The greatest number that divides every coefficient and offset of e. */
static int64_t content(const weft_expr_context *exprs, weft_expr e)
{
    weft_expr_view view = weft_expr_view_of(exprs, e);
    int64_t divisor = weft_expr_gcd(view.offset, 0);
    for (size_t i = 0; i < view.count; i++) divisor = weft_expr_gcd(divisor, view.terms[i].coefficient);
    return divisor;
}

/* e with no coefficient above `most`. min(most, e) is the same, if no term of e is below 0: NONE if one may be. */
static weft_expr limit_coefficients(weft_expr_context *exprs, weft_expr e, int64_t most)
{
    weft_expr_view view = weft_expr_view_of(exprs, e);
    weft_expr_list list = weft_expr_begin(exprs, WEFT_EXPR_SUM, view.offset);
    for (size_t i = 0; i < view.count; i++) {
        weft_term term = view.terms[i];
        list.failed |= term.coefficient < 0 || weft_expr_node_of(exprs, (weft_expr)term.expr)->min < 0;
        weft_expr_push(exprs, &list, term.coefficient < most ? term.coefficient : most, (weft_expr)term.expr);
    }
    return weft_expr_sum(exprs, &list);
}

/* min(3, 8*n) is min(3, 3*n), for n >= 0. */
static weft_expr limited(weft_expr_context *exprs, weft_expr e, weft_expr limit)
{
    int64_t most;
    if (!weft_expr_is_constant(exprs, limit, &most)) return e;
    if (__builtin_sub_overflow(most, weft_expr_view_of(exprs, e).offset, &most) || most <= 0) return e;
    weft_expr less = limit_coefficients(exprs, e, most);
    return less == WEFT_EXPR_NONE ? e : less;
}

static weft_expr make_pair(weft_expr_context *exprs, weft_expr_kind kind, weft_expr a, weft_expr b)
{
    weft_expr x = kind == WEFT_EXPR_MIN ? limited(exprs, a, b) : a;
    weft_expr y = kind == WEFT_EXPR_MIN ? limited(exprs, b, x) : b;
    int64_t common = weft_expr_gcd(content(exprs, x), content(exprs, y));
    if (common > 1) {
        weft_expr g = weft_expr_constant(exprs, common);
        x = weft_expr_div(exprs, x, g);
        y = weft_expr_div(exprs, y, g);
    }
    bool same = x == a && y == b;
    weft_expr e = !same && is_idle(exprs, kind, x, y)   ? y
                  : !same && is_idle(exprs, kind, y, x) ? x
                                                        : intern_pair(exprs, kind, x, y);
    return common > 1 ? weft_choice_scaled(exprs, e, common) : e;
}

static bool is_total(const weft_expr_context *exprs, weft_expr e)
{
    return weft_expr_node_of(exprs, e)->total;
}

/* Of two operands of which each may be the one. */
static weft_expr pair(weft_expr_context *exprs, weft_expr_kind kind, weft_expr a, weft_expr b)
{
    weft_choice m = {weft_expr_constant(exprs, 0), a, b, 1, kind};
    bool moved;
    exprs->speculating++;
    weft_expr e = weft_choice_normalise(exprs, &m, &moved) ? make_pair(exprs, m.kind, m.a, m.b) : WEFT_EXPR_NONE;
    if (e != WEFT_EXPR_NONE) e = weft_expr_combine(exprs, m.rest, 1, e, m.coefficient);
    bool safe = is_total(exprs, e) || !is_total(exprs, a) || !is_total(exprs, b);
    exprs->speculating--;
    return e != WEFT_EXPR_NONE && safe ? e : intern_pair(exprs, kind, a, b);
}

/* ---- lists ---- */

typedef struct operands {
    weft_expr_kind kind;
    weft_expr items[MAX_OPERANDS];
    size_t count;
    bool full;
} operands;

/* The first term of e, whatever its id, that is a choice between operands of the list; NULL if there is none. */
static const weft_term *find_inner(const weft_expr_context *exprs, weft_expr_kind kind, weft_expr e)
{
    weft_expr_view view = weft_expr_view_of(exprs, e);
    const weft_term *first = NULL;
    for (size_t i = 0; i < view.count; i++) {
        const weft_expr_node *node = weft_expr_node_of(exprs, (weft_expr)view.terms[i].expr);
        weft_expr_kind wanted = view.terms[i].coefficient > 0 ? kind : weft_choice_opposite(kind);
        if (node->kind != wanted) continue;
        if (first == NULL || weft_expr_precedes(exprs, node->id, (weft_expr)first->expr)) first = &view.terms[i];
    }
    return first;
}

/* e with operand `i` in place of the choice that `term` is. */
static weft_expr with_operand(weft_expr_context *exprs, weft_expr e, weft_term term, int i)
{
    const weft_expr_node *node = weft_expr_node_of(exprs, (weft_expr)term.expr);
    weft_expr rest = without(exprs, e, node->id);
    return weft_expr_combine(exprs, rest, 1, (weft_expr)node->terms[i].expr, term.coefficient);
}

static void put(weft_expr_context *exprs, operands *list, weft_expr e);

static void put_leaf(weft_expr_context *exprs, operands *list, weft_expr e)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (!is_idle(exprs, list->kind, list->items[i], e)) list->items[kept++] = list->items[i];
    list->count = kept;
    list->full |= kept == MAX_OPERANDS;
    if (!list->full) list->items[list->count++] = e;
}

static void put(weft_expr_context *exprs, operands *list, weft_expr e)
{
    list->full |= e == WEFT_EXPR_NONE || !spend(exprs);
    for (size_t i = 0; i < list->count && !list->full; i++)
        if (is_idle(exprs, list->kind, e, list->items[i])) return;
    if (list->full) return;
    const weft_term *inner = find_inner(exprs, list->kind, e);
    if (inner == NULL) {
        put_leaf(exprs, list, e);
        return;
    }
    weft_term term = *inner;
    put(exprs, list, with_operand(exprs, e, term, 0));
    put(exprs, list, with_operand(exprs, e, term, 1));
}

/* How often all operands have the term: 0 where the signs differ. */
static int64_t shared_times(const weft_expr_context *exprs, const operands *list, weft_term term)
{
    int64_t times = term.coefficient;
    for (size_t i = 1; i < list->count && times != 0; i++) {
        int64_t other = weft_expr_coefficient(weft_expr_view_of(exprs, list->items[i]), term.expr);
        if ((times > 0) != (other > 0) || other == 0) return 0;
        if (weft_choice_magnitude(other) < weft_choice_magnitude(times)) times = other;
    }
    return times;
}

/* The terms and the least offset of what all operands have. */
static weft_expr find_shared(weft_expr_context *exprs, const operands *list)
{
    weft_expr_view first = weft_expr_view_of(exprs, list->items[0]);
    int64_t least = first.offset;
    for (size_t i = 1; i < list->count; i++) {
        int64_t offset = weft_expr_view_of(exprs, list->items[i]).offset;
        if (offset < least) least = offset;
    }
    weft_expr_list sum = weft_expr_begin(exprs, WEFT_EXPR_SUM, least);
    for (size_t t = 0; t < first.count; t++) {
        int64_t times = shared_times(exprs, list, first.terms[t]);
        if (times != 0) weft_expr_push(exprs, &sum, times, (weft_expr)first.terms[t].expr);
    }
    return weft_expr_sum(exprs, &sum);
}

/* Takes it out of all, so that their order is that of what differs; NONE beyond int64. */
static weft_expr take_shared(weft_expr_context *exprs, operands *list)
{
    weft_expr shared = find_shared(exprs, list);
    for (size_t i = 0; i < list->count && shared != WEFT_EXPR_NONE; i++) {
        list->items[i] = weft_expr_sub(exprs, list->items[i], shared);
        if (list->items[i] == WEFT_EXPR_NONE) return WEFT_EXPR_NONE;
    }
    return shared;
}

static void sort(const weft_expr_context *exprs, operands *list)
{
    for (size_t i = 1; i < list->count; i++) {
        weft_expr e = list->items[i];
        size_t at = i;
        for (; at > 0 && weft_expr_precedes(exprs, e, list->items[at - 1]); at--) list->items[at] = list->items[at - 1];
        list->items[at] = e;
    }
}

/* The greatest number that divides all operands, which are divided by it. */
static int64_t take_content(weft_expr_context *exprs, operands *list)
{
    int64_t common = 0;
    for (size_t i = 0; i < list->count; i++) common = weft_expr_gcd(common, content(exprs, list->items[i]));
    weft_expr by = weft_expr_constant(exprs, common);
    for (size_t i = 0; i < list->count && common > 1; i++) list->items[i] = weft_expr_div(exprs, list->items[i], by);
    return common > 1 ? common : 1;
}

/* Whether `e`, a part of operand number `own`, is never chosen where the other operands are, each part of it being
 * never chosen next to some of them. */
static bool is_covered(weft_expr_context *exprs, const operands *list, size_t own, weft_expr e)
{
    if (e == WEFT_EXPR_NONE || !spend(exprs)) return false;
    for (size_t i = 0; i < list->count; i++)
        if (i != own && is_idle(exprs, list->kind, e, list->items[i])) return true;
    const weft_term *both = find_inner(exprs, list->kind, e);
    const weft_term *inner = both != NULL ? both : find_inner(exprs, weft_choice_opposite(list->kind), e);
    if (inner == NULL) return false;
    weft_term term = *inner;
    bool first = is_covered(exprs, list, own, with_operand(exprs, e, term, 0));
    if (first != (both != NULL)) return first;
    return is_covered(exprs, list, own, with_operand(exprs, e, term, 1));
}

/* Takes out what no single operand shows to be idle, but all together do: max(min(a, b), 4) next to a and b. */
static void drop_covered(weft_expr_context *exprs, operands *list)
{
    for (size_t i = list->count; i-- > 0 && list->count > 2;) {
        if (find_inner(exprs, weft_choice_opposite(list->kind), list->items[i]) == NULL) continue;
        if (!is_covered(exprs, list, i, list->items[i])) continue;
        list->count--;
        for (size_t k = i; k < list->count; k++) list->items[k] = list->items[k + 1];
    }
}

/* NONE where there are too many operands for a list. */
static weft_expr choose_from_list(weft_expr_context *exprs, weft_expr_kind kind, weft_expr a, weft_expr b)
{
    operands list = {.kind = kind};
    put(exprs, &list, a);
    put(exprs, &list, b);
    if (!list.full) drop_covered(exprs, &list);
    weft_expr shared = list.full ? WEFT_EXPR_NONE : take_shared(exprs, &list);
    if (shared == WEFT_EXPR_NONE) return WEFT_EXPR_NONE;
    int64_t common = take_content(exprs, &list);
    sort(exprs, &list);
    weft_expr e = list.items[0];
    for (size_t i = 1; i < list.count; i++) e = pair(exprs, kind, e, list.items[i]);
    e = weft_expr_combine(exprs, e, common, shared, 1);
    return is_total(exprs, e) || !is_total(exprs, a) || !is_total(exprs, b) ? e : WEFT_EXPR_NONE;
}

/* What two operands share is outside; NONE where they share nothing. */
static weft_expr choose_apart(weft_expr_context *exprs, weft_expr_kind kind, weft_expr a, weft_expr b)
{
    operands two = {.kind = kind, .items = {a, b}, .count = 2};
    weft_expr shared = take_shared(exprs, &two);
    if (shared == WEFT_EXPR_NONE || weft_expr_view_of(exprs, shared).count == 0) return WEFT_EXPR_NONE;
    weft_expr e = weft_expr_add(exprs, choose(exprs, kind, two.items[0], two.items[1]), shared);
    return is_total(exprs, e) || !is_total(exprs, a) || !is_total(exprs, b) ? e : WEFT_EXPR_NONE;
}

static weft_expr choose_anew(weft_expr_context *exprs, weft_expr_kind kind, weft_expr a, weft_expr b)
{
    if (is_idle(exprs, kind, b, a)) return a;
    if (is_idle(exprs, kind, a, b)) return b;
    if (exprs->depth >= WEFT_EXTENT_MAX_DEPTH) return intern_pair(exprs, kind, a, b);
    if (find_inner(exprs, kind, a) == NULL && find_inner(exprs, kind, b) == NULL) return pair(exprs, kind, a, b);
    begin_work(exprs);
    weft_expr e = choose_apart(exprs, kind, a, b);
    if (e == WEFT_EXPR_NONE) e = choose_from_list(exprs, kind, a, b);
    end_work(exprs);
    return e != WEFT_EXPR_NONE ? e : pair(exprs, kind, a, b);
}

static weft_expr choose(weft_expr_context *exprs, weft_expr_kind kind, weft_expr a, weft_expr b)
{
    a = weft_expr_settle(exprs, a);
    b = weft_expr_settle(exprs, b);
    if (a == WEFT_EXPR_NONE || b == WEFT_EXPR_NONE) return WEFT_EXPR_NONE;
    weft_expr e = weft_expr_recall(exprs, kind, a, b);
    if (e != WEFT_EXPR_NONE) return e;
    e = choose_anew(exprs, kind, a, b);
    return weft_expr_remember(exprs, kind, a, b, e);
}

weft_expr weft_expr_min(weft_expr_context *exprs, weft_expr a, weft_expr b)
{
    return choose(exprs, WEFT_EXPR_MIN, a, b);
}

weft_expr weft_expr_max(weft_expr_context *exprs, weft_expr a, weft_expr b)
{
    return choose(exprs, WEFT_EXPR_MAX, a, b);
}

/* ---- sums ---- */

/* The sum with one choice in normal form; NONE where it has it. */
static weft_expr absorb_into(weft_expr_context *exprs, weft_expr sum, weft_term term)
{
    const weft_expr_node *node = weft_expr_node_of(exprs, (weft_expr)term.expr);
    weft_choice m = {WEFT_EXPR_NONE, (weft_expr)node->terms[0].expr, (weft_expr)node->terms[1].expr, term.coefficient,
                     node->kind};
    bool moved;
    /* As it is: each part of the sum in normal form would be each subset of its choices. */
    exprs->proving++;
    m.rest = without(exprs, sum, node->id);
    exprs->proving--;
    if (m.rest == WEFT_EXPR_NONE || !weft_choice_normalise(exprs, &m, &moved) || !moved) return WEFT_EXPR_NONE;
    return weft_expr_combine(exprs, m.rest, 1, choose(exprs, m.kind, m.a, m.b), m.coefficient);
}

static void find_gaps(weft_expr_context *exprs, weft_expr_node *node)
{
    if (node->gaps[0] != WEFT_EXPR_NONE) return;
    weft_expr a = (weft_expr)node->terms[0].expr, b = (weft_expr)node->terms[1].expr;
    node->gaps[0] = weft_expr_sub(exprs, a, b);
    node->gaps[1] = weft_expr_sub(exprs, b, a);
}

/* n as +m or -m and what both do not share: max(n - 1, 0) is n - min(n, 1). NONE where they have nothing in common. */
static weft_expr as_other(weft_expr_context *exprs, const weft_expr_node *m, const weft_expr_node *n)
{
    bool same = m->gaps[0] == n->gaps[0], crossed = m->gaps[1] == n->gaps[0];
    if (n->gaps[0] == WEFT_EXPR_NONE || (!same && !crossed)) return WEFT_EXPR_NONE;
    weft_expr above = weft_expr_sub(exprs, m->id, (weft_expr)m->terms[same ? 0 : 1].expr);
    if (m->kind == n->kind) return weft_expr_add(exprs, above, (weft_expr)n->terms[0].expr);
    return weft_expr_sub(exprs, (weft_expr)n->terms[1].expr, above);
}

/* The sum with the second choice put as the first one; NONE where that cannot be. */
static weft_expr unite(weft_expr_context *exprs, weft_expr sum, weft_term first, weft_term second)
{
    weft_expr_node *m = weft_expr_node_of(exprs, (weft_expr)first.expr),
                   *n = weft_expr_node_of(exprs, (weft_expr)second.expr);
    exprs->proving++;
    find_gaps(exprs, m);
    find_gaps(exprs, n);
    weft_expr e = as_other(exprs, m, n);
    if (e != WEFT_EXPR_NONE) e = weft_expr_combine(exprs, without(exprs, sum, n->id), 1, e, second.coefficient);
    exprs->proving--;
    return weft_expr_absorb(exprs, e);
}

static weft_expr absorb_once(weft_expr_context *exprs, weft_expr sum)
{
    weft_expr_view view = weft_expr_view_of(exprs, sum);
    weft_expr e = WEFT_EXPR_NONE;
    for (size_t i = 0; i < view.count && e == WEFT_EXPR_NONE; i++) {
        if (!weft_expr_is_choice(weft_expr_node_of(exprs, (weft_expr)view.terms[i].expr))) continue;
        e = absorb_into(exprs, sum, view.terms[i]);
        for (size_t j = 0; j < i && e == WEFT_EXPR_NONE; j++)
            if (weft_expr_is_choice(weft_expr_node_of(exprs, (weft_expr)view.terms[j].expr)))
                e = unite(exprs, sum, view.terms[j], view.terms[i]);
    }
    bool safe = is_total(exprs, e) || !is_total(exprs, sum);
    return e != WEFT_EXPR_NONE && safe ? e : sum;
}

weft_expr weft_expr_absorb(weft_expr_context *exprs, weft_expr e)
{
    weft_expr_node *node = weft_expr_node_of(exprs, e);
    if (node->kind != WEFT_EXPR_SUM || !node->has_choice || exprs->proving > 0) return e;
    if (node->absorbed != WEFT_EXPR_NONE) return node->absorbed;
    if (exprs->depth >= WEFT_EXTENT_MAX_DEPTH) return e;
    node->absorbed = e;
    begin_work(exprs);
    node->absorbed = absorb_once(exprs, e);
    end_work(exprs);
    return node->absorbed;
}

/* ---- division ---- */

weft_expr weft_expr_divide_choice(weft_expr_context *exprs, weft_expr x, weft_expr d)
{
    weft_expr_view view = weft_expr_view_of(exprs, x);
    if (view.count != 1 || !weft_expr_is_constant(exprs, d, NULL)) return WEFT_EXPR_NONE;
    const weft_expr_node *node = weft_expr_node_of(exprs, (weft_expr)view.terms[0].expr);
    if (!weft_expr_is_choice(node)) return WEFT_EXPR_NONE;
    weft_expr a = with_operand(exprs, x, view.terms[0], 0), b = with_operand(exprs, x, view.terms[0], 1);
    if (is_total(exprs, x) && !(is_total(exprs, a) && is_total(exprs, b))) return WEFT_EXPR_NONE;
    if (a == WEFT_EXPR_NONE || b == WEFT_EXPR_NONE) return WEFT_EXPR_NONE;
    weft_expr_kind kind = view.terms[0].coefficient > 0 ? node->kind : weft_choice_opposite(node->kind);
    return choose(exprs, kind, weft_expr_div(exprs, a, d), weft_expr_div(exprs, b, d));
}
