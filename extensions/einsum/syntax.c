/* SPDX-License-Identifier: Apache-2.0 */
#include "syntax.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* While parsing, results are counted from here; how many operands there are is known only at the end. */
#define FIRST_RESULT (SIZE_MAX / 2)

/* An open group and what its items so far contract to. */
typedef struct group {
    size_t column, value;
} group;

typedef struct parser {
    einsum_arena *arena;
    const char *what; /* the text is, in messages */
    const char *text, *at;
    bool nested, numbered;
    einsum_syntax *out;
    size_t depth, pair_count;
    group *groups;   /* the innermost open one is groups[depth] */
    int64_t *labels; /* room for all that may come */
    size_t *columns;
} parser;

static weft_status *refuse(const parser *p, const char *at, const char *format, ...) WEFT_FORMAT(3, 4);

static weft_status *refuse(const parser *p, const char *at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    weft_status *plain = weft_status_create_v(p->arena->allocator, WEFT_PARSE_ERROR, NULL, format, arguments);
    va_end(arguments);
    if (weft_status_code(plain) == WEFT_OUT_OF_MEMORY) return plain;
    weft_status *placed =
        weft_status_create(p->arena->allocator, WEFT_PARSE_ERROR, "weft_einsum", "einsum: byte %zu of the %s: %s",
                           (size_t)(at - p->text) + 1, p->what, weft_status_message(plain));
    weft_status_destroy(plain);
    return placed;
}

static void skip_spaces(parser *p)
{
    while (*p->at == ' ' || (*p->at >= '\t' && *p->at <= '\r')) p->at++;
}

static bool take(parser *p, char c)
{
    skip_spaces(p);
    bool found = *p->at == c;
    p->at += found;
    return found;
}

/* ---- labels ---- */

/* The length of the code point at `bytes`, 0 when they are not UTF-8; overlong forms and surrogates are not. */
static size_t decode(const unsigned char *bytes, int64_t *out_point)
{
    static const int64_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = bytes[0];
    size_t length = lead < 0x80 ? 1 : lead >> 5 == 0x6 ? 2 : lead >> 4 == 0xe ? 3 : lead >> 3 == 0x1e ? 4 : 0;
    if (length == 0) return 0;
    int64_t point = length == 1 ? lead : lead & (0x7f >> length);
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80) return 0;
        point = point << 6 | (bytes[i] & 0x3f);
    }
    bool surrogate = point >= 0xd800 && point <= 0xdfff;
    *out_point = point;
    return point < least[length] || point > 0x10ffff || surrogate ? 0 : length;
}

static weft_status *parse_point(parser *p, int64_t *out_label)
{
    size_t length = decode((const unsigned char *)p->at, out_label);
    if (length == 0) return refuse(p, p->at, "the bytes from 0x%02x on are not UTF-8", (unsigned char)*p->at);
    if (*out_label < ' ' || (*out_label >= 0x7f && *out_label < 0xa0))
        return refuse(p, p->at, "the control character 0x%02x is not a label", (unsigned)*out_label);
    p->at += length;
    return NULL;
}

static weft_status *parse_number(parser *p, int64_t *out_label)
{
    const char *start = p->at;
    int64_t value = 0;
    for (; *p->at >= '0' && *p->at <= '9'; p->at++) {
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *p->at - '0', &value))
            return refuse(p, start, "the number is over %" PRId64, INT64_MAX);
    }
    if (p->at == start) return refuse(p, p->at, "expected a number, \"...\" or ']'");
    *out_label = value;
    return NULL;
}

/* ---- terms ---- */

static weft_status *parse_label(parser *p, einsum_term *term)
{
    if (*p->at == '.') {
        if (strncmp(p->at, "...", 3) != 0) return refuse(p, p->at, "'.' is part of an ellipsis \"...\" only");
        if (term->ellipsis != EINSUM_NONE) return refuse(p, p->at, "a term has at most one ellipsis");
        term->ellipsis = term->count;
        p->at += 3;
        return NULL;
    }
    size_t column = (size_t)(p->at - p->text) + 1;
    WEFT_TRY(p->numbered ? parse_number(p, p->labels) : parse_point(p, p->labels));
    p->labels++;
    *p->columns++ = column;
    term->count++;
    return NULL;
}

static bool ends_term(const parser *p)
{
    return *p->at == '\0' || strchr(p->numbered ? "]" : ",-()", *p->at) != NULL;
}

static weft_status *parse_term(parser *p, einsum_term *out_term)
{
    skip_spaces(p);
    *out_term = (einsum_term){
        .column = (size_t)(p->at - p->text) + 1, .labels = p->labels, .columns = p->columns, .ellipsis = EINSUM_NONE};
    if (p->numbered && !take(p, '['))
        return refuse(p, p->at, "expected '[': either all terms are bracketed numbers or none is");
    for (skip_spaces(p); !ends_term(p); skip_spaces(p)) {
        if (!p->numbered && strchr(">]", *p->at) != NULL) return refuse(p, p->at, "'%c' is not a label", *p->at);
        WEFT_TRY(parse_label(p, out_term));
    }
    if (p->numbered && !take(p, ']')) return refuse(p, p->at, "expected ']'");
    skip_spaces(p);
    return NULL;
}

