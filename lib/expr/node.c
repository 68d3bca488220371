/* SPDX-License-Identifier: Apache-2.0 */
/* Interning: the scratch lists that expressions are built from, and the table that makes equal ones one node. */
#include "lib/expr/node.h"

#include <string.h>

weft_expr weft_expr_out_of_memory(weft_expr_context *exprs)
{
    if (exprs->error == NULL) exprs->error = weft_status_out_of_memory();
    return WEFT_EXPR_NONE;
}

static bool push(weft_expr_context *exprs, weft_term term)
{
    if (!weft_reserve(exprs->allocator, &exprs->scratch, &exprs->scratch_capacity, exprs->scratch_count + 1,
                      sizeof *exprs->scratch)) {
        weft_expr_out_of_memory(exprs);
        return false;
    }
    exprs->scratch[exprs->scratch_count++] = term;
    return true;
}

/* The header is a term of its own, so that a whole list is the key of its node. */
weft_expr_list weft_expr_begin(weft_expr_context *exprs, weft_expr_kind kind, int64_t offset)
{
    weft_expr_list list = {.mark = exprs->scratch_count};
    list.failed = !push(exprs, (weft_term){offset, (uint64_t)kind});
    return list;
}

void weft_expr_push(weft_expr_context *exprs, weft_expr_list *list, int64_t coefficient, weft_expr e)
{
    if (e == WEFT_EXPR_NONE || list->failed || !push(exprs, (weft_term){coefficient, e})) list->failed = true;
}

static weft_expr abandon(weft_expr_context *exprs, const weft_expr_list *list)
{
    exprs->scratch_count = list->mark;
    return WEFT_EXPR_NONE;
}

/* An unregistered node of the list, its facts filled in; NULL with an error kept. */
static weft_expr_node *build(weft_expr_context *exprs, const weft_expr_list *list)
{
    const weft_term *header = exprs->scratch + list->mark;
    size_t count = exprs->scratch_count - list->mark - 1;
    weft_expr_node *node = weft_arena_allocate(&exprs->arena, sizeof *node);
    const weft_term *terms = count == 0 ? NULL : weft_arena_copy(&exprs->arena, header + 1, count * sizeof *terms);
    if (node == NULL || (count > 0 && terms == NULL)) {
        weft_expr_out_of_memory(exprs);
        return NULL;
    }
    *node = (weft_expr_node){
        .kind = (weft_expr_kind)header->expr, .value = header->coefficient, .count = (uint32_t)count, .terms = terms};
    return weft_expr_analyse(exprs, node) ? node : NULL;
}

static bool register_node(weft_expr_context *exprs, weft_expr_node *node)
{
    if (!weft_reserve(exprs->allocator, &exprs->nodes, &exprs->capacity, exprs->count + 1, sizeof *exprs->nodes)) {
        weft_expr_out_of_memory(exprs);
        return false;
    }
    node->id = (weft_expr)exprs->count;
    node->self = (weft_term){1, node->id};
    exprs->nodes[exprs->count++] = node;
    return true;
}

weft_expr weft_expr_intern(weft_expr_context *exprs, weft_expr_list *list)
{
    if (list->failed) return abandon(exprs, list);
    const weft_term *key = exprs->scratch + list->mark;
    size_t key_size = (exprs->scratch_count - list->mark) * sizeof *key;
    weft_expr_node *node = weft_map_find(&exprs->by_key, key, key_size);
    if (node != NULL) {
        exprs->scratch_count = list->mark;
        return node->id;
    }
    node = build(exprs, list);
    if (node == NULL) return abandon(exprs, list);
    if (node->kind != WEFT_EXPR_CONSTANT && weft_expr_is_point(node))
        node = weft_expr_node_of(exprs, weft_expr_constant(exprs, node->min));
    else if (!register_node(exprs, node)) return abandon(exprs, list);
    if (node == &exprs->none) return abandon(exprs, list);
    if (!weft_map_insert(&exprs->by_key, exprs->scratch + list->mark, key_size, node)) {
        weft_expr_out_of_memory(exprs);
        return abandon(exprs, list);
    }
    exprs->scratch_count = list->mark;
    return node->id;
}

/* Simplified pairs are memoized among the nodes, under kinds that no node has. */
enum { CHOSEN = WEFT_EXPR_MAX + 1 };

weft_expr weft_expr_recall(const weft_expr_context *exprs, weft_expr_kind kind, weft_expr a, weft_expr b)
{
    weft_term key[] = {{0, (uint64_t)CHOSEN + kind}, {1, a < b ? a : b}, {1, a < b ? b : a}};
    const weft_expr_node *node = weft_map_find(&exprs->by_key, key, sizeof key);
    return node == NULL ? WEFT_EXPR_NONE : node->id;
}

