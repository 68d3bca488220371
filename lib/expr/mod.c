/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums with MOD. Every MOD of a sum is tried as x mod d = x - d * (x div d), in the three places where that makes the
 * sum smaller. Each of them replaces a MOD by expressions that existed before it, so this ends. A sum of n terms is
 * made n times while it is added up, so a look at one must cost about n: how a term reads is kept with it, and which
 * MODs continue each other is found by the quotients they share.
 */
#include "lib/expr/node.h"

#include <stdlib.h>

/* A term of a sum taken apart: coefficient * factor * (x mod d). */
typedef struct mod_term {
    weft_term term;
    const weft_expr_reading *reading;
} mod_term;

/* ---- reading terms ---- */

static weft_expr_reading read_factor(weft_expr_context *exprs, weft_expr term, const weft_expr_node *mod)
{
    weft_expr factor = weft_expr_divide_term(exprs, term, mod->id);
    return (weft_expr_reading){.mod = mod,
                               .factor = factor,
                               .whole = weft_expr_mul(exprs, factor, mod->whole),
                               .x = weft_expr_mul(exprs, factor, (weft_expr)mod->terms[0].expr),
                               .next = weft_expr_mul(exprs, factor, (weft_expr)mod->terms[1].expr)};
}

/* The MODs among the factors of a term; 0 while one of them is not known in full yet. */
static size_t count_mods(const weft_expr_context *exprs, const weft_term *factors, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        const weft_expr_node *node = weft_expr_node_of(exprs, (weft_expr)factors[i].expr);
        if (node->learning) return 0;
        found += node->kind == WEFT_EXPR_MOD;
    }
    return found;
}

/* Finds how a term reads, once; nothing for one without MOD, and out of memory. */
static const weft_expr_node *read_term(weft_expr_context *exprs, weft_expr term)
{
    weft_expr_node *node = weft_expr_node_of(exprs, term);
    if (node->read || !node->has_mod) return node;
    size_t count, found = 0;
    const weft_term *factors = weft_expr_factors(exprs, term, &count);
    size_t mods = count_mods(exprs, factors, count);
    weft_expr_reading *readings = weft_arena_allocate(&exprs->arena, mods * sizeof *readings);
    if (readings == NULL) weft_expr_out_of_memory(exprs);
    if (mods == 0 || readings == NULL) return node;
    node->read = true;
    for (size_t i = 0; i < count; i++) {
        const weft_expr_node *factor = weft_expr_node_of(exprs, (weft_expr)factors[i].expr);
        if (factor->kind == WEFT_EXPR_MOD) readings[found++] = read_factor(exprs, term, factor);
    }
    node->readings = readings;
    node->reading_count = (uint32_t)found;
    return node;
}

/* ---- one MOD ---- */

/* Subtracting c * part only takes away from terms of `whole`, and adds none. */
static bool contains(weft_expr_view whole, weft_expr_view part, int64_t c)
{
    for (size_t i = 0; i < part.count; i++) {
        int64_t wanted, there = weft_expr_coefficient(whole, part.terms[i].expr);
        if (__builtin_mul_overflow(part.terms[i].coefficient, c, &wanted)) return false;
        if (wanted > 0 ? there < wanted : there > wanted) return false;
    }
    return part.count > 0;
}

/* Adding c * part removes terms of `whole`. */
static bool cancels(weft_expr_view whole, weft_expr_view part, int64_t c)
{
    for (size_t i = 0; i < part.count; i++) {
        int64_t added, there = weft_expr_coefficient(whole, part.terms[i].expr);
        if (__builtin_mul_overflow(part.terms[i].coefficient, c, &added)) return false;
        if (there == INT64_MIN || -there != added) return false;
    }
    return part.count > 0;
}

static weft_expr scaled(weft_expr_context *exprs, weft_expr e, int64_t c)
{
    return weft_expr_combine(exprs, e, c, weft_expr_constant(exprs, 0), 0);
}

static weft_expr without(weft_expr_context *exprs, weft_expr e, weft_term term)
{
    return weft_expr_sub(exprs, e, scaled(exprs, (weft_expr)term.expr, term.coefficient));
}

