/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of expressions.
 *     sum     = product { ("+" | "-") product }
 *     product = factor { ("*" | "/" | "mod") factor }
 *     factor  = "-" factor | integer | symbol | ("min" | "max") "(" sum "," sum ")" | "(" sum ")"
 * "->" is never a minus. What is printed parses back to the same expression, and equal expressions of two contexts with
 * their symbols in the same order print alike: operands come in an order of their own. That of ids would depend on what
 * was made first.
 */
#include "lib/expr/node.h"

#include <inttypes.h>
#include <string.h>

#define MAX_NESTING WEFT_EXTENT_MAX_HEIGHT

/* ---- printing ---- */

typedef enum level { LEVEL_SUM, LEVEL_PRODUCT, LEVEL_FACTOR } level;

static void print(const weft_expr_context *exprs, weft_expr e, level wanted, weft_bytes *text);

static level level_of(const weft_expr_node *node)
{
    switch (node->kind) {
    case WEFT_EXPR_SUM: return node->count == 1 && node->value == 0 ? LEVEL_PRODUCT : LEVEL_SUM;
    case WEFT_EXPR_PRODUCT:
    case WEFT_EXPR_DIV:
    case WEFT_EXPR_MOD: return LEVEL_PRODUCT;
    default: return LEVEL_FACTOR;
    }
}

static bool is_division(const weft_expr_context *exprs, weft_expr e)
{
    weft_expr_kind kind = weft_expr_kind_of(exprs, e);
    return kind == WEFT_EXPR_DIV || kind == WEFT_EXPR_MOD;
}

/* ---- operands in order: symbols as they were made, then terms by kind and text, constants last ---- */

typedef struct part {
    size_t rank;
    size_t start, length; /* in the common text */
    uint32_t operand;
} part;

typedef struct parts {
    part *items;
    size_t count;
    weft_bytes text;
} parts;

static bool comes_before(const parts *list, const part *a, const part *b)
{
    if (a->rank != b->rank) return a->rank < b->rank;
    size_t shorter = a->length < b->length ? a->length : b->length;
    int order = memcmp(list->text.data + a->start, list->text.data + b->start, shorter);
    return order != 0 ? order < 0 : a->length < b->length;
}

static void parts_finish(parts *list, const weft_expr_node *node, weft_bytes *text)
{
    text->failed = text->failed || list->text.failed;
    weft_free(text->allocator, list->items, node->count * sizeof *list->items);
    weft_bytes_finish(&list->text);
}

/* The operands of `node`, each printed as `wanted`; none and a failed text when out of memory. */
static void parts_init(parts *list, const weft_expr_context *exprs, const weft_expr_node *node, level wanted,
                       weft_bytes *text)
{
    *list = (parts){.items = weft_allocate(text->allocator, node->count * sizeof *list->items)};
    weft_bytes_init(&list->text, text->allocator);
    list->text.failed = list->items == NULL;
    for (uint32_t i = 0; i < node->count && !list->text.failed; i++) {
        weft_expr e = (weft_expr)node->terms[i].expr;
        part made = {.rank = weft_expr_rank(weft_expr_node_of(exprs, e)), .start = list->text.size, .operand = i};
        print(exprs, e, wanted, &list->text);
        made.length = list->text.size - made.start;
        size_t at = list->text.failed ? 0 : list->count++;
        for (; at > 0 && comes_before(list, &made, &list->items[at - 1]); at--) list->items[at] = list->items[at - 1];
        list->items[at] = made;
    }
    if (list->text.failed) list->count = 0;
}

static void print_part(const parts *list, size_t i, weft_bytes *text)
{
    weft_bytes_append(text, list->text.data + list->items[i].start, list->items[i].length);
}

/* ---- expressions ---- */

/* A leading minus binds tighter than a division, so that one is bracketed after it. */
static void print_term(const weft_expr_context *exprs, const parts *list, size_t i, weft_term term, weft_bytes *text)
{
    bool first = i == 0, minus = term.coefficient < 0 && (first || term.coefficient != INT64_MIN);
    uint64_t size = term.coefficient < 0 ? 0 - (uint64_t)term.coefficient : (uint64_t)term.coefficient;
    if (minus || !first) weft_bytes_print(text, first ? "-" : minus ? " - " : " + ");
    if (!minus && term.coefficient < 0) weft_bytes_print(text, "-");
    if (size != 1) weft_bytes_print(text, "%" PRIu64 "*", size);
    bool bracket = (size != 1 || (first && minus)) && is_division(exprs, (weft_expr)term.expr);
    if (bracket) weft_bytes_print(text, "(");
    print_part(list, i, text);
    if (bracket) weft_bytes_print(text, ")");
}

