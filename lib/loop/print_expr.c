/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/print_expr.h"
#include <inttypes.h>
#include <string.h>

typedef struct printer {
    const weft_expr_context *exprs;
    const weft_range_names *names;
} printer;

/* The text of an operand, in a common buffer. */
typedef struct piece {
    bool negative;
    size_t start, length;
} piece;

typedef struct pieces {
    const weft_allocator *allocator;
    piece *items;
    size_t count, capacity;
    weft_bytes text;
} pieces;

static void print(const printer *p, weft_expr e, weft_bytes *out_text);

void weft_loop_print_range_name(const weft_range_names *names, uint32_t number, weft_bytes *out_text)
{
    for (size_t i = 0; i < names->letters; i++) weft_bytes_append(out_text, "i", 1);
    weft_bytes_print(out_text, "%" PRIu32, number);
}

/* Among the symbols that are no loop variables. */
static size_t number_of(const weft_expr_context *exprs, weft_expr symbol)
{
    size_t number = 0;
    for (size_t s = 0; weft_expr_context_symbol(exprs, s) != symbol; s++)
        number += weft_expr_bound(exprs, weft_expr_context_symbol(exprs, s)) == WEFT_EXPR_NONE;
    return number;
}

void weft_loop_print_symbol_name(const weft_expr_context *exprs, const weft_range_names *names, weft_expr symbol,
                                 weft_bytes *out_text)
{
    if (names->numbered) weft_bytes_print(out_text, "s%zu", number_of(exprs, symbol));
    else weft_bytes_print(out_text, "%s", weft_expr_name(exprs, symbol));
}

static void print_symbol(const printer *p, weft_expr e, weft_bytes *out_text)
{
    const weft_range_names *names = p->names;
    for (uint32_t r = 0; r < names->outer_count + names->inner_count; r++) {
        bool outer = r < names->outer_count;
        const weft_range *range = outer ? &names->outer[r] : &names->inner[r - names->outer_count];
        if (range->variable != e) continue;
        weft_loop_print_range_name(names, outer ? r : names->inner_first + r - names->outer_count, out_text);
        return;
    }
    weft_loop_print_symbol_name(p->exprs, names, e, out_text);
}

/* As an operand of "*", "/" and "mod". */
static void print_factor(const printer *p, weft_expr e, weft_bytes *out_text)
{
    weft_expr_kind kind = weft_expr_kind_of(p->exprs, e);
    int64_t value = 0;
    bool negative = kind == WEFT_EXPR_CONSTANT && weft_expr_is_constant(p->exprs, e, &value) && value < 0;
    bool atom =
        kind == WEFT_EXPR_SYMBOL || kind == WEFT_EXPR_MIN || kind == WEFT_EXPR_MAX || kind == WEFT_EXPR_CONSTANT;
    bool bare = atom && !negative;
    if (!bare) weft_bytes_append(out_text, "(", 1);
    print(p, e, out_text);
    if (!bare) weft_bytes_append(out_text, ")", 1);
}

/* ---- operands in an order that depends on nothing but their texts ---- */

static bool comes_before(const pieces *list, const piece *a, const piece *b)
{
    if (a->negative != b->negative) return b->negative;
    size_t shorter = a->length < b->length ? a->length : b->length;
    int order = memcmp(list->text.data + a->start, list->text.data + b->start, shorter);
    return order != 0 ? order < 0 : a->length < b->length;
}

/* Sorts in the piece whose text begins at `start`. */
static void insert(pieces *list, bool negative, size_t start)
{
    if (list->text.failed) return;
    if (!weft_reserve(list->allocator, &list->items, &list->capacity, list->count + 1, sizeof *list->items)) {
        list->text.failed = true;
        return;
    }
    piece new_piece = {negative, start, list->text.size - start};
    size_t at = list->count++;
    for (; at > 0 && comes_before(list, &new_piece, &list->items[at - 1]); at--) list->items[at] = list->items[at - 1];
    list->items[at] = new_piece;
}

static void start_pieces(pieces *list, const weft_bytes *out_text)
{
    *list = (pieces){.allocator = out_text->allocator};
    weft_bytes_init(&list->text, out_text->allocator);
}

