/* SPDX-License-Identifier: Apache-2.0 */
#include "order_text.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOWHERE SIZE_MAX

/* A number or a group of the text; the parent of the whole is NOWHERE. */
typedef struct item {
    size_t offset, end, parent, first, last, next, count; /* children of a group */
    int64_t number;                                       /* -1 of a group */
} item;

typedef struct reader {
    const char *name, *text;
    const weft_order_lines *lines;
    size_t operand_count, count;
    item *items;
    size_t *closed; /* groups in the order in which they end */
    size_t closed_count;
    bool numpy;     /* the list begins with 'einsum_path' */
    size_t fault;   /* where the last error is */
    int64_t *pairs; /* the result */
    size_t pair_count, pair_limit;
} reader;

static weft_status *refuse(reader *r, size_t offset, const char *format, ...) WEFT_FORMAT(3, 4);

static weft_status *refuse(reader *r, size_t offset, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    weft_status *status = weft_order_refuse_v(r->name, r->text, offset, format, arguments);
    va_end(arguments);
    r->fault = offset;
    return status;
}

/* ---- text ---- */

/* Where reading is. */
typedef struct cursor {
    size_t at, group;
    bool wants; /* an item comes next, or the end of a group */
} cursor;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static weft_status *add_item(reader *r, cursor *c, int64_t number)
{
    if (r->count > 0 && c->group == NOWHERE) return refuse(r, c->at, "the order ended before '%c'", r->text[c->at]);
    if (!c->wants) return refuse(r, c->at, "a comma is missing before '%c'", r->text[c->at]);
    size_t i = r->count++;
    r->items[i] = (item){c->at, c->at, c->group, NOWHERE, NOWHERE, NOWHERE, 0, number};
    c->wants = number < 0;
    if (c->group == NOWHERE) return NULL;
    item *parent = &r->items[c->group];
    *(parent->count++ == 0 ? &parent->first : &r->items[parent->last].next) = i;
    parent->last = i;
    return NULL;
}

static weft_status *add_number(reader *r, cursor *c)
{
    int64_t number = 0;
    size_t end = c->at;
    for (; is_digit(r->text[end]); end++) {
        number = 10 * number + (r->text[end] - '0');
        if (number > INT32_MAX) return refuse(r, c->at, "no operand has a number as large as this one");
    }
    WEFT_TRY(add_item(r, c, number));
    c->at = end;
    return NULL;
}

static weft_status *close_group(reader *r, cursor *c)
{
    char close = r->text[c->at];
    if (c->group == NOWHERE) return refuse(r, c->at, "'%c' closes nothing", close);
    char open = r->text[r->items[c->group].offset];
    if ((open == '(') != (close == ')')) return refuse(r, c->at, "'%c' does not close '%c'", close, open);
    r->items[c->group].end = c->at;
    r->closed[r->closed_count++] = c->group;
    c->group = r->items[c->group].parent;
    c->wants = false;
    c->at++;
    return NULL;
}

/* The list of numpy's einsum_path begins with its name. */
static bool take_word(reader *r, cursor *c)
{
    static const char *const words[] = {"'einsum_path'", "\"einsum_path\""};
    for (size_t i = 0; i < 2; i++) {
        size_t length = strlen(words[i]);
        if (c->group != 0 || r->count != 1 || r->numpy || strncmp(r->text + c->at, words[i], length) != 0) continue;
        c->at += length;
        c->wants = false;
        return r->numpy = true;
    }
    return false;
}

static weft_status *read_next(reader *r, cursor *c)
{
    char next = r->text[c->at];
    if (is_digit(next)) return add_number(r, c);
    if (next == ')' || next == ']') return close_group(r, c);
    if (next == '(' || next == '[') {
        WEFT_TRY(add_item(r, c, -1));
        c->group = r->count - 1;
        c->at++;
        return NULL;
    }
    if (next == ',') {
        if (c->group == NOWHERE) return refuse(r, c->at, "the order has no bracket around it, but a comma");
        if (c->wants) return refuse(r, c->at, "there is nothing before the comma");
        c->wants = true;
        c->at++;
        return NULL;
    }
    if (take_word(r, c)) return NULL;
    return refuse(
        r, c->at,
        "'%c' is not allowed in an order, which is a list of steps such as [(0, 1), (0, 1)] or a tree such as "
        "((0, 1), 2)",
        next);
}