static void print_sum(const weft_expr_context *exprs, const weft_expr_node *node, weft_bytes *text)
{
    parts list;
    parts_init(&list, exprs, node, LEVEL_PRODUCT, text);
    for (size_t i = 0; i < list.count; i++) print_term(exprs, &list, i, node->terms[list.items[i].operand], text);
    parts_finish(&list, node, text);
    bool minus = node->value < 0 && node->value != INT64_MIN; /* that one is no number without its sign */
    if (node->value != 0) weft_bytes_print(text, minus ? " - " : " + ");
    if (node->value != 0) weft_bytes_print(text, "%" PRId64, minus ? -node->value : node->value);
}

/* Operands whose order means nothing, with `separator` between them. */
static void print_list(const weft_expr_context *exprs, const weft_expr_node *node, level wanted, const char *separator,
                       weft_bytes *text)
{
    parts list;
    parts_init(&list, exprs, node, wanted, text);
    for (size_t i = 0; i < list.count; i++) {
        if (i > 0) weft_bytes_print(text, "%s", separator);
        print_part(&list, i, text);
    }
    parts_finish(&list, node, text);
}

static void print_pair(const weft_expr_context *exprs, const weft_expr_node *node, weft_bytes *text)
{
    if (node->kind == WEFT_EXPR_MIN || node->kind == WEFT_EXPR_MAX) {
        weft_bytes_print(text, node->kind == WEFT_EXPR_MIN ? "min(" : "max(");
        print_list(exprs, node, LEVEL_SUM, ", ", text);
        weft_bytes_print(text, ")");
        return;
    }
    print(exprs, (weft_expr)node->terms[0].expr, LEVEL_PRODUCT, text);
    weft_bytes_print(text, node->kind == WEFT_EXPR_DIV ? " / " : " mod ");
    print(exprs, (weft_expr)node->terms[1].expr, LEVEL_FACTOR, text);
}

static void print(const weft_expr_context *exprs, weft_expr e, level wanted, weft_bytes *text)
{
    const weft_expr_node *node = weft_expr_node_of(exprs, e);
    bool bracket = level_of(node) < wanted;
    if (bracket) weft_bytes_print(text, "(");
    switch (node->kind) {
    case WEFT_EXPR_CONSTANT: weft_bytes_print(text, "%" PRId64, node->value); break;
    case WEFT_EXPR_SYMBOL: weft_bytes_print(text, "%s", node->name); break;
    case WEFT_EXPR_SUM: print_sum(exprs, node, text); break;
    case WEFT_EXPR_PRODUCT: print_list(exprs, node, LEVEL_FACTOR, "*", text); break;
    default: print_pair(exprs, node, text); break;
    }
    if (bracket) weft_bytes_print(text, ")");
}

void weft_expr_print(const weft_expr_context *exprs, weft_expr e, weft_bytes *out_text)
{
    if (e == WEFT_EXPR_NONE) weft_bytes_print(out_text, "none");
    else print(exprs, e, LEVEL_SUM, out_text);
}

/* ---- parsing ---- */

typedef struct parser {
    weft_expr_context *exprs;
    const char *cursor;
    int nesting;
} parser;

static weft_status *parse_sum(parser *p, weft_expr *out_expr);

static void skip_space(parser *p)
{
    while (*p->cursor == ' ' || *p->cursor == '\t' || *p->cursor == '\n' || *p->cursor == '\r') p->cursor++;
}

static bool is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

static size_t name_length(const char *text)
{
    size_t length = 0;
    while (is_name_character(text[length])) length++;
    return length;
}

/* Describes the unexpected word, or else character, at `at`. */
static weft_status *fail(const parser *p, weft_code code, const char *what, const char *at)
{
    const weft_allocator *allocator = p->exprs->allocator;
    if (*at == '\0')
        return weft_status_create(allocator, code, NULL, "an extent expression %s the end of the text", what);
    size_t length = name_length(at);
    int shown = length == 0 ? 1 : length < 40 ? (int)length : 40;
    return weft_status_create(allocator, code, NULL, "an extent expression %s '%.*s'", what, shown, at);
}

/* The result of an operation, or its error if there is no result. */
static weft_status *take(parser *p, weft_expr e, weft_expr *out_expr)
{
    if (e != WEFT_EXPR_NONE) {
        *out_expr = e;
        return NULL;
    }
    weft_status *error = weft_expr_context_take_error(p->exprs);
    return error != NULL ? error : weft_status_out_of_memory();
}

static weft_status *expect(parser *p, char c)
{
    skip_space(p);
    char what[] = "needs ' ' before";
    what[7] = c;
    if (*p->cursor != c) return fail(p, WEFT_PARSE_ERROR, what, p->cursor);
    p->cursor++;
    return NULL;
}

static weft_status *parse_integer(parser *p, bool minus, weft_expr *out_expr)
{
    const char *start = p->cursor;
    uint64_t value = 0, limit = minus ? UINT64_C(1) << 63 : INT64_MAX;
    for (; *p->cursor >= '0' && *p->cursor <= '9'; p->cursor++) {
        uint64_t digit = (uint64_t)(*p->cursor - '0');
        if (value > (limit - digit) / 10) return fail(p, WEFT_OUT_OF_RANGE, "has a number beyond 64 bits:", start);
        value = value * 10 + digit;
    }
    if (is_name_character(*p->cursor)) return fail(p, WEFT_PARSE_ERROR, "has a malformed number:", start);
    int64_t number = !minus ? (int64_t)value : value == limit ? INT64_MIN : -(int64_t)value;
    return take(p, weft_expr_constant(p->exprs, number), out_expr);
}