weft_expr weft_expr_remember(weft_expr_context *exprs, weft_expr_kind kind, weft_expr a, weft_expr b, weft_expr e)
{
    weft_term key[] = {{0, (uint64_t)CHOSEN + kind}, {1, a < b ? a : b}, {1, a < b ? b : a}};
    bool known = weft_map_find(&exprs->by_key, key, sizeof key) != NULL;
    if (e == WEFT_EXPR_NONE || known || weft_map_insert(&exprs->by_key, key, sizeof key, weft_expr_node_of(exprs, e)))
        return e;
    return weft_expr_out_of_memory(exprs);
}

weft_expr weft_expr_constant(weft_expr_context *exprs, int64_t value)
{
    weft_expr_list list = weft_expr_begin(exprs, WEFT_EXPR_CONSTANT, value);
    return weft_expr_intern(exprs, &list);
}

static const uint64_t *single_bit(weft_expr_context *exprs, size_t index)
{
    size_t words = index / 64 + 1;
    uint64_t *bits = weft_arena_allocate(&exprs->arena, words * sizeof *bits);
    if (bits == NULL) return NULL;
    memset(bits, 0, words * sizeof *bits);
    bits[index / 64] = UINT64_C(1) << (index % 64);
    return bits;
}

weft_expr weft_expr_add_symbol(weft_expr_context *exprs, const char *name, int64_t min, int64_t max, weft_expr bound)
{
    size_t index = exprs->symbol_count, length = strlen(name);
    weft_expr_node *node = weft_arena_allocate(&exprs->arena, sizeof *node);
    char *copy = weft_arena_string(&exprs->arena, name, length);
    const uint64_t *bits = single_bit(exprs, index);
    if (node == NULL || copy == NULL || bits == NULL) return weft_expr_out_of_memory(exprs);
    *node = (weft_expr_node){.kind = WEFT_EXPR_SYMBOL,
                             .parts = 1,
                             .min = min,
                             .max = max,
                             .total = true,
                             .divisor = min == max ? weft_expr_gcd(min, 0) : 1,
                             .shape = weft_hash(copy, length),
                             .name = copy,
                             .bound = bound,
                             .symbol = (uint32_t)index,
                             .symbols = bits,
                             .words = (uint32_t)(index / 64 + 1)};
    if (!weft_reserve(exprs->allocator, &exprs->symbols, &exprs->symbol_capacity, index + 1, sizeof *exprs->symbols) ||
        !weft_map_insert(&exprs->by_name, name, length, node))
        return weft_expr_out_of_memory(exprs);
    if (!register_node(exprs, node)) {
        weft_map_remove(&exprs->by_name, name, length);
        return WEFT_EXPR_NONE;
    }
    exprs->symbols[exprs->symbol_count++] = node->id;
    return node->id;
}

/* ---- sums ---- */

static void sort_terms(weft_term *terms, size_t count)
{
    static const size_t gaps[] = {1750, 701, 301, 132, 57, 23, 10, 4, 1};
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++) {
        size_t gap = gaps[g];
        for (size_t i = gap; i < count; i++) {
            weft_term term = terms[i];
            size_t j = i;
            for (; j >= gap && terms[j - gap].expr > term.expr; j -= gap) terms[j] = terms[j - gap];
            terms[j] = term;
        }
    }
}

/* Adds up equal neighbours and drops zeros; false on overflow. */
static bool merge_terms(weft_term *terms, size_t *count)
{
    size_t kept = 0;
    for (size_t i = 0; i < *count;) {
        weft_term term = terms[i++];
        for (; i < *count && terms[i].expr == term.expr; i++)
            if (__builtin_add_overflow(term.coefficient, terms[i].coefficient, &term.coefficient)) return false;
        if (term.coefficient != 0) terms[kept++] = term;
    }
    *count = kept;
    return true;
}

weft_expr weft_expr_sum(weft_expr_context *exprs, weft_expr_list *list)
{
    if (list->failed) return abandon(exprs, list);
    weft_term *terms = exprs->scratch + list->mark + 1;
    size_t count = exprs->scratch_count - list->mark - 1;
    sort_terms(terms, count);
    if (!merge_terms(terms, &count)) {
        abandon(exprs, list);
        return weft_expr_overflow(exprs);
    }
    exprs->scratch_count = list->mark + 1 + count;
    int64_t offset = exprs->scratch[list->mark].coefficient;
    if (count == 0) {
        abandon(exprs, list);
        return weft_expr_constant(exprs, offset);
    }
    if (count == 1 && offset == 0 && terms[0].coefficient == 1) {
        weft_expr only = (weft_expr)terms[0].expr;
        abandon(exprs, list);
        return only;
    }
    return weft_expr_intern(exprs, list);
}