static weft_status *read_text(reader *r)
{
    size_t end = r->lines->end;
    cursor c = {.group = NOWHERE, .wants = true, .at = r->lines->begin};
    for (;;) {
        c.at += strspn(r->text + c.at, " \t\r\n");
        if (c.at >= end) break;
        WEFT_TRY(read_next(r, &c));
    }
    if (r->count == 0) return refuse(r, c.at, "the order is empty; that of one operand is [] or 0");
    if (c.group == NOWHERE) return NULL;
    return refuse(r, r->items[c.group].offset, "this '%c' is never closed", r->text[r->items[c.group].offset]);
}

/* ---- steps ---- */

/* Contracts the children of a group in order; `values` are by item. */
static weft_status *fold(reader *r, size_t group, int64_t *values)
{
    const item *g = &r->items[group];
    if (g->count == 0) return refuse(r, g->offset, "nothing stands between these brackets");
    values[group] = values[g->first];
    for (size_t i = r->items[g->first].next; i != NOWHERE; i = r->items[i].next) {
        if (r->pair_count == r->pair_limit)
            return refuse(r, g->offset, "everything is one value already before this step");
        r->pairs[2 * r->pair_count] = values[group];
        r->pairs[2 * r->pair_count + 1] = values[i];
        values[group] = (int64_t)(r->operand_count + r->pair_count++);
    }
    return NULL;
}

/* ---- trees ---- */

static weft_status *check_operands(reader *r, bool *seen)
{
    size_t count = 0;
    for (size_t i = 0; i < r->count; i++) {
        const item *leaf = &r->items[i];
        if (leaf->number < 0) continue;
        if ((size_t)leaf->number >= r->operand_count)
            return refuse(r, leaf->offset, "the tree has operand %" PRId64 ", but there are %zu, from 0", leaf->number,
                          r->operand_count);
        if (seen[leaf->number]) return refuse(r, leaf->offset, "the tree has operand %" PRId64 " twice", leaf->number);
        seen[leaf->number] = true;
        count++;
    }
    size_t missing = 0;
    while (missing < r->operand_count && seen[missing]) missing++;
    if (count == r->operand_count) return NULL;
    return refuse(r, r->items[0].end, "the tree has %zu of the %zu operands; operand %zu is missing", count,
                  r->operand_count, missing);
}

static weft_status *take_tree(reader *r, int64_t *values)
{
    bool *seen = calloc(r->operand_count + 1, sizeof *seen);
    weft_status *status = seen == NULL ? weft_status_out_of_memory() : check_operands(r, seen);
    free(seen);
    for (size_t i = 0; i < r->count; i++) values[i] = r->items[i].number;
    for (size_t i = 0; i < r->closed_count && status == NULL; i++) status = fold(r, r->closed[i], values);
    return status;
}

/* ---- lists ---- */

/* The values that are left: by position in a path, by number in an SSA list; -1 if taken. */
typedef struct left {
    int64_t *values;
    size_t count;
} left;

static weft_status *take_number(reader *r, left *l, bool path, size_t step, size_t i, int64_t *out_value)
{
    int64_t number = r->items[i].number;
    const char *what = path ? "position" : "value";
    if ((size_t)number >= l->count)
        return refuse(r, r->items[i].offset, "step %zu takes %s %" PRId64 ", but %ss go from 0 to %zu then", step, what,
                      number, what, l->count - 1);
    *out_value = l->values[number];
    l->values[number] = -1;
    if (*out_value >= 0) return NULL;
    return refuse(r, r->items[i].offset, "step %zu takes %s %" PRId64 ", which was taken before", step, what, number);
}

/* Positions close up after a step; the numbers of values do not change. */
static void close_gaps(left *l)
{
    size_t count = 0;
    for (size_t i = 0; i < l->count; i++)
        if (l->values[i] >= 0) l->values[count++] = l->values[i];
    l->count = count;
}

static weft_status *take_steps(reader *r, left *l, bool path, int64_t *values)
{
    size_t step = 0;
    for (size_t g = r->items[0].first; g != NOWHERE; g = r->items[g].next, step++) {
        for (size_t i = r->items[g].first; i != NOWHERE; i = r->items[i].next)
            WEFT_TRY(take_number(r, l, path, step, i, &values[i]));
        WEFT_TRY(fold(r, g, values));
        if (path) close_gaps(l);
        l->values[l->count++] = values[g];
    }
    if (r->pair_count == r->pair_limit) return NULL;
    return refuse(r, r->items[0].end,
                  "the list ends after %zu step%s with %zu values left, which must be one; there are %zu operands",
                  step, step == 1 ? "" : "s", r->operand_count - r->pair_count, r->operand_count);
}