static weft_status *parse_call(parser *p, bool min, weft_expr *out_expr)
{
    weft_expr a, b;
    WEFT_TRY(expect(p, '('));
    WEFT_TRY(parse_sum(p, &a));
    WEFT_TRY(expect(p, ','));
    WEFT_TRY(parse_sum(p, &b));
    WEFT_TRY(expect(p, ')'));
    return take(p, min ? weft_expr_min(p->exprs, a, b) : weft_expr_max(p->exprs, a, b), out_expr);
}

static weft_status *parse_name(parser *p, weft_expr *out_expr)
{
    const char *start = p->cursor;
    size_t length = name_length(start);
    bool min = length == 3 && memcmp(start, "min", 3) == 0, max = length == 3 && memcmp(start, "max", 3) == 0;
    p->cursor += length;
    if (min || max) return parse_call(p, min, out_expr);
    const weft_expr_node *node = weft_map_find(&p->exprs->by_name, start, length);
    if (node == NULL) return fail(p, WEFT_NOT_FOUND, "names a symbol that does not exist:", start);
    *out_expr = node->id;
    return NULL;
}

static weft_status *parse_factor(parser *p, weft_expr *out_expr);

static weft_status *parse_minus(parser *p, weft_expr *out_expr)
{
    p->cursor++;
    if (*p->cursor >= '0' && *p->cursor <= '9') return parse_integer(p, true, out_expr);
    weft_expr operand;
    WEFT_TRY(parse_factor(p, &operand));
    return take(p, weft_expr_combine(p->exprs, operand, -1, operand, 0), out_expr);
}

static weft_status *parse_open_factor(parser *p, weft_expr *out_expr)
{
    char c = *p->cursor;
    if (c == '-') return parse_minus(p, out_expr);
    if (c >= '0' && c <= '9') return parse_integer(p, false, out_expr);
    if (c == '(') {
        p->cursor++;
        WEFT_TRY(parse_sum(p, out_expr));
        return expect(p, ')');
    }
    if (is_name_character(c) && c != '.') return parse_name(p, out_expr);
    return fail(p, WEFT_PARSE_ERROR, "needs a number, a symbol or '(' at", p->cursor);
}

static weft_status *parse_factor(parser *p, weft_expr *out_expr)
{
    skip_space(p);
    if (p->nesting == MAX_NESTING) return fail(p, WEFT_PARSE_ERROR, "is nested too deep at", p->cursor);
    p->nesting++;
    weft_status *status = parse_open_factor(p, out_expr);
    p->nesting--;
    return status;
}

/* '*', '/', '%' for mod, or 0; the cursor moves after an operator. */
static char next_product_operator(parser *p)
{
    const char *before = p->cursor;
    skip_space(p);
    if (*p->cursor == '*' || *p->cursor == '/') return *p->cursor++;
    if (name_length(p->cursor) == 3 && memcmp(p->cursor, "mod", 3) == 0) {
        p->cursor += 3;
        return '%';
    }
    p->cursor = before;
    return 0;
}

static weft_status *parse_product(parser *p, weft_expr *out_expr)
{
    weft_expr left, right;
    WEFT_TRY(parse_factor(p, &left));
    for (char op; (op = next_product_operator(p)) != 0;) {
        WEFT_TRY(parse_factor(p, &right));
        weft_expr e = op == '*'   ? weft_expr_mul(p->exprs, left, right)
                      : op == '/' ? weft_expr_div(p->exprs, left, right)
                                  : weft_expr_mod(p->exprs, left, right);
        WEFT_TRY(take(p, e, &left));
    }
    *out_expr = left;
    return NULL;
}

static char next_sum_operator(parser *p)
{
    const char *before = p->cursor;
    skip_space(p);
    if (*p->cursor == '+' || (*p->cursor == '-' && p->cursor[1] != '>')) return *p->cursor++;
    p->cursor = before;
    return 0;
}

static weft_status *parse_sum(parser *p, weft_expr *out_expr)
{
    weft_expr left, right;
    WEFT_TRY(parse_product(p, &left));
    for (char op; (op = next_sum_operator(p)) != 0;) {
        WEFT_TRY(parse_product(p, &right));
        WEFT_TRY(take(p, weft_expr_combine(p->exprs, left, 1, right, op == '+' ? 1 : -1), &left));
    }
    *out_expr = left;
    return NULL;
}

weft_status *weft_expr_parse(weft_expr_context *exprs, const char **cursor, weft_expr *out_expr)
{
    parser p = {.exprs = exprs, .cursor = *cursor};
    WEFT_TRY(parse_sum(&p, out_expr));
    *cursor = p.cursor;
    return NULL;
}