/* ---- groups ---- */

static weft_status *open_groups(parser *p)
{
    for (skip_spaces(p); *p->at == '('; skip_spaces(p)) {
        if (!p->nested) return refuse(p, p->at, "'(' is not allowed in a flat expression; use the nested order");
        p->groups[++p->depth] = (group){(size_t)(p->at - p->text) + 1, EINSUM_NONE};
        p->at++;
    }
    return NULL;
}

static void add_item(parser *p, size_t value)
{
    group *open = &p->groups[p->depth];
    if (open->value != EINSUM_NONE) {
        p->out->pairs[p->pair_count] = (einsum_pair){open->value, value};
        value = FIRST_RESULT + p->pair_count++;
    }
    open->value = value;
}

static weft_status *close_groups(parser *p)
{
    for (; *p->at == ')'; skip_spaces(p)) {
        if (!p->nested) return refuse(p, p->at, "')' is not allowed in a flat expression; use the nested order");
        if (p->depth == 0) return refuse(p, p->at, "')' closes no group");
        size_t value = p->groups[p->depth--].value;
        add_item(p, value);
        p->at++;
    }
    return NULL;
}

static weft_status *parse_operands(parser *p)
{
    einsum_syntax *out = p->out;
    do {
        WEFT_TRY(open_groups(p));
        WEFT_TRY(parse_term(p, &out->operands[out->operand_count]));
        add_item(p, out->operand_count++);
        WEFT_TRY(close_groups(p));
    } while (take(p, ','));
    if (p->depth > 0) {
        return refuse(p, p->at, "')' is missing for the '(' of byte %zu", p->groups[p->depth].column);
    }
    return NULL;
}

static void number_results(parser *p)
{
    einsum_pair *pairs = p->out->pairs;
    size_t shift = FIRST_RESULT - p->out->operand_count;
    for (size_t i = 0; i < p->pair_count; i++) {
        if (pairs[i].a >= FIRST_RESULT) pairs[i].a -= shift;
        if (pairs[i].b >= FIRST_RESULT) pairs[i].b -= shift;
    }
}

/* ---- the output ---- */