/* c*d*(x div d) + c*(x mod d) becomes c*x, and c*x - c*(x mod d) becomes c*d*(x div d). */
static weft_expr absorb(weft_expr_context *exprs, weft_expr e, mod_term m)
{
    const weft_expr_reading *r = m.reading;
    if (r->whole == WEFT_EXPR_NONE || r->x == WEFT_EXPR_NONE) return WEFT_EXPR_NONE;
    weft_expr_view view = weft_expr_view_of(exprs, e);
    bool absorbs = contains(view, weft_expr_view_of(exprs, r->whole), m.term.coefficient);
    if (!absorbs && !cancels(view, weft_expr_view_of(exprs, r->x), m.term.coefficient)) return WEFT_EXPR_NONE;
    weft_expr whole = scaled(exprs, r->whole, m.term.coefficient), x = scaled(exprs, r->x, m.term.coefficient);
    weft_expr rest = without(exprs, e, m.term);
    if (absorbs) return weft_expr_add(exprs, weft_expr_sub(exprs, rest, whole), x);
    return weft_expr_sub(exprs, weft_expr_add(exprs, rest, x), whole);
}

/* ---- two MODs ---- */

/* How x' = x + d*(z - x div d) continues: then x' mod d = x mod d and x' div d = z. */
static weft_expr continued(weft_expr_context *exprs, const weft_expr_node *mod, weft_expr z)
{
    if (mod->quotient == WEFT_EXPR_NONE) return WEFT_EXPR_NONE;
    weft_expr more = weft_expr_sub(exprs, z, mod->quotient);
    weft_expr_view view = weft_expr_view_of(exprs, z), left = weft_expr_view_of(exprs, more);
    if (more == WEFT_EXPR_NONE || left.count >= view.count) return WEFT_EXPR_NONE;
    weft_expr x = (weft_expr)mod->terms[0].expr, d = (weft_expr)mod->terms[1].expr;
    return weft_expr_add(exprs, x, weft_expr_mul(exprs, d, more));
}

/* c*d*((x div d) mod a) + c*(x mod d) becomes c*(x mod (a*d)); before `high` is d times what is before `low`. */
static weft_expr join(weft_expr_context *exprs, weft_expr e, mod_term low, mod_term high)
{
    const weft_expr_node *mod = low.reading->mod;
    weft_expr d = (weft_expr)mod->terms[1].expr, a = (weft_expr)high.reading->mod->terms[1].expr;
    if (mod == high.reading->mod) return WEFT_EXPR_NONE;
    weft_expr x = continued(exprs, mod, (weft_expr)high.reading->mod->terms[0].expr);
    if (x == WEFT_EXPR_NONE || !weft_expr_prove_positive(exprs, d, e, WEFT_EXPR_NONE) ||
        !weft_expr_prove_positive(exprs, a, e, WEFT_EXPR_NONE))
        return WEFT_EXPR_NONE;
    weft_expr whole = weft_expr_mod(exprs, x, weft_expr_mul(exprs, a, d));
    weft_expr joined = weft_expr_mul(exprs, scaled(exprs, low.reading->factor, low.term.coefficient), whole);
    return without(exprs, weft_expr_add(exprs, without(exprs, e, low.term), joined), high.term);
}

/* ---- which MODs may continue which ---- */

/* A term is coefficient * factor * (z mod a) with `atom` in z; the key by which what it continues finds it. */
typedef struct link {
    weft_expr atom, factor;
    int64_t coefficient;
    uint32_t term, reading;
} link;

typedef struct links {
    link *items;
    size_t count, capacity;
} links;

static bool link_reading(weft_expr_context *exprs, links *list, link made, const weft_expr_reading *reading)
{
    weft_expr_view z = weft_expr_view_of(exprs, (weft_expr)reading->mod->terms[0].expr);
    for (size_t i = 0; i < z.count; i++) {
        made.atom = (weft_expr)z.terms[i].expr;
        if (!weft_expr_node_of(exprs, made.atom)->in_quotient) continue;
        if (!weft_reserve(exprs->allocator, &list->items, &list->capacity, list->count + 1, sizeof made)) {
            weft_expr_out_of_memory(exprs);
            return false;
        }
        list->items[list->count++] = made;
    }
    return true;
}

static int compare_keys(const link *a, const link *b)
{
    if (a->atom != b->atom) return a->atom < b->atom ? -1 : 1;
    if (a->factor != b->factor) return a->factor < b->factor ? -1 : 1;
    return (a->coefficient > b->coefficient) - (a->coefficient < b->coefficient);
}