static weft_status *take_list_over(reader *r, bool path, int64_t *values)
{
    left l = {.values = calloc(r->operand_count + r->count + 1, sizeof *l.values), .count = r->operand_count};
    if (l.values == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < r->operand_count; i++) l.values[i] = (int64_t)i;
    r->pair_count = 0;
    weft_status *status = take_steps(r, &l, path, values);
    free(l.values);
    return status;
}

/* Whether a number is that of a result: no position is as large. */
static bool names_result(const reader *r)
{
    bool found = false;
    for (size_t i = 0; i < r->count && !found; i++) {
        int64_t number = r->items[i].number;
        found = number >= (int64_t)r->operand_count && number < 2 * (int64_t)r->operand_count - 1;
    }
    return found;
}

/* The last step of a path takes all positions that are left, that of an SSA list the result of the step before: a list
 * that is valid as both means the same. An invalid one that names no result is read as the one that fails later. */
static weft_status *take_list(reader *r, int64_t *values)
{
    if (names_result(r)) return take_list_over(r, false, values);
    weft_status *path = take_list_over(r, true, values);
    size_t fault = r->fault;
    if (path == NULL) return NULL;
    weft_status *ssa = take_list_over(r, false, values);
    bool later = ssa == NULL || r->fault > fault;
    weft_status_destroy(later ? path : ssa);
    return later ? ssa : path;
}

/* ---- list or tree ---- */

/* Whether the order is a group of groups of numbers. */
static bool is_flat(const reader *r)
{
    if (r->items[0].number >= 0) return false;
    for (size_t i = 1; i < r->count; i++)
        if ((r->items[i].number < 0) != (r->items[i].parent == 0)) return false;
    return true;
}

/* Counts the numbers; returns whether no two are equal. */
static bool count_numbers(const reader *r, bool *seen, size_t *out_count)
{
    bool distinct = true;
    *out_count = 0;
    for (size_t i = 0; i < r->count; i++) {
        int64_t number = r->items[i].number;
        if (number < 0) continue;
        ++*out_count;
        if ((size_t)number >= 2 * r->operand_count) continue;
        distinct = distinct && !seen[number];
        seen[number] = true;
    }
    return distinct;
}

/* ((0, 1), (2, 3)) is a tree of four operands, and a list over three. */
static bool is_list(const reader *r, bool *seen)
{
    size_t numbers;
    bool distinct = count_numbers(r, seen, &numbers), whole = distinct && numbers == r->operand_count;
    bool complete = numbers - r->items[0].count + 1 == r->operand_count;
    bool round = r->text[r->items[0].offset] == '(';
    return is_flat(r) && (r->numpy || r->count == 1 || !(whole || (round && distinct && !complete)));
}

static weft_status *read_order(reader *r, int64_t *values)
{
    WEFT_TRY(read_text(r));
    bool *seen = calloc(2 * r->operand_count, sizeof *seen);
    if (seen == NULL) return weft_status_out_of_memory();
    bool list = is_list(r, seen);
    free(seen);
    return list ? take_list(r, values) : take_tree(r, values);
}

weft_status *weft_order_parse(const char *name, const char *text, const weft_order_lines *lines, size_t operand_count,
                              weft_ints *out_values)
{
    size_t room = strlen(text) + 1;
    reader r = {
        .name = name, .text = text, .lines = lines, .operand_count = operand_count, .pair_limit = operand_count - 1};
    r.items = calloc(room, sizeof *r.items);
    r.closed = calloc(room, sizeof *r.closed);
    r.pairs = calloc(2 * operand_count, sizeof *r.pairs);
    int64_t *values = calloc(room, sizeof *values);
    bool well = r.items != NULL && r.closed != NULL && r.pairs != NULL && values != NULL;
    weft_status *status = well ? read_order(&r, values) : weft_status_out_of_memory();
    free(values);
    free(r.items);
    free(r.closed);
    *out_values = (weft_ints){2 * r.pair_count, r.pairs};
    if (status == NULL) return NULL;
    free(r.pairs);
    *out_values = (weft_ints){0};
    return status;
}