static int compare_labels(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

static weft_status *fill_implicit_output(parser *p)
{
    einsum_syntax *out = p->out;
    const int64_t *all = out->operands[0].labels; /* those of all operands lie one after the other */
    size_t count = (size_t)(p->labels - all);
    int64_t *sorted = einsum_arena_allocate(p->arena, count, sizeof *sorted);
    if (sorted == NULL) return weft_status_out_of_memory();
    memcpy(sorted, all, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_labels);
    out->output = (einsum_term){.labels = p->labels, .columns = p->columns, .ellipsis = EINSUM_NONE};
    for (size_t i = 0; i < count; i++) {
        bool again = (i > 0 && sorted[i - 1] == sorted[i]) || (i + 1 < count && sorted[i + 1] == sorted[i]);
        if (!again) out->output.labels[out->output.count++] = sorted[i];
    }
    for (size_t i = 0; i < out->operand_count; i++)
        if (out->operands[i].ellipsis != EINSUM_NONE) out->output.ellipsis = 0;
    return NULL;
}

static weft_status *parse_output(parser *p)
{
    if (*p->at == '\0' && !p->nested) return fill_implicit_output(p);
    if (strncmp(p->at, "->", 2) != 0) {
        if (*p->at == '\0') return refuse(p, p->at, "a nested expression needs \"->\" and its output");
        return refuse(p, p->at, *p->at == '-' ? "'-' must be followed by '>'" : "expected ',' or \"->\"");
    }
    p->at += 2;
    WEFT_TRY(parse_term(p, &p->out->output));
    if (strncmp(p->at, "->", 2) == 0) return refuse(p, p->at, "a second \"->\"");
    return *p->at == '\0' ? NULL
                          : refuse(p, p->at, "expected the end: there is one output, without ',' or parentheses");
}

static size_t count_char(const char *text, char c)
{
    size_t count = 0;
    for (; *text != '\0'; text++) count += *text == c;
    return count;
}

/* Every number is followed by another character; an implicit output has no more labels than the operands. */
static bool parser_init(parser *p, einsum_arena *arena, const char *text, bool nested, einsum_syntax *out)
{
    size_t operands = count_char(text, ',') + 1, length = strlen(text);
    *out = (einsum_syntax){.numbered = strchr(text, '[') != NULL};
    *p = (parser){.arena = arena,
                  .what = "expression",
                  .text = text,
                  .at = text,
                  .nested = nested,
                  .numbered = out->numbered,
                  .out = out};
    size_t labels = out->numbered ? length : 2 * length;
    p->groups = einsum_arena_allocate(arena, count_char(text, '(') + 1, sizeof *p->groups);
    p->labels = einsum_arena_allocate(arena, labels, sizeof *p->labels);
    p->columns = einsum_arena_allocate(arena, labels, sizeof *p->columns);
    out->operands = einsum_arena_allocate(arena, operands, sizeof *out->operands);
    out->pairs = einsum_arena_allocate(arena, operands, sizeof *out->pairs);
    if (p->groups == NULL) return false;
    p->groups[0].value = EINSUM_NONE;
    return p->labels != NULL && p->columns != NULL && out->operands != NULL && out->pairs != NULL;
}

weft_status *einsum_syntax_parse(einsum_arena *arena, const char *text, bool nested, einsum_syntax *out_syntax)
{
    parser p;
    if (!parser_init(&p, arena, text, nested, out_syntax)) return weft_status_out_of_memory();
    WEFT_TRY(parse_operands(&p));
    WEFT_TRY(parse_output(&p));
    number_results(&p);
    if (!nested) out_syntax->pairs = NULL;
    return NULL;
}

/* ---- orders over operand numbers ---- */

static weft_status *parse_leaf(parser *p, size_t operand_count, bool *seen)
{
    const char *start = (skip_spaces(p), p->at);
    int64_t number = 0;
    if (*start < '0' || *start > '9') return refuse(p, start, "expected '(' or the number of an operand");
    WEFT_TRY(parse_number(p, &number));
    if ((uint64_t)number >= operand_count)
        return refuse(p, start, "the order names operand %" PRId64 " but there are %zu, from 0", number, operand_count);
    if (seen[number]) return refuse(p, start, "the order names operand %" PRId64 " twice", number);
    seen[number] = true;
    add_item(p, (size_t)number);
    skip_spaces(p);
    return NULL;
}

static weft_status *parse_tree(parser *p, size_t operand_count, bool *seen)
{
    do {
        WEFT_TRY(open_groups(p));
        WEFT_TRY(parse_leaf(p, operand_count, seen));
        WEFT_TRY(close_groups(p));
    } while (take(p, ','));
    if (p->depth > 0) return refuse(p, p->at, "')' is missing for the '(' of byte %zu", p->groups[p->depth].column);
    if (*p->at != '\0') return refuse(p, p->at, "expected ',', ')' or the end of the order");
    for (size_t i = 0; i < operand_count; i++)
        if (!seen[i]) return refuse(p, p->at, "the order leaves out operand %zu", i);
    return NULL;
}

weft_status *einsum_syntax_parse_nested(einsum_arena *arena, const char *text, size_t operand_count,
                                        einsum_pair *out_pairs)
{
    parser p;
    einsum_syntax tree;
    bool *seen = einsum_arena_allocate(arena, operand_count, sizeof *seen);
    if (seen == NULL || !parser_init(&p, arena, text, true, &tree)) return weft_status_out_of_memory();
    p.what = "order";
    WEFT_TRY(parse_tree(&p, operand_count, seen));
    tree.operand_count = operand_count;
    number_results(&p);
    if (operand_count > 1) memcpy(out_pairs, tree.pairs, (operand_count - 1) * sizeof *out_pairs);
    return NULL;
}

/* ---- printing ---- */

static size_t encode(int64_t point, char out_bytes[4])
{
    unsigned p = (unsigned)point;
    size_t length = p < 0x80 ? 1 : p < 0x800 ? 2 : p < 0x10000 ? 3 : 4;
    for (size_t i = length; i-- > 1; p >>= 6) out_bytes[i] = (char)(0x80 | (p & 0x3f));
    out_bytes[0] = (char)(length == 1 ? p : (0xf00u >> length & 0xf0) | p);
    return length;
}

void einsum_label_print(bool numbered, int64_t label, char *out_text)
{
    char bytes[4];
    if (label < 0) snprintf(out_text, EINSUM_LABEL_SIZE, "...[%" PRId64 "]", -1 - label);
    else if (numbered) snprintf(out_text, EINSUM_LABEL_SIZE, "%" PRId64, label);
    else snprintf(out_text, EINSUM_LABEL_SIZE, "'%.*s'", (int)encode(label, bytes), bytes);
}

static void print_term(const einsum_syntax *syntax, const einsum_term *term, einsum_text *out_text)
{
    if (syntax->numbered) einsum_text_append(out_text, "[", 1);
    for (size_t i = 0; i <= term->count; i++) {
        if (i > 0 && i < term->count && syntax->numbered) einsum_text_append(out_text, " ", 1);
        if (i == term->ellipsis) einsum_text_append(out_text, "...", 3);
        if (i == term->count) break;
        char bytes[4];
        if (syntax->numbered) einsum_text_number(out_text, term->labels[i]);
        else einsum_text_append(out_text, bytes, encode(term->labels[i], bytes));
    }
    if (syntax->numbered) einsum_text_append(out_text, "]", 1);
}

void einsum_syntax_print(const einsum_syntax *syntax, einsum_text *out_text)
{
    for (size_t i = 0; i < syntax->operand_count; i++) {
        if (i > 0) einsum_text_append(out_text, ",", 1);
        print_term(syntax, &syntax->operands[i], out_text);
    }
    einsum_text_append(out_text, "->", 2);
    print_term(syntax, &syntax->output, out_text);
}