/* Of one key in the order of the sum. */
static int compare_links(const void *a, const void *b)
{
    const link *x = a, *y = b;
    int order = compare_keys(x, y);
    if (order != 0) return order;
    if (x->term != y->term) return x->term < y->term ? -1 : 1;
    return (x->reading > y->reading) - (x->reading < y->reading);
}

static bool find_links(weft_expr_context *exprs, weft_expr_view view, links *list)
{
    for (size_t t = 0; t < view.count; t++) {
        const weft_expr_node *term = read_term(exprs, (weft_expr)view.terms[t].expr);
        for (uint32_t i = 0; i < term->reading_count; i++) {
            link made = {.factor = term->readings[i].factor,
                         .coefficient = view.terms[t].coefficient,
                         .term = (uint32_t)t,
                         .reading = i};
            if (!link_reading(exprs, list, made, &term->readings[i])) return false;
        }
    }
    if (list->count > 1) qsort(list->items, list->count, sizeof *list->items, compare_links);
    return true;
}

/* What is before the MOD that continues `low`; false where none can, as it would not be a term. */
static bool find_key(weft_expr_context *exprs, mod_term low, link *out_key)
{
    weft_expr_view next = weft_expr_view_of(exprs, low.reading->next);
    if (low.reading->next == WEFT_EXPR_NONE || next.count + (next.offset != 0) != 1) return false;
    out_key->factor = next.count == 0 ? weft_expr_constant(exprs, 1) : (weft_expr)next.terms[0].expr;
    int64_t c = next.count == 0 ? next.offset : next.terms[0].coefficient;
    return !__builtin_mul_overflow(low.term.coefficient, c, &out_key->coefficient);
}

static size_t first_link(const links *list, const link *key)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compare_keys(&list->items[middle], key) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

static weft_expr join_any(weft_expr_context *exprs, weft_expr e, mod_term low, const links *list)
{
    link key = {0};
    weft_expr_view view = weft_expr_view_of(exprs, e), quotient = weft_expr_view_of(exprs, low.reading->mod->quotient);
    if (list->count == 0 || !find_key(exprs, low, &key)) return WEFT_EXPR_NONE;
    for (size_t q = 0; q < quotient.count; q++) {
        key.atom = (weft_expr)quotient.terms[q].expr;
        for (size_t i = first_link(list, &key); i < list->count && compare_keys(&list->items[i], &key) == 0; i++) {
            weft_term term = view.terms[list->items[i].term];
            const weft_expr_node *node = weft_expr_node_of(exprs, (weft_expr)term.expr);
            weft_expr joined = join(exprs, e, low, (mod_term){term, &node->readings[list->items[i].reading]});
            if (joined != WEFT_EXPR_NONE) return joined;
        }
    }
    return WEFT_EXPR_NONE;
}

/* ---- a sum ---- */

static weft_expr find_better(weft_expr_context *exprs, weft_expr e, const links *list)
{
    weft_expr_view view = weft_expr_view_of(exprs, e);
    for (size_t t = 0; t < view.count; t++) {
        const weft_expr_node *term = weft_expr_node_of(exprs, (weft_expr)view.terms[t].expr);
        for (uint32_t i = 0; i < term->reading_count; i++) {
            mod_term mod = {view.terms[t], &term->readings[i]};
            weft_expr better = absorb(exprs, e, mod);
            if (better == WEFT_EXPR_NONE) better = join_any(exprs, e, mod, list);
            if (better != WEFT_EXPR_NONE) return better;
        }
    }
    return e;
}

weft_expr weft_expr_improve(weft_expr_context *exprs, weft_expr e)
{
    weft_expr_node *node = weft_expr_node_of(exprs, e);
    if (node->kind != WEFT_EXPR_SUM || !node->has_mod) return e;
    if (node->settled) return node->better;
    if (exprs->depth >= WEFT_EXTENT_MAX_DEPTH) return e;
    links list = {0};
    node->settled = true;
    node->better = e;
    exprs->depth++;
    exprs->speculating++;
    if (find_links(exprs, weft_expr_view_of(exprs, e), &list)) node->better = find_better(exprs, e, &list);
    exprs->speculating--;
    exprs->depth--;
    weft_free(exprs->allocator, list.items, list.capacity * sizeof *list.items);
    return node->better;
}