/* Writes the pieces out; the first is signed only if it is negative. */
static void finish_pieces(pieces *list, const char *plus, weft_bytes *out_text)
{
    for (size_t i = 0; i < list->count && !list->text.failed; i++) {
        const piece *item = &list->items[i];
        const char *sign = item->negative ? (i == 0 ? "-" : " - ") : (i == 0 ? "" : plus);
        weft_bytes_append(out_text, sign, strlen(sign));
        weft_bytes_append(out_text, list->text.data + item->start, item->length);
    }
    out_text->failed = out_text->failed || list->text.failed;
    weft_free(list->allocator, list->items, list->capacity * sizeof *list->items);
    weft_bytes_finish(&list->text);
}

/* A product, or a single factor. */
static void print_term(const printer *p, weft_expr e, weft_bytes *out_text)
{
    weft_expr_kind kind = weft_expr_kind_of(p->exprs, e);
    if (kind != WEFT_EXPR_PRODUCT) {
        print_factor(p, e, out_text);
        return;
    }
    pieces list;
    start_pieces(&list, out_text);
    for (size_t i = 0; i < weft_expr_arity(p->exprs, e); i++) {
        size_t start = list.text.size;
        print_factor(p, weft_expr_operand(p->exprs, e, i), &list.text);
        insert(&list, false, start);
    }
    finish_pieces(&list, "*", out_text);
}

static void print_sum(const printer *p, weft_expr e, weft_bytes *out_text)
{
    pieces list;
    start_pieces(&list, out_text);
    for (size_t i = 0; i < weft_expr_arity(p->exprs, e); i++) {
        size_t start = list.text.size;
        int64_t coefficient = weft_expr_coefficient_of(p->exprs, e, i);
        bool negative = coefficient < 0 && coefficient != INT64_MIN; /* whose opposite could not be read back */
        int64_t factor = negative ? -coefficient : coefficient;
        if (factor != 1) weft_bytes_print(&list.text, "%" PRId64 "*", factor);
        print_term(p, weft_expr_operand(p->exprs, e, i), &list.text);
        insert(&list, negative, start);
    }
    finish_pieces(&list, " + ", out_text);
    int64_t offset = weft_expr_offset(p->exprs, e);
    if (offset < 0 && offset != INT64_MIN) weft_bytes_print(out_text, " - %" PRId64, -offset);
    else if (offset != 0) weft_bytes_print(out_text, " + %" PRId64, offset);
}

static void print_choice(const printer *p, weft_expr e, const char *name, weft_bytes *out_text)
{
    weft_bytes_print(out_text, "%s(", name);
    pieces list;
    start_pieces(&list, out_text);
    for (size_t i = 0; i < 2; i++) {
        size_t start = list.text.size;
        print(p, weft_expr_operand(p->exprs, e, i), &list.text);
        insert(&list, false, start);
    }
    finish_pieces(&list, ", ", out_text);
    weft_bytes_append(out_text, ")", 1);
}

static void print_quotient(const printer *p, weft_expr e, const char *sign, weft_bytes *out_text)
{
    print_factor(p, weft_expr_operand(p->exprs, e, 0), out_text);
    weft_bytes_print(out_text, " %s ", sign);
    print_factor(p, weft_expr_operand(p->exprs, e, 1), out_text);
}

static void print(const printer *p, weft_expr e, weft_bytes *out_text)
{
    int64_t value = 0;
    switch (weft_expr_kind_of(p->exprs, e)) {
    case WEFT_EXPR_CONSTANT:
        weft_expr_is_constant(p->exprs, e, &value);
        weft_bytes_print(out_text, "%" PRId64, value);
        break;
    case WEFT_EXPR_SYMBOL: print_symbol(p, e, out_text); break;
    case WEFT_EXPR_SUM: print_sum(p, e, out_text); break;
    case WEFT_EXPR_PRODUCT: print_term(p, e, out_text); break;
    case WEFT_EXPR_DIV: print_quotient(p, e, "/", out_text); break;
    case WEFT_EXPR_MOD: print_quotient(p, e, "mod", out_text); break;
    case WEFT_EXPR_MIN: print_choice(p, e, "min", out_text); break;
    case WEFT_EXPR_MAX: print_choice(p, e, "max", out_text); break;
    }
}

void weft_loop_print_expr(const weft_expr_context *exprs, const weft_range_names *names, weft_expr e,
                          weft_bytes *out_text)
{
    printer p = {exprs, names};
    print(&p, e, out_text);
}
