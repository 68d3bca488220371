/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about a node that follow from its operands: range, divisor, height, shape, symbols; and the order based on
 * them. */
#include "lib/expr/node.h"

#include <string.h>

/*
 * Bounds are taken wide, so that a least value beyond int64 is not mistaken for no bound: only INT64_MIN as a least and
 * INT64_MAX as a greatest value of a node are.
 */
__extension__ typedef __int128 wide;

#define UNBOUNDED ((wide)1 << 126)

typedef struct range {
    wide min, max;
} range;

static bool is_unbounded(wide v)
{
    return v >= UNBOUNDED || v <= -UNBOUNDED;
}

static int64_t narrow(wide v)
{
    return v < INT64_MIN ? INT64_MIN : v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

static range widen(int64_t min, int64_t max)
{
    return (range){min == INT64_MIN ? -UNBOUNDED : min, max == INT64_MAX ? UNBOUNDED : max};
}

/* Keeps intermediate bounds within what the wide type can multiply. */
static range rounded(range r)
{
    return widen(narrow(r.min), narrow(r.max));
}

static wide add_bounds(wide a, wide b)
{
    if (is_unbounded(a)) return a;
    return is_unbounded(b) ? b : a + b;
}

static wide mul_bounds(wide a, wide b)
{
    if (a == 0 || b == 0) return 0;
    if (is_unbounded(a) || is_unbounded(b)) return (a < 0) == (b < 0) ? UNBOUNDED : -UNBOUNDED;
    return a * b;
}

static wide div_bounds(wide a, wide b)
{
    if (is_unbounded(b)) return a == 0 || (a < 0) == (b < 0) ? 0 : -1;
    if (is_unbounded(a)) return (a < 0) == (b < 0) ? UNBOUNDED : -UNBOUNDED;
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static range corners(range a, range b, wide (*combine)(wide, wide))
{
    wide values[4] = {combine(a.min, b.min), combine(a.min, b.max), combine(a.max, b.min), combine(a.max, b.max)};
    range r = {values[0], values[0]};
    for (int i = 1; i < 4; i++) {
        if (values[i] < r.min) r.min = values[i];
        if (values[i] > r.max) r.max = values[i];
    }
    return r;
}

/* Where the divisor can be 0 nothing is computed, so only its positive and its negative values count. */
static range div_ranges(range a, range b)
{
    range positive = {b.min > 1 ? b.min : 1, b.max}, negative = {b.min, b.max < -1 ? b.max : -1};
    if (b.max <= 0) return corners(a, negative, div_bounds);
    range r = corners(a, positive, div_bounds);
    if (b.min >= 0) return r;
    range s = corners(a, negative, div_bounds);
    return (range){s.min < r.min ? s.min : r.min, s.max > r.max ? s.max : r.max};
}

static range mod_ranges(range a, range b)
{
    range r = {b.min < 0 ? add_bounds(b.min, 1) : 0, b.max > 0 ? add_bounds(b.max, -1) : 0};
    if (b.min >= 0 && a.min >= 0 && a.max < r.max) r.max = a.max;
    if (b.max <= 0 && a.max <= 0 && a.min > r.min) r.min = a.min;
    return r;
}

static range range_of(const weft_expr_context *exprs, const weft_expr_node *node, size_t i)
{
    const weft_expr_node *operand = weft_expr_node_of(exprs, (weft_expr)node->terms[i].expr);
    return widen(operand->min, operand->max);
}

static range sum_range(const weft_expr_context *exprs, const weft_expr_node *node)
{
    range r = {node->value, node->value};
    for (size_t i = 0; i < node->count; i++) {
        wide c = node->terms[i].coefficient;
        range t = range_of(exprs, node, i);
        t = rounded((range){mul_bounds(c, c > 0 ? t.min : t.max), mul_bounds(c, c > 0 ? t.max : t.min)});
        r = (range){add_bounds(r.min, t.min), add_bounds(r.max, t.max)};
    }
    return r;
}

static range product_range(const weft_expr_context *exprs, const weft_expr_node *node)
{
    range r = range_of(exprs, node, 0);
    for (size_t i = 1; i < node->count; i++) r = rounded(corners(r, range_of(exprs, node, i), mul_bounds));
    return r;
}

static range node_range(const weft_expr_context *exprs, const weft_expr_node *node)
{
    if (node->kind == WEFT_EXPR_CONSTANT) return (range){node->value, node->value};
    if (node->kind == WEFT_EXPR_SUM) return sum_range(exprs, node);
    if (node->kind == WEFT_EXPR_PRODUCT) return product_range(exprs, node);
    range a = range_of(exprs, node, 0), b = range_of(exprs, node, 1);
    if (node->kind == WEFT_EXPR_DIV) return div_ranges(a, b);
    if (node->kind == WEFT_EXPR_MOD) return mod_ranges(a, b);
    if (node->kind == WEFT_EXPR_MIN) return (range){a.min < b.min ? a.min : b.min, a.max < b.max ? a.max : b.max};
    return (range){a.min > b.min ? a.min : b.min, a.max > b.max ? a.max : b.max};
}

static int64_t mul_divisors(int64_t a, int64_t b)
{
    int64_t product;
    if (!__builtin_mul_overflow(a, b, &product)) return product;
    return a > b ? a : b;
}

static int64_t divisor_of(const weft_expr_context *exprs, const weft_expr_node *node, size_t i)
{
    return weft_expr_node_of(exprs, (weft_expr)node->terms[i].expr)->divisor;
}

static int64_t div_divisor(const weft_expr_context *exprs, const weft_expr_node *node)
{
    int64_t divisor = divisor_of(exprs, node, 0);
    int64_t by;
    bool known = weft_expr_is_constant(exprs, (weft_expr)node->terms[1].expr, &by);
    return known && by > 0 && divisor % by == 0 ? divisor / by : 1;
}

static int64_t node_divisor(const weft_expr_context *exprs, const weft_expr_node *node)
{
    if (node->kind == WEFT_EXPR_DIV) return div_divisor(exprs, node);
    bool product = node->kind == WEFT_EXPR_PRODUCT;
    int64_t divisor = product ? 1 : weft_expr_gcd(node->value, 0);
    for (size_t i = 0; i < node->count && (product || divisor != 1); i++) {
        int64_t c = weft_expr_gcd(node->terms[i].coefficient, 0), d = mul_divisors(c, divisor_of(exprs, node, i));
        divisor = product ? mul_divisors(divisor, d) : weft_expr_gcd(divisor, d);
    }
    return divisor;
}

static bool covers(const weft_expr_node *node, const weft_expr_node *operand)
{
    if (operand->words > node->words) return false;
    for (uint32_t w = 0; w < operand->words; w++)
        if ((operand->symbols[w] & ~node->symbols[w]) != 0) return false;
    return true;
}

/* Words of the longest set of an operand. */
static uint32_t most_words(const weft_expr_context *exprs, const weft_expr_node *node)
{
    uint32_t words = 0;
    for (uint32_t i = 0; i < node->count; i++) {
        const weft_expr_node *operand = weft_expr_node_of(exprs, (weft_expr)node->terms[i].expr);
        if (operand->words > words) words = operand->words;
    }
    return words;
}

/* Shares the set of an operand where one holds all; else makes one, which the later operands are added to. */
static bool unite_symbols(weft_expr_context *exprs, weft_expr_node *node, const weft_expr_node *operand, uint64_t **own)
{
    if (covers(node, operand)) return true;
    if (*own == NULL && covers(operand, node)) {
        node->symbols = operand->symbols;
        node->words = operand->words;
        return true;
    }
    if (*own == NULL) {
        uint32_t words = most_words(exprs, node);
        *own = weft_arena_allocate(&exprs->arena, words * sizeof **own);
        if (*own == NULL) return false;
        for (uint32_t w = 0; w < words; w++) (*own)[w] = w < node->words ? node->symbols[w] : 0;
        node->symbols = *own;
        node->words = words;
    }
    for (uint32_t w = 0; w < operand->words; w++) (*own)[w] |= operand->symbols[w];
    return true;
}

/* Of a node whose range is known: nothing overflows and no divisor is zero. */
static bool is_total(const weft_expr_context *exprs, const weft_expr_node *node)
{
    bool total = node->count == 0 || weft_expr_is_choice(node) || (node->min != INT64_MIN && node->max != INT64_MAX);
    for (uint32_t i = 0; i < node->count && total; i++) {
        const weft_expr_node *operand = weft_expr_node_of(exprs, (weft_expr)node->terms[i].expr);
        bool divides = i == 1 && (node->kind == WEFT_EXPR_DIV || node->kind == WEFT_EXPR_MOD);
        total = operand->total && !(divides && operand->min <= 0 && operand->max >= 0);
    }
    return total;
}

/* Sums, products and choices have their operands in any order. */
static uint64_t shape_of(const weft_expr_context *exprs, const weft_expr_node *node)
{
    bool ordered = node->kind == WEFT_EXPR_DIV || node->kind == WEFT_EXPR_MOD;
    uint64_t all = 0;
    for (uint32_t i = 0; i < node->count; i++) {
        uint64_t operand = weft_expr_node_of(exprs, (weft_expr)node->terms[i].expr)->shape;
        uint64_t part[] = {ordered ? i : 0, (uint64_t)node->terms[i].coefficient, operand};
        all += weft_hash(part, sizeof part);
    }
    uint64_t whole[] = {(uint64_t)node->kind, (uint64_t)node->value, all};
    return weft_hash(whole, sizeof whole);
}

bool weft_expr_analyse(weft_expr_context *exprs, weft_expr_node *node)
{
    range r = node_range(exprs, node);
    node->min = narrow(r.min);
    node->max = narrow(r.max);
    node->divisor = node_divisor(exprs, node);
    node->total = is_total(exprs, node);
    node->shape = shape_of(exprs, node);
    node->has_mod = node->kind == WEFT_EXPR_MOD;
    node->parts = 1;
    uint64_t *own = NULL;
    for (uint32_t i = 0; i < node->count; i++) {
        const weft_expr_node *operand = weft_expr_node_of(exprs, (weft_expr)node->terms[i].expr);
        if (operand->height + 1 > node->height) node->height = operand->height + 1;
        if (__builtin_add_overflow(node->parts, operand->parts, &node->parts)) node->parts = UINT32_MAX;
        if (node->kind == WEFT_EXPR_SUM || node->kind == WEFT_EXPR_PRODUCT) node->has_mod |= operand->has_mod;
        node->has_choice |= node->kind == WEFT_EXPR_SUM && weft_expr_is_choice(operand);
        if (!unite_symbols(exprs, node, operand, &own)) {
            if (exprs->error == NULL) exprs->error = weft_status_out_of_memory();
            return false;
        }
    }
    if (node->height <= WEFT_EXTENT_MAX_HEIGHT && node->count <= WEFT_EXTENT_MAX_TERMS) return true;
    if (exprs->speculating == 0)
        weft_expr_fail(exprs, WEFT_OUT_OF_RANGE,
                       "an extent expression has %u terms and is nested %u deep, where %d and %d are the most",
                       node->count, node->height, WEFT_EXTENT_MAX_TERMS, WEFT_EXTENT_MAX_HEIGHT);
    return false;
}

/* ---- the order of operands ---- */

size_t weft_expr_rank(const weft_expr_node *node)
{
    if (node->kind == WEFT_EXPR_SYMBOL) return node->symbol;
    return node->kind == WEFT_EXPR_CONSTANT ? SIZE_MAX : SIZE_MAX / 2 + (size_t)node->kind;
}

/* The symbol made first that one of them has and the other not decides: negative where `a` has it. */
static int compare_symbols(const weft_expr_node *a, const weft_expr_node *b)
{
    for (uint32_t w = 0; w < a->words || w < b->words; w++) {
        uint64_t x = w < a->words ? a->symbols[w] : 0, y = w < b->words ? b->symbols[w] : 0, apart = x ^ y;
        if (apart != 0) return (x & apart & (0 - apart)) != 0 ? -1 : 1;
    }
    return 0;
}

bool weft_expr_precedes(const weft_expr_context *exprs, weft_expr a, weft_expr b)
{
    const weft_expr_node *x = weft_expr_node_of(exprs, a), *y = weft_expr_node_of(exprs, b);
    size_t rank = weft_expr_rank(x), other = weft_expr_rank(y);
    if (rank != other) return rank < other;
    if (x->parts != y->parts) return x->parts < y->parts;
    int order = compare_symbols(x, y);
    if (order != 0) return order < 0;
    if (x->value != y->value) return x->value < y->value;
    return x->shape != y->shape ? x->shape < y->shape : a < b;
}
